//! How far a process is in the barrier.
#![forbid(unsafe_code)]

/// How far this process is.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(in crate::device) enum BarrierStage {
    /// In no barrier.
    #[default]
    Outside,
    /// Waits for the rest of its line in this dimension, whose head it is; or, in the first dimension of
    /// which it is not the head, has to tell the head.
    Gathering(usize),
    /// Has told the head of its line.
    Waiting,
    /// Has still to tell so many of its half lines, two a dimension, that all have arrived.
    Releasing(usize),
    /// Everybody has arrived.
    Done,
}

/// This process's part in the barrier.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(in crate::device) struct Barrier {
    pub(super) stage: BarrierStage,
    /// By dimension: nodes of the line from here that have arrived.
    pub(super) arrived: [u16; 3],
}

impl Barrier {
    /// There may be something to send for it.
    #[inline]
    pub(in crate::device) fn has_steps(&self) -> bool {
        matches!(
            self.stage,
            BarrierStage::Gathering(_) | BarrierStage::Releasing(_)
        )
    }
}
