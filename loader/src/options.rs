//! What a load may be told.

use crate::error::LoadError;
use crate::memory::default_budget;
use crate::progress::LoadProgress;
use crate::queue::WaitStrategy;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What happens at a statement that is not valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnError {
    /// The load ends with an error, and the store is as it was.
    #[default]
    Stop,
    /// The statement is counted and left out.
    Skip,
}

/// The options of a load. `Default` is what `quadrille load` does.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Threads in all phases together; as many as the process has cores by default.
    pub threads: usize,
    /// How many of them have inserting as their first work; `None` leaves half of them to it.
    pub inserters: Option<usize>,
    /// Memory in bytes that terms and rows may take; what is beyond goes to temporary files in the store's
    /// directory. See [`default_budget`].
    pub memory: u64,
    /// How threads wait at the queue.
    pub wait: WaitStrategy,
    /// Whether a thread that would have to wait does the other end's work instead.
    pub help: bool,
    /// Statements that are handed over at once.
    pub batch_statements: usize,
    /// Batches that wait between parsers and inserters.
    pub queue_batches: usize,
    /// What happens at a statement that is not valid.
    pub on_error: OnError,
    /// Where statements that were left out are written, with the reason.
    pub rejects: Option<PathBuf>,
    /// Whether IRIs and language tags that fit the syntax, but not their RFCs, are kept.
    pub lenient: bool,
    /// The base of relative IRIs.
    pub base: Option<String>,
    /// The graph that statements without a graph go to.
    pub graph: Option<String>,
    /// Tells whoever displays it how far the load is.
    pub progress: Arc<LoadProgress>,
    /// Stops the load when set.
    pub cancel: CancelFlag,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            inserters: None,
            memory: default_budget(),
            wait: WaitStrategy::default(),
            help: true,
            batch_statements: 4096,
            queue_batches: 16,
            on_error: OnError::default(),
            rejects: None,
            lenient: false,
            base: None,
            graph: None,
            progress: Arc::default(),
            cancel: CancelFlag::default(),
        }
    }
}

impl LoadOptions {
    /// The error of a cancelled load, if it is.
    pub(crate) fn check_cancelled(&self) -> Result<(), LoadError> {
        self.cancel.check()
    }

    /// The memory budget in bytes.
    pub(crate) fn budget(&self) -> usize {
        usize::try_from(self.memory).unwrap_or(usize::MAX)
    }
}

/// A flag that stops a load from another thread or a signal handler.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Stops the load soon; it ends with [`crate::LoadError::Cancelled`], the store as it was.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn check(&self) -> Result<(), LoadError> {
        if self.is_cancelled() { Err(LoadError::Cancelled) } else { Ok(()) }
    }

    /// Whether the load is to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
