//! The W3C's query tests for SPARQL 1.0, 1.1 and 1.2: evaluation and syntax, found through `W3C_RDF_TESTS` (the folder that
//! holds `rdf/` and `sparql/`). A test that needs something that this engine does not do yet is counted as excluded under the
//! feature's name; an answer that differs from the expected one, blank nodes up to renaming, is a failure.

#[path = "w3c_suites/manifest.rs"]
mod manifest;
#[path = "w3c_suites/results.rs"]
mod results;
#[path = "w3c_suites/services.rs"]
mod services;

use manifest::{Test, read_manifest};
use oxrdf::NamedNode;
use quadrille_sparql::{PreparedQuery, Query, QueryError, QueryResults};
use quadrille_store::Store;
use results::{Answer, expected, has_extension, load};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// Manifests of the query language and its result formats; update, protocol and entailment belong elsewhere.
const SUITES: [(&str, &[&str]); 3] = [
    ("sparql10", &["sparql/sparql10/manifest.ttl"]),
    (
        "sparql11",
        &[
            "sparql/sparql11/manifest-sparql11-query.ttl",
            "sparql/sparql11/manifest-sparql11-results.ttl",
            "sparql/sparql11/manifest-sparql11-fed.ttl",
        ],
    ),
    ("sparql12", &["sparql/sparql12/manifest.ttl"]),
];

/// Tests that are known to fail, with the reason.
const EXCEPTIONS: [(&str, &str); 6] = [
    (
        "expr-builtin/case-insensitive booleans",
        "the parser takes TRUE and FALSE in lower case only (section 19.8 has keywords in any case)",
    ),
    (
        "syntax-sparql3/syn-bad-26.rq",
        "the parser takes <?a&&?b> for operators, not for the longest token, an IRI (section 19.8)",
    ),
    (
        "grouping/Reuse of SELECT variable in an aggregating query",
        "the parser does not take a selected variable in a later expression of an aggregating query (section 18.2.4.4)",
    ),
    (
        "syntax/Nested aggregate functions",
        "the parser takes an aggregate in an aggregate (a note of section 19.8 forbids it)",
    ),
    (
        "syntax-triple-terms-negative/Triple term in the subject position  of a triple term (expression)",
        "the parser makes the function TRIPLE of a triple term in an expression, and its subject may be anything (section 19.8, ExprTripleTermSubject)",
    ),
    (
        "syntax-triple-terms-negative/Literal in the subject position of a triple term (expression)",
        "the parser makes the function TRIPLE of a triple term in an expression, and its subject may be anything (section 19.8, ExprTripleTermSubject)",
    ),
];

enum Outcome {
    Passed,
    Failed(String),
    Excluded(String),
}

#[test]
fn w3c_query_tests() {
    let say = |text: &str| {
        // Not through `eprintln`, which the test harness captures.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    };
    let Some(root) = std::env::var_os("W3C_RDF_TESTS") else {
        say("W3C query tests skipped: W3C_RDF_TESTS is not set\n");
        return;
    };
    let root = Path::new(&root);
    let mut failures = String::new();
    for (suite, manifests) in SUITES {
        let (mut passed, mut failed) = (0, 0);
        let mut excluded: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for manifest in manifests {
            let mut tests = Vec::new();
            read_manifest(root, manifest, &mut tests);
            assert!(!tests.is_empty(), "{manifest} has no tests");
            for test in tests {
                match run(root, &test) {
                    Outcome::Passed => passed += 1,
                    Outcome::Failed(reason) => {
                        failed += 1;
                        writeln!(failures, "{suite} {}: {reason}", test.name).unwrap();
                    }
                    Outcome::Excluded(feature) => {
                        excluded.entry(feature).or_default().push(test.name);
                    }
                }
            }
        }
        let count: usize = excluded.values().map(Vec::len).sum();
        let mut report =
            format!("W3C {suite}: {passed} passed, {failed} failed, {count} excluded\n");
        for (feature, names) in &excluded {
            writeln!(
                report,
                "  {} for {feature}: {}",
                names.len(),
                names.join(", ")
            )
            .unwrap();
        }
        say(&report);
    }
    assert!(failures.is_empty(), "{failures}");
}

fn run(root: &Path, test: &Test) -> Outcome {
    if let Some((_, reason)) = EXCEPTIONS.iter().find(|(name, _)| *name == test.name) {
        return Outcome::Excluded((*reason).to_owned());
    }
    match test.kind.as_str() {
        "QueryEvaluationTest" | "CSVResultFormatTest" => evaluate(root, test),
        "PositiveSyntaxTest" | "PositiveSyntaxTest11" => match parse(root, test) {
            Ok(_) | Err(QueryError::Unsupported { .. } | QueryError::Unregistered { .. }) => {
                Outcome::Passed
            }
            Err(error) => Outcome::Failed(error.to_string()),
        },
        "NegativeSyntaxTest" | "NegativeSyntaxTest11" => match parse(root, test) {
            Err(QueryError::Syntax(_)) => Outcome::Passed,
            Err(QueryError::Unsupported { feature }) => Outcome::Excluded(feature),
            Err(error) => Outcome::Failed(format!("not a syntax error: {error}")),
            Ok(_) => Outcome::Failed("was parsed".to_owned()),
        },
        kind => Outcome::Excluded(format!("tests of kind {kind}")),
    }
}

fn parse(root: &Path, test: &Test) -> quadrille_sparql::Result<PreparedQuery> {
    let text = manifest::read(root, &test.query);
    // Some negative tests are not even UTF-8; they are read with replacements, which are no syntax either.
    Query::parse(&String::from_utf8_lossy(&text), Some(&test.query))
}

fn evaluate(root: &Path, test: &Test) -> Outcome {
    let store = Store::in_memory();
    for (file, graph) in &test.data {
        if let Err(reason) = load(root, &store, file, graph.as_deref()) {
            return Outcome::Excluded(format!("data that cannot be read: {reason}"));
        }
    }
    let query = match parse(root, test) {
        Ok(query) => query,
        Err(QueryError::Unsupported { feature }) => return Outcome::Excluded(feature),
        Err(error) => return Outcome::Failed(error.to_string()),
    };
    if test.data.is_empty()
        && let Err(reason) = load_named(root, &store, &query)
    {
        return Outcome::Excluded(format!("data that cannot be read: {reason}"));
    }
    let Some(result) = &test.result else {
        return Outcome::Excluded("no expected result".to_owned());
    };
    let expected = match expected(root, result) {
        Ok(expected) => expected,
        Err(reason) => return Outcome::Excluded(format!("a result that cannot be read: {reason}")),
    };
    let options = match services::options(root, test) {
        Ok(options) => options,
        Err(reason) => return Outcome::Excluded(format!("data that cannot be read: {reason}")),
    };
    let variables: Vec<String> = query
        .variables()
        .iter()
        .map(|variable| variable.as_str().to_owned())
        .collect();
    let snapshot = store.snapshot();
    let answer = query
        .execute(&snapshot, &options)
        .and_then(|results| Answer::of(results, variables, has_extension(result, "csv")));
    match answer {
        Ok(answer) => match answer.difference(&expected, test.is_lax) {
            None => Outcome::Passed,
            Some(difference) => Outcome::Failed(difference),
        },
        Err(QueryError::Unsupported { feature }) => Outcome::Excluded(feature),
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

/// Loads the documents that a query's FROM and FROM NAMED name, where the test has no data of its own: each is the graph that
/// is called as it is.
fn load_named(root: &Path, store: &Store, query: &PreparedQuery) -> Result<(), String> {
    let Some(dataset) = query.dataset() else {
        return Ok(());
    };
    let mut names: Vec<&str> = dataset
        .default
        .iter()
        .chain(dataset.named.iter().flatten())
        .map(NamedNode::as_str)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .try_for_each(|name| load(root, store, name, Some(name)))
}

impl Answer {
    fn of(
        results: QueryResults,
        variables: Vec<String>,
        as_text: bool,
    ) -> quadrille_sparql::Result<Self> {
        Ok(match results {
            QueryResults::Boolean(value) => Self::Boolean(value),
            QueryResults::Graph(triples) => {
                let triples: Vec<_> = triples.collect::<quadrille_sparql::Result<_>>()?;
                Self::Graph(results::rows_of_graph(triples))
            }
            QueryResults::Solutions(solutions) => {
                let mut rows = Vec::new();
                for solution in solutions {
                    let solution = solution?;
                    rows.push(
                        solution
                            .iter()
                            .map(|(variable, term)| (variable.as_str().to_owned(), term.clone()))
                            .collect(),
                    );
                }
                Self::Solutions {
                    variables,
                    rows: results::normalised(rows, as_text),
                    is_ordered: false,
                }
            }
        })
    }
}
