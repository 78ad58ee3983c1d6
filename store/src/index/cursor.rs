//! Reads rows of an order's file from front to back, in vectors.
//!
//! The rows of a cursor are a range of row numbers that was found when it was opened, so reading compares
//! no keys: it unpacks mini-blocks and copies. Only the wanted columns are unpacked.

use super::reader::Inner;
use super::search::{KeptWindow, Side};
use super::{BLOCK_ROWS, COLUMNS_MAX, ColumnMask, Columns, Cursor};
use crate::codec::MINI_BLOCK_ROWS;
use crate::error::Result;
use crate::id::TermId;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A cursor over the rows of an order's file that begin with a prefix.
pub struct OrderCursor {
    inner: Arc<Inner>,
    window: KeptWindow,
    prefix: [TermId; COLUMNS_MAX],
    prefix_columns: usize,
    wanted: ColumnMask,
    /// Numbers of the rows that are still to come.
    rows: Range<u64>,
}

impl OrderCursor {
    pub(super) fn new(
        inner: Arc<Inner>,
        window: KeptWindow,
        prefix: &[TermId],
        rows: Range<u64>,
        wanted: ColumnMask,
    ) -> Self {
        let mut ids = [TermId::UNBOUND; COLUMNS_MAX];
        ids[..prefix.len()].copy_from_slice(prefix);
        Self {
            inner,
            window,
            prefix: ids,
            prefix_columns: prefix.len(),
            wanted,
            rows,
        }
    }

    /// How many rows are still to come; exact.
    pub fn remaining(&self) -> u64 {
        self.rows.end - self.rows.start
    }

    /// The numbers of the rows that are still to come.
    pub fn row_range(&self) -> Range<u64> {
        self.rows.clone()
    }

    /// Appends rows `from..until` of a block (numbers within the block) to the output's columns.
    fn fill_from_block(&mut self, rows: Range<usize>, out: &mut Columns) -> Result<()> {
        let inner = &*self.inner;
        for column in self.prefix_columns..inner.columns {
            if !self.wanted.contains(column) {
                continue;
            }
            let out = &mut out.columns[column - self.prefix_columns];
            let is_predicate = column == inner.predicate_column;
            if let Some(value) = self.window.constant(column) {
                let id = if is_predicate {
                    inner.predicate(value)?
                } else {
                    TermId::from_bits(value)
                };
                out.resize(out.len() + rows.len(), id);
                continue;
            }
            out.reserve(rows.len());
            let mut from = rows.start;
            while from < rows.end {
                let mini_block = from / MINI_BLOCK_ROWS;
                let first = mini_block * MINI_BLOCK_ROWS;
                let until = rows.end.min(first + MINI_BLOCK_ROWS);
                let values = self.window.column(inner, column, mini_block)?;
                let values = &values[from - first..until - first];
                if is_predicate {
                    for rank in values {
                        out.push(inner.predicate(*rank)?);
                    }
                } else {
                    out.extend_from_slice(bytemuck::cast_slice(values));
                }
                from = until;
            }
        }
        Ok(())
    }
}

impl Cursor for OrderCursor {
    fn fill(&mut self, out: &mut Columns, max: usize) -> Result<usize> {
        out.widen(self.inner.columns - self.prefix_columns);
        let total = self.remaining().min(max as u64);
        let end = self.rows.start + total;
        while self.rows.start < end {
            let number = self.rows.start / BLOCK_ROWS as u64;
            let block_start = number * BLOCK_ROWS as u64;
            let until = end.min(block_start + BLOCK_ROWS as u64);
            self.window.load(&self.inner, number)?;
            let rows = (self.rows.start - block_start) as usize..(until - block_start) as usize;
            self.fill_from_block(rows, out)?;
            self.rows.start = until;
        }
        Ok(total as usize)
    }

    fn seek(&mut self, key: &[TermId]) -> Result<()> {
        let mut ids = self.prefix;
        let columns = self.prefix_columns + key.len();
        assert!(
            columns <= self.inner.columns,
            "a key longer than the cursor's rows"
        );
        ids[self.prefix_columns..columns].copy_from_slice(key);
        let (key, _) = self.inner.key(&ids[..columns]);
        self.rows.start =
            self.window
                .find(&self.inner, self.rows.clone(), &key, Side::Lower, true)?;
        Ok(())
    }
}

impl fmt::Debug for OrderCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrderCursor")
            .field("order", &self.inner.order)
            .field("prefix", &&self.prefix[..self.prefix_columns])
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}
