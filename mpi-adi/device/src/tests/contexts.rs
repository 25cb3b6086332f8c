//! Reuse of contexts.

use super::fixture::{DeviceFixture, pattern};
use crate::request::{RequestId, SendMode};

#[test]
fn a_context_is_idle_when_nothing_of_it_can_be_matched_any_more() {
    // Short and buffered, long and buffered, long with a record without a buffer.
    for (len, blocks, mode) in [
        (8, 8, SendMode::Standard),
        (500, 32, SendMode::Standard),
        (500, 1, SendMode::Synchronous),
    ] {
        let mut rig = DeviceFixture::new(2, blocks);
        let send = rig.send(0, 7, len, mode);
        let idle = |rig: &mut DeviceFixture| [0, 1].map(|node| rig.adis[node].context_is_idle(0));
        assert_eq!(idle(&mut rig), [false, true], "it is under way");
        assert!(rig.adis[0].context_is_idle(2), "another context");
        rig.settle();
        assert_eq!(idle(&mut rig), [true, false], "it is recorded");
        let (receive, _) = rig.post(pattern(7), len);
        rig.settle();
        assert_eq!(idle(&mut rig), [true, true], "it is matched");
        let (posted, _) = rig.post(pattern(7), len);
        assert_eq!(idle(&mut rig), [true, false], "a receive is posted");
        assert!(rig.adis[1].cancel(posted));
        assert_eq!(idle(&mut rig), [true, true]);
        assert!(rig.outcome(0, send).is_some() && rig.outcome(1, receive).is_some());
        assert!(rig.outcome(1, posted).is_some());
        rig.assert_clean();
    }
}

#[test]
fn a_context_of_a_refused_message_is_not_idle() {
    let mut rig = DeviceFixture::new(2, 0);
    rig.send(0, 7, 500, SendMode::Standard);
    rig.settle();
    assert!(!rig.adis[0].context_is_idle(0));
    assert!(rig.adis[1].context_is_idle(0), "the receiver knows nothing of it");
    rig.post(pattern(7), 500);
    rig.settle();
    assert!(rig.adis[0].context_is_idle(0) && rig.adis[1].context_is_idle(0));
}

/// Counts existing requests, completed or not, but none that the program has given up or completed: their slots keep
/// the context until reuse.
#[test]
fn requests_of_a_context_are_counted() {
    let mut rig = DeviceFixture::new(2, 4);
    let count = |rig: &DeviceFixture| rig.adis[1].requests().count_in_context(0);
    let posted: [RequestId; 3] = core::array::from_fn(|_| rig.post(pattern(1), 8).0);
    assert_eq!(count(&rig), 3);
    assert_eq!(rig.adis[1].requests().count_in_context(2), 0, "another context");
    rig.adis[1].forget(posted[2]);
    assert_eq!(count(&rig), 2);
    rig.send(0, 1, 8, SendMode::Standard);
    rig.settle();
    assert_eq!(count(&rig), 2, "the program is still to be told");
    assert!(rig.outcome(1, posted[0]).is_some());
    assert_eq!(count(&rig), 1);
    rig.adis[1].disown(posted[1]);
    assert_eq!(count(&rig), 0, "a binding keeps it");
}
