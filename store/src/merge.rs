//! `Scan`: the rows of a pattern in one order, merged from the layers of a snapshot.
//!
//! What always holds:
//! * rows come out in strictly increasing order, each quad at most once;
//! * of the layers that mention a quad the newest decides: an insert shows it, a tombstone hides it;
//! * where a single layer has rows in the range, and no tombstones, the scan is that layer's cursor and nothing
//!   more: no column is decoded for the merge's sake, no row is copied twice.
//!
//! A merge compares the heads of all sources only once for each *stretch*: the source with the smallest head
//! gives all its rows below the next smallest head at once, found by doubling steps. Layers that hold different
//! parts of a range, as loads one after another do, merge at nearly the speed of copying.

use crate::error::Result;
use crate::id::TermId;
use crate::index::{COLUMNS_MAX, ColumnMask, Columns, Cursor};
use crate::run::gallop;
use std::cmp::Ordering;

/// Rows that a source is asked for at first; doubled at each fill up to [`SOURCE_ROWS_MAX`], so that a merge that
/// is left after a few rows has not decoded many.
const SOURCE_ROWS_MIN: usize = 32;
/// The most rows that a source buffers.
const SOURCE_ROWS_MAX: usize = 2048;

/// A sorted stream of rows, see the module's head. `Send`, and independent of the snapshot it came from.
pub struct Scan {
    inner: Inner,
}

enum Inner {
    Empty,
    /// One row that has no column.
    OneRow,
    One(Box<dyn Cursor>),
    Merge(Box<Merge>),
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

    /// The answer for a pattern without a free position: one row without columns, or none.
    pub(crate) fn bound(present: bool) -> Self {
        Self {
            inner: if present { Inner::OneRow } else { Inner::Empty },
        }
    }

    /// A merge of cursors of all columns, oldest layer first. The cursors yield the `width` columns after a prefix of
    /// `prefix_length`; there is at least one.
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
                buffer: Columns::with_capacity(width, 0),
                position: 0,
                next_fill: SOURCE_ROWS_MIN,
                ended: false,
            })
            .collect();
        Self {
            inner: Inner::Merge(Box::new(Merge {
                sources,
                width,
                wanted,
            })),
        }
    }

    /// Appends up to `max` rows to `out`, the columns after the bound prefix; returns how many, 0 at the end.
    /// Columns that are not wanted stay as they are.
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
        }
    }

    /// Moves forward to the first row whose columns after the bound prefix are not below `key` (which may be shorter
    /// than a row). Never moves backward; cheap when the target is near.
    pub fn seek(&mut self, key: &[TermId]) -> Result<()> {
        match &mut self.inner {
            Inner::Empty | Inner::OneRow => Ok(()),
            Inner::One(cursor) => cursor.seek(key),
            Inner::Merge(merge) => merge.seek(key),
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
        }
    }
}

/// A cursor that takes part in a merge; it gives all columns.
pub(crate) struct MergeSource {
    pub(crate) cursor: Box<dyn Cursor>,
    /// Whether its rows are deletions.
    pub(crate) tombstones: bool,
}

struct Merge {
    /// Oldest first; sources that have ended are removed.
    sources: Vec<Buffered>,
    width: usize,
    /// The columns to give, counted after the prefix.
    wanted: Vec<usize>,
}

struct Buffered {
    cursor: Box<dyn Cursor>,
    tombstones: bool,
    buffer: Columns,
    position: usize,
    next_fill: usize,
    ended: bool,
}

impl Buffered {
    fn length(&self) -> usize {
        self.buffer.len()
    }

    fn head(&self, column: usize) -> TermId {
        self.buffer.columns[column][self.position]
    }

    /// The head row; unbound behind the last column.
    fn row(&self) -> [TermId; COLUMNS_MAX] {
        let mut row = [TermId::UNBOUND; COLUMNS_MAX];
        for (value, column) in row.iter_mut().zip(&self.buffer.columns) {
            *value = column[self.position];
        }
        row
    }

    /// Makes sure that there is a row in the buffer, or that the source has ended.
    fn refill(&mut self) -> Result<()> {
        if self.position < self.length() || self.ended {
            return Ok(());
        }
        self.buffer.clear();
        self.position = 0;
        self.ended = self.cursor.fill(&mut self.buffer, self.next_fill)? == 0;
        self.next_fill = (self.next_fill * 2).min(SOURCE_ROWS_MAX);
        Ok(())
    }

    fn seek(&mut self, key: &[TermId]) -> Result<()> {
        let columns = &self.buffer.columns[..key.len().min(self.buffer.columns.len())];
        self.position = gallop(columns, self.position..self.buffer.len(), key);
        if self.position < self.length() || self.ended {
            return Ok(());
        }
        self.buffer.clear();
        self.position = 0;
        self.next_fill = SOURCE_ROWS_MIN;
        self.cursor.seek(key)
    }
}

impl Merge {
    fn seek(&mut self, key: &[TermId]) -> Result<()> {
        self.sources.iter_mut().try_for_each(|source| source.seek(key))
    }

    fn fill(&mut self, out: &mut Columns, max: usize) -> Result<usize> {
        let mut filled = 0;
        out.widen(self.width);
        while filled < max {
            for source in &mut self.sources {
                source.refill()?;
            }
            self.sources.retain(|source| !source.ended);
            filled += match self.choose() {
                Some(choice) => self.take(&choice, out, max - filled),
                None => break,
            };
        }
        Ok(filled)
    }

    /// Finds the smallest head, whether other sources have it too, and the next smallest.
    fn choose(&self) -> Option<Choice> {
        let mut sources = 0..self.sources.len();
        let mut choice = Choice {
            newest: sources.next()?,
            tied: false,
            next: None,
        };
        for index in sources {
            match self.compare(index, choice.newest) {
                Ordering::Less => {
                    choice = Choice {
                        newest: index,
                        tied: false,
                        next: Some(choice.newest),
                    };
                }
                Ordering::Equal => {
                    // Sources stand oldest first, so the later one is newer.
                    choice.newest = index;
                    choice.tied = true;
                }
                Ordering::Greater => {
                    let closer = choice
                        .next
                        .is_none_or(|next| self.compare(index, next) == Ordering::Less);
                    if closer {
                        choice.next = Some(index);
                    }
                }
            }
        }
        Some(choice)
    }

    fn compare(&self, left: usize, right: usize) -> Ordering {
        let (left, right) = (&self.sources[left], &self.sources[right]);
        (0..self.width)
            .map(|column| left.head(column).cmp(&right.head(column)))
            .find(|ordering| ordering.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// Moves past the stretch that the choice decides; returns how many rows it gave, at most `max`.
    fn take(&mut self, choice: &Choice, out: &mut Columns, max: usize) -> usize {
        let start = self.sources[choice.newest].position;
        let end = if choice.tied {
            start + 1
        } else {
            self.end_of_stretch(choice)
        };
        let source = &self.sources[choice.newest];
        let given = if source.tombstones {
            0
        } else {
            let given = (end - start).min(max);
            for column in &self.wanted {
                let rows = &source.buffer.columns[*column][start..start + given];
                out.columns[*column].extend_from_slice(rows);
            }
            given
        };
        let moved = if source.tombstones { end - start } else { given };
        if choice.tied {
            let key = self.sources[choice.newest].row();
            for source in self.sources.iter_mut().filter(|source| source.row() == key) {
                source.position += moved;
            }
        } else {
            self.sources[choice.newest].position += moved;
        }
        given
    }

    /// The first row in the buffer of the chosen source that is not below the next smallest head.
    fn end_of_stretch(&self, choice: &Choice) -> usize {
        let source = &self.sources[choice.newest];
        let rows = source.position..source.length();
        match choice.next {
            None => rows.end,
            Some(next) => {
                let key = self.sources[next].row();
                gallop(&source.buffer.columns[..self.width], rows, &key[..self.width])
            }
        }
    }
}

struct Choice {
    /// The source with the smallest head, the newest where several have it.
    newest: usize,
    /// Whether several have it.
    tied: bool,
    /// The source with the smallest head above it.
    next: Option<usize>,
}
