//! Queries that are made to hurt: nested thousands deep, with a hundred thousand rows of VALUES, with regular expressions
//! that explode. Each is an answer or a clear error, and none takes the process with it.

mod common;

use common::{store, try_rows};
use quadrille_sparql::{Query, QueryError, QueryOptions};
use std::fmt::Write;

#[test]
fn deep_nesting_is_an_error() {
    const DEPTH: usize = 2_000;
    let nested = |open: &str, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(DEPTH), close.repeat(DEPTH))
    };
    for query in [
        format!("SELECT ({} AS ?x) {{}}", nested("(", "1", ")")),
        format!("SELECT ({} AS ?x) {{}}", nested("STR(", "1", ")")),
        format!("SELECT ({} AS ?x) {{}}", nested("IF(true, 1, ", "1", ")")),
        format!("SELECT ({} AS ?x) {{}}", nested("!", "true", "")),
        format!("SELECT * {{ {} }}", nested("{", "?s ?p ?o", "}")),
        format!("SELECT * {{ {} }}", nested("OPTIONAL {", "?s ?p ?o", "}")),
        format!(
            "SELECT * {{ {} }}",
            nested("{ SELECT * {", "?s ?p ?o", "} }")
        ),
        format!("SELECT * {{ ?s ?p {} }}", nested("[ ?p ", "?o", " ]")),
        format!("SELECT * {{ ?s ?p {} }}", nested("( ", "?o", " )")),
        format!("SELECT * {{ ?s {} ?o }}", nested("(", "<e:p>", ")")),
        format!(
            "SELECT * {{ {} }}",
            nested("?s ?p ?o FILTER EXISTS {", "?s ?p ?o", "}")
        ),
    ] {
        let failed = Query::parse(&query, None);
        assert!(
            matches!(failed, Err(QueryError::Limit { .. })),
            "{}: {:?}",
            &query[..60],
            failed.err()
        );
    }
}

#[test]
fn a_hundred_thousand_rows_of_values() {
    let store = store("<e:7> <e:p> <e:99> .");
    let mut query = String::from("SELECT * { ?s ?p ?o VALUES (?s ?n) {");
    for row in 0..100_000 {
        write!(query, " (<e:{row}> {row})").unwrap();
    }
    query.push_str(" } }");
    let rows = try_rows(&store.snapshot(), &query, &QueryOptions::default()).expect("rows");
    assert_eq!(rows.len(), 1);
    assert!(rows[0].contains("\"7\""), "{rows:?}");
}

#[test]
fn regular_expressions_that_explode_end() {
    let store = store(&format!(
        "<e:s> <e:p> \"{}\" .\n<e:s> <e:p> \"short\" .",
        "a".repeat(5_000)
    ));
    let rows = |pattern: &str| {
        let query = format!("SELECT ?o {{ ?s ?p ?o FILTER(REGEX(?o, \"{pattern}\")) }}");
        try_rows(&store.snapshot(), &query, &QueryOptions::default()).expect("an answer")
    };
    // Backtracking would take for ever; an automaton does not.
    assert!(rows("^(a+)+$").len() == 1);
    assert!(rows("^(a|aa)+b$").is_empty());
    // With a back-reference there is backtracking, which is bounded: the condition fails for the row.
    assert!(rows("^(a+)+(b|c)\\\\1$").is_empty());
    // An automaton that would be too large is refused: the condition fails.
    assert!(rows("((a{1000}){1000}){1000}").is_empty());
}

#[test]
fn the_first_rows_of_a_cross_product_come_at_once() {
    let mut text = String::new();
    for number in 0..3_000 {
        writeln!(text, "<e:{number}> <e:p> <e:{}> .", number + 1).unwrap();
    }
    let store = store(&text);
    let query = "SELECT * { ?a <e:p> ?b . ?c <e:p> ?d . ?e <e:p> ?f . ?g <e:p> ?h } LIMIT 10";
    let rows = try_rows(&store.snapshot(), query, &QueryOptions::default()).expect("rows");
    assert_eq!(rows.len(), 10);
}
