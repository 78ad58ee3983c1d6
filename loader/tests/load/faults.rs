//! Loads that are killed, meet failing files or a full disk: the old or the new store is left, whole, and what a
//! failed load wrote is gone.

use crate::documents::{Document, Expected, Random, Shape};
use crate::stores::{
    Setup, ShownOnPanic, TINY, check_store, check_tidy, contents, load_documents, open,
};
use quadrille_loader::LoadError;
use quadrille_store::io::faulty::{Fault, FaultyStorage, OperationKind, Survival};
use quadrille_store::io::memory::MemoryStorage;
use quadrille_store::io::{Bytes, Lock, Storage, WriteFile};
use quadrille_store::{Mode, Store, StoreError};
use std::collections::BTreeSet;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

/// The most operations of one load that are tried.
const POINTS_MAX: usize = 60;

/// A store with data, and a load that is to be disturbed.
struct Scene {
    start: MemoryStorage,
    before: BTreeSet<String>,
    documents: Vec<Document>,
    after: BTreeSet<String>,
    setup: Setup,
}

impl Scene {
    fn new(seed: u64, setup: Setup) -> Self {
        let mut random = Random::new(seed);
        let mut documents: Vec<Document> = (0..3)
            .map(|number| {
                let shape = Shape {
                    statements: 40,
                    universe: 12,
                    blanks: true,
                };
                Document::random(&mut random, number, shape)
            })
            .collect();
        let start = MemoryStorage::new();
        let store = Store::with_storage(Arc::new(start.clone()), Mode::Create).expect("opens");
        let mut expected = Expected::default();
        let first = documents.remove(0);
        store
            .insert_quads(expected.next_quads(std::slice::from_ref(&first)))
            .expect("inserts");
        expected.load(&[first]);
        let before = expected.quads.clone();
        expected.load(&documents);
        Self {
            start,
            before,
            documents,
            after: expected.quads,
            setup,
        }
    }

    fn storage(&self) -> FaultyStorage {
        FaultyStorage::with_files(&self.start).expect("copies")
    }

    fn load(&self, store: &Store) -> Result<(), LoadError> {
        load_documents(store, &self.documents, self.setup).map(drop)
    }

    /// Operations of an undisturbed load, or as many as are tried of them, spread over all.
    fn points(&self) -> Vec<usize> {
        let storage = self.storage();
        let store = open(&storage, Mode::Write);
        let first = storage.operations().len();
        self.load(&store).expect("loads");
        check_store(&store, &self.after);
        let count = storage.operations().len() - first;
        assert!(count > 50, "only {count} operations");
        let step = count.div_ceil(POINTS_MAX);
        // Always the last ones too: there the manifest is switched.
        let last = count.saturating_sub(12)..count;
        let points: BTreeSet<usize> = (0..count).step_by(step).chain(last).collect();
        points.into_iter().map(|point| first + point).collect()
    }
}

fn scenes() -> [Scene; 2] {
    // One thread, so that the number of operations is the same each time (only syncs may come sooner or later).
    let spilling = Setup {
        batch: 20,
        memory: TINY,
        ..Setup::PLAIN
    };
    [Scene::new(1, Setup::PLAIN), Scene::new(2, spilling)]
}

#[test]
fn a_crash_leaves_the_old_or_the_new_store() {
    for (number, scene) in scenes().iter().enumerate() {
        let mut outcomes = BTreeSet::new();
        for point in scene.points() {
            let storage = scene.storage();
            let store = open(&storage, Mode::Write);
            storage.crash_at(point);
            let result = scene.load(&store);
            drop(store);
            let what = storage.operations().get(point).cloned();
            let _shown = ShownOnPanic((number, point, what));
            assert!(storage.has_crashed());
            for survival in Survival::ALL {
                let _shown = ShownOnPanic(survival);
                let survivors = Arc::new(storage.survivors(point as u64, survival));
                // As a reader sees it, which cleans nothing up, and as the next writer does.
                let reader = Store::with_storage(survivors.clone(), Mode::ReadOnly).expect("opens");
                let read = contents(&reader.snapshot());
                let is_new = read == scene.after;
                assert!(
                    is_new || read == scene.before,
                    "neither the old nor the new store"
                );
                assert!(
                    is_new || result.is_err(),
                    "a load that was reported done is lost"
                );
                let store = Store::with_storage(survivors, Mode::Write).expect("opens");
                check_store(&store, if is_new { &scene.after } else { &scene.before });
                outcomes.insert((is_new, result.is_ok()));
            }
            // And the load can be repeated.
            let survivors = Arc::new(storage.survivors(point as u64, Survival::Durable));
            let store = Store::with_storage(survivors, Mode::Write).expect("opens");
            if contents(&store.snapshot()) == scene.before {
                scene.load(&store).expect("loads");
                check_store(&store, &scene.after);
            }
        }
        assert!(
            outcomes.contains(&(false, false)),
            "no crash came before the switch"
        );
        assert!(
            outcomes.contains(&(true, false)),
            "no crash came within the switch"
        );
        assert!(
            outcomes.contains(&(true, true)),
            "no crash came after the switch"
        );
    }
}

#[test]
fn an_operation_that_fails_leaves_the_store_as_it_was() {
    for (number, scene) in scenes().iter().enumerate() {
        for point in scene.points() {
            let storage = scene.storage();
            let store = open(&storage, Mode::Write);
            storage.fail_at(point, Fault::InputOutput, false);
            let result = scene.load(&store);
            storage.heal();
            let what = storage.operations()[point].clone();
            let _shown = ShownOnPanic((number, point, what.clone(), format!("{result:?}")));
            match result {
                // Temporary files that could not be removed are removed at the next open.
                Ok(()) => {
                    assert_eq!(what.kind, OperationKind::Remove);
                    assert_eq!(contents(&store.snapshot()), scene.after);
                    continue;
                }
                Err(LoadError::Store(StoreError::Io { .. })) => {}
                Err(error) => panic!("another error: {error}"),
            }
            assert_eq!(contents(&store.snapshot()), scene.before);
            match store.begin_segment() {
                Ok(reservation) => drop(reservation),
                Err(StoreError::Uncertain { .. }) => {
                    // The renaming of the manifest failed: either store may be there when it is opened again.
                    drop(store);
                    let found = contents(&open(&storage, Mode::Write).snapshot());
                    assert!(found == scene.before || found == scene.after);
                    continue;
                }
                Err(error) => panic!("no further change is possible: {error}"),
            }
            check_store(&store, &scene.before);
            scene
                .load(&store)
                .expect("the same load succeeds when nothing fails");
            check_store(&store, &scene.after);
        }
    }
}

#[test]
fn a_full_disk_is_an_error_and_nothing_is_lost() {
    for (number, scene) in scenes().iter().enumerate() {
        let used = |storage: &FaultyStorage| -> u64 {
            let files = storage.list("").expect("lists");
            files
                .iter()
                .map(|path| storage.length(path).expect("stats").unwrap_or(0))
                .sum()
        };
        let storage = scene.storage();
        let empty = used(&storage);
        scene.load(&open(&storage, Mode::Write)).expect("loads");
        let full = used(&storage);
        assert!(full > empty + 1000);
        let steps = 24;
        for step in 0..steps {
            let limit = empty + (full - empty) * step / steps;
            let _shown = ShownOnPanic((number, limit));
            let storage = scene.storage();
            let store = open(&storage, Mode::Write);
            storage.limit_space(limit);
            match scene.load(&store) {
                Err(LoadError::Store(StoreError::Io { source, .. })) => {
                    assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
                }
                other => panic!("{other:?}"),
            }
            check_tidy(&store);
            check_store(&store, &scene.before);
            storage.heal();
            scene.load(&store).expect("loads when there is room");
            check_store(&store, &scene.after);
            // And what is on the disk is the new store.
            let survivors = Arc::new(storage.survivors(0, Survival::Durable));
            let store = Store::with_storage(survivors, Mode::Write).expect("opens");
            check_store(&store, &scene.after);
        }
    }
}

#[test]
fn several_threads_fail_together() {
    // With more threads it is not known what fails, but what is left is the same.
    let setup = Setup {
        threads: 4,
        inserters: Some(2),
        help: false,
        batch: 3,
        queue: 1,
        memory: TINY,
        ..Setup::PLAIN
    };
    let scene = Scene::new(3, setup);
    for step in 0..40 {
        let storage = scene.storage();
        let store = open(&storage, Mode::Write);
        storage.fail_at(
            storage.operations().len() + step * 7,
            Fault::NoSpace,
            step % 2 == 0,
        );
        let result = scene.load(&store);
        let _shown = ShownOnPanic((step, format!("{result:?}")));
        storage.heal();
        let expected = if result.is_ok() {
            &scene.after
        } else {
            &scene.before
        };
        assert_eq!(contents(&store.snapshot()), *expected);
        drop(store);
        let store = open(&storage, Mode::Write);
        check_tidy(&store);
        let found = contents(&store.snapshot());
        assert!(found == scene.before || found == scene.after);
        assert!(store.verify().is_sound());
    }
}

/// A storage whose temporary files are broken beyond errors.
#[derive(Debug)]
struct Panicking(MemoryStorage);

impl Storage for Panicking {
    fn create(&self, path: &str) -> quadrille_store::Result<Box<dyn WriteFile>> {
        assert!(!path.starts_with("temporary/"), "on purpose");
        self.0.create(path)
    }
    fn map(&self, path: &str) -> quadrille_store::Result<Bytes> {
        self.0.map(path)
    }
    fn length(&self, path: &str) -> quadrille_store::Result<Option<u64>> {
        self.0.length(path)
    }
    fn read(&self, path: &str) -> quadrille_store::Result<Box<dyn Read + Send>> {
        self.0.read(path)
    }
    fn rename(&self, from: &str, to: &str) -> quadrille_store::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, path: &str) -> quadrille_store::Result<()> {
        self.0.remove(path)
    }
    fn sync_directory(&self, path: &str) -> quadrille_store::Result<()> {
        self.0.sync_directory(path)
    }
    fn list(&self, path: &str) -> quadrille_store::Result<Vec<String>> {
        self.0.list(path)
    }
    fn lock(&self) -> quadrille_store::Result<Box<dyn Lock>> {
        self.0.lock()
    }
    fn free_space(&self) -> quadrille_store::Result<Option<u64>> {
        self.0.free_space()
    }
    fn display(&self, path: &str) -> PathBuf {
        self.0.display(path)
    }
}

#[test]
fn a_thread_that_panics_ends_the_load() {
    // A defect of our own must not look like a load that takes very long.
    for (inserters, help) in [(1, false), (1, true), (2, false)] {
        let setup = Setup {
            threads: 3,
            inserters: Some(inserters),
            help,
            batch: 1,
            queue: 1,
            memory: TINY,
            ..Setup::PLAIN
        };
        let _shown = ShownOnPanic(setup);
        let scene = Scene::new(4, setup);
        let storage = Arc::new(Panicking(scene.start.clone()));
        let store = Store::with_storage(storage, Mode::Write).expect("opens");
        let result = catch_unwind(AssertUnwindSafe(|| scene.load(&store)));
        assert!(result.is_err(), "the panic goes on");
        check_store(&store, &scene.before);
    }
}
