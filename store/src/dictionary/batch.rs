//! Terms of many ids at once, for results: what neighbouring ids share is decoded once.

use super::TermBytes;
use super::block::{SLACK_BYTES, Walk};
use super::reader::{Dictionary, PlacedBlock};
use crate::error::Result;
use crate::id::TermId;

/// What is called for each term of a batch: place in the batch, lexical form, annotation.
pub type EachTerm<'a> = dyn FnMut(usize, &[u8], &[u8]) + 'a;

impl Dictionary {
    /// Calls `each` with the place in `ids`, the lexical form and the annotation of every id. The ids should
    /// be ascending (repeated ones are fine): then what several of them need is decoded once.
    ///
    /// # Errors
    /// As [`Dictionary::lexical`]; `each` was called for the ids before.
    pub fn lexicals_sorted(&self, ids: &[TermId], each: &mut EachTerm<'_>) -> Result<()> {
        let mut position = Position::default();
        // Most terms have the annotation of the one before them.
        let mut annotation = (0, 0, self.annotation(0, 0)?);
        for (index, &id) in ids.iter().enumerate() {
            let (section, place) = self.locate(id).ok_or_else(|| self.foreign(id))?;
            position.go_to(self, section, place)?;
            let term = position.term(self)?;
            if (annotation.0, annotation.1) != (section, term.annotation) {
                let bytes = self.annotation(section, term.annotation)?;
                annotation = (section, term.annotation, bytes);
            }
            each(index, term.lexical, annotation.2);
        }
        Ok(())
    }
}

/// A position in a dictionary that goes forward cheaply, for batches.
#[derive(Default)]
struct Position<'a> {
    at: Option<Place<'a>>,
    buffer: Vec<u8>,
}

struct Place<'a> {
    section: usize,
    placed: PlacedBlock<'a>,
    /// Place of the term in the section.
    term: u64,
    /// At the term, unless it is the only one of its block: that is the head, and nothing copies it.
    walk: Option<Walk<'a>>,
}

impl<'a> Position<'a> {
    #[inline]
    fn go_to(&mut self, dictionary: &'a Dictionary, section: usize, place: u64) -> Result<()> {
        if let Some(at) = &mut self.at
            && at.section == section
            && let Some(walk) = &mut at.walk
            && at.term <= place
            && place < at.placed.end_of_group(at.term)
        {
            walk.advance(place - at.term, &mut self.buffer)
                .map_err(|malformed| dictionary.malformed(at.placed.offset, malformed))?;
            at.term = place;
            return Ok(());
        }
        self.jump(dictionary, section, place)
    }

    fn jump(&mut self, dictionary: &'a Dictionary, section: usize, place: u64) -> Result<()> {
        let placed = match self.at.take() {
            Some(at) if at.section == section && at.placed.contains(place) => at.placed,
            _ => dictionary.block_of(section, place)?,
        };
        let mut walk = None;
        if placed.block.terms() > 1 {
            let length = placed.block.longest() + SLACK_BYTES;
            if self.buffer.len() < length {
                self.buffer.resize(length, 0);
            }
            let inside = (place - placed.first) as usize;
            let found = placed.block.walk_to(inside, &mut self.buffer);
            walk = Some(found.map_err(|malformed| dictionary.malformed(placed.offset, malformed))?);
        }
        self.at = Some(Place {
            section,
            placed,
            term: place,
            walk,
        });
        Ok(())
    }

    #[inline]
    fn term(&mut self, dictionary: &Dictionary) -> Result<TermBytes<'_>> {
        let at = self.at.as_ref().expect("a position was gone to");
        match &at.walk {
            Some(walk) => walk
                .term(&mut self.buffer)
                .map_err(|malformed| dictionary.malformed(at.placed.offset, malformed)),
            None => Ok(at.placed.block.head()),
        }
    }
}
