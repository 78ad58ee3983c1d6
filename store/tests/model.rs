//! The model test: random quads come and go in several layers, and a store must answer like a
//! `BTreeSet` of quads, before and after it is opened again.
//!
//! A failure prints its seed; `QUADRILLE_SEED=<seed> cargo test -p quadrille-store --test model`
//! runs that one alone.

mod support;

use quadrille_store::io::Storage;
use quadrille_store::io::memory::MemoryStorage;
use quadrille_store::run::Run;
use quadrille_store::{Mode, Quad, Result, Store, StoreError};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use support::{Random, Universe, check_snapshot, publish};

/// How large a model is and how it grows.
#[derive(Clone, Copy)]
struct Scale {
    iris: usize,
    blanks: u64,
    layers: usize,
    inserts: usize,
    deletes: usize,
    patterns: usize,
}

const SMALL: Scale = Scale {
    iris: 14,
    blanks: 6,
    layers: 6,
    inserts: 60,
    deletes: 20,
    patterns: 60,
};

/// Several blocks in an order, several fills of a source in a merge.
const LARGE: Scale = Scale {
    iris: 600,
    blanks: 300,
    layers: 3,
    inserts: 10_000,
    deletes: 3_000,
    patterns: 6,
};

/// Runs a test for seeds, saying which one failed.
fn for_seeds(seeds: std::ops::Range<u64>, test: impl Fn(u64) -> Result<()>) {
    let only: Option<u64> = std::env::var("QUADRILLE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    for seed in only.map_or(seeds, |seed| seed..seed + 1) {
        let shown = ShownOnPanic(seed);
        test(seed).unwrap_or_else(|error| panic!("{error}"));
        drop(shown);
    }
}

struct ShownOnPanic(u64);

impl Drop for ShownOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("QUADRILLE_SEED={}", self.0);
        }
    }
}

/// Grows a store layer by layer; `reopen` gives another handle of the same store.
fn grow(
    seed: u64,
    scale: Scale,
    mut store: Store,
    reopen: impl Fn(Store) -> Result<Store>,
) -> Result<()> {
    let mut random = Random::new(seed);
    let universe = Universe::new(&store, scale.iris, scale.blanks)?;
    let mut model: BTreeSet<_> = store.snapshot().quads().collect::<Result<_>>()?;
    let mut kept = Vec::new();
    for layer in 0..scale.layers {
        let deletes = if random.one_in(4) {
            0
        } else {
            random.below(scale.deletes)
        };
        // Now and then everything is deleted.
        let deletes = if random.one_in(8) {
            20 * model.len()
        } else {
            deletes
        };
        let inserts = random.below(scale.inserts);
        let (inserts, tombstones) = universe.change(&mut model, &mut random, inserts, deletes);
        publish(&store, &inserts, &tombstones)?;
        check_snapshot(
            &store.snapshot(),
            &model,
            &universe,
            &mut random,
            scale.patterns,
        )?;
        if layer == scale.layers / 2 {
            // A snapshot that was taken before shows what it showed, whatever happens.
            kept.push((store.snapshot(), model.clone()));
            store = reopen(store)?;
            check_snapshot(
                &store.snapshot(),
                &model,
                &universe,
                &mut random,
                scale.patterns,
            )?;
        }
    }
    for (snapshot, model) in kept {
        check_snapshot(&snapshot, &model, &universe, &mut random, scale.patterns)?;
    }

    // Runs in memory on top of the segments.
    let mut snapshot = store.snapshot();
    for _ in 0..2 {
        let (inserts, tombstones) = universe.change(
            &mut model,
            &mut random,
            scale.inserts / 2,
            scale.deletes / 2,
        );
        snapshot = snapshot.with_run(Arc::new(Run::new(inserts, tombstones)));
        check_snapshot(&snapshot, &model, &universe, &mut random, scale.patterns)?;
    }
    let report = store.verify();
    assert!(report.is_sound(), "{:#?}", report.problems);
    Ok(())
}

fn reopen_memory(store: Store) -> Result<Store> {
    let storage = Arc::clone(store.storage());
    drop(store);
    Store::with_storage(storage, Mode::Write)
}

#[test]
fn small_stores_in_memory() {
    for_seeds(0..12, |seed| {
        grow(seed, SMALL, Store::in_memory(), reopen_memory)
    });
}

#[test]
fn a_large_store_in_memory() {
    for_seeds(0..1, |seed| {
        grow(seed, LARGE, Store::in_memory(), reopen_memory)
    });
}

#[test]
fn small_stores_on_disk() {
    for_seeds(100..104, |seed| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path();
        grow(seed, SMALL, Store::open(path)?, |store| {
            drop(store);
            Store::open_existing(path)
        })
    });
}

#[test]
fn a_reservation_that_is_dropped_leaves_nothing() -> Result<()> {
    let storage = MemoryStorage::new();
    let store = Store::with_storage(Arc::new(storage.clone()), Mode::Create)?;
    let universe = Universe::new(&store, 14, 6)?;
    let before = storage.list("")?;
    let mut random = Random::new(1);
    let quads: Vec<_> = (0..50).map(|_| universe.quad(&mut random)).collect();
    let reservation = store.begin_segment()?;
    assert!(store.begin_segment().is_err(), "one reservation at a time");
    let path = reservation.segment_path.clone();
    quadrille_store::insert::write_segment(store.storage(), &path, &quads, &[])?;
    assert_ne!(storage.list("")?, before);
    drop(reservation);
    assert_eq!(storage.list("")?, before);
    assert_ne!(
        store.begin_segment()?.segment_path,
        path,
        "names are not used again"
    );
    Ok(())
}

#[test]
fn a_reservation_keeps_the_lock() -> Result<()> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let store = Store::with_storage(Arc::clone(&storage), Mode::Create)?;
    let reservation = store.begin_segment()?;
    drop(store);
    let refused = Store::with_storage(Arc::clone(&storage), Mode::Write);
    assert!(matches!(refused, Err(StoreError::Locked { .. })));
    drop(reservation);
    Store::with_storage(storage, Mode::Write)?;
    Ok(())
}

/// Readers that take snapshots while a writer publishes see whole layers, and never fewer than before.
#[test]
fn readers_see_whole_layers_while_a_writer_publishes() -> Result<()> {
    const LAYERS: usize = 12;
    let store = Store::in_memory();
    let mut random = Random::new(3);
    let universe = Universe::new(&store, 40, 20)?;
    let mut model: BTreeSet<Quad> = store.snapshot().quads().collect::<Result<_>>()?;
    let mut sizes = vec![model.len()];
    let mut changes = Vec::new();
    for _ in 0..LAYERS {
        changes.push(universe.change(&mut model, &mut random, 100, 10));
        sizes.push(model.len());
    }
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| -> Result<usize> {
                    let (mut layer, mut seen) = (0, 0);
                    loop {
                        let last = is_done.load(Ordering::Acquire);
                        let snapshot = store.snapshot();
                        let quads = snapshot.quads().collect::<Result<Vec<_>>>()?.len();
                        let found = sizes[layer..].iter().position(|size| *size == quads);
                        layer += found.unwrap_or_else(|| panic!("{quads} quads, half a layer"));
                        seen += 1;
                        if last {
                            assert_eq!(quads, sizes[LAYERS]);
                            return Ok(seen);
                        }
                    }
                })
            })
            .collect();
        for (inserts, tombstones) in &changes {
            publish(&store, inserts, tombstones)?;
        }
        is_done.store(true, Ordering::Release);
        for reader in readers {
            assert!(reader.join().expect("a reader does not panic")? > 0);
        }
        Ok(())
    })
}
