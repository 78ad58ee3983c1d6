//! How long queries take, in this process: `cargo run --release -p quadrille-sparql --example query_times -- STORE QUERIES`.
//!
//! QUERIES is a file `.rq` or a directory of them. Each is run from its text to the bytes of its result, parse and plan
//! included, warm, one at a time, with nothing remembered from run to run. A line goes to standard output for each:
//! the name, the rows, the bytes, the median and the least of the runs in milliseconds, the median of the query
//! prepared beforehand, and the error if there was one. A comment `# results: json` in a query chooses its format;
//! otherwise it is TSV, and N-Triples for a CONSTRUCT or a DESCRIBE. What comes of the figures: `benches/queries/README.md`.

use clap::Parser;
use quadrille_sparql::{PreparedQuery, Query, QueryError, QueryOptions, ResultFormat};
use quadrille_store::{Snapshot, Store};
use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(Parser)]
struct Arguments {
    /// The directory of a store.
    store: PathBuf,
    /// A query, or a directory of queries.
    queries: PathBuf,
    /// Only queries whose name contains this.
    #[arg(long)]
    only: Option<String>,
    /// Seconds that a query may take.
    #[arg(long, default_value_t = 20.0)]
    limit: f64,
    /// Seconds that are spent on the runs of a query, five of them at least.
    #[arg(long, default_value_t = 0.2)]
    spend: f64,
    /// Instead: join so many patterns of each query in every order, and compare the best with the one that is chosen.
    #[arg(long)]
    orders: Option<usize>,
    /// Threads that may compute a query; by default one for each core.
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Instead: show the plan of each query, with what each step of it did.
    #[arg(long)]
    plans: bool,
    /// Write the answers here, as JSON; graphs as N-Triples.
    #[arg(long)]
    answers: Option<PathBuf>,
}

impl Arguments {
    /// What queries are run with, but for the time that they may take.
    fn options(&self) -> QueryOptions {
        let mut options = QueryOptions::default();
        if let Some(threads) = self.threads {
            options.threads = threads.get();
        }
        options
    }
}

/// The fewest runs that a median is taken of.
const RUNS_MIN: usize = 5;
/// The most.
const RUNS_MAX: usize = 10_000;

/// Counts bytes, and forgets them.
#[derive(Default)]
struct Counter {
    bytes: u64,
}

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Figures {
    rows: u64,
    bytes: u64,
    median: f64,
    least: f64,
    prepared: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let store = Store::open_read_only(&arguments.store)?;
    let snapshot = store.snapshot();
    if let Some(patterns) = arguments.orders {
        println!(
            "query\tchosen ms\tbest ms\tratio\tbest order\torders\tbeyond four times the chosen"
        );
        for path in queries(&arguments)? {
            let text = fs::read_to_string(&path)?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            println!(
                "{name}\t{}",
                try_orders(&text, patterns, &snapshot, &arguments)?
            );
        }
        return Ok(());
    }
    if arguments.plans {
        for path in queries(&arguments)? {
            let query = Query::parse(&fs::read_to_string(&path)?, None)?;
            let plan = query.analyze(&snapshot, &QueryOptions::default())?;
            println!("{}: work {}\n{plan}", path.display(), plan.work());
        }
        return Ok(());
    }
    println!("query\trows\tbytes\tms\tleast ms\tprepared ms\terror");
    for path in queries(&arguments)? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(&path)?;
        match measure(&text, &snapshot, &arguments) {
            Ok(figures) => {
                println!(
                    "{name}\t{}\t{}\t{:.4}\t{:.4}\t{:.4}\t",
                    figures.rows, figures.bytes, figures.median, figures.least, figures.prepared
                );
                if let Some(directory) = &arguments.answers {
                    fs::create_dir_all(directory)?;
                    let query = Query::parse(&text, None)?;
                    let format = if query.is_graph() {
                        ResultFormat::NTriples
                    } else {
                        ResultFormat::Json
                    };
                    let file =
                        fs::File::create(directory.join(format!("{name}.{}", format.name())))?;
                    query
                        .execute(&snapshot, &arguments.options())?
                        .write(format, file)?;
                }
            }
            Err(error) => println!("{name}\t\t\t\t\t\t{}", error.to_string().replace('\n', " ")),
        }
    }
    Ok(())
}

/// The files to run, by name.
fn queries(arguments: &Arguments) -> io::Result<Vec<PathBuf>> {
    if arguments.queries.is_file() {
        return Ok(vec![arguments.queries.clone()]);
    }
    let mut paths = fs::read_dir(&arguments.queries)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<PathBuf>>>()?;
    paths.retain(|path| {
        let is_wanted = |name: &str| path.to_string_lossy().contains(name);
        path.extension().is_some_and(|extension| extension == "rq")
            && arguments.only.as_deref().is_none_or(is_wanted)
    });
    paths.sort();
    Ok(paths)
}

/// The format that a comment of the query asks for, or else the plainest.
fn format(text: &str, query: &PreparedQuery) -> ResultFormat {
    text.lines()
        .find_map(|line| line.strip_prefix("# results: ")?.trim().parse().ok())
        .unwrap_or(if query.is_graph() {
            ResultFormat::NTriples
        } else {
            ResultFormat::Tsv
        })
}

fn measure(text: &str, snapshot: &Snapshot, arguments: &Arguments) -> Result<Figures, QueryError> {
    let prepared = Query::parse(text, None)?;
    let format = format(text, &prepared);
    let options = QueryOptions {
        timeout: Some(Duration::from_secs_f64(arguments.limit)),
        ..arguments.options()
    };
    let answer = |query: &PreparedQuery| {
        let mut counter = Counter::default();
        let rows = query
            .execute(snapshot, &options)?
            .write(format, &mut counter)?;
        Ok::<_, QueryError>((rows, counter.bytes))
    };
    // The first run touches the files.
    let (rows, bytes) = answer(&prepared)?;
    let spend = Duration::from_secs_f64(arguments.spend / 2.0);
    let (median, least) = repeat(spend, || answer(&Query::parse(text, None)?).map(drop))?;
    let (prepared, _) = repeat(spend, || answer(&prepared).map(drop))?;
    Ok(Figures {
        rows,
        bytes,
        median,
        least,
        prepared,
    })
}

/// Runs a query with its patterns joined in each order; an order is given up at four times what the chosen one takes.
fn try_orders(
    text: &str,
    patterns: usize,
    snapshot: &Snapshot,
    arguments: &Arguments,
) -> Result<String, QueryError> {
    let query = Query::parse(text, None)?;
    let least = |options: &QueryOptions| {
        let run = || {
            let results = query.execute(snapshot, options)?;
            results
                .write(ResultFormat::Tsv, Counter::default())
                .map(drop)
        };
        repeat(Duration::ZERO, run).map(|(_, least)| least)
    };
    let chosen = least(&arguments.options())?;
    let (mut best, mut best_order, mut orders, mut slow) = (f64::INFINITY, Vec::new(), 0, 0);
    let mut order: Vec<usize> = (0..patterns).collect();
    loop {
        let mut options = QueryOptions {
            timeout: Some(Duration::from_secs_f64((4.0 * chosen / 1e3).max(1e-3))),
            ..arguments.options()
        };
        options.planner.forced_order = Some(order.clone());
        orders += 1;
        match least(&options) {
            Ok(took) if took < best => (best, best_order) = (took, order.clone()),
            Ok(_) => {}
            Err(QueryError::Timeout { .. }) => slow += 1,
            Err(error) => return Err(error),
        }
        if !next_permutation(&mut order) {
            break;
        }
    }
    Ok(format!(
        "{chosen:.4}\t{best:.4}\t{:.2}\t{best_order:?}\t{orders}\t{slow}",
        chosen / best
    ))
}

/// The next permutation in lexicographic order, if there is one.
fn next_permutation(order: &mut [usize]) -> bool {
    let Some(at) = order.windows(2).rposition(|pair| pair[0] < pair[1]) else {
        return false;
    };
    let larger = order.iter().rposition(|value| *value > order[at]);
    order.swap(at, larger.expect("the next one is larger"));
    order[at + 1..].reverse();
    true
}

/// The median and the least of the milliseconds that something takes.
fn repeat(
    spend: Duration,
    mut run: impl FnMut() -> Result<(), QueryError>,
) -> Result<(f64, f64), QueryError> {
    let mut took: Vec<f64> = Vec::new();
    let began = Instant::now();
    while took.len() < RUNS_MIN || (began.elapsed() < spend && took.len() < RUNS_MAX) {
        let run_began = Instant::now();
        run()?;
        took.push(run_began.elapsed().as_secs_f64() * 1e3);
    }
    took.sort_by(f64::total_cmp);
    Ok((took[took.len() / 2], took[0]))
}
