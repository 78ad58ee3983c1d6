//! Functions of numbers (section 17.4.4 of SPARQL 1.1). The result has the type of the operand, but for types derived from
//! `xsd:integer`, which give an `xsd:integer`.

use crate::expr::value::Value;

/// `ABS`.
pub fn absolute(value: &Value<'_>) -> Option<Value<'static>> {
    Some(match value {
        Value::Integer(value) => Value::Integer(value.checked_abs()?),
        Value::Decimal(value) => Value::Decimal(value.checked_abs()?),
        Value::Float(value) => Value::Float(value.abs()),
        Value::Double(value) => Value::Double(value.abs()),
        _ => return None,
    })
}

/// `ROUND`: to the nearest whole number, halves towards positive infinity.
pub fn round(value: &Value<'_>) -> Option<Value<'static>> {
    Some(match value {
        Value::Integer(value) => Value::Integer(*value),
        Value::Decimal(value) => Value::Decimal(value.checked_round()?),
        Value::Float(value) => Value::Float(value.round()),
        Value::Double(value) => Value::Double(value.round()),
        _ => return None,
    })
}

/// `CEIL`.
pub fn ceiling(value: &Value<'_>) -> Option<Value<'static>> {
    Some(match value {
        Value::Integer(value) => Value::Integer(*value),
        Value::Decimal(value) => Value::Decimal(value.checked_ceil()?),
        Value::Float(value) => Value::Float(value.ceil()),
        Value::Double(value) => Value::Double(value.ceil()),
        _ => return None,
    })
}

/// `FLOOR`.
pub fn floor(value: &Value<'_>) -> Option<Value<'static>> {
    Some(match value {
        Value::Integer(value) => Value::Integer(*value),
        Value::Decimal(value) => Value::Decimal(value.checked_floor()?),
        Value::Float(value) => Value::Float(value.floor()),
        Value::Double(value) => Value::Double(value.floor()),
        _ => return None,
    })
}
