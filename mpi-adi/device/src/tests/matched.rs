//! Matched probes.

use super::fixture::{DeviceFixture, SeenPacket, pattern};
use crate::envelope::MatchPattern;
use crate::recv::ProbedMessage;
use crate::request::{RequestId, SendMode};

impl DeviceFixture {
    /// Repeats a matched probe at the last device until it returns a message.
    fn mprobe(&mut self, pattern: MatchPattern) -> (RequestId, ProbedMessage) {
        let last = self.adis.len() - 1;
        for _ in 0..100 {
            let found = self.adis[last].improbe(&mut self.buffers, pattern);
            if let Some(found) = found.expect("room for a request") {
                return found;
            }
            self.step(last);
            self.settle();
        }
        panic!("no message is found")
    }

    /// Receives the message of a matched probe into `bytes` bytes; returns the buffer's key.
    fn mrecv(&mut self, id: RequestId, bytes: usize) -> usize {
        let last = self.adis.len() - 1;
        let span = self.span(vec![0xEE; bytes]);
        self.adis[last].mrecv(&mut self.buffers, id, span);
        self.step(last);
        span.address()
    }
}

/// For any memory, each message is matched once and in order, and its data arrives when it is received.
#[test]
fn messages_are_taken_in_order_and_received_in_any() {
    for blocks in [0, 1, 3, 1000] {
        for length in [0, 20, 300, 5000] {
            let mut rig = DeviceFixture::new(2, blocks);
            let sends: Vec<RequestId> = (0..4)
                .map(|more| rig.send(0, 1, length + more, SendMode::Standard))
                .collect();
            rig.settle();
            let taken: Vec<RequestId> = (0..4)
                .map(|more| {
                    let (id, found) = rig.mprobe(MatchPattern::new(None, None, 0));
                    assert_eq!(found.length as usize, length + more, "{blocks}");
                    assert_eq!(rig.adis[1].held_message(id), Some(found));
                    id
                })
                .collect();
            let more = rig.adis[1].improbe(&mut rig.buffers, pattern(1));
            assert_eq!(more, Ok(None), "nothing is taken twice");
            for at in [2, 0, 3, 1] {
                let key = rig.mrecv(taken[at], length + at);
                assert_eq!(rig.adis[1].held_message(taken[at]), None);
                rig.settle();
                let outcome = rig.outcome(1, taken[at]).expect("received");
                assert_eq!((outcome.bytes, outcome.tag), (length + at, 1));
                assert_eq!(rig.buffers.0[key], vec![1; length + at]);
            }
            rig.step(1);
            rig.settle();
            assert!(sends.into_iter().all(|id| rig.outcome(0, id).is_some()));
            rig.assert_clean();
        }
    }
}

#[test]
fn a_message_that_is_held_without_its_data_takes_no_memory() {
    let mut rig = DeviceFixture::new(2, 1);
    let send = rig.send(0, 1, 300, SendMode::Standard);
    rig.settle();
    let (id, _) = rig.mprobe(pattern(1));
    assert_eq!(rig.adis[1].region.used_bytes(), 0);
    assert_eq!(rig.outcome(0, send), None, "the sender has the data");
    rig.mrecv(id, 300);
    rig.settle();
    assert!(rig.outcome(1, id).is_some() && rig.outcome(0, send).is_some());
    rig.assert_clean();
}

/// A receive posted after the probe gets the next message.
#[test]
fn a_message_that_is_held_is_out_of_the_way_of_receives() {
    for blocks in [0, 1, 1000] {
        let mut rig = DeviceFixture::new(2, blocks);
        rig.send(0, 1, 300, SendMode::Standard);
        rig.send(0, 1, 301, SendMode::Standard);
        rig.settle();
        let (first, _) = rig.mprobe(pattern(1));
        let (second, _) = rig.post(pattern(1), 400);
        rig.settle();
        assert_eq!(rig.outcome(1, second).map(|o| o.bytes), Some(301));
        rig.mrecv(first, 400);
        rig.settle();
        assert_eq!(rig.outcome(1, first).map(|o| o.bytes), Some(300));
    }
}

#[test]
fn a_refused_message_that_is_taken_back_is_not_fetched() {
    let mut rig = DeviceFixture::new(2, 0);
    let one = rig.send(0, 1, 300, SendMode::Standard);
    let two = rig.send(0, 2, 300, SendMode::Standard);
    rig.settle();
    let any = MatchPattern::new(None, None, 0);
    assert_eq!(rig.adis[1].improbe(&mut rig.buffers, any), Ok(None));
    rig.step(1);
    rig.settle();
    assert_eq!(rig.adis[1].improbe(&mut rig.buffers, any), Ok(None));
    assert!(rig.adis[1].is_fetching(), "its envelope is known");
    rig.adis[0].cancel(one);
    rig.step(0);
    rig.settle();
    assert!(rig.outcome(0, one).is_some_and(|o| o.cancelled));
    let (id, found) = rig.mprobe(any);
    assert_eq!(found.envelope.tag, 2, "the other one");
    rig.mrecv(id, 300);
    rig.step(1);
    rig.settle();
    assert!(rig.outcome(1, id).is_some() && rig.outcome(0, two).is_some());
    rig.assert_clean();
}

/// The reply to the RTS that a matched probe fetches keeps the data at the sender.
#[test]
fn a_fetched_message_is_answered_as_one_that_is_recorded() {
    let mut rig = DeviceFixture::new(2, 0);
    let send = rig.send(0, 1, 20, SendMode::Standard);
    rig.settle();
    let (id, found) = rig.mprobe(pattern(1));
    assert_eq!(found.length, 20);
    assert!(!rig.adis[1].is_fetching());
    assert_eq!(rig.adis[1].stats().nctsd_sent, 1);
    let key = rig.mrecv(id, 20);
    rig.step(1);
    assert!(rig.moved(0).iter().all(|seen| !matches!(seen, SeenPacket::Ncts)));
    rig.settle();
    assert!(rig.outcome(1, id).is_some() && rig.outcome(0, send).is_some());
    assert_eq!(rig.buffers.0[key], [1; 20]);
    rig.assert_clean();
}

#[test]
fn messages_to_oneself_are_held_too() {
    for blocks in [0, 1, 1000] {
        for length in [8, 300, 40_000] {
            let mut rig = DeviceFixture::new(1, blocks);
            let send = rig.send(0, 1, length, SendMode::Standard);
            rig.settle();
            let (id, found) = rig.mprobe(pattern(1));
            assert_eq!(found.length as usize, length);
            let key = rig.mrecv(id, length);
            for _ in 0..10 {
                rig.step(0);
                rig.settle();
            }
            assert!(rig.outcome(0, id).is_some(), "{blocks} {length}");
            assert!(rig.outcome(0, send).is_some());
            assert_eq!(rig.buffers.0[key], vec![1; length]);
            rig.assert_clean();
        }
    }
}

/// A matched probe that fetches a rejected message posts a receive older than the restart that requests it: the RTS
/// matches, although another receive has been posted since.
#[test]
fn what_a_matched_probe_fetches_is_taken_when_it_comes() {
    let mut rig = DeviceFixture::new(2, 0);
    rig.send(0, 1, 100, SendMode::Standard);
    let any = MatchPattern::new(None, None, 0);
    // It is rejected, a probe is armed, and its restart requests the RTS again, which the probe finds.
    rig.settle();
    assert_eq!(rig.adis[1].improbe(&mut rig.buffers, any), Ok(None));
    rig.step(1);
    rig.settle();
    assert_eq!(rig.adis[1].improbe(&mut rig.buffers, any), Ok(None));
    rig.step(1);
    let restarts = rig.restarts(1);
    assert_eq!(restarts.len(), 1, "the receive is asked for");
    rig.post(pattern(2), 8);
    assert_eq!(rig.moved(1).len(), 1);
    let refused = rig.adis[1].stats.ncts_sent;
    rig.moved(0);
    assert_eq!(rig.adis[1].stats.ncts_sent, refused, "it is not refused again");
}
