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

use super::bitpack::{packed_bytes, read_bits, unpack};
use super::varint::unfold;
use super::{Decoded, MINI_BLOCK_ROWS, Malformed};

mod encode;

pub use encode::MiniBlockEncoder;

/// Bits of a patch's position in its mini-block.
const POSITION_BITS: u32 = MINI_BLOCK_ROWS.ilog2();
/// Bytes before the positions of patches, and before the lengths of runs.
const TWO_BYTES: usize = 2;

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
            // In this sequence only one addition waits for the value before.
            value = value.wrapping_add(residual.wrapping_add(self.step));
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

#[cfg(test)]
mod tests;
