//! Packets that contradict themselves, the window or what is awaited.

use super::*;

/// None of these panics, and none changes memory or lets anything move.
#[test]
fn packets_that_contradict_themselves_or_the_window_are_refused() {
    let mut rig = Rig::new(3, 64);
    let mut long = packet(Kind::Put, 0, 0, &[1; 8]);
    long[HEAD_BYTES + 8] = 9;
    let mut other = packet(Kind::Put, 0, 0, &[1; 8]);
    other[2] = 77;
    let mut unlocked = [0; HEAD_BYTES];
    Head::new(Kind::Unlock, WINDOW).emit(&mut unlocked);
    let mut arrived = [0; HEAD_BYTES];
    Head::new(Kind::Arrived, WINDOW).emit(&mut arrived);
    let mut released = [0; HEAD_BYTES];
    Head::new(Kind::Released, WINDOW).emit(&mut released);
    let too_long = packet(Kind::Accumulate, 1, 0, &[1; MOST_BYTES]);
    let mut cut = too_long.clone();
    cut.truncate(HEAD_BYTES + 4);
    let mut fetch = packet(Kind::Fetch, 1, 0, &[1; 40]);
    fetch[HEAD_BYTES + 8] = 39;
    let compare = packet(Kind::Compare, 1, 0, &[1; 7]);
    let mut odd = packet(Kind::Compare, 1, 0, &[1; 7]);
    odd[HEAD_BYTES + 8] = 5;
    let mut long_compare = packet(Kind::Compare, 1, 0, &[1; 34]);
    long_compare[HEAD_BYTES + 8] = 17;
    let mut long_fetch = packet(Kind::Fetch, 1, 0, &[]);
    long_fetch[HEAD_BYTES + 8] = MOST_BYTES as u8 + 1;
    let unknown = packet(Kind::Accumulate, 0, 0, &[1; 8]);
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
        assert_eq!(rig.take(1), Err(Malformed), "{bytes:?}");
    }
    // A process that is not in the window's group, and one that is not in the job.
    for source in [3, 4000] {
        let put = packet(Kind::Put, 0, 0, &[1]);
        rig.requests[1].push_back((rank(source), 0, None, put));
        assert_eq!(rig.take(1), Err(Malformed));
    }
    assert_eq!(rig.buffers[1].0[0], [0; 64]);
    assert!(!rig.all[1].has_to_send() && rig.answers.iter().all(VecDeque::is_empty));
}

#[test]
fn answers_and_data_that_are_not_awaited_are_refused() {
    let mut rig = Rig::new(3, 64);
    rig.answers[0].push_back((rank(1), 5, None, vec![0; 16]));
    assert_eq!(rig.hear(0), Err(Malformed), "no slot");
    rig.get(0, 1, (0, 40), 0);
    rig.leave(0);
    let name = rig.requests[1][0].1;
    for (source, argument) in [
        (2, Said::Result.about(name)),
        (1, Said::Refused.about(name ^ 1)),
        (1, Said::Result.about(name ^ 64)),
    ] {
        rig.answers[0].push_back((rank(source), argument, None, vec![0; 16]));
        assert_eq!(rig.hear(0), Err(Malformed));
    }
    for (offset, len) in [(1, 8), (0, 41)] {
        let place = Place {
            target: name.into(),
            offset,
        };
        rig.requests[0].push_back((rank(1), 0, Some(place), vec![1; len]));
        assert_eq!(rig.take(0), Err(Malformed));
    }
    rig.settle();
    assert!(!rig.all[0].awaits(WINDOW, None));
}
