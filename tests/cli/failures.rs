//! What goes wrong: each time one line that says where and why, exit code 1, and a store that is as it was.

use crate::support::{SMALL, Scratch, many};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

#[test]
fn a_bad_statement_stops_the_load_at_file_line_and_column() {
    let scratch = Scratch::with_small_store();
    let before = scratch.dump("s");
    let good = many(3);
    for (name, bad, place) in [
        (
            "bad.nt",
            "<http://example.org/a> <http://example.org/p> <http://example.org/b c> .\n",
            "bad.nt:4:",
        ),
        (
            "bad.nq",
            "<http://example.org/a> <http://example.org/p> \"open .\n",
            "bad.nq:4:",
        ),
        (
            "bad.ttl",
            "<http://example.org/a> unknown:p \"x\" .\n",
            "bad.ttl:4:",
        ),
        (
            "bad.trig",
            "<http://example.org/g> { <http://example.org/a> \n 5 }\n",
            "bad.trig:5:",
        ),
        ("bad.nt", "_:a <http://example.org/p> _:b", "bad.nt:4:"),
    ] {
        scratch.write(name, format!("{good}{bad}"));
        scratch.run(&["load", "--store", "s", name]).fails(&[place]);
        // A good file before it makes no difference.
        scratch.write("good.nt", &good);
        scratch
            .run(&["load", "--store", "s", "good.nt", name])
            .fails(&[place]);
    }
    scratch.write("bad.rdf", "<?xml version=\"1.0\"?>\n<rdf:RDF>");
    scratch
        .run(&["load", "--store", "s", "bad.rdf"])
        .fails(&["bad.rdf:2:"]);
    scratch.write("bad.jsonld", "{\n\"@id\": }");
    scratch
        .run(&["load", "--store", "s", "bad.jsonld"])
        .fails(&["bad.jsonld:2:"]);
    scratch.write(
        "bad.nt",
        b"<http://example.org/a> <http://example.org/p> \"\xFF\" .\n",
    );
    scratch
        .run(&["load", "--store", "s", "bad.nt"])
        .fails(&["bad.nt:1:"]);
    assert_eq!(scratch.dump("s"), before);
    // Nothing is left over.
    let segments = scratch
        .files("s")
        .iter()
        .filter(|name| name.ends_with("predicates"))
        .count();
    assert!(segments <= 1, "{:#?}", scratch.files("s"));
    assert!(
        !scratch
            .files("s")
            .iter()
            .any(|name| name.starts_with("temporary/"))
    );
}

#[test]
fn inputs_that_are_missing_or_no_rdf() {
    let scratch = Scratch::new();
    scratch
        .run(&["load", "--store", "s", "missing.nt"])
        .fails(&["missing.nt", "No such file"]);
    fs::create_dir(scratch.path("empty")).expect("a directory");
    scratch
        .run(&["load", "--store", "s", "empty"])
        .fails(&["empty", "no RDF file"]);
    scratch.write("data.unknown", SMALL);
    scratch
        .run(&["load", "--store", "s", "data.unknown"])
        .fails(&["data.unknown", "--format"]);
    assert!(
        !scratch.exists("s"),
        "a load that cannot begin makes no store"
    );
}

#[test]
fn a_truncated_compressed_file_is_no_end_of_file() {
    let scratch = Scratch::new();
    let text = many(5_000);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("memory takes it");
    let gzip = encoder.finish().expect("memory takes it");
    let mut encoder = zstd::Encoder::new(Vec::new(), 0).expect("memory is there");
    encoder
        .include_checksum(true)
        .expect("an option that it has");
    encoder.write_all(text.as_bytes()).expect("memory takes it");
    let zstd = encoder.finish().expect("memory takes it");
    for (name, bytes) in [("data.nt.gz", gzip), ("data.nt.zst", zstd)] {
        for length in [bytes.len() - 1, bytes.len() / 2, 11] {
            scratch.write(name, &bytes[..length]);
            scratch
                .run(&["load", "--store", "s", name])
                .fails(&[name, "truncated or damaged"]);
        }
        let mut damaged = bytes.clone();
        damaged[bytes.len() / 2] ^= 0x40;
        scratch.write(name, damaged);
        scratch.run(&["load", "--store", "s", name]).fails(&[name]);
        assert_eq!(scratch.quads("s"), 0, "{name}");
        scratch.write(name, &bytes);
        let store = format!("whole-{name}");
        scratch.run(&["load", "--store", &store, name]).succeeds();
        assert_eq!(scratch.quads(&store), 5_000, "{name}");
    }
}

#[test]
fn a_store_that_is_missing_is_made_by_nobody_but_load() {
    let scratch = Scratch::new();
    for arguments in [
        ["query", "--store", "s", "ASK { ?s ?p ?o }"].as_slice(),
        &["info", "--store", "s"],
        &["dump", "--store", "s"],
        &["verify", "--store", "s"],
    ] {
        let run = scratch.run(arguments).fails(&["/s: no such directory"]);
        assert_eq!(run.out, "", "{arguments:?}");
        assert!(!scratch.exists("s"), "{arguments:?}");
    }
}

#[test]
fn a_directory_of_somebody_else_is_left_alone() {
    let scratch = Scratch::new();
    scratch.write("s/letter.txt", "dear");
    scratch.write("small.nq", SMALL);
    for arguments in [
        ["load", "--store", "s", "small.nq"].as_slice(),
        &["query", "--store", "s", "ASK { ?s ?p ?o }"],
        &["info", "--store", "s"],
        &["dump", "--store", "s"],
    ] {
        scratch.run(arguments).fails(&["letter.txt", "not a store"]);
    }
    assert_eq!(scratch.files("s"), ["letter.txt"]);
    // Nor is a file a store.
    scratch
        .run(&["load", "--store", "small.nq", "small.nq"])
        .fails(&["small.nq"]);
    scratch
        .run(&["info", "--store", "small.nq"])
        .fails(&["small.nq"]);
    assert_eq!(scratch.read("small.nq"), SMALL);
}

#[test]
fn a_store_of_another_format_version_is_refused_by_name_of_the_versions() {
    let scratch = Scratch::with_small_store();
    let manifest = scratch.read("s/manifest");
    let (first, rest) = manifest.split_once('\n').expect("two lines");
    let words: Vec<&str> = first.split(' ').collect();
    assert_eq!(words[..2], ["quadrille-manifest", "1"], "{first}");
    scratch.write(
        "s/manifest",
        format!("{} 999 {} {}\n{rest}", words[0], words[2], words[3]),
    );
    let files = scratch.files("s");
    for arguments in [
        ["load", "--store", "s", "small.nq"].as_slice(),
        &["query", "--store", "s", "ASK { ?s ?p ?o }"],
        &["info", "--store", "s"],
        &["dump", "--store", "s"],
    ] {
        scratch
            .run(arguments)
            .fails(&["format version 999", "version 1"]);
    }
    let verify = scratch.run(&["verify", "--store", "s"]);
    assert_eq!(verify.code, Some(1), "{verify:#?}");
    assert!(verify.err.contains("format version 999"), "{verify:#?}");
    assert_eq!(scratch.files("s"), files);
    // A manifest with a flipped digit is not one of another version.
    scratch.write(
        "s/manifest",
        manifest.replacen("\"format\"", "\"formae\"", 1),
    );
    scratch
        .run(&["info", "--store", "s"])
        .fails(&["manifest", "damaged"]);
    scratch.write("s/manifest", manifest);
    assert_eq!(scratch.quads("s"), 3);
}

#[test]
fn a_store_that_another_process_writes_is_refused_with_its_name() {
    let scratch = Scratch::with_small_store();
    let holder = quadrille::Store::open(&scratch.path("s")).expect("nobody has it");
    let process = format!("process {}", std::process::id());
    scratch
        .run(&["load", "--store", "s", "small.nq"])
        .fails(&["in use by", &process]);
    drop(holder);
    scratch
        .run(&["load", "--store", "s", "small.nq"])
        .succeeds();
    assert_eq!(
        scratch.info("s")["segments"].as_array().map(Vec::len),
        Some(2)
    );
}

#[test]
fn directories_that_cannot_be_written() {
    let scratch = Scratch::with_small_store();
    fs::create_dir(scratch.path("closed")).expect("a directory");
    let closed = fs::Permissions::from_mode(0o555);
    fs::set_permissions(scratch.path("closed"), closed).expect("ours");
    if OpenOptions::new()
        .create(true)
        .append(true)
        .open(scratch.path("closed/probe"))
        .is_ok()
    {
        eprintln!("skipped: this user (root?) may write everywhere");
        return;
    }
    scratch
        .run(&["load", "--store", "closed/s", "small.nq"])
        .fails(&["closed/s", "Permission denied"]);
    scratch
        .run(&["load", "--store", "closed", "small.nq"])
        .fails(&["closed", "Permission denied"]);
    scratch
        .run(&["dump", "--store", "s", "--out", "closed/out.nq"])
        .fails(&["closed/out.nq", "Permission denied"]);
    let arguments = [
        "lubm",
        "generate",
        "--universities",
        "1",
        "--out",
        "closed/lubm.nt",
    ];
    scratch
        .run(&arguments)
        .fails(&["closed/lubm.nt", "Permission denied"]);
}

#[test]
fn a_rejects_file_that_cannot_be_written_stops_the_load() {
    let scratch = Scratch::with_small_store();
    let arguments = [
        "load",
        "--store",
        "s",
        "--on-error",
        "skip",
        "--rejects",
        "missing/r.txt",
        "small.nq",
    ];
    scratch
        .run(&arguments)
        .fails(&["missing/r.txt", "No such file"]);
    scratch.write("bad.nt", "no statement\n".repeat(10_000));
    let arguments = [
        "load",
        "--store",
        "s",
        "--on-error",
        "skip",
        "--rejects",
        "/dev/full",
        "bad.nt",
    ];
    scratch
        .run(&arguments)
        .fails(&["/dev/full", "No space left"]);
    // Nor may it be one of the inputs, under whatever name.
    let before = scratch.read("bad.nt");
    std::os::unix::fs::symlink(scratch.path("bad.nt"), scratch.path("link.txt")).expect("a link");
    for name in ["bad.nt", "./bad.nt", "link.txt"] {
        let arguments = [
            "load",
            "--store",
            "s",
            "--on-error",
            "skip",
            "--rejects",
            name,
            "small.nq",
            "bad.nt",
        ];
        scratch.run(&arguments).fails(&[name, "is an input"]);
        assert_eq!(scratch.read("bad.nt"), before, "{name}");
    }
    assert_eq!(scratch.quads("s"), 3);
}

/// Results that nobody takes are an error where they are lost (`/dev/full`), and none where the reader has had enough.
#[test]
fn output_that_goes_nowhere() {
    let scratch = Scratch::new();
    scratch.write("many.nt", many(20_000));
    scratch.run(&["load", "--store", "s", "many.nt"]).succeeds();
    for arguments in [
        ["query", "--store", "s", "SELECT ?s ?p ?o { ?s ?p ?o }"].as_slice(),
        &["query", "--store", "s", "ASK { ?s ?p ?o }"],
        &[
            "query",
            "--store",
            "s",
            "--explain",
            "SELECT ?s ?p ?o { ?s ?p ?o }",
        ],
        &[
            "query",
            "--store",
            "s",
            "--results",
            "xml",
            "SELECT ?s ?p ?o { ?s ?p ?o }",
        ],
        &[
            "query",
            "--store",
            "s",
            "--results",
            "table",
            "SELECT ?s ?p ?o { ?s ?p ?o }",
        ],
        &["dump", "--store", "s"],
        &["info", "--store", "s"],
        &["info", "--store", "s", "--json"],
        &["verify", "--store", "s"],
        &["load", "--store", "s", "--report", "json", "many.nt"],
        &["lubm", "generate", "--universities", "1", "--out", "-"],
    ] {
        let full = OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .expect("Linux has it");
        let child = scratch
            .command(arguments)
            .stdout(full)
            .spawn()
            .expect("the program starts");
        let output = child.wait_with_output().expect("the program ends");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
        assert!(error.contains("No space left"), "{arguments:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{arguments:?}: {error}");

        let mut child = scratch.spawn(arguments);
        // A pipe without a reader from the start; what fits into it may be written or not.
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the program ends");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            (output.status.code(), &*error),
            (Some(0), ""),
            "{arguments:?}"
        );
    }
}

#[test]
fn messages_that_nobody_takes_stop_no_load() {
    let scratch = Scratch::new();
    scratch.write("small.nq", SMALL);
    let full = OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("Linux has it");
    let mut command = scratch.command(&["load", "--store", "s", "small.nq"]);
    let output = command
        .stderr(full)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(scratch.quads("s"), 3);
    let full = OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("Linux has it");
    let output = scratch
        .command(&["info", "--store", "t"])
        .stderr(full)
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_rejects_file_that_nobody_reads_any_more_stops_the_load() {
    let scratch = Scratch::with_small_store();
    scratch.write("bad.nt", "no statement\n".repeat(10_000));
    let mut load = scratch
        .command(&[
            "load",
            "--store",
            "s",
            "--on-error",
            "skip",
            "--rejects",
            "/dev/stdout",
            "bad.nt",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    drop(load.stdout.take());
    let status = load.wait().expect("it ends");
    assert_eq!(status.code(), Some(1));
}
