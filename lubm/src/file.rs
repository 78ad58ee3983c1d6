//! An output file that gets its name only when it is whole.
//!
//! Until then the bytes are in a file beside it, `.NAME.PROCESS-N.partial`, which is removed when the work
//! fails. The file is not synced: it can be made again from two numbers, and a power failure is no reason
//! to make everybody wait for the disk.

use crate::error::{LubmError, Result};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file being written.
pub(crate) struct OutputFile {
    file: File,
    /// The final name.
    path: PathBuf,
    /// The name until then; none for a device or a pipe, which is written as it is, and none once renamed.
    temporary: Option<PathBuf>,
}

impl OutputFile {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        // A link is followed, so that it is the file that is replaced and not the link.
        let path = match fs::canonicalize(path) {
            Ok(path) => path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
            Err(error) => return Err(failed("open", path, error)),
        };
        if fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
            let file = OpenOptions::new()
                .write(true)
                .open(&path)
                .map_err(|error| failed("open", &path, error))?;
            return Ok(Self {
                file,
                path,
                temporary: None,
            });
        }
        let (file, temporary) = create_beside(&path)?;
        Ok(Self {
            file,
            path,
            temporary: Some(temporary),
        })
    }

    /// Gives the file its name.
    pub(crate) fn finish(mut self) -> Result<()> {
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.path)
                .map_err(|error| failed("rename the finished file to", &self.path, error))?;
            self.temporary = None;
        }
        Ok(())
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // The error that brought us here says more than this one could.
            drop(fs::remove_file(temporary));
        }
    }
}

fn create_beside(path: &Path) -> Result<(File, PathBuf)> {
    let Some(name) = path.file_name() else {
        let error = io::Error::from(io::ErrorKind::InvalidInput);
        return Err(failed("create", path, error));
    };
    let process = std::process::id();
    let mut attempt = 0_u32;
    loop {
        let mut temporary_name = std::ffi::OsString::from(".");
        temporary_name.push(name);
        temporary_name.push(format!(".{process}-{attempt}.partial"));
        let temporary = path.with_file_name(temporary_name);
        match File::create_new(&temporary) {
            Ok(file) => return Ok((file, temporary)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => {
                attempt += 1;
            }
            Err(error) => return Err(failed("create", path, error)),
        }
    }
}

/// The error of an operation on a file.
pub(crate) fn failed(operation: &'static str, path: &Path, source: io::Error) -> LubmError {
    LubmError::File {
        operation,
        path: path.to_owned(),
        source,
    }
}
