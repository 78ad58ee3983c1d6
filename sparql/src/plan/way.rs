//! Ways of getting the rows of some patterns: what [`super::join_order`] considers, and what it has chosen.

use super::logical::VariableId;
use quadrille_store::Order;

/// Ways that are kept for a set of patterns.
const WAYS_MAX: usize = 4;

/// Patterns that bind one variable at once, at most.
pub const LISTS_MAX: usize = 8;

/// A way of getting the rows of some patterns; an index into [`JoinPlan::ways`].
pub type WayNumber = usize;

/// The way chosen, with those that were considered.
#[derive(Debug)]
pub struct JoinPlan {
    /// Those that were considered.
    pub ways: Vec<Way>,
    /// The one that gives the rows of all patterns.
    pub root: WayNumber,
    variables: Vec<VariableId>,
}

/// A way of getting the rows of some patterns.
#[derive(Clone, Copy, Debug)]
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

/// The last step of a way. Patterns are given by their index in what [`super::join_order::choose`] was given.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Takes rows that are given, whatever they are.
    Feed,
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
        /// What is merged with them.
        pattern: usize,
        /// In which order.
        order: Order,
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
        /// What is kept.
        pattern: usize,
        /// In which order it is read.
        order: Order,
        /// Nanoseconds until it is kept.
        kept_cost: f64,
    },
    /// Binds a variable to the terms that several patterns agree on.
    Leapfrog {
        /// The rows so far.
        outer: WayNumber,
        /// The variable, by its local number.
        variable: u16,
        /// The patterns; those that are there come first.
        lists: [Option<ListStep>; LISTS_MAX],
    },
    /// Pairs all rows.
    Cross {
        /// One input.
        left: WayNumber,
        /// The other.
        right: WayNumber,
    },
}

/// A pattern whose terms, by the keys that rows have, are intersected with those of others.
#[derive(Clone, Copy, Debug)]
pub struct ListStep {
    /// Which.
    pub pattern: u16,
    /// The order that has the keys behind the bound columns, and the variable as its last column.
    pub order: Order,
    /// Whether the rows so far are sorted by the keys.
    pub is_sorted: bool,
}

impl JoinPlan {
    /// The plan of a way among others; `variables` are those that sorts number.
    pub fn new(ways: Vec<Way>, root: WayNumber, variables: Vec<VariableId>) -> Self {
        Self {
            ways,
            root,
            variables,
        }
    }

    /// Nanoseconds that pass before the first row because of inputs that are kept.
    pub fn kept_cost(&self) -> f64 {
        let mut cost = 0.0;
        let mut waiting = vec![self.root];
        while let Some(way) = waiting.pop() {
            match self.ways[way].step {
                Step::Feed | Step::Scan { .. } => {}
                Step::Merge { left: input, .. }
                | Step::Lookup { outer: input, .. }
                | Step::Leapfrog { outer: input, .. } => waiting.push(input),
                Step::Hash {
                    outer, kept_cost, ..
                } => {
                    cost += kept_cost;
                    waiting.push(outer);
                }
                Step::Cross { left, right } => waiting.extend([left, right]),
            }
        }
        cost
    }

    /// Nanoseconds until a number of rows has come, if all rows but for what is kept come at an even pace.
    pub fn cost_of(&self, rows: f64) -> f64 {
        let way = &self.ways[self.root];
        let kept_cost = self.kept_cost();
        kept_cost + (way.cost - kept_cost) * (rows / way.rows.max(1.0)).min(1.0)
    }

    /// A variable by its local number.
    pub fn variable(&self, local: u16) -> VariableId {
        self.variables[usize::from(local)]
    }

    /// The variables that a way's rows are sorted by.
    pub fn sort(&self, way: WayNumber) -> Vec<VariableId> {
        self.ways[way]
            .sort
            .iter()
            .map(|local| self.variables[usize::from(local)])
            .collect()
    }
}

/// A sequence of variables that rows are sorted by, by their local numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sort {
    variables: [u16; 4],
}

const NO_VARIABLE: u16 = u16::MAX;

impl Sort {
    /// In no order.
    pub const NONE: Self = Self {
        variables: [NO_VARIABLE; 4],
    };

    /// Adds a variable at the end; more than four are not kept.
    pub fn push(&mut self, variable: u16) {
        if let Some(free) = self
            .variables
            .iter_mut()
            .find(|entry| **entry == NO_VARIABLE)
        {
            *free = variable;
        }
    }

    /// The variables' local numbers.
    pub fn iter(self) -> impl Iterator<Item = u16> {
        self.variables
            .into_iter()
            .take_while(|variable| *variable != NO_VARIABLE)
    }

    /// How many variables there are.
    pub fn count(self) -> usize {
        self.iter().count()
    }

    /// How many variables both begin with.
    pub fn common_prefix(self, other: Self) -> usize {
        self.iter()
            .zip(other.iter())
            .take_while(|(a, b)| a == b)
            .count()
    }

    /// Whether rows that are sorted like the other are sorted like this.
    pub fn is_prefix_of(self, other: Self) -> bool {
        self.common_prefix(other) == self.count()
    }
}

/// The ways that are kept for a set of patterns.
#[derive(Clone, Copy, Default)]
pub struct Kept {
    numbers: [WayNumber; WAYS_MAX],
    count: usize,
}

impl Kept {
    /// A single way.
    pub fn only(way: WayNumber) -> Self {
        let mut kept = Self::default();
        kept.numbers[0] = way;
        kept.count = 1;
        kept
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Their numbers.
    pub fn iter(self) -> impl Iterator<Item = WayNumber> {
        self.numbers.into_iter().take(self.count)
    }
}

/// Keeps a way unless one is as cheap and as well sorted, and drops those that are no better than it; of too many the
/// dearest goes.
pub fn keep(ways: &mut Vec<Way>, kept: &mut Kept, way: Way) {
    if kept
        .iter()
        .any(|other| ways[other].cost <= way.cost && way.sort.is_prefix_of(ways[other].sort))
    {
        return;
    }
    let mut remaining = Kept::default();
    for other in kept.iter() {
        if ways[other].cost < way.cost || !ways[other].sort.is_prefix_of(way.sort) {
            remaining.numbers[remaining.count] = other;
            remaining.count += 1;
        }
    }
    if remaining.count < WAYS_MAX {
        remaining.numbers[remaining.count] = ways.len();
        remaining.count += 1;
        ways.push(way);
    } else if let Some(dearest) = remaining
        .numbers
        .iter_mut()
        .max_by(|a, b| ways[**a].cost.total_cmp(&ways[**b].cost))
        && ways[*dearest].cost > way.cost
    {
        *dearest = ways.len();
        ways.push(way);
    }
    *kept = remaining;
}
