//! Crashes everywhere: one piece of work, with a crash in each of its operations.

use super::{FaultyStorage, Operation, Survival};
use crate::error::Result;
use crate::io::memory::MemoryStorage;
use std::fmt;

/// Where a crash struck and what survived it; shows what to repeat.
#[derive(Clone, Debug)]
pub struct CrashPoint {
    /// Number of the operation.
    pub operation: usize,
    /// The operation.
    pub what: Operation,
    /// How much survived.
    pub survival: Survival,
    /// The seed of the survivors.
    pub seed: u64,
}

impl fmt::Display for CrashPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            operation,
            what,
            survival,
            seed,
        } = self;
        write!(
            f,
            "crash in operation {operation} ({:?} of {:?}), survival {survival:?}, seed {seed}",
            what.kind, what.path
        )
    }
}

/// Does a piece of work with a crash in each of its operations, and gives what survives, in every way and with
/// some seeds of the torn one, to `check`.
///
/// `work` starts each time with a storage that holds `start`, and must do the same each time; it tells by
/// its result what it had been promised when the crash struck (the last commit that returned, say), and
/// is run once without a crash to count its operations. If `check` panics, the crash point is printed.
pub fn for_each_crash<T>(
    start: &MemoryStorage,
    seeds: std::ops::Range<u64>,
    work: impl Fn(&FaultyStorage) -> T,
    check: impl Fn(&T, MemoryStorage, &CrashPoint),
) -> Result<()> {
    let whole = FaultyStorage::with_files(start)?;
    work(&whole);
    for (operation, what) in whole.operations().into_iter().enumerate() {
        let storage = FaultyStorage::with_files(start)?;
        storage.crash_at(operation);
        let promised = work(&storage);
        assert!(storage.has_crashed(), "the work is not the same each time");
        for survival in Survival::ALL {
            let seeds = match survival {
                Survival::Torn => seeds.clone(),
                _ => 0..1,
            };
            for seed in seeds {
                let point = CrashPoint {
                    operation,
                    what: what.clone(),
                    survival,
                    seed,
                };
                let shown = ShownOnPanic(&point);
                check(&promised, storage.survivors(seed, survival), &point);
                drop(shown);
            }
        }
    }
    Ok(())
}

/// Prints the crash point if the check panics.
struct ShownOnPanic<'a>(&'a CrashPoint);

impl Drop for ShownOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}
