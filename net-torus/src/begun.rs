//! Frames that are not sent yet, although packets stand in them.

use crate::coord::Direction;
use crate::wire::Directions;

/// Chunks of packets that are worth a frame of their own, although the neighbour has yet to take earlier ones.
pub(crate) const WORTH_A_FRAME: usize = 32;

/// The frames that have been begun.
#[derive(Default)]
pub(crate) struct Begun {
    /// By direction: the bytes of packets in it.
    bytes: [u16; 6],
    /// The directions in which there is one.
    directions: Directions,
}

impl Begun {
    #[inline]
    pub fn bytes(&self, d: Direction) -> usize {
        self.bytes[d as usize].into()
    }

    #[inline]
    pub fn directions(&self) -> Directions {
        self.directions
    }

    #[inline]
    pub fn set(&mut self, d: Direction, bytes: usize) {
        self.bytes[d as usize] = bytes as u16;
        self.directions = self.directions.with(d);
    }

    /// The frame in this direction is sent: its bytes.
    #[inline]
    pub fn take(&mut self, d: Direction) -> usize {
        self.directions = self.directions.without(d);
        core::mem::take(&mut self.bytes[d as usize]).into()
    }
}
