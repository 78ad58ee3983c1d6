//! `Triples`: the graph of a CONSTRUCT or a DESCRIBE.

use crate::error::Result;
use crate::exec::batch::Batch;
use crate::exec::terms::Terms;
use crate::query::Solutions;
use oxrdf::{NamedOrBlankNode, Term, Triple};
use quadrille_store::Snapshot;

/// The triples of a graph, each once, as an iterator, or batch by batch as ids ([`Triples::next_batch`]). It owns what it
/// needs; triples are computed while they are read. It ends after an error.
pub struct Triples {
    /// Rows of subject, predicate and object.
    rows: Solutions,
}

impl Triples {
    pub(crate) fn new(rows: Solutions) -> Self {
        Self { rows }
    }

    /// The triples as rows of subject, predicate and object.
    pub(crate) fn into_rows(self) -> Solutions {
        self.rows
    }

    /// The snapshot that the query reads.
    pub fn snapshot(&self) -> &Snapshot {
        self.rows.snapshot()
    }

    /// The terms of batches' ids: those of the snapshot, and those that the query computed.
    pub fn terms(&self) -> &Terms {
        self.rows.terms()
    }

    /// Replaces the rows of a batch by the next triples, as ids in the columns subject, predicate, object; says how many, 0
    /// at the end. Not to be mixed with reading triple by triple.
    ///
    /// # Errors
    /// If the store cannot be read, or the query is stopped; then there are no further triples.
    pub fn next_batch(&mut self, batch: &mut Batch) -> Result<usize> {
        self.rows.next_batch(batch)
    }
}

impl Iterator for Triples {
    type Item = Result<Triple>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let terms = match self.rows.next_row()? {
                Ok(terms) => terms,
                Err(error) => return Some(Err(error)),
            };
            // What makes the rows lets nothing pass that is no triple.
            if let [subject, predicate, object] = terms
                && let (Some(subject), Some(Term::NamedNode(predicate)), Some(object)) =
                    (subject.take(), predicate.take(), object.take())
            {
                let subject = match subject {
                    Term::NamedNode(node) => NamedOrBlankNode::NamedNode(node),
                    Term::BlankNode(node) => NamedOrBlankNode::BlankNode(node),
                    Term::Literal(_) | Term::Triple(_) => continue,
                };
                return Some(Ok(Triple::new(subject, predicate, object)));
            }
        }
    }
}
