//! Identifiers that could be confused with others.

use std::collections::BTreeSet;

use net_torus::Shape;

use super::fixture::{DeviceFixture, pattern};
use crate::adi::Adi;
use crate::config::{DeviceConfig, DeviceMemory};
use crate::envelope::{Envelope, MatchPattern, Rank};
use crate::memory::region::BLOCK_BYTES;
use crate::memory::{RawMemory, Span};
use crate::protocol::{AllRules, ProtocolRules};
use crate::request::{RequestId, SendMode};
use crate::send::bcopy::BCOPIES;

const ANY: MatchPattern = MatchPattern::new(None, None, 0);

/// A restart requests the second message for a receive that is then cancelled and given up. For any number of reuses of
/// its slot, the receive that uses the slot on arrival gets the first message.
#[test]
fn a_message_asked_for_by_a_receive_that_is_gone_overtakes_nothing() {
    for uses in [0, 1, 2, 127, 255, 511, 1023, 2047] {
        let mut rig = DeviceFixture::new(2, 0);
        let one = rig.send(0, 1, 50, SendMode::Standard);
        let two = rig.send(0, 2, 50, SendMode::Standard);
        rig.settle();
        let second = MatchPattern::new(None, Some(2), 0);
        let (gone, _) = rig.post(second, 50);
        // The restart arrives, and its reply stays in flight.
        rig.moved(1);
        rig.adis[1].cancel(gone);
        rig.adis[1].forget(gone);
        for _ in 0..uses {
            let (again, _) = rig.post(pattern(99), 50);
            rig.adis[1].cancel(again);
            rig.adis[1].forget(again);
        }
        let (first, _) = rig.post(ANY, 50);
        rig.settle();
        let outcome = rig.outcome(1, first).expect("one of the two");
        assert_eq!(outcome.tag, 1, "after {uses} uses of the slot");
        let (rest, _) = rig.post(ANY, 50);
        rig.settle();
        assert_eq!(rig.outcome(1, rest).map(|outcome| outcome.tag), Some(2));
        assert!([one, two].into_iter().all(|id| rig.outcome(0, id).is_some()));
        rig.assert_clean();
    }
}

/// The same, with receives matched by another source's messages instead of cancelled.
#[test]
fn a_message_asked_for_by_a_receive_that_another_source_has_taken_overtakes_nothing() {
    for uses in [0, 511, 1023] {
        let mut rig = DeviceFixture::new(3, 0);
        let sends: Vec<RequestId> = [1, 2].map(|tag| rig.send(0, tag, 50, SendMode::Standard)).into();
        rig.settle();
        let second = MatchPattern::new(None, Some(2), 0);
        let (taken, _) = rig.post(second, 50);
        // Node 0 has the restart; its RTS stays in flight while node 1's message matches the receive.
        rig.moved(2);
        for at in 0..=uses {
            let id = match at {
                0 => taken,
                _ => rig.post(second, 50).0,
            };
            let send = rig.send(1, 2, 50, SendMode::Standard);
            while rig.outcome(2, id).is_none() {
                rig.moved(1);
                rig.moved_except(2, 0);
            }
            while rig.outcome(1, send).is_none() {
                rig.moved_except(2, 0);
            }
        }
        let (first, _) = rig.post(ANY, 50);
        rig.settle();
        let outcome = rig.outcome(2, first).expect("one of the two");
        assert_eq!(outcome.tag, 1, "after {uses} uses of the slot");
        let (rest, _) = rig.post(ANY, 50);
        rig.settle();
        assert_eq!(rig.outcome(2, rest).map(|outcome| outcome.tag), Some(2));
        assert!(sends.into_iter().all(|id| rig.outcome(0, id).is_some()));
        rig.assert_clean();
    }
}

#[derive(Clone, Copy)]
struct OneBit;

impl ProtocolRules for OneBit {
    fn id_bits(self) -> u32 {
        1
    }
}

/// Returns the number of distinct IDs in 256 uses of a receive's slots, a bcopy's indices, and a record's one block.
fn names_of_256_uses(rules: impl ProtocolRules) -> [usize; 3] {
    let config = DeviceConfig {
        shape: Shape::new([2, 1, 1], [true; 3]).unwrap(),
        rank: Rank::new(0),
        request_slots: 64,
    };
    let memory = DeviceMemory::allocate(BLOCK_BYTES, 2).unwrap();
    let mut adi = Adi::with_rules(config, memory, rules).unwrap();
    let mut names = [const { BTreeSet::new() }; 3];
    let peer = Rank::new(1);
    let envelope = Envelope {
        source: peer,
        tag: 1,
        context: 0,
    };
    for _ in 0..256 {
        let receive = adi.irecv(&mut RawMemory, ANY, Span::EMPTY).unwrap();
        assert!(adi.cancel(receive) && adi.test(receive).is_some());
        names[0].insert(receive.0);
        adi.sender.bcopies.start_copied(peer, 1, 0, 0);
        let copy = adi.sender.bcopies.next_unsent().expect("just started");
        names[1].insert(adi.sender.bcopies.name(copy).0);
        adi.sender.bcopies.free(copy);
        let record = adi.region.record_without_buffer(&mut RawMemory, envelope, 0, 0);
        let record = record.expect("room");
        names[2].insert(adi.region.id(record).0);
        adi.region.release(&mut RawMemory, record);
    }
    names.map(|names| names.len())
}

/// IDs are reused early in the explorer, and late in a program.
#[test]
fn names_have_as_many_bits_as_the_rules_say() {
    let slots = names_of_256_uses(OneBit);
    assert_eq!(slots[1..], [2 * BCOPIES, 2]);
    assert!(slots[0] <= 2 * 64);
    assert_eq!(names_of_256_uses(AllRules), [256, 256, 128]);
}
