//! Random queries over random small datasets, answered by this engine and by `spareval` over an `oxrdf::Dataset`, and
//! compared as multisets: with every way of joining, with batches of one row and of 1024, in every forced order of the
//! patterns, in one layer and in several.
//!
//! The number of cases is bounded so that the test takes seconds; `QUADRILLE_CASES` and `QUADRILLE_SEED` make it longer and
//! give it another start. A failure prints the case's seed.

mod common;

use common::queries::{GRAPHS, PROLOGUE, VARIABLES, condition, group, random_store};
use common::{Random, dataset, oracle_rows, rows};
use quadrille_sparql::{PlannerOptions, QueryOptions};
use std::fmt::Write;

/// The `WHERE` part, and how many patterns it has.
fn body(random: &mut Random) -> (String, usize) {
    let patterns = 1 + random.below(4);
    let mut text = group(random, patterns);
    let mut count = patterns;
    for _ in 0..random.below(3) {
        let condition = condition(random, 2);
        write!(text, "FILTER({condition}) ").unwrap();
    }
    let block = |random: &mut Random, text: &mut String, count: &mut usize| {
        let patterns = 1 + random.below(2);
        let name = match random.below(5) {
            0 | 1 => *random.pick(&GRAPHS),
            2 => "?x",
            _ => "?g",
        };
        let inner = group(random, patterns)
            .replace("_:n", "_:k")
            .replace("_:m", "_:l");
        // The oracle binds the graph's variable inside of its block; see `a_graph_variable_is_bound_after_its_block`.
        let filter = if name != "?x" && random.one_in(3) {
            format!("FILTER({})", condition(random, 1))
        } else {
            String::new()
        };
        write!(text, "GRAPH {name} {{ {inner} {filter} }} ").unwrap();
        *count += patterns;
    };
    match random.below(6) {
        0 => block(random, &mut text, &mut count),
        1 => {
            text.clear();
            count = 0;
            block(random, &mut text, &mut count);
        }
        2 => {
            let patterns = 1 + random.below(2);
            let inner = group(random, patterns)
                .replace("_:n", "_:k")
                .replace("_:m", "_:l");
            let condition = condition(random, 1);
            write!(text, "{{ {inner} FILTER({condition}) }} ").unwrap();
            count += patterns;
        }
        _ => {}
    }
    (text, count)
}

fn options(batch_rows: usize, threads: usize, planner: PlannerOptions) -> QueryOptions {
    QueryOptions {
        batch_rows,
        threads,
        planner,
        ..QueryOptions::default()
    }
}

/// Ways of running that must not change an answer.
fn configurations(random: &mut Random, patterns: usize) -> Vec<QueryOptions> {
    let only = |merge_joins, lookup_joins, hash_joins, leapfrog_joins| PlannerOptions {
        merge_joins,
        lookup_joins,
        hash_joins,
        leapfrog_joins,
        parallel_rows: 1,
        thorough: true,
        ..PlannerOptions::default()
    };
    let mut configurations = vec![
        options(1024, 2, PlannerOptions::default()),
        options(1, 1, PlannerOptions::default()),
        options(3, 2, only(true, false, false, false)),
        options(2, 3, only(false, true, false, false)),
        options(2, 2, only(false, false, true, false)),
        options(3, 2, only(false, false, false, true)),
        options(3, 1, only(true, true, true, true)),
    ];
    for _ in 0..3 {
        let mut order: Vec<usize> = (0..patterns).collect();
        for index in (1..order.len()).rev() {
            order.swap(index, random.below(index + 1));
        }
        let (merge_joins, lookup_joins) = (random.one_in(2), random.one_in(2));
        configurations.push(options(
            1 + random.below(4),
            1 + random.below(3),
            PlannerOptions {
                merge_joins,
                lookup_joins,
                hash_joins: true,
                parallel_rows: 1,
                forced_order: Some(order),
                ..PlannerOptions::default()
            },
        ));
    }
    configurations
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

#[test]
fn random_queries_agree_with_the_oracle() {
    let first = number("QUADRILLE_SEED", 1);
    for seed in first..first + number("QUADRILLE_CASES", 40) {
        let mut random = Random(seed);
        let store = random_store(&mut random);
        let snapshot = store.snapshot();
        let dataset = dataset(&snapshot);
        assert_eq!(
            dataset.len() as u64,
            snapshot.len().expect("a count"),
            "seed {seed}"
        );
        for _ in 0..10 {
            let (body, patterns) = body(&mut random);
            let selected = match random.below(4) {
                0 => "*".to_owned(),
                1 => "?v ?x ?missing".to_owned(),
                _ => {
                    let from = random.below(VARIABLES.len());
                    VARIABLES[from..].join(" ")
                }
            };
            let distinct = if random.one_in(2) { "DISTINCT " } else { "" };
            let whole = format!("{PROLOGUE}SELECT {distinct}{selected} WHERE {{ {body} }}");
            let expected = oracle_rows(&dataset, &whole);
            let ask = format!("{PROLOGUE}ASK {{ {body} }}");
            let limit = random.below(6);
            let offset = random.below(4);
            let slice = format!("{whole} OFFSET {offset} LIMIT {limit}");
            for options in configurations(&mut random, patterns) {
                let context = || format!("seed {seed}, {options:?}");
                assert_eq!(
                    rows(&snapshot, &whole, &options),
                    expected,
                    "{whole}\n{}",
                    context()
                );
                let answer = (!expected.is_empty()).to_string();
                assert_eq!(
                    rows(&snapshot, &ask, &options),
                    [answer],
                    "{ask}\n{}",
                    context()
                );
                let some = rows(&snapshot, &slice, &options);
                assert_eq!(
                    some.len(),
                    limit.min(expected.len().saturating_sub(offset)),
                    "{slice}\n{}",
                    context()
                );
                let mut rest = expected.clone();
                for row in some {
                    let at = rest.iter().position(|known| *known == row);
                    rest.remove(at.unwrap_or_else(|| {
                        panic!("{row} is not in the whole of {slice}\n{}", context())
                    }));
                }
            }
        }
    }
}
