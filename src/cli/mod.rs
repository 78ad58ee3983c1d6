//! The commands. Results go to standard output, all else to standard error; a failure is one line that says why
//! and where. Exit codes: 0 done, 1 the work failed, 2 wrong usage.

mod dump;
mod infer;
mod info;
mod load;
mod lubm;
mod progress;
mod query;
mod size;
mod verify;

use clap::{Args, Parser, Subcommand};
use quadrille::load::LoadError;
use quadrille::model::NamedNode;
use quadrille::{Store, StoreError};
use std::error::Error;
use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// An RDF quad store with a parallel bulk loader and a SPARQL engine.
#[derive(Parser)]
#[command(
    name = "quadrille",
    version,
    max_term_width = 100,
    after_help = "Exit codes: 0 done, 1 the work failed (one line says why and where), 2 wrong usage."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Load RDF files into a store, all of them or nothing.
    Load(load::Load),
    /// Infer what follows from a store's quads, and keep it beside them.
    Infer(infer::Infer),
    /// Ask a SPARQL query.
    Query(query::Query),
    /// Write a store's quads.
    Dump(dump::Dump),
    /// Say what is in a store, and how much of the disk each part takes.
    Info(info::Info),
    /// Check every checksum, order and reference of a store.
    Verify(verify::Verify),
    /// The LUBM benchmark: generate its data, or run it.
    Lubm {
        #[command(subcommand)]
        command: lubm::Lubm,
    },
}

/// Which store.
#[derive(Args)]
struct StoreArgument {
    /// The store's directory.
    #[arg(long, value_name = "DIR", env = "QUADRILLE_STORE")]
    store: PathBuf,
}

impl StoreArgument {
    /// Opens it for reading, beside whoever writes it.
    fn read(&self) -> Result<Store, StoreError> {
        Store::open_read_only(&self.store)
    }
}

/// What a command ends with when it fails.
type Failure = Box<dyn Error + Send + Sync>;

/// Parses the arguments and runs the command.
pub fn run() -> ExitCode {
    // Wrong usage ends the process here, with exit code 2; --help and --version with 0.
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Command::Load(load) => load.run(),
        Command::Infer(infer) => infer.run(),
        Command::Query(query) => query.run(),
        Command::Dump(dump) => dump.run(),
        Command::Info(info) => info.run(),
        Command::Verify(verify) => verify.run(),
        Command::Lubm { command } => command.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if is_broken_pipe(&*failure) => {
            // Whoever read our output has had enough (`quadrille query ... | head`).
            ExitCode::SUCCESS
        }
        Err(failure) => {
            say(format_args!("quadrille: {}", chain(&*failure)));
            ExitCode::FAILURE
        }
    }
}

/// A line on standard error. If nobody takes it there is nobody else to tell, and the work is what it was.
fn say(line: impl fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// An argument that is an absolute IRI.
fn iri(text: &str) -> Result<String, String> {
    match NamedNode::new(text) {
        Ok(node) => Ok(node.into_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// On Ctrl-C or termination calls `stop`, which ends the work soon and in order, and says whether it was called before;
/// then the process ends at once (what it leaves over is removed at the next open).
fn stop_on_signal(stop: impl Fn() -> bool + Send + 'static) -> Result<(), Failure> {
    ctrlc::set_handler(move || {
        if stop() {
            std::process::exit(130);
        }
    })?;
    Ok(())
}

/// An error and what caused it, on one line.
fn chain(failure: &(dyn Error + 'static)) -> String {
    let mut text = failure.to_string();
    let mut cause = failure.source();
    while let Some(error) = cause {
        let reason = error.to_string();
        // Many errors name their cause themselves.
        if !text.contains(&reason) {
            text.push_str(": ");
            text.push_str(&reason);
        }
        cause = error.source();
    }
    text.replace('\n', " ")
}

fn is_broken_pipe(failure: &(dyn Error + 'static)) -> bool {
    // A load that could not write its rejects has loaded nothing: that is a failure, whoever reads them.
    if failure.is::<LoadError>() {
        return false;
    }
    let mut cause = Some(failure);
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            return io.kind() == std::io::ErrorKind::BrokenPipe;
        }
        cause = error.source();
    }
    false
}
