//! ORDER BY with LIMIT drops most rows by their ids: the first rows are those of the whole sort, for terms of all kinds in
//! several layers, whose dictionaries order their terms each for itself; and, for strings and IRIs, those of `spareval`.

mod common;

use common::{Random, add, dataset, oracle_rows, rows, try_rows};
use quadrille_sparql::QueryOptions;
use quadrille_store::{Snapshot, Store};
use std::fmt::Write;

/// More rows than a sort keeps before it drops any.
const ROWS: usize = 6_000;
const LAYERS: usize = 3;

const ORDERS: [&str; 6] = [
    "?o ?s",
    "DESC(?o) ?s",
    "?o DESC(?s)",
    "?s ?o",
    "DESC(?s) ?o",
    "STR(?o) ?s",
];

fn object(random: &mut Random, kinds: usize) -> String {
    let number = random.below(100_000);
    match random.below(kinds) {
        0 => format!("\"text {number}\""),
        1 => format!("<e:{number}>"),
        2 => format!("\"text {number}\"@en"),
        3 => format!("\"text {number}\"@de--rtl"),
        4 => format!("\"text {number}\"^^<e:type>"),
        5 => format!("\"{number}\"^^<http://www.w3.org/2001/XMLSchema#integer>"),
        6 => format!("\"{number}\"^^<http://www.w3.org/2001/XMLSchema#anyURI>"),
        7 => format!("\"P{number}D\"^^<http://www.w3.org/2001/XMLSchema#duration>"),
        _ => format!("_:b{number}"),
    }
}

/// A store whose objects are of the first kinds alone, in all places of the sequence of subjects.
fn store(seed: u64, kinds: usize) -> Store {
    let mut random = Random(seed);
    let store = Store::in_memory();
    for layer in 0..LAYERS {
        let mut quads = String::new();
        for _ in 0..ROWS / LAYERS {
            let subject = random.below(1_000_000);
            let object = object(&mut random, kinds);
            writeln!(quads, "<e:s{subject}-{layer}> <e:p> {object} .").unwrap();
        }
        add(&store, &quads);
    }
    store
}

fn check(snapshot: &Snapshot, seed: u64) {
    let options = QueryOptions::default();
    for order in ORDERS {
        let all = format!("SELECT ?s ?o {{ ?s <e:p> ?o }} ORDER BY {order}");
        let whole = try_rows(snapshot, &all, &options).expect("rows");
        for limit in [1, 10, 300] {
            let query = format!("{all} LIMIT {limit}");
            let first = try_rows(snapshot, &query, &options).expect("rows");
            assert_eq!(first, whole[..limit], "seed {seed}: {query}");
        }
    }
}

#[test]
fn the_first_rows_are_those_of_the_whole_sort() {
    for (seed, kinds) in [(1, 1), (2, 2), (3, 4), (4, 5), (5, 9), (6, 9)] {
        check(&store(seed, kinds).snapshot(), seed);
    }
}

#[test]
fn the_first_rows_are_those_of_the_oracle() {
    for seed in [7, 8] {
        let snapshot = store(seed, 2).snapshot();
        let dataset = dataset(&snapshot);
        for order in ORDERS {
            let query = format!("SELECT ?s ?o {{ ?s <e:p> ?o }} ORDER BY {order} LIMIT 20");
            assert_eq!(
                rows(&snapshot, &query, &QueryOptions::default()),
                oracle_rows(&dataset, &query),
                "seed {seed}: {query}"
            );
        }
    }
}
