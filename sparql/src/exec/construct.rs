//! `Construct`: the triples of a template, for each solution.
//!
//! A triple that a solution leaves a variable of unbound, or that is no triple of RDF (a literal as its subject, a predicate
//! that is no IRI), is not made (SPARQL 1.1, section 16.2). Triples come solution by solution, in the template's order.

use super::batch::Batch;
use super::control::Control;
use super::operator::{Input, Operator};
use super::terms::Terms;
use crate::error::Result;
use oxrdf::{NamedOrBlankNode, Term, Triple};
use quadrille_store::TermId;
use std::sync::Arc;

/// A term of a template, where columns stand for variables.
#[derive(Debug)]
pub enum Instance {
    /// Always this one.
    Term(TermId),
    /// The row's term in a column.
    Column(usize),
    /// The row's new blank node of this number.
    Fresh(usize),
    /// A triple term.
    Triple(Box<[Self; 3]>),
}

/// A template, where columns stand for variables. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Instances {
    triples: Arc<[[Instance; 3]]>,
    blank_nodes: usize,
    /// Whether triples that one row makes twice are left out here.
    are_compared: bool,
}

impl Instances {
    /// Triples with so many new blank nodes; whether those that one row makes twice are left out.
    pub fn new(triples: Vec<[Instance; 3]>, blank_nodes: usize, are_compared: bool) -> Self {
        Self {
            triples: triples.into(),
            blank_nodes,
            are_compared,
        }
    }

    /// How many triples there are.
    pub fn len(&self) -> usize {
        self.triples.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.triples.is_empty()
    }
}

/// Makes triples of rows.
pub struct Construct {
    input: Input,
    template: Instances,
    terms: Arc<Terms>,
    control: Arc<Control>,
    /// The next triple of the current row.
    next: usize,
    /// The new blank nodes of the current row, unbound until they are needed.
    fresh: Vec<TermId>,
    /// The triples of the current row, if they are compared.
    made: Vec<[TermId; 3]>,
}

impl Construct {
    /// Makes the triples of a template of each row of `input`.
    pub fn new(
        input: Input,
        template: Instances,
        terms: &Arc<Terms>,
        control: Arc<Control>,
    ) -> Self {
        Self {
            input,
            fresh: vec![TermId::UNBOUND; template.blank_nodes],
            template,
            terms: Arc::clone(terms),
            control,
            next: 0,
            made: Vec::new(),
        }
    }

    /// The term in the current row; unbound if it cannot be made.
    fn term(&mut self, instance: &Instance) -> Result<TermId> {
        Ok(match instance {
            Instance::Term(id) => *id,
            Instance::Column(column) => self.input.batch.column(*column)[self.input.at],
            Instance::Fresh(number) => {
                if self.fresh[*number].is_unbound() {
                    self.fresh[*number] = self.terms.fresh_blank_node();
                }
                self.fresh[*number]
            }
            Instance::Triple(terms) => {
                let Some([subject, predicate, object]) = self.triple(terms)? else {
                    return Ok(TermId::UNBOUND);
                };
                let subject = match self.terms.term(subject)? {
                    Term::NamedNode(node) => NamedOrBlankNode::NamedNode(node),
                    Term::BlankNode(node) => NamedOrBlankNode::BlankNode(node),
                    Term::Literal(_) | Term::Triple(_) => return Ok(TermId::UNBOUND),
                };
                let Term::NamedNode(predicate) = self.terms.term(predicate)? else {
                    return Ok(TermId::UNBOUND);
                };
                let triple = Triple::new(subject, predicate, self.terms.term(object)?);
                self.terms.id(&triple.into())?
            }
        })
    }

    /// The terms of a triple in the current row, if they make one.
    fn triple(&mut self, instances: &[Instance; 3]) -> Result<Option<[TermId; 3]>> {
        let [subject, predicate, object] = instances;
        let subject = self.term(subject)?;
        if !self.terms.is_node(subject)? {
            return Ok(None);
        }
        let predicate = self.term(predicate)?;
        if !self.terms.is_iri(predicate)? {
            return Ok(None);
        }
        let object = self.term(object)?;
        Ok((!object.is_unbound()).then_some([subject, predicate, object]))
    }

    /// Goes to the next row.
    fn next_row(&mut self) {
        self.input.at += 1;
        self.next = 0;
        self.made.clear();
        self.fresh.fill(TermId::UNBOUND);
    }
}

impl Operator for Construct {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        let triples = Arc::clone(&self.template.triples);
        let mut rows = 0;
        while rows < self.control.batch_rows() {
            if self.input.is_used_up() {
                // What there is goes on before more is waited for.
                if rows > 0 || triples.is_empty() {
                    break;
                }
                self.control.check()?;
                if !self.input.fetch()? {
                    break;
                }
            }
            let Some(instances) = triples.get(self.next) else {
                self.next_row();
                continue;
            };
            self.next += 1;
            let Some(triple) = self.triple(instances)? else {
                continue;
            };
            if self.template.are_compared {
                if self.made.contains(&triple) {
                    continue;
                }
                self.made.push(triple);
            }
            for (column, id) in triple.into_iter().enumerate() {
                output.column_mut(column).push(id);
            }
            rows += 1;
        }
        output.set_rows(rows);
        Ok(rows)
    }
}
