//! The directory of a section: where its blocks are, and enough of each to search without parsing it.
//!
//! # Byte map of an entry (24 bytes, little-endian)
//!
//! ```text
//! 0    8   place of the block's first term in the section
//! 8    8   payload offset of the block, which begins with its first term's bytes
//! 16   4   length of the first term in bytes
//! 20   4   annotation of the first term
//! ```
//!
//! A last entry stands behind those of the blocks: the section's number of terms, the end of its blocks, and
//! zeros. So an entry and the one behind it say all of a block. Entries are read where they are mapped.

use super::SECTIONS;
use crate::id::PAYLOAD_MAX;

const FIRST_AT: usize = 0;
const OFFSET_AT: usize = FIRST_AT + 8;
const HEAD_LENGTH_AT: usize = OFFSET_AT + 8;
const HEAD_ANNOTATION_AT: usize = HEAD_LENGTH_AT + 4;
/// Bytes of an entry.
pub const ENTRY_BYTES: usize = HEAD_ANNOTATION_AT + 4;
const _: () = assert!(ENTRY_BYTES == 24);

/// What the directory says of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Place of the first term in the section.
    pub first: u64,
    /// Payload offset of the block.
    pub offset: u64,
    /// Bytes of the first term.
    pub head_length: u32,
    /// Annotation of the first term.
    pub head_annotation: u32,
}

impl Entry {
    pub fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[FIRST_AT..OFFSET_AT].copy_from_slice(&self.first.to_le_bytes());
        bytes[OFFSET_AT..HEAD_LENGTH_AT].copy_from_slice(&self.offset.to_le_bytes());
        bytes[HEAD_LENGTH_AT..HEAD_ANNOTATION_AT].copy_from_slice(&self.head_length.to_le_bytes());
        bytes[HEAD_ANNOTATION_AT..].copy_from_slice(&self.head_annotation.to_le_bytes());
        bytes
    }

    /// Whether there is nothing where a first term would be, as in a directory's last entry.
    pub fn has_no_head(self) -> bool {
        self.head_length == 0 && self.head_annotation == 0
    }

    #[inline]
    pub fn from_bytes(bytes: &[u8; ENTRY_BYTES]) -> Self {
        Self {
            first: number(bytes, FIRST_AT),
            offset: number(bytes, OFFSET_AT),
            head_length: number(bytes, HEAD_LENGTH_AT) as u32,
            head_annotation: (number(bytes, HEAD_LENGTH_AT) >> u32::BITS) as u32,
        }
    }
}

/// The eight bytes at an offset that is known to be inside.
#[inline]
fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("eight bytes"))
}

/// What the trailer says of a section.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Section {
    /// Ordinal of the first term.
    pub first: u64,
    /// Number of terms.
    pub terms: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Payload offset of the first block.
    pub start: u64,
    /// Payload offset of the directory.
    pub directory: u64,
}

/// The end of a dictionary's payload.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Trailer {
    /// The sections, by [`crate::id::Kind::VOCABULARY`].
    pub sections: [Section; SECTIONS],
    /// Number of annotations.
    pub annotations: u64,
    /// Payload offset of the table of annotations.
    pub annotations_at: u64,
}

const SECTION_NUMBERS: usize = 5;
const TRAILER_NUMBERS: usize = SECTIONS * SECTION_NUMBERS + 2;
/// Bytes of the trailer.
pub const TRAILER_BYTES: usize = TRAILER_NUMBERS * 8;
/// Bytes of an offset in the table of annotations.
pub const ANNOTATION_OFFSET_BYTES: usize = 8;

impl Trailer {
    pub fn to_bytes(self) -> [u8; TRAILER_BYTES] {
        let mut bytes = [0; TRAILER_BYTES];
        let numbers = self
            .sections
            .iter()
            .flat_map(|s| [s.first, s.terms, s.blocks, s.start, s.directory])
            .chain([self.annotations, self.annotations_at]);
        for (place, number) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(numbers) {
            *place = number.to_le_bytes();
        }
        bytes
    }

    /// Reads a trailer and checks that its parts fill a payload of `length` bytes in the order of the byte
    /// map; otherwise says what does not hold.
    pub fn from_bytes(bytes: &[u8; TRAILER_BYTES], length: u64) -> Result<Self, &'static str> {
        let mut numbers = bytes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|place| u64::from_le_bytes(*place));
        let mut next = || numbers.next().expect("as many numbers as the trailer has");
        let mut trailer = Self::default();
        for section in &mut trailer.sections {
            *section = Section {
                first: next(),
                terms: next(),
                blocks: next(),
                start: next(),
                directory: next(),
            };
        }
        (trailer.annotations, trailer.annotations_at) = (next(), next());
        trailer.check(length)?;
        Ok(trailer)
    }

    fn check(&self, length: u64) -> Result<(), &'static str> {
        let mut at = 0;
        for (index, section) in self.sections.iter().enumerate() {
            let possible = section.start >= at && (index > 0 || section.start == 0);
            if !possible || section.start > self.sections[0].directory {
                return Err("sections are not one after another");
            }
            at = section.start;
            let last = section.first.checked_add(section.terms);
            if last.is_none_or(|last| last > PAYLOAD_MAX) {
                return Err("more ordinals than there are");
            }
            if section.blocks > section.terms || (section.blocks == 0) != (section.terms == 0) {
                return Err("an impossible number of blocks");
            }
        }
        let mut at = self.sections[0].directory;
        for section in &self.sections {
            if section.directory != at {
                return Err("directories are not one after another");
            }
            at = end_of_table(at, section.blocks, ENTRY_BYTES, length)
                .ok_or("a directory too long")?;
        }
        if self.annotations_at != at || self.annotations > u64::from(u32::MAX) {
            return Err("annotations are not behind the directories");
        }
        end_of_table(at, self.annotations, ANNOTATION_OFFSET_BYTES, length)
            .map(|_| ())
            .ok_or("a table of annotations too long")
    }

    /// Payload offset where a section's blocks end.
    pub fn end_of_blocks(&self, section: usize) -> u64 {
        match self.sections.get(section + 1) {
            Some(next) => next.start,
            None => self.sections[0].directory,
        }
    }
}

/// The end of a table of `rows` and one more, if it ends before the trailer of a payload.
fn end_of_table(at: u64, rows: u64, row_bytes: usize, length: u64) -> Option<u64> {
    let end = rows
        .checked_add(1)?
        .checked_mul(row_bytes as u64)?
        .checked_add(at)?;
    (end <= length.checked_sub(TRAILER_BYTES as u64)?).then_some(end)
}
