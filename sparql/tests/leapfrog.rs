//! Leapfrog joins: random cyclic patterns over small dense graphs, with such joins wherever they can be and without any, against
//! `spareval`; lists that are longer than windows and than the memory, against nested loops; and where the planner chooses them.
//!
//! `QUADRILLE_CASES` and `QUADRILLE_SEED` make the random runs longer and give them another start. A failure prints the seed.

mod common;

use common::{Random, add, dataset, oracle_rows, rows, store};
use oxrdf::{Dataset, GraphName};
use quadrille_sparql::{PlannerOptions, Query, QueryOptions};
use quadrille_store::run::Run;
use quadrille_store::{Quad, Snapshot, Store};
use std::collections::HashSet;
use std::fmt::Write;
use std::sync::Arc;

const PREDICATES: [&str; 3] = ["<e:p>", "<e:q>", "<e:r>"];

/// The edges of cyclic patterns, by variables.
const SHAPES: [&[(&str, &str)]; 9] = [
    // A triangle, and one with a tail and a node that is known.
    &[("?a", "?b"), ("?b", "?c"), ("?c", "?a")],
    &[
        ("?a", "?b"),
        ("?b", "?c"),
        ("?c", "?a"),
        ("?c", "?t"),
        ("?a", "<e:1>"),
    ],
    // Cycles of four and five.
    &[("?a", "?b"), ("?b", "?c"), ("?c", "?d"), ("?d", "?a")],
    &[
        ("?a", "?b"),
        ("?b", "?c"),
        ("?c", "?d"),
        ("?d", "?e"),
        ("?e", "?a"),
    ],
    // A cycle of four with a chord, and all edges between four.
    &[
        ("?a", "?b"),
        ("?b", "?c"),
        ("?c", "?d"),
        ("?d", "?a"),
        ("?a", "?c"),
    ],
    &[
        ("?a", "?b"),
        ("?b", "?c"),
        ("?c", "?a"),
        ("?a", "?d"),
        ("?b", "?d"),
        ("?c", "?d"),
    ],
    // Two triangles at a node.
    &[
        ("?a", "?b"),
        ("?b", "?c"),
        ("?c", "?a"),
        ("?a", "?d"),
        ("?d", "?e"),
        ("?e", "?a"),
    ],
    // Two edges between the same nodes, and a loop at a node of a triangle.
    &[("?a", "?b"), ("?b", "?c"), ("?a", "?b"), ("?c", "?b")],
    &[("?a", "?b"), ("?b", "?c"), ("?c", "?a"), ("?a", "?a")],
];

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// A store of several layers: dense graphs over few nodes, and on top a layer that deletes and inserts.
fn dense(random: &mut Random) -> (Store, Snapshot) {
    let store = Store::in_memory();
    let nodes = 4 + random.below(5);
    let edges = nodes * nodes / 2;
    // Every term has an id before the last layer is made.
    let mut text = String::new();
    for node in 0..nodes {
        writeln!(text, "<e:{node}> <e:p> <e:{}> <e:h> .", (node + 1) % nodes).unwrap();
    }
    for predicate in PREDICATES {
        writeln!(text, "<e:0> {predicate} <e:1> <e:g> .").unwrap();
    }
    add(&store, &text);
    for _ in 0..=random.below(3) {
        let mut text = String::new();
        for _ in 0..edges {
            let (from, to) = (random.below(nodes), random.below(nodes));
            let predicate = random.pick(&PREDICATES);
            let graph = *random.pick(&["", "", "<e:g>", "<e:h>"]);
            writeln!(text, "<e:{from}> {predicate} <e:{to}> {graph} .").unwrap();
        }
        add(&store, &text);
    }
    let snapshot = store.snapshot();
    let quads: Vec<Quad> = snapshot.quads().map(|quad| quad.expect("a quad")).collect();
    let shown: HashSet<Quad> = quads.iter().copied().collect();
    let tombstones = quads.iter().copied().filter(|_| random.one_in(6)).collect();
    let mut inserts = HashSet::new();
    for _ in 0..random.below(10) {
        let (one, other) = (*random.pick(&quads), *random.pick(&quads));
        let quad = Quad {
            object: other.subject,
            predicate: other.predicate,
            ..one
        };
        if !shown.contains(&quad) {
            inserts.insert(quad);
        }
    }
    let run = Run::new(inserts.into_iter().collect(), tombstones);
    let changed = snapshot.with_run(Arc::new(run));
    (store, changed)
}

fn body(random: &mut Random) -> String {
    let mut text = String::new();
    let predicates = 1 + random.below(PREDICATES.len());
    for (from, to) in *random.pick(&SHAPES) {
        let predicate = match random.below(14) {
            0 => "?p",
            1 => "?q",
            _ => PREDICATES[random.below(predicates)],
        };
        let (from, to) = if random.one_in(3) {
            (to, from)
        } else {
            (from, to)
        };
        write!(text, "{from} {predicate} {to} . ").unwrap();
    }
    let filter = match random.below(6) {
        0 => "FILTER(?a != ?c)",
        1 => "FILTER(STR(?b) < STR(?c))",
        2 => "FILTER(?c = <e:2>)",
        _ => "",
    };
    match random.below(6) {
        0 => format!("GRAPH <e:g> {{ {text} {filter} }}"),
        1 => format!("GRAPH ?g {{ {text} }} {filter}"),
        2 => format!("?a <e:p> ?b OPTIONAL {{ {text} {filter} }}"),
        3 => format!("?a <e:p> ?b FILTER EXISTS {{ {text} {filter} }}"),
        _ => format!("{text} {filter}"),
    }
}

/// Leapfrog joins wherever they can be.
fn leapfrog_alone() -> PlannerOptions {
    PlannerOptions {
        merge_joins: false,
        lookup_joins: false,
        hash_joins: false,
        parallel_rows: 1,
        ..PlannerOptions::default()
    }
}

fn configurations() -> Vec<QueryOptions> {
    let without = PlannerOptions {
        leapfrog_joins: false,
        ..PlannerOptions::default()
    };
    let mut configurations = Vec::new();
    for (batch_rows, threads, memory) in [
        (1024, 1, None),
        (1, 1, None),
        (1024, 3, None),
        (3, 2, None),
        // No list fits, or a few do.
        (1024, 1, Some(1 << 10)),
        (7, 1, Some(1 << 10)),
        (5, 2, Some(64 << 10)),
    ] {
        for planner in [leapfrog_alone(), PlannerOptions::default()] {
            configurations.push(QueryOptions {
                batch_rows,
                threads,
                memory,
                planner,
                ..QueryOptions::default()
            });
        }
    }
    configurations.push(QueryOptions {
        planner: without,
        ..QueryOptions::default()
    });
    configurations
}

/// The same quads with a default graph that is the merge of both named graphs.
fn merged(dataset: &Dataset) -> Dataset {
    let named = dataset
        .iter()
        .filter(|quad| !quad.graph_name.is_default_graph());
    named
        .map(|quad| oxrdf::Quad {
            graph_name: GraphName::DefaultGraph,
            ..quad.into_owned()
        })
        .collect()
}

#[test]
fn random_cycles_agree_with_the_oracle() {
    let first = number("QUADRILLE_SEED", 1);
    let (mut with, mut all) = (0, 0);
    for seed in first..first + number("QUADRILLE_CASES", 20) {
        let mut random = Random(seed);
        let (_store, snapshot) = dense(&mut random);
        let dataset = dataset(&snapshot);
        let merged = merged(&dataset);
        for _ in 0..6 {
            let body = body(&mut random);
            let selected = *random.pick(&["*", "?a ?c", "DISTINCT ?b", "(COUNT(*) AS ?n)"]);
            let query = |from: &str| format!("SELECT {selected} {from} {{ {body} }}");
            let mut cases = vec![(query(""), oracle_rows(&dataset, &query("")))];
            if !body.contains("GRAPH") {
                let from = query("FROM <e:g> FROM <e:h>");
                cases.push((from, oracle_rows(&merged, &query(""))));
            }
            for (query, expected) in cases {
                for options in configurations() {
                    assert_eq!(
                        rows(&snapshot, &query, &options),
                        expected,
                        "{query}\nseed {seed}, {options:?}"
                    );
                }
                all += 1;
                with +=
                    usize::from(explain(&snapshot, &query, leapfrog_alone()).contains(LEAPFROG));
            }
        }
    }
    assert!(
        with * 3 > all,
        "{with} of {all} queries had a leapfrog join"
    );
}

const LEAPFROG: &str = "LeapfrogJoin";

fn explain(snapshot: &Snapshot, query: &str, planner: PlannerOptions) -> String {
    let options = QueryOptions {
        planner,
        ..QueryOptions::default()
    };
    Query::parse(query, None)
        .and_then(|query| query.explain(snapshot, &options))
        .unwrap_or_else(|error| panic!("{query}: {error}"))
}

/// Edges among `nodes`, of which one in `hubs` is between every node and the first ones.
fn network(random: &mut Random, nodes: usize, edges: usize, hubs: usize) -> Vec<(usize, usize)> {
    let mut made: Vec<(usize, usize)> = (0..edges)
        .map(|_| {
            let (from, to) = (random.below(nodes), random.below(nodes));
            match random.below(2 * hubs) {
                0 => (from, to % 3),
                1 => (from % 3, to),
                _ => (from, to),
            }
        })
        .collect();
    made.sort_unstable();
    made.dedup();
    made
}

fn network_store(edges: &[(usize, usize)]) -> Store {
    let mut text = String::new();
    for (from, to) in edges {
        writeln!(text, "<e:{from}> <e:p> <e:{to}> .").unwrap();
    }
    store(&text)
}

#[test]
fn long_lists_are_intersected_whole() {
    const TRIANGLE: &str = "SELECT ?a ?b ?c { ?a <e:p> ?b . ?b <e:p> ?c . ?a <e:p> ?c }";
    let mut random = Random(number("QUADRILLE_SEED", 1));
    let edges = network(&mut random, 6_000, 24_000, 3);
    let mut after = vec![Vec::new(); 6_000];
    for (from, to) in &edges {
        after[*from].push(*to);
    }
    let mut expected = Vec::new();
    for (a, b) in &edges {
        for c in &after[*b] {
            if after[*a].binary_search(c).is_ok() {
                expected.push(format!("<e:{a}> | <e:{b}> | <e:{c}>"));
            }
        }
    }
    expected.sort();
    assert!(expected.len() > 10_000, "nothing to see");
    let store = network_store(&edges);
    let snapshot = store.snapshot();
    for (memory, batch_rows, threads) in [
        (None, 1024, 1),
        (None, 1000, 2),
        (Some(1 << 10), 1024, 1),
        (Some(40 << 10), 100, 1),
        (Some(200 << 10), 1024, 2),
    ] {
        let options = QueryOptions {
            memory,
            batch_rows,
            threads,
            planner: leapfrog_alone(),
            ..QueryOptions::default()
        };
        assert_eq!(rows(&snapshot, TRIANGLE, &options), expected, "{options:?}");
    }
}

#[test]
fn cycles_of_large_patterns_are_joined_by_leaps() {
    let mut random = Random(1);
    let mut edges = network(&mut random, 500, 20_000, 1_000_000);
    let store = network_store(&edges);
    let plan = |query: &str| explain(&store.snapshot(), query, PlannerOptions::default());
    assert_eq!(
        plan("SELECT * { ?a <e:p> ?b . ?b <e:p> ?c . ?c <e:p> ?a }"),
        "LeapfrogJoin for ?a in pos on ?b (sorted) { ?a <e:p> ?b }, pso on ?c { ?c <e:p> ?a }  ~56907 rows, sorted by ?b ?c
  Scan pso { ?b <e:p> ?c }  ~19232 rows, sorted by ?b ?c
"
    );
    // What has one way to each variable is joined as ever, and so is a cycle that few rows lead to.
    let star = plan("SELECT * { ?a <e:p> ?b . ?a <e:p> ?c . ?c <e:p> ?d }");
    assert!(!star.contains(LEAPFROG), "{star}");
    edges.clear();
    edges.extend((0..5_000).map(|node| (node, (node + 1) % 5_000)));
    let ring = network_store(&edges);
    let query = "SELECT * { ?a <e:p> ?b . ?b <e:p> ?c . ?c <e:p> ?a . ?a <e:p> <e:7> }";
    let ring = explain(&ring.snapshot(), query, PlannerOptions::default());
    assert!(!ring.contains(LEAPFROG), "{ring}");
}

#[test]
fn a_variable_that_a_pattern_repeats_is_not_leapt_for() {
    let store =
        store("<e:1> <e:p> <e:1> .\n<e:1> <e:p> <e:2> .\n<e:2> <e:p> <e:1> .\n<e:1> <e:1> <e:1> .");
    let snapshot = store.snapshot();
    let query = "SELECT * { ?a <e:p> ?b . ?b ?c ?c . ?a ?c ?a }";
    let plan = explain(&snapshot, query, leapfrog_alone());
    assert!(!plan.contains(LEAPFROG), "{plan}");
    let expected = oracle_rows(&dataset(&snapshot), query);
    let options = QueryOptions {
        planner: leapfrog_alone(),
        ..QueryOptions::default()
    };
    assert_eq!(rows(&snapshot, query, &options), expected);
}
