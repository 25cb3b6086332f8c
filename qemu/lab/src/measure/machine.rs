//! A simulated machine in virtual time: real devices and real routers, over links and processors with the costs of
//! [`OperationCosts`](midplane_cluster::OperationCosts). The result is a function of the arguments alone.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::rc::Rc;

use midplane_cluster::costs::{INJECT, OperationCosts};
use midplane_cluster::step_port::StepPort;
use midplane_device::envelope::Rank;
use midplane_device::memory::{Span, UserMemory};
use midplane_device::{Adi, DeviceConfig, DeviceMemory};
use midplane_engines::EngineChoice;
use net_torus::chunk::Chunk;
use net_torus::link::Link;
use net_torus::router::BufferSizes;
use net_torus::wire::MIN_MTU;
use net_torus::{BODY_BYTES, Direction, Router, Shape, Torus};

use crate::sim::memory::NodeBuffers;

/// Nodes to wake, with their times.
type WakeQueue = Rc<RefCell<Vec<(u64, usize)>>>;

#[derive(Default)]
struct LinkFrames {
    frames: VecDeque<(u64, Vec<u8>)>,
    spare: Vec<Vec<u8>>,
    busy_until: u64,
}

/// One end of a link with latency and bandwidth.
struct TimedLink {
    incoming: Rc<RefCell<LinkFrames>>,
    outgoing: Rc<RefCell<LinkFrames>>,
    from: usize,
    to: usize,
    costs: OperationCosts,
    now: u64,
    wakes: WakeQueue,
}

impl Link for TimedLink {
    fn mtu(&self) -> usize {
        MIN_MTU
    }

    fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool {
        let frame = {
            let mut wire = self.incoming.borrow_mut();
            match wire.frames.front() {
                Some(&(arrival, _)) if arrival <= self.now => wire.frames.pop_front(),
                _ => None,
            }
        };
        let Some((_, frame)) = frame else {
            return false;
        };
        f(&frame);
        self.incoming.borrow_mut().spare.push(frame);
        true
    }

    fn transmit(&mut self, f: impl FnOnce(&mut [u8]) -> usize) -> bool {
        let mut wire = self.outgoing.borrow_mut();
        if wire.busy_until > self.now {
            return false;
        }
        let mut frame = wire.spare.pop().unwrap_or_default();
        frame.resize(MIN_MTU, 0);
        let len = f(&mut frame);
        frame.truncate(len);
        if len == 0 {
            wire.spare.push(frame);
            return false;
        }
        wire.busy_until = self.now + self.costs.carries(len);
        let arrival = self.now + self.costs.hop_ns;
        wire.frames.push_back((arrival, frame));
        let mut wakes = self.wakes.borrow_mut();
        wakes.push((arrival, self.to));
        wakes.push((wire.busy_until, self.from));
        true
    }

    fn poll(&mut self, now_ns: u64) {
        self.now = now_ns;
    }
}

/// The program's memory. Counts copies from MPI memory, which are longer than a packet.
pub(super) struct CountingMemory {
    pub(super) buffers: NodeBuffers,
    copied: u64,
}

impl UserMemory for CountingMemory {
    fn read(&self, span: Span, offset: usize, out: &mut [u8]) {
        self.buffers.read(span, offset, out);
    }

    fn write(&mut self, span: Span, offset: usize, bytes: &[u8]) {
        if bytes.len() > BODY_BYTES {
            self.copied += bytes.len() as u64;
        }
        self.buffers.write(span, offset, bytes);
    }
}

pub(super) struct SimulatedNode<'m> {
    /// Uses the matching engine of the paper's device: its searches are part of the time.
    pub(super) adi: Adi,
    torus: Torus<'m, TimedLink>,
    pub(super) memory: CountingMemory,
    pub(super) busy_until: u64,
    pub(super) busy_ns: u64,
    pub(super) packets: u64,
    /// Time of the last poll.
    looked: Option<u64>,
    /// Time since which delayed acknowledgements wait for a piggyback carrier.
    deferred: Option<u64>,
}

/// The program of all nodes.
pub(super) trait NodePrograms {
    /// Reason for an early end.
    type Error;

    /// Runs the next step of this rank's program at `now`, if possible, and returns its duration in nanoseconds.
    fn turn(&mut self, node: &mut SimulatedNode<'_>, rank: usize, now: u64) -> Result<u64, Self::Error>;

    /// Checks whether the measurement is complete, after a turn of this node at `now`.
    fn is_over(&self, node: &SimulatedNode<'_>, rank: usize, now: u64) -> bool;
}

/// Consecutive polls of idle routers before a deadlock is assumed; a router delays packets for fewer polls.
const LOOKS: u32 = 256;

/// Maximum delay of an acknowledgement that waits for a piggyback carrier, in nanoseconds (`kernel-rt/src/node.rs`).
const ANSWERS_WAIT_NS: u64 = 1_000_000;

const SIZES: BufferSizes = BufferSizes::BLUE_GENE;

pub(super) fn router_memory(shape: Shape) -> Vec<Chunk> {
    vec![[0; 32]; SIZES.chunks() * shape.nodes() as usize]
}

pub(super) struct SimulatedMachine<'m> {
    pub(super) nodes: Vec<SimulatedNode<'m>>,
    costs: OperationCosts,
    wakes: WakeQueue,
}

impl<'m> SimulatedMachine<'m> {
    /// Creates a machine of this shape, with MPI memory by rank.
    pub(super) fn new(
        shape: Shape,
        costs: OperationCosts,
        chunks: &'m mut [Chunk],
        mpi_memory: impl Fn(u32) -> usize,
    ) -> SimulatedMachine<'m> {
        let nodes = shape.nodes() as usize;
        let wakes = WakeQueue::default();
        let wires: Vec<[Rc<RefCell<LinkFrames>>; 6]> = (0..nodes).map(|_| Default::default()).collect();
        let kind = EngineChoice::List.kind();
        let node = |(chunks, rank): (&'m mut [Chunk], u32)| {
            let here = shape.coord(rank).expect("a rank of the machine");
            let router = Router::new(shape, here, SIZES, chunks).expect("Blue Gene/L's buffers");
            let links = Direction::ALL.map(|d| {
                let there = shape.neighbour(here, d)?;
                let there = shape.rank(there)? as usize;
                Some(TimedLink {
                    incoming: wires[there][d.opposite() as usize].clone(),
                    outgoing: wires[rank as usize][d as usize].clone(),
                    from: rank as usize,
                    to: there,
                    costs,
                    now: 0,
                    wakes: wakes.clone(),
                })
            });
            let config = DeviceConfig {
                shape,
                rank: Rank::new(rank),
                request_slots: usize::MAX,
            };
            let memory = DeviceMemory::with_engine(&kind, mpi_memory(rank), nodes)
                .and_then(|memory| memory.with_values(&shape))
                .expect("the host's memory");
            SimulatedNode {
                adi: Adi::new(config, memory).expect("a rank of the machine"),
                torus: Torus::new(router, links).expect("links as the machine is wired"),
                memory: CountingMemory {
                    buffers: NodeBuffers::default(),
                    copied: 0,
                },
                busy_until: 0,
                busy_ns: 0,
                packets: 0,
                looked: None,
                deferred: None,
            }
        };
        let chunks = chunks.chunks_exact_mut(SIZES.chunks());
        let nodes = chunks.zip(0..).map(node).collect();
        SimulatedMachine { nodes, costs, wakes }
    }

    /// Runs until the measurement is complete and returns that time, or `None` on a deadlock.
    pub(super) fn run<P: NodePrograms>(&mut self, programs: &mut P) -> Result<Option<u64>, P::Error> {
        let mut queue: BinaryHeap<Reverse<(u64, usize)>> =
            (0..self.nodes.len()).map(|node| Reverse((0, node))).collect();
        let mut rounds = 0;
        let mut last = 0;
        loop {
            let Some(Reverse((now, at))) = queue.pop() else {
                // A router may delay packets for this many polls (`net_torus::vc`).
                if rounds == LOOKS {
                    return Ok(None);
                }
                rounds += 1;
                let holding = (0..self.nodes.len()).filter(|&at| !self.nodes[at].torus.router_mut().is_empty());
                queue.extend(holding.map(|at| Reverse((last + 1, at))));
                continue;
            };
            last = now;
            let node = &mut self.nodes[at];
            if node.looked == Some(now) {
                continue;
            }
            node.looked = Some(now);
            let again = poll_node(node, &self.costs, programs, now, at)?;
            if programs.is_over(node, at, now) {
                return Ok(Some(now));
            }
            let mut wakes = self.wakes.borrow_mut();
            if again.is_some() || !wakes.is_empty() {
                rounds = 0;
            }
            queue.extend(again.map(|time| Reverse((time, at))));
            queue.extend(wakes.drain(..).map(Reverse));
        }
    }
}

/// Polls `node` at `now`, and returns the time of its next poll, if known.
fn poll_node<P: NodePrograms>(
    node: &mut SimulatedNode<'_>,
    costs: &OperationCosts,
    programs: &mut P,
    now: u64,
    rank: usize,
) -> Result<Option<u64>, P::Error> {
    node.torus.step(now);
    if now < node.busy_until {
        return Ok(Some(node.busy_until));
    }
    let before = (node.adi.search_steps(), node.memory.copied);
    let due = node.deferred.map(|since| since + ANSWERS_WAIT_NS);
    node.adi.delay_acks(due.is_none_or(|due| now < due));
    let mut ns = programs.turn(node, rank, now)?;
    ns += ((node.memory.copied - before.1) as f64 * costs.copy_ns_per_byte) as u64;
    if ns == 0 {
        let mut hands = StepPort {
            router: node.torus.router_mut(),
            take: 1,
            inject: INJECT,
            packets: 0,
        };
        let moved = node.adi.progress(&mut hands, &mut node.memory);
        let packets = hands.packets;
        node.packets += packets;
        ns = packets * costs.packet_ns + u64::from(moved && packets == 0);
    }
    ns += (node.adi.search_steps() - before.0) * costs.search_ns;
    node.torus.step(now);
    // Replies that still wait at the deadline were delayed since then.
    let since = node.deferred.filter(|since| now < since + ANSWERS_WAIT_NS);
    node.deferred = node.adi.has_delayed_acks().then(|| since.unwrap_or(now));
    if ns == 0 {
        return Ok(node.deferred.map(|since| since + ANSWERS_WAIT_NS));
    }
    node.busy_until = now + ns;
    node.busy_ns += ns;
    Ok(Some(node.busy_until))
}
