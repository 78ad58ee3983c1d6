//! From XPath's regular expressions to those of the `regex` crate.
//!
//! The syntax is that of XML Schema with XPath's additions (anchors, reluctant quantifiers, groups that capture or not,
//! back-references). What it means by `.`, `\s`, `\w`, `\i` and `\c`, and class subtraction (`[a-z-[aeiou]]`), is written
//! out. What it does not have (`\b`, `(?i)`, `\x41`, two quantifiers in a row) is an error, though the crate has it.
//! One difference is left: with the flag `m`, `^` also matches after a line feed that ends the text.

use super::blocks::block;
use std::fmt::Write;

/// How deep classes may be subtracted from one another.
const SUBTRACTIONS_MAX: usize = 32;

const SPACE: &str = " \\t\\n\\r";
const NOT_WORD: &str = "\\p{P}\\p{Z}\\p{C}";
/// XML's `NameStartChar`.
const INITIAL: &str = "A-Z_a-z:\u{C0}-\u{D6}\u{D8}-\u{F6}\u{F8}-\u{2FF}\u{370}-\u{37D}\u{37F}-\u{1FFF}\
    \u{200C}-\u{200D}\u{2070}-\u{218F}\u{2C00}-\u{2FEF}\u{3001}-\u{D7FF}\u{F900}-\u{FDCF}\u{FDF0}-\u{FFFD}\
    \u{10000}-\u{EFFFF}";
/// What XML's `NameChar` has besides.
const NAME_REST: &str = "\\-\\.0-9\u{B7}\u{300}-\u{36F}\u{203F}-\u{2040}";
const CATEGORIES: [&str; 36] = [
    "L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Pc",
    "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Z", "Zs", "Zl", "Zp", "S", "Sm", "Sc", "Sk", "So", "C",
    "Cc", "Cf", "Co", "Cn",
];

/// The flags of XPath's functions.
#[derive(Clone, Copy, Default, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a letter of the flags"
)]
pub struct Flags {
    /// `s`: a dot matches line ends too.
    pub dot_matches_all: bool,
    /// `m`: anchors match at line ends too.
    pub multiple_lines: bool,
    /// `i`.
    pub ignores_case: bool,
    /// `x`: white space outside of classes is left out.
    pub ignores_space: bool,
    /// `q`: the pattern is a text.
    pub is_literal: bool,
}

impl Flags {
    /// Parses flags; `None` if there is one that XPath does not have.
    pub fn parse(text: &str) -> Option<Self> {
        let mut flags = Self::default();
        for letter in text.chars() {
            *match letter {
                's' => &mut flags.dot_matches_all,
                'm' => &mut flags.multiple_lines,
                'i' => &mut flags.ignores_case,
                'x' => &mut flags.ignores_space,
                'q' => &mut flags.is_literal,
                _ => return None,
            } = true;
        }
        Some(flags)
    }
}

/// A translated pattern.
#[derive(Debug)]
pub struct Translated {
    /// In the syntax of the crate.
    pub pattern: String,
    /// Whether it needs `fancy-regex`.
    pub has_back_references: bool,
    /// How many groups capture.
    pub groups: usize,
}

/// Translates a pattern; `None` if it is invalid.
pub fn translate(pattern: &str, flags: Flags) -> Option<Translated> {
    if flags.is_literal {
        return Some(Translated {
            pattern: regex::escape(pattern),
            has_back_references: false,
            groups: 0,
        });
    }
    let characters = if flags.ignores_space {
        without_space(pattern)
    } else {
        pattern.chars().collect()
    };
    let mut translator = Translator {
        characters,
        next: 0,
        flags,
        out: String::with_capacity(2 * pattern.len()),
        open: Vec::new(),
        is_closed: vec![true],
        has_back_references: false,
        after_atom: false,
    };
    translator.pattern()?;
    Some(Translated {
        pattern: translator.out,
        has_back_references: translator.has_back_references,
        groups: translator.is_closed.len() - 1,
    })
}

/// The characters of a pattern without white space outside of classes.
fn without_space(pattern: &str) -> Vec<char> {
    let (mut depth, mut is_escaped) = (0_usize, false);
    pattern
        .chars()
        .filter(|character| {
            if !is_escaped {
                match character {
                    '[' => depth += 1,
                    ']' => depth = depth.saturating_sub(1),
                    '\t' | '\n' | '\r' | ' ' if depth == 0 => return false,
                    _ => {}
                }
            }
            is_escaped = !is_escaped && *character == '\\';
            true
        })
        .collect()
}

struct Translator {
    characters: Vec<char>,
    next: usize,
    flags: Flags,
    out: String,
    /// The groups that are open: their numbers, or `None` for those that do not capture.
    open: Vec<Option<usize>>,
    /// By number of the group, 0 for the whole: whether its end has been read.
    is_closed: Vec<bool>,
    has_back_references: bool,
    /// Whether a quantifier may follow.
    after_atom: bool,
}

impl Translator {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.next).copied()
    }

    fn take(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.next += 1;
        Some(character)
    }

    fn take_if(&mut self, wanted: char) -> bool {
        let is_next = self.peek() == Some(wanted);
        self.next += usize::from(is_next);
        is_next
    }

    fn pattern(&mut self) -> Option<()> {
        while let Some(character) = self.take() {
            match character {
                '\\' => self.escape()?,
                '[' => {
                    let class = self.class(0)?;
                    self.atom(&class);
                }
                '(' => self.open_group()?,
                ')' => {
                    if let Some(number) = self.open.pop()? {
                        self.is_closed[number] = true;
                    }
                    self.atom(")");
                }
                '|' => {
                    self.out.push('|');
                    self.after_atom = false;
                }
                '?' | '*' | '+' => {
                    self.out.push(character);
                    self.quantified()?;
                }
                '{' => {
                    self.counts()?;
                    self.quantified()?;
                }
                '.' => self.atom(if self.flags.dot_matches_all {
                    "(?s:.)"
                } else {
                    "[^\\n\\r]"
                }),
                '^' => self.anchor("\\A", "(?m:^)"),
                '$' => self.anchor("\\z", "(?m:$)"),
                '}' | ']' => return None,
                other => {
                    push_escaped(&mut self.out, other);
                    self.after_atom = true;
                }
            }
        }
        self.open.is_empty().then_some(())
    }

    fn atom(&mut self, atom: &str) {
        self.out.push_str(atom);
        self.after_atom = true;
    }

    fn anchor(&mut self, of_text: &str, of_line: &str) {
        self.out.push_str(if self.flags.multiple_lines {
            of_line
        } else {
            of_text
        });
        self.after_atom = false;
    }

    fn open_group(&mut self) -> Option<()> {
        if self.take_if('?') {
            if !self.take_if(':') {
                return None;
            }
            self.open.push(None);
            self.out.push_str("(?:");
        } else {
            self.open.push(Some(self.is_closed.len()));
            self.is_closed.push(false);
            self.out.push('(');
        }
        self.after_atom = false;
        Some(())
    }

    /// After a quantifier: there was something to repeat, and it may be made reluctant.
    fn quantified(&mut self) -> Option<()> {
        if !self.after_atom {
            return None;
        }
        self.after_atom = false;
        if self.take_if('?') {
            self.out.push('?');
        }
        Some(())
    }

    /// `{n}`, `{n,}` or `{n,m}`.
    fn counts(&mut self) -> Option<()> {
        let least = self.number()?;
        let most = if self.take_if(',') {
            if self.peek() == Some('}') {
                None
            } else {
                Some(self.number()?)
            }
        } else {
            Some(least)
        };
        if !self.take_if('}') || most.is_some_and(|most| most < least) {
            return None;
        }
        // Writing to a string does not fail.
        let _ = match most {
            Some(most) => write!(self.out, "{{{least},{most}}}"),
            None => write!(self.out, "{{{least},}}"),
        };
        Some(())
    }

    fn number(&mut self) -> Option<u32> {
        let mut number = None;
        while let Some(digit) = self.peek().and_then(|next| next.to_digit(10)) {
            self.next += 1;
            number = Some(
                number
                    .unwrap_or(0_u32)
                    .checked_mul(10)?
                    .checked_add(digit)?,
            );
        }
        number
    }

    /// An escape outside of a class.
    fn escape(&mut self) -> Option<()> {
        match self.peek()? {
            '1'..='9' => {
                let mut group = self.take()?.to_digit(10)? as usize;
                // Further digits belong to the number as long as there are so many groups before it.
                while let Some(digit) = self.peek().and_then(|next| next.to_digit(10))
                    && group * 10 + (digit as usize) < self.is_closed.len()
                {
                    group = group * 10 + digit as usize;
                    self.next += 1;
                }
                if !*self.is_closed.get(group)? {
                    return None;
                }
                self.has_back_references = true;
                // A group that took no part in the match is empty.
                let reference = format!("(?({group})\\{group}|)");
                self.atom(&reference);
            }
            'p' | 'P' => {
                let property = self.class_escape()?;
                // The flag `i` does not change what belongs to a category.
                let atom = format!("(?-i:[{property}])");
                self.atom(&atom);
            }
            's' | 'S' | 'd' | 'D' | 'w' | 'W' | 'i' | 'I' | 'c' | 'C' => {
                let class = self.class_escape()?;
                let atom = format!("[{class}]");
                self.atom(&atom);
            }
            _ => {
                let character = self.single_escape()?;
                push_escaped(&mut self.out, character);
                self.after_atom = true;
            }
        }
        Some(())
    }

    /// The character that an escape stands for.
    fn single_escape(&mut self) -> Option<char> {
        Some(match self.take()? {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            character if "\\|.-^?*+{}()[]$".contains(character) => character,
            _ => return None,
        })
    }

    /// What stands within brackets for an escape that is a class.
    fn class_escape(&mut self) -> Option<String> {
        Some(match self.take()? {
            's' => SPACE.to_owned(),
            'S' => format!("[^{SPACE}]"),
            'd' => "\\p{Nd}".to_owned(),
            'D' => "\\P{Nd}".to_owned(),
            'w' => format!("[^{NOT_WORD}]"),
            'W' => NOT_WORD.to_owned(),
            'i' => INITIAL.to_owned(),
            'I' => format!("[^{INITIAL}]"),
            'c' => format!("{INITIAL}{NAME_REST}"),
            'C' => format!("[^{INITIAL}{NAME_REST}]"),
            letter @ ('p' | 'P') => {
                if !self.take_if('{') {
                    return None;
                }
                let start = self.next;
                while self.take()? != '}' {}
                let name: String = self.characters[start..self.next - 1].iter().collect();
                if let Some(name) = name.strip_prefix("Is") {
                    let (first, last) = block(name)?;
                    let negation = if letter == 'P' { "^" } else { "" };
                    format!("[{negation}\\x{{{first:X}}}-\\x{{{last:X}}}]")
                } else if CATEGORIES.contains(&name.as_str()) {
                    format!("\\{letter}{{{name}}}")
                } else {
                    return None;
                }
            }
            _ => return None,
        })
    }

    /// A class, whose opening bracket has been read.
    fn class(&mut self, depth: usize) -> Option<String> {
        if depth > SUBTRACTIONS_MAX {
            return None;
        }
        let mut class = String::from("[");
        if self.take_if('^') {
            class.push('^');
        }
        let start = class.len();
        loop {
            match self.take()? {
                ']' if class.len() == start => return None,
                ']' => {
                    class.push(']');
                    return Some(class);
                }
                '[' => return None,
                '-' if self.peek() == Some('[') && class.len() > start => {
                    self.next += 1;
                    let subtracted = self.class(depth + 1)?;
                    if !self.take_if(']') {
                        return None;
                    }
                    return Some(format!("[{class}]--{subtracted}]"));
                }
                '\\' if matches!(
                    self.peek()?,
                    's' | 'S' | 'd' | 'D' | 'w' | 'W' | 'i' | 'I' | 'c' | 'C' | 'p' | 'P'
                ) =>
                {
                    let escape = self.class_escape()?;
                    class.push_str(&escape);
                }
                '\\' => {
                    let first = self.single_escape()?;
                    self.range(&mut class, first)?;
                }
                first => self.range(&mut class, first)?,
            }
        }
    }

    /// A character of a class, or a range that begins with it.
    fn range(&mut self, class: &mut String, first: char) -> Option<()> {
        push_escaped(class, first);
        let after = self.characters.get(self.next + 1).copied();
        if self.peek() == Some('-') && !matches!(after, Some(']' | '[') | None) {
            self.next += 1;
            let last = match self.take()? {
                '\\' => self.single_escape()?,
                '[' | ']' => return None,
                other => other,
            };
            if last < first {
                return None;
            }
            class.push('-');
            push_escaped(class, last);
        }
        Some(())
    }
}

/// Writes a character so that it stands for itself, in a class too.
fn push_escaped(out: &mut String, character: char) {
    match character {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        _ => {
            if "\\.+*?()|[]{}^$#&-~".contains(character) {
                out.push('\\');
            }
            out.push(character);
        }
    }
}
