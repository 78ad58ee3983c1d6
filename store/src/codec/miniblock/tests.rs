//! Mini-blocks against the numbers that they were made of.

use super::encode::{runs, write_runs};
use super::*;
use crate::codec::SLACK_BYTES;
use crate::codec::bitpack::bit_length;
use crate::codec::testing::{Random, sequences};
use crate::codec::varint::fold;

/// Encodes, checks the plan's size, decodes, and gives the shape.
fn round_trip(encoder: &mut MiniBlockEncoder, values: &[u64]) -> Shape {
    let mut bytes = vec![0x55; 3];
    let planned = encoder.estimate(values);
    let head = encoder.encode(values, &mut bytes);
    assert_eq!(bytes.len() - 3, planned, "{head:?} for {values:?}");
    bytes.extend_from_slice(&[0xff; SLACK_BYTES]);
    assert!(head.form() < 1 << FORM_BITS);
    let read = Head::new(head.form(), head.reference, head.step).expect("a form");
    assert_eq!(read, head);
    let mut out = vec![7; values.len()];
    head.decode(&bytes, 3, &mut out).expect("whole");
    assert_eq!(out, values, "{head:?}");
    assert_eq!(head.first(&bytes, 3, values.len()), Ok(values[0]));
    if head.starts_with_reference() {
        assert_eq!(head.reference, values[0]);
    }
    head.shape
}

#[test]
fn all_sequences_come_back() {
    let mut encoder = MiniBlockEncoder::default();
    for seed in 0..40 {
        println!("seed {seed}");
        for count in [1, 2, 3, 7, 64, MINI_BLOCK_ROWS - 1, MINI_BLOCK_ROWS] {
            for (_, values) in sequences(&mut Random(seed), count) {
                round_trip(&mut encoder, &values);
            }
        }
    }
}

#[test]
fn every_shape_is_taken_where_it_is_smallest() {
    let mut encoder = MiniBlockEncoder::default();
    let numbers = 0..MINI_BLOCK_ROWS as u64;
    let mut random = Random(1);
    let mut shape_of = |values: Vec<u64>| round_trip(&mut encoder, &values);
    assert_eq!(shape_of(vec![u64::MAX; 128]), Shape::Frame);
    assert_eq!(
        shape_of(numbers.clone().map(|n| n * 3 + (1 << 61)).collect()),
        Shape::Delta
    );
    assert_eq!(
        shape_of(numbers.clone().map(|_| random.below(1 << 9)).collect()),
        Shape::Frame
    );
    assert_eq!(
        shape_of(
            numbers
                .clone()
                .map(|n| if n % 50 == 0 {
                    u64::MAX - n
                } else {
                    random.below(16)
                })
                .collect()
        ),
        Shape::FramePatched
    );
    let mut value = 0;
    assert_eq!(
        shape_of(
            numbers
                .clone()
                .map(|n| {
                    value += if n % 60 == 0 {
                        1 << 40
                    } else {
                        1000 + random.below(4)
                    };
                    value
                })
                .collect()
        ),
        Shape::DeltaPatched
    );
    assert_eq!(
        shape_of(numbers.map(|n| n / 30 * (1 << 50)).collect()),
        Shape::Runs
    );
}

#[test]
fn a_sequence_of_equal_steps_has_no_payload() {
    let values: Vec<u64> = (0..128).map(|n| (8 << 58) + n * 17).collect();
    let mut payload = Vec::new();
    MiniBlockEncoder::default().encode(&values, &mut payload);
    assert!(payload.is_empty());
}

#[test]
fn the_byte_map_is_what_the_encoder_writes() {
    // Runs: two changes, so runs - 1 = 2; lengths - 1 of 2 bits; residuals above the step.
    let mut values = vec![10; 3];
    values.extend([500_000; 1]);
    values.extend([500_700_001; 4]);
    let mut payload = Vec::new();
    let plan = runs(&[0_i32, 0, 499_990, 500_200_001, 0, 0, 0], 10, 2);
    write_runs(&plan, &values, &mut payload);
    let width = bit_length(500_200_001 - 499_990) as usize;
    assert_eq!(payload[..2], [2, 2]);
    assert_eq!(payload[2], 2 | 3 << 4, "lengths less one: 2, 0, 3");
    assert_eq!(payload.len(), 3 + (2 * width).div_ceil(8));

    // A patched frame: residuals, then the number of patches, the width of highs, positions, highs.
    let mut random = Random(2);
    let mut values: Vec<u64> = (0..128).map(|_| 100 + random.below(4)).collect();
    values[0] = 100 + (5 << 2);
    payload.clear();
    let head = MiniBlockEncoder::default().encode(&values, &mut payload);
    assert_eq!(
        (head.shape, head.width, head.reference),
        (Shape::FramePatched, 2, 100)
    );
    let packed = 128 * 2 / 8;
    assert_eq!(payload[packed..packed + 2], [1, 4]);
    assert_eq!(payload[packed + 2] & 0x7f, 0, "the position");
    assert_eq!(payload[packed + 3], fold(5) as u8);
    assert_eq!(payload.len(), packed + 4);
}

#[test]
fn garbage_is_refused_or_decoded_but_never_a_panic() {
    let mut random = Random(77);
    for _ in 0..20_000 {
        let length = random.below(200) as usize;
        let bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        let form = random.below(1 << FORM_BITS);
        if let Ok(head) = Head::new(form, random.next(), random.next()) {
            let count = random.below(MINI_BLOCK_ROWS as u64) as usize + 1;
            let start = random.below(220) as usize;
            let _ = head.decode(&bytes, start, &mut vec![0; count]);
            let _ = head.first(&bytes, start, count);
        }
    }
}
