//! `Search`: the nodes that a path leads to from a start, breadth-first, each once.
//!
//! ```text
//!                begin                       as much was looked up as the graph has rows
//!   (none) ----------------> by lookups -------------------------------------------------> in the graph
//!                              |                                                                |
//!                              |           as many steps were taken as components cost          |
//!   over components <------------------------------------------- next begin --------------------+
//! ```
//!
//! A first search goes level by level: the nodes that were reached last are looked up in the store in sorted batches. All
//! searches of a plan together may look up as much as it takes to read all steps once; then these are read into memory
//! ([`StepGraph`]), and a search that is on its way goes on there. In the same way further searches go over
//! [components](super::components) once that would have been quicker. So no plan takes much longer than the best choice would have, and
//! nothing needs to be known beforehand of how far paths lead.

use super::component_search::ComponentSearch;
use super::machine::Machine;
use super::step_graph::{CHECKED_STEPS, Given, Marks, StepGraph};
use crate::error::Result;
use crate::exec::control::Control;
use crate::exec::memory::Reservation;
use quadrille_store::{Snapshot, TermId};
use roaring::RoaringTreemap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Rows of a scan that take as long as to open a scan.
const OPEN_ROWS: u64 = 25;
/// Rows of a scan that take as long as to seek a node.
const SEEK_ROWS: u64 = 10;
/// Bytes of a node in a set of nodes: they lie apart in the worst case.
const VISITED_BYTES: u64 = 16;

/// Searches from one start after another.
pub struct Search {
    snapshot: Snapshot,
    control: Arc<Control>,
    machine: Arc<Machine>,
    current: Current,
    /// Kept from search to search.
    places: Option<PlaceSearch>,
    components: Option<ComponentSearch>,
    /// For the nodes that lookups visited: as much as the largest search so far took.
    reservation: Reservation,
}

enum Current {
    None,
    Lookups(LookupSearch),
    Places,
    Components,
}

impl Search {
    /// Searches of a machine.
    pub fn new(snapshot: Snapshot, control: Arc<Control>, machine: Arc<Machine>) -> Self {
        Self {
            reservation: Reservation::fixed(control.memory()),
            snapshot,
            control,
            machine,
            current: Current::None,
            places: None,
            components: None,
        }
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Begins a search. If a path without a step matches, it gives the start, too. Of a search `towards` a node only that node
    /// is wanted: others may be left out.
    ///
    /// # Errors
    /// If the store cannot be read, or the query is stopped.
    pub fn begin(&mut self, start: TermId, towards: Option<TermId>) -> Result<()> {
        self.current = Current::None;
        let Some(graph) = self.machine.graph(&self.snapshot, &self.control)? else {
            self.current = Current::Lookups(LookupSearch::new(&self.machine, start));
            return Ok(());
        };
        let components = self.machine.components(&graph, &self.control)?;
        if let Some(components) = components {
            let search = match &mut self.components {
                Some(search) => search,
                none => {
                    let (machine, control) = (&self.machine, &self.control);
                    none.insert(ComponentSearch::new(graph, components, machine, control)?)
                }
            };
            search.begin(&self.machine, start, towards);
            self.current = Current::Components;
        } else {
            let search = match &mut self.places {
                Some(search) => search,
                none => none.insert(PlaceSearch::new(graph, &self.machine, &self.control)?),
            };
            search.begin(&self.machine, start);
            self.current = Current::Places;
        }
        Ok(())
    }

    /// Whether a term is known to be a node of the graph, because steps are in memory and one of them begins or ends there.
    pub fn knows(&self, node: TermId) -> bool {
        let graph = self.machine.shared.graph.get();
        graph.is_some_and(|graph| graph.number_of(node).is_some())
    }

    /// Appends some more nodes, about `most` of them or fewer; `false` if there are no further ones.
    ///
    /// # Errors
    /// If the store cannot be read, or the query is stopped.
    pub fn advance(&mut self, ends: &mut Vec<TermId>, most: usize) -> Result<bool> {
        let (machine, control) = (&*self.machine, &self.control);
        match &mut self.current {
            Current::None => Ok(false),
            Current::Components => match &mut self.components {
                Some(search) => search.advance(machine, control, ends, most),
                None => Ok(false),
            },
            Current::Places => match &mut self.places {
                Some(search) => search.advance(machine, control, ends, most),
                None => Ok(false),
            },
            Current::Lookups(search) => {
                let has_more = search.advance(machine, &self.snapshot, control, ends)?;
                self.reservation.raise_to(search.count * VISITED_BYTES)?;
                if has_more && let Some(graph) = machine.graph(&self.snapshot, control)? {
                    let mut places = PlaceSearch::new(graph, machine, control)?;
                    places.take_over(machine, control, search)?;
                    self.places = Some(places);
                    self.current = Current::Places;
                }
                Ok(has_more)
            }
        }
    }
}

/// A search level by level, in the store.
struct LookupSearch {
    /// By state: the nodes that were reached in it.
    visited: Vec<RoaringTreemap>,
    /// By state: those of them whose steps were not taken yet.
    frontier: Vec<RoaringTreemap>,
    /// What was given, if several states accept.
    given: Option<RoaringTreemap>,
    /// How many nodes were visited, in whatever state.
    count: u64,
    /// The start, if it is to be given.
    start: Option<TermId>,
}

impl LookupSearch {
    fn new(machine: &Machine, start: TermId) -> Self {
        let mut visited = vec![RoaringTreemap::new(); machine.is_accepting.len()];
        visited[machine.initial].insert(start.bits());
        let has_several = machine
            .is_accepting
            .iter()
            .filter(|is_accepting| **is_accepting)
            .count()
            > 1;
        Self {
            frontier: visited.clone(),
            visited,
            given: has_several.then(RoaringTreemap::new),
            count: 1,
            start: machine.is_nullable().then_some(start),
        }
    }

    /// Takes the steps of one level.
    fn advance(
        &mut self,
        machine: &Machine,
        snapshot: &Snapshot,
        control: &Control,
        ends: &mut Vec<TermId>,
    ) -> Result<bool> {
        if let Some(start) = self.start.take() {
            ends.push(start);
            if let Some(given) = &mut self.given {
                given.insert(start.bits());
            }
        }
        let mut next = vec![RoaringTreemap::new(); self.frontier.len()];
        for (state, nodes) in self.frontier.iter().enumerate() {
            if nodes.is_empty() {
                continue;
            }
            for (relation, target) in &machine.transitions[state] {
                let (visited, next) = (&mut self.visited[*target], &mut next[*target]);
                let (given, is_accepting) = (&mut self.given, machine.is_accepting[*target]);
                let mut found = 0;
                let read = machine.relations[*relation].lookup(
                    snapshot,
                    control,
                    nodes.iter().map(TermId::from_bits),
                    &mut |node| {
                        if !visited.insert(node.bits()) {
                            return;
                        }
                        found += 1;
                        next.insert(node.bits());
                        let is_new = given
                            .as_mut()
                            .is_none_or(|given| !is_accepting || given.insert(node.bits()));
                        if is_accepting && is_new {
                            ends.push(node);
                        }
                    },
                )?;
                self.count += found;
                let work = OPEN_ROWS + SEEK_ROWS * nodes.len() + read;
                // Only to be compared with a bound: no order with other memory matters.
                machine.shared.looked_up.fetch_add(work, Ordering::Relaxed);
            }
        }
        self.frontier = next;
        Ok(self.frontier.iter().any(|nodes| !nodes.is_empty()))
    }
}

/// A search in the graph.
struct PlaceSearch {
    graph: Arc<StepGraph>,
    visited: Marks,
    /// All places that were visited, those whose steps are to be taken from `next` on.
    queue: Vec<u32>,
    next: usize,
    /// The nodes that were given, if several states accept.
    given: Option<Given>,
    /// The start, if it is to be given.
    start: Option<TermId>,
    reservation: Reservation,
}

impl PlaceSearch {
    fn new(graph: Arc<StepGraph>, machine: &Machine, control: &Arc<Control>) -> Result<Self> {
        let mut search = Self {
            reservation: Reservation::fixed(control.memory()),
            visited: Marks::new(graph.nodes.len() * machine.is_accepting.len()),
            given: Given::new(machine, &graph),
            graph,
            queue: Vec::new(),
            next: 0,
            start: None,
        };
        let bytes = search.bytes();
        search.reservation.grow(bytes)?;
        Ok(search)
    }

    fn bytes(&self) -> u64 {
        self.visited.bytes() + self.given.as_ref().map_or(0, Given::bytes)
    }

    fn clear(&mut self) {
        for place in self.queue.drain(..) {
            self.visited.remove(place);
        }
        if let Some(given) = &mut self.given {
            given.clear();
        }
        self.next = 0;
        self.start = None;
    }

    fn begin(&mut self, machine: &Machine, start: TermId) {
        self.clear();
        self.start = machine.is_nullable().then_some(start);
        if let Some(node) = self.graph.number_of(start) {
            self.visit(machine.initial, node);
        }
    }

    fn visit(&mut self, state: usize, node: u32) {
        let place = self.graph.place(state, node);
        if self.visited.insert(place) {
            self.queue.push(place);
        }
    }

    /// Goes on where a search by lookups is.
    fn take_over(
        &mut self,
        machine: &Machine,
        control: &Control,
        search: &LookupSearch,
    ) -> Result<()> {
        let (graph, mut steps) = (Arc::clone(&self.graph), 0);
        let mut numbers = |nodes: &RoaringTreemap, each: &mut dyn FnMut(u32)| -> Result<()> {
            for node in nodes {
                steps += 1;
                if steps % CHECKED_STEPS == 0 {
                    control.check()?;
                }
                // The start may be a node that no step knows.
                if let Some(node) = graph.number_of(TermId::from_bits(node)) {
                    each(node);
                }
            }
            Ok(())
        };
        for state in 0..machine.is_accepting.len() {
            let done = &search.visited[state] - &search.frontier[state];
            numbers(&done, &mut |node| self.visit(state, node))?;
        }
        self.next = self.queue.len();
        for (state, nodes) in search.frontier.iter().enumerate() {
            numbers(nodes, &mut |node| self.visit(state, node))?;
        }
        if let (Some(given), Some(known)) = (&mut self.given, &search.given) {
            numbers(known, &mut |node| {
                given.insert(node);
            })?;
        }
        Ok(())
    }

    fn advance(
        &mut self,
        machine: &Machine,
        control: &Control,
        ends: &mut Vec<TermId>,
        most: usize,
    ) -> Result<bool> {
        control.check()?;
        if let Some(start) = self.start.take() {
            ends.push(start);
            if let (Some(given), Some(node)) = (&mut self.given, self.graph.number_of(start)) {
                given.insert(node);
            }
        }
        let (full, mut steps) = (ends.len() + most, 0);
        while self.next < self.queue.len() && ends.len() < full {
            let (state, node) = self.graph.state_and_node(self.queue[self.next]);
            self.next += 1;
            for (relation, target) in &machine.transitions[state] {
                let neighbours = self.graph.neighbours(*relation, node);
                for chunk in neighbours.chunks(CHECKED_STEPS) {
                    steps += chunk.len();
                    if steps >= CHECKED_STEPS {
                        control.check()?;
                        note_steps(machine, std::mem::take(&mut steps));
                    }
                    for neighbour in chunk {
                        let place = self.graph.place(*target, *neighbour);
                        if !self.visited.insert(place) {
                            continue;
                        }
                        self.queue.push(place);
                        if machine.is_accepting[*target]
                            && self
                                .given
                                .as_mut()
                                .is_none_or(|given| given.insert(*neighbour))
                        {
                            ends.push(self.graph.nodes[*neighbour as usize]);
                        }
                    }
                }
            }
            steps += 1;
        }
        note_steps(machine, steps);
        Ok(self.next < self.queue.len())
    }
}

fn note_steps(machine: &Machine, steps: usize) {
    // Only to be compared with a bound: no order with other memory matters.
    let stepped = &machine.shared.stepped;
    stepped.fetch_add(steps as u64, Ordering::Relaxed);
}
