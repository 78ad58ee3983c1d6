//! How an inference is run.

use crate::datalog::UserRules;
use crate::error::{InferError, Result};
use crate::profile::Profile;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How an inference is run.
#[derive(Clone, Debug)]
pub struct InferOptions {
    /// What is inferred.
    pub profile: Profile,
    /// Rules beside those of the profile.
    pub rules: UserRules,
    /// How many threads may work; by default one for each core that the process may use.
    pub threads: usize,
    /// Ends the inference when it is set; the store is as it was then.
    pub cancelled: Arc<AtomicBool>,
}

impl InferOptions {
    /// The defaults with a profile.
    pub fn new(profile: Profile) -> Self {
        Self {
            profile,
            rules: UserRules::default(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            cancelled: Arc::default(),
        }
    }

    /// # Errors
    /// [`InferError::Cancelled`].
    pub fn check_cancelled(&self) -> Result<()> {
        if self.cancelled.load(Ordering::Relaxed) {
            Err(InferError::Cancelled)
        } else {
            Ok(())
        }
    }
}
