//! `quadrille query`.

use super::{Failure, StoreArgument, iri, say, size};
use clap::{Args, ValueEnum};
use quadrille::sparql::{
    Explanation, PreparedQuery, Query as SparqlQuery, QueryError, QueryOptions, ResultFormat, Style,
};
use quadrille::{Snapshot, Store};
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
    #[arg(
        value_name = "QUERY",
        required_unless_present = "file",
        conflicts_with = "file"
    )]
    text: Option<String>,
    /// Read the query from this file.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// How results are written: table, tsv, csv, json, xml; nt, nq, ttl, trig, rdfxml, jsonld for the graph of a CONSTRUCT
    /// or DESCRIBE. By default a table, or Turtle, on a terminal and TSV, or N-Triples, elsewhere.
    #[arg(long, value_name = "FORMAT", value_parser = result_format)]
    results: Option<ResultFormat>,
    /// Ask the explicit quads alone, not what was inferred.
    #[arg(long)]
    explicit_only: bool,
    /// Ask what was inferred although quads were loaded since: answers may be missing, or not follow any more.
    #[arg(long, conflicts_with = "explicit_only")]
    accept_stale: bool,
    /// The base of relative IRIs in the query.
    #[arg(long, value_name = "IRI", value_parser = iri)]
    base: Option<String>,
    /// The default graph is the merge of all graphs of the store, unless the query names graphs (FROM).
    #[arg(long)]
    union_default_graph: bool,
    /// An endpoint that SERVICE may ask, exactly as the query names it; may be repeated. Without it none is asked.
    #[cfg(feature = "service")]
    #[arg(long, value_name = "URL", value_parser = iri)]
    allow_service: Vec<String>,
    /// Show the plan instead of running the query: as a tree to read, or with --explain=json as JSON.
    #[arg(
        long,
        value_name = "FORM",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "tree"
    )]
    explain: Option<Form>,
    /// Run the query and show, instead of its rows, the plan with what each step did: rows, batches, time, searches in the
    /// index and rows read there, memory, bytes in temporary files. As a tree to read, or with --analyze=json as JSON.
    #[arg(
        long,
        value_name = "FORM",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "tree",
        conflicts_with = "explain"
    )]
    analyze: Option<Form>,
    /// How many threads may compute a large query; by default one for each core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// End the query with an error after so many seconds, such as 30 or 0.5.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Memory for what sorts, groups and joins keep, such as 512MiB or 2G. What outgrows it goes to temporary files. By
    /// default a quarter of what is free.
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    memory: Option<u64>,
    /// End the query with an error when it has more rows than these.
    #[arg(long, value_name = "ROWS")]
    max_rows: Option<u64>,
    /// Where temporary files are made; by default where TMPDIR says, or in /tmp.
    #[arg(long, value_name = "DIR")]
    temporary: Option<PathBuf>,
    /// End the query with an error when its temporary files take more than this, such as 10G.
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    max_temporary: Option<u64>,
}

/// How a plan is shown.
#[derive(Clone, Copy, ValueEnum)]
enum Form {
    Tree,
    Json,
}

impl Form {
    fn show(self, explanation: &Explanation) -> String {
        match self {
            Self::Tree => explanation.to_string(),
            Self::Json => explanation.to_json() + "\n",
        }
    }
}

fn result_format(name: &str) -> Result<ResultFormat, String> {
    name.parse().map_err(|error| {
        let names: Vec<&str> = ResultFormat::ALL.map(ResultFormat::name).to_vec();
        format!("{error}; there are {}", names.join(", "))
    })
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text:?} is no number"))?;
    Duration::try_from_secs_f64(number).map_err(|error| error.to_string())
}

impl Query {
    /// What is asked.
    fn snapshot(&self, store: &Store) -> Result<Snapshot, Failure> {
        let snapshot = store.snapshot();
        if self.explicit_only {
            return Ok(snapshot.explicit());
        }
        if snapshot.is_inference_stale() && !self.accept_stale {
            return Err("the quads have changed since the last inference: infer again, or choose --explicit-only or \
                        --accept-stale"
                .into());
        }
        Ok(snapshot)
    }

    /// Asks the query.
    pub fn run(self) -> Result<(), Failure> {
        let text = match (&self.text, &self.file) {
            (Some(text), _) => text.clone(),
            (None, Some(file)) => {
                fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?
            }
            (None, None) => unreachable!("clap asks for one of them"),
        };
        let query = SparqlQuery::parse(&text, self.base.as_deref())?;
        let store = self.store.read()?;
        let snapshot = self.snapshot(&store)?;
        let mut options = QueryOptions {
            timeout: self.timeout,
            union_default_graph: self.union_default_graph,
            memory: self.memory,
            rows: self.max_rows,
            temporary_directory: self.temporary,
            temporary_bytes: self.max_temporary,
            ..QueryOptions::default()
        };
        #[cfg(feature = "service")]
        for endpoint in &self.allow_service {
            let endpoint = quadrille::model::NamedNode::new_unchecked(endpoint);
            options.services = options.services.allowing(endpoint);
        }
        if let Some(threads) = self.threads {
            options.threads = threads.into();
        }
        let mut output = stdout().lock();
        if let Some(form) = self.explain {
            let plan = query.explanation(&snapshot, &options)?;
            output.write_all(form.show(&plan).as_bytes())?;
            return Ok(());
        }
        if let Some(form) = self.analyze {
            let plan = query.analyze(&snapshot, &options)?;
            output.write_all(form.show(&plan).as_bytes())?;
            return Ok(());
        }
        let terminal = output.is_terminal();
        let format = self.results.unwrap_or(match (query.is_graph(), terminal) {
            (false, true) => ResultFormat::Table,
            (false, false) => ResultFormat::Tsv,
            (true, true) => ResultFormat::Turtle,
            (true, false) => ResultFormat::NTriples,
        });
        // These end without one.
        let end_line = match format {
            ResultFormat::Json
            | ResultFormat::Xml
            | ResultFormat::RdfXml
            | ResultFormat::JsonLd => true,
            ResultFormat::Tsv | ResultFormat::Csv => query.is_ask(),
            _ => false,
        };
        let began = Instant::now();
        let results = query.execute(&snapshot, &options)?;
        let style = Style {
            prefixes: prefixes(&query, &snapshot),
            is_coloured: terminal
                && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        };
        match results.write_styled(format, &style, &mut output) {
            Ok(rows) if format == ResultFormat::Table && terminal => {
                let seconds = began.elapsed().as_secs_f64();
                say(format_args!("{rows} row(s) in {seconds:.3} s"));
            }
            Ok(_) => {}
            // Unwrapped, so that a closed pipe is seen for what it is.
            Err(QueryError::Write(error)) => return Err(error.into()),
            Err(error) => return Err(error.into()),
        }
        if end_line {
            output.write_all(b"\n")?;
        }
        output.flush()?;
        Ok(())
    }
}

/// The prefixes of the query, and for a table, which does not declare them, those that loads met, too; the first with a name
/// counts.
fn prefixes(query: &PreparedQuery, snapshot: &Snapshot) -> Vec<(String, String)> {
    if query.is_graph() {
        return query.prefixes().to_vec();
    }
    let remembered = snapshot.prefixes().iter();
    let remembered = remembered.map(|(name, iri)| (name.clone(), iri.clone()));
    query.prefixes().iter().cloned().chain(remembered).collect()
}
