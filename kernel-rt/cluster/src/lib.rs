//! Discrete-event simulator: the stack of N nodes, from the MPI device down to the links, in one process, in virtual
//! time, determined by one seed.
//!
//! ```
//! use midplane_cluster::Cluster;
//!
//! let job = Cluster::new([2, 2, 1]).seed(7).run(|env| {
//!     assert_eq!(env.size(), 4);
//!     0
//! });
//! assert_eq!(job, Ok(vec![0, 0, 0, 0]));
//! ```
//!
//! Each process is a coroutine, and one of them runs at a time: the one that holds the *baton*. It gives the baton back
//! where a node would sleep, and occasionally where it enters the device. The next holder is drawn from the seed, and
//! so is the decision to interrupt a computing node instead: the same seed replays the same run, step by step.
//! Alternatively nothing is drawn, and links and processors use the times of a cost model ([`Cluster::costs`]).
//!
//! ```text
//!   node.rs       a process, as its program sees it: calls reach the device here      program_host.rs  host of C programs
//!   schedule.rs   scheduler          coroutines.rs  the coroutines
//!      |      \
//!   random_schedule.rs   timed_schedule.rs       drawn from the seed, among the nodes in ready.rs; or by virtual time, in events.rs
//!      |      /             explored_schedule.rs    by the decisions of match_orders.rs, in virtual time; messages wait in
//!      |     /                                      packet_gate.rs, and choosing_engine.rs matches them
//!   wires.rs      the links           blocks.rs   parts of a machine that run in parallel
//!   rust.rs       programs of the Rust binding find their process here
//!                 processor.rs  a processor's busy time    outcome.rs  result of a job
//!                 costs.rs      the cost model        step_port.rs    a processor's access to its router in one step
//! ```
#![deny(unsafe_code)]

mod blocks;
mod choosing_engine;
#[allow(unsafe_code)]
mod coroutines;
pub mod costs;
mod events;
mod explored_schedule;
mod explored_state;
pub mod fast_path;
pub mod match_orders;
mod node;
mod outcome;
mod packet_gate;
pub mod panic;
mod processor;
mod program_host;
pub mod random;
mod random_schedule;
mod ready;
mod schedule;
pub mod step_port;
mod timed_schedule;
mod wires;

use std::cell::RefCell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;
use std::time::Duration;

use corosensei::Yielder;
use midplane_device::envelope::Rank;
use midplane_device::matching::EngineKind;
use midplane_device::{Adi, DeviceConfig, DeviceMemory, DeviceStats};
use midplane_engines::EngineChoice;
use net_torus::chunk::{LINE_CHUNKS, in_lines};
use net_torus::{BufferSizes, Chunk, Router, Shape, Torus};

pub use self::blocks::{BlockDivision, FailureTime, MachineBlock, SharedWords};
use self::choosing_engine::ChoosingEngine;
use self::coroutines::{STACK_BYTES, with_coroutines};
pub use self::costs::{CostChange, OperationCosts};
pub use self::explored_schedule::MAX_MISSED_POLLS;
use self::match_orders::{DecisionObserver, MatchDecision};
pub use self::node::SimProcess;
pub use self::outcome::{BlockOutcome, ExitStatuses, JobFailure, JobProgress};
pub use self::program_host::ProgramHost;
pub use self::schedule::running;
use self::schedule::{SharedState, SimNode, UnwindPayload};
use self::wires::MachineWires;

/// Configuration of a simulated machine.
#[derive(Clone, Debug)]
pub struct Cluster {
    extents: [u16; 3],
    wraps: [bool; 3],
    mpi_memory: usize,
    /// Different value for one rank.
    mpi_memory_of: Option<(u32, usize)>,
    eager: Option<usize>,
    request_slots: usize,
    sizes: BufferSizes,
    seed: u64,
    costs: Option<OperationCosts>,
    processors: usize,
    matching: EngineChoice,
    explored: Option<PlannedSchedule>,
}

/// The decisions that an exploration's run makes first, and the observer of all decisions.
#[derive(Clone, Debug)]
struct PlannedSchedule {
    decisions: Vec<MatchDecision>,
    observer: DecisionObserver,
}

/// A node's statistics at the job's end.
#[derive(Clone, Debug)]
pub struct NodeReport {
    /// The device's counters.
    pub stats: DeviceStats,
    /// Maximum number of bytes of MPI memory in use.
    pub peak_bytes: usize,
    /// Bytes of MPI memory still in use.
    pub used_bytes: usize,
    /// Maximum number of unexpected records.
    pub peak_records: u32,
    /// Requests still live.
    pub live_requests: u32,
    /// Receives still posted.
    pub posted: u32,
    /// Unexpected messages still queued.
    pub unexpected: u32,
    /// No packets remained to send.
    pub quiet: bool,
    /// Queue entries checked by matching.
    pub traversals: u64,
    /// No packets remained in the node's router.
    pub router_empty: bool,
    /// Bytes of the peer table.
    pub peer_bytes: usize,
    /// Time of its program's end, in nanoseconds of virtual time; `None`: it did not end.
    pub end_ns: Option<u64>,
}

impl Cluster {
    /// Creates a torus of these extents, with 64 KiB of MPI memory per node, Blue Gene/L's buffers, and seed 0.
    pub fn new(extents: [u16; 3]) -> Self {
        Cluster {
            extents,
            wraps: [true; 3],
            mpi_memory: 64 << 10,
            mpi_memory_of: None,
            eager: None,
            request_slots: usize::MAX,
            sizes: BufferSizes::BLUE_GENE,
            seed: 0,
            costs: None,
            processors: 1,
            matching: EngineChoice::default(),
            explored: None,
        }
    }

    /// Sets the dimensions that wrap.
    pub fn wraps(mut self, wraps: [bool; 3]) -> Self {
        self.wraps = wraps;
        self
    }

    /// Sets the bytes of MPI memory per node.
    pub fn mpi_memory(mut self, bytes: usize) -> Self {
        self.mpi_memory = bytes;
        self
    }

    /// Sets the bytes of MPI memory of the node with this rank.
    pub fn mpi_memory_of(mut self, rank: u32, bytes: usize) -> Self {
        self.mpi_memory_of = Some((rank, bytes));
        self
    }

    /// Sets the maximum size in bytes of an eager message; `None`: the devices' default.
    pub fn eager(mut self, bytes: Option<usize>) -> Self {
        self.eager = bytes;
        self
    }

    /// Sets the maximum number of request slots per node; the default limit is the heap.
    pub fn request_slots(mut self, slots: usize) -> Self {
        self.request_slots = slots;
        self
    }

    /// Sets the sizes of the routers' buffers.
    pub fn sizes(mut self, sizes: BufferSizes) -> Self {
        self.sizes = sizes;
        self
    }

    /// Sets the seed of all random choices.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Uses these costs for links and processors. The seed then only determines the seeds of the devices' hash tables.
    pub fn costs(mut self, costs: OperationCosts) -> Self {
        self.costs = Some(costs);
        self
    }

    /// Sets the number of threads, each with a block of the nodes, if [`costs`](Cluster::costs) are set. The events are
    /// the same.
    pub fn processors(mut self, processors: usize) -> Self {
        self.processors = processors;
        self
    }

    /// Sets the matching engine of the devices.
    pub fn matching(mut self, matching: EngineChoice) -> Self {
        self.matching = matching;
        self
    }

    /// Makes the run part of an exploration of match orders: it makes these decisions first, and then takes the first
    /// alternative of each. The observer receives each decision. All of them remain for
    /// [`take_decisions`](match_orders::take_decisions). Uses [`costs`](Cluster::costs), one processor, and its own
    /// matching engine.
    pub fn explore(mut self, decisions: Vec<MatchDecision>, observer: DecisionObserver) -> Self {
        self.costs.get_or_insert(OperationCosts::BLUE_GENE);
        self.processors = 1;
        self.explored = Some(PlannedSchedule { decisions, observer });
        self
    }

    /// Runs `program` as every process and returns their statuses.
    pub fn run(&self, program: impl Fn(&SimProcess<'_, '_>) -> i32 + Sync) -> ExitStatuses {
        self.run_and_report(program).0
    }

    /// Runs `program` as [`Cluster::run`] does, and also returns the nodes' statistics.
    ///
    /// # Panics
    /// If the extents are not a torus or the buffer sizes are below the minimum.
    pub fn run_and_report(
        &self,
        program: impl Fn(&SimProcess<'_, '_>) -> i32 + Sync,
    ) -> (ExitStatuses, Vec<NodeReport>) {
        self.run_watched(program, &mut |_| true)
    }

    /// Runs `program` as [`Cluster::run_and_report`] does, and calls `watch` periodically: false stops the job.
    ///
    /// # Panics
    /// Under the conditions of [`Cluster::run_and_report`].
    pub fn run_watched(
        &self,
        program: impl Fn(&SimProcess<'_, '_>) -> i32 + Sync,
        watch: &mut dyn FnMut(JobProgress) -> bool,
    ) -> (ExitStatuses, Vec<NodeReport>) {
        let run = |block: Option<&MachineBlock<'_>>, watch: &mut dyn FnMut(JobProgress) -> bool| {
            let look = |shared: &SharedState<'_>, _: &BlockOutcome| {
                let nodes = shared.bodies().map(|(rank, _)| rank);
                nodes.map(|rank| report(shared, rank)).collect()
            };
            let job = self.run_on(STACK_BYTES, block, None, &program, watch, look);
            job.expect("a stack for each process")
        };
        let Some(division) = self.division().filter(|division| division.count() > 1) else {
            return merge_outcomes([run(None, watch)]);
        };
        let words: Vec<_> = (0..division.words()).map(|_| Default::default()).collect();
        let (run, words) = (&run, &words);
        thread::scope(|scope| {
            let others: Vec<_> = (1..division.count())
                .map(|own| {
                    scope.spawn(move || {
                        let block = MachineBlock::new(division, own, words, rest);
                        run(Some(&block), &mut |_| true)
                    })
                })
                .collect();
            let first = run(Some(&MachineBlock::new(division, 0, words, rest)), watch);
            let join =
                |other: thread::ScopedJoinHandle<'_, _>| other.join().unwrap_or_else(|payload| resume_unwind(payload));
            merge_outcomes(std::iter::once(first).chain(others.into_iter().map(join)))
        })
    }

    /// Returns the machine's division; `None` without a cost model.
    ///
    /// # Panics
    /// If the extents are not a torus.
    pub fn division(&self) -> Option<BlockDivision> {
        let costs = self.costs?;
        Some(BlockDivision::new(self.shape(), self.processors, costs))
    }

    fn shape(&self) -> Shape {
        Shape::new(self.extents, self.wraps).expect("extents of 1 to 256")
    }

    /// Runs `program`, which must end by [`SimProcess::exit`] only, as every process, or as those of a block of the cluster's
    /// [`division`](Cluster::division), on stacks of this size in bytes. `host` manages its data. Fails if the host
    /// cannot allocate the stacks.
    ///
    /// # Panics
    /// Under the conditions of [`Cluster::run_and_report`].
    pub fn carry(
        &self,
        stack_bytes: usize,
        block: Option<&MachineBlock<'_>>,
        host: &dyn ProgramHost,
        program: impl Fn(&SimProcess<'_, '_>) -> i32,
        watch: &mut dyn FnMut(JobProgress) -> bool,
    ) -> io::Result<BlockOutcome> {
        let look = |shared: &SharedState<'_>, ended: &BlockOutcome| {
            // As in one process, which ends when the program fails.
            if matches!(ended, Err(None)) {
                return;
            }
            for (rank, body) in shared.bodies() {
                // A program that will never run again keeps the device of the call that it is in.
                if let (Ok(adi), Ok(torus)) = (body.adi.try_borrow(), body.torus.try_borrow()) {
                    host.counts(rank, &adi, torus.router(), shared.times(rank));
                }
            }
        };
        let job = self.run_on(stack_bytes, block, Some(host), program, watch, look);
        job.map(|(ended, ())| ended)
    }

    /// Runs the job, or a block of it, and examines it at its end.
    fn run_on<R>(
        &self,
        stack_bytes: usize,
        block: Option<&MachineBlock<'_>>,
        host: Option<&dyn ProgramHost>,
        program: impl Fn(&SimProcess<'_, '_>) -> i32,
        watch: &mut dyn FnMut(JobProgress) -> bool,
        look: impl FnOnce(&SharedState<'_>, &BlockOutcome) -> R,
    ) -> io::Result<(BlockOutcome, R)> {
        let shape = self.shape();
        let nodes = shape.nodes() as usize;
        let here = block.map_or(0..nodes, MachineBlock::ranks);
        let mut chunks: Vec<Chunk> = vec![[0; 32]; self.sizes.chunks() * here.len() + LINE_CHUNKS];
        let capture = host.filter(|host| host.captures_frames());
        let wires = MachineWires::new(nodes, self.costs, block, capture);
        let bodies = self.bodies(shape, here.start, &wires, in_lines(&mut chunks));
        let mut shared = SharedState::new(bodies, nodes, &wires, self.seed, host);
        if let Some(PlannedSchedule { decisions, observer }) = &self.explored {
            match_orders::begin(decisions.clone(), *observer, nodes);
            shared.explore();
        }
        let run = |number, yielder: &_| {
            run_process(&shared, here.start + number, yielder, &program);
        };
        let job = with_coroutines(here.len(), stack_bytes, run, |coroutines| shared.run(coroutines, watch))?;
        let seen = look(&shared, &job);
        Ok((job, seen))
    }

    /// Creates the nodes from rank `first`, with routers in `chunks`.
    fn bodies<'m>(
        &self,
        shape: Shape,
        first: usize,
        wires: &'m MachineWires<'m>,
        chunks: &'m mut [Chunk],
    ) -> Vec<SimNode<'m>> {
        let kind = match self.explored {
            None => self.matching.kind(),
            Some(_) => EngineKind::for_engine::<ChoosingEngine>(),
        };
        chunks
            .chunks_mut(self.sizes.chunks())
            .zip(first as u32..)
            .map(|(chunks, rank)| {
                let here = shape.coord(rank).expect("a rank of the machine");
                let router = Router::new(shape, here, self.sizes, chunks).expect("legal buffer sizes");
                let torus = Torus::new(router, wires.ends(&shape, rank)).expect("links as the machine is wired");
                let config = DeviceConfig {
                    shape,
                    rank: Rank::new(rank),
                    request_slots: self.request_slots,
                };
                let mpi_memory = match self.mpi_memory_of {
                    Some((of, bytes)) if of == rank => bytes,
                    _ => self.mpi_memory,
                };
                let memory = DeviceMemory::with_engine(&kind, mpi_memory, shape.nodes() as usize)
                    .and_then(|memory| memory.with_values(&shape))
                    .expect("the host's memory");
                let mut adi = Adi::new(config, memory).expect("a rank of the machine");
                adi.seed(self.seed);
                if let Some(bytes) = self.eager {
                    adi.set_eager_limit(bytes);
                }
                SimNode {
                    adi: RefCell::new(adi),
                    torus: RefCell::new(torus),
                }
            })
            .collect()
    }
}

/// Sleeps during a thread's long wait for another block.
fn rest() {
    thread::sleep(Duration::from_micros(50));
}

/// Combines the results of all blocks, in their order.
fn merge_outcomes(
    blocks: impl IntoIterator<Item = (BlockOutcome, Vec<NodeReport>)>,
) -> (ExitStatuses, Vec<NodeReport>) {
    let (mut all, mut reports) = (Ok(Vec::new()), Vec::new());
    for (ended, more) in blocks {
        reports.extend(more);
        all = match (all, ended) {
            (Ok(mut statuses), Ok(more)) => {
                statuses.extend(more);
                Ok(statuses)
            }
            (Err(Some(JobFailure::Hang(mut calls))), Err(Some(JobFailure::Hang(more)))) => {
                calls.extend(more);
                Err(Some(JobFailure::Hang(calls)))
            }
            (Err(Some(failure)), _) | (_, Err(Some(failure))) => Err(Some(failure)),
            (Err(None), _) | (_, Err(None)) => Err(None),
        };
    }
    let statuses = all.map_err(|failure| failure.expect("one block knows what failed"));
    (statuses, reports)
}

fn run_process(
    shared: &SharedState<'_>,
    rank: usize,
    yielder: &Yielder<(), ()>,
    program: &impl Fn(&SimProcess<'_, '_>) -> i32,
) {
    let node = SimProcess::new(shared, rank, yielder);
    let outcome = catch_unwind(AssertUnwindSafe(|| program(&node)));
    match outcome {
        Ok(status) => shared.finish(rank, status),
        Err(payload) => {
            if !payload.is::<UnwindPayload>() {
                let message = panic::words(payload.as_ref());
                let rank = rank as u32;
                shared.fail(rank, JobFailure::Panic { rank, message });
            }
        }
    }
}

fn report(shared: &SharedState<'_>, rank: usize) -> NodeReport {
    let body = shared.body(rank);
    let (adi, torus) = (body.adi.borrow(), body.torus.borrow());
    NodeReport {
        stats: *adi.stats(),
        peak_bytes: adi.region().peak_bytes(),
        used_bytes: adi.region().used_bytes(),
        peak_records: adi.region().peak_records(),
        live_requests: adi.requests().live(),
        posted: adi.matching().posted,
        unexpected: adi.matching().unexpected,
        quiet: adi.is_quiet(),
        traversals: adi.matching().traversals,
        router_empty: torus.router().is_empty(),
        peer_bytes: adi.peer_bytes(),
        end_ns: shared.end(rank),
    }
}
