//! Evaluates one rule from one of its premises on: set at a time, by sorted keys.
//!
//! ```text
//! rows that match the first premise                     from a part of a scan, or of a run
//!   -> for each further premise, the one with the most bound positions first:
//!        sort the rows by the terms that bind it, drop repeated ones
//!        walk its triples beside them (`FactCursor`), keep the columns that are still needed
//!   -> pairs (object, subject) of the head, by predicate, sorted
//! ```

use crate::error::Result;
use crate::facts::{Facts, order_for, pattern, place};
use crate::memory::Charge;
use crate::options::Context;
use crate::rule::{Atom, Rule, Slot};
use bytemuck::cast_slice_mut;
use quadrille_store::{ColumnMask, Columns, Kind, Order, Scan, Snapshot, TermId};
use std::collections::BTreeMap;

/// Rows that are read from a scan at once.
const BATCH_ROWS: usize = 4096;
/// Values by which rows may grow before their memory is counted.
const COUNT_VALUES: usize = 64 << 10;

/// What a rule concludes: pairs (object, subject), sorted and each once, by predicate and, where the rule's head has
/// one, by its constant object.
pub type Conclusions = BTreeMap<(TermId, Option<TermId>), Vec<[TermId; 2]>>;

/// Rows of variables' terms, one after the other.
#[derive(Debug)]
struct Rows {
    /// The variable of each column.
    variables: Vec<usize>,
    values: Vec<TermId>,
    /// How many, for rows without columns.
    count: usize,
    charge: Charge,
}

/// A rule with the premise that it begins with.
pub struct Evaluation<'a> {
    rule: &'a Rule,
    first: usize,
    /// The order in which rows of the first premise come.
    pub order: Order,
    /// The other premises, in the sequence in which they are joined.
    sequence: Vec<usize>,
}

impl<'a> Evaluation<'a> {
    /// Chooses the sequence of premises; `weights` says how many triples each matches, about.
    pub fn new(rule: &'a Rule, first: usize, weights: &[u64]) -> Self {
        let mut bound: Vec<usize> = rule.body[first].variables().collect();
        let mut left: Vec<usize> = (0..rule.body.len()).filter(|atom| *atom != first).collect();
        let mut sequence = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let free = |atom: usize| {
                let mut free: Vec<usize> = rule.body[atom].variables().collect();
                free.retain(|variable| !bound.contains(variable));
                let joined = rule.body[atom].variables().count() > free.len();
                // What shares no variable comes last: it multiplies.
                (!joined && !bound.is_empty(), free.len(), weights[atom])
            };
            let best = (0..left.len()).min_by_key(|place| free(left[*place]));
            let atom = left.remove(best.expect("some are left"));
            bound.extend(rule.body[atom].variables());
            sequence.push(atom);
        }
        let mut wanted: Vec<usize> = match sequence.first() {
            Some(next) => rule.body[*next].variables().collect(),
            // Conclusions are sorted by object, then by subject.
            None => [rule.head.0[2], rule.head.0[0]]
                .into_iter()
                .filter_map(Slot::variable)
                .collect(),
        };
        let own: Vec<usize> = rule.body[first].variables().collect();
        wanted.retain(|variable| own.contains(variable));
        Self {
            rule,
            first,
            order: order_for(&rule.body[first], &wanted),
            sequence,
        }
    }

    /// The first premise.
    pub fn atom(&self) -> &Atom {
        &self.rule.body[self.first]
    }

    /// The scan of the first premise's triples in a snapshot, in parts.
    pub fn scans(&self, snapshot: &Snapshot, parts: usize) -> Result<Vec<Scan>> {
        let constants = self
            .atom()
            .0
            .iter()
            .filter(|slot| slot.constant().is_some())
            .count();
        let mut wanted = ColumnMask::NONE;
        for (column, position) in self.order.columns().iter().enumerate().skip(constants) {
            let variable = self.atom().0[place(*position)].variable();
            // A variable that occurs twice in the premise is compared.
            let repeated = self
                .atom()
                .variables()
                .filter(|v| Some(*v) == variable)
                .count()
                > 1;
            if repeated || variable.is_some_and(|v| self.is_needed(v, &self.sequence)) {
                wanted = wanted.with(column);
            }
        }
        Ok(snapshot.scan_parts(&pattern(self.atom()), self.order, wanted, parts)?)
    }

    /// Whether a variable is asked for by premises, guards or the head.
    fn is_needed(&self, variable: usize, premises: &[usize]) -> bool {
        let mut atoms = premises.iter().map(|atom| &self.rule.body[*atom]);
        atoms.any(|atom| atom.variables().any(|v| v == variable))
            || self.rule.head.variables().any(|v| v == variable)
            || self
                .rule
                .differ
                .iter()
                .any(|(left, right)| *left == variable || right.variable() == Some(variable))
    }

    /// The columns of the first premise's rows: each variable with the place of its first occurrence, and pairs of places
    /// that must be equal.
    fn shape(&self) -> Shape {
        let constants = self
            .atom()
            .0
            .iter()
            .filter(|slot| slot.constant().is_some())
            .count();
        let columns = self.order.columns()[constants..].iter();
        let slots: Vec<usize> = columns
            .map(|position| self.atom().0[place(*position)].variable())
            .map(|variable| variable.expect("constants stand first"))
            .collect();
        shape(&slots, |variable| self.is_needed(variable, &self.sequence))
    }

    /// Evaluates the rule for the rows of a scan that [`Evaluation::scans`] gave.
    pub fn stored(
        &self,
        mut scan: Scan,
        others: &dyn Fn(usize) -> Facts<'a>,
        context: &Context<'_>,
    ) -> Result<Conclusions> {
        let shape = self.shape();
        let mut rows = Rows::new(shape.variables.clone(), context);
        let mut columns = Columns::default();
        loop {
            columns.clear();
            let filled = scan.fill(&mut columns, BATCH_ROWS)?;
            if filled == 0 {
                break;
            }
            for row in 0..filled {
                let value = |column: usize| columns.columns[column][row];
                if shape.equal.iter().all(|(l, r)| value(*l) == value(*r)) {
                    rows.push(shape.columns.iter().map(|column| value(*column)));
                }
            }
            rows.count_memory(context)?;
        }
        self.join(rows, others, context)
    }

    /// Evaluates the rule for rows of the first premise's order, the constants left out.
    pub fn slice<const N: usize>(
        &self,
        slice: &[[TermId; N]],
        skip: usize,
        others: &dyn Fn(usize) -> Facts<'a>,
        context: &Context<'_>,
    ) -> Result<Conclusions> {
        let shape = self.shape();
        let mut rows = Rows::new(shape.variables.clone(), context);
        for row in slice {
            let row = &row[skip..];
            if shape
                .equal
                .iter()
                .all(|(left, right)| row[*left] == row[*right])
            {
                rows.push(shape.columns.iter().map(|column| row[*column]));
            }
        }
        rows.count_memory(context)?;
        self.join(rows, others, context)
    }

    /// Joins rows of the first premise with the others; `others` says what each is looked up in.
    fn join(
        &self,
        mut rows: Rows,
        others: &dyn Fn(usize) -> Facts<'a>,
        context: &Context<'_>,
    ) -> Result<Conclusions> {
        for (step, premise) in self.sequence.iter().enumerate() {
            if rows.count == 0 {
                return Ok(Conclusions::new());
            }
            let later = &self.sequence[step + 1..];
            rows = self.join_one(rows, *premise, later, &others(*premise), context)?;
        }
        Ok(self.conclude(&rows))
    }

    fn join_one(
        &self,
        mut rows: Rows,
        premise: usize,
        later: &[usize],
        facts: &Facts<'_>,
        context: &Context<'_>,
    ) -> Result<Rows> {
        let atom = &self.rule.body[premise];
        let mut key: Vec<usize> = atom.variables().collect();
        key.retain(|variable| rows.variables.contains(variable));
        key.dedup();
        let order = order_for(atom, &key);
        // The order's columns behind the constants: those that rows bind, then those that the premise binds.
        let slots: Vec<usize> = order
            .columns()
            .iter()
            .filter_map(|position| atom.0[place(*position)].variable())
            .collect();
        let bound = slots
            .iter()
            .take_while(|v| rows.variables.contains(v))
            .count();
        let mut kept: Vec<usize> = rows.variables.clone();
        kept.retain(|variable| self.is_needed(*variable, later));
        let mut columns: Vec<usize> = slots[..bound].to_vec();
        columns.extend(
            kept.iter()
                .filter(|variable| !slots[..bound].contains(variable)),
        );
        rows.arrange(&columns);
        // A variable that stands twice in the key has two columns of it.
        let kept_columns: Vec<usize> = kept
            .iter()
            .map(|variable| {
                columns
                    .iter()
                    .position(|v| v == variable)
                    .expect("it was arranged")
            })
            .collect();
        let new = shape(&slots[bound..], |variable| self.is_needed(variable, later));
        let variables = kept.iter().chain(&new.variables).copied().collect();
        let mut joined = Rows::new(variables, context);
        let mut count_at = COUNT_VALUES;
        let free = slots.len() - bound;
        let width = columns.len();
        let mut cursors = facts.cursors(atom, order)?;
        let mut matches: Vec<TermId> = Vec::new();
        let mut start = 0;
        while start < rows.count {
            let row = |index: usize| &rows.values[index * width..(index + 1) * width];
            let key = &row(start)[..bound];
            let mut end = start + 1;
            while end < rows.count && row(end)[..bound] == *key {
                end += 1;
            }
            matches.clear();
            let mut count = 0_usize;
            for cursor in &mut cursors {
                cursor.probe(key, free, &mut |found| {
                    if new
                        .equal
                        .iter()
                        .all(|(left, right)| found[*left] == found[*right])
                    {
                        count += 1;
                        matches.extend(new.columns.iter().map(|column| found[*column]));
                    }
                })?;
            }
            if new.columns.is_empty() {
                // Only whether there is a match is asked.
                count = count.min(1);
            }
            for index in start..end {
                for found in 0..count {
                    let found =
                        &matches[found * new.columns.len()..(found + 1) * new.columns.len()];
                    let kept = kept_columns.iter().map(|column| row(index)[*column]);
                    joined.push(kept.chain(found.iter().copied()));
                }
                if joined.values.len() >= count_at {
                    joined.count_memory(context)?;
                    count_at = joined.values.len() + COUNT_VALUES;
                }
            }
            start = end;
        }
        joined.count_memory(context)?;
        Ok(joined)
    }

    /// The heads of rows.
    fn conclude(&self, rows: &Rows) -> Conclusions {
        let width = rows.variables.len();
        let place = |variable: usize| {
            let place = rows.variables.iter().position(|known| *known == variable);
            place.expect("the head's variables are kept")
        };
        let head = self.rule.head.0.map(|slot| match slot {
            Slot::Constant(id) => (id, 0),
            Slot::Variable(variable) => (TermId::UNBOUND, place(variable) + 1),
        });
        // A variable's column, and another's or a term.
        let differ: Vec<_> = self
            .rule
            .differ
            .iter()
            .map(|(left, right)| (place(*left), right.variable().map(place), right.constant()))
            .collect();
        let object = self.rule.head.0[2].constant();
        let mut triples = (0..rows.count).filter_map(|index| {
            let row = &rows.values[index * width..(index + 1) * width];
            let are_same = |(left, right, term): &(usize, Option<usize>, Option<TermId>)| {
                Some(row[*left]) == right.map(|right| row[right]).or(*term)
            };
            if differ.iter().any(are_same) {
                return None;
            }
            let [subject, predicate, object] =
                head.map(|(id, column)| if column == 0 { id } else { row[column - 1] });
            // Generalised triples are no RDF.
            let is_triple = matches!(subject.kind(), Some(Kind::Iri | Kind::Blank))
                && predicate.kind() == Some(Kind::Iri);
            is_triple.then_some((predicate, [object, subject]))
        });
        let mut conclusions = Conclusions::new();
        if let Slot::Constant(predicate) = self.rule.head.0[1] {
            let pairs: Vec<_> = triples.map(|(_, pair)| pair).collect();
            conclusions.insert((predicate, object), pairs);
        } else {
            for (predicate, pair) in &mut triples {
                conclusions
                    .entry((predicate, object))
                    .or_default()
                    .push(pair);
            }
        }
        for pairs in conclusions.values_mut() {
            pairs.sort_unstable();
            pairs.dedup();
        }
        conclusions.retain(|_, pairs| !pairs.is_empty());
        conclusions
    }
}

/// What becomes of the columns of a premise's rows.
struct Shape {
    /// The variables that are kept.
    variables: Vec<usize>,
    /// And their columns.
    columns: Vec<usize>,
    /// Columns of the same variable.
    equal: Vec<(usize, usize)>,
}

fn shape(slots: &[usize], is_needed: impl Fn(usize) -> bool) -> Shape {
    let mut shape = Shape {
        variables: Vec::new(),
        columns: Vec::new(),
        equal: Vec::new(),
    };
    for (column, variable) in slots.iter().enumerate() {
        match slots[..column].iter().position(|known| known == variable) {
            Some(first) => shape.equal.push((first, column)),
            None if is_needed(*variable) => {
                shape.variables.push(*variable);
                shape.columns.push(column);
            }
            None => {}
        }
    }
    shape
}

impl Rows {
    fn new(variables: Vec<usize>, context: &Context<'_>) -> Self {
        Self {
            variables,
            values: Vec::new(),
            count: 0,
            charge: context.memory.charge(0),
        }
    }

    fn count_memory(&self, context: &Context<'_>) -> Result<()> {
        self.charge.grow_to(self.values.len() * size_of::<TermId>());
        context.check()
    }

    fn push(&mut self, row: impl Iterator<Item = TermId>) {
        self.values.extend(row);
        self.count += 1;
        // Rows without columns say only that there is one.
        if self.variables.is_empty() {
            self.count = 1;
        }
    }

    /// Gives the rows these columns, sorts them and drops repeated ones.
    fn arrange(&mut self, variables: &[usize]) {
        if self.variables != variables {
            let width = self.variables.len();
            let columns: Vec<usize> = variables
                .iter()
                .map(|variable| self.variables.iter().position(|v| v == variable))
                .map(|place| place.expect("a variable of the rows"))
                .collect();
            let mut values = Vec::with_capacity(self.count * columns.len());
            let _copy = self
                .charge
                .beside(self.count * columns.len() * size_of::<TermId>());
            for row in 0..self.count {
                values.extend(
                    columns
                        .iter()
                        .map(|column| self.values[row * width + column]),
                );
            }
            self.values = values;
            self.variables = variables.to_vec();
        }
        self.count = match variables.len() {
            0 => self.count.min(1),
            1 => sort_distinct::<1>(&mut self.values),
            2 => sort_distinct::<2>(&mut self.values),
            3 => sort_distinct::<3>(&mut self.values),
            4 => sort_distinct::<4>(&mut self.values),
            5 => sort_distinct::<5>(&mut self.values),
            6 => sort_distinct::<6>(&mut self.values),
            width => sort_distinct_wide(&mut self.values, width),
        };
    }
}

fn sort_distinct<const N: usize>(values: &mut Vec<TermId>) -> usize {
    let rows: &mut [[TermId; N]] = cast_slice_mut(values);
    rows.sort_unstable();
    let mut kept = 0;
    for place in 0..rows.len() {
        if place == 0 || rows[place] != rows[kept - 1] {
            rows[kept] = rows[place];
            kept += 1;
        }
    }
    values.truncate(kept * N);
    kept
}

/// The same for rows of any width: few rules need so many variables at one time.
fn sort_distinct_wide(values: &mut Vec<TermId>, width: usize) -> usize {
    let mut rows: Vec<&[TermId]> = values.chunks_exact(width).collect();
    rows.sort_unstable();
    rows.dedup();
    let (count, sorted) = (rows.len(), rows.concat());
    *values = sorted;
    count
}
