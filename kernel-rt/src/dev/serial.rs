//! A link over a serial line: frames in a byte stream that may lose, change and insert bytes.
//!
//! A frame on the line consists of its bytes and their CRC-16, encoded by COBS (Cheshire and Baker, "Consistent
//! Overhead Byte Stuffing", 1999), which removes all zeros, and a zero as delimiter:
//!
//! ```text
//!   COBS( up to MTU bytes | CRC-16/IBM-SDLC of them, little-endian ) | 0
//! ```
//! So a frame begins after each zero, regardless of the bytes before. Line errors only affect the frames that they
//! occur in: these are dropped here and counted ([`SerialStats::damaged`]). [`ReliableLink`](net_torus::ReliableLink), the
//! layer above, retransmits them; its own CRC-32 detects errors that the 16 bits miss.
//!
//! The neighbour may start later, or be reset: a link is used after both ends have completed the handshake
//! ([`LinkHandshake`]). On this line the last hello may be lost without its sender noticing. So an end that is up replies to
//! a hello with a third message (`UP`) that requires no reply.
#![forbid(unsafe_code)]

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicUsize, Ordering};

use crc::{CRC_16_IBM_SDLC, Crc, Table};
use net_torus::link::Link;
use net_torus::reliable::{OVERHEAD, RetryConfig};
use net_torus::stats::EventCounter;
use net_torus::wire::MIN_MTU;

use super::handshake::{LinkHandshake, is_greeting};
use crate::node::NodeLink;

/// Maximum frame size in bytes: a packet of the maximum size and the header of [`ReliableLink`](net_torus::ReliableLink).
pub const MTU: usize = OVERHEAD + MIN_MTU + MORE;
/// Header of rerouted frames, in images with faults.
const MORE: usize = if cfg!(feature = "faults") {
    net_torus::detour::HEADER
} else {
    0
};
/// Maximum number of line bytes of a frame of [`MTU`] bytes.
pub const LINE_BYTES: usize = cobs::max_encoding_length(MTU + CRC_BYTES) + 1;

const CRC_BYTES: usize = 2;
const DELIMITER: u8 = 0;
/// Second byte of a hello from an end that is up: it was received, and requires no reply.
const UP: u8 = 2;

static CRC: Crc<u16, Table<1>> = Crc::<u16, Table<1>>::new(&CRC_16_IBM_SDLC);

/// The bytes of a serial line, in both directions. No method blocks.
pub trait SerialLine {
    /// Returns the oldest received byte, or `None`.
    fn read_byte(&mut self) -> Option<u8>;

    /// Returns whether a frame's end may have been received since [`SerialLine::read_byte`] last returned `None`.
    fn has_frame(&self) -> bool;

    /// Returns the number of bytes that [`SerialLine::put`] accepts now.
    fn room(&self) -> usize;

    /// Sends `bytes`, at most [`SerialLine::room`] of them; excess bytes are lost.
    fn put(&mut self, bytes: &[u8]);

    /// Handles a received frame of the console relay, which shares the line. Returns false if the frame belongs to the
    /// link.
    fn handle_relay_frame(&mut self, frame: &[u8]) -> bool {
        let _ = frame;
        false
    }
}

/// A line that buffers received bytes until they are taken, so that frames need no reassembly buffer.
pub trait RecordedLine: SerialLine {
    /// Searches the received bytes for a frame's end, starting at index `from`. Returns the number of bytes before it,
    /// or `Err` with the number of bytes searched.
    fn find_end(&self, from: usize) -> Result<usize, usize>;
}

/// Bits per byte on the line: start, eight data bits, stop.
const BITS_PER_BYTE: u64 = 10;
/// Maximum response time of an idle neighbour to a received frame, in nanoseconds: see
/// [`crate::node::PROGRAM_SLICE_NS`], and a step.
const ANSWER_NS: u64 = 200_000;
/// Minimum timeout: a neighbour may be in a long step, and an emulated one may not run for a while.
const MIN_TIMEOUT_NS: u64 = 20_000_000;
/// Consecutive retransmissions before the neighbour counts as dead: a minute, since the timeout doubles four times.
const RETRIES: u32 = 200;

/// Returns the time of `bytes` on the line in nanoseconds.
pub const fn line_ns(bytes: usize, baud: u32) -> u64 {
    bytes as u64 * BITS_PER_BYTE * 1_000_000_000 / baud as u64
}

/// Returns the window, the number of outstanding frames with which a line of this rate never waits for an
/// acknowledgement: the frame in transmission, and those that can be sent until its acknowledgement arrives. A power of
/// two, as [`ReliableLink`](net_torus::ReliableLink) requires.
pub const fn window(baud: u32) -> usize {
    let answer = ANSWER_NS + line_ns(LINE_BYTES, baud) / 4;
    let answer_bytes = answer.div_ceil(line_ns(LINE_BYTES, baud)) as usize;
    (1 + answer_bytes).next_power_of_two()
}

/// Returns the retransmission timing of a line of this rate: a timeout of four times the duration of a full window.
pub const fn retry(baud: u32) -> RetryConfig {
    let full = 4 * window(baud) as u64 * line_ns(LINE_BYTES, baud);
    RetryConfig {
        timeout_ns: if full > MIN_TIMEOUT_NS { full } else { MIN_TIMEOUT_NS },
        retries: RETRIES,
    }
}

/// Returns the bytes that a line of this rate transmits before a node can enqueue more.
pub const fn answer_bytes(baud: u32) -> usize {
    ANSWER_NS.div_ceil(line_ns(1, baud)) as usize
}

/// Line bytes of a frame that only acknowledges.
pub const ACK_LINE_BYTES: usize = cobs::max_encoding_length(OVERHEAD + CRC_BYTES) + 1;

/// Ring buffer of bytes between an interrupt handler and the node: a single producer and a single consumer. `N` need
/// not be a power of two.
pub struct ByteRing<const N: usize> {
    put: AtomicUsize,
    taken: AtomicUsize,
    lost: AtomicU32,
    bytes: [AtomicU8; N],
}

impl<const N: usize> ByteRing<N> {
    /// Modulus of the counters: a multiple of `N`, and far above the maximum difference of the two.
    const TURN: usize = usize::MAX / 2 / N * N;

    /// Creates an empty ring.
    pub const fn new() -> Self {
        Self {
            put: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            lost: AtomicU32::new(0),
            bytes: [const { AtomicU8::new(0) }; N],
        }
    }

    /// Returns a counter advanced by `count`, which is below the modulus.
    fn after(counter: usize, count: usize) -> usize {
        match counter + count {
            next if next < Self::TURN => next,
            next => next - Self::TURN,
        }
    }

    fn ahead(put: usize, taken: usize) -> usize {
        match put.checked_sub(taken) {
            Some(count) => count,
            None => put + Self::TURN - taken,
        }
    }

    /// Returns the free space in bytes.
    pub fn room(&self) -> usize {
        N - self.waiting()
    }

    /// Returns the number of bytes in the ring.
    pub fn waiting(&self) -> usize {
        let put = self.put.load(Ordering::Acquire);
        Self::ahead(put, self.taken.load(Ordering::Acquire)).min(N)
    }

    /// Enqueues a byte. Returns false if the ring is full: the byte is lost, and counted. For the producer only.
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

    /// Records that a device has written bytes to the ring's memory up to index `place`, with wrap-around. Returns
    /// whether there are new ones. Replaces [`ByteRing::put`]. At most `N` - 1 bytes may arrive between two calls; if
    /// the consumer is too slow, later bytes overwrite earlier ones.
    pub fn put_up_to(&self, place: usize) -> bool {
        let put = self.put.load(Ordering::Relaxed);
        let more = (place + N - put % N) % N;
        self.put.store(Self::after(put, more), Ordering::Release);
        more > 0
    }

    /// Returns address and length of the oldest contiguous bytes. They remain until [`ByteRing::took`] frees them. For
    /// the consumer only.
    pub fn row(&self) -> (*const u8, usize) {
        let place = self.taken.load(Ordering::Relaxed) % N;
        let first: *const u8 = self.bytes[place].as_ptr();
        (first, self.waiting().min(N - place))
    }

    /// Records that a device has consumed `count` of the oldest bytes. Replaces [`ByteRing::pop`].
    pub fn took(&self, count: usize) {
        let taken = self.taken.load(Ordering::Relaxed);
        self.taken.store(Self::after(taken, count), Ordering::Release);
    }

    /// Returns the address of the buffer.
    pub fn address(&self) -> *const u8 {
        self.bytes[0].as_ptr()
    }

    /// Dequeues the oldest byte. For the consumer only.
    pub fn pop(&self) -> Option<u8> {
        let (put, mut taken) = (self.put.load(Ordering::Acquire), self.taken.load(Ordering::Relaxed));
        match Self::ahead(put, taken) {
            0 => return None,
            // A device has overwritten the oldest bytes: only the newest `N` remain.
            more if more > N => taken = Self::after(taken, more - N),
            _ => {}
        }
        let byte = self.bytes[taken % N].load(Ordering::Relaxed);
        self.taken.store(Self::after(taken, 1), Ordering::Release);
        Some(byte)
    }

    /// Returns the number of bytes in the ring before the first zero, starting the search at index `from`. Returns
    /// `Err` with the number of bytes searched if there is none. For the consumer.
    pub fn find_zero(&self, from: usize) -> Result<usize, usize> {
        let (put, taken) = (self.put.load(Ordering::Acquire), self.taken.load(Ordering::Relaxed));
        let ahead = Self::ahead(put, taken);
        let count = ahead.min(N);
        // Skips the overwritten bytes that `take` would skip.
        let first = taken + (ahead - count);
        let is_zero = |at: &usize| self.bytes[(first + at) % N].load(Ordering::Relaxed) == 0;
        (from..count).find(is_zero).ok_or(count)
    }

    /// Returns the number of bytes lost for lack of space.
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
    /// Damaged frames: bytes between two zeros that are no valid frame.
    pub damaged: EventCounter,
}

/// State of the bytes since the last zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CollectorState {
    /// Number of bytes, all in the buffer.
    Bytes(usize),
    /// More bytes than any frame contains; they are dropped.
    TooMany,
}

/// Reassembles frames from received bytes.
pub struct FrameCollector {
    collected: CollectorState,
    buffer: [u8; LINE_BYTES],
    /// Damaged frames: bytes between two zeros that are no valid frame.
    pub damaged: EventCounter,
}

impl Default for FrameCollector {
    fn default() -> Self {
        Self::new()
    }
}

impl FrameCollector {
    /// Creates an empty collector.
    pub const fn new() -> Self {
        Self {
            collected: CollectorState::Bytes(0),
            buffer: [0; LINE_BYTES],
            damaged: 0,
        }
    }

    /// Consumes received bytes until a frame is complete at the buffer's start; returns its size.
    pub fn next_frame(&mut self, line: &mut impl SerialLine) -> Option<usize> {
        while let Some(byte) = line.read_byte() {
            if byte != DELIMITER {
                self.collected = match self.collected {
                    CollectorState::Bytes(count) if count < LINE_BYTES => {
                        self.buffer[count] = byte;
                        CollectorState::Bytes(count + 1)
                    }
                    CollectorState::Bytes(_) | CollectorState::TooMany => CollectorState::TooMany,
                };
                continue;
            }
            let count = match core::mem::replace(&mut self.collected, CollectorState::Bytes(0)) {
                CollectorState::Bytes(0) => continue,
                CollectorState::Bytes(count) => count,
                CollectorState::TooMany => {
                    self.damaged += 1;
                    continue;
                }
            };
            match decode_cobs(&mut self.buffer[..count]) {
                Some(size) => return Some(size),
                None => self.damaged += 1,
            }
        }
        None
    }

    /// Returns the last frame found, which has this size.
    pub fn frame(&self, size: usize) -> &[u8] {
        &self.buffer[..size]
    }
}

/// Sends the frame that `f` writes. `f` receives a buffer of [`MTU`] bytes and returns the frame's size, or 0 to send
/// nothing. Returns false if the line has no space for a frame; `f` was not called then.
pub fn send(line: &mut impl SerialLine, f: impl FnOnce(&mut [u8]) -> usize) -> bool {
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

/// Encodes and enqueues a frame of this size, for which the line has space.
// One copy of the code for all senders.
#[inline(never)]
fn put(line: &mut impl SerialLine, frame: &mut [u8; MTU + CRC_BYTES], size: usize) {
    let crc = CRC.checksum(&frame[..size]);
    frame[size..size + CRC_BYTES].copy_from_slice(&crc.to_le_bytes());
    let mut stuffed = [DELIMITER; LINE_BYTES];
    let len = cobs::encode(&frame[..size + CRC_BYTES], &mut stuffed);
    // After a last block of 254 bytes the encoder has begun another; it does not count.
    stuffed[len] = DELIMITER;
    line.put(&stuffed[..len + 1]);
}

type LineFrame = [u8; LINE_BYTES];

/// A lossy link over a serial line. The line buffers a frame until it is complete.
pub struct SerialLink<L> {
    line: L,
    /// Received bytes already searched without finding a frame's end.
    searched: usize,
    /// The bytes taken since the last frame's end exceed a frame.
    is_too_long: bool,
    stats: SerialStats,
    handshake: LinkHandshake,
    /// This end is up, and an end that is not has sent a hello.
    owes_greeting: bool,
}

impl<L: RecordedLine> SerialLink<L> {
    /// Creates a link over `line` before its handshake.
    pub fn new(line: L) -> Self {
        Self {
            line,
            searched: 0,
            is_too_long: false,
            stats: SerialStats::default(),
            handshake: LinkHandshake::new(),
            owes_greeting: false,
        }
    }

    /// Returns the counters.
    pub fn stats(&self) -> SerialStats {
        self.stats
    }

    /// Returns the line.
    pub fn line(&self) -> &L {
        &self.line
    }

    /// Performs one step of the handshake: handles received frames and sends a pending hello. Returns `None` when the
    /// link is up and may be used. Otherwise it must be called again after reception, or at the returned time
    /// (nanoseconds, by the clock of `now_ns`).
    pub fn greet(&mut self, now_ns: u64) -> Option<u64> {
        let mut frame = [0; LINE_BYTES];
        while self.handshake.is_listening()
            && let Some(frame) = self.next_frame(&mut frame)
        {
            self.handshake.on_frame(frame);
        }
        if let Some(hello) = self.handshake.due(now_ns) {
            let said = self.say(&hello);
            self.handshake.tried(now_ns, said);
        }
        self.handshake.next_ns()
    }

    /// Replies to hello frames on a link that is up while others of the node are not. Drops all other frames.
    pub fn answer_late(&mut self) {
        let mut frame = [0; LINE_BYTES];
        while let Some(frame) = self.next_frame(&mut frame) {
            // A frame of a neighbour that is already up is retransmitted.
            if is_greeting(frame) {
                self.on_late_frame(frame);
            }
        }
        self.answer();
    }

    fn answer(&mut self) {
        if self.owes_greeting {
            let hello = [LinkHandshake::FIRST_BYTE, UP];
            self.owes_greeting = !self.say(&hello);
        }
    }

    /// Returns the number of hello frames sent before the link was up.
    pub fn greetings(&self) -> u32 {
        self.handshake.count()
    }

    /// Sends a frame; returns false if the line has no space for it.
    fn say(&mut self, frame: &[u8]) -> bool {
        self.transmit(|buffer| {
            buffer[..frame.len()].copy_from_slice(frame);
            frame.len()
        })
    }

    /// Returns the next frame of the link.
    fn next_frame<'f>(&mut self, frame: &'f mut LineFrame) -> Option<&'f [u8]> {
        loop {
            let size = self.any_frame(frame)?;
            if !self.line.handle_relay_frame(&frame[..size]) {
                return Some(&frame[..size]);
            }
        }
    }

    /// Receives the next valid frame and returns its size.
    fn any_frame(&mut self, frame: &mut LineFrame) -> Option<usize> {
        loop {
            match self.line.find_end(self.searched) {
                Ok(_) => self.searched = 0,
                Err(count) if count <= LINE_BYTES => {
                    self.searched = count;
                    return None;
                }
                Err(count) => {
                    // More bytes than any frame contains.
                    for _ in 0..count {
                        self.line.read_byte();
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
            match whole.and_then(decode_cobs) {
                Some(size) => return Some(size),
                None => self.stats.damaged += 1,
            }
        }
    }

    /// Dequeues the bytes up to and including a frame's end; returns their count without it.
    fn take_up_to_end(&mut self, frame: &mut LineFrame) -> usize {
        let mut count = 0;
        while let Some(byte) = self.line.read_byte().filter(|byte| *byte != DELIMITER) {
            if let Some(place) = frame.get_mut(count) {
                *place = byte;
            }
            count += 1;
        }
        count
    }

    /// Handles a hello while the link is up.
    fn on_late_frame(&mut self, handshake: &[u8]) {
        self.owes_greeting |= handshake.last() != Some(&UP);
    }
}

/// Removes COBS and CRC from a frame. Returns the size of the decoded frame at the start, or `None` if it is damaged.
fn decode_cobs(bytes: &mut [u8]) -> Option<usize> {
    let len = cobs::decode_in_place(bytes).ok()?;
    let (frame, crc) = bytes.get(..len)?.split_last_chunk::<CRC_BYTES>()?;
    let good = !frame.is_empty() && CRC.checksum(frame) == u16::from_le_bytes(*crc);
    (good && frame.len() <= MTU).then_some(frame.len())
}

impl<L: RecordedLine> Link for SerialLink<L> {
    fn mtu(&self) -> usize {
        MTU
    }

    fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool {
        let mut frame = [0; LINE_BYTES];
        while let Some(frame) = self.next_frame(&mut frame) {
            if is_greeting(frame) {
                self.on_late_frame(frame);
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

/// The interrupt of a line is always enabled: it moves bytes, and notifies the node when a frame's end was received or
/// a frame fits again. So only earlier notifications need a check.
impl<L: RecordedLine> NodeLink for SerialLink<L> {
    fn mask_interrupts(&mut self) {}

    fn prepare_sleep(&mut self) -> bool {
        !self.line.has_frame()
    }

    /// Loss and damage are normal on a line, not protocol violations.
    fn defects(&self) -> u64 {
        0
    }
}

/// A link in the heap, since the stack on which a small node is constructed is too small for it.
#[cfg(feature = "faults")]
impl<L: RecordedLine> Link for alloc::boxed::Box<SerialLink<L>> {
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
impl<L: RecordedLine> NodeLink for alloc::boxed::Box<SerialLink<L>> {
    fn mask_interrupts(&mut self) {
        (**self).mask_interrupts();
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
