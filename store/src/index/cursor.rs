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

    /// Appends rows of the block in the window (numbers within the block) to the output's columns.
    fn fill_from_block(&mut self, rows: Range<usize>, out: &mut Columns) -> Result<()> {
        let mut unpacked = [0; COLUMNS_MAX];
        let mut unpacked_columns = 0;
        for column in self.prefix_columns..self.inner.columns {
            if !self.wanted.contains(column) {
                continue;
            }
            let out = &mut out.columns[column - self.prefix_columns];
            if let Some(value) = self.window.constant(column) {
                let id = if column == self.inner.predicate_column {
                    self.inner.predicate(value)?
                } else {
                    TermId::from_bits(value)
                };
                out.resize(out.len() + rows.len(), id);
            } else {
                out.reserve(rows.len());
                unpacked[unpacked_columns] = column;
                unpacked_columns += 1;
            }
        }
        // One mini-block after another, not one column after another: columns by predicate share the codes
        // of their mini-block with the predicate column.
        let mut from = rows.start;
        while from < rows.end && unpacked_columns > 0 {
            let mini_block = from / MINI_BLOCK_ROWS;
            let first = mini_block * MINI_BLOCK_ROWS;
            let until = rows.end.min(first + MINI_BLOCK_ROWS);
            for column in &unpacked[..unpacked_columns] {
                let out = &mut out.columns[column - self.prefix_columns];
                self.fill_from_mini_block(*column, mini_block, from - first..until - first, out)?;
            }
            from = until;
        }
        Ok(())
    }

    /// Appends some of a mini-block's values to a column of the output.
    #[inline]
    fn fill_from_mini_block(
        &mut self,
        column: usize,
        mini_block: usize,
        rows: Range<usize>,
        out: &mut Vec<TermId>,
    ) -> Result<()> {
        let inner = &*self.inner;
        let values = &self.window.column(inner, column, mini_block)?[rows];
        if column != inner.predicate_column {
            out.extend_from_slice(bytemuck::cast_slice(values));
            return Ok(());
        }
        let mut unknown = None;
        out.extend(values.iter().map(|rank| {
            let id = inner.predicates.get(*rank as usize).copied();
            if id.is_none() {
                unknown = Some(*rank);
            }
            id.unwrap_or_default()
        }));
        match unknown {
            None => Ok(()),
            // The error is the same as for a single rank.
            Some(rank) => inner.predicate(rank).map(|_| ()),
        }
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
