//! The way in: injection FIFOs.

use crate::chunk::{PACKET_BYTES, PACKET_CHUNKS};
use crate::coord::{Coord, Direction};
use crate::queue;
use crate::route;
use crate::router::{INJECT, INJECT_PRIORITY, INJECT_SELF, Router, bubble_channel, put_header};
use crate::wire::{BODY_BYTES, Directions, Fifo, HEADER_BYTES, Repr};

/// Why a packet was not injected. Only [`InjectError::Full`] goes away by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InjectError {
    /// The injection FIFO is full: try again after the router has moved packets.
    Full,
    /// The body is longer than [`BODY_BYTES`].
    TooLong,
    /// No node has these coordinates.
    OutsideTorus,
}

impl core::fmt::Display for InjectError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Full => "the injection FIFO is full",
            Self::TooLong => "the packet's body is longer than 248 bytes",
            Self::OutsideTorus => "the destination is outside the torus",
        })
    }
}

impl core::error::Error for InjectError {}

/// How a packet finds its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Routing {
    /// Dimension order on a bubble channel. Packets of one FIFO from one node to another arrive in the
    /// order of injection.
    Deterministic,
    /// Minimal adaptive on the dynamic channels, with the bubble channel as the escape: packets may
    /// overtake one another. Priority packets are routed deterministically all the same.
    Adaptive,
}

impl Router<'_> {
    /// Room for a packet of the greatest size to anywhere, so that [`Router::inject`] will take it.
    pub fn can_inject(&self, fifo: Fifo) -> bool {
        let queues = match fifo {
            Fifo::Normal => INJECT..=INJECT_SELF,
            Fifo::Priority => INJECT_PRIORITY..=INJECT_PRIORITY,
        };
        queues
            .into_iter()
            .all(|q| self.queues[q].free() >= PACKET_CHUNKS as u16)
    }

    /// The first direction to `dest`, if the last packet went there.
    #[inline]
    pub(crate) fn last_way(&self, dest: Coord) -> Option<Direction> {
        let (last, hints) = self.way;
        route::dimension_order(hints).filter(|_| last == dest)
    }

    /// Injects a packet with a body of `len` bytes, at most [`BODY_BYTES`], which `fill` writes, to `dest`
    /// (the node itself is allowed), with [`Routing::Deterministic`]. Never blocks; on an error `fill` was
    /// not called.
    pub fn inject(
        &mut self,
        fifo: Fifo,
        dest: Coord,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), InjectError> {
        self.inject_with(fifo, dest, len, Routing::Deterministic, fill)
    }

    /// As [`Router::inject`], with the choice of the way.
    pub fn inject_with(
        &mut self,
        fifo: Fifo,
        dest: Coord,
        len: usize,
        routing: Routing,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), InjectError> {
        let repr = self.repr(fifo, dest, len, routing)?;
        self.enqueue(repr, fill)
    }

    /// Injects up to `count` greatest packets in a row, as [`Router::inject_with`] would in [`Fifo::Normal`], for less;
    /// `fill` writes the body, of [`BODY_BYTES`], of one after the other. How many, at least
    /// one; the others are to be tried again at once.
    pub fn inject_run(
        &mut self,
        dest: Coord,
        count: usize,
        routing: Routing,
        mut fill: impl FnMut(&mut [u8]),
    ) -> Result<usize, InjectError> {
        let repr = self.repr(Fifo::Normal, dest, BODY_BYTES, routing)?;
        let source = self.injection_fifo(&repr);
        let ways = repr.hints.bits();
        let has_choice = repr.dynamic && ways & ways.wrapping_sub(1) != 0;
        let queue = &mut self.queues[source];
        // Where there is a choice of ways it is made for each packet.
        let count = queue.room().min(if has_choice { 1 } else { count });
        let stats = &mut self.stats.fifos[Fifo::Normal as usize];
        if count == 0 {
            stats.refused += 1;
            return Err(InjectError::Full);
        }
        let chunks = count * PACKET_CHUNKS;
        let is_first = queue.is_empty();
        let start = queue.push(chunks as u16);
        stats.injected.add_all(count, chunks);
        stats.injection_high_water = stats.injection_high_water.max(queue.high());
        let header = repr.word();
        let packets = queue::bytes_mut(self.memory, start, chunks);
        for packet in packets.chunks_exact_mut(PACKET_BYTES) {
            put_header(packet, header);
            fill(&mut packet[HEADER_BYTES..]);
        }
        if is_first {
            self.open(source, repr);
            self.deliver(Fifo::Normal);
        }
        Ok(count)
    }

    /// The header of a packet for `dest`.
    fn repr(
        &mut self,
        fifo: Fifo,
        dest: Coord,
        len: usize,
        routing: Routing,
    ) -> Result<Repr, InjectError> {
        if len > BODY_BYTES {
            return Err(InjectError::TooLong);
        }
        if self.way.0 != dest {
            if self.shape.rank(dest).is_none() {
                return Err(InjectError::OutsideTorus);
            }
            self.way = (dest, route::hints(&self.shape, self.here, dest));
        }
        Ok(Repr {
            hints: self.way.1,
            deposit: false,
            dynamic: fifo == Fifo::Normal && routing == Routing::Adaptive,
            vc: bubble_channel(fifo),
            fifo,
            body: len as u8,
            dest,
        })
    }

    /// Injects a packet that travels `hops` hops in direction `d` and leaves a copy at every node on the way
    /// ("Blue Gene/L torus, deposit bit"); not at this node. Around a torus it may go the long way, up to
    /// the extent less one. Deterministic: in order with all other deterministic packets of the same FIFO
    /// and first direction. Fails with [`InjectError::OutsideTorus`] when there are not so many nodes in
    /// that direction, or `hops` is 0; otherwise as [`Router::inject`].
    pub fn inject_line(
        &mut self,
        fifo: Fifo,
        d: Direction,
        hops: u16,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), InjectError> {
        if len > BODY_BYTES {
            return Err(InjectError::TooLong);
        }
        let extent = self.shape.extents()[d.dimension()];
        if hops == 0 || hops >= extent {
            return Err(InjectError::OutsideTorus);
        }
        let dest = (0..hops).try_fold(self.here, |at, _| self.shape.neighbour(at, d));
        let Some(dest) = dest else {
            return Err(InjectError::OutsideTorus);
        };
        let repr = Repr {
            hints: Directions::NONE.with(d),
            deposit: true,
            dynamic: false,
            vc: bubble_channel(fifo),
            fifo,
            body: len as u8,
            dest,
        };
        self.enqueue(repr, fill)
    }

    pub(crate) fn enqueue(
        &mut self,
        repr: Repr,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), InjectError> {
        let source = self.injection_fifo(&repr);
        let (queue, chunks) = (&mut self.queues[source], repr.chunks());
        let fifo = &mut self.stats.fifos[repr.fifo as usize];
        if queue.free() < chunks as u16 {
            fifo.refused += 1;
            return Err(InjectError::Full);
        }
        let start = queue.push(chunks as u16);
        let first = queue.used() == chunks as u16;
        fifo.injected.add(chunks);
        fifo.injection_high_water = fifo.injection_high_water.max(queue.high());
        let carried = self.carried(chunks);
        let packet = queue::bytes_mut(self.memory, start, carried);
        // The checksum follows when the packet leaves by a link that needs it.
        put_header(packet, repr.word());
        let packet = &mut packet[HEADER_BYTES..];
        let (body, padding) = packet.split_at_mut(packet.len().min(repr.body as usize));
        fill(body);
        // Not what an earlier packet left there: it was for its own receiver only.
        padding.fill(0);
        if first {
            self.open(source, repr);
            self.deliver(repr.fifo);
        }
        Ok(())
    }

    /// The injection FIFO for a packet: that of its first direction in dimension order; for a dynamic
    /// packet the emptiest of its productive directions.
    pub(crate) fn injection_fifo(&self, repr: &Repr) -> usize {
        if repr.fifo == Fifo::Priority {
            return INJECT_PRIORITY;
        }
        let first = repr.hints;
        match route::dimension_order(first) {
            None => INJECT_SELF,
            Some(d) if !repr.dynamic || first == Directions::NONE.with(d) => INJECT + d as usize,
            Some(_) => first
                .iter()
                .map(|d| INJECT + d as usize)
                .max_by_key(|&q| self.queues[q].free())
                .unwrap_or(INJECT_SELF),
        }
    }
}
