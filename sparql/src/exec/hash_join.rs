//! `HashJoin`: keeps one input, which is known to be small, in memory under its keys, and looks each row of the
//! other up there.
//!
//! The planner uses it only where the exact number of rows to keep is known and below a bound. The output is sorted as
//! the input is that streams. If the rows outgrow the memory all the same, a [`CompatibleJoin`] takes over, which spills.
//!
//! Joins of parts of the streaming input, on several threads, share the rows that were kept once ([`HashJoin::sharing`]).

use super::batch::{Batch, compare_rows};
use super::compatible_join::{CompatibleJoin, JoinKind, MergedSource};
use super::control::Control;
use super::filter::Conditions;
use super::hash::hash_row;
use super::memory::Reservation;
use super::operator::{Constant, Input, Operator};
use super::pairs::{Pairs, Side, Source};
use super::spill::run::RunWriter;
use super::union::Union;
use crate::error::Result;
use crate::plan::logical::VariableId;
use crate::plan::physical::Compatibility;
use crate::plan::seed::Seed;
use hashbrown::HashTable;
use quadrille_store::TermId;
use std::sync::Arc;

/// No further row of the same key.
const NONE: u32 = u32::MAX;

/// Rows that are filed between two looks at whether the query was stopped.
const CHECKED_ROWS: usize = 1 << 14;

/// About what a row takes in the table and in the list of rows of its key.
const TABLE_BYTES: u64 = 16;

/// The rows of an input under their keys.
pub struct KeptRows {
    rows: Batch,
    keys: Vec<usize>,
    /// The last row of each key.
    table: HashTable<u32>,
    /// For each row the one before it that has the same key.
    previous: Vec<u32>,
    reservation: Reservation,
}

impl KeptRows {
    /// No rows yet, of `width` columns of which some are keys.
    pub fn new(width: usize, keys: Vec<usize>, control: &Control) -> Self {
        Self {
            rows: Batch::new(width),
            keys,
            table: HashTable::new(),
            previous: Vec::new(),
            reservation: Reservation::spilling(control.memory()),
        }
    }

    /// Keeps the rows of an operator, and files them; `false` if they do not fit in memory: then some are kept, and none is filed.
    ///
    /// # Errors
    /// If the store cannot be read, or the query was stopped.
    pub fn keep(&mut self, operator: &mut dyn Operator, control: &Control) -> Result<bool> {
        let mut batch = Batch::new(self.rows.width());
        while operator.next(&mut batch)? > 0 {
            self.rows.append(&batch, 0, batch.rows());
            let bytes = self.rows.bytes() + TABLE_BYTES * self.rows.rows() as u64;
            if !self.reservation.try_resize(bytes) {
                return Ok(false);
            }
        }
        let (rows, keys) = (&self.rows, &self.keys);
        self.table
            .reserve(rows.rows(), |row| hash_row(rows, keys, *row as usize));
        self.previous.resize(rows.rows(), NONE);
        for row in 0..rows.rows() {
            if row % CHECKED_ROWS == 0 {
                control.check()?;
            }
            let entry = self.table.entry(
                hash_row(rows, keys, row),
                |other| compare_rows(rows, keys, *other as usize, rows, keys, row).is_eq(),
                |other| hash_row(rows, keys, *other as usize),
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
        Ok(true)
    }

    /// The last row whose key is that of a row of another batch; [`NONE`] if there is none.
    fn find(&self, left: &Batch, keys: &[usize], row: usize) -> u32 {
        let is_same = |other: &u32| {
            compare_rows(&self.rows, &self.keys, *other as usize, left, keys, row).is_eq()
        };
        let found = self.table.find(hash_row(left, keys, row), is_same);
        found.copied().unwrap_or(NONE)
    }
}

/// Joins a streaming input (left) with a kept one (right).
pub struct HashJoin {
    left: Input,
    /// What is to be kept, until it is.
    right: Option<Box<dyn Operator>>,
    left_keys: Vec<usize>,
    outputs: Vec<Source>,
    control: Arc<Control>,
    kept: Arc<KeptRows>,
    /// The next right row for the left input's current row.
    next_match: Option<u32>,
    pairs: Pairs,
    ended: bool,
    /// Whether rows must be given in the left input's sequence, even if they are put aside.
    keeps_sequence: bool,
    /// What joins when the rows to keep do not fit in memory.
    spilling: Option<Box<CompatibleJoin>>,
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
        let kept = Arc::new(KeptRows::new(right_width, right_keys, &control));
        Self {
            right: Some(right),
            ..Self::sharing(left, kept, left_keys, outputs, control)
        }
    }

    /// Joins `left` with rows that are kept already.
    pub fn sharing(
        left: Input,
        kept: Arc<KeptRows>,
        left_keys: Vec<usize>,
        outputs: Vec<Source>,
        control: Arc<Control>,
    ) -> Self {
        Self {
            // Without right rows there is no need to read the left ones.
            ended: kept.rows.rows() == 0,
            left,
            right: None,
            left_keys,
            outputs,
            control,
            kept,
            next_match: None,
            pairs: Pairs::default(),
            keeps_sequence: false,
            spilling: None,
        }
    }

    /// The same with rows in the sequence of the left input's even where they are put aside.
    #[must_use]
    pub fn keeping_sequence(mut self) -> Self {
        self.keeps_sequence = true;
        self
    }

    /// Reads the right input and files its rows, or leaves the join to one that spills.
    fn keep(&mut self, mut right: Box<dyn Operator>) -> Result<()> {
        let kept = Arc::get_mut(&mut self.kept).expect("rows are shared only once they are kept");
        if !kept.keep(&mut *right, &self.control)? {
            return self.spill(right);
        }
        self.ended = kept.rows.rows() == 0;
        Ok(())
    }

    /// Leaves the kept rows, and those that `right` still has, to a join that spills.
    fn spill(&mut self, right: Box<dyn Operator>) -> Result<()> {
        let kept = Arc::get_mut(&mut self.kept).expect("rows are shared only once they are kept");
        let width = kept.rows.width();
        let mut writer = RunWriter::new(width, &self.control)?;
        writer.write(&kept.rows, 0, kept.rows.rows())?;
        kept.rows = Batch::new(width);
        kept.reservation.clear();
        let right_keys = kept.keys.clone();
        let kept: Box<dyn Operator> = Box::new(writer.finish()?.read(&self.control));
        let nothing = Input::new(Box::new(Constant::empty()), 0);
        let keys = self.left_keys.iter().zip(&right_keys);
        let merged = self.outputs.iter().enumerate().map(|(number, source)| {
            let source = match source {
                (Side::Left, column) => MergedSource::Left(*column),
                (Side::Right, column) => MergedSource::Right(*column),
            };
            // Nobody asks for the variables: there are no conditions.
            (VariableId(number as u32), source)
        });
        let compatibility = Compatibility {
            kind: JoinKind::Inner,
            certain: keys.map(|(left, right)| (*left, *right)).collect(),
            uncertain: Vec::new(),
            needs_common: false,
            merged: merged.collect(),
            given: self.outputs.len(),
            conditions: Vec::new(),
            marks: Vec::new(),
            seed: Seed::default(),
        };
        let join = CompatibleJoin::new(
            std::mem::replace(&mut self.left, nothing),
            Box::new(Union::new([kept, right])),
            width,
            &compatibility,
            Conditions::none(),
            Vec::new(),
            Arc::clone(&self.control),
        );
        self.spilling = Some(Box::new(if self.keeps_sequence {
            join.keeping_sequence()
        } else {
            join
        }));
        Ok(())
    }

    /// Pairs left rows of the batch; `true` if the output is full.
    fn pair(&mut self, output: &Batch) -> bool {
        let full = self.control.batch_rows() - output.rows();
        while !self.left.is_used_up() {
            let row = self.left.at;
            let mut found = match self.next_match.take() {
                Some(found) => found,
                None => self.kept.find(&self.left.batch, &self.left_keys, row),
            };
            while found != NONE {
                if self.pairs.len() == full {
                    self.next_match = Some(found);
                    return true;
                }
                self.pairs.push(row, found as usize);
                found = self.kept.previous[found as usize];
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
        }
        if let Some(join) = &mut self.spilling {
            return join.next(output);
        }
        while !self.ended {
            let is_full = self.pair(output);
            self.pairs
                .flush(&self.left.batch, &self.kept.rows, &self.outputs, output);
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
