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
    /// What was inferred, or what rules were joined in, exceeds the budget.
    #[error(
        "the inference needs more than {limit} bytes of memory: allow more, or infer by a weaker profile"
    )]
    Memory {
        /// The budget in bytes.
        limit: u64,
    },
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
