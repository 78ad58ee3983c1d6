//! Cells: the terms of a batch in the form that a format gives them, and the loop that writes rows of them.
//!
//! Forms lie in one arena of bytes. A small table remembers where the form of an id lies, so that a term that comes again
//! in a later batch is neither looked up nor put into its form again; when the arena outgrows its bound, both
//! begin anew.

use crate::error::{QueryError, Result};
use crate::exec::batch::Batch;
use crate::exec::gather::Collect;
use crate::exec::hash::mix;
use crate::exec::terms::Terms;
use crate::query::Solutions;
use oxrdf::{BaseDirection, LiteralRef, Term, TermRef, Triple};
use quadrille_store::snapshot::terms::{Annotation, TermParts};
use quadrille_store::{Kind, TermId};
use std::io::Write;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The writer is given blocks of about this size.
pub const BLOCK_BYTES: usize = 1 << 16;
/// The size of blocks that come from other threads: handing one over may cost as much as some kilobytes of text.
const GATHERED_BLOCK_BYTES: usize = 1 << 18;
/// Written blocks whose memory is kept, and how large they may be.
const SPARE_BLOCKS_MAX: usize = 16;
const SPARE_BYTES: RangeInclusive<usize> = BLOCK_BYTES..=4 * GATHERED_BLOCK_BYTES;
/// The arena begins anew beyond this.
const ARENA_BYTES_MAX: usize = 1 << 20;
/// Entries of the table of forms at first; a power of two. Few rows should not pay for a large table.
const TABLE_ENTRIES_MIN: usize = 1 << 4;
/// Entries that it grows to.
const TABLE_ENTRIES_MAX: usize = 1 << 12;

/// A term as formats are given it.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the names are RDF's")]
pub enum Shown<'a> {
    Iri(&'a str),
    Blank(u64),
    /// A blank node inside a triple term.
    BlankLabel(&'a str),
    Literal {
        lexical: &'a str,
        annotation: Annotation<'a>,
    },
    Triple(&'a Triple),
}

impl<'a> Shown<'a> {
    /// A term.
    pub fn of(term: TermRef<'a>) -> Self {
        match term {
            TermRef::NamedNode(node) => Self::Iri(node.as_str()),
            TermRef::BlankNode(node) => Self::BlankLabel(node.as_str()),
            TermRef::Literal(literal) => Self::Literal {
                lexical: literal.value(),
                annotation: annotation_of(literal),
            },
            TermRef::Triple(triple) => Self::Triple(triple),
        }
    }

    /// The three parts of a triple term.
    pub fn parts(triple: &'a Triple) -> [Self; 3] {
        [
            Self::of(triple.subject.as_ref().into()),
            Self::of(triple.predicate.as_ref().into()),
            Self::of(triple.object.as_ref()),
        ]
    }
}

fn annotation_of(literal: LiteralRef<'_>) -> Annotation<'_> {
    match (literal.language(), literal.direction()) {
        (Some(language), Some(direction)) => Annotation::Directional(language, direction),
        (Some(language), None) => Annotation::Language(language),
        (None, _) if literal.datatype() == oxrdf::vocab::xsd::STRING => Annotation::Plain,
        (None, _) => Annotation::Datatype(literal.datatype().as_str()),
    }
}

/// The name of a base direction.
pub fn direction_name(direction: BaseDirection) -> &'static str {
    match direction {
        BaseDirection::Ltr => "ltr",
        BaseDirection::Rtl => "rtl",
    }
}

/// A format whose rows are made of cells.
pub trait RowFormat {
    /// What stands before the rows.
    fn begin(&mut self, variables: &[oxrdf::Variable], out: &mut Vec<u8>);
    /// The form of a term.
    fn term(&self, term: Shown<'_>, out: &mut Vec<u8>);
    /// A row; a cell without a term is `None`.
    fn row<'a>(&self, cells: impl Iterator<Item = Option<&'a [u8]>>, out: &mut Vec<u8>);
    /// What stands between two rows.
    fn separator(&self) -> &'static [u8] {
        b""
    }
    /// Whether all terms so far could be written.
    ///
    /// # Errors
    /// [`QueryError::Write`] if the format has no form for one of them.
    fn check(&self) -> Result<()> {
        Ok(())
    }
    /// What stands after the rows.
    fn end(&self, out: &mut Vec<u8>);
}

/// Writes all rows in a format; gives their number.
///
/// # Errors
/// [`QueryError::Write`] if the writer refuses; otherwise what reading the rows gives.
pub fn write_rows<F: RowFormat + Send + Sync + 'static>(
    mut solutions: Solutions,
    mut format: F,
    writer: &mut impl Write,
) -> Result<u64> {
    // Written with the first rows: an error before there are any leaves nothing behind.
    let mut start = Vec::new();
    format.begin(solutions.variables(), &mut start);
    let format = Arc::new(format);
    let separator = format.separator();
    let mut text = Text {
        cells: Cells::new(),
        terms: solutions.shared_terms(),
        format: Arc::clone(&format),
        block: Block::default(),
        block_bytes: BLOCK_BYTES,
    };
    let mut rows = 0;
    let mut write = |block: Block| -> Result<()> {
        let before = if rows == 0 { &start[..] } else { separator };
        writer.write_all(before).map_err(QueryError::Write)?;
        rows += block.rows;
        writer.write_all(&block.bytes).map_err(QueryError::Write)?;
        give(block.bytes);
        Ok(())
    };
    if let Some(pipeline) = solutions.take_pipeline()? {
        let mut blocks = pipeline.run(move || text.another())?;
        while let Some(block) = blocks.next_message()? {
            write(block)?;
        }
    } else {
        let mut batch = Batch::new(solutions.variables().len());
        while solutions.next_batch(&mut batch)? > 0 {
            if let Some(block) = text.add(&mut batch)? {
                write(block)?;
            }
        }
        if let Some(block) = text.finish() {
            write(block)?;
        }
    }
    let mut end = if rows == 0 { start } else { Vec::new() };
    format.end(&mut end);
    writer.write_all(&end).map_err(QueryError::Write)?;
    Ok(rows)
}

/// Rows as text, with separators between them.
#[derive(Default)]
struct Block {
    rows: u64,
    bytes: Vec<u8>,
}

/// Makes text of batches.
struct Text<F> {
    cells: Cells,
    terms: Arc<Terms>,
    format: Arc<F>,
    block: Block,
    /// When a block is large enough.
    block_bytes: usize,
}

impl<F: RowFormat> Text<F> {
    /// The same for another thread.
    fn another(&self) -> Self {
        Self {
            cells: Cells::new(),
            terms: Arc::clone(&self.terms),
            format: Arc::clone(&self.format),
            block: Block::default(),
            block_bytes: GATHERED_BLOCK_BYTES,
        }
    }

    fn take(&mut self) -> Block {
        let used = spare().pop();
        // The batch that fills a block may be half as large as the block.
        let bytes = used.unwrap_or_else(|| Vec::with_capacity(self.block_bytes * 3 / 2));
        std::mem::replace(&mut self.block, Block { rows: 0, bytes })
    }
}

impl<F: RowFormat> Collect for Text<F> {
    type Message = Block;

    fn add(&mut self, batch: &mut Batch) -> Result<Option<Block>> {
        self.cells.fill(&self.terms, batch, &*self.format)?;
        self.format.check()?;
        let Block { rows, bytes } = &mut self.block;
        for row in 0..batch.rows() {
            if *rows > 0 || row > 0 {
                bytes.extend_from_slice(self.format.separator());
            }
            self.format.row(self.cells.row(row), bytes);
        }
        *rows += batch.rows() as u64;
        Ok((bytes.len() >= self.block_bytes).then(|| self.take()))
    }

    fn finish(&mut self) -> Option<Block> {
        (self.block.rows > 0).then(|| std::mem::take(&mut self.block))
    }

    fn bytes(message: &Block) -> u64 {
        message.bytes.capacity() as u64
    }
}

/// Memory of blocks that were written, in this query or in one before: fresh memory costs page faults.
static SPARE: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

fn spare() -> MutexGuard<'static, Vec<Vec<u8>>> {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the memory of a written block, within a bound.
fn give(mut bytes: Vec<u8>) {
    bytes.clear();
    let mut spare = spare();
    if spare.len() < SPARE_BLOCKS_MAX && SPARE_BYTES.contains(&bytes.capacity()) {
        spare.push(bytes);
    }
}

/// Where a form lies in the arena; without a length: no term.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    length: usize,
}

const NO_TERM: Span = Span {
    start: 0,
    length: usize::MAX,
};

/// The forms of a batch's terms.
pub struct Cells {
    width: usize,
    arena: Vec<u8>,
    /// By row, then by column.
    spans: Vec<Span>,
    table: Vec<(TermId, Span)>,
    /// Ids whose forms must be made, and the cell each of them is for.
    missing: Vec<TermId>,
    places: Vec<usize>,
}

impl Default for Cells {
    fn default() -> Self {
        Self::new()
    }
}

impl Cells {
    /// No cells yet.
    pub fn new() -> Self {
        Self {
            width: 0,
            arena: Vec::new(),
            spans: Vec::new(),
            table: Vec::new(),
            missing: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Puts the terms of a batch into their form.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn fill(&mut self, terms: &Terms, batch: &Batch, format: &impl RowFormat) -> Result<()> {
        self.width = batch.width();
        let entries = (2 * batch.rows() * self.width)
            .next_power_of_two()
            .clamp(TABLE_ENTRIES_MIN, TABLE_ENTRIES_MAX);
        if self.arena.len() > ARENA_BYTES_MAX || self.table.len() < entries {
            self.arena.clear();
            self.table.clear();
            self.table.resize(entries, (TermId::UNBOUND, NO_TERM));
        }
        self.spans.clear();
        self.spans.resize(batch.rows() * self.width, NO_TERM);
        self.missing.clear();
        self.places.clear();
        for column in 0..self.width {
            for (row, id) in batch.column(column).iter().enumerate() {
                if id.is_unbound() {
                    continue;
                }
                let place = row * self.width + column;
                let entry = entry_of(*id, self.table.len());
                let (known, span) = self.table[entry];
                if known == *id {
                    self.spans[place] = span;
                } else if id.kind() == Some(Kind::Local) {
                    let start = self.arena.len();
                    format.term(Shown::of(terms.term(*id)?.as_ref()), &mut self.arena);
                    let span = Span {
                        start,
                        length: self.arena.len() - start,
                    };
                    self.spans[place] = span;
                    self.table[entry] = (*id, span);
                } else {
                    self.missing.push(*id);
                    self.places.push(place);
                }
            }
        }
        let (arena, spans, table, places) = (
            &mut self.arena,
            &mut self.spans,
            &mut self.table,
            &self.places,
        );
        let missing = &self.missing;
        let mut failed = None;
        let snapshot = terms.snapshot();
        snapshot.term_parts(missing, &mut |indexes, parts| {
            let start = arena.len();
            match parts {
                TermParts::Iri(iri) => format.term(Shown::Iri(iri), arena),
                TermParts::Blank(number) => format.term(Shown::Blank(number), arena),
                TermParts::Literal {
                    lexical,
                    annotation,
                } => format.term(
                    Shown::Literal {
                        lexical,
                        annotation,
                    },
                    arena,
                ),
                TermParts::Triple(_) => match snapshot.term(missing[indexes[0]]) {
                    Ok(Term::Triple(triple)) => format.term(Shown::Triple(&triple), arena),
                    Ok(other) => format.term(Shown::of(other.as_ref()), arena),
                    Err(error) => failed = Some(error),
                },
            }
            let span = Span {
                start,
                length: arena.len() - start,
            };
            for index in indexes {
                spans[places[*index]] = span;
            }
            let id = missing[indexes[0]];
            let entry = entry_of(id, table.len());
            table[entry] = (id, span);
        })?;
        match failed {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    /// The cells of a row.
    pub fn row(&self, row: usize) -> impl Iterator<Item = Option<&[u8]>> {
        self.spans[row * self.width..][..self.width]
            .iter()
            .map(|span| {
                (span.length != usize::MAX)
                    .then(|| &self.arena[span.start..span.start + span.length])
            })
    }
}

/// The entry of an id in a table of so many, a power of two.
fn entry_of(id: TermId, entries: usize) -> usize {
    mix(id.bits()) as usize & (entries - 1)
}
