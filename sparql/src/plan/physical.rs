//! The physical plan: a tree of nodes, each of which becomes an operator ([`super::build`]).
//!
//! This is where the query's modifiers become nodes, and where what is known of a node's rows (that they are sorted, or
//! that none comes twice) saves work above it. What joins patterns is laid out by [`super::layout`].

use super::PlannerOptions;
use super::cardinality::{Counted, count_patterns};
use super::join_order::{self, Goal};
use super::layout::Layout;
use super::logical::{Conjunction, Logical, VariableId};
use crate::error::Result;
use crate::exec::lookup_join::Lookup;
use crate::exec::merge_join::JoinColumns;
use crate::exec::pairs::Source;
use crate::expr::Expr;
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

/// Plans a query of whose patterns' rows a number is taken at most.
///
/// # Errors
/// If the store cannot be read.
pub fn plan(
    snapshot: &Snapshot,
    root: &Logical,
    rows: Option<u64>,
    options: &PlannerOptions,
) -> Result<Node> {
    Planner {
        snapshot,
        rows: rows.map(|rows| rows as f64),
        options,
    }
    .node(root, None)
}

struct Planner<'a> {
    snapshot: &'a Snapshot,
    rows: Option<f64>,
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
            Logical::Slice {
                input,
                offset,
                limit,
            } => {
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
            return Ok(filtered(
                leaf(Operation::Unit, 1.0),
                conjunction.filters.clone(),
            ));
        }
        let goal = Goal {
            distinct: if wanted.is_distinct {
                wanted.variables
            } else {
                &[]
            },
            rows: self.rows,
        };
        let joins = join_order::choose(&patterns, self.options, goal);
        let layout = Layout {
            patterns: &patterns,
            joins: &joins,
        };
        Ok(layout.root(wanted.variables, &conjunction.filters))
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

fn leaf(operation: Operation, rows: f64) -> Node {
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

fn project(input: Node, variables: &[VariableId]) -> Node {
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

fn distinct(input: Node) -> Node {
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
