//! Decompressors: gzip, bzip2, xz and Zstandard, each with any number of members, as readers.
//!
//! What always holds: a stream that ends inside a member, or that is damaged, is an error with the input's
//! name. Bytes read from the stored (compressed) input are counted for the progress display.

use crate::error::LoadError;
use crate::input::slices::error_of_read;
use crate::input::{Compression, Progress};
use std::io::{self, BufReader, Cursor, Read};
use std::sync::Arc;

/// How many bytes [`sniff`] wants to see.
pub(crate) const SNIFF_BYTES: usize = 16;

/// How much of the stored input a decompressor reads at once.
const COMPRESSED_BUFFER_BYTES: usize = 256 * 1024;

/// The largest window of a Zstandard frame that is accepted, as a power of two: what `zstd --long=31` writes.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;

/// The compression that the first bytes of an input tell.
pub(crate) fn sniff(head: &[u8]) -> Compression {
    if head.starts_with(&[0x1F, 0x8B, 0x08]) {
        Compression::Gzip
    } else if head.len() >= 10 && head.starts_with(b"BZh") && head[4..10] == *b"1AY&SY" {
        Compression::Bzip2
    } else if head.starts_with(&[0xFD, b'7', b'z', b'X', b'Z', 0x00]) {
        Compression::Xz
    } else if head.starts_with(&[0x28, 0xB5, 0x2F, 0xFD])
        || (head.len() >= 4 && head[0] & 0xF0 == 0x50 && head[1..4] == [0x2A, 0x4D, 0x18])
    {
        Compression::Zstd
    } else {
        Compression::Plain
    }
}

/// A reader of the decompressed bytes of a stream. Its first bytes tell the compression if that is not told, and
/// nothing is read before the first read: the stream may be a pipe that gives nothing yet.
pub(crate) struct Decompressing {
    name: String,
    told: Option<Compression>,
    progress: Arc<Progress>,
    stored: Option<Box<dyn Read + Send>>,
    inner: Option<Box<dyn Read + Send>>,
}

impl Decompressing {
    pub(crate) fn new(
        name: &str,
        told: Option<Compression>,
        stored: Box<dyn Read + Send>,
        progress: Arc<Progress>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            told,
            progress,
            stored: Some(stored),
            inner: None,
        }
    }

    fn open(&self, mut stored: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
        let progress = Arc::clone(&self.progress);
        if let Some(compression) = self.told {
            return decompress(&self.name, compression, stored, progress);
        }
        let mut head = Vec::with_capacity(SNIFF_BYTES);
        stored
            .by_ref()
            .take(SNIFF_BYTES as u64)
            .read_to_end(&mut head)?;
        let compression = sniff(&head);
        let whole = Box::new(Cursor::new(head).chain(stored));
        decompress(&self.name, compression, whole, progress)
    }
}

impl Read for Decompressing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(stored) = self.stored.take() {
            self.inner = Some(self.open(stored)?);
        }
        match &mut self.inner {
            Some(inner) => inner.read(buffer),
            None => Err(io::Error::other("the input could not be opened")),
        }
    }
}

/// A reader of the decompressed bytes. Its errors carry a [`LoadError`] inside.
fn decompress(
    name: &str,
    compression: Compression,
    stored: Box<dyn Read + Send>,
    progress: Arc<Progress>,
) -> io::Result<Box<dyn Read + Send>> {
    let counted = Counting {
        inner: stored,
        progress,
    };
    let decoder: Box<dyn Read + Send> = match compression {
        Compression::Plain => Box::new(counted),
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(buffered(counted))),
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(buffered(counted))),
        Compression::Xz => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(buffered(
            counted,
        ))),
        Compression::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(buffered(counted))?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            Box::new(decoder)
        }
    };
    Ok(Box::new(Named {
        inner: decoder,
        name: name.to_owned(),
        compression,
    }))
}

fn buffered<R: Read>(reader: R) -> BufReader<R> {
    BufReader::with_capacity(COMPRESSED_BUFFER_BYTES, reader)
}

/// Counts what is read of the stored input.
struct Counting {
    inner: Box<dyn Read + Send>,
    progress: Arc<Progress>,
}

impl Read for Counting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // An error of the stored input itself is told apart from one of the decompressor.
        let read = self.inner.read(buffer).map_err(|error| {
            if error.kind() == io::ErrorKind::Interrupted {
                error
            } else {
                io::Error::new(error.kind(), Stored(error))
            }
        })?;
        self.progress.add_read(read as u64);
        Ok(read)
    }
}

/// An error of the stored input below a decompressor.
#[derive(Debug)]
struct Stored(io::Error);

impl std::fmt::Display for Stored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Stored {}

/// Puts the input's name into the errors of a reader.
struct Named {
    inner: Box<dyn Read + Send>,
    name: String,
    compression: Compression,
}

impl Read for Named {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|error| {
            if error.kind() == io::ErrorKind::Interrupted {
                return error;
            }
            let kind = error.kind();
            let named = match error.downcast::<Stored>() {
                Ok(stored) => error_of_read(&self.name, stored.0),
                Err(source) => LoadError::Compressed {
                    name: self.name.clone(),
                    compression: self.compression.name(),
                    source,
                },
            };
            io::Error::new(kind, named)
        })
    }
}
