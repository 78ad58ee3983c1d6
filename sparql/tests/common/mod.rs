//! What the tests share: stores from text, answers as sorted text, the same answers from an independent evaluator, and
//! a small random generator.
#![allow(dead_code, reason = "each test binary uses its part")]

pub mod queries;

use oxrdf::dataset::CanonicalizationAlgorithm;
use oxrdf::{Dataset, Graph, GraphName, NamedOrBlankNode, Quad, Term};
use quadrille_sparql::{PlannerOptions, Query, QueryOptions, QueryResults};
use quadrille_store::{Snapshot, Store, TermId};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A store in memory with the quads of an N-Quads text.
pub fn store(nquads: &str) -> Store {
    let store = Store::in_memory();
    add(&store, nquads);
    store
}

/// Adds the quads of an N-Quads text as a layer of their own.
pub fn add(store: &Store, nquads: &str) {
    let quads: Vec<Quad> = oxttl::NQuadsParser::new()
        .for_slice(nquads)
        .collect::<Result<_, _>>()
        .expect("N-Quads");
    store.insert_quads(quads).expect("memory");
}

/// Everything in a snapshot, for the oracle.
pub fn dataset(snapshot: &Snapshot) -> Dataset {
    let subject = |id: TermId| match snapshot.term(id).expect("a term") {
        Term::NamedNode(node) => NamedOrBlankNode::NamedNode(node),
        Term::BlankNode(node) => NamedOrBlankNode::BlankNode(node),
        other => panic!("{other} is no subject"),
    };
    let mut dataset = Dataset::new();
    for quad in snapshot.quads() {
        let quad = quad.expect("a quad");
        let Term::NamedNode(predicate) = snapshot.term(quad.predicate).expect("a term") else {
            panic!("a predicate that is no IRI");
        };
        let graph = if quad.graph == TermId::DEFAULT_GRAPH {
            GraphName::DefaultGraph
        } else {
            subject(quad.graph).into()
        };
        let object = snapshot.term(quad.object).expect("a term");
        dataset.insert(&Quad::new(subject(quad.subject), predicate, object, graph));
    }
    dataset
}

/// What the engine answers: a line a row, in the order given, or `true` or `false`.
pub fn try_rows(
    snapshot: &Snapshot,
    query: &str,
    options: &QueryOptions,
) -> quadrille_sparql::Result<Vec<String>> {
    Ok(
        match Query::parse(query, None)?.execute(snapshot, options)? {
            QueryResults::Boolean(value) => vec![value.to_string()],
            QueryResults::Solutions(solutions) => solutions
                .map(|solution| Ok(line(solution?.values())))
                .collect::<quadrille_sparql::Result<_>>()?,
            QueryResults::Graph(triples) => triples
                .map(|triple| Ok(triple?.to_string()))
                .collect::<quadrille_sparql::Result<_>>()?,
        },
    )
}

/// The same, sorted; panics if there is no answer.
pub fn rows(snapshot: &Snapshot, query: &str, options: &QueryOptions) -> Vec<String> {
    let mut rows =
        try_rows(snapshot, query, options).unwrap_or_else(|error| panic!("{query}: {error}"));
    rows.sort();
    rows
}

/// The graph that the engine answers; panics if it has a triple twice.
pub fn graph(snapshot: &Snapshot, query: &str, options: &QueryOptions) -> Graph {
    let results = Query::parse(query, None)
        .and_then(|query| query.execute(snapshot, options))
        .unwrap_or_else(|error| panic!("{query}: {error}"));
    let QueryResults::Graph(triples) = results else {
        panic!("{query}: no graph");
    };
    let mut graph = Graph::new();
    for triple in triples {
        let triple = triple.unwrap_or_else(|error| panic!("{query}: {error}"));
        assert!(graph.insert(&triple), "{query}: {triple} comes twice");
    }
    graph
}

/// A graph as sorted lines, with names for its blank nodes that do not depend on how they were called.
pub fn canonical(mut graph: Graph) -> Vec<String> {
    graph.canonicalize(CanonicalizationAlgorithm::Unstable);
    let mut lines: Vec<String> = graph.iter().map(|triple| triple.to_string()).collect();
    lines.sort();
    lines
}

/// A graph as sorted lines, where each blank node that is not one of the store is called by what is said of it, what is said
/// of its neighbours, and so on for a few steps. Unlike [`canonical`] this takes no long time where many nodes are alike.
pub fn coloured(graph: &Graph) -> Vec<String> {
    const STEPS: usize = 4;
    let is_stored = |label: &str| {
        label
            .strip_prefix('b')
            .is_some_and(|number| number.len() < 20 && number.bytes().all(|b| b.is_ascii_digit()))
    };
    let mut colours: HashMap<String, u64> = HashMap::new();
    let show = |term: &Term, colours: &HashMap<String, u64>| -> String {
        let mut text = term.to_string();
        let labels: Vec<&str> = text
            .match_indices("_:")
            .map(|(at, _)| &text[at..])
            .collect();
        let labels: Vec<String> = labels
            .into_iter()
            .map(|rest| rest.split([' ', ')']).next().unwrap_or(rest).to_owned())
            .filter(|label| !is_stored(&label[2..]))
            .collect();
        for label in labels {
            let colour = colours.get(&label).copied().unwrap_or(0);
            text = text.replace(&label, &format!("_:colour{colour}"));
        }
        text
    };
    let lines = |colours: &HashMap<String, u64>| -> Vec<[String; 3]> {
        graph
            .iter()
            .map(|triple| {
                let (subject, object) = (triple.subject.into_owned(), triple.object.into_owned());
                [
                    show(&subject.into(), colours),
                    triple.predicate.to_string(),
                    show(&object, colours),
                ]
            })
            .collect()
    };
    for _ in 0..STEPS {
        let mut said: HashMap<String, Vec<String>> = HashMap::new();
        for (triple, line) in graph.iter().zip(lines(&colours)) {
            let (subject, object) = (triple.subject.to_string(), triple.object.to_string());
            for (node, place) in [(&subject, "s"), (&object, "o")] {
                if node.starts_with("_:") {
                    let list = said.entry(node.clone()).or_default();
                    list.push(format!("{place} {} {} {}", line[0], line[1], line[2]));
                }
            }
        }
        colours = said
            .into_iter()
            .map(|(node, mut said)| {
                said.sort();
                let mut hasher = DefaultHasher::new();
                said.hash(&mut hasher);
                (node, hasher.finish())
            })
            .collect();
    }
    let mut lines: Vec<String> = lines(&colours).iter().map(|line| line.join(" ")).collect();
    lines.sort();
    lines
}

/// The graph that the oracle answers.
pub fn oracle_graph(dataset: &Dataset, query: &str) -> Graph {
    let query = spargebra::SparqlParser::new()
        .parse_query(query)
        .expect("a query");
    let evaluator = spareval::QueryEvaluator::new();
    let results = evaluator.prepare(&query).execute(dataset);
    let Ok(spareval::QueryResults::Graph(triples)) = results else {
        panic!("no graph");
    };
    triples.map(|triple| triple.expect("a triple")).collect()
}

/// What the oracle answers, sorted.
pub fn oracle_rows(dataset: &Dataset, query: &str) -> Vec<String> {
    let query = spargebra::SparqlParser::new()
        .parse_query(query)
        .expect("a query");
    let evaluator = spareval::QueryEvaluator::new();
    let mut rows: Vec<String> = match evaluator
        .prepare(&query)
        .execute(dataset)
        .expect("an answer")
    {
        spareval::QueryResults::Boolean(value) => vec![value.to_string()],
        spareval::QueryResults::Solutions(solutions) => solutions
            .map(|solution| line(solution.expect("a row").values()))
            .collect(),
        spareval::QueryResults::Graph(_) => panic!("a graph"),
    };
    rows.sort();
    rows
}

pub fn line(values: &[Option<Term>]) -> String {
    values
        .iter()
        .map(|value| {
            value
                .as_ref()
                .map_or_else(|| "UNBOUND".to_owned(), Term::to_string)
        })
        .collect::<Vec<_>>()
        .join(" | ")
}

/// Compares random queries over random stores with the independent evaluator, row by row and in batches, looked up and not:
/// 500 cases from 1 on, or as `QUADRILLE_CASES` and `QUADRILLE_SEED` say.
pub fn check_random_queries(mut make: impl FnMut(&mut Random) -> (Snapshot, String)) {
    let seed = std::env::var("QUADRILLE_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    let cases: u64 =
        std::env::var("QUADRILLE_CASES").map_or(500, |cases| cases.parse().expect("a number"));
    for case in seed..seed + cases {
        let (snapshot, query) = make(&mut Random(case));
        let expected = oracle_rows(&dataset(&snapshot), &query);
        for (batch_rows, lookup_joins) in [(1, true), (1024, true), (1024, false)] {
            let options = QueryOptions {
                batch_rows,
                planner: PlannerOptions {
                    lookup_joins,
                    ..PlannerOptions::default()
                },
                ..QueryOptions::default()
            };
            let found = rows(&snapshot, &query, &options);
            assert_eq!(found, expected, "seed {case}: {query}");
        }
    }
}

/// A small random generator (`SplitMix64`).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ value >> 31
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}
