//! Why an inference fails.

use quadrille_store::StoreError;

/// Why an inference failed; the store is as it was then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InferError {
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It was cancelled.
    #[error("the inference was cancelled")]
    Cancelled,
    /// The ontology asks for more than this reasoner does.
    #[error("{what}: more than {limit}")]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// How much is possible.
        limit: usize,
    },
}

/// A result of inference.
pub type Result<T> = std::result::Result<T, InferError>;
