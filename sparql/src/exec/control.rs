//! What stops a query from outside: cancellation and the time limit.

use super::memory::Memory;
use super::spill::scratch::Scratch;
use crate::error::{QueryError, Result};
use oxsdatatypes::DateTime;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Cancels queries from another thread. Clones cancel the same queries.
#[derive(Clone, Debug, Default)]
pub struct CancellationToken {
    cancelled: Arc<AtomicBool>,
}

impl CancellationToken {
    /// A token that cancels nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes every query that was given this token end with [`QueryError::Cancelled`] before its next batch of rows.
    pub fn cancel(&self) {
        // Nothing else is published with the flag.
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether it was used.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// What the operators of one running query share.
#[derive(Debug)]
pub struct Control {
    token: Option<CancellationToken>,
    deadline: Option<(Instant, Duration)>,
    batch_rows: usize,
    threads: usize,
    now: Arc<OnceLock<DateTime>>,
    memory: Arc<Memory>,
    scratch: Arc<Scratch>,
}

impl Control {
    /// The control of a query that starts now. `batch_rows` is at least 1. Its memory is the default, its temporary files
    /// are where the system has them.
    pub fn new(
        token: Option<CancellationToken>,
        timeout: Option<Duration>,
        batch_rows: usize,
    ) -> Self {
        Self {
            token,
            // A limit beyond what the clock can count to is none.
            deadline: timeout.and_then(|limit| Some((Instant::now().checked_add(limit)?, limit))),
            batch_rows: batch_rows.max(1),
            threads: 1,
            now: Arc::default(),
            memory: Arc::new(Memory::new(None)),
            scratch: Arc::default(),
        }
    }

    /// The same with other bounds for what operators keep.
    #[must_use]
    pub fn with_memory(mut self, memory: &Arc<Memory>, scratch: &Arc<Scratch>) -> Self {
        self.memory = Arc::clone(memory);
        self.scratch = Arc::clone(scratch);
        self
    }

    /// The same where operators that have seen many rows may go on with them on so many threads.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// The same query's, with accounts of its own for memory and temporary files.
    #[must_use]
    pub fn with_own_accounts(&self) -> Self {
        Self {
            token: self.token.clone(),
            deadline: self.deadline,
            batch_rows: self.batch_rows,
            threads: self.threads,
            now: Arc::clone(&self.now),
            memory: Arc::new(self.memory.own_account()),
            scratch: Arc::new(self.scratch.own_account()),
        }
    }

    /// What `NOW()` is in all of the query: the time when it first asks.
    pub fn now(&self) -> DateTime {
        *self.now.get_or_init(DateTime::now)
    }

    /// The query's memory.
    pub fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// The query's temporary files.
    pub fn scratch(&self) -> &Arc<Scratch> {
        &self.scratch
    }

    /// What is left of the query's time, if that is limited.
    pub fn remaining(&self) -> Option<Duration> {
        let (deadline, _) = self.deadline?;
        Some(deadline.saturating_duration_since(Instant::now()))
    }

    /// How many rows an operator gives at a time, at most.
    #[inline]
    pub fn batch_rows(&self) -> usize {
        self.batch_rows
    }

    /// How many threads an operator may take for what it has in memory.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// To be called by whoever makes or takes a batch.
    ///
    /// # Errors
    /// [`QueryError::Cancelled`] or [`QueryError::Timeout`].
    #[inline]
    pub fn check(&self) -> Result<()> {
        if let Some(token) = &self.token
            && token.is_cancelled()
        {
            return Err(QueryError::Cancelled);
        }
        if let Some((deadline, limit)) = self.deadline
            && Instant::now() >= deadline
        {
            return Err(QueryError::Timeout { limit });
        }
        Ok(())
    }
}
