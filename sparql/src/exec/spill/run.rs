//! `Run`: rows in a temporary file, in a sequence, and the operator that gives them.

use super::file::{Place, SpillFile};
use crate::error::Result;
use crate::exec::batch::Batch;
use crate::exec::control::Control;
use crate::exec::operator::Operator;
use std::sync::Arc;

/// Rows in a temporary file. Cheap to clone.
#[derive(Clone)]
pub struct Run {
    file: Arc<SpillFile>,
    blocks: Arc<Vec<Place>>,
    rows: u64,
    width: usize,
}

impl Run {
    /// The rows of some blocks of a file.
    pub(super) fn new(file: &Arc<SpillFile>, blocks: Vec<Place>, rows: u64, width: usize) -> Self {
        Self {
            file: Arc::clone(file),
            blocks: Arc::new(blocks),
            rows,
            width,
        }
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// How many columns there are.
    pub fn width(&self) -> usize {
        self.width
    }

    /// An operator that gives the rows.
    pub fn read(&self, control: &Arc<Control>) -> RunReader {
        RunReader {
            blocks: self.blocks(),
            batch: Batch::new(self.width),
            at: 0,
            control: Arc::clone(control),
        }
    }

    /// Its blocks, one after the other.
    pub(super) fn blocks(&self) -> Blocks {
        Blocks {
            run: self.clone(),
            next: 0,
            bytes: Vec::new(),
        }
    }
}

/// Reads the blocks of a run.
pub(super) struct Blocks {
    run: Run,
    next: usize,
    bytes: Vec<u8>,
}

impl Blocks {
    /// Replaces a batch by the rows of the next block, and gives the bytes of their sort keys; `None` at the end.
    pub(super) fn next(&mut self, batch: &mut Batch) -> Result<Option<&[u8]>> {
        batch.clear();
        let Some(place) = self.run.blocks.get(self.next) else {
            return Ok(None);
        };
        self.next += 1;
        self.run.file.read(*place, batch, &mut self.bytes).map(Some)
    }
}

/// Gives the rows of a run.
pub struct RunReader {
    blocks: Blocks,
    batch: Batch,
    at: usize,
    control: Arc<Control>,
}

impl Operator for RunReader {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        self.control.check()?;
        while output.rows() < self.control.batch_rows() {
            if self.at == self.batch.rows() {
                self.at = 0;
                if self.blocks.next(&mut self.batch)?.is_none() {
                    break;
                }
            }
            let space = self.control.batch_rows() - output.rows();
            let end = self.batch.rows().min(self.at + space);
            output.append(&self.batch, self.at, end);
            self.at = end;
        }
        Ok(output.rows())
    }
}

/// Writes rows to a file of their own.
pub struct RunWriter {
    file: SpillFile,
    blocks: Vec<Place>,
    rows: u64,
    buffer: Batch,
    block_rows: usize,
}

impl RunWriter {
    /// A new file for rows of `width` columns.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn new(width: usize, control: &Control) -> Result<Self> {
        Ok(Self {
            file: SpillFile::new(control.scratch())?,
            blocks: Vec::new(),
            rows: 0,
            buffer: Batch::new(width),
            block_rows: block_rows(width, control),
        })
    }

    /// A batch of the same columns to append rows to, before [`RunWriter::flush_if_full`].
    pub fn buffer(&mut self) -> &mut Batch {
        &mut self.buffer
    }

    /// Appends rows `start..end` of a batch with the same columns.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&mut self, batch: &Batch, start: usize, end: usize) -> Result<()> {
        self.buffer.append(batch, start, end);
        self.flush_if_full()
    }

    /// Writes what is in the buffer if it makes a block.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn flush_if_full(&mut self) -> Result<()> {
        if self.buffer.rows() >= self.block_rows {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let rows = self.buffer.rows();
        // What came in one large batch becomes several blocks, so that readers need no larger buffers.
        for start in (0..rows).step_by(self.block_rows) {
            let end = rows.min(start + self.block_rows);
            self.blocks
                .push(self.file.append(&self.buffer, start..end, &[])?);
        }
        self.rows += rows as u64;
        self.buffer.clear();
        Ok(())
    }

    /// The run.
    ///
    /// # Errors
    /// If the last rows cannot be written.
    pub fn finish(mut self) -> Result<Run> {
        self.flush()?;
        let width = self.buffer.width();
        Ok(Run::new(
            &Arc::new(self.file),
            self.blocks,
            self.rows,
            width,
        ))
    }
}

/// Rows of a block.
pub(super) fn block_rows(width: usize, control: &Control) -> usize {
    (control.memory().block_bytes() / (8 * width.max(1))).max(1)
}
