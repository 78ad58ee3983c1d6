//! `Argument`: what an aggregate takes of each row.

use crate::error::Result;
use crate::exec::batch::Batch;
use crate::exec::control::Control;
use crate::exec::extend::Computation;
use crate::exec::terms::Terms;
use crate::plan::logical::{Aggregate, VariableId};
use quadrille_store::TermId;
use std::sync::Arc;

/// An aggregate over rows of some columns.
pub struct Argument {
    /// What is computed.
    pub aggregate: Aggregate,
    computation: Option<Computation>,
    /// The columns that tell rows apart, for `COUNT(DISTINCT *)`.
    columns: Vec<Option<usize>>,
    /// What the expression comes out as in the current batch.
    values: Vec<TermId>,
}

impl Argument {
    /// An aggregate over rows whose columns have these variables.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn new(
        aggregate: &Aggregate,
        variables: &[VariableId],
        terms: &Arc<Terms>,
        control: &Arc<Control>,
    ) -> Result<Self> {
        let computation = match &aggregate.expression {
            Some(expression) => Some(Computation::new(expression, variables, terms, control)?),
            None => None,
        };
        let column = |variable| variables.iter().position(|known| known == variable);
        Ok(Self {
            computation,
            columns: aggregate.columns.iter().map(column).collect(),
            aggregate: aggregate.clone(),
            values: Vec::new(),
        })
    }

    /// Whether whole rows are counted.
    pub fn takes_rows(&self) -> bool {
        self.computation.is_none()
    }

    /// How many ids tell values, or rows, apart.
    pub fn width(&self) -> usize {
        if self.takes_rows() {
            self.columns.len()
        } else {
            1
        }
    }

    /// Computes the values of a batch's rows.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn compute(&mut self, batch: &Batch) -> Result<()> {
        if let Some(computation) = &mut self.computation {
            self.values.clear();
            computation.compute(batch, &mut self.values)?;
        }
        Ok(())
    }

    /// The values of the batch that was computed last; none if rows are counted.
    pub fn values(&self) -> &[TermId] {
        &self.values
    }

    /// What tells a row of that batch apart from others.
    pub fn ids<'a>(&'a self, batch: &'a Batch, row: usize) -> impl Iterator<Item = TermId> + 'a {
        let value = self.values.get(row).copied();
        let columns = self
            .columns
            .iter()
            .map(move |column| column.map_or(TermId::UNBOUND, |column| batch.column(column)[row]));
        value.into_iter().chain(columns)
    }
}
