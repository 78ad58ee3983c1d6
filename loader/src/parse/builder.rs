//! `BatchBuilder`: fills batches, and lets terms that repeat within a batch share one entry.
//!
//! Terms that were seen lately are found in a small direct-mapped cache by their hash, which has to be
//! computed anyway; a hit is compared byte by byte. What always holds: a statement's terms are added
//! only once the whole statement is known to be good, so that no term of a refused statement gets into the
//! store's dictionary.

use crate::batch::{Batch, BatchTerm, DEFAULT_GRAPH, hash_seed, hash_with_seed};
use crate::input::Slice;
use crate::triple_term::{self, Part};
use oxrdf::{
    BaseDirection, GraphNameRef, LiteralRef, NamedNode, NamedOrBlankNodeRef, QuadRef, TermRef,
};
use quadrille_store::inline::DatatypeClass;
use quadrille_store::{Kind, TermId};
use std::sync::Arc;

/// Entries of the cache of terms: 16 KiB, half of a first-level cache.
const CACHE_SLOTS: usize = 1024;

/// Entries of the cache of annotations.
const ANNOTATION_SLOTS: usize = 256;

/// A batch whose arena has this many bytes is full, however few its statements are.
const ARENA_LIMIT_BYTES: usize = 1 << 20;

/// A statement of which more would be written into the arena is refused.
const STATEMENT_LIMIT_BYTES: usize = if cfg!(test) { 1 << 20 } else { 3 << 30 };
const _: () = assert!(STATEMENT_LIMIT_BYTES + 2 * ARENA_LIMIT_BYTES < u32::MAX as usize);

const XSD_STRING: &[u8] = b"http://www.w3.org/2001/XMLSchema#string";

#[derive(Clone, Copy, Default)]
struct CacheSlot {
    hash: u64,
    /// The lower half of the batch's number: all slots are emptied before one comes again.
    generation: u32,
    index: u32,
}

/// A language or datatype as it was written, and what it means.
struct Annotation {
    /// `@` or `^`, then the bytes of the input.
    written: Box<[u8]>,
    /// The annotation as [`quadrille_store::term`] describes it.
    bytes: Box<[u8]>,
    /// Which literals with it are inline, and the kind of the others.
    class: DatatypeClass,
    /// The seed of the hash of a literal with it.
    seed: u64,
    /// The batch in which `index` holds.
    generation: u64,
    /// Its index in the annotations of that batch.
    index: u32,
}

/// What makes a literal more than its lexical form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Suffix<'a> {
    /// Nothing: `xsd:string`.
    Plain,
    /// A language tag as it was written, known to be valid.
    Language(&'a [u8]),
    /// A datatype's IRI, known to be valid UTF-8.
    Datatype(&'a [u8]),
}

/// Fills batches.
pub(crate) struct BatchBuilder {
    batch: Batch,
    /// A batch that was asked for but not filled.
    spare: Option<Batch>,
    /// The number of the batch, from 1.
    generation: u64,
    cache: Box<[CacheSlot]>,
    annotations: Box<[Option<Annotation>]>,
    scratch: Vec<u8>,
    batch_size: usize,
    graph: Option<NamedNode>,
    /// The index of `graph` in this batch, [`DEFAULT_GRAPH`] without one.
    default_graph: u32,
    default_graph_generation: u64,
}

impl BatchBuilder {
    pub(crate) fn new(batch_size: usize, graph: Option<NamedNode>) -> Self {
        Self {
            batch: Batch::default(),
            spare: None,
            generation: 0,
            cache: vec![CacheSlot::default(); CACHE_SLOTS].into_boxed_slice(),
            annotations: std::iter::repeat_with(|| None)
                .take(ANNOTATION_SLOTS)
                .collect(),
            scratch: Vec::new(),
            batch_size: batch_size.max(1),
            graph,
            default_graph: DEFAULT_GRAPH,
            default_graph_generation: 0,
        }
    }

    /// Begins a batch: the one left over, or a fresh one.
    pub(crate) fn begin(&mut self, slice: Option<&Arc<Slice>>, fresh: impl FnOnce() -> Batch) {
        let mut batch = self.spare.take().unwrap_or_else(fresh);
        batch.clear();
        batch.slice = slice.cloned();
        self.batch = batch;
        self.generation += 1;
        if self.generation as u32 == 0 {
            self.generation += 1;
            self.cache.fill(CacheSlot::default());
        }
    }

    /// The batch, if there is anything in it; it is kept for later otherwise.
    pub(crate) fn finish(&mut self) -> Option<Batch> {
        let mut batch = std::mem::take(&mut self.batch);
        if batch.quads.is_empty() {
            batch.slice = None;
            self.spare = Some(batch);
            return None;
        }
        Some(batch)
    }

    /// Which batch indexes belong to.
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.batch.quads.len() >= self.batch_size || self.batch.arena.len() >= ARENA_LIMIT_BYTES
    }

    #[inline]
    pub(crate) fn push_quad(&mut self, subject: u32, predicate: u32, object: u32, graph: u32) {
        self.batch.quads.push([subject, predicate, object, graph]);
    }

    /// The graph of statements that name none.
    #[inline]
    pub(crate) fn default_graph(&mut self) -> u32 {
        if self.graph.is_none() || self.default_graph_generation == self.generation {
            return self.default_graph;
        }
        self.add_default_graph()
    }

    #[cold]
    fn add_default_graph(&mut self) -> u32 {
        if let Some(graph) = self.graph.take() {
            let seed = hash_seed(Kind::Iri, b"");
            self.default_graph = self.in_arena(Kind::Iri, graph.as_str().as_bytes(), 0, seed);
            self.default_graph_generation = self.generation;
            self.graph = Some(graph);
        }
        self.default_graph
    }

    /// Adds a term that stands in the slice, its hash known, without looking whether the batch has it.
    #[inline]
    pub(crate) fn push_known_iri(&mut self, hash: u64, start: usize, length: usize) -> u32 {
        let index = self.batch.terms.len() as u32;
        let term = BatchTerm::in_slice(hash, Kind::Iri, start, length, 0);
        self.batch.terms.push(term);
        index
    }

    /// The entry of an IRI at `start` of the slice whose bytes are `data`; its hash comes with it.
    #[inline]
    pub(crate) fn iri_in_slice(&mut self, data: &[u8], start: usize, end: usize) -> (u32, u64) {
        let hash = hash_with_seed(&data[start..end], Kind::Iri as u64);
        (self.in_slice(data, Kind::Iri, hash, start, end, 0), hash)
    }

    /// The entry of a literal at `start` of the slice whose bytes are `data`: valid UTF-8 without escapes.
    #[inline]
    pub(crate) fn literal_in_slice(
        &mut self,
        data: &[u8],
        start: usize,
        end: usize,
        suffix: Suffix<'_>,
    ) -> u32 {
        let (class, seed, annotation) = self.suffix(suffix);
        if class.may_inline()
            && let Ok(text) = std::str::from_utf8(&data[start..end])
            && let Some(id) = class.encode(text)
        {
            return self.inline(id);
        }
        let kind = class.vocabulary_kind();
        let annotation = self.annotation_index(annotation);
        let hash = hash_with_seed(&data[start..end], seed);
        self.in_slice(data, kind, hash, start, end, annotation)
    }

    /// The entry of a literal that does not stand in the slice.
    pub(crate) fn literal(&mut self, lexical: &[u8], suffix: Suffix<'_>) -> u32 {
        let (class, seed, annotation) = self.suffix(suffix);
        if class.may_inline()
            && let Ok(text) = std::str::from_utf8(lexical)
            && let Some(id) = class.encode(text)
        {
            return self.inline(id);
        }
        let kind = class.vocabulary_kind();
        let annotation = self.annotation_index(annotation);
        self.in_arena(kind, lexical, annotation, seed)
    }

    /// The entry of an IRI that does not stand in the slice.
    pub(crate) fn iri(&mut self, iri: &[u8]) -> u32 {
        self.in_arena(Kind::Iri, iri, 0, Kind::Iri as u64)
    }

    /// The same, its hash known.
    pub(crate) fn iri_of_hash(&mut self, iri: &[u8], hash: u64) -> u32 {
        self.in_arena_of_hash(Kind::Iri, iri, 0, hash)
    }

    /// The entry of a blank node: its document's number and its label.
    pub(crate) fn blank(&mut self, document: u32, label: &[u8]) -> u32 {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.extend_from_slice(&document.to_be_bytes());
        scratch.extend_from_slice(label);
        let index = self.in_arena(Kind::Blank, &scratch, 0, Kind::Blank as u64);
        self.scratch = scratch;
        index
    }

    fn inline(&mut self, id: TermId) -> u32 {
        self.batch.terms.push(BatchTerm::inline(id));
        (self.batch.terms.len() - 1) as u32
    }

    #[inline]
    fn in_slice(
        &mut self,
        data: &[u8],
        kind: Kind,
        hash: u64,
        start: usize,
        end: usize,
        annotation: u32,
    ) -> u32 {
        let slot = &mut self.cache[hash as usize % CACHE_SLOTS];
        if slot.hash == hash && slot.generation == self.generation as u32 {
            let term = &self.batch.terms[slot.index as usize];
            if term.kind == kind
                && term.annotation == annotation
                && self.batch.bytes(term) == &data[start..end]
            {
                return slot.index;
            }
        }
        let index = self.batch.terms.len() as u32;
        *slot = CacheSlot {
            hash,
            generation: self.generation as u32,
            index,
        };
        let term = BatchTerm::in_slice(hash, kind, start, end - start, annotation);
        self.batch.terms.push(term);
        index
    }

    fn in_arena(&mut self, kind: Kind, bytes: &[u8], annotation: u32, seed: u64) -> u32 {
        self.in_arena_of_hash(kind, bytes, annotation, hash_with_seed(bytes, seed))
    }

    fn in_arena_of_hash(&mut self, kind: Kind, bytes: &[u8], annotation: u32, hash: u64) -> u32 {
        let slot = &mut self.cache[hash as usize % CACHE_SLOTS];
        if slot.hash == hash && slot.generation == self.generation as u32 {
            let term = &self.batch.terms[slot.index as usize];
            if term.kind == kind && term.annotation == annotation && self.batch.bytes(term) == bytes
            {
                return slot.index;
            }
        }
        let index = self.batch.terms.len() as u32;
        *slot = CacheSlot {
            hash,
            generation: self.generation as u32,
            index,
        };
        let start = self.batch.arena.len();
        self.batch.arena.extend_from_slice(bytes);
        let term = BatchTerm::in_arena(hash, kind, start, bytes.len(), annotation);
        self.batch.terms.push(term);
        index
    }

    /// Class and hash seed of a literal with this suffix, and the slot of its annotation (`None` = plain).
    #[inline]
    fn suffix(&mut self, suffix: Suffix<'_>) -> (DatatypeClass, u64, Option<usize>) {
        let (marker, written) = match suffix {
            Suffix::Plain | Suffix::Datatype(XSD_STRING) => {
                return (DatatypeClass::OTHER, Kind::Literal as u64, None);
            }
            Suffix::Language(tag) => (b'@', tag),
            Suffix::Datatype(iri) => (b'^', iri),
        };
        let slot = annotation_slot(marker, written);
        if let Some(known) = &self.annotations[slot]
            && known.written[0] == marker
            && known.written[1..] == *written
        {
            return (known.class, known.seed, Some(slot));
        }
        let annotation = learn(marker, written);
        let (class, seed) = (annotation.class, annotation.seed);
        self.annotations[slot] = Some(annotation);
        (class, seed, Some(slot))
    }

    /// The index in this batch of the annotation in a slot.
    #[inline]
    fn annotation_index(&mut self, slot: Option<usize>) -> u32 {
        let Some(annotation) = slot.and_then(|slot| self.annotations[slot].as_mut()) else {
            return 0;
        };
        if annotation.generation != self.generation {
            annotation.index = self.batch.annotation(&annotation.bytes);
            annotation.generation = self.generation;
        }
        annotation.index
    }

    /// Adds a statement that another parser made.
    pub(crate) fn quad(&mut self, document: u32, quad: QuadRef<'_>) -> Result<(), Unfit> {
        check(quad)?;
        let subject = self.node(document, quad.subject);
        let predicate = self.iri(quad.predicate.as_str().as_bytes());
        let object = self.term(document, quad.object);
        let graph = match quad.graph_name {
            GraphNameRef::DefaultGraph => self.default_graph(),
            GraphNameRef::NamedNode(node) => self.iri(node.as_str().as_bytes()),
            GraphNameRef::BlankNode(node) => self.blank(document, node.as_str().as_bytes()),
        };
        self.push_quad(subject, predicate, object, graph);
        Ok(())
    }

    fn node(&mut self, document: u32, node: NamedOrBlankNodeRef<'_>) -> u32 {
        match node {
            NamedOrBlankNodeRef::NamedNode(node) => self.iri(node.as_str().as_bytes()),
            NamedOrBlankNodeRef::BlankNode(node) => self.blank(document, node.as_str().as_bytes()),
        }
    }

    /// Recursion is bounded by [`check`].
    fn term(&mut self, document: u32, term: TermRef<'_>) -> u32 {
        match term {
            TermRef::NamedNode(node) => self.iri(node.as_str().as_bytes()),
            TermRef::BlankNode(node) => self.blank(document, node.as_str().as_bytes()),
            TermRef::Literal(literal) => self.oxrdf_literal(literal),
            TermRef::Triple(triple) => {
                let subject = self.node(document, triple.subject.as_ref());
                let predicate = self.iri(triple.predicate.as_str().as_bytes());
                let object = self.term(document, triple.object.as_ref());
                let parts = [subject, predicate, object].map(|index| part(&self.batch, index));
                let mut scratch = Vec::new();
                triple_term::encode(parts, &mut scratch).expect("the depth was checked");
                self.in_arena(Kind::Triple, &scratch, 0, Kind::Triple as u64)
            }
        }
    }

    fn oxrdf_literal(&mut self, literal: LiteralRef<'_>) -> u32 {
        let lexical = literal.value().as_bytes();
        let Some(language) = literal.language() else {
            return self.literal(
                lexical,
                Suffix::Datatype(literal.datatype().as_str().as_bytes()),
            );
        };
        match literal.direction() {
            None => self.literal(lexical, Suffix::Language(language.as_bytes())),
            Some(direction) => {
                let tag = match direction {
                    BaseDirection::Ltr => format!("{language}--ltr"),
                    BaseDirection::Rtl => format!("{language}--rtl"),
                };
                self.literal(lexical, Suffix::Language(tag.as_bytes()))
            }
        }
    }
}

/// Why a valid statement is not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unfit {
    /// Triple terms nested deeper than [`triple_term::DEPTH_MAX`].
    #[error("triple terms are nested more than {} deep", triple_term::DEPTH_MAX)]
    TooDeep,
    /// More bytes than places in an arena, which have 32 bits, may safely count.
    #[error("the statement's terms have more than {STATEMENT_LIMIT_BYTES} bytes")]
    TooLarge,
}

/// Whether a statement can be put into a batch.
pub(crate) fn check(quad: QuadRef<'_>) -> Result<(), Unfit> {
    let node = |node: NamedOrBlankNodeRef<'_>| match node {
        NamedOrBlankNodeRef::NamedNode(node) => node.as_str().len(),
        NamedOrBlankNodeRef::BlankNode(node) => node.as_str().len(),
    };
    let mut bytes = node(quad.subject) + quad.predicate.as_str().len();
    let mut depth = 0;
    let mut object = quad.object;
    while let TermRef::Triple(triple) = object {
        depth += 1;
        if depth > usize::from(triple_term::DEPTH_MAX) {
            return Err(Unfit::TooDeep);
        }
        bytes += node(triple.subject.as_ref()) + triple.predicate.as_str().len();
        object = triple.object.as_ref();
    }
    bytes += match object {
        TermRef::NamedNode(node) => node.as_str().len(),
        TermRef::BlankNode(node) => node.as_str().len(),
        TermRef::Literal(literal) => literal.value().len() + literal.datatype().as_str().len(),
        TermRef::Triple(_) => unreachable!("the loop ends at another term"),
    };
    // A triple term repeats the bytes of all that are inside it.
    if bytes * (depth + 1) > STATEMENT_LIMIT_BYTES {
        return Err(Unfit::TooLarge);
    }
    Ok(())
}

fn part(batch: &Batch, index: u32) -> Part<'_> {
    let term = &batch.terms[index as usize];
    match term.kind {
        kind if kind.is_inline() => Part::Inline(term.inline_id()),
        Kind::Blank => Part::Blank(batch.bytes(term)),
        Kind::Triple => Part::Triple(batch.bytes(term)),
        kind => Part::Vocabulary {
            kind,
            lexical: batch.bytes(term),
            annotation: &batch.annotations[term.annotation as usize],
        },
    }
}

/// A cheap hash of a language tag or a datatype: both differ at their ends.
#[inline]
fn annotation_slot(marker: u8, written: &[u8]) -> usize {
    let mut hash = usize::from(marker) ^ written.len();
    for byte in written.iter().rev().take(8) {
        hash = hash.wrapping_mul(31) ^ usize::from(*byte);
    }
    (hash ^ (hash >> 8)) % ANNOTATION_SLOTS
}

#[cold]
fn learn(marker: u8, written: &[u8]) -> Annotation {
    let mut bytes = vec![marker];
    bytes.extend_from_slice(written);
    let class = if marker == b'@' {
        bytes.make_ascii_lowercase();
        DatatypeClass::OTHER
    } else {
        std::str::from_utf8(written).map_or(DatatypeClass::OTHER, DatatypeClass::of)
    };
    Annotation {
        written: [&[marker], written].concat().into_boxed_slice(),
        seed: hash_seed(class.vocabulary_kind(), &bytes),
        bytes: bytes.into_boxed_slice(),
        class,
        generation: 0,
        index: 0,
    }
}
