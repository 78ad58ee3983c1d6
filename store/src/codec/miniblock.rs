//! A mini-block: up to [`MINI_BLOCK_ROWS`] numbers in the form that is smallest for them.
//!
//! # Byte map
//!
//! A mini-block's *head* (form, reference, step and length in bytes) stands in its column's arrays. Its
//! payload, by form (`n` values, `width` of the form):
//!
//! ```text
//! frame          n residuals of `width` bits: value = reference + residual
//! delta          n - 1 residuals: value = the one before it + step + residual; the first is the reference
//! frame patched  as frame, then patches
//! delta patched  as delta, then patches
//! runs           runs - 1, 1 byte | width of lengths, 1 byte | runs lengths - 1 | runs - 1 residuals:
//!                a run's value = that of the run before it + step + residual; the first is the reference
//!
//! patches        count, 1 byte | width of highs, 1 byte | count positions of 7 bits | count highs:
//!                unfold(high) << width is added to the residual at the position
//! ```
//!
//! All arithmetic wraps at 64 bits, so every sequence of numbers has a form: a patch may stand for a
//! negative residual as well as for a large one.

use super::bitpack::{bit_length, mask, pack, packed_bytes, read_bits, unpack};
use super::varint::{fold, unfold};
use super::{Decoded, MINI_BLOCK_ROWS, Malformed};

/// Bits of a patch's position in its mini-block.
const POSITION_BITS: u32 = MINI_BLOCK_ROWS.ilog2();
/// Bytes before the positions of patches, and before the lengths of runs.
const TWO_BYTES: usize = 2;
/// Above so many negative deltas the step is the least of all of them; below, they become patches.
const NEGATIVE_PATCHES_MAX: usize = MINI_BLOCK_ROWS / 8;
/// So many bits must a form save to be taken instead of a plain frame, whose values can be read singly.
const FRAME_BONUS_BITS: usize = 24;
/// What runs take at least, beside a bit for each.
const RUNS_BITS_MIN: usize = 8 * TWO_BYTES;
/// By so many bits must the longest residual exceed the mean for patches to be tried.
const PATCHING_BITS_MIN: u32 = 2;

const _: () = assert!(1 << POSITION_BITS == MINI_BLOCK_ROWS && MINI_BLOCK_ROWS <= 256);

/// The shapes that a payload can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Shape {
    /// Residuals above a reference.
    Frame = 0,
    /// Residuals of differences.
    Delta = 1,
    /// [`Shape::Frame`] with patches.
    FramePatched = 2,
    /// [`Shape::Delta`] with patches.
    DeltaPatched = 3,
    /// Runs of equal values.
    Runs = 4,
}

impl Shape {
    /// Every shape, by number.
    pub const ALL: [Self; 5] = [
        Self::Frame,
        Self::Delta,
        Self::FramePatched,
        Self::DeltaPatched,
        Self::Runs,
    ];
}

/// What is known of a mini-block apart from its payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// The payload's shape.
    pub shape: Shape,
    /// Bits of a residual.
    pub width: u32,
    /// The first value, or what all residuals of a frame stand above.
    pub reference: u64,
    /// What is added to every residual of a difference.
    pub step: u64,
}

/// Bits of [`Head::form`].
pub const FORM_BITS: u32 = 10;

impl Head {
    /// Shape and width in one number below `1 << FORM_BITS`.
    pub fn form(&self) -> u64 {
        u64::from(self.width) << 3 | self.shape as u64
    }

    /// The inverse of [`Head::form`].
    #[inline]
    pub fn new(form: u64, reference: u64, step: u64) -> Decoded<Self> {
        let shape = Shape::ALL.get((form & 7) as usize);
        let width = form >> 3;
        match shape {
            Some(shape) if width <= 64 => Ok(Self {
                shape: *shape,
                width: width as u32,
                reference,
                step,
            }),
            _ => Err(Malformed("a mini-block of an unknown form")),
        }
    }

    /// Whether the reference is the first value, so that no payload is needed to know it.
    #[inline]
    pub fn starts_with_reference(&self) -> bool {
        match self.shape {
            Shape::Frame => self.width == 0,
            Shape::FramePatched => false,
            Shape::Delta | Shape::DeltaPatched | Shape::Runs => true,
        }
    }

    /// The first of a mini-block's `count` values without unpacking the rest; the payload begins at `start`.
    #[inline]
    pub fn first(&self, bytes: &[u8], start: usize, count: usize) -> Decoded<u64> {
        let residual = match self.shape {
            Shape::Frame if self.width == 0 => 0,
            Shape::Frame => residual_at(bytes, start.saturating_mul(8), self.width)?,
            Shape::FramePatched => {
                let residual = residual_at(bytes, start.saturating_mul(8), self.width)?;
                let patches = Patches::read(bytes, start + packed_bytes(count, self.width))?;
                residual.wrapping_add(patches.at_zero(bytes)? << (self.width & 63))
            }
            Shape::Delta | Shape::DeltaPatched | Shape::Runs => 0,
        };
        Ok(self.reference.wrapping_add(residual))
    }

    /// Unpacks a mini-block of `out.len()` values, whose payload begins at byte `start`.
    pub fn decode(&self, bytes: &[u8], start: usize, out: &mut [u64]) -> Decoded<()> {
        if out.is_empty() || out.len() > MINI_BLOCK_ROWS {
            return Err(Malformed("a mini-block of an impossible length"));
        }
        let payload = bytes
            .get(start..)
            .ok_or(Malformed("a mini-block ends early"))?;
        match self.shape {
            Shape::Frame => {
                unpack(payload, self.width, out)?;
                self.add_reference(out);
            }
            Shape::FramePatched => {
                unpack(payload, self.width, out)?;
                self.patch(payload, out)?;
                self.add_reference(out);
            }
            Shape::Delta => {
                let (first, residuals) = out.split_at_mut(1);
                unpack(payload, self.width, residuals)?;
                first[0] = self.reference;
                self.add_up(residuals);
            }
            Shape::DeltaPatched => {
                let (first, residuals) = out.split_at_mut(1);
                unpack(payload, self.width, residuals)?;
                self.patch(payload, residuals)?;
                first[0] = self.reference;
                self.add_up(residuals);
            }
            Shape::Runs => self.decode_runs(payload, out)?,
        }
        Ok(())
    }

    /// Residuals of a frame become values.
    #[inline]
    fn add_reference(&self, residuals: &mut [u64]) {
        for residual in residuals {
            *residual = residual.wrapping_add(self.reference);
        }
    }

    /// Residuals of differences become values.
    #[inline]
    fn add_up(&self, residuals: &mut [u64]) {
        let mut value = self.reference;
        for residual in residuals {
            value = value.wrapping_add(self.step).wrapping_add(*residual);
            *residual = value;
        }
    }

    /// Applies the patches that stand behind the packed residuals.
    fn patch(&self, payload: &[u8], residuals: &mut [u64]) -> Decoded<()> {
        let patches = Patches::read(payload, packed_bytes(residuals.len(), self.width))?;
        for index in 0..patches.count {
            let position = patches.position(payload, index)?;
            let residual = residuals
                .get_mut(position)
                .ok_or(Malformed("a patch behind the end of its mini-block"))?;
            let high = patches.high(payload, index)?;
            *residual = residual.wrapping_add(high << (self.width & 63));
        }
        Ok(())
    }

    fn decode_runs(&self, payload: &[u8], out: &mut [u64]) -> Decoded<()> {
        let &[runs, length_width] = payload
            .first_chunk::<TWO_BYTES>()
            .ok_or(Malformed("runs end early"))?;
        let runs = usize::from(runs) + 1;
        let length_width = u32::from(length_width);
        if runs > out.len() || length_width > POSITION_BITS {
            return Err(Malformed("more runs than values"));
        }
        let mut lengths = [0; MINI_BLOCK_ROWS];
        let mut residuals = [0; MINI_BLOCK_ROWS];
        let payload = &payload[TWO_BYTES..];
        unpack(payload, length_width, &mut lengths[..runs])?;
        let payload = payload
            .get(packed_bytes(runs, length_width)..)
            .ok_or(Malformed("runs end early"))?;
        unpack(payload, self.width, &mut residuals[..runs - 1])?;
        let mut value = self.reference;
        let mut rest = out;
        for run in 0..runs {
            if run > 0 {
                value = value
                    .wrapping_add(self.step)
                    .wrapping_add(residuals[run - 1]);
            }
            let length = lengths[run] as usize + 1;
            let (these, behind) = rest
                .split_at_mut_checked(length)
                .ok_or(Malformed("runs longer than their mini-block"))?;
            these.fill(value);
            rest = behind;
        }
        if rest.is_empty() {
            Ok(())
        } else {
            Err(Malformed("runs shorter than their mini-block"))
        }
    }
}

#[inline]
fn residual_at(bytes: &[u8], bit: usize, width: u32) -> Decoded<u64> {
    read_bits(bytes, bit, width).ok_or(Malformed("a mini-block ends early"))
}

/// Where the patches of a mini-block lie.
struct Patches {
    count: usize,
    high_width: u32,
    positions_bit: usize,
    highs_bit: usize,
}

impl Patches {
    fn read(bytes: &[u8], start: usize) -> Decoded<Self> {
        let &[count, high_width] = bytes
            .get(start..)
            .and_then(|bytes| bytes.first_chunk::<TWO_BYTES>())
            .ok_or(Malformed("patches end early"))?;
        let count = usize::from(count);
        let high_width = u32::from(high_width);
        if high_width > 64 {
            return Err(Malformed("patches wider than 64 bits"));
        }
        let positions = start + TWO_BYTES;
        Ok(Self {
            count,
            high_width,
            positions_bit: positions * 8,
            highs_bit: (positions + packed_bytes(count, POSITION_BITS)) * 8,
        })
    }

    fn bytes(count: usize, high_width: u32) -> usize {
        TWO_BYTES + packed_bytes(count, POSITION_BITS) + packed_bytes(count, high_width)
    }

    #[inline]
    fn position(&self, bytes: &[u8], index: usize) -> Decoded<usize> {
        let bit = self.positions_bit + index * POSITION_BITS as usize;
        read_bits(bytes, bit, POSITION_BITS)
            .map(|position| position as usize)
            .ok_or(Malformed("patches end early"))
    }

    #[inline]
    fn high(&self, bytes: &[u8], index: usize) -> Decoded<u64> {
        let bit = self.highs_bit + index * self.high_width as usize;
        read_bits(bytes, bit, self.high_width)
            .map(unfold)
            .ok_or(Malformed("patches end early"))
    }

    /// What the first residual's patch adds, if it has one (positions ascend).
    fn at_zero(&self, bytes: &[u8]) -> Decoded<u64> {
        if self.count > 0 && self.position(bytes, 0)? == 0 {
            self.high(bytes, 0)
        } else {
            Ok(0)
        }
    }
}

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
struct Plan {
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
trait Lane: Copy + Ord + Default {
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
            #[inline(always)]
            fn of(value: u64) -> Self {
                value as Self
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn widen(self) -> u64 {
                i64::from(self) as u64
            }
            #[inline(always)]
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
                .map(|delta| if *delta < L::ZERO { L::GREATEST } else { *delta })
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
        let bytes =
            packed_bytes(source.len(), width as u32) + Patches::bytes(patches, high_width);
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
fn runs<L: Lane>(deltas: &[L], first: u64, changes: usize) -> Plan {
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
    let bytes = TWO_BYTES + packed_bytes(changes + 1, plan.high_width) + packed_bytes(changes, width);
    plan.bits = bytes * 8;
    plan
}

fn write_runs(plan: &Plan, values: &[u64], payload: &mut Vec<u8>) {
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
