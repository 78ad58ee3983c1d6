//! SPARQL Query Results XML, with the terms of SPARQL 1.2.
//!
//! A carriage return is written as a character reference, since readers of XML turn a plain one into a line feed (XML 1.0, section
//! 2.11). What XML has no way to write (section 2.2: most control characters) ends the result with an error.

use super::cells::{RowFormat, Shown, direction_name};
use crate::error::{QueryError, Result};
use oxrdf::Variable;
use quadrille_store::snapshot::terms::{Annotation, blank_label};
use std::io;
use std::sync::OnceLock;

/// Writes XML.
#[derive(Default)]
pub struct Xml {
    /// The start tag of a binding for each variable.
    tags: Vec<Vec<u8>>,
    /// The first character that XML cannot write.
    unwritable: OnceLock<char>,
}

impl RowFormat for Xml {
    fn begin(&mut self, variables: &[Variable], out: &mut Vec<u8>) {
        out.extend_from_slice(
            b"<?xml version=\"1.0\"?><sparql xmlns=\"http://www.w3.org/2005/sparql-results#\"><head>",
        );
        for variable in variables {
            out.extend_from_slice(b"<variable");
            write_attribute("name", variable.as_str(), out);
            out.extend_from_slice(b"/>");
            let mut tag = b"<binding".to_vec();
            write_attribute("name", variable.as_str(), &mut tag);
            tag.push(b'>');
            self.tags.push(tag);
        }
        out.extend_from_slice(b"</head><results>");
    }

    fn term(&self, term: Shown<'_>, out: &mut Vec<u8>) {
        if let Some(character) = unwritable(term) {
            self.unwritable.get_or_init(|| character);
        }
        write_term(term, out);
    }

    fn check(&self) -> Result<()> {
        let Some(character) = self.unwritable.get() else {
            return Ok(());
        };
        Err(QueryError::Write(io::Error::new(
            io::ErrorKind::InvalidData,
            format!(
                "a term has the character U+{:04X}, which XML cannot write: choose another format",
                u32::from(*character)
            ),
        )))
    }

    fn row<'a>(&self, cells: impl Iterator<Item = Option<&'a [u8]>>, out: &mut Vec<u8>) {
        out.extend_from_slice(b"<result>");
        for (cell, tag) in cells.zip(&self.tags) {
            let Some(cell) = cell else { continue };
            out.extend_from_slice(tag);
            out.extend_from_slice(cell);
            out.extend_from_slice(b"</binding>");
        }
        out.extend_from_slice(b"</result>");
    }

    fn end(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"</results></sparql>");
    }
}

fn write_term(term: Shown<'_>, out: &mut Vec<u8>) {
    match term {
        Shown::Iri(iri) => write_element("uri", iri, out),
        Shown::Blank(number) => write_element("bnode", &blank_label(number), out),
        Shown::BlankLabel(label) => write_element("bnode", label, out),
        Shown::Literal {
            lexical,
            annotation,
        } => {
            out.extend_from_slice(b"<literal");
            match annotation {
                Annotation::Plain => {}
                Annotation::Language(language) => write_attribute("xml:lang", language, out),
                Annotation::Directional(language, direction) => {
                    write_attribute("xml:lang", language, out);
                    write_attribute("its:dir", direction_name(direction), out);
                    write_attribute("xmlns:its", "http://www.w3.org/2005/11/its", out);
                    write_attribute("its:version", "2.0", out);
                }
                Annotation::Datatype(datatype) => write_attribute("datatype", datatype, out),
            }
            out.push(b'>');
            write_lexical(lexical, out);
            out.extend_from_slice(b"</literal>");
        }
        Shown::Triple(triple) => {
            out.extend_from_slice(b"<triple>");
            for (part, name) in
                Shown::parts(triple)
                    .into_iter()
                    .zip(["subject", "predicate", "object"])
            {
                write_tag("<", name, out);
                write_term(part, out);
                write_tag("</", name, out);
            }
            out.extend_from_slice(b"</triple>");
        }
    }
}

fn write_element(name: &str, text: &str, out: &mut Vec<u8>) {
    write_tag("<", name, out);
    write_escaped(text, out);
    write_tag("</", name, out);
}

fn write_tag(bracket: &str, name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(bracket.as_bytes());
    out.extend_from_slice(name.as_bytes());
    out.push(b'>');
}

fn write_attribute(name: &str, value: &str, out: &mut Vec<u8>) {
    out.push(b' ');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"=\"");
    write_escaped(value, out);
    out.push(b'"');
}

/// Writes the text of a literal. White space at its ends is written as references: readers of XML trim it.
fn write_lexical(text: &str, out: &mut Vec<u8>) {
    let is_space = |character| matches!(character, '\t' | '\n' | '\r' | ' ');
    let without_start = text.trim_start_matches(is_space);
    let (start, rest) = text.split_at(text.len() - without_start.len());
    let inner = rest.trim_end_matches(is_space);
    write_references(start, out);
    write_escaped(inner, out);
    write_references(&rest[inner.len()..], out);
}

fn write_references(space: &str, out: &mut Vec<u8>) {
    for byte in space.bytes() {
        out.extend_from_slice(match byte {
            b'\t' => b"&#9;".as_slice(),
            b'\n' => b"&#10;",
            b'\r' => b"&#13;",
            _ => b"&#32;",
        });
    }
}

fn write_escaped(text: &str, out: &mut Vec<u8>) {
    let mut rest = text.as_bytes();
    while let Some(at) = rest
        .iter()
        .position(|byte| matches!(byte, b'<' | b'>' | b'&' | b'\'' | b'"' | b'\r'))
    {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(match rest[at] {
            b'<' => b"&lt;".as_slice(),
            b'>' => b"&gt;",
            b'&' => b"&amp;",
            b'\'' => b"&apos;",
            b'"' => b"&quot;",
            _ => b"&#13;",
        });
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// The first character of a term's text that XML has no way to write. (IRIs and tags have none.)
fn unwritable(term: Shown<'_>) -> Option<char> {
    /// Whether a byte is one, or begins a character that may be one.
    fn is_suspect(byte: u8) -> bool {
        matches!(byte, ..b'\t' | 0x0b | 0x0c | 0x0e..b' ' | 0xef)
    }
    match term {
        Shown::Literal { lexical, .. } if lexical.bytes().any(is_suspect) => {
            lexical.chars().find(|character| {
                matches!(character, ..'\t' | '\u{b}' | '\u{c}' | '\u{e}'..' ' | '\u{fffe}' | '\u{ffff}')
            })
        }
        Shown::Triple(triple) => Shown::parts(triple).into_iter().find_map(unwritable),
        _ => None,
    }
}
