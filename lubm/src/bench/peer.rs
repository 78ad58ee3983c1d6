//! Peers: the same 14 queries, asked of other stores' endpoints over HTTP (SPARQL 1.1 Protocol, section 2.1.1, query by GET).
//!
//! ```text
//! ASK {}      -> what a request takes that asks nothing       it fails: nothing else is asked
//! each query  -> first run, then warm ones                    answer read whole, clock stopped, rows counted
//! ```
//!
//! A peer must hold the same data with the same inferred triples: its numbers of rows are compared with those of the
//! specification or, at a scale for which it has none, with ours. An answer is asked for as TSV, as ours is written, without
//! compression; a peer without TSV may send JSON or XML. What a peer does not answer is shown with its reason.

mod endpoint;

use super::BenchOptions;
use super::report::{QueryReport, Verdict};
use crate::queries::Query;
use endpoint::Endpoint;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// An endpoint to compare with.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Peer {
    /// What it is called in the report.
    pub name: String,
    /// Its address; parameters in it (such as `default-graph-uri`) are sent with each query.
    pub url: String,
}

/// `NAME=URL`
impl FromStr for Peer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, url)) if !name.is_empty() => {
                if !url.starts_with("http://") && !url.starts_with("https://") {
                    return Err(format!("{url:?} is no address of an endpoint over HTTP"));
                }
                let (name, url) = (name.to_owned(), url.to_owned());
                Ok(Self { name, url })
            }
            _ => Err(format!("{text:?} where NAME=URL is expected")),
        }
    }
}

/// What a peer did.
#[derive(Clone, Debug, Serialize)]
pub struct PeerReport {
    /// Which one.
    #[serde(flatten)]
    pub peer: Peer,
    /// Median wall time of `ASK {}` in seconds; `None` if it failed.
    pub ask_seconds: Option<f64>,
    /// Why nothing else was asked.
    pub error: Option<String>,
    /// The queries, as ours are.
    pub queries: Vec<PeerQueryReport>,
}

/// What a peer did with a query.
#[derive(Clone, Debug, Serialize)]
pub struct PeerQueryReport {
    /// Which of the 14.
    pub number: u8,
    /// Our rows, with which the peer's are compared.
    pub our_rows: u64,
    /// Our median wall time of the warm runs in seconds, in process.
    pub our_warm_seconds: Option<f64>,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What came of a query.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum Outcome {
    /// It was answered.
    Answered {
        /// Rows.
        rows: u64,
        /// Bytes of the answer.
        bytes: u64,
        /// How `rows` compares with what is expected.
        verdict: Verdict,
        /// Wall time of the first run in seconds.
        first_seconds: f64,
        /// Median wall time of the warm runs in seconds.
        warm_seconds: Option<f64>,
    },
    /// It was not.
    Failed {
        /// Why.
        error: String,
    },
}

impl PeerReport {
    /// The geometric mean of the warm times of the queries that were answered with the right number of rows, and that of
    /// ours for the same queries, in seconds.
    pub fn geometric_means(&self) -> Option<(f64, f64)> {
        let times: Vec<(f64, f64)> = self
            .queries
            .iter()
            .filter_map(|query| match query.outcome {
                Outcome::Answered {
                    warm_seconds,
                    verdict,
                    ..
                } if verdict != Verdict::Wrong => Some((warm_seconds?, query.our_warm_seconds?)),
                _ => None,
            })
            .collect();
        let mean = |sum: f64| (sum / times.len() as f64).exp();
        let sums = times.iter().fold((0.0, 0.0), |sums, times| {
            (sums.0 + times.0.ln(), sums.1 + times.1.ln())
        });
        (!times.is_empty()).then(|| (mean(sums.0), mean(sums.1)))
    }

    /// A time without what `ASK {}` takes; not below 0.
    pub fn less_ask(&self, seconds: Option<f64>) -> Option<f64> {
        Some((seconds? - self.ask_seconds?).max(0.0))
    }

    /// How many queries were answered with the right number of rows, or one that nothing speaks against.
    pub fn right(&self) -> usize {
        let is_right = |query: &&PeerQueryReport| matches!(&query.outcome, Outcome::Answered { verdict, .. } if *verdict != Verdict::Wrong);
        self.queries.iter().filter(is_right).count()
    }
}

/// Asks a peer what was asked of us.
pub(super) fn measure(peer: &Peer, ours: &[QueryReport], options: &BenchOptions) -> PeerReport {
    let mut endpoint = Endpoint::new(peer, options.peer_timeout);
    let mut report = PeerReport {
        peer: peer.clone(),
        ask_seconds: None,
        error: None,
        queries: Vec::new(),
    };
    match endpoint.runs("ASK {}", options) {
        Ok(runs) => report.ask_seconds = Some(runs.warm_seconds.unwrap_or(runs.first_seconds)),
        Err(error) => {
            report.error = Some(format!("ASK {{}}: {error}"));
            return report;
        }
    }
    for our in ours {
        let query = Query::numbered(our.number).expect("it was asked of us");
        let outcome = match endpoint.runs(&query.text(), options) {
            Ok(runs) => Outcome::Answered {
                rows: runs.rows,
                bytes: runs.bytes,
                verdict: Verdict::of(runs.rows, our.expected.or(Some(our.rows))),
                first_seconds: runs.first_seconds,
                warm_seconds: runs.warm_seconds,
            },
            Err(error) => Outcome::Failed { error },
        };
        report.queries.push(PeerQueryReport {
            number: our.number,
            our_rows: our.rows,
            our_warm_seconds: our.warm_seconds,
            outcome,
        });
    }
    report
}

/// A table, as that of our queries.
impl fmt::Display for PeerReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Peer { name, url } = &self.peer;
        if let Some(error) = &self.error {
            return writeln!(f, "{name}, {url}: {error}");
        }
        writeln!(
            f,
            "{name}, {url}, over HTTP; ASK {{}} takes {} ms",
            milliseconds(self.ask_seconds)
        )?;
        writeln!(
            f,
            "query       rows       ours      first ms    warm ms  less ASK {{}}    ours ms  "
        )?;
        for query in &self.queries {
            write!(f, "Q{:<3} ", query.number)?;
            match &query.outcome {
                Outcome::Answered {
                    rows,
                    verdict,
                    first_seconds,
                    warm_seconds,
                    ..
                } => writeln!(
                    f,
                    "{rows:>11} {:>10} {:>13} {:>10} {:>12} {:>10}  {}",
                    query.our_rows,
                    milliseconds(Some(*first_seconds)),
                    milliseconds(*warm_seconds),
                    milliseconds(self.less_ask(*warm_seconds)),
                    milliseconds(query.our_warm_seconds),
                    match verdict {
                        Verdict::Right => "right",
                        Verdict::Wrong => "WRONG",
                        Verdict::Unknown => "",
                    }
                )?,
                Outcome::Failed { error } => {
                    writeln!(f, "{:>11} {:>10}  FAILED: {error}", "-", query.our_rows)?;
                }
            }
        }
        let (right, all) = (self.right(), self.queries.len());
        write!(f, "{right} of {all} right")?;
        if let Some((peers, ours)) = self.geometric_means() {
            write!(
                f,
                "; geometric mean of their warm times: {} ms, ours {} ms",
                milliseconds(Some(peers)),
                milliseconds(Some(ours))
            )?;
        }
        writeln!(f)
    }
}

fn milliseconds(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "-".to_owned(), |seconds| format!("{:.3}", seconds * 1e3))
}

#[cfg(test)]
mod tests;
