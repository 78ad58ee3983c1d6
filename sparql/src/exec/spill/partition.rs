//! `Partitions`: rows divided by the hash of some columns, so that equal keys lie together and each part may fit in memory.

use super::file::{Place, SpillFile};
use super::run::{Run, block_rows};
use crate::error::Result;
use crate::exec::batch::Batch;
use crate::exec::control::Control;
use crate::exec::hash::{hash_row, mix};
use std::sync::Arc;

/// Parts that rows are divided into.
pub const PARTITIONS: usize = 16;

/// Divides rows.
pub struct Partitions {
    file: SpillFile,
    columns: Vec<usize>,
    /// Changes with the depth, so that a part that is divided again falls apart.
    seed: u64,
    parts: Vec<Part>,
    width: usize,
    block_rows: usize,
}

struct Part {
    buffer: Batch,
    blocks: Vec<Place>,
    rows: u64,
}

impl Partitions {
    /// Divides rows of `width` columns by the hash of `columns`. `depth` says how often they were divided before.
    ///
    /// # Errors
    /// If there is no file for them.
    pub fn new(width: usize, columns: Vec<usize>, depth: u32, control: &Control) -> Result<Self> {
        let part = || Part {
            buffer: Batch::new(width),
            blocks: Vec::new(),
            rows: 0,
        };
        Ok(Self {
            file: SpillFile::new(control.scratch())?,
            columns,
            seed: mix(u64::from(depth) + 1),
            parts: std::iter::repeat_with(part).take(PARTITIONS).collect(),
            width,
            block_rows: block_rows(width, control),
        })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, batch: &Batch, row: usize) -> Result<()> {
        let hash = mix(hash_row(batch, &self.columns, row) ^ self.seed);
        let part = &mut self.parts[hash as usize % PARTITIONS];
        part.buffer.append(batch, row, row + 1);
        if part.buffer.rows() >= self.block_rows {
            part.flush(&mut self.file)?;
        }
        Ok(())
    }

    /// The parts, by number: two inputs that are divided by the same number of columns at the same depth have equal keys in
    /// parts of the same number.
    ///
    /// # Errors
    /// If the last rows cannot be written.
    pub fn finish(mut self) -> Result<Vec<Run>> {
        for part in &mut self.parts {
            part.flush(&mut self.file)?;
        }
        let file = Arc::new(self.file);
        Ok(self
            .parts
            .into_iter()
            .map(|part| Run::new(&file, part.blocks, part.rows, self.width))
            .collect())
    }
}

impl Part {
    fn flush(&mut self, file: &mut SpillFile) -> Result<()> {
        let rows = self.buffer.rows();
        if rows > 0 {
            self.blocks.push(file.append(&self.buffer, 0..rows, &[])?);
            self.rows += rows as u64;
            self.buffer.clear();
        }
        Ok(())
    }
}
