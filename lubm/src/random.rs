//! `java.util.Random`, bit for bit: the original generator is a Java program, and its data is reproduced
//! only by drawing the same numbers.
//!
//! What always holds: the state has 48 bits; every draw consumes at least one step of it.

const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const INCREMENT: u64 = 0xB;
const MASK: u64 = (1 << 48) - 1;

/// The linear congruential generator of Java's class library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JavaRandom {
    state: u64,
}

impl JavaRandom {
    /// A generator with this seed; only the low 48 bits count.
    pub fn new(seed: i64) -> Self {
        Self {
            state: (seed as u64 ^ MULTIPLIER) & MASK,
        }
    }

    /// The 48 bits of state.
    pub fn state(&self) -> u64 {
        self.state
    }

    /// The next 31 bits.
    #[inline]
    pub fn next_31(&mut self) -> u32 {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT) & MASK;
        (self.state >> 17) as u32
    }

    /// A number from 0 to `bound - 1`.
    ///
    /// # Panics
    /// If the bound is 0 or more than 2^31 - 1.
    #[inline]
    pub fn next_int(&mut self, bound: u32) -> u32 {
        assert!(bound >= 1, "a draw out of nothing");
        assert!(bound < 1 << 31, "a bound that Java has no int for");
        if bound.is_power_of_two() {
            // The high bits, not the remainder: the low bits of such generators are poor.
            return ((u64::from(bound) * u64::from(self.next_31())) >> 31) as u32;
        }
        loop {
            let drawn = self.next_31();
            let value = drawn % bound;
            // Draws above the last whole multiple of the bound would favour small values.
            if drawn - value + (bound - 1) < 1 << 31 {
                return value;
            }
        }
    }

    /// A number from `low` to `high`, both included.
    #[inline]
    pub fn range(&mut self, low: u32, high: u32) -> u32 {
        low + self.next_int(high - low + 1)
    }

    /// Replaces `picked` with `count` distinct numbers out of `0..below`, in the order drawn.
    ///
    /// Each draw is a position in the list of the numbers not yet taken. That list is never built: the
    /// taken numbers are kept sorted, and each one at or below the value pushes it up by one.
    ///
    /// # Panics
    /// If `count` is more than `below`.
    pub fn pick(&mut self, count: u32, below: u32, picked: &mut Picked) {
        assert!(count <= below, "more draws than numbers");
        picked.drawn.clear();
        picked.taken.clear();
        for already in 0..count {
            let mut value = self.next_int(below - already);
            let mut place = 0;
            while place < picked.taken.len() && picked.taken[place] <= value {
                value += 1;
                place += 1;
            }
            picked.taken.insert(place, value);
            picked.drawn.push(value);
        }
    }
}

/// The result of [`JavaRandom::pick`], reused from one call to the next.
#[derive(Clone, Debug, Default)]
pub struct Picked {
    drawn: Vec<u32>,
    taken: Vec<u32>,
}

impl Picked {
    /// The numbers in the order drawn.
    pub fn numbers(&self) -> &[u32] {
        &self.drawn
    }
}

#[cfg(test)]
mod tests;
