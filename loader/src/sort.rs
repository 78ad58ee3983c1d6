//! Sorting packed rows, and deriving one order from another.
//!
//! A row is a number ([`crate::key`]), so a stable radix sort from the lowest digit up sorts it in one pass
//! a digit. Rows that are sorted by subject, predicate, object need far fewer passes for another order: sorted
//! stably by predicate alone they are in order pso; by object, then by predicate: pos. [`derive`] finds the
//! passes that are needed; where the first column stays, it sorts within the rows of each subject.
//!
//! Every order has a [`parent`] from which it needs a sort by one column alone:
//!
//! ```text
//! spo -> sop                         spog -> sopg, gspo
//!     -> pso -> ops                       -> psog -> opsg, gpso
//!     -> osp -> pos                       -> ospg -> gosp, posg -> gpos
//! ```

use crate::key::{Field, Key, Repack, Widths, fields, mask};
use crate::large::LargeVec;
use quadrille_store::Order;

/// Bits of one radix digit: 2048 counters fit the first-level cache.
const DIGIT_BITS: u32 = 11;
/// Below this many rows a comparison sort is as fast.
const SMALL: usize = 1 << 12;

/// Sorts rows by all bits of `total_bits`. `scratch` is overwritten.
pub fn sort<K: Key>(keys: &mut LargeVec<K>, scratch: &mut LargeVec<K>, total_bits: u32) {
    if keys.len() <= SMALL {
        keys.sort_unstable();
        return;
    }
    by_digits(keys, scratch, 0, total_bits);
}

/// Keeps each of sorted rows once.
pub fn deduplicate<K: Key>(keys: &mut LargeVec<K>) {
    let rows = &mut keys[..];
    let mut kept = rows.len().min(1);
    for place in 1..rows.len() {
        rows[kept] = rows[place];
        // Not a branch: a repeated row is overwritten by the next one.
        kept += usize::from(rows[place] != rows[kept - 1]);
    }
    keys.truncate(kept);
}

/// The order that all others are derived from: that of the set's first four positions.
pub fn base(order: Order) -> Order {
    if order.is_default_graph() {
        Order::Spo
    } else {
        Order::Spog
    }
}

/// The order from which this one is derived with the least sorting; none for the base order.
pub fn parent(order: Order) -> Option<Order> {
    match order {
        Order::Spo | Order::Spog => None,
        Order::Sop | Order::Pso | Order::Osp => Some(Order::Spo),
        Order::Ops => Some(Order::Pso),
        Order::Pos => Some(Order::Osp),
        Order::Sopg | Order::Psog | Order::Ospg | Order::Gspo => Some(Order::Spog),
        Order::Opsg | Order::Gpso => Some(Order::Psog),
        Order::Posg | Order::Gosp => Some(Order::Ospg),
        Order::Gpos => Some(Order::Posg),
    }
}

/// Rows sorted in order `from` (in its layout) -> the same rows sorted in `order`, in its layout, in `keys`. `scratch` is
/// overwritten.
pub fn derive<K: Key>(
    rows: &[K],
    from: Order,
    order: Order,
    widths: Widths,
    keys: &mut LargeVec<K>,
    scratch: &mut LargeVec<K>,
) {
    let repack = Repack::new(from, order, widths);
    keys.truncate(0);
    keys.extend(rows.iter().map(|row| repack.apply(*row)));
    let target = fields(order, widths);
    if keys.len() <= SMALL {
        keys.sort_unstable();
    } else if order.columns()[0] == from.columns()[0] {
        sort_within_first(keys, scratch, &target);
    } else {
        for field in target[..columns_to_sort(from, order)].iter().rev() {
            by_digits(keys, scratch, field.shift, field.bits);
        }
    }
}

/// How many leading columns of `order` rows in order `from` must be sorted by: the columns behind them stand
/// in sequence already.
fn columns_to_sort(from: Order, order: Order) -> usize {
    let columns = order.columns();
    let place = |column: usize| from.column_of(columns[column]);
    (0..columns.len())
        .find(|first| (*first + 1..columns.len()).all(|next| place(next - 1) < place(next)))
        .expect("a single column is in sequence")
}

/// Sorts the rows of each value of the first column by the others.
fn sort_within_first<K: Key>(keys: &mut [K], scratch: &mut LargeVec<K>, target: &[Field]) {
    let first = target[0];
    let mut start = 0;
    while start < keys.len() {
        let value = keys[start].get(first.shift, mask(first.bits));
        let same = |key: &K| key.get(first.shift, mask(first.bits)) == value;
        let length = keys[start..].iter().take_while(|key| same(key)).count();
        if length > SMALL * 8 {
            let mut group = LargeVec::copied(&keys[start..start + length]);
            by_digits(&mut group, scratch, 0, first.shift);
            keys[start..start + length].copy_from_slice(&group);
        } else {
            keys[start..start + length].sort_unstable();
        }
        start += length;
    }
}

/// Sorts stably by the bits from `shift` on, `bits` of them.
fn by_digits<K: Key>(keys: &mut LargeVec<K>, scratch: &mut LargeVec<K>, shift: u32, bits: u32) {
    let passes = bits.div_ceil(DIGIT_BITS);
    scratch.set_length(keys.len());
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
pub fn merge_two<K: Key>(left: &[K], right: &[K]) -> LargeVec<K> {
    let mut merged = LargeVec::default();
    merged.set_length(left.len() + right.len());
    let rows = &mut merged[..];
    let (mut l, mut r, mut kept) = (0, 0, 0);
    while l < left.len() && r < right.len() {
        let (a, b) = (left[l], right[r]);
        rows[kept] = a.min(b);
        kept += 1;
        l += usize::from(a <= b);
        r += usize::from(b <= a);
    }
    for rest in [&left[l..], &right[r..]] {
        rows[kept..kept + rest.len()].copy_from_slice(rest);
        kept += rest.len();
    }
    merged.truncate(kept);
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
            let generated: Vec<K> = (0..rows)
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
            let mut expected = generated.clone();
            expected.sort_unstable();
            let mut keys = LargeVec::copied(&generated);
            let mut scratch = LargeVec::default();
            sort(&mut keys, &mut scratch, widths.total());
            assert_eq!(keys[..], expected, "seed {seed}");
            deduplicate(&mut keys);
            expected.dedup();
            assert_eq!(keys[..], expected, "seed {seed}");
            for order in orders.iter().copied().filter(|order| *order != base) {
                let arranged = |order: Order| {
                    let repack = Repack::new(base, order, widths);
                    let mut rows: Vec<K> = keys.iter().map(|key| repack.apply(*key)).collect();
                    rows.sort_unstable();
                    rows
                };
                let expected = arranged(order);
                let parent = parent(order).expect("only the base order has none");
                for from in [base, parent] {
                    let mut derived = LargeVec::default();
                    derive(
                        &arranged(from),
                        from,
                        order,
                        widths,
                        &mut derived,
                        &mut scratch,
                    );
                    assert!(
                        derived[..] == expected,
                        "{order:?} from {from:?}, seed {seed}"
                    );
                }
                let columns = columns_to_sort(parent, order);
                assert!(
                    columns == 1 || order.columns()[0] == parent.columns()[0],
                    "{order:?} from {parent:?} takes a sort by {columns} columns"
                );
            }
        }
    }

    #[test]
    fn every_order_derives_from_the_base_order_and_from_its_parent() {
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
        assert_eq!(merged[..], [0, 1, 3, 4, 5, 9, 10, 11]);
    }
}
