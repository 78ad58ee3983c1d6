//! Running a list of tasks on a few threads.

use crate::error::LoadError;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls `work` for each item, on at most `threads` threads (the caller's is one of them); results come in
/// the items' order. After an error no further item is begun.
pub fn each<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<R, LoadError> + Sync,
) -> Result<Vec<R>, LoadError> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let failed: Mutex<Option<LoadError>> = Mutex::new(None);
    let run = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(place) else {
                break;
            };
            match work(item) {
                Ok(result) => *results[place].lock().expect("no worker panics") = Some(result),
                Err(error) => {
                    next.store(items.len(), Ordering::Relaxed);
                    failed
                        .lock()
                        .expect("no worker panics")
                        .get_or_insert(error);
                    break;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(items.len()) {
            scope.spawn(run);
        }
        run();
    });
    if let Some(error) = failed.into_inner().expect("no worker panics") {
        return Err(error);
    }
    Ok(results
        .into_iter()
        .map(|result| {
            result
                .into_inner()
                .expect("no worker panics")
                .expect("every item was done")
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for threads in [0, 1, 2, 5, 40] {
            for count in [0, 1, 2, 30] {
                let items: Vec<usize> = (0..count).collect();
                let results = each(threads, &items, |item| Ok(item * 3)).expect("no item fails");
                let expected: Vec<usize> = items.iter().map(|item| item * 3).collect();
                assert_eq!(results, expected, "{threads} threads");
            }
        }
    }

    #[test]
    fn after_an_error_no_further_item_is_begun() {
        let items: Vec<usize> = (0..1000).collect();
        for threads in [1, 2, 5] {
            let done = AtomicUsize::new(0);
            let result = each(threads, &items, |item| {
                if *item == 3 {
                    return Err(LoadError::Cancelled);
                }
                if *item > 3 {
                    // Until the error is noticed; what is under way may end.
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                done.fetch_add(1, Ordering::Relaxed);
                Ok(())
            });
            assert!(
                matches!(result, Err(LoadError::Cancelled)),
                "{threads} threads"
            );
            assert!(done.into_inner() < items.len() - 1, "{threads} threads");
        }
    }
}
