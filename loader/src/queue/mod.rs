//! The queue through which batches go from parsers to inserters: bounded, any number of threads at both
//! ends, closed when its producers have gone. It is here because of an old observation: when inserters that
//! ran out of work slept on a semaphore, *faster* inserters made the load slower, for each sleep and wake
//! costs as much as inserting several triples. So:
//!
//! * a hand-over is a whole batch, and one that can go on at once touches no lock;
//! * a thread that has to wait spins for about the time of one context switch ([`WaitStrategy::SpinPark`]),
//!   if there are cores enough for that, and parks then;
//! * a parked thread is not woken for one item but for half a queue (hysteresis), see `wait.rs`;
//! * the `try_` operations never wait, so that a thread that has other work does that instead.
//!
//! What holds always, whatever the strategy:
//!
//! * an item that was sent is received exactly once, or dropped with the queue after an abort or when no
//!   receiver is left; what one sender sends, one receiver receives in the same order;
//! * when all senders are gone, receivers get what is left and then the end; when all receivers are gone,
//!   senders get their items back; after [`Queue::abort`] both return at once;
//! * no item lies in the queue with all receivers parked for longer than 10 ms, and
//!   not even that long if producers call [`Sender::flush`] before they wait for anything else.
//!
//! The old semaphore is still here, as [`WaitStrategy::Park`]: `benches/handoff.rs` runs the experiment.
//!
//! ```
//! use quadrille_loader::queue::{Queue, WaitStrategy};
//!
//! let (queue, sender, receiver) = Queue::new(8, WaitStrategy::default(), 2);
//! std::thread::scope(|scope| {
//!     scope.spawn(move || {
//!         for number in 0..100 {
//!             sender.send(number).expect("the receiver is there until the end");
//!         }
//!     });
//!     assert_eq!(std::iter::from_fn(|| receiver.receive()).sum::<i32>(), 4950);
//! });
//! assert_eq!(queue.report().receivers.hand_overs, 100);
//! ```

mod counters;
#[cfg(all(test, loom))]
mod models;
mod receiver;
mod ring;
mod semaphore;
mod sender;
#[cfg(all(test, not(loom)))]
mod tests;
mod wait;

pub use counters::{EndReport, QueueReport, ThreadUsage};
pub use receiver::{Receiver, TryReceive};
pub use sender::{Closed, Sender, TrySendError};

use counters::{EndCounters, EndRegistry};
use crossbeam_utils::CachePadded;
use ring::Ring;
use semaphore::{Cost, Semaphore};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wait::sync::{AtomicBool, AtomicUsize, Ordering};
use wait::{Gate, PATIENCE, SpinBudget, Woken};

/// How a thread waits that has nothing to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitStrategy {
    /// Spin for about a context switch's time, or not at all when threads outnumber cores; then park until
    /// half the queue is full (or empty).
    #[default]
    SpinPark,
    /// The baseline: mutex and condition variable, no spinning, a wake for every item.
    Park,
    /// Spin without end: the least latency, if every thread has a core of its own; else a waste.
    Spin,
}

impl WaitStrategy {
    /// All strategies.
    pub const ALL: [Self; 3] = [Self::SpinPark, Self::Park, Self::Spin];

    /// The name, as options and reports write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SpinPark => "spin-park",
            Self::Park => "park",
            Self::Spin => "spin",
        }
    }
}

impl fmt::Display for WaitStrategy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for WaitStrategy {
    type Err = UnknownStrategy;

    fn from_str(name: &str) -> Result<Self, UnknownStrategy> {
        Self::ALL
            .into_iter()
            .find(|strategy| strategy.name() == name)
            .ok_or_else(|| UnknownStrategy(name.to_owned()))
    }
}

/// A name that is no [`WaitStrategy`]'s.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown waiting strategy {0:?}: expected spin-park, park or spin")]
pub struct UnknownStrategy(pub String);

/// The queue seen from outside: to abort it and to read its counters. Counts as neither end.
#[derive(Debug)]
pub struct Queue<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Clone for Queue<T> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<T> Queue<T> {
    /// A queue for `capacity_batches` items (at least 1). `threads` is the number of threads that will want
    /// a core while it is in use, at both ends together: are they more than the cores this process may use,
    /// nobody spins. Clone the handles for more threads.
    pub fn new(
        capacity_batches: usize,
        strategy: WaitStrategy,
        threads: usize,
    ) -> (Self, Sender<T>, Receiver<T>) {
        assert!(capacity_batches >= 1, "a queue needs room for one item");
        let transport = match strategy {
            WaitStrategy::SpinPark | WaitStrategy::Spin => {
                Transport::Ring(Ring::new(capacity_batches))
            }
            WaitStrategy::Park => Transport::Semaphore(Semaphore::new(capacity_batches)),
        };
        // Respects affinity and control groups; a machine that does not tell gets no spinning.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let level = (capacity_batches / 2).max(1);
        let shared = Arc::new(Shared {
            transport,
            consumers: Gate::new(level),
            producers: Gate::new(level),
            life: CachePadded::new(Life {
                senders: AtomicUsize::new(1),
                receivers: AtomicUsize::new(1),
                aborted: AtomicBool::new(false),
            }),
            strategy,
            capacity_batches,
            spin_ceiling: match strategy {
                WaitStrategy::SpinPark => SpinBudget::ceiling_for(threads, cores),
                WaitStrategy::Park | WaitStrategy::Spin => Duration::ZERO,
            },
            sending: EndRegistry::default(),
            receiving: EndRegistry::default(),
        });
        let sender = Sender::new(&shared);
        let receiver = Receiver::new(&shared);
        (Self { shared }, sender, receiver)
    }

    /// Ends the queue at once, for an error elsewhere: all calls at both ends, those that wait included,
    /// return as if closed. What lies in the queue is dropped when the last handle is.
    pub fn abort(&self) {
        self.shared.life.aborted.store(true, Ordering::Release);
        self.shared.wake_all();
    }

    /// Whether [`Queue::abort`] was called.
    pub fn is_aborted(&self) -> bool {
        self.shared.is_aborted()
    }

    /// How many items lie in the queue now.
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The counters of both ends, with all handles there have been.
    pub fn report(&self) -> QueueReport {
        QueueReport {
            strategy: self.shared.strategy,
            capacity_batches: self.shared.capacity_batches,
            spin_ceiling_nanoseconds: self.shared.spin_ceiling.as_nanos() as u64,
            senders: self.shared.sending.report(),
            receivers: self.shared.receiving.report(),
        }
    }
}

/// What all handles share.
#[derive(Debug)]
struct Shared<T> {
    transport: Transport<T>,
    /// Where consumers wait for items.
    consumers: Gate,
    /// Where producers wait for room.
    producers: Gate,
    /// Read at every call, seldom written: apart from what hand-overs write.
    life: CachePadded<Life>,
    strategy: WaitStrategy,
    capacity_batches: usize,
    spin_ceiling: Duration,
    sending: EndRegistry,
    receiving: EndRegistry,
}

/// Who is still there.
#[derive(Debug)]
struct Life {
    senders: AtomicUsize,
    receivers: AtomicUsize,
    aborted: AtomicBool,
}

/// Where the items lie, and with them the rules of waiting.
#[derive(Debug)]
enum Transport<T> {
    Ring(Ring<T>),
    Semaphore(Semaphore<T>),
}

/// One side's view of a wait at the ring.
struct Side<'a, Amount, Ready> {
    /// Where this side waits.
    gate: &'a Gate,
    /// Where the other side does.
    other: &'a Gate,
    /// How much there is now for the other side.
    for_other: Amount,
    /// Whether there is a reason not to sleep.
    ready: Ready,
}

impl<T> Shared<T> {
    fn len(&self) -> usize {
        match &self.transport {
            Transport::Ring(ring) => ring.len(),
            Transport::Semaphore(semaphore) => semaphore.len(),
        }
    }

    fn is_aborted(&self) -> bool {
        self.life.aborted.load(Ordering::Acquire)
    }

    /// Whether sending is pointless.
    fn refuses(&self) -> bool {
        self.is_aborted() || self.life.receivers.load(Ordering::Acquire) == 0
    }

    /// Whether nothing more will be sent.
    fn has_ended(&self) -> bool {
        self.is_aborted() || self.life.senders.load(Ordering::Acquire) == 0
    }

    /// Wakes everybody, after something has ended.
    fn wake_all(&self) {
        match &self.transport {
            Transport::Ring(_) => {
                self.consumers.wake_all();
                self.producers.wake_all();
            }
            Transport::Semaphore(semaphore) => semaphore.wake_all(),
        }
    }

    /// Repeats `attempt` until it gives something, waiting in between as the strategy says; `None` when
    /// the deadline came first.
    fn wait<R>(
        &self,
        side: &Side<'_, impl Fn() -> usize, impl Fn() -> bool>,
        spin: &SpinBudget,
        counters: &EndCounters,
        deadline: Option<Instant>,
        mut attempt: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        if self.strategy == WaitStrategy::Spin {
            let found = spin.spin_until(counters.hand_overs.get(), deadline, &mut attempt);
            counters.spins_succeeded.add(u64::from(found.is_some()));
            return found;
        }
        if let Some(found) = spin.spin(counters.hand_overs.get(), &mut attempt) {
            counters.spins_succeeded.add(1);
            return Some(found);
        }
        let mut eager = false;
        loop {
            // If this side finds nothing, the other has something to do. Progress does not hang on this
            // (the models pass without it), but sleepers for whom each hand-over was too little would wait
            // out their patience.
            counters.wakes.add(side.other.flush(&side.for_other) as u64);
            let patience = (!eager).then(|| Instant::now() + PATIENCE);
            let until = match (deadline, patience) {
                (Some(deadline), Some(patience)) => Some(deadline.min(patience)),
                (deadline, patience) => deadline.or(patience),
            };
            let woken = side.gate.wait(eager, until, &side.ready);
            counters.parks.add(u64::from(woken != Woken::Ready));
            counters.timeouts.add(u64::from(woken == Woken::Timeout));
            // However it ended: a signal or a timeout may have come together with an item.
            if let Some(found) = attempt() {
                return Some(found);
            }
            if woken == Woken::Timeout {
                if wait::sync::is_past(deadline) {
                    return None;
                }
                eager = true;
            }
        }
    }
}

impl EndCounters {
    fn charge(&self, cost: Cost) {
        self.parks.add(cost.parks);
        self.wakes.add(cost.wakes);
    }
}
