//! Scans, counts and containment in every kind of dataset, against a `BTreeSet` of the quads that it shows.

use super::*;
use crate::store::Store;
use oxrdf::{GraphName, NamedNode, Quad as TermQuad, Term};
use std::collections::BTreeSet;

fn name(kind: &str, number: u64) -> NamedNode {
    NamedNode::new_unchecked(format!("e:{kind}{number}"))
}

/// A small random generator (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

const GRAPHS: u64 = 5;

fn random_store(random: &mut Random) -> Store {
    let store = Store::in_memory();
    for _ in 0..2 {
        let quads: Vec<TermQuad> = (0..60)
            .map(|_| {
                let graph = match random.below(GRAPHS + 2) {
                    graph if graph < GRAPHS => GraphName::from(name("g", graph)),
                    _ => GraphName::DefaultGraph,
                };
                let (subject, predicate) = (name("s", random.below(4)), name("p", random.below(3)));
                TermQuad::new(subject, predicate, name("s", random.below(4)), graph)
            })
            .collect();
        store.insert_quads(quads).expect("memory");
    }
    store
}

/// The quads that a dataset shows.
fn shown(snapshot: &Snapshot, dataset: &Dataset) -> BTreeSet<Quad> {
    let mut shown = BTreeSet::new();
    for quad in snapshot.quads() {
        let quad = quad.expect("a quad");
        let is_default = quad.graph == TermId::DEFAULT_GRAPH;
        if !is_default && dataset.named.contains(quad.graph) {
            shown.insert(quad);
        }
        let is_part = if is_default {
            dataset.has_default
        } else {
            dataset.merged.contains(quad.graph)
        };
        if is_part {
            shown.insert(Quad {
                graph: TermId::DEFAULT_GRAPH,
                ..quad
            });
        }
    }
    shown
}

fn check(snapshot: &Snapshot, shown: &BTreeSet<Quad>, pattern: &Pattern, seek: TermId, seed: u64) {
    let expected = shown.iter().filter(|quad| pattern.matches(quad)).count() as u64;
    assert_eq!(
        snapshot.count(pattern).expect("a count"),
        expected,
        "seed {seed}: {pattern:?}"
    );
    let most = snapshot.count_at_most(pattern).expect("a count");
    assert!(
        most >= expected && (most == 0) == (expected == 0),
        "seed {seed}: {pattern:?}"
    );
    for order in Order::DEFAULT_GRAPH.into_iter().chain(Order::NAMED_GRAPHS) {
        let Some((prefix, bound)) = pattern.prefix_in(order) else {
            continue;
        };
        let width = order.columns().len() - bound;
        let mut expected: Vec<Vec<TermId>> = shown
            .iter()
            .filter(|quad| pattern.matches(quad))
            .map(|quad| order.row(quad)[bound..order.columns().len()].to_vec())
            .collect();
        expected.sort();
        for key in [None, Some(seek)] {
            let mut scan = snapshot
                .scan(pattern, order, ColumnMask::ALL)
                .expect("a scan");
            let mut rows = Columns::default();
            let mut filled = 0;
            if let Some(key) = key {
                // A row first, so that there is something to seek from.
                filled += scan.fill(&mut rows, 1).expect("rows");
                scan.seek(&[key]).expect("a seek");
            }
            loop {
                match scan.fill(&mut rows, 3).expect("rows") {
                    0 => break,
                    more => filled += more,
                }
            }
            let found: Vec<Vec<TermId>> = (0..filled)
                .map(|row| (0..width).map(|column| rows.columns[column][row]).collect())
                .collect();
            let wanted: Vec<Vec<TermId>> = expected
                .iter()
                .enumerate()
                .filter(|(place, row)| {
                    key.is_none_or(|key| {
                        *place == 0 || row.first().is_none_or(|first| *first >= key)
                    })
                })
                .map(|(_, row)| row.clone())
                .collect();
            assert_eq!(
                found, wanted,
                "seed {seed}: {pattern:?} {order:?} {prefix:?} {key:?}"
            );
        }
    }
}

#[test]
fn every_scan_of_a_dataset_is_a_sorted_set() {
    for seed in 1..=12 {
        let mut random = Random(seed * 0x9e37_79b9);
        let store = random_store(&mut random);
        let stored = store.snapshot();
        let id = |node: NamedNode| {
            let id = stored.term_id(Term::from(node).as_ref()).expect("memory");
            id.unwrap_or(TermId::MAX)
        };
        let some = |random: &mut Random| {
            let graphs: Vec<u64> = (0..GRAPHS).filter(|_| random.below(2) == 0).collect();
            Graphs::some(graphs.into_iter().map(|graph| id(name("g", graph))))
        };
        for _ in 0..8 {
            let dataset = Dataset {
                has_default: random.below(2) == 0,
                merged: match random.below(4) {
                    0 => Graphs::All,
                    _ => some(&mut random),
                },
                named: match random.below(3) {
                    0 => Graphs::All,
                    _ => some(&mut random),
                },
            };
            let snapshot = stored.with_dataset(dataset.clone());
            let shown = shown(&stored, &dataset);
            let named: BTreeSet<TermId> = shown
                .iter()
                .map(|quad| quad.graph)
                .filter(|graph| *graph != TermId::DEFAULT_GRAPH)
                .collect();
            let graphs = snapshot.named_graphs().expect("graphs");
            assert_eq!(graphs, Vec::from_iter(named), "seed {seed}");
            for _ in 0..12 {
                let mut bound = |kind: &str, count: u64| {
                    let node = name(kind, random.below(count));
                    (random.below(2) == 0).then(|| id(node))
                };
                let (subject, predicate, object) = (bound("s", 4), bound("p", 3), bound("s", 4));
                let graph = match random.below(3) {
                    0 => GraphSelector::Default,
                    1 => GraphSelector::AnyNamed,
                    _ => GraphSelector::Named(id(name("g", random.below(GRAPHS)))),
                };
                let pattern = Pattern {
                    subject,
                    predicate,
                    object,
                    graph,
                };
                let kind = if random.below(2) == 0 { "s" } else { "g" };
                let seek = id(name(kind, random.below(4)));
                check(&snapshot, &shown, &pattern, seek, seed);
            }
            for quad in stored.quads() {
                let quad = quad.expect("a quad");
                let contains = snapshot.contains(&quad).expect("memory");
                assert_eq!(contains, shown.contains(&quad), "seed {seed}: {quad:?}");
            }
        }
    }
}
