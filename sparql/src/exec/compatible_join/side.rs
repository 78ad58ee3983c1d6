//! `KeptSide`: the right rows of a join, under their keys.

use super::table::KeyTable;
use crate::error::Result;
use crate::exec::batch::Batch;
use crate::exec::control::Control;
use crate::exec::memory::Reservation;
use crate::exec::operator::Operator;
use crate::plan::physical::Compatibility;
use std::sync::OnceLock;

/// Right rows. Joins of parts of the left input, on several threads, share them once they are kept.
pub struct KeptSide {
    /// The rows.
    pub(super) rows: Batch,
    /// Rows that bind all shared variables, under all of them.
    pub(super) regular: KeyTable,
    /// The others, under those that every row binds.
    pub(super) irregular: KeyTable,
    /// All rows under what every row binds. Made when the first left row needs it.
    all: OnceLock<KeyTable>,
    /// Columns that may be unbound.
    uncertain: Vec<usize>,
    reservation: Reservation,
}

impl KeptSide {
    /// No rows yet, of `width` columns.
    pub fn new(width: usize, join: &Compatibility, control: &Control) -> Self {
        let certain: Vec<usize> = join.certain.iter().map(|pair| pair.1).collect();
        let uncertain: Vec<usize> = join.uncertain.iter().map(|pair| pair.1).collect();
        let both = certain.iter().chain(&uncertain).copied().collect();
        Self {
            rows: Batch::new(width),
            regular: KeyTable::new(both),
            irregular: KeyTable::new(certain),
            all: OnceLock::new(),
            uncertain,
            reservation: Reservation::spilling(control.memory()),
        }
    }

    /// Keeps the rows of an operator; `false` if they do not all fit in memory.
    ///
    /// # Errors
    /// If the store cannot be read, or the query was stopped.
    pub fn keep(&mut self, operator: &mut dyn Operator, control: &Control) -> Result<bool> {
        let mut batch = Batch::new(self.rows.width());
        while operator.next(&mut batch)? > 0 {
            control.check()?;
            let start = self.rows.rows();
            self.rows.append(&batch, 0, batch.rows());
            for row in start..self.rows.rows() {
                let mut uncertain = self.uncertain.iter();
                if uncertain.all(|column| !self.rows.column(*column)[row].is_unbound()) {
                    self.regular.insert(&self.rows, row);
                } else {
                    self.irregular.insert(&self.rows, row);
                }
            }
            // The table of all rows may be needed later: it takes as much as that of the regular ones.
            let tables = 2 * self.regular.bytes() + self.irregular.bytes();
            // Row numbers are 32 bits.
            let is_full = self.rows.rows() > u32::MAX as usize / 2;
            if is_full || !self.reservation.try_resize(self.rows.bytes() + tables) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// All rows under what every row binds.
    pub(super) fn all(&self) -> &KeyTable {
        self.all.get_or_init(|| {
            let mut all = KeyTable::new(self.irregular.columns().to_vec());
            for row in 0..self.rows.rows() {
                all.insert(&self.rows, row);
            }
            all
        })
    }

    /// Gives the rows, and the memory that they take, back.
    pub(super) fn clear(&mut self) -> Batch {
        let width = self.rows.width();
        self.regular.clear();
        self.irregular.clear();
        self.all = OnceLock::new();
        self.reservation.clear();
        std::mem::replace(&mut self.rows, Batch::new(width))
    }
}
