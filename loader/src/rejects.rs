//! Statements that were left out (`--on-error skip`): counted, the first ones kept to be shown, all of them written
//! to a file if one is named.
//!
//! ```text
//! rejects file   # file:line:column: reason        a comment
//!                the line as it stands             (lines of one thread in order, of several mixed)
//! ```

use crate::error::LoadError;
use crate::parse::Reject;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// How many are kept to be shown: those that come first in the input.
pub const SHOWN: usize = 10;

/// Takes rejects from all threads.
pub struct Rejects {
    path: Option<PathBuf>,
    state: Mutex<State>,
}

struct State {
    file: Option<BufWriter<File>>,
    /// By document, line and column; those whose line is not known by their number.
    first: BTreeMap<(u32, u64, u64), Reject>,
    /// How many have no line.
    without_line: u64,
}

impl Rejects {
    /// Writes to a file, if there is a path.
    pub fn new(path: Option<&Path>) -> Result<Self, LoadError> {
        let file = path
            .map(|path| {
                let file = File::create(path);
                let file = file.map_err(|e| LoadError::io(&name(path), "create", e))?;
                Ok::<_, LoadError>(BufWriter::new(file))
            })
            .transpose()?;
        Ok(Self {
            path: path.map(Path::to_owned),
            state: Mutex::new(State {
                file,
                first: BTreeMap::new(),
                without_line: 0,
            }),
        })
    }

    /// Takes one.
    pub fn take(&self, reject: Reject) -> Result<(), LoadError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &mut state.file {
            let reason = reject.to_string().replace(['\n', '\r'], " ");
            writeln!(file, "# {reason}")
                .and_then(|()| file.write_all(&reject.text))
                .and_then(|()| file.write_all(b"\n"))
                .map_err(|error| self.error("write", error))?;
        }
        let mut column = reject.column;
        if reject.line == 0 {
            state.without_line += 1;
            column = state.without_line;
        }
        state
            .first
            .insert((reject.document, reject.line, column), reject);
        if state.first.len() > SHOWN {
            state.first.pop_last();
        }
        Ok(())
    }

    /// The first ones in the input; the file is complete.
    pub fn finish(self) -> Result<Vec<Reject>, LoadError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &mut state.file {
            file.flush().map_err(|error| self.error("write", error))?;
        }
        Ok(std::mem::take(&mut state.first).into_values().collect())
    }

    fn error(&self, operation: &'static str, error: std::io::Error) -> LoadError {
        LoadError::io(
            &self.path.as_deref().map(name).unwrap_or_default(),
            operation,
            error,
        )
    }
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reject(document: u32, line: u64, column: u64) -> Reject {
        Reject {
            name: format!("file {document}"),
            document,
            line,
            column,
            reason: "two\nlines".to_owned(),
            text: format!("text {line}").into_bytes(),
        }
    }

    #[test]
    fn the_first_ones_are_kept_whenever_they_come() {
        let rejects = Rejects::new(None).expect("no file");
        // From the last to the first, and some from the middle.
        for line in (1..=30).rev().chain([7, 9]) {
            for document in [2, 1] {
                rejects.take(reject(document, line, 3)).expect("no file");
            }
        }
        let first = rejects.finish().expect("no file");
        let lines: Vec<(u32, u64)> = first
            .iter()
            .map(|each| (each.document, each.line))
            .collect();
        assert_eq!(
            lines,
            (1..=SHOWN as u64).map(|line| (1, line)).collect::<Vec<_>>()
        );
    }

    #[test]
    fn those_without_a_line_are_all_shown() {
        let rejects = Rejects::new(None).expect("no file");
        for _ in 0..3 {
            rejects.take(reject(1, 0, 0)).expect("no file");
        }
        assert_eq!(rejects.finish().expect("no file").len(), 3);
    }

    #[test]
    fn the_file_has_reason_and_text_of_all() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("rejects");
        let rejects = Rejects::new(Some(&path)).expect("creates");
        for line in 1..=12 {
            rejects.take(reject(1, line, 5)).expect("writes");
        }
        assert_eq!(rejects.finish().expect("writes").len(), SHOWN);
        let expected = (1..=12).fold(String::new(), |text, line| {
            text + &format!("# file 1:{line}:5: two lines\ntext {line}\n")
        });
        assert_eq!(std::fs::read_to_string(&path).expect("reads"), expected);
    }
}
