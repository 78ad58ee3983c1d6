//! `Relation`: the quads that one step of a path takes, from one end to the other.
//!
//! A relation is read in an order of the store whose free columns begin with the end that the step starts from: a sorted
//! batch of nodes is looked up in one pass with seeks, and the whole relation comes grouped by start.

use crate::error::Result;
use crate::exec::control::Control;
use quadrille_store::index::{ColumnMask, Columns};
use quadrille_store::merge::Scan;
use quadrille_store::{GraphSelector, Order, Pattern, Position, Snapshot, TermId, best_order};
use std::sync::Arc;

/// Rows that a lookup reads at first; doubled as long as they belong to one node.
const WINDOW_ROWS_MIN: usize = 16;
/// Rows that a lookup or a scan reads at most before the query is asked whether it goes on.
const WINDOW_ROWS_MAX: usize = 1024;

/// The quads of a step.
#[derive(Clone, Debug)]
pub struct Relation {
    /// What is read; its bound positions are a prefix of the order.
    pub pattern: Pattern,
    /// Whether the step leads from objects to subjects.
    pub is_inverse: bool,
    order: Order,
    wanted: ColumnMask,
    /// The scan's column of the node that is reached; the first column is the one that it is reached from.
    target: usize,
    /// The scan's column of the predicate and those that the step does not take, ascending; if it takes all others.
    excluded: Option<(usize, Vec<TermId>)>,
    /// How many quads the pattern has.
    pub rows: u64,
}

impl Relation {
    /// The quads of a graph with a predicate, or without any of the `excluded` ones, from subject to object or the other way.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn new(
        snapshot: &Snapshot,
        graph: GraphSelector,
        predicate: Option<TermId>,
        mut excluded: Vec<TermId>,
        is_inverse: bool,
    ) -> Result<Self> {
        let pattern = Pattern {
            subject: None,
            predicate,
            object: None,
            graph,
        };
        let (from, to) = if is_inverse {
            (Position::Object, Position::Subject)
        } else {
            (Position::Subject, Position::Object)
        };
        let order = order_from(&pattern, from);
        let (_, bound) = pattern
            .prefix_in(order)
            .expect("that is what it was chosen for");
        let column = |position| order.column_of(position).expect("every order has it");
        let mut wanted = ColumnMask::NONE.with(column(from)).with(column(to));
        excluded.sort_unstable();
        let excluded = predicate.is_none().then(|| {
            wanted = wanted.with(column(Position::Predicate));
            (column(Position::Predicate) - bound, excluded)
        });
        Ok(Self {
            rows: snapshot.count_at_most(&pattern)?,
            target: column(to) - bound,
            is_inverse,
            pattern,
            order,
            wanted,
            excluded,
        })
    }

    fn scan(&self, snapshot: &Snapshot) -> Result<Scan> {
        Ok(snapshot.scan(&self.pattern, self.order, self.wanted)?)
    }

    /// Calls `each` for every node that is reached from one of `nodes`, which come ascending. Returns how many rows were
    /// read.
    ///
    /// # Errors
    /// If the store cannot be read, or the query is stopped.
    pub fn lookup(
        &self,
        snapshot: &Snapshot,
        control: &Control,
        nodes: impl Iterator<Item = TermId>,
        each: &mut impl FnMut(TermId),
    ) -> Result<u64> {
        let mut scan = self.scan(snapshot)?;
        let mut window = Columns::default();
        let (mut at, mut end, mut read) = (0, 0, 0);
        let mut fill = WINDOW_ROWS_MIN;
        for node in nodes {
            let mut has_sought = false;
            loop {
                // The rows of the window come first: neighbouring nodes are often next to one another.
                while at < end && window.columns[0][at] < node {
                    at += 1;
                }
                if at == end {
                    if has_sought {
                        fill = (fill * 2).min(WINDOW_ROWS_MAX);
                    } else {
                        scan.seek(&[node])?;
                        has_sought = true;
                        fill = WINDOW_ROWS_MIN;
                    }
                    control.check()?;
                    window.clear();
                    at = 0;
                    end = scan.fill(&mut window, fill)?;
                    read += end as u64;
                    if end == 0 {
                        // There is nothing behind this node.
                        return Ok(read);
                    }
                    continue;
                }
                if window.columns[0][at] != node {
                    break;
                }
                while at < end && window.columns[0][at] == node {
                    if self.takes(&window, at) {
                        each(window.columns[self.target][at]);
                    }
                    at += 1;
                }
                if at < end {
                    break;
                }
                // The node may have more rows behind the window, which need no seek.
                has_sought = true;
            }
        }
        Ok(read)
    }

    /// Calls `each` for every pair of nodes, grouped by the first.
    ///
    /// # Errors
    /// Those of `each`; if the store cannot be read, or the query is stopped.
    pub fn read(
        &self,
        snapshot: &Snapshot,
        control: &Control,
        each: &mut impl FnMut(TermId, TermId) -> Result<()>,
    ) -> Result<()> {
        let mut scan = self.scan(snapshot)?;
        let mut window = Columns::default();
        loop {
            control.check()?;
            window.clear();
            let rows = scan.fill(&mut window, WINDOW_ROWS_MAX)?;
            if rows == 0 {
                return Ok(());
            }
            for row in 0..rows {
                if self.takes(&window, row) {
                    each(window.columns[0][row], window.columns[self.target][row])?;
                }
            }
        }
    }

    fn takes(&self, window: &Columns, row: usize) -> bool {
        match &self.excluded {
            Some((column, excluded)) => excluded
                .binary_search(&window.columns[*column][row])
                .is_err(),
            None => true,
        }
    }
}

/// The order of a pattern without bound ends whose free columns begin with one of them.
fn order_from(pattern: &Pattern, from: Position) -> Order {
    best_order(pattern, Some(from))
        .expect("ends are free, and every graph has orders that sort by either")
}

/// Terms ascending, each once, out of sorted scans: the nodes that paths may begin with.
pub struct Nodes {
    control: Arc<Control>,
    streams: Vec<Stream>,
}

struct Stream {
    scan: Scan,
    window: Columns,
    at: usize,
    rows: usize,
}

impl Nodes {
    /// The nodes that some relations lead from.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn of_relations<'a>(
        snapshot: &Snapshot,
        control: &Arc<Control>,
        relations: impl Iterator<Item = &'a Relation>,
    ) -> Result<Self> {
        let streams = relations
            .map(|relation| {
                let (_, bound) = relation
                    .pattern
                    .prefix_in(relation.order)
                    .expect("the order was chosen for the pattern");
                let wanted = ColumnMask::NONE.with(bound);
                Ok(Stream {
                    scan: snapshot.scan(&relation.pattern, relation.order, wanted)?,
                    window: Columns::default(),
                    at: 0,
                    rows: 0,
                })
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            control: Arc::clone(control),
            streams,
        })
    }

    /// The nodes of a graph: the subjects and objects of its triples.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn of_graph(
        snapshot: &Snapshot,
        control: &Arc<Control>,
        graph: GraphSelector,
    ) -> Result<Self> {
        let ends = [false, true]
            .map(|is_inverse| Relation::new(snapshot, graph, None, Vec::new(), is_inverse));
        let [subjects, objects] = ends;
        Self::of_relations(snapshot, control, [subjects?, objects?].iter())
    }

    /// The next node.
    ///
    /// # Errors
    /// If the store cannot be read, or the query is stopped.
    pub fn next_node(&mut self) -> Result<Option<TermId>> {
        let mut least: Option<TermId> = None;
        for stream in &mut self.streams {
            if let Some(head) = stream.head(&self.control)? {
                least = Some(least.map_or(head, |least| least.min(head)));
            }
        }
        let Some(least) = least else {
            return Ok(None);
        };
        for stream in &mut self.streams {
            while stream.head(&self.control)? == Some(least) {
                stream.at += 1;
            }
        }
        Ok(Some(least))
    }
}

impl Stream {
    fn head(&mut self, control: &Control) -> Result<Option<TermId>> {
        if self.at == self.rows {
            control.check()?;
            self.window.clear();
            self.at = 0;
            self.rows = self.scan.fill(&mut self.window, WINDOW_ROWS_MAX)?;
            if self.rows == 0 {
                return Ok(None);
            }
        }
        Ok(Some(self.window.columns[0][self.at]))
    }
}

/// Whether a term is a node of a graph: the subject or the object of a triple.
///
/// # Errors
/// If the store cannot be read.
pub fn is_node(snapshot: &Snapshot, graph: GraphSelector, term: TermId) -> Result<bool> {
    let pattern = |subject, object| Pattern {
        subject,
        predicate: None,
        object,
        graph,
    };
    Ok(snapshot.count_at_most(&pattern(Some(term), None))? > 0
        || snapshot.count_at_most(&pattern(None, Some(term)))? > 0)
}
