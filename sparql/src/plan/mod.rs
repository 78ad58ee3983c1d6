//! Planning: from a query's algebra to operators.
//!
//! [`logical`] is the algebra with its names resolved; `lower` makes it and refuses what is not supported; [`cardinality`] asks the snapshot how many rows
//! each pattern has, [`correlation`] how they go together; [`join_order`] chooses how they are joined among the [ways](way) that there are, by their [`cost`];
//! [`form`], [`physical`], [`layout`], `members`, `group_join`, `exists`, `key_counts`, `distribution`, `path`, `triple_term` and `operators` make a
//! tree of nodes of that, which [`parallel`] divides among threads; [`build`] makes operators of the nodes; [`explain`] prints the tree.

pub mod automaton;
pub mod build;
pub mod cardinality;
pub mod correlation;
pub mod cost;
mod distribution;
mod exists;
pub mod explain;
pub mod explanation;
pub mod form;
mod group_join;
pub mod join_order;
mod key_counts;
pub mod layout;
pub mod logical;
mod lower;
mod lower_modifier;
mod members;
mod operators;
pub mod parallel;
mod path;
pub mod physical;
mod ranges;
pub mod seed;
pub mod service;
pub mod shared;
mod star;
pub mod template;
mod triple_term;
pub mod way;

/// Rows of a scan that are worth threads: reading and joining them takes many times as long as starting a thread (some 50 µs).
const PARALLEL_ROWS: usize = 32_768;

/// Which ways of joining the planner may use, and in which order it must join. All are on; other settings serve
/// tests and experiments: answers never depend on them.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct PlannerOptions {
    /// Merge joins of sorted inputs.
    pub merge_joins: bool,
    /// Index lookups.
    pub lookup_joins: bool,
    /// Hash joins with small inputs.
    pub hash_joins: bool,
    /// Leapfrog joins, which bind a variable from several patterns at once.
    pub leapfrog_joins: bool,
    /// A scan with at least so many rows is divided among threads.
    pub parallel_rows: usize,
    /// Counts and distinct terms from the index, without the rows.
    pub index_counts: bool,
    /// Joins with a UNION branch by branch.
    pub union_distribution: bool,
    /// Scans of those ids alone for which a condition can be true.
    pub id_ranges: bool,
    /// Look for the best plan as if every query took long.
    pub thorough: bool,
    /// Join the patterns in this order (numbers of the query's patterns; those that are missing come last).
    pub forced_order: Option<Vec<usize>>,
}

impl Default for PlannerOptions {
    fn default() -> Self {
        Self {
            merge_joins: true,
            lookup_joins: true,
            hash_joins: true,
            leapfrog_joins: true,
            parallel_rows: PARALLEL_ROWS,
            index_counts: true,
            union_distribution: true,
            id_ranges: true,
            thorough: false,
            forced_order: None,
        }
    }
}
