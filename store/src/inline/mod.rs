//! Value kinds: literals that stand inside their id, so that numbers and dates need no dictionary.
//!
//! A literal is inlined **exactly when** decoding the id gives its lexical form back byte for byte *and*
//! the form is a valid one of its datatype. Everything else (`"01"^^xsd:integer`, thirty digits, a date
//! in February 30) goes to the dictionaries, under a vocabulary kind that [`vocabulary_kind`] names.
//! What is inlined is part of the format version: a term never has two ids.
//!
//! # Bit map of the payload (58 bits, the most significant left)
//!
//! ```text
//! boolean            57 zero                                          | 1 value
//! the 13 integers    58 value + 2^57
//! decimal            53 mantissa + 2^52                               | 5 scale (0..=18)
//! double, float      1 negative | 40 mantissa | 4 scale | 2 form | 11 exponent + 1024
//!                    form: 0 no exponent, 1 "e", 2 "E", 3 INF (mantissa 0) or NaN (mantissa 1)
//! date, no zone      51 start                              | 7 zero
//! date, zone         51 start, in minutes UTC              | 7 zone
//! dateTime, no zone  49 instant                    | 2 fraction digits | 7 zero
//! dateTime, zone     49 instant, in ms UTC         | 2 fraction digits | 7 zone
//!                    zone: 0 "Z", otherwise the offset in quarter hours + 57 (1..=113)
//! ```
//!
//! What always holds:
//! * For every id that [`decode`] accepts, [`encode`] of what it gives is that id again, and the other
//!   way round.
//! * Within one kind of booleans, integers, dates and dateTimes the order of ids is the order of values.
//! * No bits make this module panic: a payload that no literal has decodes to `None`.

mod decimal;
mod double;
mod integer;
mod temporal;
#[cfg(test)]
mod tests;

use crate::id::{Kind, TermId};
pub use temporal::{Calendar, calendar_of_date, calendar_of_date_time, same_instant};

/// The namespace of the XML Schema datatypes.
pub const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

/// What the store knows of a datatype; cheap to copy and to keep beside a parsed datatype, so that a
/// loader classifies each datatype IRI once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DatatypeClass {
    /// The value kind that its literals may be inlined under (the one without a zone, if there are two).
    inline: Option<Kind>,
    /// Where its literals go that are not inlined.
    vocabulary: Kind,
}

impl DatatypeClass {
    /// A datatype whose literals are never inlined: strings and all that the store knows nothing of.
    pub const OTHER: Self = Self {
        inline: None,
        vocabulary: Kind::Literal,
    };

    /// Classifies a datatype by its IRI.
    pub fn of(datatype: &str) -> Self {
        let Some(name) = datatype.strip_prefix(XSD) else {
            return Self::OTHER;
        };
        let numeric = |kind| Self {
            inline: Some(kind),
            vocabulary: Kind::NumericLiteral,
        };
        let temporal = |inline| Self {
            inline,
            vocabulary: Kind::TemporalLiteral,
        };
        match name {
            "boolean" => numeric(Kind::Boolean),
            "integer" => numeric(Kind::Integer),
            "long" => numeric(Kind::Long),
            "int" => numeric(Kind::Int),
            "short" => numeric(Kind::Short),
            "byte" => numeric(Kind::Byte),
            "nonNegativeInteger" => numeric(Kind::NonNegativeInteger),
            "positiveInteger" => numeric(Kind::PositiveInteger),
            "nonPositiveInteger" => numeric(Kind::NonPositiveInteger),
            "negativeInteger" => numeric(Kind::NegativeInteger),
            "unsignedLong" => numeric(Kind::UnsignedLong),
            "unsignedInt" => numeric(Kind::UnsignedInt),
            "unsignedShort" => numeric(Kind::UnsignedShort),
            "unsignedByte" => numeric(Kind::UnsignedByte),
            "decimal" => numeric(Kind::Decimal),
            "double" => numeric(Kind::Double),
            "float" => numeric(Kind::Float),
            "date" => temporal(Some(Kind::Date)),
            "dateTime" => temporal(Some(Kind::DateTime)),
            "dateTimeStamp" | "time" | "gYear" | "gYearMonth" | "gMonth" | "gMonthDay" | "gDay"
            | "duration" | "dayTimeDuration" | "yearMonthDuration" => temporal(None),
            _ => Self::OTHER,
        }
    }

    /// The kind under which a literal of this datatype stands in a dictionary.
    #[inline]
    pub fn vocabulary_kind(self) -> Kind {
        self.vocabulary
    }

    /// Whether any literal of this datatype is inlined.
    #[inline]
    pub fn may_inline(self) -> bool {
        self.inline.is_some()
    }

    /// The id of a literal of this datatype if its form is one that is inlined.
    #[inline]
    pub fn encode(self, lexical: &str) -> Option<TermId> {
        let kind = self.inline?;
        let text = lexical.as_bytes();
        match kind {
            Kind::Boolean => match text {
                b"false" => Some(from_boolean(false)),
                b"true" => Some(from_boolean(true)),
                _ => None,
            },
            Kind::Decimal => decimal::encode(text),
            Kind::Double | Kind::Float => double::encode(kind, text),
            Kind::Date => temporal::encode_date(text),
            Kind::DateTime => temporal::encode_date_time(text),
            _ => integer::encode(kind, text),
        }
    }
}

/// The id of a literal, if it is one that is inlined.
#[inline]
pub fn encode(lexical: &str, datatype: &str) -> Option<TermId> {
    DatatypeClass::of(datatype).encode(lexical)
}

/// The kind under which a literal of this datatype stands in a dictionary when it is not inlined.
pub fn vocabulary_kind(datatype: &str) -> Kind {
    DatatypeClass::of(datatype).vocabulary_kind()
}

/// The datatype IRI of an inline kind.
pub fn datatype(kind: Kind) -> Option<&'static str> {
    macro_rules! xsd {
        ($name:literal) => {
            concat!("http://www.w3.org/2001/XMLSchema#", $name)
        };
    }
    Some(match kind {
        Kind::Boolean => xsd!("boolean"),
        Kind::Integer => xsd!("integer"),
        Kind::Long => xsd!("long"),
        Kind::Int => xsd!("int"),
        Kind::Short => xsd!("short"),
        Kind::Byte => xsd!("byte"),
        Kind::NonNegativeInteger => xsd!("nonNegativeInteger"),
        Kind::PositiveInteger => xsd!("positiveInteger"),
        Kind::NonPositiveInteger => xsd!("nonPositiveInteger"),
        Kind::NegativeInteger => xsd!("negativeInteger"),
        Kind::UnsignedLong => xsd!("unsignedLong"),
        Kind::UnsignedInt => xsd!("unsignedInt"),
        Kind::UnsignedShort => xsd!("unsignedShort"),
        Kind::UnsignedByte => xsd!("unsignedByte"),
        Kind::Decimal => xsd!("decimal"),
        Kind::Double => xsd!("double"),
        Kind::Float => xsd!("float"),
        Kind::Date | Kind::DateZoned => xsd!("date"),
        Kind::DateTime | Kind::DateTimeZoned => xsd!("dateTime"),
        Kind::Unbound
        | Kind::Blank
        | Kind::Iri
        | Kind::Literal
        | Kind::NumericLiteral
        | Kind::TemporalLiteral
        | Kind::Triple
        | Kind::Local => return None,
    })
}

/// Appends the lexical form of an inlined literal and gives its datatype IRI.
///
/// `None`, and nothing appended, if the id is not of an inline kind or has a payload that no literal
/// has.
pub fn decode(id: TermId, out: &mut String) -> Option<&'static str> {
    let kind = id.kind()?;
    let datatype = datatype(kind)?;
    let payload = id.payload();
    match kind {
        Kind::Boolean => out.push_str(match payload {
            0 => "false",
            1 => "true",
            _ => return None,
        }),
        Kind::Decimal => decimal::decode(payload, out)?,
        Kind::Double | Kind::Float => double::decode(payload, out)?,
        Kind::Date | Kind::DateZoned => temporal::decode_date(kind, payload, out)?,
        Kind::DateTime | Kind::DateTimeZoned => temporal::decode_date_time(kind, payload, out)?,
        _ => integer::decode(kind, payload, out)?,
    }
    Some(datatype)
}

/// The value of an inlined literal, for arithmetic and comparison.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum InlineValue {
    /// `xsd:boolean`.
    Boolean(bool),
    /// `xsd:integer` or a type derived from it (the id's kind says which).
    Integer(i64),
    /// `xsd:decimal`: the value is `mantissa / 10^scale`.
    Decimal {
        /// All digits, less than 2^52 in size.
        mantissa: i64,
        /// How many of them stand after the point, at most 18.
        scale: u8,
    },
    /// `xsd:double`.
    Double(f64),
    /// `xsd:float`.
    Float(f32),
    /// `xsd:date`.
    Date {
        /// When the day begins, in minutes since 1970-01-01T00:00: of UTC if there is a zone, otherwise
        /// of local time.
        start_minutes: i64,
        /// The zone's offset from UTC in minutes, if there is a zone.
        offset_minutes: Option<i16>,
    },
    /// `xsd:dateTime`.
    DateTime {
        /// Milliseconds since 1970-01-01T00:00:00: of UTC if there is a zone, otherwise of local time.
        milliseconds: i64,
        /// The zone's offset from UTC in minutes, if there is a zone.
        offset_minutes: Option<i16>,
    },
}

/// The value of an inlined literal, or `None` for any other id.
pub fn value(id: TermId) -> Option<InlineValue> {
    let kind = id.kind()?;
    let payload = id.payload();
    match kind {
        Kind::Boolean => (payload <= 1).then_some(InlineValue::Boolean(payload == 1)),
        Kind::Decimal => decimal::value(payload),
        Kind::Double => double::value(payload).map(InlineValue::Double),
        Kind::Float => double::value_of_float(payload).map(InlineValue::Float),
        Kind::Date | Kind::DateZoned => temporal::value_of_date(kind, payload),
        Kind::DateTime | Kind::DateTimeZoned => temporal::value_of_date_time(kind, payload),
        _ if kind.is_inline() => integer::value(kind, payload).map(InlineValue::Integer),
        _ => None,
    }
}

/// The id of a boolean.
#[inline]
pub const fn from_boolean(value: bool) -> TermId {
    TermId::new(Kind::Boolean, value as u64)
}

/// The id of a number under `xsd:integer` or one of the types derived from it; `None` if the number is
/// outside the type, or too large to be inlined, or the kind is none of these.
pub fn from_integer(kind: Kind, value: i64) -> Option<TermId> {
    integer::from_value(kind, value)
}

/// Appends bytes that are known to be ASCII.
fn push_ascii(out: &mut String, bytes: &[u8]) {
    out.push_str(std::str::from_utf8(bytes).expect("ASCII"));
}

/// Appends a number in decimal digits, with a point before the last `scale` of them (and a zero before the
/// point if no digit is left to stand there).
fn push_scaled(out: &mut String, mut number: u64, scale: usize) {
    debug_assert!(scale <= decimal::SCALE_MAX);
    let mut buffer = [0; 32];
    let mut at = buffer.len();
    let mut digits = 0;
    loop {
        at -= 1;
        buffer[at] = b'0' + (number % 10) as u8;
        number /= 10;
        digits += 1;
        if digits == scale {
            at -= 1;
            buffer[at] = b'.';
        } else if number == 0 && digits > scale {
            break;
        }
    }
    push_ascii(out, &buffer[at..]);
}

/// Reads decimal digits from the front: the number, and what follows. `None` if there is no digit or the
/// number has more than 18 of them.
#[inline]
fn take_digits(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0_u64;
    let mut length = 0;
    while let Some(digit) = text.get(length).map(|byte| byte.wrapping_sub(b'0'))
        && digit < 10
    {
        number = number * 10 + u64::from(digit);
        length += 1;
        if length > 18 {
            return None;
        }
    }
    (length > 0).then(|| (number, &text[length..]))
}

/// Reads digits with an optional fraction, as decimals and doubles have them: all digits as one number, how
/// many stand after the point, and what follows. `None` for a form that those three do not give back:
/// leading zeros, nothing before or after the point, more than 18 digits.
#[inline]
fn take_scaled(text: &[u8]) -> Option<(u64, usize, &[u8])> {
    let (whole, rest) = take_digits(text)?;
    let whole_length = text.len() - rest.len();
    if text[0] == b'0' && whole_length > 1 {
        return None;
    }
    let Some(after_point) = rest.strip_prefix(b".") else {
        return Some((whole, 0, rest));
    };
    let (fraction, rest) = take_digits(after_point)?;
    let scale = after_point.len() - rest.len();
    let significant = if whole == 0 { 0 } else { whole_length };
    if significant + scale > 18 {
        return None;
    }
    Some((whole * 10_u64.pow(scale as u32) + fraction, scale, rest))
}
