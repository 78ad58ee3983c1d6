//! `Correlations`: how patterns go together, beyond what distinct counts say of each. They are worth finding out where a plan is
//! expected to take long enough; [`choose`] decides that.
//!
//! * Patterns about one subject are estimated as a [star](super::star), from characteristic sets.
//! * Two patterns that share a variable are sampled: for some rows of the smaller one, spread evenly over it, the rows of
//!   the other that agree are counted in the index, exactly (V. Leis and others: Cardinality Estimation Done Right: Index-Based
//!   Join Sampling, CIDR 2017). What that gives, divided by what was expected, is the *factor* of the pair. It holds whatever else
//!   is joined; where a pattern is joined with several that share a variable with it, the factor is taken of the one that has the
//!   fewest terms there, for the rows so far have no others.

use super::PlannerOptions;
use super::cardinality::{CountedPattern, POSITIONS};
use super::cost;
use super::join_order::{self, Goal, distinct_of, variables};
use super::logical::VariableId;
use super::star::Star;
use super::way::JoinPlan;
use crate::error::Result;
use quadrille_store::index::ColumnMask;
use quadrille_store::{GraphSelector, Pattern, Snapshot, TermId};

/// The most patterns of which correlations are found out.
const PATTERNS_MAX: usize = 64;
/// Rows that are sampled of a pair at least, and at most.
const SAMPLE_ROWS_MIN: u64 = 32;
const SAMPLE_ROWS_MAX: u64 = 100;
/// The most rows that are sampled for one plan.
const SAMPLES_MAX: u64 = 4_096;
/// Samples scatter: factors nearer to one than this are no news.
const FACTOR_MIN: f64 = 1.5;
/// What is expected where nothing was found.
const LEAST_ROWS: f64 = 0.5;

/// How patterns go together.
#[derive(Debug, Default)]
pub struct Correlations {
    stars: Vec<Star>,
    /// By pattern: those that it was sampled with, fewest terms of what they share first.
    partners: Vec<Vec<Partner>>,
}

#[derive(Debug)]
struct Partner {
    pattern: usize,
    shared: Vec<VariableId>,
    distinct: f64,
    factor: f64,
}

/// Chooses how to join patterns, and looks closer where it is worth while: what that takes is a small part of what the plan is expected to take.
///
/// # Errors
/// If the store cannot be read.
pub fn choose(
    snapshot: &Snapshot,
    patterns: &[CountedPattern],
    options: &PlannerOptions,
    goal: Goal<'_>,
) -> Result<JoinPlan> {
    let mut plan = join_order::choose(patterns, options, goal, &Correlations::default());
    let count = patterns.len();
    if !(2..=PATTERNS_MAX).contains(&count) {
        return Ok(plan);
    }
    let budget = |plan: &JoinPlan| {
        if options.thorough {
            f64::INFINITY
        } else {
            plan.cost_of(goal.rows.unwrap_or(f64::INFINITY)) * cost::ESTIMATING_SHARE
        }
    };
    let replan = (count << count.min(join_order::DYNAMIC_PATTERNS_MAX)) as f64 * cost::PLAN_STEP;
    if budget(&plan) < 2.0 * replan {
        return Ok(plan);
    }
    let mut correlations = Correlations::default();
    let statistics = snapshot.statistics()?;
    let sets = statistics.default_graph.sets.len() + statistics.named_graphs.sets.len();
    if budget(&plan) >= replan + sets as f64 * cost::SET {
        correlations.stars = Star::all(patterns, &statistics, snapshot.has_named_in_default());
        if !correlations.stars.is_empty() {
            plan = join_order::choose(patterns, options, goal, &correlations);
        }
    }
    let samples = ((budget(&plan) - replan) / cost::SAMPLE).min(SAMPLES_MAX as f64);
    if samples >= SAMPLE_ROWS_MIN as f64
        && correlations.sample(snapshot, patterns, samples as u64)?
    {
        plan = join_order::choose(patterns, options, goal, &correlations);
    }
    Ok(plan)
}

/// Two patterns that may be sampled.
struct Pair {
    /// The one with fewer rows.
    small: usize,
    large: usize,
    shared: Vec<VariableId>,
    /// How many rows their join is expected to have.
    expected: f64,
}

impl Correlations {
    /// How many rows a pattern is expected to have for each row of the join of others that share its subject, as far
    /// as nothing else joins them; and the subject.
    pub(super) fn fan_out(&self, others: u64, pattern: usize) -> Option<(VariableId, f64)> {
        self.stars.iter().find_map(|star| {
            let place = star.patterns.iter().position(|known| *known == pattern)?;
            let members = star.members_of(others);
            let before = star.rows(members);
            if members == 0 || before == 0.0 {
                return None;
            }
            // That no listed set has them all does not show that no subject does.
            let joined = star.rows(members | 1 << place).max(LEAST_ROWS);
            Some((star.subject, joined / before))
        })
    }

    /// How many times as many rows the join of some patterns with one more was seen to have as is expected otherwise.
    pub(super) fn factor(&self, others: u64, pattern: usize) -> f64 {
        let Some(partners) = self.partners.get(pattern) else {
            return 1.0;
        };
        let mut seen: Vec<VariableId> = Vec::new();
        let mut factor = 1.0;
        for partner in partners {
            let is_new = partner
                .shared
                .iter()
                .all(|variable| !seen.contains(variable));
            if others & 1 << partner.pattern != 0 && is_new {
                seen.extend(&partner.shared);
                factor *= partner.factor;
            }
        }
        factor
    }

    /// Samples pairs, those of most rows first; whether anything came of it.
    fn sample(
        &mut self,
        snapshot: &Snapshot,
        patterns: &[CountedPattern],
        samples: u64,
    ) -> Result<bool> {
        let mut pairs = self.pairs(patterns);
        pairs.sort_by(|a, b| b.expected.total_cmp(&a.expected));
        pairs.truncate((samples / SAMPLE_ROWS_MIN) as usize);
        if pairs.is_empty() {
            return Ok(false);
        }
        let rows = (samples / pairs.len() as u64).min(SAMPLE_ROWS_MAX);
        self.partners.resize_with(patterns.len(), Vec::new);
        let mut is_news = false;
        for pair in pairs {
            let Some(found) = joined_rows(snapshot, patterns, &pair, rows)? else {
                continue;
            };
            let mut factor = found / pair.expected;
            if factor.max(1.0 / factor) < FACTOR_MIN {
                factor = 1.0;
            } else {
                is_news = true;
            }
            for (one, other) in [(pair.small, pair.large), (pair.large, pair.small)] {
                self.partners[one].push(Partner {
                    pattern: other,
                    distinct: distinct_of(&patterns[other], pair.shared[0]),
                    shared: pair.shared.clone(),
                    factor,
                });
            }
        }
        for partners in &mut self.partners {
            partners.sort_by(|a, b| a.distinct.total_cmp(&b.distinct));
        }
        Ok(is_news)
    }

    /// The pairs of patterns whose join is not known well enough.
    fn pairs(&self, patterns: &[CountedPattern]) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for (second, right) in patterns.iter().enumerate() {
            for (first, left) in patterns[..second].iter().enumerate() {
                let shared: Vec<VariableId> = variables(left)
                    .filter(|variable| right.slots.contains(&Some(*variable)))
                    .collect();
                if shared.is_empty() || has_repetition(left) || has_repetition(right) {
                    continue;
                }
                let fan_out = self.fan_out(1 << first, second);
                let is_free = |pattern: &CountedPattern| pattern.pattern.object.is_none();
                // Of these the characteristic sets know all.
                if fan_out.is_some() && shared.len() == 1 && is_free(left) && is_free(right) {
                    continue;
                }
                let all = shared
                    .iter()
                    .filter(|variable| fan_out.is_none_or(|(subject, _)| subject != **variable))
                    .fold(left.expected, |rows, variable| {
                        rows / distinct_of(left, *variable).max(distinct_of(right, *variable))
                    });
                let expected = all * fan_out.map_or(right.expected, |(_, fan_out)| fan_out);
                let (small, large) = if left.rows <= right.rows {
                    (first, second)
                } else {
                    (second, first)
                };
                pairs.push(Pair {
                    small,
                    large,
                    shared,
                    expected,
                });
            }
        }
        pairs
    }
}

/// Whether a variable has two places in a pattern.
fn has_repetition(pattern: &CountedPattern) -> bool {
    variables(pattern).count() < pattern.slots.iter().flatten().count()
}

/// The rows of the join of two patterns as a sample shows them; `None` if there is none.
fn joined_rows(
    snapshot: &Snapshot,
    patterns: &[CountedPattern],
    pair: &Pair,
    samples: u64,
) -> Result<Option<f64>> {
    let (small, large) = (&patterns[pair.small], &patterns[pair.large]);
    // In an order that begins with what is shared, the sample is spread evenly over its terms.
    let order = join_order::orders(small).iter().find(|order| {
        small.pattern.prefix_in(**order).is_some_and(|(_, bound)| {
            let first = order.columns().get(bound);
            first.is_some_and(|position| join_order::slot(small, *position) == Some(pair.shared[0]))
        })
    });
    let Some(order) = order else {
        return Ok(None);
    };
    let (_, bound) = small.pattern.prefix_in(*order).expect("it was found so");
    let columns = pair.shared.iter().map(|variable| {
        let mut free = order.columns()[bound..].iter();
        free.position(|position| join_order::slot(small, *position) == Some(*variable))
            .expect("the pattern has the variable")
    });
    let columns: Vec<usize> = columns.collect();
    let wanted = columns
        .iter()
        .fold(ColumnMask::NONE, |mask, column| mask.with(bound + column));
    let sample = snapshot.sample(&small.pattern, *order, wanted, samples)?;
    let rows = sample.len();
    if rows == 0 {
        return Ok(None);
    }
    let mut found = 0;
    let mut last: Option<(Pattern, u64)> = None;
    for row in 0..rows {
        let mut probe = large.pattern;
        for (variable, column) in pair.shared.iter().zip(&columns) {
            bind(large, &mut probe, *variable, sample.columns[*column][row]);
        }
        let count = match last {
            Some((known, count)) if known == probe => count,
            _ => snapshot.count_at_most(&probe)?,
        };
        last = Some((probe, count));
        found += count;
    }
    // A sample that finds nothing does not show that there is nothing.
    let found = (found as f64).max(LEAST_ROWS);
    Ok(Some(small.rows as f64 * found / rows as f64))
}

/// Puts a term in the place of a variable.
fn bind(pattern: &CountedPattern, probe: &mut Pattern, variable: VariableId, id: TermId) {
    for (slot, position) in pattern.slots.iter().zip(POSITIONS) {
        if *slot == Some(variable) {
            match position {
                quadrille_store::Position::Subject => probe.subject = Some(id),
                quadrille_store::Position::Predicate => probe.predicate = Some(id),
                quadrille_store::Position::Object => probe.object = Some(id),
                quadrille_store::Position::Graph => probe.graph = GraphSelector::Named(id),
            }
        }
    }
}
