//! `TripleTermJoin`: joins rows with the triple terms that match a pattern.
//!
//! Where a row brings the triple term along it is taken apart; otherwise the candidates are those of the store's sorted tables
//! of triple terms that begin with the parts that are known. Either way all parts are compared with what is known of them,
//! and the rest is given.

use super::batch::Batch;
use super::control::Control;
use super::operator::{Input, Operator};
use super::terms::Terms;
use crate::error::Result;
use oxrdf::Term;
use quadrille_store::snapshot::terms::TripleTerms;
use quadrille_store::{Kind, TermId};
use std::sync::Arc;

/// Candidates that are looked at before the query is asked whether it goes on.
const CHECKED_CANDIDATES: usize = 1024;

/// A part of the pattern, or the triple term itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// A term.
    Constant(TermId),
    /// The term in a column of the rows.
    Column(usize),
    /// The same as an earlier part: 0 is the triple term, 1 its subject and so on.
    Same(usize),
    /// Anything.
    Free,
}

/// Where a column of the output comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TripleSource {
    /// A column of the rows.
    Input(usize),
    /// A part: 0 is the triple term, 1 its subject and so on.
    Part(usize),
}

/// Joins rows with triple terms.
pub struct TripleTermJoin {
    input: Input,
    terms: Arc<Terms>,
    control: Arc<Control>,
    /// The triple term, its subject, its predicate and its object.
    parts: [Part; 4],
    outputs: Vec<TripleSource>,
    /// What is left of the candidates for the current row.
    candidates: Option<TripleTerms>,
}

impl TripleTermJoin {
    /// Joins `input` with the triple terms of which the `parts` hold: the term itself, its subject, predicate and object.
    pub fn new(
        input: Input,
        terms: &Arc<Terms>,
        control: &Arc<Control>,
        parts: [Part; 4],
        outputs: Vec<TripleSource>,
    ) -> Self {
        Self {
            input,
            terms: Arc::clone(terms),
            control: Arc::clone(control),
            parts,
            outputs,
            candidates: None,
        }
    }

    /// What is known of a part beforehand in the current row.
    fn known(&self, part: Part) -> Option<TermId> {
        match part {
            Part::Constant(id) => Some(id),
            Part::Column(column) => Some(self.input.batch.column(column)[self.input.at]),
            Part::Same(_) | Part::Free => None,
        }
    }

    /// Whether a triple term is as the pattern says in the current row.
    fn matches(&self, found: &[TermId; 4]) -> bool {
        self.parts.iter().zip(found).all(|(part, id)| match part {
            Part::Same(earlier) => found[*earlier] == *id,
            part => self.known(*part).is_none_or(|known| known == *id),
        })
    }

    fn give(&self, found: &[TermId; 4], output: &mut Batch) {
        for (index, source) in self.outputs.iter().enumerate() {
            let id = match source {
                TripleSource::Input(column) => self.input.batch.column(*column)[self.input.at],
                TripleSource::Part(part) => found[*part],
            };
            output.column_mut(index).push(id);
        }
        output.set_rows(output.rows() + 1);
    }

    /// The parts of a triple term; `None` if the term is none.
    fn take_apart(&self, term: TermId) -> Result<Option<[TermId; 4]>> {
        Ok(match term.kind() {
            Some(Kind::Triple) => {
                let [subject, predicate, object] = self.terms.snapshot().triple(term)?;
                Some([term, subject, predicate, object])
            }
            Some(Kind::Local) => match self.terms.term(term)? {
                Term::Triple(triple) => Some([
                    term,
                    self.terms.id(&triple.subject.into())?,
                    self.terms.id(&triple.predicate.into())?,
                    self.terms.id(&triple.object)?,
                ]),
                _ => None,
            },
            _ => None,
        })
    }

    /// The candidates for the current row.
    fn find(&self) -> Result<TripleTerms> {
        let mut prefix = Vec::with_capacity(3);
        prefix.extend(self.parts[1..].iter().map_while(|part| self.known(*part)));
        Ok(self.terms.snapshot().triple_terms(&prefix)?)
    }
}

impl Operator for TripleTermJoin {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        let mut looked_at = 0;
        while output.rows() < self.control.batch_rows() {
            looked_at += 1;
            if looked_at % CHECKED_CANDIDATES == 1 {
                self.control.check()?;
            }
            if let Some(candidates) = &mut self.candidates {
                if let Some((term, [subject, predicate, object])) = candidates.next().transpose()? {
                    let found = [term, subject, predicate, object];
                    if self.matches(&found) {
                        self.give(&found, output);
                    }
                } else {
                    self.candidates = None;
                    self.input.at += 1;
                }
                continue;
            }
            if self.input.is_used_up() {
                if !self.input.fetch()? {
                    break;
                }
                continue;
            }
            match self.known(self.parts[0]) {
                Some(term) => {
                    if let Some(found) = self.take_apart(term)?
                        && self.matches(&found)
                    {
                        self.give(&found, output);
                    }
                    self.input.at += 1;
                }
                None => self.candidates = Some(self.find()?),
            }
        }
        Ok(output.rows())
    }
}
