//! COUNT, GROUP BY and DISTINCT that the index answers, and joins with a UNION branch by branch: compared with the plain
//! way and with `spareval`, over one layer and several, over runs of a key that are shorter and longer than what is
//! read of them at a time.

mod common;

use common::queries::random_store;
use common::{Random, add, dataset, oracle_rows, rows};
use quadrille_sparql::{PlannerOptions, Query, QueryOptions};
use quadrille_store::Snapshot;
use std::fmt::Write;

const QUERIES: [&str; 18] = [
    "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }",
    "SELECT (COUNT(?s) AS ?n) (COUNT(*) AS ?m) { ?s <e:p> ?o }",
    "SELECT (COUNT(*) AS ?n) { ?s <e:p> <e:a> }",
    "SELECT (COUNT(*) AS ?n) { ?s <e:p> ?s }",
    "SELECT (COUNT(DISTINCT ?s) AS ?n) (COUNT(?o) AS ?m) { ?s <e:p> ?o }",
    "SELECT (COUNT(DISTINCT ?o) AS ?n) { ?s <e:q> ?o }",
    "SELECT (COUNT(DISTINCT ?p) AS ?n) { ?s ?p ?o }",
    "SELECT (COUNT(*) AS ?n) { ?s <e:p> ?o . ?s <e:q> ?x }",
    "SELECT (COUNT(*) AS ?n) { ?s <e:p> ?o . ?s <e:q> ?x . ?s ?r ?y }",
    "SELECT (COUNT(*) AS ?n) { ?s <e:p> ?o . ?x <e:q> ?o . ?o ?r ?y }",
    "SELECT (COUNT(*) AS ?n) { ?s <e:p> ?o . ?s <e:q> ?o }",
    "SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p",
    "SELECT ?o (COUNT(?s) AS ?n) (COUNT(*) AS ?m) { ?s <e:p> ?o } GROUP BY ?o",
    "SELECT ?s (COUNT(*) AS ?n) { ?s <e:p> ?o . ?s <e:q> ?x } GROUP BY ?s HAVING(COUNT(*) > 1)",
    "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g",
    "SELECT (COUNT(*) AS ?n) (COUNT(DISTINCT ?s) AS ?m) { GRAPH ?g { ?s <e:p> ?o } }",
    "SELECT DISTINCT ?s { ?s <e:p> ?o . ?s <e:q> ?x }",
    "SELECT DISTINCT ?p { GRAPH ?g { ?s ?p ?o } }",
];

const UNIONS: [&str; 4] = [
    "SELECT * { ?s <e:p> <e:a> { ?s <e:q> ?o } UNION { ?s <e:r> ?o } }",
    "SELECT ?s ?x { { ?s <e:q> ?o } UNION { ?x <e:r> ?s FILTER(?x != <e:b>) } ?s <e:p> ?y }",
    "SELECT ?y { { ?s <e:q> ?o } UNION { ?x <e:r> ?s } UNION { } ?s <e:p> ?y }",
    "SELECT (COUNT(*) AS ?n) { GRAPH <e:g> { ?s <e:p> ?y } { ?s <e:q> ?o } UNION { ?z <e:r> ?w } }",
];

fn check(snapshot: &Snapshot, context: &str) {
    let dataset = dataset(snapshot);
    for query in QUERIES.iter().chain(&UNIONS) {
        let expected = oracle_rows(&dataset, query);
        for is_on in [true, false] {
            for batch_rows in [1, 3, 1024] {
                let options = QueryOptions {
                    batch_rows,
                    // Ranges of keys on several threads, however few the rows are.
                    threads: if batch_rows == 3 { 3 } else { 1 },
                    planner: PlannerOptions {
                        index_counts: is_on,
                        union_distribution: is_on,
                        parallel_rows: 0,
                        ..PlannerOptions::default()
                    },
                    ..QueryOptions::default()
                };
                assert_eq!(
                    rows(snapshot, query, &options),
                    expected,
                    "{context}: {query}, {options:?}"
                );
            }
        }
    }
}

#[test]
fn counts_agree_with_the_oracle_over_random_layers() {
    for seed in 1..=60 {
        let store = random_store(&mut Random(seed));
        check(&store.snapshot(), &format!("seed {seed}"));
    }
}

#[test]
fn counts_agree_with_the_oracle_over_long_and_short_runs() {
    let store = quadrille_store::Store::in_memory();
    let mut random = Random(7);
    for layer in 0..3 {
        let mut text = String::new();
        for (subject, length) in [3_000, 1, 15, 16, 17, 64, 65, 130, 1_024, 2]
            .iter()
            .enumerate()
        {
            for object in 0..*length {
                let object = object + layer * 700;
                writeln!(text, "<e:s{subject}> <e:p> <e:o{object}> .").unwrap();
                if random.one_in(3) {
                    writeln!(text, "<e:s{subject}> <e:q> <e:o{}> .", object % 5).unwrap();
                    writeln!(text, "<e:s{subject}> <e:p> <e:o{object}> <e:g{layer}> .").unwrap();
                }
            }
        }
        add(&store, &text);
    }
    let snapshot = store.snapshot();
    let dataset = dataset(&snapshot);
    // Not those whose joins have too many rows for the oracle.
    for query in QUERIES.iter().filter(|query| !query.contains("?r ?y")) {
        assert_eq!(
            rows(&snapshot, query, &QueryOptions::default()),
            oracle_rows(&dataset, query),
            "{query}"
        );
    }
}

#[test]
fn the_index_counts_where_it_can() {
    let store = common::store("<e:a> <e:p> <e:b> .\n<e:a> <e:q> <e:b> .");
    let plan = |query: &str| {
        Query::parse(query, None)
            .unwrap()
            .explain(&store.snapshot(), &QueryOptions::default())
            .unwrap()
    };
    assert!(plan("SELECT (COUNT(*) AS ?n) { ?s <e:p> ?o }").contains("PatternCount"));
    assert!(plan("SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p").contains("KeyCounts"));
    assert!(plan("SELECT DISTINCT ?p { ?s ?p ?o }").contains("KeyCounts"));
    for plain in [
        "SELECT (COUNT(*) AS ?n) { ?s <e:p> ?o FILTER(?o != <e:c>) }",
        "SELECT (COUNT(*) AS ?n) { ?s ?p ?s }",
        "SELECT (COUNT(DISTINCT *) AS ?n) { ?s <e:p> ?o }",
        "SELECT (SUM(?o) AS ?n) { ?s <e:p> ?o }",
    ] {
        assert!(!plan(plain).contains("Count "), "{plain}");
    }
}
