//! Turtle and `TriG`: slices of whole statements, each with the directives (prefixes, base) that stand before it,
//! or what cannot be cut as a stream.
//!
//! Of a slice of Turtle [`crate::parse::terse_lexer`] takes the plain statements. One that it does not know goes
//! to `oxttl`, cut off where [`TerseScanner`] finds its end, with the prefixes and the base that hold there; all
//! else is parsed by `oxttl` alone. What always holds: the statements, their order, and what is refused are what
//! `oxttl` makes of the whole slice. So after the first error, whose effect on what follows only `oxttl`
//! knows, it has the rest of the slice, from the first byte of the statement with the error.

use crate::error::Result;
use crate::input::slices::{count_line_ends, error_of_read};
use crate::input::terse_cutter::Beginning;
use crate::input::terse_scanner::TerseScanner;
use crate::input::{Document, Format, Slice, Work};
use crate::parse::fallback::fits_grammar;
use crate::parse::other::base_error;
use crate::parse::terse_lexer::skip_space;
use crate::parse::{
    BYTE_ORDER_MARK, BatchSink, ParseCounts, REJECT_TEXT_BYTES, Reject, StatementParser,
};
use memchr::{memchr2, memrchr2};
use oxrdf::{GraphName, Quad, Triple};
use oxttl::{TriGParser, TurtleParseError, TurtleParser, TurtleSyntaxError};
use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::sync::Arc;

/// How many bytes `oxttl` is handed at least with a statement that is not plain; twice as many each time when there
/// are fewer than [`PLAIN_RUN_STATEMENTS`] plain ones in between, for it costs something to set it up.
const ODD_PIECE_BYTES: usize = 1024;
const PLAIN_RUN_STATEMENTS: usize = 64;

impl StatementParser {
    pub(super) fn parse_terse_document(
        &mut self,
        document: Document,
        sink: &mut dyn BatchSink,
    ) -> Result<ParseCounts> {
        if document.rest.is_some() {
            return self.parse_terse_stream(document, sink);
        }
        let mut counts = ParseCounts::default();
        let mut cutter = document.into_statements();
        while let Some(work) = cutter.next_work()? {
            counts += match work {
                Work::Slice(slice) => self.parse_terse_slice(&slice, sink)?,
                Work::Document(rest) => self.parse_terse_stream(rest, sink)?,
            };
        }
        Ok(counts)
    }

    pub(super) fn parse_terse_slice(
        &mut self,
        slice: &Arc<Slice>,
        sink: &mut dyn BatchSink,
    ) -> Result<ParseCounts> {
        // A byte-order mark would only be in the way: the cutter takes it off.
        if slice.format() == Format::Turtle
            && mark_length(slice) == 0
            && let Some(context) = Context::of_slice(slice, self.options.lenient)?
        {
            return self.parse_plain_slice(slice, context, sink);
        }
        self.parse_odd_slice(slice, sink)
    }

    /// Parses a slice of Turtle of which most statements may be plain.
    fn parse_plain_slice(
        &mut self,
        slice: &Arc<Slice>,
        context: Context,
        sink: &mut dyn BatchSink,
    ) -> Result<ParseCounts> {
        self.terse.begin_slice(slice.document());
        self.terse.set_prefixes(&context.prefixes);
        let mut run = Run {
            name: slice.name(),
            document: slice.document(),
            slice: Some(slice),
            place: Place {
                directives: 0,
                directive_lines: 0,
                line: slice.first_line()?,
                column: slice.first_column(),
                start: 0,
            },
            text: slice.bytes(),
            counts: ParseCounts {
                bytes: slice.bytes().len() as u64,
                lines: count_line_ends(slice.bytes()),
                ..ParseCounts::default()
            },
            parser: self,
            sink,
        };
        run.begin_batch();
        run.statements(context, slice)?;
        let counts = run.counts;
        self.flush(sink)?;
        Ok(counts)
    }

    /// Parses a slice by `oxttl` alone.
    fn parse_odd_slice(
        &mut self,
        slice: &Arc<Slice>,
        sink: &mut dyn BatchSink,
    ) -> Result<ParseCounts> {
        let bytes = &slice.bytes()[mark_length(slice)..];
        // The directives before the slice are parsed again in front of it: then prefixes and base are what they
        // would be, in every case.
        let directives = slice.directives();
        let with_directives;
        let text = if directives.is_empty() {
            bytes
        } else {
            with_directives = [directives, bytes].concat();
            &with_directives
        };
        let mut run = Run {
            name: slice.name(),
            document: slice.document(),
            slice: None,
            place: Place {
                directives: directives.len() as u64,
                directive_lines: count_line_ends(directives),
                line: slice.first_line()?,
                column: slice.first_column(),
                start: 0,
            },
            text,
            counts: ParseCounts {
                bytes: slice.bytes().len() as u64,
                lines: count_line_ends(bytes),
                ..ParseCounts::default()
            },
            parser: self,
            sink,
        };
        run.begin_batch();
        let lenient = run.parser.options.lenient;
        if slice.format() == Format::TriG {
            let mut quads = trig_parser(slice.base(), lenient)?.for_slice(text);
            for quad in quads.by_ref() {
                run.step(quad)?;
            }
            run.note_prefixes(quads.prefixes());
        } else {
            let mut triples = turtle_parser(slice.base(), lenient)?.for_slice(text);
            for triple in triples.by_ref() {
                run.step(triple.map(|triple| triple.in_graph(GraphName::DefaultGraph)))?;
            }
            run.note_prefixes(triples.prefixes());
        }
        let counts = run.counts;
        self.flush(sink)?;
        Ok(counts)
    }

    /// The rest of a document that cannot be cut.
    fn parse_terse_stream(
        &mut self,
        document: Document,
        sink: &mut dyn BatchSink,
    ) -> Result<ParseCounts> {
        let Document {
            origin,
            reader,
            rest,
            ..
        } = document;
        let beginning = rest.unwrap_or_else(Beginning::of_document);
        let base = origin.base.as_deref();
        let mut read = 0;
        let counted = Counted {
            inner: reader,
            read: &mut read,
        };
        let stream = Cursor::new(Arc::clone(&beginning.directives)).chain(counted);
        let mut run = Run {
            name: &origin.name,
            document: origin.document,
            slice: None,
            place: Place {
                directives: beginning.directives.len() as u64,
                directive_lines: count_line_ends(&beginning.directives),
                line: beginning.line,
                column: beginning.column,
                start: 0,
            },
            text: &[],
            counts: ParseCounts::default(),
            parser: self,
            sink,
        };
        run.begin_batch();
        let lenient = run.parser.options.lenient;
        if origin.format == Format::TriG {
            let mut quads = trig_parser(base, lenient)?.for_reader(stream);
            for quad in quads.by_ref() {
                run.stream_step(quad)?;
            }
            run.note_prefixes(quads.prefixes());
        } else {
            let mut triples = turtle_parser(base, lenient)?.for_reader(stream);
            for triple in triples.by_ref() {
                run.stream_step(triple.map(|triple| triple.in_graph(GraphName::DefaultGraph)))?;
            }
            run.note_prefixes(triples.prefixes());
        }
        let mut counts = run.counts;
        self.flush(sink)?;
        counts.bytes = read;
        Ok(counts)
    }
}

/// How long the byte-order mark is that a slice begins with.
fn mark_length(slice: &Slice) -> usize {
    if slice.offset() == 0 && slice.bytes().starts_with(BYTE_ORDER_MARK) {
        BYTE_ORDER_MARK.len()
    } else {
        0
    }
}

/// What directives have changed: what `oxttl` has to know to go on between two statements.
#[derive(PartialEq, Eq)]
struct Context {
    prefixes: BTreeMap<String, String>,
    base: Option<String>,
}

impl Context {
    /// The context at the beginning of a slice, unless a directive before it is not valid: `oxttl` may then refuse
    /// what follows, too.
    fn of_slice(slice: &Slice, lenient: bool) -> Result<Option<Self>> {
        let mut directives = turtle_parser(slice.base(), lenient)?.for_slice(slice.directives());
        if directives.by_ref().any(|triple| triple.is_err()) {
            return Ok(None);
        }
        let context = Self::of(directives.prefixes(), directives.base_iri());
        // A lenient parse lets IRIs pass that it does not take from its caller.
        Ok(context.parser(lenient).is_ok().then_some(context))
    }

    fn of<'p>(prefixes: impl Iterator<Item = (&'p str, &'p str)>, base: Option<&str>) -> Self {
        Self {
            prefixes: prefixes
                .map(|(prefix, iri)| (prefix.to_owned(), iri.to_owned()))
                .collect(),
            base: base.map(str::to_owned),
        }
    }

    fn parser(&self, lenient: bool) -> Result<TurtleParser> {
        let mut parser = turtle_parser(self.base.as_deref(), lenient)?;
        for (prefix, iri) in &self.prefixes {
            parser = parser
                .with_prefix(prefix, iri)
                .map_err(|error| base_error(&error))?;
        }
        Ok(parser)
    }
}

/// The end of a statement at least `window` bytes from the beginning, or of the last one of a window twice or four
/// times as long, and so on; `None` if what is left cannot be cut.
fn cut(bytes: &[u8], mut window: usize) -> Option<usize> {
    let mut scanner = TerseScanner::new(false);
    loop {
        let length = window.min(bytes.len());
        scanner.scan(&bytes[..length], length == bytes.len()).ok()?;
        if let Some(boundary) = scanner.boundary() {
            // What follows a directive without white space could belong to its last token.
            let apart = bytes.get(boundary).is_none_or(u8::is_ascii_whitespace);
            return apart.then_some(boundary);
        }
        if scanner.lost() || length == bytes.len() {
            return None;
        }
        window *= 2;
    }
}

fn turtle_parser(base: Option<&str>, lenient: bool) -> Result<TurtleParser> {
    let mut parser = TurtleParser::new();
    if lenient {
        parser = parser.lenient();
    }
    match base {
        Some(base) => parser
            .with_base_iri(base)
            .map_err(|error| base_error(&error)),
        None => Ok(parser),
    }
}

fn trig_parser(base: Option<&str>, lenient: bool) -> Result<TriGParser> {
    let mut parser = TriGParser::new();
    if lenient {
        parser = parser.lenient();
    }
    match base {
        Some(base) => parser
            .with_base_iri(base)
            .map_err(|error| base_error(&error)),
        None => Ok(parser),
    }
}

/// Where the text of a run stands in its document.
#[derive(Clone, Copy)]
struct Place {
    /// How many bytes of directives were put in front, and how many lines.
    directives: u64,
    directive_lines: u64,
    /// The first line behind them, and how many characters stand before it in its line.
    line: u64,
    column: u64,
    /// Where in [`Run::text`] the text begins that is parsed.
    start: usize,
}

/// The parse of one slice or stream.
struct Run<'a> {
    name: &'a str,
    document: u32,
    /// The slice in which terms of its batches may stand.
    slice: Option<&'a Arc<Slice>>,
    place: Place,
    /// What is parsed, directives included, or a text that ends with it; empty if it is a stream.
    text: &'a [u8],
    counts: ParseCounts,
    parser: &'a mut StatementParser,
    sink: &'a mut dyn BatchSink,
}

impl Run<'_> {
    fn begin_batch(&mut self) {
        let sink = &mut *self.sink;
        self.parser.builder.begin(self.slice, || sink.fresh());
    }

    fn flush_if_full(&mut self) -> Result<()> {
        if self.parser.builder.is_full() {
            self.parser.flush(self.sink)?;
            self.begin_batch();
        }
        Ok(())
    }

    /// All statements of a slice, plain or not.
    fn statements(&mut self, mut context: Context, slice: &Slice) -> Result<()> {
        let (data, length) = (slice.padded(), slice.bytes().len());
        let mut at = 0;
        let mut window = ODD_PIECE_BYTES;
        let mut plain = PLAIN_RUN_STATEMENTS;
        loop {
            at = skip_space(data, length, at);
            if at == length {
                break;
            }
            if let Some(next) = self.parser.terse.statement(data, length, at) {
                self.add_plain(data)?;
                at = next;
                plain += 1;
                continue;
            }
            window = if plain < PLAIN_RUN_STATEMENTS {
                (window * 2).min(length)
            } else {
                ODD_PIECE_BYTES
            };
            plain = 0;
            match self.odd_piece(at, window, &mut context)? {
                Some(next) => at = next,
                None => return self.rest(at, &context),
            }
        }
        self.note_context(&context);
        Ok(())
    }

    /// Adds the statement that the fast lexer has recognised.
    #[inline]
    fn add_plain(&mut self, data: &[u8]) -> Result<()> {
        let triples = self.parser.terse.triples();
        for triple in 0..triples {
            let builder = &mut self.parser.builder;
            self.parser.terse.add(data, triple, builder);
            self.flush_if_full()?;
        }
        self.counts.statements += triples as u64;
        Ok(())
    }

    /// Has `oxttl` parse statements from `at` on, about `window` bytes of them, and gives where they end; `None` if
    /// they cannot be cut off or are not all valid: nothing has been done then.
    fn odd_piece(
        &mut self,
        at: usize,
        window: usize,
        context: &mut Context,
    ) -> Result<Option<usize>> {
        if self.parser.options.lenient {
            // A lenient parser counts lines in its own way.
            return Ok(None);
        }
        let Some(length) = cut(&self.text[at..], window) else {
            return Ok(None);
        };
        let piece = &self.text[at..at + length];
        let mut parsed = context.parser(false)?.for_slice(piece);
        let Ok(triples) = parsed
            .by_ref()
            .collect::<std::result::Result<Vec<Triple>, _>>()
        else {
            return Ok(None);
        };
        let after = Context::of(parsed.prefixes(), parsed.base_iri());
        if after != *context {
            if after.parser(false).is_err() {
                return Ok(None);
            }
            self.parser.terse.set_prefixes(&after.prefixes);
            *context = after;
        }
        for triple in triples {
            self.step(Ok(triple.in_graph(GraphName::DefaultGraph)))?;
        }
        self.counts.fallback_lines += count_line_ends(piece).max(1);
        Ok(Some(at + length))
    }

    /// Has `oxttl` parse the rest of a slice.
    fn rest(&mut self, at: usize, context: &Context) -> Result<()> {
        let mut beginning = Beginning {
            line: self.place.line,
            column: self.place.column,
            ..Beginning::of_document()
        };
        beginning.pass(&self.text[..at]);
        self.place.line = beginning.line;
        self.place.column = beginning.column;
        self.place.start = at;
        let rest = &self.text[at..];
        self.counts.fallback_lines += count_line_ends(rest).max(1);
        let lenient = self.parser.options.lenient;
        let mut triples = context.parser(lenient)?.for_slice(rest);
        for triple in triples.by_ref() {
            self.step(triple.map(|triple| triple.in_graph(GraphName::DefaultGraph)))?;
        }
        self.note_prefixes(triples.prefixes());
        Ok(())
    }

    fn note_context(&mut self, context: &Context) {
        let prefixes = context.prefixes.iter();
        self.note_prefixes(prefixes.map(|(prefix, iri)| (prefix.as_str(), iri.as_str())));
    }

    fn note_prefixes<'p>(&mut self, prefixes: impl Iterator<Item = (&'p str, &'p str)>) {
        for (prefix, iri) in prefixes {
            self.parser.note_prefix(prefix, iri);
        }
    }

    fn stream_step(&mut self, quad: std::result::Result<Quad, TurtleParseError>) -> Result<()> {
        match quad {
            Ok(quad) => self.step(Ok(quad)),
            Err(TurtleParseError::Syntax(error)) => self.step(Err(error)),
            Err(TurtleParseError::Io(error)) => Err(error_of_read(self.name, error)),
        }
    }

    fn step(&mut self, quad: std::result::Result<Quad, TurtleSyntaxError>) -> Result<()> {
        let quad = match quad {
            Ok(quad) => quad,
            Err(error) => return self.syntax_error(&error),
        };
        if self.parser.options.lenient && !fits_grammar(&quad) {
            let reason = format!("an IRI has characters that no IRI may have: {quad}");
            return self.reject(0, 0, reason, Vec::new());
        }
        let added = self.parser.builder.quad(self.document, quad.as_ref());
        if let Err(unfit) = added {
            return self.reject(0, 0, unfit.to_string(), Vec::new());
        }
        self.counts.statements += 1;
        self.flush_if_full()
    }

    fn syntax_error(&mut self, error: &TurtleSyntaxError) -> Result<()> {
        let start = error.location().start;
        if start.offset < self.place.directives {
            // The directives stand in an earlier slice too, which has told.
            return Ok(());
        }
        let line = start.line - self.place.directive_lines;
        let column = if line == 0 { self.place.column } else { 0 } + start.column + 1;
        let at = (self.place.start + start.offset as usize).min(self.text.len());
        let line_start = memrchr2(b'\r', b'\n', &self.text[..at]).map_or(0, |end| end + 1);
        let line_end = memchr2(b'\r', b'\n', &self.text[at..])
            .map_or(self.text.len(), |length| at + length)
            .min(line_start + REJECT_TEXT_BYTES);
        let text = self.text[line_start..line_end].to_vec();
        let reason = error.message().to_owned();
        self.reject(self.place.line + line, column, reason, text)
    }

    fn reject(&mut self, line: u64, column: u64, reason: String, text: Vec<u8>) -> Result<()> {
        self.counts.rejected += 1;
        self.sink.reject(Reject {
            name: self.name.to_owned(),
            document: self.document,
            line,
            column,
            reason,
            text,
        })
    }
}

/// Counts what is read.
struct Counted<'a> {
    inner: Box<dyn Read + Send>,
    read: &'a mut u64,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        *self.read += read as u64;
        Ok(read)
    }
}
