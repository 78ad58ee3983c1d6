//! A column whose values are packed by their rows' predicates: a name, a course and a telephone number lie
//! far apart, but the names of a block lie near to one another, and so do its courses. So each predicate
//! of the block has its own reference and width, and a value's place in its mini-block is the sum of the
//! widths before it. The codes of the predicates (small numbers, see [`crate::index::block`]) are known to
//! the reader before the values are.
//!
//! # Byte map
//!
//! ```text
//! table       for each code:
//!               reference, rotated left by 6 bits (the kind goes to the low end), varint
//!               width in bits | mode << 6, 2 bytes... see [`Entry`]
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

use super::bitpack::{BitWriter, bit_length, mask, pack, packed_bytes, read_bits};
use super::packed::PackedArray;
use super::varint::{fold, read_varint, unfold, write_varint};
use super::{Decoded, MINI_BLOCK_ROWS, Malformed};
use std::fmt;

/// The most codes that a block may have for its columns to be packed by predicate.
pub const CODES_MAX: usize = 64;
/// How far references are rotated, so that a small payload makes a short number whatever the kind is.
const ROTATION: u32 = u64::BITS - crate::id::PAYLOAD_BITS;
/// Every how many mini-blocks one is looked at to choose widths; what does not fit them is patched.
const SAMPLING: usize = 4;
/// About what a mini-block takes beside its residuals and patches, and what an entry of the table takes.
const MINI_BLOCK_BYTES: usize = 2;
const ENTRY_BYTES: usize = 7;
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
    width: u8,
    next_width: u8,
    /// 1 if residuals are folded.
    folded: u8,
    next_folded: u8,
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
            moving: if self.mode == Mode::Frame { 0 } else { u64::MAX },
            width: self.frame_width as u8,
            next_width: self.next_width as u8,
            folded: 0,
            next_folded: u8::from(self.mode == Mode::Swinging),
        }
    }
}

/// A column packed by predicate, ready to read; the bytes and the table are kept by the caller.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByPredicate {
    lengths: PackedArray,
    payloads: usize,
    end: usize,
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
        for _ in 0..codes {
            table.push(Entry::read(bytes, &mut position)?);
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
            unpack_by_code(packed, codes, states, out, |_, _| 0)
        } else {
            let mut added = [0; MINI_BLOCK_ROWS];
            for index in 0..patches.count {
                // Positions are of 7 bits, so they are below the length of the array.
                added[patches.position(bytes, index)?] = patches.high(bytes, index)?;
            }
            unpack_by_code(packed, codes, states, out, |row, width| {
                added[row] << (width & 63)
            })
        }
    }
}

const EARLY: Malformed = Malformed("values by predicate end early");

/// The residuals, one after another: where the next one begins is known as soon as its code is.
#[inline(always)]
fn unpack_by_code(
    packed: &[u8],
    codes: &[u64],
    states: &mut States,
    out: &mut [u64],
    patch: impl Fn(usize, u32) -> u64,
) -> Decoded<()> {
    let mut bit = 0;
    for (row, (value, code)) in out.iter_mut().zip(codes).enumerate() {
        // Codes beyond the table cannot come from an encoder; they read some state.
        let state = &mut states.0[*code as usize % CODES_MAX];
        let width = u32::from(state.width);
        let residual = read_bits(packed, bit, width).ok_or(EARLY)?;
        bit += width as usize;
        let residual = residual.wrapping_add(patch(row, width));
        let folded = u64::from(state.folded);
        let difference = (residual >> folded) ^ (residual & folded).wrapping_neg();
        *value = state.base.wrapping_add(difference);
        state.base = (*value & state.moving) | (state.base & !state.moving);
        state.width = state.next_width;
        state.folded = state.next_folded;
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

/// Counts of residuals by length in bits; index 65 is for those that are negative as signed numbers.
type Lengths = [u16; 66];

/// What the encoder learns of one code's values.
#[derive(Clone, Copy)]
struct Facts {
    rows: usize,
    /// Mini-blocks in which the code occurs.
    firsts: usize,
    negatives: usize,
    least: u64,
    before: u64,
    /// The mini-block of the value before, counted from 1; 0: none yet.
    mini_block: usize,
    frame: Lengths,
    folded: Lengths,
}

impl Facts {
    const NONE: Self = Self {
        rows: 0,
        firsts: 0,
        negatives: 0,
        least: u64::MAX,
        before: 0,
        mini_block: 0,
        frame: [0; 66],
        folded: [0; 66],
    };
}

/// Plans and writes columns by predicate; keeps its scratch memory.
pub struct ByPredicateEncoder {
    facts: Vec<Facts>,
    states: States,
    table: Vec<Entry>,
    lengths: Vec<u64>,
    payloads: Vec<u8>,
}

impl Default for ByPredicateEncoder {
    fn default() -> Self {
        Self {
            facts: vec![Facts::NONE; CODES_MAX],
            states: States::default(),
            table: Vec::new(),
            lengths: Vec::new(),
            payloads: Vec::new(),
        }
    }
}

impl ByPredicateEncoder {
    /// Chooses modes and widths for values whose rows' predicates have `codes` (all below `count`, which is
    /// at most [`CODES_MAX`]), and says about how many bytes the column will take.
    pub fn plan(&mut self, values: &[u64], codes: &[u64], count: usize) -> usize {
        debug_assert_eq!(values.len(), codes.len());
        let facts = &mut self.facts[..count];
        facts.fill(Facts::NONE);
        for (value, code) in values.iter().zip(codes) {
            let facts = &mut facts[*code as usize];
            facts.least = facts.least.min(*value);
        }
        let (mut seen, mut mini_blocks) = (0, 0);
        for (index, (values, codes)) in values
            .chunks(MINI_BLOCK_ROWS)
            .zip(codes.chunks(MINI_BLOCK_ROWS))
            .enumerate()
            .step_by(SAMPLING)
        {
            seen += values.len();
            mini_blocks += 1;
            for (value, code) in values.iter().zip(codes) {
                let facts = &mut facts[*code as usize];
                facts.rows += 1;
                facts.frame[length_of(value - facts.least)] += 1;
                if facts.mini_block == index + 1 {
                    let difference = value.wrapping_sub(facts.before);
                    facts.negatives += (difference >> 63) as usize;
                    facts.folded[length_of(fold(difference))] += 1;
                } else {
                    facts.firsts += 1;
                    facts.mini_block = index + 1;
                }
                facts.before = *value;
            }
        }
        self.table.clear();
        let mut bits = 0;
        for facts in facts {
            let (entry, taken) = facts.entry();
            bits += taken;
            self.table.push(entry);
        }
        let sampled_bytes = bits / 8 + MINI_BLOCK_BYTES * mini_blocks;
        sampled_bytes * values.len() / seen + ENTRY_BYTES * count
    }

    /// Appends the column that was planned.
    pub fn write(&mut self, values: &[u64], codes: &[u64], out: &mut Vec<u8>) {
        for entry in &self.table {
            entry.write(out);
        }
        self.lengths.clear();
        self.payloads.clear();
        for (values, codes) in values
            .chunks(MINI_BLOCK_ROWS)
            .zip(codes.chunks(MINI_BLOCK_ROWS))
        {
            let before = self.payloads.len();
            write_mini_block(values, codes, &self.table, &mut self.states, &mut self.payloads);
            self.lengths.push((self.payloads.len() - before) as u64);
        }
        PackedArray::write(&mut self.lengths, 0, out);
        out.extend_from_slice(&self.payloads);
    }
}

#[inline]
fn length_of(residual: u64) -> usize {
    if residual >> 63 == 1 {
        65
    } else {
        bit_length(residual) as usize
    }
}

/// The cheapest width for residuals of these lengths, and the bits that they and their patches then take.
/// `negatives` more are patches whatever the width is; residuals take `less` bits less than their length.
fn cheapest(lengths: &Lengths, negatives: usize, less: usize) -> (u32, usize) {
    let rows: usize = lengths.iter().map(|count| usize::from(*count)).sum();
    let Some(longest) = lengths.iter().rposition(|count| *count > 0) else {
        return (0, 0);
    };
    let (mut best_width, mut best_bits) = (0, usize::MAX);
    let mut patches = negatives;
    for length in (0..=longest.min(64)).rev() {
        patches += usize::from(lengths[length + 1]);
        if length > 63 || length < less {
            continue;
        }
        let width = length - less;
        let patch_bits = POSITION_BITS as usize + longest.min(64) - length + 2;
        let bits = rows * width + patches * patch_bits;
        if bits < best_bits {
            (best_width, best_bits) = (width as u32, bits);
        }
    }
    (best_width, best_bits)
}

impl Facts {
    /// The cheapest entry and the bits that its values take.
    fn entry(&self) -> (Entry, usize) {
        if self.rows == 0 {
            // It does not occur in the sample.
            let entry = Entry {
                reference: self.least,
                ..Entry::default()
            };
            return (entry, 0);
        }
        let (frame_width, frame_bits) = cheapest(&self.frame, 0, 0);
        let (swinging_width, swinging_bits) = cheapest(&self.folded, 0, 0);
        let (rising_width, rising_bits) = cheapest(&self.folded, self.negatives, 1);
        let firsts_bits = frame_bits * self.firsts / self.rows;
        let (mode, next_width, bits) = if frame_bits <= firsts_bits + swinging_bits.min(rising_bits)
        {
            (Mode::Frame, frame_width, frame_bits)
        } else if rising_bits <= swinging_bits {
            (Mode::Rising, rising_width, firsts_bits + rising_bits)
        } else {
            (Mode::Swinging, swinging_width, firsts_bits + swinging_bits)
        };
        let entry = Entry {
            reference: self.least,
            mode,
            frame_width,
            next_width,
        };
        (entry, bits)
    }
}

fn write_mini_block(
    values: &[u64],
    codes: &[u64],
    table: &[Entry],
    states: &mut States,
    payload: &mut Vec<u8>,
) {
    states.begin(table);
    let mut residuals = [(0_u64, 0_u8); MINI_BLOCK_ROWS];
    let mut positions = [0; MINI_BLOCK_ROWS];
    let mut highs = [0; MINI_BLOCK_ROWS];
    let mut patches = 0;
    let mut all_highs = 0;
    for (row, (value, code)) in values.iter().zip(codes).enumerate() {
        let state = &mut states.0[*code as usize];
        let mut residual = value.wrapping_sub(state.base);
        if state.folded == 1 {
            residual = fold(residual);
        }
        residuals[row] = (residual & mask(u32::from(state.width)), state.width);
        let high = if state.width < 64 {
            (residual as i64) >> state.width
        } else {
            0
        };
        if high != 0 {
            positions[patches] = row as u64;
            highs[patches] = fold(high as u64);
            all_highs |= highs[patches];
            patches += 1;
        }
        state.base = (*value & state.moving) | (state.base & !state.moving);
        state.width = state.next_width;
        state.folded = state.next_folded;
    }
    payload.push(patches as u8);
    if patches > 0 {
        payload.push(bit_length(all_highs) as u8);
        pack(&positions[..patches], POSITION_BITS, payload);
        pack(&highs[..patches], bit_length(all_highs), payload);
    }
    let mut writer = BitWriter::new(payload);
    for (residual, width) in &residuals[..values.len()] {
        writer.push(*residual, u32::from(*width));
    }
    writer.finish();
}
