//! `Segment`: a layer on disk, one set of inserted quads and one of tombstones, each in all their
//! orders.
//!
//! A segment is a directory of checked files that are written once:
//!
//! ```text
//! segments/00000007/predicates       the sorted list; the orders' predicate columns hold its ranks
//! segments/00000007/statistics       see crate::statistics
//! segments/00000007/spo ...          one file an order, see crate::index
//! segments/00000007/spo.deleted ...  the same for tombstones
//! ```
//!
//! The payload of `predicates` is the ids, `u64`, little-endian, strictly ascending.
//!
//! What always holds: an order without rows has no file; either all orders of the default graph
//! have the same number of rows or none exists, and so for the named graphs.

use crate::error::{Result, StoreError};
use crate::id::TermId;
use crate::index::{OrderFile, OrderSummary, OrderWriter};
use crate::io::Storage;
use crate::io::checked::{CheckedFile, CheckedWriter};
use crate::manifest::{FileEntry, GraphCounts, OrderEntry, SegmentEntry};
use crate::quad::Order;
use crate::statistics::{self, Statistics};
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The first bytes of a segment's list of predicates.
pub const PREDICATES_MAGIC: [u8; 8] = *b"QUADPRED";
/// The version of the list's format.
pub const PREDICATES_VERSION: u32 = 1;

/// Writes a segment. Shared by the threads that write its orders: each takes an [`OrderWriter`] of
/// its own.
#[derive(Debug)]
pub struct SegmentWriter {
    storage: Arc<dyn Storage>,
    path: String,
    predicates: Arc<[TermId]>,
    /// Of inserts and of tombstones.
    orders: Mutex<[Vec<OrderEntry>; 2]>,
}

impl SegmentWriter {
    /// A segment in a directory that does not exist yet. `predicates` are all that its quads and
    /// tombstones have.
    ///
    /// # Panics
    /// If the predicates are not strictly ascending.
    pub fn new(storage: Arc<dyn Storage>, path: &str, predicates: Vec<TermId>) -> Self {
        assert!(
            predicates.is_sorted_by(|a, b| a < b),
            "predicates are ascending"
        );
        Self {
            storage,
            path: path.to_owned(),
            predicates: predicates.into(),
            orders: Mutex::default(),
        }
    }

    /// The sorted predicates; a predicate's place is its rank.
    pub fn predicates(&self) -> &Arc<[TermId]> {
        &self.predicates
    }

    /// A writer of one order, independent of all others.
    pub fn order_writer(&self, order: Order, tombstones: bool) -> Result<OrderWriter> {
        let path = order_path(&self.path, order, tombstones);
        OrderWriter::create(&*self.storage, &path, order, Arc::clone(&self.predicates))
    }

    /// Says that the file of an order is complete and durable.
    ///
    /// # Panics
    /// If the order has no rows (then it has no file), or was added before.
    pub fn add(&self, order: Order, tombstones: bool, summary: &OrderSummary) {
        assert!(summary.rows > 0, "an order without rows has no file");
        let mut sides = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        let orders = &mut sides[usize::from(tombstones)];
        assert!(
            !orders.iter().any(|known| known.order == order),
            "an order is written once"
        );
        orders.push(OrderEntry {
            order,
            path: order_path(&self.path, order, tombstones),
            rows: summary.rows,
            // The summary's bytes are those of the payload; the file is measured when all are
            // there.
            bytes: 0,
        });
    }

    /// Writes the predicates and the statistics and makes the segment's directory durable. The
    /// entry's commit number is given when it is published.
    ///
    /// # Panics
    /// If orders are missing or have different numbers of rows.
    pub fn finish(self, statistics: &Statistics) -> Result<SegmentEntry> {
        let [mut orders, mut tombstone_orders] = self
            .orders
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        orders.sort_by_key(|known| known.order);
        tombstone_orders.sort_by_key(|known| known.order);
        let (quads, tombstones) = (rows_of(&orders), rows_of(&tombstone_orders));

        let storage = &*self.storage;
        for entry in orders.iter_mut().chain(&mut tombstone_orders) {
            entry.bytes = file_length(storage, &entry.path)?;
        }
        let path = predicates_path(&self.path);
        let mut list = CheckedWriter::create(storage, &path, PREDICATES_MAGIC, PREDICATES_VERSION)?;
        for predicate in &*self.predicates {
            list.write_all(&predicate.bits().to_le_bytes())?;
        }
        let bytes = list.finish()?.sync()?;
        let predicates = FileEntry { path, bytes };
        let path = statistics_path(&self.path);
        let bytes = statistics::file::write(storage, &path, statistics)?.sync()?;
        let statistics = FileEntry { path, bytes };
        storage.sync_directory(&self.path)?;
        Ok(SegmentEntry {
            path: self.path,
            commit: 0,
            quads,
            tombstones,
            predicates,
            orders,
            tombstone_orders,
            statistics,
            inferred: false,
        })
    }
}

/// How many rows the orders of the default graph and of the named graphs have.
fn rows_of(orders: &[OrderEntry]) -> GraphCounts {
    let rows = |graph_orders: &[Order]| {
        let rows = |order: &Order| {
            orders
                .iter()
                .find(|known| known.order == *order)
                .map_or(0, |known| known.rows)
        };
        let first = rows(&graph_orders[0]);
        for order in graph_orders {
            assert_eq!(rows(order), first, "{} has other quads", order.name());
        }
        first
    };
    GraphCounts {
        default: rows(&Order::DEFAULT_GRAPH),
        named: rows(&Order::NAMED_GRAPHS),
    }
}

/// An open segment.
#[derive(Debug)]
pub struct Segment {
    entry: SegmentEntry,
    predicates: Arc<[TermId]>,
    inserts: [Option<OrderFile>; 16],
    tombstones: [Option<OrderFile>; 16],
    statistics_file: CheckedFile,
    statistics: OnceLock<Arc<Statistics>>,
}

impl Segment {
    /// Opens a segment: its files' heads are read, and the list of predicates; milliseconds
    /// whatever the size.
    ///
    /// # Errors
    /// If a file is missing, damaged, or does not have the rows that the description says.
    pub fn open(storage: &dyn Storage, entry: SegmentEntry) -> Result<Self> {
        let predicates: Arc<[TermId]> = read_predicates(storage, &entry.predicates.path)?.into();
        let open_all = |orders: &[OrderEntry]| -> Result<[Option<OrderFile>; 16]> {
            let mut files = <[Option<OrderFile>; 16]>::default();
            for known in orders {
                let file =
                    OrderFile::open(storage, &known.path, known.order, Arc::clone(&predicates))?;
                if file.rows() != known.rows {
                    return Err(StoreError::Damaged {
                        path: storage.display(&known.path),
                        offset: 0,
                        reason: format!(
                            "{} rows where the manifest says {}",
                            file.rows(),
                            known.rows
                        ),
                    });
                }
                files[known.order as usize] = Some(file);
            }
            Ok(files)
        };
        Ok(Self {
            inserts: open_all(&entry.orders)?,
            tombstones: open_all(&entry.tombstone_orders)?,
            statistics_file: statistics::file::open(storage, &entry.statistics.path)?,
            statistics: OnceLock::new(),
            predicates,
            entry,
        })
    }

    /// What the manifest says of it.
    pub fn entry(&self) -> &SegmentEntry {
        &self.entry
    }

    /// The sorted predicates.
    pub fn predicates(&self) -> &Arc<[TermId]> {
        &self.predicates
    }

    /// The file of an order, if it has rows.
    pub fn order(&self, order: Order, tombstones: bool) -> Option<&OrderFile> {
        let side = if tombstones {
            &self.tombstones
        } else {
            &self.inserts
        };
        side[order as usize].as_ref()
    }

    /// Rows of an order.
    pub fn rows(&self, order: Order, tombstones: bool) -> u64 {
        self.order(order, tombstones).map_or(0, OrderFile::rows)
    }

    /// The statistics of the inserted quads; read when first asked for.
    pub fn statistics(&self) -> Result<Arc<Statistics>> {
        if let Some(statistics) = self.statistics.get() {
            return Ok(Arc::clone(statistics));
        }
        let read = Arc::new(statistics::file::read(&self.statistics_file)?);
        Ok(Arc::clone(self.statistics.get_or_init(|| read)))
    }
}

/// Reads the list of a segment's predicates.
pub(crate) fn read_predicates(storage: &dyn Storage, path: &str) -> Result<Vec<TermId>> {
    let list = CheckedFile::open(storage, path, PREDICATES_MAGIC, PREDICATES_VERSION)?;
    let (ids, rest) = list.bytes(0..list.len())?.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(list.damaged(list.len(), "not a list of ids"));
    }
    let ids: Vec<TermId> = ids
        .iter()
        .map(|id| TermId::from_bits(u64::from_le_bytes(*id)))
        .collect();
    match ids.windows(2).position(|pair| pair[0] >= pair[1]) {
        Some(place) => Err(list.damaged(place as u64 * 8, "predicates out of order")),
        None => Ok(ids),
    }
}

/// The length of a file that must be there.
pub(crate) fn file_length(storage: &dyn Storage, path: &str) -> Result<u64> {
    storage.length(path)?.ok_or_else(|| StoreError::Io {
        operation: "open",
        path: storage.display(path),
        source: io::ErrorKind::NotFound.into(),
    })
}

fn order_path(segment: &str, order: Order, tombstones: bool) -> String {
    let suffix = if tombstones { ".deleted" } else { "" };
    format!("{segment}/{}{suffix}", order.name())
}

fn predicates_path(segment: &str) -> String {
    format!("{segment}/predicates")
}

fn statistics_path(segment: &str) -> String {
    format!("{segment}/statistics")
}
