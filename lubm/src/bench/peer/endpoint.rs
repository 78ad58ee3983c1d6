//! One endpoint, asked over HTTP.

use super::Peer;
use crate::bench::BenchOptions;
use sparesults::{QueryResultsFormat, QueryResultsParser, SliceQueryResultsParserOutput};
use std::error::Error;
use std::io::Read;
use std::time::{Duration, Instant};
use ureq::Agent;
use ureq::config::AutoHeaderValue;

/// The results that are understood, the best first.
const ACCEPT: &str = "text/tab-separated-values, application/sparql-results+json;q=0.9, application/sparql-results+xml;q=0.8";
/// Characters of an endpoint's own words that are shown.
const MESSAGE_MAX: usize = 200;

/// Runs of one query.
pub struct Runs {
    pub rows: u64,
    pub bytes: u64,
    pub first_seconds: f64,
    pub warm_seconds: Option<f64>,
}

/// See the module's head.
pub struct Endpoint<'a> {
    url: &'a str,
    agent: Agent,
    /// The last answer; kept, so that no run pays for new memory.
    body: Vec<u8>,
    timeout: Duration,
}

impl<'a> Endpoint<'a> {
    /// An endpoint that was not asked yet; a request may take so long.
    pub fn new(peer: &'a Peer, timeout: Duration) -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            // Compressing would be measured with the query.
            .accept_encoding(AutoHeaderValue::None)
            .user_agent(concat!("quadrille/", env!("CARGO_PKG_VERSION")))
            .build();
        Self {
            url: &peer.url,
            agent: Agent::new_with_config(config),
            body: Vec::new(),
            timeout,
        }
    }

    /// The first run and the warm ones; of these fewer than asked for, if together they take longer than one may.
    pub fn runs(&mut self, text: &str, options: &BenchOptions) -> Result<Runs, String> {
        let (rows, first_seconds) = self.run(text)?;
        let bytes = self.body.len() as u64;
        let mut warm = Vec::with_capacity(options.warm_runs);
        while warm.len() < options.warm_runs
            && warm.iter().sum::<f64>() < self.timeout.as_secs_f64()
        {
            if options.stop_queries.is_cancelled() {
                return Err("cancelled".to_owned());
            }
            let (again, seconds) = self.run(text)?;
            if again != rows {
                return Err(format!("{rows} rows, then {again}"));
            }
            warm.push(seconds);
        }
        warm.sort_by(f64::total_cmp);
        Ok(Runs {
            rows,
            bytes,
            first_seconds,
            warm_seconds: warm.get(warm.len() / 2).copied(),
        })
    }

    /// Asks once; gives the number of rows, and the seconds until the answer was there whole.
    fn run(&mut self, text: &str) -> Result<(u64, f64), String> {
        let began = Instant::now();
        let (status, kind) = self.fetch(text).map_err(|error| chain(&*error))?;
        let seconds = began.elapsed().as_secs_f64();
        if !(200..300).contains(&status) {
            let words = String::from_utf8_lossy(&self.body);
            let words: Vec<&str> = words.split_whitespace().collect();
            let words: String = words.join(" ").chars().take(MESSAGE_MAX).collect();
            return Err(format!("status {status}: {words}"));
        }
        Ok((rows(&kind, &self.body)?, seconds))
    }

    /// Reads an answer; gives its status and media type.
    fn fetch(&mut self, text: &str) -> Result<(u16, String), Box<dyn Error>> {
        let request = self.agent.get(self.url).query("query", text);
        let response = request.header("accept", ACCEPT).call()?;
        let status = response.status().as_u16();
        let body = response.into_body();
        let kind = body.mime_type().unwrap_or("no media type").to_owned();
        self.body.clear();
        body.into_reader().read_to_end(&mut self.body)?;
        Ok((status, kind))
    }
}

/// How many rows an answer has.
fn rows(kind: &str, body: &[u8]) -> Result<u64, String> {
    let Some(format) = QueryResultsFormat::from_media_type(kind) else {
        return Err(format!("{kind} is no SPARQL result"));
    };
    if format == QueryResultsFormat::Tsv {
        // A line for the variables, and one for each row; no value has a line break. The last line may lack its end.
        let ends = memchr::memchr_iter(b'\n', body).count();
        let lines = ends + usize::from(body.last().is_some_and(|last| *last != b'\n'));
        return Ok(lines.saturating_sub(1) as u64);
    }
    let parsed = QueryResultsParser::from_format(format).for_slice(body);
    match parsed.map_err(|error| error.to_string())? {
        SliceQueryResultsParserOutput::Boolean(_) => Ok(0),
        SliceQueryResultsParserOutput::Solutions(solutions) => {
            let mut count = 0;
            for solution in solutions {
                solution.map_err(|error| error.to_string())?;
                count += 1;
            }
            Ok(count)
        }
    }
}

/// An error and what caused it, on one line.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let reason = error.to_string();
        if !text.contains(&reason) {
            text = format!("{text}: {reason}");
        }
        cause = error.source();
    }
    text
}
