//! Chooses the form of a mini-block and writes its payload.
//!
//! Every form that could be the smallest is planned, that is, its size is found without writing it. This is
//! the hottest loop of a bulk load beside sorting, so values near to one another are planned in 32 bits,
//! loops are such that compilers make vectors of them, and what cannot win is left out early.

use super::super::MINI_BLOCK_ROWS;
use super::super::bitpack::{bit_length, mask, pack, packed_bytes};
use super::super::varint::fold;
use super::{Head, POSITION_BITS, Patches, Shape, TWO_BYTES};

/// Above so many negative deltas the step is the least of all of them; below, they become patches.
const NEGATIVE_PATCHES_MAX: usize = MINI_BLOCK_ROWS / 8;
/// So many bits must a form save to be taken instead of a plain frame, whose values can be read singly.
const FRAME_BONUS_BITS: usize = 24;
/// What runs take at least, beside a bit for each.
const RUNS_BITS_MIN: usize = 8 * TWO_BYTES;
/// By so many bits must the longest residual exceed the mean for patches to be tried.
const PATCHING_BITS_MIN: u32 = 2;

/// Chooses forms and writes payloads; keeps its scratch memory from one mini-block to the next.
pub struct MiniBlockEncoder {
    narrow: Scratch<i32>,
    wide: Scratch<i64>,
    residuals: [u64; MINI_BLOCK_ROWS],
}

impl Default for MiniBlockEncoder {
    fn default() -> Self {
        Self {
            narrow: Scratch::default(),
            wide: Scratch::default(),
            residuals: [0; MINI_BLOCK_ROWS],
        }
    }
}

/// A form that could be taken, and what it costs.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    head: Head,
    bits: usize,
    patches: usize,
    high_width: u32,
}

/// Values whose range is below this are planned in 32 bits: no difference of differences overflows, and
/// twice as many fit a vector.
const NARROW_RANGE: u64 = 1 << 29;

impl MiniBlockEncoder {
    /// Appends the payload of 1 to [`MINI_BLOCK_ROWS`] values and gives their head.
    pub fn encode(&mut self, values: &[u64], payload: &mut Vec<u8>) -> Head {
        debug_assert!((1..=MINI_BLOCK_ROWS).contains(&values.len()));
        let plan = self.plan(values);
        self.write(&plan, values, payload);
        plan.head
    }

    /// How many bytes the payload of 1 to [`MINI_BLOCK_ROWS`] values would take.
    pub fn estimate(&mut self, values: &[u64]) -> usize {
        self.plan(values).bits / 8
    }

    fn plan(&mut self, values: &[u64]) -> Plan {
        let first = values[0];
        // Bits in which values differ: cheaper to know than the least and the greatest of 64 bits.
        let differing = values.iter().fold(0, |bits, value| bits | (value ^ first));
        if differing == 0 {
            return Plan::plain(Shape::Frame, 0, first, 0, values.len());
        }
        if differing < NARROW_RANGE {
            let base = first & !mask(bit_length(differing));
            return self.narrow.plan(values, base);
        }
        let (mut least, mut greatest) = (first, first);
        for value in values {
            least = least.min(*value);
            greatest = greatest.max(*value);
        }
        if greatest - least < NARROW_RANGE {
            self.narrow.plan(values, least)
        } else {
            self.wide.plan(values, least)
        }
    }

    fn write(&mut self, plan: &Plan, values: &[u64], payload: &mut Vec<u8>) {
        let head = &plan.head;
        if head.shape == Shape::Runs {
            return write_runs(plan, values, payload);
        }
        let differences = matches!(head.shape, Shape::Delta | Shape::DeltaPatched);
        let residuals = &mut self.residuals[..values.len() - usize::from(differences)];
        if differences {
            for (residual, pair) in residuals.iter_mut().zip(values.windows(2)) {
                *residual = pair[1].wrapping_sub(pair[0]).wrapping_sub(head.step);
            }
        } else {
            for (residual, value) in residuals.iter_mut().zip(values) {
                *residual = value.wrapping_sub(head.reference);
            }
        }
        if matches!(head.shape, Shape::FramePatched | Shape::DeltaPatched) {
            let patches = Patch::take(residuals, head.width);
            pack(residuals, head.width, payload);
            patches.write(plan, payload);
        } else {
            pack(residuals, head.width, payload);
        }
    }
}

/// A signed number in which values are planned; everything wraps.
pub(super) trait Lane: Copy + Ord + Default {
    const LEAST: Self;
    const GREATEST: Self;
    const ZERO: Self;
    const IS_WIDE: bool;
    fn of(value: u64) -> Self;
    fn minus(self, other: Self) -> Self;
    fn widen(self) -> u64;
    fn add_if(self, condition: bool) -> Self;
}

macro_rules! lane {
    ($signed:ty) => {
        impl Lane for $signed {
            const LEAST: Self = Self::MIN;
            const GREATEST: Self = Self::MAX;
            const ZERO: Self = 0;
            const IS_WIDE: bool = Self::BITS == u64::BITS;
            #[inline]
            fn of(value: u64) -> Self {
                value as Self
            }
            #[inline]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline]
            fn widen(self) -> u64 {
                i64::from(self) as u64
            }
            #[inline]
            fn add_if(self, condition: bool) -> Self {
                self + Self::from(condition)
            }
        }
    };
}

lane!(i32);
lane!(i64);

/// Values above their least, and their differences.
struct Scratch<L> {
    offsets: [L; MINI_BLOCK_ROWS],
    deltas: [L; MINI_BLOCK_ROWS],
}

impl<L: Lane> Default for Scratch<L> {
    fn default() -> Self {
        Self {
            offsets: [L::ZERO; MINI_BLOCK_ROWS],
            deltas: [L::ZERO; MINI_BLOCK_ROWS],
        }
    }
}

impl<L: Lane> Scratch<L> {
    /// The cheapest form of values that are not all equal; none is below `base`, and in [`i32`] none is
    /// [`NARROW_RANGE`] above it.
    #[inline]
    fn plan(&mut self, values: &[u64], base: u64) -> Plan {
        let count = values.len();
        let first = values[0];
        let offsets = &mut self.offsets[..count];
        let (mut least, mut greatest) = (u64::MAX, 0);
        if L::IS_WIDE {
            // Offsets may be negative as signed numbers.
            for value in values {
                least = least.min(*value);
                greatest = greatest.max(*value);
            }
        }
        for (offset, value) in offsets.iter_mut().zip(values) {
            *offset = L::of(value.wrapping_sub(base));
        }
        if !L::IS_WIDE {
            let (mut lowest, mut highest) = (L::GREATEST, L::LEAST);
            for offset in &*offsets {
                lowest = lowest.min(*offset);
                highest = highest.max(*offset);
            }
            least = base.wrapping_add(lowest.widen());
            greatest = base.wrapping_add(highest.widen());
        }
        let lowest = L::of(least.wrapping_sub(base));
        let frame_width = bit_length(greatest - least);
        let frame = Plan::plain(Shape::Frame, frame_width, least, 0, count);
        let deltas = &mut self.deltas[..count - 1];
        for ((delta, before), after) in deltas.iter_mut().zip(&*offsets).zip(&offsets[1..]) {
            *delta = after.minus(*before);
        }
        let (mut delta_least, mut delta_greatest) = (L::GREATEST, L::LEAST);
        let (mut falls, mut changes) = (L::ZERO, L::ZERO);
        for delta in &*deltas {
            delta_least = delta_least.min(*delta);
            delta_greatest = delta_greatest.max(*delta);
            falls = falls.add_if(*delta < L::ZERO);
            changes = changes.add_if(*delta != L::ZERO);
        }
        let (falls, changes) = (falls.widen() as usize, changes.widen() as usize);
        let step = delta_least.widen();
        let delta_range = delta_greatest.widen().wrapping_sub(step);
        let delta_width = bit_length(delta_range);
        let delta = Plan::plain(Shape::Delta, delta_width, first, step, deltas.len());
        if delta_range == 0 {
            return delta;
        }
        let mut best = frame;
        best.take_if_better(delta);
        if falls > 0 && falls <= NEGATIVE_PATCHES_MAX && falls < deltas.len() {
            // The few steps down become patches, so that they do not widen the steps up.
            let least_rise = deltas
                .iter()
                .map(|delta| {
                    if *delta < L::ZERO {
                        L::GREATEST
                    } else {
                        *delta
                    }
                })
                .min();
            let step = least_rise.unwrap_or(L::ZERO);
            let plan = patched(Shape::DeltaPatched, deltas, step, best.bits);
            best.take_if_better(plan.with_reference(first));
        } else {
            // Residuals add up to the way from the first value to the last. Where the mean is nearly as
            // long as the longest, there are no outliers to patch.
            let last = offsets[count - 1].minus(offsets[0]).widen();
            let sum = last.wrapping_sub(step.wrapping_mul(deltas.len() as u64));
            if bit_length(sum / deltas.len() as u64) + PATCHING_BITS_MIN <= delta_width {
                let plan = patched(Shape::DeltaPatched, deltas, delta_least, best.bits);
                best.take_if_better(plan.with_reference(first));
            }
        }
        if falls > 0 && best.bits > FRAME_BONUS_BITS {
            let sum = offsets
                .iter()
                .map(|offset| offset.minus(lowest).widen())
                .fold(0, u64::wrapping_add);
            if bit_length(sum / count as u64) + PATCHING_BITS_MIN <= frame_width {
                let plan = patched(Shape::FramePatched, offsets, lowest, best.bits);
                best.take_if_better(plan.with_reference(least));
            }
        }
        if changes * 2 < count && RUNS_BITS_MIN + changes < best.bits {
            best.take_if_better(runs(deltas, first, changes));
        }
        best
    }
}

impl Plan {
    /// Takes another plan if it is smaller, and by more than the bonus where this one is a plain frame.
    #[inline]
    fn take_if_better(&mut self, other: Self) {
        let bonus = FRAME_BONUS_BITS * usize::from(self.head.shape == Shape::Frame);
        if other.bits + bonus < self.bits {
            *self = other;
        }
    }

    fn with_reference(mut self, reference: u64) -> Self {
        self.head.reference = reference;
        if self.head.shape == Shape::FramePatched {
            self.head.step = 0;
        }
        self
    }

    fn plain(shape: Shape, width: u32, reference: u64, step: u64, count: usize) -> Self {
        Self {
            head: Head {
                shape,
                width,
                reference,
                step,
            },
            bits: packed_bytes(count, width) * 8,
            patches: 0,
            high_width: 0,
        }
    }
}

/// The cheapest width for the residuals of `source` above `above`, if the rest are patches; `limit` is
/// what another form takes, in bits.
fn patched<L: Lane>(shape: Shape, source: &[L], above: L, limit: usize) -> Plan {
    // Residuals by length, 65 for negative ones; two tables, so that equal lengths one after another do
    // not wait for each other.
    let mut tables = [[0_u8; 66]; 2];
    let mut negative_bits = 0;
    for (index, value) in source.iter().enumerate() {
        let residual = value.minus(above);
        let negative = residual < L::ZERO;
        let bits = residual.widen();
        let length = if negative { 65 } else { bit_length(bits) };
        negative_bits |= if negative { !bits } else { 0 };
        tables[index & 1][length as usize] += 1;
    }
    let at = |length: usize| usize::from(tables[0][length]) + usize::from(tables[1][length]);
    let negatives = at(65);
    let negative_length = bit_length(negative_bits);
    let mut longest = 64;
    while longest > 0 && at(longest) == 0 {
        longest -= 1;
    }
    let mut best = Plan::plain(shape, longest as u32, 0, above.widen(), source.len());
    best.bits = limit + 1;
    let mut patches = negatives;
    for width in (0..=longest.min(63)).rev() {
        patches += at(width + 1);
        if patches == 0 {
            continue;
        }
        if patches * (POSITION_BITS as usize + 1) > best.bits {
            break;
        }
        let mut high_width = 0;
        if patches > negatives {
            high_width = longest as u32 - width as u32 + 1;
        }
        if negatives > 0 {
            high_width = high_width.max(negative_length.saturating_sub(width as u32) + 1);
        }
        let bytes = packed_bytes(source.len(), width as u32) + Patches::bytes(patches, high_width);
        if bytes * 8 < best.bits {
            best.head.width = width as u32;
            best.bits = bytes * 8;
            best.patches = patches;
            best.high_width = high_width;
        }
    }
    best
}

/// The patches of a mini-block that is being written.
struct Patch {
    count: usize,
    positions: [u64; MINI_BLOCK_ROWS],
    highs: [u64; MINI_BLOCK_ROWS],
}

impl Patch {
    /// Takes what does not fit `width` bits out of the residuals.
    fn take(residuals: &mut [u64], width: u32) -> Self {
        let mut patches = Self {
            count: 0,
            positions: [0; MINI_BLOCK_ROWS],
            highs: [0; MINI_BLOCK_ROWS],
        };
        for (position, residual) in residuals.iter_mut().enumerate() {
            let high = (*residual as i64) >> width;
            patches.positions[patches.count] = position as u64;
            patches.highs[patches.count] = fold(high as u64);
            patches.count += usize::from(high != 0);
            *residual &= mask(width);
            if patches.count == MINI_BLOCK_ROWS {
                break;
            }
        }
        patches
    }

    fn write(&self, plan: &Plan, payload: &mut Vec<u8>) {
        assert_eq!(self.count, plan.patches, "patches were counted wrong");
        payload.extend_from_slice(&[self.count as u8, plan.high_width as u8]);
        pack(&self.positions[..self.count], POSITION_BITS, payload);
        pack(&self.highs[..self.count], plan.high_width, payload);
    }
}

/// The plan of runs for values whose differences are `deltas`, `changes` of them not 0.
pub(super) fn runs<L: Lane>(deltas: &[L], first: u64, changes: usize) -> Plan {
    let (mut least, mut greatest) = (L::GREATEST, L::LEAST);
    for delta in deltas {
        let equal = *delta == L::ZERO;
        least = least.min(if equal { L::GREATEST } else { *delta });
        greatest = greatest.max(if equal { L::LEAST } else { *delta });
    }
    let (mut longest, mut length) = (0_u64, 0_u64);
    for delta in deltas {
        length = (length + 1) & u64::from(*delta != L::ZERO).wrapping_sub(1);
        longest = longest.max(length);
    }
    let width = bit_length(greatest.widen().wrapping_sub(least.widen()));
    let mut plan = Plan::plain(Shape::Runs, width, first, least.widen(), changes);
    plan.high_width = bit_length(longest);
    plan.patches = changes;
    let bytes =
        TWO_BYTES + packed_bytes(changes + 1, plan.high_width) + packed_bytes(changes, width);
    plan.bits = bytes * 8;
    plan
}

pub(super) fn write_runs(plan: &Plan, values: &[u64], payload: &mut Vec<u8>) {
    let mut lengths = [0; MINI_BLOCK_ROWS];
    let mut residuals = [0; MINI_BLOCK_ROWS];
    let mut run = 0;
    for pair in values.windows(2) {
        let delta = pair[1].wrapping_sub(pair[0]);
        residuals[run] = delta.wrapping_sub(plan.head.step);
        lengths[run] += u64::from(delta == 0);
        run += usize::from(delta != 0);
    }
    assert_eq!(run, plan.patches, "runs were counted wrong");
    payload.extend_from_slice(&[run as u8, plan.high_width as u8]);
    pack(&lengths[..=run], plan.high_width, payload);
    pack(&residuals[..run], plan.head.width, payload);
}
