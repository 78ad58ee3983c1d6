//! Lowers a parsed query to the logical plan.
//!
//! Names become numbers here: a variable that a subquery does not select is another one than that of the same name
//! outside of it, and an expression sees only what its group binds. Inside EXISTS that is, besides, what the row
//! around it binds. `GRAPH ?g` binds its variable after its block: a block that is a plain conjunction is asked in all
//! named graphs at once, any other one graph by graph.
//!
//! Whatever is not handled here is an error that names it.

use super::automaton::Automaton;
use super::logical::{
    Conjunction, Form, Group, Logical, LogicalQuery, PathPattern, PatternGraph, PatternTerm,
    QuadPattern, TripleTermPattern, VariableId, VariableName, VariableSet, Variables,
};
use crate::dataset::QueryDataset;
use crate::error::{QueryError, Result};
use crate::expr::{Compilation, Expr};
use crate::extensions::Extensions;
use crate::nesting::{GROUP_DEPTH_MAX, PATTERNS_MAX};
use hashbrown::HashMap;
use oxrdf::{NamedNode, Term, Triple, Variable};
use spargebra::algebra::{Expression, GraphPattern, PropertyPathExpression};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use std::sync::Arc;

impl LogicalQuery {
    /// Lowers a parsed query, some of whose variables will stand for terms: these are seen everywhere, as what the row around
    /// an EXISTS binds is seen in it.
    ///
    /// # Errors
    /// [`QueryError::Unsupported`] for whatever this engine does not do; [`QueryError::Unregistered`] for a function or an
    /// aggregate that is not among `extensions`; [`QueryError::Parameter`] for a parameter that the query assigns.
    pub fn new(
        query: &spargebra::Query,
        parameters: &[Variable],
        extensions: &Extensions,
    ) -> Result<Self> {
        let dataset = query.dataset().map(QueryDataset::from);
        let mut lowering = Lowering::new(
            query
                .base_iri()
                .map(|base| NamedNode::new_unchecked(base.as_str())),
            extensions,
        );
        let parameters = lowering.parameters(parameters);
        match query {
            spargebra::Query::Select { pattern, .. } => {
                let root = lowering.modifiers(pattern)?;
                let names = projected(pattern)?;
                let variables = names.iter().map(|name| lowering.named(name)).collect();
                Ok(Self {
                    parameters: lowering.checked_parameters(parameters)?,
                    variables: lowering.variables,
                    dataset,
                    form: Form::Select { names, variables },
                    root,
                })
            }
            spargebra::Query::Ask { pattern, .. } => {
                let root = lowering.modifiers(pattern)?;
                Ok(Self {
                    parameters: lowering.checked_parameters(parameters)?,
                    variables: lowering.variables,
                    dataset,
                    form: Form::Ask,
                    root,
                })
            }
            spargebra::Query::Construct {
                template, pattern, ..
            } => {
                let root = lowering.modifiers(pattern)?;
                let template = lowering.template(template);
                let columns = lowering.graph_columns();
                Ok(Self {
                    parameters: lowering.checked_parameters(parameters)?,
                    variables: lowering.variables,
                    dataset,
                    form: Form::Construct { template, columns },
                    root,
                })
            }
            spargebra::Query::Describe { pattern, .. } => {
                let root = lowering.modifiers(pattern)?;
                let names = projected(pattern)?;
                let variables = names.iter().map(|name| lowering.named(name)).collect();
                let columns = lowering.graph_columns();
                Ok(Self {
                    parameters: lowering.checked_parameters(parameters)?,
                    variables: lowering.variables,
                    dataset,
                    form: Form::Describe {
                        named: described(pattern, &names),
                        variables,
                        columns,
                    },
                    root,
                })
            }
        }
    }
}

/// The IRIs that a DESCRIBE names. The parser makes a selected expression of each, under a name of its own: 128 random
/// bits as hexadecimal digits. But they are described where there is no solution, too.
fn described(pattern: &GraphPattern, selected: &[Variable]) -> Vec<NamedNode> {
    let mut pattern = pattern;
    while let GraphPattern::Slice { inner, .. }
    | GraphPattern::Distinct { inner }
    | GraphPattern::Reduced { inner }
    | GraphPattern::Project { inner, .. } = pattern
    {
        pattern = inner;
    }
    let is_generated = |variable: &Variable| {
        let name = variable.as_str();
        (24..=32).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let mut nodes = Vec::new();
    while let GraphPattern::Extend {
        inner,
        variable,
        expression: Expression::NamedNode(node),
    } = pattern
        && selected.contains(variable)
        && is_generated(variable)
    {
        nodes.push(node.clone());
        pattern = inner;
    }
    nodes.reverse();
    nodes
}

/// The variables that a SELECT gives.
fn projected(pattern: &GraphPattern) -> Result<Vec<Variable>> {
    match pattern {
        GraphPattern::Project { variables, .. } => Ok(variables.clone()),
        GraphPattern::Slice { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner } => projected(inner),
        _ => Err(QueryError::unsupported("a SELECT without a projection")),
    }
}

/// What is known while a query is lowered.
pub(super) struct Lowering {
    pub(super) variables: Variables,
    /// What all expressions share.
    pub(super) expressions: Compilation,
    /// By name, in the query and in each subquery around the current place: the variable.
    names: Vec<HashMap<String, VariableId>>,
    /// For each EXISTS around: what the rows around it bind.
    pub(super) outer: Vec<VariableSet>,
    /// For each EXISTS around: the variables that were met in it.
    mentioned: Vec<VariableSet>,
    /// The triple terms with variables in the pattern that is being lowered.
    triple_terms: Vec<Group>,
    /// The variables that will stand for terms.
    pub(super) parameter_names: Vec<Variable>,
    /// The variables that the query assigns what it computes.
    pub(super) assigned: VariableSet,
}

impl Lowering {
    fn new(base: Option<NamedNode>, extensions: &Extensions) -> Self {
        Self {
            variables: Variables::default(),
            expressions: Compilation {
                base,
                extensions: extensions.clone(),
                ..Compilation::default()
            },
            names: vec![HashMap::new()],
            outer: Vec::new(),
            mentioned: Vec::new(),
            triple_terms: Vec::new(),
            parameter_names: Vec::new(),
            assigned: VariableSet::new(),
        }
    }

    /// Numbers the parameters, and makes them visible everywhere.
    fn parameters(&mut self, parameters: &[Variable]) -> Vec<(Variable, VariableId)> {
        let parameters: Vec<(Variable, VariableId)> = parameters
            .iter()
            .map(|variable| (variable.clone(), self.named(variable)))
            .collect();
        if !parameters.is_empty() {
            let names = parameters.iter().map(|(variable, _)| variable.clone());
            self.parameter_names = names.collect();
            self.outer
                .push(parameters.iter().map(|(_, id)| *id).collect());
        }
        parameters
    }

    /// The parameters, none of which the query may assign.
    fn checked_parameters(
        &self,
        parameters: Vec<(Variable, VariableId)>,
    ) -> Result<Vec<(Variable, VariableId)>> {
        match parameters.iter().find(|(_, id)| self.assigned.contains(id)) {
            Some((variable, _)) => Err(QueryError::Parameter {
                variable: variable.clone(),
                reason: "the query assigns it",
            }),
            None => Ok(parameters),
        }
    }

    /// The variable of this name at the current place.
    pub(super) fn named(&mut self, variable: &Variable) -> VariableId {
        let id = self.number(variable);
        if let Some(mentioned) = self.mentioned.last_mut() {
            mentioned.insert(id);
        }
        id
    }

    fn number(&mut self, variable: &Variable) -> VariableId {
        let depth = self.names.len();
        let names = self.names.last_mut().expect("the query has names");
        if let Some(id) = names.get(variable.as_str()) {
            return *id;
        }
        let name = variable.as_str().to_owned();
        let id = if depth == 1 {
            self.variables.number(VariableName::Named(name.clone()))
        } else {
            let next = self.variables.len() as u32;
            self.variables
                .number(VariableName::Inner(name.clone(), next))
        };
        names.insert(name, id);
        id
    }

    /// Whether a variable is one that the query names at the current place.
    pub(super) fn is_visible(&self, variable: VariableId) -> bool {
        self.names
            .last()
            .is_some_and(|names| names.values().any(|known| *known == variable))
    }

    /// A variable that no other part of the query knows.
    pub(super) fn fresh(&mut self, name: &str) -> VariableId {
        let next = self.variables.len() as u32;
        self.variables
            .number(VariableName::Inner(name.to_owned(), next))
    }

    /// The columns of a graph.
    fn graph_columns(&mut self) -> [VariableId; 3] {
        ["subject", "predicate", "object"].map(|name| self.fresh(name))
    }

    /// Lowers what stands inside of EXISTS, where the row around binds `outer`; gives the variables that were met, too.
    pub(super) fn inside(
        &mut self,
        pattern: &GraphPattern,
        graph: &PatternGraph,
        outer: VariableSet,
    ) -> Result<(Group, VariableSet)> {
        self.outer.push(outer);
        self.mentioned.push(VariableSet::new());
        let group = self.group(pattern, graph);
        self.outer.pop();
        let mentioned = self.mentioned.pop().unwrap_or_default();
        if let Some(around) = self.mentioned.last_mut() {
            around.extend(&mentioned);
        }
        Ok((group?, mentioned))
    }

    /// The solution modifiers at the top of a query, or of a subquery.
    fn modifiers(&mut self, pattern: &GraphPattern) -> Result<Group> {
        self.modifiers_in(pattern, &PatternGraph::Default)
    }

    fn modifiers_in(&mut self, pattern: &GraphPattern, graph: &PatternGraph) -> Result<Group> {
        Ok(match pattern {
            GraphPattern::Slice {
                inner,
                start,
                length,
            } => {
                let input = self.modifiers_in(inner, graph)?;
                self.checked(Group::like(input, |input| Logical::Slice {
                    input,
                    offset: *start as u64,
                    limit: length.map(|length| length as u64),
                }))?
            }
            GraphPattern::Distinct { inner } => {
                let input = self.modifiers_in(inner, graph)?;
                self.checked(Group::like(input, |input| Logical::Distinct { input }))?
            }
            GraphPattern::Reduced { inner } => {
                let input = self.modifiers_in(inner, graph)?;
                self.checked(Group::like(input, |input| Logical::Reduced { input }))?
            }
            GraphPattern::Project { inner, variables } => {
                let input = self.group(inner, graph)?;
                let variables: Vec<VariableId> =
                    variables.iter().map(|name| self.named(name)).collect();
                self.project(input, variables)?
            }
            group => self.group(group, graph)?,
        })
    }

    fn project(&self, input: Group, variables: Vec<VariableId>) -> Result<Group> {
        let kept = |set: &VariableSet| {
            variables
                .iter()
                .copied()
                .filter(|variable| set.contains(variable))
                .collect()
        };
        let (scope, certain) = (kept(&input.scope), kept(&input.certain));
        let logical = Logical::Project {
            input: Box::new(input),
            variables,
        };
        self.checked(Group::new(logical, scope, certain))
    }

    /// A subquery: what it does not select is its own.
    fn subquery(&mut self, pattern: &GraphPattern, graph: &PatternGraph) -> Result<Group> {
        let selected = projected(pattern)?;
        let names = selected
            .iter()
            .map(|name| (name.as_str().to_owned(), self.named(name)))
            .collect();
        self.names.push(names);
        let group = self.modifiers_in(pattern, graph);
        self.names.pop();
        group
    }

    /// A node that is not too far above the lowest one.
    #[expect(clippy::unused_self, reason = "reads as the other steps do")]
    pub(super) fn checked(&self, group: Group) -> Result<Group> {
        if group.depth > GROUP_DEPTH_MAX {
            return Err(QueryError::Limit {
                what: "the query's groups are nested too deeply",
                limit: GROUP_DEPTH_MAX,
            });
        }
        Ok(group)
    }

    /// Lowers a group that asks a graph.
    fn group(&mut self, pattern: &GraphPattern, graph: &PatternGraph) -> Result<Group> {
        match pattern {
            GraphPattern::Bgp { patterns } => {
                let mut conjunction = Conjunction::default();
                for pattern in patterns {
                    let pattern = self.quad_pattern(pattern, graph)?;
                    conjunction.patterns.push(Arc::new(pattern));
                }
                check_patterns(&conjunction)?;
                self.with_triple_terms(Group::conjunction(conjunction))
            }
            GraphPattern::Path {
                subject,
                path,
                object,
            } => {
                let (subject, object) = (self.pattern_term(subject)?, self.pattern_term(object)?);
                let group = self.path(subject, path, object, graph)?;
                self.with_triple_terms(group)
            }
            GraphPattern::Join { left, right } => {
                let left = self.group(left, graph)?;
                let right = self.group(right, graph)?;
                self.join(left, right)
            }
            GraphPattern::Filter { expr, inner } => {
                let input = self.group(inner, graph)?;
                self.filter(input, expr, graph)
            }
            GraphPattern::Graph { name, inner } => self.graph(name, inner),
            GraphPattern::Union { left, right } => {
                let left = self.group(left, graph)?;
                let right = self.group(right, graph)?;
                self.union(left, right)
            }
            GraphPattern::LeftJoin {
                left,
                right,
                expression,
            } => {
                let left = self.group(left, graph)?;
                let right = self.group(right, graph)?;
                self.left_join(left, right, expression.as_ref(), graph)
            }
            GraphPattern::Minus { left, right } => {
                let left = self.group(left, graph)?;
                let right = self.group(right, graph)?;
                // Solutions that share no variable remove nothing.
                if left.shared(&right).is_empty() {
                    return Ok(left);
                }
                let (scope, certain) = (left.scope.clone(), left.certain.clone());
                let logical = Logical::Minus {
                    left: Box::new(left),
                    right: Box::new(right),
                };
                self.checked(Group::new(logical, scope, certain))
            }
            GraphPattern::Extend {
                inner,
                variable,
                expression,
            } => {
                let input = self.group(inner, graph)?;
                self.extend(input, variable, expression, graph)
            }
            GraphPattern::Values {
                variables,
                bindings,
            } => Ok(self.values(variables, bindings)),
            GraphPattern::OrderBy { inner, expression } => {
                let input = self.group(inner, graph)?;
                self.order_by(input, expression, graph)
            }
            GraphPattern::Project { .. }
            | GraphPattern::Distinct { .. }
            | GraphPattern::Reduced { .. }
            | GraphPattern::Slice { .. } => self.subquery(pattern, graph),
            GraphPattern::Group {
                inner,
                variables,
                aggregates,
            } => {
                let input = self.group(inner, graph)?;
                self.group_by(input, variables, aggregates, graph)
            }
            GraphPattern::Service {
                name,
                inner,
                silent,
            } => self.service(name, inner, *silent),
        }
    }

    /// Joins two groups; all conjunctions among the joined ones become one.
    fn join(&self, left: Group, right: Group) -> Result<Group> {
        let mut inputs: Vec<Group> = Vec::new();
        let mut waiting = vec![right, left];
        while let Some(group) = waiting.pop() {
            match group.logical {
                Logical::Join { inputs } => waiting.extend(inputs.into_iter().rev()),
                Logical::Conjunction(conjunction) => {
                    if conjunction.patterns.is_empty() && conjunction.filters.is_empty() {
                        continue;
                    }
                    let known = inputs
                        .iter_mut()
                        .find(|input| matches!(input.logical, Logical::Conjunction(_)));
                    match known {
                        Some(known) => {
                            let mut all = match std::mem::replace(known, Group::unit()).logical {
                                Logical::Conjunction(all) => all,
                                _ => Conjunction::default(),
                            };
                            all.patterns.extend(conjunction.patterns);
                            all.filters.extend(conjunction.filters);
                            check_patterns(&all)?;
                            *known = Group::conjunction(all);
                        }
                        None => inputs.push(Group::conjunction(conjunction)),
                    }
                }
                _ => inputs.push(group),
            }
        }
        if inputs.len() < 2 {
            return Ok(inputs.pop().unwrap_or_else(Group::unit));
        }
        let union = |part: fn(&Group) -> &VariableSet| {
            inputs
                .iter()
                .flat_map(|input| part(input).iter().copied())
                .collect()
        };
        let (scope, certain) = (union(|group| &group.scope), union(|group| &group.certain));
        self.checked(Group::new(Logical::Join { inputs }, scope, certain))
    }

    fn union(&self, left: Group, right: Group) -> Result<Group> {
        let scope = left.scope.union(&right.scope).copied().collect();
        let certain = left.certain.intersection(&right.certain).copied().collect();
        let mut inputs = Vec::new();
        for group in [left, right] {
            match group.logical {
                Logical::Union { inputs: more } => inputs.extend(more),
                _ => inputs.push(group),
            }
        }
        self.checked(Group::new(Logical::Union { inputs }, scope, certain))
    }

    fn graph(&mut self, name: &NamedNodePattern, inner: &GraphPattern) -> Result<Group> {
        let variable = match name {
            NamedNodePattern::NamedNode(name) => {
                let graph = PatternGraph::Named(name.clone());
                let group = self.group(inner, &graph)?;
                if group.needs_graph(&graph) {
                    return Ok(group);
                }
                // The block has solutions of its own, but none in a graph that does not exist.
                let (scope, certain) = (group.scope.clone(), group.certain.clone());
                let variable = self.fresh("graph");
                let logical = Logical::Graphs {
                    name: Some(name.clone()),
                    inner: Arc::new(group),
                    active: variable,
                    variable,
                };
                return self.checked(Group::new(logical, scope, certain));
            }
            NamedNodePattern::Variable(name) => name,
        };
        let id = self.named(variable);
        if is_plain(inner, variable) {
            let graph = PatternGraph::Variable(id);
            let group = self.group(inner, &graph)?;
            if let Some(conjunction) = plain_conjunction(&group)
                && conjunction
                    .patterns
                    .iter()
                    .any(|pattern| pattern.graph == graph)
            {
                return Ok(group);
            }
        }
        let active = self.fresh("graph");
        let inner = self.group(inner, &PatternGraph::Active(active))?;
        let (mut scope, mut certain) = (inner.scope.clone(), inner.certain.clone());
        scope.insert(id);
        certain.insert(id);
        let logical = Logical::Graphs {
            name: None,
            inner: Arc::new(inner),
            active,
            variable: id,
        };
        self.checked(Group::new(logical, scope, certain))
    }

    /// A path without repetition is a pattern, or several: it may connect two nodes more than once.
    fn path(
        &mut self,
        subject: PatternTerm,
        path: &PropertyPathExpression,
        object: PatternTerm,
        graph: &PatternGraph,
    ) -> Result<Group> {
        let pattern = |predicate| {
            Group::conjunction(Conjunction {
                patterns: vec![Arc::new(QuadPattern {
                    subject: subject.clone(),
                    predicate,
                    object: object.clone(),
                    graph: graph.clone(),
                })],
                filters: Vec::new(),
            })
        };
        match path {
            PropertyPathExpression::NamedNode(node) => {
                Ok(pattern(PatternTerm::Constant(node.clone().into())))
            }
            PropertyPathExpression::Reverse(path) => self.path(object, path, subject, graph),
            PropertyPathExpression::Sequence(first, second) => {
                let middle = PatternTerm::Variable(self.fresh("path"));
                let first = self.path(subject, first, middle.clone(), graph)?;
                let second = self.path(middle, second, object, graph)?;
                self.join(first, second)
            }
            PropertyPathExpression::Alternative(first, second) => {
                let first = self.path(subject.clone(), first, object.clone(), graph)?;
                let second = self.path(subject, second, object, graph)?;
                self.union(first, second)
            }
            PropertyPathExpression::NegatedPropertySet(nodes) => {
                let predicate = self.fresh("predicate");
                let mut group = pattern(PatternTerm::Variable(predicate));
                for node in nodes {
                    let constant = self.constant(node.clone().into())?;
                    let same = Expr::SameTerm(Box::new([Expr::Variable(predicate), constant]));
                    let condition = Arc::new(Expr::Not(Box::new(same)));
                    group = self.add_condition(group, condition)?;
                }
                Ok(group)
            }
            PropertyPathExpression::ZeroOrMore(_)
            | PropertyPathExpression::OneOrMore(_)
            | PropertyPathExpression::ZeroOrOne(_) => Ok(Group::path(PathPattern {
                forward: Automaton::new(path, false)?,
                backward: Automaton::new(path, true)?,
                text: path.to_string(),
                subject,
                object,
                graph: graph.clone(),
            })),
        }
    }

    fn quad_pattern(
        &mut self,
        pattern: &TriplePattern,
        graph: &PatternGraph,
    ) -> Result<QuadPattern> {
        Ok(QuadPattern {
            subject: self.pattern_term(&pattern.subject)?,
            predicate: self.predicate(&pattern.predicate),
            object: self.pattern_term(&pattern.object)?,
            graph: graph.clone(),
        })
    }

    fn pattern_term(&mut self, term: &TermPattern) -> Result<PatternTerm> {
        Ok(match term {
            TermPattern::NamedNode(node) => PatternTerm::Constant(node.clone().into()),
            TermPattern::Literal(literal) => PatternTerm::Constant(literal.clone().into()),
            TermPattern::BlankNode(node) => PatternTerm::Variable(
                self.variables
                    .number(VariableName::Blank(node.as_str().to_owned())),
            ),
            TermPattern::Variable(variable) => PatternTerm::Variable(self.named(variable)),
            TermPattern::Triple(triple) => match ground_triple(triple) {
                Some(triple) => PatternTerm::Constant(triple.into()),
                None => self.triple_term(triple)?,
            },
        })
    }

    pub(super) fn predicate(&mut self, predicate: &NamedNodePattern) -> PatternTerm {
        match predicate {
            NamedNodePattern::NamedNode(node) => PatternTerm::Constant(node.clone().into()),
            NamedNodePattern::Variable(variable) => PatternTerm::Variable(self.named(variable)),
        }
    }

    /// A triple term with variables in it: a variable stands for it in the pattern, and what it is made of is said beside.
    fn triple_term(&mut self, triple: &TriplePattern) -> Result<PatternTerm> {
        let pattern = TripleTermPattern {
            subject: self.pattern_term(&triple.subject)?,
            predicate: self.predicate(&triple.predicate),
            object: self.pattern_term(&triple.object)?,
            term: self.fresh("triple"),
        };
        let term = PatternTerm::Variable(pattern.term);
        self.triple_terms.push(Group::triple_term(pattern));
        Ok(term)
    }

    /// A group joined with the triple terms that its patterns have.
    fn with_triple_terms(&mut self, group: Group) -> Result<Group> {
        let triple_terms = std::mem::take(&mut self.triple_terms);
        triple_terms
            .into_iter()
            .try_fold(group, |group, triple_term| self.join(group, triple_term))
    }
}

fn check_patterns(conjunction: &Conjunction) -> Result<()> {
    if conjunction.patterns.len() > PATTERNS_MAX {
        return Err(QueryError::Limit {
            what: "the query joins too many patterns",
            limit: PATTERNS_MAX,
        });
    }
    Ok(())
}

/// A conjunction, perhaps with conditions of its own on it.
fn plain_conjunction(group: &Group) -> Option<&Conjunction> {
    match &group.logical {
        Logical::Conjunction(conjunction) => Some(conjunction),
        Logical::Filter { input, .. } => plain_conjunction(input),
        _ => None,
    }
}

/// Whether a block of `GRAPH ?variable` can be asked in all graphs at once.
fn is_plain(pattern: &GraphPattern, variable: &Variable) -> bool {
    match pattern {
        GraphPattern::Bgp { .. } => true,
        GraphPattern::Path { path, .. } => is_plain_path(path),
        GraphPattern::Join { left, right } => is_plain(left, variable) && is_plain(right, variable),
        GraphPattern::Filter { expr, inner } => !has_exists(expr) && is_plain(inner, variable),
        GraphPattern::Graph { name, inner } => {
            !matches!(name, NamedNodePattern::Variable(name) if name == variable)
                && is_plain(inner, variable)
        }
        _ => false,
    }
}

/// Whether a path is a conjunction of patterns.
fn is_plain_path(path: &PropertyPathExpression) -> bool {
    match path {
        PropertyPathExpression::NamedNode(_) => true,
        PropertyPathExpression::Reverse(inner) => is_plain_path(inner),
        PropertyPathExpression::Sequence(first, second) => {
            is_plain_path(first) && is_plain_path(second)
        }
        _ => false,
    }
}

/// Whether there is an EXISTS anywhere in an expression.
pub(super) fn has_exists(expression: &Expression) -> bool {
    match expression {
        Expression::Exists(_) => true,
        Expression::NamedNode(_)
        | Expression::Literal(_)
        | Expression::Variable(_)
        | Expression::Bound(_) => false,
        Expression::Or(left, right)
        | Expression::And(left, right)
        | Expression::Equal(left, right)
        | Expression::SameTerm(left, right)
        | Expression::Greater(left, right)
        | Expression::GreaterOrEqual(left, right)
        | Expression::Less(left, right)
        | Expression::LessOrEqual(left, right)
        | Expression::Add(left, right)
        | Expression::Subtract(left, right)
        | Expression::Multiply(left, right)
        | Expression::Divide(left, right) => has_exists(left) || has_exists(right),
        Expression::UnaryPlus(operand)
        | Expression::UnaryMinus(operand)
        | Expression::Not(operand) => has_exists(operand),
        Expression::In(operand, list) => has_exists(operand) || list.iter().any(has_exists),
        Expression::If(condition, yes, no) => {
            has_exists(condition) || has_exists(yes) || has_exists(no)
        }
        Expression::Coalesce(list) | Expression::FunctionCall(_, list) => {
            list.iter().any(has_exists)
        }
    }
}

/// A triple term without variables, which is a constant; `None` if it has variables, or is no term.
fn ground_triple(pattern: &TriplePattern) -> Option<Triple> {
    let TermPattern::NamedNode(subject) = &pattern.subject else {
        return None;
    };
    let NamedNodePattern::NamedNode(predicate) = &pattern.predicate else {
        return None;
    };
    let object: Term = match &pattern.object {
        TermPattern::NamedNode(node) => node.clone().into(),
        TermPattern::Literal(literal) => literal.clone().into(),
        TermPattern::Triple(triple) => ground_triple(triple)?.into(),
        TermPattern::BlankNode(_) | TermPattern::Variable(_) => return None,
    };
    Some(Triple::new(subject.clone(), predicate.clone(), object))
}
