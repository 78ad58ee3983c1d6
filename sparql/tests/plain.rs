//! The quick parser of plain queries against spargebra: what it accepts is what spargebra makes of it; on the queries of the
//! benchmarks and the W3C's suites, and on texts made of them by small changes. `QUADRILLE_CASES` and `QUADRILLE_SEED` make
//! the random run longer and give it another start.

mod common;

use common::Random;
use quadrille_sparql::plain;
use spargebra::SparqlParser;
use std::fs;
use std::path::{Path, PathBuf};

/// Whether the text is accepted; if it is, spargebra accepts it too, as the same query.
fn is_plain(text: &str) -> bool {
    let Some(query) = plain::parse(text) else {
        return false;
    };
    match SparqlParser::new().parse_query(text) {
        Ok(expected) => assert_eq!(query, expected, "{text}"),
        Err(error) => panic!("spargebra refuses it: {error}\n{text}"),
    }
    true
}

/// The queries in a directory and below.
fn queries_in(directory: &Path, found: &mut Vec<(PathBuf, String)>) {
    let entries =
        fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            queries_in(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rq")
            && let Ok(text) = fs::read_to_string(&path)
        {
            found.push((path, text));
        }
    }
}

fn benchmark_queries() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/queries");
    queries_in(&directory, &mut found);
    assert!(found.len() > 50, "the benchmark's queries are missing");
    found
}

/// Each is a plain query.
const PLAIN: [&str; 22] = [
    "SELECT * { }",
    "ASK{}",
    "ask where {?s?p?o}",
    "SELECT ?s{?s a<e:c>}",
    "select distinct $s where { ?s ?p ?o . }",
    "SELECT REDUCED ?o ?s { ?s ?p ?o } limit 5",
    "SELECT ?s { ?s ?p ?o } OFFSET 3 LIMIT 0",
    "SELECT ?s { ?s ?p ?o } LIMIT 7 OFFSET 3 # end",
    "PREFIX : <http://e/> PREFIX e-1:<http://f#>SELECT * {:s :p e-1:o, :o ; e-1: :; a ?t;;.?x :p 5}",
    "# comment\nPREFIX x: <e:> #another\r\nSELECT * { x:a x:b \"text with ' and é\" . }",
    "PREFIX x: <e:a> PREFIX x: <e:b> SELECT * { x:s x:p x:o }",
    "SELECT * { ?s ?p ?o OPTIONAL { ?o ?q ?r } }",
    "SELECT * { OPTIONAL { ?o ?q ?r OPTIONAL { ?r ?q ?z } . ?r ?q 1 } . ?s ?p ?o . optional {} }",
    "SELECT ?unbound { ?s ?p \"\" }",
    "PREFIX o: <e:> SELECT * { o:s ?p ?o . o:s ?p o:o . }",
    "PREFIX optional: <e:> SELECT * { optional:s ?p ?o }",
    "PREFIX a: <e:> SELECT * { a:s a:a a:o . a:s a a:a }",
    "PREFIX x: <e:> SELECT * { ?s ?p x:1-2_3. }",
    "PREFIX x: <e:> SELECT * { ?s ?p x:. ?s ?p x:b }",
    "PREFIX ask: <e:> ASK { ask:s ask:p ask:o }",
    "SELECT * { ?s ?p 007 , 18446744073709551616 }",
    "PREFIX x: <e:> ASK { x:s x:p x: } LIMIT 1",
];

/// Each is something for the other parser, or an error.
const OTHERS: [&str; 28] = [
    "",
    "SELECT",
    "SELECT { ?s ?p ?o }",
    "SELECT ?s ?s { ?s ?p ?o }",
    "SELECT * { ?s ?p ?o",
    "SELECT * { ?s ?p ?o } }",
    "SELECT * { ?s ?p ?o ?q }",
    "SELECT * { ?s ?p }",
    "SELECT * { . ?s ?p ?o }",
    "SELECT * { ?s ?p ?o .. }",
    "SELECT * { \"s\" ?p ?o }",
    "SELECT * { ?s \"p\" ?o }",
    "SELECT * { ?s ?p <relative> }",
    "SELECT * { ?s ?p <e:with space> }",
    "SELECT * { ?s ?p x:undeclared }",
    "SELECT * { ?s ?p \"a\"@en }",
    "SELECT * { ?s ?p 1.5 }",
    "SELECT * { ?s ?p 1e5 }",
    "SELECT * { ?s ?p true }",
    "SELECT * { ?s ?p _:b }",
    "SELECT * { ?s ?p [] }",
    "SELECT * { ?s <e:p>/<e:q> ?o }",
    "SELECT * { ?s ^<e:p> ?o }",
    "SELECT * { ?s ?p ?o FILTER(?o) }",
    "SELECT * { ?s ?p ?o } ORDER BY ?s",
    "SELECT (1 AS ?x) { ?s ?p ?o }",
    "SELECT * FROM <e:g> { ?s ?p ?o }",
    "BASE <e:> SELECT * { ?s ?p ?o }",
];

#[test]
fn plain_queries_are_read_as_spargebra_reads_them() {
    for text in PLAIN {
        assert!(is_plain(text), "{text}");
    }
    for text in OTHERS {
        assert!(!is_plain(text), "{text}");
    }
    let deep = format!("ASK {}{}", "{ OPTIONAL ".repeat(10_000), "{".repeat(10_000));
    assert!(!is_plain(&deep));
}

#[test]
fn queries_of_benchmarks_and_suites_are_read_as_spargebra_reads_them() {
    let mut queries = benchmark_queries();
    let plain = queries.iter().filter(|(_, text)| is_plain(text)).count();
    assert!(plain >= 20, "only {plain} of the benchmark's queries");
    queries.clear();
    match std::env::var_os("W3C_RDF_TESTS") {
        Some(suites) => queries_in(&Path::new(&suites).join("sparql"), &mut queries),
        None => println!("skipped the W3C's queries: W3C_RDF_TESTS is not set"),
    }
    let plain = queries.iter().filter(|(_, text)| is_plain(text)).count();
    println!(
        "{plain} of {} queries of the W3C's are plain",
        queries.len()
    );
    assert!(queries.is_empty() || plain > 50, "{plain}");
}

#[test]
fn changed_queries_are_read_as_spargebra_reads_them() {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
    };
    let first = number("QUADRILLE_SEED", 1);
    let mut texts: Vec<String> = PLAIN
        .iter()
        .chain(&OTHERS)
        .map(|text| (*text).to_owned())
        .collect();
    texts.extend(
        benchmark_queries()
            .into_iter()
            .map(|(_, text)| text)
            .filter(|text| plain::parse(text).is_some()),
    );
    let pieces = [
        " ",
        ".",
        ";",
        ",",
        "{",
        "}",
        "a",
        "a ",
        ":",
        "x:",
        "<e:p>",
        "\"",
        "\"t\"",
        "?x",
        "$",
        "1",
        "-",
        "#",
        "\n",
        "OPTIONAL",
        "LIMIT 1",
        "OFFSET 2",
        "WHERE",
        "*",
        "\\",
        "é",
        "@en",
        "_",
        "%",
        "/",
        "'",
        "<",
        ">",
        "\u{b7}",
        "\r",
        "PREFIX x: <e:> ",
        "^",
        "(",
        ")",
        "[",
        "]",
        "~",
        "{|",
        "<<",
        "DISTINCT ",
        "ASK",
        "|",
    ];
    let mut accepted = 0;
    for seed in first..first + number("QUADRILLE_CASES", 3_000) {
        let mut random = Random(seed);
        let mut text = random.pick(&texts).clone();
        for _ in 0..=random.below(3) {
            let places: Vec<usize> = text
                .char_indices()
                .map(|(at, _)| at)
                .chain([text.len()])
                .collect();
            let at = *random.pick(&places);
            match random.below(3) {
                0 => text.insert_str(at, pieces[random.below(pieces.len())]),
                1 => {
                    let end = *random.pick(&places);
                    let (start, end) = (at.min(end), at.max(end));
                    if end - start < 12 {
                        text.replace_range(start..end, "");
                    }
                }
                _ => {
                    let end = places.iter().copied().find(|end| *end > at).unwrap_or(at);
                    text.replace_range(at..end, pieces[random.below(pieces.len())]);
                }
            }
        }
        let outcome = std::panic::catch_unwind(|| is_plain(&text));
        accepted += u64::from(outcome.unwrap_or_else(|_| panic!("QUADRILLE_SEED={seed}")));
    }
    println!("{accepted} of the changed queries are plain");
    assert!(accepted > 0, "no changed query is plain");
}
