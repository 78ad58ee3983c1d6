//! Writing a dictionary: builders encode runs of terms, a writer puts their blocks into one file.
//!
//! The two are apart so that several threads can encode neighbouring ranges of one vocabulary. A run
//! knows no ordinals and no offsets in the file; the writer adds them when it appends the run.

use super::block::{BlockEncoder, shared_prefix};
use super::directory::{ENTRY_BYTES, Entry, Trailer};
use super::{MAGIC, SECTIONS, TermBytes, VERSION, section_of};
use crate::error::Result;
use crate::id::{Kind, PAYLOAD_MAX};
use crate::io::Storage;
use crate::io::checked::{CheckedWriter, Unsynced};

/// Encodes a run of terms of one kind.
#[derive(Debug)]
pub struct SectionBuilder {
    blocks: SectionBlocks,
    block: BlockEncoder,
}

/// A run of encoded terms, to be appended to a dictionary.
#[derive(Debug)]
pub struct SectionBlocks {
    kind: Kind,
    /// The blocks, one after another.
    bytes: Vec<u8>,
    /// Places and offsets from the run's start.
    entries: Vec<Entry>,
    terms: u64,
    /// Bytes of the terms as they are.
    raw_bytes: u64,
    /// One more than the largest number of an annotation.
    annotations: u32,
    last: Vec<u8>,
    last_annotation: u32,
}

impl SectionBuilder {
    /// A builder for terms of a vocabulary kind.
    ///
    /// # Panics
    /// If the kind is none.
    pub fn new(kind: Kind) -> Self {
        assert!(kind.is_vocabulary(), "{kind:?} stands in no dictionary");
        Self {
            blocks: SectionBlocks {
                kind,
                bytes: Vec::new(),
                entries: Vec::new(),
                terms: 0,
                raw_bytes: 0,
                annotations: 0,
                last: Vec::new(),
                last_annotation: 0,
            },
            block: BlockEncoder::default(),
        }
    }

    /// Adds the next term. `annotation` is its number in the list that the [`DictionaryWriter`] is
    /// created with; IRIs have none, and it is ignored.
    ///
    /// # Panics
    /// If the term is not after the last one, or has 4 GiB.
    #[inline]
    pub fn push(&mut self, lexical: &[u8], annotation: u32) {
        let annotation = if self.blocks.kind == Kind::Iri {
            0
        } else {
            annotation
        };
        let term = TermBytes {
            lexical,
            annotation,
        };
        let shared = match self.block.last() {
            None => 0,
            Some(last) => {
                let shared = shared_prefix(last.lexical, lexical);
                assert_after(last, term, shared);
                shared
            }
        };
        if self.block.is_full(lexical.len()) {
            self.finish_block();
        }
        self.blocks.terms += 1;
        self.blocks.raw_bytes += lexical.len() as u64;
        self.blocks.annotations = self.blocks.annotations.max(annotation.saturating_add(1));
        self.block.push(term, shared);
    }

    /// Terms so far.
    pub fn len(&self) -> u64 {
        self.blocks.terms
    }

    /// Whether there is no term yet.
    pub fn is_empty(&self) -> bool {
        self.blocks.terms == 0
    }

    /// Bytes of memory that the encoded terms take so far. A caller with a great many terms appends what
    /// it has and goes on with a new builder.
    pub fn encoded_bytes(&self) -> usize {
        self.blocks.bytes.len()
    }

    /// The terms, encoded.
    pub fn finish(mut self) -> SectionBlocks {
        if let Some(last) = self.block.last() {
            self.blocks.last = last.lexical.to_vec();
            self.blocks.last_annotation = last.annotation;
            self.finish_block();
        }
        self.blocks
    }

    fn finish_block(&mut self) {
        let offset = self.blocks.bytes.len() as u64;
        let shape = self.block.finish(&mut self.blocks.bytes);
        self.blocks.entries.push(Entry {
            first: self.blocks.terms - shape.terms as u64,
            offset,
            head_length: u32::try_from(shape.head_length).expect("a term of less than 4 GiB"),
            head_annotation: shape.head_annotation,
        });
    }
}

/// Panics if a term is not after another one with which it shares `shared` bytes at the front, no more.
#[inline]
fn assert_after(previous: TermBytes<'_>, term: TermBytes<'_>, shared: usize) {
    let after = match (previous.lexical.get(shared), term.lexical.get(shared)) {
        (Some(previous), Some(byte)) => byte > previous,
        (None, None) => term.annotation > previous.annotation,
        (previous, _) => previous.is_none(),
    };
    assert!(after, "terms are not in order: {term:?} after {previous:?}");
}

impl SectionBlocks {
    /// What the terms are.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Number of terms.
    pub fn len(&self) -> u64 {
        self.terms
    }

    /// Whether there are no terms.
    pub fn is_empty(&self) -> bool {
        self.terms == 0
    }

    /// Bytes of the encoded terms.
    pub fn encoded_bytes(&self) -> usize {
        self.bytes.len()
    }

    fn head(&self) -> Option<TermBytes<'_>> {
        self.entries.first().map(|entry| TermBytes {
            lexical: &self.bytes[..entry.head_length as usize],
            annotation: entry.head_annotation,
        })
    }
}

/// What a section of a written dictionary takes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SectionSummary {
    /// Number of terms.
    pub terms: u64,
    /// Bytes of the terms as they are, annotations not included.
    pub raw_bytes: u64,
    /// Bytes of the blocks.
    pub block_bytes: u64,
    /// Bytes of the directory.
    pub directory_bytes: u64,
}

/// What a written dictionary takes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DictionarySummary {
    /// The sections, by [`Kind::VOCABULARY`].
    pub sections: [SectionSummary; SECTIONS],
    /// Bytes of the annotations and their table.
    pub annotation_bytes: u64,
    /// Bytes of the whole file.
    pub file_bytes: u64,
}

impl DictionarySummary {
    /// Number of terms.
    pub fn terms(&self) -> u64 {
        self.sections.iter().map(|section| section.terms).sum()
    }
}

/// Writes a dictionary file, front to back.
#[derive(Debug)]
pub struct DictionaryWriter {
    file: CheckedWriter,
    trailer: Trailer,
    /// The entries of each section so far, as they stand in the file.
    directories: [Vec<u8>; SECTIONS],
    annotations: Vec<Box<[u8]>>,
    summary: DictionarySummary,
    /// The section that was appended to last, and its last term.
    section: usize,
    last: Option<(Vec<u8>, u32)>,
}

impl DictionaryWriter {
    /// Begins a dictionary, which must not exist.
    ///
    /// The first term of each kind of [`Kind::VOCABULARY`] gets the ordinal in `first_ordinals`. Annotations
    /// are as [`crate::term`] describes them, sorted and distinct; terms name them by their place. Plain
    /// literals have the empty one, which is the first if there are any.
    ///
    /// # Panics
    /// If the annotations are not sorted and distinct, or an ordinal has more than 58 bits.
    pub fn create(
        storage: &dyn Storage,
        path: &str,
        first_ordinals: [u64; SECTIONS],
        annotations: &[Box<[u8]>],
    ) -> Result<Self> {
        let sorted = annotations.is_sorted_by(|a, b| a < b);
        assert!(sorted, "annotations must be sorted and distinct");
        let possible = first_ordinals.iter().all(|first| *first <= PAYLOAD_MAX);
        assert!(possible, "first ordinals {first_ordinals:?}");
        let mut trailer = Trailer::default();
        for (section, first) in trailer.sections.iter_mut().zip(first_ordinals) {
            section.first = first;
        }
        Ok(Self {
            file: CheckedWriter::create(storage, path, MAGIC, VERSION)?,
            trailer,
            directories: Default::default(),
            annotations: annotations.to_vec(),
            summary: DictionarySummary::default(),
            section: 0,
            last: None,
        })
    }

    /// Appends a run of terms. Runs come by kind, in the order of [`Kind::VOCABULARY`], and within a kind in
    /// term order.
    ///
    /// # Panics
    /// If the run is out of order, names an annotation that there is not, or brings ordinals beyond 58 bits.
    pub fn append(&mut self, blocks: SectionBlocks) -> Result<()> {
        let Some(head) = blocks.head() else {
            return Ok(());
        };
        let index = section_of(blocks.kind).expect("a builder has a vocabulary kind");
        self.enter(index);
        if let Some((lexical, annotation)) = &self.last {
            let last = TermBytes {
                lexical,
                annotation: *annotation,
            };
            assert_after(last, head, shared_prefix(lexical, head.lexical));
        }
        assert!(
            blocks.kind == Kind::Iri || blocks.annotations as usize <= self.annotations.len(),
            "a term with annotation {} of {}",
            blocks.annotations - 1,
            self.annotations.len()
        );
        let section = &mut self.trailer.sections[index];
        let start = self.file.position();
        let directory = &mut self.directories[index];
        directory.reserve(blocks.entries.len() * ENTRY_BYTES);
        for entry in &blocks.entries {
            let placed = Entry {
                first: section.terms + entry.first,
                offset: start + entry.offset,
                ..*entry
            };
            directory.extend_from_slice(&placed.to_bytes());
        }
        section.terms += blocks.terms;
        section.blocks += blocks.entries.len() as u64;
        let ordinals = section.first.checked_add(section.terms);
        assert!(
            ordinals.is_some_and(|end| end <= PAYLOAD_MAX),
            "no ordinals are left"
        );
        let summary = &mut self.summary.sections[index];
        summary.terms += blocks.terms;
        summary.raw_bytes += blocks.raw_bytes;
        summary.block_bytes += blocks.bytes.len() as u64;
        self.file.write_all(&blocks.bytes)?;
        self.last = Some((blocks.last, blocks.last_annotation));
        Ok(())
    }

    /// Writes what stands behind the blocks.
    pub fn finish(mut self) -> Result<(Unsynced, DictionarySummary)> {
        self.enter(SECTIONS - 1);
        let end_of_blocks = self.file.position();
        for index in 0..SECTIONS {
            let section = &mut self.trailer.sections[index];
            section.directory = self.file.position();
            let last = Entry {
                first: section.terms,
                offset: self
                    .trailer
                    .sections
                    .get(index + 1)
                    .map_or(end_of_blocks, |next| next.start),
                head_length: 0,
                head_annotation: 0,
            };
            self.file.write_all(&self.directories[index])?;
            self.file.write_all(&last.to_bytes())?;
            self.summary.sections[index].directory_bytes =
                (self.directories[index].len() + ENTRY_BYTES) as u64;
        }
        self.trailer.annotations = self.annotations.len() as u64;
        self.trailer.annotations_at = self.file.position();
        let mut end = 0_u64;
        self.file.write_all(&end.to_le_bytes())?;
        for annotation in &self.annotations {
            end += annotation.len() as u64;
            self.file.write_all(&end.to_le_bytes())?;
        }
        for annotation in &self.annotations {
            self.file.write_all(annotation)?;
        }
        self.summary.annotation_bytes = self.file.position() - self.trailer.annotations_at;
        self.file.write_all(&self.trailer.to_bytes())?;
        let unsynced = self.file.finish()?;
        self.summary.file_bytes = unsynced.bytes();
        Ok((unsynced, self.summary))
    }

    /// Goes on to a section; those on the way have no terms.
    fn enter(&mut self, index: usize) {
        assert!(index >= self.section, "sections must be written in order");
        while self.section < index {
            self.section += 1;
            self.trailer.sections[self.section].start = self.file.position();
            self.last = None;
        }
    }
}
