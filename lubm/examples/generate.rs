//! Makes LUBM data: `generate UNIVERSITIES PATH [THREADS]`. The format follows the path's ending; `-` is
//! standard output.

use quadrille_lubm::{Destination, Format, GenerateOptions, generate};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (universities, path, threads) = match arguments.as_slice() {
        [universities, path] => (universities, path, None),
        [universities, path, threads] => (universities, path, Some(threads)),
        _ => return Err("usage: generate UNIVERSITIES PATH|- [THREADS]".into()),
    };
    let mut options = GenerateOptions {
        universities: universities.parse()?,
        format: Format::from_path(Path::new(path)).unwrap_or_default(),
        ..GenerateOptions::default()
    };
    if let Some(threads) = threads {
        options.threads = threads.parse()?;
    }
    let mut standard_output = std::io::stdout();
    let destination = if path == "-" {
        Destination::Stream(&mut standard_output)
    } else {
        Destination::File(path.into())
    };
    let report = generate(&options, destination)?;
    eprintln!(
        "{} statements, {} bytes, {:.3} s",
        report.counts.statements,
        report.bytes,
        report.elapsed.as_secs_f64()
    );
    Ok(())
}
