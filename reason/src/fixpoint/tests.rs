//! Random rules and data against a naive evaluator: every rule on every combination of triples until nothing is new.

use super::*;
use crate::options::InferOptions;
use crate::profile::Profile;
use oxrdf::{GraphName, NamedNode, Quad};
use quadrille_store::{ColumnMask, Columns, GraphSelector, Kind, Pattern, Store};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeSet;

type Set = BTreeSet<[TermId; 3]>;

const TERMS: usize = 6;

fn node(number: usize) -> NamedNode {
    NamedNode::new_unchecked(format!("http://example.org/{number}"))
}

/// A store with these triples of numbered terms; and the terms' ids.
fn store(triples: &BTreeSet<[usize; 3]>) -> (Store, Vec<TermId>) {
    let store = Store::in_memory();
    insert(&store, triples);
    let snapshot = store.snapshot();
    let ids = (0..TERMS).map(|number| {
        let id = snapshot
            .term_id(node(number).as_ref().into())
            .expect("memory");
        // A term that no triple has: rules may mention it.
        id.unwrap_or(TermId::new(Kind::Iri, 1000 + number as u64))
    });
    let ids = ids.collect();
    (store, ids)
}

fn insert(store: &Store, triples: &BTreeSet<[usize; 3]>) {
    let quads = triples.iter().map(|&[subject, predicate, object]| {
        Quad::new(
            node(subject),
            node(predicate),
            node(object),
            GraphName::DefaultGraph,
        )
    });
    store.insert_quads(quads).expect("memory");
}

fn triples(snapshot: &Snapshot) -> Set {
    let all = Pattern {
        subject: None,
        predicate: None,
        object: None,
        graph: GraphSelector::Default,
    };
    let mut scan = snapshot
        .scan(&all, Order::Spo, ColumnMask::ALL)
        .expect("memory");
    let mut rows = Columns::default();
    while scan.fill(&mut rows, 1000).expect("memory") > 0 {}
    (0..rows.len())
        .map(|row| [0, 1, 2].map(|column: usize| rows.columns[column][row]))
        .collect()
}

fn random_rule(random: &mut StdRng, ids: &[TermId]) -> Rule {
    let slot = |random: &mut StdRng, constants: f64| {
        if random.random_bool(constants) {
            Slot::Constant(ids[random.random_range(0..ids.len())])
        } else {
            Slot::Variable(random.random_range(0..4))
        }
    };
    let body: Vec<Atom> = (0..random.random_range(1..4))
        .map(|_| Atom([slot(random, 0.2), slot(random, 0.8), slot(random, 0.2)]))
        .collect();
    let known: Vec<usize> = body.iter().flat_map(Atom::variables).collect();
    let of_body = |random: &mut StdRng, constants: f64| {
        if known.is_empty() || random.random_bool(constants) {
            Slot::Constant(ids[random.random_range(0..ids.len())])
        } else {
            Slot::Variable(known[random.random_range(0..known.len())])
        }
    };
    let head = Atom([
        of_body(random, 0.2),
        of_body(random, 0.8),
        of_body(random, 0.3),
    ]);
    let mut differ = Vec::new();
    if known.len() > 1 && random.random_bool(0.3) {
        let other = if random.random_bool(0.5) {
            Slot::Variable(known[known.len() - 1])
        } else {
            Slot::Constant(ids[random.random_range(0..ids.len())])
        };
        differ.push((known[0], other));
    }
    Rule::new("random", head, body, differ)
}

/// Every conclusion of a rule, by trying all triples for each premise.
fn naive_rule(rule: &Rule, facts: &Set, found: &mut Set) {
    fn search(
        rule: &Rule,
        place: usize,
        facts: &Set,
        bound: &mut [Option<TermId>],
        found: &mut Set,
    ) {
        let value = |slot: Slot, bound: &[Option<TermId>]| match slot {
            Slot::Constant(id) => Some(id),
            Slot::Variable(variable) => bound[variable],
        };
        let Some(atom) = rule.body.get(place) else {
            if rule
                .differ
                .iter()
                .all(|(left, right)| bound[*left] != value(*right, bound))
            {
                found.insert(
                    rule.head
                        .0
                        .map(|slot| value(slot, bound).expect("it is bound")),
                );
            }
            return;
        };
        for triple in facts {
            let before = bound.to_vec();
            let fits = atom.0.iter().zip(triple).all(|(slot, id)| {
                let known = *value(*slot, bound).get_or_insert(*id);
                if let Slot::Variable(variable) = slot {
                    bound[*variable] = Some(known);
                }
                known == *id
            });
            if fits {
                search(rule, place + 1, facts, bound, found);
            }
            bound.copy_from_slice(&before);
        }
    }
    search(rule, 0, facts, &mut [None; 12], found);
}

fn naive(rules: &[Rule], facts: &Set) -> Set {
    let mut all = facts.clone();
    loop {
        let mut found = all.clone();
        for rule in rules {
            naive_rule(rule, &all, &mut found);
        }
        if found == all {
            return all;
        }
        all = found;
    }
}

fn derived(runs: &[Arc<Run>]) -> Set {
    let mut all = Set::new();
    for run in runs {
        run.each(|triple| assert!(all.insert(triple), "runs are disjoint"));
    }
    all
}

#[test]
fn the_fixpoint_is_that_of_a_naive_evaluator() {
    for seed in 0..400 {
        let mut random = StdRng::seed_from_u64(seed);
        let some = |random: &mut StdRng, count: usize| -> BTreeSet<[usize; 3]> {
            (0..count)
                .map(|_| [0; 3].map(|_| random.random_range(0..TERMS)))
                .collect()
        };
        let first = some(&mut random, 12);
        let (store, ids) = store(&first);
        let rules: Vec<Rule> = (0..random.random_range(1..5))
            .map(|_| random_rule(&mut random, &ids))
            .collect();
        let mut options = InferOptions::new(Profile::Owl);
        options.threads = 1 + seed as usize % 3;
        let facts = triples(&store.snapshot());
        let expected = naive(&rules, &facts);
        let mut runs = Vec::new();
        let snapshot = store.snapshot();
        close(
            &snapshot,
            &rules,
            Start::Everything,
            &mut runs,
            false,
            &Context::new(&options),
        )
        .expect("memory");
        let found = derived(&runs);
        assert!(found.is_disjoint(&facts), "seed {seed}");
        let union: Set = found.union(&facts).copied().collect();
        assert_eq!(union, expected, "seed {seed}: {rules:#?}");

        // Further triples, all of known terms: from the closure and what is new, or from everything again.
        let more: BTreeSet<[usize; 3]> = some(&mut random, 4)
            .into_iter()
            .filter(|triple| triple.iter().all(|term| ids[*term].payload() < 1000))
            .collect();
        let closed = union;
        let delta: Set = more
            .iter()
            .map(|triple| triple.map(|term| ids[term]))
            .collect();
        let facts: Set = closed.union(&delta).copied().collect();
        let expected = naive(&rules, &facts);
        insert(&store, &more);
        let mut pairs: BTreeMap<TermId, Vec<[TermId; 2]>> = BTreeMap::new();
        for [subject, predicate, object] in found.iter().filter(|triple| !delta.contains(*triple)) {
            pairs
                .entry(*predicate)
                .or_default()
                .push([*object, *subject]);
        }
        for pairs in pairs.values_mut() {
            pairs.sort_unstable();
        }
        let kept = Arc::new(Run::new(pairs));
        let mut pairs: BTreeMap<TermId, Vec<[TermId; 2]>> = BTreeMap::new();
        for [subject, predicate, object] in &delta {
            pairs
                .entry(*predicate)
                .or_default()
                .push([*object, *subject]);
        }
        for pairs in pairs.values_mut() {
            pairs.sort_unstable();
        }
        let snapshot = store.snapshot();
        for start in [Start::Delta(Arc::new(Run::new(pairs))), Start::Everything] {
            let mut runs = vec![Arc::clone(&kept)];
            close(
                &snapshot,
                &rules,
                start,
                &mut runs,
                false,
                &Context::new(&options),
            )
            .expect("memory");
            let mut union = derived(&runs);
            union.extend(&triples(&snapshot));
            assert_eq!(union, expected, "seed {seed}, further: {rules:#?}");
        }
    }
}

#[test]
fn a_long_chain_is_closed_in_few_rounds() {
    let store = Store::in_memory();
    let length = 300;
    let quads = (0..length).map(|number| {
        let node = |number| NamedNode::new_unchecked(format!("http://example.org/n{number}"));
        Quad::new(
            node(number),
            self::node(0),
            node(number + 1),
            GraphName::DefaultGraph,
        )
    });
    store.insert_quads(quads).expect("memory");
    let snapshot = store.snapshot();
    let next = snapshot.term_id(node(0).as_ref().into()).expect("memory");
    let next = Slot::Constant(next.expect("it is there"));
    let atom = |from, to| Atom([Slot::Variable(from), next, Slot::Variable(to)]);
    let rule = Rule::new(
        "transitive",
        atom(0, 2),
        vec![atom(0, 1), atom(1, 2)],
        Vec::new(),
    );
    let mut runs = Vec::new();
    let options = InferOptions::new(Profile::Owl);
    let rounds = close(
        &snapshot,
        &[rule],
        Start::Everything,
        &mut runs,
        false,
        &Context::new(&options),
    )
    .expect("memory");
    assert_eq!(derived(&runs).len(), length * (length - 1) / 2);
    assert!(rounds <= 10, "{rounds} rounds");
    assert!(runs.len() < 10);
}
