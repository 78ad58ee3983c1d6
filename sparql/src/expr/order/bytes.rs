//! Sort keys as bytes, for sorts that outgrow their memory. What is read back compares as what was written did.
//!
//! ```text
//! key        kind u8, then by kind
//! Unbound    nothing                          Blank, Iri   text
//! Boolean    u8                               Duration     extreme i8, dateTime
//! DateTime, Date, Time   18 bytes, as oxsdatatypes writes them
//! Number     1 NaN; 2 decimal, i128 in units of 10^-18; 3 large, text; 4 double, f64
//! String     text, tagged u8; if tagged: language text, direction u8
//! Other      datatype text, lexical form text
//! Triple     three keys
//! text       length u32, UTF-8
//! ```
//!
//! Numbers are little-endian.

use super::{Comparable, Key, Number, OrderKey};
use crate::exec::spill::sorter::SortKey;
use oxsdatatypes::{Date, DateTime, Time};
use std::borrow::Cow;

const UNBOUND: u8 = 0;
const BLANK: u8 = 1;
const IRI: u8 = 2;
const NAN: u8 = 3;
const DECIMAL: u8 = 4;
const LARGE: u8 = 5;
const DOUBLE: u8 = 6;
const BOOLEAN: u8 = 7;
const DATE_TIME: u8 = 8;
const DATE: u8 = 9;
const TIME: u8 = 10;
const DURATION: u8 = 11;
const STRING: u8 = 12;
const TAGGED_STRING: u8 = 13;
const OTHER: u8 = 14;
const TRIPLE: u8 = 15;

impl SortKey for OrderKey<'static> {
    fn write(&self, bytes: &mut Vec<u8>) {
        match &self.0 {
            Key::Unbound => bytes.push(UNBOUND),
            Key::Blank(text) => write_text(BLANK, text, bytes),
            Key::Iri(text) => write_text(IRI, text, bytes),
            Key::Number(Number::Nan) => bytes.push(NAN),
            Key::Number(Number::Decimal(units)) => write(DECIMAL, &units.to_le_bytes(), bytes),
            Key::Number(Number::Large(digits)) => write_text(LARGE, digits, bytes),
            Key::Number(Number::Double(number)) => write(DOUBLE, &number.to_le_bytes(), bytes),
            Key::Boolean(value) => write(BOOLEAN, &[u8::from(*value)], bytes),
            Key::DateTime(value) => write(DATE_TIME, &value.0.to_be_bytes(), bytes),
            Key::Date(value) => write(DATE, &value.0.to_be_bytes(), bytes),
            Key::Time(value) => write(TIME, &value.0.to_be_bytes(), bytes),
            Key::Duration(extreme, value) => {
                write(DURATION, &extreme.to_le_bytes(), bytes);
                bytes.extend_from_slice(&value.0.to_be_bytes());
            }
            Key::String { text, tag: None } => write_text(STRING, text, bytes),
            Key::String {
                text,
                tag: Some((language, direction)),
            } => {
                write(TAGGED_STRING, &[*direction], bytes);
                append_text(text, bytes);
                append_text(language, bytes);
            }
            Key::Other { datatype, lexical } => {
                write_text(OTHER, datatype, bytes);
                append_text(lexical, bytes);
            }
            Key::Triple(parts) => {
                bytes.push(TRIPLE);
                for part in &**parts {
                    part.write(bytes);
                }
            }
        }
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let [kind] = take(bytes)?;
        Some(Self(match kind {
            UNBOUND => Key::Unbound,
            BLANK => Key::Blank(take_text(bytes)?),
            IRI => Key::Iri(take_text(bytes)?),
            NAN => Key::Number(Number::Nan),
            DECIMAL => Key::Number(Number::Decimal(i128::from_le_bytes(take(bytes)?))),
            LARGE => Key::Number(Number::Large(take_text(bytes)?.into())),
            DOUBLE => Key::Number(Number::Double(f64::from_le_bytes(take(bytes)?))),
            BOOLEAN => Key::Boolean(take(bytes)? == [1]),
            DATE_TIME => Key::DateTime(Comparable(DateTime::from_be_bytes(take(bytes)?))),
            DATE => Key::Date(Comparable(Date::from_be_bytes(take(bytes)?))),
            TIME => Key::Time(Comparable(Time::from_be_bytes(take(bytes)?))),
            DURATION => {
                let extreme = i8::from_le_bytes(take(bytes)?);
                Key::Duration(extreme, Comparable(DateTime::from_be_bytes(take(bytes)?)))
            }
            STRING => Key::String {
                text: take_text(bytes)?,
                tag: None,
            },
            TAGGED_STRING => {
                let [direction] = take(bytes)?;
                let text = take_text(bytes)?;
                Key::String {
                    text,
                    tag: Some((take_text(bytes)?, direction)),
                }
            }
            OTHER => Key::Other {
                datatype: take_text(bytes)?,
                lexical: take_text(bytes)?,
            },
            TRIPLE => Key::Triple(Box::new([
                Self::read(bytes)?,
                Self::read(bytes)?,
                Self::read(bytes)?,
            ])),
            _ => return None,
        }))
    }

    fn heap_bytes(&self) -> usize {
        match &self.0 {
            Key::Blank(text) | Key::Iri(text) => text.len(),
            Key::Number(Number::Large(digits)) => digits.len(),
            Key::String { text, tag } => {
                text.len() + tag.as_ref().map_or(0, |(language, _)| language.len())
            }
            Key::Other { datatype, lexical } => datatype.len() + lexical.len(),
            Key::Triple(parts) => parts
                .iter()
                .map(|part| size_of::<Self>() + part.heap_bytes())
                .sum(),
            Key::Unbound
            | Key::Number(_)
            | Key::Boolean(_)
            | Key::DateTime(_)
            | Key::Date(_)
            | Key::Time(_)
            | Key::Duration(..) => 0,
        }
    }
}

fn write(kind: u8, value: &[u8], bytes: &mut Vec<u8>) {
    bytes.push(kind);
    bytes.extend_from_slice(value);
}

fn write_text(kind: u8, text: &str, bytes: &mut Vec<u8>) {
    bytes.push(kind);
    append_text(text, bytes);
}

fn append_text(text: &str, bytes: &mut Vec<u8>) {
    // No term is as long as 4 GiB.
    bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

fn take<const LENGTH: usize>(bytes: &mut &[u8]) -> Option<[u8; LENGTH]> {
    let (value, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*value)
}

fn take_text(bytes: &mut &[u8]) -> Option<Cow<'static, str>> {
    let length = u32::from_le_bytes(take(bytes)?) as usize;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(Cow::Owned(str::from_utf8(text).ok()?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::order::compare_order;
    use oxrdf::{Term, Triple};
    use std::str::FromStr;

    #[test]
    fn keys_come_back_and_compare_as_terms_do() {
        let datatype = |form: &str, name: &str| {
            format!("\"{form}\"^^<http://www.w3.org/2001/XMLSchema#{name}>")
        };
        let mut terms: Vec<Option<Term>> = [
            "_:b".to_owned(),
            "<http://e/>".to_owned(),
            "\"text\"".to_owned(),
            "\"text\"@en".to_owned(),
            "\"\"".to_owned(),
            "\"text\"@en--rtl".to_owned(),
            datatype("1", "integer"),
            datatype("99999999999999999999999999", "integer"),
            datatype("-1.5", "decimal"),
            datatype("NaN", "double"),
            datatype("1e300", "double"),
            datatype("true", "boolean"),
            datatype("2020-02-29T01:02:03.5+01:00", "dateTime"),
            datatype("2020-02-29T01:02:03", "dateTime"),
            datatype("2020-02-29", "date"),
            datatype("01:02:03", "time"),
            datatype("P1Y2M3DT4H5M6.7S", "duration"),
            datatype("-PT1S", "dayTimeDuration"),
            datatype("x", "integer"),
            "\"x\"^^<http://e/type>".to_owned(),
        ]
        .iter()
        .map(|text| Some(Term::from_str(text).expect("a term")))
        .collect();
        let triple = Triple::new(
            oxrdf::NamedNode::new_unchecked("http://e/s"),
            oxrdf::NamedNode::new_unchecked("http://e/p"),
            terms[6].clone().expect("a term"),
        );
        terms.push(Some(Term::from(triple)));
        terms.push(None);
        let keys: Vec<OrderKey<'static>> = terms
            .iter()
            .map(|term| OrderKey::new(term.as_ref()).into_owned())
            .collect();
        let mut bytes = Vec::new();
        for key in &keys {
            key.write(&mut bytes);
        }
        let mut rest = &bytes[..];
        let read: Vec<OrderKey<'static>> = keys
            .iter()
            .map(|_| OrderKey::read(&mut rest).expect("a key"))
            .collect();
        assert!(rest.is_empty());
        assert!(OrderKey::read(&mut rest).is_none());
        for (left, left_term) in read.iter().zip(&terms) {
            for (right, right_term) in keys.iter().zip(&terms) {
                assert_eq!(
                    left.cmp(right),
                    compare_order(left_term.as_ref(), right_term.as_ref()),
                    "{left_term:?} {right_term:?}"
                );
            }
        }
    }
}
