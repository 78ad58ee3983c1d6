//! `GroupBy`: groups rows by some columns and computes aggregates of each group.
//!
//! Groups are kept in a hash table, and come out in the sequence in which they were first met. Without keys there is
//! one group, even where there is no row. What is kept counts against the query's memory.

use super::aggregate::Aggregated;
use super::batch::Batch;
use super::control::Control;
use super::extend::Computation;
use super::hash::hash_ids;
use super::operator::{Input, Operator};
use super::terms::Terms;
use crate::error::Result;
use crate::plan::logical::{Aggregate, VariableId};
use hashbrown::hash_table::Entry;
use hashbrown::{HashSet, HashTable};
use quadrille_store::TermId;
use std::sync::Arc;

/// About what a group takes besides its ids.
const GROUP_BYTES: u64 = 32;
/// About what an aggregate of a group takes.
const AGGREGATE_BYTES: u64 = 96;

/// Groups rows.
pub struct GroupBy {
    input: Input,
    keys: Vec<Option<usize>>,
    aggregates: Vec<Prepared>,
    terms: Arc<Terms>,
    control: Arc<Control>,
    /// The keys of the groups, one after another.
    ids: Vec<TermId>,
    table: HashTable<usize>,
    groups: usize,
    /// By group, then by aggregate.
    aggregated: Vec<Aggregated>,
    /// What is to come.
    results: Option<Batch>,
    at: usize,
}

struct Prepared {
    aggregate: Aggregate,
    computation: Option<Computation>,
    /// The columns that tell rows apart, for `COUNT(DISTINCT *)`, and the rows so far with their group before them.
    columns: Vec<Option<usize>>,
    rows: HashSet<Vec<TermId>>,
    /// What the expression comes out as in the current batch.
    values: Vec<TermId>,
}

impl GroupBy {
    /// Groups the rows of `input`, whose columns have these variables, by the columns `keys`.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn new(
        input: Input,
        keys: Vec<Option<usize>>,
        aggregates: &[Aggregate],
        variables: &[VariableId],
        terms: &Arc<Terms>,
        control: Arc<Control>,
    ) -> Result<Self> {
        let aggregates = aggregates
            .iter()
            .map(|aggregate| {
                Ok(Prepared {
                    computation: aggregate
                        .expression
                        .as_ref()
                        .map(|expression| Computation::new(expression, variables, terms, &control))
                        .transpose()?,
                    columns: aggregate
                        .columns
                        .iter()
                        .map(|variable| variables.iter().position(|known| known == variable))
                        .collect(),
                    aggregate: aggregate.clone(),
                    rows: HashSet::new(),
                    values: Vec::new(),
                })
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            input,
            keys,
            aggregates,
            terms: Arc::clone(terms),
            control,
            ids: Vec::new(),
            table: HashTable::new(),
            groups: 0,
            aggregated: Vec::new(),
            results: None,
            at: 0,
        })
    }

    /// The number of the group with a key.
    fn group(&mut self, key: &[TermId]) -> Result<usize> {
        let width = key.len();
        let ids = &self.ids;
        let entry = self.table.entry(
            hash_ids(key),
            |group| ids[group * width..][..width] == *key,
            |group| hash_ids(&ids[group * width..][..width]),
        );
        match entry {
            Entry::Occupied(entry) => Ok(*entry.get()),
            Entry::Vacant(entry) => {
                let group = self.groups;
                entry.insert(group);
                self.ids.extend_from_slice(key);
                self.add_group()?;
                Ok(group)
            }
        }
    }

    fn add_group(&mut self) -> Result<()> {
        self.groups += 1;
        self.aggregated
            .extend(self.aggregates.iter().map(|prepared| {
                Aggregated::new(&prepared.aggregate.function, prepared.aggregate.is_distinct)
            }));
        let aggregates = AGGREGATE_BYTES * self.aggregates.len() as u64;
        self.control
            .charge(GROUP_BYTES + 8 * self.keys.len() as u64 + aggregates)
    }

    fn gather(&mut self) -> Result<()> {
        let mut key = Vec::with_capacity(self.keys.len());
        let mut groups: Vec<usize> = Vec::new();
        while self.input.fetch()? {
            self.control.check()?;
            let rows = self.input.batch.rows();
            groups.clear();
            for row in 0..rows {
                key.clear();
                key.extend(self.keys.iter().map(|column| {
                    column.map_or(TermId::UNBOUND, |column| {
                        self.input.batch.column(column)[row]
                    })
                }));
                groups.push(self.group(&key)?);
            }
            let count = self.aggregates.len();
            for (index, prepared) in self.aggregates.iter_mut().enumerate() {
                let aggregated = groups.iter().map(|group| group * count + index);
                let Some(computation) = &mut prepared.computation else {
                    for (row, place) in aggregated.enumerate() {
                        let mut is_new = true;
                        if prepared.aggregate.is_distinct {
                            let mut ids = vec![TermId::from_bits(place as u64)];
                            ids.extend(prepared.columns.iter().map(|column| {
                                column.map_or(TermId::UNBOUND, |column| {
                                    self.input.batch.column(column)[row]
                                })
                            }));
                            let bytes = 8 * ids.len() as u64 + GROUP_BYTES;
                            is_new = prepared.rows.insert(ids);
                            if is_new {
                                self.control.charge(bytes)?;
                            }
                        }
                        if is_new {
                            self.aggregated[place].add_row();
                        }
                    }
                    continue;
                };
                prepared.values.clear();
                computation.compute(&self.input.batch, &mut prepared.values)?;
                if prepared.aggregate.is_distinct {
                    self.control.charge(16 * rows as u64)?;
                }
                for (place, id) in aggregated.zip(&prepared.values) {
                    self.aggregated[place].add(&prepared.aggregate.function, *id, &self.terms)?;
                }
            }
        }
        if self.keys.is_empty() && self.groups == 0 {
            self.add_group()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Batch> {
        let (keys, count) = (self.keys.len(), self.aggregates.len());
        let mut results = Batch::new(keys + count);
        for column in 0..keys {
            let ids = self.ids.iter().skip(column).step_by(keys);
            results.column_mut(column).extend(ids);
        }
        for (place, aggregated) in std::mem::take(&mut self.aggregated).into_iter().enumerate() {
            let index = place % count;
            let function = &self.aggregates[index].aggregate.function;
            let id = aggregated.finish(function, &self.terms)?;
            results.column_mut(keys + index).push(id);
        }
        results.set_rows(self.groups);
        Ok(results)
    }
}

impl Operator for GroupBy {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        self.control.check()?;
        if self.results.is_none() {
            self.gather()?;
            self.results = Some(self.finish()?);
        }
        let Some(results) = &self.results else {
            return Ok(0);
        };
        let end = results.rows().min(self.at + self.control.batch_rows());
        output.append(results, self.at, end);
        self.at = end;
        Ok(output.rows())
    }
}
