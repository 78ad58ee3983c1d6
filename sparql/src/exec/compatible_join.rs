//! `CompatibleJoin`: joins rows that agree in every variable that both bind. It serves joins of whole groups, OPTIONAL,
//! MINUS, and EXISTS over a plain pattern.
//!
//! The right input is kept in memory in two hash tables: rows that bind all shared variables under all of
//! them, the few others under those that every row binds. A left row that binds all shared variables looks
//! in both; one that does not looks among all rows that agree with it in the certain ones. Conditions are evaluated on merged
//! rows, many at a time. What is kept counts against the query's memory.

use super::batch::Batch;
use super::control::Control;
use super::exists::Probe;
use super::filter::Conditions;
use super::hash::hash_row;
use super::operator::{Input, Operator};
use crate::error::Result;
use crate::plan::physical::Compatibility;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use quadrille_store::TermId;
use std::sync::Arc;

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

/// No further row of the same key.
const NONE: u32 = u32::MAX;
/// Right rows that are compared between two looks at whether the query was stopped.
const COMPARED_ROWS: usize = 1 << 14;

/// Rows by their key.
struct KeyTable {
    columns: Vec<usize>,
    /// The last row of each key.
    table: HashTable<u32>,
    /// For each row the one before it that has the same key.
    previous: Vec<u32>,
}

impl KeyTable {
    fn new(columns: Vec<usize>) -> Self {
        Self {
            columns,
            table: HashTable::new(),
            previous: Vec::new(),
        }
    }

    fn insert(&mut self, kept: &Batch, row: usize) {
        let columns = &self.columns;
        let entry = self.table.entry(
            hash_row(kept, columns, row),
            |other| {
                let other = *other as usize;
                columns
                    .iter()
                    .all(|column| kept.column(*column)[other] == kept.column(*column)[row])
            },
            |other| hash_row(kept, columns, *other as usize),
        );
        if self.previous.len() <= row {
            self.previous.resize(row + 1, NONE);
        }
        match entry {
            Entry::Occupied(mut entry) => {
                self.previous[row] = std::mem::replace(entry.get_mut(), row as u32);
            }
            Entry::Vacant(entry) => {
                entry.insert(row as u32);
            }
        }
    }

    fn find(&self, kept: &Batch, left: &Batch, columns: &[usize], row: usize) -> u32 {
        self.table
            .find(hash_row(left, columns, row), |other| {
                let other = *other as usize;
                columns
                    .iter()
                    .zip(&self.columns)
                    .all(|(ours, theirs)| left.column(*ours)[row] == kept.column(*theirs)[other])
            })
            .copied()
            .unwrap_or(NONE)
    }

    fn next(&self, row: u32) -> u32 {
        self.previous.get(row as usize).copied().unwrap_or(NONE)
    }
}

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
    /// What is to be kept, until it is.
    right: Option<Box<dyn Operator>>,
    join: Kinds,
    control: Arc<Control>,
    kept: Batch,
    regular: KeyTable,
    irregular: KeyTable,
    /// Made when the first left row needs it.
    all: Option<KeyTable>,
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
    ended: bool,
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
            right: Some(right),
            control,
            kept: Batch::new(right_width),
            regular: KeyTable::new(side(&both, |pair| pair.1)),
            irregular: KeyTable::new(side(&join.certain, |pair| pair.1)),
            all: None,
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
            ended: false,
        }
    }

    /// Reads the right input and files its rows.
    fn keep(&mut self, mut right: Box<dyn Operator>) -> Result<()> {
        let mut batch = Batch::new(self.kept.width());
        while right.next(&mut batch)? > 0 {
            self.control.check()?;
            self.control
                .charge(batch.rows() as u64 * (8 * self.kept.width() as u64 + 12))?;
            let start = self.kept.rows();
            self.kept.append(&batch, 0, batch.rows());
            for row in start..self.kept.rows() {
                let is_regular = self
                    .join
                    .uncertain
                    .iter()
                    .all(|(_, column)| !self.kept.column(*column)[row].is_unbound());
                if is_regular {
                    self.regular.insert(&self.kept, row);
                } else {
                    self.irregular.insert(&self.kept, row);
                }
            }
        }
        Ok(())
    }

    /// The first candidate for a left row.
    fn start(&mut self, row: usize) -> (Stage, u32) {
        let left = &self.left.batch;
        let binds_all = self
            .join
            .uncertain
            .iter()
            .all(|(column, _)| !left.column(*column)[row].is_unbound());
        if binds_all {
            let first = self.regular.find(&self.kept, left, &self.left_columns, row);
            return (Stage::Regular, first);
        }
        let kept = &self.kept;
        let columns = &self.irregular.columns;
        let all = self.all.get_or_insert_with(|| {
            let mut all = KeyTable::new(columns.clone());
            for row in 0..kept.rows() {
                all.insert(kept, row);
            }
            all
        });
        (Stage::All, all.find(kept, left, &self.left_certain, row))
    }

    /// The candidate behind one; [`NONE`] at the end.
    fn next_candidate(&self, stage: Stage, candidate: u32, row: usize) -> (Stage, u32) {
        let (stage, next) = match stage {
            Stage::Regular if candidate == NONE => (Stage::Regular, NONE),
            Stage::Regular => (stage, self.regular.next(candidate)),
            Stage::Irregular => (stage, self.irregular.next(candidate)),
            Stage::All => {
                let next = self.all.as_ref().map_or(NONE, |all| all.next(candidate));
                (stage, next)
            }
        };
        if stage == Stage::Regular && next == NONE && !self.join.uncertain.is_empty() {
            let first = self
                .irregular
                .find(&self.kept, &self.left.batch, &self.left_certain, row);
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
            let theirs = self.kept.column(*theirs)[candidate];
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
        let (left, right) = (&self.left.batch, &self.kept);
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
        self.pairs.clear();
        Ok(())
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
        if let Some(right) = self.right.take() {
            self.keep(right)?;
            // Without right rows there is no need to read the left ones, unless they are given.
            self.ended = self.kept.rows() == 0
                && matches!(self.join.kind, JoinKind::Inner | JoinKind::Matched);
        }
        while !self.ended {
            self.control.check()?;
            if !self.has_batch {
                if !self.left.fetch()? {
                    self.ended = true;
                    break;
                }
                self.has_batch = true;
                self.matched.clear();
                self.matched.resize(self.left.batch.rows(), false);
            }
            let is_used_up = self.gather()?;
            if !self.pairs.is_empty() {
                self.merge()?;
                if self.join.kind.gives_merged() && self.merged.rows() > 0 {
                    for index in 0..self.join.given {
                        output.swap_column(index, &mut self.merged, index);
                    }
                    output.set_rows(self.merged.rows());
                    return Ok(output.rows());
                }
            }
            if is_used_up && self.pairs.is_empty() {
                self.has_batch = false;
                if self.join.kind != JoinKind::Inner {
                    self.give_left(output);
                    if output.rows() > 0 {
                        return Ok(output.rows());
                    }
                }
            }
        }
        Ok(0)
    }
}
