//! Statistics against counting by hand, and the file against the bytes that the byte map promises.

use super::*;
use crate::id::Kind;
use crate::io::memory::MemoryStorage;
use std::collections::{BTreeMap, BTreeSet};

fn id(number: u64) -> TermId {
    TermId::new(Kind::Iri, number)
}

fn feed(rows: &[[u64; 3]], chunk: usize, mut observe: impl FnMut(&[&[u64]])) {
    for rows in rows.chunks(chunk) {
        let columns: Vec<Vec<u64>> = (0..3)
            .map(|column| rows.iter().map(|row| row[column]).collect())
            .collect();
        let columns: Vec<&[u64]> = columns.iter().map(Vec::as_slice).collect();
        observe(&columns);
    }
}

/// Rows of subject, predicate's rank, object; sorted and distinct in each order.
fn observe(
    rows: &BTreeSet<[u64; 3]>,
    chunk: usize,
) -> (SubjectObserver, PairObserver, PairObserver) {
    let columns = |order: [usize; 3]| {
        let mut sorted: Vec<[u64; 3]> = rows
            .iter()
            .map(|row| order.map(|column| row[column]))
            .collect();
        sorted.sort_unstable();
        sorted
    };
    let (mut spo, mut pso, mut pos) = Default::default();
    feed(&columns([0, 1, 2]), chunk, |columns| {
        SubjectObserver::observe(&mut spo, columns);
    });
    feed(&columns([1, 0, 2]), chunk, |columns| {
        PairObserver::observe(&mut pso, columns);
    });
    feed(&columns([1, 2, 0]), chunk, |columns| {
        PairObserver::observe(&mut pos, columns);
    });
    (spo, pso, pos)
}

fn count(rows: &BTreeSet<[u64; 3]>, predicates: &[TermId], chunk: usize) -> GraphStatistics {
    let (spo, pso, pos) = observe(rows, chunk);
    GraphStatistics::from_observers(predicates, spo, pso, pos)
}

/// Subjects of a few shapes, some with several objects for a predicate.
fn rows(subjects: std::ops::Range<u64>) -> BTreeSet<[u64; 3]> {
    let mut rows = BTreeSet::new();
    for subject in subjects {
        let shape: &[u64] = [&[0, 1, 2][..], &[0, 2], &[1, 3, 4], &[4]][(subject % 7 % 4) as usize];
        for rank in shape {
            for value in 0..=(subject % 3) * (rank % 2) {
                rows.insert([
                    id(subject).bits(),
                    *rank,
                    id(subject * rank / 5 + value).bits(),
                ]);
            }
        }
    }
    rows
}

fn predicates() -> Vec<TermId> {
    (0..5).map(|rank| id(100 + rank)).collect()
}

#[test]
fn counts_are_those_of_the_rows() {
    let rows = rows(0..3_000);
    let statistics = count(&rows, &predicates(), 4096);
    assert_eq!(statistics.rows, rows.len() as u64);
    assert_eq!(statistics.subjects.count, 3_000);
    let objects = rows.iter().map(|row| row[2]).collect::<BTreeSet<_>>().len() as f64;
    assert!((statistics.objects.count as f64 - objects).abs() < 0.13 * objects);
    for (rank, predicate) in predicates().into_iter().enumerate() {
        let of: Vec<_> = rows.iter().filter(|row| row[1] == rank as u64).collect();
        let entry = statistics.predicate(predicate).expect("it occurs");
        assert_eq!(entry.rows, of.len() as u64);
        let distinct = |column: usize| {
            of.iter()
                .map(|row| row[column])
                .collect::<BTreeSet<_>>()
                .len()
        };
        assert_eq!(entry.subjects.count, distinct(0) as u64);
        assert_eq!(entry.objects.count, distinct(2) as u64);
    }
    assert!(statistics.predicate(id(99)).is_none());
}

#[test]
fn characteristic_sets_are_those_of_the_subjects() {
    let rows = rows(0..3_000);
    let statistics = count(&rows, &predicates(), 4096);
    let mut by_subject: BTreeMap<u64, BTreeMap<u64, u64>> = BTreeMap::new();
    for [subject, rank, _] in &rows {
        *by_subject
            .entry(*subject)
            .or_default()
            .entry(*rank)
            .or_default() += 1;
    }
    let mut expected: BTreeMap<Vec<TermId>, (u64, Vec<u64>)> = BTreeMap::new();
    for counts in by_subject.values() {
        let key = counts
            .keys()
            .map(|rank| predicates()[*rank as usize])
            .collect();
        let entry = expected
            .entry(key)
            .or_insert_with(|| (0, vec![0; counts.len()]));
        entry.0 += 1;
        for (total, count) in entry.1.iter_mut().zip(counts.values()) {
            *total += count;
        }
    }
    let found: BTreeMap<Vec<TermId>, (u64, Vec<u64>)> = statistics
        .sets
        .iter()
        .map(|set| {
            (
                set.predicates.to_vec(),
                (set.subjects, set.occurrences.to_vec()),
            )
        })
        .collect();
    assert_eq!(found, expected);
    assert_eq!(statistics.other_sets, OtherSets::default());

    // Stars are exact for subjects, and for rows where no predicate repeats.
    let having = |ranks: &[u64]| {
        by_subject
            .values()
            .filter(|counts| ranks.iter().all(|rank| counts.contains_key(rank)))
            .count()
    };
    for ranks in [&[0][..], &[0, 2], &[0, 2, 1], &[4], &[0, 4], &[3, 4]] {
        let star: Vec<TermId> = ranks
            .iter()
            .map(|rank| predicates()[*rank as usize])
            .collect();
        let star = statistics.star(&star);
        assert!(star.complete);
        assert!(
            (star.subjects - having(ranks) as f64).abs() < 1e-6,
            "{ranks:?}"
        );
    }
    let star = statistics.star(&[predicates()[0], predicates()[2]]);
    assert!(
        (star.rows - star.subjects).abs() < 1e-6,
        "both have one object for each subject"
    );
}

#[test]
fn chunks_make_no_difference() {
    let rows = rows(0..1_000);
    let whole = count(&rows, &predicates(), usize::MAX);
    for chunk in [1, 2, 3, 100] {
        assert_eq!(count(&rows, &predicates(), chunk), whole);
    }
}

#[test]
fn nothing_is_the_default() {
    assert_eq!(count(&BTreeSet::new(), &[], 1), GraphStatistics::default());
}

#[test]
fn merged_statistics_add_rows_and_estimate_distinct_ids() {
    // Half of the subjects are in both parts.
    let (left, right) = (rows(0..20_000), rows(10_000..30_000));
    let right: BTreeSet<_> = right.difference(&left).copied().collect();
    let right_twin: BTreeSet<_> = right
        .iter()
        .map(|row| [row[0], row[1], row[2] + 1])
        .collect();
    let part = |rows: &BTreeSet<_>| Statistics {
        default_graph: count(rows, &predicates(), 4096),
        named_graphs: GraphStatistics::default(),
    };
    let merged = Statistics::merge([&part(&left), &part(&right), &part(&right_twin)]);
    let merged = &merged.default_graph;
    assert_eq!(merged.rows, (left.len() + 2 * right.len()) as u64);
    assert!((merged.subjects.count as f64 - 30_000.0).abs() < 0.13 * 30_000.0);
    for (rank, predicate) in predicates().into_iter().enumerate() {
        let of = |rows: &BTreeSet<[u64; 3]>| {
            rows.iter()
                .filter(|row| row[1] == rank as u64)
                .map(|row| row[0])
                .collect::<BTreeSet<_>>()
        };
        let entry = merged.predicate(predicate).expect("it occurs");
        let subjects = of(&left).union(&of(&right)).count() as f64;
        let error = (entry.subjects.count as f64 - subjects).abs();
        assert!(
            error < 0.13 * subjects,
            "{} for {subjects}",
            entry.subjects.count
        );
    }
    let subjects: u64 = merged.sets.iter().map(|set| set.subjects).sum();
    assert_eq!(
        subjects,
        20_000 + 10_000 + 10_000,
        "a subject counts in each part"
    );
}

#[test]
fn bounds_hold_and_nothing_is_lost() {
    // Each subject has a set of its own, and predicates are many.
    let count_of_predicates = limits::PREDICATES as u64 + 500;
    let predicates: Vec<TermId> = (0..count_of_predicates).map(id).collect();
    let mut rows = BTreeSet::new();
    for subject in 0..count_of_predicates / 2 {
        for rank in [2 * subject, 2 * subject + 1] {
            rows.insert([id(subject).bits(), rank, id(subject).bits()]);
        }
    }
    // One subject with more predicates than a set may have.
    let huge = limits::SET_PREDICATES as u64 + 1;
    rows.extend((0..huge).map(|rank| [id(count_of_predicates).bits(), rank, 7]));
    // Two sets that many subjects have, met first and last.
    for subject in 0..50 {
        rows.insert([subject, 0, 1]);
        rows.insert([id(1 << 40).bits() + subject, 1, 1]);
    }
    let statistics = count(&rows, &predicates, 4096);
    assert_eq!(statistics.predicates.len(), limits::PREDICATES);
    assert_eq!(statistics.other_predicates.predicates, 500);
    let listed: u64 = statistics.predicates.iter().map(|entry| entry.rows).sum();
    assert_eq!(listed + statistics.other_predicates.rows, rows.len() as u64);

    assert_eq!(statistics.sets.len(), limits::SETS);
    let subjects: u64 = statistics.sets.iter().map(|set| set.subjects).sum();
    assert_eq!(
        subjects + statistics.other_sets.subjects,
        statistics.subjects.count
    );
    let listed: u64 = statistics
        .sets
        .iter()
        .flat_map(|set| &set.occurrences)
        .sum();
    assert_eq!(listed + statistics.other_sets.rows, rows.len() as u64);
    for predicate in [id(0), id(1)] {
        let common = statistics
            .sets
            .iter()
            .find(|set| *set.predicates == [predicate]);
        assert_eq!(
            common.map(|set| set.subjects),
            Some(50),
            "the largest sets are kept"
        );
    }
    assert!(!statistics.star(&[id(0)]).complete);
}

#[test]
fn only_the_largest_sketches_are_kept() {
    let predicates: Vec<TermId> = (0..2 * limits::SKETCHES as u64 + 2).map(id).collect();
    let mut pso = PairObserver::default();
    for rank in 0..predicates.len() as u64 {
        let rows = limits::SKETCH_FROM_DISTINCT + rank;
        let values: Vec<u64> = (0..rows).map(|value| id(value).bits()).collect();
        pso.observe(&[&vec![rank; values.len()], &values]);
    }
    let (found, all) = pso.finish();
    for count in &found {
        let is_large = count.rank >= predicates.len() as u64 - limits::SKETCHES as u64;
        assert_eq!(
            count.distinct.sketch.is_some(),
            is_large,
            "rank {}",
            count.rank
        );
    }
    assert!(all.estimate() > limits::SKETCH_FROM_DISTINCT);
}

fn written(statistics: &Statistics) -> (MemoryStorage, crate::io::checked::CheckedFile) {
    let storage = MemoryStorage::new();
    let file = file::write(&storage, "statistics", statistics).expect("memory takes it");
    file.sync().expect("memory takes it");
    let file = file::open(&storage, "statistics").expect("just written");
    (storage, file)
}

#[test]
fn a_file_gives_back_what_was_written() {
    let statistics = Statistics {
        default_graph: count(&rows(0..3_000), &predicates(), 4096),
        named_graphs: count(&rows(7..90), &predicates(), 4096),
    };
    assert!(statistics.default_graph.subjects.sketch.is_some());
    assert!(statistics.named_graphs.subjects.sketch.is_none());
    for statistics in [statistics, Statistics::default()] {
        let (_storage, file) = written(&statistics);
        assert_eq!(file::read(&file).expect("just written"), statistics);
    }
}

#[test]
fn the_byte_map_is_what_is_written() {
    let statistics = Statistics {
        default_graph: GraphStatistics {
            rows: 1,
            subjects: Distinct {
                count: 2,
                sketch: None,
            },
            objects: Distinct {
                count: 3,
                sketch: Some(Sketch::default()),
            },
            predicates: vec![PredicateStatistics {
                predicate: TermId::from_bits(4),
                rows: 5,
                subjects: Distinct {
                    count: 6,
                    sketch: None,
                },
                objects: Distinct {
                    count: 7,
                    sketch: None,
                },
            }],
            other_predicates: OtherPredicates {
                predicates: 8,
                rows: 9,
                subjects: 10,
                objects: 11,
            },
            sets: vec![CharacteristicSet {
                predicates: [TermId::from_bits(12), TermId::from_bits(13)].into(),
                occurrences: [14, 15].into(),
                subjects: 16,
            }],
            other_sets: OtherSets {
                sets: 17,
                subjects: 18,
                rows: 19,
            },
        },
        named_graphs: GraphStatistics::default(),
    };
    let mut expected = Vec::new();
    let numbers = |numbers: &[u64], expected: &mut Vec<u8>| {
        expected.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    };
    numbers(&[1, 2, 0, 3, 1], &mut expected);
    expected.extend([0; 1024]);
    numbers(&[1, 4, 5, 6, 0, 7, 0, 8, 9, 10, 11], &mut expected);
    numbers(&[1, 16, 2, 12, 14, 13, 15, 17, 18, 19], &mut expected);
    numbers(&[0; 5 + 1 + 4 + 1 + 3], &mut expected);
    let (_storage, file) = written(&statistics);
    assert_eq!(file.bytes(0..file.len()).expect("just written"), expected);
}

#[test]
fn wrong_bytes_are_an_error_and_never_a_panic() {
    let statistics = Statistics {
        default_graph: count(&rows(0..2_000), &predicates(), 4096),
        named_graphs: count(&rows(7..90), &predicates(), 4096),
    };
    let (_storage, file) = written(&statistics);
    let payload = file.bytes(0..file.len()).expect("just written").to_vec();
    let read = |payload: &[u8]| {
        let storage = MemoryStorage::new();
        let mut writer = crate::io::checked::CheckedWriter::create(
            &storage,
            "statistics",
            file::MAGIC,
            file::VERSION,
        )
        .expect("memory takes it");
        writer.write_all(payload).expect("memory takes it");
        writer
            .finish()
            .and_then(crate::io::checked::Unsynced::sync)
            .expect("memory takes it");
        file::read(&file::open(&storage, "statistics").expect("checksums are right"))
    };
    for length in (0..payload.len()).step_by(8) {
        assert!(read(&payload[..length]).is_err(), "{length} bytes");
    }
    // Lengths that claim too much, wherever they stand: nothing is allocated for them, nothing
    // panics.
    for place in (0..payload.len() - 8).step_by(8) {
        for claim in [u64::MAX, 1 << 40, payload.len() as u64] {
            let mut damaged = payload.clone();
            damaged[place..place + 8].copy_from_slice(&claim.to_le_bytes());
            drop(read(&damaged));
        }
    }
}
