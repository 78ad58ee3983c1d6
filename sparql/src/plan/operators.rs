//! Plans what computes, and what puts whole groups one after another.

use super::layout::add_all;
use super::logical::{Aggregate, Group, Logical, Mark, OrderKey, VariableId};
use super::physical::{Node, Operation, Planner, Wanted, leaf, project};
use crate::error::Result;
use crate::expr::Expr;
use oxrdf::Term;
use quadrille_store::TermId;
use std::sync::Arc;

/// Rows that are expected of a block that is run for each graph.
const GRAPHS_ROWS: f64 = 1_000.0;

impl Planner<'_> {
    pub(super) fn union(
        &self,
        group: &Group,
        inputs: &[Group],
        wanted: Wanted<'_>,
    ) -> Result<Node> {
        let mut variables = Vec::new();
        let given = wanted.variables.iter().copied();
        add_all(
            &mut variables,
            given.filter(|variable| group.scope.contains(variable)),
        );
        let below = Wanted {
            variables: &variables,
            is_distinct: false,
            rows: wanted.rows,
        };
        let inputs = inputs
            .iter()
            .map(|input| {
                // What stands for a term does so in a condition above, too, whichever branch a row is of.
                let node = self.attached(self.node(input, below)?, variables.iter().copied());
                Ok(project(node, &variables))
            })
            .collect::<Result<Vec<Node>>>()?;
        Ok(Node {
            rows: inputs.iter().map(|input| input.rows).sum(),
            variables,
            sorted_by: Vec::new(),
            operation: Operation::Union { inputs },
        })
    }

    pub(super) fn marks(
        &self,
        input: &Group,
        marks: &[Arc<Mark>],
        wanted: Wanted<'_>,
    ) -> Result<Node> {
        let mut below = wanted.variables.to_vec();
        add_marked(&mut below, marks);
        Ok(self.marked(self.node(input, all_rows(&below))?, marks))
    }

    pub(super) fn marked(&self, input: Node, marks: &[Arc<Mark>]) -> Node {
        if marks.is_empty() || matches!(input.operation, Operation::Empty { .. }) {
            return input;
        }
        let mut variables = input.variables.clone();
        variables.extend(marks.iter().map(|mark| mark.variable));
        Node {
            variables,
            sorted_by: input.sorted_by.clone(),
            rows: input.rows,
            operation: Operation::Marks {
                input: Box::new(input),
                marks: marks.to_vec(),
                seed: self.seed.clone(),
            },
        }
    }

    pub(super) fn extend(
        &self,
        input: &Group,
        variable: VariableId,
        expression: &Arc<Expr>,
        wanted: Wanted<'_>,
    ) -> Result<Node> {
        if !wanted.variables.contains(&variable) {
            return self.node(input, wanted);
        }
        let mut below: Vec<VariableId> = wanted.variables.to_vec();
        below.retain(|known| *known != variable);
        let mut used = Vec::new();
        expression.variables(&mut |variable| add_all(&mut used, [variable]));
        add_all(&mut below, used.iter().copied());
        let below = Wanted {
            variables: &below,
            is_distinct: false,
            rows: wanted.rows,
        };
        let input = self.attached(self.node(input, below)?, used);
        if matches!(input.operation, Operation::Empty { .. }) {
            return Ok(input);
        }
        let mut variables = input.variables.clone();
        variables.push(variable);
        Ok(Node {
            variables,
            sorted_by: input.sorted_by.clone(),
            rows: input.rows,
            operation: Operation::Extend {
                input: Box::new(input),
                expression: Arc::clone(expression),
            },
        })
    }

    pub(super) fn values(
        &self,
        variables: &[VariableId],
        rows: &[Vec<Option<Term>>],
        wanted: Wanted<'_>,
    ) -> Result<Node> {
        let mut columns: Vec<Vec<TermId>> = vec![Vec::with_capacity(rows.len()); variables.len()];
        let mut count = 0;
        let mut ids = Vec::with_capacity(variables.len());
        for row in rows {
            ids.clear();
            for term in row {
                ids.push(match term {
                    Some(term) => self.terms.id(term)?,
                    None => TermId::UNBOUND,
                });
            }
            let is_compatible = variables.iter().zip(&ids).all(|(variable, id)| {
                id.is_unbound() || self.seed.get(*variable).is_none_or(|known| known == *id)
            });
            if is_compatible {
                for (column, id) in columns.iter_mut().zip(&ids) {
                    column.push(*id);
                }
                count += 1;
            }
        }
        let mut kept = Vec::new();
        let mut given = Vec::new();
        for (variable, column) in variables.iter().zip(columns) {
            if wanted.variables.contains(variable) && !given.contains(variable) {
                given.push(*variable);
                kept.push(column);
            }
        }
        Ok(Node {
            variables: given,
            sorted_by: Vec::new(),
            rows: count as f64,
            operation: Operation::Rows {
                columns: Arc::new(kept),
                rows: count,
            },
        })
    }

    /// A node for a [`Logical::Graphs`].
    pub(super) fn graphs(&self, group: &Group, wanted: Wanted<'_>) -> Node {
        let Logical::Graphs {
            name,
            inner,
            active,
            variable,
        } = &group.logical
        else {
            return leaf(Operation::Unit, 1.0);
        };
        let mut variables = Vec::new();
        let given = wanted.variables.iter().copied();
        add_all(
            &mut variables,
            given.filter(|variable| group.scope.contains(variable)),
        );
        Node {
            variables,
            sorted_by: Vec::new(),
            rows: GRAPHS_ROWS,
            operation: Operation::Graphs {
                name: name.clone(),
                inner: Arc::clone(inner),
                active: *active,
                variable: *variable,
                seed: self.seed.clone(),
            },
        }
    }

    pub(super) fn group_by(
        &self,
        input: &Group,
        keys: &[VariableId],
        aggregates: &[Aggregate],
    ) -> Result<Node> {
        if let Some(node) = self.counted_groups(input, keys, aggregates)? {
            return Ok(node);
        }
        let mut below = keys.to_vec();
        let mut used = Vec::new();
        for aggregate in aggregates {
            add_all(&mut below, aggregate.columns.iter().copied());
            if let Some(expression) = &aggregate.expression {
                expression.variables(&mut |variable| add_all(&mut used, [variable]));
            }
        }
        add_all(&mut below, used.iter().copied());
        let input = self.attached(self.node(input, all_rows(&below))?, used);
        let columns: Vec<Option<usize>> = keys
            .iter()
            .map(|key| input.variables.iter().position(|known| known == key))
            .collect();
        let mut variables = keys.to_vec();
        variables.extend(aggregates.iter().map(|aggregate| aggregate.variable));
        Ok(Node {
            variables,
            sorted_by: Vec::new(),
            rows: if keys.is_empty() {
                1.0
            } else {
                input.rows.sqrt().max(1.0)
            },
            operation: Operation::GroupBy {
                input: Box::new(input),
                keys: columns,
                aggregates: aggregates.to_vec(),
                is_divided: false,
            },
        })
    }

    pub(super) fn order_by(
        &self,
        input: &Group,
        keys: &[OrderKey],
        wanted: Wanted<'_>,
    ) -> Result<Node> {
        let mut used = Vec::new();
        for key in keys {
            key.expression
                .variables(&mut |variable| add_all(&mut used, [variable]));
        }
        let mut below = wanted.variables.to_vec();
        add_all(&mut below, used.iter().copied());
        let input = self.attached(self.node(input, all_rows(&below))?, used);
        if matches!(input.operation, Operation::Empty { .. }) {
            return Ok(input);
        }
        Ok(Node {
            variables: input.variables.clone(),
            sorted_by: Vec::new(),
            rows: wanted.rows.map_or(input.rows, |rows| rows.min(input.rows)),
            operation: Operation::Sort {
                input: Box::new(input),
                keys: keys.to_vec(),
                limit: wanted.rows.map(|rows| rows as u64),
            },
        })
    }
}

/// All rows, with these variables.
pub(super) fn all_rows(variables: &[VariableId]) -> Wanted<'_> {
    Wanted {
        variables,
        is_distinct: false,
        rows: None,
    }
}

/// Adds the variables that marks read.
pub(super) fn add_marked(known: &mut Vec<VariableId>, marks: &[Arc<Mark>]) {
    for mark in marks {
        add_all(known, mark.correlated.iter().copied());
    }
}
