//! SPARQL 1.1 Query Results TSV: terms as in Turtle, so that they can be told apart.

use super::cells::{RowFormat, Shown, direction_name};
use oxrdf::Variable;
use quadrille_store::inline::XSD;
use quadrille_store::snapshot::terms::Annotation;
use std::io::Write;

/// Writes TSV.
pub struct Tsv;

impl RowFormat for Tsv {
    fn begin(&mut self, variables: &[Variable], out: &mut Vec<u8>) {
        for (index, variable) in variables.iter().enumerate() {
            if index > 0 {
                out.push(b'\t');
            }
            out.push(b'?');
            out.extend_from_slice(variable.as_str().as_bytes());
        }
        out.push(b'\n');
    }

    fn term(&self, term: Shown<'_>, out: &mut Vec<u8>) {
        write_term(term, out);
    }

    fn row<'a>(&self, cells: impl Iterator<Item = Option<&'a [u8]>>, out: &mut Vec<u8>) {
        for (index, cell) in cells.enumerate() {
            if index > 0 {
                out.push(b'\t');
            }
            if let Some(cell) = cell {
                out.extend_from_slice(cell);
            }
        }
        out.push(b'\n');
    }

    fn end(&self, _: &mut Vec<u8>) {}
}

/// Writes a term as in Turtle, numbers and booleans without quotes where that is the same term.
pub fn write_term(term: Shown<'_>, out: &mut Vec<u8>) {
    match term {
        Shown::Iri(iri) => write_iri(iri, out),
        Shown::Blank(number) => {
            // Writing to memory does not fail.
            let _ = write!(out, "_:b{number}");
        }
        Shown::BlankLabel(label) => {
            out.extend_from_slice(b"_:");
            out.extend_from_slice(label.as_bytes());
        }
        Shown::Literal {
            lexical,
            annotation,
        } => match annotation {
            Annotation::Plain => write_string(lexical, out),
            Annotation::Language(language) => {
                write_string(lexical, out);
                out.push(b'@');
                out.extend_from_slice(language.as_bytes());
            }
            Annotation::Directional(language, direction) => {
                write_string(lexical, out);
                out.push(b'@');
                out.extend_from_slice(language.as_bytes());
                out.extend_from_slice(b"--");
                out.extend_from_slice(direction_name(direction).as_bytes());
            }
            Annotation::Datatype(datatype) => {
                if is_abbreviated(lexical, datatype) {
                    out.extend_from_slice(lexical.as_bytes());
                } else {
                    write_string(lexical, out);
                    out.extend_from_slice(b"^^");
                    write_iri(datatype, out);
                }
            }
        },
        Shown::Triple(triple) => {
            out.extend_from_slice(b"<<( ");
            for part in Shown::parts(triple) {
                write_term(part, out);
                out.push(b' ');
            }
            out.extend_from_slice(b")>>");
        }
    }
}

fn write_iri(iri: &str, out: &mut Vec<u8>) {
    out.push(b'<');
    out.extend_from_slice(iri.as_bytes());
    out.push(b'>');
}

fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest
        .iter()
        .position(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b'"' | b'\\'))
    {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(match rest[at] {
            b'\t' => b"\\t",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'"' => b"\\\"",
            _ => b"\\\\",
        });
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Whether Turtle reads the lexical form alone as this literal.
fn is_abbreviated(lexical: &str, datatype: &str) -> bool {
    match datatype.strip_prefix(XSD) {
        Some("boolean") => matches!(lexical, "true" | "false"),
        Some("integer") => is_number(lexical, false, false),
        Some("decimal") => is_number(lexical, true, false),
        Some("double") => is_number(lexical, true, true),
        _ => false,
    }
}

/// Whether a text is a number of Turtle's: an integer, a decimal (which has a point and digits after it), or a double
/// (which has an exponent).
fn is_number(text: &str, may_have_point: bool, has_exponent: bool) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (number, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((number, exponent)) if has_exponent => (number, Some(exponent)),
        _ => (unsigned, None),
    };
    if let Some(exponent) = exponent {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        return !exponent.is_empty()
            && digits(exponent)
            && digits(whole)
            && digits(fraction)
            && !(whole.is_empty() && fraction.is_empty());
    }
    if has_exponent {
        return false;
    }
    if may_have_point {
        return number.split_once('.').is_some_and(|(whole, fraction)| {
            digits(whole) && !fraction.is_empty() && digits(fraction)
        });
    }
    !number.is_empty() && digits(number)
}
