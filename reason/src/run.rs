//! `Run`: inferred triples in memory, immutable, sorted as they are asked for.
//!
//! ```text
//! predicate -> pairs (object, subject), sorted        given when it is made
//!           -> pairs (subject, object), sorted        made when first asked for
//! all triples in one of the six orders                made when first asked for: only rules whose premises have
//!                                                     a variable as predicate ask
//! ```

use crate::memory::{Charge, Memory};
use quadrille_store::{Order, TermId};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Triples in memory.
#[derive(Debug, Default)]
pub struct Run {
    predicates: BTreeMap<TermId, Pairs>,
    triples: [OnceLock<Vec<[TermId; 3]>>; 6],
    length: usize,
    charge: Option<Charge>,
}

#[derive(Debug)]
struct Pairs {
    by_object: Vec<[TermId; 2]>,
    by_subject: OnceLock<Vec<[TermId; 2]>>,
}

impl Run {
    /// A run of these pairs (object, subject), by predicate.
    ///
    /// # Panics
    /// If pairs are not strictly ascending.
    pub fn new(predicates: BTreeMap<TermId, Vec<[TermId; 2]>>) -> Self {
        let mut run = Self::default();
        for (predicate, by_object) in predicates {
            assert!(by_object.is_sorted_by(|a, b| a < b), "pairs are sorted");
            if by_object.is_empty() {
                continue;
            }
            run.length += by_object.len();
            let pairs = Pairs {
                by_object,
                by_subject: OnceLock::new(),
            };
            run.predicates.insert(predicate, pairs);
        }
        run
    }

    /// Counts its memory: pairs in both orders from now on, and triples of all predicates when they are made.
    pub fn counted(mut self, memory: &Memory) -> Self {
        self.charge = Some(memory.charge(2 * self.length * size_of::<[TermId; 2]>()));
        self
    }

    /// A run of all triples of some runs, which have none in common.
    pub fn merge(runs: &[&Self]) -> Self {
        let mut predicates: BTreeMap<TermId, Vec<[TermId; 2]>> = BTreeMap::new();
        for run in runs {
            for (predicate, pairs) in &run.predicates {
                let all = predicates.entry(*predicate).or_default();
                all.extend_from_slice(&pairs.by_object);
            }
        }
        for pairs in predicates.values_mut() {
            // A stable sort merges what is sorted already.
            pairs.sort();
        }
        Self::new(predicates)
    }

    /// How many triples there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The predicates, ascending.
    pub fn predicates(&self) -> impl Iterator<Item = TermId> {
        self.predicates.keys().copied()
    }

    /// The pairs (object, subject) of a predicate, sorted.
    pub fn by_object(&self, predicate: TermId) -> &[[TermId; 2]] {
        self.predicates
            .get(&predicate)
            .map_or(&[], |pairs| &pairs.by_object)
    }

    /// The pairs (subject, object) of a predicate, sorted.
    pub fn by_subject(&self, predicate: TermId) -> &[[TermId; 2]] {
        let Some(pairs) = self.predicates.get(&predicate) else {
            return &[];
        };
        pairs.by_subject.get_or_init(|| {
            let turned = pairs
                .by_object
                .iter()
                .map(|&[object, subject]| [subject, object]);
            let mut turned: Vec<_> = turned.collect();
            turned.sort_unstable();
            turned
        })
    }

    /// All triples in one of the orders of the default graph, sorted.
    ///
    /// # Panics
    /// If it is an order of named graphs.
    pub fn triples(&self, order: Order) -> &[[TermId; 3]] {
        self.triples[order as usize].get_or_init(|| {
            let mut rows = Vec::with_capacity(self.length);
            if let Some(charge) = &self.charge {
                charge.add(self.length * size_of::<[TermId; 3]>());
            }
            self.each(|[subject, predicate, object]| {
                let mut row = [TermId::UNBOUND; 3];
                for (value, position) in row.iter_mut().zip(order.columns()) {
                    *value = match position {
                        quadrille_store::Position::Subject => subject,
                        quadrille_store::Position::Predicate => predicate,
                        _ => object,
                    };
                }
                rows.push(row);
            });
            rows.sort_unstable();
            rows
        })
    }

    /// Calls `each` with every triple (subject, predicate, object), by predicate and object.
    pub fn each(&self, mut each: impl FnMut([TermId; 3])) {
        for (predicate, pairs) in &self.predicates {
            for &[object, subject] in &pairs.by_object {
                each([subject, *predicate, object]);
            }
        }
    }
}

/// The first row at or behind `start` whose first columns are not below the key, found by steps that double: cheap
/// when it is near.
pub fn gallop<const N: usize>(rows: &[[TermId; N]], start: usize, key: &[TermId]) -> usize {
    quadrille_store::gallop(start, rows.len(), |row| rows[row][..key.len()] < *key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn galloping_finds_what_a_scan_finds() {
        let rows: Vec<[TermId; 2]> = [1, 1, 2, 2, 2, 5, 9, 9, 9, 9, 12]
            .iter()
            .enumerate()
            .map(|(place, value)| [TermId::from_bits(*value), TermId::from_bits(place as u64)])
            .collect();
        for start in 0..=rows.len() {
            for first in 0..14 {
                for second in 0..12 {
                    let key = [TermId::from_bits(first), TermId::from_bits(second)];
                    for length in 0..=2 {
                        let key = &key[..length];
                        let found = (start..rows.len()).find(|row| rows[*row][..length] >= *key);
                        assert_eq!(gallop(&rows, start, key), found.unwrap_or(rows.len()));
                    }
                }
            }
        }
    }
}
