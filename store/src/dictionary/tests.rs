//! Dictionaries against a plain model: a sorted set of (kind, lexical form, annotation).

mod blocks;
mod damage;

use super::block::{BLOCK_TERMS, GROUP_TERMS, LONG_TERM_BYTES};
use super::{Dictionary, DictionarySummary, DictionaryWriter, SectionBuilder};
use crate::id::{Kind, TermId};
use crate::io::Storage;
use crate::io::memory::MemoryStorage;
use crate::term::TermKey;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// A term as the model has it; the derived order is term order.
type Term = (Kind, Vec<u8>, Vec<u8>);

/// Where each kind's ordinals begin in these tests.
const FIRST: [u64; 4] = [1000, 0, 7, 1 << 40];

fn key(term: &Term) -> TermKey<'_> {
    TermKey {
        kind: term.0,
        lexical: &term.1,
        annotation: &term.2,
    }
}

fn iri(text: impl Into<Vec<u8>>) -> Term {
    (Kind::Iri, text.into(), Vec::new())
}

fn literal(text: impl Into<Vec<u8>>, annotation: &str) -> Term {
    (Kind::Literal, text.into(), annotation.into())
}

/// Writes a dictionary of the model; a new run of terms begins behind each term that `ends_run` says.
fn write(
    storage: &dyn Storage,
    path: &str,
    model: &BTreeSet<Term>,
    mut ends_run: impl FnMut(usize) -> bool,
) -> DictionarySummary {
    let annotations: BTreeSet<&[u8]> = model
        .iter()
        .map(|term| term.2.as_slice())
        .chain([&b""[..]])
        .collect();
    let annotations: Vec<Box<[u8]>> = annotations.into_iter().map(Into::into).collect();
    let mut writer = DictionaryWriter::create(storage, path, FIRST, &annotations).expect("create");
    let mut builder: Option<(Kind, SectionBuilder)> = None;
    for (index, (kind, lexical, annotation)) in model.iter().enumerate() {
        if let Some((_, full)) = builder.take_if(|(of, _)| of != kind || ends_run(index)) {
            writer.append(full.finish()).expect("append");
        }
        let (_, builder) = builder.get_or_insert_with(|| (*kind, SectionBuilder::new(*kind)));
        let number = annotations
            .binary_search_by(|a| (**a).cmp(annotation))
            .expect("collected");
        builder.push(lexical, number as u32);
    }
    if let Some((_, last)) = builder {
        writer.append(last.finish()).expect("append");
    }
    let (unsynced, summary) = writer.finish().expect("finish");
    let bytes = unsynced.sync().expect("sync");
    assert_eq!(summary.file_bytes, bytes);
    assert_eq!(summary.terms(), model.len() as u64);
    summary
}

fn built(model: &BTreeSet<Term>) -> Dictionary {
    let storage = MemoryStorage::new();
    write(&storage, "dictionary", model, |_| false);
    Dictionary::open(&storage, "dictionary").expect("open")
}

/// The id that a term of the model must have: terms are numbered in order, by kind.
fn expected_ids(model: &BTreeSet<Term>) -> Vec<TermId> {
    let mut next = FIRST;
    let number = |term: &Term| {
        let section = Kind::VOCABULARY
            .iter()
            .position(|kind| *kind == term.0)
            .expect("vocabulary");
        next[section] += 1;
        TermId::new(term.0, next[section] - 1)
    };
    model.iter().map(number).collect()
}

/// Terms near a term that the model may not have.
fn neighbours(term: &Term) -> Vec<Term> {
    let (kind, lexical, annotation) = term;
    let mut near = Vec::new();
    let mut with = |lexical: Vec<u8>| near.push((*kind, lexical, annotation.clone()));
    with([lexical.as_slice(), b"\0"].concat());
    with([lexical.as_slice(), b"0"].concat());
    with(lexical[..lexical.len().saturating_sub(1)].to_vec());
    for change in [1, 255] {
        let mut changed = lexical.clone();
        if let Some(last) = changed.last_mut() {
            *last = last.wrapping_add(change);
        }
        with(changed);
        let mut changed = lexical.clone();
        let middle = changed.len() / 2;
        if let Some(byte) = changed.get_mut(middle) {
            *byte = byte.wrapping_add(change);
        }
        with(changed);
    }
    for other in [&b""[..], b"@a", b"@en", b"^zz"] {
        near.push((*kind, lexical.clone(), other.to_vec()));
    }
    near
}

/// Asks a dictionary everything that the model knows.
fn check(dictionary: &Dictionary, model: &BTreeSet<Term>) {
    dictionary.verify().expect("verify");
    let ids = expected_ids(model);
    for (section, kind) in Kind::VOCABULARY.into_iter().enumerate() {
        let count = model.iter().filter(|term| term.0 == kind).count() as u64;
        assert_eq!(
            (dictionary.first(kind), dictionary.count(kind)),
            (FIRST[section], count)
        );
        let end = FIRST[section] + count;
        assert!(!dictionary.contains(TermId::new(kind, end)));
        assert!(FIRST[section] == 0 || !dictionary.contains(TermId::new(kind, FIRST[section] - 1)));
        assert!(
            dictionary
                .lexical(TermId::new(kind, end), &mut Vec::new())
                .is_err()
        );
    }
    let mut out = b"kept".to_vec();
    for (term, id) in model.iter().zip(&ids) {
        assert!(dictionary.contains(*id));
        out.truncate(4);
        let annotation = dictionary.lexical(*id, &mut out).expect("lexical");
        assert_eq!(
            (&out[..4], &out[4..], annotation),
            (&b"kept"[..], &term.1[..], &term.2[..])
        );
        assert_eq!(dictionary.term_id(&key(term)).expect("term_id"), Some(*id));
        assert_eq!(
            dictionary.lower_bound(&key(term)).expect("lower_bound"),
            *id
        );
    }
    check_neighbours(dictionary, model, &ids);
    check_batches(dictionary, model, &ids);
}

fn check_neighbours(dictionary: &Dictionary, model: &BTreeSet<Term>, ids: &[TermId]) {
    let by_term: BTreeMap<&Term, TermId> = model.iter().zip(ids.iter().copied()).collect();
    // Neighbours of a few hundred terms at most.
    let step = model.len() / 200 + 1;
    let near: BTreeSet<Term> = model.iter().step_by(step).flat_map(neighbours).collect();
    for term in near
        .iter()
        .filter(|term| term.0 != Kind::Iri || term.2.is_empty())
    {
        let expected = by_term.get(term).copied();
        assert_eq!(
            dictionary.term_id(&key(term)).expect("term_id"),
            expected,
            "{term:?}"
        );
        let next = model
            .range((Bound::Included(term), Bound::Unbounded))
            .next();
        let bound = match next {
            Some(next) if next.0 == term.0 => by_term[next],
            _ => TermId::new(term.0, dictionary.first(term.0) + dictionary.count(term.0)),
        };
        assert_eq!(
            dictionary.lower_bound(&key(term)).expect("lower_bound"),
            bound,
            "{term:?}"
        );
    }
    for kind in Kind::VOCABULARY {
        // All terms in order, those that the dictionary has and those that it has not.
        for step in [1, 3, 50] {
            let mut cursor = dictionary.cursor(kind);
            let sought: BTreeSet<&Term> = near.iter().chain(model).collect();
            for term in sought
                .into_iter()
                .filter(|term| term.0 == kind)
                .step_by(step)
            {
                let expected = dictionary.term_id(&key(term)).expect("term_id");
                for _ in 0..2 {
                    assert_eq!(cursor.seek(&key(term)).expect("seek"), expected, "{term:?}");
                }
            }
        }
    }
}

fn check_batches(dictionary: &Dictionary, model: &BTreeSet<Term>, ids: &[TermId]) {
    let terms: Vec<&Term> = model.iter().collect();
    for step in [1, 2, 7, 40, 700] {
        // Each twice; and once in descending order, which is slow and must be right.
        let mut places: Vec<usize> = (0..terms.len())
            .step_by(step)
            .flat_map(|at| [at, at])
            .collect();
        for _ in 0..2 {
            let batch: Vec<TermId> = places.iter().map(|at| ids[*at]).collect();
            let mut next = 0;
            let mut each = |index: usize, lexical: &[u8], annotation: &[u8]| {
                assert_eq!(index, next);
                let (_, expected, expected_annotation) = terms[places[index]];
                assert_eq!(
                    (lexical, annotation),
                    (&expected[..], &expected_annotation[..])
                );
                next += 1;
            };
            dictionary
                .lexicals_sorted(&batch, &mut each)
                .expect("lexicals_sorted");
            assert_eq!(next, batch.len());
            places.reverse();
        }
    }
}

#[test]
fn an_empty_dictionary_has_nothing() {
    let dictionary = built(&BTreeSet::new());
    check(&dictionary, &BTreeSet::new());
    for kind in Kind::VOCABULARY {
        let key = TermKey {
            kind,
            lexical: b"",
            annotation: b"",
        };
        assert_eq!(dictionary.term_id(&key).expect("term_id"), None);
        let first = TermId::new(kind, dictionary.first(kind));
        assert_eq!(dictionary.lower_bound(&key).expect("lower_bound"), first);
        assert_eq!(dictionary.cursor(kind).seek(&key).expect("seek"), None);
    }
    let no_vocabulary = TermKey {
        kind: Kind::Blank,
        lexical: b"b0",
        annotation: b"",
    };
    assert_eq!(dictionary.term_id(&no_vocabulary).expect("term_id"), None);
    assert!(!dictionary.contains(TermId::UNBOUND) && !dictionary.contains(TermId::MAX));
    assert!(
        dictionary
            .lexicals_sorted(&[TermId::MAX], &mut |_, _, _| {})
            .is_err()
    );
}

#[test]
fn single_terms() {
    for term in [
        iri("http://example.com/"),
        literal("", ""),
        literal("", "@en"),
        iri(""),
    ] {
        let model = BTreeSet::from([term]);
        check(&built(&model), &model);
    }
}

#[test]
fn numbers_of_terms_around_the_borders_of_groups_and_blocks() {
    for count in [
        2,
        GROUP_TERMS - 1,
        GROUP_TERMS,
        GROUP_TERMS + 1,
        2 * GROUP_TERMS,
        BLOCK_TERMS - 1,
        BLOCK_TERMS,
        BLOCK_TERMS + 1,
        2 * BLOCK_TERMS + GROUP_TERMS + 1,
    ] {
        let names = (0..count).map(|at| iri(format!("http://example.com/Student{at}@x.edu")));
        let model: BTreeSet<Term> = names.collect();
        let dictionary = built(&model);
        check(&dictionary, &model);
        let blocks = dictionary.trailer.sections[0].blocks;
        assert_eq!(blocks, count.div_ceil(BLOCK_TERMS) as u64);
    }
}

#[test]
fn one_lexical_form_with_many_annotations() {
    let mut model = BTreeSet::new();
    for tag in 0..2 * BLOCK_TERMS {
        model.insert(literal("same", &format!("@x-{tag}")));
        model.insert(literal(
            format!("other {}", tag % 50),
            &format!("@x-{}", tag / 50),
        ));
    }
    model.insert(literal("same", ""));
    model.insert((
        Kind::TemporalLiteral,
        b"same".to_vec(),
        b"^http://example.com/date".to_vec(),
    ));
    check(&built(&model), &model);
}

#[test]
fn long_terms_stand_alone() {
    let long = "0123456789abcdef".repeat(1 << 16);
    let mut model = BTreeSet::new();
    for length in [
        LONG_TERM_BYTES - 1,
        LONG_TERM_BYTES,
        LONG_TERM_BYTES + 1,
        1 << 16,
        1 << 20,
    ] {
        // Neighbours with megabytes in common, short terms between them.
        model.insert(literal(&long[..length], ""));
        model.insert(literal(&long[..length], "@en"));
        model.insert(literal(format!("{}x", &long[..length]), ""));
        model.insert(literal(
            format!("{}y", &long[..length]),
            "^http://example.com/type",
        ));
        model.insert(iri(format!("http://example.com/{}", &long[..length])));
    }
    model.extend((0..100).map(|at| literal(format!("0123 {at}"), "")));
    model.extend((0..100).map(|at| literal(format!("1 {at}"), "@de")));
    let storage = MemoryStorage::new();
    let summary = write(&storage, "dictionary", &model, |_| false);
    let raw: usize = model.iter().map(|term| term.1.len()).sum();
    assert_eq!(
        summary.sections.iter().map(|s| s.raw_bytes).sum::<u64>(),
        raw as u64
    );
    assert!(
        summary.file_bytes < raw as u64 + 8000,
        "long terms are stored once: {summary:?}"
    );
    check(
        &Dictionary::open(&storage, "dictionary").expect("open"),
        &model,
    );
}

#[test]
fn terms_of_a_few_kilobytes_bound_their_blocks() {
    let text = |at: usize| format!("{:05}", at * 7919 % 100_000).repeat(1 + at % 700);
    let model: BTreeSet<Term> = (0..600).map(|at| literal(text(at), "")).collect();
    let dictionary = built(&model);
    assert!(dictionary.trailer.sections[1].blocks > 10);
    check(&dictionary, &model);
}

#[test]
#[should_panic(expected = "not in order")]
fn terms_out_of_order_are_refused() {
    let mut builder = SectionBuilder::new(Kind::Iri);
    builder.push(b"http://example.com/b", 0);
    builder.push(b"http://example.com/a", 0);
}

#[test]
#[should_panic(expected = "not in order")]
fn a_term_twice_is_refused_across_runs() {
    let storage = MemoryStorage::new();
    let mut writer = DictionaryWriter::create(&storage, "d", FIRST, &[]).expect("create");
    for _ in 0..2 {
        let mut builder = SectionBuilder::new(Kind::Iri);
        builder.push(b"http://example.com/a", 0);
        writer.append(builder.finish()).expect("append");
    }
}

/// Lexical forms that are near one another in all the ways that blocks make use of.
fn lexical() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![
        4 => "http://www\\.Department[0-9]{1,2}\\.University[0-9]{1,2}\\.edu/(Graduate)?Student[0-9]{1,3}",
        4 => "(Under)?Graduate[0-9]{1,2}@Department[0-9]\\.edu",
        3 => "[ab.]{0,6}(\\.a)?",
        2 => "[0-9]{1,3}(\\.edu|\\.a\\.edu|)",
        2 => "(é|ü|日本|𝄞|x){0,4}",
        1 => "[ -~]{0,60}",
    ];
    prop_oneof![
        60 => text.prop_map(String::into_bytes),
        1 => ("[ab]", 1..9000_usize, "[ab.]{0,2}")
            .prop_map(|(letter, times, end)| (letter.repeat(times) + &end).into_bytes()),
    ]
}

fn term() -> impl Strategy<Value = Term> {
    let annotation = prop_oneof![
        6 => Just(String::new()),
        1 => "@(en|de|fr)(--ltr)?",
        1 => "\\^http://example\\.com/[abc]",
    ];
    let kind = prop::sample::select(vec![
        Kind::Iri,
        Kind::Literal,
        Kind::Literal,
        Kind::NumericLiteral,
        Kind::TemporalLiteral,
    ]);
    (kind, lexical(), annotation).prop_map(|(kind, lexical, annotation)| match kind {
        Kind::Iri => (kind, lexical, Vec::new()),
        _ => (kind, lexical, annotation.into_bytes()),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn dictionaries_know_what_was_written(
        model in prop::collection::btree_set(term(), 0..500),
    ) {
        check(&built(&model), &model);
    }

    /// Runs that threads built apart make the same dictionary as one run, but for where blocks end.
    #[test]
    fn runs_make_one_dictionary(
        model in prop::collection::btree_set(term(), 1..600),
        ends in prop::collection::hash_set(0..600_usize, 0..40),
    ) {
        let storage = MemoryStorage::new();
        write(&storage, "dictionary", &model, |index| ends.contains(&index));
        check(&Dictionary::open(&storage, "dictionary").expect("open"), &model);
    }
}
