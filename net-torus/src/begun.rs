//! Frames that are not sent yet, although packets stand in them.

use core::marker::PhantomData;

use crate::coord::Direction;
use crate::link::Link;
use crate::wire::Directions;

/// Chunks of packets that are worth a frame of their own, although the neighbour has yet to take earlier ones.
pub(crate) const WORTH_A_FRAME: usize = 32;

/// The frames that have been begun on links `L`: none, where those have no [`Link::unsent`].
pub(crate) struct Begun<L> {
    /// By direction: the bytes of packets in it.
    bytes: [u16; 6],
    /// The directions in which there is one.
    directions: Directions,
    links: PhantomData<fn() -> L>,
}

impl<L: Link> Begun<L> {
    pub const NONE: Self = Self {
        bytes: [0; 6],
        directions: Directions::NONE,
        links: PhantomData,
    };

    #[inline]
    pub fn bytes(&self, d: Direction) -> usize {
        match L::MAY_KEEP_UNSENT {
            true => self.bytes[d as usize].into(),
            false => 0,
        }
    }

    #[inline]
    pub fn directions(&self) -> Directions {
        match L::MAY_KEEP_UNSENT {
            true => self.directions,
            false => Directions::NONE,
        }
    }

    #[inline]
    pub fn set(&mut self, d: Direction, bytes: usize) {
        self.bytes[d as usize] = bytes as u16;
        self.directions = self.directions.with(d);
    }

    /// The frame in this direction is sent: its bytes.
    #[inline]
    pub fn take(&mut self, d: Direction) -> usize {
        if !L::MAY_KEEP_UNSENT {
            return 0;
        }
        let bytes = self.bytes(d);
        self.directions = self.directions.without(d);
        self.bytes[d as usize] = 0;
        bytes
    }
}
