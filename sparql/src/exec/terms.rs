//! `Terms`: the terms of a running query, which are those of its snapshot and those that it computes.
//!
//! A computed term that the store has gets the store's id; any other is numbered here once, under
//! [`Kind::Local`]. So equality of ids is equality of terms within a query, and joins, DISTINCT and GROUP BY need
//! not know where a term comes from. The table grows with the number of different terms that a query computes; it cannot be
//! put aside, so that it ends the query when it exceeds the query's memory.
//!
//! The blank nodes that a CONSTRUCT makes for each solution are numbered only ([`Terms::fresh_blank_node`]): nothing is
//! kept of them. Their ids are local too, with payloads from [`FRESH_BLANKS`] on.

use super::memory::{Memory, Reservation};
use crate::error::Result;
use crate::plan::logical::Constant;
use hashbrown::HashMap;
use oxrdf::{BlankNode, Literal, NamedOrBlankNode, Term, Triple};
use quadrille_store::id::PAYLOAD_MAX;
use quadrille_store::{Kind, Snapshot, StoreError, TermId};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// Payloads of local ids from here on are numbers of fresh blank nodes.
const FRESH_BLANKS: u64 = PAYLOAD_MAX / 2 + 1;

/// A snapshot's terms and those that a query computed.
#[derive(Debug)]
pub struct Terms {
    snapshot: Snapshot,
    /// Whether there is a computed term: mostly there is none, and nobody needs to look.
    has_local: AtomicBool,
    local: RwLock<Local>,
    /// How many fresh blank nodes there are.
    fresh_blanks: AtomicU64,
    /// The unique id of the first of them; random, so that the results of two queries share none.
    first_fresh: OnceLock<u128>,
}

#[derive(Debug, Default)]
struct Local {
    terms: Vec<Term>,
    ids: HashMap<Term, TermId>,
    /// What the terms take.
    reservation: Option<Reservation>,
}

/// What a computed term takes besides its text: it is in the list and a key of the table, whose entries have an id and a byte
/// of their hash.
const TERM_BYTES: usize = 2 * size_of::<Term>() + size_of::<TermId>() + 1;

impl Terms {
    /// The terms of a snapshot.
    pub fn new(snapshot: Snapshot) -> Self {
        Self {
            snapshot,
            has_local: AtomicBool::new(false),
            local: RwLock::default(),
            fresh_blanks: AtomicU64::new(0),
            first_fresh: OnceLock::new(),
        }
    }

    /// The same, where what is computed is reserved from a query's memory.
    #[must_use]
    pub fn with_memory(mut self, memory: &Arc<Memory>) -> Self {
        self.local = RwLock::new(Local {
            reservation: Some(Reservation::fixed(memory)),
            ..Local::default()
        });
        self
    }

    /// The snapshot.
    #[inline]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Whether any term was computed that the store does not have.
    #[inline]
    pub fn has_local(&self) -> bool {
        // An id is handed from thread to thread by other means, which order this before it.
        self.has_local.load(Ordering::Relaxed)
    }

    /// The id of a term, which is new if neither the store nor the query has it.
    ///
    /// # Errors
    /// If the store cannot be read; [`crate::QueryError::Memory`].
    pub fn id(&self, term: &Term) -> Result<TermId> {
        if let Some(id) = self.snapshot.term_id(term.as_ref())? {
            return Ok(id);
        }
        let term = normalised(term);
        let mut local = self.local.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = local.ids.get(&term) {
            return Ok(*id);
        }
        if let Some(reservation) = &mut local.reservation {
            reservation.grow((TERM_BYTES + 2 * text_bytes(&term)) as u64)?;
        }
        let id = TermId::new(Kind::Local, local.terms.len() as u64);
        local.terms.push(term.clone());
        local.ids.insert(term, id);
        self.has_local.store(true, Ordering::Relaxed);
        Ok(id)
    }

    /// The id of a constant of the query.
    ///
    /// # Errors
    /// As [`Terms::id`].
    pub fn constant(&self, constant: &Constant) -> Result<TermId> {
        match constant.id(&self.snapshot)? {
            Some(id) => Ok(id),
            None => self.id(&constant.term),
        }
    }

    /// The id of a blank node that is in no other place, of this query or of another.
    pub fn fresh_blank_node(&self) -> TermId {
        // Only the numbers must differ.
        let number = self.fresh_blanks.fetch_add(1, Ordering::Relaxed);
        self.has_local.store(true, Ordering::Relaxed);
        TermId::new(Kind::Local, FRESH_BLANKS + number)
    }

    /// Whether an id may be a subject: an IRI or a blank node.
    ///
    /// # Errors
    /// If it is an id of another query.
    pub fn is_node(&self, id: TermId) -> Result<bool> {
        Ok(match id.kind() {
            Some(Kind::Iri | Kind::Blank) => true,
            Some(Kind::Local) => matches!(self.term(id)?, Term::NamedNode(_) | Term::BlankNode(_)),
            _ => false,
        })
    }

    /// Whether an id may be a predicate: an IRI.
    ///
    /// # Errors
    /// If it is an id of another query.
    pub fn is_iri(&self, id: TermId) -> Result<bool> {
        Ok(match id.kind() {
            Some(Kind::Iri) => true,
            Some(Kind::Local) => matches!(self.term(id)?, Term::NamedNode(_)),
            _ => false,
        })
    }

    /// The term of an id.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn term(&self, id: TermId) -> Result<Term> {
        if id.kind() != Some(Kind::Local) {
            return Ok(self.snapshot.term(id)?);
        }
        if let Some(number) = id.payload().checked_sub(FRESH_BLANKS) {
            let first = *self.first_fresh.get_or_init(rand::random::<u128>);
            let id = first.wrapping_add(number.into());
            return Ok(BlankNode::new_from_unique_id(id).into());
        }
        let local = self.local.read().unwrap_or_else(PoisonError::into_inner);
        match local.terms.get(id.payload() as usize) {
            Some(term) => Ok(term.clone()),
            None => Err(StoreError::Limit {
                what: "a local term of another query".to_owned(),
                limit: local.terms.len() as u64,
            }
            .into()),
        }
    }

    /// The terms of many ids: `each` gets the place in `ids` and the term, in any sequence. Unbound ids are left out.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn terms(&self, ids: &[TermId], each: &mut dyn FnMut(usize, Term)) -> Result<()> {
        if !self.has_local() || ids.iter().all(|id| id.kind() != Some(Kind::Local)) {
            return Ok(self.snapshot.terms(ids, each)?);
        }
        let mut stored = ids.to_vec();
        for (place, id) in stored.iter_mut().enumerate() {
            if id.kind() == Some(Kind::Local) {
                each(place, self.term(*id)?);
                *id = TermId::UNBOUND;
            }
        }
        Ok(self.snapshot.terms(&stored, each)?)
    }
}

/// The length of a term's text.
fn text_bytes(term: &Term) -> usize {
    match term {
        Term::NamedNode(node) => node.as_str().len(),
        Term::BlankNode(node) => node.as_str().len(),
        Term::Literal(literal) => {
            literal.value().len()
                + literal
                    .language()
                    .map_or_else(|| literal.datatype().as_str().len(), str::len)
        }
        Term::Triple(triple) => {
            let subject = match &triple.subject {
                NamedOrBlankNode::NamedNode(node) => node.as_str().len(),
                NamedOrBlankNode::BlankNode(node) => node.as_str().len(),
            };
            size_of::<Triple>()
                + subject
                + triple.predicate.as_str().len()
                + text_bytes(&triple.object)
        }
    }
}

/// Language tags in lower case, as the store has them: they are the same whatever their case.
fn normalised(term: &Term) -> Term {
    let Term::Literal(literal) = term else {
        return term.clone();
    };
    match (literal.language(), literal.direction()) {
        (Some(language), direction) if language.bytes().any(|byte| byte.is_ascii_uppercase()) => {
            let language = language.to_ascii_lowercase();
            match direction {
                None => Literal::new_language_tagged_literal_unchecked(literal.value(), language),
                Some(direction) => Literal::new_directional_language_tagged_literal_unchecked(
                    literal.value(),
                    language,
                    direction,
                ),
            }
            .into()
        }
        _ => term.clone(),
    }
}
