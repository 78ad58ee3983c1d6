//! Parses files and prints what is in them and how fast that went: one thread, nothing stored.
//!
//! ```text
//! cargo run --release -p quadrille-loader --example parse -- [--lenient] [--skip] [--slice BYTES] FILE...
//! ```

use quadrille_loader::batch::Batch;
use quadrille_loader::error::Result;
use quadrille_loader::input::{InputOptions, SliceSource, discover};
use quadrille_loader::parse::{BatchSink, ParseCounts, ParseOptions, Reject, StatementParser};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Counts what batches hold, and gives them back to be filled again.
struct Counter {
    skip: bool,
    spare: Vec<Batch>,
    batches: u64,
    terms: u64,
    arena_bytes: u64,
}

impl BatchSink for Counter {
    fn fresh(&mut self) -> Batch {
        self.spare.pop().unwrap_or_default()
    }

    fn take(&mut self, batch: Batch) -> Result<()> {
        self.batches += 1;
        self.terms += batch.terms.len() as u64;
        self.arena_bytes += batch.arena.len() as u64;
        self.spare.push(batch);
        Ok(())
    }

    fn reject(&mut self, reject: Reject) -> Result<()> {
        if !self.skip {
            return Err(quadrille_loader::error::LoadError::Syntax(Box::new(reject)));
        }
        eprintln!("{reject}");
        Ok(())
    }
}

fn main() -> ExitCode {
    let mut parse = ParseOptions::default();
    let mut input = InputOptions::default();
    let mut skip = false;
    let mut paths = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--lenient" => parse.lenient = true,
            "--skip" => skip = true,
            "--slice" => match arguments.next().and_then(|bytes| bytes.parse().ok()) {
                Some(bytes) => input.slice_size = bytes,
                None => return usage(),
            },
            _ => paths.push(PathBuf::from(argument)),
        }
    }
    if paths.is_empty() {
        return usage();
    }
    let mut counter = Counter {
        skip,
        spare: Vec::new(),
        batches: 0,
        terms: 0,
        arena_bytes: 0,
    };
    let start = Instant::now();
    match run(&paths, &input, parse, &mut counter) {
        Ok(counts) => {
            let seconds = start.elapsed().as_secs_f64();
            println!("{counts:?}");
            println!(
                "{} batches, {} terms, {} arena bytes",
                counter.batches, counter.terms, counter.arena_bytes
            );
            println!(
                "{seconds:.3} s, {:.0} MB/s, {:.2} M statements/s",
                counts.bytes as f64 / seconds / 1e6,
                counts.statements as f64 / seconds / 1e6
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(
    paths: &[PathBuf],
    input: &InputOptions,
    parse: ParseOptions,
    counter: &mut Counter,
) -> Result<ParseCounts> {
    let source = SliceSource::new(discover(paths, None, 0)?, input);
    let mut parser = StatementParser::new(parse);
    let mut counts = ParseCounts::default();
    while let Some(work) = source.next_work()? {
        counts += parser.parse(work, counter)?;
    }
    Ok(counts)
}

fn usage() -> ExitCode {
    eprintln!("usage: parse [--lenient] [--skip] [--slice BYTES] FILE...");
    ExitCode::from(2)
}
