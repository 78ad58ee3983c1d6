//! The manifest: the one file that says which other files are the store.
//!
//! A store changes by writing new files beside the old ones and then replacing the manifest, so that a reader or
//! a crash sees the state before or the state after, and nothing between.
//!
//! # The file
//!
//! `manifest` is text: a line that guards the rest, then JSON.
//!
//! ```text
//! quadrille-manifest <version> <XXH3-64 of the rest, 16 hex digits> <length of the rest in bytes>\n
//! { "format": <version>, ... }\n
//! ```
//!
//! # The files that it names
//!
//! ```text
//! lock                    see crate::io::file
//! manifest                this one
//! manifest.new            the next one while it is written
//! segments/00000007/...   the files of a segment, see crate::segment
//! dictionaries/00000007   a dictionary
//! triples/00000007        a table of triple terms
//! logs/00000007           a log of commits
//! temporary/...           whatever a running load spills
//! ```
//!
//! What always holds:
//! * A manifest is replaced by writing `manifest.new`, syncing it, renaming it and syncing the directory.
//!   At any moment `manifest` is whole; that a new store has one is durable before it has any other file.
//! * What a manifest names is durable before the manifest is: [`Manifest::store`] is called last.
//! * Numbers of files, ordinals, blank nodes and so on only grow, and those that a manifest calls "next" are
//!   used by nothing that it names.
//! * Files that it does not name are leftovers of a crash if their names are of the shapes above (see
//!   [`remove_leftovers`]), and somebody else's if not.

mod check;
mod leftovers;
mod switch;

pub use leftovers::remove_leftovers;
pub use switch::{MANIFEST_BYTES_MAX, SwitchError};

use crate::error::{Result, StoreError};
use crate::id::Kind;
use crate::io::Storage;
use crate::quad::Order;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

/// The version of the manifest's format, and with it of the store's.
pub const FORMAT_VERSION: u32 = 1;

/// Name of the manifest.
pub const MANIFEST_FILE: &str = "manifest";
/// Name of the next manifest while it is written.
pub const NEW_MANIFEST_FILE: &str = "manifest.new";
/// The directory of segments.
pub const SEGMENTS: &str = "segments";
/// The directory of dictionaries.
pub const DICTIONARIES: &str = "dictionaries";
/// The directory of tables of triple terms.
pub const TRIPLE_TABLES: &str = "triples";
/// The directory of logs.
pub const LOGS: &str = "logs";
/// The directory of a load's temporary files; all of it is removed at the next writable open.
pub const TEMPORARY: &str = "temporary";

/// No more prefixes are remembered.
pub const PREFIXES_MAX: usize = 1_000;
/// Longer prefixes are not remembered, in bytes.
pub const PREFIX_BYTES_MAX: usize = 200;
/// Prefixes of longer IRIs are not remembered, in bytes.
pub const PREFIX_IRI_BYTES_MAX: usize = 2_000;

/// The directory of the segment with this file number.
pub fn segment_path(number: u64) -> String {
    format!("{SEGMENTS}/{number:08}")
}

/// The dictionary with this file number.
pub fn dictionary_path(number: u64) -> String {
    format!("{DICTIONARIES}/{number:08}")
}

/// The table of triple terms with this file number.
pub fn triple_table_path(number: u64) -> String {
    format!("{TRIPLE_TABLES}/{number:08}")
}

/// The log with this file number.
pub fn log_path(number: u64) -> String {
    format!("{LOGS}/{number:08}")
}

/// The files and counters of a store at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`FORMAT_VERSION`], once more in the guarded part.
    format: u32,
    /// Which store this is; made once.
    pub store: StoreId,
    /// How many manifests there were before this one.
    pub generation: u64,
    /// Number of the last commit whose quads are in the segments. Inferred quads are no commit.
    pub commit: u64,
    /// The next number of a file or segment.
    pub next_file_number: u64,
    /// The next ordinals of terms in dictionaries.
    pub next_ordinals: Ordinals,
    /// The next number of a blank node.
    pub next_blank: u64,
    /// The next ordinal of a triple term.
    pub next_triple: u64,
    /// The next number of a loaded document.
    pub next_document: u64,
    /// The dictionaries.
    pub dictionaries: Vec<DictionaryEntry>,
    /// The tables of triple terms.
    pub triple_tables: Vec<TripleTableEntry>,
    /// The segments, oldest first.
    pub segments: Vec<SegmentEntry>,
    /// The logs of commits that are in no segment yet, oldest first.
    pub logs: Vec<LogEntry>,
    /// Prefixes that loaded documents declared, for showing IRIs; see [`Manifest::remember_prefix`].
    pub prefixes: BTreeMap<String, String>,
    /// What the last inference was, unless its quads were dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inference: Option<InferenceEntry>,
}

/// An inference: what the inferred segments follow from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InferenceEntry {
    /// Name of the rules, for people.
    pub profile: String,
    /// A hash of everything that chose the rules: only with the same one may a later inference
    /// build on the quads of this one.
    pub rules: u64,
    /// Number of the last commit of explicit quads that it took into account. It is stale if
    /// [`Manifest::commit`] is above.
    pub commit: u64,
}

/// A dictionary: one file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DictionaryEntry {
    /// The file.
    pub path: String,
    /// Whether ordinals follow term order.
    pub ordered: bool,
    /// The first ordinal of each kind.
    pub first_ordinals: Ordinals,
    /// How many terms of each kind it has.
    pub counts: Ordinals,
    /// Length of the file.
    pub bytes: u64,
}

/// A table of triple terms: one file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TripleTableEntry {
    /// The file.
    pub path: String,
    /// The first ordinal.
    pub first: u64,
    /// How many triple terms it has.
    pub count: u64,
    /// Length of the file.
    pub bytes: u64,
}

/// A segment: a directory of files.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SegmentEntry {
    /// The directory.
    pub path: String,
    /// Number of the last commit whose quads it has, or, where these are inferred, reflects.
    pub commit: u64,
    /// How many quads it inserts.
    pub quads: GraphCounts,
    /// How many quads of older layers it hides.
    pub tombstones: GraphCounts,
    /// The sorted list of predicates.
    pub predicates: FileEntry,
    /// The orders of the inserted quads; those without rows are left out.
    pub orders: Vec<OrderEntry>,
    /// The orders of the tombstones; those without rows are left out.
    pub tombstone_orders: Vec<OrderEntry>,
    /// The statistics.
    pub statistics: FileEntry,
    /// Whether its quads were inferred. Explicit and inferred quads are two sets, see
    /// [`crate::snapshot`].
    pub inferred: bool,
}

/// An order of a segment's quads: one file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderEntry {
    /// Which order.
    #[serde(with = "order_name")]
    pub order: Order,
    /// The file.
    pub path: String,
    /// How many rows it has.
    pub rows: u64,
    /// Length of the file.
    pub bytes: u64,
}

/// A file of which nothing more is to be said.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// The file.
    pub path: String,
    /// Its length.
    pub bytes: u64,
}

/// A log: one file, which grows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogEntry {
    /// The file.
    pub path: String,
    /// Number of the first commit in it.
    pub first_commit: u64,
}

/// A number for the default graph and one for all named graphs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphCounts {
    /// For the default graph.
    pub default: u64,
    /// For the named graphs.
    pub named: u64,
}

/// A number for each kind of term that stands in dictionaries.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ordinals {
    /// For [`Kind::Iri`].
    pub iri: u64,
    /// For [`Kind::Literal`].
    pub literal: u64,
    /// For [`Kind::NumericLiteral`].
    pub numeric: u64,
    /// For [`Kind::TemporalLiteral`].
    pub temporal: u64,
}

impl Ordinals {
    /// From numbers in the sequence of [`Kind::VOCABULARY`].
    pub fn from_array([iri, literal, numeric, temporal]: [u64; 4]) -> Self {
        Self {
            iri,
            literal,
            numeric,
            temporal,
        }
    }

    /// The numbers in the sequence of [`Kind::VOCABULARY`].
    pub fn to_array(self) -> [u64; 4] {
        [self.iri, self.literal, self.numeric, self.temporal]
    }

    /// The number of one kind.
    ///
    /// # Panics
    /// If terms of the kind do not stand in dictionaries.
    pub fn get(self, kind: Kind) -> u64 {
        let place = Kind::VOCABULARY.iter().position(|known| *known == kind);
        self.to_array()[place.expect("a vocabulary kind")]
    }
}

impl Manifest {
    /// The manifest of a new, empty store.
    pub fn new() -> Self {
        Self {
            format: FORMAT_VERSION,
            store: StoreId::random(),
            generation: 0,
            commit: 0,
            next_file_number: 1,
            next_ordinals: Ordinals::default(),
            next_blank: 0,
            next_triple: 0,
            next_document: 0,
            dictionaries: Vec::new(),
            triple_tables: Vec::new(),
            segments: Vec::new(),
            logs: Vec::new(),
            prefixes: BTreeMap::new(),
            inference: None,
        }
    }

    /// A copy for the next switch: the same with the next generation.
    pub fn successor(&self) -> Self {
        Self {
            generation: self.generation + 1,
            ..self.clone()
        }
    }

    /// Remembers a prefix, if there is room for it; an older meaning of the same prefix stays.
    /// Returns whether the prefix stands for the IRI now.
    pub fn remember_prefix(&mut self, prefix: &str, iri: &str) -> bool {
        if let Some(known) = self.prefixes.get(prefix) {
            return known == iri;
        }
        let fits = self.prefixes.len() < PREFIXES_MAX
            && prefix.len() <= PREFIX_BYTES_MAX
            && iri.len() <= PREFIX_IRI_BYTES_MAX;
        if fits {
            self.prefixes.insert(prefix.to_owned(), iri.to_owned());
        }
        fits
    }

    /// Every file that the store consists of, the manifest and the lock excepted.
    pub fn live_files(&self) -> BTreeSet<&str> {
        self.files().map(|(path, _)| path).collect()
    }

    /// Compares the lengths of the files with what the manifest says: finds missing and truncated files
    /// without reading any.
    pub fn check_files(&self, storage: &dyn Storage) -> Result<()> {
        for (path, expected) in self.files() {
            let found = storage.length(path)?;
            let reason = match (found, expected) {
                (None, _) => "the manifest names it, but there is no such file".to_owned(),
                (Some(found), Some(expected)) if found != expected => {
                    format!("has {found} bytes, the manifest says {expected}")
                }
                _ => continue,
            };
            return Err(StoreError::Damaged {
                path: storage.display(path),
                offset: found.unwrap_or(0),
                reason,
            });
        }
        Ok(())
    }

    /// Refuses a store that has logs: the format knows them, but this program does not replay them,
    /// and without their commits answers would be wrong.
    pub(crate) fn refuse_logs(&self, storage: &dyn Storage) -> Result<()> {
        self.logs.first().map_or(Ok(()), |log| {
            Err(StoreError::NotAStore {
                path: storage.display(&log.path),
                reason: "a log of commits, which this program does not read".to_owned(),
            })
        })
    }

    /// The files with their lengths, where these are fixed.
    fn files(&self) -> impl Iterator<Item = (&str, Option<u64>)> {
        let dictionaries = self.dictionaries.iter().map(|d| (&d.path, Some(d.bytes)));
        let tables = self.triple_tables.iter().map(|t| (&t.path, Some(t.bytes)));
        let segments = self.segments.iter().flat_map(|segment| {
            let single = [&segment.predicates, &segment.statistics];
            let orders = segment.orders.iter().chain(&segment.tombstone_orders);
            let orders = orders.map(|o| (&o.path, Some(o.bytes)));
            single
                .into_iter()
                .map(|f| (&f.path, Some(f.bytes)))
                .chain(orders)
        });
        let logs = self.logs.iter().map(|log| (&log.path, None));
        let all = dictionaries.chain(tables).chain(segments).chain(logs);
        all.map(|(path, bytes)| (path.as_str(), bytes))
    }
}

impl Default for Manifest {
    fn default() -> Self {
        Self::new()
    }
}

/// Which store a directory holds: 128 random bits, shown as 32 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StoreId(u128);

impl StoreId {
    /// An id that no other store has.
    fn random() -> Self {
        // The standard library seeds these from the operating system; the time and the process are
        // there for systems whose seed is weak.
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let half = || u128::from(RandomState::new().hash_one((since, std::process::id())));
        Self(half() << 64 | half())
    }
}

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreId({self})")
    }
}

impl Serialize for StoreId {
    fn serialize<S: serde::Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StoreId {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        let number = u128::from_str_radix(&text, 16).ok().map(Self);
        // Only the one way of writing it, without signs or capitals.
        let id = number.filter(|id| id.to_string() == text);
        id.ok_or_else(|| serde::de::Error::custom("a store id is 32 hex digits"))
    }
}

/// Orders by their names.
mod order_name {
    use crate::quad::Order;
    use serde::{Deserialize, Deserializer, Serializer, de};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
    pub fn serialize<S: Serializer>(order: &Order, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(order.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Order, D::Error> {
        let name = String::deserialize(d)?;
        let mut all = Order::DEFAULT_GRAPH.into_iter().chain(Order::NAMED_GRAPHS);
        all.find(|order| order.name() == name)
            .ok_or_else(|| de::Error::custom(format!("there is no order {name:?}")))
    }
}

#[cfg(test)]
mod tests;
