//! Results as text: TSV, CSV, JSON, XML, and a table for people; for graphs the syntaxes of RDF.
//!
//! TSV, CSV, JSON, XML and N-Triples are written straight from ids ([`cells`]): each term is looked up and put into its final form once
//! for many rows. What they write is, byte for byte, what the `sparesults` and `oxttl` crates write, and
//! tests compare the two; but for what XML cannot write plainly ([`xml`]). The other syntaxes of RDF ([`graph`]) go through `oxrdfio`.

pub mod cells;
pub mod csv;
pub mod graph;
pub mod json;
pub mod ntriples;
mod style;
pub mod table;
pub mod tsv;
pub mod xml;

use crate::error::{QueryError, Result};
use crate::query::{QueryResults, Solutions};
pub use style::Style;

use cells::write_rows;
use sparesults::{QueryResultsFormat, QueryResultsSerializer};
use std::io::Write;
use std::str::FromStr;

/// A format of results.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ResultFormat {
    /// An aligned table for terminals.
    Table,
    /// SPARQL 1.1 Query Results TSV.
    Tsv,
    /// SPARQL 1.1 Query Results CSV.
    Csv,
    /// SPARQL 1.1 Query Results JSON.
    Json,
    /// SPARQL Query Results XML.
    Xml,
    /// N-Triples.
    NTriples,
    /// N-Quads; all quads are in the default graph.
    NQuads,
    /// Turtle.
    Turtle,
    /// `TriG`; all quads are in the default graph.
    TriG,
    /// RDF/XML.
    RdfXml,
    /// JSON-LD.
    JsonLd,
}

impl ResultFormat {
    /// Every format.
    pub const ALL: [Self; 11] = [
        Self::Table,
        Self::Tsv,
        Self::Csv,
        Self::Json,
        Self::Xml,
        Self::NTriples,
        Self::NQuads,
        Self::Turtle,
        Self::TriG,
        Self::RdfXml,
        Self::JsonLd,
    ];

    /// The name, as options call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Tsv => "tsv",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Xml => "xml",
            Self::NTriples => "nt",
            Self::NQuads => "nq",
            Self::Turtle => "ttl",
            Self::TriG => "trig",
            Self::RdfXml => "rdfxml",
            Self::JsonLd => "jsonld",
        }
    }

    /// Whether it holds the graph of a CONSTRUCT or a DESCRIBE; the others hold the rows of a SELECT or the answer of an ASK.
    pub fn is_for_graphs(self) -> bool {
        matches!(
            self,
            Self::NTriples | Self::NQuads | Self::Turtle | Self::TriG | Self::RdfXml | Self::JsonLd
        )
    }

    /// The error of results that the format does not hold.
    fn mismatch(self) -> QueryError {
        QueryError::ResultFormat { format: self }
    }
}

impl FromStr for ResultFormat {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| format!("no result format is called {name:?}"))
    }
}

impl QueryResults {
    /// Writes all results; gives the number of rows (1 for an ASK) or triples. The writer is given big blocks and needs no buffer of
    /// its own; it is not flushed.
    ///
    /// # Errors
    /// [`QueryError::Write`] if the writer refuses; [`QueryError::ResultFormat`] if the format is not for such results;
    /// otherwise what reading the rows gives.
    pub fn write(self, format: ResultFormat, writer: impl Write) -> Result<u64> {
        self.write_styled(format, &Style::default(), writer)
    }

    /// The same, for people: formats that have prefixes or colours use those of the style.
    ///
    /// # Errors
    /// As [`QueryResults::write`].
    pub fn write_styled(
        self,
        format: ResultFormat,
        style: &Style,
        mut writer: impl Write,
    ) -> Result<u64> {
        match self {
            Self::Boolean(value) => {
                write_boolean(value, format, &mut writer)?;
                Ok(1)
            }
            Self::Solutions(solutions) if format == ResultFormat::Table => {
                table::write(solutions, style, &mut writer)
            }
            Self::Solutions(solutions) => solutions.write(format, writer),
            Self::Graph(triples) => triples.write_with_prefixes(format, &style.prefixes, writer),
        }
    }
}

impl Solutions {
    /// Writes all rows that were not read yet; gives their number.
    ///
    /// # Errors
    /// [`QueryError::Write`] if the writer refuses; [`QueryError::ResultFormat`] if the format is for graphs; otherwise
    /// what reading the rows gives.
    pub fn write(self, format: ResultFormat, mut writer: impl Write) -> Result<u64> {
        match format {
            ResultFormat::Tsv => write_rows(self, tsv::Tsv, &mut writer),
            ResultFormat::Csv => write_rows(self, csv::Csv, &mut writer),
            ResultFormat::Json => write_rows(self, json::Json::default(), &mut writer),
            ResultFormat::Xml => write_rows(self, xml::Xml::default(), &mut writer),
            ResultFormat::Table => table::write(self, &Style::default(), &mut writer),
            format => Err(format.mismatch()),
        }
    }
}

fn write_boolean(value: bool, format: ResultFormat, writer: &mut impl Write) -> Result<()> {
    let format = match format {
        ResultFormat::Table => return writeln!(writer, "{value}").map_err(QueryError::Write),
        ResultFormat::Tsv => QueryResultsFormat::Tsv,
        ResultFormat::Csv => QueryResultsFormat::Csv,
        ResultFormat::Json => QueryResultsFormat::Json,
        ResultFormat::Xml => QueryResultsFormat::Xml,
        format => return Err(format.mismatch()),
    };
    QueryResultsSerializer::from_format(format)
        .serialize_boolean_to_writer(writer, value)
        .map_err(QueryError::Write)?;
    Ok(())
}
