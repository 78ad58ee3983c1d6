//! Dictionaries: files that give terms ids and ids their terms.
//!
//! A dictionary is written once, from terms in term order, and never changed. Its terms stand in
//! *sections*, one a vocabulary kind, each a sequence of front-coded blocks (`block`) with a directory
//! (`directory`). An ordinal (the payload of a [`TermId`](crate::TermId)) is the section's first
//! ordinal plus the term's place in the section, so comparing ids of one dictionary compares terms, a string
//! prefix is a range of ids, and neither direction needs an index beside the terms themselves.
//!
//! # Byte map of the payload (a [checked file](crate::io::checked), little-endian)
//!
//! ```text
//! blocks       of the sections iri, literal, numeric literal, temporal literal, one after another
//! directories  of the same sections, see `directory`
//! annotations  count + 1 times 8 bytes: where each annotation begins in the bytes that follow, and their end
//!              the annotations' bytes (see `crate::term`), sorted and distinct
//! trailer      4 sections: first ordinal, terms, blocks, offset of the blocks, offset of the directory
//!              number of annotations, offset of the annotations; 8 bytes each number
//! ```
//!
//! What always holds:
//! * Terms of a section are strictly ascending by (lexical form, annotation), and so are its blocks' heads.
//! * A term's annotation is a number into the table; the order of numbers is the order of annotations. IRIs
//!   have none (number 0, whatever stands there).
//! * Opening reads the trailer alone. Nothing is decoded that was not asked for, and a lookup touches
//!   the directory entries on its way and one block.

mod batch;
mod block;
mod cursor;
mod directory;
mod reader;
#[cfg(test)]
mod tests;
mod verify;
mod writer;

pub use batch::EachTerm;
pub use cursor::DictionaryCursor;
pub use reader::{Dictionary, DictionaryIdentity};
pub use writer::{
    DictionarySummary, DictionaryWriter, SectionBlocks, SectionBuilder, SectionSummary,
};

use crate::id::Kind;

/// The first bytes of a dictionary file.
pub const MAGIC: [u8; 8] = *b"QDRLDICT";
/// The version of the format that this module writes and reads.
pub const VERSION: u32 = 1;

/// Sections of a dictionary.
const SECTIONS: usize = Kind::VOCABULARY.len();

/// A term inside one section; the derived order is term order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TermBytes<'a> {
    /// The IRI or the lexical form.
    pub lexical: &'a [u8],
    /// The annotation's number in the dictionary's sorted table.
    pub annotation: u32,
}

/// The section of a kind, if it is a vocabulary kind.
#[inline]
fn section_of(kind: Kind) -> Option<usize> {
    section_of_bits(kind as u64)
}

/// The section of the kind with these bits, if it is a vocabulary kind.
#[inline]
fn section_of_bits(kind: u64) -> Option<usize> {
    const KINDS: [u64; SECTIONS] = {
        let [iri, literal, numeric, temporal] = Kind::VOCABULARY;
        [iri as u64, literal as u64, numeric as u64, temporal as u64]
    };
    KINDS.iter().position(|bits| *bits == kind)
}
