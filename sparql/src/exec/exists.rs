//! `Marks`: for each row, whether the pattern of an EXISTS has a solution.
//!
//! The general way, for patterns that are no plain conjunction: the pattern is planned and run with the row's terms in the
//! place of its variables, until it gives a first row. What came out is remembered for rows with the same terms, unless
//! `RAND()` or the like may make it come out differently.

use super::batch::Batch;
use super::operator::Operator;
use crate::error::Result;
use crate::plan::build::Execution;
use crate::plan::logical::{Mark, VariableId};
use crate::plan::physical::{Planner, plan};
use crate::plan::seed::Seed;
use hashbrown::HashMap;
use quadrille_store::{Kind, TermId};
use std::sync::Arc;

/// How many outcomes are remembered; when there are more, all are forgotten.
const OUTCOMES_MAX: usize = 1 << 16;

/// Tests the pattern of an EXISTS for rows.
pub struct Probe {
    execution: Execution,
    mark: Arc<Mark>,
    seed: Seed,
    /// The variables of the rows that the pattern mentions, and their columns.
    columns: Vec<(VariableId, usize)>,
    /// `None` if the pattern may come out differently for the same terms.
    outcomes: Option<HashMap<Vec<TermId>, bool>>,
    key: Vec<TermId>,
    /// The ids of `false` and `true`.
    booleans: [TermId; 2],
}

impl Probe {
    /// Tests a mark for rows that have these variables, where others stand for terms.
    pub fn new(
        execution: &Execution,
        mark: &Arc<Mark>,
        seed: &Seed,
        variables: &[VariableId],
    ) -> Self {
        Self {
            columns: mark
                .correlated
                .iter()
                .filter_map(|variable| {
                    let column = variables.iter().position(|known| known == variable)?;
                    Some((*variable, column))
                })
                .collect(),
            booleans: [0, 1].map(|value| TermId::new(Kind::Boolean, value)),
            execution: execution.unprofiled(),
            mark: Arc::clone(mark),
            seed: seed.clone(),
            outcomes: (!mark.pattern.is_volatile()).then(HashMap::new),
            key: Vec::new(),
        }
    }

    /// Fills a column of a batch with the outcomes for its rows.
    ///
    /// # Errors
    /// If the store cannot be read, or the query is stopped.
    pub fn fill(&mut self, batch: &mut Batch, column: usize) -> Result<()> {
        for row in 0..batch.rows() {
            let outcome = self.test(batch, row)?;
            let id = self.booleans[usize::from(outcome)];
            batch.column_mut(column).push(id);
        }
        Ok(())
    }

    fn test(&mut self, batch: &Batch, row: usize) -> Result<bool> {
        self.key.clear();
        self.key.extend(
            self.columns
                .iter()
                .map(|(_, column)| batch.column(*column)[row]),
        );
        let known = self
            .outcomes
            .as_ref()
            .and_then(|known| known.get(&self.key));
        if let Some(outcome) = known {
            return Ok(*outcome);
        }
        let outcome = self.run()?;
        if let Some(outcomes) = &mut self.outcomes {
            if outcomes.len() >= OUTCOMES_MAX {
                outcomes.clear();
            }
            outcomes.insert(self.key.clone(), outcome);
        }
        Ok(outcome)
    }

    /// Runs the pattern with the terms of the key.
    fn run(&self) -> Result<bool> {
        self.execution.control.check()?;
        let variables = self.columns.iter().map(|(variable, _)| *variable);
        let seed = self.seed.with(variables.zip(self.key.iter().copied()));
        let pattern = &self.mark.pattern;
        let wanted: Vec<VariableId> = seed
            .iter()
            .map(|(variable, _)| variable)
            .filter(|variable| pattern.scope.contains(variable))
            .collect();
        let planner = Planner {
            terms: &self.execution.terms,
            options: &self.execution.options,
            seed: &seed,
            variables: self.execution.variables,
        };
        let node = plan(&planner, pattern, &wanted, None)?;
        // A subquery, or BIND, may bind a variable of the row to another term.
        let compared: Vec<(usize, TermId)> = node
            .variables
            .iter()
            .enumerate()
            .filter_map(|(column, variable)| Some((column, seed.get(*variable)?)))
            .collect();
        let mut operator = node.operator(&self.execution)?;
        let mut batch = node.batch();
        while operator.next(&mut batch)? > 0 {
            let is_compatible = |row: usize| {
                compared.iter().all(|(column, id)| {
                    let found = batch.column(*column)[row];
                    found.is_unbound() || found == *id
                })
            };
            if (0..batch.rows()).any(is_compatible) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Adds a column for each EXISTS.
pub struct Marks {
    input: Box<dyn Operator>,
    /// How many columns the input has.
    width: usize,
    probes: Vec<Probe>,
}

impl Marks {
    /// Adds the outcomes of `probes` to the rows of `input`, which has `width` columns.
    pub fn new(input: Box<dyn Operator>, width: usize, probes: Vec<Probe>) -> Self {
        Self {
            input,
            width,
            probes,
        }
    }
}

impl Operator for Marks {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        let rows = self.input.next(output)?;
        for (index, probe) in self.probes.iter_mut().enumerate() {
            probe.fill(output, self.width + index)?;
        }
        Ok(rows)
    }
}
