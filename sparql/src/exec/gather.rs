//! `Gather`: rows that several threads compute, each a part of a scan at a time.
//!
//! ```text
//!   parts of a scan       threads                                    who reads
//!   0 1 2 3 4 5 ...  -->  the operators above the scan, built    --> the messages of part 0,
//!                         anew for each part; then the next part      then those of part 1, ...
//! ```
//!
//! What always holds:
//! * rows come in the sequence of the parts, so that what is sorted without threads is sorted with them;
//! * a part that did not end by itself is an error or a panic where it is read, never its end: a result is not cut short;
//! * what waits to be read is bounded: a thread waits when its part has many messages, or when the part that it would begin is far from
//!   the one that is read. Parts are begun in their sequence, so the part that is read is always one that a thread works on.
//!
//! A part should be small enough to be finished before its turn comes: else all but one thread wait.
//!
//! A hand-over wakes a sleeping reader, which costs as much as computing a few dozen rows. So a message holds many batches,
//! but for the first ones of a part: someone may wait for the first rows.

#[cfg(test)]
mod tests;

use super::batch::Batch;
use super::operator::Operator;
use crate::error::{QueryError, Result};
use quadrille_store::merge::Scan;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Messages of a part that may wait to be read.
const MESSAGES_MAX: usize = 64;
/// Parts that may be begun for each thread before the first of them was read.
const PARTS_AHEAD: usize = 4;
/// The most batches of a message.
const BATCHES_MAX: usize = 16;

/// Makes the operators that read one part.
pub type Build = dyn Fn(Scan) -> Result<Box<dyn Operator>> + Send + Sync;

/// What is to be computed, before it is known what becomes of the rows.
pub struct Pipeline {
    /// One after the other they give all rows of the scan.
    pub parts: Vec<Scan>,
    /// What reads a part.
    pub build: Arc<Build>,
    /// Columns of the rows.
    pub width: usize,
    /// How many threads compute.
    pub threads: usize,
}

/// Makes messages of batches, on the thread that computes them.
pub trait Collect {
    /// A message.
    type Message: Send + 'static;

    /// Takes a batch's rows; gives a message if it is time for one.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn add(&mut self, batch: &mut Batch) -> Result<Option<Self::Message>>;

    /// A message of what is left when a part ends.
    fn finish(&mut self) -> Option<Self::Message>;
}

enum Sent<M> {
    Message(M),
    Failed(QueryError),
    End,
}

/// What threads and reader share.
struct Shared<M> {
    progress: Mutex<Progress<M>>,
    /// Signalled when a part was read, and at the end.
    was_read: Condvar,
    /// Whether nobody reads any more. Set with `progress` locked, so that who waits there does not miss it; read without
    /// it between batches.
    is_stopped: AtomicBool,
}

struct Progress<M> {
    /// Parts that no thread has begun, and where their messages go.
    unclaimed: VecDeque<(Scan, SyncSender<Sent<M>>)>,
    /// Parts that threads have begun.
    claimed: usize,
    /// Parts that were read to their end.
    read: usize,
}

impl<M> Shared<M> {
    fn progress(&self) -> MutexGuard<'_, Progress<M>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next part, as soon as it is at most `ahead` parts from the one that is read.
    fn claim(&self, ahead: usize) -> Option<(Scan, SyncSender<Sent<M>>)> {
        let mut progress = self.progress();
        while progress.claimed >= progress.read + ahead && !self.is_stopped() {
            progress = self
                .was_read
                .wait(progress)
                .unwrap_or_else(PoisonError::into_inner);
        }
        progress.claimed += 1;
        progress
            .unclaimed
            .pop_front()
            .filter(|_| !self.is_stopped())
    }

    fn is_stopped(&self) -> bool {
        // The flag is all that is published.
        self.is_stopped.load(Ordering::Relaxed)
    }
}

/// Messages as threads compute them, in the sequence of the parts. Dropping it stops the threads at their next batch.
pub struct Gathered<M> {
    parts: VecDeque<Receiver<Sent<M>>>,
    threads: Vec<JoinHandle<()>>,
    shared: Arc<Shared<M>>,
}

impl Pipeline {
    /// Begins to compute. Each thread has a collector of its own.
    ///
    /// # Errors
    /// [`QueryError::Thread`] if there is no thread to be had.
    pub fn run<C: Collect>(
        self,
        collector: impl Fn() -> C + Send + Sync + 'static,
    ) -> Result<Gathered<C::Message>> {
        let mut unclaimed = VecDeque::with_capacity(self.parts.len());
        let mut parts = VecDeque::with_capacity(self.parts.len());
        for scan in self.parts {
            let (sender, receiver) = sync_channel(MESSAGES_MAX);
            unclaimed.push_back((scan, sender));
            parts.push_back(receiver);
        }
        let threads = self.threads.min(unclaimed.len());
        let mut gathered = Gathered {
            parts,
            threads: Vec::with_capacity(threads),
            shared: Arc::new(Shared {
                progress: Mutex::new(Progress {
                    unclaimed,
                    claimed: 0,
                    read: 0,
                }),
                was_read: Condvar::new(),
                is_stopped: AtomicBool::new(false),
            }),
        };
        let collector = Arc::new(collector);
        for _ in 0..threads {
            let (shared, build) = (Arc::clone(&gathered.shared), Arc::clone(&self.build));
            let (collector, width) = (Arc::clone(&collector), self.width);
            let work = move || {
                let mut collector = collector();
                while let Some((scan, sender)) = shared.claim(threads * PARTS_AHEAD) {
                    if !part(scan, &sender, &shared, &*build, width, &mut collector) {
                        break;
                    }
                }
            };
            let thread = std::thread::Builder::new()
                .name("quadrille-query".to_owned())
                .spawn(work)
                .map_err(QueryError::Thread)?;
            gathered.threads.push(thread);
        }
        Ok(gathered)
    }
}

/// Computes a part; `false` if there is no need for more.
fn part<C: Collect>(
    scan: Scan,
    sender: &SyncSender<Sent<C::Message>>,
    shared: &Shared<C::Message>,
    build: &Build,
    width: usize,
    collector: &mut C,
) -> bool {
    let rows = || -> Result<bool> {
        let mut operator = build(scan)?;
        let mut batch = Batch::new(width);
        while operator.next(&mut batch)? > 0 {
            if let Some(message) = collector.add(&mut batch)?
                && sender.send(Sent::Message(message)).is_err()
            {
                return Ok(false);
            }
            batch.reset(width);
            if shared.is_stopped() {
                return Ok(false);
            }
        }
        Ok(match collector.finish() {
            Some(message) => sender.send(Sent::Message(message)).is_ok(),
            None => true,
        })
    };
    match rows() {
        Ok(true) => sender.send(Sent::End).is_ok(),
        Ok(false) => false,
        Err(error) => {
            // A reader that has gone does not want to know.
            drop(sender.send(Sent::Failed(error)));
            false
        }
    }
}

impl<M> Gathered<M> {
    /// The next message; `None` at the end.
    ///
    /// # Errors
    /// The first error, in the sequence of the rows, that a thread met. Then nothing more is to be read.
    ///
    /// # Panics
    /// If a thread panicked.
    pub fn next_message(&mut self) -> Result<Option<M>> {
        while let Some(part) = self.parts.front() {
            match part.recv() {
                Ok(Sent::Message(message)) => return Ok(Some(message)),
                Ok(Sent::Failed(error)) => {
                    self.stop();
                    return Err(error);
                }
                Ok(Sent::End) => {
                    self.parts.pop_front();
                    self.shared.progress().read += 1;
                    self.shared.was_read.notify_all();
                }
                Err(_) => {
                    // Its thread ended in the middle of a part, which only a panic does.
                    self.stop();
                    for thread in self.threads.drain(..) {
                        if let Err(panic) = thread.join() {
                            std::panic::resume_unwind(panic);
                        }
                    }
                    unreachable!("a thread ended in the middle of its part");
                }
            }
        }
        Ok(None)
    }

    /// Lets the threads end.
    fn stop(&mut self) {
        self.parts.clear();
        let progress = self.shared.progress();
        self.shared.is_stopped.store(true, Ordering::Relaxed);
        drop(progress);
        self.shared.was_read.notify_all();
    }
}

impl<M> Drop for Gathered<M> {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Collects whole batches.
struct Batches {
    batches: Vec<Batch>,
    /// Batches of the next message.
    wanted: usize,
}

impl Collect for Batches {
    type Message = Vec<Batch>;

    fn add(&mut self, batch: &mut Batch) -> Result<Option<Vec<Batch>>> {
        self.batches.push(std::mem::take(batch));
        if self.batches.len() < self.wanted {
            return Ok(None);
        }
        self.wanted = BATCHES_MAX.min(self.wanted * 2);
        Ok(Some(std::mem::take(&mut self.batches)))
    }

    fn finish(&mut self) -> Option<Vec<Batch>> {
        self.wanted = 1;
        (!self.batches.is_empty()).then(|| std::mem::take(&mut self.batches))
    }
}

/// The rows of a [`Pipeline`] as an operator's.
pub struct Gather {
    /// Until the first rows are asked for.
    pipeline: Option<Pipeline>,
    gathered: Option<Gathered<Vec<Batch>>>,
    batches: std::vec::IntoIter<Batch>,
}

impl Gather {
    /// Computes what the pipeline says when the first rows are asked for.
    pub fn new(pipeline: Pipeline) -> Self {
        Self {
            pipeline: Some(pipeline),
            gathered: None,
            batches: Vec::new().into_iter(),
        }
    }
}

impl Operator for Gather {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        if let Some(pipeline) = self.pipeline.take() {
            self.gathered = Some(pipeline.run(|| Batches {
                batches: Vec::new(),
                wanted: 1,
            })?);
        }
        loop {
            if let Some(batch) = self.batches.next() {
                *output = batch;
                return Ok(output.rows());
            }
            let Some(gathered) = &mut self.gathered else {
                output.clear();
                return Ok(0);
            };
            match gathered.next_message()? {
                Some(batches) => self.batches = batches.into_iter(),
                None => self.gathered = None,
            }
        }
    }

    fn take_pipeline(&mut self) -> Option<Pipeline> {
        self.pipeline.take()
    }
}
