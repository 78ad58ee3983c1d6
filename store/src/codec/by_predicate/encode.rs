//! Chooses how each predicate's values of a column are packed, and writes them.
//!
//! Widths are chosen from a sample of the mini-blocks; a value that does not fit becomes a patch, so the
//! sample decides how small the column gets and never whether it is right.

use super::super::MINI_BLOCK_ROWS;
use super::super::bitpack::{BitWriter, bit_length, mask, pack};
use super::super::packed::PackedArray;
use super::super::varint::fold;
use super::{CODES_MAX, Entry, Mode, POSITION_BITS, States, Width};

/// Every how many mini-blocks one is looked at to choose widths; what does not fit them is patched.
const SAMPLING: usize = 4;
/// About what a mini-block takes beside its residuals and patches, and what an entry of the table takes.
const MINI_BLOCK_BYTES: usize = 2;
const ENTRY_BYTES: usize = 7;

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
    pub(super) table: Vec<Entry>,
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
            write_mini_block(
                values,
                codes,
                &self.table,
                &mut self.states,
                &mut self.payloads,
            );
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
    let mut writer = BitWriter::default();
    let mut positions = [0; MINI_BLOCK_ROWS];
    let mut highs = [0; MINI_BLOCK_ROWS];
    let mut patches = 0;
    let mut all_highs = 0;
    for (row, (value, code)) in values.iter().zip(codes).enumerate() {
        let state = &mut states.0[*code as usize];
        let Width { bits, folded } = state.now;
        let difference = value.wrapping_sub(state.base);
        // Folded where `folded` is 1, without a branch that nobody could foresee.
        let sign = ((difference as i64) >> 63) as u64;
        let residual = (difference << folded) ^ (sign & u64::from(folded).wrapping_neg());
        // The encoder chooses no width above 63 bits.
        let high = (residual as i64) >> (bits & 63);
        writer.push(residual & mask(u32::from(bits)), u32::from(bits));
        if high != 0 {
            positions[patches] = row as u64;
            highs[patches] = fold(high as u64);
            all_highs |= highs[patches];
            patches += 1;
        }
        state.base = (*value & state.moving) | (state.base & !state.moving);
        state.now = state.next;
    }
    payload.push(patches as u8);
    if patches > 0 {
        payload.push(bit_length(all_highs) as u8);
        pack(&positions[..patches], POSITION_BITS, payload);
        pack(&highs[..patches], bit_length(all_highs), payload);
    }
    writer.finish(payload);
}
