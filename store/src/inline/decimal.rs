//! `xsd:decimal` as mantissa and scale: `1.50` is 150 and 2, `1` is 1 and 0.
//!
//! Not inlined: `+1`, `01`, `.5`, `1.`, `-0`, `-0.0`, and what needs more than 52 bits or 18 digits after the
//! point.

use super::{InlineValue, push_scaled, take_scaled};
use crate::id::{Kind, PAYLOAD_BITS, TermId};

const SCALE_BITS: u32 = 5;
const MANTISSA_BITS: u32 = PAYLOAD_BITS - SCALE_BITS;
const BIAS: i64 = 1 << (MANTISSA_BITS - 1);
/// The most digits after the point: what every implementation of decimals can hold.
pub(super) const SCALE_MAX: usize = 18;
const _: () = assert!(SCALE_MAX < 1 << SCALE_BITS);

pub(super) fn encode(text: &[u8]) -> Option<TermId> {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (size, scale, rest) = take_scaled(digits)?;
    if !rest.is_empty() || scale > SCALE_MAX || size >= BIAS as u64 || (negative && size == 0) {
        return None;
    }
    let mantissa = if negative {
        -(size as i64)
    } else {
        size as i64
    };
    Some(TermId::new(
        Kind::Decimal,
        ((mantissa + BIAS) as u64) << SCALE_BITS | scale as u64,
    ))
}

/// Mantissa and scale of a payload that a literal can have.
fn unpack(payload: u64) -> Option<(i64, usize)> {
    let mantissa = (payload >> SCALE_BITS) as i64 - BIAS;
    let scale = (payload & ((1 << SCALE_BITS) - 1)) as usize;
    // The least number of 53 bits has no counterpart above zero, and `encode` does not use it.
    (scale <= SCALE_MAX && mantissa != -BIAS).then_some((mantissa, scale))
}

pub(super) fn value(payload: u64) -> Option<InlineValue> {
    let (mantissa, scale) = unpack(payload)?;
    Some(InlineValue::Decimal {
        mantissa,
        scale: scale as u8,
    })
}

pub(super) fn decode(payload: u64, out: &mut String) -> Option<()> {
    let (mantissa, scale) = unpack(payload)?;
    if mantissa < 0 {
        out.push('-');
    }
    push_scaled(out, mantissa.unsigned_abs(), scale);
    Some(())
}
