//! FROM, FROM NAMED and the options that take their place: what the specification says, and random datasets against `spareval`.

mod common;

use common::queries::{PROLOGUE, condition, group, random_store};
use common::{Random, dataset, oracle_rows, rows, store};
use oxrdf::{Dataset, GraphNameRef, NamedNode, TripleRef};
use quadrille_sparql::{PlannerOptions, Query, QueryDataset, QueryOptions};
use std::fmt::Write;

const DATA: &str = "
<e:a> <e:p> <e:b> .
<e:a> <e:p> <e:b> <e:g> .
<e:a> <e:p> <e:c> <e:g> .
<e:a> <e:p> <e:c> <e:h> .
<e:c> <e:p> <e:d> <e:h> .
<e:x> <e:p> <e:y> <e:i> .
";

fn ask(query: &str) -> Vec<String> {
    rows(&store(DATA).snapshot(), query, &QueryOptions::default())
}

#[test]
fn from_merges_graphs_as_a_set() {
    assert_eq!(
        ask("SELECT ?s ?o FROM <e:g> FROM <e:h> { ?s <e:p> ?o }"),
        ["<e:a> | <e:b>", "<e:a> | <e:c>", "<e:c> | <e:d>"]
    );
    let count = "\"3\"^^<http://www.w3.org/2001/XMLSchema#integer>";
    assert_eq!(
        ask("SELECT (COUNT(*) AS ?n) FROM <e:g> FROM <e:h> FROM <e:g> { ?s ?p ?o }"),
        [count]
    );
    let one = "\"1\"^^<http://www.w3.org/2001/XMLSchema#integer>";
    assert_eq!(
        ask("SELECT ?o (COUNT(*) AS ?n) FROM <e:g> FROM <e:h> { ?s <e:p> ?o } GROUP BY ?o"),
        ["b", "c", "d"].map(|object| format!("<e:{object}> | {one}"))
    );
    assert_eq!(
        ask("SELECT (COUNT(DISTINCT ?p) AS ?n) FROM <e:g> FROM <e:h> { ?s ?p ?o }"),
        [one]
    );
    assert_eq!(ask("SELECT ?o FROM <e:g> { <e:c> <e:p> ?o }"), [""; 0]);
    assert_eq!(
        ask("ASK FROM <e:g> FROM <e:h> { <e:a> <e:p> <e:c> }"),
        ["true"]
    );
    assert_eq!(ask("ASK FROM <e:g> { <e:c> <e:p> <e:d> }"), ["false"]);
    assert_eq!(ask("ASK FROM <e:missing> { ?s ?p ?o }"), ["false"]);
    assert_eq!(
        ask("SELECT ?x FROM <e:g> FROM <e:h> { <e:a> <e:p> ?y . ?y <e:p> ?x }"),
        ["<e:d>"]
    );
    assert_eq!(ask("DESCRIBE <e:a> FROM <e:g> FROM <e:h>").len(), 2);
}

#[test]
fn named_graphs_are_those_that_are_named() {
    // FROM alone leaves no named graph, FROM NAMED alone an empty default graph (section 13.2).
    assert_eq!(
        ask("ASK FROM <e:g> { GRAPH <e:g> { ?s ?p ?o } }"),
        ["false"]
    );
    assert_eq!(ask("ASK FROM <e:g> { GRAPH ?g { ?s ?p ?o } }"), ["false"]);
    assert_eq!(ask("ASK FROM NAMED <e:g> { ?s ?p ?o }"), ["false"]);
    assert_eq!(
        ask("SELECT ?g ?o FROM NAMED <e:g> FROM NAMED <e:i> { GRAPH ?g { ?s <e:p> ?o } }"),
        ["<e:g> | <e:b>", "<e:g> | <e:c>", "<e:i> | <e:y>"]
    );
    assert_eq!(
        ask("SELECT ?g FROM NAMED <e:h> FROM NAMED <e:missing> { GRAPH ?g { } }"),
        ["<e:h>"]
    );
    assert_eq!(
        ask("SELECT ?o FROM <e:i> FROM NAMED <e:h> { ?x <e:p> ?y GRAPH <e:h> { ?s <e:p> ?o } }"),
        ["<e:c>", "<e:d>"]
    );
    assert_eq!(
        ask("ASK FROM NAMED <e:h> { GRAPH <e:g> { ?s ?p ?o } }"),
        ["false"]
    );
}

#[test]
fn options_say_more_than_the_query() {
    let snapshot = store(DATA).snapshot();
    let union = QueryOptions {
        union_default_graph: true,
        ..QueryOptions::default()
    };
    let everything = "SELECT ?s ?o { ?s <e:p> ?o }";
    assert_eq!(rows(&snapshot, everything, &union).len(), 4);
    assert_eq!(
        rows(&snapshot, everything, &QueryOptions::default()).len(),
        1
    );
    // The query's own FROM holds against the union, but not against a dataset.
    let from = "SELECT ?s ?o FROM <e:i> { ?s <e:p> ?o }";
    assert_eq!(rows(&snapshot, from, &union), ["<e:x> | <e:y>"]);
    let named = |name: &str| NamedNode::new_unchecked(name);
    let options = QueryOptions {
        dataset: Some(QueryDataset {
            default: vec![named("e:h")],
            named: None,
        }),
        ..union
    };
    assert_eq!(rows(&snapshot, from, &options).len(), 2);
    assert_eq!(
        rows(
            &snapshot,
            "SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }",
            &options
        )
        .len(),
        3
    );
    let plan = Query::parse(from, None)
        .and_then(|query| query.explain(&snapshot, &options))
        .expect("a plan");
    assert!(plan.contains("Scan"), "{plan}");
}

const NAMES: [&str; 4] = ["<e:g>", "<e:h>", "<e:a>", "<e:none>"];

/// The dataset that a query sees, made of quads: the oracle's own merge of graphs has triples twice (section 13.1 says that a
/// dataset has one default graph, which is a set).
fn seen(all: &Dataset, default: Option<&[&str]>, named: Option<&[&str]>) -> Dataset {
    let mut seen = Dataset::new();
    let is_in =
        |names: Option<&[&str]>, graph: &str| names.is_none_or(|names| names.contains(&graph));
    for quad in all {
        let graph = quad.graph_name.to_string();
        if is_in(default, &graph) {
            let triple = TripleRef::from(quad);
            seen.insert(triple.in_graph(GraphNameRef::DefaultGraph));
        }
        if !quad.graph_name.is_default_graph() && is_in(named, &graph) {
            seen.insert(quad);
        }
    }
    seen
}

/// `QUADRILLE_CASES` and `QUADRILLE_SEED` make it longer and give it another start.
#[test]
fn random_datasets_agree_with_the_oracle() {
    let number = |variable: &str, default: u64| {
        let value = std::env::var(variable).ok();
        value.and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let first = number("QUADRILLE_SEED", 1);
    for seed in first..first + number("QUADRILLE_CASES", 60) {
        let mut random = Random(seed);
        let store = random_store(&mut random);
        let snapshot = store.snapshot();
        let dataset = dataset(&snapshot);
        for _ in 0..10 {
            let count = 1 + random.below(3);
            let patterns = group(&mut random, count);
            let mut body = match random.below(4) {
                0 => format!("GRAPH ?g {{ {patterns} }}"),
                1 => {
                    let name = random.pick(&NAMES);
                    format!("{patterns} GRAPH {name} {{ ?v ?e ?w }}")
                }
                2 => format!("{patterns} OPTIONAL {{ GRAPH ?g {{ ?v <e:p> ?o }} }}"),
                _ => patterns,
            };
            if random.one_in(3) {
                let condition = condition(&mut random, 1);
                write!(body, " FILTER({condition})").expect("memory");
            }
            let pick = |random: &mut Random| -> Vec<&str> {
                let names = NAMES.iter().copied();
                names.filter(|_| random.one_in(2)).collect()
            };
            let (default, named) = (pick(&mut random), pick(&mut random));
            let is_union = random.one_in(4) || default.is_empty() && named.is_empty();
            let mut from = String::new();
            let (mut options, plain) = (
                QueryOptions::default(),
                format!("{PROLOGUE}SELECT * {{ {body} }}"),
            );
            let seen = if is_union {
                options.union_default_graph = true;
                seen(&dataset, None, None)
            } else {
                for name in &default {
                    write!(from, "FROM {name} ").expect("memory");
                }
                for name in &named {
                    write!(from, "FROM NAMED {name} ").expect("memory");
                }
                seen(&dataset, Some(&default), Some(&named))
            };
            let query = format!("{PROLOGUE}SELECT * {from} {{ {body} }}");
            let expected = oracle_rows(&seen, &plain);
            for (batch_rows, merge, lookup) in [
                (1024, true, true),
                (1, true, true),
                (2, true, false),
                (3, false, true),
            ] {
                let options = QueryOptions {
                    batch_rows,
                    threads: 2,
                    planner: PlannerOptions {
                        parallel_rows: 2,
                        merge_joins: merge,
                        lookup_joins: lookup,
                        ..PlannerOptions::default()
                    },
                    ..options.clone()
                };
                assert_eq!(
                    rows(&snapshot, &query, &options),
                    expected,
                    "seed {seed}: {query}"
                );
            }
        }
    }
}
