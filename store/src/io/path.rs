//! Names of files inside a store, and the errors that name them.
//!
//! Paths reach [`Storage`](super::Storage) from the manifest too, that is, from bytes somebody else may
//! have written. What always holds after [`check`]: the path stays below the store's directory.

use crate::error::{Result, StoreError};
use std::io;
use std::path::Path;

/// Refuses a file's path that is empty, absolute, or leads out of the store's directory.
pub(super) fn check(operation: &'static str, root: &Path, path: &str) -> Result<()> {
    let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', '\0']);
    if path.split('/').all(plain) {
        return Ok(());
    }
    Err(error(
        operation,
        &root.join("<store>"),
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{path:?} is not a path inside a store"),
        ),
    ))
}

/// The same for a directory's path, where `""` is the store's own.
pub(super) fn check_directory(operation: &'static str, root: &Path, path: &str) -> Result<()> {
    if path.is_empty() {
        Ok(())
    } else {
        check(operation, root, path)
    }
}

/// The directory that a path's last name stands in, `""` for the store's own.
pub(super) fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// Whether `path` is `directory` or lies below it (`""` has everything below it).
pub(super) fn is_below(path: &str, directory: &str) -> bool {
    directory.is_empty()
        || path
            .strip_prefix(directory)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// An error of the operating system, with the operation and the path.
pub(super) fn error(operation: &'static str, path: &Path, source: io::Error) -> StoreError {
    StoreError::Io {
        operation,
        path: path.to_path_buf(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_out_are_refused() {
        let root = Path::new("/store");
        for path in [
            "", "/", "/etc", "..", "a/..", "../a", "a//b", "a/", "./a", "a\\b", "a\0",
        ] {
            assert!(check("open", root, path).is_err(), "{path:?}");
        }
        for path in ["a", "a/b", "manifest.new", "..a", "a..b/...c"] {
            assert!(check("open", root, path).is_ok(), "{path:?}");
        }
        assert!(check_directory("list", root, "").is_ok());
        assert!(check_directory("list", root, "..").is_err());
    }

    #[test]
    fn below_goes_by_whole_names() {
        assert!(is_below("segments/1/spo", "segments"));
        assert!(is_below("segments", "segments"));
        assert!(is_below("anything", ""));
        assert!(!is_below("segments2/1", "segments"));
        assert_eq!(directory_of("segments/1/spo"), "segments/1");
        assert_eq!(directory_of("manifest"), "");
    }
}
