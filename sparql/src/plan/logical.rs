//! The logical plan: a query's algebra with its variables numbered and its names resolved; [`super::lower`] makes it.
//!
//! Basic graph patterns, joins of them, their filters and the `GRAPH` blocks around them are flattened into one
//! [`Conjunction`], whose patterns may be joined in any order. That is sound because every variable of such a
//! conjunction is bound in every one of its solutions: a filter of an inner group means the same above the
//! join, once the variables that the group cannot see are replaced by *unbound*. Everything else is a tree of
//! operators as the specification has them, evaluated from the bottom up.
//!
//! Every node comes as a [`Group`], which says what variables its solutions may bind and which of these they
//! certainly bind: where that is not known beforehand, it is decided row by row.

use super::automaton::Automaton;
use super::service::ServiceCall;
use super::template::Template;
use crate::dataset::QueryDataset;
use crate::error::Result;
use crate::expr::Expr;
use crate::extensions::CustomAggregate;
use hashbrown::HashMap;
use oxrdf::{NamedNode, Term, Variable};
use quadrille_store::{KnownId, Snapshot, TermId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Some variables.
pub type VariableSet = BTreeSet<VariableId>;

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
    /// A variable that only a part of the query knows: one that a subquery does not select, or one of the engine's own.
    Inner(String, u32),
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
        match self.names.get(variable.index()) {
            Some(VariableName::Named(name)) => format!("?{name}"),
            Some(VariableName::Blank(label)) => format!("_:{label}"),
            Some(VariableName::Inner(name, number)) => format!("?{name}#{number}"),
            // The planner numbers some that the query does not have.
            None => format!("?#{}", variable.0),
        }
    }
}

/// A place of a quad pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PatternTerm {
    /// A variable (or a blank node of the query).
    Variable(VariableId),
    /// A constant.
    Constant(Constant),
}

/// A term of the query whose id is remembered from run to run.
#[derive(Clone, Debug)]
pub struct Constant {
    /// The term.
    pub term: Term,
    known: KnownId,
}

impl<T: Into<Term>> From<T> for Constant {
    fn from(term: T) -> Self {
        Self {
            term: term.into(),
            known: KnownId::default(),
        }
    }
}

impl PartialEq for Constant {
    fn eq(&self, other: &Self) -> bool {
        self.term == other.term
    }
}

impl Eq for Constant {}

impl Constant {
    /// The term's id, if the store has the term.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn id(&self, snapshot: &Snapshot) -> Result<Option<TermId>> {
        Ok(snapshot.known_term_id(self.term.as_ref(), &self.known)?)
    }
}

impl PatternTerm {
    /// The variable, if it is one.
    pub fn variable(&self) -> Option<VariableId> {
        match self {
            Self::Variable(variable) => Some(*variable),
            Self::Constant(_) => None,
        }
    }
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
    /// The named graph that the [`Logical::Graphs`] around it is at.
    Active(VariableId),
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
        [
            self.subject.variable(),
            self.predicate.variable(),
            self.object.variable(),
            match self.graph {
                PatternGraph::Variable(variable) => Some(variable),
                PatternGraph::Default | PatternGraph::Named(_) | PatternGraph::Active(_) => None,
            },
        ]
    }
}

/// A property path with repetition: gives each pair of nodes that it connects once.
#[derive(Debug)]
pub struct PathPattern {
    /// Where paths begin.
    pub subject: PatternTerm,
    /// Where they end.
    pub object: PatternTerm,
    /// The graph that all their steps are taken in.
    pub graph: PatternGraph,
    /// From subject to object.
    pub forward: Automaton,
    /// From object to subject.
    pub backward: Automaton,
    /// As a query writes the path.
    pub text: String,
}

impl PathPattern {
    /// The variables of its ends.
    pub fn variables(&self) -> impl Iterator<Item = VariableId> {
        [&self.subject, &self.object]
            .into_iter()
            .filter_map(PatternTerm::variable)
    }
}

/// A triple term with variables in it: binds a variable to the triple terms of the store that match, and the variables in it
/// to their parts.
#[derive(Debug)]
#[expect(missing_docs, reason = "the places of a triple")]
pub struct TripleTermPattern {
    /// What stands for the triple term in patterns.
    pub term: VariableId,
    pub subject: PatternTerm,
    pub predicate: PatternTerm,
    pub object: PatternTerm,
}

impl TripleTermPattern {
    /// Its parts.
    pub fn parts(&self) -> [&PatternTerm; 3] {
        [&self.subject, &self.predicate, &self.object]
    }

    /// The variables in it, and the one that stands for it.
    pub fn variables(&self) -> impl Iterator<Item = VariableId> {
        let parts = self.parts().into_iter().filter_map(PatternTerm::variable);
        std::iter::once(self.term).chain(parts)
    }
}

/// Patterns that are joined, and conditions on the result. Without patterns it has one empty solution.
#[derive(Debug, Default)]
pub struct Conjunction {
    /// The patterns, in the query's order.
    pub patterns: Vec<Arc<QuadPattern>>,
    /// The conditions, all of which must be true. They have no variables but those of the patterns.
    pub filters: Vec<Arc<Expr>>,
}

/// A node of the logical plan with what is known of its solutions.
#[derive(Debug)]
pub struct Group {
    /// How its solutions are made.
    pub logical: Logical,
    /// The variables that a solution may bind.
    pub scope: VariableSet,
    /// Those of them that every solution binds.
    pub certain: VariableSet,
    /// How many nodes stand above one another here.
    pub depth: usize,
}

/// A node of the logical plan.
#[derive(Debug)]
pub enum Logical {
    /// Patterns and conditions.
    Conjunction(Conjunction),
    /// A property path with repetition.
    Path(Arc<PathPattern>),
    /// A triple term with variables in it, beside the patterns that have it.
    TripleTerm(Arc<TripleTermPattern>),
    /// SERVICE.
    Service(Arc<ServiceCall>),
    /// Every way of putting compatible solutions together, one of each input.
    Join {
        /// At least two, of which at most one is a conjunction.
        inputs: Vec<Group>,
    },
    /// OPTIONAL.
    LeftJoin {
        /// What is kept in any case.
        left: Box<Group>,
        /// What is added.
        right: Box<Group>,
        /// What must hold for a solution to be added.
        conditions: Vec<Arc<Expr>>,
        /// EXISTS in the conditions.
        marks: Vec<Arc<Mark>>,
    },
    /// MINUS.
    Minus {
        /// What solutions are kept of.
        left: Box<Group>,
        /// What removes those that are compatible with it and share a variable.
        right: Box<Group>,
    },
    /// UNION.
    Union {
        /// The branches.
        inputs: Vec<Group>,
    },
    /// Solutions that meet conditions.
    Filter {
        /// The solutions.
        input: Box<Group>,
        /// All of which must be true.
        conditions: Vec<Arc<Expr>>,
    },
    /// Binds variables to whether there are solutions of patterns.
    Marks {
        /// The solutions.
        input: Box<Group>,
        /// What is bound.
        marks: Vec<Arc<Mark>>,
    },
    /// BIND.
    Extend {
        /// The solutions.
        input: Box<Group>,
        /// What is bound.
        variable: VariableId,
        /// To what; if that fails it stays unbound.
        expression: Arc<Expr>,
    },
    /// VALUES.
    Values {
        /// The columns.
        variables: Vec<VariableId>,
        /// The rows; `None` is UNDEF.
        rows: Vec<Vec<Option<Term>>>,
    },
    /// `GRAPH ?variable`: the solutions in each named graph, with the variable bound to it. Or, where it is a name, those
    /// in that graph, if it exists.
    Graphs {
        /// The only graph that is asked.
        name: Option<NamedNode>,
        /// Has [`PatternGraph::Active`] patterns.
        inner: Arc<Group>,
        /// What stands for the graph in these.
        active: VariableId,
        /// What is bound.
        variable: VariableId,
    },
    /// GROUP BY and aggregates.
    GroupBy {
        /// The solutions.
        input: Box<Group>,
        /// What is the same in a group; without any there is one group, even of nothing.
        keys: Vec<VariableId>,
        /// What is computed of each group.
        aggregates: Vec<Aggregate>,
    },
    /// ORDER BY.
    OrderBy {
        /// The solutions.
        input: Box<Group>,
        /// The most important first.
        keys: Vec<OrderKey>,
    },
    /// Keeps these variables, in this order.
    Project {
        /// Where rows come from.
        input: Box<Group>,
        /// What is kept.
        variables: Vec<VariableId>,
    },
    /// Each row once.
    Distinct {
        /// Where rows come from.
        input: Box<Group>,
    },
    /// Each row at least once and at most as often as it comes.
    Reduced {
        /// Where rows come from.
        input: Box<Group>,
    },
    /// A range of the rows.
    Slice {
        /// Where rows come from.
        input: Box<Group>,
        /// How many are left out at the start.
        offset: u64,
        /// How many follow at most.
        limit: Option<u64>,
    },
}

/// An EXISTS: a variable of the engine's own that is true where the pattern has a solution.
#[derive(Debug)]
pub struct Mark {
    /// What is bound to a boolean.
    pub variable: VariableId,
    /// What must have a solution, when the row's terms stand for its variables.
    pub pattern: Group,
    /// The variables of the row around that the pattern mentions.
    pub correlated: Vec<VariableId>,
}

/// A key of ORDER BY.
#[derive(Clone, Debug)]
pub struct OrderKey {
    /// What is compared.
    pub expression: Arc<Expr>,
    /// Whether the greatest comes first.
    pub is_descending: bool,
}

/// An aggregate with its argument.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// What is bound.
    pub variable: VariableId,
    /// What is computed.
    pub function: AggregateFunction,
    /// Of what; `None` for whole rows, which only COUNT takes.
    pub expression: Option<Arc<Expr>>,
    /// The variables that tell whole rows apart, for `COUNT(DISTINCT *)`.
    pub columns: Vec<VariableId>,
    /// Whether each value counts once.
    pub is_distinct: bool,
}

/// A function of the solutions of a group.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are the language's")]
pub enum AggregateFunction {
    Count,
    Sum,
    Average,
    Min,
    Max,
    Sample,
    GroupConcat {
        separator: String,
    },
    /// One of the embedding program.
    Custom(CustomAggregate),
}

impl AggregateFunction {
    /// As the language calls it.
    pub fn name(&self) -> &str {
        match self {
            Self::Count => "COUNT",
            Self::Sum => "SUM",
            Self::Average => "AVG",
            Self::Min => "MIN",
            Self::Max => "MAX",
            Self::Sample => "SAMPLE",
            Self::GroupConcat { .. } => "GROUP_CONCAT",
            Self::Custom(aggregate) => aggregate.name().as_str(),
        }
    }
}

impl Group {
    /// One solution that binds nothing.
    pub fn unit() -> Self {
        Self::conjunction(Conjunction::default())
    }

    /// The solutions of a node.
    pub fn new(logical: Logical, scope: VariableSet, certain: VariableSet) -> Self {
        let below = match &logical {
            Logical::Conjunction(_)
            | Logical::Path(_)
            | Logical::TripleTerm(_)
            | Logical::Service(_)
            | Logical::Values { .. } => 0,
            Logical::Join { inputs } | Logical::Union { inputs } => {
                inputs.iter().map(|input| input.depth).max().unwrap_or(0)
            }
            Logical::LeftJoin { left, right, .. } | Logical::Minus { left, right } => {
                left.depth.max(right.depth)
            }
            Logical::Marks { input, marks } => marks
                .iter()
                .map(|mark| mark.pattern.depth)
                .fold(input.depth, usize::max),
            Logical::Graphs { inner, .. } => inner.depth,
            Logical::Filter { input, .. }
            | Logical::Extend { input, .. }
            | Logical::GroupBy { input, .. }
            | Logical::OrderBy { input, .. }
            | Logical::Project { input, .. }
            | Logical::Distinct { input }
            | Logical::Reduced { input }
            | Logical::Slice { input, .. } => input.depth,
        };
        Self {
            logical,
            scope,
            certain,
            depth: below + 1,
        }
    }

    /// The solutions of a node that binds what its input binds.
    pub fn like(input: Self, logical: impl FnOnce(Box<Self>) -> Logical) -> Self {
        let (scope, certain) = (input.scope.clone(), input.certain.clone());
        Self::new(logical(Box::new(input)), scope, certain)
    }

    /// The solutions of a conjunction, each of which binds all variables.
    pub fn conjunction(conjunction: Conjunction) -> Self {
        let scope: VariableSet = conjunction
            .patterns
            .iter()
            .flat_map(|pattern| pattern.slots().into_iter().flatten())
            .collect();
        Self {
            certain: scope.clone(),
            scope,
            depth: 1,
            logical: Logical::Conjunction(conjunction),
        }
    }

    /// The solutions of a path, each of which binds the variables of both ends.
    pub fn path(path: PathPattern) -> Self {
        let scope: VariableSet = path.variables().collect();
        let certain = scope.clone();
        Self::new(Logical::Path(Arc::new(path)), scope, certain)
    }

    /// The solutions of a triple term, each of which binds all its variables.
    pub fn triple_term(pattern: TripleTermPattern) -> Self {
        let scope: VariableSet = pattern.variables().collect();
        let certain = scope.clone();
        Self::new(Logical::TripleTerm(Arc::new(pattern)), scope, certain)
    }

    /// Whether this has one solution that binds nothing.
    pub fn is_unit(&self) -> bool {
        matches!(&self.logical, Logical::Conjunction(conjunction)
            if conjunction.patterns.is_empty() && conjunction.filters.is_empty())
    }

    /// Whether every solution takes a quad of a graph, so that there is none where the graph does not exist.
    pub fn needs_graph(&self, graph: &PatternGraph) -> bool {
        match &self.logical {
            Logical::Conjunction(conjunction) => conjunction
                .patterns
                .iter()
                .any(|pattern| pattern.graph == *graph),
            // A term is connected with itself by no step at all, even if no graph has it.
            Logical::Path(path) => path.graph == *graph && !path.forward.is_nullable(),
            Logical::Join { inputs } => inputs.iter().any(|input| input.needs_graph(graph)),
            Logical::Union { inputs } => inputs.iter().all(|input| input.needs_graph(graph)),
            Logical::LeftJoin { left, .. } | Logical::Minus { left, .. } => left.needs_graph(graph),
            Logical::GroupBy { input, keys, .. } => !keys.is_empty() && input.needs_graph(graph),
            Logical::TripleTerm(_)
            | Logical::Service(_)
            | Logical::Values { .. }
            | Logical::Graphs { .. } => false,
            Logical::Filter { input, .. }
            | Logical::Marks { input, .. }
            | Logical::Extend { input, .. }
            | Logical::OrderBy { input, .. }
            | Logical::Project { input, .. }
            | Logical::Distinct { input }
            | Logical::Reduced { input }
            | Logical::Slice { input, .. } => input.needs_graph(graph),
        }
    }

    /// Whether an expression in it may come out differently for the same terms, as `RAND()` does.
    pub fn is_volatile(&self) -> bool {
        let any = |expressions: &[Arc<Expr>]| {
            expressions
                .iter()
                .any(|expression| expression.is_volatile())
        };
        let any_mark = |marks: &[Arc<Mark>]| marks.iter().any(|mark| mark.pattern.is_volatile());
        match &self.logical {
            Logical::Path(_)
            | Logical::TripleTerm(_)
            | Logical::Service(_)
            | Logical::Values { .. } => false,
            Logical::Conjunction(conjunction) => any(&conjunction.filters),
            Logical::Join { inputs } | Logical::Union { inputs } => {
                inputs.iter().any(Self::is_volatile)
            }
            Logical::LeftJoin {
                left,
                right,
                conditions,
                marks,
            } => left.is_volatile() || right.is_volatile() || any(conditions) || any_mark(marks),
            Logical::Minus { left, right } => left.is_volatile() || right.is_volatile(),
            Logical::Filter { input, conditions } => input.is_volatile() || any(conditions),
            Logical::Marks { input, marks } => input.is_volatile() || any_mark(marks),
            Logical::Extend {
                input, expression, ..
            } => input.is_volatile() || expression.is_volatile(),
            Logical::Graphs { inner, .. } => inner.is_volatile(),
            Logical::GroupBy {
                input, aggregates, ..
            } => {
                let mut arguments = aggregates
                    .iter()
                    .filter_map(|known| known.expression.as_ref());
                input.is_volatile() || arguments.any(|argument| argument.is_volatile())
            }
            Logical::OrderBy { input, keys } => {
                input.is_volatile() || keys.iter().any(|key| key.expression.is_volatile())
            }
            Logical::Project { input, .. }
            | Logical::Distinct { input }
            | Logical::Reduced { input }
            | Logical::Slice { input, .. } => input.is_volatile(),
        }
    }

    /// The variables that solutions of both may bind.
    pub fn shared(&self, other: &Self) -> Vec<VariableId> {
        self.scope.intersection(&other.scope).copied().collect()
    }
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
    /// A graph: the triples of a template, once for each row.
    Construct {
        /// What triples are made of.
        template: Template,
        /// What the plan calls the subject, the predicate and the object.
        columns: [VariableId; 3],
    },
    /// A graph: what the default graph says of resources.
    Describe {
        /// Resources that the query names.
        named: Vec<NamedNode>,
        /// Those of each row.
        variables: Vec<VariableId>,
        /// What the plan calls the subject, the predicate and the object.
        columns: [VariableId; 3],
    },
}

/// A whole query.
#[derive(Debug)]
pub struct LogicalQuery {
    /// Its variables.
    pub variables: Variables,
    /// Variables that stand for terms when it is run.
    pub parameters: Vec<(Variable, VariableId)>,
    /// The graphs that it names.
    pub dataset: Option<QueryDataset>,
    /// What it gives.
    pub form: Form,
    /// How.
    pub root: Group,
}
