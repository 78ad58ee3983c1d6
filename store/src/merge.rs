//! `Scan`: the rows of a pattern in one order, merged from the layers of a snapshot.
//!
//! What always holds:
//! * rows come out in strictly increasing order, each quad at most once;
//! * of the layers of one set (explicit or inferred quads, see [`crate::snapshot`]) that mention a
//!   quad the newest decides: an insert shows it, a tombstone hides it; a quad that either set shows
//!   comes out once;
//! * where a single layer has rows in the range, and no tombstones, the scan is that layer's cursor
//!   and nothing more: no column is decoded for the merge's sake, no row is copied twice.
//!
//! A merge compares the heads of all sources only once for each *stretch*: the source with the
//! smallest head gives all its rows below the next smallest head at once, found by doubling steps.
//! Layers that hold different parts of a range, as loads one after another do, merge at nearly the
//! speed of copying.

use crate::error::Result;
use crate::id::TermId;
use crate::index::{COLUMNS_MAX, ColumnMask, Columns, Cursor};
use crate::run::gallop;
use std::cmp::Ordering;
use std::collections::VecDeque;

/// Rows that a source is asked for at first; doubled at each fill up to [`SOURCE_ROWS_MAX`], so
/// that a merge that is left after a few rows has not decoded many.
const SOURCE_ROWS_MIN: usize = 32;
/// The most rows that a source buffers.
const SOURCE_ROWS_MAX: usize = 2048;

/// A sorted stream of rows, see the module's head. `Send`, and independent of the snapshot it came
/// from.
pub struct Scan {
    inner: Inner,
}

enum Inner {
    Empty,
    /// One row that has no column.
    OneRow,
    One(Box<dyn Cursor>),
    Merge(Box<Merge>),
    /// One after the other; the rows of each are before those of the next.
    Chain(VecDeque<Scan>),
}

impl Scan {
    /// A scan without rows.
    pub fn empty() -> Self {
        Self {
            inner: Inner::Empty,
        }
    }

    /// A scan of one cursor, already limited to the wanted columns.
    pub(crate) fn one(cursor: Box<dyn Cursor>) -> Self {
        Self {
            inner: Inner::One(cursor),
        }
    }

    /// The rows of some scans one after the other, which must be sorted so.
    pub(crate) fn chain(mut scans: Vec<Self>) -> Self {
        match scans.len() {
            0 => Self::empty(),
            1 => scans.remove(0),
            _ => Self {
                inner: Inner::Chain(scans.into()),
            },
        }
    }

    /// The answer for a pattern without a free position: one row without columns, or none.
    pub(crate) fn bound(present: bool) -> Self {
        Self {
            inner: if present { Inner::OneRow } else { Inner::Empty },
        }
    }

    /// A merge of cursors of all columns, oldest layer first. The cursors yield the `width` columns
    /// after a prefix of `prefix_length`; there is at least one.
    pub(crate) fn merge(
        sources: Vec<MergeSource>,
        prefix_length: usize,
        width: usize,
        wanted: ColumnMask,
    ) -> Self {
        assert!(width > 0, "rows without columns cannot be merged");
        let wanted = (0..width)
            .filter(|column| wanted.contains(prefix_length + column))
            .collect();
        let sources = sources
            .into_iter()
            .map(|source| Buffered {
                cursor: source.cursor,
                tombstones: source.tombstones,
                inferred: source.inferred,
                buffer: Columns::with_capacity(width, 0),
                length: 0,
                position: 0,
                head: Row::default(),
                next_fill: SOURCE_ROWS_MIN,
            })
            .collect();
        Self {
            inner: Inner::Merge(Box::new(Merge {
                sources,
                width,
                wanted,
                ready: false,
            })),
        }
    }

    /// Appends up to `max` rows to `out`, the columns after the bound prefix; returns how many, 0
    /// at the end. Columns that are not wanted stay as they are.
    pub fn fill(&mut self, out: &mut Columns, max: usize) -> Result<usize> {
        match &mut self.inner {
            Inner::Empty => Ok(0),
            Inner::OneRow if max == 0 => Ok(0),
            Inner::OneRow => {
                self.inner = Inner::Empty;
                Ok(1)
            }
            Inner::One(cursor) => cursor.fill(out, max),
            Inner::Merge(merge) => merge.fill(out, max),
            Inner::Chain(scans) => {
                let mut filled = 0;
                while filled < max
                    && let Some(scan) = scans.front_mut()
                {
                    match scan.fill(out, max - filled)? {
                        0 => drop(scans.pop_front()),
                        rows => filled += rows,
                    }
                }
                Ok(filled)
            }
        }
    }

    /// Moves forward to the first row whose columns after the bound prefix are not below `key`
    /// (which may be shorter than a row). Never moves backward; cheap when the target is near.
    pub fn seek(&mut self, key: &[TermId]) -> Result<()> {
        match &mut self.inner {
            Inner::Empty | Inner::OneRow => Ok(()),
            Inner::One(cursor) => cursor.seek(key),
            Inner::Merge(merge) => merge.seek(key),
            Inner::Chain(scans) => scans.iter_mut().try_for_each(|scan| scan.seek(key)),
        }
    }
}

impl Cursor for Scan {
    fn fill(&mut self, out: &mut Columns, max: usize) -> Result<usize> {
        Self::fill(self, out, max)
    }

    fn seek(&mut self, key: &[TermId]) -> Result<()> {
        Self::seek(self, key)
    }
}

impl std::fmt::Debug for Scan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.inner {
            Inner::Empty => f.write_str("Scan(empty)"),
            Inner::OneRow => f.write_str("Scan(one row)"),
            Inner::One(_) => f.write_str("Scan(one layer)"),
            Inner::Merge(merge) => write!(f, "Scan({} sources)", merge.sources.len()),
            Inner::Chain(scans) => f.debug_list().entries(scans).finish(),
        }
    }
}

/// A cursor that takes part in a merge; it gives all columns.
pub(crate) struct MergeSource {
    pub(crate) cursor: Box<dyn Cursor>,
    /// Whether its rows are deletions.
    pub(crate) tombstones: bool,
    /// Whether it belongs to the set of inferred quads.
    pub(crate) inferred: bool,
}

struct Merge {
    /// Oldest first; sources that have ended are removed.
    sources: Vec<Buffered>,
    width: usize,
    /// The columns to give, counted after the prefix.
    wanted: Vec<usize>,
    /// Whether each source has its next row in its buffer.
    ready: bool,
}

/// A row; unbound behind the last column, so that rows of one merge compare as arrays.
type Row = [TermId; COLUMNS_MAX];

struct Buffered {
    cursor: Box<dyn Cursor>,
    tombstones: bool,
    inferred: bool,
    buffer: Columns,
    /// Rows in the buffer.
    length: usize,
    /// The next row's place in the buffer.
    position: usize,
    /// The next row, if there is one in the buffer.
    head: Row,
    next_fill: usize,
}

impl Buffered {
    /// Moves past rows of the buffer; says whether there is a next row in it.
    #[inline]
    fn advance(&mut self, rows: usize) -> bool {
        self.position += rows;
        if self.position == self.length {
            return false;
        }
        for (value, column) in self.head.iter_mut().zip(&self.buffer.columns) {
            *value = column[self.position];
        }
        true
    }

    /// Gets more rows when the buffer has none left; says whether there is a next row.
    fn refill(&mut self) -> Result<bool> {
        if self.position == self.length {
            self.buffer.clear();
            (self.position, self.length) = (0, 0);
            self.length = self.cursor.fill(&mut self.buffer, self.next_fill)?;
            self.next_fill = (self.next_fill * 2).min(SOURCE_ROWS_MAX);
        }
        Ok(self.advance(0))
    }

    fn seek(&mut self, key: &[TermId]) -> Result<()> {
        let columns = &self.buffer.columns[..key.len().min(self.buffer.columns.len())];
        self.position = gallop(columns, self.position..self.length, key);
        if self.position < self.length {
            return Ok(());
        }
        self.next_fill = SOURCE_ROWS_MIN;
        self.cursor.seek(key)
    }
}

impl Merge {
    fn seek(&mut self, key: &[TermId]) -> Result<()> {
        self.ready = false;
        self.sources
            .iter_mut()
            .try_for_each(|source| source.seek(key))
    }

    fn fill(&mut self, out: &mut Columns, max: usize) -> Result<usize> {
        let mut filled = 0;
        out.widen(self.width);
        while filled < max {
            if !self.ready {
                self.make_ready()?;
            }
            let Some(choice) = self.choose() else {
                break;
            };
            filled += self.take(&choice, out, max - filled);
        }
        Ok(filled)
    }

    /// Fills buffers that have no row left, and removes the sources that have ended.
    fn make_ready(&mut self) -> Result<()> {
        let mut index = 0;
        while index < self.sources.len() {
            if self.sources[index].refill()? {
                index += 1;
            } else {
                self.sources.remove(index);
            }
        }
        self.ready = true;
        Ok(())
    }

    /// Finds the smallest head, whether other sources have it too, and the next smallest.
    fn choose(&self) -> Option<Choice> {
        let mut sources = self.sources.iter().map(|source| &source.head).enumerate();
        let (mut newest, mut smallest) = sources.next()?;
        let mut tied = false;
        let mut next: Option<&Row> = None;
        for (index, head) in sources {
            match head.cmp(smallest) {
                Ordering::Less => {
                    next = Some(smallest);
                    (newest, smallest, tied) = (index, head, false);
                }
                // Sources stand oldest first, so the later one is newer.
                Ordering::Equal => (newest, tied) = (index, true),
                Ordering::Greater => {
                    if next.is_none_or(|next| head < next) {
                        next = Some(head);
                    }
                }
            }
        }
        Some(Choice {
            newest,
            tied,
            next: next.copied(),
        })
    }

    /// Whether the explicit or the inferred quads have the next row of a source, which others may
    /// have as well.
    fn shows(&self, source: usize) -> bool {
        let row = &self.sources[source].head;
        let mut shown = [false; 2];
        for source in self.sources.iter().filter(|source| source.head == *row) {
            // Sources stand oldest first, so the last one of a set decides for it.
            shown[usize::from(source.inferred)] = !source.tombstones;
        }
        shown.contains(&true)
    }

    /// Moves past the stretch that the choice decides; returns how many rows it gave, at most
    /// `max`.
    fn take(&mut self, choice: &Choice, out: &mut Columns, max: usize) -> usize {
        let is_hidden = if choice.tied {
            !self.shows(choice.newest)
        } else {
            self.sources[choice.newest].tombstones
        };
        let source = &mut self.sources[choice.newest];
        let start = source.position;
        let end = match choice.next {
            // Others have this row, and decide what comes behind it.
            _ if choice.tied => start + 1,
            None => source.length,
            Some(next) => {
                let columns = &source.buffer.columns[..self.width];
                gallop(columns, start + 1..source.length, &next[..self.width])
            }
        };
        let (moved, given) = if is_hidden {
            (end - start, 0)
        } else {
            let given = (end - start).min(max);
            for column in &self.wanted {
                let rows = &source.buffer.columns[*column][start..start + given];
                out.columns[*column].extend_from_slice(rows);
            }
            (given, given)
        };
        if choice.tied {
            let row = source.head;
            for source in &mut self.sources {
                if source.head == row {
                    self.ready &= source.advance(moved);
                }
            }
        } else {
            self.ready &= source.advance(moved);
        }
        given
    }
}

struct Choice {
    /// The source with the smallest head, the newest where several have it.
    newest: usize,
    /// Whether several have it.
    tied: bool,
    /// The smallest head above it.
    next: Option<Row>,
}
