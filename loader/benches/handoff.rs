//! The experiment behind the loader's queue: does a load get slower when its inserters get faster?
//!
//! One producer works 100 ns for each triple and hands them over in batches; consumers work for a given time
//! on each. Measured over waiting strategy, batch size and the consumers' work: triples a second, context
//! switches and calls of `sched_yield`. The semaphore (`park`) is the baseline in which the backwards
//! effect was seen; crossbeam's own blocking calls are there for comparison.
//!
//! ```text
//! cargo bench -p quadrille-loader --bench handoff                     three minutes at most, prints tables
//! cargo bench -p quadrille-loader --bench handoff -- --record FILE    and writes a record, yields counted
//! cargo bench -p quadrille-loader --bench handoff -- --quick          a smoke run of seconds
//! ```
//!
//! The work is a chain of multiplications, calibrated once, so that the clock is not read in between. The
//! repetitions are interleaved: a disturbance of the machine hits one repetition of many cells and not all
//! of one. Yields cannot be read from a thread's usage; they are counted in further runs, one a cell, that
//! `perf` watches (through the kernel's tracepoint, so root's rights are needed), and stay blank where
//! there is no `perf`.

use quadrille_loader::queue::{Queue, Receiver, ThreadUsage, WaitStrategy};
use std::error::Error;
use std::fmt::{self, Write as _};
use std::hint::black_box;
use std::io;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

/// The producer's work for a triple, in nanoseconds.
const PRODUCER_COST: u32 = 100;
/// The consumers' work for a triple, in nanoseconds.
const COSTS: [u32; 5] = [0, 50, 100, 200, 400];
/// Triples in a hand-over.
const BATCHES: [u32; 4] = [1, 16, 256, 4096];
/// Triples that the queue holds, unless that were too many batches.
const QUEUE_TRIPLES: u32 = 65_536;
/// The most batches that it holds.
const QUEUE_BATCHES: u32 = 1_024;
/// How many repetitions a verdict needs.
const ENOUGH_REPETITIONS: usize = 3;
/// How long the repetitions may take, all together, unless told otherwise; then the tables are made of
/// those there are (at least one).
const TIME_LIMIT_SECONDS: u32 = 150;
/// How long a run is that shall only show that it works.
const QUICK_SCALE: f64 = 0.02;
/// How long a watched run is, as a share of an ordinary one: counts need no precise clock.
const WATCHED_SCALE: f64 = 0.3;
/// A fall of throughput below this share is taken for noise.
const NOISE: f64 = 0.03;

type Fallible<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Fallible<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    let work = Work::calibrate();
    if let Some(cell) = options.only {
        let Outcome {
            triples,
            seconds,
            usage,
        } = run(cell, work, options.scale)?;
        println!("{triples} triples in {seconds:.3} s, {usage:?}");
        return Ok(());
    }
    let shapes = [
        ("One producer, two consumers", 2, &COSTS[..]),
        ("One producer, one consumer", 1, &[0, 100, 400][..]),
    ];
    let load_before = load_average();
    let mut text = String::new();
    let began = Instant::now();
    for (place, (title, consumers, costs)) in shapes.into_iter().enumerate() {
        // The first shape has most of the cells.
        let share = if place == 0 { 0.8 } else { 1.0 };
        let until = began + Duration::from_secs(options.limit_seconds.into()).mul_f64(share);
        let measured = measure(consumers, costs, work, until, &options)?;
        let repetitions = measured[0].throughput.len();
        writeln!(
            text,
            "## {title}\n\nRepetitions: {repetitions}.\n\n{}",
            table(&measured)?
        )?;
        writeln!(text, "{}", reading(&measured)?)?;
    }
    println!("{text}");
    if let Some(path) = &options.record {
        std::fs::write(path, record(&text, &options, work, &load_before))
            .map_err(|error| format!("cannot write the record {path}: {error}"))?;
        eprintln!("wrote {path}");
    }
    Ok(())
}

/// Who hands over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contender {
    Ours(WaitStrategy),
    Crossbeam,
}

impl Contender {
    const ALL: [Self; 4] = [
        Self::Ours(WaitStrategy::Park),
        Self::Ours(WaitStrategy::SpinPark),
        Self::Ours(WaitStrategy::Spin),
        Self::Crossbeam,
    ];
}

impl fmt::Display for Contender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ours(strategy) => strategy.fmt(formatter),
            Self::Crossbeam => formatter.pad("crossbeam"),
        }
    }
}

/// One point of the experiment.
#[derive(Clone, Copy)]
struct Cell {
    contender: Contender,
    consumers: u32,
    batch: u32,
    cost: u32,
}

impl Cell {
    fn capacity_batches(self) -> u32 {
        (QUEUE_TRIPLES / self.batch).clamp(1, QUEUE_BATCHES)
    }

    /// How many batches a run has: enough for 150 ms if waiting cost nothing, less where it costs most.
    fn batches(self, scale: f64) -> u32 {
        let target = if self.batch == 1 { 60e6 } else { 150e6 };
        let a_triple = PRODUCER_COST
            .max((PRODUCER_COST + self.cost).div_ceil(2))
            .max(self.cost / self.consumers);
        (target * scale / f64::from(a_triple) / f64::from(self.batch))
            .ceil()
            .max(1.0) as u32
    }
}

/// What a run gave.
#[derive(Clone, Copy)]
struct Outcome {
    triples: f64,
    seconds: f64,
    usage: ThreadUsage,
}

/// Artificial work: a chain of dependent multiplications.
#[derive(Clone, Copy)]
struct Work {
    steps_a_nanosecond: f64,
}

impl Work {
    /// Measures a step; the best of several, for only disturbances make it slower.
    fn calibrate() -> Self {
        const STEPS: u32 = 2_000_000;
        let best = (0..15)
            .map(|_| {
                let began = Instant::now();
                Self::steps(STEPS);
                began.elapsed()
            })
            .min()
            .unwrap_or(Duration::MAX);
        Self {
            steps_a_nanosecond: f64::from(STEPS) / best.as_nanos() as f64,
        }
    }

    fn steps_for(self, nanoseconds: u32) -> u32 {
        (f64::from(nanoseconds) * self.steps_a_nanosecond).round() as u32
    }

    #[inline(never)]
    fn steps(count: u32) {
        let mut state = black_box(0x9E37_79B9_7F4A_7C15_u64);
        for _ in 0..count {
            // The shift keeps the compiler from folding several multiplications into one.
            state = (state ^ (state >> 29)).wrapping_mul(0x5851_F42D_4C95_7F2D);
        }
        black_box(state);
    }
}

/// Runs one cell once.
fn run(cell: Cell, work: Work, scale: f64) -> Fallible<Outcome> {
    let capacity = cell.capacity_batches() as usize;
    match cell.contender {
        Contender::Ours(strategy) => {
            let (_, sender, receiver) = Queue::new(capacity, strategy, cell.consumers as usize + 1);
            let receivers = (0..cell.consumers).map(|_| receiver.clone()).collect();
            drop(receiver);
            exchange(
                cell,
                work,
                scale,
                sender,
                receivers,
                |sender, triples| sender.send(triples).is_ok(),
                Receiver::receive,
            )
        }
        Contender::Crossbeam => {
            let (sender, receiver) = crossbeam_channel::bounded(capacity);
            let receivers = (0..cell.consumers).map(|_| receiver.clone()).collect();
            drop(receiver);
            exchange(
                cell,
                work,
                scale,
                sender,
                receivers,
                |sender, triples| sender.send(triples).is_ok(),
                |receiver| receiver.recv().ok(),
            )
        }
    }
}

/// The threads of a run. A batch is only its number of triples: what is measured is waiting, not copying.
fn exchange<S: Send, R: Send>(
    cell: Cell,
    work: Work,
    scale: f64,
    sender: S,
    receivers: Vec<R>,
    send: impl Fn(&S, u32) -> bool + Send,
    receive: impl Fn(&R) -> Option<u32> + Sync,
) -> Fallible<Outcome> {
    let batches = cell.batches(scale);
    let produce_steps = work.steps_for(PRODUCER_COST * cell.batch);
    let consume_steps = work.steps_for(cell.cost * cell.batch);
    let receive = &receive;
    std::thread::scope(|scope| {
        let consumers: Vec<_> = receivers
            .into_iter()
            .map(|receiver| {
                scope.spawn(move || -> io::Result<_> {
                    let before = ThreadUsage::now()?;
                    let mut triples = 0;
                    while let Some(batch) = receive(&receiver) {
                        Work::steps(consume_steps);
                        triples += u64::from(batch);
                    }
                    let ended = Instant::now();
                    Ok((triples, ended, ThreadUsage::now()? - before))
                })
            })
            .collect();
        let producer = scope.spawn(move || -> io::Result<_> {
            let before = ThreadUsage::now()?;
            let began = Instant::now();
            for _ in 0..batches {
                Work::steps(produce_steps);
                assert!(
                    send(&sender, cell.batch),
                    "the consumers stay until the end"
                );
            }
            drop(sender);
            Ok((began, ThreadUsage::now()? - before))
        });
        let (began, mut usage) = producer.join().expect("the producer does not panic")?;
        let mut ended = began;
        let mut triples = 0;
        for consumer in consumers {
            let (some, at, used) = consumer.join().expect("a consumer does not panic")?;
            triples += some;
            ended = ended.max(at);
            usage += used;
        }
        assert_eq!(
            triples,
            u64::from(batches) * u64::from(cell.batch),
            "all triples arrive"
        );
        Ok(Outcome {
            triples: triples as f64,
            seconds: (ended - began).as_secs_f64(),
            usage,
        })
    })
}

/// A cell's repetitions, put together.
struct Measured {
    cell: Cell,
    /// Millions of triples a second, ascending.
    throughput: Vec<f64>,
    /// Medians, for a million triples.
    voluntary: f64,
    involuntary: f64,
    /// System calls for a million triples, where they could be counted.
    calls: Option<Calls>,
}

#[derive(Clone, Copy)]
struct Calls {
    yields: f64,
    futex: f64,
}

/// Measures one shape, and begins no further repetition after `until`.
fn measure(
    consumers: u32,
    costs: &[u32],
    work: Work,
    until: Instant,
    options: &Options,
) -> Fallible<Vec<Measured>> {
    let mut cells = Vec::new();
    for contender in Contender::ALL {
        for batch in BATCHES {
            for &cost in costs {
                cells.push(Cell {
                    contender,
                    consumers,
                    batch,
                    cost,
                });
            }
        }
    }
    let mut outcomes = vec![Vec::new(); cells.len()];
    for repetition in 0..options.repetitions {
        if repetition > 0 && Instant::now() >= until {
            eprintln!("{consumers} consumer(s): no time for more repetitions");
            break;
        }
        eprintln!(
            "{consumers} consumer(s), repetition {} of {}",
            repetition + 1,
            options.repetitions
        );
        for (cell, outcomes) in cells.iter().zip(&mut outcomes) {
            outcomes.push(run(*cell, work, options.scale)?);
        }
    }
    if options.record.is_some() {
        eprintln!("{consumers} consumer(s), counting system calls");
    }
    cells
        .into_iter()
        .zip(outcomes)
        .map(|(cell, outcomes)| {
            let sorted = |value: &dyn Fn(&Outcome) -> f64| {
                let mut values: Vec<f64> = outcomes.iter().map(value).collect();
                values.sort_by(f64::total_cmp);
                values
            };
            let a_million = |count: u64, outcome: &Outcome| count as f64 * 1e6 / outcome.triples;
            Ok(Measured {
                cell,
                throughput: sorted(&|o| o.triples / o.seconds / 1e6),
                voluntary: median(&sorted(&|o| a_million(o.usage.voluntary_switches, o))),
                involuntary: median(&sorted(&|o| a_million(o.usage.involuntary_switches, o))),
                calls: if options.record.is_some() {
                    count_calls(cell, options.scale * WATCHED_SCALE)?
                } else {
                    None
                },
            })
        })
        .collect()
}

/// The middle of ascending values (the lower one of two).
fn median(sorted: &[f64]) -> f64 {
    sorted[(sorted.len() - 1) / 2]
}

/// Runs a cell once more in a process that `perf` watches; `None` if there is no `perf`, or it may not.
fn count_calls(cell: Cell, scale: f64) -> Fallible<Option<Calls>> {
    const EVENTS: [&str; 2] = ["syscalls:sys_enter_sched_yield", "syscalls:sys_enter_futex"];
    let spawned = Command::new("perf")
        .args(["stat", "-x", ",", "-e", &EVENTS.join(","), "--"])
        .arg(std::env::current_exe()?)
        .args([
            "--only",
            &format!(
                "{},{},{},{}",
                cell.contender, cell.consumers, cell.batch, cell.cost
            ),
        ])
        .args(["--scale", &scale.to_string()])
        .output();
    let output = match spawned {
        Ok(output) => output,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    // With `-x ,` a line is: value, unit, event, ...; the value is a word if the event was not counted.
    let report = String::from_utf8_lossy(&output.stderr);
    let count = |event: &str| {
        let line = report.lines().find(|line| line.contains(event))?;
        line.split(',').next()?.parse::<f64>().ok()
    };
    let triples = f64::from(cell.batches(scale)) * f64::from(cell.batch);
    Ok(count(EVENTS[0])
        .zip(count(EVENTS[1]))
        .map(|(yields, futex)| Calls {
            yields: yields * 1e6 / triples,
            futex: futex * 1e6 / triples,
        }))
}

fn table(measured: &[Measured]) -> Result<String, fmt::Error> {
    let mut text = String::from(
        "| strategy  | batch | ns a triple | M triples/s | lowest to highest | voluntary | involuntary | yields | futex calls |\n\
         | --------- | ----: | ----------: | ----------: | ----------------: | --------: | ----------: | -----: | ----------: |\n",
    );
    for Measured {
        cell,
        throughput,
        voluntary,
        involuntary,
        calls,
    } in measured
    {
        let spread = format!(
            "{:.2} to {:.2}",
            throughput[0],
            throughput[throughput.len() - 1]
        );
        let [yields, futex] = calls.map_or([String::from("-"), String::from("-")], |calls| {
            [
                format!("{:.0}", calls.yields),
                format!("{:.0}", calls.futex),
            ]
        });
        writeln!(
            text,
            "| {:<9} | {:>5} | {:>11} | {:>11.2} | {spread:>17} | {voluntary:>9.0} | {involuntary:>11.0} | {yields:>6} | {futex:>11} |",
            cell.contender,
            cell.batch,
            cell.cost,
            median(throughput),
        )?;
    }
    Ok(text)
}

/// The reading of a table: for each strategy and batch size, the deepest fall of throughput when the
/// consumers get faster; before it, in which cases it is more than noise.
fn reading(measured: &[Measured]) -> Result<String, fmt::Error> {
    let mut list = String::new();
    let mut backwards: Vec<String> = Vec::new();
    // The costs of one strategy and batch size stand together, ascending.
    for series in measured
        .chunk_by(|a, b| a.cell.contender == b.cell.contender && a.cell.batch == b.cell.batch)
    {
        let Some((fall, fast, slow)) = deepest_fall(series) else {
            continue;
        };
        let name = format!(
            "{} with batches of {}",
            fast.cell.contender, fast.cell.batch
        );
        let percent = fall * 100.0;
        let between = format!("from {} to {} ns a triple", slow.cell.cost, fast.cell.cost);
        if fall <= 0.0 {
            writeln!(list, "- {name}: none")?;
        } else if slow.throughput.len() < ENOUGH_REPETITIONS {
            writeln!(
                list,
                "- {name}: {percent:.0} % {between}; too few repetitions to tell"
            )?;
        } else if fall > NOISE && quartiles(&fast.throughput).1 < quartiles(&slow.throughput).0 {
            writeln!(list, "- {name}: **{percent:.0} % {between}: backwards**")?;
            backwards.push(name);
        } else {
            writeln!(list, "- {name}: {percent:.1} % {between}, within the noise")?;
        }
    }
    let mut text = String::from("The load gets slower when the consumers get faster: ");
    text += &if measured
        .iter()
        .any(|m| m.throughput.len() < ENOUGH_REPETITIONS)
    {
        String::from("too few repetitions to tell")
    } else if backwards.is_empty() {
        String::from("nowhere")
    } else {
        backwards.join("; ")
    };
    let default = Contender::Ours(WaitStrategy::default());
    let most = measured
        .iter()
        .filter(|m| m.cell.contender == default && m.cell.batch == BATCHES[BATCHES.len() - 1])
        .map(|m| m.voluntary)
        .fold(0.0, f64::max);
    writeln!(
        text,
        ".\n\n{default} with batches of {}: at most {most:.0} voluntary switches a million triples.\n",
        BATCHES[BATCHES.len() - 1],
    )?;
    writeln!(
        text,
        "The deepest fall of each from slower to faster consumers:\n\n{list}"
    )?;
    Ok(text)
}

/// The pair of a faster and a slower cell between which the median falls most (or rises least).
fn deepest_fall(series: &[Measured]) -> Option<(f64, &Measured, &Measured)> {
    let pairs = series.iter().enumerate().flat_map(|(place, fast)| {
        series[place + 1..].iter().map(move |slow| {
            (
                1.0 - median(&fast.throughput) / median(&slow.throughput),
                fast,
                slow,
            )
        })
    });
    pairs.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// The values a quarter of the way from either end.
fn quartiles(sorted: &[f64]) -> (f64, f64) {
    let quarter = (sorted.len() - 1) / 4;
    (sorted[quarter], sorted[sorted.len() - 1 - quarter])
}

/// The record: what was run, where, and what came out.
fn record(text: &str, options: &Options, work: Work, load_before: &str) -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "# Hand-over: waiting strategies, batch sizes and inserter speed

{date}, made by `cargo bench -p quadrille-loader --bench handoff -- --record FILE`.

- Machine: {processor}, {cores} cores for this process, Linux {kernel}.
- Load average (1, 5, 15 minutes) before: {load_before}; after: {load_after}. More than about 0.5
  before, or much more than 3 after, means that others used the machine: throughput and involuntary
  switches are theirs as well then, and a fall of throughput proves little.
- Producer: {PRODUCER_COST} ns of multiplications a triple ({steps:.2} steps a nanosecond, calibrated once).
  Consumers: the nanoseconds a triple of the table. A batch is a number, not data: this measures
  waiting, not copying.
- Queue: as many batches as hold {QUEUE_TRIPLES} triples, but at most {QUEUE_BATCHES}; hysteresis at half.
- Up to {repetitions} repetitions, as many as {limit} s allow, interleaved; length of a run: {scale} of the
  usual 150 ms (60 ms with batches of 1) that it would take if waiting cost nothing. Throughput and
  switches are medians. Switches, yields and futex calls are for a million triples, all threads
  together; starting and ending a run costs about five, which is {start:.0} for a million in the longest
  runs and more in the shorter ones.
- Switches are those of `/proc/thread-self/status`. Yields cannot be read there: one that gives the
  core to another thread is an involuntary switch, one that finds nobody else leaves no trace. So
  yields and futex calls come from one further, shorter run of each cell under `perf stat`
  (tracepoints `sys_enter_sched_yield`, `sys_enter_futex`); `-` where that was not possible. The few of
  `spin` and `spin-park` come from inside crossbeam's `try_` calls: another thread had claimed a
  slot and was set aside before it filled it.
- `park` is the semaphore: mutex and condition variable, a wake for every item that someone sleeps
  for. `spin-park` is the loader's default; it spins only if threads do not outnumber cores, and wakes
  for half a queue. `spin` never sleeps. `crossbeam` is that crate's own `send` and `recv`, which
  spin, yield and park.
- *Backwards*: the median falls by more than {noise:.0} % when the consumers get faster, and the quartiles
  of the two do not overlap. With fewer than {ENOUGH_REPETITIONS} repetitions nothing is called so.

{text}",
        date = today(),
        processor = processor(),
        kernel = read_line("/proc/sys/kernel/osrelease"),
        load_after = load_average(),
        steps = work.steps_a_nanosecond,
        repetitions = options.repetitions,
        limit = options.limit_seconds,
        scale = options.scale,
        start = 5.0 * 1e6 / (150e6 * options.scale / f64::from(PRODUCER_COST)),
        noise = NOISE * 100.0,
    )
}

fn read_line(path: &str) -> String {
    std::fs::read_to_string(path).map_or_else(
        |error| format!("({path}: {error})"),
        |text| text.trim().to_owned(),
    )
}

fn load_average() -> String {
    let text = read_line("/proc/loadavg");
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

fn processor() -> String {
    let text = read_line("/proc/cpuinfo");
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or_else(
        || String::from("unknown processor"),
        |(_, name)| name.to_owned(),
    )
}

/// The date (UTC) as year-month-day, by Hinnant's `civil_from_days`.
fn today() -> String {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    // Days since 1 March of year 0, so that the leap day ends a year.
    let days = since.as_secs() / 86_400 + 719_468;
    let era_day = days % 146_097;
    let era_year = (era_day - era_day / 1_460 + era_day / 36_524 - era_day / 146_096) / 365;
    let year_day = era_day - (365 * era_year + era_year / 4 - era_year / 100);
    let month_from_march = (5 * year_day + 2) / 153;
    let day = year_day - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = days / 146_097 * 400 + era_year + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

struct Options {
    repetitions: u32,
    /// Share of the usual length of a run.
    scale: f64,
    /// After how many seconds no further repetition begins.
    limit_seconds: u32,
    record: Option<String>,
    /// Run this cell once: for whoever watches from outside.
    only: Option<Cell>,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Fallible<Self> {
        let mut options = Self {
            repetitions: 5,
            scale: 1.0,
            limit_seconds: TIME_LIMIT_SECONDS,
            record: None,
            only: None,
        };
        // `cargo bench` says `--bench`, `cargo test --benches` says nothing: then this shall only show
        // that it works.
        let mut quick = true;
        while let Some(argument) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .ok_or_else(|| format!("{argument} needs a value"))
            };
            match argument.as_str() {
                "--bench" => quick = false,
                "--quick" => {
                    (options.repetitions, options.scale) = (1, QUICK_SCALE);
                }
                "--repetitions" => options.repetitions = value()?.parse()?,
                "--scale" => options.scale = value()?.parse()?,
                "--limit" => options.limit_seconds = value()?.parse()?,
                "--record" => options.record = Some(value()?),
                "--only" => options.only = Some(parse_cell(&value()?)?),
                _ => return Err(format!("unknown argument {argument}").into()),
            }
        }
        if quick && options.only.is_none() {
            (options.repetitions, options.scale) = (1, QUICK_SCALE);
        }
        if options.repetitions == 0 || !(options.scale > 0.0 && options.scale <= 100.0) {
            return Err("--repetitions must be at least 1, --scale above 0 and at most 100".into());
        }
        Ok(options)
    }
}

/// A cell as [`count_calls`] writes it: contender, consumers, batch, cost.
fn parse_cell(text: &str) -> Fallible<Cell> {
    let parts: Vec<&str> = text.split(',').collect();
    let [contender, consumers, batch, cost] = parts[..] else {
        return Err(format!("{text}: expected STRATEGY,CONSUMERS,BATCH,NANOSECONDS").into());
    };
    let cell = Cell {
        contender: match contender {
            "crossbeam" => Contender::Crossbeam,
            name => Contender::Ours(name.parse()?),
        },
        consumers: consumers.parse()?,
        batch: batch.parse()?,
        cost: cost.parse()?,
    };
    if cell.consumers == 0 || cell.batch == 0 {
        return Err(format!("{text}: consumers and batch must be at least 1").into());
    }
    Ok(cell)
}
