//! Spilling: rows that outgrow their operator's share of the memory lie in temporary files.
//!
//! A file is a sequence of blocks, in any sequence of their owners; where an owner's blocks are is known in memory
//! ([`run::Run`]). A file lives as long as somebody has one of its runs.
//!
//! ```text
//! block   0  checksum of all that follows, XXH3     u64
//!         8  rows                                   u32
//!        12  bytes behind the columns               u32
//!        16  columns, one after the other           rows * u64 each: the bits of ids
//!            sort keys, row by row                  see expr/order/bytes.rs; none where rows are not sorted
//! ```
//!
//! Numbers are little-endian. Files never outlive the process that wrote them.
//!
//! Reading order: [`scratch`] (where files are), [`file`](mod@file), [`run`], [`partition`] (by hash, for
//! joins, DISTINCT and GROUP BY), [`sorter`] (sorted runs, for ORDER BY).

pub mod file;
pub mod merge;
pub mod partition;
pub mod run;
pub mod scratch;
pub mod sorter;

#[cfg(test)]
mod tests;
