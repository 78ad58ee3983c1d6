//! RDF/XML and JSON-LD, by `oxrdfxml` and `oxjsonld`: a document is parsed from one end to the other.
//!
//! What always holds: nothing is fetched from the network (a remote JSON-LD context is an error that says so);
//! an error in RDF/XML ends its document, one in JSON-LD does unless the parser can go on.

use crate::error::{LoadError, Result};
use crate::input::slices::error_of_read;
use crate::input::{Document, Format};
use crate::parse::fallback::fits_grammar;
use crate::parse::guard::{self, Guard};
use crate::parse::{BatchSink, ParseCounts, Reject, StatementParser};
use memchr::memchr_iter;
use oxjsonld::{JsonLdErrorCode, JsonLdParseError, JsonLdParser};
use oxrdf::{GraphName, Quad};
use oxrdfxml::{RdfXmlParseError, RdfXmlParser};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

/// How far back in a document the tracker knows where lines begin, in bytes.
const TRACKED_BYTES: u64 = 1 << 20;

impl StatementParser {
    pub(super) fn parse_other_document(
        &mut self,
        document: Document,
        sink: &mut dyn BatchSink,
    ) -> Result<ParseCounts> {
        let Document { origin, reader, .. } = document;
        let tracker = Arc::new(Mutex::new(Tracker::default()));
        let tracked = Tracked {
            inner: reader,
            tracker: Arc::clone(&tracker),
        };
        let mut run = Run {
            name: &origin.name,
            document: origin.document,
            counts: ParseCounts::default(),
            parser: self,
            sink,
        };
        run.parser.builder.begin(None, || run.sink.fresh());
        if origin.format == Format::RdfXml {
            run.rdf_xml(tracked, origin.base.as_deref(), &tracker)?;
        } else {
            run.json_ld(tracked, origin.base.as_deref(), &tracker)?;
        }
        let mut counts = run.counts;
        self.flush(sink)?;
        counts.bytes = tracker
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .offset;
        Ok(counts)
    }
}

/// The parse of one document.
struct Run<'a> {
    name: &'a str,
    document: u32,
    counts: ParseCounts,
    parser: &'a mut StatementParser,
    sink: &'a mut dyn BatchSink,
}

impl Run<'_> {
    fn rdf_xml(
        &mut self,
        reader: Tracked,
        base: Option<&str>,
        tracker: &Mutex<Tracker>,
    ) -> Result<()> {
        let mut parser = RdfXmlParser::new();
        if self.parser.options.lenient {
            parser = parser.lenient();
        }
        if let Some(base) = base {
            parser = parser
                .with_base_iri(base)
                .map_err(|error| base_error(&error))?;
        }
        let mut triples = parser.for_reader(Guard::new(reader, guard::Xml::default()));
        while let Some(triple) = triples.next() {
            match triple {
                Ok(triple) => {
                    if self.counts.statements == 0 {
                        for (prefix, iri) in triples.prefixes() {
                            self.parser.note_prefix(prefix, iri);
                        }
                    }
                    self.quad(&triple.in_graph(GraphName::DefaultGraph))?;
                }
                Err(RdfXmlParseError::Io(error)) => return self.read_error(error, tracker),
                Err(RdfXmlParseError::Syntax(error)) => {
                    let position = triples.buffer_position();
                    let (line, column) = tracker
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .position(position);
                    // What follows an error in XML means nothing.
                    return self.reject(line, column, error.to_string());
                }
            }
        }
        Ok(())
    }

    fn json_ld(
        &mut self,
        reader: Tracked,
        base: Option<&str>,
        tracker: &Mutex<Tracker>,
    ) -> Result<()> {
        let mut parser = JsonLdParser::new();
        if self.parser.options.lenient {
            parser = parser.lenient();
        }
        if let Some(base) = base {
            parser = parser
                .with_base_iri(base)
                .map_err(|error| base_error(&error))?;
        }
        let mut quads = parser.for_reader(Guard::new(reader, guard::Json::default()));
        while let Some(quad) = quads.next() {
            match quad {
                Ok(quad) => {
                    if self.counts.statements == 0 {
                        for (prefix, iri) in quads.prefixes() {
                            self.parser.note_prefix(prefix, iri);
                        }
                    }
                    self.quad(&quad)?;
                }
                Err(JsonLdParseError::Io(error)) => return self.read_error(error, tracker),
                Err(JsonLdParseError::Syntax(error)) => {
                    let (line, column) = error.location().map_or((0, 0), |location| {
                        (location.start.line + 1, location.start.column + 1)
                    });
                    let mut reason = error.to_string();
                    if let Some(
                        JsonLdErrorCode::LoadingRemoteContextFailed
                        | JsonLdErrorCode::LoadingDocumentFailed
                        | JsonLdErrorCode::InvalidRemoteContext,
                    ) = error.code()
                    {
                        reason.push_str(
                            " (remote contexts are not fetched: put the context into the document)",
                        );
                    }
                    self.reject(line, column, reason)?;
                }
            }
        }
        Ok(())
    }

    /// An error of the input, or what the guard has to say of the document, which ends with it.
    fn read_error(&mut self, error: io::Error, tracker: &Mutex<Tracker>) -> Result<()> {
        match error.downcast::<guard::Unfit>() {
            Ok(unfit) => {
                let (line, column) = {
                    let tracker = tracker.lock().unwrap_or_else(PoisonError::into_inner);
                    tracker.position(tracker.offset)
                };
                self.reject(line, column, unfit.to_string())
            }
            Err(error) => Err(error_of_read(self.name, error)),
        }
    }

    fn quad(&mut self, quad: &Quad) -> Result<()> {
        if self.parser.options.lenient && !fits_grammar(quad) {
            let reason = format!("an IRI has characters that no IRI may have: {quad}");
            return self.reject(0, 0, reason);
        }
        if let Err(unfit) = self.parser.builder.quad(self.document, quad.as_ref()) {
            return self.reject(0, 0, unfit.to_string());
        }
        self.counts.statements += 1;
        if self.parser.builder.is_full() {
            self.parser.flush(self.sink)?;
            let sink = &mut *self.sink;
            self.parser.builder.begin(None, || sink.fresh());
        }
        Ok(())
    }

    fn reject(&mut self, line: u64, column: u64, reason: String) -> Result<()> {
        self.counts.rejected += 1;
        self.sink.reject(Reject {
            name: self.name.to_owned(),
            document: self.document,
            line,
            column,
            reason,
            text: Vec::new(),
        })
    }
}

/// The error of a base IRI that is none.
pub(super) fn base_error(error: &oxiri::IriParseError) -> LoadError {
    LoadError::Option {
        option: "base",
        reason: error.to_string(),
    }
}

/// Where lines begin in what was read lately.
#[derive(Default)]
struct Tracker {
    offset: u64,
    line_feeds: VecDeque<u64>,
    /// Line feeds that have been forgotten.
    forgotten: u64,
    /// Where the line after the last forgotten line feed begins.
    forgotten_end: u64,
}

impl Tracker {
    fn note(&mut self, bytes: &[u8]) {
        let offset = self.offset;
        self.line_feeds
            .extend(memchr_iter(b'\n', bytes).map(|at| offset + at as u64));
        self.offset += bytes.len() as u64;
        while let Some(first) = self.line_feeds.front()
            && first + TRACKED_BYTES < self.offset
        {
            self.forgotten += 1;
            self.forgotten_end = first + 1;
            self.line_feeds.pop_front();
        }
    }

    /// Line and column (in bytes) of an offset, from 1.
    fn position(&self, offset: u64) -> (u64, u64) {
        let before = self.line_feeds.partition_point(|feed| *feed < offset);
        let line_start = match before.checked_sub(1) {
            Some(last) => self.line_feeds[last] + 1,
            None => self.forgotten_end,
        };
        (
            self.forgotten + before as u64 + 1,
            offset.saturating_sub(line_start) + 1,
        )
    }
}

/// Passes a document on, and notes where its lines begin. A byte-order mark is left to the parsers: both know it.
struct Tracked {
    inner: Box<dyn Read + Send>,
    tracker: Arc<Mutex<Tracker>>,
}

impl Read for Tracked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.tracker
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .note(&buffer[..read]);
        Ok(read)
    }
}
