//! `Snapshot`: a store as it was at one moment, for as long as somebody looks at it.
//!
//! A snapshot is the list of layers that were live, oldest first, and the dictionaries that name
//! their terms; an `Arc` of them, so that it is cheap to clone and nothing that a writer does later
//! can be seen through it. Files that were removed meanwhile stay readable: they are mapped.
//!
//! # Explicit and inferred quads
//!
//! They are two independent sets, each with layers of its own; a quad may be in both. A snapshot
//! shows their union, each quad once; [`Snapshot::explicit`] and [`Snapshot::inferred`] show one of
//! them. What always holds:
//! * A layer of explicit quads inserts only quads that the older *explicit* layers do not show, and
//!   deletes only quads that they do: whether somebody inferred them is nobody's business. A layer of
//!   inferred quads inserts only quads that the older layers of neither set show, and deletes only
//!   quads that older inferred layers do. So within a set the number of rows in a range is the sum of
//!   inserts minus the sum of tombstones, exactly.
//! * When an inference is published the two sets are disjoint: what is explicit by then is not
//!   inserted, and is deleted from older inferred layers. Commits of explicit quads after it may
//!   insert what was inferred. So the sets are known to be disjoint as long as the inference is not
//!   stale; then counts of the union are sums. While it is stale, an exact count of a range in which
//!   both sets have rows merges them ([`Snapshot::count`]); [`Snapshot::count_at_most`] does not.
//! * A tombstone never hides a quad of the other set. An inferred quad whose premises were deleted
//!   stays until the next inference, and the snapshot says that it is stale.

pub mod dataset;
mod located;
pub mod terms;

use crate::error::Result;
use crate::id::TermId;
use crate::index::{ColumnMask, Columns};
use crate::io::{Storage, TemporaryFile};
use crate::manifest::InferenceEntry;
use crate::merge::Scan;
use crate::quad::{GraphSelector, Order, Pattern, Position, Quad};
use crate::run::Run;
use crate::segment::Segment;
use crate::statistics::Statistics;
use crate::triple_table::TripleTable;
use dataset::{Dataset, Graphs};
pub use located::Located;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use terms::Dictionaries;

/// Rows that iterators over quads fetch at a time.
const QUADS_ROWS: usize = 1024;

/// A store at one moment; cheap to clone, `Send` and `Sync`.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(crate) state: Arc<State>,
    /// Which graphs are shown and how, if not the store's own.
    pub(crate) dataset: Option<Arc<Dataset>>,
}

/// What a snapshot shares with its clones.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) storage: Arc<dyn Storage>,
    /// Whether the store is open for writing.
    pub(crate) is_writable: bool,
    /// Oldest first.
    pub(crate) layers: Vec<Layer>,
    pub(crate) dictionaries: Dictionaries,
    pub(crate) triple_tables: Vec<TripleTable>,
    /// Blank nodes have numbers below this.
    pub(crate) next_blank: u64,
    pub(crate) prefixes: BTreeMap<String, String>,
    /// Number of the last commit of explicit quads.
    pub(crate) commit: u64,
    /// What the inferred layers follow from, if these are shown and it is known.
    pub(crate) inference: Option<InferenceEntry>,
    /// Whether a quad may be in both sets, as far as these are shown.
    pub(crate) may_overlap: bool,
    /// Merged when first asked for.
    pub(crate) statistics: OnceLock<Arc<Statistics>>,
}

impl State {
    /// The same terms with other layers, all of one set.
    fn with_layers(&self, layers: Vec<Layer>) -> Self {
        Self {
            storage: Arc::clone(&self.storage),
            is_writable: self.is_writable,
            layers,
            dictionaries: self.dictionaries.clone(),
            triple_tables: self.triple_tables.clone(),
            next_blank: self.next_blank,
            prefixes: self.prefixes.clone(),
            commit: self.commit,
            inference: None,
            may_overlap: false,
            statistics: OnceLock::new(),
        }
    }
}

/// One set of inserts and tombstones.
#[derive(Clone, Debug)]
pub(crate) enum Layer {
    Segment(Arc<Segment>),
    Run(Arc<Run>),
}

impl Layer {
    pub(crate) fn is_inferred(&self) -> bool {
        match self {
            Self::Segment(segment) => segment.entry().inferred,
            Self::Run(_) => false,
        }
    }

    fn rows(&self, order: Order, tombstones: bool) -> u64 {
        match self {
            Self::Segment(segment) => segment.rows(order, tombstones),
            Self::Run(run) => run.rows(order, tombstones),
        }
    }

    /// The numbers of the rows that begin with a prefix.
    fn row_range(&self, order: Order, tombstones: bool, prefix: &[TermId]) -> Result<Range<u64>> {
        match self {
            Self::Segment(segment) => segment
                .order(order, tombstones)
                .map_or(Ok(0..0), |file| file.row_range(prefix)),
            Self::Run(run) => Ok(run.row_range(order, tombstones, prefix)),
        }
    }
}

/// The order to scan a pattern in: one that begins with the pattern's bound positions and then, if
/// `sorted_by` names a free position, has that one, so that the rows come out sorted by it. `None`
/// if no order does that (some sorts by graph, or within one named graph).
pub fn best_order(pattern: &Pattern, sorted_by: Option<Position>) -> Option<Order> {
    let orders: &[Order] = match pattern.graph {
        GraphSelector::Default => &Order::DEFAULT_GRAPH,
        GraphSelector::Named(_) | GraphSelector::AnyNamed => &Order::NAMED_GRAPHS,
    };
    orders.iter().copied().find(|order| {
        pattern.prefix_in(*order).is_some_and(|(_, length)| {
            sorted_by.is_none_or(|position| order.columns().get(length) == Some(&position))
        })
    })
}

impl Snapshot {
    /// This snapshot with a layer of changes on top, as the one who makes them sees it.
    ///
    /// The run must be normalised against the explicit quads of this snapshot: it inserts only quads
    /// that are absent and deletes only quads that are present. Its terms must have ids.
    pub fn with_run(&self, run: Arc<Run>) -> Self {
        let mut layers = self.state.layers.clone();
        let may_overlap = layers.iter().any(Layer::is_inferred);
        layers.push(Layer::Run(run));
        Self {
            dataset: self.dataset.clone(),
            state: Arc::new(State {
                inference: self.state.inference.clone(),
                may_overlap,
                statistics: self.state.statistics.clone(),
                ..self.state.with_layers(layers)
            }),
        }
    }

    /// A new temporary file in the store's directory, or `None` if the store is open for reading only or lies in memory.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn temporary_file(&self) -> Result<Option<Box<dyn TemporaryFile>>> {
        if self.state.is_writable {
            self.state.storage.temporary()
        } else {
            Ok(None)
        }
    }

    /// The explicit quads alone.
    pub fn explicit(&self) -> Self {
        self.only(|layer| !layer.is_inferred())
    }

    /// The inferred quads alone.
    pub fn inferred(&self) -> Self {
        self.only(Layer::is_inferred)
    }

    /// The explicit quads that commits after this one inserted; `None` if one of these deleted
    /// quads.
    pub fn inserted_since(&self, commit: u64) -> Option<Self> {
        let is_newer = |layer: &Layer| match layer {
            Layer::Segment(segment) => !layer.is_inferred() && segment.entry().commit > commit,
            Layer::Run(_) => true,
        };
        let newer = self.only(is_newer);
        let deleted =
            |layer: &Layer| layer.rows(Order::Spo, true) > 0 || layer.rows(Order::Gspo, true) > 0;
        (!newer.state.layers.iter().any(deleted)).then_some(newer)
    }

    fn only(&self, keep: impl Fn(&Layer) -> bool) -> Self {
        let layers = self.state.layers.iter().filter(|layer| keep(layer));
        Self {
            dataset: self.dataset.clone(),
            state: Arc::new(self.state.with_layers(layers.cloned().collect())),
        }
    }

    /// Number of the last commit of explicit quads.
    pub fn commit(&self) -> u64 {
        self.state.commit
    }

    /// What the store's inferred quads follow from, if any were inferred.
    pub fn inference(&self) -> Option<&InferenceEntry> {
        self.state.inference.as_ref()
    }

    /// Whether explicit quads changed since the inferred ones, of which this snapshot shows some, were
    /// computed: conclusions may be missing, and some may not follow any more.
    pub fn is_inference_stale(&self) -> bool {
        match &self.state.inference {
            Some(inference) => inference.commit < self.state.commit,
            None => self.state.may_overlap,
        }
    }

    /// The rows of a pattern in an order that begins with the pattern's bound positions.
    ///
    /// The scan gives the columns behind the bound ones; of those, `wanted` (in the order's own
    /// column numbers) says which are to be filled.
    ///
    /// # Panics
    /// If the pattern's bound positions are not a prefix of the order ([`Pattern::prefix_in`]).
    pub fn scan(&self, pattern: &Pattern, order: Order, wanted: ColumnMask) -> Result<Scan> {
        match &self.dataset {
            None => self.scan_stored(pattern, order, wanted),
            Some(dataset) => self.scan_in_dataset(dataset, pattern, order, wanted),
        }
    }

    /// The rows of a pattern in the graphs as they are stored.
    fn scan_stored(&self, pattern: &Pattern, order: Order, wanted: ColumnMask) -> Result<Scan> {
        let (prefix, length) = pattern
            .prefix_in(order)
            .expect("the bound positions are a prefix of the order");
        let prefix = &prefix[..length];
        let width = order.columns().len() - length;
        if width == 0 {
            return Ok(Scan::bound(self.contains_stored(&order.quad(prefix))?));
        }
        Ok(self.scan_located(&self.located(order, prefix)?, wanted))
    }

    /// Cuts a scan into at most `parts` of about one size, for as many threads: one after the other
    /// they give the rows of [`Snapshot::scan`]. Small scans have fewer parts, those without rows
    /// none.
    ///
    /// # Panics
    /// As [`Snapshot::scan`].
    pub fn scan_parts(
        &self,
        pattern: &Pattern,
        order: Order,
        wanted: ColumnMask,
        parts: usize,
    ) -> Result<Vec<Scan>> {
        let (prefix, length) = pattern
            .prefix_in(order)
            .expect("the bound positions are a prefix of the order");
        let prefix = &prefix[..length];
        let width = order.columns().len() - length;
        // What a dataset shows is not cut.
        if width == 0 || self.dataset.is_some() {
            return Ok(vec![self.scan(pattern, order, wanted)?]);
        }
        self.scan_parts_located(&self.located(order, prefix)?, wanted, parts)
    }

    /// How many quads match a pattern: exact, and without a scan unless graphs are merged, or inference is stale
    /// and both explicit and inferred quads match (see [`Snapshot::count_at_most`]).
    pub fn count(&self, pattern: &Pattern) -> Result<u64> {
        match &self.dataset {
            None => self.count_stored(pattern),
            Some(dataset) => self.count_in_dataset(dataset, pattern),
        }
    }

    /// Exactly, in the store's own graphs.
    fn count_stored(&self, pattern: &Pattern) -> Result<u64> {
        let [explicit, inferred] = self.counts(pattern)?;
        if !self.state.may_overlap || explicit == 0 || inferred == 0 {
            return Ok(explicit + inferred);
        }
        let order = best_order(pattern, None).expect("every pattern has an order");
        let mut scan = self.scan_stored(pattern, order, ColumnMask::NONE)?;
        let mut rows = Columns::default();
        let mut count = 0;
        loop {
            rows.clear();
            match scan.fill(&mut rows, QUADS_ROWS)? {
                0 => return Ok(count),
                filled => count += filled as u64,
            }
        }
    }

    /// Without a scan; exact but where explicit and inferred quads may overlap, and 0 only if there is none.
    fn count_stored_at_most(&self, pattern: &Pattern) -> Result<u64> {
        Ok(self.counts(pattern)?.iter().sum())
    }

    /// How many explicit and how many inferred quads match a pattern.
    fn counts(&self, pattern: &Pattern) -> Result<[u64; 2]> {
        self.counts_located(&self.locate_stored(pattern)?)
    }

    /// Whether a quad is in the store.
    pub fn contains(&self, quad: &Quad) -> Result<bool> {
        match &self.dataset {
            None => self.contains_stored(quad),
            Some(dataset) => self.contains_in_dataset(dataset, quad),
        }
    }

    fn contains_stored(&self, quad: &Quad) -> Result<bool> {
        let order = if quad.graph == TermId::DEFAULT_GRAPH {
            Order::Spo
        } else {
            Order::Gspo
        };
        let row = order.row(quad);
        let row = &row[..order.columns().len()];
        for is_inferred in [false, true] {
            // The newest layer of a set that mentions the quad decides for it.
            let layers = self.state.layers.iter().rev();
            'set: for layer in layers.filter(|layer| layer.is_inferred() == is_inferred) {
                for tombstones in [false, true] {
                    if !layer.row_range(order, tombstones, row)?.is_empty() {
                        if !tombstones {
                            return Ok(true);
                        }
                        break 'set;
                    }
                }
            }
        }
        Ok(false)
    }

    /// How many quads there are; what [`Snapshot::count`] says of its cost holds.
    pub fn len(&self) -> Result<u64> {
        Ok(self.graph_len(GraphSelector::Default)? + self.graph_len(GraphSelector::AnyNamed)?)
    }

    /// How many quads are in these graphs.
    pub(crate) fn graph_len(&self, graph: GraphSelector) -> Result<u64> {
        self.count_stored(&Pattern {
            subject: None,
            predicate: None,
            object: None,
            graph,
        })
    }

    /// The number of different predicates of each segment, oldest first.
    pub(crate) fn segment_predicates(&self) -> impl Iterator<Item = u64> {
        self.state.layers.iter().filter_map(|layer| match layer {
            Layer::Segment(segment) => Some(segment.predicates().len() as u64),
            Layer::Run(_) => None,
        })
    }

    /// Whether no layers' sum of tombstones exceeds the inserts of their set below; a manifest could
    /// claim it.
    pub(crate) fn counts_are_possible(&self) -> bool {
        [Order::Spo, Order::Gspo].into_iter().all(|order| {
            let mut shown = [0_u64; 2];
            self.state.layers.iter().all(|layer| {
                let shown = &mut shown[usize::from(layer.is_inferred())];
                match shown.checked_sub(layer.rows(order, true)) {
                    Some(left) => *shown = left.saturating_add(layer.rows(order, false)),
                    None => return false,
                }
                true
            })
        })
    }

    /// Whether there is no quad.
    pub fn is_empty(&self) -> bool {
        let rows = |order, tombstones| -> u64 {
            let layers = self.state.layers.iter();
            layers.map(|layer| layer.rows(order, tombstones)).sum()
        };
        [Order::Spo, Order::Gspo]
            .into_iter()
            .all(|order| rows(order, false) == rows(order, true))
    }

    /// All quads, those of the default graph first, then graph by graph. The iterator owns what it
    /// needs.
    pub fn quads(&self) -> Quads {
        Quads {
            snapshot: self.clone(),
            pending: vec![Order::Gspo, Order::Spo],
            scan: None,
            rows: Columns::default(),
            next: 0,
        }
    }

    /// The names of the graphs that have a quad, ascending by id. One seek for each graph.
    pub fn named_graphs(&self) -> Result<Vec<TermId>> {
        if let Some(dataset) = &self.dataset
            && let Graphs::Some(graphs) = dataset.named()
        {
            return self.named_graphs_in(graphs);
        }
        let pattern = Pattern {
            subject: None,
            predicate: None,
            object: None,
            graph: GraphSelector::AnyNamed,
        };
        let mut scan = self.scan(&pattern, Order::Gspo, ColumnMask::NONE.with(0))?;
        let mut graphs = Vec::new();
        let mut row = Columns::default();
        while scan.fill(&mut row, 1)? > 0 {
            let graph = row.columns[0][0];
            graphs.push(graph);
            row.clear();
            match graph.bits().checked_add(1) {
                Some(next) => scan.seek(&[TermId::from_bits(next)])?,
                None => break,
            }
        }
        Ok(graphs)
    }

    /// The statistics of all segments, merged; read when first asked for.
    pub fn statistics(&self) -> Result<Arc<Statistics>> {
        if let Some(statistics) = self.state.statistics.get() {
            return Ok(Arc::clone(statistics));
        }
        let mut parts = Vec::new();
        for layer in &self.state.layers {
            if let Layer::Segment(segment) = layer {
                parts.push(segment.statistics()?);
            }
        }
        let merged = match &*parts {
            [only] => Arc::clone(only),
            parts => Arc::new(Statistics::merge(parts.iter().map(|part| &**part))),
        };
        Ok(Arc::clone(self.state.statistics.get_or_init(|| merged)))
    }

    /// The prefixes that loads met, for output: name (without the colon) and IRI.
    pub fn prefixes(&self) -> &BTreeMap<String, String> {
        &self.state.prefixes
    }
}

/// An iterator over all quads of a snapshot; ends after an error.
#[derive(Debug)]
pub struct Quads {
    snapshot: Snapshot,
    /// Orders still to come, the next one last.
    pending: Vec<Order>,
    scan: Option<(Order, Scan)>,
    rows: Columns,
    next: usize,
}

impl Quads {
    /// Fetches rows; `false` at the end.
    fn fetch(&mut self) -> Result<bool> {
        loop {
            if let Some((_, scan)) = &mut self.scan {
                self.rows.clear();
                self.next = 0;
                if scan.fill(&mut self.rows, QUADS_ROWS)? > 0 {
                    return Ok(true);
                }
            }
            let Some(order) = self.pending.pop() else {
                return Ok(false);
            };
            let graph = if order.is_default_graph() {
                GraphSelector::Default
            } else {
                GraphSelector::AnyNamed
            };
            let pattern = Pattern {
                subject: None,
                predicate: None,
                object: None,
                graph,
            };
            let scan = self
                .snapshot
                .scan_stored(&pattern, order, ColumnMask::ALL)?;
            self.scan = Some((order, scan));
        }
    }
}

impl Iterator for Quads {
    type Item = Result<Quad>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.rows.len() {
            match self.fetch() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.pending.clear();
                    self.scan = None;
                    self.rows.clear();
                    self.next = 0;
                    return Some(Err(error));
                }
            }
        }
        let (order, _) = self.scan.as_ref()?;
        let mut row = [TermId::UNBOUND; 4];
        for (value, column) in row.iter_mut().zip(&self.rows.columns) {
            *value = column[self.next];
        }
        self.next += 1;
        Some(Ok(order.quad(&row)))
    }
}
