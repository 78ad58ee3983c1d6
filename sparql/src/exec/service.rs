//! `ServiceScan`: the rows that endpoints give for the pattern of a SERVICE.
//!
//! ```text
//! no input:   one endpoint, the whole pattern; rows are handed on while they come
//! an input:   rows of the endpoint (if that is a variable) and of terms for some of the pattern's variables;
//!             each endpoint is asked once, for the pattern joined with its terms (VALUES)
//! ```
//!
//! An answer may be asked for again by the same query: a SERVICE inside of EXISTS is planned for each row. Then it is
//! kept ([`Answers`]). With SILENT all of an answer is read before the first row is given, since an endpoint that
//! fails amidst of it counts as one that gave one row which binds nothing. Rows that are kept count against the query's memory,
//! as terms do that the store does not have.

use super::batch::Batch;
use super::control::Control;
use super::memory::Reservation;
use super::operator::{Input, Operator};
use super::remote::Remote;
use super::terms::Terms;
use crate::error::{QueryError, Result};
use crate::plan::build::Execution;
use crate::plan::logical::{PatternTerm, VariableId};
use crate::plan::seed::Seed;
use crate::plan::service::ServiceCall;
use crate::service::{ServiceRequest, Services};
use hashbrown::{HashMap, HashSet};
use oxrdf::{BlankNode, NamedNode, NamedOrBlankNode, Term, Triple, Variable};
use quadrille_store::TermId;
use sparesults::QuerySolution;
use spargebra::algebra::GraphPattern;
use std::sync::{Arc, Mutex, PoisonError};

/// What SERVICE may ask, and the answers that are kept.
#[derive(Debug, Default)]
pub struct Answers {
    services: Services,
    /// By endpoint and query.
    kept: Mutex<HashMap<(NamedNode, String), Arc<Answer>>>,
}

/// An answer that was read to its end.
#[derive(Debug)]
struct Answer {
    /// A column for each of the call's variables.
    rows: Batch,
    /// For the rows, as long as they are kept.
    _reservation: Reservation,
}

impl Answers {
    /// None yet.
    pub fn new(services: Services) -> Self {
        Self {
            services,
            kept: Mutex::default(),
        }
    }
}

/// Gives the rows of endpoints.
pub struct ServiceScan {
    call: Arc<ServiceCall>,
    answers: Arc<Answers>,
    terms: Arc<Terms>,
    control: Arc<Control>,
    seed: Seed,
    /// For each column that is given: where it comes from.
    sources: Vec<Source>,
    /// What is asked for, with the variables of its columns.
    input: Option<(Input, Vec<VariableId>)>,
    /// Who is to be asked; `None` before the input was read.
    waiting: Option<Vec<Question>>,
    current: Option<Current>,
}

#[derive(Clone, Copy)]
enum Source {
    /// A variable of the call.
    Variable(usize),
    /// The endpoint.
    Endpoint,
}

/// A query for an endpoint.
struct Question {
    endpoint: TermId,
    name: NamedNode,
    query: String,
    /// Whether the answer may be asked for again.
    is_kept: bool,
}

/// The answer that is being given.
struct Current {
    endpoint: TermId,
    state: State,
}

enum State {
    Streaming(Reader),
    /// The number of the next row.
    Kept(Arc<Answer>, usize),
}

impl ServiceScan {
    /// Asks for the rows of a call, as columns of `variables`. `input` has columns for the endpoint, if that is a variable, and for
    /// those of the call's that are to be joined with.
    pub fn new(
        execution: &Execution,
        call: &Arc<ServiceCall>,
        seed: &Seed,
        variables: &[VariableId],
        input: Option<(Input, Vec<VariableId>)>,
    ) -> Self {
        let source = |variable: &VariableId| match call.column(*variable) {
            Some(column) if call.endpoint.variable() != Some(*variable) => Source::Variable(column),
            _ => Source::Endpoint,
        };
        Self {
            sources: variables.iter().map(source).collect(),
            call: Arc::clone(call),
            answers: Arc::clone(&execution.answers),
            terms: Arc::clone(&execution.terms),
            control: Arc::clone(&execution.control),
            seed: seed.clone(),
            input,
            waiting: None,
            current: None,
        }
    }

    /// Reads the input, and writes the queries.
    fn questions(&mut self) -> Result<Vec<Question>> {
        let Some((mut input, variables)) = self.input.take() else {
            let endpoint = match &self.call.endpoint {
                PatternTerm::Constant(constant) => self.terms.constant(constant)?,
                PatternTerm::Variable(variable) => {
                    let seeded = self.seed.get(*variable);
                    seeded.ok_or_else(|| self.call.unbound())?
                }
            };
            let is_kept = self.seed.iter().next().is_some();
            let question = self.question(endpoint, self.call.query(None), is_kept)?;
            return Ok(vec![question]);
        };
        let own = match &self.call.endpoint {
            PatternTerm::Constant(constant) => Err(self.terms.constant(constant)?),
            PatternTerm::Variable(variable) => {
                let column = variables.iter().position(|known| known == variable);
                Ok(column.ok_or_else(|| self.call.unbound())?)
            }
        };
        // What is joined with, by endpoint in the sequence in which these were met.
        let joined: Vec<(usize, Variable)> = variables
            .iter()
            .enumerate()
            .filter_map(|(column, variable)| Some((column, self.call.name(*variable)?.clone())))
            .collect();
        let mut endpoints: Vec<TermId> = Vec::new();
        let mut rows: HashMap<TermId, Vec<Vec<TermId>>> = HashMap::new();
        let mut seen: HashSet<(TermId, Vec<TermId>)> = HashSet::new();
        while input.fetch()? {
            self.control.check()?;
            for row in 0..input.batch.rows() {
                let endpoint = match own {
                    Ok(column) => input.batch.column(column)[row],
                    Err(constant) => constant,
                };
                if endpoint.is_unbound() {
                    return Err(self.call.unbound());
                }
                let terms: Vec<TermId> = joined
                    .iter()
                    .map(|(column, _)| input.batch.column(*column)[row])
                    .collect();
                if seen.insert((endpoint, terms.clone())) {
                    rows.entry(endpoint)
                        .or_insert_with(|| {
                            endpoints.push(endpoint);
                            Vec::new()
                        })
                        .push(terms);
                }
            }
        }
        let names: Vec<Variable> = joined.into_iter().map(|(_, name)| name).collect();
        let mut questions = Vec::with_capacity(endpoints.len());
        for endpoint in endpoints {
            let rows = rows.remove(&endpoint).unwrap_or_default();
            let values = if names.is_empty() {
                None
            } else {
                self.values(&names, &rows)?
            };
            let is_kept = values.is_none();
            let query = self.call.query(values);
            questions.push(self.question(endpoint, query, is_kept)?);
        }
        questions.reverse();
        Ok(questions)
    }

    /// Terms as VALUES; `None` where one cannot be sent: a blank node is another one for the endpoint, and whether it takes
    /// language tags for the same in any case is not known.
    fn values(&self, names: &[Variable], rows: &[Vec<TermId>]) -> Result<Option<GraphPattern>> {
        let mut bindings = Vec::with_capacity(rows.len());
        for row in rows {
            let mut binding = Vec::with_capacity(row.len());
            for id in row {
                if id.is_unbound() {
                    return Ok(None);
                }
                binding.push(Some(match self.terms.term(*id)? {
                    Term::NamedNode(node) => node.into(),
                    Term::Literal(literal) if literal.language().is_none() => literal.into(),
                    Term::BlankNode(_) | Term::Literal(_) | Term::Triple(_) => return Ok(None),
                }));
            }
            bindings.push(binding);
        }
        Ok(Some(GraphPattern::Values {
            variables: names.to_vec(),
            bindings,
        }))
    }

    fn question(&self, endpoint: TermId, query: String, is_kept: bool) -> Result<Question> {
        let name = match self.terms.term(endpoint)? {
            Term::NamedNode(name) => name,
            term => {
                return Err(QueryError::ServiceEndpoint {
                    endpoint: term.to_string(),
                    reason: "it is no IRI",
                });
            }
        };
        let services = &self.answers.services;
        if services.handler().is_none() {
            return Err(QueryError::ServiceEndpoint {
                endpoint: name.to_string(),
                reason: "this build has no HTTP client (its feature `service` is off)",
            });
        }
        if !services.allows(&name) {
            return Err(QueryError::ServiceEndpoint {
                endpoint: name.to_string(),
                reason: "it is not among the allowed endpoints",
            });
        }
        Ok(Question {
            endpoint,
            name,
            query,
            is_kept,
        })
    }

    fn start(&self, question: Question) -> Result<Current> {
        let key = (question.name, question.query);
        let kept = self.answers.kept.lock();
        let known = kept
            .unwrap_or_else(PoisonError::into_inner)
            .get(&key)
            .cloned();
        let state = if let Some(answer) = known {
            State::Kept(answer, 0)
        } else if question.is_kept || self.call.is_silent {
            let answer = Arc::new(self.read_all(&key)?);
            if question.is_kept {
                let kept = self.answers.kept.lock();
                kept.unwrap_or_else(PoisonError::into_inner)
                    .insert(key, Arc::clone(&answer));
            }
            State::Kept(answer, 0)
        } else {
            State::Streaming(self.reader(&key)?)
        };
        Ok(Current {
            endpoint: question.endpoint,
            state,
        })
    }

    fn reader(&self, (endpoint, query): &(NamedNode, String)) -> Result<Reader> {
        let request = ServiceRequest {
            endpoint: endpoint.clone(),
            query: query.clone(),
            timeout: self.control.remaining(),
        };
        let handler = self.answers.services.handler();
        let handler = handler.expect("there is one where a question is");
        Ok(Reader {
            remote: Remote::ask(handler, request)?,
            terms: Arc::clone(&self.terms),
            blank_nodes: HashMap::new(),
        })
    }

    /// A whole answer; with SILENT that of an endpoint that fails, too.
    fn read_all(&self, key: &(NamedNode, String)) -> Result<Answer> {
        let mut rows = Batch::new(self.call.variables.len());
        let mut reservation = Reservation::fixed(self.control.memory());
        if let Err(error) = self.read_rows(key, &mut rows, &mut reservation) {
            if !(self.call.is_silent && matches!(error, QueryError::Service { .. })) {
                return Err(error);
            }
            rows.clear();
            for column in 0..rows.width() {
                rows.column_mut(column).push(TermId::UNBOUND);
            }
            rows.set_rows(1);
        }
        Ok(Answer {
            rows,
            _reservation: reservation,
        })
    }

    fn read_rows(
        &self,
        key: &(NamedNode, String),
        rows: &mut Batch,
        reservation: &mut Reservation,
    ) -> Result<()> {
        let mut reader = self.reader(key)?;
        while reader.read(&self.call, &self.control, rows)? {
            reservation.raise_to((rows.rows() * rows.width() * size_of::<TermId>()) as u64)?;
        }
        Ok(())
    }

    /// Keeps the rows that agree with what variables stand for, and with the endpoint, whose variable the pattern may bind
    /// itself.
    fn select(&self, rows: &mut Batch, endpoint: TermId) {
        let own = self.call.endpoint.variable();
        for (column, (_, variable)) in self.call.variables.iter().enumerate() {
            let known = if Some(*variable) == own {
                Some(endpoint)
            } else {
                self.seed.get(*variable)
            };
            let Some(known) = known else {
                continue;
            };
            let ids = rows.column(column);
            let is_kept = |row: &u32| {
                let id = ids[*row as usize];
                id.is_unbound() || id == known
            };
            let selection: Vec<u32> = (0..ids.len() as u32).filter(is_kept).collect();
            rows.select(&selection);
        }
    }
}

impl Operator for ServiceScan {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        if self.waiting.is_none() {
            self.waiting = Some(self.questions()?);
        }
        loop {
            self.control.check()?;
            let Some(current) = &mut self.current else {
                match self.waiting.as_mut().and_then(Vec::pop) {
                    Some(question) => self.current = Some(self.start(question)?),
                    None => return Ok(0),
                }
                continue;
            };
            let mut rows = Batch::new(self.call.variables.len());
            let has_more = match &mut current.state {
                State::Streaming(reader) => reader.read(&self.call, &self.control, &mut rows)?,
                State::Kept(answer, next) => {
                    let end = answer.rows.rows().min(*next + self.control.batch_rows());
                    rows.append(&answer.rows, *next, end);
                    std::mem::replace(next, end) < end
                }
            };
            let endpoint = current.endpoint;
            if !has_more {
                self.current = None;
                continue;
            }
            self.select(&mut rows, endpoint);
            for (index, source) in self.sources.iter().enumerate() {
                let target = output.column_mut(index);
                match source {
                    Source::Variable(column) => target.extend_from_slice(rows.column(*column)),
                    Source::Endpoint => target.resize(rows.rows(), endpoint),
                }
            }
            output.set_rows(rows.rows());
            if rows.rows() > 0 {
                return Ok(rows.rows());
            }
        }
    }
}

/// Makes ids of an answer's terms.
struct Reader {
    remote: Remote,
    terms: Arc<Terms>,
    /// The endpoint's blank nodes by label: they are none of the store's.
    blank_nodes: HashMap<String, BlankNode>,
}

impl Reader {
    /// Appends the next rows; `false` at the end.
    fn read(&mut self, call: &ServiceCall, control: &Control, rows: &mut Batch) -> Result<bool> {
        let Some(solutions) = self.remote.next(control)? else {
            return Ok(false);
        };
        for solution in &solutions {
            self.add(call, solution, rows)?;
        }
        rows.set_rows(rows.rows() + solutions.len());
        Ok(true)
    }

    fn add(
        &mut self,
        call: &ServiceCall,
        solution: &QuerySolution,
        rows: &mut Batch,
    ) -> Result<()> {
        for (column, (name, _)) in call.variables.iter().enumerate() {
            let id = match solution.get(name) {
                None => TermId::UNBOUND,
                Some(term) => {
                    let term = self.own(term);
                    self.terms.id(&term)?
                }
            };
            rows.column_mut(column).push(id);
        }
        Ok(())
    }

    /// A term with blank nodes of this query.
    fn own(&mut self, term: &Term) -> Term {
        match term {
            Term::BlankNode(node) => self.blank_node(node).into(),
            Term::Triple(triple) => {
                let subject = match &triple.subject {
                    NamedOrBlankNode::BlankNode(node) => self.blank_node(node).into(),
                    NamedOrBlankNode::NamedNode(_) => triple.subject.clone(),
                };
                let object = self.own(&triple.object);
                Triple::new(subject, triple.predicate.clone(), object).into()
            }
            Term::NamedNode(_) | Term::Literal(_) => term.clone(),
        }
    }

    fn blank_node(&mut self, node: &BlankNode) -> BlankNode {
        self.blank_nodes
            .entry_ref(node.as_str())
            .or_default()
            .clone()
    }
}
