//! The link on the host: order, back-pressure, and protection from the neighbour.

use core::sync::atomic::{AtomicU32, Ordering};

use net_torus::coord::Direction;
use net_torus::link::Link;

use super::*;
use crate::node::NodeLink;

#[derive(Default)]
struct RingCounter(AtomicU32);

impl Doorbell for &RingCounter {
    fn ring(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl RingCounter {
    fn rung(&self) -> u32 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

/// Memory of two nodes and of the link between them.
#[derive(Default)]
struct TestLink {
    pair: Box<RingPair>,
    words: [SleepFlag; 2],
    bells: [RingCounter; 2],
}

impl TestLink {
    /// Returns the lower and the upper end.
    fn ends(&self) -> [RingLink<'_, &RingCounter>; 2] {
        let [low, high] = &self.words;
        let [low_bell, high_bell] = &self.bells;
        [
            RingLink::new(&self.pair, Direction::XPlus, low, high, high_bell),
            RingLink::new(&self.pair, Direction::XMinus, high, low, low_bell),
        ]
    }
}

fn send(link: &mut impl Link, bytes: &[u8]) -> bool {
    link.transmit(|frame| {
        frame[..bytes.len()].copy_from_slice(bytes);
        bytes.len()
    })
}

fn receive_frame(link: &mut impl Link) -> Option<Vec<u8>> {
    let mut got = None;
    link.receive(|frame| got = Some(frame.to_vec()));
    got
}

#[test]
fn frames_come_whole_and_in_order_both_ways() {
    let wire = TestLink::default();
    let [mut low, mut high] = wire.ends();
    for round in 0..5 * SLOTS {
        let frame = vec![round as u8; 1 + round * 97 % FRAME_BYTES];
        assert!(send(&mut low, &frame));
        assert!(send(&mut high, &frame[..1]));
        assert_eq!(receive_frame(&mut high), Some(frame.clone()));
        assert_eq!(receive_frame(&mut low), Some(frame[..1].to_vec()));
        assert_eq!(receive_frame(&mut low), None);
    }
    assert_eq!(low.defects() + high.defects(), 0);
}

#[test]
fn a_full_ring_takes_a_frame_again_when_one_was_taken_out() {
    let wire = TestLink::default();
    let [mut low, mut high] = wire.ends();
    for number in 0..SLOTS {
        assert!(send(&mut low, &[number as u8]));
    }
    assert!(!send(&mut low, &[0xff]));
    assert_eq!(receive_frame(&mut high), Some(vec![0]));
    assert!(send(&mut low, &[SLOTS as u8]));
    assert!(!send(&mut low, &[0xff]));
    for number in 1..=SLOTS {
        assert_eq!(receive_frame(&mut high), Some(vec![number as u8]));
    }
    assert_eq!(receive_frame(&mut high), None);
}

#[test]
fn indices_wrap() {
    let wire = TestLink::default();
    let [mut low, mut high] = wire.ends();
    let start = u32::MAX - 2;
    link::tests::start_at(&mut low, start);
    link::tests::start_at(&mut high, start);
    for round in 0..3 {
        for number in 0..SLOTS {
            assert!(send(&mut low, &[number as u8]), "round {round}");
        }
        assert!(!send(&mut low, &[0xff]));
        for number in 0..SLOTS {
            assert_eq!(receive_frame(&mut high), Some(vec![number as u8]), "round {round}");
        }
        assert_eq!(receive_frame(&mut high), None);
    }
    assert_eq!(low.defects() + high.defects(), 0);
}

#[test]
fn nothing_written_is_nothing_sent() {
    let wire = TestLink::default();
    let [mut low, mut high] = wire.ends();
    assert!(low.transmit(|_| 0));
    assert_eq!(receive_frame(&mut high), None);
}

#[test]
fn what_is_unsent_stays_until_it_is_sent() {
    let wire = TestLink::default();
    let [mut low, mut high] = wire.ends();
    assert!(low.buffers_unsent());
    for number in 0..SLOTS as u8 {
        low.unsent().expect("a slot")[0] = number;
        low.unsent().expect("the same")[1] = 0xff - number;
        assert!(number > 0 || receive_frame(&mut high).is_none(), "it is not sent");
        low.send_unsent(2);
    }
    assert!(low.unsent().is_none(), "the ring is full");
    assert!(!send(&mut low, &[0]));
    for number in 0..SLOTS as u8 {
        assert_eq!(receive_frame(&mut high), Some(vec![number, 0xff - number]));
    }
    // It waited for free space, and no longer does.
    low.unsent().expect("a slot")[0] = 1;
    low.send_unsent(1);
    assert!(low.prepare_sleep());
    assert_eq!(receive_frame(&mut high), Some(vec![1]));
    high.poll(0);
    assert_eq!(wire.bells[0].rung(), 0);
}

#[test]
fn all_links_of_a_node_are_prepared_and_held_at_once() {
    let (here, there) = (SleepFlag::default(), [(); 2].map(|()| SleepFlag::default()));
    let pairs = [(); 2].map(|()| Box::<RingPair>::default());
    let doorbell = RingCounter::default();
    let end = |k: usize| RingLink::new(&pairs[k], Direction::XPlus, &here, &there[k], &doorbell);
    let other = |k: usize| RingLink::new(&pairs[k], Direction::XMinus, &there[k], &here, &doorbell);
    let mut links = [Some(end(0)), None, Some(end(1))];
    let mut others = [other(0), other(1)];
    for k in [0, 1] {
        assert!(RingLink::prepare_all(&mut links));
        assert!(send(&mut others[k], &[k as u8]));
        others[k].poll(0);
        assert_eq!(doorbell.rung(), 1);
        assert!(!RingLink::prepare_all(&mut links), "it has been rung");
        RingLink::mask_all(&mut links);
        assert!(!RingLink::prepare_all(&mut links), "a frame is there");
        RingLink::mask_all(&mut links);
        let link = links[2 * k].as_mut().expect("a link");
        assert!(link.may_receive());
        assert_eq!(receive_frame(link), Some(vec![k as u8]));
        assert!(!link.may_receive());
    }
    assert!(send(&mut others[0], &[1]));
    others[0].poll(0);
    assert_eq!(doorbell.rung(), 0, "awake");
}

#[test]
fn only_a_sleeper_is_rung_and_once() {
    let wire = TestLink::default();
    let [mut low, mut high] = wire.ends();
    assert!(send(&mut low, &[1]));
    low.poll(0);
    assert_eq!(wire.bells[1].rung(), 0, "awake");
    assert_eq!(receive_frame(&mut high), Some(vec![1]));
    assert!(high.prepare_sleep());
    assert!(send(&mut low, &[2]));
    assert!(send(&mut low, &[3]));
    assert_eq!(wire.bells[1].rung(), 0, "not before the round's end");
    low.poll(0);
    assert!(send(&mut low, &[4]));
    low.poll(0);
    assert_eq!(wire.bells[1].rung(), 1);
    // Rung since it was armed, and there are frames.
    assert!(!high.prepare_sleep());
    high.mask_interrupts();
    assert!(!high.prepare_sleep());
    high.mask_interrupts();
    while receive_frame(&mut high).is_some() {}
    assert!(high.prepare_sleep());
    high.poll(0);
    assert_eq!(wire.bells[0].rung(), 0, "the producer is awake and waits for nothing");
}

#[test]
fn a_sleeper_is_rung_for_room_only_if_it_waits_for_room() {
    let wire = TestLink::default();
    let [mut low, mut high] = wire.ends();
    assert!(send(&mut low, &[1]));
    assert!(low.prepare_sleep());
    assert_eq!(receive_frame(&mut high), Some(vec![1]));
    high.poll(0);
    assert_eq!(wire.bells[0].rung(), 0, "there was room");
    low.mask_interrupts();
    while send(&mut low, &[2]) {}
    assert!(low.prepare_sleep());
    assert_eq!(receive_frame(&mut high), Some(vec![2]));
    high.poll(0);
    assert_eq!(wire.bells[0].rung(), 1);
    low.mask_interrupts();
    assert!(send(&mut low, &[3]));
    assert!(low.prepare_sleep());
    assert_eq!(receive_frame(&mut high), Some(vec![2]));
    high.poll(0);
    assert_eq!(wire.bells[0].rung(), 0, "it waits for room no more");
}

#[test]
fn a_neighbour_that_is_behind_rings_when_it_has_taken_a_frame() {
    let wire = TestLink::default();
    let [mut low, mut high] = wire.ends();
    for number in 0..2 {
        assert!(!low.is_behind());
        assert!(send(&mut low, &[number]));
    }
    assert!(low.is_behind());
    assert!(low.prepare_sleep());
    assert_eq!(receive_frame(&mut high), Some(vec![0]));
    assert!(!low.prepare_sleep(), "one is taken already");
    high.poll(0);
    assert_eq!(wire.bells[0].rung(), 1);
    low.mask_interrupts();
    assert!(!low.is_behind());
    assert!(low.prepare_sleep(), "nothing to wait for");
    assert_eq!(receive_frame(&mut high), Some(vec![1]));
    high.poll(0);
    assert_eq!(wire.bells[0].rung(), 0);
}

#[test]
fn room_that_is_there_already_keeps_awake() {
    let wire = TestLink::default();
    let [mut low, mut high] = wire.ends();
    while send(&mut low, &[1]) {}
    assert_eq!(receive_frame(&mut high), Some(vec![1]));
    assert!(!low.prepare_sleep());
}

#[test]
fn a_length_that_cannot_be_ends_the_link_and_is_counted() {
    for bytes in [FRAME_BYTES as u32 + 1, u32::MAX] {
        let wire = TestLink::default();
        let [mut low, mut high] = wire.ends();
        assert!(send(&mut low, &[1]));
        assert!(send(&mut low, &[2]));
        link::tests::set_bytes(&low, 0, bytes);
        assert_eq!(receive_frame(&mut high), None);
        assert_eq!((high.defects(), high.is_dead()), (1, true));
        assert_eq!(receive_frame(&mut high), None);
        assert_eq!(high.defects(), 1);
    }
}

#[test]
fn an_index_that_cannot_be_ends_the_link_and_is_counted() {
    for tail in [SLOTS as u32 + 1, u32::MAX, 1 << 31] {
        let wire = TestLink::default();
        let [mut low, mut high] = wire.ends();
        while send(&mut low, &[1]) {}
        link::tests::set_tail(&high, tail);
        assert!(low.is_dead() || !send(&mut low, &[1]));
        assert!(low.is_dead());
        assert!(low.prepare_sleep());
        assert_eq!(low.defects(), 1);
        assert_eq!(receive_frame(&mut high), Some(vec![1]));
        assert!(send(&mut high, &[1]));
        assert_eq!(receive_frame(&mut low), None);
        assert!(low.prepare_sleep(), "a dead link keeps no node awake");
    }
}

/// Random bytes all over the shared memory, repeatedly: only frames within the ring, and no panic.
#[test]
fn nonsense_in_the_shared_memory_stays_in_the_ring() {
    for seed in 0..200 {
        let mut random = oorandom::Rand32::new(seed);
        let wire = TestLink::default();
        let [mut low, mut high] = wire.ends();
        for _ in 0..500 {
            link::tests::scribble(&wire.pair, || random.rand_u32());
            for end in [&mut low, &mut high] {
                end.mask_interrupts();
                end.poll(0);
                end.receive(|frame| assert!(frame.len() <= FRAME_BYTES));
                end.transmit(|frame| frame.len() + 1);
                end.prepare_sleep();
            }
        }
        assert!(low.is_dead() && high.is_dead());
    }
}

/// Returns a frame as a router creates it, of this size.
fn routed(random: &mut oorandom::Rand32, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|_| random.rand_u32() as u8).collect()
}

/// If seals cover complete frames, a frame under construction is not in the ring yet.
#[test]
fn a_store_before_a_frame_is_sealed_changes_nothing() {
    let wire = TestLink::default();
    let [mut low, mut high] = wire.ends().map(|end| end.seal(true));
    low.unsent().expect("room")[..32].fill(7);
    link::tests::set_byte(&low, 0, 5, 1);
    low.send_unsent(32);
    low.poll(0);
    assert_eq!(receive_frame(&mut high), Some(vec![7; 32]));
    assert!(!high.is_dead());
}

/// One store of 1, 2, 4 or 8 bytes anywhere in the memory of an active link, as by a wild pointer. Each frame received
/// while the link is alive is unchanged, and if one is missing, an audit ends the link.
fn wild_stores(jobs: u64) -> [u32; 2] {
    const MAX_LEN: usize = 60;
    let mut ended = [0, 0];
    for seed in 0..jobs {
        let mut random = oorandom::Rand32::new(seed);
        let wire = TestLink::default();
        let [low, high] = wire.ends();
        let (mut low, mut high) = (low.seal(true), high.seal(true));
        if random.rand_u32().is_multiple_of(2) {
            // After the first lap.
            let start = random.rand_u32();
            link::tests::start_at(&mut low, start);
            link::tests::start_at(&mut high, start);
        }
        let store_at = random.rand_range(0..2 * MAX_LEN as u32);
        let (mut sent, mut taken) = (Vec::new(), 0);
        for step in 0..4 * MAX_LEN as u32 {
            if step == store_at {
                link::tests::store(&wire.pair, || random.rand_u32());
            }
            if random.rand_u32().is_multiple_of(2) && sent.len() < MAX_LEN {
                let bytes = 16 + 32 * random.rand_range(0..64) as usize;
                let frame = routed(&mut random, bytes);
                if send(&mut low, &frame) {
                    sent.push(frame);
                }
                low.poll(0);
            } else {
                let mut got = None;
                let came = high.receive(|frame| got = Some(frame.to_vec()));
                if came && !high.is_dead() {
                    assert_eq!(got.as_ref(), sent.get(taken), "seed {seed}");
                    taken += 1;
                }
                high.poll(0);
            }
        }
        for end in [&mut low, &mut high] {
            end.audit();
        }
        while !high.is_dead() && taken < sent.len() {
            let got = receive_frame(&mut high);
            assert!(high.is_dead() || got.as_ref() == sent.get(taken), "seed {seed}");
            taken += 1;
        }
        ended[usize::from(low.is_dead() || high.is_dead())] += 1;
    }
    ended
}

#[test]
fn a_wild_store_changes_no_frame_and_stops_no_link() {
    let [harmless, fatal] = wild_stores(500);
    assert!(harmless > 100 && fatal > 20, "{harmless} {fatal}");
}

#[test]
#[ignore = "takes a minute: 10,000 stores"]
fn ten_thousand_wild_stores_change_no_frame_and_stop_no_link() {
    let [harmless, fatal] = wild_stores(10_000);
    println!("{harmless} without effect, {fatal} ended the link");
    assert!(harmless > 5000 && fatal > 300, "{harmless} {fatal}");
}

#[test]
fn an_audit_leaves_a_link_at_work_alone() {
    let wire = TestLink::default();
    let [mut low, mut high] = wire.ends();
    for round in 0..5 * SLOTS {
        low.audit();
        assert!(send(&mut low, &[round as u8]));
        // Before the round ends, too.
        low.audit();
        high.audit();
        if round % 3 == 0 {
            low.poll(0);
        }
        assert_eq!(receive_frame(&mut high), Some(vec![round as u8]));
        low.audit();
        high.audit();
    }
    assert_eq!(low.defects() + high.defects(), 0);
}

#[test]
fn all_bytes_have_a_seal_where_it_is_asked_for() {
    for (whole, at, is_seen) in [
        (false, 0, false),
        (true, 0, true),
        (true, 144, true),
        (true, 2031, true),
    ] {
        let wire = TestLink::default();
        let [mut low, mut high] = wire.ends().map(|end| end.seal(whole));
        assert!(send(&mut low, &[7; FRAME_BYTES]));
        link::tests::set_byte(&low, 0, at, 8);
        assert!(receive_frame(&mut high).is_some());
        assert_eq!(high.is_dead(), is_seen, "byte {at}");
    }
}

#[test]
fn zeros_are_the_empty_link() {
    let memory = vec![0u64; 4 * size_of::<RingPair>() / 8];
    let start = memory.as_ptr();
    let start = start.wrapping_byte_add(start.align_offset(4096) * 8);
    // SAFETY: aligned, within the memory, which lives longer than the links and is written through them only.
    let pair = unsafe { &*start.cast::<RingPair>() };
    let (here, there, doorbell) = (SleepFlag::default(), SleepFlag::default(), RingCounter::default());
    let mut low = RingLink::new(pair, Direction::YPlus, &here, &there, &doorbell);
    let mut high = RingLink::new(pair, Direction::YMinus, &there, &here, &doorbell);
    assert!(high.prepare_sleep());
    assert!(send(&mut low, &[7]));
    low.poll(0);
    assert_eq!(doorbell.rung(), 1);
    assert_eq!(receive_frame(&mut high), Some(vec![7]));
}
