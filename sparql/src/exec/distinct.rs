//! `Distinct` and `Adjacent`: each row once.
//!
//! `Distinct` remembers the rows that it gave. When they outgrow their memory no more are added: from then on a row
//! that is not among them is put into a part by its hash, and once the input has ended the parts are dealt with one after
//! the other in the same way.
//!
//! ```text
//! input -> not seen, memory left  -> seen, given at once
//!       -> seen                   -> dropped
//!       -> not seen, memory full  -> part of a file -> (input ended, seen forgotten) -> input of the next pass
//! ```
//!
//! Each pass gives at least the rows of one batch, so there is an end. Where the input's sequence must be kept the rows
//! that go to files are numbered, and what the later passes give is sorted by the numbers. Where it need not, rows that
//! several threads compute are told apart by them, as groups without aggregates ([`super::group::divided`]).

use super::batch::{Batch, compare_rows};
use super::control::Control;
use super::gather::Pipeline;
use super::group::divided::{Grouped, Grouping};
use super::memory::Reservation;
use super::operator::Operator;
use super::row_set::RowSet;
use super::spill::partition::Partitions;
use super::spill::run::Run;
use super::spill::sorter::{ByNumber, Sorted, Sorter};
use crate::error::Result;
use quadrille_store::TermId;
use roaring::{RoaringBitmap, RoaringTreemap};
use std::collections::VecDeque;
use std::sync::Arc;

/// Gives each row the first time it comes.
pub struct Distinct {
    input: Box<dyn Operator>,
    width: usize,
    control: Arc<Control>,
    reservation: Reservation,
    seen: Seen,
    selection: Vec<u32>,
    /// Where rows go that are not seen; there is one as soon as the memory is full.
    partitions: Option<Partitions>,
    /// Parts that are to be read, with how often their rows were divided.
    waiting: Vec<(Run, u32)>,
    /// How often the rows of the current input were divided.
    depth: u32,
    sequence: Sequence,
    /// A batch with a column for the rows' numbers.
    numbered: Batch,
    /// How rows are told apart on several threads, until that was done.
    grouping: Option<Grouping>,
    /// The rows that came of it, and how many of the first of these sets were given.
    told_apart: (VecDeque<RowSet>, usize),
}

/// How the input's sequence is kept.
enum Sequence {
    /// It is not.
    Free,
    /// Rows that go to files are numbered; this is the next number. What later passes give goes to the sorter.
    Numbered(u64, Option<Sorter<ByNumber>>),
    /// All passes are done.
    Sorted(Sorted<ByNumber>),
}

impl Distinct {
    /// Each row of `input`, which has `width` columns, once; in the input's sequence, if that is to be kept.
    pub fn new(
        input: Box<dyn Operator>,
        width: usize,
        keeps_sequence: bool,
        control: Arc<Control>,
    ) -> Self {
        Self {
            input,
            width,
            reservation: Reservation::spilling(control.memory()),
            control,
            seen: Seen::new(width),
            selection: Vec::new(),
            partitions: None,
            waiting: Vec::new(),
            depth: 0,
            sequence: if keeps_sequence {
                Sequence::Numbered(0, None)
            } else {
                Sequence::Free
            },
            numbered: Batch::new(width + 1),
            grouping: None,
            told_apart: (VecDeque::new(), 0),
        }
    }

    /// The same where rows that several threads compute are told apart by them; their keys are all columns. For rows whose
    /// sequence is free.
    #[must_use]
    pub fn dividing(mut self, grouping: Grouping) -> Self {
        debug_assert_eq!(grouping.keys.len(), self.width);
        if matches!(self.sequence, Sequence::Free) && self.width > 0 {
            self.grouping = Some(grouping);
        }
        self
    }

    /// Tells the rows of a pipeline apart on its threads.
    fn tell_apart(&mut self, grouping: &Grouping, pipeline: Pipeline) -> Result<()> {
        let Grouped { groups, rest } = grouping.group(pipeline)?;
        let sets: VecDeque<RowSet> = groups.into_iter().map(|groups| groups.keys).collect();
        let mut bytes: u64 = sets.iter().map(RowSet::bytes).sum();
        if let Some(rest) = rest {
            self.input = rest.rows;
            for row in sets.iter().flat_map(RowSet::iter) {
                self.seen.insert_row(row);
            }
            bytes += self.seen.bytes();
        }
        if !self.reservation.try_resize(bytes) {
            // They are there; but no more are kept.
            self.reservation.clear();
            let columns = (0..self.width).collect();
            let partitions = Partitions::new(self.width, columns, self.depth, &self.control)?;
            self.partitions = Some(partitions);
        }
        self.told_apart = (sets, 0);
        Ok(())
    }

    /// Gives rows that were told apart on several threads; `false` if there are none.
    fn give_told_apart(&mut self, output: &mut Batch) -> bool {
        let (sets, given) = &mut self.told_apart;
        while let Some(set) = sets.front() {
            let end = set.len().min(*given + self.control.batch_rows());
            if *given < end {
                set.append_to(*given..end, output);
                output.set_rows(end - *given);
                *given = end;
                return true;
            }
            sets.pop_front();
            *given = 0;
        }
        false
    }

    /// Columns of rows in files.
    fn spilled_width(&self) -> usize {
        match self.sequence {
            Sequence::Free => self.width,
            Sequence::Numbered(..) | Sequence::Sorted(_) => self.width + 1,
        }
    }

    /// Selects the rows of a batch that are new and may be given; puts aside those of which it is not known yet.
    fn select(&mut self, batch: &Batch) -> Result<()> {
        self.selection.clear();
        for row in 0..batch.rows() {
            if let Some(partitions) = &mut self.partitions {
                if !self.seen.contains(batch, row) {
                    partitions.add(batch, row)?;
                }
            } else if self.seen.insert(batch, row) {
                self.selection.push(row as u32);
            }
        }
        if self.partitions.is_none() && !self.reservation.try_resize(self.seen.bytes()) {
            let columns = (0..self.width).collect();
            self.partitions = Some(Partitions::new(
                self.spilled_width(),
                columns,
                self.depth,
                &self.control,
            )?);
        }
        Ok(())
    }

    /// Ends a pass and begins the next one; `false` if there is none.
    fn next_pass(&mut self) -> Result<bool> {
        if let Some(partitions) = self.partitions.take() {
            let runs = partitions.finish()?.into_iter();
            let runs = runs.filter(|run| run.rows() > 0);
            self.waiting.extend(runs.map(|run| (run, self.depth + 1)));
        }
        self.seen = Seen::new(self.width);
        self.reservation.clear();
        let Some((run, depth)) = self.waiting.pop() else {
            return Ok(false);
        };
        self.input = Box::new(run.read(&self.control));
        self.depth = depth;
        if let Sequence::Numbered(_, sorter @ None) = &mut self.sequence {
            *sorter = Some(Sorter::new(self.width, ByNumber, usize::MAX, &self.control));
        }
        Ok(true)
    }

    /// Reads a batch and leaves those of its rows that are given at once; `false` at the end of the input.
    fn give(&mut self, output: &mut Batch) -> Result<bool> {
        if self.seen.is_complete() || self.input.next(output)? == 0 {
            return Ok(false);
        }
        if matches!(self.sequence, Sequence::Free) {
            self.select(output)?;
            output.select(&self.selection);
            return Ok(true);
        }
        let mut numbered = std::mem::take(&mut self.numbered);
        numbered.reset(self.width + 1);
        if let Sequence::Numbered(next, _) = &mut self.sequence {
            for column in 0..self.width {
                numbered.swap_column(column, output, column);
            }
            let rows = output.rows();
            let numbers = (*next..*next + rows as u64).map(TermId::from_bits);
            numbered.column_mut(self.width).extend(numbers);
            numbered.set_rows(rows);
            *next += rows as u64;
        }
        self.select(&numbered)?;
        numbered.select(&self.selection);
        output.clear();
        for column in 0..self.width {
            output.swap_column(column, &mut numbered, column);
        }
        output.set_rows(numbered.rows());
        self.numbered = numbered;
        Ok(true)
    }

    /// Reads a batch whose rows are sorted before they are given; `false` at the end of the input.
    fn sort(&mut self) -> Result<bool> {
        let mut numbered = std::mem::take(&mut self.numbered);
        numbered.reset(self.width + 1);
        if self.input.next(&mut numbered)? == 0 {
            self.numbered = numbered;
            return Ok(false);
        }
        self.select(&numbered)?;
        numbered.select(&self.selection);
        if let Sequence::Numbered(_, Some(sorter)) = &mut self.sequence {
            let numbers = numbered.column(self.width).iter();
            let mut keys: Vec<u64> = numbers.map(|number| number.bits()).collect();
            let mut rows = Batch::new(self.width);
            for column in 0..self.width {
                rows.swap_column(column, &mut numbered, column);
            }
            rows.set_rows(keys.len());
            sorter.add(&rows, &mut keys)?;
        }
        self.numbered = numbered;
        Ok(true)
    }
}

impl Operator for Distinct {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        if let Some(grouping) = self.grouping.take()
            && let Some(pipeline) = self.input.take_pipeline()?
        {
            self.tell_apart(&grouping, pipeline)?;
        }
        loop {
            self.control.check()?;
            output.clear();
            if self.give_told_apart(output) {
                return Ok(output.rows());
            }
            match &mut self.sequence {
                Sequence::Sorted(sorted) => {
                    sorted.fill(output, self.control.batch_rows())?;
                    return Ok(output.rows());
                }
                Sequence::Numbered(_, Some(_)) => {
                    if self.sort()? {
                        continue;
                    }
                }
                Sequence::Free | Sequence::Numbered(_, None) => {
                    if self.give(output)? {
                        if output.rows() > 0 {
                            return Ok(output.rows());
                        }
                        continue;
                    }
                }
            }
            output.clear();
            if self.seen.is_complete() {
                return Ok(0);
            }
            if !self.next_pass()? {
                let sequence = std::mem::replace(&mut self.sequence, Sequence::Free);
                let Sequence::Numbered(_, Some(sorter)) = sequence else {
                    self.input = Box::new(super::operator::Constant::empty());
                    return Ok(0);
                };
                self.sequence = Sequence::Sorted(sorter.finish()?);
            }
        }
    }
}

/// The rows given so far.
enum Seen {
    /// There are no columns: whether the only row was given.
    Nothing(bool),
    /// Of one column, a set of ids. Ordinals of one kind lie close together, so that a bitmap takes a bit or two for
    /// an id where a table of rows takes twenty bytes.
    Ids(IdSet),
    /// Of several columns, a table of rows.
    Rows(RowSet, Vec<TermId>),
}

impl Seen {
    fn new(width: usize) -> Self {
        match width {
            0 => Self::Nothing(false),
            1 => Self::Ids(IdSet::default()),
            _ => Self::Rows(RowSet::new(width), vec![TermId::UNBOUND; width]),
        }
    }

    /// Whether no further row can be new.
    fn is_complete(&self) -> bool {
        matches!(self, Self::Nothing(true))
    }

    fn bytes(&mut self) -> u64 {
        match self {
            Self::Nothing(_) => 0,
            Self::Ids(ids) => ids.bytes(),
            Self::Rows(rows, _) => rows.bytes(),
        }
    }

    /// Whether a row is seen for the first time.
    fn insert(&mut self, batch: &Batch, row: usize) -> bool {
        match self {
            Self::Nothing(given) => !std::mem::replace(given, true),
            Self::Ids(ids) => ids.insert(batch.column(0)[row]),
            Self::Rows(rows, buffer) => {
                copy_row(batch, row, buffer);
                rows.insert(buffer).1
            }
        }
    }

    /// The same for a row whose ids lie one behind the other.
    fn insert_row(&mut self, row: &[TermId]) -> bool {
        match (self, row) {
            (Self::Nothing(given), _) => !std::mem::replace(given, true),
            (Self::Ids(ids), [id]) => ids.insert(*id),
            (Self::Ids(_), _) => unreachable!("a row of one column"),
            (Self::Rows(rows, _), row) => rows.insert(row).1,
        }
    }

    fn contains(&mut self, batch: &Batch, row: usize) -> bool {
        match self {
            Self::Nothing(given) => *given,
            Self::Ids(ids) => ids.ids.contains(batch.column(0)[row].bits()),
            Self::Rows(rows, buffer) => {
                copy_row(batch, row, buffer);
                rows.find(buffer).is_some()
            }
        }
    }
}

fn copy_row(batch: &Batch, row: usize, buffer: &mut [TermId]) {
    for (column, id) in buffer.iter_mut().enumerate() {
        *id = batch.column(column)[row];
    }
}

/// A set of ids that knows about how much memory it takes.
#[derive(Default)]
struct IdSet {
    ids: RoaringTreemap,
    count: u64,
    /// What it took when it was last measured, and how many ids it had.
    measured: (u64, u64),
}

impl IdSet {
    fn insert(&mut self, id: TermId) -> bool {
        let is_new = self.ids.insert(id.bits());
        self.count += u64::from(is_new);
        is_new
    }

    /// What the bitmaps take is measured when their number of ids has grown by an eighth.
    fn bytes(&mut self) -> u64 {
        /// About what a node of the tree takes for one bitmap, and what a bitmap takes for one container.
        const BITMAP_BYTES: u64 = 64;
        const CONTAINER_BYTES: u64 = 40;
        let (bytes, count) = self.measured;
        let now = self.count;
        if now > count + count / 8 {
            let of_bitmap = |bitmap: &RoaringBitmap| {
                let statistics = bitmap.statistics();
                BITMAP_BYTES
                    + CONTAINER_BYTES * u64::from(statistics.n_containers)
                    + statistics.n_bytes_array_containers
                    + statistics.n_bytes_run_containers
                    + statistics.n_bytes_bitset_containers
            };
            let bytes = self
                .ids
                .bitmaps()
                .map(|(_, bitmap)| of_bitmap(bitmap))
                .sum();
            self.measured = (bytes, now);
            return bytes;
        }
        bytes
    }
}
/// Leaves out rows that are the same as the one before. Where equal rows stand together, that is each row once.
pub struct Adjacent {
    input: Box<dyn Operator>,
    columns: Vec<usize>,
    last: Batch,
    selection: Vec<u32>,
}

impl Adjacent {
    /// The rows of `input`, which has `width` columns, without immediate repetitions.
    pub fn new(input: Box<dyn Operator>, width: usize) -> Self {
        Self {
            input,
            columns: (0..width).collect(),
            last: Batch::new(width),
            selection: Vec::new(),
        }
    }
}

impl Operator for Adjacent {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        loop {
            if self.input.next(output)? == 0 {
                return Ok(0);
            }
            let columns = &self.columns;
            let rows = output.rows();
            self.selection.clear();
            let repeats_last = self.last.rows() > 0
                && compare_rows(&self.last, columns, 0, output, columns, 0).is_eq();
            if !repeats_last {
                self.selection.push(0);
            }
            self.selection.extend((1..rows as u32).filter(|row| {
                let row = *row as usize;
                compare_rows(output, columns, row - 1, output, columns, row).is_ne()
            }));
            self.last.clear();
            self.last.append(output, rows - 1, rows);
            output.select(&self.selection);
            if output.rows() > 0 {
                return Ok(output.rows());
            }
        }
    }

    fn skip_to(&mut self, key: &[TermId]) -> Result<()> {
        self.input.skip_to(key)
    }
}
