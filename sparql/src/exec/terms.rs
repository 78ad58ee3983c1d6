//! `Terms`: the terms of a running query, which are those of its snapshot and those that it computes.
//!
//! A computed term that the store has gets the store's id; any other is numbered here once, under
//! [`Kind::Local`]. So equality of ids is equality of terms within a query, and joins, DISTINCT and GROUP BY need
//! not know where a term comes from. The table grows with the number of different terms that a query computes.

use crate::error::Result;
use hashbrown::HashMap;
use oxrdf::{Literal, Term};
use quadrille_store::{Kind, Snapshot, StoreError, TermId};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

/// A snapshot's terms and those that a query computed.
#[derive(Debug)]
pub struct Terms {
    snapshot: Snapshot,
    /// Whether there is a computed term: mostly there is none, and nobody needs to look.
    has_local: AtomicBool,
    local: RwLock<Local>,
}

#[derive(Debug, Default)]
struct Local {
    terms: Vec<Term>,
    ids: HashMap<Term, TermId>,
}

impl Terms {
    /// The terms of a snapshot.
    pub fn new(snapshot: Snapshot) -> Self {
        Self {
            snapshot,
            has_local: AtomicBool::new(false),
            local: RwLock::default(),
        }
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
    /// If the store cannot be read.
    pub fn id(&self, term: &Term) -> Result<TermId> {
        if let Some(id) = self.snapshot.term_id(term.as_ref())? {
            return Ok(id);
        }
        let term = normalised(term);
        let mut local = self.local.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = local.ids.get(&term) {
            return Ok(*id);
        }
        let id = TermId::new(Kind::Local, local.terms.len() as u64);
        local.terms.push(term.clone());
        local.ids.insert(term, id);
        self.has_local.store(true, Ordering::Relaxed);
        Ok(id)
    }

    /// The term of an id.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn term(&self, id: TermId) -> Result<Term> {
        if id.kind() != Some(Kind::Local) {
            return Ok(self.snapshot.term(id)?);
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
