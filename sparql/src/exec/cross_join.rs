//! `CrossJoin`: every row of one input with every row of another.
//!
//! The right input is run again for each batch of the left one, so that nothing is kept in memory.

use super::batch::Batch;
use super::control::Control;
use super::operator::{Input, Operator};
use super::pairs::{Pairs, Source};
use crate::error::Result;
use std::sync::Arc;

/// Makes an input again and again.
pub type Factory = Box<dyn FnMut() -> Result<Input> + Send>;

/// Pairs all rows of two inputs.
pub struct CrossJoin {
    left: Input,
    factory: Factory,
    right: Option<Input>,
    outputs: Vec<Source>,
    control: Arc<Control>,
    pairs: Pairs,
    ended: bool,
}

impl CrossJoin {
    /// Pairs the rows of `left` with those of the inputs that `right` makes.
    pub fn new(left: Input, right: Factory, outputs: Vec<Source>, control: Arc<Control>) -> Self {
        Self {
            left,
            factory: right,
            right: None,
            outputs,
            control,
            pairs: Pairs::default(),
            ended: false,
        }
    }
}

impl Operator for CrossJoin {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        self.control.check()?;
        while !self.ended && output.rows() < self.control.batch_rows() {
            let Some(right) = &mut self.right else {
                if self.left.fetch()? {
                    let mut right = (self.factory)()?;
                    // Without right rows there is nothing for the further left rows either.
                    self.ended = !right.fetch()?;
                    self.right = Some(right);
                } else {
                    self.ended = true;
                }
                continue;
            };
            if self.left.is_used_up() {
                // The right batch was paired with every left row.
                self.left.at = 0;
                right.at = 0;
                if !right.fetch()? {
                    self.right = None;
                }
                continue;
            }
            let space = self.control.batch_rows() - output.rows();
            let end = right.batch.rows().min(right.at + space);
            self.pairs.push_range(self.left.at, right.at..end);
            self.pairs
                .flush(&self.left.batch, &right.batch, &self.outputs, output);
            right.at = end;
            if right.is_used_up() {
                right.at = 0;
                self.left.at += 1;
            }
        }
        Ok(output.rows())
    }
}
