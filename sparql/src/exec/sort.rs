//! `Sort`: ORDER BY, over terms of every kind, and the first rows of it where no more are wanted.
//!
//! A [`expr::OrderKey`] is made for each expression of each row, once; the rest is [`Sorter`]'s, which keeps rows and keys
//! in memory or spills them.

use super::batch::Batch;
use super::control::Control;
use super::extend::Computation;
use super::operator::{Input, Operator};
use super::spill::sorter::{RowOrder, Sorted, Sorter};
use super::terms::Terms;
use crate::error::Result;
use crate::expr;
use crate::plan::logical::{OrderKey, VariableId};
use hashbrown::HashMap;
use quadrille_store::TermId;
use std::cmp::Ordering;
use std::sync::Arc;

/// What is compared of a term.
type SortKey = expr::OrderKey<'static>;

/// Sorts rows.
pub struct Sort {
    input: Input,
    computations: Vec<Computation>,
    state: State,
    terms: Arc<Terms>,
    control: Arc<Control>,
}

enum State {
    /// Nothing was read yet.
    Waiting(Sorter<ByKeys>),
    Sorted(Sorted<ByKeys>),
    Ended,
}

/// By keys of terms, the most important first.
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
        let limit = limit.map_or(usize::MAX, |limit| {
            usize::try_from(limit).unwrap_or(usize::MAX)
        });
        let state = if limit == 0 {
            State::Ended
        } else {
            State::Waiting(Sorter::new(variables.len(), order, limit, &control))
        };
        Ok(Self {
            input,
            computations,
            state,
            terms: Arc::clone(terms),
            control,
        })
    }

    fn sort(&mut self, mut sorter: Sorter<ByKeys>) -> Result<Sorted<ByKeys>> {
        let mut columns: Vec<Vec<TermId>> = vec![Vec::new(); self.computations.len()];
        while self.input.fetch()? {
            let batch = &self.input.batch;
            for (computation, ids) in self.computations.iter_mut().zip(&mut columns) {
                ids.clear();
                computation.compute(batch, ids)?;
            }
            let mut keys = order_keys(&columns, batch.rows(), &self.terms)?;
            sorter.add(batch, &mut keys)?;
        }
        sorter.finish()
    }
}

impl Operator for Sort {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        self.control.check()?;
        // An error ends the operator.
        let mut sorted = match std::mem::replace(&mut self.state, State::Ended) {
            State::Waiting(sorter) => self.sort(sorter)?,
            State::Sorted(sorted) => sorted,
            State::Ended => return Ok(0),
        };
        sorted.fill(output, self.control.batch_rows())?;
        if output.rows() > 0 {
            self.state = State::Sorted(sorted);
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
