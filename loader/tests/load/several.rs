//! Loads into a store that has data: ids stay, what is there already is counted and left out.

use crate::documents::{Document, Expected, Random, Shape};
use crate::stores::{
    Setup, ShownOnPanic, TINY, assert_same, check_counts, check_store, contents, load_and_check,
    model, new_store, open,
};
use quadrille_store::io::faulty::Survival;
use quadrille_store::{Mode, Store, TermId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Every term of the store's quads, triple terms and what is inside them included.
fn ids(store: &Store) -> BTreeMap<TermId, String> {
    let snapshot = store.snapshot();
    let mut ids = BTreeMap::new();
    for quad in snapshot.quads() {
        let quad = quad.expect("reads");
        for id in [quad.subject, quad.predicate, quad.object, quad.graph] {
            if !id.is_unbound() {
                ids.entry(id)
                    .or_insert_with(|| snapshot.term(id).expect("has a term").to_string());
            }
        }
    }
    ids
}

fn random_documents(random: &mut Random, first: u32, blanks: bool) -> Vec<Document> {
    (first..first + 1 + random.below(3) as u32)
        .map(|number| {
            let shape = Shape {
                statements: random.choose(&[10, 80, 200]),
                universe: random.choose(&[8, 25]),
                blanks,
            };
            Document::random(random, number, shape)
        })
        .collect()
}

#[test]
fn loads_add_up() {
    for seed in 200..216 {
        let mut random = Random::new(seed);
        let _shown = ShownOnPanic(seed);
        let (storage, store) = new_store();
        let mut expected = Expected::default();
        let mut known: BTreeMap<TermId, String> = BTreeMap::new();
        let mut past: Vec<Vec<Document>> = Vec::new();
        for round in 0..5 {
            let setup = Setup::random(&mut random);
            let _shown = ShownOnPanic((round, setup));
            // New ones of the same universe, which overlap; or old ones again, alone or among new ones.
            let blanks = random.one_in(2);
            let mut documents = random_documents(&mut random, round * 10, blanks);
            if !past.is_empty() && random.one_in(2) {
                let old = past[random.below(past.len())].clone();
                if random.one_in(2) {
                    documents = old;
                } else {
                    documents.extend(old);
                }
            }
            let earlier = (store.snapshot(), expected.quads.clone());
            if random.one_in(5) {
                // By the plain way, which knows each document's blank nodes only within the call.
                let quads = expected.next_quads(&documents);
                let counts = expected.load(&documents);
                assert_eq!(
                    store.insert_quads(quads).expect("inserts"),
                    counts.quads_new
                );
                check_store(&store, &expected.quads);
            } else {
                load_and_check(&store, &mut expected, &documents, setup);
            }
            // Who looked before still sees what there was.
            assert_same(&contents(&earlier.0), &earlier.1);
            let now = ids(&store);
            for (id, term) in &known {
                assert_eq!(now.get(id), Some(term), "{id:?} means something else");
            }
            known = now;
            let snapshot = store.snapshot();
            let model = model(&snapshot);
            check_counts(&snapshot, &model, &mut random, 2);
            past.push(documents);
        }
        // And all of it is still there when the store is opened again.
        drop(store);
        let survivors = storage.survivors(0, Survival::Durable);
        let store = Store::with_storage(Arc::new(survivors), Mode::Write).expect("opens");
        check_store(&store, &expected.quads);
        assert_eq!(ids(&store), known);
    }
}

#[test]
fn the_same_data_again_adds_nothing() {
    for (seed, memory) in [(1, TINY), (2, None)] {
        let mut random = Random::new(seed);
        let setup = Setup {
            threads: 2,
            batch: 16,
            memory,
            ..Setup::PLAIN
        };
        let _shown = ShownOnPanic((seed, setup));
        let documents = [0, 1].map(|number| {
            let shape = Shape {
                statements: 150,
                universe: 30,
                blanks: false,
            };
            Document::random(&mut random, number, shape)
        });
        let (storage, store) = new_store();
        let mut expected = Expected::default();
        load_and_check(&store, &mut expected, &documents, setup);
        let before = store.manifest();
        let report = load_and_check(&store, &mut expected, &documents, setup);
        assert_eq!((report.quads_new, report.terms_new), (0, 0));
        assert_eq!(report.quads_present, expected.quads.len() as u64);
        let after = store.manifest();
        assert_eq!(before.segments, after.segments);
        assert_eq!(before.dictionaries, after.dictionaries);
        assert_eq!(before.triple_tables, after.triple_tables);
        assert_eq!(before.next_blank, after.next_blank);
        drop(store);
        check_store(&open(&storage, Mode::Write), &expected.quads);
    }
}

#[test]
fn a_label_means_one_node_in_a_file_and_another_in_the_next() {
    // The same text as two files of one load, and as a file of another load.
    let text = |number: u32| {
        format!(
            "_:a <u:p> _:a .\n_:a <u:p> <<( _:a <u:q> \"x\" )>> _:g .\n\
             _:a <http://example.org/identity> \"d{number}-a\" .\n\
             _:g <http://example.org/identity> \"d{number}-g\" .\n"
        )
    };
    let documents = [0, 1].map(|number| Document::parse(number, text(number)));
    let (_storage, store) = new_store();
    let mut expected = Expected::default();
    let report = load_and_check(&store, &mut expected, &documents, Setup::PLAIN);
    assert_eq!(report.quads_new, 8);
    assert_eq!(store.manifest().next_blank, 4);
    let report = load_and_check(&store, &mut expected, &documents[..1], Setup::PLAIN);
    assert_eq!((report.quads_new, report.quads_present), (4, 0));
    assert_eq!(store.manifest().next_blank, 6);
    assert_eq!(store.manifest().next_triple, 3);
}

#[test]
fn triple_terms_that_exist_are_found_again() {
    let inner = "<<( <u:s> <u:p> \"x\"@en )>>";
    let first = format!("<u:a> <u:p> <<( <u:a> <u:p> {inner} )>> .\n");
    let second =
        format!("<u:b> <u:p> {inner} <u:g> .\n<u:a> <u:p> <<( <u:a> <u:p> {inner} )>> .\n");
    let third = format!("<u:c> <u:p> <<( <u:c> <u:p> {inner} )>> .\n");
    for memory in [TINY, None] {
        let setup = Setup {
            batch: 1,
            memory,
            ..Setup::PLAIN
        };
        let _shown = ShownOnPanic(setup);
        let (_storage, store) = new_store();
        let mut expected = Expected::default();
        for (number, (text, triples)) in [(&first, 2), (&second, 2), (&third, 3)]
            .into_iter()
            .enumerate()
        {
            let document = Document::parse(number as u32, text.clone());
            load_and_check(&store, &mut expected, &[document], setup);
            assert_eq!(store.manifest().next_triple, triples, "after load {number}");
        }
    }
}
