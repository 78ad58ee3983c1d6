//! What can go wrong in a load: each error says where (file, line and column, or byte) and why.

use crate::parse::Reject;
use quadrille_store::StoreError;
use std::io;

/// The most distinct terms that one load can have.
pub const TERMS_MAX: u64 = u32::MAX as u64;

/// The result of a part of a load.
pub type Result<T> = std::result::Result<T, LoadError>;

/// An error of a load.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The operating system, or a decompressor, refused to go on.
    #[error("{name}: {operation}: {source}")]
    Io {
        /// The file, or `standard input`.
        name: String,
        /// What was tried: "open", "read", "list" and so on.
        operation: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// A compressed input ends early or is damaged.
    #[error("{name}: the {compression} stream is truncated or damaged: {source}")]
    Compressed {
        /// The file, or `standard input`.
        name: String,
        /// The compression: "gzip", "bzip2" and so on.
        compression: &'static str,
        /// What the decompressor said.
        source: io::Error,
    },
    /// A file became shorter between its opening and its last byte.
    #[error("{name}: the file shrank while it was read: {found} bytes where there were {expected}")]
    Shrank {
        /// The file.
        name: String,
        /// Its length in bytes when it was opened.
        expected: u64,
        /// Its length in bytes as far as it could be read.
        found: u64,
    },
    /// A line (or a statement of Turtle) is longer than the loader is ready to hold in memory.
    #[error("{name}: the line at byte {offset} is longer than the limit of {limit} bytes")]
    LineTooLong {
        /// The file.
        name: String,
        /// Where the line begins, in bytes of the decompressed input.
        offset: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The syntax of an input is not known, or nothing to load was found.
    #[error("{name}: {reason}")]
    Input {
        /// The file, directory or `standard input`.
        name: String,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// A statement is not valid.
    #[error("{0}")]
    Syntax(Box<Reject>),
    /// An option of the load is not valid.
    #[error("{option}: {reason}")]
    Option {
        /// The option.
        option: &'static str,
        /// What is wrong with its value.
        reason: String,
    },
    /// A temporary file of the load could not be read back.
    #[error("temporary file: {0}")]
    Temporary(#[source] io::Error),
    /// The load has more distinct terms than one load can number.
    #[error("more than {limit} distinct terms in one load; load the input in parts")]
    TooManyTerms {
        /// The most that are possible.
        limit: u64,
    },
    /// The load was cancelled; the store is as it was.
    #[error("cancelled; the store is as it was")]
    Cancelled,
    /// Another of the load's threads failed.
    #[error("the load was stopped")]
    Stopped,
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl LoadError {
    /// An error of the operating system at an input.
    pub fn io(name: &str, operation: &'static str, source: io::Error) -> Self {
        Self::Io {
            name: name.to_owned(),
            operation,
            source,
        }
    }

    /// A temporary file that could not be read back.
    pub(crate) fn temporary(source: io::Error) -> Self {
        Self::Temporary(source)
    }

    /// Terms are numbered with 32 bits within a load.
    pub(crate) fn check_term_count(terms: u64) -> Result<()> {
        if terms >= TERMS_MAX {
            return Err(Self::TooManyTerms { limit: TERMS_MAX });
        }
        Ok(())
    }

    /// An input that cannot be loaded as it is.
    pub fn input(name: &str, reason: impl Into<String>) -> Self {
        Self::Input {
            name: name.to_owned(),
            reason: reason.into(),
        }
    }
}
