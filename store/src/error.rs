//! What can go wrong in a store, by operation, each with the path it happened at.

use std::io;
use std::path::PathBuf;

/// The result of a store operation.
pub type Result<T> = std::result::Result<T, StoreError>;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused a file operation.
    #[error("{operation} {}: {source}", path.display())]
    Io {
        /// What was tried: "open", "write", "sync" and so on.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// A file's bytes are not what was written.
    #[error("{}: damaged at byte {offset}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in the file, in bytes from its start.
        offset: u64,
        /// What does not hold.
        reason: String,
    },
    /// The file was written by another version of the format.
    #[error("{}: format version {found}; this program reads version {expected}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: u32,
        /// The version that this program knows.
        expected: u32,
    },
    /// Another process writes the store.
    #[error("{}: in use by {holder}", path.display())]
    Locked {
        /// The store's directory.
        path: PathBuf,
        /// What the lock file says of its holder.
        holder: String,
    },
    /// There is no store at the path, or something that is not one.
    #[error("{}: {reason}", path.display())]
    NotAStore {
        /// The directory.
        path: PathBuf,
        /// Why it is none.
        reason: String,
    },
    /// A limit of the format or of the program was reached.
    #[error("{what} (limit {limit})")]
    Limit {
        /// What is too large.
        what: String,
        /// The largest that is possible.
        limit: u64,
    },
    /// A write was asked of a store that was opened read-only.
    #[error("{}: opened read-only", path.display())]
    ReadOnly {
        /// The store's directory.
        path: PathBuf,
    },
    /// Another change of this process is under way, such as a load.
    #[error("{}: another load is under way", path.display())]
    Busy {
        /// The store's directory.
        path: PathBuf,
    },
    /// An earlier change failed in its last step, so that the files may hold the state before or after it.
    #[error(
        "{}: an earlier change failed in its last step; open the store again before changing it",
        path.display()
    )]
    Uncertain {
        /// The store's directory.
        path: PathBuf,
    },
}
