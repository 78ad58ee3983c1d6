//! One line of N-Triples or N-Quads by `oxttl`: the judge of every line that the fast lexer does not know.
//!
//! What always holds: a line is accepted whole or refused whole. A lenient parse keeps what fits the grammar
//! of IRIs and language tags but not the standards behind them (a tag with a subtag of nine letters, a port
//! that is no number); what the grammar of IRIs forbids (spaces, controls, `<>"{}|^` and `` ` ``) stays
//! refused, since such an IRI could not be written back.

use crate::parse::builder;
use crate::triple_term;
use memchr::memchr;
use oxrdf::{GraphName, NamedOrBlankNode, Quad, Term};
use oxttl::{NQuadsParser, NTriplesParser, TurtleSyntaxError};

/// The statements of a line.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) quads: Vec<Quad>,
    /// Whether only a lenient parse took it.
    pub(crate) leniently: bool,
}

/// Why a line is refused.
#[derive(Debug)]
pub(crate) struct Refused {
    /// In code points, from 1.
    pub(crate) column: u64,
    pub(crate) reason: String,
}

/// Parses a line, its line end included.
pub(crate) fn parse_line(
    line: &[u8],
    with_graph: bool,
    lenient: bool,
) -> Result<Accepted, Refused> {
    if nests_too_deep(line) {
        return Err(Refused {
            column: 1,
            reason: format!(
                "triple terms are nested more than {} deep",
                triple_term::DEPTH_MAX
            ),
        });
    }
    let accepted = accept(line, with_graph, lenient)?;
    for quad in &accepted.quads {
        builder::check(quad.as_ref()).map_err(|unfit| Refused {
            column: 1,
            reason: unfit.to_string(),
        })?;
    }
    Ok(accepted)
}

fn accept(line: &[u8], with_graph: bool, lenient: bool) -> Result<Accepted, Refused> {
    match parse(line, with_graph, false) {
        Ok(quads) => Ok(Accepted {
            quads,
            leniently: false,
        }),
        Err(refused) if !lenient => Err(refused),
        Err(refused) => {
            let quads = parse(line, with_graph, true)?;
            if quads.iter().all(fits_grammar) {
                Ok(Accepted {
                    quads,
                    leniently: true,
                })
            } else {
                Err(refused)
            }
        }
    }
}

fn parse(line: &[u8], with_graph: bool, lenient: bool) -> Result<Vec<Quad>, Refused> {
    let quads = if with_graph {
        let mut parser = NQuadsParser::new();
        if lenient {
            parser = parser.lenient();
        }
        parser.for_slice(line).collect::<Result<Vec<_>, _>>()
    } else {
        let mut parser = NTriplesParser::new();
        if lenient {
            parser = parser.lenient();
        }
        parser
            .for_slice(line)
            .map(|triple| Ok(triple?.in_graph(GraphName::DefaultGraph)))
            .collect()
    };
    quads.map_err(|error: TurtleSyntaxError| Refused {
        column: column_of(line, &error),
        reason: error.message().to_owned(),
    })
}

/// Where in the line an error is. `oxttl` places an error at the line end at the beginning of the next line.
fn column_of(line: &[u8], error: &TurtleSyntaxError) -> u64 {
    let start = error.location().start;
    if start.line == 0 {
        return start.column + 1;
    }
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    String::from_utf8_lossy(text).chars().count() as u64 + 1
}

/// Whether there are so many `<<(` outside literals and IRIs that parsing them, or dropping what was parsed, could
/// overflow the stack.
fn nests_too_deep(line: &[u8]) -> bool {
    let mut depth = 0;
    let mut at = 0;
    while at < line.len() {
        match line[at] {
            b'"' => {
                at += 1;
                while at < line.len() && line[at] != b'"' {
                    at += if line[at] == b'\\' { 2 } else { 1 };
                }
            }
            b'<' if line[at..].starts_with(b"<<(") => {
                depth += 1;
                at += 2;
            }
            // An IRI, with its `#` and whatever else means something outside.
            b'<' => at += memchr(b'>', &line[at..]).unwrap_or(line.len()),
            b'#' => break,
            _ => {}
        }
        at += 1;
    }
    depth > u32::from(triple_term::DEPTH_MAX)
}

/// Whether every IRI of a statement can be written in N-Triples.
pub(crate) fn fits_grammar(quad: &Quad) -> bool {
    let graph = match &quad.graph_name {
        GraphName::NamedNode(node) => iri_fits(node.as_str()),
        GraphName::BlankNode(_) | GraphName::DefaultGraph => true,
    };
    graph
        && node_fits(&quad.subject)
        && iri_fits(quad.predicate.as_str())
        && term_fits(&quad.object)
}

fn term_fits(mut term: &Term) -> bool {
    loop {
        match term {
            Term::NamedNode(node) => return iri_fits(node.as_str()),
            Term::BlankNode(_) => return true,
            Term::Literal(literal) => return iri_fits(literal.datatype().as_str()),
            Term::Triple(triple) => {
                if !node_fits(&triple.subject) || !iri_fits(triple.predicate.as_str()) {
                    return false;
                }
                term = &triple.object;
            }
        }
    }
}

fn node_fits(node: &NamedOrBlankNode) -> bool {
    match node {
        NamedOrBlankNode::NamedNode(node) => iri_fits(node.as_str()),
        NamedOrBlankNode::BlankNode(_) => true,
    }
}

fn iri_fits(iri: &str) -> bool {
    !iri.bytes().any(|byte| {
        byte <= b' '
            || matches!(
                byte,
                b'<' | b'>' | b'"' | b'{' | b'}' | b'|' | b'^' | b'`' | b'\\'
            )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A triple term holds the bytes of all inside it once more: together they may not outgrow an arena.
    #[test]
    fn triple_terms_that_multiply_a_long_literal_are_refused() {
        let line = |depth: usize| {
            let open = "<<( <u:s> <u:p> ".repeat(depth);
            let close = " )>>".repeat(depth);
            let literal = "x".repeat(100_000);
            format!("<u:s> <u:p> {open}\"{literal}\"{close} .\n")
        };
        // The limit is lowered to 1 MiB for tests.
        assert!(parse_line(line(9).as_bytes(), false, false).is_ok());
        let refused = parse_line(line(10).as_bytes(), false, false).expect_err("too large");
        assert!(refused.reason.contains("bytes"), "{}", refused.reason);
    }
}
