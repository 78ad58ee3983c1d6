//! Turtle and `TriG`, by `oxttl`: slices of whole statements, each with the directives (prefixes, base) that stand
//! before it, or what cannot be cut as a stream.

use crate::error::Result;
use crate::input::slices::{count_line_ends, error_of_read};
use crate::input::terse_cutter::Beginning;
use crate::input::{Document, Format, Slice, Work};
use crate::parse::fallback::fits_grammar;
use crate::parse::other::base_error;
use crate::parse::{
    BYTE_ORDER_MARK, BatchSink, ParseCounts, REJECT_TEXT_BYTES, Reject, StatementParser,
};
use memchr::{memchr2, memrchr2};
use oxrdf::{GraphName, Quad};
use oxttl::{TriGParser, TurtleParseError, TurtleParser, TurtleSyntaxError};
use std::io::{Cursor, Read};
use std::sync::Arc;

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
        let has_mark = slice.offset() == 0 && slice.bytes().starts_with(BYTE_ORDER_MARK);
        let bytes = if has_mark {
            &slice.bytes()[BYTE_ORDER_MARK.len()..]
        } else {
            slice.bytes()
        };
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
            place: Place {
                directives: directives.len() as u64,
                directive_lines: count_line_ends(directives),
                line: slice.first_line()?,
                column: slice.first_column(),
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
        run.parser.builder.begin(None, || run.sink.fresh());
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
            place: Place {
                directives: beginning.directives.len() as u64,
                directive_lines: count_line_ends(&beginning.directives),
                line: beginning.line,
                column: beginning.column,
            },
            text: &[],
            counts: ParseCounts::default(),
            parser: self,
            sink,
        };
        run.parser.builder.begin(None, || run.sink.fresh());
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
}

/// The parse of one slice or stream.
struct Run<'a> {
    name: &'a str,
    document: u32,
    place: Place,
    /// What is parsed, directives included; empty if it is a stream.
    text: &'a [u8],
    counts: ParseCounts,
    parser: &'a mut StatementParser,
    sink: &'a mut dyn BatchSink,
}

impl Run<'_> {
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
        if self.parser.builder.is_full() {
            self.parser.flush(self.sink)?;
            let sink = &mut *self.sink;
            self.parser.builder.begin(None, || sink.fresh());
        }
        Ok(())
    }

    fn syntax_error(&mut self, error: &TurtleSyntaxError) -> Result<()> {
        let start = error.location().start;
        if start.offset < self.place.directives {
            // The directives stand in an earlier slice too, which has told.
            return Ok(());
        }
        let line = start.line - self.place.directive_lines;
        let column = if line == 0 { self.place.column } else { 0 } + start.column + 1;
        let at = (start.offset as usize).min(self.text.len());
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
