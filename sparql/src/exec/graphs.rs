//! `Graphs`: runs a block for each named graph, and binds the graph's variable after it; or for one graph, if it exists.

use super::batch::Batch;
use super::operator::Operator;
use crate::error::Result;
use crate::plan::build::Execution;
use crate::plan::logical::{Group, VariableId};
use crate::plan::physical::{Planner, plan};
use crate::plan::seed::Seed;
use oxrdf::NamedNode;
use quadrille_store::{GraphSelector, Pattern, TermId};
use std::sync::Arc;

/// Runs a block for each named graph.
pub struct Graphs {
    execution: Execution,
    /// The only graph that is asked.
    name: Option<NamedNode>,
    inner: Arc<Group>,
    active: VariableId,
    variable: VariableId,
    seed: Seed,
    /// What is given.
    variables: Vec<VariableId>,
    /// The graphs that are to come, the next one last; `None` before the first.
    waiting: Option<Vec<TermId>>,
    current: Option<Current>,
    selection: Vec<u32>,
}

/// The run for one graph.
struct Current {
    graph: TermId,
    operator: Box<dyn Operator>,
    batch: Batch,
    /// For each column that is given, the block's; `None` if it does not bind it.
    sources: Vec<Option<usize>>,
    /// The block's column of the graph's variable, if it binds that itself.
    variable: Option<usize>,
}

impl Graphs {
    /// Runs `inner` with each graph in the place of `active`, and binds `variable` to it.
    pub fn new(
        execution: &Execution,
        name: Option<&NamedNode>,
        inner: &Arc<Group>,
        active: VariableId,
        variable: VariableId,
        seed: &Seed,
        variables: &[VariableId],
    ) -> Self {
        Self {
            execution: execution.unprofiled(),
            name: name.cloned(),
            inner: Arc::clone(inner),
            active,
            variable,
            seed: seed.clone(),
            variables: variables.to_vec(),
            waiting: None,
            current: None,
            selection: Vec::new(),
        }
    }

    fn start(&self, graph: TermId) -> Result<Current> {
        self.execution.control.check()?;
        let seed = self.seed.with([(self.active, graph)]);
        let mut wanted = self.variables.clone();
        if self.inner.scope.contains(&self.variable) && !wanted.contains(&self.variable) {
            wanted.push(self.variable);
        }
        let planner = Planner {
            terms: &self.execution.terms,
            options: &self.execution.options,
            seed: &seed,
            variables: self.execution.variables,
        };
        let node = plan(&planner, &self.inner, &wanted, None)?;
        let column =
            |variable: &VariableId| node.variables.iter().position(|known| known == variable);
        Ok(Current {
            graph,
            operator: node.operator(&self.execution)?,
            batch: node.batch(),
            sources: self.variables.iter().map(column).collect(),
            variable: column(&self.variable),
        })
    }

    /// The graphs that may be bound, last one first.
    fn graphs(&self) -> Result<Vec<TermId>> {
        let snapshot = self.execution.terms.snapshot();
        if let Some(name) = &self.name {
            let Some(graph) = snapshot.term_id(name.as_ref().into())? else {
                return Ok(Vec::new());
            };
            let pattern = Pattern {
                subject: None,
                predicate: None,
                object: None,
                graph: GraphSelector::Named(graph),
            };
            let exists = snapshot.count_at_most(&pattern)? > 0;
            return Ok(if exists { vec![graph] } else { Vec::new() });
        }
        let mut graphs = snapshot.named_graphs()?;
        if let Some(only) = self.seed.get(self.variable) {
            graphs.retain(|graph| *graph == only);
        }
        graphs.reverse();
        Ok(graphs)
    }
}

impl Operator for Graphs {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        if self.waiting.is_none() {
            self.waiting = Some(self.graphs()?);
        }
        loop {
            let Some(current) = &mut self.current else {
                match self.waiting.as_mut().and_then(Vec::pop) {
                    Some(graph) => self.current = Some(self.start(graph)?),
                    None => return Ok(0),
                }
                continue;
            };
            if current.operator.next(&mut current.batch)? == 0 {
                self.current = None;
                continue;
            }
            if let Some(column) = current.variable {
                let ids = current.batch.column(column);
                self.selection.clear();
                self.selection.extend((0..ids.len() as u32).filter(|row| {
                    let id = ids[*row as usize];
                    id.is_unbound() || id == current.graph
                }));
                current.batch.select(&self.selection);
            }
            let rows = current.batch.rows();
            for (index, variable) in self.variables.iter().enumerate() {
                let target = output.column_mut(index);
                match current.sources[index] {
                    _ if *variable == self.variable => target.resize(rows, current.graph),
                    Some(column) => target.extend_from_slice(current.batch.column(column)),
                    None => target.resize(rows, TermId::UNBOUND),
                }
            }
            output.set_rows(rows);
            if rows > 0 {
                return Ok(rows);
            }
        }
    }
}
