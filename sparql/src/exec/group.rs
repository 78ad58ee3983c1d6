//! `GroupBy`: groups rows by some columns and computes aggregates of each group.
//!
//! Groups are kept in a hash table, and come out in the sequence in which they were first met. Without keys there is
//! one group, even where there is no row.
//!
//! When the groups outgrow their memory no more are made: from then on rows of other groups go into parts of a file by
//! the hash of their keys, and once the groups in memory were given each part is grouped in the same way. So what an
//! aggregate has come to is never written, and each pass gives the groups of one batch at least. Aggregates that take each
//! value once are [`DistinctRows`]' business. Text that `GROUP_CONCAT` gathers must stay in memory, as its result does.

use super::aggregate::Aggregated;
use super::batch::Batch;
use super::control::Control;
use super::distinct_rows::DistinctRows;
use super::extend::Computation;
use super::memory::Reservation;
use super::operator::{Input, Operator};
use super::row_set::RowSet;
use super::spill::partition::Partitions;
use super::spill::run::Run;
use super::terms::Terms;
use crate::error::Result;
use crate::plan::logical::{Aggregate, VariableId};
use quadrille_store::TermId;
use std::sync::Arc;

/// Groups rows.
pub struct GroupBy {
    input: Input,
    /// How many columns the input has.
    width: usize,
    keys: Vec<Option<usize>>,
    aggregates: Vec<Prepared>,
    terms: Arc<Terms>,
    control: Arc<Control>,
    /// The keys of the groups.
    groups: RowSet,
    /// By group, then by aggregate.
    aggregated: Vec<Aggregated>,
    reservation: Reservation,
    /// For text.
    text: Reservation,
    /// Where the rows of groups go that are not in memory; there is one as soon as it is full.
    partitions: Option<Partitions>,
    /// Parts that are to be grouped, with how often their rows were divided.
    waiting: Vec<(Run, u32)>,
    /// How often the rows of the current input were divided.
    depth: u32,
    state: State,
}

enum State {
    /// The input is to be read.
    Waiting,
    /// Groups are given: the number of the next one, and what their aggregates came to.
    Giving(usize, std::vec::IntoIter<Aggregated>),
    Ended,
}

struct Prepared {
    aggregate: Aggregate,
    computation: Option<Computation>,
    /// The columns that tell rows apart, for `COUNT(DISTINCT *)`.
    columns: Vec<Option<usize>>,
    /// Which values, or rows, each group has had, behind the place of what the aggregate has come to.
    distinct: Option<DistinctRows>,
    /// What the expression comes out as in the current batch.
    values: Vec<TermId>,
}

impl Prepared {
    fn distinct_width(&self) -> usize {
        1 + match self.computation {
            Some(_) => 1,
            None => self.columns.len(),
        }
    }

    /// A set of rows, if each value counts once.
    fn begin(&mut self, control: &Arc<Control>) {
        let width = self.distinct_width();
        self.distinct = self
            .aggregate
            .is_distinct
            .then(|| DistinctRows::new(width, control));
    }
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
                let mut prepared = Prepared {
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
                    distinct: None,
                    values: Vec::new(),
                };
                prepared.begin(&control);
                Ok(prepared)
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            input,
            width: variables.len(),
            groups: RowSet::new(keys.len()),
            keys,
            aggregates,
            terms: Arc::clone(terms),
            reservation: Reservation::spilling(control.memory()),
            text: Reservation::fixed(control.memory()),
            control,
            aggregated: Vec::new(),
            partitions: None,
            waiting: Vec::new(),
            depth: 0,
            state: State::Waiting,
        })
    }

    /// Appends what the aggregates of a new group have come to.
    fn add_group(&mut self) {
        let aggregates = self.aggregates.iter();
        self.aggregated
            .extend(aggregates.map(|prepared| Aggregated::new(&prepared.aggregate.function)));
    }

    /// Reads the input, whose rows are then in groups or in parts of a file.
    fn gather(&mut self) -> Result<()> {
        let mut groups: Vec<usize> = Vec::new();
        while self.input.fetch()? {
            self.control.check()?;
            self.find_groups(&mut groups)?;
            self.aggregate(&groups)?;
            let aggregated = self.aggregated.capacity() * size_of::<Aggregated>();
            let bytes = self.groups.bytes() + aggregated as u64;
            if self.partitions.is_none() && !self.reservation.try_resize(bytes) {
                let columns = self.keys.iter().copied().flatten().collect();
                let partitions = Partitions::new(self.width, columns, self.depth, &self.control)?;
                self.partitions = Some(partitions);
            }
        }
        if self.keys.is_empty() && self.groups.is_empty() {
            self.groups.insert(&[]);
            self.add_group();
        }
        self.add_distinct()
    }

    /// Finds the groups of a batch's rows; removes rows from it whose groups are not kept.
    fn find_groups(&mut self, groups: &mut Vec<usize>) -> Result<()> {
        groups.clear();
        let mut selection = Vec::new();
        let mut key = Vec::with_capacity(self.keys.len());
        for row in 0..self.input.batch.rows() {
            key.clear();
            key.extend(self.keys.iter().map(|column| {
                column.map_or(TermId::UNBOUND, |column| {
                    self.input.batch.column(column)[row]
                })
            }));
            if let Some(partitions) = &mut self.partitions {
                match self.groups.find(&key) {
                    Some(group) => {
                        groups.push(group);
                        selection.push(row as u32);
                    }
                    None => partitions.add(&self.input.batch, row)?,
                }
                continue;
            }
            let (group, is_new) = self.groups.insert(&key);
            if is_new {
                self.add_group();
            }
            groups.push(group);
        }
        if self.partitions.is_some() {
            self.input.batch.select(&selection);
        }
        Ok(())
    }

    /// Adds the rows of a batch to their groups.
    fn aggregate(&mut self, groups: &[usize]) -> Result<()> {
        let count = self.aggregates.len();
        let batch = &self.input.batch;
        let mut grown = 0;
        for (index, prepared) in self.aggregates.iter_mut().enumerate() {
            let places = groups.iter().map(|group| group * count + index);
            let Some(computation) = &mut prepared.computation else {
                for (row, place) in places.enumerate() {
                    let is_new = match &mut prepared.distinct {
                        None => true,
                        Some(distinct) => {
                            let columns = prepared.columns.iter().map(|column| {
                                column.map_or(TermId::UNBOUND, |column| batch.column(column)[row])
                            });
                            distinct.insert(place, columns)?
                        }
                    };
                    if is_new {
                        self.aggregated[place].add_row();
                    }
                }
                if let Some(distinct) = &mut prepared.distinct {
                    distinct.reserve()?;
                }
                continue;
            };
            prepared.values.clear();
            computation.compute(batch, &mut prepared.values)?;
            for (place, id) in places.zip(&prepared.values) {
                if let Some(distinct) = &mut prepared.distinct
                    && !id.is_unbound()
                    && !distinct.insert(place, [*id])?
                {
                    continue;
                }
                let function = &prepared.aggregate.function;
                grown += self.aggregated[place].add(function, *id, &self.terms)?;
            }
            if let Some(distinct) = &mut prepared.distinct {
                distinct.reserve()?;
            }
        }
        if grown > 0 {
            self.text.grow(grown as u64)?;
        }
        Ok(())
    }

    /// Adds the values that were put aside until it is known which of them are new.
    fn add_distinct(&mut self) -> Result<()> {
        for prepared in &mut self.aggregates {
            let width = prepared.distinct_width();
            let Some(distinct) = prepared.distinct.take() else {
                continue;
            };
            let Some(mut rows) = distinct.finish(&self.control)? else {
                continue;
            };
            let mut batch = Batch::new(width);
            while rows.next(&mut batch)? > 0 {
                for (row, place) in batch.column(0).iter().enumerate() {
                    let aggregated = &mut self.aggregated[place.bits() as usize];
                    if prepared.computation.is_none() {
                        aggregated.add_row();
                        continue;
                    }
                    let function = &prepared.aggregate.function;
                    let grown = aggregated.add(function, batch.column(1)[row], &self.terms)?;
                    self.text.grow(grown as u64)?;
                }
            }
        }
        Ok(())
    }

    /// Gives groups.
    fn give(
        &self,
        next: usize,
        aggregated: &mut std::vec::IntoIter<Aggregated>,
        output: &mut Batch,
    ) -> Result<usize> {
        let keys = self.keys.len();
        let end = self.groups.len().min(next + self.control.batch_rows());
        for column in 0..keys {
            let ids = self.groups.ids()[next * keys..end * keys].iter();
            output
                .column_mut(column)
                .extend(ids.skip(column).step_by(keys));
        }
        for _ in next..end {
            for (index, prepared) in self.aggregates.iter().enumerate() {
                let id = match aggregated.next() {
                    Some(aggregated) => {
                        aggregated.finish(&prepared.aggregate.function, &self.terms)?
                    }
                    None => TermId::UNBOUND,
                };
                output.column_mut(keys + index).push(id);
            }
        }
        output.set_rows(end - next);
        Ok(end)
    }

    /// Begins to group the next part; `false` if there is none.
    fn next_pass(&mut self) -> Result<bool> {
        if let Some(partitions) = self.partitions.take() {
            let runs = partitions.finish()?.into_iter();
            let runs = runs.filter(|run| run.rows() > 0);
            self.waiting.extend(runs.map(|run| (run, self.depth + 1)));
        }
        self.groups.clear();
        self.aggregated = Vec::new();
        self.reservation.clear();
        self.text.clear();
        let Some((run, depth)) = self.waiting.pop() else {
            return Ok(false);
        };
        self.input = Input::new(Box::new(run.read(&self.control)), self.width);
        self.depth = depth;
        for prepared in &mut self.aggregates {
            prepared.begin(&self.control);
        }
        Ok(true)
    }
}

impl Operator for GroupBy {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        loop {
            self.control.check()?;
            // An error ends the operator.
            match std::mem::replace(&mut self.state, State::Ended) {
                State::Waiting => {
                    self.gather()?;
                    let aggregated = std::mem::take(&mut self.aggregated).into_iter();
                    self.state = State::Giving(0, aggregated);
                }
                State::Giving(next, mut aggregated) => {
                    let end = self.give(next, &mut aggregated, output)?;
                    if end > next {
                        self.state = State::Giving(end, aggregated);
                        return Ok(output.rows());
                    }
                    if self.next_pass()? {
                        self.state = State::Waiting;
                    }
                }
                State::Ended => return Ok(0),
            }
        }
    }
}
