//! How far a load is, readable from another thread while it runs.

use crate::input;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The phases of a load, in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Phase {
    /// Input is read, parsed and inserted into partial vocabularies and runs.
    Insert,
    /// The partial vocabularies are sorted.
    Sort,
    /// They are merged, terms get their ids, the dictionary is written.
    Number,
    /// Rows are packed, sorted and merged; orders are derived and written.
    Build,
    /// Files are synced and the manifest is switched.
    Publish,
}

impl Phase {
    /// All phases in their order.
    pub const ALL: [Self; 5] = [
        Self::Insert,
        Self::Sort,
        Self::Number,
        Self::Build,
        Self::Publish,
    ];

    /// A word for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "parse and insert",
            Self::Sort => "sort terms",
            Self::Number => "number terms",
            Self::Build => "build orders",
            Self::Publish => "sync and publish",
        }
    }
}

/// How far a load is.
#[derive(Debug, Default)]
pub struct LoadProgress {
    input: OnceLock<Arc<input::Progress>>,
    statements: AtomicU64,
    phase: AtomicU8,
    orders_written: AtomicU64,
}

impl LoadProgress {
    /// How far reading is; `None` before it has begun.
    pub fn input(&self) -> Option<&input::Progress> {
        self.input.get().map(|progress| &**progress)
    }

    /// Statements read so far.
    pub fn statements(&self) -> u64 {
        self.statements.load(Ordering::Relaxed)
    }

    /// The current phase.
    pub fn phase(&self) -> Phase {
        Phase::ALL[usize::from(self.phase.load(Ordering::Relaxed))]
    }

    /// Orders that are written already.
    pub fn orders_written(&self) -> u64 {
        self.orders_written.load(Ordering::Relaxed)
    }

    pub(crate) fn set_input(&self, progress: Arc<input::Progress>) {
        // A second load with the same progress goes on showing the first one's input.
        let _known = self.input.set(progress);
    }

    pub(crate) fn add_statements(&self, count: u64) {
        self.statements.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    pub(crate) fn add_order(&self) {
        self.orders_written.fetch_add(1, Ordering::Relaxed);
    }
}
