//! Threads that queries compute on. One that has nothing to do is kept for a while: starting one takes as long as a small query,
//! and what a thread keeps of the index (its decoded blocks) would be gone with it.
//!
//! ```text
//!            start: one is idle            start: none is
//!  idle --------------------------> busy <---------------- (new)
//!    ^   the one that was busy last   |
//!    +--------------------------------+ its work ended or panicked
//!    |  nothing to do for a while, or many others are idle: the thread ends
//! ```
//!
//! Work is never queued for a busy thread, so that works which wait for one another cannot block each other.

use crate::error::{QueryError, Result};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// What the threads of queries are called.
pub const NAME: &str = "quadrille-query";
/// How long a thread stays idle.
const IDLE_TIME: Duration = Duration::from_secs(10);
/// More threads than these are not kept.
const IDLE_MAX: usize = 64;

/// What a panicking thread says.
type Panic = Box<dyn Any + Send>;

/// Something to do, and who wants to know how it ended.
struct Work {
    run: Box<dyn FnOnce() + Send>,
    ended: Sender<std::result::Result<(), Panic>>,
}

/// A thread that waits for work.
struct Idle {
    number: u64,
    sender: Sender<Work>,
}

/// The one that was busy last is behind.
static IDLE: Mutex<Vec<Idle>> = Mutex::new(Vec::new());

fn idle() -> MutexGuard<'static, Vec<Idle>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Work that was begun.
#[derive(Debug)]
pub struct Started(Receiver<std::result::Result<(), Panic>>);

impl Started {
    /// Waits for its end.
    ///
    /// # Errors
    /// What it panicked with.
    pub fn join(self) -> std::result::Result<(), Panic> {
        // A thread says how its work ended, whatever happens.
        self.0.recv().unwrap_or(Ok(()))
    }
}

/// Begins some work on a thread of its own.
///
/// # Errors
/// [`QueryError::Thread`] if there is no thread to be had.
pub fn start(run: impl FnOnce() + Send + 'static) -> Result<Started> {
    let (ended, started) = channel();
    let mut work = Work {
        run: Box::new(run),
        ended,
    };
    let thread = idle().pop();
    if let Some(thread) = thread {
        // It listens as long as it may be in the list, and until it has been sent to if it was taken from there.
        match thread.sender.send(work) {
            Ok(()) => return Ok(Started(started)),
            Err(unsent) => work = unsent.0,
        }
    }
    Builder::new()
        .name(NAME.to_owned())
        .spawn(move || serve(work))
        .map_err(QueryError::Thread)?;
    Ok(Started(started))
}

/// Computes something of a few pieces, each but the first on a thread of its own, which may borrow what it needs.
///
/// # Errors
/// The first error, in the sequence of the pieces; [`QueryError::Thread`] if there is no thread to be had.
///
/// # Panics
/// If one of them panics.
pub fn in_parallel<P: Send, T: Send>(
    pieces: Vec<P>,
    compute: impl Fn(P) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let mut pieces = pieces.into_iter();
    let Some(first) = pieces.next() else {
        return Ok(Vec::new());
    };
    std::thread::scope(|scope| {
        let compute = &compute;
        let threads: Vec<_> = pieces
            .map(|piece| {
                Builder::new()
                    .name(NAME.to_owned())
                    .spawn_scoped(scope, move || compute(piece))
                    .map_err(QueryError::Thread)
            })
            .collect();
        let mut results = vec![compute(first)];
        for thread in threads {
            results.push(thread.and_then(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }));
        }
        results.into_iter().collect()
    })
}

/// Does one work after another.
fn serve(first: Work) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Only the numbers must differ.
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let (sender, receiver) = channel();
    let mut next = Some(first);
    while let Some(work) = next {
        let outcome = catch_unwind(AssertUnwindSafe(work.run));
        let is_kept = {
            let mut idle = idle();
            let is_kept = idle.len() < IDLE_MAX;
            if is_kept {
                idle.push(Idle {
                    number,
                    sender: sender.clone(),
                });
            }
            is_kept
        };
        // Who waits for the end may have gone. From here on the thread may be given work.
        drop(work.ended.send(outcome));
        next = if is_kept {
            next_work(number, &receiver)
        } else {
            None
        };
    }
}

/// Waits for work for a thread that is in the list of idle ones; `None` if it waited long enough, and is not in the list any more.
fn next_work(number: u64, receiver: &Receiver<Work>) -> Option<Work> {
    if let Ok(work) = receiver.recv_timeout(IDLE_TIME) {
        return Some(work);
    }
    {
        let mut idle = idle();
        if let Some(place) = idle.iter().position(|thread| thread.number == number) {
            idle.remove(place);
            return None;
        }
    }
    // Whoever took it from the list sends at once.
    receiver.recv().ok()
}

#[cfg(test)]
mod tests {
    use super::start;
    use std::sync::mpsc::channel;
    use std::thread::ThreadId;

    fn thread_of_work() -> ThreadId {
        let (sender, receiver) = channel();
        let started = start(move || sender.send(std::thread::current().id()).expect("a reader"));
        started.expect("a thread").join().expect("no panic");
        receiver.recv().expect("its thread")
    }

    #[test]
    fn a_thread_is_used_again_even_after_a_panic() {
        let first = thread_of_work();
        let known: Vec<ThreadId> = (0..100).map(|_| thread_of_work()).collect();
        // Other tests take threads, too; but surely not all of them each time.
        assert!(known.contains(&first), "{first:?} {known:?}");
        let started = start(|| panic!("on purpose")).expect("a thread");
        let panic = started.join().expect_err("it panicked");
        assert_eq!(panic.downcast_ref(), Some(&"on purpose"));
        thread_of_work();
    }

    #[test]
    fn works_that_wait_for_later_ones_end() {
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..200).map(|_| channel()).unzip();
        let mut earlier = vec![None];
        earlier.extend(senders.into_iter().map(Some));
        let mut started = Vec::new();
        // Each waits for a word of the next one, the last one for nobody.
        for (to_earlier, from_later) in earlier.into_iter().zip(receivers) {
            let is_last = started.len() == 199;
            let work = start(move || {
                if !is_last {
                    let () = from_later.recv().expect("a word");
                }
                if let Some(sender) = to_earlier {
                    sender.send(()).expect("a reader");
                }
            });
            started.push(work.expect("a thread"));
        }
        for work in started {
            work.join().expect("no panic");
        }
    }
}
