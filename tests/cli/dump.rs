//! `quadrille dump`, `info` and `verify`.

use crate::support::{SMALL, Scratch};
use oxrdfio::{RdfFormat, RdfParser};
use std::collections::BTreeSet;
use std::fs;

/// Every syntax with its names on the command line and of files.
const SYNTAXES: [(&str, RdfFormat); 6] = [
    ("nq", RdfFormat::NQuads),
    ("trig", RdfFormat::TriG),
    (
        "jsonld",
        RdfFormat::JsonLd {
            profile: oxrdfio::JsonLdProfileSet::empty(),
        },
    ),
    ("nt", RdfFormat::NTriples),
    ("ttl", RdfFormat::Turtle),
    ("rdf", RdfFormat::RdfXml),
];

/// The statements of a text, as lines of N-Quads, with one name for the only blank node.
fn statements(text: &str, format: RdfFormat) -> BTreeSet<String> {
    RdfParser::from_format(format)
        .for_slice(text.as_bytes())
        .map(|quad| {
            let quad = quad
                .unwrap_or_else(|error| panic!("{format}: {error} in {text}"))
                .to_string();
            let words: Vec<&str> = quad
                .split(' ')
                .map(|word| {
                    if word.starts_with("_:") {
                        "_:blank"
                    } else {
                        word
                    }
                })
                .collect();
            words.join(" ")
        })
        .collect()
}

#[test]
fn every_syntax_gives_back_what_was_loaded() {
    let scratch = Scratch::with_small_store();
    let all = statements(SMALL, RdfFormat::NQuads);
    assert_eq!(all.len(), 3);
    let default_graph: String = SMALL
        .lines()
        .take(2)
        .flat_map(|line| [line, "\n"])
        .collect();
    let default_graph = statements(&default_graph, RdfFormat::NQuads);
    for (name, format) in SYNTAXES {
        let file = format!("out.{name}");
        let (graph, expected): (&[&str], _) = if format.supports_datasets() {
            (&[], &all)
        } else {
            (&["--graph", "default"], &default_graph)
        };
        let mut arguments = vec!["dump", "--store", "s", "--format", name];
        arguments.extend(graph);
        let run = scratch.run(&arguments).succeeds_silently();
        assert_eq!(statements(&run.out, format), *expected, "{name}");
        assert!(run.out.ends_with('\n'), "{name}");

        // To a file, whose name tells the syntax, and back in.
        let mut arguments = vec!["dump", "--store", "s", "--out", &file];
        arguments.extend(graph);
        let silent = scratch.run(&arguments).succeeds_silently();
        assert_eq!(silent.out, "");
        assert_eq!(scratch.read(&file), run.out, "{name}");
        let store = format!("again-{name}");
        scratch.run(&["load", "--store", &store, &file]).succeeds();
        let again = scratch.run(&["dump", "--store", &store]).succeeds();
        assert_eq!(
            statements(&again.out, RdfFormat::NQuads),
            *expected,
            "{name}"
        );
    }
    assert!(
        scratch
            .files(".")
            .iter()
            .all(|name| !name.ends_with(".partial"))
    );
}

#[test]
fn a_syntax_without_graphs_needs_one_of_several() {
    let scratch = Scratch::with_small_store();
    for name in ["nt", "ttl", "rdf"] {
        let run = scratch
            .run(&["dump", "--store", "s", "--format", name])
            .fails(&["--graph"]);
        assert_eq!(run.out, "");
    }
    let run = scratch.run(&[
        "dump",
        "--store",
        "s",
        "--graph",
        "http://example.org/g",
        "--format",
        "nt",
    ]);
    let line = "<http://example.org/a> <http://example.org/q> \"5\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n";
    assert_eq!(run.succeeds_silently().out, line);
    let none = scratch.run(&["dump", "--store", "s", "--graph", "http://example.org/none"]);
    assert_eq!(none.succeeds_silently().out, "");
    // Without named graphs nothing needs to be chosen.
    scratch.write(
        "a.nt",
        "<http://example.org/a> <http://example.org/p> \"1\" .\n",
    );
    scratch
        .run(&["load", "--store", "plain", "a.nt"])
        .succeeds();
    let run = scratch
        .run(&["dump", "--store", "plain", "--format", "nt"])
        .succeeds();
    assert_eq!(run.out, scratch.read("a.nt"));
}

#[test]
fn a_file_that_cannot_be_written_whole_is_not_there() {
    let scratch = Scratch::with_small_store();
    scratch
        .run(&["dump", "--store", "s", "--out", "missing/out.nq"])
        .fails(&["missing/out.nq", "No such file"]);
    scratch
        .run(&["dump", "--store", "s", "--out", "out.nq.gz"])
        .fails(&["out.nq.gz", "--format"]);
    // RDF/XML cannot say this predicate.
    scratch.write(
        "odd.nt",
        "<http://example.org/a> <http://example.org/1> \"1\" .\n",
    );
    scratch
        .run(&["load", "--store", "odd", "odd.nt"])
        .succeeds();
    scratch.write("out.rdf", "what was there before");
    let run = scratch.run(&["dump", "--store", "odd", "--out", "out.rdf"]);
    if run.code == Some(0) {
        assert_ne!(scratch.read("out.rdf"), "what was there before");
    } else {
        run.fails(&[]);
        assert_eq!(scratch.read("out.rdf"), "what was there before");
    }
    assert!(
        scratch
            .files(".")
            .iter()
            .all(|name| !name.ends_with(".partial"))
    );
}

#[test]
fn info_says_the_same_to_people_and_programs() {
    let scratch = Scratch::with_small_store();
    let info = scratch.info("s");
    for (name, number) in [
        ("quads", 3),
        ("default_graph_quads", 2),
        ("named_graphs", 1),
    ] {
        assert_eq!(info[name], number, "{info:#}");
    }
    assert_eq!(info["terms"]["blank_nodes"], 1, "{info:#}");
    let on_disk: u64 = scratch
        .files("s")
        .iter()
        .filter(|name| name.contains('/'))
        .map(|name| {
            fs::metadata(scratch.path("s").join(name))
                .expect("it is there")
                .len()
        })
        .sum();
    assert_eq!(info["files"]["total"]["bytes"], on_disk, "{info:#}");
    let people = scratch
        .run(&["info", "--store", "s"])
        .succeeds_silently()
        .out;
    assert!(people.contains("3 (2 in the default graph)"), "{people}");
    assert!(
        people.contains(info["store"].as_str().expect("a name")),
        "{people}"
    );
    assert!(people.contains(&format!("{on_disk} bytes")), "{people}");
}

#[test]
fn verify_finds_a_flipped_byte_in_any_file() {
    let scratch = Scratch::with_small_store();
    let run = scratch.run(&["verify", "--store", "s"]).succeeds_silently();
    assert!(run.out.starts_with("sound: 3 quads"), "{run:#?}");
    for name in scratch.files("s") {
        if name == "lock" {
            continue;
        }
        let path = scratch.path("s").join(&name);
        let before = fs::read(&path).expect("it is there");
        let mut damaged = before.clone();
        damaged[before.len() / 2] ^= 0x10;
        fs::write(&path, damaged).expect("it can be written");
        let run = scratch.run(&["verify", "--store", "s"]);
        assert_eq!(run.code, Some(1), "{name}: {run:#?}");
        assert_eq!(run.out, "", "{name}");
        assert!(run.err.contains(&name), "{name}: {run:#?}");
        let last = run.err.lines().last().expect("it says something");
        assert!(
            last.starts_with("quadrille: ") && last.contains("problem"),
            "{name}: {run:#?}"
        );
        fs::write(&path, before).expect("it can be written");
    }
    scratch.run(&["verify", "--store", "s"]).succeeds();
}
