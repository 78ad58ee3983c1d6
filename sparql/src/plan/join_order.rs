//! How a conjunction's patterns are joined: in which order, and by which of the joins.
//!
//! Up to [`DYNAMIC_PATTERNS_MAX`] patterns all orders are considered by dynamic programming over the sets of patterns
//! joined so far; beyond that, and where the result is had sooner than considered, the next pattern is always the one
//! that gives the fewest rows. For each set the
//! cheapest ways are kept that differ in how their rows are sorted, since a dearer way may be sorted for a
//! merge join that a cheaper one is not. A step adds one pattern:
//! * by a **merge join** where the rows so far and the pattern can be sorted by the same variables,
//! * by **index lookups** for each row so far,
//! * by a **hash join** that keeps the pattern's rows, where these are few (they are counted exactly),
//! * as a cross product, only if nothing else connects the pattern,
//!
//! or, where patterns make a cycle, all that bind the same variable next, by a **leapfrog join**.
//!
//! Costs are in nanoseconds, roughly.

mod leapfrog;

use super::PlannerOptions;
use super::cardinality::{CountedPattern, POSITIONS};
use super::correlation::Correlations;
use super::cost;
use super::logical::VariableId;
use super::way::{JoinPlan, Kept, Sort, Step, Way, WayNumber, keep};
use quadrille_store::{GraphSelector, Order, Position};

/// The most patterns whose orders are all considered.
pub const DYNAMIC_PATTERNS_MAX: usize = 12;
/// The most patterns for which it is not worth while to look for a quick answer first.
const ALWAYS_DYNAMIC_PATTERNS_MAX: usize = 3;
/// The most rows that a hash join keeps.
pub const HASH_ROWS_MAX: u64 = 1 << 20;

/// A pattern as the chooser looks at it.
struct Prepared {
    rows: f64,
    expected: f64,
    /// Its variables by local number, with how many terms of each are expected.
    variables: Vec<(u16, f64)>,
    /// The orders that it can be read in.
    scans: Vec<PreparedScan>,
}

struct PreparedScan {
    order: Order,
    /// The variables of the columns after the bound ones, up to the first repetition.
    sort: Sort,
    /// The same, as far as anything can come of it.
    worth: Sort,
    /// Whether these are all columns after the bound ones.
    is_whole: bool,
}

/// The variable in a place of a pattern.
pub fn slot(pattern: &CountedPattern, position: Position) -> Option<VariableId> {
    let index = POSITIONS.iter().position(|known| *known == position);
    index.and_then(|index| pattern.slots[index])
}

/// A pattern's variables, each once.
pub fn variables(pattern: &CountedPattern) -> impl Iterator<Item = VariableId> + '_ {
    pattern
        .slots
        .iter()
        .enumerate()
        .filter(|(index, slot)| !pattern.slots[..*index].contains(slot))
        .filter_map(|(_, slot)| *slot)
}

/// How many terms a variable of the pattern is expected to have in it.
pub(super) fn distinct_of(pattern: &CountedPattern, variable: VariableId) -> f64 {
    pattern
        .slots
        .iter()
        .zip(pattern.distinct)
        .filter(|(slot, _)| **slot == Some(variable))
        .map(|(_, distinct)| distinct)
        .fold(f64::INFINITY, f64::min)
}

/// The orders that can hold a pattern's rows.
pub(super) fn orders(pattern: &CountedPattern) -> &'static [Order] {
    match pattern.pattern.graph {
        GraphSelector::Default => &Order::DEFAULT_GRAPH,
        GraphSelector::Named(_) | GraphSelector::AnyNamed => &Order::NAMED_GRAPHS,
    }
}

/// What the nodes above the joins want.
#[derive(Clone, Copy, Debug, Default)]
pub struct Goal<'a> {
    /// The variables of a DISTINCT.
    pub distinct: &'a [VariableId],
    /// The variables of conditions, whose terms may have to be looked up.
    pub filtered: &'a [VariableId],
    /// How many rows are taken at most.
    pub rows: Option<f64>,
}

/// Chooses how to join patterns, of which there is at least one.
pub fn choose(
    patterns: &[CountedPattern],
    options: &PlannerOptions,
    goal: Goal<'_>,
    correlations: &Correlations,
) -> JoinPlan {
    let plan = |options: &PlannerOptions| {
        let mut chooser = Chooser::new(patterns, options, goal, correlations);
        let root = match &options.forced_order {
            Some(order) => chooser.forced(patterns, order),
            None => chooser.components(),
        };
        JoinPlan::new(chooser.ways, root, chooser.variables)
    };
    let whole = plan(options);
    let Some(rows) = goal.rows else {
        return whole;
    };
    // Of a few rows the first ones count: a join that first reads one input whole may be the wrong one.
    if whole.kept_cost() == 0.0 || options.forced_order.is_some() {
        return whole;
    }
    let streaming = plan(&PlannerOptions {
        hash_joins: false,
        ..options.clone()
    });
    if streaming.cost_of(rows) < whole.cost_of(rows) {
        streaming
    } else {
        whole
    }
}

/// Chooses how to join patterns with rows that are given, of which there are about `rows`, and which bind the `feed`
/// variables. Every pattern is connected with them.
pub fn choose_from(
    patterns: &[CountedPattern],
    feed: &[VariableId],
    rows: f64,
    options: &PlannerOptions,
) -> JoinPlan {
    let correlations = Correlations::default();
    let mut chooser = Chooser::new(patterns, options, Goal::default(), &correlations);
    let root = chooser.from_feed(feed, rows.max(1.0));
    JoinPlan::new(chooser.ways, root, chooser.variables)
}

/// Whether variables connect all patterns with those of the feed.
pub fn are_connected(patterns: &[CountedPattern], feed: &[VariableId]) -> bool {
    let mut known = feed.to_vec();
    let mut remaining: Vec<&CountedPattern> = patterns.iter().collect();
    while !remaining.is_empty() {
        let before = remaining.len();
        remaining.retain(|pattern| {
            let is_connected = variables(pattern).any(|variable| known.contains(&variable));
            if is_connected {
                known.extend(variables(pattern));
            }
            !is_connected
        });
        if remaining.len() == before {
            return false;
        }
    }
    true
}

/// The rows of a set of patterns.
#[derive(Clone, Copy, Default)]
struct State {
    /// Ways of getting them.
    kept: Kept,
    rows: f64,
    /// Which patterns: a bit for each of the first 64.
    members: u64,
    /// Where in [`Chooser::distinct`] it begins, how many terms of each variable are expected: 0 if it is not bound.
    distinct: usize,
}

/// A pattern's bit in [`State::members`].
fn bit(pattern: usize) -> u64 {
    1_u64.checked_shl(pattern as u32).unwrap_or(0)
}

struct Chooser<'a> {
    patterns: Vec<Prepared>,
    options: &'a PlannerOptions,
    correlations: &'a Correlations,
    ways: Vec<Way>,
    /// By local number.
    variables: Vec<VariableId>,
    /// By local number: whether a DISTINCT above has it.
    is_distinct: Vec<bool>,
    /// How many columns a DISTINCT above has; 0 if there is none.
    distinct_columns: usize,
    /// The variable whose terms the conditions on a single pattern need.
    filtered: Option<u16>,
    distinct: Vec<f64>,
}

impl<'a> Chooser<'a> {
    fn new(
        patterns: &[CountedPattern],
        options: &'a PlannerOptions,
        goal: Goal<'_>,
        correlations: &'a Correlations,
    ) -> Self {
        let distinct = goal.distinct;
        let mut names: Vec<VariableId> = patterns.iter().flat_map(variables).collect();
        let occurrences = {
            names.sort_unstable();
            let all = names.clone();
            names.dedup();
            move |variable: VariableId| {
                all.partition_point(|known| *known <= variable)
                    - all.partition_point(|known| *known < variable)
            }
        };
        let local =
            |variable: VariableId| names.binary_search(&variable).expect("it occurs") as u16;
        let prepared = patterns
            .iter()
            .map(|pattern| Prepared {
                rows: pattern.rows as f64,
                expected: pattern.expected,
                variables: variables(pattern)
                    .map(|variable| (local(variable), distinct_of(pattern, variable)))
                    .collect(),
                scans: orders(pattern)
                    .iter()
                    .filter_map(|order| {
                        let (_, bound) = pattern.pattern.prefix_in(*order)?;
                        let (mut sort, mut worth) = (Sort::NONE, Sort::NONE);
                        let mut is_worth = true;
                        for position in &order.columns()[bound..] {
                            let Some(variable) = slot(pattern, *position) else {
                                break;
                            };
                            if sort.iter().any(|known| known == local(variable)) {
                                // What comes after a repetition cannot be sought by position any more.
                                break;
                            }
                            sort.push(local(variable));
                            is_worth &= occurrences(variable) > 1 || distinct.contains(&variable);
                            if is_worth {
                                worth.push(local(variable));
                            }
                        }
                        Some(PreparedScan {
                            order: *order,
                            is_whole: sort.count() == order.columns().len() - bound,
                            sort,
                            worth,
                        })
                    })
                    .collect(),
            })
            .collect();
        // In a join the sort that the others need matters more.
        let filtered = match (patterns, goal.filtered) {
            ([pattern], [variable]) if variables(pattern).any(|known| known == *variable) => {
                Some(local(*variable))
            }
            _ => None,
        };
        Self {
            patterns: prepared,
            options,
            correlations,
            ways: Vec::new(),
            is_distinct: names
                .iter()
                .map(|variable| distinct.contains(variable))
                .collect(),
            variables: names,
            distinct_columns: distinct.len(),
            filtered,
            distinct: Vec::new(),
        }
    }

    /// Joins the patterns that variables connect, then pairs what nothing connects, fewest rows first.
    fn components(&mut self) -> WayNumber {
        let mut roots: Vec<WayNumber> = self
            .connected()
            .into_iter()
            .map(|component| self.component(&component))
            .collect();
        roots.sort_by(|a, b| self.ways[*a].rows.total_cmp(&self.ways[*b].rows));
        let mut roots = roots.into_iter();
        let first = roots.next().expect("there is at least one pattern");
        roots.fold(first, |left, right| self.cross(left, right))
    }

    /// Joins patterns that variables connect. What runs in less time than it takes to consider all orders is run as the
    /// greedy search finds it.
    fn component(&mut self, component: &[usize]) -> WayNumber {
        let count = component.len();
        if count <= ALWAYS_DYNAMIC_PATTERNS_MAX {
            return self.dynamic(component);
        }
        let quick = self.greedy(component);
        if count > DYNAMIC_PATTERNS_MAX {
            return quick;
        }
        let steps = count << count;
        if !self.options.thorough && self.ways[quick].cost <= steps as f64 * cost::PLAN_STEP {
            return quick;
        }
        let best = self.dynamic(component);
        if self.ways[best].cost <= self.ways[quick].cost {
            best
        } else {
            quick
        }
    }

    /// The sets of patterns that shared variables connect.
    fn connected(&self) -> Vec<Vec<usize>> {
        let mut components: Vec<(Vec<u16>, Vec<usize>)> = Vec::new();
        for (index, pattern) in self.patterns.iter().enumerate() {
            let mut joined: (Vec<u16>, Vec<usize>) = (
                pattern
                    .variables
                    .iter()
                    .map(|(variable, _)| *variable)
                    .collect(),
                vec![index],
            );
            let (connected, apart): (Vec<_>, Vec<_>) = components
                .into_iter()
                .partition(|(known, _)| joined.0.iter().any(|variable| known.contains(variable)));
            for (variables, members) in connected {
                joined.0.extend(variables);
                joined.1.extend(members);
            }
            components = apart;
            components.push(joined);
        }
        components
            .into_iter()
            .map(|(_, mut members)| {
                members.sort_unstable();
                members
            })
            .collect()
    }

    fn forced(&mut self, patterns: &[CountedPattern], order: &[usize]) -> WayNumber {
        let asked = order.iter().filter_map(|number| {
            patterns
                .iter()
                .position(|pattern| pattern.number == *number)
        });
        let mut sequence: Vec<usize> = Vec::with_capacity(patterns.len());
        for index in asked.chain(0..patterns.len()) {
            if !sequence.contains(&index) {
                sequence.push(index);
            }
        }
        let mut state = self.start(sequence[0]);
        for index in &sequence[1..] {
            state = self.next(&state, *index);
        }
        self.cheapest(&state)
    }

    /// Considers all orders of a component's patterns.
    fn dynamic(&mut self, component: &[usize]) -> WayNumber {
        let count = component.len();
        let shared = self.shared_variables(component);
        let mut states = vec![State::default(); 1 << count];
        for (bit, pattern) in component.iter().enumerate() {
            states[1 << bit] = self.start(*pattern);
        }
        for set in 1_usize..1 << count {
            if set.is_power_of_two() {
                continue;
            }
            // The estimate of a set must not depend on the order in which it is joined.
            let mut state = self.estimate(component, set, &states);
            for (variable, members) in &shared {
                let (group, rest) = (set & members, set & !members);
                if group.count_ones() > 1 && rest != 0 {
                    let bits = (0..count).filter(|bit| group >> bit & 1 == 1);
                    let patterns: Vec<usize> = bits.map(|bit| component[bit]).collect();
                    self.leapfrogs(&states[rest], &patterns, *variable, &mut state);
                }
            }
            for (bit, pattern) in component.iter().enumerate() {
                let rest = set & !(1 << bit);
                if rest != set {
                    let before = states[rest];
                    self.extend(&before, *pattern, &mut state);
                }
            }
            states[set] = state;
        }
        self.cheapest(&states[(1 << count) - 1])
    }

    /// The rows of a set of patterns, as expected, without ways of getting them.
    fn estimate(&mut self, component: &[usize], set: usize, states: &[State]) -> State {
        let highest = (usize::BITS - 1 - set.leading_zeros()) as usize;
        let mut rows = self.joined_rows(&states[set & !(1 << highest)], component[highest]);
        // A pattern that binds nothing new only removes rows.
        for (bit, pattern) in component.iter().enumerate() {
            let others = set & !(1 << bit);
            if others != set && self.binds_nothing_new(&states[others], *pattern) {
                rows = rows.min(states[others].rows);
            }
        }
        self.joined(&states[set & !(1 << highest)], component[highest], rows)
    }

    /// Always adds the connected pattern that leaves the fewest rows.
    fn greedy(&mut self, component: &[usize]) -> WayNumber {
        let mut remaining = component.to_vec();
        let all = remaining
            .iter()
            .enumerate()
            .map(|(index, pattern)| (self.patterns[*pattern].expected, index));
        let (_, first) = all
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .expect("a component has a pattern");
        let mut state = self.start(remaining.swap_remove(first));
        while !remaining.is_empty() {
            state = self.add_next(&state, &mut remaining);
        }
        self.cheapest(&state)
    }

    /// Begins with rows that are given, and always adds the connected pattern that leaves the fewest rows.
    #[expect(
        clippy::wrong_self_convention,
        reason = "the plan is made from the feed"
    )]
    fn from_feed(&mut self, feed: &[VariableId], rows: f64) -> WayNumber {
        let start = self.distinct.len();
        let distinct: Vec<f64> = self
            .variables
            .iter()
            .map(|variable| if feed.contains(variable) { rows } else { 0.0 })
            .collect();
        self.distinct.extend(distinct);
        self.ways.push(Way {
            cost: 0.0,
            rows,
            sort: Sort::NONE,
            step: Step::Feed,
        });
        let mut state = State {
            kept: Kept::only(self.ways.len() - 1),
            rows,
            members: 0,
            distinct: start,
        };
        let mut remaining: Vec<usize> = (0..self.patterns.len()).collect();
        while !remaining.is_empty() {
            state = self.add_next(&state, &mut remaining);
        }
        self.cheapest(&state)
    }

    /// Joins the rows so far with the connected pattern that leaves the fewest rows, or with those that bind a variable at once if
    /// they leave fewer, and takes what was joined from the remaining ones.
    fn add_next(&mut self, state: &State, remaining: &mut Vec<usize>) -> State {
        let (_, rows, next) = remaining
            .iter()
            .enumerate()
            .map(|(index, pattern)| {
                let is_apart = !self.is_connected(state, *pattern);
                (is_apart, self.joined_rows(state, *pattern), index)
            })
            .min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)))
            .expect("a pattern remains");
        if let Some(group) = self.best_group(state, remaining)
            && group.rows() < rows
        {
            remaining.retain(|pattern| !group.patterns.contains(pattern));
            return self.next_by_leaps(state, &group);
        }
        let pattern = remaining.swap_remove(next);
        self.next(state, pattern)
    }

    /// The rows so far joined with one pattern more, by whatever way is best.
    fn next(&mut self, state: &State, pattern: usize) -> State {
        let rows = self.joined_rows(state, pattern);
        let mut next = self.joined(state, pattern, rows);
        self.extend(state, pattern, &mut next);
        if next.kept.is_empty() {
            let right = self.start(pattern);
            let (left, right) = (self.cheapest(state), self.cheapest(&right));
            next.kept = Kept::only(self.cross(left, right));
        }
        next
    }

    fn distinct_in(&self, state: &State, variable: u16) -> f64 {
        self.distinct[state.distinct + usize::from(variable)]
    }

    fn is_bound(&self, state: &State, variable: u16) -> bool {
        self.distinct_in(state, variable) > 0.0
    }

    fn is_connected(&self, state: &State, pattern: usize) -> bool {
        let mut variables = self.patterns[pattern].variables.iter();
        variables.any(|(variable, _)| self.is_bound(state, *variable))
    }

    fn binds_nothing_new(&self, state: &State, pattern: usize) -> bool {
        let mut variables = self.patterns[pattern].variables.iter();
        variables.all(|(variable, _)| self.is_bound(state, *variable))
    }

    /// How many pairs of a row so far and one of the pattern agree in those of these variables that are bound.
    fn pairs(&self, state: &State, pattern: &Prepared, mut counts: impl FnMut(u16) -> bool) -> f64 {
        let all = state.rows * pattern.expected;
        pattern
            .variables
            .iter()
            .filter(|(variable, _)| counts(*variable))
            .fold(all, |pairs, (variable, theirs)| {
                pairs / self.distinct_in(state, *variable).max(*theirs).max(1.0)
            })
    }

    /// The expected rows of the join with a pattern.
    fn joined_rows(&self, state: &State, pattern: usize) -> f64 {
        let prepared = &self.patterns[pattern];
        let is_bound = |variable| self.is_bound(state, variable);
        let rows = match self.correlations.fan_out(state.members, pattern) {
            Some((subject, fan_out)) => {
                let is_subject = |variable: u16| self.variables[usize::from(variable)] == subject;
                let others = |variable| is_bound(variable) && !is_subject(variable);
                self.pairs(state, prepared, others) / prepared.expected * fan_out
            }
            None => self.pairs(state, prepared, is_bound),
        };
        let rows = rows * self.correlations.factor(state.members, pattern);
        if self.binds_nothing_new(state, pattern) {
            rows.min(state.rows)
        } else {
            rows
        }
    }

    /// The state after the join with a pattern, without ways of getting there.
    fn joined(&mut self, state: &State, pattern: usize, rows: f64) -> State {
        let start = self.distinct.len();
        let end = state.distinct + self.variables.len();
        self.distinct.extend_from_within(state.distinct..end);
        for (variable, theirs) in &self.patterns[pattern].variables {
            let known = &mut self.distinct[start + usize::from(*variable)];
            *known = if *known > 0.0 {
                known.min(*theirs)
            } else {
                *theirs
            };
        }
        for known in &mut self.distinct[start..] {
            if *known > 0.0 {
                *known = known.min(rows).max(1.0);
            }
        }
        State {
            kept: Kept::default(),
            rows,
            members: state.members | bit(pattern),
            distinct: start,
        }
    }

    /// The ways of reading one pattern.
    fn start(&mut self, index: usize) -> State {
        let start = self.distinct.len();
        self.distinct.resize(start + self.variables.len(), 0.0);
        let pattern = &self.patterns[index];
        for (variable, distinct) in &pattern.variables {
            self.distinct[start + usize::from(*variable)] = *distinct;
        }
        let mut state = State {
            kept: Kept::default(),
            rows: pattern.expected,
            members: bit(index),
            distinct: start,
        };
        for scan in &pattern.scans {
            let is_scattered = self
                .filtered
                .is_some_and(|variable| scan.sort.iter().next() != Some(variable));
            let fetch = if is_scattered { cost::FETCH } else { 0.0 };
            let way = Way {
                cost: cost::OPEN + pattern.rows * (cost::SCAN + fetch),
                rows: pattern.expected,
                sort: scan.worth,
                step: Step::Scan {
                    pattern: index,
                    order: scan.order,
                },
            };
            keep(&mut self.ways, &mut state.kept, way);
        }
        state
    }

    fn cross(&mut self, left: WayNumber, right: WayNumber) -> WayNumber {
        let (left_way, right_way) = (&self.ways[left], &self.ways[right]);
        let rows = left_way.rows * right_way.rows;
        let batches = (left_way.rows / cost::BATCH).ceil().max(1.0);
        let way = Way {
            cost: left_way.cost + batches * right_way.cost + rows * cost::GIVE,
            rows,
            sort: Sort::NONE,
            step: Step::Cross { left, right },
        };
        self.ways.push(way);
        self.ways.len() - 1
    }

    /// The cheapest way, when a DISTINCT above is thought of.
    fn cheapest(&self, state: &State) -> WayNumber {
        let total = |way: WayNumber| {
            let way = &self.ways[way];
            let grouped = way
                .sort
                .iter()
                .take_while(|variable| self.is_distinct[usize::from(*variable)])
                .count();
            if grouped < self.distinct_columns {
                way.cost + way.rows * cost::REMEMBER
            } else {
                way.cost
            }
        };
        state
            .kept
            .iter()
            .min_by(|a, b| total(*a).total_cmp(&total(*b)))
            .expect("there is a way")
    }

    /// Adds the ways of joining the rows so far with one pattern more that shares variables.
    fn extend(&mut self, state: &State, index: usize, next: &mut State) {
        if !self.is_connected(state, index) {
            return;
        }
        for way in state.kept.iter() {
            if self.options.merge_joins {
                self.merges(state, way, index, next);
            }
            if self.options.lookup_joins {
                self.lookups(state, way, index, next);
            }
            let is_small = self.patterns[index].rows <= HASH_ROWS_MAX as f64;
            // Where no order of the index serves (some that sort by graph), or the options forbid what would, it must do.
            if self.options.hash_joins && is_small || next.kept.is_empty() {
                self.hash(way, index, next);
            }
        }
    }

    fn merges(&mut self, state: &State, left: WayNumber, index: usize, next: &mut State) {
        let left_way = self.ways[left];
        if left_way.sort == Sort::NONE {
            return;
        }
        let pattern = &self.patterns[index];
        for scan in &pattern.scans {
            let keys = scan.sort.common_prefix(left_way.sort);
            if keys == 0 {
                continue;
            }
            // Few rows leap through many, at the price of a batch each.
            let read = (pattern.rows * cost::SCAN)
                .min(state.rows * (cost::SEEK + cost::BATCH * cost::SCAN));
            let is_key = |variable| scan.sort.iter().take(keys).any(|key| key == variable);
            let pairs = self.pairs(state, pattern, is_key);
            let way = Way {
                cost: left_way.cost
                    + cost::OPEN
                    + read
                    + (state.rows + read / cost::SCAN) * cost::MERGE
                    + pairs.max(next.rows) * cost::GIVE,
                rows: next.rows,
                sort: left_way.sort,
                step: Step::Merge {
                    left,
                    pattern: index,
                    order: scan.order,
                    keys,
                },
            };
            keep(&mut self.ways, &mut next.kept, way);
        }
    }

    fn lookups(&mut self, state: &State, outer: WayNumber, index: usize, next: &mut State) {
        let outer_way = self.ways[outer];
        let pattern = &self.patterns[index];
        // As many keys as possible, and if possible those that the rows are sorted by.
        let mut best: Option<(usize, bool, Order, Sort)> = None;
        for scan in &pattern.scans {
            let mut keys = Sort::NONE;
            for variable in scan
                .sort
                .iter()
                .take_while(|variable| self.is_bound(state, *variable))
            {
                keys.push(variable);
            }
            let count = keys.count();
            let is_sorted = keys.is_prefix_of(outer_way.sort);
            let is_better = best.is_none_or(|(best_count, best_sorted, ..)| {
                (count, is_sorted) > (best_count, best_sorted)
            });
            if count > 0 && is_better {
                best = Some((count, is_sorted, scan.order, keys));
            }
        }
        let Some((keys, is_sorted, order, sort)) = best else {
            return;
        };
        let pairs = self.pairs(state, pattern, |variable| {
            sort.iter().any(|key| key == variable)
        });
        let read_all = pattern.rows * cost::SCAN;
        let found = if is_sorted {
            cost::OPEN + (state.rows * cost::SEEK).min(read_all)
        } else {
            let batches = (state.rows / cost::BATCH).ceil().max(1.0);
            let keys = state.rows / batches;
            batches * (cost::OPEN + (keys * cost::SEEK).min(read_all)) + state.rows * cost::SORT
        };
        let way = Way {
            cost: outer_way.cost
                + found
                + state.rows * cost::KEY
                + pairs.max(next.rows) * cost::GIVE,
            rows: next.rows,
            sort: if is_sorted { sort } else { Sort::NONE },
            step: Step::Lookup {
                outer,
                pattern: index,
                order,
                keys,
                is_sorted,
            },
        };
        keep(&mut self.ways, &mut next.kept, way);
    }

    fn hash(&mut self, outer: WayNumber, index: usize, next: &mut State) {
        let outer_way = self.ways[outer];
        let pattern = &self.patterns[index];
        let kept_cost = cost::OPEN + pattern.rows * (cost::SCAN + cost::FILE);
        let way = Way {
            cost: outer_way.cost
                + kept_cost
                + outer_way.rows * cost::PROBE
                + next.rows * cost::GIVE,
            rows: next.rows,
            sort: outer_way.sort,
            step: Step::Hash {
                outer,
                kept_cost,
                pattern: index,
                order: pattern
                    .scans
                    .first()
                    .expect("every pattern has an order")
                    .order,
            },
        };
        keep(&mut self.ways, &mut next.kept, way);
    }
}
