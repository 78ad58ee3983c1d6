//! Sorting a partial vocabulary into term order.
//!
//! Terms share long beginnings (`http://www.Department12.University34.edu/...`), on which a comparison
//! sort would spend its time. So terms are sorted eight bytes at a time: fetch the next eight bytes of
//! every term of a group as one big-endian number, sort by it, and go on with the groups that are
//! still equal (multikey quicksort with a super-alphabet; Bentley and Sedgewick 1997, Kärkkäinen and
//! Rantala 2008). Small groups are finished by insertion with whole comparisons.

use super::{LocalId, PartialVocabulary};

/// Groups up to this size are finished by comparing whole terms.
const SMALL_GROUP: usize = 12;
/// Bytes looked at in one round.
const STEP: usize = size_of::<u64>();

/// The numbers of all terms, in term order (see [`quadrille_store::term`]).
pub fn sorted(vocabulary: &PartialVocabulary) -> Vec<LocalId> {
    // Kinds first: a counting sort, stable and in one pass.
    let mut counts = [0_usize; 257];
    for id in 0..vocabulary.len() as LocalId {
        counts[vocabulary.kind(id) as usize + 1] += 1;
    }
    for kind in 0..256 {
        counts[kind + 1] += counts[kind];
    }
    let mut items = vec![(0_u64, 0 as LocalId); vocabulary.len()];
    let mut next = counts;
    for id in 0..vocabulary.len() as LocalId {
        let place = &mut next[vocabulary.kind(id) as usize];
        items[*place].1 = id;
        *place += 1;
    }
    for kind in 0..256 {
        sort_group(vocabulary, &mut items[counts[kind]..counts[kind + 1]]);
    }
    items.into_iter().map(|(_, id)| id).collect()
}

/// Sorts terms of one kind. Groups still to be sorted wait on a stack of our own: a term may be megabytes
/// long, and each step goes only eight bytes further.
fn sort_group(vocabulary: &PartialVocabulary, items: &mut [(u64, LocalId)]) {
    let mut groups = vec![(0, items.len(), 0)];
    while let Some((start, end, depth)) = groups.pop() {
        let group = &mut items[start..end];
        if group.len() <= SMALL_GROUP {
            insertion_sort(vocabulary, group, depth);
            continue;
        }
        let mut differing = 0;
        let first = chunk(vocabulary.bytes(group[0].1), depth);
        for item in group.iter_mut() {
            item.0 = chunk(vocabulary.bytes(item.1), depth);
            differing |= item.0 ^ first;
        }
        if differing != 0 {
            group.sort_unstable_by_key(|item| item.0);
        }
        let mut from = 0;
        while from < group.len() {
            let key = group[from].0;
            let equal = group[from..]
                .iter()
                .take_while(|item| item.0 == key)
                .count();
            let rest =
                from + put_ended_first(vocabulary, &mut group[from..from + equal], depth + STEP);
            if from + equal - rest > 1 {
                groups.push((start + rest, start + from + equal, depth + STEP));
            }
            from += equal;
        }
    }
}

/// Among terms equal up to `depth` (padded with zeros), those that end there come first: shorter ones first, as a
/// term is smaller than what it begins; then by annotation. Gives their number.
fn put_ended_first(
    vocabulary: &PartialVocabulary,
    group: &mut [(u64, LocalId)],
    depth: usize,
) -> usize {
    let mut ended = 0;
    for place in 0..group.len() {
        if vocabulary.bytes(group[place].1).len() <= depth {
            group.swap(ended, place);
            ended += 1;
        }
    }
    if ended > 1 {
        group[..ended].sort_unstable_by_key(|(_, id)| {
            let annotation = &vocabulary.annotations()[vocabulary.annotation(*id) as usize];
            (vocabulary.bytes(*id).len(), annotation)
        });
    }
    ended
}

fn insertion_sort(vocabulary: &PartialVocabulary, group: &mut [(u64, LocalId)], depth: usize) {
    let key = |id: LocalId| {
        let bytes = vocabulary.bytes(id);
        (
            &bytes[depth.min(bytes.len())..],
            &vocabulary.annotations()[vocabulary.annotation(id) as usize],
        )
    };
    for end in 1..group.len() {
        let item = group[end];
        let own = key(item.1);
        let mut place = end;
        while place > 0 && key(group[place - 1].1) > own {
            group[place] = group[place - 1];
            place -= 1;
        }
        group[place] = item;
    }
}

/// Eight bytes from `depth` as a number that sorts like them, zeros behind the end.
#[inline]
fn chunk(bytes: &[u8], depth: usize) -> u64 {
    if let Some(whole) = bytes.get(depth..depth + STEP) {
        return u64::from_be_bytes(whole.try_into().expect("eight bytes"));
    }
    let mut padded = [0_u8; STEP];
    if let Some(rest) = bytes.get(depth..) {
        padded[..rest.len()].copy_from_slice(rest);
    }
    u64::from_be_bytes(padded)
}
