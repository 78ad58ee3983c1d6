//! `Explanation`: a plan as a tree to read, for people ([`std::fmt::Display`]) and programs
//! ([`Explanation::to_json`]), with what each node did if the query was run for it.

use serde::{Serialize, Serializer};
use std::fmt;
use std::time::Duration;

/// Rows that an index decodes together: what a search costs at least.
pub const SEARCH_ROWS: u64 = 128;

/// A node of a plan, with those below it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// What it does.
    pub operation: String,
    /// How many rows it was expected to give.
    pub estimated_rows: f64,
    /// The variables that its rows are sorted by, as far as that matters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sorted_by: Vec<String>,
    /// What it did; `None` if the query was not run, or the node has no operator of its own: it works in that of the
    /// node above it, or was never needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<Actual>,
    /// The nodes that it reads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Explanation>,
}

/// What a node did while the query ran.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct Actual {
    /// Rows that it gave.
    pub rows: u64,
    /// Batches of rows that it gave.
    pub batches: u64,
    /// Time spent in it and what it reads; where several threads work, the sum of theirs.
    #[serde(rename = "seconds", serialize_with = "seconds")]
    pub time: Duration,
    /// Time spent in it alone.
    #[serde(rename = "own_seconds", serialize_with = "seconds")]
    pub own_time: Duration,
    /// How often it looked for a place in an index: scans and index lookups.
    pub searches: u64,
    /// Rows that it read from an index: scans and index lookups.
    pub rows_read: u64,
    /// The most that it had reserved of the query's memory, in bytes.
    pub memory_peak_bytes: u64,
    /// What it wrote to temporary files, in bytes.
    pub spilled_bytes: u64,
}

fn seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

impl Explanation {
    /// The tree as JSON, indented. Its keys are the names of the fields; times are in seconds, as `seconds` and
    /// `own_seconds`.
    pub fn to_json(&self) -> String {
        // A tree of strings and numbers; JSON has no infinity, and writes `null` for it.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// The work of the plan as it was run, in rows: those that nodes gave and read, and for each search in an index
    /// [`SEARCH_ROWS`]. Unlike times, this comes out the same whenever one thread runs the plan.
    pub fn work(&self) -> u64 {
        let own = self.actual.map_or(0, |actual| {
            actual.rows + actual.rows_read + SEARCH_ROWS * actual.searches
        });
        own + self.inputs.iter().map(Self::work).sum::<u64>()
    }

    /// Sets the time that each node spent alone.
    pub(super) fn set_own_times(&mut self) {
        let below: Duration = self.inputs.iter().map(Self::measured_time).sum();
        if let Some(actual) = &mut self.actual {
            actual.own_time = actual.time.saturating_sub(below);
        }
        for input in &mut self.inputs {
            input.set_own_times();
        }
    }

    /// The time of the node, or of the nodes below if it has no operator.
    fn measured_time(&self) -> Duration {
        match &self.actual {
            Some(actual) => actual.time,
            None => self.inputs.iter().map(Self::measured_time).sum(),
        }
    }

    fn write(&self, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:indent$}{}  ~{:.0} rows",
            "",
            self.operation,
            self.estimated_rows,
            indent = depth * 2
        )?;
        if !self.sorted_by.is_empty() {
            write!(f, ", sorted by {}", self.sorted_by.join(" "))?;
        }
        if let Some(actual) = &self.actual {
            write!(f, "  {actual}")?;
        }
        f.write_str("\n")?;
        self.inputs
            .iter()
            .try_for_each(|input| input.write(depth + 1, f))
    }
}

impl fmt::Display for Explanation {
    /// A line a node, inputs indented below.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(0, f)
    }
}

impl fmt::Display for Actual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "[{} rows in {} batches, {:.3} ms, alone {:.3} ms",
            self.rows,
            self.batches,
            self.time.as_secs_f64() * 1e3,
            self.own_time.as_secs_f64() * 1e3,
        )?;
        if self.searches > 0 {
            write!(
                f,
                ", {} searches, {} rows read",
                self.searches, self.rows_read
            )?;
        }
        if self.memory_peak_bytes > 0 {
            write!(f, ", memory {}", Size(self.memory_peak_bytes))?;
        }
        if self.spilled_bytes > 0 {
            write!(f, ", spilled {}", Size(self.spilled_bytes))?;
        }
        f.write_str("]")
    }
}

/// A number of bytes as people read it.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
        if self.0 < 1 << 10 {
            return write!(f, "{} B", self.0);
        }
        let mut size = self.0 as f64 / 1024.0;
        let mut unit = 0;
        while size >= 1024.0 && unit + 1 < UNITS.len() {
            size /= 1024.0;
            unit += 1;
        }
        write!(f, "{size:.1} {}", UNITS[unit])
    }
}
