//! Wait-for graph of the ranks of a job. Free of side effects.

use crate::run::hang::calls::{AwaitedEvent, BlockedCall, CallCondition, EventKind, RankState};
use crate::run::hang::graph::{WaitCondition, find_blocked, find_cycle};
use crate::run::outcome::ObservedNode;
use midplane_abi::message_queues::QueueKind;
use std::collections::{BTreeMap, HashMap};

/// States of the ranks, and the ranks that can never proceed.
///
/// The vertices of the graph are the ranks in the order of the nodes, then the event that any rank proceeds, then the
/// collectives of the barrier network, each of which waits for all other ranks.
#[derive(Debug)]
pub struct WaitGraph<'n> {
    pub nodes: &'n [ObservedNode],
    pub states: Vec<RankState<'n>>,
    indices: HashMap<u32, usize>,
    conditions: Vec<WaitCondition>,
    /// By vertex.
    is_blocked: Vec<bool>,
}

/// A wait of one rank for another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// Index of the rank that waits.
    pub from: usize,
    /// Index of the rank that must act.
    pub to: usize,
    /// `None` for a collective of the barrier network.
    pub event: Option<AwaitedEvent>,
}

impl<'n> WaitGraph<'n> {
    /// Creates the graph.
    pub fn new(nodes: &'n [ObservedNode]) -> Self {
        let mut graph = Self {
            nodes,
            states: nodes.iter().map(RankState::from_node).collect(),
            indices: nodes.iter().map(|node| node.rank).zip(0..).collect(),
            conditions: Vec::new(),
            is_blocked: Vec::new(),
        };
        graph.conditions = graph.conditions();
        graph.is_blocked = find_blocked(&graph.conditions);
        graph
    }

    /// Returns the index of a rank; `None` if the job has no such rank.
    pub fn index(&self, rank: u32) -> Option<usize> {
        self.indices.get(&rank).copied()
    }

    /// Iterates over the calls that can never return, with the indices of their ranks.
    pub fn blocked_calls(&self) -> impl Iterator<Item = (usize, &BlockedCall<'n>)> {
        let calls = self
            .states
            .iter()
            .enumerate()
            .filter(|(index, _)| self.is_blocked[*index]);
        calls.filter_map(|(index, state)| match state {
            RankState::Blocked(call) => Some((index, call)),
            _ => None,
        })
    }

    /// Returns the call of a rank, if it can never return.
    pub fn blocked_call(&self, index: usize) -> Option<&BlockedCall<'n>> {
        match self.states.get(index)? {
            RankState::Blocked(call) if self.is_blocked[index] => Some(call),
            _ => None,
        }
    }

    /// Returns the waits of a rank for others with known ranks. A wait for a lock is one for the holders of the lock.
    pub fn waits(&self, from: usize) -> Vec<Wait> {
        let Some(call) = self.blocked_call(from) else {
            return Vec::new();
        };
        let waits = call.events.iter().flat_map(|event| {
            let targets = self.acting_ranks(from, event);
            targets.into_iter().map(|to| Wait {
                from,
                to,
                event: Some(*event),
            })
        });
        waits.collect()
    }

    /// Returns a cycle of waits between ranks, if there is one.
    pub fn cycle(&self) -> Option<Vec<Wait>> {
        let targets = |vertex: usize| match &self.conditions[vertex] {
            WaitCondition::All(targets) | WaitCondition::Any(targets) => targets.as_slice(),
            _ => &[],
        };
        let any = self.any_rank();
        let is_edge = |to: &usize| *to != any && self.is_blocked[*to];
        let edges = |vertex: usize| match vertex {
            vertex if vertex == any || !self.is_blocked[vertex] => Vec::new(),
            _ => targets(vertex).iter().copied().filter(is_edge).collect(),
        };
        let edges: Vec<_> = (0..self.conditions.len()).map(edges).collect();
        let mut cycle = find_cycle(&edges)?;
        cycle.retain(|vertex| *vertex < any);
        let next = cycle.iter().cycle().skip(1);
        let waits = cycle.iter().zip(next).map(|(from, to)| {
            let mut waits = self.waits(*from).into_iter();
            let network = Wait {
                from: *from,
                to: *to,
                event: None,
            };
            waits.find(|wait| wait.to == *to).unwrap_or(network)
        });
        Some(waits.collect())
    }

    /// Returns the ranks that must act for an event: for a lock its holders, as far as the window's rank shows them.
    fn acting_ranks(&self, from: usize, event: &AwaitedEvent) -> Vec<usize> {
        let Some(peer) = event.peer.and_then(|peer| self.index(peer)) else {
            return Vec::new();
        };
        let holders = self.lock_holders(peer, event);
        let holders: Vec<usize> = holders.into_iter().filter(|holder| *holder != from).collect();
        if holders.is_empty() { vec![peer] } else { holders }
    }

    /// Returns the ranks that hold the lock of a window at the rank with index `target`.
    pub fn lock_holders(&self, target: usize, event: &AwaitedEvent) -> Vec<usize> {
        if event.kind != EventKind::Grant {
            return Vec::new();
        }
        let queues = self.nodes[target].queues.as_ref();
        let entries = queues
            .into_iter()
            .flat_map(|queues| queues.queue(QueueKind::LockHolder));
        let of_window = entries.filter(|entry| Some(entry.context) == event.context);
        let holders = of_window.filter_map(|entry| self.index(entry.peer?));
        holders.collect()
    }

    /// Returns the vertex that proceeds if any rank proceeds.
    fn any_rank(&self) -> usize {
        self.nodes.len()
    }

    fn conditions(&self) -> Vec<WaitCondition> {
        let networks = self.network_collectives();
        let first = self.any_rank() + 1;
        let vertices: BTreeMap<&str, usize> = networks.keys().copied().zip(first..).collect();
        let of_ranks = self.states.iter().enumerate().map(|(index, state)| match state {
            RankState::Active => WaitCondition::Satisfied,
            RankState::Ended(_) | RankState::Finalizing => WaitCondition::Unsatisfiable,
            RankState::Blocked(call) => self.condition(index, call, &vertices),
        });
        let mut conditions: Vec<_> = of_ranks.collect();
        conditions.push(WaitCondition::Any((0..self.nodes.len()).collect()));
        conditions.extend(networks.into_values().map(|members| {
            let mut members = members.into_iter().peekable();
            let is_other = |index: &usize| members.next_if_eq(index).is_none();
            WaitCondition::All((0..self.nodes.len()).filter(is_other).collect())
        }));
        conditions
    }

    fn condition(&self, index: usize, call: &BlockedCall<'_>, networks: &BTreeMap<&str, usize>) -> WaitCondition {
        let targets = call.events.iter().flat_map(|event| match event.peer {
            None => vec![self.any_rank()],
            Some(_) => self.acting_ranks(index, event),
        });
        match call.condition {
            CallCondition::All => WaitCondition::All(targets.collect()),
            CallCondition::Any => WaitCondition::Any(targets.collect()),
            CallCondition::Network => WaitCondition::All(vec![networks[&*call.call.function]]),
        }
    }

    /// Returns the members of the collectives of the barrier network, by function and in ascending order.
    fn network_collectives(&self) -> BTreeMap<&str, Vec<usize>> {
        let mut members = BTreeMap::<&str, Vec<usize>>::new();
        for (index, state) in self.states.iter().enumerate() {
            if let RankState::Blocked(call) = state
                && call.condition == CallCondition::Network
            {
                members.entry(&call.call.function).or_default().push(index);
            }
        }
        members
    }
}
