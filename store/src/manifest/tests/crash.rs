//! Switches of manifests with crashes and errors at every operation.
//!
//! What must hold whatever survives: the old manifest is found or the new one, whole, with every file that it
//! names as it was written; once a switch returned `Ok`, it is the new one.

use super::super::*;
use crate::io::faulty::{Fault, FaultyStorage, Survival, for_each_crash};
use crate::io::memory::MemoryStorage;
use proptest::prelude::*;
use std::collections::HashSet;

/// A step of a store's life.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Writes a dictionary and names it; the new table of triple terms too, if `more`.
    Add { bytes: usize, more: bool },
    /// Stops naming the oldest dictionary, and removes its file.
    Drop,
    /// Changes nothing but the generation.
    Touch,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..1500_usize, any::<bool>()).prop_map(|(bytes, more)| Step::Add { bytes, more }),
        Just(Step::Drop),
        Just(Step::Touch),
    ]
}

/// What a file holds, by its number, so that it can be recognised.
fn contents(path: &str, bytes: u64) -> Vec<u8> {
    let seed = path.bytes().map(u64::from).sum::<u64>();
    (0..bytes).map(|n| (n * 7 + seed) as u8 | 1).collect()
}

fn write(storage: &dyn Storage, path: &str, bytes: u64) -> Result<()> {
    let mut file = storage.create(path)?;
    for chunk in contents(path, bytes).chunks(600) {
        file.write_all(chunk)?;
    }
    file.sync()?;
    storage.sync_directory(path.rsplit_once('/').unwrap().0)
}

fn add(storage: &dyn Storage, next: &mut Manifest, bytes: usize, more: bool) -> Result<()> {
    let path = dictionary_path(next.next_file_number);
    next.next_file_number += 1;
    write(storage, &path, bytes as u64)?;
    next.dictionaries.push(DictionaryEntry {
        path,
        ordered: true,
        first_ordinals: next.next_ordinals,
        counts: Ordinals::from_array([bytes as u64, 0, 1, 2]),
        bytes: bytes as u64,
    });
    let [iri, literal, numeric, temporal] = next.next_ordinals.to_array();
    next.next_ordinals =
        Ordinals::from_array([iri + bytes as u64, literal, numeric + 1, temporal + 2]);
    if more {
        let path = triple_table_path(next.next_file_number);
        next.next_file_number += 1;
        write(storage, &path, 24)?;
        next.triple_tables.push(TripleTableEntry {
            path,
            first: next.next_triple,
            count: 1,
            bytes: 24,
        });
        next.next_triple += 1;
    }
    Ok(())
}

/// What the work was promised when it ended: manifests that may be found.
struct Promise {
    /// The last that was stored for certain.
    certain: Option<Manifest>,
    /// The one that was being stored when it ended.
    possible: Option<Manifest>,
}

/// Lives a life until its end or the first error.
fn live(storage: &dyn Storage, steps: &[Step]) -> Promise {
    let mut promise = Promise {
        certain: None,
        possible: None,
    };
    let _ = try_live(storage, steps, &mut promise);
    promise
}

fn try_live(storage: &dyn Storage, steps: &[Step], promise: &mut Promise) -> Result<()> {
    let mut manifest = match Manifest::load(storage)? {
        Some(found) => found,
        None => switch(storage, fixed(), promise)?,
    };
    promise.certain = Some(manifest.clone());
    remove_leftovers(storage, &manifest)?;
    for step in steps {
        let mut next = manifest.successor();
        let mut removed = None;
        match *step {
            Step::Add { bytes, more } => add(storage, &mut next, bytes, more)?,
            Step::Drop if !next.dictionaries.is_empty() => {
                removed = Some(next.dictionaries.remove(0).path);
            }
            Step::Drop | Step::Touch => {}
        }
        manifest = switch(storage, next, promise)?;
        if let Some(path) = removed {
            storage.remove(&path)?;
        }
    }
    Ok(())
}

/// The first manifest, with an id that does not change from run to run.
fn fixed() -> Manifest {
    Manifest {
        store: StoreId(1),
        ..Manifest::new()
    }
}

fn switch(storage: &dyn Storage, next: Manifest, promise: &mut Promise) -> Result<Manifest> {
    promise.possible = Some(next.clone());
    if let Err(error) = next.store(storage) {
        if let SwitchError::Unchanged(_) = error {
            promise.possible = None;
        }
        return Err(error.into());
    }
    promise.certain = promise.possible.take();
    Ok(next)
}

/// Opens what survived as a store does, and looks at it.
fn check(promise: &Promise, survivors: &dyn Storage) {
    let found = Manifest::load(survivors).expect("one manifest or the other, whole");
    assert!(
        found == promise.certain || (found.is_some() && found == promise.possible),
        "found {found:?}"
    );
    let Some(found) = found else {
        return;
    };
    found.check_files(survivors).unwrap();
    remove_leftovers(survivors, &found).unwrap();
    found.check_files(survivors).unwrap();
    let live = found.live_files();
    for (path, bytes) in found.files() {
        let expected = contents(path, bytes.expect("no logs here"));
        assert!(*survivors.map(path).unwrap() == *expected, "{path}");
    }
    let listed = survivors.list("").unwrap();
    let rest: Vec<_> = listed
        .iter()
        .filter(|path| !live.contains(path.as_str()))
        .collect();
    assert_eq!(rest, [MANIFEST_FILE]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_crash_leaves_the_old_manifest_or_the_new_one(
        before in prop::collection::vec(step(), 0..3),
        steps in prop::collection::vec(step(), 1..4),
        is_new in any::<bool>(),
        seed in 0..1_000_000_u64,
    ) {
        let start = MemoryStorage::new();
        if !is_new {
            live(&start, &before);
        }
        for_each_crash(
            &start,
            seed..seed + 12,
            |storage| live(storage, &steps),
            |promise, survivors, _| {
                check(promise, &survivors);
                // A store that survived lives on.
                let further = live(&survivors, &[Step::Add { bytes: 10, more: true }]);
                check(&further, &survivors);
            },
        )
        .unwrap();
    }

    /// Errors instead of crashes: at any operation, once or from then on. Whoever opens the store next, with or
    /// without a crash between, finds what the result of the switch said.
    #[test]
    fn any_error_tells_what_is_in_force(
        steps in prop::collection::vec(step(), 1..4),
        persistent in any::<bool>(),
        seed in 0..1_000_000_u64,
    ) {
        let start = MemoryStorage::new();
        live(&start, &[Step::Add { bytes: 700, more: true }]);
        let count = {
            let storage = FaultyStorage::with_files(&start).unwrap();
            live(&storage, &steps);
            storage.operations().len()
        };
        for operation in 0..count {
            let storage = FaultyStorage::with_files(&start).unwrap();
            storage.fail_at(operation, Fault::InputOutput, persistent);
            let promise = live(&storage, &steps);
            for survival in Survival::ALL {
                check(&promise, &storage.survivors(seed, survival));
            }
            storage.heal();
            check(&promise, &storage);
        }
    }
}

#[test]
fn a_full_disk_leaves_the_old_manifest() {
    let start = MemoryStorage::new();
    live(
        &start,
        &[Step::Add {
            bytes: 700,
            more: true,
        }],
    );
    let used: u64 = {
        let files = start.list("").unwrap();
        files
            .iter()
            .map(|path| start.length(path).unwrap().unwrap())
            .sum()
    };
    for room in (0..2_500).step_by(7) {
        let storage = FaultyStorage::with_files(&start).unwrap();
        storage.limit_space(used + room);
        let promise = live(
            &storage,
            &[Step::Add {
                bytes: 900,
                more: false,
            }],
        );
        assert!(
            promise.possible.is_none(),
            "a full disk is noticed before the renaming"
        );
        check(&promise, &storage);
    }
}

/// The one case in which a result leaves it open: the renaming happened and the directory's sync failed.
#[test]
fn a_failed_sync_of_the_directory_is_uncertain() {
    let storage = FaultyStorage::new();
    let first = fixed();
    first.store(&storage).unwrap();
    let operations = storage.operations().len();
    storage.fail_at(2 * operations - 1, Fault::InputOutput, false);
    let second = first.successor();
    let error = second.store(&storage).unwrap_err();
    assert!(matches!(error, SwitchError::Uncertain(_)), "{error}");
    // Who reads now finds the new one; a crash may leave either.
    assert_eq!(Manifest::load(&storage).unwrap(), Some(second.clone()));
    let mut found = HashSet::new();
    for seed in 0..40 {
        let survivors = storage.survivors(seed, Survival::Torn);
        found.insert(Manifest::load(&survivors).unwrap().unwrap().generation);
    }
    assert_eq!(found.len(), 2);
    // Storing it once more makes it certain.
    second.store(&storage).unwrap();
    let survivors = storage.survivors(0, Survival::Durable);
    assert_eq!(Manifest::load(&survivors).unwrap(), Some(second));
}
