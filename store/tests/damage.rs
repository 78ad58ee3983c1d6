//! Every byte of every file counts: a small store is changed in one byte at a time, and `verify`
//! must see each change; a file that is missing, cut, or grown is seen too. And a sound store that
//! makes no sense is not sound.

mod support;

use oxrdf::vocab::xsd;
use oxrdf::{BlankNode, GraphName, Literal, NamedNode, Triple};
use quadrille_store::io::Storage;
use quadrille_store::io::memory::MemoryStorage;
use quadrille_store::manifest::{Manifest, SegmentEntry};
use quadrille_store::segment::SegmentWriter;
use quadrille_store::statistics::{self, Statistics};
use quadrille_store::verify::verify;
use quadrille_store::{Kind, Mode, NewSegment, Order, Position, Quad, Result, Store, TermId};
use std::collections::BTreeSet;
use std::sync::Arc;
use support::{Random, Universe, publish};

fn iri(name: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("http://example.org/{name}"))
}

/// A store with everything that a store can have: all kinds of terms, named graphs, triple terms,
/// two dictionaries, tombstones.
fn store_with_everything() -> Result<(MemoryStorage, Store)> {
    let storage = MemoryStorage::new();
    let store = Store::with_storage(Arc::new(storage.clone()), Mode::Create)?;
    let quad =
        |s: &str, p: &str, o: oxrdf::Term, g: GraphName| oxrdf::Quad::new(iri(s), iri(p), o, g);
    let inner = Triple::new(iri("a"), iri("p"), Literal::from(1));
    let outer = Triple::new(BlankNode::new_unchecked("x"), iri("q"), inner.clone());
    let default = GraphName::DefaultGraph;
    let named = GraphName::NamedNode(iri("g"));
    store.insert_quads([
        quad("a", "p", iri("b").into(), default.clone()),
        quad(
            "a",
            "p",
            Literal::new_simple_literal("one").into(),
            default.clone(),
        ),
        quad(
            "a",
            "q",
            Literal::new_language_tagged_literal_unchecked("one", "en").into(),
            default.clone(),
        ),
        quad(
            "b",
            "q",
            Literal::new_typed_literal("01", xsd::INTEGER).into(),
            default.clone(),
        ),
        quad(
            "b",
            "r",
            Literal::new_typed_literal("noon", xsd::TIME).into(),
            default.clone(),
        ),
        quad("b", "r", outer.into(), default.clone()),
        quad("c", "r", inner.into(), named.clone()),
        quad("c", "p", BlankNode::new_unchecked("y").into(), named),
    ])?;
    store.insert_quads([quad(
        "d",
        "p",
        iri("e").into(),
        GraphName::NamedNode(iri("h")),
    )])?;
    let quads = store.snapshot().quads().collect::<Result<Vec<Quad>>>()?;
    let deleted = [quads[1], *quads.last().expect("nine quads")];
    let new = Quad {
        object: TermId::new(Kind::Blank, 0),
        ..quads[0]
    };
    publish(&store, &[new], &deleted)?;
    Ok((storage, store))
}

#[test]
fn a_sound_store_is_sound() -> Result<()> {
    let (_, store) = store_with_everything()?;
    let report = store.verify();
    assert!(report.is_sound(), "{:#?}", report.problems);
    assert_eq!(report.quads, 8 + 1 + 3);
    Ok(())
}

/// Changes one byte after another in all files of a store and counts them.
fn change_every_byte(storage: &MemoryStorage) -> Result<usize> {
    let mut bytes = 0;
    for path in storage.list("")? {
        let sound = storage.map(&path)?.to_vec();
        for place in 0..sound.len() {
            // Each byte once, with a change that depends on its place.
            let mut damaged = sound.clone();
            damaged[place] ^= 1 << (place % 8);
            storage.insert(&path, damaged)?;
            assert!(
                !verify(storage).is_sound(),
                "byte {place} of {path} does not count"
            );
            bytes += 1;
        }
        storage.insert(&path, sound)?;
    }
    assert!(verify(storage).is_sound());
    Ok(bytes)
}

// Each file is read again for each byte, so several small stores take less time than one that has
// everything.

#[test]
fn every_byte_of_terms_and_default_graph_counts() -> Result<()> {
    let (_, everything) = store_with_everything()?;
    let snapshot = everything.snapshot();
    let storage = MemoryStorage::new();
    let store = Store::with_storage(Arc::new(storage.clone()), Mode::Create)?;
    let mut quads = Vec::new();
    for quad in snapshot.quads() {
        quads.push(snapshot.quad(&Quad {
            graph: TermId::DEFAULT_GRAPH,
            ..quad?
        })?);
    }
    store.insert_quads(quads)?;
    let bytes = change_every_byte(&storage)?;
    assert!(bytes > 5_000, "only {bytes} bytes were tried");
    Ok(())
}

#[test]
fn every_byte_of_named_graphs_and_tombstones_counts() -> Result<()> {
    let storage = MemoryStorage::new();
    let store = Store::with_storage(Arc::new(storage.clone()), Mode::Create)?;
    let quad = |s: &str| oxrdf::Quad::new(iri(s), iri("p"), iri("o"), iri("g"));
    store.insert_quads([quad("a"), quad("b"), quad("c")])?;
    let quads = store.snapshot().quads().collect::<Result<Vec<Quad>>>()?;
    publish(&store, &[], &quads[1..])?;
    let bytes = change_every_byte(&storage)?;
    assert!(bytes > 5_000, "only {bytes} bytes were tried");
    Ok(())
}

#[test]
fn missing_cut_and_grown_files_are_seen() -> Result<()> {
    let (storage, store) = store_with_everything()?;
    drop(store);
    for path in storage.list("")? {
        let sound = storage.map(&path)?.to_vec();
        storage.remove(&path)?;
        assert!(!verify(&storage).is_sound(), "{path} is missing");
        for length in [0, 1, sound.len() / 2, sound.len() - 1] {
            storage.insert(&path, sound[..length].to_vec())?;
            assert!(
                !verify(&storage).is_sound(),
                "{path} is {length} bytes long"
            );
        }
        let mut grown = sound.clone();
        grown.push(0);
        storage.insert(&path, grown)?;
        assert!(!verify(&storage).is_sound(), "{path} has a byte more");
        storage.insert(&path, sound)?;
    }
    assert!(verify(&storage).is_sound());
    Ok(())
}

#[test]
fn verify_does_not_stop_at_the_first_problem() -> Result<()> {
    let (storage, store) = store_with_everything()?;
    drop(store);
    let manifest = Manifest::load(&storage)?.expect("a store");
    let damaged = [
        &manifest.segments[0].orders[0].path,
        &manifest.segments[0].orders[9].path,
    ];
    for path in damaged {
        let mut bytes = storage.map(path)?.to_vec();
        bytes[70] ^= 1;
        storage.insert(path, bytes)?;
    }
    let report = verify(&storage);
    for path in damaged {
        let problem = report
            .problems
            .iter()
            .find(|problem| problem.path.ends_with(path));
        let problem = problem.unwrap_or_else(|| panic!("{path}: {:#?}", report.problems));
        assert!(problem.offset.is_some());
    }
    Ok(())
}

/// Checksums that are right do not make a store right.
#[test]
fn quads_that_cannot_be_are_seen() -> Result<()> {
    let (_, store) = store_with_everything()?;
    let known = store.snapshot().quads().next().expect("a quad")?;
    let iri = |ordinal| TermId::new(Kind::Iri, ordinal);
    let cases = [
        (
            "no such IRI",
            Quad {
                subject: iri(1_000),
                ..known
            },
        ),
        (
            "no such blank node",
            Quad {
                object: TermId::new(Kind::Blank, 1_000),
                ..known
            },
        ),
        (
            "no such triple term",
            Quad {
                object: TermId::new(Kind::Triple, 1_000),
                ..known
            },
        ),
        (
            "a literal as subject",
            Quad {
                subject: TermId::new(Kind::Literal, 0),
                ..known
            },
        ),
        (
            "a blank node as predicate",
            Quad {
                predicate: TermId::new(Kind::Blank, 0),
                ..known
            },
        ),
        (
            "a kind that does not exist",
            Quad {
                object: TermId::from_bits(u64::MAX),
                ..known
            },
        ),
        (
            "an unbound object",
            Quad {
                object: TermId::UNBOUND,
                ..known
            },
        ),
        ("a quad that is there already", known),
    ];
    for (what, quad) in cases {
        let (_, store) = store_with_everything()?;
        publish(&store, &[quad], &[])?;
        let report = store.verify();
        assert!(!report.is_sound(), "{what}");
    }
    let absent = Quad {
        object: iri(0),
        subject: iri(2),
        ..known
    };
    assert!(!store.snapshot().contains(&absent)?);
    publish(&store, &[], &[absent])?;
    assert!(!store.verify().is_sound(), "a tombstone that hides nothing");
    Ok(())
}

/// A file of another segment in the place of one has right checksums and wrong contents.
#[test]
fn exchanged_files_are_seen() -> Result<()> {
    let (storage, store) = store_with_everything()?;
    drop(store);
    let manifest = Manifest::load(&storage)?.expect("a store");
    let first = &manifest.segments[0];
    for (a, b) in [
        (&first.orders[0].path, &first.orders[1].path),
        (&first.orders[6].path, &first.orders[12].path),
        (
            &first.statistics.path,
            &manifest.segments[1].statistics.path,
        ),
        (
            &first.predicates.path,
            &manifest.segments[1].predicates.path,
        ),
        (
            &manifest.dictionaries[0].path,
            &manifest.dictionaries[1].path,
        ),
    ] {
        let (bytes_a, bytes_b) = (storage.map(a)?.to_vec(), storage.map(b)?.to_vec());
        storage.insert(a, bytes_b.clone())?;
        storage.insert(b, bytes_a.clone())?;
        assert!(!verify(&storage).is_sound(), "{a} and {b} were exchanged");
        storage.insert(a, bytes_a)?;
        storage.insert(b, bytes_b)?;
    }
    assert!(verify(&storage).is_sound());
    Ok(())
}

/// Writes a segment whose orders hold the quads that `quads` gives for each, with these statistics.
fn write_contradiction(
    store: &Store,
    path: &str,
    statistics: &Statistics,
    quads: impl Fn(Order) -> Vec<Quad>,
) -> Result<SegmentEntry> {
    let predicates: BTreeSet<TermId> = Order::DEFAULT_GRAPH
        .into_iter()
        .flat_map(&quads)
        .map(|quad| quad.predicate)
        .collect();
    let predicates: Vec<TermId> = predicates.into_iter().collect();
    let writer = SegmentWriter::new(Arc::clone(store.storage()), path, predicates.clone());
    for order in Order::DEFAULT_GRAPH {
        let rows: BTreeSet<[TermId; 4]> = quads(order).iter().map(|quad| order.row(quad)).collect();
        let columns: Vec<Vec<u64>> = (0..3)
            .map(|column| {
                let is_predicate = order.columns()[column] == Position::Predicate;
                let rank = |id: TermId| predicates.binary_search(&id).expect("listed") as u64;
                let value = |id: TermId| if is_predicate { rank(id) } else { id.bits() };
                rows.iter().map(|row| value(row[column])).collect()
            })
            .collect();
        let columns: Vec<&[u64]> = columns.iter().map(Vec::as_slice).collect();
        let mut file = writer.order_writer(order, false)?;
        file.push(&columns)?;
        let (file, summary) = file.finish()?;
        file.sync()?;
        writer.add(order, false, &summary);
    }
    writer.finish(statistics)
}

#[test]
fn orders_that_contradict_one_another_and_wrong_statistics_are_seen() -> Result<()> {
    let universe_store = || -> Result<(Store, Vec<Quad>)> {
        let store = Store::in_memory();
        let universe = Universe::new(&store, 14, 6)?;
        let mut random = Random::new(2);
        let snapshot = store.snapshot();
        let mut quads = BTreeSet::new();
        while quads.len() < 30 {
            let quad = universe.quad(&mut random);
            if quad.graph == TermId::DEFAULT_GRAPH && !snapshot.contains(&quad)? {
                quads.insert(quad);
            }
        }
        Ok((store, quads.into_iter().collect()))
    };
    let publish = |store: &Store, segment, reservation| {
        let new = NewSegment {
            segment: Some(segment),
            ..NewSegment::default()
        };
        store.publish(reservation, new)
    };
    // Orders that hold as many quads, but one of them others.
    for wrong in Order::DEFAULT_GRAPH {
        let (store, quads) = universe_store()?;
        let reservation = store.begin_segment()?;
        let path = &reservation.segment_path;
        let segment = write_contradiction(&store, path, &Statistics::default(), |order| {
            if order == wrong {
                quads[1..].to_vec()
            } else {
                quads[..29].to_vec()
            }
        })?;
        publish(&store, segment, reservation)?;
        let report = store.verify();
        let problem = report
            .problems
            .iter()
            .find(|problem| problem.reason.contains("other quads"));
        assert!(problem.is_some(), "{wrong:?}: {:#?}", report.problems);
    }
    // Right statistics first, then one number of them wrong.
    let (store, quads) = universe_store()?;
    let reservation = store.begin_segment()?;
    let path = &reservation.segment_path;
    quadrille_store::insert::write_segment(store.storage(), path, &quads, &[])?;
    let right = statistics::file::open(&**store.storage(), &format!("{path}/statistics"))
        .and_then(|file| statistics::file::read(&file))?;
    drop(reservation);
    for place in 0..4 {
        let mut wrong = right.clone();
        match place {
            0 => {}
            1 => wrong.default_graph.rows += 1,
            2 => wrong.default_graph.predicates[1].subjects.count += 1,
            _ => wrong.default_graph.sets[2].subjects += 1,
        }
        let (store, quads) = universe_store()?;
        let reservation = store.begin_segment()?;
        let path = &reservation.segment_path;
        let segment = write_contradiction(&store, path, &wrong, |_| quads.clone())?;
        publish(&store, segment, reservation)?;
        let report = store.verify();
        assert_eq!(
            report.is_sound(),
            place == 0,
            "{place}: {:#?}",
            report.problems
        );
    }
    Ok(())
}
