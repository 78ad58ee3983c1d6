//! N-Triples: the triples of a graph, a line each.
//!
//! What is written is, byte for byte, what the `oxttl` crate writes, and a test compares the two.

use super::cells::{RowFormat, Shown, direction_name};
use super::tsv;
use oxrdf::Variable;
use quadrille_store::snapshot::terms::Annotation;
use std::io::Write;

/// Writes N-Triples, of rows of subject, predicate and object.
pub struct NTriples;

impl RowFormat for NTriples {
    fn begin(&mut self, _: &[Variable], _: &mut Vec<u8>) {}

    fn term(&self, term: Shown<'_>, out: &mut Vec<u8>) {
        write_term(term, out);
    }

    fn row<'a>(&self, cells: impl Iterator<Item = Option<&'a [u8]>>, out: &mut Vec<u8>) {
        for cell in cells.flatten() {
            out.extend_from_slice(cell);
            out.push(b' ');
        }
        out.extend_from_slice(b".\n");
    }

    fn end(&self, _: &mut Vec<u8>) {}
}

fn write_term(term: Shown<'_>, out: &mut Vec<u8>) {
    match term {
        // TSV abbreviates numbers and booleans, escapes less, and is the same otherwise.
        Shown::Literal {
            lexical,
            annotation,
        } => {
            write_string(lexical, out);
            match annotation {
                Annotation::Plain => {}
                Annotation::Language(language) => {
                    out.push(b'@');
                    out.extend_from_slice(language.as_bytes());
                }
                Annotation::Directional(language, direction) => {
                    out.push(b'@');
                    out.extend_from_slice(language.as_bytes());
                    out.extend_from_slice(b"--");
                    out.extend_from_slice(direction_name(direction).as_bytes());
                }
                Annotation::Datatype(datatype) => {
                    out.extend_from_slice(b"^^");
                    tsv::write_term(Shown::Iri(datatype), out);
                }
            }
        }
        Shown::Triple(triple) => {
            out.extend_from_slice(b"<<( ");
            for part in Shown::parts(triple) {
                write_term(part, out);
                out.push(b' ');
            }
            out.extend_from_slice(b")>>");
        }
        term => tsv::write_term(term, out),
    }
}

/// The canonical form of a string (RDF 1.2 N-Triples, section 3).
fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut start = 0;
    for (at, character) in text.char_indices() {
        let escape = match character {
            '\u{8}' => "\\b",
            '\t' => "\\t",
            '\n' => "\\n",
            '\u{c}' => "\\f",
            '\r' => "\\r",
            '"' => "\\\"",
            '\\' => "\\\\",
            '\0'..='\u{1f}' | '\u{7f}' | '\u{fffe}' | '\u{ffff}' => "",
            _ => continue,
        };
        out.extend_from_slice(&text.as_bytes()[start..at]);
        if escape.is_empty() {
            // Writing to memory does not fail.
            let _ = write!(out, "\\u{:04X}", u32::from(character));
        } else {
            out.extend_from_slice(escape.as_bytes());
        }
        start = at + character.len_utf8();
    }
    out.extend_from_slice(&text.as_bytes()[start..]);
    out.push(b'"');
}
