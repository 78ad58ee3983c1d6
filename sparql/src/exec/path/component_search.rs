//! `ComponentSearch`: the nodes that a path leads to from a start, over strongly connected components.

use super::components::Components;
use super::machine::Machine;
use super::step_graph::{CHECKED_STEPS, Given, Marks, StepGraph};
use crate::error::Result;
use crate::exec::control::Control;
use crate::exec::memory::Reservation;
use quadrille_store::TermId;
use std::sync::Arc;

/// A search over components.
pub(super) struct ComponentSearch {
    graph: Arc<StepGraph>,
    components: Arc<Components>,
    visited: Marks,
    /// All components that were visited, those whose members are to be given from `next` on.
    queue: Vec<u32>,
    next: usize,
    /// Members of that component that were dealt with.
    member: usize,
    /// The nodes that were given, if several states accept.
    given: Option<Given>,
    /// A start that no step knows, if it is to be given.
    start: Option<TermId>,
    /// The least component that has what is wanted. Components reach only lesser ones, so those below it are left out.
    least: u32,
    reservation: Reservation,
}

impl ComponentSearch {
    pub(super) fn new(
        graph: Arc<StepGraph>,
        components: Arc<Components>,
        machine: &Machine,
        control: &Arc<Control>,
    ) -> Result<Self> {
        let mut search = Self {
            reservation: Reservation::fixed(control.memory()),
            visited: Marks::new(components.count()),
            given: Given::new(machine, &graph),
            graph,
            components,
            queue: Vec::new(),
            next: 0,
            member: 0,
            start: None,
            least: 0,
        };
        let bytes = search.bytes();
        search.reservation.grow(bytes)?;
        Ok(search)
    }

    fn bytes(&self) -> u64 {
        self.visited.bytes() + self.given.as_ref().map_or(0, Given::bytes)
    }

    pub(super) fn begin(&mut self, machine: &Machine, start: TermId, towards: Option<TermId>) {
        for component in self.queue.drain(..) {
            self.visited.remove(component);
        }
        if let Some(given) = &mut self.given {
            given.clear();
        }
        self.next = 0;
        self.member = 0;
        self.start = None;
        self.least = match towards {
            Some(node) => self.least_of(machine, node),
            None => 0,
        };
        match self.graph.number_of(start) {
            Some(node) => {
                let component = self.components.of(self.graph.place(machine.initial, node));
                self.visited.insert(component);
                self.queue.push(component);
            }
            None => self.start = machine.is_nullable().then_some(start),
        }
    }

    /// The least component in which a path may end at a node; more than any if there is none.
    fn least_of(&self, machine: &Machine, node: TermId) -> u32 {
        let Some(node) = self.graph.number_of(node) else {
            return u32::MAX;
        };
        let accepting = machine.is_accepting.iter().enumerate();
        accepting
            .filter(|(_, is_accepting)| **is_accepting)
            .map(|(state, _)| self.components.of(self.graph.place(state, node)))
            .min()
            .unwrap_or(u32::MAX)
    }

    pub(super) fn advance(
        &mut self,
        machine: &Machine,
        control: &Control,
        ends: &mut Vec<TermId>,
        most: usize,
    ) -> Result<bool> {
        control.check()?;
        ends.extend(self.start.take());
        let (full, mut steps) = (ends.len() + most, 0);
        while let Some(component) = self.queue.get(self.next) {
            let members = self.components.members(*component);
            while let Some(member) = members.get(self.member) {
                if ends.len() >= full {
                    return Ok(true);
                }
                steps += 1;
                if steps % CHECKED_STEPS == 0 {
                    control.check()?;
                }
                self.member += 1;
                let (state, node) = self.graph.state_and_node(*member);
                if machine.is_accepting[state]
                    && self.given.as_mut().is_none_or(|given| given.insert(node))
                {
                    ends.push(self.graph.nodes[node as usize]);
                }
            }
            self.member = 0;
            self.next += 1;
            for target in self.components.targets(*component) {
                steps += 1;
                if steps % CHECKED_STEPS == 0 {
                    control.check()?;
                }
                if *target >= self.least && self.visited.insert(*target) {
                    self.queue.push(*target);
                }
            }
        }
        Ok(false)
    }
}
