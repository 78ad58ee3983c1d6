//! The block directory of an order's file, and the trailer that says where it is.
//!
//! # Byte map
//!
//! ```text
//! entry (one a block; 8 bytes and 8 for each column)
//!   0   8   where the block begins in the payload
//!   8   8c  the block's first row: TermId bits, a rank in the predicate column
//!
//! trailer (the payload's last 80 bytes)
//!   0   8   rows
//!   8   8   blocks
//!  16   8   where the directory begins in the payload; the last block ends there
//!  24   8   predicates in the segment's list
//!  32   4   rows of a block
//!  36   4   rows of a mini-block
//!  40   1   order
//!  41   1   columns
//!  42   6   zero
//!  48  32   the last row, zero where the order has three columns or the file no row
//! ```
//!
//! A block ends where the next one begins, and its rows end before the next one's first row, so neither
//! lengths nor last rows are kept. Behind the last block come at least the trailer's bytes: enough
//! for readers of packed numbers, who load whole words
//! ([`SLACK_BYTES`]).

use super::{BLOCK_ROWS, COLUMNS_MAX, search};
use crate::codec::{MINI_BLOCK_ROWS, SLACK_BYTES};
use crate::error::Result;
use crate::io::checked::CheckedFile;
use crate::quad::Order;
use std::ops::Range;

const OFFSET_BYTES: usize = 8;
const VALUE_BYTES: usize = 8;

const ROWS_AT: usize = 0;
const BLOCKS_AT: usize = ROWS_AT + 8;
const DIRECTORY_AT: usize = BLOCKS_AT + 8;
const PREDICATES_AT: usize = DIRECTORY_AT + 8;
const BLOCK_ROWS_AT: usize = PREDICATES_AT + 8;
const MINI_BLOCK_ROWS_AT: usize = BLOCK_ROWS_AT + 4;
const ORDER_AT: usize = MINI_BLOCK_ROWS_AT + 4;
const COLUMNS_AT: usize = ORDER_AT + 1;
const ZERO_AT: usize = COLUMNS_AT + 1;
const LAST_ROW_AT: usize = ZERO_AT + 6;
/// Bytes of the trailer.
pub const TRAILER_BYTES: usize = LAST_ROW_AT + VALUE_BYTES * COLUMNS_MAX;

const _: () = assert!(TRAILER_BYTES == 80 && TRAILER_BYTES >= SLACK_BYTES);

/// A row as files compare it: a rank in the predicate column, zeros behind the last column.
pub type Row = [u64; COLUMNS_MAX];

/// Bytes of a directory entry in an order of so many columns.
pub const fn entry_bytes(columns: usize) -> usize {
    OFFSET_BYTES + columns * VALUE_BYTES
}

/// Appends a directory entry.
pub fn write_entry(offset: u64, first: &[u64], out: &mut Vec<u8>) {
    out.extend_from_slice(&offset.to_le_bytes());
    for value in first {
        out.extend_from_slice(&value.to_le_bytes());
    }
}

fn read_u64(bytes: &[u8], at: usize) -> u64 {
    bytes[at..]
        .first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn read_u32(bytes: &[u8], at: usize) -> u32 {
    bytes[at..]
        .first_chunk()
        .map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// What the trailer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// Rows of the file.
    pub rows: u64,
    /// Blocks of the file.
    pub blocks: u64,
    /// Where the directory begins.
    pub directory: u64,
    /// Predicates in the segment's list.
    pub predicates: u64,
    /// The order of the columns.
    pub order: Order,
    /// The last row.
    pub last: Row,
}

impl Trailer {
    /// The trailer's bytes.
    pub fn write(&self) -> [u8; TRAILER_BYTES] {
        let mut bytes = [0; TRAILER_BYTES];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(ROWS_AT, &self.rows.to_le_bytes());
        put(BLOCKS_AT, &self.blocks.to_le_bytes());
        put(DIRECTORY_AT, &self.directory.to_le_bytes());
        put(PREDICATES_AT, &self.predicates.to_le_bytes());
        put(BLOCK_ROWS_AT, &(BLOCK_ROWS as u32).to_le_bytes());
        put(MINI_BLOCK_ROWS_AT, &(MINI_BLOCK_ROWS as u32).to_le_bytes());
        put(ORDER_AT, &[self.order as u8]);
        put(COLUMNS_AT, &[self.order.columns().len() as u8]);
        for (column, value) in self.last.iter().enumerate() {
            put(LAST_ROW_AT + column * VALUE_BYTES, &value.to_le_bytes());
        }
        bytes
    }

    /// Reads and checks the trailer of a file that should be of this order.
    pub fn read(file: &CheckedFile, order: Order) -> Result<Self> {
        let at = file
            .len()
            .checked_sub(TRAILER_BYTES as u64)
            .ok_or_else(|| file.damaged(0, "too short for an order's file"))?;
        let bytes = file.bytes(at..file.len())?;
        let damaged = |what: &str| Err(file.damaged(at, what));
        let mut last = [0; COLUMNS_MAX];
        for (column, value) in last.iter_mut().enumerate() {
            *value = read_u64(bytes, LAST_ROW_AT + column * VALUE_BYTES);
        }
        let trailer = Self {
            rows: read_u64(bytes, ROWS_AT),
            blocks: read_u64(bytes, BLOCKS_AT),
            directory: read_u64(bytes, DIRECTORY_AT),
            predicates: read_u64(bytes, PREDICATES_AT),
            order,
            last,
        };
        let columns = order.columns().len();
        if bytes[ORDER_AT] != order as u8 || usize::from(bytes[COLUMNS_AT]) != columns {
            return damaged("another order than its name says");
        }
        if read_u32(bytes, BLOCK_ROWS_AT) as usize != BLOCK_ROWS
            || read_u32(bytes, MINI_BLOCK_ROWS_AT) as usize != MINI_BLOCK_ROWS
        {
            return damaged("blocks of another size than this format version has");
        }
        if trailer.blocks != trailer.rows.div_ceil(BLOCK_ROWS as u64) {
            return damaged("the number of blocks does not fit the number of rows");
        }
        let entries = trailer.blocks.checked_mul(entry_bytes(columns) as u64);
        if entries.and_then(|bytes| trailer.directory.checked_add(bytes)) != Some(at) {
            return damaged("the block directory does not end at the trailer");
        }
        Ok(trailer)
    }
}

/// The block directory in its file; nothing of it is kept in memory.
#[derive(Clone, Debug)]
pub struct Directory {
    trailer: Trailer,
    columns: usize,
}

impl Directory {
    /// The directory that a trailer points to.
    pub fn new(trailer: Trailer) -> Self {
        Self {
            trailer,
            columns: trailer.order.columns().len(),
        }
    }

    /// The trailer.
    pub fn trailer(&self) -> &Trailer {
        &self.trailer
    }

    fn entry<'a>(&self, file: &'a CheckedFile, block: u64) -> Result<&'a [u8]> {
        debug_assert!(block < self.trailer.blocks);
        let bytes = entry_bytes(self.columns) as u64;
        let at = self.trailer.directory + block * bytes;
        file.bytes(at..at + bytes)
    }

    /// The first row of a block.
    #[inline]
    pub fn first_row(&self, file: &CheckedFile, block: u64) -> Result<Row> {
        let entry = self.entry(file, block)?;
        let mut row = [0; COLUMNS_MAX];
        for (column, value) in row.iter_mut().take(self.columns).enumerate() {
            *value = read_u64(entry, OFFSET_BYTES + column * VALUE_BYTES);
        }
        Ok(row)
    }

    /// Where a block lies in the payload.
    #[inline]
    pub fn block(&self, file: &CheckedFile, block: u64) -> Result<Range<u64>> {
        let start = read_u64(self.entry(file, block)?, 0);
        let end = if block + 1 < self.trailer.blocks {
            read_u64(self.entry(file, block + 1)?, 0)
        } else {
            self.trailer.directory
        };
        if start > end || end > self.trailer.directory {
            return Err(file.damaged(
                self.trailer.directory,
                format!("block {block} is said to lie from {start} to {end}"),
            ));
        }
        Ok(start..end)
    }

    /// Rows of a block.
    #[inline]
    pub fn rows(&self, block: u64) -> usize {
        (self.trailer.rows - block * BLOCK_ROWS as u64).min(BLOCK_ROWS as u64) as usize
    }

    /// How many of the blocks in `range` begin with a row for which `before` holds; it must hold for the
    /// blocks in front and for none behind. Looks first at the `step`th block of the range, then farther on
    /// in steps that double: 1 where the answer is probably near the front.
    pub fn partition_point(
        &self,
        file: &CheckedFile,
        range: Range<u64>,
        step: u64,
        before: impl Fn(&Row) -> bool,
    ) -> Result<u64> {
        search::partition_point(range, step, |block| {
            Ok(before(&self.first_row(file, block)?))
        })
    }
}
