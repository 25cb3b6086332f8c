//! Queries of calls before they act or wait.

use super::*;

/// A window that does not exist.
const NONE: Context = 8;

#[test]
fn an_epoch_gives_access_to_its_targets_when_they_grant_it() {
    let mut rig = RmaFixture::new(3, 8);
    let start = rig.begin(0, EpochKind::Start, &[rank(1)], ticket());
    let locked = rig.begin(0, lock(2), &[], ticket());
    let all = &mut rig.all[0];
    let targets = |all: &mut OneSided, epoch| [1, 2].map(|at| all.includes(WINDOW, epoch, rank(at)));
    assert_eq!(targets(all, start), [true, false]);
    assert_eq!(targets(all, locked), [false, true]);
    assert_eq!(targets(all, 99), [false; 2]);
    assert!(!all.includes(NONE, start, rank(1)));
    rig.settle();
    let can = |rig: &mut RmaFixture, epoch, at| rig.all[0].can_access(WINDOW, epoch, rank(at));
    assert!(can(&mut rig, locked, 2));
    assert!(!can(&mut rig, start, 1) && !rig.all[0].can_advance(), "nothing helps");
    assert!(!can(&mut rig, 99, 1) && !rig.all[0].can_access(NONE, start, rank(1)));
    rig.begin(1, EpochKind::Post, &[rank(0)], ticket());
    rig.settle();
    assert!(can(&mut rig, start, 1));
    rig.put((0, start, 1), 0);
    assert!(!can(&mut rig, start, 1), "the put is before it");
    rig.settle();
    assert!(can(&mut rig, start, 1));
}

/// Also by waiting calls: each requests the lock there.
#[test]
fn who_asks_for_access_under_a_lock_of_all_asks_for_the_lock() {
    let mut rig = RmaFixture::new(3, 8);
    let epoch = rig.begin(0, EpochKind::LockAll, &[], ticket());
    rig.settle();
    assert_eq!((rig.left, rig.all[0].can_advance()), (0, false));
    let can = |rig: &mut RmaFixture| rig.all[0].can_access(WINDOW, epoch, rank(1));
    assert!(!can(&mut rig) && rig.all[0].can_advance());
    rig.settle();
    assert_eq!(rig.left, 2, "a LOCK and its grant");
    assert!(can(&mut rig) && !rig.all[0].can_advance());
}

#[test]
fn an_exposure_can_end_when_all_accesses_are_complete() {
    let mut rig = RmaFixture::new(3, 8);
    let access = |rig: &mut RmaFixture, at| {
        let access = rig.begin(at, EpochKind::Start, &[rank(1)], ticket());
        rig.end(at, access);
        rig.settle();
    };
    let can = |rig: &mut RmaFixture, epoch| rig.all[1].can_end(WINDOW, epoch);
    let exposure = rig.begin(1, EpochKind::Post, &[rank(0), rank(2)], ticket());
    for at in [0, 2] {
        assert!(!can(&mut rig, exposure), "{at} has not come");
        access(&mut rig, at);
    }
    assert!(can(&mut rig, exposure));
    rig.end(1, exposure);
    // It begins when the one before it is complete.
    let before = rig.begin(1, EpochKind::Post, &[rank(0)], ticket());
    rig.end(1, before);
    let empty = rig.begin(1, EpochKind::Post, &[], ticket());
    assert!(!can(&mut rig, empty));
    access(&mut rig, 0);
    assert!(can(&mut rig, empty) && rig.all[1].can_end(NONE, 1));
}

#[test]
fn a_window_is_idle_when_nothing_is_open_recorded_or_to_be_said() {
    let mut rig = RmaFixture::new(2, 8);
    let is_idle = |rig: &mut RmaFixture| rig.all[0].is_idle(WINDOW);
    assert!(is_idle(&mut rig) && rig.all[0].is_idle(NONE));
    let epoch = rig.begin(0, lock(1), &[], ticket());
    assert!(!is_idle(&mut rig));
    rig.end(0, epoch);
    rig.settle();
    assert!(is_idle(&mut rig));
    rig.put((0, epoch, 1), 0);
    assert!(!is_idle(&mut rig), "an operation of an epoch that is over");
    let mut rig = RmaFixture::new(2, 8);
    rig.begin(1, EpochKind::Fence, &[], ticket());
    rig.settle();
    let epoch = rig.begin(0, EpochKind::Fence, &[], ticket());
    assert_eq!(rig.end(0, epoch).ended(), Some(false));
    assert!(!is_idle(&mut rig), "the other one is to be told");
    rig.settle();
    assert!(is_idle(&mut rig));
}

#[test]
fn a_flush_is_answered_when_nothing_is_touched_or_recorded() {
    let mut rig = RmaFixture::new(3, 8);
    let is = |rig: &mut RmaFixture, target: Option<usize>, is_local| {
        rig.all[0].is_answered(WINDOW, target.map(rank), is_local)
    };
    assert!(is(&mut rig, None, false) && rig.all[0].is_answered(NONE, None, false));
    let put = packet(PacketKind::Put, 0, 0, &[1]);
    assert!(rig.all[0].push((WINDOW, rank(1)), 0, &put));
    assert!(!is(&mut rig, None, false) && !is(&mut rig, Some(1), false));
    assert!(is(&mut rig, Some(2), false));
    assert!(is(&mut rig, None, true) && is(&mut rig, Some(1), true));
    let epoch = rig.begin(0, lock(2), &[], ticket());
    rig.put((0, epoch, 2), 0);
    for target in [None, Some(1), Some(2)] {
        assert!(!is(&mut rig, target, true), "the put has not left");
    }
}

#[test]
fn there_is_room_for_epochs_where_there_is_a_window() {
    let mut rig = RmaFixture::new(2, 8);
    assert!(rig.all[0].prepare_epoch(WINDOW) && !rig.all[0].prepare_epoch(NONE));
    assert!(rig.all[0].remove(NONE).is_none());
    assert!(rig.all[0].remove(WINDOW).is_some_and(|window| window.context == WINDOW));
    assert!(rig.all[0].window(WINDOW).is_none());
}

#[test]
fn what_is_withdrawn_is_beyond_the_window_until_it_is_given_back() {
    let mut rig = RmaFixture::new(2, 8);
    for is_withdrawn in [true, false] {
        rig.window(1).revoke_access(is_withdrawn);
        assert!(rig.all[0].push((WINDOW, rank(1)), 0, &packet(PacketKind::Put, 0, 0, &[9; 3])));
        rig.synchronize(0, 1, PacketKind::Flush, 0);
        rig.settle();
        assert_eq!(rig.window(0).reset_fault(), is_withdrawn);
        let expected = if is_withdrawn { 0 } else { 9 };
        assert_eq!(rig.buffers[1].0[0][..3], [expected; 3]);
    }
}

/// Neither calls nor recorded operations wait for operations on other targets.
#[test]
fn operations_wait_for_those_before_them_at_their_target() {
    let mut rig = RmaFixture::new(3, 8);
    let epoch = rig.begin(0, EpochKind::Start, &[rank(1), rank(2)], ticket());
    rig.begin(2, EpochKind::Post, &[rank(0)], ticket());
    rig.settle();
    let (first, _) = rig.record((0, epoch, 1), PacketKind::Put, 0, 4);
    assert!(rig.all[0].can_access(WINDOW, epoch, rank(2)));
    let (second, _) = rig.record((0, epoch, 2), PacketKind::Put, 0, 4);
    rig.settle();
    let is_over = |rig: &RmaFixture, serial| rig.all[0].has_occurred(WINDOW, epochs::WindowEvent::Done(serial));
    assert!(!is_over(&rig, first) && is_over(&rig, second));
}

#[test]
fn a_flush_waits_for_its_epoch_or_for_all() {
    let mut rig = RmaFixture::new(3, 8);
    let start = rig.begin(0, EpochKind::Start, &[rank(1)], ticket());
    let locked = rig.begin(0, lock(2), &[], ticket());
    rig.settle();
    rig.put((0, start, 1), 0);
    let flushes = [0, locked].map(|epoch| {
        let told = ticket();
        let of = (WINDOW, epoch, None);
        assert!(rig.all[0].flush(of, false, Some(told)).is_some());
        told
    });
    rig.settle();
    assert_eq!(flushes.map(CompletionTicket::ended), [None, Some(false)]);
    rig.begin(1, EpochKind::Post, &[rank(0)], ticket());
    rig.settle();
    assert_eq!(flushes.map(CompletionTicket::ended), [Some(false); 2]);
}

/// A get that begins behind it does not delay it.
#[test]
fn a_flush_waits_for_answers_that_were_awaited_before_it() {
    let mut rig = RmaFixture::new(2, 64);
    let epoch = rig.begin(0, lock(1), &[], ticket());
    rig.settle();
    let (_, got) = rig.record((0, epoch, 1), PacketKind::Get, 0, 40);
    rig.leave(0);
    assert_eq!(got.ended(), None, "nothing has come");
    let told = ticket();
    let of = (WINDOW, epoch, None);
    assert!(rig.all[0].flush(of, false, Some(told)).is_some());
    rig.leave(0);
    rig.get(0, 1, (0, 40), 100);
    assert_eq!((rig.take(1), rig.leave(1)), (Ok(true), 1));
    assert_eq!((got.ended(), told.ended()), (None, None));
    assert_eq!(rig.take(0), Ok(true));
    assert_eq!((got.ended(), told.ended()), (Some(false), Some(false)));
    assert!(rig.all[0].awaits(WINDOW, None));
}

#[test]
fn a_long_get_asks_for_what_is_left() {
    use super::replay::GET_BYTES;
    let mut rig = RmaFixture::new(2, 8);
    let epoch = rig.begin(0, lock(1), &[], ticket());
    rig.settle();
    rig.record((0, epoch, 1), PacketKind::Get, 0, GET_BYTES + 8);
    rig.leave(0);
    let asked = rig.requests[1].iter().map(|(.., bytes)| {
        let len = bytes[HEAD_BYTES + 8..].first_chunk().expect("a length");
        u32::from_le_bytes(*len) as usize
    });
    assert!(asked.eq([GET_BYTES, 8]));
}

#[test]
fn what_is_over_is_taken_out() {
    let mut rig = RmaFixture::new(2, 8);
    for _ in 0..20 {
        let epoch = rig.begin(0, lock(1), &[], ticket());
        rig.put((0, epoch, 1), 0);
        rig.end(0, epoch);
        rig.settle();
    }
    let window = rig.window(0);
    assert!(window.epochs.len() <= 2 && window.deferred.len() <= 2);
    let reorder = ReorderFlags {
        access_after_access: true,
        ..ReorderFlags::default()
    };
    window.set_reorder(reorder);
    assert_eq!(window.reorder(), reorder);
}

#[test]
fn the_last_put_under_a_lock_gives_it_back() {
    let mut rig = RmaFixture::new(2, 8);
    let epoch = rig.begin(0, lock(1), &[], ticket());
    rig.settle();
    rig.put((0, epoch, 1), 0);
    rig.end(0, epoch);
    assert_eq!(rig.leave(0), 1);
    let (head, _) = RequestHead::parse(&rig.requests[1][0].3).expect("a head");
    assert_eq!((head.kind, head.ends), (PacketKind::Put, Some(PacketKind::Unlock)));
}

/// Local completion waits for no reply, and other targets receive no request.
#[test]
fn a_flush_asks_its_target_alone_and_none_for_buffers() {
    for (target, is_local, packets) in [(1, false, 0), (2, false, 1), (2, true, 0)] {
        let mut rig = RmaFixture::new(3, 8);
        let put = packet(PacketKind::Put, 0, 0, &[1]);
        assert!(rig.all[0].push((WINDOW, rank(2)), 0, &put));
        rig.leave(0);
        let of = (WINDOW, 0, Some(rank(target)));
        assert!(rig.all[0].flush(of, is_local, Some(ticket())).is_some());
        assert_eq!(rig.leave(0), packets, "{target}");
    }
}
