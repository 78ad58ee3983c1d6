//! One order of one set of quads is one file: the rows of the quads in a column sequence
//! ([`Order`](crate::quad::Order)), sorted, without duplicates.
//!
//! # Byte map
//!
//! Inside the checked file's payload ([`crate::io::checked`]); all numbers little-endian:
//!
//! ```text
//! block 0 | block 1 | ... | block n-1        rows, column by column, see [`block`]
//! directory                                  one entry a block, see [`directory`]
//! trailer                                    80 bytes, see [`directory`]
//! ```
//!
//! Every block holds [`BLOCK_ROWS`] rows, but for the last one, which may hold fewer; so a row's number
//! says which block it is in. The directory's entries are of one size and say where a block begins and
//! what its first row is: a reader finds a row by binary search in the mapped file and parses nothing
//! when it opens the file.
//!
//! What always holds: rows are strictly increasing; the predicate column holds *ranks* in the segment's
//! sorted list of predicates, which this file is given and does not store; everything is read through
//! [`CheckedFile::bytes`](crate::io::checked::CheckedFile::bytes), so a page's checksum is compared
//! before its bytes are used.
//!
//! Reading order: [`writer`], [`block`], [`directory`], `search`, [`reader`], [`cursor`].

pub mod block;
pub mod cursor;
pub mod directory;
pub mod reader;
mod search;
pub mod writer;

#[cfg(test)]
mod tests;

pub use cursor::OrderCursor;
pub use reader::OrderFile;
pub use writer::{ColumnSummary, OrderSummary, OrderWriter};

use crate::error::Result;
use crate::id::TermId;

/// Rows of a block; the last block of a file may have fewer.
pub const BLOCK_ROWS: usize = 4096;

/// The most columns an order has.
pub const COLUMNS_MAX: usize = 4;

/// The magic number of an order's file.
pub const MAGIC: [u8; 8] = *b"QUADORD\0";

/// The version of the format of an order's file.
pub const VERSION: u32 = 1;

/// What can be done with a sorted source of rows: an order's file, or a run in memory.
///
/// The columns that a cursor yields are the order's columns *after the prefix* it was opened with.
pub trait Cursor: Send {
    /// Appends up to `max` rows to `out` and says how many; 0 only at the end (or if `max` is 0).
    ///
    /// Columns that nobody wants (see [`ColumnMask`]) may be left as they are. `out` gets as many vectors
    /// as the cursor yields columns, if it has fewer.
    fn fill(&mut self, out: &mut Columns, max: usize) -> Result<usize>;

    /// Moves forward to the first row whose columns after the prefix are `>= key`, compared
    /// lexicographically; `key` may be shorter than the row. Never moves backward. The nearer the target,
    /// the cheaper.
    fn seek(&mut self, key: &[TermId]) -> Result<()>;
}

/// Rows by column: what a [`Cursor`] fills. All vectors of wanted columns are of the same length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// One vector a column, at most [`COLUMNS_MAX`].
    pub columns: Vec<Vec<TermId>>,
}

impl Columns {
    /// `columns` empty columns with room for `rows` rows each.
    pub fn with_capacity(columns: usize, rows: usize) -> Self {
        Self {
            columns: (0..columns).map(|_| Vec::with_capacity(rows)).collect(),
        }
    }

    /// Removes all rows and keeps the memory.
    pub fn clear(&mut self) {
        for column in &mut self.columns {
            column.clear();
        }
    }

    /// How many rows there are: the length of the longest column (unwanted columns stay empty). Where no
    /// column at all is wanted, only the result of [`Cursor::fill`] says how many rows there were.
    pub fn len(&self) -> usize {
        self.columns.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds empty columns until there are `columns`.
    pub fn widen(&mut self, columns: usize) {
        if self.columns.len() < columns {
            self.columns.resize_with(columns, Vec::new);
        }
    }
}

/// Which columns of an order somebody wants: bit `i` is column `i` of the order's own sequence
/// ([`Order::columns`](crate::quad::Order::columns)), whatever prefix is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColumnMask(u8);

impl ColumnMask {
    /// Every column.
    pub const ALL: Self = Self((1 << COLUMNS_MAX) - 1);
    /// No column: only the number of rows matters.
    pub const NONE: Self = Self(0);

    /// This mask with a column more.
    ///
    /// # Panics
    /// If the column is not below [`COLUMNS_MAX`].
    #[must_use]
    pub const fn with(self, column: usize) -> Self {
        assert!(column < COLUMNS_MAX, "no such column");
        Self(self.0 | 1 << column)
    }

    /// Whether a column is wanted.
    #[inline]
    pub const fn contains(self, column: usize) -> bool {
        column < COLUMNS_MAX && self.0 >> column & 1 == 1
    }
}
