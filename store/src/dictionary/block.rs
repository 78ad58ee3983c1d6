//! A block: a few hundred neighbouring terms, each written as what differs from the one before it.
//!
//! # Byte map
//!
//! ```text
//! block    head: the first term's bytes, whole
//!          nothing more if the block has one term; otherwise
//!          1        1 if the terms' annotations differ (then each entry has its own), else 0
//!          varint   bytes of the longest term
//!          2 * (groups - 1)   where each group but the first begins, in bytes from the first group's start
//!          groups, GROUP_TERMS terms each but the last
//! group    varint length, bytes of the tail: the bytes that all the group's terms end with
//!          its first term without the tail, but in the first group, whose first term is the head:
//!          varint   bytes shared with the head
//!          varint   length, bytes that follow those
//!          varint   annotation, if the entries have their own
//!          entries of the other terms, in order
//! entry    1        cut (high 4 bits), add (low 4 bits); 15 stands for a number that follows
//!          varint   cut - 15, if cut is 15
//!          varint   add, if add is 15
//!          add      bytes
//!          varint   annotation, if the entries have their own
//! ```
//!
//! An entry removes `cut` bytes from the end of the term before it (tails are left aside) and appends
//! `add` bytes. Where `cut` is not zero and `add` is zero, the byte at the cut is kept and *incremented*:
//! of 109 and 110, 1 and 2, `Student41` and `Student42` the second takes one byte. (Cutting without
//! appending, which tails make possible, is written with add 15 and a number of zero.) Numbered names are
//! what vocabularies are full of, and what follows the number (`.edu`, `.jpg`, `@example.com`) is the tail.
//!
//! How many terms the block has, how long its head is and the head's annotation stand in the directory. A
//! number is never larger than a block's bound, so a decoder allocates no more than
//! [`LONG_TERM_BYTES`].

mod encoder;
mod group;

use super::TermBytes;
use crate::codec::Malformed;
pub use encoder::BlockEncoder;
pub use group::{Group, Walk};
use group::{read_annotation, read_bytes, read_length};

/// Terms of a group: reading one term decodes half as many on average.
pub const GROUP_TERMS: usize = 32;
/// The most terms of a block.
pub const BLOCK_TERMS: usize = 16 * GROUP_TERMS;
/// A block that has this many bytes of terms gets no further one.
pub const BLOCK_BYTES: usize = 48 << 10;
/// A term longer than this has a block to itself, so that no neighbour is built from it.
pub const LONG_TERM_BYTES: usize = 4 << 10;
/// Bytes beyond the longest term that a buffer needs, see [`Walk::step`].
pub const SLACK_BYTES: usize = 16;

/// The number of four bits that says that a larger one follows.
const ESCAPE: usize = 15;
const OFFSET_BYTES: usize = 2;

// Offsets of groups fit two bytes: terms as they are, ten bytes for the numbers of each, tails.
const _: () = assert!(
    BLOCK_BYTES + LONG_TERM_BYTES + 10 * BLOCK_TERMS + 10 * BLOCK_TERMS / GROUP_TERMS <= 1 << 16
);

/// What a block's directory entry has to say of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockShape {
    /// Terms in the block, at least one.
    pub terms: usize,
    /// Bytes of the first term.
    pub head_length: usize,
    /// Annotation of the first term.
    pub head_annotation: u32,
}

/// How many bytes two strings begin with in common.
#[inline]
pub fn shared_prefix(a: &[u8], b: &[u8]) -> usize {
    const WORD: usize = size_of::<u64>();
    let mut shared = 0;
    let words = a.as_chunks::<WORD>().0.iter().zip(b.as_chunks::<WORD>().0);
    for (a, b) in words {
        let difference = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if difference != 0 {
            return shared + (difference.trailing_zeros() / u8::BITS) as usize;
        }
        shared += WORD;
    }
    let rest = a[shared..].iter().zip(&b[shared..]);
    shared + rest.take_while(|(a, b)| a == b).count()
}

/// A block being read.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    bytes: &'a [u8],
    shape: BlockShape,
    annotated: bool,
    /// Bytes of the longest term.
    longest: usize,
    /// Where the offsets of the groups begin.
    table: usize,
    /// Where the groups begin.
    groups: usize,
}

impl<'a> Block<'a> {
    /// Reads what stands before the groups of a block.
    pub fn parse(bytes: &'a [u8], shape: BlockShape) -> Result<Self, Malformed> {
        if shape.terms == 0 || shape.terms > BLOCK_TERMS {
            return Err(Malformed("an impossible number of terms"));
        }
        if shape.head_length > bytes.len() {
            return Err(Malformed("a first term that is longer than its block"));
        }
        let mut block = Self {
            bytes,
            shape,
            annotated: false,
            longest: shape.head_length,
            table: bytes.len(),
            groups: bytes.len(),
        };
        if shape.terms == 1 {
            return Ok(block);
        }
        let mut at = shape.head_length;
        block.annotated = match bytes.get(at) {
            Some(0) => false,
            Some(1) => true,
            _ => return Err(Malformed("no flag of annotations")),
        };
        at += 1;
        block.longest = read_length(bytes, &mut at)?;
        if block.longest > LONG_TERM_BYTES || block.longest < shape.head_length {
            return Err(Malformed("an impossible length of the longest term"));
        }
        block.table = at;
        block.groups = at + OFFSET_BYTES * (block.group_count() - 1);
        if block.groups > bytes.len() {
            return Err(Malformed("a table of groups that is longer than its block"));
        }
        Ok(block)
    }

    /// The first term.
    pub fn head(&self) -> TermBytes<'a> {
        TermBytes {
            lexical: &self.bytes[..self.shape.head_length],
            annotation: self.shape.head_annotation,
        }
    }

    /// All bytes of the block.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Terms in the block.
    pub fn terms(&self) -> usize {
        self.shape.terms
    }

    /// Bytes of the longest term.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Groups in the block.
    pub fn group_count(&self) -> usize {
        self.shape.terms.div_ceil(GROUP_TERMS)
    }

    /// Where a group begins; the block's end for the one after the last.
    pub fn group_start(&self, index: usize) -> Result<usize, Malformed> {
        if index == 0 {
            return Ok(self.groups);
        }
        let table = &self.bytes[self.table..self.groups];
        let start = match table.as_chunks::<OFFSET_BYTES>().0.get(index - 1) {
            Some(offset) => self.groups + usize::from(u16::from_le_bytes(*offset)),
            None => self.bytes.len(),
        };
        if start > self.bytes.len() {
            return Err(Malformed("a group beyond the end of its block"));
        }
        Ok(start)
    }

    /// A group, by its number in the block.
    pub fn group(&self, index: usize) -> Result<Group<'a>, Malformed> {
        let terms = self
            .shape
            .terms
            .saturating_sub(index * GROUP_TERMS)
            .min(GROUP_TERMS);
        if terms == 0 {
            return Err(Malformed("no such group"));
        }
        let head = self.head();
        if self.shape.terms == 1 {
            return Ok(Group {
                prefix: head.lexical,
                suffix: &[],
                tail: &[],
                tail_length: 0,
                annotation: head.annotation,
                annotated: false,
                terms,
                rest: &[],
            });
        }
        let mut at = self.group_start(index)?;
        let tail = read_bytes(self.bytes, &mut at)?;
        let mut group = Group {
            prefix: &[],
            suffix: &[],
            tail: &self.bytes[at - tail.len()..],
            tail_length: tail.len(),
            annotation: head.annotation,
            annotated: self.annotated,
            terms,
            rest: &[],
        };
        if index == 0 {
            group.prefix = head
                .lexical
                .strip_suffix(tail)
                .ok_or(Malformed("a first term without its group's tail"))?;
        } else {
            let shared = read_length(self.bytes, &mut at)?;
            group.prefix = head
                .lexical
                .get(..shared)
                .ok_or(Malformed("more bytes shared than the first term has"))?;
            group.suffix = read_bytes(self.bytes, &mut at)?;
            if self.annotated {
                group.annotation = read_annotation(self.bytes, &mut at)?;
            }
        }
        if group.prefix.len() + group.suffix.len() + tail.len() > self.longest {
            return Err(Malformed("a term that is longer than the longest"));
        }
        group.rest = &self.bytes[at..];
        Ok(group)
    }

    /// The number of the last group from `from` on whose first term is not after `target`; `from` if there is
    /// none. `shared` is how many bytes the block's head, which is not after the target, and the target
    /// begin with in common.
    pub fn group_for(
        &self,
        target: TermBytes<'_>,
        shared: usize,
        from: usize,
    ) -> Result<usize, Malformed> {
        let (mut low, mut high) = (from, self.group_count());
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.group(middle)?.first_is_after(target, shared) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(low)
    }

    /// The place in the block of the term that equals `target`; `shared` as for [`Block::group_for`], the
    /// buffer as for [`Walk::step`].
    pub fn find(
        &self,
        target: TermBytes<'_>,
        shared: usize,
        buffer: &mut [u8],
    ) -> Result<Option<usize>, Malformed> {
        if self.shape.terms == 1 {
            let head = self.head();
            let same_length = shared == head.lexical.len() && shared == target.lexical.len();
            return Ok((same_length && head.annotation == target.annotation).then_some(0));
        }
        let index = self.group_for(target, shared, 0)?;
        let found = self.group(index)?.find(target, buffer)?;
        Ok(found.map(|at| index * GROUP_TERMS + at))
    }

    /// The place in the block of the first term that is not before `target`, or the number of terms;
    /// `shared` and the buffer as for [`Block::find`].
    pub fn lower_bound(
        &self,
        target: TermBytes<'_>,
        shared: usize,
        buffer: &mut [u8],
    ) -> Result<usize, Malformed> {
        if self.shape.terms == 1 {
            return Ok(usize::from(self.head() < target));
        }
        let index = self.group_for(target, shared, 0)?;
        let group = self.group(index)?;
        let mut walk = group.walk(buffer)?;
        let mut at = 0;
        while walk.term(buffer)? < target {
            at += 1;
            if at == group.terms() {
                break;
            }
            walk.step(buffer)?;
        }
        Ok(index * GROUP_TERMS + at)
    }

    /// Goes to the term at a place in a block that has several; the buffer as for [`Walk::step`].
    pub fn walk_to(&self, place: usize, buffer: &mut [u8]) -> Result<Walk<'a>, Malformed> {
        let mut walk = self.group(place / GROUP_TERMS)?.walk(buffer)?;
        walk.advance((place % GROUP_TERMS) as u64, buffer)?;
        Ok(walk)
    }
}
