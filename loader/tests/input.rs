//! Input: compression and truncation, discovery, byte-order marks, line ends, long lines, files that change,
//! blank node scopes, threads.

mod common;

use common::{Collector, parse_bytes, parse_inputs, reader};
use oxrdf::NamedNode;
use quadrille_loader::error::LoadError;
use quadrille_loader::input::{
    Compression, Format, InputFile, InputOptions, Location, SliceSource, Work, discover,
};
use quadrille_loader::parse::{ParseCounts, ParseOptions, StatementParser};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

fn statements(range: std::ops::Range<u32>) -> String {
    let mut text = Vec::new();
    for number in range {
        writeln!(
            text,
            "<http://a/s{number}> <http://a/p> \"value {number}\" ."
        )
        .unwrap();
    }
    String::from_utf8(text).unwrap()
}

fn compress(compression: Compression, bytes: &[u8]) -> Vec<u8> {
    match compression {
        Compression::Plain => bytes.to_vec(),
        Compression::Gzip => {
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Bzip2 => {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Xz => {
            let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Zstd => zstd::encode_all(bytes, 1).unwrap(),
    }
}

const COMPRESSIONS: [(Compression, &str); 4] = [
    (Compression::Gzip, "gz"),
    (Compression::Bzip2, "bz2"),
    (Compression::Xz, "xz"),
    (Compression::Zstd, "zst"),
];

fn file(path: &Path) -> InputFile {
    InputFile::from_path(path, None, 0).unwrap()
}

fn load(inputs: Vec<InputFile>) -> Result<(ParseCounts, Collector), LoadError> {
    let mut collector = Collector {
        scoped: true,
        ..Collector::default()
    };
    let options = InputOptions::default();
    let counts = parse_inputs(inputs, &options, ParseOptions::default(), &mut collector)?;
    Ok((counts, collector))
}

#[test]
fn every_member_of_a_compressed_file_is_read() {
    let directory = tempfile::tempdir().unwrap();
    // Small enough to be read whole by one thread, and large enough to be cut by a reader thread.
    for count in [100, 60_000] {
        for (compression, extension) in COMPRESSIONS {
            let mut bytes = compress(compression, statements(0..count).as_bytes());
            bytes.extend(compress(compression, b""));
            bytes.extend(compress(
                compression,
                statements(count..count + 5).as_bytes(),
            ));
            let path = directory.path().join(format!("data.nt.{extension}"));
            fs::write(&path, &bytes).unwrap();
            let (counts, collector) = load(vec![file(&path)]).unwrap();
            assert_eq!(counts.statements, u64::from(count) + 5, "{extension}");
            assert_eq!(collector.quads.len(), count as usize + 5);
            // The same without a name that tells.
            let (counts, _) = load(vec![reader(&bytes, Format::NTriples)]).unwrap();
            assert_eq!(
                counts.statements,
                u64::from(count) + 5,
                "{extension} sniffed"
            );
        }
    }
}

#[test]
fn a_truncated_compressed_file_is_an_error_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    for (compression, extension) in COMPRESSIONS {
        let first = compress(compression, statements(0..2_000).as_bytes());
        let whole = [
            first.clone(),
            compress(compression, statements(2_000..4_000).as_bytes()),
        ]
        .concat();
        let path = directory.path().join(format!("cut.nt.{extension}"));
        let lengths = (0..24)
            .map(|part| whole.len() * part / 24)
            .chain(first.len() - 12..first.len() + 12)
            .chain(whole.len() - 12..whole.len());
        for length in lengths {
            // Cut between two members, it is a whole file.
            let complete = length == first.len();
            fs::write(&path, &whole[..length]).unwrap();
            match load(vec![file(&path)]) {
                Ok((counts, _)) => {
                    assert!(complete, "{extension}: {length} bytes: {counts:?}");
                    assert_eq!(counts.statements, 2_000);
                }
                Err(error) => {
                    assert!(!complete, "{extension}: {length} bytes: {error}");
                    let message = error.to_string();
                    assert!(message.contains("cut.nt"), "{message}");
                    assert!(message.contains("truncated"), "{message}");
                }
            }
        }
    }
}

#[test]
fn damaged_compressed_bytes_are_an_error() {
    for (compression, extension) in COMPRESSIONS {
        let mut bytes = compress(compression, statements(0..3_000).as_bytes());
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x55;
        let mut input = reader(&bytes, Format::NTriples);
        input.compression = Some(compression);
        assert!(load(vec![input]).is_err(), "{extension}");
    }
}

#[test]
fn an_error_of_the_stored_input_is_told_as_such() {
    struct Failing(io::Cursor<Vec<u8>>);
    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::other("the disk is on fire")),
                read => Ok(read),
            }
        }
    }
    for (compression, _) in COMPRESSIONS.into_iter().chain([(Compression::Plain, "")]) {
        let bytes = compress(compression, statements(0..10).as_bytes());
        let half = bytes[..bytes.len() / 2].to_vec();
        for format in [
            Format::NTriples,
            Format::Turtle,
            Format::RdfXml,
            Format::JsonLd,
        ] {
            let stream = Failing(io::Cursor::new(half.clone()));
            let mut input = InputFile::from_reader("stream", Box::new(stream), format, 0);
            input.compression = Some(compression);
            let message = load(vec![input]).unwrap_err().to_string();
            // Half of some N-Triples is no RDF/XML or JSON: that may be said first.
            let expected = message == "stream: read: the disk is on fire"
                || !matches!(format, Format::NTriples | Format::Turtle);
            assert!(expected, "{compression:?} {format:?}: {message}");
        }
    }
}

#[test]
fn byte_order_marks_line_ends_and_missing_ends_are_fine() {
    let line = "<http://a/s> <http://a/p> \"o\" .";
    for format in [
        Format::NTriples,
        Format::NQuads,
        Format::Turtle,
        Format::TriG,
    ] {
        for text in [
            format!("\u{FEFF}{line}\n"),
            format!("\u{FEFF}{line}"),
            format!("{line}\r\n{line}\r\n"),
            format!("{line}\r{line}"),
            format!("\n\n{line}\n# {line}\n\n"),
            format!("{line}\n{line}"),
        ] {
            let (counts, _) = load(vec![reader(text.as_bytes(), format)]).unwrap();
            let expected = text.matches(line).count() - text.matches("# <").count();
            assert_eq!(counts.statements, expected as u64, "{format:?}: {text:?}");
        }
        for empty in ["", "\u{FEFF}", "\n", "# nothing"] {
            let (counts, _) = load(vec![reader(empty.as_bytes(), format)]).unwrap();
            assert_eq!(counts.statements, 0, "{format:?}: {empty:?}");
        }
    }
    let xml = "\u{FEFF}<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"/>";
    assert!(load(vec![reader(xml.as_bytes(), Format::RdfXml)]).is_ok());
    let json = "\u{FEFF}{\"@id\": \"http://a/s\", \"http://a/p\": \"o\"}";
    let (counts, _) = load(vec![reader(json.as_bytes(), Format::JsonLd)]).unwrap();
    assert_eq!(counts.statements, 1);
    // In the middle of a document it is none.
    let text = format!("{line}\n\u{FEFF}{line}\n");
    assert!(load(vec![reader(text.as_bytes(), Format::NTriples)]).is_err());
}

#[test]
fn a_line_longer_than_a_slice_is_read_and_beyond_the_limit_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("long.nt");
    let long = "x".repeat(50_000);
    let text = format!(
        "{}<http://a/s> <http://a/p> \"{long}\" .\n{}",
        statements(0..3),
        statements(3..6)
    );
    fs::write(&path, &text).unwrap();
    let offset = statements(0..3).len() as u64;
    for limit in [1 << 20, 20_000] {
        for input in [file(&path), reader(text.as_bytes(), Format::NTriples)] {
            let options = InputOptions {
                slice_size: 64,
                line_limit: limit,
                ..InputOptions::default()
            };
            let mut collector = Collector::default();
            let result = parse_inputs(
                vec![input],
                &options,
                ParseOptions::default(),
                &mut collector,
            );
            if limit > long.len() {
                assert_eq!(result.unwrap().statements, 7);
                continue;
            }
            let Err(LoadError::LineTooLong { offset: told, .. }) = result else {
                panic!("{result:?}");
            };
            assert_eq!(told, offset);
        }
    }
}

#[test]
fn a_file_that_shrinks_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    for extension in ["nt", "ttl"] {
        let path = directory.path().join(format!("shrinks.{extension}"));
        fs::write(&path, statements(0..20_000)).unwrap();
        let source = SliceSource::new(
            vec![file(&path)],
            &InputOptions {
                slice_size: 10_000,
                ..InputOptions::default()
            },
        );
        let mut parser = StatementParser::new(ParseOptions::default());
        let mut collector = Collector::default();
        let mut error = None;
        let mut cut = false;
        while error.is_none() {
            match source.next_work() {
                Ok(Some(work)) => {
                    parser.parse(work, &mut collector).unwrap();
                }
                Ok(None) => break,
                Err(found) => error = Some(found),
            }
            if !cut {
                fs::OpenOptions::new()
                    .write(true)
                    .open(&path)
                    .unwrap()
                    .set_len(300_000)
                    .unwrap();
                cut = true;
            }
        }
        let error = error.expect("an error").to_string();
        assert!(error.contains("shrank while it was read"), "{error}");
    }
}

#[test]
fn what_a_file_grows_by_is_passed_over() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("grows.nt");
    fs::write(&path, statements(0..2_000)).unwrap();
    let source = SliceSource::new(
        vec![file(&path)],
        &InputOptions {
            slice_size: 1_000,
            ..InputOptions::default()
        },
    );
    let mut parser = StatementParser::new(ParseOptions::default());
    let mut collector = Collector::default();
    let mut counts = ParseCounts::default();
    while let Some(work) = source.next_work().unwrap() {
        counts += parser.parse(work, &mut collector).unwrap();
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(statements(0..1).as_bytes()).unwrap();
    }
    assert_eq!(counts.statements, 2_000);
}

#[test]
fn blank_nodes_belong_to_their_document() {
    let text = "_:a <http://a/p> _:b .\n_:b <http://a/p> \"escaped \\n\" .\n";
    let turtle = "_:a <http://a/p> _:b . _:b <http://a/p> [] .";
    let xml =
        "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:e=\"http://a/\">
        <rdf:Description rdf:nodeID=\"a\"><e:p rdf:nodeID=\"b\"/></rdf:Description></rdf:RDF>";
    let json = "[{\"@id\": \"_:a\", \"http://a/p\": {\"@id\": \"_:b\"}}]";
    let inputs = [
        (text, Format::NTriples),
        (text, Format::NQuads),
        (turtle, Format::Turtle),
        (xml, Format::RdfXml),
        (json, Format::JsonLd),
    ];
    let inputs = inputs
        .into_iter()
        .enumerate()
        .map(|(document, (text, format))| InputFile {
            document: document as u32,
            ..reader(text.as_bytes(), format)
        });
    let (_, collector) = load(inputs.collect()).unwrap();
    for document in 0..5 {
        let subject = format!("_:d{document}.a <http://a/p> _:d{document}.b");
        let found = collector
            .quads
            .iter()
            .filter(|quad| quad.to_string() == subject)
            .count();
        assert_eq!(found, 1, "{subject}");
    }
    // The fast lexer and its fallback mean the same node.
    let fallback = collector
        .quads
        .iter()
        .any(|quad| quad.to_string().starts_with("_:d0.b "));
    assert!(fallback);
}

#[test]
fn a_graph_can_be_given() {
    let options = || ParseOptions {
        graph: Some(NamedNode::new_unchecked("http://g")),
        ..ParseOptions::default()
    };
    let text = "<http://a/s> <http://a/p> \"1\" .\n<http://a/s> <http://a/p> \"2\" <http://h> .\n";
    let mut collector = Collector::default();
    parse_bytes(text.as_bytes(), Format::NQuads, options(), &mut collector).unwrap();
    let graphs: Vec<_> = collector
        .quads
        .iter()
        .map(|quad| quad.graph_name.to_string())
        .collect();
    assert_eq!(graphs, ["<http://g>", "<http://h>"]);
    let mut collector = Collector::default();
    let turtle = b"<http://a/s> <http://a/p> 1 .";
    parse_bytes(turtle, Format::Turtle, options(), &mut collector).unwrap();
    assert_eq!(collector.quads[0].graph_name.to_string(), "<http://g>");
}

#[test]
fn relative_iris_stand_on_the_base() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a file.ttl");
    fs::write(&path, "<#x> <p> <> .").unwrap();
    let (_, collector) = load(vec![file(&path)]).unwrap();
    let root = directory.path().display();
    let expected =
        format!("<file://{root}/a%20file.ttl#x> <file://{root}/p> <file://{root}/a%20file.ttl>");
    assert_eq!(collector.quads[0].to_string(), expected);

    let options = InputOptions {
        base: Some(NamedNode::new_unchecked("http://b/c/d")),
        ..InputOptions::default()
    };
    let mut collector = Collector::default();
    parse_inputs(
        vec![file(&path)],
        &options,
        ParseOptions::default(),
        &mut collector,
    )
    .unwrap();
    assert_eq!(
        collector.quads[0].to_string(),
        "<http://b/c/d#x> <http://b/c/p> <http://b/c/d>"
    );

    // A stream has no base of its own.
    assert!(load(vec![reader(b"<#x> <p> <> .", Format::Turtle)]).is_err());
}

#[test]
fn errors_tell_file_line_column_and_text() {
    let directory = tempfile::tempdir().unwrap();
    for (extension, text, place, excerpt) in [
        (
            "nt",
            "<http://a/s> <http://a/p> \"x\" .\n<http://a/s> <http://a/p> <bad> .\n",
            ":2:27: ",
            "<http://a/s> <http://a/p> <bad> .",
        ),
        (
            "ttl",
            "@prefix e: <http://e/> .\n\n e:s e:p f:o .\n",
            ":3:10: ",
            " e:s e:p f:o .",
        ),
        (
            "rdf",
            "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">\n<rdf:Description>\n</x></rdf:RDF>",
            ":3:",
            "",
        ),
        (
            "jsonld",
            "[{\"@id\": \"http://a/s\",\n \"http://a/p\": oh}]",
            ":2:",
            "",
        ),
    ] {
        let path = directory.path().join(format!("bad.{extension}"));
        fs::write(&path, text).unwrap();
        let Err(LoadError::Syntax(reject)) = load(vec![file(&path)]) else {
            panic!("{extension} was accepted");
        };
        let expected = format!("{}{place}", path.display());
        assert!(reject.to_string().starts_with(&expected), "{reject}");
        assert_eq!(String::from_utf8_lossy(&reject.text), excerpt);
    }
}

/// A bad line far into a file that many threads read is numbered right.
#[test]
fn lines_are_numbered_across_slices_and_threads() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("numbered.nt");
    let mut text = String::new();
    let mut expected = BTreeSet::new();
    for line in 1..=30_000_u64 {
        if line % 997 == 0 {
            expected.insert(line);
            text.push_str("this is no statement\n");
        } else if line % 501 == 0 {
            text.push_str("# a comment\r\n");
        } else {
            text.push_str(&statements(line as u32..line as u32 + 1));
        }
    }
    fs::write(&path, &text).unwrap();
    let source = SliceSource::new(
        vec![file(&path)],
        &InputOptions {
            slice_size: 5_000,
            ..InputOptions::default()
        },
    );
    let found = Mutex::new(BTreeSet::new());
    let total = Mutex::new(ParseCounts::default());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut parser = StatementParser::new(ParseOptions::default());
                let mut collector = Collector::skipping();
                while let Some(work) = source.next_work().unwrap() {
                    let counts = parser.parse(work, &mut collector).unwrap();
                    *total.lock().unwrap() += counts;
                }
                let lines = collector.rejects.iter().map(|reject| reject.line);
                found.lock().unwrap().extend(lines);
            });
        }
    });
    assert_eq!(*found.lock().unwrap(), expected);
    assert_eq!(total.lock().unwrap().lines, 30_000);
    let progress = source.progress();
    assert_eq!(progress.total(), Some(text.len() as u64));
    assert_eq!(progress.read(), text.len() as u64);
}

#[test]
fn progress_counts_stored_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.nt.zst");
    fs::write(
        &path,
        compress(Compression::Zstd, statements(0..30_000).as_bytes()),
    )
    .unwrap();
    let length = fs::metadata(&path).unwrap().len();
    let source = SliceSource::new(vec![file(&path)], &InputOptions::default());
    while source.next_work().unwrap().is_some() {}
    assert_eq!(source.progress().total(), Some(length));
    // A document that nobody parses is not read; this one is small, so it may be one.
    assert!(source.progress().read() <= length);
}

#[test]
fn directories_are_searched_for_rdf() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    for name in [
        "b.nt",
        "a.ttl",
        "notes.txt",
        "pom.xml",
        "package.json",
        "c/d.nq.gz",
        "c/e.trig.zst",
        "c/f/g.rdf",
        "c/h.owl",
        "i.jsonld",
        ".hidden.nt",
        ".git/x.nt",
        "archive.gz",
    ] {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let inputs = discover(&[root.to_owned()], None, 7).unwrap();
    let names: Vec<_> = inputs
        .iter()
        .map(|input| match &input.location {
            Location::Path(path) => path.strip_prefix(root).unwrap().display().to_string(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        names,
        [
            "a.ttl",
            "b.nt",
            "c/d.nq.gz",
            "c/e.trig.zst",
            "c/f/g.rdf",
            "c/h.owl",
            "i.jsonld"
        ]
    );
    let documents: Vec<_> = inputs.iter().map(|input| input.document).collect();
    assert_eq!(documents, [7, 8, 9, 10, 11, 12, 13]);
    assert_eq!(inputs[2].format, Format::NQuads);
    assert_eq!(inputs[2].compression, Some(Compression::Gzip));

    // Named itself, a doubtful file is taken; an unknown one needs its format told.
    let xml = discover(&[root.join("pom.xml")], None, 0).unwrap();
    assert_eq!(xml[0].format, Format::RdfXml);
    assert!(discover(&[root.join("notes.txt")], None, 0).is_err());
    let told = discover(&[root.join("notes.txt")], Some(Format::Turtle), 0).unwrap();
    assert_eq!(told[0].format, Format::Turtle);
    assert!(discover(&[PathBuf::from("-")], None, 0).is_err());
    assert!(discover(&[root.join("missing.nt")], None, 0).is_err());
    assert!(discover(&[root.join("c/f")], None, 0).is_ok());
    fs::create_dir(root.join("empty")).unwrap();
    assert!(discover(&[root.join("empty")], None, 0).is_err());
}

#[test]
fn remote_contexts_are_refused_with_the_reason() {
    let json = br#"{"@context": "https://schema.org/", "@id": "http://a/s", "name": "x"}"#;
    let error = load(vec![reader(json, Format::JsonLd)])
        .unwrap_err()
        .to_string();
    assert!(error.contains("remote contexts are not fetched"), "{error}");
}

#[test]
fn deeply_nested_documents_do_not_overflow_the_stack() {
    let xml = format!(
        "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:e=\"http://a/\">{}",
        "<e:a><e:b>".repeat(50_000)
    );
    let json = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let objects = format!(
        "{}1{}",
        "{\"http://a/p\":".repeat(100_000),
        "}".repeat(100_000)
    );
    for (text, format) in [
        (xml, Format::RdfXml),
        (json, Format::JsonLd),
        (objects, Format::JsonLd),
    ] {
        let error = load(vec![reader(text.as_bytes(), format)])
            .unwrap_err()
            .to_string();
        assert!(error.contains("nested more than"), "{format:?}: {error}");
    }
}

/// A document that ends too early is an error in every format that has an end.
#[test]
fn truncated_documents_are_errors() {
    let xml =
        "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:e=\"http://a/\">
        <rdf:Description rdf:about=\"http://a/s\"><e:p>o</e:p></rdf:Description></rdf:RDF>";
    let json = "{\"@id\": \"http://a/s\", \"http://a/p\": [\"o\"]}";
    let turtle = "@prefix e: <http://a/> .\ne:s e:p \"o\"";
    let trig = "<http://a/g> { <http://a/s> <http://a/p> \"o\" ";
    for (text, format) in [(xml, Format::RdfXml), (json, Format::JsonLd)] {
        assert!(
            load(vec![reader(text.as_bytes(), format)]).is_ok(),
            "{format:?}"
        );
        for length in 0..text.len() {
            let cut = &text.as_bytes()[..length];
            assert!(
                load(vec![reader(cut, format)]).is_err(),
                "{format:?}: {length} bytes"
            );
        }
    }
    assert!(load(vec![reader(turtle.as_bytes(), Format::Turtle)]).is_err());
    assert!(load(vec![reader(trig.as_bytes(), Format::TriG)]).is_err());
}

#[test]
fn prefixes_are_remembered() {
    let mut parser = StatementParser::new(ParseOptions::default());
    let mut collector = Collector::default();
    let xml =
        "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:x=\"http://x/\">
        <rdf:Description rdf:about=\"http://a/s\"><x:p>o</x:p></rdf:Description></rdf:RDF>";
    let source = SliceSource::new(
        vec![
            reader(b"@prefix t: <http://t/> . t:s t:p t:o .", Format::Turtle),
            reader(xml.as_bytes(), Format::RdfXml),
            reader(
                br#"{"@context": {"j": "http://j/"}, "@id": "j:s", "j:p": "o"}"#,
                Format::JsonLd,
            ),
            reader(
                b"PREFIX t: <http://other/> PREFIX u: <http://u/>",
                Format::TriG,
            ),
        ],
        &InputOptions::default(),
    );
    while let Some(work) = source.next_work().unwrap() {
        parser.parse(work, &mut collector).unwrap();
    }
    let prefixes = parser.prefixes();
    for (prefix, iri) in [
        ("t", "http://t/"),
        ("x", "http://x/"),
        ("j", "http://j/"),
        ("u", "http://u/"),
    ] {
        assert_eq!(
            prefixes.get(prefix).map(String::as_str),
            Some(iri),
            "{prefix}"
        );
    }
}

/// Work that nobody takes ends its reader thread, and does not hang.
#[test]
fn a_source_can_be_dropped_halfway() {
    let input = reader(statements(0..50_000).as_bytes(), Format::NTriples);
    let source = SliceSource::new(
        vec![input],
        &InputOptions {
            slice_size: 1_000,
            ..InputOptions::default()
        },
    );
    let Some(Work::Slice(slice)) = source.next_work().unwrap() else {
        panic!("no slice");
    };
    drop(source);
    assert!(slice.bytes().starts_with(b"<http://a/s0>"));
}

/// Who waits for a stream that gives nothing is woken when the source is stopped.
#[test]
fn a_waiting_thread_can_be_stopped() {
    struct Silent(std::sync::mpsc::Receiver<()>);
    impl Read for Silent {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            // Until the test ends.
            self.0.recv().ok();
            Ok(0)
        }
    }
    let (ending, silent) = std::sync::mpsc::channel();
    let input = InputFile::from_reader("pipe", Box::new(Silent(silent)), Format::NTriples, 0);
    let source = SliceSource::new(vec![input], &InputOptions::default());
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| source.next_work());
        source.stop();
        let result = waiting.join().unwrap();
        assert!(matches!(result, Err(LoadError::Stopped)), "{result:?}");
    });
    assert!(matches!(source.next_work(), Err(LoadError::Stopped)));
    drop(ending);
}

/// Compressed files run side by side, plain ones between them, and every statement comes once.
#[test]
fn many_inputs_in_many_threads_are_read_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut inputs = Vec::new();
    for document in 0..12_u32 {
        let text = statements(document * 10_000..document * 10_000 + 8_000);
        let (compression, extension) = match document % 3 {
            0 => (Compression::Zstd, "nt.zst"),
            1 => (Compression::Plain, "nt"),
            _ => (Compression::Gzip, "ttl.gz"),
        };
        let path = directory.path().join(format!("{document}.{extension}"));
        fs::write(&path, compress(compression, text.as_bytes())).unwrap();
        let mut input = file(&path);
        input.document = document;
        inputs.push(input);
    }
    // A stream among them, which is not known to be small.
    inputs.push(reader(
        statements(500_000..530_000).as_bytes(),
        Format::NTriples,
    ));
    let source = SliceSource::new(
        inputs,
        &InputOptions {
            slice_size: 20_000,
            ..InputOptions::default()
        },
    );
    let subjects = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut parser = StatementParser::new(ParseOptions::default());
                let mut collector = Collector::default();
                while let Some(work) = source.next_work().unwrap() {
                    parser.parse(work, &mut collector).unwrap();
                }
                let found = collector.quads.iter().map(|quad| quad.subject.to_string());
                subjects.lock().unwrap().extend(found);
            });
        }
    });
    let mut subjects = subjects.into_inner().unwrap();
    assert_eq!(subjects.len(), 12 * 8_000 + 30_000);
    subjects.sort_unstable();
    subjects.dedup();
    assert_eq!(subjects.len(), 12 * 8_000 + 30_000);
}
