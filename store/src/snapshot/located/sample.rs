//! Samples of a pattern's rows, for estimates.

use super::{Extent, Source};
use crate::error::Result;
use crate::index::{ColumnMask, Columns};
use crate::quad::{Order, Pattern};
use crate::snapshot::Snapshot;

impl Snapshot {
    /// Some rows of a pattern, at most `count`, spread evenly over an order that begins with the pattern's bound positions:
    /// of the columns behind these, `wanted` (in the order's own column numbers) says which are filled.
    ///
    /// Rows that a newer layer deletes may be among them; no row is there twice. There are none where a dataset merges
    /// graphs, nor of a pattern without a free position.
    ///
    /// # Errors
    /// If the store cannot be read.
    ///
    /// # Panics
    /// As [`Snapshot::scan`].
    pub fn sample(
        &self,
        pattern: &Pattern,
        order: Order,
        wanted: ColumnMask,
        count: u64,
    ) -> Result<Columns> {
        let mut rows = Columns::default();
        let Some(located) = self.locate(pattern, order)? else {
            return Ok(rows);
        };
        if located.width() == 0 {
            return Ok(rows);
        }
        rows.widen(located.width());
        let inserts = || {
            let extents = located.pieces.iter().flatten();
            extents.filter(|extent| !extent.tombstones)
        };
        let all: u64 = inserts().map(Extent::length).sum();
        let count = count.min(all);
        let mut taken = 0;
        // Where the rows of the extent begin among those of all.
        let mut before = 0;
        for extent in inserts() {
            while taken < count {
                // The middle of the share that the row stands for.
                let middle = u128::from(2 * taken + 1) * u128::from(all) / u128::from(2 * count);
                let at = middle as u64;
                if at >= before + extent.length() {
                    break;
                }
                let row = extent.rows.start + (at - before);
                let mut source = Source::open(
                    &self.state.layers[extent.layer],
                    order,
                    false,
                    located.prefix(),
                    row..row + 1,
                    wanted,
                );
                source.cursor_mut().fill(&mut rows, 1)?;
                taken += 1;
            }
            before += extent.length();
        }
        Ok(rows)
    }
}
