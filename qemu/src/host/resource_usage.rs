//! Resource usage of a process.

use std::fs;
use std::time::Duration;

/// Resources that a process has used since its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ResourceUsage {
    /// CPU time, user and system, with a resolution of 10 ms.
    pub processor: Duration,
    /// Peak resident memory in bytes.
    pub peak_bytes: u64,
}

/// Length of a tick in `/proc`: constant on all processors and versions of Linux.
const TICK: Duration = Duration::from_millis(10);

impl ResourceUsage {
    /// Returns a process's usage; `None` if the process does not exist or this user may not read its account.
    pub fn for_process(process: u32) -> Option<ResourceUsage> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        Some(ResourceUsage {
            processor: processor(&stat)?,
            peak_bytes: peak_bytes(&status)?,
        })
    }

    /// Returns the combined usage of a process and its children, as [`ResourceUsage::for_process`] counts each.
    pub fn for_family(process: u32) -> Option<ResourceUsage> {
        let add = |all: ResourceUsage, more: ResourceUsage| ResourceUsage {
            processor: all.processor + more.processor,
            peak_bytes: all.peak_bytes + more.peak_bytes,
        };
        let children = children(process).into_iter().filter_map(ResourceUsage::for_process);
        Some(children.fold(ResourceUsage::for_process(process)?, add))
    }

    /// Returns this process's usage.
    pub fn for_this_process() -> ResourceUsage {
        ResourceUsage::for_process(std::process::id()).unwrap_or_default()
    }

    /// Resets [`ResourceUsage::peak_bytes`] of this process to its current memory. The peak is unchanged if the system denies
    /// it.
    pub fn reset_own_peak() {
        let _ = fs::write("/proc/self/clear_refs", "5");
    }
}

/// Returns the processes that this one has forked with its first thread and not yet waited for. Empty if the system
/// does not provide the list.
pub fn children(process: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    let children = children.unwrap_or_default();
    children.split_whitespace().flat_map(str::parse).collect()
}

/// Checks whether a signal has stopped a process. A process stopped by a debugger does not count.
pub fn is_stopped(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| state(&stat) == Some("T"))
}

/// Checks whether all threads of a process sleep, so that none waits for a processor. True if the system does not tell.
pub fn is_asleep(process: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return true;
    };
    let stats = threads
        .flatten()
        .map(|thread| fs::read_to_string(thread.path().join("stat")));
    // A thread that has ended meanwhile has no state.
    let mut states = stats.flatten();
    states.all(|stat| state(&stat) == Some("S"))
}

/// Returns the time that the threads of a process have waited for a processor while they could run: that of the thread
/// which waited longest. 0 if the system does not tell (`/proc/PID/task/TID/schedstat`).
pub fn processor_wait(process: u32) -> Duration {
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let stats = threads.map(|thread| fs::read_to_string(thread.path().join("schedstat")));
    let waits = stats.flatten().filter_map(|stat| run_delay(&stat));
    waits.max().unwrap_or_default()
}

/// The kernel's sched-stats.rst: time on a processor, time on a run queue, in nanoseconds, and the number of slices.
fn run_delay(schedstat: &str) -> Option<Duration> {
    let delay = schedstat.split_whitespace().nth(1)?;
    delay.parse().ok().map(Duration::from_nanos)
}

/// Checks whether a process has ended: it is a zombie or does not exist.
pub fn has_ended(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"));
    stat.map_or(true, |stat| matches!(state(&stat), Some("Z" | "X") | None))
}

fn state(stat: &str) -> Option<&str> {
    let (_, behind_the_name) = stat.rsplit_once(')')?;
    behind_the_name.split_whitespace().next()
}

/// proc(5): `utime` and `stime` are fields 14 and 15. The name before them, in parentheses, may contain any character.
fn processor(stat: &str) -> Option<Duration> {
    let (_, behind_the_name) = stat.rsplit_once(')')?;
    let mut numbers = behind_the_name.split_whitespace().skip(11);
    let mut ticks = || numbers.next()?.parse::<u32>().ok();
    Some(TICK * ticks()?.checked_add(ticks()?)?)
}

fn peak_bytes(status: &str) -> Option<u64> {
    let (_, rest) = status.split_once("VmHWM:")?;
    let kib: u64 = rest.split_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn times_and_the_peak_are_read_behind_any_name() {
        let stat = "7 (a) R (b) S 1 7 7 0 -1 4194560 900 0 0 0 250 31 0 0 20 0 1 0 5 6 7";
        assert_eq!(processor(stat), Some(Duration::from_millis(2810)));
        assert_eq!(processor("7 (a) S 1 7"), None);
        assert_eq!(state(stat), Some("S"));
        assert_eq!(state("7 (a) T (b) R"), Some("R"));
        let status = "Name:\ta\nVmPeak:\t  900 kB\nVmHWM:\t  12 kB\nVmRSS:\t  8 kB\n";
        assert_eq!(peak_bytes(status), Some(12 << 10));
        assert_eq!(peak_bytes("Name:\ta\n"), None);
        assert_eq!(run_delay("446251 7830317 3\n"), Some(Duration::from_nanos(7_830_317)));
        assert_eq!(run_delay("446251"), None);
    }

    #[test]
    fn memory_that_was_used_counts() {
        const BYTES: usize = 32 << 20;
        ResourceUsage::reset_own_peak();
        let before = ResourceUsage::for_this_process();
        drop(black_box(vec![1_u8; BYTES]));
        let after = ResourceUsage::for_this_process();
        assert!(after.processor >= before.processor);
        assert!(after.peak_bytes >= before.peak_bytes.max(BYTES as u64));
        assert_eq!(ResourceUsage::for_process(u32::MAX), None);
    }
}
