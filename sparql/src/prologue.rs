//! The prefixes that a query declares, for showing its results: the parser resolves them and does not give them away.

use oxiri::Iri;
use std::sync::OnceLock;

/// The text and the base of a query, of which the prefixes are read when they are asked for: few ask.
#[derive(Debug, Default)]
pub struct Prologue {
    query: String,
    base: Option<String>,
    prefixes: OnceLock<Vec<(String, String)>>,
}

impl Prologue {
    /// Of a query that was parsed.
    pub fn new(query: &str, base: Option<&str>) -> Self {
        Self {
            query: query.to_owned(),
            base: base.map(str::to_owned),
            prefixes: OnceLock::new(),
        }
    }

    /// The prefixes: names without the colon, and IRIs.
    pub fn prefixes(&self) -> &[(String, String)] {
        self.prefixes
            .get_or_init(|| prefixes(&self.query, self.base.as_deref()))
    }
}

/// The prefixes of a query that was parsed, in its order: names without the colon, and IRIs resolved against the base. A
/// declaration that cannot be read here (with an escape in its IRI) is left out.
fn prefixes(query: &str, base: Option<&str>) -> Vec<(String, String)> {
    let mut prefixes = Vec::new();
    let mut base = base.and_then(|base| Iri::parse(base.to_owned()).ok());
    let mut rest = query;
    loop {
        rest = skip_space(rest);
        let word_end = rest
            .find(|character: char| !character.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at(word_end);
        let after = skip_space(after);
        if word.eq_ignore_ascii_case("BASE") {
            let Some((iri, after)) = iri(after) else {
                return prefixes;
            };
            base = resolve(base.as_ref(), iri);
            rest = after;
        } else if word.eq_ignore_ascii_case("PREFIX") {
            let Some((name, after)) = after.split_once(':') else {
                return prefixes;
            };
            let Some((iri, after)) = iri(skip_space(after)) else {
                return prefixes;
            };
            if let Some(iri) = resolve(base.as_ref(), iri) {
                // A later declaration of a name takes the earlier one's place.
                prefixes.retain(|(known, _)| known != name);
                prefixes.push((name.to_owned(), iri.into_inner()));
            }
            rest = after;
        } else if word.eq_ignore_ascii_case("VERSION") {
            let Some(quote @ ('"' | '\'')) = after.chars().next() else {
                return prefixes;
            };
            let Some((_, after)) = after[1..].split_once(quote) else {
                return prefixes;
            };
            rest = after;
        } else {
            return prefixes;
        }
    }
}

/// What follows white space and comments.
fn skip_space(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        match text.strip_prefix('#') {
            Some(comment) => text = comment.find(['\n', '\r']).map_or("", |end| &comment[end..]),
            None => return text,
        }
    }
}

/// The IRI in brackets at the start, and what follows.
fn iri(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('<')?.split_once('>')
}

fn resolve(base: Option<&Iri<String>>, iri: &str) -> Option<Iri<String>> {
    match base {
        Some(base) => base.resolve(iri).ok(),
        None => Iri::parse(iri.to_owned()).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::prefixes;

    #[test]
    fn declarations_are_found_up_to_the_query() {
        let query = "# PREFIX no: <e:no>\nBASE <http://e/a/> prefix x:<b#>\n PREFIX : # why\n <e:empty#> \
                     VERSION \"1.2\" PREFIX x.y-z: <> PREFIX x: <e:later>\
                     SELECT * { ?s x:p \"PREFIX q: <e:q>\" }";
        let found = prefixes(query, None);
        let expected = [("", "e:empty#"), ("x.y-z", "http://e/a/"), ("x", "e:later")];
        let expected = expected.map(|(name, iri)| (name.to_owned(), iri.to_owned()));
        assert_eq!(found, expected);
        assert!(spargebra::SparqlParser::new().parse_query(query).is_ok());
    }

    #[test]
    fn what_cannot_be_read_is_left_out() {
        for query in [
            "",
            "PREFIX",
            "PREFIX x",
            "BASE <",
            "VERSION 1",
            "PREFIX x: y",
            "#",
            "ASK {}",
        ] {
            assert!(prefixes(query, None).is_empty(), "{query}");
        }
        let relative = prefixes("PREFIX x: <y#> ASK {}", Some("http://e/"));
        assert_eq!(relative, [("x".to_owned(), "http://e/y#".to_owned())]);
    }
}
