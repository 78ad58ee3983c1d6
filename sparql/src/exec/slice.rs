//! `Slice`: OFFSET and LIMIT. Once it has given its rows it asks for no more.

use super::batch::Batch;
use super::operator::Operator;
use crate::error::Result;

/// Leaves out the first rows and gives a number of those that follow.
pub struct Slice {
    input: Box<dyn Operator>,
    skip: u64,
    remaining: u64,
}

impl Slice {
    /// The rows of `input` after the first `offset`, `limit` at most.
    pub fn new(input: Box<dyn Operator>, offset: u64, limit: Option<u64>) -> Self {
        Self {
            input,
            skip: offset,
            remaining: limit.unwrap_or(u64::MAX),
        }
    }
}

impl Operator for Slice {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        loop {
            if self.remaining == 0 || self.input.next(output)? == 0 {
                output.clear();
                return Ok(0);
            }
            let rows = output.rows() as u64;
            let skipped = self.skip.min(rows);
            self.skip -= skipped;
            let given = (rows - skipped).min(self.remaining);
            if given == 0 {
                continue;
            }
            self.remaining -= given;
            if given < rows {
                output.slice(skipped as usize, given as usize);
            }
            return Ok(output.rows());
        }
    }
}
