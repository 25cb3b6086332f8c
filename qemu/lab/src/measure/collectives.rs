//! Collectives of all nodes on a simulated machine in virtual time (`machine`), with lower bounds from the link
//! bandwidth.
//!
//! All processes start at time 0; a collective is complete when the last process has completed its part. The barrier
//! uses the production algorithm along the torus's lines, and so do allreduces that fit in its packets. The other
//! collectives are the production ones, run by [`midplane_objects::coll::sim_driver`].
//!
//! # Lower bounds
//! A packet carries at most 232 bytes of payload and uses 272 bytes on a link. With L links per node (two for each
//! dimension of more than one node), N nodes, and m bytes:
//!
//! | collective | reason | time of this many bytes on a link |
//! |---|---|---|
//! | bcast | every node must receive all of it | m / L |
//! | allreduce | every node must send all but its own share of the work, and receive the rest of the result | 2 m (N - 1) / N / L |
//! | alltoall, m to each | on average half of the packets along a dimension of k nodes use each direction, over the mean distance d(k) | m N d(k) / 2, for the longest dimension |
//!
//! Without significant data the bound is the distance to the farthest node: the sum of half the extents, in hops.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::fmt;

use midplane_cluster::OperationCosts;
use midplane_device::barrier::{AllreduceStep, VALUE_BYTES};
use midplane_device::envelope::Rank;
use midplane_objects::coll::sim_driver::{CollectiveBuffers, CollectiveKind, CommView, ReduceOperation, SimCollective};
use net_torus::Shape;

use super::machine::{NodePrograms, SimulatedMachine, SimulatedNode, router_memory};
use crate::sim::collective::RankStep;
use crate::sim::collectives::intern_list;

/// Kind of collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MeasuredCollective {
    /// Of all processes, along the torus's lines.
    Barrier,
    /// From rank 0.
    Bcast,
    /// Of 8-byte integers, summed.
    Allreduce,
    /// The given number of bytes from each to each.
    Alltoall,
}

impl MeasuredCollective {
    /// All kinds.
    pub const ALL: [MeasuredCollective; 4] = [
        MeasuredCollective::Barrier,
        MeasuredCollective::Bcast,
        MeasuredCollective::Allreduce,
        MeasuredCollective::Alltoall,
    ];

    /// Returns the MPI name without the prefix.
    pub const fn name(self) -> &'static str {
        match self {
            MeasuredCollective::Barrier => "barrier",
            MeasuredCollective::Bcast => "bcast",
            MeasuredCollective::Allreduce => "allreduce",
            MeasuredCollective::Alltoall => "alltoall",
        }
    }
}

/// A collective to measure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CollectiveRun {
    /// The machine, a torus.
    pub extents: [u16; 3],
    /// Kind of collective.
    pub kind: MeasuredCollective,
    /// Message size in bytes; for an all-to-all, from each to each. A multiple of 8 for an allreduce.
    pub bytes: usize,
    /// Cost model.
    pub costs: OperationCosts,
}

/// Result of a measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CollectiveTimes {
    /// Virtual time until the last process has completed its part, in nanoseconds.
    pub ns: u64,
    /// Packets that processors received and injected.
    pub packets: u64,
}

/// Reason for a measurement without a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CollectiveError {
    /// The extents are not a machine.
    Shape,
    /// Deadlock: nothing moves and some processes wait.
    Stuck {
        /// Number of waiting processes.
        waiting: usize,
    },
    /// A process received wrong data.
    Wrong {
        /// Its rank.
        rank: usize,
    },
    /// A collective failed.
    Failed {
        /// Rank of the process.
        rank: usize,
        /// Its error message.
        what: String,
    },
}

impl fmt::Display for CollectiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CollectiveError::Shape => f.write_str("the extents are not those of a machine"),
            CollectiveError::Stuck { waiting } => {
                write!(f, "nothing moves any more, and {waiting} processes wait")
            }
            CollectiveError::Wrong { rank } => write!(f, "rank {rank} has got wrong bytes"),
            CollectiveError::Failed { rank, what } => write!(f, "rank {rank}: {what}"),
        }
    }
}

impl std::error::Error for CollectiveError {}

const CONTEXT: u16 = 10;
/// Payload of a packet, and its size on a link, in bytes.
const PAYLOAD: usize = 232;
const ON_LINK: usize = 272;
const MPI_MEMORY: usize = 64 << 10;

fn sum(left: &[u8], right: &mut [u8]) {
    for (left, right) in left.chunks(8).zip(right.chunks_mut(8)) {
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let both = word(left).wrapping_add(word(right));
        right.copy_from_slice(&both.to_le_bytes());
    }
}

impl CollectiveRun {
    /// Returns the lower bound in nanoseconds, or `None` without significant data.
    pub fn bound(&self) -> Option<u64> {
        let nodes: f64 = self.extents.iter().map(|&extent| f64::from(extent)).product();
        let long = self.extents.iter().filter(|&&extent| extent > 1);
        let links = 2.0 * long.clone().count() as f64;
        let bytes = match self.kind {
            MeasuredCollective::Alltoall => self.bytes,
            _ if self.bytes <= PAYLOAD => return None,
            _ => self.bytes,
        };
        let m = bytes as f64 / PAYLOAD as f64 * ON_LINK as f64;
        let on_a_link = match self.kind {
            MeasuredCollective::Barrier => return None,
            MeasuredCollective::Bcast => m / links,
            MeasuredCollective::Allreduce => 2.0 * m * (nodes - 1.0) / nodes / links,
            MeasuredCollective::Alltoall => {
                let mean = |&extent: &u16| {
                    let distances = (0..extent).map(|at| at.min(extent - at));
                    f64::from(distances.sum::<u16>()) / f64::from(extent)
                };
                let farthest = long.map(mean).fold(0.0, f64::max);
                m * nodes * farthest / 2.0
            }
        };
        Some((on_a_link * self.costs.link_ns_per_byte) as u64)
    }

    /// Returns the distance to the farthest node in hops.
    pub fn depth(&self) -> u64 {
        self.extents.iter().map(|&extent| u64::from(extent / 2)).sum()
    }

    /// Runs the collective.
    pub fn run(&self) -> Result<CollectiveTimes, CollectiveError> {
        let shape = Shape::new(self.extents, [true; 3]).ok_or(CollectiveError::Shape)?;
        let mut chunks = router_memory(shape);
        let mut machine = SimulatedMachine::new(shape, self.costs, &mut chunks, |_| MPI_MEMORY);
        let size = shape.nodes();
        let mut run = RunState {
            collective: *self,
            list: intern_list((0..size).map(Rank::new).collect()),
            nodes: (0..size).map(|_| NodeState::Before).collect(),
            waiting: size as usize,
        };
        match machine.run(&mut run)? {
            Some(ns) => Ok(CollectiveTimes {
                ns,
                packets: machine.nodes.iter().map(|node| node.packets).sum(),
            }),
            None => Err(CollectiveError::Stuck { waiting: run.waiting }),
        }
    }

    fn what(&self) -> CollectiveKind {
        match self.kind {
            MeasuredCollective::Barrier => CollectiveKind::Barrier,
            MeasuredCollective::Bcast => CollectiveKind::Bcast { root: 0 },
            MeasuredCollective::Allreduce => CollectiveKind::Allreduce,
            MeasuredCollective::Alltoall => CollectiveKind::Alltoall,
        }
    }

    /// Returns byte `at` of the data from `from` to `to`.
    fn byte(&self, from: usize, to: usize, at: usize) -> u8 {
        (from.wrapping_mul(31) ^ to.wrapping_mul(57) ^ at.wrapping_mul(7)) as u8
    }

    fn row(&self, from: usize, to: usize) -> impl Iterator<Item = u8> {
        (0..self.bytes).map(move |at| self.byte(from, to, at))
    }

    fn buffers(&self, rank: usize, size: usize) -> CollectiveBuffers {
        let empty = |many: usize| Some(vec![0; many * self.bytes]);
        let (given, taken) = match self.kind {
            MeasuredCollective::Barrier => (Vec::new(), empty(0)),
            MeasuredCollective::Bcast if rank == 0 => (self.row(0, 0).collect(), None),
            MeasuredCollective::Bcast => (vec![0; self.bytes], None),
            MeasuredCollective::Allreduce => (self.row(rank, 0).collect(), empty(1)),
            MeasuredCollective::Alltoall => {
                let given = (0..size).flat_map(|to| self.row(rank, to)).collect();
                (given, empty(size))
            }
        };
        CollectiveBuffers {
            part: self.bytes,
            given,
            taken,
        }
    }

    fn is_carried(&self) -> bool {
        self.kind == MeasuredCollective::Allreduce && (1..=VALUE_BYTES).contains(&self.bytes)
    }

    fn is_right(&self, rank: usize, size: usize, buffers: &CollectiveBuffers) -> bool {
        let taken = buffers.taken.as_ref().unwrap_or(&buffers.given);
        match self.kind {
            MeasuredCollective::Barrier => true,
            MeasuredCollective::Bcast => self.row(0, 0).eq(taken.iter().copied()),
            MeasuredCollective::Alltoall => {
                let all = (0..size).flat_map(|from| self.row(from, rank));
                all.eq(taken.iter().copied())
            }
            MeasuredCollective::Allreduce => {
                // Checks a sample of the elements: all sums would require as much time as the run.
                let element = |from: usize, at: usize| {
                    let bytes: Vec<u8> = (at..at + 8).map(|at| self.byte(from, 0, at)).collect();
                    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
                };
                let step = (self.bytes / 64).next_multiple_of(8).max(8);
                (0..self.bytes).step_by(step).all(|at| {
                    let all = (0..size).fold(0u64, |sum, from| sum.wrapping_add(element(from, at)));
                    taken[at..at + 8] == all.to_le_bytes()
                })
            }
        }
    }
}

enum NodeState {
    Before,
    InBarrier,
    /// In an allreduce within barrier packets.
    InNetwork,
    Running(Box<SimCollective>),
    Done,
}

struct RunState {
    collective: CollectiveRun,
    list: &'static [Rank],
    nodes: Vec<NodeState>,
    waiting: usize,
}

impl RunState {
    fn start(&self, node: &mut SimulatedNode<'_>, rank: usize) -> Result<NodeState, CollectiveError> {
        let collective = self.collective;
        if collective.kind == MeasuredCollective::Barrier {
            node.adi.enter_barrier();
            return Ok(NodeState::InBarrier);
        }
        let among = CommView {
            list: self.list,
            first: None,
            place: rank as u32,
            context: CONTEXT,
        };
        let buffers = collective.buffers(rank, self.list.len());
        if collective.is_carried() && node.adi.enter_allreduce(&buffers.given) {
            return Ok(NodeState::InNetwork);
        }
        let operation = ReduceOperation {
            element: 8,
            combine: sum,
            commute: true,
        };
        let turn = RankStep(RefCell::new((&mut node.adi, &mut node.memory)));
        let driven = SimCollective::start(&turn, among, 0, collective.what(), buffers, operation);
        driven
            .map(|driven| NodeState::Running(Box::new(driven)))
            .map_err(|error| CollectiveError::Failed {
                rank,
                what: error.to_string(),
            })
    }

    /// Advances an allreduce within barrier packets; returns whether it advanced, and whether it is complete.
    fn combine(&self, node: &mut SimulatedNode<'_>, rank: usize) -> Result<(bool, bool), CollectiveError> {
        match node.adi.allreduce_step() {
            AllreduceStep::Wait => Ok((false, false)),
            AllreduceStep::Combine(_) => {
                node.adi.combine_values(sum);
                Ok((true, false))
            }
            AllreduceStep::Done => {
                let buffers = CollectiveBuffers {
                    part: self.collective.bytes,
                    given: Vec::new(),
                    taken: Some(node.adi.combined_value(0).to_vec()),
                };
                if self.collective.is_right(rank, self.list.len(), &buffers) {
                    Ok((true, true))
                } else {
                    Err(CollectiveError::Wrong { rank })
                }
            }
            AllreduceStep::Mismatch => Err(CollectiveError::Wrong { rank }),
        }
    }

    /// Advances a collective whose messages are complete; returns whether it advanced, and whether it is complete.
    fn advance(
        &self,
        node: &mut SimulatedNode<'_>,
        rank: usize,
        driven: &mut SimCollective,
    ) -> Result<(bool, bool), CollectiveError> {
        if !driven.is_ready(&node.adi) {
            return Ok((false, false));
        }
        let turn = RankStep(RefCell::new((&mut node.adi, &mut node.memory)));
        match driven.advance(&turn) {
            Ok(None) => Ok((true, false)),
            Ok(Some(buffers)) if self.collective.is_right(rank, self.list.len(), &buffers) => Ok((true, true)),
            Ok(Some(_)) => Err(CollectiveError::Wrong { rank }),
            Err(error) => Err(CollectiveError::Failed {
                rank,
                what: error.to_string(),
            }),
        }
    }
}

impl NodePrograms for RunState {
    type Error = CollectiveError;

    fn turn(&mut self, node: &mut SimulatedNode<'_>, rank: usize, _: u64) -> Result<u64, CollectiveError> {
        let call_ns = self.collective.costs.call_ns;
        let mut state = std::mem::replace(&mut self.nodes[rank], NodeState::Done);
        let (moved, is_over) = match &mut state {
            NodeState::Before => {
                state = self.start(node, rank)?;
                (true, false)
            }
            NodeState::InBarrier => {
                let is_over = node.adi.leave_barrier();
                (is_over, is_over)
            }
            NodeState::InNetwork => self.combine(node, rank)?,
            NodeState::Running(driven) => self.advance(node, rank, driven)?,
            NodeState::Done => (false, false),
        };
        if is_over {
            self.waiting -= 1
        } else {
            self.nodes[rank] = state
        }
        Ok(if moved { call_ns } else { 0 })
    }

    fn is_over(&self, _: &SimulatedNode<'_>, _: usize, _: u64) -> bool {
        self.waiting == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(extents: [u16; 3], kind: MeasuredCollective, bytes: usize) -> u64 {
        let costs = OperationCosts::WIRES;
        let collective = CollectiveRun {
            extents,
            kind,
            bytes,
            costs,
        };
        collective.run().expect("a result").ns
    }

    #[test]
    fn nothing_is_faster_than_the_wires() {
        for extents in [[4, 4, 4], [8, 2, 1], [3, 5, 2]] {
            for kind in [
                MeasuredCollective::Bcast,
                MeasuredCollective::Allreduce,
                MeasuredCollective::Alltoall,
            ] {
                let collective = CollectiveRun {
                    extents,
                    kind,
                    bytes: 4096,
                    costs: OperationCosts::WIRES,
                };
                let bound = collective.bound().expect("bytes worth mention");
                assert!(measured(extents, kind, 4096) >= bound, "{extents:?} {kind:?}");
            }
            let depth = CollectiveRun {
                extents,
                kind: MeasuredCollective::Barrier,
                bytes: 0,
                costs: OperationCosts::WIRES,
            }
            .depth();
            for kind in [
                MeasuredCollective::Barrier,
                MeasuredCollective::Bcast,
                MeasuredCollective::Allreduce,
            ] {
                assert!(measured(extents, kind, 8) >= depth * 100, "{extents:?} {kind:?}");
            }
        }
    }

    #[test]
    fn a_measurement_is_a_function_of_its_arguments() {
        let [one, other] = [0; 2].map(|_| measured([4, 2, 2], MeasuredCollective::Allreduce, 3000));
        assert_eq!(one, other);
    }
}
