//! Counts that the index gives without the rows: COUNT of one pattern, and COUNT, GROUP BY and DISTINCT over patterns
//! that share one variable ([`crate::exec::key_counts`]).
//!
//! All of it is exact. It is done where every row of the join is one row of each pattern: no filters, no variable
//! twice in a pattern, and no variable but the key in two patterns.

use super::cardinality::{Counted, CountedPattern, count_patterns};
use super::join_order::{orders, slot};
use super::logical::{Aggregate, AggregateFunction, Conjunction, Group, Logical, VariableId};
use super::physical::{Node, Operation, Planner};
use crate::error::Result;
use crate::exec::aggregate::count_id;
use crate::exec::key_counts::{self, KeyedPattern};
use crate::expr::Expr;
use quadrille_store::{GraphSelector, Position};
use std::slice;
use std::sync::Arc;

impl Planner<'_> {
    /// The node of a GROUP BY, or of aggregates without one, if its counts come from the index.
    pub(super) fn counted_groups(
        &self,
        input: &Group,
        keys: &[VariableId],
        aggregates: &[Aggregate],
    ) -> Result<Option<Node>> {
        let Some(conjunction) = self.countable(&input.logical) else {
            return Ok(None);
        };
        let mut key = match keys {
            [] => None,
            [key] => Some(*key),
            _ => return Ok(None),
        };
        let mut counted = Vec::with_capacity(aggregates.len());
        for aggregate in aggregates {
            if aggregate.function != AggregateFunction::Count {
                return Ok(None);
            }
            match aggregate.expression.as_deref() {
                None if !aggregate.is_distinct => counted.push(key_counts::Counted::Rows),
                Some(Expr::Variable(variable)) if input.certain.contains(variable) => {
                    if !aggregate.is_distinct {
                        counted.push(key_counts::Counted::Rows);
                    } else if *key.get_or_insert(*variable) == *variable {
                        counted.push(key_counts::Counted::Keys);
                    } else {
                        return Ok(None);
                    }
                }
                _ => return Ok(None),
            }
        }
        let Counted::Patterns(patterns) =
            count_patterns(self.terms.snapshot(), &conjunction.patterns, self.seed)?
        else {
            return Ok(None);
        };
        let mut variables = keys.to_vec();
        variables.extend(aggregates.iter().map(|aggregate| aggregate.variable));
        if let ([pattern], None) = (&*patterns, key) {
            if !is_plain(pattern) {
                return Ok(None);
            }
            // What the planner counted may be an upper bound.
            let rows = self.terms.snapshot().count(&pattern.pattern)?;
            let id = count_id(rows, self.terms)?;
            return Ok(Some(Node {
                variables,
                sorted_by: Vec::new(),
                rows: 1.0,
                operation: Operation::PatternCount {
                    pattern: Arc::clone(&pattern.source),
                    ids: vec![id; aggregates.len()],
                },
            }));
        }
        let Some(key) = key.or_else(|| shared_variable(&patterns)) else {
            return Ok(None);
        };
        let Some(keyed) = keyed(&patterns, key) else {
            return Ok(None);
        };
        let is_by_key = !keys.is_empty();
        Ok(Some(Node {
            sorted_by: keys.to_vec(),
            rows: if is_by_key {
                keys_expected(&patterns, key)
            } else {
                1.0
            },
            operation: Operation::KeyCounts {
                patterns: keyed,
                key,
                counted,
                is_by_key,
                threads: 1,
            },
            variables,
        }))
    }

    /// The node of a DISTINCT of one variable, if its terms come from the index.
    pub(super) fn distinct_keys(&self, input: &Logical) -> Result<Option<Node>> {
        let Logical::Project { input, variables } = input else {
            return Ok(None);
        };
        let (Some(conjunction), [key]) = (self.countable(&input.logical), &**variables) else {
            return Ok(None);
        };
        let Counted::Patterns(patterns) =
            count_patterns(self.terms.snapshot(), &conjunction.patterns, self.seed)?
        else {
            return Ok(None);
        };
        Ok(keyed(&patterns, *key).map(|keyed| Node {
            variables: vec![*key],
            sorted_by: vec![*key],
            rows: keys_expected(&patterns, *key),
            operation: Operation::KeyCounts {
                patterns: keyed,
                key: *key,
                counted: Vec::new(),
                is_by_key: true,
                threads: 1,
            },
        }))
    }

    fn countable<'a>(&self, logical: &'a Logical) -> Option<&'a Conjunction> {
        match logical {
            Logical::Conjunction(conjunction)
                if self.options.index_counts
                    && conjunction.filters.is_empty()
                    && self.seed.iter().next().is_none() =>
            {
                Some(conjunction)
            }
            _ => None,
        }
    }
}

/// Whether a pattern has a row for each quad that matches it, with another variable in each free place.
fn is_plain(pattern: &CountedPattern) -> bool {
    let is_repeated = |index: usize, slot: &Option<VariableId>| {
        slot.is_some() && pattern.slots[..index].contains(slot)
    };
    // Of any graph without a variable for it, a triple that stands in two graphs would be counted twice.
    let is_of_any_graph = pattern.pattern.graph == GraphSelector::AnyNamed
        && slot(pattern, Position::Graph).is_none();
    let mut slots = pattern.slots.iter().enumerate();
    !is_of_any_graph && !slots.any(|(index, slot)| is_repeated(index, slot))
}

/// The one variable that all patterns share.
fn shared_variable(patterns: &[CountedPattern]) -> Option<VariableId> {
    let (first, others) = patterns.split_first()?;
    let mut shared = first.slots.into_iter().flatten().filter(|variable| {
        others
            .iter()
            .all(|other| other.slots.contains(&Some(*variable)))
    });
    let key = shared.next()?;
    shared.next().is_none().then_some(key)
}

/// The patterns with orders that are sorted by the key, if it is all that they share.
fn keyed(patterns: &[CountedPattern], key: VariableId) -> Option<Vec<KeyedPattern>> {
    let mut others: Vec<VariableId> = Vec::new();
    let mut keyed = Vec::with_capacity(patterns.len());
    for pattern in patterns {
        if !is_plain(pattern) {
            return None;
        }
        for variable in pattern.slots.into_iter().flatten() {
            if variable == key {
                continue;
            }
            if others.contains(&variable) {
                return None;
            }
            others.push(variable);
        }
        keyed.push(orders(pattern).iter().find_map(|order| {
            let (_, bound) = pattern.pattern.prefix_in(*order)?;
            let first = *order.columns().get(bound)?;
            (slot(pattern, first) == Some(key)).then(|| KeyedPattern {
                pattern: pattern.pattern,
                order: *order,
                located: pattern.located_in(*order),
                bound,
                rows: pattern.rows,
                rows_of_key: pattern.rows as f64 / keys_expected(slice::from_ref(pattern), key),
            })
        })?);
    }
    (!keyed.is_empty()).then_some(keyed)
}

/// How many keys there are at most, as expected.
fn keys_expected(patterns: &[CountedPattern], key: VariableId) -> f64 {
    patterns
        .iter()
        .flat_map(|pattern| pattern.slots.iter().zip(pattern.distinct))
        .filter(|(slot, _)| **slot == Some(key))
        .map(|(_, distinct)| distinct)
        .fold(f64::INFINITY, f64::min)
}
