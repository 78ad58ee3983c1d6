//! A bound on how deeply a query is nested, checked before it is parsed.
//!
//! The parser is recursive: without a bound, ten thousand opening parentheses overflow the stack and take the process
//! with them. What nests is brackets, and operators of expressions, which make a tree as deep as they are many.

use crate::error::{QueryError, Result};

/// How many brackets may be open at once.
pub const BRACKETS_MAX: usize = 64;
/// How many operators a query may have outside of strings, IRIs and comments.
pub const OPERATORS_MAX: usize = 2_000;

/// Refuses a query that is nested too deeply.
///
/// # Errors
/// [`QueryError::Limit`].
pub fn check(text: &str) -> Result<()> {
    let bytes = text.as_bytes();
    let (mut depth, mut operators) = (0_usize, 0_usize);
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'(' | b'{' | b'[' => {
                depth += 1;
                if depth > BRACKETS_MAX {
                    return Err(QueryError::Limit {
                        what: "the query has too many brackets open at once",
                        limit: BRACKETS_MAX,
                    });
                }
            }
            b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            b'!' | b'+' | b'-' | b'*' | b'/' | b'|' | b'&' | b'^' | b'=' => {
                operators += 1;
                if operators > OPERATORS_MAX {
                    return Err(QueryError::Limit {
                        what: "the query has too many operators",
                        limit: OPERATORS_MAX,
                    });
                }
            }
            b'#' => at += bytes[at..].iter().take_while(|byte| !matches!(byte, b'\n' | b'\r')).count(),
            b'<' => {
                if let Some(length) = iri_length(&bytes[at..]) {
                    at += length - 1;
                }
            }
            quote @ (b'"' | b'\'') => at += string_length(&bytes[at..], quote) - 1,
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

/// The length of an IRI that begins here, with its brackets; `None` if this is an operator.
fn iri_length(bytes: &[u8]) -> Option<usize> {
    let end = bytes.iter().position(|byte| *byte == b'>')?;
    let is_iri = bytes[1..end]
        .iter()
        .all(|byte| !matches!(byte, 0..=b' ' | b'<' | b'"' | b'{' | b'}' | b'|' | b'^' | b'`'));
    is_iri.then_some(end + 1)
}

/// The length of a string that begins here, with its quotes; to the end of the text if nothing closes it.
fn string_length(bytes: &[u8], quote: u8) -> usize {
    let quotes = if bytes.starts_with(&[quote; 3]) { 3 } else { 1 };
    let mut at = quotes;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            byte if byte == quote && bytes[at..].iter().take(quotes).filter(|byte| **byte == quote).count() == quotes => {
                return at + quotes;
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}
