//! Which files are to be loaded: what the user named, and the RDF files below the directories among it.

use crate::error::{LoadError, Result};
use crate::input::{Format, InputFile, format_of_name};
use std::path::{Path, PathBuf};

/// How deep directories are searched.
const DEPTH_MAX: usize = 64;

/// The inputs that paths stand for, in the order given: a file itself; `-` for standard input; a directory for
/// every RDF file below it, sorted by path, other files being passed over. Documents are numbered from
/// `first_document`.
///
/// The format of a file that is named itself is `format`, or else what its name says (`.nt .nq .ttl .n3 .trig
/// .rdf .owl .jsonld .xml .json`), before an optional `.gz .bz2 .xz .zst`. In a directory the name decides, and
/// `.xml` and `.json` are not taken, since they are mostly something else. Hidden files and
/// directories are passed over in a directory, links to directories are not followed.
pub fn discover(
    paths: &[PathBuf],
    format: Option<Format>,
    first_document: u32,
) -> Result<Vec<InputFile>> {
    let mut inputs = Vec::new();
    let next_document = |inputs: &Vec<InputFile>| {
        u32::try_from(inputs.len())
            .ok()
            .and_then(|count| first_document.checked_add(count))
            .ok_or_else(|| LoadError::input("input", "more than 4,294,967,295 files"))
    };
    for path in paths {
        let name = path.display().to_string();
        if path.as_os_str() == "-" {
            let format = format.ok_or_else(|| {
                LoadError::input("standard input", "its format must be told (--format)")
            })?;
            let document = next_document(&inputs)?;
            inputs.push(InputFile::stdin(format, document));
            continue;
        }
        let metadata =
            std::fs::metadata(path).map_err(|error| LoadError::io(&name, "open", error))?;
        if metadata.is_dir() {
            let mut files = Vec::new();
            list(path, 0, &mut files)?;
            files.sort();
            if files.is_empty() {
                return Err(LoadError::input(&name, "no RDF file in this directory"));
            }
            for file in files {
                let document = next_document(&inputs)?;
                // The name tells the format of each; one given for all would be wrong for some.
                inputs.extend(InputFile::from_path(&file, None, document));
            }
        } else {
            let document = next_document(&inputs)?;
            let input = InputFile::from_path(path, format, document).ok_or_else(|| {
                LoadError::input(
                    &name,
                    "its name does not tell an RDF format; say which it is (--format)",
                )
            })?;
            inputs.push(input);
        }
    }
    Ok(inputs)
}

/// Whether a file in a directory is taken: RDF beyond doubt.
fn is_rdf(path: &Path) -> bool {
    let (format, compression) = format_of_name(path);
    let plain = match compression {
        Some(_) => path.file_stem().map(PathBuf::from).unwrap_or_default(),
        None => path.to_owned(),
    };
    let doubtful = plain.extension().is_some_and(|extension| {
        extension.eq_ignore_ascii_case("xml") || extension.eq_ignore_ascii_case("json")
    });
    format.is_some() && !doubtful
}

fn list(directory: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let name = directory.display().to_string();
    if depth > DEPTH_MAX {
        return Err(LoadError::input(&name, "directories are nested too deeply"));
    }
    let entries =
        std::fs::read_dir(directory).map_err(|error| LoadError::io(&name, "list", error))?;
    for entry in entries {
        let entry = entry.map_err(|error| LoadError::io(&name, "list", error))?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let path = entry.path();
        let kind = entry
            .file_type()
            .map_err(|error| LoadError::io(&path.display().to_string(), "list", error))?;
        if kind.is_dir() {
            list(&path, depth + 1, files)?;
        } else if is_rdf(&path) && (kind.is_file() || path.is_file()) {
            files.push(path);
        }
    }
    Ok(())
}
