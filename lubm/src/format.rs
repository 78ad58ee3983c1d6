//! The formats that data is written in: a syntax, and a compression around it.

use crate::error::LubmError;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// How statements are spelled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Syntax {
    /// N-Triples: the bytes of the original generator.
    #[default]
    NTriples,
    /// Turtle: the same statements in the same order, one a line, with a prefix for the ontology.
    Turtle,
}

/// How the text is packed. Each university is a gzip member or a Zstandard frame of its own; both formats
/// define a file of several as their contents one after another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Compression {
    /// As it is.
    #[default]
    None,
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstandard,
}

/// A syntax and a compression, named like a file's ending: `nt`, `nt.gz`, `ttl.zst`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Format {
    /// How statements are spelled.
    pub syntax: Syntax,
    /// How the text is packed.
    pub compression: Compression,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 6] = {
        const fn format(syntax: Syntax, compression: Compression) -> Format {
            Format {
                syntax,
                compression,
            }
        }
        [
            format(Syntax::NTriples, Compression::None),
            format(Syntax::NTriples, Compression::Gzip),
            format(Syntax::NTriples, Compression::Zstandard),
            format(Syntax::Turtle, Compression::None),
            format(Syntax::Turtle, Compression::Gzip),
            format(Syntax::Turtle, Compression::Zstandard),
        ]
    };

    /// The ending of a file's name, without a dot before it.
    pub const fn extension(self) -> &'static str {
        match (self.syntax, self.compression) {
            (Syntax::NTriples, Compression::None) => "nt",
            (Syntax::NTriples, Compression::Gzip) => "nt.gz",
            (Syntax::NTriples, Compression::Zstandard) => "nt.zst",
            (Syntax::Turtle, Compression::None) => "ttl",
            (Syntax::Turtle, Compression::Gzip) => "ttl.gz",
            (Syntax::Turtle, Compression::Zstandard) => "ttl.zst",
        }
    }

    /// The format that a file's name ends with, in any case, if it is one.
    pub fn from_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        Self::ALL.into_iter().find(|format| {
            name.strip_suffix(format.extension())
                .is_some_and(|stem| stem.ends_with('.'))
        })
    }
}

impl FromStr for Format {
    type Err = LubmError;

    fn from_str(name: &str) -> Result<Self, LubmError> {
        Self::ALL
            .into_iter()
            .find(|format| format.extension().eq_ignore_ascii_case(name))
            .ok_or_else(|| LubmError::Format {
                name: name.to_owned(),
            })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.extension())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_known_by_its_name() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
            let name = format!("dir.gz/lubm.50.{format}");
            assert_eq!(Format::from_path(Path::new(&name)), Some(format));
        }
        assert_eq!("NT.GZ".parse::<Format>().unwrap().extension(), "nt.gz");
    }

    #[test]
    fn other_names_are_no_format() {
        for name in ["nt", "lubm", "lubm.gz", "lubm.nt.bz2", "lubmnt", "lubm.nt/"] {
            let expected = if name == "lubm.nt/" {
                Some(Format::default())
            } else {
                None
            };
            assert_eq!(Format::from_path(Path::new(name)), expected, "{name}");
        }
        for name in ["", ".nt", "rdf", "nt.bz2"] {
            let error = name.parse::<Format>().unwrap_err();
            assert!(error.to_string().contains(&format!("{name:?}")));
        }
    }
}
