//! `Gather`: rows that several threads compute, each a part at a time: of a scan mostly, or of rows that lie in memory.
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
//! * what waits to be read is bounded: a thread waits when its part has many messages, when the part that it would begin is far from
//!   the one that is read, or when all that waits takes a good part of the query's memory, in which it is counted, unless its part is the one
//!   that is read. Parts are begun in their sequence, so the part that is read is always one that a thread works on, or has ended.
//!
//! A part should be small enough to be finished before its turn comes: else all but one thread wait.
//!
//! A hand-over wakes a sleeping reader, which costs as much as computing a few dozen rows. So a message holds many batches,
//! but for the first ones of a part: someone may wait for the first rows.

#[cfg(test)]
mod tests;

use super::batch::Batch;
use super::control::Control;
use super::memory::Reservation;
use super::operator::Operator;
use super::threads::{Started, start};
use crate::error::{QueryError, Result};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Messages of a part that may wait to be read.
const MESSAGES_MAX: usize = 64;
/// Parts that may be begun for each thread before the first of them was read.
const PARTS_AHEAD: usize = 4;
/// The most batches of a message.
const BATCHES_MAX: usize = 16;
/// The part of the query's memory that what waits may take.
const WAITING_SHARE: u64 = 8;

/// Makes the operator that gives a part's rows, on the thread that computes them.
pub type Part = Box<dyn FnOnce() -> Result<Box<dyn Operator>> + Send>;

/// What is to be computed, before it is known what becomes of the rows.
pub struct Pipeline {
    /// One after the other they give all rows.
    pub parts: Vec<Part>,
    /// Columns of the rows.
    pub width: usize,
    /// How many threads compute.
    pub threads: usize,
    /// What stops them, and has the memory for what waits to be read.
    pub control: Arc<Control>,
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

    /// The memory that a message takes, in bytes.
    fn bytes(message: &Self::Message) -> u64;
}

enum Sent<M> {
    /// With the bytes that it takes.
    Message(M, u64),
    Failed(QueryError),
    End,
}

/// What threads and reader share.
struct Shared<M> {
    progress: Mutex<Progress<M>>,
    /// Bytes that may wait before only the part that is read goes on.
    waiting_bytes_max: u64,
    /// Signalled when a part was read, when less waits, and at the end.
    was_read: Condvar,
    /// Whether nobody reads any more. Set with `progress` locked, so that who waits there does not miss it; read without
    /// it between batches.
    is_stopped: AtomicBool,
}

struct Progress<M> {
    /// Parts that no thread has begun, and where their messages go.
    unclaimed: VecDeque<(Part, SyncSender<Sent<M>>)>,
    /// Parts that threads have begun.
    claimed: usize,
    /// Parts that were read to their end.
    read: usize,
    /// What messages that wait take.
    waiting: Reservation,
}

impl<M> Shared<M> {
    fn progress(&self) -> MutexGuard<'_, Progress<M>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next part and its number, as soon as it is at most `ahead` parts from the one that is read.
    fn claim(&self, ahead: usize) -> Option<(usize, Part, SyncSender<Sent<M>>)> {
        let mut progress = self.progress();
        while progress.claimed >= progress.read + ahead && !self.is_stopped() {
            progress = self
                .was_read
                .wait(progress)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let number = progress.claimed;
        progress.claimed += 1;
        let (part, sender) = progress.unclaimed.pop_front()?;
        (!self.is_stopped()).then_some((number, part, sender))
    }

    /// Sends a message of a part once there is room for it; `false` if nobody reads it.
    fn send(&self, part: usize, sender: &SyncSender<Sent<M>>, message: M, bytes: u64) -> bool {
        let mut progress = self.progress();
        while progress.waiting.bytes() > self.waiting_bytes_max
            && progress.read < part
            && !self.is_stopped()
        {
            progress = self
                .was_read
                .wait(progress)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let waiting = progress.waiting.bytes();
        progress.waiting.resize(waiting + bytes);
        drop(progress);
        sender.send(Sent::Message(message, bytes)).is_ok()
    }

    /// Notes that a message was read.
    fn has_read(&self, bytes: u64) {
        let mut progress = self.progress();
        let waiting = progress.waiting.bytes();
        progress.waiting.resize(waiting - bytes);
        drop(progress);
        if waiting > self.waiting_bytes_max {
            self.was_read.notify_all();
        }
    }

    fn is_stopped(&self) -> bool {
        // The flag is all that is published.
        self.is_stopped.load(Ordering::Relaxed)
    }
}

/// Messages as threads compute them, in the sequence of the parts. Dropping it stops the threads at their next batch.
pub struct Gathered<M> {
    parts: VecDeque<Receiver<Sent<M>>>,
    threads: Vec<Started>,
    shared: Arc<Shared<M>>,
}

impl Pipeline {
    /// The same with an operator above that of each part, for rows of `width` columns.
    #[must_use]
    pub fn map(
        self,
        width: usize,
        above: impl Fn(Box<dyn Operator>) -> Box<dyn Operator> + Send + Sync + 'static,
    ) -> Self {
        let above = Arc::new(above);
        let parts = self.parts.into_iter().map(|part| {
            let above = Arc::clone(&above);
            Box::new(move || Ok(above(part()?))) as Part
        });
        Self {
            parts: parts.collect(),
            width,
            threads: self.threads,
            control: self.control,
        }
    }

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
        for part in self.parts {
            let (sender, receiver) = sync_channel(MESSAGES_MAX);
            unclaimed.push_back((part, sender));
            parts.push_back(receiver);
        }
        let threads = self.threads.min(unclaimed.len());
        let memory = self.control.memory();
        let mut gathered = Gathered {
            parts,
            threads: Vec::with_capacity(threads),
            shared: Arc::new(Shared {
                progress: Mutex::new(Progress {
                    unclaimed,
                    claimed: 0,
                    read: 0,
                    waiting: Reservation::passing(memory),
                }),
                waiting_bytes_max: memory.limit() / WAITING_SHARE,
                was_read: Condvar::new(),
                is_stopped: AtomicBool::new(false),
            }),
        };
        let collector = Arc::new(collector);
        for _ in 0..threads {
            let (shared, width) = (Arc::clone(&gathered.shared), self.width);
            let collector = Arc::clone(&collector);
            let work = move || {
                let mut collector = collector();
                while let Some((number, part, sender)) = shared.claim(threads * PARTS_AHEAD) {
                    let send = |message: C::Message| {
                        let bytes = C::bytes(&message);
                        shared.send(number, &sender, message, bytes)
                    };
                    match compute(part, send, &shared, width, &mut collector) {
                        Ok(true) if sender.send(Sent::End).is_ok() => {}
                        Ok(_) => break,
                        Err(error) => {
                            // A reader that has gone does not want to know.
                            drop(sender.send(Sent::Failed(error)));
                            break;
                        }
                    }
                }
            };
            gathered.threads.push(start(work)?);
        }
        Ok(gathered)
    }
}

/// Computes a part; `false` if there is no need for more.
fn compute<C: Collect>(
    part: Part,
    send: impl Fn(C::Message) -> bool,
    shared: &Shared<C::Message>,
    width: usize,
    collector: &mut C,
) -> Result<bool> {
    let mut operator = part()?;
    let mut batch = Batch::new(width);
    while operator.next(&mut batch)? > 0 {
        if let Some(message) = collector.add(&mut batch)?
            && !send(message)
        {
            return Ok(false);
        }
        batch.reset(width);
        if shared.is_stopped() {
            return Ok(false);
        }
    }
    Ok(collector.finish().is_none_or(send))
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
                Ok(Sent::Message(message, bytes)) => {
                    self.shared.has_read(bytes);
                    return Ok(Some(message));
                }
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

    fn bytes(message: &Vec<Batch>) -> u64 {
        message.iter().map(Batch::bytes).sum()
    }
}

/// How rows are computed.
pub enum Begun {
    /// By threads.
    Divided(Pipeline),
    /// By the caller alone, because what threads would share does not fit in memory.
    Serial(Box<dyn Operator>),
}

/// Decides how rows are computed, and prepares what threads share.
pub type Begin = Box<dyn FnOnce() -> Result<Begun> + Send>;

/// The rows of a [`Pipeline`] as an operator's.
pub struct Gather {
    state: State,
    batches: std::vec::IntoIter<Batch>,
}

enum State {
    /// Nothing was asked for yet.
    Waiting(Begin),
    Running(Gathered<Vec<Batch>>),
    Serial(Box<dyn Operator>),
    Ended,
}

impl Gather {
    /// Computes what the pipeline says when the first rows are asked for.
    pub fn new(pipeline: Pipeline) -> Self {
        Self::beginning(Box::new(|| Ok(Begun::Divided(pipeline))))
    }

    /// The same where it turns out then how rows are computed.
    pub fn beginning(begin: Begin) -> Self {
        Self {
            state: State::Waiting(begin),
            batches: Vec::new().into_iter(),
        }
    }
}

impl Operator for Gather {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        loop {
            if let Some(mut batch) = self.batches.next() {
                output.take_rows(&mut batch);
                return Ok(output.rows());
            }
            // An error ends the operator.
            match std::mem::replace(&mut self.state, State::Ended) {
                State::Waiting(begin) => {
                    self.state = match begin()? {
                        Begun::Divided(pipeline) => State::Running(pipeline.run(|| Batches {
                            batches: Vec::new(),
                            wanted: 1,
                        })?),
                        Begun::Serial(operator) => State::Serial(operator),
                    };
                }
                State::Running(mut gathered) => {
                    if let Some(batches) = gathered.next_message()? {
                        self.batches = batches.into_iter();
                        self.state = State::Running(gathered);
                    }
                }
                State::Serial(mut operator) => {
                    let rows = operator.next(output)?;
                    self.state = State::Serial(operator);
                    return Ok(rows);
                }
                State::Ended => {
                    output.clear();
                    return Ok(0);
                }
            }
        }
    }

    fn take_pipeline(&mut self) -> Result<Option<Pipeline>> {
        let state = std::mem::replace(&mut self.state, State::Ended);
        let State::Waiting(begin) = state else {
            self.state = state;
            return Ok(None);
        };
        match begin()? {
            Begun::Divided(pipeline) => Ok(Some(pipeline)),
            Begun::Serial(operator) => {
                self.state = State::Serial(operator);
                Ok(None)
            }
        }
    }
}
