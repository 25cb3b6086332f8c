//! Barrier: no process exits before the last one has entered, on machines of every shape and for any delay. Each value
//! reaches all processes exactly once.

use msg_layer::TrafficClass;
use msg_layer::header::Header;
use net_torus::Shape;
use oorandom::Rand32;

use super::fixture::DeviceFixture;
use crate::barrier::{AllreduceStep, BarrierMismatch, VALUE_BYTES};
use crate::wire;

fn machine(extents: [u16; 3], wraps: [bool; 3]) -> DeviceFixture {
    DeviceFixture::of(Shape::new(extents, wraps).expect("a shape"), 1)
}

/// Moves a random packet in flight; returns its handler ID.
fn move_one(rig: &mut DeviceFixture, random: &mut Rand32) -> Option<u8> {
    let nodes = rig.adis.len();
    let under_way = (0..nodes).flat_map(|node| (0..rig.wires[node].sent().len()).map(move |at| (node, at)));
    let under_way: Vec<_> = under_way.collect();
    if under_way.is_empty() {
        return None;
    }
    Some(move_this(
        rig,
        under_way[random.rand_range(0..under_way.len() as u32) as usize],
    ))
}

/// Moves the packet at this index among the node's sent ones; returns its handler ID.
fn move_this(rig: &mut DeviceFixture, (from, at): (usize, usize)) -> u8 {
    let packet = rig.wires[from].sent_mut().remove(at);
    assert_eq!(packet.class, TrafficClass::Priority);
    let (header, _) = Header::parse(&packet.body).expect("a packet");
    let dest = rig.adis[0].identity.shape.rank(packet.dest).expect("a node") as usize;
    rig.wires[dest].deliver(packet.class, &packet.body);
    rig.step(dest);
    header.handler
}

/// Returns the number of nodes that are the second of a pair, represented by the first.
fn pairs(shape: Shape) -> usize {
    let longer = shape.extents().into_iter().filter(|&extent| extent > 2);
    let firsts: usize = longer.map(usize::from).product();
    shape.nodes() as usize - firsts
}

const MACHINES: [[u16; 3]; 9] = [
    [1, 1, 1],
    [2, 1, 1],
    [5, 1, 1],
    [2, 2, 2],
    [9, 2, 1],
    [1, 4, 1],
    [1, 1, 3],
    [3, 4, 2],
    [2, 3, 5],
];

#[test]
fn nobody_leaves_before_the_last_one_has_come_and_then_everybody_does() {
    let mut random = Rand32::new(7);
    for extents in MACHINES {
        for wraps in [[true; 3], [false; 3], [true, false, true]] {
            let mut rig = machine(extents, wraps);
            let nodes = rig.adis.len();
            let mut left = vec![0_u32; nodes];
            let mut entered = vec![0_u32; nodes];
            const ROUNDS: u32 = 4;
            let mut packets = [0; 2];
            for turn in 0.. {
                if left.iter().all(|&left| left == ROUNDS) {
                    break;
                }
                assert!(turn < 100_000, "the barrier does not go on");
                let node = random.rand_range(0..nodes as u32) as usize;
                // A node that has exited may enter again before the others have exited.
                if entered[node] == left[node] && entered[node] < ROUNDS {
                    entered[node] += 1;
                    rig.adis[node].enter_barrier();
                    assert!(!rig.adis[node].leave_barrier());
                    rig.step(node);
                }
                let moved = move_one(&mut rig, &mut random);
                for (packets, handler) in packets.iter_mut().zip([wire::ARRIVE, wire::RELEASE]) {
                    *packets += usize::from(moved == Some(handler));
                }
                for node in 0..nodes {
                    if rig.adis[node].leave_barrier() {
                        left[node] += 1;
                        assert_eq!(left[node], entered[node]);
                        assert!(entered.iter().all(|&entered| entered >= left[node]));
                    }
                }
            }
            assert_eq!(move_one(&mut rig, &mut random), None, "nothing is left over");
            assert_eq!(packets, [ROUNDS as usize * pairs(rig.adis[0].identity.shape); 2]);
            assert!(
                rig.adis
                    .iter()
                    .all(|adi| adi.stats.layer.malformed == 0 && adi.has_barrier())
            );
        }
    }
}

/// Packets of the next barrier, while this one is in progress, do not count for this one.
#[test]
fn a_node_that_comes_again_does_not_stand_for_one_that_is_still_to_be_heard() {
    let mut rig = machine([3, 1, 1], [true; 3]);
    let enter = |rig: &mut DeviceFixture, node: usize| {
        rig.adis[node].enter_barrier();
        rig.step(node);
    };
    let tell = |rig: &mut DeviceFixture, from: usize, to: u8| {
        let packets = rig.wires[from].sent();
        let at = packets.iter().position(|packet| packet.dest.x == to);
        move_this(rig, (from, at.expect("a packet")));
    };
    (0..3).for_each(|node| enter(&mut rig, node));
    tell(&mut rig, 1, 0);
    tell(&mut rig, 2, 0);
    assert!(rig.adis[0].leave_barrier());
    enter(&mut rig, 0);
    tell(&mut rig, 0, 1);
    tell(&mut rig, 0, 1);
    assert!(!rig.adis[1].leave_barrier());
    tell(&mut rig, 2, 1);
    assert!(rig.adis[1].leave_barrier());
    assert_eq!(rig.adis[1].stats.layer.malformed, 0);
}

/// In a line of eight, each node sends to its group and to the others in one direction.
#[test]
fn two_packets_of_each_node_are_enough_in_a_line_of_eight() {
    let mut rig = machine([8, 1, 1], [true; 3]);
    let mut random = Rand32::new(3);
    for node in 0..8 {
        rig.adis[node].enter_barrier();
        rig.step(node);
    }
    while move_one(&mut rig, &mut random).is_some() {}
    assert!((0..8).all(|node| rig.adis[node].leave_barrier()));
    assert!(rig.wires.iter().all(|wire| wire.lines() == 2));
}

#[test]
fn a_barrier_waits_for_room_and_goes_on() {
    for node in 0..3 {
        let mut rig = machine([3, 1, 1], [true; 3]);
        let mut random = Rand32::new(1);
        rig.limit(node, TrafficClass::Priority, 0);
        for node in 0..3 {
            rig.adis[node].enter_barrier();
            rig.step(node);
        }
        while move_one(&mut rig, &mut random).is_some() {}
        let left = (0..3).filter(|&node| rig.adis[node].leave_barrier());
        assert_eq!(left.count(), 0);
        rig.unlimit(node, TrafficClass::Priority);
        rig.step(node);
        while move_one(&mut rig, &mut random).is_some() {}
        assert!((0..3).all(|node| rig.adis[node].leave_barrier()));
    }
}

#[test]
fn a_step_of_the_barrier_is_something_done() {
    let mut rig = machine([1, 1, 1], [true; 3]);
    assert!(!rig.adis[0].has_barrier(), "the network is not known yet");
    let step = |rig: &mut DeviceFixture| rig.adis[0].progress(&mut rig.wires[0], &mut rig.buffers);
    assert!(!step(&mut rig));
    rig.adis[0].enter_barrier();
    assert!(step(&mut rig) && rig.adis[0].leave_barrier());
    assert!(!step(&mut rig) && rig.adis[0].has_barrier());
}

/// Returns a process's value: a unique bit, so that the sum over all identifies each process, and a number whose sum
/// depends on the order of summation. Repeats both to `bytes` bytes.
fn given(round: u32, node: usize, bytes: usize) -> Vec<u8> {
    let number = f64::from(round + 1) / (node as f64 * 7.0 + 3.0);
    let both = [(1_u64 << node).to_le_bytes(), number.to_le_bytes()].concat();
    both.into_iter().cycle().take(bytes).collect()
}

/// Adds alternating integers and floating-point numbers.
fn combined(left: &[u8], right: &[u8]) -> Vec<u8> {
    let words = left.chunks(8).zip(right.chunks(8)).enumerate();
    let sums = words.map(|(at, both)| {
        let [left, right] = [both.0, both.1].map(|word| word.try_into().expect("eight bytes"));
        match at % 2 {
            0 => (u64::from_le_bytes(left) + u64::from_le_bytes(right)).to_le_bytes(),
            _ => (f64::from_le_bytes(left) + f64::from_le_bytes(right)).to_le_bytes(),
        }
    });
    sums.flatten().collect()
}

/// Performs the next action of the node's allreduce; returns its result on completion.
fn advance(rig: &mut DeviceFixture, node: usize) -> Option<Result<Vec<u8>, ()>> {
    let adi = &mut rig.adis[node];
    match adi.allreduce_step() {
        AllreduceStep::Wait => None,
        // Some combine in the device.
        AllreduceStep::Combine(_) if node % 3 == 1 => {
            adi.combine_values(|left, right| right.copy_from_slice(&combined(left, right)));
            rig.step(node);
            None
        }
        AllreduceStep::Combine(count) => {
            let values = (0..count).map(|index| adi.combined_value(index).to_vec());
            let value = values.reduce(|left, right| combined(&left, &right));
            assert!(adi.combined_value(count).is_empty());
            adi.set_value(&value.expect("values"));
            rig.step(node);
            None
        }
        AllreduceStep::Done => Some(Ok(adi.combined_value(0).to_vec())),
        AllreduceStep::Mismatch => Some(Err(())),
    }
}

/// Returns the results of the allreduce at all nodes, which have all entered it.
fn all_end(rig: &mut DeviceFixture, random: &mut Rand32) -> Vec<Result<Vec<u8>, ()>> {
    let mut ended = vec![None; rig.adis.len()];
    for turn in 0.. {
        if ended.iter().all(Option::is_some) {
            break;
        }
        assert!(turn < 100_000, "it does not go on");
        move_one(rig, random);
        for (node, ended) in ended.iter_mut().enumerate() {
            *ended = ended.take().or_else(|| advance(rig, node));
        }
    }
    ended.into_iter().flatten().collect()
}

/// Allreduces of several lengths and barriers without values in sequence, with nodes that enter at random times.
#[test]
fn a_value_of_each_process_reaches_all_of_them_once() {
    let mut random = Rand32::new(11);
    const LENGTHS: [usize; 5] = [8, 0, 16, 32, 8];
    for (extents, wraps) in MACHINES.into_iter().zip([[true; 3], [false; 3]].into_iter().cycle()) {
        let mut rig = machine(extents, wraps);
        let nodes = rig.adis.len();
        let mut entered = vec![0_usize; nodes];
        let mut results = vec![Vec::new(); nodes];
        for turn in 0.. {
            if results.iter().all(|results| results.len() == LENGTHS.len()) {
                break;
            }
            assert!(turn < 100_000, "it does not go on");
            let node = random.rand_range(0..nodes as u32) as usize;
            let round = entered[node];
            if round == results[node].len() && round < LENGTHS.len() {
                entered[node] += 1;
                match LENGTHS[round] {
                    0 => rig.adis[node].enter_barrier(),
                    bytes => {
                        let value = given(round as u32, node, bytes);
                        assert!(rig.adis[node].enter_allreduce(&value));
                    }
                }
                rig.step(node);
            }
            move_one(&mut rig, &mut random);
            for node in 0..nodes {
                if random.rand_range(0..2) == 0 && entered[node] > results[node].len() {
                    results[node].extend(advance(&mut rig, node).map(|over| over.expect("equal")));
                }
            }
        }
        assert_eq!(move_one(&mut rig, &mut random), None, "nothing is left over");
        assert!(rig.adis.iter().all(|adi| adi.stats.layer.malformed == 0));
        for (round, bytes) in LENGTHS.into_iter().enumerate() {
            for node in 0..nodes {
                let result = &results[node][round];
                assert_eq!(result.len(), bytes);
                assert_eq!(result, &results[0][round], "all have the same bits");
                if bytes > 0 {
                    let all = u64::from_le_bytes(result[..8].try_into().expect("eight bytes"));
                    assert_eq!(all, (1 << nodes) - 1, "{extents:?}: each once");
                }
            }
        }
    }
}

/// One process is in a barrier without a value, or has a longer value: all exit, and those with a value get an error.
#[test]
fn values_that_differ_in_length_are_told_to_all_who_gave_one() {
    let mut random = Rand32::new(5);
    for extents in [[2, 2, 1], [3, 1, 1], [4, 2, 1], [2, 3, 4]] {
        let nodes = usize::from(extents.iter().product::<u16>());
        for (other, bytes) in (0..nodes).flat_map(|node| [(node, 0), (node, 24)]) {
            let mut rig = machine(extents, [true; 3]);
            for node in 0..nodes {
                match (node == other, bytes) {
                    (true, 0) => rig.adis[node].enter_barrier(),
                    (true, _) => assert!(rig.adis[node].enter_allreduce(&given(0, node, bytes))),
                    (false, _) => assert!(rig.adis[node].enter_allreduce(&given(0, node, 8))),
                }
                rig.step(node);
            }
            let ended = all_end(&mut rig, &mut random);
            for (node, ended) in ended.into_iter().enumerate() {
                let told = Err(());
                assert_eq!(ended, told, "{extents:?}: {node}, and {other} with {bytes} bytes");
                assert!(rig.adis[node].has_barrier());
            }
            // The next one is unaffected.
            for node in 0..nodes {
                assert!(rig.adis[node].enter_allreduce(&given(0, node, 8)));
                rig.step(node);
            }
            let sum = ((1_u64 << nodes) - 1).to_le_bytes().to_vec();
            assert_eq!(all_end(&mut rig, &mut random), vec![Ok(sum); nodes]);
        }
    }
}

/// Moves all packets, and combines values that have arrived.
fn settle(rig: &mut DeviceFixture, random: &mut Rand32) {
    let mut idle = 0;
    while idle < 2 {
        idle = match move_one(rig, random) {
            Some(_) => 0,
            None => idle + 1,
        };
        for node in 0..rig.adis.len() {
            rig.adis[node].combine_values(|_, _| ());
            rig.step(node);
        }
    }
}

/// One process is in MPI_Finalize and the others in a barrier or an allreduce, or vice versa: all exit with an error.
#[test]
fn a_last_barrier_and_another_one_do_not_stand_for_each_other() {
    let mut random = Rand32::new(6);
    for extents in [[2, 1, 1], [2, 2, 1], [3, 1, 1], [4, 2, 1], [2, 3, 4]] {
        let nodes = usize::from(extents.iter().product::<u16>());
        let cases = (0..nodes).flat_map(|node| [(node, true, 0), (node, false, 0), (node, true, 8)]);
        for (other, is_last, bytes) in cases {
            let mut rig = machine(extents, [true; 3]);
            for node in 0..nodes {
                match (node == other) == is_last {
                    true => rig.adis[node].enter_last_barrier(),
                    false if bytes > 0 => {
                        assert!(rig.adis[node].enter_allreduce(&given(0, node, bytes)));
                    }
                    false => rig.adis[node].enter_barrier(),
                }
                rig.step(node);
            }
            settle(&mut rig, &mut random);
            for node in 0..nodes {
                let place = format!("{extents:?}: {node}, and {other} is last: {is_last}");
                assert!(rig.adis[node].leave_barrier(), "{place}");
                assert_eq!(
                    rig.adis[node].barrier_mismatch(),
                    Some(BarrierMismatch::Last),
                    "{place}"
                );
            }
            // Neither the next barrier nor a common last one reports an error.
            for is_last in [false, true] {
                for node in 0..nodes {
                    if is_last {
                        rig.adis[node].enter_last_barrier()
                    } else {
                        rig.adis[node].enter_barrier()
                    }
                    rig.step(node);
                }
                settle(&mut rig, &mut random);
                for adi in &mut rig.adis {
                    assert!(adi.leave_barrier() && adi.barrier_mismatch().is_none());
                    assert_eq!(adi.stats.layer.malformed, 0);
                }
            }
        }
    }
}

#[test]
fn a_value_has_a_length_that_the_barrier_can_carry() {
    let mut rig = machine([3, 1, 1], [true; 3]);
    assert!(!rig.adis[0].enter_allreduce(&[]));
    assert!(!rig.adis[0].enter_allreduce(&[1; VALUE_BYTES + 1]));
    rig.step(0);
    assert!(rig.adis[0].has_barrier(), "it is in none");
    // The device rejects a packet with a longer value.
    let header = Header {
        handler: wire::TELL,
        source: rig.adis[0].identity.shape.coord(1).expect("a node"),
        argument: 0b1000,
        place: None,
    };
    let mut body = vec![0; header.bytes() + VALUE_BYTES + 1];
    header.emit(&mut body, VALUE_BYTES + 1);
    rig.wires[0].deliver(TrafficClass::Priority, &body);
    rig.step(0);
    assert_eq!(rig.adis[0].stats.layer.malformed, 1);
}

/// Returns whether the node `here`, in no barrier, expects a packet of `from` in the next one: the first of a pair from
/// the second, the firsts of all pairs from those of their lines. Lines of three have groups of one, lines of four of
/// two.
fn is_due(shape: &Shape, (here, from): ([u8; 3], [u8; 3]), (handler, argument): (u8, u16)) -> bool {
    let extents = shape.extents();
    // Each packet can report that values or calls differ, and that it is the last barrier.
    let argument = argument & !(16 | 32);
    let dimension = match handler {
        wire::TELL => usize::from(argument & 3),
        _ => usize::from(argument),
    };
    if dimension > 2 {
        return false;
    }
    let on_line = (0..3).all(|other| other == dimension || here[other] == from[other]);
    let is_first = |up_to: usize| (0..up_to).all(|dim| extents[dim] != 2 || here[dim] == 0);
    let others = here[dimension] != from[dimension] && on_line;
    match handler {
        wire::ARRIVE => others && extents[dimension] == 2 && is_first(dimension + 1),
        wire::TELL => {
            let group = if extents[dimension] == 4 { 2 } else { 1 };
            let is_of_group = here[dimension] / group == from[dimension] / group;
            let is_of_circle = argument >> 3 == u16::from(!is_of_group);
            others && extents[dimension] > 2 && is_first(3) && is_of_circle
        }
        _ => false,
    }
}

#[test]
fn a_packet_that_is_due_from_nobody_moves_nothing() {
    let shape = Shape::new([3, 2, 4], [true; 3]).expect("a shape");
    let coords = |rank: u32| shape.coord(rank).expect("a node").axes();
    for here in 0..shape.nodes() {
        let mut rig = DeviceFixture::of(shape, 1);
        let malformed = |rig: &DeviceFixture| rig.adis[here as usize].stats.layer.malformed;
        for from in 0..shape.nodes() {
            for handler in [wire::ARRIVE, wire::TELL, wire::RELEASE] {
                for argument in 0..65 {
                    let nodes = (coords(here), coords(from));
                    let due = is_due(&shape, nodes, (handler, argument));
                    let before = malformed(&rig);
                    packet(&mut rig, here, from, (handler, argument));
                    let is_refused = malformed(&rig) > before;
                    assert_eq!(!is_refused, due, "{nodes:?} {handler} {argument}");
                    assert!(!rig.adis[here as usize].leave_barrier());
                    if due {
                        // It is counted; the next packet gets a node without any received packet.
                        rig = DeviceFixture::of(shape, 1);
                    }
                }
            }
        }
    }
}

#[test]
fn none_is_counted_that_is_one_too_many() {
    let mut rig = machine([3, 2, 1], [true; 3]);
    // By rank: its line has ranks 0 to 2, and the second of its pair is rank 3.
    for _ in 0..3 {
        packet(&mut rig, 0, 1, (wire::TELL, 0b1000));
        packet(&mut rig, 0, 3, (wire::ARRIVE, 1));
    }
    assert_eq!(rig.adis[0].stats.layer.malformed, 1 + 2);
}

/// The second of a pair exits on the first's release, after it has reported to the first.
#[test]
fn a_release_is_for_who_waits_for_it() {
    let mut rig = machine([2, 2, 1], [true; 3]);
    packet(&mut rig, 1, 0, (wire::RELEASE, 0));
    assert_eq!(rig.adis[1].stats.layer.malformed, 1, "it has not come yet");
    rig.adis[1].enter_barrier();
    rig.step(1);
    for (from, dimension) in [(0, 1), (2, 0), (3, 0)] {
        packet(&mut rig, 1, from, (wire::RELEASE, dimension));
    }
    assert_eq!(rig.adis[1].stats.layer.malformed, 4);
    assert!(!rig.adis[1].leave_barrier());
    packet(&mut rig, 1, 0, (wire::RELEASE, 0));
    assert!(rig.adis[1].leave_barrier());
}

fn packet(rig: &mut DeviceFixture, to: u32, from: u32, (handler, argument): (u8, u16)) {
    let header = Header {
        handler,
        source: rig.adis[0].identity.shape.coord(from).expect("a node"),
        argument,
        place: None,
    };
    let mut body = vec![0; header.bytes()];
    header.emit(&mut body, 0);
    rig.wires[to as usize].deliver(TrafficClass::Priority, &body);
    rig.step(to as usize);
}
