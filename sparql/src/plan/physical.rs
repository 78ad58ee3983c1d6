//! The physical plan: a tree of nodes, each of which becomes an operator ([`super::build`]).
//!
//! This is where the query's modifiers become nodes, and where what is known of a node's rows (that they are sorted, or
//! that none comes twice) saves work above it. What joins patterns is laid out by [`super::layout`], what joins and computes
//! with whole groups by `group_join` and `operators`.

use super::PlannerOptions;
use super::cardinality::{self, count_patterns};
use super::correlation;
use super::join_order::Goal;
use super::layout::{Layout, add_variables_of};
use super::logical::{
    Aggregate, Conjunction, Group, Logical, Mark, OrderKey, PathPattern, QuadPattern,
    TripleTermPattern, VariableId,
};
use super::ranges::narrow;
use super::seed::Seed;
use super::service::ServiceCall;
use crate::error::Result;
use crate::exec::compatible_join::{JoinKind, MergedSource};
use crate::exec::construct::Instances;
use crate::exec::key_counts::{Counted, KeyedPattern};
use crate::exec::leapfrog_join::lists::ListSource;
use crate::exec::lookup_join::Lookup;
use crate::exec::merge_join::JoinColumns;
use crate::exec::pairs::Source;
use crate::exec::path::{End, Machine, PathSource, Start};
use crate::exec::terms::Terms;
use crate::exec::triple_terms::{Part, TripleSource};
use crate::expr::Expr;
use oxrdf::NamedNode;
use quadrille_store::index::ColumnMask;
use quadrille_store::{GraphSelector, Located, Order, Pattern, TermId};
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
    /// Merges two inputs that are sorted by the one variable that they share; gives left rows without a match, too, or left rows
    /// alone.
    SortedJoin {
        /// The input that the output is sorted like.
        left: Box<Node>,
        /// The other.
        right: Box<Node>,
        /// The left and the right column of the variable.
        keys: (usize, usize),
        /// What is given; not [`JoinKind::Inner`].
        kind: JoinKind,
        /// Where columns come from.
        outputs: Vec<Source>,
    },
    /// The rows of the outer batch that a [`Operation::BindJoin`] is at, and their numbers.
    Feed,
    /// Rows that the query names.
    Rows {
        /// By column.
        columns: Arc<Vec<Vec<TermId>>>,
        /// How many.
        rows: usize,
    },
    /// Adds columns that are the same in every row.
    Attach {
        /// The rows.
        input: Box<Node>,
        /// What is added.
        ids: Vec<TermId>,
    },
    /// Joins batch by batch, by index lookups.
    BindJoin {
        /// The rows.
        left: Box<Node>,
        /// What is joined: begins with a [`Operation::Feed`], ends with the number of the left row as the last column.
        right: Arc<Node>,
        /// The left columns that are fed.
        fed: Vec<usize>,
        /// What is given.
        kind: JoinKind,
        /// Where columns come from.
        outputs: Vec<Source>,
    },
    /// Joins rows with the pairs of nodes that a path connects.
    Path {
        /// The rows.
        input: Box<Node>,
        /// The path.
        path: Box<PathNode>,
    },
    /// Asks endpoints.
    Service {
        /// Who is asked, if that is a variable, and terms that the pattern is joined with there.
        input: Option<Box<Node>>,
        /// The pattern.
        call: Arc<ServiceCall>,
        /// What stands for terms.
        seed: Seed,
    },
    /// Joins rows with triple terms.
    TripleTerms {
        /// The rows.
        input: Box<Node>,
        /// As the query has it.
        source: Arc<TripleTermPattern>,
        /// What is known of the triple term, its subject, predicate and object.
        parts: [Part; 4],
        /// Where columns come from.
        outputs: Vec<TripleSource>,
    },
    /// Joins rows that are compatible: the same where both are bound.
    CompatibleJoin {
        /// The input that streams.
        left: Box<Node>,
        /// The input that is kept.
        right: Box<Node>,
        /// How.
        join: Box<Compatibility>,
    },
    /// The rows of one input after another.
    Union {
        /// All have the same columns.
        inputs: Vec<Node>,
    },
    /// Adds a computed column.
    Extend {
        /// The rows.
        input: Box<Node>,
        /// What is computed.
        expression: Arc<Expr>,
    },
    /// Adds a column for each EXISTS.
    Marks {
        /// The rows.
        input: Box<Node>,
        /// What is tested.
        marks: Vec<Arc<Mark>>,
        /// What stands for terms in the patterns.
        seed: Seed,
    },
    /// Runs a block for each named graph.
    Graphs {
        /// The only graph that is asked.
        name: Option<NamedNode>,
        /// The block.
        inner: Arc<Group>,
        /// What stands for the graph there.
        active: VariableId,
        /// What is bound to it.
        variable: VariableId,
        /// What stands for terms besides.
        seed: Seed,
    },
    /// Groups rows and computes aggregates.
    GroupBy {
        /// The rows.
        input: Box<Node>,
        /// The input's column of each key, if anything binds it.
        keys: Vec<Option<usize>>,
        /// What is computed of each group.
        aggregates: Vec<Aggregate>,
        /// Whether threads group rows, if it turns out that they are many, though one at a time reads them.
        is_divided: bool,
    },
    /// One row of how many quads match a pattern.
    PatternCount {
        /// The pattern, as the query has it.
        pattern: Arc<QuadPattern>,
        /// The number, in each column.
        ids: Vec<TermId>,
    },
    /// Counts the rows of patterns for each term of the one variable that they share.
    KeyCounts {
        /// The patterns.
        patterns: Vec<KeyedPattern>,
        /// What they share.
        key: VariableId,
        /// What is counted.
        counted: Vec<Counted>,
        /// Whether there is a row for each term, which comes in the first column, or one for all.
        is_by_key: bool,
        /// How many threads count.
        threads: usize,
    },
    /// Sorts rows.
    Sort {
        /// The rows.
        input: Box<Node>,
        /// The most important first.
        keys: Vec<OrderKey>,
        /// How many of the first rows are wanted.
        limit: Option<u64>,
    },
    /// Looks a pattern up for each row.
    LookupJoin {
        /// The rows.
        outer: Box<Node>,
        /// What is looked up.
        lookup: Lookup,
        /// The same, as the query has it.
        pattern: Arc<QuadPattern>,
        /// Where columns come from.
        outputs: Vec<Source>,
    },
    /// Binds a variable to the terms that several patterns agree on.
    LeapfrogJoin {
        /// The rows.
        outer: Box<Node>,
        /// The variable.
        variable: VariableId,
        /// The patterns' terms by the keys that rows have, and the patterns as the query has them.
        lists: Vec<(ListSource, Arc<QuadPattern>)>,
        /// Where columns come from; the right side has one, the variable.
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
    /// Computes the rows on several threads, each a part of the divided scan at a time.
    Gather {
        /// What is computed.
        input: Arc<Node>,
        /// The scan in it that is divided.
        scan: Arc<ScanNode>,
        /// How many threads.
        threads: usize,
        /// How many parts of the scan, at most.
        parts: usize,
    },
    /// Makes triples of a template.
    Construct {
        /// The rows.
        input: Box<Node>,
        /// The template.
        template: Instances,
    },
    /// Describes resources.
    Describe {
        /// The rows, whose every column has resources.
        input: Box<Node>,
        /// Resources that are described in any case.
        named: Vec<TermId>,
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

/// How a path is searched.
#[derive(Debug)]
pub struct PathNode {
    /// As the query has it.
    pub source: Arc<PathPattern>,
    /// The graph of its steps.
    pub graph: GraphSelector,
    /// From the start of searches to their end, and back.
    pub machines: (Arc<Machine>, Arc<Machine>),
    /// Whether searches start from the path's object.
    pub is_backward: bool,
    /// Where searches start.
    pub start: Start,
    /// Where they must end.
    pub end: End,
    /// Where columns come from.
    pub outputs: Vec<PathSource>,
}

/// How a [`Operation::CompatibleJoin`] compares rows and what it makes of those that are compatible.
#[derive(Debug)]
pub struct Compatibility {
    /// What is given.
    pub kind: JoinKind,
    /// Columns of both sides that are bound in every row.
    pub certain: Vec<(usize, usize)>,
    /// Columns of both sides that may be unbound.
    pub uncertain: Vec<(usize, usize)>,
    /// Whether rows are compatible only if some column is bound in both.
    pub needs_common: bool,
    /// The variables of merged rows, and where their columns come from. Those that the join gives come first.
    pub merged: Vec<(VariableId, MergedSource)>,
    /// How many columns the join gives.
    pub given: usize,
    /// What must hold for a merged row.
    pub conditions: Vec<Arc<Expr>>,
    /// EXISTS in the conditions.
    pub marks: Vec<Arc<Mark>>,
    /// What stands for terms in their patterns.
    pub seed: Seed,
}

/// Reads a pattern.
#[derive(Clone, Debug)]
pub struct ScanNode {
    /// The pattern, as the query has it.
    pub source: Arc<QuadPattern>,
    /// With the ids of its constants.
    pub pattern: Pattern,
    /// The order that is read.
    pub order: Order,
    /// Where the pattern's rows are in it, if that is known.
    pub located: Option<Arc<Located>>,
    /// The order's columns that somebody needs.
    pub wanted: ColumnMask,
    /// How many columns the scan has.
    pub width: usize,
    /// The scan's columns that are given.
    pub outputs: Vec<usize>,
    /// Pairs of the scan's columns that must be the same.
    pub equal: Vec<(usize, usize)>,
    /// Whether these are only rows whose terms lie in ranges of ids.
    pub is_narrowed: bool,
    /// Whether a [`Operation::Gather`] above has it read part by part.
    pub is_divided: bool,
}

/// Plans a query whose rows are those of some variables, and of whose rows a number is taken at most.
///
/// # Errors
/// If the store cannot be read.
pub fn plan(
    planner: &Planner<'_>,
    root: &Group,
    variables: &[VariableId],
    rows: Option<u64>,
) -> Result<Node> {
    planner.node(
        root,
        Wanted {
            variables,
            is_distinct: false,
            rows: rows.map(|rows| rows as f64),
        },
    )
}

/// Plans a query, or a part of it where some variables stand for terms.
#[derive(Clone, Copy, Debug)]
pub struct Planner<'a> {
    /// What is read, and what numbers the query's own terms.
    pub terms: &'a Arc<Terms>,
    /// What may be used.
    pub options: &'a PlannerOptions,
    /// What stands for terms.
    pub seed: &'a Seed,
    /// How many variables the query has.
    pub variables: usize,
}

/// What the nodes above want of one.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The variables that are used.
    pub variables: &'a [VariableId],
    /// Whether repeated rows do not matter.
    pub is_distinct: bool,
    /// How many of the first rows are used at most.
    pub rows: Option<f64>,
}

impl Planner<'_> {
    /// Plans a group. The node has columns for the wanted variables that the group binds, and maybe for others.
    pub(super) fn node(&self, group: &Group, wanted: Wanted<'_>) -> Result<Node> {
        Ok(match &group.logical {
            Logical::Conjunction(conjunction) => self.conjunction(conjunction, wanted)?,
            Logical::Project { input, variables } => {
                // No column for what nothing binds: a column says that the group has a say about a variable.
                let kept: Vec<VariableId> = variables
                    .iter()
                    .copied()
                    .filter(|variable| input.scope.contains(variable))
                    .collect();
                let wanted = Wanted {
                    variables: &kept,
                    ..wanted
                };
                project(self.node(input, wanted)?, &kept)
            }
            Logical::Distinct { input } => {
                if let Some(node) = self.distinct_keys(&input.logical)? {
                    return Ok(node);
                }
                let wanted = Wanted {
                    variables: wanted.variables,
                    is_distinct: true,
                    rows: None,
                };
                let is_distinct = gives_distinct_rows(&input.logical);
                let input = self.node(input, wanted)?;
                if is_distinct { input } else { distinct(input) }
            }
            Logical::Reduced { input } => adjacent(self.node(
                input,
                Wanted {
                    rows: None,
                    ..wanted
                },
            )?),
            Logical::Slice {
                input,
                offset,
                limit,
            } => {
                let most = limit.map(|limit| offset.saturating_add(limit) as f64);
                let wanted = Wanted {
                    variables: wanted.variables,
                    is_distinct: false,
                    rows: most,
                };
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
            Logical::Path(path) => self.path(path)?,
            Logical::TripleTerm(pattern) => self.triple_terms(pattern)?,
            Logical::Service(call) => self.service(group, call, wanted),
            Logical::Join { inputs } => self.join(inputs, wanted)?,
            Logical::LeftJoin {
                left,
                right,
                conditions,
                marks,
            } => self.left_join(left, right, conditions, marks, wanted)?,
            Logical::Minus { left, right } => self.minus(left, right, wanted)?,
            Logical::Union { inputs } => self.union(group, inputs, wanted)?,
            Logical::Filter { input, conditions } => self.filter(input, conditions, wanted)?,
            Logical::Marks { input, marks } => self.marks(input, marks, wanted)?,
            Logical::Extend {
                input,
                variable,
                expression,
            } => self.extend(input, *variable, expression, wanted)?,
            Logical::Values { variables, rows } => self.values(variables, rows, wanted)?,
            Logical::Graphs { .. } => self.graphs(group, wanted),
            Logical::GroupBy {
                input,
                keys,
                aggregates,
            } => self.group_by(input, keys, aggregates)?,
            Logical::OrderBy { input, keys } => self.order_by(input, keys, wanted)?,
        })
    }

    fn conjunction(&self, conjunction: &Conjunction, wanted: Wanted<'_>) -> Result<Node> {
        Ok(self.costed_conjunction(conjunction, wanted)?.0)
    }

    /// The node of a conjunction and its cost in nanoseconds.
    pub(super) fn costed_conjunction(
        &self,
        conjunction: &Conjunction,
        wanted: Wanted<'_>,
    ) -> Result<(Node, f64)> {
        let snapshot = self.terms.snapshot();
        let patterns = match count_patterns(snapshot, &conjunction.patterns, self.seed)? {
            cardinality::Counted::Patterns(patterns) => patterns,
            cardinality::Counted::Empty(reason) => {
                return Ok((leaf(Operation::Empty { reason }, 0.0), 0.0));
            }
        };
        if patterns.is_empty() {
            let unit = leaf(Operation::Unit, 1.0);
            let node = self.attached_to_conjunction(unit, conjunction, wanted.variables);
            return Ok((self.filtered(node, &conjunction.filters), 0.0));
        }
        let mut filtered = Vec::new();
        add_variables_of(&mut filtered, &conjunction.filters);
        let goal = Goal {
            filtered: &filtered,
            distinct: if wanted.is_distinct {
                wanted.variables
            } else {
                &[]
            },
            rows: wanted.rows,
        };
        let joins = correlation::choose(snapshot, &patterns, self.options, goal)?;
        let layout = Layout {
            patterns: &patterns,
            joins: &joins,
            feed: &[],
        };
        let (conditions, seeded) = self.split_seeded(&conjunction.filters);
        let mut node = if seeded.is_empty() {
            layout.root(wanted.variables, &conditions)
        } else {
            let mut needed = wanted.variables.to_vec();
            add_variables_of(&mut needed, &seeded);
            layout.root(&needed, &conditions)
        };
        if self.options.id_ranges && !conditions.is_empty() {
            narrow(&mut node, snapshot)?;
        }
        let node = self.attached_to_conjunction(node, conjunction, wanted.variables);
        Ok((self.filtered(node, &seeded), joins.ways[joins.root].cost))
    }

    /// The conditions without and with variables that stand for terms.
    fn split_seeded(&self, conditions: &[Arc<Expr>]) -> (Vec<Arc<Expr>>, Vec<Arc<Expr>>) {
        conditions.iter().cloned().partition(|condition| {
            let mut is_free = true;
            condition.variables(&mut |variable| is_free &= self.seed.get(variable).is_none());
            is_free
        })
    }

    /// A conjunction's node with the wanted variables of it that stand for terms.
    fn attached_to_conjunction(
        &self,
        node: Node,
        conjunction: &Conjunction,
        wanted: &[VariableId],
    ) -> Node {
        if self.seed.iter().next().is_none() {
            return node;
        }
        let bound = wanted.iter().copied().filter(|variable| {
            conjunction
                .patterns
                .iter()
                .any(|pattern| pattern.slots().contains(&Some(*variable)))
        });
        self.attached(node, bound)
    }

    /// A node with those of these variables that stand for terms and that it does not have.
    pub(super) fn attached(
        &self,
        node: Node,
        variables: impl IntoIterator<Item = VariableId>,
    ) -> Node {
        let (mut columns, mut ids) = (node.variables.clone(), Vec::new());
        for variable in variables {
            if let Some(id) = self.seed.get(variable)
                && !columns.contains(&variable)
            {
                columns.push(variable);
                ids.push(id);
            }
        }
        if ids.is_empty() || matches!(node.operation, Operation::Empty { .. }) {
            return node;
        }
        Node {
            variables: columns,
            sorted_by: node.sorted_by.clone(),
            rows: node.rows,
            operation: Operation::Attach {
                input: Box::new(node),
                ids,
            },
        }
    }

    /// Keeps the rows that meet conditions, which see what stands for terms.
    pub(super) fn filtered(&self, node: Node, conditions: &[Arc<Expr>]) -> Node {
        let mut variables = Vec::new();
        add_variables_of(&mut variables, conditions);
        filtered(self.attached(node, variables), conditions.to_vec())
    }
}

/// Whether a plan gives no row twice by itself: a conjunction all of whose variables are kept, since quads are a
/// set.
fn gives_distinct_rows(logical: &Logical) -> bool {
    let Logical::Project { input, variables } = logical else {
        return false;
    };
    let Logical::Conjunction(conjunction) = &input.logical else {
        return false;
    };
    conjunction
        .patterns
        .iter()
        .flat_map(|pattern| pattern.slots().into_iter().flatten())
        .all(|variable| variables.contains(&variable))
}

pub(super) fn leaf(operation: Operation, rows: f64) -> Node {
    Node {
        operation,
        variables: Vec::new(),
        sorted_by: Vec::new(),
        rows,
    }
}

/// Keeps the rows that meet conditions, if there are any.
pub(super) fn filtered(input: Node, conditions: Vec<Arc<Expr>>) -> Node {
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

/// Arranges a node's columns; those that it does not have are unbound.
pub(crate) fn project(input: Node, variables: &[VariableId]) -> Node {
    if input.variables == variables {
        return input;
    }
    if let Operation::Empty { .. } = input.operation {
        return Node {
            variables: variables.to_vec(),
            ..input
        };
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

pub(super) fn distinct(input: Node) -> Node {
    if matches!(input.operation, Operation::Empty { .. }) {
        return input;
    }
    // If rows are sorted by all that they have, in whatever sequence, equal ones stand together.
    let mut columns = input.variables.clone();
    columns.sort_unstable();
    columns.dedup();
    let mut sorted: Vec<VariableId> = input
        .sorted_by
        .iter()
        .copied()
        .take(columns.len())
        .collect();
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
