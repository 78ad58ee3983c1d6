//! What a bulk load counts while it writes the orders: [`SubjectObserver`] sees the rows of `spo`
//! (or `spog`), a [`PairObserver`] those of `pso` or `pos` (or `psog`, `posg`). They share nothing,
//! so each may run in the thread that writes its order, on the very columns that it hands to the
//! [`OrderWriter`](crate::index::OrderWriter); predicates are ranks in the segment's list, as
//! there.
//!
//! What always holds: rows come in the order's sequence; memory is bounded by [`super::limits`] and
//! the number of predicates, whatever the number of rows is.

use super::limits;
use super::sketch::Sketch;
use super::{CharacteristicSet, Distinct, OtherPredicates, OtherSets};
use crate::id::TermId;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// No rank and no id: what an observer has seen before the first row.
const NONE: u64 = u64::MAX;

/// Counts the distinct second column within each predicate, in an order that begins with the
/// predicate.
#[derive(Debug)]
pub struct PairObserver {
    predicate: u64,
    last: u64,
    rows: u64,
    distinct: u64,
    sketch: Sketch,
    /// All predicates together.
    all: Sketch,
    found: Vec<PairCount>,
    sketches: usize,
}

/// What a [`PairObserver`] knows of one predicate.
#[derive(Debug)]
pub(super) struct PairCount {
    pub(super) rank: u64,
    pub(super) rows: u64,
    pub(super) distinct: Distinct,
}

impl Default for PairObserver {
    fn default() -> Self {
        Self {
            predicate: NONE,
            last: NONE,
            rows: 0,
            distinct: 0,
            sketch: Sketch::default(),
            all: Sketch::default(),
            found: Vec::new(),
            sketches: 0,
        }
    }
}

impl PairObserver {
    /// Counts rows: columns of equal length, the first the predicate's rank.
    pub fn observe(&mut self, columns: &[&[u64]]) {
        let (predicates, values) = (columns[0], columns[1]);
        assert_eq!(predicates.len(), values.len(), "columns of unequal length");
        let mut start = 0;
        while start < predicates.len() {
            let predicate = predicates[start];
            let rest = &predicates[start..];
            let length = if rest[rest.len() - 1] == predicate {
                rest.len()
            } else {
                rest.partition_point(|rank| *rank <= predicate)
            };
            if predicate != self.predicate {
                debug_assert!(self.predicate == NONE || predicate > self.predicate);
                self.end_predicate();
                self.predicate = predicate;
                self.last = NONE;
            }
            self.rows += length as u64;
            for value in &values[start..start + length] {
                // No branch: rows that repeat the value leave the sketch as it is.
                self.distinct += u64::from(*value != self.last);
                self.last = *value;
                self.sketch.insert(TermId::from_bits(*value));
            }
            start += length;
        }
    }

    /// Whether no row was seen.
    pub fn is_empty(&self) -> bool {
        self.predicate == NONE
    }

    fn end_predicate(&mut self) {
        if self.predicate == NONE {
            return;
        }
        self.all.merge(&self.sketch);
        let sketch = (self.distinct >= limits::SKETCH_FROM_DISTINCT).then(|| self.sketch.clone());
        self.sketches += usize::from(sketch.is_some());
        self.found.push(PairCount {
            rank: self.predicate,
            rows: self.rows,
            distinct: Distinct {
                count: self.distinct,
                sketch,
            },
        });
        self.sketch.clear();
        self.rows = 0;
        self.distinct = 0;
        if self.sketches > 2 * limits::SKETCHES {
            self.keep_largest_sketches();
        }
    }

    fn keep_largest_sketches(&mut self) {
        let mut with_sketch: Vec<usize> = (0..self.found.len())
            .filter(|index| self.found[*index].distinct.sketch.is_some())
            .collect();
        with_sketch.sort_by_key(|index| std::cmp::Reverse(self.found[*index].distinct.count));
        for index in with_sketch.drain(..).skip(limits::SKETCHES) {
            self.found[index].distinct.sketch = None;
        }
        self.sketches = self.sketches.min(limits::SKETCHES);
    }

    /// Per predicate in the order of ranks, and the sketch of all.
    pub(super) fn finish(mut self) -> (Vec<PairCount>, Sketch) {
        self.end_predicate();
        self.keep_largest_sketches();
        (self.found, self.all)
    }
}

/// Counts subjects and their characteristic sets, in an order that begins with subject and
/// predicate.
#[derive(Debug)]
pub struct SubjectObserver {
    subject: u64,
    /// The predicates of the current subject, as far as they lie in earlier chunks, and how often
    /// each occurs: a subject may have more rows than memory has room for.
    carried: Vec<(u64, u64)>,
    rows: u64,
    subjects: u64,
    sketch: Sketch,
    shapes: ShapeTable,
}

impl Default for SubjectObserver {
    fn default() -> Self {
        Self {
            subject: NONE,
            carried: Vec::new(),
            rows: 0,
            subjects: 0,
            sketch: Sketch::default(),
            shapes: ShapeTable::default(),
        }
    }
}

impl SubjectObserver {
    /// Counts rows: columns of equal length, the first the subject, the second the predicate's
    /// rank.
    pub fn observe(&mut self, columns: &[&[u64]]) {
        let (subjects, predicates) = (columns[0], columns[1]);
        assert_eq!(
            subjects.len(),
            predicates.len(),
            "columns of unequal length"
        );
        self.rows += subjects.len() as u64;
        let mut start = 0;
        while start < subjects.len() {
            let subject = subjects[start];
            let mut end = start + 1;
            while end < subjects.len() && subjects[end] == subject {
                end += 1;
            }
            if subject != self.subject {
                self.end_carried();
                self.subject = subject;
            }
            if end == subjects.len() || !self.carried.is_empty() {
                // The subject may go on in the next chunk, or began in the last.
                self.carry(&predicates[start..end]);
            } else {
                self.end_subject(&predicates[start..end]);
            }
            start = end;
        }
    }

    fn carry(&mut self, predicates: &[u64]) {
        for same in predicates.chunk_by(|a, b| a == b) {
            match self.carried.last_mut() {
                Some((rank, rows)) if *rank == same[0] => *rows += same.len() as u64,
                _ => self.carried.push((same[0], same.len() as u64)),
            }
        }
    }

    fn end_carried(&mut self) {
        if !self.carried.is_empty() {
            self.count_subject();
            self.shapes.add_carried(&self.carried);
            self.carried.clear();
        }
    }

    fn end_subject(&mut self, predicates: &[u64]) {
        self.count_subject();
        self.shapes.add(predicates);
    }

    fn count_subject(&mut self) {
        self.subjects += 1;
        self.sketch.insert(TermId::from_bits(self.subject));
    }

    /// Rows, distinct subjects, and the characteristic sets.
    pub(super) fn finish(
        mut self,
        predicates: &[TermId],
    ) -> (u64, Distinct, Vec<CharacteristicSet>, OtherSets) {
        self.end_carried();
        let sketch = (self.subjects >= limits::SKETCH_FROM_DISTINCT).then_some(self.sketch);
        let (sets, others) = self.shapes.finish(predicates);
        let distinct = Distinct {
            count: self.subjects,
            sketch,
        };
        (self.rows, distinct, sets, others)
    }
}

/// The shapes seen since the last folding. A *shape* is what a subject's rows have in the predicate
/// column, repetitions included; there are more shapes than characteristic sets, but to find and
/// count one takes a hash, a comparison and an addition, however many rows the subject has. Shapes
/// are folded into sets when there are too many.
#[derive(Debug, Default)]
struct ShapeTable {
    table: HashTable<u32>,
    shapes: Vec<Shape>,
    /// The predicates of all shapes, one after another.
    members: Vec<u64>,
    sets: SetTable,
}

#[derive(Debug, Clone, Copy)]
struct Shape {
    hash: u64,
    start: u32,
    length: u32,
    subjects: u64,
}

impl Shape {
    fn range(&self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.length) as usize
    }
}

impl ShapeTable {
    #[inline]
    fn add(&mut self, predicates: &[u64]) {
        if predicates.len() > SHAPE_ROWS {
            self.sets.add_shape(predicates, 1);
            return;
        }
        let hash = hash_of(predicates);
        let found = self.table.find(hash, |index| {
            let shape = &self.shapes[*index as usize];
            shape.hash == hash && self.members[shape.range()] == *predicates
        });
        match found {
            Some(index) => self.shapes[*index as usize].subjects += 1,
            None => self.insert(hash, predicates),
        }
    }

    /// The same for a subject of which it is known how often it has each predicate.
    fn add_carried(&mut self, predicates: &[(u64, u64)]) {
        let rows = predicates.iter().map(|(_, rows)| *rows);
        if rows.sum::<u64>() > SHAPE_ROWS as u64 {
            self.sets.add_subjects(predicates.iter().copied(), 1);
            return;
        }
        let mut shape = [0; SHAPE_ROWS];
        let mut length = 0;
        for (rank, rows) in predicates {
            let end = length + *rows as usize;
            shape[length..end].fill(*rank);
            length = end;
        }
        self.add(&shape[..length]);
    }

    fn insert(&mut self, hash: u64, predicates: &[u64]) {
        if self.members.len() + predicates.len() > SHAPE_MEMBERS {
            self.fold();
        }
        let index = self.shapes.len() as u32;
        self.shapes.push(Shape {
            hash,
            start: self.members.len() as u32,
            length: predicates.len() as u32,
            subjects: 1,
        });
        self.members.extend_from_slice(predicates);
        let shapes = &self.shapes;
        self.table
            .insert_unique(hash, index, |index| shapes[*index as usize].hash);
    }

    fn fold(&mut self) {
        for shape in self.shapes.drain(..) {
            self.sets
                .add_shape(&self.members[shape.range()], shape.subjects);
        }
        self.members.clear();
        self.table.clear();
    }

    fn finish(mut self, predicates: &[TermId]) -> (Vec<CharacteristicSet>, OtherSets) {
        self.fold();
        self.sets.finish(predicates)
    }
}

/// A subject of more rows is put into its set at once; its shape is hardly met again.
const SHAPE_ROWS: usize = 64;
/// Predicates of all shapes together before they are folded: 512 KiB.
const SHAPE_MEMBERS: usize = 1 << 16;

/// Few instructions for the few small numbers of a shape; the table wants the upper bits mixed too.
#[inline]
fn hash_of(predicates: &[u64]) -> u64 {
    let hash = predicates
        .iter()
        .fold(predicates.len() as u64, |hash, rank| {
            (hash.rotate_left(23) ^ rank).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        });
    hash ^ (hash >> 32)
}

/// The characteristic sets seen so far. The members of all sets lie in one vector, one set after
/// another.
#[derive(Debug, Default)]
struct SetTable {
    hasher: hashbrown::DefaultHashBuilder,
    table: HashTable<u32>,
    sets: Vec<SetEntry>,
    ranks: Vec<u32>,
    occurrences: Vec<u64>,
    others: OtherSets,
    /// Kept for their memory.
    current_ranks: Vec<u32>,
    current_occurrences: Vec<u64>,
}

#[derive(Debug, Clone, Copy)]
struct SetEntry {
    start: u32,
    length: u32,
    subjects: u64,
}

impl SetEntry {
    fn range(&self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.length) as usize
    }
}

impl SetTable {
    /// Counts subjects that all have these predicates, ascending, perhaps repeated.
    fn add_shape(&mut self, predicates: &[u64], subjects: u64) {
        let counted = predicates
            .chunk_by(|a, b| a == b)
            .map(|same| (same[0], same.len() as u64));
        self.add_subjects(counted, subjects);
    }

    /// Counts subjects that all have these predicates, ascending, each as often.
    fn add_subjects(&mut self, predicates: impl Iterator<Item = (u64, u64)>, subjects: u64) {
        let mut ranks = std::mem::take(&mut self.current_ranks);
        let mut occurrences = std::mem::take(&mut self.current_occurrences);
        ranks.clear();
        occurrences.clear();
        for (rank, rows) in predicates {
            ranks.push(u32::try_from(rank).expect("fewer than 2^32 predicates"));
            occurrences.push(rows * subjects);
        }
        self.add(&ranks, &occurrences, subjects);
        (self.current_ranks, self.current_occurrences) = (ranks, occurrences);
    }

    fn add(&mut self, ranks: &[u32], occurrences: &[u64], subjects: u64) {
        if ranks.len() > limits::SET_PREDICATES {
            self.others.subjects += subjects;
            self.others.rows += occurrences.iter().sum::<u64>();
            return;
        }
        let index = self.find_or_insert(ranks);
        let entry = &mut self.sets[index];
        entry.subjects += subjects;
        for (total, count) in self.occurrences[entry.range()].iter_mut().zip(occurrences) {
            *total += count;
        }
    }

    fn find_or_insert(&mut self, ranks: &[u32]) -> usize {
        let hash = self.hasher.hash_one(ranks);
        let found = self.table.find(hash, |index| {
            self.ranks[self.sets[*index as usize].range()] == *ranks
        });
        if let Some(index) = found {
            return *index as usize;
        }
        if self.sets.len() >= 2 * limits::SETS || self.ranks.len() >= 2 * limits::SET_MEMBERS {
            self.keep_largest();
        }
        let index = self.sets.len();
        self.sets.push(SetEntry {
            start: self.ranks.len() as u32,
            length: ranks.len() as u32,
            subjects: 0,
        });
        self.ranks.extend_from_slice(ranks);
        self.occurrences.resize(self.ranks.len(), 0);
        let Self {
            hasher,
            table,
            sets,
            ranks: all,
            ..
        } = self;
        table.insert_unique(hash, index as u32, |index| {
            hasher.hash_one(&all[sets[*index as usize].range()])
        });
        index
    }

    /// Keeps the sets of most subjects within the bounds; the others are counted together.
    fn keep_largest(&mut self) {
        let mut sets = std::mem::take(&mut self.sets);
        sets.sort_by_key(|entry| std::cmp::Reverse(entry.subjects));
        let ranks = std::mem::take(&mut self.ranks);
        let occurrences = std::mem::take(&mut self.occurrences);
        self.table.clear();
        for entry in sets {
            let members = self.ranks.len() + entry.length as usize;
            if self.sets.len() < limits::SETS && members <= limits::SET_MEMBERS {
                let start = self.ranks.len() as u32;
                self.ranks.extend_from_slice(&ranks[entry.range()]);
                self.occurrences
                    .extend_from_slice(&occurrences[entry.range()]);
                let index = self.sets.len() as u32;
                self.sets.push(SetEntry { start, ..entry });
                let Self {
                    hasher,
                    table,
                    sets,
                    ranks: all,
                    ..
                } = self;
                let hash = hasher.hash_one(&all[sets[index as usize].range()]);
                table.insert_unique(hash, index, |index| {
                    hasher.hash_one(&all[sets[*index as usize].range()])
                });
            } else {
                self.others.sets += 1;
                self.others.subjects += entry.subjects;
                self.others.rows += occurrences[entry.range()].iter().sum::<u64>();
            }
        }
    }

    fn finish(mut self, predicates: &[TermId]) -> (Vec<CharacteristicSet>, OtherSets) {
        self.keep_largest();
        let mut sets: Vec<CharacteristicSet> = self
            .sets
            .iter()
            .map(|entry| CharacteristicSet {
                predicates: self.ranks[entry.range()]
                    .iter()
                    .map(|rank| predicates[*rank as usize])
                    .collect(),
                occurrences: self.occurrences[entry.range()].into(),
                subjects: entry.subjects,
            })
            .collect();
        sets.sort_by(|a, b| a.predicates.cmp(&b.predicates));
        (sets, self.others)
    }
}

/// Adds a predicate that the bound leaves out of the list.
pub(super) fn add_other(others: &mut OtherPredicates, rows: u64, subjects: u64, objects: u64) {
    others.predicates += 1;
    others.rows += rows;
    others.subjects += subjects;
    others.objects += objects;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Kind;

    /// Rows of subject, predicate's rank, as many as there are of each.
    fn observe(rows: &[(u64, u64, usize)], chunk: usize) -> SubjectObserver {
        let rows: Vec<(u64, u64)> = rows
            .iter()
            .flat_map(|(subject, rank, count)| std::iter::repeat_n((*subject, *rank), *count))
            .collect();
        let mut observer = SubjectObserver::default();
        for rows in rows.chunks(chunk) {
            let (subjects, ranks): (Vec<u64>, Vec<u64>) = rows.iter().copied().unzip();
            observer.observe(&[&subjects, &ranks]);
            assert!(observer.carried.len() <= 3, "memory grows with the rows");
        }
        observer
    }

    #[test]
    fn a_subject_of_a_great_many_rows_takes_no_memory_for_each() {
        let id = |number| TermId::new(Kind::Iri, number);
        let predicates = [id(1), id(2), id(3)];
        let rows = [
            (1, 0, 1),
            (1, 2, 2),
            (5, 0, 20_000),
            (5, 1, 1),
            (5, 2, 7_000),
            (6, 0, SHAPE_ROWS - 1),
            (6, 1, 1),
            (7, 0, SHAPE_ROWS),
            (7, 1, 1),
            (8, 0, 3),
            (8, 2, 1),
        ];
        let expected = observe(&rows, usize::MAX).finish(&predicates);
        assert_eq!((expected.0, expected.1.count), (27_137, 5));
        let set = &expected.2[1];
        assert_eq!(*set.predicates, predicates);
        assert_eq!(*set.occurrences, [20_000, 1, 7_000]);
        for chunk in [1, 2, 64, 65, 4_096] {
            assert_eq!(
                observe(&rows, chunk).finish(&predicates),
                expected,
                "{chunk}"
            );
        }
    }
}
