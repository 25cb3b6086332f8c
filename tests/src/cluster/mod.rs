//! The cluster and its scheduler.
//!
//! Each process runs in a thread of its own, but only the one that holds the *baton* moves; it gives the
//! baton away where a node would sleep, and now and then where it enters the device. Who gets it is drawn
//! from the seed, and so is whether a computing node is interrupted instead: the same seed replays the
//! same run, step by step.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use mpi_adi::kernel::{AbortReason, CallNote, Env, Kernel};
use mpi_adi::memory::{RawMemory, UserMemory};
use mpi_adi::{Adi, Config, Memory, Stats};
use net_torus::sim::{SimLink, wire_torus};
use net_torus::{Chunk, Router, Shape, Sizes, Torus};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Nanoseconds of virtual time that one step of one node takes.
const STEP_NS: u64 = 1_000;

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
pub type Job = Result<Vec<i32>, Failure>;

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

struct Body<'m> {
    adi: Adi,
    torus: Torus<'m, SimLink>,
}

impl Body<'_> {
    fn poll(&mut self, memory: &mut dyn UserMemory, now: u64) -> bool {
        let moved = self.torus.step(now);
        let moved = self.adi.progress(self.torus.router_mut(), memory) | moved;
        self.torus.step(now) | moved
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// In its own code, or about to enter the device: may get the baton, or be interrupted.
    Computing,
    /// Asleep inside a call: may get the baton.
    Asleep,
    /// Its program has ended; its node still forwards when interrupted.
    Finished,
}

struct Schedule {
    random: SmallRng,
    holder: usize,
    phases: Vec<Phase>,
    /// Nodes that were tried since anything moved last.
    tried: Vec<bool>,
    clock: u64,
    calls: Vec<Option<CallNote>>,
    failure: Option<Failure>,
}

struct Shared<'m> {
    bodies: Vec<Mutex<Body<'m>>>,
    schedule: Mutex<Schedule>,
    wake: Vec<Condvar>,
}

/// Unwinds a process's thread when the job is over.
struct Over;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared<'_> {
    /// Waits until the baton is `rank`'s.
    fn wait(&self, rank: usize) {
        let mut schedule = lock(&self.schedule);
        while schedule.holder != rank && schedule.failure.is_none() {
            schedule = self.wake[rank]
                .wait(schedule)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if schedule.failure.is_some() {
            drop(schedule);
            resume_unwind(Box::new(Over));
        }
    }

    fn fail(&self, failure: Failure) {
        let mut schedule = lock(&self.schedule);
        schedule.failure.get_or_insert(failure);
        self.wake.iter().for_each(Condvar::notify_all);
    }

    /// Gives the baton away; returns to the caller once it has come back. A finished process does not wait.
    fn pass(&self, rank: usize, phase: Phase) {
        {
            let mut schedule = lock(&self.schedule);
            schedule.phases[rank] = phase;
            if phase == Phase::Asleep {
                schedule.tried[rank] = true;
            }
        }
        self.choose();
        if phase != Phase::Finished {
            self.wait(rank);
            lock(&self.schedule).phases[rank] = Phase::Computing;
        }
    }

    /// Draws who is next, and interrupts nodes on the way.
    fn choose(&self) {
        loop {
            let mut schedule = lock(&self.schedule);
            if schedule.failure.is_some() {
                return;
            }
            let waiting: Vec<usize> = (0..schedule.tried.len())
                .filter(|&r| !schedule.tried[r])
                .collect();
            if waiting.is_empty() {
                if schedule
                    .phases
                    .iter()
                    .all(|&phase| phase == Phase::Finished)
                {
                    return;
                }
                let failure = Failure::Hang(schedule.calls.clone());
                drop(schedule);
                return self.fail(failure);
            }
            let next = waiting[schedule.random.random_range(0..waiting.len())];
            let interrupt = match schedule.phases[next] {
                Phase::Finished => true,
                Phase::Asleep => false,
                Phase::Computing => schedule.random.random_bool(0.5),
            };
            if !interrupt {
                schedule.holder = next;
                self.wake[next].notify_all();
                return;
            }
            let finished = schedule.phases[next] == Phase::Finished;
            schedule.clock += STEP_NS;
            let now = schedule.clock;
            drop(schedule);
            let moved = lock(&self.bodies[next]).poll(&mut RawMemory, now);
            self.moved(next, moved, finished);
        }
    }

    /// Notes what a step of `rank` did. A computing process can always go on by itself, so it never counts
    /// as tried.
    fn moved(&self, rank: usize, moved: bool, tried: bool) {
        let mut schedule = lock(&self.schedule);
        if moved {
            schedule.tried.fill(false);
        } else if tried {
            schedule.tried[rank] = true;
        }
    }
}

/// One process of a cluster, as its program sees it.
pub struct Node<'a, 'm> {
    shared: &'a Shared<'m>,
    rank: usize,
    inside: RefCell<()>,
}

struct NodeKernel<'a, 'm> {
    shared: &'a Shared<'m>,
    torus: &'a mut Torus<'m, SimLink>,
    rank: usize,
    memory: RawMemory,
}

impl Kernel for NodeKernel<'_, '_> {
    fn poll(&mut self, adi: &mut Adi) -> bool {
        let now = {
            let mut schedule = lock(&self.shared.schedule);
            schedule.clock += STEP_NS;
            schedule.clock
        };
        let moved = self.torus.step(now);
        let moved = adi.progress(self.torus.router_mut(), &mut self.memory) | moved;
        let moved = self.torus.step(now) | moved;
        self.shared.moved(self.rank, moved, false);
        moved
    }

    fn idle(&mut self) {
        self.shared.pass(self.rank, Phase::Asleep);
    }

    fn memory(&mut self) -> &mut dyn UserMemory {
        &mut self.memory
    }

    fn now(&self) -> u64 {
        lock(&self.shared.schedule).clock
    }

    fn note(&mut self, call: Option<CallNote>) {
        lock(&self.shared.schedule).calls[self.rank] = call;
    }

    fn abort(&mut self, why: AbortReason<'_>, status: i32) -> ! {
        let message = match why {
            AbortReason::MpiAbort => String::from("MPI_Abort"),
            AbortReason::MpiError(text) => text.to_owned(),
        };
        self.shared.fail(Failure::Abort {
            rank: self.rank as u32,
            status,
            message,
        });
        resume_unwind(Box::new(Over))
    }
}

impl Env for Node<'_, '_> {
    fn with(&self, f: &mut dyn FnMut(&mut Adi, &mut dyn Kernel)) {
        let _inside = self.inside.borrow_mut();
        let yields = lock(&self.shared.schedule).random.random_bool(0.2);
        if yields {
            self.shared.pass(self.rank, Phase::Computing);
        }
        let mut body = lock(&self.shared.bodies[self.rank]);
        let Body { adi, torus } = &mut *body;
        f(
            adi,
            &mut NodeKernel {
                shared: self.shared,
                torus,
                rank: self.rank,
                memory: RawMemory,
            },
        );
        // Whatever the call did, others may now have something to do.
        lock(&self.shared.schedule).tried.fill(false);
    }
}

impl Node<'_, '_> {
    /// This process's number.
    pub fn rank(&self) -> u32 {
        self.rank as u32
    }

    /// Number of processes.
    pub fn size(&self) -> u32 {
        self.shared.bodies.len() as u32
    }

    /// Computes for a while: others run, and this node's interrupts are served.
    pub fn compute(&self, steps: usize) {
        for _ in 0..steps {
            self.shared.pass(self.rank, Phase::Computing);
        }
    }
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
    pub fn run(&self, program: impl Fn(&Node<'_, '_>) -> i32 + Sync) -> Job {
        self.run_and_report(program).0
    }

    /// As [`Cluster::run`], with what the nodes counted.
    ///
    /// # Panics
    /// When the extents are not a torus or the buffer sizes are below the least.
    pub fn run_and_report(
        &self,
        program: impl Fn(&Node<'_, '_>) -> i32 + Sync,
    ) -> (Job, Vec<NodeReport>) {
        let shape = Shape::new(self.extents, self.wraps).expect("extents of 1 to 256");
        let nodes = shape.nodes() as usize;
        let mut chunks: Vec<Chunk> = vec![[0; 32]; self.sizes.chunks() * nodes];
        let bodies = wire_torus(&shape)
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
                    rank,
                    request_slots: self.request_slots,
                };
                let memory = Memory::allocate(self.mpi_memory, nodes).expect("the host's memory");
                Mutex::new(Body {
                    adi: Adi::new(config, memory).expect("a rank of the machine"),
                    torus,
                })
            })
            .collect();
        let schedule = Schedule {
            random: SmallRng::seed_from_u64(self.seed),
            holder: usize::MAX,
            phases: vec![Phase::Computing; nodes],
            tried: vec![false; nodes],
            clock: 0,
            calls: vec![None; nodes],
            failure: None,
        };
        let wake = (0..nodes).map(|_| Condvar::new()).collect();
        let shared = Shared {
            bodies,
            schedule: Mutex::new(schedule),
            wake,
        };
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
}

fn run_process(
    shared: &Shared<'_>,
    rank: usize,
    program: &(impl Fn(&Node<'_, '_>) -> i32 + Sync),
) -> Option<i32> {
    let node = Node {
        shared,
        rank,
        inside: RefCell::new(()),
    };
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
                let message = payload
                    .downcast_ref::<String>()
                    .cloned()
                    .or_else(|| payload.downcast_ref::<&str>().map(|&s| s.to_owned()))
                    .unwrap_or_default();
                shared.fail(Failure::Panic {
                    rank: rank as u32,
                    message,
                });
            }
            None
        }
    }
}

fn report(body: &Body<'_>) -> NodeReport {
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
