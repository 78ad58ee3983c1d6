//! `LeapfrogJoin`: extends rows by one variable, with the terms that several patterns agree on.
//!
//! Each pattern has that variable and others that the rows bind, its *keys*. In an order of the index that has the keys first and the
//! variable behind them, the terms that belong to a row's keys are a sorted list; the row comes out once for each term that
//! is in the lists of all patterns. A scan and a sequence of such joins, one for each further variable, is a worst-case
//! optimal join: no row is made that one of the patterns of its variables does not have, so that a triangle over `n` edges takes
//! time in proportion to `n^1.5` at most, where joins of two inputs make up to `n^2` rows on their way (Ngo, Porat, Ré and Rudra,
//! *Worst-case optimal join algorithms*, 2012; Veldhuizen, *Leapfrog Triejoin*, 2014, whose trie is walked here breadth-first, a
//! batch of rows at a level).
//!
//! ```text
//!   a batch of rows      lists (`lists`)                         `intersection`
//!   ?a ?b                ?b p ?c: 1 -> 4 7 8 9, 2 -> 3 7
//!    5  1           -->  ?c p ?a: 5 -> 4 5 8, 6 -> 7       -->   (5 1 4) (5 1 8) (6 2 7)
//!    6  2
//! ```
//!
//! The rows' keys that have no list in memory yet are looked up in ascending sequence, and the lists stay for rows to come as
//! long as memory allows. A list that does not fit is read for each row anew, leaping in the index.
//!
//! Rows come in the sequence of the input's.

pub mod intersection;
pub mod lists;
pub mod reading;
pub mod shelf;

use super::batch::Batch;
use super::control::Control;
use super::operator::{Input, Operator};
use super::pairs::{Side, Source};
use crate::error::Result;
use intersection::{Intersection, Progress};
use lists::{Lists, Place};
use quadrille_store::TermId;
use shelf::Shelf;
use std::sync::Arc;

/// Terms that are compared between two looks at whether the query was stopped.
const COMPARED_TERMS: usize = 1 << 16;

/// Extends the rows of an input by a variable.
pub struct LeapfrogJoin {
    outer: Input,
    lists: Vec<Lists>,
    /// Where columns come from; the right side has one column, the new variable.
    outputs: Vec<Source>,
    control: Arc<Control>,
    /// The lists of the outer batch's current row, if it is begun.
    intersection: Intersection,
    is_begun: bool,
    /// The terms that were found, and the outer row of each, until they are copied to the output.
    found: Vec<TermId>,
    rows: Vec<u32>,
    compared: usize,
    ended: bool,
    /// Where the lists go in the end, and under which number.
    shelf: Option<(Arc<Shelf>, usize)>,
}

impl LeapfrogJoin {
    /// Extends the rows of `outer` by the terms that are in all lists, of which there are two at least.
    pub fn new(
        outer: Input,
        lists: Vec<Lists>,
        outputs: Vec<Source>,
        control: Arc<Control>,
    ) -> Self {
        debug_assert!(lists.len() > 1, "nothing to intersect");
        Self {
            outer,
            intersection: Intersection::default(),
            lists,
            outputs,
            control,
            is_begun: false,
            found: Vec::new(),
            rows: Vec::new(),
            compared: 0,
            ended: false,
            shelf: None,
        }
    }

    /// The same that leaves its lists to others.
    #[must_use]
    pub fn leaving_lists(mut self, shelf: &Arc<Shelf>, node: usize) -> Self {
        self.shelf = Some((Arc::clone(shelf), node));
        self
    }

    /// Fetches the next outer batch, with the lists of its rows; `false` at the end.
    fn fetch(&mut self) -> Result<bool> {
        if !self.outer.fetch()? {
            return Ok(false);
        }
        for lists in &mut self.lists {
            lists.prepare(&self.outer.batch)?;
        }
        Ok(true)
    }

    /// Begins the current row; `false` if one of its lists is empty.
    fn begin(&mut self) -> Result<bool> {
        let (batch, row) = (&self.outer.batch, self.outer.at);
        self.intersection.clear();
        for (index, lists) in self.lists.iter_mut().enumerate() {
            let place = lists.place(batch, row)?;
            if let Place::Kept { at, end } = place
                && at == end
            {
                return Ok(false);
            }
            self.intersection.add(index, place);
        }
        self.intersection.arrange();
        Ok(true)
    }

    /// Goes on with the batch's rows until all are dealt with or so many terms were found.
    fn find(&mut self, most: usize) -> Result<()> {
        while !self.outer.is_used_up() && self.found.len() < most {
            if !self.is_begun {
                if !self.begin()? {
                    self.outer.at += 1;
                    continue;
                }
                self.is_begun = true;
            }
            let Progress { compared, ended } =
                self.intersection
                    .find(&mut self.lists, most, &mut self.found)?;
            self.rows.resize(self.found.len(), self.outer.at as u32);
            if ended {
                self.is_begun = false;
                self.outer.at += 1;
            }
            self.compared += compared;
            if self.compared > COMPARED_TERMS {
                self.control.check()?;
                self.compared = 0;
            }
        }
        Ok(())
    }

    /// Appends what was found to the output.
    fn flush(&mut self, output: &mut Batch) {
        for (index, (side, column)) in self.outputs.iter().enumerate() {
            let to = output.column_mut(index);
            match side {
                Side::Left => {
                    let from = self.outer.batch.column(*column);
                    to.extend(self.rows.iter().map(|row| from[*row as usize]));
                }
                Side::Right => to.extend_from_slice(&self.found),
            }
        }
        output.set_rows(output.rows() + self.found.len());
        self.found.clear();
        self.rows.clear();
    }
}

impl Operator for LeapfrogJoin {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        self.control.check()?;
        let full = self.control.batch_rows();
        while !self.ended && output.rows() < full {
            if self.outer.is_used_up() && !self.fetch()? {
                self.ended = true;
                break;
            }
            self.find(full - output.rows())?;
            self.flush(output);
        }
        Ok(output.rows())
    }

    fn skip_to(&mut self, key: &[TermId]) -> Result<()> {
        self.outer.skip_to(key)
    }
}

impl Drop for LeapfrogJoin {
    fn drop(&mut self) {
        if let Some((shelf, node)) = &self.shelf {
            shelf.put(*node, std::mem::take(&mut self.lists));
        }
    }
}
