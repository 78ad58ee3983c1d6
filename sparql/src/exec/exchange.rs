//! `exchange`: threads compute parts, divide what comes of each among partitions, and take it up partition by partition.
//!
//! ```text
//!   parts 0 1 2 3 ...   any thread computes a part       pieces, one for each partition
//!                       and takes up what is there:      partition 0   part 0, part 1, ...
//!                                                        partition 1   part 0, part 1, ...
//! ```
//!
//! What always holds:
//! * a partition takes pieces up in the sequence of the parts, so that what it comes to does not depend on which thread was when where;
//! * one thread at a time works on a partition, and nobody waits for one that another works on while there are parts to compute;
//! * pieces wait at most as long as their partition is worked on: after each part its thread takes up whatever nobody else does.
//!
//! The calling thread is one of the threads. An error, or a panic, ends the others at their next part and is the caller's.

use super::threads::NAME;
use crate::error::{QueryError, Result};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, TryLockError};

/// What is done with parts and pieces.
pub trait Exchange: Sync {
    /// Where parts come from.
    type Parts: Send;
    /// What is computed by itself.
    type Part: Send;
    /// What a thread needs for it.
    type Worker;
    /// What a part gives one partition.
    type Piece: Send;
    /// What a partition has come to.
    type State: Send;

    /// The next part, of a sequence; `None` at the end. One thread at a time asks.
    ///
    /// # Errors
    /// Whatever ends all of it.
    fn next_part(&self, parts: &mut Self::Parts) -> Result<Option<Self::Part>>;

    /// Computes a part: a piece for each partition. No further part is begun once [`Exchange::is_full`].
    ///
    /// # Errors
    /// Whatever ends all of it.
    fn compute(
        &self,
        worker: &mut Self::Worker,
        number: usize,
        part: Self::Part,
    ) -> Result<Vec<Self::Piece>>;

    /// Takes a piece up.
    ///
    /// # Errors
    /// Whatever ends all of it.
    fn take_up(&self, state: &mut Self::State, piece: Self::Piece) -> Result<()>;

    /// Makes what a thread needs.
    ///
    /// # Errors
    /// Whatever ends all of it.
    fn worker(&self) -> Result<Self::Worker>;

    /// Whether no further part may be begun.
    fn is_full(&self) -> bool;
}

/// What the partitions have come to, and the parts that were not begun.
pub struct Exchanged<X: Exchange> {
    /// By partition.
    pub states: Vec<X::State>,
    /// Where there may be more of them.
    pub parts: X::Parts,
}

struct Partition<S> {
    state: S,
    /// The part whose piece is taken up next.
    next: usize,
}

/// A part's pieces by partition, once they are there.
type Pieces<P> = Arc<OnceLock<Vec<Mutex<Option<P>>>>>;

/// A part that a thread has begun.
struct Claimed<X: Exchange> {
    number: usize,
    part: X::Part,
    /// Where its pieces go.
    place: Pieces<X::Piece>,
}

struct Shared<'a, X: Exchange> {
    exchange: &'a X,
    /// Parts that no thread has begun.
    unclaimed: Mutex<X::Parts>,
    /// For each part that was begun.
    pieces: RwLock<Vec<Pieces<X::Piece>>>,
    partitions: Vec<Mutex<Partition<X::State>>>,
    /// Threads that compute no further part, or never began.
    done: Mutex<usize>,
    /// Signalled when that are all.
    all_done: Condvar,
    /// The partition that the next thread finishes.
    unfinished: AtomicUsize,
    has_failed: AtomicBool,
    error: Mutex<Option<QueryError>>,
}

/// Computes all parts on so many threads, the caller's included, and gives what becomes of `states`, one for each partition.
///
/// # Errors
/// The first error that a thread met; [`QueryError::Thread`] if there is no thread to be had.
pub fn run<X: Exchange>(
    exchange: &X,
    parts: X::Parts,
    states: impl IntoIterator<Item = X::State>,
    threads: usize,
) -> Result<Exchanged<X>> {
    let threads = threads.max(1);
    let shared = Shared {
        exchange,
        pieces: RwLock::default(),
        unclaimed: Mutex::new(parts),
        partitions: states
            .into_iter()
            .map(|state| Mutex::new(Partition { state, next: 0 }))
            .collect(),
        done: Mutex::new(0),
        all_done: Condvar::new(),
        unfinished: AtomicUsize::new(0),
        has_failed: AtomicBool::new(false),
        error: Mutex::new(None),
    };
    std::thread::scope(|scope| {
        let mut spawned = Vec::with_capacity(threads);
        for number in 1..threads {
            let shared = &shared;
            let work = move || shared.work(number, threads);
            let thread = std::thread::Builder::new()
                .name(NAME.to_owned())
                .spawn_scoped(scope, work);
            match thread {
                Ok(thread) => spawned.push(thread),
                Err(error) => {
                    shared.fail(QueryError::Thread(error));
                    shared.count_done(threads - number, threads);
                    break;
                }
            }
        }
        shared.work(0, threads);
        for thread in spawned {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    if let Some(error) = into_inner(shared.error) {
        return Err(error);
    }
    Ok(Exchanged {
        states: shared
            .partitions
            .into_iter()
            .map(|partition| into_inner(partition).state)
            .collect(),
        parts: into_inner(shared.unclaimed),
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl<X: Exchange> Shared<'_, X> {
    /// What the thread of this number does.
    fn work(&self, number: usize, threads: usize) {
        {
            // Counted even if the thread panics: the others must not wait for it.
            let _done = Done(self, threads);
            if let Err(error) = self.compute(number) {
                self.fail(error);
            }
        }
        self.wait(threads);
        if let Err(error) = self.finish() {
            self.fail(error);
        }
    }

    /// Computes parts until there is none.
    fn compute(&self, number: usize) -> Result<()> {
        let mut worker = self.exchange.worker()?;
        while !self.exchange.is_full() && !self.has_failed() {
            let Some(claimed) = self.claim()? else {
                break;
            };
            let Claimed {
                number: part_number,
                part,
                place,
            } = claimed;
            let pieces = self.exchange.compute(&mut worker, part_number, part)?;
            let pieces = pieces.into_iter().map(|piece| Mutex::new(Some(piece)));
            if place.set(pieces.collect()).is_err() {
                unreachable!("a part is computed once");
            }
            self.take_up_some(number)?;
        }
        Ok(())
    }

    /// The next part.
    fn claim(&self) -> Result<Option<Claimed<X>>> {
        let mut unclaimed = lock(&self.unclaimed);
        let Some(part) = self.exchange.next_part(&mut unclaimed)? else {
            return Ok(None);
        };
        let place = Pieces::default();
        let mut pieces = self.pieces.write().unwrap_or_else(PoisonError::into_inner);
        pieces.push(Arc::clone(&place));
        Ok(Some(Claimed {
            number: pieces.len() - 1,
            part,
            place,
        }))
    }

    /// The pieces of a part, if they are there.
    fn pieces(&self, part: usize) -> Option<Pieces<X::Piece>> {
        let pieces = self.pieces.read().unwrap_or_else(PoisonError::into_inner);
        pieces
            .get(part)
            .filter(|pieces| pieces.get().is_some())
            .cloned()
    }

    /// Takes up what is there for partitions that nobody else works on.
    fn take_up_some(&self, number: usize) -> Result<()> {
        let count = self.partitions.len();
        for at in 0..count {
            // Each thread begins at another one.
            let place = (at + number * count / 4 + number) % count;
            match self.partitions[place].try_lock() {
                Ok(mut partition) => self.take_up(place, &mut partition)?,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Poisoned(_)) => return Ok(()),
            }
        }
        Ok(())
    }

    /// Takes up the pieces of a partition as far as there are some.
    fn take_up(&self, place: usize, partition: &mut Partition<X::State>) -> Result<()> {
        while let Some(pieces) = self.pieces(partition.next) {
            partition.next += 1;
            let piece = pieces.get().and_then(|pieces| lock(&pieces[place]).take());
            if let Some(piece) = piece {
                self.exchange.take_up(&mut partition.state, piece)?;
            }
        }
        Ok(())
    }

    /// Waits until no thread computes a part.
    fn wait(&self, threads: usize) {
        let mut done = lock(&self.done);
        while *done < threads {
            done = self
                .all_done
                .wait(done)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes up what is left, once no more is computed.
    fn finish(&self) -> Result<()> {
        while !self.has_failed() {
            // Who gets a number, gets the partition.
            let place = self.unfinished.fetch_add(1, Ordering::Relaxed);
            let Some(partition) = self.partitions.get(place) else {
                break;
            };
            self.take_up(place, &mut lock(partition))?;
        }
        Ok(())
    }

    fn has_failed(&self) -> bool {
        // The error has a lock of its own.
        self.has_failed.load(Ordering::Relaxed)
    }

    fn fail(&self, error: QueryError) {
        lock(&self.error).get_or_insert(error);
        self.has_failed.store(true, Ordering::Relaxed);
    }

    fn count_done(&self, count: usize, threads: usize) {
        let mut done = lock(&self.done);
        *done += count;
        if *done >= threads {
            self.all_done.notify_all();
        }
    }
}

/// Counts a thread that computes no further part when it is dropped.
struct Done<'a, 'b, X: Exchange>(&'a Shared<'b, X>, usize);

impl<X: Exchange> Drop for Done<'_, '_, X> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.has_failed.store(true, Ordering::Relaxed);
        }
        self.0.count_done(1, self.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts are numbers; a partition gets those of its remainder, and lists them.
    struct Listing {
        fails: Option<usize>,
        panics: Option<usize>,
        full: Option<usize>,
        is_full: AtomicBool,
    }

    const PARTITIONS: usize = 5;

    impl Exchange for Listing {
        type Parts = std::ops::Range<usize>;
        type Part = usize;
        type Worker = ();
        type Piece = Vec<usize>;
        type State = Vec<usize>;

        fn worker(&self) -> Result<()> {
            Ok(())
        }

        fn next_part(&self, parts: &mut std::ops::Range<usize>) -> Result<Option<usize>> {
            Ok(parts.next())
        }

        fn compute(&self, (): &mut (), number: usize, part: usize) -> Result<Vec<Vec<usize>>> {
            assert_eq!(number, part);
            assert!(self.panics != Some(part), "as it was told");
            if self.fails == Some(part) {
                return Err(QueryError::Cancelled);
            }
            if self.full == Some(part) {
                self.is_full.store(true, Ordering::Relaxed);
            }
            if part.is_multiple_of(7) {
                std::thread::yield_now();
            }
            let numbers = part * 10..part * 10 + 10;
            Ok((0..PARTITIONS)
                .map(|partition| {
                    let of_partition = |number: &usize| number % PARTITIONS == partition;
                    numbers.clone().filter(of_partition).collect()
                })
                .collect())
        }

        fn take_up(&self, state: &mut Vec<usize>, piece: Vec<usize>) -> Result<()> {
            state.extend(piece);
            Ok(())
        }

        fn is_full(&self) -> bool {
            self.is_full.load(Ordering::Relaxed)
        }
    }

    fn listing() -> Listing {
        Listing {
            fails: None,
            panics: None,
            full: None,
            is_full: AtomicBool::new(false),
        }
    }

    #[test]
    fn partitions_take_pieces_up_in_the_sequence_of_the_parts() {
        for threads in [1, 2, 3, 8] {
            for parts in [0, 1, 2, 100] {
                let states = vec![Vec::new(); PARTITIONS];
                let exchanged = run(&listing(), 0..parts, states, threads).expect("no error");
                for (partition, state) in exchanged.states.into_iter().enumerate() {
                    let expected: Vec<usize> = (0..parts * 10)
                        .filter(|number| number % PARTITIONS == partition)
                        .collect();
                    assert_eq!(state, expected, "{threads} threads, {parts} parts");
                }
            }
        }
    }

    #[test]
    fn an_error_ends_all() {
        for threads in [1, 2, 8] {
            let failing = Listing {
                fails: Some(31),
                ..listing()
            };
            let result = run(&failing, 0..100, vec![Vec::new(); PARTITIONS], threads);
            assert!(matches!(result.map(drop), Err(QueryError::Cancelled)));
        }
    }

    #[test]
    fn a_panic_is_the_callers() {
        for threads in [1, 2, 8] {
            let panicking = Listing {
                panics: Some(31),
                ..listing()
            };
            let result = std::panic::catch_unwind(|| {
                run(&panicking, 0..100, vec![Vec::new(); PARTITIONS], threads).map(drop)
            });
            assert!(result.is_err(), "{threads} threads");
        }
    }

    #[test]
    fn parts_that_were_not_begun_are_given_back() {
        for threads in [1, 2, 8] {
            let full = Listing {
                full: Some(31),
                ..listing()
            };
            let states = vec![Vec::new(); PARTITIONS];
            let exchanged = run(&full, 0..100, states, threads).expect("no error");
            let begun = 100 - exchanged.parts.len();
            assert!(begun >= 32);
            assert_eq!(exchanged.parts, begun..100);
            let taken_up: usize = exchanged.states.iter().map(Vec::len).sum();
            assert_eq!(taken_up, begun * 10, "{threads} threads");
        }
    }
}
