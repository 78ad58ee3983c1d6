//! EXISTS over UNION, subqueries, groups with aggregates and paths that may have no step: random queries against `spareval`,
//! and the plans that are chosen, which must not plan the pattern again for each row.

mod common;

use common::queries::random_store;
use common::{Random, check_random_queries, store};
use quadrille_sparql::{Query, QueryOptions};
use std::fmt::Write;

const PREDICATES: [&str; 4] = ["<e:p>", "<e:q>", "<e:r>", "<e:s>"];

fn pattern(random: &mut Random, variables: &[&str]) -> String {
    let subject = *random.pick(variables);
    let predicate = *random.pick(&PREDICATES);
    let object = if random.one_in(4) {
        "<e:a>"
    } else {
        random.pick(variables)
    };
    format!("{subject} {predicate} {object}")
}

/// One or two patterns, with a condition at times.
fn branch(random: &mut Random, variables: &[&str]) -> String {
    let mut text = pattern(random, variables);
    if random.one_in(3) {
        write!(text, " . {}", pattern(random, variables)).expect("memory");
    }
    if random.one_in(3) {
        let (left, right) = (*random.pick(variables), *random.pick(variables));
        write!(text, " FILTER({left} != {right})").expect("memory");
    }
    text
}

fn inner(random: &mut Random) -> String {
    let variables = ["?x", "?y", "?v", "?w"];
    match random.below(8) {
        0..=2 => {
            let branches: Vec<String> = (0..2 + random.below(2))
                .map(|_| format!("{{ {} }}", branch(random, &variables)))
                .collect();
            let condition = if random.one_in(4) {
                " FILTER(?v != ?y)"
            } else {
                ""
            };
            format!("{}{condition}", branches.join(" UNION "))
        }
        3 => format!(
            "SELECT {}?x {{ {} }}",
            random.pick(&["", "DISTINCT "]),
            branch(random, &variables)
        ),
        4 => format!(
            "SELECT ?x ?v {{ {{ {} }} UNION {{ {} }} }} ORDER BY ?v",
            branch(random, &variables),
            branch(random, &variables)
        ),
        5 => format!(
            "SELECT ?x (COUNT(*) AS ?n) {{ {} }} GROUP BY ?x HAVING(COUNT(*) > {})",
            branch(random, &["?x", "?v", "?w"]),
            random.below(3)
        ),
        6 => format!(
            "SELECT ?x ?y {{ {} }} GROUP BY ?x ?y HAVING(COUNT(DISTINCT ?v) > 1)",
            branch(random, &variables)
        ),
        _ => {
            let path = *random.pick(&["<e:p>*", "<e:q>?", "(<e:p>|<e:q>)*", "(<e:p>/<e:r>)*"]);
            let (start, end) = (*random.pick(&variables), *random.pick(&variables));
            format!("{start} {path} {end} . {}", pattern(random, &variables))
        }
    }
}

fn query(random: &mut Random) -> String {
    let rows = *random.pick(&[
        "?x ?r ?y",
        "?x <e:p> ?y",
        "?x <e:p> ?y . ?y ?r ?z",
        "?x <e:q> ?z OPTIONAL { ?z <e:p> ?y }",
        "{ ?x <e:p> ?y } UNION { ?x <e:q> ?y }",
    ]);
    let mut text = format!("SELECT * {{ {rows} ");
    for _ in 0..=random.below(2) {
        let not = *random.pick(&["", "NOT "]);
        let inner = inner(random);
        // One that is part of a larger condition is planned for each row.
        if random.one_in(8) {
            write!(text, "FILTER(?x = ?y || {not}EXISTS {{ {inner} }}) ").expect("memory");
        } else {
            write!(text, "FILTER {not}EXISTS {{ {inner} }} ").expect("memory");
        }
    }
    text + "}"
}

#[test]
fn groups_in_exists_come_out_as_the_oracle_says() {
    check_random_queries(|random| (random_store(random).snapshot(), query(random)));
}

#[test]
fn groups_in_exists_are_not_planned_for_each_row() {
    let mut text = String::new();
    for number in 0..3_000 {
        writeln!(text, "<e:n{number}> <e:p> <e:n{}> .", number + 1).expect("memory");
        writeln!(text, "<e:n{number}> <e:q> \"{}\" .", number % 7).expect("memory");
        if number % 3 == 0 {
            writeln!(text, "<e:n{number}> <e:r> <e:x> .").expect("memory");
        }
    }
    let snapshot = store(&text).snapshot();
    let plan = |inner: &str| {
        let query = format!("SELECT * {{ ?x <e:p> ?y FILTER {inner} }}");
        Query::parse(&query, None)
            .and_then(|query| query.explain(&snapshot, &QueryOptions::default()))
            .unwrap_or_else(|error| panic!("{query}: {error}"))
    };
    for (inner, join) in [
        (
            "EXISTS { { ?x <e:r> ?z } UNION { ?y <e:r> ?z } }",
            "SemiBindJoin",
        ),
        (
            "NOT EXISTS { { ?x <e:r> ?z } UNION { ?y <e:r> ?z } }",
            "Anti",
        ),
        ("EXISTS { SELECT ?x { ?x <e:r> ?z } }", "Semi"),
        (
            "NOT EXISTS { SELECT DISTINCT ?x { ?x <e:q> ?z } ORDER BY ?x }",
            "Anti",
        ),
        (
            "EXISTS { SELECT ?x { ?x <e:q> ?z } GROUP BY ?x HAVING(COUNT(*) > 1) }",
            "SemiMergeJoin",
        ),
        ("EXISTS { ?x <e:p>* ?z . ?z <e:r> <e:x> }", "Semi"),
    ] {
        let plan = plan(inner);
        assert!(
            plan.contains(join) && !plan.contains("Exists "),
            "{inner}\n{plan}"
        );
    }
    for inner in [
        "EXISTS { ?x <e:q> ?z OPTIONAL { ?x <e:r> ?y } }",
        "EXISTS { SELECT ?x { ?x <e:r> ?z } LIMIT 5 }",
        "EXISTS { { ?x <e:r> ?z } UNION { <e:n1> <e:r> ?z } }",
        "(?x = ?y || EXISTS { { ?x <e:r> ?z } UNION { ?y <e:r> ?z } })",
    ] {
        let plan = plan(inner);
        assert!(plan.contains("Exists "), "{inner}\n{plan}");
    }
}
