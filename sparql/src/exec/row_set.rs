//! `RowSet`: different rows of ids, each with a number in the sequence in which they came.

use super::batch::Batch;
use super::hash::hash_ids;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use quadrille_store::TermId;
use std::ops::Range;

/// Different rows.
pub struct RowSet {
    width: usize,
    rows: usize,
    /// One row behind the other.
    ids: Vec<TermId>,
    /// Numbers of rows.
    table: HashTable<usize>,
}

impl RowSet {
    /// No rows, each of which has so many ids.
    pub fn new(width: usize) -> Self {
        Self {
            width,
            rows: 0,
            ids: Vec::new(),
            table: HashTable::new(),
        }
    }

    /// How many ids a row has.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The ids of all rows, one row behind the other.
    pub fn ids(&self) -> &[TermId] {
        &self.ids
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> u64 {
        // An entry of the table has a byte of its hash beside it.
        let entries = self.table.capacity() * (size_of::<usize>() + 1);
        (self.ids.capacity() * size_of::<TermId>() + entries) as u64
    }

    /// The number of a row, and whether it is new.
    pub fn insert(&mut self, row: &[TermId]) -> (usize, bool) {
        let width = self.width;
        let ids = &self.ids;
        let entry = self.table.entry(
            hash_ids(row),
            |other| ids[*other * width..][..width] == *row,
            |other| hash_ids(&ids[*other * width..][..width]),
        );
        match entry {
            Entry::Occupied(entry) => (*entry.get(), false),
            Entry::Vacant(entry) => {
                let number = self.rows;
                entry.insert(number);
                self.ids.extend_from_slice(row);
                self.rows += 1;
                (number, true)
            }
        }
    }

    /// Adds a row without looking whether it is there, nor will it be found.
    pub fn push(&mut self, row: &[TermId]) -> usize {
        debug_assert_eq!(row.len(), self.width);
        self.ids.extend_from_slice(row);
        self.rows += 1;
        self.rows - 1
    }

    /// The rows, in the sequence in which they came.
    pub fn iter(&self) -> impl Iterator<Item = &[TermId]> {
        (0..self.rows).map(|row| &self.ids[row * self.width..][..self.width])
    }

    /// Appends the ids of some rows to the first columns of a batch; [`Batch::set_rows`] must follow.
    pub fn append_to(&self, rows: Range<usize>, output: &mut Batch) {
        let ids = &self.ids[rows.start * self.width..rows.end * self.width];
        for column in 0..self.width {
            let ids = ids.iter().skip(column).step_by(self.width);
            output.column_mut(column).extend(ids);
        }
    }

    /// The number of a row that is there.
    pub fn find(&self, row: &[TermId]) -> Option<usize> {
        let width = self.width;
        self.table
            .find(hash_ids(row), |other| {
                self.ids[*other * width..][..width] == *row
            })
            .copied()
    }

    /// Removes all rows and gives their memory back.
    pub fn clear(&mut self) {
        *self = Self::new(self.width);
    }
}
