//! Computes expressions for the rows of a batch.
//!
//! Operands stay ids as long as that gives the right answer: `sameTerm`, `isIRI`, equality with an IRI, comparisons of
//! two inline integers or dates. Terms of the dictionaries that an expression needs all the same are fetched for
//! a whole batch at once ([`Evaluator::prepare`]), each once, and kept from batch to batch within a bound.

use super::row::Row;
use super::value::Value;
use super::{Constant, Expr, Function};
use crate::error::Result;
use crate::exec::batch::Batch;
use crate::plan::logical::VariableId;
use hashbrown::HashMap;
use oxrdf::Term;
use quadrille_store::{Kind, Snapshot, TermId};

/// How many fetched terms are kept; when there are more, all are dropped before the next batch.
const FETCHED_TERMS_MAX: usize = 1 << 16;

/// Computes an expression over the batches of one operator.
pub struct Evaluator {
    snapshot: Snapshot,
    /// By variable: its column, or [`NO_COLUMN`].
    columns: Vec<u32>,
    /// By number of the constant: its id, if the store knows the term.
    constants: Vec<Option<TermId>>,
    /// The columns whose terms the expression needs, and how many of them.
    needs: Vec<(usize, Need)>,
    fetched: HashMap<TermId, Term>,
    missing: Vec<TermId>,
}

const NO_COLUMN: u32 = u32::MAX;

/// Which of a variable's terms an expression needs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Need {
    /// None: ids are enough.
    Nothing,
    /// Literals and triple terms.
    Literals,
    /// IRIs too.
    Everything,
}

impl Evaluator {
    /// An evaluator of an expression for batches with these columns.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn new(snapshot: &Snapshot, expression: &Expr, variables: &[VariableId]) -> Result<Self> {
        let mut evaluator = Self {
            snapshot: snapshot.clone(),
            columns: Vec::new(),
            constants: Vec::new(),
            needs: Vec::new(),
            fetched: HashMap::new(),
            missing: Vec::new(),
        };
        for (column, variable) in variables.iter().enumerate() {
            if evaluator.columns.len() <= variable.index() {
                evaluator.columns.resize(variable.index() + 1, NO_COLUMN);
            }
            evaluator.columns[variable.index()] = column as u32;
        }
        let mut failed = None;
        expression.walk(&mut |part| {
            if let Expr::Constant(constant) = part
                && let Err(error) = evaluator.add_constant(constant)
            {
                failed = Some(error);
            }
        });
        evaluator.add_needs(expression, Need::Literals);
        match failed {
            Some(error) => Err(error),
            None => Ok(evaluator),
        }
    }

    fn add_constant(&mut self, constant: &Constant) -> Result<()> {
        let number = constant.number as usize;
        if self.constants.len() <= number {
            self.constants.resize(number + 1, None);
        }
        self.constants[number] = self.snapshot.term_id(constant.term.as_ref())?;
        Ok(())
    }

    /// Notes which terms the value of an expression needs, when something that needs `need` of it is done with it.
    fn add_needs(&mut self, expression: &Expr, need: Need) {
        match expression {
            Expr::Variable(variable) => {
                if let Some(column) = self.column(*variable)
                    && need > Need::Nothing
                {
                    match self.needs.iter_mut().find(|(known, _)| *known == column) {
                        Some((_, known)) => *known = need.max(*known),
                        None => self.needs.push((column, need)),
                    }
                }
            }
            Expr::OutOfScope | Expr::Constant(_) | Expr::Bound(_) => {}
            Expr::Or(operands) | Expr::And(operands) => {
                for operand in operands {
                    self.add_needs(operand, Need::Literals);
                }
            }
            Expr::Coalesce(operands) => {
                for operand in operands {
                    self.add_needs(operand, need);
                }
            }
            Expr::If(operands) => {
                let [condition, yes, no] = &**operands;
                self.add_needs(condition, Need::Literals);
                self.add_needs(yes, need);
                self.add_needs(no, need);
            }
            Expr::Not(operand) | Expr::Plus(operand) | Expr::Minus(operand) => {
                self.add_needs(operand, Need::Literals);
            }
            Expr::Equal(operands) => {
                let [left, right] = &**operands;
                self.add_needs(left, need_to_equal(right));
                self.add_needs(right, need_to_equal(left));
            }
            Expr::SameTerm(operands) => {
                let is_simple = |operand: &Expr| {
                    matches!(
                        operand,
                        Expr::Variable(_) | Expr::Constant(_) | Expr::OutOfScope
                    )
                };
                let need = if operands.iter().all(is_simple) {
                    Need::Nothing
                } else {
                    Need::Everything
                };
                for operand in operands.iter() {
                    self.add_needs(operand, need);
                }
            }
            Expr::Compare(_, operands) | Expr::Arithmetic(_, operands) => {
                for operand in operands.iter() {
                    self.add_needs(operand, Need::Literals);
                }
            }
            Expr::In(operand, list) => {
                let need = list
                    .iter()
                    .map(need_to_equal)
                    .max()
                    .unwrap_or(Need::Nothing);
                self.add_needs(operand, need);
                for element in list {
                    self.add_needs(element, need_to_equal(operand));
                }
            }
            Expr::Call(function, operands) => {
                let need = match function {
                    Function::Str => Need::Everything,
                    Function::IsIri
                    | Function::IsBlank
                    | Function::IsLiteral
                    | Function::IsTriple => Need::Nothing,
                    Function::Lang
                    | Function::LangMatches
                    | Function::Datatype
                    | Function::IsNumeric
                    | Function::StrLen
                    | Function::Contains
                    | Function::StrStarts
                    | Function::StrEnds => Need::Literals,
                };
                for operand in operands {
                    self.add_needs(operand, need);
                }
            }
        }
    }

    /// The column of a variable.
    pub(super) fn column(&self, variable: VariableId) -> Option<usize> {
        self.columns
            .get(variable.index())
            .filter(|column| **column != NO_COLUMN)
            .map(|column| *column as usize)
    }

    /// Fetches the terms that rows of a batch need; to be called before [`Evaluator::is_true`] is for them.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn prepare(&mut self, batch: &Batch, rows: &[u32]) -> Result<()> {
        if self.needs.is_empty() {
            return Ok(());
        }
        if self.fetched.len() > FETCHED_TERMS_MAX {
            self.fetched.clear();
        }
        self.missing.clear();
        for (column, need) in &self.needs {
            let ids = batch.column(*column);
            for row in rows {
                let id = ids[*row as usize];
                if is_needed(id, *need) && !self.fetched.contains_key(&id) {
                    self.missing.push(id);
                }
            }
        }
        if self.missing.is_empty() {
            return Ok(());
        }
        self.missing.sort_unstable();
        self.missing.dedup();
        let (missing, fetched) = (&self.missing, &mut self.fetched);
        self.snapshot.terms(missing, &mut |place, term| {
            fetched.insert(missing[place], term);
        })?;
        Ok(())
    }

    /// Whether a condition is met in a row: neither false nor an error.
    pub fn is_true(&self, expression: &Expr, batch: &Batch, row: usize) -> bool {
        let row = Row {
            evaluator: self,
            batch,
            number: row,
        };
        row.truth(expression) == Some(true)
    }

    /// The id of a constant, if the store knows the term.
    pub(super) fn constant_id(&self, constant: &Constant) -> Option<TermId> {
        self.constants[constant.number as usize]
    }

    /// The term of an id, if it was fetched.
    pub(super) fn fetched_term(&self, id: TermId) -> Option<&Term> {
        self.fetched.get(&id)
    }

    /// The term of an id whose term the expression needs.
    pub(super) fn term(&self, id: TermId) -> &Term {
        self.fetched_term(id)
            .expect("a term that an expression needs was fetched for the batch")
    }
}

/// Whether an id's term must be fetched to satisfy a need.
fn is_needed(id: TermId, need: Need) -> bool {
    match id.kind() {
        Some(Kind::Literal | Kind::NumericLiteral | Kind::TemporalLiteral | Kind::Triple) => {
            need >= Need::Literals
        }
        Some(Kind::Iri) => need >= Need::Everything,
        _ => false,
    }
}

/// What an operand of `=` needs for the sake of the other operand.
fn need_to_equal(other: &Expr) -> Need {
    match other {
        // Two IRIs, or an IRI and anything else, are equal if their ids are.
        Expr::Constant(constant) if matches!(constant.value, Value::Iri(_)) => Need::Nothing,
        Expr::Variable(_) | Expr::Constant(_) | Expr::OutOfScope => Need::Literals,
        _ => Need::Everything,
    }
}
