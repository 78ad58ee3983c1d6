//! Aggregates: what is computed of the values of a group.
//!
//! A value that an expression fails for is an error: COUNT leaves it out, SAMPLE, MIN and MAX too, and SUM, AVG,
//! `GROUP_CONCAT` and aggregates of the program fail for the whole group. MIN and MAX compare as ORDER BY does.

use super::spill::sorter::SortKey;
use super::terms::Terms;
use crate::error::Result;
use crate::expr::compare::compute;
use crate::expr::value::Value;
use crate::expr::{Operation, OrderKey};
use crate::extensions::Accumulator;
use crate::plan::logical::AggregateFunction;
use oxrdf::{Literal, Term};
use quadrille_store::id::Kind;
use quadrille_store::{TermId, inline};

/// What one aggregate of one group has come to.
pub struct Aggregated {
    state: State,
}

enum State {
    Count(u64),
    /// The sum and the number of values; without a sum it failed.
    Sum(Option<Value<'static>>, i64),
    Extreme(Option<(TermId, OrderKey<'static>)>),
    Sample(Option<TermId>),
    /// One of the program; without it it failed.
    Custom(Option<Box<dyn Accumulator>>),
    /// The text, and whether there is a value; without a text it failed.
    Concatenated(Option<String>, bool),
}

impl Aggregated {
    /// The aggregate of nothing.
    pub fn new(function: &AggregateFunction) -> Self {
        Self {
            state: match function {
                AggregateFunction::Count => State::Count(0),
                AggregateFunction::Sum | AggregateFunction::Average => {
                    State::Sum(Some(Value::Integer(0.into())), 0)
                }
                AggregateFunction::Min | AggregateFunction::Max => State::Extreme(None),
                AggregateFunction::Sample => State::Sample(None),
                AggregateFunction::GroupConcat { .. } => {
                    State::Concatenated(Some(String::new()), false)
                }
                AggregateFunction::Custom(aggregate) => State::Custom(Some(aggregate.begin())),
            },
        }
    }

    /// Counts a row.
    pub fn add_row(&mut self) {
        if let State::Count(count) = &mut self.state {
            *count += 1;
        }
    }

    /// Adds a value, whose term is needed for some functions only; unbound is an error. Gives the bytes of text by which it
    /// has grown.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn add(
        &mut self,
        function: &AggregateFunction,
        id: TermId,
        terms: &Terms,
    ) -> Result<usize> {
        let mut grown = 0;
        if id.is_unbound() {
            match &mut self.state {
                State::Sum(sum, _) => *sum = None,
                State::Concatenated(text, _) => *text = None,
                State::Custom(accumulator) => *accumulator = None,
                State::Count(_) | State::Extreme(_) | State::Sample(_) => {}
            }
            return Ok(0);
        }
        match &mut self.state {
            State::Count(count) => *count += 1,
            State::Sum(sum, count) => {
                *count += 1;
                if let Some(so_far) = sum.take() {
                    *sum = if let Some(value) = Value::of_inline(id) {
                        compute(Operation::Add, &so_far, &value)
                    } else {
                        let term = terms.term(id)?;
                        compute(Operation::Add, &so_far, &Value::of(&term))
                    };
                }
            }
            State::Extreme(extreme) => {
                let is_known = extreme.as_ref().is_some_and(|(known, _)| *known == id);
                if !is_known {
                    let key = OrderKey::new(Some(&terms.term(id)?)).into_owned();
                    let is_better = extreme
                        .as_ref()
                        .is_none_or(|(_, known)| is_better(function, &key, known));
                    if is_better {
                        let before = extreme.as_ref().map_or(0, |(_, known)| known.heap_bytes());
                        grown = key.heap_bytes().saturating_sub(before);
                        *extreme = Some((id, key));
                    }
                }
            }
            State::Sample(sample) => {
                sample.get_or_insert(id);
            }
            State::Custom(accumulator) => {
                if let Some(accumulator) = accumulator {
                    accumulator.accumulate(terms.term(id)?);
                }
            }
            State::Concatenated(text, has_value) => {
                let lexical = match terms.term(id)? {
                    Term::NamedNode(node) => Some(node.into_string()),
                    Term::Literal(literal) => Some(literal.value().to_owned()),
                    Term::BlankNode(_) | Term::Triple(_) => None,
                };
                let separator = match function {
                    AggregateFunction::GroupConcat { separator } => separator,
                    _ => "",
                };
                *text = text.take().zip(lexical).map(|(mut text, lexical)| {
                    let before = text.len();
                    if *has_value {
                        text.push_str(separator);
                    }
                    text.push_str(&lexical);
                    grown = text.len() - before;
                    text
                });
                *has_value = true;
            }
        }
        Ok(grown)
    }

    /// Adds what the values of a later part of the group's rows have come to. Gives the bytes of text by which it has grown. For
    /// functions that [can be merged](can_be_merged).
    pub fn merge(&mut self, function: &AggregateFunction, later: Self) -> usize {
        match (&mut self.state, later.state) {
            (State::Count(count), State::Count(more)) => *count += more,
            (State::Sum(sum, count), State::Sum(more, more_count)) => {
                *count += more_count;
                *sum = sum
                    .take()
                    .zip(more)
                    .and_then(|(sum, more)| compute(Operation::Add, &sum, &more));
            }
            (State::Extreme(extreme), State::Extreme(Some((id, key)))) => {
                let is_better = extreme
                    .as_ref()
                    .is_none_or(|(_, known)| is_better(function, &key, known));
                if is_better {
                    let before = extreme.as_ref().map_or(0, |(_, known)| known.heap_bytes());
                    let grown = key.heap_bytes().saturating_sub(before);
                    *extreme = Some((id, key));
                    return grown;
                }
            }
            (State::Sample(sample), State::Sample(Some(id))) => {
                sample.get_or_insert(id);
            }
            // Nothing is added.
            (State::Extreme(_), State::Extreme(None)) | (State::Sample(_), State::Sample(None)) => {
            }
            _ => unreachable!("aggregates of the same function, which can be merged"),
        }
        0
    }

    /// What it comes to; unbound if it failed, or there is no value.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn finish(self, function: &AggregateFunction, terms: &Terms) -> Result<TermId> {
        let term: Option<Term> = match self.state {
            State::Count(count) => return count_id(count, terms),
            State::Sum(sum, count) => {
                let is_average = *function == AggregateFunction::Average && count > 0;
                sum.and_then(|sum| {
                    if is_average {
                        compute(Operation::Divide, &sum, &Value::Integer(count.into()))
                    } else {
                        Some(sum)
                    }
                })
                .map(|value| value.to_term())
            }
            State::Extreme(extreme) => {
                return Ok(extreme.map_or(TermId::UNBOUND, |(id, _)| id));
            }
            State::Sample(sample) => return Ok(sample.unwrap_or(TermId::UNBOUND)),
            State::Custom(accumulator) => accumulator.and_then(Accumulator::finish),
            State::Concatenated(text, _) => {
                text.map(|text| Literal::new_simple_literal(text).into())
            }
        };
        term.map_or(Ok(TermId::UNBOUND), |term| terms.id(&term))
    }
}

/// Whether what the values of parts of a group come to, part by part, gives what all of them come to. Sums of floating-point
/// numbers depend on where parts end, in their last digits.
pub fn can_be_merged(function: &AggregateFunction) -> bool {
    match function {
        AggregateFunction::Count
        | AggregateFunction::Sum
        | AggregateFunction::Average
        | AggregateFunction::Min
        | AggregateFunction::Max
        | AggregateFunction::Sample => true,
        AggregateFunction::GroupConcat { .. } | AggregateFunction::Custom(_) => false,
    }
}

/// Whether a key replaces the one that MIN or MAX has.
fn is_better(function: &AggregateFunction, key: &OrderKey<'_>, known: &OrderKey<'_>) -> bool {
    if *function == AggregateFunction::Min {
        key < known
    } else {
        key > known
    }
}

/// The id of a count.
///
/// # Errors
/// If the store cannot be read.
pub fn count_id(count: u64, terms: &Terms) -> Result<TermId> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    match inline::from_integer(Kind::Integer, count) {
        Some(id) => Ok(id),
        None => terms.id(&Literal::from(count).into()),
    }
}
