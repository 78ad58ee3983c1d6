//! Checked files: every file of the store but the manifest and the log is one.
//!
//! A checked file is what its owner writes (the *payload*) between a header and checksums. A page's checksum
//! is compared when the process first touches the page, and by [`CheckedFile::verify`].
//!
//! # Byte map
//!
//! All numbers are little-endian. `P` is the payload's length, `N` the number of pages.
//!
//! ```text
//! offset      bytes  what
//! 0           8      magic, says whose payload it is
//! 8           4      version of the payload's format
//! 12          4      page size, 16,384
//! 16          40     zero
//! 56          8      XXH3-64 of bytes 0..56
//! 64          P      payload
//! 64+P        4*N    table: low 32 bits of XXH3-64 of each page
//! 64+P+4*N    8      P
//! +8          8      XXH3-64 of the table
//! +16         8      magic again
//! +24         8      XXH3-64 of the footer's first 24 bytes
//! ```
//!
//! Pages are those of the *file*: page `n` is bytes `n * 16,384` up to the next page or the payload's end,
//! so the first one includes the header, and a page is four pages of the operating system.
//!
//! What always holds:
//! * Each byte of the file is covered by a checksum (the footer's last by being one), the file ends with
//!   the footer, and there is no padding: any changed, missing or added byte is found by `verify`.
//! * Nothing is allocated because a damaged file says so: lengths are compared with the file's own first.
//! * Bytes that were not compared with their checksum are never handed out.

use super::{Bytes, Storage, WriteFile};
use crate::error::{Result, StoreError};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes in a page, the unit that has a checksum.
pub const PAGE_BYTES: usize = 1 << PAGE_SHIFT;
const PAGE_SHIFT: u32 = 14;

// The header.
const MAGIC_AT: usize = 0;
const VERSION_AT: usize = MAGIC_AT + 8;
const PAGE_SIZE_AT: usize = VERSION_AT + 4;
const ZERO_AT: usize = PAGE_SIZE_AT + 4;
const HEADER_SUM_AT: usize = ZERO_AT + 40;
/// Bytes of the header, where the payload begins: whatever is aligned in the payload, up to a cache line, is
/// aligned in the file and, where the file is mapped, in memory.
pub const HEADER_BYTES: usize = HEADER_SUM_AT + 8;

/// Bytes of one page's checksum.
const SUM_BYTES: usize = 4;

// The footer.
const LENGTH_AT: usize = 0;
const TABLE_SUM_AT: usize = LENGTH_AT + 8;
const END_MAGIC_AT: usize = TABLE_SUM_AT + 8;
const FOOTER_SUM_AT: usize = END_MAGIC_AT + 8;
const FOOTER_BYTES: usize = FOOTER_SUM_AT + 8;

const _: () = assert!(HEADER_BYTES == 64);
const _: () = assert!(FOOTER_BYTES == 32);
const _: () = assert!(HEADER_BYTES < PAGE_BYTES);

/// Bytes that a writer gathers before it hands them on; a multiple of the page, small enough to stay in
/// the second-level cache until they are hashed and copied.
const BUFFER_BYTES: usize = 32 * PAGE_BYTES;

/// Writes a checked file, front to back.
pub struct CheckedWriter {
    file: Box<dyn WriteFile>,
    magic: [u8; 8],
    /// Bytes that wait; begins at a page boundary of the file.
    buffer: Vec<u8>,
    /// Bytes of the buffer, whole pages, whose checksums stand in the table.
    hashed: usize,
    /// Bytes handed to the file.
    written: u64,
    /// The table.
    sums: Vec<u8>,
}

impl CheckedWriter {
    /// Begins a file, which must not exist, with its owner's magic and version.
    pub fn create(storage: &dyn Storage, path: &str, magic: [u8; 8], version: u32) -> Result<Self> {
        let mut buffer = Vec::with_capacity(BUFFER_BYTES);
        buffer.extend_from_slice(&header(magic, version));
        Ok(Self {
            file: storage.create(path)?,
            magic,
            buffer,
            hashed: 0,
            written: 0,
            sums: Vec::new(),
        })
    }

    /// Bytes of payload so far: the payload offset of what is written next.
    #[inline]
    pub fn position(&self) -> u64 {
        // The header is in the buffer or in the file, so the sum is never less.
        self.written + self.buffer.len() as u64 - HEADER_BYTES as u64
    }

    /// Appends to the payload.
    #[inline]
    pub fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() < BUFFER_BYTES - self.buffer.len() {
            self.buffer.extend_from_slice(bytes);
            if self.buffer.len() - self.hashed >= PAGE_BYTES {
                self.hash_whole_pages();
            }
            return Ok(());
        }
        self.write_many(bytes)
    }

    /// Writes what waits, the table and the footer.
    pub fn finish(mut self) -> Result<Unsynced> {
        let payload = self.position();
        self.hash_whole_pages();
        let rest = &self.buffer[self.hashed..];
        if !rest.is_empty() {
            self.sums.extend_from_slice(&page_sum(rest).to_le_bytes());
        }
        let footer = footer(self.magic, payload, xxh3_64(&self.sums));
        self.buffer.extend_from_slice(&self.sums);
        self.buffer.extend_from_slice(&footer);
        self.file.write_all(&self.buffer)?;
        Ok(Unsynced {
            bytes: self.written + self.buffer.len() as u64,
            file: self.file,
        })
    }

    /// Appends what does not fit into the buffer. Whole pages of a long input are hashed and written where
    /// they are.
    #[cold]
    fn write_many(&mut self, mut bytes: &[u8]) -> Result<()> {
        let take = (BUFFER_BYTES - self.buffer.len()).min(bytes.len());
        // A long input only fills up the page that was begun, so that the rest need not be copied.
        let take = if bytes.len() - take >= BUFFER_BYTES {
            self.buffer.len().next_multiple_of(PAGE_BYTES) - self.buffer.len()
        } else {
            take
        };
        self.buffer.extend_from_slice(&bytes[..take]);
        bytes = &bytes[take..];
        self.flush()?;
        if bytes.len() >= BUFFER_BYTES {
            let (whole, rest) = bytes.split_at(bytes.len() - bytes.len() % PAGE_BYTES);
            for block in whole.chunks(BUFFER_BYTES) {
                push_sums(&mut self.sums, block);
                self.file.write_all(block)?;
                self.written += block.len() as u64;
            }
            bytes = rest;
        }
        self.buffer.extend_from_slice(bytes);
        self.hash_whole_pages();
        Ok(())
    }

    /// Hands the buffer, whole pages, to the file.
    fn flush(&mut self) -> Result<()> {
        self.hash_whole_pages();
        assert_eq!(self.hashed, self.buffer.len(), "a flush within a page");
        self.file.write_all(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        self.hashed = 0;
        Ok(())
    }

    fn hash_whole_pages(&mut self) {
        let end = self.buffer.len() - self.buffer.len() % PAGE_BYTES;
        push_sums(&mut self.sums, &self.buffer[self.hashed..end]);
        self.hashed = end;
    }
}

impl fmt::Debug for CheckedWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CheckedWriter(at {})", self.position())
    }
}

/// A file that was written whole and is not known to be durable yet.
#[must_use = "the file may be lost in a crash until it is synced"]
pub struct Unsynced {
    file: Box<dyn WriteFile>,
    bytes: u64,
}

impl Unsynced {
    /// Length of the whole file in bytes, header and checksums included.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes the contents durable, and returns the file's length. The name is durable only after the
    /// directory was synced.
    pub fn sync(mut self) -> Result<u64> {
        self.file.sync()?;
        Ok(self.bytes)
    }
}

impl fmt::Debug for Unsynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Unsynced({} bytes)", self.bytes)
    }
}

/// An open checked file; clones share it.
#[derive(Clone)]
pub struct CheckedFile(Arc<Inner>);

struct Inner {
    bytes: Bytes,
    /// Where the payload ends in the file.
    payload_end: u64,
    /// One bit a page: compared with its checksum. Relaxed is enough: the bytes never change, so a set bit
    /// publishes nothing but itself, and a bit that is seen late costs one more comparison.
    verified: Box<[AtomicU64]>,
    path: PathBuf,
}

impl CheckedFile {
    /// Opens a file and checks header, table and footer; pages are checked when they are touched. Takes
    /// about a millisecond for 10 GB.
    ///
    /// # Errors
    /// [`StoreError::NotAStore`] if the magic is another one, [`StoreError::Version`] if the payload's
    /// version is another one, [`StoreError::Damaged`] if a checksum or length does not hold.
    pub fn open(storage: &dyn Storage, path: &str, magic: [u8; 8], version: u32) -> Result<Self> {
        let bytes = storage.map(path)?;
        let path = storage.display(path);
        check_header(&bytes, &path, magic, version)?;
        let payload_end = check_footer(&bytes, &path, magic)?;
        let pages = page_count(payload_end);
        Ok(Self(Arc::new(Inner {
            bytes,
            payload_end,
            verified: (0..pages.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            path,
        })))
    }

    /// Length of the payload in bytes.
    #[inline]
    pub fn len(&self) -> u64 {
        self.0.payload_end - HEADER_BYTES as u64
    }

    /// Whether the payload is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A range of the payload. Its pages are compared with their checksums the first time that they are
    /// touched; after that a range within one page costs about a nanosecond.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if a page is, or if the range is not within the payload.
    #[inline]
    pub fn bytes(&self, range: Range<u64>) -> Result<&[u8]> {
        let inner = &*self.0;
        if range.start < range.end && range.end <= self.len() {
            let start = range.start + HEADER_BYTES as u64;
            let end = range.end + HEADER_BYTES as u64;
            let page = (start >> PAGE_SHIFT) as usize;
            if page == ((end - 1) >> PAGE_SHIFT) as usize && inner.is_verified(page) {
                return Ok(&inner.bytes[start as usize..end as usize]);
            }
        }
        inner.bytes_of_pages(range)
    }

    /// Compares every byte with its checksum, whether it was before or not.
    pub fn verify(&self) -> Result<()> {
        // The header's and the table's own checksums were compared when the file was opened; the pages
        // are compared with the table, and the first one has the header.
        (0..page_count(self.0.payload_end)).try_for_each(|page| self.0.verify_page(page))
    }

    /// The error of a reader that found its payload wrong, `offset` bytes from the payload's start.
    #[cold]
    pub fn damaged(&self, offset: u64, reason: impl Into<String>) -> StoreError {
        StoreError::Damaged {
            path: self.0.path.clone(),
            offset: offset.saturating_add(HEADER_BYTES as u64),
            reason: reason.into(),
        }
    }

    /// The file's absolute path, for messages.
    pub fn path(&self) -> &Path {
        &self.0.path
    }
}

impl fmt::Debug for CheckedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CheckedFile({})", self.0.path.display())
    }
}

impl Inner {
    #[inline]
    fn is_verified(&self, page: usize) -> bool {
        self.verified[page / 64].load(Ordering::Relaxed) >> (page % 64) & 1 != 0
    }

    /// A range of any number of pages, verified or not.
    #[inline(never)]
    fn bytes_of_pages(&self, range: Range<u64>) -> Result<&[u8]> {
        let length = self.payload_end - HEADER_BYTES as u64;
        if range.start > range.end || range.end > length {
            return Err(damaged(
                &self.path,
                range.start.saturating_add(HEADER_BYTES as u64),
                format!("bytes {range:?} are asked of a payload of {length}"),
            ));
        }
        let start = range.start as usize + HEADER_BYTES;
        let end = range.end as usize + HEADER_BYTES;
        for page in start >> PAGE_SHIFT..end.div_ceil(PAGE_BYTES) {
            if !self.is_verified(page) {
                self.verify_page(page)?;
                self.verified[page / 64].fetch_or(1 << (page % 64), Ordering::Relaxed);
            }
        }
        Ok(&self.bytes[start..end])
    }

    #[cold]
    fn verify_page(&self, page: usize) -> Result<()> {
        let payload_end = self.payload_end as usize;
        let start = page << PAGE_SHIFT;
        let found = page_sum(&self.bytes[start..payload_end.min(start + PAGE_BYTES)]);
        let expected = read_u32(&self.bytes, payload_end + page * SUM_BYTES);
        if found == expected {
            return Ok(());
        }
        Err(damaged(
            &self.path,
            start as u64,
            format!("checksum of page {page} is {found:08x}, not {expected:08x}"),
        ))
    }
}

/// Pages up to the payload's end, header included.
fn page_count(payload_end: u64) -> usize {
    payload_end.div_ceil(PAGE_BYTES as u64) as usize
}

fn page_sum(page: &[u8]) -> u32 {
    xxh3_64(page) as u32
}

fn push_sums(sums: &mut Vec<u8>, pages: &[u8]) {
    for page in pages.chunks(PAGE_BYTES) {
        sums.extend_from_slice(&page_sum(page).to_le_bytes());
    }
}

fn header(magic: [u8; 8], version: u32) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[MAGIC_AT..VERSION_AT].copy_from_slice(&magic);
    header[VERSION_AT..PAGE_SIZE_AT].copy_from_slice(&version.to_le_bytes());
    header[PAGE_SIZE_AT..ZERO_AT].copy_from_slice(&(PAGE_BYTES as u32).to_le_bytes());
    let sum = xxh3_64(&header[..HEADER_SUM_AT]);
    header[HEADER_SUM_AT..].copy_from_slice(&sum.to_le_bytes());
    header
}

fn footer(magic: [u8; 8], payload: u64, table_sum: u64) -> [u8; FOOTER_BYTES] {
    let mut footer = [0; FOOTER_BYTES];
    footer[LENGTH_AT..TABLE_SUM_AT].copy_from_slice(&payload.to_le_bytes());
    footer[TABLE_SUM_AT..END_MAGIC_AT].copy_from_slice(&table_sum.to_le_bytes());
    footer[END_MAGIC_AT..FOOTER_SUM_AT].copy_from_slice(&magic);
    let sum = xxh3_64(&footer[..FOOTER_SUM_AT]);
    footer[FOOTER_SUM_AT..].copy_from_slice(&sum.to_le_bytes());
    footer
}

fn check_header(bytes: &[u8], path: &Path, magic: [u8; 8], version: u32) -> Result<()> {
    if bytes.len() < HEADER_BYTES + FOOTER_BYTES {
        let reason = format!("{} bytes are no whole file", bytes.len());
        return Err(damaged(path, bytes.len() as u64, reason));
    }
    let found = &bytes[MAGIC_AT..VERSION_AT];
    if found != magic {
        return Err(StoreError::NotAStore {
            path: path.to_path_buf(),
            reason: format!(
                "begins with \"{}\" where a file of this kind has \"{}\"",
                found.escape_ascii(),
                magic.escape_ascii()
            ),
        });
    }
    let sum = read_u64(bytes, HEADER_SUM_AT);
    if xxh3_64(&bytes[..HEADER_SUM_AT]) != sum {
        return Err(damaged(path, 0, "checksum of the header"));
    }
    let found = read_u32(bytes, VERSION_AT);
    if found != version {
        return Err(StoreError::Version {
            path: path.to_path_buf(),
            found,
            expected: version,
        });
    }
    // Whole and of this version, but written by something else than this module.
    if bytes[..HEADER_BYTES] != header(magic, version) {
        return Err(damaged(path, PAGE_SIZE_AT as u64, "unknown page size"));
    }
    Ok(())
}

/// Checks footer and table of a file that is long enough for header and footer; returns where the payload
/// ends.
fn check_footer(bytes: &[u8], path: &Path, magic: [u8; 8]) -> Result<u64> {
    let table_end = bytes.len() - FOOTER_BYTES;
    let footer = &bytes[table_end..];
    let wrong = |reason| Err(damaged(path, table_end as u64, reason));
    if xxh3_64(&footer[..FOOTER_SUM_AT]) != read_u64(footer, FOOTER_SUM_AT) {
        return wrong("checksum of the footer; the file's end may be missing");
    }
    if footer[END_MAGIC_AT..FOOTER_SUM_AT] != magic {
        return wrong("the footer is another file's");
    }
    let payload_end = read_u64(footer, LENGTH_AT).saturating_add(HEADER_BYTES as u64);
    if payload_end > table_end as u64
        || table_end as u64 - payload_end != (page_count(payload_end) * SUM_BYTES) as u64
    {
        return wrong("the payload's length does not fit the file's");
    }
    let table = &bytes[payload_end as usize..table_end];
    if xxh3_64(table) != read_u64(footer, TABLE_SUM_AT) {
        return Err(damaged(path, payload_end, "checksum of the table"));
    }
    Ok(payload_end)
}

#[cold]
fn damaged(path: &Path, offset: u64, reason: impl Into<String>) -> StoreError {
    StoreError::Damaged {
        path: path.to_path_buf(),
        offset,
        reason: reason.into(),
    }
}

fn read_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(
        *bytes[at..]
            .first_chunk()
            .expect("four bytes were checked for"),
    )
}

fn read_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(
        *bytes[at..]
            .first_chunk()
            .expect("eight bytes were checked for"),
    )
}

#[cfg(test)]
mod tests;
