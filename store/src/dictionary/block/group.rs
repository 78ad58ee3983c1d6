//! Reading the groups of a block, and the numbers that blocks are made of.

use super::{ESCAPE, LONG_TERM_BYTES, SLACK_BYTES};
use crate::codec::Malformed;
use crate::codec::varint::read_varint;
use crate::dictionary::TermBytes;
use std::cmp::Ordering;

/// A group of a block being read; its first term is prefix, suffix and tail, one after another.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// Part of the block's head.
    pub(super) prefix: &'a [u8],
    pub(super) suffix: &'a [u8],
    /// The tail, and what follows it in the block.
    pub(super) tail: &'a [u8],
    pub(super) tail_length: usize,
    /// Of the first term.
    pub(super) annotation: u32,
    pub(super) annotated: bool,
    pub(super) terms: usize,
    /// The entries, and what follows them in the block.
    pub(super) rest: &'a [u8],
}

impl<'a> Group<'a> {
    /// Terms in the group.
    pub fn terms(&self) -> usize {
        self.terms
    }

    /// Whether the first term is after `target`, which begins with `shared` bytes of the block's head
    /// (and no more) and is not before the head.
    pub(super) fn first_is_after(&self, target: TermBytes<'_>, shared: usize) -> bool {
        if self.prefix.len() > shared {
            // This term goes on as the head does; the target is greater there already.
            return false;
        }
        let mut rest = &target.lexical[self.prefix.len()..];
        for part in [self.suffix, &self.tail[..self.tail_length]] {
            let common = part.len().min(rest.len());
            match part[..common].cmp(&rest[..common]) {
                Ordering::Equal if common < part.len() => return true,
                Ordering::Equal => rest = &rest[common..],
                order => return order == Ordering::Greater,
            }
        }
        rest.is_empty() && self.annotation > target.annotation
    }

    /// Writes the first term without its tail into a buffer and goes on from there.
    pub fn walk(&self, buffer: &mut [u8]) -> Result<Walk<'a>, Malformed> {
        let length = self.prefix.len() + self.suffix.len();
        let stem = buffer.get_mut(..length).ok_or(TOO_LONG)?;
        let (prefix, suffix) = stem.split_at_mut(self.prefix.len());
        prefix.copy_from_slice(self.prefix);
        suffix.copy_from_slice(self.suffix);
        Ok(Walk {
            rest: self.rest,
            tail: self.tail,
            tail_length: self.tail_length,
            annotated: self.annotated,
            annotation: self.annotation,
            length,
        })
    }

    /// The place in the group of the term that equals `target`; the buffer as for [`Walk::step`].
    pub(super) fn find(
        &self,
        target: TermBytes<'_>,
        buffer: &mut [u8],
    ) -> Result<Option<usize>, Malformed> {
        let Some(stem) = target.lexical.strip_suffix(&self.tail[..self.tail_length]) else {
            return Ok(None);
        };
        let mut walk = self.walk(buffer)?;
        for index in 0..self.terms {
            if index > 0 {
                walk.step(buffer)?;
            }
            // The last bytes differ most often.
            if walk.length == stem.len()
                && walk.annotation == target.annotation
                && buffer[..walk.length].last() == stem.last()
                && buffer[..walk.length] == *stem
            {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }
}

/// A position in a group; the term's bytes, without the tail, stand in a buffer of the caller.
#[derive(Clone, Copy, Debug)]
pub struct Walk<'a> {
    rest: &'a [u8],
    /// The tail, and what follows it in the block.
    tail: &'a [u8],
    tail_length: usize,
    annotated: bool,
    annotation: u32,
    /// Bytes of the term without the tail.
    length: usize,
}

/// What makes a term of the one before it.
struct Entry<'a> {
    /// Bytes that are kept.
    shared: usize,
    /// Bytes that are added: `rest` begins with them.
    add: usize,
    /// Whether, instead, the byte behind the kept ones is kept and incremented.
    increment: bool,
    rest: &'a [u8],
}

const ENDS_WITHIN_TERM: Malformed = Malformed("a block ends within a term");
const TOO_LONG: Malformed = Malformed("a term that is longer than the longest");

impl<'a> Walk<'a> {
    /// Goes on to the next term. The caller knows how many there are.
    ///
    /// The buffer should have [`SLACK_BYTES`] more than the block's longest term: short additions are copied
    /// as blocks of that size, which takes a quarter of the time.
    #[inline]
    pub fn step(&mut self, buffer: &mut [u8]) -> Result<(), Malformed> {
        let entry = self.entry()?;
        if entry.increment {
            increment(buffer, entry.shared)?;
        } else {
            copy_short(entry.rest, entry.add, buffer, entry.shared)?;
        }
        self.pass(&entry)
    }

    /// Goes on by several terms, as so many [`Walk::step`]s do. Long additions are copied only as far as the terms
    /// behind them keep them: of long texts that is little.
    #[inline]
    pub fn advance(&mut self, terms: u64, buffer: &mut [u8]) -> Result<(), Malformed> {
        // What was added last and is long: where it belongs, and as much of it as is kept so far.
        let (mut at, mut kept): (usize, &[u8]) = (0, &[]);
        for _ in 0..terms {
            let entry = self.entry()?;
            if !kept.is_empty() {
                let still = (entry.shared + usize::from(entry.increment)).saturating_sub(at);
                kept = &kept[..kept.len().min(still)];
                if entry.increment || entry.add > SLACK_BYTES {
                    copy(kept, buffer, at)?;
                    kept = &[];
                }
            }
            if entry.increment {
                increment(buffer, entry.shared)?;
            } else if entry.add > SLACK_BYTES {
                at = entry.shared;
                kept = entry.rest.get(..entry.add).ok_or(ENDS_WITHIN_TERM)?;
            } else {
                copy_short(entry.rest, entry.add, buffer, entry.shared)?;
            }
            self.pass(&entry)?;
        }
        copy(kept, buffer, at)
    }

    /// The next entry.
    #[inline]
    fn entry(&self) -> Result<Entry<'a>, Malformed> {
        let (&header, mut rest) = self
            .rest
            .split_first()
            .ok_or(Malformed("a block ends within a group"))?;
        let mut cut = usize::from(header >> 4);
        let mut add = usize::from(header & 15);
        let mut increment = cut > 0 && add == 0;
        if cut == ESCAPE || add == ESCAPE {
            increment &= add != ESCAPE;
            (cut, add, rest) = read_escaped(cut, add, rest)?;
        }
        let shared = self
            .length
            .checked_sub(cut)
            .ok_or(Malformed("more bytes cut than there are"))?;
        Ok(Entry {
            shared,
            add,
            increment,
            rest,
        })
    }

    /// Goes beyond an entry whose bytes are in the buffer.
    #[inline]
    fn pass(&mut self, entry: &Entry<'a>) -> Result<(), Malformed> {
        self.length = entry.shared + if entry.increment { 1 } else { entry.add };
        let mut rest = &entry.rest[entry.add..];
        if self.annotated {
            let mut at = 0;
            self.annotation = read_annotation(rest, &mut at)?;
            rest = &rest[at..];
        }
        self.rest = rest;
        Ok(())
    }

    /// Writes the tail into the buffer; the whole term. The walk can go on.
    #[inline]
    pub fn term<'b>(&self, buffer: &'b mut [u8]) -> Result<TermBytes<'b>, Malformed> {
        copy_short(self.tail, self.tail_length, buffer, self.length)?;
        let lexical = buffer
            .get(..self.length + self.tail_length)
            .ok_or(TOO_LONG)?;
        Ok(TermBytes {
            lexical,
            annotation: self.annotation,
        })
    }

    /// Bytes of the block that were not read.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

/// Copies the first `length` bytes of `from` to `to[at..]`.
#[inline]
fn copy_short(from: &[u8], length: usize, to: &mut [u8], at: usize) -> Result<(), Malformed> {
    if length <= SLACK_BYTES
        && let Some(from) = from.first_chunk::<SLACK_BYTES>()
        && let Some(to) = to.get_mut(at..at + SLACK_BYTES)
    {
        to.copy_from_slice(from);
        return Ok(());
    }
    copy(from.get(..length).ok_or(ENDS_WITHIN_TERM)?, to, at)
}

#[inline]
fn copy(from: &[u8], to: &mut [u8], at: usize) -> Result<(), Malformed> {
    to.get_mut(at..at + from.len())
        .ok_or(TOO_LONG)?
        .copy_from_slice(from);
    Ok(())
}

/// Counts a byte up.
#[inline]
fn increment(buffer: &mut [u8], at: usize) -> Result<(), Malformed> {
    let byte = buffer.get_mut(at).ok_or(TOO_LONG)?;
    *byte = byte.wrapping_add(1);
    Ok(())
}

#[cold]
fn read_escaped(
    mut cut: usize,
    mut add: usize,
    rest: &[u8],
) -> Result<(usize, usize, &[u8]), Malformed> {
    let mut at = 0;
    if cut == ESCAPE {
        cut += read_length(rest, &mut at)?;
    }
    if add == ESCAPE {
        add = read_length(rest, &mut at)?;
    }
    Ok((cut, add, &rest[at..]))
}

/// A number, which is most often one byte.
#[inline]
fn read_number(bytes: &[u8], at: &mut usize) -> Result<u64, Malformed> {
    match bytes.get(*at) {
        Some(&byte) if byte < 0x80 => {
            *at += 1;
            Ok(u64::from(byte))
        }
        _ => read_varint(bytes, at),
    }
}

/// A number that is no larger than a term that shares its block.
#[inline]
pub(super) fn read_length(bytes: &[u8], at: &mut usize) -> Result<usize, Malformed> {
    match read_number(bytes, at)? {
        length if length <= LONG_TERM_BYTES as u64 => Ok(length as usize),
        _ => Err(Malformed("a term that is longer than a block allows")),
    }
}

#[inline]
pub(super) fn read_bytes<'a>(bytes: &'a [u8], at: &mut usize) -> Result<&'a [u8], Malformed> {
    let length = read_length(bytes, at)?;
    let found = bytes.get(*at..*at + length).ok_or(ENDS_WITHIN_TERM)?;
    *at += length;
    Ok(found)
}

#[inline]
pub(super) fn read_annotation(bytes: &[u8], at: &mut usize) -> Result<u32, Malformed> {
    u32::try_from(read_number(bytes, at)?).map_err(|_| Malformed("an impossible annotation"))
}
