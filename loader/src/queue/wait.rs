//! Waiting: the gate that threads park at, and the moment of spinning before it. It is here, apart
//! from the queue, so that loom can check this very code: built with `--cfg loom` for a test, locks
//! and atomics come from loom (module [`sync`]).
//!
//! # The gate
//!
//! A queue has two gates. Consumers park at one until enough items lie in the queue, producers at the
//! other until there is enough room. "Enough" is the gate's *level*, half of the capacity: one sleep and wake
//! costs as much as inserting several triples, so a thread that went to sleep is not disturbed
//! for the first item but for as many as make it worth while. What holds always:
//!
//! * `signals <= waiting`: a waker adds a signal only for a waiter that has none yet.
//! * `wanted` is the least amount that should wake somebody: [`NOBODY`] when each waiter has a signal
//!   (so that a producer does not wake again and again somebody who is still getting up), 1 when
//!   an *eager* waiter is among those without, the level otherwise. It is written under the lock only.
//! * A signalled waiter looks at the queue before it waits again or goes away.
//!
//! The states of a waiter, all changes under the gate's lock:
//!
//! ```text
//!          arrive: waiting += 1, publish `wanted`, fence, look
//!   running ------------------------------------------------> patient --- signal ---> running
//!      ^  \_______ there is something now: leave _____/          |
//!      |                                                         | patience over, and nothing there
//!      |                                                         v
//!      '------------------------- signal ---------------------- eager: the level is 1
//! ```
//!
//! # Why no wake-up is lost
//!
//! One side *makes* something available and then looks whether somebody waits; the other says
//! that it waits and then looks whether something is available:
//!
//! ```text
//!   maker                                    waiter (holds the lock)
//!   queue: push or pop                       wanted.store(level, Relaxed)
//!   fence(SeqCst)                            fence(SeqCst)
//!   wanted.load(Relaxed), queue.len()        queue.len()
//! ```
//!
//! Sequentially consistent fences are totally ordered. If the maker's comes first, the waiter sees the
//! queue's change and does not sleep. If the waiter's comes first, the maker sees `wanted`.
//! Release and acquire would not do: they let both loads run before both stores. The fences are
//! ours because the channel's documentation promises no ordering against other variables.
//! A maker that sees `wanted` takes the lock, which the waiter gives up only inside the condition
//! variable's wait, so the signal cannot fall between its look and its sleep. Of several makers, the one
//! whose change comes last counts all the others' in `len()`, so one of them sees the level reached.
//!
//! An amount below the level wakes nobody. It does not lie there for ever:
//! * whoever is about to wait for something else calls `flush`, which wakes for any amount;
//! * leaving (dropping a handle), closing and aborting wake too;
//! * whoever is about to park opens the *other* gate for whatever is there for it;
//! * after [`PATIENCE`] a patient waiter turns eager: the source is slow then, and a wake per item costs
//!   nothing. So an item waits for at most that long, and an idle thread is not woken at all.

use crossbeam_utils::CachePadded;
use std::cell::Cell;
use std::time::{Duration, Instant};
use sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, fence};

/// The primitives of the protocol: the standard library's, or loom's when loom checks it.
pub(super) mod sync {
    #[cfg(all(test, loom))]
    pub use loom::sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering, fence},
    };
    use std::sync::PoisonError;
    #[cfg(not(all(test, loom)))]
    pub use std::sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering, fence},
    };

    /// Locks; a panic elsewhere is that thread's affair, for what these locks guard is always whole.
    pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a notification, until `deadline` if there is one. Loom knows no time: there the
    /// deadline never comes, and a model that relied on it would end in a deadlock, which is what
    /// the models are for.
    pub fn wait<'a, T>(
        condition: &Condvar,
        guard: MutexGuard<'a, T>,
        deadline: Option<std::time::Instant>,
    ) -> MutexGuard<'a, T> {
        match deadline {
            Some(deadline) if !cfg!(all(test, loom)) => {
                let left = deadline.saturating_duration_since(std::time::Instant::now());
                condition
                    .wait_timeout(guard, left)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
            _ => condition
                .wait(guard)
                .unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// Whether the deadline has come (never, for loom).
    pub fn is_past(deadline: Option<std::time::Instant>) -> bool {
        !cfg!(all(test, loom))
            && deadline.is_some_and(|deadline| std::time::Instant::now() >= deadline)
    }
}

/// `wanted` when no waiter lacks a signal: more than any queue can hold.
const NOBODY: usize = usize::MAX;

/// How long a parked thread waits for the gate's level before the first item (or the first free place)
/// wakes it. Thousands of context switches long, so that hysteresis keeps its effect in a busy queue;
/// short for whoever watches a slow one.
pub(super) const PATIENCE: Duration = Duration::from_millis(10);

/// Why [`Gate::wait`] came back. Every way but `Timeout` is a reason to look at the queue, and a
/// careful caller looks then too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Woken {
    /// What was waited for was there already; the thread did not sleep.
    Ready,
    /// Somebody woke it.
    Signal,
    /// The deadline came.
    Timeout,
}

/// Where threads park until enough of something is available. See the module's text.
#[derive(Debug)]
pub(super) struct Gate {
    /// Read by the other side after each hand-over: on a cache line of its own.
    wanted: CachePadded<AtomicUsize>,
    waiters: Mutex<Waiters>,
    condition: Condvar,
    level: usize,
}

#[derive(Debug, Default)]
struct Waiters {
    /// Threads at the gate.
    waiting: usize,
    /// Those of them that any amount shall wake.
    eager: usize,
    /// Wake-ups given and not yet taken.
    signals: usize,
}

impl Gate {
    /// A gate whose patient waiters are woken when `level` (at least 1) is available.
    pub(super) fn new(level: usize) -> Self {
        assert!(level >= 1, "a level of 0 would wake for nothing");
        Self {
            wanted: CachePadded::new(AtomicUsize::new(NOBODY)),
            waiters: Mutex::new(Waiters::default()),
            condition: Condvar::new(),
            level,
        }
    }

    /// Parks until woken or until the deadline, unless `ready` says that there is no need to. `ready`
    /// is called once, with the gate locked: it must not call this gate.
    pub(super) fn wait(
        &self,
        eager: bool,
        deadline: Option<Instant>,
        ready: impl FnOnce() -> bool,
    ) -> Woken {
        let mut waiters = sync::lock(&self.waiters);
        waiters.waiting += 1;
        waiters.eager += usize::from(eager);
        self.publish(&waiters);
        // Pairs with the fence in `notify`.
        fence(Ordering::SeqCst);
        let woken = if ready() {
            Woken::Ready
        } else {
            loop {
                // The signal before the clock: a signal left behind would be lost to the others.
                if waiters.signals > 0 {
                    waiters.signals -= 1;
                    break Woken::Signal;
                }
                if sync::is_past(deadline) {
                    break Woken::Timeout;
                }
                waiters = sync::wait(&self.condition, waiters, deadline);
            }
        };
        waiters.waiting -= 1;
        waiters.eager -= usize::from(eager);
        self.publish(&waiters);
        woken
    }

    /// Says that something has become available: wakes one waiter if that is enough for it. To be
    /// called after the change; `amount` counts what is available then. Gives the number of threads woken.
    #[inline]
    pub(super) fn notify(&self, amount: impl FnOnce() -> usize) -> usize {
        // Pairs with the fence in `wait`.
        fence(Ordering::SeqCst);
        let wanted = self.wanted.load(Ordering::Relaxed);
        if wanted == NOBODY || amount() < wanted {
            return 0;
        }
        self.wake(1)
    }

    /// Wakes as many waiters as what is available can serve, however little that is. Needs no fence: each
    /// change was followed by a [`Gate::notify`] with its own, and a load after it sees at least what that
    /// one's load saw.
    pub(super) fn flush(&self, amount: impl FnOnce() -> usize) -> usize {
        if self.wanted.load(Ordering::Relaxed) == NOBODY {
            return 0;
        }
        self.wake(amount())
    }

    /// Wakes everybody, whatever is available: for what ends the waiting itself. Needs no fence: this takes the
    /// lock in any case, so a waiter that it does not find will lock later and see what was
    /// stored before.
    pub(super) fn wake_all(&self) -> usize {
        self.wake(usize::MAX)
    }

    /// Gives up to `count` waiters a signal.
    #[cold]
    fn wake(&self, count: usize) -> usize {
        let mut waiters = sync::lock(&self.waiters);
        let woken = count.min(waiters.waiting - waiters.signals);
        waiters.signals += woken;
        self.publish(&waiters);
        // Unlocked first: the woken thread would only run into the lock.
        drop(waiters);
        for _ in 0..woken {
            self.condition.notify_one();
        }
        woken
    }

    fn publish(&self, waiters: &MutexGuard<'_, Waiters>) {
        assert!(
            waiters.signals <= waiters.waiting,
            "more signals than waiters"
        );
        let wanted = if waiters.signals == waiters.waiting {
            NOBODY
        } else if waiters.eager > 0 {
            1
        } else {
            self.level
        };
        self.wanted.store(wanted, Ordering::Relaxed);
    }
}

/// The longest that a thread spins before it parks: about what a sleep and a wake cost (1.5 to 6 µs), so that
/// waiting costs at most twice what the better choice would have (the ski-rental argument).
pub(super) const SPIN_CEILING: Duration = Duration::from_micros(4);

/// The shortest, for a thread whose spinning has not paid lately. Not zero: it must be able to
/// find out that times have changed.
const SPIN_FLOOR: Duration = Duration::from_nanos(250);

/// The longest pause between two looks at the queue, in executions of `spin_loop` (some 1 µs).
const LONGEST_PAUSE: u32 = 64;

/// Hand-overs between two waits that make a wait worth its looks; below it, the next wait looks later.
const WORTHWHILE: u64 = 16;

/// How long one thread spins: doubled when spinning paid, halved when the thread had to park after all.
/// Only `spin_loop` is used, no `sched_yield`: a thread that cannot go on shall either hold its
/// core for a moment or give it up, not keep the scheduler busy.
///
/// It also says how long a spinning thread leaves the queue alone before it looks. Each look takes the cache line
/// that the other side is about to write, so a consumer that is always ahead and looks at once makes the producer
/// slower, item by item: the backwards effect again, without any sleep. So a thread that came back for only a few
/// items pauses longer before its first look next time, and finds more of them.
#[derive(Debug)]
pub(super) struct SpinBudget {
    ceiling: Duration,
    current: Cell<Duration>,
    /// The pause before the first look, in executions of `spin_loop`.
    first_pause: Cell<u32>,
    /// The thread's hand-overs when it last waited.
    hand_overs: Cell<u64>,
}

impl SpinBudget {
    /// A budget that grows up to `ceiling`; zero means that the thread never spins.
    pub(super) fn new(ceiling: Duration) -> Self {
        Self {
            ceiling,
            current: Cell::new(ceiling),
            first_pause: Cell::new(1),
            hand_overs: Cell::new(0),
        }
    }

    /// The ceiling for `threads` threads that want a core on a machine that gives us `cores`: zero if
    /// there are too few, for then spinning keeps the one waited for from running.
    pub(super) fn ceiling_for(threads: usize, cores: usize) -> Duration {
        if threads > cores || cfg!(all(test, loom)) {
            Duration::ZERO
        } else {
            SPIN_CEILING
        }
    }

    /// Tries until it succeeds or the budget is used up, with pauses that double. `hand_overs` counts what this
    /// thread has sent or received so far.
    pub(super) fn spin<R>(
        &self,
        hand_overs: u64,
        attempt: &mut impl FnMut() -> Option<R>,
    ) -> Option<R> {
        if self.ceiling.is_zero() {
            return None;
        }
        let deadline = Instant::now() + self.current.get();
        let found = self.spin_until(hand_overs, Some(deadline), attempt);
        self.current.set(if found.is_some() {
            self.ceiling.min(self.current.get() * 2)
        } else {
            SPIN_FLOOR.max(self.current.get() / 2)
        });
        found
    }

    /// Tries until it succeeds or the deadline comes, with pauses that double.
    pub(super) fn spin_until<R>(
        &self,
        hand_overs: u64,
        deadline: Option<Instant>,
        attempt: &mut impl FnMut() -> Option<R>,
    ) -> Option<R> {
        let mut pause = self.first_pause_after(hand_overs);
        loop {
            for _ in 0..pause {
                std::hint::spin_loop();
            }
            if let Some(found) = attempt() {
                return Some(found);
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return None;
            }
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }

    /// Adapts the first pause to what the last wait was good for.
    fn first_pause_after(&self, hand_overs: u64) -> u32 {
        let since = hand_overs - self.hand_overs.replace(hand_overs);
        let pause = self.first_pause.get();
        let pause = if since < WORTHWHILE {
            LONGEST_PAUSE.min(pause * 2)
        } else {
            (pause / 2).max(1)
        };
        self.first_pause.set(pause);
        pause
    }
}
