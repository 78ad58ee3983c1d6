//! The throughput test: several streams at once, each asking all queries in a sequence of its own.
//!
//! As decision-support benchmarks have it (TPC-H, clause 5.3), the power test is one stream, query by query, and the throughput test as
//! many streams as the machine has cores. Here each stream asks the 14 queries round after round, each round in another
//! sequence, with one thread a query. It is measured with one stream and with all; what several streams gain says how well the
//! store serves many clients.
//!
//! ```text
//! power        3600 / geometric mean of the queries' warm seconds            queries an hour, one after another
//! throughput   3600 * queries of all streams / wall seconds                  queries an hour, side by side
//! composite    sqrt(power * throughput)
//! ```

use super::{BenchError, BenchOptions, CountingSink, ask_once};
use crate::queries::QUERIES;
use quadrille_loader::usage::ProcessUsage;
use quadrille_store::Snapshot;
use serde::Serialize;
use std::fmt;
use std::time::Instant;

/// How long the test shall take with one stream, about, in seconds.
const WANTED_SECONDS: f64 = 1.0;
/// Rounds of a stream at most.
const ROUNDS_MAX: u32 = 1_000;

/// What some streams did.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StreamsReport {
    /// How many streams there were.
    pub streams: usize,
    /// How often each asked all queries.
    pub rounds: u32,
    /// Queries of all streams.
    pub queries: u64,
    /// Wall time in seconds, until the last stream ended.
    pub seconds: f64,
    /// Queries an hour.
    pub queries_an_hour: f64,
    /// The kernel's share of the CPU time, from 0 to 1.
    pub system_share: f64,
}

impl fmt::Display for StreamsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "throughput, {} stream(s) of {} rounds: {} queries in {:.2} s, {:.0} an hour; {:.1} % of the CPU time was the kernel's",
            self.streams,
            self.rounds,
            self.queries,
            self.seconds,
            self.queries_an_hour,
            self.system_share * 100.0
        )
    }
}

/// Runs the test with one stream, and with several if there are to be several.
///
/// # Errors
/// [`BenchError::Query`].
pub(super) fn measure(
    snapshot: &Snapshot,
    options: &BenchOptions,
) -> Result<Vec<StreamsReport>, BenchError> {
    if options.streams == 0 {
        return Ok(Vec::new());
    }
    // One round tells how many are to be measured.
    let trial = streams(snapshot, options, 1, 1)?;
    let rounds = (WANTED_SECONDS / trial.seconds.max(1e-9)).ceil();
    let rounds = (rounds as u32).clamp(1, ROUNDS_MAX);
    let mut reports = vec![streams(snapshot, options, 1, rounds)?];
    if options.streams > 1 {
        reports.push(streams(snapshot, options, options.streams, rounds)?);
    }
    Ok(reports)
}

fn streams(
    snapshot: &Snapshot,
    options: &BenchOptions,
    streams: usize,
    rounds: u32,
) -> Result<StreamsReport, BenchError> {
    let before = ProcessUsage::now();
    let began = Instant::now();
    let results = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..streams)
            .map(|number| scope.spawn(move || stream(snapshot, options, number, rounds)))
            .collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads
            .into_iter()
            .map(join)
            .collect::<Result<Vec<u64>, _>>()
    });
    let queries: u64 = results?.iter().sum();
    let seconds = began.elapsed().as_secs_f64();
    Ok(StreamsReport {
        streams,
        rounds,
        queries,
        seconds,
        queries_an_hour: 3600.0 * queries as f64 / seconds,
        system_share: system_share(ProcessUsage::now() - before),
    })
}

/// Asks all queries, round after round; gives how many that were.
fn stream(
    snapshot: &Snapshot,
    options: &BenchOptions,
    number: usize,
    rounds: u32,
) -> Result<u64, BenchError> {
    let mut asked = 0;
    for round in 0..rounds as usize {
        for place in sequence(number, round) {
            let query = &QUERIES[place];
            ask_once(
                &query.text(),
                snapshot,
                options,
                1,
                &mut CountingSink::default(),
            )
            .map_err(|source| BenchError::Query {
                number: query.number,
                source,
            })?;
            asked += 1;
        }
    }
    Ok(asked)
}

/// The sequence in which a stream asks the queries in a round: it begins at another query in each round, and goes on in steps
/// that differ between streams and have no divisor in common with 14.
fn sequence(stream: usize, round: usize) -> impl Iterator<Item = usize> {
    const STEPS: [usize; 6] = [1, 3, 5, 9, 11, 13];
    let count = QUERIES.len();
    let step = STEPS[(stream + round) % STEPS.len()];
    let start = stream * 5 + round * 3;
    (0..count).map(move |place| (start + place * step) % count)
}

/// The kernel's share of CPU time, from 0 to 1.
pub(super) fn system_share(usage: ProcessUsage) -> f64 {
    usage.system_seconds / usage.cpu_seconds.max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_of_each_stream_asks_each_query_once() {
        for stream in 0..20 {
            for round in 0..20 {
                let mut places: Vec<usize> = sequence(stream, round).collect();
                places.sort_unstable();
                let all: Vec<usize> = (0..QUERIES.len()).collect();
                assert_eq!(places, all, "stream {stream}, round {round}");
            }
        }
        let sequences = |stream| sequence(stream, 0).collect::<Vec<usize>>();
        assert_ne!(sequences(0), sequences(1));
    }
}
