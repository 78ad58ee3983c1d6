//! Quads as one number: the form in which they are sorted.
//!
//! Once the vocabularies are merged, every term of a load has a *rank*, its place among all terms of
//! the load by id. A quad is packed into one number, its columns side by side in just the bits that their
//! ranks need:
//!
//! ```text
//! order spo      | 0 ... | subject | predicate | object |            64 bits where that is enough,
//! order gpos     | 0 ... | graph | predicate | object | subject |    128 bits where it is not
//! ```
//!
//! so that comparing numbers compares rows. The predicate's field holds its place in the sorted list of
//! the load's predicates, which is what the index files store, and the graph's field its place in the list of graphs.

use quadrille_store::{Order, Position};

/// How many bits each position takes.
///
/// Predicates and graphs are few beside other terms, so their fields hold places in lists of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widths {
    /// Bits of a term's rank: subject, object.
    pub term: u32,
    /// Bits of a predicate's place.
    pub predicate: u32,
    /// Bits of a graph's place; 0 for the default graph.
    pub graph: u32,
}

impl Widths {
    /// The widths for so many terms, predicates, and named graphs; `None` for rows of the default graph.
    pub fn new(terms: u64, predicates: usize, graphs: Option<usize>) -> Self {
        let bits = |count: u64| u64::BITS - count.saturating_sub(1).leading_zeros();
        Self {
            term: bits(terms),
            predicate: bits(predicates as u64),
            // One bit at least, though one graph needs none: it tells the two kinds of rows apart.
            graph: graphs.map_or(0, |graphs| bits(graphs as u64).max(1)),
        }
    }

    /// The bits of a whole row.
    pub fn total(self) -> u32 {
        2 * self.term + self.predicate + self.graph
    }

    fn of(self, position: Position) -> u32 {
        match position {
            Position::Subject | Position::Object => self.term,
            Position::Predicate => self.predicate,
            Position::Graph => self.graph,
        }
    }
}

/// A field of a packed row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The position in the quad.
    pub position: Position,
    /// The lowest bit.
    pub shift: u32,
    /// How many bits.
    pub bits: u32,
}

/// The fields of an order's rows, the first column (the highest bits) first.
pub fn fields(order: Order, widths: Widths) -> Vec<Field> {
    let mut shift = widths.total();
    order
        .columns()
        .iter()
        .map(|position| {
            let bits = widths.of(*position);
            shift -= bits;
            Field {
                position: *position,
                shift,
                bits,
            }
        })
        .collect()
}

/// A number that holds a packed row.
pub trait Key: Copy + Ord + Default + Send + Sync + bytemuck::Pod {
    /// Bits that fit.
    const BITS: u32;
    /// A value moved up by `shift` bits.
    fn place(value: u64, shift: u32) -> Self;
    /// The fields of both.
    fn or(self, other: Self) -> Self;
    /// The value of a field; `mask` has the field's width.
    fn get(self, shift: u32, mask: u64) -> u64;
}

impl Key for u64 {
    const BITS: u32 = 64;

    #[inline]
    fn place(value: u64, shift: u32) -> Self {
        // A field of no bits may stand above the top.
        value.checked_shl(shift).unwrap_or(0)
    }

    #[inline]
    fn or(self, other: Self) -> Self {
        self | other
    }

    #[inline]
    fn get(self, shift: u32, mask: u64) -> u64 {
        self.checked_shr(shift).unwrap_or(0) & mask
    }
}

impl Key for u128 {
    const BITS: u32 = 128;

    #[inline]
    fn place(value: u64, shift: u32) -> Self {
        Self::from(value).checked_shl(shift).unwrap_or(0)
    }

    #[inline]
    fn or(self, other: Self) -> Self {
        self | other
    }

    #[inline]
    fn get(self, shift: u32, mask: u64) -> u64 {
        self.checked_shr(shift).unwrap_or(0) as u64 & mask
    }
}

/// The mask of a field's width.
pub fn mask(bits: u32) -> u64 {
    if bits == 0 {
        0
    } else {
        u64::MAX >> (64 - bits)
    }
}

/// Packs rows of one layout into another.
pub struct Repack {
    moves: Vec<(u32, u64, u32)>,
}

impl Repack {
    /// From an order's layout into another's, both with the same widths.
    pub fn new(from: Order, to: Order, widths: Widths) -> Self {
        let source = fields(from, widths);
        let moves = fields(to, widths)
            .iter()
            .map(|target| {
                let source = source
                    .iter()
                    .find(|field| field.position == target.position)
                    .expect("both orders have the same positions");
                (source.shift, mask(source.bits), target.shift)
            })
            .collect();
        Self { moves }
    }

    /// The row in the other layout.
    #[inline]
    pub fn apply<K: Key>(&self, key: K) -> K {
        let mut packed = K::default();
        for (from, mask, to) in self.moves.iter().copied() {
            packed = packed.or(K::place(key.get(from, mask), to));
        }
        packed
    }
}
