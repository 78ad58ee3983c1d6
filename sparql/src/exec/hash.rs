//! Hashes of ids: fast, and good in their upper and lower bits. They stay in memory and need not resist an attacker who
//! chooses ids.

use super::batch::Batch;
use quadrille_store::TermId;

/// What the hash of no id is.
const SEED: u64 = 0x243f_6a88_85a3_08d3;

/// The hash of some columns of a row.
#[inline]
pub fn hash_row(batch: &Batch, columns: &[usize], row: usize) -> u64 {
    columns.iter().fold(SEED, |hash, column| {
        mix(hash ^ batch.column(*column)[row].bits())
    })
}

/// What [`hash_row`] gives for a row with these ids.
#[inline]
pub fn hash_ids(ids: &[TermId]) -> u64 {
    ids.iter().fold(SEED, |hash, id| mix(hash ^ id.bits()))
}

/// Multiplies to 128 bits and folds the halves.
#[inline]
pub fn mix(value: u64) -> u64 {
    let product = u128::from(value) * 0x9e37_79b9_7f4a_7c15;
    (product >> 64) as u64 ^ product as u64
}

/// The number of the partition, out of so many, for rows of this hash. Tables use the lower and the uppermost bits.
#[inline]
pub fn partition_of(hash: u64, partitions: usize) -> usize {
    (hash >> 24) as u32 as usize % partitions
}
