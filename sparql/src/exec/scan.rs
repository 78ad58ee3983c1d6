//! `ScanOperator`: the rows of a quad pattern, in one of the store's sorted orders.

use super::batch::Batch;
use super::control::Control;
use super::operator::{IndexReads, Operator};
use crate::error::Result;
use quadrille_store::TermId;
use quadrille_store::merge::Scan;
use std::sync::Arc;

/// Reads a pattern's rows.
pub struct ScanOperator {
    scan: Scan,
    control: Arc<Control>,
    /// What the scan fills: the order's columns after the pattern's bound ones.
    columns: Batch,
    /// For each column of the output, the column of the scan.
    outputs: Vec<usize>,
    /// Pairs of the scan's columns that have the same variable.
    equal: Vec<(usize, usize)>,
    selection: Vec<u32>,
    reads: IndexReads,
}

impl ScanOperator {
    /// Reads a scan of `width` columns, gives `outputs` of them, and only rows where the columns of each pair in `equal`
    /// are the same.
    pub fn new(
        scan: Scan,
        width: usize,
        outputs: Vec<usize>,
        equal: Vec<(usize, usize)>,
        control: Arc<Control>,
    ) -> Self {
        Self {
            scan,
            control,
            columns: Batch::new(width),
            outputs,
            equal,
            selection: Vec::new(),
            reads: IndexReads {
                searches: 1,
                rows: 0,
            },
        }
    }
}

impl Operator for ScanOperator {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        loop {
            self.control.check()?;
            self.columns.clear();
            let rows = self
                .scan
                .fill(self.columns.columns_mut(), self.control.batch_rows())?;
            if rows == 0 {
                return Ok(0);
            }
            self.reads.rows += rows as u64;
            self.columns.set_rows(rows);
            if !self.equal.is_empty() {
                keep_equal(&mut self.columns, &self.equal, &mut self.selection);
                if self.columns.rows() == 0 {
                    continue;
                }
            }
            for (index, column) in self.outputs.iter().enumerate() {
                output.swap_column(index, &mut self.columns, *column);
            }
            output.set_rows(self.columns.rows());
            return Ok(output.rows());
        }
    }

    fn skip_to(&mut self, key: &[TermId]) -> Result<()> {
        self.reads.searches += 1;
        Ok(self.scan.seek(key)?)
    }

    fn index_reads(&self) -> IndexReads {
        self.reads
    }
}

/// Keeps the rows where the columns of each pair are the same.
pub fn keep_equal(batch: &mut Batch, equal: &[(usize, usize)], selection: &mut Vec<u32>) {
    selection.clear();
    for row in 0..batch.rows() {
        if equal
            .iter()
            .all(|(left, right)| batch.column(*left)[row] == batch.column(*right)[row])
        {
            selection.push(row as u32);
        }
    }
    batch.select(selection);
}
