//! A block of an order's file: up to [`BLOCK_ROWS`](super::BLOCK_ROWS) rows, column by column.
//!
//! # Byte map
//!
//! ```text
//! heads      4 bytes a column: codec, 1 byte | length of the column in bytes, 3 bytes
//! columns    one behind the other
//!
//! codec 0    constant: every value is the column's origin; no bytes
//! codec 1    mini-blocks, see [`crate::codec::column`]
//! codec 2    ranks by code: ranks - 1, 1 byte | array of the ranks that occur, ascending, base = origin |
//!            mini-blocks of codes (places in that array), their origin is 0
//! codec 3    by predicate, see [`crate::codec::by_predicate`]
//! ```
//!
//! A column's *origin* is its value in the block's first row, which the directory holds. Codec 2 is for
//! the predicate column alone; codec 3 is for the other columns of a block whose predicates have codes.

use super::COLUMNS_MAX;
use super::directory::Row;
use crate::codec::by_predicate::{self, ByPredicate, ByPredicateEncoder, Entry, States};
use crate::codec::column::{ColumnEncoder, MiniBlocks};
use crate::codec::packed::PackedArray;
use crate::codec::{Decoded, MINI_BLOCK_ROWS, Malformed};
use crate::quad::{Order, Position};

/// Bytes of a column's head.
const HEAD_BYTES: usize = 4;
/// The most distinct predicates that a block may have for them to get codes.
const CODES_MAX: usize = 256;

/// How a column of a block is stored; the numbers are part of the format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Codec {
    /// One value.
    Constant = 0,
    /// Mini-blocks.
    MiniBlocks = 1,
    /// Mini-blocks of codes of predicates.
    Codes = 2,
    /// Frames by predicate.
    ByPredicate = 3,
}

impl Codec {
    /// Every codec, by number.
    pub const ALL: [Self; 4] = [
        Self::Constant,
        Self::MiniBlocks,
        Self::Codes,
        Self::ByPredicate,
    ];

    /// What reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::MiniBlocks => "mini-blocks",
            Self::Codes => "codes",
            Self::ByPredicate => "by predicate",
        }
    }
}

/// What a column of a block became.
#[derive(Clone, Copy, Debug)]
pub struct EncodedColumn {
    /// How it is stored.
    pub codec: Codec,
    /// Bytes, its head included.
    pub bytes: usize,
}

/// Writes blocks; keeps its scratch memory.
pub struct BlockEncoder {
    predicate_column: usize,
    columns: ColumnEncoder,
    by_predicate: ByPredicateEncoder,
    codes: Codes,
}

impl BlockEncoder {
    /// An encoder for an order of a segment with so many predicates.
    pub fn new(order: Order, predicates: usize) -> Self {
        Self {
            predicate_column: predicate_column(order),
            columns: ColumnEncoder::default(),
            by_predicate: ByPredicateEncoder::default(),
            codes: Codes::new(predicates),
        }
    }

    /// Appends a block of at least one row.
    ///
    /// # Panics
    /// If a rank is not below the number of predicates.
    pub fn encode(
        &mut self,
        columns: &[&[u64]],
        out: &mut Vec<u8>,
    ) -> [Option<EncodedColumn>; COLUMNS_MAX] {
        let heads = out.len();
        out.resize(heads + columns.len() * HEAD_BYTES, 0);
        let coded = self.codes.collect(columns[self.predicate_column]);
        let mut encoded = [None; COLUMNS_MAX];
        for (column, values) in columns.iter().enumerate() {
            let before = out.len();
            let codec = if values.iter().all(|value| *value == values[0]) {
                Codec::Constant
            } else if column == self.predicate_column && coded {
                self.codes.write_ranks(values[0], out);
                self.columns.encode(&self.codes.of_rows, 0, out);
                Codec::Codes
            } else if column > 0 && coded && self.is_smaller_by_predicate(values) {
                self.by_predicate.write(values, &self.codes.of_rows, out);
                Codec::ByPredicate
            } else {
                self.columns.encode(values, values[0], out);
                Codec::MiniBlocks
            };
            let bytes = out.len() - before;
            let head = (bytes as u32) << 8 | codec as u32;
            let at = heads + column * HEAD_BYTES;
            out[at..at + HEAD_BYTES].copy_from_slice(&head.to_le_bytes());
            encoded[column] = Some(EncodedColumn {
                codec,
                bytes: bytes + HEAD_BYTES,
            });
        }
        encoded
    }

    /// Whether a column, as far as a plan and a sample can say, takes fewer bytes by predicate than in
    /// mini-blocks.
    fn is_smaller_by_predicate(&mut self, values: &[u64]) -> bool {
        let codes = &self.codes;
        let count = codes.ranks.len();
        if !(2..=by_predicate::CODES_MAX).contains(&count) {
            return false;
        }
        let by_predicate = self.by_predicate.plan(values, &codes.of_rows, count);
        by_predicate < self.columns.estimate(values)
    }
}

fn predicate_column(order: Order) -> usize {
    order
        .column_of(Position::Predicate)
        .expect("every order has a predicate column")
}

/// The predicates of a block, numbered by rank.
struct Codes {
    /// For each rank its code in this block, or `NONE`.
    of_ranks: Vec<u16>,
    /// The ranks that occur, ascending.
    ranks: Vec<u64>,
    /// The rows' codes.
    of_rows: Vec<u64>,
}

impl Codes {
    const NONE: u16 = u16::MAX;

    fn new(predicates: usize) -> Self {
        Self {
            of_ranks: vec![Self::NONE; predicates],
            ranks: Vec::new(),
            of_rows: Vec::new(),
        }
    }

    /// Numbers the ranks of a block; false if there is only one, or if there are too many.
    fn collect(&mut self, ranks: &[u64]) -> bool {
        if ranks.iter().all(|rank| *rank == ranks[0]) {
            assert!(
                (ranks[0] as usize) < self.of_ranks.len(),
                "no such predicate"
            );
            return false;
        }
        for rank in self.ranks.drain(..) {
            self.of_ranks[rank as usize] = Self::NONE;
        }
        for rank in ranks {
            let code = &mut self.of_ranks[*rank as usize];
            if *code == Self::NONE {
                if self.ranks.len() == CODES_MAX {
                    return false;
                }
                *code = 0;
                self.ranks.push(*rank);
            }
        }
        self.ranks.sort_unstable();
        for (code, rank) in self.ranks.iter().enumerate() {
            self.of_ranks[*rank as usize] = code as u16;
        }
        self.of_rows.clear();
        self.of_rows.extend(
            ranks
                .iter()
                .map(|rank| u64::from(self.of_ranks[*rank as usize])),
        );
        true
    }

    fn write_ranks(&self, origin: u64, out: &mut Vec<u8>) {
        out.push((self.ranks.len() - 1) as u8);
        PackedArray::write(&mut self.ranks.clone(), origin, out);
    }
}

/// A column of a block, ready to read.
#[derive(Clone, Copy, Debug)]
enum Column {
    Constant(u64),
    /// A column that nobody asked for yet, and where it lies in the block.
    Unread(Codec, usize, usize),
    MiniBlocks(MiniBlocks),
    Codes(MiniBlocks),
    /// A column by predicate, and where its table begins in the block's tables.
    ByPredicate(ByPredicate, usize),
}

/// The heads of a block; the block's bytes are kept by the caller and given to every function.
#[derive(Clone, Debug)]
pub struct Block {
    rows: usize,
    predicate_column: usize,
    columns: [Column; COLUMNS_MAX],
    /// The columns' values in the first row.
    origins: Row,
    /// The ranks of the block's predicates by code, where they have codes.
    ranks: Vec<u64>,
    /// The tables of the columns by predicate, one behind the other.
    tables: Vec<Entry>,
    /// The codes of a mini-block's rows.
    codes: [u64; MINI_BLOCK_ROWS],
    /// The mini-block whose codes these are, or `usize::MAX`.
    codes_of: usize,
    states: States,
}

impl Default for Block {
    fn default() -> Self {
        Self {
            rows: 0,
            predicate_column: 0,
            columns: [Column::Constant(0); COLUMNS_MAX],
            origins: Row::default(),
            ranks: Vec::new(),
            tables: Vec::new(),
            codes: [0; MINI_BLOCK_ROWS],
            codes_of: usize::MAX,
            states: States::default(),
        }
    }
}

impl Block {
    /// Reads the heads of a block of `rows` rows that takes the first `length` of `bytes`; the slack follows.
    pub fn read(
        &mut self,
        bytes: &[u8],
        length: usize,
        rows: usize,
        order: Order,
        first: &Row,
    ) -> Decoded<()> {
        let count = order.columns().len();
        let predicate_column = predicate_column(order);
        self.predicate_column = predicate_column;
        self.rows = rows;
        self.ranks.clear();
        self.tables.clear();
        self.codes_of = usize::MAX;
        let mut start = count * HEAD_BYTES;
        self.origins = *first;
        for (column, origin) in first.iter().enumerate().take(count) {
            let head = bytes
                .get(column * HEAD_BYTES..)
                .and_then(|bytes| bytes.first_chunk::<HEAD_BYTES>())
                .ok_or(Malformed("a block ends early"))?;
            let head = u32::from_le_bytes(*head);
            let end = start + (head >> 8) as usize;
            if end > length {
                return Err(Malformed("a column behind the end of its block"));
            }
            self.columns[column] = match Codec::ALL.get((head & 0xff) as usize) {
                Some(Codec::Constant) => Column::Constant(*origin),
                Some(codec) => Column::Unread(*codec, start, end),
                None => return Err(Malformed("a column of an unknown codec")),
            };
            start = end;
        }
        if start == length {
            Ok(())
        } else {
            Err(Malformed("a block longer than its columns"))
        }
    }

    /// Reads the heads of a column, if that was not done yet: a search needs few of them.
    #[inline]
    fn prepare(&mut self, bytes: &[u8], column: usize) -> Decoded<()> {
        match self.columns[column] {
            Column::Unread(codec, start, end) => {
                self.columns[column] = self.read_column(bytes, column, codec, start, end)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn read_column(
        &mut self,
        bytes: &[u8],
        column: usize,
        codec: Codec,
        start: usize,
        end: usize,
    ) -> Decoded<Column> {
        let rows = self.rows;
        let origin = self.origins[column];
        let is_predicate = column == self.predicate_column;
        match codec {
            Codec::MiniBlocks => {
                MiniBlocks::read(bytes, start, end, rows, origin).map(Column::MiniBlocks)
            }
            Codec::Codes if is_predicate => {
                let start = self.read_ranks(bytes, start, end, origin)?;
                MiniBlocks::read(bytes, start, end, rows, 0).map(Column::Codes)
            }
            Codec::ByPredicate if !is_predicate => {
                self.prepare(bytes, self.predicate_column)?;
                let table = self.tables.len();
                let codes = self.ranks.len();
                ByPredicate::read(bytes, start, end, rows, codes, &mut self.tables)
                    .map(|column| Column::ByPredicate(column, table))
            }
            _ => Err(Malformed("a codec that the column cannot have")),
        }
    }

    fn read_ranks(
        &mut self,
        bytes: &[u8],
        start: usize,
        end: usize,
        origin: u64,
    ) -> Decoded<usize> {
        let count = bytes
            .get(start)
            .ok_or(Malformed("a block ends early"))
            .map(|count| usize::from(*count) + 1)?;
        let mut position = start + 1;
        let ranks = PackedArray::read(bytes, &mut position, count, origin)?;
        if position > end {
            return Err(Malformed("ranks behind the end of their column"));
        }
        for code in 0..count {
            self.ranks.push(ranks.get(bytes, code)?);
        }
        Ok(position)
    }

    /// Rows of the block.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Rows of a mini-block.
    #[inline]
    pub fn mini_block_rows(&self, mini_block: usize) -> usize {
        (self.rows - mini_block * MINI_BLOCK_ROWS).min(MINI_BLOCK_ROWS)
    }

    /// The one value of a column, if it has only one.
    #[inline]
    pub fn constant(&self, column: usize) -> Option<u64> {
        match self.columns[column] {
            Column::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// A column's value in the first row of a mini-block, without unpacking it where that is possible.
    #[inline]
    pub fn first(&mut self, bytes: &[u8], column: usize, mini_block: usize) -> Decoded<u64> {
        self.prepare(bytes, column)?;
        match &mut self.columns[column] {
            Column::Constant(value) => Ok(*value),
            Column::Unread(..) => Err(UNREAD),
            Column::MiniBlocks(column) => column.first(bytes, mini_block),
            Column::Codes(column) => {
                let code = column.first(bytes, mini_block)?;
                rank_of(&self.ranks, code)
            }
            Column::ByPredicate(..) => self.first_by_predicate(bytes, column, mini_block),
        }
    }

    /// Unpacks a mini-block of a column into `out`, whose length must be the mini-block's.
    #[inline]
    pub fn decode(
        &mut self,
        bytes: &[u8],
        column: usize,
        mini_block: usize,
        out: &mut [u64],
    ) -> Decoded<()> {
        self.prepare(bytes, column)?;
        match &mut self.columns[column] {
            Column::Unread(..) => Err(UNREAD),
            Column::Constant(value) => {
                out.fill(*value);
                Ok(())
            }
            Column::MiniBlocks(column) => column.decode(bytes, mini_block, out),
            Column::Codes(_) => {
                self.read_codes(bytes, mini_block)?;
                // No predicate has the rank that a code behind the last one gets: readers check ranks.
                for (value, code) in out.iter_mut().zip(&self.codes) {
                    *value = self.ranks.get(*code as usize).copied().unwrap_or(u64::MAX);
                }
                Ok(())
            }
            Column::ByPredicate(..) => {
                self.read_codes(bytes, mini_block)?;
                let Column::ByPredicate(by_predicate, table) = &mut self.columns[column] else {
                    unreachable!("reading codes changes no column's codec");
                };
                let codes = &self.codes[..out.len()];
                by_predicate.decode(
                    bytes,
                    &self.tables[*table..],
                    mini_block,
                    codes,
                    &mut self.states,
                    out,
                )
            }
        }
    }

    fn first_by_predicate(
        &mut self,
        bytes: &[u8],
        column: usize,
        mini_block: usize,
    ) -> Decoded<u64> {
        let code = match &mut self.columns[self.predicate_column] {
            Column::Codes(codes) => codes.first(bytes, mini_block)?,
            _ => return Err(NO_CODES),
        };
        match &mut self.columns[column] {
            Column::ByPredicate(by_predicate, table) => {
                by_predicate.first(bytes, &self.tables[*table..], mini_block, code)
            }
            _ => Err(NO_CODES),
        }
    }

    /// Unpacks the codes of a mini-block's rows.
    #[inline]
    fn read_codes(&mut self, bytes: &[u8], mini_block: usize) -> Decoded<()> {
        if self.codes_of == mini_block {
            return Ok(());
        }
        self.codes_of = usize::MAX;
        self.prepare(bytes, self.predicate_column)?;
        let rows = self.mini_block_rows(mini_block);
        match &mut self.columns[self.predicate_column] {
            Column::Codes(codes) => codes.decode(bytes, mini_block, &mut self.codes[..rows])?,
            _ => return Err(NO_CODES),
        }
        self.codes_of = mini_block;
        Ok(())
    }
}

const UNREAD: Malformed = Malformed("a column was not read");
const NO_CODES: Malformed = Malformed("values by predicate without codes of predicates");

#[inline]
fn rank_of(ranks: &[u64], code: u64) -> Decoded<u64> {
    ranks
        .get(code as usize)
        .copied()
        .ok_or(Malformed("a code that no predicate has"))
}

#[cfg(test)]
mod tests;
