//! `Components`: the strongly connected components of the places that a path's searches go over, and the steps between
//! them.
//!
//! All places of a component reach the same ones, so a search goes over components instead: of a thousand nodes that are
//! all connected with one another it visits one component for each start, not a million steps. Memory is linear in
//! places and steps, whatever the number of pairs that the path connects.
//!
//! Components are found by Tarjan's algorithm with a stack of its own; a component is numbered after all that it reaches, so
//! that a search for one node need not look at components below those that have it.

use super::machine::Machine;
use super::step_graph::{CHECKED_STEPS, StepGraph};
use crate::error::Result;
use crate::exec::control::Control;
use crate::exec::memory::Reservation;
use std::sync::Arc;

/// No component, or a place that was not visited yet.
const NONE: u32 = u32::MAX;
/// Bytes that a place takes while components are found: its number, the least one that it reaches, its component, its
/// place among the members; and an entry of each stack.
const PLACE_BYTES: u64 = 32;
/// Bytes that a step between components takes at most.
const STEP_BYTES: u64 = 4;
/// Steps of a search that take as long as one here.
const COST_FACTOR: u64 = 4;

/// The components of a machine's places.
#[derive(Debug)]
pub(super) struct Components {
    /// By place; `NONE` for one that no path reaches.
    of_place: Vec<u32>,
    /// The places, grouped by component.
    members: Vec<u32>,
    /// By component: where its members end.
    member_ends: Vec<u32>,
    /// The components that others reach by a step, grouped by these.
    targets: Vec<u32>,
    /// By component: where its targets end.
    target_ends: Vec<u32>,
    /// Given back with the components.
    reservation: Reservation,
}

impl Components {
    /// How many steps of searches take as long as to find the components.
    pub(super) fn cost_steps(machine: &Machine, graph: &StepGraph) -> u64 {
        let places = (graph.nodes.len() * machine.is_accepting.len()) as u64;
        COST_FACTOR * (places + steps_of(machine, graph))
    }

    /// Whether the query has the memory for them.
    pub(super) fn fits(machine: &Machine, graph: &StepGraph, control: &Control) -> bool {
        let places = (graph.nodes.len() * machine.is_accepting.len()) as u64;
        let steps = steps_of(machine, graph);
        u32::try_from(steps).is_ok()
            && control
                .memory()
                .has_room(places * PLACE_BYTES + steps * STEP_BYTES)
    }

    /// Finds the components of all places that begin a path or are reached by one.
    pub(super) fn new(
        machine: &Machine,
        graph: &StepGraph,
        control: &Arc<Control>,
    ) -> Result<Self> {
        let places = graph.nodes.len() * machine.is_accepting.len();
        let mut reservation = Reservation::fixed(control.memory());
        reservation.grow(places as u64 * PLACE_BYTES)?;
        let mut search = Tarjan {
            machine,
            graph,
            control,
            number: vec![NONE; places],
            least: vec![NONE; places],
            next_number: 0,
            open: Vec::new(),
            frames: Vec::new(),
            steps: 0,
            found: Self {
                of_place: vec![NONE; places],
                members: Vec::new(),
                member_ends: Vec::new(),
                targets: Vec::new(),
                target_ends: Vec::new(),
                reservation,
            },
        };
        for node in 0..graph.nodes.len() as u32 {
            search.visit(graph.place(machine.initial, node))?;
        }
        let mut components = search.found;
        components.connect(machine, graph, control)?;
        let bytes = components.targets.len() as u64 * STEP_BYTES;
        components.reservation.grow(bytes)?;
        Ok(components)
    }

    /// Finds the steps between components.
    fn connect(&mut self, machine: &Machine, graph: &StepGraph, control: &Control) -> Result<()> {
        // By component: the one that has a step to it already.
        let mut seen = vec![NONE; self.count()];
        let mut steps = 0;
        for component in 0..self.count() as u32 {
            for member in self.member_range(component) {
                let (state, node) = graph.state_and_node(self.members[member]);
                for (relation, next) in &machine.transitions[state] {
                    for neighbour in graph.neighbours(*relation, node) {
                        steps += 1;
                        if steps % CHECKED_STEPS == 0 {
                            control.check()?;
                        }
                        let target = self.of_place[graph.place(*next, *neighbour) as usize];
                        if target != component && seen[target as usize] != component {
                            seen[target as usize] = component;
                            self.targets.push(target);
                        }
                    }
                }
            }
            self.target_ends.push(self.targets.len() as u32);
        }
        Ok(())
    }

    /// How many components there are.
    pub(super) fn count(&self) -> usize {
        self.member_ends.len()
    }

    /// The component of a place; more than any component if no path reaches it.
    pub(super) fn of(&self, place: u32) -> u32 {
        self.of_place[place as usize]
    }

    fn member_range(&self, component: u32) -> std::ops::Range<usize> {
        range(&self.member_ends, component)
    }

    /// The places of a component.
    pub(super) fn members(&self, component: u32) -> &[u32] {
        &self.members[self.member_range(component)]
    }

    /// The components that a component has steps to.
    pub(super) fn targets(&self, component: u32) -> &[u32] {
        &self.targets[range(&self.target_ends, component)]
    }
}

fn range(ends: &[u32], index: u32) -> std::ops::Range<usize> {
    let index = index as usize;
    let start = index.checked_sub(1).map_or(0, |before| ends[before]);
    start as usize..ends[index] as usize
}

/// How many steps lead from place to place.
fn steps_of(machine: &Machine, graph: &StepGraph) -> u64 {
    graph.steps() * machine.transitions.iter().map(Vec::len).max().unwrap_or(0) as u64
}

struct Tarjan<'a> {
    machine: &'a Machine,
    graph: &'a StepGraph,
    control: &'a Control,
    /// By place: the sequence in which they were visited.
    number: Vec<u32>,
    /// By place: the least number that it is known to reach of those that are open.
    least: Vec<u32>,
    next_number: u32,
    /// Places that were visited and belong to no component yet.
    open: Vec<u32>,
    frames: Vec<Frame>,
    steps: usize,
    found: Components,
}

/// A place whose steps are being followed.
struct Frame {
    place: u32,
    transition: usize,
    step: usize,
}

impl Tarjan<'_> {
    fn visit(&mut self, root: u32) -> Result<()> {
        if self.number[root as usize] != NONE {
            return Ok(());
        }
        self.enter(root);
        while let Some(frame) = self.frames.last_mut() {
            self.steps += 1;
            if self.steps.is_multiple_of(CHECKED_STEPS) {
                self.control.check()?;
            }
            let place = frame.place;
            let (state, node) = self.graph.state_and_node(place);
            let transitions = &self.machine.transitions[state];
            let Some((relation, next)) = transitions.get(frame.transition) else {
                self.frames.pop();
                self.leave(place);
                continue;
            };
            let neighbours = self.graph.neighbours(*relation, node);
            let Some(neighbour) = neighbours.get(frame.step) else {
                frame.transition += 1;
                frame.step = 0;
                continue;
            };
            frame.step += 1;
            let target = self.graph.place(*next, *neighbour);
            if self.number[target as usize] == NONE {
                self.enter(target);
            } else if self.found.of_place[target as usize] == NONE {
                let reached = self.number[target as usize];
                let least = &mut self.least[place as usize];
                *least = (*least).min(reached);
            }
        }
        Ok(())
    }

    fn enter(&mut self, place: u32) {
        self.number[place as usize] = self.next_number;
        self.least[place as usize] = self.next_number;
        self.next_number += 1;
        self.open.push(place);
        self.frames.push(Frame {
            place,
            transition: 0,
            step: 0,
        });
    }

    /// After all steps of a place were followed.
    fn leave(&mut self, place: u32) {
        let least = self.least[place as usize];
        if let Some(frame) = self.frames.last() {
            let above = &mut self.least[frame.place as usize];
            *above = (*above).min(least);
        }
        if least != self.number[place as usize] {
            return;
        }
        let component = self.found.member_ends.len() as u32;
        while let Some(member) = self.open.pop() {
            self.found.of_place[member as usize] = component;
            self.found.members.push(member);
            if member == place {
                break;
            }
        }
        self.found.member_ends.push(self.found.members.len() as u32);
    }
}
