//! Numbers that are valid, but too large (or have too many digits) to compute with: they compare digit by digit.
//!
//! XML Schema's integers and decimals have no bounds; here arithmetic has (64 bits, 18 digits after the point). A
//! comparison beyond them needs no arithmetic, and so is no error.

use super::value::Value;
use std::borrow::Cow;
use std::cmp::Ordering;

/// Whether these are two numbers one of which is too large to compute with.
pub fn is_about_large(left: &Value<'_>, right: &Value<'_>) -> bool {
    let is_large = |value: &Value<'_>| matches!(value, Value::Other { .. });
    (is_large(left) || is_large(right)) && left.is_numeric() && right.is_numeric()
}

/// How two such numbers compare; `None` if one is NaN.
pub fn compare(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    match (left, right) {
        // With a float or a double both are compared as such.
        (Value::Double(number), other) => f64::from(*number).partial_cmp(&double(other)?),
        (other, Value::Double(number)) => double(other)?.partial_cmp(&f64::from(*number)),
        (Value::Float(number), other) => f32::from(*number).partial_cmp(&(double(other)? as f32)),
        (other, Value::Float(number)) => (double(other)? as f32).partial_cmp(&f32::from(*number)),
        _ => Some(compare_digits(&decimal(left)?, &decimal(right)?)),
    }
}

/// The form of an integer or a decimal.
fn decimal<'b>(value: &'b Value<'_>) -> Option<Cow<'b, str>> {
    match value {
        Value::Integer(value) => Some(value.to_string().into()),
        Value::Decimal(value) => Some(value.to_string().into()),
        Value::Other { lexical, .. } => Some(Cow::Borrowed(lexical)),
        _ => None,
    }
}

fn double(value: &Value<'_>) -> Option<f64> {
    decimal(value)?.parse().ok()
}

/// Compares two forms of `xsd:decimal` by value.
pub fn compare_digits(left: &str, right: &str) -> Ordering {
    let (left_sign, left) = parts(left);
    let (right_sign, right) = parts(right);
    left_sign.cmp(&right_sign).then_with(|| {
        let order = left.cmp(&right);
        if left_sign < 0 {
            order.reverse()
        } else {
            order
        }
    })
}

/// The sign, how many digits stand before the point, these, and those behind it, without zeros that mean nothing.
fn parts(form: &str) -> (i8, (usize, &str, &str)) {
    let digits = form.trim_start_matches(['+', '-']);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let (whole, fraction) = (
        whole.trim_start_matches('0'),
        fraction.trim_end_matches('0'),
    );
    let sign = match (
        whole.is_empty() && fraction.is_empty(),
        form.starts_with('-'),
    ) {
        (true, _) => 0,
        (false, true) => -1,
        (false, false) => 1,
    };
    (sign, (whole.len(), whole, fraction))
}
