//! `quadrille lubm`: the generator's destinations give the same data, and the benchmark runs and checks itself.

use crate::support::{Run, Scratch};
use flate2::read::MultiGzDecoder;
use std::fs;
use std::io::Read;
use std::process::Stdio;

/// Statements of one university, repeated ones included, by the benchmark's own log.
const STATEMENTS: usize = 103_074;

#[test]
fn a_file_standard_output_and_split_files_are_the_same_data() {
    let scratch = Scratch::new();
    let generate = |more: &[&str]| {
        let mut arguments = vec!["lubm", "generate", "--universities", "1"];
        arguments.extend(more);
        scratch.run(&arguments).succeeds()
    };
    let run = generate(&["--out", "lubm.nt"]);
    assert_eq!(run.out, "");
    assert!(
        run.err.contains(&format!("{STATEMENTS} statements")),
        "{}",
        run.err
    );
    let file = scratch.read("lubm.nt");
    assert_eq!(file.lines().count(), STATEMENTS);

    let run = generate(&["--out", "-", "--threads", "1"]);
    assert!(run.out == file, "standard output is not the file");
    generate(&["--out", "split", "--split"]);
    assert_eq!(scratch.files("split"), ["University0.nt"]);
    assert!(
        scratch.read("split/University0.nt") == file,
        "the split file is not the file"
    );

    generate(&["--out", "lubm.nt.gz"]);
    let packed = fs::File::open(scratch.path("lubm.nt.gz")).expect("it is there");
    let mut text = String::new();
    MultiGzDecoder::new(packed)
        .read_to_string(&mut text)
        .expect("it is gzip");
    assert!(text == file, "the packed file is not the file");

    generate(&["--out", "data", "--format", "ttl.zst"]);
    let packed = fs::File::open(scratch.path("data")).expect("it is there");
    let turtle = zstd::decode_all(packed).expect("it is Zstandard");
    assert!(
        turtle.starts_with(b"@prefix"),
        "{}",
        String::from_utf8_lossy(&turtle[..80])
    );

    let run = generate(&["--out", "-", "--seed", "7"]);
    assert!(run.out != file, "another seed gives other data");
    let run = generate(&["--out", "-", "--start", "3"]);
    assert!(
        run.out.contains("www.University3.edu"),
        "the fourth university is number 3"
    );
}

#[test]
fn the_generator_feeds_the_loader_through_a_pipe() {
    let scratch = Scratch::new();
    let mut generate = scratch
        .command(&["lubm", "generate", "--universities", "1", "--out", "-"])
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let pipe = generate.stdout.take().expect("it is piped");
    let load = scratch
        .command(&[
            "load", "--store", "s", "--format", "nt", "-", "--report", "json",
        ])
        .stdin(pipe)
        .output()
        .expect("the program starts");
    assert!(generate.wait().expect("it ends").success());
    let report = Run::of(load).succeeds_silently().json();
    assert_eq!(report["statements"], STATEMENTS, "{report:#}");
    assert_eq!(scratch.info("s")["quads"], report["quads_new"]);
}

#[test]
fn the_benchmark_checks_its_answers() {
    let scratch = Scratch::new();
    let arguments = [
        "lubm",
        "bench",
        "--universities",
        "1",
        "--warm",
        "1",
        "--directory",
        "bench",
        "--report",
        "json",
        "--html",
        "report.html",
        // Nobody is there: that is no failure of ours, and is shown.
        "--peer",
        "gone=http://127.0.0.1:9/<sparql>?a&b",
    ];
    let report = scratch.run(&arguments).succeeds_silently().json();
    let peer = &report["peers"][0];
    assert_eq!(
        (&peer["name"], &peer["ask_seconds"]),
        (&"gone".into(), &serde_json::Value::Null)
    );
    let html = scratch.read("report.html");
    assert!(
        html.contains("&lt;sparql&gt;?a&amp;b: <span class=\"wrong\">ASK {}"),
        "{html}"
    );
    let queries = report["queries"].as_array().expect("a list");
    assert_eq!(queries.len(), 14, "{report:#}");
    for query in queries {
        assert_eq!(query["verdict"], "right", "{query:#}");
    }
    assert_eq!(queries[0]["rows"], 4, "{report:#}");
    // The ontology has 215 triples.
    assert_eq!(report["load"]["statements"], STATEMENTS + 215, "{report:#}");
    assert_eq!(report["closure"]["triples"], 137_931, "{report:#}");
    assert_eq!(
        scratch.quads("bench/store"),
        report["quads"].as_u64().expect("a number")
    );
    // A second run into the same store would measure something else.
    scratch.run(&arguments).fails(&["has quads already"]);
}

#[test]
fn what_cannot_be_generated() {
    let scratch = Scratch::new();
    scratch
        .run(&["lubm", "generate", "--universities", "0", "--out", "x.nt"])
        .fails(&["0 universities"]);
    scratch
        .run(&[
            "lubm",
            "generate",
            "--universities",
            "1",
            "--out",
            "missing/x.nt",
        ])
        .fails(&["missing/x.nt"]);
    scratch
        .run(&[
            "lubm",
            "generate",
            "--universities",
            "1",
            "--split",
            "--out",
            "-",
        ])
        .fails(&["--split", "--out"]);
    let arguments = [
        "lubm",
        "generate",
        "--universities",
        "1",
        "--format",
        "rdf",
        "--out",
        "x.nt",
    ];
    scratch
        .run(&arguments)
        .wrong_usage(&["--format", "\"rdf\""]);
    assert!(scratch.files(".").is_empty(), "{:?}", scratch.files("."));
}
