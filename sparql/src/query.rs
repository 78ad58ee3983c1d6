//! The face of the engine: parse a query once, run it on snapshots, read its results.

use crate::dataset::{QueryDataset, snapshot_for};
use crate::error::{QueryError, Result};
use crate::exec::batch::Batch;
use crate::exec::control::{CancellationToken, Control};
use crate::exec::gather::Pipeline;
use crate::exec::memory::Memory;
use crate::exec::operator::Operator;
use crate::exec::profile::Profile;
use crate::exec::service::Answers;
use crate::exec::spill::scratch::Scratch;
use crate::exec::terms::Terms;
use crate::extensions::Extensions;
use crate::nesting::{self, Depth};
use crate::plain;
use crate::plan::PlannerOptions;
use crate::plan::build::Execution;
use crate::plan::explain::explain;
use crate::plan::explanation::Explanation;
use crate::plan::form::plan_query;
use crate::plan::logical::{Form, Group, Logical, LogicalQuery};
use crate::plan::parallel::divide;
use crate::plan::physical::{Node, Planner};
use crate::plan::seed::Seed;
use crate::prologue::Prologue;
use crate::service::Services;
use crate::triples::Triples;
use oxrdf::{Term, Variable};
use quadrille_store::{Snapshot, TermId};
use sparesults::QuerySolution;
use spargebra::SparqlParser;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Rows of a batch, unless [`QueryOptions::batch_rows`] says otherwise.
pub const BATCH_ROWS: usize = 1024;
/// The fewest rows of a batch where a LIMIT or an ASK wants few.
const BATCH_ROWS_FEW: usize = 64;

/// Parses queries.
#[derive(Debug)]
pub struct Query;

impl Query {
    /// Parses a query; relative IRIs in it are resolved against `base`.
    ///
    /// # Errors
    /// [`QueryError::Syntax`]; [`QueryError::BaseIri`]; [`QueryError::Unsupported`] for what this engine does not do;
    /// [`QueryError::Unregistered`] for a function that is not the language's; [`QueryError::Limit`] for a query that is nested too deeply.
    pub fn parse(text: &str, base: Option<&str>) -> Result<PreparedQuery> {
        Self::parse_with(text, base, &Extensions::new())
    }

    /// Parses a query that may call functions and aggregates of the program.
    ///
    /// # Errors
    /// As [`Query::parse`]; [`QueryError::Unregistered`] for a function that is neither the language's nor among these.
    pub fn parse_with(
        text: &str,
        base: Option<&str>,
        extensions: &Extensions,
    ) -> Result<PreparedQuery> {
        if base.is_none()
            && let Some(query) = plain::parse(text)
        {
            return Self::prepare_owned(query, extensions, Prologue::new(text, base));
        }
        match nesting::check(text)? {
            Depth::Shallow => Self::parse_here(text, base, extensions),
            Depth::Deep => std::thread::scope(|scope| {
                std::thread::Builder::new()
                    .stack_size(nesting::DEEP_STACK_BYTES)
                    .spawn_scoped(scope, || Self::parse_here(text, base, extensions))
                    .map_err(QueryError::Thread)?
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }),
        }
    }

    fn parse_here(
        text: &str,
        base: Option<&str>,
        extensions: &Extensions,
    ) -> Result<PreparedQuery> {
        let mut parser = SparqlParser::new();
        for name in extensions.aggregate_names() {
            parser = parser.with_custom_aggregate_function(name.clone());
        }
        if let Some(base) = base {
            parser = parser
                .with_base_iri(base)
                .map_err(|error| QueryError::BaseIri {
                    base: base.to_owned(),
                    reason: error.to_string(),
                })?;
        }
        Self::prepare_owned(
            parser.parse_query(text)?,
            extensions,
            Prologue::new(text, base),
        )
    }

    /// Prepares a query that was parsed, or built, elsewhere.
    ///
    /// # Errors
    /// [`QueryError::Unsupported`] for what this engine does not do.
    pub fn prepare(query: &spargebra::Query) -> Result<PreparedQuery> {
        Self::prepare_with(query, &Extensions::new())
    }

    /// Prepares a query that may call functions and aggregates of the program.
    ///
    /// # Errors
    /// As [`Query::prepare`]; [`QueryError::Unregistered`] for what is neither the language's nor among these.
    pub fn prepare_with(
        query: &spargebra::Query,
        extensions: &Extensions,
    ) -> Result<PreparedQuery> {
        Self::prepare_owned(query.clone(), extensions, Prologue::default())
    }

    fn prepare_owned(
        query: spargebra::Query,
        extensions: &Extensions,
        prologue: Prologue,
    ) -> Result<PreparedQuery> {
        Ok(PreparedQuery {
            query: Arc::new(LogicalQuery::new(&query, &[], extensions)?),
            parsed: Arc::new(query),
            extensions: extensions.clone(),
            prologue: Arc::new(prologue),
        })
    }
}

/// How a query is run.
#[derive(Clone, Debug)]
pub struct QueryOptions {
    /// Ends the query from another thread.
    pub cancellation: Option<CancellationToken>,
    /// Ends the query after this time.
    pub timeout: Option<Duration>,
    /// How many rows operators hand over at a time; at least 1.
    pub batch_rows: usize,
    /// How many threads may compute the rows of a large query; 1: the caller's alone. By default one for each core that the
    /// process may use.
    pub threads: usize,
    /// What the planner may use.
    pub planner: PlannerOptions,
    /// The memory, in bytes, for what joins, groups, sorts and DISTINCT keep: what outgrows it goes to temporary files. What
    /// cannot (terms that the query computes, text that `GROUP_CONCAT` gathers) ends the query when it exceeds this. `None`
    /// is [`crate::default_memory`]. Not in it are some batches and buffers for each operator.
    pub memory: Option<u64>,
    /// Terms for parameters ([`PreparedQuery::with_parameters`]); a parameter without one is a variable like any other.
    pub substitutions: Vec<(Variable, Term)>,
    /// The graphs that the query asks, whatever its FROM says (SPARQL 1.1 Protocol, section 2.1.4).
    pub dataset: Option<QueryDataset>,
    /// The endpoints that SERVICE may ask, none by default, and who asks them.
    pub services: Services,
    /// Whether the default graph is the merge of the store's default graph and all named graphs, where neither `dataset`
    /// nor the query say what it is.
    pub union_default_graph: bool,
    /// Where temporary files are made. `None` is the store's directory, or the system's directory for temporary files
    /// (`TMPDIR`) if the store is open for reading only or lies in memory. The files have no names: nothing is left of
    /// them, however the process ends.
    pub temporary_directory: Option<PathBuf>,
    /// Ends the query when its temporary files take more than so many bytes at once.
    pub temporary_bytes: Option<u64>,
    /// Ends the query with [`QueryError::Rows`] when it has more rows than these. Rows that were given before are not the
    /// whole answer.
    pub rows: Option<u64>,
}

/// As many threads as the process had cores for when it first needed to know: asking reads files of the control group, which takes
/// longer than a small query does.
fn default_threads() -> usize {
    static FOUND: OnceLock<usize> = OnceLock::new();
    *FOUND.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self {
            cancellation: None,
            timeout: None,
            batch_rows: BATCH_ROWS,
            threads: default_threads(),
            planner: PlannerOptions::default(),
            memory: None,
            substitutions: Vec::new(),
            dataset: None,
            services: Services::default(),
            union_default_graph: false,
            temporary_directory: None,
            temporary_bytes: None,
            rows: None,
        }
    }
}

/// A query that can be run any number of times, on any snapshot. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PreparedQuery {
    query: Arc<LogicalQuery>,
    /// The query as it was parsed.
    parsed: Arc<spargebra::Query>,
    extensions: Extensions,
    prologue: Arc<Prologue>,
}

/// What a query gives.
pub enum QueryResults {
    /// The rows of a SELECT.
    Solutions(Solutions),
    /// The answer of an ASK.
    Boolean(bool),
    /// The graph of a CONSTRUCT or a DESCRIBE.
    Graph(Triples),
}

impl PreparedQuery {
    /// Whether this is an ASK.
    pub fn is_ask(&self) -> bool {
        matches!(self.query.form, Form::Ask)
    }

    /// The same query with variables for which each run gives a term ([`QueryOptions::substitutions`]): it is as if the term
    /// stood in the query wherever the variable does, and a SELECT of the variable gives the term. A subquery that does not
    /// select the variable has one of its own, which stays.
    ///
    /// ```
    /// # use quadrille_sparql::{Query, QueryOptions, QueryResults};
    /// # use quadrille_store::Store;
    /// use oxrdf::{Literal, Variable};
    ///
    /// let least = Variable::new("least")?;
    /// let query = Query::parse("ASK { VALUES ?n { 1 2 3 } FILTER(?n >= ?least) }", None)?
    ///     .with_parameters(&[least.clone()])?;
    /// let options = QueryOptions {
    ///     substitutions: vec![(least, Literal::from(3).into())],
    ///     ..QueryOptions::default()
    /// };
    /// let results = query.execute(&Store::in_memory().snapshot(), &options)?;
    /// assert!(matches!(results, QueryResults::Boolean(true)));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`QueryError::Parameter`] for a variable that the query assigns (BIND, AS); otherwise as [`Query::prepare`].
    pub fn with_parameters(&self, parameters: &[Variable]) -> Result<Self> {
        Ok(Self {
            query: Arc::new(LogicalQuery::new(
                &self.parsed,
                parameters,
                &self.extensions,
            )?),
            parsed: Arc::clone(&self.parsed),
            extensions: self.extensions.clone(),
            prologue: Arc::clone(&self.prologue),
        })
    }

    /// What stands for the parameters.
    fn seed(&self, terms: &Terms, options: &QueryOptions) -> Result<Seed> {
        let mut ids = Vec::with_capacity(options.substitutions.len());
        for (variable, term) in &options.substitutions {
            let parameters = &self.query.parameters;
            let Some((_, id)) = parameters.iter().find(|(known, _)| known == variable) else {
                return Err(QueryError::Parameter {
                    variable: variable.clone(),
                    reason: "it is no parameter of the query",
                });
            };
            ids.push((*id, terms.id(term)?));
        }
        Ok(Seed::default().with(ids))
    }

    /// Whether this is a CONSTRUCT or a DESCRIBE.
    pub fn is_graph(&self) -> bool {
        matches!(
            self.query.form,
            Form::Construct { .. } | Form::Describe { .. }
        )
    }

    /// The prefixes that the query's text declares, names without the colon and IRIs; for showing results.
    pub fn prefixes(&self) -> &[(String, String)] {
        self.prologue.prefixes()
    }

    /// The graphs that FROM and FROM NAMED name.
    pub fn dataset(&self) -> Option<&QueryDataset> {
        self.query.dataset.as_ref()
    }

    /// The variables of a SELECT's rows; none for other queries.
    pub fn variables(&self) -> &[Variable] {
        match &self.query.form {
            Form::Select { names, .. } => names,
            Form::Ask | Form::Construct { .. } | Form::Describe { .. } => &[],
        }
    }

    /// Runs the query. Rows of a SELECT, and triples of a graph, are computed while they are read.
    ///
    /// # Errors
    /// If the store cannot be read, or the query is stopped.
    pub fn execute(&self, snapshot: &Snapshot, options: &QueryOptions) -> Result<QueryResults> {
        let execution = self.execution(snapshot, options, None)?;
        let root = self.divided_plan(&execution.terms, options)?;
        let mut operator = root.operator(&execution)?;
        Ok(match &self.query.form {
            Form::Ask => QueryResults::Boolean(operator.next(&mut root.batch())? > 0),
            Form::Select { names, .. } => QueryResults::Solutions(Solutions::new(
                names.as_slice().into(),
                operator,
                &root,
                execution,
                RowLimit::new(options.rows),
            )),
            Form::Construct { .. } | Form::Describe { .. } => {
                let names = ["subject", "predicate", "object"].map(Variable::new_unchecked);
                QueryResults::Graph(Triples::new(Solutions::new(
                    Arc::new(names),
                    operator,
                    &root,
                    execution,
                    RowLimit::new(options.rows),
                )))
            }
        })
    }

    /// The plan with its work divided among threads.
    fn divided_plan(&self, terms: &Arc<Terms>, options: &QueryOptions) -> Result<Node> {
        let mut root = self.plan(terms, options)?;
        if !self.is_ask() {
            divide(&mut root, options.threads, options.planner.parallel_rows);
        }
        Ok(root)
    }

    fn plan(&self, terms: &Arc<Terms>, options: &QueryOptions) -> Result<Node> {
        let planner = Planner {
            terms,
            options: &options.planner,
            seed: &self.seed(terms, options)?,
            variables: self.query.variables.len(),
        };
        plan_query(&planner, &self.query)
    }

    /// A snapshot with the graphs that this query asks.
    fn seen(&self, snapshot: &Snapshot, options: &QueryOptions) -> Result<Snapshot> {
        snapshot_for(snapshot, self.query.dataset.as_ref(), options)
    }

    /// How many of the patterns' rows are wanted at most.
    fn rows_wanted(&self) -> Option<u64> {
        match &self.query.form {
            Form::Ask => Some(1),
            _ => rows_wanted(&self.query.root, None),
        }
    }

    /// The plan that [`PreparedQuery::execute`] would run: a line a node, with estimates.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn explain(&self, snapshot: &Snapshot, options: &QueryOptions) -> Result<String> {
        Ok(self.explanation(snapshot, options)?.to_string())
    }

    /// The same as a tree.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn explanation(&self, snapshot: &Snapshot, options: &QueryOptions) -> Result<Explanation> {
        let terms = Arc::new(Terms::new(self.seen(snapshot, options)?));
        let root = self.divided_plan(&terms, options)?;
        Ok(explain(&self.query, &root, None))
    }

    /// Runs the query to its end, without its rows becoming terms, and gives its plan with what each node did. Measuring
    /// takes time, mostly where batches are small.
    ///
    /// # Errors
    /// Those of [`PreparedQuery::execute`], and of reading all rows.
    pub fn analyze(&self, snapshot: &Snapshot, options: &QueryOptions) -> Result<Explanation> {
        let profile = Arc::new(Profile::default());
        let execution = self.execution(snapshot, options, Some(Arc::clone(&profile)))?;
        let root = self.divided_plan(&execution.terms, options)?;
        let mut operator = root.operator(&execution)?;
        let mut batch = root.batch();
        let mut limit = RowLimit::new(options.rows);
        loop {
            let rows = operator.next(&mut batch)?;
            limit.count(rows)?;
            if rows == 0 || self.is_ask() {
                break;
            }
        }
        drop(operator);
        Ok(explain(&self.query, &root, Some(&profile)))
    }

    /// What a run of the query is made with.
    fn execution(
        &self,
        snapshot: &Snapshot,
        options: &QueryOptions,
        profile: Option<Arc<Profile>>,
    ) -> Result<Execution> {
        let batch_rows = self.rows_wanted().map_or(options.batch_rows, |rows| {
            let rows = usize::try_from(rows).unwrap_or(usize::MAX);
            options.batch_rows.min(rows.max(BATCH_ROWS_FEW))
        });
        let memory = Arc::new(Memory::new(options.memory));
        let directory = options.temporary_directory.clone();
        let scratch = Arc::new(Scratch::new(snapshot, directory, options.temporary_bytes));
        let control = Control::new(options.cancellation.clone(), options.timeout, batch_rows)
            .with_memory(&memory, &scratch)
            .with_threads(options.threads);
        control.check()?;
        Ok(Execution {
            terms: Arc::new(Terms::new(self.seen(snapshot, options)?).with_memory(&memory)),
            control: Arc::new(control),
            options: Arc::new(options.planner.clone()),
            variables: self.query.variables.len(),
            answers: Arc::new(Answers::new(options.services.clone())),
            feed: None,
            part: None,
            shared: None,
            shelf: None,
            profile,
        })
    }
}

/// How many rows are wanted at most, of a plan whose every row is one of the patterns' rows.
fn rows_wanted(group: &Group, most: Option<u64>) -> Option<u64> {
    match &group.logical {
        Logical::Slice {
            input,
            offset,
            limit: Some(limit),
        } => rows_wanted(input, Some(offset.saturating_add(*limit))),
        Logical::Project { input, .. } => rows_wanted(input, most),
        Logical::Conjunction(_) => most,
        _ => None,
    }
}

/// The rows of a SELECT, as an iterator of terms by variable, or batch by batch as ids ([`Solutions::next_batch`]). It
/// owns what it needs.
pub struct Solutions {
    variables: Arc<[Variable]>,
    operator: Box<dyn Operator>,
    execution: Execution,
    batch: Batch,
    /// The terms of the batch, row by row.
    terms: Vec<Option<Term>>,
    next_row: usize,
    failed: bool,
    limit: RowLimit,
}

/// Counts rows up to [`QueryOptions::rows`].
struct RowLimit {
    limit: Option<u64>,
    rows: u64,
}

impl RowLimit {
    fn new(limit: Option<u64>) -> Self {
        Self { limit, rows: 0 }
    }

    fn count(&mut self, rows: usize) -> Result<()> {
        self.rows += rows as u64;
        match self.limit {
            Some(limit) if self.rows > limit => Err(QueryError::Rows { limit }),
            _ => Ok(()),
        }
    }
}

/// What a query has taken so far.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Usage {
    /// The most that was reserved at once of the query's memory, in bytes.
    pub memory_peak_bytes: u64,
    /// What was written to temporary files, in bytes.
    pub spilled_bytes: u64,
}

impl Solutions {
    fn new(
        variables: Arc<[Variable]>,
        operator: Box<dyn Operator>,
        root: &Node,
        execution: Execution,
        limit: RowLimit,
    ) -> Self {
        debug_assert_eq!(variables.len(), root.variables.len().max(variables.len()));
        Self {
            batch: Batch::new(variables.len()),
            variables,
            operator,
            execution,
            terms: Vec::new(),
            next_row: 0,
            failed: false,
            limit,
        }
    }

    /// What the query has taken so far.
    pub fn usage(&self) -> Usage {
        let control = &self.execution.control;
        Usage {
            memory_peak_bytes: control.memory().peak_bytes(),
            spilled_bytes: control.scratch().all_written_bytes(),
        }
    }

    /// The variables, in the order in which the query selects them; a batch has its columns in this order.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The snapshot that the query reads.
    pub fn snapshot(&self) -> &Snapshot {
        self.execution.terms.snapshot()
    }

    /// The terms of batches' ids: those of the snapshot, and those that the query computed.
    pub fn terms(&self) -> &Terms {
        &self.execution.terms
    }

    /// Replaces the rows of a batch by the next ones, as ids ([`TermId::UNBOUND`] where a variable is not bound); says how
    /// many, 0 at the end. Not to be mixed with reading row by row.
    ///
    /// # Errors
    /// If the store cannot be read, or the query is stopped; then there are no further rows.
    pub fn next_batch(&mut self, batch: &mut Batch) -> Result<usize> {
        batch.reset(self.variables.len());
        if self.failed {
            return Ok(0);
        }
        let result = self.operator.next(batch).and_then(|rows| {
            self.limit.count(rows)?;
            Ok(rows)
        });
        self.failed = result.is_err();
        result
    }

    /// What is computed on several threads, if that is so and no row was read yet; then there are no further rows.
    pub(crate) fn take_pipeline(&mut self) -> Result<Option<Pipeline>> {
        if self.limit.limit.is_some() {
            // Rows are counted where they are read.
            return Ok(None);
        }
        self.operator.take_pipeline()
    }

    /// What numbers terms, for other threads.
    pub(crate) fn shared_terms(&self) -> Arc<Terms> {
        Arc::clone(&self.execution.terms)
    }

    /// Fetches the next batch with its terms; `false` at the end.
    fn fetch(&mut self) -> Result<bool> {
        let mut batch = std::mem::take(&mut self.batch);
        let result = self.next_batch(&mut batch);
        self.batch = batch;
        if result? == 0 {
            return Ok(false);
        }
        let (rows, width) = (self.batch.rows(), self.variables.len());
        let mut ids: Vec<TermId> = Vec::with_capacity(rows * width);
        for row in 0..rows {
            ids.extend((0..width).map(|column| self.batch.column(column)[row]));
        }
        self.terms.clear();
        self.terms.resize(ids.len(), None);
        let terms = &mut self.terms;
        self.execution
            .terms
            .terms(&ids, &mut |place, term| terms[place] = Some(term))?;
        self.next_row = 0;
        Ok(true)
    }
}

impl Solutions {
    /// The terms of the next row, which may be taken.
    pub(crate) fn next_row(&mut self) -> Option<Result<&mut [Option<Term>]>> {
        if self.next_row >= self.batch.rows() {
            match self.fetch() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.failed = true;
                    self.batch.clear();
                    return Some(Err(error));
                }
            }
        }
        let width = self.variables.len();
        let start = self.next_row * width;
        self.next_row += 1;
        Some(Ok(&mut self.terms[start..start + width]))
    }
}

impl Iterator for Solutions {
    type Item = Result<QuerySolution>;

    fn next(&mut self) -> Option<Self::Item> {
        let terms: Vec<Option<Term>> = match self.next_row()? {
            Ok(terms) => terms.iter_mut().map(Option::take).collect(),
            Err(error) => return Some(Err(error)),
        };
        Some(Ok((Arc::clone(&self.variables), terms).into()))
    }
}
