//! The link: slots in shared memory, written and read in place, and the sleep flags of its nodes.
//!
//! ```text
//! producer   fills slot head % SLOTS, then stores its name  full when head - tail = SLOTS
//! consumer   reads slot tail % SLOTS, publishes tail + 1    empty when the slot has another name
//! both       at the end of a round: one fence, then a check of the other node's flag; only a sleeping node is rung
//! ```
//! A slot's name is the sequence number of its frame. The consumer polls it, and finds the frame in the same cache
//! line.
//!
//! The neighbour's data is not trusted, and a wild store of either end may corrupt anything here. A frame contains a
//! seal (checksum). An impossible index or length ends the link, and [`NodeLink::audit`] detects other corruption that
//! would make an end wait forever.

use net_torus::coord::Direction;
use net_torus::link::Link;

use alloc::boxed::Box;
use core::sync::atomic::compiler_fence;

use super::sync::{AtomicU32, Ordering, UnsafeCell, fence};
use super::{FRAME_BYTES, SLOTS};
use crate::node::NodeLink;

/// The node polls its links.
const AWAKE: u32 = 0;
/// The node sleeps, or is about to: a neighbour with work for it must ring its doorbell.
const ASLEEP: u32 = 1;
/// The node is [`ASLEEP`], and its doorbell was rung.
const RUNG: u32 = 2;
/// The node is [`ASLEEP`] but still watches this word: a store of [`RUNG`] is sufficient, without the doorbell.
const SPINNING: u32 = 3;

/// Number of outstanding frames from which a frame with few packets should wait for more. While the neighbour handles
/// one frame, the next one is already there.
const BEHIND: u32 = if SLOTS < 2 { SLOTS as u32 } else { 2 };

/// Doorbell that wakes a sleeping neighbour.
pub trait Doorbell {
    /// Wakes the node: its sleep ends now or, if it is about to sleep, immediately. Does not block. Earlier writes must
    /// be visible to the node when it wakes.
    fn ring(&self);
}

/// Sleep flag of a node: one word, shared by all its links and checked by all its neighbours. All zeros: awake.
///
/// The board implements the sleep itself: until the doorbell rings, or while the word is [`SleepFlag::ARMED`].
#[repr(C, align(64))]
pub struct SleepFlag(AtomicU32);

impl Default for SleepFlag {
    /// Creates the flag of a node that is awake.
    fn default() -> Self {
        Self(AtomicU32::new(AWAKE))
    }
}

impl SleepFlag {
    /// Value of the word while the node may sleep and was not rung.
    pub const ARMED: u32 = ASLEEP;
    /// Value of the word that ends the sleep, for a board whose host tool also rings.
    pub const RUNG: u32 = RUNG;

    /// Returns the word, for a board that sleeps by waiting on it while it is [`SleepFlag::ARMED`].
    pub fn word(&self) -> &AtomicU32 {
        &self.0
    }

    /// Returns whether the node may sleep and was not rung.
    pub fn is_armed(&self) -> bool {
        self.0.load(Ordering::Relaxed) == ASLEEP
    }

    /// Returns whether the node was rung since its last check.
    pub fn is_rung(&self) -> bool {
        self.0.load(Ordering::Relaxed) == RUNG
    }

    /// Watches for a ring instead of sleeping, while `goes_on` returns true. Meanwhile neighbours need no doorbell,
    /// which may be more expensive than the word. Returns true if the node was rung. Must be called where the sleep
    /// would start.
    pub fn spin(&self, mut goes_on: impl FnMut() -> bool) -> bool {
        if !self.change(ASLEEP, SPINNING) {
            return true;
        }
        while goes_on() {
            if self.0.load(Ordering::Relaxed) == RUNG {
                return true;
            }
        }
        !self.change(SPINNING, ASLEEP)
    }

    fn change(&self, old: u32, new: u32) -> bool {
        self.0
            .compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// Makes neighbours ring from now on. Returns false if one has rung already. Must be called before the last check.
    #[inline]
    pub fn arm(&self) -> bool {
        // Neighbours change the word to RUNG, and never from AWAKE: only this node stores that value.
        match self.0.load(Ordering::Relaxed) {
            ASLEEP | SPINNING => true,
            AWAKE => {
                self.0.store(ASLEEP, Ordering::Relaxed);
                // Pairs with the fence of `RingLink::announce`.
                fence(Ordering::SeqCst);
                true
            }
            _ => false,
        }
    }

    /// Makes neighbours ring no more: the node is awake, or would ignore a doorbell.
    #[inline]
    pub fn disarm(&self) {
        if self.0.load(Ordering::Relaxed) != AWAKE {
            // A store would suffice, as the ring that it overwrites is an exchange; loom does not model that.
            self.0.swap(AWAKE, Ordering::Relaxed);
        }
    }

    /// Records the ring and returns whether the doorbell is required. Must be called after a fence.
    fn is_to_be_rung(&self) -> bool {
        let mut seen = self.0.load(Ordering::Relaxed);
        // Repeated only if the node has just begun or stopped to watch.
        while seen == ASLEEP || seen == SPINNING {
            let rung = self
                .0
                .compare_exchange(seen, RUNG, Ordering::Relaxed, Ordering::Relaxed);
            match rung {
                Ok(_) => return seen == ASLEEP,
                Err(now) => seen = now,
            }
        }
        false
    }
}

/// An index or a flag on a separate cache line.
#[repr(C, align(64))]
struct CacheLineWord(AtomicU32);

/// A [`CacheLineWord`] that the exploration does not model.
#[repr(C, align(64))]
struct UnmodelledWord(core::sync::atomic::AtomicU32);

/// Returns a frame's name: the number of frames including it, modulo 2^32. A slot that was never filled contains 0.
#[inline]
const fn name(before: u32) -> u32 {
    before.wrapping_add(1)
}

/// Buffer of one frame. Name and length precede the data, so that a short frame occupies adjacent cache lines. The
/// data, and with it each packet, starts at a multiple of 16 bytes, which permits copies by machine words.
#[repr(C, align(16))]
struct FrameSlot {
    /// Sequence number of the frame. Written by the producer.
    name: AtomicU32,
    frame: UnsafeCell<RingFrame>,
}

#[repr(C)]
struct RingFrame {
    bytes: u32,
    /// The [`seal`], its lower half first.
    seal: [u32; 2],
    data: [u8; FRAME_BYTES],
}

impl RingFrame {
    /// Completes a frame that was written in place with this many bytes.
    #[inline]
    fn close(&mut self, name: u32, bytes: usize) {
        let bytes = bytes.min(FRAME_BYTES);
        self.bytes = bytes as u32;
        self.seal = halves(seal(name, bytes, &[]));
    }

    /// Copies and completes a frame that was written to a draft. The seal is computed from the draft.
    fn copy(&mut self, name: u32, bytes: usize, draft: &FrameDraft) {
        let bytes = bytes.min(FRAME_BYTES);
        let data = &draft.0[..bytes];
        self.bytes = bytes as u32;
        self.seal = halves(seal(name, bytes, data));
        self.data[..bytes].copy_from_slice(data);
    }
}

/// Data of a frame under construction, in memory of this end only. In the ring, a wild store before the seal is
/// computed would be sealed too. Aligned as in a [`FrameSlot`].
#[repr(C, align(16))]
struct FrameDraft([u8; FRAME_BYTES]);

/// Rotation of the sum for each part of a frame, in bits.
const TURN: u32 = 23;

/// Returns the seal of a frame with this name, length and data. A store of up to eight bytes always changes the seal,
/// because it changes one word, or disjoint lanes of two. Of larger changes, one in 2^64 is missed, except for a
/// constructed one.
#[inline]
fn seal(name: u32, bytes: usize, data: &[u8]) -> u64 {
    let seed = u64::from(name) << 32 | bytes as u64;
    if data.is_empty() { seed } else { seal_on(seed, data) }
}

/// The seal with data, which most links do not use: a separate function, for its registers.
#[inline(never)]
fn seal_on(seed: u64, data: &[u8]) -> u64 {
    let start = data.as_ptr().cast::<u64>();
    if !start.is_aligned() || !data.len().is_multiple_of(size_of::<u64>()) {
        return seal_by_bytes(seed, data);
    }
    // SAFETY: the same memory, aligned; any bytes are valid words.
    let words = unsafe { core::slice::from_raw_parts(start, data.len() / size_of::<u64>()) };
    let (fours, rest) = words.as_chunks();
    let sum = fours.iter().fold(seed, |sum: u64, [a, b, c, d]| {
        let four = a.wrapping_add(*b).wrapping_add(*c).wrapping_add(*d);
        sum.rotate_left(TURN).wrapping_add(four)
    });
    { rest.iter() }.fold(sum, |sum, word| sum.rotate_left(TURN).wrapping_add(*word))
}

/// The seal of a frame whose length or alignment is not that of words; the router creates none.
#[cold]
#[inline(never)]
fn seal_by_bytes(seed: u64, data: &[u8]) -> u64 {
    data.iter()
        .fold(seed, |sum, byte| sum.rotate_left(TURN).wrapping_add(u64::from(*byte)))
}

#[inline]
fn halves(seal: u64) -> [u32; 2] {
    [seal as u32, (seal >> 32) as u32]
}

/// Ring buffer of one direction.
#[repr(C)]
struct FrameRing {
    /// Frames freed so far, modulo 2^32. Written by the consumer.
    tail: CacheLineWord,
    /// 1: the producer waits for free space. Written by the producer.
    full: CacheLineWord,
    /// Frames sent so far, modulo 2^32, as of the end of a round. Written by the producer; only [`NodeLink::audit`]
    /// reads it.
    head: UnmodelledWord,
    slots: [FrameSlot; SLOTS],
}

// SAFETY: a slot belongs to the producer until it contains the next frame's name and to the consumer until `tail`
// passes it; each end is one `RingLink`.
unsafe impl Sync for FrameSlot {}

/// Both directions of one link, in memory that its two ends share. All zeros: no outstanding frames.
#[repr(C, align(4096))]
pub struct RingPair([FrameRing; 2]);

impl Default for RingPair {
    /// Creates a pair without outstanding frames.
    fn default() -> Self {
        let word = || CacheLineWord(AtomicU32::new(0));
        Self([(); 2].map(|()| FrameRing {
            tail: word(),
            full: word(),
            head: UnmodelledWord(core::sync::atomic::AtomicU32::new(0)),
            slots: core::array::from_fn(|_| FrameSlot {
                name: AtomicU32::new(0),
                frame: UnsafeCell::new(RingFrame {
                    bytes: 0,
                    seal: [0; 2],
                    data: [0; FRAME_BYTES],
                }),
            }),
        }))
    }
}

/// One end of a link.
pub struct RingLink<'m, B> {
    outgoing: &'m FrameRing,
    incoming: &'m FrameRing,
    here: &'m SleepFlag,
    there: &'m SleepFlag,
    doorbell: B,
    /// This end's own index; the copy in the ring is for the neighbour.
    head: u32,
    /// Name of the next received frame, and its slot.
    awaited: u32,
    slot_in: &'m FrameSlot,
    /// The neighbour's index, as last read.
    seen_tail: u32,
    /// Limit of outstanding frames that [`Link::transmit`] or [`Link::is_behind`] found reached: this end waits for
    /// fewer. Or 0.
    full_at: u32,
    /// Bit set of exceptional states, so that the check before sleep reads one word.
    state: u8,
    /// Buffer for frames whose seal covers all bytes; `None`: frames are written in the ring, and the seal covers name
    /// and length.
    draft: Option<Box<FrameDraft>>,
    defects: u64,
}

/// In [`RingLink::state`]: frames were published, and the neighbour was not notified.
const PUBLISHED: u8 = 1 << 0;
/// Slots were freed, and the neighbour was not notified.
const FREED: u8 = 1 << 1;
/// `full_at` is not 0.
const FULL: u8 = 1 << 2;
/// The neighbour knows that this end waits for free space.
const WAITS: u8 = 1 << 3;
/// The memory is corrupted: nothing in it is valid any more.
const BROKEN: u8 = 1 << 4;

impl<'m, B: Doorbell> RingLink<'m, B> {
    /// Creates the end of `pair` whose neighbour is in this `direction`; the other end belongs to the neighbour, in the
    /// opposite direction. `here` and `there` are the sleep flags of this node and of the neighbour, which `doorbell`
    /// wakes.
    ///
    /// Each end must be created once, before any frame is sent; a successor [resumes](Self::resume).
    pub fn new(
        pair: &'m RingPair,
        direction: Direction,
        here: &'m SleepFlag,
        there: &'m SleepFlag,
        doorbell: B,
    ) -> Self {
        let [upwards, downwards] = &pair.0;
        let (outgoing, incoming) = match direction {
            Direction::XPlus | Direction::YPlus | Direction::ZPlus => (upwards, downwards),
            Direction::XMinus | Direction::YMinus | Direction::ZMinus => (downwards, upwards),
        };
        Self {
            outgoing,
            incoming,
            here,
            there,
            doorbell,
            head: 0,
            awaited: name(0),
            slot_in: &incoming.slots[0],
            seen_tail: 0,
            full_at: 0,
            state: 0,
            draft: None,
            defects: 0,
        }
    }

    /// Makes the seal cover all bytes of frames if `whole`, instead of name and length only. Both ends of a link must
    /// use the same setting. Allocates [`FRAME_BYTES`] from the heap, once.
    #[must_use]
    pub fn seal(mut self, whole: bool) -> Self {
        self.draft = whole.then(|| Box::new(FrameDraft([0; FRAME_BYTES])));
        self
    }

    /// Returns the numbers of frames sent and received, for a [successor](Self::resume); `None` while this end owes its
    /// neighbour a notification, or if the link has ended. A successor itself finds out whether it must wait for free space.
    pub fn position(&self) -> Option<[u32; 2]> {
        let is_settled = !self.is(PUBLISHED | FREED | BROKEN);
        is_settled.then(|| [self.head, self.awaited.wrapping_sub(1)])
    }

    /// Continues where a predecessor in another process has ended, after [`RingLink::position`].
    #[must_use]
    pub fn resume(mut self, [sent, received]: [u32; 2]) -> Self {
        self.head = sent;
        self.awaited = name(received);
        self.slot_in = &self.incoming.slots[received as usize & (SLOTS - 1)];
        self.seen_tail = self.outgoing.tail.0.load(Ordering::Acquire);
        self.outgoing.full.0.store(0, Ordering::Relaxed);
        self
    }

    #[inline]
    fn is(&self, state: u8) -> bool {
        self.state & state != 0
    }

    #[inline]
    fn has_frame(&self) -> bool {
        self.slot_in.name.load(Ordering::Relaxed) == self.awaited
    }

    /// Returns the next slot that this end fills.
    #[inline]
    fn slot_out(&self) -> &'m FrameSlot {
        &self.outgoing.slots[self.head as usize & (SLOTS - 1)]
    }

    #[inline]
    fn has_room(&mut self, most: u32) -> bool {
        let under_way = self.head.wrapping_sub(self.seen_tail);
        if under_way < most {
            return !self.is(BROKEN);
        }
        // Acquires the slots that the consumer has released.
        self.seen_tail = self.outgoing.tail.0.load(Ordering::Acquire);
        let under_way = self.head.wrapping_sub(self.seen_tail);
        self.check(under_way) && under_way < most
    }

    /// Checks whether `under_way` frames can be outstanding, and that the link was always valid; otherwise ends the
    /// link.
    #[inline]
    fn check(&mut self, under_way: u32) -> bool {
        if under_way > SLOTS as u32 {
            self.end();
        }
        !self.is(BROKEN)
    }

    #[cold]
    fn end(&mut self) {
        self.defects += !self.is(BROKEN) as u64;
        self.state |= BROKEN;
    }

    /// Rings the neighbour if it sleeps and there is something new for it.
    #[inline]
    fn announce(&mut self) {
        let news = self.state & (PUBLISHED | FREED);
        if news == 0 {
            return;
        }
        self.state &= !news;
        // Orders published frames and freed slots before the check of the neighbour's flag, which the neighbour sets
        // before its last check: see `SleepFlag::arm` and `prepare_all`. At least one of the two sees the other's change.
        fence(Ordering::SeqCst);
        // After the fence, and thus after the frames' names.
        self.outgoing.head.0.store(self.head, Ordering::Relaxed);
        let wanted = news & PUBLISHED != 0 || self.incoming.full.0.load(Ordering::Relaxed) != 0;
        if wanted && self.there.is_to_be_rung() {
            self.doorbell.ring();
        }
    }

    /// Publishes the next slot, which is written, to the neighbour.
    #[inline]
    fn publish(&mut self) {
        // Releases the written frame.
        let name = name(self.head);
        self.slot_out().name.store(name, Ordering::Release);
        self.head = self.head.wrapping_add(1);
        self.state |= PUBLISHED;
    }

    /// Sets the number of outstanding frames below which this end has free space again; 0: it does not wait.
    #[inline]
    fn wait_for(&mut self, full_at: u32) {
        self.full_at = full_at;
        match full_at {
            0 => self.state &= !FULL,
            _ => self.state |= FULL,
        }
    }

    /// Last check before sleep, after [`SleepFlag::arm`]. Returns whether there is nothing to do: no frame, and no free
    /// space that this end waits for.
    #[inline]
    fn is_quiet(&mut self) -> bool {
        let is_calm = self.state == 0 || self.is_settled();
        is_calm && (!self.has_frame() || self.is(BROKEN))
    }

    /// Notifies the neighbour of everything it must know while this end sleeps. Returns false if there is free space
    /// for a waiting frame.
    // Most links have no notification to send.
    #[inline(never)]
    fn is_settled(&mut self) -> bool {
        self.announce();
        let waits = self.is(FULL);
        if self.is(WAITS) != waits {
            self.state ^= WAITS;
            self.outgoing.full.0.store(waits as u32, Ordering::Relaxed);
            if waits {
                // As in `SleepFlag::arm`, which was called before.
                fence(Ordering::SeqCst);
            }
        }
        !(waits && self.has_room(self.full_at))
    }
}

/// Implements [`NodeLink::prepare_sleep`] for all links of one node, which share its word.
#[inline]
pub fn prepare_all<'l, 'm: 'l, B: Doorbell + 'l>(links: impl Iterator<Item = &'l mut RingLink<'m, B>>) -> bool {
    let mut is_armed = false;
    for link in links {
        if !is_armed && !link.here.arm() {
            return false;
        }
        is_armed = true;
        if !link.is_quiet() {
            return false;
        }
    }
    true
}

impl<B: Doorbell> Link for RingLink<'_, B> {
    const HAS_TIMEOUTS: bool = false;
    const ALL_EXACT: bool = true;
    const MAY_BUFFER_UNSENT: bool = true;

    fn mtu(&self) -> usize {
        FRAME_BYTES
    }

    #[inline]
    fn may_receive(&mut self) -> bool {
        self.has_frame()
    }

    fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool {
        if !self.has_frame() || self.is(BROKEN) {
            return false;
        }
        // Acquires the frame that the producer wrote before.
        fence(Ordering::Acquire);
        let good = self.slot_in.frame.with(|frame| {
            // SAFETY: the slot has the frame's name, so the producer is done with it until `tail` passes it. Bytes have
            // no invalid values. A neighbour that violates this changes bytes that the torus checks. The length is read
            // once.
            let (frame, bytes) = unsafe { (&*frame, (&raw const (*frame).bytes).read_volatile()) };
            let bytes = bytes as usize;
            let Some(data) = frame.data.get(..bytes) else {
                return false;
            };
            f(data);
            // After `f`, to include every change that a wild store made until then: the seal matches the bytes that `f`
            // read, or they are no longer as sent. The layers above use none of them before they have checked whether
            // the link is dead.
            compiler_fence(Ordering::SeqCst);
            let sealed = if self.draft.is_some() { data } else { &[] };
            frame.seal == halves(seal(self.awaited, bytes, sealed))
        });
        if !good {
            self.end();
        }
        // Releases the slot: `f` is done with it.
        self.incoming.tail.0.store(self.awaited, Ordering::Release);
        self.slot_in = &self.incoming.slots[self.awaited as usize & (SLOTS - 1)];
        self.awaited = name(self.awaited);
        self.state |= FREED;
        true
    }

    fn transmit(&mut self, f: impl FnOnce(&mut [u8]) -> usize) -> bool {
        if !self.has_room(SLOTS as u32) {
            self.wait_for(SLOTS as u32);
            return false;
        }
        self.wait_for(0);
        let (name, slot) = (name(self.head), self.slot_out());
        let mut draft = self.draft.as_deref_mut();
        let bytes = slot.frame.with_mut(|frame| {
            // SAFETY: `tail` has passed the slot, so the consumer is done with it until it has a name. Bytes have no
            // invalid values.
            let frame = unsafe { &mut *frame };
            let bytes = f(match &mut draft {
                Some(draft) => &mut draft.0,
                None => &mut frame.data,
            });
            match draft {
                _ if bytes == 0 => {}
                Some(draft) => frame.copy(name, bytes, draft),
                None => frame.close(name, bytes),
            }
            bytes
        });
        if bytes != 0 {
            self.publish();
        }
        true
    }

    fn buffers_unsent(&self) -> bool {
        true
    }

    #[inline]
    fn unsent(&mut self) -> Option<&mut [u8]> {
        if !self.has_room(SLOTS as u32) {
            return None;
        }
        let slot = self.slot_out();
        if let Some(draft) = &mut self.draft {
            return Some(&mut draft.0);
        }
        let frame = slot.frame.with_mut(|frame| frame);
        // SAFETY: as in `transmit`; nothing else of this end refers to the slot while `self` is borrowed.
        Some(unsafe { &mut (*frame).data })
    }

    #[inline]
    fn send_unsent(&mut self, bytes: usize) {
        self.wait_for(0);
        let name = name(self.head);
        let draft = self.draft.as_deref();
        // SAFETY: as in `transmit`; `unsent` has checked that the slot is this end's.
        self.slot_out().frame.with_mut(|frame| unsafe {
            match draft {
                Some(draft) => (*frame).copy(name, bytes, draft),
                None => (*frame).close(name, bytes),
            }
        });
        self.publish();
    }

    fn is_behind(&mut self) -> bool {
        let is_behind = !self.has_room(BEHIND);
        self.wait_for(if is_behind { BEHIND } else { 0 });
        is_behind
    }

    fn wait_no_more(&mut self) {
        self.wait_for(0);
    }

    fn is_untaken(&mut self) -> bool {
        !self.has_room(1)
    }

    /// Shared memory transmits frames unchanged.
    fn is_exact(&self) -> bool {
        true
    }

    /// Notifies the neighbour of all frames published and slots freed since the last call.
    fn poll(&mut self, _: u64) {
        self.announce();
    }

    fn is_dead(&self) -> bool {
        self.is(BROKEN)
    }
}

impl<B: Doorbell> NodeLink for RingLink<'_, B> {
    /// The neighbour may continue to assume that this end waits for free space: it only rings sleeping nodes.
    #[inline]
    fn mask_interrupts(&mut self) {
        self.here.disarm();
    }

    /// [`NodeLink::mask_interrupts`] must be called between two calls before a sleep.
    fn prepare_sleep(&mut self) -> bool {
        prepare_all(core::iter::once(self))
    }

    #[inline]
    fn mask_all(links: &mut [Option<Self>]) {
        // All links share one word.
        if let Some(link) = links.iter_mut().flatten().next() {
            link.mask_interrupts();
        }
    }

    #[inline]
    fn prepare_all(links: &mut [Option<Self>]) -> bool {
        prepare_all(links.iter_mut().flatten())
    }

    /// Detects a frame that was sent but not received, and corrupted indices.
    fn audit(&mut self) {
        const SLOTS_EACH: i32 = SLOTS as i32;
        let taken = self.awaited.wrapping_sub(1);
        // Acquires the frames' names. The value may be below the number received while the neighbour's round has not
        // ended.
        let head = self.incoming.head.0.load(Ordering::Acquire);
        let is_right = match head.wrapping_sub(taken) as i32 {
            1..=SLOTS_EACH => self.has_frame(),
            waiting => (-SLOTS_EACH..=0).contains(&waiting),
        };
        let tail = self.incoming.tail.0.load(Ordering::Relaxed);
        if !is_right || tail != taken {
            self.end();
        }
        let tail = self.outgoing.tail.0.load(Ordering::Acquire);
        self.check(self.head.wrapping_sub(tail));
    }

    fn defects(&self) -> u64 {
        self.defects
    }
}

#[cfg(test)]
pub mod tests {
    //! Corruption of the shared memory, for the tests next to this module and the explorations.
    use super::*;

    /// Simulates that `start` frames were sent in each direction before.
    pub fn start_at<B>(link: &mut RingLink<'_, B>, start: u32) {
        for ring in [link.outgoing, link.incoming] {
            ring.tail.0.store(start, Ordering::Relaxed);
            ring.head.0.store(start, Ordering::Relaxed);
            for more in 1..=SLOTS as u32 {
                let before = start.wrapping_sub(more);
                let slot = &ring.slots[before as usize & (SLOTS - 1)];
                slot.name.store(name(before), Ordering::Relaxed);
            }
        }
        (link.head, link.seen_tail, link.awaited) = (start, start, name(start));
        link.slot_in = &link.incoming.slots[start as usize & (SLOTS - 1)];
    }

    /// Changes the length as the sender's wild store would.
    pub fn set_bytes<B>(link: &RingLink<'_, B>, slot: usize, bytes: u32) {
        link.outgoing.slots[slot].frame.with_mut(|frame| {
            // SAFETY: the other end is not reading.
            unsafe { (*frame).bytes = bytes }
        });
    }

    /// Simulates a wild store to a byte of a frame's data.
    pub fn set_byte<B>(link: &RingLink<'_, B>, slot: usize, at: usize, byte: u8) {
        link.outgoing.slots[slot].frame.with_mut(|frame| {
            // SAFETY: the other end is not reading.
            unsafe { (*frame).data[at] = byte }
        });
    }

    /// Simulates a store of 1, 2, 4 or 8 bytes, of zeros or random values, at a random address that the ends use.
    pub fn store(pair: &RingPair, mut random: impl FnMut() -> u32) {
        let bytes = 1usize << (random() % 4);
        let words = random().is_multiple_of(4);
        // Every fourth store hits the indices, because they occupy only few of the bytes.
        let within = if words { 192 } else { size_of::<FrameRing>() };
        let ring = (random() % 2) as usize * size_of::<FrameRing>();
        let at = ring + (random() as usize % within) / bytes * bytes;
        let value = match random() % 3 {
            0 => 0,
            1 => u64::from(random() % 64),
            _ => u64::from(random()) << 32 | u64::from(random()),
        };
        let value = value.to_le_bytes();
        // SAFETY: within the pair; neither end is running.
        unsafe {
            let to = core::ptr::from_ref(pair).cast_mut().cast::<u8>().add(at);
            to.copy_from_nonoverlapping(value.as_ptr(), bytes);
        }
    }

    /// Changes the tail as the receiver's wild store would.
    pub fn set_tail<B>(link: &RingLink<'_, B>, tail: u32) {
        link.incoming.tail.0.store(tail, Ordering::Relaxed);
    }

    /// Overwrites some of the words with values from `random`.
    pub fn scribble(pair: &RingPair, mut random: impl FnMut() -> u32) {
        for ring in &pair.0 {
            for word in [&ring.tail, &ring.full] {
                if random().is_multiple_of(8) {
                    word.0.store(random() >> (random() % 32), Ordering::Relaxed);
                }
            }
            for slot in &ring.slots {
                let name = random() >> (random() % 32);
                slot.name.store(name, Ordering::Relaxed);
                // SAFETY: neither end is running.
                slot.frame
                    .with_mut(|frame| unsafe { (*frame).bytes = random() >> (random() % 32) });
            }
        }
    }

    /// Performs the last check and then sets the word: the wrong order.
    pub fn prepare_late<B: Doorbell>(link: &mut RingLink<'_, B>) -> bool {
        let quiet = link.is_quiet();
        link.here.arm() && quiet
    }
}
