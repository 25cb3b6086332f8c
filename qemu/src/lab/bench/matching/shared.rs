//! State that the parts of the comparison share.

use crate::host::error::CliError;
use crate::host::signals::Signals;
use midplane_lab::matching::NamedEngine;

/// State that the parts share.
pub(super) struct MatchingBench {
    /// Engines; the first one is the reference.
    pub(super) engines: Vec<NamedEngine>,
    pub(super) runs: u32,
    pub(super) all: bool,
    pub(super) signals: Signals,
}

impl MatchingBench {
    /// Returns an error after a signal.
    pub(super) fn check_signals(&self) -> Result<(), CliError> {
        self.signals.pending().map_or(Ok(()), Err)
    }
}
