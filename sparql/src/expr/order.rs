//! The order of `ORDER BY` (section 15.1 of SPARQL 1.1): a total order in which unbound comes first, then blank nodes,
//! IRIs, literals and triple terms.
//!
//! Where `<` orders two literals this order agrees with it; it is finer where `<` says nothing. Numbers compare exactly
//! across their types (as doubles the comparison would not be transitive), values that are the same tie, NaN comes
//! first; dates without a zone are taken as in UTC; durations are added to a fixed day. Strings compare by code point,
//! those without a language before those with the same text and one. Last are literals whose value is not known, by
//! datatype and form.

mod bytes;

use super::large::compare_digits;
use super::value::Value;
use oxrdf::{BaseDirection, NamedOrBlankNode, Term};
use oxsdatatypes::{Date, DateTime, Decimal, Duration, Time, TimezoneOffset};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::LazyLock;

/// How `ORDER BY` orders two terms, or a term and nothing.
pub fn compare_order(left: Option<&Term>, right: Option<&Term>) -> Ordering {
    OrderKey::new(left).cmp(&OrderKey::new(right))
}

/// A term as something to sort by: made once a row, compared often.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct OrderKey<'a>(Key<'a>);

/// The variants are in order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Key<'a> {
    Unbound,
    Blank(Cow<'a, str>),
    Iri(Cow<'a, str>),
    Number(Number),
    Boolean(bool),
    DateTime(Comparable<DateTime>),
    Date(Comparable<Date>),
    Time(Comparable<Time>),
    Duration(i8, Comparable<DateTime>),
    String {
        text: Cow<'a, str>,
        tag: Option<(Cow<'a, str>, u8)>,
    },
    Other {
        datatype: Cow<'a, str>,
        lexical: Cow<'a, str>,
    },
    Triple(Box<[OrderKey<'a>; 3]>),
}

impl<'a> OrderKey<'a> {
    /// The key of a term, or of an unbound variable.
    pub fn new(term: Option<&'a Term>) -> Self {
        Self(match term {
            None => Key::Unbound,
            Some(Term::BlankNode(node)) => Key::Blank(node.as_str().into()),
            Some(Term::NamedNode(node)) => Key::Iri(node.as_str().into()),
            Some(Term::Triple(triple)) => Key::Triple(Box::new([
                Self(match &triple.subject {
                    NamedOrBlankNode::BlankNode(node) => Key::Blank(node.as_str().into()),
                    NamedOrBlankNode::NamedNode(node) => Key::Iri(node.as_str().into()),
                }),
                Self(Key::Iri(triple.predicate.as_str().into())),
                Self::new(Some(&triple.object)),
            ])),
            Some(term @ Term::Literal(_)) => literal(Value::of(term)),
        })
    }

    /// Whether it is of a string, with or without a language.
    pub fn is_string(&self) -> bool {
        matches!(self.0, Key::String { .. })
    }

    /// The same, borrowing nothing.
    pub fn into_owned(self) -> OrderKey<'static> {
        fn own(text: Cow<'_, str>) -> Cow<'static, str> {
            Cow::Owned(text.into_owned())
        }
        OrderKey(match self.0 {
            Key::Unbound => Key::Unbound,
            Key::Blank(text) => Key::Blank(own(text)),
            Key::Iri(text) => Key::Iri(own(text)),
            Key::Number(value) => Key::Number(value),
            Key::Boolean(value) => Key::Boolean(value),
            Key::DateTime(value) => Key::DateTime(value),
            Key::Date(value) => Key::Date(value),
            Key::Time(value) => Key::Time(value),
            Key::Duration(extreme, value) => Key::Duration(extreme, value),
            Key::String { text, tag } => Key::String {
                text: own(text),
                tag: tag.map(|(language, direction)| (own(language), direction)),
            },
            Key::Other { datatype, lexical } => Key::Other {
                datatype: own(datatype),
                lexical: own(lexical),
            },
            Key::Triple(parts) => Key::Triple(Box::new((*parts).map(OrderKey::into_owned))),
        })
    }
}

/// The key of a literal's value.
fn literal(value: Value<'_>) -> Key<'_> {
    match value {
        Value::Iri(text) => Key::Iri(text),
        Value::Blank(text) => Key::Blank(text),
        Value::Boolean(value) => Key::Boolean(value),
        Value::Integer(value) => Key::Number(Number::decimal(value.into())),
        Value::Decimal(value) => Key::Number(Number::decimal(value)),
        Value::Float(value) => Key::Number(Number::double(value.into())),
        Value::Double(value) => Key::Number(Number::double(value.into())),
        Value::DateTime(value) => Key::DateTime(Comparable(zoned(value))),
        Value::Date(value) => Key::Date(Comparable(match value.timezone_offset() {
            Some(_) => value,
            None => value.adjust(Some(TimezoneOffset::UTC)).unwrap_or(value),
        })),
        Value::Time(value) => Key::Time(Comparable(match value.timezone_offset() {
            Some(_) => value,
            None => value.adjust(Some(TimezoneOffset::UTC)).unwrap_or(value),
        })),
        Value::Duration(value) => duration(value),
        Value::YearMonthDuration(value) => duration(value.into()),
        Value::DayTimeDuration(value) => duration(value.into()),
        Value::String(text) => Key::String { text, tag: None },
        Value::LangString {
            text,
            language,
            direction,
        } => Key::String {
            text,
            tag: Some((
                language,
                match direction {
                    None => 0,
                    Some(BaseDirection::Ltr) => 1,
                    Some(BaseDirection::Rtl) => 2,
                },
            )),
        },
        // A number that is too large to compute with.
        ref value @ Value::Other { ref lexical, .. } if value.is_numeric() => {
            Key::Number(Number::Large(lexical.as_ref().into()))
        }
        Value::Other { lexical, datatype } => Key::Other { datatype, lexical },
        // Triple terms are taken apart by the caller.
        Value::Triple(_) => Key::Unbound,
    }
}

fn zoned(value: DateTime) -> DateTime {
    match value.timezone_offset() {
        Some(_) => value,
        None => value.adjust(Some(TimezoneOffset::UTC)).unwrap_or(value),
    }
}

/// The first of the four days that XML Schema compares durations by. One duration is less than another if it is so from all
/// four, so what this one says never contradicts.
static REFERENCE: LazyLock<DateTime> = LazyLock::new(|| {
    "1696-09-01T00:00:00Z"
        .parse()
        .expect("a constant that is a date")
});

fn duration(value: Duration) -> Key<'static> {
    if let Some(end) = REFERENCE.checked_add_duration(value) {
        return Key::Duration(0, Comparable(end));
    }
    let is_negative =
        value.years() < 0 || value.months() < 0 || value.days() < 0 || value.hours() < 0;
    Key::Duration(if is_negative { -1 } else { 1 }, Comparable(*REFERENCE))
}

/// Values of a type that is ordered in part, all of which compare with one another: dates that have zones.
#[derive(Clone, Copy, Debug)]
struct Comparable<T>(T);

impl<T: PartialOrd> PartialEq for Comparable<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T: PartialOrd> Eq for Comparable<T> {}

impl<T: PartialOrd> PartialOrd for Comparable<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: PartialOrd> Ord for Comparable<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.partial_cmp(&other.0).unwrap_or(Ordering::Equal)
    }
}

/// A number of any type.
#[derive(Clone, Debug)]
enum Number {
    Nan,
    /// In units of 10^-18, which is how far decimals reach.
    Decimal(i128),
    /// An integer or a decimal beyond those.
    Large(Box<str>),
    /// Not NaN.
    Double(f64),
}

const UNITS: i128 = 10_i128.pow(18);

impl Number {
    fn decimal(value: Decimal) -> Self {
        Self::Decimal(i128::from_be_bytes(value.to_be_bytes()))
    }

    fn double(value: f64) -> Self {
        if value.is_nan() {
            Self::Nan
        } else {
            Self::Double(value)
        }
    }
}

impl Number {
    /// All digits of a number that is finite.
    fn digits(&self) -> Cow<'_, str> {
        match self {
            Self::Nan => Cow::Borrowed(""),
            Self::Decimal(units) => Cow::Owned(format!(
                "{}{}.{:018}",
                if *units < 0 { "-" } else { "" },
                units.unsigned_abs() / UNITS.unsigned_abs(),
                units.unsigned_abs() % UNITS.unsigned_abs()
            )),
            Self::Large(digits) => Cow::Borrowed(digits),
            // No double has more digits behind the point.
            Self::Double(number) => Cow::Owned(format!("{number:.1074}")),
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Nan, Self::Nan) => Ordering::Equal,
            (Self::Nan, _) => Ordering::Less,
            (_, Self::Nan) => Ordering::Greater,
            (Self::Decimal(left), Self::Decimal(right)) => left.cmp(right),
            (Self::Double(left), Self::Double(right)) => {
                left.partial_cmp(right).unwrap_or(Ordering::Equal)
            }
            (Self::Decimal(left), Self::Double(right)) => decimal_to_double(*left, *right),
            (Self::Double(number), other) if number.is_infinite() => infinity(*number, other),
            (other, Self::Double(number)) if number.is_infinite() => {
                infinity(*number, other).reverse()
            }
            (Self::Large(_), _) | (_, Self::Large(_)) => {
                compare_digits(&self.digits(), &other.digits())
            }
            (Self::Double(left), Self::Decimal(right)) => {
                decimal_to_double(*right, *left).reverse()
            }
        }
    }
}

/// Compares an infinite double with another number.
fn infinity(infinite: f64, other: &Number) -> Ordering {
    match other {
        Number::Double(other) => infinite.partial_cmp(other).unwrap_or(Ordering::Equal),
        _ if infinite > 0.0 => Ordering::Greater,
        _ => Ordering::Less,
    }
}

/// Compares a decimal, in units of 10^-18, with a double, exactly.
fn decimal_to_double(decimal: i128, double: f64) -> Ordering {
    /// Beyond every decimal.
    const LARGE: f64 = 1.8e20;
    if double >= LARGE {
        return Ordering::Less;
    }
    if double <= -LARGE {
        return Ordering::Greater;
    }
    let whole = double.trunc();
    let order = (decimal / UNITS).cmp(&(whole as i128));
    if order.is_ne() {
        return order;
    }
    // Both fractions have the sign of their number, or are zero.
    let (units, fraction) = (decimal % UNITS, double - whole);
    match (units.signum(), fraction.partial_cmp(&0.0)) {
        (1, Some(Ordering::Greater)) => compare_fractions(units.unsigned_abs(), fraction),
        (-1, Some(Ordering::Less)) => compare_fractions(units.unsigned_abs(), -fraction).reverse(),
        (sign, other) => (sign as i32).cmp(&other.map_or(0, |order| order as i32)),
    }
}

/// Compares two fractions between 0 and 1, one in units of 10^-18.
fn compare_fractions(units: u128, fraction: f64) -> Ordering {
    // The fraction is mantissa / 2^shift.
    let bits = fraction.to_bits();
    let exponent = (bits >> 52) as u32;
    let mantissa = bits & ((1 << 52) - 1) | if exponent > 0 { 1 << 52 } else { 0 };
    let zeros = mantissa.trailing_zeros();
    let (mantissa, shift) = (mantissa >> zeros, 1075 - exponent.max(1) - zeros);
    if shift > units.leading_zeros() {
        // More than 2^128, and the other side is less than 2^53 * 10^18.
        return Ordering::Greater;
    }
    (units << shift).cmp(&(u128::from(mantissa) * UNITS.unsigned_abs()))
}
