//! The port: all that the message layer needs from the network below it.

use net_torus::{Coord, Direction, Fifo, InjectError, Link, Router, Routing, Torus};

/// Which injection FIFO a packet leaves by and which reception FIFO it arrives in.
///
/// The two never wait for one another: a full normal FIFO, anywhere in the machine, does not hold up a
/// priority packet. Answers travel as priority packets and requests as normal ones, which is what makes
/// the request-answer dependency free of deadlock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Requests and data.
    Normal,
    /// Answers; whoever receives one can always take it.
    Priority,
}

impl Class {
    /// Greatest body of its packets in bytes.
    pub const fn body_bytes(self) -> usize {
        match self {
            Class::Normal => Fifo::Normal.body_bytes(),
            Class::Priority => Fifo::Priority.body_bytes(),
        }
    }
}

/// Greatest packet body in bytes: the greatest packet less the network's 8-byte header.
pub const BODY_BYTES: usize = net_torus::BODY_BYTES;

/// A network's face to the message layer. No call blocks.
pub trait Port {
    /// Room for one more packet of the greatest size in the injection FIFO of `class`.
    fn can_inject(&self, class: Class) -> bool;

    /// The number of the node at `node`, from 0 on and below that of the machine's nodes; `None` when there is none.
    /// A packet that names such a place as its source is not one of ours.
    fn rank(&self, node: Coord) -> Option<u32>;

    /// Injects a packet whose body is `len` bytes (at most [`Class::body_bytes`]) written by `fill`, to `dest`.
    /// False, without calling `fill`, when [`Port::can_inject`] is false: try again later. Packets of one
    /// class from one node to another that were injected with this call arrive in the order of injection.
    ///
    /// # Panics
    /// May panic when `len` is above [`Class::body_bytes`] or [`Port::rank`] knows no node at `dest`: both are
    /// mistakes of the caller, not states of the network.
    fn inject(
        &mut self,
        class: Class,
        dest: Coord,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> bool;

    /// As [`Port::inject`] with [`Class::Normal`], for a packet that may overtake others and be overtaken:
    /// the network may send it by whichever way is free.
    fn inject_unordered(&mut self, dest: Coord, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        self.inject(Class::Normal, dest, len, fill)
    }

    /// Injects packets with bodies of [`BODY_BYTES`], `count` at most: one, or more where that costs less. As
    /// [`Port::inject`] with [`Class::Normal`] if `is_ordered`, else as [`Port::inject_unordered`]. `fill` writes the
    /// body of one after the other. How many were injected; 0: there is no room, or none for such a run.
    ///
    /// # Panics
    /// As [`Port::inject`].
    fn inject_run(
        &mut self,
        is_ordered: bool,
        dest: Coord,
        count: usize,
        fill: impl FnMut(&mut [u8]),
    ) -> usize {
        inject_one(self, is_ordered, dest, count, fill)
    }

    /// Whether the network has [`Port::inject_line`].
    const LINES: bool = false;

    /// Injects a packet of [`Class::Priority`] that leaves a copy at each of the `hops` nodes in `direction`
    /// from here (Blue Gene/L's deposit bit). False, without calling `fill`, when there is no room or no such
    /// packet.
    ///
    /// # Panics
    /// May panic when `len` is above [`Class::body_bytes`], or there are not so many nodes in that direction.
    fn inject_line(
        &mut self,
        direction: Direction,
        hops: u16,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> bool {
        let _ = (direction, hops, len, fill);
        false
    }

    /// Body of the oldest packet in the reception FIFO of `class`; at least as many bytes as were
    /// injected (the rest up to the chunk's end is zero or garbage).
    fn head(&self, class: Class) -> Option<&[u8]>;

    /// Frees the packet that [`Port::head`] shows.
    fn pop(&mut self, class: Class);

    /// Hands the bodies of the oldest packets in the reception FIFO of [`Class::Normal`], `most` at most, to `take`, and
    /// frees them: the oldest, and further ones where that costs less, for as long as `take` returns true. How many.
    fn take_run(&mut self, most: usize, mut take: impl FnMut(&Self, &[u8]) -> bool) -> usize
    where
        Self: Sized,
    {
        let Some(body) = self.head(Class::Normal).filter(|_| most > 0) else {
            return 0;
        };
        take(self, body);
        self.pop(Class::Normal);
        1
    }
}

impl From<Class> for Fifo {
    fn from(class: Class) -> Fifo {
        match class {
            Class::Normal => Fifo::Normal,
            Class::Priority => Fifo::Priority,
        }
    }
}

/// [`Port::inject_run`] of a network to which one packet after the other costs as much as several.
pub(crate) fn inject_one<P: Port + ?Sized>(
    port: &mut P,
    is_ordered: bool,
    dest: Coord,
    count: usize,
    mut fill: impl FnMut(&mut [u8]),
) -> usize {
    let fill = |body: &mut [u8]| fill(body);
    let injected = count > 0
        && match is_ordered {
            true => port.inject(Class::Normal, dest, BODY_BYTES, fill),
            false => port.inject_unordered(dest, BODY_BYTES, fill),
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

fn routing(is_ordered: bool) -> Routing {
    match is_ordered {
        true => Routing::Deterministic,
        false => Routing::Adaptive,
    }
}

/// What goes by the network's own functions, which have the same names but for `$inject`.
macro_rules! by_own_functions {
    ($inject:ident) => {
        const LINES: bool = true;

        fn inject_line(
            &mut self,
            direction: Direction,
            hops: u16,
            len: usize,
            fill: impl FnOnce(&mut [u8]),
        ) -> bool {
            let result = Self::inject_line(self, Fifo::Priority, direction, hops, len, fill);
            line_injected(result, len, hops)
        }

        fn inject(
            &mut self,
            class: Class,
            dest: Coord,
            len: usize,
            fill: impl FnOnce(&mut [u8]),
        ) -> bool {
            let result = Self::$inject(self, class.into(), dest, len, routing(true), fill);
            injected(result, len, dest)
        }

        fn inject_unordered(
            &mut self,
            dest: Coord,
            len: usize,
            fill: impl FnOnce(&mut [u8]),
        ) -> bool {
            let result = Self::$inject(self, Fifo::Normal, dest, len, routing(false), fill);
            injected(result, len, dest)
        }

        fn inject_run(
            &mut self,
            is_ordered: bool,
            dest: Coord,
            count: usize,
            fill: impl FnMut(&mut [u8]),
        ) -> usize {
            let result = Self::inject_run(self, dest, count, routing(is_ordered), fill);
            run_injected(result, count, dest)
        }

        fn take_run(&mut self, most: usize, take: impl FnMut(&Self, &[u8]) -> bool) -> usize {
            Self::take_run(self, Fifo::Normal, most, take)
        }
    };
}

impl Port for Router<'_> {
    by_own_functions!(inject_with);

    fn can_inject(&self, class: Class) -> bool {
        Router::can_inject(self, class.into())
    }

    fn rank(&self, node: Coord) -> Option<u32> {
        self.shape().rank(node)
    }

    fn head(&self, class: Class) -> Option<&[u8]> {
        Router::head(self, class.into())
    }

    fn pop(&mut self, class: Class) {
        Router::pop(self, class.into());
    }
}

/// As the router's, but what can leave at once is written where it leaves from.
impl<L: Link> Port for Torus<'_, L> {
    by_own_functions!(inject);

    fn can_inject(&self, class: Class) -> bool {
        self.router().can_inject(class.into())
    }

    fn rank(&self, node: Coord) -> Option<u32> {
        self.router().shape().rank(node)
    }

    fn head(&self, class: Class) -> Option<&[u8]> {
        self.router().head(class.into())
    }

    fn pop(&mut self, class: Class) {
        self.router_mut().pop(class.into());
    }
}
