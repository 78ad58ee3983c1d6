//! Joins whose inputs are longer than batches and windows, with keys that have thousands of rows: every way of joining against
//! nested loops over the same numbers.

mod common;

use common::{Random, store};
use quadrille_sparql::{Batch, PlannerOptions, Query, QueryOptions, QueryResults};
use quadrille_store::{Snapshot, TermId};
use std::collections::HashMap;
use std::fmt::Write;

type Edges = Vec<(u64, u64)>;

/// Edges of which some sources, and some targets, have thousands, and most a few.
fn skewed(random: &mut Random, sources: u64, targets: u64, edges: usize) -> Edges {
    let mut made: Edges = (0..edges)
        .map(|_| {
            let source = match random.below(4) {
                0 => 1,
                1 => sources / 2,
                _ => random.next() % sources,
            };
            let target = match random.below(4) {
                0 => 3,
                _ => random.next() % targets,
            };
            (source, target)
        })
        .collect();
    made.sort_unstable();
    made.dedup();
    made
}

fn ids(snapshot: &Snapshot, count: u64) -> Vec<TermId> {
    (0..count)
        .map(|number| {
            let node = oxrdf::NamedNode::new(format!("e:{number}")).expect("an IRI");
            let id = snapshot.term_id(node.as_ref().into()).expect("memory");
            id.unwrap_or(TermId::MAX)
        })
        .collect()
}

/// A sum over rows that does not depend on their order, and how many there are.
#[derive(PartialEq, Eq, Debug, Default, Clone, Copy)]
struct Sum {
    rows: u64,
    sum: u64,
}

impl Sum {
    fn add(&mut self, row: &[TermId]) {
        self.rows += 1;
        let mut hash = 17_u64;
        for id in row {
            hash = (hash ^ id.bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            hash ^= hash >> 29;
        }
        self.sum = self.sum.wrapping_add(hash);
    }
}

fn run(snapshot: &Snapshot, query: &str, options: &QueryOptions) -> Sum {
    let query = Query::parse(query, None).expect("a query");
    let QueryResults::Solutions(mut solutions) = query.execute(snapshot, options).expect("rows")
    else {
        panic!("a SELECT");
    };
    let mut sum = Sum::default();
    let mut batch = Batch::new(0);
    while solutions.next_batch(&mut batch).expect("rows") > 0 {
        assert!(
            batch.rows() <= options.batch_rows,
            "a batch that is too large"
        );
        for row in 0..batch.rows() {
            let row: Vec<TermId> = (0..batch.width())
                .map(|column| batch.column(column)[row])
                .collect();
            sum.add(&row);
        }
    }
    assert_eq!(solutions.next_batch(&mut batch).expect("the end again"), 0);
    sum
}

fn configurations(patterns: usize) -> Vec<QueryOptions> {
    let mut configurations = Vec::new();
    let orders: Vec<Vec<usize>> = match patterns {
        2 => vec![vec![0, 1], vec![1, 0]],
        _ => vec![vec![0, 1, 2], vec![1, 2, 0], vec![2, 0, 1], vec![2, 1, 0]],
    };
    for order in orders {
        for batch_rows in [7, 1024] {
            for (merge_joins, lookup_joins, hash_joins) in [
                (true, false, false),
                (false, true, false),
                (false, false, true),
                (true, true, false),
            ] {
                configurations.push(QueryOptions {
                    batch_rows,
                    planner: PlannerOptions {
                        merge_joins,
                        lookup_joins,
                        hash_joins,
                        parallel_rows: 100,
                        forced_order: Some(order.clone()),
                        ..PlannerOptions::default()
                    },
                    threads: 2,
                    ..QueryOptions::default()
                });
            }
        }
    }
    configurations.push(QueryOptions::default());
    configurations
}

#[test]
fn skewed_keys_are_joined_whole() {
    for seed in 1..=2 {
        let mut random = Random(seed);
        let p = skewed(&mut random, 60, 4_000, 5_000);
        let q = skewed(&mut random, 60, 40, 120);
        let r = skewed(&mut random, 40, 4_000, 5_000);
        let mut text = String::new();
        for (edges, name) in [(&p, "p"), (&q, "q"), (&r, "r")] {
            for (source, target) in edges {
                writeln!(text, "<e:{source}> <e:{name}> <e:{target}> .").unwrap();
            }
        }
        let store = store(&text);
        let snapshot = store.snapshot();
        let ids = ids(&snapshot, 4_000);
        let id = |number: &u64| ids[*number as usize];
        let by_source = |edges: &Edges| {
            let mut map: HashMap<u64, Vec<u64>> = HashMap::new();
            for (source, target) in edges {
                map.entry(*source).or_default().push(*target);
            }
            map
        };
        let (p_of, r_of) = (by_source(&p), by_source(&r));

        // A star: ?x p ?y . ?x q ?z
        let mut star = Sum::default();
        for (x, z) in &q {
            for y in p_of.get(x).into_iter().flatten() {
                star.add(&[id(x), id(y), id(z)]);
            }
        }
        // A chain to the same place: ?x q ?z . ?z r ?y . ?x p ?y
        let mut triangle = Sum::default();
        for (x, z) in &q {
            for y in r_of.get(z).into_iter().flatten() {
                if p_of
                    .get(x)
                    .is_some_and(|targets| targets.binary_search(y).is_ok())
                {
                    triangle.add(&[id(x), id(y), id(z)]);
                }
            }
        }
        // Common targets: ?x p ?y . ?z r ?y
        let mut sources_of: HashMap<u64, Vec<u64>> = HashMap::new();
        for (source, target) in &r {
            sources_of.entry(*target).or_default().push(*source);
        }
        let mut targets = Sum::default();
        for (x, y) in &p {
            for z in sources_of.get(y).into_iter().flatten() {
                targets.add(&[id(x), id(y), id(z)]);
            }
        }
        assert!(
            star.rows > 10_000 && targets.rows > 1_000 && triangle.rows > 100,
            "nothing to see: {star:?} {targets:?} {triangle:?}"
        );
        let cases = [
            ("SELECT ?x ?y ?z { ?x <e:p> ?y . ?x <e:q> ?z }", 2, star),
            ("SELECT ?x ?y ?z { ?x <e:p> ?y . ?z <e:r> ?y }", 2, targets),
            (
                "SELECT ?x ?y ?z { ?x <e:q> ?z . ?z <e:r> ?y . ?x <e:p> ?y }",
                3,
                triangle,
            ),
        ];
        for (query, patterns, expected) in cases {
            for options in configurations(patterns) {
                assert_eq!(
                    run(&snapshot, query, &options),
                    expected,
                    "{query}, seed {seed}, {options:?}"
                );
            }
        }
    }
}

/// OPTIONAL, EXISTS and MINUS over inputs that are sorted by what they share.
#[test]
fn skewed_keys_are_merged_whole_in_every_kind_of_join() {
    for seed in 1..=3 {
        let mut random = Random(seed);
        let p = skewed(&mut random, 90, 40, 150);
        let q = skewed(&mut random, 60, 4_000, 5_000);
        let mut text = String::new();
        for (edges, name) in [(&p, "p"), (&q, "q")] {
            for (source, target) in edges {
                writeln!(text, "<e:{source}> <e:{name}> <e:{target}> .").unwrap();
            }
        }
        let store = store(&text);
        let snapshot = store.snapshot();
        let ids = ids(&snapshot, 4_000);
        let id = |number: &u64| ids[*number as usize];
        let mut of: HashMap<u64, Vec<u64>> = HashMap::new();
        for (source, target) in &q {
            of.entry(*source).or_default().push(*target);
        }
        let (mut left, mut matched, mut unmatched) =
            (Sum::default(), Sum::default(), Sum::default());
        for (x, y) in &p {
            let found = of.get(x);
            if found.is_none() {
                left.add(&[id(x), id(y), TermId::UNBOUND]);
                unmatched.add(&[id(x), id(y)]);
            } else {
                matched.add(&[id(x), id(y)]);
            }
            for z in found.into_iter().flatten() {
                left.add(&[id(x), id(y), id(z)]);
            }
        }
        assert!(left.rows > 10_000 && matched.rows > 20 && unmatched.rows > 20);
        let cases = [
            (
                "SELECT ?x ?y ?z { ?x <e:p> ?y OPTIONAL { ?x <e:q> ?z } }",
                left,
            ),
            (
                "SELECT ?x ?y { ?x <e:p> ?y FILTER EXISTS { ?x <e:q> ?z } }",
                matched,
            ),
            (
                "SELECT ?x ?y { ?x <e:p> ?y FILTER NOT EXISTS { ?x <e:q> ?z } }",
                unmatched,
            ),
            (
                "SELECT ?x ?y { ?x <e:p> ?y MINUS { ?x <e:q> ?z } }",
                unmatched,
            ),
            (
                "SELECT ?x ?y ?z { { SELECT ?x ?y { ?x <e:p> ?y } } OPTIONAL { { SELECT ?x ?z { ?x <e:q> ?z } } } }",
                left,
            ),
        ];
        for (query, expected) in cases {
            for (batch_rows, threads, merge_joins, lookup_joins) in [
                (1024, 1, true, false),
                (1024, 3, true, false),
                (7, 1, true, false),
                (1, 2, true, false),
                (1024, 1, false, false),
                (1024, 1, true, true),
            ] {
                let options = QueryOptions {
                    batch_rows,
                    threads,
                    planner: PlannerOptions {
                        merge_joins,
                        lookup_joins,
                        parallel_rows: 1,
                        ..PlannerOptions::default()
                    },
                    ..QueryOptions::default()
                };
                assert_eq!(
                    run(&snapshot, query, &options),
                    expected,
                    "{query}, seed {seed}, {options:?}"
                );
            }
            let options = QueryOptions {
                planner: PlannerOptions {
                    lookup_joins: false,
                    ..PlannerOptions::default()
                },
                ..QueryOptions::default()
            };
            let plan = Query::parse(query, None)
                .expect("a query")
                .explain(&snapshot, &options);
            assert!(plan.expect("a plan").contains("MergeJoin on ?x"), "{query}");
        }
    }
}
