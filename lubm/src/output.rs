//! Data to files and streams: who makes which university, and where it goes.

use crate::counts::Counts;
use crate::error::{LubmError, Result};
use crate::file::{OutputFile, failed};
use crate::format::Format;
use crate::generate::University;
use crate::names::ONTOLOGY_URL;
use crate::ordered::Ordered;
use crate::pack::Packer;
use crate::template::Template;
use crate::text::TextBuffer;
use std::fs;
use std::io::{self, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What to make.
#[derive(Clone, Debug)]
pub struct GenerateOptions {
    /// How many universities, at least one.
    pub universities: u32,
    /// The number of the first one.
    pub start: u32,
    /// The base seed. (Seeds that are equal modulo 131072 give the same data, as with the original.)
    pub seed: i32,
    /// How many threads may work, the calling one included.
    pub threads: NonZero<usize>,
    /// The ontology's address; classes and properties are this, `#` and a name.
    pub ontology_url: String,
    /// How to write it.
    pub format: Format,
    /// Ends the work early when it is set, for a program that is interrupted: nothing half made stays.
    pub cancelled: Arc<AtomicBool>,
}

/// One university, seed 0, N-Triples, as many threads as there are cores.
impl Default for GenerateOptions {
    fn default() -> Self {
        Self {
            universities: 1,
            start: 0,
            seed: 0,
            threads: thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN),
            ontology_url: ONTOLOGY_URL.to_owned(),
            format: Format::default(),
            cancelled: Arc::default(),
        }
    }
}

impl GenerateOptions {
    fn check(&self) -> Result<()> {
        // The original numbers universities with Java's ints.
        let last = u64::from(self.start) + u64::from(self.universities);
        if self.universities == 0 || last > 1 << 31 {
            return Err(LubmError::Universities {
                universities: self.universities,
                start: self.start,
            });
        }
        check_ontology_url(&self.ontology_url)
    }

    /// An error of no importance if the work is cancelled; [`generate`] puts a better one in its place.
    fn go_on(&self) -> io::Result<()> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(())
    }

    fn workers(&self) -> usize {
        self.threads.get().min(self.universities as usize)
    }
}

/// That `{url}#name` is an absolute IRI.
pub(crate) fn check_ontology_url(url: &str) -> Result<()> {
    let refused = |reason: String| {
        Err(LubmError::OntologyUrl {
            url: url.to_owned(),
            reason,
        })
    };
    match oxiri::Iri::parse(url) {
        Err(error) => refused(error.to_string()),
        Ok(iri) if iri.fragment().is_some() => refused("it has a fragment".to_owned()),
        Ok(_) => Ok(()),
    }
}

/// Where to put it.
pub enum Destination<'a> {
    /// One file, replaced if it exists. It has its name only when it is whole. A device or a pipe is
    /// written as it is.
    File(PathBuf),
    /// One file a university, `University7.nt`, in a directory that is made if it is missing.
    Directory(PathBuf),
    /// A stream, such as standard output.
    Stream(&'a mut (dyn Write + Send)),
}

/// What was made.
#[derive(Clone, Debug)]
pub struct GenerateReport {
    /// How much of everything.
    pub counts: Counts,
    /// Bytes written, after compression.
    pub bytes: u64,
    /// How long it took.
    pub elapsed: Duration,
}

/// Makes data.
///
/// The bytes depend on universities, start, seed, ontology and syntax alone, never on the number of
/// threads. Memory is bounded by some 60 MB a thread.
///
/// # Errors
/// If the options make no sense, or when something cannot be written: then no file has its final name, but
/// for those of a directory that were whole already.
///
/// ```
/// use quadrille_lubm::{Destination, GenerateOptions, generate};
///
/// let mut data = Vec::new();
/// let report = generate(&GenerateOptions::default(), Destination::Stream(&mut data))?;
/// assert_eq!(report.counts.statements, 103_074);
/// assert_eq!(report.bytes, data.len() as u64);
/// # Ok::<(), quadrille_lubm::LubmError>(())
/// ```
pub fn generate(options: &GenerateOptions, destination: Destination<'_>) -> Result<GenerateReport> {
    let started = Instant::now();
    options.check()?;
    let made = write_to(options, destination);
    if made.is_err() && options.cancelled.load(Ordering::Relaxed) {
        return Err(LubmError::Cancelled);
    }
    let (counts, bytes) = made?;
    Ok(GenerateReport {
        counts,
        bytes,
        elapsed: started.elapsed(),
    })
}

/// Returns the counts and the bytes written.
fn write_to(options: &GenerateOptions, destination: Destination<'_>) -> Result<(Counts, u64)> {
    let template = Template::new(options.format.syntax, &options.ontology_url);
    match destination {
        Destination::File(path) => {
            let mut file = OutputFile::create(&path)?;
            let made = stream(options, &template, &mut file)
                .map_err(|error| failed("write", &path, error))?;
            file.finish()?;
            Ok(made)
        }
        Destination::Directory(path) => directory(options, &template, &path),
        Destination::Stream(output) => {
            stream(options, &template, output).map_err(|source| LubmError::Stream { source })
        }
    }
}

/// All universities in order to one output. Returns the counts and the bytes written.
fn stream(
    options: &GenerateOptions,
    template: &Template,
    output: &mut (dyn Write + Send),
) -> io::Result<(Counts, u64)> {
    let workers = options.workers();
    let ordered = Ordered::new(output, workers);
    let made: io::Result<Counts> = share_out(
        options,
        workers,
        || ordered.stop(),
        |offset| {
            let mut packer = Packer::new(options.format.compression, ordered.buffer())?;
            let mut counts = Counts::default();
            if offset == 0 {
                counts.text_bytes += write_header(template, &mut packer)?;
            }
            let mut university = University::new(template, options.seed, options.start + offset);
            while let Some(department) = university.next_department(packer.text()) {
                options.go_on()?;
                counts += department;
                packer.pack()?;
                ordered.advance(offset, packer.packed())?;
                if ordered.stopped() {
                    return Ok(counts);
                }
            }
            ordered.finish(offset, packer.finish()?)?;
            Ok(counts)
        },
    );
    let counts = made?;
    ordered.flush()?;
    Ok((counts, ordered.bytes()))
}

/// Each university to a file of its own. Returns the counts and the bytes written.
fn directory(options: &GenerateOptions, template: &Template, path: &Path) -> Result<(Counts, u64)> {
    fs::create_dir_all(path).map_err(|error| failed("create", path, error))?;
    let stopped = AtomicBool::new(false);
    let bytes = AtomicU64::new(0);
    let made: Result<Counts> = share_out(
        options,
        options.workers(),
        || stopped.store(true, Ordering::Relaxed),
        |offset| {
            let index = options.start + offset;
            let path = path.join(format!("University{index}.{}", options.format));
            let mut file = OutputFile::create(&path)?;
            let (counts, written) = one_file(options, template, index, &mut file, &stopped)
                .map_err(|error| failed("write", &path, error))?;
            if !stopped.load(Ordering::Relaxed) {
                file.finish()?;
            }
            bytes.fetch_add(written, Ordering::Relaxed);
            Ok(counts)
        },
    );
    Ok((made?, bytes.into_inner()))
}

fn one_file(
    options: &GenerateOptions,
    template: &Template,
    index: u32,
    file: &mut OutputFile,
    stopped: &AtomicBool,
) -> io::Result<(Counts, u64)> {
    let mut packer = Packer::new(options.format.compression, TextBuffer::default())?;
    let mut counts = Counts::default();
    let mut bytes = 0;
    counts.text_bytes += write_header(template, &mut packer)?;
    let mut university = University::new(template, options.seed, index);
    while let Some(department) = university.next_department(packer.text()) {
        options.go_on()?;
        counts += department;
        packer.pack()?;
        let packed = packer.packed();
        file.write_all(packed.as_bytes())?;
        bytes += packed.as_bytes().len() as u64;
        packed.clear();
        if stopped.load(Ordering::Relaxed) {
            return Ok((counts, bytes));
        }
    }
    let rest = packer.finish()?;
    file.write_all(rest.as_bytes())?;
    bytes += rest.as_bytes().len() as u64;
    Ok((counts, bytes))
}

fn write_header(template: &Template, packer: &mut Packer) -> io::Result<u64> {
    packer.text().push(&template.header);
    packer.pack()?;
    Ok(template.header.as_bytes().len() as u64)
}

/// Has `make` called for every offset from 0 to `options.universities - 1`, by `workers` threads, in order
/// of their beginnings. The first error ends it all: `stop` is called, and then what runs should return.
fn share_out<E: Send>(
    options: &GenerateOptions,
    workers: usize,
    stop: impl Fn() + Sync,
    make: impl Fn(u32) -> std::result::Result<Counts, E> + Sync,
) -> std::result::Result<Counts, E> {
    let next = AtomicU32::new(0);
    let failed = AtomicBool::new(false);
    let work = || {
        let mut counts = Counts::default();
        let guard = StopUnlessDone(|| {
            failed.store(true, Ordering::Relaxed);
            stop();
        });
        while !failed.load(Ordering::Relaxed) {
            let offset = next.fetch_add(1, Ordering::Relaxed);
            if offset >= options.universities {
                break;
            }
            counts += make(offset)?;
        }
        std::mem::forget(guard);
        Ok(counts)
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
        let mut total = work();
        for other in others {
            let counts = other
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            total = match (total, counts) {
                (Ok(mut total), Ok(counts)) => {
                    total += counts;
                    Ok(total)
                }
                (Err(error), _) | (Ok(_), Err(error)) => Err(error),
            };
        }
        total
    })
}

/// Tells the other threads when this one leaves with an error or a panic, so that none waits for it.
struct StopUnlessDone<F: Fn()>(F);

impl<F: Fn()> Drop for StopUnlessDone<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[cfg(test)]
mod tests;
