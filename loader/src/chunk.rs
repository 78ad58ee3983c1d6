//! `Chunk`: a sorted sequence of packed rows, in memory or in a temporary file, and the merge of several.
//!
//! ```text
//! file   row after row, 8 or 16 bytes, native byte order (it never outlives the process)
//! ```
//!
//! Data that fits its memory is one chunk in memory and never sees a file. Otherwise chunks are as large as
//! memory allows, and are merged from files, [`FAN_IN`] at a time.

#[cfg(test)]
mod tests;

use crate::error::LoadError;
use crate::key::Key;
use crate::large::LargeVec;
use crate::options::CancelFlag;
use crate::run::{FAN_IN, Temporary};
use crate::sort;
use crate::vocabulary::spill::BUFFER;
use quadrille_store::io::{Storage, WriteFile};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::io::Read;

/// Rows handed on at once.
pub const PIECE_ROWS: usize = 4096;

/// Sorted rows without duplicates.
pub enum Chunk<K> {
    /// In memory.
    Memory(LargeVec<K>),
    /// In a temporary file.
    File {
        /// Its name.
        path: String,
        /// How many rows.
        rows: u64,
    },
}

impl<K: Key> Chunk<K> {
    /// Writes rows to a temporary file.
    pub fn spill(rows: &[K], temporary: Temporary<'_>) -> Result<Self, LoadError> {
        let mut writer = ChunkWriter::create(temporary)?;
        for piece in rows.chunks(BUFFER / size_of::<K>()) {
            writer.write(piece)?;
        }
        Ok(writer.finish())
    }

    /// All rows in memory; a file is kept.
    pub fn load(&self, storage: &dyn Storage) -> Result<LargeVec<K>, LoadError> {
        match self {
            Self::Memory(rows) => Ok(LargeVec::copied(rows)),
            Self::File { path, rows } => {
                let mut loaded = LargeVec::default();
                loaded.set_length(*rows as usize);
                let mut file = storage.read(path)?;
                file.read_exact(bytemuck::cast_slice_mut(&mut loaded))
                    .map_err(LoadError::temporary)?;
                Ok(loaded)
            }
        }
    }

    /// Removes the file, if it is one.
    pub fn remove(self, storage: &dyn Storage) -> Result<(), LoadError> {
        if let Self::File { path, .. } = self {
            storage.remove(&path)?;
        }
        Ok(())
    }

    fn reader(&self, storage: &dyn Storage) -> Result<Reader<'_, K>, LoadError> {
        Ok(match self {
            Self::Memory(rows) => Reader {
                file: None,
                left: 0,
                buffer: Vec::new(),
                rows: Some(rows),
                place: 0,
            },
            Self::File { path, rows } => Reader {
                file: Some(storage.read(path)?),
                left: *rows,
                buffer: Vec::new(),
                rows: None,
                place: 0,
            },
        })
    }

    /// Calls `each` with piece after piece.
    pub fn read(
        &self,
        storage: &dyn Storage,
        mut each: impl FnMut(&[K]) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        let mut reader = self.reader(storage)?;
        loop {
            let piece = reader.piece()?;
            if piece.is_empty() {
                return Ok(());
            }
            let taken = piece.len().min(PIECE_ROWS);
            each(&piece[..taken])?;
            reader.place += taken;
        }
    }
}

/// Writes a chunk's file.
pub struct ChunkWriter {
    file: Box<dyn WriteFile>,
    path: String,
    rows: u64,
}

impl ChunkWriter {
    /// A new temporary file.
    pub fn create(temporary: Temporary<'_>) -> Result<Self, LoadError> {
        let path = temporary.names.next("chunk");
        Ok(Self {
            file: temporary.storage.create(&path)?,
            path,
            rows: 0,
        })
    }

    /// Appends rows; a few hundred at least, they are not buffered here.
    pub fn write<K: Key>(&mut self, rows: &[K]) -> Result<(), LoadError> {
        self.file.write_all(bytemuck::cast_slice(rows))?;
        self.rows += rows.len() as u64;
        Ok(())
    }

    /// Ends the file.
    pub fn finish<K>(self) -> Chunk<K> {
        Chunk::File {
            path: self.path,
            rows: self.rows,
        }
    }
}

/// Reads a chunk from front to back.
struct Reader<'a, K> {
    file: Option<Box<dyn Read + Send>>,
    left: u64,
    buffer: Vec<K>,
    rows: Option<&'a [K]>,
    place: usize,
}

impl<K: Key> Reader<'_, K> {
    /// The rows at hand, none at the end.
    fn piece(&mut self) -> Result<&[K], LoadError> {
        if let Some(rows) = self.rows {
            return Ok(&rows[self.place..]);
        }
        if self.place == self.buffer.len() && self.left > 0 {
            let rows = (BUFFER / size_of::<K>()).min(self.left as usize);
            self.buffer.resize(rows, K::default());
            let file = self.file.as_mut().expect("a chunk is a file or in memory");
            file.read_exact(bytemuck::cast_slice_mut(&mut self.buffer))
                .map_err(LoadError::temporary)?;
            self.left -= rows as u64;
            self.place = 0;
        }
        Ok(&self.buffer[self.place..])
    }

    fn next(&mut self) -> Result<Option<K>, LoadError> {
        let row = self.piece()?.first().copied();
        self.place += usize::from(row.is_some());
        Ok(row)
    }
}

/// Merges chunks; equal rows come once. `each` gets pieces of up to [`PIECE_ROWS`] rows.
pub fn merge<K: Key>(
    chunks: &[Chunk<K>],
    storage: &dyn Storage,
    mut each: impl FnMut(&[K]) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    match chunks {
        [] => return Ok(()),
        [only] => return only.read(storage, each),
        [Chunk::Memory(left), Chunk::Memory(right)] => {
            return sort::merge_two(left, right)
                .chunks(PIECE_ROWS)
                .try_for_each(each);
        }
        _ => {}
    }
    let mut readers = chunks
        .iter()
        .map(|chunk| chunk.reader(storage))
        .collect::<Result<Vec<_>, LoadError>>()?;
    let mut heads = BinaryHeap::with_capacity(readers.len());
    for (source, reader) in readers.iter_mut().enumerate() {
        if let Some(row) = reader.next()? {
            heads.push(Reverse((row, source)));
        }
    }
    let mut piece: Vec<K> = Vec::with_capacity(PIECE_ROWS);
    let mut last = None;
    while let Some(mut head) = heads.peek_mut() {
        let Reverse((row, source)) = *head;
        match readers[source].next()? {
            Some(next) => *head = Reverse((next, source)),
            None => {
                PeekMut::pop(head);
            }
        }
        if last == Some(row) {
            continue;
        }
        last = Some(row);
        piece.push(row);
        if piece.len() == PIECE_ROWS {
            each(&piece)?;
            piece.clear();
        }
    }
    if piece.is_empty() {
        Ok(())
    } else {
        each(&piece)
    }
}

/// How many chunks each of `tasks` tasks may merge at once, so that all together open no more than a few dozen files.
pub fn fan_in(tasks: usize) -> usize {
    (2 * FAN_IN / tasks.max(1)).clamp(2, FAN_IN)
}

/// Merges chunks in groups until at most `fan_in` (at least 2) are left; what is merged is removed.
pub fn collapse<K: Key>(
    mut chunks: Vec<Chunk<K>>,
    fan_in: usize,
    temporary: Temporary<'_>,
    cancel: &CancelFlag,
) -> Result<Vec<Chunk<K>>, LoadError> {
    while chunks.len() > fan_in {
        let mut larger = Vec::with_capacity(chunks.len().div_ceil(fan_in));
        let mut rest = chunks.into_iter();
        loop {
            let group: Vec<Chunk<K>> = rest.by_ref().take(fan_in).collect();
            if group.is_empty() {
                break;
            }
            let mut writer = ChunkWriter::create(temporary)?;
            merge(&group, temporary.storage, |piece| {
                cancel.check()?;
                writer.write(piece)
            })?;
            larger.push(writer.finish());
            group
                .into_iter()
                .try_for_each(|chunk| chunk.remove(temporary.storage))?;
        }
        chunks = larger;
    }
    Ok(chunks)
}
