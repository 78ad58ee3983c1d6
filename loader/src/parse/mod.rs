//! Parsing: pieces of input become [`Batch`]es of statements.
//!
//! * N-Triples and N-Quads: [`lexer`] takes the plain lines, [`fallback`] hands the others to `oxttl`;
//! * Turtle: [`terse_lexer`] takes the plain statements, `oxttl` the others; `TriG`: `oxttl`; see [`terse`];
//! * RDF/XML and JSON-LD: [`other`], by `oxrdfxml` and `oxjsonld`.
//!
//! What always holds: `oxttl` decides what is valid, the lexer only agrees with it faster; a statement goes
//! into a batch whole and only when it is known to be good; a bad one is told to the sink, which decides
//! whether the load goes on.

mod builder;
pub(crate) mod fallback;
mod guard;
pub(crate) mod lexer;
mod other;
pub(crate) mod scan;
mod terse;
mod terse_lexer;

use crate::batch::Batch;
use crate::error::{LoadError, Result};
use crate::input::{Document, Format, Slice, Work};
use builder::BatchBuilder;
use lexer::{Lexer, Line};
use memchr::memchr2;
use oxrdf::NamedNode;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use terse_lexer::TerseLexer;

/// Statements of a batch unless told otherwise: with their terms they stay in the second-level cache.
pub const BATCH_SIZE_STATEMENTS: usize = 4096;

/// How much of a refused statement a [`Reject`] holds, in bytes.
pub const REJECT_TEXT_BYTES: usize = 64 * 1024;

/// Prefixes of documents that are remembered.
pub const PREFIXES_MAX: usize = 1000;

/// The UTF-8 byte-order mark, passed over at the beginning of a document.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// How statements are parsed.
#[derive(Clone, Debug)]
pub struct ParseOptions {
    /// Whether IRIs and language tags that fit the grammar but not the standards behind it are kept.
    pub lenient: bool,
    /// Statements after which a batch is handed over.
    pub batch_size: usize,
    /// The graph of statements that name none; without one, the default graph.
    pub graph: Option<NamedNode>,
}

impl Default for ParseOptions {
    fn default() -> Self {
        Self {
            lenient: false,
            batch_size: BATCH_SIZE_STATEMENTS,
            graph: None,
        }
    }
}

/// Takes what a parser makes.
pub trait BatchSink {
    /// An empty batch to fill, new or used.
    fn fresh(&mut self) -> Batch;

    /// A full batch, or the last one of a piece of work; an error stops the parse.
    fn take(&mut self, batch: Batch) -> Result<()>;

    /// A bad statement; an error ([`LoadError::Syntax`] by default) stops the parse, otherwise it goes on behind it.
    fn reject(&mut self, reject: Reject) -> Result<()> {
        Err(LoadError::Syntax(Box::new(reject)))
    }
}

/// A statement that is not valid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reject {
    /// The file.
    pub name: String,
    /// The document's number.
    pub document: u32,
    /// The line in the document, from 1; 0 if the parser does not tell.
    pub line: u64,
    /// The column in the line, in characters, from 1; 0 if the parser does not tell.
    pub column: u64,
    /// Why it is not valid.
    pub reason: String,
    /// The line as it stands, cut at [`REJECT_TEXT_BYTES`]; empty where the parser does not tell.
    pub text: Vec<u8>,
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
            if self.column > 0 {
                write!(f, ":{}", self.column)?;
            }
        }
        write!(f, ": {}", self.reason)
    }
}

/// What a piece of work had in it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ParseCounts {
    /// Statements put into batches.
    pub statements: u64,
    /// Lines, comments and empty ones included (0 for RDF/XML and JSON-LD).
    pub lines: u64,
    /// Lines that a fast lexer handed to `oxttl`; not of what it does not read, `TriG` for one.
    pub fallback_lines: u64,
    /// Statements that only a lenient parse took; they are counted in `statements` too. Turtle, `TriG`, RDF/XML
    /// and JSON-LD do not tell them apart.
    pub lenient: u64,
    /// Statements refused.
    pub rejected: u64,
    /// Bytes parsed, decompressed.
    pub bytes: u64,
}

impl std::ops::AddAssign for ParseCounts {
    fn add_assign(&mut self, other: Self) {
        self.statements += other.statements;
        self.lines += other.lines;
        self.fallback_lines += other.fallback_lines;
        self.lenient += other.lenient;
        self.rejected += other.rejected;
        self.bytes += other.bytes;
    }
}

/// A parser of all formats; one for each thread.
pub struct StatementParser {
    options: ParseOptions,
    builder: BatchBuilder,
    lexer: Lexer,
    terse: TerseLexer,
    prefixes: BTreeMap<String, String>,
}

impl StatementParser {
    /// A parser.
    pub fn new(options: ParseOptions) -> Self {
        Self {
            builder: BatchBuilder::new(options.batch_size, options.graph.clone()),
            lexer: Lexer::new(),
            terse: TerseLexer::new(),
            prefixes: BTreeMap::new(),
            options,
        }
    }

    /// Parses a piece of work.
    pub fn parse(&mut self, work: Work, sink: &mut dyn BatchSink) -> Result<ParseCounts> {
        match work {
            Work::Slice(slice) => self.parse_slice(&slice, sink),
            Work::Document(document) => self.parse_document(document, sink),
        }
    }

    /// Parses a slice.
    pub fn parse_slice(
        &mut self,
        slice: &Arc<Slice>,
        sink: &mut dyn BatchSink,
    ) -> Result<ParseCounts> {
        if slice.format().is_line_based() {
            self.parse_lines(slice, sink)
        } else {
            self.parse_terse_slice(slice, sink)
        }
    }

    /// Parses a document from one end to the other.
    pub fn parse_document(
        &mut self,
        document: Document,
        sink: &mut dyn BatchSink,
    ) -> Result<ParseCounts> {
        match document.format() {
            Format::NTriples | Format::NQuads => {
                let mut counts = ParseCounts::default();
                let mut cutter = document.into_lines();
                while let Some(slice) = cutter.next_slice()? {
                    counts += self.parse_lines(&Arc::new(slice), sink)?;
                }
                Ok(counts)
            }
            Format::Turtle | Format::TriG => self.parse_terse_document(document, sink),
            Format::RdfXml | Format::JsonLd => self.parse_other_document(document, sink),
        }
    }

    /// The prefixes that documents declared so far, at most [`PREFIXES_MAX`], for the store to remember. The
    /// first declaration of a prefix stays.
    pub fn prefixes(&self) -> &BTreeMap<String, String> {
        &self.prefixes
    }

    fn note_prefix(&mut self, prefix: &str, iri: &str) {
        if self.prefixes.len() < PREFIXES_MAX && !self.prefixes.contains_key(prefix) {
            self.prefixes.insert(prefix.to_owned(), iri.to_owned());
        }
    }

    fn parse_lines(&mut self, slice: &Arc<Slice>, sink: &mut dyn BatchSink) -> Result<ParseCounts> {
        let data = slice.padded();
        let length = slice.bytes().len();
        let mut counts = ParseCounts {
            bytes: length as u64,
            ..ParseCounts::default()
        };
        let with_graph = slice.format() == Format::NQuads;
        let has_mark = slice.offset() == 0 && slice.bytes().starts_with(BYTE_ORDER_MARK);
        let mut at = if has_mark { BYTE_ORDER_MARK.len() } else { 0 };
        self.lexer.begin_slice(slice.document(), with_graph);
        self.builder.begin(Some(slice), || sink.fresh());
        while at < length {
            match self.lexer.line(data, length, at, &mut self.builder) {
                Some((line, next)) => {
                    counts.statements += u64::from(line == Line::Statement);
                    at = next;
                }
                None => at = self.odd_line(slice, at, &mut counts, sink)?,
            }
            counts.lines += 1;
            if self.builder.is_full() {
                self.flush(sink)?;
                self.builder.begin(Some(slice), || sink.fresh());
            }
        }
        self.flush(sink)?;
        slice.note_lines(counts.lines);
        Ok(counts)
    }

    fn flush(&mut self, sink: &mut dyn BatchSink) -> Result<()> {
        match self.builder.finish() {
            Some(batch) => sink.take(batch),
            None => Ok(()),
        }
    }

    /// A line that the fast lexer does not know; gives where the next begins.
    #[cold]
    fn odd_line(
        &mut self,
        slice: &Arc<Slice>,
        at: usize,
        counts: &mut ParseCounts,
        sink: &mut dyn BatchSink,
    ) -> Result<usize> {
        let bytes = slice.bytes();
        let next = match memchr2(b'\r', b'\n', &bytes[at..]) {
            None => bytes.len(),
            Some(end) if bytes[at + end..].starts_with(b"\r\n") => at + end + 2,
            Some(end) => at + end + 1,
        };
        let line = &bytes[at..next];
        counts.fallback_lines += 1;
        let with_graph = slice.format() == Format::NQuads;
        match fallback::parse_line(line, with_graph, self.options.lenient) {
            Ok(accepted) => {
                for quad in &accepted.quads {
                    self.builder
                        .quad(slice.document(), quad.as_ref())
                        .expect("the fallback checked it");
                }
                counts.statements += accepted.quads.len() as u64;
                if accepted.leniently {
                    counts.lenient += accepted.quads.len() as u64;
                }
            }
            Err(refused) => {
                counts.rejected += 1;
                let end = line.len().min(REJECT_TEXT_BYTES);
                sink.reject(Reject {
                    name: slice.name().to_owned(),
                    document: slice.document(),
                    line: slice.first_line()? + counts.lines,
                    column: refused.column,
                    reason: refused.reason,
                    text: line[..end].trim_ascii_end().to_vec(),
                })?;
            }
        }
        Ok(next)
    }
}

impl fmt::Debug for StatementParser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatementParser")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
