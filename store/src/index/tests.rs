//! Orders' files against a plain sorted vector of rows.

use super::*;
use crate::id::Kind;
use crate::io::Storage;
use crate::io::memory::MemoryStorage;
use crate::quad::{Order, Position};
use std::sync::Arc;

/// A small generator of random numbers; the seed says everything.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ value >> 31
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// How the ids of a test's rows are distributed.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Dense,
    Wide,
    Mixed,
    OnePredicate,
    ManyPredicates,
    University,
}

const SHAPES: [Shape; 6] = [
    Shape::Dense,
    Shape::Wide,
    Shape::Mixed,
    Shape::OnePredicate,
    Shape::ManyPredicates,
    Shape::University,
];

type PlainRow = [TermId; 4];

/// The rows of an order, sorted, and the segment's predicates.
struct Sample {
    order: Order,
    predicates: Arc<[TermId]>,
    rows: Vec<PlainRow>,
}

fn iri(payload: u64) -> TermId {
    TermId::new(Kind::Iri, payload)
}

fn sample(order: Order, shape: Shape, rows: usize, seed: u64) -> Sample {
    let mut random = Random(seed);
    let predicate_count = match shape {
        Shape::OnePredicate => 1,
        Shape::ManyPredicates => 700,
        _ => 17,
    };
    let predicates: Arc<[TermId]> = (0..predicate_count).map(|rank| iri(rank * 7 + 3)).collect();
    let predicate_column = order
        .column_of(Position::Predicate)
        .expect("a predicate column");
    let mut set = std::collections::BTreeSet::new();
    while set.len() < rows {
        let mut row = [TermId::UNBOUND; 4];
        let predicate = random.below(predicate_count);
        let subject = random.below(rows as u64 / 3 + 1);
        for (column, position) in order.columns().iter().enumerate() {
            row[column] = match (position, shape) {
                (Position::Predicate, _) => predicates[predicate as usize],
                (Position::Graph, _) => iri(1_000_000 + random.below(3)),
                (Position::Subject, Shape::University) => iri(5_000 + subject),
                (Position::Object, Shape::University) => match predicate {
                    0 => TermId::new(Kind::Literal, 77),
                    1..6 => TermId::new(Kind::Literal, subject * 900 + random.below(20)),
                    6 => TermId::new(Kind::Integer, random.below(1 << 57)),
                    _ => iri(subject + random.below(60)),
                },
                (_, Shape::Dense | Shape::OnePredicate | Shape::ManyPredicates) => {
                    iri(10_000 + random.below(rows as u64 / 2 + 3))
                }
                (_, Shape::Wide) => TermId::from_bits(random.next()),
                (_, Shape::Mixed) => match random.below(8) {
                    0 => TermId::MAX,
                    1 => TermId::from_bits(random.below(2)),
                    2 | 3 => TermId::new(Kind::Literal, random.below(5_000)),
                    4 => TermId::new(Kind::Double, random.below(1 << 57)),
                    _ => iri(random.below(200)),
                },
            };
        }
        debug_assert_eq!(row[predicate_column], predicates[predicate as usize]);
        set.insert(row);
    }
    Sample {
        order,
        predicates,
        rows: set.into_iter().collect(),
    }
}

impl Sample {
    fn columns(&self) -> usize {
        self.order.columns().len()
    }

    /// Writes the rows in chunks of random lengths.
    fn write(&self, storage: &dyn Storage, path: &str, random: &mut Random) -> OrderSummary {
        let predicate_column = self.order.column_of(Position::Predicate).expect("a column");
        let columns: Vec<Vec<u64>> = (0..self.columns())
            .map(|column| {
                self.rows
                    .iter()
                    .map(|row| {
                        if column == predicate_column {
                            let rank = self.predicates.binary_search(&row[column]);
                            rank.expect("a predicate") as u64
                        } else {
                            row[column].bits()
                        }
                    })
                    .collect()
            })
            .collect();
        let mut writer =
            OrderWriter::create(storage, path, self.order, Arc::clone(&self.predicates))
                .expect("create");
        let mut from = 0;
        while from < self.rows.len() {
            let chunk = match random.below(3) {
                0 => BLOCK_ROWS,
                1 => 2 * BLOCK_ROWS,
                _ => random.below(BLOCK_ROWS as u64) as usize + 1,
            };
            let until = self.rows.len().min(from + chunk);
            let slices: Vec<&[u64]> = columns.iter().map(|column| &column[from..until]).collect();
            writer.push(&slices).expect("push");
            from = until;
        }
        let (unsynced, summary) = writer.finish().expect("finish");
        unsynced.sync().expect("sync");
        summary
    }

    fn file(&self, random: &mut Random) -> OrderFile {
        let storage = MemoryStorage::default();
        let summary = self.write(&storage, "order", random);
        assert_eq!(summary.rows, self.rows.len() as u64);
        let columns: u64 = summary.columns.iter().map(ColumnSummary::total_bytes).sum();
        assert_eq!(columns + summary.directory_bytes, summary.bytes);
        OrderFile::open(&storage, "order", self.order, Arc::clone(&self.predicates)).expect("open")
    }

    /// The rows that begin with a prefix, the prefix taken off.
    fn plain(&self, prefix: &[TermId]) -> Vec<&[TermId]> {
        let columns = self.columns();
        self.rows
            .iter()
            .filter(|row| row.starts_with(prefix))
            .map(|row| &row[prefix.len()..columns])
            .collect()
    }

    /// A prefix or key: mostly of a row, sometimes one that is nearly a row's.
    fn key(&self, random: &mut Random, columns: usize) -> Vec<TermId> {
        let row = self.rows[random.below(self.rows.len() as u64) as usize];
        let mut key = row[..columns].to_vec();
        if columns > 0 && random.below(3) == 0 {
            let column = random.below(columns as u64) as usize;
            let bits = key[column].bits();
            key[column] = TermId::from_bits(match random.below(4) {
                0 => bits.wrapping_add(1),
                1 => bits.wrapping_sub(1),
                2 => random.next(),
                _ => [0, u64::MAX][random.below(2) as usize],
            });
        }
        key
    }
}

fn rows_of(columns: &Columns) -> Vec<Vec<TermId>> {
    (0..columns.len())
        .map(|row| columns.columns.iter().map(|column| column[row]).collect())
        .collect()
}

/// Reads a cursor to its end in portions of random sizes.
fn drain(cursor: &mut dyn Cursor, random: &mut Random) -> Columns {
    let mut out = Columns::default();
    loop {
        let before = out.len();
        let max = random.below(3_000) as usize + 1;
        let rows = cursor.fill(&mut out, max).expect("fill");
        assert!(rows <= max);
        assert_eq!(out.len(), before + rows);
        if rows == 0 {
            return out;
        }
    }
}

fn check_scans(sample: &Sample, file: &OrderFile, random: &mut Random) {
    assert_eq!(
        rows_of(&drain(&mut file.cursor(&[]).expect("cursor"), random)),
        sample.plain(&[])
    );
    for _ in 0..40 {
        let columns = random.below(sample.columns() as u64 + 1) as usize;
        let prefix = sample.key(random, columns);
        let expected = sample.plain(&prefix);
        assert_eq!(count(file, &prefix), expected.len() as u64, "{prefix:?}");
        let mut cursor = file.cursor(&prefix).expect("cursor");
        assert_eq!(cursor.remaining(), expected.len() as u64);
        if columns == sample.columns() {
            let rows = cursor.fill(&mut Columns::default(), 5).expect("fill");
            assert_eq!(rows, expected.len());
        } else {
            assert_eq!(rows_of(&drain(&mut cursor, random)), expected, "{prefix:?}");
        }
    }
}

/// How many rows begin with a prefix.
fn count(file: &OrderFile, prefix: &[TermId]) -> u64 {
    let rows = file.row_range(prefix).expect("range");
    rows.end - rows.start
}

fn check_masks(sample: &Sample, file: &OrderFile, random: &mut Random) {
    for bits in 0..1 << sample.columns() {
        let mut wanted = ColumnMask::NONE;
        for column in 0..sample.columns() {
            if bits >> column & 1 == 1 {
                wanted = wanted.with(column);
            }
        }
        let prefix = sample.key(random, 1);
        let mut out = Columns::default();
        let rows = file.row_range(&prefix).expect("range");
        let mut cursor = file.cursor_rows(&prefix, rows, wanted);
        let rows = cursor.fill(&mut out, usize::MAX).expect("fill");
        let expected = sample.plain(&prefix);
        assert_eq!(rows, expected.len());
        for (index, column) in out.columns.iter().enumerate() {
            if wanted.contains(index + 1) {
                let values: Vec<TermId> = expected.iter().map(|row| row[index]).collect();
                assert_eq!(*column, values);
            } else {
                assert!(column.is_empty());
            }
        }
    }
}

fn check_seeks(sample: &Sample, file: &OrderFile, random: &mut Random) {
    for _ in 0..30 {
        let prefix_columns = random.below(sample.columns() as u64) as usize;
        let prefix = sample.key(random, prefix_columns);
        let rows = sample.plain(&prefix);
        let mut place = 0;
        let mut cursor = file.cursor(&prefix).expect("cursor");
        for _ in 0..30 {
            let columns = random.below((sample.columns() - prefix_columns) as u64 + 1) as usize;
            let key = if random.below(2) == 0 && place < rows.len() {
                // A near target.
                let near = (place + random.below(50) as usize).min(rows.len() - 1);
                rows[near][..columns].to_vec()
            } else {
                sample.key(random, prefix_columns + columns)[prefix_columns..].to_vec()
            };
            cursor.seek(&key).expect("seek");
            place += rows[place..].partition_point(|row| row[..columns] < key[..]);
            let mut out = Columns::default();
            let max = random.below(5) as usize;
            let count = cursor.fill(&mut out, max).expect("fill");
            assert_eq!(
                rows_of(&out),
                rows[place..place + count],
                "{prefix:?} {key:?}"
            );
            assert_eq!(count, max.min(rows.len() - place));
            place += count;
        }
    }
}

/// Rows whose column behind the prefix lies in a range of ids, of all rows with the prefix or of some of them.
fn check_within(sample: &Sample, file: &OrderFile, random: &mut Random) {
    for _ in 0..30 {
        let prefix_columns = random.below(sample.columns() as u64) as usize;
        if sample.order.columns()[prefix_columns] == Position::Predicate {
            continue;
        }
        let prefix = sample.key(random, prefix_columns);
        let mut ends = [(); 2].map(|()| sample.key(random, prefix_columns + 1)[prefix_columns]);
        ends.sort_unstable();
        let all = file.row_range(&prefix).expect("range");
        let skipped = random.below(all.end - all.start + 1);
        let rows = all.start + skipped..all.end;
        let within = file
            .row_range_within(&prefix, &(ends[0]..=ends[1]), rows)
            .expect("within");
        let mut out = Columns::default();
        let mut cursor = file.cursor_rows(&prefix, within, ColumnMask::ALL);
        cursor.fill(&mut out, usize::MAX).expect("fill");
        let mut expected = sample.plain(&prefix).split_off(skipped as usize);
        expected.retain(|row| (ends[0]..=ends[1]).contains(&row[0]));
        assert_eq!(rows_of(&out), expected, "{prefix:?} {ends:?}");
    }
}

fn check(sample: &Sample, seed: u64) {
    let mut random = Random(seed);
    let file = sample.file(&mut random);
    file.verify().expect("verify");
    assert_eq!(file.rows(), sample.rows.len() as u64);
    assert_eq!(
        file.first_row().expect("first"),
        sample.rows.first().copied()
    );
    assert_eq!(file.last_row().expect("last"), sample.rows.last().copied());
    check_scans(sample, &file, &mut random);
    check_masks(sample, &file, &mut random);
    check_seeks(sample, &file, &mut random);
    check_within(sample, &file, &mut random);
}

#[test]
fn every_order_and_shape_reads_as_the_plain_rows_do() {
    for (index, order) in Order::DEFAULT_GRAPH
        .into_iter()
        .chain(Order::NAMED_GRAPHS)
        .enumerate()
    {
        for shape in SHAPES {
            let seed = index as u64 * 100 + shape as u64;
            println!("order {order:?}, shape {shape:?}, seed {seed}");
            check(&sample(order, shape, 5_000, seed), seed);
        }
    }
}

#[test]
fn lengths_around_the_borders_of_blocks_and_mini_blocks() {
    let mini_block = crate::codec::MINI_BLOCK_ROWS;
    for rows in [
        1,
        2,
        mini_block - 1,
        mini_block,
        mini_block + 1,
        BLOCK_ROWS - 1,
        BLOCK_ROWS,
        BLOCK_ROWS + 1,
        2 * BLOCK_ROWS,
        2 * BLOCK_ROWS + mini_block + 1,
    ] {
        for shape in [Shape::University, Shape::Mixed] {
            println!("rows {rows}, shape {shape:?}");
            check(&sample(Order::Spo, shape, rows, rows as u64), 1);
            check(&sample(Order::Gpos, shape, rows, rows as u64), 2);
        }
    }
}

#[test]
fn a_file_without_rows() {
    let sample = Sample {
        order: Order::Pos,
        predicates: Arc::new([]),
        rows: Vec::new(),
    };
    let file = sample.file(&mut Random(1));
    file.verify().expect("verify");
    assert_eq!(file.rows(), 0);
    assert_eq!(file.first_row().expect("first"), None);
    assert_eq!(file.last_row().expect("last"), None);
    assert_eq!(count(&file, &[]), 0);
    assert_eq!(count(&file, &[iri(1), iri(2)]), 0);
    let mut cursor = file.cursor(&[]).expect("cursor");
    cursor.seek(&[iri(1)]).expect("seek");
    assert_eq!(cursor.fill(&mut Columns::default(), 10).expect("fill"), 0);
}

#[test]
fn another_order_or_list_of_predicates_is_refused() {
    let sample = sample(Order::Spo, Shape::Dense, 100, 5);
    let storage = MemoryStorage::default();
    sample.write(&storage, "order", &mut Random(5));
    let predicates = &sample.predicates;
    assert!(OrderFile::open(&storage, "order", Order::Sop, Arc::clone(predicates)).is_err());
    assert!(OrderFile::open(&storage, "order", Order::Spo, predicates[1..].into()).is_err());
    assert!(OrderFile::open(&storage, "nothing", Order::Spo, Arc::clone(predicates)).is_err());
}

#[test]
#[should_panic(expected = "strictly increasing")]
fn rows_out_of_order_are_a_broken_invariant() {
    let storage = MemoryStorage::default();
    let mut writer =
        OrderWriter::create(&storage, "order", Order::Spo, Arc::new([iri(1)])).expect("create");
    writer
        .push(&[&[5, 4], &[0, 0], &[1, 1]])
        .expect("the rows wait");
    drop(writer.finish());
}

#[test]
fn any_flipped_byte_is_found() {
    let sample = sample(Order::Ops, Shape::University, 300, 11);
    let storage = MemoryStorage::default();
    sample.write(&storage, "order", &mut Random(11));
    let whole = storage.map("order").expect("map").to_vec();
    let mut random = Random(12);
    for byte in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[byte] ^= 1 << random.below(8);
        let storage = MemoryStorage::default();
        let mut file = storage.create("order").expect("create");
        file.write_all(&bytes).expect("write");
        file.sync().expect("sync");
        drop(file);
        let found = OrderFile::open(
            &storage,
            "order",
            Order::Ops,
            Arc::clone(&sample.predicates),
        )
        .and_then(|file| file.verify());
        assert!(found.is_err(), "byte {byte} of {}", whole.len());
    }
}

#[test]
fn the_byte_map_is_what_the_writer_writes() {
    use crate::io::checked::CheckedFile;

    let rows = BLOCK_ROWS + 3;
    let sample = sample(Order::Gpos, Shape::Dense, rows, 21);
    let storage = MemoryStorage::default();
    let summary = sample.write(&storage, "order", &mut Random(21));
    let file = CheckedFile::open(&storage, "order", MAGIC, VERSION).expect("open");
    let payload = file.bytes(0..file.len()).expect("payload");
    let number = |at: usize| u64::from_le_bytes(payload[at..at + 8].try_into().expect("8 bytes"));
    let rank = |id: TermId| sample.predicates.binary_search(&id).expect("a rank") as u64;

    let trailer = payload.len() - 80;
    let directory = trailer - 2 * (8 + 8 * 4);
    assert_eq!(summary.bytes, payload.len() as u64);
    assert_eq!(summary.directory_bytes, (payload.len() - directory) as u64);
    assert_eq!(number(trailer), rows as u64);
    assert_eq!(number(trailer + 8), 2);
    assert_eq!(number(trailer + 16), directory as u64);
    assert_eq!(number(trailer + 24), 17);
    assert_eq!(
        payload[trailer + 32..trailer + 48],
        [
            0,
            16,
            0,
            0,
            128,
            0,
            0,
            0,
            Order::Gpos as u8,
            4,
            0,
            0,
            0,
            0,
            0,
            0
        ]
    );
    let last = sample.rows[rows - 1];
    assert_eq!(number(trailer + 48), last[0].bits());
    assert_eq!(number(trailer + 56), rank(last[1]));
    assert_eq!(number(trailer + 72), last[3].bits());

    assert_eq!(number(directory), 0, "the first block begins the payload");
    let second = directory + 40;
    let row = sample.rows[BLOCK_ROWS];
    assert!((1..directory as u64).contains(&number(second)));
    assert_eq!(number(second + 8), row[0].bits());
    assert_eq!(number(second + 16), rank(row[1]));
    assert_eq!(number(second + 24), row[2].bits());
    assert_eq!(number(second + 32), row[3].bits());
}
