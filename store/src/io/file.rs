//! `FileStorage`: a store's files in a directory of the file system.
//!
//! What always holds:
//! * Files are created with `create_new`, so that nothing is ever written over.
//! * Files are mapped, and never changed while they are: a store's files are written once, from front to
//!   back. This is what the one `unsafe` block here relies on.
//! * After a write or a sync has failed, every later call on that file fails too: the kernel may have
//!   dropped the dirty pages and report success the next time.
//! * The lock is the kernel's (`flock` on the file `lock`), so a process that died holds nothing. What
//!   stands in the file is for messages only.

use super::path::{check, check_directory, directory_of, error};
use super::{Bytes, Lock, Storage, TemporaryFile, WriteFile, temporary};
use crate::error::{Result, StoreError};
use rustix::fs::{Advice, FlockOperation};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::num::NonZeroU64;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Name of the lock file in the store's directory.
pub const LOCK_FILE: &str = "lock";

/// Write-back of a growing file is started every so many bytes, so that the final sync finds little left to
/// do. Measured with 100 MB on two cores and an SSD: writing 22 ms and syncing 33 ms without, 23 ms and
/// 8 ms with.
const WRITE_BACK_BYTES: u64 = 8 << 20;

/// Buffer of files that are read from front to back.
const READ_BUFFER_BYTES: usize = 256 << 10;

/// No more of a lock file is read for a message.
const LOCK_FILE_BYTES_MAX: u64 = 1 << 10;

/// A directory of files.
#[derive(Clone, Debug)]
pub struct FileStorage {
    /// Absolute, so that a change of the working directory changes nothing.
    root: PathBuf,
}

impl FileStorage {
    /// The storage in a directory, which is created if it is missing, with those above it.
    pub fn create(path: &Path) -> Result<Self> {
        let root = absolute(path)?;
        // The directory's own name, and those of the new ones above it, must be as durable as what
        // will be put into it.
        let changed = directories_with_new_names(&root);
        if !changed.is_empty() {
            fs::create_dir_all(&root).map_err(|e| error("create directory", &root, e))?;
            changed.into_iter().try_for_each(sync_one_directory)?;
        }
        Self::open(&root)
    }

    /// The storage in an existing directory.
    pub fn open(path: &Path) -> Result<Self> {
        let root = absolute(path)?;
        match fs::metadata(&root) {
            Ok(metadata) if metadata.is_dir() => Ok(Self { root }),
            Ok(_) => Err(StoreError::NotAStore {
                path: root,
                reason: "not a directory".to_owned(),
            }),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Err(StoreError::NotAStore {
                path: root,
                reason: "no such directory".to_owned(),
            }),
            Err(e) => Err(error("open", &root, e)),
        }
    }

    /// The directory, absolute.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path of a file, once it is known to stay below the root.
    fn resolve(&self, operation: &'static str, path: &str) -> Result<PathBuf> {
        check(operation, &self.root, path)?;
        Ok(self.root.join(path))
    }

    fn resolve_directory(&self, operation: &'static str, path: &str) -> Result<PathBuf> {
        check_directory(operation, &self.root, path)?;
        Ok(self.display(path))
    }
}

impl Storage for FileStorage {
    fn create(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        let full = self.resolve("create", path)?;
        let create = || OpenOptions::new().write(true).create_new(true).open(&full);
        let file = match create() {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let above = self.display(directory_of(path));
                fs::create_dir_all(&above).map_err(|e| error("create directory", &above, e))?;
                create()
            }
            other => other,
        };
        Ok(Box::new(FileWriter {
            file: file.map_err(|e| error("create", &full, e))?,
            path: full,
            written: 0,
            written_back: 0,
            failed: false,
        }))
    }

    fn map(&self, path: &str) -> Result<Bytes> {
        let full = self.resolve("map", path)?;
        let (file, length) = open_regular(&full)?;
        if length == 0 {
            // A mapping cannot be empty.
            return Ok(Bytes::new([]));
        }
        map_file(&file).map_err(|e| error("map", &full, e))
    }

    fn length(&self, path: &str) -> Result<Option<u64>> {
        let full = self.resolve("stat", path)?;
        match fs::metadata(&full) {
            Ok(metadata) => Ok(metadata.is_file().then_some(metadata.len())),
            Err(e) if is_missing(&e) => Ok(None),
            Err(e) => Err(error("stat", &full, e)),
        }
    }

    fn read(&self, path: &str) -> Result<Box<dyn Read + Send>> {
        let (file, _) = open_regular(&self.resolve("open", path)?)?;
        // Only speed depends on the advice.
        let _ = rustix::fs::fadvise(&file, 0, None, Advice::Sequential);
        Ok(Box::new(BufReader::with_capacity(READ_BUFFER_BYTES, file)))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let (old, new) = (
            self.resolve("rename", from)?,
            self.resolve("rename to", to)?,
        );
        fs::rename(&old, &new).map_err(|e| error("rename", &old, e))
    }

    fn remove(&self, path: &str) -> Result<()> {
        let full = self.resolve("remove", path)?;
        let removed = match fs::symlink_metadata(&full) {
            Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(&full),
            Ok(_) => fs::remove_file(&full),
            Err(e) => Err(e),
        };
        match removed {
            Err(e) if !is_missing(&e) => Err(error("remove", &full, e)),
            _ => Ok(()),
        }
    }

    fn sync_directory(&self, path: &str) -> Result<()> {
        let mut full = self.resolve_directory("sync directory", path)?;
        // Directories above may be as new as the files.
        loop {
            sync_one_directory(&full)?;
            if full == self.root || !full.pop() {
                return Ok(());
            }
        }
    }

    fn list(&self, path: &str) -> Result<Vec<String>> {
        self.resolve_directory("list", path)?;
        let mut files = Vec::new();
        let mut directories = vec![path.to_owned()];
        while let Some(directory) = directories.pop() {
            self.list_one(&directory, &mut files, &mut directories)?;
        }
        files.sort_unstable();
        Ok(files)
    }

    fn names(&self, path: &str) -> Result<Vec<String>> {
        self.resolve_directory("list", path)?;
        let (mut names, mut directories) = (Vec::new(), Vec::new());
        self.list_one(path, &mut names, &mut directories)?;
        names.append(&mut directories);
        if !path.is_empty() {
            for name in &mut names {
                name.drain(..=path.len());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn lock(&self) -> Result<Box<dyn Lock>> {
        FileLock::take(&self.root).map(|lock| Box::new(lock) as Box<dyn Lock>)
    }

    fn free_space(&self) -> Result<Option<u64>> {
        let status = rustix::fs::statvfs(&self.root)
            .map_err(|e| error("free space of", &self.root, e.into()))?;
        Ok(Some(status.f_bavail.saturating_mul(status.f_frsize)))
    }

    fn temporary(&self) -> Result<Option<Box<dyn TemporaryFile>>> {
        temporary::in_directory(&self.root).map(Some)
    }

    fn display(&self, path: &str) -> PathBuf {
        if path.is_empty() {
            // `join("")` would end the path with a slash.
            self.root.clone()
        } else {
            self.root.join(path)
        }
    }
}

impl FileStorage {
    /// One directory's files and directories. Symbolic links are listed and not followed.
    fn list_one(
        &self,
        directory: &str,
        files: &mut Vec<String>,
        directories: &mut Vec<String>,
    ) -> Result<()> {
        let full = self.display(directory);
        let failed = |e| error("list", &full, e);
        let entries = match fs::read_dir(&full) {
            Err(e) if is_missing(&e) => return Ok(()),
            other => other.map_err(failed)?,
        };
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = match directory {
                "" => name,
                directory => format!("{directory}/{name}"),
            };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => directories.push(path),
                Ok(_) => files.push(path),
                // Removed by somebody since the directory was read.
                Err(e) if is_missing(&e) => {}
                Err(e) => return Err(failed(e)),
            }
        }
        Ok(())
    }
}

/// A file being written.
struct FileWriter {
    file: File,
    path: PathBuf,
    /// Bytes handed to the kernel.
    written: u64,
    /// Bytes of which write-back was started.
    written_back: u64,
    /// Whether a write or a sync failed.
    failed: bool,
}

impl FileWriter {
    fn attempt(
        &mut self,
        operation: &'static str,
        work: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<()> {
        if self.failed {
            let reason = io::Error::other("an earlier write or sync of this file failed");
            return Err(error(operation, &self.path, reason));
        }
        work(&mut self.file).map_err(|e| {
            self.failed = true;
            error(operation, &self.path, e)
        })
    }
}

impl WriteFile for FileWriter {
    fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        self.attempt("write", |file| file.write_all(bytes))?;
        self.written += bytes.len() as u64;
        let length = self.written - self.written_back;
        if length >= WRITE_BACK_BYTES {
            // Linux answers this advice by starting write-back of the range. Pages still being written
            // stay cached, so what was just written can be read back without the disk. Only speed depends
            // on it, errors of the write-back are reported by the sync.
            let _ = rustix::fs::fadvise(
                &self.file,
                self.written_back,
                NonZeroU64::new(length),
                Advice::DontNeed,
            );
            self.written_back = self.written;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.attempt("sync", |file| file.sync_data())
    }
}

/// The writer's lock: held as long as the file is open.
#[derive(Debug)]
struct FileLock {
    file: File,
}

impl Lock for FileLock {}

impl FileLock {
    fn take(root: &Path) -> Result<Self> {
        let path = root.join(LOCK_FILE);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32)
            .open(&path)
            .map_err(|e| error("open", &path, e))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(StoreError::Locked {
                    path: root.to_path_buf(),
                    holder: holder(&file),
                });
            }
            Err(e) => return Err(error("lock", &path, e.into())),
        }
        let lock = Self { file };
        lock.write(&description())
            .map_err(|e| error("write", &path, e))?;
        Ok(lock)
    }

    fn write(&self, text: &str) -> io::Result<()> {
        self.file.set_len(0)?;
        std::os::unix::fs::FileExt::write_all_at(&self.file, text.as_bytes(), 0)
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // The file itself stays: another process may have it open and wait for it. Its text would only
        // mislead from now on; if it cannot be emptied it is still no obstacle.
        let _ = self.write("");
    }
}

/// What a lock file says of its holder.
fn holder(file: &File) -> String {
    let mut text = String::new();
    let read = file.take(LOCK_FILE_BYTES_MAX).read_to_string(&mut text);
    let line = text.lines().next().unwrap_or_default().trim();
    // Between taking the lock and writing its text, or on a file system that keeps it from us.
    if read.is_err() || line.is_empty() || line.contains(char::is_control) {
        "another process".to_owned()
    } else {
        line.to_owned()
    }
}

/// Who we are: "process 1234 on host (quadrille load, since 2026-11-30T14:13:44Z)".
fn description() -> String {
    let mut arguments = std::env::args_os().map(|argument| {
        let name = Path::new(&argument).file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    });
    let mut program = arguments.next().unwrap_or_default();
    // The subcommand, but nothing that might be somebody's data.
    let is_word = |word: &String| {
        word.len() <= 20 && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
    };
    if let Some(word) = arguments
        .next()
        .filter(is_word)
        .filter(|word| !word.starts_with('-'))
    {
        program = format!("{program} {word}");
    }
    program.retain(|c| !c.is_control());
    let uname = rustix::system::uname();
    format!(
        "process {} on {} ({program}, since {})\n",
        std::process::id(),
        uname.nodename().to_string_lossy(),
        timestamp(SystemTime::now())
    )
}

/// A time in UTC as RFC 3339 has it, to the second.
fn timestamp(time: SystemTime) -> String {
    let seconds = time
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years counted from 1 March 0000, so that the leap day is the last of its year; 719,468 days lie
    // between that day and 1 January 1970, 146,097 days make 400 years.
    let day = days + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day_of_month:02}T{:02}:{:02}:{:02}Z",
        second / 3_600,
        second / 60 % 60,
        second % 60
    )
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|e| error("open", path, e))
}

/// Whether an error says that there is no such file, or nothing that could have one below it.
fn is_missing(e: &io::Error) -> bool {
    matches!(
        e.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Opens a file for reading and tells its length; refuses what is no file. Does not wait on a pipe.
fn open_regular(path: &Path) -> Result<(File, u64)> {
    let failed = |e| error("open", path, e);
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
        .open(path)
        .map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        let reason = io::Error::new(io::ErrorKind::InvalidInput, "not a file");
        return Err(failed(reason));
    }
    Ok((file, metadata.len()))
}

/// The directories that get a new name in them when this one is created with those above it, the
/// innermost first.
fn directories_with_new_names(path: &Path) -> Vec<&Path> {
    path.ancestors()
        .take_while(|directory| !directory.is_dir())
        .filter_map(Path::parent)
        .collect()
}

fn sync_one_directory(path: &Path) -> Result<()> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(|e| error("sync directory", path, e))
}

#[expect(
    unsafe_code,
    reason = "files are read in place; copying a store into memory is not an option"
)]
fn map_file(file: &File) -> io::Result<Bytes> {
    // SAFETY: the mapping is sound as long as nobody changes or shortens the file. Nothing in this program
    // does: files are written once, by a writer that is done before anybody opens them, are replaced by
    // renaming, and are removed by unlinking, which leaves mappings intact. That no other program writes
    // into a store's files is a stated condition of using one, as for every mapped database.
    let mapping = unsafe { memmap2::Mmap::map(file)? };
    Ok(Bytes::new(mapping))
}

#[cfg(test)]
mod tests;
