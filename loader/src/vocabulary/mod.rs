//! `PartialVocabulary`: the terms that one worker has met, numbered in the order of their first appearance.
//!
//! Workers share nothing: each numbers terms for itself, and the numbers of several workers are brought
//! together afterwards by a merge of the sorted vocabularies ([`merge`]).
//!
//! ```text
//! slots    open addressing, a power of two, at most 5/8 full
//!          | hash's upper 32 bits | local id |   all ones = free
//! entries  by local id: | start in `bytes` (48) | kind (8) | roles (8) |, length, annotation
//! bytes    the terms' bytes, one after another
//! ```
//!
//! A slot alone tells most strangers apart, so a look-up of a known term touches one slot, one entry and
//! its bytes: three cache misses in a large vocabulary. [`PartialVocabulary::intern`] therefore works on
//! groups of terms in three rounds (slots, entries, bytes), so that the misses of a group overlap.
//!
//! Inline ids are terms like others here (their bytes are the id, big-endian), which makes every term of a
//! load a member of one sorted sequence.

pub mod merge;
pub mod number;
pub mod sort;
pub mod spill;
#[cfg(test)]
mod tests;

use crate::batch::{Batch, BatchTerm, hash_term};
use crate::large::LargeVec;
use bytemuck::{Pod, Zeroable};
use hashbrown::HashMap;
use quadrille_store::{Kind, TermKey};

/// The term is the predicate of some statement.
pub const ROLE_PREDICATE: u8 = 1;
/// The term is the name of some statement's graph.
pub const ROLE_GRAPH: u8 = 2;

/// The number of a term within one partial vocabulary.
pub type LocalId = u32;

/// A free slot. Not zero, so that it is written: fresh memory that is read first costs a second fault when it is written.
const FREE: u64 = u64::MAX;

/// Terms are looked up in groups of this many, see the module's head.
const GROUP: usize = 32;

/// What an annotation takes beside its bytes: a box in the list, a box and a number in a table that is half full.
const ANNOTATION_OVERHEAD: usize = 16 + 2 * 24 + 2 * 16;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Entry {
    place: u64,
    length: u32,
    annotation: u32,
}

impl Entry {
    fn start(self) -> usize {
        (self.place >> 16) as usize
    }

    fn kind(self) -> u8 {
        (self.place >> 8) as u8
    }
}

/// The terms of one worker.
pub struct PartialVocabulary {
    slots: LargeVec<u64>,
    entries: LargeVec<Entry>,
    bytes: LargeVec<u8>,
    annotations: Vec<Box<[u8]>>,
    annotation_ids: HashMap<Box<[u8]>, u32>,
    /// Bytes that annotations take, about.
    annotation_memory: usize,
    /// Scratch: annotation of the batch -> annotation here.
    annotation_map: Vec<u32>,
}

impl Default for PartialVocabulary {
    fn default() -> Self {
        Self::new()
    }
}

/// A vocabulary to be read: what its methods would fetch for every term, fetched once.
#[derive(Clone, Copy)]
pub struct View<'a> {
    entries: &'a [Entry],
    bytes: &'a [u8],
    annotations: &'a [Box<[u8]>],
}

impl<'a> View<'a> {
    /// A term's bytes.
    #[inline]
    pub fn bytes(self, id: LocalId) -> &'a [u8] {
        let entry = self.entries[id as usize];
        &self.bytes[entry.start()..entry.start() + entry.length as usize]
    }

    /// A term's kind, as in the id's top bits.
    #[inline]
    pub fn kind(self, id: LocalId) -> u8 {
        self.entries[id as usize].kind()
    }

    /// A term's annotation, an index into the vocabulary's annotations.
    #[inline]
    pub fn annotation(self, id: LocalId) -> u32 {
        self.entries[id as usize].annotation
    }

    /// A term's annotation itself.
    #[inline]
    pub fn annotation_bytes(self, id: LocalId) -> &'a [u8] {
        &self.annotations[self.annotation(id) as usize]
    }

    /// What the term is used as.
    #[inline]
    pub fn roles(self, id: LocalId) -> u8 {
        self.entries[id as usize].place as u8
    }
}

impl PartialVocabulary {
    /// A view of it.
    pub fn view(&self) -> View<'_> {
        View {
            entries: &self.entries,
            bytes: &self.bytes,
            annotations: &self.annotations,
        }
    }

    /// No terms.
    pub fn new() -> Self {
        Self {
            slots: LargeVec::filled(FREE, 1 << 12),
            entries: LargeVec::default(),
            bytes: LargeVec::default(),
            annotations: vec![Box::default()],
            annotation_ids: HashMap::from_iter([(Box::default(), 0)]),
            annotation_memory: 0,
            annotation_map: Vec::new(),
        }
    }

    /// How many terms.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no term.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.slots.len() * 8
            + self.entries.len() * size_of::<Entry>()
            + self.bytes.len()
            + self.annotation_memory
    }

    /// The annotations that entries name, in no order; the first is empty.
    pub fn annotations(&self) -> &[Box<[u8]>] {
        &self.annotations
    }

    /// A term's bytes.
    #[inline]
    pub fn bytes(&self, id: LocalId) -> &[u8] {
        let entry = self.entries[id as usize];
        &self.bytes[entry.start()..entry.start() + entry.length as usize]
    }

    /// A term's kind, as in the id's top bits.
    #[inline]
    pub fn kind(&self, id: LocalId) -> u8 {
        self.entries[id as usize].kind()
    }

    /// A term's annotation, an index into [`PartialVocabulary::annotations`].
    #[inline]
    pub fn annotation(&self, id: LocalId) -> u32 {
        self.entries[id as usize].annotation
    }

    /// What the term is used as.
    #[inline]
    pub fn roles(&self, id: LocalId) -> u8 {
        self.entries[id as usize].place as u8
    }

    /// Notes a use of the term.
    #[inline]
    pub fn add_role(&mut self, id: LocalId, role: u8) {
        self.entries[id as usize].place |= u64::from(role);
    }

    /// The term as a key.
    pub fn key(&self, id: LocalId) -> TermKey<'_> {
        TermKey {
            kind: Kind::from_u8(self.kind(id)).expect("entries hold kinds"),
            lexical: self.bytes(id),
            annotation: &self.annotations[self.annotation(id) as usize],
        }
    }

    /// Numbers all terms of a batch; `ids` gets one number a term.
    pub fn intern(&mut self, batch: &Batch, ids: &mut Vec<LocalId>) {
        self.map_annotations(batch);
        ids.clear();
        ids.reserve(batch.terms.len());
        for group in batch.terms.chunks(GROUP) {
            self.reserve(group.len());
            let slots = &self.slots[..];
            let mask = slots.len() - 1;
            let mut candidates = [0_u64; GROUP];
            for (candidate, term) in candidates.iter_mut().zip(group) {
                *candidate = slots[(term.hash >> 32) as usize & mask];
            }
            let known = &self.entries[..];
            let mut entries = [Entry {
                place: 0,
                length: 0,
                annotation: 0,
            }; GROUP];
            for ((entry, candidate), term) in entries.iter_mut().zip(candidates).zip(group) {
                if candidate >> 32 == term.hash >> 32 && candidate != FREE {
                    *entry = known[candidate as u32 as usize];
                }
            }
            // The last round compares bytes: fetch them all first, so that their misses overlap as well.
            let bytes = &self.bytes[..];
            let mut fetched = 0;
            for entry in &entries[..group.len()] {
                let end = entry.start() + entry.length as usize;
                fetched ^= bytes.get(entry.start()).copied().unwrap_or(0)
                    ^ bytes.get(end.saturating_sub(1)).copied().unwrap_or(0);
            }
            std::hint::black_box(fetched);
            for ((entry, candidate), term) in entries.iter().zip(candidates).zip(group) {
                let inline = term
                    .kind
                    .is_inline()
                    .then(|| term.inline_id().bits().to_be_bytes());
                let bytes = inline
                    .as_ref()
                    .map_or_else(|| batch.bytes(term), |id| &id[..]);
                let annotation = self.annotation_map[term.annotation as usize];
                let known = entry.length as usize == bytes.len()
                    && entry.kind() == term.kind as u8
                    && entry.annotation == annotation
                    && self.bytes[entry.start()..entry.start() + bytes.len()] == *bytes;
                let id = if known {
                    candidate as u32
                } else {
                    self.find_or_add(term, bytes, annotation)
                };
                ids.push(id);
            }
        }
    }

    /// The same terms, numbered and laid out in this order (all of them, each once), for reading from front to back;
    /// no term can be looked up or added any more.
    pub fn reordered(mut self, order: &[LocalId]) -> Self {
        self.slots = LargeVec::default();
        let terms = self.view();
        let mut bytes = LargeVec::zeroed(self.bytes.len());
        let mut entries = LargeVec::zeroed(self.entries.len());
        let (to_bytes, to_entries) = (&mut bytes[..], &mut entries[..]);
        let mut start = 0;
        for (to, id) in to_entries.iter_mut().zip(order) {
            let entry = terms.entries[*id as usize];
            let term = terms.bytes(*id);
            to_bytes[start..start + term.len()].copy_from_slice(term);
            *to = Entry {
                place: ((start as u64) << 16) | (entry.place & 0xFFFF),
                ..entry
            };
            start += term.len();
        }
        Self {
            slots: LargeVec::default(),
            entries,
            bytes,
            annotations: self.annotations,
            annotation_ids: HashMap::new(),
            annotation_memory: self.annotation_memory,
            annotation_map: Vec::new(),
        }
    }

    /// The number of a term, if it is here.
    pub fn find(&self, kind: Kind, bytes: &[u8], annotation: &[u8]) -> Option<LocalId> {
        let annotation_id = *self.annotation_ids.get(annotation)?;
        let mask = self.slots.len() - 1;
        let tag = hash_term(kind, bytes, annotation) >> 32;
        let mut place = tag as usize & mask;
        while self.slots[place] != FREE {
            let id = self.slots[place] as u32;
            let entry = self.entries[id as usize];
            if self.slots[place] >> 32 == tag
                && entry.kind() == kind as u8
                && entry.annotation == annotation_id
                && self.bytes(id) == bytes
            {
                return Some(id);
            }
            place = (place + 1) & mask;
        }
        None
    }

    fn find_or_add(&mut self, term: &BatchTerm, bytes: &[u8], annotation: u32) -> LocalId {
        let mask = self.slots.len() - 1;
        let tag = term.hash >> 32;
        let mut place = tag as usize & mask;
        loop {
            let slot = self.slots[place];
            if slot == FREE {
                break;
            }
            if slot >> 32 == tag {
                let id = slot as u32;
                let entry = self.entries[id as usize];
                if entry.kind() == term.kind as u8
                    && entry.annotation == annotation
                    && self.bytes(id) == bytes
                {
                    return id;
                }
            }
            place = (place + 1) & mask;
        }
        let id = self.entries.len() as LocalId;
        self.slots[place] = (tag << 32) | u64::from(id);
        self.entries.push(Entry {
            place: ((self.bytes.len() as u64) << 16) | (u64::from(term.kind as u8) << 8),
            length: bytes.len() as u32,
            annotation,
        });
        self.bytes.extend_from_slice(bytes);
        id
    }

    /// Makes room for `more` terms, keeping the slots at most 5/8 full.
    fn reserve(&mut self, more: usize) {
        if (self.entries.len() + more) * 8 <= self.slots.len() * 5 {
            return;
        }
        let mut slots = LargeVec::filled(FREE, self.slots.len() * 2);
        let mask = slots.len() - 1;
        for slot in self.slots.iter().filter(|slot| **slot != FREE) {
            let mut place = (slot >> 32) as usize & mask;
            while slots[place] != FREE {
                place = (place + 1) & mask;
            }
            slots[place] = *slot;
        }
        self.slots = slots;
    }

    fn map_annotations(&mut self, batch: &Batch) {
        self.annotation_map.clear();
        self.annotation_map.push(0);
        for annotation in batch.annotations.iter().skip(1) {
            let known = self.annotation_ids.get(annotation).copied();
            let id = known.unwrap_or_else(|| {
                let id = self.annotations.len() as u32;
                self.annotations.push(annotation.clone());
                self.annotation_ids.insert(annotation.clone(), id);
                self.annotation_memory += 2 * annotation.len() + ANNOTATION_OVERHEAD;
                id
            });
            self.annotation_map.push(id);
        }
    }
}
