//! Probes.

use super::fixture::{DeviceFixture, pattern};
use crate::envelope::MatchPattern;
use crate::recv::probe::ARMED_PROBES;
use crate::request::{RequestId, SendMode};

#[test]
fn a_probe_sees_a_message_that_the_memory_has_no_room_for() {
    let mut rig = DeviceFixture::new(2, 1);
    let one = rig.send(0, 1, 50, SendMode::Standard);
    let two = rig.send(0, 2, 60, SendMode::Standard);
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
    assert!([first, second].into_iter().all(|id| rig.outcome(1, id).is_some()));
    assert!([one, two].into_iter().all(|id| rig.outcome(0, id).is_some()));
    rig.assert_clean();
}

#[test]
fn a_probe_does_not_see_a_refused_message_that_was_taken_back() {
    let mut rig = DeviceFixture::new(2, 0);
    let sends: Vec<RequestId> = (0..3).map(|tag| rig.send(0, tag, 300, SendMode::Standard)).collect();
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
    // The others are received unaffected.
    for tag in [2, 1] {
        let (receive, key) = rig.post(pattern(tag), 300);
        rig.settle();
        assert!(rig.outcome(1, receive).is_some());
        assert_eq!(rig.buffers.0[key], [tag as u8; 300]);
        assert!(rig.outcome(0, sends[tag as usize]).is_some());
    }
    rig.assert_clean();
}

/// A message found by a probe for any source is also found by a probe for the source and tag in its status.
#[test]
fn a_probe_keeps_its_word() {
    for blocks in [0, 1] {
        let mut rig = DeviceFixture::new(3, blocks);
        for from in [0, 1] {
            rig.send(from, 5, 300, SendMode::Standard);
            rig.send(from, 2, 60, SendMode::Standard);
        }
        rig.settle();
        let wide = MatchPattern::new(None, Some(2), 0);
        let found = loop {
            if let Some(found) = rig.adis[2].iprobe(wide).unwrap() {
                break found;
            }
            rig.step(2);
            rig.settle();
        };
        let narrow = MatchPattern::new(Some(found.envelope.source), Some(2), 0);
        assert_eq!(rig.adis[2].iprobe(narrow), Ok(Some(found)));
    }
}

/// With more patterns in turn than can be armed, the message is found by one of them nevertheless.
#[test]
fn a_message_is_found_however_many_patterns_are_asked_for_in_turn() {
    for patterns in [ARMED_PROBES as i32 + 1, ARMED_PROBES as i32 + 6] {
        let mut rig = DeviceFixture::new(2, 0);
        let send = rig.send(0, patterns - 3, 300, SendMode::Standard);
        rig.settle();
        let found = (0..10_000).find_map(|_| {
            (0..patterns).find_map(|tag| {
                rig.step(1);
                rig.settle();
                rig.adis[1].iprobe(pattern(tag)).unwrap()
            })
        });
        assert_eq!(found.map(|found| found.envelope.tag), Some(patterns - 3));
        let (receive, _) = rig.post(pattern(patterns - 3), 300);
        rig.settle();
        assert!(rig.outcome(1, receive).is_some() && rig.outcome(0, send).is_some());
        rig.assert_clean();
    }
}

/// The RTS of a second message of the same envelope is stale: the probe finds the first one.
#[test]
fn a_probe_does_not_find_a_stale_offer() {
    let mut rig = DeviceFixture::new(2, 0);
    rig.send(0, 1, 50, SendMode::Standard);
    rig.settle();
    rig.send(0, 1, 60, SendMode::Standard);
    assert_eq!(rig.adis[1].iprobe(pattern(1)), Ok(None));
    rig.step(1);
    rig.moved(0);
    assert_eq!(rig.adis[1].iprobe(pattern(1)), Ok(None));
    rig.settle();
    let found = rig.adis[1].iprobe(pattern(1)).unwrap();
    assert_eq!(found.map(|found| found.length), Some(50));
}
