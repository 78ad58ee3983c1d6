//! Plans EXISTS set at a time: as a join that gives nothing of the pattern and says which rows found a solution.
//!
//! The specification puts a row's terms in the place of variables everywhere in the pattern, and then evaluates it (SPARQL 1.1,
//! section 18.6). For these patterns a join with the pattern's solutions says the same:
//! * conjunctions, triple terms and paths, and joins of them, with conditions above them. A path that may have no step connects
//!   a constant with itself even if it is no node of the graph, so the row's terms must be nodes: then a pattern of the row
//!   with the same graph binds them.
//! * a UNION of such: each branch is looked up for the row's terms.
//! * a subquery whose solutions are such: what it does not select are variables of its own; DISTINCT and ORDER BY change nothing.
//! * a subquery that groups by all that the row brings along: the row's terms leave the groups that they name whole.
//!
//! Everything else is planned again for each row with other terms ([`crate::exec::exists`]): OPTIONAL, MINUS, BIND, VALUES, LIMIT, GRAPH
//! with a variable, SERVICE and EXISTS in the pattern; patterns that share nothing with the row, or what the row
//! may leave unbound; and where a condition is more than the EXISTS or its negation.

use super::cardinality::{Counted, count_patterns};
use super::group_join::{Bound, Input, Joined};
use super::layout::{add_all, add_variables_of};
use super::logical::{Group, Logical, Mark, PatternGraph, PatternTerm, VariableId};
use super::physical::{Node, Operation, Planner};
use crate::error::Result;
use crate::exec::compatible_join::JoinKind;
use crate::expr::Expr;
use std::sync::Arc;

/// Rows of groups that are made in the time that it takes to plan a pattern again for a row.
const ROWS_A_PLAN: f64 = 300.0;

/// What a mark stands for, as a join that gives nothing.
pub(super) struct Test<'a> {
    pub(super) mark: &'a Arc<Mark>,
    kind: JoinKind,
    /// One of them must have a solution.
    alternatives: Vec<Alternative<'a>>,
    /// Whether the alternative is a subquery that groups.
    is_grouped: bool,
}

/// What must have a solution, together with a row, that meets conditions.
struct Alternative<'a> {
    group: &'a Group,
    conditions: Vec<Arc<Expr>>,
}

impl Alternative<'_> {
    fn joined(&self, kind: JoinKind) -> Joined<'_> {
        Joined {
            group: self.group,
            kind,
            conditions: &self.conditions,
            marks: &[],
            needs_common: false,
        }
    }
}

impl<'a> Test<'a> {
    /// The join that tests what a mark stands for, and the condition that it is: if one condition is the mark or its
    /// negation and no other reads it, and the pattern is one of those above.
    pub(super) fn of(
        mark: &'a Arc<Mark>,
        conditions: &[Arc<Expr>],
        input: &Group,
    ) -> Option<(usize, Self)> {
        let (index, kind) = only_condition(mark, conditions)?;
        let mut alternatives = Vec::new();
        let is_grouped = groups_by(&mark.pattern, &mark.correlated);
        if is_grouped {
            alternatives.push(Alternative {
                group: &mark.pattern,
                conditions: Vec::new(),
            });
        } else {
            add_alternatives(&mark.pattern, &[], input, &mut alternatives)?;
        }
        let is_sound = |alternative: &Alternative<'_>| {
            let shared = input.shared(alternative.group);
            // What is not searched from rows is searched from everywhere, and branches are looked up.
            let must_be_bound =
                is_grouped || mark_is_union(&alternatives) || has_path(alternative.group);
            let is_certain = |variable: &VariableId| input.certain.contains(variable);
            !shared.is_empty() && (!must_be_bound || shared.iter().all(is_certain))
        };
        if !alternatives.iter().all(is_sound) {
            return None;
        }
        let test = Self {
            mark,
            kind,
            alternatives,
            is_grouped,
        };
        Some((index, test))
    }

    /// The variables of its conditions.
    pub(super) fn variables(&self) -> Vec<VariableId> {
        let mut variables = Vec::new();
        for alternative in &self.alternatives {
            add_variables_of(&mut variables, &alternative.conditions);
        }
        variables
    }
}

fn mark_is_union(alternatives: &[Alternative<'_>]) -> bool {
    alternatives.len() > 1
}

impl Planner<'_> {
    /// Keeps the rows of an input that pass a test. Where the test is better made row by row the input comes back as an error.
    pub(super) fn tested(
        &self,
        input: Input,
        test: &Test<'_>,
        needed: &[VariableId],
    ) -> Result<std::result::Result<Input, Input>> {
        match &*test.alternatives {
            [group] if test.is_grouped => {
                let groups = self.input(group.group, &[])?;
                if input.node.rows * ROWS_A_PLAN < grouped_rows(&groups.node) {
                    return Ok(Err(input));
                }
                Ok(Ok(self.joined(input, &group.joined(test.kind), needed)?))
            }
            alternatives if alternatives.len() == 1 || test.kind == JoinKind::Unmatched => {
                let mut tested = input;
                for alternative in alternatives {
                    tested = self.joined(tested, &alternative.joined(test.kind), needed)?;
                }
                Ok(Ok(tested))
            }
            alternatives => {
                let bound = if self.options.lookup_joins {
                    self.bind_alternatives(&input.node, alternatives, test.kind, needed)?
                } else {
                    None
                };
                Ok(match bound {
                    Some(bound) => Ok(Input {
                        node: bound.over(input.node),
                        ..input
                    }),
                    None => Err(input),
                })
            }
        }
    }

    /// All alternatives as they are looked up for the batches of an input, if they can be.
    fn bind_alternatives(
        &self,
        left: &Node,
        alternatives: &[Alternative<'_>],
        kind: JoinKind,
        needed: &[VariableId],
    ) -> Result<Option<Bound>> {
        let mut fed = Vec::new();
        for alternative in alternatives {
            add_all(&mut fed, alternative.group.scope.iter().copied());
            add_variables_of(&mut fed, &alternative.conditions);
        }
        let (mut bound, mut inputs) = (None, Vec::new());
        for alternative in alternatives {
            let right = alternative.joined(kind);
            let branch = if let Logical::Conjunction(conjunction) = &alternative.group.logical {
                let snapshot = self.terms.snapshot();
                let counted = count_patterns(snapshot, &conjunction.patterns, self.seed)?;
                if matches!(counted, Counted::Empty(_)) {
                    continue;
                }
                self.bind_join(left, conjunction, &right, needed, &fed)?
            } else {
                self.bind_members(left, &right, f64::INFINITY, needed, &fed)?
            };
            let Some(mut branch) = branch else {
                return Ok(None);
            };
            inputs.push(branch.take_node());
            bound = Some(branch);
        }
        let Some(mut bound) = bound else {
            return Ok(None);
        };
        bound.node = Node {
            variables: inputs[0].variables.clone(),
            sorted_by: Vec::new(),
            rows: inputs.iter().map(|input| input.rows).sum(),
            operation: Operation::Union { inputs },
        };
        Ok(Some(bound))
    }
}

/// The condition that is the mark or its negation, if no other reads it, and which rows it keeps.
fn only_condition(mark: &Mark, conditions: &[Arc<Expr>]) -> Option<(usize, JoinKind)> {
    let mut found = None;
    for (index, condition) in conditions.iter().enumerate() {
        let mut reads = false;
        condition.variables(&mut |variable| reads |= variable == mark.variable);
        if !reads {
            continue;
        }
        let kind = match &**condition {
            Expr::Variable(_) => JoinKind::Matched,
            Expr::Not(operand) if matches!(**operand, Expr::Variable(_)) => JoinKind::Unmatched,
            _ => return None,
        };
        if found.replace((index, kind)).is_some() {
            return None;
        }
    }
    found
}

/// Adds the groups of which one must have a solution, with conditions that are known from above; `None` if there is something
/// that is no join.
fn add_alternatives<'a>(
    group: &'a Group,
    above: &[Arc<Expr>],
    input: &Group,
    found: &mut Vec<Alternative<'a>>,
) -> Option<()> {
    match &group.logical {
        Logical::Union { inputs } => inputs
            .iter()
            .try_for_each(|branch| add_alternatives(branch, above, input, found)),
        Logical::Filter {
            input: inner,
            conditions,
        } => {
            let mut all = above.to_vec();
            all.extend(conditions.iter().cloned());
            add_alternatives(inner, &all, input, found)
        }
        Logical::Project { input: inner, .. }
        | Logical::Distinct { input: inner }
        | Logical::Reduced { input: inner }
        | Logical::OrderBy { input: inner, .. } => add_alternatives(inner, above, input, found),
        _ if joins_alike(group, input) => {
            found.push(Alternative {
                group,
                conditions: above.to_vec(),
            });
            Some(())
        }
        _ => None,
    }
}

/// Whether a group has the same solutions joined with a row of the input as with the row's terms in it.
fn joins_alike(group: &Group, input: &Group) -> bool {
    match &group.logical {
        Logical::Conjunction(_) | Logical::TripleTerm(_) => true,
        Logical::Path(path) => {
            let mut brought = path
                .variables()
                .filter(|variable| input.scope.contains(variable));
            !path.forward.is_nullable()
                || brought.all(|variable| binds_node(input, variable, &path.graph))
        }
        Logical::Join { inputs } => inputs.iter().all(|part| joins_alike(part, input)),
        _ => false,
    }
}

/// Whether all that a group binds a variable to are nodes of a graph.
fn binds_node(group: &Group, variable: VariableId, graph: &PatternGraph) -> bool {
    match &group.logical {
        Logical::Conjunction(conjunction) => conjunction.patterns.iter().any(|pattern| {
            let is_it = |term: &PatternTerm| term.variable() == Some(variable);
            let is_one = !matches!(graph, PatternGraph::Variable(_));
            is_one && pattern.graph == *graph && (is_it(&pattern.subject) || is_it(&pattern.object))
        }),
        Logical::Join { inputs } => inputs
            .iter()
            .any(|input| binds_node(input, variable, graph)),
        Logical::LeftJoin { left: input, .. }
        | Logical::Minus { left: input, .. }
        | Logical::Filter { input, .. }
        | Logical::Marks { input, .. }
        | Logical::Distinct { input }
        | Logical::Reduced { input }
        | Logical::OrderBy { input, .. }
        | Logical::Slice { input, .. } => binds_node(input, variable, graph),
        Logical::Extend {
            input,
            variable: assigned,
            ..
        } => variable != *assigned && binds_node(input, variable, graph),
        _ => false,
    }
}

fn has_path(group: &Group) -> bool {
    match &group.logical {
        Logical::Path(_) => true,
        Logical::Join { inputs } => inputs.iter().any(has_path),
        _ => false,
    }
}

/// Whether a pattern is a subquery whose groups have each one term of all the variables that a row brings along, and are the same
/// whatever the row is.
fn groups_by(pattern: &Group, correlated: &[VariableId]) -> bool {
    match &pattern.logical {
        Logical::Project { input, .. }
        | Logical::Distinct { input }
        | Logical::Reduced { input }
        | Logical::OrderBy { input, .. }
        | Logical::Filter { input, .. } => groups_by(input, correlated),
        Logical::Extend {
            input, variable, ..
        } => !correlated.contains(variable) && groups_by(input, correlated),
        Logical::GroupBy { input, keys, .. } => {
            let is_key =
                |variable: &VariableId| keys.contains(variable) && input.certain.contains(variable);
            !pattern.is_volatile() && correlated.iter().all(is_key) && is_plain(input)
        }
        _ => false,
    }
}

/// Whether terms in the place of variables leave of a group's solutions just those that have the terms.
fn is_plain(group: &Group) -> bool {
    match &group.logical {
        Logical::Conjunction(_) | Logical::TripleTerm(_) => true,
        Logical::Path(path) => !path.forward.is_nullable(),
        Logical::Join { inputs } => inputs.iter().all(is_plain),
        Logical::Filter { input, .. } => is_plain(input),
        _ => false,
    }
}

/// How many rows are grouped.
fn grouped_rows(node: &Node) -> f64 {
    match &node.operation {
        Operation::GroupBy { input, .. } => input.rows,
        Operation::Project { input, .. }
        | Operation::Filter { input, .. }
        | Operation::Extend { input, .. }
        | Operation::Distinct { input }
        | Operation::Adjacent { input }
        | Operation::Sort { input, .. } => grouped_rows(input),
        _ => node.rows,
    }
}
