//! Cut-through injection: writes a packet directly into the outgoing frame if no other packet waits.
//!
//! The result is that of [`Router::inject`] followed by the next half step ([`Torus::transmit_frames`]), without the copy
//! through the injection FIFO. Both yield the same if no packet waits for the link or in the packet's injection FIFO,
//! and the packet has one route only, and tokens for it. The link must be memory that buffers unsent frames
//! ([`Link::buffers_unsent`]). Further packets of the same step join the open frame, which is sent at the step's end.
//!
//! A run of maximum-size packets ([`Torus::inject_run`]) that lacks only tokens waits in the sender, not in the
//! injection FIFO. After one packet of a long message waits there, all later ones would. Packets that must keep their
//! order enter the FIFO, as their sender may have others to inject after them.

use crate::chunk::{CHUNK_BYTES, PACKET_BYTES};
use crate::coord::{Coord, Direction};
use crate::inject::{InjectError, RoutingMode};
use crate::link::Link;
use crate::open_frames::WORTH_A_FRAME;
use crate::profile::PACKET_CHUNKS;
use crate::router::{ArbitrationResult, Router};
use crate::torus::Torus;
use crate::vc::Vc;
use crate::wire::{BODY_BYTES, DirectionSet, FRAME_HEADER_BYTES, Fifo, HEADER_BYTES, HeaderWord};

impl<L: Link> Torus<'_, L> {
    /// Injects a packet with the given routing; see [`Router::inject`].
    #[inline]
    pub fn inject(
        &mut self,
        fifo: Fifo,
        dest: Coord,
        len: usize,
        routing: RoutingMode,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), InjectError> {
        let word = self.router.word(fifo, dest, len, routing)?;
        let first = self.router.way.first;
        self.inject_word(word, first, fill)
    }

    /// Injects a deposit packet; see [`Router::inject_line`].
    #[inline]
    pub fn inject_line(
        &mut self,
        fifo: Fifo,
        d: Direction,
        hops: u16,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), InjectError> {
        let word = self.router.line_word(fifo, d, hops, len)?;
        self.inject_word(word, d as u8, fill)
    }

    /// Injects a run of maximum-size packets; see [`Router::inject_run`]. With [`RoutingMode::Adaptive`], an idle link
    /// without tokens also returns [`InjectError::Full`].
    #[inline]
    pub fn inject_run(
        &mut self,
        dest: Coord,
        count: usize,
        routing: RoutingMode,
        mut fill: impl FnMut(&mut [u8]),
    ) -> Result<usize, InjectError> {
        let word = self.router.word(Fifo::Normal, dest, BODY_BYTES, routing)?;
        let first = self.router.way.first;
        let Some(packets) = self.pass(word, first, count) else {
            if word.is_dynamic() && self.lacks_tokens(word, first) {
                return Err(InjectError::Full);
            }
            return self.router.enqueue_run(word, first, count, fill);
        };
        let (packets, _) = packets.as_chunks_mut::<PACKET_BYTES>();
        for packet in &mut *packets {
            fill(&mut packet[HEADER_BYTES..]);
        }
        Ok(packets.len())
    }

    /// Passes received packets to `take`; see [`Router::take_run`].
    pub fn take_run(&mut self, fifo: Fifo, most: usize, mut take: impl FnMut(&Self, &[u8]) -> bool) -> usize {
        let Some(run) = self.router.received_run(fifo, most) else {
            return 0;
        };
        let taken = run.hand_out(|at| take(self, self.router.received(&run, at)));
        self.router.free_run(&run, taken);
        taken
    }

    /// Checks whether tokens alone prevent cut-through. More tokens arrive only with a frame, thus with a step. Until
    /// then the run can remain in the sender, which saves one copy.
    #[inline(never)]
    fn lacks_tokens(&self, word: HeaderWord, first: u8) -> bool {
        let d = Direction::ALL.get(usize::from(first));
        d.is_some_and(|&d| {
            let router = &self.router;
            let source = router.injection_fifo(word, first);
            L::MAY_BUFFER_UNSENT
                && self.keeps.has(d)
                && router.is_alone(word, d, source)
                && router.channel_of(word, word.hints(), source, d).is_none()
        })
    }

    #[inline]
    fn inject_word(&mut self, word: HeaderWord, first: u8, fill: impl FnOnce(&mut [u8])) -> Result<(), InjectError> {
        // The single call of `fill`, so that the compiler inlines it.
        let (packet, waits) = match self.pass(word, first, 1) {
            Some(packet) => (packet, None),
            None => {
                let source = self.router.injection_fifo(word, first);
                let packet = self.router.reserve(word, source);
                (packet.ok_or(InjectError::Full)?, Some(source))
            }
        };
        word.fill(packet, fill);
        if let Some(source) = waits {
            self.router.enqueued(word, first, source);
        }
        Ok(())
    }

    /// Reserves space for up to `count` packets with this header in the open frame of their direction, and writes their
    /// headers. Returns the space, or `None` if cut-through is impossible.
    #[inline(never)]
    fn pass(&mut self, word: HeaderWord, first: u8, count: usize) -> Option<&mut [u8]> {
        let d = *Direction::ALL.get(usize::from(first))?;
        if !L::MAY_BUFFER_UNSENT || !self.keeps.has(d) {
            return None;
        }
        let (vc, source) = self.router.passage(word, d)?;
        let bytes = word.chunks() * CHUNK_BYTES;
        let mut at = self.open_frames.bytes(d);
        if at + bytes > self.room {
            self.end_full(d);
            at = 0;
        }
        let frame = self.links[d as usize].as_mut()?.unsent()?;
        let (choice, start) = (ArbitrationResult { source, vc }, FRAME_HEADER_BYTES + at);
        if word.chunks() < PACKET_CHUNKS {
            let packet = frame.get_mut(start..start + bytes)?;
            self.open_frames.set(d, at + bytes);
            self.router.pass(word, d, choice, 1);
            word.with_vc(vc).put(packet);
            return Some(packet);
        }
        let tokens = 1 + self.router.tokens_for_more(word, d, choice);
        let count = count.min(tokens).min((self.room - at) / PACKET_BYTES);
        let packets = frame.get_mut(start..start + count * PACKET_BYTES)?;
        self.open_frames.set(d, at + packets.len());
        self.router.pass(word, d, choice, count);
        for packet in packets.as_chunks_mut::<PACKET_BYTES>().0 {
            word.with_vc(vc).put(packet);
        }
        Some(packets)
    }

    /// Sends the open frames when no other packet can be added. Returns true if it sent any; a small frame waits for a
    /// busy neighbour.
    #[inline(never)]
    pub(crate) fn send_open_frames(&mut self) -> bool {
        let mut held = DirectionSet::NONE;
        let mut left = self.open_frames.directions();
        let mut moved = false;
        while let Some(d) = left.first() {
            left = left.without(d);
            let is_worth = self.open_frames.bytes(d) >= WORTH_A_FRAME * CHUNK_BYTES;
            let link = &mut self.links[d as usize];
            if !is_worth && self.gathers && link.as_mut().is_some_and(L::is_behind) {
                held = held.with(d);
            } else {
                self.end_begun(d);
                moved = true;
            }
        }
        let before = core::mem::replace(&mut self.held, held);
        self.end_waits(before);
        moved
    }

    /// Sends the full open frame in this direction.
    // A call: most frames are not full.
    #[inline(never)]
    fn end_full(&mut self, d: Direction) {
        self.end_begun(d);
    }

    /// Sends the open frame in this direction as it is.
    #[inline]
    fn end_begun(&mut self, d: Direction) {
        let bytes = self.open_frames.close(d);
        // The link had space when the frame was opened; a link that has failed since transmits nothing.
        if let Some(link) = &mut self.links[d as usize]
            && let Some(frame) = link.unsent()
        {
            let bytes = self.router.end_frame(d, frame, bytes);
            link.send_unsent(bytes);
            self.touched = self.touched.with(d);
        }
    }
}

impl Router<'_> {
    /// Returns the channel for cut-through in direction `d` and the bypassed injection FIFO, or `None` if packets with
    /// this header must wait.
    #[inline]
    fn passage(&self, word: HeaderWord, d: Direction) -> Option<(Vc, usize)> {
        let source = self.injection_fifo(word, d as u8);
        if !self.is_alone(word, d, source) {
            return None;
        }
        let vc = self.channel_of(word, word.hints(), source, d)?;
        Some((vc, source))
    }

    /// Checks whether packets with this header can use only direction `d`, and none waits for it or in injection FIFO
    /// `source`.
    #[inline]
    fn is_alone(&self, word: HeaderWord, d: Direction, source: usize) -> bool {
        self.is_unwanted(d)
            && self.queues[source].is_empty()
            && (!word.is_dynamic() || word.hints() == DirectionSet::NONE.with(d))
    }

    /// Updates the counters for `count` packets sent by cut-through.
    #[inline]
    fn pass(&mut self, word: HeaderWord, d: Direction, choice: ArbitrationResult, count: usize) {
        let injected = &mut self.stats.fifos[word.fifo() as usize].injected;
        injected.add_all(count, count * word.chunks());
        self.account(word, d, choice, count, 0);
        self.invalidate_choices();
    }
}
