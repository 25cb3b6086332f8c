//! How far a process is in the barrier.
#![forbid(unsafe_code)]

use crate::device::barrier::line::Circle;

/// How far this process is, in a register. The dimensions are by number.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(in crate::device) enum BarrierStage {
    /// In no barrier.
    #[default]
    Outside,
    /// The second of a pair in this dimension: has to tell the first one.
    Arriving(u8),
    /// The first of a pair in this dimension: waits for the second.
    Gathering(u8),
    /// Has told the first one of its pair.
    Waiting,
    /// Tells the others of its line in this dimension; by this packet, up or down.
    Telling(u8, Circle, u8),
    /// Has told them, and waits for the same from them.
    Hearing(u8, Circle),
    /// Has still to tell the second one of its pairs in so many of the first dimensions that all have arrived.
    Releasing(u8),
    /// Everybody has arrived.
    Done,
}

/// Packets of a barrier that have come, of one dimension.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
struct Heard {
    group: u16,
    line: u16,
}

/// This process's part in the barrier.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(in crate::device) struct Barrier {
    pub(super) stage: BarrierStage,
    /// The number of this barrier, or of the one before, is odd.
    pub(super) is_odd: bool,
    /// By dimension: the second one of the pair has arrived.
    pub(super) arrived: [bool; 3],
    /// By the parity of the barrier's number, and by dimension. Another process can be a barrier ahead of this one, not two:
    /// it leaves none that this one has not entered.
    heard: [[Heard; 3]; 2],
}

impl Barrier {
    /// Packets of this circle that have come, in this dimension and in the barrier of this parity.
    pub(super) fn heard(&mut self, is_odd: bool, dimension: u8, circle: Circle) -> &mut u16 {
        let heard = &mut self.heard[usize::from(is_odd)][usize::from(dimension)];
        match circle {
            Circle::Group => &mut heard.group,
            Circle::Line => &mut heard.line,
        }
    }

    /// There may be something to send for it, or to count.
    #[inline]
    pub(in crate::device) fn has_steps(&self) -> bool {
        !matches!(
            self.stage,
            BarrierStage::Outside | BarrierStage::Waiting | BarrierStage::Done
        )
    }
}
