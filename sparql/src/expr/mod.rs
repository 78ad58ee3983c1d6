//! Expressions: what a FILTER computes for a row.
//!
//! [`compile`] turns the parser's expression into an [`Expr`] whose variables are numbered; [`evaluate`] computes
//! it for the rows of a batch, on ids as long as that gives the right answer and on [`value`]s otherwise;
//! [`compare`] says which values are equal and which is less.
//!
//! Identity is not value: `sameTerm` compares ids, `=` and `<` compare values. An expression may fail for a row
//! (`1 + "a"`, an unbound variable); that is `None` here, and a condition that fails is not met.

pub mod compare;
mod compile;
pub mod evaluate;
mod row;
pub mod value;

pub use compile::compile;
pub use evaluate::Evaluator;

use crate::plan::logical::{VariableId, Variables};
use oxrdf::Term;
use std::fmt;
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
    /// A function of the language.
    Call(Function, Vec<Self>),
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

/// A function of the language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are the language's")]
pub enum Function {
    Str,
    Lang,
    LangMatches,
    Datatype,
    IsIri,
    IsBlank,
    IsLiteral,
    IsNumeric,
    IsTriple,
    StrLen,
    Contains,
    StrStarts,
    StrEnds,
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
            | Self::Call(_, operands) => {
                for operand in operands {
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

    /// The expression in SPARQL's syntax, for explanations.
    pub fn display<'a>(&'a self, variables: &'a Variables) -> impl fmt::Display + 'a {
        Displayed {
            expression: self,
            variables,
        }
    }
}

struct Displayed<'a> {
    expression: &'a Expr,
    variables: &'a Variables,
}

impl Displayed<'_> {
    fn list(&self, f: &mut fmt::Formatter<'_>, operands: &[Expr], separator: &str) -> fmt::Result {
        f.write_str("(")?;
        for (index, operand) in operands.iter().enumerate() {
            if index > 0 {
                f.write_str(separator)?;
            }
            write!(f, "{}", operand.display(self.variables))?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for Displayed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.expression {
            Expr::Variable(variable) => f.write_str(&self.variables.display(*variable)),
            Expr::OutOfScope => f.write_str("UNBOUND"),
            Expr::Constant(constant) => write!(f, "{}", constant.term),
            Expr::Or(operands) => self.list(f, operands, " || "),
            Expr::And(operands) => self.list(f, operands, " && "),
            Expr::Not(operand) => write!(f, "!{}", operand.display(self.variables)),
            Expr::Equal(operands) => self.list(f, &operands[..], " = "),
            Expr::SameTerm(operands) => {
                f.write_str("sameTerm")?;
                self.list(f, &operands[..], ", ")
            }
            Expr::Compare(comparison, operands) => self.list(
                f,
                &operands[..],
                match comparison {
                    Comparison::Less => " < ",
                    Comparison::LessOrEqual => " <= ",
                    Comparison::Greater => " > ",
                    Comparison::GreaterOrEqual => " >= ",
                },
            ),
            Expr::In(operand, list) => {
                write!(f, "{} IN ", operand.display(self.variables))?;
                self.list(f, list, ", ")
            }
            Expr::Arithmetic(operation, operands) => self.list(
                f,
                &operands[..],
                match operation {
                    Operation::Add => " + ",
                    Operation::Subtract => " - ",
                    Operation::Multiply => " * ",
                    Operation::Divide => " / ",
                },
            ),
            Expr::Plus(operand) => write!(f, "+{}", operand.display(self.variables)),
            Expr::Minus(operand) => write!(f, "-{}", operand.display(self.variables)),
            Expr::Bound(variable) => write!(f, "BOUND({})", self.variables.display(*variable)),
            Expr::If(operands) => {
                f.write_str("IF")?;
                self.list(f, &operands[..], ", ")
            }
            Expr::Coalesce(operands) => {
                f.write_str("COALESCE")?;
                self.list(f, operands, ", ")
            }
            Expr::Call(function, operands) => {
                f.write_str(match function {
                    Function::Str => "STR",
                    Function::Lang => "LANG",
                    Function::LangMatches => "LANGMATCHES",
                    Function::Datatype => "DATATYPE",
                    Function::IsIri => "isIRI",
                    Function::IsBlank => "isBLANK",
                    Function::IsLiteral => "isLITERAL",
                    Function::IsNumeric => "isNUMERIC",
                    Function::IsTriple => "isTRIPLE",
                    Function::StrLen => "STRLEN",
                    Function::Contains => "CONTAINS",
                    Function::StrStarts => "STRSTARTS",
                    Function::StrEnds => "STRENDS",
                })?;
                self.list(f, operands, ", ")
            }
        }
    }
}
