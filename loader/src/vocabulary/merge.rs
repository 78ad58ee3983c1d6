//! Merging sorted partial vocabularies: every distinct term once, in term order, with all who have it.
//!
//! A *source* gives the terms of one partial vocabulary in term order, from memory ([`MemorySource`]) or from
//! a spilled run ([`super::spill::SpilledSource`]). [`merge`] walks any number of them side by side.
//! In memory, the sequence is cut into ranges at splitting terms ([`split`]), which are merged by several
//! threads at once.

use super::{LocalId, PartialVocabulary, View};
use crate::error::LoadError;
use quadrille_store::Kind;
use std::cmp::Ordering;
use std::ops::Range;

/// A term at the head of a source. The derived order is term order, since annotations of all sources
/// are numbered in one sorted list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Head<'a> {
    /// The kind's number.
    pub kind: u8,
    /// The term's bytes.
    pub bytes: &'a [u8],
    /// Index into the load's sorted list of annotations.
    pub annotation: u32,
}

impl Head<'_> {
    /// The kind.
    pub fn kind(&self) -> Kind {
        Kind::from_u8(self.kind).expect("vocabularies hold kinds")
    }
}

/// The terms of one partial vocabulary in term order.
pub trait SortedTerms {
    /// The current term, `None` at the end.
    fn head(&self) -> Option<Head<'_>>;
    /// What the current term is used as.
    fn roles(&self) -> u8;
    /// Goes on to the next term.
    fn advance(&mut self) -> Result<(), LoadError>;
}

/// Receives the merged sequence.
pub trait MergedTerms {
    /// The next distinct term, and what it is used as anywhere.
    fn term(&mut self, head: Head<'_>, roles: u8) -> Result<(), LoadError>;
    /// Source number `source` has the term given last, as its next one.
    fn occurrence(&mut self, source: usize) -> Result<(), LoadError>;
}

/// Merges sources into a sink. For each distinct term first come its occurrences' roles and the term,
/// then the occurrences.
pub fn merge<S: SortedTerms, M: MergedTerms>(
    sources: &mut [S],
    sink: &mut M,
) -> Result<(), LoadError> {
    // The sources that are not at their end, the one with the smallest head last.
    let mut waiting: Vec<usize> = Vec::with_capacity(sources.len());
    for source in 0..sources.len() {
        insert(sources, &mut waiting, source);
    }
    let mut equal = Vec::with_capacity(sources.len());
    while let Some(first) = waiting.pop() {
        equal.clear();
        equal.push(first);
        let mut roles = sources[first].roles();
        while let Some(next) = waiting.last().copied() {
            if sources[next].head() != sources[first].head() {
                break;
            }
            waiting.pop();
            equal.push(next);
            roles |= sources[next].roles();
        }
        let head = sources[first].head().expect("waiting sources have a head");
        sink.term(head, roles)?;
        for source in equal.iter().copied() {
            sink.occurrence(source)?;
            sources[source].advance()?;
        }
        for source in equal.iter().copied() {
            insert(sources, &mut waiting, source);
        }
    }
    Ok(())
}

fn insert<S: SortedTerms>(sources: &[S], waiting: &mut Vec<usize>, source: usize) {
    let Some(head) = sources[source].head() else {
        return;
    };
    // Most often the source goes on from where it was: look at the end first.
    let place = waiting
        .iter()
        .rposition(|other| sources[*other].head().is_some_and(|other| other >= head))
        .map_or(0, |place| place + 1);
    waiting.insert(place, source);
}

/// A partial vocabulary in memory, sorted, with its annotations renumbered to the load's sorted list.
pub struct SortedVocabulary {
    /// The terms, laid out in term order ([`PartialVocabulary::reordered`]): the merge reads them from front to back.
    pub vocabulary: PartialVocabulary,
    /// The numbers that they had before, by place.
    pub sorted: Vec<LocalId>,
    /// The vocabulary's annotation -> the load's.
    pub annotation_map: Vec<u32>,
}

impl SortedVocabulary {
    fn head(&self, place: usize) -> Head<'_> {
        head(self.vocabulary.view(), &self.annotation_map, place)
    }
}

#[inline]
fn head<'a>(terms: View<'a>, annotation_map: &[u32], place: usize) -> Head<'a> {
    let id = place as LocalId;
    Head {
        kind: terms.kind(id),
        bytes: terms.bytes(id),
        annotation: annotation_map[terms.annotation(id) as usize],
    }
}

/// A range of a sorted vocabulary in memory.
pub struct MemorySource<'a> {
    terms: View<'a>,
    annotation_map: &'a [u32],
    range: Range<usize>,
}

impl<'a> MemorySource<'a> {
    /// The terms at these places of the sorted sequence.
    pub fn new(sorted: &'a SortedVocabulary, range: Range<usize>) -> Self {
        Self {
            terms: sorted.vocabulary.view(),
            annotation_map: &sorted.annotation_map,
            range,
        }
    }
}

impl SortedTerms for MemorySource<'_> {
    #[inline]
    fn head(&self) -> Option<Head<'_>> {
        (!self.range.is_empty()).then(|| head(self.terms, self.annotation_map, self.range.start))
    }

    fn roles(&self) -> u8 {
        self.terms.roles(self.range.start as LocalId)
    }

    fn advance(&mut self) -> Result<(), LoadError> {
        self.range.start += 1;
        Ok(())
    }
}

/// The load's sorted list of annotations, and each vocabulary's map into it.
pub fn merge_annotations<'a>(
    lists: impl Iterator<Item = &'a [Box<[u8]>]> + Clone,
) -> (Vec<Box<[u8]>>, Vec<Vec<u32>>) {
    let mut all: Vec<Box<[u8]>> = lists.clone().flatten().cloned().collect();
    all.push(Box::default());
    all.sort_unstable();
    all.dedup();
    let maps = lists
        .map(|list| {
            list.iter()
                .map(|annotation| {
                    all.binary_search(annotation)
                        .expect("all annotations are listed") as u32
                })
                .collect()
        })
        .collect();
    (all, maps)
}

/// Cuts sorted vocabularies into `ranges` neighbouring ranges of about equal size: for each range, the
/// places of each vocabulary that belong to it. Equal terms fall into the same range.
pub fn split(vocabularies: &[SortedVocabulary], ranges: usize) -> Vec<Vec<Range<usize>>> {
    let Some(largest) = vocabularies.iter().max_by_key(|each| each.sorted.len()) else {
        return Vec::new();
    };
    let mut starts = vec![0; vocabularies.len()];
    let mut result = Vec::with_capacity(ranges);
    for range in 1..=ranges {
        let ends: Vec<usize> = if range == ranges {
            vocabularies.iter().map(|each| each.sorted.len()).collect()
        } else {
            let splitter = largest.sorted.len() * range / ranges;
            if splitter == 0 {
                continue;
            }
            let splitter = largest.head(splitter);
            vocabularies
                .iter()
                .map(|each| lower_bound(each, splitter))
                .collect()
        };
        result.push(
            starts
                .iter()
                .zip(&ends)
                .map(|(start, end)| *start..*end)
                .collect(),
        );
        starts = ends;
    }
    result
}

fn lower_bound(vocabulary: &SortedVocabulary, key: Head<'_>) -> usize {
    let (mut low, mut high) = (0, vocabulary.sorted.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        if vocabulary.head(middle).cmp(&key) == Ordering::Less {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
