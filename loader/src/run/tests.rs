//! Tests of runs: spilled ones say the same as those in memory, and so do runs merged of many.

use super::{
    FAN_IN, Gathered, NumberWriter, Rows, Run, Temporary, TemporaryNames, Terms, collapse, remove,
};
use crate::batch::Batch;
use crate::options::CancelFlag;
use crate::vocabulary::LocalId;
use crate::vocabulary::merge::SortedTerms;
use crate::vocabulary::spill::SpilledSource;
use quadrille_store::Kind;
use quadrille_store::io::Storage;
use quadrille_store::io::memory::MemoryStorage;

/// A statement as text: its terms, a triple term spelt out.
type Line = Vec<String>;

/// Gathers statements whose terms are numbers; every fifth object is a triple term over two of them.
fn gathered(numbers: &[[u32; 4]]) -> (Gathered, Vec<Line>) {
    let mut gathered = Gathered::default();
    let mut lines = Vec::new();
    for [subject, predicate, object, graph] in numbers.iter().copied() {
        let mut batch = Batch::default();
        batch.clear();
        let names = [subject, predicate, object, graph].map(|number| format!("t{number}"));
        let annotation = batch.annotation(format!("@a{}", object % 3).as_bytes());
        let mut indexes: Vec<u32> = Vec::new();
        for (place, name) in names.iter().enumerate() {
            indexes.push(if place == 2 {
                batch.push_arena(Kind::Literal, &[name.as_bytes()], annotation)
            } else {
                batch.push_arena(Kind::Iri, &[name.as_bytes()], 0)
            });
        }
        let is_triple = object.is_multiple_of(5);
        // What the bytes are does not matter here, as long as they are one term's.
        let triple = format!("{}|{}|{}", names[0], names[1], names[2]);
        let triple_index = batch.push_arena(Kind::Triple, &[triple.as_bytes()], 0);
        let mut ids = Vec::new();
        gathered.vocabulary.intern(&batch, &mut ids);
        let id = |index: u32| ids[index as usize];
        let (s, p, o, g) = (
            id(indexes[0]),
            id(indexes[1]),
            id(indexes[2]),
            id(indexes[3]),
        );
        let triple_id = id(triple_index);
        if gathered.triple_terms.iter().all(|row| row[0] != triple_id) {
            gathered.triple_terms.push([triple_id, s, p, o]);
        }
        let last = if is_triple { triple_id } else { o };
        let object = if is_triple {
            format!("{triple} of {triple}@")
        } else {
            format!("{}@a{}", names[2], object % 3)
        };
        let mut line = vec![names[0].clone(), names[1].clone(), object];
        if graph == 0 {
            gathered.default.push([s, p, last]);
        } else {
            gathered.named.push([s, p, last, g]);
            line.push(names[3].clone());
        }
        lines.push(line);
    }
    (gathered, lines)
}

/// The terms of a spilled run, in their order.
fn terms(run: &Run, storage: &MemoryStorage) -> Vec<(Kind, String)> {
    let Terms::File {
        path,
        terms,
        annotations,
    } = &run.terms
    else {
        panic!("a run in memory");
    };
    let same = (0..annotations.len() as u32).collect();
    let mut source = SpilledSource::open(storage, path, *terms, same).expect("opens");
    let mut all = Vec::new();
    let mut keys = Vec::new();
    while let Some(head) = source.head() {
        let lexical = String::from_utf8(head.bytes.to_vec()).expect("text");
        let annotation =
            String::from_utf8(annotations[head.annotation as usize].to_vec()).expect("text");
        keys.push((head.kind(), lexical.clone(), annotation.clone()));
        all.push((head.kind(), lexical + &annotation));
        source.advance().expect("reads");
    }
    assert!(
        keys.is_sorted_by(|a, b| a < b),
        "terms are in order, each once"
    );
    all
}

/// A spilled run's statements, in no order.
fn lines(run: &Run, storage: &MemoryStorage) -> Vec<Line> {
    let terms = terms(run, storage);
    assert!(
        run.triple_terms.is_sorted_by(|a, b| a[0] < b[0]),
        "triple terms are in order, each once"
    );
    let name = |id: LocalId| {
        let (kind, name) = &terms[id as usize];
        if *kind != Kind::Triple {
            return name.clone();
        }
        let row = run
            .triple_terms
            .iter()
            .find(|row| row[0] == id)
            .expect("a triple term is listed");
        let parts: Vec<&str> = row[1..]
            .iter()
            .map(|part| terms[*part as usize].1.as_str())
            .collect();
        // The annotation of the object's name is cut off.
        let object = parts[2].split('@').next().expect("a part");
        format!("{name} of {}|{}|{object}@", parts[0], parts[1])
    };
    let mut lines: Vec<Line> = Vec::new();
    run.default
        .read(storage, |rows| {
            lines.extend(
                rows.iter()
                    .map(|row| row.iter().map(|id| name(*id)).collect::<Line>()),
            );
            Ok(())
        })
        .expect("reads");
    run.named
        .read(storage, |rows| {
            lines.extend(
                rows.iter()
                    .map(|row| row.iter().map(|id| name(*id)).collect::<Line>()),
            );
            Ok(())
        })
        .expect("reads");
    lines
}

fn numbers(seed: u32, count: u32) -> Vec<[u32; 4]> {
    let number = |place: u32, salt: u32| {
        (place.wrapping_mul(2_654_435_761) ^ salt.wrapping_mul(40_503)) >> 7
    };
    (0..count)
        .map(|place| {
            [
                number(place, seed) % 50,
                number(place, seed + 1) % 4,
                number(place, seed + 2) % 60,
                number(place, seed + 3) % 3,
            ]
        })
        .collect()
}

#[test]
fn merged_runs_say_what_the_runs_said() {
    // None, one, as many as are merged at once, one more, and so many that two rounds are needed.
    for count in [0, 1, 2, FAN_IN, FAN_IN + 1, FAN_IN * FAN_IN + 3] {
        let storage = MemoryStorage::new();
        let names = TemporaryNames::new("temporary/test".to_owned());
        let temporary = Temporary {
            storage: &storage,
            names: &names,
        };
        let mut expected = Vec::new();
        let mut runs = Vec::new();
        for seed in 0..count as u32 {
            let statements = if count > 2 * FAN_IN { 2 } else { 20 };
            let (gathered, mut lines_of_run) = gathered(&numbers(seed, statements));
            let run = gathered.spill(temporary).expect("spills");
            let mut found = lines(&run, &storage);
            found.sort();
            lines_of_run.sort();
            assert_eq!(found, lines_of_run, "run {seed} of {count}");
            expected.extend(lines_of_run);
            runs.push(run);
        }
        let collapsed = collapse(runs, temporary, &CancelFlag::default()).expect("merges");
        assert!(
            collapsed.len() <= FAN_IN,
            "{} runs left of {count}",
            collapsed.len()
        );
        let mut found: Vec<Line> = collapsed
            .iter()
            .flat_map(|run| lines(run, &storage))
            .collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{count} runs");
        // What was merged is gone, and the rest goes when it is removed.
        assert!(storage.list("temporary").expect("lists").len() <= 3 * collapsed.len());
        for run in &collapsed {
            remove(run, &storage).expect("removes");
        }
        assert_eq!(storage.list("").expect("lists"), Vec::<String>::new());
    }
}

#[test]
fn rows_in_memory_come_in_pieces() {
    let rows: Vec<[LocalId; 3]> = (0..100_000).map(|n| [n, n + 1, n + 2]).collect();
    let mut found = Vec::new();
    let mut pieces = 0;
    Rows::Memory(rows.clone())
        .read(&MemoryStorage::new(), |piece| {
            found.extend_from_slice(piece);
            pieces += 1;
            Ok(())
        })
        .expect("reads");
    assert_eq!(found, rows);
    assert!(pieces > 2, "so that who reads can work within a bound");
}

#[test]
fn numbers_come_back() {
    for length in [0, 1, 16_383, 16_384, 16_385, 50_000] {
        let storage = MemoryStorage::new();
        let names = TemporaryNames::new("temporary/test".to_owned());
        let temporary = Temporary {
            storage: &storage,
            names: &names,
        };
        let numbers: Vec<u32> = (0..length)
            .map(|n: u32| n.wrapping_mul(2_654_435_761))
            .collect();
        let mut writer = NumberWriter::create(temporary).expect("creates");
        for (count, number) in numbers.iter().enumerate() {
            assert_eq!(writer.count(), count);
            writer.push(*number).expect("writes");
        }
        let file = writer.finish().expect("writes");
        assert_eq!(
            file.read(&storage).expect("reads"),
            numbers,
            "{length} numbers"
        );
        assert_eq!(
            file.take(&storage).expect("reads"),
            numbers,
            "{length} numbers"
        );
        assert_eq!(storage.list("").expect("lists"), Vec::<String>::new());
    }
}
