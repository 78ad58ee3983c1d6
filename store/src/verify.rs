//! `verify`: whether a store is what was written, and whether it makes sense.
//!
//! It reads every byte of every live file: checksums, the order of rows and terms, directories;
//! that all orders of a segment hold the same quads; that each id in a quad stands for a term that
//! may stand there; that each layer inserts only what the older ones do not show and deletes only
//! what they do (explicit and inferred quads are two sets, see [`crate::snapshot`]); that the statistics are those of the quads. Files are opened anew, so that nothing
//! counts as checked because it was checked before.
//!
//! What always holds: it does not stop at the first problem, and it changes nothing.

use crate::dictionary::Dictionary;
use crate::error::{Result, StoreError};
use crate::id::{Kind, TermId};
use crate::index::{ColumnMask, Columns, Cursor, OrderFile};
use crate::inline;
use crate::io::Storage;
use crate::io::checked::CheckedFile;
use crate::manifest::{Manifest, OrderEntry, SegmentEntry};
use crate::merge::{MergeSource, Scan};
use crate::quad::{Order, Position, Quad};
use crate::segment;
use crate::statistics::{self, GraphStatistics, PairObserver, SubjectObserver};
use crate::store::Store;
use crate::triple_table::TripleTable;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Rows that are looked at at a time.
const CHUNK_ROWS: usize = 4096;
/// Wrong references that are reported for one order; a damaged dictionary would otherwise give
/// millions.
const REFERENCES_MAX: usize = 10;

/// What [`verify`] found.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Report {
    /// Everything that is wrong; empty for a sound store.
    pub problems: Vec<Problem>,
    /// Files that were read.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Inserted quads and tombstones of all segments, each counted once.
    pub quads: u64,
    /// Terms in dictionaries and tables.
    pub terms: u64,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    fn note(&mut self, error: StoreError) {
        self.problems.push(match error {
            StoreError::Damaged {
                path,
                offset,
                reason,
            } => Problem {
                path,
                offset: Some(offset),
                reason,
            },
            StoreError::Io {
                operation,
                path,
                source,
            } => Problem {
                path,
                offset: None,
                reason: format!("{operation}: {source}"),
            },
            StoreError::Version {
                path,
                found,
                expected,
            } => Problem {
                path,
                offset: None,
                reason: format!("format version {found}, expected {expected}"),
            },
            StoreError::NotAStore { path, reason } => Problem {
                path,
                offset: None,
                reason,
            },
            other => Problem {
                path: PathBuf::new(),
                offset: None,
                reason: other.to_string(),
            },
        });
    }

    /// Gives what was read, or notes why it could not be.
    fn try_or_note<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.note(error)).ok()
    }
}

/// Something that is wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Problem {
    /// The file.
    pub path: PathBuf,
    /// Where in the file, in bytes from its start, where that is known.
    pub offset: Option<u64>,
    /// What does not hold.
    pub reason: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: ", self.path.display())?;
        if let Some(offset) = self.offset {
            write!(f, "at byte {offset}: ")?;
        }
        f.write_str(&self.reason)
    }
}

impl Store {
    /// Checks the whole store, see [`verify`].
    pub fn verify(&self) -> Report {
        verify(&**self.storage())
    }
}

/// Checks the store in a storage, whether or not it can be opened.
pub fn verify(storage: &dyn Storage) -> Report {
    let mut report = Report::default();
    let manifest = match Manifest::load(storage) {
        Ok(Some(manifest)) => manifest,
        Ok(None) => {
            report.note(StoreError::NotAStore {
                path: storage.display(""),
                reason: "there is no store here".to_owned(),
            });
            return report;
        }
        Err(error) => {
            report.note(error);
            return report;
        }
    };
    report.files += 1;
    for path in manifest.live_files() {
        if let Ok(Some(bytes)) = storage.length(path) {
            report.files += 1;
            report.bytes += bytes;
        }
    }
    report.try_or_note(manifest.check_files(storage));
    report.try_or_note(manifest.refuse_logs(storage));
    let references = References::open(storage, &manifest, &mut report);
    let mut segments: Vec<OpenSegment> = Vec::new();
    for entry in &manifest.segments {
        if let Some(segment) = OpenSegment::check(storage, entry, &references, &mut report) {
            segment.check_against(&segments, storage, &mut report);
            segments.push(segment);
        }
    }
    report
}

/// What ids may refer to.
struct References {
    dictionaries: Vec<Dictionary>,
    triple_tables: Vec<TripleTable>,
    next_blank: u64,
}

impl References {
    /// Opens and checks the dictionaries and the tables of triple terms.
    fn open(storage: &dyn Storage, manifest: &Manifest, report: &mut Report) -> Self {
        let mut references = Self {
            dictionaries: Vec::new(),
            triple_tables: Vec::new(),
            next_blank: manifest.next_blank,
        };
        for entry in &manifest.dictionaries {
            let Some(dictionary) = report.try_or_note(Dictionary::open(storage, &entry.path))
            else {
                continue;
            };
            report.try_or_note(dictionary.verify());
            for kind in Kind::VOCABULARY {
                let (first, count) = (dictionary.first(kind), dictionary.count(kind));
                report.terms += count;
                let expected = (entry.first_ordinals.get(kind), entry.counts.get(kind));
                if count != expected.1 || (count > 0 && first != expected.0) {
                    report.note(StoreError::Damaged {
                        path: storage.display(&entry.path),
                        offset: 0,
                        reason: format!(
                            "{count} {kind:?} terms from {first}, the manifest says {} from {}",
                            expected.1, expected.0
                        ),
                    });
                }
            }
            references.dictionaries.push(dictionary);
        }
        for entry in &manifest.triple_tables {
            let Some(table) = report.try_or_note(TripleTable::open(storage, &entry.path)) else {
                continue;
            };
            report.terms += table.rows();
            if (table.first(), table.rows()) != (entry.first, entry.count) {
                let reason = "other ordinals than the manifest says";
                report.note(table.file().damaged(0, reason));
            }
            // A row may refer to earlier rows of its own table.
            references.triple_tables.push(table.clone());
            let mut wrong = Vec::new();
            let checked = table.verify(&mut |offset, [subject, predicate, object]| {
                let quad = Quad {
                    subject,
                    predicate,
                    object,
                    graph: TermId::DEFAULT_GRAPH,
                };
                if let Some(reason) = references.refusal(&quad)
                    && wrong.len() < REFERENCES_MAX
                {
                    wrong.push((offset, reason));
                }
            });
            report.try_or_note(checked);
            for (offset, reason) in wrong {
                report.note(table.file().damaged(offset, reason));
            }
        }
        references
    }

    /// Why a quad cannot be, if so.
    fn refusal(&self, quad: &Quad) -> Option<String> {
        use Position::{Graph, Object, Predicate, Subject};
        for position in [Subject, Predicate, Object, Graph] {
            let id = quad.get(position);
            if position == Graph && id == TermId::DEFAULT_GRAPH {
                continue;
            }
            let may_be = match (position, id.kind()) {
                (_, Some(Kind::Iri)) | (Subject | Graph, Some(Kind::Blank)) => true,
                (Object, Some(kind)) => kind != Kind::Unbound,
                _ => false,
            };
            if !may_be {
                return Some(format!("{id:?} cannot be a {position:?}"));
            }
            if !self.has(id) {
                return Some(format!("{id:?} ({position:?}) stands for no term"));
            }
        }
        None
    }

    fn has(&self, id: TermId) -> bool {
        match id.kind() {
            Some(Kind::Blank) => id.payload() < self.next_blank,
            Some(Kind::Triple) => self.triple_tables.iter().any(|table| table.contains(id)),
            Some(kind) if kind.is_vocabulary() => self
                .dictionaries
                .iter()
                .any(|dictionary| dictionary.contains(id)),
            Some(_) => inline::value(id).is_some(),
            None => false,
        }
    }
}

/// The order files of a segment, as far as they can be read.
struct OpenSegment {
    path: String,
    inferred: bool,
    /// Inserts and tombstones, by order.
    sides: [[Option<OrderFile>; 16]; 2],
}

impl OpenSegment {
    fn check(
        storage: &dyn Storage,
        entry: &SegmentEntry,
        references: &References,
        report: &mut Report,
    ) -> Option<Self> {
        let list = CheckedFile::open(
            storage,
            &entry.predicates.path,
            segment::PREDICATES_MAGIC,
            segment::PREDICATES_VERSION,
        );
        if let Some(list) = report.try_or_note(list) {
            report.try_or_note(list.verify());
        }
        let counted = check_statistics_file(storage, entry, report);
        // Without the predicates no order can be read.
        let predicates = segment::read_predicates(storage, &entry.predicates.path);
        let predicates: Arc<[TermId]> = report.try_or_note(predicates)?.into();
        let mut sides = <[[Option<OrderFile>; 16]; 2]>::default();
        for (tombstones, orders) in [(false, &entry.orders), (true, &entry.tombstone_orders)] {
            for default_graph in [true, false] {
                let mut walk = Walk::new(storage, references, report);
                for order in orders
                    .iter()
                    .filter(|o| o.order.is_default_graph() == default_graph)
                {
                    let file = walk.order(order, &predicates);
                    sides[usize::from(tombstones)][order.order as usize] = file;
                }
                // Orders that hold different quads were reported.
                let Some(Ok(counts)) = walk.finish(&predicates, tombstones) else {
                    continue;
                };
                let Some(counted) = &counted else {
                    continue;
                };
                let expected = if default_graph {
                    &counted.default_graph
                } else {
                    &counted.named_graphs
                };
                if counts != *expected {
                    report.note(StoreError::Damaged {
                        path: storage.display(&entry.statistics.path),
                        offset: 0,
                        reason: format!(
                            "not the statistics of the segment's quads ({})",
                            if default_graph {
                                "default graph"
                            } else {
                                "named graphs"
                            }
                        ),
                    });
                }
            }
        }
        Some(Self {
            path: entry.path.clone(),
            inferred: entry.inferred,
            sides,
        })
    }

    /// Checks that this segment inserts only what the older ones do not show, and deletes only what
    /// they do; of which of the two sets, [`crate::snapshot`] says.
    fn check_against(&self, older: &[Self], storage: &dyn Storage, report: &mut Report) {
        for order in [Order::Spo, Order::Gspo] {
            for tombstones in [false, true] {
                let Some(file) = &self.sides[usize::from(tombstones)][order as usize] else {
                    continue;
                };
                let set = |segment: &&Self| {
                    segment.inferred == self.inferred || (self.inferred && !tombstones)
                };
                let older = older.iter().filter(set);
                match first_contradiction(file, tombstones, older, order) {
                    Ok(None) => {}
                    Ok(Some(quad)) => report.note(StoreError::Damaged {
                        path: storage.display(&self.path),
                        offset: 0,
                        reason: if tombstones {
                            format!("deletes {quad:?}, which older segments do not have")
                        } else {
                            format!("inserts {quad:?}, which older segments have")
                        },
                    }),
                    Err(error) => report.note(error),
                }
            }
        }
    }
}

/// The first row of a layer's order that older layers already show (or, for tombstones, do not
/// show).
fn first_contradiction<'a>(
    file: &OrderFile,
    tombstones: bool,
    older: impl Iterator<Item = &'a OpenSegment>,
    order: Order,
) -> Result<Option<Quad>> {
    let width = order.columns().len();
    let mut sources = Vec::new();
    for segment in older {
        for tombstones in [false, true] {
            if let Some(file) = &segment.sides[usize::from(tombstones)][order as usize] {
                sources.push(MergeSource {
                    cursor: Box::new(file.cursor(&[])?),
                    tombstones,
                    inferred: segment.inferred,
                });
            }
        }
    }
    let mut shown = Scan::merge(sources, 0, width, ColumnMask::ALL);
    let mut head = Columns::default();
    let mut rows = Columns::default();
    let mut cursor = file.cursor(&[])?;
    while cursor.fill(&mut rows, CHUNK_ROWS)? > 0 {
        for index in 0..rows.len() {
            let row = row_of(&rows, index);
            let key = &row[..width];
            if head.is_empty() || row_of(&head, 0)[..width] < *key {
                head.clear();
                shown.seek(key)?;
                shown.fill(&mut head, 1)?;
            }
            let is_shown = !head.is_empty() && row_of(&head, 0)[..width] == *key;
            if is_shown != tombstones {
                return Ok(Some(order.quad(key)));
            }
        }
        rows.clear();
    }
    Ok(None)
}

fn row_of(rows: &Columns, index: usize) -> [TermId; 4] {
    let mut row = [TermId::UNBOUND; 4];
    for (value, column) in row.iter_mut().zip(&rows.columns) {
        *value = column[index];
    }
    row
}

fn check_statistics_file(
    storage: &dyn Storage,
    entry: &SegmentEntry,
    report: &mut Report,
) -> Option<statistics::Statistics> {
    let file = report.try_or_note(statistics::file::open(storage, &entry.statistics.path))?;
    report.try_or_note(file.verify())?;
    report.try_or_note(statistics::file::read(&file))
}

/// Reads the orders of one set of quads and compares them.
struct Walk<'a> {
    storage: &'a dyn Storage,
    references: &'a References,
    report: &'a mut Report,
    /// The first order that was read: its name, rows, and the sum of its quads' hashes.
    first: Option<(Order, u64, u64)>,
    spo: SubjectObserver,
    pso: PairObserver,
    pos: PairObserver,
    /// Whether all orders that the statistics come from were read.
    complete: bool,
}

impl<'a> Walk<'a> {
    fn new(storage: &'a dyn Storage, references: &'a References, report: &'a mut Report) -> Self {
        Self {
            storage,
            references,
            report,
            first: None,
            spo: SubjectObserver::default(),
            pso: PairObserver::default(),
            pos: PairObserver::default(),
            complete: true,
        }
    }

    /// Checks one order; gives its file if it can be read.
    fn order(&mut self, entry: &OrderEntry, predicates: &Arc<[TermId]>) -> Option<OrderFile> {
        match self.read(entry, predicates) {
            Ok(file) => Some(file),
            Err(error) => {
                self.complete = false;
                self.report.note(error);
                None
            }
        }
    }

    fn read(&mut self, entry: &OrderEntry, predicates: &Arc<[TermId]>) -> Result<OrderFile> {
        let order = entry.order;
        let file = OrderFile::open(self.storage, &entry.path, order, Arc::clone(predicates))?;
        file.verify()?;
        let damaged = |reason: String| StoreError::Damaged {
            path: self.storage.display(&entry.path),
            offset: 0,
            reason,
        };
        let (mut count, mut sum, mut wrong) = (0_u64, 0_u64, 0);
        let mut rows = Columns::default();
        let mut cursor = file.cursor(&[])?;
        while cursor.fill(&mut rows, CHUNK_ROWS)? > 0 {
            for index in 0..rows.len() {
                let quad = order.quad(&row_of(&rows, index)[..order.columns().len()]);
                count += 1;
                sum = sum.wrapping_add(hash(&quad));
                // The other orders hold the same quads, or are reported for it.
                if matches!(order, Order::Spo | Order::Gspo)
                    && wrong < REFERENCES_MAX
                    && let Some(reason) = self.references.refusal(&quad)
                {
                    wrong += 1;
                    self.report
                        .note(damaged(format!("row {}: {reason}", count - 1)));
                }
            }
            self.observe(order, &rows, predicates);
            rows.clear();
        }
        if count != entry.rows {
            return Err(damaged(format!(
                "{count} rows where the manifest says {}",
                entry.rows
            )));
        }
        match self.first {
            None => {
                self.report.quads += count;
                self.first = Some((order, count, sum));
            }
            Some((first, rows, expected)) if (rows, expected) != (count, sum) => {
                let name = first.name();
                self.report
                    .note(damaged(format!("holds other quads than the order {name}")));
            }
            Some(_) => {}
        }
        Ok(file)
    }

    fn observe(&mut self, order: Order, rows: &Columns, predicates: &[TermId]) {
        let ranks_at = order.column_of(Position::Predicate);
        let counted = [
            Order::Spo,
            Order::Spog,
            Order::Pso,
            Order::Psog,
            Order::Pos,
            Order::Posg,
        ];
        if !counted.contains(&order) {
            return;
        }
        let columns: Vec<Vec<u64>> = rows
            .columns
            .iter()
            .enumerate()
            .map(|(place, column)| {
                let rank = |id: &TermId| {
                    let rank = predicates.binary_search(id);
                    rank.expect("a cursor gives only listed predicates") as u64
                };
                if Some(place) == ranks_at {
                    column.iter().map(rank).collect()
                } else {
                    column.iter().map(|id| id.bits()).collect()
                }
            })
            .collect();
        let columns: Vec<&[u64]> = columns.iter().map(Vec::as_slice).collect();
        match order {
            Order::Spo | Order::Spog => self.spo.observe(&columns),
            Order::Pso | Order::Psog => self.pso.observe(&columns),
            _ => self.pos.observe(&columns),
        }
    }

    /// The statistics of the rows; `None` if an order could not be read, and for tombstones, which
    /// have none.
    fn finish(
        self,
        predicates: &[TermId],
        tombstones: bool,
    ) -> Option<std::result::Result<GraphStatistics, &'static str>> {
        (self.complete && !tombstones)
            .then(|| GraphStatistics::try_from_observers(predicates, self.spo, self.pso, self.pos))
    }
}

fn hash(quad: &Quad) -> u64 {
    let parts = [quad.subject, quad.predicate, quad.object, quad.graph];
    xxh3_64(bytemuck::cast_slice(&parts))
}
