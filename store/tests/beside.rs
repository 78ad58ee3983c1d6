//! Readers beside a writer: they see what was published, keep what they have seen, and can be
//! opened at any moment, whatever the writer replaces and removes meanwhile.

mod support;

use quadrille_store::insert::write_segment;
use quadrille_store::io::memory::MemoryStorage;
use quadrille_store::io::{Bytes, Lock, Storage, WriteFile};
use quadrille_store::manifest::{Manifest, segment_path};
use quadrille_store::verify::verify;
use quadrille_store::{Mode, Quad, Result, Store};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{Random, Universe, check_snapshot, publish};

#[test]
fn a_reader_beside_a_writer_sees_what_was_published() -> Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let writer = Store::open(directory.path())?;
    let reader = Store::open_read_only(directory.path())?;
    let mut random = Random::new(7);
    let universe = Universe::new(&writer, 14, 6)?;
    assert!(reader.snapshot().is_empty());
    assert!(reader.refresh()?);
    assert!(!reader.refresh()?);
    let mut model: BTreeSet<_> = writer.snapshot().quads().collect::<Result<_>>()?;
    check_snapshot(&reader.snapshot(), &model, &universe, &mut random, 20)?;
    for _ in 0..4 {
        let before = (reader.snapshot(), model.clone());
        let (inserts, tombstones) = universe.change(&mut model, &mut random, 50, 20);
        publish(&writer, &inserts, &tombstones)?;
        check_snapshot(&reader.snapshot(), &before.1, &universe, &mut random, 20)?;
        assert!(reader.refresh()?);
        check_snapshot(&reader.snapshot(), &model, &universe, &mut random, 20)?;
        check_snapshot(&before.0, &before.1, &universe, &mut random, 20)?;
        let fresh = Store::open_read_only(directory.path())?;
        check_snapshot(&fresh.snapshot(), &model, &universe, &mut random, 20)?;
    }
    assert!(reader.begin_segment().is_err(), "a reader writes nothing");
    assert!(
        Store::open(directory.path()).is_err(),
        "there is one writer"
    );
    Ok(())
}

/// A storage that becomes another one after some operations: what a reader sees of a writer that
/// replaces everything between two of its looks.
#[derive(Debug)]
struct Replaced {
    before: MemoryStorage,
    after: MemoryStorage,
    left: AtomicUsize,
}

impl Replaced {
    fn now(&self) -> &MemoryStorage {
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        if left == 0 { &self.after } else { &self.before }
    }
}

impl Storage for Replaced {
    fn create(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        panic!("a reader creates {path}")
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
    fn rename(&self, from: &str, _: &str) -> Result<()> {
        panic!("a reader renames {from}")
    }
    fn remove(&self, path: &str) -> Result<()> {
        panic!("a reader removes {path}")
    }
    fn sync_directory(&self, path: &str) -> Result<()> {
        panic!("a reader syncs {path}")
    }
    fn list(&self, path: &str) -> Result<Vec<String>> {
        self.now().list(path)
    }
    fn lock(&self) -> Result<Box<dyn Lock>> {
        panic!("a reader takes the lock")
    }
    fn free_space(&self) -> Result<Option<u64>> {
        Ok(None)
    }
    fn display(&self, path: &str) -> PathBuf {
        self.before.display(path)
    }
}

#[test]
fn a_reader_can_be_opened_while_everything_is_replaced() -> Result<()> {
    let before = MemoryStorage::new();
    let store = Store::with_storage(Arc::new(before.clone()), Mode::Create)?;
    let mut random = Random::new(11);
    let universe = Universe::new(&store, 14, 6)?;
    let mut model: BTreeSet<Quad> = store.snapshot().quads().collect::<Result<_>>()?;
    let (inserts, tombstones) = universe.change(&mut model, &mut random, 50, 10);
    publish(&store, &inserts, &tombstones)?;
    let old = model.clone();

    // The writer changes something, and puts all segments together into one.
    let after = MemoryStorage::new();
    for path in before.list("")? {
        after.insert(&path, before.map(&path)?.to_vec())?;
    }
    universe.change(&mut model, &mut random, 50, 10);
    let shared: Arc<dyn Storage> = Arc::new(after.clone());
    let mut manifest = Manifest::load(&after)?.expect("a store").successor();
    let replaced: Vec<String> = manifest
        .segments
        .iter()
        .map(|entry| entry.path.clone())
        .collect();
    let path = segment_path(manifest.next_file_number);
    manifest.next_file_number += 1;
    let quads: Vec<Quad> = model.iter().copied().collect();
    manifest.segments = vec![write_segment(&shared, &path, &quads, &[])?];
    manifest.store(&after).expect("memory takes it");
    for path in replaced {
        after.remove(&path)?;
    }
    assert!(verify(&after).is_sound());

    let (mut saw_old, mut saw_new) = (0, 0);
    for left in 0.. {
        let storage = Arc::new(Replaced {
            before: before.clone(),
            after: after.clone(),
            left: AtomicUsize::new(left),
        });
        let reader = Store::with_storage(Arc::clone(&storage) as Arc<dyn Storage>, Mode::ReadOnly)?;
        let still_old = storage.left.load(Ordering::Relaxed) > 0;
        let quads: BTreeSet<Quad> = reader.snapshot().quads().collect::<Result<_>>()?;
        if quads == old {
            saw_old += 1;
            // What is mapped stays; the next look sees the change.
            storage.left.store(0, Ordering::Relaxed);
            let snapshot = reader.snapshot();
            assert!(reader.refresh()?);
            check_snapshot(&snapshot, &old, &universe, &mut random, 3)?;
        } else {
            saw_new += 1;
            assert!(!reader.refresh()?);
        }
        check_snapshot(&reader.snapshot(), &model, &universe, &mut random, 3)?;
        if still_old {
            break;
        }
    }
    assert!(
        saw_old > 0 && saw_new > 20,
        "{saw_old} old states, {saw_new} new ones"
    );
    Ok(())
}
