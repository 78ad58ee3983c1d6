//! Memory: how much a load may take by default, and how much it took.

use quadrille_store::memory;
use std::sync::atomic::{AtomicU64, Ordering};

/// The default budget is this share of what is free.
const SHARE: u64 = 2;
/// The default budget where the system does not say what is free.
const UNKNOWN: u64 = 1 << 30;
/// A smaller budget saves nothing: buffers of fixed size (slices, batches, files) take about as much. The default is
/// not smaller, and the command line refuses less.
pub const BUDGET_MINIMUM_BYTES: u64 = 32 << 20;

/// The default memory budget: half of what the machine, or the control group, has free.
pub fn default_budget() -> u64 {
    (memory::free_bytes().unwrap_or(UNKNOWN) / SHARE).max(BUDGET_MINIMUM_BYTES)
}

/// The largest anonymous memory of the process (`RssAnon`) that was seen. The kernel keeps no such maximum
/// itself, so the load looks where it is likely: at the ends of its phases, and now and then between.
#[derive(Debug, Default)]
pub struct PeakMemory(AtomicU64);

impl PeakMemory {
    /// Looks now.
    pub fn look(&self) {
        if let Some(bytes) = memory::anonymous_bytes() {
            self.0.fetch_max(bytes, Ordering::Relaxed);
        }
    }

    /// The largest seen, in bytes; 0 where the system does not say.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_budget_is_within_what_is_free() {
        let budget = default_budget();
        assert!(budget >= BUDGET_MINIMUM_BYTES);
        if let Some(free) = memory::free_bytes() {
            assert!(budget <= (free / SHARE + (256 << 20)).max(BUDGET_MINIMUM_BYTES));
        }
    }

    #[test]
    fn the_peak_grows_with_memory() {
        let peak = PeakMemory::default();
        peak.look();
        let before = peak.bytes();
        let block = vec![1_u8; 64 << 20];
        peak.look();
        if cfg!(target_os = "linux") {
            assert!(
                peak.bytes() >= before + (32 << 20),
                "{} {}",
                before,
                block.len()
            );
        }
    }
}
