//! What the tests of the command line share: a directory each, and the program run in it.

use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// Two triples and a quad, with a language tag and a blank node.
pub const SMALL: &str = "<http://example.org/a> <http://example.org/p> \"chat\"@fr .\n\
    _:x <http://example.org/p> <http://example.org/a> .\n\
    <http://example.org/a> <http://example.org/q> \"5\"^^<http://www.w3.org/2001/XMLSchema#integer> <http://example.org/g> .\n";

/// A directory of its own, in which the program runs; it goes when the test ends.
pub struct Scratch(TempDir);

impl Scratch {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    /// One with a store `s` that has [`SMALL`].
    pub fn with_small_store() -> Self {
        let scratch = Self::new();
        scratch.write("small.nq", SMALL);
        scratch
            .run(&["load", "--store", "s", "small.nq"])
            .succeeds();
        scratch
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it is in the directory")).expect("a directory");
        fs::write(path, bytes).expect("a file");
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// The files below a directory, by name from it, sorted.
    pub fn files(&self, name: &str) -> Vec<String> {
        let top = self.path(name);
        let mut files = Vec::new();
        let mut directories = vec![top.clone()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).expect("a directory") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    directories.push(path);
                } else {
                    files.push(
                        path.strip_prefix(&top)
                            .expect("below it")
                            .display()
                            .to_string(),
                    );
                }
            }
        }
        files.sort();
        files
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quadrille"));
        command
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("QUADRILLE_STORE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        Run::of(
            self.command(arguments)
                .output()
                .expect("the program starts"),
        )
    }

    /// Runs the program with these bytes on its standard input.
    pub fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Run {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("it is piped");
        let input = input.to_vec();
        // From a thread, so that neither waits for the other. The program need not read to the end.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().expect("the program ends");
        writer.join().expect("the writer ends");
        Run::of(output)
    }

    pub fn spawn(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().expect("the program starts")
    }

    /// `info --json` of a store.
    pub fn info(&self, store: &str) -> Value {
        self.run(&["info", "--store", store, "--json"])
            .succeeds()
            .json()
    }

    /// The number of quads in a store, which must be sound.
    pub fn quads(&self, store: &str) -> u64 {
        self.run(&["verify", "--store", store]).succeeds();
        self.info(store)["quads"].as_u64().expect("a number")
    }

    /// All quads of a store, sorted lines of N-Quads.
    pub fn dump(&self, store: &str) -> Vec<String> {
        self.run(&["dump", "--store", store])
            .succeeds()
            .sorted_lines()
    }
}

/// How the program ended, and what it said.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Run {
    pub fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the program writes UTF-8");
        Self {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    #[track_caller]
    pub fn succeeds(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }

    /// Succeeds and says nothing on standard error.
    #[track_caller]
    pub fn succeeds_silently(self) -> Self {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{self:#?}");
        self
    }

    /// The work failed: one line, with all of `parts` in it.
    #[track_caller]
    pub fn fails(self, parts: &[&str]) -> Self {
        assert_eq!(self.code, Some(1), "{self:#?}");
        assert_eq!(
            self.err.lines().count(),
            1,
            "a failure is one line: {self:#?}"
        );
        assert!(self.err.starts_with("quadrille: "), "{self:#?}");
        for part in parts {
            assert!(self.err.contains(part), "{part:?} is not in {self:#?}");
        }
        self
    }

    /// Wrong usage, with all of `parts` in what is said about it.
    #[track_caller]
    pub fn wrong_usage(self, parts: &[&str]) -> Self {
        assert_eq!((self.code, self.out.as_str()), (Some(2), ""), "{self:#?}");
        for part in parts {
            assert!(self.err.contains(part), "{part:?} is not in {self:#?}");
        }
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    pub fn sorted_lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.out.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }
}

/// N-Triples: this many different ones.
pub fn many(triples: usize) -> String {
    let mut text = String::new();
    for n in 0..triples {
        let predicate = n % 7;
        writeln!(
            text,
            "<http://example.org/subject/{n}> <http://example.org/p{predicate}> \"value {n}\" ."
        )
        .expect("a string takes it");
    }
    text
}
