//! Values: what a term is worth in an expression.
//!
//! A typed literal has the value that its datatype gives to its lexical form. One that the datatype does not allow
//! (`"abc"^^xsd:integer`), or whose datatype is not known here, stays a literal without value, [`Value::Other`].

use oxrdf::vocab::{rdf, xsd};
use oxrdf::{BaseDirection, BlankNode, Literal, LiteralRef, NamedNode, Term, Triple};
use oxsdatatypes::{Date, DateTime, Decimal, Double, Float, Integer};
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
    fn typed(lexical: &str, datatype: &str) -> Option<Self> {
        Some(match datatype.strip_prefix(inline::XSD)? {
            "boolean" => Self::Boolean(match lexical {
                "true" | "1" => true,
                "false" | "0" => false,
                _ => return None,
            }),
            "decimal" => Self::Decimal(lexical.parse().ok()?),
            "float" => Self::Float(lexical.parse().ok()?),
            "double" => Self::Double(lexical.parse().ok()?),
            "dateTime" | "dateTimeStamp" => Self::DateTime(lexical.parse().ok()?),
            "date" => Self::Date(lexical.parse().ok()?),
            name => {
                let (least, most) = integer_range(name)?;
                let value: i64 = lexical.parse::<Integer>().ok()?.into();
                if i128::from(value) < least || i128::from(value) > most {
                    return None;
                }
                Self::Integer(value.into())
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
            Self::Integer(value) => {
                Literal::new_typed_literal(value.to_string(), xsd::INTEGER).into()
            }
            Self::Decimal(value) => {
                Literal::new_typed_literal(value.to_string(), xsd::DECIMAL).into()
            }
            Self::Float(value) => Literal::new_typed_literal(value.to_string(), xsd::FLOAT).into(),
            Self::Double(value) => {
                Literal::new_typed_literal(value.to_string(), xsd::DOUBLE).into()
            }
            Self::DateTime(value) => {
                Literal::new_typed_literal(value.to_string(), xsd::DATE_TIME).into()
            }
            Self::Date(value) => Literal::new_typed_literal(value.to_string(), xsd::DATE).into(),
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
            Self::Other { datatype, .. } => datatype,
        })
    }

    /// The effective boolean value.
    ///
    /// That of a boolean or a number whose lexical form is invalid is false, that of other literals without value is
    /// an error (`None`).
    pub fn truth(&self) -> Option<bool> {
        Some(match self {
            Self::Boolean(value) => *value,
            Self::String(text) => !text.is_empty(),
            Self::Integer(value) => *value != Integer::from(0),
            Self::Decimal(value) => *value != Decimal::from(0),
            Self::Float(value) => !value.is_nan() && *value != Float::from(0.0),
            Self::Double(value) => !value.is_nan() && *value != Double::from(0.0),
            Self::Other { datatype, .. } if is_numeric_or_boolean(datatype) => false,
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

fn is_numeric_or_boolean(datatype: &str) -> bool {
    inline::vocabulary_kind(datatype) == quadrille_store::Kind::NumericLiteral
}
