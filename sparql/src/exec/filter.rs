//! `Filter`: keeps the rows that meet all conditions.

use super::batch::Batch;
use super::control::Control;
use super::operator::Operator;
use crate::error::Result;
use crate::expr::{Evaluator, Expr};
use quadrille_store::TermId;
use std::sync::Arc;

/// Keeps the rows that meet all conditions.
pub struct Filter {
    input: Box<dyn Operator>,
    conditions: Vec<Arc<Expr>>,
    evaluator: Evaluator,
    control: Arc<Control>,
    selection: Vec<u32>,
}

impl Filter {
    /// Keeps the rows of `input` for which every condition is true.
    pub fn new(
        input: Box<dyn Operator>,
        conditions: Vec<Arc<Expr>>,
        evaluator: Evaluator,
        control: Arc<Control>,
    ) -> Self {
        Self {
            input,
            conditions,
            evaluator,
            control,
            selection: Vec::new(),
        }
    }
}

impl Operator for Filter {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        loop {
            self.control.check()?;
            if self.input.next(output)? == 0 {
                return Ok(0);
            }
            self.evaluator.prepare(output)?;
            self.selection.clear();
            self.selection.extend((0..output.rows() as u32).filter(|row| {
                self.conditions
                    .iter()
                    .all(|condition| self.evaluator.is_true(condition, output, *row as usize))
            }));
            output.select(&self.selection);
            if output.rows() > 0 {
                return Ok(output.rows());
            }
        }
    }

    fn skip_to(&mut self, key: &[TermId]) -> Result<()> {
        self.input.skip_to(key)
    }
}
