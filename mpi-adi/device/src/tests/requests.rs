//! Operations of the program on its requests.

use super::fixture::{DeviceFixture, pattern};
use crate::envelope::MatchPattern;
use crate::request::SendMode;

#[test]
fn a_request_is_known_until_its_end_has_been_told() {
    let mut rig = DeviceFixture::new(2, 8);
    let any = MatchPattern::new(None, None, 6);
    assert!(!rig.adis[1].has_async_work());
    let (receive, key) = rig.post(any, 4);
    assert!(rig.adis[1].has_async_work());
    assert_eq!(rig.adis[1].take_completed(receive), Some(None), "not yet");
    assert_eq!(rig.adis[1].outcome_in_context(receive), None, "not yet");
    assert!(rig.adis[1].cancel(receive));
    let (context, outcome) = rig.adis[1].outcome_in_context(receive).expect("it has ended");
    assert!(context == 6 && outcome.cancelled);
    let concluded = rig.adis[1].take_completed(receive).expect("known");
    let concluded = concluded.expect("it has ended");
    assert_eq!((concluded.context, concluded.outcome), (6, outcome));
    assert_eq!(concluded.buffer.address(), key);
    assert_eq!(rig.adis[1].take_completed(receive), None, "told");
    assert!(!rig.adis[1].has_async_work());
    // Its slot is reused, with another handle.
    let (next, _) = rig.post(any, 4);
    assert!(!rig.adis[1].has_request(receive) && rig.adis[1].has_request(next));
    assert!(rig.adis[1].is_done(receive) && !rig.adis[1].is_done(next));
}

/// A request that is given up no longer counts as the program's, and its slot is freed on completion.
#[test]
fn requests_that_are_given_up_are_not_counted_as_the_programs() {
    let mut rig = DeviceFixture::new(2, 8);
    let (kept, _) = rig.post(pattern(1), 4);
    let (given_up, _) = rig.post(pattern(2), 4);
    let counts = |rig: &DeviceFixture| (rig.adis[1].requests.live(), rig.adis[1].requests.handle_count());
    assert_eq!(counts(&rig), (2, 2));
    rig.adis[1].forget(given_up);
    assert_eq!(counts(&rig), (2, 1));
    for tag in [2, 1] {
        rig.send(0, tag, 4, SendMode::Standard);
        rig.settle();
        assert_eq!(counts(&rig), (1, 1));
    }
    assert!(rig.outcome(1, kept).is_some());
    assert_eq!(counts(&rig), (0, 0));
}

/// A receive posted in another context prevents no reuse.
#[test]
fn a_posted_receive_is_of_its_own_context() {
    let mut rig = DeviceFixture::new(2, 8);
    rig.post(MatchPattern::new(None, None, 4), 4);
    let idle = [2, 4, 6].map(|context| rig.adis[1].context_is_idle(context));
    assert_eq!(idle, [true, false, true]);
}
