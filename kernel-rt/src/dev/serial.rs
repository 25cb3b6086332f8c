//! A link over a serial line: frames in a stream of bytes that may lose, change and invent some.
//!
//! A frame on the line is its bytes and their CRC-16, stuffed by COBS (Cheshire and Baker, "Consistent Overhead Byte
//! Stuffing", 1999), which leaves no zero in them, and a zero behind:
//!
//! ```text
//!   COBS( up to MTU bytes | CRC-16/IBM-SDLC of them, little-endian ) | 0
//! ```
//! So whatever came before, a frame begins behind each zero. Of what the line spoils, only the frames that it lies in
//! are lost: they are dropped here and counted ([`SerialStats::damaged`]). [`Reliable`](net_torus::Reliable), which goes above, sends them
//! again; its own CRC-32 finds what the 16 bits miss.
//!
//! The neighbour may start later, or be reset: a link is used once both ends have greeted ([`Greeting`]). On this line
//! the last greeting may be lost, too, for which its sender would never know. So an end that is up answers a greeting,
//! with a third one (`UP`) that asks for no answer.
#![forbid(unsafe_code)]

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicUsize, Ordering};

use crc::{CRC_16_IBM_SDLC, Crc, Table};
use net_torus::link::Link;
use net_torus::reliable::{OVERHEAD, Retry};
use net_torus::stats::Tally;
use net_torus::wire::MIN_MTU;

use super::greeting::{Greeting, is_greeting};
use crate::node::NodeLink;

/// Greatest frame in bytes: one that carries the greatest packet, and the header of [`Reliable`](net_torus::Reliable).
pub const MTU: usize = OVERHEAD + MIN_MTU + MORE;
/// What is in front of frames that go another way, in images with faults.
const MORE: usize = if cfg!(feature = "faults") {
    net_torus::detour::HEADER
} else {
    0
};
/// Bytes that a frame of [`MTU`] bytes takes on the line at most.
pub const LINE_BYTES: usize = cobs::max_encoding_length(MTU + CRC_BYTES) + 1;

const CRC_BYTES: usize = 2;
const DELIMITER: u8 = 0;
/// Second byte of a greeting from an end that is up: it was heard, and wants no answer.
const UP: u8 = 2;

static CRC: Crc<u16, Table<1>> = Crc::<u16, Table<1>>::new(&CRC_16_IBM_SDLC);

/// The bytes of a serial line, in both directions. No call blocks.
pub trait Line {
    /// Takes the oldest byte that has come; `None` when there is none.
    fn take(&mut self) -> Option<u8>;

    /// Whether a frame's end may have come since [`Line::take`] last found nothing.
    fn has_frame(&self) -> bool;

    /// How many bytes [`Line::put`] takes now.
    fn room(&self) -> usize;

    /// Sends `bytes`, of which there are at most [`Line::room`]; others are lost.
    fn put(&mut self, bytes: &[u8]);

    /// Takes a frame that has come, if it is not the link's: of the consoles' chain, which shares the line. False: it is the
    /// link's.
    fn takes(&mut self, frame: &[u8]) -> bool {
        let _ = frame;
        false
    }
}

/// A line that keeps what has come until it is taken, so that frames need not be put together elsewhere.
pub trait KeptLine: Line {
    /// Looks for a frame's end among the bytes that have come, from the `from`th on: how many stand before it. `Err`: there is
    /// none among so many.
    fn find_end(&self, from: usize) -> Result<usize, usize>;
}

/// Bits that a byte takes on the line: start, eight of data, stop.
const BITS_PER_BYTE: u64 = 10;
/// How long a neighbour takes at most to answer a frame that has come, when it is not busy: see
/// [`crate::node::PROGRAM_SLICE_NS`], and a step.
const ANSWER_NS: u64 = 200_000;
/// The least time-out: a neighbour may be in a long step, and one that is emulated may not run for a while.
const LEAST_TIMEOUT_NS: u64 = 20_000_000;
/// How often in a row frames are repeated before the neighbour counts as gone: a minute, since the time-out doubles
/// four times.
const RETRIES: u32 = 200;

/// Nanoseconds that `bytes` take on the line.
pub const fn line_ns(bytes: usize, baud: u32) -> u64 {
    bytes as u64 * BITS_PER_BYTE * 1_000_000_000 / baud as u64
}

/// Frames that are to be under way, so that a line of this rate never waits for an acknowledgement: the one that is
/// being sent, and those that could be sent until the answer is there. A power of two, as [`Reliable`](net_torus::Reliable) uses them.
pub const fn window(baud: u32) -> usize {
    let answer = ANSWER_NS + line_ns(LINE_BYTES, baud) / 4;
    let meanwhile = answer.div_ceil(line_ns(LINE_BYTES, baud)) as usize;
    (1 + meanwhile).next_power_of_two()
}

/// When frames are sent again on a line of this rate: after four times what a full window takes.
pub const fn retry(baud: u32) -> Retry {
    let full = 4 * window(baud) as u64 * line_ns(LINE_BYTES, baud);
    Retry {
        timeout_ns: if full > LEAST_TIMEOUT_NS {
            full
        } else {
            LEAST_TIMEOUT_NS
        },
        retries: RETRIES,
    }
}

/// Bytes that leave by a line of this rate while a node comes to put more.
pub const fn meanwhile(baud: u32) -> usize {
    ANSWER_NS.div_ceil(line_ns(1, baud)) as usize
}

/// Bytes of a frame on the line that only acknowledges.
pub const ACK_LINE_BYTES: usize = cobs::max_encoding_length(OVERHEAD + CRC_BYTES) + 1;

/// Bytes on their way between an interrupt and the node: one side puts, the other takes. `N` may be any number.
pub struct ByteRing<const N: usize> {
    put: AtomicUsize,
    taken: AtomicUsize,
    lost: AtomicU32,
    bytes: [AtomicU8; N],
}

impl<const N: usize> ByteRing<N> {
    /// At so many the counters begin again: a multiple of `N`, and far more than ever lie between the two.
    const TURN: usize = usize::MAX / 2 / N * N;

    /// An empty ring.
    pub const fn new() -> Self {
        Self {
            put: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            lost: AtomicU32::new(0),
            bytes: [const { AtomicU8::new(0) }; N],
        }
    }

    /// A counter that has gone on by `count`, less than a turn.
    fn after(counter: usize, count: usize) -> usize {
        match counter + count {
            next if next < Self::TURN => next,
            next => next - Self::TURN,
        }
    }

    /// By how much one counter is ahead of another.
    fn ahead(put: usize, taken: usize) -> usize {
        match put.checked_sub(taken) {
            Some(count) => count,
            None => put + Self::TURN - taken,
        }
    }

    /// How many bytes there is room for.
    pub fn room(&self) -> usize {
        N - self.waiting()
    }

    /// How many bytes there are to take.
    pub fn waiting(&self) -> usize {
        let put = self.put.load(Ordering::Acquire);
        Self::ahead(put, self.taken.load(Ordering::Acquire)).min(N)
    }

    /// Puts a byte; false when the ring is full: it is lost, and counted. For one side only.
    pub fn put(&self, byte: u8) -> bool {
        let put = self.put.load(Ordering::Relaxed);
        if self.room() == 0 {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        self.bytes[put % N].store(byte, Ordering::Relaxed);
        self.put.store(Self::after(put, 1), Ordering::Release);
        true
    }

    /// A device has put bytes into the ring's memory up to this place of it, round and round; whether there are any new ones.
    /// Instead of [`ByteRing::put`]. Fewer than `N` may come between two calls; where the other side takes them too late, those
    /// that came later stand in the place of earlier ones.
    pub fn put_up_to(&self, place: usize) -> bool {
        let put = self.put.load(Ordering::Relaxed);
        let more = (place + N - put % N) % N;
        self.put.store(Self::after(put, more), Ordering::Release);
        more > 0
    }

    /// The oldest bytes that stand side by side: where in memory, and how many. They stay until they are [taken](ByteRing::took).
    /// For the other side only.
    pub fn row(&self) -> (*const u8, usize) {
        let place = self.taken.load(Ordering::Relaxed) % N;
        let first: *const u8 = self.bytes[place].as_ptr();
        (first, self.waiting().min(N - place))
    }

    /// A device has taken so many of the oldest bytes from the ring's memory. Instead of [`ByteRing::take`].
    pub fn took(&self, count: usize) {
        let taken = self.taken.load(Ordering::Relaxed);
        self.taken
            .store(Self::after(taken, count), Ordering::Release);
    }

    /// Where in memory the bytes are.
    pub fn address(&self) -> *const u8 {
        self.bytes[0].as_ptr()
    }

    /// Takes the oldest byte. For the other side only.
    pub fn take(&self) -> Option<u8> {
        let (put, mut taken) = (
            self.put.load(Ordering::Acquire),
            self.taken.load(Ordering::Relaxed),
        );
        match Self::ahead(put, taken) {
            0 => return None,
            // A device has gone round in the meantime: as many as there are room for are left.
            more if more > N => taken = Self::after(taken, more - N),
            _ => {}
        }
        let byte = self.bytes[taken % N].load(Ordering::Relaxed);
        self.taken.store(Self::after(taken, 1), Ordering::Release);
        Some(byte)
    }

    /// How many bytes that are to be taken stand before the first zero, from the `from`th on. `Err`: there is no zero among so
    /// many. For the side that takes.
    pub fn find_zero(&self, from: usize) -> Result<usize, usize> {
        let (put, taken) = (
            self.put.load(Ordering::Acquire),
            self.taken.load(Ordering::Relaxed),
        );
        let ahead = Self::ahead(put, taken);
        let count = ahead.min(N);
        // As many as `take` would leave out.
        let first = taken + (ahead - count);
        let is_zero = |at: &usize| self.bytes[(first + at) % N].load(Ordering::Relaxed) == 0;
        (from..count).find(is_zero).ok_or(count)
    }

    /// Bytes that found no room.
    pub fn lost(&self) -> u32 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl<const N: usize> Default for ByteRing<N> {
    fn default() -> Self {
        Self::new()
    }
}

/// Counters of a serial link.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct SerialStats {
    /// What stood between two zeros and was no frame.
    pub damaged: Tally,
}

/// What stands behind the last zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Collected {
    /// So many bytes, all in the buffer.
    Bytes(usize),
    /// More than any frame has; they are dropped.
    TooMany,
}

/// Finds the frames in what a line brings.
pub struct Collector {
    collected: Collected,
    buffer: [u8; LINE_BYTES],
    /// What stood between two zeros and was no frame.
    pub damaged: Tally,
}

impl Default for Collector {
    fn default() -> Self {
        Self::new()
    }
}

impl Collector {
    /// Nothing has come.
    pub const fn new() -> Self {
        Self {
            collected: Collected::Bytes(0),
            buffer: [0; LINE_BYTES],
            damaged: 0,
        }
    }

    /// Goes on with what has come until a frame is whole, which then is at the buffer's start; its size.
    pub fn next_frame(&mut self, line: &mut impl Line) -> Option<usize> {
        while let Some(byte) = line.take() {
            if byte != DELIMITER {
                self.collected = match self.collected {
                    Collected::Bytes(count) if count < LINE_BYTES => {
                        self.buffer[count] = byte;
                        Collected::Bytes(count + 1)
                    }
                    Collected::Bytes(_) | Collected::TooMany => Collected::TooMany,
                };
                continue;
            }
            let count = match core::mem::replace(&mut self.collected, Collected::Bytes(0)) {
                Collected::Bytes(0) => continue,
                Collected::Bytes(count) => count,
                Collected::TooMany => {
                    self.damaged += 1;
                    continue;
                }
            };
            match unstuffed(&mut self.buffer[..count]) {
                Some(size) => return Some(size),
                None => self.damaged += 1,
            }
        }
        None
    }

    /// The frame that was found last, whose size this is.
    pub fn frame(&self, size: usize) -> &[u8] {
        &self.buffer[..size]
    }
}

/// Sends the frame of at most [`MTU`] bytes that `f` writes, of the size that it returns, if that is not 0. False: the
/// line has no room for one, and `f` was not called.
pub fn send(line: &mut impl Line, f: impl FnOnce(&mut [u8]) -> usize) -> bool {
    if line.room() < LINE_BYTES {
        return false;
    }
    let mut frame = [0; MTU + CRC_BYTES];
    let size = f(&mut frame[..MTU]).min(MTU);
    if size > 0 {
        put(line, &mut frame, size);
    }
    true
}

/// Puts a frame of this size, which the line has room for.
// In one place for all that is sent.
#[inline(never)]
fn put(line: &mut impl Line, frame: &mut [u8; MTU + CRC_BYTES], size: usize) {
    let crc = CRC.checksum(&frame[..size]);
    frame[size..size + CRC_BYTES].copy_from_slice(&crc.to_le_bytes());
    let mut stuffed = [DELIMITER; LINE_BYTES];
    let len = cobs::encode(&frame[..size + CRC_BYTES], &mut stuffed);
    // Behind a last block of 254 the encoder has begun another, which does not count.
    stuffed[len] = DELIMITER;
    line.put(&stuffed[..len + 1]);
}

/// Room for a frame as it comes.
type Frame = [u8; LINE_BYTES];

/// A link that may lose frames, over a line. A frame is kept by the line until it is whole.
pub struct SerialLink<L> {
    line: L,
    /// Bytes that have come among which there is no frame's end.
    searched: usize,
    /// What has been taken since the last frame's end was too much for a frame.
    is_too_long: bool,
    stats: SerialStats,
    greeting: Greeting,
    /// An end that is not up has greeted this one, which is.
    owes_greeting: bool,
}

impl<L: KeptLine> SerialLink<L> {
    /// A link over `line`, which has not greeted yet.
    pub fn new(line: L) -> Self {
        Self {
            line,
            searched: 0,
            is_too_long: false,
            stats: SerialStats::default(),
            greeting: Greeting::new(),
            owes_greeting: false,
        }
    }

    /// The counters.
    pub fn stats(&self) -> SerialStats {
        self.stats
    }

    /// The line.
    pub fn line(&self) -> &L {
        &self.line
    }

    /// One step of greeting the neighbour: hears what has come and says what is to be said. `None`: the link is
    /// up and may be used. Otherwise to be called again when something has come, or at the time returned
    /// (nanoseconds, by the clock that `now_ns` is of).
    pub fn greet(&mut self, now_ns: u64) -> Option<u64> {
        let mut frame = [0; LINE_BYTES];
        while self.greeting.is_listening()
            && let Some(frame) = self.next_frame(&mut frame)
        {
            self.greeting.hear(frame);
        }
        if let Some(hello) = self.greeting.due(now_ns) {
            let said = self.say(&hello);
            self.greeting.tried(now_ns, said);
        }
        self.greeting.next_ns()
    }

    /// On a link that is up while others of the node are not: answers greetings; all else that comes is lost.
    pub fn answer_late(&mut self) {
        let mut frame = [0; LINE_BYTES];
        while let Some(frame) = self.next_frame(&mut frame) {
            // A frame of a neighbour that is further is sent again.
            if is_greeting(frame) {
                self.hear_late(frame);
            }
        }
        self.answer();
    }

    fn answer(&mut self) {
        if self.owes_greeting {
            let hello = [Greeting::FIRST_BYTE, UP];
            self.owes_greeting = !self.say(&hello);
        }
    }

    /// Greetings that were sent before the link was up.
    pub fn greetings(&self) -> u32 {
        self.greeting.count()
    }

    /// Sends a frame; false when the line has no room for one.
    fn say(&mut self, frame: &[u8]) -> bool {
        self.transmit(|buffer| {
            buffer[..frame.len()].copy_from_slice(frame);
            frame.len()
        })
    }

    /// The next frame of the link.
    fn next_frame<'f>(&mut self, frame: &'f mut Frame) -> Option<&'f [u8]> {
        loop {
            let size = self.any_frame(frame)?;
            if !self.line.takes(&frame[..size]) {
                return Some(&frame[..size]);
            }
        }
    }

    /// The next good frame that has come; its size.
    fn any_frame(&mut self, frame: &mut Frame) -> Option<usize> {
        loop {
            match self.line.find_end(self.searched) {
                Ok(_) => self.searched = 0,
                Err(count) if count <= LINE_BYTES => {
                    self.searched = count;
                    return None;
                }
                Err(count) => {
                    // More than any frame has.
                    for _ in 0..count {
                        self.line.take();
                    }
                    (self.searched, self.is_too_long) = (0, true);
                    continue;
                }
            }
            let count = self.take_up_to_end(frame);
            let is_too_long = core::mem::take(&mut self.is_too_long) || count > LINE_BYTES;
            if count == 0 && !is_too_long {
                continue;
            }
            let whole = frame.get_mut(..count).filter(|_| !is_too_long);
            match whole.and_then(unstuffed) {
                Some(size) => return Some(size),
                None => self.stats.damaged += 1,
            }
        }
    }

    /// Takes what stands before a frame's end, and that; how many bytes.
    fn take_up_to_end(&mut self, frame: &mut Frame) -> usize {
        let mut count = 0;
        while let Some(byte) = self.line.take().filter(|byte| *byte != DELIMITER) {
            if let Some(place) = frame.get_mut(count) {
                *place = byte;
            }
            count += 1;
        }
        count
    }

    /// Hears a greeting while the link is up.
    fn hear_late(&mut self, greeting: &[u8]) {
        self.owes_greeting |= greeting.last() != Some(&UP);
    }
}

/// Takes COBS and CRC off a frame; the size of what is left at the start, or `None` when it is damaged.
fn unstuffed(bytes: &mut [u8]) -> Option<usize> {
    let len = cobs::decode_in_place(bytes).ok()?;
    let (frame, crc) = bytes.get(..len)?.split_last_chunk::<CRC_BYTES>()?;
    let good = !frame.is_empty() && CRC.checksum(frame) == u16::from_le_bytes(*crc);
    (good && frame.len() <= MTU).then_some(frame.len())
}

impl<L: KeptLine> Link for SerialLink<L> {
    fn mtu(&self) -> usize {
        MTU
    }

    fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool {
        let mut frame = [0; LINE_BYTES];
        while let Some(frame) = self.next_frame(&mut frame) {
            if is_greeting(frame) {
                self.hear_late(frame);
                continue;
            }
            f(frame);
            return true;
        }
        false
    }

    fn transmit(&mut self, f: impl FnOnce(&mut [u8]) -> usize) -> bool {
        send(&mut self.line, f)
    }

    fn poll(&mut self, _: u64) {
        self.answer();
    }
}

/// The interrupt of a line is always on: it moves bytes, and asks for the node's attention when a frame's end has come
/// or there is room for a frame again. Only what asked before is left to be looked for.
impl<L: KeptLine> NodeLink for SerialLink<L> {
    fn hold_interrupts(&mut self) {}

    fn prepare_sleep(&mut self) -> bool {
        !self.line.has_frame()
    }

    /// Loss and damage are a line's way, no defects.
    fn defects(&self) -> u64 {
        0
    }
}

/// Where it lies in the heap, since the stack on which a small node is put together has no room for it.
#[cfg(feature = "faults")]
impl<L: KeptLine> Link for alloc::boxed::Box<SerialLink<L>> {
    fn mtu(&self) -> usize {
        (**self).mtu()
    }

    fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool {
        (**self).receive(f)
    }

    fn transmit(&mut self, f: impl FnOnce(&mut [u8]) -> usize) -> bool {
        (**self).transmit(f)
    }

    fn poll(&mut self, now_ns: u64) {
        (**self).poll(now_ns);
    }
}

#[cfg(feature = "faults")]
impl<L: KeptLine> NodeLink for alloc::boxed::Box<SerialLink<L>> {
    fn hold_interrupts(&mut self) {
        (**self).hold_interrupts();
    }

    fn prepare_sleep(&mut self) -> bool {
        (**self).prepare_sleep()
    }

    fn defects(&self) -> u64 {
        (**self).defects()
    }
}

#[cfg(test)]
mod tests;
