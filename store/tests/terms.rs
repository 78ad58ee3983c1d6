//! Terms go into a store and come out as they were: every kind, byte for byte, one by one and in
//! batches, from one dictionary and from several.

mod support;

use oxrdf::vocab::xsd;
use oxrdf::{BaseDirection, BlankNode, GraphName, Literal, NamedNode, Term, Triple};
use quadrille_store::id::PAYLOAD_MAX;
use quadrille_store::io::memory::MemoryStorage;
use quadrille_store::manifest::Manifest;
use quadrille_store::snapshot::terms::TermParts;
use quadrille_store::{Kind, Mode, Quad, Result, Snapshot, Store, StoreError, TermId, TermKey};
use std::collections::BTreeSet;
use std::sync::Arc;
use support::Random;

fn iri(name: impl std::fmt::Display) -> NamedNode {
    NamedNode::new_unchecked(format!("http://example.org/{name}"))
}

/// Terms of all kinds, without blank nodes (whose labels the store chooses).
fn terms() -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    for name in ["", "a", "b", "ü", "a/b#c", "日本"] {
        terms.push(iri(name).into());
        terms.push(Literal::new_simple_literal(name).into());
        for tag in ["en", "de", "de-ch-1996", "a--b"] {
            terms.push(Literal::new_language_tagged_literal_unchecked(name, tag).into());
            for direction in [BaseDirection::Ltr, BaseDirection::Rtl] {
                terms.push(
                    Literal::new_directional_language_tagged_literal_unchecked(
                        name, tag, direction,
                    )
                    .into(),
                );
            }
        }
        terms.push(Literal::new_typed_literal(name, iri("datatype")).into());
    }
    let typed = [
        (
            xsd::INTEGER,
            ["1", "01", "-7", "123456789012345678901234567890", "x"],
        ),
        (
            xsd::DECIMAL,
            ["1.0", "1.00", "1", "0.000000000000000000000001", "+1"],
        ),
        (
            xsd::DOUBLE,
            ["1E0", "1.0", "NaN", "INF", "1.2345678901234567890123E300"],
        ),
        (xsd::BOOLEAN, ["true", "false", "1", "0", "maybe"]),
        (
            xsd::DATE,
            [
                "2024-02-29",
                "2023-02-29",
                "2024-01-01Z",
                "2024-01-01+14:00",
                "-0001-01-01",
            ],
        ),
        (
            xsd::DATE_TIME,
            [
                "2024-02-29T12:00:00",
                "2024-02-29T12:00:00.5Z",
                "2024-02-29T24:00:00",
                "x",
                "",
            ],
        ),
        (
            xsd::STRING,
            ["1", "x\0y", "\u{10ffff}", "line\nline", "tab\t"],
        ),
    ];
    for (datatype, forms) in typed {
        terms.extend(forms.map(|form| Literal::new_typed_literal(form, datatype).into()));
    }
    let inner = Triple::new(iri("a"), iri("p"), Literal::from(1));
    let outer = Triple::new(iri("b"), iri("p"), inner.clone());
    terms.extend([Term::from(inner), outer.into()]);
    terms
}

fn quad(object: &Term) -> oxrdf::Quad {
    oxrdf::Quad::new(iri("s"), iri("p"), object.clone(), GraphName::DefaultGraph)
}

fn check(snapshot: &Snapshot, terms: &[Term]) -> Result<()> {
    let mut ids = Vec::new();
    for term in terms {
        let id = snapshot
            .term_id(term.as_ref())?
            .unwrap_or_else(|| panic!("{term} has no id"));
        assert_eq!(snapshot.term(id)?, *term);
        ids.push(id);
    }
    let distinct: BTreeSet<TermId> = ids.iter().copied().collect();
    let distinct_terms: BTreeSet<String> = terms.iter().map(ToString::to_string).collect();
    assert_eq!(
        distinct.len(),
        distinct_terms.len(),
        "id equality is term equality"
    );

    // In batches, in any sequence, repeated, with holes.
    let mut random = Random::new(3);
    for length in [0, 1, 5, 1_000] {
        let places: Vec<usize> = (0..length).map(|_| random.below(ids.len())).collect();
        let mut batch: Vec<TermId> = places.iter().map(|place| ids[*place]).collect();
        batch.push(TermId::UNBOUND);
        let mut found: Vec<Option<Term>> = vec![None; batch.len()];
        snapshot.terms(&batch, &mut |place, term| {
            assert!(found[place].replace(term).is_none(), "place {place} twice");
        })?;
        assert_eq!(found.pop(), Some(None), "unbound is no term");
        for (place, found) in places.iter().zip(found) {
            assert_eq!(found.as_ref(), Some(&terms[*place]));
        }
        let mut seen = BTreeSet::new();
        snapshot.term_parts(&batch, &mut |places, parts| {
            assert!(seen.insert(batch[places[0]]), "each id once");
            if let TermParts::Iri(iri) = parts {
                assert!(iri.starts_with("http://example.org/"));
            }
        })?;
    }
    Ok(())
}

#[test]
fn terms_come_out_as_they_went_in() -> Result<()> {
    let store = Store::in_memory();
    let terms = terms();
    store.insert_quads(terms.iter().map(quad))?;
    check(&store.snapshot(), &terms)?;
    assert!(store.verify().is_sound());
    // Once more changes nothing.
    let before = store.manifest().generation;
    assert_eq!(store.insert_quads(terms.iter().map(quad))?, 0);
    assert_eq!(store.manifest().generation, before);
    Ok(())
}

#[test]
fn several_dictionaries_answer_as_one() -> Result<()> {
    let store = Store::in_memory();
    let terms = terms();
    let mut inserted = 0;
    for part in terms.chunks(11) {
        // Each part overlaps with the one before.
        inserted += store.insert_quads(part.iter().map(quad))?;
        check(&store.snapshot(), &terms[..inserted as usize])?;
    }
    let reopened = Store::with_storage(Arc::clone(store.storage()), Mode::ReadOnly)?;
    check(&reopened.snapshot(), &terms)?;
    assert!(store.verify().is_sound());
    let info = store.info()?;
    assert_eq!(info.quads, terms.len() as u64);
    assert_eq!(info.terms.triple_terms, 2);
    assert_eq!(info.segments.len(), terms.len().div_ceil(11));
    let bytes: u64 = store
        .manifest()
        .live_files()
        .into_iter()
        .map(|path| {
            store
                .storage()
                .length(path)
                .map(|bytes| bytes.expect("a live file"))
        })
        .sum::<Result<u64>>()?;
    assert_eq!(info.files.total.bytes, bytes);
    assert_eq!(
        info.files.total.files,
        store.manifest().live_files().len() as u64
    );
    let json = serde_json::to_value(&info).expect("it serialises");
    assert_eq!(json["quads"], terms.len() as u64);
    Ok(())
}

#[test]
fn terms_in_term_order_get_ascending_ids() -> Result<()> {
    let store = Store::in_memory();
    store.insert_quads(terms().iter().map(quad))?;
    let snapshot = store.snapshot();
    for kind in Kind::VOCABULARY {
        let count = snapshot_count(&store, kind);
        let mut last: Option<(Vec<u8>, Vec<u8>)> = None;
        for ordinal in 0..count {
            let mut key = None;
            snapshot.term_parts(&[TermId::new(kind, ordinal)], &mut |_, parts| {
                key = Some(match parts {
                    TermParts::Iri(iri) => (iri.as_bytes().to_vec(), Vec::new()),
                    TermParts::Literal {
                        lexical,
                        annotation,
                    } => {
                        let mut bytes = Vec::new();
                        annotation.write(&mut bytes);
                        (lexical.as_bytes().to_vec(), bytes)
                    }
                    other => panic!("{other:?} is in no dictionary"),
                });
            })?;
            let key = key.expect("one id, one term");
            assert!(last.is_none_or(|last| last < key), "{kind:?} {ordinal}");
            let (lexical, annotation) = &key;
            let found = snapshot.key_id(&TermKey {
                kind,
                lexical,
                annotation,
            })?;
            assert_eq!(found, Some(TermId::new(kind, ordinal)));
            last = Some(key);
        }
    }
    Ok(())
}

fn snapshot_count(store: &Store, kind: Kind) -> u64 {
    store
        .manifest()
        .dictionaries
        .iter()
        .map(|dictionary| dictionary.counts.get(kind))
        .sum()
}

#[test]
fn blank_nodes_are_scoped_to_a_call() -> Result<()> {
    let store = Store::in_memory();
    let blank = |label: &str| BlankNode::new_unchecked(label);
    let quads = || {
        [
            oxrdf::Quad::new(
                blank("x"),
                iri("p"),
                blank("y"),
                GraphName::from(blank("x")),
            ),
            oxrdf::Quad::new(blank("y"), iri("p"), blank("x"), GraphName::DefaultGraph),
        ]
    };
    assert_eq!(store.insert_quads(quads())?, 2);
    assert_eq!(store.insert_quads(quads())?, 2);
    let snapshot = store.snapshot();
    assert_eq!(snapshot.len().expect("a count"), 4);
    let nodes: BTreeSet<TermId> = snapshot
        .quads()
        .map(|quad| quad.map(|quad| quad.subject))
        .collect::<Result<_>>()?;
    assert_eq!(nodes.len(), 4);
    for id in nodes {
        let term = snapshot.term(id)?;
        assert_eq!(snapshot.term_id(term.as_ref())?, Some(id), "{term}");
    }
    for label in [
        "b4",
        "b",
        "b00",
        "b01",
        "b+1",
        "c1",
        "x",
        "b99999999999999999999999",
    ] {
        assert_eq!(
            snapshot.term_id(blank(label).as_ref().into())?,
            None,
            "{label}"
        );
    }
    assert_eq!(store.info()?.terms.blank_nodes, 4);
    assert_eq!(store.info()?.named_graphs, 2);
    Ok(())
}

#[test]
fn absent_terms_have_no_id() -> Result<()> {
    let store = Store::in_memory();
    let absent: Vec<Term> = vec![
        iri("absent").into(),
        Literal::new_simple_literal("absent").into(),
        Literal::new_typed_literal("007", xsd::INTEGER).into(),
        Triple::new(iri("s"), iri("p"), Literal::from(1)).into(),
        Triple::new(iri("absent"), iri("p"), Literal::from(1)).into(),
    ];
    for _ in 0..2 {
        for term in &absent {
            assert_eq!(store.snapshot().term_id(term.as_ref())?, None, "{term}");
        }
        store.insert_quads([quad(&iri("s").into())])?;
    }
    // A value always has one.
    assert!(
        store
            .snapshot()
            .term_id(Literal::from(7).as_ref().into())?
            .is_some()
    );
    Ok(())
}

#[test]
fn ids_of_nothing_are_errors() -> Result<()> {
    let store = Store::in_memory();
    store.insert_quads([quad(&iri("s").into())])?;
    let snapshot = store.snapshot();
    for id in [
        TermId::UNBOUND,
        TermId::MAX,
        TermId::new(Kind::Iri, 2),
        TermId::new(Kind::Literal, 0),
        TermId::new(Kind::Triple, 0),
    ] {
        assert!(
            matches!(snapshot.term(id), Err(StoreError::Damaged { .. })),
            "{id:?}"
        );
    }
    let quad = Quad {
        subject: TermId::new(Kind::Literal, 3),
        ..snapshot.quads().next().expect("one quad")?
    };
    assert!(snapshot.quad(&quad).is_err());
    Ok(())
}

#[test]
fn deeply_nested_triple_terms_are_refused_and_not_a_stack_overflow() -> Result<()> {
    let nested = |depth: usize| {
        (0..depth).fold(Term::from(iri("o")), |term, _| {
            Triple::new(iri("s"), iri("p"), term).into()
        })
    };
    let store = Store::in_memory();
    let deepest = nested(quadrille_store::snapshot::terms::TRIPLE_DEPTH_MAX);
    store.insert_quads([quad(&deepest)])?;
    let snapshot = store.snapshot();
    let id = snapshot.term_id(deepest.as_ref())?.expect("just inserted");
    assert_eq!(snapshot.term(id)?, deepest);
    assert!(store.verify().is_sound());
    let deeper = nested(quadrille_store::snapshot::terms::TRIPLE_DEPTH_MAX + 1);
    assert!(matches!(
        store.insert_quads([quad(&deeper)]),
        Err(StoreError::Limit { .. })
    ));
    assert!(matches!(
        snapshot.term_id(deeper.as_ref()),
        Err(StoreError::Limit { .. })
    ));
    assert_eq!(store.snapshot().len().expect("a count"), 1);
    Ok(())
}

#[test]
fn the_end_of_the_numbers_is_an_error_and_not_a_panic() -> Result<()> {
    for is_blank in [false, true] {
        let storage = MemoryStorage::new();
        Store::with_storage(Arc::new(storage.clone()), Mode::Create)?;
        let mut manifest = Manifest::load(&storage)?.expect("a store").successor();
        manifest.next_ordinals.iri = PAYLOAD_MAX - 4;
        manifest.next_blank = PAYLOAD_MAX - 1;
        manifest.store(&storage).expect("memory takes it");
        let store = Store::with_storage(Arc::new(storage), Mode::Write)?;
        let object = |name: &str| -> Term {
            if is_blank {
                BlankNode::new_unchecked(name).into()
            } else {
                iri(name).into()
            }
        };
        // One object fits; the other terms are two IRIs.
        store.insert_quads([quad(&object("first"))])?;
        let refused = store.insert_quads([quad(&object("second")), quad(&object("third"))]);
        assert!(matches!(refused, Err(StoreError::Limit { .. })));
        assert_eq!(store.snapshot().len().expect("a count"), 1);
        assert!(store.verify().is_sound());
    }
    Ok(())
}
