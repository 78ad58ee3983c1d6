//! Casts (section 17.5 of SPARQL 1.1): the constructor functions of XML Schema's types, with XPath's rules.
//!
//! The specification has `xsd:boolean`, `integer`, `decimal`, `float`, `double`, `string` and `dateTime`; dates, times
//! and durations follow XPath's table of casts in the same way, and so do the types that are derived
//! from `xsd:integer`: the integer, if it is in the type's range. The literal that comes out has the derived type.

use crate::expr::value::{Value, double_lexical, float_lexical, is_in_range};
use oxrdf::NamedNodeRef;
use oxrdf::vocab::xsd;
use oxsdatatypes::{
    Date, DateTime, DayTimeDuration, Decimal, Double, Float, Integer, Time, YearMonthDuration,
};
use std::borrow::Cow;

/// What is cast to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are XML Schema's")]
pub enum Cast {
    Boolean,
    Integer,
    Long,
    Int,
    Short,
    Byte,
    NonNegativeInteger,
    PositiveInteger,
    NonPositiveInteger,
    NegativeInteger,
    UnsignedLong,
    UnsignedInt,
    UnsignedShort,
    UnsignedByte,
    Decimal,
    Float,
    Double,
    String,
    DateTime,
    Date,
    Time,
    Duration,
    YearMonthDuration,
    DayTimeDuration,
}

impl Cast {
    /// Every cast.
    const ALL: [Self; 24] = [
        Self::Boolean,
        Self::Integer,
        Self::Long,
        Self::Int,
        Self::Short,
        Self::Byte,
        Self::NonNegativeInteger,
        Self::PositiveInteger,
        Self::NonPositiveInteger,
        Self::NegativeInteger,
        Self::UnsignedLong,
        Self::UnsignedInt,
        Self::UnsignedShort,
        Self::UnsignedByte,
        Self::Decimal,
        Self::Float,
        Self::Double,
        Self::String,
        Self::DateTime,
        Self::Date,
        Self::Time,
        Self::Duration,
        Self::YearMonthDuration,
        Self::DayTimeDuration,
    ];

    /// The cast that a function's IRI stands for.
    pub fn of(iri: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cast| cast.iri() == iri)
    }

    /// The IRI of the type and of the function.
    pub fn iri(self) -> &'static str {
        match self {
            Self::Boolean => xsd::BOOLEAN,
            Self::Integer => xsd::INTEGER,
            Self::Long => xsd::LONG,
            Self::Int => xsd::INT,
            Self::Short => xsd::SHORT,
            Self::Byte => xsd::BYTE,
            Self::NonNegativeInteger => xsd::NON_NEGATIVE_INTEGER,
            Self::PositiveInteger => xsd::POSITIVE_INTEGER,
            Self::NonPositiveInteger => xsd::NON_POSITIVE_INTEGER,
            Self::NegativeInteger => xsd::NEGATIVE_INTEGER,
            Self::UnsignedLong => xsd::UNSIGNED_LONG,
            Self::UnsignedInt => xsd::UNSIGNED_INT,
            Self::UnsignedShort => xsd::UNSIGNED_SHORT,
            Self::UnsignedByte => xsd::UNSIGNED_BYTE,
            Self::Decimal => xsd::DECIMAL,
            Self::Float => xsd::FLOAT,
            Self::Double => xsd::DOUBLE,
            Self::String => xsd::STRING,
            Self::DateTime => xsd::DATE_TIME,
            Self::Date => xsd::DATE,
            Self::Time => xsd::TIME,
            Self::Duration => xsd::DURATION,
            Self::YearMonthDuration => xsd::YEAR_MONTH_DURATION,
            Self::DayTimeDuration => xsd::DAY_TIME_DURATION,
        }
        .as_str()
    }

    /// The derived type of the literal that a cast gives, which its value does not tell.
    pub fn derived_integer(self) -> Option<NamedNodeRef<'static>> {
        matches!(
            self,
            Self::Long
                | Self::Int
                | Self::Short
                | Self::Byte
                | Self::NonNegativeInteger
                | Self::PositiveInteger
                | Self::NonPositiveInteger
                | Self::NegativeInteger
                | Self::UnsignedLong
                | Self::UnsignedInt
                | Self::UnsignedShort
                | Self::UnsignedByte
        )
        .then(|| NamedNodeRef::new_unchecked(self.iri()))
    }
}

/// Casts a value; `None` is an error.
pub fn cast(target: Cast, value: &Value<'_>) -> Option<Value<'static>> {
    if target == Cast::String {
        return text(value).map(|text| Value::String(Cow::Owned(text)));
    }
    if let Value::String(text) = value {
        return Value::typed(text.trim_matches([' ', '\t', '\n', '\r']), target.iri());
    }
    match target {
        Cast::Boolean => boolean(value).map(Value::Boolean),
        Cast::Integer => integer(value).map(Value::Integer),
        Cast::Long
        | Cast::Int
        | Cast::Short
        | Cast::Byte
        | Cast::NonNegativeInteger
        | Cast::PositiveInteger
        | Cast::NonPositiveInteger
        | Cast::NegativeInteger
        | Cast::UnsignedLong
        | Cast::UnsignedInt
        | Cast::UnsignedShort
        | Cast::UnsignedByte => {
            let value = integer(value)?;
            is_in_range(value, target.iri()).then_some(Value::Integer(value))
        }
        Cast::Decimal => decimal(value).map(Value::Decimal),
        Cast::Float => float(value).map(Value::Float),
        Cast::Double => double(value).map(Value::Double),
        Cast::String => None,
        Cast::DateTime => Some(Value::DateTime(match value {
            Value::DateTime(value) => *value,
            Value::Date(value) => DateTime::try_from(*value).ok()?,
            _ => return None,
        })),
        Cast::Date => Some(Value::Date(match value {
            Value::Date(value) => *value,
            Value::DateTime(value) => Date::try_from(*value).ok()?,
            _ => return None,
        })),
        Cast::Time => Some(Value::Time(match value {
            Value::Time(value) => *value,
            Value::DateTime(value) => Time::from(*value),
            _ => return None,
        })),
        Cast::Duration => Some(Value::Duration(value.duration()?)),
        Cast::YearMonthDuration => {
            let duration = value.duration()?;
            let months = duration.years().checked_mul(12)?;
            Some(Value::YearMonthDuration(YearMonthDuration::new(
                months.checked_add(duration.months())?,
            )))
        }
        Cast::DayTimeDuration => {
            let duration = value.duration()?;
            let minutes = Decimal::from(duration.days())
                .checked_mul(24 * 60)?
                .checked_add(duration.hours() * 60 + duration.minutes())?;
            let seconds = minutes.checked_mul(60)?.checked_add(duration.seconds())?;
            Some(Value::DayTimeDuration(DayTimeDuration::new(seconds)))
        }
    }
}

fn boolean(value: &Value<'_>) -> Option<bool> {
    match value {
        Value::Boolean(_)
        | Value::Integer(_)
        | Value::Decimal(_)
        | Value::Float(_)
        | Value::Double(_) => value.truth(),
        _ => None,
    }
}

/// Fractions are cut off.
fn integer(value: &Value<'_>) -> Option<Integer> {
    match value {
        Value::Boolean(value) => Some((*value).into()),
        Value::Integer(value) => Some(*value),
        Value::Decimal(value) => (*value).try_into().ok(),
        Value::Float(value) => (*value).try_into().ok(),
        Value::Double(value) => (*value).try_into().ok(),
        _ => None,
    }
}

fn decimal(value: &Value<'_>) -> Option<Decimal> {
    match value {
        Value::Boolean(value) => Some((*value).into()),
        Value::Integer(value) => Some((*value).into()),
        Value::Decimal(value) => Some(*value),
        Value::Float(value) => (*value).try_into().ok(),
        Value::Double(value) => (*value).try_into().ok(),
        _ => None,
    }
}

fn float(value: &Value<'_>) -> Option<Float> {
    match value {
        Value::Boolean(value) => Some(f32::from(u8::from(*value)).into()),
        Value::Integer(value) => Some((*value).into()),
        Value::Decimal(value) => Some((*value).into()),
        Value::Float(value) => Some(*value),
        Value::Double(value) => Some((*value).into()),
        _ => None,
    }
}

fn double(value: &Value<'_>) -> Option<Double> {
    match value {
        Value::Boolean(value) => Some(f64::from(u8::from(*value)).into()),
        Value::Integer(value) => Some((*value).into()),
        Value::Decimal(value) => Some((*value).into()),
        Value::Float(value) => Some((*value).into()),
        Value::Double(value) => Some(*value),
        _ => None,
    }
}

/// `xsd:string`: an IRI, or the canonical form of a literal's value.
fn text(value: &Value<'_>) -> Option<String> {
    Some(match value {
        Value::Blank(_) | Value::Triple(_) => return None,
        Value::Iri(text) | Value::String(text) | Value::LangString { text, .. } => {
            text.clone().into_owned()
        }
        Value::Other { lexical, .. } => lexical.clone().into_owned(),
        Value::Boolean(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Decimal(value) => value.to_string(),
        Value::Float(value) => float_lexical(*value),
        Value::Double(value) => double_lexical(*value),
        Value::DateTime(value) => value.to_string(),
        Value::Date(value) => value.to_string(),
        Value::Time(value) => value.to_string(),
        Value::Duration(value) => value.to_string(),
        Value::YearMonthDuration(value) => value.to_string(),
        Value::DayTimeDuration(value) => value.to_string(),
    })
}
