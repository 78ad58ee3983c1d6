//! What the tests of whole stores share: a random universe of quads, the writing of layers, and the
//! oracle, which is a `BTreeSet` of quads and nothing clever.

#![allow(dead_code, reason = "each test uses its part")]

use oxrdf::{GraphName, NamedNode};
use quadrille_store::insert::write_segment;
use quadrille_store::{ColumnMask, inline};
use quadrille_store::{
    Columns, GraphSelector, Kind, NewSegment, Order, Pattern, Position, Quad, Result, Scan,
    Snapshot, Store, TermId, best_order,
};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// All sixteen orders.
pub fn all_orders() -> impl Iterator<Item = Order> {
    Order::DEFAULT_GRAPH.into_iter().chain(Order::NAMED_GRAPHS)
}

/// A small generator of random numbers: the same numbers for the same seed, on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    pub fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// The terms that random quads are made of, by position.
pub struct Universe {
    pub subjects: Vec<TermId>,
    pub predicates: Vec<TermId>,
    pub objects: Vec<TermId>,
    pub graphs: Vec<TermId>,
}

impl Universe {
    /// Puts the first few quads into an empty store, so that it knows `iris` IRIs and `blanks`
    /// blank nodes, and returns what there is.
    pub fn new(store: &Store, iris: usize, blanks: u64) -> Result<Self> {
        let iri =
            |number: usize| NamedNode::new_unchecked(format!("http://example.org/{number:05}"));
        let first = (0..iris).map(|number| {
            oxrdf::Quad::new(iri(number), iri(0), iri(number), GraphName::DefaultGraph)
        });
        store.insert_quads(first)?;
        let reservation = store.begin_segment()?;
        let new = NewSegment {
            blank_nodes: blanks,
            ..NewSegment::default()
        };
        store.publish(reservation, new)?;
        let snapshot = store.snapshot();
        let iris: Vec<TermId> = (0..iris)
            .map(|number| {
                Ok(snapshot
                    .term_id(iri(number).as_ref().into())?
                    .expect("just inserted"))
            })
            .collect::<Result<_>>()?;
        let blanks = (0..blanks).map(|number| TermId::new(Kind::Blank, number));
        let values = (0..40).flat_map(|value| {
            let integer = inline::encode(
                &value.to_string(),
                "http://www.w3.org/2001/XMLSchema#integer",
            );
            let date = inline::encode(
                &format!("20{:02}-05-17", value + 10),
                "http://www.w3.org/2001/XMLSchema#date",
            );
            [integer, date].into_iter().flatten()
        });
        let subjects: Vec<TermId> = iris.iter().copied().chain(blanks).collect();
        let objects = subjects.iter().copied().chain(values).collect();
        Ok(Self {
            predicates: iris.iter().copied().take(iris.len().min(12)).collect(),
            graphs: iris
                .iter()
                .copied()
                .rev()
                .take(5)
                .chain([TermId::new(Kind::Blank, 0)])
                .collect(),
            subjects,
            objects,
        })
    }

    /// A random quad; every second one in a named graph. Skewed, so that rows share prefixes.
    pub fn quad(&self, random: &mut Random) -> Quad {
        fn skewed(random: &mut Random, from: &[TermId]) -> TermId {
            let limit = if random.one_in(2) {
                from.len()
            } else {
                from.len().div_ceil(8)
            };
            from[random.below(limit)]
        }
        Quad {
            subject: skewed(random, &self.subjects),
            predicate: skewed(random, &self.predicates),
            object: skewed(random, &self.objects),
            graph: if random.one_in(2) {
                TermId::DEFAULT_GRAPH
            } else {
                random.choose(&self.graphs)
            },
        }
    }

    /// A random term for a position, which may occur or not.
    pub fn term(&self, position: Position, random: &mut Random) -> TermId {
        if random.one_in(20) {
            // Ids that no quad has: below, above, and of a kind between.
            return random.choose(&[
                TermId::from_bits(1),
                TermId::new(Kind::Literal, 7),
                TermId::from_bits(u64::MAX - 1),
            ]);
        }
        random.choose(match position {
            Position::Subject => &self.subjects,
            Position::Predicate => &self.predicates,
            Position::Object => &self.objects,
            Position::Graph => &self.graphs,
        })
    }

    /// A random pattern with any positions bound.
    pub fn pattern(&self, random: &mut Random) -> Pattern {
        let bound =
            |position, random: &mut Random| random.one_in(2).then(|| self.term(position, random));
        Pattern {
            subject: bound(Position::Subject, random),
            predicate: bound(Position::Predicate, random),
            object: bound(Position::Object, random),
            graph: match random.below(3) {
                0 => GraphSelector::Default,
                1 => GraphSelector::AnyNamed,
                _ => GraphSelector::Named(self.term(Position::Graph, random)),
            },
        }
    }

    /// A change that is normalised against the model: quads to insert, quads to delete. Applies it
    /// to the model.
    pub fn change(
        &self,
        model: &mut BTreeSet<Quad>,
        random: &mut Random,
        inserts: usize,
        deletes: usize,
    ) -> (Vec<Quad>, Vec<Quad>) {
        let present: Vec<Quad> = model.iter().copied().collect();
        let deleted: BTreeSet<Quad> = (0..if present.is_empty() { 0 } else { deletes })
            .map(|_| random.choose(&present))
            .collect();
        let inserted: BTreeSet<Quad> = (0..inserts)
            .map(|_| self.quad(random))
            .filter(|quad| !model.contains(quad))
            .collect();
        model.retain(|quad| !deleted.contains(quad));
        model.extend(&inserted);
        (
            inserted.into_iter().collect(),
            deleted.into_iter().collect(),
        )
    }
}

/// Publishes a layer of a store.
pub fn publish(store: &Store, inserts: &[Quad], tombstones: &[Quad]) -> Result<()> {
    let reservation = store.begin_segment()?;
    let segment = write_segment(
        store.storage(),
        &reservation.segment_path,
        inserts,
        tombstones,
    )?;
    let new = NewSegment {
        segment: Some(segment),
        ..NewSegment::default()
    };
    store.publish(reservation, new)
}

/// All rows of the quads that match a pattern, in an order, without the pattern's bound columns.
pub fn expected_rows(model: &BTreeSet<Quad>, pattern: &Pattern, order: Order) -> Vec<Vec<TermId>> {
    let (_, prefix) = pattern
        .prefix_in(order)
        .expect("only such orders are asked");
    let width = order.columns().len();
    let mut rows: Vec<Vec<TermId>> = model
        .iter()
        .filter(|quad| pattern.matches(quad))
        .map(|quad| order.row(quad)[prefix..width].to_vec())
        .collect();
    rows.sort();
    rows
}

/// Reads a scan to its end, and compares the wanted columns with the expected rows, now and then
/// seeking.
pub fn check_scan(
    mut scan: Scan,
    expected: &[Vec<TermId>],
    prefix: usize,
    wanted: ColumnMask,
    with_seeks: bool,
    universe: &Universe,
    random: &mut Random,
) -> Result<()> {
    let width = expected.first().map_or(0, Vec::len);
    let mut at = 0;
    let mut out = Columns::default();
    loop {
        if with_seeks && width > 0 && random.one_in(3) {
            let length = 1 + random.below(width);
            let key: Vec<TermId> = if random.one_in(3) {
                (0..length)
                    .map(|_| universe.term(Position::Object, random))
                    .collect()
            } else {
                // Near what comes, or far behind it, or before it (which must not move anything).
                let near = (at + random.below(12)).saturating_sub(2);
                let place = if random.one_in(4) {
                    random.below(expected.len())
                } else {
                    near
                };
                let mut key = expected[place.min(expected.len() - 1)][..length].to_vec();
                if random.one_in(3) {
                    let last = key[length - 1].bits();
                    key[length - 1] = TermId::from_bits(last.saturating_add(1));
                }
                key
            };
            scan.seek(&key)?;
            let target = expected.partition_point(|row| row[..length] < key[..]);
            at = at.max(target);
        }
        let max = if random.one_in(2) {
            1 + random.below(4)
        } else {
            1 + random.below(6000)
        };
        out.clear();
        let filled = scan.fill(&mut out, max)?;
        assert!(filled <= max, "more rows than asked for");
        let end = at + filled;
        assert!(end <= expected.len(), "more rows than there are");
        if filled == 0 {
            assert_eq!(at, expected.len(), "the scan ended too early");
            assert_eq!(scan.fill(&mut out, max)?, 0, "rows behind the end");
            return Ok(());
        }
        for column in (0..width).filter(|column| wanted.contains(prefix + column)) {
            let rows: Vec<TermId> = expected[at..end].iter().map(|row| row[column]).collect();
            assert_eq!(
                out.columns[column], rows,
                "column {column} of rows {at} to {end}"
            );
        }
        at = end;
    }
}

/// Asks a snapshot everything that it can be asked, and compares with the model.
pub fn check_snapshot(
    snapshot: &Snapshot,
    model: &BTreeSet<Quad>,
    universe: &Universe,
    random: &mut Random,
    patterns: usize,
) -> Result<()> {
    assert_eq!(snapshot.len().expect("a count"), model.len() as u64);
    assert_eq!(snapshot.is_empty(), model.is_empty());
    let quads = snapshot.quads().collect::<Result<Vec<Quad>>>()?;
    assert_eq!(quads.len(), model.len(), "quads() repeats or leaves out");
    assert_eq!(quads.into_iter().collect::<BTreeSet<_>>(), *model);

    let graphs: BTreeSet<TermId> = model.iter().map(|quad| quad.graph).collect();
    let graphs: Vec<TermId> = graphs
        .into_iter()
        .filter(|graph| !graph.is_unbound())
        .collect();
    assert_eq!(snapshot.named_graphs()?, graphs);

    for order in all_orders() {
        let graph = if order.is_default_graph() {
            GraphSelector::Default
        } else {
            GraphSelector::AnyNamed
        };
        let pattern = Pattern {
            subject: None,
            predicate: None,
            object: None,
            graph,
        };
        check_pattern(snapshot, model, &pattern, universe, random, Some(order))?;
    }
    for _ in 0..patterns {
        check_pattern(
            snapshot,
            model,
            &universe.pattern(random),
            universe,
            random,
            None,
        )?;
    }
    for quad in model
        .iter()
        .filter(|_| random.one_in(1 + model.len() / 100))
    {
        assert!(snapshot.contains(quad)?, "{quad:?} is missing");
    }
    for _ in 0..patterns {
        let quad = universe.quad(random);
        assert_eq!(snapshot.contains(&quad)?, model.contains(&quad), "{quad:?}");
    }
    Ok(())
}

/// Counts and scans one pattern, in one order or in all that fit.
pub fn check_pattern(
    snapshot: &Snapshot,
    model: &BTreeSet<Quad>,
    pattern: &Pattern,
    universe: &Universe,
    random: &mut Random,
    only: Option<Order>,
) -> Result<()> {
    let matching = model.iter().filter(|quad| pattern.matches(quad)).count();
    assert_eq!(snapshot.count(pattern)?, matching as u64, "{pattern:?}");
    assert!(best_order(pattern, None).is_some(), "{pattern:?}");
    for order in all_orders().filter(|order| only.is_none_or(|only| only == *order)) {
        let Some((_, prefix)) = pattern.prefix_in(order) else {
            continue;
        };
        if let Some(position) = order.columns().get(prefix) {
            let best = best_order(pattern, Some(*position)).expect("this order would do");
            assert_eq!(best.columns()[prefix], *position);
        }
        let expected = expected_rows(model, pattern, order);
        for with_seeks in [false, true] {
            let wanted = if random.one_in(2) {
                ColumnMask::ALL
            } else {
                (0..4).fold(ColumnMask::NONE, |mask, column| {
                    if random.one_in(2) {
                        mask.with(column)
                    } else {
                        mask
                    }
                })
            };
            let scan = snapshot.scan(pattern, order, wanted)?;
            check_scan(
                scan, &expected, prefix, wanted, with_seeks, universe, random,
            )?;
        }
        check_parts(snapshot, pattern, order, &expected, random)?;
        let located = snapshot.locate(pattern, order)?;
        let next = order.columns().get(prefix);
        if let Some(located) = located
            && next.is_some_and(|next| *next != Position::Predicate)
        {
            let ranges = ranges(universe, random);
            let within = snapshot.located_within(&located, &ranges)?;
            let mut expected = expected;
            expected.retain(|row| ranges.iter().any(|range| range.contains(&row[0])));
            assert!(snapshot.count_located(&within)? >= expected.len() as u64);
            let all = ColumnMask::ALL;
            for with_seeks in [false, true] {
                let scan = snapshot.scan_located(&within, all);
                check_scan(scan, &expected, prefix, all, with_seeks, universe, random)?;
            }
            let parts = snapshot.scan_parts_located(&within, all, 1 + random.below(6))?;
            check_chain(parts, &expected, random)?;
        }
    }
    Ok(())
}

/// Up to three ranges of ids, ascending and apart.
fn ranges(universe: &Universe, random: &mut Random) -> Vec<RangeInclusive<TermId>> {
    let mut ends = BTreeSet::new();
    for _ in 0..2 * (1 + random.below(3)) {
        let quad = universe.quad(random);
        ends.insert([quad.subject, quad.object, quad.graph][random.below(3)]);
    }
    let ends: Vec<TermId> = ends.into_iter().collect();
    ends.chunks_exact(2).map(|ends| ends[0]..=ends[1]).collect()
}

/// Cuts a scan into parts and compares what they give together.
fn check_parts(
    snapshot: &Snapshot,
    pattern: &Pattern,
    order: Order,
    expected: &[Vec<TermId>],
    random: &mut Random,
) -> Result<()> {
    let most = 1 + random.below(6);
    let parts = snapshot.scan_parts(pattern, order, ColumnMask::ALL, most)?;
    assert!(
        parts.len() <= most,
        "{} parts where {most} were asked for",
        parts.len()
    );
    check_chain(parts, expected, random)
}

/// Compares what scans give one after the other.
fn check_chain(parts: Vec<Scan>, expected: &[Vec<TermId>], random: &mut Random) -> Result<()> {
    let mut rows = Columns::default();
    let mut count = 0;
    for mut part in parts {
        loop {
            let filled = part.fill(&mut rows, 1 + random.below(3000))?;
            count += filled;
            if filled == 0 {
                break;
            }
        }
    }
    assert_eq!(count, expected.len(), "rows of all parts");
    for (column, values) in rows
        .columns
        .iter()
        .enumerate()
        .filter(|(_, values)| !values.is_empty())
    {
        assert!(values.iter().eq(expected.iter().map(|row| &row[column])));
    }
    Ok(())
}
