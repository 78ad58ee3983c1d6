//! The physical plan: a tree of nodes, each of which becomes an operator.
//!
//! Nodes are laid out from the top down: each is told which variables are needed above it and which conditions it may
//! apply, keeps the columns that somebody needs, and hands conditions on to the input that binds their variables.

use super::PlannerOptions;
use super::cardinality::{Counted, CountedPattern, count_patterns};
use super::join_order::{self, JoinPlan, Step, WayNumber, slot};
use super::logical::{Conjunction, Logical, VariableId};
use crate::error::Result;
use crate::exec::batch::Batch;
use crate::exec::control::Control;
use crate::exec::cross_join::CrossJoin;
use crate::exec::distinct::{Adjacent, Distinct};
use crate::exec::filter::Filter;
use crate::exec::hash_join::HashJoin;
use crate::exec::lookup_join::{Lookup, LookupJoin};
use crate::exec::merge_join::{JoinColumns, MergeJoin};
use crate::exec::operator::{Constant, Input, Operator};
use crate::exec::pairs::{Side, Source};
use crate::exec::project::Project;
use crate::exec::scan::ScanOperator;
use crate::exec::slice::Slice;
use crate::expr::{Evaluator, Expr};
use quadrille_store::index::ColumnMask;
use quadrille_store::{Order, Pattern, Snapshot};
use std::sync::Arc;

/// A node of the physical plan.
#[derive(Debug)]
pub struct Node {
    /// What it does.
    pub operation: Operation,
    /// The variables of its columns.
    pub variables: Vec<VariableId>,
    /// The variables that its rows are sorted by, as far as that is known and matters.
    pub sorted_by: Vec<VariableId>,
    /// How many rows it is expected to give.
    pub rows: f64,
}

/// What a node does.
#[derive(Debug)]
pub enum Operation {
    /// Gives no row.
    Empty {
        /// Why it is known that there is none.
        reason: String,
    },
    /// Gives one row without columns.
    Unit,
    /// Reads a pattern.
    Scan(ScanNode),
    /// Merges two sorted inputs.
    MergeJoin {
        /// The input that the output is sorted like.
        left: Box<Node>,
        /// The other.
        right: Box<Node>,
        /// What is compared.
        columns: JoinColumns,
        /// Where columns come from.
        outputs: Vec<Source>,
    },
    /// Looks a pattern up for each row.
    LookupJoin {
        /// The rows.
        outer: Box<Node>,
        /// What is looked up.
        lookup: Lookup,
        /// The pattern's number in the query.
        pattern: usize,
        /// Where columns come from.
        outputs: Vec<Source>,
    },
    /// Keeps one input in memory.
    HashJoin {
        /// The input that streams.
        left: Box<Node>,
        /// The input that is kept.
        right: Box<Node>,
        /// What is compared, column by column of both.
        keys: (Vec<usize>, Vec<usize>),
        /// Where columns come from.
        outputs: Vec<Source>,
    },
    /// Pairs all rows.
    CrossJoin {
        /// The input that is read once.
        left: Box<Node>,
        /// The input that is read for each batch of the other.
        right: Arc<Node>,
        /// Where columns come from.
        outputs: Vec<Source>,
    },
    /// Keeps rows that meet conditions.
    Filter {
        /// The rows.
        input: Box<Node>,
        /// The conditions.
        conditions: Vec<Arc<Expr>>,
    },
    /// Arranges columns.
    Project {
        /// The rows.
        input: Box<Node>,
        /// For each column the input's, if anything binds it.
        sources: Vec<Option<usize>>,
    },
    /// Each row once.
    Distinct {
        /// The rows.
        input: Box<Node>,
    },
    /// Each row that is not like the one before.
    Adjacent {
        /// The rows.
        input: Box<Node>,
    },
    /// A range of the rows.
    Slice {
        /// The rows.
        input: Box<Node>,
        /// Rows left out at the start.
        offset: u64,
        /// Rows given at most.
        limit: Option<u64>,
    },
}

/// Reads a pattern.
#[derive(Debug)]
pub struct ScanNode {
    /// The pattern's number in the query.
    pub number: usize,
    /// With the ids of its constants.
    pub pattern: Pattern,
    /// The order that is read.
    pub order: Order,
    /// The order's columns that somebody needs.
    pub wanted: ColumnMask,
    /// How many columns the scan has.
    pub width: usize,
    /// The scan's columns that are given.
    pub outputs: Vec<usize>,
    /// Pairs of the scan's columns that must be the same.
    pub equal: Vec<(usize, usize)>,
}

/// Plans a query.
///
/// # Errors
/// If the store cannot be read.
pub fn plan(snapshot: &Snapshot, root: &Logical, options: &PlannerOptions) -> Result<Node> {
    Planner { snapshot, options }.node(root, None)
}

struct Planner<'a> {
    snapshot: &'a Snapshot,
    options: &'a PlannerOptions,
}

/// What the nodes above a conjunction want of it.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    variables: &'a [VariableId],
    is_distinct: bool,
}

impl Planner<'_> {
    fn node(&self, logical: &Logical, wanted: Option<Wanted<'_>>) -> Result<Node> {
        Ok(match logical {
            Logical::Join(conjunction) => self.conjunction(
                conjunction,
                wanted.unwrap_or(Wanted {
                    variables: &[],
                    is_distinct: false,
                }),
            )?,
            Logical::Project { input, variables } => {
                let wanted = Wanted {
                    variables,
                    is_distinct: wanted.is_some_and(|wanted| wanted.is_distinct),
                };
                project(self.node(input, Some(wanted))?, variables)
            }
            Logical::Distinct { input } => {
                let wanted = Wanted {
                    variables: &[],
                    is_distinct: true,
                };
                let is_distinct = gives_distinct_rows(input);
                let input = self.node(input, Some(wanted))?;
                if is_distinct { input } else { distinct(input) }
            }
            Logical::Reduced { input } => adjacent(self.node(input, wanted)?),
            Logical::Slice { input, offset, limit } => {
                let input = self.node(input, wanted)?;
                let rows = (input.rows - *offset as f64).max(0.0);
                Node {
                    variables: input.variables.clone(),
                    sorted_by: input.sorted_by.clone(),
                    rows: limit.map_or(rows, |limit| rows.min(limit as f64)),
                    operation: Operation::Slice {
                        input: Box::new(input),
                        offset: *offset,
                        limit: *limit,
                    },
                }
            }
        })
    }

    fn conjunction(&self, conjunction: &Conjunction, wanted: Wanted<'_>) -> Result<Node> {
        let patterns = match count_patterns(self.snapshot, &conjunction.patterns)? {
            Counted::Patterns(patterns) => patterns,
            Counted::Empty(reason) => return Ok(leaf(Operation::Empty { reason }, 0.0)),
        };
        if patterns.is_empty() {
            return Ok(filtered(leaf(Operation::Unit, 1.0), conjunction.filters.clone()));
        }
        let distinct = if wanted.is_distinct { wanted.variables } else { &[] };
        let joins = join_order::choose(&patterns, self.options, distinct);
        let layout = Layout {
            patterns: &patterns,
            joins: &joins,
        };
        let mut needed = Vec::new();
        add_all(&mut needed, wanted.variables.iter().copied());
        Ok(layout.node(joins.root, needed, conjunction.filters.clone()))
    }
}

/// Whether a plan gives no row twice by itself: a conjunction all of whose variables are kept, since quads are a
/// set.
fn gives_distinct_rows(logical: &Logical) -> bool {
    let Logical::Project { input, variables } = logical else {
        return false;
    };
    let Logical::Join(conjunction) = &**input else {
        return false;
    };
    conjunction
        .patterns
        .iter()
        .flat_map(|pattern| pattern.slots().into_iter().flatten())
        .all(|variable| variables.contains(&variable))
}

/// Lays out the ways that were chosen.
struct Layout<'a> {
    patterns: &'a [CountedPattern],
    joins: &'a JoinPlan,
}

impl Layout<'_> {
    /// The node of a way that gives the `needed` variables, which it binds, of the rows that meet the conditions.
    fn node(&self, way: WayNumber, needed: Vec<VariableId>, conditions: Vec<Arc<Expr>>) -> Node {
        let bound = self.bound(way);
        let mut needed = needed;
        needed.retain(|variable| bound.contains(variable));
        match &self.joins.ways[way].step {
            Step::Scan { pattern, order } => {
                let mut given = needed;
                add_variables_of(&mut given, &conditions);
                filtered(self.scan(way, *pattern, *order, given), conditions)
            }
            Step::Merge { left, right, keys } => {
                let keys: Vec<VariableId> = self.joins.ways[*right].sort.iter().take(*keys).collect();
                let join = self.inputs(*left, *right, needed, conditions);
                let columns = JoinColumns {
                    left: columns_of(&join.left, &keys),
                    right: columns_of(&join.right, &keys),
                    residual: join
                        .shared
                        .iter()
                        .filter(|variable| !keys.contains(variable))
                        .map(|variable| (column_of(&join.left, *variable), column_of(&join.right, *variable)))
                        .collect(),
                };
                let outputs = sources(&join.left, &join.right.variables, &join.given);
                let node = Node {
                    variables: join.given,
                    sorted_by: join.left.sorted_by.clone(),
                    rows: self.joins.ways[way].rows,
                    operation: Operation::MergeJoin {
                        left: Box::new(join.left),
                        right: Box::new(join.right),
                        columns,
                        outputs,
                    },
                };
                filtered(node, join.conditions)
            }
            Step::Hash { outer, kept } => {
                let join = self.inputs(*outer, *kept, needed, conditions);
                let outputs = sources(&join.left, &join.right.variables, &join.given);
                let node = Node {
                    variables: join.given,
                    sorted_by: join.left.sorted_by.clone(),
                    rows: self.joins.ways[way].rows,
                    operation: Operation::HashJoin {
                        keys: (
                            columns_of(&join.left, &join.shared),
                            columns_of(&join.right, &join.shared),
                        ),
                        left: Box::new(join.left),
                        right: Box::new(join.right),
                        outputs,
                    },
                };
                filtered(node, join.conditions)
            }
            Step::Cross { left, right } => {
                let join = self.inputs(*left, *right, needed, conditions);
                debug_assert!(join.shared.is_empty(), "a cross product of connected patterns");
                let outputs = sources(&join.left, &join.right.variables, &join.given);
                let node = Node {
                    variables: join.given,
                    sorted_by: Vec::new(),
                    rows: self.joins.ways[way].rows,
                    operation: Operation::CrossJoin {
                        left: Box::new(join.left),
                        right: Arc::new(join.right),
                        outputs,
                    },
                };
                filtered(node, join.conditions)
            }
            Step::Lookup {
                outer,
                pattern,
                order,
                keys,
                is_sorted,
            } => self.lookup(
                way,
                *outer,
                LookupStep {
                    pattern: &self.patterns[*pattern],
                    order: *order,
                    keys: *keys,
                    is_sorted: *is_sorted,
                },
                needed,
                conditions,
            ),
        }
    }

    /// Lays out the two inputs of a join that gives the `needed` variables.
    fn inputs(
        &self,
        left: WayNumber,
        right: WayNumber,
        needed: Vec<VariableId>,
        conditions: Vec<Arc<Expr>>,
    ) -> Inputs {
        let (left_bound, right_bound) = (self.bound(left), self.bound(right));
        let shared: Vec<VariableId> = left_bound
            .iter()
            .copied()
            .filter(|variable| right_bound.contains(variable))
            .collect();
        let (left_conditions, rest) = split_conditions(conditions, &left_bound);
        let (right_conditions, conditions) = split_conditions(rest, &right_bound);
        let mut given = needed;
        add_variables_of(&mut given, &conditions);
        let mut below = given.clone();
        add_all(&mut below, shared.iter().copied());
        Inputs {
            left: self.node(left, below.clone(), left_conditions),
            right: self.node(right, below, right_conditions),
            given,
            shared,
            conditions,
        }
    }

    fn scan(&self, way: WayNumber, pattern: usize, order: Order, given: Vec<VariableId>) -> Node {
        let way = &self.joins.ways[way];
        let pattern = &self.patterns[pattern];
        let columns = ScanColumns::new(pattern, order);
        let outputs: Vec<usize> = given
            .iter()
            .map(|variable| columns.column_of(*variable).expect("the pattern binds it"))
            .collect();
        let wanted = columns.mask(outputs.iter().copied());
        Node {
            variables: given,
            sorted_by: way.sort.iter().collect(),
            rows: way.rows,
            operation: Operation::Scan(ScanNode {
                number: pattern.number,
                pattern: pattern.pattern,
                order,
                wanted,
                width: columns.variables.len(),
                outputs,
                equal: columns.equal,
            }),
        }
    }

    fn lookup(
        &self,
        way: WayNumber,
        outer: WayNumber,
        step: LookupStep<'_>,
        needed: Vec<VariableId>,
        conditions: Vec<Arc<Expr>>,
    ) -> Node {
        let outer_bound = self.bound(outer);
        let columns = ScanColumns::new(step.pattern, step.order);
        let (outer_conditions, conditions) = split_conditions(conditions, &outer_bound);
        let mut given = needed;
        add_variables_of(&mut given, &conditions);
        let shared: Vec<VariableId> = join_order::variables(step.pattern)
            .filter(|variable| outer_bound.contains(variable))
            .collect();
        let mut below = given.clone();
        add_all(&mut below, shared.iter().copied());
        let outer = self.node(outer, below, outer_conditions);
        let key_variables: Vec<VariableId> = columns.variables[..step.keys]
            .iter()
            .map(|variable| variable.expect("a key is a variable"))
            .collect();
        let residual: Vec<(usize, usize)> = shared
            .iter()
            .filter(|variable| !key_variables.contains(variable))
            .map(|variable| {
                let inner = columns.column_of(*variable).expect("the pattern binds it");
                (column_of(&outer, *variable), inner)
            })
            .collect();
        let outputs: Vec<Source> = given
            .iter()
            .map(
                |variable| match outer.variables.iter().position(|known| known == variable) {
                    Some(column) => (Side::Left, column),
                    None => (
                        Side::Right,
                        columns
                            .column_of(*variable)
                            .expect("one of the two binds it"),
                    ),
                },
            )
            .collect();
        let inner_outputs = outputs
            .iter()
            .filter(|(side, _)| *side == Side::Right)
            .map(|(_, column)| *column);
        let wanted = columns.mask(
            inner_outputs
                .chain(0..step.keys)
                .chain(residual.iter().map(|(_, inner)| *inner)),
        );
        let lookup = Lookup {
            pattern: step.pattern.pattern,
            order: step.order,
            wanted,
            width: columns.variables.len(),
            equal: columns.equal,
            keys: columns_of(&outer, &key_variables),
            residual,
            is_sorted: step.is_sorted,
        };
        let node = Node {
            variables: given,
            sorted_by: self.joins.ways[way].sort.iter().collect(),
            rows: self.joins.ways[way].rows,
            operation: Operation::LookupJoin {
                outer: Box::new(outer),
                lookup,
                pattern: step.pattern.number,
                outputs,
            },
        };
        filtered(node, conditions)
    }

    /// The variables that a way binds.
    fn bound(&self, way: WayNumber) -> Vec<VariableId> {
        let mut bound = Vec::new();
        let mut waiting = vec![way];
        let add_pattern = |bound: &mut Vec<VariableId>, pattern: usize| {
            add_all(bound, join_order::variables(&self.patterns[pattern]));
        };
        while let Some(way) = waiting.pop() {
            match &self.joins.ways[way].step {
                Step::Scan { pattern, .. } => add_pattern(&mut bound, *pattern),
                Step::Lookup { outer, pattern, .. } => {
                    add_pattern(&mut bound, *pattern);
                    waiting.push(*outer);
                }
                Step::Merge { left, right, .. } | Step::Cross { left, right } => {
                    waiting.extend([*right, *left]);
                }
                Step::Hash { outer, kept } => waiting.extend([*kept, *outer]),
            }
        }
        bound
    }
}

/// The laid out inputs of a join.
struct Inputs {
    left: Node,
    right: Node,
    /// The variables that the join gives.
    given: Vec<VariableId>,
    /// The variables of both inputs.
    shared: Vec<VariableId>,
    /// The conditions that are left for the join's rows.
    conditions: Vec<Arc<Expr>>,
}

struct LookupStep<'a> {
    pattern: &'a CountedPattern,
    order: Order,
    keys: usize,
    is_sorted: bool,
}

/// The columns of a pattern's scan.
struct ScanColumns {
    /// How many columns of the order are bound.
    bound: usize,
    variables: Vec<Option<VariableId>>,
    equal: Vec<(usize, usize)>,
}

impl ScanColumns {
    fn new(pattern: &CountedPattern, order: Order) -> Self {
        let (_, bound) = pattern
            .pattern
            .prefix_in(order)
            .expect("the order was chosen for the pattern");
        let variables: Vec<Option<VariableId>> = order.columns()[bound..]
            .iter()
            .map(|position| slot(pattern, *position))
            .collect();
        let mut equal = Vec::new();
        for (later, variable) in variables.iter().enumerate() {
            let earlier = variables[..later].iter().position(|known| known == variable);
            if let (Some(earlier), Some(_)) = (earlier, variable) {
                equal.push((earlier, later));
            }
        }
        Self {
            bound,
            variables,
            equal,
        }
    }

    fn column_of(&self, variable: VariableId) -> Option<usize> {
        self.variables.iter().position(|known| *known == Some(variable))
    }

    /// The order's columns that are needed to give these columns of the scan.
    fn mask(&self, given: impl Iterator<Item = usize>) -> ColumnMask {
        given
            .chain(self.equal.iter().flat_map(|(earlier, later)| [*earlier, *later]))
            .fold(ColumnMask::NONE, |mask, column| mask.with(self.bound + column))
    }
}

fn leaf(operation: Operation, rows: f64) -> Node {
    Node {
        operation,
        variables: Vec::new(),
        sorted_by: Vec::new(),
        rows,
    }
}

fn filtered(input: Node, conditions: Vec<Arc<Expr>>) -> Node {
    if conditions.is_empty() || matches!(input.operation, Operation::Empty { .. }) {
        return input;
    }
    Node {
        variables: input.variables.clone(),
        sorted_by: input.sorted_by.clone(),
        rows: input.rows,
        operation: Operation::Filter {
            input: Box::new(input),
            conditions,
        },
    }
}

fn project(input: Node, variables: &[VariableId]) -> Node {
    if input.variables == variables {
        return input;
    }
    let sources = variables
        .iter()
        .map(|variable| input.variables.iter().position(|known| known == variable))
        .collect();
    Node {
        variables: variables.to_vec(),
        sorted_by: input
            .sorted_by
            .iter()
            .copied()
            .take_while(|variable| variables.contains(variable))
            .collect(),
        rows: input.rows,
        operation: Operation::Project {
            input: Box::new(input),
            sources,
        },
    }
}

fn distinct(input: Node) -> Node {
    if matches!(input.operation, Operation::Empty { .. }) {
        return input;
    }
    // If rows are sorted by all that they have, in whatever sequence, equal ones stand together.
    let mut columns = input.variables.clone();
    columns.sort_unstable();
    columns.dedup();
    let mut sorted: Vec<VariableId> = input.sorted_by.iter().copied().take(columns.len()).collect();
    sorted.sort_unstable();
    if sorted == columns && !columns.is_empty() {
        return adjacent(input);
    }
    Node {
        variables: input.variables.clone(),
        sorted_by: input.sorted_by.clone(),
        rows: input.rows,
        operation: Operation::Distinct {
            input: Box::new(input),
        },
    }
}

fn adjacent(input: Node) -> Node {
    Node {
        variables: input.variables.clone(),
        sorted_by: input.sorted_by.clone(),
        rows: input.rows,
        operation: Operation::Adjacent {
            input: Box::new(input),
        },
    }
}

/// The conditions that need no other variables than these, and the rest.
fn split_conditions(conditions: Vec<Arc<Expr>>, bound: &[VariableId]) -> (Vec<Arc<Expr>>, Vec<Arc<Expr>>) {
    conditions.into_iter().partition(|condition| {
        let mut is_bound = true;
        condition.variables(&mut |variable| is_bound &= bound.contains(&variable));
        is_bound
    })
}

fn add_all(known: &mut Vec<VariableId>, more: impl IntoIterator<Item = VariableId>) {
    for variable in more {
        if !known.contains(&variable) {
            known.push(variable);
        }
    }
}

fn add_variables_of(known: &mut Vec<VariableId>, conditions: &[Arc<Expr>]) {
    for condition in conditions {
        condition.variables(&mut |variable| add_all(known, [variable]));
    }
}

fn column_of(node: &Node, variable: VariableId) -> usize {
    node.variables
        .iter()
        .position(|known| *known == variable)
        .expect("the input gives what the join compares")
}

fn columns_of(node: &Node, variables: &[VariableId]) -> Vec<usize> {
    variables.iter().map(|variable| column_of(node, *variable)).collect()
}

/// Where a join's columns come from: the left input if it has the variable.
fn sources(left: &Node, right: &[VariableId], given: &[VariableId]) -> Vec<Source> {
    given
        .iter()
        .map(
            |variable| match left.variables.iter().position(|known| known == variable) {
                Some(column) => (Side::Left, column),
                None => {
                    let column = right.iter().position(|known| known == variable);
                    (Side::Right, column.expect("one of the inputs gives it"))
                }
            },
        )
        .collect()
}

/// What the operators of a running query are made with.
#[derive(Clone)]
pub struct Execution {
    /// What is read.
    pub snapshot: Snapshot,
    /// What stops it.
    pub control: Arc<Control>,
}

impl Node {
    /// Makes the operator of this node, with those below it.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn operator(&self, execution: &Execution) -> Result<Box<dyn Operator>> {
        let control = || Arc::clone(&execution.control);
        Ok(match &self.operation {
            Operation::Empty { .. } => Box::new(Constant::empty()),
            Operation::Unit => Box::new(Constant::unit()),
            Operation::Scan(scan) => Box::new(ScanOperator::new(
                execution
                    .snapshot
                    .scan(&scan.pattern, scan.order, scan.wanted)?,
                scan.width,
                scan.outputs.clone(),
                scan.equal.clone(),
                control(),
            )),
            Operation::MergeJoin {
                left,
                right,
                columns,
                outputs,
            } => Box::new(MergeJoin::new(
                left.input(execution)?,
                right.input(execution)?,
                columns.clone(),
                outputs.clone(),
                control(),
            )),
            Operation::LookupJoin {
                outer,
                lookup,
                outputs,
                ..
            } => Box::new(LookupJoin::new(
                outer.input(execution)?,
                execution.snapshot.clone(),
                lookup.clone(),
                outputs.clone(),
                control(),
            )),
            Operation::HashJoin {
                left,
                right,
                keys,
                outputs,
            } => Box::new(HashJoin::new(
                left.input(execution)?,
                right.operator(execution)?,
                right.variables.len(),
                keys.0.clone(),
                keys.1.clone(),
                outputs.clone(),
                control(),
            )),
            Operation::CrossJoin {
                left,
                right,
                outputs,
            } => {
                let (right, execution_again) = (Arc::clone(right), execution.clone());
                Box::new(CrossJoin::new(
                    left.input(execution)?,
                    Box::new(move || right.input(&execution_again)),
                    outputs.clone(),
                    control(),
                ))
            }
            Operation::Filter { input, conditions } => {
                let evaluator = Evaluator::new(
                    &execution.snapshot,
                    conditions.iter().map(|condition| &**condition),
                    &input.variables,
                )?;
                Box::new(Filter::new(
                    input.operator(execution)?,
                    conditions.clone(),
                    evaluator,
                    control(),
                ))
            }
            Operation::Project { input, sources } => Box::new(Project::new(
                input.operator(execution)?,
                input.variables.len(),
                sources.clone(),
            )),
            Operation::Distinct { input } => {
                Box::new(Distinct::new(input.operator(execution)?, self.variables.len()))
            }
            Operation::Adjacent { input } => {
                Box::new(Adjacent::new(input.operator(execution)?, self.variables.len()))
            }
            Operation::Slice {
                input,
                offset,
                limit,
            } => Box::new(Slice::new(input.operator(execution)?, *offset, *limit)),
        })
    }

    fn input(&self, execution: &Execution) -> Result<Input> {
        Ok(Input::new(self.operator(execution)?, self.variables.len()))
    }

    /// A batch for the rows of this node.
    pub fn batch(&self) -> Batch {
        Batch::new(self.variables.len())
    }
}
