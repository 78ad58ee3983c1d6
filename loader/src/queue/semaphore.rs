//! The old way, kept as the baseline of the experiment: one mutex, two condition variables, and a wake for
//! every item that somebody sleeps for. It is here to show what the queue is for, and must stay what it
//! is: no spinning, no hysteresis. What holds always: whoever waits is counted until it
//! has got up again, so that a hand-over makes a system call only then, as with the C library's semaphore.
//!
//! No wake-up is lost because everything, the end of the queue included, is looked at under the
//! mutex, which a waiter gives up only inside the condition variable's wait. (The standard library's
//! mutex itself spins for a hundred rounds before it sleeps; nothing here spins for an item.)

use super::wait::sync::{self, Condvar, Mutex};
use std::collections::VecDeque;
use std::time::Instant;

/// A bounded queue that sleeps and wakes at every turn.
#[derive(Debug)]
pub(super) struct Semaphore<T> {
    state: Mutex<State<T>>,
    not_empty: Condvar,
    not_full: Condvar,
    capacity: usize,
}

#[derive(Debug)]
struct State<T> {
    items: VecDeque<T>,
    consumers_waiting: usize,
    producers_waiting: usize,
}

/// What a call cost beside the hand-over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    /// How often the caller slept.
    pub(super) parks: u64,
    /// How many threads it woke.
    pub(super) wakes: u64,
}

impl<T> Semaphore<T> {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            state: Mutex::new(State {
                items: VecDeque::with_capacity(capacity),
                consumers_waiting: 0,
                producers_waiting: 0,
            }),
            not_empty: Condvar::new(),
            not_full: Condvar::new(),
            capacity,
        }
    }

    pub(super) fn len(&self) -> usize {
        sync::lock(&self.state).items.len()
    }

    /// Pushes, waiting for room until `stop` says so or the deadline comes; gives the item back then.
    /// `stop` is asked when the queue is full.
    pub(super) fn push(
        &self,
        item: T,
        deadline: Option<Instant>,
        stop: impl Fn() -> bool,
    ) -> (Result<(), T>, Cost) {
        let mut cost = Cost::default();
        let mut state = sync::lock(&self.state);
        while state.items.len() >= self.capacity {
            if stop() || sync::is_past(deadline) {
                return (Err(item), cost);
            }
            cost.parks += 1;
            state.producers_waiting += 1;
            state = sync::wait(&self.not_full, state, deadline);
            state.producers_waiting -= 1;
        }
        state.items.push_back(item);
        let wake = state.consumers_waiting > 0;
        drop(state);
        if wake {
            cost.wakes += 1;
            self.not_empty.notify_one();
        }
        (Ok(()), cost)
    }

    /// Pops, waiting for an item until `stop` says so or the deadline comes. `stop` is asked when the queue
    /// is empty.
    pub(super) fn pop(
        &self,
        deadline: Option<Instant>,
        stop: impl Fn() -> bool,
    ) -> (Option<T>, Cost) {
        let mut cost = Cost::default();
        let mut state = sync::lock(&self.state);
        let item = loop {
            if let Some(item) = state.items.pop_front() {
                break item;
            }
            if stop() || sync::is_past(deadline) {
                return (None, cost);
            }
            cost.parks += 1;
            state.consumers_waiting += 1;
            state = sync::wait(&self.not_empty, state, deadline);
            state.consumers_waiting -= 1;
        };
        let wake = state.producers_waiting > 0;
        drop(state);
        if wake {
            cost.wakes += 1;
            self.not_full.notify_one();
        }
        (Some(item), cost)
    }

    /// Wakes everybody, after `stop` has become true.
    pub(super) fn wake_all(&self) {
        // Locked, so that nobody is between its look at `stop` and its sleep.
        drop(sync::lock(&self.state));
        self.not_empty.notify_all();
        self.not_full.notify_all();
    }
}
