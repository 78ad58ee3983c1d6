//! `Remembered`: what came out for the ids seen last, where the id decides alone.
//!
//! A table without chains, in which an id may take another's place. It grows while many do, up to a bound.

use super::hash::mix;
use quadrille_store::TermId;

/// Entries at first; a power of two.
const ENTRIES_MIN: usize = 1 << 10;
/// Entries that it grows to (1.5 MiB).
const ENTRIES_MAX: usize = 1 << 16;

/// Remembers an id for some ids.
#[derive(Debug, Default)]
pub struct Remembered {
    /// By the hashes of ids. Empty until it is needed.
    entries: Vec<Option<(TermId, TermId)>>,
    /// How often one was set since the table has this size.
    set: usize,
}

impl Remembered {
    /// What is remembered for an id.
    #[inline]
    pub fn get(&self, id: TermId) -> Option<TermId> {
        if self.entries.is_empty() {
            return None;
        }
        let (known, value) = self.entries[self.place(id)]?;
        (known == id).then_some(value)
    }

    /// Remembers a value for an id.
    pub fn set(&mut self, id: TermId, value: TermId) {
        if self.set >= self.entries.len() && self.entries.len() < ENTRIES_MAX {
            self.grow();
        }
        self.set += 1;
        let place = self.place(id);
        self.entries[place] = Some((id, value));
    }

    #[cold]
    fn grow(&mut self) {
        let entries = (4 * self.entries.len()).clamp(ENTRIES_MIN, ENTRIES_MAX);
        let known = std::mem::replace(&mut self.entries, vec![None; entries]);
        self.set = 0;
        for (id, value) in known.into_iter().flatten() {
            let place = self.place(id);
            self.entries[place] = Some((id, value));
        }
    }

    fn place(&self, id: TermId) -> usize {
        mix(id.bits()) as usize & (self.entries.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_its_own_value_or_none() {
        let mut remembered = Remembered::default();
        assert_eq!(remembered.get(TermId::UNBOUND), None);
        let value_of = |id: TermId| TermId::from_bits(id.bits() + 1);
        let ids = || (0..3 * ENTRIES_MAX as u64).map(TermId::from_bits);
        for id in ids() {
            remembered.set(id, value_of(id));
            assert_eq!(remembered.get(id), Some(value_of(id)));
        }
        let known: Vec<_> = ids()
            .filter_map(|id| Some((id, remembered.get(id)?)))
            .collect();
        assert!(known.iter().all(|(id, value)| *value == value_of(*id)));
        assert!((ENTRIES_MAX / 2..=ENTRIES_MAX).contains(&known.len()));
    }
}
