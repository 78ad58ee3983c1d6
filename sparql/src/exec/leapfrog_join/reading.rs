//! Reading lists from the index: [`Reader`] for those of many keys, which ascend, and [`LongList`] for one that is not kept.
//!
//! Both read a *window* of rows at a time, which grows while it is read on and shrinks where the index is leapt through.

use super::super::batch::Batch;
use super::super::control::Control;
use super::lists::{KEYS_MAX, ListSource};
use crate::error::Result;
use quadrille_store::index::ColumnMask;
use quadrille_store::merge::Scan;
use quadrille_store::{GraphSelector, Position, Snapshot, TermId, gallop};
use std::cmp::Ordering;

/// Rows that a window begins with, and shrinks to.
const WINDOW_ROWS_MIN: usize = 16;
/// Rows that it grows to.
const WINDOW_ROWS_MAX: usize = 1024;
/// Keys found in a window that make the next one larger.
const DENSE_KEYS: usize = 4;

/// A list that is read as it is needed.
pub struct LongList {
    scan: Scan,
    window: Batch,
    at: usize,
    fill: usize,
}

impl LongList {
    /// The list of a row.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn new(
        source: &ListSource,
        batch: &Batch,
        row: usize,
        snapshot: &Snapshot,
    ) -> Result<Self> {
        let bound = source.bound();
        let columns = &source.order.columns()[bound..];
        let mut pattern = source.pattern;
        for (position, column) in columns.iter().zip(&source.keys) {
            let term = batch.column(*column)[row];
            match position {
                Position::Subject => pattern.subject = Some(term),
                Position::Predicate => pattern.predicate = Some(term),
                Position::Object => pattern.object = Some(term),
                Position::Graph => pattern.graph = GraphSelector::Named(term),
            }
        }
        let wanted = ColumnMask::NONE.with(bound + source.keys.len());
        Ok(Self {
            scan: snapshot.scan(&pattern, source.order, wanted)?,
            window: Batch::new(1),
            at: 0,
            fill: WINDOW_ROWS_MIN,
        })
    }

    /// The first term from here on that is not less than `term`.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn seek(&mut self, term: TermId, control: &Control) -> Result<Option<TermId>> {
        let terms = self.window.column(0);
        self.at = gallop(self.at, terms.len(), |index| terms[index] < term);
        if self.at >= terms.len() {
            control.check()?;
            if !term.is_unbound() {
                self.scan.seek(&[term])?;
            }
            self.window.clear();
            self.at = 0;
            let rows = self.scan.fill(self.window.columns_mut(), self.fill)?;
            self.window.set_rows(rows);
            self.fill = (self.fill * 2).min(WINDOW_ROWS_MAX);
        }
        Ok(self.window.column(0).get(self.at).copied())
    }

    /// Goes beyond the term that was found last.
    pub fn pass(&mut self) {
        self.at += 1;
    }
}

/// Reads the rows of keys that ascend.
pub struct Reader {
    scan: Option<Scan>,
    window: Batch,
    at: usize,
    /// Whether the scan has no further rows.
    is_last: bool,
    fill: usize,
    /// Keys that were found in the window.
    keys: usize,
    /// The key that was sought last.
    last: [TermId; KEYS_MAX],
}

impl Reader {
    /// A reader of windows of so many columns: the keys, and the term.
    pub fn new(width: usize) -> Self {
        Self {
            scan: None,
            window: Batch::new(width),
            at: 0,
            is_last: false,
            fill: WINDOW_ROWS_MIN,
            keys: 0,
            last: [TermId::UNBOUND; KEYS_MAX],
        }
    }

    /// Whether a row of the window, by its keys, is before these, or like them.
    #[inline]
    fn compare(&self, row: usize, key: &[TermId]) -> Ordering {
        for (column, value) in key.iter().enumerate() {
            let order = self.window.column(column)[row].cmp(value);
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }

    /// Goes to the first row of a key; whether there is one.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn find(
        &mut self,
        key: &[TermId],
        source: &ListSource,
        snapshot: &Snapshot,
        control: &Control,
    ) -> Result<bool> {
        if *key <= self.last[..key.len()] {
            self.scan = None;
            self.window.clear();
            (self.at, self.is_last, self.keys) = (0, false, 0);
        }
        self.last[..key.len()].copy_from_slice(key);
        loop {
            let end = self.window.rows();
            self.at = gallop(self.at, end, |row| self.compare(row, key).is_lt());
            if self.at < end {
                self.keys += 1;
                return Ok(self.compare(self.at, key).is_eq());
            }
            if self.is_last {
                return Ok(false);
            }
            self.refill(Some(key), source, snapshot, control)?;
        }
    }

    /// The terms of the key in the window, from here on.
    pub fn run(&self, key: &[TermId]) -> &[TermId] {
        let rows = self.window.rows();
        let end = gallop(self.at + 1, rows, |row| self.compare(row, key).is_eq());
        &self.window.column(key.len())[self.at..end]
    }

    /// Goes beyond so many rows; whether the key has more.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn pass(
        &mut self,
        rows: usize,
        key: &[TermId],
        source: &ListSource,
        snapshot: &Snapshot,
        control: &Control,
    ) -> Result<bool> {
        self.at += rows;
        if self.at < self.window.rows() {
            return Ok(false);
        }
        if !self.is_last {
            self.refill(None, source, snapshot, control)?;
        }
        Ok(self.at < self.window.rows() && self.compare(self.at, key).is_eq())
    }

    /// Replaces the window by the next rows, from the key on if one is given.
    fn refill(
        &mut self,
        key: Option<&[TermId]>,
        source: &ListSource,
        snapshot: &Snapshot,
        control: &Control,
    ) -> Result<()> {
        control.check()?;
        self.fill = if self.keys >= DENSE_KEYS || key.is_none() {
            (self.fill * 2).min(WINDOW_ROWS_MAX)
        } else if self.keys <= 1 {
            (self.fill / 2).max(WINDOW_ROWS_MIN)
        } else {
            self.fill
        };
        (self.keys, self.at) = (0, 0);
        let scan = match &mut self.scan {
            Some(scan) => scan,
            none => {
                let first = source.bound();
                let wanted =
                    (first..=first + source.keys.len()).fold(ColumnMask::NONE, ColumnMask::with);
                none.insert(snapshot.scan(&source.pattern, source.order, wanted)?)
            }
        };
        if let Some(key) = key {
            scan.seek(key)?;
        }
        self.window.clear();
        let rows = scan.fill(self.window.columns_mut(), self.fill)?;
        self.window.set_rows(rows);
        self.is_last = rows == 0;
        Ok(())
    }
}
