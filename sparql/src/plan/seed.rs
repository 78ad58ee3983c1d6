//! `Seed`: variables that stand for terms while a part of a query is planned and run again for a row: the pattern of an
//! EXISTS for the row around it, the block of a `GRAPH ?g` for a named graph.

use super::logical::VariableId;
use quadrille_store::TermId;
use std::sync::Arc;

/// Some variables with the ids of the terms that they stand for. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Seed {
    ids: Arc<[(VariableId, TermId)]>,
}

impl Seed {
    /// The id of a variable that stands for a term.
    #[inline]
    pub fn get(&self, variable: VariableId) -> Option<TermId> {
        self.ids
            .iter()
            .find(|(known, _)| *known == variable)
            .map(|(_, id)| *id)
    }

    /// The same with more variables; what was known stays.
    pub fn with(&self, more: impl IntoIterator<Item = (VariableId, TermId)>) -> Self {
        let mut ids = self.ids.to_vec();
        for (variable, id) in more {
            if !id.is_unbound() && ids.iter().all(|(known, _)| *known != variable) {
                ids.push((variable, id));
            }
        }
        Self { ids: ids.into() }
    }

    /// The variables with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (VariableId, TermId)> + '_ {
        self.ids.iter().copied()
    }
}
