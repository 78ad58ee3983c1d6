//! Packs a university's text as it is made, into a buffer that may be emptied at any time.
//!
//! What always holds: the packed bytes of a university are whole by themselves (a gzip member, a Zstandard
//! frame), so that they may follow one another in a file.

use crate::format::Compression;
use crate::text::TextBuffer;
use flate2::write::GzEncoder;
use std::io::{self, Write};

/// Levels that the tools of these formats use when not told otherwise.
const GZIP_LEVEL: u32 = 6;
const ZSTANDARD_LEVEL: i32 = 3;

/// Takes the text of one university, gives packed bytes.
pub(crate) struct Packer {
    /// Text not yet packed; without compression, the packed bytes themselves.
    text: TextBuffer,
    encoder: Encoder,
}

enum Encoder {
    None,
    Gzip(GzEncoder<TextBuffer>),
    Zstandard(Box<zstd::stream::write::Encoder<'static, TextBuffer>>),
}

impl Packer {
    /// Packs into an empty buffer.
    pub(crate) fn new(compression: Compression, packed: TextBuffer) -> io::Result<Self> {
        let (text, encoder) = match compression {
            Compression::None => (packed, Encoder::None),
            Compression::Gzip => {
                let level = flate2::Compression::new(GZIP_LEVEL);
                let encoder = GzEncoder::new(packed, level);
                (TextBuffer::default(), Encoder::Gzip(encoder))
            }
            Compression::Zstandard => {
                let encoder = zstd::stream::write::Encoder::new(packed, ZSTANDARD_LEVEL)?;
                (TextBuffer::default(), Encoder::Zstandard(Box::new(encoder)))
            }
        };
        Ok(Self { text, encoder })
    }

    /// Where text is appended; to be followed by [`Packer::pack`].
    pub(crate) fn text(&mut self) -> &mut TextBuffer {
        &mut self.text
    }

    /// Packs the text appended so far.
    pub(crate) fn pack(&mut self) -> io::Result<()> {
        match &mut self.encoder {
            Encoder::None => return Ok(()),
            Encoder::Gzip(encoder) => encoder.write_all(self.text.as_bytes())?,
            Encoder::Zstandard(encoder) => encoder.write_all(self.text.as_bytes())?,
        }
        self.text.clear();
        Ok(())
    }

    /// The packed bytes so far, free to be written and cleared.
    pub(crate) fn packed(&mut self) -> &mut TextBuffer {
        match &mut self.encoder {
            Encoder::None => &mut self.text,
            Encoder::Gzip(encoder) => encoder.get_mut(),
            Encoder::Zstandard(encoder) => encoder.get_mut(),
        }
    }

    /// Ends the university; what has not been cleared is in the buffer.
    pub(crate) fn finish(self) -> io::Result<TextBuffer> {
        match self.encoder {
            Encoder::None => Ok(self.text),
            Encoder::Gzip(encoder) => encoder.finish(),
            Encoder::Zstandard(encoder) => encoder.finish(),
        }
    }
}
