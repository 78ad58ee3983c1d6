//! `StepGraph`: all steps of a path in memory, with its nodes numbered.
//!
//! ```text
//! nodes        ids, by number
//! numbers      the other way
//! relation 0   ranges    by node: where its neighbours stand
//!              targets   numbers of neighbours, grouped by node
//! relation 1   ...
//! ```
//!
//! A *place* is a node in a state of the machine: `state * nodes + node`. A search goes from place to place.

use super::machine::Machine;
use crate::error::Result;
use crate::exec::control::Control;
use crate::exec::memory::Reservation;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use quadrille_store::{Snapshot, TermId};
use std::sync::Arc;

/// Bytes that a step takes, with its share of the nodes: measured on graphs with as many nodes as steps.
const STEP_BYTES: u64 = 64;
/// The most places: their numbers have 32 bits, and one of them means none.
const PLACES_MAX: u64 = u32::MAX as u64 - 1;
/// Nodes or steps that are dealt with before the query is asked whether it goes on.
pub(super) const CHECKED_STEPS: usize = 4096;

/// All steps of a machine.
#[derive(Debug)]
pub(super) struct StepGraph {
    pub(super) nodes: Vec<TermId>,
    numbers: HashMap<TermId, u32>,
    relations: Vec<Adjacency>,
    /// Given back with the graph.
    reservation: Reservation,
}

#[derive(Debug, Default)]
struct Adjacency {
    /// By node: where its neighbours begin and end; nodes behind the last have none.
    ranges: Vec<(u32, u32)>,
    targets: Vec<u32>,
}

impl StepGraph {
    /// Whether numbers are large enough for a machine's steps and the query has the memory.
    pub(super) fn fits(machine: &Machine, control: &Control) -> bool {
        let rows = machine.rows();
        let places = (2 * rows).checked_mul(machine.is_accepting.len() as u64);
        places.is_some_and(|places| places <= PLACES_MAX)
            && control.memory().has_room(rows * STEP_BYTES)
    }

    /// Reads all steps.
    pub(super) fn new(
        machine: &Machine,
        snapshot: &Snapshot,
        control: &Arc<Control>,
    ) -> Result<Self> {
        let mut reservation = Reservation::fixed(control.memory());
        let mut graph = Self {
            nodes: Vec::new(),
            // To make room later would stop everything for as long as it takes to file all nodes anew.
            numbers: HashMap::with_capacity(machine.rows() as usize),
            relations: Vec::new(),
            reservation: Reservation::fixed(control.memory()),
        };
        for relation in &machine.relations {
            let mut adjacency = Adjacency::default();
            let mut last: Option<(TermId, u32)> = None;
            let mut uncharged = 0;
            relation.read(snapshot, control, &mut |from, to| {
                let from = match last {
                    Some((id, number)) if id == from => number,
                    _ => {
                        let number = graph.number(from);
                        last = Some((from, number));
                        number
                    }
                };
                let to = graph.number(to);
                let place = from as usize;
                if adjacency.ranges.len() <= place {
                    adjacency.ranges.resize(place + 1, (0, 0));
                }
                let length = adjacency.targets.len() as u32;
                let range = &mut adjacency.ranges[place];
                if range.0 == range.1 {
                    *range = (length, length);
                }
                range.1 += 1;
                adjacency.targets.push(to);
                uncharged += 1;
                if uncharged == CHECKED_STEPS as u64 {
                    reservation.grow(std::mem::take(&mut uncharged) * STEP_BYTES)?;
                }
                Ok(())
            })?;
            reservation.grow(uncharged * STEP_BYTES)?;
            graph.relations.push(adjacency);
        }
        graph.reservation = reservation;
        Ok(graph)
    }

    fn number(&mut self, id: TermId) -> u32 {
        match self.numbers.entry(id) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                let number = self.nodes.len() as u32;
                entry.insert(number);
                self.nodes.push(id);
                number
            }
        }
    }

    /// The number of a node, if a step begins or ends there.
    pub(super) fn number_of(&self, id: TermId) -> Option<u32> {
        self.numbers.get(&id).copied()
    }

    /// The neighbours of a node by a relation.
    #[inline]
    pub(super) fn neighbours(&self, relation: usize, node: u32) -> &[u32] {
        let relation = &self.relations[relation];
        match relation.ranges.get(node as usize) {
            Some((start, end)) => &relation.targets[*start as usize..*end as usize],
            None => &[],
        }
    }

    /// How many steps there are.
    pub(super) fn steps(&self) -> u64 {
        self.relations
            .iter()
            .map(|relation| relation.targets.len() as u64)
            .sum()
    }

    /// The place of a node in a state.
    #[inline]
    pub(super) fn place(&self, state: usize, node: u32) -> u32 {
        (state * self.nodes.len()) as u32 + node
    }

    /// The state and the node of a place.
    #[inline]
    pub(super) fn state_and_node(&self, place: u32) -> (usize, u32) {
        let nodes = self.nodes.len() as u32;
        ((place / nodes) as usize, place % nodes)
    }
}

/// A set of small numbers that remembers what to take out again.
#[derive(Debug, Default)]
pub(super) struct Marks {
    words: Vec<u64>,
}

impl Marks {
    /// An empty set of numbers below a bound.
    pub(super) fn new(bound: usize) -> Self {
        Self {
            words: vec![0; bound.div_ceil(64)],
        }
    }

    /// Adds a number; whether it is new.
    #[inline]
    pub(super) fn insert(&mut self, number: u32) -> bool {
        let (word, bit) = (number as usize / 64, 1_u64 << (number % 64));
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        is_new
    }

    /// Takes a number out.
    #[inline]
    pub(super) fn remove(&mut self, number: u32) {
        self.words[number as usize / 64] &= !(1_u64 << (number % 64));
    }

    /// Bytes that the set takes.
    pub(super) fn bytes(&self) -> u64 {
        8 * self.words.len() as u64
    }
}

/// Nodes that were given.
pub(super) struct Given {
    marks: Marks,
    nodes: Vec<u32>,
}

impl Given {
    /// None yet, if several states accept, so that a node may be reached more than once.
    pub(super) fn new(machine: &Machine, graph: &StepGraph) -> Option<Self> {
        let accepting = machine.is_accepting.iter();
        let count = accepting.filter(|is_accepting| **is_accepting).count();
        (count > 1).then(|| Self {
            marks: Marks::new(graph.nodes.len()),
            nodes: Vec::new(),
        })
    }

    /// Adds a node; whether it is new.
    pub(super) fn insert(&mut self, node: u32) -> bool {
        let is_new = self.marks.insert(node);
        if is_new {
            self.nodes.push(node);
        }
        is_new
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> u64 {
        self.marks.bytes()
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        for node in self.nodes.drain(..) {
            self.marks.remove(node);
        }
    }
}
