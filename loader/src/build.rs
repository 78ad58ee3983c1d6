//! From numbered runs to the files of a segment.
//!
//! ```text
//! runs' rows -> ranks -> packed rows (`crate::key`) -> sorted chunks -> merged, duplicates dropped, quads that
//!   the store has dropped -> base rows (order spo, or spog)
//!      |-> spo file      |-> derived order pso -> pso file     ... on all threads
//! ```
//!
//! Base rows are one chunk in memory where that is possible. Then an order is derived from its parent
//! ([`sort::parent`]), which takes a sort by one column: a task is a child of the base order with all that comes from it. Where
//! threads are too many or memory is too little for that, a task is one order, derived from the base rows. Otherwise
//! base rows are chunks in temporary files, one after the other in order; each is derived into another order by itself, and
//! the results are merged.

use crate::chunk::{self, Chunk, ChunkWriter, PIECE_ROWS};
use crate::error::LoadError;
use crate::existing::Existing;
use crate::key::{Field, Key, Widths, fields, mask};
use crate::large::LargeVec;
use crate::memory::PeakMemory;
use crate::options::LoadOptions;
use crate::run::{FAN_IN, Rows, Run, Temporary};
use crate::sort;
use crate::syncing::Syncing;
use crate::vocabulary::number::{RankMap, RankTable};
use crate::workers;
use quadrille_store::index::{OrderSummary, OrderWriter};
use quadrille_store::segment::SegmentWriter;
use quadrille_store::statistics::{PairObserver, SubjectObserver};
use quadrille_store::{Order, Position, Snapshot, TermId};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows that are sorted at once are not more, whatever the memory: the sort counts them with 32 bits.
const ROWS_SORTED_MAX: usize = 1 << 31;

/// What the build of one segment needs.
pub struct Build<'a> {
    /// Where temporary files go.
    pub temporary: Temporary<'a>,
    /// The segment's files.
    pub segment: &'a SegmentWriter,
    /// Takes finished files and syncs them while the work goes on.
    pub syncing: &'a Syncing,
    /// What the store holds already.
    pub snapshot: &'a Snapshot,
    /// Rank -> id.
    pub ranks: &'a RankTable,
    /// The predicates' ranks, sorted.
    pub predicates: &'a [u32],
    /// The named graphs' ranks, sorted, and their ids in the same sequence.
    pub graphs: &'a [u32],
    /// See `graphs`.
    pub graph_ids: &'a [TermId],
    /// How many distinct terms there are.
    pub distinct_terms: u64,
    /// How many threads may work.
    pub threads: usize,
    /// Bytes that rows may take in memory, all threads together.
    pub memory: usize,
    /// The load's options.
    pub options: &'a LoadOptions,
    /// Watches the memory in use.
    pub peak: &'a PeakMemory,
    /// Counts quads that the store had already.
    pub present: AtomicU64,
}

/// What was built of one set of quads.
#[derive(Default)]
pub struct Built {
    /// Quads in the segment.
    pub quads: u64,
    /// Counted on the way.
    pub subjects: SubjectObserver,
    /// The same of order pso (or psog).
    pub predicate_subjects: PairObserver,
    /// The same of order pos (or posg).
    pub predicate_objects: PairObserver,
    /// What was written of each order, and the bytes of its file.
    pub orders: Vec<(OrderSummary, u64)>,
}

impl Build<'_> {
    /// Builds the orders of the default graph.
    pub fn default_graph(&self, runs: &[Run], maps: &[RankMap]) -> Result<Built, LoadError> {
        let sources: Vec<_> = runs.iter().map(|run| &run.default).zip(maps).collect();
        self.orders(&Order::DEFAULT_GRAPH, &sources)
    }

    /// Builds the orders of the named graphs.
    pub fn named_graphs(&self, runs: &[Run], maps: &[RankMap]) -> Result<Built, LoadError> {
        let sources: Vec<_> = runs.iter().map(|run| &run.named).zip(maps).collect();
        self.orders(&Order::NAMED_GRAPHS, &sources)
    }
}

impl Build<'_> {
    fn orders<const N: usize>(
        &self,
        orders: &[Order],
        sources: &[(&Rows<N>, &RankMap)],
    ) -> Result<Built, LoadError> {
        let rows: u64 = sources.iter().map(|(rows, _)| rows.count()).sum();
        if rows == 0 {
            return Ok(Built::default());
        }
        let widths = Widths::new(
            self.distinct_terms,
            self.predicates.len(),
            (N == 4).then_some(self.graphs.len()),
        );
        if widths.total() <= u64::BITS {
            self.orders_of::<u64, N>(orders, sources, widths, rows)
        } else {
            self.orders_of::<u128, N>(orders, sources, widths, rows)
        }
    }

    fn orders_of<K: Key, const N: usize>(
        &self,
        orders: &[Order],
        sources: &[(&Rows<N>, &RankMap)],
        widths: Widths,
        rows: u64,
    ) -> Result<Built, LoadError> {
        let tasks = self.threads.min(orders.len());
        // Rows that may be in memory at once, if all threads together hold so many times all rows.
        let fits = |times: usize| {
            rows * size_of::<K>() as u64 * times as u64 <= self.memory as u64
                && rows <= ROWS_SORTED_MAX as u64
        };
        // The base rows, and for each thread what it derives and scratch for sorting.
        let base = if fits(2 * tasks + 1) {
            vec![self.base_in_memory::<K, N>(sources, widths)?]
        } else {
            // As many runs are sorted side by side as orders are derived later: both share the memory.
            let capacity = self.memory / (3 * tasks * size_of::<K>());
            let capacity = capacity.clamp(PIECE_ROWS, ROWS_SORTED_MAX);
            self.base_in_files::<K, N>(sources, widths, tasks, capacity)?
        };
        // A thread then holds its parents' rows as well.
        let fits_deep = fits((LINEAGE_DEPTH + 1) * tasks + 1);
        let lineage = Lineage::new(orders, self.threads, fits_deep);
        let built = Mutex::new(Built::default());
        let spare: Mutex<Vec<Buffers<K>>> = Mutex::default();
        workers::each(self.threads, &lineage.roots(), |order| {
            let used = spare.lock().expect("no worker panics").pop();
            let mut buffers = used.unwrap_or_default();
            match &base[..] {
                [Chunk::Memory(rows)] => {
                    let parent = sort::base(*order);
                    self.derive(
                        &lineage,
                        *order,
                        (parent, rows),
                        widths,
                        &mut buffers,
                        &built,
                    )?;
                }
                chunks => {
                    self.derive_in_files(*order, chunks, widths, &mut buffers, tasks, &built)?;
                }
            }
            spare.lock().expect("no worker panics").push(buffers);
            Ok(())
        })?;
        base.into_iter()
            .try_for_each(|chunk| chunk.remove(self.temporary.storage))?;
        Ok(built.into_inner().expect("no worker panics"))
    }

    /// Packs and sorts the runs, large ones in as many parts as there are threads, and merges them.
    fn base_in_memory<K: Key, const N: usize>(
        &self,
        sources: &[(&Rows<N>, &RankMap)],
        widths: Widths,
    ) -> Result<Chunk<K>, LoadError> {
        let total: u64 = sources.iter().map(|(rows, _)| rows.count()).sum();
        let part_rows = (total as usize).div_ceil(self.threads).max(PIECE_ROWS);
        let mut parts = Vec::new();
        for (rows, map) in sources {
            match rows {
                Rows::Memory(rows) => {
                    parts.extend(rows.chunks(part_rows).map(|part| (Part::Memory(part), map)));
                }
                Rows::File { .. } => parts.push((Part::File(*rows), map)),
            }
        }
        let mut sorted = workers::each(self.threads, &parts, |(rows, map)| {
            let packer = Packer::new(self.predicates, self.graphs, widths);
            let map = map.read(self.temporary.storage)?;
            let mut keys: LargeVec<K> = LargeVec::default();
            match rows {
                Part::Memory(rows) => packer.pack(rows, &map, &mut keys),
                Part::File(rows) => rows.read(self.temporary.storage, |piece| {
                    packer.pack(piece, &map, &mut keys);
                    Ok(())
                })?,
            }
            sort_distinct(&mut keys, &mut LargeVec::default(), widths);
            Ok(keys)
        })?;
        // The small ones first, so that rows are moved as seldom as possible.
        sorted.sort_by_key(|keys| keys.len());
        let merged = sorted
            .into_iter()
            .reduce(|left, right| sort::merge_two(&left, &right));
        let mut keys = merged.unwrap_or_default();
        if let Some(mut existing) = self.existing::<N>(widths)? {
            let kept = existing.retain_new(&mut keys)?;
            self.present
                .fetch_add((keys.len() - kept) as u64, Ordering::Relaxed);
            keys.truncate(kept);
        }
        Ok(Chunk::Memory(keys))
    }

    /// Packs and sorts as many rows at once as memory allows, and merges them into chunks of base rows.
    fn base_in_files<K: Key, const N: usize>(
        &self,
        sources: &[(&Rows<N>, &RankMap)],
        widths: Widths,
        threads: usize,
        capacity: usize,
    ) -> Result<Vec<Chunk<K>>, LoadError> {
        let storage = self.temporary.storage;
        let chunks = workers::each(threads, sources, |(rows, map)| {
            let packer = Packer::new(self.predicates, self.graphs, widths);
            let map = map.read(storage)?;
            let mut chunks = Vec::new();
            let mut scratch = LargeVec::default();
            let mut keys: LargeVec<K> = LargeVec::default();
            rows.read(storage, |piece| {
                packer.pack(piece, &map, &mut keys);
                if keys.len() >= capacity {
                    self.options.check_cancelled()?;
                    sort_distinct(&mut keys, &mut scratch, widths);
                    chunks.push(Chunk::spill(&keys, self.temporary)?);
                    keys.truncate(0);
                }
                Ok(())
            })?;
            if !keys.is_empty() {
                sort_distinct(&mut keys, &mut scratch, widths);
                chunks.push(Chunk::spill(&keys, self.temporary)?);
            }
            Ok(chunks)
        })?;
        let chunks = chunks.into_iter().flatten().collect();
        let chunks = chunk::collapse(chunks, FAN_IN, self.temporary, &self.options.cancel)?;
        let mut existing = self.existing::<N>(widths)?;
        let mut base = Vec::new();
        let mut writer = ChunkWriter::create(self.temporary)?;
        let mut written = 0;
        let mut kept = Vec::with_capacity(PIECE_ROWS);
        chunk::merge(&chunks, storage, |piece| {
            self.options.check_cancelled()?;
            kept.clear();
            kept.extend_from_slice(piece);
            if let Some(existing) = &mut existing {
                let new = existing.retain_new(&mut kept)?;
                self.present
                    .fetch_add((kept.len() - new) as u64, Ordering::Relaxed);
                kept.truncate(new);
            }
            writer.write(&kept)?;
            written += kept.len();
            if written >= capacity {
                let next = ChunkWriter::create(self.temporary)?;
                base.push(std::mem::replace(&mut writer, next).finish());
                written = 0;
            }
            Ok(())
        })?;
        base.push(writer.finish());
        chunks
            .into_iter()
            .try_for_each(|chunk| chunk.remove(storage))?;
        Ok(base)
    }

    /// The quads that the store has, if it has any of this kind.
    fn existing<const N: usize>(&self, widths: Widths) -> Result<Option<Existing<'_>>, LoadError> {
        Existing::new(
            self.snapshot,
            N == 4,
            widths,
            self.ranks,
            self.segment.predicates(),
            self.graph_ids,
        )
    }

    /// Derives an order from rows in memory that are in another order, writes it, and goes on with what is derived from it.
    fn derive<K: Key>(
        &self,
        lineage: &Lineage<'_>,
        order: Order,
        (from, rows): (Order, &[K]),
        widths: Widths,
        buffers: &mut Buffers<K>,
        built: &Mutex<Built>,
    ) -> Result<(), LoadError> {
        self.options.check_cancelled()?;
        let derived = if order == from {
            None
        } else {
            let mut keys = buffers.keys.pop().unwrap_or_default();
            sort::derive(rows, from, order, widths, &mut keys, &mut buffers.scratch);
            Some(keys)
        };
        let mut encoder = Encoder::new(self, order, widths);
        let mut pieces = derived.as_deref().unwrap_or(rows).chunks(PIECE_ROWS);
        pieces.try_for_each(|piece| encoder.push(piece))?;
        encoder.finish(built)?;
        if let Some(derived) = derived {
            for child in lineage.children(order) {
                self.derive(lineage, child, (order, &derived), widths, buffers, built)?;
            }
            buffers.keys.push(derived);
        }
        Ok(())
    }

    /// Derives and writes one order of base rows in temporary files. `tasks` do so at the same time.
    fn derive_in_files<K: Key>(
        &self,
        order: Order,
        base: &[Chunk<K>],
        widths: Widths,
        buffers: &mut Buffers<K>,
        tasks: usize,
        built: &Mutex<Built>,
    ) -> Result<(), LoadError> {
        let storage = self.temporary.storage;
        let mut encoder = Encoder::new(self, order, widths);
        let from = sort::base(order);
        if order == from {
            for chunk in base {
                chunk.read(storage, |piece| encoder.push(piece))?;
            }
        } else {
            let mut derived = Vec::with_capacity(base.len());
            let mut keys = buffers.keys.pop().unwrap_or_default();
            for chunk in base {
                self.options.check_cancelled()?;
                let rows = chunk.load(storage)?;
                sort::derive(&rows, from, order, widths, &mut keys, &mut buffers.scratch);
                derived.push(Chunk::spill(&keys, self.temporary)?);
            }
            buffers.keys.push(keys);
            let fan_in = chunk::fan_in(tasks);
            let cancel = &self.options.cancel;
            let derived = chunk::collapse(derived, fan_in, self.temporary, cancel)?;
            chunk::merge(&derived, storage, |piece| encoder.push(piece))?;
            derived
                .into_iter()
                .try_for_each(|chunk| chunk.remove(storage))?;
        }
        encoder.finish(built)
    }
}

/// How deep a [`Lineage`] goes below the base order.
const LINEAGE_DEPTH: usize = 3;

/// Which order is derived from which.
struct Lineage<'a> {
    orders: &'a [Order],
    /// Whether orders are derived from their parents; from the base order otherwise.
    is_deep: bool,
}

impl<'a> Lineage<'a> {
    /// From parents, if memory allows (`fits`) and no task is then longer than a thread's share of the orders.
    fn new(orders: &'a [Order], threads: usize, fits: bool) -> Self {
        let mut lineage = Self {
            orders,
            is_deep: true,
        };
        let roots = lineage.roots().into_iter();
        let longest = roots.map(|root| lineage.members(root)).max().unwrap_or(0);
        lineage.is_deep = fits && longest * threads <= orders.len();
        lineage
    }

    /// Where tasks begin, those with the most work first, so that threads end at about the same time.
    fn roots(&self) -> Vec<Order> {
        let is_root = |order: &Order| {
            !self.is_deep || sort::parent(*order).is_none_or(|parent| parent == sort::base(parent))
        };
        let mut roots: Vec<Order> = self.orders.iter().copied().filter(is_root).collect();
        // Deriving an order costs about as much as writing it; the base order need not be derived.
        roots.sort_by_key(|order| {
            std::cmp::Reverse((self.members(*order), sort::parent(*order).is_some()))
        });
        roots
    }

    /// The orders derived from one that is not the base order.
    fn children(&self, order: Order) -> impl Iterator<Item = Order> {
        let is_child = move |child: &Order| self.is_deep && sort::parent(*child) == Some(order);
        self.orders.iter().copied().filter(is_child)
    }

    /// How many orders a task writes.
    fn members(&self, order: Order) -> usize {
        1 + self
            .children(order)
            .map(|child| self.members(child))
            .sum::<usize>()
    }
}

/// Memory for rows while they are derived, to be used again: large blocks come from the system page by page, which costs
/// about as much as sorting what is put into them.
struct Buffers<K> {
    /// For derived rows; as many as were needed at once.
    keys: Vec<LargeVec<K>>,
    /// Overwritten by sorting.
    scratch: LargeVec<K>,
}

impl<K> Default for Buffers<K> {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            scratch: LargeVec::default(),
        }
    }
}

/// Rows that one thread packs and sorts.
enum Part<'a, const N: usize> {
    Memory(&'a [[u32; N]]),
    File(&'a Rows<N>),
}

fn sort_distinct<K: Key>(keys: &mut LargeVec<K>, scratch: &mut LargeVec<K>, widths: Widths) {
    sort::sort(keys, scratch, widths.total());
    sort::deduplicate(keys);
}

/// Turns a run's rows into packed rows of the base order.
struct Packer<'a> {
    predicates: &'a [u32],
    graphs: &'a [u32],
    shifts: [u32; 4],
}

impl<'a> Packer<'a> {
    fn new(predicates: &'a [u32], graphs: &'a [u32], widths: Widths) -> Self {
        let base = if widths.graph > 0 {
            Order::Spog
        } else {
            Order::Spo
        };
        let mut shifts = [0; 4];
        for (shift, field) in shifts.iter_mut().zip(fields(base, widths)) {
            *shift = field.shift;
        }
        Self {
            predicates,
            graphs,
            shifts,
        }
    }

    fn pack<K: Key, const N: usize>(&self, rows: &[[u32; N]], map: &[u32], keys: &mut LargeVec<K>) {
        let mut predicates = Places::new(self.predicates);
        let mut graphs = Places::new(self.graphs);
        keys.extend(rows.iter().map(|row| {
            let mut key = K::place(u64::from(map[row[0] as usize]), self.shifts[0])
                .or(K::place(predicates.find(row[1], map), self.shifts[1]))
                .or(K::place(u64::from(map[row[2] as usize]), self.shifts[2]));
            if N == 4 {
                key = key.or(K::place(graphs.find(row[N - 1], map), self.shifts[3]));
            }
            key
        }));
    }
}

/// Places in a sorted list of ranks. The terms asked for are few, or come again soon: their places are remembered by
/// the low bits of their numbers.
struct Places<'a> {
    list: &'a [u32],
    known: [(u32, u64); 256],
}

impl<'a> Places<'a> {
    fn new(list: &'a [u32]) -> Self {
        Self {
            list,
            known: [(u32::MAX, 0); 256],
        }
    }

    /// The place of a run's term.
    #[inline]
    fn find(&mut self, term: u32, map: &[u32]) -> u64 {
        let slot = &mut self.known[term as usize % 256];
        if slot.0 != term {
            let place = self.list.binary_search(&map[term as usize]);
            *slot = (
                term,
                place.expect("every predicate and graph is listed") as u64,
            );
        }
        slot.1
    }
}

/// Unpacks rows into columns of ids and gives them to the order's writer and to who counts them.
struct Encoder<'a, 'b> {
    build: &'a Build<'b>,
    order: Order,
    fields: Vec<Field>,
    columns: Vec<Vec<u64>>,
    /// Created with the first rows: an order without rows has no file.
    writer: Option<OrderWriter>,
    subjects: Option<SubjectObserver>,
    pairs: Option<PairObserver>,
}

impl<'a, 'b> Encoder<'a, 'b> {
    fn new(build: &'a Build<'b>, order: Order, widths: Widths) -> Self {
        let fields = fields(order, widths);
        let pairs = matches!(order, Order::Pso | Order::Pos | Order::Psog | Order::Posg);
        Self {
            build,
            order,
            columns: vec![Vec::with_capacity(PIECE_ROWS); fields.len()],
            fields,
            writer: None,
            subjects: (order == sort::base(order)).then(SubjectObserver::default),
            pairs: pairs.then(PairObserver::default),
        }
    }

    fn push<K: Key>(&mut self, rows: &[K]) -> Result<(), LoadError> {
        self.build.options.check_cancelled()?;
        for (column, field) in self.columns.iter_mut().zip(&self.fields) {
            let (shift, mask) = (field.shift, mask(field.bits));
            column.clear();
            column.extend(rows.iter().map(|row| row.get(shift, mask)));
            match field.position {
                Position::Subject | Position::Object => self.build.ranks.map(column),
                Position::Predicate => {}
                Position::Graph => {
                    for place in column {
                        *place = self.build.graph_ids[*place as usize].bits();
                    }
                }
            }
        }
        let mut columns = [&[][..]; 4];
        for (slice, column) in columns.iter_mut().zip(&self.columns) {
            *slice = column;
        }
        let columns = &columns[..self.fields.len()];
        if let Some(subjects) = &mut self.subjects {
            subjects.observe(columns);
        }
        if let Some(pairs) = &mut self.pairs {
            pairs.observe(columns);
        }
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => self
                .writer
                .insert(self.build.segment.order_writer(self.order, false)?),
        };
        Ok(writer.push(columns)?)
    }

    fn finish(self, built: &Mutex<Built>) -> Result<(), LoadError> {
        let Some(writer) = self.writer else {
            return Ok(());
        };
        let (unsynced, summary) = writer.finish()?;
        let bytes = unsynced.bytes();
        self.build.syncing.take(unsynced);
        self.build.segment.add(self.order, false, &summary);
        self.build.options.progress.add_order();
        self.build.peak.look();
        let mut built = built.lock().expect("no worker panics");
        if let Some(subjects) = self.subjects {
            built.quads = summary.rows;
            built.subjects = subjects;
        }
        if let Some(pairs) = self.pairs {
            match self.order {
                Order::Pso | Order::Psog => built.predicate_subjects = pairs,
                _ => built.predicate_objects = pairs,
            }
        }
        built.orders.push((summary, bytes));
        Ok(())
    }
}
