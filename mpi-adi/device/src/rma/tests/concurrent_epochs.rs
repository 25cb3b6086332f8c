//! Concurrent epochs, and the order of their completion.

use super::*;

const KEYS: ReorderFlags = ReorderFlags {
    access_after_access: true,
    access_after_exposure: true,
    exposure_after_exposure: true,
    exposure_after_access: true,
};

impl RmaFixture {
    /// Opens an epoch that does not wait for the other side.
    fn begin_unchecked(&mut self, at: usize, sort: EpochKind, members: &[Rank]) -> WindowSequence {
        let opening = EpochArgs {
            sort,
            members,
            checks: false,
        };
        let epoch = self.all[at].open(WINDOW, opening, None);
        epoch.expect("room")
    }

    /// Returns whether an epoch that process 1 opens is open after its next step.
    fn opens(&mut self, sort: EpochKind, members: &[Rank]) -> bool {
        let told = ticket();
        self.begin(1, sort, members, told);
        self.leave(1);
        told.ended().is_some()
    }
}

/// Each key allows epochs of one kind to overtake closed ones of one kind.
#[test]
fn a_key_is_for_one_pair_of_kinds() {
    let pairs = [
        (EpochKind::Start, EpochKind::Start),
        (EpochKind::Post, EpochKind::Start),
        (EpochKind::Post, EpochKind::Post),
        (EpochKind::Start, EpochKind::Post),
    ];
    for key in 0..=4 {
        for (number, (before, next)) in pairs.into_iter().enumerate() {
            let mut rig = RmaFixture::new(3, 8);
            rig.window(1).set_reorder(ReorderFlags {
                access_after_access: key == 0,
                access_after_exposure: key == 1,
                exposure_after_exposure: key == 2,
                exposure_after_access: key == 3,
            });
            let epoch = rig.begin(1, before, &[rank(0)], ticket());
            rig.end(1, epoch);
            assert_eq!(rig.opens(next, &[rank(2)]), key == number);
        }
    }
}

#[test]
fn a_lock_does_not_begin_beside_another_access_to_its_target() {
    for target in [0, 2] {
        let mut rig = RmaFixture::new(3, 8);
        rig.window(1).set_reorder(KEYS);
        let epoch = rig.begin(1, EpochKind::Start, &[rank(0)], ticket());
        rig.end(1, epoch);
        rig.begin(1, lock(target), &[], ticket());
        assert_eq!(rig.leave(1), usize::from(target == 2), "a LOCK");
    }
}

#[test]
fn nothing_is_exposed_beside_an_access_while_the_window_is_locked() {
    for is_locked in [true, false] {
        let mut rig = RmaFixture::new(3, 8);
        rig.window(1).set_reorder(KEYS);
        rig.synchronize(2, 1, PacketKind::Lock, wire::EXCLUSIVE);
        rig.settle();
        if !is_locked {
            rig.window(2).peers.clear(rank(1), PeerFlags::HELD);
            rig.synchronize(2, 1, PacketKind::Unlock, 0);
            rig.settle();
        }
        let epoch = rig.begin(1, EpochKind::Start, &[rank(0)], ticket());
        rig.end(1, epoch);
        assert_eq!(rig.opens(EpochKind::Post, &[rank(0)]), !is_locked);
    }
}

/// The grant counter limits the number of exposure epochs, and no others.
#[test]
fn so_many_exposures_are_active_at_most() {
    let mut rig = RmaFixture::new(3, 8);
    for _ in 0..100 {
        assert!(rig.opens(EpochKind::Start, &[]));
    }
    let opened = (0..100).filter(|_| rig.opens(EpochKind::Post, &[rank(0)]));
    assert_eq!(opened.count(), 64);
}

/// It has not waited for the exposure.
#[test]
fn an_access_that_is_ahead_of_the_exposure_counts_for_one() {
    let mut rig = RmaFixture::new(2, 8);
    let mut done = [0; HEAD_BYTES];
    RequestHead::new(PacketKind::Complete, WINDOW).emit(&mut done);
    rig.requests[1].push_back((rank(0), 0, None, done.to_vec()));
    assert_eq!(rig.take(1), Ok(true));
    for is_done in [true, false] {
        let exposure = rig.begin(1, EpochKind::Post, &[rank(0)], ticket());
        assert_eq!(rig.all[1].can_end(WINDOW, exposure), is_done);
        rig.end(1, exposure);
        rig.settle();
    }
}

#[test]
fn dones_leave_in_the_order_of_epochs() {
    let mut rig = RmaFixture::new(2, 8);
    let first = rig.begin(0, EpochKind::Start, &[rank(1)], ticket());
    let second = rig.begin_unchecked(0, EpochKind::Start, &[rank(1)]);
    rig.end(0, second);
    assert_eq!(rig.leave(0), 0, "the first one is open");
    rig.end(0, first);
    assert_eq!(rig.leave(0), 0, "and has no grant");
    rig.begin(1, EpochKind::Post, &[rank(0)], ticket());
    rig.leave(1);
    assert_eq!(rig.take(0), Ok(true));
    assert_eq!(rig.leave(0), 2);
    // The same with a done piggybacked on an operation.
    let mut rig = RmaFixture::new(2, 8);
    for _ in 0..2 {
        rig.begin(1, EpochKind::Post, &[rank(0)], ticket());
    }
    rig.settle();
    let [_, second] = [0, 1].map(|_| rig.begin(0, EpochKind::Start, &[rank(1)], ticket()));
    rig.put((0, second, 1), 0);
    rig.end(0, second);
    assert_eq!(rig.leave(0), 1);
    let (head, _) = RequestHead::parse(&rig.requests[1][0].3).expect("a head");
    assert_eq!((head.kind, head.ends), (PacketKind::Put, None));
}

/// Without a lock there is no UNLOCK whose reply would report faults.
#[test]
fn an_epoch_without_its_lock_flushes_at_its_end() {
    let mut rig = RmaFixture::new(2, 8);
    let epoch = rig.begin_unchecked(0, lock(1), &[]);
    rig.put((0, epoch, 1), 0);
    let closed = rig.end(0, epoch);
    assert_eq!(rig.leave(0), 2, "the put and the flush");
    assert_eq!(closed.ended(), None);
    rig.settle();
    assert_eq!(closed.ended(), Some(false));
}
