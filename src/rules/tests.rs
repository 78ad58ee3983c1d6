//! What becomes of queries as rules: against the queries themselves, asked by an independent evaluator until nothing is new.

use super::*;
use oxrdf::{Dataset, GraphName, NamedNode, Quad, Term};
use quadrille_reason::{InferOptions, Profile, infer};
use quadrille_store::Store;
use spareval::{QueryEvaluator, QueryResults};
use std::collections::BTreeSet;

const PREFIX: &str = "PREFIX : <http://example.org/>\n";

/// A small graph where everything is related to something, with literals.
fn data() -> Vec<Quad> {
    let node = |name: String| NamedNode::new_unchecked(format!("http://example.org/{name}"));
    // One is related to itself.
    let itself = (node("x7".to_owned()), node("p2".to_owned()));
    let mut quads = vec![Quad::new(
        itself.0.clone(),
        itself.1,
        itself.0,
        GraphName::DefaultGraph,
    )];
    for number in 0_usize..12 {
        for step in 1..4 {
            let predicate = node(format!("p{}", (number * step) % 3));
            let object: Term = if (number + step) % 5 == 0 {
                oxrdf::Literal::from(step as i64).into()
            } else {
                node(format!("x{}", (number + step * step) % 12)).into()
            };
            let subject = node(format!("x{number}"));
            quads.push(Quad::new(
                subject,
                predicate,
                object,
                GraphName::DefaultGraph,
            ));
        }
    }
    quads
}

fn triples(store: &Store) -> BTreeSet<String> {
    let snapshot = store.snapshot();
    let quads = snapshot.quads();
    quads
        .map(|quad| {
            let quad = snapshot.quad(&quad.expect("memory"));
            quad.expect("its terms").to_string()
        })
        .collect()
}

/// The closure of the data under queries that are asked again and again.
fn closure(text: &str) -> BTreeSet<String> {
    let mut dataset: Dataset = data().into_iter().collect();
    loop {
        let before = dataset.len();
        for part in split(text) {
            let query = SparqlParser::new()
                .parse_query(&part.text)
                .expect("a query");
            let evaluator = QueryEvaluator::new();
            let results = evaluator.prepare(&query).execute(&dataset);
            let QueryResults::Graph(found) = results.expect("memory") else {
                panic!("no CONSTRUCT");
            };
            let found: Vec<_> = found.map(|triple| triple.expect("memory")).collect();
            for triple in found {
                dataset.insert(&triple.in_graph(GraphName::DefaultGraph));
            }
        }
        if dataset.len() == before {
            return dataset.iter().map(|quad| quad.to_string()).collect();
        }
    }
}

#[test]
fn rules_conclude_what_their_queries_do() {
    let texts = [
        "CONSTRUCT { ?x :far ?z } WHERE { ?x :p0 ?y . ?y :p1 ?z }",
        "CONSTRUCT { ?x :far ?z } { ?x :far ?y . ?y :far ?z } ; CONSTRUCT WHERE { ?x :p1 ?y . ?y :p2 ?z } ;
         CONSTRUCT { ?x :far ?y ; a :Start . ?y a :End } { ?x :p0 ?y }",
        "CONSTRUCT { ?x :either ?y } { { ?x :p0 ?y } UNION { ?y :p1 ?x } UNION { ?x :p2 [ :p0 ?y ] } }",
        // A variable that one alternative does not bind.
        "CONSTRUCT { ?x :one ?y . ?x :other ?z } { ?x a ?c . { ?x :p0 ?y } UNION { ?x :p1 ?z } } ;
         CONSTRUCT { ?x a :C } { ?x :p0 ?y }",
        "CONSTRUCT { ?x :q ?z } { ?x :p0 ?y . ?y :p1 ?z FILTER(?x != ?z) }",
        "CONSTRUCT { ?x :q ?z } { ?x :p0 ?y . ?y :p1 ?z FILTER(!(?x = ?z || ?y = :x3) && ?z != :x5) }",
        "CONSTRUCT { ?x :q ?z } { ?x :p0 ?y . ?z ?p ?y FILTER(sameTerm(?x, ?z) || ?x IN (:x1, :x2, ?z)) }",
        "CONSTRUCT { ?x :q ?y } { ?x ?p ?y FILTER(?p NOT IN (:p0, :p1)) FILTER(!sameTerm(?y, 2)) }",
        "CONSTRUCT { ?x :q ?v } { ?x :p0 ?y VALUES (?x ?v) { (:x0 :v) (:x1 \"w\") (UNDEF :u) } }",
        "CONSTRUCT { ?x :q ?y } { { ?x :p0 ?y FILTER(?x != :x1) } { ?x ?p ?z FILTER(?p = :p1) } }",
        "CONSTRUCT { ?x ?q ?x } { ?x ?p ?x VALUES ?q { :q :r } }",
        "PREFIX e: <http://example.org/> CONSTRUCT { ?x e:q \"a;b\" } { ?x e:p0 1 } ; # ;
         CONSTRUCT { ?x e:r ?y } { ?x e:q ?y FILTER(?x < 3 || true) }",
    ];
    let (last, texts) = texts.split_last().expect("some");
    for text in texts {
        let text = format!("{PREFIX}{text}");
        let rules = from_construct(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let store = Store::in_memory();
        store.insert_quads(data()).expect("memory");
        let options = InferOptions {
            rules,
            ..InferOptions::new(Profile::None)
        };
        let report = infer(&store, &options).expect("memory");
        assert!(report.derived > 0, "{text}");
        assert_eq!(triples(&store), closure(&text), "{text}");
    }
    let error = from_construct(&format!("{PREFIX}{last}")).expect_err("a comparison");
    assert_eq!((error.rule, error.line), (2, 3), "{error}");
}

#[test]
fn what_no_rule_has_is_an_error_that_names_it() {
    let cases = [
        ("SELECT * { ?x ?p ?y }", "CONSTRUCT"),
        ("CONSTRUCT { ?x :p ?y } { ?x :p ?y", "3:"),
        ("CONSTRUCT { ?x :p _:b } { ?x :p ?y }", "blank node"),
        ("CONSTRUCT { ?x :p [] } { ?x :p ?y }", "blank node"),
        ("CONSTRUCT { ?x :p ?z } { ?x :p ?y }", "?z"),
        ("CONSTRUCT { } { ?x :p ?y }", "head"),
        ("CONSTRUCT { :a :p :b } { }", "body"),
        ("CONSTRUCT { ?x :p ?y } FROM :g { ?x :p ?y }", "FROM"),
        (
            "CONSTRUCT { ?x :p ?y } { ?x :p ?y OPTIONAL { ?y :q ?z } }",
            "OPTIONAL",
        ),
        (
            "CONSTRUCT { ?x :p ?y } { ?x :p ?y MINUS { ?y :q ?x } }",
            "MINUS",
        ),
        ("CONSTRUCT { ?x :p ?y } { GRAPH ?g { ?x :p ?y } }", "GRAPH"),
        (
            "CONSTRUCT { ?x :p ?z } { ?x :p ?y BIND(?y + 1 AS ?z) }",
            "BIND",
        ),
        ("CONSTRUCT { ?x :p ?y } { ?x :p+ ?y }", "path"),
        (
            "CONSTRUCT { ?x :p ?y } { SELECT ?x ?y { ?x :p ?y } }",
            "subquery",
        ),
        ("CONSTRUCT { ?x :p ?y } { ?x :p ?y } LIMIT 3", "LIMIT"),
        (
            "CONSTRUCT { ?x :p ?y } { SERVICE :s { ?x :p ?y } }",
            "SERVICE",
        ),
        (
            "CONSTRUCT { ?x :p ?y } { ?x :p ?y FILTER(?y > 3) }",
            "> \"3\"",
        ),
        (
            "CONSTRUCT { ?x :p ?y } { ?x :p ?y FILTER(?y = 3) }",
            "sameTerm",
        ),
        (
            "CONSTRUCT { ?x :p ?y } { ?x :p ?y ; :q ?z FILTER(?y != ?z) }",
            "sameTerm",
        ),
        (
            "CONSTRUCT { ?x :p ?y } { ?x :p ?y { ?y :q ?z FILTER(?x != ?z) } }",
            "?x",
        ),
        (
            "CONSTRUCT { ?x :p ?y } { ?x :p ?y FILTER NOT EXISTS { ?y :p ?x } }",
            "EXISTS",
        ),
        (
            "CONSTRUCT { ?x :p ?y } { ?x :p ?y FILTER(:a = :a) }",
            "two terms",
        ),
        (
            "CONSTRUCT { ?x :p ?y } { ?x :p <<( ?x :p ?y )>>, ?y }",
            "triple term",
        ),
    ];
    for (text, reason) in cases {
        let text = format!("{PREFIX}CONSTRUCT {{ ?x a :C }} {{ ?x a :D }} ;\n{text}");
        let error = from_construct(&text).expect_err(&text);
        assert_eq!((error.rule, error.line), (2, 3), "{text}: {error}");
        assert!(error.reason.contains(reason), "{text}: {error}");
    }
}
