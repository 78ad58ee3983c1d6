//! `quadrille query`: the formats against each other, and the options.

use crate::support::{Scratch, many};
use oxrdfio::{JsonLdProfileSet, RdfFormat, RdfParser};
use sparesults::{QueryResultsFormat, QueryResultsParser, ReaderQueryResultsParserOutput};

/// Terms of all kinds, and what CSV, TSV, JSON and XML must escape.
const TERMS: &str = r#"@prefix : <http://example.org/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:a :p "plain", "comma, \"quote\"", "line\nbreak\ttab", "<&>", "chat"@fr, "", 5, 01, 1.50, 1e3, true,
    "2020-02-29"^^xsd:date, "x"^^:type, :iri, <<( :s :p "triple" )>> .
:b :p "only b" ; :q "another" .
"#;

/// `?unbound` is never bound.
const EVERYTHING: &str = "PREFIX : <http://example.org/> SELECT ?s ?o ?unbound { ?s :p ?o }";

fn with_terms() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("terms.ttl", TERMS);
    scratch
        .run(&["load", "--store", "s", "terms.ttl"])
        .succeeds();
    scratch
}

fn results(scratch: &Scratch, format: &str, query: &str) -> String {
    let run = scratch
        .run(&["query", "--store", "s", "--results", format, query])
        .succeeds_silently();
    assert!(run.out.ends_with('\n'), "{format}: {run:#?}");
    run.out
}

/// The rows of a result, read by another program: each term as it is written in SPARQL, unbound ones empty.
fn rows(text: &str, format: QueryResultsFormat) -> Vec<Vec<String>> {
    let parsed = QueryResultsParser::from_format(format).for_reader(text.as_bytes());
    let Ok(ReaderQueryResultsParserOutput::Solutions(solutions)) = parsed else {
        panic!("no solutions in {text}");
    };
    assert_eq!(solutions.variables().len(), 3, "{text}");
    let mut rows: Vec<Vec<String>> = solutions
        .map(|solution| {
            let solution = solution.unwrap_or_else(|error| panic!("{error} in {text}"));
            let term = |name| {
                solution
                    .get(name)
                    .map_or_else(String::new, ToString::to_string)
            };
            ["s", "o", "unbound"].map(term).to_vec()
        })
        .collect();
    rows.sort();
    rows
}

#[test]
fn tsv_json_and_xml_say_the_same() {
    let scratch = with_terms();
    let tsv = rows(
        &results(&scratch, "tsv", EVERYTHING),
        QueryResultsFormat::Tsv,
    );
    assert_eq!(tsv.len(), 16, "{tsv:#?}");
    for term in [
        "\"line\\nbreak\\ttab\"",
        "\"01\"^^<http://www.w3.org/2001/XMLSchema#integer>",
        "\"chat\"@fr",
    ] {
        assert!(tsv.iter().any(|row| row[1] == term), "{term} in {tsv:#?}");
    }
    assert!(tsv.iter().all(|row| row[2].is_empty()), "{tsv:#?}");
    assert_eq!(
        rows(
            &results(&scratch, "json", EVERYTHING),
            QueryResultsFormat::Json
        ),
        tsv
    );
    assert_eq!(
        rows(
            &results(&scratch, "xml", EVERYTHING),
            QueryResultsFormat::Xml
        ),
        tsv
    );
    // TSV is what a pipe gets.
    let piped = scratch
        .run(&["query", "--store", "s", EVERYTHING])
        .succeeds_silently();
    assert_eq!(piped.out, results(&scratch, "tsv", EVERYTHING));
}

#[test]
fn csv_and_the_table_have_the_same_rows() {
    let scratch = with_terms();
    let query = "PREFIX : <http://example.org/> SELECT ?s ?o { ?s :p ?o FILTER(!isTRIPLE(?o)) }";
    let csv = results(&scratch, "csv", query);
    assert!(csv.starts_with("s,o\r\n"), "{csv}");
    for cell in [
        "\"comma, \"\"quote\"\"\"\r\n",
        "\"line\nbreak\ttab\"\r\n",
        ",<&>\r\n",
        ",01\r\n",
        ",chat\r\n",
    ] {
        assert!(csv.contains(cell), "{cell:?} in {csv}");
    }
    let table = results(&scratch, "table", query);
    let lines: Vec<&str> = table.lines().collect();
    assert!(
        lines[0].starts_with("?s") && lines[0].contains("?o"),
        "{table}"
    );
    assert_eq!(lines.last(), Some(&"(15 rows)"), "{table}");
    assert_eq!(lines.len(), 2 + 15 + 1, "a row a line: {table}");
    let tsv = results(&scratch, "tsv", query);
    assert_eq!(tsv.lines().count(), 1 + 15, "{tsv}");
}

#[test]
fn ask_answers_in_every_format() {
    let scratch = with_terms();
    for (query, answer) in [
        ("ASK { <http://example.org/b> ?p \"only b\" }", "true"),
        ("ASK { <http://example.org/b> ?p \"only a\" }", "false"),
    ] {
        for format in ["table", "tsv", "csv"] {
            assert_eq!(
                results(&scratch, format, query).trim_end(),
                answer,
                "{format}"
            );
        }
        for format in ["json", "xml"] {
            let text = results(&scratch, format, query);
            assert!(text.contains(answer), "{text}");
        }
    }
}

#[test]
fn graphs_have_the_syntaxes_of_rdf() {
    let scratch = with_terms();
    let query = "PREFIX : <http://example.org/> CONSTRUCT { ?s :says ?o } { ?s :p ?o }";
    let read = |text: &str, format: RdfFormat| {
        let mut triples: Vec<String> = RdfParser::from_format(format)
            .for_slice(text.as_bytes())
            .map(|quad| {
                quad.unwrap_or_else(|error| panic!("{error} in {text}"))
                    .to_string()
            })
            .collect();
        triples.sort();
        triples
    };
    let piped = scratch
        .run(&["query", "--store", "s", query])
        .succeeds_silently();
    let expected = read(&piped.out, RdfFormat::NTriples);
    assert_eq!(expected.len(), 16, "{piped:#?}");
    let profile = JsonLdProfileSet::empty();
    for (name, format) in [
        ("nt", RdfFormat::NTriples),
        ("nq", RdfFormat::NQuads),
        ("ttl", RdfFormat::Turtle),
        ("trig", RdfFormat::TriG),
        ("rdfxml", RdfFormat::RdfXml),
    ] {
        assert_eq!(
            read(&results(&scratch, name, query), format),
            expected,
            "{name}"
        );
    }
    // JSON-LD has no triple terms.
    let query = "PREFIX : <http://example.org/> CONSTRUCT { ?s :says ?o } { ?s :q ?o }";
    let text = results(&scratch, "jsonld", query);
    assert_eq!(
        read(&text, RdfFormat::JsonLd { profile }).len(),
        1,
        "{text}"
    );
    for (format, query) in [("tsv", query), ("ttl", EVERYTHING), ("nt", "ASK { }")] {
        let run = scratch
            .run(&["query", "--store", "s", "--results", format, query])
            .fails(&[format, "for a SELECT or an ASK", "graph"]);
        assert_eq!(run.out, "");
    }
}

#[test]
fn prefixes_shorten_tables_and_turtle() {
    let scratch = with_terms();
    // Those of the query come first; loads remember others.
    let table = results(
        &scratch,
        "table",
        "SELECT ?s ?o { ?s <http://example.org/q> ?o }",
    );
    assert!(table.contains("\n:b  "), "{table}");
    let query = "PREFIX e: <http://example.org/> SELECT ?o { e:a e:p ?o }";
    let table = results(&scratch, "table", query);
    for cell in [
        "\ne:iri\n",
        "\"x\"^^e:type",
        "\"2020-02-29\"^^xsd:date",
        "<<( e:s e:p \"triple\" )>>",
    ] {
        assert!(table.contains(cell), "{cell} in {table}");
    }
    let query = "PREFIX e: <http://example.org/> CONSTRUCT { ?s e:is ?o } { ?s e:q ?o }";
    let turtle = results(&scratch, "ttl", query);
    assert!(
        turtle.contains("@prefix e:") && turtle.contains("e:b e:is \"another\""),
        "{turtle}"
    );
    assert!(!turtle.contains("xsd:"), "{turtle}");
}

#[test]
fn the_default_graph_may_be_the_union_of_all() {
    let scratch = Scratch::new();
    scratch.write(
        "quads.nq",
        "<e:a> <e:p> <e:b> .\n<e:a> <e:p> <e:b> <e:g> .\n<e:a> <e:p> <e:c> <e:g> .\n",
    );
    scratch
        .run(&["load", "--store", "s", "quads.nq"])
        .succeeds();
    let rows = |more: &[&str], query: &str| {
        let arguments = [&["query", "--store", "s"], more, &[query]].concat();
        scratch
            .run(&arguments)
            .succeeds_silently()
            .out
            .lines()
            .count()
            - 1
    };
    let union = ["--union-default-graph"];
    assert_eq!(rows(&[], "SELECT * { ?s ?p ?o }"), 1);
    assert_eq!(rows(&union, "SELECT * { ?s ?p ?o }"), 2);
    assert_eq!(rows(&union, "SELECT * FROM <e:none> { ?s ?p ?o }"), 0);
    assert_eq!(rows(&[], "SELECT * FROM <e:g> { ?s ?p ?o }"), 2);
}

#[test]
fn a_query_may_come_from_a_file_and_have_a_base() {
    let scratch = with_terms();
    scratch.write("query.rq", "# why not\nSELECT ?o { <b> <p> ?o }\n");
    let arguments = [
        "query",
        "--store",
        "s",
        "--base",
        "http://example.org/",
        "--file",
        "query.rq",
    ];
    assert_eq!(
        scratch.run(&arguments).succeeds_silently().out,
        "?o\n\"only b\"\n"
    );
    scratch
        .run(&["query", "--store", "s", "--file", "query.rq"])
        .fails(&["syntax error"]);
    scratch
        .run(&["query", "--store", "s", "--file", "missing.rq"])
        .fails(&["missing.rq", "No such file"]);
}

#[test]
fn explain_shows_the_plan_and_does_not_run_it() {
    let scratch = with_terms();
    let query = "SELECT * { ?s <http://example.org/p> ?o . ?s <http://example.org/q> ?q }";
    let run = scratch
        .run(&["query", "--store", "s", "--explain", query])
        .succeeds_silently();
    assert!(
        run.out.contains("Scan") && run.out.contains("Join"),
        "{run:#?}"
    );
    assert!(!run.out.contains("only b"), "{run:#?}");
}

#[test]
fn a_query_that_takes_too_long_ends_with_an_error() {
    let scratch = Scratch::new();
    scratch.write("many.nt", many(2_000));
    scratch.run(&["load", "--store", "s", "many.nt"]).succeeds();
    // 2,000 to the fourth power rows, none of which passes.
    let query =
        "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l FILTER(?c = ?f && ?a != ?d) }";
    let run = scratch.run(&["query", "--store", "s", "--timeout", "0.3", query]);
    run.fails(&["time limit", "300ms"]);
}

#[test]
fn what_cannot_be_done_is_named() {
    let scratch = with_terms();
    for (query, name) in [
        (
            "SELECT * { SERVICE <http://example.org/> { ?s ?p ?o } }",
            "SERVICE <http://example.org/> cannot be asked",
        ),
        (
            "SELECT * { ?s ?p ?o FILTER(<http://example.org/f>(?o)) }",
            "function <http://example.org/f>",
        ),
    ] {
        let run = scratch
            .run(&["query", "--store", "s", query])
            .fails(&[name]);
        assert_eq!(run.out, "", "{query}");
    }
    let run = scratch
        .run(&["query", "--store", "s", "SELECT ?s { ?s ?p }"])
        .fails(&["syntax error", "1:"]);
    assert_eq!(run.out, "");
}

#[test]
fn readers_do_not_wait_for_a_writer() {
    let scratch = with_terms();
    let writer = quadrille::Store::open(&scratch.path("s")).expect("nobody has it");
    let run = scratch
        .run(&[
            "query",
            "--store",
            "s",
            "SELECT ?o { <http://example.org/b> ?p ?o }",
        ])
        .succeeds_silently();
    assert_eq!(run.out.lines().count(), 3, "{run:#?}");
    assert_eq!(scratch.quads("s"), 17);
    drop(writer);
}

#[test]
fn analyze_shows_what_each_step_did() {
    let scratch = Scratch::new();
    scratch.write("many.nt", many(2_000));
    scratch.run(&["load", "--store", "s", "many.nt"]).succeeds();
    let query = "SELECT ?s ?o { ?s ?p ?o } ORDER BY DESC(?o)";
    let run = |options: &[&str]| {
        let mut arguments = vec!["query", "--store", "s"];
        arguments.extend(options);
        arguments.push(query);
        scratch.run(&arguments).succeeds_silently().out
    };
    let tree = run(&["--analyze", "--memory", "64k"]);
    assert!(
        tree.contains("[2000 rows in 2 batches, ") && tree.contains(", spilled "),
        "{tree}"
    );
    let json: serde_json::Value = serde_json::from_str(&run(&["--analyze=json"])).expect("JSON");
    assert_eq!(json["actual"]["rows"], 2_000);
    assert_eq!(json["actual"]["spilled_bytes"], 0);
    let plan: serde_json::Value = serde_json::from_str(&run(&["--explain=json"])).expect("JSON");
    assert!(plan["operation"].is_string() && plan["actual"].is_null());
    scratch
        .run(&["query", "--store", "s", "--analyze=xml", query])
        .wrong_usage(&["xml"]);
}

#[test]
fn limits_end_a_query_with_an_error() {
    let scratch = Scratch::new();
    scratch.write("many.nt", many(2_000));
    scratch.run(&["load", "--store", "s", "many.nt"]).succeeds();
    let query = "SELECT ?s ?o { ?s ?p ?o } ORDER BY DESC(?o)";
    scratch
        .run(&["query", "--store", "s", "--max-rows", "1999", query])
        .fails(&["limit of 1999 rows"]);
    scratch
        .run(&[
            "query",
            "--store",
            "s",
            "--memory",
            "64k",
            "--max-temporary",
            "10k",
            query,
        ])
        .fails(&["limit of 10240 bytes of temporary files"]);
    scratch
        .run(&[
            "query",
            "--store",
            "s",
            "--memory",
            "64k",
            "--temporary",
            "missing",
            query,
        ])
        .fails(&["missing", "No such file"]);
    let concat = "SELECT (GROUP_CONCAT(STR(?s)) AS ?all) { ?s ?p ?o }";
    scratch
        .run(&["query", "--store", "s", "--memory", "10k", concat])
        .fails(&["memory limit of 10240 bytes"]);
}
