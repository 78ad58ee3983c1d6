//! Files, runs, partitions and sorts against rows in memory.

use super::file::SpillFile;
use super::partition::{PARTITIONS, Partitions};
use super::run::RunWriter;
use super::scratch::Scratch;
use super::sorter::{ByNumber, FAN_IN, Sorter};
use crate::error::QueryError;
use crate::exec::batch::Batch;
use crate::exec::control::Control;
use crate::exec::memory::Memory;
use crate::exec::operator::Operator;
use quadrille_store::TermId;
use std::sync::Arc;

fn control(memory: u64, batch_rows: usize, scratch: Scratch) -> Arc<Control> {
    let memory = Arc::new(Memory::new(Some(memory)));
    Arc::new(Control::new(None, None, batch_rows).with_memory(&memory, &Arc::new(scratch)))
}

/// A batch whose rows are a number and its square.
fn squares(numbers: impl Iterator<Item = u64> + Clone) -> Batch {
    let mut batch = Batch::new(2);
    let count = numbers.clone().count();
    batch
        .column_mut(0)
        .extend(numbers.clone().map(TermId::from_bits));
    batch
        .column_mut(1)
        .extend(numbers.map(|number| TermId::from_bits(number.wrapping_mul(number))));
    batch.set_rows(count);
    batch
}

fn numbers(operator: &mut dyn Operator, most: usize) -> Vec<u64> {
    let mut all = Vec::new();
    let mut batch = Batch::new(2);
    while operator.next(&mut batch).expect("rows") > 0 {
        assert!(batch.rows() <= most, "a batch that is too large");
        for row in 0..batch.rows() {
            let number = batch.column(0)[row].bits();
            assert_eq!(batch.column(1)[row].bits(), number.wrapping_mul(number));
            all.push(number);
        }
    }
    all
}

#[test]
fn a_block_is_as_its_map_says_and_damage_is_found() {
    let scratch = Arc::new(Scratch::default());
    let mut file = SpillFile::new(&scratch).expect("a file");
    let batch = squares(0..5);
    file.append(&batch, 0..1, &[]).expect("a write");
    let place = file.append(&batch, 2..5, b"keys").expect("a write");
    assert_eq!(scratch.written_bytes(), (16 + 16) + (16 + 3 * 16 + 4));
    let (mut read, mut bytes) = (Batch::new(2), Vec::new());
    let keys = file.read(place, &mut read, &mut bytes).expect("a read");
    assert_eq!(keys, b"keys");
    assert_eq!(read.rows(), 3);
    assert_eq!(read.column(0), &batch.column(0)[2..]);
    assert_eq!(read.column(1), &batch.column(1)[2..]);
    // The header: a checksum, the rows, the bytes of keys; then the columns.
    assert_eq!(bytes[8..16], [3, 0, 0, 0, 4, 0, 0, 0]);
    assert_eq!(bytes[16..24], 2_u64.to_le_bytes());
    assert_eq!(bytes[40..48], 4_u64.to_le_bytes());
}

#[test]
fn a_run_gives_its_rows_in_sequence() {
    for batch_rows in [1, 7, 1024] {
        let control = control(1 << 10, batch_rows, Scratch::default());
        let mut writer = RunWriter::new(2, &control).expect("a file");
        writer.write(&squares(0..1000), 0, 1000).expect("a write");
        writer
            .write(&squares(0..3000), 1000, 3000)
            .expect("a write");
        let run = writer.finish().expect("a write");
        assert_eq!(run.rows(), 3000);
        let expected: Vec<u64> = (0..3000).collect();
        for _ in 0..2 {
            assert_eq!(numbers(&mut run.read(&control), batch_rows), expected);
        }
    }
}

#[test]
fn parts_hold_all_rows_and_a_key_is_in_one() {
    let control = control(1 << 14, 64, Scratch::default());
    let mut parts = Partitions::new(2, vec![0], 0, &control).expect("a file");
    let batch = squares((0..5000).chain(0..5000));
    for row in 0..batch.rows() {
        parts.add(&batch, row).expect("a write");
    }
    let runs = parts.finish().expect("a write");
    assert_eq!(runs.len(), PARTITIONS);
    let mut all = Vec::new();
    for run in &runs {
        assert!(run.rows() > 10_000 / PARTITIONS as u64 / 2, "a skewed hash");
        let mut part = numbers(&mut run.read(&control), 64);
        part.sort_unstable();
        assert!(part.chunks(2).all(|pair| pair[0] == pair[1]));
        all.extend(part);
    }
    all.sort_unstable();
    assert_eq!(all, (0..5000).flat_map(|n| [n, n]).collect::<Vec<_>>());
    // Divided again, a part falls apart.
    let mut again = Partitions::new(2, vec![0], 1, &control).expect("a file");
    let mut reader = runs[3].read(&control);
    let mut batch = Batch::new(2);
    while reader.next(&mut batch).expect("rows") > 0 {
        for row in 0..batch.rows() {
            again.add(&batch, row).expect("a write");
        }
    }
    let parts = again.finish().expect("a write");
    assert!(parts.iter().all(|part| part.rows() < runs[3].rows() / 4));
}

#[test]
fn a_sort_is_stable_in_memory_and_in_several_passes() {
    for (memory, rows) in [(1 << 20, 20_000), (1 << 12, 20_000), (u64::MAX, 3)] {
        for limit in [usize::MAX, 700] {
            let control = control(memory, 100, Scratch::default());
            let mut sorter = Sorter::new(2, ByNumber, limit, &control);
            // Keys that come several times; the rows say in which sequence.
            let key = |number: u64| number.wrapping_mul(0x9e37_79b9) % 977;
            for start in (0..rows).step_by(100) {
                let end = rows.min(start + 100);
                let mut keys = (start..end).map(key).collect();
                sorter.add(&squares(start..end), &mut keys).expect("rows");
            }
            let mut expected: Vec<u64> = (0..rows).collect();
            expected.sort_by_key(|number| key(*number));
            expected.truncate(limit);
            let mut sorted = sorter.finish().expect("rows");
            let mut found = Vec::new();
            loop {
                let mut batch = Batch::new(2);
                sorted.fill(&mut batch, 100).expect("rows");
                if batch.rows() == 0 {
                    break;
                }
                found.extend(batch.column(0).iter().map(|id| id.bits()));
            }
            assert_eq!(found, expected, "memory {memory}, limit {limit}");
            let has_spilled = control.scratch().written_bytes() > 0;
            assert_eq!(has_spilled, memory == 1 << 12);
            if has_spilled && limit == usize::MAX {
                let passes = control.scratch().written_bytes() / (rows * 24);
                assert!(passes >= 2, "more than {FAN_IN} runs were expected");
            }
        }
    }
}

#[test]
fn space_is_limited_and_given_back() {
    let store = quadrille_store::Store::in_memory();
    let scratch = Scratch::new(&store.snapshot(), None, Some(10_000));
    let control = control(1 << 10, 100, scratch);
    for _ in 0..3 {
        // Each takes most of it.
        let mut writer = RunWriter::new(2, &control).expect("a file");
        writer.write(&squares(0..500), 0, 500).expect("space");
        writer.finish().expect("space");
    }
    let mut writer = RunWriter::new(2, &control).expect("a file");
    writer.write(&squares(0..500), 0, 500).expect("space");
    let failed = writer.write(&squares(0..500), 0, 500);
    assert!(matches!(
        failed,
        Err(QueryError::TemporarySpace { limit: 10_000 })
    ));
}
