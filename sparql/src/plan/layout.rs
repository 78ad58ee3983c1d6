//! Lays the joins that were chosen out as nodes.
//!
//! From the top down: each node is told which variables are needed above it and which conditions it may apply, keeps the
//! columns that somebody needs, and hands conditions on to the input that binds their variables.

use super::cardinality::CountedPattern;
use super::join_order::{self, slot};
use super::logical::VariableId;
use super::physical::{Node, Operation, ScanNode, filtered};
use super::way::{JoinPlan, ListStep, Step, WayNumber};
use crate::exec::leapfrog_join::lists::ListSource;
use crate::exec::lookup_join::Lookup;
use crate::exec::merge_join::JoinColumns;
use crate::exec::pairs::{Side, Source};
use crate::expr::Expr;
use quadrille_store::Order;
use quadrille_store::index::ColumnMask;
use std::sync::Arc;

/// Lays out the ways that were chosen.
pub struct Layout<'a> {
    /// The patterns that are joined.
    pub patterns: &'a [CountedPattern],
    /// How they are.
    pub joins: &'a JoinPlan,
    /// The variables of the rows that are given, if the joins begin with such.
    pub feed: &'a [VariableId],
}

impl Layout<'_> {
    /// The node that gives those of the wanted variables that the patterns bind, of the rows that meet the conditions.
    pub fn root(&self, wanted: &[VariableId], conditions: &[Arc<Expr>]) -> Node {
        let mut needed = Vec::new();
        add_all(&mut needed, wanted.iter().copied());
        self.node(self.joins.root, needed, conditions.to_vec())
    }

    /// The node of a way that gives the `needed` variables, which it binds, of the rows that meet the conditions.
    fn node(&self, way: WayNumber, needed: Vec<VariableId>, conditions: Vec<Arc<Expr>>) -> Node {
        let bound = self.bound(way);
        let mut needed = needed;
        needed.retain(|variable| bound.contains(variable));
        match &self.joins.ways[way].step {
            Step::Feed => {
                let node = Node {
                    variables: self.feed.to_vec(),
                    sorted_by: Vec::new(),
                    rows: self.joins.ways[way].rows,
                    operation: Operation::Feed,
                };
                filtered(node, conditions)
            }
            Step::Scan { pattern, order } => self.scan(*pattern, *order, needed, conditions),
            Step::Merge {
                left,
                pattern,
                order,
                keys,
            } => {
                let mut keys_of_left = self.joins.sort(*left);
                keys_of_left.truncate(*keys);
                let keys = keys_of_left;
                let join = self.inputs(
                    way,
                    *left,
                    Right::Scan(*pattern, *order),
                    needed,
                    conditions,
                );
                let columns = JoinColumns {
                    left: columns_of(&join.left, &keys),
                    right: columns_of(&join.right, &keys),
                    residual: join
                        .shared
                        .iter()
                        .filter(|variable| !keys.contains(variable))
                        .map(|variable| {
                            (
                                column_of(&join.left, *variable),
                                column_of(&join.right, *variable),
                            )
                        })
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
            Step::Hash {
                outer,
                pattern,
                order,
                ..
            } => {
                let join = self.inputs(
                    way,
                    *outer,
                    Right::Scan(*pattern, *order),
                    needed,
                    conditions,
                );
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
                let join = self.inputs(way, *left, Right::Way(*right), needed, conditions);
                debug_assert!(
                    join.shared.is_empty(),
                    "a cross product of connected patterns"
                );
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
            Step::Leapfrog {
                outer,
                variable,
                lists,
            } => {
                let lists: Vec<ListStep> = lists.iter().map_while(|list| *list).collect();
                let variable = self.joins.variable(*variable);
                self.leapfrog(way, *outer, variable, &lists, needed, conditions)
            }
        }
    }

    /// Lays out the two inputs of a join that gives the `needed` variables.
    fn inputs(
        &self,
        way: WayNumber,
        left: WayNumber,
        right: Right,
        needed: Vec<VariableId>,
        conditions: Vec<Arc<Expr>>,
    ) -> Inputs {
        let left_bound = self.bound(left);
        let right_bound = match right {
            Right::Way(right) => self.bound(right),
            Right::Scan(pattern, _) => join_order::variables(&self.patterns[pattern]).collect(),
        };
        let shared: Vec<VariableId> = left_bound
            .iter()
            .copied()
            .filter(|variable| right_bound.contains(variable))
            .collect();
        let (mut left_conditions, rest) = split_conditions(conditions, &left_bound);
        let (mut right_conditions, mut conditions) = split_conditions(rest, &right_bound);
        let rows = self.joins.ways[way].rows;
        let right_rows = match right {
            Right::Way(right) => self.joins.ways[right].rows,
            Right::Scan(pattern, _) => self.patterns[pattern].expected,
        };
        if rows < self.joins.ways[left].rows {
            postpone(&mut left_conditions, &mut conditions);
        }
        if rows < right_rows {
            postpone(&mut right_conditions, &mut conditions);
        }
        let mut given = needed;
        add_variables_of(&mut given, &conditions);
        let mut below = given.clone();
        add_all(&mut below, shared.iter().copied());
        Inputs {
            left: self.node(left, below.clone(), left_conditions),
            right: match right {
                Right::Way(right) => self.node(right, below, right_conditions),
                Right::Scan(pattern, order) => self.scan(pattern, order, below, right_conditions),
            },
            given,
            shared,
            conditions,
        }
    }

    fn scan(
        &self,
        pattern: usize,
        order: Order,
        mut given: Vec<VariableId>,
        conditions: Vec<Arc<Expr>>,
    ) -> Node {
        let pattern = &self.patterns[pattern];
        let columns = ScanColumns::new(pattern, order);
        given.retain(|variable| columns.column_of(*variable).is_some());
        add_variables_of(&mut given, &conditions);
        let outputs: Vec<usize> = given
            .iter()
            .map(|variable| columns.column_of(*variable).expect("the pattern binds it"))
            .collect();
        let wanted = columns.mask(outputs.iter().copied());
        let node = Node {
            variables: given,
            sorted_by: columns.sorted_by(),
            rows: pattern.expected,
            operation: Operation::Scan(ScanNode {
                source: Arc::clone(&pattern.source),
                pattern: pattern.pattern,
                order,
                located: pattern.located_in(order),
                wanted,
                width: columns.variables.len(),
                outputs,
                equal: columns.equal,
                is_narrowed: false,
                is_divided: false,
            }),
        };
        filtered(node, conditions)
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
        let (mut outer_conditions, mut conditions) = split_conditions(conditions, &outer_bound);
        if self.joins.ways[way].rows < self.joins.ways[outer].rows {
            postpone(&mut outer_conditions, &mut conditions);
        }
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
            located: step.pattern.located_in(step.order),
            wanted,
            width: columns.variables.len(),
            equal: columns.equal,
            keys: columns_of(&outer, &key_variables),
            residual,
            is_sorted: step.is_sorted,
        };
        let node = Node {
            variables: given,
            sorted_by: self.joins.sort(way),
            rows: self.joins.ways[way].rows,
            operation: Operation::LookupJoin {
                outer: Box::new(outer),
                lookup,
                pattern: Arc::clone(&step.pattern.source),
                outputs,
            },
        };
        filtered(node, conditions)
    }

    fn leapfrog(
        &self,
        way: WayNumber,
        outer: WayNumber,
        variable: VariableId,
        lists: &[ListStep],
        needed: Vec<VariableId>,
        conditions: Vec<Arc<Expr>>,
    ) -> Node {
        let outer_bound = self.bound(outer);
        let (mut outer_conditions, mut conditions) = split_conditions(conditions, &outer_bound);
        if self.joins.ways[way].rows < self.joins.ways[outer].rows {
            postpone(&mut outer_conditions, &mut conditions);
        }
        let mut given = needed;
        add_variables_of(&mut given, &conditions);
        let keys: Vec<Vec<VariableId>> = lists
            .iter()
            .map(|list| {
                let pattern = &self.patterns[usize::from(list.pattern)];
                let mut columns = ScanColumns::new(pattern, list.order).sorted_by();
                columns.pop();
                columns
            })
            .collect();
        let mut below = given.clone();
        below.retain(|needed| *needed != variable);
        add_all(&mut below, keys.iter().flatten().copied());
        let outer = self.node(outer, below, outer_conditions);
        let lists = lists
            .iter()
            .zip(&keys)
            .map(|(list, keys)| {
                let pattern = &self.patterns[usize::from(list.pattern)];
                let source = ListSource {
                    pattern: pattern.pattern,
                    order: list.order,
                    keys: columns_of(&outer, keys),
                    is_sorted: list.is_sorted,
                };
                (source, Arc::clone(&pattern.source))
            })
            .collect();
        let outputs = sources(&outer, &[variable], &given);
        let node = Node {
            variables: given,
            sorted_by: outer.sorted_by.clone(),
            rows: self.joins.ways[way].rows,
            operation: Operation::LeapfrogJoin {
                outer: Box::new(outer),
                variable,
                lists,
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
                Step::Feed => add_all(&mut bound, self.feed.iter().copied()),
                Step::Scan { pattern, .. } => add_pattern(&mut bound, *pattern),
                Step::Merge {
                    left: input,
                    pattern,
                    ..
                }
                | Step::Hash {
                    outer: input,
                    pattern,
                    ..
                }
                | Step::Lookup {
                    outer: input,
                    pattern,
                    ..
                } => {
                    add_pattern(&mut bound, *pattern);
                    waiting.push(*input);
                }
                Step::Leapfrog { outer, lists, .. } => {
                    for list in lists.iter().map_while(|list| *list) {
                        add_pattern(&mut bound, usize::from(list.pattern));
                    }
                    waiting.push(*outer);
                }
                Step::Cross { left, right } => waiting.extend([*right, *left]),
            }
        }
        bound
    }
}

/// The second input of a join.
#[derive(Clone, Copy)]
enum Right {
    Way(WayNumber),
    /// A pattern in an order.
    Scan(usize, Order),
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

#[derive(Clone, Copy)]
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
            let earlier = variables[..later]
                .iter()
                .position(|known| known == variable);
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

    /// The variables that the rows are sorted by, up to the first repetition.
    fn sorted_by(&self) -> Vec<VariableId> {
        let first_repeated = self.equal.first().map_or(usize::MAX, |(_, later)| *later);
        self.variables
            .iter()
            .take(first_repeated)
            .map_while(|variable| *variable)
            .collect()
    }

    fn column_of(&self, variable: VariableId) -> Option<usize> {
        self.variables
            .iter()
            .position(|known| *known == Some(variable))
    }

    /// The order's columns that are needed to give these columns of the scan.
    fn mask(&self, given: impl Iterator<Item = usize>) -> ColumnMask {
        given
            .chain(
                self.equal
                    .iter()
                    .flat_map(|(earlier, later)| [*earlier, *later]),
            )
            .fold(ColumnMask::NONE, |mask, column| {
                mask.with(self.bound + column)
            })
    }
}

/// The conditions that need no other variables than these, and the rest. What is computed anew for each solution waits for
/// whole solutions.
fn split_conditions(
    conditions: Vec<Arc<Expr>>,
    bound: &[VariableId],
) -> (Vec<Arc<Expr>>, Vec<Arc<Expr>>) {
    conditions.into_iter().partition(|condition| {
        let mut is_bound = !condition.is_volatile();
        condition.variables(&mut |variable| is_bound &= bound.contains(&variable));
        is_bound
    })
}

/// Moves conditions that are dear, since they read texts, to a join that has fewer rows than its input.
fn postpone(from: &mut Vec<Arc<Expr>>, to: &mut Vec<Arc<Expr>>) {
    to.extend(from.extract_if(.., |condition| {
        let mut is_dear = false;
        condition.walk(&mut |part| is_dear |= matches!(part, Expr::Call(..) | Expr::Match(_)));
        is_dear
    }));
}

pub(super) fn add_all(known: &mut Vec<VariableId>, more: impl IntoIterator<Item = VariableId>) {
    for variable in more {
        if !known.contains(&variable) {
            known.push(variable);
        }
    }
}

pub(super) fn add_variables_of(known: &mut Vec<VariableId>, conditions: &[Arc<Expr>]) {
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
    variables
        .iter()
        .map(|variable| column_of(node, *variable))
        .collect()
}

/// Where a join's columns come from: the left input if it has the variable.
fn sources(left: &Node, right: &[VariableId], given: &[VariableId]) -> Vec<Source> {
    let source = |variable: &VariableId| {
        if let Some(column) = left.variables.iter().position(|known| known == variable) {
            return (Side::Left, column);
        }
        let column = right.iter().position(|known| known == variable);
        (Side::Right, column.expect("one of the inputs gives it"))
    };
    given.iter().map(source).collect()
}
