//! `Distinct` and `Adjacent`: each row once.

use super::batch::{Batch, compare_rows};
use super::hash::{hash_ids, hash_row};
use super::operator::Operator;
use crate::error::Result;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use quadrille_store::TermId;
use roaring::RoaringTreemap;

/// Gives each row the first time it comes, and remembers them all.
pub struct Distinct {
    input: Box<dyn Operator>,
    seen: Seen,
    selection: Vec<u32>,
}

/// The rows given so far.
enum Seen {
    /// There are no columns: whether the only row was given.
    Nothing(bool),
    /// Of one column, a set of ids. Ordinals of one kind lie close together, so that a bitmap takes a bit or two for
    /// an id where a table of rows takes twenty bytes.
    Ids(RoaringTreemap),
    /// Of several columns, a table of rows.
    Rows(Rows),
}

struct Rows {
    columns: Vec<usize>,
    /// One row behind the other.
    ids: Vec<TermId>,
    /// Numbers of rows in `ids`.
    table: HashTable<usize>,
}

impl Distinct {
    /// Each row of `input`, which has `width` columns, once.
    pub fn new(input: Box<dyn Operator>, width: usize) -> Self {
        let seen = match width {
            0 => Seen::Nothing(false),
            1 => Seen::Ids(RoaringTreemap::new()),
            _ => Seen::Rows(Rows {
                columns: (0..width).collect(),
                ids: Vec::new(),
                table: HashTable::new(),
            }),
        };
        Self {
            input,
            seen,
            selection: Vec::new(),
        }
    }
}

impl Seen {
    /// Whether no further row can be new.
    fn is_complete(&self) -> bool {
        matches!(self, Self::Nothing(true))
    }

    /// Whether a row is seen for the first time.
    fn is_new(&mut self, batch: &Batch, row: usize) -> bool {
        match self {
            Self::Nothing(given) => !std::mem::replace(given, true),
            Self::Ids(ids) => ids.insert(batch.column(0)[row].bits()),
            Self::Rows(rows) => rows.is_new(batch, row),
        }
    }
}

impl Rows {
    fn is_new(&mut self, batch: &Batch, row: usize) -> bool {
        let width = self.columns.len();
        let ids = &self.ids;
        let entry = self.table.entry(
            hash_row(batch, &self.columns, row),
            |other| {
                let other = &ids[*other * width..][..width];
                (0..width).all(|column| other[column] == batch.column(column)[row])
            },
            |other| hash_ids(&ids[*other * width..][..width]),
        );
        match entry {
            Entry::Occupied(_) => false,
            Entry::Vacant(entry) => {
                entry.insert(ids.len() / width);
                self.ids
                    .extend((0..width).map(|column| batch.column(column)[row]));
                true
            }
        }
    }
}

impl Operator for Distinct {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        loop {
            if self.seen.is_complete() || self.input.next(output)? == 0 {
                output.clear();
                return Ok(0);
            }
            let seen = &mut self.seen;
            self.selection.clear();
            self.selection
                .extend((0..output.rows() as u32).filter(|row| seen.is_new(output, *row as usize)));
            output.select(&self.selection);
            if output.rows() > 0 {
                return Ok(output.rows());
            }
        }
    }
}

/// Leaves out rows that are the same as the one before. Where equal rows stand together, that is each row once.
pub struct Adjacent {
    input: Box<dyn Operator>,
    columns: Vec<usize>,
    last: Batch,
    selection: Vec<u32>,
}

impl Adjacent {
    /// The rows of `input`, which has `width` columns, without immediate repetitions.
    pub fn new(input: Box<dyn Operator>, width: usize) -> Self {
        Self {
            input,
            columns: (0..width).collect(),
            last: Batch::new(width),
            selection: Vec::new(),
        }
    }
}

impl Operator for Adjacent {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        loop {
            if self.input.next(output)? == 0 {
                return Ok(0);
            }
            let columns = &self.columns;
            let rows = output.rows();
            self.selection.clear();
            let repeats_last = self.last.rows() > 0
                && compare_rows(&self.last, columns, 0, output, columns, 0).is_eq();
            if !repeats_last {
                self.selection.push(0);
            }
            self.selection.extend((1..rows as u32).filter(|row| {
                let row = *row as usize;
                compare_rows(output, columns, row - 1, output, columns, row).is_ne()
            }));
            self.last.clear();
            self.last.append(output, rows - 1, rows);
            output.select(&self.selection);
            if output.rows() > 0 {
                return Ok(output.rows());
            }
        }
    }

    fn skip_to(&mut self, key: &[TermId]) -> Result<()> {
        self.input.skip_to(key)
    }
}
