//! How columns of numbers become few bytes, and back: no order, row or file is known here.
//!
//! A *column* is up to a few thousand numbers of one block. It is cut into mini-blocks of
//! [`MINI_BLOCK_ROWS`] values, each packed in the form that is smallest for it ([`miniblock`]), so that a
//! reader who wants one row unpacks one mini-block. What a mini-block's header says stands packed for the
//! whole column ([`mod@column`]). A column of terms that belong to mixed predicates can choose the width of
//! each value by its row's predicate instead ([`by_predicate`]).
//!
//! What always holds: decoding gives back every number, whatever the numbers are; a decoder checks each
//! width, length and count before it uses it, so bytes that no encoder wrote give [`Malformed`], and never
//! a panic or an allocation beyond a block.
//!
//! Reading order: [`varint`], [`bitpack`], [`packed`], [`miniblock`], [`mod@column`], [`by_predicate`].

pub mod bitpack;
pub mod by_predicate;
pub mod column;
pub mod miniblock;
pub mod packed;
pub mod varint;

#[cfg(test)]
pub(crate) mod testing;

/// Values of a mini-block; the last one of a column may have fewer.
pub const MINI_BLOCK_ROWS: usize = 128;

/// Bytes that must be readable behind packed numbers (what they are does not matter): readers load whole
/// words, and whoever hands out bytes sees to it that a word never ends beyond them.
pub const SLACK_BYTES: usize = 16;

/// Bytes that no encoder wrote, and what is wrong with them; the reader above knows the file and offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

/// The result of decoding.
pub type Decoded<T> = Result<T, Malformed>;
