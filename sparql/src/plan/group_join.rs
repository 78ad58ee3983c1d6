//! Plans what joins two groups: OPTIONAL, MINUS, filters that test plain patterns, and the steps of joins ([`super::members`] says
//! in which sequence).
//!
//! A group is planned by itself, from the bottom up. The one exception is a plain conjunction that is joined with rows
//! which certainly bind all variables that the two share: then every solution of the join has the row's terms
//! for these variables whichever way it is made, so the patterns may be looked up for each batch of rows
//! ([`Operation::BindJoin`]) instead of being read whole. Which of the two is cheaper decides.

use super::cardinality::{Counted, count_patterns};
use super::cost;
use super::exists::Test;
use super::join_order::{are_connected, choose_from};
use super::layout::{Layout, add_all, add_variables_of};
use super::logical::{Conjunction, Group, Logical, Mark, VariableId, VariableSet};
use super::operators::{add_marked, all_rows};
use super::physical::{Compatibility, Node, Operation, Planner, Wanted, filtered, leaf, project};
use crate::error::Result;
use crate::exec::compatible_join::{JoinKind, MergedSource};
use crate::exec::merge_join::JoinColumns;
use crate::exec::pairs::{Side, Source};
use crate::expr::Expr;
use std::sync::Arc;

/// A planned input of a join.
pub(super) struct Input {
    pub(super) node: Node,
    pub(super) scope: VariableSet,
    pub(super) certain: VariableSet,
}

/// What is joined to an input.
pub(super) struct Joined<'a> {
    pub(super) group: &'a Group,
    pub(super) kind: JoinKind,
    pub(super) conditions: &'a [Arc<Expr>],
    pub(super) marks: &'a [Arc<Mark>],
    /// Whether rows that have no bound variable in common are left alone.
    pub(super) needs_common: bool,
}

impl<'a> Joined<'a> {
    /// A group that is joined without more ado.
    pub(super) fn inner(group: &'a Group) -> Self {
        Self {
            group,
            kind: JoinKind::Inner,
            conditions: &[],
            marks: &[],
            needs_common: false,
        }
    }
}

impl Planner<'_> {
    pub(super) fn input(&self, group: &Group, needed: &[VariableId]) -> Result<Input> {
        Ok(Input {
            node: self.node(group, all_rows(needed))?,
            scope: group.scope.clone(),
            certain: group.certain.clone(),
        })
    }

    /// Joins a planned input with a group, in the cheaper way.
    pub(super) fn joined(
        &self,
        left: Input,
        right: &Joined<'_>,
        needed: &[VariableId],
    ) -> Result<Input> {
        let (mut scope, mut certain) = (left.scope.clone(), left.certain.clone());
        if matches!(right.kind, JoinKind::Inner | JoinKind::Left) {
            scope.extend(&right.group.scope);
        }
        if right.kind == JoinKind::Inner {
            certain.extend(&right.group.certain);
        }
        if let Some(bound) = self.bind_service(&left, right, needed) {
            return Ok(Input {
                node: bound.over(left.node),
                scope,
                certain,
            });
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
            kept_cost = cost
                + if right.conditions.is_empty() && self.would_merge(&left, &node, &shared) {
                    (node.rows + left.node.rows) * cost::MERGE
                } else {
                    node.rows * cost::FILE + left.node.rows * cost::PROBE
                };
            kept = Some(node);
            let is_sound = shared
                .iter()
                .all(|variable| left.certain.contains(variable));
            if is_sound
                && right.marks.is_empty()
                && self.options.lookup_joins
                && let Some(bound) = self.bind_join(&left.node, conjunction, right, needed, &[])?
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
        let node = if let Some(node) = kept {
            node
        } else {
            let node = self.node(right.group, all_rows(&below))?;
            let is_sound = shared
                .iter()
                .all(|variable| left.certain.contains(variable));
            if is_sound
                && right.marks.is_empty()
                && self.options.lookup_joins
                && let Some(bound) = self.bind_members(&left.node, right, node.rows, needed, &[])?
            {
                return Ok(Input {
                    node: bound.over(left.node),
                    scope,
                    certain,
                });
            }
            node
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

    /// Whether rows of an input and of a conjunction will be merged.
    fn would_merge(&self, left: &Input, right: &Node, shared: &[VariableId]) -> bool {
        let is_first =
            |node: &Node| matches!(shared, [only] if node.sorted_by.first() == Some(only));
        self.options.merge_joins
            && is_first(&left.node)
            && is_first(right)
            && shared
                .iter()
                .all(|variable| left.certain.contains(variable))
    }

    /// Index lookups for the batches of an input, if the patterns are connected with it.
    /// Variables of `also` are fed besides those that are used.
    pub(super) fn bind_join(
        &self,
        left: &Node,
        conjunction: &Conjunction,
        right: &Joined<'_>,
        needed: &[VariableId],
        also: &[VariableId],
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
                    && (in_patterns(variable) || used.contains(variable) || also.contains(variable))
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
        let mut bound = Bound::new(left, right.kind, fed, &given);
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
        bound.cost = way.cost * batches;
        bound.rows = match right.kind {
            JoinKind::Inner => rows,
            JoinKind::Left => rows.max(left.rows),
            JoinKind::Matched | JoinKind::Unmatched => left.rows,
        };
        bound.node = node;
        Ok(Some(bound))
    }

    /// A join that keeps its right input and compares row by row where variables may be unbound.
    #[expect(clippy::too_many_arguments, reason = "what a join is made of")]
    pub(super) fn compatible_join(
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
        if uncertain.is_empty()
            && conditions.is_empty()
            && marks.is_empty()
            && let Some(key) = self.merging_key(&left_node, &right.node, &certain, kind)
        {
            return merged(left_node, right.node, key, &certain, kind, given);
        }
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

    /// The columns by which two inputs are merged: both are sorted by a variable that both certainly bind. What gives not only
    /// common rows compares nothing else.
    fn merging_key(
        &self,
        left: &Node,
        right: &Node,
        certain: &[(usize, usize)],
        kind: JoinKind,
    ) -> Option<(usize, usize)> {
        if !self.options.merge_joins || (kind != JoinKind::Inner && certain.len() > 1) {
            return None;
        }
        let first = left.sorted_by.first()?;
        if right.sorted_by.first() != Some(first) {
            return None;
        }
        let mut certain = certain.iter().copied();
        certain.find(|(ours, _)| left.variables[*ours] == *first)
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
        // What can be is tested by a join that gives nothing.
        let mut conditions = conditions.to_vec();
        let (mut tests, mut others) = (Vec::new(), Vec::new());
        for mark in marks {
            match Test::of(mark, &conditions, input) {
                Some((index, test)) => tests.push((test, conditions.remove(index))),
                None => others.push(Arc::clone(mark)),
            }
        }
        add_marked(&mut below, marks);
        for (test, _) in &tests {
            add_all(&mut below, test.variables());
        }
        let mut tested = self.input(input, &below)?;
        for (test, condition) in tests {
            tested.node = self.attached(tested.node, test.variables());
            tested = match self.tested(tested, &test, &below)? {
                Ok(tested) => tested,
                Err(tested) => {
                    others.push(Arc::clone(test.mark));
                    conditions.push(condition);
                    tested
                }
            };
        }
        let node = self.marked(tested.node, &others);
        Ok(self.filtered(node, &conditions))
    }
}

/// Two inputs side by side, sorted by the columns `key`.
fn merged(
    left: Node,
    right: Node,
    key: (usize, usize),
    certain: &[(usize, usize)],
    kind: JoinKind,
    given: Vec<VariableId>,
) -> Node {
    let column = |node: &Node, variable| node.variables.iter().position(|known| *known == variable);
    let outputs = given
        .iter()
        .map(|variable| {
            let ours = column(&left, *variable).map(|ours| (Side::Left, ours));
            let theirs = || column(&right, *variable).map(|theirs| (Side::Right, theirs));
            ours.or_else(theirs).expect("one of the two binds it")
        })
        .collect();
    let rows = match kind {
        JoinKind::Inner | JoinKind::Left => left.rows.max(right.rows),
        JoinKind::Matched | JoinKind::Unmatched => left.rows,
    };
    let sorted_by = left.sorted_by.clone();
    let (left, right) = (Box::new(left), Box::new(right));
    let operation = if kind == JoinKind::Inner {
        Operation::MergeJoin {
            left,
            right,
            columns: JoinColumns {
                left: vec![key.0],
                right: vec![key.1],
                residual: certain
                    .iter()
                    .copied()
                    .filter(|pair| *pair != key)
                    .collect(),
            },
            outputs,
        }
    } else {
        Operation::SortedJoin {
            left,
            right,
            keys: key,
            kind,
            outputs,
        }
    };
    Node {
        variables: given,
        sorted_by,
        rows,
        operation,
    }
}

/// What is looked up for the batches of an input that is not there yet.
pub(super) struct Bound {
    /// Nanoseconds.
    cost: f64,
    pub(super) rows: f64,
    variables: Vec<VariableId>,
    pub(super) node: Node,
    fed: Vec<usize>,
    kind: JoinKind,
    outputs: Vec<Source>,
}

impl Bound {
    /// A join that feeds some columns of its input and gives all of them and then some variables of the right side, which is to be
    /// planned yet.
    pub(super) fn new(left: &Node, kind: JoinKind, fed: Vec<usize>, given: &[VariableId]) -> Self {
        let mut variables = left.variables.clone();
        variables.extend(given);
        let left_columns = (0..left.variables.len()).map(|column| (Side::Left, column));
        let right_columns = (0..given.len()).map(|column| (Side::Right, column));
        Self {
            cost: 0.0,
            rows: left.rows,
            variables,
            node: leaf(Operation::Unit, 1.0),
            fed,
            kind,
            outputs: left_columns.chain(right_columns).collect(),
        }
    }

    /// The same, with some variables taken from the right side even where the input has them.
    pub(super) fn taking(mut self, taken: &[VariableId]) -> Self {
        let columns = self.variables.into_iter().zip(self.outputs);
        (self.variables, self.outputs) = columns
            .filter(|(variable, (side, _))| *side == Side::Right || !taken.contains(variable))
            .unzip();
        self
    }

    /// Takes what is joined.
    pub(super) fn take_node(&mut self) -> Node {
        std::mem::replace(&mut self.node, leaf(Operation::Unit, 1.0))
    }

    pub(super) fn over(self, left: Node) -> Node {
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
