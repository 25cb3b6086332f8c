//! Self-sends: fast path, slow path, and no overtaking between them.

use msg_layer::fake::FakePort;
use net_torus::Shape;

use super::fixture::{Buffers, DeviceFixture};
use crate::adi::Adi;
use crate::config::{DeviceConfig, DeviceMemory};
use crate::envelope::{Context, MatchPattern, Rank};
use crate::memory::Span;
use crate::memory::region::BLOCK_BYTES;
use crate::protocol::{AllRules, ProtocolRules};
use crate::request::{RESERVED_SLOTS, RequestId, RequestOutcome, SendMode};
use crate::send::{COPY_BYTES, SendTo};

const HERE: Rank = Rank::new(0);

/// A device that is alone in its job, and a network that transmits only what a test allows.
struct LoneDevice<R> {
    adi: Adi<R>,
    wire: FakePort,
    buffers: Buffers,
    packets: usize,
}

impl<R: ProtocolRules> LoneDevice<R> {
    fn new(blocks: usize, rules: R) -> Self {
        let shape = Shape::new([1; 3], [true; 3]).unwrap();
        let config = DeviceConfig {
            shape,
            rank: HERE,
            request_slots: 1 << 12,
        };
        let memory = DeviceMemory::allocate(blocks * BLOCK_BYTES, 1).unwrap();
        LoneDevice {
            adi: Adi::with_rules(config, memory, rules).unwrap(),
            wire: FakePort::new(shape, shape.coord(0).unwrap()),
            buffers: Buffers::default(),
            packets: 0,
        }
    }

    fn span(&mut self, bytes: Vec<u8>) -> Span {
        let len = bytes.len();
        self.buffers.0.push(bytes);
        Span::model(self.buffers.0.len() - 1, len)
    }

    /// Sends `len` bytes, each `byte`.
    fn send(&mut self, tag: i32, byte: u8, len: usize, mode: SendMode) -> RequestId {
        let span = self.span(vec![byte; len]);
        let to = SendTo {
            dest: HERE,
            tag,
            context: 0,
            mode,
        };
        self.adi.isend(&mut self.buffers, to, span).unwrap()
    }

    fn receive(&mut self, tag: Option<i32>, len: usize) -> (RequestId, usize) {
        self.receive_from(Some(HERE), tag, 0, len)
    }

    fn receive_from(
        &mut self,
        source: Option<Rank>,
        tag: Option<i32>,
        context: Context,
        len: usize,
    ) -> (RequestId, usize) {
        let span = self.span(vec![0; len]);
        let pattern = MatchPattern::new(source, tag, context);
        let id = self.adi.irecv(&mut self.buffers, pattern, span).unwrap();
        (id, span.address())
    }

    /// Performs progress steps, and returns packets to their node, until nothing moves.
    fn settle(&mut self) {
        loop {
            let moved = self.adi.progress(&mut self.wire, &mut self.buffers);
            let sent = self.wire.take_sent();
            self.packets += sent.len();
            if !moved && sent.is_empty() {
                return;
            }
            for packet in sent {
                self.wire.deliver(packet.class, &packet.body);
            }
        }
    }

    fn received(&self, key: usize) -> u8 {
        self.buffers.0[key][0]
    }
}

const DONE: Option<bool> = Some(false);

fn is_done(outcome: Option<RequestOutcome>) -> Option<bool> {
    outcome.map(|outcome| outcome.truncated)
}

#[test]
fn a_posted_receive_and_a_send_are_complete_when_the_send_returns() {
    for mode in [SendMode::Standard, SendMode::Synchronous] {
        for len in [0, 8, 300, COPY_BYTES] {
            for (source, tag) in [(Some(HERE), Some(3)), (None, Some(3)), (None, None)] {
                let mut alone = LoneDevice::new(0, AllRules);
                let (receive, key) = alone.receive_from(source, tag, 0, len);
                let send = alone.send(3, 7, len, mode);
                assert_eq!(is_done(alone.adi.test(send)), DONE);
                let outcome = alone.adi.test(receive).expect("complete");
                assert_eq!((outcome.source, outcome.tag), (HERE, 3));
                assert_eq!((outcome.bytes, outcome.truncated), (len, false));
                assert_eq!(alone.buffers.0[key], vec![7; len]);
                alone.settle();
                assert!(alone.packets == 0 && alone.adi.is_quiet());
                assert_eq!(alone.adi.region().peak_bytes(), 0);
            }
        }
    }
}

#[test]
fn every_message_is_counted_as_sent() {
    let mut alone = LoneDevice::new(1000, AllRules);
    alone.send(3, 7, 8, SendMode::Standard);
    assert_eq!(alone.adi.stats.messages_sent, 1, "recorded");
    alone.receive_from(None, Some(4), 0, 8);
    alone.send(4, 7, 8, SendMode::Standard);
    assert_eq!(alone.adi.stats.messages_sent, 2, "received");
    alone.receive_from(None, Some(5), 0, 8);
    let span = alone.span(vec![7; 8]);
    let to = SendTo {
        dest: HERE,
        tag: 5,
        context: 0,
        mode: SendMode::Standard,
    };
    let sent = alone.adi.send_within_call(&mut alone.buffers, to, span);
    assert_eq!(sent, Ok(None), "within the call");
    assert_eq!(alone.adi.stats.messages_sent, 3);
}

#[test]
fn what_is_sent_first_is_recorded_with_its_data_if_it_may_be_and_there_is_room() {
    for (mode, blocks, len, complete) in [
        (SendMode::Standard, 64, 300, true),
        (SendMode::Standard, 3, 300, false),
        (SendMode::Synchronous, 64, 300, false),
    ] {
        let mut alone = LoneDevice::new(blocks, AllRules);
        let send = alone.send(3, 7, len, mode);
        assert_eq!(alone.adi.is_done(send), complete, "{mode:?} {blocks}");
        let seen = alone.adi.iprobe(MatchPattern::new(None, None, 0)).unwrap();
        assert_eq!(seen.expect("it is there").length as usize, len);
        alone.settle();
        assert_eq!(alone.adi.is_done(send), complete);
        let (receive, key) = alone.receive(None, len);
        assert_eq!(is_done(alone.adi.test(receive)), DONE);
        assert_eq!(is_done(alone.adi.test(send)), DONE);
        assert_eq!(alone.buffers.0[key], vec![7; len]);
        alone.settle();
        assert_eq!((alone.packets, alone.adi.region().used_bytes()), (0, 0));
    }
}

/// In either order, and with or without truncation.
#[test]
fn a_long_message_goes_in_turns_and_without_packets() {
    let len = 3 * COPY_BYTES + 5;
    for room in [len, len + 1, len - 1, COPY_BYTES + 1, COPY_BYTES - 1] {
        for (blocks, send_first) in [(0, false), (1, true), (1 << 12, true)] {
            let mut alone = LoneDevice::new(blocks, AllRules);
            let send_now = |alone: &mut LoneDevice<AllRules>| alone.send(3, 7, len, SendMode::Standard);
            let early = send_first.then(|| send_now(&mut alone));
            let (receive, key) = alone.receive(Some(3), room);
            let send = early.unwrap_or_else(|| send_now(&mut alone));
            if room > COPY_BYTES {
                assert!(!alone.adi.is_done(receive), "not all at once");
            }
            alone.settle();
            let outcome = alone.adi.test(receive).expect("complete");
            assert_eq!(outcome.bytes, len.min(room));
            assert_eq!(outcome.truncated, room < len);
            assert!(alone.adi.test(send).is_some());
            let mut expected = vec![7; len.min(room)];
            expected.resize(room, 0);
            assert!(alone.buffers.0[key] == expected, "{room} {blocks}");
            assert_eq!((alone.packets, alone.adi.region().used_bytes()), (0, 0));
            assert!(alone.adi.is_quiet());
        }
    }
}

#[test]
fn a_held_message_can_be_taken_back() {
    let mut alone = LoneDevice::new(1, AllRules);
    let send = alone.send(3, 7, 8, SendMode::Synchronous);
    alone.adi.cancel(send);
    alone.settle();
    assert!(alone.adi.test(send).expect("ended").cancelled);
    assert_eq!(alone.adi.region().used_bytes(), 0);
    // Too late: a receive has matched it.
    let send = alone.send(3, 8, 8, SendMode::Synchronous);
    let (receive, key) = alone.receive(Some(3), 8);
    alone.adi.cancel(send);
    alone.settle();
    assert!(!alone.adi.test(send).expect("ended").cancelled);
    assert!(alone.adi.test(receive).is_some() && alone.received(key) == 8);
    // A receive is posted during the cancellation.
    let send = alone.send(3, 9, 8, SendMode::Synchronous);
    alone.adi.cancel(send);
    let (receive, key) = alone.receive(Some(3), 8);
    alone.settle();
    assert!(!alone.adi.test(send).expect("ended").cancelled);
    assert!(alone.adi.test(receive).is_some() && alone.received(key) == 9);
    assert!(alone.adi.is_quiet());
}

/// With one record, the second message waits in the queue; the third is sent when the record is free.
fn order_of_three(rules: impl ProtocolRules) -> Vec<u8> {
    let mut alone = LoneDevice::new(1, rules);
    let first = alone.send(1, 1, 8, SendMode::Standard);
    let second = alone.send(2, 2, 8, SendMode::Standard);
    alone.settle();
    assert!(!alone.adi.is_done(first), "recorded without its data");
    assert!(!alone.adi.is_done(second), "refused");
    let mut keys = vec![alone.receive(Some(1), 8)];
    assert!(alone.adi.is_done(first), "and its record is free");
    alone.send(2, 3, 8, SendMode::Standard);
    keys.push(alone.receive(Some(2), 8));
    alone.settle();
    keys.push(alone.receive(None, 8));
    alone.settle();
    assert!(keys.iter().all(|&(id, _)| alone.adi.is_done(id)));
    assert!(alone.adi.is_quiet());
    keys.iter().map(|&(_, key)| alone.received(key)).collect()
}

#[test]
fn the_short_way_does_not_overtake_the_long_one() {
    assert_eq!(order_of_three(AllRules), [1, 2, 3]);
}

#[derive(Clone, Copy)]
struct Overtaking;

impl ProtocolRules for Overtaking {
    fn guards_own_queue(self) -> bool {
        false
    }
}

#[test]
fn without_its_guard_the_short_way_overtakes() {
    assert_eq!(order_of_three(Overtaking), [1, 3, 2]);
}

/// Any number of messages with any memory arrive in order, each once and complete.
#[test]
fn messages_to_oneself_come_in_order_under_any_memory() {
    let mut random = oorandom::Rand32::new(7);
    for round in 0..400 {
        let blocks = random.rand_range(0..6) as usize;
        let mut alone = LoneDevice::new(blocks, AllRules);
        let mut sent: Vec<(i32, u8)> = Vec::new();
        let mut receives: Vec<(Option<i32>, RequestId, usize)> = Vec::new();
        let mut asked: [usize; 2] = [0; 2];
        for number in 1..=60_u8 {
            if random.rand_range(0..2) == 0 {
                let tag = random.rand_range(0..2) as i32;
                let len = [1, 8, 40, 300][random.rand_range(0..4) as usize];
                let mode = match random.rand_range(0..4) {
                    0 => SendMode::Synchronous,
                    _ => SendMode::Standard,
                };
                let id = alone.send(tag, number, len, mode);
                alone.adi.forget(id);
                sent.push((tag, number));
            } else {
                let tag = random.rand_range(0..2) as i32;
                let (id, key) = alone.receive(Some(tag), 300);
                asked[tag as usize] += 1;
                receives.push((Some(tag), id, key));
            }
            if random.rand_range(0..3) == 0 {
                alone.settle();
            }
        }
        // The remaining messages on either side.
        for tag in 0..2_i32 {
            let of_tag = sent.iter().filter(|&&(t, _)| t == tag).count();
            for _ in asked[tag as usize]..of_tag {
                let (id, key) = alone.receive(Some(tag), 300);
                receives.push((Some(tag), id, key));
            }
            for _ in of_tag..asked[tag as usize] {
                let id = alone.send(tag, 100, 8, SendMode::Standard);
                alone.adi.forget(id);
                sent.push((tag, 100));
            }
        }
        alone.settle();
        for tag in 0..2_i32 {
            let of_tag = sent.iter().filter(|&&(t, _)| t == tag);
            let numbers: Vec<u8> = of_tag.map(|&(_, number)| number).collect();
            let of_tag = receives.iter().filter(|&&(t, ..)| t == Some(tag));
            let came: Vec<u8> = of_tag
                .map(|&(_, id, key)| {
                    assert!(alone.adi.is_done(id), "round {round}");
                    alone.received(key)
                })
                .collect();
            assert_eq!(came, numbers, "round {round} with {blocks} blocks");
        }
        assert!(alone.adi.is_quiet() && alone.adi.region().used_bytes() == 0);
        assert_eq!(alone.adi.stats().layer.malformed, 0);
    }
}

/// Messages of neighbours and self-sends are distinguished, and wildcards match both.
#[test]
fn others_messages_and_own_ones_are_told_apart() {
    let mut rig = DeviceFixture::new(2, 64);
    let to = SendTo {
        dest: Rank::new(1),
        tag: 5,
        context: 0,
        mode: SendMode::Standard,
    };
    rig.send_to(1, to, 4);
    let (any, key) = rig.post(MatchPattern::new(None, Some(5), 0), 4);
    let outcome = rig.adis[1].test(any).expect("complete");
    assert_eq!(outcome.source, Rank::new(1));
    assert_eq!(rig.buffers.0[key], [5; 4]);
    rig.send_to(1, to, 4);
    let (from_other, _) = rig.post(MatchPattern::new(Some(Rank::new(0)), Some(5), 0), 4);
    assert!(rig.adis[1].test(from_other).is_none());
    assert!(rig.wires[1].sent().is_empty());
}

/// The message that a matched probe fetches is cancelled, and the next one matches the fetching receive before any
/// progress: its data stays with the sender until it is received.
#[test]
fn what_a_matched_probe_fetches_may_come_the_short_way() {
    let mut alone = LoneDevice::new(0, AllRules);
    let any = MatchPattern::new(None, None, 0);
    let first = alone.send(3, 7, 8, SendMode::Standard);
    alone.settle();
    for _ in 0..2 {
        let found = alone.adi.improbe(&mut alone.buffers, any);
        assert!(found.is_ok_and(|found| found.is_none()));
        if !alone.adi.is_fetching() {
            alone.settle();
        }
    }
    assert!(alone.adi.is_fetching());
    alone.adi.cancel(first);
    let second = alone.send(3, 8, 8, SendMode::Standard);
    assert!(!alone.adi.is_done(second), "held");
    let found = alone.adi.improbe(&mut alone.buffers, any);
    let (receive, found) = found.expect("room").expect("the second message");
    assert_eq!((found.envelope.tag, found.length), (3, 8));
    let span = alone.span(vec![0; 8]);
    alone.adi.mrecv(&mut alone.buffers, receive, span);
    alone.settle();
    assert!(alone.adi.test(receive).is_some() && alone.adi.test(second).is_some());
    assert_eq!(alone.buffers.0[span.address()], [8; 8]);
    assert!(alone.adi.test(first).is_some_and(|end| end.cancelled));
    assert!(alone.adi.is_quiet());
}

/// Self-sends that complete immediately use none of the slots reserved for blocking calls, either.
#[test]
fn a_send_to_oneself_leaves_what_is_kept() {
    const SLOTS: u32 = 64;
    let mut rig = DeviceFixture::new(2, 0);
    rig.limit_slots(SLOTS as usize);
    let to = SendTo {
        dest: HERE,
        tag: 1,
        context: 0,
        mode: SendMode::Standard,
    };
    let DeviceFixture { adis, buffers, .. } = &mut rig;
    let started = (0..).take_while(|_| adis[0].isend(buffers, to, Span::EMPTY).is_ok());
    assert_eq!(started.count() as u32, SLOTS - RESERVED_SLOTS);
}
