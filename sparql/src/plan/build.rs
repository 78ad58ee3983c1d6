//! Makes operators of the nodes of a plan.

use super::PlannerOptions;
use super::logical::{Mark, QuadPattern, VariableId};
use super::physical::{Compatibility, Node, Operation, ScanNode};
use super::seed::Seed;
use super::shared::SharedSides;
use crate::error::Result;
use crate::exec::batch::Batch;
use crate::exec::bind_join::{BindJoin, Factory, Feed};
use crate::exec::compatible_join::CompatibleJoin;
use crate::exec::construct::Construct;
use crate::exec::control::Control;
use crate::exec::cross_join::CrossJoin;
use crate::exec::describe::Describe;
use crate::exec::distinct::{Adjacent, Distinct};
use crate::exec::exists::{Marks, Probe};
use crate::exec::extend::{Computation, Extend};
use crate::exec::filter::{Conditions, Filter};
use crate::exec::gather::{Begun, Gather, Part, Pipeline};
use crate::exec::graphs::Graphs;
use crate::exec::group::GroupBy;
use crate::exec::group::divided::Grouping;
use crate::exec::hash_join::HashJoin;
use crate::exec::key_counts::KeyCounts;
use crate::exec::leapfrog_join::LeapfrogJoin;
use crate::exec::leapfrog_join::lists::{ListSource, Lists};
use crate::exec::leapfrog_join::shelf::Shelf;
use crate::exec::lookup_join::LookupJoin;
use crate::exec::merge_join::MergeJoin;
use crate::exec::operator::{Constant, Input, Operator};
use crate::exec::pairs::Source;
use crate::exec::path::PathJoin;
use crate::exec::profile::{Measured, Profile};
use crate::exec::project::Project;
use crate::exec::scan::ScanOperator;
use crate::exec::service::{Answers, ServiceScan};
use crate::exec::slice::Slice;
use crate::exec::sort::Sort;
use crate::exec::sorted_join::SortedJoin;
use crate::exec::terms::Terms;
use crate::exec::triple_terms::TripleTermJoin;
use crate::exec::union::{Attach, Rows, Union};
use quadrille_store::merge::Scan;
use std::sync::{Arc, Mutex, PoisonError};

/// What the operators of a running query are made with.
#[derive(Clone)]
pub struct Execution {
    /// What is read, and what is computed.
    pub terms: Arc<Terms>,
    /// What stops it.
    pub control: Arc<Control>,
    /// What the planner may use, for parts that are planned while the query runs.
    pub options: Arc<PlannerOptions>,
    /// How many variables the query has.
    pub variables: usize,
    /// What SERVICE may ask, and what came of it.
    pub answers: Arc<Answers>,
    /// The rows that the right side of a [`BindJoin`] begins with.
    pub feed: Option<Arc<Batch>>,
    /// The part that the divided scan below a [`Gather`] reads; taken by it.
    pub part: Option<Arc<Mutex<Option<Scan>>>>,
    /// The rows that joins below a [`Gather`] share.
    pub shared: Option<Arc<SharedSides>>,
    /// The lists of leapfrog joins, where operators are made again and again.
    pub shelf: Option<Arc<Shelf>>,
    /// What measures the nodes, if that was asked for.
    pub profile: Option<Arc<Profile>>,
}

impl Execution {
    /// The same for what is planned while the query runs: it counts for the node that runs it.
    #[must_use]
    pub fn unprofiled(&self) -> Self {
        Self {
            profile: None,
            ..self.clone()
        }
    }
}

impl std::fmt::Debug for Execution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Execution").finish_non_exhaustive()
    }
}

impl Node {
    /// Makes one operator of an assignment and those right below it.
    fn extend(&self, execution: &Execution) -> Result<Box<dyn Operator>> {
        let mut computations = Vec::new();
        let mut node = self;
        while let Operation::Extend { input, expression } = &node.operation {
            computations.push(Computation::new(
                expression,
                &input.variables,
                &execution.terms,
                &execution.control,
            )?);
            node = input;
        }
        computations.reverse();
        Ok(Box::new(Extend::new(
            node.operator(execution)?,
            node.variables.len(),
            computations,
            Arc::clone(&execution.control),
        )))
    }

    /// Makes the operator of a leapfrog join.
    fn leapfrog_join(
        &self,
        outer: Input,
        lists: &[(ListSource, Arc<QuadPattern>)],
        outputs: Vec<Source>,
        execution: &Execution,
    ) -> LeapfrogJoin {
        let (snapshot, control) = (execution.terms.snapshot(), &execution.control);
        let node = self.address();
        let left = execution.shelf.as_ref().and_then(|shelf| shelf.take(node));
        let lists = left.unwrap_or_else(|| {
            let sources = lists.iter().map(|(source, _)| source.clone());
            sources
                .map(|source| Lists::new(source, snapshot, control))
                .collect()
        });
        let join = LeapfrogJoin::new(outer, lists, outputs, Arc::clone(control));
        match &execution.shelf {
            Some(shelf) => join.leaving_lists(shelf, node),
            None => join,
        }
    }

    /// Makes the operator of this node, with those below it.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn operator(&self, execution: &Execution) -> Result<Box<dyn Operator>> {
        let Some(profile) = &execution.profile else {
            return self.plain_operator(execution);
        };
        let entry = profile.entry(self, &execution.control);
        let execution = Execution {
            control: Arc::clone(&entry.control),
            ..execution.clone()
        };
        let operator = self.plain_operator(&execution)?;
        Ok(Box::new(Measured::new(operator, entry)))
    }

    fn plain_operator(&self, execution: &Execution) -> Result<Box<dyn Operator>> {
        let control = || Arc::clone(&execution.control);
        match &self.operation {
            Operation::Empty { .. } => boxed(|| Ok(Constant::empty())),
            Operation::Unit => boxed(|| Ok(Constant::unit())),
            Operation::Feed => match &execution.feed {
                Some(batch) => boxed(|| Ok(Feed::new(batch.as_ref().clone()))),
                None => boxed(|| Ok(Constant::empty())),
            },
            Operation::Rows { columns, rows } => {
                boxed(|| Ok(Rows::new(Arc::clone(columns), *rows, control())))
            }
            Operation::Attach { input, ids } => boxed(|| {
                Ok(Attach::new(
                    input.operator(execution)?,
                    input.variables.len(),
                    ids.clone(),
                ))
            }),
            Operation::Union { inputs } => boxed(|| {
                Ok(Union::new(
                    inputs
                        .iter()
                        .map(|input| input.operator(execution))
                        .collect::<Result<Vec<_>>>()?,
                ))
            }),
            Operation::Path { input, path } => boxed(|| {
                Ok(PathJoin::new(
                    input.input(execution)?,
                    execution.terms.snapshot(),
                    &execution.control,
                    path.graph,
                    path.machines.clone(),
                    path.start,
                    path.end,
                    path.outputs.clone(),
                ))
            }),
            Operation::TripleTerms {
                input,
                parts,
                outputs,
                ..
            } => boxed(|| {
                Ok(TripleTermJoin::new(
                    input.input(execution)?,
                    &execution.terms,
                    &execution.control,
                    *parts,
                    outputs.clone(),
                ))
            }),
            Operation::BindJoin {
                left,
                right,
                fed,
                kind,
                outputs,
            } => boxed(|| {
                Ok(BindJoin::new(
                    left.input(execution)?,
                    fed_by_batches(right, execution),
                    fed.clone(),
                    right.variables.len().saturating_sub(1),
                    *kind,
                    outputs.clone(),
                    control(),
                ))
            }),
            Operation::SortedJoin {
                left,
                right,
                keys,
                kind,
                outputs,
            } => boxed(|| {
                Ok(SortedJoin::new(
                    left.input(execution)?,
                    right.input(execution)?,
                    *keys,
                    *kind,
                    outputs.clone(),
                    control(),
                ))
            }),
            Operation::CompatibleJoin { left, right, join } => {
                boxed(|| self.compatible_join(left, right, join, execution))
            }
            Operation::Extend { .. } => self.extend(execution),
            Operation::Marks { input, marks, seed } => boxed(|| {
                Ok(Marks::new(
                    input.operator(execution)?,
                    input.variables.len(),
                    probes(execution, marks, seed, &input.variables),
                ))
            }),
            Operation::Service { input, call, seed } => boxed(|| {
                let input = match input {
                    Some(input) => Some((input.input(execution)?, input.variables.clone())),
                    None => None,
                };
                let variables = &self.variables;
                Ok(ServiceScan::new(execution, call, seed, variables, input))
            }),
            Operation::Graphs {
                name,
                inner,
                active,
                variable,
                seed,
            } => boxed(|| {
                Ok(Graphs::new(
                    execution,
                    name.as_ref(),
                    inner,
                    *active,
                    *variable,
                    seed,
                    &self.variables,
                ))
            }),
            Operation::GroupBy {
                input,
                keys,
                aggregates,
                is_divided,
            } => boxed(|| {
                let group_by = GroupBy::new(
                    input.input(execution)?,
                    Grouping {
                        keys: keys.clone(),
                        aggregates: aggregates.as_slice().into(),
                        variables: input.variables.as_slice().into(),
                        terms: Arc::clone(&execution.terms),
                        control: control(),
                    },
                )?;
                Ok(group_by.expecting_many(*is_divided))
            }),
            Operation::PatternCount { ids, .. } => boxed(|| {
                let columns = ids.iter().map(|id| vec![*id]).collect();
                Ok(Rows::new(Arc::new(columns), 1, control()))
            }),
            Operation::KeyCounts {
                patterns,
                counted,
                is_by_key,
                threads,
                ..
            } => boxed(|| {
                KeyCounts::new(
                    patterns,
                    counted.clone(),
                    *is_by_key,
                    &execution.terms,
                    control(),
                )?
                .by_threads(patterns, *threads)
            }),
            Operation::Sort { input, keys, limit } => boxed(|| {
                Sort::new(
                    input.input(execution)?,
                    keys,
                    *limit,
                    &input.variables,
                    &execution.terms,
                    control(),
                )
            }),
            Operation::Gather {
                input,
                scan,
                threads,
                parts,
            } => {
                let (input, scan) = (Arc::clone(input), Arc::clone(scan));
                let (threads, parts, execution) = (*threads, *parts, execution.clone());
                boxed(|| {
                    Ok(Gather::beginning(Box::new(move || {
                        gathered(&input, &scan, parts, threads, &execution)
                    })))
                })
            }
            Operation::Scan(scan) => boxed(|| {
                Ok(ScanOperator::new(
                    rows_of(scan, execution)?,
                    scan.width,
                    scan.outputs.clone(),
                    scan.equal.clone(),
                    control(),
                ))
            }),
            Operation::MergeJoin {
                left,
                right,
                columns,
                outputs,
            } => boxed(|| {
                Ok(MergeJoin::new(
                    left.input(execution)?,
                    right.input(execution)?,
                    columns.clone(),
                    outputs.clone(),
                    control(),
                ))
            }),
            Operation::LookupJoin {
                outer,
                lookup,
                outputs,
                ..
            } => boxed(|| {
                Ok(LookupJoin::new(
                    outer.input(execution)?,
                    execution.terms.snapshot().clone(),
                    lookup.clone(),
                    outputs.clone(),
                    control(),
                ))
            }),
            Operation::LeapfrogJoin {
                outer,
                lists,
                outputs,
                ..
            } => boxed(|| {
                let outer = outer.input(execution)?;
                Ok(self.leapfrog_join(outer, lists, outputs.clone(), execution))
            }),
            Operation::HashJoin {
                left,
                right,
                keys,
                outputs,
            } => boxed(|| {
                let left_input = left.input(execution)?;
                let shared = execution.shared.as_ref();
                let join = match shared.and_then(|sides| sides.hashed(self)) {
                    Some(kept) => HashJoin::sharing(
                        left_input,
                        kept,
                        keys.0.clone(),
                        outputs.clone(),
                        control(),
                    ),
                    None => HashJoin::new(
                        left_input,
                        right.operator(execution)?,
                        right.variables.len(),
                        keys.0.clone(),
                        keys.1.clone(),
                        outputs.clone(),
                        control(),
                    ),
                };
                Ok(if self.sorted_by.is_empty() {
                    join
                } else {
                    join.keeping_sequence()
                })
            }),
            Operation::CrossJoin {
                left,
                right,
                outputs,
            } => {
                let (right, execution_again) = (Arc::clone(right), execution.clone());
                boxed(|| {
                    Ok(CrossJoin::new(
                        left.input(execution)?,
                        Box::new(move || right.input(&execution_again)),
                        outputs.clone(),
                        control(),
                    ))
                })
            }
            Operation::Filter { input, conditions } => boxed(|| {
                Filter::new(
                    input.operator(execution)?,
                    &input.variables,
                    conditions,
                    &execution.terms,
                    control(),
                )
            }),
            Operation::Project { input, sources } => boxed(|| {
                Ok(Project::new(
                    input.operator(execution)?,
                    input.variables.len(),
                    sources.clone(),
                ))
            }),
            Operation::Distinct { input } => boxed(|| {
                let distinct = Distinct::new(
                    input.operator(execution)?,
                    self.variables.len(),
                    input.has_sequence(),
                    control(),
                );
                Ok(distinct.dividing(Grouping {
                    keys: (0..self.variables.len()).map(Some).collect(),
                    aggregates: Arc::default(),
                    variables: self.variables.as_slice().into(),
                    terms: Arc::clone(&execution.terms),
                    control: control(),
                }))
            }),
            Operation::Adjacent { input } => boxed(|| {
                Ok(Adjacent::new(
                    input.operator(execution)?,
                    self.variables.len(),
                ))
            }),
            Operation::Construct { input, template } => boxed(|| {
                Ok(Construct::new(
                    input.input(execution)?,
                    template.clone(),
                    &execution.terms,
                    control(),
                ))
            }),
            Operation::Describe { input, named } => boxed(|| {
                Ok(Describe::new(
                    input.input(execution)?,
                    named,
                    execution.terms.snapshot().clone(),
                    control(),
                ))
            }),
            Operation::Slice {
                input,
                offset,
                limit,
            } => boxed(|| Ok(Slice::new(input.operator(execution)?, *offset, *limit))),
        }
    }

    fn compatible_join(
        &self,
        left: &Self,
        right: &Self,
        join: &Compatibility,
        execution: &Execution,
    ) -> Result<CompatibleJoin> {
        let mut variables: Vec<VariableId> =
            join.merged.iter().map(|(variable, _)| *variable).collect();
        let probes = probes(execution, &join.marks, &join.seed, &variables);
        variables.extend(join.marks.iter().map(|mark| mark.variable));
        let (terms, control) = (&execution.terms, &execution.control);
        let conditions = Conditions::new(&variables, &join.conditions, terms, control)?;
        let left = left.input(execution)?;
        let control = Arc::clone(control);
        let shared = execution.shared.as_ref();
        if let Some(kept) = shared.and_then(|sides| sides.compatible(self)) {
            return Ok(CompatibleJoin::sharing(
                left, kept, join, conditions, probes, control,
            ));
        }
        let (width, right) = (right.variables.len(), right.operator(execution)?);
        Ok(CompatibleJoin::new(
            left, right, width, join, conditions, probes, control,
        ))
    }

    /// Whether the sequence of its rows matters to who asked for them: they are sorted, by ids or by values.
    fn has_sequence(&self) -> bool {
        match &self.operation {
            Operation::Sort { .. } => true,
            Operation::Project { input, .. }
            | Operation::Slice { input, .. }
            | Operation::Distinct { input }
            | Operation::Adjacent { input }
            | Operation::Attach { input, .. } => input.has_sequence(),
            _ => !self.sorted_by.is_empty(),
        }
    }

    fn input(&self, execution: &Execution) -> Result<Input> {
        Ok(Input::new(self.operator(execution)?, self.variables.len()))
    }

    /// Where it lies: a number that no other node of the plan has while the query runs.
    pub fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// A batch for the rows of this node.
    pub fn batch(&self) -> Batch {
        Batch::new(self.variables.len())
    }
}

/// Puts an operator on the heap. A plan may be a hundred nodes deep, and without optimisation what an operator is made of
/// lies on the stack until it is made: in this function's frame, which is gone then, and not in that of the recursion.
fn boxed<O: Operator + 'static>(make: impl FnOnce() -> Result<O>) -> Result<Box<dyn Operator>> {
    Ok(Box::new(make()?))
}

/// Makes the right input of a [`BindJoin`] for each batch of the left one.
fn fed_by_batches(right: &Arc<Node>, execution: &Execution) -> Factory {
    let right = Arc::clone(right);
    let above = Execution {
        shelf: Some(Arc::default()),
        ..execution.clone()
    };
    Box::new(move |batch| {
        right.input(&Execution {
            feed: Some(Arc::new(batch)),
            ..above.clone()
        })
    })
}

/// What a scan reads: the part that it is given, or everything.
fn rows_of(scan: &ScanNode, execution: &Execution) -> Result<Scan> {
    let given = execution.part.as_ref().filter(|_| scan.is_divided);
    let part = given.and_then(|part| part.lock().unwrap_or_else(PoisonError::into_inner).take());
    let snapshot = execution.terms.snapshot();
    match (part, &scan.located) {
        (Some(part), _) => Ok(part),
        (None, Some(located)) => Ok(snapshot.scan_located(located, scan.wanted)),
        (None, None) => Ok(snapshot.scan(&scan.pattern, scan.order, scan.wanted)?),
    }
}

/// How the rows of a [`Gather`] are computed: by threads, part by part, unless what joins share does not fit in memory.
fn gathered(
    input: &Arc<Node>,
    scan: &ScanNode,
    parts: usize,
    threads: usize,
    execution: &Execution,
) -> Result<Begun> {
    let Some(shared) = SharedSides::keep(input, execution)? else {
        return Ok(Begun::Serial(input.operator(execution)?));
    };
    let execution = Execution {
        shared: Some(Arc::new(shared)),
        shelf: Some(Arc::default()),
        ..execution.clone()
    };
    let snapshot = execution.terms.snapshot();
    let parts = match &scan.located {
        Some(located) => snapshot.scan_parts_located(located, scan.wanted, parts)?,
        None => snapshot.scan_parts(&scan.pattern, scan.order, scan.wanted, parts)?,
    };
    let part = |scan| {
        let (input, above) = (Arc::clone(input), execution.clone());
        Box::new(move || {
            input.operator(&Execution {
                part: Some(Arc::new(Mutex::new(Some(scan)))),
                ..above
            })
        }) as Part
    };
    Ok(Begun::Divided(Pipeline {
        parts: parts.into_iter().map(part).collect(),
        width: input.variables.len(),
        threads,
        control: Arc::clone(&execution.control),
    }))
}

fn probes(
    execution: &Execution,
    marks: &[Arc<Mark>],
    seed: &Seed,
    variables: &[VariableId],
) -> Vec<Probe> {
    marks
        .iter()
        .map(|mark| Probe::new(execution, mark, seed, variables))
        .collect()
}
