//! The producers' end of the queue. It is here, apart from the other end, because each end has its own
//! verbs and errors. What holds always: an item that is not sent comes back to the caller.

use super::counters::{EndCounters, EndReport};
use super::wait::SpinBudget;
use super::wait::sync::Ordering;
use super::{Shared, Side, Transport, WaitStrategy};
use crossbeam_utils::CachePadded;
use std::fmt;
use std::sync::Arc;

/// The producers' end, one handle a thread. Dropping the last one closes the queue.
#[derive(Debug)]
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
    counters: Arc<CachePadded<EndCounters>>,
    spin: SpinBudget,
}

impl<T> Sender<T> {
    /// A handle already counted in [`super::Life`].
    pub(super) fn new(shared: &Arc<Shared<T>>) -> Self {
        Self {
            counters: shared.sending.enter(),
            spin: SpinBudget::new(shared.spin_ceiling),
            shared: Arc::clone(shared),
        }
    }

    /// Sends without waiting.
    pub fn try_send(&self, item: T) -> Result<(), TrySendError<T>> {
        if self.shared.refuses() {
            return Err(TrySendError::Closed(item));
        }
        self.push(item).map_err(|item| {
            self.counters.try_failures.add(1);
            TrySendError::Full(item)
        })
    }

    /// Sends, waiting for room as the strategy says.
    pub fn send(&self, item: T) -> Result<(), Closed<T>> {
        if self.shared.refuses() {
            return Err(Closed(item));
        }
        match self.push(item) {
            Ok(()) => Ok(()),
            Err(item) => self.send_later(item),
        }
    }

    /// To be called before the thread waits for anything else (a slow pipe, say): wakes receivers for what
    /// lies in the queue, even if that is too little to wake them otherwise.
    pub fn flush(&self) {
        if let Transport::Ring(ring) = &self.shared.transport {
            self.counters
                .wakes
                .add(self.shared.consumers.flush(|| ring.len()) as u64);
        }
    }

    /// What this handle has done so far.
    pub fn report(&self) -> EndReport {
        self.counters.report()
    }

    fn push(&self, item: T) -> Result<(), T> {
        match &self.shared.transport {
            Transport::Ring(ring) => {
                ring.push(item)?;
                if self.shared.strategy == WaitStrategy::SpinPark {
                    self.counters
                        .wakes
                        .add(self.shared.consumers.notify(|| ring.len()) as u64);
                }
            }
            Transport::Semaphore(semaphore) => {
                let (pushed, cost) = semaphore.push(item, None, || true);
                self.counters.charge(cost);
                pushed?;
            }
        }
        self.counters.hand_overs.add(1);
        Ok(())
    }

    #[cold]
    fn send_later(&self, item: T) -> Result<(), Closed<T>> {
        let shared = &*self.shared;
        let _watch = self.counters.watch();
        match &shared.transport {
            Transport::Ring(ring) => {
                let mut item = Some(item);
                let attempt = || {
                    let unsent = item.take().expect("an item that was not sent came back");
                    if shared.refuses() {
                        return Some(Err(Closed(unsent)));
                    }
                    item = self.push(unsent).err();
                    item.is_none().then_some(Ok(()))
                };
                let side = Side {
                    gate: &shared.producers,
                    other: &shared.consumers,
                    for_other: || ring.len(),
                    ready: || ring.len() < shared.capacity_batches || shared.refuses(),
                };
                shared
                    .wait(&side, &self.spin, &self.counters, None, attempt)
                    .expect("without a deadline, waiting ends with a result")
            }
            Transport::Semaphore(semaphore) => {
                let (pushed, cost) = semaphore.push(item, None, || shared.refuses());
                self.counters.charge(cost);
                self.counters.hand_overs.add(u64::from(pushed.is_ok()));
                pushed.map_err(Closed)
            }
        }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        // This handle keeps the number above zero, so nobody decides anything on it meanwhile.
        self.shared.life.senders.fetch_add(1, Ordering::Relaxed);
        Self::new(&self.shared)
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        // Release: whoever reads 0 sees all that any sender pushed.
        if self.shared.life.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.shared.wake_all();
        } else {
            self.flush();
        }
        self.shared.sending.leave(&self.counters);
    }
}

/// Why [`Sender::try_send`] did not send; the item comes back.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TrySendError<T> {
    /// There is no room now.
    #[error("the queue is full")]
    Full(T),
    /// Nobody will ever receive it: no receiver is left, or the queue was aborted.
    #[error("the queue is closed")]
    Closed(T),
}

/// Why [`Sender::send`] did not send: no receiver is left, or the queue was aborted. The item comes back.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the queue is closed")]
pub struct Closed<T>(pub T);

// By hand, so that a batch need not be printable for the error to be.
impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> fmt::Debug for Closed<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Closed(..)")
    }
}
