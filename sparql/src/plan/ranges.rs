//! Conditions on one variable as ranges of ids: where the index has the terms for which a condition can be true.
//!
//! Ids are in the order of values within a dictionary and within most value kinds, so that `?n < 5`, `?d >= "2024-01-01"^^xsd:date`,
//! `STRSTARTS(?s, "a")` or `REGEX(?s, "^a")` are ranges of them. The ranges are too large rather than too small: a kind whose order is not
//! that of values (decimals, doubles, whatever is not inlined) is taken whole. So the condition stays, and is computed for
//! what is read.
//!
//! A scan in an order that has the variable next is narrowed to the ranges after its plan was made ([`narrow`]).

use super::logical::PatternTerm;
use super::physical::{Node, Operation, ScanNode};
use crate::error::Result;
use crate::expr::functions::Function;
use crate::expr::value::Value;
use crate::expr::{Comparison, Constant, Expr, PatternCall};
use crate::plan::logical::VariableId;
use oxsdatatypes::{Decimal, Integer};
use quadrille_store::dictionary::Dictionary;
use quadrille_store::{Kind, Position, Snapshot, TermId, TermKey, inline};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A scan of fewer rows is not narrowed: looking for its ends would take as long.
const ROWS_MIN: f64 = 64.0;
/// Between the negative of this and this every integer is a float, too.
const FLOAT_INTEGERS: f64 = 16_777_216.0;
/// The same for doubles.
const DOUBLE_INTEGERS: f64 = 9_007_199_254_740_992.0;
/// What ends the literal beginning of a regular expression. Other characters stand for themselves.
const REGEX_SPECIAL: &str = ".?*+{}()[]|\\^$#";

/// Ascending, and apart from one another.
type Ranges = Vec<RangeInclusive<TermId>>;

/// Narrows the scans of a plan by the conditions right above them.
///
/// # Errors
/// If the store cannot be read.
pub fn narrow(node: &mut Node, snapshot: &Snapshot) -> Result<()> {
    match &mut node.operation {
        Operation::Filter { input, conditions } => {
            if let Operation::Scan(scan) = &mut input.operation {
                if let Some(rows) = narrow_scan(scan, input.rows, conditions, snapshot)? {
                    input.rows = rows;
                    node.rows = node.rows.min(rows);
                }
                return Ok(());
            }
            narrow(input, snapshot)
        }
        Operation::MergeJoin { left, right, .. } | Operation::HashJoin { left, right, .. } => {
            narrow(left, snapshot)?;
            narrow(right, snapshot)
        }
        Operation::LookupJoin { outer: input, .. }
        | Operation::CrossJoin { left: input, .. }
        | Operation::Project { input, .. }
        | Operation::Adjacent { input } => narrow(input, snapshot),
        _ => Ok(()),
    }
}

/// Narrows a scan; gives the number of rows that are left of so many.
fn narrow_scan(
    scan: &mut ScanNode,
    rows: f64,
    conditions: &[Arc<Expr>],
    snapshot: &Snapshot,
) -> Result<Option<f64>> {
    let next = scan
        .pattern
        .prefix_in(scan.order)
        .and_then(|(_, bound)| scan.order.columns().get(bound));
    let (Some(Position::Object), PatternTerm::Variable(variable)) = (next, &scan.source.object)
    else {
        return Ok(None);
    };
    if rows < ROWS_MIN
        || !conditions
            .iter()
            .any(|condition| may_narrow(condition, *variable))
    {
        return Ok(None);
    }
    let mut ranges: Option<Ranges> = None;
    for condition in conditions {
        if let Some(found) = candidates(condition, *variable, snapshot)? {
            ranges = Some(match ranges {
                Some(ranges) => intersection(&ranges, &found),
                None => found,
            });
        }
    }
    let Some(ranges) = ranges else {
        return Ok(None);
    };
    let located = match &scan.located {
        Some(located) => Arc::clone(located),
        None => match snapshot.locate(&scan.pattern, scan.order)? {
            Some(located) => Arc::new(located),
            None => return Ok(None),
        },
    };
    let within = snapshot.located_within(&located, &ranges)?;
    let rows = snapshot.count_located(&within)?;
    scan.located = Some(Arc::new(within));
    scan.is_narrowed = true;
    Ok(Some(rows as f64))
}

/// Whether a condition has the form of one that is a range, without looking anything up.
fn may_narrow(condition: &Expr, variable: VariableId) -> bool {
    let mut is_read = false;
    condition.variables(&mut |read| is_read |= read == variable);
    is_read
        && match condition {
            Expr::And(parts) => parts.iter().any(|part| may_narrow(part, variable)),
            Expr::Or(parts) => parts.iter().all(|part| may_narrow(part, variable)),
            Expr::Equal(_)
            | Expr::SameTerm(_)
            | Expr::Compare(..)
            | Expr::In(..)
            | Expr::Match(_)
            | Expr::Call(Function::StrStarts, _) => true,
            _ => false,
        }
}

/// The ids for which a condition may be true; `None` if they may be any.
fn candidates(
    condition: &Expr,
    variable: VariableId,
    snapshot: &Snapshot,
) -> Result<Option<Ranges>> {
    let is_variable =
        |operand: &Expr| matches!(operand, Expr::Variable(found) if *found == variable);
    match condition {
        Expr::And(parts) => {
            let mut all: Option<Ranges> = None;
            for part in parts {
                if let Some(found) = candidates(part, variable, snapshot)? {
                    all = Some(match all {
                        Some(all) => intersection(&all, &found),
                        None => found,
                    });
                }
            }
            Ok(all)
        }
        Expr::Or(parts) => {
            let mut any = Vec::new();
            for part in parts {
                match candidates(part, variable, snapshot)? {
                    Some(found) => any.extend(found),
                    None => return Ok(None),
                }
            }
            Ok(Some(united(any)))
        }
        Expr::Equal(operands) => match &**operands {
            [operand, Expr::Constant(constant)] | [Expr::Constant(constant), operand]
                if is_variable(operand) =>
            {
                within(Bounds::EQUAL, constant, snapshot)
            }
            _ => Ok(None),
        },
        Expr::SameTerm(operands) => match &**operands {
            [operand, Expr::Constant(constant)] | [Expr::Constant(constant), operand]
                if is_variable(operand) =>
            {
                the_term(constant, snapshot).map(Some)
            }
            _ => Ok(None),
        },
        Expr::In(operand, list) if is_variable(operand) => {
            let mut any = Vec::new();
            for member in list {
                let found = match member {
                    Expr::Constant(constant) => within(Bounds::EQUAL, constant, snapshot)?,
                    _ => None,
                };
                match found {
                    Some(found) => any.extend(found),
                    None => return Ok(None),
                }
            }
            Ok(Some(united(any)))
        }
        Expr::Compare(comparison, operands) => match &**operands {
            [operand, Expr::Constant(constant)] if is_variable(operand) => {
                within(Bounds::of(*comparison), constant, snapshot)
            }
            [Expr::Constant(constant), operand] if is_variable(operand) => {
                within(Bounds::of(*comparison).turned(), constant, snapshot)
            }
            _ => Ok(None),
        },
        Expr::Call(Function::StrStarts, operands) => match &**operands {
            [operand, Expr::Constant(constant)] => match &constant.value {
                Value::String(start) => texts(operand, variable, start, snapshot),
                _ => Ok(None),
            },
            _ => Ok(None),
        },
        Expr::Match(call) => match (call.operands.first(), literal_beginning(call)) {
            (Some(operand), Some(start)) => texts(operand, variable, &start, snapshot),
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The terms for which a text, the variable or `STR` of it, begins in some way.
fn texts(
    operand: &Expr,
    variable: VariableId,
    start: &str,
    snapshot: &Snapshot,
) -> Result<Option<Ranges>> {
    let is_variable =
        |operand: &Expr| matches!(operand, Expr::Variable(found) if *found == variable);
    let mut ranges = match operand {
        _ if start.is_empty() => return Ok(None),
        operand if is_variable(operand) => Vec::new(),
        Expr::Call(Function::Str, operands) if operands.first().is_some_and(is_variable) => {
            let mut ranges = beginning_with(Kind::Iri, start, snapshot)?;
            ranges.push(all_of(Kind::NumericLiteral));
            ranges.push(all_of(Kind::TemporalLiteral));
            ranges.push(first_of(Kind::Boolean)..=last_of(Kind::DateTimeZoned));
            ranges
        }
        _ => return Ok(None),
    };
    ranges.extend(beginning_with(Kind::Literal, start, snapshot)?);
    Ok(Some(united(ranges)))
}

/// Which terms, seen from a constant: those with smaller, equal and larger values.
#[derive(Clone, Copy)]
struct Bounds {
    less: bool,
    equal: bool,
    greater: bool,
}

impl Bounds {
    const EQUAL: Self = Self {
        less: false,
        equal: true,
        greater: false,
    };

    fn of(comparison: Comparison) -> Self {
        Self {
            less: matches!(comparison, Comparison::Less | Comparison::LessOrEqual),
            equal: matches!(
                comparison,
                Comparison::LessOrEqual | Comparison::GreaterOrEqual
            ),
            greater: matches!(comparison, Comparison::Greater | Comparison::GreaterOrEqual),
        }
    }

    /// With the operands in the other sequence.
    fn turned(self) -> Self {
        Self {
            less: self.greater,
            greater: self.less,
            ..self
        }
    }

    /// Of the ids from `first` to `last` those that are not left out, where `same` are those of the constant's value or, if
    /// there is none, the place between two ids where it would be: its start, with the end right before.
    fn cut(self, first: TermId, last: TermId, same: (u64, u64)) -> Option<RangeInclusive<TermId>> {
        let (start, end) = same;
        let low = if self.less {
            first.bits()
        } else if self.equal {
            start
        } else {
            end.checked_add(1)?
        };
        let high = if self.greater {
            last.bits()
        } else if self.equal {
            end
        } else {
            start.checked_sub(1)?
        };
        let (low, high) = (low.max(first.bits()), high.min(last.bits()));
        (low <= high).then(|| TermId::from_bits(low)..=TermId::from_bits(high))
    }
}

/// The ids of terms that may lie within these bounds of a constant; `None` if nothing is known of their order.
fn within(bounds: Bounds, constant: &Constant, snapshot: &Snapshot) -> Result<Option<Ranges>> {
    let mut ranges = match &constant.value {
        Value::String(text) => return strings_within(bounds, text, snapshot).map(Some),
        Value::Integer(value) => numbers_within(bounds, (*value, *value)),
        Value::Decimal(value) => match (
            integer(value.checked_floor()),
            integer(value.checked_ceil()),
        ) {
            (Some(floor), Some(ceiling)) => numbers_within(bounds, (floor, ceiling)),
            _ => return Ok(None),
        },
        Value::Float(value) => match integers_around(f32::from(*value).into(), FLOAT_INTEGERS) {
            Some(around) => numbers_within(bounds, around),
            None => return Ok(None),
        },
        Value::Double(value) => match integers_around(f64::from(*value), DOUBLE_INTEGERS) {
            Some(around) => numbers_within(bounds, around),
            None => return Ok(None),
        },
        // Equal to nothing else, and not less than anything.
        Value::Iri(_) => return the_term(constant, snapshot).map(Some),
        Value::Date(_) | Value::DateTime(_) => {
            match snapshot
                .term_id(constant.term.as_ref())?
                .and_then(inline::same_instant)
            {
                Some(same) => times_within(bounds, &same),
                None => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    ranges.retain(|range| !range.is_empty());
    Ok(Some(united(ranges)))
}

/// The id of a constant, if the store has the term.
fn the_term(constant: &Constant, snapshot: &Snapshot) -> Result<Ranges> {
    let id = snapshot.term_id(constant.term.as_ref())?;
    Ok(id.map(|id| id..=id).into_iter().collect())
}

fn integer(value: Option<Decimal>) -> Option<Integer> {
    Integer::try_from(value?).ok()
}

/// The integers next to a number below and above, if integers near it are distinct numbers of its type.
fn integers_around(value: f64, distinct: f64) -> Option<(Integer, Integer)> {
    (value.abs() < distinct - 1.0).then(|| {
        let [floor, ceiling] =
            [value.floor(), value.ceil()].map(|value| Integer::from(value as i64));
        (floor, ceiling)
    })
}

/// Numbers: integers by their order, all others. `around` are the integers next to the constant, which are the
/// same if it is one.
fn numbers_within(bounds: Bounds, around: (Integer, Integer)) -> Ranges {
    let mut ranges = vec![
        all_of(Kind::NumericLiteral),
        first_of(Kind::Decimal)..=last_of(Kind::Float),
    ];
    let id = |value| inline::from_integer(Kind::Integer, i64::from(value));
    let (Some(floor), Some(ceiling)) = (id(around.0), id(around.1)) else {
        ranges.push(first_of(Kind::Integer)..=last_of(Kind::UnsignedByte));
        return ranges;
    };
    for kind in Kind::ALL
        .into_iter()
        .filter(|kind| (Kind::Integer..=Kind::UnsignedByte).contains(kind))
    {
        let [floor, ceiling] = [floor, ceiling].map(|id| TermId::new(kind, id.payload()).bits());
        // Between two integers there is no id: the place is before the larger one.
        ranges.extend(bounds.cut(first_of(kind), last_of(kind), (ceiling, floor)));
    }
    ranges
}

/// Dates or dateTimes: those of the constant's kind by their order, all of the other kind, with a zone or without.
fn times_within(bounds: Bounds, same: &RangeInclusive<TermId>) -> Ranges {
    let mut ranges = vec![all_of(Kind::TemporalLiteral)];
    let own = same.start().kind();
    let kinds = if matches!(own, Some(Kind::Date | Kind::DateZoned)) {
        [Kind::Date, Kind::DateZoned]
    } else {
        [Kind::DateTime, Kind::DateTimeZoned]
    };
    for kind in kinds {
        if own == Some(kind) {
            let same = (same.start().bits(), same.end().bits());
            ranges.extend(bounds.cut(first_of(kind), last_of(kind), same));
        } else {
            ranges.push(all_of(kind));
        }
    }
    ranges
}

/// Strings without a language tag, by their order, among the other literals of each dictionary.
fn strings_within(bounds: Bounds, text: &str, snapshot: &Snapshot) -> Result<Ranges> {
    let mut ranges = Vec::new();
    for dictionary in snapshot.dictionaries() {
        let Some((first, last)) = terms_of(dictionary, Kind::Literal) else {
            continue;
        };
        let key = |annotation| TermKey {
            kind: Kind::Literal,
            lexical: text.as_bytes(),
            annotation,
        };
        // A plain literal comes before all others with its text; no annotation is this small.
        let start = dictionary.lower_bound(&key(b""))?.bits();
        let end = dictionary.lower_bound(&key(b"\0"))?.bits() - 1;
        ranges.extend(bounds.cut(first, last, (start, end)));
    }
    Ok(united(ranges))
}

/// The terms of a vocabulary kind whose text begins in some way, which is not empty.
fn beginning_with(kind: Kind, start: &str, snapshot: &Snapshot) -> Result<Ranges> {
    let mut behind = start.as_bytes().to_vec();
    // No byte of UTF-8 is the largest.
    *behind.last_mut().expect("not empty") += 1;
    let mut ranges = Vec::new();
    for dictionary in snapshot.dictionaries() {
        let Some((first, last)) = terms_of(dictionary, kind) else {
            continue;
        };
        let place = |lexical| {
            dictionary.lower_bound(&TermKey {
                kind,
                lexical,
                annotation: b"",
            })
        };
        let (from, to) = (place(start.as_bytes())?.bits(), place(&behind)?.bits());
        if from < to {
            ranges.extend(Bounds::EQUAL.cut(first, last, (from, to - 1)));
        }
    }
    Ok(ranges)
}

/// What a text must begin with to match a regular expression: the characters behind `^`, as long as they stand for
/// themselves.
fn literal_beginning(call: &PatternCall) -> Option<String> {
    if call.function != Function::Regex || call.flags().is_some() {
        return None;
    }
    let Some(Expr::Constant(constant)) = call.operands.get(1) else {
        return None;
    };
    let Value::String(pattern) = &constant.value else {
        return None;
    };
    // An alternative may begin otherwise.
    let rest = pattern
        .strip_prefix('^')
        .filter(|rest| !rest.contains('|'))?;
    let end = rest.find(|character| REGEX_SPECIAL.contains(character));
    let (start, special) = rest.split_at(end.unwrap_or(rest.len()));
    let mut start = start.to_owned();
    if special.starts_with(['?', '*', '{']) {
        // The last character may be missing.
        start.pop();
    }
    (!start.is_empty()).then_some(start)
}

/// The first and the last id that a dictionary has of a vocabulary kind.
fn terms_of(dictionary: &Dictionary, kind: Kind) -> Option<(TermId, TermId)> {
    let (first, count) = (dictionary.first(kind), dictionary.count(kind));
    (count > 0).then(|| {
        let id = |ordinal| TermId::new(kind, ordinal);
        (id(first), id(first + count - 1))
    })
}

fn all_of(kind: Kind) -> RangeInclusive<TermId> {
    first_of(kind)..=last_of(kind)
}

fn first_of(kind: Kind) -> TermId {
    TermId::first_of(kind)
}

fn last_of(kind: Kind) -> TermId {
    TermId::new(kind, quadrille_store::id::PAYLOAD_MAX)
}

/// Sorts ranges and puts together those that overlap.
fn united(mut ranges: Ranges) -> Ranges {
    ranges.sort_unstable_by_key(|range| *range.start());
    let mut united: Ranges = Vec::with_capacity(ranges.len());
    for range in ranges {
        match united.last_mut() {
            Some(last) if range.start() <= last.end() => {
                *last = *last.start()..=*last.end().max(range.end());
            }
            _ => united.push(range),
        }
    }
    united
}

/// What is in both.
fn intersection(left: &Ranges, right: &Ranges) -> Ranges {
    let mut common = Vec::new();
    for one in left {
        for other in right {
            let range = *one.start().max(other.start())..=*one.end().min(other.end());
            if !range.is_empty() {
                common.push(range);
            }
        }
    }
    united(common)
}
