//! The format of blocks: against the byte map by hand, and against plain twins of its helpers.

use super::super::TermBytes;
use super::super::block::{
    Block, BlockEncoder, BlockShape, GROUP_TERMS, SLACK_BYTES, shared_prefix,
};
use super::super::directory::{Entry, Section, TRAILER_BYTES, Trailer};
use proptest::prelude::*;

fn encode(terms: &[(&str, u32)]) -> (Vec<u8>, BlockShape) {
    let mut encoder = BlockEncoder::default();
    for (lexical, annotation) in terms {
        let lexical = lexical.as_bytes();
        let shared = encoder
            .last()
            .map_or(0, |last| shared_prefix(last.lexical, lexical));
        encoder.push(
            TermBytes {
                lexical,
                annotation: *annotation,
            },
            shared,
        );
    }
    let mut bytes = Vec::new();
    let shape = encoder.finish(&mut bytes);
    (bytes, shape)
}

fn decode(bytes: &[u8], shape: BlockShape) -> Vec<(String, u32)> {
    let block = Block::parse(bytes, shape).expect("parse");
    let mut buffer = vec![0; block.longest() + SLACK_BYTES];
    let mut term = |at| {
        let walk = block.walk_to(at, &mut buffer).expect("walk_to");
        let term = walk.term(&mut buffer).expect("term");
        (
            String::from_utf8(term.lexical.to_vec()).expect("UTF-8"),
            term.annotation,
        )
    };
    (0..block.terms()).map(&mut term).collect()
}

#[test]
fn the_byte_map_is_what_is_written() {
    let (bytes, shape) = encode(&[("a1.x", 0), ("a10.x", 0), ("a2.x", 0), ("abc.x", 0)]);
    assert_eq!(
        shape,
        BlockShape {
            terms: 4,
            head_length: 4,
            head_annotation: 0
        }
    );
    let expected = [
        &b"a1.x"[..], // the head
        &[0, 5],      // no annotations, five bytes in the longest term
        &[2],
        b".x", // the tail
        &[0x01],
        b"0",    // a1 -> a10
        &[0x20], // a10 -> a2: cut two, increment the byte at the cut
        &[0x12],
        b"bc", // a2 -> abc
    ];
    assert_eq!(bytes, expected.concat());

    // A block with annotations; one form with two of them; an escaped addition.
    let long = "a".repeat(15);
    let (bytes, shape) = encode(&[("", 1), ("", 3), (&long, 2)]);
    assert_eq!(
        shape,
        BlockShape {
            terms: 3,
            head_length: 0,
            head_annotation: 1
        }
    );
    let expected = [
        &[1, 15][..],
        &[0],
        &[0x00, 3],
        &[0x0f, 15],
        long.as_bytes(),
        &[2],
    ];
    assert_eq!(bytes, expected.concat());

    // Cutting without appending, which only tails make necessary: stems "Ba" and "B" with tail "x".
    let (bytes, shape) = encode(&[("Bax", 0), ("Bx", 0)]);
    assert_eq!(
        bytes,
        [&b"Bax"[..], &[0, 3], &[1], b"x", &[0x1f, 0]].concat()
    );
    assert_eq!(
        decode(&bytes, shape),
        [("Bax".to_owned(), 0), ("Bx".to_owned(), 0)]
    );

    // The second group: where it begins, its tail, what its first term shares with the head.
    let names: Vec<String> = (0..=GROUP_TERMS).map(|at| format!("name{at:03}")).collect();
    let terms: Vec<(&str, u32)> = names.iter().map(|name| (name.as_str(), 0)).collect();
    let (bytes, _) = encode(&terms);
    // No tail; every entry is an increment, but 009 to 010 and the like append two bytes.
    let first_group = 1 + (GROUP_TERMS - 1) + 2 * 3;
    assert_eq!(
        bytes[..11],
        *b"name000\0\x07\x26\0",
        "offset of the second group"
    );
    assert_eq!(bytes[11 + first_group..], *b"\0\x05\x0232");

    let (bytes, shape) = encode(&[("alone", 9)]);
    assert_eq!(
        (bytes.as_slice(), shape.head_annotation),
        (&b"alone"[..], 9)
    );
}

#[test]
fn entries_and_trailers_come_back() {
    let entry = Entry {
        first: 1,
        offset: u64::MAX,
        head_length: 3,
        head_annotation: u32::MAX,
    };
    assert_eq!(Entry::from_bytes(&entry.to_bytes()), entry);
    let mut trailer = Trailer::default();
    for (at, section) in trailer.sections.iter_mut().enumerate() {
        let at = at as u64;
        *section = Section {
            first: at,
            terms: 10,
            blocks: 1,
            start: 5 * at,
            directory: 20 + 48 * at,
        };
    }
    (trailer.annotations, trailer.annotations_at) = (0, 212);
    let length = 212 + 8 + TRAILER_BYTES as u64;
    assert_eq!(
        Trailer::from_bytes(&trailer.to_bytes(), length),
        Ok(trailer)
    );
    // No part may be elsewhere or of another size.
    for at in 0..TRAILER_BYTES / 8 {
        for change in [1, 7, 1 << 40, u64::MAX / 2, u64::MAX] {
            let mut bytes = trailer.to_bytes();
            let number = &mut bytes.as_chunks_mut::<8>().0[at];
            *number = u64::from_le_bytes(*number)
                .wrapping_add(change)
                .to_le_bytes();
            if let Ok(read) = Trailer::from_bytes(&bytes, length) {
                let differs = |s: usize| {
                    let (a, b) = (read.sections[s], trailer.sections[s]);
                    a.directory != b.directory || a.blocks != b.blocks
                };
                assert!(!(0..4).any(differs), "number {at} plus {change}");
                assert_eq!(read.annotations_at, trailer.annotations_at);
            }
        }
    }
}

proptest! {
    #[test]
    fn shared_prefixes(a in "[ab]{0,40}", b in "[ab]{0,40}", common in "[ab]{0,40}") {
        let (a, b) = (common.clone() + &a, common + &b);
        let plain = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
        prop_assert_eq!(shared_prefix(a.as_bytes(), b.as_bytes()), plain);
    }

    #[test]
    fn blocks_come_back(
        terms in prop::collection::btree_set(("[ab.]{0,20}(\\.ab)?", 0..3_u32), 1..200),
    ) {
        let terms: Vec<(&str, u32)> = terms.iter().map(|(text, a)| (text.as_str(), *a)).collect();
        let (bytes, shape) = encode(&terms);
        let expected: Vec<(String, u32)> = terms.iter().map(|(t, a)| ((*t).to_owned(), *a)).collect();
        prop_assert_eq!(decode(&bytes, shape), expected);
    }
}
