//! State machine of a process in the barrier.
#![forbid(unsafe_code)]

use crate::barrier::line::AnnounceScope;
use crate::barrier::values::{PacketOrigin, ReceivedValue};

/// Stage of this process, in a register. Dimensions are indexes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(crate) enum BarrierStage {
    /// In no barrier.
    #[default]
    Outside,
    /// Second node of a pair in this dimension: ARRIVE is still to be sent.
    Arriving(u8),
    /// First node of a pair in this dimension: waits for the second.
    Gathering(u8),
    /// ARRIVE is sent; waits for RELEASE.
    Waiting,
    /// Announces its arrival to this circle of its line in this dimension. The last field is the next packet: 0 up, 1
    /// down.
    Announcing(u8, AnnounceScope, u8),
    /// Has sent its announcements, and waits for those of the others.
    Collecting(u8, AnnounceScope),
    /// The values of this origin have been received. The program has to combine them with this process's own.
    Combining(PacketOrigin),
    /// RELEASE is still to be sent to the second nodes of its pairs, in the dimensions below this one.
    Releasing(u8),
    /// All processes have arrived.
    Done,
}

/// Packets of a barrier received from one origin.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct OriginPackets {
    /// All packets.
    pub(super) packets: u16,
    /// Packets with a value.
    pub(super) values: u16,
    /// Union of their marks: see [`super::DIFFER`].
    pub(super) marks: u16,
}

/// Returns the index of an origin's packets: for pairs by dimension, for lines by the barrier's parity, dimension and
/// circle.
fn origin_index(is_odd: bool, origin: PacketOrigin) -> usize {
    match origin {
        PacketOrigin::Pair(dimension) => dimension.into(),
        PacketOrigin::Line(dimension, circle) => {
            3 + 6 * usize::from(is_odd) + 2 * usize::from(dimension) + circle as usize
        }
    }
}

/// Barrier state of this process.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(crate) struct BarrierState {
    pub(super) stage: BarrierStage,
    /// Parity of the current barrier, or of the last one.
    pub(super) is_odd: bool,
    /// Packets received, indexed by [`origin_index`]. Another process can be at most one barrier ahead: it cannot complete a
    /// barrier that this process has not entered.
    heard: [OriginPackets; 3 + 2 * 3 * 2],
    /// Combination of this process's value and those received; empty if the barrier carries none.
    pub(super) value: ReceivedValue,
    /// Marks of this process's packets.
    pub(super) marks: u16,
    /// Marks that indicate a mismatch, in the format of [`OriginPackets::marks`].
    pub(super) unwanted: u16,
}

impl BarrierState {
    /// In no barrier, with no packets received.
    pub(crate) const NONE: BarrierState = BarrierState {
        stage: BarrierStage::Outside,
        is_odd: false,
        heard: [OriginPackets {
            packets: 0,
            values: 0,
            marks: 0,
        }; 3 + 2 * 3 * 2],
        value: ReceivedValue::EMPTY,
        marks: 0,
        unwanted: 0,
    };

    /// Returns the packets of this origin received in the barrier of this parity.
    pub(super) fn received(&self, is_odd: bool, origin: PacketOrigin) -> OriginPackets {
        self.heard[origin_index(is_odd, origin)]
    }

    /// Returns the packets of this origin in the barrier of this parity, for writing.
    pub(super) fn received_mut(&mut self, is_odd: bool, origin: PacketOrigin) -> &mut OriginPackets {
        &mut self.heard[origin_index(is_odd, origin)]
    }

    /// Checks whether there may be a packet to send or to count.
    #[inline]
    pub(crate) fn has_steps(&self) -> bool {
        !matches!(
            self.stage,
            BarrierStage::Outside | BarrierStage::Waiting | BarrierStage::Combining(_) | BarrierStage::Done
        )
    }
}
