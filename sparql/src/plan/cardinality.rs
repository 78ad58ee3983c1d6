//! How many rows a pattern has, and how many joins of patterns have.
//!
//! The rows of a single pattern are counted exactly, in the index and without a scan. Joins are estimated from
//! distinct counts, which come from the store's statistics: each shared variable divides the product of the
//! rows by the larger of its two distinct counts.

use super::logical::{PatternGraph, PatternTerm, QuadPattern, VariableId};
use super::seed::Seed;
use crate::error::Result;
use quadrille_store::statistics::{GraphStatistics, Statistics};
use quadrille_store::{
    GraphSelector, Located, Order, Pattern, Position, Snapshot, TermId, best_order,
};
use std::sync::Arc;

/// The places of a quad, in the sequence in which slots are kept.
pub const POSITIONS: [Position; 4] = [
    Position::Subject,
    Position::Predicate,
    Position::Object,
    Position::Graph,
];

/// A pattern of the query with what the snapshot says of it.
#[derive(Clone, Debug)]
pub struct CountedPattern {
    /// Its number among the conjunction's patterns.
    pub number: usize,
    /// As the query has it.
    pub source: Arc<QuadPattern>,
    /// With the ids of its constants.
    pub pattern: Pattern,
    /// Where its rows are, in one order, if that is known.
    pub located: Option<Arc<Located>>,
    /// Its variables by place.
    pub slots: [Option<VariableId>; 4],
    /// How many quads match it: exactly, but at most where graphs are merged (then 0 is exact, too).
    pub rows: u64,
    /// How many rows it is expected to have: fewer if a variable occurs in two places.
    pub expected: f64,
    /// By place: how many different terms are expected there.
    pub distinct: [f64; 4],
}

impl CountedPattern {
    /// Where its rows are in an order, if that is known.
    pub fn located_in(&self, order: Order) -> Option<Arc<Located>> {
        self.located
            .as_ref()
            .filter(|located| located.order() == order)
            .cloned()
    }
}

/// The patterns of a conjunction, counted.
#[derive(Debug)]
pub enum Counted {
    /// What must be joined. Patterns without variables that match are left out.
    Patterns(Vec<CountedPattern>),
    /// There are no solutions, and why.
    Empty(String),
}

/// Counts the patterns of a conjunction, where some variables stand for terms.
///
/// # Errors
/// If the store cannot be read.
pub fn count_patterns(
    snapshot: &Snapshot,
    patterns: &[Arc<QuadPattern>],
    seed: &Seed,
) -> Result<Counted> {
    let mut counted: Vec<CountedPattern> = Vec::with_capacity(patterns.len());
    let mut statistics = None;
    for (number, pattern) in patterns.iter().enumerate() {
        let (ids, slots) = match resolve(snapshot, pattern, seed)? {
            Ok(resolved) => resolved,
            Err(constant) => return Ok(Counted::Empty(format!("{constant} is not in the store"))),
        };
        // Joining with the same pattern again changes nothing.
        if counted
            .iter()
            .any(|known| known.pattern == ids && known.slots == slots)
        {
            continue;
        }
        let order = best_order(&ids, None).expect("every pattern has an order");
        let located = snapshot.locate(&ids, order)?.map(Arc::new);
        let rows = match &located {
            Some(located) => snapshot.count_located(located)?,
            None => snapshot.count_at_most(&ids)?,
        };
        if rows == 0 {
            return Ok(Counted::Empty(format!(
                "pattern {} has no match",
                number + 1
            )));
        }
        if slots.iter().all(Option::is_none) {
            continue;
        }
        let statistics = match &mut statistics {
            Some(statistics) => statistics,
            none => none.insert(snapshot.statistics()?),
        };
        let source = Arc::clone(pattern);
        let in_named = snapshot.has_named_in_default();
        counted.push(CountedPattern {
            located,
            ..estimate(number, source, ids, slots, rows, statistics, in_named)
        });
    }
    Ok(Counted::Patterns(counted))
}

/// A pattern with ids, and the variables that are left in its places.
type Resolved = (Pattern, [Option<VariableId>; 4]);

/// The ids of a pattern's constants, or the constant that has none.
fn resolve<'a>(
    snapshot: &Snapshot,
    pattern: &'a QuadPattern,
    seed: &Seed,
) -> Result<std::result::Result<Resolved, &'a dyn std::fmt::Display>> {
    let mut ids = [None; 3];
    let mut slots = pattern.slots();
    let places = [&pattern.subject, &pattern.predicate, &pattern.object];
    for ((id, place), slot) in ids.iter_mut().zip(places).zip(&mut slots) {
        match place {
            PatternTerm::Constant(constant) => {
                *id = constant.id(snapshot)?;
                if id.is_none() {
                    return Ok(Err(&constant.term));
                }
            }
            PatternTerm::Variable(variable) => {
                *id = seed.get(*variable);
                if id.is_some() {
                    *slot = None;
                }
            }
        }
    }
    let graph = match resolve_graph(snapshot, &pattern.graph, seed)? {
        Ok(graph) => graph,
        Err(unknown) => return Ok(Err(unknown)),
    };
    if let GraphSelector::Named(_) = graph {
        slots[3] = None;
    }
    let [subject, predicate, object] = ids;
    let pattern = Pattern {
        subject,
        predicate,
        object,
        graph,
    };
    Ok(Ok((pattern, slots)))
}

/// The graph that a pattern asks, or the name that the store does not have.
pub(super) fn resolve_graph<'a>(
    snapshot: &Snapshot,
    graph: &'a PatternGraph,
    seed: &Seed,
) -> Result<std::result::Result<GraphSelector, &'a dyn std::fmt::Display>> {
    Ok(Ok(match graph {
        PatternGraph::Default => GraphSelector::Default,
        // No graph is named by the default graph's id.
        PatternGraph::Variable(variable) => match seed.get(*variable) {
            Some(id) => GraphSelector::Named(id),
            None => GraphSelector::AnyNamed,
        },
        PatternGraph::Active(variable) => match seed.get(*variable) {
            Some(id) => GraphSelector::Named(id),
            None => return Ok(Err(&"a graph that is not known")),
        },
        PatternGraph::Named(name) => match snapshot.term_id(name.as_ref().into())? {
            Some(id) => GraphSelector::Named(id),
            None => return Ok(Err(name)),
        },
    }))
}

fn estimate(
    number: usize,
    source: Arc<QuadPattern>,
    pattern: Pattern,
    slots: [Option<VariableId>; 4],
    rows: u64,
    statistics: &Arc<Statistics>,
    has_named_in_default: bool,
) -> CountedPattern {
    let graph = match pattern.graph {
        GraphSelector::Default if !has_named_in_default => &statistics.default_graph,
        _ => &statistics.named_graphs,
    };
    let all = rows as f64;
    let mut distinct = POSITIONS.map(|position| {
        if pattern.bound(position).is_some() {
            return 1.0;
        }
        distinct_terms(&pattern, position, all, graph).clamp(1.0, all)
    });
    let mut expected = all;
    for later in 1..slots.len() {
        for earlier in 0..later {
            if slots[later].is_some() && slots[later] == slots[earlier] {
                let most = distinct[later].max(distinct[earlier]);
                expected = (expected / most).max(1.0);
                let least = distinct[later].min(distinct[earlier]).min(expected);
                distinct[later] = least;
                distinct[earlier] = least;
            }
        }
    }
    CountedPattern {
        number,
        source,
        pattern,
        located: None,
        slots,
        rows,
        expected,
        distinct,
    }
}

/// How many different terms a free place of a pattern is expected to have.
pub(super) fn distinct_terms(
    pattern: &Pattern,
    position: Position,
    rows: f64,
    statistics: &GraphStatistics,
) -> f64 {
    /// What is expected where nothing is known.
    fn or_unknown(count: u64, rows: f64) -> f64 {
        if count == 0 {
            rows.sqrt()
        } else {
            count as f64
        }
    }
    let predicates = statistics.predicates.len() as u64 + statistics.other_predicates.predicates;
    let of_predicate = pattern
        .predicate
        .and_then(|predicate: TermId| statistics.predicate(predicate));
    match (position, pattern.subject, pattern.predicate, pattern.object) {
        (Position::Graph, ..) => rows.sqrt(),
        (Position::Predicate, None, _, None) => or_unknown(predicates, rows),
        // A subject, or an object, has few predicates.
        (Position::Predicate, ..) => or_unknown(predicates, rows).min(rows),
        (Position::Subject, _, Some(_), None) => of_predicate.map_or_else(
            || rows.sqrt(),
            |entry| or_unknown(entry.subjects.count, rows),
        ),
        (Position::Object, None, Some(_), _) => of_predicate.map_or_else(
            || rows.sqrt(),
            |entry| or_unknown(entry.objects.count, rows),
        ),
        (Position::Subject, _, None, None) => or_unknown(statistics.subjects.count, rows),
        (Position::Object, None, None, _) => or_unknown(statistics.objects.count, rows),
        // The other end is bound: every row has another term here.
        (Position::Subject | Position::Object, ..) => rows,
    }
}
