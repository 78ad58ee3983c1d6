//! `Union`: the rows of one input after another, and `Rows`, rows that the query names, and `Attach`, columns that
//! are the same in every row.

use super::batch::Batch;
use super::control::Control;
use super::operator::Operator;
use crate::error::Result;
use quadrille_store::TermId;
use std::collections::VecDeque;
use std::sync::Arc;

/// Gives the rows of one input after another.
pub struct Union {
    inputs: VecDeque<Box<dyn Operator>>,
}

impl Union {
    /// The rows of inputs that have the same columns.
    pub fn new(inputs: impl IntoIterator<Item = Box<dyn Operator>>) -> Self {
        Self {
            inputs: inputs.into_iter().collect(),
        }
    }
}

impl Operator for Union {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        while let Some(input) = self.inputs.front_mut() {
            if input.next(output)? > 0 {
                return Ok(output.rows());
            }
            self.inputs.pop_front();
        }
        output.clear();
        Ok(0)
    }
}

/// Gives rows that are known beforehand.
pub struct Rows {
    columns: Arc<Vec<Vec<TermId>>>,
    count: usize,
    at: usize,
    control: Arc<Control>,
}

impl Rows {
    /// So many rows, by column.
    pub fn new(columns: Arc<Vec<Vec<TermId>>>, rows: usize, control: Arc<Control>) -> Self {
        Self {
            columns,
            count: rows,
            at: 0,
            control,
        }
    }
}

impl Operator for Rows {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        self.control.check()?;
        let end = self.count.min(self.at + self.control.batch_rows());
        for (index, column) in self.columns.iter().enumerate() {
            output
                .column_mut(index)
                .extend_from_slice(&column[self.at..end]);
        }
        output.set_rows(end - self.at);
        self.at = end;
        Ok(output.rows())
    }
}

/// Adds columns that are the same in every row.
pub struct Attach {
    input: Box<dyn Operator>,
    /// How many columns the input has.
    width: usize,
    ids: Vec<TermId>,
}

impl Attach {
    /// Adds a column for each id to the rows of `input`, which has `width` columns.
    pub fn new(input: Box<dyn Operator>, width: usize, ids: Vec<TermId>) -> Self {
        Self { input, width, ids }
    }
}

impl Operator for Attach {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        let rows = self.input.next(output)?;
        for (index, id) in self.ids.iter().enumerate() {
            output.column_mut(self.width + index).resize(rows, *id);
        }
        Ok(rows)
    }

    fn skip_to(&mut self, key: &[TermId]) -> Result<()> {
        self.input.skip_to(key)
    }
}
