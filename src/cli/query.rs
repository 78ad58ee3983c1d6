//! `quadrille query`.

use super::{Failure, StoreArgument};
use clap::Args;
use quadrille::sparql::{Query as SparqlQuery, QueryError, QueryOptions, ResultFormat};
use std::fs;
use std::io::{IsTerminal, Write, stdout};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The options of `query`.
#[derive(Args)]
pub struct Query {
    #[command(flatten)]
    store: StoreArgument,
    /// The query.
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    query: Option<String>,
    /// Read the query from this file.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// How results are written: table, tsv, csv, json, xml. By default a table on a terminal and TSV elsewhere.
    #[arg(long, value_name = "FORMAT")]
    results: Option<ResultFormat>,
    /// The base of relative IRIs in the query.
    #[arg(long, value_name = "IRI")]
    base: Option<String>,
    /// Show the plan instead of running the query.
    #[arg(long)]
    explain: bool,
    /// End the query with an error after so many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text:?} is no number"))?;
    Duration::try_from_secs_f64(number).map_err(|error| error.to_string())
}

impl Query {
    /// Asks the query.
    pub fn run(self) -> Result<(), Failure> {
        let text = match (&self.query, &self.file) {
            (Some(query), _) => query.clone(),
            (None, Some(file)) => {
                fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?
            }
            (None, None) => unreachable!("clap asks for one of them"),
        };
        let query = SparqlQuery::parse(&text, self.base.as_deref())?;
        let store = self.store.read()?;
        let options = QueryOptions {
            timeout: self.timeout,
            ..QueryOptions::default()
        };
        let snapshot = store.snapshot();
        let mut output = stdout().lock();
        if self.explain {
            output.write_all(query.explain(&snapshot, &options)?.as_bytes())?;
            return Ok(());
        }
        let terminal = output.is_terminal();
        let format = self.results.unwrap_or(if terminal {
            ResultFormat::Table
        } else {
            ResultFormat::Tsv
        });
        let began = Instant::now();
        let results = query.execute(&snapshot, &options)?;
        match results.write(format, &mut output) {
            Ok(rows) if format == ResultFormat::Table && terminal => {
                let seconds = began.elapsed().as_secs_f64();
                eprintln!("{rows} row(s) in {seconds:.3} s");
            }
            Ok(_) => {}
            // Unwrapped, so that a closed pipe is seen for what it is.
            Err(QueryError::Write(error)) => return Err(error.into()),
            Err(error) => return Err(error.into()),
        }
        output.flush()?;
        Ok(())
    }
}
