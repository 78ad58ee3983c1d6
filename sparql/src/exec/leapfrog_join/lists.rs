//! `Lists`: the terms of one pattern by the keys that rows have, sorted.
//!
//! The keys of a batch are numbered, those that are new are looked up in ascending sequence with one cursor that moves forward
//! only, and their terms are put one list behind the other. Lists stay for the batches to come until memory is refused; then all are
//! forgotten before the next batch. Where the rows are sorted by the keys, a key that was left never comes again: only the
//! last list of a batch is kept for the next one, keys are not hashed, and the cursor serves all batches.

use super::super::batch::Batch;
use super::super::control::Control;
use super::super::memory::Reservation;
use super::super::row_set::RowSet;
use super::reading::{LongList, Reader};
use crate::error::Result;
use quadrille_store::{Order, Pattern, Snapshot, TermId, gallop};
use std::sync::Arc;

/// Terms that memory is taken for at first.
const TERMS_MIN: usize = 1024;
/// The most keys of a pattern.
pub(super) const KEYS_MAX: usize = 3;

/// What lists are made of.
#[derive(Clone, Debug)]
pub struct ListSource {
    /// The pattern; its bound positions are a prefix of the order.
    pub pattern: Pattern,
    /// The order whose columns after that prefix are the keys, and then the term.
    pub order: Order,
    /// The outer columns that are the keys, in the order's sequence.
    pub keys: Vec<usize>,
    /// Whether the outer input is sorted by the keys.
    pub is_sorted: bool,
}

impl ListSource {
    /// How many columns of the order are bound.
    pub(super) fn bound(&self) -> usize {
        self.order.columns().len() - self.keys.len() - 1
    }
}

/// Where the terms of a key are.
#[derive(Clone, Copy)]
enum List {
    /// Among the terms in memory.
    Kept { start: usize, end: usize },
    /// In the index alone: there was no memory for them.
    Long,
}

/// A row's place in one of its lists.
pub enum Place {
    /// In memory: the next of the terms, and where they end.
    Kept {
        /// The next one.
        at: usize,
        /// The end.
        end: usize,
    },
    /// Read as it is needed.
    Long(Box<LongList>),
}

/// The lists of a pattern.
pub struct Lists {
    source: ListSource,
    snapshot: Snapshot,
    control: Arc<Control>,
    reader: Reader,
    /// The keys of lists by number, where rows are not sorted by them.
    known: RowSet,
    /// The same where they are.
    sorted: Vec<TermId>,
    /// Lists by number, as far as they are read.
    places: Vec<List>,
    terms: Vec<TermId>,
    /// The numbers of the lists of the batch's rows.
    of_rows: Vec<u32>,
    /// The numbers of lists that are to be read.
    missing: Vec<u32>,
    /// Whether memory was refused since the lists were forgotten.
    is_full: bool,
    reservation: Reservation,
}

impl Lists {
    /// No lists yet.
    pub fn new(source: ListSource, snapshot: &Snapshot, control: &Arc<Control>) -> Self {
        let keys = source.keys.len();
        assert!(
            (1..=KEYS_MAX).contains(&keys),
            "a list has one to three keys"
        );
        Self {
            reader: Reader::new(keys + 1),
            known: RowSet::new(keys),
            sorted: Vec::new(),
            places: Vec::new(),
            terms: Vec::new(),
            of_rows: Vec::new(),
            missing: Vec::new(),
            is_full: false,
            reservation: Reservation::spilling(control.memory()),
            control: Arc::clone(control),
            snapshot: snapshot.clone(),
            source,
        }
    }

    /// The terms of all lists in memory.
    #[inline]
    pub fn terms(&self) -> &[TermId] {
        &self.terms
    }

    /// Reads the lists of a batch's rows, as far as they are not there and fit in memory.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn prepare(&mut self, batch: &Batch) -> Result<()> {
        self.of_rows.clear();
        self.missing.clear();
        if self.source.is_sorted {
            self.number_sorted(batch);
        } else {
            self.number(batch);
        }
        self.places.resize(self.numbers(), List::Long);
        self.read_missing()?;
        self.is_full |= !self
            .reservation
            .try_resize(self.bytes(self.terms.capacity()));
        Ok(())
    }

    /// Prepares for other batches, which may begin anywhere.
    pub fn restart(&mut self) {
        self.reader = Reader::new(self.source.keys.len() + 1);
        if self.source.is_sorted {
            self.sorted.clear();
            self.places.clear();
            self.terms.clear();
        }
    }

    /// The list of a row of the batch.
    ///
    /// # Errors
    /// If the store cannot be read.
    #[inline]
    pub fn place(&mut self, batch: &Batch, row: usize) -> Result<Place> {
        match self.places[self.of_rows[row] as usize] {
            List::Kept { start, end } => Ok(Place::Kept { at: start, end }),
            List::Long => {
                let list = LongList::new(&self.source, batch, row, &self.snapshot)?;
                Ok(Place::Long(Box::new(list)))
            }
        }
    }

    /// How many lists have numbers.
    fn numbers(&self) -> usize {
        if self.source.is_sorted {
            self.sorted.len() / self.source.keys.len()
        } else {
            self.known.len()
        }
    }

    /// Numbers the rows' keys, and forgets all lists before if they took too much memory.
    fn number(&mut self, batch: &Batch) {
        if self.is_full {
            self.known.clear();
            self.places = Vec::new();
            self.terms = Vec::new();
            self.reservation.clear();
            self.is_full = false;
        }
        let keys = &*self.source.keys;
        let mut last = 0;
        let (known, missing) = (&mut self.known, &mut self.missing);
        let mut number = |key: &[TermId]| {
            let (number, is_new) = known.insert(key);
            if is_new {
                missing.push(number as u32);
            }
            number as u32
        };
        if let [column] = keys {
            let mut previous = None;
            for key in batch.column(*column) {
                if previous != Some(*key) {
                    last = number(std::slice::from_ref(key));
                    previous = Some(*key);
                }
                self.of_rows.push(last);
            }
        } else {
            let mut key = [TermId::UNBOUND; KEYS_MAX];
            for row in 0..batch.rows() {
                if row == 0 || differs(batch, keys, row) {
                    for (value, column) in key.iter_mut().zip(keys) {
                        *value = batch.column(*column)[row];
                    }
                    last = number(&key[..keys.len()]);
                }
                self.of_rows.push(last);
            }
        }
        let (ids, width) = (self.known.ids(), keys.len());
        if width == 1 {
            self.missing
                .sort_unstable_by_key(|number| ids[*number as usize]);
        } else {
            let of = |number: u32| &ids[number as usize * width..][..width];
            self.missing.sort_unstable_by(|a, b| of(*a).cmp(of(*b)));
        }
    }

    /// Numbers the rows' keys, which ascend, from the last one of the batch before on.
    fn number_sorted(&mut self, batch: &Batch) {
        let (keys, width) = (&*self.source.keys, self.source.keys.len());
        if let Some(List::Kept { start, end }) = self.places.last_mut() {
            self.terms.copy_within(*start..*end, 0);
            (*start, *end) = (0, *end - *start);
            self.terms.truncate(*end);
        } else {
            self.terms.clear();
        }
        self.places.drain(..self.places.len().saturating_sub(1));
        self.sorted.drain(..self.sorted.len().saturating_sub(width));
        for row in 0..batch.rows() {
            let is_new_key = if row > 0 {
                differs(batch, keys, row)
            } else {
                let first = keys.iter().map(|column| &batch.column(*column)[0]);
                !first.eq(&self.sorted)
            };
            if is_new_key {
                self.missing.push((self.sorted.len() / width) as u32);
                self.sorted
                    .extend(keys.iter().map(|column| batch.column(*column)[row]));
            }
            self.of_rows.push((self.sorted.len() / width) as u32 - 1);
        }
        self.is_full = false;
    }

    /// Reads the lists that are to be read, whose keys ascend.
    fn read_missing(&mut self) -> Result<()> {
        let width = self.source.keys.len();
        let missing = std::mem::take(&mut self.missing);
        for number in &missing {
            let start = self.terms.len();
            let mut key = [TermId::UNBOUND; KEYS_MAX];
            let keys = if self.source.is_sorted {
                &*self.sorted
            } else {
                self.known.ids()
            };
            key[..width].copy_from_slice(&keys[*number as usize * width..][..width]);
            self.places[*number as usize] = if self.read(&key[..width])? {
                let end = self.terms.len();
                List::Kept { start, end }
            } else {
                self.terms.truncate(start);
                List::Long
            };
        }
        self.missing = missing;
        Ok(())
    }

    /// Appends the terms of a key; `false` if there is no memory for them.
    fn read(&mut self, key: &[TermId]) -> Result<bool> {
        if self.is_full {
            return Ok(false);
        }
        let mut is_there = self
            .reader
            .find(key, &self.source, &self.snapshot, &self.control)?;
        while is_there {
            let terms = self.reader.run(key);
            let needed = self.terms.len() + terms.len();
            if needed > self.terms.capacity() {
                let capacity = needed.max(self.terms.capacity() * 2).max(TERMS_MIN);
                let bytes = self.bytes(capacity);
                if !self.reservation.try_resize(bytes) {
                    self.is_full = true;
                    return Ok(false);
                }
                self.terms.reserve_exact(capacity - self.terms.len());
            }
            self.terms.extend_from_slice(terms);
            let passed = terms.len();
            is_there =
                self.reader
                    .pass(passed, key, &self.source, &self.snapshot, &self.control)?;
        }
        Ok(true)
    }

    /// The memory that the lists take if the terms have this much room.
    fn bytes(&self, capacity: usize) -> u64 {
        let places = self.places.capacity() * size_of::<List>();
        let sorted = self.sorted.capacity() * size_of::<TermId>();
        self.known.bytes() + (capacity * size_of::<TermId>() + places + sorted) as u64
    }
}

/// Whether a row has other keys than the one before it.
#[inline]
fn differs(batch: &Batch, keys: &[usize], row: usize) -> bool {
    keys.iter().any(|column| {
        let column = batch.column(*column);
        column[row] != column[row - 1]
    })
}

impl Place {
    /// How many terms there are, as far as that is known.
    #[inline]
    pub fn length(&self) -> usize {
        match self {
            Self::Kept { at, end } => end - at,
            Self::Long(_) => usize::MAX,
        }
    }

    /// The first term from here on that is not less than `term`.
    ///
    /// # Errors
    /// If the store cannot be read.
    #[inline]
    pub fn seek(&mut self, term: TermId, lists: &mut Lists) -> Result<Option<TermId>> {
        match self {
            Self::Kept { at, end } => {
                let terms = &lists.terms[..*end];
                *at = gallop(*at, *end, |index| terms[index] < term);
                Ok(terms.get(*at).copied())
            }
            Self::Long(list) => list.seek(term, &lists.control),
        }
    }

    /// Goes beyond the term that was found last.
    pub fn pass(&mut self) {
        match self {
            Self::Kept { at, .. } => *at += 1,
            Self::Long(list) => list.pass(),
        }
    }
}
