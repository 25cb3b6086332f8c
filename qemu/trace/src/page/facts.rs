//! Facts of a job that its trace does not contain.

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
    /// Packets sent over links, injected or forwarded.
    pub packets_sent: u64,
    /// Packets received over links.
    pub packets_received: u64,
    /// Packets forwarded from link to link.
    pub packets_forwarded: u64,
    /// Rejections sent (NCTS).
    pub rejected: u64,
    /// Restarts sent.
    pub restarts: u64,
    /// Share of its time in which the node slept, 0 to 1.
    pub idle_share: f64,
    /// Maximum of the program's heap in bytes.
    pub heap_peak: u64,
    /// Maximum of the MPI memory in use in bytes.
    pub unexpected_peak: u64,
    /// Packets sent on the links X+, X-, Y+, Y-, Z+, Z-; `None` where the node has no link.
    pub links: [Option<u64>; 6],
}

impl JobFacts {
    /// Returns the number of nodes of the torus.
    #[must_use]
    pub fn size(&self) -> usize {
        self.extents.iter().map(|extent| usize::from(*extent)).product()
    }
}
