//! `Batch`: some rows, column by column, and what joins do with rows.

use quadrille_store::TermId;
use quadrille_store::index::Columns;
use std::cmp::Ordering;

/// Rows by column. All columns are of the same length, but for those that a scan left out because nobody wants them.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    columns: Columns,
    rows: usize,
}

impl Batch {
    /// A batch without rows and with this many columns.
    pub fn new(columns: usize) -> Self {
        Self {
            columns: Columns {
                columns: vec![Vec::new(); columns],
            },
            rows: 0,
        }
    }

    /// How many rows there are. A batch may have rows without columns: then only their number counts.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns there are.
    pub fn width(&self) -> usize {
        self.columns.columns.len()
    }

    /// A column, one id a row.
    #[inline]
    pub fn column(&self, index: usize) -> &[TermId] {
        &self.columns.columns[index]
    }

    /// The memory that the columns take, in bytes.
    pub fn bytes(&self) -> u64 {
        let columns = self.columns.columns.iter();
        columns
            .map(|column| (column.capacity() * size_of::<TermId>()) as u64)
            .sum()
    }

    /// Removes all rows, keeps columns and memory.
    pub fn clear(&mut self) {
        self.columns.clear();
        self.rows = 0;
    }

    /// Makes this a batch of `width` columns without rows.
    pub fn reset(&mut self, width: usize) {
        self.columns.columns.resize_with(width, Vec::new);
        self.clear();
    }

    /// Replaces the rows by those of another batch, whose columns are the first ones of this: who reads rows to add columns has
    /// room for these. The other one is left without rows.
    pub fn take_rows(&mut self, other: &mut Self) {
        self.clear();
        for column in 0..other.width() {
            self.swap_column(column, other, column);
        }
        self.set_rows(other.rows());
        other.clear();
    }

    /// A column to append to; [`Batch::set_rows`] must follow.
    #[inline]
    pub fn column_mut(&mut self, index: usize) -> &mut Vec<TermId> {
        &mut self.columns.columns[index]
    }

    /// What a scan appends to; [`Batch::set_rows`] must follow.
    pub fn columns_mut(&mut self) -> &mut Columns {
        &mut self.columns
    }

    /// States how many rows there are now that columns were appended to.
    pub fn set_rows(&mut self, rows: usize) {
        debug_assert!(
            self.columns
                .columns
                .iter()
                .all(|column| column.is_empty() || column.len() == rows),
            "columns of different lengths"
        );
        self.rows = rows;
    }

    /// Exchanges a column with one of another batch.
    pub fn swap_column(&mut self, index: usize, other: &mut Self, other_index: usize) {
        std::mem::swap(
            &mut self.columns.columns[index],
            &mut other.columns.columns[other_index],
        );
    }

    /// Keeps the rows whose numbers are in `selection`, which is ascending.
    pub fn select(&mut self, selection: &[u32]) {
        if selection.len() == self.rows {
            return;
        }
        for column in &mut self.columns.columns {
            if column.is_empty() {
                continue;
            }
            for (to, from) in selection.iter().enumerate() {
                column[to] = column[*from as usize];
            }
            column.truncate(selection.len());
        }
        self.rows = selection.len();
    }

    /// Keeps rows `start..start + length`.
    pub fn slice(&mut self, start: usize, length: usize) {
        debug_assert!(start + length <= self.rows);
        for column in &mut self.columns.columns {
            if column.is_empty() {
                continue;
            }
            column.copy_within(start..start + length, 0);
            column.truncate(length);
        }
        self.rows = length;
    }

    /// Appends the rows of these numbers of another batch, whose columns are the first ones of this.
    pub fn append_rows(&mut self, other: &Self, numbers: &[u32]) {
        for (column, from) in self.columns.columns.iter_mut().zip(&other.columns.columns) {
            column.extend(numbers.iter().map(|row| from[*row as usize]));
        }
        self.rows += numbers.len();
    }

    /// Appends rows `start..end` of a batch with the same columns.
    pub fn append(&mut self, other: &Self, start: usize, end: usize) {
        for (column, more) in self.columns.columns.iter_mut().zip(&other.columns.columns) {
            if !more.is_empty() {
                column.extend_from_slice(&more[start..end]);
            }
        }
        self.rows += end - start;
    }
}

/// Compares two rows by some columns of each, lexicographically.
#[inline]
pub fn compare_rows(
    left: &Batch,
    left_columns: &[usize],
    left_row: usize,
    right: &Batch,
    right_columns: &[usize],
    right_row: usize,
) -> Ordering {
    for (left_column, right_column) in left_columns.iter().zip(right_columns) {
        let order =
            left.column(*left_column)[left_row].cmp(&right.column(*right_column)[right_row]);
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}
