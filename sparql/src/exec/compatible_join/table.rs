//! `KeyTable`: the rows of a batch by the ids in some columns.

use crate::exec::batch::Batch;
use crate::exec::hash::hash_row;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// No further row of the same key.
pub const NONE: u32 = u32::MAX;

/// Rows by their key.
pub struct KeyTable {
    columns: Vec<usize>,
    /// The last row of each key.
    table: HashTable<u32>,
    /// For each row the one before it that has the same key.
    previous: Vec<u32>,
}

impl KeyTable {
    /// No rows yet; the key is in these columns.
    pub fn new(columns: Vec<usize>) -> Self {
        Self {
            columns,
            table: HashTable::new(),
            previous: Vec::new(),
        }
    }

    /// The columns of the key.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> u64 {
        // An entry of the table has a byte of its hash beside it.
        let entries = self.table.capacity() * (size_of::<u32>() + 1);
        (entries + self.previous.capacity() * size_of::<u32>()) as u64
    }

    /// Removes all rows and gives their memory back.
    pub fn clear(&mut self) {
        self.table = HashTable::new();
        self.previous = Vec::new();
    }

    /// Files a row.
    pub fn insert(&mut self, kept: &Batch, row: usize) {
        let columns = &self.columns;
        let entry = self.table.entry(
            hash_row(kept, columns, row),
            |other| {
                let other = *other as usize;
                columns
                    .iter()
                    .all(|column| kept.column(*column)[other] == kept.column(*column)[row])
            },
            |other| hash_row(kept, columns, *other as usize),
        );
        if self.previous.len() <= row {
            self.previous.resize(row + 1, NONE);
        }
        match entry {
            Entry::Occupied(mut entry) => {
                self.previous[row] = std::mem::replace(entry.get_mut(), row as u32);
            }
            Entry::Vacant(entry) => {
                entry.insert(row as u32);
            }
        }
    }

    /// The last row whose key is in `columns` of a row of another batch; [`NONE`] if there is none.
    pub fn find(&self, kept: &Batch, left: &Batch, columns: &[usize], row: usize) -> u32 {
        self.table
            .find(hash_row(left, columns, row), |other| {
                let other = *other as usize;
                columns
                    .iter()
                    .zip(&self.columns)
                    .all(|(ours, theirs)| left.column(*ours)[row] == kept.column(*theirs)[other])
            })
            .copied()
            .unwrap_or(NONE)
    }

    /// The row before one that has the same key; [`NONE`] if there is none.
    pub fn next(&self, row: u32) -> u32 {
        self.previous.get(row as usize).copied().unwrap_or(NONE)
    }
}
