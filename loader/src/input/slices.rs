//! [`Slice`]: a piece of an input that a parser works on, and the two ways in which lines are cut into slices.
//!
//! A plain file is cut by *ranges*: the file is divided into ranges of one slice size, and a slice holds the
//! lines that **begin** in its range. So a range can be claimed under a lock and read outside it, by any
//! number of threads, with `pread`. A stream (standard input, a decompressor) is cut by one reader, which
//! carries what follows the last line end over into the next buffer.
//!
//! What always holds: behind a slice's bytes its buffer has at least [`PADDING_BYTES`] more, the first of
//! which is a line feed, so that a scanner may load whole vectors and stops at the end without asking for it.

use crate::error::{LoadError, Result};
use crate::input::terse_cutter::Beginning;
use crate::input::{Format, InputOptions};
use memchr::{memchr, memchr_iter, memrchr};
use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

/// Readable bytes behind a slice, beginning with a line feed.
pub const PADDING_BYTES: usize = 64;

/// How far a range is read beyond its end at first, to find the end of its last line.
const OVERHANG_BYTES: usize = 4096;

/// Buffers that the pool keeps at most; more are freed.
const POOL_BUFFERS_MAX: usize = 256;

/// Buffers that have carried a slice, to be used again: a fresh one costs a page fault every 4 KiB.
#[derive(Debug)]
pub(crate) struct Pool {
    buffers: Mutex<Vec<Vec<u8>>>,
    buffer_size: usize,
}

impl Pool {
    pub(crate) fn new(slice_size: usize) -> Arc<Self> {
        Arc::new(Self {
            buffers: Mutex::new(Vec::new()),
            // One more for the byte before a range.
            buffer_size: 1 + slice_size + OVERHANG_BYTES + PADDING_BYTES,
        })
    }

    /// A buffer, all of it initialised with whatever it held before.
    pub(crate) fn take(&self) -> Vec<u8> {
        let used = self
            .buffers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        used.unwrap_or_else(|| vec![0; self.buffer_size])
    }

    fn give(&self, buffer: Vec<u8>) {
        if buffer.len() != self.buffer_size {
            return;
        }
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        if buffers.len() < POOL_BUFFERS_MAX {
            buffers.push(buffer);
        }
    }
}

/// What all slices of a document share.
#[derive(Debug)]
pub(crate) struct Origin {
    /// The file's name for messages.
    pub(crate) name: String,
    /// The document's number.
    pub(crate) document: u32,
    /// Its syntax.
    pub(crate) format: Format,
    /// The base IRI that follows from where the document is, if any.
    pub(crate) base: Option<String>,
}

/// How a slice learns the number of its first line.
#[derive(Debug)]
enum Place {
    /// It was counted when the slice was cut.
    Counted(u64),
    /// It is summed from the earlier ranges of the file when somebody asks.
    Range(Arc<RangeFile>),
}

/// A piece of an input: whole lines of N-Triples and N-Quads, whole statements of Turtle and `TriG`.
/// The buffer goes back to its pool on drop.
pub struct Slice {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    origin: Arc<Origin>,
    offset: u64,
    sequence: u64,
    place: Place,
    directives: Option<Arc<[u8]>>,
    first_column: u64,
    pool: Option<Arc<Pool>>,
}

impl Slice {
    /// A slice of bytes in memory, the whole of a document.
    pub fn from_bytes(document: u32, format: Format, bytes: &[u8]) -> Arc<Self> {
        let origin = Arc::new(Origin {
            name: "memory".to_owned(),
            document,
            format,
            base: None,
        });
        Arc::new(Self::whole(origin, bytes.to_vec()))
    }

    /// The whole of a document.
    pub(crate) fn whole(origin: Arc<Origin>, mut bytes: Vec<u8>) -> Self {
        let end = bytes.len();
        bytes.resize(end + PADDING_BYTES, b'\n');
        Self {
            buffer: bytes,
            start: 0,
            end,
            origin,
            offset: 0,
            sequence: 0,
            place: Place::Counted(1),
            directives: None,
            first_column: 0,
            pool: None,
        }
    }

    /// The first `end` bytes of a buffer, whole statements of Turtle or `TriG`.
    pub(crate) fn of_statements(
        mut buffer: Vec<u8>,
        end: usize,
        origin: Arc<Origin>,
        beginning: Beginning,
        sequence: u64,
        pool: Arc<Pool>,
    ) -> Self {
        buffer[end] = b'\n';
        Self {
            buffer,
            start: 0,
            end,
            origin,
            offset: beginning.offset,
            sequence,
            place: Place::Counted(beginning.line),
            directives: Some(beginning.directives),
            first_column: beginning.column,
            pool: Some(pool),
        }
    }

    /// The bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// The bytes with what stands behind them in the buffer: at least [`PADDING_BYTES`], the first a line feed.
    #[inline]
    pub(crate) fn padded(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// The number of the document, the scope of its blank nodes.
    #[inline]
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

    /// Where the slice begins, in bytes of the (decompressed) document.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The slice's place in the order of its document; numbers may be left out.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The base IRI that follows from where the document is.
    pub(crate) fn base(&self) -> Option<&str> {
        self.origin.base.as_deref()
    }

    /// The directives (`@prefix` and so on) that stand in the document before the slice, for Turtle and `TriG`.
    pub(crate) fn directives(&self) -> &[u8] {
        self.directives.as_deref().unwrap_or_default()
    }

    /// How many characters stand in the document before the slice in its first line.
    pub(crate) fn first_column(&self) -> u64 {
        self.first_column
    }

    /// The number of the slice's first line in its document, from 1. Cheap unless earlier slices of a plain file
    /// have not been parsed yet: then their parts of the file are read and counted.
    pub fn first_line(&self) -> Result<u64> {
        match &self.place {
            Place::Counted(line) => Ok(*line),
            Place::Range(file) => file.first_line(self.sequence),
        }
    }

    /// Tells how many lines the slice has, so that later slices of the file can be numbered.
    pub(crate) fn note_lines(&self, lines: u64) {
        if let Place::Range(file) = &self.place {
            file.note_lines(self.sequence, lines);
        }
    }
}

impl Drop for Slice {
    fn drop(&mut self) {
        if let Some(pool) = &self.pool {
            pool.give(std::mem::take(&mut self.buffer));
        }
    }
}

impl fmt::Debug for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slice")
            .field("name", &self.origin.name)
            .field("offset", &self.offset)
            .field("length", &(self.end - self.start))
            .finish_non_exhaustive()
    }
}

/// How many line ends there are: LF, CR LF, or a CR alone, as `oxttl` counts them.
pub(crate) fn count_line_ends(bytes: &[u8]) -> u64 {
    let line_feeds = memchr_iter(b'\n', bytes).count();
    let alone = memchr_iter(b'\r', bytes)
        .filter(|position| bytes.get(position + 1) != Some(&b'\n'))
        .count();
    (line_feeds + alone) as u64
}

/// A plain file that is read by ranges, from any thread.
#[derive(Debug)]
pub(crate) struct RangeFile {
    file: File,
    length: u64,
    origin: Arc<Origin>,
    slice_size: usize,
    line_limit: usize,
    pool: Arc<Pool>,
    /// Lines that begin in each range, [`UNKNOWN_LINES`] until its slice was parsed.
    lines: Mutex<Vec<u32>>,
}

const UNKNOWN_LINES: u32 = u32::MAX;

impl RangeFile {
    pub(crate) fn new(
        file: File,
        length: u64,
        origin: Arc<Origin>,
        pool: Arc<Pool>,
        options: &InputOptions,
    ) -> Arc<Self> {
        Arc::new(Self {
            file,
            length,
            origin,
            slice_size: options.slice_size.max(1),
            line_limit: options.line_limit,
            pool,
            lines: Mutex::new(Vec::new()),
        })
    }

    /// How many ranges the file has.
    pub(crate) fn ranges(&self) -> u64 {
        self.length.div_ceil(self.slice_size as u64)
    }

    /// The lines that begin in a range, or `None` if there are none.
    pub(crate) fn load(self: &Arc<Self>, range: u64) -> Result<Option<Slice>> {
        let start = range * self.slice_size as u64;
        let end = (start + self.slice_size as u64).min(self.length);
        // The byte before the range tells whether a line begins with the range.
        let from = start.saturating_sub(1);
        let mut buffer = self.pool.take();
        let mut filled = 0;
        let first_read = (end + OVERHANG_BYTES as u64).min(self.length) - from;
        self.read_at(&mut buffer, &mut filled, from, first_read as usize)?;

        let inside = (end - from) as usize;
        let first = if start == 0 {
            0
        } else {
            match memchr(b'\n', &buffer[..inside]) {
                Some(line_end) if line_end + 1 < inside => line_end + 1,
                _ => {
                    self.pool.give(buffer);
                    self.note_lines(range, 0);
                    return Ok(None);
                }
            }
        };
        let mut searched = inside - 1;
        let stop = loop {
            if let Some(line_end) = memchr(b'\n', &buffer[searched..filled]) {
                break searched + line_end + 1;
            }
            searched = filled;
            let rest = self.length - (from + filled as u64);
            if rest == 0 {
                break filled;
            }
            if filled - first > self.line_limit.max(self.slice_size) {
                let last = memrchr(b'\n', &buffer[..filled]).map_or(0, |line_end| line_end + 1);
                return Err(LoadError::LineTooLong {
                    name: self.origin.name.clone(),
                    offset: from + last as u64,
                    limit: self.line_limit as u64,
                });
            }
            let more = (filled as u64).min(rest) as usize;
            buffer.resize(buffer.len().max(filled + more + PADDING_BYTES), 0);
            self.read_at(&mut buffer, &mut filled, from, more)?;
        };
        buffer[stop] = b'\n';
        Ok(Some(Slice {
            buffer,
            start: first,
            end: stop,
            origin: Arc::clone(&self.origin),
            offset: from + first as u64,
            sequence: range,
            place: Place::Range(Arc::clone(self)),
            directives: None,
            first_column: 0,
            pool: Some(Arc::clone(&self.pool)),
        }))
    }

    fn read_at(
        &self,
        buffer: &mut [u8],
        filled: &mut usize,
        from: u64,
        bytes: usize,
    ) -> Result<()> {
        let wanted = *filled + bytes;
        while *filled < wanted {
            let position = from + *filled as u64;
            match self.file.read_at(&mut buffer[*filled..wanted], position) {
                Ok(0) => {
                    return Err(LoadError::Shrank {
                        name: self.origin.name.clone(),
                        expected: self.length,
                        found: position,
                    });
                }
                Ok(read) => *filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(LoadError::io(&self.origin.name, "read", error)),
            }
        }
        Ok(())
    }

    fn note_lines(&self, range: u64, lines: u64) {
        let mut known = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let range = range as usize;
        if known.len() <= range {
            known.resize(range + 1, UNKNOWN_LINES);
        }
        known[range] = u32::try_from(lines).unwrap_or(UNKNOWN_LINES);
    }

    fn first_line(self: &Arc<Self>, range: u64) -> Result<u64> {
        let known = {
            let mut known = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() < range as usize {
                known.resize(range as usize, UNKNOWN_LINES);
            }
            known[..range as usize].to_vec()
        };
        let mut line = 1;
        for (earlier, lines) in known.into_iter().enumerate() {
            if lines != UNKNOWN_LINES {
                line += u64::from(lines);
            } else if let Some(slice) = self.load(earlier as u64)? {
                let counted = count_line_ends(slice.bytes());
                slice.note_lines(counted);
                line += counted;
            }
        }
        Ok(line)
    }
}

/// Cuts a stream of lines into slices, one after another.
pub(crate) struct LineCutter<R> {
    reader: R,
    origin: Arc<Origin>,
    pool: Arc<Pool>,
    slice_size: usize,
    line_limit: usize,
    carried: Vec<u8>,
    offset: u64,
    sequence: u64,
    line: u64,
    ended: bool,
}

impl<R: Read> LineCutter<R> {
    pub(crate) fn new(
        reader: R,
        origin: Arc<Origin>,
        pool: Arc<Pool>,
        options: &InputOptions,
    ) -> Self {
        Self {
            reader,
            origin,
            pool,
            slice_size: options.slice_size.max(1),
            line_limit: options.line_limit,
            carried: Vec::new(),
            offset: 0,
            sequence: 0,
            line: 1,
            ended: false,
        }
    }

    /// The next slice, or `None` at the end.
    pub(crate) fn next_slice(&mut self) -> Result<Option<Slice>> {
        let mut buffer = self.pool.take();
        let mut filled = self.carried.len();
        let mut room = self.slice_size.max(filled + 1);
        make_room(&mut buffer, room);
        buffer[..filled].copy_from_slice(&self.carried);
        let mut searched = filled; // what was carried over has no line end
        let stop = loop {
            let name = &self.origin.name;
            self.ended |= fill(&mut self.reader, &mut buffer[..room], &mut filled, name)?;
            if self.ended {
                break filled;
            }
            if let Some(line_end) = memrchr(b'\n', &buffer[searched..filled]) {
                break searched + line_end + 1;
            }
            searched = filled;
            if filled >= self.line_limit {
                return Err(LoadError::LineTooLong {
                    name: self.origin.name.clone(),
                    offset: self.offset,
                    limit: self.line_limit as u64,
                });
            }
            room *= 2;
            make_room(&mut buffer, room);
        };
        self.carried.clear();
        self.carried.extend_from_slice(&buffer[stop..filled]);
        if stop == 0 {
            self.pool.give(buffer);
            return Ok(None);
        }
        buffer[stop] = b'\n';
        let slice = Slice {
            buffer,
            start: 0,
            end: stop,
            origin: Arc::clone(&self.origin),
            offset: self.offset,
            sequence: self.sequence,
            place: Place::Counted(self.line),
            directives: None,
            first_column: 0,
            pool: Some(Arc::clone(&self.pool)),
        };
        self.offset += stop as u64;
        self.sequence += 1;
        self.line += count_line_ends(slice.bytes());
        Ok(Some(slice))
    }
}

/// Makes a buffer large enough for this many bytes and the padding.
pub(crate) fn make_room(buffer: &mut Vec<u8>, bytes: usize) {
    if buffer.len() < bytes + PADDING_BYTES {
        buffer.resize(bytes + PADDING_BYTES, 0);
    }
}

/// Reads until the buffer is full or the stream ends; tells whether it has ended.
pub(crate) fn fill(
    reader: &mut dyn Read,
    buffer: &mut [u8],
    filled: &mut usize,
    name: &str,
) -> Result<bool> {
    while *filled < buffer.len() {
        match reader.read(&mut buffer[*filled..]) {
            Ok(0) => return Ok(true),
            Ok(read) => *filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error_of_read(name, error)),
        }
    }
    Ok(false)
}

/// The error of a read; one that a decompressor has put its own [`LoadError`] into gives that.
pub(crate) fn error_of_read(name: &str, error: std::io::Error) -> LoadError {
    match error.downcast::<LoadError>() {
        Ok(inner) => inner,
        Err(error) => LoadError::io(name, "read", error),
    }
}
