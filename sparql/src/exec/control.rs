//! What stops a query from outside: cancellation and the time limit.

use crate::error::{QueryError, Result};
use oxsdatatypes::DateTime;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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
    now: OnceLock<DateTime>,
    memory_limit: Option<u64>,
    memory_used: AtomicU64,
}

impl Control {
    /// The control of a query that starts now. `batch_rows` is at least 1.
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
            now: OnceLock::new(),
            memory_limit: None,
            memory_used: AtomicU64::new(0),
        }
    }

    /// What `NOW()` is in all of the query: the time when it first asks.
    pub fn now(&self) -> DateTime {
        *self.now.get_or_init(DateTime::now)
    }

    /// The same with a limit on what operators keep, in bytes.
    #[must_use]
    pub fn with_memory(mut self, limit: Option<u64>) -> Self {
        self.memory_limit = limit;
        self
    }

    /// To be called by whoever keeps rows, with about how many bytes they take.
    ///
    /// # Errors
    /// [`QueryError::Memory`].
    #[inline]
    pub fn charge(&self, bytes: u64) -> Result<()> {
        let Some(limit) = self.memory_limit else {
            return Ok(());
        };
        // Nothing else is published with the number.
        let used = self.memory_used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if used > limit {
            return Err(QueryError::Memory { limit });
        }
        Ok(())
    }

    /// Whether so many bytes more can be kept.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.memory_limit.is_none_or(|limit| {
            // Nothing else is published with the number.
            let used = self.memory_used.load(Ordering::Relaxed);
            used.checked_add(bytes).is_some_and(|used| used <= limit)
        })
    }

    /// What was charged for is kept no longer.
    fn release(&self, bytes: u64) {
        if self.memory_limit.is_some() {
            // Nothing else is published with the number.
            self.memory_used.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// How many rows an operator gives at a time, at most.
    #[inline]
    pub fn batch_rows(&self) -> usize {
        self.batch_rows
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

/// What was charged to a query for something that may be dropped before the query ends.
#[derive(Debug)]
pub struct Charge {
    control: Arc<Control>,
    bytes: u64,
}

impl Charge {
    /// Nothing yet.
    pub fn new(control: &Arc<Control>) -> Self {
        Self {
            control: Arc::clone(control),
            bytes: 0,
        }
    }

    /// Charges for more.
    ///
    /// # Errors
    /// [`QueryError::Memory`].
    pub fn add(&mut self, bytes: u64) -> Result<()> {
        self.bytes += bytes;
        self.control.charge(bytes)
    }

    /// Charges for as much as is missing to a number of bytes.
    ///
    /// # Errors
    /// [`QueryError::Memory`].
    pub fn raise_to(&mut self, bytes: u64) -> Result<()> {
        self.add(bytes.saturating_sub(self.bytes))
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.control.release(self.bytes);
    }
}
