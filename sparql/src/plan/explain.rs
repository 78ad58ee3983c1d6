//! EXPLAIN: the physical plan as text, a line a node, inputs indented below.

use super::logical::{LogicalQuery, QuadPattern, Variables};
use super::logical::{PatternGraph, PatternTerm, VariableId};
use super::physical::{Node, Operation};
use std::fmt::Write;

/// Prints a plan.
pub fn explain(query: &LogicalQuery, patterns: &[QuadPattern], root: &Node) -> String {
    let mut text = String::new();
    Explainer {
        variables: &query.variables,
        patterns,
        text: &mut text,
    }
    .node(root, 0);
    text
}

struct Explainer<'a> {
    variables: &'a Variables,
    patterns: &'a [QuadPattern],
    text: &'a mut String,
}

impl Explainer<'_> {
    fn node(&mut self, node: &Node, depth: usize) {
        let (title, inputs): (String, Vec<&Node>) = match &node.operation {
            Operation::Empty { reason } => (format!("Empty: {reason}"), vec![]),
            Operation::Unit => ("Unit".to_owned(), vec![]),
            Operation::Scan(scan) => (
                format!("Scan {} {}", scan.order.name(), self.pattern(scan.number)),
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
                let _ = write!(title, " {}", self.pattern(*pattern));
                (title, vec![&**outer])
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
            Operation::Filter { input, conditions } => {
                let conditions: Vec<String> = conditions
                    .iter()
                    .map(|condition| condition.display(self.variables).to_string())
                    .collect();
                (
                    format!("Filter {}", conditions.join(" && ")),
                    vec![&**input],
                )
            }
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

    fn pattern(&self, number: usize) -> String {
        let pattern = &self.patterns[number];
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
            PatternGraph::Variable(variable) => {
                format!("GRAPH {} {{ {triple} }}", self.variables.display(*variable))
            }
        }
    }
}
