//! What can go wrong while data is generated.

use std::io;
use std::path::PathBuf;

/// The result of an operation of this crate.
pub type Result<T> = std::result::Result<T, LubmError>;

/// An error of the generator.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LubmError {
    /// The operating system refused an operation on a file or directory.
    #[error("cannot {operation} {}", path.display())]
    File {
        /// What was tried: "create", "write", "rename" and so on.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// A stream (standard output, a socket) did not take what was written.
    #[error("cannot write the output")]
    Stream {
        /// The stream's reason.
        source: io::Error,
    },
    /// Somebody set [`GenerateOptions::cancelled`](crate::GenerateOptions::cancelled).
    #[error("cancelled")]
    Cancelled,
    /// Data was asked for that has no universities, or more than there are numbers.
    #[error(
        "cannot make {universities} universities from number {start} on: there must be one at least, and \
         the last number is 2147483647"
    )]
    Universities {
        /// How many.
        universities: u32,
        /// The first one's number.
        start: u32,
    },
    /// The ontology's address cannot stand in an IRI.
    #[error("the ontology URL {url:?} is not an absolute IRI without a fragment: {reason}")]
    OntologyUrl {
        /// What was given.
        url: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// A format's name is not known.
    #[error("unknown format {name:?}: the formats are nt and ttl, alone or with .gz or .zst")]
    Format {
        /// What was given.
        name: String,
    },
}

impl LubmError {
    /// Whether the reader of the output went away, as `head` does: often no reason to complain.
    pub fn is_broken_pipe(&self) -> bool {
        match self {
            Self::File { source, .. } | Self::Stream { source } => {
                source.kind() == io::ErrorKind::BrokenPipe
            }
            _ => false,
        }
    }
}
