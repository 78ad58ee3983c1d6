//! Loads that must not succeed, or only in part: what they say, and that the store is as it was.

use crate::documents::{Document, Expected, Random};
use crate::stores::{Setup, ShownOnPanic, TINY, check_store, check_tidy, load_documents};
use oxttl::NQuadsParser;
use quadrille_loader::input::{Format, InputFile};
use quadrille_loader::{LoadError, LoadOptions, OnError, load};
use quadrille_store::{Mode, Store, StoreError};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{Cursor, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

const GOOD: &str = "<u:s> <u:p> \"o\" .";
/// Refused in different ways, at different columns.
const BAD: [&str; 6] = [
    "<u:s> <u:p> .",
    "<u:s> <u:p> \"o\"",
    "<u:s> \"p\" <u:o> .",
    "<u:s> <u:p> \"\\x\" .",
    "\"s\" <u:p> <u:o> .",
    "<u:s> <u:p> <not absolute> .",
];

/// What `oxttl` says of a line that stands somewhere in a file.
fn refusal(name: &str, line_number: usize, line: &str) -> String {
    let text = format!("{line}\n");
    let error = NQuadsParser::new()
        .for_slice(text.as_bytes())
        .find_map(Result::err)
        .expect("a bad line");
    // What is missing at the end of a line, `oxttl` misses at the beginning of the next.
    let start = error.location().start;
    let column = if start.line == 0 {
        start.column
    } else {
        line.chars().count() as u64
    };
    format!("{name}:{line_number}:{}: {}", column + 1, error.message())
}

/// A store with something in it, and what that is.
fn store_with_data() -> (Store, BTreeSet<String>) {
    let store = Store::in_memory();
    let document = Document::parse(
        0,
        "<u:a> <u:b> \"c\" .\n<u:a> <u:b> <u:c> <u:g> .\n".to_owned(),
    );
    let mut expected = Expected::default();
    expected.load(std::slice::from_ref(&document));
    load_documents(&store, &[document], Setup::PLAIN).expect("loads");
    (store, expected.quads)
}

fn options(threads: usize) -> LoadOptions {
    Setup {
        threads,
        batch: 8,
        queue: 2,
        ..Setup::PLAIN
    }
    .options()
}

fn write(directory: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, bytes).expect("writes");
    path
}

fn inputs(paths: &[PathBuf]) -> Vec<InputFile> {
    paths
        .iter()
        .enumerate()
        .map(|(number, path)| {
            InputFile::from_path(path, Some(Format::NQuads), number as u32).expect("a format")
        })
        .collect()
}

/// A reader that does something before it gives its first byte.
struct Before<F>(Option<F>, Cursor<Vec<u8>>);

impl<F: FnOnce() + Send> Read for Before<F> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if let Some(first) = self.0.take() {
            first();
        }
        self.1.read(buffer)
    }
}

fn reader_before(first: impl FnOnce() + Send + 'static, text: &str) -> InputFile {
    let reader = Before(Some(first), Cursor::new(text.as_bytes().to_vec()));
    InputFile::from_reader("slow", Box::new(reader), Format::NQuads, 0)
}

#[test]
fn a_bad_line_is_told_with_file_line_and_column() {
    let directory = tempfile::tempdir().expect("a directory");
    let (store, quads) = store_with_data();
    for (number, bad) in BAD.into_iter().enumerate() {
        let text = format!("{GOOD}\n# a comment\n{GOOD}\n{bad}\n{GOOD}\n{bad}\n");
        let path = write(directory.path(), &format!("{number}.nq"), text);
        let error =
            load(&store, inputs(std::slice::from_ref(&path)), &options(1)).expect_err("bad");
        assert!(matches!(error, LoadError::Syntax(_)));
        let expected = refusal(&path.display().to_string(), 4, bad);
        assert_eq!(error.to_string(), expected);
        check_store(&store, &quads);
    }
}

#[test]
fn the_first_error_in_the_input_is_told() {
    let directory = tempfile::tempdir().expect("a directory");
    let (store, quads) = store_with_data();
    for seed in 0..30 {
        let mut random = Random::new(seed);
        let mut first = None;
        let paths: Vec<PathBuf> = (0..6)
            .map(|number| {
                let path = directory.path().join(format!("{number}.nq"));
                let mut text = String::new();
                let lines = random.choose(&[1, 20, 200]);
                for line in 1..=lines {
                    if number > 0 && random.one_in(lines) {
                        let bad = random.choose(&BAD);
                        writeln!(text, "{bad}").unwrap();
                        first
                            .get_or_insert_with(|| refusal(&path.display().to_string(), line, bad));
                    } else {
                        writeln!(text, "<u:s{line}> <u:p> \"{number}\" .").unwrap();
                    }
                }
                write(directory.path(), &format!("{number}.nq"), text)
            })
            .collect();
        let threads = random.choose(&[1, 2, 4]);
        let options = LoadOptions {
            help: random.one_in(2),
            ..options(threads)
        };
        let _shown = ShownOnPanic((seed, threads, options.help));
        match (load(&store, inputs(&paths), &options), first) {
            (Err(error), Some(first)) => {
                assert_eq!(error.to_string(), first);
                check_store(&store, &quads);
            }
            (Ok(_), None) => return, // the store has changed; very unlikely
            (result, first) => panic!("{result:?}, expected {first:?}"),
        }
    }
}

#[test]
fn the_first_error_of_a_large_file_is_told() {
    // Several slices, so that several threads meet an error at about the same time.
    let directory = tempfile::tempdir().expect("a directory");
    let long = "x".repeat(1500);
    let mut text = String::new();
    let bad_lines = [600, 1500, 2300];
    for line in 1..=2400 {
        if bad_lines.contains(&line) {
            writeln!(text, "{}", BAD[0]).unwrap();
        } else {
            writeln!(text, "<u:s> <u:p> \"{line}{long}\" .").unwrap();
        }
    }
    let path = write(directory.path(), "large.nq", text);
    let expected = refusal(&path.display().to_string(), 600, BAD[0]);
    let (store, quads) = store_with_data();
    for threads in [1, 2, 4] {
        for help in [true, false] {
            let _shown = ShownOnPanic((threads, help));
            let options = LoadOptions {
                help,
                ..options(threads)
            };
            let error =
                load(&store, inputs(std::slice::from_ref(&path)), &options).expect_err("bad");
            assert_eq!(error.to_string(), expected);
        }
    }
    check_store(&store, &quads);
}

/// A worker that waits for a slow input when an error is met goes away; it must not take with it the one that is
/// still busy with what comes before the error.
#[test]
fn a_worker_that_waits_does_not_hide_an_earlier_error() {
    let directory = tempfile::tempdir().expect("a directory");
    // Two slices: the first has its error at its end, the second in its middle.
    let mut text = String::new();
    let bad_lines = [17_000, 28_000];
    for line in 1..=36_000 {
        if bad_lines.contains(&line) {
            writeln!(text, "{}", BAD[0]).unwrap();
        } else {
            writeln!(text, "<u:s{line:010}> <u:p{line:010}> <u:o{line:010}> .").unwrap();
        }
    }
    assert!(text.len() > 3 << 19 && text.len() < 2 << 20);
    let path = write(directory.path(), "large.nq", text);
    let expected = refusal(&path.display().to_string(), 17_000, BAD[0]);
    let (store, quads) = store_with_data();
    let (_nobody_sends, never): (Sender<()>, Receiver<()>) = channel();
    let mut inputs = inputs(std::slice::from_ref(&path));
    let wait = move || {
        never.recv().expect_err("nobody sends");
    };
    let mut slow = reader_before(wait, "");
    slow.document = 1;
    inputs.push(slow);
    // Three parsers, which hand on all that they parse: one for each slice, and one that waits.
    let options = LoadOptions {
        inserters: Some(1),
        help: false,
        ..options(4)
    };
    let error = load(&store, inputs, &options).expect_err("bad");
    assert_eq!(error.to_string(), expected);
    check_store(&store, &quads);
}

/// In every format: some are read by a thread of their own, some by the parser.
#[test]
fn a_load_that_waits_for_its_input_can_be_cancelled() {
    let (store, quads) = store_with_data();
    for format in Format::ALL {
        let (_nobody_sends, never): (Sender<()>, Receiver<()>) = channel();
        let options = options(2);
        let cancel = options.cancel.clone();
        // Once it waits; if that is of no use, the load ends by itself some time.
        let wait = move || {
            cancel.cancel();
            let _timeout = never.recv_timeout(Duration::from_secs(20));
        };
        let mut input = reader_before(wait, "");
        input.format = format;
        let began = Instant::now();
        let error = load(&store, vec![input], &options).expect_err("cancelled");
        assert!(matches!(error, LoadError::Cancelled), "{format:?}: {error}");
        assert!(began.elapsed() < Duration::from_secs(15), "{format:?}");
    }
    check_store(&store, &quads);
}

#[test]
fn an_input_that_cannot_be_read_has_its_place_among_errors() {
    let directory = tempfile::tempdir().expect("a directory");
    let good: String = (0..300).fold(String::new(), |text, n| {
        text + &format!("<u:s{n}> <u:p> <u:o> .\n")
    });
    let bad = write(directory.path(), "bad.nq", format!("{good}{}\n", BAD[0]));
    let bad_error = refusal(&bad.display().to_string(), 301, BAD[0]);
    let missing = directory.path().join("missing.nq");
    let missing_error = format!("{}: open: ", missing.display());
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(good.as_bytes()).expect("compresses");
    let gzip = gzip.finish().expect("compresses");
    let cut = write(directory.path(), "cut.nq.gz", &gzip[..gzip.len() - 6]);
    let cut_error = format!(
        "{}: the gzip stream is truncated or damaged: ",
        cut.display()
    );
    let (store, quads) = store_with_data();
    let cases = [
        (vec![&bad, &missing], &bad_error),
        (vec![&missing, &bad], &missing_error),
        (vec![&cut, &bad], &cut_error),
        (vec![&bad, &cut], &bad_error),
        (vec![&missing, &cut, &bad], &missing_error),
        (vec![&cut, &missing], &cut_error),
    ];
    for (paths, expected) in cases {
        for round in 0..24 {
            let threads = [1, 2, 3, 4][round % 4];
            let options = LoadOptions {
                help: round % 8 < 4,
                ..options(threads)
            };
            let _shown = ShownOnPanic((&paths, round));
            let paths: Vec<PathBuf> = paths.iter().map(|path| (*path).clone()).collect();
            let error = load(&store, inputs(&paths), &options)
                .expect_err("bad")
                .to_string();
            assert!(
                error.starts_with(expected.as_str()),
                "{error}, expected {expected}"
            );
        }
    }
    check_store(&store, &quads);
}

#[test]
fn skipping_counts_shows_and_keeps_what_was_left_out() {
    let directory = tempfile::tempdir().expect("a directory");
    for threads in [1, 4] {
        let mut random = Random::new(5);
        let mut kept = Vec::new();
        let mut refused = Vec::new();
        let mut paths = Vec::new();
        for number in 0..4_u32 {
            let path = directory.path().join(format!("{number}.nq"));
            let mut text = String::new();
            let mut good = String::new();
            for line in 1..=60 {
                if random.one_in(5) {
                    let bad = random.choose(&BAD);
                    writeln!(text, "{bad}").unwrap();
                    refused.push((
                        refusal(&path.display().to_string(), line, bad),
                        bad.to_owned(),
                    ));
                } else {
                    let statement =
                        format!("<u:s{line}> <u:p{number}> \"{}\" .\n", random.below(9));
                    text.push_str(&statement);
                    good.push_str(&statement);
                }
            }
            kept.push(Document::parse(number, good));
            paths.push(write(directory.path(), &format!("{number}.nq"), text));
        }
        assert!(refused.len() > 20);
        let rejects = directory.path().join("rejects");
        let options = LoadOptions {
            on_error: OnError::Skip,
            rejects: Some(rejects.clone()),
            ..options(threads)
        };
        let store = Store::in_memory();
        let report = load(&store, inputs(&paths), &options).expect("skips");
        let mut expected = Expected::default();
        let counts = expected.load(&kept);
        check_store(&store, &expected.quads);
        assert_eq!(report.statements, counts.statements);
        assert_eq!(report.quads_new, counts.quads_new);
        assert_eq!(report.duplicates, counts.duplicates);
        assert_eq!(report.rejected_statements, refused.len() as u64);
        let first: Vec<&String> = refused.iter().take(10).map(|(reason, _)| reason).collect();
        assert_eq!(report.first_rejects.iter().collect::<Vec<_>>(), first);
        let text = std::fs::read_to_string(&rejects).expect("was written");
        let lines: Vec<&str> = text.lines().collect();
        let mut written: Vec<(String, String)> = lines
            .chunks(2)
            .map(|pair| (pair[0][2..].to_owned(), pair[1].to_owned()))
            .collect();
        assert!(lines.chunks(2).all(|pair| pair[0].starts_with("# ")));
        written.sort();
        refused.sort();
        assert_eq!(written, refused);
    }
}

#[test]
fn a_load_that_leaves_nothing_out_leaves_an_older_rejects_file_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = write(directory.path(), "bad.nq", format!("{}\n", BAD[0]));
    let rejects = write(directory.path(), "rejects", "older");
    let options = LoadOptions {
        rejects: Some(rejects.clone()),
        ..options(1)
    };
    load(&Store::in_memory(), inputs(&[path]), &options).expect_err("bad");
    assert_eq!(std::fs::read_to_string(rejects).expect("reads"), "older");
}

#[test]
fn rejects_that_cannot_be_written_stop_the_load() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = write(directory.path(), "bad.nq", format!("{GOOD}\n{}\n", BAD[0]));
    let (store, quads) = store_with_data();
    let mut places = vec![
        directory.path().join("no/such/directory"),
        directory.path().to_owned(),
    ];
    if cfg!(target_os = "linux") {
        // It can be opened; what is written does not fit.
        places.push(PathBuf::from("/dev/full"));
    }
    for rejects in places {
        let _shown = ShownOnPanic(rejects.clone());
        let options = LoadOptions {
            on_error: OnError::Skip,
            rejects: Some(rejects.clone()),
            ..options(2)
        };
        let error =
            load(&store, inputs(std::slice::from_ref(&path)), &options).expect_err("unwritable");
        match &error {
            LoadError::Io { name, .. } => assert_eq!(*name, rejects.display().to_string()),
            other => panic!("{other:?}"),
        }
        check_store(&store, &quads);
    }
}

#[test]
fn a_cancelled_load_changes_nothing() {
    let (store, quads) = store_with_data();
    let mut text = String::new();
    for number in 0..500 {
        writeln!(text, "<u:s{number}> <u:p> \"{number}\" .").unwrap();
    }
    for threads in [1, 2, 4] {
        for help in [true, false] {
            for during in [false, true] {
                let _shown = ShownOnPanic((threads, help, during));
                let options = LoadOptions {
                    help,
                    ..options(threads)
                };
                let flag = options.cancel.clone();
                let input = if during {
                    reader_before(move || flag.cancel(), &text)
                } else {
                    flag.cancel();
                    reader_before(|| (), &text)
                };
                let error = load(&store, vec![input], &options).expect_err("cancelled");
                assert!(matches!(error, LoadError::Cancelled), "{error:?}");
                check_store(&store, &quads);
            }
        }
    }
    // Nothing to read does not hide it.
    let options = options(1);
    options.cancel.cancel();
    let error = load(&store, Vec::new(), &options).expect_err("cancelled");
    assert!(matches!(error, LoadError::Cancelled));
}

#[test]
fn a_load_that_is_cancelled_late_is_done_or_not() {
    let mut text = String::new();
    for number in 0..3000 {
        writeln!(text, "<u:s{number}> <u:p> \"{number}\" .").unwrap();
    }
    let document = Document::parse(1, text);
    for delay in 0..6 {
        let (store, mut quads) = store_with_data();
        let _shown = ShownOnPanic(delay);
        let setup = Setup {
            threads: 2,
            batch: 64,
            memory: TINY,
            ..Setup::PLAIN
        };
        let options = setup.options();
        let (progress, cancel) = (Arc::clone(&options.progress), options.cancel.clone());
        let over = AtomicBool::new(false);
        let result = std::thread::scope(|scope| {
            scope.spawn(|| {
                // In the phase of that number, or when the load is over.
                while (progress.phase() as usize) < delay && !over.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                cancel.cancel();
            });
            let result = load(&store, vec![document.reader()], &options);
            over.store(true, Ordering::Relaxed);
            result
        });
        match result {
            Ok(_) => quads.extend(document.quads.iter().map(ToString::to_string)),
            Err(LoadError::Cancelled) => {}
            Err(error) => panic!("{error:?}"),
        }
        check_store(&store, &quads);
    }
}

#[test]
fn one_load_at_a_time() {
    let directory = tempfile::tempdir().expect("a directory");
    let rejects = directory.path().join("rejects");
    let (store, _) = store_with_data();
    let (begun, has_begun): (Sender<()>, Receiver<()>) = channel();
    let (go, may_go): (Sender<()>, Receiver<()>) = channel();
    let options = LoadOptions {
        on_error: OnError::Skip,
        rejects: Some(rejects.clone()),
        ..options(2)
    };
    let first = std::thread::scope(|scope| {
        let wait = move || {
            begun.send(()).expect("the test waits");
            may_go.recv().expect("the test lets it go on");
        };
        let input = reader_before(wait, &format!("{GOOD}\n{}\n", BAD[0]));
        let first = scope.spawn(|| load(&store, vec![input], &options));
        has_begun.recv().expect("the first load reads");
        let second = load(&store, vec![reader_before(|| (), GOOD)], &options);
        match second {
            Err(LoadError::Store(StoreError::Busy { .. })) => {}
            other => panic!("{other:?}"),
        }
        go.send(()).expect("the first load waits");
        first.join().expect("no panic")
    });
    let report = first.expect("the first load is not disturbed");
    assert_eq!((report.quads_new, report.rejected_statements), (1, 1));
    let text = std::fs::read_to_string(rejects).expect("was written");
    assert_eq!(
        text,
        format!("# {}\n{}\n", refusal("slow", 2, BAD[0]), BAD[0])
    );
    check_tidy(&store);
    // And now the other can.
    let report = load(&store, vec![reader_before(|| (), GOOD)], &options).expect("loads");
    assert_eq!(report.quads_present, 1);
}

#[test]
fn a_store_opened_for_reading_takes_no_load() {
    let (writer, quads) = store_with_data();
    let store = Store::with_storage(Arc::clone(writer.storage()), Mode::ReadOnly).expect("opens");
    match load(&store, vec![reader_before(|| (), GOOD)], &options(1)) {
        Err(LoadError::Store(StoreError::ReadOnly { .. })) => {}
        other => panic!("{other:?}"),
    }
    check_store(&writer, &quads);
}

#[test]
fn options_that_are_no_iris_are_refused() {
    let (store, quads) = store_with_data();
    for (option, bad) in [
        ("graph", "no iri"),
        ("base", "relative/path"),
        ("graph", ""),
    ] {
        let value = Some(bad.to_owned());
        let mut options = options(1);
        match option {
            "graph" => options.graph = value,
            _ => options.base = value,
        }
        let error = load(&store, vec![reader_before(|| (), GOOD)], &options).expect_err("refused");
        assert!(
            matches!(error, LoadError::Option { option: told, .. } if told == option),
            "{error:?}"
        );
        assert!(
            error.to_string().starts_with(&format!("{option}: ")),
            "{error}"
        );
        check_store(&store, &quads);
    }
}

#[test]
fn a_store_in_files_is_left_tidy_too() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store");
    let store = Store::open(&path).expect("opens");
    let document = Document::parse(
        0,
        (0..400).fold(String::new(), |text, n| {
            text + &format!("<u:s{n}> <u:p> \"{n}\" .\n")
        }),
    );
    let setup = Setup {
        threads: 3,
        batch: 8,
        memory: TINY,
        ..Setup::PLAIN
    };
    let mut expected = Expected::default();
    expected.load(std::slice::from_ref(&document));
    let report = load_documents(&store, &[document], setup).expect("loads");
    assert!(report.spilled_runs > 32);
    check_store(&store, &expected.quads);
    let bad = write(
        directory.path(),
        "bad.nq",
        format!("{}{}\n", format!("{GOOD}\n").repeat(200), BAD[1]),
    );
    load(&store, inputs(&[bad]), &setup.options()).expect_err("bad");
    check_store(&store, &expected.quads);
    drop(store);
    let store = Store::open_existing(&path).expect("opens");
    check_store(&store, &expected.quads);
}
