//! `Filter`: keeps the rows that meet all conditions.
//!
//! Conditions are tried one after the other, each on the rows that met those before it. What a condition of a single
//! variable comes out as depends on the variable's term alone, so it is remembered for the ids seen last.

use super::batch::Batch;
use super::control::Control;
use super::hash::mix;
use super::operator::Operator;
use super::terms::Terms;
use crate::error::Result;
use crate::expr::{Evaluator, Expr, Wanted};
use crate::plan::logical::VariableId;
use quadrille_store::TermId;
use std::sync::Arc;

/// Ids whose outcome a condition remembers; a power of two.
const MEMORY_ENTRIES: usize = 1 << 11;

/// Keeps the rows that meet all conditions.
pub struct Filter {
    input: Box<dyn Operator>,
    conditions: Conditions,
    control: Arc<Control>,
    /// The rows that met the conditions so far.
    selection: Vec<u32>,
}

/// Conditions on rows with certain columns.
pub struct Conditions {
    conditions: Vec<Condition>,
    /// Rows for which a condition must be computed.
    unknown: Vec<u32>,
}

impl Conditions {
    /// Conditions on rows whose columns have these variables.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn new(
        variables: &[VariableId],
        conditions: &[Arc<Expr>],
        terms: &Arc<Terms>,
        control: &Arc<Control>,
    ) -> Result<Self> {
        let conditions = conditions
            .iter()
            .map(|expression| {
                Ok(Condition {
                    evaluator: Evaluator::new(
                        terms,
                        [&**expression],
                        Wanted::Truth,
                        variables,
                        control,
                    )?,
                    column: only_column(expression, variables),
                    expression: Arc::clone(expression),
                    memory: Vec::new(),
                    outcomes: Vec::new(),
                })
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            conditions,
            unknown: Vec::new(),
        })
    }

    /// No conditions: every row meets them.
    pub fn none() -> Self {
        Self {
            conditions: Vec::new(),
            unknown: Vec::new(),
        }
    }

    /// Keeps the rows of the selection that meet all conditions.
    ///
    /// # Errors
    /// If the store cannot be read, or the query is stopped.
    pub fn apply(&mut self, batch: &Batch, selection: &mut Vec<u32>) -> Result<()> {
        for condition in &mut self.conditions {
            if selection.is_empty() {
                break;
            }
            condition.apply(batch, selection, &mut self.unknown)?;
            condition.evaluator.check()?;
        }
        Ok(())
    }
}

struct Condition {
    expression: Arc<Expr>,
    evaluator: Evaluator,
    /// The column of the only variable.
    column: Option<usize>,
    /// For ids, by their hash: whether the condition is met. Empty until it is needed.
    memory: Vec<(TermId, bool)>,
    /// For the rows of the selection: what is remembered.
    outcomes: Vec<Option<bool>>,
}

impl Filter {
    /// Keeps the rows of `input`, whose columns have these variables, for which every condition is true.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn new(
        input: Box<dyn Operator>,
        variables: &[VariableId],
        conditions: &[Arc<Expr>],
        terms: &Arc<Terms>,
        control: Arc<Control>,
    ) -> Result<Self> {
        Ok(Self {
            input,
            conditions: Conditions::new(variables, conditions, terms, &control)?,
            control,
            selection: Vec::new(),
        })
    }
}

/// The column of an expression's variable, if it has only one and its term decides alone.
pub(super) fn only_column(expression: &Expr, variables: &[VariableId]) -> Option<usize> {
    if expression.is_volatile() {
        return None;
    }
    let (mut only, mut others) = (None, false);
    expression.variables(&mut |variable| {
        others |= only.is_some_and(|known| known != variable);
        only = Some(variable);
    });
    let only = only.filter(|_| !others)?;
    variables.iter().position(|known| *known == only)
}

impl Condition {
    /// Keeps the rows of the selection that meet the condition.
    fn apply(
        &mut self,
        batch: &Batch,
        selection: &mut Vec<u32>,
        unknown: &mut Vec<u32>,
    ) -> Result<()> {
        let Some(column) = self.column else {
            self.evaluator.prepare(batch, selection)?;
            selection.retain(|row| {
                self.evaluator
                    .is_true(&self.expression, batch, *row as usize)
            });
            return Ok(());
        };
        if self.memory.is_empty() {
            self.memory.resize(MEMORY_ENTRIES, (TermId::MAX, false));
        }
        let ids = batch.column(column);
        // What is remembered is taken before anything new is: an entry may be given to another id of this batch.
        let memory = &self.memory;
        unknown.clear();
        self.outcomes.clear();
        self.outcomes.extend(selection.iter().map(|row| {
            let id = ids[*row as usize];
            let (known, is_true) = memory[entry_of(id)];
            if known == id {
                return Some(is_true);
            }
            unknown.push(*row);
            None
        }));
        if !unknown.is_empty() {
            self.evaluator.prepare(batch, unknown)?;
        }
        let mut outcomes = self.outcomes.iter();
        selection.retain(|row| {
            if let Some(is_true) = outcomes.next().expect("an outcome for each row") {
                return *is_true;
            }
            let id = ids[*row as usize];
            let entry = &mut self.memory[entry_of(id)];
            if entry.0 != id {
                *entry = (
                    id,
                    self.evaluator
                        .is_true(&self.expression, batch, *row as usize),
                );
            }
            entry.1
        });
        Ok(())
    }
}

fn entry_of(id: TermId) -> usize {
    mix(id.bits()) as usize % MEMORY_ENTRIES
}

impl Operator for Filter {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        loop {
            self.control.check()?;
            if self.input.next(output)? == 0 {
                return Ok(0);
            }
            self.selection.clear();
            self.selection.extend(0..output.rows() as u32);
            self.conditions.apply(output, &mut self.selection)?;
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
