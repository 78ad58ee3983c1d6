//! Numbers for the tests of codecs.

use crate::id::PAYLOAD_BITS;

/// A small generator of random numbers; the seed says everything.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ value >> 31
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// Sequences of every kind that a column may hold, each with a name.
pub fn sequences(random: &mut Random, count: usize) -> Vec<(&'static str, Vec<u64>)> {
    let mut make = |name, next: &mut dyn FnMut(&mut Random, usize) -> u64| {
        let values = (0..count).map(|index| next(random, index)).collect();
        (name, values)
    };
    let kind = |kind: u64, payload: u64| kind << PAYLOAD_BITS | payload;
    let mut walk = 1_u64 << 63;
    let mut steps = kind(2, 0);
    let mut runs = 0;
    let mut email = kind(8, 0);
    vec![
        make("equal", &mut |_, _| 42),
        make("zeros and the greatest", &mut |random, _| {
            random.below(2).wrapping_neg()
        }),
        make("any", &mut |random, _| random.next()),
        make("any width", &mut |random, _| {
            let width = random.below(64);
            random.next() >> width
        }),
        make("dense", &mut |_, index| index as u64),
        make("falling", &mut |_, index| u64::MAX - index as u64),
        make("narrow", &mut |random, _| {
            kind(2, 1_000_000 + random.below(300))
        }),
        make("outliers", &mut |random, _| {
            let far = random.below(20) == 0;
            if far { random.next() } else { random.below(9) }
        }),
        make("low outliers", &mut |random, _| {
            let far = random.below(20) == 0;
            if far { 0 } else { kind(8, random.below(9)) }
        }),
        make("kinds", &mut |random, _| {
            kind([2, 8, 17][random.below(3) as usize], random.below(99))
        }),
        make("walk", &mut |random, _| {
            walk = walk.wrapping_add(random.below(9)).wrapping_sub(4);
            walk
        }),
        make("steps", &mut |random, _| {
            steps += random.below(3);
            steps
        }),
        make("jumps", &mut |random, _| {
            steps = steps.wrapping_add(if random.below(30) == 0 {
                random.next()
            } else {
                1
            });
            steps
        }),
        make("runs", &mut |random, _| {
            if random.below(20) == 0 {
                runs = random.next();
            }
            runs
        }),
        make("rising with falls", &mut |random, _| {
            email = if random.below(50) == 0 {
                kind(8, 0)
            } else {
                email + 900 + random.below(50)
            };
            email
        }),
        make("borders of 29 and 32 bits", &mut |random, _| {
            (1 << [29, 31, 32][random.below(3) as usize]) - random.below(2)
        }),
    ]
}
