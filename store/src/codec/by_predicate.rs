//! A column whose values are packed by their rows' predicates: a name, a course and a telephone number lie
//! far apart, but the names of a block lie near to one another, and so do its courses. So each predicate
//! of the block has its own reference and width, and a value's place in its mini-block is the sum of the
//! widths before it. The codes of the predicates (small numbers, see [`crate::index::block`]) are known to
//! the reader before the values are.
//!
//! # Byte map
//!
//! ```text
//! table       an entry for each code:
//!               reference, rotated left by 6 bits (so that the kind goes to the low end), varint
//!               mode, 1 byte | width of residuals in the frame, 1 byte
//!               unless the mode is frame: width of differences, 1 byte
//! lengths     array, base 0: bytes of each mini-block, see [`super::packed`]
//! payloads    one mini-block behind the other:
//!               patches, 1 byte; if there are any: width of highs, 1 byte | positions of 7 bits | highs
//!               residuals, each as wide as its predicate says
//! ```
//!
//! Modes:
//!
//! * *frame*: value = reference + residual;
//! * *rising*: the predicate's first value in a mini-block as in a frame; each one after it = the
//!   predicate's value before it + residual;
//! * *swinging*: the same, and residuals are folded, so that steps down are as short as steps up.
//!
//! A patch adds `unfold(high) << width` to the residual at its position (before unfolding); all
//! arithmetic wraps at 64 bits.

use super::bitpack::{packed_bytes, read_bits};
use super::packed::PackedArray;
use super::varint::{read_varint, unfold, write_varint};
use super::{Decoded, MINI_BLOCK_ROWS, Malformed};
use std::fmt;

mod encode;

pub use encode::ByPredicateEncoder;

/// The most codes that a block may have for its columns to be packed by predicate.
pub const CODES_MAX: usize = 64;
/// How far references are rotated, so that a small payload makes a short number whatever the kind is.
const ROTATION: u32 = u64::BITS - crate::id::PAYLOAD_BITS;
/// Bits of a patch's position.
const POSITION_BITS: u32 = MINI_BLOCK_ROWS.ilog2();

/// How a predicate's values are packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Mode {
    /// Residuals above the reference.
    #[default]
    Frame = 0,
    /// Differences, mostly not negative.
    Rising = 1,
    /// Folded differences.
    Swinging = 2,
}

/// What a block says of one of its predicates. On disk: the reference, the mode (1 byte), the frame's
/// width (1 byte), and unless the mode is [`Mode::Frame`] the width of differences (1 byte).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Entry {
    reference: u64,
    mode: Mode,
    /// Bits of a residual in the frame.
    frame_width: u32,
    /// Bits of a difference; the frame's width in [`Mode::Frame`].
    next_width: u32,
}

/// What a reader keeps for each code while it unpacks a mini-block.
#[derive(Clone, Copy, Default)]
struct State {
    base: u64,
    /// All ones if the base moves with the values.
    moving: u64,
    now: Width,
    next: Width,
}

/// How the next residual of a code is packed.
#[derive(Clone, Copy, Default)]
struct Width {
    bits: u8,
    /// 1 if the residual is folded.
    folded: u8,
}

/// A state for each code: scratch memory of whoever packs or unpacks.
#[derive(Clone)]
pub struct States([State; CODES_MAX]);

impl Default for States {
    fn default() -> Self {
        Self([State::default(); CODES_MAX])
    }
}

impl fmt::Debug for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("States")
    }
}

impl States {
    /// Begins a mini-block.
    #[inline]
    fn begin(&mut self, table: &[Entry]) {
        for (state, entry) in self.0.iter_mut().zip(table) {
            *state = entry.state();
        }
    }
}

impl Entry {
    fn write(&self, out: &mut Vec<u8>) {
        write_varint(self.reference.rotate_left(ROTATION), out);
        out.extend_from_slice(&[self.mode as u8, self.frame_width as u8]);
        if self.mode != Mode::Frame {
            out.push(self.next_width as u8);
        }
    }

    fn read(bytes: &[u8], position: &mut usize) -> Decoded<Self> {
        const EARLY: Malformed = Malformed("a table of predicates ends early");
        let reference = read_varint(bytes, position)?.rotate_right(ROTATION);
        let &[mode, frame_width, next_width] = bytes
            .get(*position..)
            .and_then(|bytes| bytes.first_chunk())
            .ok_or(EARLY)?;
        let mode = match mode {
            0 => Mode::Frame,
            1 => Mode::Rising,
            2 => Mode::Swinging,
            _ => return Err(Malformed("values packed in an unknown mode")),
        };
        let next_width = if mode == Mode::Frame {
            *position += 2;
            frame_width
        } else {
            *position += 3;
            next_width
        };
        if frame_width > 64 || next_width > 64 {
            return Err(Malformed("values wider than 64 bits"));
        }
        Ok(Self {
            reference,
            mode,
            frame_width: u32::from(frame_width),
            next_width: u32::from(next_width),
        })
    }

    fn state(&self) -> State {
        State {
            base: self.reference,
            moving: if self.mode == Mode::Frame {
                0
            } else {
                u64::MAX
            },
            now: Width {
                bits: self.frame_width as u8,
                folded: 0,
            },
            next: Width {
                bits: self.next_width as u8,
                folded: u8::from(self.mode == Mode::Swinging),
            },
        }
    }
}

/// A column packed by predicate, ready to read; the bytes and the table are kept by the caller.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByPredicate {
    lengths: PackedArray,
    payloads: usize,
    end: usize,
    /// Whether no width is above [`NARROW_BITS`].
    is_narrow: bool,
    /// A mini-block and where its payload begins: summing lengths goes on from here.
    mark: (usize, usize),
}

impl ByPredicate {
    /// Reads the table and the heads of a column of `values` values that lies in `bytes[start..end]`, of a
    /// block whose predicates have `codes` codes. The table is appended to `table`.
    pub fn read(
        bytes: &[u8],
        start: usize,
        end: usize,
        values: usize,
        codes: usize,
        table: &mut Vec<Entry>,
    ) -> Decoded<Self> {
        if !(1..=CODES_MAX).contains(&codes) {
            return Err(Malformed("values by predicate without codes of predicates"));
        }
        let mut position = start;
        let mut is_narrow = true;
        for _ in 0..codes {
            let entry = Entry::read(bytes, &mut position)?;
            is_narrow &= entry.frame_width.max(entry.next_width) <= NARROW_BITS;
            table.push(entry);
        }
        let count = values.div_ceil(MINI_BLOCK_ROWS);
        let lengths = PackedArray::read(bytes, &mut position, count, 0)?;
        if position > end {
            return Err(Malformed("a column's heads are longer than the column"));
        }
        Ok(Self {
            lengths,
            payloads: position,
            end,
            is_narrow,
            mark: (0, position),
        })
    }

    /// Where a mini-block's payload begins.
    #[inline]
    fn start(&mut self, bytes: &[u8], mini_block: usize) -> Decoded<usize> {
        let (from, start) = if self.mark.0 <= mini_block {
            self.mark
        } else {
            (0, self.payloads)
        };
        let skipped = self.lengths.sum(bytes, from..mini_block)?;
        match usize::try_from(skipped) {
            Ok(skipped) if skipped <= self.end.saturating_sub(start) => {
                self.mark = (mini_block, start + skipped);
                Ok(start + skipped)
            }
            _ => Err(Malformed("a mini-block behind the end of its column")),
        }
    }

    /// The first value of a mini-block, whose first row's predicate has `code`.
    pub fn first(
        &mut self,
        bytes: &[u8],
        table: &[Entry],
        mini_block: usize,
        code: u64,
    ) -> Decoded<u64> {
        let start = self.start(bytes, mini_block)?;
        let entry = table
            .get(code as usize)
            .ok_or(Malformed("a code that no predicate has"))?;
        let patches = Patches::read(bytes, start)?;
        let residual = read_bits(bytes, patches.end * 8, entry.frame_width).ok_or(EARLY)?;
        let patch = if patches.count > 0 && patches.position(bytes, 0)? == 0 {
            patches.high(bytes, 0)? << (entry.frame_width & 63)
        } else {
            0
        };
        Ok(entry.reference.wrapping_add(residual).wrapping_add(patch))
    }

    /// Unpacks a mini-block into `out`; `codes` are the codes of its rows' predicates.
    pub fn decode(
        &mut self,
        bytes: &[u8],
        table: &[Entry],
        mini_block: usize,
        codes: &[u64],
        states: &mut States,
        out: &mut [u64],
    ) -> Decoded<()> {
        debug_assert_eq!(codes.len(), out.len());
        let start = self.start(bytes, mini_block)?;
        states.begin(table);
        let patches = Patches::read(bytes, start)?;
        let packed = bytes.get(patches.end..).ok_or(EARLY)?;
        if patches.count == 0 {
            return if self.is_narrow {
                unpack_by_code(packed, codes, states, out, read_narrow, |_, _| 0)
            } else {
                unpack_by_code(packed, codes, states, out, read_bits, |_, _| 0)
            };
        }
        let mut added = [0; MINI_BLOCK_ROWS];
        for index in 0..patches.count {
            // Positions are of 7 bits, so they are below the length of the array.
            added[patches.position(bytes, index)?] = patches.high(bytes, index)?;
        }
        let patch = |row: usize, width: u32| added[row % MINI_BLOCK_ROWS] << (width & 63);
        if self.is_narrow {
            unpack_by_code(packed, codes, states, out, read_narrow, patch)
        } else {
            unpack_by_code(packed, codes, states, out, read_bits, patch)
        }
    }
}

/// The most bits that [`read_narrow`] reads, wherever in a byte they begin.
const NARROW_BITS: u32 = 57;

/// As [`read_bits`], from one word.
#[inline]
fn read_narrow(bytes: &[u8], bit: usize, width: u32) -> Option<u64> {
    let word = bytes.get(bit / 8..)?.first_chunk()?;
    Some((u64::from_le_bytes(*word) >> (bit % 8)) & ((1 << (width & 63)) - 1))
}

const EARLY: Malformed = Malformed("values by predicate end early");

/// The residuals, one after another: where the next one begins is known as soon as its code is.
#[inline]
fn unpack_by_code(
    packed: &[u8],
    codes: &[u64],
    states: &mut States,
    out: &mut [u64],
    read: impl Fn(&[u8], usize, u32) -> Option<u64>,
    patch: impl Fn(usize, u32) -> u64,
) -> Decoded<()> {
    let mut bit = 0;
    for (row, (value, code)) in out.iter_mut().zip(codes).enumerate() {
        // Codes beyond the table cannot come from an encoder; they read some state.
        let state = &mut states.0[*code as usize % CODES_MAX];
        let Width { bits, folded } = state.now;
        let width = u32::from(bits);
        let residual = read(packed, bit, width).ok_or(EARLY)?;
        bit += width as usize;
        let residual = residual.wrapping_add(patch(row, width));
        let folded = u64::from(folded);
        let difference = (residual >> folded) ^ (residual & folded).wrapping_neg();
        *value = state.base.wrapping_add(difference);
        state.base = (*value & state.moving) | (state.base & !state.moving);
        state.now = state.next;
    }
    Ok(())
}

/// Where the patches of a mini-block lie, and where its residuals begin.
struct Patches {
    count: usize,
    high_width: u32,
    positions_bit: usize,
    highs_bit: usize,
    end: usize,
}

impl Patches {
    #[inline]
    fn read(bytes: &[u8], start: usize) -> Decoded<Self> {
        let count = usize::from(*bytes.get(start).ok_or(EARLY)?);
        if count == 0 {
            return Ok(Self {
                count,
                high_width: 0,
                positions_bit: 0,
                highs_bit: 0,
                end: start + 1,
            });
        }
        let high_width = u32::from(*bytes.get(start + 1).ok_or(EARLY)?);
        if high_width > 64 {
            return Err(Malformed("patches wider than 64 bits"));
        }
        let positions = start + 2;
        let highs = positions + packed_bytes(count, POSITION_BITS);
        Ok(Self {
            count,
            high_width,
            positions_bit: positions * 8,
            highs_bit: highs * 8,
            end: highs + packed_bytes(count, high_width),
        })
    }

    #[inline]
    fn position(&self, bytes: &[u8], index: usize) -> Decoded<usize> {
        let bit = self.positions_bit + index * POSITION_BITS as usize;
        let position = read_bits(bytes, bit, POSITION_BITS).ok_or(EARLY)?;
        Ok(position as usize)
    }

    #[inline]
    fn high(&self, bytes: &[u8], index: usize) -> Decoded<u64> {
        let bit = self.highs_bit + index * self.high_width as usize;
        read_bits(bytes, bit, self.high_width)
            .map(unfold)
            .ok_or(EARLY)
    }
}

#[cfg(test)]
mod tests;
