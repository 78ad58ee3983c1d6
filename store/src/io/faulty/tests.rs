//! The faulty storage itself: that it answers as others do, that faults come where they should, and that it
//! finds the errors it is made to find.

use super::super::conformance;
use super::OperationKind::{Create, Remove, Rename, Sync, SyncDirectory, Write};
use super::*;
use std::cell::Cell;
use std::collections::BTreeSet;

const SEEDS: std::ops::Range<u64> = 0..40;

fn put(storage: &dyn Storage, path: &str, bytes: &[u8], sync: bool) -> Result<()> {
    let mut file = storage.create(path)?;
    file.write_all(bytes)?;
    if sync { file.sync() } else { Ok(()) }
}

/// What can survive at this moment, over all ways and seeds: the files, shown.
fn outcomes(storage: &FaultyStorage) -> BTreeSet<String> {
    let show = |survivors: MemoryStorage| {
        let files = survivors.list("").unwrap();
        let shown = files.iter().map(|path| {
            let bytes = survivors.map(path).unwrap();
            format!("{path}={}", bytes.escape_ascii())
        });
        shown.collect::<Vec<_>>().join(" ")
    };
    let torn = SEEDS.map(|seed| storage.survivors(seed, Survival::Torn));
    let others = Survival::ALL.map(|survival| storage.survivors(0, survival));
    torn.chain(others).map(show).collect()
}

fn texts(expected: &[&str]) -> BTreeSet<String> {
    expected.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn answers_as_a_storage() {
    conformance::check(&FaultyStorage::new());
}

#[test]
fn names_are_durable_after_the_directory_was_synced() {
    let storage = FaultyStorage::new();
    put(&storage, "d/a", b"x", true).unwrap();
    assert_eq!(outcomes(&storage), texts(&["", "d/a=x"]));
    storage.sync_directory("").unwrap();
    assert_eq!(outcomes(&storage), texts(&["", "d/a=x"]));
    storage.sync_directory("d").unwrap();
    assert_eq!(outcomes(&storage), texts(&["d/a=x"]));
    storage.rename("d/a", "d/b").unwrap();
    assert_eq!(
        outcomes(&storage),
        texts(&["d/a=x", "d/b=x", "d/a=x d/b=x"])
    );
    storage.sync_directory("d").unwrap();
    assert_eq!(outcomes(&storage), texts(&["d/b=x"]));
    storage.rename("d/b", "c").unwrap();
    storage.sync_directory("").unwrap();
    assert_eq!(outcomes(&storage), texts(&["c=x", "c=x d/b=x"]));
    storage.sync_directory("d").unwrap();
    storage.remove("c").unwrap();
    assert_eq!(outcomes(&storage), texts(&["", "c=x"]));
    storage.sync_directory("").unwrap();
    assert_eq!(outcomes(&storage), texts(&[""]));
}

#[test]
fn a_rename_over_a_file_leaves_one_of_the_two() {
    let storage = FaultyStorage::new();
    put(&storage, "a", b"old", true).unwrap();
    put(&storage, "b", b"new", true).unwrap();
    storage.sync_directory("").unwrap();
    storage.rename("b", "a").unwrap();
    assert_eq!(
        outcomes(&storage),
        texts(&["a=old b=new", "a=new", "a=new b=new"])
    );
}

#[test]
fn bytes_are_durable_after_the_file_was_synced() {
    let storage = FaultyStorage::new();
    let mut file = storage.create("a").unwrap();
    storage.sync_directory("").unwrap();
    file.write_all(b"ab").unwrap();
    file.sync().unwrap();
    assert_eq!(outcomes(&storage), texts(&["a=ab"]));
    file.write_all(b"cd").unwrap();
    file.write_all(b"ef").unwrap();
    let found = outcomes(&storage);
    for outcome in [
        "a=ab",
        "a=abc",
        "a=abcdef",
        "a=abcd",
        "a=ab\\x00\\x00ef",
        "a=abcd\\x00\\x00",
    ] {
        assert!(found.contains(outcome), "{outcome} is not in {found:?}");
    }
    assert!(found.iter().all(|outcome| outcome.starts_with("a=ab")));
    // What lives on sees all of it.
    assert_eq!(&*storage.map("a").unwrap(), b"abcdef");
}

#[test]
fn blocks_are_torn_one_by_one() {
    let storage = FaultyStorage::new();
    let mut file = storage.create("a").unwrap();
    storage.sync_directory("").unwrap();
    file.write_all(&[1; 100]).unwrap();
    file.sync().unwrap();
    file.write_all(&[2; 5 * 512]).unwrap();
    let mut mixed = 0;
    for seed in 0..200 {
        let bytes = storage.survivors(seed, Survival::Torn).map("a").unwrap();
        assert!(bytes.starts_with(&[1; 100]), "seed {seed}");
        let whole_blocks = bytes.chunks_exact(512).skip(1);
        let kept = whole_blocks
            .clone()
            .filter(|block| **block == [2; 512])
            .count();
        let zeros = whole_blocks
            .clone()
            .filter(|block| **block == [0; 512])
            .count();
        mixed += usize::from(kept > 0 && zeros > 0);
    }
    assert!(mixed > 5, "{mixed} of 200 have kept and lost blocks");
}

#[test]
fn the_same_seed_gives_the_same() {
    let make = || {
        let storage = FaultyStorage::new();
        put(&storage, "a", &[7; 3000], false).unwrap();
        put(&storage, "b", &[8; 3000], false).unwrap();
        storage
    };
    let (first, second) = (make(), make());
    let files = |storage: &FaultyStorage, seed| {
        let survivors = storage.survivors(seed, Survival::Torn);
        let paths = survivors.list("").unwrap();
        let files = paths.into_iter();
        files
            .map(|path| (survivors.map(&path).unwrap().to_vec(), path))
            .collect::<Vec<_>>()
    };
    let mut different = BTreeSet::new();
    for seed in SEEDS {
        assert_eq!(files(&first, seed), files(&second, seed), "seed {seed}");
        different.insert(files(&first, seed));
    }
    assert!(different.len() > 10);
}

#[test]
fn errors_come_where_they_are_told_to() {
    let storage = FaultyStorage::new();
    storage.fail_at(1, Fault::InputOutput, false);
    let mut file = storage.create("a").unwrap();
    let message = file.write_all(b"abc").unwrap_err().to_string();
    assert!(message.starts_with("write <faulty>/a: "), "{message}");
    assert!(message.contains("os error 5"), "{message}");
    // The file is done for, others are not, and the count goes on.
    assert!(file.write_all(b"d").is_err());
    assert!(file.sync().is_err());
    put(&storage, "b", b"x", true).unwrap();
    storage.fail_at(storage.operations().len() + 1, Fault::NoSpace, true);
    storage.sync_directory("").unwrap();
    let message = storage.sync_directory("").unwrap_err().to_string();
    assert!(message.contains("os error 28"), "{message}");
    assert!(storage.rename("b", "c").is_err());
    assert!(storage.remove("b").is_err());
    assert!(storage.create("c").is_err());
    assert_eq!(storage.list("").unwrap(), ["a", "b"]);
    storage.heal();
    storage.rename("b", "c").unwrap();
    let kinds: Vec<_> = storage.operations().iter().map(|o| o.kind).collect();
    assert_eq!(
        kinds,
        [
            Create,
            Write { bytes: 3 },
            Create,
            Write { bytes: 1 },
            Sync,
            SyncDirectory,
            SyncDirectory,
            Rename,
            Remove,
            Create,
            Rename,
        ]
    );
}

#[test]
fn a_failed_write_is_a_short_one() {
    let mut lengths = BTreeSet::new();
    for number in 1..40 {
        let storage = FaultyStorage::new();
        storage.fail_at(number, Fault::InputOutput, false);
        let mut file = storage.create("a").unwrap();
        for _ in 1..number {
            file.write_all(b"").unwrap();
        }
        file.write_all(b"abc").unwrap_err();
        let bytes = storage.map("a").unwrap();
        assert!(b"abc".starts_with(&bytes));
        lengths.insert(bytes.len());
    }
    assert_eq!(lengths, BTreeSet::from([0, 1, 2, 3]));
}

#[test]
fn what_a_failed_sync_lost_stays_lost() {
    let storage = FaultyStorage::new();
    let mut file = storage.create("a").unwrap();
    storage.sync_directory("").unwrap();
    file.write_all(b"ab").unwrap();
    file.sync().unwrap();
    file.write_all(b"cd").unwrap();
    storage.fail_at(storage.operations().len(), Fault::InputOutput, false);
    file.sync().unwrap_err();
    file.sync().unwrap_err();
    let survivors = storage.survivors(0, Survival::Durable);
    assert_eq!(&*survivors.map("a").unwrap(), b"ab");
}

#[test]
fn a_full_disk_takes_what_fits() {
    let storage = FaultyStorage::new();
    assert_eq!(storage.free_space().unwrap(), None);
    storage.limit_space(10);
    put(&storage, "a", &[1; 6], true).unwrap();
    assert_eq!(storage.free_space().unwrap(), Some(4));
    let message = put(&storage, "b", &[2; 6], true).unwrap_err().to_string();
    assert!(message.contains("os error 28"), "{message}");
    assert_eq!(storage.length("b").unwrap(), Some(4));
    storage.remove("a").unwrap();
    assert_eq!(storage.free_space().unwrap(), Some(6));
    put(&storage, "c", &[3; 6], true).unwrap();
    storage.rename("c", "b").unwrap();
    assert_eq!(storage.free_space().unwrap(), Some(4));
}

#[test]
fn after_the_crash_nothing_works() {
    let storage = FaultyStorage::new();
    put(&storage, "a", b"x", true).unwrap();
    let mut file = storage.create("b").unwrap();
    storage.crash_at(storage.operations().len());
    assert!(!storage.has_crashed());
    assert!(storage.sync_directory("").is_err());
    assert!(storage.has_crashed());
    storage.heal();
    assert!(file.write_all(b"x").is_err());
    assert!(file.sync().is_err());
    assert!(storage.create("c").is_err());
    assert!(storage.map("a").is_err());
    assert!(storage.read("a").is_err());
    assert!(storage.length("a").is_err());
    assert!(storage.list("").is_err());
    assert!(storage.names("").is_err());
    assert!(storage.rename("a", "c").is_err());
    assert!(storage.remove("a").is_err());
    assert!(storage.lock().is_err());
    assert!(storage.free_space().is_err());
    // The sync at which it struck may have happened or not.
    assert!(outcomes(&storage).is_superset(&texts(&["", "a=x"])));
}

#[test]
fn files_to_start_with_are_durable() {
    let files = MemoryStorage::new();
    files.insert("d/a", b"x".to_vec()).unwrap();
    let storage = FaultyStorage::with_files(&files).unwrap();
    assert!(storage.operations().is_empty());
    assert_eq!(outcomes(&storage), texts(&["d/a=x"]));
}

/// Replaces the file `a`, and says whether that was promised to be durable.
fn replace(storage: &FaultyStorage, sync_file: bool, sync_directory: bool) -> bool {
    let try_replace = || -> Result<()> {
        put(storage, "new", b"new", sync_file)?;
        storage.rename("new", "a")?;
        if sync_directory {
            storage.sync_directory("")?;
        }
        Ok(())
    };
    let replaced = try_replace();
    // Something to crash in after the promise; whether it succeeds does not matter.
    let _ = storage.create("later");
    replaced.is_ok()
}

/// The right way of replacing a file survives every crash, and each wrong one is found out.
#[test]
fn wrong_protocols_are_found_out() {
    for (sync_file, sync_directory) in [(true, true), (false, true), (true, false), (false, false)]
    {
        let start = MemoryStorage::new();
        start.insert("a", b"old".to_vec()).unwrap();
        let (points, neither, forgotten) = (Cell::new(0), Cell::new(0), Cell::new(0));
        let add = |cell: &Cell<u32>| cell.set(cell.get() + 1);
        for_each_crash(
            &start,
            SEEDS,
            |storage| replace(storage, sync_file, sync_directory),
            |promised, survivors, _| {
                add(&points);
                let bytes = survivors.map("a").unwrap();
                match &*bytes {
                    b"old" if *promised => add(&forgotten),
                    b"old" | b"new" => {}
                    _ => add(&neither),
                }
            },
        )
        .unwrap();
        let operations = 4 + u32::from(sync_file) + u32::from(sync_directory);
        assert_eq!(points.get(), operations * (SEEDS.end as u32 + 3));
        assert_eq!(neither.get() > 0, !sync_file, "{neither:?}");
        assert_eq!(forgotten.get() > 0, !sync_directory, "{forgotten:?}");
    }
}
