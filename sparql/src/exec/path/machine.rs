//! `Machine`: an automaton over the relations of a snapshot, with what searches of one plan share.

use super::components::Components;
use super::relation::Relation;
use super::step_graph::StepGraph;
use crate::error::Result;
use crate::exec::control::Control;
use crate::plan::automaton::{Automaton, Predicates};
use oxrdf::NamedNode;
use quadrille_store::{GraphSelector, Snapshot, TermId};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// A path as it is searched in one direction.
#[derive(Debug)]
pub struct Machine {
    /// What steps read.
    pub relations: Vec<Relation>,
    /// By state: the relations that go on from it, and the states that they lead to.
    pub transitions: Vec<Vec<(usize, usize)>>,
    /// By state: whether a path may end in it.
    pub is_accepting: Vec<bool>,
    /// The state that a search begins in.
    pub initial: usize,
    /// Whether the path connects a constant with itself even if it is no node of the graph.
    pub connects_constants: bool,
    /// What is made when searches have taken as long as it takes to make it.
    pub(super) shared: Shared,
}

/// What searches of one plan share, and how much they have done.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Rows, and seeks weighed as rows, that lookups have read.
    pub(super) looked_up: AtomicU64,
    pub(super) graph: OnceLock<Arc<StepGraph>>,
    /// Steps that searches in the graph have taken.
    pub(super) stepped: AtomicU64,
    pub(super) components: OnceLock<Arc<Components>>,
}

impl Machine {
    /// The machine of an automaton in a graph. Steps along predicates that the store does not have lead nowhere.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn new(snapshot: &Snapshot, graph: GraphSelector, automaton: &Automaton) -> Result<Self> {
        let id = |node: &NamedNode| snapshot.term_id(node.as_ref().into());
        let mut relations = Vec::new();
        // By step: its relation, if any quad has it.
        let mut numbers: Vec<Option<usize>> = Vec::with_capacity(automaton.steps.len());
        for step in &automaton.steps {
            let (predicate, excluded) = match &step.predicates {
                Predicates::One(node) => {
                    let Some(predicate) = id(node)? else {
                        numbers.push(None);
                        continue;
                    };
                    (Some(predicate), Vec::new())
                }
                Predicates::AllBut(nodes) => {
                    let mut excluded: Vec<TermId> = Vec::new();
                    for node in nodes {
                        excluded.extend(id(node)?);
                    }
                    (None, excluded)
                }
            };
            let relation = Relation::new(snapshot, graph, predicate, excluded, step.is_inverse)?;
            numbers.push((relation.rows > 0).then_some(relations.len()));
            if relation.rows > 0 {
                relations.push(relation);
            }
        }
        let transitions = automaton
            .states
            .iter()
            .map(|state| {
                let transitions = state.transitions.iter();
                transitions
                    .filter_map(|(step, next)| Some((numbers[*step]?, *next)))
                    .collect()
            })
            .collect();
        Ok(Self {
            relations,
            transitions,
            is_accepting: automaton
                .states
                .iter()
                .map(|state| state.is_accepting)
                .collect(),
            initial: automaton.initial,
            connects_constants: automaton.connects_constants,
            shared: Shared::default(),
        })
    }

    /// Whether a path without a step matches.
    pub fn is_nullable(&self) -> bool {
        self.is_accepting[self.initial]
    }

    /// How many quads all steps have together.
    pub fn rows(&self) -> u64 {
        self.relations.iter().map(|relation| relation.rows).sum()
    }

    /// The relations that a path may begin with.
    pub fn first_relations(&self) -> impl Iterator<Item = &Relation> {
        let mut first: Vec<usize> = self.transitions[self.initial]
            .iter()
            .map(|(relation, _)| *relation)
            .collect();
        first.sort_unstable();
        first.dedup();
        first.into_iter().map(|index| &self.relations[index])
    }

    /// The graph of all steps, once lookups have read as much as it takes to read it whole, and if there is room for it.
    pub(super) fn graph(
        &self,
        snapshot: &Snapshot,
        control: &Arc<Control>,
    ) -> Result<Option<Arc<StepGraph>>> {
        if let Some(graph) = self.shared.graph.get() {
            return Ok(Some(Arc::clone(graph)));
        }
        // Only to be compared with a bound: no order with other memory matters.
        let looked_up = self.shared.looked_up.load(Ordering::Relaxed);
        if looked_up < self.rows() || !StepGraph::fits(self, control) {
            return Ok(None);
        }
        let graph = Arc::new(StepGraph::new(self, snapshot, control)?);
        Ok(Some(Arc::clone(self.shared.graph.get_or_init(|| graph))))
    }

    /// The strongly connected components of the graph, once searches have taken as many steps as it takes to find them,
    /// and if there is room for them.
    pub(super) fn components(
        &self,
        graph: &StepGraph,
        control: &Arc<Control>,
    ) -> Result<Option<Arc<Components>>> {
        if let Some(components) = self.shared.components.get() {
            return Ok(Some(Arc::clone(components)));
        }
        let stepped = self.shared.stepped.load(Ordering::Relaxed);
        if stepped < Components::cost_steps(self, graph) || !Components::fits(self, graph, control)
        {
            return Ok(None);
        }
        let components = Arc::new(Components::new(self, graph, control)?);
        let components = self.shared.components.get_or_init(|| components);
        Ok(Some(Arc::clone(components)))
    }
}
