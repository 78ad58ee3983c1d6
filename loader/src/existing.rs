//! What the store has already: quads that a load must not add again.

use crate::error::LoadError;
use crate::key::{Field, Key, Widths, fields, mask};
use crate::vocabulary::number::RankTable;
use quadrille_store::index::{ColumnMask, Columns};
use quadrille_store::{GraphSelector, Order, Pattern, Position, Scan, Snapshot, TermId};

/// Rows fetched at once. Small: a load that adds little to a large store mostly seeks.
const ROWS: usize = 256;

/// Walks the store's quads beside ascending new rows.
pub struct Existing<'a> {
    scan: Scan,
    columns: Columns,
    place: usize,
    rows: usize,
    ended: bool,
    fields: Vec<Field>,
    ranks: &'a RankTable,
    predicates: &'a [TermId],
    graphs: &'a [TermId],
}

impl<'a> Existing<'a> {
    /// `None` if the store has no quads in the default graph (or the named graphs).
    pub fn new(
        snapshot: &Snapshot,
        named: bool,
        widths: Widths,
        ranks: &'a RankTable,
        predicates: &'a [TermId],
        graphs: &'a [TermId],
    ) -> Result<Option<Self>, LoadError> {
        let (graph, order) = if named {
            (GraphSelector::AnyNamed, Order::Spog)
        } else {
            (GraphSelector::Default, Order::Spo)
        };
        let pattern = Pattern {
            subject: None,
            predicate: None,
            object: None,
            graph,
        };
        if snapshot.count(&pattern)? == 0 {
            return Ok(None);
        }
        let fields = fields(order, widths);
        Ok(Some(Self {
            scan: snapshot.scan(&pattern, order, ColumnMask::ALL)?,
            columns: Columns::with_capacity(fields.len(), ROWS),
            place: 0,
            rows: 0,
            ended: false,
            fields,
            ranks,
            predicates,
            graphs,
        }))
    }

    /// Moves the rows that the store does not have to the front, and says how many they are. Rows ascend, from one call to the
    /// next as well.
    pub fn retain_new<K: Key>(&mut self, rows: &mut [K]) -> Result<usize, LoadError> {
        let mut kept = 0;
        for place in 0..rows.len() {
            let row = self.row(rows[place]);
            if !self.contains(&row[..self.fields.len()])? {
                rows[kept] = rows[place];
                kept += 1;
            }
        }
        Ok(kept)
    }

    fn row<K: Key>(&self, key: K) -> [TermId; 4] {
        let mut row = [TermId::UNBOUND; 4];
        for (id, field) in row.iter_mut().zip(&self.fields) {
            let rank = key.get(field.shift, mask(field.bits));
            *id = match field.position {
                Position::Predicate => self.predicates[rank as usize],
                Position::Graph => self.graphs[rank as usize],
                Position::Subject | Position::Object => self.ranks.id(rank),
            };
        }
        row
    }

    fn contains(&mut self, row: &[TermId]) -> Result<bool, LoadError> {
        loop {
            if self.place == self.rows && (self.ended || !self.fetch(row)?) {
                return Ok(false);
            }
            let columns = &self.columns.columns;
            if row
                .iter()
                .zip(columns)
                .all(|(id, column)| *id == column[self.place])
            {
                return Ok(true);
            }
            let last = columns.iter().map(|column| column[self.rows - 1]);
            if last.lt(row.iter().copied()) {
                self.place = self.rows;
                continue;
            }
            // The row's place, if it is there, is among those at hand.
            let (mut low, mut high) = (self.place, self.rows);
            while low < high {
                let middle = usize::midpoint(low, high);
                if columns
                    .iter()
                    .map(|column| column[middle])
                    .lt(row.iter().copied())
                {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            self.place = low;
            return Ok(row
                .iter()
                .zip(columns)
                .all(|(id, column)| *id == column[low]));
        }
    }

    fn fetch(&mut self, row: &[TermId]) -> Result<bool, LoadError> {
        self.scan.seek(row)?;
        self.columns.clear();
        self.rows = self.scan.fill(&mut self.columns, ROWS)?;
        self.place = 0;
        self.ended = self.rows == 0;
        Ok(self.rows > 0)
    }
}
