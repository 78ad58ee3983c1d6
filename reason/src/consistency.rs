//! Whether the closure contradicts the ontology, and the triples that show it.

use crate::error::Result;
use crate::explain::{Bound, search, unify};
use crate::facts::Facts;
use crate::fixpoint::conclusions;
use crate::options::Context;
use crate::rule::Rule;
use oxrdf::Triple;
use quadrille_store::{Quad, Snapshot, TermId};
use serde::Serialize;

/// Contradictions that are shown.
pub const SHOWN_MAX: usize = 10;

/// What contradicts the ontology.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Contradictions {
    /// How many there are; of things that contradict the same axiom in several ways, one.
    pub count: u64,
    /// The first of them, [`SHOWN_MAX`] at most.
    pub shown: Vec<Contradiction>,
}

/// Triples that must not be together.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Contradiction {
    /// The name of the rule, as in OWL 2 RL.
    pub rule: &'static str,
    /// The triples, as in N-Triples.
    pub triples: Vec<String>,
}

/// Triples of matched constraints.
pub type Matches = Vec<(&'static str, Vec<[TermId; 3]>)>;

/// Matches the constraints: how many matches there are, and the triples of the first.
pub fn check(
    facts: &Facts<'_>,
    constraints: &[Rule],
    context: &Context<'_>,
) -> Result<(u64, Matches)> {
    let (mut count, mut matches) = (0, Vec::new());
    for constraint in constraints {
        let mut found: Vec<[TermId; 3]> = Vec::new();
        let constraint_alone = std::slice::from_ref(constraint);
        let (parts, _charge) = conclusions(facts, constraint_alone, context)?;
        for part in parts {
            for ((predicate, _), pairs) in part {
                found.extend(
                    pairs
                        .iter()
                        .map(|&[object, subject]| [subject, predicate, object]),
                );
            }
        }
        found.sort_unstable();
        found.dedup();
        count += found.len() as u64;
        for triple in found.into_iter().take(SHOWN_MAX - matches.len()) {
            let mut bound = Bound::new();
            let mut premises = vec![None; constraint.body.len()];
            if unify(&constraint.head, triple, &mut bound)
                && search(facts, constraint, &mut bound, &mut premises)?
            {
                let premises = premises.into_iter().flatten().collect();
                matches.push((constraint.name, premises));
            }
        }
    }
    Ok((count, matches))
}

/// Matches for people; the snapshot has the terms.
pub fn shown(snapshot: &Snapshot, count: u64, matches: &Matches) -> Result<Contradictions> {
    let mut shown = Vec::with_capacity(matches.len());
    for (rule, triples) in matches {
        let mut texts = Vec::with_capacity(triples.len());
        for &[subject, predicate, object] in triples {
            let quad = snapshot.quad(&Quad {
                subject,
                predicate,
                object,
                graph: TermId::DEFAULT_GRAPH,
            })?;
            texts.push(Triple::from(quad).to_string());
        }
        shown.push(Contradiction {
            rule,
            triples: texts,
        });
    }
    Ok(Contradictions { count, shown })
}
