//! Columns by predicate against the numbers that they were made of.

use super::*;
use crate::codec::SLACK_BYTES;
use crate::codec::testing::{Random, sequences};

/// Encodes and decodes a column; gives its bytes and table.
fn round_trip(values: &[u64], codes: &[u64], count: usize) -> (Vec<u8>, Vec<Entry>) {
    let mut encoder = ByPredicateEncoder::default();
    encoder.plan(values, codes, count);
    let mut bytes = vec![0x55; 5];
    encoder.write(values, codes, &mut bytes);
    let end = bytes.len();
    bytes.extend_from_slice(&[0xff; SLACK_BYTES]);
    let mut table = Vec::new();
    let mut column =
        ByPredicate::read(&bytes, 5, end, values.len(), count, &mut table).expect("heads");
    assert_eq!(table, encoder.table);
    let mut states = States::default();
    let mini_blocks: Vec<usize> = (0..values.len().div_ceil(MINI_BLOCK_ROWS)).collect();
    for mini_block in mini_blocks.iter().chain(mini_blocks.iter().rev()) {
        let from = mini_block * MINI_BLOCK_ROWS;
        let until = values.len().min(from + MINI_BLOCK_ROWS);
        let codes = &codes[from..until];
        let mut out = vec![3; until - from];
        column
            .decode(&bytes, &table, *mini_block, codes, &mut states, &mut out)
            .expect("whole");
        assert_eq!(out, values[from..until], "{table:?}");
        assert_eq!(
            column.first(&bytes, &table, *mini_block, codes[0]),
            Ok(values[from])
        );
    }
    bytes.truncate(end);
    bytes.drain(..5);
    (bytes, table)
}

#[test]
fn mixed_sequences_come_back() {
    for seed in 0..20 {
        println!("seed {seed}");
        let mut random = Random(seed);
        for rows in [1, 2, MINI_BLOCK_ROWS, MINI_BLOCK_ROWS + 1, 1_000] {
            let sequences = sequences(&mut random, rows);
            let count = [2, 5, sequences.len(), CODES_MAX][random.below(4) as usize];
            let codes: Vec<u64> = (0..rows).map(|_| random.below(count as u64)).collect();
            let values: Vec<u64> = codes
                .iter()
                .enumerate()
                .map(|(row, code)| sequences[*code as usize % sequences.len()].1[row])
                .collect();
            round_trip(&values, &codes, count);
        }
    }
}

#[test]
fn the_mode_follows_the_values_and_the_byte_map_is_what_is_written() {
    // Predicates in turn: one value; narrow; rising by about 1000; swinging; and one that never occurs.
    let mut random = Random(4);
    let rows = 2 * MINI_BLOCK_ROWS;
    let mut near = 1 << 40;
    let values: Vec<u64> = (0..rows as u64)
        .map(|row| match row % 4 {
            0 => 8 << 58,
            1 => (2 << 58) + 5 + random.below(8),
            2 => row * 3_000 + random.below(900),
            _ => {
                near += random.below(21);
                near -= 10;
                near
            }
        })
        .collect();
    let codes: Vec<u64> = (0..rows as u64).map(|row| row % 4).collect();
    let (bytes, table) = round_trip(&values, &codes, 5);
    let modes = [
        Mode::Frame,
        Mode::Frame,
        Mode::Rising,
        Mode::Swinging,
        Mode::Frame,
    ];
    for (entry, mode) in table.iter().zip(modes) {
        assert_eq!(entry.mode, mode, "{table:?}");
    }
    assert_eq!((table[0].frame_width, table[1].frame_width), (0, 3));
    // The first entry: a reference of one byte (kind 8 in the low bits), the mode, the width.
    assert_eq!(bytes[..3], [8, 0, 0]);
    // The second: 5 << 6 | 2 in two bytes.
    let reference = 5_u16 << 6 | 2;
    assert_eq!(
        bytes[3..7],
        [reference as u8 | 0x80, (reference >> 7) as u8, 0, 3]
    );
}

#[test]
fn a_table_of_no_or_too_many_codes_is_refused() {
    for count in [0, CODES_MAX + 1] {
        assert!(ByPredicate::read(&[0; 1_000], 0, 900, 10, count, &mut Vec::new()).is_err());
    }
}

#[test]
fn garbage_is_refused_or_decoded_but_never_a_panic() {
    let mut random = Random(78);
    let mut states = States::default();
    for round in 0..5_000 {
        let length = random.below(400) as usize;
        let bytes: Vec<u8> = (0..length)
            .map(|_| random.next() as u8 >> if round % 2 == 0 { 4 } else { 0 })
            .collect();
        let count = random.below(6) as usize;
        let mut table = Vec::new();
        let end = random.below(400) as usize;
        if let Ok(mut column) = ByPredicate::read(&bytes, 0, end, 300, count, &mut table) {
            let codes: Vec<u64> = (0..128).map(|_| random.below(70)).collect();
            let mut out = vec![0; 128];
            let _ = column.decode(&bytes, &table, 1, &codes, &mut states, &mut out);
            let _ = column.first(&bytes, &table, 1, codes[0]);
        }
    }
}
