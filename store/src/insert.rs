//! The plain way into a store: quads that lie in memory become a segment, in one thread and with
//! nothing clever.
//!
//! It is for a program that embeds a store and has a few quads at hand, and it is the twin that the
//! parallel bulk loader is compared with. Memory: a few hundred bytes a quad.
//!
//! What always holds: afterwards either all quads are in the store, or none of those that were not
//! there before. Blank node labels mean what they mean within one call: two calls never name the
//! same node.

use crate::dictionary::{DictionaryWriter, SectionBuilder};
use crate::error::{Result, StoreError};
use crate::id::{Kind, PAYLOAD_MAX, TermId};
use crate::io::Storage;
use crate::manifest::SegmentEntry;
use crate::quad::{Order, Quad};
use crate::segment::SegmentWriter;
use crate::snapshot::Snapshot;
use crate::snapshot::terms::{LiteralId, TRIPLE_DEPTH_MAX};
use crate::statistics::{GraphStatistics, PairObserver, Statistics, SubjectObserver};
use crate::store::{NewSegment, SegmentReservation, Store};
use crate::term::TermKey;
use crate::triple_table::TripleTableWriter;
use hashbrown::HashMap;
use oxrdf::{GraphName, NamedOrBlankNode, Term, Triple};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Rows that are handed to a writer of an order at a time.
const CHUNK_ROWS: usize = 4096;

impl Store {
    /// Inserts quads as one new segment; returns how many were not in the store before.
    pub fn insert_quads(&self, quads: impl IntoIterator<Item = oxrdf::Quad>) -> Result<u64> {
        let reservation = self.begin_segment()?;
        let snapshot = self.snapshot().explicit();
        let quads: Vec<oxrdf::Quad> = quads.into_iter().collect();
        let mut naming = Naming::new(&snapshot, &reservation);
        for quad in &quads {
            naming.meet_quad(quad)?;
        }
        naming.number()?;
        let mut inserts = BTreeSet::new();
        for quad in &quads {
            let quad = naming.quad(quad)?;
            if !snapshot.contains(&quad)? {
                inserts.insert(quad);
            }
        }
        if inserts.is_empty() {
            return Ok(0);
        }
        let inserts: Vec<Quad> = inserts.into_iter().collect();
        let new = naming.finish(self.storage(), &inserts)?;
        self.publish(reservation, new)?;
        Ok(inserts.len() as u64)
    }
}

/// Gives terms that are to appear in a new segment their ids: those that they have, or new ones, which
/// are written into the reservation's files, durably. What comes back has no segment yet.
///
/// Two equal blank nodes of one call are one new node.
pub fn name_terms(
    snapshot: &Snapshot,
    reservation: &SegmentReservation,
    storage: &Arc<dyn Storage>,
    terms: &[Term],
) -> Result<(Vec<TermId>, NewSegment)> {
    let mut naming = Naming::new(snapshot, reservation);
    for term in terms {
        naming.meet_term(term, 0)?;
    }
    naming.number()?;
    let ids = terms.iter().map(|term| naming.term(term));
    let ids = ids.collect::<Result<_>>()?;
    let (dictionary, triple_table) = naming.write_terms(storage)?;
    let new = NewSegment {
        dictionary,
        triple_table,
        blank_nodes: naming.blanks.len() as u64,
        ..NewSegment::default()
    };
    Ok((ids, new))
}

/// Gives the terms of one call their ids.
struct Naming<'a> {
    snapshot: &'a Snapshot,
    reservation: &'a SegmentReservation,
    /// New terms of vocabulary kinds in term order: kind, lexical form, annotation; and the ids
    /// they get.
    new: BTreeMap<(Kind, Vec<u8>, Vec<u8>), TermId>,
    blanks: HashMap<String, TermId>,
    triples: HashMap<[TermId; 3], TermId>,
    table: TripleTableWriter,
}

impl<'a> Naming<'a> {
    fn new(snapshot: &'a Snapshot, reservation: &'a SegmentReservation) -> Self {
        Self {
            snapshot,
            reservation,
            new: BTreeMap::new(),
            blanks: HashMap::new(),
            triples: HashMap::new(),
            table: TripleTableWriter::new(reservation.first_triple),
        }
    }

    fn meet_quad(&mut self, quad: &oxrdf::Quad) -> Result<()> {
        self.meet_subject(&quad.subject)?;
        self.meet_key(Kind::Iri, quad.predicate.as_str(), Vec::new())?;
        self.meet_term(&quad.object, 0)?;
        match &quad.graph_name {
            GraphName::NamedNode(node) => self.meet_key(Kind::Iri, node.as_str(), Vec::new()),
            GraphName::BlankNode(_) | GraphName::DefaultGraph => Ok(()),
        }
    }

    fn meet_subject(&mut self, subject: &NamedOrBlankNode) -> Result<()> {
        match subject {
            NamedOrBlankNode::NamedNode(node) => {
                self.meet_key(Kind::Iri, node.as_str(), Vec::new())
            }
            NamedOrBlankNode::BlankNode(_) => Ok(()),
        }
    }

    fn meet_term(&mut self, term: &Term, depth: usize) -> Result<()> {
        match term {
            Term::NamedNode(node) => self.meet_key(Kind::Iri, node.as_str(), Vec::new()),
            Term::BlankNode(_) => Ok(()),
            Term::Literal(literal) => match LiteralId::of(literal.as_ref()) {
                LiteralId::Inline(_) => Ok(()),
                LiteralId::Vocabulary(kind, annotation) => {
                    self.meet_key(kind, literal.value(), annotation)
                }
            },
            Term::Triple(triple) => {
                if depth == TRIPLE_DEPTH_MAX {
                    return Err(StoreError::Limit {
                        what: "triple terms nested too deeply".to_owned(),
                        limit: TRIPLE_DEPTH_MAX as u64,
                    });
                }
                self.meet_subject(&triple.subject)?;
                self.meet_key(Kind::Iri, triple.predicate.as_str(), Vec::new())?;
                self.meet_term(&triple.object, depth + 1)
            }
        }
    }

    fn meet_key(&mut self, kind: Kind, lexical: &str, annotation: Vec<u8>) -> Result<()> {
        let key = TermKey {
            kind,
            lexical: lexical.as_bytes(),
            annotation: &annotation,
        };
        if self.snapshot.key_id(&key)?.is_none() {
            let key = (kind, lexical.as_bytes().to_vec(), annotation);
            self.new.insert(key, TermId::UNBOUND);
        }
        Ok(())
    }

    /// Numbers the new terms, now that all are known, in term order.
    fn number(&mut self) -> Result<()> {
        let mut next = self.reservation.first_ordinals;
        for ((kind, _, _), id) in &mut self.new {
            *id = fresh(*kind, &mut next[vocabulary_place(*kind)])?;
        }
        Ok(())
    }

    fn quad(&mut self, quad: &oxrdf::Quad) -> Result<Quad> {
        Ok(Quad {
            subject: self.subject(&quad.subject)?,
            predicate: self.key(Kind::Iri, quad.predicate.as_str(), Vec::new())?,
            object: self.term(&quad.object)?,
            graph: match &quad.graph_name {
                GraphName::NamedNode(node) => self.key(Kind::Iri, node.as_str(), Vec::new())?,
                GraphName::BlankNode(node) => self.blank(node.as_str())?,
                GraphName::DefaultGraph => TermId::DEFAULT_GRAPH,
            },
        })
    }

    fn subject(&mut self, subject: &NamedOrBlankNode) -> Result<TermId> {
        match subject {
            NamedOrBlankNode::NamedNode(node) => self.key(Kind::Iri, node.as_str(), Vec::new()),
            NamedOrBlankNode::BlankNode(node) => self.blank(node.as_str()),
        }
    }

    /// The depth was checked when the term was met.
    fn term(&mut self, term: &Term) -> Result<TermId> {
        match term {
            Term::NamedNode(node) => self.key(Kind::Iri, node.as_str(), Vec::new()),
            Term::BlankNode(node) => self.blank(node.as_str()),
            Term::Literal(literal) => match LiteralId::of(literal.as_ref()) {
                LiteralId::Inline(id) => Ok(id),
                LiteralId::Vocabulary(kind, annotation) => {
                    self.key(kind, literal.value(), annotation)
                }
            },
            Term::Triple(triple) => self.triple(triple),
        }
    }

    fn key(&self, kind: Kind, lexical: &str, annotation: Vec<u8>) -> Result<TermId> {
        let key = (kind, lexical.as_bytes().to_vec(), annotation);
        if let Some(id) = self.new.get(&key) {
            return Ok(*id);
        }
        let (kind, lexical, annotation) = &key;
        let known = self.snapshot.key_id(&TermKey {
            kind: *kind,
            lexical,
            annotation,
        })?;
        Ok(known.expect("a term is either new or in the store"))
    }

    fn blank(&mut self, label: &str) -> Result<TermId> {
        if let Some(id) = self.blanks.get(label) {
            return Ok(*id);
        }
        let mut next = self.reservation.first_blank + self.blanks.len() as u64;
        let id = fresh(Kind::Blank, &mut next)?;
        self.blanks.insert(label.to_owned(), id);
        Ok(id)
    }

    fn triple(&mut self, triple: &Triple) -> Result<TermId> {
        let parts = [
            self.subject(&triple.subject)?,
            self.key(Kind::Iri, triple.predicate.as_str(), Vec::new())?,
            self.term(&triple.object)?,
        ];
        if let Some(id) = self.triples.get(&parts) {
            return Ok(*id);
        }
        let id = match self.snapshot.triple_id(&parts)? {
            Some(id) => id,
            None => self.table.push(parts)?,
        };
        self.triples.insert(parts, id);
        Ok(id)
    }

    /// Writes the dictionary and the table of triple terms, where there are new terms, durably; says
    /// which of the two there are.
    fn write_terms(&mut self, storage: &Arc<dyn Storage>) -> Result<(bool, bool)> {
        let reservation = self.reservation;
        let has_terms = !self.new.is_empty();
        if has_terms {
            write_dictionary(&**storage, reservation, &self.new)?;
        }
        let table = TripleTableWriter::new(reservation.first_triple);
        let table = std::mem::replace(&mut self.table, table);
        let has_triples = !table.is_empty();
        if has_triples {
            table
                .finish(&**storage, &reservation.triples_path)?
                .sync()?;
        }
        Ok((has_terms, has_triples))
    }

    /// Writes all files, durably.
    fn finish(mut self, storage: &Arc<dyn Storage>, inserts: &[Quad]) -> Result<NewSegment> {
        let (dictionary, triple_table) = self.write_terms(storage)?;
        let path = &self.reservation.segment_path;
        let segment = write_segment(storage, path, inserts, &[])?;
        Ok(NewSegment {
            dictionary,
            triple_table,
            segment: Some(segment),
            blank_nodes: self.blanks.len() as u64,
            ..NewSegment::default()
        })
    }
}

fn fresh(kind: Kind, next: &mut u64) -> Result<TermId> {
    // The number behind the last one must be a number too: manifests and files say where ranges end.
    if *next >= PAYLOAD_MAX {
        return Err(StoreError::Limit {
            what: format!("too many terms of kind {kind:?}"),
            limit: PAYLOAD_MAX,
        });
    }
    let id = TermId::new(kind, *next);
    *next += 1;
    Ok(id)
}

fn vocabulary_place(kind: Kind) -> usize {
    Kind::VOCABULARY
        .iter()
        .position(|known| *known == kind)
        .expect("a vocabulary kind")
}

fn write_dictionary(
    storage: &dyn Storage,
    reservation: &SegmentReservation,
    terms: &BTreeMap<(Kind, Vec<u8>, Vec<u8>), TermId>,
) -> Result<()> {
    let annotations: BTreeSet<&[u8]> = terms
        .keys()
        .map(|(_, _, annotation)| &**annotation)
        .collect();
    let annotations: Vec<Box<[u8]>> = annotations.into_iter().map(Box::from).collect();
    let path = &reservation.dictionary_path;
    let mut writer =
        DictionaryWriter::create(storage, path, reservation.first_ordinals, &annotations)?;
    for kind in Kind::VOCABULARY {
        let mut section = SectionBuilder::new(kind);
        for (_, lexical, annotation) in terms.keys().filter(|(of, _, _)| *of == kind) {
            let annotation = annotations
                .binary_search_by(|known| (**known).cmp(annotation))
                .expect("all annotations are listed");
            section.push(lexical, annotation as u32);
        }
        if !section.is_empty() {
            writer.append(section.finish())?;
        }
    }
    let (file, _) = writer.finish()?;
    file.sync()?;
    Ok(())
}

/// Writes a segment from quads in memory, all files durable. Duplicates count once.
pub fn write_segment(
    storage: &Arc<dyn Storage>,
    path: &str,
    inserts: &[Quad],
    tombstones: &[Quad],
) -> Result<SegmentEntry> {
    let predicates: BTreeSet<TermId> = inserts
        .iter()
        .chain(tombstones)
        .map(|quad| quad.predicate)
        .collect();
    let predicates: Vec<TermId> = predicates.into_iter().collect();
    let writer = SegmentWriter::new(Arc::clone(storage), path, predicates);
    let mut statistics = Statistics::default();
    for default_graph in [true, false] {
        let orders: &[Order] = if default_graph {
            &Order::DEFAULT_GRAPH
        } else {
            &Order::NAMED_GRAPHS
        };
        let counted = write_orders(&writer, orders, inserts, false)?;
        write_orders(&writer, orders, tombstones, true)?;
        if default_graph {
            statistics.default_graph = counted;
        } else {
            statistics.named_graphs = counted;
        }
    }
    writer.finish(&statistics)
}

/// Writes the orders of the default graph or of the named graphs, if there are quads.
fn write_orders(
    writer: &SegmentWriter,
    orders: &[Order],
    quads: &[Quad],
    tombstones: bool,
) -> Result<GraphStatistics> {
    let mut spo = SubjectObserver::default();
    let mut pso = PairObserver::default();
    let mut pos = PairObserver::default();
    for order in orders {
        let rows: BTreeSet<[TermId; 4]> = quads
            .iter()
            .filter(|quad| (quad.graph == TermId::DEFAULT_GRAPH) == order.is_default_graph())
            .map(|quad| order.row(quad))
            .collect();
        if rows.is_empty() {
            continue;
        }
        let mut file = writer.order_writer(*order, tombstones)?;
        let rows: Vec<[TermId; 4]> = rows.into_iter().collect();
        for chunk in rows.chunks(CHUNK_ROWS) {
            let columns = columns_of(*order, chunk, writer.predicates());
            let columns: Vec<&[u64]> = columns.iter().map(Vec::as_slice).collect();
            match order {
                Order::Spo | Order::Spog => spo.observe(&columns),
                Order::Pso | Order::Psog => pso.observe(&columns),
                Order::Pos | Order::Posg => pos.observe(&columns),
                _ => {}
            }
            file.push(&columns)?;
        }
        let (file, summary) = file.finish()?;
        file.sync()?;
        writer.add(*order, tombstones, &summary);
    }
    Ok(GraphStatistics::from_observers(
        writer.predicates(),
        spo,
        pso,
        pos,
    ))
}

/// Rows column by column, as a writer of an order takes them.
fn columns_of(order: Order, rows: &[[TermId; 4]], predicates: &[TermId]) -> Vec<Vec<u64>> {
    let predicate_column = order.column_of(crate::quad::Position::Predicate);
    (0..order.columns().len())
        .map(|column| {
            let values = rows.iter().map(|row| row[column]);
            if Some(column) == predicate_column {
                let rank = |id| {
                    predicates
                        .binary_search(&id)
                        .expect("all predicates are listed")
                };
                values.map(|id| rank(id) as u64).collect()
            } else {
                values.map(TermId::bits).collect()
            }
        })
        .collect()
}
