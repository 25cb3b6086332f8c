//! Reliable link layer: sequence numbers, CRC, cumulative acknowledgement, a bounded window and retransmission, as Blue
//! Gene/L's links implemented in hardware ("Blue Gene/L torus, reliable delivery").
//!
//! [`ReliableLink`] is a [`Link`] over a [`Link`] that may lose, corrupt, truncate, duplicate, delay and reorder frames. It
//! delivers every frame exactly once and in order. Links that are reliable already do not need it.
//!
//! ```text
//!  byte 0     0x52
//!  byte 1     bit 0: contains data, bit 1: a frame is missing, retransmit from the acknowledged one
//!  byte 2-3   sequence number, little-endian
//!  byte 4-5   acknowledgement: the sequence number expected next
//!  byte 6-7   size of the data in bytes
//!  byte 8-11  running CRC of all data received before the acknowledged frame, little-endian
//!  byte 12-15 CRC-32 of bytes 0..12 and the data, little-endian
//!  then       the data
//! ```
//!
//! The protocol is go-back-N: the receiver buffers nothing out of order, and only the sender needs memory for the
//! window. The sender retransmits all frames from the oldest one when that one is not acknowledged in time, or when the
//! receiver reports a missing frame. The timeout doubles with each repetition, up to 16 times. After [`RetryConfig::retries`]
//! repetitions without an acknowledgement the link is dead ([`Link::is_dead`]).
//!
//! Both ends update a running CRC of all data in each direction. Every acknowledgement contains the receiver's value,
//! and the sender checks it. The next acknowledgement thus detects corruption that a frame's CRC has missed, at the
//! latest at the job's end, as on Blue Gene/L. The link then counts a mismatch and is dead, because the delivered data
//! is wrong.
//!
//! Limits: a frame delayed by the time of 65,536 - 256 frames or more could be mistaken for a new one with the same
//! sequence number. CRC-32 misses one corrupted frame in four thousand million. Both ends start at sequence number 0,
//! so a node that restarts requires its neighbour to restart, too.

use crate::checksum::{self, CRC_32};
use crate::link::{self, Link};
use crate::stats::EventCounter;

/// Bytes that the layer adds to each frame.
pub const OVERHEAD: usize = 16;
/// Maximum window in frames; the sequence numbers are 16 bits wide.
pub const MAX_WINDOW: usize = 256;
/// Maximum number of lower-layer frames that one [`Link::receive`] handles.
const LOOK: usize = 16;

pub(crate) const MAGIC: u8 = 0x52;
const DATA: u8 = 1;
const MISSING: u8 = 2;

/// Retransmission parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetryConfig {
    /// Retransmission timeout in nanoseconds. Blue Gene/Q used (2.5 times the largest packet + the cable's round trip)
    /// over the link's rate.
    pub timeout_ns: u64,
    /// Number of repetitions in a row without an acknowledgement after which the link is dead.
    pub retries: u32,
}

/// Reason why a reliable link cannot be created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReliableError {
    /// The window's memory does not hold one frame of the lower link.
    Memory,
    /// The lower link's MTU is too small for data.
    Mtu,
}

impl core::fmt::Display for ReliableError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Memory => "the window's memory is smaller than one frame of the link",
            Self::Mtu => "the link's frames are too short to carry data reliably",
        })
    }
}

impl core::error::Error for ReliableError {}

/// Counters of a reliable link.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ReliableStats {
    /// Data frames sent for the first time.
    pub sent: EventCounter,
    /// Frames retransmitted.
    pub resent: EventCounter,
    /// Timeouts.
    pub timeouts: EventCounter,
    /// Frames sent with only an acknowledgement.
    pub acks_sent: EventCounter,
    /// Frames received in order and delivered.
    pub received: EventCounter,
    /// Frames received with a wrong size, first byte or CRC.
    pub damaged: EventCounter,
    /// Valid duplicate frames.
    pub repeated: EventCounter,
    /// Valid frames received out of order and dropped.
    pub early: EventCounter,
    /// Valid frames that acknowledge a frame never sent.
    pub bad_acks: EventCounter,
    /// Acknowledgements whose running CRC differs from that of the sent data: the neighbour has received other data,
    /// and the link is dead.
    pub mismatches: EventCounter,
}

/// Running totals of the data in one direction, for a comparison of both ends: a count and a CRC over the CRCs of all
/// data, in order ("Blue Gene/L torus, link CRCs compared at job end").
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct RunningTotals {
    /// Data frames.
    pub frames: EventCounter,
    /// CRC-32 over the CRC-32s of their data.
    pub crc: u32,
}

impl RunningTotals {
    fn add(&mut self, data: &[u8]) {
        let sum = CRC_32.checksum(data).to_le_bytes();
        self.crc = checksum::crc_of_slices(&self.crc.to_le_bytes(), &sum);
        self.frames += 1;
    }
}

/// Reliable link over the link `L`, with at most `FRAMES` frames in flight. See the [module](self).
pub struct ReliableLink<'m, L, const FRAMES: usize = MAX_WINDOW> {
    link: L,
    retry: RetryConfig,
    /// Slots of the lower link's MTU; frame `s` uses slot `s % window`.
    memory: &'m mut [u8],
    window: u16,
    sizes: [u16; FRAMES],
    /// Running CRC after the frame, per slot.
    crcs: [u32; FRAMES],
    /// Running CRC before the oldest unacknowledged frame.
    base_crc: u32,
    now: u64,
    /// Oldest unacknowledged frame.
    base: u16,
    /// Next frame to send or retransmit.
    next: u16,
    /// First sequence number after the window's frames.
    end: u16,
    /// First frame that was never sent.
    sent: u16,
    /// Time of the oldest frame's last transmission, or of the last acknowledgement.
    since: u64,
    /// Timeouts in a row.
    repetitions: u32,
    /// Missing frame for which the window was already retransmitted.
    resent_for: Option<u16>,
    /// Sequence number expected next.
    expected: u16,
    ack_due: bool,
    missing: bool,
    dead: bool,
    running_out: RunningTotals,
    running_in: RunningTotals,
    stats: ReliableStats,
}

/// Decoded frame of the lower link.
struct LowerFrame<'a> {
    flags: u8,
    sequence: u16,
    ack: Ack,
    data: &'a [u8],
}

/// Acknowledgement of all frames before `expected`, with their running CRC.
#[derive(Clone, Copy)]
struct Ack {
    expected: u16,
    crc: u32,
}

fn parse(bytes: &[u8]) -> Option<LowerFrame<'_>> {
    let (header, rest) = bytes.split_first_chunk::<OVERHEAD>()?;
    let word = |i: usize| u16::from_le_bytes([header[i], header[i + 1]]);
    let data = rest.get(..word(6) as usize)?;
    let long = |i: usize| u32::from_le_bytes([header[i], header[i + 1], header[i + 2], header[i + 3]]);
    let flags = header[1];
    let good = header[0] == MAGIC
        && flags & !(DATA | MISSING) == 0
        && checksum::crc_of_slices(&header[..12], data) == long(12);
    good.then_some(LowerFrame {
        flags,
        sequence: word(2),
        ack: Ack {
            expected: word(4),
            crc: long(8),
        },
        data,
    })
}

fn emit(flags: u8, sequence: u16, ack: Ack, frame: &mut [u8], size: usize) {
    frame[0] = MAGIC;
    frame[1] = flags;
    frame[2..4].copy_from_slice(&sequence.to_le_bytes());
    frame[4..6].copy_from_slice(&ack.expected.to_le_bytes());
    frame[6..8].copy_from_slice(&(size as u16).to_le_bytes());
    frame[8..12].copy_from_slice(&ack.crc.to_le_bytes());
    let crc = checksum::crc_of_slices(&frame[..12], &frame[OVERHEAD..OVERHEAD + size]);
    frame[12..16].copy_from_slice(&crc.to_le_bytes());
}

impl<'m, L: Link> ReliableLink<'m, L> {
    /// Creates a reliable link over `link`. The window is `memory.len() / link.mtu()` frames, at most [`MAX_WINDOW`].
    ///
    /// # Errors
    /// Same as for [`ReliableLink::with_frames`].
    pub fn new(link: L, retry: RetryConfig, memory: &'m mut [u8]) -> Result<Self, ReliableError> {
        Self::with_frames(link, retry, memory)
    }
}

impl<'m, L: Link, const FRAMES: usize> ReliableLink<'m, L, FRAMES> {
    const IS_SOUND: () = assert!(FRAMES <= MAX_WINDOW);

    /// Creates a reliable link over `link` that tracks `FRAMES` frames; small nodes use few. The window is
    /// `memory.len() / link.mtu()` frames, at most `FRAMES`.
    ///
    /// # Errors
    /// The memory or the MTU of the link is too small.
    // Not inlined: otherwise the link is moved field by field.
    #[inline(never)]
    pub fn with_frames(link: L, retry: RetryConfig, memory: &'m mut [u8]) -> Result<Self, ReliableError> {
        let () = Self::IS_SOUND;
        let mtu = link.mtu();
        if mtu <= OVERHEAD {
            return Err(ReliableError::Mtu);
        }
        let window = (memory.len() / mtu).min(FRAMES) as u16;
        if window == 0 {
            return Err(ReliableError::Memory);
        }
        Ok(Self {
            link,
            retry,
            memory,
            window,
            sizes: [0; FRAMES],
            crcs: [0; FRAMES],
            base_crc: 0,
            now: 0,
            base: 0,
            next: 0,
            end: 0,
            sent: 0,
            since: 0,
            repetitions: 0,
            resent_for: None,
            expected: 0,
            ack_due: false,
            missing: false,
            dead: false,
            running_out: RunningTotals::default(),
            running_in: RunningTotals::default(),
            stats: ReliableStats::default(),
        })
    }

    /// Returns the counters.
    pub fn stats(&self) -> &ReliableStats {
        &self.stats
    }
    /// Returns the totals of the sent data, acknowledged or not. They are equal to the other end's
    /// [`ReliableLink::received`] when no frame is in flight.
    pub fn sent(&self) -> RunningTotals {
        self.running_out
    }
    /// Returns the totals of the received data.
    pub fn received(&self) -> RunningTotals {
        self.running_in
    }
    /// Checks whether all sent frames were acknowledged.
    pub fn is_settled(&self) -> bool {
        self.base == self.end
    }
    /// Returns the lower link.
    pub fn lower(&self) -> &L {
        &self.link
    }
    /// Returns the lower link, for the board's interrupt handling.
    pub fn lower_mut(&mut self) -> &mut L {
        &mut self.link
    }

    fn slot(&self, sequence: u16) -> (usize, core::ops::Range<usize>) {
        let index = (sequence % self.window_modulus()) as usize;
        let mtu = self.memory.len() / self.window as usize;
        (index, index * mtu..(index + 1) * mtu)
    }

    /// Returns the number of usable slots: the largest power of two within the window, since sequence numbers wrap at
    /// 65,536.
    fn window_modulus(&self) -> u16 {
        1 << (15 - self.window.leading_zeros())
    }

    fn in_flight(&self) -> u16 {
        self.end.wrapping_sub(self.base)
    }

    fn timeout(&self) -> u64 {
        self.retry.timeout_ns << self.repetitions.min(4)
    }

    /// Returns the acknowledgement for the neighbour.
    fn ack(&self) -> Ack {
        Ack {
            expected: self.expected,
            crc: self.running_in.crc,
        }
    }

    /// Handles an acknowledgement: all frames before it were received.
    fn acknowledge(&mut self, Ack { expected: ack, crc }: Ack, missing: bool) {
        if self.dead {
            return;
        }
        let news = ack.wrapping_sub(self.base);
        if news > self.in_flight() {
            // An acknowledgement before the window's start comes from an old frame; any other was never sent.
            if news < 0x8000 {
                self.stats.bad_acks += 1;
            }
            return;
        }
        let sent_crc = if news > 0 {
            self.crcs[self.slot(ack.wrapping_sub(1)).0]
        } else {
            self.base_crc
        };
        if crc != sent_crc {
            self.stats.mismatches += 1;
            self.dead = true;
            return;
        }
        self.base_crc = crc;
        if news > 0 {
            // Frames acknowledged in the meantime need no retransmission.
            if self.next.wrapping_sub(self.base) < news {
                self.next = ack;
            }
            self.base = ack;
            self.since = self.now;
            self.repetitions = 0;
            self.resent_for = None;
        }
        if missing && self.in_flight() > 0 && self.resent_for != Some(ack) {
            self.resent_for = Some(ack);
            self.next = self.base;
        }
    }

    /// Sends or retransmits frames of the window while the lower link accepts them.
    fn pump(&mut self) {
        while self.next != self.end && !self.dead {
            let (index, range) = self.slot(self.next);
            let size = self.sizes[index] as usize;
            let flags = DATA | if self.missing { MISSING } else { 0 };
            let ack = self.ack();
            let slot = &mut self.memory[range];
            emit(flags, self.next, ack, slot, size);
            let frame = &slot[..OVERHEAD + size];
            let taken = self.link.transmit(|buffer| {
                buffer[..frame.len()].copy_from_slice(frame);
                frame.len()
            });
            if !taken {
                return;
            }
            if self.next == self.base {
                self.since = self.now;
            }
            if self.next == self.sent {
                self.sent = self.sent.wrapping_add(1);
                self.stats.sent += 1;
            } else {
                self.stats.resent += 1;
            }
            self.next = self.next.wrapping_add(1);
            (self.ack_due, self.missing) = (false, false);
        }
    }
}

impl<L: Link, const FRAMES: usize> Link for ReliableLink<'_, L, FRAMES> {
    fn mtu(&self) -> usize {
        (self.link.mtu() - OVERHEAD).min(u16::MAX as usize)
    }

    fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool {
        let mut f = Some(f);
        for _ in 0..LOOK {
            let (mut ack, mut handed_up) = (None, false);
            let (expected, stats) = (&mut self.expected, &mut self.stats);
            let (due, missing) = (&mut self.ack_due, &mut self.missing);
            let running = &mut self.running_in;
            let any = self.link.receive(|bytes| {
                let Some(frame) = parse(bytes) else {
                    stats.damaged += 1;
                    // It may have contained data: report the expected sequence number to the sender.
                    (*due, *missing) = (true, true);
                    return;
                };
                ack = Some((frame.ack, frame.flags & MISSING != 0));
                if frame.flags & DATA == 0 {
                    return;
                }
                *due = true;
                match frame.sequence.wrapping_sub(*expected) {
                    0 => {
                        *expected = expected.wrapping_add(1);
                        *missing = false;
                        stats.received += 1;
                        running.add(frame.data);
                        handed_up = true;
                        if let Some(f) = f.take() {
                            f(frame.data);
                        }
                    }
                    1..0x8000 => {
                        stats.early += 1;
                        *missing = true;
                    }
                    _ => stats.repeated += 1,
                }
            });
            if let Some((ack, missing)) = ack {
                self.acknowledge(ack, missing);
            }
            if handed_up || !any {
                return handed_up;
            }
        }
        false
    }

    fn transmit(&mut self, f: impl FnOnce(&mut [u8]) -> usize) -> bool {
        if self.dead || self.in_flight() >= self.window_modulus() {
            return false;
        }
        let mtu = self.mtu();
        let (index, range) = self.slot(self.end);
        let data = &mut self.memory[range][OVERHEAD..OVERHEAD + mtu];
        let size = f(data).min(mtu);
        if size > 0 {
            self.running_out.add(&data[..size]);
            self.sizes[index] = size as u16;
            self.crcs[index] = self.running_out.crc;
            if self.in_flight() == 0 {
                self.since = self.now;
            }
            self.end = self.end.wrapping_add(1);
            self.pump();
        }
        true
    }

    fn poll(&mut self, now_ns: u64) {
        self.link.poll(now_ns);
        self.now = now_ns;
        if self.dead {
            return;
        }
        if self.in_flight() > 0 && now_ns.saturating_sub(self.since) >= self.timeout() {
            self.since = now_ns;
            // A neighbour that has not polled yet has lost nothing.
            if !self.link.is_untaken() {
                self.stats.timeouts += 1;
                self.repetitions += 1;
                self.resent_for = None;
                self.next = self.base;
                self.dead = self.repetitions > self.retry.retries;
                self.link.unanswered(self.repetitions);
            }
        }
        self.pump();
        if self.ack_due && !self.dead {
            let flags = if self.missing { MISSING } else { 0 };
            let (sequence, ack) = (self.sent, self.ack());
            let taken = self.link.transmit(|buffer| {
                emit(flags, sequence, ack, buffer, 0);
                OVERHEAD
            });
            if taken {
                self.stats.acks_sent += 1;
                (self.ack_due, self.missing) = (false, false);
            }
        }
    }

    fn poll_at(&self) -> Option<u64> {
        let own = (self.in_flight() > 0 && !self.dead).then(|| self.since + self.timeout());
        link::earlier(own, self.link.poll_at())
    }

    fn is_dead(&self) -> bool {
        self.dead || self.link.is_dead()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{FaultRates, FaultyLink, SimLink, pair};

    type FaultyReliable = ReliableLink<'static, FaultyLink<SimLink>>;

    const CONFIG: RetryConfig = RetryConfig {
        timeout_ns: 50,
        retries: 20,
    };

    #[test]
    fn the_table_of_the_header_reads_what_the_layer_writes() {
        let ack = Ack {
            expected: 0x1234,
            crc: 0x89AB_CDEF,
        };
        let mut frame = [0; OVERHEAD + 3];
        emit(DATA | MISSING, 0xFFFE, ack, &mut frame, 3);
        let fields = crate::fields::RELIABLE.iter().take(7).map(|field| field.read(&frame));
        let expected = [u64::from(MAGIC), 1, 1, 0xFFFE, 0x1234, 3, 0x89AB_CDEF];
        assert!(fields.eq(expected.map(Some)), "{frame:?}");
    }

    fn ends(faults: FaultRates, seed: u64, frames: usize) -> (FaultyReliable, FaultyReliable) {
        let (a, b) = pair();
        let end = |link: SimLink, seed| {
            let memory = vec![0; frames * link.mtu()].leak();
            ReliableLink::new(FaultyLink::new(link, faults, seed), CONFIG, memory).unwrap()
        };
        (end(a, 2 * seed), end(b, 2 * seed + 1))
    }

    fn data(serial: u64) -> Vec<u8> {
        let mut data = serial.to_le_bytes().to_vec();
        data.resize(8 + serial as usize * 37 % 600, serial as u8);
        data
    }

    /// Sends `count` frames each way; both ends check order and content.
    fn exchange(a: &mut FaultyReliable, b: &mut FaultyReliable, count: u64, seed: u64) {
        let mut sent = [0; 2];
        let mut received = [0; 2];
        let mut now = 0;
        while received != [count; 2] || !a.is_settled() || !b.is_settled() {
            now += 1;
            assert!(now < 2_000 * (count + 100), "seed {seed}: {received:?}");
            for (i, end) in [&mut *a, &mut *b].into_iter().enumerate() {
                end.poll(now);
                for _ in 0..4 {
                    end.receive(|got| {
                        assert_eq!(got, data(received[i]), "seed {seed}");
                        received[i] += 1;
                    });
                }
                // One end sends less often, so that acknowledgements without data occur.
                if sent[i] < count && (i == 0 || now % 7 == 0) {
                    let next = data(sent[i]);
                    let taken = end.transmit(|buffer| {
                        buffer[..next.len()].copy_from_slice(&next);
                        next.len()
                    });
                    sent[i] += taken as u64;
                }
                end.poll(now);
                assert!(!end.is_dead(), "seed {seed}");
            }
        }
        assert_eq!(a.sent(), b.received());
        assert_eq!(b.sent(), a.received());
        assert_eq!(a.sent().frames, count);
    }

    #[test]
    fn everything_arrives_once_and_in_order_over_bad_links() {
        for seed in 0..40 {
            for window in [1, 3, 16] {
                let (mut a, mut b) = ends(FaultRates::PERCENT, seed, window);
                exchange(&mut a, &mut b, 500, seed);
            }
        }
        let (mut a, mut b) = ends(FaultRates::PERCENT, 1, 8);
        exchange(&mut a, &mut b, 70_000, 1);
        let stats = a.stats();
        assert!(stats.resent > 0 && stats.damaged > 0 && stats.repeated > 0 && stats.early > 0);
        assert_eq!((stats.bad_acks, stats.mismatches), (0, 0));
    }

    #[test]
    fn a_far_worse_link_still_delivers() {
        let faults = FaultRates {
            loss: 0.3,
            corruption: 0.2,
            ..FaultRates::PERCENT
        };
        let (a, b) = ends(faults, 5, 16);
        // A long series of losses must not make the link dead.
        let retry = RetryConfig {
            retries: 1000,
            ..CONFIG
        };
        let (mut a, mut b) = (FaultyReliable { retry, ..a }, FaultyReliable { retry, ..b });
        exchange(&mut a, &mut b, 1000, 5);
    }

    #[test]
    fn a_clean_link_resends_nothing() {
        let (mut a, mut b) = ends(FaultRates::default(), 0, 16);
        exchange(&mut a, &mut b, 5000, 0);
        for end in [&a, &b] {
            let stats = end.stats();
            assert_eq!((stats.resent, stats.timeouts, stats.damaged), (0, 0, 0));
        }
    }

    #[test]
    fn goodput_of_a_clean_link_is_near_that_of_the_link_alone() {
        // Bytes of data against bytes on the wire in both directions; one end sends full frames.
        let (mut a, mut b) = ends(FaultRates::default(), 0, 16);
        let (mut bytes, mut now) = (0, 0);
        while bytes < 10_000_000 {
            now += 1;
            for _ in 0..8 {
                a.transmit(|buffer| buffer.len());
                b.receive(|got| bytes += got.len());
            }
            a.poll(now);
            b.poll(now);
            a.receive(|_| unreachable!("nothing was sent"));
        }
        let mtu = a.lower().mtu();
        let wire = a.stats().sent as usize * mtu + b.stats().acks_sent as usize * OVERHEAD;
        let goodput = bytes as f64 / wire as f64;
        assert!(goodput >= 0.9, "{goodput}");
        assert_eq!(a.stats().resent, 0);
        // The window does not limit the rate: eight frames are sent in each round.
        assert!(a.stats().sent >= (now - 2) * 8, "{} in {now}", a.stats().sent);
    }

    #[test]
    fn a_link_without_answer_is_dead_and_says_when_to_look() {
        let (mut a, mut b) = ends(FaultRates::default(), 0, 4);
        b.lower_mut().cut();
        assert_eq!(a.poll_at(), None);
        a.transmit(|buffer| {
            buffer[0] = 1;
            1
        });
        let mut timeouts = 0;
        let mut now = 0;
        while let Some(at) = a.poll_at() {
            assert!(at > now, "time goes on");
            now = at;
            a.poll(now);
            while b.receive(|_| unreachable!()) {}
            timeouts += 1;
        }
        assert_eq!(timeouts, CONFIG.retries + 1);
        assert!(a.is_dead());
        assert!(!a.transmit(|_| unreachable!("a dead link takes nothing")));
    }

    #[test]
    fn damage_that_no_frame_has_shown_is_noticed_with_the_next_acknowledgement() {
        for direction in 0..2 {
            let (mut a, mut b) = ends(FaultRates::default(), 0, 4);
            exchange(&mut a, &mut b, 100, 0);
            let (from, to) = match direction {
                0 => (&mut a, &mut b),
                _ => (&mut b, &mut a),
            };
            // Simulates a last frame with other data and the same CRC-32.
            to.running_in.crc ^= 0x10;
            from.transmit(|buffer| {
                buffer[0] = 1;
                1
            });
            for now in 1_000_000..1_000_003 {
                to.poll(now);
                to.receive(|_| ());
                to.poll(now);
                from.poll(now);
                from.receive(|_| ());
            }
            assert_eq!((from.stats().mismatches, to.stats().mismatches), (1, 0));
            assert!(from.is_dead() && !to.is_dead());
        }
    }

    #[test]
    fn garbage_is_counted_and_changes_nothing() {
        let (mut raw, lower) = pair();
        let memory = vec![0; 4 * lower.mtu()].leak();
        let mut end = ReliableLink::new(lower, CONFIG, memory).unwrap();
        let mut random = oorandom::Rand32::new(3);
        for _ in 0..2000 {
            raw.transmit(|buffer| {
                let len = random.rand_range(1..80) as usize;
                buffer[..len].iter_mut().for_each(|b| *b = random.rand_u32() as u8);
                buffer[0] = MAGIC;
                len
            });
            assert!(!end.receive(|_| unreachable!("no good frame")));
        }
        assert_eq!(end.stats().damaged, 2000);
        // A valid frame that acknowledges a frame never sent.
        raw.transmit(|buffer| {
            let ack = Ack { expected: 7, crc: 0 };
            emit(0, 0, ack, buffer, 0);
            OVERHEAD
        });
        end.receive(|_| unreachable!());
        assert_eq!(end.stats().bad_acks, 1);
        assert!(end.is_settled());
    }

    #[test]
    fn configurations_are_checked() {
        let (a, b) = pair();
        let short = vec![0; a.mtu() - 1].leak();
        assert_eq!(ReliableLink::new(a, CONFIG, short).err(), Some(ReliableError::Memory));
        struct TinyLink;
        impl Link for TinyLink {
            fn mtu(&self) -> usize {
                OVERHEAD
            }
            fn receive(&mut self, _: impl FnOnce(&[u8])) -> bool {
                false
            }
            fn transmit(&mut self, _: impl FnOnce(&mut [u8]) -> usize) -> bool {
                false
            }
        }
        let memory = vec![0; b.mtu()].leak();
        assert_eq!(
            ReliableLink::new(TinyLink, CONFIG, memory).err(),
            Some(ReliableError::Mtu)
        );
    }
}
