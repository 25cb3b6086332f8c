//! The links of a cluster: frames in memory, from one pool for all, and which nodes they give something to do. Of a machine
//! in [blocks](super::blocks) each has the wires on which its own nodes take, and what their neighbours need to know of
//! those that lead out of it.
#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};

use net_torus::chunk::CHUNK_BYTES;
use net_torus::wire::MIN_MTU;
use net_torus::{Direction, Link, Shape};

use super::blocks::{Block, NEVER};
use super::events::Events;
use super::ready::Ready;
use crate::costs::Costs;

/// Greatest frame, where nothing costs time: as an Ethernet frame, which is what emulated nodes have.
const MTU: usize = 1514;
/// Frames under way in a direction of a link, where nothing costs time, before it takes no more.
const IN_FLIGHT: usize = 16;

/// No frame.
const NONE: u32 = u32::MAX;

/// What a node's neighbour on one side has sent and the node has not taken: frames of the pool, the oldest first.
#[derive(Clone, Copy)]
struct Wire {
    first: u32,
    last: u32,
    count: u32,
    /// In virtual time it carries a frame until then.
    busy_until: u64,
    /// The sender is looked at then: it has another.
    is_awaited: bool,
}

impl Wire {
    const EMPTY: Wire = Wire {
        first: NONE,
        last: NONE,
        count: 0,
        busy_until: 0,
        is_awaited: false,
    };

    /// The frame with this number is the last one to come.
    fn append(&mut self, frames: &mut [Frame], at: u32) {
        frames[at as usize].next = NONE;
        match self.count {
            0 => self.first = at,
            _ => frames[self.last as usize].next = at,
        }
        self.last = at;
        self.count += 1;
    }
}

struct Frame {
    bytes: Box<[u8]>,
    len: usize,
    next: u32,
    /// When its head is at the other end.
    arrival: u64,
}

/// How it is told which nodes have something to do.
pub(super) enum Looks {
    /// Those that have are drawn from. Frames are there at once, several packets in each.
    Drawn(RefCell<Ready>),
    /// Each has its time. A frame takes the time that its bytes take, and has one packet.
    Timed(RefCell<Events>, Costs),
}

/// All links of a machine. A link that carries nothing has no buffer.
pub(super) struct Wires<'w> {
    /// By the node that takes, then by its side: a node looks at all of its own at each step.
    wires: RefCell<Vec<[Wire; 6]>>,
    frames: RefCell<Vec<Frame>>,
    free: RefCell<Vec<u32>>,
    pub(super) looks: Looks,
    /// Virtual time in nanoseconds.
    pub(super) now: Cell<u64>,
    /// The block that these nodes are; `None`: they are the whole machine.
    pub(super) block: Option<&'w Block<'w>>,
}

impl<'w> Wires<'w> {
    /// Those of a machine of so many nodes, or of a block of it: each node has something to do. With costs they take
    /// time.
    pub(super) fn new(
        nodes: usize,
        costs: Option<Costs>,
        block: Option<&'w Block<'w>>,
    ) -> Wires<'w> {
        let here = block.map_or(0..nodes, Block::ranks);
        Wires {
            wires: RefCell::new(vec![[Wire::EMPTY; 6]; nodes]),
            frames: RefCell::default(),
            free: RefCell::default(),
            looks: match costs {
                None => Looks::Drawn(RefCell::new(Ready::all(nodes))),
                Some(costs) => Looks::Timed(RefCell::new(Events::at_start(nodes, here)), costs),
            },
            now: Cell::new(0),
            block,
        }
    }

    /// Until when the nodes can go on by themselves.
    pub(super) fn horizon(&self) -> u64 {
        self.block.map_or(NEVER, Block::horizon)
    }

    /// Takes the frames that other blocks have sent.
    pub(super) fn take_arrivals(&self, events: &RefCell<Events>) {
        let Some(block) = self.block else {
            return;
        };
        let frames = &mut *self.frames.borrow_mut();
        let (mut wires, mut events) = (self.wires.borrow_mut(), events.borrow_mut());
        block.take(|there, side, arrival, bytes| {
            let at = self.frame(frames);
            let frame = &mut frames[at as usize];
            frame.bytes[..bytes.len()].copy_from_slice(bytes);
            (frame.len, frame.arrival) = (bytes.len(), arrival);
            wires[there][usize::from(side)].append(frames, at);
            events.plan(arrival, there);
        });
    }

    /// The ends of the links of the node with this rank, by direction.
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
            Looks::Drawn(_) => MTU,
            Looks::Timed(..) => MIN_MTU,
        }
    }

    /// Whether the wire takes a frame of the node `here`, which is looked at again when it does.
    fn takes(&self, wire: &mut Wire, here: usize) -> bool {
        match &self.looks {
            Looks::Drawn(_) => (wire.count as usize) < IN_FLIGHT,
            Looks::Timed(..) if wire.busy_until <= self.now.get() => true,
            Looks::Timed(events, _) => {
                if !std::mem::replace(&mut wire.is_awaited, true) {
                    events.borrow_mut().plan(wire.busy_until, here);
                }
                false
            }
        }
    }

    /// A frame of the pool that is in no wire.
    fn frame(&self, frames: &mut Vec<Frame>) -> u32 {
        if let Some(at) = self.free.borrow_mut().pop() {
            return at;
        }
        frames.push(Frame {
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
    wires: &'a Wires<'a>,
    here: u32,
    there: u32,
    direction: u8,
    back: u8,
}

impl Link for WireEnd<'_> {
    fn mtu(&self) -> usize {
        self.wires.mtu()
    }

    /// Time is too dear for sums over bytes in memory, which do not turn; jobs that are drawn have them.
    fn is_exact(&self) -> bool {
        matches!(self.wires.looks, Looks::Timed(..))
    }

    fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool {
        let Wires {
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
            if let Looks::Drawn(ready) = looks
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
                Looks::Drawn(_) => true,
                // It holds a packet back, for so many looks at most.
                Looks::Timed(events, costs) => {
                    let again = self.wires.now.get() + costs.carries(CHUNK_BYTES);
                    events.borrow_mut().plan(again, here);
                    false
                }
            };
        }
        match &self.wires.looks {
            Looks::Drawn(ready) => ready.borrow_mut().insert(there),
            Looks::Timed(events, costs) => {
                let now = self.wires.now.get();
                wire.busy_until = now + costs.carries(frame.len);
                wire.is_awaited = false;
                frame.arrival = now + costs.hop_ns.max(1);
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

    /// All looks that are planned from now on, beside those at the start.
    fn looks(wires: &Wires<'_>) -> Vec<(u64, usize)> {
        let Looks::Timed(events, _) = &wires.looks else {
            return Vec::new();
        };
        let all = std::iter::from_fn(|| events.borrow_mut().next(NEVER));
        all.filter(|&(time, _)| time > 0).collect()
    }

    fn pair<'a>(wires: &'a Wires<'a>) -> WireEnd<'a> {
        let shape = Shape::new([2, 1, 1], [false; 3]).expect("a shape");
        let [plus, ..] = wires.ends(&shape, 0);
        plus.expect("a link")
    }

    /// The sender of one frame is not looked at when its link is free again; that of two is, once.
    #[test]
    fn a_free_link_is_news_for_who_waits_for_it() {
        let costs = Costs::BLUE_GENE;
        let arrival = (costs.hop_ns, 1);
        for refused in 0..3 {
            let wires = Wires::new(2, Some(costs), None);
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
            assert_eq!(looks(&wires), wanted, "{refused}");
        }
    }

    #[test]
    fn a_router_that_holds_back_is_looked_at_again() {
        let costs = Costs::BLUE_GENE;
        let wires = Wires::new(2, Some(costs), None);
        assert!(!pair(&wires).transmit(|_| 0));
        assert_eq!(looks(&wires), [(costs.carries(CHUNK_BYTES), 0)]);
    }
}
