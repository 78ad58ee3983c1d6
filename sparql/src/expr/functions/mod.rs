//! The functions of the language: their names, how many operands they take, and what they make of values.
//!
//! One family a file. A function here is strict: an operand that fails makes it fail, and so does one of the wrong type
//! (`None`). What needs more than the operands' values (the row, the clock, terms as they are written) is in
//! [`super::call`].

mod blocks;
pub mod casts;
pub mod dates;
pub mod hashes;
pub mod numbers;
pub mod pattern;
pub mod strings;
mod xpath;

use super::value::Value;
use casts::Cast;
use hashes::Hash;
use spargebra::algebra::Function as Name;
use std::fmt;
use std::ops::RangeInclusive;

/// A function of the language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are the language's")]
pub enum Function {
    Str,
    Lang,
    LangDir,
    LangMatches,
    Datatype,
    Iri,
    BNode,
    StrDt,
    StrLang,
    StrLangDir,
    Uuid,
    StrUuid,
    IsIri,
    IsBlank,
    IsLiteral,
    IsNumeric,
    IsTriple,
    HasLang,
    HasLangDir,
    Triple,
    Subject,
    Predicate,
    Object,
    StrLen,
    SubStr,
    UCase,
    LCase,
    Contains,
    StrStarts,
    StrEnds,
    StrBefore,
    StrAfter,
    EncodeForUri,
    Concat,
    Regex,
    Replace,
    Abs,
    Round,
    Ceil,
    Floor,
    Rand,
    Now,
    Year,
    Month,
    Day,
    Hours,
    Minutes,
    Seconds,
    Timezone,
    Tz,
    Hash(Hash),
    Cast(Cast),
}

impl Function {
    /// The function that the parser means, and how many operands it takes.
    pub fn of(name: &Name) -> Option<(Self, RangeInclusive<usize>)> {
        Some(match name {
            Name::Str => (Self::Str, 1..=1),
            Name::Lang => (Self::Lang, 1..=1),
            Name::LangDir => (Self::LangDir, 1..=1),
            Name::LangMatches => (Self::LangMatches, 2..=2),
            Name::Datatype => (Self::Datatype, 1..=1),
            Name::Iri => (Self::Iri, 1..=1),
            Name::BNode => (Self::BNode, 0..=1),
            Name::StrDt => (Self::StrDt, 2..=2),
            Name::StrLang => (Self::StrLang, 2..=2),
            Name::StrLangDir => (Self::StrLangDir, 3..=3),
            Name::Uuid => (Self::Uuid, 0..=0),
            Name::StrUuid => (Self::StrUuid, 0..=0),
            Name::IsIri => (Self::IsIri, 1..=1),
            Name::IsBlank => (Self::IsBlank, 1..=1),
            Name::IsLiteral => (Self::IsLiteral, 1..=1),
            Name::IsNumeric => (Self::IsNumeric, 1..=1),
            Name::IsTriple => (Self::IsTriple, 1..=1),
            Name::HasLang => (Self::HasLang, 1..=1),
            Name::HasLangDir => (Self::HasLangDir, 1..=1),
            Name::Triple => (Self::Triple, 3..=3),
            Name::Subject => (Self::Subject, 1..=1),
            Name::Predicate => (Self::Predicate, 1..=1),
            Name::Object => (Self::Object, 1..=1),
            Name::StrLen => (Self::StrLen, 1..=1),
            Name::SubStr => (Self::SubStr, 2..=3),
            Name::UCase => (Self::UCase, 1..=1),
            Name::LCase => (Self::LCase, 1..=1),
            Name::Contains => (Self::Contains, 2..=2),
            Name::StrStarts => (Self::StrStarts, 2..=2),
            Name::StrEnds => (Self::StrEnds, 2..=2),
            Name::StrBefore => (Self::StrBefore, 2..=2),
            Name::StrAfter => (Self::StrAfter, 2..=2),
            Name::EncodeForUri => (Self::EncodeForUri, 1..=1),
            Name::Concat => (Self::Concat, 0..=usize::MAX),
            Name::Regex => (Self::Regex, 2..=3),
            Name::Replace => (Self::Replace, 3..=4),
            Name::Abs => (Self::Abs, 1..=1),
            Name::Round => (Self::Round, 1..=1),
            Name::Ceil => (Self::Ceil, 1..=1),
            Name::Floor => (Self::Floor, 1..=1),
            Name::Rand => (Self::Rand, 0..=0),
            Name::Now => (Self::Now, 0..=0),
            Name::Year => (Self::Year, 1..=1),
            Name::Month => (Self::Month, 1..=1),
            Name::Day => (Self::Day, 1..=1),
            Name::Hours => (Self::Hours, 1..=1),
            Name::Minutes => (Self::Minutes, 1..=1),
            Name::Seconds => (Self::Seconds, 1..=1),
            Name::Timezone => (Self::Timezone, 1..=1),
            Name::Tz => (Self::Tz, 1..=1),
            Name::Md5 => (Self::Hash(Hash::Md5), 1..=1),
            Name::Sha1 => (Self::Hash(Hash::Sha1), 1..=1),
            Name::Sha256 => (Self::Hash(Hash::Sha256), 1..=1),
            Name::Sha384 => (Self::Hash(Hash::Sha384), 1..=1),
            Name::Sha512 => (Self::Hash(Hash::Sha512), 1..=1),
            Name::Custom(iri) => (Self::Cast(Cast::of(iri.as_str())?), 1..=1),
            #[allow(
                unreachable_patterns,
                reason = "features of the parser that others switch on add functions"
            )]
            _ => return None,
        })
    }

    /// Whether two calls with the same operands may differ.
    pub fn is_volatile(self) -> bool {
        matches!(self, Self::Rand | Self::Uuid | Self::StrUuid | Self::BNode)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Str => "STR",
            Self::Lang => "LANG",
            Self::LangDir => "LANGDIR",
            Self::LangMatches => "LANGMATCHES",
            Self::Datatype => "DATATYPE",
            Self::Iri => "IRI",
            Self::BNode => "BNODE",
            Self::StrDt => "STRDT",
            Self::StrLang => "STRLANG",
            Self::StrLangDir => "STRLANGDIR",
            Self::Uuid => "UUID",
            Self::StrUuid => "STRUUID",
            Self::IsIri => "isIRI",
            Self::IsBlank => "isBLANK",
            Self::IsLiteral => "isLITERAL",
            Self::IsNumeric => "isNUMERIC",
            Self::IsTriple => "isTRIPLE",
            Self::HasLang => "hasLANG",
            Self::HasLangDir => "hasLANGDIR",
            Self::Triple => "TRIPLE",
            Self::Subject => "SUBJECT",
            Self::Predicate => "PREDICATE",
            Self::Object => "OBJECT",
            Self::StrLen => "STRLEN",
            Self::SubStr => "SUBSTR",
            Self::UCase => "UCASE",
            Self::LCase => "LCASE",
            Self::Contains => "CONTAINS",
            Self::StrStarts => "STRSTARTS",
            Self::StrEnds => "STRENDS",
            Self::StrBefore => "STRBEFORE",
            Self::StrAfter => "STRAFTER",
            Self::EncodeForUri => "ENCODE_FOR_URI",
            Self::Concat => "CONCAT",
            Self::Regex => "REGEX",
            Self::Replace => "REPLACE",
            Self::Abs => "ABS",
            Self::Round => "ROUND",
            Self::Ceil => "CEIL",
            Self::Floor => "FLOOR",
            Self::Rand => "RAND",
            Self::Now => "NOW",
            Self::Year => "YEAR",
            Self::Month => "MONTH",
            Self::Day => "DAY",
            Self::Hours => "HOURS",
            Self::Minutes => "MINUTES",
            Self::Seconds => "SECONDS",
            Self::Timezone => "TIMEZONE",
            Self::Tz => "TZ",
            Self::Hash(Hash::Md5) => "MD5",
            Self::Hash(Hash::Sha1) => "SHA1",
            Self::Hash(Hash::Sha256) => "SHA256",
            Self::Hash(Hash::Sha384) => "SHA384",
            Self::Hash(Hash::Sha512) => "SHA512",
            Self::Cast(cast) => cast.iri(),
        }
    }
}

/// As a query writes it.
impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cast(cast) => write!(f, "<{}>", cast.iri()),
            other => f.write_str(other.name()),
        }
    }
}

/// What a function makes of the values of its operands, of which there are as many as [`Function::of`] says; `None` is an
/// error.
pub fn compute(function: Function, values: &[Value<'_>]) -> Option<Value<'static>> {
    let boolean = |value: Option<bool>| value.map(Value::Boolean);
    match (function, values) {
        (Function::Concat, values) => strings::concatenate(values),
        (Function::StrLen, [value]) => strings::length(value),
        (Function::SubStr, [value, start]) => strings::substring(value, start, None),
        (Function::SubStr, [value, start, length]) => {
            strings::substring(value, start, Some(length))
        }
        (Function::UCase, [value]) => strings::upper_case(value),
        (Function::LCase, [value]) => strings::lower_case(value),
        (Function::Contains, [text, part]) => {
            boolean(strings::compatible(text, part).map(|(text, _, part)| text.contains(part)))
        }
        (Function::StrStarts, [text, part]) => {
            boolean(strings::compatible(text, part).map(|(text, _, part)| text.starts_with(part)))
        }
        (Function::StrEnds, [text, part]) => {
            boolean(strings::compatible(text, part).map(|(text, _, part)| text.ends_with(part)))
        }
        (Function::StrBefore, [text, part]) => strings::before(text, part),
        (Function::StrAfter, [text, part]) => strings::after(text, part),
        (Function::EncodeForUri, [value]) => strings::encode_for_uri(value),
        (Function::LangMatches, [tag, range]) => boolean(strings::language_matches(tag, range)),
        (Function::LangDir, [value]) => strings::language_direction(value),
        (Function::StrLang, [text, tag]) => strings::with_language(text, tag, None),
        (Function::StrLangDir, [text, tag, direction]) => {
            strings::with_language(text, tag, Some(direction))
        }
        (Function::HasLang, [value]) => boolean(Some(matches!(value, Value::LangString { .. }))),
        (Function::HasLangDir, [value]) => boolean(Some(matches!(
            value,
            Value::LangString {
                direction: Some(_),
                ..
            }
        ))),
        (Function::IsNumeric, [value]) => boolean(Some(value.is_numeric())),
        (Function::Abs, [value]) => numbers::absolute(value),
        (Function::Round, [value]) => numbers::round(value),
        (Function::Ceil, [value]) => numbers::ceiling(value),
        (Function::Floor, [value]) => numbers::floor(value),
        (Function::Year, [value]) => dates::year(value),
        (Function::Month, [value]) => dates::month(value),
        (Function::Day, [value]) => dates::day(value),
        (Function::Hours, [value]) => dates::hours(value),
        (Function::Minutes, [value]) => dates::minutes(value),
        (Function::Seconds, [value]) => dates::seconds(value),
        (Function::Timezone, [value]) => dates::time_zone(value),
        (Function::Tz, [value]) => dates::time_zone_text(value),
        (Function::Hash(hash), [value]) => hashes::hash(hash, value),
        (Function::Cast(target), [value]) => casts::cast(target, value),
        // The rest is computed from terms, or from nothing: see `super::call`.
        _ => None,
    }
}
