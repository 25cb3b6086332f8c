//! Tickets: notification of completion, and of operations out of bounds.

use super::*;

/// A displacement at which 4 bytes are out of bounds in a window of 8.
const BEYOND: usize = 6;

/// The root and the bottom of the tree are notified in different ways.
#[test]
fn a_fence_tells_of_what_was_before_it() {
    for origin in [0, 1] {
        let mut rig = RmaFixture::new(2, 8);
        let tickets = [ticket(), ticket()];
        let epochs = [0, 1].map(|at| rig.begin(at, EpochKind::Fence, &[], tickets[at]));
        assert!(tickets.iter().all(|told| told.ended().is_none()));
        rig.settle();
        assert!(tickets.iter().all(|told| told.ended() == Some(false)));
        let put = rig.put((origin, epochs[origin], 1 - origin), BEYOND);
        let closed = [0, 1].map(|at| {
            rig.all[at].close(WINDOW, epochs[at], None);
            ticket()
        });
        let epochs = [0, 1].map(|at| rig.begin(at, EpochKind::Fence, &[], closed[at]));
        rig.settle();
        assert_eq!(put.ended(), Some(false), "it has left");
        assert_eq!(closed[origin].ended(), Some(true));
        assert_eq!(closed[1 - origin].ended(), Some(false));
        assert!(!rig.window(origin).reset_fault(), "told once");
        // A process without a ticket checks itself.
        rig.put((origin, epochs[origin], origin), BEYOND);
        for (at, epoch) in epochs.into_iter().enumerate() {
            rig.all[at].close(WINDOW, epoch, None);
            let fence = EpochArgs {
                sort: EpochKind::Fence,
                members: &[],
                checks: true,
            };
            assert!(rig.all[at].open(WINDOW, fence, None).is_some());
        }
        rig.settle();
        assert!(rig.window(origin).reset_fault());
    }
}

#[test]
fn an_epoch_under_a_lock_tells_at_its_end() {
    let mut rig = RmaFixture::new(2, 8);
    let [opened, flushed] = [ticket(), ticket()];
    let epoch = rig.begin(0, lock(1), &[], opened);
    rig.leave(0);
    assert_eq!(opened.ended(), None, "it is not granted");
    rig.settle();
    assert_eq!(opened.ended(), Some(false));
    rig.put((0, epoch, 1), BEYOND);
    let of = (WINDOW, epoch, Some(rank(1)));
    assert!(rig.all[0].flush(of, false, Some(flushed)).is_some());
    rig.leave(0);
    assert_eq!(flushed.ended(), None, "it is not answered");
    rig.settle();
    assert_eq!(flushed.ended(), Some(true));
    let again = ticket();
    assert!(rig.all[0].flush(of, false, Some(again)).is_some());
    rig.settle();
    assert_eq!(again.ended(), Some(false), "told once");
    let put = rig.put((0, epoch, 1), BEYOND);
    let closed = rig.end(0, epoch);
    assert_eq!((put.ended(), closed.ended()), (None, None));
    rig.settle();
    assert_eq!((put.ended(), closed.ended()), (Some(false), Some(true)));
    // The opening of an epoch reports nothing about earlier operations.
    let own = packet(PacketKind::Put, 0, BEYOND as u64, &[9; 4]);
    let done = rig.all[0].act_on_self(&mut rig.buffers[0], 0, &own);
    assert!(done.is_ok());
    let opened = ticket();
    let epoch = rig.begin(0, lock(1), &[], opened);
    rig.settle();
    assert_eq!(opened.ended(), Some(false));
    let closed = rig.end(0, epoch);
    rig.settle();
    assert_eq!(closed.ended(), Some(true));
    let epoch = rig.begin(0, lock(1), &[], ticket());
    let closed = rig.end(0, epoch);
    rig.settle();
    assert_eq!(closed.ended(), Some(false));
}

#[test]
fn an_exposure_is_open_when_it_is_said_and_complete_when_the_access_is() {
    let mut rig = RmaFixture::new(2, 8);
    let [exposed, accessed] = [ticket(), ticket()];
    let access = rig.begin(0, EpochKind::Start, &[rank(1)], accessed);
    assert_eq!(accessed.ended(), Some(false), "at once");
    let put = rig.put((0, access, 1), 0);
    rig.settle();
    assert_eq!(put.ended(), None, "nothing is exposed");
    let exposure = rig.begin(1, EpochKind::Post, &[rank(0)], exposed);
    assert_eq!(exposed.ended(), None);
    rig.leave(1);
    assert_eq!(exposed.ended(), Some(false));
    let exposed = rig.end(1, exposure);
    rig.settle();
    assert_eq!((put.ended(), exposed.ended()), (Some(false), None));
    let accessed = rig.end(0, access);
    rig.leave(0);
    assert_eq!((accessed.ended(), exposed.ended()), (Some(false), None));
    rig.settle();
    assert_eq!(exposed.ended(), Some(false));
}

/// Only the target knows the attached memory, so the put's packet does not contain the end of the access epoch.
#[test]
fn an_access_to_a_dynamic_window_tells_at_its_end() {
    let mut rig = RmaFixture::new(2, 8);
    for at in 0..2 {
        rig.window(at).exposure.is_dynamic = true;
    }
    rig.begin(1, EpochKind::Post, &[rank(0)], ticket());
    let access = rig.begin(0, EpochKind::Start, &[rank(1)], ticket());
    rig.settle();
    rig.put((0, access, 1), BEYOND);
    let closed = rig.end(0, access);
    rig.settle();
    assert_eq!(closed.ended(), Some(true));
}
