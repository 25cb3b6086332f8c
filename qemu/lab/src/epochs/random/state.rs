//! State of the windows of larger jobs.

use std::ops::Range;

use crate::epochs::memory::LARGE_RESULTS;

/// By process: start of the unused memory for results of large operations.
pub(super) struct LargeState(pub(super) Vec<usize>);

impl LargeState {
    pub(super) fn new(size: u32) -> LargeState {
        LargeState(vec![LARGE_RESULTS.start; size as usize])
    }
}

/// A process's state of the dynamic window.
#[derive(Clone, Default)]
pub(super) struct DynamicState {
    pub(super) pieces: Vec<Range<usize>>,
    /// It has issued an operation beyond a target's attached memory, and has not checked for the error yet.
    pub(super) is_faulty: bool,
}

impl DynamicState {
    /// Returns the first of these bytes that is not attached.
    pub(super) fn gap(&self, mut bytes: Range<usize>) -> Option<usize> {
        bytes.find(|at| !self.pieces.iter().any(|piece| piece.contains(at)))
    }
}
