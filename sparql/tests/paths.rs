//! Property paths: their corners by the specification's sections, and random ones against `spareval`.

mod common;

#[path = "path_definitions/mod.rs"]
mod path_definitions;

use common::queries::PROLOGUE;
use common::{Random, add, dataset, oracle_rows, rows, store, try_rows};
use quadrille_sparql::{CancellationToken, PlannerOptions, Query, QueryError, QueryOptions};
use quadrille_store::Snapshot;
use std::fmt::Write;
use std::time::{Duration, Instant};

fn batches(batch_rows: usize) -> QueryOptions {
    QueryOptions {
        batch_rows,
        ..QueryOptions::default()
    }
}

/// The answer of a query whose IRIs begin with `http://example.com/`, short: `a | b`.
fn short(snapshot: &Snapshot, query: &str) -> Vec<String> {
    let query = format!("PREFIX : <http://example.com/> {query}");
    let answers: Vec<Vec<String>> = [1, 1024]
        .map(|batch_rows| rows(snapshot, &query, &batches(batch_rows)))
        .into();
    assert_eq!(answers[0], answers[1], "{query}");
    let short = |line: &String| line.replace("<http://example.com/", "").replace('>', "");
    answers[0].iter().map(short).collect()
}

/// Quads of names in `http://example.com/`; the fourth is a graph.
fn quads(lines: &str) -> String {
    let mut text = String::new();
    for line in lines.lines() {
        let mut terms = line.split_whitespace().peekable();
        if terms.peek().is_none() {
            continue;
        }
        for term in terms {
            write!(text, "<http://example.com/{term}> ").unwrap();
        }
        text.push_str(".\n");
    }
    text
}

const CYCLE: &str = "a p b\nb p c\nc p a\nc q d\nd p e\nx q y g\ny p z g\nz p x g\nv p w h";

#[test]
fn repetition_gives_each_pair_once() {
    let store = store(&quads(CYCLE));
    let snapshot = store.snapshot();
    let cases: [(&str, &[&str]); 12] = [
        ("SELECT ?y { :a :p+ ?y }", &["a", "b", "c"]),
        ("SELECT ?y { :a :p* ?y }", &["a", "b", "c"]),
        ("SELECT ?y { :a :p? ?y }", &["a", "b"]),
        ("SELECT ?y { :a (:p|:q)+ ?y }", &["a", "b", "c", "d", "e"]),
        ("SELECT ?x { ?x :p+ :e }", &["d"]),
        ("SELECT ?x { ?x (:p|:q)+ :e }", &["a", "b", "c", "d"]),
        ("SELECT ?x { ?x :p+ ?x }", &["a", "b", "c"]),
        ("SELECT ?y { :a (:p/:p)+ ?y }", &["a", "b", "c"]),
        ("SELECT ?y { :b (^:p)+ ?y }", &["a", "b", "c"]),
        ("SELECT ?y { :c !(:p)+ ?y }", &["d"]),
        ("SELECT ?y { :a (:p*/:q)+ ?y }", &["d"]),
        ("SELECT ?x ?y { ?x (:q/:p)+ ?y }", &["c | e"]),
    ];
    for (query, expected) in cases {
        assert_eq!(short(&snapshot, query), expected, "{query}");
    }
    for (query, expected) in [
        ("ASK { :a :p+ :a }", "true"),
        ("ASK { :a :p+ :d }", "false"),
        ("ASK { :a (:p|:q)+ :e }", "true"),
        ("ASK { :e (:p|:q)+ :a }", "false"),
    ] {
        assert_eq!(short(&snapshot, query), [expected], "{query}");
    }
}

/// SPARQL 1.1, section 18.4: `ZeroOrOnePath` and `ZeroOrMorePath`.
#[test]
fn no_step_connects_nodes_and_constants_with_themselves() {
    let store = store(&quads(CYCLE));
    let snapshot = store.snapshot();
    let cases: [(&str, &[&str]); 15] = [
        ("SELECT ?y { :none :p* ?y }", &["none"]),
        ("SELECT ?x { ?x :p? :none }", &["none"]),
        ("SELECT ?y { :p :none* ?y }", &["p"]),
        (
            "SELECT ?x ?y { ?x :none* ?y }",
            &["a | a", "b | b", "c | c", "d | d", "e | e"],
        ),
        ("SELECT ?x { ?x :none* ?x }", &["a", "b", "c", "d", "e"]),
        // The nodes of the default graph are not those of others, and predicates are no nodes.
        (
            "SELECT ?x { VALUES ?x { :a :p :x :none } ?x :p* ?x }",
            &["a"],
        ),
        (
            "SELECT ?y { VALUES ?x { :e :p :x :none } ?x :p* ?y }",
            &["e"],
        ),
        (
            "SELECT ?x { VALUES ?x { :e :none } ?x :p* :none }",
            &["none"],
        ),
        ("SELECT ?y { GRAPH :g { :a :p* ?y } }", &["a"]),
        ("SELECT ?y { GRAPH :none { :a :p* ?y } }", &[]),
        // In a sequence a variable stands between the parts, which is a node.
        ("SELECT ?y { :none (:p*/:q*)+ ?y }", &[]),
        ("SELECT ?y { :e (:p*/:q*)+ ?y }", &["e"]),
        ("SELECT ?y { :none (:p*|:q)+ ?y }", &["none"]),
        (
            "SELECT ?g ?y { GRAPH ?g { :x :p* ?y } }",
            &["g | x", "h | x"],
        ),
        (
            "SELECT ?g ?y { GRAPH ?g { :y :p+ ?y } }",
            &["g | x", "g | z"],
        ),
    ];
    for (query, expected) in cases {
        assert_eq!(short(&snapshot, query), expected, "{query}");
    }
    assert_eq!(short(&snapshot, "ASK { :none :p* :none }"), ["true"]);
    assert_eq!(short(&snapshot, "ASK { \"a\" :p? \"a\" }"), ["true"]);
    assert_eq!(short(&snapshot, "ASK { :none :p+ :none }"), ["false"]);
    // The term of a row stands in the pattern of an EXISTS (section 18.6), where it is a constant.
    let query = "SELECT ?x { VALUES ?x { :a :none } FILTER EXISTS { ?x :none* ?x } }";
    assert_eq!(short(&snapshot, query), ["a", "none"]);
}

#[test]
fn paths_are_joined_with_other_patterns() {
    let store = store(&quads(CYCLE));
    let snapshot = store.snapshot();
    let cases: [(&str, &[&str]); 8] = [
        ("SELECT ?x ?z { ?x :q ?y . ?y :p+ ?z }", &["c | e"]),
        (
            "SELECT ?x ?z { ?x :p* ?y . ?y :q ?z }",
            &["a | d", "b | d", "c | d"],
        ),
        (
            "SELECT ?x ?z { ?x :q ?y . ?z :p* ?y . ?x :p :a }",
            &["c | d"],
        ),
        // A path that connects patterns which nothing else does.
        (
            "SELECT ?a ?d { ?a :p :c . ?a (:p|:q)+ ?b . ?b :p ?d }",
            &["b | a", "b | b", "b | c", "b | e"],
        ),
        (
            "SELECT ?x ?y { ?x :q ?d OPTIONAL { ?d :p+ ?y } }",
            &["c | e"],
        ),
        (
            "SELECT ?x ?y { ?x :p :a OPTIONAL { ?x :none+ ?y } }",
            &["c | UNBOUND"],
        ),
        ("SELECT ?x { ?x :p ?y MINUS { ?x :p+ :a } }", &["d"]),
        (
            "SELECT ?x { ?x :p ?y FILTER NOT EXISTS { ?x :p+ :a } }",
            &["d"],
        ),
    ];
    for (query, expected) in cases {
        assert_eq!(short(&snapshot, query), expected, "{query}");
    }
}

/// Nodes `n0` and so on, each of which is connected with those that `next` says.
fn graph(nodes: usize, next: impl Fn(usize) -> std::ops::Range<usize>) -> String {
    let mut text = String::new();
    for node in 0..nodes {
        for to in next(node) {
            let to = to % nodes;
            writeln!(
                text,
                "<http://example.com/n{node}> <http://example.com/p> <http://example.com/n{to}> ."
            )
            .unwrap();
        }
    }
    text
}

fn count(snapshot: &Snapshot, pattern: &str, options: &QueryOptions) -> (String, Duration) {
    let query = format!("PREFIX : <http://example.com/> SELECT (COUNT(*) AS ?c) {{ {pattern} }}");
    let start = Instant::now();
    let rows = rows(snapshot, &query, options);
    let number = rows[0].split('"').nth(1).unwrap_or_default().to_owned();
    (number, start.elapsed())
}

#[test]
fn long_chains_are_searched_without_recursion() {
    let chain = store(&graph(100_000, |node| node + 1..(node + 2).min(100_000)));
    let snapshot = chain.snapshot();
    for (pattern, expected) in [
        (":n0 :p+ ?y", "99999"),
        ("?x :p* :n99999", "100000"),
        ("?x :p+ ?x", "0"),
    ] {
        let (found, time) = count(&snapshot, pattern, &batches(1024));
        assert_eq!(found, expected, "{pattern}");
        assert!(time < Duration::from_secs(20), "{pattern}: {time:?}");
    }
    let query = "PREFIX : <http://example.com/> SELECT * { ?x :p+ ?y } LIMIT 10";
    let start = Instant::now();
    assert_eq!(rows(&snapshot, query, &batches(1024)).len(), 10);
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(short(&snapshot, "ASK { :n0 :p+ :n99999 }"), ["true"]);
    assert_eq!(short(&snapshot, "ASK { :n99999 :p+ :n0 }"), ["false"]);
}

#[test]
fn cycles_and_complete_graphs_are_searched_once() {
    let cycle = store(&graph(10, |node| node + 1..node + 2));
    let snapshot = cycle.snapshot();
    // Ten is no multiple of four, so that four steps at a time lead to every second node.
    for (pattern, expected) in [
        (":n0 (:p/:p/:p/:p)+ ?y", "5"),
        ("?x (:p/:p/:p/:p)+ ?y", "50"),
        ("?x (:p/:p/:p)+ ?y", "100"),
        ("?x (:p/:p/:p/:p)+ ?x", "10"),
        ("?x (:p{0})* ?y", "100"),
    ] {
        let pattern = pattern.replace(":p{0}", ":p/^:p/:p");
        let (found, _) = count(&snapshot, &pattern, &batches(1024));
        assert_eq!(found, expected, "{pattern}");
    }
    let complete = store(&graph(1_000, |node| node + 1..node + 1_000));
    let snapshot = complete.snapshot();
    for (pattern, expected) in [
        (":n0 :p+ ?y", "1000"),
        ("?x :p+ ?y", "1000000"),
        ("?x (:p/:p)+ ?x", "1000"),
    ] {
        let (found, time) = count(&snapshot, pattern, &batches(1024));
        assert_eq!(found, expected, "{pattern}");
        assert!(time < Duration::from_secs(60), "{pattern}: {time:?}");
    }
}

#[test]
fn searches_keep_to_the_memory_limit_and_can_be_cancelled() {
    let chain = store(&graph(100_000, |node| node + 1..(node + 2).min(100_000)));
    let snapshot = chain.snapshot();
    let query = "PREFIX : <http://example.com/> SELECT * { :n0 :p+ ?y }";
    let small = QueryOptions {
        memory: Some(100_000),
        ..QueryOptions::default()
    };
    let error = try_rows(&snapshot, query, &small).expect_err("too many nodes");
    assert!(matches!(error, QueryError::Memory { .. }), "{error}");
    // All pairs of a chain are too many to wait for.
    let query = "PREFIX : <http://example.com/> SELECT (COUNT(*) AS ?c) { ?x :p+ ?y }";
    let token = CancellationToken::new();
    let options = QueryOptions {
        cancellation: Some(token.clone()),
        ..QueryOptions::default()
    };
    let prepared = Query::parse(query, None).expect("a query");
    std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            let results = prepared.execute(&snapshot, &options)?;
            let quadrille_sparql::QueryResults::Solutions(mut solutions) = results else {
                panic!("a SELECT");
            };
            solutions.next().transpose()
        });
        std::thread::sleep(Duration::from_millis(300));
        token.cancel();
        let error = running.join().expect("no panic").expect_err("cancelled");
        assert!(matches!(error, QueryError::Cancelled), "{error}");
    });
}

#[test]
fn a_plan_shows_the_path_and_where_it_starts() {
    let store = store(&quads(CYCLE));
    let explain = |query: &str| {
        Query::parse(&format!("PREFIX : <http://example.com/> {query}"), None)
            .expect("a query")
            .explain(&store.snapshot(), &QueryOptions::default())
            .expect("a plan")
    };
    for (query, expected) in [
        (
            "SELECT * { ?x :p+ :e }",
            "PathJoin from <http://example.com/e> to ?x { ?x (<http://example.com/p>)+ <http://example.com/e> }",
        ),
        (
            "SELECT * { GRAPH :g { ?x :p+ ?y } }",
            "PathJoin from every ?",
        ),
        ("ASK { :a :p+ :e }", "PathTest from <http://example.com/a>"),
        (
            "SELECT * { ?x :q ?y OPTIONAL { ?y :p+ ?z . ?z :p ?v } }",
            "LeftBindJoin on ?y",
        ),
        (
            "SELECT * { ?x :q ?y . ?y :p+ ?z }",
            "PathJoin from ?y to ?z",
        ),
    ] {
        let plan = explain(query);
        assert!(plan.contains(expected), "{query}\n{plan}");
    }
}

/// Makes path expressions. The oracle gives pairs of `|` once (section 18.4 says: as often as both sides do), so
/// answers are compared without repetitions. Nor does it connect constants with themselves that are no nodes: those that its
/// queries name are nodes of all graphs.
struct Paths(Random);

impl Paths {
    fn path(&mut self, depth: usize) -> String {
        let predicates = ["<p:0>", "<p:1>", "<p:2>"];
        match self.0.below(if depth == 0 { 2 } else { 10 }) {
            0 => (*self.0.pick(&predicates)).to_owned(),
            1 => match self.0.below(4) {
                0 => format!("!{}", self.0.pick(&predicates)),
                1 => format!("!(<p:0>|^{})", self.0.pick(&predicates)),
                _ => format!("^{}", self.0.pick(&predicates)),
            },
            2 => format!("({}/{})", self.path(depth - 1), self.path(depth - 1)),
            3 => format!("({}|{})", self.path(depth - 1), self.path(depth - 1)),
            4 => format!("^({})", self.path(depth - 1)),
            5 => format!("({})?", self.path(depth - 1)),
            6 | 7 => format!("({})*", self.path(depth - 1)),
            _ => format!("({})+", self.path(depth - 1)),
        }
    }

    fn node(&mut self) -> String {
        match self.0.below(9) {
            0 | 2 => "<n:0>".to_owned(),
            1 => "<n:1>".to_owned(),
            3 => "1".to_owned(),
            4 | 5 => "?x".to_owned(),
            6 | 7 => "?y".to_owned(),
            _ => "?z".to_owned(),
        }
    }

    fn triple(&mut self) -> String {
        let (subject, object, path) = (self.node(), self.node(), self.path(2));
        let subject = if subject == "1" { "?x" } else { &*subject };
        format!("{subject} {path} {object} . ")
    }

    fn group(&mut self) -> String {
        let path = self.triple();
        let predicate = self.0.below(3);
        let (first, second) = (self.node(), self.node());
        let first = if first == "1" { "?z" } else { &*first };
        let pattern = format!("{first} <p:{predicate}> {second} . ");
        match self.0.below(11) {
            9 => format!("{pattern} OPTIONAL {{ {path} {} }}", self.triple()),
            10 => format!("{pattern} OPTIONAL {{ {path} ?z <p:1> ?v FILTER(?x != ?v) }}"),
            0 | 1 => path,
            2 => format!("{path} {pattern}"),
            3 => format!("{path} {}", self.triple()),
            4 => format!("{pattern} OPTIONAL {{ {path} }}"),
            5 => format!("{{ {path} }} UNION {{ {pattern} }}"),
            6 => format!("GRAPH <g:0> {{ {path} {pattern} }}"),
            7 => format!("{pattern} MINUS {{ {path} }}"),
            _ => format!("OPTIONAL {{ {pattern} }} {path} FILTER(!isLITERAL(?x))"),
        }
    }

    fn quads(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..self.0.below(14) {
            let object = if self.0.one_in(6) {
                "\"1\"^^<http://www.w3.org/2001/XMLSchema#integer>".to_owned()
            } else {
                format!("<n:{}>", self.0.below(5))
            };
            let graph = if self.0.one_in(3) {
                format!("<g:{}>", self.0.below(2))
            } else {
                String::new()
            };
            let (subject, predicate) = (self.0.below(5), self.0.below(3));
            writeln!(text, "<n:{subject}> <p:{predicate}> {object} {graph} .").unwrap();
        }
        text
    }
}

#[test]
fn random_paths_agree_with_the_oracle() {
    let number = |variable: &str, default: u64| {
        let text = std::env::var(variable).ok();
        text.and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let alone = QueryOptions {
        batch_rows: 3,
        planner: PlannerOptions {
            lookup_joins: false,
            ..PlannerOptions::default()
        },
        ..QueryOptions::default()
    };
    let configurations = [batches(1024), batches(1), alone];
    let first = number("QUADRILLE_SEED", 1);
    for seed in first..first + number("QUADRILLE_CASES", 150) {
        let mut paths = Paths(Random(seed));
        let store = store(&paths.quads());
        add(&store, &paths.quads());
        for graph in ["", "<g:0>"] {
            let one = "\"1\"^^<http://www.w3.org/2001/XMLSchema#integer>";
            add(
                &store,
                &format!("<n:0> <p:9> {one} {graph} .\n<n:1> <p:9> {one} {graph} .\n"),
            );
        }
        let snapshot = store.snapshot();
        let dataset = dataset(&snapshot);
        for _ in 0..8 {
            let query = format!("{PROLOGUE}SELECT DISTINCT ?x ?y ?z {{ {} }}", paths.group());
            let expected = oracle_rows(&dataset, &query);
            for options in &configurations {
                assert_eq!(
                    rows(&snapshot, &query, options),
                    expected,
                    "seed {seed}: {query}\n{options:?}"
                );
            }
        }
    }
}

#[test]
fn random_paths_agree_with_the_definitions() {
    let number = |variable: &str, default: u64| {
        let text = std::env::var(variable).ok();
        text.and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let ends = ["<n:0>", "<n:1>", "<none:>", "?x", "?y"];
    let first = number("QUADRILLE_SEED", 1);
    for seed in first..first + number("QUADRILLE_CASES", 150) {
        let mut paths = Paths(Random(seed));
        let store = store(&paths.quads());
        let snapshot = store.snapshot();
        let definitions = path_definitions::Definitions::new(&dataset(&snapshot));
        for _ in 0..8 {
            let path =
                format!("({})*", paths.path(2)).replace(")*", [")*", ")+", ")?"][paths.0.below(3)]);
            let subject = *paths.0.pick(&ends);
            let object = *paths.0.pick(&ends);
            let query = format!("SELECT ?x ?y {{ {subject} {path} {object} }}");
            let expected = definitions.answer(&query);
            for options in [batches(1024), batches(1)] {
                assert_eq!(
                    rows(&snapshot, &query, &options),
                    expected,
                    "seed {seed}: {query}"
                );
            }
        }
    }
}
