//! Explicit and inferred quads: two sets of which a snapshot shows the union. Random sequences of loads and
//! inferences are compared with two `BTreeSet`s.

use oxrdf::{Literal, NamedNode, Term};
use quadrille_store::insert::{name_terms, write_segment};
use quadrille_store::manifest::InferenceEntry;
use quadrille_store::{
    ColumnMask, Columns, GraphSelector, Order, Pattern, Quad, Snapshot, Store, TermId, best_order,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeSet;

type Set = BTreeSet<[u8; 3]>;

fn node(number: u8) -> NamedNode {
    NamedNode::new_unchecked(format!("http://example.org/{number}"))
}

fn entry(rules: u64) -> InferenceEntry {
    InferenceEntry {
        profile: "test".to_owned(),
        rules,
        commit: 0,
    }
}

fn load(store: &Store, quads: &Set) -> u64 {
    let quads = quads.iter().map(|&[subject, predicate, object]| {
        oxrdf::Quad::new(
            node(subject),
            node(predicate),
            node(object),
            oxrdf::GraphName::DefaultGraph,
        )
    });
    store.insert_quads(quads).expect("memory")
}

fn id(snapshot: &Snapshot, number: u8) -> Option<TermId> {
    let term = Term::from(node(number));
    snapshot.term_id(term.as_ref()).expect("memory")
}

fn ids(snapshot: &Snapshot, quads: &Set) -> Vec<Quad> {
    let id = |number| id(snapshot, number).expect("the term was named");
    quads
        .iter()
        .map(|&[subject, predicate, object]| Quad {
            subject: id(subject),
            predicate: id(predicate),
            object: id(object),
            graph: TermId::DEFAULT_GRAPH,
        })
        .collect()
}

/// Publishes these inserts and tombstones of inferred quads.
fn infer(store: &Store, inserts: &Set, tombstones: &Set, replace: bool) {
    let reservation = store.begin_segment().expect("nobody else writes");
    let inserts = ids(&store.snapshot(), inserts);
    let tombstones = ids(&store.snapshot(), tombstones);
    let path = &reservation.segment_path;
    let segment = write_segment(store.storage(), path, &inserts, &tombstones).expect("memory");
    let new = quadrille_store::NewSegment {
        segment: Some(segment),
        ..Default::default()
    };
    store
        .publish_inferred(reservation, new, entry(1), replace)
        .expect("memory");
}

fn check(snapshot: &Snapshot, expected: &Set, context: &str) {
    let mut expected = ids(snapshot, expected);
    expected.sort_unstable();
    assert_eq!(snapshot.len().expect("memory"), expected.len() as u64);
    for order in Order::DEFAULT_GRAPH {
        let all = Pattern {
            subject: None,
            predicate: None,
            object: None,
            graph: GraphSelector::Default,
        };
        let mut scan = snapshot.scan(&all, order, ColumnMask::ALL).expect("memory");
        let mut rows = Columns::default();
        while scan.fill(&mut rows, 7).expect("memory") > 0 {}
        let found: Vec<Vec<TermId>> = (0..rows.len())
            .map(|row| rows.columns.iter().map(|column| column[row]).collect())
            .collect();
        let mut sorted: Vec<Vec<TermId>> = expected
            .iter()
            .map(|quad| order.row(quad)[..3].to_vec())
            .collect();
        sorted.sort();
        assert_eq!(found, sorted, "{context} {order:?}");
    }
    for first in 0..8 {
        for second in 0..8 {
            let bound = |number| id(snapshot, number).filter(|_| number > 0);
            let pattern = Pattern {
                subject: bound(first),
                predicate: None,
                object: bound(second),
                graph: GraphSelector::Default,
            };
            best_order(&pattern, None).expect("an order");
            let matching = expected.iter().filter(|quad| pattern.matches(quad)).count() as u64;
            assert_eq!(
                snapshot.count(&pattern).expect("memory"),
                matching,
                "{context}"
            );
            let at_most = snapshot.count_at_most(&pattern).expect("memory");
            assert!(at_most >= matching && (at_most == 0) == (matching == 0));
            assert!(
                at_most == matching || snapshot.is_inference_stale(),
                "{context}"
            );
        }
    }
    for subject in 1..8 {
        for object in 1..8 {
            let quad = ids(snapshot, &Set::from([[subject, 1 + subject % 3, object]]))[0];
            let contains = snapshot.contains(&quad).expect("memory");
            assert_eq!(contains, expected.contains(&quad), "{context} {quad:?}");
        }
    }
}

#[test]
fn loads_and_inferences_are_two_sets() {
    for seed in 0..60 {
        let mut random = StdRng::seed_from_u64(seed);
        let store = Store::in_memory();
        let (mut explicit, mut inferred) = (Set::new(), Set::new());
        // All terms are there from the start.
        let first: Set = (1..8).map(|number| [number, number, number]).collect();
        load(&store, &first);
        explicit.extend(&first);
        for step in 0..8 {
            let context = format!("seed {seed}, step {step}");
            let mut some = |count| -> Set {
                (0..count)
                    .map(|_| [0; 3].map(|_| random.random_range(1..8_u8)))
                    .collect()
            };
            match step % 4 {
                0 | 1 => {
                    let quads = some(12);
                    let new: Set = quads.difference(&explicit).copied().collect();
                    // What was inferred is loaded all the same.
                    assert_eq!(load(&store, &quads), new.len() as u64, "{context}");
                    explicit.extend(&quads);
                }
                2 => {
                    let union: Set = explicit.union(&inferred).copied().collect();
                    let inserts: Set = some(30).difference(&union).copied().collect();
                    let overlap: Set = inferred.intersection(&explicit).copied().collect();
                    infer(&store, &inserts, &overlap, false);
                    inferred = inferred.union(&inserts).copied().collect();
                    inferred = inferred.difference(&overlap).copied().collect();
                }
                _ => {
                    if step > 4 {
                        inferred = some(30).difference(&explicit).copied().collect();
                        infer(&store, &inferred, &Set::new(), true);
                    }
                }
            }
            let snapshot = store.snapshot();
            let union: Set = explicit.union(&inferred).copied().collect();
            check(&snapshot, &union, &context);
            check(&snapshot.explicit(), &explicit, &context);
            check(&snapshot.inferred(), &inferred, &context);
            assert_eq!(
                snapshot.is_inference_stale(),
                snapshot.inference().is_some() && step % 4 < 2,
                "{context}"
            );
            let report = store.verify();
            assert!(report.is_sound(), "{context}: {:?}", report.problems);
            let info = store.info().expect("memory");
            assert_eq!(info.explicit_quads, explicit.len() as u64);
            assert_eq!(info.inferred_quads, inferred.len() as u64);
        }
        assert!(store.drop_inferred().expect("memory") > 0);
        check(&store.snapshot(), &explicit, "dropped");
        assert!(store.snapshot().inference().is_none());
        let segments = store.manifest().segments.len();
        let directories = store.storage().names("segments").expect("memory");
        assert_eq!(
            directories.len(),
            segments,
            "files of dropped segments are removed"
        );
    }
}

#[test]
fn an_inference_may_bring_terms() {
    let store = Store::in_memory();
    load(&store, &Set::from([[1, 2, 3]]));
    let reservation = store.begin_segment().expect("nobody else writes");
    let snapshot = store.snapshot();
    let terms = [
        Term::from(node(9)),
        Term::from(node(1)),
        Term::from(Literal::from("new")),
    ];
    let (ids, mut new) =
        name_terms(&snapshot, &reservation, store.storage(), &terms).expect("memory");
    assert_eq!(id(&snapshot, 1), Some(ids[1]));
    let quad = Quad {
        subject: ids[0],
        predicate: ids[1],
        object: ids[2],
        graph: TermId::DEFAULT_GRAPH,
    };
    let path = &reservation.segment_path;
    new.segment = Some(write_segment(store.storage(), path, &[quad], &[]).expect("memory"));
    store
        .publish_inferred(reservation, new, entry(1), false)
        .expect("memory");
    let snapshot = store.snapshot();
    assert_eq!(id(&snapshot, 9), Some(ids[0]));
    assert_eq!(snapshot.term(ids[2]).expect("memory"), terms[2]);
    assert_eq!(store.manifest().commit, 1, "an inference is no commit");
    assert!(store.verify().is_sound());
}
