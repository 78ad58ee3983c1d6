//! How a conjunction's patterns are joined: in which order, and by which of the joins.
//!
//! Up to [`DYNAMIC_PATTERNS_MAX`] patterns all orders are considered by dynamic programming over the sets of patterns
//! joined so far; beyond that the next pattern is always the one that gives the fewest rows. For each set the
//! cheapest ways are kept that differ in how their rows are sorted, since a dearer way may be sorted for a
//! merge join that a cheaper one is not. Every step adds one pattern:
//! * by a **merge join** where the rows so far and the pattern can be sorted by the same variables,
//! * by **index lookups** for each row so far,
//! * by a **hash join** that keeps the pattern's rows, where these are few (they are counted exactly),
//! * as a cross product, only if nothing else connects the pattern.
//!
//! Costs are in nanoseconds, roughly.

use super::PlannerOptions;
use super::cardinality::{CountedPattern, POSITIONS};
use super::logical::VariableId;
use hashbrown::HashMap;
use quadrille_store::{GraphSelector, Order};

/// The most patterns whose orders are all considered.
pub const DYNAMIC_PATTERNS_MAX: usize = 12;
/// The most rows that a hash join keeps.
pub const HASH_ROWS_MAX: u64 = 1 << 20;
/// Ways that are kept for a set of patterns.
const WAYS_MAX: usize = 4;

/// What things cost, in nanoseconds.
mod cost {
    /// To open a scan.
    pub const OPEN: f64 = 1_000.0;
    /// To read a row of a scan.
    pub const SCAN: f64 = 2.0;
    /// To compare a row in a merge join.
    pub const MERGE: f64 = 3.0;
    /// To go over a key of a lookup.
    pub const KEY: f64 = 8.0;
    /// To sort a key among those of its batch.
    pub const SORT: f64 = 30.0;
    /// To seek in an index.
    pub const SEEK: f64 = 250.0;
    /// To file a row in a hash table.
    pub const FILE: f64 = 20.0;
    /// To look a row up there.
    pub const PROBE: f64 = 10.0;
    /// To give a row.
    pub const GIVE: f64 = 4.0;
    /// To remember a row for DISTINCT.
    pub const REMEMBER: f64 = 25.0;
    /// Rows of a batch.
    pub const BATCH: f64 = 1_024.0;
}

/// A way of getting the rows of some patterns; an index into [`JoinPlan::ways`].
pub type WayNumber = usize;

/// The way chosen, with those that it is made of.
#[derive(Debug)]
pub struct JoinPlan {
    /// Those that were considered.
    pub ways: Vec<Way>,
    /// The one that gives the rows of all patterns.
    pub root: WayNumber,
}

/// A way of getting the rows of some patterns.
#[derive(Clone, Debug)]
pub struct Way {
    /// Nanoseconds.
    pub cost: f64,
    /// How many rows are expected.
    pub rows: f64,
    /// The variables that the rows are sorted by, as far as that matters to anybody.
    pub sort: Sort,
    /// How.
    pub step: Step,
}

/// A sequence of variables that rows are sorted by.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Sort {
    variables: [Option<VariableId>; 4],
}

impl std::fmt::Debug for Sort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The last step of a way. Patterns are given by their index in what [`choose`] was given.
#[derive(Clone, Debug)]
pub enum Step {
    /// Reads a pattern.
    Scan {
        /// Which.
        pattern: usize,
        /// In which order.
        order: Order,
    },
    /// Merges rows with those of a pattern.
    Merge {
        /// The rows so far.
        left: WayNumber,
        /// A scan.
        right: WayNumber,
        /// How many variables of the common sort are compared.
        keys: usize,
    },
    /// Looks a pattern up.
    Lookup {
        /// The rows so far.
        outer: WayNumber,
        /// What is looked up.
        pattern: usize,
        /// Where.
        order: Order,
        /// How many of the order's columns after the bound ones are keys.
        keys: usize,
        /// Whether the rows so far are sorted by the keys.
        is_sorted: bool,
    },
    /// Keeps the rows of a pattern and looks them up.
    Hash {
        /// The rows so far.
        outer: WayNumber,
        /// A scan.
        kept: WayNumber,
    },
    /// Pairs all rows.
    Cross {
        /// One input.
        left: WayNumber,
        /// The other.
        right: WayNumber,
    },
}

impl Sort {
    fn push(&mut self, variable: VariableId) {
        if let Some(free) = self.variables.iter_mut().find(|entry| entry.is_none()) {
            *free = Some(variable);
        }
    }

    /// The variables.
    pub fn iter(&self) -> impl Iterator<Item = VariableId> + '_ {
        self.variables.iter().map_while(|variable| *variable)
    }

    /// How many there are.
    fn len(&self) -> usize {
        self.iter().count()
    }

    fn is_prefix_of(&self, other: &Self) -> bool {
        self.iter().zip(other.iter()).all(|(a, b)| a == b) && self.len() <= other.len()
    }

    /// The first variables, as long as each is worth keeping.
    fn trimmed(&self, is_worth: impl Fn(VariableId) -> bool) -> Self {
        let mut trimmed = Self::default();
        for variable in self.iter().take_while(|variable| is_worth(*variable)) {
            trimmed.push(variable);
        }
        trimmed
    }
}

/// The variables that the rows of a pattern are sorted by in an order; `None` if the pattern cannot be read in it.
fn sort_of(pattern: &CountedPattern, order: Order) -> Option<Sort> {
    let (_, bound) = pattern.pattern.prefix_in(order)?;
    let mut sort = Sort::default();
    for position in &order.columns()[bound..] {
        match slot(pattern, *position) {
            // What comes after a repeated variable cannot be sought by position any more.
            Some(variable) if sort.iter().all(|known| known != variable) => sort.push(variable),
            _ => break,
        }
    }
    Some(sort)
}

/// The variable in a place of a pattern.
pub fn slot(pattern: &CountedPattern, position: quadrille_store::Position) -> Option<VariableId> {
    let index = POSITIONS.iter().position(|known| *known == position);
    index.and_then(|index| pattern.slots[index])
}

/// The orders that can hold a pattern's rows.
fn orders(pattern: &CountedPattern) -> &'static [Order] {
    match pattern.pattern.graph {
        GraphSelector::Default => &Order::DEFAULT_GRAPH,
        GraphSelector::Named(_) | GraphSelector::AnyNamed => &Order::NAMED_GRAPHS,
    }
}

/// Chooses how to join patterns, of which there is at least one. `distinct` are the variables of a DISTINCT above.
pub fn choose(patterns: &[CountedPattern], options: &PlannerOptions, distinct: &[VariableId]) -> JoinPlan {
    let mut chooser = Chooser::new(patterns, options, distinct);
    let root = match &options.forced_order {
        Some(order) => chooser.forced(order),
        None => chooser.components(),
    };
    JoinPlan {
        ways: chooser.ways,
        root,
    }
}

/// The rows so far, while patterns are added to them.
#[derive(Clone, Default)]
struct State {
    /// Ways of getting them.
    ways: Vec<WayNumber>,
    rows: f64,
    /// By local number of the variable: how many terms are expected, 0 if it is not bound.
    distinct: Vec<f64>,
}

struct Chooser<'a> {
    patterns: &'a [CountedPattern],
    options: &'a PlannerOptions,
    ways: Vec<Way>,
    /// Local numbers of the variables that occur.
    local: HashMap<VariableId, usize>,
    /// By local number: how many patterns have the variable.
    occurrences: Vec<usize>,
    /// By local number: whether a DISTINCT above has it.
    is_distinct: Vec<bool>,
    /// Whether there is a DISTINCT above.
    has_distinct: bool,
}

impl<'a> Chooser<'a> {
    fn new(patterns: &'a [CountedPattern], options: &'a PlannerOptions, distinct: &[VariableId]) -> Self {
        let mut local = HashMap::new();
        let mut occurrences = Vec::new();
        for pattern in patterns {
            for variable in variables(pattern) {
                let next = occurrences.len();
                let number = *local.entry(variable).or_insert(next);
                if number == next {
                    occurrences.push(0);
                }
                occurrences[number] += 1;
            }
        }
        let mut is_distinct = vec![false; occurrences.len()];
        for variable in distinct {
            if let Some(number) = local.get(variable) {
                is_distinct[*number] = true;
            }
        }
        Self {
            patterns,
            options,
            ways: Vec::new(),
            local,
            occurrences,
            is_distinct,
            has_distinct: !distinct.is_empty(),
        }
    }

    /// Joins the patterns that variables connect, then pairs what nothing connects, fewest rows first.
    fn components(&mut self) -> WayNumber {
        let mut roots: Vec<WayNumber> = connected(self.patterns)
            .into_iter()
            .map(|component| {
                if component.len() <= DYNAMIC_PATTERNS_MAX {
                    self.dynamic(&component)
                } else {
                    self.greedy(&component)
                }
            })
            .collect();
        roots.sort_by(|a, b| self.ways[*a].rows.total_cmp(&self.ways[*b].rows));
        let mut roots = roots.into_iter();
        let first = roots.next().expect("there is at least one pattern");
        roots.fold(first, |left, right| self.cross(left, right))
    }

    fn forced(&mut self, order: &[usize]) -> WayNumber {
        let asked = order
            .iter()
            .filter_map(|number| self.patterns.iter().position(|pattern| pattern.number == *number));
        let mut sequence: Vec<usize> = Vec::with_capacity(self.patterns.len());
        for index in asked.chain(0..self.patterns.len()) {
            if !sequence.contains(&index) {
                sequence.push(index);
            }
        }
        let mut state = self.start(sequence[0]);
        for index in &sequence[1..] {
            state = match self.extended(&state, *index) {
                Some(next) => next,
                None => self.crossed(&state, *index),
            };
        }
        self.cheapest(&state)
    }

    /// Considers all orders of a component's patterns.
    fn dynamic(&mut self, component: &[usize]) -> WayNumber {
        let count = component.len();
        let mut states: Vec<State> = vec![State::default(); 1 << count];
        for (bit, pattern) in component.iter().enumerate() {
            states[1 << bit] = self.start(*pattern);
        }
        for set in 1_usize..1 << count {
            if set.is_power_of_two() {
                continue;
            }
            // The estimate of a set must not depend on the order in which it is joined.
            let (rows, distinct) = self.estimate(component, set, &states);
            let mut state = State {
                ways: Vec::new(),
                rows,
                distinct,
            };
            for (bit, pattern) in component.iter().enumerate() {
                let rest = set & !(1 << bit);
                if rest == set || states[rest].ways.is_empty() {
                    continue;
                }
                let before = std::mem::take(&mut states[rest]);
                self.extend(&before, *pattern, &mut state);
                states[rest] = before;
            }
            states[set] = state;
        }
        self.cheapest(&states[(1 << count) - 1])
    }

    /// The expected rows of a set of patterns, and distinct counts of their variables.
    fn estimate(&self, component: &[usize], set: usize, states: &[State]) -> (f64, Vec<f64>) {
        let highest = (usize::BITS - 1 - set.leading_zeros()) as usize;
        let rest = set & !(1 << highest);
        let pattern = &self.patterns[component[highest]];
        let before = &states[rest];
        let (mut rows, distinct) = self.joined(before, pattern);
        // A pattern that binds nothing new only removes rows.
        for (bit, pattern) in component.iter().enumerate() {
            let others = set & !(1 << bit);
            if others != set && self.binds_nothing_new(&states[others], &self.patterns[*pattern]) {
                rows = rows.min(states[others].rows);
            }
        }
        (rows, distinct)
    }

    fn binds_nothing_new(&self, state: &State, pattern: &CountedPattern) -> bool {
        variables(pattern).all(|variable| {
            state
                .distinct
                .get(self.local[&variable])
                .is_some_and(|distinct| *distinct > 0.0)
        })
    }

    /// The expected rows of the join with a pattern, and the distinct counts after it.
    fn joined(&self, state: &State, pattern: &CountedPattern) -> (f64, Vec<f64>) {
        let mut rows = state.rows * pattern.expected;
        let mut distinct = state.distinct.clone();
        distinct.resize(self.occurrences.len(), 0.0);
        for variable in variables(pattern) {
            let number = self.local[&variable];
            let theirs = distinct_of(pattern, variable);
            let known = &mut distinct[number];
            if *known > 0.0 {
                rows /= known.max(theirs);
                *known = known.min(theirs);
            } else {
                *known = theirs;
            }
        }
        if self.binds_nothing_new(state, pattern) {
            rows = rows.min(state.rows);
        }
        for known in &mut distinct {
            if *known > 0.0 {
                *known = known.min(rows).max(1.0);
            }
        }
        (rows, distinct)
    }

    /// Always adds the connected pattern that leaves the fewest rows.
    fn greedy(&mut self, component: &[usize]) -> WayNumber {
        let mut remaining = component.to_vec();
        let first = (0..remaining.len())
            .min_by(|a, b| {
                let rows = |index: &usize| self.patterns[remaining[*index]].expected;
                rows(a).total_cmp(&rows(b))
            })
            .expect("a component has a pattern");
        let mut state = self.start(remaining.swap_remove(first));
        while !remaining.is_empty() {
            let next = (0..remaining.len())
                .filter(|index| self.is_connected(&state, &self.patterns[remaining[*index]]))
                .map(|index| (self.joined(&state, &self.patterns[remaining[index]]).0, index))
                .min_by(|a, b| a.0.total_cmp(&b.0))
                .map(|(_, index)| index)
                .expect("a component is connected");
            let pattern = remaining.swap_remove(next);
            state = match self.extended(&state, pattern) {
                Some(next) => next,
                None => self.crossed(&state, pattern),
            };
        }
        self.cheapest(&state)
    }

    fn is_connected(&self, state: &State, pattern: &CountedPattern) -> bool {
        variables(pattern).any(|variable| self.distinct_in(state, variable) > 0.0)
    }

    fn distinct_in(&self, state: &State, variable: VariableId) -> f64 {
        state
            .distinct
            .get(self.local[&variable])
            .copied()
            .unwrap_or(0.0)
    }

    /// The ways of reading one pattern.
    fn start(&mut self, index: usize) -> State {
        let pattern = &self.patterns[index];
        let mut distinct = vec![0.0; self.occurrences.len()];
        for variable in variables(pattern) {
            distinct[self.local[&variable]] = distinct_of(pattern, variable);
        }
        let mut state = State {
            ways: Vec::new(),
            rows: pattern.expected,
            distinct,
        };
        for order in orders(pattern) {
            if let Some(sort) = sort_of(pattern, *order) {
                let way = Way {
                    cost: cost::OPEN + pattern.rows as f64 * cost::SCAN,
                    rows: pattern.expected,
                    sort: sort.trimmed(|variable| self.is_worth_sorting(variable)),
                    step: Step::Scan {
                        pattern: index,
                        order: *order,
                    },
                };
                self.add(way, &mut state.ways, usize::MAX);
            }
        }
        state
    }

    /// Whether anything can come of rows that are sorted by a variable.
    fn is_worth_sorting(&self, variable: VariableId) -> bool {
        let number = self.local[&variable];
        self.occurrences[number] > 1 || self.is_distinct[number]
    }

    /// Keeps a way unless one is as cheap and as well sorted, and drops those that are no better than it.
    fn add(&mut self, way: Way, kept: &mut Vec<WayNumber>, most: usize) {
        let ways = &mut self.ways;
        if kept
            .iter()
            .any(|other| ways[*other].cost <= way.cost && way.sort.is_prefix_of(&ways[*other].sort))
        {
            return;
        }
        kept.retain(|other| ways[*other].cost < way.cost || !ways[*other].sort.is_prefix_of(&way.sort));
        kept.push(ways.len());
        ways.push(way);
        if kept.len() > most {
            let dearest = (0..kept.len())
                .max_by(|a, b| ways[kept[*a]].cost.total_cmp(&ways[kept[*b]].cost))
                .expect("there are ways");
            kept.swap_remove(dearest);
        }
    }

    fn extended(&mut self, state: &State, pattern: usize) -> Option<State> {
        let (rows, distinct) = self.joined(state, &self.patterns[pattern]);
        let mut next = State {
            ways: Vec::new(),
            rows,
            distinct,
        };
        self.extend(state, pattern, &mut next);
        (!next.ways.is_empty()).then_some(next)
    }

    fn crossed(&mut self, state: &State, pattern: usize) -> State {
        let (rows, distinct) = self.joined(state, &self.patterns[pattern]);
        let right = self.start(pattern);
        let (left, right) = (self.cheapest(state), self.cheapest(&right));
        let way = self.cross(left, right);
        State {
            ways: vec![way],
            rows,
            distinct,
        }
    }

    fn cross(&mut self, left: WayNumber, right: WayNumber) -> WayNumber {
        let (left_way, right_way) = (&self.ways[left], &self.ways[right]);
        let rows = left_way.rows * right_way.rows;
        let batches = (left_way.rows / cost::BATCH).ceil().max(1.0);
        let way = Way {
            cost: left_way.cost + batches * right_way.cost + rows * cost::GIVE,
            rows,
            sort: Sort::default(),
            step: Step::Cross { left, right },
        };
        self.ways.push(way);
        self.ways.len() - 1
    }

    /// The cheapest way, when a DISTINCT above is thought of.
    fn cheapest(&self, state: &State) -> WayNumber {
        let total = |way: &WayNumber| {
            let way = &self.ways[*way];
            let is_grouped = self.has_distinct
                && self
                    .is_distinct
                    .iter()
                    .filter(|is_distinct| **is_distinct)
                    .count()
                    <= way
                        .sort
                        .iter()
                        .take_while(|variable| self.is_distinct[self.local[variable]])
                        .count();
            let remember = self.has_distinct && !is_grouped;
            way.cost + if remember { way.rows * cost::REMEMBER } else { 0.0 }
        };
        *state
            .ways
            .iter()
            .min_by(|a, b| total(a).total_cmp(&total(b)))
            .expect("there is a way")
    }

    /// Adds the ways of joining the rows so far with one pattern more.
    fn extend(&mut self, state: &State, index: usize, next: &mut State) {
        let pattern = &self.patterns[index];
        let shared: Vec<VariableId> = variables(pattern)
            .filter(|variable| self.distinct_in(state, *variable) > 0.0)
            .collect();
        if shared.is_empty() {
            return;
        }
        for way in &state.ways {
            if self.options.merge_joins {
                self.merges(state, *way, index, next);
            }
            if self.options.lookup_joins {
                self.lookups(state, *way, index, &shared, next);
            }
            if self.options.hash_joins && pattern.rows <= HASH_ROWS_MAX {
                self.hash(*way, index, next);
            }
            if next.ways.is_empty() {
                // No order of the index serves (some that sort by graph), or the options forbid what would.
                self.hash(*way, index, next);
            }
        }
    }

    /// Rows that agree in some variables, before the others are compared.
    fn pairs(&self, state: &State, index: usize, keys: impl Iterator<Item = VariableId>) -> f64 {
        let pattern = &self.patterns[index];
        keys.fold(state.rows * pattern.expected, |pairs, variable| {
            pairs
                / self
                    .distinct_in(state, variable)
                    .max(distinct_of(pattern, variable))
        })
    }

    fn merges(&mut self, state: &State, left: WayNumber, index: usize, next: &mut State) {
        let pattern = &self.patterns[index];
        for order in orders(pattern) {
            let Some(sort) = sort_of(pattern, *order) else {
                continue;
            };
            let left_way = &self.ways[left];
            let keys = sort
                .iter()
                .zip(left_way.sort.iter())
                .take_while(|(a, b)| a == b)
                .count();
            if keys == 0 {
                continue;
            }
            let rows = pattern.rows as f64;
            // Few rows leap through many, at the price of a batch each.
            let read = (rows * cost::SCAN).min(state.rows * (cost::SEEK + cost::BATCH * cost::SCAN));
            let right_cost = cost::OPEN + read;
            let pairs = self.pairs(state, index, sort.iter().take(keys));
            let way = Way {
                cost: left_way.cost
                    + right_cost
                    + (state.rows + read / cost::SCAN) * cost::MERGE
                    + pairs.max(next.rows) * cost::GIVE,
                rows: next.rows,
                sort: left_way.sort,
                step: Step::Merge {
                    left,
                    right: self.ways.len(),
                    keys,
                },
            };
            self.ways.push(Way {
                cost: right_cost,
                rows: pattern.expected,
                sort,
                step: Step::Scan {
                    pattern: index,
                    order: *order,
                },
            });
            self.add(way, &mut next.ways, WAYS_MAX);
        }
    }

    fn lookups(
        &mut self,
        state: &State,
        outer: WayNumber,
        index: usize,
        shared: &[VariableId],
        next: &mut State,
    ) {
        let pattern = &self.patterns[index];
        let mut best: Option<(usize, bool, Order)> = None;
        for order in orders(pattern) {
            let Some((_, bound)) = pattern.pattern.prefix_in(*order) else {
                continue;
            };
            let mut keys = Sort::default();
            for position in &order.columns()[bound..] {
                match slot(pattern, *position) {
                    Some(variable)
                        if shared.contains(&variable) && keys.iter().all(|known| known != variable) =>
                    {
                        keys.push(variable);
                    }
                    _ => break,
                }
            }
            let is_sorted = keys.is_prefix_of(&self.ways[outer].sort);
            let count = keys.len();
            if count > 0
                && best
                    .is_none_or(|(best_count, best_sorted, _)| (count, is_sorted) > (best_count, best_sorted))
            {
                best = Some((count, is_sorted, *order));
            }
        }
        let Some((keys, is_sorted, order)) = best else {
            return;
        };
        let (_, bound) = pattern.pattern.prefix_in(order).expect("it was asked before");
        let key_variables: Vec<VariableId> = order.columns()[bound..bound + keys]
            .iter()
            .filter_map(|position| slot(pattern, *position))
            .collect();
        let pairs = self.pairs(state, index, key_variables.iter().copied());
        let rows = pattern.rows as f64;
        let outer_way = &self.ways[outer];
        let found = if is_sorted {
            cost::OPEN + (state.rows * cost::SEEK).min(rows * cost::SCAN)
        } else {
            let batches = (state.rows / cost::BATCH).ceil().max(1.0);
            let keys = state.rows / batches;
            batches * (cost::OPEN + (keys * cost::SEEK).min(rows * cost::SCAN)) + state.rows * cost::SORT
        };
        let mut sort = Sort::default();
        if is_sorted {
            key_variables.iter().for_each(|variable| sort.push(*variable));
        }
        let way = Way {
            cost: outer_way.cost + found + state.rows * cost::KEY + pairs.max(next.rows) * cost::GIVE,
            rows: next.rows,
            sort,
            step: Step::Lookup {
                outer,
                pattern: index,
                order,
                keys,
                is_sorted,
            },
        };
        self.add(way, &mut next.ways, WAYS_MAX);
    }

    fn hash(&mut self, outer: WayNumber, index: usize, next: &mut State) {
        let pattern = &self.patterns[index];
        let order = orders(pattern)
            .iter()
            .find(|order| pattern.pattern.prefix_in(**order).is_some())
            .expect("every pattern has an order");
        let kept_cost = cost::OPEN + pattern.rows as f64 * (cost::SCAN + cost::FILE);
        let outer_way = &self.ways[outer];
        let way = Way {
            cost: outer_way.cost + kept_cost + outer_way.rows * cost::PROBE + next.rows * cost::GIVE,
            rows: next.rows,
            sort: outer_way.sort,
            step: Step::Hash {
                outer,
                kept: self.ways.len(),
            },
        };
        self.ways.push(Way {
            cost: kept_cost,
            rows: pattern.expected,
            sort: Sort::default(),
            step: Step::Scan {
                pattern: index,
                order: *order,
            },
        });
        self.add(way, &mut next.ways, WAYS_MAX);
    }
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
fn distinct_of(pattern: &CountedPattern, variable: VariableId) -> f64 {
    pattern
        .slots
        .iter()
        .zip(pattern.distinct)
        .filter(|(slot, _)| **slot == Some(variable))
        .map(|(_, distinct)| distinct)
        .fold(f64::INFINITY, f64::min)
}

/// The sets of patterns that shared variables connect.
fn connected(patterns: &[CountedPattern]) -> Vec<Vec<usize>> {
    let mut components: Vec<(Vec<VariableId>, Vec<usize>)> = Vec::new();
    for (index, pattern) in patterns.iter().enumerate() {
        let mut joined = (variables(pattern).collect::<Vec<_>>(), vec![index]);
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
