//! Tests of numbering: rank tables, and whole numberings by ranges (which are small in tests) and from files, which
//! must give every term the same id.

use super::{RankTable, TERMS_PER_PIECE, TERMS_PER_RANGE};
use crate::input::{Format, InputFile};
use crate::load::load;
use crate::options::LoadOptions;
use oxttl::NQuadsParser;
use quadrille_store::{Kind, Quad, Store, TermId};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Cursor;

/// A table of these pieces (`None` is a listed one) of so many ranks, and the ids by rank.
fn table(pieces: &[(Option<Kind>, u64)]) -> (RankTable, Vec<TermId>) {
    let mut table = RankTable::default();
    let mut ids = Vec::new();
    for (kind, count) in pieces {
        let first = ids.len() as u64;
        if let Some(kind) = kind {
            let start = TermId::new(*kind, 1000 + first);
            table.push_linear(first, start);
            ids.extend((0..*count).map(|n| TermId::from_bits(start.bits() + n)));
        } else {
            let listed: Vec<TermId> = (0..*count)
                .map(|n| TermId::new(Kind::Integer, (first + n) * 7))
                .collect();
            table.push_listed(first, listed.iter().copied());
            ids.extend(listed);
        }
    }
    (table, ids)
}

#[test]
fn one_rank_and_many_ranks_give_the_same_ids() {
    let (iri, literal, triple) = (Some(Kind::Iri), Some(Kind::Literal), Some(Kind::Triple));
    let tables = [
        &[(iri, 10)][..],
        &[(None, 10)],
        &[(iri, 10), (literal, 3)],
        &[(iri, 1), (literal, 1)],
        &[(iri, 10), (None, 3)],
        &[(None, 3), (triple, 10)],
        &[(iri, 4), (literal, 3), (None, 5), (triple, 2)],
        &[(Some(Kind::Blank), 4), (iri, 4), (literal, 1), (triple, 2)],
    ];
    for pieces in tables {
        let (table, ids) = table(pieces);
        let mut ranks: Vec<u64> = (0..ids.len() as u64)
            .chain((0..ids.len() as u64).rev())
            .collect();
        let expected: Vec<u64> = ids
            .iter()
            .chain(ids.iter().rev())
            .map(|id| id.bits())
            .collect();
        for (rank, id) in ids.iter().enumerate() {
            assert_eq!(table.id(rank as u64), *id, "{pieces:?}");
        }
        table.map(&mut ranks);
        assert_eq!(ranks, expected, "{pieces:?}");
    }
}

/// Statements without blank nodes, some of them shared by all texts.
fn text(seed: u64) -> String {
    let mut state = seed;
    let mut below = |limit: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % limit
    };
    let mut text = String::new();
    for _ in 0..150 {
        let inner = format!(
            "<<( <u:{}> <u:p{}> \"{}\"@en )>>",
            below(90),
            below(5),
            below(9)
        );
        let object = match below(6) {
            0 => format!("<u:{}>", below(400)),
            1 => format!(
                "\"{}\"^^<http://www.w3.org/2001/XMLSchema#integer>",
                below(200)
            ),
            2 => format!(
                "\"0{}\"^^<http://www.w3.org/2001/XMLSchema#integer>",
                below(200)
            ),
            3 => format!("\"{}\"@en", below(200)),
            4 => inner,
            _ => format!("<<( <u:{}> <u:q> {inner} )>>", below(90)),
        };
        let graph = if below(3) == 0 {
            format!("<u:g{}>", below(3))
        } else {
            String::new()
        };
        writeln!(
            text,
            "<u:{}> <u:p{}> {object} {graph} .",
            below(400),
            below(5)
        )
        .unwrap();
    }
    text
}

/// The store after two loads of several texts each: its quads as ids and as lines.
fn loaded(
    threads: usize,
    memory: u64,
    batch_statements: usize,
) -> (BTreeSet<Quad>, BTreeSet<String>) {
    let store = Store::in_memory();
    for seeds in [1..4_u64, 3..9] {
        let inputs = seeds
            .map(|seed| {
                let reader = Box::new(Cursor::new(text(seed).into_bytes()));
                InputFile::from_reader(&format!("text {seed}"), reader, Format::NQuads, seed as u32)
            })
            .collect();
        let options = LoadOptions {
            threads,
            memory,
            batch_statements,
            ..LoadOptions::default()
        };
        load(&store, inputs, &options).expect("loads");
    }
    let report = store.verify();
    assert!(report.is_sound(), "{:?}", report.problems);
    let snapshot = store.snapshot();
    let quads: BTreeSet<Quad> = snapshot.quads().map(|quad| quad.expect("reads")).collect();
    let lines = quads
        .iter()
        .map(|quad| snapshot.quad(quad).expect("has terms").to_string());
    let lines = lines.collect();
    (quads, lines)
}

#[test]
fn ranges_and_files_give_every_term_the_same_id() {
    // So that one load's vocabularies are cut into several ranges, and sections into several pieces.
    const { assert!(TERMS_PER_RANGE < 50 && TERMS_PER_PIECE < 100) };
    let expected: BTreeSet<String> = (1..9)
        .flat_map(|seed| {
            let text = text(seed);
            let quads = NQuadsParser::new().for_slice(text.as_bytes());
            quads
                .map(|quad| quad.expect("is valid").to_string())
                .collect::<Vec<_>>()
        })
        .collect();
    let (quads, lines) = loaded(1, 64 << 20, 4096);
    assert_eq!(lines, expected);
    for (threads, memory, batch) in [
        (2, 64 << 20, 64),
        (4, 64 << 20, 16),
        (1, 64 << 10, 4),
        (3, 64 << 10, 50),
        (2, 512 << 10, 8),
    ] {
        let other = loaded(threads, memory, batch);
        assert_eq!(
            other.1, expected,
            "{threads} threads, {memory} bytes, batches of {batch}"
        );
        assert_eq!(
            other.0, quads,
            "{threads} threads, {memory} bytes, batches of {batch}"
        );
    }
}
