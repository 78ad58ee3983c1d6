//! Computes expressions for the rows of a batch.
//!
//! Operands stay ids as long as that gives the right answer: `sameTerm`, `isIRI`, equality with an IRI, comparisons of
//! two inline integers or dates. Terms of the dictionaries that an expression needs all the same are fetched for
//! a whole batch at once ([`Evaluator::prepare`]), each once, and kept from batch to batch within a bound.
//!
//! An operator that computes several expressions for the same rows gives them all to one evaluator: then `BNODE("a")`
//! is the same blank node in each of them, row by row, as the specification asks.

use super::functions::pattern::Pattern;
use super::row::{Operand, Row};
use super::value::Value;
use super::{Constant, Expr, Function};
use crate::error::Result;
use crate::exec::batch::Batch;
use crate::exec::control::Control;
use crate::exec::terms::Terms;
use crate::expr::functions::casts::Cast;
use crate::plan::logical::VariableId;
use hashbrown::HashMap;
use oxrdf::{BlankNode, Term};
use oxsdatatypes::DateTime;
use quadrille_store::inline;
use quadrille_store::{Kind, TermId};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// How many fetched terms are kept; when there are more, all are dropped before the next batch.
const FETCHED_TERMS_MAX: usize = 1 << 12;

/// How many patterns that are not constant are kept compiled; when there are more, all are dropped.
const PATTERNS_MAX: usize = 64;

/// What expressions are computed for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// Conditions: [`Evaluator::is_true`].
    Truth,
    /// Ids, or terms that were computed: [`Evaluator::outcome`].
    Outcomes,
    /// Terms: [`Evaluator::evaluate_term`], and [`Evaluator::outcome`] too.
    Terms,
}

/// What an expression came out as.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// A term that has an id, because it is bound, a constant that the store knows, or a value that stands in its id.
    Id(TermId),
    /// A term that was computed and is no such value, or a constant that the store does not know. The store may have what
    /// was computed all the same.
    Term(Term),
}

/// The blank nodes that `BNODE` made for the rows of a batch, by row and label.
pub type BlankNodes = HashMap<(usize, String), String>;

/// Computes expressions over the batches of one operator.
pub struct Evaluator {
    terms: Arc<Terms>,
    control: Arc<Control>,
    /// By variable: its column, or [`NO_COLUMN`].
    columns: Vec<u32>,
    /// By number of the constant: its id, if the store knows the term.
    constants: Vec<Option<TermId>>,
    /// The columns whose terms the expression needs, and how many of them.
    needs: Vec<(usize, Need)>,
    /// The columns of all the expression's variables, which may hold ids that are local to the query.
    variable_columns: Vec<usize>,
    fetched: HashMap<TermId, Term>,
    /// Terms that the query computed, which are like constants that the store does not know.
    local: HashMap<TermId, Box<Constant>>,
    missing: Vec<TermId>,
    /// The blank nodes that `BNODE` made for the prepared rows, by row and label.
    blank_nodes: RefCell<BlankNodes>,
    /// Patterns that are computed: by flags, a line feed, and the pattern. `None` if they are invalid.
    patterns: RefCell<HashMap<String, Option<Arc<Pattern>>>>,
    /// Whether the query was found stopped amidst a batch.
    is_stopped: Cell<bool>,
}

/// The number of constants that are not the query's.
const LOCAL_CONSTANT: u32 = u32::MAX;

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
    /// An evaluator of expressions for batches with these columns.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn new<'e>(
        terms: &Arc<Terms>,
        expressions: impl IntoIterator<Item = &'e Expr>,
        wanted: Wanted,
        variables: &[VariableId],
        control: &Arc<Control>,
    ) -> Result<Self> {
        let mut evaluator = Self {
            terms: Arc::clone(terms),
            control: Arc::clone(control),
            columns: Vec::new(),
            constants: Vec::new(),
            needs: Vec::new(),
            variable_columns: Vec::new(),
            fetched: HashMap::new(),
            local: HashMap::new(),
            missing: Vec::new(),
            blank_nodes: RefCell::default(),
            patterns: RefCell::default(),
            is_stopped: Cell::new(false),
        };
        for (column, variable) in variables.iter().enumerate() {
            if evaluator.columns.len() <= variable.index() {
                evaluator.columns.resize(variable.index() + 1, NO_COLUMN);
            }
            evaluator.columns[variable.index()] = column as u32;
        }
        let need = match wanted {
            Wanted::Truth => Need::Literals,
            Wanted::Outcomes => Need::Nothing,
            Wanted::Terms => Need::Everything,
        };
        for expression in expressions {
            let mut failed = None;
            expression.walk(&mut |part| {
                if let Expr::Constant(constant) = part
                    && let Err(error) = evaluator.add_constant(constant)
                {
                    failed = Some(error);
                }
            });
            if let Some(error) = failed {
                return Err(error);
            }
            evaluator.add_needs(expression, need);
            let mut columns = std::mem::take(&mut evaluator.variable_columns);
            expression.variables(&mut |variable| columns.extend(evaluator.column(variable)));
            columns.sort_unstable();
            columns.dedup();
            evaluator.variable_columns = columns;
        }
        Ok(evaluator)
    }

    fn add_constant(&mut self, constant: &Constant) -> Result<()> {
        let number = constant.number as usize;
        if self.constants.len() <= number {
            self.constants.resize(number + 1, None);
        }
        self.constants[number] = self.terms.snapshot().term_id(constant.term.as_ref())?;
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
                    Function::Str
                    | Function::Iri
                    | Function::StrDt
                    | Function::Triple
                    | Function::Cast(Cast::String) => Need::Everything,
                    Function::IsIri
                    | Function::IsBlank
                    | Function::IsLiteral
                    | Function::IsTriple => Need::Nothing,
                    _ => Need::Literals,
                };
                for operand in operands {
                    self.add_needs(operand, need);
                }
            }
            Expr::Custom(_, operands) => {
                for operand in operands {
                    self.add_needs(operand, Need::Everything);
                }
            }
            Expr::Match(call) => {
                for operand in &call.operands {
                    self.add_needs(operand, Need::Literals);
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

    /// Fetches the terms that rows of a batch need; to be called once for each batch, before any of its rows is
    /// computed.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn prepare(&mut self, batch: &Batch, rows: &[u32]) -> Result<()> {
        self.blank_nodes.get_mut().clear();
        if self.terms.has_local() {
            self.prepare_local(batch, rows)?;
        }
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
        fetched.reserve(missing.len());
        self.terms.snapshot().terms(missing, &mut |place, term| {
            fetched.insert(missing[place], term);
        })?;
        Ok(())
    }

    /// Whether a condition is met in a row: neither false nor an error.
    pub fn is_true(&self, expression: &Expr, batch: &Batch, row: usize) -> bool {
        self.truth(expression, batch, row) == Some(true)
    }

    /// The effective boolean value of an expression in a row; `None` if it fails or has none.
    pub fn truth(&self, expression: &Expr, batch: &Batch, row: usize) -> Option<bool> {
        self.row(batch, row).truth(expression)
    }

    /// What an expression comes out as in a row; `None` if it fails.
    pub fn outcome(&self, expression: &Expr, batch: &Batch, row: usize) -> Option<Outcome> {
        if let Expr::Variable(variable) = expression {
            let id = batch.column(self.column(*variable)?)[row];
            return (!id.is_unbound()).then_some(Outcome::Id(id));
        }
        let row = self.row(batch, row);
        let operand = row.operand(expression)?;
        if let Some(id) = row.id_of(&operand) {
            return Some(Outcome::Id(id));
        }
        if let Operand::Computed(Value::Integer(value)) = &operand
            && let Some(id) = inline::from_integer(Kind::Integer, (*value).into())
        {
            return Some(Outcome::Id(id));
        }
        let term = row.term_of(&operand);
        let id = match &term {
            Term::Literal(literal) => inline::encode(literal.value(), literal.datatype().as_str()),
            _ => None,
        };
        Some(id.map_or(Outcome::Term(term), Outcome::Id))
    }

    /// The same as a term; the evaluator must have been made for [`Wanted::Terms`].
    pub fn evaluate_term(&self, expression: &Expr, batch: &Batch, row: usize) -> Option<Term> {
        let row = self.row(batch, row);
        Some(row.term_of(&row.operand(expression)?))
    }

    fn row<'a>(&'a self, batch: &'a Batch, number: usize) -> Row<'a> {
        Row {
            evaluator: self,
            batch,
            number,
        }
    }

    /// To be called after the rows of a batch were computed: where the query was stopped amidst of them, what came out is
    /// not to be used.
    ///
    /// # Errors
    /// If the query was stopped.
    pub fn check(&self) -> Result<()> {
        if self.is_stopped.get() {
            self.control.check()
        } else {
            Ok(())
        }
    }

    /// Whether the query was stopped: to be asked before what may take long.
    pub(super) fn is_stopped(&self) -> bool {
        if !self.is_stopped.get() {
            self.is_stopped.set(self.control.check().is_err());
        }
        self.is_stopped.get()
    }

    /// The time of the query.
    pub(super) fn now(&self) -> DateTime {
        self.control.now()
    }

    /// Exchanges the blank nodes that were made for the prepared rows, so that several evaluators share them.
    pub fn swap_blank_nodes(&mut self, blank_nodes: &mut BlankNodes) {
        std::mem::swap(self.blank_nodes.get_mut(), blank_nodes);
    }

    /// The blank node of a label in a row.
    pub(super) fn blank_node(&self, row: usize, label: &str) -> String {
        self.blank_nodes
            .borrow_mut()
            .entry((row, label.to_owned()))
            .or_insert_with(|| BlankNode::default().into_string())
            .clone()
    }

    /// A pattern that was computed; `None` if it is invalid.
    pub(super) fn pattern(&self, pattern: &str, flags: &str) -> Option<Arc<Pattern>> {
        let mut patterns = self.patterns.borrow_mut();
        let key = [flags, "\n", pattern].concat();
        if let Some(known) = patterns.get(&key) {
            return known.clone();
        }
        if self.is_stopped() {
            return None;
        }
        if patterns.len() >= PATTERNS_MAX {
            patterns.clear();
        }
        let compiled = Pattern::new(pattern, flags).map(Arc::new);
        patterns.insert(key, compiled.clone());
        compiled
    }

    /// Makes constants of the terms that are local to the query.
    fn prepare_local(&mut self, batch: &Batch, rows: &[u32]) -> Result<()> {
        if self.local.len() > FETCHED_TERMS_MAX {
            self.local.clear();
        }
        for column in &self.variable_columns {
            let ids = batch.column(*column);
            for row in rows {
                let id = ids[*row as usize];
                if is_local(id) && !self.local.contains_key(&id) {
                    let term = self.terms.term(id)?;
                    let constant = Constant {
                        value: Value::of(&term).into_owned(),
                        term,
                        number: LOCAL_CONSTANT,
                    };
                    self.local.insert(id, Box::new(constant));
                }
            }
        }
        Ok(())
    }

    /// The term of an id that is local to the query.
    pub(super) fn local(&self, id: TermId) -> &Constant {
        self.local
            .get(&id)
            .expect("a local term was fetched for the batch")
    }

    /// The id of a constant, if the store knows the term.
    pub(super) fn constant_id(&self, constant: &Constant) -> Option<TermId> {
        self.constants
            .get(constant.number as usize)
            .copied()
            .flatten()
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

/// Whether an id is local to the query.
pub(super) fn is_local(id: TermId) -> bool {
    id.kind() == Some(Kind::Local)
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
