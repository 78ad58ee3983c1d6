//! A table for people: aligned columns, and how many rows there are.
//!
//! Columns are as wide as the widest of the first rows ([`MEASURED_ROWS`]); so a table of any length is written while it is
//! computed, and only a longer term further down stands out of its column.

use super::cells::{BLOCK_BYTES, Cells, RowFormat, Shown};
use super::style::{Shortener, Style};
use super::tsv;
use crate::error::{QueryError, Result};
use crate::exec::batch::Batch;
use crate::query::Solutions;
use oxrdf::Variable;
use quadrille_store::snapshot::terms::Annotation;
use std::io::Write;

/// How many rows decide how wide columns are.
pub const MEASURED_ROWS: usize = 1000;

/// Puts terms into the form that tables show.
struct Plain {
    shortener: Shortener,
}

impl RowFormat for Plain {
    fn begin(&mut self, _: &[Variable], _: &mut Vec<u8>) {}

    fn term(&self, term: Shown<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        self.write(term, out);
        // What would break lines or move the cursor is not shown as it is.
        if out[start..].iter().any(u8::is_ascii_control) {
            let text = String::from_utf8_lossy(&out[start..])
                .chars()
                .flat_map(|character| {
                    let is_control = character.is_control();
                    let escaped = is_control.then(|| character.escape_unicode());
                    let plain = (!is_control).then_some(character);
                    escaped.into_iter().flatten().chain(plain)
                })
                .collect::<String>();
            out.truncate(start);
            out.extend_from_slice(text.as_bytes());
        }
    }

    fn row<'a>(&self, _: impl Iterator<Item = Option<&'a [u8]>>, _: &mut Vec<u8>) {}

    fn end(&self, _: &mut Vec<u8>) {}
}

impl Plain {
    /// A term as in Turtle, with prefixes.
    fn write(&self, term: Shown<'_>, out: &mut Vec<u8>) {
        match term {
            Shown::Iri(iri) => match self.shortener.shorten(iri) {
                Some((name, local)) => {
                    out.extend_from_slice(name.as_bytes());
                    out.push(b':');
                    out.extend_from_slice(local.as_bytes());
                }
                None => tsv::write_term(term, out),
            },
            Shown::Literal {
                annotation: Annotation::Datatype(datatype),
                ..
            } => {
                tsv::write_term(term, out);
                // Unless it is a number, which has none.
                if out.last() == Some(&b'>') {
                    out.truncate(out.len() - datatype.len() - 2);
                    self.write(Shown::Iri(datatype), out);
                }
            }
            Shown::Triple(triple) => {
                out.extend_from_slice(b"<<( ");
                for part in Shown::parts(triple) {
                    self.write(part, out);
                    out.push(b' ');
                }
                out.extend_from_slice(b")>>");
            }
            term => tsv::write_term(term, out),
        }
    }
}

/// The escape sequence of a cell's colour: by the kind of its term, which its form tells.
fn colour(cell: &[u8]) -> &'static [u8] {
    match cell {
        [] => b"",
        [b'"' | b'0'..=b'9' | b'+' | b'-' | b'.', ..] | b"true" | b"false" => b"\x1b[32m",
        [b'_', b':', ..] => b"\x1b[35m",
        [b'<', b'<', ..] => b"\x1b[33m",
        _ => b"\x1b[36m",
    }
}

fn bold(_: &[u8]) -> &'static [u8] {
    b"\x1b[1m"
}

fn no_colour(_: &[u8]) -> &'static [u8] {
    b""
}

/// Chooses the escape sequence that a cell begins with.
type Colour = fn(&[u8]) -> &'static [u8];

/// Writes all rows as a table; gives their number.
///
/// # Errors
/// [`QueryError::Write`] if the writer refuses; otherwise what reading the rows gives.
pub fn write(mut solutions: Solutions, style: &Style, writer: &mut impl Write) -> Result<u64> {
    let plain = Plain {
        shortener: Shortener::new(&style.prefixes),
    };
    let (head, body): (Colour, Colour) = if style.is_coloured {
        (bold, colour)
    } else {
        (no_colour, no_colour)
    };
    let names: Vec<String> = solutions
        .variables()
        .iter()
        .map(|variable| format!("?{}", variable.as_str()))
        .collect();
    let mut widths: Vec<usize> = names.iter().map(|name| name.chars().count()).collect();
    let mut cells = Cells::new();
    let mut batch = Batch::new(names.len());
    let mut first: Vec<Vec<Vec<u8>>> = Vec::new();
    let mut ended = false;
    while first.len() < MEASURED_ROWS {
        if solutions.next_batch(&mut batch)? == 0 {
            ended = true;
            break;
        }
        cells.fill(solutions.terms(), &batch, &plain)?;
        for row in 0..batch.rows() {
            let row: Vec<Vec<u8>> = cells
                .row(row)
                .map(|cell| cell.unwrap_or_default().to_vec())
                .collect();
            for (width, cell) in widths.iter_mut().zip(&row) {
                *width = characters(cell).max(*width);
            }
            first.push(row);
        }
    }
    let mut out = Vec::new();
    write_row(names.iter().map(String::as_bytes), &widths, head, &mut out);
    let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    write_row(
        rules.iter().map(String::as_bytes),
        &widths,
        no_colour,
        &mut out,
    );
    for row in &first {
        write_row(row.iter().map(Vec::as_slice), &widths, body, &mut out);
        write_block(&mut out, writer, BLOCK_BYTES)?;
    }
    let mut rows = first.len() as u64;
    drop(first);
    while !ended && solutions.next_batch(&mut batch)? > 0 {
        cells.fill(solutions.terms(), &batch, &plain)?;
        for row in 0..batch.rows() {
            write_row(
                cells.row(row).map(Option::unwrap_or_default),
                &widths,
                body,
                &mut out,
            );
            write_block(&mut out, writer, BLOCK_BYTES)?;
        }
        rows += batch.rows() as u64;
    }
    let noun = if rows == 1 { "row" } else { "rows" };
    out.extend_from_slice(format!("({rows} {noun})\n").as_bytes());
    write_block(&mut out, writer, 0)?;
    Ok(rows)
}

fn characters(cell: &[u8]) -> usize {
    // Bytes that begin a character: all but continuation bytes.
    cell.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

fn write_row<'a>(
    cells: impl Iterator<Item = &'a [u8]>,
    widths: &[usize],
    colour: Colour,
    out: &mut Vec<u8>,
) {
    let mut padding = 0;
    for (index, (cell, width)) in cells.zip(widths).enumerate() {
        out.resize(out.len() + padding, b' ');
        if index > 0 {
            out.extend_from_slice(b"  ");
        }
        let colour = colour(cell);
        out.extend_from_slice(colour);
        out.extend_from_slice(cell);
        if !colour.is_empty() {
            out.extend_from_slice(b"\x1b[0m");
        }
        // Nothing is padded at the end of a line.
        padding = width.saturating_sub(characters(cell));
    }
    out.push(b'\n');
}

fn write_block(out: &mut Vec<u8>, writer: &mut impl Write, least: usize) -> Result<()> {
    if out.len() >= least {
        writer.write_all(out).map_err(QueryError::Write)?;
        out.clear();
    }
    Ok(())
}
