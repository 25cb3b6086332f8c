//! What a process knows of the barrier.
#![forbid(unsafe_code)]

use net_torus::{Coord, Shape};

use crate::barrier::state::Barrier;
use crate::barrier::values::Values;

/// What this process knows of the barrier.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub pairs: Pairs,
    pub state: Barrier,
    /// What the barrier carries.
    pub values: Values,
    /// The network can send along lines.
    pub has_lines: bool,
}

impl Part {
    /// That of a process that is in none yet, in this machine.
    #[inline]
    pub fn new(shape: &Shape, here: Coord, values: Values) -> Part {
        Part {
            pairs: Pairs::new(shape, here),
            state: Barrier::NONE,
            values,
            has_lines: false,
        }
    }
}

/// The dimensions of two nodes, a bit each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pairs {
    all: u8,
    /// Those in which this node is the second one.
    second: u8,
}

impl Pairs {
    pub fn new(shape: &Shape, here: Coord) -> Pairs {
        let (mut all, mut second) = (0, 0);
        for (dimension, extent) in shape.extents().into_iter().enumerate() {
            if extent == 2 {
                all |= 1 << dimension;
                second |= (here.axes()[dimension] & 1) << dimension;
            }
        }
        Pairs { all, second }
    }

    pub fn are_in(self, dimension: u8) -> bool {
        self.all >> dimension & 1 != 0
    }

    pub fn is_second(self, dimension: u8) -> bool {
        self.second >> dimension & 1 != 0
    }

    /// The first of these dimensions from this one on.
    pub fn next(self, from: u8) -> Option<u8> {
        match self.all >> from {
            0 => None,
            later => Some(from + later.trailing_zeros() as u8),
        }
    }

    /// The node is the first of its pairs in so many of the first dimensions, and the first of them in no more.
    pub fn firsts(self) -> u8 {
        (self.second | 1 << 3).trailing_zeros() as u8
    }
}
