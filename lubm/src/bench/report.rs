//! What a benchmark run found, for people and as data.

use super::peer::PeerReport;
use super::throughput::StreamsReport;
use quadrille_loader::LoadReport;
use quadrille_reason::InferReport;
use serde::Serialize;
use std::fmt;

/// A whole run.
#[derive(Clone, Debug, Serialize)]
pub struct BenchReport {
    /// How many universities.
    pub universities: u32,
    /// The generator's figures.
    pub generate: GenerateFigures,
    /// The load's report.
    pub load: LoadReport,
    /// The inference's report, if something was inferred.
    pub inference: Option<InferReport>,
    /// The size of what is asked.
    pub closure: ClosureReport,
    /// Bytes of all files of the store.
    pub store_bytes: u64,
    /// Quads in the store.
    pub quads: u64,
    /// The 14 queries: the power test.
    pub queries: Vec<QueryReport>,
    /// The kernel's share of the CPU time of all warm runs, from 0 to 1.
    pub power_system_share: f64,
    /// The throughput test: with one stream and, if there are more, with all.
    pub throughput: Vec<StreamsReport>,
    /// What the peers did.
    pub peers: Vec<PeerReport>,
}

/// What generating took.
#[derive(Clone, Debug, Serialize)]
pub struct GenerateFigures {
    /// Lines written.
    pub statements: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Wall time in seconds.
    pub seconds: f64,
}

/// How many triples there are for the queries, as the specification counts them: of the ontology's properties and named
/// classes.
#[derive(Clone, Debug, Serialize)]
pub struct ClosureReport {
    /// How many there are.
    pub triples: u64,
    /// How many there must be at this level of inference, where the specification says it.
    pub expected: Option<u64>,
    /// How the two compare.
    pub verdict: Verdict,
}

/// A query's result.
#[derive(Clone, Debug, Serialize)]
pub struct QueryReport {
    /// Which of the 14.
    pub number: u8,
    /// Rows.
    pub rows: u64,
    /// Bytes of the result as TSV.
    pub bytes: u64,
    /// Rows that there must be at this level of inference; `None` where the specification has no number for this scale.
    pub expected: Option<u64>,
    /// Rows that complete reasoning must give.
    pub expected_with_inference: Option<u64>,
    /// Whether this level of inference misses answers.
    pub needs_inference: bool,
    /// How `rows` compares with `expected`.
    pub verdict: Verdict,
    /// Wall time of the first run in seconds.
    pub first_seconds: f64,
    /// Median wall time of the warm runs in seconds.
    pub warm_seconds: Option<f64>,
}

/// Whether an answer is right.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The number of rows is the specification's.
    Right,
    /// It is not.
    Wrong,
    /// The specification has no number for this scale.
    Unknown,
}

impl Verdict {
    /// How a number compares with what is expected, if that is known.
    pub(super) fn of(found: u64, expected: Option<u64>) -> Self {
        match expected {
            Some(expected) if expected == found => Self::Right,
            Some(_) => Self::Wrong,
            None => Self::Unknown,
        }
    }
}

impl BenchReport {
    /// Whether no answer is wrong, and the closure has the size that it must have.
    pub fn is_right(&self) -> bool {
        let mut queries = self.queries.iter();
        self.closure.verdict != Verdict::Wrong
            && queries.all(|query| query.verdict != Verdict::Wrong)
    }

    /// What was run, in a few words.
    pub fn title(&self) -> String {
        match self.universities {
            1 => "LUBM, 1 university".to_owned(),
            universities => format!("LUBM, {universities} universities"),
        }
    }

    /// The geometric mean of the queries' warm times in seconds, if there were warm runs.
    pub fn geometric_mean(&self) -> Option<f64> {
        let logarithms = self
            .queries
            .iter()
            .map(|query| query.warm_seconds.map(f64::ln));
        let sum: f64 = logarithms.sum::<Option<f64>>()?;
        Some((sum / self.queries.len() as f64).exp())
    }
}

impl BenchReport {
    /// Queries an hour, one after another, if there were warm runs: 3600 / their geometric mean.
    pub fn power(&self) -> Option<f64> {
        Some(3600.0 / self.geometric_mean()?)
    }

    /// The square root of power times the throughput of all streams.
    pub fn composite(&self) -> Option<f64> {
        Some((self.power()? * self.throughput.last()?.queries_an_hour).sqrt())
    }
}

impl fmt::Display for BenchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GenerateFigures {
            statements,
            bytes,
            seconds,
        } = self.generate;
        writeln!(f, "{}", self.title())?;
        let megabytes = bytes as f64 / 1e6;
        writeln!(
            f,
            "generated {statements} statements, {megabytes:.1} MB, in {seconds:.2} s"
        )?;
        writeln!(f, "loaded {}", self.load)?;
        if let Some(inference) = &self.inference {
            writeln!(f, "inferred {inference}")?;
        }
        let ClosureReport {
            triples,
            expected,
            verdict,
        } = &self.closure;
        match (verdict, expected) {
            (Verdict::Wrong, Some(expected)) => {
                writeln!(f, "closure: {triples} triples: WRONG, {expected} expected")?;
            }
            (Verdict::Right, _) => writeln!(f, "closure: {triples} triples: right")?,
            _ => writeln!(f, "closure: {triples} triples")?,
        }
        writeln!(
            f,
            "store: {} quads, {} bytes, {:.2} bytes a quad",
            self.quads,
            self.store_bytes,
            self.store_bytes as f64 / self.quads.max(1) as f64
        )?;
        writeln!(f)?;
        writeln!(
            f,
            "query       rows   expected  with inference      first ms    warm ms  "
        )?;
        for query in &self.queries {
            writeln!(f, "{query}")?;
        }
        if let Some(mean) = self.geometric_mean() {
            writeln!(
                f,
                "geometric mean of the warm times: {:.3} ms; {:.1} % of their CPU time was the kernel's",
                mean * 1e3,
                self.power_system_share * 100.0
            )?;
        }
        for streams in &self.throughput {
            writeln!(f, "{streams}")?;
        }
        if let [one, .., all] = &*self.throughput {
            let gain = all.queries_an_hour / one.queries_an_hour;
            writeln!(
                f,
                "{} streams give {gain:.2} times one stream's throughput",
                all.streams
            )?;
        }
        if let (Some(power), Some(composite)) = (self.power(), self.composite()) {
            writeln!(
                f,
                "power {power:.0}, composite {composite:.0} queries an hour (power: 3600 / the geometric mean in seconds; composite: \
                 the square root of power times throughput)"
            )?;
        }
        for peer in &self.peers {
            write!(f, "\n{peer}")?;
        }
        Ok(())
    }
}

impl fmt::Display for QueryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |number: Option<u64>| number.map_or_else(|| "?".to_owned(), |n| n.to_string());
        let milliseconds = |seconds: f64| format!("{:.3}", seconds * 1e3);
        write!(
            f,
            "Q{:<3} {:>11} {:>10} {:>15} {:>13} {:>10}  ",
            self.number,
            self.rows,
            number(self.expected),
            number(self.expected_with_inference),
            milliseconds(self.first_seconds),
            self.warm_seconds
                .map_or_else(|| "-".to_owned(), milliseconds),
        )?;
        f.write_str(match self.verdict {
            Verdict::Wrong => "WRONG",
            Verdict::Right if self.needs_inference => "right for this inference; more finds more",
            Verdict::Right => "right",
            Verdict::Unknown if self.needs_inference => "more inference finds more",
            Verdict::Unknown => "no reference at this scale",
        })
    }
}
