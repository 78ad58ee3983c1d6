//! The answers of the 14 queries, row by row, and the closure, triple by triple, for one university, with complete inference
//! (at each level, if `QUADRILLE_LONG_TESTS` is set): against an independent query evaluator, over a closure that it makes
//! itself.
//!
//! The oracle's closure is naive: the rules of RDFS and of OWL 2 RL that the ontology needs, as the specifications have
//! them, in SPARQL over data and ontology together; each is asked of all triples, until none answers with a new one. A
//! level's closure is the beginning of the next one's.

use oxrdf::{Dataset, GraphName, Quad, Term, Triple};
use oxttl::NTriplesParser;
use quadrille_lubm::names::{ONTOLOGY_URL, OWL, RDF, RDFS};
use quadrille_lubm::queries::QUERIES;
use quadrille_lubm::reference::{Inference, Reference};
use quadrille_lubm::{Destination, GenerateOptions, Syntax, generate, ontology};
use quadrille_reason::{InferOptions, Profile, infer};
use quadrille_sparql::{Query, QueryOptions, QueryResults};
use quadrille_store::{Snapshot, Store};
use spareval::QueryEvaluator;
use spargebra::SparqlParser;
use std::collections::BTreeSet;

/// What each level has that the one before lacks.
const LEVELS: [(Profile, &[&str]); 5] = [
    (Profile::None, &[]),
    (
        Profile::Hierarchy,
        &[
            // rdfs9, rdfs7
            "CONSTRUCT { ?x a ?above } { ?class rdfs:subClassOf ?above . ?x a ?class }",
            "CONSTRUCT { ?x ?above ?y } { ?p rdfs:subPropertyOf ?above . ?x ?p ?y }",
        ],
    ),
    (
        Profile::Rdfs,
        &[
            // rdfs2, rdfs3
            "CONSTRUCT { ?x a ?class } { ?p rdfs:domain ?class . ?x ?p ?y }",
            "CONSTRUCT { ?y a ?class } { ?p rdfs:range ?class . ?x ?p ?y FILTER(!isLiteral(?y)) }",
        ],
    ),
    (
        Profile::RdfsPlus,
        &[
            // prp-inv1, prp-inv2, prp-trp
            "CONSTRUCT { ?y ?q ?x } { ?p owl:inverseOf ?q . ?x ?p ?y }",
            "CONSTRUCT { ?y ?p ?x } { ?p owl:inverseOf ?q . ?x ?q ?y }",
            "CONSTRUCT { ?x ?p ?z } { ?p a owl:TransitiveProperty . ?x ?p ?y . ?y ?p ?z }",
        ],
    ),
    (
        Profile::Owl,
        &[
            // cls-int1 for the lists of two that the ontology has, cls-int2, cls-svf1
            "CONSTRUCT { ?x a ?class } { ?class owl:intersectionOf [ rdf:first ?one ; rdf:rest [ rdf:first ?other ;
             rdf:rest rdf:nil ] ] . ?x a ?one . ?x a ?other }",
            "CONSTRUCT { ?x a ?one } { ?class owl:intersectionOf/rdf:rest*/rdf:first ?one . ?x a ?class }",
            "CONSTRUCT { ?x a ?class } { ?class owl:onProperty ?p ; owl:someValuesFrom ?filler . ?x ?p ?y . ?y a ?filler }",
        ],
    ),
];

fn parse(text: &[u8]) -> impl Iterator<Item = Quad> + '_ {
    let triples = NTriplesParser::new().for_slice(text);
    triples.map(|triple| {
        let triple = triple.expect("the benchmark's N-Triples");
        triple.in_graph(GraphName::DefaultGraph)
    })
}

/// One university and the ontology.
fn data() -> Vec<Quad> {
    let options = GenerateOptions {
        universities: 1,
        ..GenerateOptions::default()
    };
    let mut text = Vec::new();
    generate(&options, Destination::Stream(&mut text)).expect("memory");
    let ontology = ontology::text(Syntax::NTriples, ONTOLOGY_URL).expect("memory");
    parse(&text).chain(parse(ontology.as_bytes())).collect()
}

fn evaluate<'a>(dataset: &'a Dataset, text: &str) -> spareval::QueryResults<'a> {
    let text = format!("PREFIX rdf: <{RDF}>\nPREFIX rdfs: <{RDFS}>\nPREFIX owl: <{OWL}>\n{text}");
    let query = SparqlParser::new().parse_query(&text).expect("a query");
    let evaluator = QueryEvaluator::new();
    evaluator
        .prepare(&query)
        .execute(dataset)
        .expect("an answer")
}

/// Adds what follows by the rules, until nothing does.
fn close(dataset: &mut Dataset, rules: &[&str]) {
    loop {
        let before = dataset.len();
        for rule in rules {
            let spareval::QueryResults::Graph(triples) = evaluate(dataset, rule) else {
                panic!("{rule} is no CONSTRUCT");
            };
            let found: Vec<Triple> = triples.map(|triple| triple.expect("a triple")).collect();
            for triple in found {
                dataset.insert(&triple.in_graph(GraphName::DefaultGraph));
            }
        }
        if dataset.len() == before {
            return;
        }
    }
}

/// A triple as text, if it is one that the specification counts: of a property, or a named class, of the ontology.
fn counted(quad: &Quad) -> Option<String> {
    let is_named = |iri: &str| iri.starts_with(ONTOLOGY_URL);
    let is_type = quad.predicate == oxrdf::vocab::rdf::TYPE;
    let is_counted = match &quad.object {
        Term::NamedNode(class) if is_type => is_named(class.as_str()),
        _ => is_named(quad.predicate.as_str()),
    };
    is_counted.then(|| quad.to_string())
}

fn closure(snapshot: &Snapshot) -> BTreeSet<String> {
    let quads = snapshot.quads().map(|quad| {
        let quad = quad.expect("memory");
        snapshot.quad(&quad).expect("its terms")
    });
    quads.filter_map(|quad| counted(&quad)).collect()
}

fn line(values: &[Option<Term>]) -> String {
    let terms = values.iter().map(|value| {
        let term = value.as_ref().expect("the queries bind all variables");
        term.to_string()
    });
    terms.collect::<Vec<_>>().join(" ")
}

fn rows(snapshot: &Snapshot, text: &str) -> Vec<String> {
    let query = Query::parse(text, None).expect("a query");
    let results = query.execute(snapshot, &QueryOptions::default());
    let QueryResults::Solutions(solutions) = results.expect("an answer") else {
        panic!("no SELECT: {text}");
    };
    let mut rows: Vec<String> = solutions
        .map(|solution| line(solution.expect("a row").values()))
        .collect();
    rows.sort();
    rows
}

fn expected_rows(dataset: &Dataset, text: &str) -> Vec<String> {
    let spareval::QueryResults::Solutions(solutions) = evaluate(dataset, text) else {
        panic!("no SELECT: {text}");
    };
    let mut rows: Vec<String> = solutions
        .map(|solution| line(solution.expect("a row").values()))
        .collect();
    rows.sort();
    rows
}

#[test]
fn rows_and_closure_are_those_of_an_independent_evaluator() {
    let reference = Reference::of(1).expect("a scale of the specification");
    let is_long = std::env::var_os("QUADRILLE_LONG_TESTS").is_some();
    let data = data();
    let store = Store::in_memory();
    store.insert_quads(data.iter().cloned()).expect("memory");
    let mut dataset: Dataset = data.into_iter().collect();
    let mut rules: Vec<&str> = Vec::new();
    for (profile, more) in LEVELS {
        rules.extend(more);
        if profile != Profile::Owl && !is_long {
            continue;
        }
        close(&mut dataset, &rules);
        infer(&store, &InferOptions::new(profile)).expect("memory");
        let snapshot = store.snapshot();
        let (found, expected) = (
            closure(&snapshot),
            dataset
                .iter()
                .filter_map(|quad| counted(&quad.into_owned()))
                .collect(),
        );
        let missing: Vec<_> = BTreeSet::difference(&expected, &found).take(5).collect();
        let excess: Vec<_> = found.difference(&expected).take(5).collect();
        assert!(
            missing.is_empty() && excess.is_empty(),
            "{profile}: {} triples, {} expected; missing {missing:#?}, too many {excess:#?}",
            found.len(),
            expected.len()
        );
        assert!(
            profile != Profile::Owl || found.len() as u64 == reference.triples(Inference::Full)
        );
        for query in &QUERIES {
            let text = query.text();
            let (found, expected) = (rows(&snapshot, &text), expected_rows(&dataset, &text));
            assert!(
                found == expected,
                "{profile}, {query}: {} rows, {} expected",
                found.len(),
                expected.len()
            );
        }
    }
}
