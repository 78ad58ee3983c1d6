//! Checked files against what they promise: the byte map, damage found wherever it is, and bytes that come
//! back as they were written, however they were cut.

use super::super::memory::MemoryStorage;
use super::*;
use proptest::prelude::*;

const MAGIC: [u8; 8] = *b"qd-test\0";
const VERSION: u32 = 7;

fn payload(length: usize) -> Vec<u8> {
    let mut state = length as u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        bytes.extend_from_slice(&(state ^ (state >> 29)).to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

fn write(storage: &MemoryStorage, path: &str, payload: &[u8], chunk: usize) -> u64 {
    let mut writer = CheckedWriter::create(storage, path, MAGIC, VERSION).unwrap();
    let mut position = 0;
    for bytes in payload.chunks(chunk.max(1)) {
        assert_eq!(writer.position(), position);
        writer.write_all(bytes).unwrap();
        position += bytes.len() as u64;
    }
    assert_eq!(writer.position(), payload.len() as u64);
    let unsynced = writer.finish().unwrap();
    let bytes = unsynced.bytes();
    assert_eq!(unsynced.sync().unwrap(), bytes);
    assert_eq!(storage.length(path).unwrap(), Some(bytes));
    bytes
}

fn open(storage: &MemoryStorage, path: &str) -> Result<CheckedFile> {
    CheckedFile::open(storage, path, MAGIC, VERSION)
}

/// Opens a file of these bytes and verifies it.
fn verify(bytes: &[u8]) -> Result<()> {
    let storage = MemoryStorage::new();
    storage.insert("a", bytes.to_vec()).unwrap();
    open(&storage, "a")?.verify()
}

/// The byte map at the head of the module, followed by hand.
#[test]
fn the_byte_map_is_what_is_written() {
    for length in [0, 1, 100, 16_384 - 64, 16_384 - 63, 3 * 16_384 + 17] {
        let payload = payload(length);
        let storage = MemoryStorage::new();
        let bytes = write(&storage, "a", &payload, 1000);
        let file = storage.map("a").unwrap();
        let u32_at = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
        let u64_at = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
        assert_eq!(file[0..8], MAGIC);
        assert_eq!(u32_at(8), VERSION);
        assert_eq!(u32_at(12), 16_384);
        assert_eq!(file[16..56], [0; 40]);
        assert_eq!(u64_at(56), xxh3_64(&file[..56]));
        let end = 64 + length;
        assert_eq!(file[64..end], payload);
        let pages = end.div_ceil(16_384);
        for page in 0..pages {
            let bytes = &file[page * 16_384..end.min((page + 1) * 16_384)];
            assert_eq!(u32_at(end + 4 * page), xxh3_64(bytes) as u32);
        }
        let footer = end + 4 * pages;
        assert_eq!(u64_at(footer), length as u64);
        assert_eq!(u64_at(footer + 8), xxh3_64(&file[end..footer]));
        assert_eq!(file[footer + 16..footer + 24], MAGIC);
        assert_eq!(u64_at(footer + 24), xxh3_64(&file[footer..footer + 24]));
        assert_eq!(file.len(), footer + 32);
        assert_eq!(bytes, file.len() as u64);
    }
}

/// A file that the first version of this module wrote, byte for byte: it must open for ever.
#[test]
fn a_stored_file_opens() {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(b"qd-test\0\x07\0\0\0\x00\x40\0\0");
    bytes.extend_from_slice(&[0; 40]);
    bytes.extend_from_slice(&[0xc5, 0x7d, 0x0b, 0xfd, 0x7b, 0x7c, 0xb3, 0xda]);
    bytes.extend_from_slice(b"payload");
    bytes.extend_from_slice(&[0xda, 0x42, 0xf8, 0x7d]);
    bytes.extend_from_slice(&[7, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend_from_slice(&[0xf9, 0x04, 0x45, 0xaa, 0xd4, 0xa8, 0x13, 0x0c]);
    bytes.extend_from_slice(b"qd-test\0");
    bytes.extend_from_slice(&[0xba, 0x5f, 0x7e, 0xf8, 0x07, 0x9e, 0x7c, 0x54]);
    let storage = MemoryStorage::new();
    storage.insert("a", bytes).unwrap();
    let file = open(&storage, "a").unwrap();
    file.verify().unwrap();
    assert_eq!(file.bytes(0..file.len()).unwrap(), b"payload");
}

#[test]
fn every_flipped_byte_is_found() {
    let storage = MemoryStorage::new();
    write(&storage, "a", &payload(PAGE_BYTES + 300), 77);
    let good = storage.map("a").unwrap().to_vec();
    verify(&good).unwrap();
    let mut bytes = good.clone();
    // All bytes of the header and of the page's end, table and footer; one in a hundred between them.
    let places = (0..200)
        .chain((200..PAGE_BYTES - 100).step_by(101))
        .chain(PAGE_BYTES - 100..good.len());
    for place in places {
        for flip in [0x01, 0x80, 0xff] {
            bytes[place] ^= flip;
            assert!(verify(&bytes).is_err(), "byte {place} with {flip:#x}");
            bytes[place] ^= flip;
        }
    }
    // A small file whole.
    write(&storage, "b", &payload(60), 77);
    let mut bytes = storage.map("b").unwrap().to_vec();
    for place in 0..bytes.len() {
        for flip in 1..=255 {
            bytes[place] ^= flip;
            assert!(verify(&bytes).is_err(), "byte {place} with {flip:#x}");
            bytes[place] ^= flip;
        }
    }
}

#[test]
fn every_truncation_and_any_addition_is_found() {
    let storage = MemoryStorage::new();
    write(&storage, "a", &payload(500), 77);
    let good = storage.map("a").unwrap().to_vec();
    for length in 0..good.len() {
        assert!(verify(&good[..length]).is_err(), "{length} bytes");
    }
    for added in 1..100 {
        let mut bytes = good.clone();
        bytes.resize(good.len() + added, 0);
        assert!(verify(&bytes).is_err(), "{added} bytes added");
        let twice = [&good[..], &good[..added]].concat();
        assert!(verify(&twice).is_err(), "{added} bytes repeated");
    }
    assert!(verify(&[&good[..], &good[..]].concat()).is_err());
}

/// A footer that is whole by its checksum and claims any length.
#[test]
fn a_forged_length_is_refused_and_nothing_is_allocated() {
    let storage = MemoryStorage::new();
    write(&storage, "a", &payload(500), 77);
    let good = storage.map("a").unwrap().to_vec();
    let lengths = [
        0,
        499,
        501,
        1 << 20,
        1 << 40,
        u64::MAX - 64,
        u64::MAX - 3,
        u64::MAX,
    ];
    for length in lengths {
        let mut bytes = good.clone();
        let end = bytes.len() - FOOTER_BYTES;
        let sum = xxh3_64(&bytes[64 + 500..end]);
        bytes[end..].copy_from_slice(&footer(MAGIC, length, sum));
        assert!(
            matches!(verify(&bytes), Err(StoreError::Damaged { .. })),
            "{length}"
        );
    }
}

/// What stands outside of the pages is looked at by opening already.
#[test]
fn damage_outside_of_the_pages_is_found_by_opening() {
    let storage = MemoryStorage::new();
    write(&storage, "a", &payload(500), 77);
    let mut bytes = storage.map("a").unwrap().to_vec();
    for place in (0..HEADER_BYTES).chain(HEADER_BYTES + 500..bytes.len()) {
        bytes[place] ^= 4;
        storage.insert("b", bytes.clone()).unwrap();
        assert!(open(&storage, "b").is_err(), "byte {place}");
        bytes[place] ^= 4;
    }
}

/// Header and footer that are whole by their checksums, and not what this module writes.
#[test]
fn a_forged_header_or_footer_is_refused() {
    let storage = MemoryStorage::new();
    write(&storage, "a", &payload(500), 77);
    let good = storage.map("a").unwrap().to_vec();
    for place in [PAGE_SIZE_AT, ZERO_AT, HEADER_SUM_AT - 1] {
        let mut bytes = good.clone();
        bytes[place] ^= 1;
        let sum = xxh3_64(&bytes[..HEADER_SUM_AT]);
        bytes[HEADER_SUM_AT..HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
        storage.insert("b", bytes).unwrap();
        let error = open(&storage, "b").unwrap_err();
        assert!(
            matches!(error, StoreError::Damaged { .. }),
            "{place}: {error}"
        );
    }
    // The end of another kind of file.
    let mut bytes = good.clone();
    let end = bytes.len() - FOOTER_BYTES;
    let sum = xxh3_64(&bytes[HEADER_BYTES + 500..end]);
    bytes[end..].copy_from_slice(&footer(*b"qd-other", 500, sum));
    storage.insert("b", bytes).unwrap();
    let error = open(&storage, "b").unwrap_err();
    assert!(error.to_string().contains("another file's"), "{error}");
}

#[test]
fn errors_say_what_is_wrong() {
    let storage = MemoryStorage::new();
    write(&storage, "a", &payload(40_000), 77);
    let other = CheckedFile::open(&storage, "a", *b"qd-other", VERSION).unwrap_err();
    assert!(matches!(other, StoreError::NotAStore { .. }), "{other}");
    assert!(other.to_string().contains("qd-test"), "{other}");
    let version = CheckedFile::open(&storage, "a", MAGIC, 8).unwrap_err();
    assert!(
        matches!(
            version,
            StoreError::Version {
                found: 7,
                expected: 8,
                ..
            }
        ),
        "{version}"
    );
    // A damaged page is found on first touch, its neighbours stay readable.
    let mut bytes = storage.map("a").unwrap().to_vec();
    bytes[20_000] ^= 1;
    storage.insert("b", bytes).unwrap();
    let file = open(&storage, "b").unwrap();
    assert_eq!(file.bytes(0..100).unwrap(), &payload(40_000)[..100]);
    for range in [19_000..19_001, 0..17_000, 20_000..40_000, 0..40_000] {
        let error = file.bytes(range).unwrap_err();
        assert!(
            matches!(error, StoreError::Damaged { offset: 16_384, .. }),
            "{error}"
        );
    }
    file.bytes(33_000..40_000).unwrap();
    assert!(file.verify().is_err());
    let error = file.damaged(10, "no such thing");
    assert!(
        matches!(error, StoreError::Damaged { offset: 74, .. }),
        "{error}"
    );
}

#[test]
fn ranges_outside_are_errors_and_empty_ones_are_empty() {
    for length in [0, 1, 16_384 - 64, 50_000] {
        let storage = MemoryStorage::new();
        write(&storage, "a", &payload(length), 77);
        let file = open(&storage, "a").unwrap();
        let length = length as u64;
        assert_eq!(file.len(), length);
        assert_eq!(file.is_empty(), length == 0);
        assert!(file.bytes(0..0).unwrap().is_empty());
        assert!(file.bytes(length..length).unwrap().is_empty());
        #[expect(clippy::reversed_empty_ranges, reason = "that is the test")]
        let outside = [
            0..length + 1,
            length..length + 1,
            length + 1..length + 1,
            1..0,
            0..u64::MAX,
            u64::MAX..u64::MAX,
            u64::MAX - 10..u64::MAX,
        ];
        for range in outside {
            assert!(file.bytes(range.clone()).is_err(), "{range:?} of {length}");
        }
        file.verify().unwrap();
    }
}

#[test]
fn first_touches_by_many_threads_at_once() {
    let storage = MemoryStorage::new();
    let expected = payload(70 * PAGE_BYTES);
    write(&storage, "a", &expected, 1 << 20);
    for _ in 0..20 {
        let file = open(&storage, "a").unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4_usize {
                let (file, expected) = (file.clone(), &expected);
                scope.spawn(move || {
                    for start in (thread * 3..expected.len() - 100).step_by(5_001) {
                        let range = start as u64..start as u64 + 100;
                        assert_eq!(file.bytes(range).unwrap(), &expected[start..start + 100]);
                    }
                });
            }
        });
    }
}

#[test]
fn a_failing_file_fails_the_writer() {
    struct Full;
    impl WriteFile for Full {
        fn write_all(&mut self, _: &[u8]) -> Result<()> {
            Err(StoreError::Limit {
                what: "full".to_owned(),
                limit: 0,
            })
        }
        fn sync(&mut self) -> Result<()> {
            Ok(())
        }
    }
    let storage = MemoryStorage::new();
    let mut writer = CheckedWriter::create(&storage, "a", MAGIC, VERSION).unwrap();
    writer.file = Box::new(Full);
    writer.write_all(b"small").unwrap();
    assert!(writer.write_all(&payload(3 * BUFFER_BYTES)).is_err());
    let mut writer = CheckedWriter::create(&storage, "b", MAGIC, VERSION).unwrap();
    writer.file = Box::new(Full);
    assert!(writer.finish().is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// However the payload is cut into writes, the file is the same, and any range of it reads back.
    #[test]
    fn written_in_any_pieces_it_reads_back(
        pieces in prop::collection::vec(
            prop_oneof![
                0..200_usize,
                PAGE_BYTES - 70..PAGE_BYTES + 70,
                BUFFER_BYTES - 70..BUFFER_BYTES + 70,
                2 * BUFFER_BYTES - 70..2 * BUFFER_BYTES + PAGE_BYTES,
            ],
            0..8,
        ),
        ranges in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 20),
    ) {
        let expected = payload(pieces.iter().sum());
        let storage = MemoryStorage::new();
        let mut writer = CheckedWriter::create(&storage, "pieces", MAGIC, VERSION).unwrap();
        let mut rest = &expected[..];
        for piece in &pieces {
            let (bytes, after) = rest.split_at(*piece);
            writer.write_all(bytes).unwrap();
            rest = after;
            prop_assert_eq!(writer.position(), (expected.len() - rest.len()) as u64);
        }
        writer.finish().unwrap().sync().unwrap();
        write(&storage, "evenly", &expected, 1000);
        prop_assert!(*storage.map("pieces").unwrap() == *storage.map("evenly").unwrap());
        let file = open(&storage, "pieces").unwrap();
        for (a, b) in ranges {
            let (a, b) = (a.index(expected.len() + 1), b.index(expected.len() + 1));
            let (start, end) = (a.min(b), a.max(b));
            prop_assert!(file.bytes(start as u64..end as u64).unwrap() == &expected[start..end]);
        }
        file.verify().unwrap();
    }
}
