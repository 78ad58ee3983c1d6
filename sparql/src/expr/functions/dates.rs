//! Functions of dates and times (section 17.4.5 of SPARQL 1.1).
//!
//! The specification has them for `xsd:dateTime`. Where XPath has the same accessor for `xsd:date` or `xsd:time`, they
//! take those too.

use super::strings::tagged;
use crate::expr::value::Value;

fn integer(value: impl Into<i64>) -> Value<'static> {
    Value::Integer(value.into().into())
}

/// `YEAR`.
pub fn year(value: &Value<'_>) -> Option<Value<'static>> {
    Some(integer(match value {
        Value::DateTime(value) => value.year(),
        Value::Date(value) => value.year(),
        _ => return None,
    }))
}

/// `MONTH`.
pub fn month(value: &Value<'_>) -> Option<Value<'static>> {
    Some(integer(match value {
        Value::DateTime(value) => value.month(),
        Value::Date(value) => value.month(),
        _ => return None,
    }))
}

/// `DAY`.
pub fn day(value: &Value<'_>) -> Option<Value<'static>> {
    Some(integer(match value {
        Value::DateTime(value) => value.day(),
        Value::Date(value) => value.day(),
        _ => return None,
    }))
}

/// `HOURS`.
pub fn hours(value: &Value<'_>) -> Option<Value<'static>> {
    Some(integer(match value {
        Value::DateTime(value) => value.hour(),
        Value::Time(value) => value.hour(),
        _ => return None,
    }))
}

/// `MINUTES`.
pub fn minutes(value: &Value<'_>) -> Option<Value<'static>> {
    Some(integer(match value {
        Value::DateTime(value) => value.minute(),
        Value::Time(value) => value.minute(),
        _ => return None,
    }))
}

/// `SECONDS`, with their fraction.
pub fn seconds(value: &Value<'_>) -> Option<Value<'static>> {
    Some(Value::Decimal(match value {
        Value::DateTime(value) => value.second(),
        Value::Time(value) => value.second(),
        _ => return None,
    }))
}

/// `TIMEZONE`, as a duration; an error if there is no zone.
pub fn time_zone(value: &Value<'_>) -> Option<Value<'static>> {
    Some(Value::DayTimeDuration(match value {
        Value::DateTime(value) => value.timezone()?,
        Value::Date(value) => value.timezone()?,
        Value::Time(value) => value.timezone()?,
        _ => return None,
    }))
}

/// `TZ`, as it is written: `Z`, `-08:00`, or an empty string if there is no zone.
pub fn time_zone_text(value: &Value<'_>) -> Option<Value<'static>> {
    let offset = match value {
        Value::DateTime(value) => value.timezone_offset(),
        Value::Date(value) => value.timezone_offset(),
        Value::Time(value) => value.timezone_offset(),
        _ => return None,
    };
    Some(tagged(
        offset.map_or_else(String::new, |offset| offset.to_string()),
        None,
    ))
}
