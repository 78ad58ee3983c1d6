//! Graphs in the syntaxes of RDF.

use super::ResultFormat;
use super::cells::{BLOCK_BYTES, write_rows};
use super::ntriples::NTriples;
use crate::error::{QueryError, Result};
use crate::triples::Triples;
use oxrdfio::{JsonLdProfileSet, RdfFormat, RdfSerializer};
use std::io::{BufWriter, Write};

impl Triples {
    /// Writes all triples that were not read yet; gives their number.
    ///
    /// # Errors
    /// [`QueryError::Write`] if the writer refuses; [`QueryError::ResultFormat`] if the format is not for graphs; otherwise
    /// what reading the triples gives.
    pub fn write(self, format: ResultFormat, writer: impl Write) -> Result<u64> {
        self.write_with_prefixes(format, &[], writer)
    }

    /// The same; syntaxes that have prefixes use these, pairs of a name without the colon and an IRI. Those that are not
    /// valid are left out, and so are all but the first with a name.
    ///
    /// # Errors
    /// As [`Triples::write`].
    pub fn write_with_prefixes(
        self,
        format: ResultFormat,
        prefixes: &[(String, String)],
        mut writer: impl Write,
    ) -> Result<u64> {
        match format {
            // With the default graph alone the two are the same.
            ResultFormat::NTriples | ResultFormat::NQuads => {
                write_rows(self.into_rows(), NTriples, &mut writer)
            }
            ResultFormat::Turtle => self.serialize(RdfFormat::Turtle, prefixes, writer),
            ResultFormat::TriG => self.serialize(RdfFormat::TriG, prefixes, writer),
            ResultFormat::RdfXml => self.serialize(RdfFormat::RdfXml, prefixes, writer),
            ResultFormat::JsonLd => {
                let profile = JsonLdProfileSet::empty();
                self.serialize(RdfFormat::JsonLd { profile }, prefixes, writer)
            }
            format => Err(format.mismatch()),
        }
    }

    fn serialize(
        self,
        format: RdfFormat,
        prefixes: &[(String, String)],
        writer: impl Write,
    ) -> Result<u64> {
        let mut serializer = RdfSerializer::from_format(format);
        for (index, (name, iri)) in prefixes.iter().enumerate() {
            if prefixes[..index].iter().any(|(known, _)| known == name) {
                continue;
            }
            // A prefix that the syntax does not allow is of no use in it.
            if let Ok(with_prefix) = serializer.clone().with_prefix(name, iri) {
                serializer = with_prefix;
            }
        }
        let buffered = BufWriter::with_capacity(BLOCK_BYTES, writer);
        let mut serializer = serializer.for_writer(buffered);
        let mut count = 0;
        for triple in self {
            serializer
                .serialize_triple(&triple?)
                .map_err(QueryError::Write)?;
            count += 1;
        }
        let mut buffered = serializer.finish().map_err(QueryError::Write)?;
        buffered.flush().map_err(QueryError::Write)?;
        Ok(count)
    }
}
