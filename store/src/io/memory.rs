//! `MemoryStorage`: a store's files in memory, for stores that are never written to a disk, and for tests.
//!
//! What always holds: it answers as a directory of real files does. A file must not exist when it is
//! created, a rename replaces, removed files stay readable for those who have them mapped, and there is
//! one lock. Once its writer is dropped a file is frozen, and mapping it copies nothing; mapping a file
//! that is still being written copies what is there.

use super::path::{check, check_directory, error, is_below};
use super::{Bytes, Lock, Storage, WriteFile};
use crate::error::{Result, StoreError};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Files in memory; clones share them.
#[derive(Clone, Default)]
pub struct MemoryStorage {
    files: Arc<Mutex<BTreeMap<String, Arc<MemoryFile>>>>,
    locked: Arc<AtomicBool>,
}

impl MemoryStorage {
    /// An empty storage.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a whole file there, replacing what has the name: for tests that build or damage files.
    pub fn insert(&self, path: &str, bytes: Vec<u8>) -> Result<()> {
        check("create", Path::new(ROOT), path)?;
        let file = MemoryFile(Mutex::new(Content::Frozen(Bytes::new(bytes))));
        lock(&self.files).insert(path.to_owned(), Arc::new(file));
        Ok(())
    }

    fn find(&self, operation: &'static str, path: &str) -> Result<Arc<MemoryFile>> {
        check(operation, Path::new(ROOT), path)?;
        let found = lock(&self.files).get(path).cloned();
        found.ok_or_else(|| self.refuse(operation, path, io::ErrorKind::NotFound))
    }

    fn refuse(&self, operation: &'static str, path: &str, kind: io::ErrorKind) -> StoreError {
        error(operation, &self.display(path), kind.into())
    }
}

/// What messages show as the store's directory.
const ROOT: &str = "<memory>";

impl Storage for MemoryStorage {
    fn create(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        check("create", Path::new(ROOT), path)?;
        let mut files = lock(&self.files);
        // A name is a file or a directory, not both.
        let mut taken = files.contains_key(path) || has_below(&files, path);
        taken |= path
            .match_indices('/')
            .any(|(end, _)| files.contains_key(&path[..end]));
        if taken {
            return Err(self.refuse("create", path, io::ErrorKind::AlreadyExists));
        }
        let file = Arc::new(MemoryFile(Mutex::new(Content::Growing(Vec::new()))));
        files.insert(path.to_owned(), Arc::clone(&file));
        Ok(Box::new(MemoryWriter(file)))
    }

    fn map(&self, path: &str) -> Result<Bytes> {
        Ok(self.find("map", path)?.bytes())
    }

    fn length(&self, path: &str) -> Result<Option<u64>> {
        check("stat", Path::new(ROOT), path)?;
        let found = lock(&self.files).get(path).cloned();
        Ok(found.map(|file| file.length()))
    }

    fn read(&self, path: &str) -> Result<Box<dyn Read + Send>> {
        let bytes = self.find("open", path)?.bytes();
        Ok(Box::new(BytesReader { bytes, position: 0 }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        check("rename", Path::new(ROOT), from)?;
        check("rename to", Path::new(ROOT), to)?;
        let mut files = lock(&self.files);
        if has_below(&files, to) {
            return Err(self.refuse("rename to", to, io::ErrorKind::IsADirectory));
        }
        let file = files
            .remove(from)
            .ok_or_else(|| self.refuse("rename", from, io::ErrorKind::NotFound))?;
        files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, path: &str) -> Result<()> {
        check("remove", Path::new(ROOT), path)?;
        lock(&self.files).retain(|name, _| !is_below(name, path));
        Ok(())
    }

    fn sync_directory(&self, path: &str) -> Result<()> {
        check_directory("sync directory", Path::new(ROOT), path)
    }

    fn list(&self, path: &str) -> Result<Vec<String>> {
        check_directory("list", Path::new(ROOT), path)?;
        let files = lock(&self.files);
        let below = files
            .keys()
            .filter(|name| is_below(name, path) && *name != path);
        Ok(below.cloned().collect())
    }

    fn lock(&self) -> Result<Box<dyn Lock>> {
        if self.locked.swap(true, Ordering::Acquire) {
            return Err(StoreError::Locked {
                path: PathBuf::from(ROOT),
                holder: "another opening in this process".to_owned(),
            });
        }
        Ok(Box::new(MemoryLock(Arc::clone(&self.locked))))
    }

    fn free_space(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    fn display(&self, path: &str) -> PathBuf {
        Path::new(ROOT).join(path)
    }
}

impl fmt::Debug for MemoryStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = lock(&self.files);
        write!(f, "MemoryStorage({} files)", files.len())
    }
}

/// A file; it outlives its name for those who hold it.
struct MemoryFile(Mutex<Content>);

enum Content {
    /// Its writer is there.
    Growing(Vec<u8>),
    /// Its writer is gone; nothing changes it any more.
    Frozen(Bytes),
}

impl MemoryFile {
    fn bytes(&self) -> Bytes {
        match &*lock(&self.0) {
            Content::Growing(bytes) => Bytes::new(bytes.clone()),
            Content::Frozen(bytes) => bytes.clone(),
        }
    }

    fn length(&self) -> u64 {
        match &*lock(&self.0) {
            Content::Growing(bytes) => bytes.len() as u64,
            Content::Frozen(bytes) => bytes.len() as u64,
        }
    }
}

struct MemoryWriter(Arc<MemoryFile>);

impl WriteFile for MemoryWriter {
    fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut *lock(&self.0.0) {
            Content::Growing(content) => content.extend_from_slice(bytes),
            Content::Frozen(_) => unreachable!("only the drop of the writer freezes a file"),
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Drop for MemoryWriter {
    fn drop(&mut self) {
        let mut content = lock(&self.0.0);
        if let Content::Growing(bytes) = &mut *content {
            let mut bytes = std::mem::take(bytes);
            bytes.shrink_to_fit();
            *content = Content::Frozen(Bytes::new(bytes));
        }
    }
}

struct MemoryLock(Arc<AtomicBool>);

impl Lock for MemoryLock {}

impl fmt::Debug for MemoryLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryLock")
    }
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Reads [`Bytes`] from front to back.
pub(super) struct BytesReader {
    pub(super) bytes: Bytes,
    pub(super) position: usize,
}

impl Read for BytesReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = &self.bytes[self.position..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.position += length;
        Ok(length)
    }
}

/// Whether a directory of this name has files.
fn has_below(files: &BTreeMap<String, Arc<MemoryFile>>, path: &str) -> bool {
    let start = format!("{path}/");
    files
        .range(start.clone()..)
        .next()
        .is_some_and(|(name, _)| name.starts_with(&start))
}

/// The maps hold no invariant that a panic could break halfway, so a poisoned mutex is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::super::conformance;
    use super::*;

    #[test]
    fn answers_as_a_storage() {
        conformance::check(&MemoryStorage::new());
    }

    #[test]
    fn mapping_a_finished_file_copies_nothing() {
        let storage = MemoryStorage::new();
        let mut file = storage.create("a").unwrap();
        file.write_all(b"some bytes").unwrap();
        let growing = storage.map("a").unwrap();
        drop(file);
        let (first, second) = (storage.map("a").unwrap(), storage.map("a").unwrap());
        assert_eq!(first.as_ptr(), second.as_ptr());
        assert_ne!(first.as_ptr(), growing.as_ptr());
        assert_eq!(&*growing, b"some bytes");
    }

    #[test]
    fn clones_share_files_and_lock() {
        let storage = MemoryStorage::new();
        let other = storage.clone();
        other.insert("a/b", vec![1, 2]).unwrap();
        assert_eq!(storage.length("a/b").unwrap(), Some(2));
        let held = storage.lock().unwrap();
        assert!(matches!(other.lock(), Err(StoreError::Locked { .. })));
        drop(held);
        other.lock().unwrap();
    }
}
