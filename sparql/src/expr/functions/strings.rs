//! Functions of strings (sections 17.4.3 and 17.4.2.7 to 17.4.2.9 of SPARQL 1.1).
//!
//! A string is a literal of type `xsd:string` or one with a language tag (and, in SPARQL 1.2, a base direction). Lengths
//! and positions count characters, not bytes. Everything else is a type error, `None`.

use crate::expr::value::Value;
use oxilangtag::LanguageTag;
use oxrdf::BaseDirection;
use std::borrow::Cow;

/// A language tag with its direction.
pub type Tag<'a> = (&'a str, Option<BaseDirection>);

/// The text and the language of a string.
pub fn string<'b>(value: &'b Value<'_>) -> Option<(&'b str, Option<Tag<'b>>)> {
    match value {
        Value::String(text) => Some((text, None)),
        Value::LangString {
            text,
            language,
            direction,
        } => Some((text, Some((language, *direction)))),
        _ => None,
    }
}

/// The text of a string without language tag.
pub fn plain<'b>(value: &'b Value<'_>) -> Option<&'b str> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// A string with this tag, if there is one.
pub fn tagged(text: impl Into<String>, tag: Option<Tag<'_>>) -> Value<'static> {
    let text = Cow::Owned(text.into());
    match tag {
        None => Value::String(text),
        Some((language, direction)) => Value::LangString {
            text,
            language: Cow::Owned(language.to_owned()),
            direction,
        },
    }
}

/// Two strings that are argument compatible (section 17.4.3.1.2): the second has no tag, or that of the first.
pub fn compatible<'b>(
    first: &'b Value<'_>,
    second: &'b Value<'_>,
) -> Option<(&'b str, Option<Tag<'b>>, &'b str)> {
    let ((text, tag), (part, part_tag)) = (string(first)?, string(second)?);
    (part_tag.is_none() || part_tag == tag).then_some((text, tag, part))
}

/// `STRLEN`.
pub fn length(value: &Value<'_>) -> Option<Value<'static>> {
    let (text, _) = string(value)?;
    Some(Value::Integer((text.chars().count() as i64).into()))
}

/// `SUBSTR`: the characters whose position, counted from 1, is at least `start` and less than `start + length`. Both may
/// lie outside of the string, as in XPath's `fn:substring`.
pub fn substring(
    value: &Value<'_>,
    start: &Value<'_>,
    length: Option<&Value<'_>>,
) -> Option<Value<'static>> {
    let integer = |value: &Value<'_>| match value {
        Value::Integer(value) => Some(i128::from(i64::from(*value))),
        _ => None,
    };
    let (text, tag) = string(value)?;
    let start = integer(start)?;
    let end = match length {
        Some(length) => start + integer(length)?,
        None => i128::MAX,
    };
    let skipped = usize::try_from((start - 1).max(0)).unwrap_or(usize::MAX);
    let taken = usize::try_from((end - start.max(1)).max(0)).unwrap_or(usize::MAX);
    let rest = after_characters(text, skipped);
    let kept = &rest[..rest.len() - after_characters(rest, taken).len()];
    Some(tagged(kept, tag))
}

/// What follows the first `count` characters.
fn after_characters(text: &str, count: usize) -> &str {
    text.char_indices()
        .nth(count)
        .map_or("", |(at, _)| &text[at..])
}

/// `UCASE`.
pub fn upper_case(value: &Value<'_>) -> Option<Value<'static>> {
    let (text, tag) = string(value)?;
    Some(tagged(text.to_uppercase(), tag))
}

/// `LCASE`.
pub fn lower_case(value: &Value<'_>) -> Option<Value<'static>> {
    let (text, tag) = string(value)?;
    Some(tagged(text.to_lowercase(), tag))
}

/// `STRBEFORE`; without a match an empty string without tag.
pub fn before(value: &Value<'_>, part: &Value<'_>) -> Option<Value<'static>> {
    let (text, tag, part) = compatible(value, part)?;
    Some(match text.find(part) {
        Some(at) => tagged(&text[..at], tag),
        None => tagged("", None),
    })
}

/// `STRAFTER`; without a match an empty string without tag.
pub fn after(value: &Value<'_>, part: &Value<'_>) -> Option<Value<'static>> {
    let (text, tag, part) = compatible(value, part)?;
    Some(match text.find(part) {
        Some(at) => tagged(&text[at + part.len()..], tag),
        None => tagged("", None),
    })
}

/// `ENCODE_FOR_URI`: every byte but letters, digits, `-`, `_`, `.` and `~` as `%` and two digits.
pub fn encode_for_uri(value: &Value<'_>) -> Option<Value<'static>> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let (text, _) = string(value)?;
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push(char::from(DIGITS[usize::from(byte >> 4)]));
            encoded.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
    Some(tagged(encoded, None))
}

/// `CONCAT`; tagged if all its operands have the same tag.
pub fn concatenate(values: &[Value<'_>]) -> Option<Value<'static>> {
    let mut result = String::new();
    let mut common = None;
    for value in values {
        let (text, tag) = string(value)?;
        result.push_str(text);
        common = match common {
            None => Some(tag),
            Some(known) if known == tag => Some(tag),
            Some(_) => Some(None),
        };
    }
    Some(tagged(result, common.flatten()))
}

/// `LANGMATCHES`: basic filtering of RFC 4647, where a range matches a tag that it is a prefix of, subtag by subtag.
pub fn language_matches(tag: &Value<'_>, range: &Value<'_>) -> Option<bool> {
    let (tag, range) = (plain(tag)?, plain(range)?);
    if range == "*" {
        return Some(!tag.is_empty());
    }
    let Some(head) = tag.get(..range.len()) else {
        return Some(false);
    };
    Some(
        head.eq_ignore_ascii_case(range)
            && matches!(tag.as_bytes().get(range.len()), None | Some(b'-')),
    )
}

/// `STRLANG` and `STRLANGDIR`: a string with a tag, which must be well-formed. Tags are lower-cased, as the store does.
pub fn with_language(
    text: &Value<'_>,
    language: &Value<'_>,
    direction: Option<&Value<'_>>,
) -> Option<Value<'static>> {
    let text = plain(text)?;
    let language = LanguageTag::parse(plain(language)?).ok()?;
    let direction = match direction {
        None => None,
        Some(direction) => Some(match plain(direction)? {
            "ltr" => BaseDirection::Ltr,
            "rtl" => BaseDirection::Rtl,
            _ => return None,
        }),
    };
    let language = language.as_str().to_ascii_lowercase();
    Some(tagged(text, Some((language.as_str(), direction))))
}

/// `LANGDIR`: the base direction of a literal, or an empty string.
pub fn language_direction(value: &Value<'_>) -> Option<Value<'static>> {
    value.datatype()?;
    Some(tagged(
        match value {
            Value::LangString {
                direction: Some(BaseDirection::Ltr),
                ..
            } => "ltr",
            Value::LangString {
                direction: Some(BaseDirection::Rtl),
                ..
            } => "rtl",
            _ => "",
        },
        None,
    ))
}
