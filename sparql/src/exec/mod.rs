//! Execution: operators that hand batches of ids to one another.
//!
//! The operator at the top pulls ([`operator::Operator::next`]); each operator fills the batch that it is given
//! and clears what was in it, so that batches are allocated once. Ids stay ids: only filters that need a term's
//! value, and the writers of results, look terms up.

pub mod batch;
pub mod control;
pub mod cross_join;
pub mod distinct;
pub mod filter;
pub mod hash;
pub mod hash_join;
pub mod lookup_join;
pub mod merge_join;
pub mod operator;
pub mod pairs;
pub mod project;
pub mod scan;
pub mod slice;
