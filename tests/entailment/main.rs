//! The W3C's entailment tests: rdf-mt of RDF 1.1 (what a graph entails), and the entailment tests of SPARQL 1.1 (what
//! queries answer under entailment), as far as the profiles' rules cover them. What is left out is listed with a reason; a
//! test on that list that passes fails the suite, so that the list says no more than is true.
//!
//! They are found through `W3C_RDF_TESTS`; without it the tests say that they were skipped.

mod exclusions;

use exclusions::{GRAPHS, QUERIES};
use oxrdf::{NamedNodeRef, NamedOrBlankNode, Quad, Term};
use oxrdfio::{RdfFormat, RdfParser};
use quadrille::Store;
use quadrille::reason::{InferOptions, Profile, infer};
use quadrille::sparql::{Query, QueryOptions, QueryResults, ResultFormat};
use sparesults::{QueryResultsFormat, QueryResultsParser, SliceQueryResultsParserOutput};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const MF: &str = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#";
const QT: &str = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#";
const SD: &str = "http://www.w3.org/ns/sparql-service-description#";
const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";

fn suite(path: &str) -> Option<Manifest> {
    let Some(root) = std::env::var_os("W3C_RDF_TESTS") else {
        eprintln!("skipped: W3C_RDF_TESTS is not set");
        return None;
    };
    let directory = PathBuf::from(root).join(path);
    let quads = read(&directory.join("manifest.ttl"));
    Some(Manifest { directory, quads })
}

fn read(path: &Path) -> Vec<Quad> {
    let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let extension = path.extension().and_then(|extension| extension.to_str());
    let format = extension
        .and_then(RdfFormat::from_extension)
        .expect("a syntax");
    let parser = RdfParser::from_format(format)
        .with_base_iri(base(path))
        .expect("a base")
        .for_slice(&text);
    parser
        .collect::<Result<_, _>>()
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn base(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// The triples of a manifest.
struct Manifest {
    directory: PathBuf,
    quads: Vec<Quad>,
}

impl Manifest {
    fn objects(&self, subject: &Term, namespace: &str, name: &str) -> Vec<Term> {
        let predicate = format!("{namespace}{name}");
        let predicate = NamedNodeRef::new_unchecked(&predicate);
        let is_asked = |quad: &&Quad| {
            quad.predicate.as_ref() == predicate && Term::from(quad.subject.clone()) == *subject
        };
        self.quads
            .iter()
            .filter(is_asked)
            .map(|quad| quad.object.clone())
            .collect()
    }

    fn object(&self, subject: &Term, namespace: &str, name: &str) -> Option<Term> {
        self.objects(subject, namespace, name).pop()
    }

    /// The tests of a class, with their names.
    fn tests(&self, class: &str) -> Vec<(Term, String)> {
        let class = format!("{MF}{class}");
        let is_test = |quad: &&Quad| {
            quad.predicate.as_str() == format!("{RDF}type")
                && matches!(&quad.object, Term::NamedNode(node) if node.as_str() == class)
        };
        let tests = self.quads.iter().filter(is_test).map(|quad| {
            let NamedOrBlankNode::NamedNode(node) = &quad.subject else {
                panic!("a test without a name");
            };
            let name = node.as_str().rsplit('#').next().expect("a part").to_owned();
            (Term::from(node.clone()), name)
        });
        tests.collect()
    }

    /// The file of a `file:` IRI.
    fn file(term: &Term) -> PathBuf {
        let Term::NamedNode(node) = term else {
            panic!("{term} is no file");
        };
        let path = node.as_str().strip_prefix("file://");
        PathBuf::from(path.unwrap_or_else(|| panic!("{term} is no file")))
    }

    /// The members of a list, or the one value that is none.
    fn list(&self, term: &Term) -> Vec<String> {
        let mut members = Vec::new();
        let mut node = term.clone();
        while let Some(first) = self.object(&node, RDF, "first") {
            members.push(first.to_string());
            node = self.object(&node, RDF, "rest").expect("a list goes on");
        }
        if members.is_empty() {
            members.push(term.to_string());
        }
        members
    }
}

fn closed(data: Vec<Quad>, profile: Profile) -> Store {
    let store = Store::in_memory();
    store.insert_quads(data).expect("memory");
    infer(&store, &InferOptions::new(profile)).expect("memory");
    let report = store.verify();
    assert!(report.is_sound(), "{:?}", report.problems);
    store
}

/// Whether a graph follows: its blank nodes are variables.
fn entails(store: &Store, graph: &[Quad]) -> bool {
    let mut pattern = String::new();
    for quad in graph {
        writeln!(
            pattern,
            "{} {} {} .",
            quad.subject, quad.predicate, quad.object
        )
        .expect("a string");
    }
    let query = Query::parse(&format!("ASK {{ {pattern} }}"), None).expect("it is a query");
    let results = query.execute(&store.snapshot(), &QueryOptions::default());
    match results.expect("memory") {
        QueryResults::Boolean(answer) => answer,
        _ => unreachable!("an ASK is true or false"),
    }
}

/// Compares what failed with what is expected to.
fn check(failed: &BTreeSet<String>, excluded: &[(&str, &str)]) {
    let excluded: BTreeSet<String> = excluded
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    let wrong: Vec<_> = failed.difference(&excluded).collect();
    let passing: Vec<_> = excluded.difference(failed).collect();
    assert!(
        wrong.is_empty() && passing.is_empty(),
        "failed: {wrong:#?}; on the list of exclusions, but passed: {passing:#?}"
    );
}

#[test]
fn graphs() {
    let Some(manifest) = suite("rdf/rdf11/rdf-mt") else {
        return;
    };
    let mut failed = BTreeSet::new();
    let mut count = 0;
    for (class, expected) in [
        ("PositiveEntailmentTest", true),
        ("NegativeEntailmentTest", false),
    ] {
        for (test, name) in manifest.tests(class) {
            count += 1;
            let action = manifest
                .object(&test, MF, "action")
                .expect("every test has one");
            let result = manifest
                .object(&test, MF, "result")
                .expect("every test has one");
            let regime = manifest
                .object(&test, MF, "entailmentRegime")
                .expect("every test has one");
            let profile = match regime.to_string().as_str() {
                "\"RDFS\"" => Profile::Rdfs,
                _ => Profile::None,
            };
            let store = closed(read(&Manifest::file(&action)), profile);
            // `false` instead of a graph: whether the data is inconsistent. No rule of these profiles says so.
            let found = matches!(result, Term::NamedNode(_))
                && entails(&store, &read(&Manifest::file(&result)));
            if found != expected {
                failed.insert(name);
            }
        }
    }
    assert!(count > 40, "only {count} tests");
    check(&failed, GRAPHS);
}

/// Rows as text, sorted, without the names of blank nodes.
fn rows(text: &[u8], format: QueryResultsFormat) -> Vec<Vec<String>> {
    let parsed = QueryResultsParser::from_format(format)
        .for_slice(text)
        .expect("results");
    match parsed {
        SliceQueryResultsParserOutput::Boolean(answer) => vec![vec![answer.to_string()]],
        SliceQueryResultsParserOutput::Solutions(solutions) => {
            let mut rows: Vec<Vec<String>> = solutions
                .map(|solution| {
                    let solution = solution.expect("a row");
                    let mut row: Vec<String> = solution
                        .iter()
                        .map(|(variable, term)| match term {
                            Term::BlankNode(_) => format!("{variable} _:"),
                            term => format!("{variable} {term}"),
                        })
                        .collect();
                    row.sort();
                    row
                })
                .collect();
            rows.sort();
            rows
        }
    }
}

#[test]
fn queries() {
    let Some(manifest) = suite("sparql/sparql11/entailment") else {
        return;
    };
    let mut failed = BTreeSet::new();
    let mut count = 0;
    for (test, name) in manifest.tests("QueryEvaluationTest") {
        count += 1;
        let action = manifest
            .object(&test, MF, "action")
            .expect("every test has one");
        let result = manifest
            .object(&test, MF, "result")
            .expect("every test has one");
        let regime = manifest
            .object(&action, SD, "entailmentRegime")
            .expect("every test has one");
        let regimes = manifest.list(&regime).concat();
        let profile = if regimes.contains("RDFS") {
            Profile::Rdfs
        } else if regimes.contains("OWL") {
            // The most that is inferred.
            Profile::OwlSameAs
        } else {
            Profile::None
        };
        let passes = || {
            let data = manifest.object(&action, QT, "data")?;
            let store = closed(read(&Manifest::file(&data)), profile);
            let path = Manifest::file(&manifest.object(&action, QT, "query")?);
            let query = Query::parse(&fs::read_to_string(&path).ok()?, Some(&base(&path))).ok()?;
            let results = query
                .execute(&store.snapshot(), &QueryOptions::default())
                .ok()?;
            let mut found = Vec::new();
            results.write(ResultFormat::Json, &mut found).ok()?;
            let path = Manifest::file(&result);
            let extension = path.extension()?.to_str()?;
            let expected = rows(
                &fs::read(&path).ok()?,
                QueryResultsFormat::from_extension(extension)?,
            );
            Some(rows(&found, QueryResultsFormat::Json) == expected)
        };
        if passes() != Some(true) {
            failed.insert(name);
        }
    }
    assert!(count >= 70, "only {count} tests");
    assert!(manifest.directory.is_dir());
    check(&failed, QUERIES);
}
