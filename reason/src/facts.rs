//! `Facts`: what premises are looked up in, a snapshot and runs of inferred triples above it; and cursors over the
//! triples of an atom, for keys that ascend.
//!
//! What always holds: snapshot and runs have no triple in common. So what an atom matches is the union of what it matches
//! in each, and nothing is compared between them.

use crate::error::Result;
use crate::rule::{Atom, Slot};
use crate::run::{Run, gallop};
use quadrille_store::{
    ColumnMask, Columns, GraphSelector, Order, Pattern, Position, Scan, Snapshot, TermId,
};
use std::sync::Arc;

/// Rows that are fetched from a snapshot at once.
const FETCH_ROWS: usize = 512;

/// A snapshot's default graph and runs of further triples.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// What is stored.
    pub snapshot: &'a Snapshot,
    /// What was inferred since.
    pub runs: &'a [Arc<Run>],
}

impl Facts<'_> {
    /// At least as many triples as match an atom's constants.
    pub fn count_at_most(&self, atom: &Atom) -> Result<u64> {
        let runs = self.runs.iter().map(|run| run_rows(run, atom));
        let stored = self.snapshot.count_at_most(&pattern(atom))?;
        Ok(stored + runs.sum::<u64>())
    }

    /// All pairs (subject, object) of a predicate.
    pub fn pairs(&self, predicate: TermId) -> Result<Vec<[TermId; 2]>> {
        let atom = Atom([
            Slot::Variable(0),
            Slot::Constant(predicate),
            Slot::Variable(1),
        ]);
        self.rows(&atom, Order::Pso, 2)
    }

    /// The subjects of triples with this predicate and object.
    pub fn subjects(&self, predicate: TermId, object: TermId) -> Result<Vec<TermId>> {
        let (predicate, object) = (Slot::Constant(predicate), Slot::Constant(object));
        let rows: Vec<[TermId; 1]> =
            self.rows(&Atom([Slot::Variable(0), predicate, object]), Order::Pos, 1)?;
        Ok(rows.into_iter().flatten().collect())
    }

    /// The objects of triples with this subject and predicate.
    pub fn objects(&self, subject: TermId, predicate: TermId) -> Result<Vec<TermId>> {
        let (subject, predicate) = (Slot::Constant(subject), Slot::Constant(predicate));
        let rows: Vec<[TermId; 1]> = self.rows(
            &Atom([subject, predicate, Slot::Variable(0)]),
            Order::Pso,
            1,
        )?;
        Ok(rows.into_iter().flatten().collect())
    }

    fn rows<const N: usize>(
        &self,
        atom: &Atom,
        order: Order,
        free: usize,
    ) -> Result<Vec<[TermId; N]>> {
        let mut rows = Vec::new();
        let mut take = |row: &[TermId]| rows.push(row.try_into().expect("as many as are free"));
        for mut cursor in self.cursors(atom, order)? {
            cursor.probe(&[], free, &mut take)?;
        }
        rows.sort_unstable();
        Ok(rows)
    }

    /// Cursors over what matches an atom's constants, in an order that begins with these.
    pub fn cursors(&self, atom: &Atom, order: Order) -> Result<Vec<FactCursor<'_>>> {
        let mut cursors = Vec::with_capacity(1 + self.runs.len());
        if self.snapshot.count_at_most(&pattern(atom))? > 0 {
            let scan = self.snapshot.scan(&pattern(atom), order, ColumnMask::ALL)?;
            cursors.push(FactCursor::stored(scan));
        }
        cursors.extend(
            self.runs
                .iter()
                .filter_map(|run| FactCursor::run(run, atom, order)),
        );
        Ok(cursors)
    }
}

/// The atom's constants as a pattern of the default graph.
pub fn pattern(atom: &Atom) -> Pattern {
    let [subject, predicate, object] = atom.0.map(Slot::constant);
    Pattern {
        subject,
        predicate,
        object,
        graph: GraphSelector::Default,
    }
}

/// Where a position stands in an atom.
pub fn place(position: Position) -> usize {
    match position {
        Position::Subject => 0,
        Position::Predicate => 1,
        Position::Object => 2,
        Position::Graph => unreachable!("an order of the default graph has no such column"),
    }
}

/// The order that has an atom's constants first, the predicate at their head, then the variables of `first` in this
/// sequence, then the others.
pub fn order_for(atom: &Atom, first: &[usize]) -> Order {
    let rank = |position: &Position| {
        let slot = atom.0[place(*position)];
        match slot {
            Slot::Constant(_) if *position == Position::Predicate => 0,
            Slot::Constant(_) => 1,
            Slot::Variable(variable) => {
                let wanted = first.iter().position(|known| *known == variable);
                2 + wanted.unwrap_or(first.len())
            }
        }
    };
    let orders = Order::DEFAULT_GRAPH.into_iter();
    let mut sorted = orders.filter(|order| order.columns().iter().map(rank).is_sorted());
    sorted.next().expect("there is an order for each sequence")
}

/// The rows of a run that an atom's constants match, in an order that begins with these.
pub enum RunRows<'a> {
    /// Of one predicate, which the rows leave out.
    Pairs(&'a [[TermId; 2]]),
    /// Of all predicates.
    Triples(&'a [[TermId; 3]]),
}

impl<'a> RunRows<'a> {
    /// The rows, and how many of their first columns are the atom's constants.
    pub fn new(run: &'a Run, atom: &Atom, order: Order) -> (Self, usize) {
        let constants: Vec<TermId> = order
            .columns()
            .iter()
            .map_while(|position| atom.0[place(*position)].constant())
            .collect();
        if let Some(predicate) = atom.0[1].constant() {
            let rows = match order {
                Order::Pso => run.by_subject(predicate),
                Order::Pos => run.by_object(predicate),
                _ => unreachable!("an order that begins with the predicate"),
            };
            let constants = &constants[1..];
            (Self::Pairs(range(rows, constants)), constants.len())
        } else {
            let rows = run.triples(order);
            (Self::Triples(range(rows, &constants)), constants.len())
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Pairs(rows) => rows.len(),
            Self::Triples(rows) => rows.len(),
        }
    }
}

fn range<'a, const N: usize>(rows: &'a [[TermId; N]], key: &[TermId]) -> &'a [[TermId; N]] {
    let start = rows.partition_point(|row| row[..key.len()] < *key);
    let length = rows[start..].partition_point(|row| row[..key.len()] == *key);
    &rows[start..start + length]
}

/// How many rows of a run match an atom's constants.
pub fn run_rows(run: &Run, atom: &Atom) -> u64 {
    RunRows::new(run, atom, order_for(atom, &[])).0.len() as u64
}

/// The triples of one source that match an atom's constants, for keys that ascend.
pub enum FactCursor<'a> {
    /// Of the snapshot.
    Stored {
        /// Gives the columns behind the constants.
        scan: Scan,
        /// Rows that were fetched.
        rows: Columns,
        /// How many.
        filled: usize,
        /// The next one.
        position: usize,
    },
    /// Of one predicate of a run.
    Pairs(SliceCursor<'a, 2>),
    /// Of a run.
    Triples(SliceCursor<'a, 3>),
}

/// See [`FactCursor`].
pub struct SliceCursor<'a, const N: usize> {
    rows: &'a [[TermId; N]],
    /// The number of columns that are constants.
    skip: usize,
    position: usize,
}

impl<const N: usize> SliceCursor<'_, N> {
    fn probe(&mut self, key: &[TermId], free: usize, each: &mut dyn FnMut(&[TermId])) {
        // Compared are the columns of the constants as well: they are equal in all rows.
        let skip = self.skip;
        let below = |row: &[TermId; N]| row[skip..skip + key.len()] < *key;
        if self.rows.get(self.position).is_some_and(below) {
            let mut whole = [TermId::UNBOUND; N];
            whole[..skip].copy_from_slice(&self.rows[self.position][..skip]);
            whole[skip..skip + key.len()].copy_from_slice(key);
            self.position = gallop(self.rows, self.position, &whole[..skip + key.len()]);
        }
        let first = skip + key.len();
        for row in &self.rows[self.position..] {
            if row[skip..first] != *key {
                break;
            }
            each(&row[first..first + free]);
        }
    }
}

impl<'a> FactCursor<'a> {
    fn stored(scan: Scan) -> Self {
        Self::Stored {
            scan,
            rows: Columns::default(),
            filled: 0,
            position: 0,
        }
    }

    /// `None` if the run has no such triple.
    pub fn run(run: &'a Run, atom: &Atom, order: Order) -> Option<Self> {
        let position = 0;
        let (rows, skip) = RunRows::new(run, atom, order);
        (rows.len() > 0).then_some(match rows {
            RunRows::Pairs(rows) => Self::Pairs(SliceCursor {
                rows,
                skip,
                position,
            }),
            RunRows::Triples(rows) => Self::Triples(SliceCursor {
                rows,
                skip,
                position,
            }),
        })
    }

    /// Calls `each` with the `free` columns behind the key of every row that begins with it. Keys ascend from call to
    /// call.
    pub fn probe(
        &mut self,
        key: &[TermId],
        free: usize,
        each: &mut dyn FnMut(&[TermId]),
    ) -> Result<()> {
        match self {
            Self::Pairs(cursor) => cursor.probe(key, free, each),
            Self::Triples(cursor) => cursor.probe(key, free, each),
            Self::Stored {
                scan,
                rows,
                filled,
                position,
            } => {
                let mut sought = false;
                let mut row = [TermId::UNBOUND; 3];
                loop {
                    // A row without columns is one that the constants alone describe.
                    while *position < *filled {
                        for (value, column) in row.iter_mut().zip(&rows.columns) {
                            *value = column[*position];
                        }
                        match row[..key.len()].cmp(key) {
                            std::cmp::Ordering::Less => {
                                *position = seek(rows, *position, *filled, key);
                            }
                            std::cmp::Ordering::Equal => {
                                each(&row[key.len()..key.len() + free]);
                                *position += 1;
                                sought = true;
                            }
                            std::cmp::Ordering::Greater => return Ok(()),
                        }
                    }
                    if !sought {
                        scan.seek(key)?;
                        sought = true;
                    }
                    rows.clear();
                    *position = 0;
                    *filled = scan.fill(rows, FETCH_ROWS)?;
                    if *filled == 0 {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }
}

/// The first of the fetched rows that is not below the key.
fn seek(rows: &Columns, start: usize, end: usize, key: &[TermId]) -> usize {
    let below = |row: usize| {
        let values = rows.columns.iter().map(|column| column[row]);
        values.take(key.len()).lt(key.iter().copied())
    };
    quadrille_store::gallop(start, end, below)
}
