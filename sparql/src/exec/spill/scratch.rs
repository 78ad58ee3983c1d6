//! `Scratch`: where a query's temporary files are, and how much they may take.

use crate::error::{QueryError, Result};
use quadrille_store::Snapshot;
use quadrille_store::io::{TemporaryFile, temporary};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Makes a query's temporary files and counts their bytes.
///
/// They lie in the directory that the query names; or else in the store's, if it is open for writing; or else (it is open
/// for reading only, or in memory) in the system's directory for such files.
#[derive(Debug, Default)]
pub struct Scratch {
    space: Arc<Space>,
    /// Bytes that were written through this account.
    written: AtomicU64,
}

/// What all accounts of a query share.
#[derive(Debug, Default)]
struct Space {
    snapshot: Option<Snapshot>,
    directory: Option<PathBuf>,
    limit: Option<u64>,
    used: AtomicU64,
    written: AtomicU64,
}

impl Scratch {
    /// The temporary files of a query on a snapshot, of `limit` bytes at once.
    pub fn new(snapshot: &Snapshot, directory: Option<PathBuf>, limit: Option<u64>) -> Self {
        Self {
            space: Arc::new(Space {
                snapshot: Some(snapshot.clone()),
                directory,
                limit,
                ..Space::default()
            }),
            written: AtomicU64::new(0),
        }
    }

    /// A further account of the same space.
    #[must_use]
    pub fn own_account(&self) -> Self {
        Self {
            space: Arc::clone(&self.space),
            written: AtomicU64::new(0),
        }
    }

    /// A new file.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(&self) -> Result<Box<dyn TemporaryFile>> {
        if let Some(directory) = &self.space.directory {
            return Ok(temporary::in_directory(directory)?);
        }
        let of_store = match &self.space.snapshot {
            Some(snapshot) => snapshot.temporary_file()?,
            None => None,
        };
        Ok(match of_store {
            Some(file) => file,
            None => temporary::in_directory(&std::env::temp_dir())?,
        })
    }

    /// Bytes that were written through this account, those of files that are gone included.
    pub fn written_bytes(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Bytes that were written through all accounts of the query.
    pub fn all_written_bytes(&self) -> u64 {
        self.space.written.load(Ordering::Relaxed)
    }

    /// To be called before bytes are written.
    ///
    /// # Errors
    /// [`QueryError::TemporarySpace`].
    pub(super) fn take(&self, bytes: u64) -> Result<()> {
        // Nothing else is published with these numbers.
        self.written.fetch_add(bytes, Ordering::Relaxed);
        self.space.written.fetch_add(bytes, Ordering::Relaxed);
        let used = self.space.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        match self.space.limit {
            Some(limit) if used > limit => Err(QueryError::TemporarySpace { limit }),
            _ => Ok(()),
        }
    }

    /// To be called when a file of so many bytes is gone.
    pub(super) fn give_back(&self, bytes: u64) {
        self.space.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}
