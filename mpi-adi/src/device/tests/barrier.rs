//! The barrier: nobody leaves before the last one has come, on machines of every shape, whatever is deferred.

use msg_layer::Class;
use msg_layer::fake::Fake;
use msg_layer::header::Header;
use net_torus::Shape;
use oorandom::Rand32;

use super::rig::Rig;
use crate::device::wire;

fn machine(extents: [u16; 3], wraps: [bool; 3]) -> Rig {
    Rig::of(Shape::new(extents, wraps).expect("a shape"), 1)
}

/// Moves one packet that is under way, any of them, and says whether it was one of a release.
fn move_one(rig: &mut Rig, random: &mut Rand32) -> Option<bool> {
    let nodes = rig.adis.len();
    let under_way =
        (0..nodes).flat_map(|node| (0..rig.wires[node].sent().len()).map(move |at| (node, at)));
    let under_way: Vec<_> = under_way.collect();
    if under_way.is_empty() {
        return None;
    }
    let (from, at) = under_way[random.rand_range(0..under_way.len() as u32) as usize];
    let packet = rig.wires[from].sent_mut().remove(at);
    assert_eq!(packet.class, Class::Priority);
    let (header, bytes) = Header::parse(&packet.body).expect("a packet");
    assert!(bytes.is_empty());
    let is_release = header.handler == wire::RELEASE;
    let dest = rig.adis[0].shape.rank(packet.dest).expect("a node") as usize;
    rig.wires[dest].arrive(packet.class, &packet.body);
    rig.step(dest);
    Some(is_release)
}

/// Lines that leave a node to release those behind it: one a dimension, two around a ring of more than two.
fn lines(shape: Shape) -> usize {
    let mut lines = 0;
    let mut heads = 1;
    for dimension in (0..3).rev() {
        let extent = shape.extents()[dimension];
        let halves = match (extent, shape.wraps()[dimension]) {
            (1, _) => 0,
            (2, _) | (_, false) => 1,
            (_, true) => 2,
        };
        lines += heads * halves;
        heads *= usize::from(extent);
    }
    lines
}

#[test]
fn nobody_leaves_before_the_last_one_has_come_and_then_everybody_does() {
    let mut random = Rand32::new(7);
    for extents in [
        [1, 1, 1],
        [2, 1, 1],
        [5, 1, 1],
        [1, 4, 1],
        [1, 1, 3],
        [3, 4, 2],
        [2, 3, 5],
    ] {
        for wraps in [[true; 3], [false; 3], [true, false, true]] {
            let mut rig = machine(extents, wraps);
            let nodes = rig.adis.len();
            let mut left = vec![0_u32; nodes];
            let mut entered = vec![0_u32; nodes];
            const ROUNDS: u32 = 4;
            let mut arrivals = 0;
            for turn in 0.. {
                if left.iter().all(|&left| left == ROUNDS) {
                    break;
                }
                assert!(turn < 100_000, "the barrier does not go on");
                let node = random.rand_range(0..nodes as u32) as usize;
                // Who has left may come again before the others have left.
                if entered[node] == left[node] && entered[node] < ROUNDS {
                    entered[node] += 1;
                    rig.adis[node].enter_barrier();
                    assert!(!rig.adis[node].leave_barrier());
                    rig.step(node);
                }
                let moved = move_one(&mut rig, &mut random);
                arrivals += usize::from(moved == Some(false));
                for node in 0..nodes {
                    if rig.adis[node].leave_barrier() {
                        left[node] += 1;
                        assert_eq!(left[node], entered[node]);
                        assert!(entered.iter().all(|&entered| entered >= left[node]));
                    }
                }
            }
            assert_eq!(
                move_one(&mut rig, &mut random),
                None,
                "nothing is left over"
            );
            assert_eq!(arrivals, ROUNDS as usize * (nodes - 1));
            let sent: usize = rig.wires.iter().map(Fake::lines).sum();
            assert_eq!(sent, ROUNDS as usize * lines(rig.adis[0].shape));
            assert!(
                rig.adis
                    .iter()
                    .all(|adi| adi.stats.layer.malformed == 0 && adi.has_barrier())
            );
        }
    }
}

#[test]
fn a_barrier_waits_for_room_and_goes_on() {
    for node in 0..3 {
        let mut rig = machine([3, 1, 1], [true; 3]);
        let mut random = Rand32::new(1);
        rig.limit(node, Class::Priority, 0);
        for node in 0..3 {
            rig.adis[node].enter_barrier();
            rig.step(node);
        }
        while move_one(&mut rig, &mut random).is_some() {}
        let left = (0..3).filter(|&node| rig.adis[node].leave_barrier());
        assert_eq!(left.count(), 0);
        rig.unlimit(node, Class::Priority);
        rig.step(node);
        while move_one(&mut rig, &mut random).is_some() {}
        assert!((0..3).all(|node| rig.adis[node].leave_barrier()));
    }
}

#[test]
fn a_step_of_the_barrier_is_something_done() {
    let mut rig = machine([1, 1, 1], [true; 3]);
    assert!(!rig.adis[0].has_barrier(), "the network is not known yet");
    let step = |rig: &mut Rig| rig.adis[0].progress(&mut rig.wires[0], &mut rig.buffers);
    assert!(!step(&mut rig));
    rig.adis[0].enter_barrier();
    assert!(step(&mut rig) && rig.adis[0].leave_barrier());
    assert!(!step(&mut rig) && rig.adis[0].has_barrier());
}

#[test]
fn a_packet_that_is_due_from_nobody_moves_nothing() {
    let shape = Shape::new([3, 2, 2], [true; 3]).expect("a shape");
    let coords = |rank: u32| shape.coord(rank).expect("a node").axes();
    for here in 0..shape.nodes() {
        for from in 0..shape.nodes() {
            for dimension in 0..5 {
                let (at, source) = (coords(here), coords(from));
                let on_line = |dimension: usize| {
                    (0..3).all(|other| other == dimension || at[other] == source[other])
                };
                let is_head = |dimensions: usize| at[..dimensions].iter().all(|&at| at == 0);
                // In no barrier yet: others on its line may have come before it.
                let due =
                    dimension < 3 && here != from && on_line(dimension) && is_head(dimension + 1);
                let mut rig = Rig::of(shape, 1);
                let others = match due {
                    true => u64::from(shape.extents()[dimension]) - 1,
                    false => 0,
                };
                for _ in 0..4 {
                    packet(&mut rig, here, from, wire::ARRIVE, dimension);
                }
                let malformed = |rig: &Rig| rig.adis[here as usize].stats.layer.malformed;
                assert_eq!(malformed(&rig), 4 - others, "{at:?} {source:?} {dimension}");
                packet(&mut rig, here, from, wire::RELEASE, dimension);
                assert_eq!(malformed(&rig), 5 - others, "it has not come yet");
                assert!(!rig.adis[here as usize].leave_barrier());

                // It has told the head of its line, and waits for it.
                let mut rig = Rig::of(shape, 1);
                fill(&mut rig, here, coords);
                rig.adis[here as usize].enter_barrier();
                rig.step(here as usize);
                let heads = at.iter().position(|&at| at != 0).unwrap_or(3);
                let head_of = dimension < 3 && on_line(dimension) && source[dimension] == 0;
                let due = heads < 3 && dimension == heads && head_of;
                packet(&mut rig, here, from, wire::RELEASE, dimension);
                assert_eq!(malformed(&rig) == 0, due, "{at:?} {source:?} {dimension}");
                assert_eq!(rig.adis[here as usize].leave_barrier(), due || here == 0);
            }
        }
    }
}

/// All others of the lines of which `here` is the head have arrived.
fn fill(rig: &mut Rig, here: u32, coords: impl Fn(u32) -> [u8; 3]) {
    let at = coords(here);
    for from in 0..rig.adis.len() as u32 {
        let source = coords(from);
        for dimension in 0..3 {
            let on_line = (0..3).all(|other| other == dimension || at[other] == source[other]);
            if here != from && on_line && at[..=dimension].iter().all(|&at| at == 0) {
                packet(rig, here, from, wire::ARRIVE, dimension);
            }
        }
    }
}

fn packet(rig: &mut Rig, to: u32, from: u32, handler: u8, dimension: usize) {
    let header = Header {
        handler,
        source: rig.adis[0].shape.coord(from).expect("a node"),
        argument: dimension as u16,
        place: None,
    };
    let mut body = vec![0; header.bytes()];
    header.emit(&mut body, 0);
    rig.wires[to as usize].arrive(Class::Priority, &body);
    rig.step(to as usize);
}
