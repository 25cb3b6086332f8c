//! Capacity of the machine in nodes.

use std::fs;
use std::path::Path;

/// Memory of a QEMU process in addition to the node's RAM, in bytes: measured, idle, with six links.
pub const QEMU_BYTES: u64 = 16 << 20;
/// Memory of a node in a shared QEMU process in addition to its RAM, in bytes: the share of one processor.
pub const SHARED_QEMU_BYTES: u64 = 1 << 20;
/// RAM that a node touches before its program starts, in bytes, without the MPI memory: stack, page tables, kernel
/// data, router, link frames. Measured, plus a margin.
pub const TOUCHED_BYTES: u64 = 1 << 20;
/// File descriptors per QEMU process: its memory, process, doorbell and stderr. During its start, also their other ends
/// and those of the node's six links.
pub const DESCRIPTORS_PER_NODE: u64 = 16;
/// File descriptors for all other purposes.
const DESCRIPTORS_BESIDE: u64 = 64;

/// Free resources of the machine.
#[derive(Clone, Copy, Debug)]
pub struct MachineResources {
    /// Memory in bytes that is available without swapping.
    pub memory: u64,
    /// Maximum number of open file descriptors per process.
    pub descriptors: u64,
}

impl MachineResources {
    /// Reads the free resources. Uses the hard limit of descriptors, since a process may raise its own limit up to it.
    pub fn read() -> Self {
        Self {
            memory: memory_available(),
            descriptors: fs::read_to_string("/proc/self/limits")
                .ok()
                .and_then(|text| parse_descriptors(&text))
                .unwrap_or(u64::MAX),
        }
    }

    /// Returns the capacity in nodes that touch `touched_bytes` bytes of RAM and use one QEMU process each.
    pub fn capacity(&self, touched: u64) -> u64 {
        let by_memory = self.memory / touched.saturating_add(QEMU_BYTES);
        let by_descriptors = self.descriptors.saturating_sub(DESCRIPTORS_BESIDE) / DESCRIPTORS_PER_NODE;
        by_memory.min(by_descriptors)
    }

    /// Returns the capacity in nodes that touch `touched_bytes` bytes of RAM and share `instances` QEMU processes.
    pub fn capacity_shared(&self, touched: u64, instances: u64) -> u64 {
        let beside = instances.saturating_mul(QEMU_BYTES);
        let per_node = touched.saturating_add(SHARED_QEMU_BYTES);
        let by_memory = self.memory.saturating_sub(beside) / per_node;
        let beside = instances.saturating_mul(DESCRIPTORS_PER_NODE);
        // One per instance: its doorbell to other instances.
        let by_descriptors = self
            .descriptors
            .saturating_sub(DESCRIPTORS_BESIDE.saturating_add(beside));
        by_memory.min(by_descriptors)
    }
}

/// Returns the bytes that a node with `node_memory` bytes of RAM certainly touches, including `mpi_memory` bytes of MPI
/// memory. Its program's allocations are extra, up to its RAM.
pub fn touched_bytes(node_memory: u64, mpi_memory: u64) -> u64 {
    node_memory.min(mpi_memory.saturating_add(TOUCHED_BYTES))
}

/// Returns the hard limit of open files in /proc/self/limits; `None` for "unlimited".
fn parse_descriptors(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Returns the memory available to new processes: the machine's, or that of the control group if it is less.
pub fn memory_available() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| parse_available(&text))
        .unwrap_or(u64::MAX);
    let group = fs::read_to_string("/proc/self/cgroup")
        .ok()
        .and_then(|text| {
            let path = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
            group_available(&Path::new("/sys/fs/cgroup").join(path))
        })
        .unwrap_or(u64::MAX);
    machine.min(group)
}

/// Returns `MemAvailable` of /proc/meminfo in bytes.
fn parse_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Returns the remaining memory of a control group (version 2) in bytes. Pages that can be dropped count as free.
fn group_available(group: &Path) -> Option<u64> {
    let number = |file: &str| -> Option<u64> {
        let text = fs::read_to_string(group.join(file)).ok()?;
        text.trim().parse().ok()
    };
    let droppable = fs::read_to_string(group.join("memory.stat"))
        .ok()?
        .lines()
        .find_map(|line| line.strip_prefix("inactive_file ")?.parse().ok())
        .unwrap_or(0);
    let used = number("memory.current")?.saturating_sub(droppable);
    // "max" does not parse as an integer: no limit.
    Some(number("memory.max")?.saturating_sub(used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacity_is_the_scarcer_of_memory_and_descriptors() {
        let machine = MachineResources {
            memory: 240 << 20,
            descriptors: 1 << 20,
        };
        assert_eq!(machine.capacity(8 << 20), 10);
        let machine = MachineResources {
            memory: u64::MAX,
            descriptors: 1024,
        };
        assert_eq!(machine.capacity(8 << 20), 60);
        assert_eq!(machine.capacity(u64::MAX), 1);
    }

    #[test]
    fn nodes_that_share_processes_need_less_of_both() {
        let machine = MachineResources {
            memory: 240 << 20,
            descriptors: 1 << 20,
        };
        assert_eq!(machine.capacity_shared(7 << 20, 1), 28);
        assert_eq!(machine.capacity_shared(7 << 20, 2), 26);
        assert_eq!(machine.capacity_shared(7 << 20, 100), 0);
        let machine = MachineResources {
            memory: u64::MAX,
            descriptors: 1024,
        };
        assert_eq!(machine.capacity_shared(8 << 20, 2), 928);
    }

    #[test]
    fn limits_and_available_memory_are_read() {
        let text = "MemTotal:  100 kB\nMemAvailable:    42 kB\n";
        assert_eq!(parse_available(text), Some(42 * 1024));
        assert_eq!(parse_available("MemTotal: 1 kB"), None);
        let limits = |hard| format!("Max processes  1  2  processes\nMax open files  1024  {hard}  files\n");
        assert_eq!(parse_descriptors(&limits("1048576")), Some(1_048_576));
        assert_eq!(parse_descriptors(&limits("unlimited")), None);
    }
}
