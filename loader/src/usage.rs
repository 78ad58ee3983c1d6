//! What the process has used so far: CPU time and context switches of all its threads together.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use std::ops::Sub;

/// What all threads of the process have used.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessUsage {
    /// User and system time in seconds.
    pub cpu_seconds: f64,
    /// System time in seconds.
    pub system_seconds: f64,
    /// Times that a thread went to sleep.
    pub voluntary_switches: u64,
    /// Times that a thread was set aside for another.
    pub involuntary_switches: u64,
}

impl ProcessUsage {
    /// Until now; zeros where the system does not say.
    pub fn now() -> Self {
        let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else {
            return Self::default();
        };
        let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
        Self {
            cpu_seconds: seconds(usage.user_time()) + seconds(usage.system_time()),
            system_seconds: seconds(usage.system_time()),
            voluntary_switches: usage.voluntary_context_switches() as u64,
            involuntary_switches: usage.involuntary_context_switches() as u64,
        }
    }
}

impl Sub for ProcessUsage {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            cpu_seconds: self.cpu_seconds - earlier.cpu_seconds,
            system_seconds: self.system_seconds - earlier.system_seconds,
            voluntary_switches: self.voluntary_switches - earlier.voluntary_switches,
            involuntary_switches: self.involuntary_switches - earlier.involuntary_switches,
        }
    }
}
