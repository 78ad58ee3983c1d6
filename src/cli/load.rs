//! `quadrille load`.

use super::progress::Display;
use super::{Failure, StoreArgument, size};
use clap::{Args, ValueEnum};
use quadrille::Store;
use quadrille::load::{CancelFlag, Format, LoadOptions, OnError, WaitStrategy, discover, disk_shortage, load};
use std::path::PathBuf;

/// The options of `load`.
#[derive(Args)]
pub struct Load {
    #[command(flatten)]
    store: StoreArgument,
    /// Files and directories; `-` is standard input. Compressed ones (.gz .bz2 .xz .zst) are read as they are.
    #[arg(required = true, value_name = "FILE|DIR|-")]
    inputs: Vec<PathBuf>,
    /// The syntax: nt, nq, ttl, trig, rdf, jsonld; by default what the file's extension says.
    #[arg(long, value_parser = format)]
    format: Option<Format>,
    /// Put statements that name no graph into this one.
    #[arg(long, value_name = "IRI")]
    graph: Option<String>,
    /// The base of relative IRIs; by default the file's own `file://` IRI.
    #[arg(long, value_name = "IRI")]
    base: Option<String>,
    /// Threads; by default as many as there are cores.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Threads that mainly insert; the others mainly parse. By default half of them.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=1024))]
    inserters: Option<u16>,
    /// Memory for terms and rows; more goes through temporary files. By default half of what is free.
    #[arg(long, value_name = "SIZE", value_parser = size::memory)]
    memory: Option<u64>,
    /// What to do with a statement that is not valid.
    #[arg(long, value_enum, default_value_t = OnErrorArgument::Stop)]
    on_error: OnErrorArgument,
    /// Write statements that were left out to this file, with the reasons (with `--on-error skip`).
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,
    /// Keep IRIs and language tags that fit the syntax but not their RFCs.
    #[arg(long)]
    lenient: bool,
    /// How threads wait for each other: spin-park, park or spin.
    #[arg(long, default_value_t = WaitStrategy::default())]
    wait: WaitStrategy,
    /// The report at the end: for people on standard error, or as JSON on standard output.
    #[arg(long, value_enum, default_value_t = ReportArgument::Human)]
    report: ReportArgument,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnErrorArgument {
    /// End with an error; the store stays as it was.
    Stop,
    /// Count it, show the first ten, go on.
    Skip,
}

/// How a report is written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportArgument {
    /// For people.
    Human,
    /// As JSON.
    Json,
}

fn format(name: &str) -> Result<Format, String> {
    Format::from_extension(name)
        .ok_or_else(|| format!("{name:?} is no syntax; write nt, nq, ttl, trig, rdf or jsonld"))
}

impl Load {
    /// Loads.
    pub fn run(self) -> Result<(), Failure> {
        let mut options = LoadOptions {
            inserters: self.inserters.map(usize::from),
            wait: self.wait,
            on_error: match self.on_error {
                OnErrorArgument::Stop => OnError::Stop,
                OnErrorArgument::Skip => OnError::Skip,
            },
            rejects: self.rejects,
            lenient: self.lenient,
            base: self.base,
            graph: self.graph,
            ..LoadOptions::default()
        };
        if let Some(threads) = self.threads {
            options.threads = usize::from(threads);
        }
        if let Some(memory) = self.memory {
            options.memory = memory;
        }
        let inputs = discover(&self.inputs, self.format)?;
        stop_on_signal(options.cancel.clone())?;
        let store = Store::open(&self.store.store)?;
        if let Some(missing) = disk_shortage(&store, &inputs)? {
            eprintln!("quadrille: the disk may lack {} MiB for this load", (missing >> 20) + 1);
        }
        let display = Display::start(options.progress.clone());
        let result = load(&store, inputs, &options);
        display.finish();
        let report = result?;
        match self.report {
            ReportArgument::Human => eprintln!("{report}"),
            ReportArgument::Json => println!("{}", serde_json::to_string_pretty(&report)?),
        }
        Ok(())
    }
}

/// Ctrl-C and termination cancel the load; a second one ends the process at once (the next open cleans up).
fn stop_on_signal(cancel: CancelFlag) -> Result<(), Failure> {
    ctrlc::set_handler(move || {
        if cancel.is_cancelled() {
            std::process::exit(130);
        }
        cancel.cancel();
    })?;
    Ok(())
}
