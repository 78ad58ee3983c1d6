//! From the parser's expressions to [`Expr`].

use super::functions::pattern::Pattern;
use super::value::Value;
use super::{Comparison, Constant, ConstantPattern, Expr, Function, Operation, PatternCall};
use crate::error::{QueryError, Result};
use crate::extensions::Extensions;
use crate::nesting::EXPRESSION_DEPTH_MAX;
use crate::plan::logical::VariableId;
use oxrdf::{Literal, NamedNode, Term, Triple, Variable};
use spargebra::algebra::{Expression, Function as Name};
use std::sync::Arc;

/// What the expressions of one query share while they are compiled.
#[derive(Debug, Default)]
pub struct Compilation {
    /// Counts the constants.
    pub constants: u32,
    /// What `IRI` resolves relative IRIs against.
    pub base: Option<NamedNode>,
    /// The functions of the program.
    pub extensions: Extensions,
}

/// Compiles an expression. `resolve` numbers a variable, or gives `None` if the expression cannot see it.
///
/// # Errors
/// [`QueryError::Unsupported`] for a function or an operator that this engine does not do; [`QueryError::Unregistered`]
/// for one that nobody knows; [`QueryError::Limit`] for an expression that is too deep.
pub fn compile(
    expression: &Expression,
    compilation: &mut Compilation,
    resolve: &mut impl FnMut(&Variable) -> Option<VariableId>,
) -> Result<Expr> {
    Compiler {
        compilation,
        resolve,
        depth: 0,
    }
    .compile(expression)
}

struct Compiler<'a, R> {
    compilation: &'a mut Compilation,
    resolve: &'a mut R,
    depth: usize,
}

impl<R: FnMut(&Variable) -> Option<VariableId>> Compiler<'_, R> {
    fn compile(&mut self, expression: &Expression) -> Result<Expr> {
        if self.depth == EXPRESSION_DEPTH_MAX {
            return Err(QueryError::Limit {
                what: "an expression of the query is nested too deeply",
                limit: EXPRESSION_DEPTH_MAX,
            });
        }
        self.depth += 1;
        let compiled = self.compile_at_depth(expression);
        self.depth -= 1;
        compiled
    }

    fn compile_at_depth(&mut self, expression: &Expression) -> Result<Expr> {
        Ok(match expression {
            Expression::NamedNode(node) => self.constant(node.clone().into()),
            Expression::Literal(literal) => self.constant(literal.clone().into()),
            Expression::Variable(variable) => {
                (self.resolve)(variable).map_or(Expr::OutOfScope, Expr::Variable)
            }
            Expression::Bound(variable) => match (self.resolve)(variable) {
                Some(variable) => Expr::Bound(variable),
                None => self.constant(Literal::from(false).into()),
            },
            Expression::Or(..) => {
                let mut operands = Vec::new();
                let chain = chain(expression, |expression| match expression {
                    Expression::Or(left, right) => Some((left, right)),
                    _ => None,
                });
                for operand in chain {
                    operands.push(self.compile(operand)?);
                }
                Expr::Or(operands)
            }
            Expression::And(..) => {
                let mut operands = Vec::new();
                let chain = chain(expression, |expression| match expression {
                    Expression::And(left, right) => Some((left, right)),
                    _ => None,
                });
                for operand in chain {
                    operands.push(self.compile(operand)?);
                }
                Expr::And(operands)
            }
            Expression::Not(operand) => Expr::Not(Box::new(self.compile(operand)?)),
            Expression::Equal(left, right) => Expr::Equal(self.pair(left, right)?),
            Expression::SameTerm(left, right) => Expr::SameTerm(self.pair(left, right)?),
            Expression::Less(left, right) => {
                Expr::Compare(Comparison::Less, self.pair(left, right)?)
            }
            Expression::LessOrEqual(left, right) => {
                Expr::Compare(Comparison::LessOrEqual, self.pair(left, right)?)
            }
            Expression::Greater(left, right) => {
                Expr::Compare(Comparison::Greater, self.pair(left, right)?)
            }
            Expression::GreaterOrEqual(left, right) => {
                Expr::Compare(Comparison::GreaterOrEqual, self.pair(left, right)?)
            }
            Expression::In(operand, list) => {
                Expr::In(Box::new(self.compile(operand)?), self.list(list)?)
            }
            Expression::Add(left, right) => {
                Expr::Arithmetic(Operation::Add, self.pair(left, right)?)
            }
            Expression::Subtract(left, right) => {
                Expr::Arithmetic(Operation::Subtract, self.pair(left, right)?)
            }
            Expression::Multiply(left, right) => {
                Expr::Arithmetic(Operation::Multiply, self.pair(left, right)?)
            }
            Expression::Divide(left, right) => {
                Expr::Arithmetic(Operation::Divide, self.pair(left, right)?)
            }
            Expression::UnaryPlus(operand) => Expr::Plus(Box::new(self.compile(operand)?)),
            Expression::UnaryMinus(operand) => Expr::Minus(Box::new(self.compile(operand)?)),
            Expression::If(condition, yes, no) => Expr::If(Box::new([
                self.compile(condition)?,
                self.compile(yes)?,
                self.compile(no)?,
            ])),
            Expression::Coalesce(list) => Expr::Coalesce(self.list(list)?),
            Expression::Exists(_) => return Err(QueryError::unsupported("EXISTS")),
            Expression::FunctionCall(name, operands) => self.call(name, operands)?,
        })
    }

    fn constant(&mut self, term: Term) -> Expr {
        let number = self.compilation.constants;
        self.compilation.constants += 1;
        Expr::Constant(Box::new(Constant {
            value: Value::of(&term).into_owned(),
            term,
            number,
        }))
    }

    fn pair(&mut self, left: &Expression, right: &Expression) -> Result<Box<[Expr; 2]>> {
        Ok(Box::new([self.compile(left)?, self.compile(right)?]))
    }

    fn list(&mut self, list: &[Expression]) -> Result<Vec<Expr>> {
        list.iter().map(|operand| self.compile(operand)).collect()
    }

    fn custom(&mut self, name: &NamedNode, operands: &[Expression]) -> Result<Expr> {
        let Some(function) = self.compilation.extensions.function(name).cloned() else {
            return Err(QueryError::Unregistered {
                kind: "function",
                name: name.clone(),
            });
        };
        Ok(Expr::Custom(function, self.list(operands)?))
    }

    fn call(&mut self, name: &Name, operands: &[Expression]) -> Result<Expr> {
        if let (Name::Triple, Some(triple)) = (name, ground_triple(operands)) {
            return Ok(self.constant(triple.into()));
        }
        let Some((function, arity)) = Function::of(name) else {
            if let Name::Custom(name) = name {
                return self.custom(name, operands);
            }
            return Err(QueryError::unsupported(format!("the function {name}")));
        };
        // The parser checks this but for casts; algebra that a program builds may be wrong.
        if !arity.contains(&operands.len()) {
            return Err(QueryError::unsupported(format!(
                "the function {function} with {} arguments",
                operands.len()
            )));
        }
        let mut operands = self.list(operands)?;
        Ok(match function {
            Function::Regex | Function::Replace => {
                let mut call = PatternCall {
                    function,
                    operands,
                    pattern: ConstantPattern::Computed,
                };
                call.pattern = constant_pattern(&call);
                Expr::Match(Box::new(call))
            }
            Function::Iri => {
                if let Some(base) = self.compilation.base.clone() {
                    operands.push(self.constant(base.into()));
                }
                Expr::Call(function, operands)
            }
            _ => Expr::Call(function, operands),
        })
    }
}

/// The pattern of a call, compiled if the query names it.
fn constant_pattern(call: &PatternCall) -> ConstantPattern {
    let Some(Expr::Constant(pattern)) = call.operands.get(1) else {
        return ConstantPattern::Computed;
    };
    let flags: &str = match call.flags() {
        None => "",
        Some(Expr::Constant(flags)) => match &flags.value {
            Value::String(flags) => flags,
            _ => return ConstantPattern::Invalid,
        },
        Some(_) => return ConstantPattern::Computed,
    };
    match &pattern.value {
        Value::String(pattern) => Pattern::new(pattern, flags)
            .map_or(ConstantPattern::Invalid, |pattern| {
                ConstantPattern::Compiled(Arc::new(pattern))
            }),
        _ => ConstantPattern::Invalid,
    }
}

/// A triple term without variables, which the parser writes as a call.
fn ground_triple(operands: &[Expression]) -> Option<Triple> {
    let [
        Expression::NamedNode(subject),
        Expression::NamedNode(predicate),
        object,
    ] = operands
    else {
        return None;
    };
    let object: Term = match object {
        Expression::NamedNode(node) => node.clone().into(),
        Expression::Literal(literal) => literal.clone().into(),
        Expression::FunctionCall(Name::Triple, operands) => ground_triple(operands)?.into(),
        _ => return None,
    };
    Some(Triple::new(subject.clone(), predicate.clone(), object))
}

/// The operands of a chain of one operator, left to right, found without recursion: the parser makes `a || b || c
/// ...` a tree as deep as the chain is long.
fn chain<'a>(
    expression: &'a Expression,
    split: impl Fn(&'a Expression) -> Option<(&'a Expression, &'a Expression)>,
) -> Vec<&'a Expression> {
    let mut waiting = vec![expression];
    let mut operands = Vec::new();
    while let Some(expression) = waiting.pop() {
        match split(expression) {
            Some((left, right)) => {
                waiting.push(right);
                waiting.push(left);
            }
            None => operands.push(expression),
        }
    }
    operands
}
