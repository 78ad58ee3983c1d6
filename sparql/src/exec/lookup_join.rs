//! `LookupJoin`: for each row of the outer input the rows of a quad pattern that agree with it.
//!
//! The keys of a batch of outer rows are sorted, so that one cursor into the index serves them all moving forward
//! only. The rows that the cursor gives are kept in a *window*: a key is looked for there first, and the
//! cursor seeks when the key lies beyond. The window's size follows what is found: dense keys read ahead,
//! scattered ones do not.
//!
//! Where the outer input is sorted by the keys anyway, nothing is sorted, the cursor serves all batches, and the
//! output is sorted by the keys too; otherwise the output has no order.

use super::batch::{Batch, compare_rows};
use super::control::Control;
use super::operator::{IndexReads, Input, Operator};
use super::pairs::{Pairs, Source};
use super::scan::keep_equal;
use crate::error::Result;
use quadrille_store::index::ColumnMask;
use quadrille_store::merge::Scan;
use quadrille_store::{Located, Order, Pattern, Snapshot, TermId, gallop};
use std::cmp::Ordering;
use std::sync::Arc;

/// Rows that the window begins with, and shrinks to.
const WINDOW_ROWS_MIN: usize = 16;
/// Rows that it grows to.
const WINDOW_ROWS_MAX: usize = 1024;
/// Keys found in a window that make the next one larger.
const DENSE_KEYS: usize = 8;
/// Rows that are compared between two looks at whether the query was stopped.
const COMPARED_ROWS: usize = 1 << 14;

/// What is looked up.
#[derive(Clone, Debug)]
pub struct Lookup {
    /// The pattern; its bound positions are a prefix of the order.
    pub pattern: Pattern,
    /// The order whose columns after that prefix begin with the keys.
    pub order: Order,
    /// Where the pattern's rows are in that order, if that is known.
    pub located: Option<Arc<Located>>,
    /// The order's columns that anybody wants.
    pub wanted: ColumnMask,
    /// How many columns the scan gives.
    pub width: usize,
    /// Pairs of the scan's columns that have the same variable.
    pub equal: Vec<(usize, usize)>,
    /// The outer columns that are the keys; the key `i` is the scan's column `i`.
    pub keys: Vec<usize>,
    /// Pairs of an outer and a scan column that must be the same besides.
    pub residual: Vec<(usize, usize)>,
    /// Whether the outer input is sorted by the keys.
    pub is_sorted: bool,
}

impl Lookup {
    /// All rows of the pattern.
    fn scan(&self, snapshot: &Snapshot) -> Result<Scan> {
        Ok(match &self.located {
            Some(located) => snapshot.scan_located(located, self.wanted),
            None => snapshot.scan(&self.pattern, self.order, self.wanted)?,
        })
    }
}

/// Joins an input with a quad pattern.
pub struct LookupJoin {
    outer: Input,
    snapshot: Snapshot,
    lookup: Lookup,
    outputs: Vec<Source>,
    control: Arc<Control>,
    /// The scan's columns that are compared with the keys: 0, 1, ...
    key_columns: Vec<usize>,
    /// Numbers of the outer batch's rows, sorted by key.
    sequence: Vec<u32>,
    /// Where in the sequence the current group of equal keys begins and ends, and which is next.
    group: std::ops::Range<usize>,
    next_outer: usize,
    window: Window,
    /// The rows of the window that the group is being paired with, and the next of them.
    matches: std::ops::Range<usize>,
    next_match: usize,
    /// The last key of the previous batch, if its rows were more than a window.
    long_key: Option<Vec<TermId>>,
    pairs: Pairs,
    ended: bool,
}

/// Rows of the scan.
struct Window {
    scan: Option<Scan>,
    rows: Batch,
    at: usize,
    /// Whether the scan has no further rows.
    is_last: bool,
    fill: usize,
    /// Keys that were found in it.
    keys: usize,
    selection: Vec<u32>,
    reads: IndexReads,
}

impl LookupJoin {
    /// Joins `outer` with what is looked up for its rows.
    pub fn new(
        outer: Input,
        snapshot: Snapshot,
        lookup: Lookup,
        outputs: Vec<Source>,
        control: Arc<Control>,
    ) -> Self {
        Self {
            key_columns: (0..lookup.keys.len()).collect(),
            window: Window {
                scan: None,
                rows: Batch::new(lookup.width),
                at: 0,
                is_last: false,
                fill: WINDOW_ROWS_MIN,
                keys: 0,
                selection: Vec::new(),
                reads: IndexReads::default(),
            },
            outer,
            snapshot,
            lookup,
            outputs,
            control,
            sequence: Vec::new(),
            group: 0..0,
            next_outer: 0,
            matches: 0..0,
            next_match: 0,
            long_key: None,
            pairs: Pairs::default(),
            ended: false,
        }
    }

    fn flush(&mut self, output: &mut Batch) {
        self.pairs
            .flush(&self.outer.batch, &self.window.rows, &self.outputs, output);
    }

    /// Fetches the next outer batch and puts its rows in the sequence of their keys; `false` at the end.
    fn fetch_outer(&mut self) -> Result<bool> {
        if !self.outer.fetch()? {
            return Ok(false);
        }
        let batch = &self.outer.batch;
        self.sequence.clear();
        self.sequence.extend(0..batch.rows() as u32);
        if !self.lookup.is_sorted {
            match &*self.lookup.keys {
                [key] => {
                    let key = batch.column(*key);
                    self.sequence.sort_unstable_by_key(|row| key[*row as usize]);
                }
                [first, second] => {
                    let (first, second) = (batch.column(*first), batch.column(*second));
                    self.sequence
                        .sort_unstable_by_key(|row| (first[*row as usize], second[*row as usize]));
                }
                keys => self.sequence.sort_unstable_by(|a, b| {
                    compare_rows(batch, keys, *a as usize, batch, keys, *b as usize)
                }),
            }
            self.window.restart();
        } else if self.long_key.as_ref().is_some_and(|key| {
            let row = self.sequence[0] as usize;
            key.iter()
                .zip(&self.lookup.keys)
                .all(|(value, column)| *value == batch.column(*column)[row])
        }) {
            // The rows of this key were passed already.
            self.window.restart();
        }
        self.long_key = None;
        self.group = 0..0;
        Ok(true)
    }

    /// Goes to the next group of outer rows with one key; `false` if there is none in the batch.
    fn next_group(&mut self) -> bool {
        let start = self.group.end;
        if start == self.sequence.len() {
            return false;
        }
        let (batch, keys, sequence) = (&self.outer.batch, &self.lookup.keys, &self.sequence);
        let first = sequence[start] as usize;
        let end = gallop(start + 1, sequence.len(), |index| {
            compare_rows(batch, keys, sequence[index] as usize, batch, keys, first).is_eq()
        });
        self.group = start..end;
        true
    }

    /// Looks for the rows of the group's key.
    fn find(&mut self, output: &mut Batch) -> Result<bool> {
        let row = self.sequence[self.group.start] as usize;
        loop {
            let (batch, keys) = (&self.outer.batch, &self.lookup.keys);
            let (window, key_columns) = (&mut self.window, &self.key_columns);
            let end = window.rows.rows();
            window.at = gallop(window.at, end, |index| {
                compare_rows(&window.rows, key_columns, index, batch, keys, row).is_lt()
            });
            if window.at < end {
                window.keys += 1;
                let order = compare_rows(&window.rows, key_columns, window.at, batch, keys, row);
                if order != Ordering::Equal {
                    return Ok(false);
                }
                self.set_matches(row);
                return Ok(true);
            }
            if window.is_last {
                return Ok(false);
            }
            self.flush(output);
            let mut key = [TermId::UNBOUND; 4];
            for (value, column) in key.iter_mut().zip(&self.lookup.keys) {
                *value = self.outer.batch.column(*column)[row];
            }
            let length = self.lookup.keys.len();
            self.window.refill(
                &self.snapshot,
                &self.lookup,
                &self.control,
                Some(&key[..length]),
            )?;
        }
    }

    /// The rows of the window from its position on that have the key of an outer row.
    fn set_matches(&mut self, row: usize) {
        let (batch, keys) = (&self.outer.batch, &self.lookup.keys);
        let (window, key_columns) = (&self.window, &self.key_columns);
        let end = gallop(window.at + 1, window.rows.rows(), |index| {
            compare_rows(&window.rows, key_columns, index, batch, keys, row).is_eq()
        });
        self.matches = window.at..end;
        self.next_match = window.at;
        self.next_outer = self.group.start;
    }

    /// After the group was paired with all matches of the window: whether the next window has more of them.
    fn has_more_matches(&mut self, output: &mut Batch) -> Result<bool> {
        if self.matches.end < self.window.rows.rows() || self.window.is_last {
            return Ok(false);
        }
        self.flush(output);
        self.window
            .refill(&self.snapshot, &self.lookup, &self.control, None)?;
        let row = self.sequence[self.group.start] as usize;
        let (batch, keys) = (&self.outer.batch, &self.lookup.keys);
        if self.lookup.is_sorted && self.group.end == self.sequence.len() {
            self.long_key = Some(
                keys.iter()
                    .map(|column| batch.column(*column)[row])
                    .collect(),
            );
        }
        let continues = self.window.rows.rows() > 0
            && compare_rows(&self.window.rows, &self.key_columns, 0, batch, keys, row).is_eq();
        if continues {
            self.set_matches(row);
        }
        Ok(continues)
    }

    /// Pairs the group with the matches; `true` if the output is full.
    fn pair(&mut self, output: &Batch) -> Result<bool> {
        let full = self.control.batch_rows() - output.rows();
        let mut compared = 0;
        while self.next_outer < self.group.end {
            let row = self.sequence[self.next_outer] as usize;
            if self.lookup.residual.is_empty() {
                let end = self
                    .matches
                    .end
                    .min(self.next_match + (full - self.pairs.len()));
                self.pairs.push_range(row, self.next_match..end);
                self.next_match = end;
            } else {
                compared += self.matches.end - self.next_match;
                if compared > COMPARED_ROWS {
                    self.control.check()?;
                    compared = 0;
                }
                while self.next_match < self.matches.end && self.pairs.len() < full {
                    let found = self.next_match;
                    if self.lookup.residual.iter().all(|(outer, inner)| {
                        self.outer.batch.column(*outer)[row]
                            == self.window.rows.column(*inner)[found]
                    }) {
                        self.pairs.push(row, found);
                    }
                    self.next_match += 1;
                }
            }
            if self.next_match < self.matches.end {
                return Ok(true);
            }
            self.next_match = self.matches.start;
            self.next_outer += 1;
        }
        Ok(false)
    }
}

impl Operator for LookupJoin {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        self.control.check()?;
        while !self.ended {
            if !self.matches.is_empty() {
                if self.pair(output)? {
                    self.flush(output);
                    return Ok(output.rows());
                }
                if !self.has_more_matches(output)? {
                    self.matches = 0..0;
                }
                continue;
            }
            if self.next_group() {
                self.find(output)?;
                continue;
            }
            self.flush(output);
            if !self.fetch_outer()? {
                self.ended = true;
            }
        }
        Ok(output.rows())
    }

    fn skip_to(&mut self, key: &[TermId]) -> Result<()> {
        if self.lookup.is_sorted {
            let key = &key[..key.len().min(self.lookup.keys.len())];
            self.outer.skip_to(key)?;
        }
        Ok(())
    }

    fn index_reads(&self) -> IndexReads {
        self.window.reads
    }
}

impl Window {
    /// Begins again at the first row of the scan.
    fn restart(&mut self) {
        self.scan = None;
        self.rows.clear();
        self.at = 0;
        self.is_last = false;
        self.keys = 0;
    }

    /// Replaces the rows by the next ones, from the key on if one is given.
    fn refill(
        &mut self,
        snapshot: &Snapshot,
        lookup: &Lookup,
        control: &Control,
        key: Option<&[TermId]>,
    ) -> Result<()> {
        self.fill = if self.keys >= DENSE_KEYS || key.is_none() {
            (self.fill * 2).min(WINDOW_ROWS_MAX)
        } else if self.keys <= 1 {
            (self.fill / 2).max(WINDOW_ROWS_MIN)
        } else {
            self.fill
        };
        self.keys = 0;
        self.at = 0;
        let scan = match &mut self.scan {
            Some(scan) => scan,
            none => none.insert(lookup.scan(snapshot)?),
        };
        if let Some(key) = key {
            self.reads.searches += 1;
            scan.seek(key)?;
        }
        loop {
            control.check()?;
            self.rows.clear();
            let rows = scan.fill(self.rows.columns_mut(), self.fill)?;
            self.rows.set_rows(rows);
            self.reads.rows += rows as u64;
            if rows == 0 {
                self.is_last = true;
                return Ok(());
            }
            if lookup.equal.is_empty() {
                return Ok(());
            }
            keep_equal(&mut self.rows, &lookup.equal, &mut self.selection);
            if self.rows.rows() > 0 {
                return Ok(());
            }
        }
    }
}
