//! Sorting a partial vocabulary into term order.
//!
//! Terms share long beginnings (`http://www.Department12.University34.edu/...`), on which a comparison
//! sort would spend its time. So terms are sorted eight bytes at a time: fetch the next eight bytes of
//! every term of a group as one big-endian number, sort by it, and go on with the groups that are
//! still equal (multikey quicksort with a super-alphabet; Bentley and Sedgewick 1997, Kärkkäinen and
//! Rantala 2008). Small groups are finished by insertion with whole comparisons.

use super::{LocalId, PartialVocabulary, View};
use std::sync::{Condvar, Mutex};

/// Groups up to this size are finished by comparing whole terms.
const SMALL_GROUP: usize = 12;
/// Bytes looked at in one round.
const STEP: usize = size_of::<u64>();

/// Groups from this size on are offered to other threads (small ones in tests, so that they are).
const SHARED_GROUP: usize = if cfg!(test) { 1 << 5 } else { 1 << 13 };

/// A term's next eight bytes and its number.
type Item = (u64, LocalId);

/// Terms of one kind that are equal up to a depth, to be sorted by what is behind it.
struct Group<'a> {
    items: &'a mut [Item],
    depth: usize,
}

/// Groups that any thread may take.
struct Shared<'a> {
    groups: Vec<Group<'a>>,
    /// Threads that are working on a group, and may have further ones to offer.
    working: usize,
}

/// The numbers of all terms, in term order (see [`quadrille_store::term`]); sorted by so many threads.
pub fn sorted(vocabulary: &PartialVocabulary, threads: usize) -> Vec<LocalId> {
    let terms = vocabulary.view();
    // Kinds first: a counting sort, stable and in one pass.
    let mut counts = [0_usize; 257];
    for id in 0..vocabulary.len() as LocalId {
        counts[terms.kind(id) as usize + 1] += 1;
    }
    for kind in 0..256 {
        counts[kind + 1] += counts[kind];
    }
    let mut items = vec![(0_u64, 0 as LocalId); vocabulary.len()];
    let mut next = counts;
    for id in 0..vocabulary.len() as LocalId {
        let place = &mut next[terms.kind(id) as usize];
        items[*place].1 = id;
        *place += 1;
    }
    let mut groups = Vec::new();
    let mut rest = &mut items[..];
    for kind in 0..256 {
        let (items, after) = rest.split_at_mut(counts[kind + 1] - counts[kind]);
        rest = after;
        if items.len() > 1 {
            groups.push(Group { items, depth: 0 });
        }
    }
    sort_groups(terms, groups, threads);
    items.into_iter().map(|(_, id)| id).collect()
}

/// Sorts all groups. Large ones that come up on the way wait where any thread can take them; a thread that finds none
/// waits until there is one, or until nobody can have another.
fn sort_groups(terms: View<'_>, groups: Vec<Group<'_>>, threads: usize) {
    let large = groups.iter().any(|group| group.items.len() >= SHARED_GROUP);
    let shared = Mutex::new(Shared { groups, working: 0 });
    let changed = Condvar::new();
    let lock = || shared.lock().expect("no sorting thread panics");
    let work = || {
        let mut own: Vec<Group<'_>> = Vec::new();
        loop {
            let mut state = lock();
            let group = loop {
                match state.groups.pop() {
                    Some(group) => break group,
                    None if state.working == 0 => return,
                    None => state = changed.wait(state).expect("no sorting thread panics"),
                }
            };
            state.working += 1;
            drop(state);
            own.push(group);
            while let Some(group) = own.pop() {
                sort_group(terms, group, &mut |group| {
                    if group.items.len() >= SHARED_GROUP {
                        lock().groups.push(group);
                        changed.notify_one();
                    } else {
                        own.push(group);
                    }
                });
            }
            let mut state = lock();
            state.working -= 1;
            if state.working == 0 && state.groups.is_empty() {
                changed.notify_all();
            }
        }
    };
    if threads <= 1 || !large {
        work();
        return;
    }
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
}

/// Sorts the terms of a group by their next eight bytes, and gives on the groups that are still equal. Groups wait
/// on lists, not on the stack: a term may be megabytes long, and each step goes only eight bytes further.
fn sort_group<'a>(terms: View<'_>, group: Group<'a>, still_equal: &mut dyn FnMut(Group<'a>)) {
    let Group { items, depth } = group;
    if items.len() <= SMALL_GROUP {
        insertion_sort(terms, items, depth);
        return;
    }
    let mut differing = 0;
    let first = chunk(terms.bytes(items[0].1), depth);
    for item in items.iter_mut() {
        item.0 = chunk(terms.bytes(item.1), depth);
        differing |= item.0 ^ first;
    }
    if differing != 0 {
        items.sort_unstable_by_key(|item| item.0);
    }
    let mut rest = items;
    while let Some((key, _)) = rest.first().copied() {
        let equal = rest.iter().take_while(|item| item.0 == key).count();
        let (items, after) = rest.split_at_mut(equal);
        rest = after;
        let ended = put_ended_first(terms, items, depth + STEP);
        if items.len() - ended > 1 {
            still_equal(Group {
                items: &mut items[ended..],
                depth: depth + STEP,
            });
        }
    }
}

/// Among terms equal up to `depth` (padded with zeros), those that end there come first: shorter ones first, as a
/// term is smaller than what it begins; then by annotation. Gives their number.
fn put_ended_first(terms: View<'_>, group: &mut [Item], depth: usize) -> usize {
    let mut ended = 0;
    for place in 0..group.len() {
        if terms.bytes(group[place].1).len() <= depth {
            group.swap(ended, place);
            ended += 1;
        }
    }
    if ended > 1 {
        group[..ended].sort_unstable_by_key(|(_, id)| {
            let annotation = terms.annotation_bytes(*id);
            (terms.bytes(*id).len(), annotation)
        });
    }
    ended
}

fn insertion_sort(terms: View<'_>, group: &mut [Item], depth: usize) {
    let key = |id: LocalId| {
        let bytes = terms.bytes(id);
        (&bytes[depth.min(bytes.len())..], terms.annotation_bytes(id))
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
