//! Memoized steps of the nodes of a case: each step of each node state is executed once.
#![forbid(unsafe_code)]

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use midplane_device::protocol::Age;
use rustc_hash::FxBuildHasher;

use super::case::{ProtocolCase, SENDERS};
use super::node::{CANCELLER, InjectedPacket, NodeAction, ProgramNode, turn_back, turn_back_horizon};
use super::state::{GlobalState, GlobalStep};

/// Maximum number of cached node states, about 8 KiB each.
const KEPT_NODES: usize = 100_000;

/// A sender with the packets in flight between it and the receiver.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct SenderState {
    pub(super) node: u32,
    /// To the receiver, in order.
    pub(super) requests: Vec<u16>,
    /// To the sender, in order.
    pub(super) answers: Vec<u16>,
}

/// Memoized properties of a node state.
pub(super) struct StateProperties {
    /// The state itself, unless it was dropped to save memory.
    pub(super) node: Option<Box<ProgramNode>>,
    pub(super) origin: StateOrigin,
    pub(super) broken: Option<&'static str>,
    pub(super) is_complete: bool,
    pub(super) may_call: bool,
    pub(super) may_cancel: bool,
    /// By class: whether it has a packet to inject.
    pub(super) offers: [bool; 2],
    /// By class: whether packets to itself are in flight.
    pub(super) own: [bool; 2],
}

/// Origin of a node state, from which it can be recomputed.
#[derive(Clone, Copy, Debug)]
pub(super) enum StateOrigin {
    First,
    After(u32, LocalStep),
    TurnedBack(u32, Age),
    HorizonsTurnedBack(u32, u8),
}

/// A step of one node, with its inputs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum LocalStep {
    Call,
    Cancel,
    Receive { priority: bool, packet: u16 },
    Inject { priority: bool },
    ReceiveOwn { priority: bool },
}

/// A change of a sender and its packets in flight.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum SideStep {
    Call,
    Cancel,
    Inject { priority: bool },
    ReceiveAnswer { place: u8 },
    RequestReceived { place: u8 },
    Answered { packet: u16 },
    AgeTurnedBack { by: Age },
    HorizonsTurnedBack { by: u8 },
}

#[derive(Clone, Copy, Debug)]
struct StepResult {
    node: u32,
    /// The packet injected: its class, destination and index.
    injected: Option<(bool, u8, u16)>,
    turned: TurnedBack,
}

/// Normalization of the receiver's counters to 0.
#[derive(Clone, Copy, Debug)]
struct TurnedBack {
    /// By sender: the age subtracted.
    ages: [Age; SENDERS],
    /// The count of receives subtracted.
    posts: u8,
}

/// Interned states of nodes, packets and channels, by index, and their successors.
#[derive(Default)]
pub(super) struct StepMemo {
    pub(super) nodes: Vec<StateProperties>,
    node_numbers: HashMap<u128, u32, FxBuildHasher>,
    /// Cached nodes, oldest first.
    kept: VecDeque<u32>,
    pub(super) packets: Vec<Vec<u8>>,
    packet_numbers: HashMap<Vec<u8>, u16, FxBuildHasher>,
    pub(super) sides: Vec<SenderState>,
    side_numbers: HashMap<SenderState, u32, FxBuildHasher>,
    locals: HashMap<(u32, LocalStep), Option<StepResult>, FxBuildHasher>,
    on_sides: HashMap<(u32, SideStep), Option<u32>, FxBuildHasher>,
}

impl StepMemo {
    pub(super) fn number(&mut self, case: &ProtocolCase, node: ProgramNode, origin: StateOrigin) -> u32 {
        let number = self.nodes.len() as u32;
        match self.node_numbers.entry(node.fingerprint(case)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                new.insert(number);
                let offers = |priority| node.after(case, NodeAction::Inject { priority }).is_some();
                self.nodes.push(StateProperties {
                    origin,
                    broken: node.broken(case),
                    is_complete: node.is_complete(case),
                    may_call: node.may_call(case),
                    may_cancel: node.may_cancel(case),
                    offers: [offers(false), offers(true)],
                    own: [false, true].map(|priority| node.has_own(priority)),
                    node: None,
                });
                self.keep(number, node);
                number
            }
        }
    }

    fn keep(&mut self, number: u32, node: ProgramNode) {
        let known = &mut self.nodes[number as usize];
        known.node = Some(Box::new(node));
        if !matches!(known.origin, StateOrigin::First) {
            self.kept.push_back(number);
        }
        if self.kept.len() > KEPT_NODES
            && let Some(oldest) = self.kept.pop_front()
        {
            self.nodes[oldest as usize].node = None;
        }
    }

    /// Returns a node state, which is recomputed from its origin if it was dropped.
    pub(super) fn node(&mut self, case: &ProtocolCase, number: u32) -> &ProgramNode {
        let mut missing = Vec::new();
        let mut at = number;
        while self.nodes[at as usize].node.is_none() {
            missing.push(at);
            at = match self.nodes[at as usize].origin {
                StateOrigin::First => unreachable!("a first node is kept"),
                StateOrigin::After(before, _)
                | StateOrigin::TurnedBack(before, _)
                | StateOrigin::HorizonsTurnedBack(before, _) => before,
            };
        }
        while let Some(at) = missing.pop() {
            let node = match self.nodes[at as usize].origin {
                StateOrigin::First => unreachable!("a first node is kept"),
                StateOrigin::After(before, local) => {
                    let (node, ..) = self.after(case, before, local).expect("made before");
                    node
                }
                StateOrigin::HorizonsTurnedBack(before, by) => {
                    let mut node = self.kept(before).clone();
                    node.turn_back_horizons_by(by);
                    node
                }
                StateOrigin::TurnedBack(before, by) => {
                    let mut node = self.kept(before).clone();
                    node.turn_back_by(case, by);
                    node
                }
            };
            self.keep(at, node);
        }
        self.kept(number)
    }

    fn kept(&self, number: u32) -> &ProgramNode {
        self.nodes[number as usize].node.as_ref().expect("kept")
    }

    /// Executes a step on the device, and normalizes the ages.
    fn after(
        &self,
        case: &ProtocolCase,
        number: u32,
        local: LocalStep,
    ) -> Option<(ProgramNode, Option<InjectedPacket>, TurnedBack)> {
        let deed = match local {
            LocalStep::Call => NodeAction::Call,
            LocalStep::Cancel => NodeAction::Cancel,
            LocalStep::Receive { priority, packet } => NodeAction::Receive {
                priority,
                packet: &self.packets[usize::from(packet)],
            },
            LocalStep::Inject { priority } => NodeAction::Inject { priority },
            LocalStep::ReceiveOwn { priority } => NodeAction::ReceiveOwn { priority },
        };
        let (mut node, injected) = self.kept(number).after(case, deed)?;
        let turned = TurnedBack {
            ages: node.turn_back(case),
            posts: node.turn_back_posts(case),
        };
        Some((node, injected, turned))
    }

    fn packet(&mut self, packet: Vec<u8>) -> u16 {
        let number = u16::try_from(self.packets.len()).expect("fewer different packets");
        *self.packet_numbers.entry(packet).or_insert_with_key(|packet| {
            self.packets.push(packet.clone());
            number
        })
    }

    pub(super) fn side(&mut self, side: SenderState) -> u32 {
        let number = self.sides.len() as u32;
        *self.side_numbers.entry(side).or_insert_with_key(|side| {
            self.sides.push(side.clone());
            number
        })
    }

    fn local(&mut self, case: &ProtocolCase, node: u32, local: LocalStep) -> Option<StepResult> {
        if let Some(&after) = self.locals.get(&(node, local)) {
            return after;
        }
        self.node(case, node);
        let after = self.after(case, node, local).map(|(next, injected, turned)| {
            let injected =
                injected.map(|InjectedPacket { priority, dest, packet }| (priority, dest, self.packet(packet)));
            StepResult {
                node: self.number(case, next, StateOrigin::After(node, local)),
                injected,
                turned,
            }
        });
        self.locals.insert((node, local), after);
        after
    }

    pub(super) fn on_side(&mut self, case: &ProtocolCase, number: u32, what: SideStep) -> Option<u32> {
        if let Some(&after) = self.on_sides.get(&(number, what)) {
            return after;
        }
        let mut side = self.sides[number as usize].clone();
        let local = match what {
            SideStep::Call => Some(LocalStep::Call),
            SideStep::Cancel => Some(LocalStep::Cancel),
            SideStep::Inject { priority } => Some(LocalStep::Inject { priority }),
            SideStep::ReceiveAnswer { place } => Some(LocalStep::Receive {
                priority: true,
                packet: side.answers.remove(place.into()),
            }),
            SideStep::RequestReceived { place } => {
                side.requests.remove(place.into());
                None
            }
            SideStep::Answered { packet } => {
                side.answers.push(packet);
                None
            }
            SideStep::AgeTurnedBack { by } => {
                let mut node = self.node(case, side.node).clone();
                node.turn_back_by(case, by);
                side.node = self.number(case, node, StateOrigin::TurnedBack(side.node, by));
                for (priority, packets) in [(false, &mut side.requests), (true, &mut side.answers)] {
                    for number in packets {
                        let mut packet = self.packets[usize::from(*number)].clone();
                        turn_back(case, priority, &mut packet, by);
                        *number = self.packet(packet);
                    }
                }
                None
            }
            SideStep::HorizonsTurnedBack { by } => {
                let mut node = self.node(case, side.node).clone();
                node.turn_back_horizons_by(by);
                side.node = self.number(case, node, StateOrigin::HorizonsTurnedBack(side.node, by));
                for (priority, packets) in [(false, &mut side.requests), (true, &mut side.answers)] {
                    for number in packets {
                        let mut packet = self.packets[usize::from(*number)].clone();
                        turn_back_horizon(priority, &mut packet, by);
                        *number = self.packet(packet);
                    }
                }
                None
            }
        };
        let moved = match local.map(|local| self.local(case, side.node, local)) {
            None => true,
            Some(None) => false,
            Some(Some(StepResult { node, injected, .. })) => {
                side.node = node;
                if let Some((priority, dest, packet)) = injected {
                    assert!(!priority && dest == 0, "senders send requests to the receiver");
                    side.requests.push(packet);
                }
                true
            }
        };
        let after = moved.then(|| self.side(side));
        self.on_sides.insert((number, what), after);
        after
    }

    pub(super) fn next(&mut self, case: &ProtocolCase, state: &GlobalState, step: GlobalStep) -> Option<GlobalState> {
        let mut next = *state;
        let (rank, what) = match step {
            GlobalStep::Call(0) => return self.receive(case, next, LocalStep::Call),
            GlobalStep::ReceiveOwn { priority } => {
                return self.receive(case, next, LocalStep::ReceiveOwn { priority });
            }
            GlobalStep::Inject { rank: 0, priority } => {
                return self.receive(case, next, LocalStep::Inject { priority });
            }
            GlobalStep::Receive {
                priority: false,
                source,
                place,
                ..
            } => {
                let side = &mut next.sides[usize::from(source) - 1];
                let packet = self.sides[*side as usize].requests[usize::from(place)];
                *side = self.on_side(case, *side, SideStep::RequestReceived { place })?;
                return self.receive(
                    case,
                    next,
                    LocalStep::Receive {
                        priority: false,
                        packet,
                    },
                );
            }
            GlobalStep::Receive { dest, place, .. } => (dest, SideStep::ReceiveAnswer { place }),
            GlobalStep::Call(rank) => (rank, SideStep::Call),
            GlobalStep::Cancel => (CANCELLER, SideStep::Cancel),
            GlobalStep::Inject { rank, priority } => (rank, SideStep::Inject { priority }),
        };
        let side = &mut next.sides[usize::from(rank) - 1];
        *side = self.on_side(case, *side, what)?;
        Some(next)
    }

    fn receive(&mut self, case: &ProtocolCase, mut next: GlobalState, local: LocalStep) -> Option<GlobalState> {
        let after = self.local(case, next.receiver, local)?;
        next.receiver = after.node;
        if let Some((priority, dest, packet)) = after.injected {
            assert!(priority && dest > 0, "the receiver sends answers to senders");
            let side = &mut next.sides[usize::from(dest) - 1];
            *side = self.on_side(case, *side, SideStep::Answered { packet })?;
        }
        for (side, by) in next.sides.iter_mut().zip(after.turned.ages) {
            if by > 0 {
                *side = self.on_side(case, *side, SideStep::AgeTurnedBack { by })?;
            }
        }
        if after.turned.posts > 0 {
            let by = after.turned.posts;
            for side in &mut next.sides[..case.senders.len()] {
                *side = self.on_side(case, *side, SideStep::HorizonsTurnedBack { by })?;
            }
        }
        Some(next)
    }

    pub(super) fn broken(&self, case: &ProtocolCase, state: &GlobalState) -> Option<&'static str> {
        let receiver = &self.nodes[state.receiver as usize];
        let sides = case.ranks().zip(state.sides).map(|(_, side)| self.for_side(side).1);
        std::iter::once(receiver).chain(sides).find_map(|known| known.broken)
    }

    pub(super) fn is_complete(&self, case: &ProtocolCase, state: &GlobalState) -> bool {
        self.nodes[state.receiver as usize].is_complete
            && case.ranks().zip(state.sides).all(|(_, side)| {
                let (side, known) = self.for_side(side);
                side.requests.is_empty() && side.answers.is_empty() && known.is_complete
            })
    }
}
