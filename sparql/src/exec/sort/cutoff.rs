//! `Cutoff`: rows that a sort with a limit need not look at, told by the ids of what they are sorted by.
//!
//! Ids of one dictionary and one kind are in the order of lexical forms, and then of annotations. Among IRIs that is
//! the order of `ORDER BY`. Literals of the kind that has strings are ordered by `ORDER BY` in the same way as far as they
//! are strings, with or without a language; all others of that kind come behind every string. So once enough rows
//! are known that come before a term, all whose id is greater (or, for IRIs in descending order, less) are not
//! wanted, and their terms are not looked up.

use super::SortKey;
use crate::exec::batch::Batch;
use crate::expr::Expr;
use crate::plan::logical::{OrderKey, VariableId};
use quadrille_store::{Kind, Snapshot, TermId};
use std::ops::RangeInclusive;

/// Drops rows that come behind the last wanted one so far.
pub struct Cutoff {
    /// The column that is sorted by first.
    column: usize,
    is_descending: bool,
    /// Ids of rows that are not wanted.
    behind: Option<RangeInclusive<TermId>>,
    selection: Vec<u32>,
}

impl Cutoff {
    /// For a sort whose first key is a variable.
    pub fn new(keys: &[OrderKey], variables: &[VariableId]) -> Option<Self> {
        let first = keys.first()?;
        let Expr::Variable(variable) = &*first.expression else {
            return None;
        };
        Some(Self {
            column: variables.iter().position(|known| known == variable)?,
            is_descending: first.is_descending,
            behind: None,
            selection: Vec::new(),
        })
    }

    /// To be called with the last row that is wanted of all so far, and its first key.
    pub fn set_last(&mut self, batch: &Batch, row: usize, key: &SortKey, snapshot: &Snapshot) {
        let last = batch.column(self.column)[row];
        let is_ordered = match last.kind() {
            Some(Kind::Iri) => true,
            // In descending order the others of the kind come before all strings.
            Some(Kind::Literal) => !self.is_descending && key.is_string(),
            _ => false,
        };
        self.behind = if is_ordered {
            self.ids_behind(last, snapshot)
        } else {
            None
        };
    }

    fn ids_behind(&self, last: TermId, snapshot: &Snapshot) -> Option<RangeInclusive<TermId>> {
        let kind = last.kind()?;
        let mut dictionaries = snapshot.dictionaries().iter();
        let dictionary = dictionaries.find(|dictionary| dictionary.contains(last))?;
        let first = dictionary.first(kind);
        let end = first + dictionary.count(kind);
        let (from, to) = if self.is_descending {
            (first, last.payload().checked_sub(1)?)
        } else {
            (last.payload() + 1, end - 1)
        };
        Some(TermId::new(kind, from)..=TermId::new(kind, to)).filter(|ids| !ids.is_empty())
    }

    /// Drops the rows of a batch that are not wanted.
    pub fn apply(&mut self, batch: &mut Batch) {
        let Some(behind) = &self.behind else {
            return;
        };
        let ids = batch.column(self.column).iter();
        self.selection.clear();
        self.selection.extend(
            ids.zip(0_u32..)
                .filter(|(id, _)| !behind.contains(id))
                .map(|(_, row)| row),
        );
        batch.select(&self.selection);
    }
}
