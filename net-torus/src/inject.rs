//! The way in: injection FIFOs.

use crate::chunk::PACKET_BYTES;
use crate::coord::{Coord, Direction};
use crate::profile::PACKET_CHUNKS;
use crate::queue;
use crate::route;
use crate::router::{INJECT, INJECT_PRIORITY, INJECT_SELF, LOCAL, Router, Way, bubble_channel};
use crate::wire::{BODY_BYTES, Directions, Fifo, HEADER_BYTES, Word};

/// Why a packet was not injected. Only [`InjectError::Full`] goes away by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InjectError {
    /// The injection FIFO is full: try again after the router has moved packets.
    Full,
    /// The body is longer than those of this FIFO's packets ([`Fifo::body_bytes`]).
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

/// How a packet finds its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Routing {
    /// Dimension order on a bubble channel. Packets of one FIFO from one node to another arrive in the
    /// order of injection.
    Deterministic,
    /// Minimal adaptive on the dynamic channels, with the bubble channel as the escape: packets may
    /// overtake one another. Priority packets are routed deterministically all the same, and all are where there are no
    /// [dynamic channels](crate::profile::HAS_DYNAMIC).
    Adaptive,
}

impl Router<'_> {
    /// Room for a packet of the greatest size to anywhere, so that [`Router::inject`] will take it.
    pub fn can_inject(&self, fifo: Fifo) -> bool {
        const PRIORITY: u8 = 1 << (INJECT_PRIORITY - INJECT);
        self.tight
            & match fifo {
                Fifo::Normal => !PRIORITY,
                Fifo::Priority => PRIORITY,
            }
            == 0
    }

    /// The first direction to `dest`, if the last packet went there.
    #[inline]
    pub(crate) fn last_way(&self, dest: Coord) -> Option<Direction> {
        let first = Direction::ALL.get(usize::from(self.way.first));
        first.copied().filter(|_| self.way.dest == dest)
    }

    /// Injects a packet with a body of `len` bytes, at most [`Fifo::body_bytes`], which `fill` writes, to `dest`
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
        let word = self.word(fifo, dest, len, routing)?;
        self.enqueue(word, self.way.first, fill)
    }

    /// Injects up to `count` greatest packets in a row, as [`Router::inject_with`] would in [`Fifo::Normal`], for less;
    /// `fill` writes the body, of [`BODY_BYTES`], of one after the other. How many, at least
    /// one; the others are to be tried again at once.
    pub fn inject_run(
        &mut self,
        dest: Coord,
        count: usize,
        routing: Routing,
        fill: impl FnMut(&mut [u8]),
    ) -> Result<usize, InjectError> {
        let word = self.word(Fifo::Normal, dest, BODY_BYTES, routing)?;
        self.enqueue_run(word, self.way.first, count, fill)
    }

    /// As [`Router::inject_run`], of packets with this header, whose first output in dimension order is `first`.
    pub(crate) fn enqueue_run(
        &mut self,
        word: Word,
        first: u8,
        count: usize,
        mut fill: impl FnMut(&mut [u8]),
    ) -> Result<usize, InjectError> {
        let source = self.injection_fifo(word, first);
        let ways = word.hints().bits();
        let has_choice = word.is_dynamic() && ways & ways.wrapping_sub(1) != 0;
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

    /// The header of a packet for `dest`, to which the [way](Router::way) then leads.
    #[inline]
    pub(crate) fn word(
        &mut self,
        fifo: Fifo,
        dest: Coord,
        len: usize,
        routing: Routing,
    ) -> Result<Word, InjectError> {
        if len > fifo.body_bytes() {
            return Err(InjectError::TooLong);
        }
        if self.way.dest != dest {
            self.find_way(dest)?;
        }
        let dynamic = fifo == Fifo::Normal && routing == Routing::Adaptive;
        Ok(self.way.word.of(len, bubble_channel(fifo), fifo, dynamic))
    }

    #[inline(never)]
    fn find_way(&mut self, dest: Coord) -> Result<(), InjectError> {
        if self.shape.rank(dest).is_none() {
            return Err(InjectError::OutsideTorus);
        }
        self.way = Way::new(dest, route::hints(&self.shape, self.here, dest));
        Ok(())
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
        let word = self.line_word(fifo, d, hops, len)?;
        self.enqueue(word, d as u8, fill)
    }

    /// The header of such a packet.
    #[inline]
    pub(crate) fn line_word(
        &mut self,
        fifo: Fifo,
        d: Direction,
        hops: u16,
        len: usize,
    ) -> Result<Word, InjectError> {
        if len > fifo.body_bytes() {
            return Err(InjectError::TooLong);
        }
        let known = self.lines[d as usize];
        let word = match known.0 == hops && hops != 0 {
            true => known.1,
            false => self.find_line(d, hops)?,
        };
        Ok(word.of(len, bubble_channel(fifo), fifo, false))
    }

    /// What the headers of packets along so many nodes have in common.
    #[inline(never)]
    fn find_line(&mut self, d: Direction, hops: u16) -> Result<Word, InjectError> {
        let extent = self.shape.extents()[d.dimension()];
        if hops == 0 || hops >= extent {
            return Err(InjectError::OutsideTorus);
        }
        let dest = (0..hops).try_fold(self.here, |at, _| self.shape.neighbour(at, d));
        let dest = dest.ok_or(InjectError::OutsideTorus)?;
        let word = Word::to(dest, Directions::NONE.with(d), true);
        self.lines[d as usize] = (hops, word);
        Ok(word)
    }

    /// Injects a packet with this header, whose first output in dimension order is `first`.
    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        word: Word,
        first: u8,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), InjectError> {
        let source = self.injection_fifo(word, first);
        let packet = self.reserve(word, source).ok_or(InjectError::Full)?;
        word.fill(packet, fill);
        self.enqueued(word, first, source);
        Ok(())
    }

    /// Appends such a packet to an injection FIFO: where its body is to be written, if there is room. Then
    /// [`Router::enqueued`] follows.
    pub(crate) fn reserve(&mut self, word: Word, source: usize) -> Option<&mut [u8]> {
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
        let carried = self.carried(chunks);
        // The checksum follows when the packet leaves by a link that needs it.
        let packet = queue::bytes_mut(self.memory, start, carried);
        word.put(packet);
        Some(packet)
    }

    /// The packet has been written.
    pub(crate) fn enqueued(&mut self, word: Word, first: u8, source: usize) {
        if self.queues[source].used() != word.chunks() as u16 {
            // Others are before it.
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

    /// The injection FIFO for a packet: that of its first direction in dimension order; for a dynamic
    /// packet the emptiest of its productive directions.
    #[inline]
    pub(crate) fn injection_fifo(&self, word: Word, first: u8) -> usize {
        let hints = word.hints();
        match usize::from(first) {
            _ if word.fifo() == Fifo::Priority => INJECT_PRIORITY,
            first if first >= LOCAL => INJECT_SELF,
            first if !word.is_dynamic() || hints.bits() == 1 << first => INJECT + first,
            _ => self.emptiest(hints),
        }
    }

    /// The injection FIFO of one of these directions that has most room.
    #[inline(never)]
    fn emptiest(&self, hints: Directions) -> usize {
        let all = hints.iter().map(|d| INJECT + d as usize);
        all.max_by_key(|&q| self.queues[q].free())
            .unwrap_or(INJECT_SELF)
    }
}
