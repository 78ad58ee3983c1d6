//! Files that the manifest does not name: which of them are ours, and their removal.

use super::{DICTIONARIES, LOGS, Manifest, NEW_MANIFEST_FILE, SEGMENTS, TEMPORARY, TRIPLE_TABLES};
use crate::error::Result;
use crate::io::Storage;
use std::collections::BTreeSet;

/// Digits that a file number is written with, at least.
const NUMBER_DIGITS: usize = 8;

/// Removes what a crash or an interrupted load left over, and returns the paths. The caller holds the lock, and
/// `manifest` is the one in force.
///
/// These go unless the manifest names them: `manifest.new`, all of `temporary`, and files whose paths are
/// `dictionaries/<number>`, `triples/<number>`, `logs/<number>` and `segments/<number>/<name>` with a name of
/// lower-case letters and dots. Everything else is not ours and stays.
///
/// Nothing has to be synced: what a crash brings back is removed at the next open.
pub fn remove_leftovers(storage: &dyn Storage, manifest: &Manifest) -> Result<Vec<String>> {
    let live = manifest.live_files();
    let mut leftovers = Vec::new();
    if storage.length(NEW_MANIFEST_FILE)?.is_some() {
        leftovers.push(NEW_MANIFEST_FILE.to_owned());
    }
    if storage.names("")?.iter().any(|name| name == TEMPORARY) {
        leftovers.push(TEMPORARY.to_owned());
    }
    for directory in [DICTIONARIES, TRIPLE_TABLES, LOGS] {
        let mut files = storage.list(directory)?;
        files
            .retain(|path| file_number(path, directory).is_some() && !live.contains(path.as_str()));
        leftovers.append(&mut files);
    }
    for name in storage.names(SEGMENTS)? {
        let segment = format!("{SEGMENTS}/{name}");
        if file_number(&segment, SEGMENTS).is_some() {
            leftovers.append(&mut leftovers_of_segment(storage, segment, &live)?);
        }
    }
    for path in &leftovers {
        storage.remove(path)?;
    }
    Ok(leftovers)
}

/// The directory if all of it is left over, or else the files that are.
fn leftovers_of_segment(
    storage: &dyn Storage,
    segment: String,
    live: &BTreeSet<&str>,
) -> Result<Vec<String>> {
    let files = storage.list(&segment)?;
    let count = files.len();
    let is_leftover =
        |path: &String| segment_of(path) == Some(segment.as_str()) && !live.contains(path.as_str());
    let leftovers: Vec<String> = files.into_iter().filter(is_leftover).collect();
    Ok(if leftovers.len() == count {
        vec![segment]
    } else {
        leftovers
    })
}

/// The number in `<directory>/<number>`, written as our own paths are.
pub(super) fn file_number(path: &str, directory: &str) -> Option<u64> {
    let digits = path.strip_prefix(directory)?.strip_prefix('/')?;
    let is_ours = digits.len() >= NUMBER_DIGITS && digits.bytes().all(|b| b.is_ascii_digit());
    let number: u64 = is_ours.then(|| digits.parse().ok())??;
    // No more zeros than padding needs, so that one number has one path.
    (digits == format!("{number:0NUMBER_DIGITS$}")).then_some(number)
}

/// The directory in `segments/<number>/<name>`, if the path is one of ours.
pub(super) fn segment_of(path: &str) -> Option<&str> {
    let (directory, name) = path.rsplit_once('/')?;
    let is_ours = !name.starts_with('.')
        && !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'.');
    (is_ours && file_number(directory, SEGMENTS).is_some()).then_some(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_paths() {
        assert_eq!(file_number("logs/00000007", "logs"), Some(7));
        assert_eq!(file_number("logs/123456789", "logs"), Some(123_456_789));
        for path in [
            "logs/7",
            "logs/000000007",
            "logs/+0000007",
            "logs/0000000a",
            "logs/99999999999999999999999",
            "logs/00000007/x",
            "logs/",
            "logs",
            "log/00000007",
            "logs2/00000007",
        ] {
            assert_eq!(file_number(path, "logs"), None, "{path}");
        }
        for name in ["spo", "gspo.deleted", "predicates"] {
            let path = format!("segments/00000007/{name}");
            assert_eq!(segment_of(&path), Some("segments/00000007"));
        }
        for path in [
            "segments/00000007",
            "segments/00000007/",
            "segments/00000007/SPO",
            "segments/00000007/.spo.swp",
            "segments/00000007/spo~",
            "segments/00000007/a/b",
            "segments/7/spo",
            "other/00000007/spo",
        ] {
            assert_eq!(segment_of(path), None, "{path}");
        }
    }

    #[test]
    fn paths_have_the_shapes() {
        assert_eq!(
            file_number(&super::super::segment_path(7), SEGMENTS),
            Some(7)
        );
        assert_eq!(
            file_number(&super::super::dictionary_path(u64::MAX), DICTIONARIES),
            Some(u64::MAX)
        );
        assert_eq!(
            file_number(&super::super::triple_table_path(0), TRIPLE_TABLES),
            Some(0)
        );
        assert_eq!(
            file_number(&super::super::log_path(99_999_999), LOGS),
            Some(99_999_999)
        );
    }
}
