//! Planning: from a query's algebra to operators.
//!
//! [`logical`] is the algebra with its names resolved; `lower` makes it and refuses what is not supported; [`cardinality`] asks the snapshot how many rows
//! each pattern has; [`join_order`] chooses how they are joined among the [ways](way) that there are, by their [`cost`];
//! [`physical`], [`layout`], `group_join`, `key_counts`, `distribution` and `operators` make a tree of nodes of that, [`build`] operators of the nodes; [`explain`] prints the
//! tree.

pub mod build;
pub mod cardinality;
pub mod cost;
mod distribution;
pub mod explain;
mod group_join;
pub mod join_order;
mod key_counts;
pub mod layout;
pub mod logical;
mod lower;
mod lower_modifier;
mod operators;
pub mod physical;
pub mod seed;
pub mod way;

/// Which ways of joining the planner may use, and in which order it must join. All are on; switching them off serves
/// tests and experiments: answers never depend on it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlannerOptions {
    /// Merge joins of sorted inputs.
    pub merge_joins: bool,
    /// Index lookups.
    pub lookup_joins: bool,
    /// Hash joins with small inputs.
    pub hash_joins: bool,
    /// Counts and distinct terms from the index, without the rows.
    pub index_counts: bool,
    /// Joins with a UNION branch by branch.
    pub union_distribution: bool,
    /// Join the patterns in this order (numbers of the query's patterns; those that are missing come last).
    pub forced_order: Option<Vec<usize>>,
}

impl Default for PlannerOptions {
    fn default() -> Self {
        Self {
            merge_joins: true,
            lookup_joins: true,
            hash_joins: true,
            index_counts: true,
            union_distribution: true,
            forced_order: None,
        }
    }
}
