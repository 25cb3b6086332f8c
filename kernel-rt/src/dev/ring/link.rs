//! The link: slots in shared memory, written and read in place, and the words that say who sleeps.
//!
//! ```text
//! producer   fills slot head % SLOTS, then names it       full when head - tail = SLOTS
//! consumer   reads slot tail % SLOTS, publishes tail + 1  empty when the slot is not named so
//! both       at the end of a round: one fence, then a look at the other node's word; only a sleeper is rung
//! ```
//! A slot's name is the number of its frame. The consumer waits for it, and finds the frame in the same line of its cache.
//!
//! What the neighbour writes is not believed, and a wild store of either end may hit anything here. A frame has a seal, an
//! index or a length that cannot be ends the link, and [`NodeLink::audit`] finds what else would let an end wait for ever.

use net_torus::coord::Direction;
use net_torus::link::Link;

use alloc::boxed::Box;
use core::sync::atomic::compiler_fence;

use super::sync::{AtomicU32, Ordering, UnsafeCell, fence};
use super::{FRAME_BYTES, SLOTS};
use crate::node::NodeLink;

/// The node looks at its links.
const AWAKE: u32 = 0;
/// The node sleeps, or is about to: who has something for it rings.
const ASLEEP: u32 = 1;
/// As [`ASLEEP`], and it has been rung.
const RUNG: u32 = 2;
/// As [`ASLEEP`], but the node still watches this word: to set it to [`RUNG`] is enough, without the bell.
const WATCHED: u32 = 3;

/// Frames under way behind which a frame that is not worth much had better wait for others: while the neighbour takes
/// one, the next one is there already.
const BEHIND: u32 = if SLOTS < 2 { SLOTS as u32 } else { 2 };

/// How a neighbour that sleeps is woken.
pub trait Bell {
    /// Wakes the node: its sleep ends now or, if it is about to sleep, at once. Does not block. What was
    /// written before must be visible to the node when it wakes.
    fn ring(&self);
}

/// One word of a node, shared by all its links and seen by all its neighbours: whether it sleeps. All zeros:
/// awake.
///
/// The sleep itself is the board's: until the bell rings, or while the word is [`Asleep::ARMED`].
#[repr(C, align(64))]
pub struct Asleep(AtomicU32);

impl Default for Asleep {
    /// Of a node that is awake.
    fn default() -> Self {
        Self(AtomicU32::new(AWAKE))
    }
}

impl Asleep {
    /// Value of the word while the node may sleep and has not been rung.
    pub const ARMED: u32 = ASLEEP;
    /// Value of the word that ends the sleep, for a board whose tool rings, too.
    pub const RUNG: u32 = RUNG;

    /// The word, for a board that sleeps by a wait on it, while it is [`Asleep::ARMED`].
    pub fn word(&self) -> &AtomicU32 {
        &self.0
    }

    /// It has been rung since the last look.
    pub fn is_rung(&self) -> bool {
        self.0.load(Ordering::Relaxed) == RUNG
    }

    /// Watches for a ring instead of sleep, for as long as `goes_on` says: neighbours need no bell meanwhile, which
    /// may cost them more than the word. True when it has been rung. To be called where the sleep would be.
    pub fn watch(&self, mut goes_on: impl FnMut() -> bool) -> bool {
        if !self.change(ASLEEP, WATCHED) {
            return true;
        }
        while goes_on() {
            if self.0.load(Ordering::Relaxed) == RUNG {
                return true;
            }
        }
        !self.change(WATCHED, ASLEEP)
    }

    /// Changes the word if it is `old`.
    fn change(&self, old: u32, new: u32) -> bool {
        self.0
            .compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// From now on neighbours ring. False when one has rung already. To be called before the last look.
    #[inline]
    fn arm(&self) -> bool {
        // Neighbours change the word to RUNG, and never from AWAKE: that is what this node has left there.
        match self.0.load(Ordering::Relaxed) {
            ASLEEP | WATCHED => true,
            AWAKE => {
                self.0.store(ASLEEP, Ordering::Relaxed);
                // Against the fence of `RingLink::announce`.
                fence(Ordering::SeqCst);
                true
            }
            _ => false,
        }
    }

    /// The node is awake, or will not hear a bell: neighbours need not ring.
    #[inline]
    pub fn disarm(&self) {
        if self.0.load(Ordering::Relaxed) != AWAKE {
            // A store would do, as the ring that it overwrites is an exchange; loom does not see that.
            self.0.swap(AWAKE, Ordering::Relaxed);
        }
    }

    /// Notes the ring; whether the bell is to follow. Behind a fence.
    fn is_to_be_rung(&self) -> bool {
        let mut seen = self.0.load(Ordering::Relaxed);
        // Repeated only when the node has meanwhile begun, or ended, to watch.
        while seen == ASLEEP || seen == WATCHED {
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

/// An index, or a flag, on a cache line of its own.
#[repr(C, align(64))]
struct Word(AtomicU32);

/// The same, of which an exploration need not know.
#[repr(C, align(64))]
struct Head(core::sync::atomic::AtomicU32);

/// A frame's name: how many frames there are with it, modulo 2^32. A slot that was never filled has 0.
#[inline]
const fn name(before: u32) -> u32 {
    before.wrapping_add(1)
}

/// Room for a frame. Its name and its length stand before its data, so that a short frame is all in one place of the
/// processor's caches. The data begins at a multiple of 16 bytes, and with it each packet's: so they are copied by the word.
#[repr(C, align(16))]
struct Slot {
    /// Which frame is there. The producer's.
    name: AtomicU32,
    frame: UnsafeCell<Frame>,
}

#[repr(C)]
struct Frame {
    bytes: u32,
    /// [`seal`], its lower half first.
    seal: [u32; 2],
    data: [u8; FRAME_BYTES],
}

impl Frame {
    /// The frame is written, with so many bytes.
    #[inline]
    fn close(&mut self, name: u32, bytes: usize) {
        let bytes = bytes.min(FRAME_BYTES);
        self.bytes = bytes as u32;
        self.seal = halves(seal(name, bytes, &[]));
    }

    /// The same of a frame that was written elsewhere. The seal is of what was written there.
    fn copy(&mut self, name: u32, bytes: usize, draft: &Draft) {
        let bytes = bytes.min(FRAME_BYTES);
        let data = &draft.0[..bytes];
        self.bytes = bytes as u32;
        self.seal = halves(seal(name, bytes, data));
        self.data[..bytes].copy_from_slice(data);
    }
}

/// The data of a frame that is being written, in memory of this end alone: a store into the ring before the frame has its
/// seal would have one, too. Aligned as in a [`Slot`].
#[repr(C, align(16))]
struct Draft([u8; FRAME_BYTES]);

/// How far what was before is moved for each part of a frame.
const TURN: u32 = 23;

/// What a frame of this name and length with this data has for a seal. A store of up to eight bytes makes it another one in
/// any case, as it changes one word, or disjoint lanes of two; of what changes more, one in 2^64 is missed, unless it is
/// made for that.
#[inline]
fn seal(name: u32, bytes: usize, data: &[u8]) -> u64 {
    let seed = u64::from(name) << 32 | bytes as u64;
    match data.is_empty() {
        true => seed,
        false => seal_on(seed, data),
    }
}

/// With data, which most links' seals are not of: apart, for its registers.
#[inline(never)]
fn seal_on(seed: u64, data: &[u8]) -> u64 {
    let start = data.as_ptr().cast::<u64>();
    if !start.is_aligned() || !data.len().is_multiple_of(size_of::<u64>()) {
        return seal_by_bytes(seed, data);
    }
    // SAFETY: the same memory, aligned; any bytes are words.
    let words = unsafe { core::slice::from_raw_parts(start, data.len() / size_of::<u64>()) };
    let (fours, rest) = words.as_chunks();
    let sum = fours.iter().fold(seed, |sum: u64, [a, b, c, d]| {
        let four = a.wrapping_add(*b).wrapping_add(*c).wrapping_add(*d);
        sum.rotate_left(TURN).wrapping_add(four)
    });
    { rest.iter() }.fold(sum, |sum, word| sum.rotate_left(TURN).wrapping_add(*word))
}

/// The same of a frame that is no words: no router's.
#[cold]
#[inline(never)]
fn seal_by_bytes(seed: u64, data: &[u8]) -> u64 {
    data.iter().fold(seed, |sum, byte| {
        sum.rotate_left(TURN).wrapping_add(u64::from(*byte))
    })
}

#[inline]
fn halves(seal: u64) -> [u32; 2] {
    [seal as u32, (seal >> 32) as u32]
}

/// One direction.
#[repr(C)]
struct Ring {
    /// Frames freed so far, modulo 2^32. The consumer's.
    tail: Word,
    /// 1: the producer waits for room. The producer's.
    full: Word,
    /// Frames sent so far, modulo 2^32, as of the end of a round. The producer's, and read by [`NodeLink::audit`] alone.
    head: Head,
    slots: [Slot; SLOTS],
}

// SAFETY: a slot belongs to the producer until it has the next frame's name and to the consumer until `tail` passes it;
// each end is one `RingLink`.
unsafe impl Sync for Slot {}

/// Both directions of one link, in memory that its two ends share. All zeros: nothing under way.
#[repr(C, align(4096))]
pub struct RingPair([Ring; 2]);

impl Default for RingPair {
    /// A pair with nothing under way.
    fn default() -> Self {
        let word = || Word(AtomicU32::new(0));
        Self([(); 2].map(|()| Ring {
            tail: word(),
            full: word(),
            head: Head(core::sync::atomic::AtomicU32::new(0)),
            slots: core::array::from_fn(|_| Slot {
                name: AtomicU32::new(0),
                frame: UnsafeCell::new(Frame {
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
    outgoing: &'m Ring,
    incoming: &'m Ring,
    here: &'m Asleep,
    there: &'m Asleep,
    bell: B,
    /// This end's own indices; what stands in the ring is for the neighbour.
    head: u32,
    /// The name of the next frame that comes, and where it comes.
    awaited: u32,
    slot_in: &'m Slot,
    /// The neighbour's index, as last seen.
    seen_tail: u32,
    /// [`Link::transmit`] or [`Link::is_behind`] found so many frames under way that this end waits for fewer; or 0.
    full_at: u32,
    /// What is out of the ordinary, a bit each: the look before sleep is at one word.
    state: u8,
    /// Where frames are written whose bytes have a seal; `None`: in the ring, with a seal of their name and length.
    draft: Option<Box<Draft>>,
    defects: u64,
}

/// In [`RingLink::state`]: frames were published, and the neighbour was not told.
const PUBLISHED: u8 = 1 << 0;
/// Slots were freed, and the neighbour was not told.
const FREED: u8 = 1 << 1;
/// `full_at` is not 0.
const FULL: u8 = 1 << 2;
/// The neighbour knows that this end waits for room.
const WAITS: u8 = 1 << 3;
/// The memory is not as the two ends have written it: nothing in it means anything any more.
const BROKEN: u8 = 1 << 4;

impl<'m, B: Bell> RingLink<'m, B> {
    /// The end of `pair` whose neighbour is in this `direction`; the other end is the neighbour's, in the opposite
    /// direction. `here` and `there` are the words of this node and of the neighbour, whom `bell` wakes.
    ///
    /// Each end is taken once, before anything was sent.
    pub fn new(
        pair: &'m RingPair,
        direction: Direction,
        here: &'m Asleep,
        there: &'m Asleep,
        bell: B,
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
            bell,
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

    /// All bytes of frames have a seal, if `whole`, and not the name and the length only. Both ends of a link must say the same.
    /// Takes [`FRAME_BYTES`] of the heap, once.
    #[must_use]
    pub fn seal(mut self, whole: bool) -> Self {
        self.draft = whole.then(|| Box::new(Draft([0; FRAME_BYTES])));
        self
    }

    #[inline]
    fn is(&self, state: u8) -> bool {
        self.state & state != 0
    }

    /// Whether a frame is there.
    #[inline]
    fn has_frame(&self) -> bool {
        self.slot_in.name.load(Ordering::Relaxed) == self.awaited
    }

    /// The next slot that this end fills.
    #[inline]
    fn slot_out(&self) -> &'m Slot {
        &self.outgoing.slots[self.head as usize & (SLOTS - 1)]
    }

    /// Whether fewer than `most` frames are under way.
    #[inline]
    fn has_room(&mut self, most: u32) -> bool {
        let under_way = self.head.wrapping_sub(self.seen_tail);
        if under_way < most {
            return !self.is(BROKEN);
        }
        // Acquires that the consumer has done with the slots.
        self.seen_tail = self.outgoing.tail.0.load(Ordering::Acquire);
        let under_way = self.head.wrapping_sub(self.seen_tail);
        self.check(under_way) && under_way < most
    }

    /// Whether that many frames can be under way, and could ever since; else the link ends.
    #[inline]
    fn check(&mut self, under_way: u32) -> bool {
        if under_way > SLOTS as u32 {
            self.end();
        }
        !self.is(BROKEN)
    }

    /// The link has ended.
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
        // What was published and freed, against what the neighbour says before its last look: see `Asleep::arm`
        // and `prepare_all`. At least one of the two sees the other's.
        fence(Ordering::SeqCst);
        // Behind the fence, and so behind the frames' names.
        self.outgoing.head.0.store(self.head, Ordering::Relaxed);
        let wanted = news & PUBLISHED != 0 || self.incoming.full.0.load(Ordering::Relaxed) != 0;
        if wanted && self.there.is_to_be_rung() {
            self.bell.ring();
        }
    }

    /// Makes the next slot, which is written, the neighbour's.
    #[inline]
    fn publish(&mut self) {
        // Releases the frame, written.
        let name = name(self.head);
        self.slot_out().name.store(name, Ordering::Release);
        self.head = self.head.wrapping_add(1);
        self.state |= PUBLISHED;
    }

    /// From when on this end waits for room: with fewer than so many frames under way; 0: it does not.
    #[inline]
    fn wait_for(&mut self, full_at: u32) {
        self.full_at = full_at;
        match full_at {
            0 => self.state &= !FULL,
            _ => self.state |= FULL,
        }
    }

    /// The last look before sleep, behind [`Asleep::arm`]: whether there is nothing to do, no frame, and no room for one
    /// that waits.
    #[inline]
    fn is_quiet(&mut self) -> bool {
        let is_calm = self.state == 0 || self.is_settled();
        is_calm && (!self.has_frame() || self.is(BROKEN))
    }

    /// Tells the neighbour what it has to know while this end sleeps; false when there is room for what waits.
    // Most links have nothing to tell.
    #[inline(never)]
    fn is_settled(&mut self) -> bool {
        self.announce();
        let waits = self.is(FULL);
        if self.is(WAITS) != waits {
            self.state ^= WAITS;
            self.outgoing.full.0.store(waits as u32, Ordering::Relaxed);
            if waits {
                // As in `Asleep::arm`, which was called before.
                fence(Ordering::SeqCst);
            }
        }
        !(waits && self.has_room(self.full_at))
    }
}

/// [`NodeLink::prepare_sleep`] of all links of one node, which have its word in common.
#[inline]
pub fn prepare_all<'l, 'm: 'l, B: Bell + 'l>(
    links: impl Iterator<Item = &'l mut RingLink<'m, B>>,
) -> bool {
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

impl<B: Bell> Link for RingLink<'_, B> {
    const KEEPS_TIME: bool = false;
    const ALL_EXACT: bool = true;
    const MAY_KEEP_UNSENT: bool = true;

    fn mtu(&self) -> usize {
        FRAME_BYTES
    }

    #[inline]
    fn has_news(&mut self) -> bool {
        self.has_frame()
    }

    fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool {
        if !self.has_frame() || self.is(BROKEN) {
            return false;
        }
        // Acquires what the producer wrote before: the frame.
        fence(Ordering::Acquire);
        let good = self.slot_in.frame.with(|frame| {
            // SAFETY: the slot has the frame's name, so the producer is done with it until `tail` passes it. Bytes have no
            // invalid values. A neighbour that does not keep to it changes bytes that the torus checks. The length is read
            // once.
            let (frame, bytes) = unsafe { (&*frame, (&raw const (*frame).bytes).read_volatile()) };
            let bytes = bytes as usize;
            let Some(data) = frame.data.get(..bytes) else {
                return false;
            };
            f(data);
            // Behind `f`, whatever a wild store has changed until then: the seal is of what `f` has read, or of what is no
            // longer as it was sent. The layers above use nothing of it before they have asked whether the link is dead.
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

    fn keeps_unsent(&self) -> bool {
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
        // SAFETY: as in `transmit`; `unsent` has seen that the slot is this end's.
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

    /// Memory changes nothing on the way.
    fn is_exact(&self) -> bool {
        true
    }

    /// What was published and freed since is made known, at once for all.
    fn poll(&mut self, _: u64) {
        self.announce();
    }

    /// The memory is not as the two ends have written it.
    fn is_dead(&self) -> bool {
        self.is(BROKEN)
    }
}

impl<B: Bell> NodeLink for RingLink<'_, B> {
    /// The neighbour may go on to believe that this end waits for room: it rings only who sleeps.
    #[inline]
    fn hold_interrupts(&mut self) {
        self.here.disarm();
    }

    /// Between two calls that are to be followed by sleep, [`NodeLink::hold_interrupts`] is called.
    fn prepare_sleep(&mut self) -> bool {
        prepare_all(core::iter::once(self))
    }

    #[inline]
    fn hold_all(links: &mut [Option<Self>]) {
        // All have the same word.
        if let Some(link) = links.iter_mut().flatten().next() {
            link.hold_interrupts();
        }
    }

    #[inline]
    fn prepare_all(links: &mut [Option<Self>]) -> bool {
        prepare_all(links.iter_mut().flatten())
    }

    /// Finds a frame that was sent and has not come, and indices that are not as they were written.
    fn audit(&mut self) {
        const SLOTS_EACH: i32 = SLOTS as i32;
        let taken = self.awaited.wrapping_sub(1);
        // Acquires the frames' names. It says less than was taken where the neighbour's round has not ended.
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
    //! What a neighbour may do to the memory; the tests beside and the explorations use it.
    use super::*;

    /// As if `start` frames had gone each way before.
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

    /// The sender writes another length.
    pub fn set_bytes<B>(link: &RingLink<'_, B>, slot: usize, bytes: u32) {
        link.outgoing.slots[slot].frame.with_mut(|frame| {
            // SAFETY: the other end is not reading.
            unsafe { (*frame).bytes = bytes }
        });
    }

    /// A wild store hits a byte of a frame's data.
    pub fn set_byte<B>(link: &RingLink<'_, B>, slot: usize, at: usize, byte: u8) {
        link.outgoing.slots[slot].frame.with_mut(|frame| {
            // SAFETY: the other end is not reading.
            unsafe { (*frame).data[at] = byte }
        });
    }

    /// A store of 1, 2, 4 or 8 bytes, of zeros or of anything, somewhere within what the ends use.
    pub fn store(pair: &RingPair, mut random: impl FnMut() -> u32) {
        let bytes = 1usize << (random() % 4);
        let words = random().is_multiple_of(4);
        // Every fourth where the indices are, as few of the bytes are theirs.
        let within = if words { 192 } else { size_of::<Ring>() };
        let ring = (random() % 2) as usize * size_of::<Ring>();
        let at = ring + (random() as usize % within) / bytes * bytes;
        let value = match random() % 3 {
            0 => 0,
            1 => u64::from(random() % 64),
            _ => u64::from(random()) << 32 | u64::from(random()),
        };
        let value = value.to_le_bytes();
        // SAFETY: within the pair; neither end is at work.
        unsafe {
            let to = core::ptr::from_ref(pair).cast_mut().cast::<u8>().add(at);
            to.copy_from_nonoverlapping(value.as_ptr(), bytes);
        }
    }

    /// The receiver writes another tail.
    pub fn set_tail<B>(link: &RingLink<'_, B>, tail: u32) {
        link.incoming.tail.0.store(tail, Ordering::Relaxed);
    }

    /// Some of the words become what `random` says.
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
                // SAFETY: neither end is at work.
                slot.frame
                    .with_mut(|frame| unsafe { (*frame).bytes = random() >> (random() % 32) });
            }
        }
    }

    /// The last look, and only then the word: the wrong way round.
    pub fn prepare_late<B: Bell>(link: &mut RingLink<'_, B>) -> bool {
        let quiet = link.is_quiet();
        link.here.arm() && quiet
    }
}
