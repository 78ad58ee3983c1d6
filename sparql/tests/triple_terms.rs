//! Triple terms with variables in them (SPARQL 1.2): plain cases, and random ones against `spareval`.

mod common;

use common::{Random, dataset, oracle_rows, rows, store};
use quadrille_sparql::{PlannerOptions, Query, QueryOptions};
use std::fmt::Write;

const DATA: &str = r#"
<e:r1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( <e:a> <e:p> <e:b> )>> .
<e:r2> <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( <e:a> <e:p> "1" )>> .
<e:r3> <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( <e:b> <e:q> <e:b> )>> .
<e:r4> <e:says> <<( <e:c> <e:p> <<( <e:a> <e:p> <e:b> )>> )>> .
<e:r5> <e:says> <e:b> <e:g> .
<e:r5> <e:says> <<( <e:b> <e:p> <e:a> )>> <e:g> .
<e:a> <e:p> <e:b> .
<e:r1> <e:source> <e:book> .
<e:r3> <e:source> <e:letter> .
"#;

fn options(batch_rows: usize, lookup_joins: bool) -> QueryOptions {
    QueryOptions {
        batch_rows,
        planner: PlannerOptions {
            lookup_joins,
            ..PlannerOptions::default()
        },
        ..QueryOptions::default()
    }
}

#[test]
fn variables_in_triple_terms_are_bound() {
    let store = store(DATA);
    let snapshot = store.snapshot();
    let cases: [(&str, &[&str]); 14] = [
        (
            "SELECT ?o { << <e:a> <e:p> ?o >> <e:source> ?w }",
            &["<e:b>"],
        ),
        (
            "SELECT ?s ?o ?w { << ?s ?p ?o >> <e:source> ?w }",
            &["<e:a> | <e:b> | <e:book>", "<e:b> | <e:b> | <e:letter>"],
        ),
        (
            "SELECT ?r ?o { ?r ?q <<( <e:a> ?p ?o )>> }",
            &["<e:r1> | <e:b>", "<e:r2> | \"1\""],
        ),
        ("SELECT ?r { ?r ?q <<( ?x ?p ?x )>> }", &["<e:r3>"]),
        (
            "SELECT ?x { ?r ?q <<( ?x <e:p> <<( ?y <e:p> ?z )>> )>> }",
            &["<e:c>"],
        ),
        // The triple itself stands in the graph, too.
        (
            "SELECT ?r { ?r ?q <<( ?s ?p ?o )>> . ?s ?p ?o }",
            &["<e:r1>"],
        ),
        ("SELECT ?r { ?s ?p ?o {| <e:source> ?r |} }", &["<e:book>"]),
        (
            "SELECT ?r ?o { GRAPH ?g { ?r <e:says> <<( <e:b> ?p ?o )>> } }",
            &["<e:r5> | <e:a>"],
        ),
        (
            "SELECT ?o { VALUES ?o { <e:b> <e:z> } ?r ?q <<( <e:a> ?p ?o )>> }",
            &["<e:b>"],
        ),
        (
            "SELECT ?w { VALUES ?t { <<( <e:a> <e:p> <e:b> )>> <<( <e:z> <e:p> 1 )>> } ?r ?q ?t ; <e:source> ?w }",
            &["<e:book>"],
        ),
        (
            "SELECT ?r { BIND(TRIPLE(<e:a>, <e:p>, <e:b>) AS ?t) ?r ?q ?t }",
            &["<e:r1>"],
        ),
        (
            "SELECT ?s { ?r <e:says> ?t FILTER(isTRIPLE(?t)) BIND(SUBJECT(OBJECT(?t)) AS ?s) }",
            &["<e:a>"],
        ),
        (
            "SELECT ?w ?o { ?r <e:source> ?w OPTIONAL { ?r ?q <<( <e:a> ?p ?o )>> } }",
            &["<e:book> | <e:b>", "<e:letter> | UNBOUND"],
        ),
        (
            "SELECT ?w { ?r <e:source> ?w FILTER NOT EXISTS { ?r ?q <<( <e:a> ?p ?o )>> } }",
            &["<e:letter>"],
        ),
    ];
    for (query, expected) in cases {
        for options in [options(1024, true), options(1, true), options(2, false)] {
            assert_eq!(rows(&snapshot, query, &options), expected, "{query}");
        }
    }
}

#[test]
fn a_plan_takes_triple_terms_apart_or_looks_for_them() {
    let mut text = DATA.to_owned();
    for number in 0..1_000 {
        writeln!(
            text,
            "<e:n{number}> <e:says> <<( <e:s{number}> <e:p> <e:o> )>> ."
        )
        .unwrap();
    }
    let store = store(&text);
    let explain = |query: &str| {
        Query::parse(query, None)
            .expect("a query")
            .explain(&store.snapshot(), &QueryOptions::default())
            .expect("a plan")
    };
    let plan = explain("SELECT * { ?r <e:source> <e:book> ; ?q <<( ?s <e:p> ?o )>> }");
    assert!(plan.contains("TripleTermTakenApart"), "{plan}");
    let plan = explain("SELECT * { ?r <e:says> <<( <e:s7> ?p ?o )>> }");
    assert!(plan.contains("TripleTermJoin"), "{plan}");
}

/// A term for a place of a triple, with one of three names.
fn term(random: &mut Random, variables: bool) -> String {
    match random.below(if variables { 6 } else { 3 }) {
        number @ 0..=2 => format!("<e:{number}>"),
        3 => "?x".to_owned(),
        4 => "?y".to_owned(),
        _ => "?z".to_owned(),
    }
}

fn triple(random: &mut Random, variables: bool, depth: usize) -> String {
    let (subject, predicate) = (term(random, variables), term(random, variables));
    let object = if depth > 0 && random.one_in(2) {
        format!("<<( {} )>>", triple(random, variables, depth - 1))
    } else {
        term(random, variables)
    };
    format!("{subject} {predicate} {object}")
}

#[test]
fn random_triple_terms_agree_with_the_oracle() {
    let number = |variable: &str, default: u64| {
        let text = std::env::var(variable).ok();
        text.and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let first = number("QUADRILLE_SEED", 1);
    for seed in first..first + number("QUADRILLE_CASES", 100) {
        let mut random = Random(seed);
        let mut text = String::new();
        for _ in 0..20 {
            writeln!(text, "{} .", triple(&mut random, false, 2)).unwrap();
        }
        let store = store(&text);
        let snapshot = store.snapshot();
        let dataset = dataset(&snapshot);
        for _ in 0..8 {
            let (first, second) = (triple(&mut random, true, 2), triple(&mut random, true, 1));
            let body = match random.below(4) {
                0 => first,
                1 => format!("{first} . {second}"),
                2 => format!("{second} OPTIONAL {{ {first} }}"),
                _ => format!("{{ {first} }} UNION {{ {second} }}"),
            };
            let query = format!("SELECT ?x ?y ?z {{ {body} }}");
            let expected = oracle_rows(&dataset, &query);
            for options in [options(1024, true), options(1, true), options(3, false)] {
                assert_eq!(
                    rows(&snapshot, &query, &options),
                    expected,
                    "seed {seed}: {query}\n{options:?}"
                );
            }
        }
    }
}
