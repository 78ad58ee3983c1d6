//! What a load did: counts, times, sizes. Serialisable for `--report json`, printable for people.

use crate::progress::Phase;
use crate::queue::{QueueReport, ThreadUsage};
use serde::Serialize;
use std::fmt;

/// What a load did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LoadReport {
    /// Files read, standard input included.
    pub files: u64,
    /// Bytes of input, as stored (compressed ones compressed).
    pub input_bytes: u64,
    /// Statements read, repeated ones included, rejected ones not.
    pub statements: u64,
    /// Lines of N-Triples and N-Quads that the fast lexer left to the full parser.
    pub fallback_lines: u64,
    /// Statements kept by leniency alone.
    pub lenient_statements: u64,
    /// Statements left out because they were not valid.
    pub rejected_statements: u64,
    /// Quads that the store did not have.
    pub quads_new: u64,
    /// Quads in the input that the store had already.
    pub quads_present: u64,
    /// Statements that repeated another one of the same load.
    pub duplicates: u64,
    /// Distinct terms that the load names.
    pub terms: u64,
    /// The first statements that were left out: file, line, column and reason.
    pub first_rejects: Vec<String>,
    /// Terms that the store did not have.
    pub terms_new: u64,
    /// Named graphs' share of the new quads.
    pub quads_named: u64,
    /// What was written, by part.
    pub parts: Vec<PartReport>,
    /// Wall time in seconds.
    pub wall_seconds: f64,
    /// CPU time of all threads, user and system, in seconds.
    pub cpu_seconds: f64,
    /// The kernel's share of it, in seconds.
    pub system_seconds: f64,
    /// Each phase.
    pub phases: Vec<PhaseReport>,
    /// Each thread that parsed or inserted.
    pub threads: Vec<ThreadReport>,
    /// The queue between them.
    pub queue: Option<QueueReport>,
    /// Voluntary context switches of the process during the load.
    pub voluntary_switches: u64,
    /// Involuntary context switches of the process during the load.
    pub involuntary_switches: u64,
    /// Runs that were spilled to temporary files.
    pub spilled_runs: u64,
    /// The memory budget in bytes.
    pub memory_budget_bytes: u64,
    /// The largest anonymous memory seen, in bytes.
    pub peak_memory_bytes: u64,
}

/// A part of what was written.
#[derive(Clone, Debug, Serialize)]
pub struct PartReport {
    /// "dictionary", or an order's name.
    pub part: String,
    /// Bytes on disk.
    pub bytes: u64,
    /// Bytes by column and codec, where the part has them.
    pub detail: Vec<(String, u64)>,
}

/// A phase.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseReport {
    /// Which.
    pub phase: Phase,
    /// Wall time in seconds.
    pub wall_seconds: f64,
    /// CPU time of the whole process, in seconds.
    pub cpu_seconds: f64,
}

/// A thread that parsed or inserted.
#[derive(Clone, Debug, Serialize)]
pub struct ThreadReport {
    /// "parser" or "inserter": what it does first.
    pub role: &'static str,
    /// Slices or documents that it parsed.
    pub pieces_parsed: u64,
    /// Batches that it inserted.
    pub batches_inserted: u64,
    /// Of these, batches that came through no queue: its own.
    pub batches_kept: u64,
    /// What the kernel counted.
    pub usage: ThreadUsage,
}

impl LoadReport {
    /// Bytes written in all.
    pub fn bytes_written(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.statements as f64 / self.wall_seconds.max(1e-9) / 1e6;
        writeln!(
            f,
            "{} statements from {} file(s) in {:.2} s ({rate:.2} M statements/s)",
            grouped(self.statements),
            self.files,
            self.wall_seconds,
        )?;
        writeln!(
            f,
            "  new quads {}, repeated {}, in the store already {}, rejected {}",
            grouped(self.quads_new),
            grouped(self.duplicates),
            grouped(self.quads_present),
            grouped(self.rejected_statements),
        )?;
        writeln!(
            f,
            "  terms {}, of them new {}; full parser {} lines, kept by leniency {}",
            grouped(self.terms),
            grouped(self.terms_new),
            grouped(self.fallback_lines),
            grouped(self.lenient_statements),
        )?;
        for reject in &self.first_rejects {
            writeln!(f, "  rejected {reject}")?;
        }
        if self.quads_new > 0 {
            let quads = self.quads_new as f64;
            write!(
                f,
                "  bytes a new quad {:.2}:",
                self.bytes_written() as f64 / quads
            )?;
            for part in &self.parts {
                write!(f, " {} {:.2}", part.part, part.bytes as f64 / quads)?;
            }
            writeln!(f)?;
        }
        write!(
            f,
            "  CPU {:.2} s (kernel {:.2}):",
            self.cpu_seconds, self.system_seconds
        )?;
        for phase in &self.phases {
            write!(
                f,
                " {} {:.2} s wall {:.2} CPU;",
                phase.phase.name(),
                phase.wall_seconds,
                phase.cpu_seconds
            )?;
        }
        writeln!(f)?;
        for thread in &self.threads {
            writeln!(
                f,
                "  {}: {} pieces parsed, {} batches inserted ({} its own), {:.2} s CPU, {} + {} switches",
                thread.role,
                thread.pieces_parsed,
                thread.batches_inserted,
                thread.batches_kept,
                thread.usage.cpu().as_secs_f64(),
                thread.usage.voluntary_switches,
                thread.usage.involuntary_switches,
            )?;
        }
        if let Some(queue) = &self.queue {
            writeln!(
                f,
                "  queue ({}): {} hand-overs; parks {} + {}, spins that helped {} + {}",
                queue.strategy,
                queue.receivers.hand_overs,
                queue.senders.parks,
                queue.receivers.parks,
                queue.senders.spins_succeeded,
                queue.receivers.spins_succeeded,
            )?;
        }
        write!(
            f,
            "  context switches {} voluntary, {} involuntary; peak memory {} MiB of {} MiB, {} spilled run(s)",
            self.voluntary_switches,
            self.involuntary_switches,
            self.peak_memory_bytes >> 20,
            self.memory_budget_bytes >> 20,
            self.spilled_runs,
        )
    }
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_stand_apart() {
        let numbers = [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (6_888_642, "6,888,642"),
        ];
        for (number, text) in numbers {
            assert_eq!(grouped(number), text);
        }
    }
}
