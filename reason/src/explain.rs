//! Explanations: how a triple follows from explicit quads.
//!
//! The closure is computed anew, each round's triples a run of their own. A triple of one round follows by a rule from
//! triples of earlier ones; so a search among those finds its premises, and ends.

use crate::error::Result;
use crate::facts::{Facts, order_for, place};
use crate::infer::reason;
use crate::options::{Context, InferOptions};
use crate::rule::{Atom, Rule, Slot};
use crate::run::Run;
use crate::vocabulary::Vocabulary;
use oxrdf::Triple;
use quadrille_store::{GraphSelector, Pattern, Snapshot, TermId};
use std::collections::HashSet;
use std::sync::Arc;

/// A triple of a derivation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// How many steps lead from the triple that is explained to this one.
    pub depth: usize,
    /// The triple.
    pub triple: Triple,
    /// How it comes about.
    pub reason: Reason,
}

/// How a triple of a derivation comes about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// It is explicit.
    Explicit,
    /// By the rule with this name; its premises are the steps behind it that are one deeper, up to the next that is not
    /// deeper.
    Rule(&'static str),
    /// It was derived by an earlier step.
    Above,
}

/// How a triple follows from the explicit quads of a snapshot by a profile's rules; `None` if it does not.
///
/// # Errors
/// As [`infer`](crate::infer()); nothing is written.
pub fn explain(
    snapshot: &Snapshot,
    triple: &Triple,
    options: &InferOptions,
) -> Result<Option<Vec<Step>>> {
    let find = |term: oxrdf::TermRef<'_>| snapshot.term_id(term);
    let ids = (
        find(triple.subject.as_ref().into())?,
        find(triple.predicate.as_ref().into())?,
        find(triple.object.as_ref())?,
    );
    let (Some(subject), Some(predicate), Some(object)) = ids else {
        return Ok(None);
    };
    let goal = [subject, predicate, object];
    let explicit = snapshot.explicit();
    let vocabulary = Vocabulary::find(&explicit, &options.rules.terms())?;
    let closed = reason(&explicit, None, &vocabulary, &Context::new(options), true)?;
    let explanation = Explanation {
        snapshot: &explicit,
        rules: &closed.rules,
        runs: &closed.runs,
    };
    let mut steps = Vec::new();
    let mut known = HashSet::new();
    // Triples to explain, with their depths, the next one last.
    let mut pending = vec![(goal, 0)];
    while let Some((triple, depth)) = pending.pop() {
        let reason = if explanation.is_explicit(triple)? {
            Reason::Explicit
        } else if !known.insert(triple) {
            Reason::Above
        } else if let Some((rule, premises)) = explanation.derivation(triple)? {
            let premises = premises.into_iter().rev();
            pending.extend(premises.map(|premise| (premise, depth + 1)));
            Reason::Rule(rule.name)
        } else {
            return Ok(None);
        };
        let [subject, predicate, object] = triple;
        let quad = quadrille_store::Quad {
            subject,
            predicate,
            object,
            graph: TermId::DEFAULT_GRAPH,
        };
        steps.push(Step {
            depth,
            triple: explicit.quad(&quad)?.into(),
            reason,
        });
    }
    Ok(Some(steps))
}

/// A rule and its premises.
type Derivation<'a> = (&'a Rule, Vec<[TermId; 3]>);

struct Explanation<'a> {
    snapshot: &'a Snapshot,
    rules: &'a [Rule],
    /// One for each round.
    runs: &'a [Arc<Run>],
}

impl<'a> Explanation<'a> {
    fn is_explicit(&self, [subject, predicate, object]: [TermId; 3]) -> Result<bool> {
        let pattern = Pattern {
            subject: Some(subject),
            predicate: Some(predicate),
            object: Some(object),
            graph: GraphSelector::Default,
        };
        Ok(self.snapshot.count(&pattern)? > 0)
    }

    /// A rule that concludes a triple from those of earlier rounds, and its premises.
    fn derivation(&self, triple: [TermId; 3]) -> Result<Option<Derivation<'a>>> {
        let [subject, predicate, object] = triple;
        let has = |run: &Arc<Run>| {
            run.by_object(predicate)
                .binary_search(&[object, subject])
                .is_ok()
        };
        let Some(round) = self.runs.iter().position(has) else {
            return Ok(None);
        };
        let facts = Facts {
            snapshot: self.snapshot,
            runs: &self.runs[..round],
        };
        for rule in self.rules {
            let mut bound = Vec::new();
            if !unify(&rule.head, triple, &mut bound) {
                continue;
            }
            let mut premises = vec![None; rule.body.len()];
            if search(&facts, rule, &mut bound, &mut premises)? {
                let premises = premises.into_iter().flatten().collect();
                return Ok(Some((rule, premises)));
            }
        }
        Ok(None)
    }
}

/// The terms of variables.
pub type Bound = Vec<(usize, TermId)>;

fn value(slot: Slot, bound: &Bound) -> Slot {
    let known = |variable: usize| bound.iter().find(|(known, _)| *known == variable);
    match slot {
        Slot::Variable(variable) => known(variable).map_or(slot, |(_, id)| Slot::Constant(*id)),
        Slot::Constant(_) => slot,
    }
}

/// Binds an atom's variables so that it is a triple, if it can be.
pub fn unify(atom: &Atom, triple: [TermId; 3], bound: &mut Bound) -> bool {
    atom.0
        .into_iter()
        .zip(triple)
        .all(|(slot, id)| match value(slot, bound) {
            Slot::Constant(known) => known == id,
            Slot::Variable(variable) => {
                bound.push((variable, id));
                true
            }
        })
}

/// Finds triples for the premises that have none, the one with the fewest variables first.
pub fn search(
    facts: &Facts<'_>,
    rule: &Rule,
    bound: &mut Bound,
    premises: &mut [Option<[TermId; 3]>],
) -> Result<bool> {
    let open = (0..premises.len()).filter(|premise| premises[*premise].is_none());
    let atom_of = |premise: usize| Atom(rule.body[premise].0.map(|slot| value(slot, bound)));
    let Some(premise) = open.min_by_key(|premise| atom_of(*premise).variables().count()) else {
        let id = |slot| value(slot, bound);
        return Ok(rule
            .differ
            .iter()
            .all(|(left, right)| id(Slot::Variable(*left)) != id(*right)));
    };
    let atom = atom_of(premise);
    let order = order_for(&atom, &[]);
    let free: Vec<usize> = order
        .columns()
        .iter()
        .map(|position| place(*position))
        .filter(|place| atom.0[*place].variable().is_some())
        .collect();
    let mut matches = Vec::new();
    for mut cursor in facts.cursors(&atom, order)? {
        cursor.probe(&[], free.len(), &mut |row| {
            let mut triple = atom
                .0
                .map(|slot| slot.constant().unwrap_or(TermId::UNBOUND));
            for (place, id) in free.iter().zip(row) {
                triple[*place] = *id;
            }
            matches.push(triple);
        })?;
    }
    let before = bound.len();
    for triple in matches {
        if unify(&rule.body[premise], triple, bound) {
            premises[premise] = Some(triple);
            if search(facts, rule, bound, premises)? {
                return Ok(true);
            }
            premises[premise] = None;
        }
        bound.truncate(before);
    }
    Ok(false)
}
