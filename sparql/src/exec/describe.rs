//! `Describe`: what the default graph says of resources.
//!
//! The specification leaves open what a description is (SPARQL 1.1, section 16.4). Here it is the *concise bounded
//! description*: every triple whose subject is the resource, and where its object is a blank node, those of that node too, and
//! so on, for a blank node cannot be asked for by name. Each node is described once, so no triple comes twice.

use super::batch::Batch;
use super::control::Control;
use super::memory::Reservation;
use super::operator::{Input, Operator};
use crate::error::Result;
use quadrille_store::{ColumnMask, GraphSelector, Kind, Order, Pattern, Scan, Snapshot, TermId};
use roaring::RoaringTreemap;
use std::sync::Arc;

/// About what the set of described nodes takes for one, in bytes.
const NODE_BYTES: u64 = 8;

/// Describes resources.
pub struct Describe {
    /// Rows whose every column has resources.
    input: Input,
    /// The next column of the current row.
    next_column: usize,
    snapshot: Snapshot,
    control: Arc<Control>,
    /// Nodes that are to be described before the input's, the next one last.
    waiting: Vec<TermId>,
    /// Nodes that are, or will be, described.
    seen: RoaringTreemap,
    /// For `seen` and `waiting`.
    reservation: Reservation,
    /// The node that is being described, and its predicates and objects.
    current: Option<(TermId, Scan)>,
    properties: Batch,
}

impl Describe {
    /// Describes some nodes, and then what the rows of `input` have in their columns.
    pub fn new(input: Input, named: &[TermId], snapshot: Snapshot, control: Arc<Control>) -> Self {
        let mut describe = Self {
            input,
            next_column: 0,
            snapshot,
            reservation: Reservation::fixed(control.memory()),
            control,
            waiting: Vec::new(),
            seen: RoaringTreemap::new(),
            current: None,
            properties: Batch::new(2),
        };
        for node in named.iter().rev() {
            if describe.seen.insert(node.bits()) {
                describe.waiting.push(*node);
            }
        }
        describe
    }

    /// The next node to describe; `None` at the end.
    fn next_node(&mut self) -> Result<Option<TermId>> {
        if let Some(node) = self.waiting.pop() {
            return Ok(Some(node));
        }
        loop {
            if self.input.is_used_up() {
                self.control.check()?;
                self.next_column = 0;
                if !self.input.fetch()? {
                    return Ok(None);
                }
            }
            if self.next_column == self.input.batch.width() {
                self.next_column = 0;
                self.input.at += 1;
                continue;
            }
            let node = self.input.batch.column(self.next_column)[self.input.at];
            self.next_column += 1;
            // Nothing else is the subject of a triple in the store.
            if matches!(node.kind(), Some(Kind::Iri | Kind::Blank)) && self.is_new(node)? {
                return Ok(Some(node));
            }
        }
    }

    fn is_new(&mut self, node: TermId) -> Result<bool> {
        let is_new = self.seen.insert(node.bits());
        if is_new {
            self.reservation.grow(NODE_BYTES)?;
        }
        Ok(is_new)
    }

    /// Appends triples of a node, at most `most`; says how many, 0 if there are no more.
    fn describe(
        &mut self,
        node: TermId,
        scan: &mut Scan,
        output: &mut Batch,
        most: usize,
    ) -> Result<usize> {
        self.properties.clear();
        let rows = scan.fill(self.properties.columns_mut(), most)?;
        self.properties.set_rows(rows);
        let total = output.rows() + rows;
        output.column_mut(0).resize(total, node);
        for column in 0..2 {
            let properties = self.properties.column(column);
            output.column_mut(1 + column).extend_from_slice(properties);
        }
        output.set_rows(total);
        for row in (0..rows).rev() {
            let object = self.properties.column(1)[row];
            if object.kind() == Some(Kind::Blank) && self.is_new(object)? {
                self.waiting.push(object);
            }
        }
        Ok(rows)
    }
}

impl Operator for Describe {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        while output.rows() < self.control.batch_rows() {
            self.control.check()?;
            let (node, mut scan) = if let Some(current) = self.current.take() {
                current
            } else {
                let Some(node) = self.next_node()? else {
                    break;
                };
                let pattern = Pattern {
                    subject: Some(node),
                    predicate: None,
                    object: None,
                    graph: GraphSelector::Default,
                };
                let scan = self.snapshot.scan(&pattern, Order::Spo, ColumnMask::ALL)?;
                (node, scan)
            };
            let most = self.control.batch_rows() - output.rows();
            if self.describe(node, &mut scan, output, most)? > 0 {
                self.current = Some((node, scan));
            }
        }
        Ok(output.rows())
    }
}
