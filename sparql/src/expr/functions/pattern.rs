//! Regular expressions of `REGEX` and `REPLACE`: XPath's `fn:matches` and `fn:replace`.
//!
//! [`super::xpath`] translates XPath's syntax. Patterns run on `regex`, whose time is linear in the text whatever the
//! pattern; those with back-references run on `fancy-regex`, which gives up after [`BACKTRACKS_MAX`] steps back: then the
//! expression is an error.

use super::xpath::{Flags, translate};

/// Steps back that one match with back-references may take.
const BACKTRACKS_MAX: usize = 100_000;
/// Bytes that a compiled pattern may take.
const PROGRAM_BYTES_MAX: usize = 10 << 20;

/// A compiled pattern with its flags.
#[derive(Clone, Debug)]
pub struct Pattern {
    engine: Engine,
    groups: usize,
    /// Whether the replacement is to be taken as it is (the flag `q`).
    is_literal: bool,
    /// Whether the pattern matches the empty string; `None` if that cannot be computed.
    matches_empty: Option<bool>,
}

#[derive(Clone, Debug)]
enum Engine {
    Linear(regex::Regex),
    Backtracking(Box<fancy_regex::Regex>),
}

/// A piece of a replacement.
enum Piece {
    Text(String),
    Group(usize),
}

impl Pattern {
    /// Compiles a pattern; `None` if it or a flag is invalid, or if it is too large.
    pub fn new(pattern: &str, flags: &str) -> Option<Self> {
        let flags = Flags::parse(flags)?;
        let translated = translate(pattern, flags)?;
        let engine = if translated.has_back_references {
            Engine::Backtracking(Box::new(
                fancy_regex::RegexBuilder::new(&translated.pattern)
                    .case_insensitive(flags.ignores_case)
                    .backtrack_limit(BACKTRACKS_MAX)
                    .delegate_size_limit(PROGRAM_BYTES_MAX)
                    .build()
                    .ok()?,
            ))
        } else {
            Engine::Linear(
                regex::RegexBuilder::new(&translated.pattern)
                    .case_insensitive(flags.ignores_case)
                    .size_limit(PROGRAM_BYTES_MAX)
                    .build()
                    .ok()?,
            )
        };
        let mut pattern = Self {
            engine,
            groups: translated.groups,
            is_literal: flags.is_literal,
            matches_empty: None,
        };
        pattern.matches_empty = pattern.is_match("");
        Some(pattern)
    }

    /// Whether a match may take many steps.
    pub fn may_take_long(&self) -> bool {
        matches!(self.engine, Engine::Backtracking(_))
    }

    /// Whether the pattern matches somewhere in a text; `None` if it takes too long to say.
    pub fn is_match(&self, text: &str) -> Option<bool> {
        match &self.engine {
            Engine::Linear(regex) => Some(regex.is_match(text)),
            Engine::Backtracking(regex) => regex.is_match(text).ok(),
        }
    }

    /// The text with every match replaced; `None` if the pattern matches the empty string or the replacement is
    /// invalid.
    pub fn replace(&self, text: &str, replacement: &str) -> Option<String> {
        if self.matches_empty? {
            return None;
        }
        let pieces = self.pieces(replacement)?;
        let mut result = String::with_capacity(text.len());
        let mut end = 0;
        match &self.engine {
            Engine::Linear(regex) => {
                for captures in regex.captures_iter(text) {
                    let whole = captures.get(0)?;
                    result.push_str(&text[end..whole.start()]);
                    end = whole.end();
                    write_pieces(&mut result, &pieces, |group| {
                        captures.get(group).map(|found| found.as_str())
                    });
                }
            }
            Engine::Backtracking(regex) => {
                for captures in regex.captures_iter(text) {
                    let captures = captures.ok()?;
                    let whole = captures.get(0)?;
                    result.push_str(&text[end..whole.start()]);
                    end = whole.end();
                    write_pieces(&mut result, &pieces, |group| {
                        captures.get(group).map(|found| found.as_str())
                    });
                }
            }
        }
        result.push_str(&text[end..]);
        Some(result)
    }

    /// The pieces of a replacement, in which `$N` is a group, `\$` a dollar sign and `\\` a backslash.
    fn pieces(&self, replacement: &str) -> Option<Vec<Piece>> {
        if self.is_literal {
            return Some(vec![Piece::Text(replacement.to_owned())]);
        }
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut characters = replacement.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '\\' => text.push(characters.next_if(|next| matches!(next, '\\' | '$'))?),
                '$' => {
                    let digit = |next: &char| next.is_ascii_digit();
                    let mut group = characters.next_if(digit)?.to_digit(10)? as usize;
                    // Further digits belong to the number as long as there are so many groups.
                    while let Some(next) = characters.peek().and_then(|next| next.to_digit(10))
                        && group * 10 + next as usize <= self.groups
                    {
                        group = group * 10 + next as usize;
                        characters.next();
                    }
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                    if group <= self.groups {
                        pieces.push(Piece::Group(group));
                    }
                }
                other => text.push(other),
            }
        }
        pieces.push(Piece::Text(text));
        Some(pieces)
    }
}

fn write_pieces<'t>(
    result: &mut String,
    pieces: &[Piece],
    group: impl Fn(usize) -> Option<&'t str>,
) {
    for piece in pieces {
        match piece {
            Piece::Text(text) => result.push_str(text),
            // A group that took no part in the match is empty.
            Piece::Group(number) => result.push_str(group(*number).unwrap_or("")),
        }
    }
}
