//! The W3C's test suites of N-Triples, N-Quads, Turtle, `TriG` and RDF/XML, RDF 1.1 and 1.2.
//!
//! `W3C_RDF_TESTS` names a copy of <https://github.com/w3c/rdf-tests> (the folder that holds `rdf/`); without it
//! the tests say so and pass.

mod common;

use common::{Collector, parse_inputs, say};
use oxrdf::dataset::CanonicalizationAlgorithm;
use oxrdf::vocab::rdf;
use oxrdf::{Dataset, NamedNode, NamedNodeRef, Quad, Term, TermRef};
use oxttl::{NQuadsParser, TurtleParser};
use quadrille_loader::input::{Format, InputFile, InputOptions};
use quadrille_loader::parse::ParseOptions;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Where the suites are published; their files are found by what follows.
const PUBLISHED: &str = "https://w3c.github.io/rdf-tests/";
const MF: &str = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#";
const RDFT: &str = "http://www.w3.org/ns/rdftest#";

/// Tests that are not run, with the reason.
const EXCLUDED: &[(&str, &str)] = &[
    ("xml-canon-test001", XML_LITERAL),
    ("xml-canon-test002", XML_LITERAL),
    ("rdf12-xml-an-13", XML_LITERAL),
    ("rdf12-xml-an-14", XML_LITERAL),
];

const XML_LITERAL: &str = "oxrdfxml writes every namespace in scope into an XML literal, the test expects \
    exclusive canonical XML";

struct Test {
    name: String,
    kind: String,
    action: String,
    result: Option<String>,
}

/// The tests of a manifest.
fn tests(root: &Path, suite: &str) -> Vec<Test> {
    let base = format!("{PUBLISHED}{suite}/manifest.ttl");
    let text = std::fs::read(root.join(suite).join("manifest.ttl")).unwrap();
    let graph: Dataset = TurtleParser::new()
        .with_base_iri(&base)
        .unwrap()
        .for_slice(&text)
        .map(|triple| triple.unwrap().in_graph(oxrdf::GraphName::DefaultGraph))
        .collect();
    let object = |subject, predicate: &str| {
        let predicate = NamedNode::new_unchecked(predicate);
        graph
            .quads_for_pattern(Some(subject), Some(predicate.as_ref()), None, None)
            .next()
            .map(|quad| match quad.object {
                TermRef::NamedNode(node) => node.as_str().to_owned(),
                TermRef::Literal(literal) => literal.value().to_owned(),
                other => panic!("{other}"),
            })
    };
    let mut tests: Vec<_> = graph
        .quads_for_predicate(rdf::TYPE)
        .filter_map(|quad| {
            let TermRef::NamedNode(class) = quad.object else {
                return None;
            };
            let kind = class.as_str().strip_prefix(RDFT)?;
            kind.starts_with("Test").then(|| Test {
                name: object(quad.subject, &format!("{MF}name")).unwrap(),
                kind: kind.to_owned(),
                action: object(quad.subject, &format!("{MF}action")).unwrap(),
                result: object(quad.subject, &format!("{MF}result")),
            })
        })
        .collect();
    tests.sort_by(|left, right| left.name.cmp(&right.name));
    tests
}

fn local(root: &Path, url: &str) -> PathBuf {
    root.join(url.strip_prefix(PUBLISHED).unwrap())
}

/// The statements of a file as the loader reads them, cut into small slices.
fn load(root: &Path, url: &str, slice_size: usize) -> Result<Dataset, String> {
    let path = local(root, url);
    let format = Format::from_extension(path.extension().unwrap().to_str().unwrap()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let input = InputFile::from_reader(url, Box::new(std::io::Cursor::new(bytes)), format, 0);
    let options = InputOptions {
        slice_size,
        base: Some(NamedNode::new(url).unwrap()),
        ..InputOptions::default()
    };
    let mut collector = Collector::default();
    match parse_inputs(
        vec![input],
        &options,
        ParseOptions::default(),
        &mut collector,
    ) {
        Ok(_) => Ok(collector.quads.into_iter().collect()),
        Err(error) => Err(error.to_string()),
    }
}

/// The statements of a result file, by `oxttl` alone.
fn expected(root: &Path, url: &str) -> Dataset {
    let text = std::fs::read(local(root, url)).unwrap();
    let quads = NQuadsParser::new().for_slice(&text);
    quads
        .collect::<Result<Vec<Quad>, _>>()
        .unwrap()
        .into_iter()
        .collect()
}

fn canonical(mut dataset: Dataset) -> Dataset {
    dataset.canonicalize(CanonicalizationAlgorithm::Unstable);
    dataset
}

fn run(root: &Path, test: &Test, slice_size: usize) -> Result<(), String> {
    let loaded = load(root, &test.action, slice_size);
    if test.kind.contains("Negative") {
        return match loaded {
            Ok(_) => Err("was accepted".to_owned()),
            Err(_) => Ok(()),
        };
    }
    let loaded = loaded?;
    let Some(result) = &test.result else {
        return Ok(());
    };
    if canonical(loaded) == canonical(expected(root, result)) {
        Ok(())
    } else {
        Err("other statements than expected".to_owned())
    }
}

fn suite(suites: &[&str]) {
    let Some(root) = std::env::var_os("W3C_RDF_TESTS").map(PathBuf::from) else {
        say("skipped: W3C_RDF_TESTS does not name a copy of the W3C's rdf-tests");
        return;
    };
    let mut failures = String::new();
    for suite in suites {
        let (mut passed, mut failed, mut excluded) = (0, 0, 0);
        for test in tests(&root, suite) {
            if let Some((_, reason)) = EXCLUDED.iter().find(|(name, _)| *name == test.name) {
                say(&format!("{suite}: {} excluded: {reason}", test.name));
                excluded += 1;
                continue;
            }
            // Whole, and cut wherever that is possible.
            let outcome = [1 << 20, 64, 1]
                .into_iter()
                .try_for_each(|slice_size| run(&root, &test, slice_size));
            match outcome {
                Ok(()) => passed += 1,
                Err(reason) => {
                    failed += 1;
                    writeln!(failures, "{suite}: {} ({}): {reason}", test.name, test.kind).unwrap();
                }
            }
        }
        say(&format!(
            "{suite}: {passed} passed, {failed} failed, {excluded} excluded"
        ));
        assert!(passed > 0, "{suite}: no test found");
    }
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn n_triples() {
    suite(&[
        "rdf/rdf11/rdf-n-triples",
        "rdf/rdf12/rdf-n-triples/syntax",
        "rdf/rdf12/rdf-n-triples/c14n",
    ]);
}

#[test]
fn n_quads() {
    suite(&[
        "rdf/rdf11/rdf-n-quads",
        "rdf/rdf12/rdf-n-quads/syntax",
        "rdf/rdf12/rdf-n-quads/c14n",
    ]);
}

#[test]
fn turtle() {
    suite(&[
        "rdf/rdf11/rdf-turtle",
        "rdf/rdf12/rdf-turtle/syntax",
        "rdf/rdf12/rdf-turtle/eval",
    ]);
}

#[test]
fn trig() {
    suite(&[
        "rdf/rdf11/rdf-trig",
        "rdf/rdf12/rdf-trig/syntax",
        "rdf/rdf12/rdf-trig/eval",
    ]);
}

#[test]
fn rdf_xml() {
    suite(&["rdf/rdf11/rdf-xml", "rdf/rdf12/rdf-xml/eval"]);
}

/// The list of exclusions names nothing twice.
#[test]
fn exclusions_are_distinct() {
    let mut names: Vec<_> = EXCLUDED.iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), EXCLUDED.len());
}

/// A suite's type that nobody knows would pass as "no result to compare".
#[test]
fn canonical_form_tells_datasets_apart() {
    let quad = |object: &str| {
        Quad::new(
            NamedNodeRef::new_unchecked("http://s"),
            NamedNodeRef::new_unchecked("http://p"),
            Term::from(NamedNode::new_unchecked(object)),
            oxrdf::GraphName::DefaultGraph,
        )
    };
    let one: Dataset = [quad("http://a")].into_iter().collect();
    let other: Dataset = [quad("http://b")].into_iter().collect();
    assert_ne!(canonical(one), canonical(other));
}
