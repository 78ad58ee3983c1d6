//! `Extend`: adds columns that are computed for each row, one after the other, each of which the next ones see.
//!
//! A value becomes an id as soon as it is computed: the store's if the store has the term, otherwise one of the
//! query's own ([`super::terms`]). If the expression fails for a row its variable stays unbound. `BNODE("a")` is the same
//! blank node in all columns of a row.
//!
//! What comes of a single variable depends on its term alone, so it is remembered for the ids seen last.

use super::batch::Batch;
use super::control::Control;
use super::filter::only_column;
use super::operator::Operator;
use super::remembered::Remembered;
use super::terms::Terms;
use crate::error::Result;
use crate::expr::{BlankNodes, Evaluator, Expr, Outcome, Wanted};
use crate::plan::logical::VariableId;
use quadrille_store::TermId;
use std::sync::Arc;

/// Adds computed columns.
pub struct Extend {
    input: Box<dyn Operator>,
    /// How many columns the input has.
    width: usize,
    computations: Vec<Computation>,
    /// The blank nodes of the batch's rows.
    blank_nodes: BlankNodes,
    control: Arc<Control>,
}

/// An expression that is computed for all rows of a batch.
pub struct Computation {
    expression: Arc<Expr>,
    evaluator: Evaluator,
    terms: Arc<Terms>,
    /// The column of the only variable.
    column: Option<usize>,
    /// For ids of that column: what the expression comes out as.
    remembered: Remembered,
    /// Rows for which it must be computed.
    rows: Vec<u32>,
}

impl Computation {
    /// An expression over rows whose columns have these variables.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn new(
        expression: &Arc<Expr>,
        variables: &[VariableId],
        terms: &Arc<Terms>,
        control: &Arc<Control>,
    ) -> Result<Self> {
        Ok(Self {
            evaluator: Evaluator::new(
                terms,
                [&**expression],
                Wanted::Outcomes,
                variables,
                control,
            )?,
            // A variable alone costs less than what would be remembered of it.
            column: match **expression {
                Expr::Variable(_) => None,
                _ => only_column(expression, variables),
            },
            remembered: Remembered::default(),
            expression: Arc::clone(expression),
            terms: Arc::clone(terms),
            rows: Vec::new(),
        })
    }

    /// Appends what the expression comes out as in the rows of a batch; unbound where it fails.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn compute(&mut self, batch: &Batch, ids: &mut Vec<TermId>) -> Result<()> {
        self.compute_with(batch, ids, &mut BlankNodes::new())
    }

    /// The same, where `BNODE` has made blank nodes for these rows before.
    fn compute_with(
        &mut self,
        batch: &Batch,
        ids: &mut Vec<TermId>,
        blank_nodes: &mut BlankNodes,
    ) -> Result<()> {
        let start = ids.len();
        ids.resize(start + batch.rows(), TermId::UNBOUND);
        let computed = &mut ids[start..];
        self.rows.clear();
        match self.column {
            None => self.rows.extend(0..batch.rows() as u32),
            // What is remembered is taken before anything new is: an id may take another's place.
            Some(column) => {
                for (row, id) in batch.column(column).iter().enumerate() {
                    match self.remembered.get(*id) {
                        Some(known) => computed[row] = known,
                        None => self.rows.push(row as u32),
                    }
                }
            }
        }
        self.evaluator.prepare(batch, &self.rows)?;
        self.evaluator.swap_blank_nodes(blank_nodes);
        for row in &self.rows {
            let row = *row as usize;
            let input = self.column.map(|column| batch.column(column)[row]);
            if let Some(known) = input.and_then(|id| self.remembered.get(id)) {
                computed[row] = known;
                continue;
            }
            let outcome = self.evaluator.outcome(&self.expression, batch, row);
            computed[row] = match outcome {
                Some(Outcome::Id(id)) => id,
                Some(Outcome::Term(term)) => self.terms.id(&term)?,
                None => TermId::UNBOUND,
            };
            if let Some(id) = input {
                self.remembered.set(id, computed[row]);
            }
        }
        self.evaluator.swap_blank_nodes(blank_nodes);
        self.evaluator.check()
    }
}

impl Extend {
    /// Adds what is computed to the rows of `input`, which has `width` columns.
    pub fn new(
        input: Box<dyn Operator>,
        width: usize,
        computations: Vec<Computation>,
        control: Arc<Control>,
    ) -> Self {
        Self {
            input,
            width,
            computations,
            blank_nodes: BlankNodes::new(),
            control,
        }
    }
}

impl Operator for Extend {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        self.control.check()?;
        let rows = self.input.next(output)?;
        self.blank_nodes.clear();
        for (index, computation) in self.computations.iter_mut().enumerate() {
            let column = self.width + index;
            let mut ids = std::mem::take(output.column_mut(column));
            ids.clear();
            computation.compute_with(output, &mut ids, &mut self.blank_nodes)?;
            *output.column_mut(column) = ids;
        }
        Ok(rows)
    }

    fn skip_to(&mut self, key: &[TermId]) -> Result<()> {
        self.input.skip_to(key)
    }
}
