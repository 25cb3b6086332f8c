//! Barrier component of the device.
#![forbid(unsafe_code)]

use net_torus::{Coord, Shape};

use crate::barrier::state::BarrierState;
use crate::barrier::values::ValueStore;

/// State of the barrier, and its fixed parameters.
#[derive(Clone, Debug)]
pub(crate) struct BarrierEngine {
    pub pairs: PairDimensions,
    pub state: BarrierState,
    /// Values in the barrier's packets.
    pub values: ValueStore,
    /// The network supports packets along lines.
    pub has_lines: bool,
}

impl BarrierEngine {
    /// Creates the initial state of a process in this machine.
    #[inline]
    pub fn new(shape: &Shape, here: Coord, values: ValueStore) -> BarrierEngine {
        BarrierEngine {
            pairs: PairDimensions::new(shape, here),
            state: BarrierState::NONE,
            values,
            has_lines: false,
        }
    }
}

/// Dimensions of two nodes, as a bit set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PairDimensions {
    all: u8,
    /// Dimensions in which this node is the second one.
    second: u8,
}

impl PairDimensions {
    pub fn new(shape: &Shape, here: Coord) -> PairDimensions {
        let (mut all, mut second) = (0, 0);
        for (dimension, extent) in shape.extents().into_iter().enumerate() {
            if extent == 2 {
                all |= 1 << dimension;
                second |= (here.axes()[dimension] & 1) << dimension;
            }
        }
        PairDimensions { all, second }
    }

    pub fn contains(self, dimension: u8) -> bool {
        self.all >> dimension & 1 != 0
    }

    pub fn is_second(self, dimension: u8) -> bool {
        self.second >> dimension & 1 != 0
    }

    /// Returns the first of these dimensions from `from` on.
    pub fn next(self, from: u8) -> Option<u8> {
        match self.all >> from {
            0 => None,
            later => Some(from + later.trailing_zeros() as u8),
        }
    }

    /// Returns the number of leading dimensions in which the node is not the second of a pair; at most 3.
    pub fn leading_firsts(self) -> u8 {
        (self.second | 1 << 3).trailing_zeros() as u8
    }
}
