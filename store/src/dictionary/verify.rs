//! Checking a whole dictionary: checksums, then everything that lookups rely on.

use super::block::{Block, SLACK_BYTES};
use super::directory::{ANNOTATION_OFFSET_BYTES, ENTRY_BYTES, TRAILER_BYTES};
use super::reader::Dictionary;
use super::{SECTIONS, TermBytes};
use crate::codec::Malformed;
use crate::error::Result;
use crate::id::Kind;

/// The last term seen, to compare the next one with.
#[derive(Default)]
struct Last {
    lexical: Vec<u8>,
    annotation: u32,
    any: bool,
}

impl Last {
    /// Takes the next term if it is after the last one and well formed.
    fn advance(
        &mut self,
        term: TermBytes<'_>,
        annotations: u64,
    ) -> std::result::Result<(), Malformed> {
        if self.any && (self.lexical.as_slice(), self.annotation) >= (term.lexical, term.annotation)
        {
            return Err(Malformed("terms are not in order"));
        }
        if u64::from(term.annotation) >= annotations {
            return Err(Malformed("an annotation that there is not"));
        }
        if std::str::from_utf8(term.lexical).is_err() {
            return Err(Malformed("a term that is not UTF-8"));
        }
        self.lexical.clear();
        self.lexical.extend_from_slice(term.lexical);
        self.annotation = term.annotation;
        self.any = true;
        Ok(())
    }
}

impl Dictionary {
    /// Checks every byte against its checksum, then decodes every term: that terms are strictly ascending
    /// and UTF-8, that each block is as long and has as many terms as its directory says, and that
    /// annotations exist, are sorted and distinct.
    pub fn verify(&self) -> Result<()> {
        self.file.verify()?;
        self.verify_annotations()?;
        (0..SECTIONS).try_for_each(|section| self.verify_section(section))
    }

    fn verify_annotations(&self) -> Result<()> {
        // Any section but that of IRIs will do.
        let section = SECTIONS - 1;
        let table = self.trailer.annotations_at;
        let mut end = 0;
        let mut last: Option<&[u8]> = None;
        for number in 0..self.trailer.annotations {
            let annotation = self.annotation(section, number as u32)?;
            if last.is_some_and(|last| last >= annotation) {
                return Err(self.file.damaged(table, "annotations are not in order"));
            }
            if std::str::from_utf8(annotation).is_err() {
                return Err(self.file.damaged(table, "an annotation that is not UTF-8"));
            }
            last = Some(annotation);
            end += annotation.len() as u64;
        }
        let offsets = (self.trailer.annotations + 1) * ANNOTATION_OFFSET_BYTES as u64;
        if table + offsets + end != self.file.len() - TRAILER_BYTES as u64 {
            return Err(self
                .file
                .damaged(table, "annotations do not fill their table"));
        }
        let first = self
            .file
            .bytes(table..table + ANNOTATION_OFFSET_BYTES as u64)?;
        if first != [0; ANNOTATION_OFFSET_BYTES] {
            return Err(self
                .file
                .damaged(table, "annotations begin behind their beginning"));
        }
        Ok(())
    }

    fn verify_section(&self, section: usize) -> Result<()> {
        let bounds = self.trailer.sections[section];
        // IRIs have annotation 0, whatever the table has.
        let annotations = if Kind::VOCABULARY[section] == Kind::Iri {
            1
        } else {
            self.trailer.annotations
        };
        let (mut terms, mut end) = (0, bounds.start);
        let mut last = Last::default();
        let mut buffer = Vec::new();
        for index in 0..bounds.blocks {
            let placed = self.block(section, index)?;
            if placed.first != terms || placed.offset != end {
                let at = bounds.directory + index * ENTRY_BYTES as u64;
                return Err(self
                    .file
                    .damaged(at, "an entry that does not follow the one before it"));
            }
            verify_block(&placed.block, &mut last, annotations, &mut buffer)
                .map_err(|malformed| self.malformed(placed.offset, malformed))?;
            terms += placed.block.terms() as u64;
            end += placed.block.bytes().len() as u64;
        }
        let closing = self.entry(section, bounds.blocks)?;
        let complete = terms == bounds.terms && end == self.trailer.end_of_blocks(section);
        if !complete || (closing.first, closing.offset) != (terms, end) || !closing.has_no_head() {
            let at = bounds.directory + bounds.blocks * ENTRY_BYTES as u64;
            return Err(self
                .file
                .damaged(at, "a section that does not end where it should"));
        }
        Ok(())
    }
}

fn verify_block(
    block: &Block<'_>,
    last: &mut Last,
    annotations: u64,
    buffer: &mut Vec<u8>,
) -> std::result::Result<(), Malformed> {
    if block.terms() == 1 {
        if block.head().lexical.len() != block.bytes().len() {
            return Err(Malformed("bytes behind the only term of a block"));
        }
        return last.advance(block.head(), annotations);
    }
    buffer.resize(block.longest() + SLACK_BYTES, 0);
    let mut longest = 0;
    for number in 0..block.group_count() {
        let group = block.group(number)?;
        let mut walk = group.walk(buffer)?;
        for at in 0..group.terms() {
            if at > 0 {
                walk.step(buffer)?;
            }
            let term = walk.term(buffer)?;
            longest = longest.max(term.lexical.len());
            last.advance(term, annotations)?;
        }
        if block.bytes().len() - walk.rest().len() != block.group_start(number + 1)? {
            return Err(Malformed("a group that does not end where the next begins"));
        }
    }
    if longest != block.longest() {
        return Err(Malformed("no term is as long as the longest"));
    }
    Ok(())
}
