//! Check that the machine can hold the requested nodes.

use crate::host::error::CliError;
use crate::host::size;
pub use midplane_setup::machine::memory_available;
use midplane_setup::machine::{DESCRIPTORS_PER_NODE, MachineResources as Offer, QEMU_BYTES, touched_bytes};
pub use midplane_setup::{DEFAULT_MPI_MEMORY, DEFAULT_NODE_MEMORY};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Free resources of the machine.
#[derive(Clone, Copy, Debug)]
pub struct HostMachine(Offer);

impl HostMachine {
    /// Reads the free resources. Raises this process's descriptor limit to the hard limit.
    pub fn detect() -> Self {
        let maximum = getrlimit(Resource::Nofile).maximum;
        // A process may always raise its limit up to the hard limit.
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: maximum,
                maximum,
            },
        );
        Self(Offer::read())
    }

    /// Returns an error if `nodes` exceeds the capacity, with one QEMU process per node or `instances` in total. Counts
    /// only the memory that nodes certainly touch, not the allocations of their programs.
    pub fn check(&self, nodes: u64, memory: NodeMemory, instances: Option<u64>) -> Result<(), CliError> {
        let NodeMemory { node, mpi } = memory;
        let touched = touched_bytes(node, mpi);
        if node > self.0.memory {
            return Err(CliError::usage(format!(
                "--node-memory {} is more than this machine has: {} are available",
                size::exact(node),
                size::approximate(self.0.memory),
            )));
        }
        let capacity = match instances {
            None => self.0.capacity(touched),
            Some(instances) => self.0.capacity_shared(touched, instances),
        };
        if nodes <= capacity {
            return Ok(());
        }
        let offer = format!(
            "{} of memory are available, a node requires about {} before its program starts; {} open files are allowed",
            size::approximate(self.0.memory),
            size::approximate(touched.saturating_add(if instances.is_some() { 0 } else { QEMU_BYTES })),
            self.0.descriptors,
        );
        Err(CliError::usage(match instances {
            Some(instances) => format!(
                "{nodes} nodes in {instances} instances exceed the current capacity of this machine: it can hold \
                 {capacity} ({offer})"
            ),
            None => format!(
                "{nodes} nodes with one instance each exceed the current capacity of this machine: it can hold \
                 {capacity} ({offer}, a node requires {DESCRIPTORS_PER_NODE})"
            ),
        }))
    }
}

/// File descriptors per native process of a job: both ends of its output, and the process.
const DESCRIPTORS_PER_PROCESS: u64 = 3;
/// File descriptors for all other purposes.
const DESCRIPTORS_BESIDE: u64 = 64;

impl HostMachine {
    /// Returns an error if a job of `ranks` native processes exceeds the limits of a user or of this process.
    pub fn check_processes(&self, ranks: u64) -> Result<(), CliError> {
        let read = |path: &str| std::fs::read_to_string(path).ok()?.trim().parse().ok();
        let limit = [getrlimit(Resource::Nproc).current, read("/proc/sys/kernel/pid_max")];
        self.check_processes_within(ranks, limit.into_iter().flatten().min())
    }

    fn check_processes_within(&self, ranks: u64, processes: Option<u64>) -> Result<(), CliError> {
        let descriptors = self.0.descriptors;
        let by_descriptors = descriptors.saturating_sub(DESCRIPTORS_BESIDE) / DESCRIPTORS_PER_PROCESS;
        let capacity = by_descriptors.min(processes.unwrap_or(u64::MAX));
        if ranks <= capacity {
            return Ok(());
        }
        let processes = processes.map_or(String::new(), |most| format!(", and {most} processes"));
        Err(CliError::usage(format!(
            "{ranks} processes exceed the current capacity of this machine: it can hold {capacity} ({descriptors} \
             open files are allowed, a process requires {DESCRIPTORS_PER_PROCESS}{processes}); --on cluster runs all \
             ranks in one process"
        )))
    }
}

/// Memory of each node, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct NodeMemory {
    pub node: u64,
    /// MPI memory, a part of the RAM.
    pub mpi: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_nodes_than_fit_are_refused() {
        let machine = HostMachine(Offer {
            memory: 240 << 20,
            descriptors: 1 << 20,
        });
        let memory = NodeMemory {
            node: 64 << 20,
            mpi: 7 << 20,
        };
        assert!(machine.check(10, memory, None).is_ok());
        assert!(machine.check(11, memory, Some(1)).is_ok());
        let error = machine.check(25, memory, Some(1)).unwrap_err();
        assert!(error.message.contains("it can hold 24 "), "{error}");
        let error = machine.check(11, memory, None).unwrap_err();
        assert_eq!(error.status, crate::host::error::USAGE);
        assert!(error.message.contains("it can hold 10 "), "{error}");
    }

    #[test]
    fn more_processes_than_the_system_allows_are_refused() {
        let machine = HostMachine(Offer {
            memory: 240 << 20,
            descriptors: 1024,
        });
        assert!(machine.check_processes_within(320, None).is_ok());
        for (ranks, processes, capacity) in [(321, None, 320), (51, Some(50), 50)] {
            let error = machine.check_processes_within(ranks, processes).unwrap_err();
            assert_eq!(error.status, crate::host::error::USAGE);
            let words = format!("it can hold {capacity} ");
            assert!(error.message.contains(&words), "{error}");
        }
    }

    #[test]
    fn a_node_that_is_bigger_than_the_machine_is_refused() {
        let machine = HostMachine(Offer {
            memory: 240 << 20,
            descriptors: 1 << 20,
        });
        let memory = NodeMemory {
            node: 241 << 20,
            mpi: 1 << 20,
        };
        let error = machine.check(1, memory, Some(1)).unwrap_err();
        assert!(error.message.contains("--node-memory 241M"), "{error}");
    }
}
