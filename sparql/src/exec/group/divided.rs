//! Grouping on several threads, in two phases.
//!
//! ```text
//! part of the rows -> groups of its rows, by themselves -> by the hash of the key ->  taken up by partitions: groups
//!                  -> values that count once, with keys -> by the hash of both    ->  taken up by partitions: sets
//!
//! sets of values that count once -> groups of their rows -> by the hash of the key -> taken up by partitions of groups
//! ```
//!
//! Where rows of a part hardly share keys, looking for them is given up and each row goes on as a group of its own. Partitions take up
//! parts in their sequence ([`exchange`]), so that what comes of it depends on how the rows were cut, but not on which thread was
//! quicker: sums of floating-point numbers are the same in each run.
//!
//! When all of it outgrows the memory, parts are left as they are, and what is there goes on to the serial operators, which
//! spill ([`Rest`]). When that is depends on the threads, and so do then the last digits of such sums.

use super::argument::Argument;
use crate::error::Result;
use crate::exec::aggregate::{Aggregated, can_be_merged};
use crate::exec::batch::Batch;
use crate::exec::control::Control;
use crate::exec::exchange::{self, Exchange};
use crate::exec::gather::{Gather, Part, Pipeline};
use crate::exec::hash::{hash_ids, partition_of};
use crate::exec::memory::Reservation;
use crate::exec::operator::{Constant, Operator};
use crate::exec::row_set::RowSet;
use crate::exec::terms::Terms;
use crate::exec::union::Union;
use crate::plan::logical::{Aggregate, VariableId};
use quadrille_store::TermId;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Partitions: enough that many threads end together.
const PARTITIONS: usize = 64;
/// Rows after which it is looked at whether rows of a part share keys.
const TRIED_ROWS: usize = 2_048;
/// Batches of a part, where parts are cut as rows are read.
const PART_BATCHES: usize = 16;

/// What rows are grouped by, and what is computed of groups.
#[derive(Clone)]
pub struct Grouping {
    /// The input's column of each key, if anything binds it.
    pub keys: Vec<Option<usize>>,
    /// What is computed of each group.
    pub aggregates: Arc<[Aggregate]>,
    /// The variables of the input's columns.
    pub variables: Arc<[VariableId]>,
    /// What computes values.
    pub terms: Arc<Terms>,
    /// What stops it.
    pub control: Arc<Control>,
}

/// Groups, and what their aggregates have come to.
pub struct Groups {
    /// The keys.
    pub keys: RowSet,
    /// By group, then by aggregate.
    pub aggregated: Vec<Aggregated>,
    /// Bytes of text in them.
    pub text_bytes: u64,
}

/// What became of all parts.
pub struct Grouped {
    /// Each group is in one of them.
    pub groups: Vec<Groups>,
    /// What is left to be done by a serial operator, if the memory was full.
    pub rest: Option<Rest>,
}

/// What is not grouped yet.
pub struct Rest {
    /// Rows that were not read.
    pub rows: Box<dyn Operator>,
    /// Aggregates that take each value once, with rows of keys and values, which are different, and are to be added yet.
    pub distinct: Vec<(usize, Vec<RowSet>)>,
}

impl Grouping {
    /// Whether groups of parts of the rows can be put together.
    pub fn can_be_divided(&self) -> bool {
        self.aggregates.iter().all(|aggregate| {
            let has_values = !self.keys.is_empty() || argument_width(aggregate) > 0;
            can_be_merged(&aggregate.function) && (!aggregate.is_distinct || has_values)
        })
    }

    /// Makes what computes the aggregates' values.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn arguments(&self) -> Result<Vec<Argument>> {
        let new = |aggregate| Argument::new(aggregate, &self.variables, &self.terms, &self.control);
        self.aggregates.iter().map(new).collect()
    }

    /// What the aggregates of a group without rows have come to.
    pub fn nothing(&self) -> impl Iterator<Item = Aggregated> {
        let aggregates = self.aggregates.iter();
        aggregates.map(|aggregate| Aggregated::new(&aggregate.function))
    }

    /// Puts the key of a row in `key`.
    #[inline]
    pub fn key(&self, batch: &Batch, row: usize, key: &mut Vec<TermId>) {
        key.clear();
        key.extend(
            self.keys
                .iter()
                .map(|column| column.map_or(TermId::UNBOUND, |column| batch.column(column)[row])),
        );
    }

    /// The aggregates that take each value once.
    fn distinct(&self) -> impl Iterator<Item = usize> {
        let aggregates = self.aggregates.iter().enumerate();
        aggregates
            .filter(|(_, aggregate)| aggregate.is_distinct)
            .map(|(index, _)| index)
    }

    /// Groups the rows of all parts.
    ///
    /// # Errors
    /// If the store cannot be read, the query was stopped, or there is no thread to be had.
    pub fn group(&self, pipeline: Pipeline) -> Result<Grouped> {
        let parts = Parts::Known(pipeline.parts.into());
        self.group_parts(parts, pipeline.width, pipeline.threads)
    }

    /// Groups rows that one thread at a time reads.
    ///
    /// # Errors
    /// As [`Grouping::group`].
    pub fn group_rows(&self, rows: Batches, threads: usize) -> Result<Grouped> {
        self.group_parts(Parts::Cut(rows), self.variables.len(), threads)
    }

    fn group_parts(&self, parts: Parts, width: usize, threads: usize) -> Result<Grouped> {
        let begun = Dividing::new(self, width);
        let states = (0..PARTITIONS).map(|_| State::new(self));
        let threads = match &parts {
            Parts::Known(parts) => threads.min(parts.len()),
            Parts::Cut(_) => threads,
        };
        let exchanged = exchange::run(&begun, parts, states, threads)?;
        let (mut groups, mut sets) = (Vec::new(), Vec::new());
        for state in exchanged.states {
            groups.push(state.groups);
            sets.push(state.distinct);
        }
        if begun.is_full() {
            let left = begun.left.into_inner();
            let mut left = left.unwrap_or_else(PoisonError::into_inner);
            left.sort_unstable_by_key(|(part, _)| *part);
            let mut rows: Vec<Box<dyn Operator>> =
                left.into_iter().map(|(_, operator)| operator).collect();
            rows.push(match exchanged.parts {
                Parts::Known(parts) => Box::new(Gather::new(Pipeline {
                    parts: parts.into(),
                    width,
                    threads,
                    control: Arc::clone(&self.control),
                })),
                Parts::Cut(batches) => Box::new(batches),
            });
            let distinct = self.distinct().enumerate().map(|(place, index)| {
                let sets = sets.iter_mut();
                let taken = sets.map(|sets| std::mem::replace(&mut sets[place], RowSet::new(0)));
                (index, taken.collect())
            });
            let rest = Rest {
                distinct: distinct.collect(),
                rows: Box::new(Union::new(rows)),
            };
            return Ok(Grouped {
                groups,
                rest: Some(rest),
            });
        }
        if self.distinct().next().is_some() {
            groups = add_distinct(&begun, groups, sets, threads)?;
        }
        Ok(Grouped { groups, rest: None })
    }
}

/// Adds the values of sets of rows, which are different and whose groups are there.
fn add_distinct(
    begun: &Dividing<'_>,
    groups: Vec<Groups>,
    sets: Vec<Vec<RowSet>>,
    threads: usize,
) -> Result<Vec<Groups>> {
    let adding = AddingDistinct(begun);
    let states = groups.into_iter().map(|groups| State {
        groups,
        distinct: Vec::new(),
    });
    let exchanged = exchange::run(&adding, sets.into_iter(), states, threads)?;
    let states = exchanged.states.into_iter();
    Ok(states.map(|state| state.groups).collect())
}

/// The groups of a partition, and its values that count once.
struct State {
    groups: Groups,
    /// For each aggregate that takes each value once: keys and values.
    distinct: Vec<RowSet>,
}

impl Groups {
    fn new(grouping: &Grouping) -> Self {
        Self {
            keys: RowSet::new(grouping.keys.len()),
            aggregated: Vec::new(),
            text_bytes: 0,
        }
    }

    /// The memory that they take, in bytes.
    pub fn bytes(&self) -> u64 {
        let aggregated = self.aggregated.capacity() * size_of::<Aggregated>();
        self.keys.bytes() + aggregated as u64 + self.text_bytes
    }

    /// Adds a group of further rows.
    fn merge(
        &mut self,
        grouping: &Grouping,
        key: &[TermId],
        aggregated: impl Iterator<Item = Aggregated>,
    ) {
        let (group, is_new) = self.keys.insert(key);
        if is_new {
            self.aggregated.extend(aggregated);
            return;
        }
        let count = grouping.aggregates.len();
        let known = self.aggregated[group * count..][..count].iter_mut();
        for ((known, more), aggregate) in known.zip(aggregated).zip(&*grouping.aggregates) {
            self.text_bytes += known.merge(&aggregate.function, more) as u64;
        }
    }
}

impl State {
    fn new(grouping: &Grouping) -> Self {
        let width =
            |index: usize| grouping.keys.len() + argument_width(&grouping.aggregates[index]);
        Self {
            groups: Groups::new(grouping),
            distinct: grouping
                .distinct()
                .map(|index| RowSet::new(width(index)))
                .collect(),
        }
    }

    fn bytes(&self) -> u64 {
        let distinct = self.distinct.iter().map(RowSet::bytes);
        self.groups.bytes() + distinct.sum::<u64>()
    }
}

/// How many ids tell an aggregate's values apart.
fn argument_width(aggregate: &Aggregate) -> usize {
    match aggregate.expression {
        Some(_) => 1,
        None => aggregate.columns.len(),
    }
}

/// What a part gives a partition.
#[derive(Default)]
struct Piece {
    /// Key by key.
    keys: Vec<TermId>,
    /// By group, then by aggregate.
    aggregated: Vec<Aggregated>,
    /// How many groups there are.
    groups: usize,
    text_bytes: u64,
    /// For each aggregate that takes each value once: row by row.
    distinct: Vec<Vec<TermId>>,
}

impl Piece {
    fn bytes(&self) -> u64 {
        let ids = self.keys.capacity() + self.distinct.iter().map(Vec::capacity).sum::<usize>();
        let aggregated = self.aggregated.capacity() * size_of::<Aggregated>();
        (ids * size_of::<TermId>() + aggregated) as u64 + self.text_bytes
    }
}

/// Rows that are looked for as long as that pays.
struct Sieve {
    rows: RowSet,
    /// Whether rows are not looked for any more.
    is_open: bool,
    offered: usize,
}

impl Sieve {
    fn new(width: usize) -> Self {
        Self {
            rows: RowSet::new(width),
            is_open: false,
            offered: 0,
        }
    }

    /// The number of a row, and whether it is new as far as is known.
    fn add(&mut self, row: &[TermId]) -> (usize, bool) {
        if self.is_open {
            return (self.rows.push(row), true);
        }
        let found = self.rows.insert(row);
        self.offered += 1;
        self.is_open = self.offered == TRIED_ROWS && self.rows.len() > TRIED_ROWS / 2;
        found
    }
}

/// Groups of the rows of one part.
struct Local {
    keys: Sieve,
    aggregated: Vec<Aggregated>,
    distinct: Vec<Sieve>,
    text_bytes: u64,
}

impl Local {
    fn new(grouping: &Grouping) -> Self {
        let state = State::new(grouping);
        let width = |rows: RowSet| Sieve::new(rows.width());
        Self {
            keys: Sieve::new(grouping.keys.len()),
            aggregated: Vec::new(),
            distinct: state.distinct.into_iter().map(width).collect(),
            text_bytes: 0,
        }
    }

    fn bytes(&self) -> u64 {
        let aggregated = self.aggregated.capacity() * size_of::<Aggregated>();
        let sets = self.distinct.iter().map(|sieve| sieve.rows.bytes());
        self.keys.rows.bytes() + aggregated as u64 + self.text_bytes + sets.sum::<u64>()
    }

    /// The group of a key.
    fn group(&mut self, grouping: &Grouping, key: &[TermId]) -> usize {
        let (group, is_new) = self.keys.add(key);
        if is_new {
            self.aggregated.extend(grouping.nothing());
        }
        group
    }

    /// Adds the rows of a batch, whose values were computed.
    fn add(
        &mut self,
        grouping: &Grouping,
        batch: &Batch,
        arguments: &[Argument],
        groups: &mut Vec<usize>,
    ) -> Result<()> {
        let mut row_ids = Vec::new();
        groups.clear();
        if grouping.keys.is_empty() {
            let group = self.group(grouping, &[]);
            groups.resize(batch.rows(), group);
        } else {
            for row in 0..batch.rows() {
                grouping.key(batch, row, &mut row_ids);
                groups.push(self.group(grouping, &row_ids));
            }
        }
        let count = arguments.len();
        let mut set = 0;
        for (index, argument) in arguments.iter().enumerate() {
            let function = &argument.aggregate.function;
            if argument.aggregate.is_distinct {
                let sieve = &mut self.distinct[set];
                set += 1;
                for row in 0..batch.rows() {
                    grouping.key(batch, row, &mut row_ids);
                    row_ids.extend(argument.ids(batch, row));
                    sieve.add(&row_ids);
                }
            } else if argument.takes_rows() {
                for group in &*groups {
                    self.aggregated[group * count + index].add_row();
                }
            } else {
                for (group, id) in groups.iter().zip(argument.values()) {
                    let aggregated = &mut self.aggregated[group * count + index];
                    self.text_bytes += aggregated.add(function, *id, &grouping.terms)? as u64;
                }
            }
        }
        Ok(())
    }

    /// Divides it among partitions.
    fn into_pieces(self, grouping: &Grouping) -> Vec<Piece> {
        let count = grouping.aggregates.len();
        let mut pieces: Vec<Piece> = (0..PARTITIONS)
            .map(|_| Piece {
                distinct: vec![Vec::new(); self.distinct.len()],
                // Text is not counted partition by partition.
                text_bytes: self.text_bytes / PARTITIONS as u64,
                ..Piece::default()
            })
            .collect();
        let mut aggregated = self.aggregated.into_iter();
        for key in self.keys.rows.iter() {
            let piece = &mut pieces[partition_of(hash_ids(key), PARTITIONS)];
            piece.keys.extend_from_slice(key);
            piece.aggregated.extend(aggregated.by_ref().take(count));
            piece.groups += 1;
        }
        for (set, sieve) in self.distinct.iter().enumerate() {
            for row in sieve.rows.iter() {
                let piece = &mut pieces[partition_of(hash_ids(row), PARTITIONS)];
                piece.distinct[set].extend_from_slice(row);
            }
        }
        pieces
    }
}

/// Where parts come from.
enum Parts {
    Known(VecDeque<Part>),
    Cut(Batches),
}

/// The rows of an operator, of which some were read before; parts are cut as they are read.
pub struct Batches {
    /// Those that were read already.
    read: VecDeque<Batch>,
    operator: Box<dyn Operator>,
}

impl Batches {
    /// Some rows, and those that an operator gives behind them.
    pub fn new(read: VecDeque<Batch>, operator: Box<dyn Operator>) -> Self {
        Self { read, operator }
    }

    fn next_part(&mut self, width: usize) -> Result<Option<Part>> {
        let mut read = VecDeque::with_capacity(PART_BATCHES);
        while read.len() < PART_BATCHES {
            let mut batch = Batch::new(width);
            if self.next(&mut batch)? == 0 {
                break;
            }
            read.push_back(batch);
        }
        if read.is_empty() {
            return Ok(None);
        }
        Ok(Some(Box::new(move || {
            let operator = Box::new(Constant::empty());
            Ok(Box::new(Self { read, operator }) as Box<dyn Operator>)
        })))
    }
}

impl Operator for Batches {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        if let Some(mut batch) = self.read.pop_front() {
            output.take_rows(&mut batch);
            return Ok(output.rows());
        }
        self.operator.next(output)
    }
}

/// Groups parts of rows.
struct Dividing<'a> {
    grouping: &'a Grouping,
    width: usize,
    /// All that is kept.
    kept: Mutex<Kept>,
    is_full: AtomicBool,
    /// Parts that were begun and are to be read on, with their numbers.
    left: Mutex<Vec<(usize, Box<dyn Operator>)>>,
}

struct Kept {
    bytes: u64,
    reservation: Reservation,
}

/// What a thread computes with.
struct Worker {
    arguments: Vec<Argument>,
    batch: Batch,
    groups: Vec<usize>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Dividing<'a> {
    fn new(grouping: &'a Grouping, width: usize) -> Self {
        Self {
            grouping,
            width,
            kept: Mutex::new(Kept {
                bytes: 0,
                reservation: Reservation::spilling(grouping.control.memory()),
            }),
            is_full: AtomicBool::new(false),
            left: Mutex::default(),
        }
    }

    /// Notes that what took `before` bytes takes `now`.
    fn keep(&self, before: u64, now: u64) {
        if before == now {
            return;
        }
        let mut kept = lock(&self.kept);
        kept.bytes = (kept.bytes + now).saturating_sub(before);
        let bytes = kept.bytes;
        if !kept.reservation.try_resize(bytes) {
            // Nothing else is published with it.
            self.is_full.store(true, Ordering::Relaxed);
        }
    }

    /// Groups what a part has, or what of it the memory takes.
    fn local(&self, worker: &mut Worker, number: usize, part: Part) -> Result<Local> {
        let mut local = Local::new(self.grouping);
        let mut operator = part()?;
        let mut bytes = 0;
        worker.batch.reset(self.width);
        while operator.next(&mut worker.batch)? > 0 {
            self.grouping.control.check()?;
            for argument in &mut worker.arguments {
                argument.compute(&worker.batch)?;
            }
            local.add(
                self.grouping,
                &worker.batch,
                &worker.arguments,
                &mut worker.groups,
            )?;
            let now = local.bytes();
            self.keep(bytes, now);
            bytes = now;
            if self.is_full() {
                lock(&self.left).push((number, operator));
                break;
            }
        }
        Ok(local)
    }

    fn pieces(&self, local: Local) -> Vec<Piece> {
        let bytes = local.bytes();
        let pieces = local.into_pieces(self.grouping);
        self.keep(bytes, pieces.iter().map(Piece::bytes).sum());
        pieces
    }
}

impl Exchange for Dividing<'_> {
    type Parts = Parts;
    type Part = Part;
    type Worker = Worker;
    type Piece = Piece;
    type State = State;

    fn worker(&self) -> Result<Worker> {
        Ok(Worker {
            arguments: self.grouping.arguments()?,
            batch: Batch::new(self.width),
            groups: Vec::new(),
        })
    }

    fn next_part(&self, parts: &mut Parts) -> Result<Option<Part>> {
        match parts {
            Parts::Known(parts) => Ok(parts.pop_front()),
            Parts::Cut(batches) => batches.next_part(self.width),
        }
    }

    fn compute(&self, worker: &mut Worker, number: usize, part: Part) -> Result<Vec<Piece>> {
        let local = self.local(worker, number, part)?;
        Ok(self.pieces(local))
    }

    fn take_up(&self, state: &mut State, piece: Piece) -> Result<()> {
        self.grouping.control.check()?;
        let before = state.bytes() + piece.bytes();
        let (width, count) = (self.grouping.keys.len(), self.grouping.aggregates.len());
        state.groups.text_bytes += piece.text_bytes;
        let mut aggregated = piece.aggregated.into_iter();
        for group in 0..piece.groups {
            let key = &piece.keys[group * width..][..width];
            let aggregated = aggregated.by_ref().take(count);
            state.groups.merge(self.grouping, key, aggregated);
        }
        for (set, rows) in state.distinct.iter_mut().zip(&piece.distinct) {
            for row in rows.chunks_exact(set.width().max(1)) {
                set.insert(row);
            }
        }
        self.keep(before, state.bytes());
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }
}

/// Adds values that count once: a part is what a partition has of them.
struct AddingDistinct<'a, 'b>(&'a Dividing<'b>);

impl Exchange for AddingDistinct<'_, '_> {
    type Parts = std::vec::IntoIter<Vec<RowSet>>;
    type Part = Vec<RowSet>;
    type Worker = ();
    type Piece = Piece;
    type State = State;

    fn worker(&self) -> Result<()> {
        Ok(())
    }

    fn next_part(&self, parts: &mut Self::Parts) -> Result<Option<Vec<RowSet>>> {
        Ok(parts.next())
    }

    fn compute(&self, (): &mut (), _: usize, part: Vec<RowSet>) -> Result<Vec<Piece>> {
        let grouping = self.0.grouping;
        let (width, count) = (grouping.keys.len(), grouping.aggregates.len());
        let mut local = Local::new(grouping);
        for (index, set) in grouping.distinct().zip(part) {
            let aggregate = &grouping.aggregates[index];
            let before = set.bytes();
            for (number, row) in set.iter().enumerate() {
                if number % TRIED_ROWS == 0 {
                    grouping.control.check()?;
                }
                let (key, value) = row.split_at(width);
                let group = local.group(grouping, key);
                let aggregated = &mut local.aggregated[group * count + index];
                if aggregate.expression.is_none() {
                    aggregated.add_row();
                } else {
                    let function = &aggregate.function;
                    let grown = aggregated.add(function, value[0], &grouping.terms)?;
                    local.text_bytes += grown as u64;
                }
            }
            drop(set);
            self.0.keep(before, 0);
        }
        self.0.keep(0, local.bytes());
        Ok(self.0.pieces(local))
    }

    fn take_up(&self, state: &mut State, piece: Piece) -> Result<()> {
        self.0.take_up(state, piece)
    }

    /// Groups are there already, so that what waits is all that comes to what is kept.
    fn is_full(&self) -> bool {
        false
    }
}
