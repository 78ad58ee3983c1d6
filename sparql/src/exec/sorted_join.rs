//! `SortedJoin`: OPTIONAL, EXISTS and MINUS of two inputs that are sorted by the one variable that they share, bound in both.
//!
//! Both inputs are read once, side by side. Each left row is given with the right rows of its key, or alone; or it is given, or
//! not, because there are some. A right input that is far behind is told to skip to the left row's key. The right rows of a key (a
//! *group*) are read where they are; if a batch's end cuts them they are copied into a buffer, which must fit in the
//! query's memory. (The rows that both inputs have are joined by a [`MergeJoin`](super::merge_join::MergeJoin).)
//!
//! The output is sorted as the left input is.

use super::batch::Batch;
use super::compatible_join::JoinKind;
use super::control::Control;
use super::memory::Reservation;
use super::operator::{Input, Operator};
use super::pairs::{Side, Source};
use crate::error::Result;
use quadrille_store::{TermId, gallop};
use std::ops::Range;
use std::sync::Arc;

/// The right row of a left row that is given alone.
const ALONE: u32 = u32::MAX;

/// Joins two sorted inputs, and gives left rows that have no match as well, or nothing but left rows.
pub struct SortedJoin {
    left: Input,
    right: Input,
    /// The left and the right column of the key.
    keys: (usize, usize),
    kind: JoinKind,
    outputs: Vec<Source>,
    control: Arc<Control>,
    group: Group,
    /// The rows of a group that a batch's end cut.
    buffer: Batch,
    reservation: Reservation,
    /// Left and right rows that are to be given together.
    pairs: (Vec<u32>, Vec<u32>),
    right_ended: bool,
    ended: bool,
}

/// The right rows of a key.
#[derive(Default)]
struct Group {
    /// Unbound before the first.
    key: TermId,
    /// Whether they are in the buffer, not in the right input's batch.
    is_buffered: bool,
    rows: Range<usize>,
    /// How many of them were paired with the current left row.
    paired: usize,
}

impl SortedJoin {
    /// Joins two inputs; `kind` is not [`JoinKind::Inner`].
    pub fn new(
        left: Input,
        right: Input,
        keys: (usize, usize),
        kind: JoinKind,
        outputs: Vec<Source>,
        control: Arc<Control>,
    ) -> Self {
        debug_assert_ne!(kind, JoinKind::Inner, "that is a merge join");
        Self {
            buffer: Batch::new(right.batch.width()),
            left,
            right,
            keys,
            kind,
            outputs,
            reservation: Reservation::fixed(control.memory()),
            control,
            group: Group::default(),
            pairs: (Vec::new(), Vec::new()),
            right_ended: false,
            ended: false,
        }
    }

    /// Gives the pairs so far: a batch that they refer to is about to be replaced, or the output is full.
    fn flush(&mut self, output: &mut Batch) {
        let right = if self.group.is_buffered {
            &self.buffer
        } else {
            &self.right.batch
        };
        let (left_rows, right_rows) = &mut self.pairs;
        for (index, (side, column)) in self.outputs.iter().enumerate() {
            let target = output.column_mut(index);
            match side {
                Side::Left => {
                    let from = self.left.batch.column(*column);
                    target.extend(left_rows.iter().map(|row| from[*row as usize]));
                }
                Side::Right => {
                    let from = right.column(*column);
                    target.extend(right_rows.iter().map(|row| match *row {
                        ALONE => TermId::UNBOUND,
                        row => from[row as usize],
                    }));
                }
            }
        }
        output.set_rows(output.rows() + left_rows.len());
        left_rows.clear();
        right_rows.clear();
    }

    /// Finds the right rows of a key that is greater than the group's.
    fn find(&mut self, key: TermId, output: &mut Batch) -> Result<()> {
        // What comes may be in another place than what was paired.
        if self.group.is_buffered {
            self.flush(output);
        }
        self.group = Group {
            key,
            ..Group::default()
        };
        while !self.right_ended {
            let keys = self.right.batch.column(self.keys.1);
            let at = gallop(self.right.at, keys.len(), |row| keys[row] < key);
            self.right.at = at;
            if at < keys.len() {
                if keys[at] == key {
                    let end = gallop(at + 1, keys.len(), |row| keys[row] == key);
                    self.right.at = end;
                    self.group.rows = at..end;
                    if end == keys.len() && self.kind == JoinKind::Left {
                        return self.gather(output);
                    }
                }
                return Ok(());
            }
            self.flush(output);
            self.right.skip_to(&[key])?;
            self.right_ended = !self.right.fetch()?;
        }
        Ok(())
    }

    /// Copies the group into the buffer: it may go on in the next batches.
    fn gather(&mut self, output: &mut Batch) -> Result<()> {
        self.flush(output);
        self.buffer.clear();
        let Range { start, end } = self.group.rows;
        self.buffer.append(&self.right.batch, start, end);
        while !self.right_ended && self.right.is_used_up() {
            self.right_ended = !self.right.fetch()?;
            let keys = self.right.batch.column(self.keys.1);
            let end = gallop(0, keys.len(), |row| keys[row] == self.group.key);
            self.buffer.append(&self.right.batch, 0, end);
            self.reservation.raise_to(self.buffer.bytes())?;
            self.right.at = end;
        }
        self.group.is_buffered = true;
        self.group.rows = 0..self.buffer.rows();
        Ok(())
    }

    /// Notes what comes of the current left row; `true` if there is no room for all of it.
    fn pair(&mut self, room: usize) -> bool {
        let row = self.left.at as u32;
        let (left_rows, right_rows) = &mut self.pairs;
        let is_matched = !self.group.rows.is_empty();
        if self.kind == JoinKind::Left && is_matched {
            let start = self.group.rows.start + self.group.paired;
            let end = self.group.rows.end.min(start + room);
            left_rows.resize(left_rows.len() + (end - start), row);
            right_rows.extend(start as u32..end as u32);
            if end < self.group.rows.end {
                self.group.paired += end - start;
                return true;
            }
            self.group.paired = 0;
        } else if is_matched == (self.kind != JoinKind::Unmatched) || self.kind == JoinKind::Left {
            left_rows.push(row);
            right_rows.push(ALONE);
        }
        false
    }
}

impl Operator for SortedJoin {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        self.control.check()?;
        while !self.ended {
            if self.left.is_used_up() {
                self.flush(output);
                self.control.check()?;
                self.ended = !self.left.fetch()?;
                continue;
            }
            let room = self.control.batch_rows() - output.rows() - self.pairs.0.len();
            if room == 0 {
                break;
            }
            let keys = self.left.batch.column(self.keys.0);
            let key = keys[self.left.at];
            if key != self.group.key {
                self.find(key, output)?;
                if self.right_ended && self.group.rows.is_empty() && self.kind == JoinKind::Matched
                {
                    self.ended = true;
                }
            }
            if self.pair(room) {
                break;
            }
            self.left.at += 1;
        }
        self.flush(output);
        Ok(output.rows())
    }

    fn skip_to(&mut self, key: &[TermId]) -> Result<()> {
        // The right input follows.
        self.left.skip_to(&key[..key.len().min(1)])
    }
}
