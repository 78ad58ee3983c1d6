//! Vectors of a real Java 17, and the list-building twin of `pick`.

use super::*;

fn ints(seed: i64, bound: u32, count: usize) -> Vec<u32> {
    let mut random = JavaRandom::new(seed);
    (0..count).map(|_| random.next_int(bound)).collect()
}

#[test]
fn draws_the_31_bits_of_java() {
    let bits = |seed| {
        let mut random = JavaRandom::new(seed);
        [(); 6].map(|()| random.next_31())
    };
    assert_eq!(
        bits(0),
        [
            1_569_741_360,
            1_785_505_948,
            516_548_029,
            1_302_116_447,
            1_368_843_515,
            663_681_053
        ]
    );
    assert_eq!(
        bits(1),
        [
            1_569_548_985,
            215_764_588,
            880_641_847,
            874_970_313,
            446_064_254,
            77_814_904
        ]
    );
}

#[test]
fn draws_the_ints_of_java() {
    assert_eq!(ints(0, 4, 10), [2, 3, 0, 2, 2, 1, 2, 0, 2, 3]);
    assert_eq!(ints(0, 5, 10), [0, 3, 4, 2, 0, 3, 1, 1, 4, 4]);
    assert_eq!(ints(0, 11, 10), [0, 6, 8, 5, 6, 2, 2, 6, 2, 0]);
    assert_eq!(
        ints(0, 1000, 10),
        [360, 948, 29, 447, 515, 53, 491, 761, 719, 854]
    );
    assert_eq!(ints(42, 11, 10), [7, 4, 8, 5, 3, 8, 1, 2, 10, 6]);
    let lowest = i64::from(i32::MIN);
    assert_eq!(ints(lowest, 11, 10), [7, 2, 9, 10, 6, 7, 0, 1, 8, 3]);
    assert_eq!(
        ints(lowest, 1000, 10),
        [992, 668, 837, 655, 307, 581, 747, 937, 967, 718]
    );
}

#[test]
fn rejects_what_java_rejects() {
    assert_eq!(
        ints(0, (1 << 30) + 1, 8),
        [
            516_548_029,
            663_681_053,
            251_269_761,
            715_581_077,
            542_832_677,
            827_187_473,
            49_567_875,
            377_907_320
        ]
    );
    assert_eq!(
        ints(0, 1 << 30, 5),
        [
            784_870_680,
            892_752_974,
            258_274_014,
            651_058_223,
            684_421_757
        ]
    );
}

#[test]
fn mixes_bounds_as_java_does() {
    let mut random = JavaRandom::new(0);
    let drawn = [11, 4, 5, 4, 3, 100, 1, 1000].map(|bound| random.next_int(bound));
    assert_eq!(drawn, [0, 3, 4, 2, 2, 53, 0, 761]);
}

#[test]
fn only_48_bits_of_the_seed_count() {
    assert_eq!(JavaRandom::new(5), JavaRandom::new(5 + (1 << 48)));
    assert_ne!(JavaRandom::new(5), JavaRandom::new(5 + (1 << 47)));
}

/// What `pick` says in words: take the element at the drawn position out of the list.
fn pick_from_a_list(random: &mut JavaRandom, count: u32, below: u32) -> Vec<u32> {
    let mut list: Vec<u32> = (0..below).collect();
    (0..count)
        .map(|_| {
            let position = random.next_int(list.len() as u32);
            list.remove(position as usize)
        })
        .collect()
}

#[test]
fn picks_as_from_a_list() {
    let mut picked = Picked::default();
    for seed in 0..500 {
        for (count, below) in [(0, 7), (1, 1), (3, 3), (5, 600), (98, 168), (40, 40)] {
            let (mut one, mut other) = (JavaRandom::new(seed), JavaRandom::new(seed));
            one.pick(count, below, &mut picked);
            let expected = pick_from_a_list(&mut other, count, below);
            assert_eq!(
                picked.numbers(),
                expected,
                "seed {seed}, {count} of {below}"
            );
            assert_eq!(one, other, "state after seed {seed}, {count} of {below}");
        }
    }
}

#[test]
#[should_panic(expected = "out of nothing")]
fn a_bound_of_zero_is_a_mistake() {
    JavaRandom::new(0).next_int(0);
}
