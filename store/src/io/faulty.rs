//! `FaultyStorage`: a storage for crash tests, which fails when it is told to and knows what a disk could hold
//! after a crash. Nothing but tests uses it; it is public because the tests of several crates do.
//!
//! Every change (creating, writing, syncing, renaming, removing, syncing a directory) is an *operation* with a
//! number. A test runs its work once to learn how many there are, and then again and again with a crash or
//! an error at each of them: see [`for_each_crash`].
//!
//! # The model
//!
//! * What was written is seen by everybody at once, as in the cache of an operating system.
//! * A file's bytes are durable up to where they were when it was last synced. Of those behind it any may
//!   be lost, be zeros or garbage, in blocks of 512 bytes: a block is written whole or not at all, and one
//!   that has durable bytes keeps them.
//! * A name that was created, renamed or removed is so durably after its directory was synced; before
//!   that each change may have happened or not, whatever the others did. A rename is one change where both
//!   names are in one directory, except that the old name may survive beside the new one.
//! * The operation at which the crash strikes may have happened, partly or not at all.
//! * A failing write has written any part of its bytes; a failing sync makes nothing durable. As in every
//!   storage here, a file whose write or sync failed fails for ever: Linux drops the dirty pages of a
//!   failed sync, and may report success for the next one.
//! * A removed file's space is free at once.
//!
//! What always holds: with one thread everything is determined by the calls, the operation numbers and the seed.

mod crashes;
mod disk;

pub use crashes::{CrashPoint, for_each_crash};

use super::memory::{BytesReader, MemoryStorage};
use super::path::{check, check_directory, error};
use super::{Bytes, Lock, Storage, TemporaryFile, WriteFile};
use crate::error::{Result, StoreError};
use disk::{Disk, NodeId, Random};
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What messages show as the store's directory.
const ROOT: &str = "<faulty>";

/// A storage that fails as it is told to; clones share everything.
#[derive(Clone, Default)]
pub struct FaultyStorage {
    state: Arc<Mutex<State>>,
    /// Locks are not operations, they leave nothing on a disk.
    locks: MemoryStorage,
}

/// A change, as it is recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation {
    /// What was done.
    pub kind: OperationKind,
    /// The file or directory; the old name of a renaming.
    pub path: String,
}

/// Kinds of changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperationKind {
    /// A file was created.
    Create,
    /// Bytes were appended.
    Write {
        /// How many.
        bytes: usize,
    },
    /// A file was synced.
    Sync,
    /// A file was renamed.
    Rename,
    /// A file or directory was removed.
    Remove,
    /// A directory was synced.
    SyncDirectory,
}

/// An error that is injected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// `ENOSPC`: no space left on the device.
    NoSpace,
    /// `EIO`: input/output error.
    InputOutput,
}

/// How much survives a crash of what was not durable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Survival {
    /// All of it: the process died, the system went on.
    Everything,
    /// Nothing of it.
    Durable,
    /// All names, but no bytes that were not synced: the file that is empty after a renaming.
    Names,
    /// Anything: each change of a name by chance, each file torn by chance.
    Torn,
}

impl Survival {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Everything, Self::Durable, Self::Names, Self::Torn];
}

#[derive(Default)]
struct State {
    disk: Disk,
    operations: Vec<Operation>,
    crash_at: Option<usize>,
    failure: Option<Failure>,
    crashed: bool,
    /// Bytes that fit on the disk.
    capacity: Option<u64>,
}

#[derive(Clone, Copy)]
struct Failure {
    at: usize,
    fault: Fault,
    persistent: bool,
}

/// What becomes of an operation.
enum Fate {
    Happens,
    /// Fails, with this error.
    Fails(io::Error),
    /// The crash strikes in it.
    Crashes,
}

impl FaultyStorage {
    /// An empty storage without faults.
    pub fn new() -> Self {
        Self::default()
    }

    /// A storage that holds these files, durably.
    pub fn with_files(files: &MemoryStorage) -> Result<Self> {
        let new = Self::new();
        for path in files.list("")? {
            let bytes = files.map(&path)?.to_vec();
            new.state().disk.insert_durable(path, bytes);
        }
        Ok(new)
    }

    /// Lets the operation with this number (the first is 0) fail, and those after it too if `persistent`.
    pub fn fail_at(&self, operation: usize, fault: Fault, persistent: bool) {
        self.state().failure = Some(Failure {
            at: operation,
            fault,
            persistent,
        });
    }

    /// Lets the crash strike in the operation with this number (the first is 0): from then on everything
    /// fails, reading included.
    pub fn crash_at(&self, operation: usize) {
        self.state().crash_at = Some(operation);
    }

    /// Bounds the bytes of all files together; writes beyond are short and fail with `ENOSPC`.
    pub fn limit_space(&self, bytes: u64) {
        self.state().capacity = Some(bytes);
    }

    /// Takes faults and limits away, but not a crash that has struck.
    pub fn heal(&self) {
        let mut state = self.state();
        (state.failure, state.crash_at, state.capacity) = (None, None, None);
    }

    /// What was done, in sequence; an operation's place is its number.
    pub fn operations(&self) -> Vec<Operation> {
        self.state().operations.clone()
    }

    /// Whether the crash has struck.
    pub fn has_crashed(&self) -> bool {
        self.state().crashed
    }

    /// What a disk could hold if the crash struck, or the power failed, now. The same for the same seed.
    pub fn survivors(&self, seed: u64, survival: Survival) -> MemoryStorage {
        let survivors = MemoryStorage::new();
        let state = self.state();
        for (path, bytes) in state.disk.survivors(Random(seed), survival) {
            survivors
                .insert(&path, bytes)
                .expect("a path that was checked when the file was created");
        }
        survivors
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A test that panicked is looked at, not continued.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state for reading, unless the crash has struck.
    fn reading(&self, operation: &'static str, path: &str) -> Result<MutexGuard<'_, State>> {
        check_directory(operation, Path::new(ROOT), path)?;
        let state = self.state();
        if state.crashed {
            return Err(crash(operation, path));
        }
        Ok(state)
    }

    /// Numbers an operation and tells what becomes of it. One that is refused for another reason, as a
    /// creation of what exists, has no number.
    fn begin(state: &mut State, kind: OperationKind, path: &str) -> Fate {
        let number = state.operations.len();
        state.operations.push(Operation {
            kind,
            path: path.to_owned(),
        });
        if state.crash_at == Some(number) {
            state.crashed = true;
            return Fate::Crashes;
        }
        match state.failure {
            Some(failure) if number == failure.at || failure.persistent && number > failure.at => {
                Fate::Fails(failure.fault.into())
            }
            _ => Fate::Happens,
        }
    }

    /// Does an operation that happens whole or not at all; a crash within it may leave either.
    fn change(
        state: &mut State,
        kind: OperationKind,
        operation: &'static str,
        path: &str,
        work: impl FnOnce(&mut Disk),
    ) -> Result<()> {
        match Self::begin(state, kind, path) {
            Fate::Happens => {
                work(&mut state.disk);
                Ok(())
            }
            Fate::Fails(e) => Err(error(operation, &shown(path), e)),
            Fate::Crashes => {
                work(&mut state.disk);
                Err(crash(operation, path))
            }
        }
    }
}

impl Storage for FaultyStorage {
    fn create(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        check("create", Path::new(ROOT), path)?;
        let mut state = self.reading("create", path)?;
        if state.disk.is_taken(path) {
            return Err(refuse("create", path, io::ErrorKind::AlreadyExists));
        }
        let mut node = None;
        Self::change(&mut state, OperationKind::Create, "create", path, |disk| {
            node = Some(disk.create(path));
        })?;
        Ok(Box::new(FaultyWriter {
            storage: self.clone(),
            node: node.expect("the creation happened"),
            path: path.to_owned(),
            failed: false,
        }))
    }

    fn map(&self, path: &str) -> Result<Bytes> {
        check("map", Path::new(ROOT), path)?;
        let state = self.reading("map", path)?;
        let bytes = state.disk.bytes(path);
        let bytes = bytes.ok_or_else(|| refuse("map", path, io::ErrorKind::NotFound))?;
        Ok(Bytes::new(Shared(Arc::clone(bytes))))
    }

    fn length(&self, path: &str) -> Result<Option<u64>> {
        check("stat", Path::new(ROOT), path)?;
        let state = self.reading("stat", path)?;
        Ok(state.disk.bytes(path).map(|bytes| bytes.len() as u64))
    }

    fn read(&self, path: &str) -> Result<Box<dyn Read + Send>> {
        let bytes = self.map(path)?;
        Ok(Box::new(BytesReader { bytes, position: 0 }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        check("rename", Path::new(ROOT), from)?;
        check("rename to", Path::new(ROOT), to)?;
        let mut state = self.reading("rename", from)?;
        if state.disk.bytes(from).is_none() {
            return Err(refuse("rename", from, io::ErrorKind::NotFound));
        }
        if state.disk.is_directory(to) {
            return Err(refuse("rename to", to, io::ErrorKind::IsADirectory));
        }
        Self::change(&mut state, OperationKind::Rename, "rename", from, |disk| {
            disk.rename(from, to);
        })
    }

    fn remove(&self, path: &str) -> Result<()> {
        check("remove", Path::new(ROOT), path)?;
        let mut state = self.reading("remove", path)?;
        Self::change(&mut state, OperationKind::Remove, "remove", path, |disk| {
            disk.remove(path);
        })
    }

    fn sync_directory(&self, path: &str) -> Result<()> {
        let mut state = self.reading("sync directory", path)?;
        match Self::begin(&mut state, OperationKind::SyncDirectory, path) {
            Fate::Happens => {
                state.disk.sync_directory(path);
                Ok(())
            }
            Fate::Fails(e) => Err(error("sync directory", &shown(path), e)),
            // Whether it happened is what the survivors differ in.
            Fate::Crashes => Err(crash("sync directory", path)),
        }
    }

    fn list(&self, path: &str) -> Result<Vec<String>> {
        Ok(self.reading("list", path)?.disk.list(path))
    }

    fn lock(&self) -> Result<Box<dyn Lock>> {
        drop(self.reading("lock", "")?);
        self.locks.lock()
    }

    fn free_space(&self) -> Result<Option<u64>> {
        let state = self.reading("free space of", "")?;
        Ok(state.capacity.map(|_| state.room()))
    }

    fn temporary(&self) -> Result<Option<Box<dyn TemporaryFile>>> {
        // It has a name here, so that its writes are operations and its bytes take space.
        let path = format!("temporary/{:08}", self.state().operations.len());
        let writer = self.create(&path)?;
        Ok(Some(Box::new(FaultyTemporary {
            storage: self.clone(),
            writer: Mutex::new(writer),
            path,
        })))
    }

    fn display(&self, path: &str) -> PathBuf {
        shown(path)
    }
}

struct FaultyTemporary {
    storage: FaultyStorage,
    /// A mutex makes it `Sync`.
    writer: Mutex<Box<dyn WriteFile>>,
    path: String,
}

impl TemporaryFile for FaultyTemporary {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let writer = self.writer.get_mut();
        writer
            .unwrap_or_else(PoisonError::into_inner)
            .write_all(bytes)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let all = self.storage.map(&self.path)?;
        let end = offset.saturating_add(bytes.len() as u64);
        match all.get(offset as usize..end as usize) {
            Some(found) => {
                bytes.copy_from_slice(found);
                Ok(())
            }
            None => Err(refuse("read", &self.path, io::ErrorKind::UnexpectedEof)),
        }
    }
}

impl Drop for FaultyTemporary {
    fn drop(&mut self) {
        // A disk that fails keeps the name; a file that never had one would be gone.
        let _ = self.storage.remove(&self.path);
    }
}

impl fmt::Debug for FaultyStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        let (operations, crashed) = (state.operations.len(), state.crashed);
        write!(
            f,
            "FaultyStorage({operations} operations, crashed: {crashed})"
        )
    }
}

impl From<Fault> for io::Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::NoSpace => rustix::io::Errno::NOSPC.into(),
            Fault::InputOutput => rustix::io::Errno::IO.into(),
        }
    }
}

struct FaultyWriter {
    storage: FaultyStorage,
    node: NodeId,
    path: String,
    failed: bool,
}

impl FaultyWriter {
    fn try_write(&self, bytes: &[u8]) -> Result<()> {
        let mut state = self.storage.reading("write", &self.path)?;
        let number = state.operations.len();
        let kind = OperationKind::Write { bytes: bytes.len() };
        let failure = match FaultyStorage::begin(&mut state, kind, &self.path) {
            Fate::Happens => None,
            Fate::Fails(e) => Some(error("write", &shown(&self.path), e)),
            Fate::Crashes => Some(crash("write", &self.path)),
        };
        // A write that fails is a short one.
        let mut fitting = bytes.len();
        if failure.is_some() {
            fitting = Random(number as u64).below(fitting + 1);
        }
        let room = state.room();
        let full = fitting as u64 > room;
        state
            .disk
            .append(self.node, &bytes[..fitting.min(room as usize)]);
        match failure {
            Some(failure) => Err(failure),
            None if full => Err(error("write", &shown(&self.path), Fault::NoSpace.into())),
            None => Ok(()),
        }
    }

    fn try_sync(&self) -> Result<()> {
        let mut state = self.storage.reading("sync", &self.path)?;
        match FaultyStorage::begin(&mut state, OperationKind::Sync, &self.path) {
            Fate::Happens => {
                state.disk.sync(self.node);
                Ok(())
            }
            Fate::Fails(e) => Err(error("sync", &shown(&self.path), e)),
            // Whether it happened is what the survivors differ in.
            Fate::Crashes => Err(crash("sync", &self.path)),
        }
    }

    /// Remembers a failure and repeats it.
    fn attempt(
        &mut self,
        operation: &'static str,
        work: impl FnOnce(&Self) -> Result<()>,
    ) -> Result<()> {
        if self.failed {
            let reason = io::Error::other("an earlier write or sync of this file failed");
            return Err(error(operation, &shown(&self.path), reason));
        }
        let result = work(self);
        self.failed = result.is_err();
        result
    }
}

impl WriteFile for FaultyWriter {
    fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        self.attempt("write", |writer| writer.try_write(bytes))
    }

    fn sync(&mut self) -> Result<()> {
        self.attempt("sync", Self::try_sync)
    }
}

impl State {
    /// Bytes that still fit.
    fn room(&self) -> u64 {
        let used = self.disk.used();
        self.capacity
            .map_or(u64::MAX, |capacity| capacity.saturating_sub(used))
    }
}

/// Bytes of a file that is not there any more once it is written on.
struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

fn shown(path: &str) -> PathBuf {
    Path::new(ROOT).join(path)
}

fn crash(operation: &'static str, path: &str) -> StoreError {
    error(
        operation,
        &shown(path),
        io::Error::other("the injected crash"),
    )
}

fn refuse(operation: &'static str, path: &str, kind: io::ErrorKind) -> StoreError {
    error(operation, &shown(path), kind.into())
}

#[cfg(test)]
mod tests;
