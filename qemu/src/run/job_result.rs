//! Result of a job.

use crate::host::resource_usage::ResourceUsage;
use crate::run::outcome::{JobOutcome, ObservedNode};
use midplane_trace::job::JobTrace;
use std::time::Duration;

/// Result of a job.
pub struct JobResult {
    /// Exit status of the command.
    pub status: u8,
    /// Outcome, for the report.
    pub outcome: JobOutcome,
    /// Message for the user about a failure.
    pub message: Option<String>,
    /// Last observed state of the nodes.
    pub nodes: Vec<ObservedNode>,
    /// Time from the start of the first node to the end.
    pub elapsed: Duration,
    /// Duration in virtual time, if the nodes use it.
    pub virtual_time: Option<Duration>,
    /// Resources used by the process that contains all nodes, if there is one.
    pub used: Option<ResourceUsage>,
    /// Calls of the ranks, if they were recorded.
    pub calls: Option<JobTrace>,
}
