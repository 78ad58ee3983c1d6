//! Turtle and `TriG` cut into slices against `oxttl` on the whole document: tricky statements in random order,
//! mutated, cut at every size. A failure prints the text.

mod common;

use common::{Collector, parse_inputs, reader};
use oxrdf::{BlankNode, GraphName, NamedOrBlankNode, Quad, Term, Triple};
use oxttl::{TriGParser, TurtleParser, TurtleSyntaxError};
use quadrille_loader::input::{Format, InputOptions};
use quadrille_loader::parse::ParseOptions;
use std::collections::HashMap;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

const SEED: u64 = 0x7E25_E5ED;
const BASE: &str = "http://base/dir/file";

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % bound
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

const DIRECTIVES: &[&str] = &[
    "@prefix ex: <http://one/> .",
    "@prefix ex: <http://two/> .",
    "PREFIX ex: <three/>",
    "prefix a.b: <#>",
    "@prefix a.b: <> .",
    "@base <http://other/x/y> .",
    "BASE <relative/>",
    "@base <../> .",
    "@prefix ex: <http://close/>.",
    "@version \"1.2\" .",
    "VERSION \"1.2\"",
    "@prefix : <http://empty/> . # comment . @prefix : <no> .",
];

const STATEMENTS: &[&str] = &[
    "<s> <p> <o> .",
    "ex:s ex:p ex:o .",
    "ex:s a ex:C, ex:D ; ex:p 1, 1.5, 1.5e3, true .",
    "ex:s ex:p 1 .",
    "ex:s ex:p 1. ",
    "ex:s ex:p ex:a.b .",
    "ex:s ex:p ex:a\\. .",
    "a.b:c a.b:d \"x. y. \" .",
    "<s> <p> '''long . text\n@prefix ex: <http://no/> .\n<a> <b> <c> . ''' .",
    "<s> <p> \"\"\"one \"quoted\" word. \\\"\"\" \"\"\" .",
    "<s> <p> \"\", '', \"a\"@en, \"b\"@de-AT, \"c\"^^ex:d, \"e\"^^<f> .",
    "<s> <p> \"x\"@prefix .",
    "<s> <p> [ <q> <r> ; <t> [ <u> \".\" ] ] .",
    "[ <q> <r> ] .",
    "[] <p> _:b .",
    "_:b <p> _:b.c .",
    "<s> <p> ( 1 2 ( <x> ) . ) .",
    "<s> <p> ( 1 2 ( <x> ) ) .",
    "( 1 ) <p> () .",
    "<s> <p> <o> ~ <r> {| <q> <z> |} .",
    "<< <s> <p> <o> >> <q> <r> .",
    "<s> <p> <<( <a> <b> \"c. \" )>> .",
    "<s> <p> <o>.<s2> <p2> <o2>.",
    "<s> <p> <a\\u002E> .",
    "# a comment. with dots . and \"quotes\n",
    "<s> <p> \"unclosed .",
    "<s> <p> <bad iri> .",
    "<s> <p> .",
    "<s> <p> 1.PREFIX ex: <http://hidden/> ex:s ex:p ex:o .",
    "<s> <p> <o>.@prefix ex: <http://hidden/> . ex:s ex:p ex:o .",
    "<s> <p> \"\u{e4}\u{1F600}. \" .",
];

const GRAPHS: &[&str] = &[
    "<g> { <s> <p> <o> . ex:s ex:p ex:o }",
    "GRAPH ex:g { <s> <p> \"} . \" . }",
    "{ <s> <p> <o> . }",
    "_:g { _:b <p> <o> {| <q> <r> |} . }",
    "[] { }",
    "GRAPH <g> { @prefix ex: <http://inside/> . }",
];

const SPACES: &[&str] = &["\n", "\n", "\n\n", " ", "\r\n", "\t", "\r", ""];

fn document(random: &mut Random, trig: bool) -> Vec<u8> {
    let mut text = String::new();
    if random.below(30) == 0 {
        text.push('\u{FEFF}');
    }
    if random.below(10) > 0 {
        text.push_str("@prefix ex: <http://zero/> .\n@prefix a.b: <http://ab/> .\n");
    }
    // Few documents with errors: they end the comparison early.
    let good = if random.below(4) > 0 {
        25
    } else {
        STATEMENTS.len()
    };
    for _ in 0..random.below(14) {
        text.push_str(match random.below(10) {
            0 | 1 => random.pick(DIRECTIVES),
            2 | 3 if trig => random.pick(GRAPHS),
            _ => {
                let pick = random.pick(&STATEMENTS[..good]);
                // One that nests a dot is an error too.
                if good == 25 && pick.contains(". )") {
                    "<s> <p> <o> ."
                } else {
                    pick
                }
            }
        });
        text.push_str(random.pick(SPACES));
    }
    let mut bytes = text.into_bytes();
    if random.below(8) == 0 && !bytes.is_empty() {
        let at = random.below(bytes.len());
        bytes[at] = b"\"'<>.[](){}#\\@ \n"[random.below(16)];
    }
    bytes
}

fn oxttl(bytes: &[u8], trig: bool) -> (Vec<Quad>, Option<TurtleSyntaxError>) {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut quads = Vec::new();
    let mut keep = |quad: Result<Quad, TurtleSyntaxError>| match quad {
        Ok(quad) => {
            quads.push(quad);
            None
        }
        Err(error) => Some(error),
    };
    let error = if trig {
        let parser = TriGParser::new().with_base_iri(BASE).unwrap();
        parser.for_slice(bytes).find_map(&mut keep)
    } else {
        let parser = TurtleParser::new().with_base_iri(BASE).unwrap();
        parser
            .for_slice(bytes)
            .map(|triple| Ok(triple?.in_graph(GraphName::DefaultGraph)))
            .find_map(&mut keep)
    };
    (quads, error)
}

/// The statements in their order, blank nodes numbered as they come: those without a label get a random one.
fn numbered(quads: &[Quad]) -> Vec<String> {
    let mut numbers = HashMap::new();
    let mut number = |node: &BlankNode| {
        let next = numbers.len();
        let number = *numbers.entry(node.clone()).or_insert(next);
        BlankNode::new_unchecked(format!("n{number}"))
    };
    quads
        .iter()
        .map(|quad| {
            let subject = node(&quad.subject, &mut number);
            let object = term(&quad.object, &mut number);
            let graph = match &quad.graph_name {
                GraphName::BlankNode(node) => number(node).into(),
                other => other.clone(),
            };
            Quad::new(subject, quad.predicate.clone(), object, graph).to_string()
        })
        .collect()
}

fn node(
    node: &NamedOrBlankNode,
    number: &mut dyn FnMut(&BlankNode) -> BlankNode,
) -> NamedOrBlankNode {
    match node {
        NamedOrBlankNode::BlankNode(node) => number(node).into(),
        NamedOrBlankNode::NamedNode(named) => named.clone().into(),
    }
}

fn term(object: &Term, number: &mut dyn FnMut(&BlankNode) -> BlankNode) -> Term {
    match object {
        Term::BlankNode(node) => number(node).into(),
        Term::Triple(triple) => Triple {
            subject: node(&triple.subject, number),
            predicate: triple.predicate.clone(),
            object: term(&triple.object, number),
        }
        .into(),
        other => other.clone(),
    }
}

fn check(bytes: &[u8], trig: bool, slice_size: usize) {
    let format = if trig { Format::TriG } else { Format::Turtle };
    let input = InputOptions {
        slice_size,
        base: Some(oxrdf::NamedNode::new(BASE).unwrap()),
        ..InputOptions::default()
    };
    let mut collector = Collector::skipping();
    let options = ParseOptions {
        batch_size: 3,
        ..ParseOptions::default()
    };
    parse_inputs(vec![reader(bytes, format)], &input, options, &mut collector).unwrap();
    let (quads, error) = oxttl(bytes, trig);
    match (error, collector.rejects.first()) {
        (None, None) => {
            assert_eq!(numbered(&collector.quads), numbered(&quads));
        }
        (Some(error), Some(reject)) => {
            let start = error.location().start;
            assert_eq!(
                (reject.line, reject.column, reject.reason.as_str()),
                (start.line + 1, start.column + 1, error.message())
            );
        }
        (error, reject) => panic!("oxttl: {error:?}, slices: {reject:?}"),
    }
}

#[test]
fn slices_are_the_whole() {
    let mut random = Random(SEED);
    for round in 0..4_000 {
        let trig = random.below(2) == 0;
        let bytes = document(&mut random, trig);
        let slice_size = 1 + random.below(400);
        let run = AssertUnwindSafe(|| check(&bytes, trig, slice_size));
        if let Err(panic) = catch_unwind(run) {
            let text = String::from_utf8_lossy(&bytes);
            eprintln!(
                "seed {SEED:#x}, round {round}, trig {trig}, slices of {slice_size}:\n{text}"
            );
            resume_unwind(panic);
        }
    }
}

/// A document of many slices is really cut, not parsed as one stream.
#[test]
fn plain_documents_are_cut() {
    let mut text = "@prefix ex: <http://e/> .\n".to_owned();
    for number in 0..2_000 {
        writeln!(text, "ex:s{number} ex:p \"value {number}. \" .").unwrap();
    }
    let input = InputOptions {
        slice_size: 1_000,
        ..InputOptions::default()
    };
    let inputs = vec![reader(text.as_bytes(), Format::Turtle)];
    let source = quadrille_loader::input::SliceSource::new(inputs, &input);
    let mut slices = 0;
    while let Some(work) = source.next_work().unwrap() {
        let quadrille_loader::input::Work::Slice(slice) = work else {
            panic!("not cut");
        };
        assert!(slice.bytes().len() <= 1_000);
        slices += 1;
    }
    assert!(slices > text.len() / 1_100, "{slices} slices");
}

/// Brackets nested beyond measure are refused with their place, in slices and in streams.
#[test]
fn deep_nesting_is_refused() {
    for (open, trig) in [
        ("[ <q> ", false),
        ("( ", false),
        ("<<( <a> <b> ", false),
        ("<< ", true),
        ("[ <q> ", true),
    ] {
        let text = format!("<s>\n<p> {} .", open.repeat(100_000));
        for slice_size in [1, 1 << 20] {
            let input = InputOptions {
                slice_size,
                base: Some(oxrdf::NamedNode::new(BASE).unwrap()),
                ..InputOptions::default()
            };
            let format = if trig { Format::TriG } else { Format::Turtle };
            let mut collector = Collector::default();
            let inputs = vec![reader(text.as_bytes(), format)];
            let options = ParseOptions::default();
            let error = parse_inputs(inputs, &input, options, &mut collector).unwrap_err();
            let message = error.to_string();
            assert!(message.contains("nested more than"), "{message}");
            assert!(message.contains(":2:"), "{message}");
        }
    }
}
