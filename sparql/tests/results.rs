//! What the fast writers of TSV, CSV, JSON and XML write is, byte for byte, what `sparesults` writes for the same rows; on all
//! kinds of terms, with unbound cells, with terms that come again after many others. XML says more of some characters.

mod common;

use common::store;
use oxrdf::{Term, Variable};
use quadrille_sparql::{PlannerOptions, Query, QueryOptions, QueryResults, ResultFormat};
use quadrille_store::Snapshot;
use sparesults::{
    QueryResultsFormat, QueryResultsParser, QueryResultsSerializer, SliceQueryResultsParserOutput,
};
use std::fmt::Write;

const FORMATS: [(ResultFormat, QueryResultsFormat); 4] = [
    (ResultFormat::Tsv, QueryResultsFormat::Tsv),
    (ResultFormat::Csv, QueryResultsFormat::Csv),
    (ResultFormat::Json, QueryResultsFormat::Json),
    (ResultFormat::Xml, QueryResultsFormat::Xml),
];

fn execute(snapshot: &Snapshot, query: &str, batch_rows: usize) -> QueryResults {
    // Small batches on several threads: what they write must not differ.
    let options = QueryOptions {
        batch_rows,
        threads: if batch_rows == 1024 { 1 } else { 3 },
        planner: PlannerOptions {
            parallel_rows: 1,
            ..PlannerOptions::default()
        },
        ..QueryOptions::default()
    };
    Query::parse(query, None)
        .and_then(|query| query.execute(snapshot, &options))
        .unwrap_or_else(|error| panic!("{query}: {error}"))
}

fn ours(snapshot: &Snapshot, query: &str, batch_rows: usize, format: ResultFormat) -> String {
    let mut out = Vec::new();
    execute(snapshot, query, batch_rows)
        .write(format, &mut out)
        .expect("memory");
    String::from_utf8(out).expect("UTF-8")
}

/// The same rows through `sparesults`, term by term.
fn theirs(snapshot: &Snapshot, query: &str, format: QueryResultsFormat) -> String {
    let serializer = QueryResultsSerializer::from_format(format);
    let out = match execute(snapshot, query, 1024) {
        QueryResults::Boolean(value) => serializer.serialize_boolean_to_writer(Vec::new(), value),
        QueryResults::Solutions(solutions) => {
            let variables: Vec<Variable> = solutions.variables().to_vec();
            let mut writer = serializer
                .serialize_solutions_to_writer(Vec::new(), variables)
                .expect("memory");
            for solution in solutions {
                let solution = solution.expect("a row");
                writer
                    .serialize(
                        solution
                            .iter()
                            .map(|(variable, term)| (variable.as_ref(), term.as_ref())),
                    )
                    .expect("memory");
            }
            writer.finish()
        }
        QueryResults::Graph(_) => panic!("a graph"),
    };
    String::from_utf8(out.expect("memory")).expect("UTF-8")
}

/// Escapes of characters that XML has no way to write.
const CONTROLS: [&str; 8] = [
    "\\u0001", "\\u0008", "\\u000B", "\\u000C", "\\u000E", "\\u001F", "\\uFFFE", "\\uFFFF",
];

/// Literals with everything that a format may have to escape or to abbreviate.
fn odd_terms() -> String {
    let mut text = String::new();
    let add = |text: &mut String, object: &str| {
        writeln!(text, "<e:s> <e:p> {object} .").unwrap();
    };
    let lexical_forms = [
        "",
        "a",
        " a ",
        "a,b",
        "tab\\there",
        "line\\nbreak",
        "return\\rhere",
        "quote\\\"d",
        "back\\\\slash",
        "é",
        "日本",
        "🦀",
        "<&>'",
        "\\u007F\\uFFFD",
        "1",
        "01",
        "+1",
        "-1",
        "1.0",
        "-.5",
        "1.",
        ".",
        "1e0",
        "1.E+2",
        ".5e-3",
        "e1",
        "1e",
        "+",
        "true",
        "false",
        "TRUE",
        "2020-01-01",
        "2020-01-01T00:00:00Z",
        "INF",
        "NaN",
        "]]>",
        "  ",
        "\\u00A0",
    ];
    let annotations = [
        "",
        "@en",
        "@de-at",
        "@ar--rtl",
        "@en--ltr",
        "^^<http://www.w3.org/2001/XMLSchema#integer>",
        "^^<http://www.w3.org/2001/XMLSchema#int>",
        "^^<http://www.w3.org/2001/XMLSchema#decimal>",
        "^^<http://www.w3.org/2001/XMLSchema#double>",
        "^^<http://www.w3.org/2001/XMLSchema#float>",
        "^^<http://www.w3.org/2001/XMLSchema#boolean>",
        "^^<http://www.w3.org/2001/XMLSchema#date>",
        "^^<http://www.w3.org/2001/XMLSchema#dateTime>",
        "^^<http://www.w3.org/2001/XMLSchema#string>",
        "^^<e:type>",
    ];
    for form in lexical_forms {
        for annotation in annotations {
            add(&mut text, &format!("\"{form}\"{annotation}"));
        }
    }
    for control in CONTROLS {
        writeln!(text, "<e:other> <e:control> \"a{control}\" .").unwrap();
    }
    for other in [
        "<e:iri?a=b&c=d#é>",
        "_:blank",
        "<<( <e:a> <e:b> \"c,d\\\"e\"@en )>>",
        "<<( _:blank <e:b> <<( <e:c> <e:d> \"1\"^^<http://www.w3.org/2001/XMLSchema#integer> )>> )>>",
    ] {
        add(&mut text, other);
    }
    text
}

#[test]
fn fast_writers_write_what_sparesults_writes() {
    let mut text = odd_terms();
    // More terms than a batch, the arena and the table of the cells hold, and one that comes again all the time.
    for index in 0..12_000 {
        writeln!(text, "<e:many/{index}> <e:q> <e:again> .").unwrap();
        writeln!(
            text,
            "<e:many/{index}> <e:r> \"{}{index}\" .",
            "long ".repeat(40)
        )
        .unwrap();
    }
    let store = store(&text);
    let snapshot = store.snapshot();
    let queries = [
        "SELECT * WHERE { ?s <e:p> ?o }",
        "SELECT ?o ?missing ?p WHERE { <e:s> ?p ?o }",
        "SELECT ?missing WHERE { ?s <e:p> ?o }",
        "SELECT ?s ?o WHERE { ?s <e:q> ?o }",
        "SELECT ?s ?o ?r WHERE { ?s <e:q> ?o ; <e:r> ?r }",
        "SELECT ?nothing WHERE { ?nothing <e:none> ?at_all }",
        "SELECT ?x WHERE { }",
        "SELECT * WHERE { <e:s> <e:p> \"a\" }",
        "SELECT ?o WHERE { ?s <e:control> ?o }",
        "ASK { ?s <e:p> ?o }",
        "ASK { ?s <e:none> ?o }",
    ];
    for query in queries {
        for (format, their_format) in FORMATS {
            let mut expected = theirs(&snapshot, query, their_format);
            if format == ResultFormat::Xml {
                if query.contains("control") {
                    continue;
                }
                // They write these as they are.
                expected = expected.replace('\r', "&#13;");
            }
            for batch_rows in [1024, 7] {
                let found = ours(&snapshot, query, batch_rows, format);
                assert!(
                    found == expected,
                    "{query} as {} in batches of {batch_rows}: {}",
                    format.name(),
                    first_difference(&found, &expected)
                );
            }
        }
    }
}

#[test]
fn xml_has_everything_or_is_an_error() {
    for control in CONTROLS {
        for object in [
            format!("\"a{control}b\""),
            format!("<<( <e:a> <e:b> \"{control}\" )>>"),
        ] {
            let store = store(&format!("<e:s> <e:p> {object} ."));
            for batch_rows in [1024, 7] {
                let results = execute(&store.snapshot(), "SELECT * { ?s ?p ?o }", batch_rows);
                let error = results
                    .write(ResultFormat::Xml, &mut Vec::new())
                    .expect_err(control);
                let code = &control[2..];
                assert!(error.to_string().contains(&format!("U+{code}")), "{error}");
            }
        }
    }
    // What a reader of XML gets is what was stored.
    let value = "\r\n a\rb\t \n\u{85}\u{2028}\u{fffd}\u{10ffff} \r";
    let quoted = value.replace('\r', "\\r").replace('\n', "\\n");
    let store = store(&format!("<e:s> <e:p> \"{quoted}\" ."));
    let text = ours(
        &store.snapshot(),
        "SELECT ?o { ?s ?p ?o }",
        1024,
        ResultFormat::Xml,
    );
    let parser = QueryResultsParser::from_format(QueryResultsFormat::Xml);
    let Ok(SliceQueryResultsParserOutput::Solutions(mut rows)) = parser.for_slice(text.as_bytes())
    else {
        panic!("no solutions in {text}");
    };
    let row = rows.next().expect("a row").expect("well-formed");
    let Some(Term::Literal(literal)) = row.get("o") else {
        panic!("no literal in {text}");
    };
    assert_eq!(literal.value(), value);
}

fn first_difference(found: &str, expected: &str) -> String {
    let at = found
        .bytes()
        .zip(expected.bytes())
        .position(|(a, b)| a != b)
        .unwrap_or(found.len().min(expected.len()));
    let near = |text: &str| {
        let bytes =
            &text.as_bytes()[at.saturating_sub(40).min(text.len())..(at + 40).min(text.len())];
        String::from_utf8_lossy(bytes).into_owned()
    };
    format!(
        "at byte {at}: {:?} instead of {:?}",
        near(found),
        near(expected)
    )
}

#[test]
fn a_table_is_aligned_and_counts_its_rows() {
    let store = store(
        "<e:ada> <e:name> \"Ada\" .
         <e:li> <e:name> \"李\\nnew\" .
         <e:li> <e:knows> <e:ada> .",
    );
    let snapshot = store.snapshot();
    let table = ours(
        &snapshot,
        "SELECT ?who ?none ?name WHERE { ?who <e:name> ?name }",
        1024,
        ResultFormat::Table,
    );
    assert_eq!(
        table,
        "?who     ?none  ?name\n\
         -------  -----  --------\n\
         <e:ada>         \"Ada\"\n\
         <e:li>          \"李\\nnew\"\n\
         (2 rows)\n"
    );
    let one = ours(
        &snapshot,
        "SELECT ?x WHERE { ?x <e:knows> ?y }",
        1,
        ResultFormat::Table,
    );
    assert!(one.ends_with("(1 row)\n"), "{one}");
    assert_eq!(
        ours(&snapshot, "ASK { ?x <e:knows> ?y }", 1, ResultFormat::Table),
        "true\n"
    );
}

#[test]
fn a_long_table_is_written_whole() {
    let mut text = String::new();
    for index in 0..2_500 {
        writeln!(text, "<e:{index}> <e:p> \"{index}\" .").unwrap();
    }
    let store = store(&text);
    let table = ours(
        &store.snapshot(),
        "SELECT ?s ?o WHERE { ?s <e:p> ?o }",
        100,
        ResultFormat::Table,
    );
    assert_eq!(table.lines().count(), 2 + 2_500 + 1);
    assert!(table.ends_with("(2500 rows)\n"));
}

#[test]
fn a_writer_that_refuses_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let store = store("<e:s> <e:p> <e:o> .");
    for format in ResultFormat::ALL {
        let query = if format.is_for_graphs() {
            "CONSTRUCT WHERE { ?s ?p ?o }"
        } else {
            "SELECT * WHERE { ?s ?p ?o }"
        };
        let results = execute(&store.snapshot(), query, 1024);
        let error = results.write(format, Full).expect_err(format.name());
        assert!(
            error.to_string().starts_with("cannot write the results"),
            "{error}"
        );
    }
}

#[test]
fn rows_come_as_terms_too() {
    let store = store("<e:s> <e:p> \"1\"^^<http://www.w3.org/2001/XMLSchema#integer> .");
    let QueryResults::Solutions(mut solutions) = execute(
        &store.snapshot(),
        "SELECT ?o ?missing WHERE { ?s ?p ?o }",
        1024,
    ) else {
        panic!("a SELECT");
    };
    let solution = solutions.next().expect("a row").expect("an answer");
    assert_eq!(
        solution.get("o"),
        Some(&Term::from(oxrdf::Literal::from(1)))
    );
    assert_eq!(solution.get("missing"), None);
    assert!(solutions.next().is_none());
    assert!(solutions.next().is_none());
}
