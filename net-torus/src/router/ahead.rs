//! What a simulator reads of a router before it works on it, for many routers at a time: the host then waits for its
//! memory once for all of them. What these functions return means nothing.

use super::{Router, ones};
use crate::coord::Direction;
use crate::vc::Vc;

impl Router<'_> {
    /// What is read at each look.
    pub(crate) fn ahead_of_look(&self) -> u64 {
        let tokens = self.tokens.iter().map(|[tokens, ..]| tokens.available());
        u64::from(self.want[0] ^ u32::from(self.turn ^ self.held[5][1]))
            + tokens.map(u64::from).sum::<u64>()
    }

    /// What grants of the neighbour in direction `side` change.
    pub(crate) fn ahead_of_grant(&self, side: Direction) -> u64 {
        u64::from(self.tokens[side as usize][0].available() ^ u16::from(self.turn))
    }

    /// What a packet on channel `vc` from direction `side` changes.
    pub(crate) fn ahead_of_packet(&self, side: Direction, vc: usize) -> u64 {
        let source = side as usize * Vc::COUNT + vc;
        let read = self.queues[source].used() ^ self.grants[side as usize].untold(vc);
        u64::from(read) + u64::from(self.heads[source].is_some()) + u64::from(self.here.x)
    }

    /// Where that packet goes: after [`Router::ahead_of_packet`].
    pub(crate) fn ahead_of_place(&self, side: Direction, vc: usize) -> u64 {
        let place = self.queues[side as usize * Vc::COUNT + vc].back();
        self.memory.get(place).map_or(0, |chunk| chunk[0].into())
    }

    /// What may leave by links with these bits: after [`Router::ahead_of_look`].
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
