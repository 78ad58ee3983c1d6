//! Statistics: what the planner may know of a set of quads without reading them.
//!
//! They are counted while a segment is written ([`observe`]), kept in a file beside its orders
//! ([`mod@file`]) and merged over the segments of a snapshot. They describe inserted quads; tombstones
//! are not subtracted. **They estimate; only exact row counts ever answer a query.**
//!
//! Of one segment, rows and distinct subjects and objects of a predicate are exact. Over several
//! segments, which may hold the same subject, distinct counts come from [sketches](sketch) for
//! predicates that have one, and are upper bounds for the small rest.

pub mod file;
pub mod limits;
pub mod observe;
pub mod sketch;
#[cfg(test)]
mod tests;

pub use observe::{PairObserver, SubjectObserver};
pub use sketch::Sketch;

use crate::id::TermId;
use std::collections::BTreeMap;

/// The statistics of a segment, or of several merged.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Statistics {
    /// Triples of the default graph.
    pub default_graph: GraphStatistics,
    /// Quads of all named graphs together; a triple in two graphs counts twice as a row.
    pub named_graphs: GraphStatistics,
}

/// The statistics of the default graph, or of the named graphs together.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GraphStatistics {
    /// Rows.
    pub rows: u64,
    /// Distinct subjects.
    pub subjects: Distinct,
    /// Distinct objects, always estimated.
    pub objects: Distinct,
    /// The predicates with most rows, sorted by id.
    pub predicates: Vec<PredicateStatistics>,
    /// The predicates that have no entry of their own.
    pub other_predicates: OtherPredicates,
    /// Characteristic sets of subjects, sorted by their predicates.
    pub sets: Vec<CharacteristicSet>,
    /// The subjects whose sets have no entry of their own.
    pub other_sets: OtherSets,
}

/// A number of distinct ids.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Distinct {
    /// The count: exact in one segment, estimated over several.
    pub count: u64,
    /// What the count is merged by, where it is large enough.
    pub sketch: Option<Sketch>,
}

/// What is known of one predicate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PredicateStatistics {
    /// The predicate.
    pub predicate: TermId,
    /// Rows that have it.
    pub rows: u64,
    /// Distinct subjects that have it.
    pub subjects: Distinct,
    /// Distinct objects that it has.
    pub objects: Distinct,
}

/// Predicates counted together: sums over them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(
    missing_docs,
    reason = "sums of what the fields of PredicateStatistics count"
)]
pub struct OtherPredicates {
    pub predicates: u64,
    pub rows: u64,
    pub subjects: u64,
    pub objects: u64,
}

/// The subjects that have exactly these predicates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CharacteristicSet {
    /// The predicates, ascending.
    pub predicates: Box<[TermId]>,
    /// How many rows of these subjects have each of the predicates.
    pub occurrences: Box<[u64]>,
    /// How many subjects have this set.
    pub subjects: u64,
}

/// Characteristic sets counted together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(
    missing_docs,
    reason = "sums of what the fields of CharacteristicSet count"
)]
pub struct OtherSets {
    pub sets: u64,
    pub subjects: u64,
    pub rows: u64,
}

/// An estimate for a star: several patterns that share their subject.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Star {
    /// Subjects that have all the predicates.
    pub subjects: f64,
    /// Rows of the join on the subject, when all objects are free.
    pub rows: f64,
    /// Whether every subject was counted in a set of its own: then `subjects` is exact in one
    /// segment.
    pub complete: bool,
}

impl Statistics {
    /// Merges the statistics of several segments.
    pub fn merge<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut parts = parts.into_iter();
        let mut merged = parts.next().cloned().unwrap_or_default();
        for part in parts {
            merged.default_graph.add(&part.default_graph);
            merged.named_graphs.add(&part.named_graphs);
        }
        merged
    }
}

impl GraphStatistics {
    /// Puts together what the three observers of one load saw: the rows of `spo`, `pso` and `pos`
    /// (for named graphs `spog`, `psog`, `posg`). `predicates` is the segment's sorted list.
    ///
    /// # Panics
    /// If the observers did not see the same rows.
    pub fn from_observers(
        predicates: &[TermId],
        spo: SubjectObserver,
        pso: PairObserver,
        pos: PairObserver,
    ) -> Self {
        match Self::try_from_observers(predicates, spo, pso, pos) {
            Ok(statistics) => statistics,
            Err(reason) => panic!("{reason}"),
        }
    }

    /// The same, for rows that may be damaged.
    ///
    /// # Errors
    /// What shows that the observers did not see the same rows.
    pub fn try_from_observers(
        predicates: &[TermId],
        spo: SubjectObserver,
        pso: PairObserver,
        pos: PairObserver,
    ) -> Result<Self, &'static str> {
        let (rows, subjects, sets, other_sets) = spo.finish(predicates);
        if rows == 0 && pso.is_empty() && pos.is_empty() {
            return Ok(Self::default());
        }
        let (subject_counts, _) = pso.finish();
        let (object_counts, all_objects) = pos.finish();
        if subject_counts.len() != object_counts.len() {
            return Err("pso and pos have different predicates");
        }
        let mut statistics = Self {
            rows,
            subjects,
            objects: Distinct {
                count: all_objects.estimate().min(rows),
                sketch: (rows > 0).then_some(all_objects),
            },
            sets,
            other_sets,
            ..Self::default()
        };
        for (subject, object) in subject_counts.into_iter().zip(object_counts) {
            if (subject.rank, subject.rows) != (object.rank, object.rows) {
                return Err("pso and pos have different rows of a predicate");
            }
            statistics.predicates.push(PredicateStatistics {
                predicate: predicates[subject.rank as usize],
                rows: subject.rows,
                subjects: subject.distinct,
                objects: object.distinct,
            });
        }
        let seen: u64 = statistics.predicates.iter().map(|entry| entry.rows).sum();
        if seen != rows {
            return Err("spo and pso have different rows");
        }
        statistics.keep_largest_predicates();
        Ok(statistics)
    }

    /// What is known of a predicate; `None` if it does not occur, or is counted among the others.
    pub fn predicate(&self, predicate: TermId) -> Option<&PredicateStatistics> {
        self.predicates
            .binary_search_by_key(&predicate, |entry| entry.predicate)
            .ok()
            .map(|index| &self.predicates[index])
    }

    /// Estimates a star over these distinct predicates: subjects that have them all, and the rows
    /// of their join.
    pub fn star(&self, predicates: &[TermId]) -> Star {
        let mut star = Star {
            subjects: 0.0,
            rows: 0.0,
            complete: self.other_sets.subjects == 0,
        };
        for set in &self.sets {
            let subjects = set.subjects as f64;
            let rows = predicates.iter().try_fold(subjects, |rows, predicate| {
                let index = set.predicates.binary_search(predicate).ok()?;
                Some(rows * set.occurrences[index] as f64 / subjects)
            });
            if let Some(rows) = rows {
                star.subjects += subjects;
                star.rows += rows;
            }
        }
        star
    }

    /// Adds the statistics of another set of quads, disjoint from this one.
    fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.subjects.add(&other.subjects);
        self.objects.add(&other.objects);
        self.other_predicates.predicates += other.other_predicates.predicates;
        self.other_predicates.rows += other.other_predicates.rows;
        self.other_predicates.subjects += other.other_predicates.subjects;
        self.other_predicates.objects += other.other_predicates.objects;
        self.other_sets.sets += other.other_sets.sets;
        self.other_sets.subjects += other.other_sets.subjects;
        self.other_sets.rows += other.other_sets.rows;

        let mut predicates: BTreeMap<TermId, PredicateStatistics> =
            std::mem::take(&mut self.predicates)
                .into_iter()
                .map(|entry| (entry.predicate, entry))
                .collect();
        for entry in &other.predicates {
            predicates
                .entry(entry.predicate)
                .and_modify(|known| {
                    known.rows += entry.rows;
                    known.subjects.add(&entry.subjects);
                    known.objects.add(&entry.objects);
                })
                .or_insert_with(|| entry.clone());
        }
        self.predicates = predicates.into_values().collect();
        self.keep_largest_predicates();

        // A subject with quads in both parts counts in both; its true set is not known here.
        let mut sets: BTreeMap<Box<[TermId]>, CharacteristicSet> = std::mem::take(&mut self.sets)
            .into_iter()
            .map(|set| (set.predicates.clone(), set))
            .collect();
        for set in &other.sets {
            sets.entry(set.predicates.clone())
                .and_modify(|known| {
                    known.subjects += set.subjects;
                    for (known, more) in known.occurrences.iter_mut().zip(&set.occurrences) {
                        *known += more;
                    }
                })
                .or_insert_with(|| set.clone());
        }
        self.sets = sets.into_values().collect();
        self.keep_largest_sets();
    }

    fn keep_largest_predicates(&mut self) {
        if self.predicates.len() <= limits::PREDICATES {
            return;
        }
        self.predicates
            .sort_by_key(|entry| std::cmp::Reverse(entry.rows));
        for entry in self.predicates.drain(limits::PREDICATES..) {
            observe::add_other(
                &mut self.other_predicates,
                entry.rows,
                entry.subjects.count,
                entry.objects.count,
            );
        }
        self.predicates.sort_by_key(|entry| entry.predicate);
    }

    fn keep_largest_sets(&mut self) {
        if self.sets.len() <= limits::SETS {
            return;
        }
        self.sets.sort_by_key(|set| std::cmp::Reverse(set.subjects));
        for set in self.sets.drain(limits::SETS..) {
            self.other_sets.sets += 1;
            self.other_sets.subjects += set.subjects;
            self.other_sets.rows += set.occurrences.iter().sum::<u64>();
        }
        self.sets.sort_by(|a, b| a.predicates.cmp(&b.predicates));
    }
}

impl Distinct {
    /// Adds the distinct ids of another set of rows, some of which may be in this one too.
    fn add(&mut self, other: &Self) {
        let least = self.count.max(other.count);
        let most = self.count + other.count;
        match (&mut self.sketch, &other.sketch) {
            (Some(sketch), Some(more)) => {
                sketch.merge(more);
                self.count = sketch.estimate().clamp(least, most);
            }
            (None, Some(more)) => {
                // What has no sketch is small beside it.
                self.sketch = Some(more.clone());
                self.count = most;
            }
            (_, None) => self.count = most,
        }
    }
}
