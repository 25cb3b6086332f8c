//! Holders of a lock, and waiting processes.

use super::*;
use crate::queues::QueueKind;

fn holders(rig: &mut RmaFixture) -> Vec<usize> {
    (0..rig.all.len())
        .filter(|at| rig.window(*at).peers.has(rank(0), PeerFlags::HELD))
        .collect()
}

fn unlock(rig: &mut RmaFixture, at: usize) {
    rig.window(at).peers.clear(rank(0), PeerFlags::HELD);
    rig.synchronize(at, 0, PacketKind::Unlock, 0);
    rig.settle();
}

#[test]
fn locks_are_shared_or_exclusive_and_go_round_by_rank() {
    let mut rig = RmaFixture::new(6, 8);
    let (shared, exclusive) = (0, 1);
    rig.synchronize(3, 0, PacketKind::Lock, shared);
    rig.settle();
    rig.synchronize(1, 0, PacketKind::Lock, shared);
    rig.settle();
    assert_eq!(holders(&mut rig), [1, 3]);
    for (at, kind) in [(5, exclusive), (4, exclusive), (0, exclusive), (2, shared)] {
        rig.synchronize(at, 0, PacketKind::Lock, kind);
        rig.settle();
    }
    assert_eq!(holders(&mut rig), [1, 3], "the others wait");
    unlock(&mut rig, 1);
    assert_eq!(holders(&mut rig), [3]);
    let mut order = Vec::new();
    unlock(&mut rig, 3);
    while let [holder] = holders(&mut rig)[..] {
        order.push(holder);
        unlock(&mut rig, holder);
    }
    assert_eq!(order, [0, 2, 4, 5]);
}

#[test]
fn shared_locks_that_wait_are_granted_together_and_none_passes_one_that_waits() {
    let mut rig = RmaFixture::new(5, 8);
    rig.synchronize(1, 0, PacketKind::Lock, 1);
    rig.settle();
    for at in [2, 3] {
        rig.synchronize(at, 0, PacketKind::Lock, 0);
    }
    rig.settle();
    unlock(&mut rig, 1);
    assert_eq!(holders(&mut rig), [2, 3]);
    rig.synchronize(1, 0, PacketKind::Lock, 1);
    rig.settle();
    rig.synchronize(4, 0, PacketKind::Lock, 0);
    rig.settle();
    assert_eq!(holders(&mut rig), [2, 3], "no starving");
}

/// Where it emits no packet, because the freed lock is granted to the process itself, the step reports a change.
#[test]
fn a_lock_of_ones_own_that_comes_free_is_a_move() {
    let mut rig = RmaFixture::new(2, 8);
    rig.synchronize(1, 0, PacketKind::Lock, 1);
    rig.settle();
    let opening = EpochArgs {
        sort: lock(0),
        members: &[],
        checks: true,
    };
    let epoch = rig.all[0].open(WINDOW, opening, None).expect("room");
    rig.settle();
    let opened = WindowEvent::Opened(epoch);
    assert!(!rig.all[0].has_occurred(WINDOW, opened), "1 has it");
    rig.window(1).peers.clear(rank(0), PeerFlags::HELD);
    rig.synchronize(1, 0, PacketKind::Unlock, 0);
    let _ = rig.leave(1);
    // The network has no space, so that packets are only received.
    while rig.take(0).expect("sound") {}
    let _ = rig.all[0].reset_moved();
    assert_eq!(rig.leave(0), 0);
    assert!(rig.all[0].has_occurred(WINDOW, opened));
    assert!(rig.all[0].reset_moved() && !rig.all[0].reset_moved());
}

/// Two processes under locks of all: each has one lock and needs the other's, for which another process waits
/// exclusively.
#[test]
fn who_may_have_other_locks_waits_for_no_queue() {
    let mut rig = RmaFixture::new(6, 8);
    let [all, alone] = [wire::SHARED_BESIDE, wire::EXCLUSIVE];
    rig.synchronize(1, 0, PacketKind::Lock, all);
    rig.settle();
    rig.synchronize(2, 0, PacketKind::Lock, alone);
    rig.settle();
    rig.synchronize(3, 0, PacketKind::Lock, all);
    rig.synchronize(4, 0, PacketKind::Lock, wire::SHARED);
    rig.settle();
    assert_eq!(holders(&mut rig), [1, 3], "2 waits, and 4 behind it");
    unlock(&mut rig, 1);
    unlock(&mut rig, 3);
    assert_eq!(holders(&mut rig), [2]);
    // While one process has it exclusively, all wait; then those that may have others are first, together with 4, whose
    // turn it is.
    rig.synchronize(5, 0, PacketKind::Lock, alone);
    rig.synchronize(1, 0, PacketKind::Lock, all);
    rig.settle();
    assert_eq!(holders(&mut rig), [2]);
    unlock(&mut rig, 2);
    assert_eq!(holders(&mut rig), [1, 4]);
}

/// It reports other locks that it requests while it waits. Otherwise two processes that request the same two locks in
/// opposite orders, without waiting in between, could deadlock behind an exclusive lock.
#[test]
fn who_asks_for_other_locks_while_it_waits_leaves_the_queue() {
    let mut rig = RmaFixture::new(4, 8);
    rig.synchronize(3, 0, PacketKind::Lock, wire::SHARED);
    rig.settle();
    rig.synchronize(2, 0, PacketKind::Lock, wire::EXCLUSIVE);
    rig.settle();
    let ask = |rig: &mut RmaFixture, target| {
        let opening = EpochArgs {
            sort: EpochKind::Lock {
                target: rank(target),
                is_exclusive: false,
            },
            members: &[],
            checks: true,
        };
        let epoch = rig.all[1].open(WINDOW, opening, None).expect("room");
        let before = rig.left;
        rig.settle();
        (WindowEvent::Opened(epoch), rig.left - before)
    };
    let (first, _) = ask(&mut rig, 0);
    assert!(!rig.all[1].has_occurred(WINDOW, first), "it waits behind 2");
    // A LOCK and its grant, and the same again for the lock that it waits for.
    let (second, packets) = ask(&mut rig, 2);
    let is_over = |watch| rig.all[1].has_occurred(WINDOW, watch);
    assert!(is_over(first) && is_over(second));
    assert_eq!((packets, holders(&mut rig)), (4, vec![1, 3]));
    // It has nothing more to report, and neither has one that holds nothing.
    assert_eq!(ask(&mut rig, 3).1, 2);
    let mut urgent = [0; HEAD_BYTES];
    RequestHead {
        operation: wire::URGENT,
        ..RequestHead::new(PacketKind::Lock, WINDOW)
    }
    .emit(&mut urgent);
    rig.requests[1].push_back((rank(0), 0, None, urgent.to_vec()));
    assert_eq!(rig.take(1), Err(MalformedPacket));
}

/// When the lock is released, and even if it requests the lock again immediately.
#[test]
fn who_had_the_lock_last_is_behind_all_that_wait() {
    let mut rig = RmaFixture::new(5, 8);
    let ask = |rig: &mut RmaFixture, at| {
        rig.synchronize(at, 0, PacketKind::Lock, wire::EXCLUSIVE);
        rig.leave(at);
        while rig.take(0).expect("sound") {}
    };
    ask(&mut rig, 1);
    ask(&mut rig, 2);
    rig.settle();
    unlock(&mut rig, 1);
    assert_eq!(holders(&mut rig), [2]);
    ask(&mut rig, 1);
    ask(&mut rig, 3);
    unlock(&mut rig, 2);
    assert_eq!(holders(&mut rig), [3]);
    rig.window(3).peers.clear(rank(0), PeerFlags::HELD);
    rig.synchronize(3, 0, PacketKind::Unlock, 0);
    ask(&mut rig, 3);
    rig.settle();
    assert_eq!(holders(&mut rig), [1]);
}

/// The grant may arrive after the program has closed the epoch: the lock is released then.
#[test]
fn a_lock_of_all_ends_when_what_was_asked_for_has_been_given_back() {
    let mut rig = RmaFixture::new(3, 8);
    rig.synchronize(2, 0, PacketKind::Lock, wire::EXCLUSIVE);
    rig.settle();
    let told = ticket();
    let epoch = rig.begin(1, EpochKind::LockAll, &[], ticket());
    assert!(!rig.all[1].can_access(WINDOW, epoch, rank(0)));
    rig.settle();
    rig.all[1].close(WINDOW, epoch, Some(told));
    rig.settle();
    assert_eq!(told.ended(), None, "2 has it");
    unlock(&mut rig, 2);
    assert_eq!((told.ended(), holders(&mut rig)), (Some(false), vec![]));
    rig.synchronize(2, 0, PacketKind::Lock, wire::EXCLUSIVE);
    rig.settle();
    assert_eq!(holders(&mut rig), [2]);
}

fn waits(rig: &RmaFixture, at: usize) -> Vec<(QueueKind, Option<Rank>)> {
    let mut entries = Vec::new();
    rig.all[at].visit_waits(&mut |entry| entries.push((entry.kind, entry.peer)));
    entries
}

#[test]
fn awaited_grants_and_holders_of_locks_are_visited() {
    let mut rig = RmaFixture::new(3, 8);
    let first = rig.begin(1, lock(0), &[], ticket());
    rig.settle();
    rig.begin(2, lock(0), &[], ticket());
    rig.settle();
    assert_eq!(waits(&rig, 0), [(QueueKind::LockHolder, Some(rank(1)))]);
    assert_eq!(waits(&rig, 1), []);
    assert_eq!(waits(&rig, 2), [(QueueKind::WindowGrant, Some(rank(0)))]);
    rig.end(1, first);
    rig.settle();
    assert_eq!(waits(&rig, 0), [(QueueKind::LockHolder, Some(rank(2)))]);
    assert_eq!(waits(&rig, 2), []);
}

#[test]
fn missing_posts_and_completions_are_visited() {
    let mut rig = RmaFixture::new(3, 8);
    rig.begin(0, EpochKind::Start, &[rank(1), rank(2)], ticket());
    rig.begin(1, EpochKind::Post, &[rank(0)], ticket());
    rig.settle();
    assert_eq!(waits(&rig, 0), [(QueueKind::WindowGrant, Some(rank(2)))]);
    assert_eq!(waits(&rig, 1), [(QueueKind::WindowEpoch, Some(rank(0)))]);
}
