//! What an opening relies on, and what it must leave alone: a state that a switch which failed or was
//! killed left behind, a directory that is no store, a store that took the place of another one, files
//! that are whole and contradict one another.

mod support;

use oxrdf::{GraphName, NamedNode};
use quadrille_store::io::faulty::{Fault, FaultyStorage, OperationKind, Survival};
use quadrille_store::io::memory::MemoryStorage;
use quadrille_store::io::{Bytes, Lock, Storage, WriteFile};
use quadrille_store::manifest::{LogEntry, Manifest};
use quadrille_store::verify::verify;
use quadrille_store::{GraphSelector, Mode, Pattern, Quad, Result, Store, StoreError};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use support::publish;

fn quad(name: &str) -> oxrdf::Quad {
    let iri = |name: &str| NamedNode::new_unchecked(format!("http://example.org/{name}"));
    oxrdf::Quad::new(iri(name), iri("p"), iri("o"), GraphName::DefaultGraph)
}

fn length(storage: MemoryStorage) -> Result<u64> {
    Store::with_storage(Arc::new(storage), Mode::Write)?
        .snapshot()
        .len()
}

/// The syncing of the directory behind the renaming of the manifest fails (or the process dies before
/// it). The store is opened again and shows the new state; whoever is told now that a quad is there
/// must find it there after the power has failed.
#[test]
fn what_was_found_at_an_opening_survives_a_crash() -> Result<()> {
    let run = |fail_at: Option<usize>| -> Result<FaultyStorage> {
        let storage = FaultyStorage::new();
        let store = Store::with_storage(Arc::new(storage.clone()), Mode::Create)?;
        store.insert_quads([quad("a")])?;
        if let Some(operation) = fail_at {
            storage.fail_at(operation, Fault::InputOutput, false);
        }
        assert_eq!(store.insert_quads([quad("b")]).is_err(), fail_at.is_some());
        storage.heal();
        Ok(storage)
    };
    let operations = run(None)?.operations();
    let last = operations.len() - 1;
    assert_eq!(operations[last].kind, OperationKind::SyncDirectory);
    let storage = run(Some(last))?;
    assert_eq!(length(storage.survivors(0, Survival::Durable))?, 1);
    let store = Store::with_storage(Arc::new(storage.clone()), Mode::Write)?;
    assert_eq!(store.insert_quads([quad("b")])?, 0, "it is there already");
    assert_eq!(length(storage.survivors(0, Survival::Durable))?, 2);
    Ok(())
}

#[test]
fn a_directory_that_is_no_store_is_left_alone() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let somebodys = directory.path().join("notes");
    std::fs::write(&somebodys, "something").expect("can be written");
    for _ in 0..2 {
        for mode in [Store::open, Store::open_existing, Store::open_read_only] {
            let refused = mode(directory.path());
            assert!(matches!(refused, Err(StoreError::NotAStore { .. })));
        }
        let names = directory.path().read_dir().expect("can be listed").count();
        assert!(names <= 2, "an opening leaves a file");
        // The second time with a file that has the name of ours.
        let lock = directory.path().join("lock");
        if let Ok(text) = std::fs::read_to_string(&lock) {
            assert_eq!(text, "bicycle", "somebody's file was written over");
        }
        std::fs::write(&lock, "bicycle").expect("can be written");
    }
}

/// A directory in which another store appears.
#[derive(Debug)]
struct Exchanged(Mutex<MemoryStorage>);

impl Exchanged {
    fn now(&self) -> MemoryStorage {
        self.0.lock().expect("nobody panics").clone()
    }
}

impl Storage for Exchanged {
    fn create(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        self.now().create(path)
    }
    fn map(&self, path: &str) -> Result<Bytes> {
        self.now().map(path)
    }
    fn length(&self, path: &str) -> Result<Option<u64>> {
        self.now().length(path)
    }
    fn read(&self, path: &str) -> Result<Box<dyn std::io::Read + Send>> {
        self.now().read(path)
    }
    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.now().rename(from, to)
    }
    fn remove(&self, path: &str) -> Result<()> {
        self.now().remove(path)
    }
    fn sync_directory(&self, path: &str) -> Result<()> {
        self.now().sync_directory(path)
    }
    fn list(&self, path: &str) -> Result<Vec<String>> {
        self.now().list(path)
    }
    fn lock(&self) -> Result<Box<dyn Lock>> {
        self.now().lock()
    }
    fn free_space(&self) -> Result<Option<u64>> {
        self.now().free_space()
    }
    fn display(&self, path: &str) -> PathBuf {
        self.now().display(path)
    }
}

/// A reader is open while the store is removed and made anew: its files have the same names, lengths
/// and numbers, and must not be mixed up with the old ones.
#[test]
fn a_reader_does_not_mix_two_stores_of_one_place() -> Result<()> {
    let make = |names: &[&str]| -> Result<MemoryStorage> {
        let storage = MemoryStorage::new();
        let store = Store::with_storage(Arc::new(storage.clone()), Mode::Create)?;
        for name in names {
            store.insert_quads([quad(name)])?;
        }
        Ok(storage)
    };
    for names in [&["x"][..], &["x", "y"], &["x", "y", "z"]] {
        let storage = Arc::new(Exchanged(Mutex::new(make(&["a", "b"])?)));
        let reader = Store::with_storage(Arc::clone(&storage) as Arc<dyn Storage>, Mode::ReadOnly)?;
        *storage.0.lock().expect("nobody panics") = make(names)?;
        assert!(reader.refresh()?, "{names:?}");
        let snapshot = reader.snapshot();
        let found = snapshot
            .quads()
            .map(|found| snapshot.quad(&found?))
            .collect::<Result<Vec<_>>>()?;
        let expected: Vec<_> = names.iter().map(|name| quad(name)).collect();
        assert_eq!(found, expected);
        assert!(!reader.refresh()?);
    }
    Ok(())
}

#[test]
fn a_store_with_a_log_is_refused_and_not_shown_without_it() -> Result<()> {
    let storage = MemoryStorage::new();
    let store = Store::with_storage(Arc::new(storage.clone()), Mode::Create)?;
    store.insert_quads([quad("a")])?;
    drop(store);
    let mut manifest = Manifest::load(&storage)?.expect("a store").successor();
    let path = quadrille_store::manifest::log_path(manifest.next_file_number);
    manifest.next_file_number += 1;
    storage.insert(&path, b"commits".to_vec())?;
    manifest.logs.push(LogEntry {
        path: path.clone(),
        first_commit: manifest.commit + 1,
    });
    manifest.store(&storage).expect("memory takes it");
    for mode in [Mode::Create, Mode::Write, Mode::ReadOnly] {
        let refused = Store::with_storage(Arc::new(storage.clone()), mode);
        assert!(matches!(refused, Err(StoreError::NotAStore { .. })));
    }
    assert!(!verify(&storage).is_sound());
    assert_eq!(storage.length(&path)?, Some(7), "nothing is removed");
    Ok(())
}

/// Whole files of two layers that contradict one another: a count is an error, not a panic.
#[test]
fn a_tombstone_that_hides_nothing_makes_its_count_an_error() -> Result<()> {
    let store = Store::in_memory();
    store.insert_quads([quad("a"), quad("b")])?;
    let known = store.snapshot().quads().next().expect("a quad")?;
    let absent = Quad {
        object: known.predicate,
        ..known
    };
    publish(&store, &[], &[absent])?;
    let pattern = Pattern {
        subject: Some(absent.subject),
        predicate: Some(absent.predicate),
        object: Some(absent.object),
        graph: GraphSelector::Default,
    };
    let count = store.snapshot().count(&pattern);
    assert!(
        matches!(count, Err(StoreError::Damaged { .. })),
        "{count:?}"
    );
    Ok(())
}
