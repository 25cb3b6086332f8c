//! A link to a rank of another host: one TCP connection, which both ranks have inherited.
//!
//! ```text
//! transmit -> output, 64 KiB -> send(2)  == TCP ==  recv(2) -> input, 64 KiB -> receive
//! ```
//! A record is the frame's length and a CRC-32C of length and data, four bytes each with the lower first, the data, and zeros up
//! to a multiple of 8 bytes. The checksum of TCP has 16 bits only, so a record with a wrong CRC ends the job. The link is
//! [exact](Link::is_exact): nothing above it checks the data again.
//!
//! Back-pressure is that of TCP. Each link has its own connection, so a rank that computes blocks no other link.
//!
//! # Writes
//! A write of up to 16 KiB costs the same few microseconds, and a short message far less. Frames therefore wait in the output
//! until
//!
//! * they are [`GATHERED_BYTES`],
//! * the node polls the link for the second time without a new frame, so that it waits for something,
//! * the node is about to sleep, or has [armed](SleepFlag::arm) its word for it, or
//! * the call of the program ends. Within [`WRITE_INTERVAL_NS`] of the last write, up to [`KEPT_BYTES`] wait for the next
//!   call, because a program that sends several short messages makes it soon; if it computes instead, the progress
//!   thread writes them. Without that thread each round ends with a write.
//!
//! # Polls
//! A poll without data costs a system call. After [`EAGER_POLLS`] of them in vain, one of [`POLL_INTERVAL`] polls is
//! made, until data is received. A node that sends in each round makes one of [`BUSY_INTERVAL`].
//!
//! # End
//! A connection that the other rank has closed is silent. The tool learns of the rank's end as well, and ends the job
//! with its reason. After [`CLOSED_NS`] the link is [dead](Link::is_dead): the ranks have lost each other for another
//! reason.

use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::Ordering;

use net_torus::link::Link;

use super::clock::now_ns;
use super::node_sleep::{self, SocketState};
use crate::dev::device_or_ring::LinkDevice;
use crate::dev::ring::{FRAME_BYTES, SleepFlag};
use crate::node::NodeLink;

/// Size of the output and of the input of a link in bytes.
const BUFFER_BYTES: usize = 64 << 10;
/// Length and checksum of a record in bytes.
const HEADER_BYTES: usize = 8;
/// Maximum size of a record in bytes.
const RECORD_BYTES: usize = HEADER_BYTES + FRAME_BYTES;
/// Size of the output in bytes that is written within a call.
const GATHERED_BYTES: usize = 32 << 10;
/// Maximum size of the output in bytes that is not written at the end of a call.
const KEPT_BYTES: usize = 4 << 10;
/// Time after a write in which output is kept, in nanoseconds: about the duration of a write.
const WRITE_INTERVAL_NS: u64 = 5_000;
/// Polls in vain before the link is polled less often.
const EAGER_POLLS: u32 = 256;
/// Polls of which one is made then.
const POLL_INTERVAL: u32 = 32;
/// First polls after a round with frames of which one is made.
const BUSY_INTERVAL: u32 = 8;
/// Time after which a closed connection is an error, in nanoseconds: the tool ends the job within 5 s of a failure.
const CLOSED_NS: u64 = 6_000_000_000;

const _: () = assert!(FRAME_BYTES.is_multiple_of(8) && GATHERED_BYTES + RECORD_BYTES <= BUFFER_BYTES);

/// Bytes from `start` to `end` of a buffer.
struct ByteQueue {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl ByteQueue {
    fn new() -> Self {
        Self {
            bytes: vec![0; BUFFER_BYTES].into(),
            start: 0,
            end: 0,
        }
    }

    fn content(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Returns the space after the content, of at least `bytes` if the buffer has as many.
    fn space(&mut self, bytes: usize) -> &mut [u8] {
        if self.is_empty() {
            (self.start, self.end) = (0, 0);
        } else if self.bytes.len() - self.end < bytes {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        &mut self.bytes[self.end..]
    }
}

/// Result of a call of send(2) or recv(2).
enum Transfer {
    Bytes(usize),
    /// Nothing now.
    Blocked,
    /// The connection has ended.
    Closed,
}

/// End of a link to a rank of another host.
pub struct SocketLink {
    socket: OwnedFd,
    here: &'static SleepFlag,
    state: &'static SocketState,
    output: ByteQueue,
    input: ByteQueue,
    /// A round may leave its frames in the output.
    delays: bool,
    written_ns: u64,
    /// Polls since the last round that has sent a frame.
    polls: u32,
    /// Polls without data.
    vain_polls: u32,
    /// First polls after a round with frames that were not made.
    busy_polls: u32,
    /// The next record's data is being written ([`Link::unsent`]), so it must not move.
    is_record_open: bool,
    /// Time at which the connection was found closed.
    closed_ns: Option<u64>,
    is_dead: bool,
}

impl SocketLink {
    /// Creates the link over a connected stream socket. `here` is the sleep flag of the node. `delays` permits delayed
    /// writes: a progress thread makes them while the program computes.
    pub fn new(socket: OwnedFd, here: &'static SleepFlag, state: &'static SocketState, delays: bool) -> Self {
        state.is_open.store(true, Ordering::Relaxed);
        Self {
            socket,
            here,
            state,
            output: ByteQueue::new(),
            input: ByteQueue::new(),
            delays,
            written_ns: 0,
            polls: 0,
            vain_polls: 0,
            busy_polls: 0,
            is_record_open: false,
            closed_ns: None,
            is_dead: false,
        }
    }

    fn close(&mut self) {
        self.state.is_open.store(false, Ordering::Relaxed);
        self.state.has_delayed.store(false, Ordering::Relaxed);
        self.closed_ns.get_or_insert_with(now_ns);
    }

    /// Writes as much of the output as the connection accepts.
    fn write(&mut self) {
        while !self.output.is_empty() && self.closed_ns.is_none() {
            let bytes = self.output.content();
            // SAFETY: reads the bytes. The system call itself: a program may define a function `send`.
            let sent = unsafe {
                libc::syscall(
                    libc::SYS_sendto,
                    self.socket.as_raw_fd(),
                    bytes.as_ptr(),
                    bytes.len(),
                    libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT,
                    ptr::null::<u8>(),
                    0,
                )
            };
            match transfer(sent) {
                Transfer::Bytes(bytes) => self.output.start += bytes,
                Transfer::Blocked => break,
                Transfer::Closed => self.close(),
            }
        }
        self.state.has_delayed.store(false, Ordering::Relaxed);
        self.state.wants_space.store(!self.output.is_empty(), Ordering::Relaxed);
        self.written_ns = if self.delays { now_ns() } else { 0 };
    }

    /// Returns the place of the next record in the output. `None`: the output is full.
    fn next_place(&mut self) -> Option<&mut [u8]> {
        if self.closed_ns.is_some() {
            return None;
        }
        if !self.is_record_open && self.output.space(RECORD_BYTES).len() < RECORD_BYTES {
            self.write();
            if self.output.space(RECORD_BYTES).len() < RECORD_BYTES {
                return None;
            }
        }
        let end = self.output.end;
        self.output.bytes.get_mut(end..end + RECORD_BYTES)
    }

    /// Completes the next record, whose data of this many bytes has been written in place.
    fn complete_record(&mut self, bytes: usize) {
        self.is_record_open = false;
        let end = self.output.end;
        let Some(record) = self.output.bytes.get_mut(end..end + RECORD_BYTES) else {
            return;
        };
        let (header, data) = record.split_at_mut(HEADER_BYTES);
        let bytes = bytes.min(FRAME_BYTES);
        let padded = bytes.next_multiple_of(8);
        data[bytes..padded].fill(0);
        header[..4].copy_from_slice(&(bytes as u32).to_le_bytes());
        header[4..].copy_from_slice(&checksum(bytes as u32, &data[..bytes]).to_le_bytes());
        self.output.end += HEADER_BYTES + padded;
        self.polls = 0;
    }

    /// Returns whether frames wait for a write, delayed or in vain.
    fn has_output(&self) -> bool {
        !self.output.is_empty()
    }

    /// Receives what has arrived.
    fn read(&mut self) {
        if self.closed_ns.is_some() {
            return;
        }
        let socket = self.socket.as_raw_fd();
        let space = self.input.space(RECORD_BYTES);
        // SAFETY: writes at most the space. The system call itself: a program may define a function `recv`.
        let received = unsafe {
            libc::syscall(
                libc::SYS_recvfrom,
                socket,
                space.as_mut_ptr(),
                space.len(),
                libc::MSG_DONTWAIT,
                ptr::null::<u8>(),
                ptr::null::<u8>(),
            )
        };
        match transfer(received) {
            Transfer::Bytes(bytes @ 1..) => {
                self.input.end += bytes;
                self.vain_polls = 0;
            }
            Transfer::Blocked => {}
            Transfer::Bytes(0) | Transfer::Closed => self.close(),
        }
    }

    /// Returns the size of the next record, if it is complete. A length that no record has ends the link.
    fn next_record(&mut self) -> Option<usize> {
        if self.is_dead {
            return None;
        }
        let (header, _) = self.input.content().split_first_chunk::<4>()?;
        let bytes = u32::from_le_bytes(*header) as usize;
        if bytes == 0 || bytes > FRAME_BYTES {
            self.is_dead = true;
            return None;
        }
        let record = HEADER_BYTES + bytes.next_multiple_of(8);
        (self.input.end - self.input.start >= record).then_some(record)
    }

    /// Polls the connection: delayed output, and data of the other rank.
    #[inline(never)]
    fn poll_socket(&mut self) -> bool {
        self.polls += 1;
        if self.polls == 1 && self.has_output() && self.busy_polls < BUSY_INTERVAL {
            self.busy_polls += 1;
            return false;
        }
        self.busy_polls = 0;
        if self.polls == 2 && self.has_output() {
            self.write();
        }
        self.vain_polls = self.vain_polls.saturating_add(1);
        if self.vain_polls > EAGER_POLLS && !self.polls.is_multiple_of(POLL_INTERVAL) {
            return false;
        }
        if self.polls > 2 && self.has_output() {
            self.write();
        }
        self.read();
        self.next_record().is_some()
    }
}

/// Interprets the result of a system call.
fn transfer(result: libc::c_long) -> Transfer {
    if result >= 0 {
        return Transfer::Bytes(result as usize);
    }
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::EAGAIN | libc::EINTR | libc::ENOBUFS | libc::ENOMEM) => Transfer::Blocked,
        _ => Transfer::Closed,
    }
}

/// Checksum of a record.
fn checksum(length: u32, data: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&length.to_le_bytes()), data)
}

impl Link for SocketLink {
    const HAS_TIMEOUTS: bool = false;
    const ALL_EXACT: bool = true;

    fn mtu(&self) -> usize {
        FRAME_BYTES
    }

    fn may_receive(&mut self) -> bool {
        // A dead link has news: the torus finds it dead.
        self.next_record().is_some() || self.is_dead || self.poll_socket()
    }

    fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool {
        let Some(record) = self.next_record() else {
            return false;
        };
        let content = &self.input.content()[..record];
        let is_good = match content {
            [l0, l1, l2, l3, c0, c1, c2, c3, data @ ..] => {
                let length = u32::from_le_bytes([*l0, *l1, *l2, *l3]);
                let data = &data[..(length as usize).min(data.len())];
                let is_good = checksum(length, data) == u32::from_le_bytes([*c0, *c1, *c2, *c3]);
                if is_good {
                    f(data);
                }
                is_good
            }
            _ => false,
        };
        self.is_dead |= !is_good;
        self.input.start += record;
        is_good
    }

    fn transmit(&mut self, f: impl FnOnce(&mut [u8]) -> usize) -> bool {
        let Some(place) = self.next_place() else {
            return false;
        };
        let bytes = f(&mut place[HEADER_BYTES..]);
        if bytes > 0 {
            self.complete_record(bytes);
        }
        true
    }

    fn buffers_unsent(&self) -> bool {
        true
    }

    fn unsent(&mut self) -> Option<&mut [u8]> {
        self.next_place()?;
        self.is_record_open = true;
        self.next_place().map(|place| &mut place[HEADER_BYTES..])
    }

    fn send_unsent(&mut self, bytes: usize) {
        self.complete_record(bytes);
    }

    /// Ends a round: writes its frames, or delays the write.
    fn poll(&mut self, _: u64) {
        // Nothing precedes the sleep of an armed node.
        if !self.delays || self.here.is_armed() || self.output.content().len() >= GATHERED_BYTES {
            self.write();
        } else if self.has_output() {
            self.state.has_delayed.store(true, Ordering::Relaxed);
            node_sleep::note_delayed();
        }
    }

    /// The connection or the other rank repeats nothing, and a wrong record ends the link.
    fn is_exact(&self) -> bool {
        true
    }

    fn is_dead(&self) -> bool {
        self.is_dead
    }
}

impl LinkDevice for SocketLink {
    const SHARES_FLAG: bool = true;
}

impl NodeLink for SocketLink {
    fn mask_interrupts(&mut self) {
        self.here.disarm();
    }

    fn prepare_sleep(&mut self) -> bool {
        if !node_sleep::arm(self.here) {
            return false;
        }
        let could_not_send = self.state.wants_space.load(Ordering::Relaxed);
        if self.has_output() {
            self.write();
        }
        self.read();
        let has_space = could_not_send && !self.has_output();
        self.next_record().is_none() && !has_space
    }

    fn end_call(&mut self) {
        let bytes = self.output.content().len();
        if bytes > KEPT_BYTES || bytes > 0 && now_ns().saturating_sub(self.written_ns) >= WRITE_INTERVAL_NS {
            self.write();
        }
    }

    /// Ends the link if the connection is closed for long.
    fn audit(&mut self) {
        self.is_dead |= { self.closed_ns }.is_some_and(|closed| now_ns().saturating_sub(closed) >= CLOSED_NS);
    }

    fn defects(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oorandom::Rand32;
    use std::io::{ErrorKind, Read, Write};
    use std::os::unix::net::UnixStream;

    /// A socket pair with an end of a link at one side.
    fn end(delays: bool) -> (SocketLink, UnixStream) {
        let (own, other) = UnixStream::pair().unwrap();
        own.set_nonblocking(true).unwrap();
        other.set_nonblocking(true).unwrap();
        let here: &SleepFlag = Box::leak(Box::default());
        let state: &SocketState = Box::leak(Box::default());
        (SocketLink::new(own.into(), here, state, delays), other)
    }

    fn ends(delays: bool) -> [SocketLink; 2] {
        let (one, other) = end(delays);
        let here: &SleepFlag = Box::leak(Box::default());
        let state: &SocketState = Box::leak(Box::default());
        [one, SocketLink::new(other.into(), here, state, delays)]
    }

    fn transmit(link: &mut SocketLink, frame: &[u8]) -> bool {
        link.transmit(|space| {
            space[..frame.len()].copy_from_slice(frame);
            frame.len()
        })
    }

    fn received(link: &mut SocketLink) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        while link.receive(|frame| frames.push(frame.to_vec())) {}
        frames
    }

    /// Polls as a node that waits.
    fn poll_often(link: &mut SocketLink) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        for _ in 0..2 * POLL_INTERVAL {
            if link.may_receive() {
                frames.extend(received(link));
            }
        }
        frames
    }

    fn record(frame: &[u8]) -> Vec<u8> {
        let (mut link, mut other) = end(false);
        assert!(transmit(&mut link, frame));
        link.poll(0);
        let mut bytes = [0; RECORD_BYTES];
        let length = other.read(&mut bytes).unwrap();
        bytes[..length].to_vec()
    }

    #[test]
    fn frames_arrive_in_order_whatever_the_rounds_are() {
        for seed in 0..20 {
            let mut random = Rand32::new(seed);
            let mut ends = ends(seed % 2 == 0);
            let (mut sent, mut seen) = ([0_u32; 2], [0_u32; 2]);
            let frame = |number: u32| {
                let bytes = 1 + number.wrapping_mul(2_654_435_761) as usize % FRAME_BYTES;
                vec![number as u8; bytes]
            };
            let most = 2_000;
            for _ in 0..100_000 {
                let from = random.rand_range(0..2) as usize;
                match random.rand_range(0..6) {
                    0 | 1 => {
                        if sent[from] < most && transmit(&mut ends[from], &frame(sent[from])) {
                            sent[from] += 1;
                        }
                    }
                    2 => {
                        // A frame in parts, in place, with other calls in between.
                        let next = frame(sent[from]);
                        if sent[from] < most && ends[from].unsent().is_some() {
                            let half = next.len() / 2;
                            ends[from].unsent().unwrap()[..half].copy_from_slice(&next[..half]);
                            ends[from].poll(0);
                            ends[from].may_receive();
                            ends[from].unsent().unwrap()[half..next.len()].copy_from_slice(&next[half..]);
                            ends[from].send_unsent(next.len());
                            sent[from] += 1;
                        }
                    }
                    3 => ends[from].poll(0),
                    4 => ends[from].end_call(),
                    _ => {
                        if random.rand_range(0..4) == 0 {
                            ends[from].prepare_sleep();
                            ends[from].mask_interrupts();
                        }
                        if ends[from].may_receive() {
                            for arrived in received(&mut ends[from]) {
                                assert_eq!(arrived, frame(seen[from]), "seed {seed}");
                                seen[from] += 1;
                            }
                        }
                    }
                }
                assert!(!ends[0].is_dead() && !ends[1].is_dead(), "seed {seed}");
                if seen == [most; 2] {
                    break;
                }
            }
            assert_eq!((sent, seen), ([most; 2], [most; 2]), "seed {seed}");
        }
    }

    #[test]
    fn a_write_is_delayed_until_the_node_waits() {
        let (mut link, mut other) = end(true);
        let mut bytes = [0; BUFFER_BYTES];
        let mut arrived = |other: &mut UnixStream| match other.read(&mut bytes) {
            Ok(length) => length,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                0
            }
        };
        // Each way to the write.
        let ways: [fn(&mut SocketLink); 5] = [
            |link| {
                link.may_receive();
                link.may_receive();
            },
            |link| assert!(link.prepare_sleep()),
            |link| {
                link.mask_interrupts();
                assert!(link.here.arm() && transmit(link, b"more"));
                link.poll(0);
            },
            |link| {
                link.written_ns = 0;
                link.end_call();
            },
            |link| {
                while link.output.content().len() < GATHERED_BYTES {
                    assert!(transmit(link, &[1; 1000]));
                }
                link.poll(0);
            },
        ];
        for way in ways {
            link.mask_interrupts();
            link.written_ns = now_ns() + 1_000_000_000;
            assert!(transmit(&mut link, b"some"));
            link.poll(0);
            link.end_call();
            assert!(link.state.has_delayed.load(Ordering::Relaxed));
            assert_eq!(arrived(&mut other), 0);
            way(&mut link);
            assert!(arrived(&mut other) > 0 && !link.has_output());
            assert!(!link.state.has_delayed.load(Ordering::Relaxed));
        }
    }

    #[test]
    fn a_full_connection_leaves_frames_to_the_sender() {
        let mut ends = ends(false);
        let mut sent = 0_u32;
        while transmit(&mut ends[0], &[sent as u8; FRAME_BYTES]) {
            ends[0].poll(0);
            sent += 1;
        }
        assert!(ends[0].prepare_sleep() && ends[0].state.wants_space.load(Ordering::Relaxed));
        ends[0].mask_interrupts();
        let mut seen = 0_u32;
        while seen < sent {
            for frame in poll_often(&mut ends[1]) {
                assert_eq!(frame, [seen as u8; FRAME_BYTES]);
                seen += 1;
            }
            // Space is work for a node that waits for it.
            let had = ends[0].has_output();
            assert_eq!(ends[0].prepare_sleep(), !had || ends[0].has_output());
            ends[0].mask_interrupts();
        }
        assert!(transmit(&mut ends[0], &[1]));
    }

    #[test]
    fn damaged_records_end_the_link() {
        let good = record(b"a frame of some length");
        for at in 0..good.len() - 2 {
            for bit in 0..8 {
                let (mut link, mut other) = end(false);
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                // A longer record would only be incomplete.
                bad.extend([0; RECORD_BYTES]);
                other.write_all(&bad).unwrap();
                let frames = poll_often(&mut link);
                assert!(link.is_dead() && frames.is_empty(), "byte {at}, bit {bit}");
                assert!(link.may_receive() && !link.receive(|_| ()), "the torus finds it dead");
            }
        }
    }

    #[test]
    fn a_closed_connection_is_silent_and_then_dead() {
        let (mut link, other) = end(false);
        assert!(transmit(&mut link, b"some"));
        drop(other);
        assert!(poll_often(&mut link).is_empty());
        link.poll(0);
        link.audit();
        assert!(!link.is_dead() && !link.state.is_open.load(Ordering::Relaxed));
        assert!(!transmit(&mut link, b"more") && link.unsent().is_none());
        assert!(link.prepare_sleep());
        link.closed_ns = link.closed_ns.map(|closed| closed.saturating_sub(CLOSED_NS));
        link.audit();
        assert!(link.is_dead());
    }
}
