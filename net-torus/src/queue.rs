//! Packet queues in one shared array of chunks.
//!
//! A queue is a ring buffer of chunks in which each packet is contiguous. In a dense queue, packets follow each other
//! directly, regardless of their size. Such a ring has up to seven extra chunks behind its end, so that a packet that
//! starts in the last chunk stays contiguous. It then also occupies the same number of chunks at the start, so that no
//! byte is stored twice. In a queue with slots of the maximum size, as on bubble channels, no packet crosses the ring's
//! end.
//!
//! Without [`RING_FIFOS`] a FIFO is no ring buffer and has no extra chunks. It is full at its end and restarts when it
//! is empty, soon in a FIFO for one maximum-size packet. Channel buffers are always ring buffers, as tokens count their
//! free space.

use crate::chunk::{CHUNK_BYTES, Chunk};
use crate::profile::{PACKET_CHUNKS, RING_FIFOS};

#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Queue {
    base: u32,
    capacity: u16,
    head: u16,
    used: u16,
    high: u16,
}

/// Bit offset in `Queue::base` of the two bits that [`Queue::with_heads_only`] uses; a separate field would enlarge every
/// queue.
#[cfg(any(test, feature = "sim"))]
const HALVINGS: u32 = 30;

/// Flag in `Queue::base`: the queue restarts when empty instead of wrapping around.
const BEGINS_ANEW: u32 = 1 << 29;

/// Layout of the packets in a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum QueueLayout {
    /// Each packet uses a slot of the maximum size.
    Separate,
    /// Packets follow each other directly.
    Dense,
    /// Same as `Dense`, in a queue whose free space no neighbour tracks.
    Fifo,
}

impl QueueLayout {
    /// Returns the memory in chunks for `packets` packets of `greatest` chunks, including the extra chunks at the end.
    pub const fn chunks_for(self, packets: u16, greatest: usize) -> usize {
        let run_over = match self {
            QueueLayout::Dense if packets > 0 => greatest - 1,
            QueueLayout::Fifo if packets > 0 && RING_FIFOS => greatest - 1,
            _ => 0,
        };
        packets as usize * greatest + run_over
    }
}

/// Returns the memory in chunks that [`Queue::with_heads_only`] requires.
#[cfg(any(test, feature = "sim"))]
pub(crate) const fn chunks_for_heads(packets: u16, greatest: usize, halvings: u32) -> usize {
    (packets as usize * greatest) >> halvings
}

impl Queue {
    /// Creates a queue for `packets` packets of at most `greatest` chunks, whose memory starts at chunk `*at`. Moves
    /// `*at` behind it.
    pub fn new(layout: QueueLayout, packets: u16, greatest: usize, at: &mut usize) -> Self {
        let mut base = *at as u32;
        if !RING_FIFOS && layout == QueueLayout::Fifo {
            base |= BEGINS_ANEW;
        }
        *at += layout.chunks_for(packets, greatest);
        Self {
            base,
            capacity: packets * greatest as u16,
            ..Self::default()
        }
    }
    /// Creates a queue for packets of at least 2^`halvings` chunks that stores only the first chunk of each, in one
    /// slot per 2^`halvings` chunks.
    #[cfg(any(test, feature = "sim"))]
    pub fn with_heads_only(layout: QueueLayout, packets: u16, greatest: usize, halvings: u32, at: &mut usize) -> Self {
        let end = *at + chunks_for_heads(packets, greatest, halvings);
        let mut queue = Self::new(layout, packets, greatest, at);
        queue.base |= halvings << HALVINGS;
        *at = end;
        queue
    }
    /// Returns the capacity in chunks.
    pub fn capacity(&self) -> u16 {
        self.capacity
    }
    /// Returns the free space in chunks.
    pub fn free(&self) -> u16 {
        if self.begins_anew() {
            self.capacity - self.head - self.used
        } else {
            self.capacity - self.used
        }
    }
    fn begins_anew(&self) -> bool {
        !RING_FIFOS && self.base & BEGINS_ANEW != 0
    }
    pub fn used(&self) -> u16 {
        self.used
    }
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }
    /// Returns the maximum number of chunks ever in use.
    pub fn high(&self) -> u16 {
        self.high
    }
    /// Returns the number of maximum-size packets that can be appended contiguously.
    pub fn room(&self) -> usize {
        self.straight(self.wrap(self.head + self.used), self.free())
    }
    /// Returns the number of maximum-size packets that are contiguous at the front, provided that no smaller ones are
    /// there.
    pub fn run(&self) -> usize {
        self.straight(self.head, self.used)
    }
    /// Returns the number of maximum-size packets in the contiguous part of `chunks` chunks from index `place`.
    fn straight(&self, place: u16, chunks: u16) -> usize {
        let before_the_turn = (self.capacity - place).div_ceil(PACKET_CHUNKS as u16);
        before_the_turn.min(chunks / PACKET_CHUNKS as u16) as usize
    }
    /// Appends packets of `charge` chunks in total and returns the index of their first chunk. The chunks must be free:
    /// one packet, or up to [`Queue::room`] packets.
    pub fn push(&mut self, charge: u16) -> usize {
        debug_assert!(self.free() >= charge);
        let tail = self.wrap(self.head + self.used);
        self.used += charge;
        self.high = self.high.max(self.used);
        self.at(tail)
    }
    /// Returns the memory index of a ring position.
    #[inline]
    fn at(&self, place: u16) -> usize {
        #[cfg(any(test, feature = "sim"))]
        let (base, place) = (self.base & !(u32::MAX << HALVINGS), place >> (self.base >> HALVINGS));
        #[cfg(not(any(test, feature = "sim")))]
        let base = self.base;
        let base = if RING_FIFOS { base } else { base & !BEGINS_ANEW };
        base as usize + place as usize
    }
    /// Wraps a position that is at most one round too large, without a division.
    fn wrap(&self, place: u16) -> u16 {
        if place < self.capacity {
            place
        } else {
            place - self.capacity
        }
    }
    /// Returns the memory index of the oldest packet.
    pub fn front(&self) -> Option<usize> {
        (!self.is_empty()).then(|| self.at(self.head))
    }
    /// Returns the memory index of the next packet.
    #[cfg(any(test, feature = "sim"))]
    pub fn back(&self) -> usize {
        self.at(self.wrap(self.head + self.used))
    }
    /// Removes the oldest packet, or up to [`Queue::run`] of them, which use `charge` chunks.
    pub fn pop(&mut self, charge: u16) {
        debug_assert!(self.used >= charge);
        self.head = self.wrap(self.head + charge);
        self.used -= charge;
        if self.begins_anew() && self.is_empty() {
            self.head = 0;
        }
    }
}

/// Returns `count` chunks from `start` as bytes.
pub(crate) fn bytes(memory: &[Chunk], start: usize, count: usize) -> &[u8] {
    memory[start..start + count].as_flattened()
}

/// Returns `count` chunks from `start` as mutable bytes.
pub(crate) fn bytes_mut(memory: &mut [Chunk], start: usize, count: usize) -> &mut [u8] {
    memory[start..start + count].as_flattened_mut()
}

/// Minimum size in bytes of a copy by `memcpy`; an inline copy of less requires fewer instructions.
const BY_CALL: usize = 3 * CHUNK_BYTES;

/// Copies packets, which are multiples of chunks. Small ones are copied by words if both sides are aligned, as between
/// a queue and a frame in memory: most messages are one small packet, with two such copies on the path.
pub(crate) fn copy(to: &mut [u8], from: &[u8]) {
    type Words = [u64; CHUNK_BYTES / size_of::<u64>()];
    if from.len() < BY_CALL
        && let Ok(words) = bytemuck::try_cast_slice::<u8, Words>(from)
        && let Ok(to) = bytemuck::try_cast_slice_mut::<u8, Words>(to)
        && to.len() == words.len()
    {
        for (to, from) in to.iter_mut().zip(words) {
            // Explicit words keep the compiler from a `memcpy` call.
            let [a, b, c, d] = *from;
            *to = [a, b, c, d];
        }
        return;
    }
    to.copy_from_slice(from);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::PRIORITY_CHUNKS;
    use std::collections::VecDeque;

    #[test]
    fn first_chunks_alone_have_places_of_their_own_side_by_side() {
        const PACKETS: u16 = 4;
        let sizes = |greatest| (1..=greatest as u16).map(move |size| (greatest, size));
        let sizes = sizes(PACKET_CHUNKS).chain(sizes(PRIORITY_CHUNKS));
        for ((greatest, size), layout) in sizes.flat_map(|s| [(s, QueueLayout::Dense), (s, QueueLayout::Fifo)]) {
            let mut at = 5;
            let mut queue = Queue::with_heads_only(layout, PACKETS, greatest, size.ilog2(), &mut at);
            assert_eq!(at, 5 + chunks_for_heads(PACKETS, greatest, size.ilog2()));
            let mut model = VecDeque::new();
            for _ in 0..100 {
                while queue.free() >= size {
                    let start = queue.push(size);
                    assert!((5..at).contains(&start) && !model.contains(&start));
                    model.push_back(start);
                }
                assert_eq!(queue.front(), model.pop_front());
                queue.pop(size);
            }
        }
    }

    #[test]
    fn packets_that_take_the_place_of_the_greatest_do_not_go_beyond_the_end() {
        let mut at = 5;
        let mut queue = Queue::new(QueueLayout::Separate, 2, PACKET_CHUNKS, &mut at);
        assert_eq!(at, 5 + 2 * PACKET_CHUNKS);
        for serial in 0..5 {
            let start = queue.push(PACKET_CHUNKS as u16);
            assert_eq!(start, 5 + serial % 2 * PACKET_CHUNKS);
            if serial > 0 {
                queue.pop(PACKET_CHUNKS as u16);
            }
        }
    }

    #[test]
    fn packets_stay_whole_and_in_order() {
        let mut at = 3;
        let mut queue = Queue::new(QueueLayout::Fifo, 3, PACKET_CHUNKS, &mut at);
        let capacity = 3 * PACKET_CHUNKS as u16;
        let run_over = if RING_FIFOS { PACKET_CHUNKS - 1 } else { 0 };
        assert_eq!(at, 3 + usize::from(capacity) + run_over);
        let mut memory = vec![[0u8; 32]; at];
        let mut model = VecDeque::new();
        let mut seed = 1u32;
        for serial in 0..100_000u32 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let size = (seed >> 24) as u16 % PACKET_CHUNKS as u16 + 1;
            if queue.free() >= size {
                let start = queue.push(size);
                assert!((3..=at - size as usize).contains(&start));
                bytes_mut(&mut memory, start, size as usize).fill(serial as u8);
                model.push_back((size, serial as u8));
            } else {
                let (size, fill) = model.pop_front().unwrap();
                let start = queue.front().unwrap();
                let packet = bytes(&memory, start, size as usize);
                assert!(packet.iter().all(|&b| b == fill));
                queue.pop(size);
            }
            assert_eq!(queue.used(), model.iter().map(|p| p.0).sum::<u16>());
        }
        assert_eq!(queue.high(), capacity);
        assert!(memory[..3].iter().flatten().all(|&b| b == 0));
    }
}
