//! A load is what `oxttl` reads and `Store::insert_quads` makes of it, whatever the options.

use crate::documents::{Document, Expected, IDENTITY, Random, Shape};
use crate::stores::{
    Setup, ShownOnPanic, TINY, check_counts, check_report, check_store, created, load_and_check,
    load_documents, model, new_store,
};
use oxrdf::dataset::CanonicalizationAlgorithm;
use oxrdf::{Dataset, NamedNode, NamedOrBlankNode, Term};
use quadrille_loader::input::{Format, InputFile};
use quadrille_loader::queue::WaitStrategy;
use quadrille_loader::run::FAN_IN;
use quadrille_loader::{LoadOptions, load};
use quadrille_store::{Quad, Store, TermId};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Cursor;

fn documents(random: &mut Random, blanks: bool) -> Vec<Document> {
    (0..=random.below(5) as u32)
        .map(|number| {
            let shape = Shape {
                statements: random.choose(&[0, 1, 30, 150, 400]),
                universe: random.choose(&[3, 20, 300]),
                blanks,
            };
            Document::random(random, number, shape)
        })
        .collect()
}

#[test]
fn every_setup_loads_what_the_parser_reads() {
    // What some of the loads must have gone through.
    let mut coverage = BTreeSet::new();
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let setup = Setup::random(&mut random);
        let _shown = ShownOnPanic((seed, setup));
        let blanks = random.one_in(2);
        let documents = documents(&mut random, blanks);
        let (_storage, store) = new_store();
        let mut expected = Expected::default();
        let report = load_and_check(&store, &mut expected, &documents, setup);
        let snapshot = store.snapshot();
        let model = model(&snapshot);
        if !model.is_empty() {
            check_counts(&snapshot, &model, &mut random, 2);
        }
        check_against_twin(&store, &documents, &expected.quads);

        let inserted: u64 = report
            .threads
            .iter()
            .map(|thread| thread.batches_inserted)
            .sum();
        assert!(inserted >= report.statements.div_ceil(setup.batch as u64));
        assert_eq!(report.threads.len(), setup.threads);
        let passed = [
            (
                "in memory",
                report.spilled_runs == 0 && report.statements > 0,
            ),
            ("spilled", report.spilled_runs > 0),
            (
                "merged before the merge",
                report.spilled_runs > FAN_IN as u64,
            ),
            (
                "queue",
                report
                    .queue
                    .is_some_and(|queue| queue.receivers.hand_overs > 0),
            ),
        ];
        coverage.extend(
            passed
                .iter()
                .filter(|(_, passed)| *passed)
                .map(|(what, _)| *what),
        );
    }
    assert_eq!(coverage.len(), 4, "only {coverage:?}");
}

/// Compares with a store that got the same quads the plain way.
fn check_against_twin(store: &Store, documents: &[Document], quads: &BTreeSet<String>) {
    let twin = Store::in_memory();
    let all = Expected::default().next_quads(documents);
    let inserted = twin.insert_quads(all.iter().cloned()).expect("inserts");
    assert_eq!(inserted, quads.len() as u64);
    check_store(&twin, quads);
    // Both number vocabulary terms in term order, so that even ids agree.
    let (ours, theirs) = (store.snapshot(), twin.snapshot());
    for quad in &all {
        let mut terms = vec![Term::from(quad.predicate.clone())];
        if let NamedOrBlankNode::NamedNode(node) = &quad.subject {
            terms.push(node.clone().into());
        }
        if quad.object.is_literal() || quad.object.is_named_node() {
            terms.push(quad.object.clone());
        }
        for term in terms {
            let id = ours.term_id(term.as_ref()).expect("finds");
            assert!(id.is_some(), "{term} has no id");
            assert_eq!(id, theirs.term_id(term.as_ref()).expect("finds"), "{term}");
        }
    }
    if !quads.is_empty() {
        let (ours, theirs) = (
            ours.statistics().expect("reads"),
            theirs.statistics().expect("reads"),
        );
        assert_eq!(ours.default_graph.rows, theirs.default_graph.rows);
        assert_eq!(ours.named_graphs.rows, theirs.named_graphs.rows);
    }
}

#[test]
fn blank_nodes_are_the_same_up_to_their_names() {
    // Without identities: compared by canonical forms, an implementation of somebody else.
    for seed in 100..112 {
        let mut random = Random::new(seed);
        let setup = Setup::random(&mut random);
        let _shown = ShownOnPanic((seed, setup));
        let shape = Shape {
            statements: 60,
            universe: 25,
            blanks: true,
        };
        let document = Document::random(&mut random, 0, shape);
        let text: String = document
            .text
            .lines()
            .filter(|line| !line.contains("identity"))
            .fold(String::new(), |text, line| text + line + "\n");
        let document = Document::parse(0, text);
        let (_storage, store) = new_store();
        load_documents(&store, std::slice::from_ref(&document), setup).expect("loads");
        let snapshot = store.snapshot();
        let mut found = Dataset::new();
        for quad in snapshot.quads() {
            found.insert(&snapshot.quad(&quad.expect("reads")).expect("has terms"));
        }
        let mut expected: Dataset = document.quads.iter().collect();
        for dataset in [&mut found, &mut expected] {
            dataset.canonicalize(CanonicalizationAlgorithm::Unstable);
        }
        let lines = |dataset: &Dataset| -> BTreeSet<String> {
            dataset.iter().map(|quad| quad.to_string()).collect()
        };
        assert_eq!(lines(&found), lines(&expected));
        assert!(store.verify().is_sound());
    }
}

#[test]
fn rows_that_outgrow_their_memory_are_sorted_in_files() {
    // Few terms and many statements: terms and rows fit while they are gathered, but not while they are sorted.
    let mut random = Random::new(7);
    let [first, second] = [14_000, 9_000].map(|statements| {
        let mut text = String::new();
        for _ in 0..statements {
            let [s, p, o] = [random.below(300), random.below(5), random.below(60)];
            let graph = if random.one_in(6) { "<u:g>" } else { "" };
            writeln!(text, "<u:{s}> <u:p{p}> <u:{o}> {graph} .").unwrap();
        }
        [Document::parse(0, text)]
    });
    // In the last but one, base rows fill several files, from each of which all other orders are derived.
    for (threads, memory, spills, files) in [
        (1, 330 << 10, false, 7),
        (2, 64 << 10, true, 30),
        (4, 256 << 10, true, 7),
    ] {
        let setup = Setup {
            threads,
            memory: Some(memory),
            ..Setup::PLAIN
        };
        let _shown = ShownOnPanic(setup);
        let (storage, store) = new_store();
        let mut expected = Expected::default();
        let report = load_and_check(&store, &mut expected, &first, setup);
        assert_eq!(
            report.spilled_runs > 0,
            spills,
            "{} runs",
            report.spilled_runs
        );
        let chunks = created(&storage, "/chunk-");
        assert!(chunks >= files, "only {chunks} files of rows");
        // And where the store has many of the rows.
        let setup = Setup {
            memory: Some(memory / 2),
            ..setup
        };
        let report = load_and_check(&store, &mut expected, &second, setup);
        assert!(report.quads_present > 500);
        assert!(created(&storage, "/chunk-") > chunks);
        model(&store.snapshot());
    }
}

#[test]
fn a_label_means_one_node_in_all_pieces_of_a_file() {
    // Several slices, parsed by several threads; every label is in all of them.
    let long = "x".repeat(1200);
    let mut text = String::new();
    for number in 0..2500 {
        let label = number % 20;
        writeln!(text, "_:n{label} <u:p> \"{number}{long}\" _:g .").unwrap();
    }
    for label in ["g".to_owned()]
        .into_iter()
        .chain((0..20).map(|number| format!("n{number}")))
    {
        writeln!(text, "_:{label} <{IDENTITY}> \"d0-{label}\" .").unwrap();
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("labels.nq");
    std::fs::write(&path, &text).expect("writes");
    let document = Document::parse(0, text);
    let mut expected = Expected::default();
    let counts = expected.load(std::slice::from_ref(&document));
    for (threads, memory) in [(4, None), (2, Some(1 << 20))] {
        for from_file in [true, false] {
            let _shown = ShownOnPanic((threads, memory, from_file));
            let setup = Setup {
                threads,
                batch: 64,
                memory,
                ..Setup::PLAIN
            };
            let input = if from_file {
                InputFile::from_path(&path, None, 0).expect("a format")
            } else {
                document.reader()
            };
            let store = Store::in_memory();
            let report = load(&store, vec![input], &setup.options()).expect("loads");
            check_report(&report, &counts);
            assert_eq!(store.manifest().next_blank, 21);
            check_store(&store, &expected.quads);
            let pieces: u64 = report
                .threads
                .iter()
                .map(|thread| thread.pieces_parsed)
                .sum();
            assert!(pieces > 2, "{pieces} pieces");
        }
    }
}

#[test]
fn rows_of_more_than_64_bits_are_sorted() {
    // So many predicates that the four places of a quad take 17 bits each.
    let count = (1 << 16) + 1;
    let mut text = String::new();
    for number in 0..count {
        let object = number % 500;
        writeln!(text, "<u:s> <u:{number}> <u:{object}> <u:g> .").unwrap();
    }
    let input = InputFile::from_reader("text", Box::new(Cursor::new(text)), Format::NQuads, 0);
    let store = Store::in_memory();
    let report = load(&store, vec![input], &Setup::PLAIN.options()).expect("loads");
    assert_eq!((report.quads_new, report.terms), (count, count + 2));
    let verified = store.verify();
    assert!(verified.is_sound(), "{:#?}", verified.problems);
    let snapshot = store.snapshot();
    let id = |iri: String| {
        let node = NamedNode::new_unchecked(iri);
        snapshot
            .term_id(Term::from(node).as_ref())
            .expect("finds")
            .expect("is there")
    };
    let (subject, graph) = (id("u:s".to_owned()), id("u:g".to_owned()));
    let expected: BTreeSet<Quad> = (0..count)
        .map(|number| Quad {
            subject,
            predicate: id(format!("u:{number}")),
            object: id(format!("u:{}", number % 500)),
            graph,
        })
        .collect();
    assert!(model(&snapshot) == expected);
}

#[test]
fn the_graph_option_takes_what_names_no_graph() {
    let text = "<u:s> <u:p> <u:o> .\n<u:s> <u:p> <u:o> <u:h> .\n";
    let inputs = vec![InputFile::from_reader(
        "text",
        Box::new(text.as_bytes()),
        Format::NQuads,
        0,
    )];
    let store = Store::in_memory();
    let options = LoadOptions {
        graph: Some("http://example.org/g".to_owned()),
        ..Setup::PLAIN.options()
    };
    let report = load(&store, inputs, &options).expect("loads");
    assert_eq!((report.quads_new, report.quads_named), (2, 2));
    let snapshot = store.snapshot();
    let names = ["http://example.org/g", "u:h"].map(|iri| {
        let node = NamedNode::new_unchecked(iri);
        snapshot
            .term_id(Term::from(node).as_ref())
            .expect("finds")
            .expect("is there")
    });
    let graphs: BTreeSet<TermId> = snapshot
        .named_graphs()
        .expect("reads")
        .into_iter()
        .collect();
    assert_eq!(graphs, BTreeSet::from(names));
}

#[test]
fn a_load_of_nothing_changes_nothing() {
    for threads in [1, 2, 4] {
        for wait in WaitStrategy::ALL {
            let setup = Setup {
                threads,
                wait,
                memory: TINY,
                ..Setup::PLAIN
            };
            let _shown = ShownOnPanic(setup);
            let (_storage, store) = new_store();
            let report = load(&store, Vec::new(), &setup.options()).expect("loads");
            assert_eq!(
                (report.statements, report.quads_new, report.files),
                (0, 0, 0)
            );
            let empty = Document::parse(0, "# nothing\n\n".to_owned());
            load_and_check(&store, &mut Expected::default(), &[empty], setup);
        }
    }
}
