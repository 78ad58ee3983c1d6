//! `Batch`: what a parser thread hands to an inserter, a few thousand statements at a time.
//!
//! A batch owns no strings. Its terms are spans, either of the *slice* of input they were read from
//! (shared by all batches of that slice) or of the batch's own *arena* (terms that do not stand in the input as
//! they are: unescaped literals, blank nodes with their document's number, whatever another parser
//! made). Terms are hashed once, by the parser, while their bytes are hot in its cache.
//!
//! ```text
//! slice   ...<http://a/s> <http://a/p> "lexical"@en .\n...
//!              '--------'               '-----'
//! terms   [hash, start, length, kind, annotation, place] ...      repeated terms may share an entry
//! quads   [s, p, o, g] ...       indexes into `terms`; g = DEFAULT_GRAPH for the default graph
//! ```
//!
//! The bytes of a term, by kind:
//! * a vocabulary kind: the IRI or the lexical form; the annotation is an index into `annotations`;
//! * [`Kind::Blank`]: the document's number (4 bytes, big-endian), then the label;
//! * an inline kind: none, the id stands in the entry;
//! * [`Kind::Triple`]: see [`crate::triple_term`]; the inner terms stand in `terms` too, before it,
//!   though no quad names them.

use crate::input::Slice;
use quadrille_store::{Kind, TermId};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The graph index of a statement in the default graph.
pub const DEFAULT_GRAPH: u32 = u32::MAX;

/// A term of a batch, 24 bytes.
#[derive(Clone, Copy, Debug)]
pub struct BatchTerm {
    /// Hash of kind, bytes and annotation, see [`hash_term`].
    pub hash: u64,
    /// Where the bytes start in their place; the upper half of the id for an inline kind.
    start: u32,
    /// How many bytes; the lower half of the id for an inline kind.
    length: u32,
    /// Index into [`Batch::annotations`].
    pub annotation: u32,
    /// What the term is.
    pub kind: Kind,
    /// Whether the bytes stand in the arena (else in the slice).
    in_arena: bool,
}

impl BatchTerm {
    /// A term whose bytes stand in the slice.
    pub fn in_slice(hash: u64, kind: Kind, start: usize, length: usize, annotation: u32) -> Self {
        Self {
            hash,
            start: start as u32,
            length: length as u32,
            annotation,
            kind,
            in_arena: false,
        }
    }

    /// A term whose bytes stand in the arena.
    pub fn in_arena(hash: u64, kind: Kind, start: usize, length: usize, annotation: u32) -> Self {
        Self {
            hash,
            start: start as u32,
            length: length as u32,
            annotation,
            kind,
            in_arena: true,
        }
    }

    /// A term that is its own id.
    pub fn inline(id: TermId) -> Self {
        let kind = id.kind().expect("an inline id has a kind");
        debug_assert!(kind.is_inline());
        Self {
            hash: hash_term(kind, &id.bits().to_be_bytes(), b""),
            start: (id.bits() >> 32) as u32,
            length: id.bits() as u32,
            annotation: 0,
            kind,
            in_arena: false,
        }
    }

    /// The id of a term of an inline kind.
    #[inline]
    pub fn inline_id(&self) -> TermId {
        debug_assert!(self.kind.is_inline());
        TermId::from_bits((u64::from(self.start) << 32) | u64::from(self.length))
    }
}

/// A few thousand statements on their way to an inserter.
#[derive(Debug, Default)]
pub struct Batch {
    /// The slice that spans refer to; `None` if every term stands in the arena.
    pub slice: Option<Arc<Slice>>,
    /// Bytes of terms that do not stand in the slice as they are.
    pub arena: Vec<u8>,
    /// The terms.
    pub terms: Vec<BatchTerm>,
    /// The statements: subject, predicate, object, graph, as indexes into `terms`.
    pub quads: Vec<[u32; 4]>,
    /// Annotations as [`quadrille_store::term`] describes them; the first is always empty.
    pub annotations: Vec<Box<[u8]>>,
}

impl Batch {
    /// The bytes of a term that is not inline.
    #[inline]
    pub fn bytes(&self, term: &BatchTerm) -> &[u8] {
        let range = term.start as usize..term.start as usize + term.length as usize;
        match &self.slice {
            Some(slice) if !term.in_arena => &slice.bytes()[range],
            _ => &self.arena[range],
        }
    }

    /// Adds a term whose bytes are copied into the arena; gives its index.
    pub fn push_arena(&mut self, kind: Kind, parts: &[&[u8]], annotation: u32) -> u32 {
        let start = self.arena.len();
        for part in parts {
            self.arena.extend_from_slice(part);
        }
        let annotation_bytes = self
            .annotations
            .get(annotation as usize)
            .map_or(&b""[..], |a| a);
        let hash = hash_term(kind, &self.arena[start..], annotation_bytes);
        let length = self.arena.len() - start;
        let term = BatchTerm::in_arena(hash, kind, start, length, annotation);
        self.terms.push(term);
        (self.terms.len() - 1) as u32
    }

    /// The index of an annotation, added if the batch does not have it yet.
    pub fn annotation(&mut self, bytes: &[u8]) -> u32 {
        if let Some(found) = self.annotations.iter().position(|a| **a == *bytes) {
            return found as u32;
        }
        self.annotations.push(bytes.into());
        (self.annotations.len() - 1) as u32
    }

    /// Empties the batch for reuse, keeping what it allocated.
    pub fn clear(&mut self) {
        self.slice = None;
        self.arena.clear();
        self.terms.clear();
        self.quads.clear();
        self.annotations.truncate(1);
        if self.annotations.is_empty() {
            self.annotations.push(Box::default());
        }
    }
}

/// The hash by which terms are found: equal for equal terms, whatever batch they are in.
#[inline]
pub fn hash_term(kind: Kind, bytes: &[u8], annotation: &[u8]) -> u64 {
    hash_with_seed(bytes, hash_seed(kind, annotation))
}

/// The part of [`hash_term`] that depends on kind and annotation alone; worth keeping where they repeat.
#[inline]
pub fn hash_seed(kind: Kind, annotation: &[u8]) -> u64 {
    if annotation.is_empty() {
        kind as u64
    } else {
        xxh3_64_with_seed(annotation, kind as u64)
    }
}

/// The other part of [`hash_term`].
#[inline]
pub fn hash_with_seed(bytes: &[u8], seed: u64) -> u64 {
    xxh3_64_with_seed(bytes, seed)
}
