//! A sorted partial vocabulary in a temporary file, for loads that outgrow their memory.
//!
//! ```text
//! file   record after record, in term order; integers little-endian
//! record | kind u8 | roles u8 | shared u32 | rest u32 | annotation u32 | rest bytes |
//! ```
//!
//! `shared` counts the bytes in common with the term before; `annotation` is an index into the run's own list,
//! which stays in memory (annotations are few). Temporary files live within one run of the program
//! and are read back once, so they carry neither magic nor checksum.

use super::merge::{Head, SortedTerms};
use super::{LocalId, PartialVocabulary};
use crate::error::LoadError;
use quadrille_store::io::Storage;
use std::io::{BufReader, Read};

/// Bytes of a record before its rest.
const RECORD_HEAD: usize = 2 + 3 * 4;
/// Buffers for writing and reading temporary files.
pub const BUFFER: usize = 256 << 10;

/// Writes records of a sorted vocabulary.
pub struct SpillWriter {
    file: Box<dyn quadrille_store::io::WriteFile>,
    buffer: Vec<u8>,
    last: Vec<u8>,
    last_kind: u8,
    terms: u64,
}

impl SpillWriter {
    /// A new temporary file.
    pub fn create(storage: &dyn Storage, path: &str) -> Result<Self, LoadError> {
        Ok(Self {
            file: storage.create(path)?,
            buffer: Vec::with_capacity(BUFFER + (64 << 10)),
            last: Vec::new(),
            last_kind: 0,
            terms: 0,
        })
    }

    /// Appends the next term.
    pub fn push(&mut self, head: Head<'_>, roles: u8) -> Result<(), LoadError> {
        let shared = if head.kind == self.last_kind {
            self.last
                .iter()
                .zip(head.bytes)
                .take_while(|(a, b)| a == b)
                .count()
        } else {
            0
        };
        let rest = &head.bytes[shared..];
        self.buffer.extend_from_slice(&[head.kind, roles]);
        for number in [shared as u32, rest.len() as u32, head.annotation] {
            self.buffer.extend_from_slice(&number.to_le_bytes());
        }
        self.buffer.extend_from_slice(rest);
        self.last.truncate(shared);
        self.last.extend_from_slice(rest);
        self.last_kind = head.kind;
        self.terms += 1;
        if self.buffer.len() >= BUFFER {
            self.file.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Ends the file; gives the number of terms.
    pub fn finish(mut self) -> Result<u64, LoadError> {
        self.file.write_all(&self.buffer)?;
        Ok(self.terms)
    }
}

/// Writes a whole sorted vocabulary, annotations as the vocabulary numbers them.
pub fn write(
    storage: &dyn Storage,
    path: &str,
    vocabulary: &PartialVocabulary,
    sorted: &[LocalId],
) -> Result<(), LoadError> {
    let mut writer = SpillWriter::create(storage, path)?;
    for id in sorted.iter().copied() {
        let head = Head {
            kind: vocabulary.kind(id),
            bytes: vocabulary.bytes(id),
            annotation: vocabulary.annotation(id),
        };
        writer.push(head, vocabulary.roles(id))?;
    }
    writer.finish()?;
    Ok(())
}

/// Reads a spilled vocabulary from front to back.
pub struct SpilledSource {
    reader: BufReader<Box<dyn Read + Send>>,
    left: u64,
    kind: u8,
    roles: u8,
    annotation: u32,
    bytes: Vec<u8>,
    annotation_map: Vec<u32>,
}

impl SpilledSource {
    /// Opens a file of `terms` terms; `annotation_map` maps the run's annotations to the load's.
    pub fn open(
        storage: &dyn Storage,
        path: &str,
        terms: u64,
        annotation_map: Vec<u32>,
    ) -> Result<Self, LoadError> {
        let mut source = Self {
            reader: BufReader::with_capacity(BUFFER, storage.read(path)?),
            left: terms,
            kind: 0,
            roles: 0,
            annotation: 0,
            bytes: Vec::new(),
            annotation_map,
        };
        if source.left > 0 {
            source.read_record()?;
        }
        Ok(source)
    }

    fn read_record(&mut self) -> Result<(), LoadError> {
        let mut head = [0; RECORD_HEAD];
        self.reader
            .read_exact(&mut head)
            .map_err(LoadError::temporary)?;
        let number = |place: usize| {
            u32::from_le_bytes(head[place..place + 4].try_into().expect("four bytes")) as usize
        };
        let (shared, rest) = (number(2), number(6));
        self.kind = head[0];
        self.roles = head[1];
        self.annotation = self.annotation_map[number(10)];
        self.bytes.resize(shared + rest, 0);
        self.reader
            .read_exact(&mut self.bytes[shared..])
            .map_err(LoadError::temporary)?;
        Ok(())
    }
}

impl SortedTerms for SpilledSource {
    fn head(&self) -> Option<Head<'_>> {
        (self.left > 0).then_some(Head {
            kind: self.kind,
            bytes: &self.bytes,
            annotation: self.annotation,
        })
    }

    fn roles(&self) -> u8 {
        self.roles
    }

    fn advance(&mut self) -> Result<(), LoadError> {
        self.left -= 1;
        if self.left > 0 {
            self.read_record()?;
        }
        Ok(())
    }
}
