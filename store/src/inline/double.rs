//! `xsd:double` and `xsd:float` as they are written: short decimals with an optional exponent.
//!
//! The binary value would not give `1.50E0` back, so what is kept is the text's own parts: sign, digits
//! without the point, digits after the point, letter of the exponent, exponent. Not inlined: `+`
//! anywhere, leading zeros of the whole part or the exponent, `.5`, `1.`, `1e-0`, more than 40 bits of
//! digits, exponents beyond three digits or so.

use super::{push_ascii, push_scaled, take_digits, take_scaled};
use crate::id::{Kind, PAYLOAD_BITS, TermId};

const EXPONENT_BITS: u32 = 11;
const FORM_BITS: u32 = 2;
const SCALE_BITS: u32 = 4;
const MANTISSA_BITS: u32 = 40;
const FORM_SHIFT: u32 = EXPONENT_BITS;
const SCALE_SHIFT: u32 = FORM_SHIFT + FORM_BITS;
const MANTISSA_SHIFT: u32 = SCALE_SHIFT + SCALE_BITS;
const SIGN_SHIFT: u32 = MANTISSA_SHIFT + MANTISSA_BITS;
const _: () = assert!(SIGN_SHIFT + 1 == PAYLOAD_BITS);

/// What is added to an exponent.
const EXPONENT_BIAS: i64 = 1 << (EXPONENT_BITS - 1);
const SCALE_MAX: usize = (1 << SCALE_BITS) - 1;

/// How the exponent is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    None,
    Lower,
    Upper,
    /// Not a number of digits: INF (mantissa 0) or NaN (mantissa 1).
    Special,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Parts {
    negative: bool,
    mantissa: u64,
    scale: usize,
    form: Form,
    /// Zero where the form has none.
    exponent: i64,
}

impl Parts {
    fn parse(text: &[u8]) -> Option<Self> {
        let (negative, digits) = match text.strip_prefix(b"-") {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        match (digits, negative) {
            (b"INF", _) => return Some(Self::special(negative, 0)),
            (b"NaN", false) => return Some(Self::special(false, 1)),
            _ => {}
        }
        let (mantissa, scale, rest) = take_scaled(digits)?;
        if mantissa >> MANTISSA_BITS != 0 || scale > SCALE_MAX {
            return None;
        }
        let (form, exponent) = match rest.split_first() {
            None => (Form::None, 0),
            Some((b'e', rest)) => (Form::Lower, parse_exponent(rest)?),
            Some((b'E', rest)) => (Form::Upper, parse_exponent(rest)?),
            Some(_) => return None,
        };
        Some(Self {
            negative,
            mantissa,
            scale,
            form,
            exponent,
        })
    }

    fn special(negative: bool, mantissa: u64) -> Self {
        Self {
            negative,
            mantissa,
            scale: 0,
            form: Form::Special,
            exponent: 0,
        }
    }

    fn pack(self) -> u64 {
        u64::from(self.negative) << SIGN_SHIFT
            | self.mantissa << MANTISSA_SHIFT
            | (self.scale as u64) << SCALE_SHIFT
            | (self.form as u64) << FORM_SHIFT
            | (self.exponent + EXPONENT_BIAS) as u64
    }

    fn unpack(payload: u64) -> Option<Self> {
        let field = |shift: u32, bits: u32| payload >> shift & ((1 << bits) - 1);
        let parts = Self {
            negative: payload >> SIGN_SHIFT & 1 == 1,
            mantissa: field(MANTISSA_SHIFT, MANTISSA_BITS),
            scale: field(SCALE_SHIFT, SCALE_BITS) as usize,
            form: match field(FORM_SHIFT, FORM_BITS) {
                0 => Form::None,
                1 => Form::Lower,
                2 => Form::Upper,
                _ => Form::Special,
            },
            exponent: field(0, EXPONENT_BITS) as i64 - EXPONENT_BIAS,
        };
        let possible = match parts.form {
            Form::None => parts.exponent == 0,
            // The least number of 11 bits has no counterpart above zero; `parse_exponent` does not make it.
            Form::Lower | Form::Upper => parts.exponent != -EXPONENT_BIAS,
            Form::Special => {
                parts == Self::special(parts.negative, 0) || parts == Self::special(false, 1)
            }
        };
        possible.then_some(parts)
    }

    fn write(self, out: &mut String) {
        if self.negative {
            out.push('-');
        }
        if self.form == Form::Special {
            out.push_str(if self.mantissa == 0 { "INF" } else { "NaN" });
            return;
        }
        push_scaled(out, self.mantissa, self.scale);
        if self.form != Form::None {
            push_ascii(out, if self.form == Form::Lower { b"e" } else { b"E" });
            if self.exponent < 0 {
                out.push('-');
            }
            push_scaled(out, self.exponent.unsigned_abs(), 0);
        }
    }
}

fn parse_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (size, rest) = take_digits(digits)?;
    let canonical = rest.is_empty() && (digits[0] != b'0' || (digits.len() == 1 && !negative));
    if !canonical || size >= EXPONENT_BIAS as u64 {
        return None;
    }
    Some(if negative {
        -(size as i64)
    } else {
        size as i64
    })
}

pub(super) fn encode(kind: Kind, text: &[u8]) -> Option<TermId> {
    Parts::parse(text).map(|parts| TermId::new(kind, parts.pack()))
}

pub(super) fn decode(payload: u64, out: &mut String) -> Option<()> {
    Parts::unpack(payload)?.write(out);
    Some(())
}

/// The value as a double, rounded once.
pub(super) fn value(payload: u64) -> Option<f64> {
    const POWERS: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    ];
    let parts = Parts::unpack(payload)?;
    if parts.form == Form::Special {
        return Some(match (parts.mantissa, parts.negative) {
            (0, false) => f64::INFINITY,
            (0, true) => f64::NEG_INFINITY,
            _ => f64::NAN,
        });
    }
    // Both the mantissa and powers up to 10^22 are exact, so one operation rounds correctly.
    let power = parts.exponent - parts.scale as i64;
    let size = match POWERS.get(power.unsigned_abs() as usize) {
        Some(factor) if power >= 0 => parts.mantissa as f64 * factor,
        Some(factor) => parts.mantissa as f64 / factor,
        None => return parse(parts),
    };
    Some(if parts.negative { -size } else { size })
}

/// The value as a float, rounded once (from the text: by way of a double it would be rounded twice).
pub(super) fn value_of_float(payload: u64) -> Option<f32> {
    const POWERS: [f32; 11] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];
    let parts = Parts::unpack(payload)?;
    if parts.form == Form::Special {
        return value(payload).map(|special| special as f32);
    }
    let power = parts.exponent - parts.scale as i64;
    let factor = POWERS.get(power.unsigned_abs() as usize);
    let size = match factor {
        Some(factor) if parts.mantissa < 1 << f32::MANTISSA_DIGITS => {
            if power >= 0 {
                parts.mantissa as f32 * factor
            } else {
                parts.mantissa as f32 / factor
            }
        }
        _ => return parse(parts),
    };
    Some(if parts.negative { -size } else { size })
}

/// The value by way of the text, for exponents that have no shortcut.
fn parse<F: std::str::FromStr>(parts: Parts) -> Option<F> {
    let mut text = String::with_capacity(40);
    parts.write(&mut text);
    text.parse().ok()
}
