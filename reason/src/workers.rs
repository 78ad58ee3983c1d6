//! Running a list of tasks on a few threads.

use crate::error::Result;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls `work` for each item, on at most `threads` threads (the caller's is one of them); results come in the items'
/// order. After an error no further item is begun.
pub fn each<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<R>>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let run = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(place) else {
                break;
            };
            let result = work(item);
            if result.is_err() {
                next.store(items.len(), Ordering::Relaxed);
            }
            *results[place].lock().expect("no worker panics") = Some(result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(items.len()) {
            scope.spawn(run);
        }
        run();
    });
    // What was not begun stands behind an error, or, if threads raced, before one: the error is what counts.
    let results: Vec<Option<Result<R>>> = results
        .into_iter()
        .map(|result| result.into_inner().expect("no worker panics"))
        .collect();
    let mut done = Vec::with_capacity(items.len());
    let mut missing = false;
    for result in results {
        match result {
            Some(result) => done.push(result?),
            None => missing = true,
        }
    }
    assert!(!missing, "every item is done, or one has failed");
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::InferError;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for threads in [0, 1, 2, 5] {
            let items: Vec<usize> = (0..50).collect();
            let results = each(threads, &items, |item| Ok(item * 3)).expect("no item fails");
            assert_eq!(
                results,
                items.iter().map(|item| item * 3).collect::<Vec<_>>()
            );
            let failed = each(threads, &items, |item| match item {
                7 => Err(InferError::Cancelled),
                item => Ok(*item),
            });
            assert!(matches!(failed, Err(InferError::Cancelled)));
        }
    }
}
