//! `PathJoin`: joins rows with the pairs of nodes that a path connects.
//!
//! Rows of a batch that start from the same node are served by one search. Where a row has both ends, or the end is a
//! constant, the path only says whether it is kept.
//!
//! A path without a step connects every node of the graph with itself, and a constant with itself even if it is no node
//! (SPARQL 1.1, section 18.4). So a term that rows bring along for a variable is no start unless it is a node, if both ends are
//! variables; that is what a join with all pairs would give.

use super::machine::Machine;
use super::relation::{Nodes, is_node};
use super::search::Search;
use crate::error::Result;
use crate::exec::batch::Batch;
use crate::exec::control::Control;
use crate::exec::operator::{Input, Operator};
use hashbrown::HashMap;
use quadrille_store::{GraphSelector, Snapshot, TermId};
use std::sync::Arc;

/// Where searches begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// At a term.
    Constant(TermId),
    /// At the term in a column of the rows.
    Column(usize),
    /// At every node. The input is one row without columns.
    Every,
}

/// Where paths must end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Anywhere: the end is given.
    Free,
    /// Where they began.
    Start,
    /// At a term.
    Constant(TermId),
    /// At the term in a column of the rows.
    Column(usize),
}

/// Where a column of the output comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathSource {
    /// A column of the rows.
    Input(usize),
    /// The start of the path.
    Start,
    /// Its end.
    End,
}

/// Joins rows with the ends of paths.
pub struct PathJoin {
    input: Input,
    snapshot: Snapshot,
    control: Arc<Control>,
    graph: GraphSelector,
    start: Start,
    end: End,
    outputs: Vec<PathSource>,
    search: Search,
    /// From the end to the start.
    reverse: Search,
    /// What is left of every node.
    nodes: Option<Nodes>,
    /// Numbers of the batch's rows, by start.
    sequence: Vec<u32>,
    /// Those that the current search serves, and where it began.
    group: std::ops::Range<usize>,
    from: TermId,
    has_more: bool,
    /// Ends that were found, and how far they were given to which row.
    ends: Vec<TermId>,
    next_end: usize,
    /// The place in the sequence of that row, and where the rows of the search end.
    row: usize,
    rows_end: usize,
    ended: bool,
}

impl PathJoin {
    /// Joins `input` with the paths of two machines, from start to end and back.
    #[expect(clippy::too_many_arguments, reason = "what a join is made of")]
    pub fn new(
        input: Input,
        snapshot: &Snapshot,
        control: &Arc<Control>,
        graph: GraphSelector,
        machines: (Arc<Machine>, Arc<Machine>),
        start: Start,
        end: End,
        outputs: Vec<PathSource>,
    ) -> Self {
        let search = |machine| Search::new(snapshot.clone(), Arc::clone(control), machine);
        Self {
            input,
            snapshot: snapshot.clone(),
            control: Arc::clone(control),
            graph,
            start,
            end,
            outputs,
            search: search(machines.0),
            reverse: search(machines.1),
            nodes: None,
            sequence: Vec::new(),
            group: 0..0,
            from: TermId::UNBOUND,
            has_more: false,
            ends: Vec::new(),
            next_end: 0,
            row: 0,
            rows_end: 0,
            ended: false,
        }
    }

    /// Whether a search from a term of the rows, or the zero steps of one, may give anything.
    fn may_start(&self, from: TermId) -> Result<bool> {
        if !self.search.machine().is_nullable() || self.search.knows(from) {
            return Ok(true);
        }
        is_node(&self.snapshot, self.graph, from)
    }

    /// Begins the next search; `false` if the batch has no row left.
    fn next_group(&mut self) -> Result<bool> {
        let first = self.group.end;
        if first == self.sequence.len() {
            return Ok(false);
        }
        let from = match self.start {
            Start::Column(column) => {
                let starts = self.input.batch.column(column);
                let from = starts[self.sequence[first] as usize];
                let same = |row: &&u32| starts[**row as usize] == from;
                let count = self.sequence[first..].iter().take_while(same).count();
                self.group = first..first + count;
                if !self.may_start(from)? {
                    self.has_more = false;
                    return Ok(true);
                }
                from
            }
            Start::Constant(from) => {
                self.group = first..self.sequence.len();
                if !self.search.machine().connects_constants && !self.may_start(from)? {
                    self.has_more = false;
                    return Ok(true);
                }
                from
            }
            Start::Every => {
                let nodes = match &mut self.nodes {
                    Some(nodes) => nodes,
                    none => {
                        let machine = self.search.machine();
                        none.insert(if machine.is_nullable() {
                            Nodes::of_graph(&self.snapshot, &self.control, self.graph)?
                        } else {
                            let first = machine.first_relations();
                            Nodes::of_relations(&self.snapshot, &self.control, first)?
                        })
                    }
                };
                let Some(node) = nodes.next_node()? else {
                    return Ok(false);
                };
                self.group = 0..0;
                node
            }
        };
        let towards = (self.end == End::Start).then_some(from);
        self.search.begin(from, towards)?;
        self.from = from;
        self.has_more = true;
        Ok(true)
    }

    /// Gets more ends of the current search; `false` if there are no further ones.
    fn fetch_ends(&mut self) -> Result<bool> {
        self.ends.clear();
        self.next_end = 0;
        self.row = self.group.start;
        self.rows_end = self.row;
        let most = self.control.batch_rows();
        while self.has_more && self.ends.is_empty() {
            self.has_more = self.search.advance(&mut self.ends, most)?;
            if self.end == End::Start && !self.ends.is_empty() {
                let has_returned = self.ends.contains(&self.from);
                self.has_more &= !has_returned;
                self.ends.clear();
                if has_returned {
                    self.ends.push(self.from);
                }
            }
        }
        if self.ends.is_empty() {
            return Ok(false);
        }
        self.rows_end = match self.start {
            Start::Every => self.row + 1,
            Start::Column(_) | Start::Constant(_) => self.group.end,
        };
        Ok(true)
    }

    /// Gives the ends that were found to rows of the group, as many as fit; `true` if all were.
    fn give(&mut self, output: &mut Batch) -> bool {
        while self.row < self.rows_end {
            let room = self.control.batch_rows() - output.rows();
            if room == 0 {
                return false;
            }
            let count = room.min(self.ends.len() - self.next_end);
            let ends = &self.ends[self.next_end..self.next_end + count];
            for (index, source) in self.outputs.iter().enumerate() {
                let column = output.column_mut(index);
                let length = column.len() + count;
                match source {
                    PathSource::Input(input) => {
                        let row = self.sequence[self.row] as usize;
                        column.resize(length, self.input.batch.column(*input)[row]);
                    }
                    PathSource::Start => column.resize(length, self.from),
                    PathSource::End => column.extend_from_slice(ends),
                }
            }
            output.set_rows(output.rows() + count);
            self.next_end += count;
            if self.next_end == self.ends.len() {
                self.next_end = 0;
                self.row += 1;
            }
        }
        true
    }

    /// Rows with all ends that paths lead to.
    fn next_ends(&mut self, output: &mut Batch) -> Result<usize> {
        while !self.ended {
            if !self.give(output) {
                break;
            }
            if self.fetch_ends()? || self.next_group()? {
                continue;
            }
            self.ended = !self.fetch_rows()?;
        }
        Ok(output.rows())
    }

    /// Fetches the next batch and puts its rows in the sequence of their starts; `false` at the end.
    fn fetch_rows(&mut self) -> Result<bool> {
        if !self.input.fetch()? {
            return Ok(false);
        }
        self.sequence.clear();
        self.sequence.extend(0..self.input.batch.rows() as u32);
        self.group = 0..0;
        if let Start::Column(column) = self.start {
            let starts = self.input.batch.column(column);
            self.sequence
                .sort_unstable_by_key(|row| starts[*row as usize]);
        }
        Ok(true)
    }

    /// The rows whose ends are connected.
    fn next_connected(&mut self, output: &mut Batch) -> Result<usize> {
        while output.rows() == 0 && self.input.fetch()? {
            self.control.check()?;
            let mut selection = self.connected()?;
            selection.sort_unstable();
            for (index, source) in self.outputs.iter().enumerate() {
                let column = output.column_mut(index);
                let rows = selection.iter().map(|row| *row as usize);
                let from_ends = |end: &Ends<'_>, row| end.get(row);
                let (starts, ends) = self.both_ends();
                match source {
                    PathSource::Input(input) => {
                        let ids = self.input.batch.column(*input);
                        column.extend(rows.map(|row| ids[row]));
                    }
                    PathSource::Start => column.extend(rows.map(|row| from_ends(&starts, row))),
                    PathSource::End => column.extend(rows.map(|row| from_ends(&ends, row))),
                }
            }
            output.set_rows(selection.len());
        }
        Ok(output.rows())
    }

    fn both_ends(&self) -> (Ends<'_>, Ends<'_>) {
        let column = |column| Ends::Column(self.input.batch.column(column));
        let starts = match self.start {
            Start::Constant(id) => Ends::Constant(id),
            Start::Column(index) => column(index),
            Start::Every => Ends::Constant(TermId::UNBOUND),
        };
        let ends = match self.end {
            End::Constant(id) => Ends::Constant(id),
            End::Column(index) => column(index),
            End::Free | End::Start => Ends::Constant(TermId::UNBOUND),
        };
        (starts, ends)
    }

    /// The rows of the batch whose ends are connected.
    fn connected(&mut self) -> Result<Vec<u32>> {
        let rows = self.input.batch.rows();
        let (starts, ends) = self.both_ends();
        // By a pair of ends: the rows that have it.
        let mut pairs: Vec<(TermId, TermId, u32)> = (0..rows)
            .map(|row| (starts.get(row), ends.get(row), row as u32))
            .collect();
        let count = |ids: &mut dyn Iterator<Item = TermId>| {
            let mut ids: Vec<TermId> = ids.collect();
            ids.sort_unstable();
            ids.dedup();
            ids.len()
        };
        let is_reverse = count(&mut pairs.iter().map(|(_, end, _)| *end))
            < count(&mut pairs.iter().map(|(start, ..)| *start));
        if is_reverse {
            for (start, end, _) in &mut pairs {
                std::mem::swap(start, end);
            }
        }
        pairs.sort_unstable();
        let must_be_nodes = !self.search.machine().connects_constants
            || matches!((self.start, self.end), (Start::Column(_), End::Column(_)));
        let mut selection = Vec::new();
        for group in pairs.chunk_by(|a, b| a.0 == b.0) {
            self.control.check()?;
            let (from, first, _) = group[0];
            if must_be_nodes && !self.may_start(from)? {
                continue;
            }
            let (search, back) = if is_reverse {
                (&mut self.reverse, &mut self.search)
            } else {
                (&mut self.search, &mut self.reverse)
            };
            let has_one_end = group.iter().all(|(_, end, _)| *end == first);
            if has_one_end {
                if are_connected(search, back, from, first, &mut self.ends, &self.control)? {
                    selection.extend(group.iter().map(|(.., row)| *row));
                }
                continue;
            }
            let mut wanted: HashMap<TermId, bool> =
                group.iter().map(|(_, end, _)| (*end, false)).collect();
            let mut found = 0;
            search.begin(from, None)?;
            let mut has_more = true;
            while has_more && found < wanted.len() {
                self.ends.clear();
                has_more = search.advance(&mut self.ends, self.control.batch_rows())?;
                for end in &self.ends {
                    if let Some(is_found) = wanted.get_mut(end)
                        && !std::mem::replace(is_found, true)
                    {
                        found += 1;
                    }
                }
            }
            let rows = group.iter().filter(|(_, end, _)| wanted[end]);
            selection.extend(rows.map(|(.., row)| *row));
        }
        Ok(selection)
    }
}

/// The terms of one end, row by row.
enum Ends<'a> {
    Constant(TermId),
    Column(&'a [TermId]),
}

impl Ends<'_> {
    fn get(&self, row: usize) -> TermId {
        match self {
            Self::Constant(id) => *id,
            Self::Column(ids) => ids[row],
        }
    }
}

/// Whether a path leads from one node to another: searches from both, a step of each in turn, until one of them meets the other
/// end or has seen all that it can.
fn are_connected(
    search: &mut Search,
    back: &mut Search,
    from: TermId,
    to: TermId,
    ends: &mut Vec<TermId>,
    control: &Control,
) -> Result<bool> {
    search.begin(from, Some(to))?;
    back.begin(to, Some(from))?;
    loop {
        for (search, wanted) in [(&mut *search, to), (&mut *back, from)] {
            ends.clear();
            let has_more = search.advance(ends, control.batch_rows())?;
            let is_found = ends.contains(&wanted);
            if is_found || !has_more {
                ends.clear();
                return Ok(is_found);
            }
        }
    }
}

impl Operator for PathJoin {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        match self.end {
            End::Free | End::Start => self.next_ends(output),
            End::Constant(_) | End::Column(_) => self.next_connected(output),
        }
    }
}
