//! The consumers' end of the queue. It is here, apart from the other end, because each end has its own
//! verbs. What holds always: "closed" is said only after everything that was sent has been received, or after
//! an abort.

use super::counters::{EndCounters, EndReport};
use super::wait::SpinBudget;
use super::wait::sync::{Ordering, is_past};
use super::{Shared, Side, Transport, WaitStrategy};
use crossbeam_utils::CachePadded;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The consumers' end, one handle a thread. When the last one is dropped, senders get their items back.
#[derive(Debug)]
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    counters: Arc<CachePadded<EndCounters>>,
    spin: SpinBudget,
}

impl<T> Receiver<T> {
    /// A handle already counted in [`super::Life`].
    pub(super) fn new(shared: &Arc<Shared<T>>) -> Self {
        Self {
            counters: shared.receiving.enter(),
            spin: SpinBudget::new(shared.spin_ceiling),
            shared: Arc::clone(shared),
        }
    }

    /// Receives without waiting.
    pub fn try_receive(&self) -> TryReceive<T> {
        let found = self.poll();
        if matches!(found, TryReceive::Empty) {
            self.counters.try_failures.add(1);
        }
        found
    }

    /// Receives, waiting for an item as the strategy says; `None` when all senders are gone and the queue
    /// is drained, or it was aborted.
    pub fn receive(&self) -> Option<T> {
        let found = match self.poll() {
            TryReceive::Empty => self.receive_later(None),
            found => found,
        };
        match found {
            TryReceive::Item(item) => Some(item),
            TryReceive::Closed => None,
            TryReceive::Empty => unreachable!("without a deadline, waiting ends with a result"),
        }
    }

    /// Receives, waiting for an item at most so long. For a thread that holds a sender itself, and must
    /// look now and then whether there is other work.
    pub fn receive_within(&self, limit: Duration) -> TryReceive<T> {
        match self.poll() {
            TryReceive::Empty => self.receive_later(Some(Instant::now() + limit)),
            found => found,
        }
    }

    /// What this handle has done so far.
    pub fn report(&self) -> EndReport {
        self.counters.report()
    }

    fn poll(&self) -> TryReceive<T> {
        if self.shared.is_aborted() {
            return TryReceive::Closed;
        }
        // Only an emptiness seen after the last sender had gone is the end.
        let closed = self.shared.life.senders.load(Ordering::Acquire) == 0;
        match self.pop() {
            Some(item) => TryReceive::Item(item),
            None if closed => TryReceive::Closed,
            None => TryReceive::Empty,
        }
    }

    fn pop(&self) -> Option<T> {
        let item = match &self.shared.transport {
            Transport::Ring(ring) => {
                let item = ring.pop()?;
                if self.shared.strategy == WaitStrategy::SpinPark {
                    let room = || self.shared.capacity_batches - ring.len();
                    self.counters
                        .wakes
                        .add(self.shared.producers.notify(room) as u64);
                }
                item
            }
            Transport::Semaphore(semaphore) => {
                let (item, cost) = semaphore.pop(None, || true);
                self.counters.charge(cost);
                item?
            }
        };
        self.counters.hand_overs.add(1);
        Some(item)
    }

    #[cold]
    fn receive_later(&self, deadline: Option<Instant>) -> TryReceive<T> {
        let shared = &*self.shared;
        let _watch = self.counters.watch();
        match &shared.transport {
            Transport::Ring(ring) => {
                let attempt = || match self.poll() {
                    TryReceive::Empty => None,
                    found => Some(found),
                };
                let side = Side {
                    gate: &shared.consumers,
                    other: &shared.producers,
                    for_other: || shared.capacity_batches - ring.len(),
                    ready: || ring.len() > 0 || shared.has_ended(),
                };
                shared
                    .wait(&side, &self.spin, &self.counters, deadline, attempt)
                    .unwrap_or(TryReceive::Empty)
            }
            Transport::Semaphore(semaphore) => loop {
                let (item, cost) = semaphore.pop(deadline, || shared.has_ended());
                self.counters.charge(cost);
                if let Some(item) = item {
                    self.counters.hand_overs.add(1);
                    return TryReceive::Item(item);
                }
                if shared.has_ended() {
                    // Not `Closed` at once: the last item may have come together with the end.
                    return self.poll();
                }
                if is_past(deadline) {
                    self.counters.timeouts.add(1);
                    return TryReceive::Empty;
                }
            },
        }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.shared.life.receivers.fetch_add(1, Ordering::Relaxed);
        Self::new(&self.shared)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if self.shared.life.receivers.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.shared.wake_all();
        }
        self.shared.receiving.leave(&self.counters);
    }
}

/// What [`Receiver::try_receive`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum TryReceive<T> {
    /// An item.
    Item(T),
    /// Nothing now; there may be something later.
    Empty,
    /// Nothing any more: all senders are gone and the queue is drained, or it was aborted.
    Closed,
}
