//! `Style`: how results are shown to people.

/// Prefixes and colours.
#[derive(Clone, Debug, Default)]
pub struct Style {
    /// Names without the colon, and IRIs. Tables, Turtle and `TriG` write IRIs with these; of several with a name the first one
    /// counts.
    pub prefixes: Vec<(String, String)>,
    /// Whether tables have colours, as escape sequences of terminals.
    pub is_coloured: bool,
}

/// The prefixes in the sequence in which they are tried: the longest IRI first.
pub(super) struct Shortener {
    prefixes: Vec<(String, String)>,
}

impl Shortener {
    pub fn new(prefixes: &[(String, String)]) -> Self {
        let mut kept: Vec<(String, String)> = Vec::new();
        for (name, iri) in prefixes {
            if !iri.is_empty() && kept.iter().all(|(known, _)| known != name) {
                kept.push((name.clone(), iri.clone()));
            }
        }
        kept.sort_by_key(|(_, iri)| std::cmp::Reverse(iri.len()));
        Self { prefixes: kept }
    }

    /// The name of an IRI with a prefix, in two parts, if what is left needs no escapes.
    pub fn shorten<'a>(&'a self, iri: &'a str) -> Option<(&'a str, &'a str)> {
        self.prefixes.iter().find_map(|(name, start)| {
            let local = iri.strip_prefix(start.as_str())?;
            is_plain(local).then_some((name.as_str(), local))
        })
    }
}

/// Whether Turtle and SPARQL take this as a local name as it is. There are more, with escapes or rarer letters.
fn is_plain(local: &str) -> bool {
    let bytes = local.as_bytes();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) => {
            is_name(first)
                && *last != b'.'
                && bytes
                    .iter()
                    .all(|byte| is_name(byte) || matches!(byte, b'-' | b'.'))
        }
        _ => true,
    }
}
