//! `CompatibleJoin`: joins rows that agree in every variable that both bind. It serves joins of whole groups, OPTIONAL,
//! MINUS, and EXISTS over a plain pattern.
//!
//! The right input is kept in memory in two hash tables ([`side`]): rows that bind all shared variables under all of
//! them, the few others under those that every row binds. A left row that binds all shared variables looks
//! in both; one that does not looks among all rows that agree with it in the certain ones. Conditions are evaluated on merged
//! rows, many at a time. What becomes of right rows that outgrow the memory is in [`spill`].

pub mod side;
mod spill;
mod table;

use super::batch::Batch;
use super::control::Control;
use super::exists::Probe;
use super::filter::Conditions;
use super::operator::{Constant, Input, Operator};
use super::spill::sorter::{ByNumber, Sorted};
use crate::error::Result;
use crate::plan::physical::Compatibility;
use quadrille_store::TermId;
use side::KeptSide;
use spill::{Passes, Sequence, Task};
use std::sync::Arc;
use table::NONE;

/// What a join gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// Merged rows.
    Inner,
    /// Merged rows, and left rows for which there is none.
    Left,
    /// Left rows for which there is a merged row, once.
    Matched,
    /// Left rows for which there is none.
    Unmatched,
}

impl JoinKind {
    /// What explanations put before the join's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inner => "",
            Self::Left => "Left",
            Self::Matched => "Semi",
            Self::Unmatched => "Anti",
        }
    }

    /// Whether merged rows are given.
    pub fn gives_merged(self) -> bool {
        matches!(self, Self::Inner | Self::Left)
    }
}

/// Where a column of a merged row comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MergedSource {
    /// The left row.
    Left(usize),
    /// The right row.
    Right(usize),
    /// The left row, or where it is unbound the right one.
    Either(usize, usize),
    /// Nowhere: it is unbound.
    None,
}

/// Right rows that are compared between two looks at whether the query was stopped.
const COMPARED_ROWS: usize = 1 << 14;

/// Which table the current left row's candidates come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Right rows that bind all, under all.
    Regular,
    /// Right rows that do not.
    Irregular,
    /// All right rows, under what every row binds.
    All,
}

/// Joins compatible rows.
pub struct CompatibleJoin {
    left: Input,
    /// What is to be kept.
    right: Box<dyn Operator>,
    join: Kinds,
    control: Arc<Control>,
    phase: Phase,
    /// How often the rows of the inputs were divided.
    depth: u32,
    /// Parts that are to be joined.
    waiting: Vec<Task>,
    passes: Option<Passes>,
    /// Whether rows are given in the sequence of the left input's.
    keeps_sequence: bool,
    /// How that is done; there is none while nothing was put aside.
    sequence: Option<Sequence>,
    kept: Arc<KeptSide>,
    left_certain: Vec<usize>,
    left_columns: Vec<usize>,
    /// The current left row's next candidate.
    candidate: Option<(Stage, u32)>,
    pairs: Vec<(u32, u32)>,
    /// For each row of the left batch: whether a merged row was found.
    matched: Vec<bool>,
    has_batch: bool,
    merged: Batch,
    conditions: Conditions,
    probes: Vec<Probe>,
    selection: Vec<u32>,
}

/// What is to be done next.
enum Phase {
    /// Right rows are to be kept.
    Keep,
    /// Left rows are looked up.
    Probe,
    /// Everything is joined, and given in the left input's sequence.
    Sorted(Sorted<ByNumber>),
    Ended,
}

/// What is compared and given.
struct Kinds {
    kind: JoinKind,
    uncertain: Vec<(usize, usize)>,
    needs_common: bool,
    sources: Vec<MergedSource>,
    /// How many of the merged columns are given.
    given: usize,
    has_conditions: bool,
}

impl CompatibleJoin {
    /// Joins `left` with `right`, which has `right_width` columns.
    pub fn new(
        left: Input,
        right: Box<dyn Operator>,
        right_width: usize,
        join: &Compatibility,
        conditions: Conditions,
        probes: Vec<Probe>,
        control: Arc<Control>,
    ) -> Self {
        let kept = Arc::new(KeptSide::new(right_width, join, &control));
        Self {
            right,
            phase: Phase::Keep,
            ..Self::sharing(left, kept, join, conditions, probes, control)
        }
    }

    /// Joins `left` with rows that are kept already.
    pub fn sharing(
        left: Input,
        kept: Arc<KeptSide>,
        join: &Compatibility,
        conditions: Conditions,
        probes: Vec<Probe>,
        control: Arc<Control>,
    ) -> Self {
        let side = |pairs: &[(usize, usize)], of: fn(&(usize, usize)) -> usize| {
            pairs.iter().map(of).collect::<Vec<usize>>()
        };
        let both: Vec<(usize, usize)> = join
            .certain
            .iter()
            .chain(&join.uncertain)
            .copied()
            .collect();
        Self {
            left,
            right: Box::new(Constant::empty()),
            phase: Phase::Probe,
            depth: 0,
            waiting: Vec::new(),
            passes: None,
            keeps_sequence: false,
            sequence: None,
            control,
            kept,
            left_certain: side(&join.certain, |pair| pair.0),
            left_columns: side(&both, |pair| pair.0),
            candidate: None,
            pairs: Vec::new(),
            matched: Vec::new(),
            has_batch: false,
            merged: Batch::new(join.merged.len() + probes.len()),
            join: Kinds {
                kind: join.kind,
                uncertain: join.uncertain.clone(),
                needs_common: join.needs_common,
                sources: join.merged.iter().map(|(_, source)| *source).collect(),
                given: join.given,
                has_conditions: !join.conditions.is_empty(),
            },
            conditions,
            probes,
            selection: Vec::new(),
        }
    }

    /// The same with rows in the sequence of the left input's. For joins that give merged rows only.
    #[must_use]
    pub fn keeping_sequence(mut self) -> Self {
        debug_assert_eq!(self.join.kind, JoinKind::Inner);
        self.keeps_sequence = true;
        self
    }

    /// The first candidate for a left row.
    fn start(&self, row: usize) -> (Stage, u32) {
        let left = &self.left.batch;
        let binds_all = self
            .join
            .uncertain
            .iter()
            .all(|(column, _)| !left.column(*column)[row].is_unbound());
        if binds_all {
            let regular = &self.kept.regular;
            let first = regular.find(&self.kept.rows, left, &self.left_columns, row);
            return (Stage::Regular, first);
        }
        let all = self.kept.all();
        let first = all.find(&self.kept.rows, left, &self.left_certain, row);
        (Stage::All, first)
    }

    /// The candidate behind one; [`NONE`] at the end.
    fn next_candidate(&self, stage: Stage, candidate: u32, row: usize) -> (Stage, u32) {
        let (stage, next) = match stage {
            Stage::Regular if candidate == NONE => (Stage::Regular, NONE),
            Stage::Regular => (stage, self.kept.regular.next(candidate)),
            Stage::Irregular => (stage, self.kept.irregular.next(candidate)),
            Stage::All => (stage, self.kept.all().next(candidate)),
        };
        if stage == Stage::Regular && next == NONE && !self.join.uncertain.is_empty() {
            let (irregular, rows) = (&self.kept.irregular, &self.kept.rows);
            let first = irregular.find(rows, &self.left.batch, &self.left_certain, row);
            return (Stage::Irregular, first);
        }
        (stage, next)
    }

    fn are_compatible(&self, stage: Stage, row: usize, candidate: usize) -> bool {
        if stage == Stage::Regular && (!self.join.needs_common || !self.join.uncertain.is_empty()) {
            return true;
        }
        let mut have_common = !self.join.needs_common;
        for (ours, theirs) in &self.join.uncertain {
            let ours = self.left.batch.column(*ours)[row];
            let theirs = self.kept.rows.column(*theirs)[candidate];
            if ours.is_unbound() || theirs.is_unbound() {
                continue;
            }
            if ours != theirs {
                return false;
            }
            have_common = true;
        }
        have_common
    }

    /// Collects pairs of compatible rows of the left batch, as many as a batch has; `true` at its end.
    fn gather(&mut self) -> Result<bool> {
        let full = self.control.batch_rows();
        let one_is_enough = !self.join.kind.gives_merged() && !self.join.has_conditions;
        let mut compared = 0;
        while !self.left.is_used_up() {
            let row = self.left.at;
            let (mut stage, mut candidate) = match self.candidate.take() {
                Some(candidate) => candidate,
                None => match self.start(row) {
                    (Stage::Regular, NONE) => self.next_candidate(Stage::Regular, NONE, row),
                    started => started,
                },
            };
            if !self.join.kind.gives_merged() && self.matched[row] {
                candidate = NONE;
            }
            while candidate != NONE {
                if self.pairs.len() >= full {
                    self.candidate = Some((stage, candidate));
                    return Ok(false);
                }
                compared += 1;
                if compared % COMPARED_ROWS == 0 {
                    self.control.check()?;
                }
                if self.are_compatible(stage, row, candidate as usize) {
                    if one_is_enough {
                        self.matched[row] = true;
                        break;
                    }
                    self.pairs.push((row as u32, candidate));
                }
                (stage, candidate) = self.next_candidate(stage, candidate, row);
            }
            self.left.at += 1;
        }
        Ok(true)
    }

    /// Merges the pairs, keeps those that meet the conditions, and notes which left rows they are of.
    fn merge(&mut self) -> Result<()> {
        self.merged.clear();
        let (left, right) = (&self.left.batch, &self.kept.rows);
        for (index, source) in self.join.sources.iter().enumerate() {
            let pairs = self.pairs.iter();
            let column = self.merged.column_mut(index);
            match source {
                MergedSource::Left(ours) => {
                    let ours = left.column(*ours);
                    column.extend(pairs.map(|(row, _)| ours[*row as usize]));
                }
                MergedSource::Right(theirs) => {
                    let theirs = right.column(*theirs);
                    column.extend(pairs.map(|(_, row)| theirs[*row as usize]));
                }
                MergedSource::Either(ours, theirs) => {
                    let (ours, theirs) = (left.column(*ours), right.column(*theirs));
                    column.extend(pairs.map(|(ours_row, theirs_row)| {
                        let id = ours[*ours_row as usize];
                        if id.is_unbound() {
                            theirs[*theirs_row as usize]
                        } else {
                            id
                        }
                    }));
                }
                MergedSource::None => column.extend(pairs.map(|_| TermId::UNBOUND)),
            }
        }
        self.merged.set_rows(self.pairs.len());
        let first_mark = self.join.sources.len();
        for (index, probe) in self.probes.iter_mut().enumerate() {
            probe.fill(&mut self.merged, first_mark + index)?;
        }
        self.selection.clear();
        self.selection.extend(0..self.pairs.len() as u32);
        self.conditions.apply(&self.merged, &mut self.selection)?;
        for selected in &self.selection {
            let (row, _) = self.pairs[*selected as usize];
            self.matched[row as usize] = true;
        }
        self.merged.select(&self.selection);
        if let Some(sequence) = &mut self.sequence {
            let numbers = left.column(sequence.column);
            let pairs = self.selection.iter().map(|row| self.pairs[*row as usize]);
            let mut numbers = pairs.map(|(row, _)| numbers[row as usize].bits()).collect();
            let mut rows = Batch::new(self.join.given);
            for column in 0..self.join.given {
                rows.swap_column(column, &mut self.merged, column);
            }
            rows.set_rows(self.merged.rows());
            self.merged.clear();
            sequence.sorter.add(&rows, &mut numbers)?;
        }
        self.pairs.clear();
        Ok(())
    }

    /// Looks left rows up until there are rows to give; `false` if all were looked up.
    fn probe(&mut self, output: &mut Batch) -> Result<bool> {
        loop {
            self.control.check()?;
            if !self.has_batch {
                if !self.left.fetch()? {
                    return Ok(false);
                }
                self.has_batch = true;
                self.begin_batch();
            }
            let is_used_up = self.gather()?;
            if !self.pairs.is_empty() {
                self.merge()?;
                if self.join.kind.gives_merged() && self.merged.rows() > 0 {
                    for index in 0..self.join.given {
                        output.swap_column(index, &mut self.merged, index);
                    }
                    output.set_rows(self.merged.rows());
                    return Ok(true);
                }
            }
            if is_used_up && self.pairs.is_empty() {
                self.has_batch = false;
                if self.end_batch() && self.join.kind != JoinKind::Inner {
                    self.give_left(output);
                    if output.rows() > 0 {
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// Gives the left rows that were matched, or were not.
    fn give_left(&mut self, output: &mut Batch) {
        let wanted = self.join.kind == JoinKind::Matched;
        self.selection.clear();
        let matched = self.matched.iter().enumerate();
        self.selection.extend(
            matched
                .filter(|(_, matched)| **matched == wanted)
                .map(|(row, _)| row as u32),
        );
        let given = &self.join.sources[..self.join.given];
        for (index, source) in given.iter().enumerate() {
            let column = output.column_mut(index);
            match source {
                MergedSource::Left(ours) | MergedSource::Either(ours, _) => {
                    let ours = self.left.batch.column(*ours);
                    column.extend(self.selection.iter().map(|row| ours[*row as usize]));
                }
                MergedSource::Right(_) | MergedSource::None => {
                    column.resize(self.selection.len(), TermId::UNBOUND);
                }
            }
        }
        output.set_rows(self.selection.len());
    }
}

impl Operator for CompatibleJoin {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        loop {
            self.control.check()?;
            match &mut self.phase {
                Phase::Keep => self.begin()?,
                Phase::Probe => {
                    if self.probe(output)? {
                        return Ok(output.rows());
                    }
                    self.end_pass()?;
                }
                Phase::Sorted(sorted) => {
                    sorted.fill(output, self.control.batch_rows())?;
                    return Ok(output.rows());
                }
                Phase::Ended => return Ok(0),
            }
        }
    }
}
