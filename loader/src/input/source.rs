//! [`SliceSource`]: the inputs of a load as pieces of work, claimed by any number of parser threads.
//!
//! Inputs are begun in their order. What a thread gets under the lock is a claim alone: a range of a plain file, or
//! a slice that is ready; reading and waiting happen outside it. Streams are cut by a thread of their own,
//! which is never more than a few slices ahead; a few of them run side by side, since decompressing is slower
//! than parsing.

use crate::error::{LoadError, Result};
use crate::input::decompress::{Decompressing, SNIFF_BYTES, sniff};
use crate::input::relay::Relay;
use crate::input::slices::{LineCutter, Origin, Pool, RangeFile, Slice};
use crate::input::terse_cutter::{Beginning, TerseCutter};
use crate::input::{Compression, Format, InputFile, InputOptions, Location};
use crossbeam_channel::{Receiver, Select, Sender, TryRecvError, bounded};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Inputs up to this many stored bytes are not cut but read whole by the thread that claims them: many small
/// files are parsed side by side, without a thread for each.
const SMALL_INPUT_BYTES: u64 = 256 * 1024;

/// Streams that run side by side at most.
const STREAMS_MAX: usize = 4;

/// How far the reading of a load has come; shared with whoever displays it.
#[derive(Debug, Default)]
pub struct Progress {
    read: AtomicU64,
    total: AtomicU64,
    open_ended: AtomicBool,
    files: AtomicU64,
}

impl Progress {
    /// Stored (compressed) bytes read so far.
    pub fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Stored bytes there are, or `None` if some input's length is not known (standard input).
    pub fn total(&self) -> Option<u64> {
        let open_ended = self.open_ended.load(Ordering::Relaxed);
        (!open_ended).then(|| self.total.load(Ordering::Relaxed))
    }

    /// Inputs begun so far.
    pub fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }

    pub(crate) fn add_read(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A piece of work for a parser.
#[derive(Debug)]
pub enum Work {
    /// Whole lines of N-Triples or N-Quads, or whole statements of Turtle or `TriG`.
    Slice(Arc<Slice>),
    /// A document that is read from one end to the other by one thread.
    Document(Document),
}

/// A document that is read from one end to the other by one thread, decompressed on the way.
pub struct Document {
    pub(crate) origin: Arc<Origin>,
    pub(crate) reader: Box<dyn Read + Send>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) options: InputOptions,
    /// Where it begins, if it is not a whole document but the rest of one of Turtle or `TriG`.
    pub(crate) rest: Option<Beginning>,
}

impl Document {
    /// The number of the document, the scope of its blank nodes.
    pub fn document(&self) -> u32 {
        self.origin.document
    }

    /// The syntax.
    pub fn format(&self) -> Format {
        self.origin.format
    }

    /// The file's name for messages.
    pub fn name(&self) -> &str {
        &self.origin.name
    }

    /// The document cut into lines.
    pub(crate) fn into_lines(self) -> LineCutter<Box<dyn Read + Send>> {
        LineCutter::new(self.reader, self.origin, self.pool, &self.options)
    }

    /// The document cut into statements of Turtle or `TriG`.
    pub(crate) fn into_statements(self) -> TerseCutter {
        TerseCutter::new(self.reader, self.origin, self.pool, &self.options)
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("name", &self.origin.name)
            .field("format", &self.origin.format)
            .finish_non_exhaustive()
    }
}

/// The inputs of a load as pieces of work.
pub struct SliceSource {
    state: Mutex<State>,
    options: InputOptions,
    pool: Arc<Pool>,
    progress: Arc<Progress>,
    /// Never sends; closes when the source is stopped, which wakes all that wait.
    streams_max: usize,
    stopped: Receiver<Infallible>,
    stop: Mutex<Option<Sender<Infallible>>>,
}

struct State {
    waiting: VecDeque<InputFile>,
    /// A plain file, and its next range.
    ranges: Option<(Arc<RangeFile>, u64)>,
    streams: Vec<Stream>,
}

/// The receiving end of a reader thread.
struct Stream {
    receiver: Receiver<Result<Work>>,
    /// Set by the reader when it has sent its last slice or an error: a channel that closes without is a
    /// reader that died, which must not look like the end of the input.
    finished: Arc<AtomicBool>,
    name: Arc<str>,
}

/// What a thread takes away from the lock.
enum Claim {
    Range(Arc<RangeFile>, u64),
    Ready(Work),
    /// Nothing is ready; these streams go on.
    Wait(Vec<Receiver<Result<Work>>>),
    End,
}

impl SliceSource {
    /// A source of these inputs, in this order.
    pub fn new(inputs: Vec<InputFile>, options: &InputOptions) -> Self {
        let progress = Progress::default();
        for input in &inputs {
            match input.length {
                Some(length) => {
                    progress.total.fetch_add(length, Ordering::Relaxed);
                }
                None => progress.open_ended.store(true, Ordering::Relaxed),
            }
        }
        let (stop, stopped) = bounded(0);
        Self {
            streams_max: std::thread::available_parallelism()
                .map_or(1, |cores| cores.get().min(STREAMS_MAX)),
            stopped,
            stop: Mutex::new(Some(stop)),
            state: Mutex::new(State {
                waiting: inputs.into(),
                ranges: None,
                streams: Vec::new(),
            }),
            options: options.clone(),
            pool: Pool::new(options.slice_size.max(1)),
            progress: Arc::new(progress),
        }
    }

    /// How far the reading has come.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Ends the source: who waits for work, and who asks for it from now on, gets [`LoadError::Stopped`].
    pub fn stop(&self) {
        drop(
            self.stop
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
    }

    /// The next piece of work, or `None` when all inputs have been handed out. May be called from many threads; waits
    /// where a stream's reader is behind.
    pub fn next_work(&self) -> Result<Option<Work>> {
        loop {
            if self.stopped.try_recv() == Err(TryRecvError::Disconnected) {
                return Err(LoadError::Stopped);
            }
            match self.claim()? {
                Claim::Range(file, range) => {
                    if let Some(slice) = file.load(range)? {
                        self.progress.add_read(slice.bytes().len() as u64);
                        return Ok(Some(Work::Slice(Arc::new(slice))));
                    }
                }
                Claim::Ready(work) => return Ok(Some(work)),
                Claim::Wait(receivers) => {
                    let mut select = Select::new();
                    select.recv(&self.stopped);
                    for receiver in &receivers {
                        select.recv(receiver);
                    }
                    // What is ready is claimed under the lock, by this thread or another.
                    select.ready();
                }
                Claim::End => return Ok(None),
            }
        }
    }

    fn claim(&self) -> Result<Claim> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *state;
        loop {
            if let Some(work) = take_ready(&mut state.streams)? {
                return Ok(Claim::Ready(work));
            }
            if let Some((file, next)) = &mut state.ranges {
                if *next < file.ranges() {
                    *next += 1;
                    return Ok(Claim::Range(Arc::clone(file), *next - 1));
                }
                state.ranges = None;
            }
            if state.streams.len() < self.streams_max
                && let Some(input) = state.waiting.pop_front()
            {
                self.progress.files.fetch_add(1, Ordering::Relaxed);
                match self.open(input)? {
                    Opened::Ranges(file) => state.ranges = Some((file, 0)),
                    Opened::Stream(stream) => state.streams.push(stream),
                    Opened::Document(document) => {
                        return Ok(Claim::Ready(Work::Document(document)));
                    }
                }
                continue;
            }
            if state.streams.is_empty() {
                return Ok(Claim::End);
            }
            let receivers = state.streams.iter().map(|stream| stream.receiver.clone());
            return Ok(Claim::Wait(receivers.collect()));
        }
    }

    fn open(&self, input: InputFile) -> Result<Opened> {
        let name = input.location.name();
        let base = match (&self.options.base, &input.location) {
            (Some(base), _) => Some(base.as_str().to_owned()),
            (None, Location::Path(path)) => file_iri(path),
            (None, Location::Stdin | Location::Reader(..)) => None,
        };
        let origin = Arc::new(Origin {
            name: name.clone(),
            document: input.document,
            format: input.format,
            base,
        });
        let mut stored_length = None;
        let (compression, stored): (_, Box<dyn Read + Send>) = match input.location {
            Location::Path(path) => {
                let file =
                    File::open(&path).map_err(|error| LoadError::io(&name, "open", error))?;
                let metadata = file
                    .metadata()
                    .map_err(|error| LoadError::io(&name, "open", error))?;
                if metadata.is_dir() {
                    return Err(LoadError::input(&name, "is a directory"));
                }
                if metadata.is_file() {
                    stored_length = Some(metadata.len());
                    let compression = match input.compression {
                        Some(compression) => compression,
                        None => sniff_file(&file)
                            .map_err(|error| LoadError::io(&name, "read", error))?,
                    };
                    if compression == Compression::Plain && input.format.is_line_based() {
                        return Ok(Opened::Ranges(RangeFile::new(
                            file,
                            metadata.len(),
                            origin,
                            Arc::clone(&self.pool),
                            &self.options,
                        )));
                    }
                    (
                        Some(compression),
                        Box::new(Exact {
                            file,
                            left: metadata.len(),
                            length: metadata.len(),
                            name: name.clone(),
                        }),
                    )
                } else {
                    (input.compression, Box::new(file))
                }
            }
            Location::Stdin => (input.compression, Box::new(std::io::stdin())),
            Location::Reader(_, reader) => (input.compression, reader),
        };
        let small = stored_length.is_some_and(|length| length <= SMALL_INPUT_BYTES);
        let can_be_cut = input.format.is_line_based() || input.format.is_terse();
        let stored = if can_be_cut || stored_length.is_some() {
            stored
        } else {
            // A worker will read it, and must not wait in it when the load is stopped.
            let relay = Relay::start(stored, self.stopped.clone());
            Box::new(relay.map_err(|error| LoadError::io(&name, "start a reader thread", error))?)
        };
        let progress = Arc::clone(&self.progress);
        let reader = Box::new(Decompressing::new(&name, compression, stored, progress));
        if small || !can_be_cut {
            return Ok(Opened::Document(Document {
                origin,
                reader,
                pool: Arc::clone(&self.pool),
                options: self.options.clone(),
                rest: None,
            }));
        }
        let (sender, receiver) = bounded(self.options.read_ahead_slices.max(1));
        let finished = Arc::new(AtomicBool::new(false));
        let stream = Stream {
            receiver,
            finished: Arc::clone(&finished),
            name: Arc::from(name.as_str()),
        };
        let document = Document {
            origin,
            reader,
            pool: Arc::clone(&self.pool),
            options: self.options.clone(),
            rest: None,
        };
        std::thread::Builder::new()
            .name("reader".to_owned())
            .spawn(move || {
                if document.format().is_line_based() {
                    let mut cutter = document.into_lines();
                    send_all(&sender, || {
                        let slice = cutter.next_slice()?;
                        Ok(slice.map(|slice| Work::Slice(Arc::new(slice))))
                    });
                } else {
                    let mut cutter = document.into_statements();
                    send_all(&sender, || cutter.next_work());
                }
                finished.store(true, Ordering::Release);
                drop(sender); // after the flag: who sees the channel closed sees the flag
            })
            .map_err(|error| LoadError::io(&name, "start a reader thread", error))?;
        Ok(Opened::Stream(stream))
    }
}

impl fmt::Debug for SliceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SliceSource")
            .field("options", &self.options)
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}

/// What a stream has ready, the first one first; streams that have ended are removed.
fn take_ready(streams: &mut Vec<Stream>) -> Result<Option<Work>> {
    let mut position = 0;
    while let Some(stream) = streams.get(position) {
        match stream.receiver.try_recv() {
            Ok(work) => return work.map(Some),
            Err(TryRecvError::Empty) => position += 1,
            Err(TryRecvError::Disconnected) => {
                if !stream.finished.load(Ordering::Acquire) {
                    return Err(LoadError::input(&stream.name, "its reader thread died"));
                }
                streams.remove(position);
            }
        }
    }
    Ok(None)
}

enum Opened {
    Ranges(Arc<RangeFile>),
    Stream(Stream),
    Document(Document),
}

/// Sends work until there are none, an error ends them, or nobody wants them any more.
fn send_all(sender: &Sender<Result<Work>>, mut next: impl FnMut() -> Result<Option<Work>>) {
    loop {
        match next() {
            Ok(Some(work)) => {
                if sender.send(Ok(work)).is_err() {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => {
                // If nobody listens, the load has been given up already.
                let _ = sender.send(Err(error));
                return;
            }
        }
    }
}

fn sniff_file(file: &File) -> std::io::Result<Compression> {
    let mut head = [0; SNIFF_BYTES];
    let mut filled = 0;
    while filled < head.len() {
        match file.read_at(&mut head[filled..], filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sniff(&head[..filled]))
}

/// A file up to the length it had when it was opened; an error if it ends before.
struct Exact {
    file: File,
    left: u64,
    length: u64,
    name: String,
}

impl Read for Exact {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let wanted = (buffer.len() as u64).min(self.left) as usize;
        if wanted == 0 {
            return Ok(0);
        }
        let read = self.file.read(&mut buffer[..wanted])?;
        if read == 0 {
            return Err(std::io::Error::other(LoadError::Shrank {
                name: self.name.clone(),
                expected: self.length,
                found: self.length - self.left,
            }));
        }
        self.left -= read as u64;
        Ok(read)
    }
}

/// The `file:` IRI of a path, made absolute.
fn file_iri(path: &Path) -> Option<String> {
    let absolute = std::path::absolute(path).ok()?;
    let mut iri = "file://".to_owned();
    for byte in absolute.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                iri.push(char::from(*byte));
            }
            _ => {
                const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
                iri.push('%');
                iri.push(char::from(DIGITS[usize::from(byte >> 4)]));
                iri.push(char::from(DIGITS[usize::from(byte & 15)]));
            }
        }
    }
    Some(iri)
}
