//! Temporary files: what a query or another computation puts aside because it does not fit in memory.
//!
//! What always holds: such a file has no name (`O_TMPFILE`; where the file system does not have that, the file is
//! unlinked as soon as it is made), so that nothing is left of it when it is dropped, or the process dies. Its bytes
//! are appended by one owner and never changed. It is never synced: a crash ends the computation too.

use super::path::error;
use crate::error::Result;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A file without a name that its owner appends to and reads.
pub trait TemporaryFile: Send + Sync {
    /// Appends bytes.
    ///
    /// # Errors
    /// [`crate::StoreError::Io`], with the operating system's reason where the disk is full.
    fn append(&mut self, bytes: &[u8]) -> Result<()>;

    /// Fills `bytes` with what stands in the file from `offset` on.
    ///
    /// # Errors
    /// [`crate::StoreError::Io`], also where the file is shorter.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()>;
}

/// A new temporary file on the file system of a directory.
///
/// # Errors
/// [`crate::StoreError::Io`] if the directory is missing or cannot be written.
pub fn in_directory(directory: &Path) -> Result<Box<dyn TemporaryFile>> {
    let file = tempfile::tempfile_in(directory)
        .map_err(|e| error("create a temporary file in", directory, e))?;
    Ok(Box::new(Unnamed {
        file,
        directory: directory.to_path_buf(),
    }))
}

struct Unnamed {
    file: File,
    /// For messages.
    directory: PathBuf,
}

impl TemporaryFile for Unnamed {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        // The position is moved by writes alone.
        self.file
            .write_all(bytes)
            .map_err(|e| error("write a temporary file in", &self.directory, e))
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        self.file
            .read_exact_at(bytes, offset)
            .map_err(|e| error("read a temporary file in", &self.directory, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_in_the_directory() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut file = in_directory(directory.path()).expect("a file");
        file.append(b"some ").expect("a write");
        file.append(b"bytes").expect("a write");
        let mut read = [0; 4];
        file.read_at(3, &mut read).expect("a read");
        assert_eq!(&read, b"e by");
        file.append(b"!").expect("a write after a read");
        let mut last = [0; 2];
        file.read_at(9, &mut last).expect("a read");
        assert_eq!(&last, b"s!");
        assert!(file.read_at(10, &mut last).is_err());
        let names = std::fs::read_dir(directory.path()).expect("a directory");
        assert_eq!(names.count(), 0);
    }

    #[test]
    fn a_directory_that_is_missing_is_named() {
        let Err(failed) = in_directory(Path::new("/missing/directory")) else {
            panic!("there is no such directory");
        };
        assert!(
            failed.to_string().contains("/missing/directory"),
            "{failed}"
        );
    }
}
