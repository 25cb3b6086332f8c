//! The killer benchmark on a simulated machine in virtual time (`machine`), a function of the arguments alone.
#![forbid(unsafe_code)]

use midplane_device::DeviceStats;
use midplane_device::envelope::{MatchPattern, Rank};
use midplane_device::memory::Span;
use midplane_device::request::{RequestId, SendMode};
use midplane_device::send::SendTo;
use net_torus::Shape;

pub use midplane_cluster::{CostChange, OperationCosts};

use super::machine::{NodePrograms, SimulatedMachine, SimulatedNode, router_memory};
use crate::sim::memory::is_message;

/// The killer benchmark (paper 004, section 5.1): every rank but 0 sends messages of tags 1 to N by MPI_Isend, then
/// waits for all; rank 0 receives them one by one, by source, in the reverse order of their tags.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct KillerBenchmark {
    /// The machine, a torus.
    pub extents: [u16; 3],
    /// Messages of each sender.
    pub messages: u32,
    /// Message size in bytes.
    pub bytes: usize,
    /// MPI memory of each node in bytes.
    pub mpi_memory: usize,
    /// Cost model.
    pub costs: OperationCosts,
}

/// Result of a run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct KillerResult {
    /// Virtual time until rank 0 has received everything, in nanoseconds.
    pub ns: u64,
    /// Share of that time in which rank 0's processor was busy.
    pub busy: f64,
    /// Packets that rank 0's processor received and injected.
    pub packets: u64,
    /// RTSs (requests to send) received by rank 0.
    pub rts: u64,
    /// NCTSs (no clear to send) sent by rank 0.
    pub ncts: u64,
    /// Restarts (resend requests) sent by rank 0.
    pub restarts: u64,
    /// Peak MPI memory of rank 0 in bytes.
    pub peak_bytes: usize,
}

/// Reason for a failed run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TimedError {
    /// The extents are not a machine.
    Shape,
    /// Deadlock: nothing moves and rank 0 waits.
    Stuck {
        /// Messages received until then.
        received: u32,
    },
    /// Rank 0 received corrupted data.
    Wrong {
        /// Its source.
        source: u32,
        /// Its tag.
        tag: i32,
    },
}

impl std::fmt::Display for TimedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TimedError::Shape => f.write_str("the extents are not those of a machine"),
            TimedError::Stuck { received } => {
                write!(f, "nothing moves any more after {received} messages")
            }
            TimedError::Wrong { source, tag } => {
                write!(f, "wrong bytes from rank {source} with tag {tag}")
            }
        }
    }
}

impl std::error::Error for TimedError {}

#[derive(Clone, Default)]
struct NodeProgress {
    /// Messages started: sent, or received.
    begun: u32,
    waiting: Option<(RequestId, Span)>,
}

struct KillerRun<'a> {
    killer: &'a KillerBenchmark,
    nodes: Vec<NodeProgress>,
    received: u32,
}

impl KillerBenchmark {
    fn number(&self, source: u32, tag: i32) -> u32 {
        (source - 1) * self.messages + (tag as u32 - 1)
    }

    /// Runs the benchmark.
    pub fn run(&self) -> Result<KillerResult, TimedError> {
        let shape = Shape::new(self.extents, [true; 3]).ok_or(TimedError::Shape)?;
        let mut chunks = router_memory(shape);
        // Only rank 0 receives messages.
        let mpi_memory = |rank| if rank == 0 { self.mpi_memory } else { 0 };
        let mut machine = SimulatedMachine::new(shape, self.costs, &mut chunks, mpi_memory);
        let mut run = KillerRun {
            killer: self,
            nodes: vec![NodeProgress::default(); machine.nodes.len()],
            received: 0,
        };
        match machine.run(&mut run)? {
            Some(ns) => Ok(measured(&machine.nodes[0], ns)),
            None => Err(TimedError::Stuck { received: run.received }),
        }
    }
}

impl NodePrograms for KillerRun<'_> {
    type Error = TimedError;

    fn is_over(&self, node: &SimulatedNode<'_>, rank: usize, now: u64) -> bool {
        let receives = (self.nodes.len() as u32 - 1) * self.killer.messages;
        rank == 0 && self.received == receives && now >= node.busy_until
    }

    fn turn(&mut self, node: &mut SimulatedNode<'_>, rank: usize, _: u64) -> Result<u64, TimedError> {
        let (killer, progress) = (self.killer, &mut self.nodes[rank]);
        if rank > 0 {
            if progress.begun == killer.messages {
                return Ok(0);
            }
            progress.begun += 1;
            let tag = progress.begun as i32;
            let number = killer.number(rank as u32, tag);
            let span = node.memory.buffers.send(number, killer.bytes);
            let to = SendTo {
                dest: Rank::new(0),
                tag,
                context: 0,
                mode: SendMode::Standard,
            };
            node.adi.isend(&mut node.memory, to, span).expect("the host's memory");
            return Ok(killer.costs.call_ns);
        }
        let senders = node.adi.size() - 1;
        let place = |begun: u32| {
            let tag = (killer.messages - begun / senders) as i32;
            (begun % senders + 1, tag)
        };
        if let Some((id, span)) = progress.waiting {
            if node.adi.test(id).is_none() {
                return Ok(0);
            }
            progress.waiting = None;
            self.received += 1;
            let (source, tag) = place(progress.begun - 1);
            let bytes = node.memory.buffers.give_back(span);
            if bytes.len() != killer.bytes || !is_message(killer.number(source, tag), &bytes) {
                return Err(TimedError::Wrong { source, tag });
            }
            return Ok(killer.costs.call_ns);
        }
        if progress.begun == senders * killer.messages {
            return Ok(0);
        }
        let (source, tag) = place(progress.begun);
        progress.begun += 1;
        let pattern = MatchPattern::new(Some(Rank::new(source)), Some(tag), 0);
        let span = node.memory.buffers.receive(killer.bytes);
        let id = node
            .adi
            .irecv(&mut node.memory, pattern, span)
            .expect("the host's memory");
        progress.waiting = Some((id, span));
        Ok(killer.costs.call_ns)
    }
}

fn measured(node: &SimulatedNode<'_>, ns: u64) -> KillerResult {
    let stats: &DeviceStats = node.adi.stats();
    KillerResult {
        ns,
        busy: node.busy_ns as f64 / ns.max(1) as f64,
        packets: node.packets,
        rts: stats.rts_received,
        ncts: stats.ncts_sent,
        restarts: stats.restarts_sent,
        peak_bytes: node.adi.region().peak_bytes(),
    }
}
