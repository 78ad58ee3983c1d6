//! What the tests of the parser share: a sink that turns batches back into statements, checking on the way
//! what must hold of every batch, and the judgement of `oxttl` alone.

#![allow(dead_code, reason = "each test program uses a part")]

use oxrdf::{
    BaseDirection, BlankNode, GraphName, Literal, NamedNode, NamedOrBlankNode, Quad, Term, Triple,
};
use oxttl::{NQuadsParser, NTriplesParser, TurtleSyntaxError};
use quadrille_loader::batch::{Batch, DEFAULT_GRAPH, hash_term};
use quadrille_loader::error::{LoadError, Result};
use quadrille_loader::input::{Format, InputFile, InputOptions, Slice, SliceSource};
use quadrille_loader::parse::{BatchSink, ParseCounts, ParseOptions, Reject, StatementParser};
use quadrille_loader::triple_term::{self, Part};
use quadrille_store::{Kind, TermId, inline};
use std::io::Cursor;

/// Says something that is to be seen even of a test that passes: the test harness keeps only what `println!` prints.
pub fn say(line: &str) {
    use std::io::Write;
    writeln!(std::io::stderr(), "{line}").expect("standard error takes a line");
}

/// Collects statements and rejects.
#[derive(Default, Debug)]
pub struct Collector {
    pub quads: Vec<Quad>,
    pub rejects: Vec<Reject>,
    pub batches: usize,
    /// Whether bad statements are passed over.
    pub skip: bool,
    /// Whether blank node labels begin with the document's number.
    pub scoped: bool,
    pub spare: Vec<Batch>,
}

impl Collector {
    pub fn skipping() -> Self {
        Self {
            skip: true,
            ..Self::default()
        }
    }
}

impl BatchSink for Collector {
    fn fresh(&mut self) -> Batch {
        self.spare.pop().unwrap_or_default()
    }

    fn take(&mut self, batch: Batch) -> Result<()> {
        assert!(!batch.quads.is_empty(), "an empty batch was handed over");
        self.batches += 1;
        let reader = Reader {
            batch: &batch,
            scoped: self.scoped,
        };
        reader.check();
        self.quads.extend(reader.quads());
        self.spare.push(batch);
        Ok(())
    }

    fn reject(&mut self, reject: Reject) -> Result<()> {
        if self.skip {
            self.rejects.push(reject);
            return Ok(());
        }
        Err(LoadError::Syntax(Box::new(reject)))
    }
}

/// Turns a batch back into statements.
struct Reader<'a> {
    batch: &'a Batch,
    scoped: bool,
}

impl Reader<'_> {
    /// Hashes are right, and every term is part of a statement.
    fn check(&self) {
        let mut named = vec![false; self.batch.terms.len()];
        for quad in &self.batch.quads {
            for index in quad.iter().filter(|index| **index != DEFAULT_GRAPH) {
                named[*index as usize] = true;
            }
        }
        assert_eq!(&*self.batch.annotations[0], b"");
        let has_triples = self
            .batch
            .terms
            .iter()
            .any(|term| term.kind == Kind::Triple);
        for (term, named) in self.batch.terms.iter().zip(named) {
            assert!(named || has_triples, "a term that no statement names");
            if term.kind.is_inline() {
                assert_eq!(term.inline_id().kind(), Some(term.kind));
                continue;
            }
            let annotation = &self.batch.annotations[term.annotation as usize];
            let bytes = self.batch.bytes(term);
            assert_eq!(term.hash, hash_term(term.kind, bytes, annotation));
        }
    }

    fn quads(&self) -> impl Iterator<Item = Quad> {
        self.batch
            .quads
            .iter()
            .map(|[subject, predicate, object, graph]| {
                let graph = if *graph == DEFAULT_GRAPH {
                    GraphName::DefaultGraph
                } else {
                    match self.term(*graph) {
                        Term::NamedNode(node) => node.into(),
                        Term::BlankNode(node) => node.into(),
                        other => panic!("{other} as a graph"),
                    }
                };
                Quad {
                    subject: node(self.term(*subject)),
                    predicate: named_node(self.term(*predicate)),
                    object: self.term(*object),
                    graph_name: graph,
                }
            })
    }

    fn term(&self, index: u32) -> Term {
        let term = &self.batch.terms[index as usize];
        self.part(match term.kind {
            kind if kind.is_inline() => Part::Inline(term.inline_id()),
            Kind::Blank => Part::Blank(self.batch.bytes(term)),
            Kind::Triple => Part::Triple(self.batch.bytes(term)),
            kind => Part::Vocabulary {
                kind,
                lexical: self.batch.bytes(term),
                annotation: &self.batch.annotations[term.annotation as usize],
            },
        })
    }

    fn part(&self, part: Part<'_>) -> Term {
        match part {
            Part::Inline(id) => inline_literal(id).into(),
            Part::Blank(bytes) => {
                let (document, label) = bytes.split_at(4);
                let label = text(label);
                if self.scoped {
                    let document = u32::from_be_bytes(document.try_into().unwrap());
                    BlankNode::new_unchecked(format!("d{document}.{label}")).into()
                } else {
                    BlankNode::new_unchecked(label).into()
                }
            }
            Part::Triple(bytes) => {
                let parts = triple_term::decode(bytes).expect("a triple term's bytes");
                let [subject, predicate, object] = parts.map(|part| self.part(part));
                Triple::new(node(subject), named_node(predicate), object).into()
            }
            Part::Vocabulary {
                kind: Kind::Iri,
                lexical,
                annotation,
            } => {
                assert!(annotation.is_empty());
                NamedNode::new_unchecked(text(lexical)).into()
            }
            Part::Vocabulary {
                kind,
                lexical,
                annotation,
            } => {
                let lexical = text(lexical);
                let annotation = text(annotation);
                let datatype = annotation.strip_prefix('^').unwrap_or_default();
                assert_eq!(kind, inline::vocabulary_kind(datatype), "{annotation}");
                if let Some(tag) = annotation.strip_prefix('@') {
                    assert_eq!(tag, tag.to_ascii_lowercase());
                    tagged(lexical, tag).into()
                } else if datatype.is_empty() {
                    Literal::new_simple_literal(lexical).into()
                } else {
                    assert_eq!(inline::encode(lexical, datatype), None, "should be inline");
                    Literal::new_typed_literal(lexical, NamedNode::new_unchecked(datatype)).into()
                }
            }
        }
    }
}

fn tagged(lexical: &str, tag: &str) -> Literal {
    let (tag, direction) = match tag.split_once("--") {
        None => return Literal::new_language_tagged_literal_unchecked(lexical, tag),
        Some((tag, "ltr")) => (tag, BaseDirection::Ltr),
        Some((tag, "rtl")) => (tag, BaseDirection::Rtl),
        Some((_, other)) => panic!("direction {other}"),
    };
    Literal::new_directional_language_tagged_literal_unchecked(lexical, tag, direction)
}

fn inline_literal(id: TermId) -> Literal {
    let mut lexical = String::new();
    let datatype = inline::decode(id, &mut lexical).expect("an inline id");
    Literal::new_typed_literal(lexical, NamedNode::new_unchecked(datatype))
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("terms are UTF-8")
}

fn node(term: Term) -> NamedOrBlankNode {
    match term {
        Term::NamedNode(node) => node.into(),
        Term::BlankNode(node) => node.into(),
        other => panic!("{other} as a subject"),
    }
}

fn named_node(term: Term) -> NamedNode {
    match term {
        Term::NamedNode(node) => node,
        other => panic!("{other} as a predicate"),
    }
}

/// Parses bytes as one slice.
pub fn parse_bytes(
    bytes: &[u8],
    format: Format,
    options: ParseOptions,
    collector: &mut Collector,
) -> Result<ParseCounts> {
    let slice = Slice::from_bytes(3, format, bytes);
    StatementParser::new(options).parse_slice(&slice, collector)
}

/// Parses inputs through a source, in one thread.
pub fn parse_inputs(
    inputs: Vec<InputFile>,
    input: &InputOptions,
    options: ParseOptions,
    collector: &mut Collector,
) -> Result<ParseCounts> {
    let source = SliceSource::new(inputs, input);
    let mut parser = StatementParser::new(options);
    let mut counts = ParseCounts::default();
    while let Some(work) = source.next_work()? {
        counts += parser.parse(work, collector)?;
    }
    Ok(counts)
}

/// Bytes as an input of document 3.
pub fn reader(bytes: &[u8], format: Format) -> InputFile {
    InputFile::from_reader("bytes", Box::new(Cursor::new(bytes.to_vec())), format, 3)
}

/// What `oxttl` says of N-Triples or N-Quads, up to the first error.
pub fn oxttl_lines(bytes: &[u8], with_graph: bool) -> (Vec<Quad>, Option<TurtleSyntaxError>) {
    let mut quads = Vec::new();
    let mut keep = |quad: std::result::Result<Quad, TurtleSyntaxError>| match quad {
        Ok(quad) => {
            quads.push(quad);
            None
        }
        Err(error) => Some(error),
    };
    let error = if with_graph {
        NQuadsParser::new().for_slice(bytes).find_map(&mut keep)
    } else {
        NTriplesParser::new()
            .for_slice(bytes)
            .map(|triple| Ok(triple?.in_graph(GraphName::DefaultGraph)))
            .find_map(&mut keep)
    };
    (quads, error)
}

/// The lines of a text as `oxttl` counts them, their ends included.
pub fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        at += 1;
        if end {
            lines.push(&bytes[start..at]);
            start = at;
        }
    }
    if start < bytes.len() {
        lines.push(&bytes[start..]);
    }
    lines
}

/// The promise of the fast lexer: with its fallback it is `oxttl`, for every byte string.
pub fn check_against_oxttl(bytes: &[u8], with_graph: bool) {
    let format = if with_graph {
        Format::NQuads
    } else {
        Format::NTriples
    };
    let plain = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);

    // Line by line: what is accepted, and what is said of the rest.
    let mut expected_quads = Vec::new();
    let mut expected_rejects = Vec::new();
    for (number, line) in lines(plain).into_iter().enumerate() {
        match oxttl_lines(line, with_graph) {
            (quads, None) => expected_quads.extend(quads),
            (_, Some(error)) => {
                // An error at the line end is placed at the beginning of the next line by `oxttl`.
                let start = error.location().start;
                let text = String::from_utf8_lossy(line);
                let column = match start.line {
                    0 => start.column,
                    _ => text.trim_end_matches(['\r', '\n']).chars().count() as u64,
                };
                let reason = error.message().to_owned();
                expected_rejects.push((number as u64 + 1, column + 1, reason));
            }
        }
    }
    let mut collector = Collector::skipping();
    let options = ParseOptions {
        batch_size: 5,
        ..ParseOptions::default()
    };
    let counts = parse_bytes(bytes, format, options, &mut collector).unwrap();
    let rejects: Vec<_> = collector
        .rejects
        .iter()
        .map(|reject| (reject.line, reject.column, reject.reason.clone()))
        .collect();
    assert_eq!(collector.quads, expected_quads);
    assert_eq!(rejects, expected_rejects);
    assert_eq!(counts.lines, lines(plain).len() as u64);
    assert_eq!(counts.statements, expected_quads.len() as u64);

    // As a whole: the same verdict, at the same line.
    let (quads, error) = oxttl_lines(plain, with_graph);
    match (error, rejects.first()) {
        (None, None) => assert_eq!(collector.quads, quads),
        (Some(error), Some((line, _, reason))) => {
            let start = error.location().start;
            let at_line_end = start.column == 0 && start.offset > 0;
            let oxttl_line = start.line + u64::from(!at_line_end || *line == start.line + 1);
            // `oxttl` reads an IRI or a string that is not closed on into the next lines.
            let unclosed = reason == "Unexpected end of file";
            assert!(
                *line == oxttl_line || (unclosed && *line < oxttl_line),
                "line {line} ({reason}), oxttl line {oxttl_line} ({error})"
            );
        }
        (error, reject) => panic!("oxttl: {error:?}, lexer: {reject:?}"),
    }
}
