//! Expressions as text, for explanations.

use super::{Comparison, Expr, Operation};
use crate::plan::logical::Variables;
use std::fmt;

impl Expr {
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
                write!(f, "{function}")?;
                self.list(f, operands, ", ")
            }
            Expr::Custom(function, operands) => {
                write!(f, "{}", function.name())?;
                self.list(f, operands, ", ")
            }
            Expr::Match(call) => {
                write!(f, "{}", call.function)?;
                self.list(f, &call.operands, ", ")
            }
        }
    }
}
