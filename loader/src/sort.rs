//! Sorting packed rows, and deriving one order from another.
//!
//! A row is a number ([`crate::key`]), so a stable radix sort from the lowest digit up sorts it in one pass
//! a digit. Rows that are sorted by subject, predicate, object need far fewer passes for another order: sorted
//! stably by predicate alone they are in order pso; by object, then by predicate: pos. [`derive`] finds the
//! passes that are needed; where the first column stays, it sorts within the rows of each subject.

use crate::key::{Field, Key, Repack, Widths, fields, mask};
use quadrille_store::Order;

/// Bits of one radix digit: 2048 counters fit the first-level cache.
const DIGIT_BITS: u32 = 11;
/// Below this many rows a comparison sort is as fast.
const SMALL: usize = 1 << 12;

/// Sorts rows by all bits of `total_bits`. `scratch` is overwritten.
pub fn sort<K: Key>(keys: &mut Vec<K>, scratch: &mut Vec<K>, total_bits: u32) {
    if keys.len() <= SMALL {
        keys.sort_unstable();
        return;
    }
    by_digits(keys, scratch, 0, total_bits);
}

/// The order that all others are derived from: that of the set's first four positions.
pub fn base(order: Order) -> Order {
    if order.is_default_graph() {
        Order::Spo
    } else {
        Order::Spog
    }
}

/// Memory for rows while they are derived, to be used again: large blocks come from the system page by page, which costs
/// about as much as sorting what is put into them.
#[derive(Default)]
pub struct Buffers<K> {
    /// The rows.
    pub keys: Vec<K>,
    /// Overwritten by sorting.
    pub scratch: Vec<K>,
}

/// Rows sorted in the base order (in its layout) -> the same rows sorted in `order`, in its layout, in `buffers.keys`.
pub fn derive<K: Key>(rows: &[K], order: Order, widths: Widths, buffers: &mut Buffers<K>) {
    let Buffers { keys, scratch } = buffers;
    let base = base(order);
    keys.clear();
    if order == base {
        keys.extend_from_slice(rows);
        return;
    }
    let repack = Repack::new(base, order, widths);
    keys.extend(rows.iter().map(|row| repack.apply(*row)));
    let target = fields(order, widths);
    if keys.len() <= SMALL {
        keys.sort_unstable();
    } else if order.columns()[0] == base.columns()[0] {
        sort_within_first(keys, scratch, &target);
    } else {
        for field in target[..columns_to_sort(order)].iter().rev() {
            by_digits(keys, scratch, field.shift, field.bits);
        }
    }
}

/// How many leading columns must be sorted by, given rows in the base order: the columns behind them
/// stand in the base order's sequence already.
fn columns_to_sort(order: Order) -> usize {
    let columns = order.columns();
    let place = |column: usize| base(order).column_of(columns[column]);
    (0..columns.len())
        .find(|first| (*first + 1..columns.len()).all(|next| place(next - 1) < place(next)))
        .expect("a single column is in sequence")
}

/// About how many passes over the rows it takes to derive an order.
pub fn passes(order: Order) -> usize {
    if order == base(order) {
        0
    } else {
        columns_to_sort(order)
    }
}

/// Sorts the rows of each value of the first column by the others.
fn sort_within_first<K: Key>(keys: &mut [K], scratch: &mut Vec<K>, target: &[Field]) {
    let first = target[0];
    let mut start = 0;
    while start < keys.len() {
        let value = keys[start].get(first.shift, mask(first.bits));
        let same = |key: &K| key.get(first.shift, mask(first.bits)) == value;
        let length = keys[start..].iter().take_while(|key| same(key)).count();
        if length > SMALL * 8 {
            let mut group = keys[start..start + length].to_vec();
            by_digits(&mut group, scratch, 0, first.shift);
            keys[start..start + length].copy_from_slice(&group);
        } else {
            keys[start..start + length].sort_unstable();
        }
        start += length;
    }
}

/// Sorts stably by the bits from `shift` on, `bits` of them.
fn by_digits<K: Key>(keys: &mut Vec<K>, scratch: &mut Vec<K>, shift: u32, bits: u32) {
    let passes = bits.div_ceil(DIGIT_BITS);
    scratch.resize(keys.len(), K::default());
    let mut done = 0;
    for pass in 0..passes {
        let digit = (bits - done).div_ceil(passes - pass);
        if scatter(keys, scratch, shift + done, digit) {
            std::mem::swap(keys, scratch);
        }
        done += digit;
    }
}

/// One pass: moves all rows to their places by one digit. Does nothing, and says so, if all rows have the same.
fn scatter<K: Key>(from: &[K], to: &mut [K], shift: u32, bits: u32) -> bool {
    assert!(
        u32::try_from(from.len()).is_ok(),
        "counters have 32 bits: larger sets are sorted in parts"
    );
    let mask = mask(bits);
    let mut next = [0_u32; 1 << DIGIT_BITS];
    for key in from {
        next[key.get(shift, mask) as usize] += 1;
    }
    let mut sum = 0;
    for counter in &mut next {
        if *counter as usize == from.len() {
            return false;
        }
        sum += std::mem::replace(counter, sum);
    }
    for key in from {
        let place = &mut next[key.get(shift, mask) as usize];
        to[*place as usize] = *key;
        *place += 1;
    }
    true
}

/// Merges two sorted sequences, equal rows once.
pub fn merge_two<K: Key>(left: &[K], right: &[K]) -> Vec<K> {
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut l, mut r) = (0, 0);
    while l < left.len() && r < right.len() {
        let (a, b) = (left[l], right[r]);
        merged.push(a.min(b));
        l += usize::from(a <= b);
        r += usize::from(b <= a);
    }
    merged.extend_from_slice(&left[l..]);
    merged.extend_from_slice(&right[r..]);
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator of numbers (xorshift); tests print its seed.
    fn random(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    fn check<K: Key + std::fmt::Debug>(rows: usize, terms: u64, predicates: usize, seed: u64) {
        for orders in [&Order::DEFAULT_GRAPH[..], &Order::NAMED_GRAPHS[..]] {
            let named = !orders[0].is_default_graph();
            let graphs = terms.min(500) as usize;
            let widths = Widths::new(terms, predicates, named.then_some(graphs));
            let base = base(orders[0]);
            let layout = fields(base, widths);
            let mut state = seed;
            let mut keys: Vec<K> = (0..rows)
                .map(|_| {
                    layout.iter().fold(K::default(), |key, field| {
                        let limit = match field.position {
                            quadrille_store::Position::Predicate => predicates as u64,
                            quadrille_store::Position::Graph => graphs as u64,
                            _ => terms,
                        };
                        key.or(K::place(random(&mut state) % limit, field.shift))
                    })
                })
                .collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            sort(&mut keys, &mut Vec::new(), widths.total());
            assert_eq!(keys, expected, "seed {seed}");
            keys.dedup();
            let mut buffers = Buffers::default();
            for order in orders.iter().copied() {
                let repack = Repack::new(base, order, widths);
                let mut expected: Vec<K> = keys.iter().map(|key| repack.apply(*key)).collect();
                expected.sort_unstable();
                derive(&keys, order, widths, &mut buffers);
                assert!(buffers.keys == expected, "order {order:?}, seed {seed}");
            }
        }
    }

    #[test]
    fn every_order_derives_from_the_base_order() {
        for seed in 1..4 {
            check::<u64>(100, 7, 3, seed);
            check::<u64>(20_000, 900, 11, seed);
            check::<u64>(20_000, 100_000, 1, seed);
            check::<u128>(20_000, 1 << 32, 5000, seed);
            check::<u64>(70_000, 2, 40_000, seed);
        }
    }

    #[test]
    fn merging_two_sequences_drops_what_both_have() {
        let merged = merge_two(&[1_u64, 3, 5, 9], &[0, 3, 4, 9, 10, 11]);
        assert_eq!(merged, [0, 1, 3, 4, 5, 9, 10, 11]);
    }
}
