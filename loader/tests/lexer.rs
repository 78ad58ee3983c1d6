//! The fast lexer with its fallback against `oxttl` alone: tricky shapes in all combinations, mutated, cut and
//! random. Runs are bounded and seeded; a failure prints the text.

mod common;

use common::{Collector, check_against_oxttl, lines, parse_bytes, parse_inputs, reader};
use quadrille_loader::input::{Format, InputOptions};
use quadrille_loader::parse::ParseOptions;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

const SEED: u64 = 0x0DD5_EED5;

/// A small generator of random numbers (`xorshift64*`), so that a seed means the same for ever.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 33) as usize % bound
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

const IRIS: &[&[u8]] = &[
    b"<http://a/b>",
    b"<http://example.org/path/to/something/rather/long#fragment>",
    b"<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>",
    b"<http://h>",
    b"<http://h?q#f>",
    b"<http://h#>",
    b"<http://h:80/p>",
    b"<http://h:8x/p>",
    b"<http://h:/p>",
    b"<http://u@h/p>",
    b"<http://u:p@h:1/p>",
    b"<http://[::1]/p>",
    b"<http://[v1.a]:80/p>",
    b"<http://[::1/p>",
    b"<http:///p>",
    b"<http:>",
    b"<http:/p>",
    b"<http://>",
    b"<urn:isbn:0-395-36341-1>",
    b"<urn:a?b#c>",
    b"<mailto:a@b.c>",
    b"<a+b-c.d:e>",
    b"<1a:b>",
    b"<a_b:c>",
    b"<relative>",
    b"<#f>",
    b"<>",
    b"<//h/p>",
    b"<http://h/p%20q>",
    b"<http://h/p%2>",
    b"<http://h/%zz>",
    b"<http://h%41/p>",
    b"<http://h/a#b#c>",
    b"<http://h/a b>",
    b"<http://h/a\tb>",
    b"<http://h/a<b>",
    b"<http://h/{a}>",
    b"<http://h/a|b>",
    b"<http://h/a^b>",
    b"<http://h/a`b>",
    b"<http://h/a\"b>",
    b"<http://h/a[b]>",
    b"<http://h/a~b'c(d)e*f,g;h=i@j:k!l$m&n>",
    b"<http://h/\\u0041>",
    b"<http://h/\\u0020>",
    b"<http://h/\\U0001F600>",
    b"<http://h/\\x>",
    "<http://h/ä>".as_bytes(),
    "<http://ä/b>".as_bytes(),
    "<http://h/\u{E000}>".as_bytes(),
    "<http://h/?\u{E000}>".as_bytes(),
    "<http://h/\u{FFFD}>".as_bytes(),
    "<http://h/\u{10FFFF}>".as_bytes(),
    b"<http://h/\xFF>",
    b"<http://h/\xED\xA0\x80>",
    b"<http://h/\x7F>",
    b"<http://h/\x00>",
    b"<http://h/unclosed",
    b"<HTTP://H/p>",
];

const LABELS: &[&[u8]] = &[
    b"_:a",
    b"_:b0",
    b"_:0",
    b"_:a.b",
    b"_:a-b_c",
    b"_:a.",
    b"_:a..",
    b"_:.a",
    b"_:-a",
    b"_:_",
    b"_:",
    b"_",
    b"_:a:b",
    b"_:ab12ef",
    b"_:ffffffffffffffffffffffffffffffff",
    b"_:0abc",
    "_:ä".as_bytes(),
    "_:aä".as_bytes(),
    "_:a\u{B7}".as_bytes(),
    "_:a\u{D7}".as_bytes(),
    b"_:a\xFF",
];

const LITERALS: &[&[u8]] = &[
    b"\"\"",
    b"\"a\"",
    b"\"some words of text that are longer than a vector\"",
    b"\"a\\nb\"",
    b"\"\\\"\"",
    b"\"\\\\\"",
    b"\"\\u00e4\"",
    b"\"\\uD83D\\uDE00\"",
    b"\"\\U0001F600\"",
    b"\"\\U00110000\"",
    b"\"\\q\"",
    b"\"\\",
    b"\"open",
    b"\"a\tb\"",
    b"\"a\x00b\"",
    "\"ä\"".as_bytes(),
    "\"long text with an \u{1F600} somewhere in the middle of it\"".as_bytes(),
    b"\"\xFF\"",
    b"\"\xC3\"",
    b"\"\xED\xA0\x80\"",
    b"'a'",
    b"1",
    b"true",
    b"\"42\"",
    b"\"042\"",
    b"\"2020-01-01\"",
    b"\"1.50\"",
];

const SUFFIXES: &[&[u8]] = &[
    b"",
    b"",
    b"@en",
    b"@EN-us",
    b"@de-Latn-DE-1996",
    b"@x-private",
    b"@i-klingon",
    b"@en-GB-oed",
    b"@e",
    b"@e1",
    b"@en-",
    b"@en--ltr",
    b"@en--rtl",
    b"@en--up",
    b"@--ltr",
    b"@toolongtag1",
    b"@abcdefghi",
    b"@",
    b"@1",
    b" @en",
    b"^^<http://www.w3.org/2001/XMLSchema#string>",
    b"^^<http://www.w3.org/2001/XMLSchema#integer>",
    b"^^<http://www.w3.org/2001/XMLSchema#date>",
    b"^^<http://www.w3.org/2001/XMLSchema#decimal>",
    b"^^<http://h/datatype>",
    b"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>",
    b"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString>",
    b"^^<relative>",
    b"^^ <http://h/datatype>",
    b" ^^<http://h/datatype>",
    b"^<http://h/datatype>",
    b"^^",
    b"^^_:b",
];

const TRIPLE_TERMS: &[&[u8]] = &[
    b"<<( <http://a/s> <http://a/p> <http://a/o> )>>",
    b"<<(_:s<http://a/p>\"o\"@en--ltr)>>",
    b"<<( <http://a/s> <http://a/p> <<( <http://a/s> <http://a/p> \"1\"^^<http://www.w3.org/2001/XMLSchema#integer> )>> )>>",
    b"<<( \"s\" <http://a/p> <http://a/o> )>>",
    b"<< <http://a/s> <http://a/p> <http://a/o> >>",
    b"<<( <http://a/s> <http://a/p> )>>",
];

const BLANKS: &[&[u8]] = &[
    b" ",
    b" ",
    b" ",
    b"",
    b"\t",
    b"  ",
    b" \t ",
    b"\x0B",
    "\u{A0}".as_bytes(),
];

const ENDS: &[&[u8]] = &[
    b".",
    b" .",
    b" .",
    b" . ",
    b"\t.\t",
    b" .#c",
    b" . # comment",
    b"",
    b" ..",
    b" . .",
    b".5",
    b" ;",
    b" . <http://a/b>",
    b" . # \xFF not UTF-8",
];

const LINE_ENDS: &[&[u8]] = &[
    b"\n",
    b"\n",
    b"\n",
    b"\r\n",
    b"\r",
    b"\n\n",
    b"\n\r",
    b"",
    b"\n# comment\n",
    b" \n",
];

fn node(random: &mut Random, out: &mut Vec<u8>) {
    let pool = if random.chance(75) { IRIS } else { LABELS };
    // Mostly one of the first, which are good, so that the rest of the line matters.
    let choice = if random.chance(70) { &pool[..4] } else { pool };
    out.extend_from_slice(random.pick(choice));
}

fn statement(random: &mut Random, out: &mut Vec<u8>) {
    if random.chance(10) {
        out.extend_from_slice(random.pick(BLANKS));
    }
    node(random, out);
    out.extend_from_slice(random.pick(BLANKS));
    let predicates = if random.chance(85) { &IRIS[..4] } else { IRIS };
    out.extend_from_slice(random.pick(predicates));
    out.extend_from_slice(random.pick(BLANKS));
    match random.below(10) {
        0..=3 => node(random, out),
        4 => out.extend_from_slice(random.pick(TRIPLE_TERMS)),
        _ => {
            out.extend_from_slice(random.pick(LITERALS));
            out.extend_from_slice(random.pick(SUFFIXES));
        }
    }
    if random.chance(25) {
        out.extend_from_slice(random.pick(BLANKS));
        node(random, out);
    }
    let ends = if random.chance(70) { &ENDS[..7] } else { ENDS };
    out.extend_from_slice(random.pick(ends));
}

fn document(random: &mut Random) -> Vec<u8> {
    let mut text = Vec::new();
    if random.chance(3) {
        text.extend_from_slice(b"\xEF\xBB\xBF");
    }
    for _ in 0..=random.below(6) {
        statement(random, &mut text);
        text.extend_from_slice(random.pick(LINE_ENDS));
        if random.chance(40) && !text.is_empty() {
            // The same beginning again: what the lexer remembers must not mislead it.
            let start = random.below(text.len());
            let length = random.below(text.len() - start);
            text.extend_from_within(start..start + length);
        }
    }
    match random.below(10) {
        0 | 1 => {
            for _ in 0..=random.below(3) {
                let at = random.below(text.len());
                text[at] = random.next() as u8;
            }
        }
        2 => {
            let at = random.below(text.len());
            text.remove(at);
        }
        3 => text.truncate(random.below(text.len() + 1)),
        4 => {
            let at = random.below(text.len());
            let inserted = *random.pick(&[
                &b'"', &b'<', &b'>', &b'\\', &b'\n', &b'\r', &b' ', &b'.', &b'#', &b'@', &b'^',
                &b'%',
            ]);
            text.insert(at, inserted);
        }
        _ => {}
    }
    text
}

fn checked(text: &[u8], with_graph: bool, seed: u64) {
    let check = AssertUnwindSafe(|| check_against_oxttl(text, with_graph));
    if let Err(panic) = catch_unwind(check) {
        eprintln!(
            "seed {seed:#x}, with_graph {with_graph}, text:\n{}",
            text.escape_ascii()
        );
        resume_unwind(panic);
    }
}

#[test]
fn lexer_with_fallback_is_oxttl() {
    let mut random = Random(SEED);
    for _ in 0..15_000 {
        let seed = random.0;
        let text = document(&mut random);
        checked(&text, random.chance(50), seed);
    }
}

#[test]
fn lexer_with_fallback_is_oxttl_on_random_bytes() {
    let mut random = Random(SEED);
    let alphabet = b"<>\"\\_:.@^#%/abc0 \t\n\r-()\xC3\xA4\xFF";
    for _ in 0..15_000 {
        let seed = random.0;
        let any = random.chance(20);
        let text: Vec<u8> = (0..random.below(60))
            .map(|_| {
                if any {
                    random.next() as u8
                } else {
                    alphabet[random.below(alphabet.len())]
                }
            })
            .collect();
        checked(&text, random.chance(50), seed);
    }
}

#[test]
fn every_shape_alone() {
    for iri in IRIS {
        for text in [
            [iri, &b" <http://a/p> <http://a/o> .\n"[..]].concat(),
            [b"<http://a/s> ", *iri, b" <http://a/o> .\n"].concat(),
            [b"<http://a/s> <http://a/p> ", *iri, b" .\n"].concat(),
            [b"<http://a/s> <http://a/p> \"x\"^^", *iri, b" .\n"].concat(),
            [b"<http://a/s> <http://a/p> <http://a/o> ", *iri, b" .\n"].concat(),
        ] {
            checked(&text, false, 0);
            checked(&text, true, 0);
        }
    }
    for literal in LITERALS {
        for suffix in SUFFIXES {
            for end in ENDS {
                let text = [b"<http://a/s> <http://a/p> ", *literal, *suffix, *end].concat();
                checked(&text, false, 0);
                checked(&text, true, 0);
            }
        }
    }
    for term in TRIPLE_TERMS.iter().chain(LABELS) {
        let text = [b"<http://a/s> <http://a/p> ", *term, b" .\n"].concat();
        checked(&text, false, 0);
    }
}

/// However a document is cut into slices, and whether they are read from a file or a stream, the same
/// statements and the same positions come out.
#[test]
fn slices_make_no_difference() {
    let mut random = Random(SEED);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.nq");
    for _ in 0..300 {
        let mut text = Vec::new();
        for _ in 0..random.below(12) {
            text.extend(document(&mut random));
        }
        let mut whole = Collector::skipping();
        let counts =
            parse_bytes(&text, Format::NQuads, ParseOptions::default(), &mut whole).unwrap();
        let input = InputOptions {
            slice_size: 1 + random.below(300),
            ..InputOptions::default()
        };
        std::fs::write(&path, &text).unwrap();
        let file = quadrille_loader::input::InputFile::from_path(&path, None, 3).unwrap();
        for (what, input_file) in [("file", file), ("stream", reader(&text, Format::NQuads))] {
            let mut cut = Collector::skipping();
            let cut_counts =
                parse_inputs(vec![input_file], &input, ParseOptions::default(), &mut cut).unwrap();
            let context = format!(
                "{what}, slices of {}: {}",
                input.slice_size,
                text.escape_ascii()
            );
            assert_eq!(cut.quads, whole.quads, "{context}");
            assert_eq!(cut_counts, counts, "{context}");
            let places = |collector: &Collector| -> Vec<_> {
                let rejects = collector.rejects.iter();
                rejects
                    .map(|reject| (reject.line, reject.column, reject.text.clone()))
                    .collect()
            };
            assert_eq!(places(&cut), places(&whole), "{context}");
        }
    }
}

/// A lenient parse keeps what fits the grammar, and refuses what could not be written back.
#[test]
fn lenient_keeps_what_fits_the_grammar() {
    let text = [
        "<http://a/s> <http://a/p> \"x\"@zh-classical .",
        "<http://a/s> <http://h:port/> <http://a/%zz> .",
        "<relative> <http://a/p> \"x\" .",
        "<http://a/a b> <http://a/p> \"x\" .",
        "<http://a/\\u0020> <http://a/p> \"x\" .",
        "<http://a/s> <http://a/p> \"x\"^^<a|b> .",
        "<http://a/s> <http://a/p> \"x\" ",
        "<http://a/s> <http://a/p> \"plain\" .",
    ]
    .join("\n");
    let mut collector = Collector::skipping();
    let options = ParseOptions {
        lenient: true,
        ..ParseOptions::default()
    };
    let counts = parse_bytes(text.as_bytes(), Format::NTriples, options, &mut collector).unwrap();
    assert_eq!(
        (counts.statements, counts.lenient, counts.rejected),
        (4, 3, 4)
    );
    let refused: Vec<_> = collector.rejects.iter().map(|reject| reject.line).collect();
    assert_eq!(refused, [4, 5, 6, 7]);
    assert_eq!(lines(text.as_bytes()).len(), 8);
}

/// Triple terms nested beyond all measure are refused, not followed until the stack ends.
#[test]
fn deeply_nested_triple_terms_are_refused() {
    for depth in [65, 100_000] {
        let open = "<<( <http://a/s> <http://a/p> ".repeat(depth);
        let close = " )>>".repeat(depth);
        // What looks like the beginning of a comment, and is not.
        for subject in ["<http://a/s>", "<http://a/s#>", "<http://a#/s>"] {
            let text = format!("{subject} <http://a/p> {open}<http://a/o>{close} .\n");
            let mut collector = Collector::skipping();
            let options = ParseOptions::default();
            parse_bytes(text.as_bytes(), Format::NTriples, options, &mut collector).unwrap();
            assert!(collector.quads.is_empty());
            assert!(collector.rejects[0].reason.contains("nested more than"));
        }
    }
}

/// More predicates, languages and datatypes than any cache has places for.
#[test]
fn caches_that_overflow_make_no_difference() {
    let mut random = Random(SEED);
    let mut text = String::new();
    for _ in 0..6_000 {
        let subject = random.below(50);
        let predicate = random.below(3_000);
        let suffix = match random.below(3) {
            0 => format!(
                "@l{}",
                ["a", "b", "c", "d"]
                    .map(|_| random.below(26))
                    .map(letter)
                    .concat()
            ),
            1 => format!("^^<http://d/{}>", random.below(600)),
            _ => String::new(),
        };
        let object = random.below(40);
        let host = subject % 7;
        writeln!(
            text,
            "<http://h{host}/{subject}> <http://p/{predicate}> \"{object}\"{suffix} <http://g/{object}> ."
        )
        .unwrap();
    }
    check_against_oxttl(text.as_bytes(), true);
}

fn letter(number: usize) -> String {
    char::from(b'a' + number as u8).to_string()
}
