//! Where data goes: the same bytes whatever the threads, the destination and the compression; and what is
//! left behind when it cannot go there.

use super::*;
use crate::format::{Compression, Syntax};
use crate::reference::{REFERENCES, Reference};
use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::Read;

fn options(universities: u32, threads: usize, format: &str) -> GenerateOptions {
    GenerateOptions {
        universities,
        threads: NonZero::new(threads).unwrap(),
        format: format.parse().unwrap(),
        ..GenerateOptions::default()
    }
}

fn in_memory(options: &GenerateOptions) -> (Vec<u8>, GenerateReport) {
    let mut bytes = Vec::new();
    let report = generate(options, Destination::Stream(&mut bytes)).unwrap();
    assert_eq!(report.bytes, bytes.len() as u64);
    (bytes, report)
}

/// The names in a directory, hidden ones included.
fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[derive(Default)]
struct Hashing(Sha256);

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn check_reference(reference: &Reference) {
    for threads in [1, 2] {
        let mut output = Hashing::default();
        let options = options(reference.universities, threads, "nt");
        let report = generate(&options, Destination::Stream(&mut output)).unwrap();
        let hash = output
            .0
            .finalize()
            .iter()
            .fold(String::new(), |mut hex, byte| {
                write!(hex, "{byte:02x}").unwrap();
                hex
            });
        assert_eq!(hash, reference.sha256);
        assert_eq!(report.counts.statements, reference.statements);
        assert_eq!(report.counts.departments, reference.departments);
        assert_eq!(report.counts.faculty(), reference.faculty);
        assert_eq!(report.bytes, reference.bytes);
        assert_eq!(report.counts.text_bytes, reference.bytes);
    }
}

#[test]
fn one_university_is_the_reference() {
    check_reference(&REFERENCES[0]);
}

/// 1.4 GB to be hashed twice: only where `QUADRILLE_LONG_TESTS` is set, and then better in release.
#[test]
fn ten_and_fifty_universities_are_the_reference() {
    if std::env::var_os("QUADRILLE_LONG_TESTS").is_some() {
        check_reference(&REFERENCES[1]);
        check_reference(&REFERENCES[2]);
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let (expected, _) = in_memory(&options(4, 1, "nt"));
    for threads in [2, 3, 64] {
        let (bytes, report) = in_memory(&options(4, threads, "nt"));
        assert!(bytes == expected, "{threads} threads");
        assert_eq!(report.counts.universities, 4);
    }
}

/// Takes its time now and then, so that finished universities pile up to the bound and threads wait.
struct Slow(Vec<u8>);

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(1 << 20);
        self.0.extend_from_slice(&bytes[..taken]);
        thread::sleep(Duration::from_millis(1));
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_slow_output_gets_everything_in_order() {
    let (expected, _) = in_memory(&options(9, 1, "nt"));
    let mut slow = Slow(Vec::new());
    generate(&options(9, 3, "nt"), Destination::Stream(&mut slow)).unwrap();
    assert!(slow.0 == expected);
}

#[test]
fn compressed_data_is_the_same_data() {
    for syntax in ["nt", "ttl"] {
        let (expected, _) = in_memory(&options(2, 1, syntax));
        let (gzip, report) = in_memory(&options(2, 2, &format!("{syntax}.gz")));
        let mut text = Vec::new();
        MultiGzDecoder::new(&gzip[..])
            .read_to_end(&mut text)
            .unwrap();
        assert!(text == expected, "{syntax}.gz");
        assert_eq!(report.counts.text_bytes, expected.len() as u64);
        let (zstandard, _) = in_memory(&options(2, 2, &format!("{syntax}.zst")));
        assert!(
            zstd::decode_all(&zstandard[..]).unwrap() == expected,
            "{syntax}.zst"
        );
        assert!(gzip.len() * 10 < expected.len() && zstandard.len() * 10 < expected.len());
    }
}

#[test]
fn a_document_has_one_header() {
    let (text, _) = in_memory(&options(2, 2, "ttl"));
    let text = String::from_utf8(text).unwrap();
    assert_eq!(text.matches("@prefix").count(), 1);
    assert!(text.starts_with("@prefix ub: <http://swat.cse.lehigh.edu/onto/univ-bench.owl#> .\n"));
}

#[test]
fn a_file_is_replaced_when_the_new_one_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.nt");
    fs::write(&path, "old").unwrap();
    let (expected, _) = in_memory(&options(1, 1, "nt"));
    let report = generate(&options(1, 2, "nt"), Destination::File(path.clone())).unwrap();
    assert!(fs::read(&path).unwrap() == expected);
    assert_eq!(report.bytes, expected.len() as u64);
    assert_eq!(names(directory.path()), ["data.nt"]);
}

#[test]
fn a_directory_gets_a_file_for_each_university() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new/data");
    let mut options = options(3, 2, "nt");
    options.start = 9;
    let (expected, stream) = in_memory(&options);
    let report = generate(&options, Destination::Directory(path.clone())).unwrap();
    let files = ["University9.nt", "University10.nt", "University11.nt"];
    let bytes = files
        .map(|name| fs::read(path.join(name)).unwrap())
        .concat();
    assert!(bytes == expected);
    assert_eq!(names(&path).len(), 3);
    assert_eq!(report.counts, stream.counts);
    assert_eq!(report.bytes, expected.len() as u64);
}

#[test]
fn each_file_of_a_directory_is_a_document() {
    let directory = tempfile::tempdir().unwrap();
    let made = options(2, 2, "ttl.gz");
    let report = generate(&made, Destination::Directory(directory.path().to_owned())).unwrap();
    let mut written = 0;
    for index in 0..2 {
        let bytes = fs::read(directory.path().join(format!("University{index}.ttl.gz"))).unwrap();
        written += bytes.len() as u64;
        let mut text = String::new();
        MultiGzDecoder::new(&bytes[..])
            .read_to_string(&mut text)
            .unwrap();
        assert!(text.starts_with("@prefix ub: "));
    }
    assert_eq!(report.bytes, written);
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link() {
    let directory = tempfile::tempdir().unwrap();
    let (file, link) = (
        directory.path().join("file.nt"),
        directory.path().join("link.nt"),
    );
    fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    generate(&options(1, 1, "nt"), Destination::File(link.clone())).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&file).unwrap().len(), REFERENCES[0].bytes);
}

#[test]
fn a_path_that_cannot_be_written_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [
        file.join("below.nt"),
        directory.path().join("missing/data.nt"),
    ] {
        match generate(&options(1, 1, "nt"), Destination::File(path.clone())) {
            Err(LubmError::File { path: named, .. }) => assert_eq!(named, path),
            other => panic!("{other:?}"),
        }
    }
    let refused = generate(&options(1, 1, "nt"), Destination::Directory(file.clone()));
    assert!(matches!(refused, Err(LubmError::File { path, .. }) if path == file));
    assert_eq!(names(directory.path()), ["file"]);
}

/// A device that is always full: the error names it, and it is still there.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let path = PathBuf::from("/dev/full");
    match generate(&options(5, 2, "nt"), Destination::File(path.clone())) {
        Err(LubmError::File {
            path: named,
            source,
            operation,
        }) => {
            assert_eq!((named, operation), (path.clone(), "write"));
            assert_eq!(source.kind(), io::ErrorKind::StorageFull);
        }
        other => panic!("{other:?}"),
    }
    assert!(path.exists());
}

/// Takes so many bytes and no more.
struct Breaks(usize);

impl Write for Breaks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.0);
        if taken == 0 {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_broken_pipe_ends_every_thread() {
    for format in ["nt", "nt.zst"] {
        for bytes in [0, 1, 1_000_000] {
            let result = generate(
                &options(12, 3, format),
                Destination::Stream(&mut Breaks(bytes)),
            );
            let error = result.unwrap_err();
            assert!(error.is_broken_pipe(), "{error:?}");
            assert!(matches!(error, LubmError::Stream { .. }));
        }
    }
}

/// A file that fails midway leaves neither itself nor its temporary, and the old one as it was.
#[test]
fn a_file_that_is_not_finished_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.nt");
    fs::write(&path, "old").unwrap();
    let mut file = OutputFile::create(&path).unwrap();
    file.write_all(b"half").unwrap();
    assert_eq!(names(directory.path()).len(), 2);
    drop(file);
    assert_eq!(names(directory.path()), ["data.nt"]);
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

/// Cancels the work when the first bytes come.
struct Cancels(Arc<AtomicBool>);

impl Write for Cancels {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.store(true, Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn cancelled_work_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let cancelled = options(12, 3, "nt");
    let mut output = Cancels(cancelled.cancelled.clone());
    let result = generate(&cancelled, Destination::Stream(&mut output));
    assert!(matches!(result, Err(LubmError::Cancelled)));
    for destination in [
        Destination::File(directory.path().join("data.nt")),
        Destination::Directory(directory.path().to_owned()),
    ] {
        let result = generate(&cancelled, destination);
        assert!(matches!(result, Err(LubmError::Cancelled)));
    }
    assert!(names(directory.path()).is_empty());
}

struct Panics;

impl Write for Panics {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        panic!("the output panics");
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
#[should_panic(expected = "the output panics")]
fn a_panic_of_the_output_does_not_hang() {
    drop(generate(
        &options(9, 1, "nt"),
        Destination::Stream(&mut Panics),
    ));
}

#[test]
fn a_panic_among_threads_does_not_hang() {
    let result = std::panic::catch_unwind(|| {
        drop(generate(
            &options(12, 3, "nt"),
            Destination::Stream(&mut Panics),
        ));
    });
    assert!(result.is_err());
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let refused = |change: fn(&mut GenerateOptions)| {
        let mut options = GenerateOptions::default();
        change(&mut options);
        let mut nothing = Vec::new();
        let result = generate(&options, Destination::Stream(&mut nothing));
        assert!(nothing.is_empty());
        result.unwrap_err().to_string()
    };
    assert!(refused(|options| options.universities = 0).contains("cannot make 0 universities"));
    assert!(refused(|options| options.start = 1 << 31).contains("from number 2147483648"));
    let url = refused(|options| options.ontology_url = "http://example.org/>".to_owned());
    assert!(url.contains("\"http://example.org/>\""), "{url}");
    assert!(refused(|options| options.ontology_url = "o#".to_owned()).contains("absolute"));
}

#[test]
fn the_last_number_is_allowed() {
    let mut last = options(1, 1, "nt");
    last.start = i32::MAX as u32;
    let (bytes, _) = in_memory(&last);
    assert!(bytes.starts_with(b"<http://www.University2147483647.edu> "));
}

#[test]
fn the_default_is_the_reference_data() {
    let options = GenerateOptions::default();
    assert_eq!(
        (options.universities, options.start, options.seed),
        (1, 0, 0)
    );
    assert_eq!(
        options.format,
        Format {
            syntax: Syntax::NTriples,
            compression: Compression::None
        }
    );
}
