//! Writes an order's file: rows come in sorted, in chunks of any size, and go out as blocks.
//!
//! What always holds: a chunk that begins and ends at block borders is encoded where it lies; other rows
//! wait in the writer until their block is full.

use super::block::{BlockEncoder, Codec};
use super::directory::{Row, Trailer, write_entry};
use super::{BLOCK_ROWS, COLUMNS_MAX, MAGIC, VERSION};
use crate::error::Result;
use crate::id::TermId;
use crate::io::Storage;
use crate::io::checked::{CheckedWriter, Unsynced};
use crate::quad::Order;
use std::sync::Arc;

/// Bytes of encoded blocks that are handed on together.
const OUTPUT_BYTES: usize = 64 << 10;

/// Writes one order of one set of quads to one file.
pub struct OrderWriter {
    file: CheckedWriter,
    order: Order,
    predicates: Arc<[TermId]>,
    encoder: BlockEncoder,
    /// Rows that wait for their block to be full, by column.
    waiting: Vec<Vec<u64>>,
    /// Encoded blocks that the file has not got yet.
    output: Vec<u8>,
    directory: Vec<u8>,
    last: Option<Row>,
    summary: OrderSummary,
}

/// What a column of an order took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnSummary {
    /// Blocks by codec, in the sequence of [`Codec::ALL`].
    pub blocks: [u64; Codec::ALL.len()],
    /// Bytes by codec, in the same sequence.
    pub bytes: [u64; Codec::ALL.len()],
}

impl ColumnSummary {
    /// Bytes of the column in all blocks.
    pub fn total_bytes(&self) -> u64 {
        self.bytes.iter().sum()
    }
}

/// What was written to an order's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderSummary {
    /// The order.
    pub order: Order,
    /// Rows.
    pub rows: u64,
    /// Bytes of blocks, directory and trailer (checksums, which the file adds, not counted).
    pub bytes: u64,
    /// Bytes of directory and trailer.
    pub directory_bytes: u64,
    /// Bytes by column and codec.
    pub columns: [ColumnSummary; COLUMNS_MAX],
}

impl OrderWriter {
    /// Creates the file. `predicates` is the segment's sorted list of predicates, into which the predicate
    /// column's ranks point.
    pub fn create(
        storage: &dyn Storage,
        path: &str,
        order: Order,
        predicates: Arc<[TermId]>,
    ) -> Result<Self> {
        debug_assert!(predicates.is_sorted());
        Ok(Self {
            file: CheckedWriter::create(storage, path, MAGIC, VERSION)?,
            order,
            encoder: BlockEncoder::new(order, predicates.len()),
            predicates,
            waiting: vec![Vec::new(); order.columns().len()],
            output: Vec::new(),
            directory: Vec::new(),
            last: None,
            summary: OrderSummary {
                order,
                rows: 0,
                bytes: 0,
                directory_bytes: 0,
                columns: [ColumnSummary::default(); COLUMNS_MAX],
            },
        })
    }

    /// Appends rows in strictly increasing order, behind those of the calls before: a slice for each
    /// column, all of one length; values are the bits of ids, in the predicate column ranks. Fastest where
    /// calls bring a multiple of [`BLOCK_ROWS`] rows.
    ///
    /// # Panics
    /// If the number of columns or their lengths are wrong, if a rank is not below the number of
    /// predicates, or if a block's first row does not come after the last one of the block before it (the
    /// order within blocks is asserted in debug builds, and checked by
    /// [`OrderFile::verify`](super::OrderFile::verify)).
    pub fn push(&mut self, columns: &[&[u64]]) -> Result<()> {
        assert_eq!(
            columns.len(),
            self.waiting.len(),
            "columns of another order"
        );
        let rows = columns[0].len();
        assert!(
            columns.iter().all(|column| column.len() == rows),
            "columns of different lengths"
        );
        let mut from = 0;
        while from < rows {
            let waiting = self.waiting[0].len();
            let until = rows.min(from + BLOCK_ROWS - waiting);
            if waiting == 0 && until - from == BLOCK_ROWS {
                let mut slices: [&[u64]; COLUMNS_MAX] = [&[]; COLUMNS_MAX];
                for (slice, column) in slices.iter_mut().zip(columns) {
                    *slice = &column[from..until];
                }
                self.block(&slices[..columns.len()])?;
            } else {
                for (waiting, column) in self.waiting.iter_mut().zip(columns) {
                    waiting.extend_from_slice(&column[from..until]);
                }
                if waiting + until - from == BLOCK_ROWS {
                    self.waiting_block()?;
                }
            }
            from = until;
        }
        Ok(())
    }

    /// Writes what waits, the directory and the trailer.
    pub fn finish(mut self) -> Result<(Unsynced, OrderSummary)> {
        if !self.waiting[0].is_empty() {
            self.waiting_block()?;
        }
        self.file.write_all(&self.output)?;
        let trailer = Trailer {
            rows: self.summary.rows,
            blocks: self.summary.rows.div_ceil(BLOCK_ROWS as u64),
            directory: self.file.position(),
            predicates: self.predicates.len() as u64,
            order: self.order,
            last: self.last.unwrap_or_default(),
        };
        self.file.write_all(&self.directory)?;
        self.file.write_all(&trailer.write())?;
        self.summary.bytes = self.file.position();
        self.summary.directory_bytes = self.summary.bytes - trailer.directory;
        Ok((self.file.finish()?, self.summary))
    }

    /// Encodes the rows that wait.
    fn waiting_block(&mut self) -> Result<()> {
        let mut waiting = std::mem::take(&mut self.waiting);
        let mut slices: [&[u64]; COLUMNS_MAX] = [&[]; COLUMNS_MAX];
        for (slice, column) in slices.iter_mut().zip(&waiting) {
            *slice = column;
        }
        self.block(&slices[..waiting.len()])?;
        for column in &mut waiting {
            column.clear();
        }
        self.waiting = waiting;
        Ok(())
    }

    /// Encodes a block.
    fn block(&mut self, columns: &[&[u64]]) -> Result<()> {
        let rows = columns[0].len();
        let row = |index: usize| {
            let mut row = Row::default();
            for (value, column) in row.iter_mut().zip(columns) {
                *value = column[index];
            }
            row
        };
        let first = row(0);
        assert!(
            self.last.is_none_or(|last| last < first),
            "rows must be strictly increasing"
        );
        debug_assert!(
            (1..rows).all(|index| row(index - 1) < row(index)),
            "rows must be strictly increasing"
        );
        self.last = Some(row(rows - 1));
        let offset = self.file.position() + self.output.len() as u64;
        write_entry(offset, &first[..columns.len()], &mut self.directory);
        let encoded = self.encoder.encode(columns, &mut self.output);
        for (summary, column) in self.summary.columns.iter_mut().zip(encoded) {
            if let Some(column) = column {
                summary.blocks[column.codec as usize] += 1;
                summary.bytes[column.codec as usize] += column.bytes as u64;
            }
        }
        self.summary.rows += rows as u64;
        if self.output.len() >= OUTPUT_BYTES {
            self.file.write_all(&self.output)?;
            self.output.clear();
        }
        Ok(())
    }
}
