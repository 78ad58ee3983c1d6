//! Which values are equal, and which is less: the operators `=` and `<` of SPARQL, and arithmetic.
//!
//! Numbers compare across their types (a decimal with a double as doubles, and so on). Values of different known
//! types are different. A literal without a known value equals itself; whether it equals any other literal with
//! a value, nobody knows: that is an error (`None`).

use super::value::Value;
use super::{Comparison, Operation, large, temporal};
use oxrdf::Triple;
use oxsdatatypes::{Decimal, Double, Float, Integer};
use std::cmp::Ordering;

/// Two numbers of one type, to which both were promoted.
enum Numbers {
    Integers(Integer, Integer),
    Decimals(Decimal, Decimal),
    Floats(Float, Float),
    Doubles(Double, Double),
}

impl Numbers {
    fn new(left: &Value<'_>, right: &Value<'_>) -> Option<Self> {
        use Value::{Decimal as De, Double as Do, Float as Fl, Integer as In};
        Some(match (left, right) {
            (In(left), In(right)) => Self::Integers(*left, *right),
            (In(left), De(right)) => Self::Decimals((*left).into(), *right),
            (De(left), In(right)) => Self::Decimals(*left, (*right).into()),
            (De(left), De(right)) => Self::Decimals(*left, *right),
            (In(left), Fl(right)) => Self::Floats((*left).into(), *right),
            (De(left), Fl(right)) => Self::Floats((*left).into(), *right),
            (Fl(left), In(right)) => Self::Floats(*left, (*right).into()),
            (Fl(left), De(right)) => Self::Floats(*left, (*right).into()),
            (Fl(left), Fl(right)) => Self::Floats(*left, *right),
            (In(left), Do(right)) => Self::Doubles((*left).into(), *right),
            (De(left), Do(right)) => Self::Doubles((*left).into(), *right),
            (Fl(left), Do(right)) => Self::Doubles((*left).into(), *right),
            (Do(left), In(right)) => Self::Doubles(*left, (*right).into()),
            (Do(left), De(right)) => Self::Doubles(*left, (*right).into()),
            (Do(left), Fl(right)) => Self::Doubles(*left, (*right).into()),
            (Do(left), Do(right)) => Self::Doubles(*left, *right),
            _ => return None,
        })
    }

    fn compare(&self) -> Option<Ordering> {
        match self {
            Self::Integers(left, right) => left.partial_cmp(right),
            Self::Decimals(left, right) => left.partial_cmp(right),
            Self::Floats(left, right) => left.partial_cmp(right),
            Self::Doubles(left, right) => left.partial_cmp(right),
        }
    }
}

/// `left = right`; `None` is a type error.
pub fn equal(left: &Value<'_>, right: &Value<'_>) -> Option<bool> {
    if let Some(numbers) = Numbers::new(left, right) {
        // NaN is not comparable, and so not equal.
        return Some(numbers.compare() == Some(Ordering::Equal));
    }
    if large::is_about_large(left, right) {
        return Some(large::compare(left, right) == Some(Ordering::Equal));
    }
    match (left, right) {
        (Value::Iri(left), Value::Iri(right))
        | (Value::Blank(left), Value::Blank(right))
        | (Value::String(left), Value::String(right)) => Some(left == right),
        (
            Value::LangString {
                text,
                language,
                direction,
            },
            Value::LangString {
                text: other_text,
                language: other_language,
                direction: other_direction,
            },
        ) => Some(text == other_text && language == other_language && direction == other_direction),
        (Value::Boolean(left), Value::Boolean(right)) => Some(left == right),
        (Value::DateTime(left), Value::DateTime(right)) => same_time(left, right),
        (Value::Date(left), Value::Date(right)) => same_time(left, right),
        (Value::Time(left), Value::Time(right)) => same_time(left, right),
        (
            Value::Duration(_) | Value::YearMonthDuration(_) | Value::DayTimeDuration(_),
            Value::Duration(_) | Value::YearMonthDuration(_) | Value::DayTimeDuration(_),
        ) => Some(left.duration()? == right.duration()?),
        (Value::Triple(left), Value::Triple(right)) => equal_triples(left, right),
        (
            Value::Other { lexical, datatype },
            Value::Other {
                lexical: other_lexical,
                datatype: other_datatype,
            },
        ) => (lexical == other_lexical && datatype == other_datatype).then_some(true),
        // A language-tagged string is never the value of a typed literal.
        (Value::Other { .. }, other) | (other, Value::Other { .. }) => (other.datatype().is_none()
            || matches!(other, Value::LangString { .. }))
        .then_some(false),
        _ => Some(false),
    }
}

/// Whether two times are the same. Where only one has a zone and it lies in the other's range, that is not determinate (XML
/// Schema 1.0, part 2, section 3.2.7.3) and so an error, as the W3C's test `date-2` has it.
fn same_time<T: PartialOrd>(left: &T, right: &T) -> Option<bool> {
    left.partial_cmp(right).map(Ordering::is_eq)
}

fn equal_triples(left: &Triple, right: &Triple) -> Option<bool> {
    let objects = equal(&Value::of(&left.object), &Value::of(&right.object))?;
    Some(left.subject == right.subject && left.predicate == right.predicate && objects)
}

/// `left < right` and its relatives; `None` is a type error.
pub fn compare(comparison: Comparison, left: &Value<'_>, right: &Value<'_>) -> Option<bool> {
    let order = if let Some(numbers) = Numbers::new(left, right) {
        numbers.compare()
    } else if large::is_about_large(left, right) {
        large::compare(left, right)
    } else {
        Some(order(left, right)?)
    };
    // NaN is neither less nor greater nor equal; that is no error.
    Some(order.is_some_and(|order| comparison.holds(order)))
}

/// How two values that are not numbers are ordered; `None` is a type error, or dates with and without a zone that lie
/// too close together.
fn order(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    match (left, right) {
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Boolean(left), Value::Boolean(right)) => Some(left.cmp(right)),
        (Value::DateTime(left), Value::DateTime(right)) => left.partial_cmp(right),
        (Value::Date(left), Value::Date(right)) => left.partial_cmp(right),
        (Value::Time(left), Value::Time(right)) => left.partial_cmp(right),
        // Months and seconds do not compare, so there is no order of durations of both.
        (Value::YearMonthDuration(left), Value::YearMonthDuration(right)) => {
            left.partial_cmp(right)
        }
        (Value::DayTimeDuration(left), Value::DayTimeDuration(right)) => left.partial_cmp(right),
        _ => None,
    }
}

impl Comparison {
    /// Whether operands in this order meet the comparison.
    #[inline]
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

/// Computes with two numbers, or with dates, times and durations; `None` if the operands are others, or the result cannot
/// be represented.
pub fn compute(
    operation: Operation,
    left: &Value<'_>,
    right: &Value<'_>,
) -> Option<Value<'static>> {
    let Some(numbers) = Numbers::new(left, right) else {
        return match operation {
            Operation::Add => temporal::add(left, right),
            Operation::Subtract => temporal::subtract(left, right),
            Operation::Multiply | Operation::Divide => None,
        };
    };
    Some(match numbers {
        Numbers::Integers(left, right) => match operation {
            Operation::Add => Value::Integer(left.checked_add(right)?),
            Operation::Subtract => Value::Integer(left.checked_sub(right)?),
            Operation::Multiply => Value::Integer(left.checked_mul(right)?),
            Operation::Divide => Value::Decimal(Decimal::from(left).checked_div(right)?),
        },
        Numbers::Decimals(left, right) => Value::Decimal(match operation {
            Operation::Add => left.checked_add(right)?,
            Operation::Subtract => left.checked_sub(right)?,
            Operation::Multiply => left.checked_mul(right)?,
            Operation::Divide => left.checked_div(right)?,
        }),
        Numbers::Floats(left, right) => Value::Float(match operation {
            Operation::Add => left + right,
            Operation::Subtract => left - right,
            Operation::Multiply => left * right,
            Operation::Divide => left / right,
        }),
        Numbers::Doubles(left, right) => Value::Double(match operation {
            Operation::Add => left + right,
            Operation::Subtract => left - right,
            Operation::Multiply => left * right,
            Operation::Divide => left / right,
        }),
    })
}

/// A number or a duration negated; `None` if it is neither, or the result cannot be represented.
pub fn negate(value: &Value<'_>) -> Option<Value<'static>> {
    Some(match value {
        Value::Integer(value) => Value::Integer(value.checked_neg()?),
        Value::Decimal(value) => Value::Decimal(value.checked_neg()?),
        Value::Float(value) => Value::Float(-*value),
        Value::Double(value) => Value::Double(-*value),
        Value::YearMonthDuration(value) => Value::YearMonthDuration(value.checked_neg()?),
        Value::DayTimeDuration(value) => Value::DayTimeDuration(value.checked_neg()?),
        _ => return None,
    })
}
