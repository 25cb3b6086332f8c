//! Names and numbers that could be taken for others.

use super::rig::{Rig, pattern};
use crate::device::envelope::Pattern;
use crate::device::request::{Mode, RequestId};

const ANY: Pattern = Pattern::new(None, None, 0);

/// A restart asks for the second message in the name of a receive that is cancelled then. However often its slot
/// is used until the message comes, the receive that stands there then gets the first message.
#[test]
fn a_message_asked_for_by_a_receive_that_is_gone_overtakes_nothing() {
    for uses in [0, 1, 2, 127, 255, 511, 1023, 2047] {
        let mut rig = Rig::new(2, 0);
        let one = rig.send(0, 1, 50, Mode::Standard);
        let two = rig.send(0, 2, 50, Mode::Standard);
        rig.settle();
        let second = Pattern::new(None, Some(2), 0);
        let (gone, _) = rig.post(second, 50);
        // The restart arrives, and its answer stays under way.
        rig.moved(1);
        assert!(rig.adis[1].cancel(gone) && rig.outcome(1, gone).is_some());
        for _ in 0..uses {
            let (again, _) = rig.post(pattern(99), 50);
            assert!(rig.adis[1].cancel(again) && rig.outcome(1, again).is_some());
        }
        let (first, _) = rig.post(ANY, 50);
        rig.settle();
        let outcome = rig.outcome(1, first).expect("one of the two");
        assert_eq!(outcome.tag, 1, "after {uses} uses of the slot");
        let (rest, _) = rig.post(ANY, 50);
        rig.settle();
        assert_eq!(rig.outcome(1, rest).map(|outcome| outcome.tag), Some(2));
        assert!(
            [one, two]
                .into_iter()
                .all(|id| rig.outcome(0, id).is_some())
        );
        rig.assert_clean();
    }
}

/// The same, of receives that are matched by another source's messages in place of being cancelled.
#[test]
fn a_message_asked_for_by_a_receive_that_another_source_has_taken_overtakes_nothing() {
    for uses in [0, 511, 1023] {
        let mut rig = Rig::new(3, 0);
        let sends: Vec<RequestId> = [1, 2]
            .map(|tag| rig.send(0, tag, 50, Mode::Standard))
            .into();
        rig.settle();
        let second = Pattern::new(None, Some(2), 0);
        let (taken, _) = rig.post(second, 50);
        // Node 0 has the restart; its offer stays under way while node 1's message takes the receive.
        rig.moved(2);
        for at in 0..=uses {
            let id = match at {
                0 => taken,
                _ => rig.post(second, 50).0,
            };
            let send = rig.send(1, 2, 50, Mode::Standard);
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
