//! Ways that bind a variable from several patterns at once ([`crate::exec::leapfrog_join`]).
//!
//! Such a step joins all patterns of a set that have the variable, where each has other variables too, and the rows so far bind
//! all of these. That is so only where the patterns make a cycle: two of them lead from the rows so far to the variable.
//! What else has the variable (its class, a condition) is joined before or after, as any pattern.

use super::{Chooser, Prepared, State};
use crate::plan::cost;
use crate::plan::way::{LISTS_MAX, ListStep, Sort, Step, Way, WayNumber, keep};
use quadrille_store::Order;

/// A pattern's order whose last column is the variable.
struct ListOrder {
    order: Order,
    /// The columns between the bound ones and the variable.
    keys: Sort,
    is_sorted: bool,
}

/// Patterns that bind a variable at once, and what comes of it.
pub(super) struct PatternGroup {
    variable: u16,
    /// Two at least.
    pub(super) patterns: Vec<usize>,
    /// The rows with all of them, without ways of getting there.
    joined: State,
}

impl PatternGroup {
    /// How many rows are expected.
    pub(super) fn rows(&self) -> f64 {
        self.joined.rows
    }
}

impl Chooser<'_> {
    /// The variables that several patterns of a component have, with these patterns as a set of the component's.
    pub(super) fn shared_variables(&self, component: &[usize]) -> Vec<(u16, usize)> {
        if !self.options.leapfrog_joins {
            return Vec::new();
        }
        (0..self.variables.len() as u16)
            .map(|variable| {
                let members = component.iter().enumerate().filter(|(_, pattern)| {
                    let mut variables = self.patterns[**pattern].variables.iter();
                    variables.any(|(known, _)| *known == variable)
                });
                (variable, members.fold(0, |set, (bit, _)| set | 1 << bit))
            })
            .filter(|(_, members): &(u16, usize)| members.count_ones() > 1)
            .collect()
    }

    /// Adds the ways of binding a variable to the rows so far from these patterns at once.
    pub(super) fn leapfrogs(
        &mut self,
        state: &State,
        patterns: &[usize],
        variable: u16,
        next: &mut State,
    ) {
        for outer in state.kept.iter() {
            if let Some(way) = self.leapfrog(state, outer, patterns, variable, next.rows) {
                keep(&mut self.ways, &mut next.kept, way);
            }
        }
    }

    /// Of the patterns that remain those that bind a variable at once and leave the fewest rows.
    pub(super) fn best_group(
        &mut self,
        state: &State,
        remaining: &[usize],
    ) -> Option<PatternGroup> {
        if !self.options.leapfrog_joins {
            return None;
        }
        let mut best: Option<PatternGroup> = None;
        for variable in 0..self.variables.len() as u16 {
            if self.is_bound(state, variable) {
                continue;
            }
            let listed = remaining.iter().copied().filter(|pattern| {
                let pattern = &self.patterns[*pattern];
                self.list_order(state, pattern, variable, Sort::NONE)
                    .is_some()
            });
            let patterns: Vec<usize> = listed.take(LISTS_MAX).collect();
            if patterns.len() < 2 {
                continue;
            }
            let mut joined = *state;
            for pattern in &patterns {
                let rows = self.joined_rows(&joined, *pattern);
                joined = self.joined(&joined, *pattern, rows);
            }
            if best.as_ref().is_none_or(|best| joined.rows < best.rows()) {
                best = Some(PatternGroup {
                    variable,
                    patterns,
                    joined,
                });
            }
        }
        best
    }

    /// The rows so far joined with patterns that bind a variable at once: so, or one after the other if that is cheaper.
    pub(super) fn next_by_leaps(&mut self, state: &State, group: &PatternGroup) -> State {
        let mut next = group.joined;
        self.leapfrogs(state, &group.patterns, group.variable, &mut next);
        let options = self.options;
        if options.merge_joins || options.lookup_joins || options.hash_joins {
            let patterns = group.patterns.iter();
            let one_by_one = patterns.fold(*state, |state, pattern| self.next(&state, *pattern));
            for way in one_by_one.kept.iter() {
                let way = self.ways[way];
                keep(&mut self.ways, &mut next.kept, way);
            }
        }
        next
    }

    fn leapfrog(
        &self,
        state: &State,
        outer: WayNumber,
        patterns: &[usize],
        variable: u16,
        rows: f64,
    ) -> Option<Way> {
        let outer_way = self.ways[outer];
        let mut lists = [None; LISTS_MAX];
        let mut count = 0;
        let (mut all, mut least) = (0.0, f64::INFINITY);
        let mut cost = outer_way.cost + state.rows * cost::INTERSECT + rows * cost::GIVE;
        for index in patterns {
            let pattern = &self.patterns[*index];
            let list = self.list_order(state, pattern, variable, outer_way.sort)?;
            *lists.get_mut(count)? = Some(ListStep {
                pattern: *index as u16,
                order: list.order,
                is_sorted: list.is_sorted,
            });
            count += 1;
            let is_key = |variable| list.keys.iter().any(|key| key == variable);
            let length = self.pairs(state, pattern, is_key) / state.rows.max(1.0);
            all += length;
            least = length.min(least);
            cost += self.cost_of_lists(state, pattern, &list, length);
        }
        // The shortest list is walked through, or all are.
        let compared = (all * cost::WALK).min(least * count as f64 * cost::LEAP);
        Some(Way {
            cost: cost + state.rows * compared,
            rows,
            sort: outer_way.sort,
            step: Step::Leapfrog {
                outer,
                variable,
                lists,
            },
        })
    }

    /// What it costs to have the lists of a pattern for all rows, if they have `length` terms on average.
    fn cost_of_lists(
        &self,
        state: &State,
        pattern: &Prepared,
        list: &ListOrder,
        length: f64,
    ) -> f64 {
        let keys = list.keys.iter();
        let lists = keys
            .map(|key| self.distinct_in(state, key))
            .product::<f64>()
            .min(state.rows);
        let read_all = pattern.rows * cost::SCAN;
        let read = (lists * length).min(pattern.rows) * cost::SCAN;
        let found = cost::OPEN + (lists * cost::SEEK + read).min(read_all) + read;
        if list.is_sorted {
            found + lists * cost::LIST
        } else {
            let batches = (state.rows / cost::BATCH).ceil().max(1.0);
            found
                + lists * (cost::LIST + cost::SORT)
                + state.rows * cost::PROBE
                + batches.min(lists) * cost::OPEN
        }
    }

    /// The order in which a pattern has the terms of a variable behind those of variables that are bound.
    fn list_order(
        &self,
        state: &State,
        pattern: &Prepared,
        variable: u16,
        sort: Sort,
    ) -> Option<ListOrder> {
        let mut others = pattern.variables.iter().map(|(other, _)| *other);
        if !others.all(|other| (other == variable) != self.is_bound(state, other)) {
            return None;
        }
        let orders = pattern.scans.iter().filter_map(|scan| {
            let count = scan.sort.count();
            if !scan.is_whole || count < 2 || scan.sort.iter().last() != Some(variable) {
                return None;
            }
            let mut keys = Sort::NONE;
            for key in scan.sort.iter().take(count - 1) {
                keys.push(key);
            }
            Some(ListOrder {
                order: scan.order,
                is_sorted: keys.is_prefix_of(sort),
                keys,
            })
        });
        orders.max_by_key(|list| list.is_sorted)
    }
}
