//! Reading a dictionary: terms to ids and ids to terms.

use super::block::{Block, BlockShape, GROUP_TERMS, SLACK_BYTES, shared_prefix};
use super::cursor::DictionaryCursor;
use super::directory::{ANNOTATION_OFFSET_BYTES, ENTRY_BYTES, Entry, TRAILER_BYTES, Trailer};
use super::{MAGIC, TermBytes, VERSION, section_of, section_of_bits};
use crate::codec::Malformed;
use crate::error::Result;
use crate::id::{Kind, PAYLOAD_BITS, TermId};
use crate::io::Storage;
use crate::io::checked::CheckedFile;
use crate::term::TermKey;
use std::cmp::Ordering;
use std::sync::Arc;

/// An open dictionary; clones share it.
#[derive(Clone, Debug)]
pub struct Dictionary {
    pub(super) file: CheckedFile,
    pub(super) trailer: Arc<Trailer>,
}

/// Tells an open dictionary from every other.
#[derive(Clone, Debug)]
pub struct DictionaryIdentity(Arc<Trailer>);

/// A block with its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedBlock<'a> {
    pub block: Block<'a>,
    /// Place of its first term in the section.
    pub first: u64,
    /// Payload offset.
    pub offset: u64,
}

impl PlacedBlock<'_> {
    /// Whether the term at a place of the section is in the block.
    pub fn contains(&self, place: u64) -> bool {
        (self.first..self.first + self.block.terms() as u64).contains(&place)
    }

    /// Place of the first term behind the group of a term in the block.
    #[inline]
    pub fn end_of_group(&self, place: u64) -> u64 {
        let group = (place - self.first) / GROUP_TERMS as u64;
        let inside = (group + 1) * GROUP_TERMS as u64;
        self.first + inside.min(self.block.terms() as u64)
    }
}

impl Dictionary {
    /// Opens a dictionary; reads and checks its trailer alone.
    pub fn open(storage: &dyn Storage, path: &str) -> Result<Self> {
        let file = CheckedFile::open(storage, path, MAGIC, VERSION)?;
        let length = file.len();
        let at = length.saturating_sub(TRAILER_BYTES as u64);
        let bytes = file.bytes(at..length)?;
        let trailer = match bytes.first_chunk() {
            Some(bytes) => Trailer::from_bytes(bytes, length),
            None => Err("no room for a trailer"),
        }
        .map_err(|reason| file.damaged(at, reason))?;
        Ok(Self {
            file,
            trailer: Arc::new(trailer),
        })
    }

    /// What no other dictionary has, but all clones of this one.
    pub fn identity(&self) -> DictionaryIdentity {
        DictionaryIdentity(Arc::clone(&self.trailer))
    }

    /// Whether this is the dictionary of that identity.
    pub fn is(&self, identity: &DictionaryIdentity) -> bool {
        Arc::ptr_eq(&self.trailer, &identity.0)
    }

    /// Length of the file's payload in bytes.
    pub fn bytes(&self) -> u64 {
        self.file.len()
    }

    /// Ordinal of the first term of a kind; 0 if it is no vocabulary kind.
    pub fn first(&self, kind: Kind) -> u64 {
        section_of(kind).map_or(0, |section| self.trailer.sections[section].first)
    }

    /// Number of terms of a kind.
    pub fn count(&self, kind: Kind) -> u64 {
        section_of(kind).map_or(0, |section| self.trailer.sections[section].terms)
    }

    /// Whether an id is one of this dictionary's.
    pub fn contains(&self, id: TermId) -> bool {
        self.locate(id).is_some()
    }

    /// The id of a term, if the dictionary has it.
    pub fn term_id(&self, key: &TermKey<'_>) -> Result<Option<TermId>> {
        let Some(section) = section_of(key.kind) else {
            return Ok(None);
        };
        let Ok(annotation) = self.annotation_number(section, key.annotation)? else {
            return Ok(None);
        };
        let target = TermBytes {
            lexical: key.lexical,
            annotation,
        };
        let Some((index, shared)) = self.block_for(section, target, 0)? else {
            return Ok(None);
        };
        let placed = self.block(section, index)?;
        if key.lexical.len() > placed.block.longest() {
            return Ok(None);
        }
        let found = with_buffer(&placed.block, |buffer| {
            placed.block.find(target, shared, buffer)
        })
        .map_err(|malformed| self.malformed(placed.offset, malformed))?;
        Ok(found.map(|inside| self.id(section, placed.first + inside as u64)))
    }

    /// The first id of the key's kind whose term is the key or after it; one past the last id of the
    /// kind if there is none. If the kind is no vocabulary kind, the first possible id of the kind.
    pub fn lower_bound(&self, key: &TermKey<'_>) -> Result<TermId> {
        let Some(section) = section_of(key.kind) else {
            return Ok(TermId::first_of(key.kind));
        };
        let annotation = match self.annotation_number(section, key.annotation)? {
            Ok(number) | Err(number) => number,
        };
        let target = TermBytes {
            lexical: key.lexical,
            annotation,
        };
        let Some((index, shared)) = self.block_for(section, target, 0)? else {
            return Ok(self.id(section, 0));
        };
        let placed = self.block(section, index)?;
        let find = |buffer: &mut [u8]| placed.block.lower_bound(target, shared, buffer);
        let before = with_buffer(&placed.block, find)
            .map_err(|malformed| self.malformed(placed.offset, malformed))?;
        Ok(self.id(section, placed.first + before as u64))
    }

    /// Appends a term's IRI or lexical form to `out`, and returns its annotation.
    ///
    /// # Errors
    /// [`StoreError::Damaged`](crate::StoreError::Damaged) if the id is not of this dictionary (see
    /// [`Dictionary::contains`]), because what refers to it or the dictionary is damaged. `out` is then as it
    /// was.
    pub fn lexical(&self, id: TermId, out: &mut Vec<u8>) -> Result<&[u8]> {
        let (section, place) = self.locate(id).ok_or_else(|| self.foreign(id))?;
        let placed = self.block_of(section, place)?;
        let inside = (place - placed.first) as usize;
        let start = out.len();
        let annotation = if placed.block.terms() == 1 {
            // Perhaps a long one: it is not copied twice.
            let head = placed.block.head();
            out.extend_from_slice(head.lexical);
            Ok(head.annotation)
        } else {
            out.resize(start + placed.block.longest() + SLACK_BYTES, 0);
            let buffer = &mut out[start..];
            let found = placed.block.walk_to(inside, buffer).and_then(|walk| {
                let term = walk.term(buffer)?;
                Ok((term.lexical.len(), term.annotation))
            });
            out.truncate(start + found.map_or(0, |(length, _)| length));
            found.map(|(_, annotation)| annotation)
        };
        annotation
            .map_err(|malformed| self.malformed(placed.offset, malformed))
            .and_then(|number| self.annotation(section, number))
            .inspect_err(|_| out.truncate(start))
    }

    /// A cursor before the first term of a vocabulary kind.
    ///
    /// # Panics
    /// If the kind is no vocabulary kind.
    pub fn cursor(&self, kind: Kind) -> DictionaryCursor {
        let section = section_of(kind).expect("a vocabulary kind");
        DictionaryCursor::new(self.clone(), kind, section)
    }

    /// Section and place of an id.
    #[inline]
    pub(super) fn locate(&self, id: TermId) -> Option<(usize, u64)> {
        let section = section_of_bits(id.bits() >> PAYLOAD_BITS)?;
        let bounds = &self.trailer.sections[section];
        let place = id.payload().checked_sub(bounds.first)?;
        (place < bounds.terms).then_some((section, place))
    }

    /// The id of a place; one past the last is possible.
    pub(super) fn id(&self, section: usize, place: u64) -> TermId {
        let kind = Kind::VOCABULARY[section];
        TermId::new(kind, self.trailer.sections[section].first + place)
    }

    #[cold]
    pub(super) fn foreign(&self, id: TermId) -> crate::StoreError {
        self.file
            .damaged(0, format!("{id:?} is no term of this dictionary"))
    }

    #[cold]
    pub(super) fn malformed(&self, offset: u64, malformed: Malformed) -> crate::StoreError {
        self.file.damaged(offset, malformed.0)
    }

    /// The bytes of an annotation, by its number.
    #[inline]
    pub(super) fn annotation(&self, section: usize, number: u32) -> Result<&[u8]> {
        if section == 0 {
            return Ok(b"");
        }
        let number = u64::from(number);
        if number >= self.trailer.annotations {
            let at = self.trailer.annotations_at;
            return Err(self
                .file
                .damaged(at, format!("there is no annotation {number}")));
        }
        let at = self.trailer.annotations_at + number * ANNOTATION_OFFSET_BYTES as u64;
        let offsets = self
            .file
            .bytes(at..at + 2 * ANNOTATION_OFFSET_BYTES as u64)?;
        let [start, end] = [0, 1].map(|index| {
            let offset = offsets.as_chunks().0[index];
            u64::from_le_bytes(offset)
        });
        let base = self.trailer.annotations_at
            + (self.trailer.annotations + 1) * ANNOTATION_OFFSET_BYTES as u64;
        let limit = self.file.len() - TRAILER_BYTES as u64 - base;
        if start > end || end > limit {
            return Err(self.file.damaged(at, "offsets of an annotation"));
        }
        self.file.bytes(base + start..base + end)
    }

    /// The number of an annotation, or the number of the first one after it.
    pub(super) fn annotation_number(
        &self,
        section: usize,
        bytes: &[u8],
    ) -> Result<std::result::Result<u32, u32>> {
        if section == 0 {
            return Ok(if bytes.is_empty() { Ok(0) } else { Err(1) });
        }
        let (mut low, mut high) = (0, self.trailer.annotations as u32);
        while low < high {
            // The empty one comes first, and is asked for most.
            let middle = if bytes.is_empty() {
                low
            } else {
                low.midpoint(high)
            };
            match self.annotation(section, middle)?.cmp(bytes) {
                Ordering::Equal => return Ok(Ok(middle)),
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
            }
        }
        Ok(Err(low))
    }

    /// An entry of a directory, the last one (behind those of the blocks) included.
    #[inline]
    pub(super) fn entry(&self, section: usize, index: u64) -> Result<Entry> {
        let at = self.trailer.sections[section].directory + index * ENTRY_BYTES as u64;
        let bytes = self.file.bytes(at..at + ENTRY_BYTES as u64)?;
        Ok(Entry::from_bytes(&bytes.as_chunks().0[0]))
    }

    /// An entry of a directory and the one behind it.
    #[inline]
    fn entries(&self, section: usize, index: u64) -> Result<(Entry, Entry)> {
        let section = &self.trailer.sections[section];
        debug_assert!(index < section.blocks);
        let at = section.directory + index * ENTRY_BYTES as u64;
        let bytes = self.file.bytes(at..at + 2 * ENTRY_BYTES as u64)?;
        let [entry, next] = [0, 1].map(|which| Entry::from_bytes(&bytes.as_chunks().0[which]));
        let ascending = entry.first < next.first && next.first <= section.terms;
        if !ascending || entry.offset > next.offset {
            return Err(self
                .file
                .damaged(at, "entries of a directory are not ascending"));
        }
        Ok((entry, next))
    }

    /// A block, by its number in the section.
    pub(super) fn block(&self, section: usize, index: u64) -> Result<PlacedBlock<'_>> {
        let (entry, next) = self.entries(section, index)?;
        self.place(entry, next)
    }

    fn place(&self, entry: Entry, next: Entry) -> Result<PlacedBlock<'_>> {
        let bytes = self.file.bytes(entry.offset..next.offset)?;
        let shape = BlockShape {
            terms: usize::try_from(next.first - entry.first).unwrap_or(usize::MAX),
            head_length: entry.head_length as usize,
            head_annotation: entry.head_annotation,
        };
        let block = Block::parse(bytes, shape)
            .map_err(|malformed| self.malformed(entry.offset, malformed))?;
        Ok(PlacedBlock {
            block,
            first: entry.first,
            offset: entry.offset,
        })
    }

    /// The block that has the term at a place, which is in the section.
    ///
    /// Blocks are nearly alike in number of terms, so the search begins where the block would be if
    /// they were quite alike, and doubles its steps from there.
    pub(super) fn block_of(&self, section: usize, place: u64) -> Result<PlacedBlock<'_>> {
        let bounds = &self.trailer.sections[section];
        let guess = u128::from(place) * u128::from(bounds.blocks) / u128::from(bounds.terms.max(1));
        let guess = (guess as u64).min(bounds.blocks - 1);
        let (entry, next) = self.entries(section, guess)?;
        if entry.first <= place && place < next.first {
            return self.place(entry, next);
        }
        // The block is in low..high.
        let (mut low, mut high) = (0, bounds.blocks);
        let mut step = 1;
        if place < entry.first {
            high = guess;
            while high > 0 {
                let probe = high.saturating_sub(step);
                if self.entries(section, probe)?.0.first <= place {
                    low = probe;
                    break;
                }
                high = probe;
                step *= 2;
            }
        } else {
            low = guess + 1;
            while low + step < bounds.blocks {
                if self.entries(section, low + step)?.0.first > place {
                    high = low + step;
                    break;
                }
                low += step;
                step *= 2;
            }
        }
        while high.saturating_sub(low) > 1 {
            let middle = low.midpoint(high);
            if self.entries(section, middle)?.0.first <= place {
                low = middle;
            } else {
                high = middle;
            }
        }
        if low >= bounds.blocks {
            return Err(self
                .file
                .damaged(bounds.directory, "a place that no block has"));
        }
        let (entry, next) = self.entries(section, low)?;
        if !(entry.first..next.first).contains(&place) {
            return Err(self
                .file
                .damaged(bounds.directory, "a place that no block has"));
        }
        self.place(entry, next)
    }

    /// The last block from number `from` on whose head is not after the target, and how many bytes head and
    /// target begin with in common. `None` if the head of `from` is after the target, or there is no block.
    ///
    /// Steps double from `from` on (which pays for cursors; from 0 it costs a few comparisons with
    /// heads that are hot).
    pub(super) fn block_for(
        &self,
        section: usize,
        target: TermBytes<'_>,
        from: u64,
    ) -> Result<Option<(u64, usize)>> {
        let blocks = self.trailer.sections[section].blocks;
        if from >= blocks {
            return Ok(None);
        }
        let (order, mut shared_low) = self.compare_head(section, from, target, 0)?;
        if order == Ordering::Greater {
            return Ok(None);
        }
        // Heads at `low` are not after the target, heads at `high` are; what both share with the target,
        // those between share too.
        let (mut low, mut high) = (from, blocks);
        let mut shared_high = 0;
        let mut step = if from == 0 { blocks } else { 1 };
        while high - low > 1 {
            let middle = if step < (high - low) / 2 {
                low + step
            } else {
                low.midpoint(high)
            };
            let skip = shared_low.min(shared_high);
            let (order, shared) = self.compare_head(section, middle, target, skip)?;
            if order == Ordering::Greater {
                (high, shared_high) = (middle, shared);
                step = blocks;
            } else {
                (low, shared_low) = (middle, shared);
                step = step.saturating_mul(2);
            }
        }
        Ok(Some((low, shared_low)))
    }

    /// How a block's head compares with a target, whose first `skip` bytes it is known to share, and how
    /// many bytes it shares.
    #[inline]
    fn compare_head(
        &self,
        section: usize,
        index: u64,
        target: TermBytes<'_>,
        skip: usize,
    ) -> Result<(Ordering, usize)> {
        let entry = self.entry(section, index)?;
        let length = entry.head_length as usize;
        // No more of a long literal than the comparison can need.
        let common = length.min(target.lexical.len());
        let head = self
            .file
            .bytes(entry.offset..entry.offset.saturating_add(common as u64))?;
        let skip = skip.min(common);
        let shared = skip + shared_prefix(&head[skip..], &target.lexical[skip..common]);
        let order = if shared < common {
            head[shared].cmp(&target.lexical[shared])
        } else {
            let annotations = entry.head_annotation.cmp(&target.annotation);
            length.cmp(&target.lexical.len()).then(annotations)
        };
        Ok((order, shared))
    }
}

/// Calls `with` with a buffer for a block's terms, on the stack if they are short.
#[inline]
fn with_buffer<T>(block: &Block<'_>, with: impl FnOnce(&mut [u8]) -> T) -> T {
    const SHORT: usize = 256;
    if block.terms() == 1 {
        // Compared where it is.
        with(&mut [])
    } else if block.longest() + SLACK_BYTES <= SHORT {
        with(&mut [0; SHORT])
    } else {
        with(&mut vec![0; block.longest() + SLACK_BYTES])
    }
}
