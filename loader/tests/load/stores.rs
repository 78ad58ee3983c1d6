//! Stores under test: options of loads, and what must hold after one.

use crate::documents::{Counts, Document, Expected, IDENTITY, Random, with_blanks};
use oxrdf::{NamedOrBlankNode, Term};
use quadrille_loader::input::InputFile;
use quadrille_loader::queue::WaitStrategy;
use quadrille_loader::{LoadError, LoadOptions, LoadReport, load};
use quadrille_store::io::faulty::{FaultyStorage, OperationKind};
use quadrille_store::{
    ColumnMask, Columns, GraphSelector, Mode, Order, Pattern, Position, Quad, Snapshot, Store,
    TermId,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

/// The options of a load that change how it works, but not what it does.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub threads: usize,
    pub inserters: Option<usize>,
    pub help: bool,
    pub wait: WaitStrategy,
    pub batch: usize,
    pub queue: usize,
    /// In bytes; `None` is the default.
    pub memory: Option<u64>,
}

/// So little that every batch becomes a run of its own.
pub const TINY: Option<u64> = Some(64 << 10);

impl Setup {
    /// One thread, everything in memory: the same operations each time.
    pub const PLAIN: Self = Self {
        threads: 1,
        inserters: None,
        help: true,
        wait: WaitStrategy::SpinPark,
        batch: 4096,
        queue: 16,
        memory: Some(64 << 20),
    };

    pub fn random(random: &mut Random) -> Self {
        let threads = random.choose(&[1, 2, 4]);
        Self {
            threads,
            inserters: random.choose(&[None, Some(0), Some(1), Some(3)]),
            help: random.one_in(2),
            wait: random.choose(&WaitStrategy::ALL),
            batch: random.choose(&[1, 7, 64, 4096]),
            queue: random.choose(&[1, 2, 16]),
            memory: random.choose(&[TINY, TINY, Some(200 << 10), Some(1 << 20), None]),
        }
    }

    pub fn options(self) -> LoadOptions {
        let mut options = LoadOptions {
            threads: self.threads,
            inserters: self.inserters,
            help: self.help,
            wait: self.wait,
            batch_statements: self.batch,
            queue_batches: self.queue,
            ..LoadOptions::default()
        };
        if let Some(memory) = self.memory {
            options.memory = memory;
        }
        options
    }
}

/// Prints what is needed to repeat a test if it fails.
pub struct ShownOnPanic<T: Debug>(pub T);

impl<T: Debug> Drop for ShownOnPanic<T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to repeat: {:?}", self.0);
        }
    }
}

/// A new store in a storage that records what is done.
pub fn new_store() -> (FaultyStorage, Store) {
    let storage = FaultyStorage::new();
    let store = open(&storage, Mode::Create);
    (storage, store)
}

pub fn open(storage: &FaultyStorage, mode: Mode) -> Store {
    Store::with_storage(Arc::new(storage.clone()), mode).expect("opens")
}

/// Loads documents.
pub fn load_documents(
    store: &Store,
    documents: &[Document],
    setup: Setup,
) -> Result<LoadReport, LoadError> {
    let inputs: Vec<InputFile> = documents.iter().map(Document::reader).collect();
    load(store, inputs, &setup.options())
}

/// Loads documents, and compares report and store with what is expected.
pub fn load_and_check(
    store: &Store,
    expected: &mut Expected,
    documents: &[Document],
    setup: Setup,
) -> LoadReport {
    let counts = expected.load(documents);
    let report = load_documents(store, documents, setup).expect("a load of valid documents");
    check_report(&report, &counts);
    assert_eq!(report.files, documents.len() as u64);
    let bytes: usize = documents.iter().map(|document| document.text.len()).sum();
    assert_eq!(report.input_bytes, bytes as u64);
    check_store(store, &expected.quads);
    report
}

pub fn check_report(report: &LoadReport, counts: &Counts) {
    let reported = Counts {
        statements: report.statements,
        quads_new: report.quads_new,
        quads_present: report.quads_present,
        duplicates: report.duplicates,
        quads_named: report.quads_named,
        terms: report.terms,
        terms_new: report.terms_new,
    };
    assert_eq!(reported, *counts);
    assert_eq!(report.rejected_statements, 0);
}

/// Compares what a store holds, and looks whether it is sound and tidy.
pub fn check_store(store: &Store, quads: &BTreeSet<String>) {
    let snapshot = store.snapshot();
    assert_same(&contents(&snapshot), quads);
    assert_eq!(snapshot.len().expect("a count"), quads.len() as u64);
    let report = store.verify();
    assert!(report.is_sound(), "{:#?}", report.problems);
    check_tidy(store);
}

/// Nothing but the store's own files is there. A manifest that could not be written to its end is replaced by the
/// next one, or removed when the store is opened.
pub fn check_tidy(store: &Store) {
    let manifest = store.manifest();
    let mut live = manifest.live_files();
    live.extend(["manifest", "lock", "manifest.new"]);
    for path in store.storage().list("").expect("lists") {
        assert!(live.contains(path.as_str()), "{path} is left over");
    }
}

pub fn assert_same(found: &BTreeSet<String>, expected: &BTreeSet<String>) {
    let missing: Vec<&String> = expected.difference(found).take(5).collect();
    let added: Vec<&String> = found.difference(expected).take(5).collect();
    assert!(
        missing.is_empty() && added.is_empty(),
        "missing {missing:#?}, too many {added:#?}"
    );
}

/// All quads as lines. Blank nodes are called by their identities, and by the load that they came with.
pub fn contents(snapshot: &Snapshot) -> BTreeSet<String> {
    let quads: Vec<Quad> = snapshot.quads().map(|quad| quad.expect("reads")).collect();
    let quads: Vec<oxrdf::Quad> = quads
        .iter()
        .map(|quad| snapshot.quad(quad).expect("has terms"))
        .collect();
    let mut identities: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
    for quad in quads
        .iter()
        .filter(|quad| quad.predicate.as_str() == IDENTITY)
    {
        if let (NamedOrBlankNode::BlankNode(node), Term::Literal(name)) =
            (&quad.subject, &quad.object)
        {
            let number = node.as_str()[1..]
                .parse()
                .expect("a blank node is called by its number");
            identities.entry(name.value()).or_default().insert(number);
        }
    }
    let mut labels = BTreeMap::new();
    for (name, numbers) in identities {
        // A later load gives higher numbers.
        for (load, number) in numbers.into_iter().enumerate() {
            let other = labels.insert(format!("b{number}"), format!("{name}.{load}"));
            assert_eq!(other, None, "two blank nodes became one");
        }
    }
    let label = |label: &str| {
        labels
            .get(label)
            .expect("a blank node with an identity")
            .clone()
    };
    let lines: Vec<String> = quads
        .iter()
        .map(|quad| with_blanks(quad, &label).to_string())
        .collect();
    let count = lines.len();
    let set: BTreeSet<String> = lines.into_iter().collect();
    assert_eq!(set.len(), count, "a quad comes twice");
    set
}

/// The quads as ids, from every order; all must agree.
pub fn model(snapshot: &Snapshot) -> BTreeSet<Quad> {
    let model: BTreeSet<Quad> = snapshot.quads().map(|quad| quad.expect("reads")).collect();
    for (orders, graph) in [
        (&Order::DEFAULT_GRAPH[..], GraphSelector::Default),
        (&Order::NAMED_GRAPHS[..], GraphSelector::AnyNamed),
    ] {
        let pattern = Pattern {
            subject: None,
            predicate: None,
            object: None,
            graph,
        };
        let mut expected: Vec<Quad> = model
            .iter()
            .copied()
            .filter(|quad| pattern.matches(quad))
            .collect();
        for order in orders.iter().copied() {
            expected.sort_by_key(|quad| order.row(quad));
            let mut scan = snapshot
                .scan(&pattern, order, ColumnMask::ALL)
                .expect("scans");
            let mut rows = Columns::default();
            while scan.fill(&mut rows, 1000).expect("reads") > 0 {}
            let found: Vec<Quad> = (0..rows.len())
                .map(|row| {
                    let row: Vec<TermId> = rows.columns.iter().map(|column| column[row]).collect();
                    order.quad(&row)
                })
                .collect();
            assert!(found == expected, "order {order:?}");
        }
    }
    model
}

/// Counts patterns of all shapes.
pub fn check_counts(
    snapshot: &Snapshot,
    model: &BTreeSet<Quad>,
    random: &mut Random,
    rounds: usize,
) {
    let quads: Vec<Quad> = model.iter().copied().collect();
    for _ in 0..rounds {
        // Terms of one quad mostly, so that there are matches.
        let quad = quads[random.below(quads.len())];
        let other = quads[random.below(quads.len())];
        for shape in 0..8 {
            let term = |position, bit: usize, random: &mut Random| {
                let from = if random.one_in(5) { &other } else { &quad };
                (shape & bit != 0).then(|| from.get(position))
            };
            let (subject, predicate, object) = (
                term(Position::Subject, 1, random),
                term(Position::Predicate, 2, random),
                term(Position::Object, 4, random),
            );
            let named = [quad.graph, other.graph]
                .into_iter()
                .find(|graph| !graph.is_unbound());
            let graphs = [GraphSelector::Default, GraphSelector::AnyNamed];
            for graph in graphs.into_iter().chain(named.map(GraphSelector::Named)) {
                let pattern = Pattern {
                    subject,
                    predicate,
                    object,
                    graph,
                };
                let matching = model.iter().filter(|quad| pattern.matches(quad)).count();
                assert_eq!(
                    snapshot.count(&pattern).expect("counts"),
                    matching as u64,
                    "{pattern:?}"
                );
            }
        }
    }
}

/// How many files were created whose names have this in them.
pub fn created(storage: &FaultyStorage, what: &str) -> usize {
    let operations = storage.operations();
    let creations = operations
        .iter()
        .filter(|operation| operation.kind == OperationKind::Create);
    creations
        .filter(|operation| operation.path.contains(what))
        .count()
}
