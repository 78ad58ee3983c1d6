//! The manifest: its text, what it refuses, what it removes.

mod crash;

use super::*;
use crate::io::memory::MemoryStorage;
use std::os::unix::ffi::OsStrExt;

/// A manifest with something of everything.
pub(super) fn sample() -> Manifest {
    let orders = |segment: u64, orders: &[Order], rows: u64, end: &str| {
        orders
            .iter()
            .map(|order| OrderEntry {
                order: *order,
                path: format!("{}/{}{end}", segment_path(segment), order.name()),
                rows,
                bytes: 100 + rows,
            })
            .collect::<Vec<_>>()
    };
    let file = |segment: u64, name: &str| FileEntry {
        path: format!("{}/{name}", segment_path(segment)),
        bytes: 96,
    };
    Manifest {
        format: FORMAT_VERSION,
        store: StoreId(0x0123_4567_89ab_cdef_0011_2233_4455_6677),
        generation: 3,
        commit: 12,
        next_file_number: 8,
        next_ordinals: Ordinals::from_array([1_000, 200, 3, 0]),
        next_blank: 17,
        next_triple: 5,
        next_document: 2,
        dictionaries: vec![
            DictionaryEntry {
                path: dictionary_path(1),
                ordered: true,
                first_ordinals: Ordinals::default(),
                counts: Ordinals::from_array([900, 200, 0, 0]),
                bytes: 12_345,
            },
            DictionaryEntry {
                path: dictionary_path(4),
                ordered: false,
                first_ordinals: Ordinals::from_array([900, 200, 0, 0]),
                counts: Ordinals::from_array([100, 0, 3, 0]),
                bytes: 678,
            },
        ],
        triple_tables: vec![TripleTableEntry {
            path: triple_table_path(2),
            first: 0,
            count: 5,
            bytes: 300,
        }],
        segments: vec![
            SegmentEntry {
                path: segment_path(3),
                commit: 4,
                quads: GraphCounts {
                    default: 50,
                    named: 0,
                },
                tombstones: GraphCounts::default(),
                predicates: file(3, "predicates"),
                orders: orders(3, &Order::DEFAULT_GRAPH, 50, ""),
                tombstone_orders: Vec::new(),
                statistics: file(3, "statistics"),
                inferred: false,
            },
            SegmentEntry {
                path: segment_path(5),
                commit: 12,
                quads: GraphCounts {
                    default: 0,
                    named: 7,
                },
                tombstones: GraphCounts {
                    default: 1,
                    named: 0,
                },
                predicates: file(5, "predicates"),
                orders: orders(5, &Order::NAMED_GRAPHS, 7, ""),
                tombstone_orders: orders(5, &Order::DEFAULT_GRAPH, 1, ".deleted"),
                statistics: file(5, "statistics"),
                inferred: true,
            },
        ],
        logs: vec![LogEntry {
            path: log_path(7),
            first_commit: 13,
        }],
        prefixes: BTreeMap::from([("ub".to_owned(), "http://example.org/ub#".to_owned())]),
        inference: None,
    }
}

fn with_bytes(bytes: &[u8]) -> MemoryStorage {
    let storage = MemoryStorage::new();
    storage.insert(MANIFEST_FILE, bytes.to_vec()).unwrap();
    storage
}

fn load(bytes: &[u8]) -> Result<Option<Manifest>> {
    Manifest::load(&with_bytes(bytes))
}

/// Guards a text as a manifest's is, so that what stands in it is looked at.
fn guarded(json: &str) -> Vec<u8> {
    let sum = xxhash_rust::xxh3::xxh3_64(json.as_bytes());
    format!("quadrille-manifest 1 {sum:016x} {}\n{json}", json.len()).into_bytes()
}

#[test]
fn what_is_stored_is_loaded() {
    let storage = MemoryStorage::new();
    assert_eq!(Manifest::load(&storage).unwrap(), None);
    let fresh = Manifest::new();
    fresh.store(&storage).unwrap();
    assert_eq!(Manifest::load(&storage).unwrap(), Some(fresh.clone()));
    sample().store(&storage).unwrap();
    assert_eq!(Manifest::load(&storage).unwrap(), Some(sample()));
    assert_eq!(storage.list("").unwrap(), [MANIFEST_FILE]);
    // What an interrupted switch left is in nobody's way.
    storage.insert(NEW_MANIFEST_FILE, vec![0; 10]).unwrap();
    sample().successor().store(&storage).unwrap();
    assert_eq!(
        Manifest::load(&storage).unwrap(),
        Some(sample().successor())
    );
    assert_eq!(fresh.successor().generation, 1);
    assert_ne!(Manifest::new().store, fresh.store);
}

/// A store that version 1 wrote must open for ever; see `version_1.manifest`, which nobody may change.
#[test]
fn a_manifest_of_version_1_loads() {
    let bytes = include_bytes!("version_1.manifest");
    assert_eq!(load(bytes).unwrap(), Some(sample()));
    // And while this is the version that is written, it is written so.
    assert_eq!(sample().text().as_bytes(), bytes);
}

#[test]
fn every_flipped_byte_is_found() {
    let mut bytes = sample().text().into_bytes();
    for place in 0..bytes.len() {
        for flip in [0x01, 0x20] {
            bytes[place] ^= flip;
            assert!(load(&bytes).is_err(), "byte {place} with {flip:#x}");
            bytes[place] ^= flip;
        }
    }
    load(&bytes).unwrap();
}

#[test]
fn every_truncation_and_any_addition_is_damage() {
    let bytes = sample().text().into_bytes();
    for length in 0..bytes.len() {
        let error = load(&bytes[..length]).unwrap_err();
        assert!(
            matches!(error, StoreError::Damaged { .. }),
            "{length}: {error}"
        );
    }
    for added in [&b" "[..], b"\n", b"\0", &bytes] {
        let error = load(&[&bytes, added].concat()).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    }
}

#[test]
fn other_versions_and_other_files_are_told_apart() {
    let newer = b"quadrille-manifest 2 whatever comes then\n\xff";
    let error = load(newer).unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Version {
                found: 2,
                expected: 1,
                ..
            }
        ),
        "{error}"
    );
    for other in [
        &b"<?xml version='1.0'?>"[..],
        b"Manifest-Version: 1.0\n",
        b"quadrille",
    ] {
        let error = load(other).unwrap_err();
        let is_beginning = b"quadrille-manifest".starts_with(other);
        assert_eq!(
            matches!(error, StoreError::Damaged { .. }),
            is_beginning,
            "{error}"
        );
        assert_eq!(
            matches!(error, StoreError::NotAStore { .. }),
            !is_beginning,
            "{error}"
        );
    }
    // Not read at all.
    let long = vec![b'q'; MANIFEST_BYTES_MAX as usize + 1];
    assert!(matches!(load(&long), Err(StoreError::NotAStore { .. })));
}

#[test]
fn a_directory_without_a_manifest() {
    let found = |names: &[&str]| {
        let storage = MemoryStorage::new();
        for name in names {
            storage.insert(name, Vec::new()).unwrap();
        }
        Manifest::load(&storage)
    };
    // As good as empty: what the creation of a store, or of a volume, leaves first.
    assert_eq!(
        found(&["lock", "manifest.new", "lost+found/x"]).unwrap(),
        None
    );
    // Somebody else's, or ours and broken: it must not be taken for a new store and cleaned.
    for names in [
        &["photo.jpg"][..],
        &["lock", "segments/00000001/spo"],
        &["temporary/x"],
    ] {
        let error = found(names).unwrap_err();
        assert!(matches!(error, StoreError::NotAStore { .. }), "{error}");
        assert!(error.to_string().contains("no \"manifest\""), "{error}");
    }
}

/// Texts whose guard is right and whose contents are not.
#[test]
fn contents_that_contradict_themselves_are_damage() {
    let text = sample().text();
    let json = text.split_once('\n').unwrap().1;
    load(&guarded(json)).unwrap();
    let wrong = [
        ("\"format\": 1", "\"format\": 2"),
        ("\"generation\": 3", "\"generation\": -3"),
        ("\"generation\": 3", "\"generation\": 3, \"unknown\": 1"),
        ("\"generation\": 3,", ""),
        ("01234567", "0123456z"),
        ("01234567", "+1234567"),
        ("01234567", "1234567"),
        ("\"next_file_number\": 8", "\"next_file_number\": 7"),
        ("\"next_triple\": 5", "\"next_triple\": 4"),
        ("\"next_blank\": 17", "\"next_blank\": 18446744073709551615"),
        ("\"commit\": 12,\n  \"next", "\"commit\": 11,\n  \"next"),
        ("\"commit\": 4", "\"commit\": 13"),
        ("\"iri\": 1000", "\"iri\": 999"),
        ("\"iri\": 100,", "\"iri\": 101,"),
        ("\"iri\": 900", "\"iri\": 901"),
        ("\"iri\": 100,", "\"iri\": 18446744073709551615,"),
        ("\"default\": 50", "\"default\": 51"),
        ("\"rows\": 50", "\"rows\": 49"),
        ("\"order\": \"spo\"", "\"order\": \"sop\""),
        ("\"order\": \"spo\"", "\"order\": \"spx\""),
        ("dictionaries/00000001", "dictionaries/00000004"),
        ("dictionaries/00000001", "../../../00000001"),
        ("triples/00000002", "/etc/passwd"),
        ("segments/00000003/spo", "segments/00000005/spo"),
        ("segments/00000003/spo", "segments/00000003/../x"),
        ("segments/00000003/sop", "segments/00000003/spo"),
        ("logs/00000007", "logs/7"),
        ("logs/00000007", "logs/00000008"),
    ];
    for (from, to) in wrong {
        let changed = json.replacen(from, to, 1);
        assert_ne!(changed, json, "{from} is not there");
        let error = load(&guarded(&changed)).expect_err(to);
        assert!(matches!(error, StoreError::Damaged { .. }), "{to}: {error}");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(matches!(
        load(&guarded(&deep)),
        Err(StoreError::Damaged { .. })
    ));
}

#[test]
#[should_panic(expected = "contradicts itself")]
fn a_manifest_that_contradicts_itself_is_not_stored() {
    let mut manifest = sample();
    manifest.next_file_number = 1;
    let _ = manifest.store(&MemoryStorage::new());
}

#[test]
fn live_files_and_their_lengths() {
    let manifest = sample();
    let storage = MemoryStorage::new();
    for (path, bytes) in manifest.files() {
        let bytes = vec![0; bytes.unwrap_or(5) as usize];
        storage.insert(path, bytes).unwrap();
    }
    let live = manifest.live_files();
    // 2 dictionaries, 1 table, 1 log; a segment has predicates and statistics.
    assert_eq!(live.len(), 2 + 1 + 1 + (2 + 6) + (2 + 10 + 6));
    let listed = storage.list("").unwrap();
    assert!(listed.iter().map(String::as_str).eq(live.iter().copied()));
    manifest.check_files(&storage).unwrap();
    for path in live {
        let bytes = storage.map(path).unwrap().to_vec();
        if !path.starts_with(LOGS) {
            storage.insert(path, bytes[1..].to_vec()).unwrap();
            let error = manifest.check_files(&storage).unwrap_err();
            assert!(error.to_string().contains(path), "{error}");
        }
        storage.remove(path).unwrap();
        let error = manifest.check_files(&storage).unwrap_err();
        assert!(error.to_string().contains("no such file"), "{error}");
        storage.insert(path, bytes).unwrap();
    }
}

#[test]
fn leftovers_go_and_nothing_else() {
    let manifest = sample();
    let storage = MemoryStorage::new();
    let live: Vec<String> = manifest
        .live_files()
        .into_iter()
        .map(str::to_owned)
        .collect();
    let others = [
        "manifest",
        "lock",
        "notes.txt",
        "segments/README",
        "segments/00000003/spo~",
        "segments/00000006/Notes",
        "segments/6/spo",
        "dictionaries/old/00000001",
        "dictionaries/00000009.bak",
        "logs.tar",
    ];
    let leftovers = [
        "manifest.new",
        "temporary/run-1",
        "temporary/a/b",
        "dictionaries/00000008",
        "triples/00000003",
        "logs/00000006",
        "segments/00000003/psog",
        "segments/00000006/spo",
        "segments/00000009/spo",
        "segments/00000009/sop.deleted",
    ];
    let all = live
        .iter()
        .map(String::as_str)
        .chain(others)
        .chain(leftovers);
    for path in all {
        storage.insert(path, vec![1]).unwrap();
    }
    let removed = remove_leftovers(&storage, &manifest).unwrap();
    assert_eq!(
        removed,
        [
            "manifest.new",
            "temporary",
            "dictionaries/00000008",
            "triples/00000003",
            "logs/00000006",
            "segments/00000003/psog",
            "segments/00000006/spo",
            "segments/00000009",
        ]
    );
    let mut expected: Vec<String> = others.map(str::to_owned).to_vec();
    expected.extend(live);
    expected.sort();
    assert_eq!(storage.list("").unwrap(), expected);
    assert!(remove_leftovers(&storage, &manifest).unwrap().is_empty());
}

#[test]
fn empty_directories_of_a_crash_go_too() {
    let directory = tempfile::tempdir().unwrap();
    let storage = crate::io::file::FileStorage::create(directory.path()).unwrap();
    let manifest = Manifest::new();
    manifest.store(&storage).unwrap();
    let names = ["segments/00000001", "segments/mine", "temporary/1/2"];
    for name in names {
        std::fs::create_dir_all(directory.path().join(name)).unwrap();
    }
    let removed = remove_leftovers(&storage, &manifest).unwrap();
    assert_eq!(removed, ["temporary", "segments/00000001"]);
    let left = names.map(|name| directory.path().join(name).exists());
    assert_eq!(left, [false, true, false]);
    // A directory that has a file whose name we cannot even read is not all ours.
    let segment = directory.path().join("segments/00000002");
    std::fs::create_dir(&segment).unwrap();
    let odd = segment.join(std::ffi::OsStr::from_bytes(b"\xff"));
    std::fs::write(&odd, b"x").unwrap();
    assert!(remove_leftovers(&storage, &manifest).unwrap().is_empty());
    assert!(odd.exists());
}

#[test]
fn prefixes_are_bounded() {
    let mut manifest = Manifest::new();
    assert!(manifest.remember_prefix("a", "http://a/"));
    assert!(manifest.remember_prefix("a", "http://a/"));
    assert!(!manifest.remember_prefix("a", "http://b/"));
    assert!(!manifest.remember_prefix(&"x".repeat(PREFIX_BYTES_MAX + 1), "http://a/"));
    assert!(!manifest.remember_prefix("x", &"x".repeat(PREFIX_IRI_BYTES_MAX + 1)));
    for n in 1..PREFIXES_MAX {
        assert!(manifest.remember_prefix(&format!("p{n}"), "http://a/"));
    }
    assert!(!manifest.remember_prefix("one-more", "http://a/"));
    assert_eq!(manifest.prefixes.len(), PREFIXES_MAX);
    assert!(manifest.remember_prefix("a", "http://a/"));
    load(manifest.text().as_bytes()).unwrap();
}
