//! `Sorter`: sorts rows by keys, in memory as long as they fit and else by merging sorted runs.
//!
//! Rows that compare equal stay in the sequence in which they came. At most [`FAN_IN`] runs are merged at once, in as many
//! passes as it takes. Where only the first rows are wanted the others are dropped now and then, so that about twice as
//! many are kept at most. Keys are stored beside the rows: merging looks no terms up.
//!
//! A sort notices within some thousand comparisons that the query was stopped: it sorts small pieces and merges them,
//! looking between.

use super::file::{Place, SpillFile};
use super::merge::Merge;
use super::run::{Run, block_rows};
use crate::error::Result;
use crate::exec::batch::Batch;
use crate::exec::control::Control;
use crate::exec::memory::Reservation;
use std::cmp::Ordering;
use std::sync::Arc;

/// Runs that are merged at once.
pub const FAN_IN: usize = 32;
/// Rows beyond the wanted ones that are kept before they are dropped.
const SPARE_ROWS: usize = 4_096;
/// Rows that are sorted, or merged, between two looks at whether the query was stopped.
const PIECE_ROWS: usize = 4_096;

/// A sort key that can be put into a file.
pub trait SortKey: Clone + Send {
    /// Appends its bytes.
    fn write(&self, bytes: &mut Vec<u8>);
    /// Takes a key from the front of `bytes`; `None` if there is none.
    fn read(bytes: &mut &[u8]) -> Option<Self>;
    /// Bytes that it takes besides its own size.
    fn heap_bytes(&self) -> usize;
}

impl SortKey for u64 {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let (key, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(Self::from_le_bytes(*key))
    }

    fn heap_bytes(&self) -> usize {
        0
    }
}

/// How rows are sorted.
pub trait RowOrder: Send {
    /// What is compared.
    type Key: SortKey;
    /// Keys of a row.
    fn keys(&self) -> usize;
    /// Compares the keys of two rows.
    fn compare(&self, left: &[Self::Key], right: &[Self::Key]) -> Ordering;
}

/// By one number.
pub struct ByNumber;

impl RowOrder for ByNumber {
    type Key = u64;

    fn keys(&self) -> usize {
        1
    }

    fn compare(&self, left: &[u64], right: &[u64]) -> Ordering {
        left.cmp(right)
    }
}

/// Sorts rows.
pub struct Sorter<O: RowOrder> {
    order: O,
    /// How many rows are wanted.
    limit: usize,
    control: Arc<Control>,
    reservation: Reservation,
    kept: Batch,
    /// Row by row.
    keys: Vec<O::Key>,
    key_heap_bytes: u64,
    /// The kept row that was the last of the wanted ones when rows were dropped, if nobody took note of it yet.
    last_wanted: Option<usize>,
    /// The runs so far, in one file.
    file: Option<SpillFile>,
    spilled: Vec<SpilledRun>,
}

struct SpilledRun {
    blocks: Vec<Place>,
    rows: u64,
}

impl<O: RowOrder> Sorter<O> {
    /// Sorts rows of `width` columns, of which `limit` are wanted.
    pub fn new(width: usize, order: O, limit: usize, control: &Arc<Control>) -> Self {
        Self {
            order,
            limit,
            reservation: Reservation::spilling(control.memory()),
            control: Arc::clone(control),
            kept: Batch::new(width),
            keys: Vec::new(),
            key_heap_bytes: 0,
            last_wanted: None,
            file: None,
            spilled: Vec::new(),
        }
    }

    /// Adds the rows of a batch with their keys, row by row, which it takes.
    ///
    /// # Errors
    /// If the query was stopped, or rows cannot be written.
    pub fn add(&mut self, batch: &Batch, keys: &mut Vec<O::Key>) -> Result<()> {
        self.control.check()?;
        self.key_heap_bytes += keys.iter().map(|key| key.heap_bytes() as u64).sum::<u64>();
        self.keys.append(keys);
        self.kept.append(batch, 0, batch.rows());
        if self.kept.rows() > self.limit.saturating_mul(2).saturating_add(SPARE_ROWS) {
            self.drop_rows()?;
        }
        // Row numbers are 32 bits.
        let is_full = self.kept.rows() > u32::MAX as usize / 2;
        if is_full || !self.reservation.try_resize(self.bytes()) {
            self.spill()?;
        }
        Ok(())
    }

    /// The last of the rows that are wanted so far, with its keys, if rows behind it were dropped since this was asked.
    pub fn take_last_wanted(&mut self) -> Option<(&Batch, usize, &[O::Key])> {
        let row = self.last_wanted.take()?;
        let width = self.order.keys();
        Some((&self.kept, row, &self.keys[row * width..][..width]))
    }

    fn bytes(&self) -> u64 {
        let keys = self.keys.capacity() * size_of::<O::Key>();
        // Two arrays of row numbers while they are sorted.
        self.kept.bytes() + keys as u64 + self.key_heap_bytes + 8 * self.kept.rows() as u64
    }

    /// The numbers of the wanted ones of the kept rows, sorted.
    fn sequence(&self) -> Result<Vec<u32>> {
        let width = self.order.keys();
        let row_keys = |row: u32| &self.keys[row as usize * width..][..width];
        let compare = |a: &u32, b: &u32| self.order.compare(row_keys(*a), row_keys(*b));
        let mut sequence = sorted_numbers(self.kept.rows() as u32, compare, &self.control)?;
        sequence.truncate(self.limit);
        Ok(sequence)
    }

    /// Drops all rows but the first ones.
    fn drop_rows(&mut self) -> Result<()> {
        // Ascending, so that rows that compare equal stay in sequence.
        let mut remaining = self.sequence()?;
        let last = remaining.last().copied();
        remaining.sort_unstable();
        self.last_wanted = last.and_then(|row| remaining.binary_search(&row).ok());
        let width = self.order.keys();
        for (to, from) in remaining.iter().enumerate() {
            for key in 0..width {
                self.keys
                    .swap(to * width + key, *from as usize * width + key);
            }
        }
        self.keys.truncate(remaining.len() * width);
        self.key_heap_bytes = self.keys.iter().map(|key| key.heap_bytes() as u64).sum();
        self.kept.select(&remaining);
        Ok(())
    }

    /// Makes the kept rows a run.
    fn spill(&mut self) -> Result<()> {
        if self.kept.rows() == 0 {
            return Ok(());
        }
        let sequence = self.sequence()?;
        let file = match self.file.take() {
            Some(file) => file,
            None => SpillFile::new(self.control.scratch())?,
        };
        let mut writer = RunBlocks::new(self.kept.width(), file, &self.control);
        let width = self.order.keys();
        for (count, row) in sequence.into_iter().enumerate() {
            if count % PIECE_ROWS == 0 {
                self.control.check()?;
            }
            let row = row as usize;
            writer.write(&self.kept, row, &self.keys[row * width..][..width])?;
        }
        let (file, run) = writer.finish()?;
        self.file = Some(file);
        self.spilled.push(run);
        // Their memory is given back too.
        self.kept = Batch::new(self.kept.width());
        self.keys = Vec::new();
        self.key_heap_bytes = 0;
        self.last_wanted = None;
        self.reservation.clear();
        Ok(())
    }

    /// The rows, sorted, once all were added.
    ///
    /// # Errors
    /// If the query was stopped, or rows cannot be written or read.
    pub fn finish(mut self) -> Result<Sorted<O>> {
        if self.spilled.is_empty() {
            return Ok(Sorted::Kept {
                sequence: self.sequence()?,
                rows: self.kept,
                at: 0,
                reservation: self.reservation,
            });
        }
        self.spill()?;
        let width = self.kept.width();
        let mut runs = runs_of(self.file.take(), std::mem::take(&mut self.spilled), width);
        while runs.len() > FAN_IN {
            let mut file = SpillFile::new(self.control.scratch())?;
            let mut longer = Vec::with_capacity(runs.len().div_ceil(FAN_IN));
            for some in runs.chunks(FAN_IN) {
                let mut merge = Merge::new(some, &self.order)?;
                let mut writer = RunBlocks::new(width, file, &self.control);
                while let Some((batch, row, keys)) = merge.first() {
                    if writer.rows as usize == self.limit {
                        break;
                    }
                    if writer.rows.is_multiple_of(PIECE_ROWS as u64) {
                        self.control.check()?;
                    }
                    writer.write(batch, row, keys)?;
                    merge.advance(&self.order)?;
                }
                let run;
                (file, run) = writer.finish()?;
                longer.push(run);
            }
            runs = runs_of(Some(file), longer, width);
        }
        Ok(Sorted::Spilled {
            merge: Merge::new(&runs, &self.order)?,
            order: self.order,
            left: self.limit,
        })
    }
}

fn runs_of(file: Option<SpillFile>, runs: Vec<SpilledRun>, width: usize) -> Vec<Run> {
    let Some(file) = file.map(Arc::new) else {
        return Vec::new();
    };
    runs.into_iter()
        .map(|run| Run::new(&file, run.blocks, run.rows, width))
        .collect()
}

/// The numbers below `count`, sorted; those that compare equal stay ascending.
///
/// # Errors
/// If the query was stopped.
pub fn sorted_numbers(
    count: u32,
    compare: impl Fn(&u32, &u32) -> Ordering + Copy,
    control: &Control,
) -> Result<Vec<u32>> {
    let mut sequence: Vec<u32> = (0..count).collect();
    for piece in sequence.chunks_mut(PIECE_ROWS) {
        control.check()?;
        piece.sort_by(compare);
    }
    let mut merged = Vec::new();
    let mut length = PIECE_ROWS;
    while length < sequence.len() {
        merged.clear();
        for pair in sequence.chunks(2 * length) {
            let (left, right) = pair.split_at(length.min(pair.len()));
            let are_in_sequence = match (left.last(), right.first()) {
                (Some(last), Some(first)) => compare(last, first).is_le(),
                _ => true,
            };
            if are_in_sequence {
                merged.extend_from_slice(pair);
            } else {
                merge_two(left, right, &mut merged, compare, control)?;
            }
        }
        std::mem::swap(&mut sequence, &mut merged);
        length *= 2;
    }
    Ok(sequence)
}

fn merge_two(
    mut left: &[u32],
    mut right: &[u32],
    merged: &mut Vec<u32>,
    compare: impl Fn(&u32, &u32) -> Ordering,
    control: &Control,
) -> Result<()> {
    while let ([first, ..], [second, ..]) = (left, right) {
        if merged.len().is_multiple_of(PIECE_ROWS) {
            control.check()?;
        }
        if compare(first, second).is_le() {
            merged.push(*first);
            left = &left[1..];
        } else {
            merged.push(*second);
            right = &right[1..];
        }
    }
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
    Ok(())
}

/// Writes the blocks of one run.
struct RunBlocks {
    file: SpillFile,
    blocks: Vec<Place>,
    rows: u64,
    buffer: Batch,
    keys: Vec<u8>,
    block_rows: usize,
    block_bytes: usize,
}

impl RunBlocks {
    fn new(width: usize, file: SpillFile, control: &Control) -> Self {
        Self {
            file,
            blocks: Vec::new(),
            rows: 0,
            buffer: Batch::new(width),
            keys: Vec::new(),
            block_rows: block_rows(width, control),
            block_bytes: control.memory().block_bytes(),
        }
    }

    fn write<K: SortKey>(&mut self, batch: &Batch, row: usize, keys: &[K]) -> Result<()> {
        self.buffer.append(batch, row, row + 1);
        for key in keys {
            key.write(&mut self.keys);
        }
        self.rows += 1;
        if self.buffer.rows() >= self.block_rows || self.keys.len() >= self.block_bytes {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let rows = self.buffer.rows();
        self.blocks
            .push(self.file.append(&self.buffer, 0..rows, &self.keys)?);
        self.buffer.clear();
        self.keys.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<(SpillFile, SpilledRun)> {
        if self.buffer.rows() > 0 {
            self.flush()?;
        }
        let run = SpilledRun {
            blocks: self.blocks,
            rows: self.rows,
        };
        Ok((self.file, run))
    }
}

/// Sorted rows.
pub enum Sorted<O: RowOrder> {
    /// In memory.
    Kept {
        /// The rows, as they came.
        rows: Batch,
        /// Their numbers, sorted.
        sequence: Vec<u32>,
        /// How many were given.
        at: usize,
        /// What they take.
        reservation: Reservation,
    },
    /// In files.
    Spilled {
        /// What merges them.
        merge: Merge<O::Key>,
        /// How they are compared.
        order: O,
        /// How many are still wanted.
        left: usize,
    },
}

impl<O: RowOrder> Sorted<O> {
    /// Appends the next rows to a batch, until it has `rows` of them.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn fill(&mut self, output: &mut Batch, most: usize) -> Result<()> {
        match self {
            Self::Kept {
                rows, sequence, at, ..
            } => {
                let end = sequence.len().min(*at + most.saturating_sub(output.rows()));
                output.append_rows(rows, &sequence[*at..end]);
                *at = end;
            }
            Self::Spilled { merge, order, left } => {
                while output.rows() < most && *left > 0 {
                    let Some((batch, row, _)) = merge.first() else {
                        break;
                    };
                    for column in 0..batch.width() {
                        let id = batch.column(column)[row];
                        output.column_mut(column).push(id);
                    }
                    output.set_rows(output.rows() + 1);
                    *left -= 1;
                    merge.advance(order)?;
                }
            }
        }
        Ok(())
    }
}
