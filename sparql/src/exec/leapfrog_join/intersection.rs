//! `Intersection`: the terms that several sorted lists have in common, a few at a time.
//!
//! The two shortest lists are walked together; what they share is looked for in the others. So the time is in proportion to
//! the shortest list, but for the logarithm of what is leapt over.

use super::lists::{Lists, Place};
use crate::error::Result;
use quadrille_store::{TermId, gallop};

/// How much longer a list must be for it to be better to leap in it than to walk through it.
const LEAPT_RATIO: usize = 8;
/// The most terms of a list that are walked through at a time.
const WALKED_TERMS: usize = 1 << 16;

/// The lists of one row, and how far they were intersected.
#[derive(Default)]
pub struct Intersection {
    /// The number of the pattern, and where its list is; the shortest list first.
    places: Vec<(usize, Place)>,
}

/// What came of a look for terms.
pub struct Progress {
    /// About how many terms were compared.
    pub compared: usize,
    /// Whether there are no more terms.
    pub ended: bool,
}

impl Intersection {
    /// Forgets all lists.
    pub fn clear(&mut self) {
        self.places.clear();
    }

    /// Adds the list of a pattern.
    pub fn add(&mut self, pattern: usize, place: Place) {
        self.places.push((pattern, place));
    }

    /// Puts the shortest lists first. To be called when all were added.
    pub fn arrange(&mut self) {
        match &mut *self.places {
            [(_, first), (_, second)] => {
                if second.length() < first.length() {
                    self.places.swap(0, 1);
                }
            }
            places => places.sort_by_key(|(_, place)| place.length()),
        }
    }

    /// Appends the next common terms until `found` has `most`, maybe fewer even if there are more.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn find(
        &mut self,
        lists: &mut [Lists],
        most: usize,
        found: &mut Vec<TermId>,
    ) -> Result<Progress> {
        let start = found.len();
        let [(first, first_place), (second, second_place), others @ ..] = &mut *self.places else {
            unreachable!("an intersection of fewer than two lists");
        };
        let mut progress = match (first_place, second_place) {
            (
                Place::Kept { at, end },
                Place::Kept {
                    at: at_second,
                    end: end_second,
                },
            ) => {
                let shorter = &lists[*first].terms()[..*end];
                let longer = &lists[*second].terms()[..*end_second];
                walk((shorter, at), (longer, at_second), most, found)
            }
            (first_place, second_place) => leap(
                (first_place, *first),
                (second_place, *second),
                lists,
                most,
                found,
            )?,
        };
        for (pattern, place) in others {
            let mut kept = start;
            for index in start..found.len() {
                let term = found[index];
                match place.seek(term, &mut lists[*pattern])? {
                    Some(next) if next == term => {
                        found[kept] = term;
                        kept += 1;
                    }
                    Some(_) => {}
                    None => {
                        progress.ended = true;
                        break;
                    }
                }
            }
            progress.compared += found.len() - start;
            found.truncate(kept);
        }
        Ok(progress)
    }
}

/// The common terms of two lists in memory, of which the second is the longer one.
fn walk(
    (shorter, at_shorter): (&[TermId], &mut usize),
    (longer, at_longer): (&[TermId], &mut usize),
    most: usize,
    found: &mut Vec<TermId>,
) -> Progress {
    let short = &shorter[..shorter.len().min(*at_shorter + WALKED_TERMS)];
    let (mut at, mut at_long) = (*at_shorter, *at_longer);
    if (longer.len() - at_long) / LEAPT_RATIO > shorter.len() - at {
        while at < short.len() && at_long < longer.len() && found.len() < most {
            let term = short[at];
            at_long = gallop(at_long, longer.len(), |index| longer[index] < term);
            if at_long < longer.len() && longer[at_long] == term {
                found.push(term);
            }
            at += 1;
        }
    } else {
        let long = &longer[..longer.len().min(at_long + WALKED_TERMS)];
        while at < short.len() && at_long < long.len() {
            let (a, b) = (short[at], long[at_long]);
            if a == b {
                if found.len() == most {
                    break;
                }
                found.push(a);
            }
            // Which of the two is less cannot be foreseen: no branch.
            at += usize::from(a <= b);
            at_long += usize::from(b <= a);
        }
    }
    let compared = (at - *at_shorter) + (at_long - *at_longer);
    (*at_shorter, *at_longer) = (at, at_long);
    Progress {
        compared,
        ended: at == shorter.len() || at_long == longer.len(),
    }
}

/// The common terms of two lists, of which one or both are read from the index as far as they are needed.
fn leap(
    (first, of_first): (&mut Place, usize),
    (second, of_second): (&mut Place, usize),
    lists: &mut [Lists],
    most: usize,
    found: &mut Vec<TermId>,
) -> Result<Progress> {
    let mut compared = 0;
    let mut term = TermId::UNBOUND;
    while found.len() < most && compared < WALKED_TERMS {
        compared += 1;
        let Some(least) = first.seek(term, &mut lists[of_first])? else {
            return Ok(Progress {
                compared,
                ended: true,
            });
        };
        let Some(other) = second.seek(least, &mut lists[of_second])? else {
            return Ok(Progress {
                compared,
                ended: true,
            });
        };
        term = other;
        if least == other {
            found.push(least);
            first.pass();
        }
    }
    Ok(Progress {
        compared,
        ended: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// So many different numbers below a bound, the same for the same seed.
    fn numbers(seed: u64, count: usize, bound: u64) -> BTreeSet<u64> {
        let mut state = seed;
        let mut numbers = BTreeSet::new();
        while numbers.len() < count {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            numbers.insert((state >> 20) % bound);
        }
        numbers
    }

    fn terms(numbers: &BTreeSet<u64>) -> Vec<TermId> {
        numbers.iter().map(|n| TermId::from_bits(n + 1)).collect()
    }

    #[test]
    fn two_lists_have_in_common_what_sets_have() {
        for (seed, short, long, bound) in [
            (1, 1, 1, 2),
            (2, 50, 60, 100),
            (3, 50, 1_000, 2_000),
            (4, 3, 200_000, 400_000),
            (5, 90_000, 100_000, 120_000),
            (6, 70_000, 700_000, 1_000_000),
        ] {
            let (shorter, longer) = (numbers(seed, short, bound), numbers(!seed, long, bound));
            let expected = terms(&shorter.intersection(&longer).copied().collect());
            let (shorter, longer) = (terms(&shorter), terms(&longer));
            for step in [1, 7, 1024] {
                let (mut at_shorter, mut at_longer, mut found) = (0, 0, Vec::new());
                loop {
                    let (before, most) = (found.len(), found.len() + step);
                    let short = (&*shorter, &mut at_shorter);
                    let progress = walk(short, (&longer, &mut at_longer), most, &mut found);
                    assert!(found.len() <= most, "more than asked for, seed {seed}");
                    if progress.ended {
                        break;
                    }
                    let has_moved = progress.compared > 0 || found.len() > before;
                    assert!(has_moved, "it stands still, seed {seed}");
                }
                assert!(found == expected, "seed {seed}, {step} at a time");
            }
        }
    }
}
