//! Tests of partial vocabularies: interning, sorting, spilling, merging and cutting, each against something plain.

use super::merge::{
    Head, MemorySource, MergedTerms, SortedTerms, SortedVocabulary, merge, merge_annotations, split,
};
use super::spill::{self, SpilledSource};
use super::{LocalId, PartialVocabulary, ROLE_PREDICATE, sort};
use crate::batch::{Batch, BatchTerm};
use crate::error::LoadError;
use quadrille_store::io::memory::MemoryStorage;
use quadrille_store::{Kind, TermId, TermKey};
use std::collections::{BTreeMap, BTreeSet};

/// A term as a plain value; the derived order is term order.
type Plain = (Kind, Vec<u8>, Vec<u8>);

/// A generator of numbers (xorshift); tests print its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

fn push(batch: &mut Batch, (kind, lexical, annotation): &Plain) {
    if kind.is_inline() {
        let bits = u64::from_be_bytes(lexical.as_slice().try_into().expect("eight bytes"));
        batch.terms.push(BatchTerm::inline(TermId::from_bits(bits)));
        return;
    }
    let annotation = batch.annotation(annotation);
    batch.push_arena(*kind, &[lexical], annotation);
}

/// The numbers of terms, and the vocabulary they are interned in.
fn intern(terms: &[Plain], batch_size: usize) -> (PartialVocabulary, Vec<LocalId>) {
    let mut vocabulary = PartialVocabulary::new();
    let mut all = Vec::new();
    let mut batch = Batch::default();
    let mut ids = Vec::new();
    for piece in terms.chunks(batch_size) {
        batch.clear();
        for term in piece {
            push(&mut batch, term);
        }
        vocabulary.intern(&batch, &mut ids);
        all.extend_from_slice(&ids);
    }
    (vocabulary, all)
}

fn plain(key: &TermKey<'_>) -> Plain {
    (key.kind, key.lexical.to_vec(), key.annotation.to_vec())
}

fn random_term(random: &mut Random, universe: usize) -> Plain {
    let annotations = ["", "@en", "@en--ltr", "@en-gb", "^u:t", "^u:"];
    // The last kind is never stored.
    let kind = Kind::ALL[1 + random.below(Kind::ALL.len() - 2)];
    if kind.is_inline() {
        let id = TermId::new(kind, random.below(universe) as u64);
        return (kind, id.bits().to_be_bytes().to_vec(), Vec::new());
    }
    let number = random.below(universe);
    let lexical = match random.below(6) {
        0 => "http://www.Department12.University34.edu/x".as_bytes()[..number % 43].to_vec(),
        1 => vec![0; number % 20],
        2 => format!("http://www.Department{number}.edu/").into_bytes(),
        3 => [&vec![b'a'; number % 9][..], &vec![0; number % 11]].concat(),
        4 => format!("\u{10ffff}\u{e9}{}", "\u{1f600}".repeat(number % 5)).into_bytes(),
        _ => vec![0xff; number % 17],
    };
    let annotation = if kind.is_literal() {
        annotations[random.below(annotations.len())]
    } else {
        ""
    };
    (kind, lexical, annotation.as_bytes().to_vec())
}

#[test]
fn equal_terms_get_one_number_and_are_found() {
    for seed in 1..6 {
        let mut random = Random(seed);
        let terms: Vec<Plain> = (0..6000).map(|_| random_term(&mut random, 2000)).collect();
        let (vocabulary, ids) = intern(&terms, 1 + random.below(700));
        let mut expected: BTreeMap<&Plain, LocalId> = BTreeMap::new();
        for (term, id) in terms.iter().zip(&ids) {
            // Numbers follow the first appearance.
            let next = expected.len() as LocalId;
            assert_eq!(
                *expected.entry(term).or_insert(next),
                *id,
                "seed {seed}, {term:?}"
            );
            assert_eq!(plain(&vocabulary.key(*id)), *term, "seed {seed}");
            let (kind, lexical, annotation) = term;
            assert_eq!(
                vocabulary.find(*kind, lexical, annotation),
                Some(*id),
                "seed {seed}, {term:?}"
            );
        }
        assert_eq!(vocabulary.len(), expected.len());
        assert_eq!(vocabulary.find(Kind::Iri, b"of nobody", b""), None);
        assert_eq!(vocabulary.find(Kind::Literal, b"", b"@nobody"), None);
    }
}

#[test]
fn terms_with_one_hash_stay_apart() {
    for hash in [0, u64::MAX, 1 << 32] {
        let mut batch = Batch::default();
        batch.clear();
        for number in 0..200_u32 {
            let start = batch.arena.len();
            batch.arena.extend_from_slice(&number.to_be_bytes());
            batch
                .terms
                .push(BatchTerm::in_arena(hash, Kind::Iri, start, 4, 0));
        }
        let mut vocabulary = PartialVocabulary::new();
        let mut ids = Vec::new();
        for _ in 0..2 {
            vocabulary.intern(&batch, &mut ids);
            assert_eq!(ids, (0..200).collect::<Vec<LocalId>>(), "hash {hash:#x}");
        }
    }
}

#[test]
fn roles_belong_to_their_terms() {
    let terms: Vec<Plain> = (0..9_u8)
        .map(|number| (Kind::Iri, vec![9 - number], Vec::new()))
        .collect();
    let (mut vocabulary, ids) = intern(&terms, 4);
    vocabulary.add_role(ids[3], ROLE_PREDICATE);
    vocabulary.add_role(ids[3], 2);
    let sorted = sort::sorted(&vocabulary, 1);
    let reordered = vocabulary.reordered(&sorted);
    for (place, id) in sorted.iter().enumerate() {
        let place = place as LocalId;
        assert_eq!(reordered.roles(place), if *id == ids[3] { 3 } else { 0 });
        assert_eq!(plain(&reordered.key(place)), terms[*id as usize]);
    }
}

fn check_sorted(terms: &[Plain], what: &str) {
    let (vocabulary, ids) = intern(terms, 1000);
    let mut expected: Vec<LocalId> = ids
        .into_iter()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    expected.sort_by(|a, b| vocabulary.key(*a).cmp(&vocabulary.key(*b)));
    for threads in [1, 3] {
        assert!(
            sort::sorted(&vocabulary, threads) == expected,
            "{what}, {threads} threads"
        );
    }
}

#[test]
fn sorting_agrees_with_a_comparison_sort() {
    check_sorted(&[], "nothing");
    for seed in 1..30 {
        let mut random = Random(seed);
        let count = 1 + random.below(3000);
        let universe = 1 + random.below(500);
        let terms: Vec<Plain> = (0..count)
            .map(|_| random_term(&mut random, universe))
            .collect();
        check_sorted(&terms, &format!("seed {seed}"));
    }
}

#[test]
fn beginnings_ends_and_zeros_sort_rightly() {
    // Every length around the step of eight, of zeros and of letters, followed by zeros or not, with all annotations.
    let mut terms = Vec::new();
    for length in 0..26 {
        for zeros in 0..10 {
            for annotation in ["", "@a", "@b", "^t"] {
                let lexical = [&vec![b'x'; length][..], &vec![0; zeros]].concat();
                terms.push((Kind::Literal, lexical, annotation.as_bytes().to_vec()));
            }
        }
    }
    // In several sequences, since sorting starts from the order of appearance.
    check_sorted(&terms, "ascending");
    terms.reverse();
    check_sorted(&terms, "descending");
    let mut random = Random(9);
    for place in (1..terms.len()).rev() {
        terms.swap(place, random.below(place + 1));
    }
    check_sorted(&terms, "mixed");
}

#[test]
fn very_long_terms_that_differ_late_are_sorted() {
    let long = vec![b'l'; (1 << 20) + 3];
    let terms: Vec<Plain> = (0..18_u8)
        .map(|number| {
            let mut lexical = long.clone();
            match number {
                0 => {}
                1..6 => lexical.truncate((1 << 20) - usize::from(number)),
                _ => lexical.push((number * 7) % 18),
            }
            (Kind::Literal, lexical, b"@en".to_vec())
        })
        .chain([(Kind::Literal, long.clone(), Vec::new())])
        .collect();
    check_sorted(&terms, "long terms");
}

/// What a merge gave: each term with its roles and the sources that have it.
#[derive(Default)]
struct Gatherer {
    annotations: Vec<Box<[u8]>>,
    terms: Vec<(Plain, u8, Vec<usize>)>,
}

impl MergedTerms for Gatherer {
    fn term(&mut self, head: Head<'_>, roles: u8) -> Result<(), LoadError> {
        let annotation = self.annotations[head.annotation as usize].to_vec();
        self.terms.push((
            (head.kind(), head.bytes.to_vec(), annotation),
            roles,
            Vec::new(),
        ));
        Ok(())
    }

    fn occurrence(&mut self, source: usize) -> Result<(), LoadError> {
        self.terms
            .last_mut()
            .expect("after its term")
            .2
            .push(source);
        Ok(())
    }
}

/// Random vocabularies that overlap, with random roles, sorted.
fn vocabularies(random: &mut Random, count: usize) -> Vec<SortedVocabulary> {
    let universe = 1 + random.below(300);
    let mut parts: Vec<(PartialVocabulary, Vec<LocalId>)> = (0..count)
        .map(|_| {
            let terms: Vec<Plain> = (0..random.below(900))
                .map(|_| random_term(random, universe))
                .collect();
            let (mut vocabulary, _) = intern(&terms, 100);
            for id in 0..vocabulary.len() as LocalId {
                vocabulary.add_role(id, random.below(4) as u8);
            }
            let sorted = sort::sorted(&vocabulary, 1);
            (vocabulary.reordered(&sorted), sorted)
        })
        .collect();
    let (_, maps) = merge_annotations(parts.iter().map(|(vocabulary, _)| vocabulary.annotations()));
    let parts = parts.drain(..).zip(maps);
    parts
        .map(|((vocabulary, sorted), annotation_map)| SortedVocabulary {
            vocabulary,
            sorted,
            annotation_map,
        })
        .collect()
}

fn annotations(vocabularies: &[SortedVocabulary]) -> Vec<Box<[u8]>> {
    merge_annotations(
        vocabularies
            .iter()
            .map(|each| each.vocabulary.annotations()),
    )
    .0
}

/// The merge, by a map.
fn expected(vocabularies: &[SortedVocabulary]) -> Vec<(Plain, u8, Vec<usize>)> {
    let mut terms: BTreeMap<Plain, (u8, Vec<usize>)> = BTreeMap::new();
    for (source, each) in vocabularies.iter().enumerate() {
        for id in 0..each.vocabulary.len() as LocalId {
            let term = terms.entry(plain(&each.vocabulary.key(id))).or_default();
            term.0 |= each.vocabulary.roles(id);
            term.1.push(source);
        }
    }
    terms
        .into_iter()
        .map(|(term, (roles, sources))| (term, roles, sources))
        .collect()
}

fn merged<S: SortedTerms>(
    mut sources: Vec<S>,
    annotations: Vec<Box<[u8]>>,
) -> Vec<(Plain, u8, Vec<usize>)> {
    let mut gatherer = Gatherer {
        annotations,
        terms: Vec::new(),
    };
    merge(&mut sources, &mut gatherer).expect("merges");
    assert!(sources.iter().all(|source| source.head().is_none()));
    for (_, _, sources) in &mut gatherer.terms {
        sources.sort_unstable();
    }
    gatherer.terms
}

#[test]
fn merging_agrees_with_a_map() {
    for seed in 1..25 {
        let mut random = Random(seed);
        let count = random.below(9);
        let vocabularies = vocabularies(&mut random, count);
        let annotations = annotations(&vocabularies);
        assert!(annotations.is_sorted_by(|a, b| a < b), "seed {seed}");
        let expected = expected(&vocabularies);
        let sources: Vec<_> = vocabularies
            .iter()
            .map(|each| MemorySource::new(each, 0..each.sorted.len()))
            .collect();
        assert!(
            merged(sources, annotations.clone()) == expected,
            "seed {seed}"
        );

        // The same from files.
        let storage = MemoryStorage::new();
        let sources: Vec<_> = vocabularies
            .iter()
            .enumerate()
            .map(|(source, each)| {
                let path = format!("terms-{source}");
                let in_order: Vec<LocalId> = (0..each.vocabulary.len() as LocalId).collect();
                spill::write(&storage, &path, &each.vocabulary, &in_order).expect("writes");
                let terms = each.vocabulary.len() as u64;
                SpilledSource::open(&storage, &path, terms, each.annotation_map.clone())
                    .expect("opens")
            })
            .collect();
        assert!(
            merged(sources, annotations) == expected,
            "seed {seed}, from files"
        );
    }
}

#[test]
fn a_spilled_vocabulary_comes_back() {
    for seed in 1..10 {
        let mut random = Random(seed);
        let mut terms: Vec<Plain> = (0..2000).map(|_| random_term(&mut random, 900)).collect();
        // Longer than the buffers, and the beginning of another one.
        terms.push((
            Kind::Literal,
            vec![b'z'; 2 * spill::BUFFER],
            b"@en".to_vec(),
        ));
        terms.push((Kind::Literal, vec![b'z'; 2 * spill::BUFFER + 1], Vec::new()));
        let (mut vocabulary, _) = intern(&terms, 128);
        for id in 0..vocabulary.len() as LocalId {
            vocabulary.add_role(id, random.below(256) as u8);
        }
        let sorted = sort::sorted(&vocabulary, 1);
        let storage = MemoryStorage::new();
        spill::write(&storage, "terms", &vocabulary, &sorted).expect("writes");
        let same: Vec<u32> = (0..vocabulary.annotations().len() as u32).collect();
        let mut source =
            SpilledSource::open(&storage, "terms", sorted.len() as u64, same).expect("opens");
        for id in sorted {
            let head = source.head().expect("another term");
            assert_eq!(head.kind, vocabulary.kind(id), "seed {seed}");
            assert!(head.bytes == vocabulary.bytes(id), "seed {seed}");
            assert_eq!(head.annotation, vocabulary.annotation(id), "seed {seed}");
            assert_eq!(source.roles(), vocabulary.roles(id), "seed {seed}");
            source.advance().expect("reads");
        }
        assert_eq!(source.head(), None);
    }
}

#[test]
fn a_spilled_vocabulary_that_was_cut_is_an_error() {
    use quadrille_store::io::Storage;
    let terms: Vec<Plain> = (0..20_u8)
        .map(|number| (Kind::Iri, vec![number; 5], Vec::new()))
        .collect();
    let (vocabulary, ids) = intern(&terms, 20);
    let storage = MemoryStorage::new();
    spill::write(&storage, "terms", &vocabulary, &ids).expect("writes");
    let bytes = storage.map("terms").expect("maps").to_vec();
    for length in [0, 1, 13, 14, 18, bytes.len() - 1] {
        storage
            .insert("cut", bytes[..length].to_vec())
            .expect("a path");
        let result = SpilledSource::open(&storage, "cut", 20, vec![0]).and_then(|mut source| {
            while source.head().is_some() {
                source.advance()?;
            }
            Ok(())
        });
        assert!(
            matches!(result, Err(LoadError::Temporary(_))),
            "{length} bytes"
        );
    }
}

#[test]
fn ranges_cover_everything_and_keep_equal_terms_together() {
    assert!(split(&[], 4).is_empty());
    for seed in 1..20 {
        let mut random = Random(seed);
        let count = 1 + random.below(5);
        let vocabularies = vocabularies(&mut random, count);
        let annotations = annotations(&vocabularies);
        for ranges in 1..12 {
            let cuts = split(&vocabularies, ranges);
            assert!(cuts.len() <= ranges, "seed {seed}");
            let mut all = Vec::new();
            let mut ends = vec![0; count];
            for cut in &cuts {
                for ((range, end), each) in cut.iter().zip(&mut ends).zip(&vocabularies) {
                    assert_eq!(range.start, *end, "seed {seed}");
                    assert!(range.end <= each.sorted.len(), "seed {seed}");
                    *end = range.end;
                }
                let sources: Vec<_> = vocabularies
                    .iter()
                    .zip(cut)
                    .map(|(each, range)| MemorySource::new(each, range.clone()))
                    .collect();
                all.extend(merged(sources, annotations.clone()));
            }
            // Were equal terms in two ranges, they would come twice.
            assert!(
                all == expected(&vocabularies),
                "seed {seed}, {ranges} ranges"
            );
        }
    }
}

/// Data may have a datatype of its own for every literal: the budget must see them.
#[test]
fn annotations_count_as_memory() {
    let memory_of = |annotations: u32| {
        let mut batch = Batch::default();
        batch.clear();
        for number in 0..1000 {
            let datatype = format!("^http://example.org/{:0900}", number % annotations);
            let annotation = batch.annotation(datatype.as_bytes());
            batch.push_arena(
                Kind::Literal,
                &[format!("{number:04}").as_bytes()],
                annotation,
            );
        }
        let mut vocabulary = PartialVocabulary::new();
        vocabulary.intern(&batch, &mut Vec::new());
        assert_eq!(vocabulary.len(), 1000);
        vocabulary.memory()
    };
    assert!(memory_of(1000) > memory_of(1) + 999 * 900);
}
