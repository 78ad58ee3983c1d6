//! Plans, as EXPLAIN prints them, of queries whose best plan is known.

mod common;

use common::store;
use quadrille_sparql::{PlannerOptions, Query, QueryOptions};
use quadrille_store::Store;
use std::fmt::Write;

/// 5,000 people who each have a name and a town; 10 of them are mayors.
fn people() -> Store {
    let mut text = String::new();
    for person in 0..5_000 {
        writeln!(text, "<e:{person}> <e:name> \"{person}\" .").unwrap();
        writeln!(text, "<e:{person}> <e:town> <e:town{}> .", person % 50).unwrap();
        if person % 500 == 0 {
            writeln!(text, "<e:{person}> <e:is> <e:mayor> .").unwrap();
        }
    }
    store(&text)
}

fn explain(query: &str, planner: PlannerOptions) -> String {
    let options = QueryOptions {
        planner,
        ..QueryOptions::default()
    };
    Query::parse(query, None)
        .and_then(|query| query.explain(&people().snapshot(), &options))
        .unwrap_or_else(|error| panic!("{query}: {error}"))
}

#[test]
fn inputs_of_one_size_that_are_sorted_alike_are_merged() {
    assert_eq!(
        explain(
            "SELECT ?n { ?x <e:name> ?n . ?x <e:town> ?t }",
            PlannerOptions::default()
        ),
        "MergeJoin on ?x  ~5000 rows, sorted by ?x ?t
  Scan pso { ?x <e:town> ?t }  ~5000 rows, sorted by ?x ?t
  Scan pso { ?x <e:name> ?n }  ~5000 rows, sorted by ?x ?n
"
    );
}

#[test]
fn few_rows_look_many_up() {
    assert_eq!(
        explain(
            "SELECT ?n { ?x <e:name> ?n . ?x <e:is> <e:mayor> }",
            PlannerOptions::default()
        ),
        "LookupJoin pso on ?x (sorted) { ?x <e:name> ?n }  ~10 rows, sorted by ?x
  Scan pos { ?x <e:is> <e:mayor> }  ~10 rows, sorted by ?x
"
    );
}

#[test]
fn conditions_go_down_to_where_their_variables_are_bound() {
    assert_eq!(
        explain(
            "SELECT ?n { ?x <e:name> ?n . ?x <e:town> ?t FILTER(?t = <e:town1> && ?n > \"1\") } LIMIT 3",
            PlannerOptions {
                forced_order: Some(vec![0, 1]),
                ..PlannerOptions::default()
            }
        ),
        "Slice offset 0 limit 3  ~3 rows, sorted by ?x ?n
  MergeJoin on ?x  ~5000 rows, sorted by ?x ?n
    Filter (?n > \"1\")  ~5000 rows, sorted by ?x ?n
      Scan pso { ?x <e:name> ?n }  ~5000 rows, sorted by ?x ?n
    Filter sameTerm(?t, <e:town1>)  ~5000 rows, sorted by ?x ?t
      Scan pso { ?x <e:town> ?t }  ~5000 rows, sorted by ?x ?t
"
    );
}

#[test]
fn sorted_rows_are_made_distinct_without_a_table() {
    assert_eq!(
        explain(
            "SELECT DISTINCT ?t { ?x <e:town> ?t }",
            PlannerOptions {
                index_counts: false,
                ..PlannerOptions::default()
            }
        ),
        "Distinct (of equal neighbours)  ~5000 rows, sorted by ?t ?x
  Scan pos { ?x <e:town> ?t }  ~5000 rows, sorted by ?t ?x
"
    );
}

#[test]
fn distinct_terms_come_from_the_index() {
    assert_eq!(
        explain(
            "SELECT DISTINCT ?t { ?x <e:town> ?t }",
            PlannerOptions::default()
        ),
        "KeyCounts by ?t in pos  ~50 rows, sorted by ?t\n"
    );
}

#[test]
fn rows_of_all_variables_are_distinct_already() {
    assert_eq!(
        explain(
            "SELECT DISTINCT * { ?x <e:is> ?m }",
            PlannerOptions::default()
        ),
        "Scan pso { ?x <e:is> ?m }  ~10 rows, sorted by ?x ?m\n"
    );
}

#[test]
fn what_cannot_be_is_not_looked_for() {
    assert_eq!(
        explain(
            "SELECT * { ?x <e:name> ?n . ?x <e:none> ?y }",
            PlannerOptions::default()
        ),
        "Empty: <e:none> is not in the store  ~0 rows\n"
    );
}

#[test]
fn an_optional_is_looked_up_for_few_rows() {
    assert_eq!(
        explain(
            "SELECT ?n { ?x <e:is> <e:mayor> OPTIONAL { ?x <e:name> ?n } }",
            PlannerOptions::default()
        ),
        "Project ?n  ~10 rows
  LeftBindJoin on ?x  ~10 rows
    Scan pos { ?x <e:is> <e:mayor> }  ~10 rows, sorted by ?x
    LookupJoin pso on ?x { ?x <e:name> ?n }  ~10 rows
      Feed  ~10 rows
"
    );
}

#[test]
fn exists_of_a_plain_pattern_is_a_join() {
    assert_eq!(
        explain(
            "SELECT ?t { ?x <e:town> ?t FILTER NOT EXISTS { ?x <e:is> <e:mayor> } }",
            PlannerOptions::default()
        ),
        "Project ?t  ~5000 rows
  AntiMergeJoin on ?x  ~5000 rows, sorted by ?x ?t
    Scan pso { ?x <e:town> ?t }  ~5000 rows, sorted by ?x ?t
    Scan pos { ?x <e:is> <e:mayor> }  ~10 rows, sorted by ?x
"
    );
}

#[test]
fn rows_of_values_look_patterns_up() {
    assert_eq!(
        explain(
            "SELECT ?n { VALUES ?x { <e:1> <e:2> } ?x <e:name> ?n }",
            PlannerOptions::default()
        ),
        "Project ?n  ~2 rows
  BindJoin on ?x  ~2 rows
    Values ?x  ~2 rows
    LookupJoin pso on ?x { ?x <e:name> ?n }  ~2 rows
      Feed  ~2 rows
"
    );
}

#[test]
fn conditions_go_below_an_optional_and_a_limit_into_a_sort() {
    assert_eq!(
        explain(
            "SELECT ?n { ?x <e:name> ?n OPTIONAL { ?x <e:town> ?t } FILTER(?n > \"4\") } ORDER BY DESC(?t) LIMIT 3",
            PlannerOptions {
                lookup_joins: false,
                ..PlannerOptions::default()
            }
        ),
        "Slice offset 0 limit 3  ~3 rows
  Project ?n  ~3 rows
    Sort by DESC(?t), first 3  ~3 rows
      LeftHashJoin on ?x  ~5000 rows
        Filter (?n > \"4\")  ~1665 rows, sorted by ?n ?x
          Scan pos in ranges { ?x <e:name> ?n }  ~1665 rows, sorted by ?n ?x
        Scan pso { ?x <e:town> ?t }  ~5000 rows, sorted by ?x ?t
"
    );
}

#[test]
fn large_scans_are_divided_among_threads_unless_few_rows_are_wanted() {
    let plan = |query: &str| {
        let options = QueryOptions {
            threads: 2,
            planner: PlannerOptions {
                parallel_rows: 1_000,
                ..PlannerOptions::default()
            },
            ..QueryOptions::default()
        };
        let plan = Query::parse(query, None)
            .and_then(|query| query.explain(&people().snapshot(), &options))
            .unwrap_or_else(|error| panic!("{query}: {error}"));
        let steps = plan.lines().map(|line| line.split_whitespace().next());
        steps.flatten().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        plan("SELECT ?n { ?x <e:name> ?n . ?x <e:town> ?t }"),
        "Gather MergeJoin DividedScan Scan"
    );
    assert_eq!(plan("SELECT ?m { ?x <e:is> ?m }"), "Scan");
    assert_eq!(plan("SELECT ?n { ?x <e:name> ?n } LIMIT 9"), "Slice Scan");
    assert_eq!(
        plan("ASK { ?x <e:name> ?n FILTER(?n > \"7\") }"),
        "Filter Scan"
    );
    // The first row of a sort needs all of them.
    assert_eq!(
        plan("SELECT ?n { ?x <e:name> ?n } ORDER BY ?n LIMIT 9"),
        "Slice Sort Gather DividedScan"
    );
}
