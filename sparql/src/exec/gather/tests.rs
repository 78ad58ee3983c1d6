//! Tests of gathering: sequence, errors, panics, and readers that go.

use super::*;
use quadrille_store::TermId;

/// Gives so many rows of one column, then what it was told.
struct Source {
    numbers: std::ops::Range<u64>,
    fails: bool,
    panics: bool,
}

impl Operator for Source {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        output.clear();
        let rows: Vec<u64> = self.numbers.by_ref().take(3).collect();
        if rows.is_empty() {
            assert!(!self.panics, "as it was told");
            return if self.fails {
                Err(QueryError::Cancelled)
            } else {
                Ok(0)
            };
        }
        output
            .column_mut(0)
            .extend(rows.iter().map(|number| TermId::from_bits(*number)));
        output.set_rows(rows.len());
        Ok(rows.len())
    }
}

/// Parts of ten numbers each.
fn gather(parts: u64, threads: usize, fails: Option<u64>, panics: Option<u64>) -> Gather {
    let part = |part: u64| {
        Box::new(move || {
            Ok(Box::new(Source {
                numbers: part * 10..part * 10 + 10,
                fails: fails == Some(part),
                panics: panics == Some(part),
            }) as Box<dyn Operator>)
        }) as Part
    };
    Gather::new(Pipeline {
        parts: (0..parts).map(part).collect(),
        width: 1,
        threads,
        control: Arc::new(Control::new(None, None, 3)),
    })
}

fn read(mut gather: Gather) -> Result<Vec<u64>> {
    let mut numbers = Vec::new();
    let mut batch = Batch::new(1);
    while gather.next(&mut batch)? > 0 {
        numbers.extend(batch.column(0).iter().map(|id| id.bits()));
    }
    assert_eq!(gather.next(&mut batch)?, 0, "the end stays the end");
    Ok(numbers)
}

#[test]
fn rows_come_in_the_sequence_of_the_parts() {
    let expected: Vec<u64> = (0..200).collect();
    for threads in [1, 2, 3, 50] {
        let numbers = read(gather(20, threads, None, None)).expect("no error");
        assert_eq!(numbers, expected, "{threads} threads");
    }
    assert!(read(gather(0, 2, None, None)).expect("no error").is_empty());
}

#[test]
fn an_error_in_a_part_is_an_error_of_the_whole() {
    for threads in [1, 2, 8] {
        let result = read(gather(20, threads, Some(11), None));
        assert!(
            matches!(result, Err(QueryError::Cancelled)),
            "{threads} threads"
        );
    }
}

#[test]
fn a_panic_in_a_part_is_a_panic_where_it_is_read() {
    let result = std::panic::catch_unwind(|| read(gather(20, 2, None, Some(7))).map(drop));
    assert!(result.is_err());
}

#[test]
fn a_reader_that_goes_stops_the_threads() {
    let mut gather = gather(1000, 2, None, None);
    gather.next(&mut Batch::new(1)).expect("no error");
    let State::Running(gathered) = &mut gather.state else {
        panic!("it runs");
    };
    let threads = std::mem::take(&mut gathered.threads);
    drop(gather);
    for thread in threads {
        thread.join().expect("no panic");
    }
}
