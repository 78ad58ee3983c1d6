//! Operators that several threads work on together (groups, DISTINCT, hash joins, sorts), with few and many threads, batches of
//! one row and of 1024, in one memory and in hardly any, against the oracle; and that what comes out does not depend on which thread was
//! quicker.
//!
//! `QUADRILLE_CASES` and `QUADRILLE_SEED` make the random cases more and give them another start.

mod common;

use common::{Random, add, dataset, oracle_rows, rows, store, try_rows};
use quadrille_sparql::{PlannerOptions, Query, QueryOptions, ResultFormat};
use quadrille_store::{Snapshot, Store};
use std::fmt::Write;

const INTEGER: &str = "http://www.w3.org/2001/XMLSchema#integer";
const DECIMAL: &str = "http://www.w3.org/2001/XMLSchema#decimal";
const DOUBLE: &str = "http://www.w3.org/2001/XMLSchema#double";

/// Orders of customers for goods, in several layers: quantities are integers and decimals, some are no numbers, and no
/// two terms have the same value; some orders have no date; customers know each other. Keys come in runs and at random, often and seldom.
fn orders(random: &mut Random, count: u64) -> Store {
    let store = Store::in_memory();
    let layers = 1 + random.below(3) as u64;
    for layer in 0..layers {
        let mut text = String::new();
        for order in (layer..count).step_by(layers as usize) {
            let customer = if random.one_in(2) {
                order / 10
            } else {
                random.next() % count
            };
            writeln!(text, "<e:order{order}> <e:by> <e:c{customer}> .").unwrap();
            for _ in 0..random.below(3) {
                let good = [1, 7, 5 * count][random.below(3)];
                let good = random.next() % good;
                writeln!(text, "<e:order{order}> <e:of> <e:good{good}> .").unwrap();
            }
            let quantity = random.below(50);
            match random.below(40) {
                0 => writeln!(text, "<e:order{order}> <e:quantity> \"many\" ."),
                1..=20 => writeln!(
                    text,
                    "<e:order{order}> <e:quantity> \"{quantity}\"^^<{INTEGER}> ."
                ),
                21..=30 => writeln!(
                    text,
                    "<e:order{order}> <e:quantity> \"0{}\"^^<{INTEGER}> .",
                    quantity + 50
                ),
                _ => writeln!(
                    text,
                    "<e:order{order}> <e:quantity> \"{quantity}.25\"^^<{DECIMAL}> ."
                ),
            }
            .unwrap();
            if random.one_in(3) {
                let day = random.below(28) + 1;
                writeln!(text, "<e:order{order}> <e:date> \"2020-02-{day:02}\" .").unwrap();
            }
            let other = random.next() % count;
            writeln!(text, "<e:c{customer}> <e:knows> <e:c{other}> .").unwrap();
        }
        add(&store, &text);
    }
    store
}

/// Each in several ways of grouping; what MIN and MAX give is the only term that compares so.
const QUERIES: [&str; 23] = [
    "SELECT (COUNT(*) AS ?n) { ?o <e:by> ?c }",
    "SELECT (COUNT(*) AS ?n) (COUNT(?q) AS ?m) (SUM(?q) AS ?s) { ?o <e:by> <e:nobody> . ?o <e:quantity> ?q }",
    "SELECT (COUNT(DISTINCT ?c) AS ?n) { ?o <e:by> ?c }",
    "SELECT (COUNT(DISTINCT *) AS ?n) { ?o <e:by> ?c . ?o <e:of> ?g }",
    "SELECT ?g (COUNT(*) AS ?n) { ?o <e:of> ?g } GROUP BY ?g",
    "SELECT ?c (COUNT(?d) AS ?n) (COUNT(*) AS ?m) { ?o <e:by> ?c OPTIONAL { ?o <e:date> ?d } } GROUP BY ?c",
    "SELECT ?c (MIN(?d) AS ?first) (MAX(?d) AS ?last) { ?o <e:by> ?c . ?o <e:date> ?d } GROUP BY ?c",
    "SELECT ?c ?g (COUNT(*) AS ?n) { ?o <e:by> ?c . ?o <e:of> ?g } GROUP BY ?c ?g",
    "SELECT ?g (SUM(?q) AS ?s) (AVG(?q) AS ?a) (COUNT(DISTINCT ?q) AS ?n) \
     { ?o <e:of> ?g . ?o <e:quantity> ?q FILTER(ISNUMERIC(?q)) } GROUP BY ?g",
    "SELECT ?g (SUM(?q) AS ?s) { ?o <e:of> ?g . ?o <e:quantity> ?q } GROUP BY ?g",
    "SELECT ?g (SUM(DISTINCT ?q) AS ?s) (COUNT(DISTINCT ?c) AS ?n) (COUNT(DISTINCT *) AS ?all) \
     { ?o <e:of> ?g . ?o <e:quantity> ?q . ?o <e:by> ?c FILTER(ISNUMERIC(?q)) } GROUP BY ?g",
    "SELECT ?c (SAMPLE(?c) AS ?x) (COUNT(DISTINCT ?g) AS ?n) { ?o <e:by> ?c . ?o <e:of> ?g } GROUP BY ?c",
    "SELECT ?g (COUNT(*) AS ?n) { ?o <e:of> ?g } GROUP BY ?g HAVING(COUNT(*) > 3)",
    "SELECT DISTINCT ?g { ?o <e:of> ?g }",
    "SELECT DISTINCT ?g ?q { ?o <e:of> ?g . ?o <e:quantity> ?q }",
    "SELECT DISTINCT ?c ?g ?d { ?o <e:by> ?c . ?o <e:of> ?g OPTIONAL { ?o <e:date> ?d } }",
    "SELECT * { ?o <e:by> ?c OPTIONAL { ?o <e:of> ?g OPTIONAL { ?h <e:of> ?g FILTER(?h < ?o) } } }",
    "SELECT * { ?o <e:by> ?c MINUS { ?o <e:of> ?g . ?o <e:date> ?d } }",
    "SELECT * { ?o <e:by> ?c . ?c <e:knows> ?b . ?p <e:by> ?b }",
    "SELECT ?o ?h { ?o <e:by> ?c . ?h <e:quantity> ?q . ?o <e:of> ?g . ?h <e:of> ?g . ?h <e:by> ?c FILTER(?o != ?h) }",
    "SELECT ?c (COUNT(?h) AS ?n) { ?o <e:by> ?c OPTIONAL { { SELECT ?o (COUNT(*) AS ?h) { ?o <e:of> ?g } GROUP BY ?o } } } GROUP BY ?c",
    "SELECT ?q ?o { ?o <e:quantity> ?q } ORDER BY DESC(?q) ?o",
    "SELECT ?c ?o ?d { ?o <e:by> ?c OPTIONAL { ?o <e:date> ?d } } ORDER BY ?d DESC(?c) ?o",
];

fn options(threads: usize, batch_rows: usize, memory: u64) -> QueryOptions {
    QueryOptions {
        threads,
        batch_rows,
        memory: Some(memory),
        planner: PlannerOptions {
            parallel_rows: 1,
            ..PlannerOptions::default()
        },
        ..QueryOptions::default()
    }
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

#[test]
fn threads_change_no_answer() {
    let first = number("QUADRILLE_SEED", 1);
    for seed in first..first + number("QUADRILLE_CASES", 6) {
        let mut random = Random(seed);
        let count = 20 + random.next() % 300;
        let store = orders(&mut random, count);
        let snapshot = store.snapshot();
        let dataset = dataset(&snapshot);
        for query in QUERIES {
            let expected = oracle_rows(&dataset, query);
            let alone = try_rows(&snapshot, query, &options(1, 1024, u64::MAX)).expect("rows");
            for threads in [1, 2, 3, 8] {
                let batch_rows = [1, 3, 100, 1024][random.below(4)];
                for memory in [u64::MAX, 32 << 10, 1 << 10] {
                    // Terms that are computed must stay in memory, and the texts of MIN and MAX.
                    let memory = if query.contains("SUM") || query.contains("MIN") {
                        memory.max(256 << 10)
                    } else {
                        memory
                    };
                    let mut options = options(threads, batch_rows, memory);
                    options.planner.lookup_joins = random.one_in(2);
                    options.planner.merge_joins = random.one_in(2);
                    let context = || format!("seed {seed}, {query}\n{options:?}");
                    let found = try_rows(&snapshot, query, &options)
                        .unwrap_or_else(|error| panic!("{error}: {}", context()));
                    if query.contains("ORDER BY") {
                        assert_eq!(found, alone, "{}", context());
                    }
                    let mut found = found;
                    found.sort();
                    assert_eq!(found, expected, "{}", context());
                }
            }
        }
    }
}

#[test]
fn joins_on_threads_agree_whichever_are_used() {
    let query = "SELECT ?o ?c ?b ?p { ?o <e:by> ?c . ?c <e:knows> ?b . ?p <e:by> ?b }";
    let mut random = Random(number("QUADRILLE_SEED", 11));
    let store = orders(&mut random, 500);
    let snapshot = store.snapshot();
    let expected = oracle_rows(&dataset(&snapshot), query);
    for order in [[0, 1, 2], [1, 0, 2], [2, 1, 0], [1, 2, 0]] {
        for (merge_joins, lookup_joins, hash_joins) in [
            (false, false, true),
            (true, false, true),
            (false, true, false),
            (true, true, true),
        ] {
            for (threads, memory) in [(2, u64::MAX), (3, u64::MAX), (3, 16 << 10)] {
                let mut options = options(threads, 64, memory);
                options.planner.merge_joins = merge_joins;
                options.planner.lookup_joins = lookup_joins;
                options.planner.hash_joins = hash_joins;
                options.planner.forced_order = Some(order.to_vec());
                let found = rows(&snapshot, query, &options);
                assert!(found == expected, "{options:?}");
            }
        }
    }
}

/// What a query answers as text.
fn text(snapshot: &Snapshot, query: &str, options: &QueryOptions) -> String {
    let mut bytes = Vec::new();
    Query::parse(query, None)
        .and_then(|query| query.execute(snapshot, options))
        .and_then(|results| results.write(ResultFormat::Tsv, &mut bytes))
        .unwrap_or_else(|error| panic!("{query}: {error}"));
    String::from_utf8(bytes).expect("UTF-8")
}

#[test]
fn what_comes_out_does_not_depend_on_which_thread_was_quicker() {
    let mut random = Random(21);
    let store = Store::in_memory();
    let mut quads = String::new();
    for number in 0..60_000_u64 {
        let value = random.next() as f64 / 1e5;
        let group = random.below(5);
        writeln!(
            quads,
            "<e:{number}> <e:value> \"{value:e}\"^^<{DOUBLE}> .\n<e:{number}> <e:in> <e:g{group}> ."
        )
        .unwrap();
    }
    add(&store, &quads);
    let snapshot = store.snapshot();
    for query in [
        "SELECT (SUM(?v) AS ?s) (AVG(?v) AS ?a) (SUM(DISTINCT ?v) AS ?d) { ?x <e:value> ?v }",
        "SELECT ?g (SUM(?v) AS ?s) (AVG(?v) AS ?a) (SAMPLE(?x) AS ?any) { ?x <e:value> ?v . ?x <e:in> ?g } GROUP BY ?g",
        "SELECT DISTINCT ?v ?g { ?x <e:value> ?v . ?x <e:in> ?g }",
    ] {
        for threads in [2, 4] {
            let options = options(threads, 1024, u64::MAX);
            let first = text(&snapshot, query, &options);
            for _ in 0..5 {
                assert!(text(&snapshot, query, &options) == first, "{query}");
            }
        }
    }
}

#[test]
fn sorted_rows_are_written_by_threads_in_their_sequence() {
    let mut random = Random(31);
    let store = Store::in_memory();
    for layer in 0..2 {
        let mut quads = String::new();
        for number in 0..17_000_u64 {
            let (group, name) = (random.below(300), random.next() % 9_000);
            writeln!(
                quads,
                "<e:{layer}-{number}> <e:in> <e:g{group}> .\n<e:{layer}-{number}> <e:name> \"name {name}\" ."
            )
            .unwrap();
        }
        add(&store, &quads);
        for query in [
            "SELECT ?x ?g { ?x <e:in> ?g } ORDER BY DESC(?g) ?x",
            "SELECT ?n ?x { ?x <e:name> ?n } ORDER BY ?n DESC(?x)",
            "SELECT ?g ?x { ?x <e:in> ?g } ORDER BY ?g",
        ] {
            let snapshot = store.snapshot();
            let alone = text(&snapshot, query, &options(1, 1024, u64::MAX));
            for (threads, memory) in [(2, u64::MAX), (5, u64::MAX), (2, 100 << 10)] {
                let together = text(&snapshot, query, &options(threads, 1024, memory));
                assert!(together == alone, "{query}, {threads} threads");
            }
        }
    }
}

#[test]
fn columns_are_added_to_the_rows_of_threads() {
    let mut text = String::new();
    for number in 0..50 {
        writeln!(text, "<e:n{number}> <e:p> <e:n{}> .", number / 2).unwrap();
        writeln!(text, "<e:n{number}> <e:q> \"{number}\" .").unwrap();
    }
    let store = store(&text);
    let snapshot = store.snapshot();
    // What is above a UNION of divided branches adds a column to their rows.
    for query in [
        "SELECT * { { ?x <e:p> ?y } UNION { ?x <e:q> ?y } BIND(STR(?y) AS ?z) }",
        "SELECT * { { ?x <e:p> ?y } UNION { ?x <e:q> ?y } FILTER(EXISTS { ?y <e:p> ?z } || STRLEN(STR(?y)) = 1) }",
    ] {
        let options = |threads| QueryOptions {
            threads,
            planner: PlannerOptions {
                parallel_rows: 1,
                ..PlannerOptions::default()
            },
            ..QueryOptions::default()
        };
        let expected = rows(&snapshot, query, &options(1));
        assert!(!expected.is_empty());
        assert_eq!(rows(&snapshot, query, &options(3)), expected, "{query}");
    }
}
