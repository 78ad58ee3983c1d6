//! The memory of a query: one budget, from which operators reserve what they keep and to which they give it back.
//!
//! There are three kinds of reservations. What can be put aside in temporary files ([`Reservation::spilling`]) is refused
//! ([`Reservation::try_resize`]) when it outgrows its share, and its owner spills. What cannot
//! ([`Reservation::fixed`]: terms that the query computes, results of GROUP BY) ends the query with
//! [`QueryError::Memory`] when all of it together exceeds the budget. What is on its way from thread to thread
//! ([`Reservation::passing`]) is bounded by who sends it; it counts, so that the others spill earlier.
//!
//! ```text
//! budget   |<- half: n equal parts, one guaranteed to each operator that spills ->|<- half: who comes first ->|
//! ```
//!
//! So an operator alone may take the whole budget, and no operator starves because of those that began before it.
//! Each may exceed its share by the batch that it is at, and takes buffers besides ([`Memory::block_bytes`]). What it
//! reserved before others came is given back when it next spills.

use crate::error::{QueryError, Result};
use quadrille_store::memory::free_bytes;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The default budget is this share of what is free when a process first needs to know.
const FREE_SHARE: u64 = 4;
/// The default budget where the system does not say what is free.
const UNKNOWN_BYTES: u64 = 512 << 20;
/// The default budget is not smaller.
const DEFAULT_MINIMUM_BYTES: u64 = 64 << 20;
/// Blocks of temporary files are this part of the budget: with 16 partitions, or 32 runs, buffers stay small beside it.
const BLOCK_SHARE: u64 = 512;
/// Blocks of temporary files are at least and at most so large.
const BLOCK_BYTES: std::ops::RangeInclusive<u64> = (1 << 10)..=(128 << 10);

/// The budget of a query that was given none: a quarter of what the machine or the control group had free when this
/// process first needed to know, and 64 MiB at least.
pub fn default_budget() -> u64 {
    static FOUND: OnceLock<u64> = OnceLock::new();
    *FOUND.get_or_init(|| {
        (free_bytes().map_or(UNKNOWN_BYTES, |free| free / FREE_SHARE)).max(DEFAULT_MINIMUM_BYTES)
    })
}

/// An account of a query's budget.
#[derive(Debug)]
pub struct Memory {
    budget: Arc<Budget>,
    /// What was taken through this account.
    own: Level,
}

/// The budget of one query and what is taken of it.
#[derive(Debug)]
struct Budget {
    limit: Option<u64>,
    used: Level,
    /// What of `used` cannot be put aside.
    fixed: AtomicU64,
    /// Operators that can put rows aside.
    spilling: AtomicU64,
}

/// A number of bytes, and the largest that it was. Nothing else is published with it, so that relaxed operations do.
#[derive(Debug, Default)]
struct Level {
    bytes: AtomicU64,
    peak: AtomicU64,
}

impl Level {
    fn raise(&self, bytes: u64) {
        let now = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(now, Ordering::Relaxed);
    }

    fn lower(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }
}

impl Memory {
    /// A budget of so many bytes, or of [`default_budget`].
    pub fn new(limit: Option<u64>) -> Self {
        Self {
            budget: Arc::new(Budget {
                limit,
                used: Level::default(),
                fixed: AtomicU64::new(0),
                spilling: AtomicU64::new(0),
            }),
            own: Level::default(),
        }
    }

    /// A further account of the same budget.
    #[must_use]
    pub fn own_account(&self) -> Self {
        Self {
            budget: Arc::clone(&self.budget),
            own: Level::default(),
        }
    }

    /// The budget, in bytes.
    pub fn limit(&self) -> u64 {
        self.budget.limit.unwrap_or_else(default_budget)
    }

    /// How large a block of a temporary file should be.
    pub fn block_bytes(&self) -> usize {
        (self.limit() / BLOCK_SHARE).clamp(*BLOCK_BYTES.start(), *BLOCK_BYTES.end()) as usize
    }

    /// The most of the whole budget that was reserved at once.
    pub fn peak_bytes(&self) -> u64 {
        self.budget.used.peak()
    }

    /// The most that was reserved at once through this account.
    pub fn own_peak_bytes(&self) -> u64 {
        self.own.peak()
    }

    /// Whether so many bytes more can be kept.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.budget.used.bytes().saturating_add(bytes) <= self.limit()
    }

    fn take(&self, bytes: u64) {
        self.budget.used.raise(bytes);
        self.own.raise(bytes);
    }

    fn give_back(&self, bytes: u64) {
        self.budget.used.lower(bytes);
        self.own.lower(bytes);
    }

    /// Whether an operator that has `own` bytes may take `more`.
    fn allows(&self, own: u64, more: u64) -> bool {
        let limit = self.limit();
        let count = self.budget.spilling.load(Ordering::Relaxed).max(1);
        let share = limit / 2 / count;
        let of_others = share * (count - 1);
        let used = self.budget.used.bytes();
        own.saturating_add(more) <= share
            || used.saturating_add(more) <= limit.saturating_sub(of_others)
    }
}

/// What one owner has reserved; it is given back when this is dropped.
#[derive(Debug)]
pub struct Reservation {
    memory: Arc<Memory>,
    bytes: u64,
    kind: Kind,
}

/// What becomes of a reservation that is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Spilling,
    Fixed,
    Passing,
}

impl Reservation {
    /// For what can be put aside: nothing yet.
    pub fn spilling(memory: &Arc<Memory>) -> Self {
        memory.budget.spilling.fetch_add(1, Ordering::Relaxed);
        Self {
            memory: Arc::clone(memory),
            bytes: 0,
            kind: Kind::Spilling,
        }
    }

    /// For what must stay in memory: nothing yet.
    pub fn fixed(memory: &Arc<Memory>) -> Self {
        Self {
            memory: Arc::clone(memory),
            bytes: 0,
            kind: Kind::Fixed,
        }
    }

    /// For what is on its way, which its owner bounds: nothing yet.
    pub fn passing(memory: &Arc<Memory>) -> Self {
        Self {
            memory: Arc::clone(memory),
            bytes: 0,
            kind: Kind::Passing,
        }
    }

    /// How much it is, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes it so many bytes, unless they are more than its owner's share: then nothing changes.
    #[must_use]
    pub fn try_resize(&mut self, bytes: u64) -> bool {
        if bytes > self.bytes && !self.memory.allows(self.bytes, bytes - self.bytes) {
            return false;
        }
        self.set(bytes);
        true
    }

    /// Makes it so many bytes, of what is on its way.
    pub fn resize(&mut self, bytes: u64) {
        debug_assert_eq!(self.kind, Kind::Passing);
        self.set(bytes);
    }

    /// Adds bytes that cannot be put aside.
    ///
    /// # Errors
    /// [`QueryError::Memory`] if all such bytes of the query exceed its budget.
    pub fn grow(&mut self, bytes: u64) -> Result<()> {
        self.set(self.bytes + bytes);
        let limit = self.memory.limit();
        if self.memory.budget.fixed.load(Ordering::Relaxed) > limit {
            return Err(QueryError::Memory { limit });
        }
        Ok(())
    }

    /// Makes it so many bytes that cannot be put aside, unless it is more already.
    ///
    /// # Errors
    /// As [`Reservation::grow`].
    pub fn raise_to(&mut self, bytes: u64) -> Result<()> {
        self.grow(bytes.saturating_sub(self.bytes))
    }

    /// Gives everything back.
    pub fn clear(&mut self) {
        self.set(0);
    }

    fn set(&mut self, bytes: u64) {
        if bytes > self.bytes {
            self.memory.take(bytes - self.bytes);
        } else {
            self.memory.give_back(self.bytes - bytes);
        }
        if self.kind == Kind::Fixed {
            let fixed = &self.memory.budget.fixed;
            fixed.fetch_add(bytes, Ordering::Relaxed);
            fixed.fetch_sub(self.bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.clear();
        if self.kind == Kind::Spilling {
            self.memory.budget.spilling.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_operator_may_take_all() {
        let memory = Arc::new(Memory::new(Some(1000)));
        let mut only = Reservation::spilling(&memory);
        assert!(only.try_resize(1000));
        assert!(!only.try_resize(1001));
        assert_eq!(only.bytes(), 1000);
        drop(only);
        assert_eq!(memory.budget.used.bytes(), 0);
        assert_eq!(memory.peak_bytes(), 1000);
    }

    #[test]
    fn later_operators_have_their_share() {
        let memory = Arc::new(Memory::new(Some(1000)));
        let mut first = Reservation::spilling(&memory);
        let mut second = Reservation::spilling(&memory);
        // A quarter is guaranteed to each, half is for who comes first.
        assert!(first.try_resize(750));
        assert!(!first.try_resize(751));
        assert!(second.try_resize(250));
        assert!(!second.try_resize(251));
        first.clear();
        assert!(second.try_resize(750));
    }

    #[test]
    fn what_must_stay_ends_the_query() {
        let memory = Arc::new(Memory::new(Some(1000)));
        let mut spilling = Reservation::spilling(&memory);
        let mut fixed = Reservation::fixed(&memory);
        assert!(spilling.try_resize(900));
        fixed.grow(600).expect("within the budget");
        assert!(!spilling.try_resize(901), "the budget is used up");
        assert!(matches!(
            fixed.grow(401),
            Err(QueryError::Memory { limit: 1000 })
        ));
    }

    #[test]
    fn the_default_is_a_share_of_what_is_free() {
        let default = Memory::new(None).limit();
        assert!(default >= DEFAULT_MINIMUM_BYTES);
        assert_eq!(default, default_budget());
    }
}
