//! Makes operators of the nodes of a plan.

use super::PlannerOptions;
use super::logical::{Mark, VariableId};
use super::physical::{Node, Operation};
use super::seed::Seed;
use crate::error::Result;
use crate::exec::batch::Batch;
use crate::exec::bind_join::{BindJoin, Feed};
use crate::exec::compatible_join::CompatibleJoin;
use crate::exec::control::Control;
use crate::exec::cross_join::CrossJoin;
use crate::exec::distinct::{Adjacent, Distinct};
use crate::exec::exists::{Marks, Probe};
use crate::exec::extend::{Computation, Extend};
use crate::exec::filter::{Conditions, Filter};
use crate::exec::graphs::Graphs;
use crate::exec::group::GroupBy;
use crate::exec::hash_join::HashJoin;
use crate::exec::key_counts::KeyCounts;
use crate::exec::lookup_join::LookupJoin;
use crate::exec::merge_join::MergeJoin;
use crate::exec::operator::{Constant, Input, Operator};
use crate::exec::project::Project;
use crate::exec::scan::ScanOperator;
use crate::exec::slice::Slice;
use crate::exec::sort::Sort;
use crate::exec::terms::Terms;
use crate::exec::union::{Attach, Rows, Union};
use std::sync::Arc;

/// What the operators of a running query are made with.
#[derive(Clone)]
pub struct Execution {
    /// What is read, and what is computed.
    pub terms: Arc<Terms>,
    /// What stops it.
    pub control: Arc<Control>,
    /// What the planner may use, for parts that are planned while the query runs.
    pub options: Arc<PlannerOptions>,
    /// How many variables the query has.
    pub variables: usize,
    /// The rows that the right side of a [`BindJoin`] begins with.
    pub feed: Option<Arc<Batch>>,
}

impl std::fmt::Debug for Execution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Execution").finish_non_exhaustive()
    }
}

impl Node {
    /// Makes one operator of an assignment and those right below it.
    fn extend(&self, execution: &Execution) -> Result<Box<dyn Operator>> {
        let mut computations = Vec::new();
        let mut node = self;
        while let Operation::Extend { input, expression } = &node.operation {
            computations.push(Computation::new(
                expression,
                &input.variables,
                &execution.terms,
                &execution.control,
            )?);
            node = input;
        }
        computations.reverse();
        Ok(Box::new(Extend::new(
            node.operator(execution)?,
            node.variables.len(),
            computations,
            Arc::clone(&execution.control),
        )))
    }

    /// Makes the operator of this node, with those below it.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn operator(&self, execution: &Execution) -> Result<Box<dyn Operator>> {
        let control = || Arc::clone(&execution.control);
        Ok(match &self.operation {
            Operation::Empty { .. } => Box::new(Constant::empty()),
            Operation::Unit => Box::new(Constant::unit()),
            Operation::Feed => match &execution.feed {
                Some(batch) => Box::new(Feed::new(batch.as_ref().clone())),
                None => Box::new(Constant::empty()),
            },
            Operation::Rows { columns, rows } => {
                Box::new(Rows::new(Arc::clone(columns), *rows, control()))
            }
            Operation::Attach { input, ids } => Box::new(Attach::new(
                input.operator(execution)?,
                input.variables.len(),
                ids.clone(),
            )),
            Operation::Union { inputs } => Box::new(Union::new(
                inputs
                    .iter()
                    .map(|input| input.operator(execution))
                    .collect::<Result<Vec<_>>>()?,
            )),
            Operation::BindJoin { .. } | Operation::CompatibleJoin { .. } => {
                self.group_join(execution)?
            }
            Operation::Extend { .. } => self.extend(execution)?,
            Operation::Marks { input, marks, seed } => Box::new(Marks::new(
                input.operator(execution)?,
                input.variables.len(),
                probes(execution, marks, seed, &input.variables),
            )),
            Operation::Graphs {
                name,
                inner,
                active,
                variable,
                seed,
            } => Box::new(Graphs::new(
                execution,
                name.as_ref(),
                inner,
                *active,
                *variable,
                seed,
                &self.variables,
            )),
            Operation::GroupBy {
                input,
                keys,
                aggregates,
            } => Box::new(GroupBy::new(
                input.input(execution)?,
                keys.clone(),
                aggregates,
                &input.variables,
                &execution.terms,
                control(),
            )?),
            Operation::PatternCount { ids, .. } => {
                let columns = ids.iter().map(|id| vec![*id]).collect();
                Box::new(Rows::new(Arc::new(columns), 1, control()))
            }
            Operation::KeyCounts {
                patterns,
                counted,
                is_by_key,
                ..
            } => Box::new(KeyCounts::new(
                patterns,
                counted.clone(),
                *is_by_key,
                &execution.terms,
                control(),
            )?),
            Operation::Sort { input, keys, limit } => Box::new(Sort::new(
                input.input(execution)?,
                keys,
                *limit,
                &input.variables,
                &execution.terms,
                control(),
            )?),
            Operation::Scan(scan) => Box::new(ScanOperator::new(
                execution
                    .terms
                    .snapshot()
                    .scan(&scan.pattern, scan.order, scan.wanted)?,
                scan.width,
                scan.outputs.clone(),
                scan.equal.clone(),
                control(),
            )),
            Operation::MergeJoin {
                left,
                right,
                columns,
                outputs,
            } => Box::new(MergeJoin::new(
                left.input(execution)?,
                right.input(execution)?,
                columns.clone(),
                outputs.clone(),
                control(),
            )),
            Operation::LookupJoin {
                outer,
                lookup,
                outputs,
                ..
            } => Box::new(LookupJoin::new(
                outer.input(execution)?,
                execution.terms.snapshot().clone(),
                lookup.clone(),
                outputs.clone(),
                control(),
            )),
            Operation::HashJoin {
                left,
                right,
                keys,
                outputs,
            } => Box::new(HashJoin::new(
                left.input(execution)?,
                right.operator(execution)?,
                right.variables.len(),
                keys.0.clone(),
                keys.1.clone(),
                outputs.clone(),
                control(),
            )),
            Operation::CrossJoin {
                left,
                right,
                outputs,
            } => {
                let (right, execution_again) = (Arc::clone(right), execution.clone());
                Box::new(CrossJoin::new(
                    left.input(execution)?,
                    Box::new(move || right.input(&execution_again)),
                    outputs.clone(),
                    control(),
                ))
            }
            Operation::Filter { input, conditions } => Box::new(Filter::new(
                input.operator(execution)?,
                &input.variables,
                conditions,
                &execution.terms,
                control(),
            )?),
            Operation::Project { input, sources } => Box::new(Project::new(
                input.operator(execution)?,
                input.variables.len(),
                sources.clone(),
            )),
            Operation::Distinct { input } => Box::new(Distinct::new(
                input.operator(execution)?,
                self.variables.len(),
            )),
            Operation::Adjacent { input } => Box::new(Adjacent::new(
                input.operator(execution)?,
                self.variables.len(),
            )),
            Operation::Slice {
                input,
                offset,
                limit,
            } => Box::new(Slice::new(input.operator(execution)?, *offset, *limit)),
        })
    }

    /// Makes a join of whole groups.
    fn group_join(&self, execution: &Execution) -> Result<Box<dyn Operator>> {
        let control = Arc::clone(&execution.control);
        Ok(match &self.operation {
            Operation::BindJoin {
                left,
                right,
                fed,
                kind,
                outputs,
            } => {
                let (right, above) = (Arc::clone(right), execution.clone());
                let number = right.variables.len().saturating_sub(1);
                let factory = move |batch: Batch| {
                    let execution = Execution {
                        feed: Some(Arc::new(batch)),
                        ..above.clone()
                    };
                    right.input(&execution)
                };
                Box::new(BindJoin::new(
                    left.input(execution)?,
                    Box::new(factory),
                    fed.clone(),
                    number,
                    *kind,
                    outputs.clone(),
                    control,
                ))
            }
            Operation::CompatibleJoin { left, right, join } => {
                let mut variables: Vec<VariableId> =
                    join.merged.iter().map(|(variable, _)| *variable).collect();
                let probes = probes(execution, &join.marks, &join.seed, &variables);
                variables.extend(join.marks.iter().map(|mark| mark.variable));
                Box::new(CompatibleJoin::new(
                    left.input(execution)?,
                    right.operator(execution)?,
                    right.variables.len(),
                    join,
                    Conditions::new(
                        &variables,
                        &join.conditions,
                        &execution.terms,
                        &execution.control,
                    )?,
                    probes,
                    control,
                ))
            }
            _ => Box::new(Constant::empty()),
        })
    }

    fn input(&self, execution: &Execution) -> Result<Input> {
        Ok(Input::new(self.operator(execution)?, self.variables.len()))
    }

    /// A batch for the rows of this node.
    pub fn batch(&self) -> Batch {
        Batch::new(self.variables.len())
    }
}

fn probes(
    execution: &Execution,
    marks: &[Arc<Mark>],
    seed: &Seed,
    variables: &[VariableId],
) -> Vec<Probe> {
    marks
        .iter()
        .map(|mark| Probe::new(execution, mark, seed, variables))
        .collect()
}
