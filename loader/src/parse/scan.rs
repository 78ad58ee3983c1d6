//! Byte scanners of the fast lexer: sixteen bytes at a time where the processor is known to, beside twins that go
//! byte by byte, their oracle.
//!
//! What always holds: `data` has a line feed at or after `from`, and at least 16 more bytes behind that line
//! feed (a slice's padding), and every scanner stops at a line feed.

/// Bytes that an IRI may have anywhere behind its authority, and that cannot make `oxiri` refuse it:
/// unreserved characters, sub-delimiters, `:` `@` `/` `?`. (`#` may stand once, `%` and non-ASCII need a look.)
#[cfg(any(test, not(target_arch = "x86_64")))]
const IRI_PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0x21;
    while byte < 0x7F {
        plain[byte] = !matches!(
            byte as u8,
            b'"' | b'#'
                | b'%'
                | b'<'
                | b'>'
                | b'['
                | b'\\'
                | b']'
                | b'^'
                | b'`'
                | b'{'
                | b'|'
                | b'}'
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
#[cfg(any(test, not(target_arch = "x86_64")))]
pub(crate) fn iri_stop_bytewise(data: &[u8], from: usize) -> usize {
    let mut position = from;
    while IRI_PLAIN[data[position] as usize] {
        position += 1;
    }
    position
}

/// The first position from `from` with `"`, `\`, a line feed or a carriage return, and whether there are non-ASCII bytes before it.
#[cfg(any(test, not(target_arch = "x86_64")))]
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

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use {iri_stop_bytewise as iri_stop, literal_stop_bytewise as literal_stop};

#[cfg(target_arch = "x86_64")]
pub(crate) use vector::{iri_stop, literal_stop};

/// The same with SSE2, sixteen bytes at a time. Measured on LUBM's N-Triples against the twins: 8 instead of 18 ns
/// an IRI, 30 instead of 85 ns a literal, which is a third of the lexer's time.
#[cfg(target_arch = "x86_64")]
#[expect(
    unsafe_code,
    reason = "functions with target features need it to be called; nothing else here does"
)]
mod vector {
    use std::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_andnot_si128, _mm_cmpeq_epi8, _mm_cmpgt_epi8, _mm_cmplt_epi8,
        _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8, _mm_sub_epi8,
    };

    const BLOCK: usize = 16;

    #[inline]
    fn load(data: &[u8], at: usize) -> __m128i {
        bytemuck::pod_read_unaligned(&data[at..at + BLOCK])
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn equal(vector: __m128i, byte: u8) -> __m128i {
        _mm_cmpeq_epi8(vector, _mm_set1_epi8(byte as i8))
    }

    /// A bit for each byte that is not plain in an IRI.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn iri_stops(vector: __m128i) -> u32 {
        // Controls, space, and non-ASCII bytes, which are negative.
        let mut stop = _mm_cmplt_epi8(vector, _mm_set1_epi8(0x21));
        // `"` and `#`, `<` and `>` differ in one bit.
        let even = _mm_and_si128(vector, _mm_set1_epi8(!1));
        stop = _mm_or_si128(stop, equal(even, b'"'));
        let without_two = _mm_and_si128(vector, _mm_set1_epi8(!2));
        stop = _mm_or_si128(stop, equal(without_two, b'<'));
        stop = _mm_or_si128(stop, equal(vector, b'%'));
        stop = _mm_or_si128(stop, equal(vector, b'`'));
        // `{ | }` and DEL, but not `~`.
        let above_z = _mm_cmpgt_epi8(vector, _mm_set1_epi8(b'z' as i8));
        stop = _mm_or_si128(stop, _mm_andnot_si128(equal(vector, b'~'), above_z));
        // `[ \ ] ^`.
        let from_bracket = _mm_sub_epi8(vector, _mm_set1_epi8(b'[' as i8));
        let brackets = _mm_cmpeq_epi8(_mm_min_epu8(from_bracket, _mm_set1_epi8(3)), from_bracket);
        _mm_movemask_epi8(_mm_or_si128(stop, brackets)) as u32
    }

    /// A bit for each byte that ends the plain part of a literal, and one for each that is not ASCII.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn literal_stops(vector: __m128i) -> (u32, u32) {
        let mut stop = _mm_or_si128(equal(vector, b'"'), equal(vector, b'\\'));
        stop = _mm_or_si128(stop, equal(vector, b'\n'));
        stop = _mm_or_si128(stop, equal(vector, b'\r'));
        (
            _mm_movemask_epi8(stop) as u32,
            _mm_movemask_epi8(vector) as u32,
        )
    }

    /// The first position from `from` whose byte is not plain in an IRI.
    #[inline]
    pub(crate) fn iri_stop(data: &[u8], from: usize) -> usize {
        let mut position = from;
        loop {
            // SAFETY: every x86-64 processor has SSE2; the function has no other condition.
            let stops = unsafe { iri_stops(load(data, position)) };
            if stops != 0 {
                return position + stops.trailing_zeros() as usize;
            }
            position += BLOCK;
        }
    }

    /// The first position from `from` with `"`, `\`, a line feed or a carriage return, and whether there are
    /// non-ASCII bytes before it.
    #[inline]
    pub(crate) fn literal_stop(data: &[u8], from: usize) -> (usize, bool) {
        let mut position = from;
        let mut high = 0;
        loop {
            // SAFETY: every x86-64 processor has SSE2; the function has no other condition.
            let (stops, negative) = unsafe { literal_stops(load(data, position)) };
            if stops != 0 {
                let first = stops.trailing_zeros();
                high |= negative & ((1 << first) - 1);
                return (position + first as usize, high != 0);
            }
            high |= negative;
            position += BLOCK;
        }
    }
}

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
                    assert_eq!(
                        literal_stop(&data, from),
                        literal_stop_bytewise(&data, from),
                        "byte {byte:#x} at {plain} from {from}"
                    );
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
