//! `Extensions`: functions and aggregates that the embedding program adds to the language (SPARQL 1.1, section 17.6).
//!
//! They are found by name while a query is prepared, so that running it looks nothing up. The parser needs the names of the
//! aggregates: without them `<name>(?x)` is the call of a function.

use hashbrown::HashMap;
use oxrdf::{NamedNode, Term};
use std::fmt;
use std::sync::Arc;

type FunctionBody = dyn Fn(&[Term]) -> Option<Term> + Send + Sync;
type AggregateFactory = dyn Fn() -> Box<dyn Accumulator> + Send + Sync;

/// Functions and aggregates by name. Cheap to clone.
///
/// ```
/// use oxrdf::{Literal, NamedNode, Term};
/// use quadrille_sparql::{Accumulator, Extensions, Query, QueryOptions, QueryResults};
/// use quadrille_store::Store;
///
/// /// The longest text of a group.
/// #[derive(Default)]
/// struct Longest(Option<String>);
///
/// impl Accumulator for Longest {
///     fn accumulate(&mut self, term: Term) {
///         if let Term::Literal(literal) = term
///             && self.0.as_ref().is_none_or(|known| known.len() < literal.value().len())
///         {
///             self.0 = Some(literal.value().to_owned());
///         }
///     }
///
///     fn finish(self: Box<Self>) -> Option<Term> {
///         self.0.map(|text| Literal::from(text).into())
///     }
/// }
///
/// let extensions = Extensions::new()
///     .with_function(NamedNode::new("http://example.com/reverse")?, |terms| match terms {
///         [Term::Literal(literal)] => {
///             let text: String = literal.value().chars().rev().collect();
///             Some(Literal::from(text).into())
///         }
///         _ => None,
///     })
///     .with_aggregate(NamedNode::new("http://example.com/longest")?, || {
///         Box::new(Longest::default())
///     });
/// let query = Query::parse_with(
///     "PREFIX e: <http://example.com/>
///      ASK { { SELECT (e:longest(?x) AS ?y) { VALUES ?x { 'a' 'abc' 'ab' } } } FILTER(e:reverse(?y) = 'cba') }",
///     None,
///     &extensions,
/// )?;
/// let results = query.execute(&Store::in_memory().snapshot(), &QueryOptions::default())?;
/// assert!(matches!(results, QueryResults::Boolean(true)));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Extensions {
    functions: Arc<HashMap<NamedNode, CustomFunction>>,
    aggregates: Arc<HashMap<NamedNode, CustomAggregate>>,
}

impl Extensions {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with a function, in the place of one of the same name. It gets a term for each argument; `None` is an
    /// error of the expression. An argument that is an error makes the call one.
    ///
    /// It must give the same for the same terms, and may be called from several threads: how often, and for which rows, is up
    /// to the planner. A call that takes long is not stopped by the query's time limit. The casts of XML Schema's types cannot be
    /// replaced.
    #[must_use]
    pub fn with_function(
        mut self,
        name: NamedNode,
        function: impl Fn(&[Term]) -> Option<Term> + Send + Sync + 'static,
    ) -> Self {
        let function = CustomFunction {
            name: name.clone(),
            body: Arc::new(function),
        };
        Arc::make_mut(&mut self.functions).insert(name, function);
        self
    }

    /// The same with an aggregate, in the place of one of the same name. `accumulator` begins a group.
    ///
    /// The parser does not take DISTINCT in its calls; algebra that is built in code may have it.
    #[must_use]
    pub fn with_aggregate(
        mut self,
        name: NamedNode,
        accumulator: impl Fn() -> Box<dyn Accumulator> + Send + Sync + 'static,
    ) -> Self {
        let aggregate = CustomAggregate {
            name: name.clone(),
            factory: Arc::new(accumulator),
        };
        Arc::make_mut(&mut self.aggregates).insert(name, aggregate);
        self
    }

    pub(crate) fn function(&self, name: &NamedNode) -> Option<&CustomFunction> {
        self.functions.get(name)
    }

    pub(crate) fn aggregate(&self, name: &NamedNode) -> Option<&CustomAggregate> {
        self.aggregates.get(name)
    }

    /// The names of the aggregates, which the parser must know.
    pub(crate) fn aggregate_names(&self) -> impl Iterator<Item = &NamedNode> {
        self.aggregates.keys()
    }
}

/// What an aggregate of the program has come to in one group. What it keeps does not count against the query's memory.
pub trait Accumulator: Send {
    /// Adds the argument's term of a row; with DISTINCT each term once. A row for which the argument is an error makes the
    /// whole aggregate fail, as it does SUM (section 18.5.1).
    fn accumulate(&mut self, term: Term);

    /// What the group comes to; `None` is an error, which leaves the variable unbound. Asked of a group without rows too.
    fn finish(self: Box<Self>) -> Option<Term>;
}

/// A function of the program.
#[derive(Clone)]
pub struct CustomFunction {
    name: NamedNode,
    body: Arc<FunctionBody>,
}

impl CustomFunction {
    /// As a query calls it.
    pub fn name(&self) -> &NamedNode {
        &self.name
    }

    /// Calls it.
    pub fn call(&self, terms: &[Term]) -> Option<Term> {
        (self.body)(terms)
    }
}

impl fmt::Debug for CustomFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CustomFunction").field(&self.name).finish()
    }
}

/// An aggregate of the program.
#[derive(Clone)]
pub struct CustomAggregate {
    name: NamedNode,
    factory: Arc<AggregateFactory>,
}

impl CustomAggregate {
    /// As a query calls it.
    pub fn name(&self) -> &NamedNode {
        &self.name
    }

    /// Begins a group.
    pub fn begin(&self) -> Box<dyn Accumulator> {
        (self.factory)()
    }
}

impl fmt::Debug for CustomAggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CustomAggregate").field(&self.name).finish()
    }
}

impl PartialEq for CustomAggregate {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.factory, &other.factory)
    }
}

impl Eq for CustomAggregate {}
