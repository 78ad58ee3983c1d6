//! The benchmark run: generate, load, infer, ask the 14 queries, compare with what must come out.
//!
//! ```text
//! generate -> file of N-Triples, ontology -> load -> store -> infer -> each query: first run, then warm ones -> report
//! ```
//!
//! The data is always that of seed 0 and universities 0 to N-1, for which the specification says what every query
//! must answer. Queries run in this process, one at a time, and their results are written as TSV, all rows, into a sink
//! that counts the bytes: what is measured is text in, text out. Nothing is cached between runs. That is the power test; the
//! [throughput test](throughput) follows. [Peers](peer) are asked last.

mod closure;
mod html;
mod peer;
mod report;
mod throughput;

pub use closure::sizes;
pub use html::html;
pub use peer::{Outcome, Peer, PeerQueryReport, PeerReport};
pub use report::{BenchReport, ClosureReport, GenerateFigures, QueryReport, Verdict};
pub use throughput::StreamsReport;

use crate::names::ONTOLOGY_URL;
use crate::ontology;
use crate::output::{Destination, GenerateOptions, generate};
use crate::queries::{QUERIES, Query};
use crate::reference::{Inference, Reference};
use crate::{LubmError, Syntax};
use quadrille_loader::input::InputFile;
use quadrille_loader::usage::ProcessUsage;
use quadrille_loader::{LoadError, LoadOptions, LoadReport, load};
use quadrille_reason::{InferError, InferOptions, Profile, infer};
use quadrille_sparql::{
    CancellationToken, Query as SparqlQuery, QueryError, QueryOptions, ResultFormat,
};
use quadrille_store::{Snapshot, Store, StoreError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// What to run.
#[derive(Clone, Debug)]
pub struct BenchOptions {
    /// How many universities.
    pub universities: u32,
    /// Where the data and the store go; both are left there.
    pub directory: PathBuf,
    /// Warm runs of each query, after a first one.
    pub warm_runs: usize,
    /// Streams of the throughput test; 0 leaves it out.
    pub streams: usize,
    /// Threads of a query in the power test.
    pub query_threads: usize,
    /// Endpoints that hold the same quads: they are asked the same queries.
    pub peers: Vec<Peer>,
    /// How long a peer may take for an answer.
    pub peer_timeout: Duration,
    /// How the data is loaded.
    pub load: LoadOptions,
    /// What is inferred from data and ontology; without it, only the data is loaded.
    pub infer: Option<InferOptions>,
    /// Ends the generating when it is set (the load has a flag of its own).
    pub stop_generating: Arc<AtomicBool>,
    /// Ends the queries.
    pub stop_queries: CancellationToken,
}

/// Why a benchmark could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The data could not be made.
    #[error(transparent)]
    Generate(#[from] LubmError),
    /// The data could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// What follows from the data could not be inferred.
    #[error(transparent)]
    Infer(#[from] InferError),
    /// The ontology could not be written.
    #[error("{}: {source}", path.display())]
    Ontology {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The directory has a store that is not empty: the figures would be of something else.
    #[error("{}: this store has quads already; the benchmark loads into an empty one", path.display())]
    NotEmpty {
        /// The store.
        path: PathBuf,
    },
    /// A query failed.
    #[error("query {number}: {source}")]
    Query {
        /// Which of the 14.
        number: u8,
        /// Why.
        source: QueryError,
    },
}

/// Runs the benchmark; wrong answers are in the report, not an error.
pub fn run(options: &BenchOptions) -> Result<BenchReport, BenchError> {
    let data = options
        .directory
        .join(format!("lubm{}.nt", options.universities));
    let path = options.directory.join("store");
    let store = Store::open(&path)?;
    if store.info()?.quads > 0 {
        return Err(BenchError::NotEmpty { path });
    }
    let generated = generate_data(options, &data)?;
    let load = load_data(&store, &data, options)?;
    let inference = match &options.infer {
        Some(options) => Some(infer(&store, options)?),
        None => None,
    };
    let level = level(options);
    let info = store.info()?;
    let snapshot = store.snapshot();
    let triples = sizes(&snapshot)?.values().sum();
    let expected = Reference::of(options.universities).map(|known| known.triples(level));
    let closure = ClosureReport {
        triples,
        expected,
        verdict: Verdict::of(triples, expected),
    };
    let mut warm = ProcessUsage::default();
    let queries = QUERIES
        .iter()
        .map(|query| ask(query, level, &snapshot, options, &mut warm))
        .collect::<Result<Vec<_>, _>>()?;
    let throughput = throughput::measure(&snapshot, options)?;
    let peers = options.peers.iter();
    let peers = peers
        .map(|peer| peer::measure(peer, &queries, options))
        .collect();
    Ok(BenchReport {
        universities: options.universities,
        generate: generated,
        load,
        inference,
        closure,
        store_bytes: info.files.total.bytes,
        quads: info.quads,
        queries,
        power_system_share: throughput::system_share(warm),
        throughput,
        peers,
    })
}

fn generate_data(options: &BenchOptions, path: &Path) -> Result<GenerateFigures, BenchError> {
    let generate_options = GenerateOptions {
        universities: options.universities,
        cancelled: Arc::clone(&options.stop_generating),
        ..GenerateOptions::default()
    };
    let report = generate(&generate_options, Destination::File(path.to_owned()))?;
    Ok(GenerateFigures {
        statements: report.counts.statements,
        bytes: report.bytes,
        seconds: report.elapsed.as_secs_f64(),
    })
}

fn load_data(store: &Store, path: &Path, options: &BenchOptions) -> Result<LoadReport, BenchError> {
    let mut paths = vec![path.to_owned()];
    if options.infer.is_some() {
        let path = options.directory.join("univ-bench.ttl");
        let text = ontology::text(Syntax::Turtle, ONTOLOGY_URL)?;
        std::fs::write(&path, text).map_err(|source| BenchError::Ontology {
            path: path.clone(),
            source,
        })?;
        paths.push(path);
    }
    let input =
        |path: &PathBuf| InputFile::from_path(path, None, 0).expect("the name tells the format");
    Ok(load(
        store,
        paths.iter().map(input).collect(),
        &options.load,
    )?)
}

/// What the answers are compared with.
fn level(options: &BenchOptions) -> Inference {
    match options.infer.as_ref().map(|infer| infer.profile) {
        None | Some(Profile::None) => Inference::Plain,
        Some(Profile::Hierarchy) => Inference::Hierarchy,
        Some(Profile::Rdfs) => Inference::Rdfs,
        Some(Profile::RdfsPlus) => Inference::RdfsPlus,
        Some(Profile::Owl | Profile::OwlSameAs) => Inference::Full,
    }
}

fn ask(
    query: &'static Query,
    level: Inference,
    snapshot: &Snapshot,
    options: &BenchOptions,
    warm_usage: &mut ProcessUsage,
) -> Result<QueryReport, BenchError> {
    let text = query.text();
    let run = || {
        let began = Instant::now();
        let mut sink = CountingSink::default();
        let rows = ask_once(&text, snapshot, options, options.query_threads, &mut sink).map_err(
            |source| BenchError::Query {
                number: query.number,
                source,
            },
        )?;
        Ok::<_, BenchError>((rows, sink.bytes, began.elapsed().as_secs_f64()))
    };
    let (rows, bytes, first_seconds) = run()?;
    let mut warm = Vec::with_capacity(options.warm_runs);
    let before = ProcessUsage::now();
    for _ in 0..options.warm_runs {
        let (again, _, seconds) = run()?;
        assert_eq!(
            again, rows,
            "query {}: another answer the second time",
            query.number
        );
        warm.push(seconds);
    }
    let usage = ProcessUsage::now() - before;
    warm_usage.cpu_seconds += usage.cpu_seconds;
    warm_usage.system_seconds += usage.system_seconds;
    warm.sort_by(f64::total_cmp);
    let expected = query.answers(level, options.universities);
    Ok(QueryReport {
        number: query.number,
        rows,
        bytes,
        expected,
        expected_with_inference: query.answers(Inference::Full, options.universities),
        needs_inference: query.weakest_sufficient() > level,
        verdict: Verdict::of(rows, expected),
        first_seconds,
        warm_seconds: warm.get(warm.len() / 2).copied(),
    })
}

fn ask_once(
    text: &str,
    snapshot: &Snapshot,
    options: &BenchOptions,
    threads: usize,
    sink: &mut CountingSink,
) -> Result<u64, QueryError> {
    let query = SparqlQuery::parse(text, None)?;
    let query_options = QueryOptions {
        cancellation: Some(options.stop_queries.clone()),
        threads,
        ..QueryOptions::default()
    };
    query
        .execute(snapshot, &query_options)?
        .write(ResultFormat::Tsv, sink)
}

/// Counts what is written.
#[derive(Default)]
struct CountingSink {
    bytes: u64,
}

impl Write for CountingSink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
