//! `TermId`: what a term is inside the store.
//!
//! # Bit map
//!
//! ```text
//!  63        58 57                                                    0
//! +------------+-------------------------------------------------------+
//! |    kind    |                        payload                        |
//! +------------+-------------------------------------------------------+
//! ```
//!
//! * Id 0 (kind *unbound*, payload 0) is "no term": an unbound variable, or the default graph in the
//!   graph position of a quad.
//! * **Id equality is term equality**, everywhere and always.
//! * Kinds are numbered in SPARQL's order of terms (unbound, blank nodes, IRIs, literals, triple
//!   terms), so that sorting ids sorts across kinds as `ORDER BY` wants.
//! * *Vocabulary kinds* carry an ordinal into the dictionaries; blank nodes carry a number of their own
//!   (they have no entry in a dictionary: a blank node's label means nothing outside its document).
//! * *Value kinds* carry the value itself, see [`crate::inline`]: a literal is inlined exactly when
//!   decoding the id gives its lexical form back byte for byte. What is inlined is part of the
//!   format version, so a term never has two ids.
//! * *Local* ids belong to a running query and never reach a file. A term that the store has keeps the store's
//!   id there too, so that equality of ids stays equality of terms.

use bytemuck::{Pod, Zeroable};
use std::fmt;

/// Bits of the payload; the kind stands above them.
pub const PAYLOAD_BITS: u32 = 58;
/// The largest payload.
pub const PAYLOAD_MAX: u64 = (1 << PAYLOAD_BITS) - 1;

/// The id of a term, 64 bits: a [`Kind`] in the top six, a payload below.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Pod, Zeroable)]
#[repr(transparent)]
pub struct TermId(u64);

/// What a [`TermId`] stands for; the discriminants are part of the file format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Kind {
    /// No term (only the id 0).
    Unbound = 0,
    /// A blank node; the payload is its number in the store.
    Blank = 1,
    /// An IRI; the payload is an ordinal of the dictionaries.
    Iri = 2,
    /// A literal in the dictionaries that is neither numeric nor temporal.
    Literal = 8,
    /// A literal in the dictionaries whose datatype is numeric or boolean, but whose form is not inlined.
    NumericLiteral = 9,
    /// A literal in the dictionaries whose datatype is temporal, but whose form is not inlined.
    TemporalLiteral = 10,
    /// `xsd:boolean`, `false` or `true`.
    Boolean = 16,
    /// `xsd:integer`.
    Integer = 17,
    /// `xsd:long`.
    Long = 18,
    /// `xsd:int`.
    Int = 19,
    /// `xsd:short`.
    Short = 20,
    /// `xsd:byte`.
    Byte = 21,
    /// `xsd:nonNegativeInteger`.
    NonNegativeInteger = 22,
    /// `xsd:positiveInteger`.
    PositiveInteger = 23,
    /// `xsd:nonPositiveInteger`.
    NonPositiveInteger = 24,
    /// `xsd:negativeInteger`.
    NegativeInteger = 25,
    /// `xsd:unsignedLong`.
    UnsignedLong = 26,
    /// `xsd:unsignedInt`.
    UnsignedInt = 27,
    /// `xsd:unsignedShort`.
    UnsignedShort = 28,
    /// `xsd:unsignedByte`.
    UnsignedByte = 29,
    /// `xsd:decimal`, mantissa and scale.
    Decimal = 30,
    /// `xsd:double`, a short decimal.
    Double = 31,
    /// `xsd:float`, a short decimal.
    Float = 32,
    /// `xsd:date` without a time zone.
    Date = 33,
    /// `xsd:date` with a time zone.
    DateZoned = 34,
    /// `xsd:dateTime` without a time zone.
    DateTime = 35,
    /// `xsd:dateTime` with a time zone.
    DateTimeZoned = 36,
    /// A triple term; the payload is an ordinal of the table of triple terms.
    Triple = 48,
    /// A term that a query computed and that the store does not have; the payload numbers it within that query.
    /// Never stored: a file that has such an id is damaged.
    Local = 56,
}

impl Kind {
    /// Every kind, in order.
    pub const ALL: [Self; 29] = [
        Self::Unbound,
        Self::Blank,
        Self::Iri,
        Self::Literal,
        Self::NumericLiteral,
        Self::TemporalLiteral,
        Self::Boolean,
        Self::Integer,
        Self::Long,
        Self::Int,
        Self::Short,
        Self::Byte,
        Self::NonNegativeInteger,
        Self::PositiveInteger,
        Self::NonPositiveInteger,
        Self::NegativeInteger,
        Self::UnsignedLong,
        Self::UnsignedInt,
        Self::UnsignedShort,
        Self::UnsignedByte,
        Self::Decimal,
        Self::Double,
        Self::Float,
        Self::Date,
        Self::DateZoned,
        Self::DateTime,
        Self::DateTimeZoned,
        Self::Triple,
        Self::Local,
    ];

    /// The four kinds whose terms stand as bytes in a dictionary.
    pub const VOCABULARY: [Self; 4] = [
        Self::Iri,
        Self::Literal,
        Self::NumericLiteral,
        Self::TemporalLiteral,
    ];

    /// The kind with this discriminant, if there is one.
    #[inline]
    pub const fn from_u8(byte: u8) -> Option<Self> {
        if (byte as usize) < BY_NUMBER.len() {
            BY_NUMBER[byte as usize]
        } else {
            None
        }
    }

    /// Whether the payload is an ordinal of a dictionary's bytes.
    #[inline]
    pub const fn is_vocabulary(self) -> bool {
        matches!(
            self,
            Self::Iri | Self::Literal | Self::NumericLiteral | Self::TemporalLiteral
        )
    }

    /// Whether the payload is the value itself.
    pub fn is_inline(self) -> bool {
        (Self::Boolean..=Self::DateTimeZoned).contains(&self)
    }

    /// Whether the term is a literal, in a dictionary or inline.
    pub fn is_literal(self) -> bool {
        (Self::Literal..=Self::DateTimeZoned).contains(&self)
    }
}

/// The kinds by their numbers: asking an id's kind is one load.
const BY_NUMBER: [Option<Kind>; 1 << (u64::BITS - PAYLOAD_BITS)] = {
    let mut table = [None; 1 << (u64::BITS - PAYLOAD_BITS)];
    let mut place = 0;
    while place < Kind::ALL.len() {
        table[Kind::ALL[place] as usize] = Some(Kind::ALL[place]);
        place += 1;
    }
    table
};

impl TermId {
    /// No term: an unbound variable, or the default graph.
    pub const UNBOUND: Self = Self(0);
    /// The default graph, in the graph position of a quad.
    pub const DEFAULT_GRAPH: Self = Self(0);
    /// The smallest id.
    pub const MIN: Self = Self(0);
    /// Larger than every id of a term; an end for ranges.
    pub const MAX: Self = Self(u64::MAX);

    /// The id of a kind and a payload.
    ///
    /// # Panics
    /// If the payload has more than [`PAYLOAD_BITS`] bits.
    #[inline]
    pub const fn new(kind: Kind, payload: u64) -> Self {
        assert!(payload <= PAYLOAD_MAX, "a payload of more than 58 bits");
        Self(((kind as u64) << PAYLOAD_BITS) | payload)
    }

    /// The id with these bits, as they stand in files.
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// All 64 bits.
    #[inline]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The kind, or `None` for bits that no kind has (a broken file, or [`TermId::MAX`]).
    #[inline]
    pub fn kind(self) -> Option<Kind> {
        Kind::from_u8((self.0 >> PAYLOAD_BITS) as u8)
    }

    /// The payload.
    #[inline]
    pub const fn payload(self) -> u64 {
        self.0 & PAYLOAD_MAX
    }

    /// Whether this is no term.
    #[inline]
    pub const fn is_unbound(self) -> bool {
        self.0 == 0
    }

    /// First id of a kind, for range scans.
    #[inline]
    pub const fn first_of(kind: Kind) -> Self {
        Self((kind as u64) << PAYLOAD_BITS)
    }

    /// Last possible id of a kind, for range scans.
    #[inline]
    pub const fn last_of(kind: Kind) -> Self {
        Self(((kind as u64) << PAYLOAD_BITS) | PAYLOAD_MAX)
    }
}

impl fmt::Debug for TermId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Some(kind) => write!(f, "{kind:?}({})", self.payload()),
            None => write!(f, "TermId({:#x})", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_numbers_agree() {
        assert!(Kind::ALL.is_sorted());
        for byte in 0..=u8::MAX {
            let expected = Kind::ALL.into_iter().find(|kind| *kind as u8 == byte);
            assert_eq!(Kind::from_u8(byte), expected, "{byte}");
        }
        for kind in Kind::ALL {
            assert_eq!(
                kind.is_vocabulary(),
                Kind::VOCABULARY.contains(&kind),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn an_id_is_its_kind_above_its_payload() {
        for kind in Kind::ALL {
            for payload in [0, 1, PAYLOAD_MAX] {
                let id = TermId::new(kind, payload);
                assert_eq!((id.kind(), id.payload()), (Some(kind), payload));
                assert!((TermId::first_of(kind)..=TermId::last_of(kind)).contains(&id));
            }
        }
        assert_eq!(TermId::MAX.kind(), None);
        assert_eq!(TermId::new(Kind::Unbound, 0), TermId::UNBOUND);
    }
}
