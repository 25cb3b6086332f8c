//! Access of a processor to its router during one step.
#![forbid(unsafe_code)]

use msg_layer::{Port, TrafficClass};
use net_torus::{Coord, Direction, Router};

/// A router as its processor uses it during one step, with a limited number of packets to receive and to inject.
pub struct StepPort<'a, 'm> {
    /// The router.
    pub router: &'a mut Router<'m>,
    /// Packets that may still be received.
    pub take: usize,
    /// Packets that may still be injected.
    pub inject: usize,
    /// Packets received and injected.
    pub packets: u64,
}

impl Port for StepPort<'_, '_> {
    const LINES: bool = true;

    fn inject_line(&mut self, direction: Direction, hops: u16, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        let sent = self.inject > 0 && Port::inject_line(self.router, direction, hops, len, fill);
        self.inject -= usize::from(sent);
        self.packets += u64::from(sent);
        sent
    }

    fn can_inject(&self, class: TrafficClass) -> bool {
        self.inject > 0 && Port::can_inject(self.router, class)
    }

    fn rank(&self, node: Coord) -> Option<u32> {
        Port::rank(self.router, node)
    }

    fn inject(&mut self, class: TrafficClass, dest: Coord, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        let sent = self.inject > 0 && Port::inject(self.router, class, dest, len, fill);
        self.inject -= usize::from(sent);
        self.packets += u64::from(sent);
        sent
    }

    fn inject_unordered(&mut self, dest: Coord, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        let sent = self.inject > 0 && self.router.inject_unordered(dest, len, fill);
        self.inject -= usize::from(sent);
        self.packets += u64::from(sent);
        sent
    }

    fn head(&self, class: TrafficClass) -> Option<&[u8]> {
        Port::head(self.router, class).filter(|_| self.take > 0)
    }

    fn pop(&mut self, class: TrafficClass) {
        self.take -= 1;
        self.packets += 1;
        Port::pop(self.router, class);
    }
}
