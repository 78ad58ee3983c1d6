//! Makes operators of the nodes of a plan.

use super::physical::{Node, Operation};
use crate::error::Result;
use crate::exec::batch::Batch;
use crate::exec::control::Control;
use crate::exec::cross_join::CrossJoin;
use crate::exec::distinct::{Adjacent, Distinct};
use crate::exec::filter::Filter;
use crate::exec::hash_join::HashJoin;
use crate::exec::lookup_join::LookupJoin;
use crate::exec::merge_join::MergeJoin;
use crate::exec::operator::{Constant, Input, Operator};
use crate::exec::project::Project;
use crate::exec::scan::ScanOperator;
use crate::exec::slice::Slice;
use quadrille_store::Snapshot;
use std::sync::Arc;

/// What the operators of a running query are made with.
#[derive(Clone)]
pub struct Execution {
    /// What is read.
    pub snapshot: Snapshot,
    /// What stops it.
    pub control: Arc<Control>,
}

impl Node {
    /// Makes the operator of this node, with those below it.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn operator(&self, execution: &Execution) -> Result<Box<dyn Operator>> {
        let control = || Arc::clone(&execution.control);
        Ok(match &self.operation {
            Operation::Empty { .. } => Box::new(Constant::empty()),
            Operation::Unit => Box::new(Constant::unit()),
            Operation::Scan(scan) => Box::new(ScanOperator::new(
                execution
                    .snapshot
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
                execution.snapshot.clone(),
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
                &execution.snapshot,
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

    fn input(&self, execution: &Execution) -> Result<Input> {
        Ok(Input::new(self.operator(execution)?, self.variables.len()))
    }

    /// A batch for the rows of this node.
    pub fn batch(&self) -> Batch {
        Batch::new(self.variables.len())
    }
}
