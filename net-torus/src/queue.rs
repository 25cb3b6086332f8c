//! Packet queues over one array of chunks.
//!
//! A queue is a ring of chunks in which a packet is always contiguous. Where packets stand one directly behind the
//! other, whatever their sizes, there is room for seven chunks more behind the ring's last, so that a packet which starts
//! there still ends in one piece. The same number of chunks at the start is then occupied too, hence nothing is stored
//! twice. Where each takes the place of the greatest, as on bubble channels, none goes beyond the ring's end.
//!
//! Without [`RING_FIFOS`] a FIFO is no ring, and has no run-over: it is full at its end, and begins anew when it is
//! empty, as one for one greatest packet soon is. Channels' buffers are rings always, as tokens count what is free.

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

/// In `Queue::base`, the two highest bits: see [`Queue::of_heads`]. No field of its own, so that queues are as great as
/// without.
#[cfg(any(test, feature = "sim"))]
const HALVINGS: u32 = 30;

/// In `Queue::base`: this queue begins anew instead of going round.
const BEGINS_ANEW: u32 = 1 << 29;

/// How packets lie in a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Layout {
    /// Each takes the place of the greatest.
    Apart,
    /// One directly behind the other.
    Dense,
    /// Likewise, in a queue of whose room no neighbour knows.
    Fifo,
}

impl Layout {
    /// Chunks of memory that a queue of `packets` packets of `greatest` chunks takes, the run-over included.
    pub const fn chunks_for(self, (packets, greatest): (u16, usize)) -> usize {
        let run_over = match self {
            Layout::Dense if packets > 0 => greatest - 1,
            Layout::Fifo if packets > 0 && RING_FIFOS => greatest - 1,
            _ => 0,
        };
        packets as usize * greatest + run_over
    }
}

/// As [`Layout::chunks_for`], of [`Queue::of_heads`].
#[cfg(any(test, feature = "sim"))]
pub(crate) const fn chunks_for_heads((packets, greatest): (u16, usize), halvings: u32) -> usize {
    (packets as usize * greatest) >> halvings
}

impl Queue {
    /// A queue for so many packets of so many chunks at most, whose memory starts at chunk `*at`; moves `*at` behind it.
    pub fn new(layout: Layout, (packets, greatest): (u16, usize), at: &mut usize) -> Self {
        let mut base = *at as u32;
        if !RING_FIFOS && layout == Layout::Fifo {
            base |= BEGINS_ANEW;
        }
        *at += layout.chunks_for((packets, greatest));
        Self {
            base,
            capacity: packets * greatest as u16,
            ..Self::default()
        }
    }
    /// As [`Queue::new`], for packets of at least 2^`halvings` chunks, of which only the first chunk is stored, one beside
    /// the other: their places begin so many from one another.
    #[cfg(any(test, feature = "sim"))]
    pub fn of_heads(layout: Layout, packets: (u16, usize), halvings: u32, at: &mut usize) -> Self {
        let end = *at + chunks_for_heads(packets, halvings);
        let mut queue = Self::new(layout, packets, at);
        queue.base |= halvings << HALVINGS;
        *at = end;
        queue
    }
    /// Chunks in all.
    pub fn capacity(&self) -> u16 {
        self.capacity
    }
    /// Chunks that can be appended.
    pub fn free(&self) -> u16 {
        match self.begins_anew() {
            true => self.capacity - self.head - self.used,
            false => self.capacity - self.used,
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
    /// Most chunks that were ever in use.
    pub fn high(&self) -> u16 {
        self.high
    }
    /// Greatest packets that can be appended and then lie one behind the other.
    pub fn room(&self) -> usize {
        self.straight(self.wrap(self.head + self.used), self.free())
    }
    /// Greatest packets at the front that lie one behind the other, if there are no smaller ones.
    pub fn run(&self) -> usize {
        self.straight(self.head, self.used)
    }
    /// Greatest packets in so many chunks from a place on.
    fn straight(&self, place: u16, chunks: u16) -> usize {
        let before_the_turn = (self.capacity - place).div_ceil(PACKET_CHUNKS as u16);
        before_the_turn.min(chunks / PACKET_CHUNKS as u16) as usize
    }
    /// Appends what takes `charge` chunks, which must be free: a packet, or as many as there is
    /// [`Queue::room`] for; where its chunks start.
    pub fn push(&mut self, charge: u16) -> usize {
        debug_assert!(self.free() >= charge);
        let tail = self.wrap(self.head + self.used);
        self.used += charge;
        self.high = self.high.max(self.used);
        self.at(tail)
    }
    /// Where in memory a place of the ring is.
    #[inline]
    fn at(&self, place: u16) -> usize {
        #[cfg(any(test, feature = "sim"))]
        let (base, place) = (
            self.base & !(u32::MAX << HALVINGS),
            place >> (self.base >> HALVINGS),
        );
        #[cfg(not(any(test, feature = "sim")))]
        let base = self.base;
        let base = if RING_FIFOS {
            base
        } else {
            base & !BEGINS_ANEW
        };
        base as usize + place as usize
    }
    /// A place of at most one turn too many; no division.
    fn wrap(&self, place: u16) -> u16 {
        if place < self.capacity {
            place
        } else {
            place - self.capacity
        }
    }
    /// Where the oldest packet's chunks start.
    pub fn front(&self) -> Option<usize> {
        (!self.is_empty()).then(|| self.at(self.head))
    }
    /// Where the next packet's chunks will start.
    #[cfg(any(test, feature = "sim"))]
    pub fn back(&self) -> usize {
        self.at(self.wrap(self.head + self.used))
    }
    /// Frees the oldest packet, or as many as there are in its [`Queue::run`], which take `charge` chunks.
    pub fn pop(&mut self, charge: u16) {
        debug_assert!(self.used >= charge);
        self.head = self.wrap(self.head + charge);
        self.used -= charge;
        if self.begins_anew() && self.is_empty() {
            self.head = 0;
        }
    }
}

/// `count` chunks from `start` as bytes.
pub(crate) fn bytes(memory: &[Chunk], start: usize, count: usize) -> &[u8] {
    memory[start..start + count].as_flattened()
}

/// As [`bytes`], to be written.
pub(crate) fn bytes_mut(memory: &mut [Chunk], start: usize, count: usize) -> &mut [u8] {
    memory[start..start + count].as_flattened_mut()
}

/// Bytes that are copied by a call: fewer take fewer instructions without.
const BY_CALL: usize = 3 * CHUNK_BYTES;

/// Copies packets, which are whole chunks. Small ones by the word, where both sides are aligned to words as between a
/// queue and a frame in memory: a message is mostly one, and there are two such copies on its way.
pub(crate) fn copy(to: &mut [u8], from: &[u8]) {
    type Words = [u64; CHUNK_BYTES / size_of::<u64>()];
    if from.len() < BY_CALL
        && let Ok(words) = bytemuck::try_cast_slice::<u8, Words>(from)
        && let Ok(to) = bytemuck::try_cast_slice_mut::<u8, Words>(to)
        && to.len() == words.len()
    {
        for (to, from) in to.iter_mut().zip(words) {
            // Word by word, so that it is not made a call again.
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
        for ((greatest, size), layout) in
            sizes.flat_map(|s| [(s, Layout::Dense), (s, Layout::Fifo)])
        {
            let packets = (PACKETS, greatest);
            let mut at = 5;
            let mut queue = Queue::of_heads(layout, packets, size.ilog2(), &mut at);
            assert_eq!(at, 5 + chunks_for_heads(packets, size.ilog2()));
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
        let mut queue = Queue::new(Layout::Apart, (2, PACKET_CHUNKS), &mut at);
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
        let mut queue = Queue::new(Layout::Fifo, (3, PACKET_CHUNKS), &mut at);
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
