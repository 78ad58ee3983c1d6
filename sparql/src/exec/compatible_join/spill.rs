//! What a join does when the rows to keep outgrow their memory.
//!
//! ```text
//! keep right rows --- all fit ---> probe with left rows ---> next task, or the end
//!     |  memory full                     ^
//!     |-- divisible: both inputs go to parts by the hash of the columns that every row binds; each pair of parts
//!     |              is a task, which is joined, and maybe divided again, in the same way
//!     '-- not divisible (no such columns, or a part that one key fills): the left rows lie in a file and are read
//!                    once for each memory-full of right rows; which of them were matched is remembered
//! ```
//!
//! Where the left input's sequence must be kept its rows are numbered as they go to files, and what is joined is sorted by the
//! numbers.

use super::{CompatibleJoin, JoinKind, Phase};
use crate::error::Result;
use crate::exec::batch::Batch;
use crate::exec::operator::Input;
use crate::exec::spill::partition::Partitions;
use crate::exec::spill::run::{Run, RunWriter};
use crate::exec::spill::sorter::{ByNumber, Sorter};
use quadrille_store::TermId;
use roaring::RoaringTreemap;
use std::sync::Arc;

/// How often rows are divided at most: 16^8 parts are more than there are rows.
const DEPTH_MAX: u32 = 8;

/// Two parts that are to be joined.
pub(super) struct Task {
    left: Run,
    right: Run,
    /// How often they were divided.
    depth: u32,
}

/// A join whose left rows are read once for each memory-full of right rows.
pub(super) struct Passes {
    left: Run,
    /// Numbers of left rows that were matched in an earlier pass.
    matched: RoaringTreemap,
    /// The number of the first row of the left batch.
    batch_start: u64,
    /// Whether this pass has the last of the right rows.
    is_last: bool,
}

/// Numbers left rows and sorts what is joined.
pub(super) struct Sequence {
    /// The column that left rows in files have behind the others.
    pub(super) column: usize,
    next: u64,
    /// Whether the left rows come from a file, and have their numbers.
    is_numbered: bool,
    /// The left input's batch with numbers.
    batch: Batch,
    pub(super) sorter: Sorter<ByNumber>,
}

impl CompatibleJoin {
    /// Reads right rows until there is no more of them, or of the memory; then decides how to go on.
    pub(super) fn begin(&mut self) -> Result<()> {
        let kept = Arc::get_mut(&mut self.kept).expect("rows are shared only once they are kept");
        let all_fit = kept.keep(&mut *self.right, &self.control)?;
        let is_divisible = !self.left_certain.is_empty() && self.depth < DEPTH_MAX;
        if all_fit || self.passes.is_some() {
            // A further pass, or the only one.
        } else if is_divisible {
            self.divide()?;
            return self.next_task();
        } else {
            let left = self.put_left_aside()?;
            self.left = Input::new(Box::new(left.read(&self.control)), left.width());
            self.passes = Some(Passes {
                left,
                matched: RoaringTreemap::new(),
                batch_start: 0,
                is_last: false,
            });
        }
        if let Some(passes) = &mut self.passes {
            passes.is_last = all_fit;
        }
        // Without right rows there is no need to read the left ones, unless they are given.
        let gives_left = match self.join.kind {
            JoinKind::Inner => false,
            JoinKind::Matched => self.passes.is_some(),
            JoinKind::Left | JoinKind::Unmatched => true,
        };
        if self.kept.rows.rows() == 0 && !gives_left {
            return self.end_pass();
        }
        self.phase = Phase::Probe;
        Ok(())
    }

    /// Gives the memory of the kept rows back, unless others share them, and gives the rows.
    fn forget_kept(&mut self) -> Batch {
        match Arc::get_mut(&mut self.kept) {
            Some(kept) => kept.clear(),
            None => Batch::new(0),
        }
    }

    /// Divides both inputs into parts.
    fn divide(&mut self) -> Result<()> {
        let columns = self.kept.irregular.columns().to_vec();
        let mut batch = self.forget_kept();
        let mut parts = Partitions::new(batch.width(), columns, self.depth, &self.control)?;
        loop {
            for row in 0..batch.rows() {
                if row % self.control.batch_rows() == 0 {
                    self.control.check()?;
                }
                parts.add(&batch, row)?;
            }
            if batch.rows() > self.control.batch_rows() {
                batch = Batch::new(batch.width());
            }
            if self.right.next(&mut batch)? == 0 {
                break;
            }
        }
        let right = parts.finish()?;
        let columns = self.left_certain.clone();
        let width = self.numbered_left_width();
        let mut parts = Partitions::new(width, columns, self.depth, &self.control)?;
        while self.left.fetch()? {
            self.control.check()?;
            let batch = self.numbered_left();
            for row in 0..batch.rows() {
                parts.add(batch, row)?;
            }
        }
        self.left_is_numbered();
        let all: u64 = right.iter().map(Run::rows).sum();
        let gives_unmatched = matches!(self.join.kind, JoinKind::Left | JoinKind::Unmatched);
        for (left, right) in parts.finish()?.into_iter().zip(right) {
            if left.rows() == 0 || right.rows() == 0 && !gives_unmatched {
                continue;
            }
            // A key that more than half of the rows have does not fall apart.
            let is_skewed = right.rows() > all / 2;
            self.waiting.push(Task {
                depth: if is_skewed { DEPTH_MAX } else { self.depth + 1 },
                left,
                right,
            });
        }
        Ok(())
    }

    /// Writes all left rows to a file.
    fn put_left_aside(&mut self) -> Result<Run> {
        let width = self.numbered_left_width();
        let mut writer = RunWriter::new(width, &self.control)?;
        while self.left.fetch()? {
            self.control.check()?;
            let batch = self.numbered_left();
            writer.write(batch, 0, batch.rows())?;
        }
        self.left_is_numbered();
        writer.finish()
    }

    /// How many columns left rows have in files.
    fn numbered_left_width(&mut self) -> usize {
        if self.keeps_sequence && self.sequence.is_none() {
            let column = self.left.batch.width();
            self.sequence = Some(Sequence {
                column,
                next: 0,
                is_numbered: false,
                batch: Batch::new(column + 1),
                sorter: Sorter::new(self.join.given, ByNumber, usize::MAX, &self.control),
            });
        }
        match &self.sequence {
            Some(sequence) => sequence.column + 1,
            None => self.left.batch.width(),
        }
    }

    /// The rows of the left batch, with numbers if they need them; the left batch may lose them.
    fn numbered_left(&mut self) -> &Batch {
        let left = &mut self.left.batch;
        let Some(sequence) = &mut self.sequence else {
            return left;
        };
        if sequence.is_numbered {
            return left;
        }
        let rows = left.rows();
        let numbered = &mut sequence.batch;
        numbered.clear();
        for column in 0..sequence.column {
            numbered.swap_column(column, left, column);
        }
        let numbers = (sequence.next..sequence.next + rows as u64).map(TermId::from_bits);
        numbered.column_mut(sequence.column).extend(numbers);
        numbered.set_rows(rows);
        sequence.next += rows as u64;
        numbered
    }

    /// To be called once left rows went to a file.
    fn left_is_numbered(&mut self) {
        if let Some(sequence) = &mut self.sequence {
            sequence.is_numbered = true;
        }
    }

    /// Notes which rows of a new left batch were matched in earlier passes.
    pub(super) fn begin_batch(&mut self) {
        let rows = self.left.batch.rows();
        self.matched.clear();
        self.matched.resize(rows, false);
        if let Some(passes) = &self.passes
            && self.join.kind != JoinKind::Inner
        {
            for (number, matched) in (passes.batch_start..).zip(&mut self.matched) {
                *matched = passes.matched.contains(number);
            }
        }
    }

    /// Notes which rows of the left batch were matched; whether it is known now for all of them.
    pub(super) fn end_batch(&mut self) -> bool {
        let Some(passes) = &mut self.passes else {
            return true;
        };
        if !passes.is_last && self.join.kind != JoinKind::Inner {
            for (number, matched) in (passes.batch_start..).zip(&self.matched) {
                if *matched {
                    passes.matched.insert(number);
                }
            }
        }
        passes.batch_start += self.left.batch.rows() as u64;
        passes.is_last
    }

    /// Ends a pass over the left rows: begins the next one, or the next task.
    pub(super) fn end_pass(&mut self) -> Result<()> {
        self.forget_kept();
        match &mut self.passes {
            Some(passes) if !passes.is_last => {
                passes.batch_start = 0;
                let left = passes.left.read(&self.control);
                self.left = Input::new(Box::new(left), passes.left.width());
                self.phase = Phase::Keep;
                Ok(())
            }
            _ => {
                self.passes = None;
                self.next_task()
            }
        }
    }

    /// Begins the next task, or ends.
    fn next_task(&mut self) -> Result<()> {
        let Some(task) = self.waiting.pop() else {
            self.phase = match self.sequence.take() {
                Some(sequence) => Phase::Sorted(sequence.sorter.finish()?),
                None => Phase::Ended,
            };
            return Ok(());
        };
        self.left = Input::new(Box::new(task.left.read(&self.control)), task.left.width());
        self.right = Box::new(task.right.read(&self.control));
        self.depth = task.depth;
        self.phase = Phase::Keep;
        Ok(())
    }
}
