//! How an inference is run, and what its parts share while it runs.

use crate::datalog::UserRules;
use crate::error::{InferError, Result};
use crate::memory::{Memory, default_budget};
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
    /// Memory for what is inferred, in bytes; more is an error. By default half of what is free.
    pub memory: u64,
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
            memory: default_budget(),
            cancelled: Arc::default(),
        }
    }
}

/// What the parts of a running inference share.
pub struct Context<'a> {
    /// How it is run.
    pub options: &'a InferOptions,
    /// What it keeps.
    pub memory: Memory,
}

impl<'a> Context<'a> {
    /// Of an inference that begins.
    pub fn new(options: &'a InferOptions) -> Self {
        Self {
            options,
            memory: Memory::new(options.memory),
        }
    }

    /// # Errors
    /// [`InferError::Cancelled`], [`InferError::Memory`].
    pub fn check(&self) -> Result<()> {
        self.memory.check()?;
        if self.options.cancelled.load(Ordering::Relaxed) {
            Err(InferError::Cancelled)
        } else {
            Ok(())
        }
    }
}
