//! Computes an expression for one row.
//!
//! Operands are ids, constants or computed values; of an id's term only what an operator asks for is looked at.

use super::compare::{compare, compute, equal, negate};
use super::evaluate::{Evaluator, is_local};
use super::value::Value;
use super::{Comparison, Constant, Expr};
use crate::exec::batch::Batch;
use crate::plan::logical::VariableId;
use oxrdf::{Literal, NamedNode, Term};
use quadrille_store::inline::{self, InlineValue};
use quadrille_store::snapshot::terms::blank_label;
use quadrille_store::{Kind, TermId};
use std::borrow::Cow;
use std::cmp::Ordering;

/// One row of a batch.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    /// What knows the terms.
    pub evaluator: &'a Evaluator,
    /// Where the row is.
    pub batch: &'a Batch,
    /// Its number there.
    pub number: usize,
}

/// What an operand came out as; where it is an id, nobody has looked at the term yet.
pub(super) enum Operand<'a> {
    Id(TermId),
    Constant(&'a Constant),
    Computed(Value<'a>),
    /// A term that was put together: unlike a value, it keeps its form.
    Term(Term),
}

impl<'a> Row<'a> {
    /// The effective boolean value of an expression; `None` if it fails.
    pub fn truth(self, expression: &'a Expr) -> Option<bool> {
        match expression {
            Expr::Or(operands) => {
                let mut result = Some(false);
                for operand in operands {
                    match self.truth(operand) {
                        Some(true) => return Some(true),
                        Some(false) => {}
                        None => result = None,
                    }
                }
                result
            }
            Expr::And(operands) => {
                let mut result = Some(true);
                for operand in operands {
                    match self.truth(operand) {
                        Some(false) => return Some(false),
                        Some(true) => {}
                        None => result = None,
                    }
                }
                result
            }
            Expr::Not(operand) => Some(!self.truth(operand)?),
            Expr::Equal(operands) => {
                let [left, right] = &**operands;
                self.equal(&self.operand(left)?, &self.operand(right)?)
            }
            Expr::SameTerm(operands) => {
                let [left, right] = &**operands;
                Some(self.same_term(&self.operand(left)?, &self.operand(right)?))
            }
            Expr::Compare(comparison, operands) => {
                let [left, right] = &**operands;
                self.compare(*comparison, &self.operand(left)?, &self.operand(right)?)
            }
            Expr::In(operand, list) => {
                let operand = self.operand(operand)?;
                let mut result = Some(false);
                for element in list {
                    match self
                        .operand(element)
                        .and_then(|element| self.equal(&operand, &element))
                    {
                        Some(true) => return Some(true),
                        Some(false) => {}
                        None => result = None,
                    }
                }
                result
            }
            Expr::Bound(variable) => Some(self.id(*variable).is_some()),
            Expr::If(operands) => {
                let [condition, yes, no] = &**operands;
                self.truth(if self.truth(condition)? { yes } else { no })
            }
            Expr::Variable(_)
            | Expr::OutOfScope
            | Expr::Constant(_)
            | Expr::Arithmetic(..)
            | Expr::Plus(_)
            | Expr::Minus(_)
            | Expr::Coalesce(_)
            | Expr::Call(..)
            | Expr::Custom(..)
            | Expr::Match(_) => self.value(&self.operand(expression)?).truth(),
        }
    }

    /// What an expression comes out as; `None` if it fails.
    pub(super) fn operand(self, expression: &'a Expr) -> Option<Operand<'a>> {
        Some(match expression {
            Expr::Variable(variable) => match self.id(*variable)? {
                id if is_local(id) => Operand::Constant(self.evaluator.local(id)),
                id => Operand::Id(id),
            },
            Expr::OutOfScope => return None,
            Expr::Constant(constant) => Operand::Constant(constant),
            Expr::Or(_)
            | Expr::And(_)
            | Expr::Not(_)
            | Expr::Equal(_)
            | Expr::SameTerm(_)
            | Expr::Compare(..)
            | Expr::In(..)
            | Expr::Bound(_) => Operand::Computed(Value::Boolean(self.truth(expression)?)),
            Expr::Arithmetic(operation, operands) => {
                let [left, right] = &**operands;
                let (left, right) = (self.operand(left)?, self.operand(right)?);
                Operand::Computed(compute(
                    *operation,
                    &self.value(&left),
                    &self.value(&right),
                )?)
            }
            Expr::Plus(operand) => {
                let operand = self.operand(operand)?;
                let value = self.value(&operand).into_owned();
                if !matches!(
                    value,
                    Value::Integer(_) | Value::Decimal(_) | Value::Float(_) | Value::Double(_)
                ) {
                    return None;
                }
                Operand::Computed(value)
            }
            Expr::Minus(operand) => {
                let operand = self.operand(operand)?;
                Operand::Computed(negate(&self.value(&operand))?)
            }
            Expr::If(operands) => {
                let [condition, yes, no] = &**operands;
                return self.operand(if self.truth(condition)? { yes } else { no });
            }
            Expr::Coalesce(operands) => {
                return operands.iter().find_map(|operand| self.operand(operand));
            }
            Expr::Call(function, operands) => return self.call(*function, operands),
            Expr::Custom(function, operands) => {
                let terms: Vec<Term> = operands
                    .iter()
                    .map(|operand| Some(self.term_of(&self.operand(operand)?)))
                    .collect::<Option<_>>()?;
                Operand::Term(function.call(&terms)?)
            }
            Expr::Match(call) => Operand::Computed(self.pattern_call(call)?),
        })
    }

    fn id(self, variable: VariableId) -> Option<TermId> {
        let column = self.evaluator.column(variable)?;
        let id = self.batch.column(column)[self.number];
        (!id.is_unbound()).then_some(id)
    }

    /// The id of an operand, if it has one.
    pub(super) fn id_of(self, operand: &Operand<'_>) -> Option<TermId> {
        match operand {
            Operand::Id(id) => Some(*id),
            Operand::Constant(constant) => self.evaluator.constant_id(constant),
            Operand::Computed(_) | Operand::Term(_) => None,
        }
    }

    pub(super) fn value<'b>(self, operand: &'b Operand<'a>) -> Value<'b>
    where
        'a: 'b,
    {
        match operand {
            Operand::Id(id) => self.value_of(*id),
            Operand::Constant(constant) => constant.value.borrowed(),
            Operand::Computed(value) => value.borrowed(),
            Operand::Term(term) => Value::of(term),
        }
    }

    fn value_of(self, id: TermId) -> Value<'a> {
        match id.kind() {
            Some(Kind::Blank) => Value::Blank(blank_label(id.payload()).into()),
            // The caller asked for literals only: what an IRI is called does not matter to it.
            Some(Kind::Iri) => match self.evaluator.fetched_term(id) {
                Some(term) => Value::of(term),
                None => Value::Iri(Cow::Borrowed("")),
            },
            Some(kind) if kind.is_inline() => {
                Value::of_inline(id).expect("an inline id that the store gave has a value")
            }
            _ => Value::of(self.evaluator.term(id)),
        }
    }

    fn equal(self, left: &Operand<'a>, right: &Operand<'a>) -> Option<bool> {
        if let (Some(left), Some(right)) = (self.id_of(left), self.id_of(right)) {
            if left == right && !may_be_nan(left) {
                return Some(true);
            }
            if left != right && (is_resource(left) || is_resource(right)) {
                return Some(false);
            }
        }
        // A term that was not fetched is compared with an IRI that the store does not know, or an IRI that was not fetched
        // with a constant.
        if let (Operand::Id(id), Operand::Constant(constant))
        | (Operand::Constant(constant), Operand::Id(id)) = (left, right)
            && (is_resource(*id) || matches!(constant.value, Value::Iri(_)))
        {
            return Some(false);
        }
        equal(&self.value(left), &self.value(right))
    }

    fn same_term(self, left: &Operand<'a>, right: &Operand<'a>) -> bool {
        match (left, right) {
            (Operand::Constant(left), Operand::Constant(right)) => left.term == right.term,
            (Operand::Id(_) | Operand::Constant(_), Operand::Id(_) | Operand::Constant(_)) => {
                // A constant without id is no term of the store.
                self.id_of(left).is_some() && self.id_of(left) == self.id_of(right)
            }
            _ => self.term_of(left) == self.term_of(right),
        }
    }

    pub(super) fn term_of(self, operand: &Operand<'a>) -> Term {
        match operand {
            Operand::Id(id) => match id.kind() {
                Some(kind) if kind.is_inline() => {
                    let mut lexical = String::new();
                    let datatype = inline::decode(*id, &mut lexical)
                        .expect("an inline id that the store gave has a form");
                    Literal::new_typed_literal(lexical, NamedNode::new_unchecked(datatype)).into()
                }
                Some(Kind::Blank) => self.value_of(*id).to_term(),
                _ => self.evaluator.term(*id).clone(),
            },
            Operand::Constant(constant) => constant.term.clone(),
            Operand::Computed(value) => value.to_term(),
            Operand::Term(term) => term.clone(),
        }
    }

    fn compare(
        self,
        comparison: Comparison,
        left: &Operand<'a>,
        right: &Operand<'a>,
    ) -> Option<bool> {
        if let (Some(left), Some(right)) = (self.id_of(left), self.id_of(right))
            && let Some(order) = order_of_inline(left, right)
        {
            return Some(comparison.holds(order));
        }
        compare(comparison, &self.value(left), &self.value(right))
    }

    /// `STR`: the IRI, or a literal's lexical form.
    pub(super) fn lexical(self, operand: &Operand<'a>) -> Option<Cow<'a, str>> {
        match operand {
            Operand::Id(id) => match id.kind()? {
                Kind::Blank | Kind::Triple | Kind::Unbound => None,
                kind if kind.is_inline() => {
                    let mut lexical = String::new();
                    inline::decode(*id, &mut lexical)?;
                    Some(lexical.into())
                }
                _ => lexical_of(self.evaluator.term(*id)),
            },
            Operand::Constant(constant) => lexical_of(&constant.term),
            Operand::Term(term) => lexical_of(term).map(|text| Cow::Owned(text.into_owned())),
            Operand::Computed(value) => match value {
                Value::Iri(text) | Value::String(text) | Value::LangString { text, .. } => {
                    Some(text.clone())
                }
                Value::Blank(_) | Value::Triple(_) => None,
                other => lexical_of(&other.to_term()).map(|text| Cow::Owned(text.into_owned())),
            },
        }
    }

    /// `LANG`: the language tag of a literal, or an empty string.
    pub(super) fn language(self, operand: &Operand<'a>) -> Option<Cow<'a, str>> {
        match self.value(operand) {
            Value::LangString { language, .. } => Some(Cow::Owned(language.into_owned())),
            value => value.datatype().map(|_| Cow::Borrowed("")),
        }
    }

    /// `DATATYPE`: the datatype of a literal.
    pub(super) fn datatype(self, operand: &Operand<'a>) -> Option<Cow<'a, str>> {
        match operand {
            Operand::Id(id) => match id.kind()? {
                kind if kind.is_inline() => inline::datatype(kind).map(Cow::Borrowed),
                Kind::Literal | Kind::NumericLiteral | Kind::TemporalLiteral => {
                    datatype_of(self.evaluator.term(*id))
                }
                _ => None,
            },
            Operand::Constant(constant) => datatype_of(&constant.term),
            Operand::Term(term) => {
                datatype_of(term).map(|datatype| Cow::Owned(datatype.into_owned()))
            }
            Operand::Computed(value) => value
                .datatype()
                .map(|datatype| Cow::Owned(datatype.to_owned())),
        }
    }
}

fn lexical_of(term: &Term) -> Option<Cow<'_, str>> {
    match term {
        Term::NamedNode(node) => Some(node.as_str().into()),
        Term::Literal(literal) => Some(literal.value().into()),
        Term::BlankNode(_) | Term::Triple(_) => None,
    }
}

fn datatype_of(term: &Term) -> Option<Cow<'_, str>> {
    match term {
        Term::Literal(literal) => Some(literal.datatype().as_str().into()),
        Term::NamedNode(_) | Term::BlankNode(_) | Term::Triple(_) => None,
    }
}

/// Whether an id is an IRI's or a blank node's, which are equal to nothing but themselves.
fn is_resource(id: TermId) -> bool {
    matches!(id.kind(), Some(Kind::Iri | Kind::Blank))
}

/// Whether a term may be not equal to itself.
fn may_be_nan(id: TermId) -> bool {
    matches!(
        id.kind(),
        Some(Kind::Double | Kind::Float | Kind::NumericLiteral | Kind::Triple)
    )
}

/// The order of two values that stand in their ids and are of one type, without making values of them.
fn order_of_inline(left: TermId, right: TermId) -> Option<Ordering> {
    match (inline::value(left)?, inline::value(right)?) {
        (InlineValue::Integer(left), InlineValue::Integer(right)) => Some(left.cmp(&right)),
        (
            InlineValue::Date {
                start_minutes: left,
                offset_minutes: left_offset,
            },
            InlineValue::Date {
                start_minutes: right,
                offset_minutes: right_offset,
            },
        )
        | (
            InlineValue::DateTime {
                milliseconds: left,
                offset_minutes: left_offset,
            },
            InlineValue::DateTime {
                milliseconds: right,
                offset_minutes: right_offset,
            },
        ) if left_offset.is_some() == right_offset.is_some() => Some(left.cmp(&right)),
        _ => None,
    }
}
