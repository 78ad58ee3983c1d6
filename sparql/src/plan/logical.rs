//! The logical plan: a query's algebra with its variables numbered and its names resolved.
//!
//! Basic graph patterns, joins of them, their filters and the `GRAPH` blocks around them are flattened into one
//! [`Conjunction`], whose patterns may be joined in any order. That is sound because every variable of such a
//! conjunction is bound in every one of its solutions: a filter of an inner group means the same above the
//! join, once the variables that the group cannot see are replaced by *unbound*.
//!
//! Whatever is not handled here is an error that names it.

use crate::error::{QueryError, Result};
use crate::expr::{Compilation, Expr, compile};
use crate::nesting::PATTERNS_MAX;
use hashbrown::HashMap;
use oxrdf::{NamedNode, Term, Triple, Variable};
use spargebra::algebra::{Expression, GraphPattern};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use std::sync::Arc;

/// The number of a variable within its query; an index into [`Variables`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VariableId(pub u32);

impl VariableId {
    /// The number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The variables of a query: those that it names, and one for each of its blank nodes.
#[derive(Debug, Default)]
pub struct Variables {
    names: Vec<VariableName>,
    numbers: HashMap<VariableName, VariableId>,
}

/// What a variable is called in the query.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum VariableName {
    /// `?name`.
    Named(String),
    /// `_:label` or `[]`: matches like a variable, but cannot be selected.
    Blank(String),
}

impl Variables {
    /// The number of a variable, which is new if it was not known.
    pub fn number(&mut self, name: VariableName) -> VariableId {
        let next = VariableId(self.names.len() as u32);
        let names = &mut self.names;
        *self.numbers.entry(name).or_insert_with_key(|name| {
            names.push(name.clone());
            next
        })
    }

    fn named(&mut self, variable: &Variable) -> VariableId {
        self.number(VariableName::Named(variable.as_str().to_owned()))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// How the query writes the variable.
    pub fn display(&self, variable: VariableId) -> String {
        match &self.names[variable.index()] {
            VariableName::Named(name) => format!("?{name}"),
            VariableName::Blank(label) => format!("_:{label}"),
        }
    }
}

/// A place of a quad pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PatternTerm {
    /// A variable (or a blank node of the query).
    Variable(VariableId),
    /// A constant.
    Constant(Term),
}

/// The graph that a pattern asks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PatternGraph {
    /// The default graph.
    Default,
    /// One named graph.
    Named(NamedNode),
    /// Every named graph, which binds the variable.
    Variable(VariableId),
}

/// A triple pattern with the graph that it asks.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the places of a quad")]
pub struct QuadPattern {
    pub subject: PatternTerm,
    pub predicate: PatternTerm,
    pub object: PatternTerm,
    pub graph: PatternGraph,
}

impl QuadPattern {
    /// The variables in the four places, in the sequence subject, predicate, object, graph.
    pub fn slots(&self) -> [Option<VariableId>; 4] {
        let variable = |term: &PatternTerm| match term {
            PatternTerm::Variable(variable) => Some(*variable),
            PatternTerm::Constant(_) => None,
        };
        [
            variable(&self.subject),
            variable(&self.predicate),
            variable(&self.object),
            match self.graph {
                PatternGraph::Variable(variable) => Some(variable),
                PatternGraph::Default | PatternGraph::Named(_) => None,
            },
        ]
    }
}

/// Patterns that are joined, and conditions on the result. Without patterns it has one empty solution.
#[derive(Debug, Default)]
pub struct Conjunction {
    /// The patterns, in the query's order.
    pub patterns: Vec<QuadPattern>,
    /// The conditions, all of which must be true.
    pub filters: Vec<Arc<Expr>>,
}

/// A node of the logical plan.
#[derive(Debug)]
pub enum Logical {
    /// Patterns and conditions.
    Join(Conjunction),
    /// Keeps these variables, in this order.
    Project {
        /// Where rows come from.
        input: Box<Self>,
        /// What is kept.
        variables: Vec<VariableId>,
    },
    /// Each row once.
    Distinct {
        /// Where rows come from.
        input: Box<Self>,
    },
    /// Each row at least once and at most as often as it comes.
    Reduced {
        /// Where rows come from.
        input: Box<Self>,
    },
    /// A range of the rows.
    Slice {
        /// Where rows come from.
        input: Box<Self>,
        /// How many are left out at the start.
        offset: u64,
        /// How many follow at most.
        limit: Option<u64>,
    },
}

/// What a query gives.
#[derive(Debug)]
pub enum Form {
    /// Rows of these variables.
    Select {
        /// As the results name them.
        names: Vec<Variable>,
        /// The same, numbered.
        variables: Vec<VariableId>,
    },
    /// Whether there is a row.
    Ask,
}

/// A whole query.
#[derive(Debug)]
pub struct LogicalQuery {
    /// Its variables.
    pub variables: Variables,
    /// What it gives.
    pub form: Form,
    /// How.
    pub root: Logical,
}

impl LogicalQuery {
    /// Lowers a parsed query.
    ///
    /// # Errors
    /// [`QueryError::Unsupported`] for whatever this engine does not do.
    pub fn new(query: &spargebra::Query) -> Result<Self> {
        if query.dataset().is_some() {
            return Err(QueryError::unsupported("FROM"));
        }
        let mut lowering = Lowering {
            expressions: Compilation {
                base: query
                    .base_iri()
                    .map(|base| NamedNode::new_unchecked(base.as_str())),
                ..Compilation::default()
            },
            ..Lowering::default()
        };
        match query {
            spargebra::Query::Select { pattern, .. } => {
                let root = lowering.modifiers(pattern)?;
                let names = projected(pattern)?;
                let variables = names
                    .iter()
                    .map(|name| lowering.variables.named(name))
                    .collect();
                Ok(Self {
                    variables: lowering.variables,
                    form: Form::Select { names, variables },
                    root,
                })
            }
            spargebra::Query::Ask { pattern, .. } => {
                let root = lowering.modifiers(pattern)?;
                Ok(Self {
                    variables: lowering.variables,
                    form: Form::Ask,
                    root,
                })
            }
            spargebra::Query::Construct { .. } => Err(QueryError::unsupported("CONSTRUCT")),
            spargebra::Query::Describe { .. } => Err(QueryError::unsupported("DESCRIBE")),
        }
    }
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

#[derive(Default)]
struct Lowering {
    variables: Variables,
    expressions: Compilation,
}

impl Lowering {
    /// The solution modifiers at the top of a query.
    fn modifiers(&mut self, pattern: &GraphPattern) -> Result<Logical> {
        Ok(match pattern {
            GraphPattern::Slice {
                inner,
                start,
                length,
            } => Logical::Slice {
                input: Box::new(self.modifiers(inner)?),
                offset: *start as u64,
                limit: length.map(|length| length as u64),
            },
            GraphPattern::Distinct { inner } => Logical::Distinct {
                input: Box::new(self.modifiers(inner)?),
            },
            GraphPattern::Reduced { inner } => Logical::Reduced {
                input: Box::new(self.modifiers(inner)?),
            },
            GraphPattern::Project { inner, variables } => Logical::Project {
                input: Box::new(Logical::Join(self.conjunction(inner)?)),
                variables: variables
                    .iter()
                    .map(|variable| self.variables.named(variable))
                    .collect(),
            },
            group => Logical::Join(self.conjunction(group)?),
        })
    }

    fn conjunction(&mut self, pattern: &GraphPattern) -> Result<Conjunction> {
        let mut conjunction = Conjunction::default();
        self.group(pattern, &PatternGraph::Default, &mut conjunction)?;
        if conjunction.patterns.len() > PATTERNS_MAX {
            return Err(QueryError::Limit {
                what: "the query joins too many patterns",
                limit: PATTERNS_MAX,
            });
        }
        Ok(conjunction)
    }

    /// Adds a group to a conjunction and gives the variables that are in scope after it.
    fn group(
        &mut self,
        pattern: &GraphPattern,
        graph: &PatternGraph,
        conjunction: &mut Conjunction,
    ) -> Result<Scope> {
        match pattern {
            GraphPattern::Bgp { patterns } => {
                let mut scope = Scope::default();
                for pattern in patterns {
                    let pattern = self.quad_pattern(pattern, graph)?;
                    // The graph's variable is bound after the block, so it is not in scope inside.
                    scope.add(pattern.slots().into_iter().take(3).flatten());
                    conjunction.patterns.push(pattern);
                }
                Ok(scope)
            }
            GraphPattern::Join { left, right } => {
                let mut scope = self.group(left, graph, conjunction)?;
                let right = self.group(right, graph, conjunction)?;
                scope.add(right.0);
                Ok(scope)
            }
            GraphPattern::Filter { expr, inner } => {
                let scope = self.group(inner, graph, conjunction)?;
                self.filter(expr, &scope, conjunction)?;
                Ok(scope)
            }
            GraphPattern::Graph { name, inner } => {
                let graph = match name {
                    NamedNodePattern::NamedNode(name) => PatternGraph::Named(name.clone()),
                    NamedNodePattern::Variable(name) => {
                        PatternGraph::Variable(self.variables.named(name))
                    }
                };
                let before = conjunction.patterns.len();
                let mut scope = self.group(inner, &graph, conjunction)?;
                // Without a pattern of its own the block asks which named graphs there are.
                if !conjunction.patterns[before..]
                    .iter()
                    .any(|pattern| pattern.graph == graph)
                {
                    return Err(QueryError::unsupported(
                        "GRAPH without a triple pattern of its own",
                    ));
                }
                if let PatternGraph::Variable(variable) = graph {
                    scope.add([variable]);
                }
                Ok(scope)
            }
            other => Err(QueryError::unsupported(feature_of(other))),
        }
    }

    /// Adds a group's condition. A variable that the group does not bind is unbound for the condition, whatever a
    /// pattern outside of the group binds it to.
    fn filter(
        &mut self,
        expression: &Expression,
        scope: &Scope,
        conjunction: &mut Conjunction,
    ) -> Result<()> {
        let variables = &mut self.variables;
        let condition = compile(expression, &mut self.expressions, &mut |variable| {
            let variable = variables.named(variable);
            scope.0.contains(&variable).then_some(variable)
        })?;
        let mut conditions = Vec::new();
        condition.split_into(&mut conditions);
        conjunction
            .filters
            .extend(conditions.into_iter().map(Arc::new));
        Ok(())
    }

    fn quad_pattern(
        &mut self,
        pattern: &TriplePattern,
        graph: &PatternGraph,
    ) -> Result<QuadPattern> {
        Ok(QuadPattern {
            subject: self.pattern_term(&pattern.subject)?,
            predicate: match &pattern.predicate {
                NamedNodePattern::NamedNode(node) => PatternTerm::Constant(node.clone().into()),
                NamedNodePattern::Variable(variable) => {
                    PatternTerm::Variable(self.variables.named(variable))
                }
            },
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
            TermPattern::Variable(variable) => {
                PatternTerm::Variable(self.variables.named(variable))
            }
            TermPattern::Triple(triple) => PatternTerm::Constant(ground_triple(triple)?.into()),
        })
    }
}

/// A triple term without variables, which is a constant.
fn ground_triple(pattern: &TriplePattern) -> Result<Triple> {
    let variables = || QueryError::unsupported("a triple term with variables or blank nodes");
    let subject = match &pattern.subject {
        TermPattern::NamedNode(node) => node.clone(),
        TermPattern::Literal(_)
        | TermPattern::Triple(_)
        | TermPattern::BlankNode(_)
        | TermPattern::Variable(_) => return Err(variables()),
    };
    let NamedNodePattern::NamedNode(predicate) = &pattern.predicate else {
        return Err(variables());
    };
    let object: Term = match &pattern.object {
        TermPattern::NamedNode(node) => node.clone().into(),
        TermPattern::Literal(literal) => literal.clone().into(),
        TermPattern::Triple(triple) => ground_triple(triple)?.into(),
        TermPattern::BlankNode(_) | TermPattern::Variable(_) => return Err(variables()),
    };
    Ok(Triple::new(subject, predicate.clone(), object))
}

/// The variables that a group binds.
#[derive(Default)]
struct Scope(hashbrown::HashSet<VariableId>);

impl Scope {
    fn add(&mut self, variables: impl IntoIterator<Item = VariableId>) {
        self.0.extend(variables);
    }
}

const GROUP: &str = "GROUP BY (or an aggregate)";

/// What a query's author calls a pattern that is not supported.
fn feature_of(pattern: &GraphPattern) -> &'static str {
    match pattern {
        GraphPattern::Path { .. } => "a property path",
        GraphPattern::LeftJoin { .. } => "OPTIONAL",
        GraphPattern::Union { .. } => "UNION",
        // An aggregate in a SELECT is an assignment above a group.
        GraphPattern::Extend { inner, .. } => match feature_of(inner) {
            group @ GROUP => group,
            _ => "BIND (or an expression in SELECT)",
        },
        GraphPattern::Minus { .. } => "MINUS",
        GraphPattern::Values { .. } => "VALUES",
        GraphPattern::OrderBy { .. } => "ORDER BY",
        GraphPattern::Project { .. }
        | GraphPattern::Distinct { .. }
        | GraphPattern::Reduced { .. }
        | GraphPattern::Slice { .. } => "a subquery",
        GraphPattern::Group { .. } => GROUP,
        GraphPattern::Service { .. } => "SERVICE",
        // The variants that `Lowering::group` handles, and those of algebra extensions.
        _ => "this graph pattern",
    }
}
