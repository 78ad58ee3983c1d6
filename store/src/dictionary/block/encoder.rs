//! Encoding a block.

use super::{
    BLOCK_BYTES, BLOCK_TERMS, BlockShape, ESCAPE, GROUP_TERMS, LONG_TERM_BYTES, OFFSET_BYTES,
    shared_prefix,
};
use crate::codec::varint::write_varint;
use crate::dictionary::TermBytes;

/// Gathers a block's terms and encodes them.
#[derive(Debug, Default)]
pub struct BlockEncoder {
    terms: Vec<Pending>,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    start: usize,
    length: usize,
    /// Bytes shared with the term before it.
    shared: usize,
    annotation: u32,
}

impl BlockEncoder {
    /// Whether another term of this length must go to the next block.
    #[inline]
    pub fn is_full(&self, next_length: usize) -> bool {
        self.terms.len() == BLOCK_TERMS
            || self.bytes.len() >= BLOCK_BYTES
            || (!self.terms.is_empty() && next_length > LONG_TERM_BYTES)
            || (self.terms.len() == 1 && self.bytes.len() > LONG_TERM_BYTES)
    }

    /// The last term, if there is one.
    #[inline]
    pub fn last(&self) -> Option<TermBytes<'_>> {
        self.terms.last().map(|last| TermBytes {
            lexical: &self.bytes[last.start..],
            annotation: last.annotation,
        })
    }

    /// Adds a term, of which `shared` bytes are those of the last one.
    #[inline]
    pub fn push(&mut self, term: TermBytes<'_>, shared: usize) {
        self.terms.push(Pending {
            start: self.bytes.len(),
            length: term.lexical.len(),
            shared,
            annotation: term.annotation,
        });
        self.bytes.extend_from_slice(term.lexical);
    }

    /// Appends the block of the gathered terms, of which there is at least one, and forgets them.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> BlockShape {
        let head = &self.bytes[..self.terms[0].length];
        let shape = BlockShape {
            terms: self.terms.len(),
            head_length: head.len(),
            head_annotation: self.terms[0].annotation,
        };
        out.extend_from_slice(head);
        if shape.terms > 1 {
            self.encode_groups(out);
        }
        self.terms.clear();
        self.bytes.clear();
        shape
    }

    fn encode_groups(&self, out: &mut Vec<u8>) {
        let annotated = self
            .terms
            .iter()
            .any(|t| t.annotation != self.terms[0].annotation);
        let longest = self.terms.iter().map(|term| term.length).max();
        out.push(u8::from(annotated));
        write_varint(longest.expect("there are terms") as u64, out);
        let table = out.len();
        let groups = self.terms.len().div_ceil(GROUP_TERMS);
        out.resize(table + OFFSET_BYTES * (groups - 1), 0);
        let start = out.len();
        for (index, group) in self.terms.chunks(GROUP_TERMS).enumerate() {
            if index > 0 {
                let offset = u16::try_from(out.len() - start).expect("BLOCK_BYTES bounds a block");
                let at = table + OFFSET_BYTES * (index - 1);
                out[at..at + OFFSET_BYTES].copy_from_slice(&offset.to_le_bytes());
            }
            self.encode_group(group, index == 0, annotated, out);
        }
    }

    fn encode_group(&self, group: &[Pending], first: bool, annotated: bool, out: &mut Vec<u8>) {
        let tail = self.tail(group);
        let stem = |term: &Pending| &self.bytes[term.start..term.start + term.length - tail];
        let mut previous = stem(&group[0]);
        write_varint(tail as u64, out);
        out.extend_from_slice(&self.bytes[group[0].start + previous.len()..][..tail]);
        if !first {
            let head = &self.bytes[..self.terms[0].length];
            let shared = shared_prefix(head, previous);
            write_varint(shared as u64, out);
            write_varint((previous.len() - shared) as u64, out);
            out.extend_from_slice(&previous[shared..]);
            if annotated {
                write_varint(u64::from(group[0].annotation), out);
            }
        }
        for term in &group[1..] {
            let text = stem(term);
            let shared = term.shared.min(previous.len()).min(text.len());
            encode_entry(&previous[shared..], &text[shared..], out);
            if annotated {
                write_varint(u64::from(term.annotation), out);
            }
            previous = text;
        }
    }

    /// Bytes that all of the terms end with.
    fn tail(&self, group: &[Pending]) -> usize {
        let (first, others) = group.split_first().expect("a group has a term");
        let first = &self.bytes[first.start..first.start + first.length];
        let mut tail = if others.is_empty() { 0 } else { first.len() };
        for term in others.iter().rev() {
            let text = &self.bytes[term.start..term.start + term.length];
            let limit = tail.min(text.len());
            let pairs = first.iter().rev().zip(text.iter().rev());
            tail = pairs.take(limit).take_while(|(a, b)| a == b).count();
            if tail == 0 {
                break;
            }
        }
        tail
    }
}

/// Appends an entry that replaces the end of a term by another one.
#[inline]
fn encode_entry(old: &[u8], new: &[u8], out: &mut Vec<u8>) {
    let cut = old.len();
    let add = match (old, new) {
        ([old, ..], [new]) if *new == old.wrapping_add(1) => 0,
        ([_, ..], []) => ESCAPE,
        _ => new.len().min(ESCAPE),
    };
    out.push((cut.min(ESCAPE) << 4 | add) as u8);
    if cut >= ESCAPE {
        write_varint((cut - ESCAPE) as u64, out);
    }
    if add == ESCAPE {
        write_varint(new.len() as u64, out);
    }
    if add > 0 {
        out.extend_from_slice(new);
    }
}
