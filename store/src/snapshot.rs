//! `Snapshot`: a store as it was at one moment, for as long as somebody looks at it.
//!
//! A snapshot is the list of layers that were live, oldest first, and the dictionaries that name
//! their terms; an `Arc` of them, so that it is cheap to clone and nothing that a writer does later
//! can be seen through it. Files that were removed meanwhile stay readable: they are mapped.
//!
//! What always holds: each layer inserts only quads that the older ones do not show, and deletes
//! only quads that they do; so the number of rows in a range is the sum of inserts minus the sum of
//! tombstones, exactly.

pub mod dataset;
pub mod terms;

use crate::error::{Result, StoreError};
use crate::id::TermId;
use crate::index::{ColumnMask, Columns, Cursor, OrderCursor};
use crate::io::{Storage, TemporaryFile};
use crate::merge::{MergeSource, Scan};
use crate::quad::{GraphSelector, Order, Pattern, Position, Quad};
use crate::run::{Run, RunCursor};
use crate::segment::Segment;
use crate::statistics::Statistics;
use crate::triple_table::TripleTable;
use dataset::{Dataset, Graphs};
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
    /// Merged when first asked for.
    pub(crate) statistics: OnceLock<Arc<Statistics>>,
}

/// One set of inserts and tombstones.
#[derive(Clone, Debug)]
pub(crate) enum Layer {
    Segment(Arc<Segment>),
    Run(Arc<Run>),
}

impl Layer {
    fn rows(&self, order: Order, tombstones: bool) -> u64 {
        match self {
            Self::Segment(segment) => segment.rows(order, tombstones),
            Self::Run(run) => run.rows(order, tombstones),
        }
    }

    fn count(&self, order: Order, tombstones: bool, prefix: &[TermId]) -> Result<u64> {
        match self {
            Self::Segment(segment) => segment
                .order(order, tombstones)
                .map_or(Ok(0), |file| file.count(prefix)),
            Self::Run(run) => {
                let rows = run.row_range(order, tombstones, prefix);
                Ok(rows.end - rows.start)
            }
        }
    }
}

/// The rows that one layer's inserts or tombstones have in a range.
struct Source<'a> {
    layer: &'a Layer,
    order: Order,
    tombstones: bool,
    cursor: LayerCursor,
}

enum LayerCursor {
    Segment(OrderCursor),
    Run(RunCursor),
}

impl<'a> Source<'a> {
    /// Opens a cursor over the rows that begin with a prefix; `None` if there are none.
    fn open(
        layer: &'a Layer,
        order: Order,
        tombstones: bool,
        prefix: &[TermId],
        wanted: ColumnMask,
    ) -> Result<Option<Self>> {
        let cursor = match layer {
            Layer::Segment(segment) => match segment.order(order, tombstones) {
                Some(file) => LayerCursor::Segment(file.cursor_wanting(prefix, wanted)?),
                None => return Ok(None),
            },
            Layer::Run(run) => {
                let rows = run.row_range(order, tombstones, prefix);
                let cursor = run.cursor_rows(order, tombstones, prefix.len(), rows, wanted);
                LayerCursor::Run(cursor)
            }
        };
        let source = Self {
            layer,
            order,
            tombstones,
            cursor,
        };
        Ok((!source.rows().is_empty()).then_some(source))
    }

    /// Another cursor, over some rows of the range.
    fn part(&self, prefix: &[TermId], rows: Range<u64>, wanted: ColumnMask) -> Self {
        let (order, tombstones) = (self.order, self.tombstones);
        let cursor = match self.layer {
            Layer::Segment(segment) => {
                let file = segment.order(order, tombstones).expect("it was opened");
                LayerCursor::Segment(file.cursor_rows(prefix, rows, wanted))
            }
            Layer::Run(run) => {
                LayerCursor::Run(run.cursor_rows(order, tombstones, prefix.len(), rows, wanted))
            }
        };
        Self { cursor, ..*self }
    }

    /// The numbers of the rows that are to come.
    fn rows(&self) -> Range<u64> {
        match &self.cursor {
            LayerCursor::Segment(cursor) => cursor.row_range(),
            LayerCursor::Run(cursor) => cursor.row_range(),
        }
    }

    fn length(&self) -> u64 {
        let rows = self.rows();
        rows.end - rows.start
    }

    fn cursor_mut(&mut self) -> &mut dyn Cursor {
        match &mut self.cursor {
            LayerCursor::Segment(cursor) => cursor,
            LayerCursor::Run(cursor) => cursor,
        }
    }

    fn into_cursor(self) -> Box<dyn Cursor> {
        match self.cursor {
            LayerCursor::Segment(cursor) => Box::new(cursor),
            LayerCursor::Run(cursor) => Box::new(cursor),
        }
    }

    /// Where the rows can be cut into at most `parts` ranges of about one size: numbers of rows,
    /// ascending.
    fn cuts(&self, prefix: &[TermId], parts: usize) -> Result<Vec<u64>> {
        let ranges = match self.layer {
            Layer::Segment(segment) => {
                let file = segment
                    .order(self.order, self.tombstones)
                    .expect("it was opened");
                file.split(prefix, parts)?
            }
            Layer::Run(_) => {
                let (rows, length) = (self.rows(), self.length());
                let share = length.div_ceil(parts.max(1) as u64).max(1);
                (0..length.div_ceil(share))
                    .map(|part| rows.start + part * share..rows.end)
                    .collect()
            }
        };
        Ok(ranges
            .into_iter()
            .skip(1)
            .map(|range| range.start)
            .collect())
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
    /// The run must be normalised against this snapshot: it inserts only quads that are absent and
    /// deletes only quads that are present. Its terms must have ids.
    pub fn with_run(&self, run: Arc<Run>) -> Self {
        let state = &*self.state;
        let mut layers = state.layers.clone();
        layers.push(Layer::Run(run));
        Self {
            dataset: self.dataset.clone(),
            state: Arc::new(State {
                storage: Arc::clone(&state.storage),
                is_writable: state.is_writable,
                layers,
                dictionaries: state.dictionaries.clone(),
                triple_tables: state.triple_tables.clone(),
                next_blank: state.next_blank,
                prefixes: state.prefixes.clone(),
                statistics: state.statistics.clone(),
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
        let sources = self.sources(order, prefix, wanted)?;
        Ok(scan_of(sources, prefix, width, wanted))
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
        let mut sources = self.sources(order, prefix, ColumnMask::ALL)?;
        let Some(largest) = sources.iter().max_by_key(|source| source.length()) else {
            return Ok(Vec::new());
        };
        // The largest source is cut by number of rows, the others where its first row behind a cut
        // belongs.
        let mut starts: Vec<Vec<u64>> =
            vec![sources.iter().map(|source| source.rows().start).collect()];
        let mut row = Columns::default();
        for cut in largest.cuts(prefix, parts)? {
            let mut head = largest.part(prefix, cut..cut + 1, ColumnMask::ALL);
            head.cursor_mut().fill(&mut row, 1)?;
        }
        for index in 0..row.len() {
            let key: Vec<TermId> = row.columns[..width]
                .iter()
                .map(|column| column[index])
                .collect();
            let mut start = Vec::with_capacity(sources.len());
            for source in &mut sources {
                source.cursor_mut().seek(&key)?;
                start.push(source.rows().start);
            }
            starts.push(start);
        }
        starts.push(sources.iter().map(|source| source.rows().end).collect());
        let scans = starts.windows(2).map(|ends| {
            let parts = sources
                .iter()
                .zip(ends[0].iter().zip(&ends[1]))
                .filter(|(_, (start, end))| start < end)
                .map(|(source, (start, end))| source.part(prefix, *start..*end, wanted))
                .collect();
            scan_of(parts, prefix, width, wanted)
        });
        Ok(scans.collect())
    }

    /// Cursors over what the layers have in a range, oldest layer first.
    fn sources(
        &self,
        order: Order,
        prefix: &[TermId],
        wanted: ColumnMask,
    ) -> Result<Vec<Source<'_>>> {
        let mut sources = Vec::new();
        for layer in &self.state.layers {
            for tombstones in [false, true] {
                sources.extend(Source::open(layer, order, tombstones, prefix, wanted)?);
            }
        }
        Ok(sources)
    }

    /// How many quads match a pattern: exact, and without a scan unless graphs are merged (see
    /// [`Snapshot::count_at_most`]).
    pub fn count(&self, pattern: &Pattern) -> Result<u64> {
        match &self.dataset {
            None => self.count_stored(pattern),
            Some(dataset) => self.count_in_dataset(dataset, pattern),
        }
    }

    fn count_stored(&self, pattern: &Pattern) -> Result<u64> {
        let order = best_order(pattern, None).expect("every pattern has an order");
        let (prefix, length) = pattern
            .prefix_in(order)
            .expect("that is what it was chosen for");
        let (mut inserted, mut deleted) = (0_u64, 0_u64);
        for layer in &self.state.layers {
            inserted += layer.count(order, false, &prefix[..length])?;
            deleted += layer.count(order, true, &prefix[..length])?;
        }
        // Files can be whole and still contradict one another; `verify` says which.
        inserted
            .checked_sub(deleted)
            .ok_or_else(|| StoreError::Damaged {
                path: self.state.storage.display(""),
                offset: 0,
                reason: format!("{deleted} quads deleted of {inserted} inserted ({pattern:?})"),
            })
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
        // The newest layer that mentions the quad decides.
        for layer in self.state.layers.iter().rev() {
            for tombstones in [false, true] {
                if layer.count(order, tombstones, row)? > 0 {
                    return Ok(!tombstones);
                }
            }
        }
        Ok(false)
    }

    /// How many quads there are.
    pub fn len(&self) -> u64 {
        self.rows(Order::Spo) + self.rows(Order::Gspo)
    }

    /// How many quads are in the graphs of an order.
    pub(crate) fn rows(&self, order: Order) -> u64 {
        let sum = |tombstones| -> u64 {
            self.state
                .layers
                .iter()
                .map(|layer| layer.rows(order, tombstones))
                .sum()
        };
        sum(false) - sum(true)
    }

    /// The number of different predicates of each segment, oldest first.
    pub(crate) fn segment_predicates(&self) -> impl Iterator<Item = u64> {
        self.state.layers.iter().filter_map(|layer| match layer {
            Layer::Segment(segment) => Some(segment.predicates().len() as u64),
            Layer::Run(_) => None,
        })
    }

    /// Whether no layers' sum of tombstones exceeds the inserts below; a manifest could claim it.
    pub(crate) fn counts_are_possible(&self) -> bool {
        [Order::Spo, Order::Gspo].into_iter().all(|order| {
            let mut shown = 0_u64;
            self.state.layers.iter().all(|layer| {
                match shown.checked_sub(layer.rows(order, true)) {
                    Some(left) => shown = left.saturating_add(layer.rows(order, false)),
                    None => return false,
                }
                true
            })
        })
    }

    /// Whether there is no quad.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
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

/// The scan of sources whose cursors have the wanted columns. A merge needs all columns, so it
/// opens them anew.
fn scan_of(
    mut sources: Vec<Source<'_>>,
    prefix: &[TermId],
    width: usize,
    wanted: ColumnMask,
) -> Scan {
    if let [source] = &*sources
        && !source.tombstones
    {
        return sources
            .pop()
            .map_or_else(Scan::empty, |source| Scan::one(source.into_cursor()));
    }
    if sources.is_empty() {
        return Scan::empty();
    }
    let sources = sources
        .into_iter()
        .map(|source| MergeSource {
            tombstones: source.tombstones,
            cursor: source
                .part(prefix, source.rows(), ColumnMask::ALL)
                .into_cursor(),
        })
        .collect();
    Scan::merge(sources, prefix.len(), width, wanted)
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
