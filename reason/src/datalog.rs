//! Rules that a user writes.
//!
//! ```text
//! # Comments run to the end of the line.
//! prefix ex: <http://example.org/> .
//! (?x ex:uncle ?z) <- (?x ex:father ?y), (?y ex:brother ?z), ?x != ?z .
//! (?x a ex:Adult) <- (?x ex:age "18"^^<http://www.w3.org/2001/XMLSchema#integer>) .
//!
//! rules   = { "prefix" name ":" iri "." | triple "<-" condition { "," condition } "." }
//! condition = triple | variable "!=" term
//! triple  = "(" term term term ")"
//! term    = variable | iri | name ":" name | "a" | literal as in N-Triples
//! ```
//!
//! A program may make rules without a text ([`UserRule::new`]). What always holds of a rule: a predicate is an IRI or a
//! variable, a subject no literal, no term is a blank node, and every variable of the head and of an inequality occurs in a triple of the body.

use crate::rule::{Atom, Rule, Slot};
use oxrdf::{NamedNode, Term};
use quadrille_store::TermId;
use std::collections::BTreeMap;
use std::str::FromStr;

/// Rules of a user.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UserRules {
    rules: Vec<UserRule>,
}

/// One of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UserRule {
    head: [Part; 3],
    body: Vec<[Part; 3]>,
    differ: Vec<(usize, Part)>,
}

/// A place in a triple of a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// A term.
    Term(Term),
    /// A variable, by a number; which numbers there are does not matter.
    Variable(usize),
}

impl UserRule {
    /// A rule: where the triples of the body are, and no variable of `differ` stands for the term beside it, there is the head.
    ///
    /// # Errors
    /// What is wrong with it, see the module's head.
    pub fn new(
        head: [Part; 3],
        body: Vec<[Part; 3]>,
        differ: Vec<(usize, Part)>,
    ) -> Result<Self, String> {
        let rule = Self { head, body, differ };
        if rule.body.is_empty() {
            return Err("a rule without a triple in its body".to_owned());
        }
        for triple in rule.body.iter().chain([&rule.head]) {
            check_triple(triple)?;
        }
        if let Some(variable) = rule.free_variable() {
            return Err(format!(
                "variable {variable} occurs in no triple of the rule's body"
            ));
        }
        Ok(rule)
    }

    /// A variable of the head or of an inequality that no triple of the body has.
    fn free_variable(&self) -> Option<usize> {
        let variables = |parts: &mut dyn Iterator<Item = &Part>| -> Vec<usize> {
            let numbers = parts.filter_map(|part| match part {
                Part::Variable(number) => Some(*number),
                Part::Term(_) => None,
            });
            numbers.collect()
        };
        let bound = variables(&mut self.body.iter().flatten());
        let mut asked = variables(&mut self.head.iter());
        asked.extend(self.differ.iter().map(|(left, _)| *left));
        asked.extend(variables(&mut self.differ.iter().map(|(_, right)| right)));
        asked.into_iter().find(|variable| !bound.contains(variable))
    }
}

fn check_triple(triple: &[Part; 3]) -> Result<(), String> {
    if let Part::Term(Term::Literal(literal)) = &triple[0] {
        return Err(format!("{literal} cannot be a subject"));
    }
    match &triple[1] {
        Part::Variable(_) | Part::Term(Term::NamedNode(_)) => {}
        Part::Term(term) => return Err(format!("{term} cannot be a predicate")),
    }
    let blank = triple
        .iter()
        .find(|part| matches!(part, Part::Term(Term::BlankNode(_))));
    match blank {
        Some(Part::Term(node)) => Err(format!("{node}: a rule cannot name a blank node")),
        _ => Ok(()),
    }
}

/// What is wrong with the text of rules.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct RuleError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub reason: String,
}

impl UserRules {
    /// Adds a rule.
    pub fn push(&mut self, rule: UserRule) {
        self.rules.push(rule);
    }

    /// Adds the rules of others.
    pub fn append(&mut self, others: Self) {
        self.rules.extend(others.rules);
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The terms that the rules mention, in their sequence.
    pub(crate) fn terms(&self) -> Vec<Term> {
        let parts = self.rules.iter().flat_map(|rule| {
            let triples = rule.body.iter().chain([&rule.head]);
            triples
                .flatten()
                .chain(rule.differ.iter().map(|(_, right)| right))
        });
        let terms = parts.filter_map(|part| match part {
            Part::Term(term) => Some(term.clone()),
            Part::Variable(_) => None,
        });
        terms.collect()
    }

    /// The rules over ids; `ids` are those of [`UserRules::terms`].
    pub(crate) fn compile(&self, ids: &[TermId]) -> Vec<Rule> {
        let mut ids = ids.iter();
        let mut slot = |part: &Part| match part {
            Part::Variable(number) => Slot::Variable(*number),
            Part::Term(_) => Slot::Constant(*ids.next().expect("an id for each term")),
        };
        let rules = self.rules.iter().map(|rule| {
            let mut atom = |triple: &[Part; 3]| Atom(triple.each_ref().map(&mut slot));
            let body = rule.body.iter().map(&mut atom).collect();
            let head = atom(&rule.head);
            let differ = rule.differ.iter();
            let differ = differ.map(|(left, right)| (*left, slot(right))).collect();
            Rule::new("user rule", head, body, differ)
        });
        rules.filter(|rule| !rule.is_trivial()).collect()
    }
}

impl FromStr for UserRules {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let mut parser = Parser {
            tokens: tokens(text)?,
            next: 0,
            prefixes: BTreeMap::new(),
            variables: Vec::new(),
        };
        let mut rules = Vec::new();
        while parser.next < parser.tokens.len() {
            if matches!(parser.peek(), Some("prefix" | "@prefix")) {
                parser.prefix()?;
            } else {
                rules.push(parser.rule()?);
            }
        }
        Ok(Self { rules })
    }
}

/// The words of a text with their lines: brackets, commas, dots, arrows, inequalities, and terms as they are written.
fn tokens(text: &str) -> Result<Vec<(usize, &str)>, RuleError> {
    let mut tokens = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut rest = line.trim_start();
        while !rest.is_empty() && !rest.starts_with('#') {
            let length = token_length(rest).map_err(|reason| RuleError {
                line: number + 1,
                reason,
            })?;
            tokens.push((number + 1, &rest[..length]));
            rest = rest[length..].trim_start();
        }
    }
    Ok(tokens)
}

fn token_length(text: &str) -> Result<usize, String> {
    let up_to = |text: &str, end: char| text.find(end).map(|place| place + end.len_utf8());
    if ["<-", ":-", "!="]
        .iter()
        .any(|token| text.starts_with(token))
    {
        return Ok(2);
    }
    match text.as_bytes()[0] {
        b'(' | b')' | b',' | b'.' => Ok(1),
        b'<' => up_to(text, '>').ok_or_else(|| format!("{text}: an IRI that does not end")),
        b'"' => {
            let mut escaped = false;
            let end = text.char_indices().skip(1).find(|(_, character)| {
                let is_end = *character == '"' && !escaped;
                escaped = *character == '\\' && !escaped;
                is_end
            });
            let end = end
                .ok_or_else(|| format!("{text}: a literal that does not end"))?
                .0
                + 1;
            let rest = &text[end..];
            Ok(end
                + match rest.as_bytes() {
                    [b'^', b'^', b'<', ..] => up_to(rest, '>')
                        .ok_or_else(|| format!("{rest}: an IRI that does not end"))?,
                    [b'^', ..] => return Err(format!("{rest}: write the datatype as ^^<IRI>")),
                    [b'@', ..] => word_length(&rest[1..]) + 1,
                    _ => 0,
                })
        }
        _ => match word_length(text) {
            0 => Err(format!("{text}: not understood")),
            length => Ok(length),
        },
    }
}

/// Letters, digits and what names may have between them; a dot at the end is none.
fn word_length(text: &str) -> usize {
    let is_of_word = |c: char| c.is_alphanumeric() || "_-:?@.%".contains(c);
    let end = text.find(|c| !is_of_word(c)).unwrap_or(text.len());
    text[..end].trim_end_matches('.').len()
}

struct Parser<'a> {
    tokens: Vec<(usize, &'a str)>,
    next: usize,
    prefixes: BTreeMap<&'a str, String>,
    /// Of the rule that is being read.
    variables: Vec<&'a str>,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.tokens.get(self.next).map(|(_, token)| *token)
    }

    fn error<T>(&self, reason: impl Into<String>) -> Result<T, RuleError> {
        let place = self
            .next
            .saturating_sub(1)
            .min(self.tokens.len().saturating_sub(1));
        Err(RuleError {
            line: self.tokens.get(place).map_or(1, |(line, _)| *line),
            reason: reason.into(),
        })
    }

    fn take(&mut self) -> Result<&'a str, RuleError> {
        let token = self.peek();
        self.next += 1;
        match token {
            Some(token) => Ok(token),
            None => self.error("the text ends within a rule"),
        }
    }

    fn expect(&mut self, expected: &str) -> Result<(), RuleError> {
        let token = self.take()?;
        if token == expected {
            return Ok(());
        }
        self.error(format!("{token:?} where {expected:?} is expected"))
    }

    fn prefix(&mut self) -> Result<(), RuleError> {
        self.take()?;
        let name = self.take()?;
        let Some(name) = name.strip_suffix(':') else {
            return self.error(format!("{name:?} where a name and a colon are expected"));
        };
        let iri = self.take()?;
        match NamedNode::from_str(iri) {
            Ok(iri) => self.prefixes.insert(name, iri.into_string()),
            Err(error) => return self.error(format!("{iri}: {error}")),
        };
        self.expect(".")
    }

    fn rule(&mut self) -> Result<UserRule, RuleError> {
        self.variables.clear();
        let head = self.triple()?;
        let arrow = self.take()?;
        if !["<-", ":-"].contains(&arrow) {
            return self.error(format!("{arrow:?} where \"<-\" is expected"));
        }
        let mut rule = UserRule {
            head,
            body: Vec::new(),
            differ: Vec::new(),
        };
        loop {
            if self.peek() == Some("(") {
                rule.body.push(self.triple()?);
            } else {
                let left = self.variable()?;
                self.expect("!=")?;
                rule.differ.push((left, self.part()?));
            }
            match self.take()? {
                "," => {}
                "." => break,
                token => return self.error(format!("{token:?} where \",\" or \".\" is expected")),
            }
        }
        if let Some(free) = rule.free_variable() {
            let name = self.variables[free];
            return self.error(format!("{name} occurs in no triple of the rule's body"));
        }
        if rule.body.is_empty() {
            return self.error("a rule without a triple in its body");
        }
        Ok(rule)
    }

    fn triple(&mut self) -> Result<[Part; 3], RuleError> {
        self.expect("(")?;
        let triple = [self.part()?, self.part()?, self.part()?];
        self.expect(")")?;
        match check_triple(&triple) {
            Ok(()) => Ok(triple),
            Err(reason) => self.error(reason),
        }
    }

    fn variable(&mut self) -> Result<usize, RuleError> {
        let token = self.take()?;
        if token.len() < 2 || !token.starts_with('?') {
            return self.error(format!(
                "{token:?} where a triple or a variable is expected"
            ));
        }
        let known = self.variables.iter().position(|known| *known == token);
        Ok(known.unwrap_or_else(|| {
            self.variables.push(token);
            self.variables.len() - 1
        }))
    }

    fn part(&mut self) -> Result<Part, RuleError> {
        let token = match self.peek() {
            Some(token) if token.starts_with('?') => return self.variable().map(Part::Variable),
            _ => self.take()?,
        };
        if token == "a" {
            return Ok(Part::Term(oxrdf::vocab::rdf::TYPE.into_owned().into()));
        }
        let term = if token.starts_with(['<', '"']) {
            Term::from_str(token).map_err(|error| error.to_string())
        } else if let Some((prefix, name)) = token.split_once(':') {
            match self.prefixes.get(prefix) {
                Some(iri) => NamedNode::new(format!("{iri}{name}"))
                    .map(Term::from)
                    .map_err(|error| error.to_string()),
                None => Err(format!("the prefix {prefix}: is not declared")),
            }
        } else {
            Err("not a term".to_owned())
        };
        match term {
            Ok(term) => Ok(Part::Term(term)),
            Err(reason) => self.error(format!("{token}: {reason}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_a_line_and_a_reason() {
        let cases = [
            ("(?x ex:p ?y) <- (?x ex:q ?y) .", 1, "prefix ex:"),
            (
                "prefix ex: <http://example.org/> .\n(?x ex:p ?y)\n<- (?x ex:q ?z) .",
                3,
                "?y",
            ),
            ("(?x <http://example.org/p> ?y) <-", 1, "ends"),
            ("(?x <http://example.org/p> ?y .", 1, ")"),
            ("(?x \"p\" ?y) <- (?x ?p ?y) .", 1, "predicate"),
            ("(\"s\" ?p ?y) <- (?x ?p ?y) .", 1, "subject"),
            ("(?x a ?y) <- ?x != ?y .", 1, "?x"),
            ("(?x a ?y) <- (?x a ?y), ?x = ?y .", 1, "="),
            ("(?x a \"open) <- (?x a ?y) .", 1, "end"),
            ("(?x a <http://open) <- (?x a ?y) .", 1, ""),
            ("(?x a <relative>) <- (?x a ?y) .", 1, "IRI"),
            ("(?x a \"1\"^^xsd:integer) <- (?x a ?y) .", 1, "datatype"),
        ];
        for (text, line, reason) in cases {
            let error = text.parse::<UserRules>().expect_err(text);
            assert_eq!(error.line, line, "{text}: {error}");
            assert!(error.reason.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn every_text_ends_in_rules_or_an_error() {
        let text = "prefix ex: <http://example.org/> .\n(?x ex:p \"a\\\"b\"@en) :- (?x a ex:C.D), ?x != ?y, (?y ex:é ?x). # end";
        assert!(text.parse::<UserRules>().is_ok());
        for (start, _) in text.char_indices() {
            for (end, _) in text.char_indices().filter(|(end, _)| *end >= start) {
                // No panic.
                drop(text[start..end].parse::<UserRules>());
            }
        }
    }
}
