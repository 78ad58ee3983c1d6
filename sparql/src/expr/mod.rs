//! Expressions: what a FILTER computes for a row.
//!
//! [`compile`] turns the parser's expression into an [`Expr`] whose variables are numbered; an [`Evaluator`] computes
//! it for the rows of a batch, on ids as long as that gives the right answer and on [`value`]s otherwise: as a
//! condition ([`Evaluator::is_true`]), or as a term ([`Evaluator::outcome`], [`Evaluator::evaluate_term`]).
//! [`functions`] has the functions of the language, [`compare`] says which values are equal and which is less, and
//! [`order`] how `ORDER BY` sorts.
//!
//! Identity is not value: `sameTerm` compares ids, `=` and `<` compare values. An expression may fail for a row
//! (`1 + "a"`, an unbound variable); that is `None` here: a condition that fails is not met, and a variable that is
//! assigned an expression that fails stays unbound.

mod call;
pub mod compare;
mod compile;
mod display;
pub mod evaluate;
pub mod functions;
mod large;
pub mod order;
mod row;
mod temporal;
#[cfg(test)]
mod tests;
pub mod value;

pub use compile::{Compilation, compile};
pub use evaluate::{BlankNodes, Evaluator, Outcome, Wanted};
pub use functions::Function;
pub use order::{OrderKey, compare_order};

use crate::extensions::CustomFunction;
use crate::plan::logical::VariableId;
use functions::pattern::Pattern;
use oxrdf::Term;
use std::sync::Arc;
use value::Value;

/// An expression.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A variable's term.
    Variable(VariableId),
    /// A variable that the group of the expression does not bind.
    OutOfScope,
    /// A term that the query names.
    Constant(Box<Constant>),
    /// True if one is.
    Or(Vec<Self>),
    /// True if all are.
    And(Vec<Self>),
    /// Logical negation.
    Not(Box<Self>),
    /// `=`, by value.
    Equal(Box<[Self; 2]>),
    /// The same term.
    SameTerm(Box<[Self; 2]>),
    /// `<` and its relatives, by value.
    Compare(Comparison, Box<[Self; 2]>),
    /// Equal to one of a list.
    In(Box<Self>, Vec<Self>),
    /// `+ - * /`.
    Arithmetic(Operation, Box<[Self; 2]>),
    /// A number as it is.
    Plus(Box<Self>),
    /// A number negated.
    Minus(Box<Self>),
    /// Whether a variable is bound.
    Bound(VariableId),
    /// The second or the third, as the first is true or false.
    If(Box<[Self; 3]>),
    /// The first that does not fail.
    Coalesce(Vec<Self>),
    /// A function of the language. `IRI` has the query's base as its second operand, if there is one.
    Call(Function, Vec<Self>),
    /// A function of the embedding program.
    Custom(CustomFunction, Vec<Self>),
    /// `REGEX` or `REPLACE`.
    Match(Box<PatternCall>),
}

/// A call of `REGEX` or `REPLACE`.
#[derive(Clone, Debug)]
pub struct PatternCall {
    /// Which of the two.
    pub function: Function,
    /// The text, the pattern, for `REPLACE` the replacement, perhaps flags.
    pub operands: Vec<Expr>,
    /// The pattern, where the query names it.
    pub pattern: ConstantPattern,
}

impl PatternCall {
    /// The operand with the flags.
    pub fn flags(&self) -> Option<&Expr> {
        self.operands.get(match self.function {
            Function::Replace => 3,
            _ => 2,
        })
    }
}

/// A pattern as far as it is known before any row is.
#[derive(Clone, Debug)]
pub enum ConstantPattern {
    /// It is computed for each row.
    Computed,
    /// It, or its flags, are no pattern or flags: every call is an error.
    Invalid,
    /// Compiled once.
    Compiled(Arc<Pattern>),
}

/// A term that a query names, with its value.
#[derive(Clone, Debug)]
pub struct Constant {
    /// The term.
    pub term: Term,
    /// What it is worth.
    pub value: Value<'static>,
    /// A number of its own among the constants of the query, for tables of their ids.
    pub number: u32,
}

/// A comparison by value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// An operation on two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
}

impl Expr {
    /// Calls back for this expression and everything in it.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Self)) {
        visit(self);
        match self {
            Self::Variable(_) | Self::OutOfScope | Self::Constant(_) | Self::Bound(_) => {}
            Self::Or(operands)
            | Self::And(operands)
            | Self::Coalesce(operands)
            | Self::Call(_, operands)
            | Self::Custom(_, operands) => {
                for operand in operands {
                    operand.walk(visit);
                }
            }
            Self::Match(call) => {
                for operand in &call.operands {
                    operand.walk(visit);
                }
            }
            Self::Not(operand) | Self::Plus(operand) | Self::Minus(operand) => operand.walk(visit),
            Self::Equal(operands)
            | Self::SameTerm(operands)
            | Self::Compare(_, operands)
            | Self::Arithmetic(_, operands) => {
                for operand in operands.iter() {
                    operand.walk(visit);
                }
            }
            Self::If(operands) => {
                for operand in operands.iter() {
                    operand.walk(visit);
                }
            }
            Self::In(operand, list) => {
                operand.walk(visit);
                for operand in list {
                    operand.walk(visit);
                }
            }
        }
    }

    /// Calls back for each variable, once for each time it occurs.
    pub fn variables(&self, visit: &mut impl FnMut(VariableId)) {
        self.walk(&mut |expression| {
            if let Self::Variable(variable) | Self::Bound(variable) = expression {
                visit(*variable);
            }
        });
    }

    /// Whether it may come out differently for the same terms, as `RAND()` does. Such an expression is computed once for
    /// each solution of its group, neither earlier nor later.
    pub fn is_volatile(&self) -> bool {
        let mut is_volatile = false;
        self.walk(&mut |expression| {
            is_volatile |= matches!(expression, Self::Call(function, _) if function.is_volatile());
        });
        is_volatile
    }

    /// Adds the expression as a condition: its conjuncts one by one, each in the cheapest form that is true for
    /// the same rows.
    ///
    /// Where a whole condition fails or is false its row goes either way, so `?x = "text"` may become
    /// `sameTerm(?x, "text")`: no other term has the value of a plain or language-tagged string, or of an IRI.
    pub fn split_into(self, conditions: &mut Vec<Self>) {
        match self {
            Self::And(operands) => {
                for operand in operands {
                    operand.split_into(conditions);
                }
            }
            Self::Equal(operands) if operands.iter().any(Self::is_only_equal_to_itself) => {
                conditions.push(Self::SameTerm(operands));
            }
            other => conditions.push(other),
        }
    }

    fn is_only_equal_to_itself(&self) -> bool {
        match self {
            Self::Constant(constant) => matches!(
                constant.value,
                Value::Iri(_) | Value::String(_) | Value::LangString { .. }
            ),
            _ => false,
        }
    }
}
