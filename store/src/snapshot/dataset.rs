//! `Dataset`: which graphs of a store a snapshot shows, and how several graphs are read as one.
//!
//! A *merged* graph is the union of several as a set: a triple that is in two of them comes once. What always holds of its
//! scans is what holds of those of a stored graph: rows come in strictly increasing order. It is read as a merge of sorted
//! sources that gives equal rows once:
//!
//! ```text
//!  order spo of the merged graph
//!    <- spo of the default graph                  if it is one of them
//!    <- gspo with the graph bound, for each       for few named graphs, where an order begins with the graph and goes on so
//!       or: spog, rows of other graphs left out,  otherwise, and for all named graphs
//!           equal neighbours once
//! ```
//!
//! Counts stay exact ([`Snapshot::count`]), which takes a scan where graphs overlap; who can do with an upper bound asks
//! for that ([`Snapshot::count_at_most`]).

use super::{Snapshot, best_order};
use crate::error::Result;
use crate::id::TermId;
use crate::index::{COLUMNS_MAX, ColumnMask, Columns, Cursor};
use crate::merge::{MergeSource, Scan};
use crate::quad::{GraphSelector, Order, Pattern, Position, Quad};
use crate::run::gallop;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// Of more graphs than this, orders that end with the graph are read and rows of others left out.
const CURSORS_MAX: usize = 64;
/// Rows that are read at first where some are left out; doubled up to [`FILTER_ROWS`].
const FILTER_ROWS_MIN: usize = 32;
/// The most rows that are read at a time there.
const FILTER_ROWS: usize = 1024;

/// The graphs that a snapshot shows, an RDF dataset: what its default graph is made of, and which named graphs there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    /// Whether the store's default graph is a part of the default graph.
    has_default: bool,
    /// The named graphs that are parts of the default graph.
    merged: Graphs,
    /// The named graphs.
    named: Graphs,
}

/// Some named graphs of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Graphs {
    /// All.
    All,
    /// These, ascending by id.
    Some(Vec<TermId>),
}

impl Graphs {
    /// No graph.
    pub const NONE: Self = Self::Some(Vec::new());

    /// These graphs, which may repeat.
    pub fn some(graphs: impl IntoIterator<Item = TermId>) -> Self {
        let mut graphs: Vec<TermId> = graphs.into_iter().collect();
        graphs.sort_unstable();
        graphs.dedup();
        Self::Some(graphs)
    }

    fn contains(&self, graph: TermId) -> bool {
        match self {
            Self::All => true,
            Self::Some(graphs) => graphs.binary_search(&graph).is_ok(),
        }
    }
}

impl Dataset {
    /// The store as it is.
    pub fn stored() -> Self {
        Self {
            has_default: true,
            merged: Graphs::NONE,
            named: Graphs::All,
        }
    }

    /// A default graph that is the merge of all graphs, and all named graphs.
    pub fn union() -> Self {
        Self {
            has_default: true,
            merged: Graphs::All,
            named: Graphs::All,
        }
    }

    pub(super) fn named(&self) -> &Graphs {
        &self.named
    }

    /// A default graph that is the merge of named graphs, without the store's, and some named graphs.
    pub fn of(merged: Graphs, named: Graphs) -> Self {
        Self {
            has_default: false,
            merged,
            named,
        }
    }
}

impl Snapshot {
    /// The same store with another dataset: scans, counts, [`Snapshot::contains`] and [`Snapshot::named_graphs`] see it.
    /// What is said of the store as a whole (`len`, `quads`, statistics) stays.
    pub fn with_dataset(&self, dataset: Dataset) -> Self {
        let is_stored = dataset == Dataset::stored();
        Self {
            state: Arc::clone(&self.state),
            dataset: (!is_stored).then(|| Arc::new(dataset)),
        }
    }

    /// Whether the default graph has quads that the store has in named graphs.
    pub fn has_named_in_default(&self) -> bool {
        self.dataset
            .as_ref()
            .is_some_and(|dataset| dataset.merged != Graphs::NONE)
    }

    /// How many quads match a pattern, at most: exact but where graphs are merged or inference is stale, and 0 only if there is
    /// none. Never takes a scan.
    pub fn count_at_most(&self, pattern: &Pattern) -> Result<u64> {
        let Some(dataset) = &self.dataset else {
            return self.count_stored_at_most(pattern);
        };
        match pattern.graph {
            GraphSelector::Named(graph) if !dataset.named.contains(graph) => Ok(0),
            GraphSelector::Named(_) => self.count_stored_at_most(pattern),
            GraphSelector::AnyNamed => self.count_in(pattern, &dataset.named),
            GraphSelector::Default => {
                let mut count = self.count_in(pattern, &dataset.merged)?;
                if dataset.has_default {
                    count += self.count_stored_at_most(pattern)?;
                }
                Ok(count)
            }
        }
    }

    /// The same, exactly.
    pub(super) fn count_in_dataset(&self, dataset: &Dataset, pattern: &Pattern) -> Result<u64> {
        let parts = usize::from(dataset.has_default)
            + match &dataset.merged {
                Graphs::All => 2,
                Graphs::Some(graphs) => graphs.len(),
            };
        let most = self.count_at_most(pattern)?;
        // Graphs have no quad in common; only where their triples are put together does one come twice, or where it is explicit
        // and inferred.
        let is_merged = pattern.graph == GraphSelector::Default && parts > 1;
        if most < 2 || !(is_merged || self.state.may_overlap) {
            return Ok(most);
        }
        let order = best_order(pattern, None).expect("every pattern has an order");
        let mut scan = self.scan(pattern, order, ColumnMask::NONE)?;
        let (mut rows, mut count) = (Columns::default(), 0);
        loop {
            rows.clear();
            match scan.fill(&mut rows, FILTER_ROWS)? {
                0 => return Ok(count),
                filled => count += filled as u64,
            }
        }
    }

    /// How many quads of some named graphs match a pattern, whatever graph it asks.
    fn count_in(&self, pattern: &Pattern, graphs: &Graphs) -> Result<u64> {
        match graphs {
            Graphs::All => self.count_stored_at_most(&in_graph(pattern, GraphSelector::AnyNamed)),
            Graphs::Some(graphs) => graphs.iter().try_fold(0, |count, graph| {
                let pattern = in_graph(pattern, GraphSelector::Named(*graph));
                Ok(count + self.count_stored_at_most(&pattern)?)
            }),
        }
    }

    pub(super) fn contains_in_dataset(&self, dataset: &Dataset, quad: &Quad) -> Result<bool> {
        if quad.graph != TermId::DEFAULT_GRAPH {
            return Ok(dataset.named.contains(quad.graph) && self.contains_stored(quad)?);
        }
        if dataset.has_default && self.contains_stored(quad)? {
            return Ok(true);
        }
        let pattern = Pattern {
            subject: Some(quad.subject),
            predicate: Some(quad.predicate),
            object: Some(quad.object),
            graph: GraphSelector::Default,
        };
        Ok(self.count_in(&pattern, &dataset.merged)? > 0)
    }

    /// The names of the graphs of the dataset that have a quad.
    pub(super) fn named_graphs_in(&self, graphs: &[TermId]) -> Result<Vec<TermId>> {
        let mut found = Vec::new();
        for graph in graphs {
            if self.count_stored_at_most(&in_graph(&ANYTHING, GraphSelector::Named(*graph)))? > 0 {
                found.push(*graph);
            }
        }
        Ok(found)
    }

    /// See [`Snapshot::scan`].
    pub(super) fn scan_in_dataset(
        &self,
        dataset: &Dataset,
        pattern: &Pattern,
        order: Order,
        wanted: ColumnMask,
    ) -> Result<Scan> {
        match (pattern.graph, &dataset.named) {
            (GraphSelector::Default, _) => self.scan_merged(dataset, pattern, order, wanted),
            (GraphSelector::Named(graph), named) if !named.contains(graph) => Ok(Scan::empty()),
            (GraphSelector::AnyNamed, Graphs::Some(graphs)) if graphs.is_empty() => {
                Ok(Scan::empty())
            }
            (GraphSelector::AnyNamed, named @ Graphs::Some(_)) => {
                let scan = self.scan_stored(pattern, order, ColumnMask::ALL)?;
                let width = width(pattern, order);
                let graph = order.columns().len() - width;
                let graph = order.columns()[graph..]
                    .iter()
                    .position(|position| *position == Position::Graph)
                    .expect("an order of named graphs has the graph");
                Ok(Scan::one(Box::new(InGraphs::new(
                    scan,
                    named.clone(),
                    graph,
                    width,
                ))))
            }
            _ => self.scan_stored(pattern, order, wanted),
        }
    }

    /// A scan of the merged default graph.
    fn scan_merged(
        &self,
        dataset: &Dataset,
        pattern: &Pattern,
        order: Order,
        wanted: ColumnMask,
    ) -> Result<Scan> {
        let (prefix, bound) = pattern
            .prefix_in(order)
            .expect("the bound positions are a prefix of the order");
        let width = order.columns().len() - bound;
        if width == 0 {
            let contains = self.contains_in_dataset(dataset, &order.quad(&prefix[..bound]))?;
            return Ok(Scan::bound(contains));
        }
        let mut sources: Vec<Scan> = Vec::new();
        if dataset.has_default {
            sources.push(self.scan_stored(pattern, order, ColumnMask::ALL)?);
        }
        let by_graph = match &dataset.merged {
            Graphs::Some(graphs) if graphs.len() <= CURSORS_MAX => {
                order_within_graph(pattern, order, bound).map(|order| (graphs, order))
            }
            _ => None,
        };
        if let Some((graphs, order)) = by_graph {
            for graph in graphs {
                let pattern = in_graph(pattern, GraphSelector::Named(*graph));
                sources.push(self.scan_stored(&pattern, order, ColumnMask::ALL)?);
            }
        } else if dataset.merged != Graphs::NONE {
            let pattern = in_graph(pattern, GraphSelector::AnyNamed);
            let scan = self.scan_stored(&pattern, with_graph_last(order), ColumnMask::ALL)?;
            let rows = InGraphs::new(scan, dataset.merged.clone(), width, width);
            sources.push(Scan::one(Box::new(rows)));
        }
        if sources.len() < 2 {
            return Ok(sources.pop().unwrap_or_else(Scan::empty));
        }
        let sources = sources
            .into_iter()
            .map(|scan| MergeSource {
                cursor: Box::new(scan),
                tombstones: false,
                inferred: false,
            })
            .collect();
        Ok(Scan::merge(sources, bound, width, wanted))
    }
}

const ANYTHING: Pattern = Pattern {
    subject: None,
    predicate: None,
    object: None,
    graph: GraphSelector::Default,
};

/// The same pattern in other graphs.
fn in_graph(pattern: &Pattern, graph: GraphSelector) -> Pattern {
    Pattern { graph, ..*pattern }
}

/// How many columns a scan gives.
fn width(pattern: &Pattern, order: Order) -> usize {
    let (_, bound) = pattern
        .prefix_in(order)
        .expect("the bound positions are a prefix of the order");
    order.columns().len() - bound
}

/// The order of a single named graph whose rows behind the bound columns are sorted as those of an order of the default
/// graph are, if there is one.
fn order_within_graph(pattern: &Pattern, order: Order, bound: usize) -> Option<Order> {
    let pattern = in_graph(pattern, GraphSelector::Named(TermId::MAX));
    Order::NAMED_GRAPHS.into_iter().find(|candidate| {
        let is_sorted_alike = candidate.columns().get(bound + 1..) == order.columns().get(bound..);
        let prefix = pattern.prefix_in(*candidate);
        is_sorted_alike && prefix.is_some_and(|(_, length)| length == bound + 1)
    })
}

/// The order of the named graphs that ends with the graph and begins like an order of the default graph.
fn with_graph_last(order: Order) -> Order {
    Order::NAMED_GRAPHS
        .into_iter()
        .find(|candidate| candidate.columns().starts_with(order.columns()))
        .expect("every order of the default graph has such a twin")
}

/// The rows of a scan that are in some graphs. Where the graph's column is not given, it is the last one, and rows that are
/// the same without it come once.
struct InGraphs {
    scan: Scan,
    graphs: Graphs,
    /// The scan's column of the graph.
    graph: usize,
    /// How many columns are given: the first ones of the scan.
    width: usize,
    /// Rows of the scan, and the next of them.
    rows: Columns,
    length: usize,
    next: usize,
    next_fill: usize,
    /// The row that was given last.
    last: Option<Row>,
}

/// A row; unbound behind the last column.
type Row = [TermId; COLUMNS_MAX];

impl InGraphs {
    fn new(scan: Scan, graphs: Graphs, graph: usize, width: usize) -> Self {
        Self {
            scan,
            graphs,
            graph,
            width,
            rows: Columns::default(),
            length: 0,
            next: 0,
            next_fill: FILTER_ROWS_MIN,
            last: None,
        }
    }

    /// Fetches rows; `false` at the end.
    fn fetch(&mut self) -> Result<bool> {
        self.skip_graphs()?;
        self.rows.clear();
        self.next = 0;
        self.length = self.scan.fill(&mut self.rows, self.next_fill)?;
        self.next_fill = (self.next_fill * 2).min(FILTER_ROWS);
        Ok(self.length > 0)
    }

    /// Where the rows are sorted by graph first: goes to the next graph that is asked, if the last row was in none.
    fn skip_graphs(&mut self) -> Result<()> {
        if self.graph > 0 || self.length == 0 {
            return Ok(());
        }
        let graph = self.rows.columns[0][self.length - 1];
        if let Graphs::Some(graphs) = &self.graphs
            && let Err(next) = graphs.binary_search(&graph)
        {
            let target = graphs.get(next).copied().unwrap_or(TermId::MAX);
            self.scan.seek(&[target])?;
        }
        Ok(())
    }
}

impl Cursor for InGraphs {
    fn fill(&mut self, out: &mut Columns, max: usize) -> Result<usize> {
        out.widen(self.width);
        let mut filled = 0;
        while filled < max {
            if self.next == self.length && !self.fetch()? {
                break;
            }
            let at = self.next;
            self.next += 1;
            if !self.graphs.contains(self.rows.columns[self.graph][at]) {
                continue;
            }
            let mut row = Row::default();
            for (value, column) in row.iter_mut().zip(&self.rows.columns[..self.width]) {
                *value = column[at];
            }
            if self.last == Some(row) {
                continue;
            }
            self.last = Some(row);
            for (column, value) in out.columns.iter_mut().zip(&row[..self.width]) {
                column.push(*value);
            }
            filled += 1;
        }
        Ok(filled)
    }

    fn seek(&mut self, key: &[TermId]) -> Result<()> {
        let columns = &self.rows.columns[..key.len().min(self.rows.columns.len())];
        self.next = gallop(columns, self.next..self.length, key);
        if self.next == self.length {
            // What was read lies before the key, and says nothing of what comes.
            (self.next, self.length, self.next_fill) = (0, 0, FILTER_ROWS_MIN);
            self.scan.seek(key)?;
        }
        Ok(())
    }
}
