//! Samples of a pattern's rows: how many there are, that they are rows of the pattern, and that they are spread evenly.

use oxrdf::{GraphName, Literal, NamedNode, Quad};
use quadrille_store::index::ColumnMask;
use quadrille_store::{GraphSelector, Order, Pattern, Store, TermId};
use std::collections::BTreeSet;

fn quad(number: u64, predicate: &str) -> Quad {
    Quad::new(
        NamedNode::new_unchecked(format!("e:{number:05}")),
        NamedNode::new_unchecked(predicate),
        Literal::from(i64::try_from(number).expect("a small number")),
        GraphName::DefaultGraph,
    )
}

#[test]
fn a_sample_is_spread_over_the_rows_of_all_layers() {
    let store = Store::in_memory();
    let first = (0..600).flat_map(|number| [quad(number, "e:p"), quad(number, "e:q")]);
    store
        .insert_quads(first.collect::<Vec<_>>())
        .expect("memory");
    store
        .insert_quads(
            (600..1_000)
                .map(|number| quad(number, "e:p"))
                .collect::<Vec<_>>(),
        )
        .expect("memory");
    let snapshot = store.snapshot();
    let predicate = snapshot
        .term_id(NamedNode::new_unchecked("e:p").as_ref().into())
        .expect("memory");
    let pattern = Pattern {
        subject: None,
        predicate,
        object: None,
        graph: GraphSelector::Default,
    };
    let mut all = quadrille_store::index::Columns::default();
    let mut scan = snapshot
        .scan(&pattern, Order::Pso, ColumnMask::ALL)
        .expect("memory");
    while scan.fill(&mut all, 1_024).expect("memory") > 0 {}
    assert_eq!(all.len(), 1_000);
    let place = |id: &TermId| all.columns[0].iter().position(|known| known == id);
    for count in [0, 1, 2, 7, 100, 999, 1_000, 5_000] {
        let sample = snapshot
            .sample(&pattern, Order::Pso, ColumnMask::ALL, count)
            .expect("memory");
        let places: BTreeSet<usize> = sample.columns[0]
            .iter()
            .map(|id| place(id).expect("a row of the pattern"))
            .collect();
        let taken = count.min(1_000) as usize;
        assert_eq!((sample.len(), places.len()), (taken, taken), "no row twice");
        for (row, id) in sample.columns[0].iter().enumerate() {
            let at = place(id).expect("a row of the pattern");
            assert_eq!(sample.columns[1][row], all.columns[1][at]);
        }
        // Each of as many equal shares of the rows has one.
        if taken > 0 && 1_000 % taken == 0 {
            let share = 1_000 / taken;
            let shares: BTreeSet<usize> = places.iter().map(|place| place / share).collect();
            assert_eq!(shares.len(), taken);
        }
    }
    // Nothing is free where everything is bound.
    let bound = Pattern {
        subject: Some(all.columns[0][0]),
        object: Some(all.columns[1][0]),
        ..pattern
    };
    let sample = snapshot
        .sample(&bound, Order::Spo, ColumnMask::ALL, 3)
        .expect("memory");
    assert!(sample.is_empty());
}
