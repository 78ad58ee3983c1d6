//! The bytes of a triple term (RDF 1.2) in a batch.
//!
//! ```text
//! offset  bytes  what
//!      0      1  depth: 1 if no part is a triple term, otherwise 1 more than the deepest part
//!      1      .  subject
//!      .      .  predicate
//!      .      .  object
//!
//! part of a vocabulary kind       part that is a blank node      part of an inline kind      part that is a triple term
//!   1  kind                         1  kind                        1  kind                     1  kind
//!   4  length of the lexical form   4  length                      8  id                       4  length
//!   4  length of the annotation     .  document number, label                                  .  these bytes again
//!   .  lexical form
//!   .  annotation
//! ```
//!
//! Integers are little-endian, but for the document number of a blank node (big-endian, see [`crate::batch`]). The
//! depth comes first so that sorting the bytes brings inner triple terms before those that hold them.

use quadrille_store::{Kind, TermId};

/// The deepest nesting of triple terms that is accepted.
pub const DEPTH_MAX: u8 = 64;

/// A part of a triple term, or what a part is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part<'a> {
    /// An IRI or a literal that is not inline.
    Vocabulary {
        /// A vocabulary kind.
        kind: Kind,
        /// The IRI or the lexical form.
        lexical: &'a [u8],
        /// The annotation, see [`quadrille_store::term`].
        annotation: &'a [u8],
    },
    /// A blank node: document number, label.
    Blank(&'a [u8]),
    /// A literal that is its own id.
    Inline(TermId),
    /// A triple term.
    Triple(&'a [u8]),
}

/// Appends the bytes of a triple term to `out`; `None` (and nothing appended) if it would be nested more than
/// [`DEPTH_MAX`] deep.
pub fn encode(parts: [Part<'_>; 3], out: &mut Vec<u8>) -> Option<()> {
    let inner = parts
        .iter()
        .map(|part| match part {
            Part::Triple(bytes) => bytes.first().copied().unwrap_or(0),
            _ => 0,
        })
        .max()
        .unwrap_or(0);
    if inner >= DEPTH_MAX {
        return None;
    }
    out.push(inner + 1);
    for part in parts {
        match part {
            Part::Vocabulary {
                kind,
                lexical,
                annotation,
            } => {
                out.push(kind as u8);
                out.extend_from_slice(&(lexical.len() as u32).to_le_bytes());
                out.extend_from_slice(&(annotation.len() as u32).to_le_bytes());
                out.extend_from_slice(lexical);
                out.extend_from_slice(annotation);
            }
            Part::Blank(bytes) => {
                out.push(Kind::Blank as u8);
                out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
                out.extend_from_slice(bytes);
            }
            Part::Inline(id) => {
                let kind = id.kind().expect("an inline id has a kind");
                out.push(kind as u8);
                out.extend_from_slice(&id.bits().to_le_bytes());
            }
            Part::Triple(bytes) => {
                out.push(Kind::Triple as u8);
                out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
                out.extend_from_slice(bytes);
            }
        }
    }
    Some(())
}

/// The three parts of a triple term; `None` if the bytes are not one.
pub fn decode(bytes: &[u8]) -> Option<[Part<'_>; 3]> {
    let (_, mut rest) = bytes.split_first()?;
    let parts = [part(&mut rest)?, part(&mut rest)?, part(&mut rest)?];
    rest.is_empty().then_some(parts)
}

/// How deep the triple term is nested: 1 if no part is a triple term.
pub fn depth(bytes: &[u8]) -> u8 {
    bytes.first().copied().unwrap_or(0)
}

fn part<'a>(rest: &mut &'a [u8]) -> Option<Part<'a>> {
    let (kind, after) = rest.split_first()?;
    *rest = after;
    let kind = Kind::from_u8(*kind)?;
    if kind.is_inline() {
        let id = TermId::from_bits(u64::from_le_bytes(take(rest, 8)?.try_into().ok()?));
        return (id.kind() == Some(kind)).then_some(Part::Inline(id));
    }
    let length = take_length(rest)?;
    match kind {
        Kind::Blank => Some(Part::Blank(take(rest, length)?)),
        Kind::Triple => Some(Part::Triple(take(rest, length)?)),
        kind if kind.is_vocabulary() => {
            let annotation_length = take_length(rest)?;
            Some(Part::Vocabulary {
                kind,
                lexical: take(rest, length)?,
                annotation: take(rest, annotation_length)?,
            })
        }
        _ => None,
    }
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(taken)
}

fn take_length(rest: &mut &[u8]) -> Option<usize> {
    Some(u32::from_le_bytes(take(rest, 4)?.try_into().ok()?) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quadrille_store::inline;

    fn iri(lexical: &[u8]) -> Part<'_> {
        Part::Vocabulary {
            kind: Kind::Iri,
            lexical,
            annotation: b"",
        }
    }

    #[test]
    fn bytes_are_as_the_map_says() {
        let mut bytes = Vec::new();
        let literal = Part::Vocabulary {
            kind: Kind::Literal,
            lexical: b"x",
            annotation: b"@en",
        };
        encode(
            [Part::Blank(b"\0\0\0\x07b"), iri(b"p"), literal],
            &mut bytes,
        )
        .unwrap();
        let expected = [
            &[1, 1, 5, 0, 0, 0, 0, 0, 0, 7, b'b'][..],
            &[2, 1, 0, 0, 0, 0, 0, 0, 0, b'p'],
            &[8, 1, 0, 0, 0, 3, 0, 0, 0, b'x', b'@', b'e', b'n'],
        ]
        .concat();
        assert_eq!(bytes, expected);
    }

    #[test]
    fn parts_come_back_and_inner_terms_sort_first() {
        let one = inline::encode("1", "http://www.w3.org/2001/XMLSchema#integer").unwrap();
        let mut inner = Vec::new();
        encode([iri(b"z"), iri(b"z"), Part::Inline(one)], &mut inner).unwrap();
        let mut outer = Vec::new();
        encode([iri(b"a"), iri(b"a"), Part::Triple(&inner)], &mut outer).unwrap();
        assert_eq!(
            decode(&outer).unwrap(),
            [iri(b"a"), iri(b"a"), Part::Triple(&inner)]
        );
        assert_eq!(
            decode(&inner).unwrap(),
            [iri(b"z"), iri(b"z"), Part::Inline(one)]
        );
        assert!(inner < outer);
        assert_eq!((depth(&inner), depth(&outer)), (1, 2));
    }

    #[test]
    fn cut_or_lengthened_bytes_are_refused() {
        let mut bytes = Vec::new();
        encode(
            [iri(b"s"), iri(b"p"), Part::Blank(b"\0\0\0\0o")],
            &mut bytes,
        )
        .unwrap();
        for length in 0..bytes.len() {
            assert_eq!(decode(&bytes[..length]), None, "{length} bytes");
        }
        bytes.push(0);
        assert_eq!(decode(&bytes), None);
    }

    #[test]
    fn nesting_has_a_limit() {
        let mut bytes = Vec::new();
        encode([iri(b"s"), iri(b"p"), iri(b"o")], &mut bytes).unwrap();
        for _ in 1..DEPTH_MAX {
            let inner = std::mem::take(&mut bytes);
            encode([iri(b"s"), iri(b"p"), Part::Triple(&inner)], &mut bytes).unwrap();
        }
        let mut out = Vec::new();
        assert_eq!(
            encode([iri(b"s"), iri(b"p"), Part::Triple(&bytes)], &mut out),
            None
        );
        assert!(out.is_empty());
    }
}
