//! Plans triple terms with variables in them: they are taken apart where rows bring them along, and looked for in the store
//! otherwise.

use super::layout::add_all;
use super::logical::{PatternTerm, TripleTermPattern, VariableId};
use super::path::Place;
use super::physical::{Node, Operation, Planner, leaf};
use crate::error::Result;
use crate::exec::triple_terms::{Part, TripleSource};
use quadrille_store::TermId;
use std::sync::Arc;

/// Of how many triple terms one is expected to match a part that is no prefix.
const SELECTIVITY: f64 = 10.0;

/// A triple term with what the snapshot says of it.
#[derive(Debug)]
pub(super) struct CountedTripleTerm {
    source: Arc<TripleTermPattern>,
    /// The triple term, its subject, its predicate and its object.
    places: [Place; 4],
    /// How many triple terms begin with the parts that are known.
    candidates: f64,
    /// How many are expected to match.
    rows: f64,
}

impl CountedTripleTerm {
    /// Its variables.
    pub(super) fn variables(&self) -> Vec<VariableId> {
        let mut variables = Vec::new();
        let places = self.places.into_iter();
        add_all(&mut variables, places.filter_map(Place::variable));
        variables
    }

    /// How many it is expected to have.
    pub(super) fn rows(&self) -> f64 {
        self.rows
    }

    /// How many triple terms are looked at to find them.
    pub(super) fn candidates(&self) -> f64 {
        self.candidates
    }

    /// Whether rows that bind some variables bring the triple term along.
    pub(super) fn is_brought(&self, is_bound: impl Fn(VariableId) -> bool) -> bool {
        is_bound(self.source.term)
    }

    /// The triple terms by themselves.
    pub(super) fn node(&self) -> Node {
        self.node_over(leaf(Operation::Unit, 1.0))
    }

    /// The triple terms joined with rows whose shared variables are certainly bound.
    pub(super) fn node_over(&self, input: Node) -> Node {
        let mut variables = input.variables.clone();
        let mut outputs: Vec<TripleSource> =
            (0..variables.len()).map(TripleSource::Input).collect();
        let mut parts = [Part::Free; 4];
        for (index, place) in self.places.iter().enumerate() {
            let variable = match place {
                Place::Constant(id) => {
                    parts[index] = Part::Constant(*id);
                    continue;
                }
                Place::Variable(variable) => *variable,
            };
            let column = input.variables.iter().position(|known| *known == variable);
            let earlier = self.places[..index]
                .iter()
                .position(|place| *place == Place::Variable(variable));
            parts[index] = match (column, earlier) {
                (Some(column), _) => Part::Column(column),
                (None, Some(earlier)) => Part::Same(earlier),
                (None, None) => {
                    variables.push(variable);
                    outputs.push(TripleSource::Part(index));
                    Part::Free
                }
            };
        }
        let rows = if let Part::Column(_) = parts[0] {
            input.rows
        } else {
            input.rows * self.rows
        };
        Node {
            variables,
            sorted_by: Vec::new(),
            rows,
            operation: Operation::TripleTerms {
                input: Box::new(input),
                source: Arc::clone(&self.source),
                parts,
                outputs,
            },
        }
    }
}

impl Planner<'_> {
    /// The triple terms of a pattern by themselves.
    pub(super) fn triple_terms(&self, pattern: &Arc<TripleTermPattern>) -> Result<Node> {
        Ok(self.counted_triple_term(pattern)?.node())
    }

    /// What the snapshot says of a triple term.
    pub(super) fn counted_triple_term(
        &self,
        pattern: &Arc<TripleTermPattern>,
    ) -> Result<CountedTripleTerm> {
        let [subject, predicate, object] = pattern.parts();
        let places = [
            self.place(&PatternTerm::Variable(pattern.term))?,
            self.place(subject)?,
            self.place(predicate)?,
            self.place(object)?,
        ];
        let known = places[1..].iter().map(|place| match place {
            Place::Constant(id) => Some(*id),
            Place::Variable(_) => None,
        });
        let prefix: Vec<TermId> = known.clone().map_while(|id| id).collect();
        let candidates = self.terms.snapshot().triple_terms(&prefix)?.count_left() as f64;
        let others = known.flatten().count() - prefix.len();
        Ok(CountedTripleTerm {
            source: Arc::clone(pattern),
            places,
            candidates,
            rows: candidates / SELECTIVITY.powi(others as i32),
        })
    }
}
