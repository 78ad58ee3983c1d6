//! What the system says about memory: how much this process may still take, and how much it has taken.
//!
//! The loader and the queries take the defaults of their budgets from it. Nothing here is counted by ourselves, and where
//! the system says nothing (it is not Linux) the answer is `None`.

use std::fs;

/// What can still be used, in bytes: the least of the machine's and all control groups' free memory.
pub fn free_bytes() -> Option<u64> {
    let machine = field(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:");
    machine.into_iter().chain(group_free_bytes()).min()
}

/// The anonymous memory of this process, in bytes (`RssAnon`): what it allocated and touched, without mapped files.
pub fn anonymous_bytes() -> Option<u64> {
    field(&fs::read_to_string("/proc/self/status").ok()?, "RssAnon:")
}

/// What the control group of this process leaves free (version 2, then version 1).
fn group_free_bytes() -> Option<u64> {
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
}
