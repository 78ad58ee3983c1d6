//! A short array of numbers near to one another: the smallest, the width of what is above it, and the
//! rest packed. Mini-blocks' headers are kept in such arrays; an array of equal numbers takes two bytes.
//!
//! # Byte map
//!
//! ```text
//! least - base, folded varint | width in bits, 1 byte | count * width bits
//! ```
//!
//! `count` and `base` are known to the reader.

use super::bitpack::{bit_length, pack, packed_bytes, read_bits};
use super::varint::{fold, read_varint, unfold, write_varint};
use super::{Decoded, Malformed};
use std::ops::Range;

/// Where a packed array lies, and what is needed to read one of its numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct PackedArray {
    least: u64,
    width: u32,
    /// First byte of the packed numbers.
    start: usize,
}

impl PackedArray {
    /// Appends an array; `values` is left holding what is above the least.
    pub fn write(values: &mut [u64], base: u64, out: &mut Vec<u8>) {
        let least = values.iter().copied().min().unwrap_or(base);
        let mut all = 0;
        for value in values.iter_mut() {
            *value -= least;
            all |= *value;
        }
        write_varint(fold(least.wrapping_sub(base)), out);
        out.push(bit_length(all) as u8);
        pack(values, bit_length(all), out);
    }

    /// Reads the head of an array of `count` numbers at `*position` and moves the position behind it.
    pub fn read(bytes: &[u8], position: &mut usize, count: usize, base: u64) -> Decoded<Self> {
        let least = unfold(read_varint(bytes, position)?).wrapping_add(base);
        let width = u32::from(
            *bytes
                .get(*position)
                .ok_or(Malformed("an array ends early"))?,
        );
        if width > 64 {
            return Err(Malformed("an array of numbers wider than 64 bits"));
        }
        let start = *position + 1;
        *position = start + packed_bytes(count, width);
        Ok(Self {
            least,
            width,
            start,
        })
    }

    /// The number at `index`; `bytes` is what [`PackedArray::read`] was given.
    #[inline]
    pub fn get(&self, bytes: &[u8], index: usize) -> Decoded<u64> {
        if self.width == 0 {
            return Ok(self.least);
        }
        let above = read_bits(
            bytes,
            self.start * 8 + index * self.width as usize,
            self.width,
        )
        .ok_or(Malformed("an array ends early"))?;
        Ok(self.least.wrapping_add(above))
    }

    /// The sum of the numbers in a range of indices (wrapping, for what no encoder wrote).
    #[inline]
    pub fn sum(&self, bytes: &[u8], range: Range<usize>) -> Decoded<u64> {
        let mut sum = self.least.wrapping_mul(range.len() as u64);
        if self.width != 0 {
            let mut bit = self.start * 8 + range.start * self.width as usize;
            for _ in range {
                let above =
                    read_bits(bytes, bit, self.width).ok_or(Malformed("an array ends early"))?;
                sum = sum.wrapping_add(above);
                bit += self.width as usize;
            }
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::super::SLACK_BYTES;
    use super::*;

    #[test]
    fn arrays_come_back() {
        let arrays: [&[u64]; 6] = [
            &[7; 32],
            &[1, 2, 3],
            &[u64::MAX, 0, 5],
            &[u64::MAX],
            &[2 << 58, (2 << 58) + 1000, (8 << 58) + 3],
            &[0; 4],
        ];
        for base in [0, 5, 2 << 58, u64::MAX] {
            for values in arrays {
                let mut bytes = vec![9];
                PackedArray::write(&mut values.to_vec(), base, &mut bytes);
                let end = bytes.len();
                bytes.extend_from_slice(&[0xaa; SLACK_BYTES]);
                let mut position = 1;
                let array = PackedArray::read(&bytes, &mut position, values.len(), base)
                    .expect("a whole array");
                assert_eq!(position, end);
                let mut sum = 0_u64;
                for (index, value) in values.iter().enumerate() {
                    assert_eq!(array.get(&bytes, index), Ok(*value));
                    assert_eq!(array.sum(&bytes, 0..index), Ok(sum));
                    sum = sum.wrapping_add(*value);
                }
            }
        }
    }

    #[test]
    fn equal_numbers_near_the_base_take_two_bytes() {
        let mut bytes = Vec::new();
        PackedArray::write(&mut [1 << 61; 32], (1 << 61) + 3, &mut bytes);
        assert_eq!(bytes, [5, 0]);
    }

    #[test]
    fn what_ends_early_is_refused() {
        assert!(PackedArray::read(&[], &mut 0, 3, 0).is_err());
        assert!(PackedArray::read(&[1], &mut 0, 3, 0).is_err());
        assert!(PackedArray::read(&[1, 65], &mut 0, 3, 0).is_err());
        let array = PackedArray::read(&[1, 64], &mut 0, 3, 0).expect("a head");
        assert!(array.get(&[1, 64], 2).is_err());
        assert!(array.sum(&[1, 64], 0..3).is_err());
    }
}
