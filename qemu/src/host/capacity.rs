//! How many nodes the machine can hold.

use crate::host::size;
use crate::host::stop::Stop;
pub use midplane_setup::DEFAULT_NODE_MEMORY;
pub use midplane_setup::machine::memory_available;
use midplane_setup::machine::{DESCRIPTORS_PER_NODE, Machine as Offer, QEMU_BYTES};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What the machine has to offer.
#[derive(Clone, Copy, Debug)]
pub struct Machine(Offer);

impl Machine {
    /// Looks at the machine. Raises this process's limit on descriptors as far as it may.
    pub fn look() -> Self {
        let maximum = getrlimit(Resource::Nofile).maximum;
        // A process may always raise its limit up to this one.
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: maximum,
                maximum,
            },
        );
        Self(Offer::look())
    }

    /// Refuses more nodes than fit, each in a QEMU process of its own or all in so many `instances`.
    pub fn check(&self, nodes: u64, node_memory: u64, instances: Option<u64>) -> Result<(), Stop> {
        let capacity = match instances {
            None => self.0.capacity(node_memory),
            Some(instances) => self.0.capacity_shared(node_memory, instances),
        };
        if nodes <= capacity {
            return Ok(());
        }
        if let Some(instances) = instances {
            return Err(Stop::usage(format!(
                "{nodes} nodes of --node-memory {} in {instances} instances are more than this machine can hold now: \
                 it can hold {capacity} ({} of memory are available, {} open files are allowed)",
                size::exact(node_memory),
                size::about(self.0.memory),
                self.0.descriptors,
            )));
        }
        Err(Stop::usage(format!(
            "{nodes} nodes of --node-memory {} are more than this machine can hold now: it can hold \
             {capacity} ({} of memory are available, a node takes about {}; {} open files are allowed, \
             a node takes {DESCRIPTORS_PER_NODE})",
            size::exact(node_memory),
            size::about(self.0.memory),
            size::about(node_memory.saturating_add(QEMU_BYTES)),
            self.0.descriptors,
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_nodes_than_fit_are_refused() {
        let machine = Machine(Offer {
            memory: 240 << 20,
            descriptors: 1 << 20,
        });
        assert!(machine.check(10, 8 << 20, None).is_ok());
        assert!(machine.check(11, 8 << 20, Some(1)).is_ok());
        let error = machine.check(25, 8 << 20, Some(1)).unwrap_err();
        assert!(error.message.contains("it can hold 24 "), "{error}");
        let error = machine.check(11, 8 << 20, None).unwrap_err();
        assert_eq!(error.status, crate::host::stop::USAGE);
        assert!(error.message.contains("it can hold 10 "), "{error}");
    }
}
