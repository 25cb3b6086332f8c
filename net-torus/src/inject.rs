//! Injection of packets into the injection FIFOs.

use crate::chunk::PACKET_BYTES;
use crate::coord::{Coord, Direction};
use crate::profile::PACKET_CHUNKS;
use crate::queue;
use crate::route;
use crate::router::{INJECT, INJECT_PRIORITY, INJECT_SELF, LOCAL, NodeRoute, Router, bubble_channel};
use crate::wire::{BODY_BYTES, DirectionSet, Fifo, HEADER_BYTES, HeaderWord};

/// Reason why a packet was not injected. Only [`InjectError::Full`] is temporary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InjectError {
    /// The injection FIFO is full: retry after the router has moved packets.
    Full,
    /// The body is longer than the FIFO allows ([`Fifo::body_bytes`]).
    TooLong,
    /// No node has these coordinates.
    OutsideTorus,
}

impl core::fmt::Display for InjectError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Full => "the injection FIFO is full",
            Self::TooLong => "the packet's body is longer than its FIFO's packets have",
            Self::OutsideTorus => "the destination is outside the torus",
        })
    }
}

impl core::error::Error for InjectError {}

/// Routing mode of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoutingMode {
    /// Dimension order on a bubble channel. Packets of one FIFO between two nodes are received in the order of
    /// injection.
    Deterministic,
    /// Minimal adaptive routing on the dynamic channels, with the bubble channel as the escape: packets may overtake
    /// each other. Priority packets, and all packets without [dynamic channels](crate::profile::HAS_DYNAMIC), use
    /// deterministic routing instead.
    Adaptive,
}

impl Router<'_> {
    /// Checks whether a maximum-size packet to any node fits, so that [`Router::inject`] will accept it.
    pub fn can_inject(&self, fifo: Fifo) -> bool {
        const PRIORITY: u8 = 1 << (INJECT_PRIORITY - INJECT);
        self.tight
            & match fifo {
                Fifo::Normal => !PRIORITY,
                Fifo::Priority => PRIORITY,
            }
            == 0
    }

    /// Returns the first direction to `dest`, if the last packet used that route.
    #[inline]
    pub(crate) fn last_way(&self, dest: Coord) -> Option<Direction> {
        let first = Direction::ALL.get(usize::from(self.way.first));
        first.copied().filter(|_| self.way.dest == dest)
    }

    /// Injects a packet of `len` bytes, at most [`Fifo::body_bytes`], to `dest` with [`RoutingMode::Deterministic`]. The
    /// destination may be the node itself. `fill` writes the body. Never blocks; on an error `fill` is not called.
    pub fn inject(
        &mut self,
        fifo: Fifo,
        dest: Coord,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), InjectError> {
        self.inject_with(fifo, dest, len, RoutingMode::Deterministic, fill)
    }

    /// Injects a packet like [`Router::inject`], with the specified routing.
    pub fn inject_with(
        &mut self,
        fifo: Fifo,
        dest: Coord,
        len: usize,
        routing: RoutingMode,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), InjectError> {
        let word = self.word(fifo, dest, len, routing)?;
        self.enqueue(word, self.way.first, fill)
    }

    /// Injects up to `count` maximum-size packets into [`Fifo::Normal`], cheaper than [`Router::inject_with`] for each.
    /// Returns how many, at least one; the caller retries the others immediately. `fill` writes each body of
    /// [`BODY_BYTES`].
    pub fn inject_run(
        &mut self,
        dest: Coord,
        count: usize,
        routing: RoutingMode,
        fill: impl FnMut(&mut [u8]),
    ) -> Result<usize, InjectError> {
        let word = self.word(Fifo::Normal, dest, BODY_BYTES, routing)?;
        self.enqueue_run(word, self.way.first, count, fill)
    }

    /// Injects a run of packets with this header, whose first output in dimension order is `first`.
    pub(crate) fn enqueue_run(
        &mut self,
        word: HeaderWord,
        first: u8,
        count: usize,
        mut fill: impl FnMut(&mut [u8]),
    ) -> Result<usize, InjectError> {
        let source = self.injection_fifo(word, first);
        let ways = word.hints().bits();
        let has_choice = word.is_dynamic() && ways & ways.wrapping_sub(1) != 0;
        let queue = &mut self.queues[source];
        // Where several directions are possible, each packet chooses separately.
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
        let packets = queue::bytes_mut(self.memory, start, chunks);
        for packet in packets.chunks_exact_mut(PACKET_BYTES) {
            word.put(packet);
            fill(&mut packet[HEADER_BYTES..]);
        }
        self.note_room(source);
        if is_first {
            self.open(source, word);
            self.deliver(Fifo::Normal);
        }
        Ok(count)
    }

    /// Returns the header of a packet for `dest`, and updates the cached [route](Router::way).
    #[inline]
    pub(crate) fn word(
        &mut self,
        fifo: Fifo,
        dest: Coord,
        len: usize,
        routing: RoutingMode,
    ) -> Result<HeaderWord, InjectError> {
        if len > fifo.body_bytes() {
            return Err(InjectError::TooLong);
        }
        if self.way.dest != dest {
            self.find_way(dest)?;
        }
        let dynamic = fifo == Fifo::Normal && routing == RoutingMode::Adaptive;
        Ok(self.way.word.with_body(len, bubble_channel(fifo), fifo, dynamic))
    }

    #[inline(never)]
    fn find_way(&mut self, dest: Coord) -> Result<(), InjectError> {
        if self.shape.rank(dest).is_none() {
            return Err(InjectError::OutsideTorus);
        }
        self.way = NodeRoute::new(dest, route::hints(&self.shape, self.here, dest));
        Ok(())
    }

    /// Injects a packet that travels `hops` hops in direction `d` and deposits a copy at every node on the route, but
    /// not here ("Blue Gene/L torus, deposit bit").
    ///
    /// Around a torus it may use the longer route, up to the extent less one. It keeps the order of all deterministic
    /// packets of the same FIFO and first direction. Fails with [`InjectError::OutsideTorus`] when fewer nodes exist in
    /// that direction, or `hops` is 0; otherwise like [`Router::inject`].
    pub fn inject_line(
        &mut self,
        fifo: Fifo,
        d: Direction,
        hops: u16,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), InjectError> {
        let word = self.line_word(fifo, d, hops, len)?;
        self.enqueue(word, d as u8, fill)
    }

    /// Returns the header of a deposit packet.
    #[inline]
    pub(crate) fn line_word(
        &mut self,
        fifo: Fifo,
        d: Direction,
        hops: u16,
        len: usize,
    ) -> Result<HeaderWord, InjectError> {
        if len > fifo.body_bytes() {
            return Err(InjectError::TooLong);
        }
        let known = self.lines[d as usize];
        let word = if known.0 == hops && hops != 0 {
            known.1
        } else {
            self.find_line(d, hops)?
        };
        Ok(word.with_body(len, bubble_channel(fifo), fifo, false))
    }

    /// Returns the header fields that deposit packets along `hops` nodes share.
    #[inline(never)]
    fn find_line(&mut self, d: Direction, hops: u16) -> Result<HeaderWord, InjectError> {
        let extent = self.shape.extents()[d.dimension()];
        if hops == 0 || hops >= extent {
            return Err(InjectError::OutsideTorus);
        }
        let dest = (0..hops).try_fold(self.here, |at, _| self.shape.neighbour(at, d));
        let dest = dest.ok_or(InjectError::OutsideTorus)?;
        let word = HeaderWord::to(dest, DirectionSet::NONE.with(d), true);
        self.lines[d as usize] = (hops, word);
        Ok(word)
    }

    /// Injects a packet with this header, whose first output in dimension order is `first`.
    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        word: HeaderWord,
        first: u8,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), InjectError> {
        let source = self.injection_fifo(word, first);
        let packet = self.reserve(word, source).ok_or(InjectError::Full)?;
        word.fill(packet, fill);
        self.enqueued(word, first, source);
        Ok(())
    }

    /// Appends a packet to an injection FIFO and returns its buffer, if there is free space. The caller writes the
    /// body, then calls [`Router::enqueued`].
    pub(crate) fn reserve(&mut self, word: HeaderWord, source: usize) -> Option<&mut [u8]> {
        let (queue, chunks) = (&mut self.queues[source], word.chunks());
        let fifo = &mut self.stats.fifos[word.fifo() as usize];
        if queue.free() < chunks as u16 {
            fifo.refused += 1;
            return None;
        }
        let start = queue.push(chunks as u16);
        fifo.injected.add(chunks);
        fifo.injection_high_water = fifo.injection_high_water.max(queue.high());
        self.note_room(source);
        let copied_chunks = self.copied_chunks(chunks);
        // The checksum is added when the packet is sent over a link that requires it.
        let packet = queue::bytes_mut(self.memory, start, copied_chunks);
        word.put(packet);
        Some(packet)
    }

    /// Completes [`Router::reserve`] after the packet was written.
    pub(crate) fn enqueued(&mut self, word: HeaderWord, first: u8, source: usize) {
        if self.queues[source].used() != word.chunks() as u16 {
            // Other packets are before it.
            return;
        }
        let outputs = match usize::from(first) {
            LOCAL => 1 << (LOCAL + word.fifo() as usize),
            _ if word.is_dynamic() => word.hints().bits(),
            first => 1 << first,
        };
        self.enter(source, word, word.hints(), outputs);
        self.deliver(word.fifo());
    }

    /// Returns the injection FIFO for a packet: that of its first direction in dimension order, or, for a dynamic
    /// packet, the emptiest of its productive directions.
    #[inline]
    pub(crate) fn injection_fifo(&self, word: HeaderWord, first: u8) -> usize {
        let hints = word.hints();
        match usize::from(first) {
            _ if word.fifo() == Fifo::Priority => INJECT_PRIORITY,
            first if first >= LOCAL => INJECT_SELF,
            first if !word.is_dynamic() || hints.bits() == 1 << first => INJECT + first,
            _ => self.emptiest(hints),
        }
    }

    /// Returns the injection FIFO with the most free space among these directions.
    #[inline(never)]
    fn emptiest(&self, hints: DirectionSet) -> usize {
        let all = hints.iter().map(|d| INJECT + d as usize);
        all.max_by_key(|&q| self.queues[q].free()).unwrap_or(INJECT_SELF)
    }
}
