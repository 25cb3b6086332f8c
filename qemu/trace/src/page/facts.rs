//! Facts of a job that its trace does not contain.

use midplane_abi::counters::Counter;
use std::time::Duration;

/// Facts of a job.
#[derive(Clone, Debug, Default)]
pub struct JobFacts {
    /// File of the program.
    pub program: String,
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// Platform of the nodes.
    pub platform: &'static str,
    /// Extents of the torus along X, Y and Z.
    pub extents: [u16; 3],
    /// Dimensions with wrap-around links.
    pub wraps: [bool; 3],
    /// Outcome of the job.
    pub outcome: String,
    /// Exit status of the command.
    pub status: u8,
    /// Message about a failure.
    pub message: Option<String>,
    /// Time from the start of the first node to the end.
    pub elapsed: Duration,
    /// Duration in virtual time, if the nodes use it.
    pub virtual_time: Option<Duration>,
    /// Memory for incoming MPI traffic of a node in bytes.
    pub mpi_memory: u64,
    /// Matching engine.
    pub matching: Option<String>,
    /// Nodes by rank.
    pub nodes: Vec<NodeFacts>,
}

/// Facts of a node.
#[derive(Clone, Debug, Default)]
pub struct NodeFacts {
    /// Coordinates in the torus.
    pub coordinates: [u8; 3],
    /// Counters of the report, by [`Counter`]; a missing one is 0.
    pub counters: Vec<u64>,
    /// Share of its time in which the node slept, 0 to 1.
    pub idle_share: f64,
    /// Packets sent on the links X+, X-, Y+, Y-, Z+, Z-; `None` where the node has no link.
    pub links: [Option<u64>; 6],
}

impl NodeFacts {
    /// Returns a counter.
    #[must_use]
    pub fn get(&self, counter: Counter) -> u64 {
        self.counters.get(counter as usize).copied().unwrap_or(0)
    }
}

impl JobFacts {
    /// Returns the number of nodes of the torus.
    #[must_use]
    pub fn size(&self) -> usize {
        self.extents.iter().map(|extent| usize::from(*extent)).product()
    }
}
