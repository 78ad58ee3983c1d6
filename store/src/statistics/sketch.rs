//! `Sketch`: how many distinct ids there are, in a fixed kilobyte, so that the counts of several
//! segments can be merged without counting an id twice that both of them hold (`HyperLogLog`).
//!
//! What always holds: a sketch depends on the *set* of ids that were put in, not on their order or
//! number, and the merge of two sketches is the sketch of the union.

use crate::id::TermId;

/// Bits of the hash that choose a register.
const INDEX_BITS: u32 = 10;
/// Registers of a sketch, one byte each: the standard error is `1.04 / sqrt(1024)`, about 3 %.
pub const SKETCH_REGISTERS: usize = 1 << INDEX_BITS;
/// The largest value of a register: one more than the leading zeros of the bits that choose no
/// register.
pub const REGISTER_MAX: u8 = (64 - INDEX_BITS + 1) as u8;

/// A mergeable estimate of a number of distinct ids.
#[derive(Clone, PartialEq, Eq)]
pub struct Sketch {
    registers: Box<[u8; SKETCH_REGISTERS]>,
}

impl Default for Sketch {
    fn default() -> Self {
        Self {
            registers: Box::new([0; SKETCH_REGISTERS]),
        }
    }
}

impl Sketch {
    /// The sketch with these registers; `None` if one is larger than any hash can make it.
    pub fn from_registers(registers: &[u8; SKETCH_REGISTERS]) -> Option<Self> {
        registers
            .iter()
            .all(|register| *register <= REGISTER_MAX)
            .then(|| Self {
                registers: Box::new(*registers),
            })
    }

    /// The registers, as they stand in files.
    pub fn registers(&self) -> &[u8; SKETCH_REGISTERS] {
        &self.registers
    }

    /// Puts an id in. Without a branch, since it is called for every row of an order.
    #[inline]
    pub fn insert(&mut self, id: TermId) {
        let hash = mix(id.bits());
        let register = &mut self.registers[(hash >> (64 - INDEX_BITS)) as usize];
        // The lowest index bit keeps the count of leading zeros below the width of what is left.
        let rank = ((hash << INDEX_BITS) | (1 << (INDEX_BITS - 1))).leading_zeros() as u8 + 1;
        *register = (*register).max(rank);
    }

    /// Puts everything in that is in the other.
    pub fn merge(&mut self, other: &Self) {
        for (register, other) in self.registers.iter_mut().zip(other.registers.iter()) {
            *register = (*register).max(*other);
        }
    }

    /// Empties the sketch.
    pub fn clear(&mut self) {
        self.registers.fill(0);
    }

    /// The estimated number of distinct ids.
    pub fn estimate(&self) -> u64 {
        let count = SKETCH_REGISTERS as f64;
        let sum: f64 = self
            .registers
            .iter()
            .map(|register| (-f64::from(*register)).exp2())
            .sum();
        let raw = 0.7213 / (1.0 + 1.079 / count) * count * count / sum;
        let empty: u32 = self
            .registers
            .iter()
            .map(|register| u32::from(*register == 0))
            .sum();
        if raw <= 2.5 * count && empty > 0 {
            // Few ids: the empty registers tell more than the full ones.
            (count * (count / f64::from(empty)).ln()).round() as u64
        } else {
            raw.round() as u64
        }
    }
}

impl std::fmt::Debug for Sketch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sketch(~{})", self.estimate())
    }
}

/// A bijection that spreads neighbouring ids over all 64 bits (the finaliser of `SplitMix64`). Part
/// of the file format: sketches of different files are merged.
#[inline]
fn mix(bits: u64) -> u64 {
    let mut z = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Kind;

    fn sketch_of(range: std::ops::Range<u64>) -> Sketch {
        let mut sketch = Sketch::default();
        for ordinal in range {
            sketch.insert(TermId::new(Kind::Iri, ordinal));
        }
        sketch
    }

    #[test]
    fn estimates_are_within_four_standard_errors() {
        for count in [
            0_u64, 1, 10, 100, 1_000, 2_500, 3_000, 10_000, 100_000, 1_000_000,
        ] {
            let estimate = sketch_of(0..count).estimate() as f64;
            let error = (estimate - count as f64).abs();
            assert!(
                error <= 0.13 * count as f64 + 0.5,
                "{count} distinct ids were estimated as {estimate}"
            );
        }
    }

    #[test]
    fn a_merge_is_the_sketch_of_the_union() {
        let mut merged = sketch_of(0..60_000);
        merged.merge(&sketch_of(40_000..100_000));
        assert_eq!(merged, sketch_of(0..100_000));
    }

    #[test]
    fn an_id_counts_once() {
        let mut sketch = sketch_of(0..500);
        let before = sketch.clone();
        for ordinal in 0..500 {
            sketch.insert(TermId::new(Kind::Iri, ordinal));
        }
        assert_eq!(sketch, before);
    }

    #[test]
    fn registers_no_hash_can_make_are_refused() {
        let mut registers = *sketch_of(0..100).registers();
        assert!(Sketch::from_registers(&registers).is_some());
        registers[7] = REGISTER_MAX + 1;
        assert!(Sketch::from_registers(&registers).is_none());
    }
}
