//! Sorting rows by the ranks of their terms.
//!
//! Rows have fewer different terms than there are rows, and comparing terms costs far more than comparing numbers. So each
//! different term is looked up and compared once, which gives it a rank, and rows are sorted by ranks with a radix sort:
//!
//! ```text
//! ids of a key's column -> numbers of different ids -> their keys, in the sequence of ids -> sorted -> ranks
//! rows, by the ranks of the last key -> ... -> by the ranks of the first: each time stably
//! ```
//!
//! Ids of one dictionary are in the sequence of their terms, mostly that of `ORDER BY` too: sorting the keys finds them sorted. IRIs of
//! one dictionary are not even looked up. Many terms are looked up by several threads.
//! All of this is in memory. What does not fit goes the other way ([`super::spill::sorter`]); while it goes over, both ways hold
//! rows, and may take up to a quarter more than the query's memory.

use super::batch::Batch;
use super::control::Control;
use super::memory::Reservation;
use super::spill::sorter::{SortKey as _, sorted_numbers};
use super::terms::Terms;
use super::threads::in_parallel;
use crate::error::Result;
use crate::expr::OrderKey;
use hashbrown::HashMap;
use quadrille_store::{Kind, Snapshot, TermId};
use std::sync::Arc;

/// Terms that are looked up, and rows that are looked at, between two looks at whether the query was stopped.
const PIECE: usize = 1 << 14;
/// Bits of a digit of the radix sort.
const DIGIT_BITS: u32 = 11;
/// Bytes of an entry of the table of different ids, with what a hash table leaves free.
const ENTRY_BYTES: u64 = 32;

/// Rows that are to be sorted, and the ids of their keys.
pub struct Gathered {
    /// The rows.
    pub rows: Batch,
    keys: Vec<KeyColumn>,
    control: Arc<Control>,
    reservation: Reservation,
}

/// A key's ids: each row has the number of one of them.
#[derive(Default)]
struct KeyColumn {
    numbers: Vec<u32>,
    ids: Vec<TermId>,
    known: HashMap<TermId, u32>,
    is_descending: bool,
}

impl KeyColumn {
    fn add(&mut self, ids: &[TermId]) {
        let mut last = None;
        self.numbers.extend(ids.iter().map(|id| match last {
            // Rows are often sorted by a key already.
            Some((known, number)) if known == *id => number,
            _ => {
                let number = *self.known.entry(*id).or_insert_with(|| {
                    self.ids.push(*id);
                    self.ids.len() as u32 - 1
                });
                last = Some((*id, number));
                number
            }
        }));
    }

    fn bytes(&self) -> u64 {
        // Numbers, their ranks, and the sequence before and after a pass of the sort.
        16 * self.numbers.len() as u64 + ENTRY_BYTES * self.ids.len() as u64
    }
}

impl Gathered {
    /// No rows yet, of `width` columns; a key for each of `are_descending`.
    pub fn new(width: usize, are_descending: &[bool], control: &Arc<Control>) -> Self {
        let key = |is_descending: &bool| KeyColumn {
            is_descending: *is_descending,
            ..KeyColumn::default()
        };
        Self {
            rows: Batch::new(width),
            keys: are_descending.iter().map(key).collect(),
            control: Arc::clone(control),
            reservation: Reservation::spilling(control.memory()),
        }
    }

    /// Adds rows and the ids of their keys, a column for each key; `false` if all that was added outgrows the memory.
    pub fn add(&mut self, batch: &Batch, ids: &[Vec<TermId>]) -> bool {
        self.rows.append(batch, 0, batch.rows());
        for (key, ids) in self.keys.iter_mut().zip(ids) {
            key.add(ids);
        }
        // Numbers of rows have 32 bits.
        self.rows.rows() < u32::MAX as usize / 2 && self.fits(0)
    }

    fn fits(&mut self, more: u64) -> bool {
        let keys: u64 = self.keys.iter().map(KeyColumn::bytes).sum();
        self.reservation.try_resize(self.rows.bytes() + keys + more)
    }

    /// The ids of a key's column, from row `start` to row `end`.
    pub fn ids(&self, key: usize, start: usize, end: usize, ids: &mut Vec<TermId>) {
        let key = &self.keys[key];
        let numbers = &key.numbers[start..end];
        ids.extend(numbers.iter().map(|number| key.ids[*number as usize]));
    }

    /// The numbers of the rows, sorted, those with equal keys as they came; `None` if that takes too much memory.
    ///
    /// # Errors
    /// If the store cannot be read, or the query was stopped.
    pub fn sequence(&mut self, terms: &Terms) -> Result<Option<Vec<u32>>> {
        let mut sequence: Vec<u32> = (0..self.rows.rows() as u32).collect();
        for key in (0..self.keys.len()).rev() {
            let Some(ranks) = self.ranks(key, terms)? else {
                return Ok(None);
            };
            sort_by_ranks(&mut sequence, &ranks, &self.control)?;
        }
        Ok(Some(sequence))
    }

    /// What the rows take.
    pub fn into_parts(self) -> (Batch, Reservation) {
        (self.rows, self.reservation)
    }

    /// The ranks of the rows by one key, from 0 on.
    fn ranks(&mut self, key: usize, terms: &Terms) -> Result<Option<Vec<u32>>> {
        let column = &self.keys[key];
        let mut ids: Vec<(TermId, u32)> = column.ids.iter().copied().zip(0..).collect();
        ids.sort_unstable();
        let is_descending = column.is_descending;
        if are_in_sequence(&ids, terms.snapshot()) {
            let mut rank_of = vec![0; ids.len()];
            for (rank, (_, number)) in ids.iter().enumerate() {
                rank_of[*number as usize] = rank as u32;
            }
            return Ok(Some(self.row_ranks(key, rank_of, is_descending)));
        }
        let Some(keys) = self.order_keys(&ids, terms)? else {
            return Ok(None);
        };
        let compare = |a: &u32, b: &u32| keys[*a as usize].cmp(&keys[*b as usize]);
        let sorted = sorted_numbers(keys.len() as u32, compare, &self.control)?;
        let mut rank_of = vec![0; keys.len()];
        let mut rank = 0;
        for (place, at) in sorted.iter().enumerate() {
            if place > 0 && compare(&sorted[place - 1], at).is_ne() {
                rank += 1;
            }
            rank_of[ids[*at as usize].1 as usize] = rank;
        }
        Ok(Some(self.row_ranks(key, rank_of, is_descending)))
    }

    /// The ranks of the rows, where those of different ids are known, by the number of the id.
    fn row_ranks(&self, key: usize, mut rank_of: Vec<u32>, is_descending: bool) -> Vec<u32> {
        if is_descending {
            let last = rank_of.iter().copied().max().unwrap_or(0);
            for rank in &mut rank_of {
                *rank = last - *rank;
            }
        }
        let numbers = self.keys[key].numbers.iter();
        numbers.map(|number| rank_of[*number as usize]).collect()
    }

    /// What is compared of each id's term; `None` if that takes too much memory.
    fn order_keys(
        &mut self,
        ids: &[(TermId, u32)],
        terms: &Terms,
    ) -> Result<Option<Vec<OrderKey<'static>>>> {
        let mut keys: Vec<OrderKey<'static>> = vec![OrderKey::new(None); ids.len()];
        // What keys take themselves, and their text.
        let mut bytes = size_of_val(keys.as_slice()) as u64;
        let threads = self.control.threads();
        let control = Arc::clone(&self.control);
        // Between rounds of a piece for each thread it is looked at what they take.
        for (ids, keys) in ids
            .chunks(PIECE * threads)
            .zip(keys.chunks_mut(PIECE * threads))
        {
            let pieces = ids.chunks(PIECE).zip(keys.chunks_mut(PIECE));
            let texts = in_parallel(pieces.collect(), |(ids, keys)| {
                control.check()?;
                let ids: Vec<TermId> = ids.iter().map(|(id, _)| *id).collect();
                let mut text = 0;
                terms.terms(&ids, &mut |place, term| {
                    let key = OrderKey::new(Some(&term)).into_owned();
                    text += key.heap_bytes() as u64;
                    keys[place] = key;
                })?;
                Ok(text)
            })?;
            bytes += texts.into_iter().sum::<u64>();
            if !self.fits(bytes) {
                return Ok(None);
            }
        }
        Ok(Some(keys))
    }
}

/// Whether ids that are sorted are so by their terms too, as `ORDER BY` has it: IRIs of one dictionary, and unbound.
fn are_in_sequence(ids: &[(TermId, u32)], snapshot: &Snapshot) -> bool {
    let bound = match ids {
        [(first, _), rest @ ..] if first.is_unbound() => rest,
        all => all,
    };
    let (Some((first, _)), Some((last, _))) = (bound.first(), bound.last()) else {
        return true;
    };
    let are_iris = [first, last].iter().all(|id| id.kind() == Some(Kind::Iri));
    are_iris
        && snapshot
            .dictionaries()
            .iter()
            .any(|dictionary| dictionary.contains(*first) && dictionary.contains(*last))
}

/// Sorts numbers of rows stably by the rows' ranks.
fn sort_by_ranks(sequence: &mut Vec<u32>, ranks: &[u32], control: &Control) -> Result<()> {
    let bits = u32::BITS - ranks.iter().max().map_or(0, |most| *most).leading_zeros();
    let mut sorted = vec![0; sequence.len()];
    for shift in (0..bits).step_by(DIGIT_BITS as usize) {
        let digit = |row: u32| (ranks[row as usize] >> shift) as usize & ((1 << DIGIT_BITS) - 1);
        let mut next = [0_u32; 1 << DIGIT_BITS];
        for piece in sequence.chunks(PIECE) {
            control.check()?;
            for row in piece {
                next[digit(*row)] += 1;
            }
        }
        let mut sum = 0;
        for counter in &mut next {
            sum += std::mem::replace(counter, sum);
        }
        for piece in sequence.chunks(PIECE) {
            control.check()?;
            for row in piece {
                let place = &mut next[digit(*row)];
                sorted[*place as usize] = *row;
                *place += 1;
            }
        }
        std::mem::swap(sequence, &mut sorted);
    }
    Ok(())
}
