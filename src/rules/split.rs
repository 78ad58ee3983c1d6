//! Divides a text into its queries.
//!
//! Each query is given with the text before it blanked, but for its line ends and the prologues of the queries before it: so
//! prologues hold on, and the parser's lines are those of the whole text.

/// A query of a text.
#[derive(Debug)]
pub struct Part {
    /// The query, ready to be parsed.
    pub text: String,
    /// The line on which it begins, from 1.
    pub line: usize,
}

/// What stands at a place outside of braces.
enum Token {
    Semicolon,
    Construct,
    Other,
}

/// Whether a text holds CONSTRUCT queries (and not rules in the reasoner's own syntax).
pub fn is_construct(text: &str) -> bool {
    let mut found = false;
    each_token(text, &mut |_, token| {
        found |= matches!(token, Token::Construct);
    });
    found
}

/// The queries of a text; nothing is checked.
pub fn split(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    // What stays of the text before the query.
    let mut before = String::new();
    let (mut start, mut prologue_end, mut first) = (0, None, None);
    let mut end_at =
        |start: usize, end: usize, prologue_end: Option<usize>, first: Option<usize>| {
            if let Some(first) = first {
                parts.push(Part {
                    text: format!("{before}{}", &text[start..end]),
                    line: 1 + text[..first].matches('\n').count(),
                });
            }
            let kept = prologue_end.unwrap_or(start);
            before.push_str(&text[start..kept]);
            let blank = |character| if character == '\n' { '\n' } else { ' ' };
            // The semicolon is blanked as well.
            before.extend(text[kept..(end + 1).min(text.len())].chars().map(blank));
        };
    each_token(text, &mut |place, token| match token {
        Token::Semicolon => {
            end_at(start, place, prologue_end, first);
            (start, prologue_end, first) = (place + 1, None, None);
        }
        Token::Construct => {
            prologue_end.get_or_insert(place);
            first.get_or_insert(place);
        }
        Token::Other => {
            first.get_or_insert(place);
        }
    });
    end_at(start, text.len(), prologue_end, first);
    parts
}

/// Calls `each` with the places of words and signs outside of braces; white space, comments, IRIs and strings are passed over.
fn each_token(text: &str, each: &mut dyn FnMut(usize, Token)) {
    let mut depth = 0_usize;
    let mut place = 0;
    while let Some(character) = text[place..].chars().next() {
        let rest = &text[place..];
        let (length, token) = match character {
            '#' => (rest.find('\n').unwrap_or(rest.len()), None),
            '"' | '\'' => (string_length(rest, character), Some(Token::Other)),
            '<' => (iri_length(rest), Some(Token::Other)),
            '{' => {
                depth += 1;
                (1, Some(Token::Other))
            }
            '}' => {
                depth = depth.saturating_sub(1);
                (1, Some(Token::Other))
            }
            ';' => (1, Some(Token::Semicolon)),
            character if character.is_whitespace() => (character.len_utf8(), None),
            character if is_of_word(character) => {
                let length = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
                let is_construct = rest[..length].eq_ignore_ascii_case("CONSTRUCT");
                (
                    length,
                    Some(if is_construct {
                        Token::Construct
                    } else {
                        Token::Other
                    }),
                )
            }
            character => (character.len_utf8(), Some(Token::Other)),
        };
        if let Some(token) = token.filter(|_| depth == 0) {
            each(place, token);
        }
        place += length;
    }
}

/// Characters of words, and of names with prefixes: `ex:construct` is no keyword.
fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || "_-:?$".contains(character)
}

/// Of an IRI in brackets, or of a sign of comparison.
fn iri_length(text: &str) -> usize {
    let end = text[1..].find(|c: char| c == '>' || c.is_whitespace() || "<\"{}|^`".contains(c));
    match end {
        Some(end) if text[1 + end..].starts_with('>') => end + 2,
        _ => 1,
    }
}

/// Of a string, with one quote or three; of one that does not end, all that is left.
fn string_length(text: &str, quote: char) -> usize {
    let long = quote.to_string().repeat(3);
    let delimiter = if text.starts_with(&long) {
        &long[..]
    } else {
        &long[..1]
    };
    let mut place = delimiter.len();
    while let Some(character) = text[place..].chars().next() {
        if text[place..].starts_with(delimiter) {
            return place + delimiter.len();
        }
        place += character.len_utf8();
        if character == '\\' {
            place += text[place..].chars().next().map_or(0, char::len_utf8);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_divided_where_semicolons_stand_alone() {
        let text = "PREFIX : <http://e/;> # ;\nCONSTRUCT { ?x :p \";\" ; :q '''a;'b''' } { ?x a :C FILTER(?x < 3) };\n\
                    PREFIX e: <http://e/>\nconstruct { ?x a e:construct } { ?x ?p \"\\\";\" } ; # the end\n";
        let parts = split(text);
        assert_eq!(parts.len(), 2, "{parts:#?}");
        assert_eq!((parts[0].line, parts[1].line), (1, 3));
        assert!(parts[0].text.ends_with('}'), "{parts:#?}");
        // The second has both prologues, and its own lines.
        assert_eq!(parts[1].text.matches("http://e/").count(), 2, "{parts:#?}");
        assert_eq!(
            parts[1]
                .text
                .find("construct")
                .map(|at| parts[1].text[..at].matches('\n').count()),
            Some(3)
        );
        assert!(!parts[1].text.contains("CONSTRUCT"));
        assert!(is_construct(text));
        assert!(!is_construct(
            "prefix construct: <http://e/construct> .\n(?x a construct:a) <- (?x a \"CONSTRUCT\") ."
        ));
    }

    #[test]
    fn every_text_ends() {
        let text = "BASE <é> CONSTRUCT { ?x a 'é\\'' } { ?x a \"\"\"\\\"\"\"\" . } ; < <a;> }}";
        for (start, _) in text.char_indices() {
            for (end, _) in text.char_indices().filter(|(end, _)| *end >= start) {
                // No panic, and nothing is lost.
                let parts = split(&text[start..end]);
                assert!(parts.iter().all(|part| part.text.len() <= end - start));
            }
        }
    }
}
