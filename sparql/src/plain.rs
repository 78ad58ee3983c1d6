//! A quick parser of plain queries, which are most of those that take microseconds: SELECT of variables, or ASK, over triple patterns and
//! OPTIONAL groups of them, with LIMIT and OFFSET.
//!
//! spargebra is the parser. It takes longer for such a query than looking the answer up does, since it tries the alternatives of
//! a large grammar at every token; this one reads the tokens that plain queries are made of, in one pass, and gives
//! up ([`None`]) at anything else, so that spargebra decides: relative IRIs, escapes, letters beyond ASCII in names, blank nodes,
//! paths, expressions, numbers with a point, and every error. What it accepts becomes what spargebra makes of it, which tests
//! compare.
//!
//! ```text
//! query    (PREFIX name: <iri>)* (SELECT (DISTINCT | REDUCED)? (variable+ | *) | ASK) WHERE? group limits
//! group    { triples? (OPTIONAL group .? triples?)* }
//! triples  subject list (. subject list)* .?        list   verb objects (; (verb objects)?)*
//! limits   (LIMIT n)? (OFFSET n)?, in either sequence
//! term     variable, <iri>, name:local, "text", digits; as a verb also: a
//! ```

use oxrdf::vocab::{rdf, xsd};
use oxrdf::{Literal, NamedNode, Variable};
use spargebra::Query;
use spargebra::algebra::GraphPattern;
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};

/// OPTIONAL groups of a query; more, and the deeper parser must see whether they nest too deeply.
const OPTIONALS_MAX: usize = 16;

/// Reads a query, if it is a plain one.
pub fn parse(text: &str) -> Option<Query> {
    let mut reader = Reader {
        text,
        at: 0,
        prefixes: Vec::new(),
        optionals: 0,
    };
    reader.skip_space();
    reader.prologue()?;
    let query = if reader.takes_word("ASK") {
        let pattern = reader.group()?;
        let variables = in_scope(&pattern);
        Query::Ask {
            dataset: None,
            pattern: reader.limited(project(pattern, variables))?,
            base_iri: None,
        }
    } else {
        let pattern = reader.select()?;
        Query::Select {
            dataset: None,
            pattern: reader.limited(pattern)?,
            base_iri: None,
        }
    };
    (reader.at == text.len()).then_some(query)
}

/// A place in a query.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Names without the colon, and IRIs; later ones count.
    prefixes: Vec<(&'a str, &'a str)>,
    optionals: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(b'#') => {
                    let rest = &self.text.as_bytes()[self.at..];
                    let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
                    self.at += end.unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    /// Goes beyond a byte and the space behind it, if it is next.
    fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        if is_next {
            self.at += 1;
            self.skip_space();
        }
        is_next
    }

    /// The same for a word of the language, in letters of either case.
    fn takes_word(&mut self, word: &str) -> bool {
        let bytes = self.text.as_bytes();
        let end = self.at + word.len();
        let is_next = bytes
            .get(self.at..end)
            .is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
            && !bytes.get(end).is_some_and(|next| is_name_byte(*next));
        if is_next {
            self.at = end;
            self.skip_space();
        }
        is_next
    }

    /// The bytes from here on of a kind.
    fn run(&mut self, is_wanted: impl Fn(u8) -> bool) -> &'a str {
        let rest = &self.text.as_bytes()[self.at..];
        let length = rest.iter().position(|byte| !is_wanted(*byte));
        let start = self.at;
        self.at += length.unwrap_or(rest.len());
        &self.text[start..self.at]
    }

    fn prologue(&mut self) -> Option<()> {
        while self.takes_word("PREFIX") {
            let name = self.prefix_name()?;
            self.skip_space();
            let iri = self.bracketed()?;
            oxiri::Iri::parse(iri).ok()?;
            self.prefixes.push((name, iri));
            self.skip_space();
        }
        Some(())
    }

    /// The name of a prefix, and goes beyond the colon.
    fn prefix_name(&mut self) -> Option<&'a str> {
        let name = self.run(is_name_byte);
        let begins_well = name
            .bytes()
            .next()
            .is_none_or(|first| first.is_ascii_alphabetic());
        (begins_well && self.peek()? == b':').then(|| {
            self.at += 1;
            name
        })
    }

    /// What stands between angle brackets.
    fn bracketed(&mut self) -> Option<&'a str> {
        if self.peek()? != b'<' {
            return None;
        }
        self.at += 1;
        let iri = self.run(|byte| !matches!(byte, b'>' | b'\\'));
        (self.peek()? == b'>').then(|| {
            self.at += 1;
            iri
        })
    }

    fn select(&mut self) -> Option<GraphPattern> {
        if !self.takes_word("SELECT") {
            return None;
        }
        let is_distinct = self.takes_word("DISTINCT");
        let is_reduced = !is_distinct && self.takes_word("REDUCED");
        let mut variables = Vec::new();
        let takes_all = self.takes(b'*');
        while !takes_all && matches!(self.peek()?, b'?' | b'$') {
            let variable = self.variable()?;
            if variables.contains(&variable) {
                return None;
            }
            variables.push(variable);
            self.skip_space();
        }
        if !takes_all && variables.is_empty() {
            return None;
        }
        let pattern = self.group()?;
        if takes_all {
            variables = in_scope(&pattern);
        }
        let inner = Box::new(project(pattern, variables));
        Some(if is_distinct {
            GraphPattern::Distinct { inner }
        } else if is_reduced {
            GraphPattern::Reduced { inner }
        } else {
            *inner
        })
    }

    /// The limits at the end of a query.
    fn limited(&mut self, pattern: GraphPattern) -> Option<GraphPattern> {
        let (mut start, mut length) = (None, None);
        loop {
            let bound = if start.is_none() && self.takes_word("OFFSET") {
                &mut start
            } else if length.is_none() && self.takes_word("LIMIT") {
                &mut length
            } else {
                break;
            };
            *bound = Some(
                self.run(|byte| byte.is_ascii_digit())
                    .parse::<usize>()
                    .ok()?,
            );
            self.skip_space();
        }
        if start.is_none() && length.is_none() {
            return Some(pattern);
        }
        Some(GraphPattern::Slice {
            inner: Box::new(pattern),
            start: start.unwrap_or(0),
            length,
        })
    }

    /// A group; WHERE may stand before it.
    fn group(&mut self) -> Option<GraphPattern> {
        self.takes_word("WHERE");
        self.group_here()
    }

    fn group_here(&mut self) -> Option<GraphPattern> {
        if !self.takes(b'{') {
            return None;
        }
        let mut pattern = GraphPattern::Bgp {
            patterns: self.triples()?,
        };
        while self.takes_word("OPTIONAL") {
            self.optionals += 1;
            if self.optionals > OPTIONALS_MAX {
                return None;
            }
            pattern = GraphPattern::LeftJoin {
                left: Box::new(pattern),
                right: Box::new(self.group_here()?),
                expression: None,
            };
            self.takes(b'.');
            let patterns = self.triples()?;
            if !patterns.is_empty() {
                pattern = GraphPattern::Join {
                    left: Box::new(pattern),
                    right: Box::new(GraphPattern::Bgp { patterns }),
                };
            }
        }
        self.takes(b'}').then_some(pattern)
    }

    fn triples(&mut self) -> Option<Vec<TriplePattern>> {
        let mut triples = Vec::new();
        loop {
            // No name is one of these: its colon is still to come.
            if matches!(self.peek()?, b'}' | b'O' | b'o') && !self.is_at_name() {
                return Some(triples);
            }
            let subject = self.node()?;
            self.skip_space();
            self.properties(&subject, &mut triples)?;
            if !self.takes(b'.') {
                return Some(triples);
            }
        }
    }

    /// Whether a prefixed name is next.
    fn is_at_name(&self) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        rest.iter().find(|byte| !is_name_byte(**byte)) == Some(&b':')
    }

    /// The verbs and objects of a subject.
    fn properties(
        &mut self,
        subject: &TermPattern,
        triples: &mut Vec<TriplePattern>,
    ) -> Option<()> {
        loop {
            let verb = self.verb()?;
            self.skip_space();
            loop {
                let object = self.object()?;
                self.skip_space();
                triples.push(TriplePattern {
                    subject: subject.clone(),
                    predicate: verb.clone(),
                    object,
                });
                if !self.takes(b',') {
                    break;
                }
            }
            if !self.takes(b';') {
                return Some(());
            }
            while self.takes(b';') {}
            if matches!(self.peek()?, b'.' | b'}') {
                return Some(());
            }
        }
    }

    fn verb(&mut self) -> Option<NamedNodePattern> {
        if self.peek()? == b'a' && !self.is_at_name() {
            self.at += 1;
            let ends = matches!(self.peek()?, b' ' | b'\t' | b'\n' | b'\r' | b'<' | b'?');
            return ends.then(|| rdf::TYPE.into_owned().into());
        }
        Some(match self.node()? {
            TermPattern::NamedNode(node) => node.into(),
            TermPattern::Variable(variable) => variable.into(),
            _ => return None,
        })
    }

    fn object(&mut self) -> Option<TermPattern> {
        Some(match self.peek()? {
            b'"' => self.string()?.into(),
            b'0'..=b'9' => self.integer()?.into(),
            _ => self.node()?,
        })
    }

    /// A variable or an IRI.
    fn node(&mut self) -> Option<TermPattern> {
        Some(match self.peek()? {
            b'?' | b'$' => self.variable()?.into(),
            b'<' => NamedNode::new(self.bracketed()?).ok()?.into(),
            _ => self.prefixed()?.into(),
        })
    }

    fn variable(&mut self) -> Option<Variable> {
        self.at += 1;
        let name = self.run(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if name.is_empty() || self.peek().is_some_and(|next| !next.is_ascii()) {
            return None;
        }
        Some(Variable::new_unchecked(name))
    }

    fn prefixed(&mut self) -> Option<NamedNode> {
        let name = self.prefix_name()?;
        let local = self.run(is_name_byte);
        if local.starts_with('-') {
            return None;
        }
        match self.peek()? {
            // A point within the name, or behind it.
            b'.' => {
                let next = self.text.as_bytes().get(self.at + 1);
                if next.is_none_or(|next| !matches!(next, b' ' | b'\t' | b'\n' | b'\r' | b'}')) {
                    return None;
                }
            }
            b':' | b'%' | b'\\' => return None,
            next if !next.is_ascii() => return None,
            _ => {}
        }
        let (_, iri) = self.prefixes.iter().rfind(|(known, _)| *known == name)?;
        let mut text = String::with_capacity(iri.len() + local.len());
        text.push_str(iri);
        text.push_str(local);
        // Letters, digits, `_` and `-` may follow these in every IRI.
        if iri.ends_with(['/', '#']) {
            return Some(NamedNode::new_unchecked(text));
        }
        NamedNode::new(text).ok()
    }

    /// A string in quotation marks, without escapes.
    fn string(&mut self) -> Option<Literal> {
        self.at += 1;
        let text = self.run(|byte| !matches!(byte, b'"' | b'\\' | b'\n' | b'\r'));
        if self.peek()? != b'"' {
            return None;
        }
        self.at += 1;
        // A language tag, a datatype, a third quotation mark.
        if matches!(self.peek()?, b'@' | b'^' | b'"') {
            return None;
        }
        Some(Literal::new_simple_literal(text))
    }

    fn integer(&mut self) -> Option<Literal> {
        let digits = self.run(|byte| byte.is_ascii_digit());
        if matches!(self.peek()?, b'.' | b'e' | b'E') {
            return None;
        }
        Some(Literal::new_typed_literal(digits, xsd::INTEGER))
    }
}

/// Bytes of names; `.` and what needs escapes are left to the other parser.
fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn project(pattern: GraphPattern, variables: Vec<Variable>) -> GraphPattern {
    GraphPattern::Project {
        inner: Box::new(pattern),
        variables,
    }
}

/// The variables that `SELECT *` gives.
fn in_scope(pattern: &GraphPattern) -> Vec<Variable> {
    let mut variables = Vec::new();
    pattern.on_in_scope_variable(|variable| {
        if !variables.contains(variable) {
            variables.push(variable.clone());
        }
    });
    variables.sort();
    variables
}
