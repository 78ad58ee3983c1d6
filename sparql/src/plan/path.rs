//! Plans property paths with repetition: from which end they are searched, and over which rows.
//!
//! How far a path leads nobody knows beforehand. What is known are the quads of its steps, so a start is expected to reach a
//! few times as many nodes as a step has targets, and never more than there are.

use super::cardinality::{distinct_terms, resolve_graph};
use super::cost;
use super::layout::add_all;
use super::logical::{PathPattern, PatternTerm, VariableId};
use super::physical::{Node, Operation, PathNode, Planner, leaf};
use crate::error::Result;
use crate::exec::path::{End, Machine, PathSource, Start};
use quadrille_store::{GraphSelector, Position, TermId};
use std::sync::Arc;

/// How many times as far as a single step a path with repetition is expected to lead.
const REPEATED: f64 = 8.0;

/// A path with what the snapshot says of it.
#[derive(Debug)]
pub(super) struct CountedPath {
    source: Arc<PathPattern>,
    graph: GraphSelector,
    /// From subject to object, and back.
    machines: [Arc<Machine>; 2],
    /// The subject and the object.
    ends: [Place; 2],
    /// How many nodes are expected to be starts of paths, and ends.
    nodes: [f64; 2],
    /// How many nodes a subject is expected to lead to, and an object.
    reach: [f64; 2],
}

/// A place of a pattern, with the id of its term.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Variable(VariableId),
    Constant(TermId),
}

impl Place {
    /// The variable, if it is one.
    pub(super) fn variable(self) -> Option<VariableId> {
        match self {
            Self::Variable(variable) => Some(variable),
            Self::Constant(_) => None,
        }
    }
}

impl CountedPath {
    /// The variables of its ends, each once.
    pub(super) fn variables(&self) -> Vec<VariableId> {
        let mut variables = Vec::new();
        add_all(
            &mut variables,
            self.ends.into_iter().filter_map(Place::variable),
        );
        variables
    }

    /// How many pairs it is expected to have.
    pub(super) fn rows(&self) -> f64 {
        match self.ends {
            [Place::Constant(_), Place::Constant(_)] => 1.0,
            [Place::Constant(_), Place::Variable(_)] => self.reach[0],
            [Place::Variable(_), Place::Constant(_)] => self.reach[1],
            [Place::Variable(subject), Place::Variable(object)] => {
                if subject == object {
                    self.nodes[0]
                } else {
                    self.nodes[0] * self.reach[0]
                }
            }
        }
    }

    /// How many rows it is expected to make of a number of rows that bind some of its ends.
    pub(super) fn rows_over(&self, rows: f64, is_bound: impl Fn(VariableId) -> bool) -> f64 {
        match self.sides_bound(is_bound) {
            [true, true] => rows * (self.reach[0] / self.nodes[1].max(1.0)).min(1.0),
            [true, false] => rows * self.reach[0],
            [false, true] => rows * self.reach[1],
            [false, false] => rows * self.rows(),
        }
    }

    /// Nanoseconds to search it from rows that bind some of its ends.
    pub(super) fn cost_over(&self, rows: f64, is_bound: impl Fn(VariableId) -> bool) -> f64 {
        let sides = self.sides_bound(is_bound);
        let visited = match sides {
            [true, true] => rows * self.reach[0].min(self.reach[1]),
            [true, false] => rows * self.reach[0],
            [false, true] => rows * self.reach[1],
            [false, false] => self.rows(),
        };
        let all = self.machines[0].rows() as f64;
        (visited * cost::SEEK).min(all * cost::STEP) + visited * cost::GIVE
    }

    /// Nanoseconds to search it by itself.
    pub(super) fn cost(&self) -> f64 {
        self.cost_over(1.0, |_| false)
    }

    fn sides_bound(&self, is_bound: impl Fn(VariableId) -> bool) -> [bool; 2] {
        self.ends.map(|end| match end {
            Place::Constant(_) => true,
            Place::Variable(variable) => is_bound(variable),
        })
    }

    /// The path by itself.
    pub(super) fn node(&self) -> Node {
        let unit = leaf(Operation::Unit, 1.0);
        match self.ends {
            [Place::Variable(subject), Place::Variable(object)] => {
                let is_backward = self.nodes[1] < self.nodes[0];
                if subject == object {
                    let outputs = vec![PathSource::Start];
                    return self.over(
                        unit,
                        is_backward,
                        (Start::Every, End::Start),
                        vec![subject],
                        outputs,
                    );
                }
                let variables = vec![subject, object];
                let outputs = if is_backward {
                    vec![PathSource::End, PathSource::Start]
                } else {
                    vec![PathSource::Start, PathSource::End]
                };
                self.over(
                    unit,
                    is_backward,
                    (Start::Every, End::Free),
                    variables,
                    outputs,
                )
            }
            _ => self.node_over(unit),
        }
    }

    /// The path joined with rows, which bind or name at least one of its ends, and certainly.
    pub(super) fn node_over(&self, input: Node) -> Node {
        let column = |end: Place| match end {
            Place::Constant(id) => Some(Start::Constant(id)),
            Place::Variable(variable) => input
                .variables
                .iter()
                .position(|known| *known == variable)
                .map(Start::Column),
        };
        let as_end = |start: Start| match start {
            Start::Constant(id) => End::Constant(id),
            Start::Column(column) => End::Column(column),
            Start::Every => End::Free,
        };
        let [subject, object] = self.ends.map(column);
        let mut variables = input.variables.clone();
        let mut outputs: Vec<PathSource> = (0..variables.len()).map(PathSource::Input).collect();
        let (is_backward, start, end) = match (subject, object) {
            (Some(subject), Some(object)) => (false, subject, as_end(object)),
            (Some(subject), None) => (false, subject, End::Free),
            (None, Some(object)) => (true, object, End::Free),
            (None, None) => (false, Start::Every, End::Free),
        };
        if end == End::Free
            && let Place::Variable(free) = self.ends[usize::from(!is_backward)]
        {
            variables.push(free);
            outputs.push(PathSource::End);
        }
        self.over(input, is_backward, (start, end), variables, outputs)
    }

    fn over(
        &self,
        input: Node,
        is_backward: bool,
        (start, end): (Start, End),
        variables: Vec<VariableId>,
        outputs: Vec<PathSource>,
    ) -> Node {
        let [forward, backward] = self.machines.clone();
        let rows = match start {
            Start::Every => self.rows(),
            Start::Constant(_) | Start::Column(_) => {
                self.rows_over(input.rows, |variable| input.variables.contains(&variable))
            }
        };
        Node {
            variables,
            sorted_by: Vec::new(),
            rows,
            operation: Operation::Path {
                input: Box::new(input),
                path: Box::new(PathNode {
                    source: Arc::clone(&self.source),
                    graph: self.graph,
                    machines: if is_backward {
                        (backward, forward)
                    } else {
                        (forward, backward)
                    },
                    is_backward,
                    start,
                    end,
                    outputs,
                }),
            },
        }
    }
}

impl Planner<'_> {
    /// A path by itself.
    pub(super) fn path(&self, path: &Arc<PathPattern>) -> Result<Node> {
        Ok(match self.counted_path(path)? {
            Ok(path) => path.node(),
            Err(reason) => leaf(Operation::Empty { reason }, 0.0),
        })
    }

    /// The place of a pattern that has a term.
    pub(super) fn place(&self, term: &PatternTerm) -> Result<Place> {
        Ok(match term {
            PatternTerm::Constant(constant) => Place::Constant(self.terms.constant(constant)?),
            PatternTerm::Variable(variable) => match self.seed.get(*variable) {
                Some(id) => Place::Constant(id),
                None => Place::Variable(*variable),
            },
        })
    }

    /// What the snapshot says of a path, or why it has no solution.
    pub(super) fn counted_path(
        &self,
        path: &Arc<PathPattern>,
    ) -> Result<std::result::Result<CountedPath, String>> {
        let snapshot = self.terms.snapshot();
        let graph = match resolve_graph(snapshot, &path.graph, self.seed)? {
            Ok(graph) => graph,
            Err(name) => return Ok(Err(format!("{name} is not in the store"))),
        };
        let machines = [&path.forward, &path.backward]
            .map(|automaton| Machine::new(snapshot, graph, automaton).map(Arc::new));
        let [forward, backward] = machines;
        let machines = [forward?, backward?];
        let is_nullable = machines[0].is_nullable();
        if !is_nullable
            && machines
                .iter()
                .any(|machine| machine.first_relations().next().is_none())
        {
            return Ok(Err(format!(
                "no quad begins or ends the path {}",
                path.text
            )));
        }
        let statistics = snapshot.statistics()?;
        let statistics = match graph {
            GraphSelector::Default => &statistics.default_graph,
            GraphSelector::Named(_) | GraphSelector::AnyNamed => &statistics.named_graphs,
        };
        // The ends of the steps that a path begins with, and of those that it ends with.
        let first_nodes = |machine: &Machine| -> f64 {
            let first = machine.first_relations();
            first
                .map(|relation| {
                    let position = if relation.is_inverse {
                        Position::Object
                    } else {
                        Position::Subject
                    };
                    let rows = relation.rows as f64;
                    distinct_terms(&relation.pattern, position, rows, statistics).clamp(1.0, rows)
                })
                .sum()
        };
        let mut nodes = [first_nodes(&machines[0]), first_nodes(&machines[1])];
        let repeated = if path.forward.is_cyclic() {
            REPEATED
        } else {
            1.0
        };
        let rows = machines[0].rows() as f64;
        let reach = |from: f64, to: f64| {
            let reach = (rows / from.max(1.0)).max(1.0) * repeated;
            reach.min(to) + f64::from(u8::from(is_nullable))
        };
        let reach = [reach(nodes[0], nodes[1]), reach(nodes[1], nodes[0])];
        if is_nullable {
            let all = (statistics.subjects.count + statistics.objects.count) as f64;
            nodes = nodes.map(|count| count.max(all));
        }
        Ok(Ok(CountedPath {
            source: Arc::clone(path),
            graph,
            machines,
            ends: [self.place(&path.subject)?, self.place(&path.object)?],
            nodes,
            reach,
        }))
    }
}
