//! Operators that outgrow their memory: sorts, DISTINCT, GROUP BY and joins of whole groups, with budgets so small that all of
//! them spill, against the oracle and against themselves without a limit.

mod common;

use common::{Random, dataset, oracle_rows, store, try_rows};
use quadrille_sparql::{PlannerOptions, Query, QueryError, QueryOptions, QueryResults};
use quadrille_store::io::Storage;
use quadrille_store::io::faulty::FaultyStorage;
use quadrille_store::{Mode, Snapshot, Store};
use std::fmt::Write;
use std::sync::Arc;

/// People who know others, have names (some two, some none), ages of several types and teams of very different sizes.
fn people(count: u64, seed: u64) -> String {
    const INTEGER: &str = "http://www.w3.org/2001/XMLSchema#integer";
    const DECIMAL: &str = "http://www.w3.org/2001/XMLSchema#decimal";
    let mut random = Random(seed);
    let mut text = String::new();
    for person in 0..count {
        for _ in 0..random.below(4) {
            let other = random.next() % count;
            writeln!(text, "<e:{person}> <e:knows> <e:{other}> .").unwrap();
        }
        for _ in 0..random.below(3) {
            let name = random.next() % (count / 2);
            let language = ["", "@en", "@de"][random.below(3)];
            writeln!(text, "<e:{person}> <e:name> \"name {name}\"{language} .").unwrap();
        }
        let age = random.below(90);
        match random.below(3) {
            0 => writeln!(text, "<e:{person}> <e:age> \"{age}\"^^<{INTEGER}> ."),
            1 => writeln!(text, "<e:{person}> <e:age> \"{age}.5\"^^<{DECIMAL}> ."),
            _ => writeln!(text, "<e:{person}> <e:age> \"0{age}\"^^<{INTEGER}> ."),
        }
        .unwrap();
        // Half of all are in one team.
        let team = if random.one_in(2) {
            0
        } else {
            random.next() % 40
        };
        writeln!(text, "<e:{person}> <e:team> <e:team{team}> .").unwrap();
    }
    text
}

/// Queries, and whether the sequence of their rows is determined by the query and the sequence of the input.
const QUERIES: [(&str, bool); 19] = [
    // Sorts: by values of several types, with ties, descending, of expressions, and the first rows.
    ("SELECT ?a ?n { ?a <e:age> ?n } ORDER BY DESC(?n) ?a", true),
    ("SELECT ?a ?n { ?a <e:name> ?n } ORDER BY ?n ?a", true),
    (
        "SELECT ?a ?b ?n { ?a <e:knows> ?b OPTIONAL { ?b <e:name> ?n } } ORDER BY ?n DESC(?a) ?b",
        true,
    ),
    (
        "SELECT ?a ?n { ?a <e:age> ?n } ORDER BY DESC(?n) ?a LIMIT 700 OFFSET 30",
        true,
    ),
    // DISTINCT of one column and of several, and of sorted rows.
    ("SELECT DISTINCT ?n { ?a <e:name> ?n }", false),
    (
        "SELECT DISTINCT ?n ?t { ?a <e:name> ?n . ?a <e:team> ?t }",
        false,
    ),
    (
        "SELECT DISTINCT ?b ?n { ?a <e:knows> ?b . ?b <e:name> ?n } ORDER BY DESC(?n) ?b",
        true,
    ),
    // Groups: many, few and one; values that count once.
    (
        "SELECT ?b (COUNT(*) AS ?c) (SUM(?n) AS ?s) { ?a <e:knows> ?b . ?a <e:age> ?n } GROUP BY ?b",
        false,
    ),
    (
        "SELECT ?t (COUNT(DISTINCT ?b) AS ?c) (SUM(DISTINCT ?l) AS ?s) \
         { ?a <e:team> ?t . ?a <e:knows> ?b . ?b <e:name> ?n BIND(STRLEN(?n) AS ?l) } GROUP BY ?t",
        false,
    ),
    (
        "SELECT (COUNT(DISTINCT ?n) AS ?c) (COUNT(DISTINCT *) AS ?d) { ?a <e:knows> ?b . ?b <e:name> ?n }",
        false,
    ),
    (
        "SELECT ?a (COUNT(DISTINCT *) AS ?d) { ?a <e:knows> ?b . ?b <e:team> ?t } GROUP BY ?a",
        false,
    ),
    // Joins of whole groups: inner, optional, minus, with conditions, with columns that may be unbound.
    (
        "SELECT * { { SELECT ?b (COUNT(*) AS ?c) { ?a <e:knows> ?b } GROUP BY ?b } \
         { SELECT ?b (COUNT(*) AS ?d) { ?b <e:name> ?n } GROUP BY ?b } }",
        false,
    ),
    (
        "SELECT * { { SELECT DISTINCT ?a ?b { ?a <e:knows> ?b } } \
         OPTIONAL { { SELECT ?b (COUNT(*) AS ?d) { ?b <e:name> ?n } GROUP BY ?b } FILTER(?d > 1 && ?b != ?a) } }",
        false,
    ),
    (
        "SELECT * { ?a <e:knows> ?b MINUS { SELECT DISTINCT ?b { ?b <e:name> ?n . ?b <e:knows> ?c } } }",
        false,
    ),
    (
        "SELECT * { { SELECT ?a ?n { ?a <e:team> <e:team1> OPTIONAL { ?a <e:name> ?n } } } \
         { SELECT ?b ?n { ?b <e:team> <e:team2> OPTIONAL { ?b <e:name> ?n } } } }",
        false,
    ),
    (
        "SELECT * { { SELECT ?a ?n { ?a <e:team> <e:team1> OPTIONAL { ?a <e:name> ?n } } } \
         OPTIONAL { { SELECT ?b ?n { ?b <e:team> <e:team2> OPTIONAL { ?b <e:name> ?n } } } FILTER(?a != ?b) } }",
        false,
    ),
    (
        "SELECT * { { SELECT ?a ?n { ?a <e:team> <e:team1> OPTIONAL { ?a <e:name> ?n } } } \
         MINUS { SELECT ?b ?n { ?b <e:team> <e:team2> OPTIONAL { ?b <e:name> ?n } } } }",
        false,
    ),
    // A key that half of the rows have.
    (
        "SELECT ?t (COUNT(*) AS ?c) { { SELECT DISTINCT ?a ?t { ?a <e:team> ?t } } \
         { SELECT DISTINCT ?b ?t { ?b <e:team> ?t . ?b <e:knows> ?c } } } GROUP BY ?t",
        false,
    ),
    (
        "SELECT ?a { ?a <e:team> ?t FILTER NOT EXISTS { { ?a <e:knows> ?b } UNION { ?b <e:knows> ?a } } }",
        false,
    ),
];

fn options(memory: u64, batch_rows: usize) -> QueryOptions {
    QueryOptions {
        memory: Some(memory),
        batch_rows,
        ..QueryOptions::default()
    }
}

/// The rows, in the engine's sequence, and what was written to temporary files.
fn run(snapshot: &Snapshot, query: &str, options: &QueryOptions) -> (Vec<String>, u64) {
    let results = Query::parse(query, None)
        .expect("a query")
        .execute(snapshot, options)
        .unwrap_or_else(|error| panic!("{query}: {error}"));
    let QueryResults::Solutions(mut solutions) = results else {
        panic!("a SELECT");
    };
    let mut rows = Vec::new();
    for solution in &mut solutions {
        let solution = solution.unwrap_or_else(|error| panic!("{query}: {error}\n{options:?}"));
        rows.push(format!("{:?}", solution.values()));
    }
    (rows, solutions.usage().spilled_bytes)
}

#[test]
fn tiny_memory_changes_no_answer() {
    for (seed, count, memories) in [
        (1, 300, &[1 << 10, 16 << 10][..]),
        (2, 1_000, &[16 << 10][..]),
    ] {
        let store = store(&people(count, seed));
        let snapshot = store.snapshot();
        let dataset = dataset(&snapshot);
        let mut unspilled = Vec::new();
        for (query, has_sequence) in QUERIES {
            let (unlimited, spilled) = run(&snapshot, query, &options(u64::MAX, 1024));
            assert_eq!(spilled, 0, "{query}");
            let mut sorted = try_rows(&snapshot, query, &options(u64::MAX, 1024)).expect("rows");
            sorted.sort();
            let expected = oracle_rows(&dataset, query);
            if let Some(row) = (0..sorted.len().max(expected.len()))
                .find(|row| sorted.get(*row) != expected.get(*row))
            {
                let (ours, theirs) = (sorted.get(row), expected.get(row));
                panic!("{query}: {ours:?} instead of {theirs:?}");
            }
            let mut has_spilled = false;
            for memory in memories {
                for batch_rows in [1, 7, 1024] {
                    let mut options = options(*memory, batch_rows);
                    // Joins that keep no rows are switched off now and then.
                    options.planner.lookup_joins = batch_rows != 7;
                    options.planner.merge_joins = batch_rows != 7;
                    // And scans are divided among threads.
                    options.threads = if batch_rows == 7 { 3 } else { 1 };
                    options.planner.parallel_rows = 1;
                    let (mut rows, spilled) = run(&snapshot, query, &options);
                    has_spilled |= spilled > 0;
                    let mut expected = unlimited.clone();
                    if !has_sequence {
                        rows.sort();
                        expected.sort();
                    }
                    assert!(
                        rows == expected,
                        "{query}: {} rows, not {}; memory {memory}, batches of {batch_rows}, seed {seed}",
                        rows.len(),
                        expected.len()
                    );
                }
            }
            if !has_spilled {
                unspilled.push(query);
            }
        }
        assert!(
            unspilled.len() <= 3,
            "what did not spill, seed {seed}: {unspilled:#?}"
        );
    }
}

#[test]
fn a_hash_join_of_patterns_keeps_the_sequence() {
    let store = store(&people(600, 5));
    let snapshot = store.snapshot();
    let dataset = dataset(&snapshot);
    // The first join is sorted by ?a, and the second one merges with that.
    let query = "SELECT ?a ?b ?c ?n { ?a <e:knows> ?b . ?b <e:knows> ?c . ?a <e:name> ?n }";
    let expected = oracle_rows(&dataset, query);
    let mut spilled_runs = 0;
    for order in [[0, 1, 2], [1, 0, 2], [2, 0, 1]] {
        for (merge_joins, lookup_joins) in [(true, false), (false, false)] {
            for (memory, batch_rows) in [(1 << 10, 1), (4 << 10, 100), (16 << 10, 1024)] {
                let options = QueryOptions {
                    planner: PlannerOptions {
                        merge_joins,
                        lookup_joins,
                        hash_joins: true,
                        forced_order: Some(order.to_vec()),
                        ..PlannerOptions::default()
                    },
                    ..options(memory, batch_rows)
                };
                let mut rows = try_rows(&snapshot, query, &options).expect("rows");
                rows.sort();
                assert!(rows == expected, "{options:?}");
                spilled_runs += usize::from(run(&snapshot, query, &options).1 > 0);
            }
        }
    }
    assert!(spilled_runs >= 6, "only {spilled_runs} spilled");
}

#[test]
fn computed_terms_that_exceed_the_memory_end_the_query() {
    let store = store(&people(500, 3));
    let snapshot = store.snapshot();
    for query in [
        "SELECT (CONCAT(STR(?a), \" and a text\") AS ?t) { ?a <e:age> ?n }",
        "SELECT (GROUP_CONCAT(?n) AS ?t) { ?a <e:name> ?n }",
    ] {
        let failed = try_rows(&snapshot, query, &options(4 << 10, 1024));
        assert!(
            matches!(failed, Err(QueryError::Memory { limit: 4096 })),
            "{query}"
        );
        try_rows(&snapshot, query, &options(1 << 20, 1024)).expect("rows");
    }
}

#[test]
fn temporary_files_lie_in_a_store_that_is_open_for_writing() {
    const QUERY: &str = "SELECT ?a ?n { ?a <e:age> ?n } ORDER BY DESC(?n) ?a";
    let storage = FaultyStorage::new();
    let store = Store::with_storage(Arc::new(storage.clone()), Mode::Create).expect("a store");
    common::add(&store, &people(500, 4));
    let before = storage.list("").expect("names");
    let expected = run(&store.snapshot(), QUERY, &options(u64::MAX, 1024)).0;
    let operations = storage.operations().len();
    let (rows, spilled) = run(&store.snapshot(), QUERY, &options(8 << 10, 100));
    assert_eq!(rows, expected);
    assert!(spilled > 0 && storage.operations().len() > operations);
    assert_eq!(storage.list("").expect("names"), before, "files are left");

    // A full disk is an error, and leaves nothing.
    storage.limit_space(4 << 10);
    let failed = try_rows(&store.snapshot(), QUERY, &options(8 << 10, 100));
    let Err(error @ QueryError::Store(_)) = failed else {
        panic!("the disk is full: {failed:?}");
    };
    let message = error.to_string();
    assert!(message.contains("No space left"), "{message}");
    storage.heal();
    assert_eq!(storage.list("").expect("names"), before, "files are left");

    // So is a limit of the query.
    let limited = QueryOptions {
        temporary_bytes: Some(4 << 10),
        ..options(8 << 10, 100)
    };
    assert!(matches!(
        try_rows(&store.snapshot(), QUERY, &limited),
        Err(QueryError::TemporarySpace { limit: 4096 })
    ));
    assert_eq!(storage.list("").expect("names"), before, "files are left");
}

#[test]
fn a_directory_for_temporary_files_is_used() {
    let store = store(&people(500, 4));
    let missing = QueryOptions {
        temporary_directory: Some("/missing/directory".into()),
        ..options(8 << 10, 100)
    };
    let query = "SELECT ?a ?n { ?a <e:age> ?n } ORDER BY ?n";
    let failed = try_rows(&store.snapshot(), query, &missing);
    assert!(
        failed.is_err_and(|error| error.to_string().contains("/missing/directory")),
        "the directory is not there"
    );
}

#[test]
fn more_rows_than_allowed_are_an_error() {
    let store = store(&people(300, 6));
    let snapshot = store.snapshot();
    let query = "SELECT ?a { ?a <e:age> ?n }";
    for batch_rows in [1, 7, 1024] {
        let with_rows = |rows| QueryOptions {
            rows: Some(rows),
            ..options(u64::MAX, batch_rows)
        };
        assert_eq!(
            try_rows(&snapshot, query, &with_rows(300))
                .expect("rows")
                .len(),
            300
        );
        assert!(matches!(
            try_rows(&snapshot, query, &with_rows(299)),
            Err(QueryError::Rows { limit: 299 })
        ));
    }
}
