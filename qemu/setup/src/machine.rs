//! How many nodes the machine can hold.

use std::fs;
use std::path::Path;

/// Memory of a QEMU process beside the node's RAM, in bytes: measured, idle, with six links.
pub const QEMU_BYTES: u64 = 16 << 20;
/// Memory of a node in the QEMU process that it shares with others, beside its RAM, in bytes: a processor's share.
pub const SHARED_QEMU_BYTES: u64 = 1 << 20;
/// What a node touches of its RAM before its program does anything, in bytes, beside the MPI memory: stack, page tables,
/// the kernel's data, router, links' frames. Measured, and more.
pub const TOUCHED_BYTES: u64 = 1 << 20;
/// File descriptors per QEMU process: its memory, its process, its bell, its complaints and, while it is started, the
/// other ends of those and of a node's six links.
pub const DESCRIPTORS_PER_NODE: u64 = 16;
/// File descriptors for everything else.
const DESCRIPTORS_BESIDE: u64 = 64;

/// What the machine has to offer.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Memory in bytes that can be used without swapping.
    pub memory: u64,
    /// File descriptors that a process may open.
    pub descriptors: u64,
}

impl Machine {
    /// Looks at the machine. The limit on descriptors is the one up to which a process may raise its own.
    pub fn look() -> Self {
        Self {
            memory: memory_available(),
            descriptors: fs::read_to_string("/proc/self/limits")
                .ok()
                .and_then(|text| descriptors_in(&text))
                .unwrap_or(u64::MAX),
        }
    }

    /// How many nodes that touch so many bytes of RAM and have a QEMU process each it can hold.
    pub fn capacity(&self, touched: u64) -> u64 {
        let by_memory = self.memory / touched.saturating_add(QEMU_BYTES);
        let by_descriptors =
            self.descriptors.saturating_sub(DESCRIPTORS_BESIDE) / DESCRIPTORS_PER_NODE;
        by_memory.min(by_descriptors)
    }

    /// How many nodes that touch so many bytes of RAM each it can hold in `instances` QEMU processes.
    pub fn capacity_shared(&self, touched: u64, instances: u64) -> u64 {
        let beside = instances.saturating_mul(QEMU_BYTES);
        let per_node = touched.saturating_add(SHARED_QEMU_BYTES);
        let by_memory = self.memory.saturating_sub(beside) / per_node;
        let beside = instances.saturating_mul(DESCRIPTORS_PER_NODE);
        // One each: its bell to other instances.
        let by_descriptors = self
            .descriptors
            .saturating_sub(DESCRIPTORS_BESIDE.saturating_add(beside));
        by_memory.min(by_descriptors)
    }
}

/// What a node of `node_memory` bytes of RAM, of which `mpi_memory` are MPI memory, is counted with, in bytes: what is
/// surely touched. What its program allocates and touches comes on top, up to its RAM.
pub fn touched(node_memory: u64, mpi_memory: u64) -> u64 {
    node_memory.min(mpi_memory.saturating_add(TOUCHED_BYTES))
}

/// The hard limit of open files in /proc/self/limits; `None` for "unlimited".
fn descriptors_in(limits: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Memory that new processes may take: the machine's, or that of our control group if it is less.
pub fn memory_available() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| available_in(&text))
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

/// `MemAvailable` of /proc/meminfo in bytes.
fn available_in(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// What a control group (version 2) still allows in bytes, not counting what can be dropped at once.
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
    // "max", which is no number, means no limit of its own.
    Some(number("memory.max")?.saturating_sub(used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacity_is_the_scarcer_of_memory_and_descriptors() {
        let machine = Machine {
            memory: 240 << 20,
            descriptors: 1 << 20,
        };
        assert_eq!(machine.capacity(8 << 20), 10);
        let machine = Machine {
            memory: u64::MAX,
            descriptors: 1024,
        };
        assert_eq!(machine.capacity(8 << 20), 60);
        assert_eq!(machine.capacity(u64::MAX), 1);
    }

    #[test]
    fn nodes_that_share_processes_need_less_of_both() {
        let machine = Machine {
            memory: 240 << 20,
            descriptors: 1 << 20,
        };
        assert_eq!(machine.capacity_shared(7 << 20, 1), 28);
        assert_eq!(machine.capacity_shared(7 << 20, 2), 26);
        assert_eq!(machine.capacity_shared(7 << 20, 100), 0);
        let machine = Machine {
            memory: u64::MAX,
            descriptors: 1024,
        };
        assert_eq!(machine.capacity_shared(8 << 20, 2), 928);
    }

    #[test]
    fn limits_and_available_memory_are_read() {
        let text = "MemTotal:  100 kB\nMemAvailable:    42 kB\n";
        assert_eq!(available_in(text), Some(42 * 1024));
        assert_eq!(available_in("MemTotal: 1 kB"), None);
        let limits =
            |hard| format!("Max processes  1  2  processes\nMax open files  1024  {hard}  files\n");
        assert_eq!(descriptors_in(&limits("1048576")), Some(1_048_576));
        assert_eq!(descriptors_in(&limits("unlimited")), None);
    }
}
