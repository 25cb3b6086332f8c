//! Processes with a window each, and packets that move when the script says so.

use std::collections::VecDeque;

use msg_layer::handler::Malformed;
use msg_layer::header::{Place, SHORT_BYTES};

use super::deferred::Operation;
use super::epochs::{Opening, Sort};
use super::wire::{HEAD_BYTES, Head, Kind, MOST_BYTES, PIECE_BYTES, Said, emit_piece};
use super::*;

const WINDOW: Context = 6;

/// Where the origins' buffers begin.
const ORIGIN: usize = 1024;

/// The window's memory, and an origin's buffer.
struct Buffers([Vec<u8>; 2]);

impl Buffers {
    fn at(span: Span) -> (usize, usize) {
        match span.address().checked_sub(ORIGIN) {
            Some(at) => (1, at),
            None => (0, span.address()),
        }
    }
}

impl UserMemory for Buffers {
    fn read(&self, span: Span, offset: usize, out: &mut [u8]) {
        let (buffer, at) = Buffers::at(span);
        out.copy_from_slice(&self.0[buffer][at + offset..][..out.len()]);
    }
    fn write(&mut self, span: Span, offset: usize, bytes: &[u8]) {
        let (buffer, at) = Buffers::at(span);
        self.0[buffer][at + offset..][..bytes.len()].copy_from_slice(bytes);
    }
}

/// Adds bytes; operation 0 is unknown.
fn add(operation: u8, _: u8, origin: &[u8], target: &mut [u8]) -> bool {
    for (a, b) in origin.iter().zip(target) {
        *b = b.wrapping_add(*a);
    }
    operation != 0
}

type Moving = (Rank, u16, Option<Place>, Vec<u8>);

struct Rig {
    all: Vec<OneSided>,
    buffers: Vec<Buffers>,
    /// Requests to each process, and answers.
    requests: Vec<VecDeque<Moving>>,
    answers: Vec<VecDeque<Moving>>,
    /// Packets that have left.
    left: usize,
}

fn rank(number: usize) -> Rank {
    Rank::new(number as u32)
}

impl Rig {
    /// So many processes, with a window of `bytes` bytes each.
    fn new(processes: usize, bytes: usize) -> Rig {
        let one = |number| {
            let mut one = OneSided::new(rank(number), add, crate::device::memory::runs);
            assert!(one.prepare());
            let peers = vec![Peer::default(); processes + 1].into_boxed_slice();
            let span = Span::model(0, bytes);
            let members = ((0..processes).map(rank), rank(number));
            let window = Window::new(WINDOW, vec![span], (false, 1), peers, members);
            one.add(window.expect("room"));
            one
        };
        let queues = || (0..processes).map(|_| VecDeque::new()).collect();
        Rig {
            all: (0..processes).map(one).collect(),
            buffers: (0..processes)
                .map(|_| Buffers([vec![0; bytes], vec![0; 2048]]))
                .collect(),
            requests: queues(),
            answers: queues(),
            left: 0,
        }
    }

    fn window(&mut self, at: usize) -> &mut Window {
        self.all[at].window(WINDOW).expect("it is there")
    }

    /// What process `at` has to send leaves.
    fn leave(&mut self, at: usize) -> usize {
        let mut out = [0; SHORT_BYTES];
        let mut count = 0;
        while let Some(leaving) = self.all[at].next(&mut self.buffers[at], &mut out) {
            assert_ne!(leaving.dest, rank(at), "no packets to oneself");
            let bytes = out[..leaving.len].to_vec();
            let packet = (rank(at), leaving.argument, leaving.place, bytes);
            self.requests[leaving.dest.index() as usize].push_back(packet);
            count += 1;
        }
        self.left += count;
        count
    }

    /// Process `at` takes one request; false: there is none.
    fn take(&mut self, at: usize) -> Result<bool, Malformed> {
        let Some((source, argument, place, bytes)) = self.requests[at].pop_front() else {
            return Ok(false);
        };
        let request = Request {
            source,
            argument,
            place,
            bytes: &bytes,
        };
        let answer = self.all[at].take_request(&mut self.buffers[at], request)?;
        if let Some(answer) = answer {
            let packet = (rank(at), answer.argument, None, answer.bytes.to_vec());
            self.answers[source.index() as usize].push_back(packet);
        }
        Ok(true)
    }

    fn hear(&mut self, at: usize) -> Result<bool, Malformed> {
        let Some((source, argument, place, bytes)) = self.answers[at].pop_front() else {
            return Ok(false);
        };
        let answer = Request {
            source,
            argument,
            place,
            bytes: &bytes,
        };
        self.all[at].take_answer(&mut self.buffers[at], answer)?;
        Ok(true)
    }

    /// Everything moves until nothing does.
    fn settle(&mut self) {
        loop {
            let mut moved = false;
            for at in 0..self.all.len() {
                moved |= self.leave(at) > 0;
                while self.take(at).expect("sound") {
                    moved = true;
                }
                while self.hear(at).expect("sound") {
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
    }

    fn ask(
        &mut self,
        from: usize,
        to: usize,
        awaited: Awaited,
        offset: usize,
        packet: &[u8],
    ) -> u16 {
        let into = (Span::model(ORIGIN, 2048), offset);
        let one = &mut self.all[from];
        let name = one
            .await_answer((WINDOW, rank(to)), awaited, into)
            .expect("a slot");
        if from == to {
            one.act_here(&mut self.buffers[from], name, packet)
                .expect("sound");
        } else if !matches!(awaited, Awaited::Data { .. }) {
            assert!(one.push((WINDOW, rank(to)), name, packet));
        }
        name
    }

    fn synchronize(&mut self, from: usize, to: usize, kind: Kind, operation: u8) {
        let mut packet = [0; HEAD_BYTES];
        let head = Head {
            operation,
            ..Head::new(kind, WINDOW)
        };
        head.emit(&mut packet);
        if kind != Kind::Lock {
            self.ask(from, to, Awaited::Done, 0, &packet);
        } else if from == to {
            let done = self.all[from].act_here(&mut self.buffers[from], 0, &packet);
            done.expect("sound");
        } else {
            assert!(self.all[from].push((WINDOW, rank(to)), 0, &packet));
        }
    }

    fn get(&mut self, from: usize, to: usize, (place, len): (u64, u32), offset: usize) {
        let mut packet = [0; 32];
        let bytes = get_request(&mut packet, WINDOW, place, len);
        let awaited = Awaited::Data { place, len };
        self.ask(from, to, awaited, offset, &packet[..bytes]);
    }
}

fn packet(kind: Kind, operation: u8, place: u64, bytes: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; HEAD_BYTES + PIECE_BYTES + bytes.len()];
    let head = Head {
        operation,
        ..Head::new(kind, WINDOW)
    };
    head.emit(&mut packet);
    emit_piece(&mut packet[HEAD_BYTES..], place, bytes.len()).copy_from_slice(bytes);
    packet
}

#[test]
fn a_put_is_in_place_when_its_packet_has_been_taken_and_has_no_answer() {
    let mut rig = Rig::new(2, 100);
    assert!(rig.all[0].push((WINDOW, rank(1)), 0, &packet(Kind::Put, 0, 40, &[1, 2, 3])));
    assert!(rig.all[0].push((WINDOW, rank(1)), 0, &packet(Kind::Accumulate, 1, 41, &[5])));
    assert_eq!(rig.leave(0), 2);
    rig.take(1).expect("sound");
    assert_eq!(rig.buffers[1].0[0][39..44], [0, 1, 2, 3, 0]);
    rig.take(1).expect("sound");
    assert_eq!(rig.buffers[1].0[0][39..44], [0, 1, 7, 3, 0]);
    assert!(rig.answers[0].is_empty());
    assert!(rig.window(0).has(rank(1), Flags::TOUCHED));
    assert_eq!(
        rig.all[1]
            .window(WINDOW)
            .unwrap()
            .next_with(Flags::TOUCHED, 0),
        None
    );
}

#[test]
fn what_is_beyond_the_window_changes_nothing_and_a_flush_tells() {
    let mut rig = Rig::new(2, 100);
    for place in [98, 100, u64::MAX, u64::MAX - 1] {
        assert!(rig.all[0].push((WINDOW, rank(1)), 0, &packet(Kind::Put, 0, place, &[9; 3])));
        rig.synchronize(0, 1, Kind::Flush, 0);
        rig.settle();
        assert_eq!(rig.buffers[1].0[0], [0; 100]);
        assert!(rig.window(0).take_fault(), "at {place}");
        rig.synchronize(0, 1, Kind::Flush, 0);
        rig.settle();
        assert!(!rig.window(0).take_fault(), "told once");
    }
    rig.all[0]
        .act_here(&mut rig.buffers[0], 0, &packet(Kind::Put, 0, 99, &[9; 2]))
        .expect("a fault is no contradiction");
    assert!(rig.window(0).take_fault(), "by oneself");
}

#[test]
fn gets_come_in_pieces_and_more_than_there_are_cursors_are_asked_for_again() {
    const BYTES: usize = 500;
    let origins = CURSORS + 3;
    let mut rig = Rig::new(origins + 1, BYTES);
    rig.buffers[0].0[0] = (0..BYTES).map(|at| at as u8).collect();
    for origin in 1..=origins {
        rig.get(origin, 0, (3, 400), 10);
        rig.get(origin, 0, (7, 16), 1000);
        rig.leave(origin);
    }
    while rig.take(0).expect("sound") {}
    assert_eq!(rig.all[0].cursors.len(), CURSORS);
    let refused = |answers: &VecDeque<Moving>| {
        answers
            .iter()
            .any(|(_, argument, ..)| Said::of(*argument).0 == Said::Refused)
    };
    let count = rig
        .answers
        .iter()
        .filter(|answers| refused(answers))
        .count();
    assert_eq!(count, 3);
    rig.settle();
    for origin in 1..=origins {
        let buffer = &rig.buffers[origin].0[1];
        assert_eq!(buffer[10..410], rig.buffers[0].0[0][3..403], "{origin}");
        assert_eq!(buffer[1000..1016], rig.buffers[0].0[0][7..23], "{origin}");
        assert!(!rig.all[origin].awaits(WINDOW, None));
    }
    assert!(!rig.all[0].has_to_send());
}

#[test]
fn operations_on_oneself_make_no_packets() {
    let mut rig = Rig::new(1, 600);
    rig.buffers[0].0[0] = (0..600).map(|at| at as u8).collect();
    rig.get(0, 0, (1, 599), 0);
    rig.get(0, 0, (1, 5), 700);
    rig.synchronize(0, 0, Kind::Lock, 1);
    assert!(rig.window(0).has(rank(0), Flags::HELD));
    assert!(!rig.all[0].awaits(WINDOW, None) && !rig.all[0].has_to_send());
    let expected = rig.buffers[0].0[0].clone();
    assert_eq!(rig.buffers[0].0[1][..599], expected[1..]);
    assert_eq!(rig.buffers[0].0[1][700..705], expected[1..6]);
    rig.synchronize(0, 0, Kind::Unlock, 0);
    assert!(!rig.all[0].has_to_send());
}

#[test]
fn a_fetch_gives_what_was_there_and_a_comparison_replaces_what_is_equal() {
    let mut rig = Rig::new(2, 64);
    rig.buffers[1].0[0][8..12].copy_from_slice(&[1, 2, 3, 4]);
    let fetch = packet(Kind::Fetch, 1, 8, &[10; 4]);
    rig.ask(0, 1, Awaited::Result(4), 100, &fetch);
    rig.settle();
    assert_eq!(rig.buffers[0].0[1][100..105], [1, 2, 3, 4, 0]);
    assert_eq!(rig.buffers[1].0[0][8..12], [11, 12, 13, 14]);
    // Nothing to combine with: only what is there.
    let mut read = packet(Kind::Fetch, 1, 8, &[0; 4]);
    read.truncate(HEAD_BYTES + PIECE_BYTES);
    rig.ask(0, 1, Awaited::Result(4), 100, &read);
    rig.settle();
    assert_eq!(rig.buffers[0].0[1][100..104], [11, 12, 13, 14]);
    for (compare, after) in [([1, 2], [11, 12]), ([11, 12], [7, 7])] {
        let mut swap = packet(Kind::Compare, 0, 8, &[compare, [7, 7]].concat());
        swap[HEAD_BYTES + 8] = 2;
        rig.ask(0, 1, Awaited::Result(2), 200, &swap);
        rig.settle();
        assert_eq!(rig.buffers[0].0[1][200..202], [11, 12]);
        assert_eq!(rig.buffers[1].0[0][8..10], after);
    }
}

#[test]
fn long_results_are_refused_unchanged_when_there_is_no_place_to_keep_them() {
    let mut rig = Rig::new(RESULTS + 2, 64);
    let fetch = packet(Kind::Fetch, 1, 0, &[1; 32]);
    for origin in 1..=RESULTS + 1 {
        rig.ask(origin, 0, Awaited::Result(32), 5, &fetch);
        rig.leave(origin);
    }
    while rig.take(0).expect("sound") {}
    let mut sum = [0; 64];
    sum[..32].fill(RESULTS as u8);
    assert_eq!(rig.buffers[0].0[0], sum);
    rig.settle();
    for origin in 1..=RESULTS + 1 {
        assert!(!rig.all[origin].awaits(WINDOW, None));
        assert_eq!(rig.all[origin].take_refused(), origin > RESULTS);
        let mut expected = [0; 40];
        if origin <= RESULTS {
            expected[5..37].fill(origin as u8 - 1);
        }
        assert_eq!(rig.buffers[origin].0[1][..40], expected, "{origin}");
    }
    rig.ask(RESULTS + 1, 0, Awaited::Result(32), 5, &fetch);
    rig.ask(0, 0, Awaited::Result(32), 5, &fetch);
    rig.settle();
    assert!(!rig.all[RESULTS + 1].take_refused());
    let own = rig.buffers[0].0[1][5];
    assert_eq!(
        usize::from(own + rig.buffers[RESULTS + 1].0[1][5]),
        2 * RESULTS + 1
    );
}

fn holders(rig: &mut Rig) -> Vec<usize> {
    (0..rig.all.len())
        .filter(|at| rig.window(*at).has(rank(0), Flags::HELD))
        .collect()
}

fn unlock(rig: &mut Rig, at: usize) {
    rig.window(at).clear(rank(0), Flags::HELD);
    rig.synchronize(at, 0, Kind::Unlock, 0);
    rig.settle();
}

#[test]
fn locks_are_shared_or_exclusive_and_go_round_by_rank() {
    let mut rig = Rig::new(6, 8);
    let (shared, exclusive) = (0, 1);
    rig.synchronize(3, 0, Kind::Lock, shared);
    rig.settle();
    rig.synchronize(1, 0, Kind::Lock, shared);
    rig.settle();
    assert_eq!(holders(&mut rig), [1, 3]);
    for (at, kind) in [(5, exclusive), (4, exclusive), (0, exclusive), (2, shared)] {
        rig.synchronize(at, 0, Kind::Lock, kind);
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
    let mut rig = Rig::new(5, 8);
    rig.synchronize(1, 0, Kind::Lock, 1);
    rig.settle();
    for at in [2, 3] {
        rig.synchronize(at, 0, Kind::Lock, 0);
    }
    rig.settle();
    unlock(&mut rig, 1);
    assert_eq!(holders(&mut rig), [2, 3]);
    rig.synchronize(1, 0, Kind::Lock, 1);
    rig.settle();
    rig.synchronize(4, 0, Kind::Lock, 0);
    rig.settle();
    assert_eq!(holders(&mut rig), [2, 3], "no starving");
}

#[test]
fn the_ring_and_the_slots_say_when_they_are_full() {
    let mut rig = Rig::new(2, 8);
    let put = packet(Kind::Put, 0, 0, &[1]);
    for _ in 0..RING_PACKETS {
        assert!(rig.all[0].has_room() && rig.all[0].push((WINDOW, rank(1)), 0, &put));
    }
    assert!(!rig.all[0].has_room() && !rig.all[0].push((WINDOW, rank(1)), 0, &put));
    let awaited = Awaited::Data { place: 0, len: 4 };
    let into = (Span::model(ORIGIN, 8), 0);
    for _ in 0..SLOTS {
        assert!(
            rig.all[0]
                .await_answer((WINDOW, rank(1)), awaited, into)
                .is_some()
        );
    }
    assert_eq!(
        rig.all[0].await_answer((WINDOW, rank(1)), awaited, into),
        None
    );
    rig.settle();
    assert!(
        rig.all[0]
            .await_answer((WINDOW, rank(1)), awaited, into)
            .is_some()
    );
    assert!(rig.all[0].awaits(WINDOW, Some(rank(1))) && !rig.all[0].awaits(WINDOW, Some(rank(0))));
}

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

#[test]
fn a_fence_takes_two_packets_for_each_process_and_ends_when_all_have_come() {
    let size = 7;
    let mut rig = Rig::new(size, 8);
    let fence = epochs::Opening {
        sort: epochs::Sort::Fence,
        members: &[],
        checks: true,
    };
    let mut opened = Vec::new();
    for at in 0..size {
        assert!((0..at).all(|at| !rig.all[at].is_over(WINDOW, opened[at])));
        let epoch = rig.all[at].open(WINDOW, fence, None).expect("room");
        opened.push(epochs::Watch::Opened(epoch));
        rig.settle();
    }
    assert!((0..size).all(|at| rig.all[at].is_over(WINDOW, opened[at])));
    assert_eq!(rig.left, 2 * (size - 1));
}

/// A step of progress that moves no packet would not be noticed by a call that waits.
#[test]
fn what_a_packet_allows_is_done_when_it_leaves() {
    let mut rig = Rig::new(2, 8);
    let start = epochs::Opening {
        sort: epochs::Sort::Start,
        members: &[rank(1)],
        checks: true,
    };
    let epoch = rig.all[0].open(WINDOW, start, None).expect("room");
    let put = deferred::Operation {
        head: Head::new(Kind::Put, WINDOW),
        from: Span::model(ORIGIN, 4),
        compare: Span::EMPTY,
        into: Span::EMPTY,
        to: Span::model(2, 4),
        len: 4,
        unit: 1,
    };
    let put = rig.all[0].defer((WINDOW, epoch, rank(1)), put, None);
    let [put, closed] = [
        epochs::Watch::Done(put.expect("room")),
        epochs::Watch::Closed(epoch),
    ];
    rig.all[0].close(WINDOW, epoch, None);
    assert_eq!(rig.leave(0), 0, "nothing is granted");
    let mut grant = [0; HEAD_BYTES];
    Head::new(Kind::Post, WINDOW).emit(&mut grant);
    rig.requests[0].push_back((rank(1), 0, None, grant.to_vec()));
    assert_eq!(rig.take(0), Ok(true));
    let mut out = [0; SHORT_BYTES];
    let leaving = rig.all[0].next(&mut rig.buffers[0], &mut out);
    let leaving = leaving.expect("the put, and the epoch's end with it");
    assert!([put, closed].map(|watch| rig.all[0].is_over(WINDOW, watch)) == [true; 2]);
    let (head, _) = Head::parse(&out[..leaving.len]).expect("a head");
    assert_eq!((head.kind, head.ends), (Kind::Put, Some(Kind::Complete)));
}

/// Where it makes none, because the lock that has come free is that of the process itself, the step says that it has moved.
#[test]
fn a_lock_of_ones_own_that_comes_free_is_a_move() {
    let mut rig = Rig::new(2, 8);
    rig.synchronize(1, 0, Kind::Lock, 1);
    rig.settle();
    let opening = Opening {
        sort: Sort::Lock {
            target: rank(0),
            is_exclusive: true,
        },
        members: &[],
        checks: true,
    };
    let epoch = rig.all[0].open(WINDOW, opening, None).expect("room");
    rig.settle();
    let opened = epochs::Watch::Opened(epoch);
    assert!(!rig.all[0].is_over(WINDOW, opened), "1 has it");
    rig.window(1).clear(rank(0), Flags::HELD);
    rig.synchronize(1, 0, Kind::Unlock, 0);
    let _ = rig.leave(1);
    // The network has no room, so that nothing is done but to take what comes.
    while rig.take(0).expect("sound") {}
    let _ = rig.all[0].take_moved();
    assert_eq!(rig.leave(0), 0);
    assert!(rig.all[0].is_over(WINDOW, opened));
    assert!(rig.all[0].take_moved() && !rig.all[0].take_moved());
}

/// Two processes under locks of all: each has the lock of the one and needs that of the other, for which another waits alone.
#[test]
fn who_may_have_other_locks_waits_for_no_queue() {
    let mut rig = Rig::new(6, 8);
    let [all, alone] = [wire::SHARED_BESIDE, wire::EXCLUSIVE];
    rig.synchronize(1, 0, Kind::Lock, all);
    rig.settle();
    rig.synchronize(2, 0, Kind::Lock, alone);
    rig.settle();
    rig.synchronize(3, 0, Kind::Lock, all);
    rig.synchronize(4, 0, Kind::Lock, wire::SHARED);
    rig.settle();
    assert_eq!(holders(&mut rig), [1, 3], "2 waits, and 4 behind it");
    unlock(&mut rig, 1);
    unlock(&mut rig, 3);
    assert_eq!(holders(&mut rig), [2]);
    // While one has it alone, all wait; then those that may have others are first, with 4 whose turn it is.
    rig.synchronize(5, 0, Kind::Lock, alone);
    rig.synchronize(1, 0, Kind::Lock, all);
    rig.settle();
    assert_eq!(holders(&mut rig), [2]);
    unlock(&mut rig, 2);
    assert_eq!(holders(&mut rig), [1, 4]);
}

/// It says so when it asks for others while it waits; else two that ask for the same two in opposite orders, and do not
/// wait in between, could each have one and wait for the other behind an exclusive lock.
#[test]
fn who_asks_for_other_locks_while_it_waits_leaves_the_queue() {
    let mut rig = Rig::new(4, 8);
    rig.synchronize(3, 0, Kind::Lock, wire::SHARED);
    rig.settle();
    rig.synchronize(2, 0, Kind::Lock, wire::EXCLUSIVE);
    rig.settle();
    let ask = |rig: &mut Rig, target| {
        let opening = Opening {
            sort: Sort::Lock {
                target: rank(target),
                is_exclusive: false,
            },
            members: &[],
            checks: true,
        };
        let epoch = rig.all[1].open(WINDOW, opening, None).expect("room");
        let before = rig.left;
        rig.settle();
        (epochs::Watch::Opened(epoch), rig.left - before)
    };
    let (first, _) = ask(&mut rig, 0);
    assert!(!rig.all[1].is_over(WINDOW, first), "it waits behind 2");
    // A LOCK and its grant, and the same again for the lock that it waits for.
    let (second, packets) = ask(&mut rig, 2);
    let is_over = |watch| rig.all[1].is_over(WINDOW, watch);
    assert!(is_over(first) && is_over(second));
    assert_eq!((packets, holders(&mut rig)), (4, vec![1, 3]));
    // It has no more to say, and neither has one that holds nothing.
    assert_eq!(ask(&mut rig, 3).1, 2);
    let mut urgent = [0; HEAD_BYTES];
    Head {
        operation: wire::URGENT,
        ..Head::new(Kind::Lock, WINDOW)
    }
    .emit(&mut urgent);
    rig.requests[1].push_back((rank(0), 0, None, urgent.to_vec()));
    assert_eq!(rig.take(1), Err(Malformed));
}

/// What a step makes ready leaves in it: a node sleeps when a step has moved nothing.
#[test]
fn a_get_that_is_deferred_leaves_in_the_step_that_finds_it() {
    let mut rig = Rig::new(2, 64);
    let opening = Opening {
        sort: Sort::LockAll,
        members: &[],
        checks: false,
    };
    let epoch = rig.all[0].open(WINDOW, opening, None).expect("room");
    let get = Operation {
        head: Head::new(Kind::Get, WINDOW),
        from: Span::EMPTY,
        compare: Span::EMPTY,
        into: Span::model(ORIGIN, 8),
        to: Span::model(0, 8),
        len: 8,
        unit: 1,
    };
    let deferred = rig.all[0].defer((WINDOW, epoch, rank(1)), get, None);
    assert!(deferred.is_some() && rig.all[0].has_to_send());
    assert_eq!(rig.leave(0), 1);
    assert!(!rig.all[0].has_to_send());
}
