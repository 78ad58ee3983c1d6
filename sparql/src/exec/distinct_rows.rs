//! `DistinctRows`: which rows are new, known at once while they fit in memory, and later for those that do not.
//!
//! Aggregates that take each value once use it. When the rows outgrow their memory no more are added: a row that is not
//! among them goes to a file, and [`DistinctRows::finish`] gives each of those once.

use super::control::Control;
use super::distinct::Distinct;
use super::memory::Reservation;
use super::row_set::RowSet;
use super::spill::run::RunWriter;
use crate::error::Result;
use quadrille_store::TermId;
use std::sync::Arc;

/// Rows that begin with a number.
pub struct DistinctRows {
    width: usize,
    rows: RowSet,
    reservation: Reservation,
    control: Arc<Control>,
    /// Where rows go that are not among the kept ones; there is one as soon as the memory is full.
    spilled: Option<RunWriter>,
    row: Vec<TermId>,
}

impl DistinctRows {
    /// No rows, of so many ids, the number included.
    pub fn new(width: usize, control: &Arc<Control>) -> Self {
        Self {
            width,
            rows: RowSet::new(width),
            reservation: Reservation::spilling(control.memory()),
            control: Arc::clone(control),
            spilled: None,
            row: Vec::with_capacity(width),
        }
    }

    /// Whether a row is known to be new; if it is not known yet it is put aside.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn insert(&mut self, number: usize, ids: impl IntoIterator<Item = TermId>) -> Result<bool> {
        self.row.clear();
        self.row.push(TermId::from_bits(number as u64));
        self.row.extend(ids);
        let Some(spilled) = &mut self.spilled else {
            return Ok(self.rows.insert(&self.row).1);
        };
        if self.rows.find(&self.row).is_none() {
            let buffer = spilled.buffer();
            for (column, id) in self.row.iter().enumerate() {
                buffer.column_mut(column).push(*id);
            }
            buffer.set_rows(buffer.rows() + 1);
            spilled.flush_if_full()?;
        }
        Ok(false)
    }

    /// Accounts for the memory: to be called after some rows, at the latest after a batch.
    ///
    /// # Errors
    /// If there is no temporary file.
    pub fn reserve(&mut self) -> Result<()> {
        if self.spilled.is_none() && !self.reservation.try_resize(self.rows.bytes()) {
            self.spilled = Some(RunWriter::new(self.width, &self.control)?);
        }
        Ok(())
    }

    /// The rows that were put aside and are new, each once; `None` if there is none.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn finish(self, control: &Arc<Control>) -> Result<Option<Distinct>> {
        let Some(spilled) = self.spilled else {
            return Ok(None);
        };
        // The kept rows are not needed any more: all of them were new when they came.
        drop((self.rows, self.reservation));
        let rows = Box::new(spilled.finish()?.read(control));
        Ok(Some(Distinct::new(
            rows,
            self.width,
            false,
            Arc::clone(control),
        )))
    }
}
