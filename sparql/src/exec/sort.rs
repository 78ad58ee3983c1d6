//! `Sort`: ORDER BY, over terms of every kind, and the first rows of it where no more are wanted.
//!
//! All rows are sorted by the ranks of their terms ([`super::ranks`]), if they fit in memory. If they do not, or if only the first
//! rows are wanted, a [`expr::OrderKey`] is made for each expression of each row; the rest is [`Sorter`]'s, which drops what is
//! not wanted and spills. Where only the first rows are wanted, few terms are looked up ([`cutoff`]).

mod cutoff;

use super::batch::Batch;
use super::control::Control;
use super::extend::Computation;
use super::gather::{Part, Pipeline};
use super::operator::{Input, Operator};
use super::ranks::Gathered;
use super::spill::sorter::{RowOrder, Sorted, Sorter};
use super::terms::Terms;
use crate::error::Result;
use crate::expr;
use crate::plan::logical::{OrderKey, VariableId};
use cutoff::Cutoff;
use hashbrown::HashMap;
use quadrille_store::TermId;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// Sorted rows that a thread goes on with at a time.
const PART_ROWS: usize = 16_384;

/// Where fewer rows are wanted, the others are dropped on the way.
const RANKED_ROWS_MIN: usize = 10_000;

/// What is compared of a term.
type SortKey = expr::OrderKey<'static>;

/// Sorts rows.
pub struct Sort {
    input: Input,
    computations: Vec<Computation>,
    order: ByKeys,
    /// How many rows are wanted.
    limit: usize,
    /// Where only the first rows are wanted.
    cutoff: Option<Cutoff>,
    state: State,
    terms: Arc<Terms>,
    control: Arc<Control>,
}

enum State {
    /// Nothing was read yet.
    Waiting,
    Sorted(Sorted<ByKeys>),
    Ended,
}

/// By keys of terms, the most important first.
#[derive(Clone)]
struct ByKeys {
    /// For each key.
    are_descending: Vec<bool>,
}

impl RowOrder for ByKeys {
    type Key = SortKey;

    fn keys(&self) -> usize {
        self.are_descending.len()
    }

    fn compare(&self, left: &[SortKey], right: &[SortKey]) -> Ordering {
        for ((left, right), is_descending) in left.iter().zip(right).zip(&self.are_descending) {
            let order = left.cmp(right);
            if order.is_ne() {
                return if *is_descending {
                    order.reverse()
                } else {
                    order
                };
            }
        }
        Ordering::Equal
    }
}

impl Sort {
    /// Sorts the rows of `input`, whose columns have these variables, and gives at most `limit` of them.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn new(
        input: Input,
        keys: &[OrderKey],
        limit: Option<u64>,
        variables: &[VariableId],
        terms: &Arc<Terms>,
        control: Arc<Control>,
    ) -> Result<Self> {
        let computations = keys
            .iter()
            .map(|key| Computation::new(&key.expression, variables, terms, &control))
            .collect::<Result<_>>()?;
        let order = ByKeys {
            are_descending: keys.iter().map(|key| key.is_descending).collect(),
        };
        let cutoff = limit.and_then(|_| Cutoff::new(keys, variables));
        let limit = limit.map_or(usize::MAX, |limit| {
            usize::try_from(limit).unwrap_or(usize::MAX)
        });
        Ok(Self {
            input,
            computations,
            order,
            limit,
            cutoff,
            state: if limit == 0 {
                State::Ended
            } else {
                State::Waiting
            },
            terms: Arc::clone(terms),
            control,
        })
    }

    fn sort(&mut self) -> Result<Sorted<ByKeys>> {
        let width = self.input.batch.width();
        let mut ids: Vec<Vec<TermId>> = vec![Vec::new(); self.computations.len()];
        if self.limit > RANKED_ROWS_MIN {
            let mut gathered = Gathered::new(width, &self.order.are_descending, &self.control);
            let mut fits = true;
            while fits && self.fetch(&mut ids)? {
                fits = gathered.add(&self.input.batch, &ids);
            }
            if fits && let Some(mut sequence) = gathered.sequence(&self.terms)? {
                sequence.truncate(self.limit);
                let (rows, reservation) = gathered.into_parts();
                return Ok(Sorted::Kept {
                    rows,
                    sequence,
                    at: 0,
                    reservation,
                });
            }
            return self.spill(gathered);
        }
        let mut sorter = self.sorter(width);
        self.add_rest(&mut sorter)?;
        sorter.finish()
    }

    /// Sorts rows that turned out to be too many, and those that were not read yet.
    fn spill(&mut self, gathered: Gathered) -> Result<Sorted<ByKeys>> {
        let mut sorter = self.sorter(gathered.rows.width());
        let mut ids: Vec<Vec<TermId>> = vec![Vec::new(); self.computations.len()];
        let rows = gathered.rows.rows();
        for start in (0..rows).step_by(self.control.batch_rows()) {
            let end = rows.min(start + self.control.batch_rows());
            for (key, ids) in ids.iter_mut().enumerate() {
                ids.clear();
                gathered.ids(key, start, end, ids);
            }
            let mut batch = Batch::new(gathered.rows.width());
            batch.append(&gathered.rows, start, end);
            let mut keys = order_keys(&ids, end - start, &self.terms)?;
            sorter.add(&batch, &mut keys)?;
        }
        drop(gathered);
        self.add_rest(&mut sorter)?;
        sorter.finish()
    }

    fn sorter(&self, width: usize) -> Sorter<ByKeys> {
        Sorter::new(width, self.order.clone(), self.limit, &self.control)
    }

    /// Adds the rows that were not read yet.
    fn add_rest(&mut self, sorter: &mut Sorter<ByKeys>) -> Result<()> {
        let mut ids: Vec<Vec<TermId>> = vec![Vec::new(); self.computations.len()];
        while self.fetch(&mut ids)? {
            let batch = &self.input.batch;
            let mut keys = order_keys(&ids, batch.rows(), &self.terms)?;
            sorter.add(batch, &mut keys)?;
            if let Some(cutoff) = &mut self.cutoff
                && let Some((rows, last, keys)) = sorter.take_last_wanted()
            {
                cutoff.set_last(rows, last, &keys[0], self.terms.snapshot());
            }
        }
        Ok(())
    }

    /// Fetches a batch, and computes the ids of its keys, a column for each; `false` at the end.
    fn fetch(&mut self, ids: &mut [Vec<TermId>]) -> Result<bool> {
        self.control.check()?;
        if !self.input.fetch()? {
            return Ok(false);
        }
        if let Some(cutoff) = &mut self.cutoff {
            cutoff.apply(&mut self.input.batch);
        }
        for (computation, ids) in self.computations.iter_mut().zip(ids) {
            ids.clear();
            computation.compute(&self.input.batch, ids)?;
        }
        Ok(true)
    }
}

impl Operator for Sort {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        self.control.check()?;
        // An error ends the operator.
        let mut sorted = match std::mem::replace(&mut self.state, State::Ended) {
            State::Waiting => self.sort()?,
            State::Sorted(sorted) => sorted,
            State::Ended => return Ok(0),
        };
        sorted.fill(output, self.control.batch_rows())?;
        if output.rows() > 0 {
            self.state = State::Sorted(sorted);
        }
        Ok(output.rows())
    }

    /// Sorts, and lets threads go on with the sorted rows where there are many.
    fn take_pipeline(&mut self) -> Result<Option<Pipeline>> {
        let threads = self.control.threads();
        if threads < 2 || !matches!(self.state, State::Waiting) {
            return Ok(None);
        }
        self.state = State::Ended;
        let sorted = self.sort()?;
        let Sorted::Kept { sequence, .. } = &sorted else {
            self.state = State::Sorted(sorted);
            return Ok(None);
        };
        let rows = sequence.len();
        if rows < 2 * PART_ROWS {
            self.state = State::Sorted(sorted);
            return Ok(None);
        }
        let sorted = Arc::new(sorted);
        let part = |start: usize| {
            let (sorted, control) = (Arc::clone(&sorted), Arc::clone(&self.control));
            Box::new(move || {
                Ok(Box::new(SortedPart {
                    rows: start..rows.min(start + PART_ROWS),
                    sorted,
                    control,
                }) as Box<dyn Operator>)
            }) as Part
        };
        Ok(Some(Pipeline {
            parts: (0..rows).step_by(PART_ROWS).map(part).collect(),
            width: self.input.batch.width(),
            threads,
            control: Arc::clone(&self.control),
        }))
    }
}

/// Gives a range of sorted rows that lie in memory.
struct SortedPart {
    sorted: Arc<Sorted<ByKeys>>,
    /// Those that were not given yet.
    rows: Range<usize>,
    control: Arc<Control>,
}

impl Operator for SortedPart {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        self.control.check()?;
        if let Sorted::Kept { rows, sequence, .. } = &*self.sorted {
            let end = self
                .rows
                .end
                .min(self.rows.start + self.control.batch_rows());
            output.append_rows(rows, &sequence[self.rows.start..end]);
            self.rows.start = end;
        }
        Ok(output.rows())
    }
}

/// The keys of rows whose columns hold these ids, row by row.
fn order_keys(columns: &[Vec<TermId>], rows: usize, terms: &Terms) -> Result<Vec<SortKey>> {
    let mut keys = vec![SortKey::new(None); rows * columns.len()];
    for (index, ids) in columns.iter().enumerate() {
        let mut distinct: Vec<TermId> = ids.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let mut known: HashMap<TermId, SortKey> = HashMap::with_capacity(distinct.len());
        terms.terms(&distinct, &mut |place, term| {
            known.insert(
                distinct[place],
                expr::OrderKey::new(Some(&term)).into_owned(),
            );
        })?;
        for (row, id) in ids.iter().enumerate() {
            if let Some(key) = known.get(id) {
                keys[row * columns.len() + index].clone_from(key);
            }
        }
    }
    Ok(keys)
}
