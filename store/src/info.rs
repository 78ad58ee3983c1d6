//! `StoreInfo`: what a store has and what it takes, for people and for programs (it serialises).

use crate::error::Result;
use crate::manifest::{OrderEntry, Ordinals};
use crate::quad::GraphSelector;
use crate::store::Store;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a store has, and the bytes that it takes by part.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StoreInfo {
    /// Which store this is.
    pub store: String,
    /// How often it was changed.
    pub generation: u64,
    /// Number of the last commit.
    pub commit: u64,
    /// Quads, in all graphs, explicit or inferred.
    pub quads: u64,
    /// Explicit quads, in all graphs.
    pub explicit_quads: u64,
    /// Inferred quads, in all graphs; some may be explicit as well if the inference is stale.
    pub inferred_quads: u64,
    /// What the inferred quads follow from.
    pub inference: Option<InferenceInfo>,
    /// Quads of the default graph.
    pub default_graph_quads: u64,
    /// Named graphs that have a quad.
    pub named_graphs: u64,
    /// Terms by kind.
    pub terms: TermCounts,
    /// Segments, oldest first.
    pub segments: Vec<SegmentInfo>,
    /// Files and bytes by part.
    pub files: FileSizes,
    /// Prefixes for output.
    pub prefixes: BTreeMap<String, String>,
}

/// What the last inference was.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct InferenceInfo {
    /// Name of the rules.
    pub profile: String,
    /// Number of the last commit that it took into account.
    pub commit: u64,
    /// Whether explicit quads changed since.
    pub stale: bool,
}

/// Numbers of terms. Values that stand in the ids themselves have no entry anywhere and are not
/// counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[expect(missing_docs, reason = "the names of the kinds")]
pub struct TermCounts {
    pub iris: u64,
    pub literals: u64,
    pub numeric_literals: u64,
    pub temporal_literals: u64,
    pub blank_nodes: u64,
    pub triple_terms: u64,
}

/// What one segment has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SegmentInfo {
    /// The directory.
    pub path: String,
    /// Inserted quads.
    pub quads: u64,
    /// Deleted quads of older segments.
    pub tombstones: u64,
    /// Different predicates.
    pub predicates: u64,
    /// Whether the quads were inferred.
    pub inferred: bool,
    /// Bytes of all its files.
    pub bytes: u64,
}

/// Files and bytes by part.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct FileSizes {
    /// The orders, by name, tombstones included.
    pub orders: BTreeMap<&'static str, Size>,
    /// The dictionaries.
    pub dictionaries: Size,
    /// The tables of triple terms.
    pub triple_tables: Size,
    /// Statistics and lists of predicates.
    pub statistics: Size,
    /// All of these.
    pub total: Size,
}

/// A number of files and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[expect(missing_docs, reason = "said above")]
pub struct Size {
    pub files: u64,
    pub bytes: u64,
}

impl Size {
    fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
    }
}

impl Store {
    /// What the store has, and the bytes that it takes by part. Milliseconds, but for one seek a
    /// named graph, and a scan if inference is stale.
    pub fn info(&self) -> Result<StoreInfo> {
        let (manifest, snapshot) = self.manifest_and_snapshot();
        let mut files = FileSizes::default();
        let mut total = Size::default();
        let mut terms = TermCounts {
            blank_nodes: manifest.next_blank,
            ..TermCounts::default()
        };
        for dictionary in &manifest.dictionaries {
            let Ordinals {
                iri,
                literal,
                numeric,
                temporal,
            } = dictionary.counts;
            terms.iris += iri;
            terms.literals += literal;
            terms.numeric_literals += numeric;
            terms.temporal_literals += temporal;
            files.dictionaries.add(dictionary.bytes);
            total.add(dictionary.bytes);
        }
        for table in &manifest.triple_tables {
            terms.triple_terms += table.count;
            files.triple_tables.add(table.bytes);
            total.add(table.bytes);
        }
        let mut segments = Vec::with_capacity(manifest.segments.len());
        for (entry, predicates) in manifest.segments.iter().zip(snapshot.segment_predicates()) {
            let before = total.bytes;
            for OrderEntry { order, bytes, .. } in
                entry.orders.iter().chain(&entry.tombstone_orders)
            {
                files.orders.entry(order.name()).or_default().add(*bytes);
                total.add(*bytes);
            }
            for file in [&entry.predicates, &entry.statistics] {
                files.statistics.add(file.bytes);
                total.add(file.bytes);
            }
            segments.push(SegmentInfo {
                path: entry.path.clone(),
                quads: entry.quads.default + entry.quads.named,
                tombstones: entry.tombstones.default + entry.tombstones.named,
                predicates,
                inferred: entry.inferred,
                bytes: total.bytes - before,
            });
        }
        files.total = total;
        Ok(StoreInfo {
            store: manifest.store.to_string(),
            generation: manifest.generation,
            commit: manifest.commit,
            quads: snapshot.len()?,
            explicit_quads: snapshot.explicit().len()?,
            inferred_quads: snapshot.inferred().len()?,
            inference: manifest.inference.as_ref().map(|inference| InferenceInfo {
                profile: inference.profile.clone(),
                commit: inference.commit,
                stale: inference.commit < manifest.commit,
            }),
            default_graph_quads: snapshot.graph_len(GraphSelector::Default)?,
            named_graphs: snapshot.named_graphs()?.len() as u64,
            terms,
            segments,
            files,
            prefixes: manifest.prefixes.clone(),
        })
    }
}
