//! The fast lexer of N-Triples and N-Quads: it recognises the plain shapes of a line, and nothing else.
//!
//! It takes a line only if `oxttl` takes it too and makes the same statement of it; what it does not
//! recognise is handed to `oxttl` ([`crate::parse::fallback`]), whose verdict stands. Plain are:
//! * absolute IRIs of plain characters ([`scan`]); others without `\` are asked of `oxiri`, as `oxttl` does;
//! * blank node labels of ASCII letters, digits, `_`, `-` and `.`;
//! * literals, escapes included; language tags are asked of `oxilangtag` the first time; datatypes but
//!   `rdf:langString` and `rdf:dirLangString`, which `oxttl` refuses;
//! * blanks (spaces and tabs) or none between terms, comments, empty lines; lines end with LF, CR LF or CR.
//!
//! Most lines repeat most of their bytes: a subject that is the last one's bytes again is neither validated nor
//! hashed; predicates are remembered across slices, together with the one that followed each; the
//! beginning of an IRI up to the path is remembered by position.

use crate::parse::builder::{BatchBuilder, Suffix};
use crate::parse::scan::{self, LABEL};
use memchr::{memchr2, memchr3};
use oxilangtag::LanguageTag;
use oxiri::Iri;

/// Predicates that are remembered, by their hash.
const PREDICATE_SLOTS: usize = 1024;
const NO_PREDICATE: u16 = u16::MAX;
const _: () = assert!(PREDICATE_SLOTS < NO_PREDICATE as usize);

/// The longest beginning of an IRI that is remembered, in bytes.
const PREFIX_MAX: usize = 64;

/// Language tags that are remembered as valid.
const LANGUAGE_SLOTS: usize = 64;

pub(super) const RDF_LANG_STRING: &[u8] = b"http://www.w3.org/1999/02/22-rdf-syntax-ns#langString";
pub(super) const RDF_DIR_LANG_STRING: &[u8] =
    b"http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString";

/// Bytes that a host may have: unreserved characters and sub-delimiters.
const HOST: [bool; 256] = {
    let mut host = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let ascii = byte as u8;
        host[byte] = ascii.is_ascii_alphanumeric()
            || matches!(
                ascii,
                b'-' | b'.'
                    | b'_'
                    | b'~'
                    | b'!'
                    | b'$'
                    | b'&'
                    | b'\''
                    | b'('
                    | b')'
                    | b'*'
                    | b'+'
                    | b','
                    | b';'
                    | b'='
            );
        byte += 1;
    }
    host
};

/// What a line was found to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Line {
    /// A statement, added to the batch.
    Statement,
    /// Nothing, or a comment.
    Empty,
}

/// A node of a line, by its bytes (without `<`, `>` and `_:`).
#[derive(Clone, Copy)]
pub(super) enum Node {
    Iri(usize, usize),
    Blank(usize, usize),
}

#[derive(Clone, Copy)]
pub(super) enum Subject {
    /// The same as in the line before.
    Same,
    Node(Node),
}

#[derive(Clone, Copy)]
enum Predicate {
    /// A remembered one, and where its IRI begins in the slice.
    Known(u16, usize),
    Iri(usize, usize),
}

#[derive(Clone, Copy)]
enum Object<'a> {
    Node(Node),
    Literal(usize, usize, Suffix<'a>),
    /// A literal with escapes; what it means stands in [`Lexer::unescaped`].
    Unescaped(Suffix<'a>),
}

/// A term that the next line may repeat: where it stands in the slice, brackets included, and its entry.
#[derive(Clone, Copy, Default)]
pub(super) struct Last {
    pub(super) start: usize,
    pub(super) length: usize,
    hash: u64,
    index: u32,
    generation: u64,
}

/// The beginning of an IRI, from its scheme to the `/` behind its authority, known to be valid.
pub(super) struct KnownPrefix {
    bytes: [u8; PREFIX_MAX],
    length: usize,
}

impl KnownPrefix {
    pub(super) fn new() -> Self {
        Self {
            bytes: [0; PREFIX_MAX],
            length: 0,
        }
    }
}

struct KnownPredicate {
    /// With its brackets.
    text: Box<[u8]>,
    hash: u64,
    generation: u64,
    index: u32,
    /// The predicate that followed this one last time.
    next: u16,
}

/// The fast lexer, with what it remembers from line to line.
pub(crate) struct Lexer {
    document: u32,
    with_graph: bool,
    subject: Last,
    graph: Last,
    predicates: Vec<KnownPredicate>,
    predicate_slots: Box<[u16]>,
    predicate: u16,
    subject_prefix: KnownPrefix,
    object_prefix: KnownPrefix,
    /// Of predicates and datatypes.
    other_prefix: KnownPrefix,
    graph_prefix: KnownPrefix,
    languages: Box<[Box<[u8]>]>,
    unescaped: Vec<u8>,
}

impl Lexer {
    pub(crate) fn new() -> Self {
        Self {
            document: 0,
            with_graph: false,
            subject: Last::default(),
            graph: Last::default(),
            predicates: Vec::new(),
            predicate_slots: vec![NO_PREDICATE; PREDICATE_SLOTS].into_boxed_slice(),
            predicate: NO_PREDICATE,
            subject_prefix: KnownPrefix::new(),
            object_prefix: KnownPrefix::new(),
            other_prefix: KnownPrefix::new(),
            graph_prefix: KnownPrefix::new(),
            languages: vec![Box::default(); LANGUAGE_SLOTS].into_boxed_slice(),
            unescaped: Vec::new(),
        }
    }

    /// Must be called before the first line of a slice: forgets what refers to the bytes of another.
    pub(crate) fn begin_slice(&mut self, document: u32, with_graph: bool) {
        self.document = document;
        self.with_graph = with_graph;
        self.subject = Last::default();
        self.graph = Last::default();
    }

    /// Reads the line at `at`: what it was and where the next begins, or `None` if it is not of a plain shape (the
    /// batch is untouched then). `data` is the slice with its padding, `length` the slice's length.
    #[inline]
    pub(crate) fn line(
        &mut self,
        data: &[u8],
        length: usize,
        at: usize,
        builder: &mut BatchBuilder,
    ) -> Option<(Line, usize)> {
        let mut at = skip_blanks(data, at);
        let subject = match data[at] {
            b'<' => {
                let last = &self.subject;
                if last.length != 0
                    && data[at..].starts_with(&data[last.start..last.start + last.length])
                {
                    at += last.length;
                    Subject::Same
                } else {
                    let end = iri_end(data, at + 1, &mut self.subject_prefix)?;
                    let node = Node::Iri(at + 1, end);
                    at = end + 1;
                    Subject::Node(node)
                }
            }
            b'_' => {
                let end = label_end(data, at)?;
                let node = Node::Blank(at + 2, end);
                at = end;
                Subject::Node(node)
            }
            b'\n' | b'\r' | b'#' => return Some((Line::Empty, line_end(data, length, at)?)),
            _ => return None,
        };

        at = skip_blanks(data, at);
        if data[at] != b'<' {
            return None;
        }
        let predicate;
        if let Some(known) = self.expected_predicate(data, at) {
            predicate = Predicate::Known(known, at + 1);
            at += self.predicates[known as usize].text.len();
        } else {
            let end = iri_end(data, at + 1, &mut self.other_prefix)?;
            predicate = Predicate::Iri(at + 1, end);
            at = end + 1;
        }

        at = skip_blanks(data, at);
        let object = match data[at] {
            b'<' => {
                let end = iri_end(data, at + 1, &mut self.object_prefix)?;
                let node = Node::Iri(at + 1, end);
                at = end + 1;
                Object::Node(node)
            }
            b'"' => {
                let start = at + 1;
                let (end, non_ascii) = scan::literal_stop(data, start);
                if data[end] == b'\\' {
                    let end = unescape(data, start, end, &mut self.unescaped)?;
                    let (suffix, after) = self.suffix(data, end + 1)?;
                    at = after;
                    Object::Unescaped(suffix)
                } else {
                    if data[end] != b'"'
                        || (non_ascii && std::str::from_utf8(&data[start..end]).is_err())
                    {
                        return None;
                    }
                    let (suffix, after) = self.suffix(data, end + 1)?;
                    at = after;
                    Object::Literal(start, end, suffix)
                }
            }
            b'_' => {
                let end = label_end(data, at)?;
                let node = Node::Blank(at + 2, end);
                at = end;
                Object::Node(node)
            }
            _ => return None,
        };

        at = skip_blanks(data, at);
        let mut graph = None;
        if data[at] != b'.' {
            if !self.with_graph {
                return None;
            }
            let (node, after) = self.graph_name(data, at)?;
            graph = Some(node);
            at = skip_blanks(data, after);
            if data[at] != b'.' {
                return None;
            }
        }
        let next = line_end(data, length, at + 1)?;

        let subject = self.add_subject(data, subject, builder);
        let predicate = self.add_predicate(data, predicate, builder);
        let object = match object {
            Object::Node(Node::Iri(start, end)) => builder.iri_in_slice(data, start, end).0,
            Object::Node(Node::Blank(start, end)) => {
                builder.blank(self.document, &data[start..end])
            }
            Object::Literal(start, end, suffix) => {
                builder.literal_in_slice(data, start, end, suffix)
            }
            Object::Unescaped(suffix) => builder.literal(&self.unescaped, suffix),
        };
        let graph = match graph {
            None => builder.default_graph(),
            Some(graph) => self.add_graph(data, graph, builder),
        };
        builder.push_quad(subject, predicate, object, graph);
        Some((Line::Statement, next))
    }

    /// A remembered predicate that stands at `at`: the one that followed the last one before, or the last one.
    #[inline]
    fn expected_predicate(&self, data: &[u8], at: usize) -> Option<u16> {
        let last = self.predicates.get(self.predicate as usize)?;
        if let Some(next) = self.predicates.get(last.next as usize)
            && data[at..].starts_with(&next.text)
        {
            return Some(last.next);
        }
        data[at..].starts_with(&last.text).then_some(self.predicate)
    }

    /// The suffix of a literal whose closing quote stands before `at`, and where it ends.
    #[inline]
    fn suffix<'a>(&mut self, data: &'a [u8], at: usize) -> Option<(Suffix<'a>, usize)> {
        match data[at] {
            b'@' => {
                let start = at + 1;
                let mut end = start;
                while data[end].is_ascii_alphanumeric() || data[end] == b'-' {
                    end += 1;
                }
                let tag = &data[start..end];
                self.is_language(tag)
                    .then_some((Suffix::Language(tag), end))
            }
            b'^' => {
                if data[at + 1] != b'^' || data[at + 2] != b'<' {
                    return None;
                }
                let start = at + 3;
                let end = iri_end(data, start, &mut self.other_prefix)?;
                let datatype = &data[start..end];
                if datatype == RDF_LANG_STRING || datatype == RDF_DIR_LANG_STRING {
                    return None;
                }
                Some((Suffix::Datatype(datatype), end + 1))
            }
            _ => Some((Suffix::Plain, at)),
        }
    }

    /// Whether a tag of letters, digits and hyphens is one that `oxttl` reads whole and takes.
    #[inline]
    pub(super) fn is_language(&mut self, tag: &[u8]) -> bool {
        let hash = |hash: usize, byte: &u8| hash.wrapping_mul(31) ^ usize::from(*byte);
        let slot = tag.iter().fold(tag.len(), hash) % LANGUAGE_SLOTS;
        if *self.languages[slot] == *tag && !tag.is_empty() {
            return true;
        }
        let first = tag.split(|byte| *byte == b'-').next().unwrap_or_default();
        let valid = first.iter().all(u8::is_ascii_alphabetic)
            && std::str::from_utf8(tag).is_ok_and(|tag| LanguageTag::parse(tag).is_ok());
        if valid {
            self.languages[slot] = tag.into();
        }
        valid
    }

    fn graph_name(&mut self, data: &[u8], at: usize) -> Option<(Subject, usize)> {
        match data[at] {
            b'<' => {
                let last = &self.graph;
                if last.length != 0
                    && data[at..].starts_with(&data[last.start..last.start + last.length])
                {
                    return Some((Subject::Same, at + last.length));
                }
                let end = iri_end(data, at + 1, &mut self.graph_prefix)?;
                Some((Subject::Node(Node::Iri(at + 1, end)), end + 1))
            }
            b'_' => {
                let end = label_end(data, at)?;
                Some((Subject::Node(Node::Blank(at + 2, end)), end))
            }
            _ => None,
        }
    }

    #[inline]
    fn add_subject(&mut self, data: &[u8], subject: Subject, builder: &mut BatchBuilder) -> u32 {
        add_repeatable(data, subject, &mut self.subject, self.document, builder)
    }

    #[inline]
    fn add_graph(&mut self, data: &[u8], graph: Subject, builder: &mut BatchBuilder) -> u32 {
        add_repeatable(data, graph, &mut self.graph, self.document, builder)
    }

    #[inline]
    fn add_predicate(
        &mut self,
        data: &[u8],
        predicate: Predicate,
        builder: &mut BatchBuilder,
    ) -> u32 {
        let (known, start) = match predicate {
            Predicate::Known(known, start) => (known, start),
            Predicate::Iri(start, end) => {
                let (index, hash) = builder.iri_in_slice(data, start, end);
                let known = self.remember_predicate(&data[start - 1..=end], hash);
                self.predicates[known as usize].index = index;
                self.predicates[known as usize].generation = builder.generation();
                (known, start)
            }
        };
        if known != self.predicate {
            if let Some(last) = self.predicates.get_mut(self.predicate as usize) {
                last.next = known;
            }
            self.predicate = known;
        }
        let predicate = &mut self.predicates[known as usize];
        if predicate.generation != builder.generation() {
            let length = predicate.text.len() - 2;
            predicate.index = builder.push_known_iri(predicate.hash, start, length);
            predicate.generation = builder.generation();
        }
        predicate.index
    }

    fn remember_predicate(&mut self, text: &[u8], hash: u64) -> u16 {
        let slot = hash as usize % PREDICATE_SLOTS;
        let known = self.predicate_slots[slot];
        if let Some(predicate) = self.predicates.get(known as usize)
            && predicate.hash == hash
            && *predicate.text == *text
        {
            return known;
        }
        let predicate = KnownPredicate {
            text: text.into(),
            hash,
            generation: 0,
            index: 0,
            next: NO_PREDICATE,
        };
        if known != NO_PREDICATE {
            // It takes the place of the one in its slot; who expects that finds other bytes.
            self.predicates[known as usize] = predicate;
            return known;
        }
        let number = self.predicates.len() as u16;
        self.predicates.push(predicate);
        self.predicate_slots[slot] = number;
        number
    }
}

#[inline]
pub(super) fn add_repeatable(
    data: &[u8],
    node: Subject,
    last: &mut Last,
    document: u32,
    builder: &mut BatchBuilder,
) -> u32 {
    match node {
        Subject::Same => {
            if last.generation != builder.generation() {
                let length = last.length - 2;
                last.index = builder.push_known_iri(last.hash, last.start + 1, length);
                last.generation = builder.generation();
            }
            last.index
        }
        Subject::Node(Node::Iri(start, end)) => {
            let (index, hash) = builder.iri_in_slice(data, start, end);
            *last = Last {
                start: start - 1,
                length: end - start + 2,
                hash,
                index,
                generation: builder.generation(),
            };
            index
        }
        Subject::Node(Node::Blank(start, end)) => {
            last.length = 0;
            builder.blank(document, &data[start..end])
        }
    }
}

#[inline]
fn skip_blanks(data: &[u8], mut at: usize) -> usize {
    while matches!(data[at], b' ' | b'\t') {
        at += 1;
    }
    at
}

/// Where the next line begins, if from `at` on this one has nothing but blanks and a comment.
#[inline]
fn line_end(data: &[u8], length: usize, at: usize) -> Option<usize> {
    let mut at = skip_blanks(data, at);
    if data[at] == b'#' {
        at += memchr2(b'\r', b'\n', &data[at..=length])?;
    }
    match data[at] {
        b'\n' => Some((at + 1).min(length)),
        b'\r' if data[at + 1] == b'\n' => Some((at + 2).min(length)),
        b'\r' => Some(at + 1),
        _ => None,
    }
}

/// Where the label of the blank node at `at` (its `_`) ends, if it is plain.
#[inline]
pub(super) fn label_end(data: &[u8], at: usize) -> Option<usize> {
    let start = at + 2;
    if data[at + 1] != b':' || !LABEL[data[start] as usize] || matches!(data[start], b'-' | b'.') {
        return None;
    }
    let mut end = start + 1;
    while LABEL[data[end] as usize] {
        end += 1;
    }
    if !data[end].is_ascii() {
        return None;
    }
    // Dots at the end belong to what follows.
    while data[end - 1] == b'.' {
        end -= 1;
    }
    Some(end)
}

/// Resolves the escapes of a literal that begins at `start` and has its first `\` at `escape`; gives where its
/// closing quote stands.
pub(super) fn unescape(
    data: &[u8],
    start: usize,
    escape: usize,
    out: &mut Vec<u8>,
) -> Option<usize> {
    out.clear();
    let (mut start, mut at) = (start, escape);
    loop {
        out.extend_from_slice(&data[start..at]);
        match data[at] {
            b'"' => return std::str::from_utf8(out).is_ok().then_some(at),
            b'\\' => {}
            _ => return None,
        }
        let (character, length) = match data[at + 1] {
            b't' => ('\t', 2),
            b'b' => ('\x08', 2),
            b'n' => ('\n', 2),
            b'r' => ('\r', 2),
            b'f' => ('\x0C', 2),
            quoted @ (b'"' | b'\'' | b'\\') => (char::from(quoted), 2),
            b'u' => (hexadecimal(data.get(at + 2..at + 6)?)?, 6),
            b'U' => (hexadecimal(data.get(at + 2..at + 10)?)?, 10),
            _ => return None,
        };
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        start = at + length;
        at = scan::literal_stop(data, start).0;
    }
}

fn hexadecimal(digits: &[u8]) -> Option<char> {
    let mut code = 0;
    for digit in digits {
        code = code << 4 | char::from(*digit).to_digit(16)?;
    }
    char::from_u32(code)
}

/// Where the IRI that begins at `start` ends (at its `>`), if it is one that `oxttl` takes as it stands.
#[inline]
pub(super) fn iri_end(data: &[u8], start: usize, prefix: &mut KnownPrefix) -> Option<usize> {
    let known = &prefix.bytes[..prefix.length];
    let from = if prefix.length != 0 && data[start..].starts_with(known) {
        start + prefix.length
    } else {
        match authority_end(data, start, prefix) {
            Some(end) => end,
            None => return odd_iri_end(data, start),
        }
    };
    let mut end = scan::iri_stop(data, from);
    if data[end] == b'#' {
        end = scan::iri_stop(data, end + 1);
    }
    if data[end] == b'>' {
        return Some(end);
    }
    odd_iri_end(data, start)
}

/// The end of scheme and authority, if they are plain; remembers them.
fn authority_end(data: &[u8], start: usize, prefix: &mut KnownPrefix) -> Option<usize> {
    if !data[start].is_ascii_alphabetic() {
        return None;
    }
    let mut at = start + 1;
    while data[at].is_ascii_alphanumeric() || matches!(data[at], b'+' | b'-' | b'.') {
        at += 1;
    }
    if data[at] != b':' {
        return None;
    }
    at += 1;
    if data[at] != b'/' || data[at + 1] != b'/' {
        return Some(at);
    }
    at += 2;
    while HOST[data[at] as usize] {
        at += 1;
    }
    if data[at] == b':' {
        at += 1;
        while data[at].is_ascii_digit() {
            at += 1;
        }
    }
    match data[at] {
        b'/' => {
            let known = &data[start..=at];
            if known.len() <= PREFIX_MAX {
                prefix.bytes[..known.len()].copy_from_slice(known);
                prefix.length = known.len();
            }
            Some(at)
        }
        b'?' | b'#' | b'>' => Some(at),
        _ => None,
    }
}

/// The end of an IRI that is not plain, but valid and without `\`.
#[cold]
fn odd_iri_end(data: &[u8], start: usize) -> Option<usize> {
    let end = start + memchr3(b'>', b'\\', b'\n', &data[start..])?;
    if data[end] != b'>' {
        return None;
    }
    let iri = std::str::from_utf8(&data[start..end]).ok()?;
    Iri::parse(iri).is_ok().then_some(end)
}
