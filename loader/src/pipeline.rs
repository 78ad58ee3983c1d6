//! The first phase: threads that read, parse and insert.
//!
//! ```text
//!            claims             batches, bounded queue
//! source --------------> parser ----------------------> inserter -> its own runs
//!    |                     | queue full: inserts the batch itself -> its own runs
//!    '--------------------------------------------------> inserter
//!                            queue empty: parses a piece itself
//! ```
//!
//! Every worker has a home, parsing or inserting, and does the other work rather than wait. So no thread
//! sleeps while there is something to do, and how fast one end is in comparison with the other decides only
//! how often its threads help. Threads wait at the queue when there is nothing else: inserters at the
//! end of the input, or while a slow source (a pipe, a decompressor) is behind.
//!
//! An error stops the load: no piece behind it is begun any more, pieces before it are parsed to their ends, and
//! the error that comes first in the input is reported, whatever the threads' timing.

use crate::batch::Batch;
use crate::error::LoadError;
use crate::input::{SliceSource, Work};
use crate::insert::Inserter;
use crate::memory::PeakMemory;
use crate::options::{LoadOptions, OnError};
use crate::parse::{BatchSink, ParseCounts, ParseOptions, Reject, StatementParser};
use crate::queue::{Queue, QueueReport, Receiver, Sender, ThreadUsage, TryReceive, TrySendError};
use crate::rejects::Rejects;
use crate::report::ThreadReport;
use crate::run::{Run, Temporary};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Used batches that wait for reuse.
const SPARE_BATCHES: usize = 64;
/// A worker looks at the memory in use once in so many batches.
const BATCHES_PER_LOOK: u64 = 256;

/// What the phase works with.
pub struct Pipeline<'a> {
    /// The input.
    pub source: &'a SliceSource,
    /// How statements are parsed.
    pub parse: ParseOptions,
    /// The load's options.
    pub options: &'a LoadOptions,
    /// Takes statements that are left out.
    pub rejects: &'a Rejects,
    /// Where spilled runs go.
    pub temporary: Temporary<'a>,
    /// Bytes that all inserters together may hold.
    pub memory: usize,
    /// Watches the memory in use.
    pub peak: &'a PeakMemory,
}

/// What the phase gives to the next.
#[derive(Default)]
pub struct Gathering {
    /// What every worker gathered.
    pub runs: Vec<Run>,
    /// Counts of all pieces.
    pub counts: ParseCounts,
    /// Prefixes that documents declared.
    pub prefixes: BTreeMap<String, String>,
    /// Each worker.
    pub threads: Vec<ThreadReport>,
    /// The queue's counters.
    pub queue: Option<QueueReport>,
    /// Wall time until the last batch was inserted; sorting the vocabularies comes after it.
    pub inserted_after: Duration,
}

/// A worker's part of a [`Gathering`].
struct Part<'a> {
    inserter: Inserter<'a>,
    counts: ParseCounts,
    prefixes: BTreeMap<String, String>,
    thread: ThreadReport,
}

/// What all workers share.
struct Shared<'a> {
    pipeline: &'a Pipeline<'a>,
    queue: Queue<Batch>,
    spare: Mutex<Vec<Batch>>,
    failures: Mutex<Vec<LoadError>>,
    stop: AtomicBool,
}

impl Pipeline<'_> {
    /// Reads, parses and inserts all of the input.
    pub fn run(&self) -> Result<Gathering, LoadError> {
        let began = Instant::now();
        let threads = self.options.threads.max(1);
        let inserters = self.options.inserters.unwrap_or(threads / 2).min(threads - 1);
        let (queue, sender, receiver) =
            Queue::new(self.options.queue_batches.max(1), self.options.wait, threads);
        let shared = Shared {
            pipeline: self,
            queue,
            spare: Mutex::default(),
            failures: Mutex::default(),
            stop: AtomicBool::new(false),
        };
        let memory = self.memory / threads;
        let mut parts = std::thread::scope(|scope| {
            let mut handles = Vec::with_capacity(threads);
            for _ in 0..inserters {
                let receiver = receiver.clone();
                handles.push(scope.spawn(|| Worker::new(&shared, memory).insert(receiver)));
            }
            for _ in inserters..threads {
                let sender = (inserters > 0).then(|| sender.clone());
                let receiver = receiver.clone();
                handles.push(scope.spawn(|| Worker::new(&shared, memory).parse(sender, receiver)));
            }
            drop((sender, receiver));
            let joined = handles.into_iter().map(|handle| match handle.join() {
                Ok(part) => part,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            joined.collect::<Vec<Part>>()
        });
        let mut failures = std::mem::take(&mut *shared.lock_failures());
        failures.sort_by_key(place_in_input);
        if let Some(first) = failures.into_iter().next() {
            return Err(first);
        }
        let mut gathering = Gathering {
            queue: (inserters > 0).then(|| shared.queue.report()),
            inserted_after: began.elapsed(),
            ..Gathering::default()
        };
        let spilled = parts.iter().any(|part| part.inserter.has_spilled());
        self.peak.look();
        // Vocabularies are sorted (or spilled) side by side.
        let finished = std::thread::scope(|scope| {
            let mut handles = Vec::with_capacity(parts.len());
            for part in parts.drain(..) {
                gathering.counts += part.counts;
                for (prefix, iri) in part.prefixes {
                    gathering.prefixes.entry(prefix).or_insert(iri);
                }
                gathering.threads.push(part.thread);
                let inserter = part.inserter;
                handles.push(scope.spawn(move || inserter.finish(spilled)));
            }
            let joined = handles.into_iter().map(|handle| match handle.join() {
                Ok(runs) => runs,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            joined.collect::<Result<Vec<_>, LoadError>>()
        })?;
        gathering.runs = finished.into_iter().flatten().collect();
        Ok(gathering)
    }
}

/// Where in the input an error stands; those that stand nowhere come behind it.
fn place_in_input(error: &LoadError) -> (u32, u64) {
    match error {
        LoadError::Syntax(reject) => (reject.document, reject.line),
        LoadError::Stopped => (u32::MAX, u64::MAX),
        _ => (u32::MAX, 0),
    }
}

/// One thread.
struct Worker<'a> {
    shared: &'a Shared<'a>,
    parser: StatementParser,
    hands: Hands<'a>,
    counts: ParseCounts,
    pieces_parsed: u64,
    usage_before: ThreadUsage,
}

/// What a worker does with a batch; apart from the parser, which fills batches meanwhile.
struct Hands<'a> {
    shared: &'a Shared<'a>,
    inserter: Inserter<'a>,
    sender: Option<Sender<Batch>>,
    inserted: u64,
    kept: u64,
}

impl<'a> Worker<'a> {
    fn new(shared: &'a Shared<'a>, memory: usize) -> Self {
        Self {
            shared,
            parser: StatementParser::new(shared.pipeline.parse.clone()),
            hands: Hands {
                shared,
                inserter: Inserter::new(shared.pipeline.temporary, memory),
                sender: None,
                inserted: 0,
                kept: 0,
            },
            counts: ParseCounts::default(),
            pieces_parsed: 0,
            usage_before: ThreadUsage::now().unwrap_or_default(),
        }
    }

    /// Parses while there is input, then inserts what is left in the queue.
    fn parse(mut self, sender: Option<Sender<Batch>>, receiver: Receiver<Batch>) -> Part<'a> {
        self.hands.sender = sender;
        while self.parse_piece() {}
        self.hands.sender = None;
        self.drain(&receiver, false);
        self.finish("parser")
    }

    /// Inserts what comes, and parses when nothing does.
    fn insert(mut self, receiver: Receiver<Batch>) -> Part<'a> {
        self.drain(&receiver, self.shared.pipeline.options.help);
        self.finish("inserter")
    }

    fn drain(&mut self, receiver: &Receiver<Batch>, mut help: bool) {
        loop {
            let batch = match receiver.try_receive() {
                TryReceive::Item(batch) => batch,
                TryReceive::Closed => break,
                TryReceive::Empty if help => {
                    help = self.parse_piece();
                    continue;
                }
                TryReceive::Empty => match receiver.receive() {
                    Some(batch) => batch,
                    None => break,
                },
            };
            if let Err(error) = self.hands.insert(batch) {
                self.shared.fail(error);
                break;
            }
        }
    }

    /// Claims and parses a piece of the input; says whether there may be another.
    fn parse_piece(&mut self) -> bool {
        if self.shared.must_stop() {
            return false;
        }
        let parsed = match self.shared.pipeline.source.next_work() {
            Ok(None) => return false,
            Ok(Some(work)) => self.parse_work(work),
            Err(error) => Err(error),
        };
        match parsed {
            Ok(()) => true,
            Err(error) => {
                self.shared.fail(error);
                false
            }
        }
    }

    fn parse_work(&mut self, work: Work) -> Result<(), LoadError> {
        let counts = self.parser.parse(work, &mut self.hands)?;
        self.counts += counts;
        self.pieces_parsed += 1;
        Ok(())
    }

    fn finish(self, role: &'static str) -> Part<'a> {
        let usage = ThreadUsage::now().unwrap_or_default() - self.usage_before;
        Part {
            counts: self.counts,
            prefixes: self.parser.prefixes().clone(),
            thread: ThreadReport {
                role,
                pieces_parsed: self.pieces_parsed,
                batches_inserted: self.hands.inserted,
                batches_kept: self.hands.kept,
                usage,
            },
            inserter: self.hands.inserter,
        }
    }
}

impl Hands<'_> {
    fn insert(&mut self, batch: Batch) -> Result<(), LoadError> {
        self.inserter.insert(&batch)?;
        self.inserted += 1;
        if self.inserted.is_multiple_of(BATCHES_PER_LOOK) {
            self.shared.pipeline.peak.look();
        }
        self.shared.give_back(batch);
        Ok(())
    }
}

impl BatchSink for Hands<'_> {
    fn fresh(&mut self) -> Batch {
        let mut spare = self.shared.spare.lock().unwrap_or_else(PoisonError::into_inner);
        spare.pop().unwrap_or_default()
    }

    fn take(&mut self, batch: Batch) -> Result<(), LoadError> {
        if self.shared.pipeline.options.cancel.is_cancelled() {
            return Err(LoadError::Cancelled);
        }
        self.shared.pipeline.options.progress.add_statements(batch.quads.len() as u64);
        let Some(sender) = &self.sender else {
            self.kept += 1;
            return self.insert(batch);
        };
        if !self.shared.pipeline.options.help {
            return sender.send(batch).map_err(|_| LoadError::Stopped);
        }
        match sender.try_send(batch) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(batch)) => {
                self.kept += 1;
                self.insert(batch)
            }
            Err(TrySendError::Closed(_)) => Err(LoadError::Stopped),
        }
    }

    fn reject(&mut self, reject: Reject) -> Result<(), LoadError> {
        match self.shared.pipeline.options.on_error {
            OnError::Stop => Err(LoadError::Syntax(Box::new(reject))),
            OnError::Skip => self.shared.pipeline.rejects.take(reject),
        }
    }
}

impl Shared<'_> {
    /// Whether no further piece is to be begun.
    fn must_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn fail(&self, error: LoadError) {
        let syntax = matches!(error, LoadError::Syntax(_));
        self.lock_failures().push(error);
        self.stop.store(true, Ordering::Relaxed);
        // After a bad statement, pieces before it are parsed to their ends: one of them may have another. Their
        // batches are still inserted, so that nobody waits at a full queue.
        if !syntax {
            self.queue.abort();
        }
    }

    fn lock_failures(&self) -> MutexGuard<'_, Vec<LoadError>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a batch for reuse; its slice goes back at once.
    fn give_back(&self, mut batch: Batch) {
        batch.clear();
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < SPARE_BATCHES {
            spare.push(batch);
        }
    }
}
