//! [`TerseCutter`]: cuts Turtle and `TriG` into slices of whole statements.
//!
//! Each slice carries the directives that stand before it in the document, so that any thread can parse it.
//! Where the scanner cannot be sure, or a statement (a `TriG` graph, say) is larger than is sensible to hold
//! in memory, what is left goes on as one [`Document`], parsed as a stream.

use crate::error::{LoadError, Result};
use crate::input::slices::{Origin, Pool, Slice, count_line_ends, fill, make_room};
use crate::input::terse_scanner::{NESTING_MAX, TerseScanner, TooDeep};
use crate::input::{Document, Format, InputOptions, Work};
use crate::parse::{BYTE_ORDER_MARK, Reject};
use memchr::memrchr2;
use std::io::{self, Cursor, ErrorKind, Read};
use std::sync::Arc;

/// A statement that is longer is not held in memory to be cut off, but parsed as a stream; in slices.
const STATEMENT_LIMIT_SLICES: usize = 16;

/// Directives before a slice are parsed again with it; beyond this many bytes nothing is cut any more.
const DIRECTIVES_LIMIT_BYTES: usize = 64 * 1024;

/// How much of a stream that is not cut is scanned for deep nesting at once.
const GUARD_BLOCK_BYTES: usize = 64 * 1024;

/// Where in a document a slice, or the rest of it, begins.
#[derive(Clone, Debug)]
pub(crate) struct Beginning {
    /// The directives before it.
    pub(crate) directives: Arc<[u8]>,
    /// The bytes before it.
    pub(crate) offset: u64,
    /// Its first line, from 1.
    pub(crate) line: u64,
    /// How many characters stand before it in its first line.
    pub(crate) column: u64,
}

impl Beginning {
    pub(crate) fn of_document() -> Self {
        Self {
            directives: Arc::from([]),
            offset: 0,
            line: 1,
            column: 0,
        }
    }

    /// Moves behind bytes that follow.
    pub(crate) fn pass(&mut self, bytes: &[u8]) {
        self.offset += bytes.len() as u64;
        self.line += count_line_ends(bytes);
        let tail = match memrchr2(b'\r', b'\n', bytes) {
            Some(line_end) => {
                self.column = 0;
                &bytes[line_end + 1..]
            }
            None => bytes,
        };
        let continues = |byte: &&u8| *byte & 0xC0 != 0x80;
        self.column += tail.iter().filter(continues).count() as u64;
    }
}

/// Cuts Turtle and `TriG`.
pub(crate) struct TerseCutter {
    /// Taken when the rest is handed out.
    reader: Option<Box<dyn Read + Send>>,
    origin: Arc<Origin>,
    pool: Arc<Pool>,
    options: InputOptions,
    carried: Vec<u8>,
    beginning: Beginning,
    sequence: u64,
    ended: bool,
    cut_no_more: bool,
}

impl TerseCutter {
    pub(crate) fn new(
        reader: Box<dyn Read + Send>,
        origin: Arc<Origin>,
        pool: Arc<Pool>,
        options: &InputOptions,
    ) -> Self {
        Self {
            reader: Some(reader),
            origin,
            pool,
            options: options.clone(),
            carried: Vec::new(),
            beginning: Beginning::of_document(),
            sequence: 0,
            ended: false,
            cut_no_more: false,
        }
    }

    /// The next slice, or all that is left as a document, or `None` at the end.
    pub(crate) fn next_work(&mut self) -> Result<Option<Work>> {
        let Some(mut reader) = self.reader.take() else {
            return Ok(None);
        };
        if self.cut_no_more {
            return Ok(Some(self.rest(reader)));
        }
        let mut buffer = self.pool.take();
        let mut filled = self.carried.len();
        // Never so little that a byte-order mark would not be seen whole.
        let mut room = self
            .options
            .slice_size
            .max(filled + 1)
            .max(BYTE_ORDER_MARK.len());
        make_room(&mut buffer, room);
        buffer[..filled].copy_from_slice(&self.carried);
        let mut scanner = TerseScanner::new(self.origin.format == Format::TriG);
        let stop = loop {
            let name = &self.origin.name;
            self.ended |= fill(&mut reader, &mut buffer[..room], &mut filled, name)?;
            if self.beginning.offset == 0 && buffer[..filled].starts_with(BYTE_ORDER_MARK) {
                buffer.copy_within(BYTE_ORDER_MARK.len()..filled, 0);
                filled -= BYTE_ORDER_MARK.len();
                self.beginning.offset = BYTE_ORDER_MARK.len() as u64;
            }
            let scanned = scanner.scan(&buffer[..filled], self.ended);
            scanned.map_err(|deep| self.too_deep(&buffer, deep))?;
            if self.ended {
                break filled;
            }
            if let Some(boundary) = scanner.boundary() {
                self.cut_no_more = scanner.lost();
                break boundary;
            }
            if scanner.lost() || filled >= self.statement_limit() {
                self.carried.clear();
                self.carried.extend_from_slice(&buffer[..filled]);
                return Ok(Some(self.rest(reader)));
            }
            room *= 2;
            make_room(&mut buffer, room);
        };
        self.carried.clear();
        self.carried.extend_from_slice(&buffer[stop..filled]);
        if !(self.ended && self.carried.is_empty()) {
            self.reader = Some(reader);
        }
        if stop == 0 {
            return Ok(None);
        }
        let before = self.beginning.clone();
        self.note_directives(&buffer, &scanner, stop);
        self.beginning.pass(&buffer[..stop]);
        let slice = Slice::of_statements(
            buffer,
            stop,
            Arc::clone(&self.origin),
            before,
            self.sequence,
            Arc::clone(&self.pool),
        );
        self.sequence += 1;
        Ok(Some(Work::Slice(Arc::new(slice))))
    }

    fn statement_limit(&self) -> usize {
        (self.options.slice_size * STATEMENT_LIMIT_SLICES).min(self.options.line_limit)
    }

    /// Adds the directives before `stop` to those that later slices carry.
    fn note_directives(&mut self, buffer: &[u8], scanner: &TerseScanner, stop: usize) {
        let mut directives = Vec::new();
        for range in scanner.directives() {
            if range.end <= stop {
                directives.extend_from_slice(&buffer[range.clone()]);
                directives.push(b'\n');
            }
        }
        if !directives.is_empty() {
            self.beginning.directives = [&*self.beginning.directives, &directives].concat().into();
            self.cut_no_more |= self.beginning.directives.len() > DIRECTIVES_LIMIT_BYTES;
        }
    }

    /// What was carried over and all that follows.
    fn rest(&mut self, reader: Box<dyn Read + Send>) -> Work {
        let carried = Cursor::new(std::mem::take(&mut self.carried));
        let guard = Guard {
            inner: carried.chain(reader),
            origin: Arc::clone(&self.origin),
            scanner: TerseScanner::new(self.origin.format == Format::TriG),
            buffer: Vec::new(),
            passed: 0,
            ended: false,
            position: self.beginning.clone(),
        };
        Work::Document(Document {
            origin: Arc::clone(&self.origin),
            reader: Box::new(guard),
            pool: Arc::clone(&self.pool),
            options: self.options.clone(),
            rest: Some(self.beginning.clone()),
        })
    }

    fn too_deep(&self, buffer: &[u8], deep: TooDeep) -> LoadError {
        let mut position = self.beginning.clone();
        position.pass(&buffer[..deep.at]);
        error_of_nesting(&self.origin, &position)
    }
}

fn error_of_nesting(origin: &Origin, position: &Beginning) -> LoadError {
    LoadError::Syntax(Box::new(Reject {
        name: origin.name.clone(),
        document: origin.document,
        line: position.line,
        column: position.column + 1,
        reason: format!("brackets are nested more than {NESTING_MAX} deep"),
        text: Vec::new(),
    }))
}

/// Passes a stream on as long as its brackets are not nested too deeply.
struct Guard<R> {
    inner: R,
    origin: Arc<Origin>,
    scanner: TerseScanner,
    buffer: Vec<u8>,
    /// How much of the buffer has been passed on.
    passed: usize,
    ended: bool,
    position: Beginning,
}

impl<R: Read> Read for Guard<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.passed == self.scanner.position() && !self.ended {
            self.position.pass(&self.buffer[..self.passed]);
            self.buffer.drain(..self.passed);
            self.scanner.forget_scanned();
            self.passed = 0;
            let kept = self.buffer.len();
            self.buffer.resize(kept + GUARD_BLOCK_BYTES.max(kept), 0);
            let read = self.inner.read(&mut self.buffer[kept..]);
            self.buffer.truncate(kept + *read.as_ref().unwrap_or(&0));
            self.ended = read? == 0;
            if let Err(deep) = self.scanner.scan(&self.buffer, self.ended) {
                self.position.pass(&self.buffer[..deep.at]);
                let error = error_of_nesting(&self.origin, &self.position);
                return Err(io::Error::new(ErrorKind::InvalidData, error));
            }
        }
        let ready = &self.buffer[self.passed..self.scanner.position()];
        let count = ready.len().min(out.len());
        out[..count].copy_from_slice(&ready[..count]);
        self.passed += count;
        Ok(count)
    }
}
