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

/// Values that a [`BitWriter`] takes; a multiple of 8, so that so many of one width end at a byte border.
const PORTION: usize = 128;

/// Gathers up to 128 numbers, bit by bit.
pub struct BitWriter {
    words: [u64; PORTION + 1],
    /// Full words.
    full: usize,
    pending: u64,
    pending_bits: u32,
}

impl Default for BitWriter {
    fn default() -> Self {
        Self {
            words: [0; PORTION + 1],
            full: 0,
            pending: 0,
            pending_bits: 0,
        }
    }
}

impl BitWriter {
    /// Takes the low `width` bits (at most 64) of `value`, whose other bits must be 0.
    ///
    /// # Panics
    /// If it has more than 128 numbers of 64 bits.
    #[inline]
    pub fn push(&mut self, value: u64, width: u32) {
        debug_assert!(value <= mask(width));
        // What does not go into this word; nothing where the word was empty. Widths vary from one number to
        // the next, so no branch here could be foreseen.
        let behind = value >> 1 >> (63 - self.pending_bits);
        let word = self.pending | value << self.pending_bits;
        self.words[self.full] = word.to_le();
        let bits = self.pending_bits + width;
        let is_full = bits / u64::BITS;
        self.full += is_full as usize;
        let select = u64::from(is_full).wrapping_neg();
        self.pending = (behind & select) | (word & !select);
        self.pending_bits = bits % u64::BITS;
    }

    /// Appends what was gathered to `out`; the last byte is filled with zeros.
    #[inline]
    pub fn finish(mut self, out: &mut Vec<u8>) {
        self.words[self.full] = self.pending.to_le();
        let bytes = self.full * size_of::<u64>() + self.pending_bits.div_ceil(8) as usize;
        out.extend_from_slice(&bytemuck::cast_slice(&self.words)[..bytes]);
    }
}

/// Appends `values`, each of which must fit `width` bits. What [`BitWriter`] does, with everything in
/// registers.
pub fn pack(values: &[u64], width: u32, out: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    for values in values.chunks(PORTION / 2) {
        let mut words = [0_u64; PORTION / 2 + 1];
        let (mut full, mut pending, mut pending_bits) = (0, 0_u64, 0);
        for value in values {
            debug_assert!(*value <= mask(width));
            pending |= value << pending_bits;
            words[full] = pending.to_le();
            pending_bits += width;
            if pending_bits >= u64::BITS {
                full += 1;
                pending_bits -= u64::BITS;
                pending = if pending_bits == 0 {
                    0
                } else {
                    value >> (width - pending_bits)
                };
            }
        }
        words[full] = pending.to_le();
        let bytes = packed_bytes(values.len(), width);
        out.extend_from_slice(&bytemuck::cast_slice(&words)[..bytes]);
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
#[inline]
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
    match WIDTHS.get(width as usize) {
        Some(unpack) => unpack(bytes, out),
        None => unpack_wide(bytes, width, out),
    }
    Ok(())
}

/// Unpacks as many values as the output takes.
type Unpack = fn(&[u8], &mut [u64]);

/// A function for each of the narrow widths: with the width known every shift is a constant, and values
/// are unpacked in vectors. (Measured: about twice as fast as one loop for all widths.)
const WIDTHS: [Unpack; 33] = [
    unpack_narrow::<0>,
    unpack_narrow::<1>,
    unpack_narrow::<2>,
    unpack_narrow::<3>,
    unpack_narrow::<4>,
    unpack_narrow::<5>,
    unpack_narrow::<6>,
    unpack_narrow::<7>,
    unpack_narrow::<8>,
    unpack_narrow::<9>,
    unpack_narrow::<10>,
    unpack_narrow::<11>,
    unpack_narrow::<12>,
    unpack_narrow::<13>,
    unpack_narrow::<14>,
    unpack_narrow::<15>,
    unpack_narrow::<16>,
    unpack_narrow::<17>,
    unpack_narrow::<18>,
    unpack_narrow::<19>,
    unpack_narrow::<20>,
    unpack_narrow::<21>,
    unpack_narrow::<22>,
    unpack_narrow::<23>,
    unpack_narrow::<24>,
    unpack_narrow::<25>,
    unpack_narrow::<26>,
    unpack_narrow::<27>,
    unpack_narrow::<28>,
    unpack_narrow::<29>,
    unpack_narrow::<30>,
    unpack_narrow::<31>,
    unpack_narrow::<32>,
];

/// Unpacks values of `WIDTH` bits, at most 32; the caller has checked that the slack is there.
fn unpack_narrow<const WIDTH: usize>(bytes: &[u8], out: &mut [u64]) {
    const GROUP: usize = 8;
    let low = mask(WIDTH as u32);
    let mut groups = out.chunks_exact_mut(GROUP);
    let mut start = 0;
    for group in &mut groups {
        // Eight values take `WIDTH` bytes, and the last word read begins before their end.
        let window = &bytes[start..start + WIDTH + size_of::<u64>()];
        for (index, value) in group.iter_mut().enumerate() {
            let bit = index * WIDTH;
            let word = window[bit / 8..]
                .first_chunk()
                .map_or(0, |word| u64::from_le_bytes(*word));
            *value = word >> (bit % 8) & low;
        }
        start += WIDTH;
    }
    for (index, value) in groups.into_remainder().iter_mut().enumerate() {
        let bit = index * WIDTH;
        let word = bytes[start + bit / 8..]
            .first_chunk()
            .map_or(0, |word| u64::from_le_bytes(*word));
        *value = word >> (bit % 8) & low;
    }
}

/// Unpacks values of any width; the caller has checked that the slack is there.
fn unpack_wide(bytes: &[u8], width: u32, out: &mut [u64]) {
    for (index, value) in out.iter_mut().enumerate() {
        *value = read_bits(bytes, index * width as usize, width).unwrap_or(0);
    }
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
