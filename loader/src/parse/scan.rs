//! Byte scanners of the fast lexer: sixteen bytes at a time, beside twins that go byte by byte, their oracle.
//!
//! What always holds: `data` has a line feed at or after `from`, and at least 16 more bytes behind that line
//! feed (a slice's padding), and every scanner stops at a line feed.

/// Bytes that an IRI may have anywhere behind its authority, and that cannot make `oxiri` refuse it:
/// unreserved characters, sub-delimiters, `:` `@` `/` `?`. (`#` may stand once, `%` and non-ASCII need a look.)
#[cfg(test)]
const IRI_PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0x21;
    while byte < 0x7F {
        plain[byte] = !matches!(
            byte as u8,
            b'"' | b'#' | b'%' | b'<' | b'>' | b'[' | b'\\' | b']' | b'^' | b'`' | b'{' | b'|' | b'}'
        );
        byte += 1;
    }
    plain
};

/// Bytes of a blank node label that are plain: ASCII letters, digits, `_`, and inside it `-` and `.`.
pub(crate) const LABEL: [bool; 256] = {
    let mut label = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let ascii = byte as u8;
        label[byte] = ascii.is_ascii_alphanumeric() || matches!(ascii, b'_' | b'-' | b'.');
        byte += 1;
    }
    label
};

/// The first position from `from` whose byte is not plain in an IRI.
#[cfg(test)]
pub(crate) fn iri_stop_bytewise(data: &[u8], from: usize) -> usize {
    let mut position = from;
    while IRI_PLAIN[data[position] as usize] {
        position += 1;
    }
    position
}

/// The first position from `from` with `"`, `\`, a line feed or a carriage return, and whether there are non-ASCII bytes before it.
#[cfg(test)]
pub(crate) fn literal_stop_bytewise(data: &[u8], from: usize) -> (usize, bool) {
    let mut position = from;
    let mut ascii = true;
    loop {
        let byte = data[position];
        if matches!(byte, b'"' | b'\\' | b'\n' | b'\r') {
            return (position, !ascii);
        }
        ascii &= byte.is_ascii();
        position += 1;
    }
}

/// Bytes that are looked at together: one vector register of every x86-64 and 64-bit ARM.
const BLOCK: usize = 16;

/// The position of the first byte of a block whose lane is not zero.
#[inline]
fn first_set(lanes: [u8; BLOCK]) -> Option<usize> {
    let lanes = u128::from_le_bytes(lanes);
    let (low, high) = (lanes as u64, (lanes >> 64) as u64);
    if low != 0 {
        Some(low.trailing_zeros() as usize / 8)
    } else if high != 0 {
        Some(8 + high.trailing_zeros() as usize / 8)
    } else {
        None
    }
}

#[inline]
fn block(data: &[u8], at: usize) -> [u8; BLOCK] {
    data[at..at + BLOCK].try_into().expect("as long as a block")
}

/// The first position from `from` whose byte is not plain in an IRI.
#[inline]
pub(crate) fn iri_stop(data: &[u8], from: usize) -> usize {
    let mut position = from;
    loop {
        let bytes = block(data, position);
        // Without branches, so that the compiler makes vector instructions of it.
        let mut stops = [0; BLOCK];
        for (stop, byte) in stops.iter_mut().zip(bytes) {
            let outside = (byte < 0x21) | (byte > 0x7E);
            // `"` and `#`, `<` and `>` differ in one bit.
            let single = ((byte & !1) == b'"') | ((byte & !2) == b'<') | (byte == b'%') | (byte == b'`');
            let brackets = byte.wrapping_sub(b'[') <= 3; // [ \ ] ^
            let braces = byte.wrapping_sub(b'{') <= 2; // { | }
            *stop = u8::from(outside | single | brackets | braces);
        }
        if let Some(first) = first_set(stops) {
            return position + first;
        }
        position += BLOCK;
    }
}

/// The first position from `from` with `"`, `\`, a line feed or a carriage return, and whether there may be
/// non-ASCII bytes before it.
#[inline]
pub(crate) fn literal_stop(data: &[u8], from: usize) -> (usize, bool) {
    let mut position = from;
    let mut high = 0;
    loop {
        let bytes = block(data, position);
        let mut stops = [0; BLOCK];
        for (stop, byte) in stops.iter_mut().zip(bytes) {
            *stop = u8::from(
                (byte == b'"') | (byte == b'\\') | (byte == b'\n') | (byte == b'\r'),
            );
        }
        high |= u128::from_le_bytes(bytes);
        if let Some(first) = first_set(stops) {
            return (position + first, high & HIGH_BITS != 0);
        }
        position += BLOCK;
    }
}

/// The highest bit of every byte.
const HIGH_BITS: u128 = u128::from_le_bytes([0x80; BLOCK]);

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte at every place of a vector, behind a plain beginning of every length.
    #[test]
    fn vectors_stop_where_bytes_do() {
        for plain in 0..40 {
            for byte in 0..=255_u8 {
                let mut data = vec![b'a'; plain];
                data.push(byte);
                data.extend_from_slice(b"zz\xC3\xA4\n");
                data.resize(data.len() + 64, b'"');
                for from in [0, plain / 2, plain] {
                    assert_eq!(
                        iri_stop(&data, from),
                        iri_stop_bytewise(&data, from),
                        "byte {byte:#x} at {plain} from {from}"
                    );
                    let (stop, high) = literal_stop(&data, from);
                    let (expected_stop, expected_high) = literal_stop_bytewise(&data, from);
                    assert_eq!(stop, expected_stop, "byte {byte:#x} at {plain} from {from}");
                    // Bytes of the last block behind the stop may make it look once more than needed.
                    assert!(high || !expected_high, "byte {byte:#x} at {plain} from {from}");
                }
            }
        }
    }

    /// What is plain is accepted by `oxiri` behind an authority, alone and in any company.
    #[test]
    fn plain_bytes_are_what_oxiri_takes() {
        for byte in 0..=127_u8 {
            let iri = format!("http://h/a{}b", char::from(byte));
            let accepted = oxiri::Iri::parse(iri.as_str()).is_ok();
            let plain = IRI_PLAIN[byte as usize] || byte == b'#';
            assert_eq!(plain, accepted, "byte {byte:#x}");
        }
    }
}
