//! `quadrille load`: every way data comes in, and what the options do.

use crate::support::{SMALL, Scratch, many};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

#[test]
fn the_report_is_for_people_on_standard_error_or_json_on_standard_output() {
    let scratch = Scratch::new();
    scratch.write("small.nq", SMALL);
    let people = scratch
        .run(&["load", "--store", "s", "small.nq"])
        .succeeds();
    assert_eq!(people.out, "");
    assert!(
        people.err.contains("3 statements from 1 file(s)"),
        "{people:#?}"
    );

    let run = scratch
        .run(&["load", "--store", "t", "--report", "json", "small.nq"])
        .succeeds_silently();
    let report = run.json();
    for (name, number) in [
        ("files", 1),
        ("statements", 3),
        ("quads_new", 3),
        ("quads_named", 1),
        ("quads_present", 0),
        ("duplicates", 0),
        ("rejected_statements", 0),
        ("input_bytes", SMALL.len() as u64),
    ] {
        assert_eq!(report[name], number, "{name} in {report:#}");
    }
    assert_eq!(scratch.quads("s"), 3);
    assert_eq!(scratch.quads("t"), 3);
}

#[test]
fn a_second_load_adds_only_what_is_new() {
    let scratch = Scratch::new();
    scratch.write("a.nt", many(100));
    scratch.write("b.nt", many(150) + &many(10));
    scratch.run(&["load", "--store", "s", "a.nt"]).succeeds();
    let report = scratch
        .run(&["load", "--store", "s", "b.nt", "--report", "json"])
        .succeeds()
        .json();
    assert_eq!(report["quads_new"], 50, "{report:#}");
    assert_eq!(report["quads_present"], 100, "{report:#}");
    assert_eq!(report["duplicates"], 10, "{report:#}");
    assert_eq!(scratch.quads("s"), 150);
    let mut expected: Vec<String> = many(150).lines().map(str::to_owned).collect();
    expected.sort();
    assert_eq!(scratch.dump("s"), expected);
}

#[test]
fn every_syntax_and_compression_by_its_name() {
    let scratch = Scratch::new();
    let triple = "<http://example.org/a> <http://example.org/p> <http://example.org/b>";
    let line = format!("{triple} .\n");
    let xml = "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns=\"http://example.org/\">\
        <rdf:Description rdf:about=\"http://example.org/a\"><p rdf:resource=\"http://example.org/b\"/>\
        </rdf:Description></rdf:RDF>";
    let json = r#"{"@id": "http://example.org/a", "http://example.org/p": {"@id": "http://example.org/b"}}"#;
    let files: Vec<(&str, Vec<u8>)> = vec![
        ("a.nt", line.clone().into()),
        ("a.nq", line.clone().into()),
        (
            "a.ttl",
            "@prefix : <http://example.org/> . :a :p :b .".into(),
        ),
        (
            "a.trig",
            "@prefix : <http://example.org/> . { :a :p :b }".into(),
        ),
        ("a.rdf", xml.into()),
        ("a.jsonld", json.into()),
        ("a.nt.gz", gzip(&line)),
        (
            "a.nt.zst",
            zstd::encode_all(line.as_bytes(), 0).expect("memory takes it"),
        ),
        ("a.rdf.gz", gzip(xml)),
    ];
    for (name, bytes) in &files {
        scratch.write(name, bytes);
        let store = format!("store-{name}");
        scratch.run(&["load", "--store", &store, name]).succeeds();
        assert_eq!(scratch.dump(&store), [format!("{triple} .")], "{name}");
    }
}

#[test]
fn a_directory_stands_for_the_rdf_files_below_it() {
    let scratch = Scratch::new();
    scratch.write(
        "data/1.nt",
        "<http://example.org/1> <http://example.org/p> \"1\" .\n",
    );
    scratch.write(
        "data/deep/er/2.nt.gz",
        gzip("<http://example.org/2> <http://example.org/p> \"2\" .\n"),
    );
    scratch.write("data/readme.txt", "not RDF");
    scratch.write("data/.hidden.nt", "not RDF either");
    let report = scratch
        .run(&["load", "--store", "s", "data", "--report", "json"])
        .succeeds()
        .json();
    assert_eq!(report["files"], 2, "{report:#}");
    assert_eq!(scratch.quads("s"), 2);
}

#[test]
fn blank_nodes_belong_to_their_file() {
    let scratch = Scratch::new();
    let text = "_:x <http://example.org/p> \"1\" .\n_:x <http://example.org/p> \"2\" .\n";
    scratch.write("a.nt", text);
    scratch.write("b.nt", text);
    scratch
        .run(&["load", "--store", "s", "a.nt", "b.nt"])
        .succeeds();
    assert_eq!(scratch.quads("s"), 4);
    let query = "SELECT DISTINCT ?s { ?s <http://example.org/p> ?o }";
    let answer = scratch.run(&["query", "--store", "s", query]).succeeds();
    assert_eq!(answer.out.lines().count(), 3, "{answer:#?}");
}

#[test]
fn standard_input_needs_a_format_and_may_be_compressed() {
    let scratch = Scratch::new();
    scratch
        .run_with_input(&["load", "--store", "s", "-"], SMALL.as_bytes())
        .fails(&["standard input", "--format"]);
    let run = scratch.run_with_input(
        &["load", "--store", "s", "--format", "nq", "-", "-"],
        SMALL.as_bytes(),
    );
    run.fails(&["standard input", "once"]);
    assert!(
        !scratch.exists("s"),
        "a load that cannot begin makes no store"
    );
    scratch
        .run_with_input(
            &["load", "--store", "s", "--format", "nq", "-"],
            SMALL.as_bytes(),
        )
        .succeeds();
    assert_eq!(scratch.quads("s"), 3);
    scratch
        .run_with_input(
            &["load", "--store", "t", "--format", "nq", "-"],
            &gzip(SMALL),
        )
        .succeeds();
    assert_eq!(scratch.quads("t"), 3);
}

#[test]
fn the_format_option_wins_over_the_name() {
    let scratch = Scratch::new();
    scratch.write("data.txt", SMALL);
    scratch.write("data.nt", "@prefix : <http://example.org/> . :a :p :b .");
    scratch
        .run(&["load", "--store", "s", "data.txt"])
        .fails(&["data.txt", "--format"]);
    scratch
        .run(&["load", "--store", "s", "--format", "nq", "data.txt"])
        .succeeds();
    assert_eq!(scratch.quads("s"), 3);
    scratch
        .run(&["load", "--store", "t", "--format", "ttl", "data.nt"])
        .succeeds();
    assert_eq!(scratch.quads("t"), 1);
}

#[test]
fn graph_takes_the_statements_that_name_none() {
    let scratch = Scratch::new();
    scratch.write("small.nq", SMALL);
    scratch
        .run(&[
            "load",
            "--store",
            "s",
            "--graph",
            "http://example.org/mine",
            "small.nq",
        ])
        .succeeds();
    let dump = scratch.dump("s");
    let ends = |end: &str| dump.iter().filter(|line| line.ends_with(end)).count();
    assert_eq!(ends("<http://example.org/mine> ."), 2, "{dump:#?}");
    assert_eq!(ends("<http://example.org/g> ."), 1, "{dump:#?}");
    assert_eq!(scratch.info("s")["named_graphs"], 2);
}

#[test]
fn relative_iris_are_resolved_against_the_base_or_the_file() {
    let scratch = Scratch::new();
    let text = "<a> <#p> </b> .";
    scratch.write("data.ttl", text);
    scratch
        .run(&[
            "load",
            "--store",
            "s",
            "--base",
            "http://example.org/x/y",
            "data.ttl",
        ])
        .succeeds();
    let expected = "<http://example.org/x/a> <http://example.org/x/y#p> <http://example.org/b> .";
    assert_eq!(scratch.dump("s"), [expected]);
    scratch
        .run(&["load", "--store", "t", "data.ttl"])
        .succeeds();
    let dump = scratch.dump("t");
    assert!(dump[0].starts_with("<file:///"), "{dump:#?}");
    assert!(dump[0].contains("/data.ttl#p>"), "{dump:#?}");
    let run = scratch.run_with_input(
        &["load", "--store", "u", "--format", "ttl", "-"],
        text.as_bytes(),
    );
    run.fails(&["standard input:1:"]);
}

#[test]
fn lenient_keeps_what_only_the_rfcs_forbid() {
    let scratch = Scratch::new();
    scratch.write(
        "data.nt",
        "<http://example.org/a b> <http://example.org/p> \"x\"@toolonglanguage .\n",
    );
    scratch
        .run(&["load", "--store", "s", "data.nt"])
        .fails(&["data.nt:1:"]);
    let fits_the_grammar =
        "<http://example.org/a> <http://example.org/p> \"x\"@toolonglanguage .\n";
    scratch.write("data.nt", fits_the_grammar);
    scratch
        .run(&["load", "--store", "s", "data.nt"])
        .fails(&["data.nt:1:"]);
    assert_eq!(scratch.quads("s"), 0);
    let report = scratch
        .run(&[
            "load",
            "--store",
            "s",
            "--lenient",
            "data.nt",
            "--report",
            "json",
        ])
        .succeeds()
        .json();
    assert_eq!(report["lenient_statements"], 1, "{report:#}");
    assert_eq!(scratch.dump("s"), [fits_the_grammar.trim_end()]);
}

#[test]
fn bad_statements_are_skipped_counted_shown_and_written_down() {
    let scratch = Scratch::new();
    let mut text = many(20);
    text.push_str("this is no statement\n");
    text.push_str(&many(25));
    text.push_str("<http://example.org/a> <http://example.org/p> \"open .\n");
    scratch.write("data.nt", text);
    let arguments = [
        "load",
        "--store",
        "s",
        "--on-error",
        "skip",
        "--rejects",
        "rejects.txt",
        "data.nt",
    ];
    let run = scratch.run(&arguments).succeeds();
    assert!(run.err.contains("rejected 2"), "{run:#?}");
    assert!(run.err.contains("rejected data.nt:21:1:"), "{run:#?}");
    assert!(run.err.contains("rejected data.nt:47:"), "{run:#?}");
    assert_eq!(scratch.quads("s"), 25);
    let rejects = scratch.read("rejects.txt");
    let lines: Vec<&str> = rejects.lines().collect();
    assert_eq!(lines.len(), 4, "{rejects}");
    assert!(lines[0].starts_with("# data.nt:21:1: "), "{rejects}");
    assert_eq!(lines[1], "this is no statement");
    assert!(lines[2].starts_with("# data.nt:47:"), "{rejects}");
    assert_eq!(
        lines[3],
        "<http://example.org/a> <http://example.org/p> \"open ."
    );
}

#[test]
fn the_least_memory_and_any_threads_give_the_same_store() {
    let scratch = Scratch::new();
    scratch.write("data.nt", many(20_000));
    scratch
        .run(&["load", "--store", "plain", "data.nt"])
        .succeeds();
    let expected = scratch.dump("plain");
    assert_eq!(expected.len(), 20_000);
    for (store, options) in [
        ("one", ["--threads", "1", "--memory", "32MiB"].as_slice()),
        (
            "four",
            &["--threads", "4", "--inserters", "3", "--wait", "park"],
        ),
        (
            "parsers",
            &["--threads", "2", "--inserters", "0", "--wait", "spin"],
        ),
    ] {
        let mut arguments = vec!["load", "--store", store, "data.nt"];
        arguments.extend(options);
        scratch.run(&arguments).succeeds();
        assert_eq!(scratch.dump(store), expected, "{options:?}");
    }
}

#[test]
fn the_store_may_come_from_the_environment() {
    let scratch = Scratch::new();
    scratch.write("small.nq", SMALL);
    let output = scratch
        .command(&["load", "small.nq"])
        .env("QUADRILLE_STORE", "s")
        .output();
    assert!(output.expect("the program starts").status.success());
    assert_eq!(scratch.quads("s"), 3);
    // The option wins.
    let output = scratch
        .command(&["load", "--store", "t", "small.nq"])
        .env("QUADRILLE_STORE", "u")
        .output();
    assert!(output.expect("the program starts").status.success());
    assert_eq!(scratch.quads("t"), 3);
    assert!(!scratch.exists("u"));
}
