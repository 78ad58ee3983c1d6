//! Writes inferred triples as a segment, one order a task, on all threads.
//!
//! A row is sorted as one number where its three terms fit: each takes as many bits as the span of the ids in its column
//! has, side by side in the order's sequence.

use crate::error::Result;
use crate::memory::Charge;
use crate::options::Context;
use crate::run::Run;
use crate::workers;
use quadrille_store::manifest::SegmentEntry;
use quadrille_store::segment::SegmentWriter;
use quadrille_store::statistics::{GraphStatistics, PairObserver, Statistics, SubjectObserver};
use quadrille_store::{Order, Position, Store, TermId};
use std::sync::Mutex;

/// Rows that are handed to the writer of an order at a time.
const CHUNK_ROWS: usize = 32 << 10;

/// Writes a segment of the default graph at this path: what is inserted, and what is deleted of older inferred segments.
pub fn write_segment(
    store: &Store,
    path: &str,
    inserts: &Run,
    tombstones: &Run,
    context: &Context<'_>,
) -> Result<SegmentEntry> {
    let mut predicates: Vec<TermId> = inserts
        .predicates()
        .chain(tombstones.predicates())
        .collect();
    predicates.sort_unstable();
    predicates.dedup();
    let writer = SegmentWriter::new(store.storage().clone(), path, predicates);
    let observed = Mutex::new(Observed::default());
    let sides = [
        (Rows::new(inserts, writer.predicates(), context), false),
        (Rows::new(tombstones, writer.predicates(), context), true),
    ];
    let mut tasks = Vec::new();
    for side in sides.iter().filter(|(rows, _)| !rows.triples.is_empty()) {
        tasks.extend(Order::DEFAULT_GRAPH.map(|order| (order, side)));
    }
    workers::each(
        context.options.threads,
        &tasks,
        |(order, (rows, is_tombstone))| {
            let _keys = context.memory.charge(rows.keys_bytes());
            context.check()?;
            let mut file = writer.order_writer(*order, *is_tombstone)?;
            let mut observe = Observed::default();
            rows.sorted(*order, &mut |columns| {
                if !is_tombstone {
                    observe.take(*order, columns);
                }
                Ok(file.push(columns)?)
            })?;
            let (unsynced, summary) = file.finish()?;
            unsynced.sync()?;
            writer.add(*order, *is_tombstone, &summary);
            if !is_tombstone {
                observed
                    .lock()
                    .expect("no worker panics")
                    .keep(*order, observe);
            }
            Ok(())
        },
    )?;
    let Observed { spo, pso, pos } = observed.into_inner().expect("no worker panics");
    let counted = GraphStatistics::from_observers(writer.predicates(), spo, pso, pos);
    let statistics = Statistics {
        default_graph: counted,
        ..Statistics::default()
    };
    Ok(writer.finish(&statistics)?)
}

/// What statistics come from.
#[derive(Default)]
struct Observed {
    spo: SubjectObserver,
    pso: PairObserver,
    pos: PairObserver,
}

impl Observed {
    fn take(&mut self, order: Order, columns: &[&[u64]]) {
        match order {
            Order::Spo => self.spo.observe(columns),
            Order::Pso => self.pso.observe(columns),
            Order::Pos => self.pos.observe(columns),
            _ => {}
        }
    }

    fn keep(&mut self, order: Order, other: Self) {
        match order {
            Order::Spo => self.spo = other.spo,
            Order::Pso => self.pso = other.pso,
            Order::Pos => self.pos = other.pos,
            _ => {}
        }
    }
}

/// Triples with ranks of predicates, by predicate, object and subject.
struct Rows {
    triples: Vec<[u64; 3]>,
    /// The least value of each position, and the bits of the distance to the largest.
    least: [u64; 3],
    bits: [u32; 3],
    _charge: Charge,
}

impl Rows {
    fn new(run: &Run, predicates: &[TermId], context: &Context<'_>) -> Self {
        let charge = context.memory.charge(run.len() * size_of::<[u64; 3]>());
        let mut triples = Vec::with_capacity(run.len());
        let (mut least, mut largest) = ([u64::MAX; 3], [0; 3]);
        let (mut last, mut rank) = (None, 0);
        run.each(|[subject, predicate, object]| {
            if last != Some(predicate) {
                last = Some(predicate);
                let place = predicates.binary_search(&predicate);
                rank = place.expect("all predicates are listed") as u64;
            }
            let row = [subject.bits(), rank, object.bits()];
            for position in 0..3 {
                least[position] = least[position].min(row[position]);
                largest[position] = largest[position].max(row[position]);
            }
            triples.push(row);
        });
        let bits = [0, 1, 2].map(|place: usize| {
            u64::BITS - largest[place].saturating_sub(least[place]).leading_zeros()
        });
        Self {
            triples,
            least,
            bits,
            _charge: charge,
        }
    }

    /// Whether a row does not fit into one number.
    fn is_wide(&self) -> bool {
        self.bits.iter().sum::<u32>() > u64::BITS
    }

    /// What sorting in one order takes.
    fn keys_bytes(&self) -> usize {
        let columns = if self.is_wide() { 3 } else { 1 };
        self.triples.len() * columns * size_of::<u64>()
    }

    /// Gives the rows in an order, by column, as the writer of the order takes them.
    fn sorted(&self, order: Order, each: &mut dyn FnMut(&[&[u64]]) -> Result<()>) -> Result<()> {
        let places = [0, 1, 2].map(|column: usize| match order.columns()[column] {
            Position::Subject => 0,
            Position::Predicate => 1,
            Position::Object | Position::Graph => 2,
        });
        let mut columns: [Vec<u64>; 3] = std::array::from_fn(|_| Vec::with_capacity(CHUNK_ROWS));
        let mut give = |columns: &mut [Vec<u64>; 3]| -> Result<()> {
            each(&[&columns[0], &columns[1], &columns[2]])?;
            columns.iter_mut().for_each(Vec::clear);
            Ok(())
        };
        if self.is_wide() {
            let arrange = |row: &[u64; 3]| places.map(|place| row[place]);
            let mut rows: Vec<[u64; 3]> = self.triples.iter().map(arrange).collect();
            rows.sort_unstable();
            for chunk in rows.chunks(CHUNK_ROWS) {
                for (column, values) in columns.iter_mut().enumerate() {
                    values.extend(chunk.iter().map(|row| row[column]));
                }
                give(&mut columns)?;
            }
            return Ok(());
        }
        let bits = places.map(|place| self.bits[place]);
        let least = places.map(|place| self.least[place]);
        // A shift by all 64 bits happens only where the other columns take none.
        let shifts = [bits[1] + bits[2], bits[2], 0];
        let masks = bits.map(|bits| u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0));
        let pack = |row: &[u64; 3]| {
            (0..3).fold(0, |key, column| {
                let distance = row[places[column]] - least[column];
                key | distance.checked_shl(shifts[column]).unwrap_or(0)
            })
        };
        let mut keys: Vec<u64> = self.triples.iter().map(pack).collect();
        keys.sort_unstable();
        for chunk in keys.chunks(CHUNK_ROWS) {
            for (column, values) in columns.iter_mut().enumerate() {
                let (shift, mask) = (shifts[column], masks[column]);
                values.extend(
                    chunk
                        .iter()
                        .map(|key| (key.checked_shr(shift).unwrap_or(0) & mask) + least[column]),
                );
            }
            give(&mut columns)?;
        }
        Ok(())
    }
}
