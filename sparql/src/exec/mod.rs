//! Execution: operators that hand batches of ids to one another.
//!
//! The operator at the top pulls ([`operator::Operator::next`]); each operator fills the batch that it is given
//! and clears what was in it, so that batches are allocated once. Ids stay ids: only filters that need a term's
//! value, and the writers of results, look terms up.

pub mod aggregate;
pub mod batch;
pub mod bind_join;
pub mod compatible_join;
pub mod construct;
pub mod control;
pub mod cross_join;
pub mod describe;
pub mod distinct;
pub mod distinct_rows;
pub mod exchange;
pub mod exists;
pub mod extend;
pub mod filter;
pub mod gather;
pub mod graphs;
pub mod group;
pub mod hash;
pub mod hash_join;
pub mod key_counts;
pub mod leapfrog_join;
pub mod lookup_join;
pub mod memory;
pub mod merge_join;
pub mod operator;
pub mod pairs;
pub mod path;
pub mod profile;
pub mod project;
pub mod ranks;
pub mod remembered;
pub mod remote;
pub mod row_set;
pub mod scan;
pub mod service;
pub mod slice;
pub mod sort;
pub mod sorted_join;
pub mod spill;
pub mod terms;
pub mod threads;
pub mod triple_terms;
pub mod union;
