//! Operations and fences: their packets and results.

use super::*;

#[test]
fn a_put_is_in_place_when_its_packet_has_been_taken_and_has_no_answer() {
    let mut rig = RmaFixture::new(2, 100);
    assert!(rig.all[0].push((WINDOW, rank(1)), 0, &packet(PacketKind::Put, 0, 40, &[1, 2, 3])));
    assert!(rig.all[0].push((WINDOW, rank(1)), 0, &packet(PacketKind::Accumulate, 1, 41, &[5])));
    assert_eq!(rig.leave(0), 2);
    rig.take(1).expect("sound");
    assert_eq!(rig.buffers[1].0[0][39..44], [0, 1, 2, 3, 0]);
    rig.take(1).expect("sound");
    assert_eq!(rig.buffers[1].0[0][39..44], [0, 1, 7, 3, 0]);
    assert!(rig.answers[0].is_empty());
    assert!(rig.window(0).peers.has(rank(1), PeerFlags::TOUCHED));
    assert_eq!(
        rig.all[1]
            .window(WINDOW)
            .unwrap()
            .peers
            .next_with(PeerFlags::TOUCHED, 0),
        None
    );
}

#[test]
fn what_is_beyond_the_window_changes_nothing_and_a_flush_tells() {
    let mut rig = RmaFixture::new(2, 100);
    for place in [98, 100, u64::MAX, u64::MAX - 1] {
        assert!(rig.all[0].push((WINDOW, rank(1)), 0, &packet(PacketKind::Put, 0, place, &[9; 3])));
        rig.synchronize(0, 1, PacketKind::Flush, 0);
        rig.settle();
        assert_eq!(rig.buffers[1].0[0], [0; 100]);
        assert!(rig.window(0).reset_fault(), "at {place}");
        rig.synchronize(0, 1, PacketKind::Flush, 0);
        rig.settle();
        assert!(!rig.window(0).reset_fault(), "told once");
    }
    rig.all[0]
        .act_on_self(&mut rig.buffers[0], 0, &packet(PacketKind::Put, 0, 99, &[9; 2]))
        .expect("a fault is no contradiction");
    assert!(rig.window(0).reset_fault(), "by oneself");
}

#[test]
fn gets_come_in_pieces_and_more_than_there_are_cursors_are_asked_for_again() {
    const BYTES: usize = 500;
    let origins = CURSORS + 3;
    let mut rig = RmaFixture::new(origins + 1, BYTES);
    rig.buffers[0].0[0] = (0..BYTES).map(|at| at as u8).collect();
    for origin in 1..=origins {
        rig.get(origin, 0, (3, 400), 10);
        rig.get(origin, 0, (7, 16), 1000);
        rig.leave(origin);
    }
    while rig.take(0).expect("sound") {}
    assert_eq!(rig.all[0].target_replies.cursors.len(), CURSORS);
    let refused = |answers: &VecDeque<PacketInFlight>| {
        answers
            .iter()
            .any(|(_, argument, ..)| ReplyKind::from_argument(*argument).0 == ReplyKind::Rejected)
    };
    let count = rig.answers.iter().filter(|answers| refused(answers)).count();
    assert_eq!(count, 3);
    rig.settle();
    for origin in 1..=origins {
        let buffer = &rig.buffers[origin].0[1];
        assert_eq!(buffer[10..410], rig.buffers[0].0[0][3..403], "{origin}");
        assert_eq!(buffer[1000..1016], rig.buffers[0].0[0][7..23], "{origin}");
        assert!(!rig.all[origin].awaits(WINDOW, None));
    }
    assert!(!rig.all[0].has_pending_tx());
}

#[test]
fn operations_on_oneself_make_no_packets() {
    let mut rig = RmaFixture::new(1, 600);
    rig.buffers[0].0[0] = (0..600).map(|at| at as u8).collect();
    rig.get(0, 0, (1, 599), 0);
    rig.get(0, 0, (1, 5), 700);
    rig.synchronize(0, 0, PacketKind::Lock, 1);
    assert!(rig.window(0).peers.has(rank(0), PeerFlags::HELD));
    assert!(!rig.all[0].awaits(WINDOW, None) && !rig.all[0].has_pending_tx());
    let expected = rig.buffers[0].0[0].clone();
    assert_eq!(rig.buffers[0].0[1][..599], expected[1..]);
    assert_eq!(rig.buffers[0].0[1][700..705], expected[1..6]);
    rig.synchronize(0, 0, PacketKind::Unlock, 0);
    assert!(!rig.all[0].has_pending_tx());
}

#[test]
fn a_fetch_gives_what_was_there_and_a_comparison_replaces_what_is_equal() {
    let mut rig = RmaFixture::new(2, 64);
    rig.buffers[1].0[0][8..12].copy_from_slice(&[1, 2, 3, 4]);
    let fetch = packet(PacketKind::Fetch, 1, 8, &[10; 4]);
    rig.ask(0, 1, ReplyPurpose::Result(4), 100, &fetch);
    rig.settle();
    assert_eq!(rig.buffers[0].0[1][100..105], [1, 2, 3, 4, 0]);
    assert_eq!(rig.buffers[1].0[0][8..12], [11, 12, 13, 14]);
    // No operand: only reads.
    let mut read = packet(PacketKind::Fetch, 1, 8, &[0; 4]);
    read.truncate(HEAD_BYTES + PIECE_BYTES);
    rig.ask(0, 1, ReplyPurpose::Result(4), 100, &read);
    rig.settle();
    assert_eq!(rig.buffers[0].0[1][100..104], [11, 12, 13, 14]);
    for (compare, after) in [([1, 2], [11, 12]), ([11, 12], [7, 7])] {
        let mut swap = packet(PacketKind::Compare, 0, 8, &[compare, [7, 7]].concat());
        swap[HEAD_BYTES + 8] = 2;
        rig.ask(0, 1, ReplyPurpose::Result(2), 200, &swap);
        rig.settle();
        assert_eq!(rig.buffers[0].0[1][200..202], [11, 12]);
        assert_eq!(rig.buffers[1].0[0][8..10], after);
    }
}

/// The lengths of a reply and of a packet; one byte more is another case.
#[test]
fn results_are_as_long_as_an_answer_or_as_a_packet() {
    let mut rig = RmaFixture::new(2, 256);
    rig.buffers[1].0[0] = (0..=255).collect();
    let before = rig.buffers[1].0[0].clone();
    for (len, packets) in [(16, 0), (17, 1), (MAX_BYTES, 1)] {
        let fetch = packet(PacketKind::Fetch, 1, 0, &vec![0; len]);
        rig.ask(0, 1, ReplyPurpose::Result(len as u32), 0, &fetch);
        rig.leave(0);
        assert_eq!(rig.take(1), Ok(true));
        assert_eq!((rig.answers[0].len(), rig.leave(1)), (1 - packets, packets));
        rig.settle();
        assert_eq!(rig.buffers[0].0[1][..len], before[..len]);
    }
    let mut compare = packet(PacketKind::Compare, 0, 0, &[&before[..16], &[9; 16]].concat());
    compare[HEAD_BYTES + 8] = 16;
    rig.ask(0, 1, ReplyPurpose::Result(16), 0, &compare);
    rig.settle();
    assert_eq!(rig.buffers[1].0[0][..16], [9; 16]);
    assert_eq!(rig.buffers[1].0[0][16..], before[16..]);
}

#[test]
fn a_window_says_how_large_it_is_and_how_places_are_counted() {
    let mut rig = RmaFixture::new(2, 300);
    rig.window(1).exposure.disp_unit = 8;
    let mut size = [0; HEAD_BYTES];
    RequestHead::new(PacketKind::Size, WINDOW).emit(&mut size);
    rig.ask(0, 1, ReplyPurpose::Result(16), 0, &size);
    rig.settle();
    let answer = &rig.buffers[0].0[1];
    assert_eq!(answer[..8], 300u64.to_le_bytes());
    assert_eq!(answer[8..16], 8u64.to_le_bytes());
}

#[test]
fn a_get_that_is_answered_reads_its_own_bytes_and_no_others() {
    let mut rig = RmaFixture::new(2, 64);
    rig.get(0, 1, (8, 40), 0);
    rig.leave(0);
    assert_eq!(rig.take(1), Ok(true));
    for (place, len, reads) in [
        (0, 8, false),
        (0, 9, true),
        (0, 64, true),
        (8, 40, true),
        (20, 2, true),
        (47, 1, true),
        (48, 4, false),
        (60, 4, false),
    ] {
        assert_eq!(rig.all[1].reads(Span::model(place, len)), reads, "{place}");
    }
    rig.settle();
    assert!(!rig.all[1].reads(Span::model(0, 64)));
}

#[test]
fn long_results_are_refused_unchanged_when_there_is_no_place_to_keep_them() {
    let mut rig = RmaFixture::new(RESULTS + 2, 64);
    let fetch = packet(PacketKind::Fetch, 1, 0, &[1; 32]);
    for origin in 1..=RESULTS + 1 {
        rig.ask(origin, 0, ReplyPurpose::Result(32), 5, &fetch);
        rig.leave(origin);
    }
    while rig.take(0).expect("sound") {}
    let mut sum = [0; 64];
    sum[..32].fill(RESULTS as u8);
    assert_eq!(rig.buffers[0].0[0], sum);
    rig.settle();
    for origin in 1..=RESULTS + 1 {
        assert!(!rig.all[origin].awaits(WINDOW, None));
        assert_eq!(rig.all[origin].reset_rejected(), origin > RESULTS);
        let mut expected = [0; 40];
        if origin <= RESULTS {
            expected[5..37].fill(origin as u8 - 1);
        }
        assert_eq!(rig.buffers[origin].0[1][..40], expected, "{origin}");
    }
    rig.ask(RESULTS + 1, 0, ReplyPurpose::Result(32), 5, &fetch);
    rig.ask(0, 0, ReplyPurpose::Result(32), 5, &fetch);
    rig.settle();
    assert!(!rig.all[RESULTS + 1].reset_rejected());
    let own = rig.buffers[0].0[1][5];
    assert_eq!(usize::from(own + rig.buffers[RESULTS + 1].0[1][5]), 2 * RESULTS + 1);
}

#[test]
fn the_ring_and_the_slots_say_when_they_are_full() {
    let mut rig = RmaFixture::new(2, 8);
    let put = packet(PacketKind::Put, 0, 0, &[1]);
    for _ in 0..RING_PACKETS {
        assert!(rig.all[0].push((WINDOW, rank(1)), 0, &put));
    }
    assert!(!rig.all[0].push((WINDOW, rank(1)), 0, &put));
    let awaited = ReplyPurpose::Data { place: 0, len: 4 };
    let into = (Span::model(ORIGIN, 8), 0);
    for _ in 0..SLOTS {
        assert!(rig.all[0].await_reply((WINDOW, rank(1)), awaited, into).is_some());
    }
    assert_eq!(rig.all[0].await_reply((WINDOW, rank(1)), awaited, into), None);
    rig.settle();
    assert!(rig.all[0].await_reply((WINDOW, rank(1)), awaited, into).is_some());
    assert!(rig.all[0].awaits(WINDOW, Some(rank(1))) && !rig.all[0].awaits(WINDOW, Some(rank(0))));
}

#[test]
fn a_fence_takes_two_packets_for_each_process_and_ends_when_all_have_come() {
    let size = 7;
    let mut rig = RmaFixture::new(size, 8);
    let fence = epochs::EpochArgs {
        sort: epochs::EpochKind::Fence,
        members: &[],
        checks: true,
    };
    let mut opened = Vec::new();
    for at in 0..size {
        assert!((0..at).all(|at| !rig.all[at].has_occurred(WINDOW, opened[at])));
        let epoch = rig.all[at].open(WINDOW, fence, None).expect("room");
        opened.push(WindowEvent::Opened(epoch));
        rig.settle();
    }
    assert!((0..size).all(|at| rig.all[at].has_occurred(WINDOW, opened[at])));
    assert_eq!(rig.left, 2 * (size - 1));
}

/// A waiting call would not notice a progress step without a packet.
#[test]
fn what_a_packet_allows_is_done_when_it_leaves() {
    let mut rig = RmaFixture::new(2, 8);
    let start = epochs::EpochArgs {
        sort: epochs::EpochKind::Start,
        members: &[rank(1)],
        checks: true,
    };
    let epoch = rig.all[0].open(WINDOW, start, None).expect("room");
    let put = deferred_ops::RecordedOperation {
        head: RequestHead::new(PacketKind::Put, WINDOW),
        from: Span::model(ORIGIN, 4),
        compare: Span::EMPTY,
        into: Span::EMPTY,
        to: Span::model(2, 4),
        len: 4,
        unit: 1,
    };
    let put = rig.all[0].defer(WINDOW, epoch, rank(1), put, None);
    let [put, closed] = [WindowEvent::Done(put.expect("room")), WindowEvent::Closed(epoch)];
    rig.all[0].close(WINDOW, epoch, None);
    assert_eq!(rig.leave(0), 0, "nothing is granted");
    let mut grant = [0; HEAD_BYTES];
    RequestHead::new(PacketKind::Post, WINDOW).emit(&mut grant);
    rig.requests[0].push_back((rank(1), 0, None, grant.to_vec()));
    assert_eq!(rig.take(0), Ok(true));
    let mut out = [0; SHORT_BYTES];
    let leaving = rig.all[0].next_packet(&mut rig.buffers[0], &mut out);
    let leaving = leaving.expect("the put, and the epoch's end with it");
    assert!([put, closed].map(|watch| rig.all[0].has_occurred(WINDOW, watch)) == [true; 2]);
    let (head, _) = RequestHead::parse(&out[..leaving.len]).expect("a head");
    assert_eq!((head.kind, head.ends), (PacketKind::Put, Some(PacketKind::Complete)));
}

/// Packets that a step prepares are sent in it: a node sleeps when a step has moved nothing.
#[test]
fn a_get_that_is_deferred_leaves_in_the_step_that_finds_it() {
    let mut rig = RmaFixture::new(2, 64);
    let opening = EpochArgs {
        sort: EpochKind::LockAll,
        members: &[],
        checks: false,
    };
    let epoch = rig.all[0].open(WINDOW, opening, None).expect("room");
    let get = RecordedOperation {
        head: RequestHead::new(PacketKind::Get, WINDOW),
        from: Span::EMPTY,
        compare: Span::EMPTY,
        into: Span::model(ORIGIN, 8),
        to: Span::model(0, 8),
        len: 8,
        unit: 1,
    };
    let deferred = rig.all[0].defer(WINDOW, epoch, rank(1), get, None);
    assert!(deferred.is_some() && rig.all[0].has_pending_tx());
    assert_eq!(rig.leave(0), 1);
    assert!(!rig.all[0].has_pending_tx());
}

/// The reply of a flush reports whether earlier operations were out of bounds: the request of a get that a progress
/// step begins is sent before the flush.
#[test]
fn a_get_that_is_deferred_leaves_before_the_flush_behind_it() {
    let mut rig = RmaFixture::new(2, 64);
    rig.window(0).exposure.is_dynamic = true;
    let opening = EpochArgs {
        sort: EpochKind::Lock {
            target: rank(1),
            is_exclusive: false,
        },
        members: &[],
        checks: false,
    };
    let epoch = rig.all[0].open(WINDOW, opening, None).expect("room");
    let operation = RecordedOperation {
        head: RequestHead::new(PacketKind::Get, WINDOW),
        from: Span::EMPTY,
        compare: Span::EMPTY,
        into: Span::model(ORIGIN, 40),
        to: Span::model(60, 40),
        len: 40,
        unit: 1,
    };
    assert!(rig.all[0].defer(WINDOW, epoch, rank(1), operation, None).is_some());
    let of = (WINDOW, epoch, Some(rank(1)));
    assert!(rig.all[0].flush(of, false, None).is_some());
    rig.leave(0);
    let kinds = rig.requests[1].iter().map(|packet| packet.3[0]);
    assert!(kinds.eq([PacketKind::Get as u8, PacketKind::Flush as u8]));
    rig.settle();
    assert!(rig.window(0).reset_fault(), "beyond the window");
}
