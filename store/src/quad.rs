//! Quads of ids, the orders in which they are kept, and the patterns that are asked.

use crate::id::TermId;

/// A place in a quad.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Position {
    /// The subject.
    Subject,
    /// The predicate.
    Predicate,
    /// The object.
    Object,
    /// The graph.
    Graph,
}

/// A quad of ids; `graph` is [`TermId::DEFAULT_GRAPH`] for a triple of the default graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Quad {
    /// The subject.
    pub subject: TermId,
    /// The predicate.
    pub predicate: TermId,
    /// The object.
    pub object: TermId,
    /// The graph's name, or [`TermId::DEFAULT_GRAPH`].
    pub graph: TermId,
}

impl Quad {
    /// The term in a position.
    #[inline]
    pub fn get(&self, position: Position) -> TermId {
        match position {
            Position::Subject => self.subject,
            Position::Predicate => self.predicate,
            Position::Object => self.object,
            Position::Graph => self.graph,
        }
    }
}

/// A sorted order of quads. The first six hold the triples of the default graph, the other ten the quads
/// of named graphs; the two sets are kept apart so that neither wades through the other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
#[expect(missing_docs, reason = "the name is the column sequence")]
pub enum Order {
    Spo = 0,
    Sop = 1,
    Pso = 2,
    Pos = 3,
    Osp = 4,
    Ops = 5,
    Spog = 6,
    Sopg = 7,
    Psog = 8,
    Posg = 9,
    Ospg = 10,
    Opsg = 11,
    Gspo = 12,
    Gpso = 13,
    Gpos = 14,
    Gosp = 15,
}

impl Order {
    /// The orders of the default graph.
    pub const DEFAULT_GRAPH: [Self; 6] = [
        Self::Spo,
        Self::Sop,
        Self::Pso,
        Self::Pos,
        Self::Osp,
        Self::Ops,
    ];

    /// The orders of the named graphs.
    pub const NAMED_GRAPHS: [Self; 10] = [
        Self::Spog,
        Self::Sopg,
        Self::Psog,
        Self::Posg,
        Self::Ospg,
        Self::Opsg,
        Self::Gspo,
        Self::Gpso,
        Self::Gpos,
        Self::Gosp,
    ];

    /// The columns of a row, three for the default graph, four for named graphs.
    pub fn columns(self) -> &'static [Position] {
        use Position::{Graph as G, Object as O, Predicate as P, Subject as S};
        match self {
            Self::Spo => &[S, P, O],
            Self::Sop => &[S, O, P],
            Self::Pso => &[P, S, O],
            Self::Pos => &[P, O, S],
            Self::Osp => &[O, S, P],
            Self::Ops => &[O, P, S],
            Self::Spog => &[S, P, O, G],
            Self::Sopg => &[S, O, P, G],
            Self::Psog => &[P, S, O, G],
            Self::Posg => &[P, O, S, G],
            Self::Ospg => &[O, S, P, G],
            Self::Opsg => &[O, P, S, G],
            Self::Gspo => &[G, S, P, O],
            Self::Gpso => &[G, P, S, O],
            Self::Gpos => &[G, P, O, S],
            Self::Gosp => &[G, O, S, P],
        }
    }

    /// The name, as files are called: `spo`, `gspo` and so on.
    pub fn name(self) -> &'static str {
        match self {
            Self::Spo => "spo",
            Self::Sop => "sop",
            Self::Pso => "pso",
            Self::Pos => "pos",
            Self::Osp => "osp",
            Self::Ops => "ops",
            Self::Spog => "spog",
            Self::Sopg => "sopg",
            Self::Psog => "psog",
            Self::Posg => "posg",
            Self::Ospg => "ospg",
            Self::Opsg => "opsg",
            Self::Gspo => "gspo",
            Self::Gpso => "gpso",
            Self::Gpos => "gpos",
            Self::Gosp => "gosp",
        }
    }

    /// Whether this order holds the default graph (three columns).
    pub fn is_default_graph(self) -> bool {
        (self as u8) < 6
    }

    /// The place of a position among the columns, if the order has it.
    pub fn column_of(self, position: Position) -> Option<usize> {
        self.columns().iter().position(|column| *column == position)
    }

    /// A quad's row in this order; the fourth value is 0 where the order has three columns.
    #[inline]
    pub fn row(self, quad: &Quad) -> [TermId; 4] {
        let mut row = [TermId::UNBOUND; 4];
        for (value, position) in row.iter_mut().zip(self.columns()) {
            *value = quad.get(*position);
        }
        row
    }

    /// The quad of a row in this order (the inverse of [`Order::row`]).
    #[inline]
    pub fn quad(self, row: &[TermId]) -> Quad {
        let mut quad = Quad {
            subject: TermId::UNBOUND,
            predicate: TermId::UNBOUND,
            object: TermId::UNBOUND,
            graph: TermId::DEFAULT_GRAPH,
        };
        for (value, position) in row.iter().zip(self.columns()) {
            match position {
                Position::Subject => quad.subject = *value,
                Position::Predicate => quad.predicate = *value,
                Position::Object => quad.object = *value,
                Position::Graph => quad.graph = *value,
            }
        }
        quad
    }
}

/// Which graphs a [`Pattern`] asks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GraphSelector {
    /// The default graph.
    Default,
    /// One named graph.
    Named(TermId),
    /// Every named graph; the graph is a column of the answer.
    AnyNamed,
}

/// A quad pattern: bound positions are `Some`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pattern {
    /// The subject, if bound.
    pub subject: Option<TermId>,
    /// The predicate, if bound.
    pub predicate: Option<TermId>,
    /// The object, if bound.
    pub object: Option<TermId>,
    /// The graphs.
    pub graph: GraphSelector,
}

impl Pattern {
    /// The bound term of a position.
    pub fn bound(&self, position: Position) -> Option<TermId> {
        match position {
            Position::Subject => self.subject,
            Position::Predicate => self.predicate,
            Position::Object => self.object,
            Position::Graph => match self.graph {
                GraphSelector::Named(graph) => Some(graph),
                GraphSelector::Default | GraphSelector::AnyNamed => None,
            },
        }
    }

    /// The bound values that an order's first columns fix, and how many columns that is; `None` if the
    /// order belongs to other graphs, or if a bound position stands behind a free one.
    pub fn prefix_in(&self, order: Order) -> Option<([TermId; 4], usize)> {
        if order.is_default_graph() != (self.graph == GraphSelector::Default) {
            return None;
        }
        let mut prefix = [TermId::UNBOUND; 4];
        let mut length = 0;
        let mut free_seen = false;
        for position in order.columns() {
            match self.bound(*position) {
                Some(_) if free_seen => return None,
                Some(id) => {
                    prefix[length] = id;
                    length += 1;
                }
                None => free_seen = true,
            }
        }
        Some((prefix, length))
    }

    /// Whether the pattern matches a quad.
    pub fn matches(&self, quad: &Quad) -> bool {
        let free_or = |bound: Option<TermId>, id| bound.is_none_or(|bound| bound == id);
        free_or(self.subject, quad.subject)
            && free_or(self.predicate, quad.predicate)
            && free_or(self.object, quad.object)
            && match self.graph {
                GraphSelector::Default => quad.graph == TermId::DEFAULT_GRAPH,
                GraphSelector::Named(graph) => quad.graph == graph,
                GraphSelector::AnyNamed => quad.graph != TermId::DEFAULT_GRAPH,
            }
    }
}
