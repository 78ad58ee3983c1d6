//! Plans joins of whole groups: in which sequence they are joined.
//!
//! The members of a join are groups that are planned by themselves, the conjunctions of patterns, property paths, and triple
//! terms with variables in them. Patterns that only another member connects are members of their own: joined first they would
//! be a cross product. The
//! smallest member comes first; then always one that shares variables with the rows so far, if there is any: first what is
//! planned by itself, then the path or the conjunction that leaves the fewer rows. Calls of services come last.

use super::cost;
use super::group_join::{Bound, Input, Joined};
use super::layout::{add_all, add_variables_of};
use super::logical::{Conjunction, Group, Logical, QuadPattern, VariableId, VariableSet};
use super::operators::all_rows;
use super::path::CountedPath;
use super::physical::{Node, Operation, Planner, Wanted, filtered, leaf, project};
use super::triple_term::CountedTripleTerm;
use crate::error::Result;
use crate::exec::compatible_join::JoinKind;
use crate::expr::Expr;
use std::sync::Arc;

/// An OPTIONAL within an OPTIONAL is looked up for rows if it is expected to have so many times more.
const OPTIONAL_FACTOR: f64 = 8.0;

/// What is joined.
enum Member<'a> {
    Planned(Input),
    Conjunction { group: &'a Group, rows: f64 },
    Path(CountedPath),
    TripleTerm(CountedTripleTerm),
}

impl Member<'_> {
    fn shares(&self, scope: &VariableSet) -> bool {
        match self {
            Self::Planned(input) => !input.scope.is_disjoint(scope),
            Self::Conjunction { group, .. } => !group.scope.is_disjoint(scope),
            Self::Path(path) => shares(&path.variables(), scope),
            Self::TripleTerm(term) => shares(&term.variables(), scope),
        }
    }

    /// How many rows the member has, by itself.
    fn rows(&self) -> f64 {
        match self {
            Self::Planned(input) => input.node.rows,
            Self::Conjunction { rows, .. } => *rows,
            Self::Path(path) => path.rows(),
            Self::TripleTerm(term) => term.rows(),
        }
    }
}

fn shares(variables: &[VariableId], scope: &VariableSet) -> bool {
    variables.iter().any(|variable| scope.contains(variable))
}

impl Planner<'_> {
    pub(super) fn join(&self, inputs: &[Group], wanted: Wanted<'_>) -> Result<Node> {
        if let Some(node) = self.distributed(inputs, wanted)? {
            return Ok(node);
        }
        let inputs: Vec<&Group> = inputs.iter().collect();
        let joined = self.join_inputs(&inputs, None, wanted.variables)?;
        Ok(joined.node)
    }

    /// Joins groups with one another, and with rows to begin with if there are such.
    fn join_inputs(
        &self,
        inputs: &[&Group],
        start: Option<Input>,
        wanted: &[VariableId],
    ) -> Result<Input> {
        let (conjunctions, conditions) = split_conjunctions(inputs);
        let others = || {
            let is_other = |input: &&&Group| !matches!(input.logical, Logical::Conjunction(_));
            inputs.iter().filter(is_other).copied()
        };
        let mut needed = wanted.to_vec();
        add_variables_of(&mut needed, &conditions);
        if let Some(start) = &start {
            add_all(&mut needed, start.scope.iter().copied());
        }
        let all: Vec<&Group> = others().chain(&conjunctions).collect();
        for (index, input) in all.iter().enumerate() {
            for other in &all[..index] {
                add_all(&mut needed, input.shared(other));
            }
        }
        let mut members = Vec::with_capacity(all.len());
        let mut services = Vec::new();
        for group in others() {
            members.push(match &group.logical {
                Logical::Service(_) => {
                    services.push(group);
                    continue;
                }
                Logical::Path(path) => match self.counted_path(path)? {
                    Ok(path) => Member::Path(path),
                    Err(reason) => {
                        let empty = leaf(Operation::Empty { reason }, 0.0);
                        return Ok(input_of(empty, Vec::new()));
                    }
                },
                Logical::TripleTerm(pattern) => {
                    Member::TripleTerm(self.counted_triple_term(pattern)?)
                }
                _ => Member::Planned(self.input(group, &needed)?),
            });
        }
        let is_last = start.is_none()
            && conjunctions.len() == 1
            && members
                .iter()
                .all(|member| matches!(member, Member::Planned(_)));
        for group in &conjunctions {
            let rows = match &group.logical {
                // How many rows it has does not matter if it comes last in any case.
                Logical::Conjunction(conjunction) if !is_last => {
                    let wanted = all_rows(&needed);
                    self.costed_conjunction(conjunction, wanted)?.0.rows
                }
                _ => f64::INFINITY,
            };
            members.push(Member::Conjunction { group, rows });
        }
        let joined = if members.is_empty() && start.is_none() {
            None
        } else {
            Some(self.members(start, members, &needed)?)
        };
        let mut joined = match self.join_services(joined, services, &needed)? {
            Some(joined) => joined,
            None => input_of(leaf(Operation::Unit, 1.0), Vec::new()),
        };
        joined.node = self.filtered(joined.node, &conditions);
        Ok(joined)
    }

    /// The members of a group as they are searched and looked up for the batches of an input, if it has only such members that
    /// can be, and if that is expected to be cheaper than to keep `kept_rows` of its rows. Variables of `also` are fed besides
    /// those that are used.
    pub(super) fn bind_members(
        &self,
        left: &Node,
        right: &Joined<'_>,
        kept_rows: f64,
        needed: &[VariableId],
        also: &[VariableId],
    ) -> Result<Option<Bound>> {
        let rows_max = match &right.group.logical {
            // It takes more steps for each batch.
            Logical::LeftJoin { .. } => kept_rows / OPTIONAL_FACTOR,
            _ => kept_rows,
        };
        if !can_be_bound(right.group, &left.variables) || left.rows > rows_max {
            return Ok(None);
        }
        let mut used = Vec::new();
        add_variables_of(&mut used, right.conditions);
        let is_seeded = |variable: &VariableId| {
            self.seed.get(*variable).is_some() && !left.variables.contains(variable)
        };
        if used.iter().any(is_seeded) {
            return Ok(None);
        }
        let scope = &right.group.scope;
        let fed: Vec<usize> = (0..left.variables.len())
            .filter(|column| {
                let variable = &left.variables[*column];
                !left.variables[..*column].contains(variable)
                    && (scope.contains(variable)
                        || used.contains(variable)
                        || also.contains(variable))
            })
            .collect();
        let mut feed: Vec<VariableId> = fed.iter().map(|column| left.variables[*column]).collect();
        if feed.iter().all(|variable| !scope.contains(variable)) {
            return Ok(None);
        }
        let number = VariableId(self.variables as u32);
        feed.push(number);
        let batches = (left.rows / cost::BATCH).ceil().max(1.0);
        let start = input_of(
            Node {
                variables: feed.clone(),
                sorted_by: Vec::new(),
                rows: left.rows / batches,
                operation: Operation::Feed,
            },
            feed,
        );
        let mut given: Vec<VariableId> = match right.kind {
            JoinKind::Inner | JoinKind::Left => needed
                .iter()
                .copied()
                .filter(|variable| scope.contains(variable) && !left.variables.contains(variable))
                .collect(),
            JoinKind::Matched | JoinKind::Unmatched => Vec::new(),
        };
        let mut bound = Bound::new(left, right.kind, fed, &given);
        given.push(number);
        let mut below = given.clone();
        add_all(&mut below, used);
        let joined = self.bound_group(right.group, start, &below)?;
        let rows = joined.node.rows * batches;
        bound.rows = match right.kind {
            JoinKind::Inner => rows,
            JoinKind::Left => rows.max(left.rows),
            JoinKind::Matched | JoinKind::Unmatched => left.rows,
        };
        bound.node = project(filtered(joined.node, right.conditions.to_vec()), &given);
        Ok(Some(bound))
    }

    /// Rows joined with a group that [can be bound](can_be_bound).
    fn bound_group(&self, group: &Group, start: Input, needed: &[VariableId]) -> Result<Input> {
        match &group.logical {
            Logical::Join { inputs } => {
                let inputs: Vec<&Group> = inputs.iter().collect();
                self.join_inputs(&inputs, Some(start), needed)
            }
            Logical::LeftJoin {
                left,
                right,
                conditions,
                ..
            } => {
                let mut below = needed.to_vec();
                add_all(&mut below, start.scope.iter().copied());
                add_all(&mut below, left.shared(right));
                add_variables_of(&mut below, conditions);
                let left = self.bound_group(left, start, &below)?;
                let optional = Joined {
                    kind: JoinKind::Left,
                    conditions,
                    ..Joined::inner(right)
                };
                self.joined(left, &optional, &below)
            }
            _ => self.join_inputs(&[group], Some(start), needed),
        }
    }

    fn members(
        &self,
        start: Option<Input>,
        mut members: Vec<Member<'_>>,
        needed: &[VariableId],
    ) -> Result<Input> {
        let mut joined = match (start, first_of(&members)) {
            (Some(start), _) => start,
            (None, None) => input_of(leaf(Operation::Unit, 1.0), Vec::new()),
            (None, Some(first)) => match members.swap_remove(first) {
                Member::Planned(input) => input,
                Member::Conjunction { group, .. } => self.input(group, needed)?,
                Member::Path(path) => input_of(path.node(), path.variables()),
                Member::TripleTerm(term) => input_of(term.node(), term.variables()),
            },
        };
        while !members.is_empty() {
            if let Operation::Empty { .. } = joined.node.operation {
                break;
            }
            let next = next_of(&members, &joined);
            joined = match members.swap_remove(next) {
                Member::Planned(input) => self.inner_join(joined, input, needed),
                Member::Conjunction { group, .. } => {
                    self.joined(joined, &Joined::inner(group), needed)?
                }
                Member::Path(path) => self.join_path(joined, &path, needed),
                Member::TripleTerm(term) => self.join_triple_term(joined, &term, needed),
            };
        }
        Ok(joined)
    }

    /// Joins rows with a path: searched from them, or by itself.
    pub(super) fn join_path(
        &self,
        left: Input,
        path: &CountedPath,
        needed: &[VariableId],
    ) -> Input {
        let variables = path.variables();
        let rows = left.node.rows;
        let cost_over = path.cost_over(rows, |variable| left.certain.contains(&variable));
        let kept_cost = path.cost() + path.rows() * cost::FILE + rows * cost::PROBE;
        if self.can_begin_at(&left, &variables) && cost_over < kept_cost {
            return with_variables(left, variables, |node| path.node_over(node));
        }
        self.inner_join(left, input_of(path.node(), variables), needed)
    }

    /// Joins rows with a triple term: taken apart, or looked for.
    fn join_triple_term(
        &self,
        left: Input,
        term: &CountedTripleTerm,
        needed: &[VariableId],
    ) -> Input {
        let variables = term.variables();
        let is_brought = term.is_brought(|variable| left.certain.contains(&variable));
        let kept_cost = term.candidates() * cost::FILE + left.node.rows * cost::PROBE;
        if self.can_begin_at(&left, &variables)
            && (is_brought || left.node.rows * term.candidates() * cost::SCAN < kept_cost)
        {
            return with_variables(left, variables, |node| term.node_over(node));
        }
        self.inner_join(left, input_of(term.node(), variables), needed)
    }

    /// Whether rows certainly bind those of some variables that they may bind, at least one.
    fn can_begin_at(&self, left: &Input, variables: &[VariableId]) -> bool {
        let shared = variables
            .iter()
            .filter(|variable| left.scope.contains(*variable));
        let all_are_certain = shared
            .clone()
            .all(|variable| left.certain.contains(variable));
        self.options.lookup_joins && all_are_certain && shared.count() > 0
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
}

/// Whether a group has the same solutions joined with rows that bind some variables as it has joined with them member by member,
/// beginning at the rows. An OPTIONAL has, if what comes before it certainly binds all that the rows do: then
/// it makes no difference to what is added that they are there already.
fn can_be_bound(group: &Group, variables: &[VariableId]) -> bool {
    match &group.logical {
        Logical::Join { inputs } => inputs.iter().all(|input| is_member(&input.logical)),
        Logical::LeftJoin { left, marks, .. } => {
            let is_certain = |variable: &VariableId| {
                !group.scope.contains(variable) || left.certain.contains(variable)
            };
            marks.is_empty() && variables.iter().all(is_certain) && can_be_bound(left, variables)
        }
        logical => is_member(logical),
    }
}

fn is_member(logical: &Logical) -> bool {
    matches!(
        logical,
        Logical::Conjunction(_) | Logical::Path(_) | Logical::TripleTerm(_)
    )
}

/// A node as an input that binds some variables in every row.
fn input_of(node: Node, variables: Vec<VariableId>) -> Input {
    let scope: VariableSet = variables.into_iter().collect();
    Input {
        node,
        certain: scope.clone(),
        scope,
    }
}

/// An input after a step that binds some variables.
fn with_variables(
    left: Input,
    variables: Vec<VariableId>,
    step: impl FnOnce(Node) -> Node,
) -> Input {
    let Input {
        node,
        mut scope,
        mut certain,
    } = left;
    scope.extend(variables.iter().copied());
    certain.extend(variables);
    Input {
        node: step(node),
        scope,
        certain,
    }
}

/// The member to begin with: the smallest one that is planned by itself, otherwise the smallest one.
fn first_of(members: &[Member<'_>]) -> Option<usize> {
    let key = |index: &usize| {
        let member = &members[*index];
        (!matches!(member, Member::Planned(_)), member.rows())
    };
    (0..members.len()).min_by(|a, b| {
        let (a, b) = (key(a), key(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    })
}

/// The member to go on with, of at least one.
fn next_of(members: &[Member<'_>], joined: &Input) -> usize {
    let key = |index: &usize| {
        let member = &members[*index];
        let rank = match member {
            _ if !member.shares(&joined.scope) => 2,
            Member::Planned(_) => 0,
            Member::TripleTerm(term)
                if term.is_brought(|variable| joined.certain.contains(&variable)) =>
            {
                0
            }
            Member::Conjunction { .. } | Member::Path(_) | Member::TripleTerm(_) => 1,
        };
        let rows = match member {
            Member::Path(path) if rank == 1 => path.rows_over(joined.node.rows, |variable| {
                joined.certain.contains(&variable)
            }),
            Member::TripleTerm(_) if rank == 0 => 0.0,
            _ => member.rows(),
        };
        (rank, rows)
    };
    (0..members.len())
        .min_by(|a, b| {
            let (a, b) = (key(a), key(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        })
        .unwrap_or_default()
}

/// The conjunctions among the inputs of a join, cut where nothing but another input connects their patterns; and the conditions
/// that then belong to none of them.
fn split_conjunctions(inputs: &[&Group]) -> (Vec<Group>, Vec<Arc<Expr>>) {
    let (mut groups, mut rest) = (Vec::new(), Vec::new());
    for input in inputs {
        let Logical::Conjunction(conjunction) = &input.logical else {
            continue;
        };
        let mut parts = connected(&conjunction.patterns);
        let connects = |other: &&&Group| {
            let touched = parts.iter().filter(|(_, variables)| {
                variables
                    .iter()
                    .any(|variable| other.scope.contains(variable))
            });
            !matches!(other.logical, Logical::Conjunction(_)) && touched.count() > 1
        };
        if !inputs.iter().any(|other| connects(&other)) {
            let variables = input.scope.clone();
            parts = vec![(conjunction.patterns.clone(), variables)];
        }
        let mut filters = conjunction.filters.clone();
        for (patterns, variables) in parts {
            let (inside, others) = filters.into_iter().partition(|filter| {
                let mut is_inside = true;
                filter.variables(&mut |variable| is_inside &= variables.contains(&variable));
                is_inside
            });
            filters = others;
            groups.push(Group::conjunction(Conjunction {
                patterns,
                filters: inside,
            }));
        }
        rest.extend(filters);
    }
    (groups, rest)
}

/// The patterns that variables connect, with these variables.
fn connected(patterns: &[Arc<QuadPattern>]) -> Vec<(Vec<Arc<QuadPattern>>, VariableSet)> {
    let mut parts: Vec<(Vec<Arc<QuadPattern>>, VariableSet)> = Vec::new();
    for pattern in patterns {
        let mut variables: VariableSet = pattern.slots().into_iter().flatten().collect();
        let mut members = Vec::new();
        let mut apart = Vec::new();
        for (others, known) in parts {
            if known.is_disjoint(&variables) {
                apart.push((others, known));
            } else {
                members.extend(others);
                variables.extend(known);
            }
        }
        members.push(Arc::clone(pattern));
        apart.push((members, variables));
        parts = apart;
    }
    parts
}
