//! `Snapshot`: a store as it was at one moment, for as long as somebody looks at it.
//!
//! A snapshot is the list of layers that were live, oldest first, and the dictionaries that name their terms; an
//! `Arc` of them, so that it is cheap to clone and nothing that a writer does later can be seen through it.
//! Files that were removed meanwhile stay readable: they are mapped.
//!
//! What always holds: each layer inserts only quads that the older ones do not show, and deletes only quads that they
//! do; so the number of rows in a range is the sum of inserts minus the sum of tombstones, exactly.

pub mod terms;

use crate::error::Result;
use crate::id::TermId;
use crate::index::{ColumnMask, Columns, Cursor};
use crate::io::Storage;
use crate::merge::{MergeSource, Scan};
use crate::quad::{GraphSelector, Order, Pattern, Position, Quad};
use crate::run::Run;
use crate::segment::Segment;
use crate::statistics::Statistics;
use crate::triple_table::TripleTable;
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
}

/// What a snapshot shares with its clones.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) storage: Arc<dyn Storage>,
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

    /// The numbers of the rows that begin with a prefix.
    fn range(&self, order: Order, tombstones: bool, prefix: &[TermId]) -> Result<Range<u64>> {
        match self {
            Self::Segment(segment) => match segment.order(order, tombstones) {
                Some(file) => file.row_range(prefix),
                None => Ok(0..0),
            },
            Self::Run(run) => Ok(run.row_range(order, tombstones, prefix)),
        }
    }

    fn count(&self, order: Order, tombstones: bool, prefix: &[TermId]) -> Result<u64> {
        let range = self.range(order, tombstones, prefix)?;
        Ok(range.end - range.start)
    }

    /// A cursor over rows that begin with a prefix, of which there are some.
    fn cursor(&self, stretch: &Stretch, prefix: &[TermId], wanted: ColumnMask) -> Box<dyn Cursor> {
        let Stretch {
            order,
            tombstones,
            ref rows,
        } = *stretch;
        match self {
            Self::Segment(segment) => {
                let file = segment.order(order, tombstones).expect("a range of rows");
                Box::new(file.cursor_rows(prefix, rows.clone(), wanted))
            }
            Self::Run(run) => {
                Box::new(run.cursor_rows(order, tombstones, prefix.len(), rows.clone(), wanted))
            }
        }
    }
}

/// A range of rows of one layer.
struct Stretch {
    order: Order,
    tombstones: bool,
    rows: Range<u64>,
}

/// The order to scan a pattern in: one that begins with the pattern's bound positions and then, if `sorted_by` names
/// a free position, has that one, so that the rows come out sorted by it. `None` if no order does that
/// (some sorts by graph, or within one named graph).
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
    /// The run must be normalised against this snapshot: it inserts only quads that are absent and deletes only quads
    /// that are present. Its terms must have ids.
    pub fn with_run(&self, run: Arc<Run>) -> Self {
        let state = &*self.state;
        let mut layers = state.layers.clone();
        layers.push(Layer::Run(run));
        Self {
            state: Arc::new(State {
                storage: Arc::clone(&state.storage),
                layers,
                dictionaries: state.dictionaries.clone(),
                triple_tables: state.triple_tables.clone(),
                next_blank: state.next_blank,
                prefixes: state.prefixes.clone(),
                statistics: state.statistics.clone(),
            }),
        }
    }

    /// The rows of a pattern in an order that begins with the pattern's bound positions.
    ///
    /// The scan gives the columns behind the bound ones; of those, `wanted` (in the order's own column numbers) says
    /// which are to be filled.
    ///
    /// # Panics
    /// If the pattern's bound positions are not a prefix of the order ([`Pattern::prefix_in`]).
    pub fn scan(&self, pattern: &Pattern, order: Order, wanted: ColumnMask) -> Result<Scan> {
        let (prefix, length) = pattern
            .prefix_in(order)
            .expect("the bound positions are a prefix of the order");
        let prefix = &prefix[..length];
        let width = order.columns().len() - length;
        if width == 0 {
            return Ok(Scan::bound(self.contains(&order.quad(prefix))?));
        }
        // Which layers have something in the range decides whether there is anything to merge.
        let mut present = Vec::new();
        for layer in &self.state.layers {
            for tombstones in [false, true] {
                let rows = layer.range(order, tombstones, prefix)?;
                if !rows.is_empty() {
                    let stretch = Stretch {
                        order,
                        tombstones,
                        rows,
                    };
                    present.push((layer, stretch));
                }
            }
        }
        match &*present {
            [] => Ok(Scan::empty()),
            [(layer, stretch)] if !stretch.tombstones => {
                Ok(Scan::one(layer.cursor(stretch, prefix, wanted)))
            }
            _ => {
                let sources = present
                    .iter()
                    .map(|(layer, stretch)| MergeSource {
                        cursor: layer.cursor(stretch, prefix, ColumnMask::ALL),
                        tombstones: stretch.tombstones,
                    })
                    .collect();
                Ok(Scan::merge(sources, length, width, wanted))
            }
        }
    }

    /// How many quads match a pattern: exact, without a scan.
    pub fn count(&self, pattern: &Pattern) -> Result<u64> {
        let order = best_order(pattern, None).expect("every pattern has an order");
        let (prefix, length) = pattern.prefix_in(order).expect("that is what it was chosen for");
        let (mut inserted, mut deleted) = (0, 0);
        for layer in &self.state.layers {
            inserted += layer.count(order, false, &prefix[..length])?;
            deleted += layer.count(order, true, &prefix[..length])?;
        }
        assert!(deleted <= inserted, "layers delete only what older ones show");
        Ok(inserted - deleted)
    }

    /// Whether a quad is in the store.
    pub fn contains(&self, quad: &Quad) -> Result<bool> {
        let order = if quad.graph == TermId::DEFAULT_GRAPH { Order::Spo } else { Order::Gspo };
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
            self.state.layers.iter().map(|layer| layer.rows(order, tombstones)).sum()
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

    /// All quads, those of the default graph first, then graph by graph. The iterator owns what it needs.
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
            self.scan = Some((order, self.snapshot.scan(&pattern, order, ColumnMask::ALL)?));
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
