//! `quadrille load`.

use super::progress::Display;
use super::{Failure, StoreArgument, iri, say, size, stop_on_signal};
use clap::{Args, ValueEnum};
use quadrille::Store;
use quadrille::load::{
    Format, InputFile, LoadOptions, Location, OnError, WaitStrategy, discover, disk_shortage, load,
};
use quadrille::reason::{InferOptions, Profile, infer};
use std::io::{Write, stdout};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The options of `load`.
#[derive(Args)]
pub struct Load {
    #[command(flatten)]
    store: StoreArgument,
    /// Files and directories; `-` is standard input. Compressed ones (.gz .bz2 .xz .zst) are read as they are.
    #[arg(required = true, value_name = "FILE|DIR|-")]
    inputs: Vec<PathBuf>,
    /// The syntax: nt, nq, ttl, trig, rdf, jsonld; by default what the file's extension says. Standard input
    /// needs one; for the files of a directory their extensions decide.
    #[arg(long, value_parser = format)]
    format: Option<Format>,
    /// Put statements that name no graph into this one.
    #[arg(long, value_name = "IRI", value_parser = iri)]
    graph: Option<String>,
    /// The base of relative IRIs; by default the file's own `file://` IRI, and none for standard input.
    #[arg(long, value_name = "IRI", value_parser = iri)]
    base: Option<String>,
    /// Threads; by default as many as there are cores.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Threads that mainly insert; the others mainly parse. By default half of them.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=1024))]
    inserters: Option<u16>,
    /// Memory for terms and rows, such as 256MiB or 2G; what does not fit goes through temporary files. By default half of what is free.
    #[arg(long, value_name = "SIZE", value_parser = size::memory)]
    memory: Option<u64>,
    /// What to do with a statement that is not valid.
    #[arg(long, value_name = "ACTION", value_enum, default_value_t = OnErrorArgument::Stop)]
    on_error: OnErrorArgument,
    /// Write statements that were left out to this file, with the reasons (with `--on-error skip`).
    #[arg(long, value_name = "FILE", requires = "on_error")]
    rejects: Option<PathBuf>,
    /// Keep IRIs and language tags that fit the syntax but not their RFCs.
    #[arg(long)]
    lenient: bool,
    /// How threads wait for each other: spin-park, park or spin.
    #[arg(long, value_name = "STRATEGY", default_value_t = WaitStrategy::default())]
    wait: WaitStrategy,
    /// Afterwards infer what follows by this profile (see `infer`).
    #[arg(long, value_name = "PROFILE")]
    infer: Option<Profile>,
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
        if self
            .inputs
            .iter()
            .filter(|path| path.as_os_str() == "-")
            .count()
            > 1
        {
            return Err("standard input can be read only once".into());
        }
        if let Some(rejects) = &options.rejects {
            check_rejects(rejects, &inputs)?;
        }
        let cancel = options.cancel.clone();
        let inference = self.infer.map(|profile| InferOptions {
            threads: options.threads,
            memory: options.memory,
            ..InferOptions::new(profile)
        });
        let stop_inference = inference.as_ref().map(|infer| Arc::clone(&infer.cancelled));
        stop_on_signal(move || {
            let again = cancel.is_cancelled();
            cancel.cancel();
            if let Some(stop) = &stop_inference {
                stop.store(true, Ordering::Relaxed);
            }
            again
        })?;
        let store = Store::open(&self.store.store)?;
        if let Some(missing) = disk_shortage(&store, &inputs)? {
            let missing = (missing >> 20) + 1;
            say(format_args!(
                "quadrille: the disk may lack {missing} MiB for this load"
            ));
        }
        let display = Display::start(options.progress.clone());
        let result = load(&store, inputs, &options);
        display.finish();
        let report = result?;
        let mut json = serde_json::to_value(&report)?;
        if self.report == ReportArgument::Human {
            say(report);
        }
        if let Some(options) = inference {
            // The load is published: if this fails, its quads are there all the same.
            let report = infer(&store, &options)?;
            json["inference"] = serde_json::to_value(&report)?;
            if self.report == ReportArgument::Human {
                say(format_args!("inferred {report}"));
            }
        }
        if self.report == ReportArgument::Json {
            writeln!(stdout(), "{}", serde_json::to_string_pretty(&json)?)?;
        }
        Ok(())
    }
}

/// Refuses a rejects file that is one of the inputs: beginning to write it would empty it.
fn check_rejects(rejects: &Path, inputs: &[InputFile]) -> Result<(), Failure> {
    let identity = |path: &Path| {
        std::fs::metadata(path)
            .map(|file| (file.dev(), file.ino()))
            .ok()
    };
    // A file that is not there yet is no input.
    let Some(written) = identity(rejects) else {
        return Ok(());
    };
    for input in inputs {
        if let Location::Path(path) = &input.location
            && identity(path) == Some(written)
        {
            return Err(format!("--rejects {}: this file is an input", rejects.display()).into());
        }
    }
    Ok(())
}
