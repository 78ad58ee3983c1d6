//! A bound on how deeply a query is nested, checked before it is parsed.
//!
//! The parser is recursive: without a bound, ten thousand opening parentheses overflow the stack and take the process
//! with them. What nests is brackets; operators, which make an expression as deep as they are many; and groups,
//! filters and the like, which make a pattern as deep as they are many. Measured without optimisation, the parser
//! takes up to 16 KiB of stack for a bracket and 9 KiB for an operator; so a query of ordinary depth is parsed
//! where the caller is, and a deeper one in a thread with [`DEEP_STACK_BYTES`].

use crate::error::{QueryError, Result};

/// How many brackets may be open at once.
pub const BRACKETS_MAX: usize = 64;
/// How many operators may stand, one after another and in the brackets around, between separators.
pub const OPERATORS_MAX: usize = 2_000;
/// How many groups, filters, assignments and the like a query may have.
pub const PARTS_MAX: usize = 2_000;
/// How deep an expression may be after chains of `||` and of `&&` were made flat: it is evaluated, and dropped, on the
/// caller's stack.
pub const EXPRESSION_DEPTH_MAX: usize = 200;
/// How many patterns may be joined: as many operators stand above one another, on the caller's stack (some
/// 10 KiB each, while they are planned and without optimisation).
pub const PATTERNS_MAX: usize = 100;

/// How many steps a property path with repetition may name: as many states stand side by side, and each may have a
/// transition to every other.
pub const PATH_STEPS_MAX: usize = 256;

/// How many groups, joins, filters and the like may stand above one another once unions and joins were made flat: they
/// are planned, run and dropped on the caller's stack.
pub const GROUP_DEPTH_MAX: usize = 50;

/// The stack of the thread that parses a deep query: three times what all bounds together take.
pub const DEEP_STACK_BYTES: usize = 96 << 20;
/// Brackets, operators and parts, each weighed as above, up to which a query is parsed on the caller's stack.
const SHALLOW: usize = 40;

const _: () =
    assert!(DEEP_STACK_BYTES > 3 * 1024 * (16 * BRACKETS_MAX + 9 * OPERATORS_MAX + 4 * PARTS_MAX));

/// Words that add a part to a pattern.
const PART_WORDS: [&str; 9] = [
    "FILTER", "OPTIONAL", "UNION", "MINUS", "BIND", "VALUES", "GRAPH", "SERVICE", "EXISTS",
];

/// How deep the parser will go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// The caller's stack will do.
    Shallow,
    /// It takes a stack of [`DEEP_STACK_BYTES`].
    Deep,
}

/// Measures a query, and refuses one that is nested too deeply.
///
/// # Errors
/// [`QueryError::Limit`].
pub fn check(text: &str) -> Result<Depth> {
    let bytes = text.as_bytes();
    let mut counts = Counts::default();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        at += match bytes[at] {
            open @ (b'(' | b'{' | b'[') => {
                counts.open(open)?;
                1
            }
            b')' | b'}' | b']' => {
                counts.close();
                1
            }
            b',' | b';' | b'.' => {
                counts.separate();
                1
            }
            b'!' | b'+' | b'-' | b'*' | b'/' | b'|' | b'&' | b'^' => {
                counts.operator()?;
                1
            }
            b'#' => length_while(rest, |byte| !matches!(byte, b'\n' | b'\r')),
            b'<' => iri_length(rest).unwrap_or(1),
            quote @ (b'"' | b'\'') => string_length(rest, quote),
            b'?' | b'$' => {
                1 + length_while(&rest[1..], |byte| {
                    byte.is_ascii_alphanumeric() || is_name(byte)
                })
            }
            // A language tag, a prefixed name or a keyword; names may have hyphens and dots in them.
            byte if byte == b'@' || byte == b':' || byte.is_ascii_alphabetic() || is_name(byte) => {
                let length = 1 + length_while(&rest[1..], |byte| {
                    byte.is_ascii_alphanumeric()
                        || is_name(byte)
                        || matches!(byte, b':' | b'-' | b'.' | b'%')
                });
                if PART_WORDS
                    .iter()
                    .any(|word| word.as_bytes().eq_ignore_ascii_case(&rest[..length]))
                {
                    counts.part()?;
                }
                length
            }
            // A number; its point is no separator.
            byte if byte.is_ascii_digit() => {
                length_while(rest, |byte| byte.is_ascii_digit() || byte == b'.')
            }
            _ => 1,
        };
    }
    Ok(if counts.deepest > SHALLOW {
        Depth::Deep
    } else {
        Depth::Shallow
    })
}

/// What was counted so far.
#[derive(Default)]
struct Counts {
    /// For each open bracket, the operators before it since the last separator.
    before: Vec<usize>,
    /// The operators since the last separator or bracket.
    here: usize,
    /// The sum of `before` and `here`.
    operators: usize,
    parts: usize,
    deepest: usize,
}

impl Counts {
    fn open(&mut self, bracket: u8) -> Result<()> {
        if self.before.len() >= BRACKETS_MAX {
            return Err(QueryError::Limit {
                what: "the query has too many brackets open at once",
                limit: BRACKETS_MAX,
            });
        }
        self.before.push(std::mem::take(&mut self.here));
        if bracket == b'{' {
            self.part()?;
        }
        self.note_depth();
        Ok(())
    }

    fn close(&mut self) {
        if let Some(before) = self.before.pop() {
            self.operators -= self.here;
            self.here = before;
        }
    }

    fn separate(&mut self) {
        self.operators -= std::mem::take(&mut self.here);
    }

    fn operator(&mut self) -> Result<()> {
        self.here += 1;
        self.operators += 1;
        if self.operators > OPERATORS_MAX {
            return Err(QueryError::Limit {
                what: "an expression of the query has too many operators",
                limit: OPERATORS_MAX,
            });
        }
        self.note_depth();
        Ok(())
    }

    fn part(&mut self) -> Result<()> {
        self.parts += 1;
        if self.parts > PARTS_MAX {
            return Err(QueryError::Limit {
                what: "the query has too many groups, filters and the like",
                limit: PARTS_MAX,
            });
        }
        self.note_depth();
        Ok(())
    }

    fn note_depth(&mut self) {
        self.deepest = self
            .deepest
            .max(2 * self.before.len() + self.operators + self.parts / 2);
    }
}

/// Whether names may have this byte besides letters and digits.
fn is_name(byte: u8) -> bool {
    byte == b'_' || !byte.is_ascii()
}

fn length_while(bytes: &[u8], holds: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| holds(**byte)).count()
}

/// The length of an IRI that begins here, with its brackets; `None` if this is an operator.
fn iri_length(bytes: &[u8]) -> Option<usize> {
    let length = 1 + length_while(&bytes[1..], |byte| {
        !matches!(
            byte,
            0..=b' ' | b'<' | b'>' | b'"' | b'{' | b'}' | b'|' | b'^' | b'`'
        )
    });
    (bytes.get(length) == Some(&b'>')).then_some(length + 1)
}

/// The length of a string that begins here, with its quotes; to the end of the text if nothing closes it.
fn string_length(bytes: &[u8], quote: u8) -> usize {
    let quotes = if bytes.starts_with(&[quote; 3]) { 3 } else { 1 };
    let mut at = quotes;
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            at += 2;
        } else if bytes[at..].starts_with(&[quote; 3][..quotes]) {
            return at + quotes;
        } else {
            at += 1;
        }
    }
    bytes.len()
}
