//! `Operator`: a source of batches.

use super::batch::Batch;
use super::gather::Pipeline;
use crate::error::Result;
use quadrille_store::TermId;

/// A source of batches. It owns what it needs and may go to another thread.
pub trait Operator: Send {
    /// Clears `output` and puts the next rows there, at most as many as the query's batch size; says how many. 0 only at
    /// the end, and then again whenever it is called.
    fn next(&mut self, output: &mut Batch) -> Result<usize>;

    /// Says that of the rows to come those are not needed whose first columns *in the sequence that the operator sorts
    /// by* are less than `key`. Whether it skips them is up to the operator.
    fn skip_to(&mut self, key: &[TermId]) -> Result<()> {
        let _ = key;
        Ok(())
    }

    /// What the operator itself, without its inputs, has read of indexes so far.
    fn index_reads(&self) -> IndexReads {
        IndexReads::default()
    }

    /// Gives away what it was to compute on several threads, so that they do with the rows what is done next. Only before the first
    /// rows were asked for; then there are none. What must see all rows first sees them now.
    fn take_pipeline(&mut self) -> Result<Option<Pipeline>> {
        Ok(None)
    }
}

/// What an operator itself has read of the store's indexes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IndexReads {
    /// How often it looked for a place in an index.
    pub searches: u64,
    /// Rows that it read there.
    pub rows: u64,
}

/// An operator as another's input: with its current batch, and how far that was read.
pub struct Input {
    operator: Box<dyn Operator>,
    /// The current batch.
    pub batch: Batch,
    /// The first row of it that was not dealt with.
    pub at: usize,
}

impl Input {
    /// An input of this many columns.
    pub fn new(operator: Box<dyn Operator>, columns: usize) -> Self {
        Self {
            operator,
            batch: Batch::new(columns),
            at: 0,
        }
    }

    /// Replaces the batch by the next one; `false` at the end.
    pub fn fetch(&mut self) -> Result<bool> {
        self.at = 0;
        Ok(self.operator.next(&mut self.batch)? > 0)
    }

    /// The operator, before anything was fetched.
    pub fn into_operator(self) -> Box<dyn Operator> {
        self.operator
    }

    /// See [`Operator::take_pipeline`].
    pub fn take_pipeline(&mut self) -> Result<Option<Pipeline>> {
        self.operator.take_pipeline()
    }

    /// Whether all rows of the batch were dealt with.
    #[inline]
    pub fn is_used_up(&self) -> bool {
        self.at >= self.batch.rows()
    }

    /// See [`Operator::skip_to`].
    pub fn skip_to(&mut self, key: &[TermId]) -> Result<()> {
        self.operator.skip_to(key)
    }
}

/// Nothing, or one row without columns: what a query without patterns starts from.
pub struct Constant {
    rows: usize,
}

impl Constant {
    /// No row.
    pub fn empty() -> Self {
        Self { rows: 0 }
    }

    /// One row without columns.
    pub fn unit() -> Self {
        Self { rows: 1 }
    }
}

impl Operator for Constant {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        let rows = std::mem::take(&mut self.rows);
        output.set_rows(rows);
        Ok(rows)
    }
}
