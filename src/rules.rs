//! Rules of inference that are written as SPARQL: `CONSTRUCT { head } WHERE { body }`.
//!
//! ```text
//! PREFIX ex: <http://example.org/>
//! CONSTRUCT { ?x ex:uncle ?z } WHERE { ?x ex:father ?y . ?y ex:brother ?z FILTER(?y != ?z) } ;
//! CONSTRUCT { ?x a ex:Parent } WHERE { { ?x ex:son ?y } UNION { ?x ex:daughter ?y } }
//!
//! text -> queries (split.rs) -> SPARQL's algebra (spargebra) -> alternatives (translate.rs) -> rules over triples (reason)
//! ```
//!
//! Queries are separated by `;`, and a prologue holds for what follows it, as in SPARQL Update. Understood is what is Datalog over
//! triples: basic graph patterns (blank nodes in them are variables), groups, UNION, VALUES, and FILTER with `sameTerm`, `=`,
//! `!=`, `IN`, `NOT IN`, `&&`, `||` and `!`. SPARQL compares literals by value, rules compare terms: so `=` and `!=` must have an
//! IRI on one side, or a variable that is the subject or predicate of a triple. All else is an error that names it: no rule
//! means anything else than its query does when it is asked until nothing is new.
//!
//! It is here, not in the reasoner, because that knows no SPARQL.

mod split;
mod translate;

pub use split::is_construct;

use quadrille_reason::UserRules;
use spargebra::{Query, SparqlParser};
use split::split;

/// What is wrong with a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConstructError {
    /// The rule, from 1.
    pub rule: usize,
    /// The line on which it begins, from 1.
    pub line: usize,
    /// What is wrong.
    pub reason: String,
}

impl std::fmt::Display for ConstructError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { rule, line, reason } = self;
        write!(f, "rule {rule} (line {line}): {reason}")
    }
}

impl std::error::Error for ConstructError {}

/// The rules that a text of CONSTRUCT queries stands for.
///
/// ```
/// use quadrille::reason::{InferOptions, Profile, infer};
///
/// let rules = quadrille::rules::from_construct(
///     "PREFIX : <http://example.org/>
///      CONSTRUCT { ?x :ancestor ?z } WHERE { ?x :parent ?y . ?y :ancestor ?z } ;
///      CONSTRUCT { ?x :ancestor ?y } WHERE { ?x :parent ?y }",
/// )?;
/// let options = InferOptions { rules, ..InferOptions::new(Profile::None) };
/// let report = infer(&quadrille::Store::in_memory(), &options)?;
/// assert_eq!(report.rules, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ConstructError`]: a query cannot be read, or has what no rule has.
pub fn from_construct(text: &str) -> Result<UserRules, ConstructError> {
    let mut rules = UserRules::default();
    for (place, part) in split(text).into_iter().enumerate() {
        let error = |reason: String| ConstructError {
            rule: place + 1,
            line: part.line,
            reason,
        };
        let query = SparqlParser::new().parse_query(&part.text);
        let query = query.map_err(|parse_error| error(parse_error.to_string()))?;
        let Query::Construct {
            template,
            dataset,
            pattern,
            ..
        } = &query
        else {
            return Err(error("a rule is a CONSTRUCT query".to_owned()));
        };
        if dataset.is_some() {
            return Err(error(
                "FROM: rules are over the graphs that the inference has".to_owned(),
            ));
        }
        for rule in translate::rules(template, pattern).map_err(error)? {
            rules.push(rule);
        }
    }
    Ok(rules)
}

#[cfg(test)]
mod tests;
