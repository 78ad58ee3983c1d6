//! Every kind of heavy query ends soon after it was cancelled, or its time is up.
//!
//! A machine may be busy with something else, so that each query has several tries: what is tested is that the engine looks often
//! enough, and one quick end shows that.

mod common;

use common::store;
use quadrille_sparql::{Batch, CancellationToken, Query, QueryError, QueryOptions, QueryResults};
use quadrille_store::{Snapshot, Store};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// How soon a query must end, at best of [`TRIES`].
const NOTICED: Duration = Duration::from_millis(50);
/// When it is cancelled.
const BEFORE: Duration = Duration::from_millis(20);
const TRIES: usize = 6;

/// Queries that take far longer than a test may, each heavy in another operator.
const QUERIES: [(&str, &str); 21] = [
    (
        "cross product",
        "SELECT (COUNT(*) AS ?c) { ?a <e:p> ?b . ?c <e:p> ?d . ?e <e:p> ?f }",
    ),
    (
        "sort",
        "SELECT * { ?a <e:p> ?b . ?c <e:p> ?d } ORDER BY ?d DESC(?b) ?a",
    ),
    (
        "first rows of a sort",
        "SELECT * { ?a <e:p> ?b . ?c <e:p> ?d } ORDER BY ?d DESC(?b) ?a LIMIT 50000",
    ),
    (
        "many groups",
        "SELECT ?a ?d (COUNT(*) AS ?n) { ?a <e:p> ?b . ?c <e:p> ?d } GROUP BY ?a ?d",
    ),
    (
        "values that count once",
        "SELECT (COUNT(DISTINCT *) AS ?n) { ?a <e:p> ?b . ?c <e:p> ?d }",
    ),
    (
        "texts put together",
        "SELECT ?b (GROUP_CONCAT(STR(?d)) AS ?n) { ?a <e:p> ?b . ?c <e:p> ?d } GROUP BY ?b",
    ),
    (
        "distinct rows",
        "SELECT DISTINCT ?a ?d { ?a <e:p> ?b . ?c <e:p> ?d . ?e <e:p> ?f }",
    ),
    (
        "distinct terms",
        "SELECT DISTINCT ?x { ?a <e:p> ?b . ?c <e:p> ?d BIND(CONCAT(STR(?a), STR(?c)) AS ?x) }",
    ),
    (
        "not exists",
        "SELECT ?a { ?a <e:p> ?b . ?c <e:p> ?d FILTER NOT EXISTS { { ?c <e:p> ?b } UNION { ?c <e:q> ?d } } \
         FILTER(?a = ?d) }",
    ),
    (
        "minus",
        "SELECT ?a { ?a <e:p> ?b . ?c <e:p> ?d MINUS { ?a <e:p> ?d . ?c <e:p> ?e } FILTER(?a = ?d) }",
    ),
    (
        "minus without common variables in some rows",
        "SELECT ?a { { SELECT * { ?a <e:p> ?b OPTIONAL { ?a <e:r> ?x } } } MINUS \
         { SELECT * { ?c <e:p> ?d OPTIONAL { ?c <e:r> ?x } } } }",
    ),
    (
        "optional with a condition",
        "SELECT * { { SELECT ?a ?b { ?a <e:p> ?b } } OPTIONAL { { SELECT ?c ?d { ?c <e:p> ?d } } \
         FILTER(STRLEN(STR(?a)) + STRLEN(STR(?c)) < 0) } }",
    ),
    (
        "a filter that nothing meets",
        "SELECT * { ?a <e:p> ?b . ?c <e:p> ?d FILTER(STRLEN(STR(?a)) + STRLEN(STR(?c)) < 0) }",
    ),
    (
        "regular expressions",
        "SELECT * { ?a <e:p> ?b . ?c <e:p> ?d FILTER(REGEX(CONCAT(STR(?a), STR(?d)), \"(a+)+[xyz]*b$\")) }",
    ),
    (
        "regular expressions with back-references",
        "SELECT * { ?a <e:p> ?b . ?c <e:p> ?d FILTER(REGEX(CONCAT(STR(?a), STR(?d)), \"(a|aa)+\\\\1+[xyz]b$\")) }",
    ),
    (
        "a join of groups",
        "SELECT * { { SELECT DISTINCT ?a ?b ?c { ?a <e:p> ?b . ?c <e:p> ?d } } \
         { SELECT DISTINCT ?a ?c { ?a <e:p> ?b . ?c <e:p> ?d } } }",
    ),
    (
        "paths from every node",
        "SELECT (COUNT(*) AS ?n) { ?a <e:p>+ ?b . ?b <e:p>* ?c . ?c <e:p>* ?d }",
    ),
    (
        "paths from the ends of others",
        "SELECT (COUNT(*) AS ?n) { ?x <e:p> ?a . ?a (<e:p>|^<e:p>)* ?b . ?b (<e:p>/<e:p>)* ?c . ?c <e:p>* ?d }",
    ),
    (
        "groups of joined groups",
        "SELECT ?a (COUNT(DISTINCT ?d) AS ?n) (SUM(?z) AS ?s) { ?a <e:p> ?b . ?c <e:p> ?d BIND(STRLEN(STR(?c)) AS ?z) } GROUP BY ?a",
    ),
    (
        "a cycle through a dense graph",
        "SELECT (COUNT(*) AS ?n) { ?a <e:d> ?b . ?b <e:d> ?c . ?c <e:d> ?d . ?d <e:d> ?e . ?e <e:d> ?a }",
    ),
    (
        "union",
        "SELECT (COUNT(*) AS ?n) { { ?a <e:p> ?b . ?c <e:p> ?d } UNION { ?c <e:p> ?b . ?a <e:p> ?d . ?f <e:p> ?g } }",
    ),
];

fn data() -> Store {
    let mut text = String::new();
    for number in 0..20_000_u64 {
        let other = number.wrapping_mul(0x9e37_79b9) % 20_000;
        writeln!(text, "<e:{number}> <e:p> <e:{other}> .").unwrap();
        writeln!(text, "<e:{}> <e:d> <e:{}> .", number % 141, number / 141).unwrap();
    }
    store(&text)
}

/// Runs a query to its end.
fn run(snapshot: &Snapshot, query: &str, options: &QueryOptions) -> quadrille_sparql::Result<()> {
    match Query::parse(query, None)?.execute(snapshot, options)? {
        QueryResults::Boolean(_) => {}
        QueryResults::Solutions(mut solutions) => {
            let mut batch = Batch::new(0);
            while solutions.next_batch(&mut batch)? > 0 {}
        }
        QueryResults::Graph(triples) => {
            for triple in triples {
                triple?;
            }
        }
    }
    Ok(())
}

/// The time from the cancellation to the end.
fn time_to_end(snapshot: &Snapshot, name: &str, query: &str, memory: u64) -> Duration {
    let token = CancellationToken::new();
    let options = QueryOptions {
        cancellation: Some(token.clone()),
        memory: Some(memory),
        ..QueryOptions::default()
    };
    std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            let result = run(snapshot, query, &options);
            (result, Instant::now())
        });
        std::thread::sleep(BEFORE);
        let cancelled = Instant::now();
        token.cancel();
        let (result, ended) = running.join().expect("no panic");
        assert!(
            matches!(result, Err(QueryError::Cancelled)),
            "{name}: {result:?}"
        );
        ended.saturating_duration_since(cancelled)
    })
}

#[test]
fn every_operator_notices_a_cancellation() {
    let store = data();
    let snapshot = store.snapshot();
    let mut late = Vec::new();
    for (name, query) in QUERIES {
        for memory in [1 << 30, 256 << 10] {
            // Terms that are computed, and texts, end a query whose memory is small.
            if memory < 1 << 20 && matches!(name, "texts put together" | "distinct terms") {
                continue;
            }
            let mut times = Vec::new();
            while times.len() < TRIES && times.iter().all(|time| *time > NOTICED) {
                times.push(time_to_end(&snapshot, name, query, memory));
            }
            if times.iter().all(|time| *time > NOTICED) {
                late.push(format!("{name} with {memory} bytes: {times:?}"));
            }
        }
    }
    assert!(late.is_empty(), "{late:#?}");
}

#[test]
fn a_time_limit_ends_a_query() {
    let store = data();
    let options = QueryOptions {
        timeout: Some(BEFORE),
        ..QueryOptions::default()
    };
    for (name, query) in &QUERIES[..4] {
        let result = run(&store.snapshot(), query, &options);
        assert!(
            matches!(result, Err(QueryError::Timeout { limit: BEFORE })),
            "{name}: {result:?}"
        );
    }
}
