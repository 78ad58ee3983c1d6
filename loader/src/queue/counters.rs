//! What a queue counts about itself, and what the kernel counts about a thread. It is here
//! so that the load report can print both side by side: how often threads waited for each other, and what that
//! cost in context switches. What holds always: a counter has one writer, the thread that holds
//! the handle, so counting is a plain addition on a cache line of its own; anybody may read.

use super::WaitStrategy;
use crossbeam_utils::CachePadded;
use serde::Serialize;
use std::io;
use std::ops::{AddAssign, Sub};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What one end of a queue (all senders, or all receivers) or one handle has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EndReport {
    /// Items handed over: sent, or received.
    pub hand_overs: u64,
    /// `try_` calls that found the queue full (senders) or empty (receivers).
    pub try_failures: u64,
    /// Waits that spinning ended: no context switch was needed.
    pub spins_succeeded: u64,
    /// Times that a thread went to sleep.
    pub parks: u64,
    /// Times that a sleep ended because the time was over, and not by a wake.
    pub timeouts: u64,
    /// Threads of the *other* end that this end woke, a system call each.
    pub wakes: u64,
    /// Time in blocking calls that could not go on at once, in nanoseconds.
    pub waited_nanoseconds: u64,
}

impl AddAssign for EndReport {
    fn add_assign(&mut self, other: Self) {
        self.hand_overs += other.hand_overs;
        self.try_failures += other.try_failures;
        self.spins_succeeded += other.spins_succeeded;
        self.parks += other.parks;
        self.timeouts += other.timeouts;
        self.wakes += other.wakes;
        self.waited_nanoseconds += other.waited_nanoseconds;
    }
}

/// A queue's counters at one moment; exact once its threads have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct QueueReport {
    /// How its threads wait.
    pub strategy: WaitStrategy,
    /// How many items it can hold.
    pub capacity_batches: usize,
    /// How long a thread spins at most before it parks, in nanoseconds; 0 if it never does.
    pub spin_ceiling_nanoseconds: u64,
    /// All senders together.
    pub senders: EndReport,
    /// All receivers together.
    pub receivers: EndReport,
}

/// The counters of one handle.
#[derive(Debug, Default)]
pub(super) struct EndCounters {
    pub(super) hand_overs: Counter,
    pub(super) try_failures: Counter,
    pub(super) spins_succeeded: Counter,
    pub(super) parks: Counter,
    pub(super) timeouts: Counter,
    pub(super) wakes: Counter,
    pub(super) waited_nanoseconds: Counter,
}

impl EndCounters {
    /// Adds the time until the guard is dropped to the time waited.
    pub(super) fn watch(&self) -> Watch<'_> {
        Watch {
            counter: &self.waited_nanoseconds,
            began: Instant::now(),
        }
    }

    pub(super) fn report(&self) -> EndReport {
        EndReport {
            hand_overs: self.hand_overs.get(),
            try_failures: self.try_failures.get(),
            spins_succeeded: self.spins_succeeded.get(),
            parks: self.parks.get(),
            timeouts: self.timeouts.get(),
            wakes: self.wakes.get(),
            waited_nanoseconds: self.waited_nanoseconds.get(),
        }
    }
}

/// See [`EndCounters::watch`].
pub(super) struct Watch<'a> {
    counter: &'a Counter,
    began: Instant,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.counter.add(self.began.elapsed().as_nanos() as u64);
    }
}

/// A number with one writer and any number of readers.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    /// Adds; only ever called by the one writer, so no read-modify-write is needed.
    #[inline]
    pub(super) fn add(&self, amount: u64) {
        self.0.store(
            self.0.load(Ordering::Relaxed).wrapping_add(amount),
            Ordering::Relaxed,
        );
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters of all handles of one end, those that are gone included.
#[derive(Debug, Default)]
pub(super) struct EndRegistry(Mutex<Handles>);

#[derive(Debug, Default)]
struct Handles {
    live: Vec<Arc<CachePadded<EndCounters>>>,
    gone: EndReport,
}

impl EndRegistry {
    /// Counters for a new handle.
    pub(super) fn enter(&self) -> Arc<CachePadded<EndCounters>> {
        let counters = Arc::new(CachePadded::new(EndCounters::default()));
        self.lock().live.push(Arc::clone(&counters));
        counters
    }

    /// Keeps what a handle counted, now that it goes.
    pub(super) fn leave(&self, counters: &Arc<CachePadded<EndCounters>>) {
        let mut handles = self.lock();
        let place = handles
            .live
            .iter()
            .position(|live| Arc::ptr_eq(live, counters));
        handles
            .live
            .swap_remove(place.expect("a handle leaves once"));
        handles.gone += counters.report();
    }

    /// All together.
    pub(super) fn report(&self) -> EndReport {
        let handles = self.lock();
        let mut sum = handles.gone;
        for counters in &handles.live {
            sum += counters.report();
        }
        sum
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Handles> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the kernel says about the calling thread: its context switches and its time on a core.
///
/// A switch is *voluntary* when the thread went to sleep, *involuntary* when it was set aside for
/// another. Calls of `sched_yield` cannot be read from here: one that gives the core to another
/// thread counts as an involuntary switch, one that finds nobody else is not counted at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ThreadUsage {
    /// Times that the thread went to sleep.
    pub voluntary_switches: u64,
    /// Times that it was set aside while it could have gone on.
    pub involuntary_switches: u64,
    /// Time on a core, user and system, in nanoseconds; exact.
    pub cpu_nanoseconds: u64,
    /// The part of it in the program itself, in nanoseconds; in steps of the kernel's clock tick, 10 ms mostly.
    pub user_nanoseconds: u64,
    /// The part of it in the kernel, in nanoseconds; in the same steps.
    pub system_nanoseconds: u64,
}

impl ThreadUsage {
    /// The calling thread's use so far. Reads two small files of `/proc` (some 30 µs): meant for the
    /// beginning and the end of a thread. An error where there is no `/proc`, or none like Linux's.
    pub fn now() -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        return linux::usage();
        #[cfg(not(target_os = "linux"))]
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Time on a core.
    pub fn cpu(&self) -> Duration {
        Duration::from_nanos(self.cpu_nanoseconds)
    }
}

impl Sub for ThreadUsage {
    type Output = Self;

    /// What was used since `earlier`, which must be the same thread's.
    fn sub(self, earlier: Self) -> Self {
        Self {
            voluntary_switches: self
                .voluntary_switches
                .saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(earlier.involuntary_switches),
            cpu_nanoseconds: self.cpu_nanoseconds.saturating_sub(earlier.cpu_nanoseconds),
            user_nanoseconds: self
                .user_nanoseconds
                .saturating_sub(earlier.user_nanoseconds),
            system_nanoseconds: self
                .system_nanoseconds
                .saturating_sub(earlier.system_nanoseconds),
        }
    }
}

impl AddAssign for ThreadUsage {
    /// For sums over several threads.
    fn add_assign(&mut self, other: Self) {
        self.voluntary_switches += other.voluntary_switches;
        self.involuntary_switches += other.involuntary_switches;
        self.cpu_nanoseconds += other.cpu_nanoseconds;
        self.user_nanoseconds += other.user_nanoseconds;
        self.system_nanoseconds += other.system_nanoseconds;
    }
}

/// Reading `/proc`; `getrusage` would say the same, but needs foreign code that nothing safe wraps.
#[cfg(any(target_os = "linux", test))]
mod linux {
    use std::io;

    /// See [`super::ThreadUsage::now`].
    #[cfg(target_os = "linux")]
    pub(super) fn usage() -> io::Result<super::ThreadUsage> {
        let (voluntary_switches, involuntary_switches) =
            switches(&std::fs::read_to_string("/proc/thread-self/status")?)?;
        let (user_ticks, system_ticks) =
            ticks(&std::fs::read_to_string("/proc/thread-self/stat")?)?;
        let ticks_a_second = rustix::param::clock_ticks_per_second().max(1);
        let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Ok(super::ThreadUsage {
            voluntary_switches,
            involuntary_switches,
            cpu_nanoseconds: cpu.tv_sec as u64 * 1_000_000_000 + cpu.tv_nsec as u64,
            user_nanoseconds: user_ticks * 1_000_000_000 / ticks_a_second,
            system_nanoseconds: system_ticks * 1_000_000_000 / ticks_a_second,
        })
    }

    /// Voluntary and involuntary switches in a thread's `status`.
    pub(super) fn switches(status: &str) -> io::Result<(u64, u64)> {
        let field = |name: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
                .and_then(|value| value.trim().parse().ok())
                .ok_or_else(|| malformed("status", name))
        };
        Ok((
            field("voluntary_ctxt_switches")?,
            field("nonvoluntary_ctxt_switches")?,
        ))
    }

    /// User and system ticks in a thread's `stat`: its 14th and 15th field. The second is the thread's name in
    /// parentheses, which may hold blanks and parentheses itself; counting begins behind the last one.
    pub(super) fn ticks(stat: &str) -> io::Result<(u64, u64)> {
        let mut fields = stat
            .rsplit_once(')')
            .ok_or_else(|| malformed("stat", "name"))?
            .1
            .split_ascii_whitespace()
            .skip(14 - 3);
        let mut next = |name| {
            fields
                .next()
                .and_then(|value| value.parse().ok())
                .ok_or_else(|| malformed("stat", name))
        };
        Ok((next("utime")?, next("stime")?))
    }

    fn malformed(file: &str, field: &str) -> io::Error {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("/proc/thread-self/{file} has no readable field {field}"),
        )
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn handles_that_left_stay_in_the_sum() {
        let registry = EndRegistry::default();
        let first = registry.enter();
        let second = registry.enter();
        first.hand_overs.add(3);
        second.hand_overs.add(4);
        second.parks.add(1);
        registry.leave(&first);
        second.hand_overs.add(1);
        let sum = registry.report();
        assert_eq!((sum.hand_overs, sum.parks), (8, 1));
        registry.leave(&second);
        assert_eq!(registry.report(), sum);
    }

    #[test]
    fn the_kernels_files_are_read_by_name_and_by_place() {
        let status =
            "Name:\tx\nThreads:\t3\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t7\n";
        assert_eq!(linux::switches(status).unwrap(), (12, 7));
        assert!(linux::switches("voluntary_ctxt_switches:\tmany\n").is_err());

        let stat = "61 (a) b) (c) R 1 2 3 4 -1 64 103 0 5 0 140 15 0 0 20 0 1 0 80967";
        assert_eq!(linux::ticks(stat).unwrap(), (140, 15));
        assert!(linux::ticks("61 (a) R 1 2 3").is_err());
        assert!(linux::ticks("").is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn sleeping_is_a_voluntary_switch_and_work_takes_time() {
        let before = ThreadUsage::now().unwrap();
        std::thread::sleep(Duration::from_millis(1));
        let mut product = 1u64;
        for factor in 1..2_000_000u64 {
            product = std::hint::black_box(product.wrapping_mul(factor | 1));
        }
        let used = ThreadUsage::now().unwrap() - before;
        assert!(used.voluntary_switches >= 1, "{used:?}");
        assert!(used.cpu_nanoseconds > 0, "{used:?}");
        assert!(used.cpu() == Duration::from_nanos(used.cpu_nanoseconds));
    }
}
