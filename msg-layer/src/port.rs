//! Port: the message layer's interface to the network below it.

use net_torus::{Coord, Direction, Fifo, InjectError, Link, Router, RoutingMode, Torus};

/// Traffic class of a packet: its injection FIFO and its reception FIFO.
///
/// The two classes never block each other: a full normal FIFO, anywhere in the machine, does not delay a priority
/// packet. Requests use normal packets and replies use priority packets, so the request-reply dependency is free of
/// deadlock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrafficClass {
    /// Requests and data.
    Normal,
    /// Replies; every receiver can always consume one.
    Priority,
}

impl TrafficClass {
    /// Returns the maximum body of its packets in bytes.
    pub const fn body_bytes(self) -> usize {
        match self {
            TrafficClass::Normal => Fifo::Normal.body_bytes(),
            TrafficClass::Priority => Fifo::Priority.body_bytes(),
        }
    }
}

/// Maximum packet body in bytes: the maximum packet without the network's 8-byte header.
pub const BODY_BYTES: usize = net_torus::BODY_BYTES;

/// Network interface of the message layer. No call blocks.
pub trait Port {
    /// Checks for space for one more packet of the maximum size in the injection FIFO of `class`.
    fn can_inject(&self, class: TrafficClass) -> bool;

    /// Returns the rank of the node at `node`, below the number of nodes, or `None` if there is no such node. A packet
    /// with an unknown source does not belong to this layer.
    fn rank(&self, node: Coord) -> Option<u32>;

    /// Injects a packet to `dest`, with a body of `len` bytes (at most [`TrafficClass::body_bytes`]) written by `fill`.
    /// Returns false, without calling `fill`, if [`Port::can_inject`] is false: try again later. Packets of one class
    /// from one node to another that were injected by this method arrive in the order of injection.
    ///
    /// # Panics
    /// May panic if `len` exceeds [`TrafficClass::body_bytes`] or [`Port::rank`] finds no node at `dest`: both are errors of
    /// the caller, not states of the network.
    fn inject(&mut self, class: TrafficClass, dest: Coord, len: usize, fill: impl FnOnce(&mut [u8])) -> bool;

    /// Injects a packet of [`TrafficClass::Normal`] like [`Port::inject`], but without ordering: the network may route it
    /// adaptively, so it may overtake others and be overtaken.
    fn inject_unordered(&mut self, dest: Coord, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        self.inject(TrafficClass::Normal, dest, len, fill)
    }

    /// Injects up to `count` packets with bodies of [`BODY_BYTES`]: one, or several where that is cheaper. They are of
    /// [`TrafficClass::Normal`], in order if `is_ordered`, else like [`Port::inject_unordered`]. `fill` writes one body after
    /// the other. Returns the number of packets injected; 0 if the FIFO is full, or has no space for such a run.
    ///
    /// # Panics
    /// Under the conditions of [`Port::inject`].
    fn inject_run(&mut self, is_ordered: bool, dest: Coord, count: usize, fill: impl FnMut(&mut [u8])) -> usize {
        inject_one(self, is_ordered, dest, count, fill)
    }

    /// Whether the network supports [`Port::inject_line`].
    const LINES: bool = false;

    /// Injects a packet of [`TrafficClass::Priority`] that deposits a copy at each of the next `hops` nodes in `direction`
    /// (Blue Gene/L's deposit bit). Returns false, without calling `fill`, if the FIFO is full or such packets are not
    /// supported.
    ///
    /// # Panics
    /// May panic if `len` exceeds [`TrafficClass::body_bytes`], or if there are fewer nodes in that direction.
    fn inject_line(&mut self, direction: Direction, hops: u16, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        let _ = (direction, hops, len, fill);
        false
    }

    /// Returns the body of the oldest packet in the reception FIFO of `class`. It contains at least the injected bytes;
    /// the rest up to the chunk's end is zero or garbage.
    fn head(&self, class: TrafficClass) -> Option<&[u8]>;

    /// Dequeues the packet returned by [`Port::head`].
    fn pop(&mut self, class: TrafficClass);

    /// Passes the bodies of the oldest packets in the reception FIFO of [`TrafficClass::Normal`] to `take`, and dequeues them.
    /// At most `most`: the oldest, and further ones where that is cheaper, while `take` returns true. Returns their
    /// number.
    fn receive_run(&mut self, most: usize, mut take: impl FnMut(&Self, &[u8]) -> bool) -> usize
    where
        Self: Sized,
    {
        let Some(body) = self.head(TrafficClass::Normal).filter(|_| most > 0) else {
            return 0;
        };
        take(self, body);
        self.pop(TrafficClass::Normal);
        1
    }
}

impl From<TrafficClass> for Fifo {
    fn from(class: TrafficClass) -> Fifo {
        match class {
            TrafficClass::Normal => Fifo::Normal,
            TrafficClass::Priority => Fifo::Priority,
        }
    }
}

/// Implements [`Port::inject_run`] for networks without a batch operation.
pub(crate) fn inject_one<P: Port + ?Sized>(
    port: &mut P,
    is_ordered: bool,
    dest: Coord,
    count: usize,
    mut fill: impl FnMut(&mut [u8]),
) -> usize {
    let fill = |body: &mut [u8]| fill(body);
    let injected = count > 0
        && if is_ordered {
            port.inject(TrafficClass::Normal, dest, BODY_BYTES, fill)
        } else {
            port.inject_unordered(dest, BODY_BYTES, fill)
        };
    injected.into()
}

fn injected(result: Result<(), InjectError>, len: usize, dest: Coord) -> bool {
    match result {
        Ok(()) => true,
        Err(InjectError::Full) => false,
        Err(wrong) => panic!("{len} bytes to {dest:?}: {wrong}"),
    }
}

fn line_injected(result: Result<(), InjectError>, len: usize, hops: u16) -> bool {
    match result {
        Ok(()) => true,
        Err(InjectError::Full) => false,
        Err(wrong) => panic!("{len} bytes along {hops} nodes: {wrong}"),
    }
}

fn run_injected(result: Result<usize, InjectError>, count: usize, dest: Coord) -> usize {
    match result {
        Ok(count) => count,
        Err(InjectError::Full) => 0,
        Err(wrong) => panic!("{count} packets to {dest:?}: {wrong}"),
    }
}

fn routing(is_ordered: bool) -> RoutingMode {
    if is_ordered {
        RoutingMode::Deterministic
    } else {
        RoutingMode::Adaptive
    }
}

/// Implements methods by the network's own methods, which have the same names except for `$inject`.
macro_rules! by_own_functions {
    ($inject:ident) => {
        const LINES: bool = true;

        fn inject_line(&mut self, direction: Direction, hops: u16, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
            let result = Self::inject_line(self, Fifo::Priority, direction, hops, len, fill);
            line_injected(result, len, hops)
        }

        fn inject(&mut self, class: TrafficClass, dest: Coord, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
            let result = Self::$inject(self, class.into(), dest, len, routing(true), fill);
            injected(result, len, dest)
        }

        fn inject_unordered(&mut self, dest: Coord, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
            let result = Self::$inject(self, Fifo::Normal, dest, len, routing(false), fill);
            injected(result, len, dest)
        }

        fn inject_run(&mut self, is_ordered: bool, dest: Coord, count: usize, fill: impl FnMut(&mut [u8])) -> usize {
            let result = Self::inject_run(self, dest, count, routing(is_ordered), fill);
            run_injected(result, count, dest)
        }

        fn receive_run(&mut self, most: usize, take: impl FnMut(&Self, &[u8]) -> bool) -> usize {
            Self::take_run(self, Fifo::Normal, most, take)
        }
    };
}

impl Port for Router<'_> {
    by_own_functions!(inject_with);

    fn can_inject(&self, class: TrafficClass) -> bool {
        Router::can_inject(self, class.into())
    }

    fn rank(&self, node: Coord) -> Option<u32> {
        self.shape().rank(node)
    }

    fn head(&self, class: TrafficClass) -> Option<&[u8]> {
        Router::head(self, class.into())
    }

    fn pop(&mut self, class: TrafficClass) {
        Router::pop(self, class.into());
    }
}

/// Direct injection: a packet that can be sent immediately is written into the outgoing frame. Otherwise like the
/// router's.
impl<L: Link> Port for Torus<'_, L> {
    by_own_functions!(inject);

    fn can_inject(&self, class: TrafficClass) -> bool {
        self.router().can_inject(class.into())
    }

    fn rank(&self, node: Coord) -> Option<u32> {
        self.router().shape().rank(node)
    }

    fn head(&self, class: TrafficClass) -> Option<&[u8]> {
        self.router().head(class.into())
    }

    fn pop(&mut self, class: TrafficClass) {
        self.router_mut().pop(class.into());
    }
}
