//! `SpillFile`: a temporary file of blocks of rows. The byte map is in [`super`].

use super::scratch::Scratch;
use crate::error::{QueryError, Result};
use crate::exec::batch::Batch;
use quadrille_store::TermId;
use quadrille_store::io::TemporaryFile;
use std::ops::Range;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

const ROWS_AT: usize = 8;
const KEYS_AT: usize = 12;
/// Bytes before the columns of a block.
const HEADER_BYTES: usize = 16;
/// Bytes of an id.
const ID_BYTES: usize = 8;

/// A file of blocks.
pub struct SpillFile {
    file: Box<dyn TemporaryFile>,
    length: u64,
    scratch: Arc<Scratch>,
    /// The block that is being put together.
    buffer: Vec<u8>,
}

/// Where a block is.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    offset: u64,
    bytes: u32,
}

impl SpillFile {
    /// A new file.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn new(scratch: &Arc<Scratch>) -> Result<Self> {
        Ok(Self {
            file: scratch.create()?,
            length: 0,
            scratch: Arc::clone(scratch),
            buffer: Vec::new(),
        })
    }

    /// Appends a block of some rows of a batch, and their sort keys.
    ///
    /// # Errors
    /// If it cannot be written, or temporary files take more than they may.
    pub fn append(&mut self, batch: &Batch, rows: Range<usize>, keys: &[u8]) -> Result<Place> {
        let buffer = &mut self.buffer;
        buffer.clear();
        buffer.resize(HEADER_BYTES, 0);
        buffer[ROWS_AT..KEYS_AT].copy_from_slice(&(rows.len() as u32).to_le_bytes());
        buffer[KEYS_AT..HEADER_BYTES].copy_from_slice(&(keys.len() as u32).to_le_bytes());
        for column in 0..batch.width() {
            let ids = batch.column(column);
            if ids.is_empty() {
                // A scan left it out, because nobody wants it.
                buffer.resize(buffer.len() + rows.len() * ID_BYTES, 0);
                continue;
            }
            for id in &ids[rows.clone()] {
                buffer.extend_from_slice(&id.bits().to_le_bytes());
            }
        }
        buffer.extend_from_slice(keys);
        let checksum = xxh3_64(&buffer[ROWS_AT..]);
        buffer[..ROWS_AT].copy_from_slice(&checksum.to_le_bytes());
        let place = Place {
            offset: self.length,
            bytes: buffer.len() as u32,
        };
        self.scratch.take(buffer.len() as u64)?;
        self.length += buffer.len() as u64;
        self.file.append(buffer)?;
        Ok(place)
    }

    /// Appends the rows of a block to a batch, and gives the bytes of their sort keys. `bytes` is a buffer.
    ///
    /// # Errors
    /// If it cannot be read, or is not what was written.
    pub fn read<'a>(
        &self,
        place: Place,
        batch: &mut Batch,
        bytes: &'a mut Vec<u8>,
    ) -> Result<&'a [u8]> {
        bytes.resize(place.bytes as usize, 0);
        self.file.read_at(place.offset, bytes)?;
        let damaged = || QueryError::TemporaryDamaged {
            offset: place.offset,
        };
        let (checksum, rest) = bytes.split_first_chunk::<ROWS_AT>().ok_or_else(damaged)?;
        if xxh3_64(rest) != u64::from_le_bytes(*checksum) {
            return Err(damaged());
        }
        let (rows, rest) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
        let (_, mut rest) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
        let rows = u32::from_le_bytes(*rows) as usize;
        for column in 0..batch.width() {
            let (ids, behind) = rest.split_at_checked(rows * ID_BYTES).ok_or_else(damaged)?;
            let (ids, _) = ids.as_chunks::<ID_BYTES>();
            let ids = ids
                .iter()
                .map(|id| TermId::from_bits(u64::from_le_bytes(*id)));
            batch.column_mut(column).extend(ids);
            rest = behind;
        }
        batch.set_rows(batch.rows() + rows);
        Ok(rest)
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        self.scratch.give_back(self.length);
    }
}
