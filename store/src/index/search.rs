//! Finding a row: binary search over the directory, over the first values of a block's mini-blocks, and
//! inside one mini-block, of which only the columns that the key reaches are unpacked.
//!
//! A [`Window`] remembers the block that it looked at last and what it unpacked of it, so that a search
//! near the one before costs little. A thread keeps some windows, each with its block; a search that goes to a block
//! which one of them has takes that window in exchange for its own: what a planner counts is what is read then.

use super::block::Block;
use super::directory::Row;
use super::reader::Inner;
use super::{BLOCK_ROWS, COLUMNS_MAX};
use crate::codec::{MINI_BLOCK_ROWS, Malformed, SLACK_BYTES};
use crate::error::{Result, StoreError};
use std::cell::RefCell;
use std::ops::{Deref, DerefMut, Range, RangeInclusive};

/// Mini-blocks of a full block.
const MINI_BLOCKS: usize = BLOCK_ROWS / MINI_BLOCK_ROWS;
/// No block, or no mini-block.
const NONE: usize = usize::MAX;

/// How many of the numbers in `range` have `before`, which must hold for those in front and for none
/// behind; the result counts from 0, as the range does. The first probe is the `step`th number of the
/// range, the next ones go farther on in steps that double: 1 where the answer is probably near the front.
pub fn partition_point(
    range: Range<u64>,
    step: u64,
    mut before: impl FnMut(u64) -> Result<bool>,
) -> Result<u64> {
    let (mut low, mut high) = (range.start, range.end);
    let mut step = step.max(1);
    while low < high {
        let probe = low.saturating_add(step - 1).min(high - 1);
        if before(probe)? {
            low = probe + 1;
            step = step.saturating_mul(2);
        } else {
            high = probe;
            break;
        }
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle)? {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// Which end of the rows that begin with a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The first row that is not before the key.
    Lower,
    /// The first row that is behind all rows beginning with the key.
    Upper,
}

/// The first columns of a row, as files compare them.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    values: Row,
    columns: usize,
}

impl Key {
    /// A key of the first `columns` columns.
    pub fn new(values: Row, columns: usize) -> Self {
        debug_assert!(columns <= COLUMNS_MAX);
        Self { values, columns }
    }

    /// The values.
    pub fn values(&self) -> &[u64] {
        &self.values[..self.columns]
    }

    /// Whether a row lies in front of the sought place; only those of its values that decide are fetched.
    #[inline]
    fn is_behind(&self, side: Side, mut value: impl FnMut(usize) -> Result<u64>) -> Result<bool> {
        for (column, key) in self.values().iter().enumerate() {
            let value = value(column)?;
            if value != *key {
                return Ok(value < *key);
            }
        }
        Ok(side == Side::Upper)
    }

    /// The same of a whole row.
    #[inline]
    fn is_behind_row(&self, side: Side, row: &Row) -> bool {
        matches!(self.is_behind(side, |column| Ok(row[column])), Ok(true))
    }
}

/// A block of a file with what was unpacked of it.
pub struct Window {
    /// The file, by [`Inner::serial`].
    file: u64,
    number: u64,
    range: Range<u64>,
    block: Block,
    /// For each column the mini-block that is unpacked in `values`, or [`NONE`].
    unpacked: [usize; COLUMNS_MAX],
    values: [[u64; MINI_BLOCK_ROWS]; COLUMNS_MAX],
}

/// Windows that a thread keeps: making one costs more than a search.
const WINDOWS_KEPT: usize = 32;

thread_local! {
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// A window that nobody uses, and the block that it has. Those given back last are behind.
struct Kept {
    file: u64,
    number: u64,
    window: Box<Window>,
}

impl Kept {
    fn new(window: Box<Window>) -> Self {
        Self {
            file: window.file,
            number: window.number,
            window,
        }
    }
}

/// A window that goes back to its thread's kept ones when it is dropped.
pub struct KeptWindow(Option<Box<Window>>);

impl KeptWindow {
    /// A window for searches in a file: the one that was there last, if the thread has any.
    pub fn of(inner: &Inner) -> Self {
        let take = |kept: &RefCell<Vec<Kept>>| {
            let mut kept = kept.borrow_mut();
            match kept.iter().rposition(|kept| kept.file == inner.serial) {
                Some(place) => Some(kept.remove(place)),
                None if kept.len() == WINDOWS_KEPT => Some(kept.remove(0)),
                None => None,
            }
        };
        // A thread that ends just now keeps nothing.
        let kept = KEPT.try_with(take).ok().flatten();
        let mut window = kept.map_or_else(Box::default, |kept| kept.window);
        if window.file != inner.serial {
            window.file = inner.serial;
            window.number = u64::MAX;
        }
        Self(Some(window))
    }

    /// The number of the sought row among `rows`: their end, if it is not before that.
    pub fn find(
        &mut self,
        inner: &Inner,
        rows: Range<u64>,
        key: &Key,
        side: Side,
        near: bool,
    ) -> Result<u64> {
        if rows.is_empty() {
            return Ok(rows.end);
        }
        let first_block = rows.start / BLOCK_ROWS as u64;
        let last_block = (rows.end - 1) / BLOCK_ROWS as u64;
        let step = |length: u64| if near { 1 } else { length / 2 };
        let number = if self.is_loaded_with(inner, first_block..=last_block, key, side)? {
            self.number
        } else {
            inner.directory.partition_point(
                &inner.file,
                first_block + 1..last_block + 1,
                step(last_block - first_block),
                |row| key.is_behind_row(side, row),
            )? - 1
        };
        self.jump(inner, number)?;
        let same_block = number == first_block;
        let skipped = if same_block {
            (rows.start % BLOCK_ROWS as u64) as usize
        } else {
            0
        };
        let first_mini_block = skipped / MINI_BLOCK_ROWS;
        let mini_blocks = self.rows().div_ceil(MINI_BLOCK_ROWS);
        debug_assert!(mini_blocks <= MINI_BLOCKS);
        let mini_block = partition_point(
            first_mini_block as u64 + 1..mini_blocks as u64,
            if same_block {
                step(mini_blocks as u64)
            } else {
                mini_blocks as u64 / 2
            },
            |mini_block| {
                key.is_behind(side, |column| {
                    self.first(inner, column, mini_block as usize)
                })
            },
        )? - 1;
        let skipped = if mini_block == first_mini_block as u64 {
            skipped % MINI_BLOCK_ROWS
        } else {
            0
        };
        let place = self.find_in(inner, mini_block as usize, skipped, key, side)?;
        let row = number * BLOCK_ROWS as u64 + mini_block * MINI_BLOCK_ROWS as u64 + place as u64;
        Ok(row.min(rows.end))
    }

    /// Moves to a block where a search ended, which may be anywhere: to the kept window that has it, or else the own one
    /// is kept as it is and the one that was not used for longest takes its place.
    #[inline]
    fn jump(&mut self, inner: &Inner, number: u64) -> Result<()> {
        if self.number != number {
            self.exchange(inner, number);
        }
        self.load(inner, number)
    }

    fn exchange(&mut self, inner: &Inner, number: u64) {
        let own = &mut self.0;
        let exchange = |kept: &RefCell<Vec<Kept>>| {
            let mut kept = kept.borrow_mut();
            let same = |kept: &Kept| kept.file == inner.serial && kept.number == number;
            let place = match kept.iter().rposition(same) {
                Some(place) => place,
                // Nothing is lost with the own one.
                None if own.as_ref().is_none_or(|own| own.number == u64::MAX) => return,
                None if kept.len() == WINDOWS_KEPT => 0,
                None => {
                    kept.extend(own.replace(Box::default()).map(Kept::new));
                    return;
                }
            };
            let taken = kept.remove(place).window;
            kept.extend(own.replace(taken).map(Kept::new));
        };
        // A thread that ends just now reads the block anew.
        let _ = KEPT.try_with(exchange);
        if self.file != inner.serial {
            self.file = inner.serial;
            self.number = u64::MAX;
        }
    }
}

impl Drop for KeptWindow {
    fn drop(&mut self) {
        // Without a thread's memory (it ends just now) the window is simply freed.
        let _ = KEPT.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            if kept.len() < WINDOWS_KEPT {
                kept.extend(self.0.take().map(Kept::new));
            }
        });
    }
}

impl Deref for KeptWindow {
    type Target = Window;

    fn deref(&self) -> &Window {
        self.0.as_ref().expect("taken by drop alone")
    }
}

impl DerefMut for KeptWindow {
    fn deref_mut(&mut self) -> &mut Window {
        self.0.as_mut().expect("taken by drop alone")
    }
}

impl Default for Window {
    fn default() -> Self {
        Self {
            file: u64::MAX,
            number: u64::MAX,
            range: 0..0,
            block: Block::default(),
            unpacked: [NONE; COLUMNS_MAX],
            values: [[0; MINI_BLOCK_ROWS]; COLUMNS_MAX],
        }
    }
}

impl Window {
    /// Moves to a block, unless it is there.
    #[inline]
    pub fn load(&mut self, inner: &Inner, number: u64) -> Result<()> {
        if self.number == number {
            return Ok(());
        }
        self.read(inner, number)
    }

    fn read(&mut self, inner: &Inner, number: u64) -> Result<()> {
        self.number = u64::MAX;
        self.unpacked = [NONE; COLUMNS_MAX];
        let first = inner.directory.first_row(&inner.file, number)?;
        self.range = inner.directory.block(&inner.file, number)?;
        let rows = inner.directory.rows(number);
        let length = (self.range.end - self.range.start) as usize;
        let bytes = bytes(inner, &self.range)?;
        self.block
            .read(bytes, length, rows, inner.order, &first)
            .map_err(|malformed| damaged(inner, &self.range, malformed))?;
        self.number = number;
        Ok(())
    }

    /// Rows of the block.
    pub fn rows(&self) -> usize {
        self.block.rows()
    }

    /// The one value of a column of this block, if it has only one.
    #[inline]
    pub fn constant(&self, column: usize) -> Option<u64> {
        self.block.constant(column)
    }

    /// The values of a mini-block of a column.
    #[inline]
    pub fn column(&mut self, inner: &Inner, column: usize, mini_block: usize) -> Result<&[u64]> {
        let rows = self.block.mini_block_rows(mini_block);
        if self.unpacked[column] != mini_block {
            self.unpacked[column] = NONE;
            let bytes = bytes(inner, &self.range)?;
            self.block
                .decode(bytes, column, mini_block, &mut self.values[column][..rows])
                .map_err(|malformed| damaged(inner, &self.range, malformed))?;
            self.unpacked[column] = mini_block;
        }
        Ok(&self.values[column][..rows])
    }

    /// A column's value in the first row of a mini-block.
    #[inline]
    pub fn first(&mut self, inner: &Inner, column: usize, mini_block: usize) -> Result<u64> {
        if self.unpacked[column] == mini_block {
            return Ok(self.values[column][0]);
        }
        let bytes = bytes(inner, &self.range)?;
        self.block
            .first(bytes, column, mini_block)
            .map_err(|malformed| damaged(inner, &self.range, malformed))
    }

    /// Whether the window is at the block among some that has the sought row: it is where the search before ended.
    fn is_loaded_with(
        &self,
        inner: &Inner,
        blocks: RangeInclusive<u64>,
        key: &Key,
        side: Side,
    ) -> Result<bool> {
        let is_behind = |number| {
            let row = inner.directory.first_row(&inner.file, number)?;
            Ok::<_, StoreError>(key.is_behind_row(side, &row))
        };
        Ok(blocks.contains(&self.number)
            && (self.number == *blocks.start() || is_behind(self.number)?)
            && (self.number == *blocks.end() || !is_behind(self.number + 1)?))
    }

    /// The sought place among the rows of a mini-block from `skipped` on.
    fn find_in(
        &mut self,
        inner: &Inner,
        mini_block: usize,
        skipped: usize,
        key: &Key,
        side: Side,
    ) -> Result<usize> {
        let mut low = skipped;
        let mut high = self.block.mini_block_rows(mini_block);
        for (column, key) in key.values().iter().enumerate() {
            let values = self.column(inner, column, mini_block)?;
            low += values[low..high].partition_point(|value| value < key);
            high = low + values[low..high].partition_point(|value| value == key);
            if low == high {
                return Ok(low);
            }
        }
        Ok(match side {
            Side::Lower => low,
            Side::Upper => high,
        })
    }
}

/// The bytes of a block and the slack behind it.
#[inline]
fn bytes<'a>(inner: &'a Inner, range: &Range<u64>) -> Result<&'a [u8]> {
    inner
        .file
        .bytes(range.start..range.end + SLACK_BYTES as u64)
}

#[cold]
fn damaged(inner: &Inner, range: &Range<u64>, malformed: Malformed) -> StoreError {
    inner.file.damaged(range.start, malformed.0)
}
