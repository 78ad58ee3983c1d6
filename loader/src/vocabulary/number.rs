//! Numbering: the merge that turns partial vocabularies into the dictionary, ids and ranks.
//!
//! ```text
//! runs' sorted terms -> merge -> place 0, 1, 2 ... in term order, each distinct term once
//!                                 |  blank nodes: the next numbers       |
//!                                 |  vocabulary kinds: an id that the store has, or the next ordinal
//!                                 |  inline kinds: the id itself         |
//!                                 |  triple terms: a row of the triple table
//!                                 v
//! rank = place among all ids of the load, sorted by id; rank -> id by a few pieces
//! ```
//!
//! In a store without terms, places are ranks: ids follow term order. Where the store has terms already,
//! known terms keep their older ids, and places are permuted into ranks.
//!
//! Runs in memory are merged by several threads, each a range of the term order; ranges of the dictionary are
//! encoded where they are merged, and put together in order.

#[cfg(test)]
mod tests;

use super::merge::{
    Head, MemorySource, MergedTerms, SortedVocabulary, merge, merge_annotations, split,
};
use super::{LocalId, ROLE_GRAPH, ROLE_PREDICATE};
use crate::error::LoadError;
use crate::options::CancelFlag;
use crate::run::{NumberFile, NumberWriter, Run, Temporary, Terms, spilled_sources};
use crate::workers;
use quadrille_store::dictionary::{
    DictionaryCursor, DictionarySummary, DictionaryWriter, SectionBlocks, SectionBuilder,
};
use quadrille_store::io::Storage;
use quadrille_store::io::checked::Unsynced;
use quadrille_store::{Kind, Snapshot, TermId, TermKey};
use std::borrow::Cow;

/// A section's blocks are handed on after this many terms when runs are spilled.
const TERMS_PER_PIECE: u64 = if cfg!(test) { 1 << 6 } else { 1 << 16 };
/// Ranges are not made smaller than this.
const TERMS_PER_RANGE: usize = if cfg!(test) { 1 << 4 } else { 1 << 15 };
const KINDS: usize = 64;

/// What numbering needs to know.
pub struct Context<'a> {
    /// Where temporary files go.
    pub temporary: Temporary<'a>,
    /// What the store holds already.
    pub snapshot: &'a Snapshot,
    /// Where the new dictionary goes.
    pub dictionary_path: &'a str,
    /// The first free ordinals, by [`Kind::VOCABULARY`].
    pub first_ordinals: [u64; 4],
    /// The first free blank node number.
    pub first_blank: u64,
    /// The first free ordinal of the triple tables.
    pub first_triple: u64,
    /// How many threads may work.
    pub threads: usize,
    /// Stops the work when set.
    pub cancel: &'a CancelFlag,
}

/// The outcome.
pub struct Numbering {
    /// How many distinct terms the load names.
    pub distinct: u64,
    /// How many of them are new to the store, by kind.
    pub new_terms: Vec<(Kind, u64)>,
    /// Rank -> id.
    pub ranks: RankTable,
    /// The ranks of the predicates, sorted.
    pub predicates: Vec<u32>,
    /// The ranks of the named graphs, sorted.
    pub graphs: Vec<u32>,
    /// For each run, its term numbers -> ranks.
    pub maps: Vec<RankMap>,
    /// The new dictionary, if there are new vocabulary terms.
    pub dictionary: Option<(Unsynced, DictionarySummary)>,
    /// The rows of new triple terms, from `first_triple` on.
    pub triple_rows: Vec<[TermId; 3]>,
}

/// A run's term numbers -> ranks.
pub enum RankMap {
    /// In memory.
    Memory(Vec<u32>),
    /// In a temporary file.
    File(NumberFile),
}

/// Rank -> id, a few linear pieces and lists.
#[derive(Debug, Default)]
pub struct RankTable {
    pieces: Vec<Piece>,
    /// Ids that follow no rule (inline ones, those of older dictionaries), as pieces refer to them.
    listed: Vec<TermId>,
}

#[derive(Debug)]
struct Piece {
    first_rank: u64,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// id = rank + this (wrapping).
    Linear(u64),
    /// id = `listed[rank - first_rank + this]`.
    Listed(usize),
}

impl RankTable {
    /// Turns ranks into ids, in place.
    pub fn map(&self, ranks: &mut [u64]) {
        // Most data has IRIs and literals alone: two pieces, and no branch.
        if let [iris, literals] = &self.pieces[..]
            && let (Content::Linear(first), Content::Linear(second)) =
                (&iris.content, &literals.content)
        {
            for rank in ranks {
                let offset = if *rank < literals.first_rank {
                    first
                } else {
                    second
                };
                *rank = rank.wrapping_add(*offset);
            }
            return;
        }
        self.map_by_piece(ranks);
    }

    /// Neighbours mostly belong to the same piece, so a piece is looked for only where a rank is not in the last one.
    fn map_by_piece(&self, ranks: &mut [u64]) {
        let mut piece = None;
        let (mut first, mut end) = (0, 0);
        for rank in ranks {
            if *rank < first || *rank >= end {
                let after = self
                    .pieces
                    .partition_point(|piece| piece.first_rank <= *rank);
                let found = &self.pieces[after - 1];
                first = found.first_rank;
                end = self
                    .pieces
                    .get(after)
                    .map_or(u64::MAX, |next| next.first_rank);
                piece = Some(found);
            }
            if let Some(piece) = piece {
                *rank = self.id_in(piece, *rank).bits();
            }
        }
    }

    /// The id of a rank.
    #[inline]
    pub fn id(&self, rank: u64) -> TermId {
        let after = self
            .pieces
            .iter()
            .take_while(|piece| piece.first_rank <= rank)
            .count();
        self.id_in(&self.pieces[after - 1], rank)
    }

    #[inline]
    fn id_in(&self, piece: &Piece, rank: u64) -> TermId {
        match piece.content {
            Content::Linear(offset) => TermId::from_bits(rank.wrapping_add(offset)),
            Content::Listed(start) => self.listed[start + (rank - piece.first_rank) as usize],
        }
    }

    fn push_linear(&mut self, first_rank: u64, first: TermId) {
        let content = Content::Linear(first.bits().wrapping_sub(first_rank));
        self.pieces.push(Piece {
            first_rank,
            content,
        });
    }

    fn push_listed(&mut self, first_rank: u64, ids: impl IntoIterator<Item = TermId>) {
        let content = Content::Listed(self.listed.len());
        self.pieces.push(Piece {
            first_rank,
            content,
        });
        self.listed.extend(ids);
    }
}

/// What one range of the merged sequence holds; places count from the range's start.
struct Range<P> {
    terms: u64,
    /// New terms of each kind.
    new: [u64; KINDS],
    /// All terms of each kind.
    all: [u64; KINDS],
    blocks: Vec<SectionBlocks>,
    inline: Vec<TermId>,
    /// Terms that older dictionaries have: place and id.
    known: Vec<(u32, TermId)>,
    predicates: Vec<u32>,
    graphs: Vec<u32>,
    /// Triple terms, in order: a source that has it, and its number within that source's sequence.
    triples: Vec<(u32, u32)>,
    /// For each source, the places of its terms, in its order.
    places: Vec<P>,
}

trait Places {
    fn push(&mut self, place: u32) -> Result<(), LoadError>;
    fn len(&self) -> usize;
}

impl Places for Vec<u32> {
    #[inline]
    fn push(&mut self, place: u32) -> Result<(), LoadError> {
        self.push(place);
        Ok(())
    }

    fn len(&self) -> usize {
        self.len()
    }
}

impl Places for NumberWriter {
    fn push(&mut self, place: u32) -> Result<(), LoadError> {
        self.push(place)
    }

    fn len(&self) -> usize {
        self.count()
    }
}

/// Takes the merged terms of one range.
struct RangeSink<'a, P, F> {
    range: Range<P>,
    builder: SectionBuilder,
    kind: Kind,
    annotations: &'a [Box<[u8]>],
    older: Vec<OlderTerms>,
    cancel: &'a CancelFlag,
    current_is_triple: bool,
    /// Takes a section's blocks from time to time, `None` to gather them in the range.
    flush: Option<F>,
}

/// Cursors over one older dictionary, by kind.
type OlderTerms = Vec<(Kind, DictionaryCursor)>;

impl<'a, P: Places, F: FnMut(SectionBlocks) -> Result<(), LoadError>> RangeSink<'a, P, F> {
    fn new(
        context: &'a Context<'_>,
        annotations: &'a [Box<[u8]>],
        places: Vec<P>,
        flush: Option<F>,
    ) -> Self {
        let older = context
            .snapshot
            .dictionaries()
            .iter()
            .map(|dictionary| {
                Kind::VOCABULARY
                    .iter()
                    .map(|kind| (*kind, dictionary.cursor(*kind)))
                    .collect()
            })
            .collect();
        Self {
            range: Range {
                terms: 0,
                new: [0; KINDS],
                all: [0; KINDS],
                blocks: Vec::new(),
                inline: Vec::new(),
                known: Vec::new(),
                predicates: Vec::new(),
                graphs: Vec::new(),
                triples: Vec::new(),
                places,
            },
            builder: SectionBuilder::new(Kind::Iri),
            kind: Kind::Iri,
            annotations,
            older,
            cancel: context.cancel,
            current_is_triple: false,
            flush,
        }
    }

    fn vocabulary_term(&mut self, kind: Kind, head: Head<'_>) -> Result<(), LoadError> {
        let key = TermKey {
            kind,
            lexical: head.bytes,
            annotation: &self.annotations[head.annotation as usize],
        };
        for older in &mut self.older {
            let (_, cursor) = older
                .iter_mut()
                .find(|(of, _)| *of == kind)
                .expect("a cursor for each kind");
            if let Some(id) = cursor.seek(&key)? {
                self.range.known.push((self.range.terms as u32, id));
                return Ok(());
            }
        }
        if kind != self.kind || (self.flush.is_some() && self.builder.len() >= TERMS_PER_PIECE) {
            self.end_section(kind)?;
        }
        self.builder.push(head.bytes, head.annotation);
        self.range.new[kind as usize] += 1;
        Ok(())
    }

    fn check(&self) -> Result<(), LoadError> {
        if self.range.terms.is_multiple_of(TERMS_PER_PIECE) {
            self.cancel.check()?;
        }
        LoadError::check_term_count(self.range.terms)
    }

    fn end_section(&mut self, next: Kind) -> Result<(), LoadError> {
        let builder = std::mem::replace(&mut self.builder, SectionBuilder::new(next));
        self.kind = next;
        if builder.is_empty() {
            return Ok(());
        }
        let blocks = builder.finish();
        if let Some(flush) = &mut self.flush {
            return flush(blocks);
        }
        self.range.blocks.push(blocks);
        Ok(())
    }

    fn finish(mut self) -> Result<Range<P>, LoadError> {
        self.end_section(Kind::Iri)?;
        Ok(self.range)
    }
}

impl<P: Places, F: FnMut(SectionBlocks) -> Result<(), LoadError>> MergedTerms
    for RangeSink<'_, P, F>
{
    fn term(&mut self, head: Head<'_>, roles: u8) -> Result<(), LoadError> {
        let kind = head.kind();
        self.current_is_triple = false;
        if kind.is_vocabulary() {
            self.vocabulary_term(kind, head)?;
        } else if kind.is_inline() {
            let bits = u64::from_be_bytes(head.bytes.try_into().expect("an inline id's bytes"));
            self.range.inline.push(TermId::from_bits(bits));
        } else {
            // A blank node is new by definition; a triple term is looked up when its parts have ids.
            self.current_is_triple = kind == Kind::Triple;
            self.range.new[kind as usize] += 1;
        }
        if roles & ROLE_PREDICATE != 0 {
            self.range.predicates.push(self.range.terms as u32);
        }
        if roles & ROLE_GRAPH != 0 {
            self.range.graphs.push(self.range.terms as u32);
        }
        self.range.all[kind as usize] += 1;
        self.range.terms += 1;
        self.check()
    }

    #[inline]
    fn occurrence(&mut self, source: usize) -> Result<(), LoadError> {
        if self.current_is_triple {
            self.current_is_triple = false;
            let number = self.range.places[source].len() as u32;
            self.range.triples.push((source as u32, number));
        }
        self.range.places[source].push((self.range.terms - 1) as u32)
    }
}

/// Numbers the terms of all runs, and writes the new dictionary (not yet synced). Takes the runs' vocabularies.
pub fn number(runs: &mut [Run], context: &Context<'_>) -> Result<Numbering, LoadError> {
    let (annotations, maps) = merge_annotations(runs.iter().map(|run| run.terms.annotations()));
    let mut writer = LazyWriter {
        context,
        annotations: &annotations,
        writer: None,
    };
    let in_memory = runs
        .iter()
        .all(|run| matches!(run.terms, Terms::Memory { .. }));
    if in_memory {
        number_in_memory(runs, maps, context, &annotations, writer)
    } else {
        let storage = context.temporary.storage;
        let mut sources = spilled_sources(runs, storage, maps)?;
        let places = (0..runs.len())
            .map(|_| NumberWriter::create(context.temporary))
            .collect::<Result<Vec<_>, _>>()?;
        let mut sink = RangeSink::new(
            context,
            &annotations,
            places,
            Some(|blocks| writer.append(blocks)),
        );
        merge(&mut sources, &mut sink)?;
        drop(sources);
        let mut range = sink.finish()?;
        let files = std::mem::take(&mut range.places)
            .into_iter()
            .map(NumberWriter::finish)
            .collect::<Result<Vec<_>, _>>()?;
        let triples = std::mem::take(&mut range.triples);
        let mut assembly = Assembly::new(context, vec![range.without_places()]);
        if !triples.is_empty() {
            // Few loads have triple terms: read the maps of the runs that do.
            let mut inner = Vec::with_capacity(triples.len());
            let mut map: Option<(u32, Vec<u32>)> = None;
            for (source, number) in triples {
                if map.as_ref().is_none_or(|(of, _)| *of != source) {
                    map = Some((source, files[source as usize].read(storage)?));
                }
                let (_, map) = map.as_ref().expect("just read");
                inner.push(parts(&runs[source as usize], number).map(|part| map[part as usize]));
            }
            assembly.resolve_triples(&inner)?;
        }
        let permutation = assembly.permutation();
        let mut maps = Vec::with_capacity(files.len());
        for file in files {
            maps.push(match &permutation {
                None => RankMap::File(file),
                Some(permutation) => {
                    let places = file.take(storage)?;
                    let mut ranks = NumberWriter::create(context.temporary)?;
                    for place in places {
                        ranks.push(permutation[place as usize])?;
                    }
                    RankMap::File(ranks.finish()?)
                }
            });
        }
        let dictionary = writer.finish()?;
        Ok(assembly.finish(maps, permutation.as_deref(), dictionary))
    }
}

fn number_in_memory(
    runs: &mut [Run],
    annotation_maps: Vec<Vec<u32>>,
    context: &Context<'_>,
    annotations: &[Box<[u8]>],
    mut writer: LazyWriter<'_>,
) -> Result<Numbering, LoadError> {
    let vocabularies: Vec<SortedVocabulary> = runs
        .iter_mut()
        .zip(annotation_maps)
        .map(|(run, annotation_map)| {
            let none = Terms::File {
                path: String::new(),
                terms: 0,
                annotations: Vec::new(),
            };
            match std::mem::replace(&mut run.terms, none) {
                Terms::Memory { vocabulary, sorted } => SortedVocabulary {
                    vocabulary,
                    sorted,
                    annotation_map,
                },
                Terms::File { .. } => unreachable!("all runs are in memory"),
            }
        })
        .collect();
    let largest = vocabularies
        .iter()
        .map(|each| each.sorted.len())
        .max()
        .unwrap_or(0);
    let count = (context.threads * 4).min(largest / TERMS_PER_RANGE).max(1);
    let cuts = split(&vocabularies, count);
    let ranges = workers::each(context.threads, &cuts, |cut| {
        let mut sources: Vec<_> = vocabularies
            .iter()
            .zip(cut)
            .map(|(vocabulary, range)| MemorySource::new(vocabulary, range.clone()))
            .collect();
        let places = cut
            .iter()
            .map(|range| Vec::with_capacity(range.len()))
            .collect();
        let no_flush = None::<fn(SectionBlocks) -> Result<(), LoadError>>;
        let mut sink = RangeSink::new(context, annotations, places, no_flush);
        merge(&mut sources, &mut sink)?;
        sink.finish()
    })?;

    // Places of all ranges, by the numbers of the vocabularies.
    let mut starts = Vec::with_capacity(ranges.len());
    let mut terms = 0;
    for range in &ranges {
        starts.push(terms as u32);
        terms += range.terms;
        LoadError::check_term_count(terms)?;
    }
    let sources: Vec<usize> = (0..vocabularies.len()).collect();
    let mut maps = workers::each(context.threads, &sources, |source| {
        let sorted = &vocabularies[*source].sorted;
        let mut map = vec![0_u32; sorted.len()];
        for ((range, cut), start) in ranges.iter().zip(&cuts).zip(&starts) {
            let places = &range.places[*source];
            for (id, place) in sorted[cut[*source].clone()].iter().zip(places) {
                map[*id as usize] = start + place;
            }
        }
        Ok(map)
    })?;

    let mut inner = Vec::new();
    for (range, cut) in ranges.iter().zip(&cuts) {
        for (source, number) in &range.triples {
            let source = *source as usize;
            let id = vocabularies[source].sorted[cut[source].start + *number as usize];
            inner.push(parts(&runs[source], id).map(|part| maps[source][part as usize]));
        }
    }
    let mut pieces = Vec::with_capacity(ranges.len());
    for mut range in ranges {
        for blocks in std::mem::take(&mut range.blocks) {
            writer.append(blocks)?;
        }
        pieces.push(range.without_places());
    }
    let dictionary = writer.finish()?;
    let mut assembly = Assembly::new(context, pieces);
    assembly.resolve_triples(&inner)?;
    let permutation = assembly.permutation();
    if let Some(permutation) = &permutation {
        for place in maps.iter_mut().flatten() {
            *place = permutation[*place as usize];
        }
    }
    let maps = maps.into_iter().map(RankMap::Memory).collect();
    Ok(assembly.finish(maps, permutation.as_deref(), dictionary))
}

/// The parts of a triple term of a run.
fn parts(run: &Run, id: LocalId) -> [LocalId; 3] {
    let place = run
        .triple_terms
        .binary_search_by_key(&id, |row| row[0])
        .expect("a run lists its triple terms");
    let [_, subject, predicate, object] = run.triple_terms[place];
    [subject, predicate, object]
}

impl<P> Range<P> {
    fn without_places(self) -> Range<()> {
        Range {
            terms: self.terms,
            new: self.new,
            all: self.all,
            blocks: self.blocks,
            inline: self.inline,
            known: self.known,
            predicates: self.predicates,
            graphs: self.graphs,
            triples: self.triples,
            places: Vec::new(),
        }
    }
}

/// Creates the dictionary's file with the first new term.
struct LazyWriter<'a> {
    context: &'a Context<'a>,
    annotations: &'a [Box<[u8]>],
    writer: Option<DictionaryWriter>,
}

impl LazyWriter<'_> {
    fn append(&mut self, blocks: SectionBlocks) -> Result<(), LoadError> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => self.writer.insert(DictionaryWriter::create(
                self.context.temporary.storage,
                self.context.dictionary_path,
                self.context.first_ordinals,
                self.annotations,
            )?),
        };
        Ok(writer.append(blocks)?)
    }

    fn finish(self) -> Result<Option<(Unsynced, DictionarySummary)>, LoadError> {
        self.writer.map(|writer| Ok(writer.finish()?)).transpose()
    }
}

/// Puts the ranges together.
struct Assembly<'a> {
    context: &'a Context<'a>,
    distinct: u64,
    new: [u64; KINDS],
    all: [u64; KINDS],
    inline: Vec<TermId>,
    known: Vec<(u32, TermId)>,
    predicates: Vec<u32>,
    graphs: Vec<u32>,
    /// Ids of the load's triple terms, by place; the last of all places.
    triples: Vec<TermId>,
    triple_rows: Vec<[TermId; 3]>,
}

impl<'a> Assembly<'a> {
    fn new(context: &'a Context<'a>, ranges: Vec<Range<()>>) -> Self {
        let mut assembly = Self {
            context,
            distinct: 0,
            new: [0; KINDS],
            all: [0; KINDS],
            inline: Vec::new(),
            known: Vec::new(),
            predicates: Vec::new(),
            graphs: Vec::new(),
            triples: Vec::new(),
            triple_rows: Vec::new(),
        };
        for range in ranges {
            let start = assembly.distinct as u32;
            assembly.distinct += range.terms;
            for kind in 0..KINDS {
                assembly.new[kind] += range.new[kind];
                assembly.all[kind] += range.all[kind];
            }
            assembly.inline.extend(range.inline);
            assembly
                .known
                .extend(range.known.iter().map(|(place, id)| (start + place, *id)));
            assembly
                .predicates
                .extend(range.predicates.iter().map(|place| start + place));
            assembly
                .graphs
                .extend(range.graphs.iter().map(|place| start + place));
        }
        assembly
    }

    /// Gives the triple terms their ids; `inner` has the places of their parts. Inner triple terms come
    /// before outer ones in term order, so their ids are there when they are needed.
    fn resolve_triples(&mut self, inner: &[[u32; 3]]) -> Result<(), LoadError> {
        if inner.is_empty() {
            return Ok(());
        }
        let first_place = self.distinct - inner.len() as u64;
        let ids = self.ids_by_place();
        for places in inner {
            let row = places.map(|place| match u64::from(place).checked_sub(first_place) {
                Some(triple) => self.triples[triple as usize],
                None => ids[place as usize],
            });
            let id = self.context.snapshot.triple_id(&row)?.unwrap_or_else(|| {
                let ordinal = self.context.first_triple + self.triple_rows.len() as u64;
                self.triple_rows.push(row);
                TermId::new(Kind::Triple, ordinal)
            });
            self.triples.push(id);
        }
        self.new[Kind::Triple as usize] = self.triple_rows.len() as u64;
        Ok(())
    }

    /// The first new id of a kind.
    fn first_new(&self, kind: Kind) -> TermId {
        let ordinal = match kind {
            Kind::Blank => self.context.first_blank,
            Kind::Triple => self.context.first_triple,
            _ => {
                let place = Kind::VOCABULARY.iter().position(|each| *each == kind);
                self.context.first_ordinals[place.expect("a vocabulary kind")]
            }
        };
        TermId::new(kind, ordinal)
    }

    /// All ids by place, without those of triple terms that are not resolved yet.
    fn ids_by_place(&self) -> Vec<TermId> {
        let mut ids = Vec::with_capacity(self.distinct as usize);
        let mut known = self.known.iter().peekable();
        for kind in Kind::ALL {
            let count = self.all[kind as usize];
            if kind.is_inline() || kind == Kind::Triple || count == 0 {
                continue;
            }
            let mut next = self.first_new(kind).bits();
            for _ in 0..count {
                let older = known.next_if(|(place, _)| *place as usize == ids.len());
                ids.push(older.map_or_else(
                    || {
                        next += 1;
                        TermId::from_bits(next - 1)
                    },
                    |(_, id)| *id,
                ));
            }
        }
        ids.extend(&self.inline);
        ids.extend(&self.triples);
        ids
    }

    /// Place -> rank, where places are not ranks already.
    fn permutation(&self) -> Option<Vec<u32>> {
        let old_triples = self.triples.len() > self.triple_rows.len();
        if self.known.is_empty() && !old_triples {
            return None;
        }
        let ids = self.ids_by_place();
        let mut places: Vec<u32> = (0..ids.len() as u32).collect();
        places.sort_unstable_by_key(|place| ids[*place as usize]);
        let mut ranks = vec![0; places.len()];
        for (rank, place) in places.iter().enumerate() {
            ranks[*place as usize] = rank as u32;
        }
        Some(ranks)
    }

    fn finish(
        self,
        maps: Vec<RankMap>,
        permutation: Option<&[u32]>,
        dictionary: Option<(Unsynced, DictionarySummary)>,
    ) -> Numbering {
        let mut ranks = RankTable::default();
        let (mut predicates, mut graphs) = (self.predicates.clone(), self.graphs.clone());
        if let Some(permutation) = permutation {
            let mut ids = self.ids_by_place();
            ids.sort_unstable();
            ranks.push_listed(0, ids);
            for list in [&mut predicates, &mut graphs] {
                for place in list.iter_mut() {
                    *place = permutation[*place as usize];
                }
                list.sort_unstable();
            }
        } else {
            let mut first = 0;
            for kind in Kind::ALL.into_iter().filter(|kind| !kind.is_inline()) {
                let count = self.all[kind as usize];
                if kind == Kind::Triple && !self.inline.is_empty() {
                    ranks.push_listed(first, self.inline.iter().copied());
                    first += self.inline.len() as u64;
                }
                if count > 0 {
                    ranks.push_linear(first, self.first_new(kind));
                    first += count;
                }
            }
        }
        let new_terms = Kind::ALL
            .into_iter()
            .map(|kind| (kind, self.new[kind as usize]))
            .filter(|(_, count)| *count > 0)
            .collect();
        Numbering {
            distinct: self.distinct,
            new_terms,
            ranks,
            predicates,
            graphs,
            maps,
            dictionary,
            triple_rows: self.triple_rows,
        }
    }
}

impl RankMap {
    /// The whole map, in memory.
    pub fn read(&self, storage: &dyn Storage) -> Result<Cow<'_, [u32]>, LoadError> {
        match self {
            Self::Memory(map) => Ok(Cow::Borrowed(map)),
            Self::File(file) => Ok(Cow::Owned(file.read(storage)?)),
        }
    }
}
