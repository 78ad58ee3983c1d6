//! Blocks: the byte map, and bytes that no encoder wrote.

use super::*;
use crate::codec::SLACK_BYTES;
use crate::codec::testing::Random;

/// Three columns of an spo block: subjects with five predicates each.
fn columns(rows: u64) -> [Vec<u64>; 3] {
    let mut random = Random(3);
    [
        (0..rows).map(|row| 1_000 + row / 5).collect(),
        (0..rows)
            .map(|row| [2, 3, 7, 8, 11][row as usize % 5])
            .collect(),
        (0..rows)
            .map(|row| ((row % 5) << 58) + row * 10 + random.below(9))
            .collect(),
    ]
}

fn encode(columns: &[Vec<u64>; 3]) -> Vec<u8> {
    let slices: Vec<&[u64]> = columns.iter().map(Vec::as_slice).collect();
    let mut bytes = Vec::new();
    let encoded = BlockEncoder::new(Order::Spo, 12).encode(&slices, &mut bytes);
    let total: usize = encoded.iter().flatten().map(|column| column.bytes).sum();
    assert_eq!(total, bytes.len());
    bytes
}

#[test]
fn the_byte_map_is_what_the_encoder_writes() {
    let bytes = encode(&columns(1_000));
    let heads: Vec<(u8, usize)> = bytes[..12]
        .chunks(HEAD_BYTES)
        .map(|head| {
            (
                head[0],
                usize::from(head[1]) | usize::from(head[2]) << 8 | usize::from(head[3]) << 16,
            )
        })
        .collect();
    assert_eq!(
        heads.iter().map(|head| head.0).collect::<Vec<u8>>(),
        [
            Codec::MiniBlocks as u8,
            Codec::Codes as u8,
            Codec::ByPredicate as u8
        ]
    );
    assert_eq!(
        12 + heads.iter().map(|head| head.1).sum::<usize>(),
        bytes.len()
    );
    // Ranks by code: five, so 4; the array's least is the origin, its greatest 9 above, so 4 bits each.
    let ranks = &bytes[12 + heads[0].1..];
    assert_eq!(ranks[..3], [4, 0, 4]);
    assert_eq!(ranks[3..6], [1 << 4, 6 << 4 | 5, 9]);

    let one = [vec![5; 1], vec![6; 1], vec![7; 1]];
    assert_eq!(encode(&one), [0; 12], "constants take no bytes");
}

#[test]
fn any_changed_byte_is_refused_or_decoded_but_never_a_panic() {
    let columns = columns(700);
    let whole = encode(&columns);
    let first = [columns[0][0], columns[1][0], columns[2][0], 0];
    let mut random = Random(9);
    let mut block = Block::default();
    for round in 0..whole.len() * 2 {
        let mut bytes = whole.clone();
        bytes[round % whole.len()] ^= random.below(255) as u8 + 1;
        let length = bytes.len();
        bytes.extend_from_slice(&[0xee; SLACK_BYTES]);
        if block.read(&bytes, length, 700, Order::Spo, &first).is_err() {
            continue;
        }
        for mini_block in [0, 5, 2] {
            let mut out = vec![0; block.mini_block_rows(mini_block)];
            for column in [2, 0, 1] {
                let _ = block.first(&bytes, column, mini_block);
                let _ = block.decode(&bytes, column, mini_block, &mut out);
            }
        }
    }
}
