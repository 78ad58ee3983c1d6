//! Text appended at memory speed: prepared fragments, small numbers, one growing buffer.
//!
//! The data is 170 bytes a line of which all but a few digits are the same in every line of a kind. So a
//! line is two or three copies of prepared fragments, in whole pieces of 64 bytes (a copy of a fixed size
//! is a few vector moves; a copy of a variable size is a call), and a number with its line end is one
//! store of eight bytes. What a copy writes beyond the fragment is overwritten by the next one.
//!
//! What always holds: bytes below `position` are the text; those above are scratch.

use std::io;

const PIECE_BYTES: usize = 64;

/// Numbers in lines are below this: the largest is a university that gave a degree.
pub(crate) const NUMBERS_BELOW: u32 = 1000;

/// For each number its ASCII digits, the first in the lowest byte, and their count in the top byte.
static DIGITS: [u32; NUMBERS_BELOW as usize] = {
    let mut table = [0; NUMBERS_BELOW as usize];
    let mut number = 0;
    while number < NUMBERS_BELOW {
        let ones = b'0' as u32 + number % 10;
        let tens = b'0' as u32 + number / 10 % 10;
        let hundreds = b'0' as u32 + number / 100;
        table[number as usize] = if number < 10 {
            (1 << 24) | ones
        } else if number < 100 {
            (2 << 24) | (ones << 8) | tens
        } else {
            (3 << 24) | (ones << 16) | (tens << 8) | hundreds
        };
        number += 1;
    }
    table
};

/// How a line ends after a number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending {
    Iri,
    Literal,
}

impl Ending {
    const BYTES: usize = 4;

    const fn word(self) -> u64 {
        match self {
            Self::Iri => u32::from_le_bytes(*b"> .\n") as u64,
            Self::Literal => u32::from_le_bytes(*b"\" .\n") as u64,
        }
    }
}

/// A piece of text that is appended many times.
#[derive(Clone, Debug)]
pub(crate) struct Fragment {
    /// A whole number of pieces, at least one.
    padded: Vec<u8>,
    length: usize,
}

impl Fragment {
    pub(crate) fn new(parts: &[&str]) -> Self {
        let mut padded = parts.concat().into_bytes();
        let length = padded.len();
        padded.resize(length.max(1).next_multiple_of(PIECE_BYTES), 0);
        Self { padded, length }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.padded[..self.length]
    }

    /// Becomes one fragment followed by another.
    pub(crate) fn set_joined(&mut self, first: &Self, second: &Self) {
        self.padded.clear();
        self.padded.extend_from_slice(first.as_bytes());
        self.padded.extend_from_slice(second.as_bytes());
        self.length = self.padded.len();
        self.padded
            .resize(self.length.max(1).next_multiple_of(PIECE_BYTES), 0);
    }

    /// Becomes `stem` followed by `number`.
    pub(crate) fn set_numbered(&mut self, stem: &Self, number: u32) {
        self.padded.clear();
        self.padded.extend_from_slice(stem.as_bytes());
        let digits = DIGITS[number as usize];
        let count = (digits >> 24) as usize;
        self.padded
            .extend_from_slice(&digits.to_le_bytes()[..count]);
        self.length = self.padded.len();
        self.padded
            .resize(self.length.next_multiple_of(PIECE_BYTES), 0);
    }
}

/// A growing text; emptied and filled again without giving its memory back.
#[derive(Debug, Default)]
pub(crate) struct TextBuffer {
    bytes: Vec<u8>,
    position: usize,
    lines: u64,
}

impl TextBuffer {
    /// The text.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.position]
    }

    /// Lines ended since the buffer was made, whether cleared since or not.
    pub(crate) fn lines(&self) -> u64 {
        self.lines
    }

    pub(crate) fn clear(&mut self) {
        self.position = 0;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, needed: usize) {
        let length = needed.max(self.bytes.len() * 2).max(1 << 21);
        self.bytes.resize(length, 0);
    }

    /// Room for `count` bytes after the text.
    #[inline]
    fn room(&mut self, count: usize) -> &mut [u8] {
        let end = self.position + count;
        if end > self.bytes.len() {
            self.grow(end);
        }
        &mut self.bytes[self.position..end]
    }

    /// Appends a fragment.
    #[inline]
    pub(crate) fn push(&mut self, fragment: &Fragment) {
        let room = self.room(fragment.padded.len());
        let (to, _) = room.as_chunks_mut::<PIECE_BYTES>();
        let (from, _) = fragment.padded.as_chunks::<PIECE_BYTES>();
        to[0] = from[0];
        if from.len() > 1 {
            to[1] = from[1];
            if from.len() > 2 {
                to[2..].copy_from_slice(&from[2..]);
            }
        }
        self.position += fragment.length;
    }

    /// Appends a fragment that ends a line.
    #[inline]
    pub(crate) fn line(&mut self, fragment: &Fragment) {
        self.push(fragment);
        self.lines += 1;
    }

    /// Appends a number below [`NUMBERS_BELOW`].
    #[inline]
    pub(crate) fn number(&mut self, number: u32) {
        let digits = DIGITS[number as usize];
        self.room(4).copy_from_slice(&digits.to_le_bytes());
        self.position += (digits >> 24) as usize;
    }

    /// Appends a number below [`NUMBERS_BELOW`] and the end of the line.
    #[inline]
    pub(crate) fn number_line(&mut self, number: u32, ending: Ending) {
        let digits = DIGITS[number as usize];
        let count = digits >> 24;
        let word = u64::from(digits & 0x00FF_FFFF) | (ending.word() << (8 * count));
        self.room(8).copy_from_slice(&word.to_le_bytes());
        self.position += count as usize + Ending::BYTES;
        self.lines += 1;
    }
}

/// Compressors write into such a buffer; their bytes are not counted as lines.
impl io::Write for TextBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.room(bytes.len()).copy_from_slice(bytes);
        self.position += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn numbers_are_decimal_without_padding() {
        let mut text = TextBuffer::default();
        let mut expected = Vec::new();
        for number in 0..NUMBERS_BELOW {
            text.number(number);
            text.number_line(number, Ending::Iri);
            text.number_line(number, Ending::Literal);
            write!(expected, "{number}{number}> .\n{number}\" .\n").expect("memory");
        }
        assert_eq!(text.as_bytes(), expected);
        assert_eq!(text.lines(), 2 * u64::from(NUMBERS_BELOW));
    }

    #[test]
    fn fragments_of_every_length_are_appended_whole() {
        let mut text = TextBuffer::default();
        let mut expected = Vec::new();
        for length in 0..400 {
            let part = "abcdefghijklmnopqrstuvw".repeat(20);
            let fragment = Fragment::new(&[&part[..length / 2], &part[length / 2..length]]);
            assert_eq!(fragment.as_bytes().len(), length);
            text.push(&fragment);
            expected.extend_from_slice(fragment.as_bytes());
        }
        assert_eq!(text.as_bytes(), expected);
        assert_eq!(text.lines(), 0);
    }

    #[test]
    fn grows_and_is_filled_again() {
        let mut text = TextBuffer::default();
        let fragment = Fragment::new(&["0123456789 .\n"]);
        for _ in 0..300_000 {
            text.line(&fragment);
        }
        assert_eq!(text.as_bytes().len(), 300_000 * fragment.as_bytes().len());
        assert!(
            text.as_bytes()
                .chunks(fragment.as_bytes().len())
                .all(|line| line == fragment.as_bytes())
        );
        text.clear();
        text.write_all(b"again").expect("memory");
        assert_eq!(text.as_bytes(), b"again");
        assert_eq!(text.lines(), 300_000);
    }

    #[test]
    fn a_numbered_fragment_may_cross_a_piece() {
        for stem_length in 0..200 {
            let stem = "s".repeat(stem_length);
            let mut fragment = Fragment::new(&[]);
            fragment.set_numbered(&Fragment::new(&[&stem]), 987);
            assert_eq!(fragment.as_bytes(), format!("{stem}987").as_bytes());
        }
    }
}
