//! SPARQL 1.1 Query Results CSV: plain values for spreadsheets.

use super::cells::{RowFormat, Shown};
use oxrdf::Variable;
use std::io::Write;

/// Writes CSV.
pub struct Csv;

impl RowFormat for Csv {
    fn begin(&mut self, variables: &[Variable], out: &mut Vec<u8>) {
        for (index, variable) in variables.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(variable.as_str().as_bytes());
        }
        out.extend_from_slice(b"\r\n");
    }

    fn term(&self, term: Shown<'_>, out: &mut Vec<u8>) {
        write_term(term, out);
    }

    fn row<'a>(&self, cells: impl Iterator<Item = Option<&'a [u8]>>, out: &mut Vec<u8>) {
        for (index, cell) in cells.enumerate() {
            if index > 0 {
                out.push(b',');
            }
            if let Some(cell) = cell {
                out.extend_from_slice(cell);
            }
        }
        out.extend_from_slice(b"\r\n");
    }

    fn end(&self, _: &mut Vec<u8>) {}
}

fn write_term(term: Shown<'_>, out: &mut Vec<u8>) {
    match term {
        Shown::Iri(iri) => out.extend_from_slice(iri.as_bytes()),
        Shown::Blank(number) => {
            // Writing to memory does not fail.
            let _ = write!(out, "_:b{number}");
        }
        Shown::BlankLabel(label) => {
            out.extend_from_slice(b"_:");
            out.extend_from_slice(label.as_bytes());
        }
        Shown::Literal { lexical, .. } => write_text(lexical, out),
        Shown::Triple(triple) => {
            for (index, part) in Shown::parts(triple).into_iter().enumerate() {
                if index > 0 {
                    out.push(b' ');
                }
                write_term(part, out);
            }
        }
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    if !text
        .bytes()
        .any(|byte| matches!(byte, b'"' | b',' | b'\n' | b'\r'))
    {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    for byte in text.bytes() {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}
