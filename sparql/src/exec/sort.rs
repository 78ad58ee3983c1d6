//! `Sort`: ORDER BY, over terms of every kind, and the first rows of it where no more are wanted.
//!
//! All rows are kept, with a [`expr::OrderKey`] for each expression; what is kept counts against the query's memory. Where only
//! the first rows are wanted the others are dropped now and then, so that about twice as many are kept at most.
//! Rows that compare equal stay in the sequence in which they came.

use super::batch::Batch;
use super::control::Control;
use super::extend::Computation;
use super::operator::{Input, Operator};
use super::terms::Terms;
use crate::error::Result;
use crate::expr;
use crate::plan::logical::{OrderKey, VariableId};
use hashbrown::HashMap;
use quadrille_store::TermId;
use std::cmp::Ordering;
use std::sync::Arc;

/// Rows beyond the wanted ones that are kept before they are dropped.
const SPARE_ROWS: usize = 4_096;
/// About what a row takes besides its ids: a key is this large, and strings behind it may be larger.
const KEY_BYTES: u64 = 64;

/// What is compared of a term.
type SortKey = expr::OrderKey<'static>;

/// Sorts rows.
pub struct Sort {
    input: Input,
    keys: Vec<Key>,
    /// How many rows are wanted.
    limit: usize,
    width: usize,
    terms: Arc<Terms>,
    control: Arc<Control>,
    kept: Batch,
    /// Row by row.
    compared: Vec<SortKey>,
    /// Numbers of kept rows, sorted; `None` before that.
    sequence: Option<Vec<u32>>,
    at: usize,
}

struct Key {
    computation: Computation,
    is_descending: bool,
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
        let keys = keys
            .iter()
            .map(|key| {
                Ok(Key {
                    computation: Computation::new(&key.expression, variables, terms, &control)?,
                    is_descending: key.is_descending,
                })
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            input,
            keys,
            limit: limit.map_or(usize::MAX, |limit| {
                usize::try_from(limit).unwrap_or(usize::MAX)
            }),
            width: variables.len(),
            terms: Arc::clone(terms),
            control,
            kept: Batch::new(variables.len()),
            compared: Vec::new(),
            sequence: None,
            at: 0,
        })
    }

    fn keep_all(&mut self) -> Result<()> {
        let mut columns: Vec<Vec<TermId>> = vec![Vec::new(); self.keys.len()];
        while self.limit > 0 && self.input.fetch()? {
            self.control.check()?;
            let batch = &self.input.batch;
            let rows = batch.rows();
            for (key, ids) in self.keys.iter_mut().zip(&mut columns) {
                ids.clear();
                key.computation.compute(batch, ids)?;
            }
            let mut keys = order_keys(&columns, rows, &self.terms)?;
            self.compared.append(&mut keys);
            self.kept.append(batch, 0, rows);
            let bytes = 8 * self.width as u64 + KEY_BYTES * self.keys.len() as u64;
            self.control.charge(rows as u64 * bytes)?;
            if self.kept.rows() > self.limit.saturating_mul(2).saturating_add(SPARE_ROWS) {
                self.drop_rows();
            }
        }
        let sequence = self.sorted();
        self.sequence = Some(sequence);
        Ok(())
    }

    /// The numbers of the kept rows, sorted.
    fn sorted(&self) -> Vec<u32> {
        let width = self.keys.len();
        let row_keys = |row: u32| &self.compared[row as usize * width..][..width];
        let compare = |a: &u32, b: &u32| {
            for ((left, right), key) in row_keys(*a).iter().zip(row_keys(*b)).zip(&self.keys) {
                let order = left.cmp(right);
                let order = if key.is_descending {
                    order.reverse()
                } else {
                    order
                };
                if order.is_ne() {
                    return order;
                }
            }
            Ordering::Equal
        };
        let mut sequence: Vec<u32> = (0..self.kept.rows() as u32).collect();
        sequence.sort_by(compare);
        sequence.truncate(self.limit);
        sequence
    }

    /// Drops all rows but the first ones.
    fn drop_rows(&mut self) {
        // Ascending, so that rows that compare equal stay in sequence.
        let mut remaining = self.sorted();
        remaining.sort_unstable();
        let width = self.keys.len();
        for (to, from) in remaining.iter().enumerate() {
            for key in 0..width {
                self.compared
                    .swap(to * width + key, *from as usize * width + key);
            }
        }
        self.compared.truncate(remaining.len() * width);
        self.kept.select(&remaining);
    }
}

impl Operator for Sort {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        self.control.check()?;
        if self.sequence.is_none() {
            self.keep_all()?;
        }
        let sequence = self.sequence.as_deref().unwrap_or_default();
        let end = sequence.len().min(self.at + self.control.batch_rows());
        let rows = &sequence[self.at..end];
        for column in 0..self.width {
            let from = self.kept.column(column);
            output
                .column_mut(column)
                .extend(rows.iter().map(|row| from[*row as usize]));
        }
        output.set_rows(rows.len());
        self.at = end;
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
