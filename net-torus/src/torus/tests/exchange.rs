//! All-to-all exchange over reliable links and over faulty ones.

use std::collections::HashMap;

use super::*;
use crate::chunk::PACKET_BYTES;
use crate::inject::RoutingMode;
use crate::profile::HAS_DYNAMIC;
use crate::reliable::{self, ReliableLink};
use crate::sim::{FaultRates, FaultyLink};

fn body(fifo: Fifo, from: u32, to: u32, serial: u32) -> Vec<u8> {
    let mut body = Vec::new();
    for word in [from, to, serial] {
        body.extend(word.to_le_bytes());
    }
    let len = 12 + (from * 7 + to * 31 + serial * 53) as usize % (fifo.body_bytes() - 11);
    body.resize(len, (from ^ to ^ serial) as u8);
    body
}

#[test]
fn a_packet_that_is_too_long_for_its_fifo_is_refused() {
    let shape = Shape::new([2, 1, 1], [true; 3]).unwrap();
    let mut nodes = machine(shape, BufferSizes::SMALLEST);
    let (dest, router) = (shape.coord(1).unwrap(), nodes[0].router_mut());
    for fifo in Fifo::ALL {
        let most = fifo.body_bytes();
        for len in [most + 1, PACKET_BYTES] {
            let refused = router.inject(fifo, dest, len, |_| unreachable!());
            assert_eq!(refused, Err(InjectError::TooLong));
        }
        assert_eq!(router.inject(fifo, dest, most, |body| body.fill(0)), Ok(()));
    }
}

/// Every node sends `count` packets to every node, itself included. Checks that each arrives once and in order, unless
/// `routing` is adaptive and dynamic channels exist.
fn all_to_all(shape: Shape, sizes: BufferSizes, fifo: Fifo, routing: RoutingMode, count: u32) {
    let mut nodes = machine(shape, sizes);
    exchange(&mut nodes, fifo, routing, count, &format!("{sizes:?}"));
    while step(&mut nodes) {}
    for node in &nodes {
        assert!(node.router().is_empty());
        assert_eq!(node.router().stats().all_defects(), 0);
    }
}

fn exchange<L: Link>(nodes: &mut [Torus<'_, L>], fifo: Fifo, routing: RoutingMode, count: u32, what: &str) {
    let shape = *nodes[0].router().shape();
    let n = shape.nodes();
    let mut next = vec![0u32; n as usize];
    let mut seen = HashMap::<(u32, u32), Vec<u32>>::new();
    let (mut arrived, mut idle, mut now) = (0, 0, 0);
    while arrived < n * n * count {
        let mut moved = false;
        now += 1;
        for (node, me) in nodes.iter_mut().zip(0..n) {
            let router = node.router_mut();
            while next[me as usize] < n * count {
                let (serial, to) = (next[me as usize] / n, (next[me as usize] + me) % n);
                let (body, dest) = (body(fifo, me, to, serial), shape.coord(to).unwrap());
                let filled = |b: &mut [u8]| b.copy_from_slice(&body);
                match router.inject_with(fifo, dest, body.len(), routing, filled) {
                    Ok(()) => next[me as usize] += 1,
                    Err(InjectError::Full) => break,
                    Err(other) => panic!("{other}"),
                }
                moved = true;
            }
            moved |= node.step(now) | node.poll_at().is_some();
            assert!(node.dead_links().is_empty(), "{what}");
            let router = node.router_mut();
            while let Some(got) = router.head(fifo) {
                let word = |i: usize| u32::from_le_bytes(got[i..i + 4].try_into().unwrap());
                let (from, to, serial) = (word(0), word(4), word(8));
                assert_eq!(to, me);
                assert_eq!(got, body(fifo, from, to, serial));
                seen.entry((from, to)).or_default().push(serial);
                arrived += 1;
                router.pop(fifo);
                moved = true;
            }
        }
        idle = if moved { 0 } else { idle + 1 };
        // A link may pause, but not for that long.
        assert!(
            idle < 100 && now < 10_000_000,
            "stuck: {shape:?} {what} {fifo:?} {routing:?}, {arrived} arrived"
        );
    }
    for serials in seen.values_mut() {
        if routing == RoutingMode::Adaptive && HAS_DYNAMIC {
            serials.sort_unstable();
        }
        assert!(serials.iter().copied().eq(0..count), "{serials:?} {what}");
    }
}

fn shapes() -> Vec<Shape> {
    let extents = [
        [1, 1, 1],
        [2, 1, 1],
        [1, 3, 1],
        [4, 1, 1],
        [1, 1, 5],
        [2, 2, 1],
        [2, 2, 2],
        [3, 2, 1],
        [4, 4, 1],
        [3, 3, 3],
        [5, 2, 2],
        [4, 2, 3],
    ];
    let mut shapes = Vec::new();
    for e in extents {
        for wraps in [[true; 3], [false; 3], [true, false, true]] {
            shapes.push(Shape::new(e, wraps).unwrap());
        }
    }
    shapes
}

#[test]
fn all_to_all_arrives_once_and_in_order_on_every_shape() {
    for shape in shapes() {
        for sizes in [BufferSizes::SMALLEST, BufferSizes::BLUE_GENE, LARGE] {
            let count = if shape.nodes() > 20 { 2 } else { 5 };
            for fifo in Fifo::ALL {
                all_to_all(shape, sizes, fifo, RoutingMode::Deterministic, count);
            }
        }
    }
}

#[test]
fn all_to_all_adaptive_arrives_once_on_every_shape() {
    for shape in shapes() {
        let none = BufferSizes {
            dynamic: 0,
            ..BufferSizes::SMALLEST
        };
        for sizes in [none, BufferSizes::SMALLEST, BufferSizes::BLUE_GENE] {
            all_to_all(shape, sizes, Fifo::Normal, RoutingMode::Adaptive, 3);
        }
    }
}

const RELIABLE: reliable::RetryConfig = reliable::RetryConfig {
    timeout_ns: 100,
    retries: 30,
};

/// All-to-all over faulty links under the reliable layer, then compares the running CRCs of both ends.
fn over_bad_links(shape: Shape, routing: RoutingMode, seed: u64, count: u32) {
    const WINDOW: usize = 8 * 1514;
    let sizes = BufferSizes::BLUE_GENE;
    let mut memory = vec![[0; 32]; sizes.chunks() * shape.nodes() as usize];
    let mut windows = vec![0; 6 * WINDOW * shape.nodes() as usize];
    let mut windows = windows.chunks_exact_mut(WINDOW);
    let mut serial = seed << 16;
    let mut nodes = machine_over(shape, sizes, &mut memory, |link| {
        serial += 1;
        let bad = FaultyLink::new(link, FaultRates::PERCENT, serial);
        ReliableLink::new(bad, RELIABLE, windows.next().unwrap()).unwrap()
    });
    exchange(&mut nodes, Fifo::Normal, routing, count, &format!("seed {seed}"));
    // Runs until the last acknowledgement was received.
    let mut now = 10_000_000;
    while nodes.iter_mut().fold(false, |moved, node| {
        now += 1;
        node.step(now) | node.poll_at().is_some() | moved
    }) {}
    for node in &nodes {
        assert_eq!(node.router().stats().all_defects(), 0, "seed {seed}");
        for d in node.router().links().iter() {
            let here = node.router().coord();
            let there = shape.rank(shape.neighbour(here, d).unwrap()).unwrap();
            let there = nodes[there as usize].links()[d.opposite() as usize].as_ref();
            let here = node.links()[d as usize].as_ref();
            assert_eq!(here.unwrap().sent(), there.unwrap().received(), "seed {seed}");
        }
    }
}

#[test]
fn everything_arrives_once_over_bad_links() {
    for seed in 0..10 {
        let shape = Shape::new([2, 3, 1], [true; 3]).unwrap();
        over_bad_links(shape, RoutingMode::Deterministic, seed, 20);
        over_bad_links(shape, RoutingMode::Adaptive, seed, 20);
    }
}

/// Ten million packets, a thousand seeds; requires minutes.
#[test]
#[ignore = "takes minutes; run it with --release"]
fn ten_million_packets_arrive_once_over_bad_links() {
    let shape = Shape::new([2, 2, 1], [true; 3]).unwrap();
    for seed in 0..500 {
        over_bad_links(shape, RoutingMode::Deterministic, seed, 625);
        over_bad_links(shape, RoutingMode::Adaptive, 500 + seed, 625);
    }
}

#[test]
fn a_dead_link_is_reported_by_node_and_direction() {
    let shape = row(2);
    let sizes = BufferSizes::BLUE_GENE;
    let mut memory = vec![[0; 32]; sizes.chunks() * 2];
    let mut nodes = machine_over(shape, sizes, &mut memory, |link| {
        let window = vec![0; 4 * 1514].leak();
        ReliableLink::new(FaultyLink::new(link, FaultRates::default(), 0), RELIABLE, window).unwrap()
    });
    let link = nodes[1].links_mut()[Direction::XMinus as usize].as_mut();
    link.unwrap().lower_mut().cut();
    let mut now = 0;
    while nodes[0].dead_links().is_empty() {
        nodes[0].step(now);
        nodes[1].step(now);
        now = nodes[0].poll_at().map_or(now, |at| at.max(now + 1));
        assert!(now < 1_000_000, "never given up");
    }
    let dead: Vec<_> = nodes[0].dead_links().iter().collect();
    assert_eq!(dead, [Direction::XPlus]);
}
