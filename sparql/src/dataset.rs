//! `QueryDataset`: the graphs that a query asks (SPARQL 1.1, section 13).
//!
//! A query's own FROM and FROM NAMED say it, unless the options of a run do. Both name graphs of the store; one that it
//! does not have is empty. The default graph is the merge of those that are named, as a set: the store's snapshot shows it so
//! ([`quadrille_store::Dataset`]), and nothing above knows of it.

use crate::error::Result;
use crate::query::QueryOptions;
use oxrdf::{NamedNode, Term};
use quadrille_store::{Dataset, Graphs, Snapshot, TermId};

/// The graphs that a query asks.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct QueryDataset {
    /// The graphs whose merge is the default graph; without any it is empty.
    pub default: Vec<NamedNode>,
    /// The named graphs; `None` for all.
    pub named: Option<Vec<NamedNode>>,
}

impl From<&spargebra::algebra::QueryDataset> for QueryDataset {
    fn from(dataset: &spargebra::algebra::QueryDataset) -> Self {
        Self {
            default: dataset.default.clone(),
            named: dataset.named.clone(),
        }
    }
}

/// A snapshot as a query sees it that has, perhaps, a dataset of its own.
pub(crate) fn snapshot_for(
    snapshot: &Snapshot,
    of_query: Option<&QueryDataset>,
    options: &QueryOptions,
) -> Result<Snapshot> {
    let Some(dataset) = options.dataset.as_ref().or(of_query) else {
        return Ok(if options.union_default_graph {
            snapshot.with_dataset(Dataset::union())
        } else {
            snapshot.clone()
        });
    };
    let graphs = |names: &[NamedNode]| -> Result<Graphs> {
        let mut ids: Vec<TermId> = Vec::with_capacity(names.len());
        for name in names {
            ids.extend(snapshot.term_id(Term::from(name.clone()).as_ref())?);
        }
        Ok(Graphs::some(ids))
    };
    let named = match &dataset.named {
        Some(names) => graphs(names)?,
        None => Graphs::All,
    };
    Ok(snapshot.with_dataset(Dataset::of(graphs(&dataset.default)?, named)))
}
