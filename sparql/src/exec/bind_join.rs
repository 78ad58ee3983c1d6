//! `BindJoin`: joins the batches of an input, one by one, with patterns that are looked up for their rows.
//!
//! For each batch the operators of the right side are made anew, above a [`Feed`] that gives them the batch's rows with
//! a column that numbers them. So what comes out at the end says which left row it belongs to, and OPTIONAL, EXISTS and
//! MINUS see which rows found nothing. Only a batch is held in memory.

use super::batch::Batch;
use super::compatible_join::JoinKind;
use super::control::Control;
use super::operator::{Input, Operator};
use super::pairs::{Pairs, Side, Source};
use crate::error::Result;
use quadrille_store::TermId;
use std::sync::Arc;

/// Makes the right side for a batch of left rows.
pub type Factory = Box<dyn FnMut(Batch) -> Result<Input> + Send>;

/// Joins an input batch by batch.
pub struct BindJoin {
    left: Input,
    factory: Factory,
    /// The left columns that are fed.
    fed: Vec<usize>,
    /// The column of right rows that says which left row they belong to.
    number: usize,
    kind: JoinKind,
    outputs: Vec<Source>,
    control: Arc<Control>,
    right: Option<Input>,
    matched: Vec<bool>,
    matched_count: usize,
    pairs: Pairs,
    ended: bool,
}

impl BindJoin {
    /// Joins `left` with what `factory` makes for its batches, whose column `number` is the left row's.
    pub fn new(
        left: Input,
        factory: Factory,
        fed: Vec<usize>,
        number: usize,
        kind: JoinKind,
        outputs: Vec<Source>,
        control: Arc<Control>,
    ) -> Self {
        Self {
            left,
            factory,
            fed,
            number,
            kind,
            outputs,
            control,
            right: None,
            matched: Vec::new(),
            matched_count: 0,
            pairs: Pairs::default(),
            ended: false,
        }
    }

    /// Fetches the next left batch and makes the right side for it; `false` at the end.
    fn fetch_left(&mut self) -> Result<bool> {
        if !self.left.fetch()? {
            return Ok(false);
        }
        let rows = self.left.batch.rows();
        let mut batch = Batch::new(self.fed.len() + 1);
        for (index, column) in self.fed.iter().enumerate() {
            batch
                .column_mut(index)
                .extend_from_slice(self.left.batch.column(*column));
        }
        batch
            .column_mut(self.fed.len())
            .extend((0..rows as u64).map(TermId::from_bits));
        batch.set_rows(rows);
        self.matched.clear();
        self.matched.resize(rows, false);
        self.matched_count = 0;
        self.right = Some((self.factory)(batch)?);
        Ok(true)
    }

    /// Gives the left rows that were matched, or were not.
    fn give_left(&mut self, output: &mut Batch) {
        let wanted = self.kind == JoinKind::Matched;
        for (index, (side, column)) in self.outputs.iter().enumerate() {
            let target = output.column_mut(index);
            let matched = self.matched.iter().enumerate();
            let rows = matched.filter(|(_, matched)| **matched == wanted);
            match side {
                Side::Left => {
                    let from = self.left.batch.column(*column);
                    target.extend(rows.map(|(row, _)| from[row]));
                }
                Side::Right => target.extend(rows.map(|_| TermId::UNBOUND)),
            }
        }
        let rows = if wanted {
            self.matched_count
        } else {
            self.matched.len() - self.matched_count
        };
        output.set_rows(rows);
    }
}

impl Operator for BindJoin {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        while !self.ended {
            self.control.check()?;
            let Some(right) = &mut self.right else {
                self.ended = !self.fetch_left()?;
                continue;
            };
            let all_matched = !self.kind.gives_merged() && self.matched_count == self.matched.len();
            if !all_matched && right.fetch()? {
                for (row, number) in right.batch.column(self.number).iter().enumerate() {
                    let number = number.bits() as usize;
                    if !std::mem::replace(&mut self.matched[number], true) {
                        self.matched_count += 1;
                    }
                    if self.kind.gives_merged() {
                        self.pairs.push(number, row);
                    }
                }
                self.pairs
                    .flush(&self.left.batch, &right.batch, &self.outputs, output);
            } else {
                self.right = None;
                if self.kind != JoinKind::Inner {
                    self.give_left(output);
                }
            }
            if output.rows() > 0 {
                return Ok(output.rows());
            }
        }
        Ok(0)
    }
}

/// Gives the rows of a batch.
pub struct Feed {
    batch: Option<Batch>,
}

impl Feed {
    /// The rows of a batch, which has no more than operators hand over at a time.
    pub fn new(batch: Batch) -> Self {
        Self { batch: Some(batch) }
    }
}

impl Operator for Feed {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        let Some(batch) = self.batch.take() else {
            return Ok(0);
        };
        output.append(&batch, 0, batch.rows());
        Ok(output.rows())
    }
}
