//! Cut-through injection: packets that are written directly into the outgoing frame.

use std::collections::HashMap;

use super::*;
use crate::coord::Coord;
use crate::inject::{InjectError, RoutingMode};
use crate::profile::HAS_DYNAMIC;
use crate::stats::PacketCount;

/// Link that buffers unsent frames.
struct Keeping {
    link: SimLink,
    frame: Vec<u8>,
    behind: bool,
    /// The link was behind, and must notify the node when it no longer is.
    is_waited_for: bool,
}

impl Keeping {
    fn new(link: SimLink) -> Self {
        let frame = vec![0; link.mtu()];
        Self {
            link,
            frame,
            behind: false,
            is_waited_for: false,
        }
    }
}

impl Link for Keeping {
    const HAS_TIMEOUTS: bool = false;
    const MAY_BUFFER_UNSENT: bool = true;

    fn mtu(&self) -> usize {
        self.link.mtu()
    }

    fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool {
        self.link.receive(f)
    }

    fn transmit(&mut self, f: impl FnOnce(&mut [u8]) -> usize) -> bool {
        let frame = &mut self.frame;
        self.link.transmit(|buffer| {
            let bytes = f(frame);
            buffer[..bytes].copy_from_slice(&frame[..bytes]);
            bytes
        })
    }

    fn buffers_unsent(&self) -> bool {
        true
    }

    fn unsent(&mut self) -> Option<&mut [u8]> {
        let takes = self.link.transmit(|_| 0);
        takes.then_some(&mut self.frame)
    }

    fn send_unsent(&mut self, bytes: usize) {
        let frame = &self.frame;
        self.link.transmit(|buffer| {
            buffer[..bytes].copy_from_slice(&frame[..bytes]);
            bytes
        });
    }

    fn is_behind(&mut self) -> bool {
        self.is_waited_for = self.behind;
        self.behind
    }

    fn wait_no_more(&mut self) {
        self.is_waited_for = false;
    }

    fn is_exact(&self) -> bool {
        true
    }
}

fn keeping(extents: [u16; 3], sizes: BufferSizes) -> Vec<Torus<'static, Keeping>> {
    let shape = Shape::new(extents, [true; 3]).unwrap();
    let memory = vec![[0xAA; 32]; sizes.chunks() * shape.nodes() as usize].leak();
    machine_over(shape, sizes, memory, Keeping::new)
}

/// Creates two neighbours that have exchanged their tokens.
fn neighbours(sizes: BufferSizes) -> Vec<Torus<'static, Keeping>> {
    let mut nodes = keeping([2, 1, 1], sizes);
    while nodes.iter_mut().fold(false, |moved, n| n.step(0) | moved) {}
    nodes
}

const THERE: Coord = Coord { x: 1, y: 0, z: 0 };

fn send(node: &mut Torus<'_, Keeping>, number: u8) {
    let fill = |body: &mut [u8]| body.fill(number);
    let routing = RoutingMode::Deterministic;
    node.inject(Fifo::Normal, THERE, 8, routing, fill).unwrap();
}

fn frames(node: &Torus<'_, Keeping>) -> u64 {
    node.router().stats().links[0].frames_sent
}

fn arrived(node: &mut Torus<'_, Keeping>) -> Vec<u8> {
    let mut numbers = Vec::new();
    while let Some(body) = node.router().head(Fifo::Normal) {
        numbers.push(body[0]);
        node.router_mut().pop(Fifo::Normal);
    }
    numbers
}

#[test]
fn packets_of_a_step_leave_in_one_frame_and_wait_nowhere() {
    let mut nodes = neighbours(LARGE);
    let before = frames(&nodes[0]);
    (0..5).for_each(|number| send(&mut nodes[0], number));
    assert!(nodes[0].router().is_empty(), "they are in the frame");
    assert!(nodes[0].has_to_leave() && !nodes[0].is_at_rest());
    nodes[0].router().assert_invariants();
    assert!(nodes[0].step(0));
    assert!(!nodes[0].has_to_leave() && nodes[0].is_at_rest());
    assert_eq!(frames(&nodes[0]) - before, 1);
    nodes[1].step(0);
    assert_eq!(arrived(&mut nodes[1]), [0, 1, 2, 3, 4]);
    let sent = nodes[0].router().stats().sent();
    assert_eq!(sent, PacketCount { packets: 5, chunks: 5 });
    assert_eq!(nodes[0].router().stats().fifos[0].injected, sent);
}

#[test]
fn a_frame_that_is_full_is_sent_and_another_begun() {
    let mut nodes = neighbours(LARGE);
    let before = frames(&nodes[0]);
    let run = |node: &mut Torus<'_, Keeping>| send_run(node, &mut 0).unwrap();
    assert_eq!(run(&mut nodes[0]), by_profile(5, 11), "in a frame");
    assert_eq!(frames(&nodes[0]), before);
    assert!(run(&mut nodes[0]) > 0);
    assert_eq!(frames(&nodes[0]) - before, 1);
    nodes[0].step(0);
    assert_eq!(frames(&nodes[0]) - before, 2);
}

/// Sends maximum-size packets whose bodies count up from `number`. Returns how many.
fn send_run(node: &mut Torus<'_, Keeping>, number: &mut u8) -> Result<usize, InjectError> {
    let fill = |body: &mut [u8]| {
        body.fill(*number);
        *number += 1;
    };
    node.inject_run(THERE, 12, RoutingMode::Adaptive, fill)
}

#[test]
fn a_run_without_tokens_waits_outside_unless_others_wait() {
    let mut nodes = neighbours(BufferSizes::BLUE_GENE);
    let mut number = 0;
    // Sends until the network is full, with no receiver.
    let fill_up = |nodes: &mut [Torus<'static, Keeping>], number: &mut u8| {
        while nodes.iter_mut().fold(false, |moved, n| n.step(0) | moved) | send_run(&mut nodes[0], number).is_ok() {}
    };
    fill_up(&mut nodes, &mut number);
    assert!(number > 0);
    // Without dynamic channels the packets keep their order, and such a run waits in the full injection FIFO.
    let waits_outside = HAS_DYNAMIC;
    assert_eq!(nodes[0].router().is_empty(), waits_outside);
    assert_eq!(nodes[0].router().can_inject(Fifo::Normal), waits_outside);
    let sent = number;
    assert_eq!(send_run(&mut nodes[0], &mut number), Err(InjectError::Full));
    assert_eq!(number, sent);
    // Received packets release tokens for more.
    let mut all = arrived(&mut nodes[1]);
    fill_up(&mut nodes, &mut number);
    assert!(number > sent);
    assert_eq!(nodes[0].router().is_empty(), waits_outside);
    // Behind a packet in the FIFO a run waits there, too.
    if waits_outside {
        send(&mut nodes[0], number);
        number += 1;
        assert!(send_run(&mut nodes[0], &mut number).unwrap() > 0);
    }
    loop {
        let got = arrived(&mut nodes[1]);
        let moved = nodes.iter_mut().fold(false, |moved, n| n.step(0) | moved);
        if got.is_empty() && !moved {
            break;
        }
        all.extend(got);
    }
    if HAS_DYNAMIC {
        all.sort();
    }
    assert_eq!(all, Vec::from_iter(0..number));
}

#[test]
fn a_frame_that_is_worth_little_waits_for_a_neighbour_that_is_behind() {
    for gathers in [false, true] {
        let mut nodes = neighbours(LARGE);
        let node = &mut nodes[0];
        node.set_gathers(gathers);
        let before = frames(node);
        node.links_mut()[0].as_mut().unwrap().behind = true;
        for number in 0..2 {
            send(node, number);
            assert_eq!(node.step(0), !gathers);
            assert_eq!(node.holds(), gathers);
            assert!(node.is_at_rest(), "nothing goes before the link says so");
            assert_eq!(node.is_held(THERE), gathers);
        }
        node.links_mut()[0].as_mut().unwrap().behind = false;
        assert_eq!(node.step(0), gathers);
        assert!(!node.holds());
        assert_eq!(frames(node) - before, if gathers { 1 } else { 2 });
        nodes[1].step(0);
        assert_eq!(arrived(&mut nodes[1]), [0, 1]);
    }
}

/// A link that no packet waits for must not signal: the node would not sleep otherwise.
#[test]
fn a_packet_that_leaves_by_another_link_waits_for_none() {
    for way in [0, 2] {
        let mut nodes = keeping([3, 3, 1], LARGE);
        while nodes.iter_mut().fold(false, |moved, n| n.step(0) | moved) {}
        let node = &mut nodes[0];
        node.set_gathers(true);
        node.links_mut()[way].as_mut().unwrap().behind = true;
        // Without dynamic channels the only route is along X.
        let has_other_way = HAS_DYNAMIC || way != 0;
        for _ in 0..6 {
            let dest = Coord { x: 1, y: 1, z: 0 };
            let fill = |body: &mut [u8]| body.fill(0);
            let routing = RoutingMode::Adaptive;
            node.inject(Fifo::Normal, dest, 8, routing, fill).unwrap();
            assert_eq!(node.step(0), has_other_way);
            assert_eq!(node.has_to_leave(), !has_other_way, "it has left");
            assert_eq!(node.holds(), !has_other_way);
            assert!(node.is_at_rest());
            let links = node.links().iter().flatten();
            assert_eq!({ links }.any(|link| link.is_waited_for), !has_other_way);
        }
        node.links_mut()[way].as_mut().unwrap().behind = false;
        assert_eq!(node.step(0), !has_other_way);
        assert!(node.router().is_empty() && !node.has_to_leave() && !node.holds());
        let sent = node.router().stats().sent();
        assert_eq!(sent.packets, 6);
    }
}

#[test]
fn a_packet_goes_behind_those_that_wait() {
    let mut nodes = neighbours(LARGE);
    let router = nodes[0].router_mut();
    let fill = |body: &mut [u8]| body.fill(0);
    router.inject(Fifo::Normal, THERE, 8, fill).unwrap();
    (1..4).for_each(|number| send(&mut nodes[0], number));
    nodes[0].step(0);
    nodes[1].step(0);
    assert_eq!(arrived(&mut nodes[1]), [0, 1, 2, 3]);
}

/// Result of a random run: bodies by source, destination and FIFO, in the order of arrival.
type Outcome = HashMap<(u32, u32, usize), Vec<Vec<u8>>>;

/// Sends random packets among all nodes, with or without cut-through.
fn outcome(extents: [u16; 3], sizes: BufferSizes, routing: RoutingMode, passes: bool) -> Outcome {
    let mut random = oorandom::Rand32::new(7);
    let mut nodes = keeping(extents, sizes);
    let count = nodes.len() as u32;
    let shape = *nodes[0].router().shape();
    let mut outcome = Outcome::new();
    let mut left: Vec<u16> = vec![60; nodes.len()];
    let (mut idle, mut have_passed) = (0, false);
    while idle < 20 {
        let mut moved = false;
        for node in 0..nodes.len() {
            let torus = &mut nodes[node];
            torus.set_gathers(true);
            for link in torus.links_mut().iter_mut().flatten() {
                link.behind = left[node] > 0 && random.rand_range(0..2) == 0;
            }
            moved |= torus.receive_frames(0);
            while left[node] > 0 && random.rand_range(0..4) != 0 {
                let dest = random.rand_range(0..count);
                let fifo = Fifo::ALL[random.rand_range(0..2) as usize];
                let most = fifo.body_bytes() as u32;
                let len = random.rand_range(8..most + 1) as usize;
                let mut number = left[node];
                let mut fill = |body: &mut [u8]| {
                    body.fill(number as u8);
                    body[..4].copy_from_slice(&(node as u32).to_le_bytes());
                    number -= 1;
                };
                let to = shape.coord(dest).unwrap();
                let is_run = fifo == Fifo::Normal && random.rand_range(0..3) == 0;
                let most = left[node].min(5).into();
                let router = &mut torus.router;
                let result = match (is_run, passes) {
                    (true, false) => router.inject_run(to, most, routing, fill).map(drop),
                    (true, true) => torus.inject_run(to, most, routing, fill).map(drop),
                    (false, false) => router.inject_with(fifo, to, len, routing, &mut fill),
                    (false, true) => torus.inject(fifo, to, len, routing, &mut fill),
                };
                if result.is_err() {
                    break;
                }
                left[node] = number;
                moved = true;
                have_passed |= torus.has_to_leave() && !torus.router().has_to_leave();
            }
            moved |= torus.transmit_frames(0);
            torus.router().assert_invariants();
            for fifo in Fifo::ALL {
                while random.rand_range(0..3) != 0
                    && let Some(body) = torus.router().head(fifo)
                {
                    let source = u32::from_le_bytes(*body.first_chunk().unwrap());
                    let key = (source, node as u32, fifo as usize);
                    outcome.entry(key).or_default().push(body.to_vec());
                    torus.router_mut().pop(fifo);
                    moved = true;
                }
            }
        }
        idle = if moved { 0 } else { idle + 1 };
    }
    assert!(left.iter().all(|left| *left == 0), "stuck");
    assert!(nodes.iter().all(|n| n.router().is_empty() && !n.has_to_leave()));
    let bodies: usize = outcome.values().map(Vec::len).sum();
    assert_eq!(bodies, 60 * nodes.len());
    assert_eq!(have_passed, passes);
    outcome
}

#[test]
fn random_packets_arrive_once_and_in_order() {
    for extents in [[2, 1, 1], [3, 2, 1], [2, 2, 2]] {
        for sizes in [BufferSizes::SMALLEST, LARGE] {
            for routing in [RoutingMode::Deterministic, RoutingMode::Adaptive] {
                for passes in [false, true] {
                    for (way, bodies) in outcome(extents, sizes, routing, passes) {
                        // IDs decrease at the source.
                        let numbers = bodies.iter().map(|body| body[4]);
                        let is_ordered = routing == RoutingMode::Deterministic || way.2 == 1 || !HAS_DYNAMIC;
                        assert!(!is_ordered || numbers.is_sorted_by(|a, b| a > b), "{way:?}");
                    }
                }
            }
        }
    }
}
