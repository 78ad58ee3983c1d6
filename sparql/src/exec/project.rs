//! `Project`: the columns that are asked for, in their order.

use super::batch::Batch;
use super::gather::Pipeline;
use super::operator::Operator;
use crate::error::Result;
use quadrille_store::TermId;

/// Picks and arranges columns.
pub struct Project {
    input: Box<dyn Operator>,
    batch: Batch,
    /// For each output column, the input's; `None` for a variable that nothing binds.
    sources: Vec<Option<usize>>,
}

impl Project {
    /// Columns of `input`, which has `width`.
    pub fn new(input: Box<dyn Operator>, width: usize, sources: Vec<Option<usize>>) -> Self {
        Self {
            input,
            batch: Batch::new(width),
            sources,
        }
    }
}

impl Operator for Project {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        let rows = self.input.next(&mut self.batch)?;
        for (index, source) in self.sources.iter().enumerate() {
            match source {
                // A column that is asked for twice must stay for the second time.
                Some(column) if self.sources[index + 1..].contains(source) => {
                    output
                        .column_mut(index)
                        .extend_from_slice(self.batch.column(*column));
                }
                Some(column) => output.swap_column(index, &mut self.batch, *column),
                None => output.column_mut(index).resize(rows, TermId::UNBOUND),
            }
        }
        output.set_rows(rows);
        Ok(rows)
    }

    fn skip_to(&mut self, key: &[TermId]) -> Result<()> {
        self.input.skip_to(key)
    }

    fn take_pipeline(&mut self) -> Result<Option<Pipeline>> {
        let (width, sources) = (self.batch.width(), self.sources.clone());
        let pipeline = self.input.take_pipeline()?;
        Ok(pipeline.map(|pipeline| {
            pipeline.map(sources.len(), move |part| {
                Box::new(Self::new(part, width, sources.clone()))
            })
        }))
    }
}
