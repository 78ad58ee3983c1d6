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

use crate::expr::Expr;
use hashbrown::HashMap;
use oxrdf::{NamedNode, Term, Variable};
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
                PatternGraph::Default | PatternGraph::Named(_) | PatternGraph::Active(_) => None,
            },
        ]
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
    GroupConcat { separator: String },
}

impl AggregateFunction {
    /// As the language calls it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Count => "COUNT",
            Self::Sum => "SUM",
            Self::Average => "AVG",
            Self::Min => "MIN",
            Self::Max => "MAX",
            Self::Sample => "SAMPLE",
            Self::GroupConcat { .. } => "GROUP_CONCAT",
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
            Logical::Conjunction(_) | Logical::Values { .. } => 0,
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
            Logical::Join { inputs } => inputs.iter().any(|input| input.needs_graph(graph)),
            Logical::Union { inputs } => inputs.iter().all(|input| input.needs_graph(graph)),
            Logical::LeftJoin { left, .. } | Logical::Minus { left, .. } => left.needs_graph(graph),
            Logical::GroupBy { input, keys, .. } => !keys.is_empty() && input.needs_graph(graph),
            Logical::Values { .. } | Logical::Graphs { .. } => false,
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
}

/// A whole query.
#[derive(Debug)]
pub struct LogicalQuery {
    /// Its variables.
    pub variables: Variables,
    /// What it gives.
    pub form: Form,
    /// How.
    pub root: Group,
}
