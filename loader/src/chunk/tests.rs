//! Tests of chunks: reading, merging and collapsing against a `BTreeSet`.

use super::{Chunk, PIECE_ROWS, collapse, fan_in, merge};
use crate::key::Key;
use crate::large::LargeVec;
use crate::options::CancelFlag;
use crate::run::{FAN_IN, Temporary, TemporaryNames};
use quadrille_store::io::Storage;
use quadrille_store::io::memory::MemoryStorage;
use std::collections::BTreeSet;
use std::fmt::Debug;

/// Sorted rows, some of which other chunks have too.
fn rows<K: Key>(seed: u64, count: u64, limit: u64) -> Vec<K> {
    let number = |place: u64| {
        let mixed = (place + seed * 1_000_003).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
    };
    let rows: BTreeSet<K> = (0..count)
        .map(|place| K::place(number(place) % limit, K::BITS - 44))
        .collect();
    rows.into_iter().collect()
}

fn check<K: Key + Debug>(lengths: &[u64], limit: u64) {
    let storage = MemoryStorage::new();
    let names = TemporaryNames::new("temporary/test".to_owned());
    let temporary = Temporary {
        storage: &storage,
        names: &names,
    };
    let what = format!(
        "{} chunks of {:?} rows",
        lengths.len(),
        &lengths[..lengths.len().min(5)]
    );
    // All in memory, all in files, or in turns.
    for in_memory in [0, 1, 2] {
        let mut expected = BTreeSet::new();
        let mut chunks = Vec::new();
        for (seed, length) in lengths.iter().enumerate() {
            let rows = rows::<K>(seed as u64, *length, limit);
            expected.extend(rows.iter().copied());
            chunks.push(if in_memory == 1 || in_memory == 2 && seed % 2 == 0 {
                Chunk::Memory(LargeVec::copied(&rows))
            } else {
                let chunk = Chunk::spill(&rows, temporary).expect("writes");
                assert_eq!(chunk.load(&storage).expect("reads")[..], rows, "{what}");
                chunk
            });
        }
        let expected: Vec<K> = expected.into_iter().collect();
        let merged = |chunks: &[Chunk<K>]| {
            let mut merged = Vec::new();
            merge(chunks, &storage, |piece| {
                assert!(
                    !piece.is_empty() && piece.len() <= PIECE_ROWS,
                    "{} rows",
                    piece.len()
                );
                merged.extend_from_slice(piece);
                Ok(())
            })
            .expect("merges");
            merged
        };
        assert!(merged(&chunks) == expected, "{what}");
        // The least, the most, and what a task has among several.
        let fan_in = [2, FAN_IN, fan_in(6)][in_memory];
        let chunks = collapse(chunks, fan_in, temporary, &CancelFlag::default()).expect("merges");
        assert!(chunks.len() <= fan_in, "{} left of {what}", chunks.len());
        assert!(merged(&chunks) == expected, "{what}, collapsed");
        assert!(storage.list("").expect("lists").len() <= chunks.len());
        for chunk in chunks {
            chunk.remove(&storage).expect("removes");
        }
        assert_eq!(storage.list("").expect("lists"), Vec::<String>::new());
    }
}

fn check_all<K: Key + Debug>() {
    check::<K>(&[], 100);
    check::<K>(&[0], 100);
    check::<K>(&[1], 100);
    check::<K>(&[0, 0, 0], 100);
    check::<K>(&[50, 0, 50], 100);
    check::<K>(&[3000, 3000], 1 << 40);
    // Pieces and buffers that end exactly, and behind their ends.
    check::<K>(&[40_000], 1 << 40);
    check::<K>(&[9000, 1, 35_000], 1 << 40);
    check::<K>(&[700; FAN_IN + 1], 2000);
    check::<K>(&[3; FAN_IN * FAN_IN + 2], 5000);
}

#[test]
fn rows_of_64_bits_are_merged() {
    check_all::<u64>();
}

#[test]
fn rows_of_128_bits_are_merged() {
    check_all::<u128>();
}

#[test]
fn a_whole_chunk_comes_in_pieces() {
    let storage = MemoryStorage::new();
    let rows: Vec<u64> = (0..=3 * PIECE_ROWS as u64).collect();
    let mut found = Vec::new();
    Chunk::Memory(LargeVec::copied(&rows))
        .read(&storage, |piece| {
            assert!(piece.len() <= PIECE_ROWS);
            found.extend_from_slice(piece);
            Ok(())
        })
        .expect("reads");
    assert_eq!(found, rows);
}
