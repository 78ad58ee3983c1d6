//! What the specification says of OPTIONAL, MINUS, EXISTS, VALUES, BIND, subqueries, aggregates, ORDER BY and `GRAPH ?g`, in
//! small examples, most of them the specification's own.

mod common;

use common::{rows, store, try_rows};
use quadrille_sparql::{PlannerOptions, QueryError, QueryOptions};
use quadrille_store::Store;

const NUMBERS: &str = "
    <e:a> <e:p> \"1\"^^<http://www.w3.org/2001/XMLSchema#integer> .
    <e:a> <e:q> \"1\"^^<http://www.w3.org/2001/XMLSchema#integer> .
    <e:a> <e:q> \"2\"^^<http://www.w3.org/2001/XMLSchema#integer> .
    <e:b> <e:p> \"3.0\"^^<http://www.w3.org/2001/XMLSchema#decimal> .
    <e:b> <e:q> \"4.0\"^^<http://www.w3.org/2001/XMLSchema#decimal> .
    <e:b> <e:q> \"5.0\"^^<http://www.w3.org/2001/XMLSchema#decimal> .
";

const PEOPLE: &str = "
    <e:alice> <e:name> \"Alice\" .
    <e:alice> <e:mail> <m:alice> .
    <e:alice> <e:knows> <e:bob> .
    <e:bob> <e:name> \"Bob\" .
    <e:bob> <e:nick> \"B\" .
    <e:carol> <e:mail> <m:carol> .
    <e:alice> <e:in> \"first\" <e:g> .
    <e:bob> <e:in> \"second\" <e:h> .
";

/// Checks an answer with several ways of joining and sizes of batches.
#[track_caller]
fn check(store: &Store, query: &str, expected: &[&str]) {
    for lookup_joins in [true, false] {
        for batch_rows in [1, 1024] {
            let options = QueryOptions {
                batch_rows,
                planner: PlannerOptions {
                    lookup_joins,
                    ..PlannerOptions::default()
                },
                ..QueryOptions::default()
            };
            let mut expected: Vec<&str> = expected.to_vec();
            expected.sort_unstable();
            assert_eq!(
                rows(&store.snapshot(), query, &options),
                expected,
                "{query}\nlookups {lookup_joins}, {batch_rows} rows a batch"
            );
        }
    }
}

/// Checks an answer with its sequence.
#[track_caller]
fn check_sequence(store: &Store, query: &str, expected: &[&str]) {
    for batch_rows in [1, 1024] {
        let options = QueryOptions {
            batch_rows,
            ..QueryOptions::default()
        };
        let rows = try_rows(&store.snapshot(), query, &options).unwrap();
        assert_eq!(rows, expected, "{query}");
    }
}

#[test]
fn optional_keeps_rows_and_its_filter_sees_both_sides() {
    let store = store(PEOPLE);
    check(
        &store,
        "SELECT ?n ?m { ?x <e:name> ?n OPTIONAL { ?x <e:mail> ?m } }",
        &["\"Alice\" | <m:alice>", "\"Bob\" | UNBOUND"],
    );
    check(
        &store,
        "SELECT ?n ?m { ?x <e:name> ?n OPTIONAL { ?x <e:mail> ?m FILTER(?n = \"Bob\") } }",
        &["\"Alice\" | UNBOUND", "\"Bob\" | UNBOUND"],
    );
    // Inside a further group the left side is out of sight.
    check(
        &store,
        "SELECT ?n ?m { ?x <e:name> ?n OPTIONAL { { ?x <e:mail> ?m FILTER(?n = \"Alice\") } } }",
        &["\"Alice\" | UNBOUND", "\"Bob\" | UNBOUND"],
    );
}

#[test]
fn nested_optionals_are_evaluated_from_the_inside() {
    let store = store("<e:x1> <e:p> <e:a> .\n<e:x2> <e:q> <e:b> .\n<e:x3> <e:r> <e:a> .\n");
    // A pattern that is not well designed: the inner OPTIONAL binds ?v before the outer one compares it.
    check(
        &store,
        "SELECT * { ?x <e:p> ?v OPTIONAL { ?y <e:q> ?w OPTIONAL { ?z <e:r> ?v } } }",
        &["<e:a> | <e:b> | <e:x1> | <e:x2> | <e:x3>"],
    );
    // What an OPTIONAL left unbound is compatible with anything.
    check(
        &store,
        "SELECT ?x ?y ?v { ?x <e:p> ?a OPTIONAL { ?x <e:none> ?v } ?y <e:q> ?v }",
        &["<e:x1> | <e:x2> | <e:b>"],
    );
}

#[test]
fn minus_removes_only_what_shares_a_variable() {
    let store = store("<e:a> <e:b> <e:c> .\n");
    check(
        &store,
        "SELECT * { ?s ?p ?o FILTER NOT EXISTS { ?x ?y ?z } }",
        &[],
    );
    check(
        &store,
        "SELECT ?s { ?s ?p ?o MINUS { ?x ?y ?z } }",
        &["<e:a>"],
    );
    check(
        &store,
        "SELECT ?s { ?s ?p ?o FILTER NOT EXISTS { <e:a> <e:b> <e:c> } }",
        &[],
    );
    check(
        &store,
        "SELECT ?s { ?s ?p ?o MINUS { <e:a> <e:b> <e:c> } }",
        &["<e:a>"],
    );
}

#[test]
fn a_filter_inside_of_exists_sees_the_row_around_and_one_inside_of_minus_does_not() {
    let store = store(NUMBERS);
    check(
        &store,
        "SELECT ?x ?n { ?x <e:p> ?n FILTER NOT EXISTS { ?x <e:q> ?m FILTER(?n = ?m) } }",
        &["<e:b> | \"3.0\"^^<http://www.w3.org/2001/XMLSchema#decimal>"],
    );
    check(
        &store,
        "SELECT ?x { ?x <e:p> ?n MINUS { ?x <e:q> ?m FILTER(?n = ?m) } }",
        &["<e:a>", "<e:b>"],
    );
}

#[test]
fn exists_stands_anywhere_in_an_expression() {
    let store = store(PEOPLE);
    check(
        &store,
        "SELECT ?n ?has { ?x <e:name> ?n BIND(EXISTS { ?x <e:mail> ?m } AS ?has) }",
        &[
            "\"Alice\" | \"true\"^^<http://www.w3.org/2001/XMLSchema#boolean>",
            "\"Bob\" | \"false\"^^<http://www.w3.org/2001/XMLSchema#boolean>",
        ],
    );
    check(
        &store,
        "SELECT ?n { ?x <e:name> ?n FILTER(?n = \"Bob\" || EXISTS { ?x <e:mail> ?m OPTIONAL { ?x <e:nick> ?k } }) }",
        &["\"Alice\"", "\"Bob\""],
    );
    // The inner one sees the outermost row.
    check(
        &store,
        "SELECT ?n { ?x <e:name> ?n FILTER EXISTS { ?y <e:name> ?o FILTER NOT EXISTS { ?x <e:knows> ?y } FILTER(?x != ?y) } }",
        &["\"Bob\""],
    );
    check(
        &store,
        "SELECT ?n { ?x <e:name> ?n OPTIONAL { ?x <e:mail> ?m FILTER EXISTS { ?x <e:nick> ?k } } FILTER(!BOUND(?m)) }",
        &["\"Alice\"", "\"Bob\""],
    );
}

#[test]
fn values_joins_and_undef_is_compatible_with_anything() {
    let store = store(PEOPLE);
    check(
        &store,
        "SELECT ?x ?n { ?x <e:name> ?n VALUES (?x ?n) { (UNDEF \"Bob\") (<e:alice> UNDEF) (<e:alice> \"Bob\") } }",
        &["<e:alice> | \"Alice\"", "<e:bob> | \"Bob\""],
    );
    check(
        &store,
        "SELECT ?x { VALUES ?x { <e:alice> <e:new> <e:alice> } }",
        &["<e:alice>", "<e:new>", "<e:alice>"],
    );
    check(&store, "SELECT ?x { VALUES ?x { } ?x ?p ?o }", &[]);
    check(
        &store,
        "SELECT DISTINCT ?a ?b { VALUES ?a { <e:new> \"x\"@EN } VALUES ?b { <e:new> \"x\"@en } FILTER(sameTerm(?a, ?b)) }",
        &["<e:new> | <e:new>", "\"x\"@en | \"x\"@en"],
    );
}

#[test]
fn bind_makes_terms_that_join_like_others() {
    let store = store(NUMBERS);
    check(
        &store,
        "SELECT ?x ?y { ?x <e:p> ?n BIND(?n + 1 AS ?m) ?y <e:q> ?m }",
        &["<e:a> | <e:a>"],
    );
    check(
        &store,
        "SELECT ?s { BIND(\"new\" AS ?s) FILTER(STRLEN(?s) = 3) }",
        &["\"new\""],
    );
    // An expression that fails leaves its variable unbound.
    check(
        &store,
        "SELECT ?x ?m { ?x <e:p> ?n BIND(?x + 1 AS ?m) }",
        &["<e:a> | UNBOUND", "<e:b> | UNBOUND"],
    );
    check(
        &store,
        "SELECT (COUNT(DISTINCT ?t) AS ?c) { ?x <e:q> ?n BIND(DATATYPE(?n) AS ?t) }",
        &["\"2\"^^<http://www.w3.org/2001/XMLSchema#integer>"],
    );
}

#[test]
fn a_subquery_keeps_to_itself_what_it_does_not_select() {
    let store = store(PEOPLE);
    check(
        &store,
        "SELECT ?x ?y { ?x <e:name> \"Bob\" { SELECT ?y { ?x <e:mail> ?y } } }",
        &["<e:bob> | <m:alice>", "<e:bob> | <m:carol>"],
    );
    check(
        &store,
        "SELECT ?n ?x { { SELECT ?x { ?x <e:name> ?n } ORDER BY DESC(?n) LIMIT 1 } ?x <e:name> ?n }",
        &["\"Bob\" | <e:bob>"],
    );
}

#[test]
fn what_a_subquery_selects_but_does_not_bind_joins_with_anything() {
    let store = store(PEOPLE);
    check(
        &store,
        "SELECT ?x ?n { ?x <e:nick> ?n { SELECT ?z ?x { } } }",
        &["<e:bob> | \"B\""],
    );
}

#[test]
fn aggregates_of_nothing_and_of_groups() {
    let store = store(NUMBERS);
    let zero = "\"0\"^^<http://www.w3.org/2001/XMLSchema#integer>";
    check(
        &store,
        "SELECT (COUNT(*) AS ?c) (SUM(?o) AS ?s) (AVG(?o) AS ?a) (MIN(?o) AS ?m) (SAMPLE(?o) AS ?x) (GROUP_CONCAT(?o) AS ?g) { ?s <e:none> ?o }",
        &[&format!(
            "{zero} | {zero} | {zero} | UNBOUND | UNBOUND | \"\""
        )],
    );
    check(
        &store,
        "SELECT ?s (COUNT(*) AS ?c) { ?s <e:none> ?o } GROUP BY ?s",
        &[],
    );
    check(
        &store,
        "SELECT ?s (SUM(?o) AS ?sum) (MAX(?o) AS ?max) { ?s <e:q> ?o } GROUP BY ?s HAVING(SUM(?o) > 5)",
        &[
            "<e:b> | \"9\"^^<http://www.w3.org/2001/XMLSchema#decimal> | \"5.0\"^^<http://www.w3.org/2001/XMLSchema#decimal>",
        ],
    );
    check(
        &store,
        "SELECT (AVG(?o) AS ?a) (SUM(?s) AS ?e) { ?s <e:p> ?o }",
        &["\"2\"^^<http://www.w3.org/2001/XMLSchema#decimal> | UNBOUND"],
    );
    check(
        &store,
        "SELECT (COUNT(DISTINCT *) AS ?c) { { ?s <e:p> ?o } UNION { ?s <e:p> ?o } }",
        &["\"2\"^^<http://www.w3.org/2001/XMLSchema#integer>"],
    );
}

#[test]
fn order_by_orders_every_kind_of_term() {
    let store = store(
        "<e:a> <e:v> \"b\" .\n<e:a> <e:v> <e:iri> .\n<e:a> <e:v> \"10\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n\
         <e:a> <e:v> \"9.5\"^^<http://www.w3.org/2001/XMLSchema#decimal> .\n<e:a> <e:v> _:x .\n\
         <e:a> <e:v> \"1e3\"^^<http://www.w3.org/2001/XMLSchema#double> .\n<e:b> <e:w> <e:c> .\n",
    );
    let sequence = [
        "UNBOUND",
        "_:b0",
        "<e:iri>",
        "\"9.5\"^^<http://www.w3.org/2001/XMLSchema#decimal>",
        "\"10\"^^<http://www.w3.org/2001/XMLSchema#integer>",
        "\"1e3\"^^<http://www.w3.org/2001/XMLSchema#double>",
        "\"b\"",
    ];
    let query = "SELECT ?v { { ?s <e:v> ?v } UNION { ?s <e:w> ?o } } ORDER BY ";
    check_sequence(&store, &format!("{query} ?v"), &sequence);
    let mut reversed = sequence;
    reversed.reverse();
    check_sequence(&store, &format!("{query} DESC(?v)"), &reversed);
    check_sequence(
        &store,
        &format!("{query} ?v OFFSET 2 LIMIT 3"),
        &sequence[2..5],
    );
}

#[test]
fn the_first_rows_are_kept_in_order() {
    use std::fmt::Write;
    let mut text = String::new();
    for number in 0..20_000 {
        writeln!(
            text,
            "<e:{}> <e:n> \"{}\" .",
            number * 7919 % 20_000,
            number % 100
        )
        .unwrap();
    }
    let store = store(&text);
    check_sequence(
        &store,
        "SELECT ?x { ?x <e:n> ?n } ORDER BY DESC(?n) ?x LIMIT 2",
        &["<e:10081>", "<e:10181>"],
    );
}

#[test]
fn a_graph_variable_is_bound_after_its_block_of_any_kind() {
    let store = store(PEOPLE);
    check(&store, "SELECT ?g { GRAPH ?g { } }", &["<e:g>", "<e:h>"]);
    check(&store, "SELECT (1 AS ?x) { GRAPH <e:none> { } }", &[]);
    check(
        &store,
        "SELECT ?v { VALUES ?v { 1 } GRAPH <e:g> { OPTIONAL { ?x <e:none> ?y } } }",
        &["\"1\"^^<http://www.w3.org/2001/XMLSchema#integer>"],
    );
    check(
        &store,
        "SELECT ?g ?x ?v { GRAPH ?g { OPTIONAL { ?x <e:in> ?v FILTER(?v = \"first\") } } }",
        &["<e:g> | <e:alice> | \"first\"", "<e:h> | UNBOUND | UNBOUND"],
    );
    check(
        &store,
        "SELECT ?g ?c { GRAPH ?g { SELECT (COUNT(*) AS ?c) { ?x <e:in> ?v } } }",
        &[
            "<e:g> | \"1\"^^<http://www.w3.org/2001/XMLSchema#integer>",
            "<e:h> | \"1\"^^<http://www.w3.org/2001/XMLSchema#integer>",
        ],
    );
    check(
        &store,
        "SELECT ?g { GRAPH ?g { { ?x <e:in> ?v } MINUS { ?x <e:in> \"first\" } } }",
        &["<e:h>"],
    );
    check(
        &store,
        "SELECT ?g { GRAPH ?g { ?x <e:in> ?v FILTER EXISTS { ?x <e:in> \"second\" } } }",
        &["<e:h>"],
    );
}

#[test]
fn paths_without_repetition_are_patterns() {
    let store = store(PEOPLE);
    check(
        &store,
        "SELECT ?n { <e:alice> <e:knows>/<e:name> ?n }",
        &["\"Bob\""],
    );
    check(
        &store,
        "SELECT ?x ?v { ?x (<e:mail>|<e:nick>) ?v }",
        &[
            "<e:alice> | <m:alice>",
            "<e:bob> | \"B\"",
            "<e:carol> | <m:carol>",
        ],
    );
    check(
        &store,
        "SELECT ?v { <e:alice> !(<e:mail>|<e:name>) ?v }",
        &["<e:bob>"],
    );
    check(
        &store,
        "SELECT ?x { <e:bob> ^<e:knows> ?x }",
        &["<e:alice>"],
    );
}

#[test]
fn a_memory_limit_ends_a_query_with_an_error() {
    let store = store(PEOPLE);
    let options = QueryOptions {
        memory: Some(100),
        ..QueryOptions::default()
    };
    // What sorts keep goes to temporary files; terms that are computed do not.
    let query = "SELECT (CONCAT(STR(?s), \"!\") AS ?t) { ?s ?p ?o } ORDER BY ?s";
    assert!(matches!(
        try_rows(&store.snapshot(), query, &options),
        Err(QueryError::Memory { limit: 100 })
    ));
}

#[test]
fn groups_that_are_nested_too_deeply_are_an_error() {
    let store = store(PEOPLE);
    let nested = |depth: usize| {
        format!(
            "SELECT * {{ {}{} }}",
            "?x ?p ?o OPTIONAL { ".repeat(depth),
            "} ".repeat(depth)
        )
    };
    let options = QueryOptions::default();
    assert!(try_rows(&store.snapshot(), &nested(20), &options).is_ok());
    assert!(matches!(
        try_rows(&store.snapshot(), &nested(60), &options),
        Err(QueryError::Limit { .. })
    ));
    let union = ["{ ?x ?p ?o }"; 500].join(" UNION ");
    assert_eq!(
        try_rows(
            &store.snapshot(),
            &format!("SELECT ?x {{ {union} }}"),
            &options
        )
        .unwrap()
        .len(),
        500 * 6
    );
}

#[test]
fn functions_work_wherever_expressions_stand() {
    let store = store(PEOPLE);
    check(
        &store,
        "SELECT ?x { ?s <e:name> ?n BIND(UCASE(CONCAT(?n, \"!\")) AS ?x) }",
        &["\"ALICE!\"", "\"BOB!\""],
    );
    check(
        &store,
        "SELECT (GROUP_CONCAT(SUBSTR(?n, 1, 1)) AS ?x) { ?s <e:name> ?n } HAVING(MAX(STRLEN(?n)) = 5 && REGEX(MIN(?n), \"^al\", \"i\"))",
        &["\"A B\""],
    );
    check(
        &store,
        "SELECT ?n { ?s <e:name> ?n FILTER(IF(EXISTS { ?s <e:nick> ?k FILTER(STRSTARTS(?n, UCASE(?k))) }, ?n, \"\") = \"Bob\") }",
        &["\"Bob\""],
    );
    check_sequence(
        &store,
        "SELECT ?n { ?s <e:name> ?n } ORDER BY STRLEN(REPLACE(?n, \"[a-z]\", \"\", \"i\")) DESC(MD5(LCASE(?n)))",
        &["\"Bob\"", "\"Alice\""],
    );
    check(
        &store,
        "SELECT ?n { ?s <e:name> ?n OPTIONAL { ?s <e:nick> ?k FILTER(LCASE(?k) = LCASE(SUBSTR(?n, 1, 1))) } FILTER(BOUND(?k)) }",
        &["\"Bob\""],
    );
    // Terms that the store does not have go through functions like any other.
    check(
        &store,
        "SELECT ?z { ?s <e:nick> ?k BIND(CONCAT(?k, \"é\") AS ?x) BIND(IRI(CONCAT(\"x:\", ?x)) AS ?y) \
         BIND(CONCAT(STR(?y), STR(isIRI(?y)), ENCODE_FOR_URI(?x)) AS ?z) }",
        &["\"x:BétrueB%C3%A9\""],
    );
}

#[test]
fn what_is_made_anew_is_made_once_a_solution() {
    let store = store(PEOPLE);
    check(
        &store,
        "SELECT (COUNT(*) AS ?c) (COUNT(DISTINCT ?a) AS ?d) { ?s <e:name> ?n BIND(BNODE(\"l\") AS ?a) BIND(BNODE(\"l\") AS ?b) \
         FILTER(sameTerm(?a, ?b)) }",
        &[
            r#""2"^^<http://www.w3.org/2001/XMLSchema#integer> | "2"^^<http://www.w3.org/2001/XMLSchema#integer>"#,
        ],
    );
    check(
        &store,
        "SELECT (COUNT(DISTINCT ?r) AS ?c) (COUNT(DISTINCT ?t) AS ?d) { ?s <e:name> ?n \
         BIND(STRUUID() AS ?r) BIND(NOW() AS ?t) FILTER(NOW() = ?t) { SELECT (NOW() AS ?u) { } } FILTER(?u = ?t) }",
        &[
            r#""2"^^<http://www.w3.org/2001/XMLSchema#integer> | "1"^^<http://www.w3.org/2001/XMLSchema#integer>"#,
        ],
    );
}

#[test]
fn exists_over_rand_is_computed_for_each_row() {
    let values = "(<e:a>)".repeat(300);
    for pattern in [
        "FILTER(RAND() < 0.5)",
        "{ SELECT * { BIND(RAND() AS ?r) } } FILTER(?r < 0.5)",
        "OPTIONAL { BIND(1 AS ?n) FILTER(RAND() < 0.5) } FILTER(BOUND(?n))",
    ] {
        let query =
            format!("SELECT ?x {{ VALUES (?x) {{ {values} }} FILTER EXISTS {{ {pattern} }} }}");
        let found = rows(&store("").snapshot(), &query, &QueryOptions::default()).len();
        assert!((1..300).contains(&found), "{pattern}: {found}");
    }
}
