//! Looking up terms in ascending order: what a load does with a new, sorted vocabulary and an old dictionary.
//!
//! A cursor holds one decoded group. A term that is not beyond it is found there; otherwise the search goes
//! on from the group, with steps that double, so that dense lookups cost what a merge costs and rare
//! ones what a binary search costs.

use super::TermBytes;
use super::block::{Block, GROUP_TERMS, SLACK_BYTES};
use super::reader::Dictionary;
use crate::codec::Malformed;
use crate::error::Result;
use crate::id::{Kind, TermId};
use crate::term::TermKey;
use std::cmp::Ordering;

/// A position among a dictionary's terms of one kind, which only goes forward.
#[derive(Debug)]
pub struct DictionaryCursor {
    dictionary: Dictionary,
    kind: Kind,
    section: usize,
    /// The group that the cursor is in; `None` while the terms sought are before all that there are.
    group: Option<Place>,
    /// The group's terms; empty if the group is a single term (perhaps a long one: it is compared where it
    /// is, not copied).
    terms: Vec<Decoded>,
    /// The first term of the group that is not before the term sought last.
    at: usize,
    /// Bytes of the decoded terms.
    bytes: Vec<u8>,
    /// For decoding.
    buffer: Vec<u8>,
    /// The annotation that was looked up last, and its number if the dictionary has it.
    annotation: Option<(Vec<u8>, Option<u32>)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    /// Number of the block in the section.
    block: u64,
    /// Number of the group in the block.
    number: usize,
    /// Place of the group's first term in the section.
    first: u64,
}

#[derive(Clone, Copy, Debug)]
struct Decoded {
    start: usize,
    end: usize,
    annotation: u32,
}

/// Where a search went.
enum Found {
    /// All terms are after the target.
    Nothing,
    /// A group, now decoded, has the target if any has.
    Group,
    /// Only the single term of a block, which the cursor is at, could be the target; whether it is.
    Single(bool),
}

impl DictionaryCursor {
    pub(super) fn new(dictionary: Dictionary, kind: Kind, section: usize) -> Self {
        Self {
            dictionary,
            kind,
            section,
            group: None,
            terms: Vec::new(),
            at: 0,
            bytes: Vec::new(),
            buffer: Vec::new(),
            annotation: None,
        }
    }

    /// The id of a term, if the dictionary has it. Terms must be sought in term order; the same one may be
    /// sought again.
    ///
    /// # Panics
    /// If the key is of another kind than the cursor.
    pub fn seek(&mut self, key: &TermKey<'_>) -> Result<Option<TermId>> {
        assert_eq!(key.kind, self.kind, "a cursor of one kind");
        let Some(annotation) = self.annotation_number(key.annotation)? else {
            return Ok(None);
        };
        let target = TermBytes {
            lexical: key.lexical,
            annotation,
        };
        // Where most terms sought are there, it is the next one, and one comparison will do.
        let next = self.terms.get(self.at + 1);
        if next.is_some_and(|next| self.bytes_of(next) == target) {
            self.at += 1;
            return Ok(self.id());
        }
        if self.is_beyond_group(target) {
            match self.search(target)? {
                Found::Nothing | Found::Single(false) => return Ok(None),
                Found::Single(true) => return Ok(self.id()),
                Found::Group => {}
            }
        }
        while let Some(term) = self.terms.get(self.at) {
            match self.bytes_of(term).cmp(&target) {
                Ordering::Less => self.at += 1,
                Ordering::Equal => return Ok(self.id()),
                Ordering::Greater => break,
            }
        }
        Ok(None)
    }

    fn annotation_number(&mut self, bytes: &[u8]) -> Result<Option<u32>> {
        match &self.annotation {
            Some((known, number)) if known == bytes => Ok(*number),
            _ => {
                let number = self.dictionary.annotation_number(self.section, bytes)?.ok();
                self.annotation = Some((bytes.to_vec(), number));
                Ok(number)
            }
        }
    }

    /// The id of the term that the cursor is at.
    fn id(&self) -> Option<TermId> {
        let place = self.group?.first + self.at as u64;
        Some(self.dictionary.id(self.section, place))
    }

    fn bytes_of(&self, term: &Decoded) -> TermBytes<'_> {
        TermBytes {
            lexical: &self.bytes[term.start..term.end],
            annotation: term.annotation,
        }
    }

    fn is_beyond_group(&self, target: TermBytes<'_>) -> bool {
        let last = self.terms.last();
        last.is_none_or(|last| self.bytes_of(last) < target)
    }

    /// Goes on to the group that has the target if any has.
    fn search(&mut self, target: TermBytes<'_>) -> Result<Found> {
        let from = self.group.map_or(0, |group| group.block);
        let found = self.dictionary.block_for(self.section, target, from)?;
        let Some((index, shared)) = found else {
            return Ok(Found::Nothing);
        };
        let placed = self.dictionary.block(self.section, index)?;
        let malformed = |malformed: Malformed| self.dictionary.malformed(placed.offset, malformed);
        let from = match self.group {
            Some(group) if group.block == index => group.number,
            _ => 0,
        };
        let number = placed
            .block
            .group_for(target, shared, from)
            .map_err(malformed)?;
        let new = Place {
            block: index,
            number,
            first: placed.first + (number * GROUP_TERMS) as u64,
        };
        if self.group == Some(new) && !self.terms.is_empty() {
            // The target is after this group's last term and before the next one's first.
            self.at = self.terms.len();
            return Ok(Found::Group);
        }
        self.terms.clear();
        self.at = 0;
        self.group = Some(new);
        if placed.block.terms() == 1 {
            let found = placed
                .block
                .find(target, shared, &mut [])
                .map_err(malformed)?;
            return Ok(Found::Single(found.is_some()));
        }
        let decoded = decode_group(&placed.block, number, &mut self.buffer, &mut self.bytes);
        self.terms = decoded.map_err(malformed)?;
        Ok(Found::Group)
    }
}

/// Decodes a group; `bytes` gets its terms one after another.
fn decode_group(
    block: &Block<'_>,
    number: usize,
    buffer: &mut Vec<u8>,
    bytes: &mut Vec<u8>,
) -> std::result::Result<Vec<Decoded>, Malformed> {
    let group = block.group(number)?;
    buffer.resize(block.longest() + SLACK_BYTES, 0);
    bytes.clear();
    let mut terms = Vec::with_capacity(group.terms());
    let mut walk = group.walk(buffer)?;
    loop {
        let term = walk.term(buffer)?;
        let start = bytes.len();
        bytes.extend_from_slice(term.lexical);
        terms.push(Decoded {
            start,
            end: bytes.len(),
            annotation: term.annotation,
        });
        if terms.len() == group.terms() {
            return Ok(terms);
        }
        walk.step(buffer)?;
    }
}
