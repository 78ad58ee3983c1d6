//! Numbers of variable length, for headers: seven bits a byte, low bits first, the high bit says that
//! more follows. Values take one to ten bytes; signed ones are folded so that small magnitudes are short.

use super::Malformed;

/// The most bytes that one number takes.
pub const VARINT_BYTES_MAX: usize = 10;

/// Appends a number.
#[inline]
pub fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads a number at `*position` and moves the position behind it.
#[inline]
pub fn read_varint(bytes: &[u8], position: &mut usize) -> Result<u64, Malformed> {
    let mut value = 0;
    for index in 0..VARINT_BYTES_MAX {
        let byte = *bytes
            .get(*position + index)
            .ok_or(Malformed("a number ends early"))?;
        if index == VARINT_BYTES_MAX - 1 && byte > 1 {
            return Err(Malformed("a number of more than 64 bits"));
        }
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            *position += index + 1;
            return Ok(value);
        }
    }
    Err(Malformed("a number of more than 64 bits"))
}

/// Folds a signed number (in two's complement) so that small magnitudes become small numbers.
#[inline]
pub const fn fold(value: u64) -> u64 {
    (value << 1) ^ ((value as i64) >> 63) as u64
}

/// The inverse of [`fold`].
#[inline]
pub const fn unfold(value: u64) -> u64 {
    (value >> 1) ^ (value & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDGES: [u64; 11] = [
        0,
        1,
        127,
        128,
        16_383,
        16_384,
        1 << 56,
        1 << 63,
        (1 << 63) - 1,
        u64::MAX - 1,
        u64::MAX,
    ];

    #[test]
    fn numbers_come_back_and_positions_move() {
        let mut bytes = Vec::new();
        for value in EDGES {
            write_varint(value, &mut bytes);
        }
        let mut position = 0;
        for value in EDGES {
            assert_eq!(read_varint(&bytes, &mut position), Ok(value));
        }
        assert_eq!(position, bytes.len());
    }

    #[test]
    fn short_and_overlong_numbers_are_refused() {
        assert!(read_varint(&[], &mut 0).is_err());
        assert!(read_varint(&[0x80], &mut 0).is_err());
        assert!(read_varint(&[0xff; 12], &mut 0).is_err());
        let mut too_large = [0xff; 10];
        too_large[9] = 2;
        assert!(read_varint(&too_large, &mut 0).is_err());
    }

    #[test]
    fn folding_keeps_small_magnitudes_small() {
        assert_eq!(
            [0_i64, -1, 1, -2, 2].map(|value| fold(value as u64)),
            [0, 1, 2, 3, 4]
        );
        for value in EDGES {
            assert_eq!(unfold(fold(value)), value);
        }
    }
}
