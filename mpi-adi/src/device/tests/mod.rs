//! Packet scripts: two or three devices, and a network in which nothing moves unless the script says so.

use std::collections::VecDeque;

use msg_layer::port::BODY_BYTES;
use msg_layer::{Class, Port};
use net_torus::{Coord, Shape};

use crate::device::adi::Adi;
use crate::device::config::{Config, Memory};
use crate::device::envelope::Pattern;
use crate::device::memory::region::{BLOCK_BYTES, Blocks};
use crate::device::memory::{Span, UserMemory};
use crate::device::request::Outcome;
use crate::device::request::{KEPT_SLOTS, Mode, RequestId};
use crate::device::send::SendTo;
use crate::device::send::light;
use crate::device::wire::{self, Fields};

/// What a script sees go by.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Seen {
    Rts { tag: i32, age: u8 },
    Done,
    Cancel,
    Cancelled,
    Data { offset: u32, len: usize },
    Eager { offset: u32, len: usize },
    Cts { complete: bool },
    Nctsd,
    Ncts,
    ResendAll { age: u8 },
}
use Seen::*;

/// Where a packet goes, its class and its body.
type Packet = (usize, Class, Vec<u8>);

#[derive(Default)]
struct Wires {
    shape: Option<Shape>,
    /// Packets injected and not yet moved: class, destination, body.
    out: Vec<(Class, Coord, Vec<u8>)>,
    normal: VecDeque<Vec<u8>>,
    priority: VecDeque<Vec<u8>>,
    priority_full: bool,
    /// Normal packets that may wait to be moved.
    normal_limit: Option<usize>,
}

impl Wires {
    fn queue(&mut self, class: Class) -> &mut VecDeque<Vec<u8>> {
        match class {
            Class::Normal => &mut self.normal,
            Class::Priority => &mut self.priority,
        }
    }
}

impl Port for Wires {
    fn can_inject(&self, class: Class) -> bool {
        match class {
            Class::Normal => self.normal_limit.is_none_or(|limit| self.out.len() < limit),
            Class::Priority => !self.priority_full,
        }
    }
    fn has_node(&self, node: Coord) -> bool {
        self.shape.is_some_and(|shape| shape.rank(node).is_some())
    }
    fn inject(
        &mut self,
        class: Class,
        dest: Coord,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> bool {
        assert!(len <= BODY_BYTES && self.has_node(dest));
        if !self.can_inject(class) {
            return false;
        }
        let mut body = vec![0; len];
        fill(&mut body);
        self.out.push((class, dest, body));
        true
    }
    fn head(&self, class: Class) -> Option<&[u8]> {
        let queue = if class == Class::Normal {
            &self.normal
        } else {
            &self.priority
        };
        queue.front().map(Vec::as_slice)
    }
    fn pop(&mut self, class: Class) {
        self.queue(class).pop_front().expect("pop follows head");
    }
}

/// Model memory: a buffer per key, and so many blocks to lend.
#[derive(Default)]
struct Buffers(Vec<Vec<u8>>, u32);

impl UserMemory for Buffers {
    fn read(&self, span: Span, offset: usize, out: &mut [u8]) {
        out.copy_from_slice(&self.0[span.address()][offset..offset + out.len()]);
    }
    fn write(&mut self, span: Span, offset: usize, bytes: &[u8]) {
        self.0[span.address()][offset..offset + bytes.len()].copy_from_slice(bytes);
    }
    fn spare_blocks(&self) -> u32 {
        self.1
    }
    fn lend(&mut self, count: u32) -> Option<Blocks> {
        self.1 = self.1.checked_sub(count)?;
        let blocks = crate::boxed([0; BLOCK_BYTES], count as usize)?;
        let map = crate::boxed(0, Blocks::map_words(count as usize))?;
        Some(Blocks::new(blocks, map))
    }
    fn take_back(&mut self, loan: Blocks) {
        self.1 += loan.len() as u32;
    }
}

struct Rig {
    adis: Vec<Adi>,
    wires: Vec<Wires>,
    buffers: Buffers,
}

fn pattern(tag: i32) -> Pattern {
    Pattern {
        source: Some(0),
        tag: Some(tag),
        context: 0,
    }
}

impl Rig {
    /// `nodes` devices; the last has `blocks` blocks of MPI memory, the others plenty.
    fn new(nodes: u16, blocks: usize) -> Rig {
        let shape = Shape::new([nodes, 1, 1], [true; 3]).unwrap();
        let adi = |rank| {
            let bytes = if rank + 1 == u32::from(nodes) {
                blocks * BLOCK_BYTES
            } else {
                1 << 16
            };
            let memory = Memory::allocate(bytes, nodes.into()).unwrap();
            let config = Config {
                shape,
                rank,
                request_slots: 1 << 12,
            };
            let mut adi = Adi::new(config, memory).unwrap();
            adi.set_eager_limit(0);
            adi
        };
        let wires = || Wires {
            shape: Some(shape),
            ..Wires::default()
        };
        Rig {
            adis: (0..nodes.into()).map(adi).collect(),
            wires: (0..nodes).map(|_| wires()).collect(),
            buffers: Buffers::default(),
        }
    }

    /// As [`Rig::new`], and messages up to `limit` bytes are sent eagerly.
    fn eager(nodes: u16, blocks: usize, limit: usize) -> Rig {
        let mut rig = Rig::new(nodes, blocks);
        for adi in &mut rig.adis {
            adi.set_eager_limit(limit);
        }
        rig
    }

    fn span(&mut self, bytes: Vec<u8>) -> Span {
        self.buffers.0.push(bytes);
        Span::model(
            self.buffers.0.len() - 1,
            self.buffers.0.last().unwrap().len(),
        )
    }

    /// Node `from` sends `len` bytes, each the tag, to the last node, and steps.
    fn send(&mut self, from: usize, tag: i32, len: usize, mode: Mode) -> RequestId {
        let span = self.span(vec![tag as u8; len]);
        let dest = self.adis.len() as u32 - 1;
        let id = self.adis[from]
            .isend(
                SendTo {
                    dest,
                    tag,
                    context: 0,
                    mode,
                },
                span,
            )
            .unwrap();
        self.step(from);
        id
    }

    /// The last node posts a receive for `len` bytes and steps; the request and its buffer's key.
    fn post(&mut self, pattern: Pattern, len: usize) -> (RequestId, usize) {
        let span = self.span(vec![0; len]);
        let last = self.adis.len() - 1;
        let id = self.adis[last]
            .irecv(&mut self.buffers, pattern, span)
            .unwrap();
        self.step(last);
        (id, span.address())
    }

    fn step(&mut self, node: usize) {
        while self.adis[node].progress(&mut self.wires[node], &mut self.buffers) {}
    }

    /// Takes every packet that `from` has injected: where it goes, and what they were.
    fn injected(&mut self, from: usize) -> (Vec<Packet>, Vec<Seen>) {
        let packets: Vec<_> = self.wires[from].out.drain(..).collect();
        let seen = packets
            .iter()
            .map(|(class, _, body)| look(*class, body))
            .collect();
        let shape = self.adis[from].shape;
        let packets = packets
            .into_iter()
            .map(|(class, dest, body)| (shape.rank(dest).unwrap() as usize, class, body));
        (packets.collect(), seen)
    }

    /// Moves every packet that `from` has injected to its destination, lets the destination step, and
    /// says what they were.
    fn moved(&mut self, from: usize) -> Vec<Seen> {
        let (packets, seen) = self.injected(from);
        for (dest, class, body) in packets {
            self.wires[dest].queue(class).push_back(body);
            self.step(dest);
        }
        seen
    }

    /// As [`Rig::moved`], but all have come before the destinations look.
    fn moved_together(&mut self, from: usize) -> Vec<Seen> {
        let (packets, seen) = self.injected(from);
        for (dest, class, body) in packets {
            self.wires[dest].queue(class).push_back(body);
        }
        for node in 0..self.adis.len() {
            self.step(node);
        }
        seen
    }

    /// Moves everything until nothing moves.
    fn settle(&mut self) {
        while self.wires.iter().any(|wires| !wires.out.is_empty()) {
            for node in 0..self.adis.len() {
                self.moved(node);
            }
        }
    }

    fn outcome(&mut self, node: usize, id: RequestId) -> Option<Outcome> {
        self.adis[node].test(id)
    }

    fn assert_clean(&self) {
        for adi in &self.adis {
            assert!(adi.is_quiet());
            assert_eq!(
                (
                    adi.region.used_bytes(),
                    adi.requests.live(),
                    adi.region.records()
                ),
                (0, 0, 0)
            );
            assert_eq!(adi.stats.malformed, 0);
        }
    }
}

fn look(class: Class, body: &[u8]) -> Seen {
    let (header, bytes) = msg_layer::header::Header::parse(body).unwrap();
    match (class, header.handler) {
        (Class::Normal, wire::RTS) => {
            let merged = match header.argument {
                0 => 0,
                _ => wire::MERGED_BYTES,
            };
            let (rts, _) = wire::Rts::parse(&bytes[..bytes.len() - merged]).unwrap();
            Rts {
                tag: rts.tag,
                age: rts.age,
            }
        }
        (Class::Normal, wire::DONE) => Done,
        (Class::Normal, wire::CANCEL) => Cancel,
        (Class::Priority, wire::CANCELLED) => Cancelled,
        (Class::Normal, wire::DATA) => Data {
            offset: header.place.unwrap().offset,
            len: bytes.len(),
        },
        (Class::Normal, wire::EAGER) => Eager {
            offset: header.place.unwrap().offset,
            len: bytes.len(),
        },
        (Class::Priority, wire::CTS) => Cts {
            complete: Fields::parse(bytes).unwrap().complete,
        },
        (Class::Priority, wire::NCTSD) => Nctsd,
        (Class::Priority, wire::NCTS) => Ncts,
        (Class::Priority, wire::RESEND_ALL) => ResendAll {
            age: wire::ResendAll::parse(bytes).unwrap().age,
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_short_message_to_a_posted_receive_takes_one_trip() {
    let mut rig = Rig::new(2, 8);
    let (receive, key) = rig.post(pattern(7), 10);
    let send = rig.send(0, 7, 10, Mode::Standard);
    assert_eq!(rig.moved(0), [Rts { tag: 7, age: 0 }]);
    assert_eq!(rig.buffers.0[key], [7; 10]);
    let done = Outcome {
        source: 0,
        tag: 7,
        bytes: 10,
        truncated: false,
        cancelled: false,
    };
    assert_eq!(rig.outcome(1, receive), Some(done));
    assert!(
        rig.outcome(0, send).is_some(),
        "its answer is still on the way"
    );
    assert!(!rig.adis[0].is_quiet());
    assert_eq!(rig.moved(1), [Cts { complete: true }]);
    assert_eq!(rig.adis[1].region.peak_bytes(), 0);
    rig.assert_clean();
}

#[test]
fn what_is_not_light_completes_with_its_answer() {
    for (len, mode) in [(33, Mode::Standard), (10, Mode::Synchronous)] {
        let mut rig = Rig::new(2, 8);
        let (receive, key) = rig.post(pattern(7), len);
        let send = rig.send(0, 7, len, mode);
        assert_eq!(rig.moved(0), [Rts { tag: 7, age: 0 }]);
        assert_eq!(rig.buffers.0[key], vec![7; len]);
        assert!(rig.outcome(1, receive).is_some());
        assert_eq!(rig.outcome(0, send), None, "its answer is still on the way");
        assert_eq!(rig.moved(1), [Cts { complete: true }]);
        assert!(rig.outcome(0, send).is_some());
        rig.assert_clean();
    }
}

#[test]
fn light_sends_that_come_together_share_an_answer() {
    let mut rig = Rig::new(2, 8);
    let count = i32::from(crate::SHARED_ANSWER) + 3;
    let receives: Vec<_> = (0..count).map(|tag| rig.post(pattern(tag), 4).0).collect();
    for tag in 0..count {
        let send = rig.send(0, tag, 4, Mode::Standard);
        assert!(rig.outcome(0, send).is_some());
    }
    assert_eq!(rig.moved_together(0).len(), count as usize);
    for receive in receives {
        assert!(rig.outcome(1, receive).is_some());
    }
    assert_eq!(
        rig.moved(1),
        [Cts { complete: true }, Cts { complete: true }]
    );
    let stats = &rig.adis[1].stats;
    assert_eq!(
        (stats.cts_sent, stats.cts_merged),
        (count as u64, count as u64 - 2)
    );
    assert_eq!(rig.adis[0].stats.cts_received, count as u64);
    rig.assert_clean();
}

#[test]
fn an_answer_goes_with_a_message_the_other_way() {
    let mut rig = Rig::new(2, 8);
    let (receive, _) = rig.post(pattern(1), 4);
    let send = rig.send(0, 1, 4, Mode::Standard);
    rig.adis[0].forget(send);
    let (_, _, rts) = rig.wires[0].out.pop().expect("the offer");
    rig.wires[1].normal.push_back(rts);
    assert!(rig.adis[1].progress(&mut rig.wires[1], &mut rig.buffers));
    assert!(rig.outcome(1, receive).is_some());
    let span = rig.span(vec![9; 40]);
    let to = SendTo {
        dest: 0,
        tag: 2,
        context: 0,
        mode: Mode::Standard,
    };
    let back = rig.adis[1].isend(to, span).unwrap();
    rig.step(1);
    assert_eq!(rig.moved(1), [Rts { tag: 2, age: 0 }], "and nothing else");
    assert_eq!(rig.adis[1].stats.cts_merged, 1);
    assert!(rig.adis[0].lights.is_empty());
    let landing = rig.span(vec![0; 40]);
    let pattern = Pattern {
        source: Some(1),
        tag: Some(2),
        context: 0,
    };
    let last = rig.adis[0]
        .irecv(&mut rig.buffers, pattern, landing)
        .unwrap();
    rig.settle();
    assert!(rig.outcome(0, last).is_some() && rig.outcome(1, back).is_some());
    assert_eq!(rig.buffers.0[landing.address()], [9; 40]);
    rig.assert_clean();
}

/// The program has its buffers back long before anybody takes the messages.
#[test]
fn light_sends_that_are_refused_or_recorded_without_data_are_kept() {
    for blocks in [0, 1, 2] {
        let mut rig = Rig::new(2, blocks);
        for tag in 1..=4 {
            let send = rig.send(0, tag, 4, Mode::Standard);
            assert!(rig.outcome(0, send).is_some());
            rig.buffers.0.last_mut().expect("its buffer").fill(0xEE);
        }
        rig.settle();
        // A long one behind them keeps its place.
        let long = rig.send(0, 3, 100, Mode::Standard);
        rig.settle();
        for (tag, len) in [(4, 4), (3, 4), (1, 4), (3, 100), (2, 4)] {
            let (receive, key) = rig.post(pattern(tag), len);
            rig.settle();
            assert!(
                rig.outcome(1, receive).is_some(),
                "{blocks} blocks, tag {tag}"
            );
            assert_eq!(rig.buffers.0[key], vec![tag as u8; len], "{blocks} blocks");
        }
        assert!(rig.outcome(0, long).is_some());
        rig.assert_clean();
    }
}

#[test]
fn a_light_send_that_has_not_left_can_be_cancelled() {
    let mut rig = Rig::new(2, 8);
    rig.wires[0].normal_limit = Some(0);
    let sends = [1, 2, 3].map(|tag| rig.send(0, tag, 4, Mode::Standard));
    assert!(rig.adis[0].cancel(sends[1]));
    assert!(
        rig.outcome(0, sends[1])
            .is_some_and(|outcome| outcome.cancelled)
    );
    rig.wires[0].normal_limit = None;
    rig.step(0);
    assert_eq!(rig.moved(0), [1, 3].map(|tag| Rts { tag, age: 0 }));
    for tag in [1, 3] {
        rig.post(pattern(tag), 4);
    }
    rig.settle();
    for send in [sends[0], sends[2]] {
        assert!(
            rig.outcome(0, send)
                .is_some_and(|outcome| !outcome.cancelled)
        );
    }
    assert!(rig.adis[0].is_quiet());
}

#[test]
fn there_are_so_many_light_sends_and_the_next_one_waits_for_its_answer() {
    let mut rig = Rig::new(2, 128);
    let sends: Vec<_> = (0..=light::LIGHTS as i32)
        .map(|tag| rig.send(0, tag, 4, Mode::Standard))
        .collect();
    let (last, light) = sends.split_last().expect("some");
    for &send in light {
        assert!(rig.outcome(0, send).is_some());
    }
    assert_eq!(rig.outcome(0, *last), None);
    rig.settle();
    assert!(rig.outcome(0, *last).is_some());
    for tag in 0..=light::LIGHTS as i32 {
        let (receive, key) = rig.post(pattern(tag), 4);
        rig.settle();
        assert!(rig.outcome(1, receive).is_some());
        assert_eq!(rig.buffers.0[key], [tag as u8; 4]);
    }
    rig.assert_clean();
}

/// Whatever answers name light sends, and in whatever number: those that are wrong are counted.
#[test]
fn wrong_answers_to_light_sends_move_nothing_or_end_them() {
    let mut state = 1_u32;
    let mut random = move |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % below
    };
    let mut malformed = 0;
    for round in 0..200 {
        let mut rig = Rig::new(3, 8);
        for _ in 0..200 {
            let span = rig.span(vec![1; 4]);
            let to = SendTo {
                dest: 1 + random(2),
                tag: 1,
                context: 0,
                mode: Mode::Standard,
            };
            let id = rig.adis[0].isend(to, span).unwrap();
            rig.adis[0].forget(id);
            rig.wires[0].normal_limit = Some(random(40) as usize);
            rig.step(0);
            rig.wires[0].out.clear();
            let fields = Fields {
                request: RequestId::light(random(34), random(3)).0,
                complete: random(2) == 0,
                stale: random(8) == 0,
                before: [0, 1, 2, 40][random(4) as usize],
                ..Fields::default()
            };
            let handler = [wire::CTS, wire::CTS, wire::NCTSD, wire::NCTS][random(4) as usize];
            let answer = fields.emit(handler);
            let header = msg_layer::header::Header {
                handler,
                source: rig.adis[0].shape.coord(1 + random(2)).unwrap(),
                argument: 0,
                place: None,
            };
            let mut body = vec![0; header.bytes() + answer.bytes.len()];
            header
                .emit(&mut body, answer.bytes.len())
                .copy_from_slice(&answer.bytes);
            rig.wires[0].priority.push_back(body);
            rig.step(0);
        }
        let stats = rig.adis[0].stats;
        assert!(stats.cts_received > 0, "round {round}");
        malformed += stats.malformed;
    }
    assert!(malformed > 1000);
}

#[test]
fn a_long_message_to_a_posted_receive_waits_for_cts_and_goes_straight_to_its_place() {
    let mut rig = Rig::new(2, 8);
    let (receive, key) = rig.post(pattern(7), 500);
    let send = rig.send(0, 7, 500, Mode::Standard);
    assert_eq!(rig.moved(0), [Rts { tag: 7, age: 0 }]);
    assert_eq!(rig.moved(1), [Cts { complete: false }]);
    let data = [
        Data {
            offset: 0,
            len: 232,
        },
        Data {
            offset: 232,
            len: 232,
        },
        Data {
            offset: 464,
            len: 36,
        },
    ];
    assert_eq!(rig.moved(0), data);
    assert_eq!(rig.buffers.0[key], [7; 500]);
    assert!(rig.outcome(1, receive).is_some() && rig.outcome(0, send).is_some());
    assert_eq!(rig.adis[1].region.peak_bytes(), 0);
    rig.assert_clean();
}

#[test]
fn an_unexpected_message_is_buffered_where_there_is_room() {
    for len in [0, 10, 224, 225, 500] {
        let mut rig = Rig::new(2, 32);
        let send = rig.send(0, 7, len, Mode::Standard);
        rig.settle();
        assert!(
            rig.outcome(0, send).is_some(),
            "a buffered send of {len} bytes completes"
        );
        let (receive, key) = rig.post(pattern(7), len);
        assert_eq!(rig.outcome(1, receive).map(|o| o.bytes), Some(len));
        assert_eq!(rig.buffers.0[key], vec![7; len]);
        assert_eq!(rig.adis[1].region.peak_bytes(), (1 + len.div_ceil(32)) * 32);
        rig.assert_clean();
    }
}

#[test]
fn a_receive_can_match_while_the_buffer_still_fills() {
    let mut rig = Rig::new(2, 32);
    let send = rig.send(0, 7, 500, Mode::Standard);
    rig.moved(0);
    assert_eq!(rig.moved(1), [Cts { complete: false }]);
    let (receive, key) = rig.post(pattern(7), 300);
    assert_eq!(rig.outcome(1, receive), None);
    rig.settle();
    let cut = Outcome {
        source: 0,
        tag: 7,
        bytes: 300,
        truncated: true,
        cancelled: false,
    };
    assert_eq!(rig.outcome(1, receive), Some(cut));
    assert_eq!(rig.buffers.0[key], [7; 300]);
    assert!(rig.outcome(0, send).is_some());
    rig.assert_clean();
}

#[test]
fn with_room_for_a_record_only_the_sender_keeps_the_data() {
    let mut rig = Rig::new(2, 1);
    let send = rig.send(0, 7, 100, Mode::Standard);
    rig.moved(0);
    assert_eq!(rig.moved(1), [Nctsd]);
    assert_eq!(rig.outcome(0, send), None);
    let (receive, key) = rig.post(pattern(7), 100);
    assert_eq!(rig.moved(1), [Cts { complete: false }]);
    assert_eq!(
        rig.moved(0),
        [Data {
            offset: 0,
            len: 100
        }]
    );
    assert_eq!(rig.buffers.0[key], [7; 100]);
    assert!(rig.outcome(1, receive).is_some() && rig.outcome(0, send).is_some());
    rig.assert_clean();
}

#[test]
fn with_no_memory_at_all_a_posted_receive_restarts_its_source() {
    let mut rig = Rig::new(2, 0);
    let send = rig.send(0, 7, 5, Mode::Standard);
    rig.moved(0);
    assert_eq!(rig.moved(1), [Ncts]);
    assert_eq!(rig.moved(0), [], "a refused message waits for resendAll");
    let (receive, _) = rig.post(pattern(7), 5);
    assert_eq!(rig.moved(1), [ResendAll { age: 1 }]);
    assert_eq!(rig.moved(0), [Rts { tag: 7, age: 1 }]);
    assert_eq!(rig.moved(1), [Cts { complete: true }]);
    assert!(rig.outcome(1, receive).is_some() && rig.outcome(0, send).is_some());
    rig.assert_clean();
}

#[test]
fn a_record_that_a_receive_has_matched_restarts_refused_sources() {
    let mut rig = Rig::new(2, 1);
    let first = rig.send(0, 1, 50, Mode::Standard);
    let second = rig.send(0, 2, 50, Mode::Standard);
    rig.moved(0);
    assert_eq!(rig.moved(1), [Nctsd, Ncts]);
    let (one, _) = rig.post(pattern(1), 50);
    assert_eq!(
        rig.moved(1),
        [ResendAll { age: 1 }, Cts { complete: false }]
    );
    assert_eq!(
        rig.moved(0),
        [Rts { tag: 2, age: 1 }, Data { offset: 0, len: 50 }]
    );
    assert_eq!(rig.moved(1), [Nctsd]);
    let (two, _) = rig.post(pattern(2), 50);
    rig.settle();
    assert!(
        [one, two]
            .into_iter()
            .all(|id| rig.outcome(1, id).is_some())
    );
    assert!(
        [first, second]
            .into_iter()
            .all(|id| rig.outcome(0, id).is_some())
    );
    rig.assert_clean();
}

/// Rules (a) and (b): a notice passes an offer on its way; the offer comes too late to be judged.
#[test]
fn an_offer_that_a_notice_has_crossed_is_made_again() {
    let mut rig = Rig::new(2, 0);
    let one = rig.send(0, 1, 5, Mode::Standard);
    rig.moved(0);
    assert_eq!(rig.moved(1), [Ncts]);
    let two = rig.send(0, 2, 5, Mode::Standard);
    let (receive, _) = rig.post(pattern(2), 5);
    // The second RTS is on its way under age 0 when the notice comes: nothing leaves before its answer.
    assert_eq!(rig.moved(1), [ResendAll { age: 1 }]);
    assert_eq!(rig.moved(0), [Rts { tag: 2, age: 0 }]);
    assert_eq!(rig.moved(1), [Ncts]);
    assert_eq!(
        rig.moved(0),
        [Rts { tag: 2, age: 1 }],
        "asked for; tag 1 is not"
    );
    rig.settle();
    assert!(rig.outcome(1, receive).is_some() && rig.outcome(0, two).is_some());
    let (receive, _) = rig.post(pattern(1), 5);
    rig.settle();
    assert!(rig.outcome(1, receive).is_some() && rig.outcome(0, one).is_some());
    rig.assert_clean();
}

/// Rule (b): what the program sends while a notice is being carried out stays behind it.
#[test]
fn a_new_message_does_not_pass_a_restart() {
    let mut rig = Rig::new(2, 0);
    let one = rig.send(0, 9, 1, Mode::Standard);
    rig.moved(0);
    rig.moved(1);
    let two = rig.send(0, 9, 2, Mode::Standard);
    let (first, _) = rig.post(pattern(9), 8);
    assert_eq!(rig.moved(1), [ResendAll { age: 1 }]);
    let three = rig.send(0, 9, 3, Mode::Standard);
    assert_eq!(
        rig.moved(0),
        [Rts { tag: 9, age: 0 }],
        "the third waits for the second's answer"
    );
    rig.settle();
    let (second, _) = rig.post(pattern(9), 8);
    rig.settle();
    let (third, _) = rig.post(pattern(9), 8);
    rig.settle();
    for (receive, bytes) in [(first, 1), (second, 2), (third, 3)] {
        assert_eq!(rig.outcome(1, receive).map(|o| o.bytes), Some(bytes));
    }
    assert!(
        [one, two, three]
            .into_iter()
            .all(|id| rig.outcome(0, id).is_some())
    );
    rig.assert_clean();
}

/// Rule (e): a receive posted after the notice had left may belong to an earlier message.
#[test]
fn what_a_notice_brings_does_not_take_a_receive_posted_since() {
    let mut rig = Rig::new(2, 0);
    let any_tag = Pattern {
        tag: None,
        ..pattern(0)
    };
    let sends = [1, 2, 3].map(|tag| rig.send(0, tag, tag as usize, Mode::Standard));
    rig.settle();
    let (second, _) = rig.post(pattern(2), 8);
    let notice = std::mem::take(&mut rig.wires[1].out);
    assert!(rig.adis[1].cancel(second), "gone before its message comes");
    let (first, _) = rig.post(any_tag, 8);
    rig.wires[1].out.splice(0..0, notice);
    rig.settle();
    assert_eq!(rig.outcome(1, first).map(|o| o.tag), Some(1));
    assert!(rig.outcome(1, second).is_some_and(|o| o.cancelled));
    let rest = [rig.post(any_tag, 8).0, rig.post(any_tag, 8).0];
    rig.settle();
    assert_eq!(
        rest.map(|id| rig.outcome(1, id).map(|o| o.tag)),
        [Some(2), Some(3)]
    );
    assert!(sends.into_iter().all(|id| rig.outcome(0, id).is_some()));
    rig.assert_clean();
}

#[test]
fn a_notice_that_asks_for_nothing_that_is_there_is_closed_by_done() {
    let mut rig = Rig::new(2, 0);
    let one = rig.send(0, 1, 5, Mode::Standard);
    rig.settle();
    let (two, _) = rig.post(pattern(2), 5);
    assert_eq!(rig.moved(1), [ResendAll { age: 1 }]);
    assert_eq!(rig.moved(0), [Done]);
    let (first, _) = rig.post(pattern(1), 5);
    rig.settle();
    let later = rig.send(0, 2, 5, Mode::Standard);
    rig.settle();
    assert!(
        [first, two]
            .into_iter()
            .all(|id| rig.outcome(1, id).is_some())
    );
    assert!(
        [one, later]
            .into_iter()
            .all(|id| rig.outcome(0, id).is_some())
    );
    rig.assert_clean();
}

/// The killer's order: packets and steps grow with the number of messages, not with its square.
#[test]
fn receiving_in_reverse_order_takes_a_bounded_number_of_offers_for_each_message() {
    for messages in [100, 1_000] {
        let mut rig = Rig::new(2, 4);
        let sends: Vec<_> = (1..=messages)
            .map(|tag| rig.send(0, tag, 16, Mode::Standard))
            .collect();
        rig.settle();
        for tag in (1..=messages).rev() {
            let (receive, _) = rig.post(pattern(tag), 16);
            rig.settle();
            assert!(rig.outcome(1, receive).is_some());
        }
        assert!(sends.into_iter().all(|id| rig.outcome(0, id).is_some()));
        let stats = rig.adis[0].stats;
        let offers = stats.rts_sent + stats.resend_all_received + stats.done_sent;
        assert!(
            offers <= 4 * messages as u64,
            "{offers} for {messages} messages"
        );
        assert!(rig.adis[0].pending.steps() <= 4 * messages as u64);
        rig.assert_clean();
    }
}

/// A source with ten thousand refused messages, one slot that comes free: one offer, not ten thousand.
#[test]
fn freed_memory_brings_as_many_offers_as_it_has_room_for() {
    let mut rig = Rig::new(3, 2);
    let sends: Vec<_> = (0..200)
        .map(|n| (n % 2, rig.send(n as usize % 2, 7, 16, Mode::Standard)))
        .collect();
    rig.settle();
    for n in 0..200 {
        let before = rig.adis[0].stats.rts_sent + rig.adis[1].stats.rts_sent;
        let (receive, _) = rig.post(
            Pattern {
                source: Some(n % 2),
                tag: None,
                context: 0,
            },
            16,
        );
        rig.settle();
        assert!(rig.outcome(2, receive).is_some());
        let offers = rig.adis[0].stats.rts_sent + rig.adis[1].stats.rts_sent - before;
        assert!(offers <= 6, "{offers} offers for one receive");
    }
    assert!(
        sends
            .into_iter()
            .all(|(from, id)| rig.outcome(from as usize, id).is_some())
    );
    rig.assert_clean();
}

#[test]
fn a_synchronous_send_completes_only_when_matched() {
    let mut rig = Rig::new(2, 8);
    let send = rig.send(0, 7, 5, Mode::Synchronous);
    rig.moved(0);
    assert_eq!(rig.moved(1), [Nctsd], "never buffered");
    rig.settle();
    assert_eq!(rig.outcome(0, send), None);
    let (receive, key) = rig.post(pattern(7), 5);
    rig.settle();
    assert!(rig.outcome(1, receive).is_some() && rig.outcome(0, send).is_some());
    assert_eq!(rig.buffers.0[key], [7; 5]);
    rig.assert_clean();
}

#[test]
fn a_synchronous_send_of_nothing_completes_when_matched() {
    let mut rig = Rig::new(2, 8);
    let send = rig.send(0, 7, 0, Mode::Synchronous);
    rig.settle();
    assert_eq!(rig.outcome(0, send), None);
    let (receive, _) = rig.post(pattern(7), 0);
    rig.settle();
    assert!(rig.outcome(1, receive).is_some() && rig.outcome(0, send).is_some());
    rig.assert_clean();
}

#[test]
fn a_probe_sees_a_message_that_the_memory_has_no_room_for() {
    let mut rig = Rig::new(2, 1);
    let one = rig.send(0, 1, 50, Mode::Standard);
    let two = rig.send(0, 2, 60, Mode::Standard);
    rig.settle();
    assert_eq!(rig.adis[1].iprobe(pattern(2)), Ok(None));
    rig.step(1);
    rig.settle();
    let found = rig.adis[1]
        .iprobe(pattern(2))
        .unwrap()
        .expect("noted when it was refused");
    assert_eq!((found.envelope.tag, found.length), (2, 60));
    assert_eq!(
        rig.adis[1].region.used_bytes(),
        32,
        "the region still holds the first message only"
    );
    let (second, _) = rig.post(pattern(2), 60);
    let (first, _) = rig.post(pattern(1), 60);
    rig.settle();
    assert!(
        [first, second]
            .into_iter()
            .all(|id| rig.outcome(1, id).is_some())
    );
    assert!(
        [one, two]
            .into_iter()
            .all(|id| rig.outcome(0, id).is_some())
    );
    rig.assert_clean();
}

#[test]
fn a_cancelled_receive_matches_nothing_any_more() {
    let mut rig = Rig::new(2, 8);
    let (cancelled, key) = rig.post(pattern(7), 5);
    assert!(rig.adis[1].cancel(cancelled));
    assert!(rig.outcome(1, cancelled).unwrap().cancelled);
    let send = rig.send(0, 7, 5, Mode::Standard);
    rig.settle();
    assert_eq!(rig.buffers.0[key], [0; 5]);
    let (receive, _) = rig.post(pattern(7), 5);
    assert!(!rig.adis[1].cancel(receive), "it has matched");
    assert!(rig.outcome(1, receive).is_some() && rig.outcome(0, send).is_some());
    rig.assert_clean();
}

#[test]
fn an_rts_waits_while_there_is_no_room_for_its_answer() {
    let mut rig = Rig::new(2, 8);
    rig.wires[1].priority_full = true;
    let send = rig.send(0, 7, 5, Mode::Standard);
    rig.moved(0);
    assert_eq!(rig.adis[1].stats.rts_received, 0);
    rig.wires[1].priority_full = false;
    rig.step(1);
    assert_eq!(rig.moved(1), [Cts { complete: true }]);
    assert!(rig.outcome(0, send).is_some());
}

#[test]
fn when_the_heap_is_used_up_a_send_says_so_and_loses_nothing() {
    let shape = Shape::new([2, 1, 1], [true; 3]).unwrap();
    let config = Config {
        shape,
        rank: 0,
        request_slots: 64,
    };
    let mut adi = Adi::new(config, Memory::allocate(1024, 2).unwrap()).unwrap();
    let to = SendTo {
        dest: 1,
        tag: 0,
        context: 0,
        mode: Mode::Standard,
    };
    let mut started = 0;
    let error = loop {
        match adi.isend(to, Span::EMPTY) {
            Ok(_) => started += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error, crate::NoMemory::Requests { live: started });
    // One slot of 64 is the destination's.
    assert_eq!(started, 63 - KEPT_SLOTS);
    for _ in 0..KEPT_SLOTS {
        assert!(adi.send_within_call(to, Span::EMPTY).is_ok(), "kept for it");
    }
    assert!(adi.send_within_call(to, Span::EMPTY).is_err());
}

#[test]
fn any_bytes_from_the_network_are_counted_and_move_nothing() {
    let mut rig = Rig::new(2, 8);
    let (receive, _) = rig.post(pattern(7), 500);
    let send = rig.send(0, 8, 500, Mode::Standard);
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..20_000 {
        let len = random() as usize % (BODY_BYTES + 1);
        let mut body: Vec<u8> = (0..len).map(|_| random() as u8).collect();
        // Most are given a good header, so that they reach the handlers.
        if round % 4 != 0 && len >= 16 {
            body[0] = 1 + random() as u8 % 4;
            body[1] = random() as u8 % (len as u8 - 15);
            body[2..5].copy_from_slice(&[random() as u8 % 2, 0, 0]);
            body[5] = random() as u8 % 2;
        }
        let class = if random() % 2 == 0 {
            Class::Normal
        } else {
            Class::Priority
        };
        rig.wires[0].queue(class).push_back(body);
        rig.step(0);
        rig.wires[0].out.clear();
    }
    // Node 0 has counted it all, and its own send still stands as it was.
    let stats = rig.adis[0].stats;
    assert!(stats.malformed + stats.layer.malformed + stats.layer.unknown_handler > 10_000);
    assert!(rig.adis[0].knows(send) && !rig.adis[1].is_done(receive));
}

#[test]
fn what_the_programs_heap_can_spare_is_borrowed_and_a_free_restarts_who_was_refused() {
    let mut rig = Rig::new(2, 1);
    rig.send(0, 1, 10, Mode::Standard);
    rig.send(0, 2, 10, Mode::Standard);
    rig.settle();
    assert_eq!(rig.adis[1].region.records(), 1);
    assert!(rig.adis[1].starves_others());
    rig.buffers.1 = 5;
    rig.adis[1].heap_freed(&rig.buffers);
    rig.step(1);
    rig.settle();
    assert_eq!(rig.adis[1].region.records(), 2);
    assert_eq!(
        (rig.adis[1].region.peak_lent_bytes(), rig.buffers.1),
        (5 * 32, 0)
    );
    assert!(!rig.adis[1].starves_others());
    for tag in [2, 1] {
        let (receive, key) = rig.post(pattern(tag), 10);
        rig.settle();
        assert!(rig.outcome(1, receive).is_some());
        assert_eq!(rig.buffers.0[key], [tag as u8; 10]);
    }
    assert_eq!(rig.buffers.1, 5, "the loan is back");
}

/// What 500 bytes look like when they leave eagerly.
fn eager_500(tag: i32) -> [Seen; 4] {
    [
        Rts { tag, age: 0 },
        Eager {
            offset: 0,
            len: 232,
        },
        Eager {
            offset: 232,
            len: 232,
        },
        Eager {
            offset: 464,
            len: 36,
        },
    ]
}

#[test]
fn an_eager_message_takes_one_trip_to_a_posted_receive_and_into_a_buffer() {
    for posted in [true, false] {
        for capacity in [500, 300, 0] {
            let mut rig = Rig::eager(2, 32, 500);
            let mut receive = posted.then(|| rig.post(pattern(7), capacity));
            let send = rig.send(0, 7, 500, Mode::Standard);
            assert_eq!(rig.moved(0), eager_500(7));
            let (receive, key) = receive
                .take()
                .unwrap_or_else(|| rig.post(pattern(7), capacity));
            let outcome = rig.outcome(1, receive).expect("one trip");
            assert_eq!(
                (outcome.bytes, outcome.truncated),
                (capacity, capacity < 500)
            );
            assert_eq!(rig.buffers.0[key], vec![7; capacity]);
            assert_eq!(rig.outcome(0, send), None, "its answer is on the way");
            assert_eq!(rig.moved(1).len(), 1);
            assert!(rig.outcome(0, send).is_some());
            assert!(rig.wires[0].out.is_empty(), "nothing is sent again");
            rig.assert_clean();
        }
    }
}

#[test]
fn eager_data_that_has_no_place_is_dropped_and_sent_again_when_it_has() {
    // No room for a record; room for one.
    for (blocks, refusal) in [(0, Ncts), (1, Nctsd)] {
        let mut rig = Rig::eager(2, blocks, 500);
        let send = rig.send(0, 7, 500, Mode::Standard);
        assert_eq!(rig.moved(0), eager_500(7));
        assert_eq!(rig.moved(1), [refusal]);
        assert_eq!(rig.adis[1].stats.eager_dropped, 3);
        let (receive, key) = rig.post(pattern(7), 500);
        rig.settle();
        assert!(rig.outcome(1, receive).is_some() && rig.outcome(0, send).is_some());
        assert_eq!(rig.buffers.0[key], [7; 500]);
        // A refused message is sent eagerly again, since the receive that asks for it is sure to take it.
        let times = if blocks == 0 { 2 } else { 1 };
        assert_eq!(rig.adis[0].stats.eager_sent, times);
        assert_eq!(rig.adis[1].stats.eager_dropped, 3, "only the first time");
        rig.assert_clean();
    }
}

#[test]
fn the_answer_may_overtake_the_rest_of_an_eager_message() {
    for (blocks, rest) in [(32, true), (1, false), (0, false)] {
        let mut rig = Rig::eager(2, blocks, 500);
        rig.wires[0].normal_limit = Some(2);
        let send = rig.send(0, 7, 500, Mode::Standard);
        assert_eq!(rig.moved(0), eager_500(7)[..2]);
        assert_eq!(rig.outcome(0, send), None);
        rig.moved(1);
        assert_eq!(rig.outcome(0, send).is_some(), rest, "all is out");
        // Accepted, the rest follows; else it stops.
        assert_eq!(rig.moved(0), eager_500(7)[2..][..if rest { 2 } else { 0 }]);
        let (receive, key) = rig.post(pattern(7), 500);
        rig.wires[0].normal_limit = None;
        rig.step(0);
        rig.settle();
        assert!(rig.outcome(1, receive).is_some());
        assert_eq!(rig.buffers.0[key], [7; 500]);
        assert!(rest || rig.outcome(0, send).is_some());
        rig.assert_clean();
    }
}

#[test]
fn more_eager_messages_at_a_time_than_there_are_places_are_asked_for_again() {
    let sources = crate::EAGER_SOURCES + 1;
    let mut rig = Rig::eager(sources as u16 + 1, 1 << 12, 500);
    for source in 0..sources {
        // The last packet of each stays behind.
        rig.wires[source].normal_limit = Some(3);
        rig.send(source, 7, 500, Mode::Standard);
        assert_eq!(rig.moved(source).len(), 3);
    }
    let answers = rig.moved(sources);
    assert_eq!(answers.len(), sources);
    rig.settle();
    for source in 0..sources {
        rig.step(source);
    }
    rig.settle();
    let (last, dropped) = (sources, rig.adis[sources].stats.eager_dropped);
    assert_eq!(dropped, 2, "of the one that had no place");
    for source in 0..sources as u32 {
        let from = Pattern {
            source: Some(source),
            ..pattern(7)
        };
        let (receive, key) = rig.post(from, 500);
        assert!(rig.outcome(last, receive).is_some(), "source {source}");
        assert_eq!(rig.buffers.0[key], [7; 500]);
    }
}

#[test]
fn below_the_low_watermark_sources_that_send_are_told_and_stop_sending_eagerly() {
    // 17 blocks a message, 3 of 64 fit; below 16 free blocks it is low.
    let mut rig = Rig::eager(2, 64, 500);
    for tag in 1..=4 {
        rig.send(0, tag, 500, Mode::Standard);
        rig.wires[0].normal_limit = Some(0);
        rig.send(0, 10 + tag, 500, Mode::Standard);
        rig.wires[0].normal_limit = None;
        rig.moved(0);
        rig.moved(1);
        if tag < 2 {
            assert_eq!(rig.moved(0), eager_500(10 + tag));
        } else {
            // The third message has brought the memory below the mark.
            let seen = rig.moved(0);
            let eager = seen.iter().filter(|s| matches!(s, Eager { .. })).count();
            assert_eq!(eager, 0, "{seen:?}");
        }
        rig.settle();
    }
    assert!(rig.adis[1].region.is_low(&rig.buffers));
    for tag in [1, 11, 2, 12, 3, 13, 4, 14] {
        let (receive, key) = rig.post(pattern(tag), 500);
        rig.settle();
        assert!(rig.outcome(1, receive).is_some());
        assert_eq!(rig.buffers.0[key], [tag as u8; 500]);
    }
    assert!(!rig.adis[1].region.is_low(&rig.buffers));
}

#[test]
fn a_receive_from_anybody_asks_a_few_of_those_who_wait_at_a_time() {
    const SOURCES: usize = 40;
    let few = u64::from(crate::device::peers::WILD_NOTICES);
    let mut rig = Rig::new(SOURCES as u16 + 1, 0);
    for source in 0..SOURCES {
        // Only every fourth has what will be asked for.
        rig.send(
            source,
            if source % 4 == 3 { 7 } else { 8 },
            10,
            Mode::Standard,
        );
    }
    rig.settle();
    let anybody = |tag| Pattern {
        source: None,
        tag: Some(tag),
        context: 0,
    };
    let sent = |rig: &Rig| rig.adis[SOURCES].stats.resend_all_sent;
    for _ in 0..SOURCES / 4 {
        let before = sent(&rig);
        let (receive, key) = rig.post(anybody(7), 10);
        assert!(sent(&rig) - before <= few);
        rig.settle();
        assert!(rig.outcome(SOURCES, receive).is_some());
        assert_eq!(rig.buffers.0[key], [7; 10]);
        assert!(
            sent(&rig) - before <= 2 * few,
            "no more than were under way"
        );
    }
    for _ in 0..SOURCES - SOURCES / 4 {
        let (receive, key) = rig.post(anybody(8), 10);
        rig.settle();
        assert!(rig.outcome(SOURCES, receive).is_some());
        assert_eq!(rig.buffers.0[key], [8; 10]);
    }
    assert_eq!(rig.adis[SOURCES].region.peak_records(), 0);
    assert!(rig.adis.iter().all(Adi::is_quiet));
}

/// Whatever the receiver knows of it: nothing, a refusal, a record without a buffer, all of it, a receive.
#[test]
fn a_cancelled_send_ends_without_the_receivers_help_and_is_received_or_not() {
    // (blocks at the receiver, mode, moved before the cancel, cancelled in the end)
    for (blocks, mode, moved, cancelled) in [
        (0, Mode::Standard, 0, true),
        (0, Mode::Standard, 1, true),
        (0, Mode::Standard, 2, true),
        (1, Mode::Standard, 0, true),
        (1, Mode::Standard, 1, true),
        (1, Mode::Standard, 2, true),
        (99, Mode::Standard, 1, false),
        (99, Mode::Standard, 2, false),
        (99, Mode::Synchronous, 1, true),
        (99, Mode::Synchronous, 2, true),
    ] {
        let case = (blocks, mode, moved);
        let mut rig = Rig::new(2, blocks);
        let first = rig.send(0, 7, 300, mode);
        let second = rig.send(0, 7, 400, mode);
        for from in 0..moved {
            rig.moved(from);
        }
        rig.adis[0].cancel(first);
        rig.step(0);
        rig.settle();
        let outcome = rig.outcome(0, first).unwrap_or_else(|| panic!("{case:?}"));
        assert_eq!(outcome.cancelled, cancelled, "{case:?}");
        let lengths: &[usize] = if cancelled { &[400] } else { &[300, 400] };
        for &length in lengths {
            let (receive, key) = rig.post(pattern(7), length);
            rig.settle();
            let bytes = rig.outcome(1, receive).map(|outcome| outcome.bytes);
            assert_eq!(bytes, Some(length), "{case:?}");
            assert_eq!(rig.buffers.0[key], vec![7; length]);
        }
        assert!(
            rig.outcome(0, second).is_some_and(|o| !o.cancelled),
            "{case:?}"
        );
        rig.assert_clean();
    }
}

#[test]
fn a_send_that_a_receive_has_matched_is_not_cancelled() {
    let mut rig = Rig::new(2, 1);
    let send = rig.send(0, 7, 300, Mode::Standard);
    rig.settle();
    // The receive's CTS and the wish to cancel cross.
    let (receive, key) = rig.post(pattern(7), 300);
    rig.adis[0].cancel(send);
    rig.step(0);
    rig.settle();
    assert!(
        rig.outcome(0, send)
            .is_some_and(|outcome| !outcome.cancelled)
    );
    assert!(rig.outcome(1, receive).is_some());
    assert_eq!(rig.buffers.0[key], [7; 300]);
    rig.assert_clean();
}

#[test]
fn a_probe_does_not_see_a_refused_message_that_was_taken_back() {
    let mut rig = Rig::new(2, 0);
    let sends: Vec<RequestId> = (0..3)
        .map(|tag| rig.send(0, tag, 300, Mode::Standard))
        .collect();
    assert_eq!(rig.adis[1].iprobe(pattern(0)), Ok(None));
    rig.step(1);
    rig.settle();
    assert!(matches!(rig.adis[1].iprobe(pattern(0)), Ok(Some(_))));
    rig.adis[0].cancel(sends[0]);
    rig.step(0);
    rig.settle();
    assert!(rig.outcome(0, sends[0]).is_some_and(|o| o.cancelled));
    assert_eq!(rig.adis[1].iprobe(pattern(0)), Ok(None), "it is gone");
    rig.step(1);
    rig.settle();
    // The others are received as if nothing had been.
    for tag in [2, 1] {
        let (receive, key) = rig.post(pattern(tag), 300);
        rig.settle();
        assert!(rig.outcome(1, receive).is_some());
        assert_eq!(rig.buffers.0[key], [tag as u8; 300]);
        assert!(rig.outcome(0, sends[tag as usize]).is_some());
    }
    rig.assert_clean();
}

#[test]
fn a_cancelled_send_that_nobody_waits_for_is_freed_however_it_ends() {
    for blocks in [0, 1, 40] {
        let mut rig = Rig::new(2, blocks);
        let send = rig.send(0, 7, 300, Mode::Standard);
        rig.adis[0].cancel(send);
        rig.adis[0].forget(send);
        rig.step(0);
        rig.settle();
        if blocks == 40 {
            let (receive, _) = rig.post(pattern(7), 300);
            assert!(rig.outcome(1, receive).is_some());
        }
        rig.assert_clean();
    }
    // The message that is matched while its sender wants it back.
    let mut rig = Rig::new(2, 0);
    let (receive, _) = rig.post(pattern(7), 5);
    let send = rig.send(0, 7, 5, Mode::Standard);
    rig.adis[0].cancel(send);
    rig.adis[0].forget(send);
    rig.settle();
    assert!(rig.outcome(1, receive).is_some());
    rig.assert_clean();
}
