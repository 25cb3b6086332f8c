//! Test fixture: processes with a window each, and packets that move only by the script.

use std::collections::VecDeque;

use msg_layer::handler::MalformedPacket;
use msg_layer::header::{SHORT_BYTES, TargetOffset};

use super::deferred_ops::RecordedOperation;
use super::epochs::{CompletionTicket, EpochArgs, EpochKind, ReorderFlags, WindowEvent, WindowSequence};
use super::peers::PeerFlags;
use super::wire::{HEAD_BYTES, MAX_BYTES, PIECE_BYTES, PacketKind, ReplyKind, RequestHead, RmaRequest, emit_piece};
use super::*;
use crate::envelope::{Context, Rank};
use crate::memory::{Span, UserMemory};

mod completion_tickets;
mod concurrent_epochs;
mod device;
mod locks;
mod operations;
mod pieces;
mod rejected;
mod requests;

const WINDOW: Context = 6;

/// Base address of the origins' buffers.
const ORIGIN: usize = 1024;

/// The window's memory, and an origin's buffer.
struct Buffers([Vec<u8>; 2]);

impl Buffers {
    fn at(span: Span) -> (usize, usize) {
        match span.address().checked_sub(ORIGIN) {
            Some(at) => (1, at),
            None => (0, span.address()),
        }
    }
}

impl UserMemory for Buffers {
    fn full_access(&mut self) -> Option<&mut dyn UserMemory> {
        Some(self)
    }
    fn read(&self, span: Span, offset: usize, out: &mut [u8]) {
        let (buffer, at) = Buffers::at(span);
        out.copy_from_slice(&self.0[buffer][at + offset..][..out.len()]);
    }
    fn write(&mut self, span: Span, offset: usize, bytes: &[u8]) {
        let (buffer, at) = Buffers::at(span);
        self.0[buffer][at + offset..][..bytes.len()].copy_from_slice(bytes);
    }
}

/// Adds bytes; operation 0 is unknown.
fn add(operation: u8, _: u8, origin: &[u8], target: &mut [u8]) -> bool {
    for (a, b) in origin.iter().zip(target) {
        *b = b.wrapping_add(*a);
    }
    operation != 0
}

type PacketInFlight = (Rank, u16, Option<TargetOffset>, Vec<u8>);

struct RmaFixture {
    all: Vec<OneSided>,
    buffers: Vec<Buffers>,
    /// Requests to each process, and replies.
    requests: Vec<VecDeque<PacketInFlight>>,
    answers: Vec<VecDeque<PacketInFlight>>,
    /// Number of packets sent.
    left: usize,
}

fn rank(number: usize) -> Rank {
    Rank::new(number as u32)
}

impl RmaFixture {
    /// Creates `processes` processes, with a window of `bytes` bytes each.
    fn new(processes: usize, bytes: usize) -> RmaFixture {
        let one = |number| {
            let mut one = OneSided::new(rank(number), add, crate::memory::runs);
            assert!(one.prepare());
            let peers = vec![WindowPeer::default(); processes + 1].into_boxed_slice();
            let span = Span::model(0, bytes);
            let members = (0..processes).map(rank);
            let window = Window::new(WINDOW, vec![span], false, 1, peers, members, rank(number));
            one.add(window.expect("room"));
            one
        };
        let queues = || (0..processes).map(|_| VecDeque::new()).collect();
        RmaFixture {
            all: (0..processes).map(one).collect(),
            buffers: (0..processes)
                .map(|_| Buffers([vec![0; bytes], vec![0; 2048]]))
                .collect(),
            requests: queues(),
            answers: queues(),
            left: 0,
        }
    }

    fn window(&mut self, at: usize) -> &mut Window {
        self.all[at].window(WINDOW).expect("it is there")
    }

    /// Transmits the pending packets of process `at`.
    fn leave(&mut self, at: usize) -> usize {
        let mut out = [0; SHORT_BYTES];
        let mut count = 0;
        while let Some(leaving) = self.all[at].next_packet(&mut self.buffers[at], &mut out) {
            assert_ne!(leaving.dest, rank(at), "no packets to oneself");
            let bytes = out[..leaving.len].to_vec();
            let packet = (rank(at), leaving.argument, leaving.place, bytes);
            self.requests[leaving.dest.index() as usize].push_back(packet);
            count += 1;
        }
        self.left += count;
        count
    }

    /// Handles one request at process `at`; returns false when there is none.
    fn take(&mut self, at: usize) -> Result<bool, MalformedPacket> {
        let Some((source, argument, place, bytes)) = self.requests[at].pop_front() else {
            return Ok(false);
        };
        let request = RmaRequest {
            source,
            argument,
            place,
            bytes: &bytes,
        };
        let answer = self.all[at].dispatch_request(&mut self.buffers[at], request)?;
        if let Some(answer) = answer {
            let packet = (rank(at), answer.argument, None, answer.bytes.to_vec());
            self.answers[source.index() as usize].push_back(packet);
        }
        Ok(true)
    }

    fn hear(&mut self, at: usize) -> Result<bool, MalformedPacket> {
        let Some((source, argument, place, bytes)) = self.answers[at].pop_front() else {
            return Ok(false);
        };
        let answer = RmaRequest {
            source,
            argument,
            place,
            bytes: &bytes,
        };
        self.all[at].dispatch_reply(&mut self.buffers[at], answer)?;
        Ok(true)
    }

    /// Moves all packets until nothing moves.
    fn settle(&mut self) {
        loop {
            let mut moved = false;
            for at in 0..self.all.len() {
                moved |= self.leave(at) > 0;
                while self.take(at).expect("sound") {
                    moved = true;
                }
                while self.hear(at).expect("sound") {
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
    }

    fn ask(&mut self, from: usize, to: usize, awaited: ReplyPurpose, offset: usize, packet: &[u8]) -> u16 {
        let into = (Span::model(ORIGIN, 2048), offset);
        let one = &mut self.all[from];
        let name = one.await_reply((WINDOW, rank(to)), awaited, into).expect("a slot");
        if from == to {
            one.act_on_self(&mut self.buffers[from], name, packet).expect("sound");
        } else if !matches!(awaited, ReplyPurpose::Data { .. }) {
            assert!(one.push((WINDOW, rank(to)), name, packet));
        }
        name
    }

    fn synchronize(&mut self, from: usize, to: usize, kind: PacketKind, operation: u8) {
        let mut packet = [0; HEAD_BYTES];
        let head = RequestHead {
            operation,
            ..RequestHead::new(kind, WINDOW)
        };
        head.emit(&mut packet);
        if kind != PacketKind::Lock {
            self.ask(from, to, ReplyPurpose::Done, 0, &packet);
        } else if from == to {
            let done = self.all[from].act_on_self(&mut self.buffers[from], 0, &packet);
            done.expect("sound");
        } else {
            assert!(self.all[from].push((WINDOW, rank(to)), 0, &packet));
        }
    }

    /// Requests a get; returns its ID.
    fn get(&mut self, from: usize, to: usize, (place, len): (u64, u32), offset: usize) -> u16 {
        let mut packet = [0; 32];
        let bytes = get_request(&mut packet, WINDOW, place, len);
        let awaited = ReplyPurpose::Data { place, len };
        self.ask(from, to, awaited, offset, &packet[..bytes])
    }
}

/// Epochs and their operations, without waiting calls.
impl RmaFixture {
    fn begin(
        &mut self,
        at: usize,
        sort: EpochKind,
        members: &[Rank],
        told: &'static CompletionTicket,
    ) -> WindowSequence {
        let opening = EpochArgs {
            sort,
            members,
            checks: true,
        };
        let epoch = self.all[at].open(WINDOW, opening, Some(told));
        epoch.expect("room")
    }

    /// Records a put of 4 bytes in an epoch of process `at`.
    fn put(&mut self, of: (usize, WindowSequence, usize), place: usize) -> &'static CompletionTicket {
        self.record(of, PacketKind::Put, place, 4).1
    }

    fn record(
        &mut self,
        (at, epoch, target): (usize, WindowSequence, usize),
        kind: PacketKind,
        place: usize,
        len: usize,
    ) -> (WindowSequence, &'static CompletionTicket) {
        let here = Span::model(ORIGIN, len);
        let operation = RecordedOperation {
            head: RequestHead::new(kind, WINDOW),
            from: if kind == PacketKind::Put { here } else { Span::EMPTY },
            compare: Span::EMPTY,
            into: if kind == PacketKind::Get { here } else { Span::EMPTY },
            to: Span::model(place, len),
            len,
            unit: 1,
        };
        let told = ticket();
        let serial = self.all[at].defer(WINDOW, epoch, rank(target), operation, Some(told));
        (serial.expect("room"), told)
    }

    fn end(&mut self, at: usize, epoch: WindowSequence) -> &'static CompletionTicket {
        let told = ticket();
        self.all[at].close(WINDOW, epoch, Some(told));
        told
    }
}

fn ticket() -> &'static CompletionTicket {
    Box::leak(Box::default())
}

fn lock(target: usize) -> EpochKind {
    EpochKind::Lock {
        target: rank(target),
        is_exclusive: true,
    }
}

fn packet(kind: PacketKind, operation: u8, place: u64, bytes: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; HEAD_BYTES + PIECE_BYTES + bytes.len()];
    let head = RequestHead {
        operation,
        ..RequestHead::new(kind, WINDOW)
    };
    head.emit(&mut packet);
    emit_piece(&mut packet[HEAD_BYTES..], place, bytes.len()).copy_from_slice(bytes);
    packet
}
