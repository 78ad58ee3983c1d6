//! `xsd:integer` and the twelve types derived from it, a kind each; the payload is the value + 2^57.
//!
//! Inlined are canonical forms alone (no `+`, no leading zeros, no `-0`), within the type's own bounds
//! and within [-2^57, 2^57).

use super::{push_scaled, take_digits};
use crate::id::{Kind, PAYLOAD_BITS, TermId};

/// What is added to a value, so that negative ones come first.
const BIAS: i64 = 1 << (PAYLOAD_BITS - 1);

/// The least and the largest value of a type that is inlined; `None` if the kind is no integer type.
const fn bounds(kind: Kind) -> Option<(i64, i64)> {
    let (least, largest) = (-BIAS, BIAS - 1);
    Some(match kind {
        Kind::Integer | Kind::Long => (least, largest),
        Kind::Int => (i32::MIN as i64, i32::MAX as i64),
        Kind::Short => (i16::MIN as i64, i16::MAX as i64),
        Kind::Byte => (i8::MIN as i64, i8::MAX as i64),
        Kind::NonNegativeInteger | Kind::UnsignedLong => (0, largest),
        Kind::PositiveInteger => (1, largest),
        Kind::NonPositiveInteger => (least, 0),
        Kind::NegativeInteger => (least, -1),
        Kind::UnsignedInt => (0, u32::MAX as i64),
        Kind::UnsignedShort => (0, u16::MAX as i64),
        Kind::UnsignedByte => (0, u8::MAX as i64),
        _ => return None,
    })
}

pub(super) fn encode(kind: Kind, text: &[u8]) -> Option<TermId> {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (size, rest) = take_digits(digits)?;
    let canonical = rest.is_empty() && (digits[0] != b'0' || (digits.len() == 1 && !negative));
    if !canonical {
        return None;
    }
    let size = size as i64; // eighteen digits fit
    from_value(kind, if negative { -size } else { size })
}

pub(super) fn from_value(kind: Kind, value: i64) -> Option<TermId> {
    let (least, largest) = bounds(kind)?;
    (least <= value && value <= largest).then(|| TermId::new(kind, (value + BIAS) as u64))
}

pub(super) fn value(kind: Kind, payload: u64) -> Option<i64> {
    let (least, largest) = bounds(kind)?;
    let value = payload as i64 - BIAS;
    (least <= value && value <= largest).then_some(value)
}

pub(super) fn decode(kind: Kind, payload: u64, out: &mut String) -> Option<()> {
    let value = value(kind, payload)?;
    if value < 0 {
        out.push('-');
    }
    push_scaled(out, value.unsigned_abs(), 0);
    Some(())
}
