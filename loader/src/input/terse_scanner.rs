//! [`TerseScanner`]: finds where statements of Turtle and `TriG` end, without parsing them.
//!
//! It knows tokens as far as they can hide a dot or a bracket (IRIs, strings, comments, words), and
//! directives, since they change what follows. What always holds:
//! * every boundary it gives lies where a parser that took everything before stands between two
//!   statements: a dot counts only if white space follows and no bracket is open;
//! * it never guesses: where a directive may stand that it cannot place (`1.PREFIX`), it says that it is
//!   [`TerseScanner::lost`], and nothing is cut from there on;
//! * brackets nested deeper than [`NESTING_MAX`] are an error: `oxttl` recurses on some of them.

use memchr::memchr2;
use std::ops::Range;

/// How deep brackets and triple terms may be nested.
pub(crate) const NESTING_MAX: u32 = 128;

/// Brackets are nested too deeply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TooDeep {
    /// Where the bracket is that is too much.
    pub(crate) at: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Token {
    /// White space or a comment.
    Nothing,
    Iri,
    String,
    /// `@` and the letters behind it.
    At,
    /// A name, a number, a keyword, a label.
    Word,
    Dot,
    Open,
    Close,
    /// `}` that is not the end of an annotation.
    CloseBrace,
    Other,
}

/// A directive that is being scanned.
#[derive(Clone, Copy, Debug)]
struct Directive {
    start: usize,
    /// `@prefix`, which ends with a dot; otherwise `PREFIX`, which ends with its IRI.
    with_dot: bool,
    /// `VERSION`, which changes nothing.
    version: bool,
    /// Whether its IRI (or the version's string) has been seen.
    complete: bool,
}

/// Scans a document, or what stands behind a boundary of it.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each remembers another thing"
)]
pub(crate) struct TerseScanner {
    trig: bool,
    at: usize,
    depth: u32,
    at_start: bool,
    after_string: bool,
    lost: bool,
    boundary: Option<usize>,
    directive: Option<Directive>,
    directives: Vec<Range<usize>>,
}

impl TerseScanner {
    pub(crate) fn new(trig: bool) -> Self {
        Self {
            trig,
            at: 0,
            depth: 0,
            at_start: true,
            after_string: false,
            lost: false,
            boundary: None,
            directive: None,
            directives: Vec::new(),
        }
    }

    /// How far it has come: all tokens before are complete.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Whether nothing must be cut behind the last boundary.
    pub(crate) fn lost(&self) -> bool {
        self.lost
    }

    /// The end of the last complete statement.
    pub(crate) fn boundary(&self) -> Option<usize> {
        self.boundary
    }

    /// The directives so far that change prefixes or base.
    pub(crate) fn directives(&self) -> &[Range<usize>] {
        &self.directives
    }

    /// Forgets the bytes before [`TerseScanner::position`], and boundaries and directives with them.
    pub(crate) fn forget_scanned(&mut self) {
        self.at = 0;
        self.boundary = None;
        self.directives.clear();
        if let Some(directive) = &mut self.directive {
            directive.start = 0;
        }
    }

    /// Goes on, as far as there are complete tokens. `bytes` begins as in the call before, and may have more at its
    /// end; with `ended` nothing follows.
    pub(crate) fn scan(&mut self, bytes: &[u8], ended: bool) -> Result<(), TooDeep> {
        while self.at < bytes.len() {
            let start = self.at;
            match token(bytes, start, ended) {
                // A token at the very end may go on behind it.
                Some((token, end)) if ended || end < bytes.len() => {
                    self.at = end;
                    self.apply(token, bytes, start, end)?;
                }
                _ if ended => self.at = bytes.len(),
                _ => break,
            }
        }
        Ok(())
    }

    fn apply(
        &mut self,
        token: Token,
        bytes: &[u8],
        start: usize,
        end: usize,
    ) -> Result<(), TooDeep> {
        let after_string = self.after_string;
        if token != Token::Nothing {
            self.after_string = token == Token::String;
        }
        match token {
            Token::Nothing => return Ok(()),
            Token::Iri | Token::String => {
                if let Some(directive) = &mut self.directive {
                    directive.complete = true;
                    if !directive.with_dot {
                        self.end_directive(end);
                        return Ok(());
                    }
                }
            }
            Token::At if after_string => {}
            Token::At => match bytes[start + 1..end].to_ascii_lowercase().as_slice() {
                b"prefix" | b"base" => self.begin_directive(start, true, false),
                b"version" => self.begin_directive(start, true, true),
                _ => {}
            },
            Token::Word => match bytes[start..end].to_ascii_lowercase().as_slice() {
                b"prefix" | b"base" => self.begin_directive(start, false, false),
                b"version" => self.begin_directive(start, false, true),
                word => self.lost |= hides_a_keyword(word),
            },
            Token::Dot => {
                if let Some(directive) = self.directive {
                    // A dot before a digit begins a number.
                    let number = bytes.get(end).is_some_and(u8::is_ascii_digit);
                    if directive.with_dot && directive.complete && !number {
                        self.end_directive(end);
                    } else {
                        self.lost = true;
                    }
                    return Ok(());
                }
                let terminates = bytes
                    .get(end)
                    .is_none_or(|next| matches!(next, b' ' | b'\t' | b'\r' | b'\n'));
                if terminates && self.depth == 0 {
                    self.end_statement(end);
                    return Ok(());
                }
            }
            Token::Open => {
                self.depth += 1;
                if self.depth > NESTING_MAX {
                    return Err(TooDeep { at: start });
                }
            }
            Token::Close => self.depth = self.depth.saturating_sub(1),
            Token::CloseBrace => {
                self.depth = self.depth.saturating_sub(1);
                if self.trig && self.depth == 0 {
                    self.end_statement(end);
                    return Ok(());
                }
            }
            Token::Other => {}
        }
        self.at_start = false;
        Ok(())
    }

    fn end_statement(&mut self, end: usize) {
        self.at_start = true;
        if !self.lost {
            self.boundary = Some(end);
        }
    }

    fn begin_directive(&mut self, start: usize, with_dot: bool, version: bool) {
        if !self.at_start || self.directive.is_some() {
            self.lost = true;
        }
        self.directive = Some(Directive {
            start,
            with_dot,
            version,
            complete: false,
        });
    }

    fn end_directive(&mut self, end: usize) {
        if let Some(directive) = self.directive.take() {
            if !directive.version {
                self.directives.push(directive.start..end);
            }
            self.after_string = false; // of `VERSION "1.2" @prefix`
            self.end_statement(end);
        }
    }
}

/// Whether a word that begins like a number has letters that a number has not: `oxttl` reads `1.PREFIX` as a
/// number, a dot and a keyword.
fn hides_a_keyword(word: &[u8]) -> bool {
    word[0].is_ascii_digit()
        && word
            .iter()
            .any(|byte| !matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'-'))
}

/// The token at `start` and where it ends, if the bytes hold all of it.
fn token(bytes: &[u8], start: usize, ended: bool) -> Option<(Token, usize)> {
    let next = bytes.get(start + 1);
    Some(match bytes[start] {
        b' ' | b'\t' | b'\r' | b'\n' => {
            let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
            let length = bytes[start..].iter().position(|byte| !blank(byte));
            (
                Token::Nothing,
                length.map_or(bytes.len(), |length| start + length),
            )
        }
        b'#' => (
            Token::Nothing,
            start + memchr2(b'\r', b'\n', &bytes[start..])?,
        ),
        b'<' if *next? == b'<' => (Token::Open, start + 2),
        b'<' => (Token::Iri, delimited_end(bytes, start + 1, b'>')?),
        b'>' if *next? == b'>' => (Token::Close, start + 2),
        quote @ (b'"' | b'\'') => (Token::String, string_end(bytes, start, quote)?),
        b'@' => {
            let letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
            let length = bytes[start + 1..].iter().position(|byte| !letter(byte));
            (
                Token::At,
                length.map_or(bytes.len(), |length| start + 1 + length),
            )
        }
        b'.' => (Token::Dot, start + 1),
        b'[' | b'(' | b'{' => (Token::Open, start + 1),
        b']' | b')' => (Token::Close, start + 1),
        b'|' if *next? == b'}' => (Token::Close, start + 2),
        b'}' => (Token::CloseBrace, start + 1),
        byte if is_of_word(byte) => (Token::Word, word_end(bytes, start, ended)),
        _ => (Token::Other, start + 1),
    })
}

/// Bytes of names, numbers, keywords and labels.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || !byte.is_ascii()
        || matches!(byte, b'_' | b':' | b'-' | b'.' | b'%' | b'\\')
}

fn word_end(bytes: &[u8], start: usize, ended: bool) -> usize {
    let mut at = start;
    // Dots at the end do not belong to it, unless they are escaped.
    let mut end = start + 1;
    while at < bytes.len() && is_of_word(bytes[at]) {
        if bytes[at] == b'\\' {
            at = (at + 2).min(bytes.len());
            end = at;
        } else {
            at += 1;
            if bytes[at - 1] != b'.' {
                end = at;
            }
        }
    }
    // Where bytes follow that are not there yet, it cannot be told whether the dots belong to it.
    if at == bytes.len() && !ended { at } else { end }
}

/// Behind the first `end` that no `\` stands before.
fn delimited_end(bytes: &[u8], mut at: usize, end: u8) -> Option<usize> {
    loop {
        at += memchr2(end, b'\\', bytes.get(at..)?)?;
        if bytes[at] == end {
            return Some(at + 1);
        }
        at += 2;
    }
}

fn string_end(bytes: &[u8], start: usize, quote: u8) -> Option<usize> {
    if *bytes.get(start + 1)? != quote {
        return delimited_end(bytes, start + 1, quote);
    }
    if *bytes.get(start + 2)? != quote {
        return Some(start + 2); // the empty string
    }
    let mut at = start + 3;
    loop {
        at += memchr2(quote, b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'\\' {
            at += 2;
        } else if *bytes.get(at + 1)? == quote && *bytes.get(at + 2)? == quote {
            return Some(at + 3);
        } else {
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where statements end, whatever the pieces in which the text comes.
    fn boundaries(text: &str, trig: bool) -> (Vec<usize>, Vec<String>, bool) {
        let bytes = text.as_bytes();
        let mut all = Vec::new();
        let mut scanner = TerseScanner::new(trig);
        for length in 0..=bytes.len() {
            scanner
                .scan(&bytes[..length], length == bytes.len())
                .unwrap();
            if let Some(boundary) = scanner.boundary()
                && all.last() != Some(&boundary)
            {
                all.push(boundary);
            }
        }
        let mut whole = TerseScanner::new(trig);
        whole.scan(bytes, true).unwrap();
        assert_eq!(whole.boundary(), all.last().copied(), "{text}");
        assert_eq!(whole.lost(), scanner.lost(), "{text}");
        let directives = whole.directives().iter();
        let directives = directives.map(|range| text[range.clone()].to_owned());
        (all, directives.collect(), whole.lost())
    }

    fn statements(text: &str, trig: bool) -> Vec<&str> {
        let (all, _, lost) = boundaries(text, trig);
        assert!(!lost, "{text}");
        let mut start = 0;
        let mut statements = Vec::new();
        for end in all {
            statements.push(text[start..end].trim());
            start = end;
        }
        statements
    }

    #[test]
    fn dots_inside_tokens_end_nothing() {
        for text in [
            "<a. > <b> \"x. \" .",
            "ex:a.b ex:c ex:d\\. .",
            "_:a.b <p> 1.5 .",
            "<a> <b> '''x. ' \\''' . ''' .",
            "<a> <b> \"\"\"x. \"\" \n. \\\"\"\" \"\"\" .",
            "<a> <b> '' .",
            "<a> # a. b. \n <b> <c> .",
            "<a> <b> [ <c> <d> . ] .",
            "<a> <b> ( <c> . ) .",
            "<< <a> <b> <c> . >> <d> <e> .",
            "<a> <b> <<( <c> <d> <e> . )>> .",
            "<a> <b> \"x\"@en .",
            "<a> <b> <c> {| <d> <e> . |} .",
        ] {
            assert_eq!(statements(text, false), [text], "{text}");
            let two = format!("{text}\n{text}");
            assert_eq!(statements(&two, false), [text, text], "{text}");
        }
    }

    #[test]
    fn numbers_and_names_give_their_last_dot_away() {
        assert_eq!(statements("<a> <b> 1. <c> <d> ex:e. ", false).len(), 2);
        assert_eq!(statements("<a> <b> true. <c> <d> _:e..", false).len(), 2);
    }

    #[test]
    fn graphs_end_with_their_brace() {
        let text = "<g> { <a> <b> <c> . <d> <e> <f> {| <x> <y> |} . } GRAPH <h> { }";
        assert_eq!(
            statements(text, true),
            [
                "<g> { <a> <b> <c> . <d> <e> <f> {| <x> <y> |} . }",
                "GRAPH <h> { }"
            ]
        );
    }

    #[test]
    fn directives_are_found() {
        let text = "@prefix a.b: <x> .\nPREFIX c: <y>\nbase <z>@base <w>.VERSION \"1.2\" @base <v> . <s> <p> \"o\"@prefix .";
        let (_, directives, lost) = boundaries(text, false);
        assert!(!lost);
        assert_eq!(
            directives,
            [
                "@prefix a.b: <x> .",
                "PREFIX c: <y>",
                "base <z>",
                "@base <w>.",
                "@base <v> ."
            ]
        );
    }

    #[test]
    fn directives_in_odd_places_make_it_stop() {
        for text in [
            "<s> <p> 1.PREFIX a: <b> .",
            "<s> <p> <o>.@prefix a: <b> .",
            "<s> <p> [ PREFIX a: <b> ] .",
            "@prefix a: . <b>",
            "@prefix a: <b> .1 <c> <d> .",
        ] {
            assert!(boundaries(text, false).2, "{text}");
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        let text = "[".repeat(NESTING_MAX as usize + 1);
        let mut scanner = TerseScanner::new(false);
        let expected = TooDeep {
            at: NESTING_MAX as usize,
        };
        assert_eq!(scanner.scan(text.as_bytes(), true), Err(expected));
    }
}
