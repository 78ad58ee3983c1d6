//! Damaged dictionaries: each changed byte is found, and one that passes the checksums does no harm.

use super::super::{Dictionary, MAGIC, VERSION};
use super::{BTreeSet, Term, check, iri, literal, write};
use crate::error::StoreError;
use crate::id::{Kind, TermId};
use crate::io::Storage;
use crate::io::checked::{CheckedFile, CheckedWriter};
use crate::io::memory::MemoryStorage;
use crate::term::TermKey;

/// A small dictionary that has a bit of everything.
fn small() -> BTreeSet<Term> {
    let mut model = BTreeSet::new();
    model.extend((0..40).map(|at| iri(format!("http://e/S{at}.edu"))));
    model.extend((0..4).map(|at| literal(format!("l{at}"), ["", "@de", "@en"][at % 3])));
    model.extend((0..3).map(|at| literal("same", ["", "@de", "^http://e/t"][at])));
    model.insert(literal("x".repeat(20), ""));
    model.insert((
        Kind::TemporalLiteral,
        b"2024".to_vec(),
        b"^http://e/t".to_vec(),
    ));
    model
}

fn read_all(storage: &MemoryStorage) -> Vec<u8> {
    storage.map("dictionary").expect("map").to_vec()
}

fn write_file(bytes: &[u8]) -> MemoryStorage {
    let storage = MemoryStorage::new();
    let mut file = storage.create("dictionary").expect("create");
    file.write_all(bytes).expect("write");
    file.sync().expect("sync");
    storage
}

#[test]
fn every_changed_byte_is_found() {
    let storage = MemoryStorage::new();
    write(&storage, "dictionary", &small(), |_| false);
    let bytes = read_all(&storage);
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        let storage = write_file(&changed);
        let found = Dictionary::open(&storage, "dictionary").and_then(|open| open.verify());
        assert!(found.is_err(), "byte {at} of {}", bytes.len());
    }
}

#[test]
fn every_truncation_is_found() {
    let storage = MemoryStorage::new();
    write(&storage, "dictionary", &small(), |_| false);
    let bytes = read_all(&storage);
    for length in 0..bytes.len() {
        let storage = write_file(&bytes[..length]);
        let found = Dictionary::open(&storage, "dictionary").and_then(|open| open.verify());
        assert!(found.is_err(), "{length} bytes of {}", bytes.len());
    }
}

/// Asks everything of a dictionary whose answers may be wrong or errors, but nothing else.
fn ask(dictionary: &Dictionary, model: &BTreeSet<Term>) -> bool {
    let mut damaged = false;
    let mut note = |error: Option<StoreError>| {
        if let Some(error) = error {
            assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
            damaged = true;
        }
    };
    for kind in Kind::VOCABULARY {
        let first = dictionary.first(kind);
        let ids: Vec<TermId> = (0..dictionary.count(kind).min(80))
            .map(|at| TermId::new(kind, first + at))
            .collect();
        for id in &ids {
            let mut out = Vec::new();
            note(dictionary.lexical(*id, &mut out).err());
            assert!(out.capacity() < 1 << 16);
        }
        note(dictionary.lexicals_sorted(&ids, &mut |_, _, _| {}).err());
        let mut cursor = dictionary.cursor(kind);
        for (_, lexical, annotation) in model.iter().filter(|term| term.0 == kind) {
            let key = TermKey {
                kind,
                lexical,
                annotation,
            };
            note(dictionary.term_id(&key).err());
            note(dictionary.lower_bound(&key).err());
            note(cursor.seek(&key).err());
        }
    }
    note(dictionary.verify().err());
    damaged
}

/// Bytes that were wrong before their checksum was made: errors, never a panic, whatever is asked.
#[test]
fn damage_that_passes_the_checksums_is_harmless() {
    let model = small();
    let storage = MemoryStorage::new();
    write(&storage, "dictionary", &model, |_| false);
    let file = CheckedFile::open(&storage, "dictionary", MAGIC, VERSION).expect("open");
    let payload = file.bytes(0..file.len()).expect("bytes").to_vec();
    let mut found = 0;
    let mut tried = 0;
    for at in 0..payload.len() {
        for value in [0, 0x7f, 0xff, payload[at] ^ 1, payload[at] ^ 0x10] {
            if value == payload[at] {
                continue;
            }
            let mut changed = payload.clone();
            changed[at] = value;
            let storage = MemoryStorage::new();
            let mut writer =
                CheckedWriter::create(&storage, "dictionary", MAGIC, VERSION).expect("create");
            writer.write_all(&changed).expect("write");
            writer.finish().expect("finish").sync().expect("sync");
            tried += 1;
            match Dictionary::open(&storage, "dictionary") {
                Ok(dictionary) => found += usize::from(ask(&dictionary, &model)),
                Err(StoreError::Damaged { .. }) => found += 1,
                Err(other) => panic!("byte {at}: {other}"),
            }
        }
    }
    // Other text, or another first ordinal, cannot be told from what was meant; structure can.
    assert!(found * 2 > tried, "{found} of {tried}");
}

#[test]
fn any_payload_is_harmless() {
    let model = small();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64; // fixed, so that a failure comes again
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let storage = MemoryStorage::new();
    write(&storage, "dictionary", &model, |_| false);
    let file = CheckedFile::open(&storage, "dictionary", MAGIC, VERSION).expect("open");
    let payload = file.bytes(0..file.len()).expect("bytes").to_vec();
    for _ in 0..3000 {
        // Several bytes anywhere but in the trailer, which must pass for anything behind it to be read.
        let mut changed = payload.clone();
        for _ in 0..=random() % 20 {
            let at = random() as usize % (changed.len() - super::super::directory::TRAILER_BYTES);
            changed[at] = random() as u8;
        }
        let storage = MemoryStorage::new();
        let mut writer =
            CheckedWriter::create(&storage, "dictionary", MAGIC, VERSION).expect("create");
        writer.write_all(&changed).expect("write");
        writer.finish().expect("finish").sync().expect("sync");
        ask(
            &Dictionary::open(&storage, "dictionary").expect("the trailer is whole"),
            &model,
        );
    }
}

#[test]
fn the_undamaged_one_is_right() {
    let storage = MemoryStorage::new();
    write(&storage, "dictionary", &small(), |index| index % 7 == 0);
    check(
        &Dictionary::open(&storage, "dictionary").expect("open"),
        &small(),
    );
    let other = CheckedFile::open(&storage, "dictionary", MAGIC, VERSION + 1);
    assert!(matches!(other, Err(StoreError::Version { .. })));
}
