//! SPARQL 1.1 Query Results JSON, with the terms of SPARQL 1.2.

use super::cells::{RowFormat, Shown, direction_name};
use oxrdf::Variable;
use quadrille_store::snapshot::terms::{Annotation, blank_label};

/// Writes JSON.
#[derive(Default)]
pub struct Json {
    /// `"name":` for each variable.
    keys: Vec<Vec<u8>>,
}

impl RowFormat for Json {
    fn begin(&mut self, variables: &[Variable], out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"head\":{\"vars\":[");
        for (index, variable) in variables.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write_string(variable.as_str(), out);
            let mut key = Vec::new();
            write_string(variable.as_str(), &mut key);
            key.push(b':');
            self.keys.push(key);
        }
        out.extend_from_slice(b"]},\"results\":{\"bindings\":[");
    }

    fn term(&self, term: Shown<'_>, out: &mut Vec<u8>) {
        write_term(term, out);
    }

    fn row<'a>(&self, cells: impl Iterator<Item = Option<&'a [u8]>>, out: &mut Vec<u8>) {
        out.push(b'{');
        let mut is_first = true;
        for (cell, key) in cells.zip(&self.keys) {
            let Some(cell) = cell else { continue };
            if !std::mem::replace(&mut is_first, false) {
                out.push(b',');
            }
            out.extend_from_slice(key);
            out.extend_from_slice(cell);
        }
        out.push(b'}');
    }

    fn separator(&self) -> &'static [u8] {
        b","
    }

    fn end(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"]}}");
    }
}

fn write_term(term: Shown<'_>, out: &mut Vec<u8>) {
    match term {
        Shown::Iri(iri) => write_value("uri", iri, out),
        Shown::Blank(number) => write_value("bnode", &blank_label(number), out),
        Shown::BlankLabel(label) => write_value("bnode", label, out),
        Shown::Literal {
            lexical,
            annotation,
        } => {
            write_value("literal", lexical, out);
            match annotation {
                Annotation::Plain => {}
                Annotation::Language(language) => write_member("xml:lang", language, out),
                Annotation::Directional(language, direction) => {
                    write_member("xml:lang", language, out);
                    write_member("its:dir", direction_name(direction), out);
                }
                Annotation::Datatype(datatype) => write_member("datatype", datatype, out),
            }
        }
        Shown::Triple(triple) => {
            out.extend_from_slice(b"{\"type\":\"triple\",\"value\":{");
            for (part, name) in Shown::parts(triple).into_iter().zip([
                "\"subject\":",
                ",\"predicate\":",
                ",\"object\":",
            ]) {
                out.extend_from_slice(name.as_bytes());
                write_term(part, out);
            }
            out.extend_from_slice(b"}}");
        }
    }
}

/// Writes `{"type":...,"value":...}`.
fn write_value(kind: &str, value: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\",\"value\":");
    write_string(value, out);
    out.push(b'}');
}

/// Adds a member to the object that ends here.
fn write_member(name: &str, value: &str, out: &mut Vec<u8>) {
    let end = out.pop();
    debug_assert_eq!(end, Some(b'}'));
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
    write_string(value, out);
    out.push(b'}');
}

fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest
        .iter()
        .position(|byte| *byte < b' ' || matches!(byte, b'"' | b'\\'))
    {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            control => {
                let digit = |value: u8| b"0123456789abcdef"[usize::from(value)];
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[digit(control >> 4), digit(control & 15)]);
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}
