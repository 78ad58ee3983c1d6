//! How good the planner's choices are: for stars, chains, snowflakes and cycles of two to six patterns the patterns are
//! joined in every order, and the work of the plan that is chosen is compared with that of the best one. Work
//! ([`Explanation::work`](quadrille_sparql::Explanation::work)) is counted, not timed, so that the outcome does not depend on
//! the machine.
//!
//! The data are LUBM's, and a graph of a shop whose terms are as unevenly used as `WatDiv`'s ([`graph`]); the queries are
//! drawn from the data ([`shapes`]), so that they have answers. `QUADRILLE_CASES` (queries of each shape and size) and
//! `QUADRILLE_SEED` make the run longer and give it another start.
//!
//! An order that takes longer than [`ORDER_TIME_MAX`] is not the best one, whatever it would come to.

mod graph;
mod random;
mod shapes;

use quadrille_loader::input::{Format, InputFile};
use quadrille_loader::{LoadOptions, load};
use quadrille_lubm::{Destination, GenerateOptions, generate};
use quadrille_sparql::{Query, QueryError, QueryOptions};
use quadrille_store::{Snapshot, Store};
use random::Random;
use shapes::{Shape, Triples};
use std::collections::BTreeSet;
use std::io::Cursor;
use std::time::Duration;

/// The chosen plan may do so many times the work of the best.
const RATIO_MAX: f64 = 2.0;
/// Work that no plan is blamed for: some searches more or less.
const WORK_SLACK: u64 = 8 * 128;
/// What an order may take.
const ORDER_TIME_MAX: Duration = Duration::from_millis(500);
/// Queries of each shape and size.
const CASES: u64 = 1;

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|value| value.parse().ok())
        .unwrap_or(default)
}

/// A store with one segment, which has statistics.
fn loaded(text: Vec<u8>) -> Snapshot {
    let store = Store::in_memory();
    let input = InputFile::from_reader("text", Box::new(Cursor::new(text)), Format::NTriples, 0);
    load(&store, vec![input], &LoadOptions::default()).expect("it loads");
    store.snapshot()
}

fn options() -> QueryOptions {
    QueryOptions {
        threads: 1,
        ..QueryOptions::default()
    }
}

/// The work of a query under some options; `None` if it took too long.
fn work(query: &str, snapshot: &Snapshot, options: &QueryOptions) -> Option<u64> {
    match Query::parse(query, None).and_then(|query| query.analyze(snapshot, options)) {
        Ok(explanation) => Some(explanation.work()),
        Err(QueryError::Timeout { .. }) => None,
        Err(error) => panic!("{query}: {error}"),
    }
}

/// The next permutation in lexicographic order, if there is one.
fn next_permutation(order: &mut [usize]) -> bool {
    let Some(at) = order.windows(2).rposition(|pair| pair[0] < pair[1]) else {
        return false;
    };
    let larger = order.iter().rposition(|value| *value > order[at]);
    order.swap(at, larger.expect("the next one is larger"));
    order[at + 1..].reverse();
    true
}

/// What comes of joining a query's patterns in every order.
struct Outcome {
    chosen: u64,
    /// What is chosen when the planner looks as closely as if the query took long.
    thorough: u64,
    best: u64,
    best_order: Vec<usize>,
}

impl Outcome {
    fn of(shape: &Shape, snapshot: &Snapshot) -> Self {
        let text = shape.query();
        let query = Query::parse(&text, None).expect("a query");
        let chosen = work(&text, snapshot, &options()).expect("no limit");
        let mut closely = options();
        closely.planner.thorough = true;
        let thorough = work(&text, snapshot, &closely).expect("no limit");
        let mut outcome = Self {
            chosen,
            thorough,
            best: chosen.min(thorough),
            best_order: Vec::new(),
        };
        let mut plans = BTreeSet::new();
        let mut order: Vec<usize> = (0..shape.patterns.len()).collect();
        loop {
            if shape.is_connected(&order) {
                let mut options = QueryOptions {
                    timeout: Some(ORDER_TIME_MAX),
                    ..options()
                };
                options.planner.forced_order = Some(order.clone());
                let plan = query.explain(snapshot, &options).expect("a plan");
                if plans.insert(plan)
                    && let Some(work) = work(&text, snapshot, &options)
                    && work < outcome.best
                {
                    outcome.best = work;
                    outcome.best_order.clone_from(&order);
                }
            }
            if !next_permutation(&mut order) {
                return outcome;
            }
        }
    }

    /// How many times the best plan's work the chosen plans do, the ordinary one and the thorough one.
    fn ratios(&self) -> [f64; 2] {
        [self.chosen, self.thorough]
            .map(|work| work.saturating_sub(WORK_SLACK) as f64 / self.best as f64)
    }
}

/// Tries queries of all shapes and sizes, and fails if a chosen plan is far from the best.
fn compare(name: &str, text: Vec<u8>, fixed: &[Shape]) {
    let triples = Triples::parse(std::str::from_utf8(&text).expect("N-Triples"));
    let snapshot = loaded(text);
    let (cases, seed) = (
        variable("QUADRILLE_CASES", CASES),
        variable("QUADRILLE_SEED", 1),
    );
    let mut shapes: Vec<(String, Shape)> = fixed
        .iter()
        .map(|shape| ("fixed".to_owned(), shape.clone()))
        .collect();
    for (kind, draw) in shapes::KINDS {
        for patterns in 2..=6 {
            for case in 0..cases {
                let seed = seed * 1_000_003 + patterns as u64 * 1_009 + case;
                if let Some(shape) = draw(&triples, &mut Random(seed), patterns) {
                    shapes.push((format!("{kind} of {patterns}, seed {seed}"), shape));
                }
            }
        }
    }
    let (mut bad, mut sums, count) = (Vec::new(), [0.0; 2], shapes.len());
    for (title, shape) in shapes {
        let outcome = Outcome::of(&shape, &snapshot);
        for (sum, ratio) in sums.iter_mut().zip(outcome.ratios()) {
            *sum += ratio.max(1.0).ln();
        }
        if outcome.ratios().iter().any(|ratio| *ratio > RATIO_MAX) {
            let plan = Query::parse(&shape.query(), None)
                .and_then(|query| query.analyze(&snapshot, &options()))
                .expect("it was run before");
            bad.push(format!(
                "{title}: {}, thoroughly {}, for {} in order {:?}\n{}\n{plan}",
                outcome.chosen,
                outcome.thorough,
                outcome.best,
                outcome.best_order,
                shape.query()
            ));
        }
    }
    let means = sums.map(|sum| (sum / count as f64).exp());
    println!("{name}: {count} queries, geometric means of ratios {means:.3?}");
    assert!(
        bad.is_empty(),
        "{} of {count} plans over {name} are bad:\n{}",
        bad.len(),
        bad.join("\n")
    );
}

#[test]
fn chosen_plans_over_lubm_are_near_the_best() {
    let mut text = Vec::new();
    generate(&GenerateOptions::default(), Destination::Stream(&mut text)).expect("it is generated");
    compare("LUBM", text, &shapes::lubm_cycles());
}

#[test]
fn chosen_plans_over_skewed_data_are_near_the_best() {
    compare(
        "the shop",
        graph::shop(7).into_bytes(),
        &shapes::shop_cycles(),
    );
}

/// How far the expected rows of a query are from those that it has, as a factor.
fn error_of(query: &str, snapshot: &Snapshot, options: &QueryOptions) -> f64 {
    let explanation = Query::parse(query, None)
        .and_then(|query| query.analyze(snapshot, options))
        .unwrap_or_else(|error| panic!("{query}: {error}"));
    let found = explanation.actual.map_or(0, |actual| actual.rows).max(1) as f64;
    let expected = explanation.estimated_rows.max(1.0);
    (found / expected).max(expected / found)
}

#[test]
fn estimates_see_what_goes_together() {
    let snapshot = loaded(graph::shop(7).into_bytes());
    let mut closely = options();
    closely.planner.thorough = true;
    for (query, error_max) in [
        // Characteristic sets: who has an age has a gender; and one in five of these a country.
        ("?x <s:age> ?a . ?x <s:gender> ?g . ?x <s:country> ?c", 1.1),
        (
            "?x <s:director> ?d . ?x <s:actor> ?a . ?x <s:genre> ?g",
            1.3,
        ),
        // Nobody has both.
        ("?x <s:director> ?d . ?x <s:author> ?a", 1.1),
        // Samples: a kind has genres of its own, and directors; what is liked much is reviewed much.
        ("?x <s:type> <s:Kind4> . ?x <s:genre> <s:genre20>", 1.5),
        ("?x <s:type> <s:Kind0> . ?x <s:director> ?d", 1.5),
        ("?u <s:likes> ?p . ?r <s:about> ?p", 2.0),
        ("?u <s:follows> ?v . ?v <s:follows> ?w", 2.0),
    ] {
        let query = format!("SELECT * {{ {query} }}");
        let (usual, close) = (
            error_of(&query, &snapshot, &options()),
            error_of(&query, &snapshot, &closely),
        );
        println!("{query}: {usual:.2}, looking closely {close:.2}");
        assert!(close <= error_max, "{query}: {close}, else {usual}");
    }
}
