//! Turtle and `TriG` cut into slices against `oxttl` on the whole document: tricky statements in random order,
//! mutated, cut at every size; and the fast lexer of Turtle against `oxttl`, in statements of random tokens. A
//! failure prints the text.

mod common;

use common::{Collector, parse_bytes, parse_inputs, reader};
use oxrdf::{BlankNode, GraphName, NamedOrBlankNode, Quad, Term, Triple};
use oxttl::{TriGParser, TurtleParser, TurtleSyntaxError};
use quadrille_loader::input::{Format, InputOptions};
use quadrille_loader::parse::{ParseOptions, Reject};
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

/// Prefixes that the tokens below name.
const HEADER: &str = "@prefix ex: <http://e/> .\n@prefix : <http://empty/#> .\n\
    @prefix host: <http://host> .\n@prefix a: <http://a/> . @prefix a.b: <http://ab/> .\n\
    @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix true: <urn:true:> .\n\
    @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n\
    @prefix half: <http://www.w3.org/1999/02/22-rdf-syntax-ns#lang> .\n";

const PLAIN_NODES: &[&str] = &[
    "<http://e/a>",
    "<http://e/a#b?c>",
    "<urn:a:b>",
    "<http://e/ä>",
    "<http://e/a/../b/./c>",
    "ex:a",
    "ex:a.b",
    "ex:",
    ":",
    ":a",
    "ex:1",
    "ex:_",
    "ex:a-b",
    "ex:a..b",
    "a:a",
    "_:b",
    "_:b.c",
    "_:1",
    "true:a",
    "<http://e/%41>",
];

const PLAIN_LITERALS: &[&str] = &[
    "\"\"",
    "\"a b\"",
    "\"ä . ; , # <x>\"",
    "\"a\\n\\\"b\\u00E4\"",
    "\"a\"@en",
    "\"a\"@de-AT",
    "\"\"@EN-us",
    "\"1\"^^xsd:integer",
    "\"01\"^^xsd:integer",
    "\"x\"^^xsd:string",
    "\"x\"^^<http://e/d>",
    "\"x\\t\"^^ex:d",
    "\"2020-01-01\"^^xsd:date",
    "1",
    "-1",
    "+1",
    "007",
    "1.0",
    "1.50",
    ".5",
    "-.5",
    "1e0",
    "1.e5",
    "1.5E-3",
    ".5e+1",
    "true",
    "false",
    "12345678901234567890123",
];

/// Not plain, refused some of them.
const ODD_NODES: &[&str] = &[
    "<rel>",
    "<>",
    "<http://e/\\u0041>",
    "<http://e/a b>",
    "[]",
    "[ ex:p ex:o ]",
    "( 1 ex:a )",
    "()",
    "ex:a\\.",
    "ex:%41",
    "ex:a:b",
    "ex:ä",
    "host:a",
    "host::1",
    "no:a",
    "a.b:c",
    "_:ä",
    "ex:-a",
    "ex:.a",
    "<< ex:a ex:b ex:c >>",
    "_:",
    "_:-a",
    "<http://e:x/>",
    "a",
    "prefix",
    "ex:a;",
    "'single'",
    "<http://e/\u{FFFE}>",
    "ex",
    "_:a:b",
];

const ODD_LITERALS: &[&str] = &[
    "'a'",
    "\"\"\"a\n\"b\". \"\"\"",
    "'''x\r\ny'''",
    "\"a\\qb\"",
    "\"a\nb\"",
    "\"a\\uD83D\\uDE00\"",
    "\"a\"@en--ltr",
    "\"a\"@1",
    "\"a\"@toolongalanguage",
    "\"a\" @en",
    "\"1\" ^^ xsd:integer",
    "\"1\"^^ xsd:integer",
    "\"a\"^^rdf:langString",
    "\"a\"^^half:String",
    "\"a\"^^no:a",
    "\"a\"^^<rel>",
    "1..",
    "1.0.5",
    "1e",
    "1.e",
    "+",
    ".",
    "\"a\"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString>",
    "1abc",
    "True",
    "TRUE",
    "truex",
    "true.x",
    "ex:o ~ ex:r",
    "ex:o {| ex:p 1 |}",
    "<<( ex:a ex:b 1 )>>",
    "\"\"\"\"",
    "\"a\"^<x>",
    "\"a\"^^",
    "\"a\"@",
    "1. ",
];

const PLAIN_VERBS: &[&str] = &[
    "a",
    "a",
    "ex:p",
    "<http://e/p>",
    ":",
    "ex:q.r",
    "a:a",
    "rdf:type",
];
const ODD_VERBS: &[&str] = &[
    "A", "<p>", "_:b", "ex:%41", "is", "no:p", "\"p\"", "ex:p\\-", "a.", "host:p", "=",
];

const GAPS: &[&str] = &[
    " ",
    " ",
    " ",
    " ",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "  \t ",
    "",
    " # comment . ; ,\n",
    "#\r",
    " # ä \"\r\n  ",
];

/// What stands between statements now and then.
const BETWEEN: &[&str] = &[
    "@prefix ex: <http://two/> .",
    "PREFIX ex: <http://three#>",
    "@base <http://base/x/> .",
    "BASE <y/>",
    "@prefix no: <rel> .",
    "@prefix ex: <http://four/>.",
    "@prefix : <http://empty/> .",
    "VERSION \"1.2\"",
    "@prefix host: <http://host/> .",
    ".",
    "]",
    "ex:a ex:b ex:c",
    "@prefix ex: <bad iri> .",
];

fn plain_or(
    random: &mut Random,
    odd: usize,
    plain: &[&'static str],
    other: &[&'static str],
) -> &'static str {
    let from = if random.below(100) < odd {
        other
    } else {
        plain
    };
    from[random.below(from.len())]
}

fn objects(random: &mut Random, odd: usize, text: &mut String) {
    loop {
        text.push_str(random.pick(GAPS));
        text.push_str(if random.below(2) == 0 {
            plain_or(random, odd, PLAIN_NODES, ODD_NODES)
        } else {
            plain_or(random, odd, PLAIN_LITERALS, ODD_LITERALS)
        });
        text.push_str(random.pick(GAPS));
        if random.below(4) > 0 {
            return;
        }
        text.push(',');
    }
}

/// A document of random tokens; `odd` of a hundred are not plain.
fn tokens(random: &mut Random, odd: usize) -> String {
    let mut text = HEADER.to_owned();
    for _ in 0..random.below(120) {
        if random.below(100) < odd {
            text.push_str(random.pick(BETWEEN));
            text.push_str(random.pick(GAPS));
        }
        text.push_str(plain_or(random, odd, PLAIN_NODES, ODD_NODES));
        loop {
            text.push_str(if random.below(20) == 0 {
                random.pick(GAPS)
            } else {
                " "
            });
            text.push_str(plain_or(random, odd, PLAIN_VERBS, ODD_VERBS));
            text.push_str(if random.below(20) == 0 { "" } else { " " });
            objects(random, odd, &mut text);
            if random.below(3) > 0 {
                break;
            }
            for _ in 0..=random.below(5) / 3 {
                text.push(';');
                text.push_str(random.pick(GAPS));
            }
            if random.below(6) == 0 {
                break;
            }
        }
        text.push_str(if random.below(4) == 0 { "." } else { " ." });
        text.push_str(random.pick(GAPS));
    }
    text
}

/// All that `oxttl` says of a whole document: statements, and lines, columns and reasons of errors.
fn all_of_oxttl(bytes: &[u8]) -> (Vec<String>, Vec<(u64, u64, String)>) {
    let (mut quads, mut errors) = (Vec::new(), Vec::new());
    for triple in TurtleParser::new().for_slice(bytes) {
        match triple {
            Ok(triple) => quads.push(triple.in_graph(GraphName::DefaultGraph)),
            Err(error) => {
                let start = error.location().start;
                let reason = error.message().to_owned();
                errors.push((start.line + 1, start.column + 1, reason));
            }
        }
    }
    (numbered(&quads), errors)
}

/// What a slice gives: statements, rejects and how many lines were handed to `oxttl`.
fn slice(bytes: &[u8], lenient: bool) -> (Vec<String>, Vec<Reject>, u64) {
    let mut collector = Collector::skipping();
    let options = ParseOptions {
        batch_size: 3,
        lenient,
        ..ParseOptions::default()
    };
    let counts = parse_bytes(bytes, Format::Turtle, options, &mut collector).unwrap();
    assert_eq!(counts.statements, collector.quads.len() as u64);
    assert_eq!(counts.rejected, collector.rejects.len() as u64);
    let quads = numbered(&collector.quads);
    (quads, collector.rejects, counts.fallback_lines)
}

/// The fast lexer and `oxttl` together against `oxttl` alone, which has a slice with a byte-order mark to itself.
fn check_tokens(bytes: &[u8]) {
    let marked = [b"\xEF\xBB\xBF", bytes].concat();
    for lenient in [false, true] {
        let (quads, mut rejects, _) = slice(bytes, lenient);
        let (slow_quads, mut slow_rejects, handed) = slice(&marked, lenient);
        assert_eq!(handed, 0);
        assert_eq!(quads, slow_quads, "lenient: {lenient}");
        for reject in rejects.iter_mut().chain(&mut slow_rejects) {
            if reject.line == 0 {
                reject.reason.clear(); // it names blank nodes, which are random
            }
        }
        assert_eq!(rejects, slow_rejects, "lenient: {lenient}");
        if !lenient {
            let (expected, errors) = all_of_oxttl(bytes);
            assert_eq!(quads, expected);
            let rejects = rejects.into_iter();
            let rejects = rejects.map(|reject| (reject.line, reject.column, reject.reason));
            assert_eq!(rejects.collect::<Vec<_>>(), errors);
        }
    }
}

#[test]
fn the_fast_lexer_is_oxttl() {
    const BYTES: &[u8] = b"\"'<>.[](){}#\\@ \n\r:;,a1_-^\xC3\x00%~";
    let mut random = Random(SEED);
    for round in 0..2_000 {
        let odd = [0, 1, 1, 3, 10, 40][random.below(6)];
        let mut bytes = tokens(&mut random, odd).into_bytes();
        if random.below(3) == 0 {
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len());
                bytes[at] = BYTES[random.below(BYTES.len())];
            }
        }
        let slice_size = 1 + random.below(4_000);
        let run = || {
            check_tokens(&bytes);
            check(&bytes, false, slice_size);
        };
        if let Err(panic) = catch_unwind(run) {
            let text = String::from_utf8_lossy(&bytes);
            eprintln!("seed {SEED:#x}, round {round}, slices of {slice_size}:\n{text}");
            resume_unwind(panic);
        }
    }
}

/// Every token is what the lists above say it is: the fast lexer knows the plain ones.
#[test]
fn plain_statements_are_not_handed_over() {
    // A comment keeps them out of the piece that is handed over with the directives.
    let header = format!("{HEADER}#{}\n", "-".repeat(2_000));
    let handed = |statement: &str| slice(format!("{header}{statement}").as_bytes(), false).2;
    let directives = handed("");
    let is_odd = |subject: &str, verb: &str, object: &str| {
        handed(&format!("{subject} {verb} {object} .")) > directives
    };
    for node in PLAIN_NODES {
        assert!(!is_odd(node, "ex:p", node), "{node}");
    }
    for verb in PLAIN_VERBS {
        assert!(!is_odd("ex:s", verb, "ex:o"), "{verb}");
    }
    for literal in PLAIN_LITERALS {
        assert!(!is_odd("ex:s", "ex:p", literal), "{literal}");
    }
    for literal in ODD_LITERALS {
        assert!(is_odd("ex:s", "ex:p", literal), "{literal}");
    }
    let lists = "ex:s a ex:C,ex:D;;ex:p 1,\n2.5;.#\nex:s ex:p 1.<http://e/s> ex:p ex:o.";
    assert_eq!(handed(lists), directives);
}
