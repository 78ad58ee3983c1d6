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

/// Parts of ten numbers each; `build` is called part by part, but by several threads.
fn gather(parts: usize, threads: usize, fails: Option<u64>, panics: Option<u64>) -> Gather {
    let begun = Mutex::new(0);
    Gather::new(Pipeline {
        parts: (0..parts).map(|_| Scan::empty()).collect(),
        build: Arc::new(move |_| {
            let mut begun = begun.lock().expect("no panic here");
            let part = *begun;
            *begun += 1;
            Ok(Box::new(Source {
                numbers: part * 10..part * 10 + 10,
                fails: fails == Some(part),
                panics: panics == Some(part),
            }) as Box<dyn Operator>)
        }),
        width: 1,
        threads,
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
    // One thread: with more of them the parts above are numbered as threads come.
    let expected: Vec<u64> = (0..200).collect();
    assert_eq!(read(gather(20, 1, None, None)).expect("no error"), expected);
    for threads in [2, 3, 50] {
        let mut numbers = read(gather(20, threads, None, None)).expect("no error");
        numbers.sort_unstable();
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
    let gathered = gather.gathered.as_mut().expect("it runs");
    let threads = std::mem::take(&mut gathered.threads);
    drop(gather);
    for thread in threads {
        thread.join().expect("no panic");
    }
}
