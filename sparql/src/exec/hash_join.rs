//! `HashJoin`: keeps one input, which is known to be small, in memory under its keys, and looks each row of the
//! other up there.
//!
//! The planner uses it only where the exact number of rows to keep is known and below a bound. The output is sorted as
//! the input is that streams.

use super::batch::{Batch, compare_rows};
use super::control::Control;
use super::hash::hash_row;
use super::operator::{Input, Operator};
use super::pairs::{Pairs, Source};
use crate::error::Result;
use hashbrown::HashTable;
use quadrille_store::TermId;
use std::sync::Arc;

/// No further row of the same key.
const NONE: u32 = u32::MAX;

/// Joins a streaming input (left) with a kept one (right).
pub struct HashJoin {
    left: Input,
    /// What is to be kept, until it is.
    right: Option<Box<dyn Operator>>,
    left_keys: Vec<usize>,
    right_keys: Vec<usize>,
    outputs: Vec<Source>,
    control: Arc<Control>,
    kept: Batch,
    /// The last row of each key.
    table: HashTable<u32>,
    /// For each row the one before it that has the same key.
    previous: Vec<u32>,
    /// The next right row for the left input's current row.
    next_match: Option<u32>,
    pairs: Pairs,
    ended: bool,
}

impl HashJoin {
    /// Joins `left` with `right`, whose key columns are numbered in the same sequence.
    pub fn new(
        left: Input,
        right: Box<dyn Operator>,
        right_width: usize,
        left_keys: Vec<usize>,
        right_keys: Vec<usize>,
        outputs: Vec<Source>,
        control: Arc<Control>,
    ) -> Self {
        Self {
            left,
            right: Some(right),
            left_keys,
            right_keys,
            outputs,
            control,
            kept: Batch::new(right_width),
            table: HashTable::new(),
            previous: Vec::new(),
            next_match: None,
            pairs: Pairs::default(),
            ended: false,
        }
    }

    /// Reads the right input and files its rows.
    fn keep(&mut self, mut right: Box<dyn Operator>) -> Result<()> {
        let mut batch = Batch::new(self.kept.width());
        while right.next(&mut batch)? > 0 {
            self.kept.append(&batch, 0, batch.rows());
        }
        let (kept, keys) = (&self.kept, &self.right_keys);
        self.table
            .reserve(kept.rows(), |row| hash_row(kept, keys, *row as usize));
        self.previous.resize(kept.rows(), NONE);
        for row in 0..kept.rows() {
            let entry = self.table.entry(
                hash_row(kept, keys, row),
                |other| compare_rows(kept, keys, *other as usize, kept, keys, row).is_eq(),
                |other| hash_row(kept, keys, *other as usize),
            );
            match entry {
                hashbrown::hash_table::Entry::Occupied(mut entry) => {
                    self.previous[row] = std::mem::replace(entry.get_mut(), row as u32);
                }
                hashbrown::hash_table::Entry::Vacant(entry) => {
                    entry.insert(row as u32);
                }
            }
        }
        Ok(())
    }

    fn find(&self, row: usize) -> Option<u32> {
        let (left, keys) = (&self.left.batch, &self.left_keys);
        self.table
            .find(hash_row(left, keys, row), |other| {
                compare_rows(
                    &self.kept,
                    &self.right_keys,
                    *other as usize,
                    left,
                    keys,
                    row,
                )
                .is_eq()
            })
            .copied()
    }

    /// Pairs left rows of the batch; `true` if the output is full.
    fn pair(&mut self, output: &Batch) -> bool {
        let full = self.control.batch_rows() - output.rows();
        while !self.left.is_used_up() {
            let row = self.left.at;
            let mut found = match self.next_match.take() {
                Some(found) => found,
                None => match self.find(row) {
                    Some(found) => found,
                    None => NONE,
                },
            };
            while found != NONE {
                if self.pairs.len() == full {
                    self.next_match = Some(found);
                    return true;
                }
                self.pairs.push(row, found as usize);
                found = self.previous[found as usize];
            }
            self.left.at += 1;
        }
        false
    }
}

impl Operator for HashJoin {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        self.control.check()?;
        if let Some(right) = self.right.take() {
            self.keep(right)?;
            // Without right rows there is no need to read the left ones.
            self.ended = self.kept.rows() == 0;
        }
        while !self.ended {
            let is_full = self.pair(output);
            self.pairs
                .flush(&self.left.batch, &self.kept, &self.outputs, output);
            if is_full {
                break;
            }
            if !self.left.fetch()? {
                self.ended = true;
            }
        }
        Ok(output.rows())
    }

    fn skip_to(&mut self, key: &[TermId]) -> Result<()> {
        self.left.skip_to(key)
    }
}
