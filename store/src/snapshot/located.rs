//! `Located`: where a pattern's rows lie in one order of a snapshot.
//!
//! Finding the rows that begin with a prefix takes two searches in each layer; counting and reading them takes none. So
//! who plans with counts and reads then finds them once:
//!
//! ```text
//!  pattern --locate--> extents: (layer, inserts or tombstones, row numbers), oldest layer first, none of them empty
//!                         |  count: the sum of inserts less that of tombstones
//!                         |  scan: a cursor over each, merged
//! ```

use super::{Layer, Snapshot, best_order};
use crate::error::{Result, StoreError};
use crate::id::TermId;
use crate::index::{COLUMNS_MAX, ColumnMask, Cursor, OrderCursor};
use crate::merge::{MergeSource, Scan};
use crate::quad::{Order, Pattern};
use crate::run::RunCursor;
use std::ops::Range;
use std::sync::Arc;

/// Where a pattern's rows lie in one order of a snapshot: found once, to be counted and then read
/// ([`Snapshot::locate`]).
#[derive(Clone, Debug)]
pub struct Located {
    order: Order,
    prefix: [TermId; COLUMNS_MAX],
    /// How many values the prefix has.
    length: usize,
    /// Oldest layer first; none is empty.
    extents: Vec<Extent>,
}

impl Located {
    /// The order.
    pub fn order(&self) -> Order {
        self.order
    }

    pub(super) fn prefix(&self) -> &[TermId] {
        &self.prefix[..self.length]
    }
}

/// The rows that one layer's inserts or tombstones have in a range.
#[derive(Clone, Debug)]
struct Extent {
    /// Which layer.
    layer: usize,
    tombstones: bool,
    /// Numbers of its rows in the order.
    rows: Range<u64>,
}

impl Extent {
    fn length(&self) -> u64 {
        self.rows.end - self.rows.start
    }
}

/// An extent that is being read.
pub(super) struct Source<'a> {
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
    /// Opens a cursor over rows that begin with a prefix.
    fn open(
        layer: &'a Layer,
        order: Order,
        tombstones: bool,
        prefix: &[TermId],
        rows: Range<u64>,
        wanted: ColumnMask,
    ) -> Self {
        let cursor = match layer {
            Layer::Segment(segment) => {
                let file = segment.order(order, tombstones).expect("it has rows");
                LayerCursor::Segment(file.cursor_rows(prefix, rows, wanted))
            }
            Layer::Run(run) => {
                LayerCursor::Run(run.cursor_rows(order, tombstones, prefix.len(), rows, wanted))
            }
        };
        Self {
            layer,
            order,
            tombstones,
            cursor,
        }
    }

    /// Another cursor, over some rows of the range.
    pub(super) fn part(&self, prefix: &[TermId], rows: Range<u64>, wanted: ColumnMask) -> Self {
        Self::open(
            self.layer,
            self.order,
            self.tombstones,
            prefix,
            rows,
            wanted,
        )
    }

    /// The numbers of the rows that are to come.
    pub(super) fn rows(&self) -> Range<u64> {
        match &self.cursor {
            LayerCursor::Segment(cursor) => cursor.row_range(),
            LayerCursor::Run(cursor) => cursor.row_range(),
        }
    }

    pub(super) fn length(&self) -> u64 {
        let rows = self.rows();
        rows.end - rows.start
    }

    pub(super) fn cursor_mut(&mut self) -> &mut dyn Cursor {
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
    pub(super) fn cuts(&self, prefix: &[TermId], parts: usize) -> Result<Vec<u64>> {
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

impl Snapshot {
    /// The rows of a pattern that was located in this snapshot: as [`Snapshot::scan`] gives them in that order, without
    /// searching.
    pub fn scan_located(&self, located: &Located, wanted: ColumnMask) -> Scan {
        let width = located.order.columns().len() - located.length;
        scan_of(
            self.sources(located, wanted),
            located.prefix(),
            width,
            wanted,
        )
    }

    /// Finds a pattern's rows in the order that [`best_order`] says; `None` where it is not stored like this: graphs are
    /// merged, or left out.
    pub fn locate(&self, pattern: &Pattern) -> Result<Option<Arc<Located>>> {
        if self.dataset.is_some() {
            return Ok(None);
        }
        Ok(Some(Arc::new(self.locate_stored(pattern)?)))
    }

    pub(super) fn locate_stored(&self, pattern: &Pattern) -> Result<Located> {
        let order = best_order(pattern, None).expect("every pattern has an order");
        let (prefix, length) = pattern
            .prefix_in(order)
            .expect("that is what it was chosen for");
        self.located(order, &prefix[..length])
    }

    /// Where rows that begin with a prefix lie.
    pub(super) fn located(&self, order: Order, prefix: &[TermId]) -> Result<Located> {
        let mut extents = Vec::with_capacity(self.state.layers.len());
        for (layer, rows_of) in self.state.layers.iter().enumerate() {
            for tombstones in [false, true] {
                let rows = rows_of.row_range(order, tombstones, prefix)?;
                if !rows.is_empty() {
                    extents.push(Extent {
                        layer,
                        tombstones,
                        rows,
                    });
                }
            }
        }
        let mut ids = [TermId::UNBOUND; COLUMNS_MAX];
        ids[..prefix.len()].copy_from_slice(prefix);
        Ok(Located {
            order,
            prefix: ids,
            length: prefix.len(),
            extents,
        })
    }

    /// How many rows a located pattern has: what [`Snapshot::count_at_most`] says of the pattern.
    ///
    /// # Errors
    /// If layers contradict one another.
    pub fn count_located(&self, located: &Located) -> Result<u64> {
        Ok(self.counts_located(located)?.iter().sum())
    }

    pub(super) fn counts_located(&self, located: &Located) -> Result<[u64; 2]> {
        let (mut inserted, mut deleted) = ([0_u64; 2], [0_u64; 2]);
        for extent in &located.extents {
            let set = usize::from(self.state.layers[extent.layer].is_inferred());
            let sums = if extent.tombstones {
                &mut deleted
            } else {
                &mut inserted
            };
            sums[set] += extent.length();
        }
        let mut counts = [0; 2];
        for ((count, inserted), deleted) in counts.iter_mut().zip(inserted).zip(deleted) {
            // Files can be whole and still contradict one another; `verify` says which.
            *count = inserted
                .checked_sub(deleted)
                .ok_or_else(|| StoreError::Damaged {
                    path: self.state.storage.display(""),
                    offset: 0,
                    reason: format!("{deleted} quads deleted of {inserted} inserted ({located:?})"),
                })?;
        }
        Ok(counts)
    }

    /// Cursors over what the layers have in a range, oldest layer first.
    pub(super) fn sources(&self, located: &Located, wanted: ColumnMask) -> Vec<Source<'_>> {
        let source = |extent: &Extent| {
            Source::open(
                &self.state.layers[extent.layer],
                located.order,
                extent.tombstones,
                located.prefix(),
                extent.rows.clone(),
                wanted,
            )
        };
        located.extents.iter().map(source).collect()
    }
}

/// The scan of sources whose cursors have the wanted columns. A merge needs all columns, so it
/// opens them anew.
pub(super) fn scan_of(
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
            inferred: source.layer.is_inferred(),
            cursor: source
                .part(prefix, source.rows(), ColumnMask::ALL)
                .into_cursor(),
        })
        .collect();
    Scan::merge(sources, prefix.len(), width, wanted)
}
