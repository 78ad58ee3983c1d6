//! `MergeJoin`: joins two inputs that are sorted by the same variables.
//!
//! Both inputs are read once. Where one is ahead, the other gallops within its batch and is told to skip beyond it, so
//! that a short input leaps through a long one. The rows of the right input that share a key (a *group*) are
//! paired with every left row of that key; a group that a batch's end cuts is copied into a buffer, which must fit in the
//! query's memory.
//!
//! The output is sorted as the left input is.

use super::batch::{Batch, compare_rows};
use super::control::Control;
use super::memory::Reservation;
use super::operator::{Input, Operator};
use super::pairs::{Pairs, Source};
use crate::error::Result;
use quadrille_store::{TermId, gallop};
use std::cmp::Ordering;
use std::sync::Arc;

/// The columns that a join compares.
#[derive(Clone, Debug, Default)]
pub struct JoinColumns {
    /// Columns of the left input that both are sorted by, in that sequence.
    pub left: Vec<usize>,
    /// The same of the right input.
    pub right: Vec<usize>,
    /// Pairs of further columns that must be the same.
    pub residual: Vec<(usize, usize)>,
}

/// Joins two sorted inputs.
pub struct MergeJoin {
    left: Input,
    right: Input,
    columns: JoinColumns,
    outputs: Vec<Source>,
    control: Arc<Control>,
    group: Option<Group>,
    /// The rows of a group that several batches had.
    buffer: Batch,
    /// What the buffer takes.
    reservation: Reservation,
    pairs: Pairs,
    ended: bool,
}

/// Rows that are compared between two looks at whether the query was stopped.
const COMPARED_ROWS: usize = 1 << 14;

/// Right rows that share a key.
#[derive(Clone, Copy)]
struct Group {
    /// Whether they are in the buffer, not in the right input's batch.
    buffered: bool,
    start: usize,
    end: usize,
    /// The next one to be paired with the left input's current row.
    next: usize,
}

impl MergeJoin {
    /// Joins two inputs.
    pub fn new(
        left: Input,
        right: Input,
        columns: JoinColumns,
        outputs: Vec<Source>,
        control: Arc<Control>,
    ) -> Self {
        let buffer = Batch::new(right.batch.width());
        Self {
            left,
            right,
            columns,
            outputs,
            reservation: Reservation::fixed(control.memory()),
            control,
            group: None,
            buffer,
            pairs: Pairs::default(),
            ended: false,
        }
    }

    /// Pairs the group with the left rows of its key; `true` if the output is full.
    fn pair(&mut self, group: &mut Group, output: &Batch) -> Result<bool> {
        let mut compared = 0;
        let source = if group.buffered {
            &self.buffer
        } else {
            &self.right.batch
        };
        while !self.left.is_used_up() {
            let row = self.left.at;
            if compare_rows(
                &self.left.batch,
                &self.columns.left,
                row,
                source,
                &self.columns.right,
                group.start,
            )
            .is_ne()
            {
                break;
            }
            let space = self.control.batch_rows() - output.rows() - self.pairs.len();
            if self.columns.residual.is_empty() {
                let end = group.end.min(group.next + space);
                self.pairs.push_range(row, group.next..end);
                group.next = end;
            } else {
                let full = self.pairs.len() + space;
                compared += group.end - group.next;
                if compared > COMPARED_ROWS {
                    self.control.check()?;
                    compared = 0;
                }
                while group.next < group.end && self.pairs.len() < full {
                    let right = group.next;
                    if self
                        .columns
                        .residual
                        .iter()
                        .all(|(left_column, right_column)| {
                            self.left.batch.column(*left_column)[row]
                                == source.column(*right_column)[right]
                        })
                    {
                        self.pairs.push(row, right);
                    }
                    group.next += 1;
                }
            }
            if group.next < group.end {
                return Ok(true);
            }
            group.next = group.start;
            self.left.at += 1;
        }
        Ok(false)
    }

    fn flush(&mut self, buffered: bool, output: &mut Batch) {
        let right = if buffered {
            &self.buffer
        } else {
            &self.right.batch
        };
        self.pairs
            .flush(&self.left.batch, right, &self.outputs, output);
    }

    /// Pairs rows as long as that is simple: one key, no further columns to compare, and groups that end within the
    /// right batch. What is left to do is what [`MergeJoin::align`] and the rest do, starting from there.
    fn pair_simple(&mut self, output: &Batch) {
        let ([left_key], [right_key]) = (&*self.columns.left, &*self.columns.right) else {
            return;
        };
        if !self.columns.residual.is_empty() || self.left.is_used_up() || self.right.is_used_up() {
            return;
        }
        let (left, right) = (
            self.left.batch.column(*left_key),
            self.right.batch.column(*right_key),
        );
        let (mut at_left, mut at_right) = (self.left.at, self.right.at);
        let full = self.control.batch_rows() - output.rows();
        while at_left < left.len() && at_right < right.len() {
            let key = left[at_left];
            match key.cmp(&right[at_right]) {
                Ordering::Less => {
                    let least = right[at_right];
                    at_left = gallop(at_left + 1, left.len(), |row| left[row] < least);
                }
                Ordering::Greater => {
                    at_right = gallop(at_right + 1, right.len(), |row| right[row] < key);
                }
                Ordering::Equal => {
                    let end = gallop(at_right + 1, right.len(), |row| right[row] == key);
                    if end == right.len() || self.pairs.len() + (end - at_right) > full {
                        break;
                    }
                    if end == at_right + 1 {
                        self.pairs.push(at_left, at_right);
                    } else {
                        self.pairs.push_range(at_left, at_right..end);
                    }
                    at_left += 1;
                    // The group is left when a left row with a greater key meets it.
                }
            }
        }
        self.left.at = at_left;
        self.right.at = at_right;
    }

    /// Moves both inputs to their next common key; `false` if there is none.
    fn align(&mut self, output: &mut Batch) -> Result<bool> {
        loop {
            if self.left.is_used_up() {
                self.flush(false, output);
                skip(&mut self.left, &self.right, &self.columns.right)?;
                if !self.left.fetch()? {
                    return Ok(false);
                }
            }
            if self.right.is_used_up() {
                self.flush(false, output);
                skip(&mut self.right, &self.left, &self.columns.left)?;
                if !self.right.fetch()? {
                    return Ok(false);
                }
            }
            let (left, right) = (&self.columns.left, &self.columns.right);
            let order = compare_rows(
                &self.left.batch,
                left,
                self.left.at,
                &self.right.batch,
                right,
                self.right.at,
            );
            match order {
                Ordering::Equal => return Ok(true),
                Ordering::Less => advance(&mut self.left, left, &self.right, right),
                Ordering::Greater => advance(&mut self.right, right, &self.left, left),
            }
        }
    }

    /// The group that begins at the right input's current row.
    fn collect(&mut self, output: &mut Batch) -> Result<Group> {
        let start = self.right.at;
        let end = run_end(&self.right.batch, &self.columns.right, start);
        if end < self.right.batch.rows() {
            self.right.at = end;
            return Ok(Group {
                buffered: false,
                start,
                end,
                next: start,
            });
        }
        // The next batch may have more of it; what is paired up to now refers to this batch.
        self.flush(false, output);
        self.buffer.clear();
        self.buffer.append(&self.right.batch, start, end);
        loop {
            self.right.at = self.right.batch.rows();
            if !self.right.fetch()? {
                break;
            }
            let keys = &self.columns.right;
            if compare_rows(&self.buffer, keys, 0, &self.right.batch, keys, 0).is_ne() {
                break;
            }
            let end = run_end(&self.right.batch, keys, 0);
            self.buffer.append(&self.right.batch, 0, end);
            self.reservation.raise_to(self.buffer.bytes())?;
            self.right.at = end;
            if end < self.right.batch.rows() {
                break;
            }
        }
        Ok(Group {
            buffered: true,
            start: 0,
            end: self.buffer.rows(),
            next: 0,
        })
    }
}

impl Operator for MergeJoin {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        self.control.check()?;
        while !self.ended {
            if let Some(mut group) = self.group.take() {
                if self.pair(&mut group, output)? {
                    self.flush(group.buffered, output);
                    self.group = Some(group);
                    return Ok(output.rows());
                }
                if self.left.is_used_up() {
                    self.flush(group.buffered, output);
                    if self.left.fetch()? {
                        // Its first rows may be of the same key.
                        self.group = Some(group);
                    } else {
                        self.ended = true;
                    }
                    continue;
                }
                if group.buffered {
                    self.flush(true, output);
                }
            }
            self.pair_simple(output);
            if !self.align(output)? {
                self.ended = true;
                break;
            }
            self.group = Some(self.collect(output)?);
        }
        Ok(output.rows())
    }

    fn skip_to(&mut self, key: &[TermId]) -> Result<()> {
        // The inputs' current batches are not touched; what they hold is compared as ever.
        let key = &key[..key.len().min(self.columns.left.len())];
        self.left.skip_to(key)?;
        self.right.skip_to(key)
    }
}

/// Moves an input to the first row of its batch whose key is not less than that of another input's current row.
fn advance(input: &mut Input, columns: &[usize], other: &Input, other_columns: &[usize]) {
    let batch = &input.batch;
    input.at = gallop(input.at + 1, batch.rows(), |row| {
        compare_rows(batch, columns, row, &other.batch, other_columns, other.at).is_lt()
    });
}

/// Tells an input whose batch is used up to skip to the key of another input's current row.
fn skip(input: &mut Input, other: &Input, other_columns: &[usize]) -> Result<()> {
    if other.is_used_up() {
        return Ok(());
    }
    let mut key = [TermId::UNBOUND; 4];
    let length = other_columns.len().min(key.len());
    for (value, column) in key.iter_mut().zip(other_columns) {
        *value = other.batch.column(*column)[other.at];
    }
    input.skip_to(&key[..length])
}

/// The end of the rows from `start` on that share its key.
fn run_end(batch: &Batch, columns: &[usize], start: usize) -> usize {
    gallop(start + 1, batch.rows(), |row| {
        compare_rows(batch, columns, row, batch, columns, start).is_eq()
    })
}
