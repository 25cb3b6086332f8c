//! The simulated links: frames in memory, from a common pool, and notification of the nodes they reach. With
//! [blocks](super::blocks), each block has the wires on which its own nodes receive, and the neighbours' state of those
//! that lead out of it.
#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};

use net_torus::chunk::CHUNK_BYTES;
use net_torus::wire::MIN_MTU;
use net_torus::{Direction, Link, Shape};

use super::blocks::{MachineBlock, NEVER};
use super::events::EventQueue;
use super::program_host::ProgramHost;
use super::ready::ReadySet;
use crate::costs::OperationCosts;

/// Maximum frame size without a cost model: that of an Ethernet frame, as on emulated nodes.
const MTU: usize = 1514;
/// Maximum number of outstanding frames in a direction of a link without a cost model.
const IN_FLIGHT: usize = 16;

const NONE: u32 = u32::MAX;

/// Frames from a node's neighbour on one side that the node has not received: frames of the pool, the oldest first.
#[derive(Clone, Copy)]
struct WireQueue {
    first: u32,
    last: u32,
    count: u32,
    /// End of the current frame's transmission in virtual time.
    busy_until: u64,
    /// The sender must be checked then: it has another frame.
    is_awaited: bool,
}

impl WireQueue {
    const EMPTY: WireQueue = WireQueue {
        first: NONE,
        last: NONE,
        count: 0,
        busy_until: 0,
        is_awaited: false,
    };

    /// Appends the frame with this index.
    fn append(&mut self, frames: &mut [PooledFrame], at: u32) {
        frames[at as usize].next = NONE;
        match self.count {
            0 => self.first = at,
            _ => frames[self.last as usize].next = at,
        }
        self.last = at;
        self.count += 1;
    }
}

struct PooledFrame {
    bytes: Box<[u8]>,
    len: usize,
    next: u32,
    /// Arrival of its head at the other end.
    arrival: u64,
}

/// Notification of nodes with work.
pub(super) enum WakeMode {
    /// Random draw among those nodes. Frames arrive immediately, with several packets each.
    Random(RefCell<ReadySet>),
    /// Scheduled checks. A frame takes the time of its bytes, and contains one packet.
    Timed(RefCell<EventQueue>, OperationCosts),
}

/// All links of a machine. A link without frames has no buffer.
pub(super) struct MachineWires<'w> {
    /// By receiving node, then by its side: a node checks all of its own at each step.
    wires: RefCell<Vec<[WireQueue; 6]>>,
    frames: RefCell<Vec<PooledFrame>>,
    free: RefCell<Vec<u32>>,
    pub(super) looks: WakeMode,
    /// Virtual time in nanoseconds.
    pub(super) now: Cell<u64>,
    /// The block of these nodes; `None`: they are the complete machine.
    pub(super) block: Option<&'w MachineBlock<'w>>,
    /// Receives a copy of each frame.
    capture: Option<&'w dyn ProgramHost>,
}

impl<'w> MachineWires<'w> {
    /// Creates the links of a machine of this number of nodes, or of a block of it; each node initially has work. With
    /// costs they take time, and `capture` receives their frames.
    pub(super) fn new(
        nodes: usize,
        costs: Option<OperationCosts>,
        block: Option<&'w MachineBlock<'w>>,
        capture: Option<&'w dyn ProgramHost>,
    ) -> MachineWires<'w> {
        let here = block.map_or(0..nodes, MachineBlock::ranks);
        MachineWires {
            wires: RefCell::new(vec![[WireQueue::EMPTY; 6]; nodes]),
            frames: RefCell::default(),
            free: RefCell::default(),
            looks: match costs {
                None => WakeMode::Random(RefCell::new(ReadySet::all(nodes))),
                Some(costs) => WakeMode::Timed(RefCell::new(EventQueue::at_start(nodes, here)), costs),
            },
            now: Cell::new(0),
            block,
            capture,
        }
    }

    /// Returns the horizon of the nodes: until then they can run without synchronization.
    pub(super) fn horizon(&self) -> u64 {
        self.block.map_or(NEVER, MachineBlock::horizon)
    }

    /// Receives the frames that other blocks have sent.
    pub(super) fn take_arrivals(&self, events: &RefCell<EventQueue>) {
        let Some(block) = self.block else {
            return;
        };
        let frames = &mut *self.frames.borrow_mut();
        let (mut wires, mut events) = (self.wires.borrow_mut(), events.borrow_mut());
        block.receive_frames(|there, side, arrival, bytes| {
            let at = self.frame(frames);
            let frame = &mut frames[at as usize];
            frame.bytes[..bytes.len()].copy_from_slice(bytes);
            (frame.len, frame.arrival) = (bytes.len(), arrival);
            wires[there][usize::from(side)].append(frames, at);
            events.plan(arrival, there);
        });
    }

    /// Returns the ends of the links of the node with this rank, by direction.
    pub(super) fn ends<'a>(&'a self, shape: &Shape, rank: u32) -> [Option<WireEnd<'a>>; 6] {
        let here = shape.coord(rank).expect("a rank of the machine");
        Direction::ALL.map(|direction| {
            let there = shape.neighbour(here, direction)?;
            Some(WireEnd {
                wires: self,
                here: rank,
                there: shape.rank(there)?,
                direction: direction as u8,
                back: direction.opposite() as u8,
            })
        })
    }

    fn mtu(&self) -> usize {
        match self.looks {
            WakeMode::Random(_) => MTU,
            WakeMode::Timed(..) => MIN_MTU,
        }
    }

    /// Returns whether the wire accepts a frame of the node `here`; otherwise the node is checked again when it does.
    fn takes(&self, wire: &mut WireQueue, here: usize) -> bool {
        match &self.looks {
            WakeMode::Random(_) => (wire.count as usize) < IN_FLIGHT,
            WakeMode::Timed(..) if wire.busy_until <= self.now.get() => true,
            WakeMode::Timed(events, _) => {
                if !std::mem::replace(&mut wire.is_awaited, true) {
                    events.borrow_mut().plan(wire.busy_until, here);
                }
                false
            }
        }
    }

    /// Allocates a frame of the pool.
    fn frame(&self, frames: &mut Vec<PooledFrame>) -> u32 {
        if let Some(at) = self.free.borrow_mut().pop() {
            return at;
        }
        frames.push(PooledFrame {
            bytes: vec![0; self.mtu()].into_boxed_slice(),
            len: 0,
            next: NONE,
            arrival: 0,
        });
        frames.len() as u32 - 1
    }
}

/// One end of a link: reliable and in order.
pub(super) struct WireEnd<'a> {
    wires: &'a MachineWires<'a>,
    here: u32,
    there: u32,
    direction: u8,
    back: u8,
}

impl Link for WireEnd<'_> {
    fn mtu(&self) -> usize {
        self.wires.mtu()
    }

    /// With a cost model, checksums over bytes in memory, which do not change, are too expensive; randomly scheduled
    /// jobs use them.
    fn is_exact(&self) -> bool {
        matches!(self.wires.looks, WakeMode::Timed(..))
    }

    fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool {
        let MachineWires {
            wires,
            frames,
            looks,
            now,
            ..
        } = self.wires;
        let at = {
            let wire = &mut wires.borrow_mut()[self.here as usize][self.direction as usize];
            if wire.count == 0 {
                return false;
            }
            let at = wire.first;
            let frame = &frames.borrow()[at as usize];
            if frame.arrival > now.get() {
                return false;
            }
            wire.first = frame.next;
            if let WakeMode::Random(ready) = looks
                && wire.count as usize == IN_FLIGHT
            {
                ready.borrow_mut().insert(self.there as usize);
            }
            wire.count -= 1;
            at
        };
        let frame = &frames.borrow()[at as usize];
        f(&frame.bytes[..frame.len]);
        self.wires.free.borrow_mut().push(at);
        true
    }

    fn transmit(&mut self, f: impl FnOnce(&mut [u8]) -> usize) -> bool {
        let (here, there) = (self.here as usize, self.there as usize);
        let wire = &mut self.wires.wires.borrow_mut()[there][self.back as usize];
        if !self.wires.takes(wire, here) {
            return false;
        }
        let frames = &mut *self.wires.frames.borrow_mut();
        let at = self.wires.frame(frames);
        let frame = &mut frames[at as usize];
        frame.len = f(&mut frame.bytes).min(frame.bytes.len());
        if frame.len == 0 {
            self.wires.free.borrow_mut().push(at);
            return match &self.wires.looks {
                WakeMode::Random(_) => true,
                // It holds a packet back, for a limited number of checks.
                WakeMode::Timed(events, costs) => {
                    let again = self.wires.now.get() + costs.carries(CHUNK_BYTES);
                    events.borrow_mut().plan(again, here);
                    false
                }
            };
        }
        match &self.wires.looks {
            WakeMode::Random(ready) => ready.borrow_mut().insert(there),
            WakeMode::Timed(events, costs) => {
                let now = self.wires.now.get();
                wire.busy_until = now + costs.carries(frame.len);
                wire.is_awaited = false;
                frame.arrival = now + costs.hop_ns.max(1);
                if let Some(host) = self.wires.capture {
                    let direction = Direction::ALL[usize::from(self.direction)];
                    host.captures_frame(now, self.here, direction, &frame.bytes[..frame.len]);
                }
                if let Some(block) = self.wires.block
                    && !block.has(there)
                {
                    block.send(there, self.back, frame.arrival, &frame.bytes[..frame.len]);
                    self.wires.free.borrow_mut().push(at);
                    return true;
                }
                events.borrow_mut().plan(frame.arrival, there);
            }
        }
        wire.append(frames, at);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: usize = 100;

    /// Returns all checks scheduled from now on, except those at the start.
    fn scheduled_checks(wires: &MachineWires<'_>) -> Vec<(u64, usize)> {
        let WakeMode::Timed(events, _) = &wires.looks else {
            return Vec::new();
        };
        let all = std::iter::from_fn(|| events.borrow_mut().next(NEVER));
        all.filter(|&(time, _)| time > 0).collect()
    }

    fn pair<'a>(wires: &'a MachineWires<'a>) -> WireEnd<'a> {
        let shape = Shape::new([2, 1, 1], [false; 3]).expect("a shape");
        let [plus, ..] = wires.ends(&shape, 0);
        plus.expect("a link")
    }

    /// The sender of one frame is not checked when its link is free again; that of two is, once.
    #[test]
    fn a_free_link_is_news_for_who_waits_for_it() {
        let costs = OperationCosts::BLUE_GENE;
        let arrival = (costs.hop_ns, 1);
        for refused in 0..3 {
            let wires = MachineWires::new(2, Some(costs), None, None);
            let mut end = pair(&wires);
            assert!(end.transmit(|_| FRAME));
            for _ in 0..refused {
                assert!(!end.transmit(|_| FRAME));
            }
            let free = (costs.carries(FRAME), 0);
            let wanted = if refused > 0 {
                vec![arrival, free]
            } else {
                vec![arrival]
            };
            assert_eq!(scheduled_checks(&wires), wanted, "{refused}");
        }
    }

    #[test]
    fn a_router_that_holds_back_is_looked_at_again() {
        let costs = OperationCosts::BLUE_GENE;
        let wires = MachineWires::new(2, Some(costs), None, None);
        assert!(!pair(&wires).transmit(|_| 0));
        assert_eq!(scheduled_checks(&wires), [(costs.carries(CHUNK_BYTES), 0)]);
    }
}
