//! LUBM, the Lehigh University Benchmark: its data, its ontology, its queries, and what they must answer.
//!
//! [`generate`] makes the same bytes as the original generator (UBA 1.7) for a seed. [`ontology`] holds the
//! axioms as tables, [`queries`] the 14 queries with their answers at several levels of inference,
//! [`reference`](mod@reference) the sizes and check sums of the data at three scales.
//!
//! What always holds: this crate's text is what is specified, never what is convenient. A store that gives
//! other numbers than these is wrong.

pub mod bench;
mod counts;
pub mod error;
mod file;
mod format;
mod generate;
pub mod names;
pub mod ontology;
mod ordered;
mod output;
mod pack;
pub mod queries;
pub mod random;
pub mod reference;
mod template;
mod text;

pub use counts::Counts;
pub use error::LubmError;
pub use format::{Compression, Format, Syntax};
pub use output::{Destination, GenerateOptions, GenerateReport, generate};
