//! Plans what joins whole groups: joins, OPTIONAL, MINUS, and filters that test plain patterns.
//!
//! A group is planned by itself, from the bottom up. The one exception is a plain conjunction that is joined with rows
//! which certainly bind all variables that the two share: then every solution of the join has the row's terms
//! for these variables whichever way it is made, so the patterns may be looked up for each batch of rows
//! ([`Operation::BindJoin`]) instead of being read whole. Which of the two is cheaper decides.

use super::cardinality::{Counted, count_patterns};
use super::cost;
use super::join_order::{are_connected, choose_from};
use super::layout::{Layout, add_all, add_variables_of};
use super::logical::{Conjunction, Group, Logical, Mark, VariableId, VariableSet};
use super::operators::{add_marked, all_rows};
use super::physical::{Compatibility, Node, Operation, Planner, Wanted, filtered, leaf, project};
use crate::error::Result;
use crate::exec::compatible_join::{JoinKind, MergedSource};
use crate::exec::pairs::{Side, Source};
use crate::expr::Expr;
use std::sync::Arc;

/// A planned input of a join.
struct Input {
    node: Node,
    scope: VariableSet,
    certain: VariableSet,
}

/// What is joined to an input.
struct Joined<'a> {
    group: &'a Group,
    kind: JoinKind,
    conditions: &'a [Arc<Expr>],
    marks: &'a [Arc<Mark>],
    /// Whether rows that have no bound variable in common are left alone.
    needs_common: bool,
}

impl Planner<'_> {
    pub(super) fn join(&self, inputs: &[Group], wanted: Wanted<'_>) -> Result<Node> {
        if let Some(node) = self.distributed(inputs, wanted)? {
            return Ok(node);
        }
        let mut needed = wanted.variables.to_vec();
        for (index, input) in inputs.iter().enumerate() {
            for other in &inputs[..index] {
                add_all(&mut needed, input.shared(other));
            }
        }
        let mut rest: Vec<Input> = Vec::new();
        let mut conjunction = None;
        for input in inputs {
            if let Logical::Conjunction(_) = input.logical {
                conjunction = Some(input);
            } else {
                rest.push(self.input(input, &needed)?);
            }
        }
        // Few rows first; what shares no variable with the rows so far comes last.
        rest.sort_by(|a, b| b.node.rows.total_cmp(&a.node.rows));
        let mut joined = match rest.pop() {
            Some(first) => first,
            None => match conjunction.take() {
                Some(only) => self.input(only, &needed)?,
                None => return Ok(leaf(Operation::Unit, 1.0)),
            },
        };
        loop {
            let is_connected =
                |scope: &VariableSet| scope.iter().any(|variable| joined.scope.contains(variable));
            let next = rest.iter().rposition(|input| is_connected(&input.scope));
            let conjunction_is_next =
                conjunction.is_some_and(|group| is_connected(&group.scope) || rest.is_empty());
            joined = match (next, conjunction) {
                (Some(index), _) => self.inner_join(joined, rest.remove(index), &needed),
                (None, Some(group)) if conjunction_is_next => {
                    conjunction = None;
                    self.joined(
                        joined,
                        &Joined {
                            group,
                            kind: JoinKind::Inner,
                            conditions: &[],
                            marks: &[],
                            needs_common: false,
                        },
                        &needed,
                    )?
                }
                (None, _) => match rest.pop() {
                    Some(input) => self.inner_join(joined, input, &needed),
                    None => return Ok(joined.node),
                },
            };
        }
    }

    fn input(&self, group: &Group, needed: &[VariableId]) -> Result<Input> {
        Ok(Input {
            node: self.node(group, all_rows(needed))?,
            scope: group.scope.clone(),
            certain: group.certain.clone(),
        })
    }

    /// Joins two planned inputs; the one with fewer rows is kept.
    fn inner_join(&self, left: Input, right: Input, needed: &[VariableId]) -> Input {
        let (left, right) = if left.node.rows < right.node.rows {
            (right, left)
        } else {
            (left, right)
        };
        let scope = left.scope.union(&right.scope).copied().collect();
        let certain = left.certain.union(&right.certain).copied().collect();
        Input {
            node: self.compatible_join(left, right, JoinKind::Inner, needed, &[], &[], false),
            scope,
            certain,
        }
    }

    /// Joins a planned input with a group, in the cheaper way.
    fn joined(&self, left: Input, right: &Joined<'_>, needed: &[VariableId]) -> Result<Input> {
        let (mut scope, mut certain) = (left.scope.clone(), left.certain.clone());
        if matches!(right.kind, JoinKind::Inner | JoinKind::Left) {
            scope.extend(&right.group.scope);
        }
        if right.kind == JoinKind::Inner {
            certain.extend(&right.group.certain);
        }
        let shared: Vec<VariableId> = left
            .scope
            .intersection(&right.group.scope)
            .copied()
            .collect();
        // Of what only says whether a row is kept, the shared variables and those of conditions are enough.
        let mut below = match right.kind {
            JoinKind::Inner | JoinKind::Left => needed.to_vec(),
            JoinKind::Matched | JoinKind::Unmatched => Vec::new(),
        };
        add_all(&mut below, shared.iter().copied());
        add_variables_of(&mut below, right.conditions);
        add_marked(&mut below, right.marks);
        let mut kept_cost = f64::INFINITY;
        let mut kept = None;
        if let Logical::Conjunction(conjunction) = &right.group.logical {
            let (node, cost) = self.costed_conjunction(conjunction, all_rows(&below))?;
            kept_cost = cost + node.rows * cost::FILE + left.node.rows * cost::PROBE;
            kept = Some(node);
            let is_sound = shared
                .iter()
                .all(|variable| left.certain.contains(variable));
            if is_sound
                && right.marks.is_empty()
                && self.options.lookup_joins
                && let Some(bound) = self.bind_join(&left.node, conjunction, right, needed)?
                && bound.cost < kept_cost
            {
                return Ok(Input {
                    node: bound.over(left.node),
                    scope,
                    certain,
                });
            }
        }
        debug_assert!(kept.is_none() || kept_cost.is_finite());
        let node = match kept {
            Some(node) => node,
            None => self.node(right.group, all_rows(&below))?,
        };
        let right_input = Input {
            node,
            scope: right.group.scope.clone(),
            certain: right.group.certain.clone(),
        };
        let node = self.compatible_join(
            left,
            right_input,
            right.kind,
            needed,
            right.conditions,
            right.marks,
            right.needs_common,
        );
        Ok(Input {
            node,
            scope,
            certain,
        })
    }

    /// Index lookups for the batches of an input, if the patterns are connected with it.
    fn bind_join(
        &self,
        left: &Node,
        conjunction: &Conjunction,
        right: &Joined<'_>,
        needed: &[VariableId],
    ) -> Result<Option<Bound>> {
        let counted = count_patterns(self.terms.snapshot(), &conjunction.patterns, self.seed)?;
        let Counted::Patterns(patterns) = counted else {
            return Ok(None);
        };
        let mut conditions = conjunction.filters.clone();
        conditions.extend(right.conditions.iter().cloned());
        let mut used = Vec::new();
        add_variables_of(&mut used, &conditions);
        let is_seeded = used.iter().any(|variable| {
            self.seed.get(*variable).is_some() && !left.variables.contains(variable)
        });
        let in_patterns = |variable: &VariableId| {
            patterns
                .iter()
                .any(|pattern| pattern.slots.contains(&Some(*variable)))
        };
        let fed: Vec<usize> = (0..left.variables.len())
            .filter(|column| {
                let variable = &left.variables[*column];
                left.variables[..*column]
                    .iter()
                    .all(|known| known != variable)
                    && (in_patterns(variable) || used.contains(variable))
            })
            .collect();
        let mut feed: Vec<VariableId> = fed.iter().map(|column| left.variables[*column]).collect();
        if patterns.is_empty() || is_seeded || !are_connected(&patterns, &feed) {
            return Ok(None);
        }
        let number = VariableId(self.variables as u32);
        feed.push(number);
        let batches = (left.rows / cost::BATCH).ceil().max(1.0);
        let joins = choose_from(&patterns, &feed, left.rows / batches, self.options);
        let layout = Layout {
            patterns: &patterns,
            joins: &joins,
            feed: &feed,
        };
        let mut given: Vec<VariableId> = match right.kind {
            JoinKind::Inner | JoinKind::Left => needed
                .iter()
                .copied()
                .filter(|variable| in_patterns(variable) && !left.variables.contains(variable))
                .collect(),
            JoinKind::Matched | JoinKind::Unmatched => Vec::new(),
        };
        let mut variables = left.variables.clone();
        variables.extend(&given);
        let mut outputs: Vec<Source> = (0..left.variables.len())
            .map(|column| (Side::Left, column))
            .collect();
        outputs.extend((0..given.len()).map(|column| (Side::Right, column)));
        given.push(number);
        // A condition may name a variable that nothing binds.
        let (inside, after): (Vec<Arc<Expr>>, Vec<Arc<Expr>>) =
            conditions.into_iter().partition(|condition| {
                let mut is_bound = true;
                condition.variables(&mut |variable| {
                    is_bound &= feed.contains(&variable) || in_patterns(&variable);
                });
                is_bound
            });
        let mut below = given.clone();
        add_variables_of(&mut below, &after);
        let way = &joins.ways[joins.root];
        let node = filtered(layout.root(&below, &inside), after);
        let node = project(node, &given);
        let rows = way.rows * batches;
        Ok(Some(Bound {
            cost: way.cost * batches,
            rows: match right.kind {
                JoinKind::Inner => rows,
                JoinKind::Left => rows.max(left.rows),
                JoinKind::Matched | JoinKind::Unmatched => left.rows,
            },
            variables,
            node,
            fed,
            kind: right.kind,
            outputs,
        }))
    }

    /// A join that keeps its right input and compares row by row where variables may be unbound.
    #[expect(clippy::too_many_arguments, reason = "what a join is made of")]
    fn compatible_join(
        &self,
        left: Input,
        right: Input,
        kind: JoinKind,
        needed: &[VariableId],
        conditions: &[Arc<Expr>],
        marks: &[Arc<Mark>],
        needs_common: bool,
    ) -> Node {
        let mut used = Vec::new();
        add_variables_of(&mut used, conditions);
        add_marked(&mut used, marks);
        let left_node = self.attached(left.node, used.iter().copied());
        let is_empty = |node: &Node| matches!(node.operation, Operation::Empty { .. });
        let keeps_left = matches!(kind, JoinKind::Left | JoinKind::Unmatched);
        if is_empty(&left_node) || (keeps_left && is_empty(&right.node)) {
            return left_node;
        }
        if is_empty(&right.node) && matches!(kind, JoinKind::Inner | JoinKind::Matched) {
            return right.node;
        }
        let column = |node: &Node, variable: VariableId| {
            node.variables.iter().position(|known| *known == variable)
        };
        let (mut certain, mut uncertain) = (Vec::new(), Vec::new());
        for variable in left.scope.intersection(&right.scope) {
            if let (Some(ours), Some(theirs)) = (
                column(&left_node, *variable),
                column(&right.node, *variable),
            ) {
                let is_certain =
                    left.certain.contains(variable) && right.certain.contains(variable);
                if is_certain {
                    certain.push((ours, theirs));
                } else {
                    uncertain.push((ours, theirs));
                }
            }
        }
        let given: Vec<VariableId> = match kind {
            JoinKind::Inner | JoinKind::Left => {
                let mut given = Vec::new();
                let both = left_node.variables.iter().chain(&right.node.variables);
                add_all(
                    &mut given,
                    both.copied().filter(|variable| needed.contains(variable)),
                );
                given
            }
            JoinKind::Matched | JoinKind::Unmatched => left_node.variables.clone(),
        };
        let mut variables = given.clone();
        add_all(
            &mut variables,
            used.into_iter().filter(|variable| {
                column(&left_node, *variable).is_some() || column(&right.node, *variable).is_some()
            }),
        );
        let merged = variables
            .into_iter()
            .map(|variable| {
                let source = match (column(&left_node, variable), column(&right.node, variable)) {
                    (Some(ours), Some(theirs)) if !left.certain.contains(&variable) => {
                        MergedSource::Either(ours, theirs)
                    }
                    (Some(ours), _) => MergedSource::Left(ours),
                    (None, Some(theirs)) => MergedSource::Right(theirs),
                    (None, None) => MergedSource::None,
                };
                (variable, source)
            })
            .collect();
        let pairs = if certain.is_empty() {
            left_node.rows * right.node.rows
        } else {
            left_node.rows.max(right.node.rows)
        };
        Node {
            sorted_by: Vec::new(),
            rows: match kind {
                JoinKind::Inner => pairs,
                JoinKind::Left => pairs.max(left_node.rows),
                JoinKind::Matched | JoinKind::Unmatched => left_node.rows,
            },
            operation: Operation::CompatibleJoin {
                left: Box::new(left_node),
                right: Box::new(right.node),
                join: Box::new(Compatibility {
                    kind,
                    needs_common: needs_common && certain.is_empty(),
                    certain,
                    uncertain,
                    merged,
                    given: given.len(),
                    conditions: conditions.to_vec(),
                    marks: marks.to_vec(),
                    seed: self.seed.clone(),
                }),
            },
            variables: given,
        }
    }

    pub(super) fn left_join(
        &self,
        left: &Group,
        right: &Group,
        conditions: &[Arc<Expr>],
        marks: &[Arc<Mark>],
        wanted: Wanted<'_>,
    ) -> Result<Node> {
        let needed = wanted.variables.to_vec();
        let mut below = needed.clone();
        add_all(&mut below, left.shared(right));
        add_variables_of(&mut below, conditions);
        add_marked(&mut below, marks);
        let left = self.input(left, &below)?;
        let joined = Joined {
            group: right,
            kind: JoinKind::Left,
            conditions,
            marks,
            needs_common: false,
        };
        Ok(self.joined(left, &joined, &needed)?.node)
    }

    pub(super) fn minus(&self, left: &Group, right: &Group, wanted: Wanted<'_>) -> Result<Node> {
        let mut below = wanted.variables.to_vec();
        add_all(&mut below, left.shared(right));
        let left = self.input(left, &below)?;
        let joined = Joined {
            group: right,
            kind: JoinKind::Unmatched,
            conditions: &[],
            marks: &[],
            needs_common: true,
        };
        Ok(self.joined(left, &joined, &below)?.node)
    }

    pub(super) fn filter(
        &self,
        input: &Group,
        conditions: &[Arc<Expr>],
        wanted: Wanted<'_>,
    ) -> Result<Node> {
        let mut below = wanted.variables.to_vec();
        add_variables_of(&mut below, conditions);
        let Logical::Marks { input, marks } = &input.logical else {
            let node = self.node(input, all_rows(&below))?;
            return Ok(self.filtered(node, conditions));
        };
        // What tests a plain conjunction is a join that gives nothing of it.
        let mut conditions = conditions.to_vec();
        let (mut tests, mut others) = (Vec::new(), Vec::new());
        for mark in marks {
            match as_test(mark, &conditions, input) {
                Some((index, test)) => {
                    conditions.remove(index);
                    tests.push(test);
                }
                None => others.push(Arc::clone(mark)),
            }
        }
        add_marked(&mut below, marks);
        for test in &tests {
            add_variables_of(&mut below, test.conditions);
        }
        let mut tested = self.input(input, &below)?;
        for test in &tests {
            let used = Wanted {
                variables: &below,
                is_distinct: false,
                rows: None,
            };
            let mut variables = Vec::new();
            add_variables_of(&mut variables, test.conditions);
            tested.node = self.attached(tested.node, variables);
            tested = self.joined(tested, test, used.variables)?;
        }
        let node = self.marked(tested.node, &others);
        Ok(self.filtered(node, &conditions))
    }
}

/// Index lookups for the batches of an input that is not there yet.
struct Bound {
    /// Nanoseconds.
    cost: f64,
    rows: f64,
    variables: Vec<VariableId>,
    node: Node,
    fed: Vec<usize>,
    kind: JoinKind,
    outputs: Vec<Source>,
}

impl Bound {
    fn over(self, left: Node) -> Node {
        Node {
            variables: self.variables,
            sorted_by: Vec::new(),
            rows: self.rows,
            operation: Operation::BindJoin {
                left: Box::new(left),
                right: Arc::new(self.node),
                fed: self.fed,
                kind: self.kind,
                outputs: self.outputs,
            },
        }
    }
}

/// The join that tests what a mark stands for, and the condition that it is: if one condition is the mark or its
/// negation and no other reads it, and the pattern is a conjunction that shares variables with the input.
fn as_test<'a>(
    mark: &'a Arc<Mark>,
    conditions: &[Arc<Expr>],
    input: &Group,
) -> Option<(usize, Joined<'a>)> {
    let (group, within): (&Group, &[Arc<Expr>]) = match &mark.pattern.logical {
        Logical::Conjunction(_) => (&mark.pattern, &[]),
        Logical::Filter { input, conditions } => match &input.logical {
            Logical::Conjunction(_) => (&**input, conditions),
            _ => return None,
        },
        _ => return None,
    };
    if input.shared(group).is_empty() {
        return None;
    }
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
    let (index, kind) = found?;
    let joined = Joined {
        group,
        kind,
        conditions: within,
        marks: &[],
        needs_common: false,
    };
    Some((index, joined))
}
