//! `quadrille lubm`: the benchmark's generator, and the benchmark.

use super::load::ReportArgument;
use super::{Failure, say, size, stop_on_signal};
use clap::{Args, Subcommand};
use quadrille::load::{CancelFlag, LoadOptions};
use quadrille::reason::{InferOptions, Profile};
use quadrille::sparql::CancellationToken;
use quadrille_lubm::bench::{self, BenchOptions, Peer};
use quadrille_lubm::{Destination, Format, GenerateOptions, generate};
use std::io::{Write, stdout};
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The commands below `lubm`.
#[derive(Subcommand)]
pub enum Lubm {
    /// Make the benchmark's data: the same bytes as the original generator (UBA 1.7) makes.
    Generate(Generate),
    /// Generate, load, infer, ask the 14 queries, check the answers, print the figures.
    Bench(Bench),
}

impl Lubm {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Self::Generate(generate) => generate.run(),
            Self::Bench(bench) => bench.run(),
        }
    }
}

/// The options of `lubm generate`.
#[derive(Args)]
pub struct Generate {
    /// How many universities.
    #[arg(long, value_name = "N")]
    universities: u32,
    /// The base seed.
    #[arg(
        long,
        value_name = "S",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    seed: i32,
    /// The number of the first university.
    #[arg(long, value_name = "I", default_value_t = 0)]
    start: u32,
    /// Threads; by default as many as there are cores.
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
    /// nt, nt.gz, nt.zst, ttl, ttl.gz, ttl.zst; by default what the file's name says, or nt.
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// One file a university, in the directory `--out`.
    #[arg(long)]
    split: bool,
    /// The file, the directory with `--split`, or `-` for standard output.
    #[arg(long, value_name = "PATH|-")]
    out: PathBuf,
}

impl Generate {
    fn run(self) -> Result<(), Failure> {
        let mut options = GenerateOptions {
            universities: self.universities,
            start: self.start,
            seed: self.seed,
            ..GenerateOptions::default()
        };
        if let Some(threads) = self.threads {
            options.threads = threads;
        }
        if let Some(format) = self.format.or_else(|| Format::from_path(&self.out)) {
            options.format = format;
        }
        let cancelled = Arc::clone(&options.cancelled);
        stop_on_signal(move || cancelled.swap(true, Ordering::Relaxed))?;
        let mut output = stdout();
        let to_stdout = self.out.as_os_str() == "-";
        let destination = if self.split && to_stdout {
            return Err("--split writes files: --out must be a directory".into());
        } else if self.split {
            Destination::Directory(self.out)
        } else if to_stdout {
            Destination::Stream(&mut output)
        } else {
            Destination::File(self.out)
        };
        let report = match generate(&options, destination) {
            Err(error) if error.is_broken_pipe() => return Ok(()),
            result => result?,
        };
        say(format_args!(
            "{} statements, {} bytes in {:.2} s",
            report.counts.statements,
            report.bytes,
            report.elapsed.as_secs_f64()
        ));
        Ok(())
    }
}

/// The options of `lubm bench`.
#[derive(Args)]
pub struct Bench {
    /// How many universities; the specification has the answers for 1, 10 and 50.
    #[arg(long, value_name = "N", default_value_t = 1)]
    universities: u32,
    /// Put data and store into this directory and leave them there; by default a temporary one.
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Warm runs of each query; their median counts.
    #[arg(long, value_name = "N", default_value_t = 20)]
    warm: usize,
    /// Streams of the throughput test; by default as many as there are cores, 0 leaves it out.
    #[arg(long, value_name = "S")]
    streams: Option<usize>,
    /// Threads of a query in the power test; by default as many as there are cores.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    query_threads: Option<u16>,
    /// Ask the same queries of this endpoint, too (several times for several); it must hold what `dump` writes of our store.
    /// Parameters in the address, such as `?default-graph-uri=...`, are sent along. Wrong answers of a peer are shown.
    #[arg(long, value_name = "NAME=URL")]
    peer: Vec<Peer>,
    /// Seconds that a peer may take for an answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    peer_timeout: u64,
    /// Write the report as one HTML file with plots, too.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// What is inferred before the queries are asked: none, hierarchy, rdfs, rdfs-plus, owl.
    #[arg(long, value_name = "PROFILE", default_value_t = Profile::Owl)]
    infer: Profile,
    /// Threads of load and inference; by default as many as there are cores.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Memory of the load, and of the inference. By default half of what is free.
    #[arg(long, value_name = "SIZE", value_parser = size::memory)]
    memory: Option<u64>,
    /// The report: for people, or as JSON; both on standard output.
    #[arg(long, value_enum, default_value_t = ReportArgument::Human)]
    report: ReportArgument,
}

impl Bench {
    fn run(self) -> Result<(), Failure> {
        let mut load = LoadOptions::default();
        if let Some(threads) = self.threads {
            load.threads = usize::from(threads);
        }
        if let Some(memory) = self.memory {
            load.memory = memory;
        }
        let stop_inference = Arc::new(AtomicBool::new(false));
        let infer = (self.infer != Profile::None).then(|| InferOptions {
            threads: load.threads,
            memory: load.memory,
            cancelled: Arc::clone(&stop_inference),
            ..InferOptions::new(self.infer)
        });
        let stop_generating = Arc::new(AtomicBool::new(false));
        let stop_queries = CancellationToken::new();
        let stop_load: CancelFlag = load.cancel.clone();
        let (generating, queries) = (Arc::clone(&stop_generating), stop_queries.clone());
        stop_on_signal(move || {
            stop_load.cancel();
            queries.cancel();
            stop_inference.store(true, Ordering::Relaxed);
            generating.swap(true, Ordering::Relaxed)
        })?;
        let temporary = match &self.directory {
            Some(_) => None,
            None => Some(tempfile::tempdir()?),
        };
        let directory = match (&self.directory, &temporary) {
            (Some(directory), _) => {
                std::fs::create_dir_all(directory)
                    .map_err(|error| format!("{}: {error}", directory.display()))?;
                directory.clone()
            }
            (None, Some(temporary)) => temporary.path().to_owned(),
            (None, None) => unreachable!("one of them is there"),
        };
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let report = bench::run(&BenchOptions {
            universities: self.universities,
            directory,
            warm_runs: self.warm,
            streams: self.streams.unwrap_or(cores),
            query_threads: self.query_threads.map_or(cores, usize::from),
            peers: self.peer,
            peer_timeout: Duration::from_secs(self.peer_timeout),
            load,
            infer,
            stop_generating,
            stop_queries,
        })?;
        if let Some(path) = &self.html {
            std::fs::write(path, bench::html(&report))
                .map_err(|error| format!("{}: {error}", path.display()))?;
        }
        match self.report {
            ReportArgument::Human => write!(stdout(), "{report}")?,
            ReportArgument::Json => {
                writeln!(stdout(), "{}", serde_json::to_string_pretty(&report)?)?;
            }
        }
        if report.is_right() {
            return Ok(());
        }
        Err("an answer is not what the specification says".into())
    }
}
