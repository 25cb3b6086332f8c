//! How a job has ended.

use crate::host::used::Used;
use crate::run::verdict::{Outcome, Seen};
use std::time::Duration;

/// How a job ended.
pub struct JobEnd {
    /// Exit status for the command.
    pub status: u8,
    /// The same in a word, for the report.
    pub outcome: Outcome,
    /// What to tell the user, when it did not end well.
    pub message: Option<String>,
    /// The nodes as they were last seen.
    pub nodes: Vec<Seen>,
    /// From the start of the first node to the end.
    pub elapsed: Duration,
    /// The same in virtual time, where nodes have that.
    pub virtual_time: Option<Duration>,
    /// What the process has used that carries all nodes, where there is one.
    pub used: Option<Used>,
}
