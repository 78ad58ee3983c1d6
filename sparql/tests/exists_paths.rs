//! EXISTS over paths, which are searched from batches of rows where that gives the same: random queries against `spareval`, and
//! the plans that are chosen.

mod common;

use common::{Random, check_random_queries, store};
use quadrille_sparql::{Query, QueryOptions};
use std::fmt::Write;

fn data(random: &mut Random) -> String {
    const NODES: [&str; 6] = ["<e:a>", "<e:b>", "<e:c>", "<e:d>", "_:n", "\"text\""];
    let mut text = String::new();
    for _ in 0..14 {
        let subject = NODES[random.below(5)];
        let object = *random.pick(&NODES);
        let predicate = *random.pick(&["<e:p>", "<e:q>"]);
        let graph = *random.pick(&["", "", "<e:g>"]);
        writeln!(text, "{subject} {predicate} {object} {graph} .").expect("memory");
    }
    text
}

fn query(random: &mut Random) -> String {
    let rows = *random.pick(&[
        "?x <e:p> ?y",
        "?x ?r ?y OPTIONAL { ?y <e:q> ?z }",
        "VALUES (?x ?y) { (<e:a> <e:b>) (<e:nowhere> <e:nowhere>) (\"text\" UNDEF) }",
        "?x <e:p> ?y . ?y <e:q> ?z",
    ]);
    let path = *random.pick(&[
        "<e:p>+",
        "<e:p>*",
        "(<e:p>|<e:q>)+",
        "(^<e:p>/<e:q>)+",
        "<e:q>?",
    ]);
    // The oracle does not connect a term of a row that is no node of the graph with itself (sections 18.6 and 9.3).
    let path = if rows.starts_with("VALUES") && path.ends_with(['*', '?']) {
        "<e:p>+"
    } else {
        path
    };
    let inner = match random.below(6) {
        0 => format!("?x {path} ?y"),
        1 => format!("?y {path} ?w"),
        2 => format!("?w {path} ?z"),
        3 => format!("?x {path} ?w . ?w <e:q> ?y"),
        4 => format!("?x {path} ?w FILTER(?w != ?y)"),
        _ => format!("?x {path} ?w . ?y {path} ?w"),
    };
    let not = *random.pick(&["", "NOT "]);
    format!("SELECT * {{ {rows} FILTER {not}EXISTS {{ {inner} }} }}")
}

#[test]
fn paths_in_exists_come_out_as_the_oracle_says() {
    check_random_queries(|random| (store(&data(random)).snapshot(), query(random)));
}

#[test]
fn paths_in_exists_are_searched_from_batches() {
    let mut text = String::new();
    for number in 0..2_000 {
        writeln!(text, "<e:n{number}> <e:p> <e:n{}> .", number + 1).expect("memory");
    }
    text.push_str("<e:n10> <e:q> <e:x> .\n<e:n20> <e:q> <e:x> .\n");
    let snapshot = store(&text).snapshot();
    let plan = |query: &str| {
        Query::parse(query, None)
            .and_then(|query| query.explain(&snapshot, &QueryOptions::default()))
            .expect(query)
    };
    let bound = plan("SELECT * { ?x <e:q> ?y FILTER NOT EXISTS { ?x <e:p>+ <e:n2000> } }");
    assert!(bound.contains("AntiBindJoin"), "{bound}");
    // What the row's patterns bind are nodes, which a path without a step connects with themselves either way.
    let bound = plan("SELECT * { ?x <e:q> ?y FILTER NOT EXISTS { ?x <e:p>* <e:n2000> } }");
    assert!(bound.contains("Anti"), "{bound}");
    // A path without a step connects any term of a row with itself, and one that nothing binds would be searched from everywhere.
    for query in [
        "SELECT * { VALUES ?x { <e:n10> <e:nowhere> } FILTER EXISTS { ?x <e:p>* <e:n2000> } }",
        "SELECT * { ?x <e:q> ?y OPTIONAL { ?y <e:q> ?z } FILTER EXISTS { ?z <e:p>+ <e:n2000> } }",
    ] {
        let plan = plan(query);
        assert!(
            !plan.contains("SemiBindJoin") && !plan.contains("SemiJoin"),
            "{plan}"
        );
    }
}
