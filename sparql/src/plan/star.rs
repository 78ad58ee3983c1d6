//! Stars: patterns about one subject, each with a predicate of its own.
//!
//! Which predicates go together the store's characteristic sets say (T. Neumann, G. Moerkotte: Characteristic Sets: Accurate
//! Cardinality Estimation for RDF Queries with Multiple Joins, ICDE 2011). Of the sets only matters which of the star's
//! predicates they have, so they are grouped by that once; then any part of the star is estimated from a few groups. A
//! pattern's constant object counts by the share of the predicate's rows that have it.

use super::cardinality::CountedPattern;
use super::logical::VariableId;
use quadrille_store::statistics::{GraphStatistics, Statistics};
use quadrille_store::{GraphSelector, TermId};

/// The most patterns of a star.
const PATTERNS_MAX: usize = 32;

/// A star with what characteristic sets say of it.
#[derive(Debug)]
pub(super) struct Star {
    /// What the patterns share.
    pub(super) subject: VariableId,
    /// The patterns, by their index.
    pub(super) patterns: Vec<usize>,
    groups: Vec<SetGroup>,
}

/// Patterns about one subject in one graph, with their predicates.
struct Candidate {
    subject: VariableId,
    graph: GraphSelector,
    members: Vec<(usize, TermId)>,
}

/// Characteristic sets with the same of the star's predicates.
#[derive(Debug)]
struct SetGroup {
    /// The patterns whose predicates the sets have, by their place in the star.
    members: u32,
    subjects: f64,
    /// By place in the star: rows for each subject.
    rows: Vec<f64>,
}

impl Star {
    /// The stars among some patterns, of two patterns at least.
    pub(super) fn all(
        patterns: &[CountedPattern],
        statistics: &Statistics,
        has_named_in_default: bool,
    ) -> Vec<Self> {
        let mut found: Vec<Candidate> = Vec::new();
        for (index, pattern) in patterns.iter().enumerate() {
            let graph = pattern.pattern.graph;
            let (Some(subject), Some(predicate)) = (pattern.slots[0], pattern.pattern.predicate)
            else {
                continue;
            };
            if pattern.slots[3].is_some()
                || (graph == GraphSelector::Default && has_named_in_default)
            {
                continue;
            }
            let is_same = |known: &&mut Candidate| known.subject == subject && known.graph == graph;
            if let Some(known) = found.iter_mut().find(is_same) {
                known.members.push((index, predicate));
            } else {
                found.push(Candidate {
                    subject,
                    graph,
                    members: vec![(index, predicate)],
                });
            }
        }
        found
            .into_iter()
            .filter(|candidate| (2..=PATTERNS_MAX).contains(&candidate.members.len()))
            .filter_map(|candidate| {
                let statistics = match candidate.graph {
                    GraphSelector::Default => &statistics.default_graph,
                    GraphSelector::Named(_) | GraphSelector::AnyNamed => &statistics.named_graphs,
                };
                Self::new(candidate.subject, &candidate.members, patterns, statistics)
            })
            .collect()
    }

    /// `None` if the sets do not know one of the predicates.
    fn new(
        subject: VariableId,
        members: &[(usize, TermId)],
        patterns: &[CountedPattern],
        statistics: &GraphStatistics,
    ) -> Option<Self> {
        let mut groups: Vec<SetGroup> = Vec::new();
        for set in &statistics.sets {
            let mut mask = 0_u32;
            for (place, (_, predicate)) in members.iter().enumerate() {
                if set.predicates.binary_search(predicate).is_ok() {
                    mask |= 1 << place;
                }
            }
            if mask == 0 {
                continue;
            }
            let known = groups.iter().position(|group| group.members == mask);
            let at = known.unwrap_or_else(|| {
                groups.push(SetGroup {
                    members: mask,
                    subjects: 0.0,
                    rows: vec![0.0; members.len()],
                });
                groups.len() - 1
            });
            let group = &mut groups[at];
            group.subjects += set.subjects as f64;
            for (place, (_, predicate)) in members.iter().enumerate() {
                if let Ok(at) = set.predicates.binary_search(predicate) {
                    group.rows[place] += set.occurrences[at] as f64;
                }
            }
        }
        for (place, (index, _)) in members.iter().enumerate() {
            let known: f64 = groups.iter().map(|group| group.rows[place]).sum();
            if known == 0.0 {
                return None;
            }
            // The share that the constant object leaves; and what sets that are not listed, and layers without
            // statistics, have besides is taken to be like the rest.
            let share = patterns[*index].expected / known;
            for group in &mut groups {
                group.rows[place] *= share / group.subjects;
            }
        }
        Some(Self {
            subject,
            patterns: members.iter().map(|(index, _)| *index).collect(),
            groups,
        })
    }

    /// The expected rows of the join of some of the patterns, given by their places, when nothing but the subject joins them.
    pub(super) fn rows(&self, members: u32) -> f64 {
        self.groups
            .iter()
            .filter(|group| group.members & members == members)
            .map(|group| {
                let rows = group.rows.iter().enumerate();
                rows.filter(|(place, _)| members & 1 << place != 0)
                    .fold(group.subjects, |all, (_, rows)| all * rows)
            })
            .sum()
    }

    /// The places of those patterns that are members of a set of patterns.
    pub(super) fn members_of(&self, set: u64) -> u32 {
        let places = self.patterns.iter().enumerate();
        places
            .filter(|(_, pattern)| set & 1 << **pattern != 0)
            .fold(0, |mask, (place, _)| mask | 1 << place)
    }
}
