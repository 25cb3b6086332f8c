//! Cache prefetch for a simulator of many routers: it reads the memory that a router will use, for many routers in a
//! batch, so that the cache misses overlap. The returned values are meaningless; they only force the reads.

use super::{Router, ones};
use crate::coord::Direction;
use crate::vc::Vc;

impl Router<'_> {
    /// Reads the fields that each arbitration uses.
    pub(crate) fn ahead_of_look(&self) -> u64 {
        let tokens = self.tokens.iter().map(|[tokens, ..]| tokens.available());
        u64::from(self.want[0] ^ u32::from(self.turn ^ self.held[5][1])) + tokens.map(u64::from).sum::<u64>()
    }

    /// Reads the fields that a grant from the neighbour in direction `side` updates.
    pub(crate) fn ahead_of_grant(&self, side: Direction) -> u64 {
        u64::from(self.tokens[side as usize][0].available() ^ u16::from(self.turn))
    }

    /// Reads the fields that a packet on channel `vc` from direction `side` updates.
    pub(crate) fn ahead_of_packet(&self, side: Direction, vc: usize) -> u64 {
        let source = side as usize * Vc::COUNT + vc;
        let read = self.queues[source].used() ^ self.grants[side as usize].untold(vc);
        u64::from(read) + u64::from(self.heads[source].is_some()) + u64::from(self.here.x)
    }

    /// Reads the buffer of that packet, after [`Router::ahead_of_packet`].
    pub(crate) fn ahead_of_place(&self, side: Direction, vc: usize) -> u64 {
        let place = self.queues[side as usize * Vc::COUNT + vc].back();
        self.memory.get(place).map_or(0, |chunk| chunk[0].into())
    }

    /// Reads the packets that links with these bits may transmit, after [`Router::ahead_of_look`].
    pub(crate) fn ahead_of_links(&self, links: u8) -> u64 {
        let mut sum = 0;
        for d in ones(links & self.wanted) {
            let source = self.want[d].trailing_zeros() as usize;
            sum += u64::from(self.heads[source].is_some());
            let front = self.queues[source].front().unwrap_or_default();
            sum += u64::from(self.memory[front][0]);
        }
        sum
    }
}
