//! `Located`: where a pattern's rows lie in one order of a snapshot.
//!
//! Finding the rows that begin with a prefix takes two searches in each layer; counting and reading them takes none. So
//! who plans with counts and reads then finds them once:
//!
//! ```text
//!  pattern --locate--> extents: (layer, inserts or tombstones, row numbers), oldest layer first, none of them empty
//!                         |  count: the sum of inserts less that of tombstones
//!                         |  scan: a cursor over each, merged
//!                         |  within ranges of ids: shorter extents, a piece for each range, read one after the other
//! ```

mod sample;

use super::{Layer, Snapshot, best_order};
use crate::codec::MINI_BLOCK_ROWS;
use crate::error::{Result, StoreError};
use crate::id::TermId;
use crate::index::{BLOCK_ROWS, COLUMNS_MAX, ColumnMask, Columns, Cursor, OrderCursor};
use crate::merge::{MergeSource, Scan};
use crate::quad::{Order, Pattern, Position};
use crate::run::RunCursor;
use std::ops::{Range, RangeInclusive};

/// Where a pattern's rows lie in one order of a snapshot: found once, to be counted and then read
/// ([`Snapshot::locate`]).
#[derive(Clone, Debug)]
pub struct Located {
    order: Order,
    prefix: [TermId; COLUMNS_MAX],
    /// How many values the prefix has.
    length: usize,
    /// Pieces of the order, one behind the other and none of them empty: one, unless ids were asked for.
    pieces: Vec<Piece>,
}

/// What the layers have of one stretch of an order, oldest layer first; no extent is empty.
type Piece = Vec<Extent>;

impl Located {
    /// The order.
    pub fn order(&self) -> Order {
        self.order
    }

    fn prefix(&self) -> &[TermId] {
        &self.prefix[..self.length]
    }

    /// How many columns stand behind the prefix.
    fn width(&self) -> usize {
        self.order.columns().len() - self.length
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
    fn part(&self, prefix: &[TermId], rows: Range<u64>, wanted: ColumnMask) -> Self {
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
}

/// Where rows can be cut into at most `parts` ranges of about one size: numbers of rows, ascending. Large parts begin where a
/// block does, small ones where a mini-block does.
fn cuts(rows: &Range<u64>, parts: usize) -> impl Iterator<Item = u64> {
    let share = (rows.end - rows.start).div_ceil(parts.max(1) as u64);
    let unit = if share >= 4 * BLOCK_ROWS as u64 {
        BLOCK_ROWS
    } else {
        MINI_BLOCK_ROWS
    } as u64;
    let (mut at, end) = (rows.start, rows.end);
    std::iter::from_fn(move || {
        at = (at + share).next_multiple_of(unit);
        (at < end).then_some(at)
    })
}

impl Snapshot {
    /// The rows of a pattern that was located in this snapshot: as [`Snapshot::scan`] gives them in that order, without
    /// searching.
    pub fn scan_located(&self, located: &Located, wanted: ColumnMask) -> Scan {
        let scan = |piece| {
            let sources = self.sources(located, piece, wanted);
            scan_of(sources, located.prefix(), located.width(), wanted)
        };
        Scan::chain(located.pieces.iter().map(scan).collect())
    }

    /// Cuts the rows of a located pattern for as many threads, see [`Snapshot::scan_parts`].
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn scan_parts_located(
        &self,
        located: &Located,
        wanted: ColumnMask,
        parts: usize,
    ) -> Result<Vec<Scan>> {
        let length_of = |piece: &Piece| piece.iter().map(Extent::length).sum::<u64>();
        let all: u64 = located.pieces.iter().map(length_of).sum();
        let mut scans = Vec::new();
        for piece in &located.pieces {
            let share = (parts as u64 * length_of(piece)).div_ceil(all.max(1)) as usize;
            self.cut(located, piece, wanted, share, &mut scans)?;
        }
        Ok(scans)
    }

    /// Cuts a piece into at most `parts` scans.
    fn cut(
        &self,
        located: &Located,
        piece: &Piece,
        wanted: ColumnMask,
        parts: usize,
        scans: &mut Vec<Scan>,
    ) -> Result<()> {
        let (prefix, width) = (located.prefix(), located.width());
        let mut sources = self.sources(located, piece, ColumnMask::ALL);
        let Some(largest) = sources.iter().max_by_key(|source| source.length()) else {
            return Ok(());
        };
        // The largest source is cut by number of rows, the others where its first row behind a cut
        // belongs.
        let mut starts: Vec<Vec<u64>> =
            vec![sources.iter().map(|source| source.rows().start).collect()];
        let mut row = Columns::default();
        for cut in cuts(&largest.rows(), parts) {
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
        scans.extend(starts.windows(2).map(|ends| {
            let parts = sources
                .iter()
                .zip(ends[0].iter().zip(&ends[1]))
                .filter(|(_, (start, end))| start < end)
                .map(|(source, (start, end))| source.part(prefix, *start..*end, wanted))
                .collect();
            scan_of(parts, prefix, width, wanted)
        }));
        Ok(())
    }

    /// Of a located pattern's rows those whose next column has an id in one of these ranges, which are ascending and do not
    /// overlap.
    ///
    /// # Errors
    /// If the store cannot be read.
    ///
    /// # Panics
    /// If the order's next column is the predicate, or there is none.
    pub fn located_within(
        &self,
        located: &Located,
        ranges: &[RangeInclusive<TermId>],
    ) -> Result<Located> {
        let (order, prefix) = (located.order, located.prefix());
        assert_ne!(
            order.columns()[prefix.len()],
            Position::Predicate,
            "predicates are not numbered by their ids"
        );
        let mut pieces = Vec::new();
        for range in ranges {
            for piece in &located.pieces {
                let mut within = Vec::with_capacity(piece.len());
                for extent in piece {
                    let layer = &self.state.layers[extent.layer];
                    let rows = match layer {
                        Layer::Segment(segment) => segment
                            .order(order, extent.tombstones)
                            .expect("it has rows")
                            .row_range_within(prefix, range, extent.rows.clone())?,
                        Layer::Run(run) => run.row_range_within(
                            order,
                            extent.tombstones,
                            prefix.len(),
                            range,
                            &extent.rows,
                        ),
                    };
                    if !rows.is_empty() {
                        within.push(Extent {
                            rows,
                            ..extent.clone()
                        });
                    }
                }
                if !within.is_empty() {
                    pieces.push(within);
                }
            }
        }
        Ok(Located {
            pieces,
            ..located.clone()
        })
    }

    /// Finds a pattern's rows in an order; `None` where they are not stored like this: graphs are merged, or left out.
    ///
    /// # Errors
    /// If the store cannot be read.
    ///
    /// # Panics
    /// If the pattern's bound positions are not a prefix of the order.
    pub fn locate(&self, pattern: &Pattern, order: Order) -> Result<Option<Located>> {
        if self.dataset.is_some() {
            return Ok(None);
        }
        let (prefix, length) = pattern
            .prefix_in(order)
            .expect("the bound positions are a prefix of the order");
        self.located(order, &prefix[..length]).map(Some)
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
            pieces: if extents.is_empty() {
                Vec::new()
            } else {
                vec![extents]
            },
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
        for extent in located.pieces.iter().flatten() {
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
    fn sources(&self, located: &Located, piece: &Piece, wanted: ColumnMask) -> Vec<Source<'_>> {
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
        piece.iter().map(source).collect()
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
            inferred: source.layer.is_inferred(),
            cursor: source
                .part(prefix, source.rows(), ColumnMask::ALL)
                .into_cursor(),
        })
        .collect();
    Scan::merge(sources, prefix.len(), width, wanted)
}
