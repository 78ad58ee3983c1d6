//! Galloping: a search that begins near a place, in steps that double. What merges sorted rows, skips in them or looks keys up in
//! ascending sequence searches this way: cheap when the next row is near, and never much dearer than a binary search.

/// The first number from `start` on, below `end`, for which `is_before` does not hold; `end` if it holds for all. It must hold for
/// a first part of the numbers and for none after it.
#[inline]
pub fn gallop(start: usize, end: usize, mut is_before: impl FnMut(usize) -> bool) -> usize {
    let mut low = start;
    let mut step = 1;
    let mut high = start;
    while high < end && is_before(high) {
        low = high + 1;
        high += step;
        step *= 2;
    }
    let mut high = high.min(end);
    while low < high {
        let middle = usize::midpoint(low, high);
        if is_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
