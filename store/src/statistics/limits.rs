//! The bounds of a segment's statistics, together with the sum that they give.
//!
//! ```text
//! predicates   65,536 x 48 bytes                                         3.2 MB
//! sketches     2 columns x 512 x 1 KiB                                   1.1 MB
//! sets         10,000 x 16 bytes + 131,072 members x 16 bytes            2.3 MB
//! ```
//!
//! so a file of statistics stays below 14 MB (default graph and named graphs), and on data with
//! few predicates at some ten kilobytes. While counting, twice as much may be held.

/// Predicates with an entry of their own: those with most rows.
pub const PREDICATES: usize = 1 << 16;
/// Distinct values from which a count is worth a sketch; below, adding counts up is near enough.
pub const SKETCH_FROM_DISTINCT: u64 = 1024;
/// Sketches for each of the two columns: those of the predicates with most distinct values.
pub const SKETCHES: usize = 512;
/// Characteristic sets with an entry of their own: those of most subjects.
pub const SETS: usize = 10_000;
/// Predicates of all characteristic sets together.
pub const SET_MEMBERS: usize = 1 << 17;
/// The largest characteristic set with an entry of its own.
pub const SET_PREDICATES: usize = 1 << 10;
