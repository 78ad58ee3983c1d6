//! EXPLAIN: what the nodes of a physical plan do, in words.

use super::explanation::Explanation;
use super::logical::{LogicalQuery, QuadPattern, Variables};
use super::logical::{PatternGraph, PatternTerm, VariableId};
use super::physical::{Node, Operation, PathNode};
use crate::exec::path::{End, Start};
use crate::exec::profile::Profile;
use crate::exec::triple_terms::Part;
use crate::expr::Expr;
use std::fmt::Write;
use std::sync::Arc;

/// Explains a plan, with what its nodes did if that was measured.
pub fn explain(query: &LogicalQuery, root: &Node, profile: Option<&Profile>) -> Explanation {
    let explainer = Explainer {
        variables: &query.variables,
        profile,
    };
    let mut explanation = explainer.node(root);
    explanation.set_own_times();
    explanation
}

struct Explainer<'a> {
    variables: &'a Variables,
    profile: Option<&'a Profile>,
}

impl Explainer<'_> {
    fn node(&self, node: &Node) -> Explanation {
        let (title, inputs): (String, Vec<&Node>) = match &node.operation {
            Operation::Empty { reason } => (format!("Empty: {reason}"), vec![]),
            Operation::Unit => ("Unit".to_owned(), vec![]),
            Operation::Scan(scan) => (
                format!(
                    "{}Scan {}{} {}",
                    if scan.is_divided { "Divided" } else { "" },
                    scan.order.name(),
                    if scan.is_narrowed { " in ranges" } else { "" },
                    self.pattern(&scan.source)
                ),
                vec![],
            ),
            Operation::Gather { input, threads, .. } => {
                (format!("Gather from {threads} threads"), vec![&**input])
            }
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
            Operation::SortedJoin {
                left,
                right,
                keys,
                kind,
                ..
            } => (
                format!(
                    "{}MergeJoin on {}",
                    kind.name(),
                    self.columns(left, &[keys.0])
                ),
                vec![&**left, &**right],
            ),
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
            Operation::LeapfrogJoin {
                outer,
                variable,
                lists,
                ..
            } => {
                let mut title = format!("LeapfrogJoin for {}", self.names(&[*variable]));
                for (index, (list, pattern)) in lists.iter().enumerate() {
                    let _ = write!(
                        title,
                        "{} {} on {}{} {}",
                        if index == 0 { " in" } else { "," },
                        list.order.name(),
                        self.columns(outer, &list.keys),
                        if list.is_sorted { " (sorted)" } else { "" },
                        self.pattern(pattern)
                    );
                }
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
            Operation::TripleTerms {
                input,
                source,
                parts,
                ..
            } => {
                let [subject, predicate, object] = source.parts().map(|part| self.term(part));
                let title = match parts[0] {
                    Part::Column(_) => "TripleTermTakenApart",
                    _ => "TripleTermJoin",
                };
                let term = self.names(&[source.term]);
                let title = format!("{title} {term} = <<( {subject} {predicate} {object} )>>");
                (title, vec![&**input])
            }
            Operation::Path { input, path } => (self.path(path), vec![&**input]),
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
            Operation::Service { input, call, .. } => (
                format!("Service {}", call.text),
                input.iter().map(|input| &**input).collect(),
            ),
            Operation::Graphs { variable, .. } => {
                (format!("ForEachGraph {}", self.names(&[*variable])), vec![])
            }
            Operation::GroupBy {
                input,
                keys,
                aggregates,
                is_divided,
            } => {
                let how = if *is_divided { "Divided" } else { "" };
                let names = self.names(&node.variables[..keys.len()]);
                let mut title = format!("{how}GroupBy {names}");
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
                threads,
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
                let threads = match threads {
                    1 => String::new(),
                    threads => format!(" on {threads} threads"),
                };
                (format!("{title} by {key} in {orders}{threads}"), vec![])
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
            Operation::Construct { input, template } => (
                format!("Construct {} triples", template.len()),
                vec![&**input],
            ),
            Operation::Describe { input, named } => (
                format!(
                    "Describe {} named resources and {}",
                    named.len(),
                    self.names(&input.variables)
                ),
                vec![&**input],
            ),
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
        let sorted_by = node.sorted_by.iter();
        Explanation {
            operation: title,
            estimated_rows: node.rows,
            sorted_by: sorted_by
                .map(|variable| self.variables.display(*variable))
                .collect(),
            actual: self.profile.and_then(|profile| profile.actual(node)),
            inputs: inputs.into_iter().map(|input| self.node(input)).collect(),
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

    fn path(&self, path: &PathNode) -> String {
        let source = &path.source;
        let (subject, object) = (self.term(&source.subject), self.term(&source.object));
        let kind = match path.end {
            End::Free | End::Start => "PathJoin",
            End::Constant(_) | End::Column(_) => "PathTest",
        };
        let (start, end) = if path.is_backward {
            (&object, &subject)
        } else {
            (&subject, &object)
        };
        let start = match path.start {
            Start::Every => format!("every {start}"),
            Start::Constant(_) | Start::Column(_) => start.clone(),
        };
        let pattern = self.in_graph(
            &source.graph,
            &format!("{subject} {} {object}", source.text),
        );
        format!("{kind} from {start} to {end} {pattern}")
    }

    fn term(&self, term: &PatternTerm) -> String {
        match term {
            PatternTerm::Variable(variable) => self.variables.display(*variable),
            PatternTerm::Constant(constant) => constant.term.to_string(),
        }
    }

    fn pattern(&self, pattern: &QuadPattern) -> String {
        let triple = format!(
            "{} {} {}",
            self.term(&pattern.subject),
            self.term(&pattern.predicate),
            self.term(&pattern.object)
        );
        self.in_graph(&pattern.graph, &triple)
    }

    fn in_graph(&self, graph: &PatternGraph, triple: &str) -> String {
        match graph {
            PatternGraph::Default => format!("{{ {triple} }}"),
            PatternGraph::Named(name) => format!("GRAPH {name} {{ {triple} }}"),
            PatternGraph::Variable(variable) | PatternGraph::Active(variable) => {
                format!("GRAPH {} {{ {triple} }}", self.variables.display(*variable))
            }
        }
    }
}
