//! `GroupBy`: groups rows by some columns and computes aggregates of each group.
//!
//! Groups are kept in a hash table, and come out in the sequence in which they were first met. Without keys there is
//! one group, even where there is no row. Rows that several threads compute are grouped by them ([`divided`]).
//!
//! When the groups outgrow their memory no more are made: from then on rows of other groups go into parts of a file by
//! the hash of their keys, and once the groups in memory were given each part is grouped in the same way. So what an
//! aggregate has come to is never written, and each pass gives the groups of one batch at least. Aggregates that take each
//! value once are [`DistinctRows`]' business. Text that `GROUP_CONCAT` gathers must stay in memory, as its result does.

pub mod argument;
pub mod divided;

use super::aggregate::Aggregated;
use super::batch::Batch;
use super::control::Control;
use super::distinct_rows::DistinctRows;
use super::memory::Reservation;
use super::operator::{Constant, Input, Operator};
use super::row_set::RowSet;
use super::spill::partition::Partitions;
use super::spill::run::Run;
use crate::error::Result;
use argument::Argument;
use divided::{Batches, Grouped, Grouping, Groups, Rest};
use quadrille_store::TermId;
use std::collections::VecDeque;
use std::sync::Arc;

/// Rows that are worth threads, and batches that are read at most before it is known.
const LARGE_ROWS: usize = 32_768;
const LARGE_BATCHES: usize = 64;

/// Groups rows.
pub struct GroupBy {
    input: Input,
    grouping: Grouping,
    aggregates: Vec<Prepared>,
    control: Arc<Control>,
    /// The keys of the groups.
    groups: RowSet,
    /// By group, then by aggregate.
    aggregated: Vec<Aggregated>,
    reservation: Reservation,
    /// For text.
    text: Reservation,
    /// Groups that are to be given once those above were.
    further: std::vec::IntoIter<Groups>,
    /// Where the rows of groups go that are not in memory; there is one as soon as it is full.
    partitions: Option<Partitions>,
    /// Parts that are to be grouped, with how often their rows were divided.
    waiting: Vec<(Run, u32)>,
    /// How often the rows of the current input were divided.
    depth: u32,
    /// Whether many rows are expected.
    is_large: bool,
    state: State,
}

enum State {
    /// Nothing was read yet.
    Waiting,
    /// The input is to be read.
    Reading,
    /// Groups are given: the number of the next one, and what their aggregates came to.
    Giving(usize, std::vec::IntoIter<Aggregated>),
    Ended,
}

struct Prepared {
    argument: Argument,
    /// Which values, or rows, each group has had, behind the place of what the aggregate has come to.
    distinct: Option<DistinctRows>,
}

impl Prepared {
    /// A set of rows, if each value counts once.
    fn begin(&mut self, control: &Arc<Control>) {
        let width = 1 + self.argument.width();
        let is_distinct = self.argument.aggregate.is_distinct;
        self.distinct = is_distinct.then(|| DistinctRows::new(width, control));
    }
}

impl GroupBy {
    /// Groups the rows of `input`.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn new(input: Input, grouping: Grouping) -> Result<Self> {
        let control = Arc::clone(&grouping.control);
        let arguments = grouping.arguments()?.into_iter();
        let aggregates = arguments.map(|argument| {
            let mut prepared = Prepared {
                argument,
                distinct: None,
            };
            prepared.begin(&control);
            prepared
        });
        Ok(Self {
            input,
            groups: RowSet::new(grouping.keys.len()),
            aggregates: aggregates.collect(),
            reservation: Reservation::spilling(control.memory()),
            text: Reservation::fixed(control.memory()),
            control,
            grouping,
            aggregated: Vec::new(),
            further: Vec::new().into_iter(),
            partitions: None,
            waiting: Vec::new(),
            depth: 0,
            is_large: false,
            state: State::Waiting,
        })
    }

    /// The same where so many rows are expected that they are worth threads, though one at a time reads them.
    #[must_use]
    pub fn expecting_many(mut self, is_large: bool) -> Self {
        self.is_large = is_large;
        self
    }

    /// Groups the rows, on several threads if they are computed so.
    fn begin(&mut self) -> Result<()> {
        // To tell values apart within groups takes longer in two phases, unless rows are many.
        let tells_apart = || {
            self.aggregates
                .iter()
                .any(|prepared| prepared.distinct.is_some())
        };
        if self.grouping.can_be_divided()
            && (self.is_large || self.grouping.keys.is_empty() || !tells_apart())
            && let Some(pipeline) = self.input.take_pipeline()?
        {
            let grouped = self.grouping.group(pipeline)?;
            return self.end(grouped);
        }
        if self.is_large && self.control.threads() > 1 && self.grouping.can_be_divided() {
            return self.begin_large();
        }
        self.gather()
    }

    /// Groups rows that are expected to be many, on several threads once they are.
    fn begin_large(&mut self) -> Result<()> {
        let width = self.grouping.variables.len();
        let nothing = Input::new(Box::new(Constant::empty()), width);
        let mut operator = std::mem::replace(&mut self.input, nothing).into_operator();
        let (mut read, mut rows) = (VecDeque::new(), 0);
        while rows < LARGE_ROWS && read.len() < LARGE_BATCHES {
            let mut batch = Batch::new(width);
            if operator.next(&mut batch)? == 0 {
                break;
            }
            rows += batch.rows();
            read.push_back(batch);
        }
        if rows < LARGE_ROWS && read.len() < LARGE_BATCHES {
            self.input = Input::new(Box::new(Batches::new(read, operator)), width);
            return self.gather();
        }
        let threads = self.control.threads();
        let grouped = self
            .grouping
            .group_rows(Batches::new(read, operator), threads)?;
        self.end(grouped)
    }

    /// Takes what threads have grouped.
    fn end(&mut self, grouped: Grouped) -> Result<()> {
        let Grouped { groups, rest } = grouped;
        if let Some(rest) = rest {
            return self.go_on(groups, rest);
        }
        let bytes = groups.iter().map(Groups::bytes).sum();
        // They are there, and smaller than what was reserved for them.
        if !self.reservation.try_resize(bytes) {
            self.reservation.clear();
        }
        let has_groups = groups.iter().any(|groups| !groups.keys.is_empty());
        self.further = groups.into_iter();
        if has_groups || !self.grouping.keys.is_empty() {
            return Ok(());
        }
        // Without rows there is one group.
        self.gather()
    }

    /// Goes on by itself with groups whose threads have run out of memory.
    fn go_on(&mut self, groups: Vec<Groups>, rest: Rest) -> Result<()> {
        for groups in groups {
            for key in groups.keys.iter() {
                self.groups.insert(key);
            }
            self.aggregated.extend(groups.aggregated);
            self.text.grow(groups.text_bytes)?;
        }
        let (width, count) = (self.grouping.keys.len(), self.aggregates.len());
        for (index, sets) in rest.distinct {
            let prepared = &mut self.aggregates[index];
            let Some(distinct) = &mut prepared.distinct else {
                continue;
            };
            for set in sets {
                for row in set.iter() {
                    let (key, values) = row.split_at(width);
                    // It was grouped with its row.
                    let Some(group) = self.groups.find(key) else {
                        continue;
                    };
                    let place = group * count + index;
                    if distinct.insert(place, values.iter().copied())? {
                        let aggregated = &mut self.aggregated[place];
                        if prepared.argument.takes_rows() {
                            aggregated.add_row();
                        } else {
                            let function = &prepared.argument.aggregate.function;
                            let grown =
                                aggregated.add(function, values[0], &self.grouping.terms)?;
                            self.text.grow(grown as u64)?;
                        }
                    }
                }
                distinct.reserve()?;
            }
        }
        self.reserve()?;
        self.input = Input::new(rest.rows, self.grouping.variables.len());
        self.gather()
    }

    /// Reserves memory for the groups; where there is not enough, no more are made.
    fn reserve(&mut self) -> Result<()> {
        let aggregated = self.aggregated.capacity() * size_of::<Aggregated>();
        let bytes = self.groups.bytes() + aggregated as u64;
        if self.partitions.is_none() && !self.reservation.try_resize(bytes) {
            let columns = self.grouping.keys.iter().copied().flatten().collect();
            let width = self.grouping.variables.len();
            let partitions = Partitions::new(width, columns, self.depth, &self.control)?;
            self.partitions = Some(partitions);
        }
        Ok(())
    }

    /// Reads the input, whose rows are then in groups or in parts of a file.
    fn gather(&mut self) -> Result<()> {
        let mut groups: Vec<usize> = Vec::new();
        while self.input.fetch()? {
            self.control.check()?;
            self.find_groups(&mut groups)?;
            self.aggregate(&groups)?;
            self.reserve()?;
        }
        if self.grouping.keys.is_empty() && self.groups.is_empty() {
            self.groups.insert(&[]);
            self.aggregated.extend(self.grouping.nothing());
        }
        self.add_distinct()
    }

    /// Finds the groups of a batch's rows; removes rows from it whose groups are not kept.
    fn find_groups(&mut self, groups: &mut Vec<usize>) -> Result<()> {
        groups.clear();
        let mut selection = Vec::new();
        let (mut key, mut known_key) = (Vec::new(), Vec::new());
        // The group of `known_key`: rows are often sorted, and without a key all are alike.
        let mut known = None;
        for row in 0..self.input.batch.rows() {
            self.grouping.key(&self.input.batch, row, &mut key);
            if known.is_none() || key != known_key {
                known = self.group_of(&key);
                std::mem::swap(&mut key, &mut known_key);
            }
            match (known, &mut self.partitions) {
                (Some(group), None) => groups.push(group),
                (Some(group), Some(_)) => {
                    groups.push(group);
                    selection.push(row as u32);
                }
                (None, Some(partitions)) => partitions.add(&self.input.batch, row)?,
                (None, None) => unreachable!("a group is made as long as there are no partitions"),
            }
        }
        if self.partitions.is_some() {
            self.input.batch.select(&selection);
        }
        Ok(())
    }

    /// The group of a key, which is new if no further ones go into partitions.
    fn group_of(&mut self, key: &[TermId]) -> Option<usize> {
        if self.partitions.is_some() {
            return self.groups.find(key);
        }
        let (group, is_new) = self.groups.insert(key);
        if is_new {
            self.aggregated.extend(self.grouping.nothing());
        }
        Some(group)
    }

    /// Adds the rows of a batch to their groups.
    fn aggregate(&mut self, groups: &[usize]) -> Result<()> {
        let count = self.aggregates.len();
        let batch = &self.input.batch;
        let mut grown = 0;
        for (index, prepared) in self.aggregates.iter_mut().enumerate() {
            let places = groups.iter().map(|group| group * count + index);
            let argument = &mut prepared.argument;
            argument.compute(batch)?;
            if argument.takes_rows() {
                for (row, place) in places.enumerate() {
                    let is_new = match &mut prepared.distinct {
                        None => true,
                        Some(distinct) => distinct.insert(place, argument.ids(batch, row))?,
                    };
                    if is_new {
                        self.aggregated[place].add_row();
                    }
                }
            } else {
                let function = &argument.aggregate.function;
                for (place, id) in places.zip(argument.values()) {
                    if let Some(distinct) = &mut prepared.distinct
                        && !id.is_unbound()
                        && !distinct.insert(place, [*id])?
                    {
                        continue;
                    }
                    grown += self.aggregated[place].add(function, *id, &self.grouping.terms)?;
                }
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
            let width = 1 + prepared.argument.width();
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
                    if prepared.argument.takes_rows() {
                        aggregated.add_row();
                        continue;
                    }
                    let function = &prepared.argument.aggregate.function;
                    let id = batch.column(1)[row];
                    let grown = aggregated.add(function, id, &self.grouping.terms)?;
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
        let keys = self.grouping.keys.len();
        let end = self.groups.len().min(next + self.control.batch_rows());
        self.groups.append_to(next..end, output);
        for _ in next..end {
            for (index, prepared) in self.aggregates.iter().enumerate() {
                let id = match aggregated.next() {
                    Some(aggregated) => {
                        let function = &prepared.argument.aggregate.function;
                        aggregated.finish(function, &self.grouping.terms)?
                    }
                    None => TermId::UNBOUND,
                };
                output.column_mut(keys + index).push(id);
            }
        }
        output.set_rows(end - next);
        Ok(end)
    }

    /// Begins to give the next groups, or to group the next part.
    fn next_pass(&mut self) -> Result<State> {
        if let Some(groups) = self.further.next() {
            self.groups = groups.keys;
            return Ok(State::Giving(0, groups.aggregated.into_iter()));
        }
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
            return Ok(State::Ended);
        };
        let width = self.grouping.variables.len();
        self.input = Input::new(Box::new(run.read(&self.control)), width);
        self.depth = depth;
        for prepared in &mut self.aggregates {
            prepared.begin(&self.control);
        }
        Ok(State::Reading)
    }
}

impl Operator for GroupBy {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        loop {
            self.control.check()?;
            // An error ends the operator.
            match std::mem::replace(&mut self.state, State::Ended) {
                state @ (State::Waiting | State::Reading) => {
                    if matches!(state, State::Waiting) {
                        self.begin()?;
                    } else {
                        self.gather()?;
                    }
                    let aggregated = std::mem::take(&mut self.aggregated).into_iter();
                    self.state = State::Giving(0, aggregated);
                }
                State::Giving(next, mut aggregated) => {
                    let end = self.give(next, &mut aggregated, output)?;
                    if end > next {
                        self.state = State::Giving(end, aggregated);
                        return Ok(output.rows());
                    }
                    self.state = self.next_pass()?;
                }
                State::Ended => return Ok(0),
            }
        }
    }
}
