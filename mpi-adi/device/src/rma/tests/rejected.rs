//! Packets that are inconsistent, or contradict the window or the outstanding replies.

use super::*;

/// None of these packets panics, changes memory or enables any progress.
#[test]
fn packets_that_contradict_themselves_or_the_window_are_refused() {
    let mut rig = RmaFixture::new(3, 64);
    let mut long = packet(PacketKind::Put, 0, 0, &[1; 8]);
    long[HEAD_BYTES + 8] = 9;
    let mut other = packet(PacketKind::Put, 0, 0, &[1; 8]);
    other[2] = 77;
    let mut unlocked = [0; HEAD_BYTES];
    RequestHead::new(PacketKind::Unlock, WINDOW).emit(&mut unlocked);
    let mut arrived = [0; HEAD_BYTES];
    RequestHead::new(PacketKind::Arrived, WINDOW).emit(&mut arrived);
    let mut released = [0; HEAD_BYTES];
    RequestHead::new(PacketKind::Released, WINDOW).emit(&mut released);
    let too_long = packet(PacketKind::Accumulate, 1, 0, &[1; MAX_BYTES]);
    let mut cut = too_long.clone();
    cut.truncate(HEAD_BYTES + 4);
    let mut fetch = packet(PacketKind::Fetch, 1, 0, &[1; 40]);
    fetch[HEAD_BYTES + 8] = 39;
    let compare = packet(PacketKind::Compare, 1, 0, &[1; 7]);
    let mut odd = packet(PacketKind::Compare, 1, 0, &[1; 7]);
    odd[HEAD_BYTES + 8] = 5;
    let mut long_compare = packet(PacketKind::Compare, 1, 0, &[1; 34]);
    long_compare[HEAD_BYTES + 8] = 17;
    let mut long_fetch = packet(PacketKind::Fetch, 1, 0, &[]);
    long_fetch[HEAD_BYTES + 8] = MAX_BYTES as u8 + 1;
    let unknown = packet(PacketKind::Accumulate, 0, 0, &[1; 8]);
    let empty: Vec<u8> = Vec::new();
    let hostile = [
        &long[..],
        &other,
        &unlocked,
        &arrived,
        &released,
        &cut,
        &fetch,
        &compare,
        &odd,
        &long_compare,
        &long_fetch,
        &unknown,
        &empty,
        &[99; 20],
    ];
    for bytes in hostile {
        rig.requests[1].push_back((rank(0), 0, None, bytes.to_vec()));
        assert_eq!(rig.take(1), Err(MalformedPacket), "{bytes:?}");
    }
    // A process that is not in the window's group, and one that is not in the job.
    for source in [3, 4000] {
        let put = packet(PacketKind::Put, 0, 0, &[1]);
        rig.requests[1].push_back((rank(source), 0, None, put));
        assert_eq!(rig.take(1), Err(MalformedPacket));
    }
    assert_eq!(rig.buffers[1].0[0], [0; 64]);
    assert!(!rig.all[1].has_pending_tx() && rig.answers.iter().all(VecDeque::is_empty));
}

#[test]
fn answers_and_data_that_are_not_awaited_are_refused() {
    let mut rig = RmaFixture::new(3, 64);
    rig.answers[0].push_back((rank(1), 5, None, vec![0; 16]));
    assert_eq!(rig.hear(0), Err(MalformedPacket), "no slot");
    rig.get(0, 1, (0, 40), 0);
    rig.leave(0);
    let name = rig.requests[1][0].1;
    for (source, argument) in [
        (2, ReplyKind::Result.to_argument(name)),
        (1, ReplyKind::Rejected.to_argument(name ^ 1)),
        (1, ReplyKind::Result.to_argument(name ^ 64)),
    ] {
        rig.answers[0].push_back((rank(source), argument, None, vec![0; 16]));
        assert_eq!(rig.hear(0), Err(MalformedPacket));
    }
    for (offset, len) in [(1, 8), (0, 41)] {
        let place = TargetOffset {
            target: name.into(),
            offset,
        };
        rig.requests[0].push_back((rank(1), 0, Some(place), vec![1; len]));
        assert_eq!(rig.take(0), Err(MalformedPacket));
    }
    rig.settle();
    assert!(!rig.all[0].awaits(WINDOW, None));
}

#[test]
fn who_is_not_below_has_not_come_to_a_fence() {
    let mut rig = RmaFixture::new(4, 8);
    let mut arrived = [0; HEAD_BYTES];
    RequestHead::new(PacketKind::Arrived, WINDOW).emit(&mut arrived);
    // Below 0 are 1 and 2, and 3 is below 2.
    for (source, is_taken) in [(3, false), (1, true), (2, true), (2, false)] {
        rig.requests[0].push_back((rank(source), 0, None, arrived.to_vec()));
        let taken = rig.take(0);
        assert_eq!(taken, if is_taken { Ok(true) } else { Err(MalformedPacket) });
    }
}

/// A get is rejected only before any data has arrived, and after its request was sent.
#[test]
fn what_contradicts_a_get_is_refused() {
    let mut rig = RmaFixture::new(2, 64);
    let name = rig.get(0, 1, (0, 40), 0);
    let hear = |rig: &mut RmaFixture| {
        let refused = ReplyKind::Rejected.to_argument(name);
        rig.answers[0].push_back((rank(1), refused, None, vec![0; 16]));
        rig.hear(0)
    };
    assert_eq!(hear(&mut rig), Err(MalformedPacket), "it has not been asked for");
    rig.leave(0);
    let data = |rig: &mut RmaFixture, offset, len| {
        let target = name.into();
        let place = Some(TargetOffset { target, offset });
        rig.requests[0].push_back((rank(1), 0, place, vec![1; len]));
        rig.take(0)
    };
    assert_eq!(data(&mut rig, 0, 32), Ok(true));
    assert_eq!(hear(&mut rig), Err(MalformedPacket), "a part has come");
    assert_eq!(data(&mut rig, 32, 9), Err(MalformedPacket), "one too many");
    assert_eq!(data(&mut rig, 32, 8), Ok(true));
    assert!(!rig.all[0].awaits(WINDOW, None));
}
