//! Property paths with repetition: breadth-first searches over ids.
//!
//! [`PathJoin`] joins rows with the pairs of nodes that a path connects: it searches from one end of each row, of a
//! constant, or of every node. [`Search`] says how it goes on from a start, and when it reads all steps into memory.

mod component_search;
mod components;
pub mod join;
pub mod machine;
pub mod relation;
pub mod search;
mod step_graph;

pub use join::{End, PathJoin, PathSource, Start};
pub use machine::Machine;
pub use search::Search;
