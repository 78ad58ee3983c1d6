//! Prepared queries with parameters: what comes out is what the query with the terms written in it gives.

mod common;

use common::{add, line, store};
use oxrdf::{Literal, NamedNode, Term, Variable};
use quadrille_sparql::{PreparedQuery, Query, QueryError, QueryOptions, QueryResults};
use quadrille_store::Snapshot;

const DATA: &str = "
<e:a> <e:p> <e:b> .
<e:b> <e:p> <e:c> .
<e:a> <e:n> \"1\"^^<http://www.w3.org/2001/XMLSchema#integer> .
<e:b> <e:n> \"2\"^^<http://www.w3.org/2001/XMLSchema#integer> .
<e:c> <e:n> \"3\"^^<http://www.w3.org/2001/XMLSchema#integer> .
<e:a> <e:p> <e:c> <e:g> .
";

fn prepare(query: &str, parameters: &[&str]) -> quadrille_sparql::Result<PreparedQuery> {
    let parameters: Vec<Variable> = parameters
        .iter()
        .map(|name| Variable::new_unchecked(*name))
        .collect();
    Query::parse(query, None)?.with_parameters(&parameters)
}

fn run(
    query: &PreparedQuery,
    snapshot: &Snapshot,
    terms: &[(&str, Term)],
) -> quadrille_sparql::Result<Vec<String>> {
    let options = QueryOptions {
        substitutions: terms
            .iter()
            .map(|(name, term)| (Variable::new_unchecked(*name), term.clone()))
            .collect(),
        ..QueryOptions::default()
    };
    let mut lines: Vec<String> = match query.execute(snapshot, &options)? {
        QueryResults::Boolean(value) => vec![value.to_string()],
        QueryResults::Solutions(solutions) => solutions
            .map(|solution| Ok(line(solution?.values())))
            .collect::<quadrille_sparql::Result<_>>()?,
        QueryResults::Graph(triples) => triples
            .map(|triple| Ok(triple?.to_string()))
            .collect::<quadrille_sparql::Result<_>>()?,
    };
    lines.sort();
    Ok(lines)
}

fn iri(name: &str) -> Term {
    NamedNode::new_unchecked(name).into()
}

#[test]
fn a_query_with_parameters_is_the_query_with_terms() {
    let snapshot = store(DATA).snapshot();
    for query in [
        "SELECT ?o { ?s <e:p> ?o }",
        "SELECT ?x ?n { ?x <e:n> ?n . FILTER(?n > ?least) }",
        "SELECT ?x { ?x <e:n> ?n OPTIONAL { ?x <e:p> ?y FILTER(?n > ?least) } FILTER(BOUND(?y)) }",
        "SELECT ?x { ?x <e:n> ?n FILTER EXISTS { ?x <e:p> ?s } }",
        "SELECT ?x { ?x <e:n> ?n FILTER EXISTS { ?s <e:p> ?x FILTER(?n > ?least) } }",
        "SELECT ?x { ?x <e:n> ?n MINUS { ?x <e:p> ?y . ?y <e:n> ?m FILTER(?m > ?least) } }",
        "SELECT ?n { { ?s <e:n> ?n } UNION { ?x <e:p> ?s . ?x <e:n> ?n } }",
        "SELECT (SUM(?n + ?least) AS ?sum) { ?x <e:n> ?n }",
        "SELECT ?x (?n + ?least AS ?m) { ?x <e:n> ?n } ORDER BY ?n",
        "SELECT ?o { GRAPH ?g { ?s <e:p> ?o } }",
        "SELECT ?o { GRAPH ?g { ?s <e:p> ?o OPTIONAL { ?o <e:p> ?z } } }",
        "ASK { ?s <e:n> ?least }",
        "CONSTRUCT { ?s <e:q> ?o . ?o <e:least> ?least } { ?s <e:p> ?o }",
        "DESCRIBE ?s",
        "SELECT ?x { ?x <e:n> ?least }",
    ] {
        let prepared = prepare(query, &["s", "least", "g"]).expect(query);
        for (subject, least) in [("e:a", 1), ("e:b", 2), ("e:c", 3), ("e:nobody", 4)] {
            let written = query
                .replace("DESCRIBE ?s", &format!("DESCRIBE <{subject}>"))
                .replace("?s ", &format!("<{subject}> "))
                .replace("?s}", &format!("<{subject}>}}"))
                .replace("?least", &least.to_string())
                .replace("?g ", "<e:g> ");
            let written = Query::parse(&written, None).expect(&written);
            let terms = [
                ("s", iri(subject)),
                ("least", Literal::from(least).into()),
                ("g", iri("e:g")),
            ];
            assert_eq!(
                run(&prepared, &snapshot, &terms).expect(query),
                run(&written, &snapshot, &[]).expect(query),
                "{query} with {subject} and {least}"
            );
        }
    }
}

#[test]
fn a_parameter_is_bound_in_every_row() {
    let snapshot = store(DATA).snapshot();
    let ask = |query: &str| {
        let prepared = prepare(query, &["v"]).expect(query);
        run(&prepared, &snapshot, &[("v", iri("e:b"))]).expect(query)
    };
    assert_eq!(ask("SELECT ?v { }"), ["<e:b>"]);
    assert_eq!(
        ask("SELECT ?x ?v { ?x <e:n> 3 OPTIONAL { ?x <e:p> ?v } }"),
        ["<e:c> | <e:b>"]
    );
    assert_eq!(ask("SELECT ?x ?v { ?x <e:p> ?v }"), ["<e:a> | <e:b>"]);
    assert_eq!(ask("SELECT ?v { VALUES ?v { <e:a> <e:b> } }"), ["<e:b>"]);
    assert_eq!(
        ask("SELECT ?x { ?x <e:p> ?v { SELECT ?x { ?x <e:p> ?v } } }"),
        ["<e:a>"]
    );
}

#[test]
fn what_cannot_be_a_parameter_is_an_error() {
    let snapshot = store(DATA).snapshot();
    for query in [
        "SELECT * { BIND(1 AS ?v) }",
        "SELECT (COUNT(*) AS ?v) { ?s ?p ?o }",
    ] {
        let result = prepare(query, &["v"]);
        assert!(
            matches!(result, Err(QueryError::Parameter { .. })),
            "{query}"
        );
    }
    let query = prepare("ASK { ?v ?p ?o }", &["v"]).expect("a query");
    let result = run(&query, &snapshot, &[("o", iri("e:b"))]);
    assert!(matches!(result, Err(QueryError::Parameter { .. })));
    // Without a term it is a variable.
    assert_eq!(run(&query, &snapshot, &[]).expect("an answer"), ["true"]);
}

#[test]
fn a_prepared_query_remembers_no_id_of_another_store() {
    let queries = [
        "SELECT ?o { <e:a> <e:p> ?o }",
        "SELECT ?s { ?s <e:p> \"text\" }",
        "SELECT ?o { <e:a> <e:p>+ ?o }",
        "SELECT ?s { ?s <e:p> <e:later> }",
    ];
    // The same terms have other numbers in each.
    let stores = [
        store("<e:a> <e:p> <e:b> .\n<e:a> <e:p> \"text\" .\n"),
        store(
            "<e:0> <e:1> <e:2> .\n<e:a> <e:p> <e:z> .\n<e:b> <e:p> \"text\" .\n<e:z> <e:p> <e:a> .",
        ),
        store("<e:p> <e:p> <e:p> ."),
    ];
    for query in queries {
        let prepared = prepare(query, &[]).expect(query);
        for round in 0..3 {
            for store in &stores {
                let snapshot = store.snapshot();
                let found = run(&prepared, &snapshot, &[]).expect(query);
                let fresh = run(&prepare(query, &[]).expect(query), &snapshot, &[]).expect(query);
                assert_eq!(found, fresh, "{query}, round {round}");
            }
            // A commit brings another dictionary; terms that were missing may be there now.
            for (number, store) in stores.iter().enumerate() {
                add(
                    store,
                    &format!("<e:n{number}{round}> <e:p> <e:later> .\n<e:a> <e:p> <e:n{round}> ."),
                );
            }
        }
    }
}
