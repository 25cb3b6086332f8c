//! How far a process is in the barrier.
#![forbid(unsafe_code)]

use crate::barrier::line::Circle;
use crate::barrier::values::{Origin, Value};

/// How far this process is, in a register. The dimensions are by number.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(crate) enum BarrierStage {
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
    /// The values of this origin have come: the program has to combine them with this process's own.
    Combining(Origin),
    /// Has still to tell the second one of its pairs in so many of the first dimensions that all have arrived.
    Releasing(u8),
    /// Everybody has arrived.
    Done,
}

/// Packets of a barrier that have come from one origin.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct Heard {
    /// All of them.
    pub(super) packets: u16,
    /// Those with a value.
    pub(super) values: u16,
    /// What they say, together: see [`super::DIFFER`].
    pub(super) marks: u16,
}

/// The place of what comes from an origin: those of pairs by their dimension, those of lines by the parity of the
/// barrier's number, by dimension and circle.
fn number(is_odd: bool, origin: Origin) -> usize {
    match origin {
        Origin::Pair(dimension) => dimension.into(),
        Origin::Line(dimension, circle) => {
            3 + 6 * usize::from(is_odd) + 2 * usize::from(dimension) + circle as usize
        }
    }
}

/// This process's part in the barrier.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Barrier {
    pub(super) stage: BarrierStage,
    /// The number of this barrier, or of the one before, is odd.
    pub(super) is_odd: bool,
    /// Packets that have come, by [`number`]. Another process can be a barrier ahead of this one, not two: it leaves none
    /// that this one has not entered.
    heard: [Heard; 3 + 2 * 3 * 2],
    /// This process's value, with all that have been combined with it; empty where the barrier carries none.
    pub(super) value: Value,
    /// What the packets of this process say.
    pub(super) marks: u16,
    /// What no other process's may say, as [`Heard::marks`] has it.
    pub(super) unwanted: u16,
}

impl Barrier {
    /// In no barrier, and nothing has come.
    pub(crate) const NONE: Barrier = Barrier {
        stage: BarrierStage::Outside,
        is_odd: false,
        heard: [Heard {
            packets: 0,
            values: 0,
            marks: 0,
        }; 3 + 2 * 3 * 2],
        value: Value::EMPTY,
        marks: 0,
        unwanted: 0,
    };

    /// Packets of this origin that have come, in the barrier of this parity.
    pub(super) fn heard(&self, is_odd: bool, origin: Origin) -> Heard {
        self.heard[number(is_odd, origin)]
    }

    /// As [`Barrier::heard`], to be changed.
    pub(super) fn heard_mut(&mut self, is_odd: bool, origin: Origin) -> &mut Heard {
        &mut self.heard[number(is_odd, origin)]
    }

    /// There may be something to send for it, or to count.
    #[inline]
    pub(crate) fn has_steps(&self) -> bool {
        !matches!(
            self.stage,
            BarrierStage::Outside
                | BarrierStage::Waiting
                | BarrierStage::Combining(_)
                | BarrierStage::Done
        )
    }
}
