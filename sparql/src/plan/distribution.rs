//! A conjunction joined with a UNION: the union of the conjunction's joins with the branches, where that costs less.
//!
//! Joins distribute over unions of multisets. Joined branch by branch, a selective conjunction can be looked up in each
//! branch; otherwise the branches are read whole and joined by hashing. It is done where every branch is a conjunction too,
//! so that each join is one conjunction and its order is chosen as a whole.

use super::cost;
use super::layout::add_all;
use super::logical::{Conjunction, Group, Logical, VariableId};
use super::physical::{Node, Operation, Planner, Wanted, project};
use crate::error::Result;

impl Planner<'_> {
    /// The node of a join of a conjunction and a UNION, if it is better done branch by branch.
    pub(super) fn distributed(&self, inputs: &[Group], wanted: Wanted<'_>) -> Result<Option<Node>> {
        let ([
            Logical::Conjunction(conjunction),
            Logical::Union { inputs: branches },
        ]
        | [
            Logical::Union { inputs: branches },
            Logical::Conjunction(conjunction),
        ]) = (match inputs {
            [left, right] => [&left.logical, &right.logical],
            _ => return Ok(None),
        })
        else {
            return Ok(None);
        };
        if !self.options.union_distribution {
            return Ok(None);
        }
        let mut variables: Vec<VariableId> = Vec::new();
        let bound =
            |variable: &VariableId| inputs.iter().any(|input| input.scope.contains(variable));
        add_all(
            &mut variables,
            wanted.variables.iter().copied().filter(bound),
        );
        let wanted = Wanted {
            variables: &variables,
            is_distinct: false,
            rows: wanted.rows,
        };
        let (node, alone) = self.costed_conjunction(conjunction, wanted)?;
        let mut apart = alone + node.rows * cost::FILE;
        let mut together = 0.0;
        let mut joins = Vec::with_capacity(branches.len());
        for branch in branches {
            let Logical::Conjunction(branch) = &branch.logical else {
                return Ok(None);
            };
            let (node, alone) = self.costed_conjunction(branch, wanted)?;
            apart += alone + node.rows * cost::PROBE;
            let join = Conjunction {
                patterns: [&*conjunction.patterns, &*branch.patterns].concat(),
                filters: [&*conjunction.filters, &*branch.filters].concat(),
            };
            let (node, joined) = self.costed_conjunction(&join, wanted)?;
            together += joined;
            joins.push(project(node, &variables));
        }
        if together >= apart {
            return Ok(None);
        }
        Ok(Some(Node {
            rows: joins.iter().map(|join| join.rows).sum(),
            variables,
            sorted_by: Vec::new(),
            operation: Operation::Union { inputs: joins },
        }))
    }
}
