//! What a load may be told.

use crate::error::LoadError;
use crate::memory::default_budget;
use crate::progress::LoadProgress;
use crate::queue::WaitStrategy;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// Stops a load from another thread or a signal handler.
#[derive(Clone, Default)]
pub struct CancelFlag(Arc<Cancel>);

#[derive(Default)]
struct Cancel {
    cancelled: AtomicBool,
    /// Wakes whoever waits for something other than this flag.
    wake: Mutex<Option<Box<dyn Fn() + Send + Sync>>>,
}

impl CancelFlag {
    /// Stops the load soon; it ends with [`LoadError::Cancelled`], the store as it was.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        if let Some(wake) = &*self.lock() {
            wake();
        }
    }

    /// Whether the load is to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
    }

    pub(crate) fn check(&self) -> Result<(), LoadError> {
        if self.is_cancelled() {
            Err(LoadError::Cancelled)
        } else {
            Ok(())
        }
    }

    /// Calls `wake` when the flag is set, or now if it is set already.
    pub(crate) fn on_cancel(&self, wake: impl Fn() + Send + Sync + 'static) {
        let mut current = self.lock();
        // Under the lock: either `cancel` finds the new waker, or the flag is seen here.
        if self.0.cancelled.load(Ordering::SeqCst) {
            wake();
        }
        *current = Some(Box::new(wake));
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<dyn Fn() + Send + Sync>>> {
        self.0.wake.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for CancelFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CancelFlag")
            .field(&self.is_cancelled())
            .finish()
    }
}
