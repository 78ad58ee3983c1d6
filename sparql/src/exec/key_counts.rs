//! `KeyCounts`: how many rows the join of some patterns has for each term of the variable that they share, without
//! making these rows.
//!
//! The patterns share one variable, the *key*, and nothing else, so that the join has for each key as many rows as the
//! product of what the patterns have. Each pattern is read in an order that is sorted by the key, and of that only
//! the key's column. The patterns leap to one another's keys, as in a leapfrog join, and the lengths of their runs of a
//! common key are multiplied. A run that fills a window is not read: the index counts it, which is exact
//! with any number of layers, and the scan seeks beyond. Where all is counted in one row, the keys that lie within the
//! windows of all patterns are counted in one loop over them, without a leap for each.
//!
//! Keys come out in ascending order, each once. What is counted in one row can be counted by several threads: each takes
//! ranges of keys.

use super::aggregate::count_id;
use super::batch::Batch;
use super::control::Control;
use super::operator::Operator;
use super::terms::Terms;
use super::threads::in_parallel;
use crate::error::Result;
use quadrille_store::index::ColumnMask;
use quadrille_store::merge::Scan;
use quadrille_store::{GraphSelector, Located, Order, Pattern, Position, TermId, gallop};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows that a window begins with, and shrinks towards after each leap.
const WINDOW_ROWS_MIN: usize = 16;
/// Rows that it grows to while it is read on.
const WINDOW_ROWS_MAX: usize = 1024;
/// Where more rows of a key are expected than these, it is better to leap beyond the key than to read them.
const READ_ROWS_MAX: f64 = 512.0;
/// Rows of a window that all have one key, from which on that is done all the same.
const SKIPPED_ROWS_MIN: usize = 256;
/// The same where the index must count the key's rows.
const COUNTED_ROWS_MIN: usize = 64;

/// Rows that are read in the time that it takes to leap.
const LEAP_ROWS: f64 = 200.0;

/// Ranges of keys for each thread, so that threads end together though ranges differ.
const RANGES_A_THREAD: usize = 4;

/// Patterns whose windows are read in one loop, at most.
const WINDOWS_MAX: usize = 4;

/// A pattern whose rows are counted.
#[derive(Clone, Debug)]
pub struct KeyedPattern {
    /// The pattern.
    pub pattern: Pattern,
    /// An order whose first column after the pattern's bound ones is the key.
    pub order: Order,
    /// Where the pattern's rows are in that order, if that is known.
    pub located: Option<Arc<Located>>,
    /// How many of the order's columns are bound.
    pub bound: usize,
    /// How many rows the pattern has.
    pub rows: u64,
    /// How many rows a key is expected to have.
    pub rows_of_key: f64,
}

/// About how many rows must be read to count: those of keys that are leapt over count as a few, and of several patterns the
/// smallest leads the others.
pub fn rows_read(patterns: &[KeyedPattern]) -> f64 {
    let read = patterns.iter().map(|pattern| {
        let rows = pattern.rows as f64;
        rows.min(rows / pattern.rows_of_key * LEAP_ROWS)
    });
    let (all, least) = read.fold((0.0, f64::INFINITY), |(all, least), rows| {
        (all + rows, rows.min(least))
    });
    f64::min(all, least * LEAP_ROWS)
}

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    /// The rows of the join.
    Rows,
    /// The keys.
    Keys,
}

/// Counts the rows of patterns by key.
pub struct KeyCounts {
    runs: Vec<Runs>,
    counted: Vec<Counted>,
    /// Whether the rows are those of single keys, which come in a column before the counts.
    is_by_key: bool,
    /// The patterns within ranges of keys, if these are to be counted by several threads, and how many.
    divided: Option<(Vec<Vec<KeyedPattern>>, usize)>,
    terms: Arc<Terms>,
    control: Arc<Control>,
    ended: bool,
}

impl KeyCounts {
    /// Counts by key, with the key in the first column; or all in all, in one row.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn new(
        patterns: &[KeyedPattern],
        counted: Vec<Counted>,
        is_by_key: bool,
        terms: &Arc<Terms>,
        control: Arc<Control>,
    ) -> Result<Self> {
        Ok(Self {
            runs: patterns
                .iter()
                .map(|pattern| Runs::new(pattern, terms))
                .collect::<Result<_>>()?,
            counted,
            is_by_key,
            divided: None,
            terms: Arc::clone(terms),
            control,
            ended: false,
        })
    }

    /// The same by several threads, if it gives one row and the patterns are stored so that they can be divided.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn by_threads(mut self, patterns: &[KeyedPattern], threads: usize) -> Result<Self> {
        if threads > 1 && !self.is_by_key {
            let ranges = divided(patterns, threads * RANGES_A_THREAD, &self.terms)?;
            self.divided = ranges.map(|ranges| (ranges, threads));
        }
        Ok(self)
    }

    /// The next key of all patterns.
    fn next_key(&mut self) -> Result<Option<TermId>> {
        let mut key = TermId::UNBOUND;
        let (mut agreed, mut index) = (0, 0);
        while agreed < self.runs.len() {
            let Some(found) = self.runs[index].seek(key, &self.control)? else {
                return Ok(None);
            };
            if found == key {
                agreed += 1;
            } else {
                key = found;
                agreed = 1;
            }
            // No division: this is done for every key.
            index += 1;
            if index == self.runs.len() {
                index = 0;
            }
        }
        Ok(Some(key))
    }

    /// How many rows and keys there are in all.
    fn count_all(&mut self) -> Result<(u64, u64)> {
        let (mut rows, mut keys) = (0_u64, 0_u64);
        loop {
            let (whole_rows, whole_keys) = self.take_windows();
            rows = rows.saturating_add(whole_rows);
            keys += whole_keys;
            let Some(key) = self.next_key()? else {
                return Ok((rows, keys));
            };
            rows = rows.saturating_add(self.take(key)?);
            keys += 1;
        }
    }

    /// The same by several threads, each of which takes one range of keys after another.
    fn count_ranges(&self, ranges: &[Vec<KeyedPattern>], threads: usize) -> Result<(u64, u64)> {
        let next = AtomicUsize::new(0);
        let (counted, terms, control) = (&self.counted, &self.terms, &self.control);
        let counts = in_parallel((0..threads.min(ranges.len())).collect(), |_: usize| {
            let (mut rows, mut keys) = (0_u64, 0_u64);
            while let Some(patterns) = ranges.get(next.fetch_add(1, Ordering::Relaxed)) {
                let control = Arc::clone(control);
                let mut counts = Self::new(patterns, counted.clone(), false, terms, control)?;
                let (more_rows, more_keys) = counts.count_all()?;
                rows = rows.saturating_add(more_rows);
                keys += more_keys;
            }
            Ok((rows, keys))
        })?;
        Ok(counts
            .into_iter()
            .fold((0, 0), |(rows, keys), (more_rows, more_keys)| {
                (u64::saturating_add(rows, more_rows), keys + more_keys)
            }))
    }

    /// Goes beyond the keys whose rows all lie within the windows; says how many rows and keys these are.
    fn take_windows(&mut self) -> (u64, u64) {
        if self.runs.len() > WINDOWS_MAX {
            return (0, 0);
        }
        let mut windows = [[].as_slice(); WINDOWS_MAX];
        for (window, runs) in windows.iter_mut().zip(&self.runs) {
            *window = runs.whole_runs();
        }
        let (rows, keys) = count_keys(&mut windows[..self.runs.len()]);
        let left = windows.map(<[TermId]>::len);
        for (left, runs) in left.into_iter().zip(&mut self.runs) {
            runs.at += runs.whole_runs().len() - left;
        }
        (rows, keys)
    }

    /// Goes beyond the current key; says how many rows it has, if that is wanted.
    fn take(&mut self, key: TermId) -> Result<u64> {
        if !self.counted.contains(&Counted::Rows) {
            self.runs[0].skip(key, &self.control)?;
            return Ok(1);
        }
        self.runs.iter_mut().try_fold(1_u64, |rows, runs| {
            Ok(rows.saturating_mul(runs.take(key, &self.terms, &self.control)?))
        })
    }

    fn push_counts(&self, rows: u64, keys: u64, output: &mut Batch) -> Result<()> {
        for (index, counted) in self.counted.iter().enumerate() {
            let count = match counted {
                Counted::Rows => rows,
                Counted::Keys => keys,
            };
            let column = usize::from(self.is_by_key) + index;
            output
                .column_mut(column)
                .push(count_id(count, &self.terms)?);
        }
        Ok(())
    }
}

impl Operator for KeyCounts {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        self.control.check()?;
        if self.ended {
            return Ok(0);
        }
        if !self.is_by_key {
            self.ended = true;
            let (rows, keys) = match self.divided.take() {
                Some((ranges, threads)) => self.count_ranges(&ranges, threads)?,
                None => self.count_all()?,
            };
            self.push_counts(rows, keys, output)?;
            output.set_rows(1);
            return Ok(1);
        }
        let mut keys = 0;
        while keys < self.control.batch_rows() {
            let Some(key) = self.next_key()? else {
                self.ended = true;
                break;
            };
            let rows = self.take(key)?;
            keys += 1;
            output.column_mut(0).push(key);
            self.push_counts(rows, 1, output)?;
        }
        output.set_rows(keys);
        Ok(output.rows())
    }

    fn skip_to(&mut self, key: &[TermId]) -> Result<()> {
        if let (true, Some(first)) = (self.is_by_key, key.first()) {
            self.runs[0].seek(*first, &self.control)?;
        }
        Ok(())
    }
}

/// The patterns within up to so many ranges of keys, which are cut where the largest pattern's rows are; `None` if they cannot be
/// divided.
fn divided(
    patterns: &[KeyedPattern],
    ranges: usize,
    terms: &Terms,
) -> Result<Option<Vec<Vec<KeyedPattern>>>> {
    let snapshot = terms.snapshot();
    let mut located = Vec::with_capacity(patterns.len());
    for keyed in patterns {
        let is_predicate = keyed.order.columns()[keyed.bound] == Position::Predicate;
        match snapshot.locate(&keyed.pattern, keyed.order)? {
            Some(found) if !is_predicate => located.push(found),
            _ => return Ok(None),
        }
    }
    let largest = (0..patterns.len()).max_by_key(|index| patterns[*index].rows);
    let Some(largest) = largest else {
        return Ok(None);
    };
    let wanted = ColumnMask::NONE.with(patterns[largest].bound);
    let mut starts = vec![TermId::UNBOUND];
    let mut row = Batch::new(patterns[largest].order.columns().len() - patterns[largest].bound);
    for mut part in snapshot.scan_parts_located(&located[largest], wanted, ranges)? {
        row.clear();
        part.fill(row.columns_mut(), 1)?;
        starts.extend(row.column(0).first());
    }
    starts.dedup();
    let ends = starts[1..]
        .iter()
        .map(|start| start.bits() - 1)
        .chain([u64::MAX]);
    let mut divided = Vec::with_capacity(starts.len());
    for (start, end) in starts.iter().zip(ends) {
        let range = [*start..=TermId::from_bits(end)];
        let within = patterns.iter().zip(&located).map(|(keyed, located)| {
            Ok(KeyedPattern {
                located: Some(Arc::new(snapshot.located_within(located, &range)?)),
                ..keyed.clone()
            })
        });
        divided.push(within.collect::<Result<_>>()?);
    }
    Ok(Some(divided))
}

/// How many rows and keys some sorted lists of keys have in common, of which those that were looked at are taken.
fn count_keys(lists: &mut [&[TermId]]) -> (u64, u64) {
    let (mut rows, mut keys) = (0_u64, 0_u64);
    loop {
        let mut key = TermId::UNBOUND;
        for list in lists.iter() {
            match list.first() {
                Some(first) => key = key.max(*first),
                None => return (rows, keys),
            }
        }
        let mut is_common = true;
        for list in lists.iter_mut() {
            while let [first, rest @ ..] = list
                && *first < key
            {
                *list = rest;
            }
            is_common &= list.first() == Some(&key);
        }
        if is_common {
            let mut rows_of_key = 1_u64;
            for list in lists.iter_mut() {
                let length = list.iter().take_while(|found| **found == key).count();
                *list = &list[length..];
                rows_of_key = rows_of_key.saturating_mul(length as u64);
            }
            rows = rows.saturating_add(rows_of_key);
            keys += 1;
        }
    }
}

/// The keys of one pattern with their runs.
struct Runs {
    pattern: Pattern,
    position: Position,
    /// Rows of a window that all have one key, from which on the others are leapt over.
    skipped_rows_min: usize,
    scan: Scan,
    window: Batch,
    at: usize,
    fill: usize,
}

impl Runs {
    fn new(keyed: &KeyedPattern, terms: &Terms) -> Result<Self> {
        let columns = keyed.order.columns();
        let wanted = ColumnMask::NONE.with(keyed.bound);
        let snapshot = terms.snapshot();
        Ok(Self {
            pattern: keyed.pattern,
            position: columns[keyed.bound],
            scan: match &keyed.located {
                Some(located) => snapshot.scan_located(located, wanted),
                None => snapshot.scan(&keyed.pattern, keyed.order, wanted)?,
            },
            skipped_rows_min: if keyed.rows_of_key > READ_ROWS_MAX {
                WINDOW_ROWS_MIN
            } else {
                SKIPPED_ROWS_MIN
            },
            window: Batch::new(columns.len() - keyed.bound),
            at: 0,
            fill: WINDOW_ROWS_MIN,
        })
    }

    /// Replaces the window by the next rows; `false` at the end.
    fn refill(&mut self, control: &Control) -> Result<bool> {
        control.check()?;
        self.window.clear();
        self.at = 0;
        let rows = self.scan.fill(self.window.columns_mut(), self.fill)?;
        self.window.set_rows(rows);
        self.fill = (self.fill * 2).min(WINDOW_ROWS_MAX);
        Ok(rows > 0)
    }

    /// The keys from here on whose runs end within the window: the last one may go on.
    fn whole_runs(&self) -> &[TermId] {
        let keys = &self.window.column(0)[self.at..];
        match keys.last() {
            Some(last) => &keys[..keys.partition_point(|key| key < last)],
            None => keys,
        }
    }

    /// The first key from here on that is not less than `key`.
    fn seek(&mut self, key: TermId, control: &Control) -> Result<Option<TermId>> {
        let keys = self.window.column(0);
        self.at = gallop(self.at, keys.len(), |row| keys[row] < key);
        if self.at == keys.len() {
            // Cheap where the key is near.
            if !key.is_unbound() {
                self.scan.seek(&[key])?;
            }
            if !self.refill(control)? {
                return Ok(None);
            }
        }
        Ok(Some(self.window.column(0)[self.at]))
    }

    /// Goes beyond the run of a key that is the current one.
    fn skip(&mut self, key: TermId, control: &Control) -> Result<()> {
        loop {
            let start = self.at;
            if !self.pass(key) {
                return Ok(());
            }
            if start == 0 && self.window.rows() >= self.skipped_rows_min {
                return self.leap_beyond(key, control);
            }
            if !self.refill(control)? {
                return Ok(());
            }
        }
    }

    /// Goes beyond the run of a key that is the current one, and says how long it is.
    fn take(&mut self, key: TermId, terms: &Terms, control: &Control) -> Result<u64> {
        let mut rows = 0;
        loop {
            let start = self.at;
            let is_used_up = self.pass(key);
            rows += (self.at - start) as u64;
            if !is_used_up {
                return Ok(rows);
            }
            if start == 0 && self.window.rows() >= COUNTED_ROWS_MIN {
                let rows = terms.snapshot().count(&self.of_key(key))?;
                self.leap_beyond(key, control)?;
                return Ok(rows);
            }
            if !self.refill(control)? {
                return Ok(rows);
            }
        }
    }

    /// Goes beyond the rows of the window that have a key; whether that is its end.
    fn pass(&mut self, key: TermId) -> bool {
        let keys = self.window.column(0);
        self.at = gallop(self.at, keys.len(), |row| keys[row] == key);
        self.at == keys.len()
    }

    fn leap_beyond(&mut self, key: TermId, control: &Control) -> Result<()> {
        self.fill = WINDOW_ROWS_MIN.max(self.fill / 4);
        if let Some(next) = key.bits().checked_add(1) {
            return self.seek(TermId::from_bits(next), control).map(drop);
        }
        self.scan = Scan::empty();
        self.window.clear();
        Ok(())
    }

    /// The pattern with a term in the key's place.
    fn of_key(&self, key: TermId) -> Pattern {
        let mut pattern = self.pattern;
        match self.position {
            Position::Subject => pattern.subject = Some(key),
            Position::Predicate => pattern.predicate = Some(key),
            Position::Object => pattern.object = Some(key),
            Position::Graph => pattern.graph = GraphSelector::Named(key),
        }
        pattern
    }
}
