//! An open order's file: counts, cursors, and the check of everything.

use super::block::Block;
use super::cursor::OrderCursor;
use super::directory::{Directory, Row, Trailer};
use super::search::{KeptWindow, Key, Side};
use super::{COLUMNS_MAX, ColumnMask, MAGIC, VERSION};
use crate::codec::{MINI_BLOCK_ROWS, SLACK_BYTES};
use crate::error::Result;
use crate::id::TermId;
use crate::io::Storage;
use crate::io::checked::CheckedFile;
use crate::quad::{Order, Position};
use std::fmt;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of the next file that is opened.
static NEXT_SERIAL: AtomicU64 = AtomicU64::new(0);

/// One order of one set of quads, open for reading. Cheap to clone; cursors share it.
#[derive(Clone)]
pub struct OrderFile {
    inner: Arc<Inner>,
}

/// What an order's file and its cursors share.
pub(super) struct Inner {
    /// A number that no other open file of this process has.
    pub(super) serial: u64,
    pub(super) file: CheckedFile,
    pub(super) order: Order,
    pub(super) columns: usize,
    pub(super) predicate_column: usize,
    pub(super) predicates: Arc<[TermId]>,
    pub(super) directory: Directory,
}

impl OrderFile {
    /// Opens a file of this order; `predicates` is the list that its writer was given.
    pub fn open(
        storage: &dyn Storage,
        path: &str,
        order: Order,
        predicates: Arc<[TermId]>,
    ) -> Result<Self> {
        let file = CheckedFile::open(storage, path, MAGIC, VERSION)?;
        let trailer = Trailer::read(&file, order)?;
        if trailer.predicates != predicates.len() as u64 {
            return Err(file.damaged(
                file.len(),
                format!(
                    "written for a list of {} predicates, opened with {}",
                    trailer.predicates,
                    predicates.len()
                ),
            ));
        }
        let predicate_column = order
            .column_of(Position::Predicate)
            .expect("every order has a predicate column");
        Ok(Self {
            inner: Arc::new(Inner {
                // Only the numbers must differ.
                serial: NEXT_SERIAL.fetch_add(1, Ordering::Relaxed),
                file,
                order,
                columns: order.columns().len(),
                predicate_column,
                predicates,
                directory: Directory::new(trailer),
            }),
        })
    }

    /// The order of the columns.
    pub fn order(&self) -> Order {
        self.inner.order
    }

    /// Rows of the file.
    pub fn rows(&self) -> u64 {
        self.inner.directory.trailer().rows
    }

    /// Bytes of the file's payload.
    pub fn bytes(&self) -> u64 {
        self.inner.file.len()
    }

    /// The first row in the order's column sequence, `None` if there is no row; the fourth value is 0 where
    /// the order has three columns.
    pub fn first_row(&self) -> Result<Option<[TermId; COLUMNS_MAX]>> {
        if self.rows() == 0 {
            return Ok(None);
        }
        let row = self.inner.directory.first_row(&self.inner.file, 0)?;
        self.inner.terms(&row).map(Some)
    }

    /// The last row, as [`OrderFile::first_row`].
    pub fn last_row(&self) -> Result<Option<[TermId; COLUMNS_MAX]>> {
        if self.rows() == 0 {
            return Ok(None);
        }
        self.inner
            .terms(&self.inner.directory.trailer().last)
            .map(Some)
    }

    /// The numbers of the rows that begin with `prefix`: two binary searches, no scan.
    pub fn row_range(&self, prefix: &[TermId]) -> Result<Range<u64>> {
        if prefix.is_empty() {
            return Ok(0..self.rows());
        }
        self.inner
            .row_range(&mut KeptWindow::of(&self.inner), prefix)
    }

    /// A cursor over the rows that begin with `prefix`.
    pub fn cursor(&self, prefix: &[TermId]) -> Result<OrderCursor> {
        let rows = self.row_range(prefix)?;
        Ok(self.cursor_rows(prefix, rows, ColumnMask::ALL))
    }

    /// Of some rows that begin with `prefix`, those whose next column has an id in a range.
    ///
    /// # Panics
    /// If the next column is the predicate, or there is none.
    pub fn row_range_within(
        &self,
        prefix: &[TermId],
        ids: &RangeInclusive<TermId>,
        rows: Range<u64>,
    ) -> Result<Range<u64>> {
        let inner = &*self.inner;
        assert_ne!(
            prefix.len(),
            inner.predicate_column,
            "predicates are numbered by rank"
        );
        let mut window = KeptWindow::of(inner);
        let mut key = [TermId::UNBOUND; COLUMNS_MAX];
        key[..prefix.len()].copy_from_slice(prefix);
        let mut place = |id: TermId, from: u64, side| {
            key[prefix.len()] = id;
            let (key, _) = inner.key(&key[..=prefix.len()]);
            window.find(inner, from..rows.end, &key, side, false)
        };
        let start = place(*ids.start(), rows.start, Side::Lower)?;
        let end = place(*ids.end(), start, Side::Upper)?;
        Ok(start..end)
    }

    /// A cursor over some of the rows that begin with `prefix`: a range that [`OrderFile::row_range`] gave for the same prefix, or a part of one. (Of rows outside it the cursor
    /// yields the columns behind the prefix all the same.)
    ///
    /// # Panics
    /// If the range reaches beyond the file's rows.
    pub fn cursor_rows(
        &self,
        prefix: &[TermId],
        rows: Range<u64>,
        wanted: ColumnMask,
    ) -> OrderCursor {
        assert!(
            rows.end <= self.rows(),
            "rows {rows:?} of a file of {}",
            self.rows()
        );
        OrderCursor::new(
            Arc::clone(&self.inner),
            KeptWindow::of(&self.inner),
            prefix,
            rows,
            wanted,
        )
    }

    /// Checks everything: checksums, that every block can be decoded, that rows are strictly increasing,
    /// that the directory's rows are those of the blocks, that ranks point to predicates.
    pub fn verify(&self) -> Result<()> {
        let inner = &*self.inner;
        inner.file.verify()?;
        let trailer = inner.directory.trailer();
        let mut last = None;
        for number in 0..trailer.blocks {
            inner.verify_block(number, &mut last)?;
        }
        if last.unwrap_or_default() != trailer.last {
            return Err(inner
                .file
                .damaged(trailer.directory, "the last row is not the trailer's"));
        }
        Ok(())
    }
}

/// The first `count` rows of unpacked columns.
fn rows_of(
    columns: &[[u64; MINI_BLOCK_ROWS]; COLUMNS_MAX],
    count: usize,
) -> impl Iterator<Item = Row> {
    (0..count).map(|index| std::array::from_fn(|column| columns[column][index]))
}

impl fmt::Debug for OrderFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrderFile")
            .field("order", &self.inner.order)
            .field("rows", &self.rows())
            .field("path", &self.inner.file.path())
            .finish()
    }
}

impl Inner {
    /// The key of the first columns of a row, and whether its predicate is one of the segment's. Where it
    /// is not, the key ends with it, and names the first predicate behind it: the rows of the next greater
    /// predicate are the first that are not before the key.
    pub(super) fn key(&self, prefix: &[TermId]) -> (Key, bool) {
        assert!(
            prefix.len() <= self.columns,
            "a key longer than the order's rows"
        );
        let mut values = Row::default();
        for (column, id) in prefix.iter().enumerate() {
            if column != self.predicate_column {
                values[column] = id.bits();
                continue;
            }
            match self.predicates.binary_search(id) {
                Ok(rank) => values[column] = rank as u64,
                Err(rank) => {
                    values[column] = rank as u64;
                    return (Key::new(values, column + 1), false);
                }
            }
        }
        (Key::new(values, prefix.len()), true)
    }

    /// The numbers of the rows that begin with `prefix`.
    fn row_range(&self, window: &mut KeptWindow, prefix: &[TermId]) -> Result<Range<u64>> {
        let rows = self.directory.trailer().rows;
        let (key, exists) = self.key(prefix);
        if !exists {
            return Ok(0..0);
        }
        let start = window.find(self, 0..rows, &key, Side::Lower, false)?;
        let end = window.find(self, start..rows, &key, Side::Upper, true)?;
        Ok(start..end)
    }

    /// The ids of a row.
    fn terms(&self, row: &Row) -> Result<[TermId; COLUMNS_MAX]> {
        let mut ids = row.map(TermId::from_bits);
        ids[self.predicate_column] = self.predicate(row[self.predicate_column])?;
        Ok(ids)
    }

    /// The predicate of a rank.
    #[inline]
    pub(super) fn predicate(&self, rank: u64) -> Result<TermId> {
        match self.predicates.get(rank as usize) {
            Some(id) => Ok(*id),
            None => Err(self
                .file
                .damaged(0, format!("predicate {rank} of {}", self.predicates.len()))),
        }
    }

    fn verify_block(&self, number: u64, last: &mut Option<Row>) -> Result<()> {
        let range = self.directory.block(&self.file, number)?;
        let damaged = |reason: &str| self.file.damaged(range.start, reason);
        let malformed = |malformed: crate::codec::Malformed| damaged(malformed.0);
        let bytes = self
            .file
            .bytes(range.start..range.end + SLACK_BYTES as u64)?;
        let first = self.directory.first_row(&self.file, number)?;
        let rows = self.directory.rows(number);
        let length = (range.end - range.start) as usize;
        let mut block = Block::default();
        block
            .read(bytes, length, rows, self.order, &first)
            .map_err(malformed)?;
        let mut values = [[0; MINI_BLOCK_ROWS]; COLUMNS_MAX];
        for mini_block in 0..rows.div_ceil(MINI_BLOCK_ROWS) {
            let rows = block.mini_block_rows(mini_block);
            for (column, values) in values.iter_mut().take(self.columns).enumerate() {
                block
                    .decode(bytes, column, mini_block, &mut values[..rows])
                    .map_err(malformed)?;
                if block.first(bytes, column, mini_block).map_err(malformed)? != values[0] {
                    return Err(damaged(
                        "a mini-block's first value is not what its head says",
                    ));
                }
            }
            for (index, row) in rows_of(&values, rows).enumerate() {
                if last.is_some_and(|last| last >= row) {
                    return Err(damaged("rows are not in order"));
                }
                if mini_block == 0 && index == 0 && row != first {
                    return Err(damaged("the first row is not the directory's"));
                }
                self.predicate(row[self.predicate_column])?;
                *last = Some(row);
            }
        }
        Ok(())
    }
}
