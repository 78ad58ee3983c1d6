//! `Run`: a layer in memory, the quads that a few commits inserted and deleted, immutable and
//! sorted.
//!
//! Each order is columns of ids, like an order's file without its packing. The quads are given in
//! one order; the others are sorted when somebody first asks for them, since most runs are merged
//! away before that.
//!
//! What always holds: a run never changes (a reader may hold it as long as it likes); no quad
//! stands twice among its inserts or its tombstones, and none stands in both.

use crate::error::Result;
use crate::id::TermId;
use crate::index::{ColumnMask, Columns, Cursor};
use crate::quad::{Order, Quad};
use std::cmp::Ordering;
use std::ops::{Range, RangeInclusive};
use std::sync::{Arc, OnceLock};

/// An immutable sorted set of inserted quads, and one of deleted quads.
#[derive(Debug, Default)]
pub struct Run {
    inserts: SortedQuads,
    tombstones: SortedQuads,
}

impl Run {
    /// The run of these quads; repeated ones count once.
    ///
    /// # Panics
    /// If a quad is both inserted and deleted: a commit is normalised before it becomes a run.
    pub fn new(inserts: Vec<Quad>, tombstones: Vec<Quad>) -> Self {
        let run = Self {
            inserts: SortedQuads::new(inserts),
            tombstones: SortedQuads::new(tombstones),
        };
        for order in [Order::Spo, Order::Gspo] {
            let (inserts, tombstones) = (run.inserts.order(order), run.tombstones.order(order));
            assert!(
                !inserts.intersects(tombstones),
                "a quad was inserted and deleted in one run"
            );
        }
        run
    }

    /// Rows of an order.
    pub fn rows(&self, order: Order, tombstones: bool) -> u64 {
        self.side(tombstones).order(order).length as u64
    }

    /// The numbers of the rows of an order that begin with a prefix.
    pub fn row_range(&self, order: Order, tombstones: bool, prefix: &[TermId]) -> Range<u64> {
        let rows = self.side(tombstones).order(order).range(prefix);
        rows.start as u64..rows.end as u64
    }

    /// Of some rows of an order that have one prefix, those whose column behind the prefix has an id in a range.
    pub fn row_range_within(
        &self,
        order: Order,
        tombstones: bool,
        prefix_length: usize,
        ids: &RangeInclusive<TermId>,
        rows: &Range<u64>,
    ) -> Range<u64> {
        let sorted = self.side(tombstones).order(order);
        let values = &sorted.columns[prefix_length][rows.start as usize..rows.end as usize];
        let start = values.partition_point(|id| id < ids.start());
        let end = values.partition_point(|id| id <= ids.end()).max(start);
        rows.start + start as u64..rows.start + end as u64
    }

    /// A cursor over some of the rows that [`Run::row_range`] gave for a prefix of `prefix_length`.
    ///
    /// # Panics
    /// If the range reaches beyond the run's rows.
    pub fn cursor_rows(
        &self,
        order: Order,
        tombstones: bool,
        prefix_length: usize,
        range: Range<u64>,
        wanted: ColumnMask,
    ) -> RunCursor {
        let rows = self.side(tombstones).order(order);
        assert!(
            range.end <= rows.length as u64,
            "a range beyond the run's rows"
        );
        RunCursor {
            range: range.start as usize..range.end as usize,
            rows: Arc::clone(rows),
            prefix_length,
            wanted,
        }
    }

    fn side(&self, tombstones: bool) -> &SortedQuads {
        if tombstones {
            &self.tombstones
        } else {
            &self.inserts
        }
    }
}

/// One set of quads in all orders.
#[derive(Debug, Default)]
struct SortedQuads {
    orders: [OnceLock<Arc<SortedRows>>; 16],
}

impl SortedQuads {
    fn new(quads: Vec<Quad>) -> Self {
        let (default, named): (Vec<_>, Vec<_>) = quads
            .into_iter()
            .partition(|quad| quad.graph == TermId::DEFAULT_GRAPH);
        let sorted = Self::default();
        for (order, quads) in [(Order::Spo, default), (Order::Gspo, named)] {
            let rows = quads.iter().map(|quad| order.row(quad)).collect();
            let set = sorted.orders[order as usize].set(Arc::new(SortedRows::new(order, rows)));
            assert!(set.is_ok(), "a fresh cell is empty");
        }
        sorted
    }

    fn order(&self, order: Order) -> &Arc<SortedRows> {
        self.orders[order as usize].get_or_init(|| {
            let base = if order.is_default_graph() {
                Order::Spo
            } else {
                Order::Gspo
            };
            if order == base {
                return Arc::default();
            }
            let rows = self.order(base);
            let rows = (0..rows.length).map(|index| order.row(&base.quad(&rows.row(index))));
            Arc::new(SortedRows::new(order, rows.collect()))
        })
    }
}

/// Rows of one order, sorted, column by column.
#[derive(Debug, Default)]
struct SortedRows {
    columns: Vec<Vec<TermId>>,
    length: usize,
}

impl SortedRows {
    fn new(order: Order, mut rows: Vec<[TermId; 4]>) -> Self {
        rows.sort_unstable();
        rows.dedup();
        Self {
            columns: (0..order.columns().len())
                .map(|column| rows.iter().map(|row| row[column]).collect())
                .collect(),
            length: rows.len(),
        }
    }

    fn row(&self, index: usize) -> [TermId; 4] {
        let mut row = [TermId::UNBOUND; 4];
        for (value, column) in row.iter_mut().zip(&self.columns) {
            *value = column[index];
        }
        row
    }

    fn range(&self, prefix: &[TermId]) -> Range<usize> {
        let mut range = 0..self.length;
        for (value, column) in prefix.iter().zip(&self.columns) {
            let values = &column[range.clone()];
            let start = range.start + values.partition_point(|id| id < value);
            let end = range.start + values.partition_point(|id| id <= value);
            range = start..end;
        }
        range
    }

    fn intersects(&self, other: &Self) -> bool {
        let (mut left, mut right) = (0, 0);
        while left < self.length && right < other.length {
            match self.row(left).cmp(&other.row(right)) {
                Ordering::Less => left += 1,
                Ordering::Equal => return true,
                Ordering::Greater => right += 1,
            }
        }
        false
    }
}

/// A cursor over a run.
#[derive(Debug)]
pub struct RunCursor {
    rows: Arc<SortedRows>,
    range: Range<usize>,
    prefix_length: usize,
    wanted: ColumnMask,
}

impl RunCursor {
    /// The numbers of the rows that are still to come.
    pub fn row_range(&self) -> Range<u64> {
        self.range.start as u64..self.range.end as u64
    }
}

impl Cursor for RunCursor {
    fn fill(&mut self, out: &mut Columns, max: usize) -> Result<usize> {
        let count = self.range.len().min(max);
        let taken = self.range.start..self.range.start + count;
        out.widen(self.rows.columns.len().saturating_sub(self.prefix_length));
        let columns = self
            .rows
            .columns
            .iter()
            .enumerate()
            .skip(self.prefix_length);
        for ((index, column), out) in columns.zip(&mut out.columns) {
            if self.wanted.contains(index) {
                out.extend_from_slice(&column[taken.clone()]);
            }
        }
        self.range.start = taken.end;
        Ok(count)
    }

    fn seek(&mut self, key: &[TermId]) -> Result<()> {
        let columns = &self.rows.columns[self.prefix_length.min(self.rows.columns.len())..];
        let columns = &columns[..key.len().min(columns.len())];
        self.range.start = gallop(columns, self.range.clone(), key);
        Ok(())
    }
}

/// The first row of the range whose columns are not below the key (`range.end` if there is none),
/// found by steps that double from the range's start: cheap when it is near.
pub(crate) fn gallop<C: AsRef<[TermId]>>(
    columns: &[C],
    range: Range<usize>,
    key: &[TermId],
) -> usize {
    let below = |row: usize| {
        let values = columns.iter().map(|column| column.as_ref()[row]);
        values.cmp(key.iter().copied().take(columns.len())) == Ordering::Less
    };
    crate::gallop::gallop(range.start, range.end, below)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Kind;

    fn id(number: u64) -> TermId {
        TermId::new(Kind::Iri, number)
    }

    fn quad(subject: u64, predicate: u64, object: u64, graph: Option<u64>) -> Quad {
        Quad {
            subject: id(subject),
            predicate: id(predicate),
            object: id(object),
            graph: graph.map_or(TermId::DEFAULT_GRAPH, id),
        }
    }

    #[test]
    fn galloping_finds_what_a_scan_finds() {
        let columns: [Vec<TermId>; 2] = [
            [1, 1, 1, 2, 2, 5, 5, 5, 5, 9].map(id).to_vec(),
            [0, 3, 4, 0, 8, 1, 2, 3, 7, 9].map(id).to_vec(),
        ];
        for start in 0..=10 {
            for end in start..=10 {
                for first in 0..11 {
                    for second in 0..10 {
                        let key = [id(first), id(second)];
                        for length in 0..=2 {
                            let key = &key[..length];
                            let below = |row: &usize| {
                                columns[..length]
                                    .iter()
                                    .map(|column| column[*row])
                                    .lt(key.iter().copied())
                            };
                            let expected = (start..end).find(|row| !below(row)).unwrap_or(end);
                            let found = gallop(&columns[..length], start..end, key);
                            assert_eq!(found, expected, "{start}..{end} {key:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn repeated_quads_count_once_and_graphs_are_apart() {
        let quads = vec![
            quad(3, 1, 2, None),
            quad(1, 1, 2, None),
            quad(3, 1, 2, None),
            quad(3, 1, 2, Some(7)),
            quad(3, 1, 2, Some(6)),
        ];
        let run = Run::new(quads, vec![quad(8, 8, 8, None)]);
        for order in Order::DEFAULT_GRAPH {
            assert_eq!((run.rows(order, false), run.rows(order, true)), (2, 1));
        }
        for order in Order::NAMED_GRAPHS {
            assert_eq!((run.rows(order, false), run.rows(order, true)), (2, 0));
        }
        let mut cursor = run.cursor_rows(
            Order::Spog,
            false,
            1,
            run.row_range(Order::Spog, false, &[id(3)]),
            ColumnMask::NONE.with(3),
        );
        let mut rows = Columns::default();
        assert_eq!(cursor.fill(&mut rows, 10).expect("memory"), 2);
        assert_eq!(rows.columns[2], [id(6), id(7)]);
        assert!(rows.columns[0].is_empty(), "nobody wanted it");
    }

    #[test]
    #[should_panic(expected = "inserted and deleted in one run")]
    fn a_run_is_normalised() {
        drop(Run::new(
            vec![quad(1, 1, 1, None), quad(5, 1, 1, Some(2))],
            vec![quad(5, 1, 1, Some(2)), quad(9, 1, 1, None)],
        ));
    }
}
