//! What can go wrong with a query, by stage: parsing, planning, running, writing.

use crate::result::ResultFormat;
use crate::service::ServiceError;
use oxrdf::{NamedNode, Variable};
use quadrille_store::StoreError;
use spargebra::SparqlSyntaxError;
use std::io;
use std::time::Duration;

/// The result of a query operation.
pub type Result<T> = std::result::Result<T, QueryError>;

/// An error of the SPARQL engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The text is not a SPARQL query.
    #[error("syntax error: {0}")]
    Syntax(#[from] SparqlSyntaxError),
    /// The base IRI is not an absolute IRI.
    #[error("the base IRI {base:?} is not valid: {reason}")]
    BaseIri {
        /// What was given.
        base: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The query is valid SPARQL, but uses something that this engine does not do.
    #[error("{feature} is not supported yet")]
    Unsupported {
        /// What it is, as a query's author would call it.
        feature: String,
    },
    /// The query calls a function or an aggregate that is neither the language's nor one of the program's
    /// [`crate::Extensions`].
    #[error("nobody registered the {kind} {name}")]
    Unregistered {
        /// A function, or an aggregate.
        kind: &'static str,
        /// What the query calls.
        name: NamedNode,
    },
    /// A variable cannot stand for a term.
    #[error("{variable} cannot be substituted: {reason}")]
    Parameter {
        /// The variable.
        variable: Variable,
        /// Why not.
        reason: &'static str,
    },
    /// The query exceeds a bound of the engine.
    #[error("{what} (limit {limit})")]
    Limit {
        /// What is too large.
        what: &'static str,
        /// The largest that is accepted.
        limit: usize,
    },
    /// The operating system gave no thread to parse a deeply nested query in.
    #[error("no thread to parse a deeply nested query in: {0}")]
    Thread(#[source] io::Error),
    /// The query's [`crate::CancellationToken`] was used.
    #[error("the query was cancelled")]
    Cancelled,
    /// The query ran longer than [`crate::QueryOptions::timeout`].
    #[error("the query was stopped after its time limit of {limit:?}")]
    Timeout {
        /// The limit.
        limit: Duration,
    },
    /// The query kept more than [`crate::QueryOptions::memory`] of what cannot be put aside in temporary files.
    #[error("the query was stopped at its memory limit of {limit} bytes")]
    Memory {
        /// The limit.
        limit: u64,
    },
    /// The query's temporary files took more than [`crate::QueryOptions::temporary_bytes`].
    #[error("the query was stopped at its limit of {limit} bytes of temporary files")]
    TemporarySpace {
        /// The limit.
        limit: u64,
    },
    /// A temporary file does not hold what was written to it.
    #[error("a temporary file is damaged at byte {offset}")]
    TemporaryDamaged {
        /// Where, in bytes from the file's start.
        offset: u64,
    },
    /// The query has more rows than [`crate::QueryOptions::rows`] allows.
    #[error("the query was stopped after its limit of {limit} rows")]
    Rows {
        /// The limit.
        limit: u64,
    },
    /// An endpoint that SERVICE asks failed, or is not there.
    #[error("SERVICE {endpoint}: {source}")]
    Service {
        /// Who was asked.
        endpoint: NamedNode,
        /// What went wrong.
        source: ServiceError,
    },
    /// An endpoint that SERVICE names is not asked. SILENT does not hide that.
    #[error("SERVICE {endpoint} cannot be asked: {reason}")]
    ServiceEndpoint {
        /// As the query has it: a term, or a variable.
        endpoint: String,
        /// Why not.
        reason: &'static str,
    },
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The format is not one for such results: a SELECT or an ASK has no graph, a graph no rows.
    #[error("the format {} is for {}", .format.name(), purpose(*format))]
    ResultFormat {
        /// What was asked for.
        format: ResultFormat,
    },
    /// The results could not be written.
    #[error("cannot write the results: {0}")]
    Write(#[source] io::Error),
}

impl QueryError {
    /// The error for a feature that is missing.
    pub(crate) fn unsupported(feature: impl Into<String>) -> Self {
        Self::Unsupported {
            feature: feature.into(),
        }
    }
}

/// What results a format is for, and the others that are.
fn purpose(format: ResultFormat) -> String {
    let (theirs, ours) = if format.is_for_graphs() {
        (
            "the graph of a CONSTRUCT or a DESCRIBE",
            "a SELECT or an ASK",
        )
    } else {
        ("a SELECT or an ASK", "a graph")
    };
    let formats: Vec<&str> = ResultFormat::ALL
        .into_iter()
        .filter(|other| other.is_for_graphs() != format.is_for_graphs())
        .map(ResultFormat::name)
        .collect();
    format!("{theirs}; for {ours} there are {}", formats.join(", "))
}
