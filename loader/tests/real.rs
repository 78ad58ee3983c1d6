//! Files that were published, with the counts that another program found in them.
//!
//! `QUADRILLE_REAL_DATA` names a folder with such files and an `INDEX.md` whose table tells, for each, the number of
//! statements (`8871`), or how many came before an error (`23 FAILED`), in its fourth column; files may be
//! compressed. Without it the test says so and passes.

mod common;

use common::{Collector, parse_inputs, say};
use oxrdf::NamedNode;
use quadrille_loader::input::{InputFile, InputOptions};
use quadrille_loader::parse::ParseOptions;
use std::path::{Path, PathBuf};

struct Row {
    file: String,
    statements: u64,
    fails: bool,
}

fn rows(index: &str) -> Vec<Row> {
    index
        .lines()
        .filter_map(|line| {
            let cells: Vec<_> = line.split('|').map(str::trim).collect();
            let [_, file, _, _, count, ..] = cells[..] else {
                return None;
            };
            let fails = count.ends_with("FAILED");
            let statements = count.trim_end_matches("FAILED").trim().parse().ok()?;
            Some(Row {
                file: file.to_owned(),
                statements,
                fails,
            })
        })
        .collect()
}

fn find(root: &Path, file: &str) -> Option<PathBuf> {
    [file.to_owned(), format!("{file}.zst")]
        .into_iter()
        .map(|name| root.join(name))
        .find(|path| path.is_file())
}

fn statements(path: &Path, slice_size: usize) -> (Result<u64, String>, bool) {
    let input = InputFile::from_path(path, None, 0).expect("a known format");
    let options = InputOptions {
        slice_size,
        base: Some(NamedNode::new_unchecked("http://example.org/base/")),
        ..InputOptions::default()
    };
    let mut collector = Collector::default();
    let counts = parse_inputs(
        vec![input],
        &options,
        ParseOptions::default(),
        &mut collector,
    );
    let result = counts
        .map(|counts| counts.statements)
        .map_err(|error| error.to_string());
    (result, collector.quads.is_empty())
}

#[test]
fn counts_are_as_published() {
    let Some(root) = std::env::var_os("QUADRILLE_REAL_DATA").map(PathBuf::from) else {
        say("skipped: QUADRILLE_REAL_DATA does not name a folder of files and their counts");
        return;
    };
    let index = std::fs::read_to_string(root.join("INDEX.md")).expect("an INDEX.md");
    let (mut passed, mut missing) = (0, 0);
    let mut failures = Vec::new();
    for row in rows(&index) {
        let Some(path) = find(&root, &row.file) else {
            missing += 1;
            continue;
        };
        let mut head = [0; 3];
        let marked = std::fs::File::open(&path)
            .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut head))
            .is_ok_and(|()| head == *b"\xEF\xBB\xBF");
        for slice_size in [1 << 20, 4_000] {
            let (result, empty) = statements(&path, slice_size);
            let good = match &result {
                // A byte-order mark is passed over here, and refused by the program that counted.
                _ if marked => result.is_ok() && !empty,
                Ok(statements) => !row.fails && *statements == row.statements,
                Err(_) => row.fails,
            };
            if good {
                passed += 1;
            } else {
                failures.push(format!(
                    "{}: {result:?}, expected {}",
                    row.file, row.statements
                ));
            }
        }
    }
    say(&format!(
        "published files: {passed} passed, {} failed, {missing} files not there",
        failures.len()
    ));
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
    assert!(passed > 0);
}
