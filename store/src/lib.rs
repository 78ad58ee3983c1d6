//! Terms, ids, quad indexes, segments and snapshots.
//!
//! This crate knows what a term, a quad and a file is; it knows no RDF syntax and no SPARQL.
//! Reading order: [`id`], [`inline`], [`term`], [`quad`], then how they are kept: [`io`], [`dictionary`],
//! [`index`], [`segment`], [`manifest`], and how they are read: [`snapshot`].

pub mod codec;
pub mod dictionary;
pub mod error;
pub mod gallop;
pub mod id;
pub mod index;
pub mod info;
pub mod inline;
pub mod insert;
pub mod io;
pub mod manifest;
pub mod memory;
pub mod merge;
pub mod quad;
pub mod run;
pub mod segment;
pub mod snapshot;
pub mod statistics;
pub mod store;
pub mod term;
pub mod triple_table;
pub mod verify;

pub use error::{Result, StoreError};
pub use gallop::gallop;
pub use id::{Kind, TermId};
pub use index::{ColumnMask, Columns, Cursor};
pub use merge::Scan;
pub use quad::{GraphSelector, Order, Pattern, Position, Quad};
pub use snapshot::dataset::{Dataset, Graphs};
pub use snapshot::terms::KnownId;
pub use snapshot::{Located, Snapshot, best_order};
pub use store::{Mode, NewSegment, SegmentReservation, Store};
pub use term::TermKey;
