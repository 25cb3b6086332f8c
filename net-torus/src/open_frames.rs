//! Open frames: frames that contain packets but are not sent yet.

use core::marker::PhantomData;

use crate::coord::Direction;
use crate::link::Link;
use crate::wire::DirectionSet;

/// Chunks of packets that justify a frame although the neighbour has not received earlier ones yet.
pub(crate) const WORTH_A_FRAME: usize = 32;

/// Open frames on links `L`. Always empty if those do not support [`Link::unsent`].
pub(crate) struct OpenFrames<L> {
    /// Bytes of packets in the open frame, per direction.
    bytes: [u16; 6],
    /// Directions that have an open frame.
    directions: DirectionSet,
    links: PhantomData<fn() -> L>,
}

impl<L: Link> OpenFrames<L> {
    pub const NONE: Self = Self {
        bytes: [0; 6],
        directions: DirectionSet::NONE,
        links: PhantomData,
    };

    #[inline]
    pub fn bytes(&self, d: Direction) -> usize {
        if L::MAY_BUFFER_UNSENT {
            self.bytes[d as usize].into()
        } else {
            0
        }
    }

    #[inline]
    pub fn directions(&self) -> DirectionSet {
        if L::MAY_BUFFER_UNSENT {
            self.directions
        } else {
            DirectionSet::NONE
        }
    }

    #[inline]
    pub fn set(&mut self, d: Direction, bytes: usize) {
        self.bytes[d as usize] = bytes as u16;
        self.directions = self.directions.with(d);
    }

    /// Closes the frame in direction `d` and returns its bytes of packets.
    #[inline]
    pub fn close(&mut self, d: Direction) -> usize {
        if !L::MAY_BUFFER_UNSENT {
            return 0;
        }
        let bytes = self.bytes(d);
        self.directions = self.directions.without(d);
        self.bytes[d as usize] = 0;
        bytes
    }
}
