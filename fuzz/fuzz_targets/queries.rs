//! SPARQL: no text makes the engine panic, and an answer does not depend on how it is computed.
//!
//! ```text
//! cargo +nightly fuzz run queries
//! ```
//!
//! Comparisons with `spareval` are in the test suite, whose random runs `QUADRILLE_CASES` and `QUADRILLE_SEED` make longer:
//! `QUADRILLE_CASES=100000 cargo test --release -p quadrille-sparql differential`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oxrdf::{GraphName, Quad};
use oxttl::NQuadsParser;
use quadrille_sparql::{PlannerOptions, Query, QueryOptions, QueryResults};
use quadrille_store::{Snapshot, Store};
use std::sync::LazyLock;
use std::time::Duration;

const DATA: &str = r#"
<e:a> <e:p> <e:b> .
<e:b> <e:p> <e:c> .
<e:c> <e:p> <e:a> .
<e:a> <e:q> "one"@en .
<e:a> <e:q> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .
<e:b> <e:q> "2020-01-01"^^<http://www.w3.org/2001/XMLSchema#date> .
<e:b> <e:q> _:n .
_:n <e:r> <<( <e:a> <e:p> <e:b> )>> .
<e:a> <e:p> <e:b> <e:g> .
<e:c> <e:q> "x" <e:h> .
"#;

static SNAPSHOT: LazyLock<Snapshot> = LazyLock::new(|| {
    let store = Store::in_memory();
    let quads: Vec<Quad> = NQuadsParser::new()
        .for_slice(DATA)
        .map(|quad| quad.expect("the data is valid"))
        .collect();
    assert!(
        quads
            .iter()
            .any(|quad| quad.graph_name != GraphName::DefaultGraph)
    );
    store.insert_quads(quads).expect("memory");
    store.snapshot()
});

/// The rows as text, sorted; `None` where a limit or an error in the query ends it, or where they are random.
fn rows(query: &str, options: &QueryOptions) -> Option<Vec<String>> {
    match Query::parse(query, None)
        .ok()?
        .execute(&SNAPSHOT, options)
        .ok()?
    {
        QueryResults::Boolean(answer) => Some(vec![answer.to_string()]),
        QueryResults::Solutions(solutions) => {
            let mut rows = Vec::new();
            for solution in solutions {
                let solution = solution.ok()?;
                let terms = solution.iter().map(|(name, term)| format!("{name} {term}"));
                rows.push(terms.collect::<Vec<_>>().join(" | "));
            }
            rows.sort_unstable();
            Some(rows)
        }
        QueryResults::Graph(triples) => {
            // Blank nodes have other labels in each run.
            let mut count = 0;
            for triple in triples {
                triple.ok()?;
                count += 1;
            }
            Some(vec![format!("{count} triples")])
        }
    }
}

/// Whether running the query twice need not give the same.
fn is_random(query: &str) -> bool {
    let words = [
        "RAND",
        "UUID",
        "BNODE",
        "NOW",
        "SAMPLE",
        "GROUP_CONCAT",
        "LIMIT",
        "OFFSET",
    ];
    let upper = query.to_ascii_uppercase();
    words.iter().any(|word| upper.contains(word))
}

fuzz_target!(|query: &str| {
    let plain = QueryOptions {
        timeout: Some(Duration::from_secs(1)),
        rows: Some(10_000),
        threads: 1,
        ..QueryOptions::default()
    };
    let other = QueryOptions {
        batch_rows: 1,
        threads: 2,
        memory: Some(64 << 10),
        planner: PlannerOptions {
            merge_joins: false,
            leapfrog_joins: false,
            index_counts: false,
            union_distribution: false,
            parallel_rows: 1,
            ..PlannerOptions::default()
        },
        ..plain.clone()
    };
    let (plain, other) = (rows(query, &plain), rows(query, &other));
    if let (Some(plain), Some(other)) = (plain, other)
        && !is_random(query)
    {
        assert_eq!(plain, other);
    }
});
