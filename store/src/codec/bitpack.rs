//! Numbers of a fixed width in bits, one behind the other: value `i` of width `w` begins at bit `i * w`,
//! bits count from the low end of each byte. So a single value is read without its neighbours, and eight
//! values take exactly `w` bytes.
//!
//! Readers load eight bytes at a time, so what they are given must reach [`SLACK_BYTES`] beyond the last
//! packed bit; they check that and never read elsewhere.

use super::{Malformed, SLACK_BYTES};

/// A mask of the low `width` bits (0 to 64).
#[inline]
pub const fn mask(width: u32) -> u64 {
    if width >= 64 {
        u64::MAX
    } else {
        (1 << width) - 1
    }
}

/// How many bits a value needs; 0 for 0.
#[inline]
pub const fn bit_length(value: u64) -> u32 {
    u64::BITS - value.leading_zeros()
}

/// Bytes that `count` values of `width` bits take.
#[inline]
pub const fn packed_bytes(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Appends numbers bit by bit to a byte vector.
pub struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    pending: u64,
    pending_bits: u32,
}

impl<'a> BitWriter<'a> {
    /// Begins at a byte border, behind what `out` holds.
    #[inline]
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self {
            out,
            pending: 0,
            pending_bits: 0,
        }
    }

    /// Appends the low `width` bits (at most 64) of `value`, whose other bits must be 0.
    #[inline]
    pub fn push(&mut self, value: u64, width: u32) {
        debug_assert!(value <= mask(width));
        self.pending |= value << (self.pending_bits & 63);
        let bits = self.pending_bits + width;
        if bits >= 64 {
            self.out.extend_from_slice(&self.pending.to_le_bytes());
            let taken = 64 - self.pending_bits;
            // Of a value of 64 bits at a border nothing is left, and a shift by 64 would be too far.
            self.pending = if taken == 64 { 0 } else { value >> taken };
            self.pending_bits = bits - 64;
        } else {
            self.pending_bits = bits;
        }
    }

    /// Fills the last byte with zeros.
    #[inline]
    pub fn finish(self) {
        let bytes = self.pending_bits.div_ceil(8) as usize;
        self.out
            .extend_from_slice(&self.pending.to_le_bytes()[..bytes]);
    }
}

/// Values that [`pack`] gathers before it hands their bytes on; a multiple of 64, so that a portion ends at
/// a byte border whatever the width is.
const PORTION: usize = 64;

/// Appends `values`, each of which must fit `width` bits.
pub fn pack(values: &[u64], width: u32, out: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    for values in values.chunks(PORTION) {
        let mut words = [0_u64; PORTION + 1];
        let (mut word, mut pending, mut pending_bits) = (0, 0_u64, 0_u32);
        for value in values {
            debug_assert!(*value <= mask(width));
            pending |= value << pending_bits;
            words[word] = pending.to_le();
            pending_bits += width;
            if pending_bits >= 64 {
                word += 1;
                pending_bits -= 64;
                pending = if pending_bits == 0 { 0 } else { value >> (width - pending_bits) };
            }
        }
        words[word] = pending.to_le();
        let bytes = packed_bytes(values.len(), width);
        out.extend_from_slice(&bytemuck::cast_slice::<u64, u8>(&words)[..bytes]);
    }
}

/// The `width` bits (at most 64) that begin at bit `bit`, or `None` if `bytes` ends less than
/// [`SLACK_BYTES`] behind the first of them.
#[inline]
pub fn read_bits(bytes: &[u8], bit: usize, width: u32) -> Option<u64> {
    let window = bytes.get(bit / 8..)?.first_chunk::<SLACK_BYTES>()?;
    let window = u128::from_le_bytes(*window);
    Some((window >> (bit % 8)) as u64 & mask(width))
}

/// Unpacks `out.len()` values.
pub fn unpack(bytes: &[u8], width: u32, out: &mut [u64]) -> Result<(), Malformed> {
    if width > 64 {
        return Err(Malformed("packed numbers wider than 64 bits"));
    }
    if width == 0 {
        out.fill(0);
        return Ok(());
    }
    if bytes.len() < packed_bytes(out.len(), width) + SLACK_BYTES {
        return Err(Malformed("packed numbers end early"));
    }
    let low = mask(width);
    if width <= 57 {
        let mut bit = 0;
        for value in out {
            let window = bytes[bit / 8..]
                .first_chunk::<8>()
                .map_or(0, |window| u64::from_le_bytes(*window));
            *value = window >> (bit % 8) & low;
            bit += width as usize;
        }
    } else {
        for (index, value) in out.iter_mut().enumerate() {
            *value = read_bits(bytes, index * width as usize, width)
                .ok_or(Malformed("packed numbers end early"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few numbers of a width, the extremes among them.
    fn samples(width: u32, count: usize) -> Vec<u64> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ u64::from(width);
        (0..count)
            .map(|index| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                match index % 5 {
                    0 => mask(width),
                    1 => 0,
                    _ => state.rotate_left(17) & mask(width),
                }
            })
            .collect()
    }

    /// The plain twin of [`pack`]: one bit after another.
    fn pack_bit_by_bit(values: &[u64], width: u32) -> Vec<u8> {
        let mut bytes = vec![0_u8; packed_bytes(values.len(), width)];
        for (index, value) in values.iter().enumerate() {
            for bit in 0..width as usize {
                let place = index * width as usize + bit;
                bytes[place / 8] |= ((value >> bit & 1) as u8) << (place % 8);
            }
        }
        bytes
    }

    #[test]
    fn every_width_and_many_lengths_come_back() {
        for width in 0..=64 {
            for count in [0, 1, 2, 7, 8, 9, 31, 63, 64, 127, 128] {
                let values = samples(width, count);
                let mut bytes = Vec::new();
                pack(&values, width, &mut bytes);
                assert_eq!(bytes, pack_bit_by_bit(&values, width), "width {width}");
                bytes.extend_from_slice(&[0xff; SLACK_BYTES]);
                let mut back = vec![1; count];
                unpack(&bytes, width, &mut back).expect("whole");
                assert_eq!(back, values, "width {width}, {count} values");
                for (index, value) in values.iter().enumerate() {
                    assert_eq!(
                        read_bits(&bytes, index * width as usize, width),
                        Some(*value)
                    );
                }
            }
        }
    }

    #[test]
    fn what_ends_early_is_refused() {
        assert!(unpack(&[0; 20], 65, &mut [0; 2]).is_err());
        assert!(unpack(&[0; 15 + SLACK_BYTES], 1, &mut [0; 128]).is_err());
        assert!(unpack(&[0; 16 + SLACK_BYTES], 1, &mut [0; 128]).is_ok());
        assert_eq!(read_bits(&[0; 15], 0, 3), None);
        assert_eq!(read_bits(&[0; 16], usize::MAX, 3), None);
    }

    #[test]
    fn bit_lengths() {
        assert_eq!([0, 1, 2, 255, u64::MAX].map(bit_length), [0, 1, 2, 8, 64]);
    }
}
