//! Input: files, directories, standard input and readers, plain or compressed, as pieces of work that
//! any number of parser threads claim from one [`SliceSource`].
//!
//! ```text
//! discover -> InputFile, InputFile, ... -> SliceSource -> Work::Slice     lines of N-Triples and N-Quads,
//!                                                                         whole statements of Turtle and TriG
//!                                                         Work::Document  a document that cannot be cut
//! ```
//!
//! What always holds:
//! * a slice begins and ends at a line end (at the end of a statement for Turtle and `TriG`), or at an end of
//!   its document; slices of a document do not overlap and leave nothing out;
//! * an input that ends too early (a truncated compressed file, a file that shrank) is an error with the
//!   file's name, never a silent end;
//! * memory is bounded: buffers come from a pool and go back to it, and only a line longer than a slice makes
//!   one grow, up to a limit.

pub mod decompress;
pub mod discover;
mod relay;
pub mod slices;
pub mod source;
pub(crate) mod terse_cutter;
pub(crate) mod terse_scanner;

pub use discover::discover;
pub use slices::Slice;
pub use source::{Document, Progress, SliceSource, Work};

use oxrdf::NamedNode;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

/// How much of an input a slice holds unless told otherwise, in bytes: together with the batches made of it,
/// it stays in the second-level cache.
pub const SLICE_SIZE_BYTES: usize = 1 << 20;

/// The longest line (or statement of Turtle) that is held in memory, in bytes.
pub const LINE_LIMIT_BYTES: usize = 1 << 30;

/// A syntax that inputs can be written in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// N-Triples, one triple a line.
    NTriples,
    /// N-Quads, one quad a line.
    NQuads,
    /// Turtle; N3 files are read as Turtle.
    Turtle,
    /// `TriG`.
    TriG,
    /// RDF/XML.
    RdfXml,
    /// JSON-LD.
    JsonLd,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 6] = [
        Self::NTriples,
        Self::NQuads,
        Self::Turtle,
        Self::TriG,
        Self::RdfXml,
        Self::JsonLd,
    ];

    /// The format that a file extension (without its dot, in any case) or a short name stands for.
    pub fn from_extension(extension: &str) -> Option<Self> {
        Some(match extension.to_ascii_lowercase().as_str() {
            "nt" | "ntriples" | "n-triples" => Self::NTriples,
            "nq" | "nquads" | "n-quads" => Self::NQuads,
            "ttl" | "turtle" | "n3" => Self::Turtle,
            "trig" => Self::TriG,
            "rdf" | "owl" | "xml" | "rdfxml" | "rdf/xml" => Self::RdfXml,
            "jsonld" | "json-ld" | "json" => Self::JsonLd,
            _ => return None,
        })
    }

    /// The format that a media type stands for; parameters after `;` are ignored.
    pub fn from_media_type(media_type: &str) -> Option<Self> {
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        Some(match essence.to_ascii_lowercase().as_str() {
            "application/n-triples" | "text/plain" => Self::NTriples,
            "application/n-quads" | "text/x-nquads" => Self::NQuads,
            "text/turtle" | "application/turtle" | "application/x-turtle" | "text/n3" => {
                Self::Turtle
            }
            "application/trig" | "application/x-trig" => Self::TriG,
            "application/rdf+xml" | "application/xml" | "text/xml" => Self::RdfXml,
            "application/ld+json" | "application/json" => Self::JsonLd,
            _ => return None,
        })
    }

    /// The name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::NTriples => "N-Triples",
            Self::NQuads => "N-Quads",
            Self::Turtle => "Turtle",
            Self::TriG => "TriG",
            Self::RdfXml => "RDF/XML",
            Self::JsonLd => "JSON-LD",
        }
    }

    /// Whether every statement stands on a line of its own.
    pub fn is_line_based(self) -> bool {
        matches!(self, Self::NTriples | Self::NQuads)
    }

    /// Whether the format is Turtle or `TriG`.
    pub fn is_terse(self) -> bool {
        matches!(self, Self::Turtle | Self::TriG)
    }
}

/// How an input is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Compression {
    /// Not at all.
    Plain,
    /// gzip, any number of members.
    Gzip,
    /// bzip2, any number of streams.
    Bzip2,
    /// xz, any number of streams.
    Xz,
    /// Zstandard, any number of frames.
    Zstd,
}

impl Compression {
    /// The compression that a file extension (without its dot) stands for.
    pub fn from_extension(extension: &str) -> Option<Self> {
        Some(match extension.to_ascii_lowercase().as_str() {
            "gz" | "gzip" => Self::Gzip,
            "bz2" | "bzip2" => Self::Bzip2,
            "xz" => Self::Xz,
            "zst" | "zstd" => Self::Zstd,
            _ => return None,
        })
    }

    /// The name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
        }
    }
}

/// Where an input's bytes come from.
pub enum Location {
    /// A file.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// Anything else that can be read, with a name for messages: a request's body, a test.
    Reader(String, Box<dyn Read + Send>),
}

impl Location {
    /// The name for messages.
    pub fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Stdin => "standard input".to_owned(),
            Self::Reader(name, _) => name.clone(),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// One input of a load, a document of its own: blank node labels mean something only inside it.
#[derive(Debug)]
pub struct InputFile {
    /// Where it is.
    pub location: Location,
    /// Its syntax.
    pub format: Format,
    /// Its compression; `None` = look at its first bytes.
    pub compression: Option<Compression>,
    /// Its number in the load, the scope of its blank nodes.
    pub document: u32,
    /// Its length in bytes as stored (compressed), if known.
    pub length: Option<u64>,
}

impl InputFile {
    /// A file whose format and compression are told by its name: `data.nt`, `data.ttl.gz`; `format` wins over
    /// the name. `None` if the name tells no format and none is given.
    pub fn from_path(path: &Path, format: Option<Format>, document: u32) -> Option<Self> {
        let (by_name, compression) = format_of_name(path);
        Some(Self {
            location: Location::Path(path.to_owned()),
            format: format.or(by_name)?,
            compression,
            document,
            length: std::fs::metadata(path)
                .ok()
                .filter(std::fs::Metadata::is_file)
                .map(|metadata| metadata.len()),
        })
    }

    /// Something that can be read; compression is told by its first bytes.
    pub fn from_reader(
        name: &str,
        reader: Box<dyn Read + Send>,
        format: Format,
        document: u32,
    ) -> Self {
        Self {
            location: Location::Reader(name.to_owned(), reader),
            format,
            compression: None,
            document,
            length: None,
        }
    }

    /// Standard input; compression is told by its first bytes.
    pub fn stdin(format: Format, document: u32) -> Self {
        Self {
            location: Location::Stdin,
            format,
            compression: None,
            document,
            length: None,
        }
    }
}

/// What a file's name says of its format and compression.
pub fn format_of_name(path: &Path) -> (Option<Format>, Option<Compression>) {
    let extension = |path: &Path| {
        path.extension()
            .and_then(|extension| extension.to_str())
            .map(str::to_owned)
    };
    let Some(last) = extension(path) else {
        return (None, None);
    };
    match Compression::from_extension(&last) {
        Some(compression) => {
            let inner = path.file_stem().map(PathBuf::from).unwrap_or_default();
            let format = extension(&inner).and_then(|inner| Format::from_extension(&inner));
            (format, Some(compression))
        }
        None => (Format::from_extension(&last), None),
    }
}

/// How inputs are read.
#[derive(Clone, Debug)]
pub struct InputOptions {
    /// How much of an input a slice holds, in bytes.
    pub slice_size: usize,
    /// The longest line or Turtle statement, in bytes.
    pub line_limit: usize,
    /// How many slices a decompressor may be ahead of the parsers.
    pub read_ahead_slices: usize,
    /// The base of relative IRIs in Turtle, `TriG`, RDF/XML and JSON-LD. Without one it is a file's own `file:`
    /// IRI, as in Jena and raptor; standard input has none then, and a relative IRI in it is an error.
    pub base: Option<NamedNode>,
}

impl Default for InputOptions {
    fn default() -> Self {
        Self {
            slice_size: SLICE_SIZE_BYTES,
            line_limit: LINE_LIMIT_BYTES,
            read_ahead_slices: 8,
            base: None,
        }
    }
}
