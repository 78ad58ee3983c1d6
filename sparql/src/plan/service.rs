//! SERVICE: how it is lowered, the text that endpoints get, and how it is joined.
//!
//! An endpoint that the query names is asked for the whole pattern. Where SERVICE is joined with few rows, the terms that
//! these certainly have for the pattern's variables go with it (VALUES): a join with them at the endpoint changes nothing of the join
//! here. Where the endpoint is a variable, the rows that SERVICE is joined with say who is asked; so such a one is joined last, batch
//! by batch.

use super::group_join::{Bound, Input, Joined};
use super::layout::{add_all, add_variables_of};
use super::logical::{Group, Logical, PatternTerm, VariableId, VariableSet};
use super::lower::Lowering;
use super::operators::add_marked;
use super::physical::{Node, Operation, Planner, Wanted, distinct, project};
use crate::error::{QueryError, Result};
use crate::exec::compatible_join::JoinKind;
use oxiri::Iri;
use oxrdf::Variable;
use spargebra::algebra::GraphPattern;
use spargebra::term::NamedNodePattern;
use std::sync::Arc;

/// Rows that are expected of an endpoint.
const SERVICE_ROWS: f64 = 1_000.0;
/// The most rows whose terms are sent to an endpoint that the query names: beyond, the whole pattern is asked for once.
const SENT_ROWS_MAX: f64 = 2_000.0;

/// A SERVICE.
#[derive(Debug)]
pub struct ServiceCall {
    /// Who is asked.
    pub endpoint: PatternTerm,
    /// The variables of the pattern, as the endpoint and as the plan call them.
    pub variables: Vec<(Variable, VariableId)>,
    /// Whether an endpoint that fails counts as one that gives one row without bindings.
    pub is_silent: bool,
    /// The endpoint as the query writes it.
    pub text: String,
    pattern: GraphPattern,
    base: Option<Iri<String>>,
}

impl ServiceCall {
    /// The number of a variable among those of the pattern.
    pub fn column(&self, variable: VariableId) -> Option<usize> {
        self.variables
            .iter()
            .position(|(_, known)| *known == variable)
    }

    /// What the endpoint calls a variable.
    pub fn name(&self, variable: VariableId) -> Option<&Variable> {
        self.column(variable)
            .map(|column| &self.variables[column].0)
    }

    /// A SELECT of the pattern, joined with rows that it gets from here.
    pub fn query(&self, values: Option<GraphPattern>) -> String {
        let mut pattern = self.pattern.clone();
        if let Some(values) = values {
            pattern = GraphPattern::Join {
                left: Box::new(values),
                right: Box::new(pattern),
            };
        }
        let pattern = GraphPattern::Project {
            inner: Box::new(pattern),
            variables: self
                .variables
                .iter()
                .map(|(name, _)| name.clone())
                .collect(),
        };
        spargebra::Query::Select {
            dataset: None,
            pattern,
            base_iri: self.base.clone(),
        }
        .to_string()
    }

    /// The error for an endpoint that nothing binds.
    pub fn unbound(&self) -> QueryError {
        QueryError::ServiceEndpoint {
            endpoint: self.text.clone(),
            reason: "nothing binds it before SERVICE is evaluated",
        }
    }
}

/// Puts conditions that stand before something else in their group into groups of their own, as the parser's algebra has them
/// but not its text: `{ A FILTER(c) B }` is a condition on both.
fn enclose_conditions(pattern: &mut GraphPattern) {
    let enclose = |pattern: &mut GraphPattern| {
        if matches!(pattern, GraphPattern::Filter { .. }) {
            let nothing = GraphPattern::default();
            *pattern = GraphPattern::Join {
                right: Box::new(std::mem::replace(pattern, nothing.clone())),
                left: Box::new(nothing),
            };
        }
    };
    match pattern {
        GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Values { .. } => {}
        GraphPattern::Join { left, right } | GraphPattern::Minus { left, right } => {
            enclose_conditions(left);
            enclose_conditions(right);
            enclose(left);
        }
        GraphPattern::LeftJoin { left, right, .. } => {
            enclose_conditions(left);
            enclose_conditions(right);
            enclose(left);
            enclose(right);
        }
        GraphPattern::Union { left, right } => {
            enclose_conditions(left);
            enclose_conditions(right);
        }
        GraphPattern::Extend { inner, .. } => {
            enclose_conditions(inner);
            enclose(inner);
        }
        GraphPattern::Filter { inner, .. }
        | GraphPattern::Graph { inner, .. }
        | GraphPattern::OrderBy { inner, .. }
        | GraphPattern::Project { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. }
        | GraphPattern::Group { inner, .. }
        | GraphPattern::Service { inner, .. } => enclose_conditions(inner),
    }
}

impl Lowering {
    /// A SERVICE, of whose rows nothing is certain but the endpoint.
    pub(super) fn service(
        &mut self,
        endpoint: &NamedNodePattern,
        inner: &GraphPattern,
        is_silent: bool,
    ) -> Result<Group> {
        let mut names: Vec<Variable> = Vec::new();
        inner.on_in_scope_variable(|variable| {
            if !names.contains(variable) {
                names.push(variable.clone());
            }
        });
        let variables: Vec<(Variable, VariableId)> = names
            .into_iter()
            .map(|name| {
                let id = self.named(&name);
                (name, id)
            })
            .collect();
        let mut scope: VariableSet = variables.iter().map(|(_, id)| *id).collect();
        let (text, endpoint) = (endpoint.to_string(), self.predicate(endpoint));
        let certain: VariableSet = endpoint.variable().into_iter().collect();
        scope.extend(&certain);
        let mut pattern = inner.clone();
        enclose_conditions(&mut pattern);
        let base = self.expressions.base.as_ref();
        let call = ServiceCall {
            endpoint,
            variables,
            is_silent,
            text,
            pattern,
            base: base.and_then(|base| Iri::parse(base.as_str().to_owned()).ok()),
        };
        for parameter in &self.parameter_names {
            if mentions(&call.query(None), parameter) {
                return Err(QueryError::Parameter {
                    variable: parameter.clone(),
                    reason: "it stands in a SERVICE",
                });
            }
        }
        self.checked(Group::new(Logical::Service(Arc::new(call)), scope, certain))
    }
}

/// Whether the text of a query has a variable.
fn mentions(text: &str, variable: &Variable) -> bool {
    let name = format!("?{}", variable.as_str());
    text.match_indices(&name).any(|(at, _)| {
        let rest = text[at + name.len()..].chars().next();
        rest.is_none_or(|next| !next.is_alphanumeric() && next != '_')
    })
}

impl Planner<'_> {
    /// A SERVICE by itself.
    pub(super) fn service(
        &self,
        group: &Group,
        call: &Arc<ServiceCall>,
        wanted: Wanted<'_>,
    ) -> Node {
        let mut variables = Vec::new();
        let given = wanted.variables.iter().copied();
        add_all(
            &mut variables,
            given.filter(|variable| group.scope.contains(variable)),
        );
        self.service_node(call, variables, None)
    }

    fn service_node(
        &self,
        call: &Arc<ServiceCall>,
        variables: Vec<VariableId>,
        input: Option<Node>,
    ) -> Node {
        Node {
            variables,
            sorted_by: Vec::new(),
            rows: SERVICE_ROWS,
            operation: Operation::Service {
                input: input.map(Box::new),
                call: Arc::clone(call),
                seed: self.seed.clone(),
            },
        }
    }

    /// Joins the calls of services one after another with the other members of a join: first one whose endpoint is known.
    pub(super) fn join_services(
        &self,
        joined: Option<Input>,
        services: Vec<&Group>,
        needed: &[VariableId],
    ) -> Result<Option<Input>> {
        let (mut joined, mut services) = (joined, services);
        while !services.is_empty() {
            let is_known = |group: &&Group| {
                let endpoint = match &group.logical {
                    Logical::Service(call) => call.endpoint.variable(),
                    _ => None,
                };
                endpoint.is_none_or(|variable| {
                    self.seed.get(variable).is_some()
                        || joined
                            .as_ref()
                            .is_some_and(|joined| joined.scope.contains(&variable))
                })
            };
            let next = services.iter().position(is_known).unwrap_or_default();
            let service = services.remove(next);
            joined = Some(match joined {
                None => self.input(service, needed)?,
                Some(joined) if matches!(joined.node.operation, Operation::Empty { .. }) => joined,
                Some(joined) => self.joined(joined, &Joined::inner(service), needed)?,
            });
        }
        Ok(joined)
    }

    /// A SERVICE that is joined batch by batch: because the rows say who is asked, or because they are few.
    pub(super) fn bind_service(
        &self,
        left: &Input,
        right: &Joined<'_>,
        needed: &[VariableId],
    ) -> Option<Bound> {
        let Logical::Service(call) = &right.group.logical else {
            return None;
        };
        let scope = &right.group.scope;
        let in_left = |variable: &VariableId| left.node.variables.contains(variable);
        let sent = |variable: &VariableId| {
            call.column(*variable).is_some() && left.certain.contains(variable) && in_left(variable)
        };
        let endpoint = call.endpoint.variable();
        let endpoint = endpoint.filter(|variable| self.seed.get(*variable).is_none());
        let is_bound = match &endpoint {
            Some(variable) => in_left(variable),
            None => {
                self.options.lookup_joins
                    && left.node.rows <= SENT_ROWS_MAX
                    && scope.iter().any(sent)
            }
        };
        if !is_bound {
            return None;
        }
        let mut used = Vec::new();
        add_variables_of(&mut used, right.conditions);
        add_marked(&mut used, right.marks);
        let mut fed: Vec<usize> = Vec::new();
        let mut feed: Vec<VariableId> = Vec::new();
        for (column, variable) in left.node.variables.iter().enumerate() {
            if !feed.contains(variable) && (scope.contains(variable) || used.contains(variable)) {
                fed.push(column);
                feed.push(*variable);
            }
        }
        let number = VariableId(self.variables as u32);
        let known = |set: &VariableSet| -> VariableSet {
            let known = feed
                .iter()
                .copied()
                .filter(|variable| set.contains(variable));
            known.chain([number]).collect()
        };
        let (feed_scope, feed_certain) = (known(&left.scope), known(&left.certain));
        let mut asked: Vec<VariableId> = endpoint.into_iter().collect();
        add_all(&mut asked, feed.iter().copied().filter(sent));
        feed.push(number);
        let feed_node = || Node {
            variables: feed.clone(),
            sorted_by: Vec::new(),
            rows: left.node.rows,
            operation: Operation::Feed,
        };
        let input = distinct(project(feed_node(), &asked));
        let answered: Vec<VariableId> = scope.iter().copied().collect();
        let service = Input {
            node: self.service_node(call, answered, Some(input)),
            scope: scope.clone(),
            certain: right.group.certain.clone(),
        };
        // Merged rows bind what left rows may not; so the right side gives these variables, and rows that found nothing too.
        let is_merged = |variable: &VariableId| !left.certain.contains(variable);
        let (mut given, kind, inner): (Vec<VariableId>, _, _) = match right.kind {
            JoinKind::Inner | JoinKind::Left => {
                let given = needed.iter().copied().filter(|variable| {
                    scope.contains(variable) && (!in_left(variable) || is_merged(variable))
                });
                (given.collect(), JoinKind::Inner, right.kind)
            }
            JoinKind::Matched | JoinKind::Unmatched => (Vec::new(), right.kind, JoinKind::Inner),
        };
        let mut bound = Bound::new(&left.node, kind, fed, &given).taking(&given);
        given.push(number);
        let rows = Input {
            node: feed_node(),
            scope: feed_scope,
            certain: feed_certain,
        };
        let node = self.compatible_join(
            rows,
            service,
            inner,
            &given,
            right.conditions,
            right.marks,
            right.needs_common,
        );
        bound.rows = left.node.rows.max(SERVICE_ROWS);
        bound.node = project(node, &given);
        Some(bound)
    }
}
