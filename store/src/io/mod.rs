//! All file work of the store goes through [`Storage`]: real files ([`mod@file`]), memory ([`memory`]), and
//! files that fail on purpose ([`faulty`]).
//!
//! What always holds: a file is written once, from front to back, synced, and never changed again; the
//! manifest alone is replaced, by writing a temporary file, syncing it, renaming it and syncing the
//! directory. Paths are relative to the store's directory and use `/`.

pub mod checked;
#[cfg(test)]
mod conformance;
pub mod faulty;
pub mod file;
pub mod memory;
mod path;
pub mod temporary;

use crate::error::Result;
use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
pub use temporary::TemporaryFile;

/// A place that holds a store's files: a directory, or memory.
pub trait Storage: Send + Sync + fmt::Debug {
    /// Creates a file that must not exist yet, and the directories above it.
    fn create(&self, path: &str) -> Result<Box<dyn WriteFile>>;
    /// The whole file as bytes, mapped where that is possible. The bytes stay readable after the file
    /// was removed.
    fn map(&self, path: &str) -> Result<Bytes>;
    /// The file's length in bytes, or `None` if it does not exist.
    fn length(&self, path: &str) -> Result<Option<u64>>;
    /// Opens a file for reading from front to back with ordinary reads (temporary runs).
    fn read(&self, path: &str) -> Result<Box<dyn std::io::Read + Send>>;
    /// Renames a file, replacing what has the new name.
    fn rename(&self, from: &str, to: &str) -> Result<()>;
    /// Removes a file, or a directory with all that is in it; no error if there is none.
    fn remove(&self, path: &str) -> Result<()>;
    /// Makes the names in a directory durable (`""` is the store's own), and its own name with those of
    /// the directories above it.
    fn sync_directory(&self, path: &str) -> Result<()>;
    /// Every file below a directory (`""` is the store's own), paths from the store's directory, sorted.
    /// A name that is not UTF-8 is listed with replacement characters, and cannot be opened.
    fn list(&self, path: &str) -> Result<Vec<String>>;
    /// The names of the files and directories that stand in a directory itself, sorted: unlike
    /// [`Storage::list`] it is quick even where somebody else's files are.
    fn names(&self, path: &str) -> Result<Vec<String>> {
        let skipped = if path.is_empty() { 0 } else { path.len() + 1 };
        let mut names: Vec<String> = self
            .list(path)?
            .iter()
            .filter_map(|file| file[skipped..].split('/').next().map(str::to_owned))
            .collect();
        names.dedup();
        Ok(names)
    }
    /// Takes the writer's lock, or says who holds it.
    fn lock(&self) -> Result<Box<dyn Lock>>;
    /// Free space in bytes for new files, if it can be known.
    fn free_space(&self) -> Result<Option<u64>>;
    /// A new file without a name, for what does not fit in memory; `None` where the storage has no other place for it
    /// than memory.
    fn temporary(&self) -> Result<Option<Box<dyn TemporaryFile>>> {
        Ok(None)
    }
    /// The absolute path of a file, for messages.
    fn display(&self, path: &str) -> PathBuf;
}

/// A file being written, front to back.
pub trait WriteFile: Send {
    /// Appends bytes.
    fn write_all(&mut self, bytes: &[u8]) -> Result<()>;
    /// Makes what was written durable.
    fn sync(&mut self) -> Result<()>;
}

/// A held lock; dropping it releases it.
pub trait Lock: Send + Sync + fmt::Debug {}

/// The bytes of a file; cheap to clone, `Deref` to `[u8]`.
#[derive(Clone)]
pub struct Bytes(Arc<dyn AsRef<[u8]> + Send + Sync>);

impl Bytes {
    /// Bytes that are kept alive by `owner`.
    pub fn new(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Self(Arc::new(owner))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({})", self.len())
    }
}
