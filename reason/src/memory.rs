//! `Memory`: what an inference keeps in memory, counted against one budget.
//!
//! Counted are the rows that rules are joined in, what they conclude, the runs of inferred triples, and the rows of the segment that
//! is written: all that grows with the data. Who keeps something says so after the fact (a [`Charge`]) and asks
//! often whether the sum is still within the budget; so it is exceeded by no more than the threads take between two checks.
//! Not counted: the ontology and its rules, buffers of fixed size.

use crate::error::{InferError, Result};
use quadrille_store::memory::free_bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The default budget is this share of what is free.
const SHARE: u64 = 2;
/// The default budget where the system does not say what is free.
const UNKNOWN: u64 = 1 << 30;

/// The default budget: half of what the machine, or the control group, has free.
pub fn default_budget() -> u64 {
    free_bytes().unwrap_or(UNKNOWN) / SHARE
}

/// The memory of one inference. Clones are of the same.
#[derive(Clone, Debug)]
pub struct Memory {
    limit: u64,
    used: Arc<AtomicU64>,
}

impl Memory {
    /// With a budget in bytes.
    pub fn new(limit: u64) -> Self {
        Self {
            limit,
            used: Arc::default(),
        }
    }

    /// Counts what somebody keeps, until it is dropped.
    pub fn charge(&self, bytes: usize) -> Charge {
        let charge = Charge {
            memory: self.clone(),
            bytes: AtomicU64::new(0),
        };
        charge.add(bytes);
        charge
    }

    /// # Errors
    /// [`InferError::Memory`] if more is in use than the budget.
    pub fn check(&self) -> Result<()> {
        // Sums are exact whenever threads meet; in between, who looks a little too early looks again soon.
        if self.used.load(Ordering::Relaxed) > self.limit {
            return Err(InferError::Memory { limit: self.limit });
        }
        Ok(())
    }
}

/// Memory that somebody keeps.
#[derive(Debug)]
pub struct Charge {
    memory: Memory,
    bytes: AtomicU64,
}

impl Charge {
    /// It is so many bytes more.
    pub fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.memory.used.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// The same memory counts what is kept for a while beside it.
    pub fn beside(&self, bytes: usize) -> Self {
        self.memory.charge(bytes)
    }

    /// It is at least so many bytes.
    pub fn grow_to(&self, bytes: usize) {
        let known = self.bytes.load(Ordering::Relaxed) as usize;
        if bytes > known {
            self.add(bytes - known);
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let bytes = *self.bytes.get_mut();
        self.memory.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_counts_until_it_is_dropped() {
        let memory = Memory::new(100);
        let first = memory.charge(60);
        let second = memory.charge(40);
        assert!(memory.check().is_ok());
        second.grow_to(41);
        second.grow_to(7);
        assert!(matches!(
            memory.check(),
            Err(InferError::Memory { limit: 100 })
        ));
        drop(first);
        assert!(memory.check().is_ok());
        drop(second);
        assert_eq!(memory.used.load(Ordering::Relaxed), 0);
    }
}
