//! Machines of complete routers, over in-memory links.

mod cost;
mod direct_inject;
mod exchange;
mod runs;

use super::*;
use crate::chunk::{Chunk, MAX_QUEUE_PACKETS};
use crate::coord::Shape;
use crate::inject::InjectError;
use crate::profile::by_profile;
use crate::router::BufferSizes;
use crate::sim::{SimLink, wire_torus};
use crate::wire::{BODY_BYTES, Fifo};

type Node = Torus<'static, SimLink>;

/// Test nodes live as long as the test process, so no test must borrow their memory.
fn memory(sizes: &BufferSizes) -> &'static mut [Chunk] {
    vec![[0xAA; 32]; sizes.chunks()].leak()
}

fn machine(shape: Shape, sizes: BufferSizes) -> Vec<Node> {
    let memory = vec![[0xAA; 32]; sizes.chunks() * shape.nodes() as usize].leak();
    machine_over(shape, sizes, memory, |link| link)
}

/// Creates a machine whose links wrap in-memory links.
fn machine_over<'m, L: Link>(
    shape: Shape,
    sizes: BufferSizes,
    memory: &'m mut [Chunk],
    mut over: impl FnMut(SimLink) -> L,
) -> Vec<Torus<'m, L>> {
    wire_torus(&shape)
        .into_iter()
        .zip(memory.chunks_exact_mut(sizes.chunks()))
        .zip(0..)
        .map(|((links, memory), rank)| {
            let here = shape.coord(rank).unwrap();
            let router = Router::new(shape, here, sizes, memory).unwrap();
            Torus::new(router, links.map(|link| link.map(&mut over))).unwrap()
        })
        .collect()
}

fn step(nodes: &mut [Node]) -> bool {
    nodes.iter_mut().fold(false, |moved, n| n.step(0) | moved)
}

const LARGE: BufferSizes = BufferSizes {
    dynamic: 16,
    normal: 64,
    priority: 16,
    inject_normal: 16,
    inject_priority: 16,
    receive_normal: 64,
    receive_priority: 16,
};

fn row(n: u16) -> Shape {
    Shape::new([n, 1, 1], [false; 3]).unwrap()
}

fn at(x: u8) -> Coord {
    Coord { x, y: 0, z: 0 }
}

#[test]
fn full_normal_fifos_hold_up_the_injector_but_no_priority_packet() {
    let mut nodes = machine(row(3), BufferSizes::BLUE_GENE);
    let mut injected = 0u32;
    // The last node does not receive: all buffers fill up, and then injection stops.
    loop {
        let result = nodes[0]
            .router_mut()
            .inject(Fifo::Normal, at(2), BODY_BYTES - 8, |b| b.fill(1));
        match result {
            Ok(()) => injected += 1,
            Err(InjectError::Full) if !step(&mut nodes) => break,
            Err(InjectError::Full) => {}
            Err(other) => panic!("{other}"),
        }
        assert!(injected < 1000);
    }
    assert!(!nodes[0].router().can_inject(Fifo::Normal));
    assert!(nodes[0].router().stats().fifos[0].refused > 0);
    for serial in 0..100u8 {
        let router = nodes[0].router_mut();
        assert!(router.can_inject(Fifo::Priority));
        router.inject(Fifo::Priority, at(2), 1, |b| b[0] = serial).unwrap();
        while step(&mut nodes) {}
        let router = nodes[2].router_mut();
        assert_eq!(router.head(Fifo::Priority), Some(&[serial][..]));
        router.pop(Fifo::Priority);
    }
    // No waiting packet is lost.
    let mut received = 0;
    loop {
        while nodes[2].router().head(Fifo::Normal).is_some() {
            nodes[2].router_mut().pop(Fifo::Normal);
            received += 1;
        }
        if !step(&mut nodes) {
            break;
        }
    }
    assert_eq!(received, injected);
}

#[test]
fn a_packet_along_a_line_leaves_a_copy_at_every_node_of_it() {
    let shape = Shape::new([5, 2, 1], [true, false, true]).unwrap();
    for fifo in Fifo::ALL {
        for (d, hops) in [(Direction::XPlus, 4), (Direction::XMinus, 3), (Direction::YPlus, 1)] {
            let mut nodes = machine(shape, BufferSizes::SMALLEST);
            let mut sent = 0u8;
            let mut got = vec![Vec::new(); nodes.len()];
            while sent < 20 || step(&mut nodes) {
                let fill = |b: &mut [u8]| b[0] = sent;
                let router = nodes[0].router_mut();
                if sent < 20 && router.inject_line(fifo, d, hops, 9, fill).is_ok() {
                    sent += 1;
                }
                step(&mut nodes);
                for (node, got) in nodes.iter_mut().zip(&mut got) {
                    while let Some(body) = node.router().head(fifo) {
                        assert_eq!(body.len(), 9);
                        got.push(body[0]);
                        node.router_mut().pop(fifo);
                    }
                }
            }
            let mut on_line = vec![false; nodes.len()];
            let mut at = Coord::default();
            for _ in 0..hops {
                at = shape.neighbour(at, d).unwrap();
                on_line[shape.rank(at).unwrap() as usize] = true;
            }
            for (got, on_line) in got.iter().zip(on_line) {
                let all = if on_line { 0..20 } else { 0..0 };
                assert!(got.iter().copied().eq(all), "{fifo:?} {d:?}: {got:?}");
            }
        }
    }
    let mut nodes = machine(shape, BufferSizes::SMALLEST);
    let mut line = |d, hops| nodes[0].router_mut().inject_line(Fifo::Normal, d, hops, 1, |_| {});
    assert_eq!(line(Direction::XPlus, 0), Err(InjectError::OutsideTorus));
    assert_eq!(line(Direction::XPlus, 5), Err(InjectError::OutsideTorus));
    assert_eq!(line(Direction::YMinus, 1), Err(InjectError::OutsideTorus));
}

#[test]
fn wrong_injections_are_told_from_full() {
    let mut nodes = machine(row(2), BufferSizes::SMALLEST);
    let router = nodes[0].router_mut();
    let mut called = false;
    let mut inject = |dest, len| router.inject(Fifo::Normal, dest, len, |_| called = true);
    assert_eq!(inject(at(2), 1), Err(InjectError::OutsideTorus));
    assert_eq!(inject(at(1), BODY_BYTES + 1), Err(InjectError::TooLong));
    assert!(!called);
}

#[test]
fn a_frame_carries_many_packets() {
    let mut nodes = machine(row(2), LARGE);
    while step(&mut nodes) {}
    let before = nodes[0].router().stats().links[0].frames_sent;
    for i in 0..16 {
        let router = nodes[0].router_mut();
        router.inject(Fifo::Normal, at(1), 24, |b| b.fill(i)).unwrap();
    }
    while step(&mut nodes) {}
    assert_eq!(nodes[0].router().stats().links[0].frames_sent, before + 1);
    assert_eq!(nodes[1].router().stats().fifos[0].delivered.packets, 16);
}

#[test]
fn tokens_come_back_in_few_frames_of_their_own() {
    let mut nodes = machine(row(2), LARGE);
    for _ in 0..1000 {
        while !nodes[0].router().can_inject(Fifo::Normal) {
            step(&mut nodes);
        }
        let router = nodes[0].router_mut();
        router.inject(Fifo::Normal, at(1), BODY_BYTES - 8, |_| {}).unwrap();
        while nodes[1].router().head(Fifo::Normal).is_some() {
            nodes[1].router_mut().pop(Fifo::Normal);
        }
        step(&mut nodes);
    }
    let link = nodes[1].router().stats().links[1];
    assert!(link.token_frames_sent < 1000 / 16, "{link:?}");
}

#[test]
fn links_must_match_the_place() {
    let shape = row(3);
    let mut links = wire_torus(&shape);
    let sizes = BufferSizes::SMALLEST;
    let router = |x| Router::new(shape, at(x), sizes, memory(&sizes)).unwrap();
    let error = Torus::new(router(0), links.swap_remove(1)).err();
    assert_eq!(error, Some(ConfigError::Links(0b11)));
}

/// Both sizes are documented in docs/torus.md, and the STM32F405 reserves the one for `micro`.
#[test]
fn the_smallest_buffers_take_what_the_profile_promises() {
    let smallest = BufferSizes {
        dynamic: 0,
        ..BufferSizes::SMALLEST
    };
    assert_eq!(smallest.chunks() * CHUNK_BYTES, by_profile(10_944, 3_456));
}

#[test]
fn sizes_and_memory_are_checked() {
    let new = |sizes: BufferSizes, chunks: usize| Router::new(row(2), at(0), sizes, vec![[0; 32]; chunks].leak()).err();
    let good = BufferSizes::SMALLEST;
    assert_eq!(new(good, good.chunks()), None);
    assert_eq!(new(good, good.chunks() - 1), Some(ConfigError::Memory));
    let bad = BufferSizes { normal: 1, ..good };
    assert_eq!(new(bad, 10_000), Some(ConfigError::Size));
    let bad = BufferSizes {
        receive_normal: MAX_QUEUE_PACKETS + 1,
        ..good
    };
    assert_eq!(new(bad, 10_000), Some(ConfigError::Size));
    let outside = Router::new(row(2), at(2), good, memory(&good)).err();
    assert_eq!(outside, Some(ConfigError::Outside));
}
