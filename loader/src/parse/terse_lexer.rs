//! The fast lexer of Turtle: it recognises statements of plain shapes, and nothing else.
//!
//! It takes a statement only if `oxttl` takes it too and makes the same triples of it; where it does not
//! recognise one, [`crate::parse::terse`] hands that to `oxttl`, whose verdict stands. Plain are:
//! * absolute IRIs, blank node labels and literals in double quotes as [`crate::parse::lexer`] takes them;
//! * prefixed names of ASCII letters, digits, `_`, `-` and inner dots, their prefix declared, with a path;
//! * `a`, numbers, `true` and `false`; lists of predicates and objects; white space and comments.
//!
//! What always holds: a statement is first recognised to its dot and only then added, a triple at a time, so
//! that a batch may end between two triples and never has a term of a statement that is refused.

use crate::batch::hash_with_seed;
use crate::parse::builder::{BatchBuilder, Suffix};
use crate::parse::lexer::{
    self, KnownPrefix, Last, Lexer, Node, RDF_DIR_LANG_STRING, RDF_LANG_STRING, Subject,
};
use crate::parse::scan::{self, LABEL};
use memchr::memchr2;
use oxiri::Iri;
use quadrille_store::Kind;
use std::collections::{BTreeMap, HashMap};

/// Prefixed names whose IRIs are remembered, of predicates and datatypes, and of subjects and objects.
const PREDICATE_SLOTS: usize = 256;
const NODE_SLOTS: usize = 1024;

/// Prefixes that are found without the table of all.
const RECENT_SLOTS: usize = 64;

/// A statement of more triples is not plain: what was recognised of it is held until its end.
const TRIPLES_MAX: usize = 1 << 16;

const RDF_TYPE: &[u8] = b"http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
const XSD_INTEGER: &[u8] = b"http://www.w3.org/2001/XMLSchema#integer";
const XSD_DECIMAL: &[u8] = b"http://www.w3.org/2001/XMLSchema#decimal";
const XSD_DOUBLE: &[u8] = b"http://www.w3.org/2001/XMLSchema#double";
const XSD_BOOLEAN: &[u8] = b"http://www.w3.org/2001/XMLSchema#boolean";

/// A node, a predicate or a datatype by its bytes in the slice.
#[derive(Clone, Copy)]
enum Name {
    /// `a`.
    Type,
    /// Brackets or `_:`, the subject of the statement before included.
    Written(Subject),
    Prefixed(PrefixedName),
}

/// A prefixed name: where it stands, where its local part begins, and the number of its prefix.
#[derive(Clone, Copy)]
struct PrefixedName {
    start: usize,
    local: usize,
    end: usize,
    prefix: usize,
}

#[derive(Clone, Copy)]
enum Tail {
    None,
    Language(usize, usize),
    /// Between brackets.
    Datatype(usize, usize),
    PrefixedDatatype(PrefixedName),
    /// Of a number or a truth value.
    Implied(&'static [u8]),
}

#[derive(Clone, Copy)]
enum Object {
    Name(Name),
    Literal(usize, usize, Tail),
    /// A literal with escapes: where it begins and where its first `\` stands.
    Escaped(usize, usize, Tail),
}

/// An IRI that prefixed names have been resolved to.
#[derive(Clone, Default)]
struct Resolved {
    written: Vec<u8>,
    iri: Vec<u8>,
    hash: u64,
    generation: u64,
    index: u32,
}

/// The fast lexer, with what it remembers from statement to statement.
pub(crate) struct TerseLexer {
    document: u32,
    /// What languages and escapes are asked of.
    lines: Lexer,
    subject_prefix: KnownPrefix,
    object_prefix: KnownPrefix,
    other_prefix: KnownPrefix,
    last_subject: Last,
    /// The prefixes as they were given.
    declared: BTreeMap<String, String>,
    /// The IRIs of those that may be plain, by their numbers.
    iris: Vec<Box<[u8]>>,
    numbers: HashMap<Box<[u8]>, usize>,
    recent: Box<[(Vec<u8>, Option<usize>)]>,
    predicates: Box<[Resolved]>,
    nodes: Box<[Resolved]>,
    rdf_type: Resolved,
    subject: Name,
    triples: Vec<(Name, Object)>,
    unescaped: Vec<u8>,
}

impl TerseLexer {
    pub(crate) fn new() -> Self {
        Self {
            document: 0,
            lines: Lexer::new(),
            subject_prefix: KnownPrefix::new(),
            object_prefix: KnownPrefix::new(),
            other_prefix: KnownPrefix::new(),
            last_subject: Last::default(),
            declared: BTreeMap::new(),
            iris: Vec::new(),
            numbers: HashMap::new(),
            recent: vec![(Vec::new(), None); RECENT_SLOTS].into_boxed_slice(),
            predicates: vec![Resolved::default(); PREDICATE_SLOTS].into_boxed_slice(),
            nodes: vec![Resolved::default(); NODE_SLOTS].into_boxed_slice(),
            rdf_type: Resolved {
                hash: hash_with_seed(RDF_TYPE, Kind::Iri as u64),
                ..Resolved::default()
            },
            subject: Name::Type,
            triples: Vec::new(),
            unescaped: Vec::new(),
        }
    }

    /// Must be called before the first statement of a slice: forgets what refers to the bytes of another.
    pub(crate) fn begin_slice(&mut self, document: u32) {
        self.document = document;
        self.last_subject = Last::default();
    }

    /// The prefixes that hold from here on, as `oxttl` took them. Names of a prefix whose IRI has no path are not
    /// plain: `oxttl` looks at each of them again.
    pub(crate) fn set_prefixes(&mut self, prefixes: &BTreeMap<String, String>) {
        if self.declared == *prefixes {
            return;
        }
        self.declared.clone_from(prefixes);
        self.iris.clear();
        self.numbers.clear();
        for recent in &mut self.recent {
            recent.1 = None;
        }
        for resolved in self.predicates.iter_mut().chain(&mut self.nodes) {
            resolved.written.clear();
        }
        for (prefix, iri) in prefixes {
            if Iri::parse(iri.as_str()).is_ok_and(|iri| !iri.path().is_empty()) {
                self.numbers
                    .insert(prefix.as_bytes().into(), self.iris.len());
                self.iris.push(iri.as_bytes().into());
            }
        }
    }

    /// Recognises the statement that begins at `at`, and gives the place behind its dot, or `None` if it is not
    /// plain. `data` is the slice with its padding, `length` the slice's length.
    pub(crate) fn statement(&mut self, data: &[u8], length: usize, at: usize) -> Option<usize> {
        self.triples.clear();
        let (subject, after) = self.subject(data, at)?;
        self.subject = subject;
        let mut at = skip_space(data, length, after);
        loop {
            let (predicate, after) = self.predicate(data, at)?;
            at = skip_space(data, length, after);
            loop {
                let (object, after) = self.object(data, at)?;
                self.triples.push((predicate, object));
                at = skip_space(data, length, after);
                if data[at] != b',' {
                    break;
                }
                at = skip_space(data, length, at + 1);
            }
            if self.triples.len() > TRIPLES_MAX {
                return None;
            }
            let mut goes_on = false;
            while data[at] == b';' {
                at = skip_space(data, length, at + 1);
                goes_on = true;
            }
            // A dot before a digit begins a number.
            if data[at] == b'.' && !data[at + 1].is_ascii_digit() {
                return Some(at + 1);
            }
            if !goes_on {
                return None;
            }
        }
    }

    /// How many triples the statement recognised last has.
    #[inline]
    pub(crate) fn triples(&self) -> usize {
        self.triples.len()
    }

    /// Adds one of the triples of the statement recognised last.
    #[inline]
    pub(crate) fn add(&mut self, data: &[u8], triple: usize, builder: &mut BatchBuilder) {
        let (predicate, object) = self.triples[triple];
        let subject = self.add_subject(data, builder);
        let predicate = self.add_predicate(data, predicate, builder);
        let object = self.add_object(data, object, builder);
        let graph = builder.default_graph();
        builder.push_quad(subject, predicate, object, graph);
    }

    #[inline]
    fn subject(&mut self, data: &[u8], at: usize) -> Option<(Name, usize)> {
        if data[at] == b'<' {
            let last = &self.last_subject;
            let same = last.length != 0
                && data[at..].starts_with(&data[last.start..last.start + last.length]);
            if same {
                return Some((Name::Written(Subject::Same), at + last.length));
            }
            return bracketed(data, at, &mut self.subject_prefix);
        }
        self.label_or_prefixed(data, at)
    }

    #[inline]
    fn predicate(&mut self, data: &[u8], at: usize) -> Option<(Name, usize)> {
        match data[at] {
            b'<' => bracketed(data, at, &mut self.other_prefix),
            b'a' if ends_keyword(data[at + 1]) => Some((Name::Type, at + 1)),
            b'_' => None,
            _ => self.prefixed(data, at).map(with_end),
        }
    }

    #[inline]
    fn object(&mut self, data: &[u8], at: usize) -> Option<(Object, usize)> {
        match data[at] {
            b'<' => {
                let (name, end) = bracketed(data, at, &mut self.object_prefix)?;
                Some((Object::Name(name), end))
            }
            b'"' => self.literal(data, at + 1),
            b'0'..=b'9' | b'+' | b'-' | b'.' => {
                let (end, datatype) = number_end(data, at)?;
                let tail = Tail::Implied(datatype);
                Some((Object::Literal(at, end, tail), end))
            }
            first => {
                if matches!(first, b't' | b'f')
                    && let Some(end) = truth_end(data, at)
                {
                    let tail = Tail::Implied(XSD_BOOLEAN);
                    return Some((Object::Literal(at, end, tail), end));
                }
                let (name, end) = self.label_or_prefixed(data, at)?;
                Some((Object::Name(name), end))
            }
        }
    }

    #[inline]
    fn label_or_prefixed(&mut self, data: &[u8], at: usize) -> Option<(Name, usize)> {
        if data[at] == b'_' {
            let end = lexer::label_end(data, at)?;
            let node = Subject::Node(Node::Blank(at + 2, end));
            return Some((Name::Written(node), end));
        }
        self.prefixed(data, at).map(with_end)
    }

    /// The prefixed name at `start`.
    #[inline]
    fn prefixed(&mut self, data: &[u8], start: usize) -> Option<PrefixedName> {
        let mut colon = start;
        if data[start].is_ascii_alphabetic() {
            while data[colon].is_ascii_alphanumeric() || matches!(data[colon], b'_' | b'-') {
                colon += 1;
            }
        }
        if data[colon] != b':' {
            return None;
        }
        let local = colon + 1;
        let mut end = local;
        if !matches!(data[local], b'-' | b'.') {
            while LABEL[data[end] as usize] {
                end += 1;
            }
            if matches!(data[end], b':' | b'%' | b'\\') || !data[end].is_ascii() {
                return None;
            }
            // Dots at the end belong to what follows.
            while data[end - 1] == b'.' {
                end -= 1;
            }
        }
        let prefix = self.prefix_number(&data[start..colon])?;
        Some(PrefixedName {
            start,
            local,
            end,
            prefix,
        })
    }

    #[inline]
    fn prefix_number(&mut self, prefix: &[u8]) -> Option<usize> {
        let hash = |hash: usize, byte: &u8| hash.wrapping_mul(31) ^ usize::from(*byte);
        let slot = prefix.iter().fold(prefix.len(), hash) % RECENT_SLOTS;
        let (recent, number) = &mut self.recent[slot];
        if number.is_none() || *recent != prefix {
            let known = *self.numbers.get(prefix)?;
            recent.clear();
            recent.extend_from_slice(prefix);
            *number = Some(known);
        }
        *number
    }

    /// The literal whose first byte behind the quote is at `start`.
    #[inline]
    fn literal(&mut self, data: &[u8], start: usize) -> Option<(Object, usize)> {
        if data[start] == b'"' && data[start + 1] == b'"' {
            return None; // a long one
        }
        let (stop, non_ascii) = scan::literal_stop(data, start);
        if data[stop] == b'\\' {
            let end = lexer::unescape(data, start, stop, &mut self.unescaped)?;
            let (tail, after) = self.tail(data, end + 1)?;
            return Some((Object::Escaped(start, stop, tail), after));
        }
        if data[stop] != b'"' || (non_ascii && std::str::from_utf8(&data[start..stop]).is_err()) {
            return None;
        }
        let (tail, after) = self.tail(data, stop + 1)?;
        Some((Object::Literal(start, stop, tail), after))
    }

    /// What follows the closing quote of a literal.
    #[inline]
    fn tail(&mut self, data: &[u8], at: usize) -> Option<(Tail, usize)> {
        match data[at] {
            b'@' => {
                let start = at + 1;
                let mut end = start;
                while data[end].is_ascii_alphanumeric() || data[end] == b'-' {
                    end += 1;
                }
                let known = self.lines.is_language(&data[start..end]);
                known.then_some((Tail::Language(start, end), end))
            }
            b'^' if data[at + 1] != b'^' => None,
            b'^' if data[at + 2] == b'<' => {
                let start = at + 3;
                let end = lexer::iri_end(data, start, &mut self.other_prefix)?;
                let datatype = &data[start..end];
                let refused = datatype == RDF_LANG_STRING || datatype == RDF_DIR_LANG_STRING;
                (!refused).then_some((Tail::Datatype(start, end), end + 1))
            }
            b'^' => {
                let name = self.prefixed(data, at + 2)?;
                let (iri, local) = (&*self.iris[name.prefix], &data[name.local..name.end]);
                let refused = [RDF_LANG_STRING, RDF_DIR_LANG_STRING]
                    .iter()
                    .any(|datatype| datatype.strip_prefix(iri).is_some_and(|rest| rest == local));
                (!refused).then_some((Tail::PrefixedDatatype(name), name.end))
            }
            _ => Some((Tail::None, at)),
        }
    }

    #[inline]
    fn add_subject(&mut self, data: &[u8], builder: &mut BatchBuilder) -> u32 {
        match self.subject {
            Name::Written(subject) => {
                let last = &mut self.last_subject;
                let index = lexer::add_repeatable(data, subject, last, self.document, builder);
                if let Subject::Node(Node::Iri(..)) = subject {
                    self.subject = Name::Written(Subject::Same);
                }
                index
            }
            Name::Prefixed(name) => {
                let iri = &self.iris[name.prefix];
                add_prefixed(data, name, iri, &mut self.nodes, builder)
            }
            Name::Type => self.add_type(builder),
        }
    }

    #[inline]
    fn add_predicate(&mut self, data: &[u8], name: Name, builder: &mut BatchBuilder) -> u32 {
        match name {
            Name::Prefixed(name) => {
                let iri = &self.iris[name.prefix];
                add_prefixed(data, name, iri, &mut self.predicates, builder)
            }
            name => self.add_name(data, name, builder),
        }
    }

    #[inline]
    fn add_name(&mut self, data: &[u8], name: Name, builder: &mut BatchBuilder) -> u32 {
        match name {
            Name::Type => self.add_type(builder),
            Name::Written(Subject::Node(Node::Iri(start, end))) => {
                builder.iri_in_slice(data, start, end).0
            }
            Name::Written(Subject::Node(Node::Blank(start, end))) => {
                builder.blank(self.document, &data[start..end])
            }
            Name::Written(Subject::Same) => self.add_subject(data, builder),
            Name::Prefixed(name) => {
                let iri = &self.iris[name.prefix];
                add_prefixed(data, name, iri, &mut self.nodes, builder)
            }
        }
    }

    #[inline]
    fn add_type(&mut self, builder: &mut BatchBuilder) -> u32 {
        let known = &mut self.rdf_type;
        if known.generation != builder.generation() {
            known.index = builder.iri_of_hash(RDF_TYPE, known.hash);
            known.generation = builder.generation();
        }
        known.index
    }

    #[inline]
    fn add_object(&mut self, data: &[u8], object: Object, builder: &mut BatchBuilder) -> u32 {
        let (start, stop, tail, escaped) = match object {
            Object::Name(name) => return self.add_name(data, name, builder),
            Object::Literal(start, end, tail) => (start, end, tail, false),
            Object::Escaped(start, escape, tail) => (start, escape, tail, true),
        };
        let suffix = match tail {
            Tail::None => Suffix::Plain,
            Tail::Language(start, end) => Suffix::Language(&data[start..end]),
            Tail::Datatype(start, end) => Suffix::Datatype(&data[start..end]),
            Tail::Implied(datatype) => Suffix::Datatype(datatype),
            Tail::PrefixedDatatype(name) => {
                let iri = &self.iris[name.prefix];
                Suffix::Datatype(&resolved(data, name, iri, &mut self.predicates).iri)
            }
        };
        if !escaped {
            return builder.literal_in_slice(data, start, stop, suffix);
        }
        let again = lexer::unescape(data, start, stop, &mut self.unescaped);
        debug_assert!(again.is_some(), "it was recognised");
        builder.literal(&self.unescaped, suffix)
    }
}

#[inline]
fn with_end(name: PrefixedName) -> (Name, usize) {
    (Name::Prefixed(name), name.end)
}

/// The IRI in brackets at `at`.
#[inline]
fn bracketed(data: &[u8], at: usize, prefix: &mut KnownPrefix) -> Option<(Name, usize)> {
    let end = lexer::iri_end(data, at + 1, prefix)?;
    let node = Subject::Node(Node::Iri(at + 1, end));
    Some((Name::Written(node), end + 1))
}

/// The entry of a prefixed name whose prefix stands for `iri`.
#[inline]
fn add_prefixed(
    data: &[u8],
    name: PrefixedName,
    iri: &[u8],
    slots: &mut [Resolved],
    builder: &mut BatchBuilder,
) -> u32 {
    let resolved = resolved(data, name, iri, slots);
    if resolved.generation != builder.generation() {
        resolved.index = builder.iri_of_hash(&resolved.iri, resolved.hash);
        resolved.generation = builder.generation();
    }
    resolved.index
}

#[inline]
fn resolved<'a>(
    data: &[u8],
    name: PrefixedName,
    iri: &[u8],
    slots: &'a mut [Resolved],
) -> &'a mut Resolved {
    let written = &data[name.start..name.end];
    let slot = hash_with_seed(written, 0) as usize % slots.len();
    let resolved = &mut slots[slot];
    if resolved.written != written {
        resolved.written.clear();
        resolved.written.extend_from_slice(written);
        resolved.iri.clear();
        resolved.iri.extend_from_slice(iri);
        resolved.iri.extend_from_slice(&data[name.local..name.end]);
        resolved.hash = hash_with_seed(&resolved.iri, Kind::Iri as u64);
        resolved.generation = 0;
    }
    resolved
}

/// Behind white space and comments.
#[inline]
pub(crate) fn skip_space(data: &[u8], length: usize, mut at: usize) -> usize {
    loop {
        match data[at] {
            _ if at >= length => return length,
            b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            b'#' => at += memchr2(b'\r', b'\n', &data[at..length]).unwrap_or(length - at),
            _ => return at,
        }
    }
}

/// Whether a keyword ends before this byte. (Dots at its end would not belong to it, but no keyword that is
/// asked about may stand before one.)
#[inline]
fn ends_keyword(next: u8) -> bool {
    next.is_ascii() && !LABEL[next as usize] && next != b':'
}

/// Where `true` or `false` at `at` ends.
#[inline]
fn truth_end(data: &[u8], at: usize) -> Option<usize> {
    let mut end = at;
    while LABEL[data[end] as usize] {
        end += 1;
    }
    if !ends_keyword(data[end]) {
        return None;
    }
    while data[end - 1] == b'.' {
        end -= 1;
    }
    matches!(&data[at..end], b"true" | b"false").then_some(end)
}

/// Where the number at `start` ends, and its datatype.
fn number_end(data: &[u8], start: usize) -> Option<(usize, &'static [u8])> {
    let sign = usize::from(matches!(data[start], b'+' | b'-'));
    let mut at = digits_end(data, start + sign);
    let mut digits = at - start - sign;
    let mut datatype = XSD_INTEGER;
    if data[at] == b'.' {
        let end = digits_end(data, at + 1);
        let after = end - at - 1;
        digits += after;
        // A dot without digits behind it ends the statement, unless an exponent follows.
        if after > 0 || matches!(data[end], b'e' | b'E') {
            at = end;
            datatype = XSD_DECIMAL;
        }
    }
    if digits == 0 {
        return None;
    }
    if !matches!(data[at], b'e' | b'E') {
        return Some((at, datatype));
    }
    let sign = usize::from(matches!(data[at + 1], b'+' | b'-'));
    let exponent = at + 1 + sign;
    let end = digits_end(data, exponent);
    (end > exponent).then_some((end, XSD_DOUBLE))
}

#[inline]
fn digits_end(data: &[u8], mut at: usize) -> usize {
    while data[at].is_ascii_digit() {
        at += 1;
    }
    at
}
