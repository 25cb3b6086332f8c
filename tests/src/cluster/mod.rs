//! The in-process cluster: its parts, and how a job is run on it.
//!
//! Each process is a coroutine, and one of them moves at a time: the one that holds the *baton*. It gives the baton
//! back where a node would sleep, and now and then where it enters the device. Who gets it is drawn from the seed, and
//! so is whether a computing node is interrupted instead: the same seed replays the same run, step by step. Or nothing is
//! drawn, and links and processors take the time that a cost model says ([`Cluster::costs`]).
//!
//! ```text
//!   node.rs       a process, as its program sees it: calls reach the device here      carrier.rs  what holds programs of C
//!   schedule.rs   who moves          strands.rs  the coroutines
//!      |      \
//!   drawn.rs   timed.rs              drawn from the seed, among the nodes in ready.rs; or by virtual time, in events.rs
//!      |      /
//!   wires.rs      the links
//! ```

mod carrier;
mod drawn;
mod events;
mod node;
mod ready;
mod schedule;
#[allow(unsafe_code)]
mod strands;
mod timed;
mod wires;

use std::cell::RefCell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use corosensei::Yielder;
use mpi_adi::envelope::Rank;
use mpi_adi::kernel::CallNote;
use mpi_adi::matching::{Engine, Matching};
use mpi_adi::protocol::Sound;
use mpi_adi::{Adi, Config, Memory, Stats};
use net_torus::sim::{LINE_CHUNKS, in_lines};
use net_torus::{Chunk, Router, Shape, Sizes, Torus};

pub use self::carrier::Carrier;
pub use self::node::Node;
pub(crate) use self::schedule::running;
use self::schedule::{Body, Over, Shared};
use self::strands::{STACK_BYTES, with_strands};
use self::wires::Wires;
use crate::measure::timed::Costs;
use crate::panic;

/// How a cluster is built.
#[derive(Clone, Debug)]
pub struct Cluster {
    extents: [u16; 3],
    wraps: [bool; 3],
    mpi_memory: usize,
    /// Of one rank instead.
    mpi_memory_of: Option<(u32, usize)>,
    eager: Option<usize>,
    request_slots: usize,
    sizes: Sizes,
    seed: u64,
    costs: Option<Costs>,
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
    /// What watched the job has stopped it.
    Stopped,
}

/// How far a job is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Watched {
    /// Virtual time in nanoseconds.
    pub now_ns: u64,
    /// Processes whose programs have ended.
    pub ended: usize,
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
    /// Bytes of the table of peers.
    pub peer_bytes: usize,
    /// When its program ended, in nanoseconds of virtual time; `None`: it did not.
    pub end_ns: Option<u64>,
}

impl Cluster {
    /// A torus of these extents, 64 KiB of MPI memory a node, Blue Gene/L's buffers, seed 0.
    pub fn new(extents: [u16; 3]) -> Self {
        Cluster {
            extents,
            wraps: [true; 3],
            mpi_memory: 64 << 10,
            mpi_memory_of: None,
            eager: None,
            request_slots: usize::MAX,
            sizes: Sizes::BLUE_GENE,
            seed: 0,
            costs: None,
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

    /// Bytes of MPI memory of the node with this rank, instead.
    pub fn mpi_memory_of(mut self, rank: u32, bytes: usize) -> Self {
        self.mpi_memory_of = Some((rank, bytes));
        self
    }

    /// Greatest message in bytes whose data does not wait for an answer, where it is not the devices' own.
    pub fn eager(mut self, bytes: Option<usize>) -> Self {
        self.eager = bytes;
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

    /// Links and processors take the time that these costs say, and nothing is drawn from the seed but the numbers of
    /// the devices' tables.
    pub fn costs(mut self, costs: Costs) -> Self {
        self.costs = Some(costs);
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
        self.run_watched(program, &mut |_| true)
    }

    /// As [`Cluster::run_with_engine`], watched: `watch` is asked now and then whether the job may go on.
    ///
    /// # Panics
    /// As [`Cluster::run_and_report`].
    pub fn run_watched<E: Matching>(
        &self,
        program: impl Fn(&Node<'_, '_, E>) -> i32 + Sync,
        watch: &mut dyn FnMut(Watched) -> bool,
    ) -> (Statuses, Vec<NodeReport>) {
        let look = |shared: &Shared<'_, E>| {
            let nodes = 0..shared.bodies.len();
            nodes.map(|rank| report(shared, rank)).collect()
        };
        let job = self.run_on(STACK_BYTES, None, program, watch, look);
        job.expect("a stack for each process")
    }

    /// Runs `program`, which never returns but by [`Node::exit`], as every process, on stacks of so many bytes. `carrier`
    /// has its data. Fails when the host refuses the stacks.
    ///
    /// # Panics
    /// As [`Cluster::run_and_report`].
    pub fn carry(
        &self,
        stack_bytes: usize,
        carrier: &dyn Carrier,
        program: impl Fn(&Node<'_, '_>) -> i32,
        watch: &mut dyn FnMut(Watched) -> bool,
    ) -> io::Result<Statuses> {
        let look = |shared: &Shared<'_>| {
            for (rank, body) in shared.bodies.iter().enumerate() {
                // A program that will never go on keeps the device of the call that it is in.
                if let (Ok(adi), Ok(torus)) = (body.adi.try_borrow(), body.torus.try_borrow()) {
                    carrier.counts(rank, &adi, torus.router(), shared.times(rank));
                }
            }
        };
        let job = self.run_on(stack_bytes, Some(carrier), program, watch, look);
        job.map(|(statuses, ())| statuses)
    }

    /// Runs the job, and looks at it at its end.
    fn run_on<E: Matching, R>(
        &self,
        stack_bytes: usize,
        carrier: Option<&dyn Carrier<E>>,
        program: impl Fn(&Node<'_, '_, E>) -> i32,
        watch: &mut dyn FnMut(Watched) -> bool,
        look: impl FnOnce(&Shared<'_, E>) -> R,
    ) -> io::Result<(Statuses, R)> {
        let shape = Shape::new(self.extents, self.wraps).expect("extents of 1 to 256");
        let nodes = shape.nodes() as usize;
        let mut chunks: Vec<Chunk> = vec![[0; 32]; self.sizes.chunks() * nodes + LINE_CHUNKS];
        let wires = Wires::new(nodes, self.costs);
        let bodies = self.bodies(shape, &wires, in_lines(&mut chunks));
        let shared = Shared::new(bodies, &wires, self.seed, carrier);
        let run = |rank, yielder: &_| run_process(&shared, rank, yielder, &program);
        let job = with_strands(nodes, stack_bytes, run, |strands| {
            shared.run(strands, watch)
        })?;
        Ok((job, look(&shared)))
    }

    /// The nodes, with routers in `chunks`.
    fn bodies<'m, E: Matching>(
        &self,
        shape: Shape,
        wires: &'m Wires,
        chunks: &'m mut [Chunk],
    ) -> Vec<Body<'m, E>> {
        chunks
            .chunks_mut(self.sizes.chunks())
            .zip(0..)
            .map(|(chunks, rank)| {
                let here = shape.coord(rank).expect("a rank of the machine");
                let router =
                    Router::new(shape, here, self.sizes, chunks).expect("legal buffer sizes");
                let torus = Torus::new(router, wires.ends(&shape, rank))
                    .expect("links as the machine is wired");
                let config = Config {
                    shape,
                    rank: Rank::new(rank),
                    request_slots: self.request_slots,
                };
                let mpi_memory = match self.mpi_memory_of {
                    Some((of, bytes)) if of == rank => bytes,
                    _ => self.mpi_memory,
                };
                let memory = Memory::with_engine(mpi_memory, shape.nodes() as usize)
                    .expect("the host's memory");
                let mut adi =
                    Adi::with_rules(config, memory, Sound).expect("a rank of the machine");
                adi.seed(self.seed);
                if let Some(bytes) = self.eager {
                    adi.set_eager_limit(bytes);
                }
                Body {
                    adi: RefCell::new(adi),
                    torus: RefCell::new(torus),
                }
            })
            .collect()
    }
}

fn run_process<E: Matching>(
    shared: &Shared<'_, E>,
    rank: usize,
    yielder: &Yielder<(), ()>,
    program: &impl Fn(&Node<'_, '_, E>) -> i32,
) {
    let node = Node::new(shared, rank, yielder);
    let outcome = catch_unwind(AssertUnwindSafe(|| program(&node)));
    match outcome {
        Ok(status) => shared.finish(rank, status),
        Err(payload) => {
            if !payload.is::<Over>() {
                let message = panic::words(payload.as_ref());
                shared.fail(Failure::Panic {
                    rank: rank as u32,
                    message,
                });
            }
        }
    }
}

fn report<E: Matching>(shared: &Shared<'_, E>, rank: usize) -> NodeReport {
    let body = &shared.bodies[rank];
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
