//! `Pairs`: the rows that a join found to belong together, until they are copied to its output.
//!
//! Joins note pairs of row numbers and copy column by column when one of the two batches is about to be replaced.

use super::batch::Batch;

/// Which input of a join a column comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The first input.
    Left,
    /// The second input.
    Right,
}

/// A column of a join's output: the input and the column there.
pub type Source = (Side, usize);

/// Pairs of row numbers that were not yet copied.
#[derive(Default)]
pub struct Pairs {
    left: Vec<u32>,
    right: Vec<u32>,
}

impl Pairs {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.left.len()
    }

    /// Notes a pair.
    #[inline]
    pub fn push(&mut self, left: usize, right: usize) {
        self.left.push(left as u32);
        self.right.push(right as u32);
    }

    /// Notes one left row with each of a range of right rows.
    #[inline]
    pub fn push_range(&mut self, left: usize, right: std::ops::Range<usize>) {
        self.left.resize(self.left.len() + right.len(), left as u32);
        self.right.extend(right.start as u32..right.end as u32);
    }

    /// Appends the rows of all pairs to the output and forgets them.
    pub fn flush(&mut self, left: &Batch, right: &Batch, sources: &[Source], output: &mut Batch) {
        if self.left.is_empty() {
            return;
        }
        for (index, (side, column)) in sources.iter().enumerate() {
            let (from, rows) = match side {
                Side::Left => (left.column(*column), &self.left),
                Side::Right => (right.column(*column), &self.right),
            };
            output
                .column_mut(index)
                .extend(rows.iter().map(|row| from[*row as usize]));
        }
        output.set_rows(output.rows() + self.left.len());
        self.left.clear();
        self.right.clear();
    }
}
