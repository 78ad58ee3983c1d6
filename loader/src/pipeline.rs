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
//! An error in the input stops the load: no piece behind it is begun any more, pieces before it are parsed to their
//! ends, and the error that comes first in the input is reported, whatever the threads' timing; of inputs that are
//! read side by side (large ones that are compressed, Turtle or `TriG`, pipes), what has not been read when the first
//! error is met is not looked at. Any other error ends everything at once.

use crate::batch::Batch;
use crate::error::LoadError;
use crate::input::{InputFile, SliceSource, Work};
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

/// Used batches that wait for reuse.
const SPARE_BATCHES: usize = 64;
/// A used batch whose arena has more is freed: twice what fills a batch of ordinary statements.
const SPARE_ARENA_BYTES: usize = 2 << 20;
/// A worker looks at the memory in use once in so many batches.
const BATCHES_PER_LOOK: u64 = 256;

/// What the phase works with.
pub struct Pipeline<'a> {
    /// The input.
    pub source: &'a SliceSource,
    /// Where in it errors stand.
    pub places: &'a InputPlaces,
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
    /// Reads, parses and inserts all of the input, calls `inserted`, and sorts (or spills) what every worker has.
    pub fn run(&self, inserted: impl FnOnce()) -> Result<Gathering, LoadError> {
        let threads = self.options.threads.max(1);
        let inserters = self
            .options
            .inserters
            .unwrap_or(threads / 2)
            .min(threads - 1);
        let (queue, sender, receiver) = Queue::new(
            self.options.queue_batches.max(1),
            self.options.wait,
            threads,
        );
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
                handles.push(scope.spawn(|| {
                    let _guard = AbortOnPanic(&shared.queue);
                    Worker::new(&shared, memory).insert(receiver)
                }));
            }
            for _ in inserters..threads {
                let sender = (inserters > 0).then(|| sender.clone());
                let receiver = receiver.clone();
                handles.push(scope.spawn(|| {
                    let _guard = AbortOnPanic(&shared.queue);
                    Worker::new(&shared, memory).parse(sender, receiver)
                }));
            }
            drop((sender, receiver));
            let joined = handles.into_iter().map(|handle| match handle.join() {
                Ok(part) => part,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            joined.collect::<Vec<Part>>()
        });
        let mut failures = std::mem::take(&mut *shared.lock_failures());
        failures.sort_by_key(|error| self.places.rank(error));
        match failures.into_iter().next() {
            None => {}
            // A worker that was woken by a cancellation knows only that there is nothing more to do.
            Some(LoadError::Stopped) if self.options.cancel.is_cancelled() => {
                return Err(LoadError::Cancelled);
            }
            Some(first) => return Err(first),
        }
        let mut gathering = Gathering {
            queue: (inserters > 0).then(|| shared.queue.report()),
            ..Gathering::default()
        };
        let spilled = parts.iter().any(|part| part.inserter.has_spilled());
        self.peak.look();
        inserted();
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
                handles.push(scope.spawn(move || inserter.finish(spilled, threads)));
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

/// The inputs by name, to tell which of several errors comes first.
pub struct InputPlaces(Vec<(String, u32)>);

impl InputPlaces {
    /// The places of these inputs.
    pub fn new(inputs: &[InputFile]) -> Self {
        Self(
            inputs
                .iter()
                .map(|input| (input.location.name(), input.document))
                .collect(),
        )
    }

    /// Number of the input and line where an error stands; `None` if it is not the input's.
    fn find(&self, error: &LoadError) -> Option<(usize, u64)> {
        match error {
            LoadError::Syntax(reject) => {
                let place = self
                    .0
                    .iter()
                    .position(|(_, document)| *document == reject.document)?;
                Some((place, reject.line))
            }
            // What ends an input comes behind the statements that were read of it.
            LoadError::Io { name, .. }
            | LoadError::Compressed { name, .. }
            | LoadError::Shrank { name, .. }
            | LoadError::LineTooLong { name, .. }
            | LoadError::Input { name, .. } => Some((
                self.0.iter().position(|(known, _)| known == name)?,
                u64::MAX,
            )),
            _ => None,
        }
    }

    /// Errors of the input in their order, then others, and last those that are consequences.
    fn rank(&self, error: &LoadError) -> (usize, u64) {
        match error {
            LoadError::Stopped => (usize::MAX, u64::MAX),
            _ => self.find(error).unwrap_or((usize::MAX, 0)),
        }
    }
}

/// Ends the queue if its thread panics: a parser would wait for ever at a queue whose only inserter has died.
struct AbortOnPanic<'a>(&'a Queue<Batch>);

impl Drop for AbortOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abort();
        }
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
    #[expect(
        clippy::needless_pass_by_value,
        reason = "an end of the queue closes when its worker has ended"
    )]
    fn parse(mut self, sender: Option<Sender<Batch>>, receiver: Receiver<Batch>) -> Part<'a> {
        self.hands.sender = sender;
        while self.parse_piece() {}
        self.hands.sender = None;
        self.drain(&receiver, false);
        self.finish("parser")
    }

    /// Inserts what comes, and parses when nothing does.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "an end of the queue closes when its worker has ended"
    )]
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
        let mut spare = self
            .shared
            .spare
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        spare.pop().unwrap_or_default()
    }

    fn take(&mut self, batch: Batch) -> Result<(), LoadError> {
        if self.shared.pipeline.options.cancel.is_cancelled() {
            return Err(LoadError::Cancelled);
        }
        self.shared
            .pipeline
            .options
            .progress
            .add_statements(batch.quads.len() as u64);
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
        // Who was only told that there is nothing more to do must not end what others still have under way.
        let ends_all =
            self.pipeline.places.find(&error).is_none() && !matches!(error, LoadError::Stopped);
        self.lock_failures().push(error);
        self.stop.store(true, Ordering::Relaxed);
        // Who waits for a slow source must not wait any more; what was handed out already comes before the error.
        self.pipeline.source.stop();
        // After an error in the input, pieces before it are parsed to their ends: one of them may have another. Their
        // batches are still inserted, so that nobody waits at a full queue.
        if ends_all {
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
        // One that a huge literal has swollen goes back to the system.
        if spare.len() < SPARE_BATCHES && batch.arena.capacity() <= SPARE_ARENA_BYTES {
            spare.push(batch);
        }
    }
}
