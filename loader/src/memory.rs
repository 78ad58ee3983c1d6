//! Memory: how much a load may take by default, and how much it took.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

/// The default budget is this share of what is free.
const SHARE: u64 = 2;
/// The default budget where the system does not say what is free.
const UNKNOWN: u64 = 1 << 30;
/// A smaller budget saves nothing: buffers of fixed size (slices, batches, files) take about as much. The default is
/// not smaller, and the command line refuses less.
pub const BUDGET_MINIMUM_BYTES: u64 = 32 << 20;

/// The default memory budget: half of what the machine, or the control group, has free.
pub fn default_budget() -> u64 {
    (free_memory().unwrap_or(UNKNOWN) / SHARE).max(BUDGET_MINIMUM_BYTES)
}

/// What can still be used: the least of the machine's and all control groups' free memory.
fn free_memory() -> Option<u64> {
    let machine = field(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:");
    machine.into_iter().chain(group_memory()).min()
}

/// What the control group of this process leaves free (version 2, then version 1).
fn group_memory() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut least = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (mount, limit, used) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max", "memory.current"),
            _ if controllers.split(',').any(|each| each == "memory") => (
                "/sys/fs/cgroup/memory",
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
            ),
            _ => continue,
        };
        // A limit may stand at any level above the process; inside a container the path may be another's.
        let mut path = path;
        loop {
            let number = |file: &str| {
                let text = fs::read_to_string(format!("{mount}{path}/{file}")).ok()?;
                text.trim().parse::<u64>().ok()
            };
            if let (Some(limit), Some(used)) = (number(limit), number(used)) {
                let free = limit.saturating_sub(used);
                least = Some(least.map_or(free, |least: u64| least.min(free)));
            }
            match path.rfind('/') {
                Some(end) if !path.is_empty() => path = &path[..end],
                _ => break,
            }
        }
    }
    least
}

/// A field of a file of `/proc` in kB, as bytes.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

/// The largest anonymous memory of the process (`RssAnon`) that was seen. The kernel keeps no such maximum
/// itself, so the load looks where it is likely: at the ends of its phases, and now and then between.
#[derive(Debug, Default)]
pub struct PeakMemory(AtomicU64);

impl PeakMemory {
    /// Looks now.
    pub fn look(&self) {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        if let Some(bytes) = field(&status, "RssAnon:") {
            self.0.fetch_max(bytes, Ordering::Relaxed);
        }
    }

    /// The largest seen, in bytes; 0 where the system does not say.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_kilobytes() {
        let text = "MemTotal:       100 kB\nMemAvailable:    64 kB\nHugePages_Total:  0\n";
        assert_eq!(field(text, "MemAvailable:"), Some(64 << 10));
        assert_eq!(field(text, "HugePages_Total:"), None);
        assert_eq!(field(text, "Missing:"), None);
    }

    #[test]
    fn the_default_budget_is_within_what_is_free() {
        let budget = default_budget();
        assert!(budget >= BUDGET_MINIMUM_BYTES);
        if let Some(free) = free_memory() {
            assert!(budget <= (free / SHARE + (256 << 20)).max(BUDGET_MINIMUM_BYTES));
        }
    }

    #[test]
    fn the_peak_grows_with_memory() {
        let peak = PeakMemory::default();
        peak.look();
        let before = peak.bytes();
        let block = vec![1_u8; 64 << 20];
        peak.look();
        if cfg!(target_os = "linux") {
            assert!(
                peak.bytes() >= before + (32 << 20),
                "{} {}",
                before,
                block.len()
            );
        }
    }
}
