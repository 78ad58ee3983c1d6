//! Crash tests: a change is killed in each of its operations, in each way in which a disk can
//! survive that, and the store must open with the state before or after the change, whole; after,
//! if the change was reported done. Then errors instead of crashes: the store in memory stays as it
//! was, and goes on working.

mod support;

use quadrille_store::io::Storage;
use quadrille_store::io::faulty::{Fault, FaultyStorage, for_each_crash};
use quadrille_store::io::memory::MemoryStorage;
use quadrille_store::verify::verify;
use quadrille_store::{Mode, Quad, Result, Store, StoreError};
use std::collections::BTreeSet;
use std::sync::Arc;
use support::{Random, Universe, publish};

fn quads_of(store: &Store) -> Result<BTreeSet<Quad>> {
    store.snapshot().quads().collect()
}

/// A store with two layers, and a change to it.
struct Scene {
    start: MemoryStorage,
    before: BTreeSet<Quad>,
    inserts: Vec<Quad>,
    tombstones: Vec<Quad>,
    after: BTreeSet<Quad>,
}

fn scene() -> Result<Scene> {
    let start = MemoryStorage::new();
    let store = Store::with_storage(Arc::new(start.clone()), Mode::Create)?;
    let mut random = Random::new(5);
    let universe = Universe::new(&store, 14, 6)?;
    let mut model = quads_of(&store)?;
    let (inserts, tombstones) = universe.change(&mut model, &mut random, 30, 5);
    publish(&store, &inserts, &tombstones)?;
    let before = model.clone();
    let (inserts, tombstones) = universe.change(&mut model, &mut random, 30, 5);
    Ok(Scene {
        start,
        before,
        inserts,
        tombstones,
        after: model,
    })
}

/// Opens what survived, and says whether it is the state after; anything but the two states fails.
fn survived(storage: &MemoryStorage, before: &BTreeSet<Quad>, after: &BTreeSet<Quad>) -> bool {
    // First as a reader beside a writer would see it, which cleans nothing up.
    let reader = Store::with_storage(Arc::new(storage.clone()), Mode::ReadOnly).expect("opens");
    let read = quads_of(&reader).expect("reads");
    let store = Store::with_storage(Arc::new(storage.clone()), Mode::Write).expect("opens");
    let quads = quads_of(&store).expect("reads");
    assert_eq!(read, quads);
    assert!(
        quads == *before || quads == *after,
        "neither the old state nor the new one"
    );
    let report = store.verify();
    assert!(report.is_sound(), "{:#?}", report.problems);
    let manifest = store.manifest();
    let mut live = manifest.live_files();
    live.extend(["manifest", "lock"]);
    for path in storage.list("").expect("lists") {
        assert!(live.contains(path.as_str()), "{path} is left over");
    }
    quads == *after
}

#[test]
fn a_crash_in_a_change_leaves_the_old_or_the_new_state() -> Result<()> {
    let scene = scene()?;
    for_each_crash(
        &scene.start,
        0..6,
        |storage| -> Result<()> {
            let store = Store::with_storage(Arc::new(storage.clone()), Mode::Write)?;
            publish(&store, &scene.inserts, &scene.tombstones)
        },
        |done, storage, _| {
            let is_new = survived(&storage, &scene.before, &scene.after);
            assert!(
                is_new || done.is_err(),
                "a change that was reported done is lost"
            );
            // And the store can be changed again.
            let store = Store::with_storage(Arc::new(storage), Mode::Write).expect("opens");
            if !is_new {
                publish(&store, &scene.inserts, &scene.tombstones).expect("can be written");
                assert_eq!(quads_of(&store).expect("reads"), scene.after);
            }
        },
    )
}

#[test]
fn a_crash_while_terms_are_inserted_leaves_the_old_or_the_new_state() -> Result<()> {
    let quads: Vec<oxrdf::Quad> = (0..5)
        .map(|number| {
            let iri =
                |what: &str| oxrdf::NamedNode::new_unchecked(format!("http://example.org/{what}"));
            let object = oxrdf::Triple::new(
                oxrdf::BlankNode::new_unchecked("b"),
                iri("q"),
                oxrdf::Literal::new_simple_literal(format!("o{number}")),
            );
            oxrdf::Quad::new(iri("s"), iri("p"), object, oxrdf::GraphName::DefaultGraph)
        })
        .collect();
    for_each_crash(
        &MemoryStorage::new(),
        0..6,
        |storage| -> Result<u64> {
            // From nothing: the making of the store is killed too.
            let store = Store::with_storage(Arc::new(storage.clone()), Mode::Create)?;
            store.insert_quads(quads.clone())
        },
        |done, storage, _| {
            let store = Store::with_storage(Arc::new(storage), Mode::Create).expect("opens");
            let count = store.snapshot().len().expect("a count");
            assert!(count == 5 || (count == 0 && done.is_err()), "{count} quads");
            let report = store.verify();
            assert!(report.is_sound(), "{:#?}", report.problems);
            if count == 0 {
                assert_eq!(
                    store.insert_quads(quads.clone()).expect("can be written"),
                    5
                );
            }
        },
    )
}

#[test]
fn a_crash_while_leftovers_are_removed_is_harmless() -> Result<()> {
    let scene = scene()?;
    // Files of a change that was never published.
    for path in [
        "segments/00000099/spo",
        "dictionaries/00000099",
        "manifest.new",
        "temporary/x",
    ] {
        scene.start.insert(path, b"half a file".to_vec())?;
    }
    for_each_crash(
        &scene.start,
        0..4,
        |storage| Store::with_storage(Arc::new(storage.clone()), Mode::Write).map(|_| ()),
        |_, storage, _| {
            survived(&storage, &scene.before, &scene.after);
        },
    )
}

#[test]
fn an_error_in_a_change_leaves_the_store_as_it_was() -> Result<()> {
    let scene = scene()?;
    let whole = FaultyStorage::with_files(&scene.start)?;
    let store = Store::with_storage(Arc::new(whole.clone()), Mode::Write)?;
    let first = whole.operations().len();
    publish(&store, &scene.inserts, &scene.tombstones)?;
    let last = whole.operations().len();
    assert!(last > first + 60, "a change of {} operations", last - first);
    let (mut uncertain, mut clean) = (0, 0);
    for operation in first..last {
        for (fault, persistent) in [
            (Fault::NoSpace, false),
            (Fault::InputOutput, false),
            (Fault::InputOutput, true),
        ] {
            let storage = FaultyStorage::with_files(&scene.start)?;
            let store = Store::with_storage(Arc::new(storage.clone()), Mode::Write)?;
            storage.fail_at(operation, fault, persistent);
            let error = publish(&store, &scene.inserts, &scene.tombstones)
                .expect_err("an operation failed");
            assert!(matches!(error, StoreError::Io { .. }), "{error}");
            storage.heal();
            assert_eq!(quads_of(&store)?, scene.before, "operation {operation}");
            let report = verify(&storage);
            assert!(
                report.is_sound(),
                "operation {operation}: {:#?}",
                report.problems
            );
            // It goes on: either with another try, or after it was opened again.
            match publish(&store, &scene.inserts, &scene.tombstones) {
                Ok(()) => clean += 1,
                Err(StoreError::Uncertain { .. }) => {
                    uncertain += 1;
                    drop(store);
                    let store = Store::with_storage(Arc::new(storage.clone()), Mode::Write)?;
                    if quads_of(&store)? != scene.after {
                        publish(&store, &scene.inserts, &scene.tombstones)?;
                    }
                    assert_eq!(quads_of(&store)?, scene.after);
                    continue;
                }
                Err(error) => panic!("operation {operation}: {error}"),
            }
            assert_eq!(quads_of(&store)?, scene.after, "operation {operation}");
        }
    }
    // The renaming of the manifest and the syncing of its directory, with three faults each.
    assert_eq!(uncertain, 6);
    assert!(clean > 100);
    Ok(())
}

#[test]
fn a_full_disk_leaves_the_store_as_it_was() -> Result<()> {
    let scene = scene()?;
    let mut used = 0;
    for path in scene.start.list("")? {
        used += scene.start.length(&path)?.unwrap_or(0);
    }
    let mut done = false;
    for more in (0..40_000).step_by(997) {
        let storage = FaultyStorage::with_files(&scene.start)?;
        let store = Store::with_storage(Arc::new(storage.clone()), Mode::Write)?;
        storage.limit_space(used + more);
        let result = publish(&store, &scene.inserts, &scene.tombstones);
        done = result.is_ok();
        let expected = if done { &scene.after } else { &scene.before };
        assert_eq!(quads_of(&store)?, *expected);
        assert!(store.verify().is_sound());
    }
    assert!(done, "the last try has room enough");
    Ok(())
}
