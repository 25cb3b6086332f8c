//! Model checker: explores all schedules of the smallest rings exhaustively.
//!
//! Nondeterministic choice replaces the routers' arbitration. In every reachable state, every packet at the head of a
//! queue moves in every direction and channel that the rules allow, and every possible packet is injected. A state is
//! the content of the channels' buffers. It is a deadlock when it contains packets and none can move. Tokens and
//! packets travel in zero time. Delays only forbid schedules for a while, so each state that real delays reach, after
//! everything in flight has arrived, is among these. Of the two equivalent dynamic channels only one is used: this
//! removes alternatives, and yields fifty times fewer states.

use crate::chunk::{Chunk, PACKET_BYTES};
use crate::coord::{Direction, Shape};
use crate::inject::RoutingMode;
use crate::profile::{HAS_DYNAMIC, by_profile};
use crate::route;
use crate::router::{ArbitrationResult, BufferSizes, INJECT, Router, RouterRules, bubble_channel};
use crate::vc::Vc;
use crate::wire::{BODY_BYTES, DirectionSet, Fifo, HeaderRepr, Packet};
use std::collections::HashSet;

/// Headers of all packets in all buffers: (node, source, header bytes).
type BufferState = Vec<(u8, u8, [u8; 8])>;

struct StateExplorer {
    shape: Shape,
    sizes: BufferSizes,
    fifo: Fifo,
    routing: RoutingMode,
    rules: RouterRules,
    /// Directions in which packets may be sent; symmetry covers the others.
    open: DirectionSet,
    memory: Vec<Chunk>,
}

#[derive(Debug, PartialEq)]
struct SearchOutcome {
    states: usize,
    stuck: bool,
}

/// Transfers all released tokens.
fn return_tokens(shape: &Shape, routers: &mut [Router<'_>]) {
    for node in 0..routers.len() {
        let released = DirectionSet::from_bits(routers[node].take_released());
        for d in released.iter() {
            grant(shape, routers, node, d);
        }
    }
}

/// Transfers the tokens of `node` to its neighbour in direction `d`, none on the second dynamic channel.
fn grant(shape: &Shape, routers: &mut [Router<'_>], node: usize, d: Direction) {
    let mut granted = routers[node].emit_grants(d);
    granted[Vc::D1 as usize] = 0;
    let there = shape.neighbour(routers[node].coord(), d).unwrap();
    let there = shape.rank(there).unwrap() as usize;
    routers[there].take_grants(d.opposite(), granted);
}

fn hop(shape: &Shape, routers: &mut [Router<'_>], node: usize, d: Direction, choice: ArbitrationResult) {
    let mut bytes = [0; PACKET_BYTES];
    let size = routers[node].send(d, choice, &mut bytes).unwrap();
    let there = shape.neighbour(routers[node].coord(), d).unwrap();
    let there = &mut routers[shape.rank(there).unwrap() as usize];
    let packet = Packet::new_checked(&bytes[..size]).unwrap();
    there.accept(d.opposite(), packet.word(), packet.bytes()).unwrap();
    for fifo in Fifo::ALL {
        while there.head(fifo).is_some() {
            there.pop(fifo);
        }
    }
    return_tokens(shape, routers);
}

fn state_of(routers: &[Router<'_>]) -> BufferState {
    let mut state = BufferState::new();
    for (node, router) in routers.iter().enumerate() {
        for source in 0..INJECT {
            let mut copy = router.queues[source];
            // All packets here use the maximum size.
            let greatest = Vc::ALL[source % Vc::COUNT].greatest();
            while let Some(start) = copy.front() {
                let header = *router.memory[start].first_chunk().unwrap();
                state.push((node as u8, source as u8, header));
                copy.pop(greatest as u16);
            }
        }
    }
    state
}

impl StateExplorer {
    fn new(extents: [u16; 3], routing: RoutingMode, dynamic: u16, open: DirectionSet) -> Self {
        let shape = Shape::new(extents, [true; 3]).unwrap();
        let sizes = BufferSizes {
            dynamic,
            ..BufferSizes::SMALLEST
        };
        Self {
            memory: vec![[0; 32]; shape.nodes() as usize * sizes.chunks()],
            shape,
            sizes,
            fifo: Fifo::Normal,
            routing,
            rules: RouterRules::ALL,
            open,
        }
    }

    /// Calls `f` with the machine in `state`.
    fn with<R>(&mut self, state: &BufferState, f: impl FnOnce(&Shape, &mut [Router<'_>]) -> R) -> R {
        let (shape, sizes, rules) = (self.shape, self.sizes, self.rules);
        let mut routers: Vec<_> = self
            .memory
            .chunks_exact_mut(sizes.chunks())
            .zip(0..)
            .map(|(memory, rank)| {
                let here = shape.coord(rank).unwrap();
                let mut router = Router::new(shape, here, sizes, memory).unwrap();
                router.rules = rules;
                router
            })
            .collect();
        for node in 0..routers.len() {
            for d in routers[node].links().iter() {
                grant(&shape, &mut routers, node, d);
            }
        }
        for (node, source, header) in state {
            let (side, vc) = (*source as usize / Vc::COUNT, *source as usize % Vc::COUNT);
            let (side, vc) = (Direction::ALL[side], Vc::ALL[vc]);
            let router = &mut routers[*node as usize];
            let mut bytes = [0; PACKET_BYTES];
            bytes[..8].copy_from_slice(header);
            let packet = Packet::new_checked(&bytes).unwrap();
            router.accept(side, packet.word(), packet.bytes()).unwrap();
            let there = shape.neighbour(router.coord(), side).unwrap();
            let there = &mut routers[shape.rank(there).unwrap() as usize];
            let tokens = &mut there.tokens[side.opposite() as usize][vc as usize];
            tokens.spend(vc.charge(vc.greatest()));
        }
        f(&shape, &mut routers)
    }

    /// Returns every packet that could be injected at `node`, in both directions where the routes are equal.
    fn injections(&self, node: usize) -> Vec<HeaderRepr> {
        let here = self.shape.coord(node as u32).unwrap();
        let mut all = Vec::new();
        for to in 0..self.shape.nodes() {
            let dest = self.shape.coord(to).unwrap();
            let shortest = route::hints(&self.shape, here, dest);
            for bits in 1..64 {
                let hints = DirectionSet::from_bits(bits);
                let repr = HeaderRepr {
                    hints,
                    deposit: false,
                    dynamic: self.routing == RoutingMode::Adaptive && self.fifo == Fifo::Normal,
                    vc: bubble_channel(self.fifo),
                    fifo: self.fifo,
                    body: self.fifo.body_bytes() as u8,
                    dest,
                };
                // The shortest route, or its mirror image in dimensions with two equal routes.
                let same = (0..3).all(|dim| {
                    let (a, b) = (bits >> (2 * dim) & 3, shortest.bits() >> (2 * dim) & 3);
                    let apart = here.axes()[dim].abs_diff(dest.axes()[dim]) as u16;
                    let tie = 2 * apart == self.shape.extents()[dim];
                    a == b || tie && a == 3 - b && a != 0
                });
                if same && bits & !self.open.bits() == 0 {
                    all.push(repr);
                }
            }
        }
        all
    }

    fn explore(&mut self) -> SearchOutcome {
        let mut seen = HashSet::from([BufferState::new()]);
        let mut open = vec![BufferState::new()];
        let mut stuck = false;
        let nodes = self.shape.nodes() as usize;
        let injections: Vec<_> = (0..nodes).map(|n| self.injections(n)).collect();
        while let Some(state) = open.pop() {
            // Moves of the packets in the buffers.
            let moves = self.with(&state, |_, routers| {
                let mut moves = Vec::new();
                for (node, router) in routers.iter().enumerate() {
                    for source in 0..INJECT {
                        for d in router.links().iter() {
                            if let Some(choice) = choice(router, source, d) {
                                moves.push((node, d, choice));
                            }
                        }
                    }
                }
                moves
            });
            stuck |= moves.is_empty() && !state.is_empty();
            let mut found = Vec::new();
            for (node, d, choice) in moves {
                found.push(self.with(&state, |shape, routers| {
                    hop(shape, routers, node, d, choice);
                    state_of(routers)
                }));
            }
            for (node, injections) in injections.iter().enumerate() {
                for repr in injections {
                    let word = repr.word();
                    let first = repr.hints.bits().trailing_zeros() as u8;
                    for d in repr.hints.iter() {
                        found.extend(self.with(&state, |shape, routers| {
                            let source = routers[node].injection_fifo(word, first);
                            routers[node].enqueue(word, first, |_| {}).unwrap();
                            let choice = choice(&routers[node], source, d)?;
                            hop(shape, routers, node, d, choice);
                            Some(state_of(routers))
                        }));
                    }
                }
            }
            for state in found {
                if !seen.contains(&state) {
                    seen.insert(state.clone());
                    open.push(state);
                }
            }
        }
        SearchOutcome {
            states: seen.len(),
            stuck,
        }
    }
}

fn choice(router: &Router<'_>, source: usize, d: Direction) -> Option<ArbitrationResult> {
    if router.want[d as usize] & 1 << source == 0 {
        return None;
    }
    let vc = router.channel(source, d)?;
    Some(ArbitrationResult { source, vc })
}

/// The header's channel changes with the hop, so that equal packets in equal buffers have equal bytes.
#[test]
fn a_state_is_the_same_after_it_was_built_from_itself() {
    let open = DirectionSet::NONE.with(Direction::XPlus);
    let mut explorer = StateExplorer::new([4, 1, 1], RoutingMode::Deterministic, 0, open);
    let state = explorer.with(&BufferState::new(), |shape, routers| {
        let dest = shape.coord(2).unwrap();
        let router = &mut routers[0];
        router.inject(Fifo::Normal, dest, BODY_BYTES, |_| {}).unwrap();
        let choice = choice(router, INJECT, Direction::XPlus).unwrap();
        hop(shape, routers, 0, Direction::XPlus, choice);
        state_of(routers)
    });
    assert_eq!(state.len(), 1);
    assert_eq!(explorer.with(&state, |_, routers| state_of(routers)), state);
}

fn plus() -> DirectionSet {
    DirectionSet::NONE.with(Direction::XPlus).with(Direction::YPlus)
}

/// The number of states is the same in both profiles: a bubble channel holds the same number of packets in both.
fn never_gets_stuck(fifo: Fifo, n: u16, states: usize) {
    let mut explorer = StateExplorer::new([n, 1, 1], RoutingMode::Deterministic, 0, plus());
    explorer.fifo = fifo;
    let stuck = false;
    let expected = SearchOutcome { states, stuck };
    assert_eq!(explorer.explore(), expected, "{fifo:?}, ring of {n}");
}

#[test]
fn no_schedule_of_a_ring_gets_stuck() {
    // Covers normal packets, and the possibly shorter priority packets.
    for fifo in [Fifo::Normal, Fifo::Priority] {
        for (n, states) in [(3, 1), (4, 80), (5, 242)] {
            never_gets_stuck(fifo, n, states);
        }
    }
}

#[test]
#[ignore = "takes a minute: 113,553 states"]
fn no_schedule_of_a_ring_of_six_gets_stuck() {
    never_gets_stuck(Fifo::Normal, 6, 113_553);
}

#[test]
fn without_the_bubble_rule_a_ring_gets_stuck() {
    let mut explorer = StateExplorer::new([4, 1, 1], RoutingMode::Deterministic, 0, plus());
    explorer.rules.bubble = false;
    assert!(explorer.explore().stuck);
}

#[test]
fn no_schedule_of_adaptive_routing_gets_stuck() {
    // Without dynamic channels adaptive packets keep dimension order: the states are those of deterministic ones.
    for (extents, dynamic, states) in [
        ([4, 1, 1], 1, by_profile(1280, 80)),
        ([2, 2, 1], 1, by_profile(4096, 16)),
        ([2, 2, 1], 0, 16),
    ] {
        let stuck = false;
        let expected = SearchOutcome { states, stuck };
        let outcome = StateExplorer::new(extents, RoutingMode::Adaptive, dynamic, plus()).explore();
        assert_eq!(outcome, expected, "{extents:?} with {dynamic}");
        if !HAS_DYNAMIC || dynamic == 0 {
            let in_order = StateExplorer::new(extents, RoutingMode::Deterministic, 0, plus()).explore();
            assert_eq!(in_order, expected, "{extents:?} in order");
        }
    }
}

#[test]
fn without_the_escape_or_without_its_bubble_adaptive_routing_gets_stuck() {
    let mut explorer = StateExplorer::new([2, 2, 1], RoutingMode::Adaptive, 1, plus());
    explorer.rules.escape = false;
    // Without dynamic channels no escape is necessary.
    assert_eq!(explorer.explore().stuck, HAS_DYNAMIC, "2 x 2 without escape");
    let mut explorer = StateExplorer::new([4, 1, 1], RoutingMode::Adaptive, 1, plus());
    explorer.rules.bubble = false;
    assert!(explorer.explore().stuck, "4 without bubble");
}
