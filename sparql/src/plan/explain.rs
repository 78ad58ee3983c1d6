//! EXPLAIN: the physical plan as text, a line a node, inputs indented below.

use super::logical::{LogicalQuery, QuadPattern, Variables};
use super::logical::{PatternGraph, PatternTerm, VariableId};
use super::physical::{Node, Operation};
use crate::expr::Expr;
use std::fmt::Write;
use std::sync::Arc;

/// Prints a plan.
pub fn explain(query: &LogicalQuery, root: &Node) -> String {
    let mut text = String::new();
    Explainer {
        variables: &query.variables,
        text: &mut text,
    }
    .node(root, 0);
    text
}

struct Explainer<'a> {
    variables: &'a Variables,
    text: &'a mut String,
}

impl Explainer<'_> {
    fn node(&mut self, node: &Node, depth: usize) {
        let (title, inputs): (String, Vec<&Node>) = match &node.operation {
            Operation::Empty { reason } => (format!("Empty: {reason}"), vec![]),
            Operation::Unit => ("Unit".to_owned(), vec![]),
            Operation::Scan(scan) => (
                format!("Scan {} {}", scan.order.name(), self.pattern(&scan.source)),
                vec![],
            ),
            Operation::MergeJoin {
                left,
                right,
                columns,
                ..
            } => {
                let mut title = format!("MergeJoin on {}", self.columns(left, &columns.left));
                if !columns.residual.is_empty() {
                    let residual: Vec<usize> =
                        columns.residual.iter().map(|(left, _)| *left).collect();
                    let _ = write!(title, ", then {}", self.columns(left, &residual));
                }
                (title, vec![&**left, &**right])
            }
            Operation::LookupJoin {
                outer,
                lookup,
                pattern,
                ..
            } => {
                let mut title = format!(
                    "LookupJoin {} on {}{}",
                    lookup.order.name(),
                    self.columns(outer, &lookup.keys),
                    if lookup.is_sorted { " (sorted)" } else { "" },
                );
                if !lookup.residual.is_empty() {
                    let residual: Vec<usize> =
                        lookup.residual.iter().map(|(outer, _)| *outer).collect();
                    let _ = write!(title, ", then {}", self.columns(outer, &residual));
                }
                let _ = write!(title, " {}", self.pattern(pattern));
                (title, vec![&**outer])
            }
            Operation::Feed => ("Feed".to_owned(), vec![]),
            Operation::Rows { .. } => (format!("Values {}", self.names(&node.variables)), vec![]),
            Operation::Attach { input, ids } => (
                format!(
                    "Attach {}",
                    self.names(&node.variables[node.variables.len() - ids.len()..])
                ),
                vec![&**input],
            ),
            Operation::BindJoin {
                left,
                right,
                kind,
                fed,
                ..
            } => (
                format!("{}BindJoin on {}", kind.name(), self.columns(left, fed)),
                vec![&**left, &**right],
            ),
            Operation::CompatibleJoin { left, right, join } => {
                let columns: Vec<usize> = join
                    .certain
                    .iter()
                    .chain(&join.uncertain)
                    .map(|(left, _)| *left)
                    .collect();
                let mut title = format!(
                    "{}HashJoin on {}",
                    join.kind.name(),
                    self.columns(left, &columns)
                );
                if !join.uncertain.is_empty() {
                    title.push_str(" (where bound)");
                }
                if !join.conditions.is_empty() {
                    let _ = write!(title, ", if {}", self.conditions(&join.conditions));
                }
                (title, vec![&**left, &**right])
            }
            Operation::Union { inputs } => ("Union".to_owned(), inputs.iter().collect()),
            Operation::Extend { input, expression } => (
                format!(
                    "Extend {} := {}",
                    self.names(&node.variables[node.variables.len() - 1..]),
                    expression.display(self.variables)
                ),
                vec![&**input],
            ),
            Operation::Marks { input, marks, .. } => (
                format!(
                    "Exists {}",
                    self.names(&node.variables[node.variables.len() - marks.len()..])
                ),
                vec![&**input],
            ),
            Operation::Graphs { variable, .. } => {
                (format!("ForEachGraph {}", self.names(&[*variable])), vec![])
            }
            Operation::GroupBy {
                input,
                keys,
                aggregates,
            } => {
                let mut title = format!("GroupBy {}", self.names(&node.variables[..keys.len()]));
                for aggregate in aggregates {
                    let argument = aggregate.expression.as_ref().map_or_else(
                        || "*".to_owned(),
                        |expression| expression.display(self.variables).to_string(),
                    );
                    let _ = write!(
                        title,
                        " {} := {}({}{argument})",
                        self.names(&[aggregate.variable]),
                        aggregate.function.name(),
                        if aggregate.is_distinct {
                            "DISTINCT "
                        } else {
                            ""
                        },
                    );
                }
                (title, vec![&**input])
            }
            Operation::PatternCount { pattern, .. } => {
                (format!("PatternCount {}", self.pattern(pattern)), vec![])
            }
            Operation::KeyCounts {
                patterns,
                key,
                is_by_key,
                ..
            } => {
                let orders: Vec<&str> = patterns
                    .iter()
                    .map(|pattern| pattern.order.name())
                    .collect();
                let title = if *is_by_key {
                    "KeyCounts"
                } else {
                    "KeyCounts, summed,"
                };
                let (key, orders) = (self.names(&[*key]), orders.join(" "));
                (format!("{title} by {key} in {orders}"), vec![])
            }
            Operation::Sort { input, keys, limit } => {
                let mut title = "Sort by".to_owned();
                for key in keys {
                    let direction = if key.is_descending { "DESC" } else { "ASC" };
                    let expression = key.expression.display(self.variables);
                    let _ = write!(title, " {direction}({expression})");
                }
                if let Some(limit) = limit {
                    let _ = write!(title, ", first {limit}");
                }
                (title, vec![&**input])
            }
            Operation::HashJoin {
                left, right, keys, ..
            } => (
                format!("HashJoin on {}", self.columns(left, &keys.0)),
                vec![&**left, &**right],
            ),
            Operation::CrossJoin { left, right, .. } => {
                ("CrossJoin".to_owned(), vec![&**left, &**right])
            }
            Operation::Filter { input, conditions } => (
                format!("Filter {}", self.conditions(conditions)),
                vec![&**input],
            ),
            Operation::Project { input, .. } => (
                format!("Project {}", self.names(&node.variables)),
                vec![&**input],
            ),
            Operation::Distinct { input } => ("Distinct".to_owned(), vec![&**input]),
            Operation::Adjacent { input } => {
                ("Distinct (of equal neighbours)".to_owned(), vec![&**input])
            }
            Operation::Slice {
                input,
                offset,
                limit,
            } => {
                let limit = limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string());
                (
                    format!("Slice offset {offset} limit {limit}"),
                    vec![&**input],
                )
            }
        };
        let _ = write!(
            self.text,
            "{:indent$}{title}  ~{:.0} rows",
            "",
            node.rows,
            indent = depth * 2
        );
        if !node.sorted_by.is_empty() {
            let _ = write!(self.text, ", sorted by {}", self.names(&node.sorted_by));
        }
        self.text.push('\n');
        for input in inputs {
            self.node(input, depth + 1);
        }
    }

    fn conditions(&self, conditions: &[Arc<Expr>]) -> String {
        let conditions: Vec<String> = conditions
            .iter()
            .map(|condition| condition.display(self.variables).to_string())
            .collect();
        conditions.join(" && ")
    }

    fn columns(&self, node: &Node, columns: &[usize]) -> String {
        let variables: Vec<VariableId> = columns
            .iter()
            .map(|column| node.variables[*column])
            .collect();
        self.names(&variables)
    }

    fn names(&self, variables: &[VariableId]) -> String {
        let names: Vec<String> = variables
            .iter()
            .map(|variable| self.variables.display(*variable))
            .collect();
        names.join(" ")
    }

    fn pattern(&self, pattern: &QuadPattern) -> String {
        let term = |term: &PatternTerm| match term {
            PatternTerm::Variable(variable) => self.variables.display(*variable),
            PatternTerm::Constant(term) => term.to_string(),
        };
        let triple = format!(
            "{} {} {}",
            term(&pattern.subject),
            term(&pattern.predicate),
            term(&pattern.object)
        );
        match &pattern.graph {
            PatternGraph::Default => format!("{{ {triple} }}"),
            PatternGraph::Named(name) => format!("GRAPH {name} {{ {triple} }}"),
            PatternGraph::Variable(variable) | PatternGraph::Active(variable) => {
                format!("GRAPH {} {{ {triple} }}", self.variables.display(*variable))
            }
        }
    }
}
