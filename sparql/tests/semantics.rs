//! Points of the language where engines go wrong, each with the answer that the specification gives.

mod common;

use common::{rows, store, try_rows};
use quadrille_sparql::{CancellationToken, Query, QueryError, QueryOptions, QueryResults};
use std::fmt::Write;
use std::time::Duration;

const DATA: &str = r#"
<e:a> <e:p> <e:b> .
<e:a> <e:p> <e:a> .
<e:b> <e:p> <e:c> .
<e:a> <e:age> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .
<e:b> <e:age> "01"^^<http://www.w3.org/2001/XMLSchema#integer> .
<e:c> <e:age> "1.0"^^<http://www.w3.org/2001/XMLSchema#decimal> .
<e:d> <e:age> "NaN"^^<http://www.w3.org/2001/XMLSchema#double> .
<e:e> <e:age> "old" .
<e:f> <e:age> "x"^^<e:unknown> .
<e:g> <e:age> "abc"^^<http://www.w3.org/2001/XMLSchema#integer> .
<e:h> <e:born> "2020-01-01"^^<http://www.w3.org/2001/XMLSchema#date> .
<e:i> <e:born> "2021-01-01"^^<http://www.w3.org/2001/XMLSchema#date> .
<e:s> <e:p> <e:o> <e:g1> .
<e:s> <e:p> <e:o> <e:g2> .
<e:g1> <e:p> <e:o> <e:g1> .
"#;

fn ask(query: &str) -> Vec<String> {
    rows(&store(DATA).snapshot(), query, &QueryOptions::default())
}

#[test]
fn identity_is_not_value() {
    assert_eq!(ask("SELECT ?x { ?x <e:age> 1 }"), ["<e:a>"]);
    assert_eq!(
        ask("SELECT ?x { ?x <e:age> ?a FILTER(?a = 1) }"),
        ["<e:a>", "<e:b>", "<e:c>"]
    );
    assert_eq!(
        ask("SELECT ?x { ?x <e:age> ?a FILTER(sameTerm(?a, 1)) }"),
        ["<e:a>"]
    );
    assert_eq!(
        ask("SELECT ?x { ?x <e:age> ?a FILTER(?a IN (1.0, \"old\")) }"),
        ["<e:a>", "<e:b>", "<e:c>", "<e:e>"]
    );
    assert_eq!(
        ask("SELECT DISTINCT ?a { ?x <e:age> ?a FILTER(?a = 1) }").len(),
        3
    );
}

#[test]
fn not_a_number_is_not_equal_to_itself() {
    assert_eq!(
        ask("SELECT ?x { ?x <e:age> ?a . ?x <e:age> ?b FILTER(?a = ?b && isNumeric(?a)) }"),
        ["<e:a>", "<e:b>", "<e:c>"]
    );
    assert_eq!(
        ask("SELECT ?x { ?x <e:age> ?a FILTER(isNumeric(?a) && !(?a < 5)) }"),
        ["<e:d>"]
    );
}

#[test]
fn what_nobody_knows_is_an_error() {
    // Whether a literal of an unknown type is equal to a number, or not equal, is not known.
    assert!(
        ask("SELECT ?x { ?x <e:age> ?a FILTER(?a = 1 && isLiteral(?a) && ?x = <e:f>) }").is_empty()
    );
    assert!(ask("SELECT ?x { ?x <e:age> ?a FILTER(?a != 1 && ?x = <e:f>) }").is_empty());
    // But it is equal to itself.
    assert_eq!(
        ask("SELECT ?x { ?x <e:age> ?a FILTER(?a = \"x\"^^<e:unknown>) }"),
        ["<e:f>"]
    );
    // An ill-typed number is no number.
    assert_eq!(
        ask("SELECT ?x { ?x <e:age> ?a FILTER(isNumeric(?a)) }"),
        ["<e:a>", "<e:b>", "<e:c>", "<e:d>"]
    );
    // Its effective boolean value is an error, as is that of an unknown type (SPARQL 1.2, section 17.2.2).
    assert_eq!(ask("SELECT ?x { ?x <e:age> ?a FILTER(!?a) }"), ["<e:d>"]);
}

#[test]
fn errors_in_conditions_follow_the_truth_table() {
    // Section 17.2: true || error is true, false && error is false, all else with an error is an error.
    assert_eq!(ask("ASK { FILTER(true || 1/0 = 1) }"), ["true"]);
    assert_eq!(ask("ASK { FILTER(1/0 = 1 || true) }"), ["true"]);
    assert_eq!(ask("ASK { FILTER(!(false && 1/0 = 1)) }"), ["true"]);
    assert_eq!(ask("ASK { FILTER(!(1/0 = 1 && true)) }"), ["false"]);
    assert_eq!(ask("ASK { FILTER(!(1/0 = 1 || false)) }"), ["false"]);
    assert_eq!(ask("ASK { FILTER(1 IN (1/0, 1)) }"), ["true"]);
    assert_eq!(ask("ASK { FILTER(2 NOT IN (1/0, 1)) }"), ["false"]);
    assert_eq!(ask("ASK { FILTER(2 NOT IN ()) }"), ["true"]);
}

#[test]
fn dates_and_booleans_are_ordered() {
    assert_eq!(
        ask(
            "SELECT ?x { ?x <e:born> ?d FILTER(?d < \"2020-06-01\"^^<http://www.w3.org/2001/XMLSchema#date>) }"
        ),
        ["<e:h>"]
    );
    assert_eq!(ask("ASK { FILTER(false < true) }"), ["true"]);
    // IRIs are not in the table of operators (section 17.3).
    assert_eq!(ask("ASK { FILTER(<e:a> <= <e:a>) }"), ["false"]);
}

#[test]
fn derived_integers_have_their_range() {
    // The example of section 17.4.2.4.
    assert_eq!(
        ask("ASK { FILTER(isNumeric(\"1200\"^^<http://www.w3.org/2001/XMLSchema#byte>)) }"),
        ["false"]
    );
    assert_eq!(
        ask("ASK { FILTER(isNumeric(\"12\"^^<http://www.w3.org/2001/XMLSchema#byte>)) }"),
        ["true"]
    );
    assert_eq!(
        ask(
            "ASK { FILTER(isNumeric(\"123456789012345678901234567890\"^^<http://www.w3.org/2001/XMLSchema#integer>)) }"
        ),
        ["true"]
    );
    assert_eq!(
        ask("ASK { FILTER(isNumeric(\"-1\"^^<http://www.w3.org/2001/XMLSchema#unsignedInt>)) }"),
        ["false"]
    );
}

#[test]
fn the_form_of_a_term_stays() {
    assert_eq!(
        ask("SELECT ?x { ?x <e:age> ?a FILTER(STR(?a) = \"01\") }"),
        ["<e:b>"]
    );
    assert_eq!(
        ask(
            "SELECT ?x { ?x <e:age> ?a FILTER(DATATYPE(?a) = <http://www.w3.org/2001/XMLSchema#decimal>) }"
        ),
        ["<e:c>"]
    );
    assert_eq!(
        ask("SELECT ?x { ?x <e:age> ?a FILTER(sameTerm(STR(?a), \"old\")) }"),
        ["<e:e>"]
    );
    assert_eq!(
        ask("SELECT ?x { ?x <e:age> ?a FILTER(sameTerm(?a + 0, 1)) }"),
        ["<e:a>", "<e:b>"]
    );
    assert_eq!(
        ask("SELECT ?x { ?x <e:p> ?y FILTER(STR(?y) = \"e:c\") }"),
        ["<e:b>"]
    );
}

#[test]
fn the_same_variable_twice() {
    assert_eq!(ask("SELECT ?x { ?x <e:p> ?x }"), ["<e:a>"]);
    assert_eq!(
        ask("SELECT ?x ?y { ?x <e:p> ?y . ?x <e:p> ?x }"),
        ["<e:a> | <e:a>", "<e:a> | <e:b>"]
    );
    assert_eq!(ask("SELECT ?x { GRAPH ?x { ?x <e:p> ?o } }"), ["<e:g1>"]);
}

#[test]
fn duplicates_are_kept() {
    assert_eq!(
        ask("SELECT ?x { ?x <e:p> ?y }"),
        ["<e:a>", "<e:a>", "<e:b>"]
    );
    assert_eq!(
        ask("SELECT ?x { ?x <e:p> [] }"),
        ["<e:a>", "<e:a>", "<e:b>"]
    );
    assert_eq!(ask("SELECT ?s { GRAPH ?g { ?s <e:p> <e:o> } }").len(), 3);
    assert_eq!(
        ask("SELECT ?missing { ?x <e:p> ?y }"),
        ["UNBOUND", "UNBOUND", "UNBOUND"]
    );
    assert_eq!(ask("SELECT DISTINCT ?missing { ?x <e:p> ?y }"), ["UNBOUND"]);
    assert_eq!(
        ask("SELECT DISTINCT ?x { ?x <e:p> ?y }"),
        ["<e:a>", "<e:b>"]
    );
    let reduced = ask("SELECT REDUCED ?x { ?x <e:p> ?y }");
    assert!((2..=3).contains(&reduced.len()), "{reduced:?}");
}

#[test]
fn the_default_graph_is_not_the_union() {
    assert!(ask("SELECT ?s { ?s <e:p> <e:o> }").is_empty());
    assert_eq!(
        ask("SELECT ?s { GRAPH <e:g2> { ?s <e:p> <e:o> } }"),
        ["<e:s>"]
    );
    assert!(ask("SELECT ?g { GRAPH ?g { <e:a> <e:p> <e:b> } }").is_empty());
}

#[test]
fn a_graph_variable_is_bound_after_its_block() {
    // Section 18.6: the pattern is evaluated for each graph, and the variable joined to the result.
    assert!(ask("SELECT ?s ?g { GRAPH ?g { ?s <e:p> <e:o> FILTER(?g = <e:g2>) } }").is_empty());
    assert_eq!(
        ask("SELECT ?s ?g { GRAPH ?g { ?s <e:p> <e:o> FILTER(!BOUND(?g)) } }").len(),
        3
    );
    assert_eq!(
        ask("SELECT ?s ?g { GRAPH ?g { ?s <e:p> <e:o> } FILTER(?g = <e:g2>) }"),
        ["<e:s> | <e:g2>"]
    );
}

#[test]
fn a_condition_sees_its_group_only() {
    assert!(ask("SELECT ?x { ?x <e:p> ?y . { ?z <e:age> ?a FILTER(?x = ?x) } }").is_empty());
    assert_eq!(
        ask("ASK { ?x <e:p> ?y . { ?z <e:age> ?a FILTER(!BOUND(?x)) } }"),
        ["true"]
    );
}

#[test]
fn no_pattern_has_one_solution() {
    assert_eq!(ask("ASK {}"), ["true"]);
    assert_eq!(ask("SELECT * {}"), [""]);
    assert_eq!(ask("SELECT ?x { FILTER(1 = 2) }"), [] as [&str; 0]);
    assert_eq!(ask("SELECT ?x { <e:a> <e:p> <e:b> }"), ["UNBOUND"]);
    assert!(ask("SELECT ?x { <e:a> <e:p> <e:nowhere> }").is_empty());
    assert_eq!(ask("ASK { <e:a> <e:p> <e:b> . ?x <e:p> ?x }"), ["true"]);
}

#[test]
fn triple_terms_without_variables_are_constants() {
    let store = store(
        "<e:s> <e:says> <<( <e:a> <e:b> \"c\" )>> .\n<e:t> <e:says> <<( <e:a> <e:b> <e:c> )>> .",
    );
    let snapshot = store.snapshot();
    let options = QueryOptions::default();
    assert_eq!(
        rows(
            &snapshot,
            "SELECT ?s { ?s <e:says> <<( <e:a> <e:b> \"c\" )>> }",
            &options
        ),
        ["<e:s>"]
    );
    assert_eq!(
        rows(
            &snapshot,
            "SELECT ?s { ?s <e:says> ?t FILTER(isTRIPLE(?t) && ?t = <<( <e:a> <e:b> <e:c> )>>) }",
            &options
        )
        .len(),
        1
    );
}

#[test]
fn an_empty_store_answers() {
    let store = store("");
    let snapshot = store.snapshot();
    let options = QueryOptions::default();
    assert_eq!(rows(&snapshot, "ASK { ?s ?p ?o }", &options), ["false"]);
    assert!(
        rows(
            &snapshot,
            "SELECT * { ?s ?p ?o . GRAPH ?g { ?s ?q ?r } }",
            &options
        )
        .is_empty()
    );
}

#[test]
fn a_limit_stops_early() {
    let mut text = String::new();
    for index in 0..3_000 {
        writeln!(text, "<e:{index}> <e:p> \"{index}\" .").unwrap();
    }
    let store = store(&text);
    // 27 billion rows if it did not.
    let rows = rows(
        &store.snapshot(),
        "SELECT * { ?a <e:p> ?b . ?c <e:p> ?d . ?e <e:p> ?f } OFFSET 5 LIMIT 10",
        &QueryOptions::default(),
    );
    assert_eq!(rows.len(), 10);
}

#[test]
fn functions_see_the_terms_of_their_variables() {
    assert_eq!(
        ask("SELECT ?x { ?x <e:p> ?y FILTER(REGEX(STR(?y), \"^E:[c-z]$\", \"i\")) }"),
        ["<e:b>"]
    );
    assert_eq!(
        ask("SELECT ?x { ?x <e:p> ?y FILTER(IRI(CONCAT(STR(?x), \"\")) = ?y) }"),
        ["<e:a>"]
    );
    assert_eq!(
        ask("SELECT ?x { ?x <e:age> ?a FILTER(STRDT(STR(?a), DATATYPE(?a)) = 1) }"),
        ask("SELECT ?x { ?x <e:age> ?a FILTER(?a = 1) }")
    );
    // The base of the query is that of IRI.
    assert_eq!(
        ask("BASE <http://e/> ASK { FILTER(IRI(\"x\") = <http://e/x>) }"),
        ["true"]
    );
    assert_eq!(ask("ASK { FILTER(isIRI(IRI(\"x\"))) }"), ["false"]);
}

#[test]
fn an_iri_that_the_store_does_not_know_is_not_equal() {
    assert_eq!(
        ask("SELECT ?x { ?x <e:age> ?a FILTER(!(?a = <e:nowhere>)) }").len(),
        ask("SELECT ?x { ?x <e:age> ?a }").len()
    );
    assert!(ask("SELECT ?x { ?x <e:age> ?a FILTER(?a IN (<e:nowhere>)) }").is_empty());
}

#[test]
fn what_is_random_is_so_for_each_solution() {
    let mut text = String::new();
    for index in 0..400 {
        writeln!(text, "<e:a> <e:p> \"{index}\" .").unwrap();
    }
    writeln!(text, "<e:a> <e:q> <e:b> .").unwrap();
    let store = store(&text);
    let count = |query: &str| rows(&store.snapshot(), query, &QueryOptions::default()).len();
    // One variable with one term, and 400 solutions.
    for query in [
        "SELECT ?o { ?s <e:p> ?o FILTER(RAND() < 0.5) }",
        "SELECT ?o { ?s <e:p> ?o . ?s <e:q> ?x FILTER(isIRI(?x) && STRLEN(STR(?x)) * RAND() < 1.5) }",
        "SELECT ?o { ?s <e:p> ?o FILTER(STRENDS(STRUUID(), \"1\") || isBLANK(?s) || RAND() < 0.5) }",
    ] {
        let found = count(query);
        assert!((100..=320).contains(&found), "{query}: {found}");
    }
    assert_eq!(
        count("SELECT ?o { ?s <e:p> ?o FILTER(NOW() = NOW()) }"),
        400
    );
}

#[test]
fn whatever_is_missing_is_named() {
    let snapshot = store(DATA).snapshot();
    let cases = [(
        "SELECT * { ?s ?p ?o FILTER(<http://www.w3.org/2001/XMLSchema#integer>(?o, 1)) }",
        "the function <http://www.w3.org/2001/XMLSchema#integer> with 2 arguments",
    )];
    for (query, feature) in cases {
        match try_rows(&snapshot, query, &QueryOptions::default()) {
            Err(QueryError::Unsupported { feature: found }) => {
                assert_eq!(found, feature, "{query}");
            }
            other => panic!("{query}: {other:?}"),
        }
    }
}

#[test]
fn bad_queries_are_errors() {
    for query in [
        "",
        "SELECT",
        "SELECT * { ?s ?p",
        "SELECT ?x { ?x <e:p> \"open }",
    ] {
        assert!(
            matches!(Query::parse(query, None), Err(QueryError::Syntax(_))),
            "{query}"
        );
    }
    assert!(matches!(
        Query::parse("ASK {}", Some("no base")),
        Err(QueryError::BaseIri { .. })
    ));
    assert!(Query::parse("ASK { <a> <b> <c> }", Some("http://example.com/")).is_ok());
}

#[test]
fn deep_nesting_is_an_error() {
    let nested = |open: &str, close: &str, times: usize| {
        format!(
            "SELECT * {{ ?s ?p ?o FILTER({}1{} = 1) }}",
            open.repeat(times),
            close.repeat(times)
        )
    };
    let too_deep = [
        nested("(", ")", 2_000),
        nested("!", "", 100_000),
        nested("!", "", 1_500),
        nested("1 + ", "", 1_500),
        nested("((1 + 1) * (", "))", 40),
        format!("ASK {{ FILTER(1 = 1{}) }}", " || 1 = 2".repeat(100_000)),
        format!("SELECT * {}{}", "{".repeat(2_000), "}".repeat(2_000)),
        format!(
            "SELECT * {{ ?s ?p {}1{} }}",
            "(".repeat(2_000),
            ")".repeat(2_000)
        ),
        format!("SELECT * {{ {} }}", "{ ?s ?p ?o } ".repeat(10_000)),
        format!(
            "SELECT * {{ ?s ?p ?o {} }}",
            "FILTER(?s = ?o) ".repeat(10_000)
        ),
        format!("SELECT * {{ {} }}", "?s ?p ?o, 1 . ".repeat(10_000)),
    ];
    for query in too_deep {
        let start: String = query.chars().take(60).collect();
        let result = Query::parse(&query, None);
        assert!(
            matches!(result, Err(QueryError::Limit { .. })),
            "{start}: {result:?}"
        );
    }
    // Up to the bounds all is well.
    let snapshot = store(DATA).snapshot();
    let deep = [
        nested("(", ")", 62),
        nested("!", "", 190),
        nested("1 + ", "", 190),
        format!("ASK {{ FILTER(1 = 1{}) }}", " || 1 = 2".repeat(950)),
        format!("ASK {{ FILTER(1 = 1{}) }}", " && 1 = 1".repeat(950)),
        format!("ASK {{ {} }}", "{ ?s ?p ?o } ".repeat(100)),
        format!("ASK {{ ?s ?p ?o {} }}", "FILTER(?s = ?o) ".repeat(1_500)),
    ];
    for query in deep {
        let start: String = query.chars().take(60).collect();
        let rows = try_rows(&snapshot, &query, &QueryOptions::default());
        assert!(rows.is_ok(), "{start}: {rows:?}");
    }
    let mut chain = String::new();
    for at in 0..100 {
        write!(chain, "?v{at} <e:p> ?v{} . ", at + 1).unwrap();
    }
    assert_eq!(ask(&format!("ASK {{ {chain} }}")), ["true"]);
    // Brackets in strings, IRIs and comments are none; hyphens of names and tags are no operators; and each element of a list
    // is an expression of its own.
    let text = format!(
        "ASK {{ <e:a> <e:p> \"{0}\", '''{0}''' }} # {0}\n",
        "(".repeat(500)
    );
    assert!(Query::parse(&text, None).is_ok());
    let list = "e:a-b-c-d, \"x\"@de-ch-1996, 1 - 2,".repeat(1_000);
    let query = format!("PREFIX e: <e:> ASK {{ e:s e:p ?x FILTER(?x IN ({list} 1)) }}");
    assert!(Query::parse(&query, None).is_ok());
}

#[test]
fn a_cancelled_query_ends_with_an_error() {
    let mut text = String::new();
    for index in 0..3_000 {
        writeln!(text, "<e:{index}> <e:p> \"{index}\" .").unwrap();
    }
    let store = store(&text);
    let token = CancellationToken::new();
    let options = QueryOptions {
        cancellation: Some(token.clone()),
        ..QueryOptions::default()
    };
    let query = Query::parse("SELECT * { ?a <e:p> ?b . ?c <e:p> ?d }", None).expect("a query");
    let QueryResults::Solutions(mut solutions) =
        query.execute(&store.snapshot(), &options).expect("rows")
    else {
        panic!("a SELECT");
    };
    assert!(solutions.next().expect("a row").is_ok());
    token.cancel();
    let error = solutions
        .find_map(Result::err)
        .expect("an error after the current batch");
    assert!(matches!(error, QueryError::Cancelled), "{error}");
    assert!(solutions.next().is_none(), "nothing comes after an error");
    assert!(matches!(
        query.execute(&store.snapshot(), &options),
        Err(QueryError::Cancelled)
    ));
}

#[test]
fn a_time_limit_ends_with_an_error() {
    let store = store(DATA);
    let options = QueryOptions {
        timeout: Some(Duration::ZERO),
        ..QueryOptions::default()
    };
    let error =
        try_rows(&store.snapshot(), "SELECT * { ?s ?p ?o }", &options).expect_err("no time");
    assert_eq!(
        error.to_string(),
        "the query was stopped after its time limit of 0ns"
    );
}

#[test]
fn results_outlive_their_store() {
    fn rows_of_a_store_that_is_gone() -> QueryResults {
        let store = store(DATA);
        let query = Query::parse("SELECT * { ?s ?p ?o }", None).expect("a query");
        query
            .execute(&store.snapshot(), &QueryOptions::default())
            .expect("rows")
    }
    let QueryResults::Solutions(solutions) = rows_of_a_store_that_is_gone() else {
        panic!("a SELECT");
    };
    let rows = std::thread::spawn(move || solutions.count())
        .join()
        .expect("a thread");
    assert_eq!(rows, 12);
}
