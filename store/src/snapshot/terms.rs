//! Terms of a snapshot: from a term to its id and back, one at a time or a column at once.
//!
//! Several dictionaries may hold a snapshot's terms. An id's ordinal says which one has it, since
//! each has a range of ordinals of its own for each kind; a term is looked for in one after the
//! other.

use super::Snapshot;
use crate::dictionary::{Dictionary, DictionaryIdentity};
use crate::error::{Result, StoreError};
use crate::id::{Kind, TermId};
use crate::inline;
use crate::quad::Quad;
use crate::term::TermKey;
use crate::triple_table::TripleTable;
use oxrdf::vocab::xsd;
use oxrdf::{
    BaseDirection, BlankNode, BlankNodeRef, GraphName, Literal, LiteralRef, NamedNode,
    NamedOrBlankNode, Term, TermRef, Triple,
};
use std::ops::Range;
use std::sync::OnceLock;

/// How deeply triple terms may be nested when a term is built; ids nest as deeply as they like.
pub const TRIPLE_DEPTH_MAX: usize = 128;

/// A term as it lies in the store, without a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TermParts<'a> {
    /// A blank node's number; its label is `b` and the number.
    Blank(u64),
    /// An IRI.
    Iri(&'a str),
    /// A literal.
    Literal {
        /// The lexical form.
        lexical: &'a str,
        /// What it is besides.
        annotation: Annotation<'a>,
    },
    /// A triple term: the ids of its parts.
    Triple([TermId; 3]),
}

/// What a literal is besides its lexical form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Annotation<'a> {
    /// Nothing: an `xsd:string`.
    Plain,
    /// Its language, in lower case.
    Language(&'a str),
    /// Its language and base direction.
    Directional(&'a str, BaseDirection),
    /// The IRI of its datatype.
    Datatype(&'a str),
}

impl<'a> Annotation<'a> {
    /// Reads an annotation as [`crate::term`] describes it; `None` if it is none.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let Some((mark, rest)) = bytes.split_first() else {
            return Some(Self::Plain);
        };
        let rest = std::str::from_utf8(rest).ok()?;
        match mark {
            b'^' => Some(Self::Datatype(rest)),
            // A tag that no grammar allows may have been kept all the same ("a--b"), and comes back.
            b'@' => Some(match rest.rsplit_once("--") {
                Some((language, "ltr")) => Self::Directional(language, BaseDirection::Ltr),
                Some((language, "rtl")) => Self::Directional(language, BaseDirection::Rtl),
                _ => Self::Language(rest),
            }),
            _ => None,
        }
    }

    /// Appends the annotation as [`crate::term`] describes it.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Plain => {}
            Self::Language(language) => {
                out.push(b'@');
                out.extend(language.bytes().map(|byte| byte.to_ascii_lowercase()));
            }
            Self::Directional(language, direction) => {
                Self::Language(language).write(out);
                out.extend_from_slice(match direction {
                    BaseDirection::Ltr => b"--ltr",
                    BaseDirection::Rtl => b"--rtl",
                });
            }
            Self::Datatype(datatype) => {
                out.push(b'^');
                out.extend_from_slice(datatype.as_bytes());
            }
        }
    }

    /// The annotation of a literal.
    pub fn of(literal: LiteralRef<'a>) -> Self {
        match (literal.language(), literal.direction()) {
            (Some(language), Some(direction)) => Self::Directional(language, direction),
            (Some(language), None) => Self::Language(language),
            (None, _) if literal.datatype() == xsd::STRING => Self::Plain,
            (None, _) => Self::Datatype(literal.datatype().as_str()),
        }
    }
}

/// What is known of a literal before any dictionary is asked.
pub enum LiteralId {
    /// The id says it all.
    Inline(TermId),
    /// It stands in a dictionary, or nowhere, under this kind and annotation.
    Vocabulary(Kind, Vec<u8>),
}

impl LiteralId {
    /// Where the literal belongs.
    pub fn of(literal: LiteralRef<'_>) -> Self {
        let annotation = Annotation::of(literal);
        let kind = match annotation {
            Annotation::Datatype(datatype) => match inline::encode(literal.value(), datatype) {
                Some(id) => return Self::Inline(id),
                None => inline::vocabulary_kind(datatype),
            },
            _ => Kind::Literal,
        };
        let mut bytes = Vec::new();
        annotation.write(&mut bytes);
        Self::Vocabulary(kind, bytes)
    }
}

/// The label by which a blank node of the store is shown.
pub fn blank_label(number: u64) -> String {
    format!("b{number}")
}

/// The number in a label that [`blank_label`] could have made.
pub fn blank_number(label: &str) -> Option<u64> {
    let digits = label.strip_prefix('b')?;
    let number = digits.parse().ok()?;
    // "b007" and "b+7" are other labels.
    (blank_label(number) == label).then_some(number)
}

/// The dictionaries of a snapshot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dictionaries {
    list: Vec<Dictionary>,
    /// For each kind of [`Kind::VOCABULARY`]: first ordinal, the one behind the last, place in the
    /// list; ascending.
    ranges: [Vec<(u64, u64, usize)>; 4],
}

impl Dictionaries {
    /// Puts dictionaries together, oldest first. The manifest has seen to it that their ordinals do
    /// not overlap.
    pub(crate) fn new(list: Vec<Dictionary>) -> Self {
        let mut ranges = <[Vec<(u64, u64, usize)>; 4]>::default();
        for (ranges, kind) in ranges.iter_mut().zip(Kind::VOCABULARY) {
            for (index, dictionary) in list.iter().enumerate() {
                let (first, count) = (dictionary.first(kind), dictionary.count(kind));
                if count > 0 {
                    ranges.push((first, first.saturating_add(count), index));
                }
            }
            ranges.sort_unstable();
        }
        Self { list, ranges }
    }

    /// The dictionaries, oldest first.
    pub(crate) fn list(&self) -> &[Dictionary] {
        &self.list
    }

    /// The dictionary that has an id, and the first id behind its range.
    pub(crate) fn find(&self, id: TermId) -> Option<(&Dictionary, TermId)> {
        let kind = id.kind()?;
        let ranges = &self.ranges[Kind::VOCABULARY.iter().position(|known| *known == kind)?];
        let index = ranges.partition_point(|(first, _, _)| *first <= id.payload());
        let (_, end, index) = ranges[index.checked_sub(1)?];
        let last = TermId::new(kind, end - 1);
        (id <= last).then(|| (&self.list[index], TermId::from_bits(last.bits() + 1)))
    }
}

/// The id of one term, remembered from one lookup to the next: whoever asks for the same term again and again, as a
/// prepared query does, keeps one of these beside it. It holds for every snapshot that has the dictionary in which the term
/// was found first; for others the term is looked up.
#[derive(Clone, Debug, Default)]
pub struct KnownId(OnceLock<(DictionaryIdentity, TermId)>);

impl Snapshot {
    /// The dictionaries, oldest first.
    pub fn dictionaries(&self) -> &[Dictionary] {
        self.state.dictionaries.list()
    }

    /// The id of a term; `None` if no quad of the store can have it. A value that is inlined always
    /// has an id.
    pub fn term_id(&self, term: TermRef<'_>) -> Result<Option<TermId>> {
        self.term_id_at(term, 0)
    }

    /// The same for a term whose id may be known; `known` must never have been used for another term.
    pub fn known_term_id(&self, term: TermRef<'_>, known: &KnownId) -> Result<Option<TermId>> {
        if let Some((identity, id)) = known.0.get()
            && self
                .dictionaries()
                .iter()
                .any(|dictionary| dictionary.is(identity))
        {
            return Ok(Some(*id));
        }
        let id = self.term_id(term)?;
        if let Some(id) = id
            && let Some((dictionary, _)) = self.state.dictionaries.find(id)
        {
            // Another thread may have been first, with the same.
            let _ = known.0.set((dictionary.identity(), id));
        }
        Ok(id)
    }

    fn term_id_at(&self, term: TermRef<'_>, depth: usize) -> Result<Option<TermId>> {
        match term {
            TermRef::NamedNode(node) => self.key_id(&iri_key(node.as_str())),
            TermRef::BlankNode(node) => Ok(self.blank_id(node)),
            TermRef::Literal(literal) => match LiteralId::of(literal) {
                LiteralId::Inline(id) => Ok(Some(id)),
                LiteralId::Vocabulary(kind, annotation) => self.key_id(&TermKey {
                    kind,
                    lexical: literal.value().as_bytes(),
                    annotation: &annotation,
                }),
            },
            TermRef::Triple(triple) => {
                check_depth(depth)?;
                if self.state.triple_tables.is_empty() {
                    return Ok(None);
                }
                let subject = match &triple.subject {
                    NamedOrBlankNode::NamedNode(node) => self.key_id(&iri_key(node.as_str()))?,
                    NamedOrBlankNode::BlankNode(node) => self.blank_id(node.as_ref()),
                };
                let predicate = self.key_id(&iri_key(triple.predicate.as_str()))?;
                let object = self.term_id_at(triple.object.as_ref(), depth + 1)?;
                match (subject, predicate, object) {
                    (Some(subject), Some(predicate), Some(object)) => {
                        self.triple_id(&[subject, predicate, object])
                    }
                    _ => Ok(None),
                }
            }
        }
    }

    /// The id of a term of a vocabulary kind.
    pub fn key_id(&self, key: &TermKey<'_>) -> Result<Option<TermId>> {
        for dictionary in self.state.dictionaries.list() {
            if let Some(id) = dictionary.term_id(key)? {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// The id of the triple term of three terms.
    pub fn triple_id(&self, triple: &[TermId; 3]) -> Result<Option<TermId>> {
        for table in &self.state.triple_tables {
            if let Some(id) = table.id(triple)? {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// The three terms of a triple term's id.
    pub fn triple(&self, id: TermId) -> Result<[TermId; 3]> {
        match self
            .state
            .triple_tables
            .iter()
            .find(|table| table.contains(id))
        {
            Some(table) => table.triple(id),
            None => Err(self.unknown(id)),
        }
    }

    /// The triple terms whose first terms are these, with their ids. They are those that the store has ever named: quads
    /// that have them may have been deleted.
    pub fn triple_terms(&self, prefix: &[TermId]) -> Result<TripleTerms> {
        let tables = self.state.triple_tables.iter();
        let ranges: Result<Vec<(TripleTable, Range<u64>)>> = tables
            .map(|table| Ok((table.clone(), table.sorted_range(prefix)?)))
            .collect();
        Ok(TripleTerms { ranges: ranges? })
    }

    fn blank_id(&self, node: BlankNodeRef<'_>) -> Option<TermId> {
        blank_number(node.as_str())
            .filter(|number| *number < self.state.next_blank)
            .map(|number| TermId::new(Kind::Blank, number))
    }

    /// The term of an id that occurs in this snapshot.
    pub fn term(&self, id: TermId) -> Result<Term> {
        self.term_at(id, 0)
    }

    /// The quad of terms of a quad of ids.
    pub fn quad(&self, quad: &Quad) -> Result<oxrdf::Quad> {
        let graph = match quad.graph {
            TermId::DEFAULT_GRAPH => GraphName::DefaultGraph,
            id => match self.term(id)? {
                Term::NamedNode(node) => node.into(),
                Term::BlankNode(node) => node.into(),
                _ => return Err(self.damaged_term(id, "is no name of a graph")),
            },
        };
        let predicate = self.predicate_at(quad.predicate, 0)?;
        Ok(oxrdf::Quad::new(
            self.subject_at(quad.subject, 0)?,
            predicate,
            self.term(quad.object)?,
            graph,
        ))
    }

    fn subject_at(&self, id: TermId, depth: usize) -> Result<NamedOrBlankNode> {
        match self.term_at(id, depth)? {
            Term::NamedNode(node) => Ok(node.into()),
            Term::BlankNode(node) => Ok(node.into()),
            _ => Err(self.damaged_term(id, "is no subject")),
        }
    }

    fn predicate_at(&self, id: TermId, depth: usize) -> Result<NamedNode> {
        match self.term_at(id, depth)? {
            Term::NamedNode(node) => Ok(node),
            _ => Err(self.damaged_term(id, "is no predicate")),
        }
    }

    fn term_at(&self, id: TermId, depth: usize) -> Result<Term> {
        let mut lexical = Vec::new();
        let mut text = String::new();
        let parts = match id.kind() {
            Some(Kind::Blank) => TermParts::Blank(id.payload()),
            Some(Kind::Triple) => TermParts::Triple(self.triple(id)?),
            Some(kind) if kind.is_vocabulary() => {
                let (dictionary, _) = self
                    .state
                    .dictionaries
                    .find(id)
                    .ok_or_else(|| self.unknown(id))?;
                let annotation = dictionary.lexical(id, &mut lexical)?;
                self.vocabulary_parts(id, &lexical, annotation)?
            }
            _ => self.inline_parts(id, &mut text)?,
        };
        self.build(parts, depth)
    }

    /// The terms of many ids: `each` gets the place in `ids` and the term, in any sequence. Ids may
    /// repeat; each block of a dictionary is decoded once.
    pub fn terms(&self, ids: &[TermId], each: &mut dyn FnMut(usize, Term)) -> Result<()> {
        let mut failed = None;
        self.term_parts(ids, &mut |places, parts| match self.build(parts, 0) {
            Ok(term) => {
                let (last, rest) = places.split_last().expect("an id stands somewhere");
                for place in rest {
                    each(*place, term.clone());
                }
                each(*last, term);
            }
            Err(error) => failed = Some(error),
        })?;
        failed.map_or(Ok(()), Err)
    }

    /// The parts of the terms of many ids, without copies: `each` gets the places in `ids` where a
    /// term stands, and its parts; once for each distinct id. Unbound ids are left out.
    pub fn term_parts(
        &self,
        ids: &[TermId],
        each: &mut dyn FnMut(&[usize], TermParts<'_>),
    ) -> Result<()> {
        let mut places: Vec<usize> = (0..ids.len())
            .filter(|place| !ids[*place].is_unbound())
            .collect();
        places.sort_unstable_by_key(|place| ids[*place]);
        let groups: Vec<&[usize]> = places.chunk_by(|a, b| ids[*a] == ids[*b]).collect();
        let distinct: Vec<TermId> = groups.iter().map(|group| ids[group[0]]).collect();
        let mut text = String::new();
        let mut next = 0;
        while next < distinct.len() {
            let id = distinct[next];
            match id.kind() {
                Some(Kind::Blank) => each(groups[next], TermParts::Blank(id.payload())),
                Some(Kind::Triple) => each(groups[next], TermParts::Triple(self.triple(id)?)),
                Some(kind) if kind.is_vocabulary() => {
                    let (dictionary, end) = self
                        .state
                        .dictionaries
                        .find(id)
                        .ok_or_else(|| self.unknown(id))?;
                    let count = distinct[next..].partition_point(|id| *id < end);
                    let mut failed = None;
                    dictionary.lexicals_sorted(
                        &distinct[next..next + count],
                        &mut |index, lexical, annotation| {
                            let index = next + index;
                            match self.vocabulary_parts(distinct[index], lexical, annotation) {
                                Ok(parts) => each(groups[index], parts),
                                Err(error) => failed = Some(error),
                            }
                        },
                    )?;
                    if let Some(error) = failed {
                        return Err(error);
                    }
                    next += count;
                    continue;
                }
                _ => each(groups[next], self.inline_parts(id, &mut text)?),
            }
            next += 1;
        }
        Ok(())
    }

    fn inline_parts<'a>(&self, id: TermId, text: &'a mut String) -> Result<TermParts<'a>> {
        text.clear();
        let datatype = inline::decode(id, text).ok_or_else(|| self.unknown(id))?;
        Ok(TermParts::Literal {
            lexical: text,
            annotation: Annotation::Datatype(datatype),
        })
    }

    fn vocabulary_parts<'a>(
        &self,
        id: TermId,
        lexical: &'a [u8],
        annotation: &'a [u8],
    ) -> Result<TermParts<'a>> {
        let damaged = |what| self.damaged_term(id, what);
        let lexical = std::str::from_utf8(lexical).map_err(|_| damaged("is not UTF-8"))?;
        if id.kind() == Some(Kind::Iri) {
            return Ok(TermParts::Iri(lexical));
        }
        let annotation =
            Annotation::parse(annotation).ok_or_else(|| damaged("has an unknown annotation"))?;
        Ok(TermParts::Literal {
            lexical,
            annotation,
        })
    }

    fn build(&self, parts: TermParts<'_>, depth: usize) -> Result<Term> {
        Ok(match parts {
            TermParts::Blank(number) => BlankNode::new_unchecked(blank_label(number)).into(),
            TermParts::Iri(iri) => NamedNode::new_unchecked(iri).into(),
            TermParts::Literal {
                lexical,
                annotation,
            } => match annotation {
                Annotation::Plain => Literal::new_simple_literal(lexical),
                Annotation::Language(language) => {
                    Literal::new_language_tagged_literal_unchecked(lexical, language)
                }
                Annotation::Directional(language, direction) => {
                    Literal::new_directional_language_tagged_literal_unchecked(
                        lexical, language, direction,
                    )
                }
                Annotation::Datatype(datatype) => {
                    Literal::new_typed_literal(lexical, NamedNode::new_unchecked(datatype))
                }
            }
            .into(),
            TermParts::Triple([subject, predicate, object]) => {
                check_depth(depth)?;
                Triple::new(
                    self.subject_at(subject, depth + 1)?,
                    self.predicate_at(predicate, depth + 1)?,
                    self.term_at(object, depth + 1)?,
                )
                .into()
            }
        })
    }

    fn unknown(&self, id: TermId) -> StoreError {
        self.damaged_term(id, "is in none of the store's dictionaries and tables")
    }

    fn damaged_term(&self, id: TermId, what: &str) -> StoreError {
        StoreError::Damaged {
            path: self.state.storage.display(""),
            offset: 0,
            reason: format!("the term {id:?} {what}"),
        }
    }
}

/// Some triple terms of a snapshot, table by table.
#[derive(Debug)]
pub struct TripleTerms {
    ranges: Vec<(TripleTable, Range<u64>)>,
}

impl TripleTerms {
    /// How many are left.
    pub fn count_left(&self) -> u64 {
        let ranges = self.ranges.iter();
        ranges.map(|(_, range)| range.end - range.start).sum()
    }
}

impl Iterator for TripleTerms {
    type Item = Result<(TermId, [TermId; 3])>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (table, range) = self.ranges.last_mut()?;
            match range.next() {
                Some(index) => return Some(table.sorted_triple(index)),
                None => self.ranges.pop(),
            };
        }
    }
}

fn check_depth(depth: usize) -> Result<()> {
    if depth < TRIPLE_DEPTH_MAX {
        return Ok(());
    }
    Err(StoreError::Limit {
        what: "triple terms nested too deeply".to_owned(),
        limit: TRIPLE_DEPTH_MAX as u64,
    })
}

fn iri_key(iri: &str) -> TermKey<'_> {
    TermKey {
        kind: Kind::Iri,
        lexical: iri.as_bytes(),
        annotation: b"",
    }
}
