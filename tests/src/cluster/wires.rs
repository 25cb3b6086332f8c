//! The links of a cluster: frames in memory, from one pool for all, and which nodes they give something to do.
#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};

use net_torus::sim::{IN_FLIGHT, MTU};
use net_torus::wire::MIN_MTU;
use net_torus::{Direction, Link, Shape};

use super::events::Events;
use super::ready::Ready;
use crate::measure::timed::Costs;

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
}

impl Wire {
    const EMPTY: Wire = Wire {
        first: NONE,
        last: NONE,
        count: 0,
        busy_until: 0,
    };
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
pub(super) struct Wires {
    /// By the node that takes, then by its side: a node looks at all of its own at each step.
    wires: RefCell<Vec<[Wire; 6]>>,
    frames: RefCell<Vec<Frame>>,
    free: RefCell<Vec<u32>>,
    pub(super) looks: Looks,
    /// Virtual time in nanoseconds.
    pub(super) now: Cell<u64>,
}

impl Wires {
    /// Those of a machine of so many nodes, each of which has something to do. With costs they take time.
    pub(super) fn new(nodes: usize, costs: Option<Costs>) -> Wires {
        Wires {
            wires: RefCell::new(vec![[Wire::EMPTY; 6]; nodes]),
            frames: RefCell::default(),
            free: RefCell::default(),
            looks: match costs {
                None => Looks::Drawn(RefCell::new(Ready::all(nodes))),
                Some(costs) => Looks::Timed(RefCell::new(Events::at_start(nodes)), costs),
            },
            now: Cell::new(0),
        }
    }

    /// The ends of the links of the node with this rank, by direction.
    pub(super) fn ends(&self, shape: &Shape, rank: u32) -> [Option<WireEnd<'_>>; 6] {
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

    fn takes(&self, wire: &Wire) -> bool {
        match self.looks {
            Looks::Drawn(_) => (wire.count as usize) < IN_FLIGHT,
            Looks::Timed(..) => wire.busy_until <= self.now.get(),
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

/// One end of a link: as a [`SimLink`](net_torus::sim::SimLink), reliable and in order.
pub(super) struct WireEnd<'a> {
    wires: &'a Wires,
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
        if !self.wires.takes(wire) {
            return false;
        }
        let frames = &mut *self.wires.frames.borrow_mut();
        let at = self.wires.frame(frames);
        let frame = &mut frames[at as usize];
        frame.len = f(&mut frame.bytes).min(frame.bytes.len());
        if frame.len == 0 {
            self.wires.free.borrow_mut().push(at);
            return matches!(self.wires.looks, Looks::Drawn(_));
        }
        frame.next = NONE;
        match &self.wires.looks {
            Looks::Drawn(ready) => ready.borrow_mut().insert(there),
            Looks::Timed(events, costs) => {
                let now = self.wires.now.get();
                let takes = (frame.len as f64 * costs.link_ns_per_byte) as u64;
                wire.busy_until = now + takes.max(1);
                frame.arrival = now + costs.hop_ns.max(1);
                let events = &mut *events.borrow_mut();
                events.plan(frame.arrival, there);
                events.plan(wire.busy_until, here);
            }
        }
        match wire.count {
            0 => wire.first = at,
            _ => frames[wire.last as usize].next = at,
        }
        wire.last = at;
        wire.count += 1;
        true
    }
}
