//! Values: what a term is worth in an expression.
//!
//! A typed literal has the value that its datatype gives to its lexical form. One that the datatype does not allow
//! (`"abc"^^xsd:integer`), or whose datatype is not known here, stays a literal without value, [`Value::Other`].

use oxrdf::vocab::{rdf, xsd};
use oxrdf::{BaseDirection, BlankNode, Literal, LiteralRef, NamedNode, NamedNodeRef, Term, Triple};
use oxsdatatypes::{
    Date, DateTime, DayTimeDuration, Decimal, Double, Duration, Float, Integer, Time,
    YearMonthDuration,
};
use quadrille_store::TermId;
use quadrille_store::inline::{self, InlineValue};
use std::borrow::Cow;

/// A value. Equality of values is [`super::compare::equal`], not an implementation of `PartialEq`.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are XML Schema's and RDF's")]
pub enum Value<'a> {
    Iri(Cow<'a, str>),
    Blank(Cow<'a, str>),
    String(Cow<'a, str>),
    LangString {
        text: Cow<'a, str>,
        language: Cow<'a, str>,
        direction: Option<BaseDirection>,
    },
    Boolean(bool),
    Integer(Integer),
    Decimal(Decimal),
    Float(Float),
    Double(Double),
    DateTime(DateTime),
    Date(Date),
    Time(Time),
    Duration(Duration),
    YearMonthDuration(YearMonthDuration),
    DayTimeDuration(DayTimeDuration),
    /// A literal without a value that is known here.
    Other {
        lexical: Cow<'a, str>,
        datatype: Cow<'a, str>,
    },
    Triple(Cow<'a, Triple>),
}

impl<'a> Value<'a> {
    /// The value of a term.
    pub fn of(term: &'a Term) -> Self {
        match term {
            Term::NamedNode(node) => Self::Iri(node.as_str().into()),
            Term::BlankNode(node) => Self::Blank(node.as_str().into()),
            Term::Literal(literal) => Self::of_literal(literal.as_ref()),
            Term::Triple(triple) => Self::Triple(Cow::Borrowed(triple)),
        }
    }

    fn of_literal(literal: LiteralRef<'a>) -> Self {
        let lexical = literal.value();
        if let Some(language) = literal.language() {
            return Self::LangString {
                text: lexical.into(),
                language: language.into(),
                direction: literal.direction(),
            };
        }
        let datatype = literal.datatype();
        if datatype == xsd::STRING {
            return Self::String(lexical.into());
        }
        Self::typed(lexical, datatype.as_str()).unwrap_or_else(|| Self::Other {
            lexical: lexical.into(),
            datatype: Cow::Borrowed(datatype.as_str()),
        })
    }

    /// The value of a lexical form in a datatype, if both are known.
    pub(super) fn typed(lexical: &str, datatype: &str) -> Option<Self> {
        Some(match datatype.strip_prefix(inline::XSD)? {
            "boolean" => Self::Boolean(match lexical {
                "true" | "1" => true,
                "false" | "0" => false,
                _ => return None,
            }),
            "decimal" => Self::Decimal(lexical.parse().ok()?),
            "float" if is_floating(lexical) => Self::Float(lexical.parse().ok()?),
            "double" if is_floating(lexical) => Self::Double(lexical.parse().ok()?),
            "dateTime" | "dateTimeStamp" => Self::DateTime(lexical.parse().ok()?),
            "date" => Self::Date(lexical.parse().ok()?),
            "time" => Self::Time(lexical.parse().ok()?),
            "duration" => Self::Duration(lexical.parse().ok()?),
            "yearMonthDuration" => Self::YearMonthDuration(lexical.parse().ok()?),
            "dayTimeDuration" => Self::DayTimeDuration(lexical.parse().ok()?),
            name => {
                integer_range(name)?;
                let value: Integer = lexical.parse().ok()?;
                if !is_in_range(value, datatype) {
                    return None;
                }
                Self::Integer(value)
            }
        })
    }

    /// The value that stands in an id; `None` if the id's term stands elsewhere.
    pub fn of_inline(id: TermId) -> Option<Value<'static>> {
        Some(match inline::value(id)? {
            InlineValue::Boolean(value) => Value::Boolean(value),
            InlineValue::Integer(value) => Value::Integer(value.into()),
            InlineValue::Double(value) => Value::Double(value.into()),
            InlineValue::Float(value) => Value::Float(value.into()),
            InlineValue::Decimal { .. }
            | InlineValue::Date { .. }
            | InlineValue::DateTime { .. } => {
                let mut lexical = String::with_capacity(32);
                let datatype = inline::decode(id, &mut lexical)?;
                Value::typed(&lexical, datatype)?.into_owned()
            }
        })
    }

    /// The same, borrowing nothing.
    pub fn into_owned(self) -> Value<'static> {
        fn own(text: Cow<'_, str>) -> Cow<'static, str> {
            Cow::Owned(text.into_owned())
        }
        match self {
            Self::Iri(text) => Value::Iri(own(text)),
            Self::Blank(text) => Value::Blank(own(text)),
            Self::String(text) => Value::String(own(text)),
            Self::LangString {
                text,
                language,
                direction,
            } => Value::LangString {
                text: own(text),
                language: own(language),
                direction,
            },
            Self::Boolean(value) => Value::Boolean(value),
            Self::Integer(value) => Value::Integer(value),
            Self::Decimal(value) => Value::Decimal(value),
            Self::Float(value) => Value::Float(value),
            Self::Double(value) => Value::Double(value),
            Self::DateTime(value) => Value::DateTime(value),
            Self::Date(value) => Value::Date(value),
            Self::Time(value) => Value::Time(value),
            Self::Duration(value) => Value::Duration(value),
            Self::YearMonthDuration(value) => Value::YearMonthDuration(value),
            Self::DayTimeDuration(value) => Value::DayTimeDuration(value),
            Self::Other { lexical, datatype } => Value::Other {
                lexical: own(lexical),
                datatype: own(datatype),
            },
            Self::Triple(triple) => Value::Triple(Cow::Owned(triple.into_owned())),
        }
    }

    /// The same, borrowed.
    pub fn borrowed(&'a self) -> Self {
        match self {
            Self::Iri(text) => Self::Iri(Cow::Borrowed(text)),
            Self::Blank(text) => Self::Blank(Cow::Borrowed(text)),
            Self::String(text) => Self::String(Cow::Borrowed(text)),
            Self::LangString {
                text,
                language,
                direction,
            } => Self::LangString {
                text: Cow::Borrowed(text),
                language: Cow::Borrowed(language),
                direction: *direction,
            },
            Self::Boolean(value) => Self::Boolean(*value),
            Self::Integer(value) => Self::Integer(*value),
            Self::Decimal(value) => Self::Decimal(*value),
            Self::Float(value) => Self::Float(*value),
            Self::Double(value) => Self::Double(*value),
            Self::DateTime(value) => Self::DateTime(*value),
            Self::Date(value) => Self::Date(*value),
            Self::Time(value) => Self::Time(*value),
            Self::Duration(value) => Self::Duration(*value),
            Self::YearMonthDuration(value) => Self::YearMonthDuration(*value),
            Self::DayTimeDuration(value) => Self::DayTimeDuration(*value),
            Self::Other { lexical, datatype } => Self::Other {
                lexical: Cow::Borrowed(lexical),
                datatype: Cow::Borrowed(datatype),
            },
            Self::Triple(triple) => Self::Triple(Cow::Borrowed(triple)),
        }
    }

    /// The term of a computed value: numbers and dates in their canonical form.
    pub fn to_term(&self) -> Term {
        match self {
            Self::Iri(text) => NamedNode::new_unchecked(text.as_ref()).into(),
            Self::Blank(label) => BlankNode::new_unchecked(label.as_ref()).into(),
            Self::String(text) => Literal::new_simple_literal(text.as_ref()).into(),
            Self::LangString {
                text,
                language,
                direction: None,
            } => Literal::new_language_tagged_literal_unchecked(text.as_ref(), language.as_ref())
                .into(),
            Self::LangString {
                text,
                language,
                direction: Some(direction),
            } => Literal::new_directional_language_tagged_literal_unchecked(
                text.as_ref(),
                language.as_ref(),
                *direction,
            )
            .into(),
            Self::Boolean(value) => Literal::from(*value).into(),
            Self::Integer(value) => typed_literal(value.to_string(), xsd::INTEGER),
            Self::Decimal(value) => typed_literal(value.to_string(), xsd::DECIMAL),
            Self::Float(value) => typed_literal(float_lexical(*value), xsd::FLOAT),
            Self::Double(value) => typed_literal(double_lexical(*value), xsd::DOUBLE),
            Self::DateTime(value) => typed_literal(value.to_string(), xsd::DATE_TIME),
            Self::Date(value) => typed_literal(value.to_string(), xsd::DATE),
            Self::Time(value) => typed_literal(value.to_string(), xsd::TIME),
            Self::Duration(value) => typed_literal(value.to_string(), xsd::DURATION),
            Self::YearMonthDuration(value) => {
                typed_literal(value.to_string(), xsd::YEAR_MONTH_DURATION)
            }
            Self::DayTimeDuration(value) => {
                typed_literal(value.to_string(), xsd::DAY_TIME_DURATION)
            }
            Self::Other { lexical, datatype } => Literal::new_typed_literal(
                lexical.as_ref(),
                NamedNode::new_unchecked(datatype.as_ref()),
            )
            .into(),
            Self::Triple(triple) => Term::from(triple.as_ref().clone()),
        }
    }

    /// The datatype's IRI, or `None` if this is not a literal.
    pub fn datatype(&self) -> Option<&str> {
        Some(match self {
            Self::Iri(_) | Self::Blank(_) | Self::Triple(_) => return None,
            Self::String(_) => xsd::STRING.as_str(),
            Self::LangString {
                direction: None, ..
            } => rdf::LANG_STRING.as_str(),
            Self::LangString { .. } => rdf::DIR_LANG_STRING.as_str(),
            Self::Boolean(_) => xsd::BOOLEAN.as_str(),
            Self::Integer(_) => xsd::INTEGER.as_str(),
            Self::Decimal(_) => xsd::DECIMAL.as_str(),
            Self::Float(_) => xsd::FLOAT.as_str(),
            Self::Double(_) => xsd::DOUBLE.as_str(),
            Self::DateTime(_) => xsd::DATE_TIME.as_str(),
            Self::Date(_) => xsd::DATE.as_str(),
            Self::Time(_) => xsd::TIME.as_str(),
            Self::Duration(_) => xsd::DURATION.as_str(),
            Self::YearMonthDuration(_) => xsd::YEAR_MONTH_DURATION.as_str(),
            Self::DayTimeDuration(_) => xsd::DAY_TIME_DURATION.as_str(),
            Self::Other { datatype, .. } => datatype,
        })
    }

    /// The effective boolean value.
    ///
    /// Literals without value, also booleans and numbers whose lexical form is invalid, have none: that is an error (`None`;
    /// SPARQL 1.2, section 17.2.2, where SPARQL 1.1 took the latter for false).
    pub fn truth(&self) -> Option<bool> {
        Some(match self {
            Self::Boolean(value) => *value,
            Self::String(text) => !text.is_empty(),
            Self::Integer(value) => *value != Integer::from(0),
            Self::Decimal(value) => *value != Decimal::from(0),
            Self::Float(value) => !value.is_nan() && *value != Float::from(0.0),
            Self::Double(value) => !value.is_nan() && *value != Double::from(0.0),
            Self::Other { lexical, datatype } if is_large_number(lexical, datatype) => true,
            _ => return None,
        })
    }

    /// A duration of any type.
    pub fn duration(&self) -> Option<Duration> {
        Some(match self {
            Self::Duration(value) => *value,
            Self::YearMonthDuration(value) => (*value).into(),
            Self::DayTimeDuration(value) => (*value).into(),
            _ => return None,
        })
    }

    /// Whether this is a number, also one that is too large to be computed with.
    pub fn is_numeric(&self) -> bool {
        match self {
            Self::Integer(_) | Self::Decimal(_) | Self::Float(_) | Self::Double(_) => true,
            Self::Other { lexical, datatype } => is_large_number(lexical, datatype),
            _ => false,
        }
    }
}

fn typed_literal(lexical: String, datatype: NamedNodeRef<'_>) -> Term {
    Literal::new_typed_literal(lexical, datatype).into()
}

/// Whether this is a form of `xsd:float` and `xsd:double`, as far as Rust's parser, which also takes `infinity` and the
/// like, does not say.
fn is_floating(lexical: &str) -> bool {
    matches!(lexical, "INF" | "+INF" | "-INF" | "NaN")
        || lexical
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
}

/// The form that XPath casts a double to: that of a decimal from 0.000001 up to a million, scientific beyond.
pub(super) fn double_lexical(value: Double) -> String {
    let number = f64::from(value);
    if is_plain(number) {
        value.to_string()
    } else {
        scientific(format!("{number:E}"))
    }
}

/// The same for a float.
pub(super) fn float_lexical(value: Float) -> String {
    let number = f32::from(value);
    if is_plain(number.into()) {
        value.to_string()
    } else {
        scientific(format!("{number:E}"))
    }
}

fn is_plain(number: f64) -> bool {
    let size = number.abs();
    !number.is_finite() || number == 0.0 || (1e-6..1e6).contains(&size)
}

/// A mantissa has a fraction: `1.0E6`.
fn scientific(form: String) -> String {
    match form.split_once('E') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0E{exponent}"),
        _ => form,
    }
}

/// The least and the greatest value of `xsd:integer` and the types derived from it, by local name; for those
/// without a bound, one that no `i64` reaches.
fn integer_range(name: &str) -> Option<(i128, i128)> {
    Some(match name {
        "integer" => (i128::MIN, i128::MAX),
        "long" => (i64::MIN.into(), i64::MAX.into()),
        "int" => (i32::MIN.into(), i32::MAX.into()),
        "short" => (i16::MIN.into(), i16::MAX.into()),
        "byte" => (i8::MIN.into(), i8::MAX.into()),
        "nonNegativeInteger" => (0, i128::MAX),
        "positiveInteger" => (1, i128::MAX),
        "nonPositiveInteger" => (i128::MIN, 0),
        "negativeInteger" => (i128::MIN, -1),
        "unsignedLong" => (0, u64::MAX.into()),
        "unsignedInt" => (0, u32::MAX.into()),
        "unsignedShort" => (0, u16::MAX.into()),
        "unsignedByte" => (0, u8::MAX.into()),
        _ => return None,
    })
}

/// Whether a type that is an integer type has a value.
pub(super) fn is_in_range(value: Integer, datatype: &str) -> bool {
    let range = datatype.strip_prefix(inline::XSD).and_then(integer_range);
    range.is_some_and(|(least, most)| (least..=most).contains(&i64::from(value).into()))
}

/// Whether a literal that has no value here is a valid integer or decimal all the same.
fn is_large_number(lexical: &str, datatype: &str) -> bool {
    let Some(name) = datatype.strip_prefix(inline::XSD) else {
        return false;
    };
    let digits = lexical.strip_prefix(['+', '-']).unwrap_or(lexical);
    let is_negative = lexical.starts_with('-');
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match name {
        "decimal" => {
            let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
            all_digits(whole) && all_digits(fraction) && !(whole.is_empty() && fraction.is_empty())
        }
        "integer" => !digits.is_empty() && all_digits(digits),
        "nonNegativeInteger" | "positiveInteger" | "unsignedLong" | "nonPositiveInteger"
        | "negativeInteger" => {
            // What fits an i64 was decided by its range; beyond, only sign and size matter.
            !digits.is_empty()
                && all_digits(digits)
                && lexical.parse::<Integer>().is_err()
                && (name.ends_with("PositiveInteger") || name == "negativeInteger") == is_negative
                && (name != "unsignedLong" || digits.parse::<u64>().is_ok())
        }
        _ => false,
    }
}
