//! The in-process cluster: its parts, and how a job is run on it.
//!
//! Each process runs in a thread of its own, but only the one that holds the *baton* moves; it gives the
//! baton away where a node would sleep, and now and then where it enters the device. Who gets it is drawn
//! from the seed, and so is whether a computing node is interrupted instead: the same seed replays the
//! same run, step by step.
#![forbid(unsafe_code)]

mod node;
mod schedule;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use mpi_adi::envelope::Rank;
use mpi_adi::kernel::CallNote;
use mpi_adi::matching::{Engine, Matching};
use mpi_adi::protocol::Sound;
use mpi_adi::{Adi, Config, Memory, Stats};
use net_torus::sim::wire_torus;
use net_torus::{Chunk, Router, Shape, Sizes, Torus};

pub use self::node::Node;
use self::schedule::{Body, Over, Phase, Shared, lock};
use crate::panic;

/// How a cluster is built.
#[derive(Clone, Debug)]
pub struct Cluster {
    extents: [u16; 3],
    wraps: [bool; 3],
    mpi_memory: usize,
    request_slots: usize,
    sizes: Sizes,
    seed: u64,
}

/// What a job ended with: each process's status, by rank.
pub type Statuses = Result<Vec<i32>, Failure>;

/// Why a job did not end by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// Nothing can move any more; the calls that the processes are in, by rank.
    Hang(Vec<Option<CallNote>>),
    /// A process ended the job.
    Abort {
        /// Which.
        rank: u32,
        /// With which status.
        status: i32,
        /// With which words.
        message: String,
    },
    /// A process panicked.
    Panic {
        /// Which.
        rank: u32,
        /// With which words.
        message: String,
    },
}

/// What a node counted, at the job's end.
#[derive(Clone, Debug)]
pub struct NodeReport {
    /// The device's counters.
    pub stats: Stats,
    /// The most bytes of MPI memory taken at once.
    pub peak_bytes: usize,
    /// Bytes of MPI memory still taken.
    pub used_bytes: usize,
    /// The most unexpected records at once.
    pub peak_records: u32,
    /// Requests still live.
    pub live_requests: u32,
    /// Receives still posted.
    pub posted: u32,
    /// Unexpected messages still queued.
    pub unexpected: u32,
    /// Nothing was left to send.
    pub quiet: bool,
    /// Queue entries looked at by matching.
    pub traversals: u64,
    /// Nothing was left in the node's router.
    pub router_empty: bool,
}
impl Cluster {
    /// A torus of these extents, 64 KiB of MPI memory a node, Blue Gene/L's buffers, seed 0.
    pub fn new(extents: [u16; 3]) -> Self {
        Cluster {
            extents,
            wraps: [true; 3],
            mpi_memory: 64 << 10,
            request_slots: usize::MAX,
            sizes: Sizes::BLUE_GENE,
            seed: 0,
        }
    }

    /// Which dimensions wrap.
    pub fn wraps(mut self, wraps: [bool; 3]) -> Self {
        self.wraps = wraps;
        self
    }

    /// Bytes of MPI memory a node.
    pub fn mpi_memory(mut self, bytes: usize) -> Self {
        self.mpi_memory = bytes;
        self
    }

    /// Greatest number of request slots a node, where the heap would otherwise be the limit.
    pub fn request_slots(mut self, slots: usize) -> Self {
        self.request_slots = slots;
        self
    }

    /// Sizes of the routers' buffers.
    pub fn sizes(mut self, sizes: Sizes) -> Self {
        self.sizes = sizes;
        self
    }

    /// The seed of every choice.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Runs `program` as every process and returns their statuses.
    pub fn run(&self, program: impl Fn(&Node<'_, '_>) -> i32 + Sync) -> Statuses {
        self.run_and_report(program).0
    }

    /// As [`Cluster::run`], with what the nodes counted.
    ///
    /// # Panics
    /// When the extents are not a torus or the buffer sizes are below the least.
    pub fn run_and_report(
        &self,
        program: impl Fn(&Node<'_, '_>) -> i32 + Sync,
    ) -> (Statuses, Vec<NodeReport>) {
        self.run_with_engine::<Engine>(program)
    }

    /// As [`Cluster::run_and_report`], by nodes with the matching engine `E`.
    ///
    /// # Panics
    /// As [`Cluster::run_and_report`].
    pub fn run_with_engine<E: Matching>(
        &self,
        program: impl Fn(&Node<'_, '_, E>) -> i32 + Sync,
    ) -> (Statuses, Vec<NodeReport>) {
        let shape = Shape::new(self.extents, self.wraps).expect("extents of 1 to 256");
        let nodes = shape.nodes() as usize;
        let mut chunks: Vec<Chunk> = vec![[0; 32]; self.sizes.chunks() * nodes];
        let shared = Shared::new(self.bodies(shape, &mut chunks), self.seed);
        let statuses = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..nodes)
                .map(|rank| {
                    let (shared, program) = (&shared, &program);
                    std::thread::Builder::new()
                        .stack_size(256 << 10)
                        .spawn_scoped(scope, move || run_process(shared, rank, program))
                        .expect("a thread for each process")
                })
                .collect();
            shared.choose();
            threads
                .into_iter()
                .map(|thread| thread.join().ok().flatten())
                .collect::<Option<Vec<i32>>>()
        });
        let failure = lock(&shared.schedule).failure.take();
        let job = match (failure, statuses) {
            (Some(failure), _) => Err(failure),
            (None, Some(statuses)) => Ok(statuses),
            (None, None) => unreachable!("a process without a status has left a failure"),
        };
        let reports = shared
            .bodies
            .iter()
            .map(|body| report(&lock(body)))
            .collect();
        (job, reports)
    }

    /// The nodes, with routers in `chunks`.
    fn bodies<'m, E: Matching>(
        &self,
        shape: Shape,
        chunks: &'m mut [Chunk],
    ) -> Vec<Mutex<Body<'m, E>>> {
        wire_torus(&shape)
            .into_iter()
            .zip(chunks.chunks_mut(self.sizes.chunks()))
            .zip(0..)
            .map(|((links, chunks), rank)| {
                let here = shape.coord(rank).expect("a rank of the machine");
                let router =
                    Router::new(shape, here, self.sizes, chunks).expect("legal buffer sizes");
                let torus = Torus::new(router, links).expect("links as the machine is wired");
                let config = Config {
                    shape,
                    rank: Rank::new(rank),
                    request_slots: self.request_slots,
                };
                let memory = Memory::with_engine(self.mpi_memory, shape.nodes() as usize)
                    .expect("the host's memory");
                let mut adi =
                    Adi::with_rules(config, memory, Sound).expect("a rank of the machine");
                adi.seed(self.seed);
                Mutex::new(Body { adi, torus })
            })
            .collect()
    }
}

fn run_process<E: Matching>(
    shared: &Shared<'_, E>,
    rank: usize,
    program: &(impl Fn(&Node<'_, '_, E>) -> i32 + Sync),
) -> Option<i32> {
    let node = Node::new(shared, rank);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        shared.wait(rank);
        program(&node)
    }));
    match outcome {
        Ok(status) => {
            shared.pass(rank, Phase::Finished);
            Some(status)
        }
        Err(payload) => {
            if !payload.is::<Over>() {
                let message = panic::words(payload.as_ref());
                shared.fail(Failure::Panic {
                    rank: rank as u32,
                    message,
                });
            }
            None
        }
    }
}

fn report<E: Matching>(body: &Body<'_, E>) -> NodeReport {
    let Body { adi, torus } = body;
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
    }
}
