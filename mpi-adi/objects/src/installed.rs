//! The process of an image: its device, and the state of its program between MPI_Init and MPI_Finalize.
//!
//! C functions receive no context, and a Rust program finds its process by itself. Both bindings find it here. The host
//! calls [`install`] once, before the program's `main`, and reads [`phase`] when the program has ended.
//!
//! A host whose program may have several threads in calls of MPI at once provides a [`ThreadSupport`].
//!
//! A program that cargo has linked, or that has loaded MPI as a shared library, has no such host. It provides a [`NodeStarter`], which creates the node of a job of one
//! process when the program first calls MPI.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicI32, AtomicU8, AtomicUsize, Ordering};

use midplane_device::envelope::Rank;

use crate::process::Env;

/// State of the program between MPI_Init and MPI_Finalize.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum MpiPhase {
    /// MPI_Init has not been called.
    Before = 0,
    /// MPI_Init has been called, and MPI_Finalize has not ended.
    Running = 1,
    /// MPI_Finalize has ended.
    After = 2,
}

/// The device of the process, once it is [installed](install).
pub static DEVICE: spin::Once<&'static (dyn Env + Sync)> = spin::Once::new();

static PHASE: AtomicU8 = AtomicU8::new(MpiPhase::Before as u8);

/// Value of the attribute MPI_APPNUM: the index of the program among those of the job, from 0 (MPI-3.1 section 10.5.3).
pub static APPNUM: AtomicI32 = AtomicI32::new(0);

/// Provides the process with its device. Later calls change nothing.
pub fn install(env: &'static (dyn Env + Sync)) {
    DEVICE.call_once(|| env);
}

/// Returns the device; `None` before [`install`].
pub fn installed() -> Option<&'static (dyn Env + Sync)> {
    DEVICE.get().copied()
}

/// Returns the state of the program.
pub fn phase() -> MpiPhase {
    match PHASE.load(Ordering::Relaxed) {
        0 => MpiPhase::Before,
        1 => MpiPhase::Running,
        _ => MpiPhase::After,
    }
}

/// Changes the state of the program. The bindings call it.
pub fn set_phase(phase: MpiPhase) {
    PHASE.store(phase as u8, Ordering::Relaxed);
}

/// Sets the value of MPI_APPNUM. The host calls it before the program's `main`.
pub fn set_appnum(index: u32) {
    APPNUM.store(index as i32, Ordering::Relaxed);
}

/// Creation of the node on the first call of MPI, in a process whose program may have several threads.
#[derive(Clone, Copy)]
pub struct NodeStarter {
    /// Creates the node of a job of one process, and installs it. It is called once.
    pub boot: fn(),
    /// Checks whether the calling thread unwinds from a panic.
    pub is_unwinding: fn() -> bool,
    /// Returns an identifier of the calling thread: unique in the process, and not 0.
    pub thread: fn() -> usize,
}

static STARTER: spin::Once<NodeStarter> = spin::Once::new();

/// Identifier of the thread that has started MPI; 0: none has.
static OWNER: AtomicUsize = AtomicUsize::new(0);

/// Provides the process with its starter. Later calls change nothing.
pub fn start_by(starter: NodeStarter) {
    STARTER.call_once(|| starter);
}

/// Returns the device, and creates the node if there is a [`NodeStarter`] and nothing is installed. Other threads that call
/// it at the same time block until the node exists.
pub fn installed_or_started() -> Option<&'static (dyn Env + Sync)> {
    static IS_BOOTED: spin::Once = spin::Once::new();
    if let Some(env) = installed() {
        return Some(env);
    }
    let starter = STARTER.get()?;
    IS_BOOTED.call_once(starter.boot);
    installed()
}

/// Makes the calling thread the only one that may call MPI. Returns its check for unwinding.
pub fn own_by_this_thread() -> fn() -> bool {
    match STARTER.get() {
        Some(starter) => {
            OWNER.store((starter.thread)(), Ordering::Relaxed);
            starter.is_unwinding
        }
        None => || false,
    }
}

/// Checks whether the calling thread has started MPI. Without a [`NodeStarter`] there is one thread only.
pub fn is_owner() -> bool {
    let thread = STARTER.get().map(|starter| (starter.thread)());
    thread.is_none_or(|thread| thread == OWNER.load(Ordering::Relaxed))
}

/// The host's lock of the MPI library, for a program whose threads call MPI at the same time (MPI_THREAD_MULTIPLE). A call
/// holds it, and releases it between the steps of a wait.
#[derive(Clone, Copy)]
pub struct ThreadSupport {
    /// Makes all later calls take the lock. Called once, while one thread calls MPI.
    pub enable: fn(),
    /// Releases the lock if the calling thread holds it. Returns the number of nested calls that hold it, 0 if none does.
    pub suspend: fn() -> u32,
    /// Takes the lock again for as many nested calls; does nothing for 0. Blocks until the lock is free.
    pub resume: fn(u32),
    /// Returns an identifier of the calling thread: unique in the process, and not 0.
    pub thread: fn() -> usize,
}

static THREADS: spin::Once<ThreadSupport> = spin::Once::new();

/// Identifier of the thread that has initialized MPI; 0: the host does not know threads.
static MAIN_THREAD: AtomicUsize = AtomicUsize::new(0);

/// Provides the process with the lock. Later calls change nothing.
pub fn support_threads(threads: ThreadSupport) {
    THREADS.call_once(|| threads);
}

/// Returns the lock; `None` if at most one thread calls MPI at a time.
pub fn thread_support() -> Option<&'static ThreadSupport> {
    THREADS.get()
}

/// Checks whether the program may request the lock. All processes of a program return the same value, so that their
/// collectives can depend on it.
pub fn may_have_threads() -> bool {
    cfg!(target_os = "linux") && thread_support().is_some()
}

/// Records that the calling thread initializes MPI.
pub fn note_main_thread() {
    if let Some(threads) = THREADS.get() {
        MAIN_THREAD.store((threads.thread)(), Ordering::Relaxed);
    }
}

/// Checks whether the calling thread has initialized MPI. True if the host does not know threads.
pub fn is_main_thread() -> bool {
    let thread = THREADS.get().map(|threads| (threads.thread)());
    thread.is_none_or(|thread| thread == MAIN_THREAD.load(Ordering::Relaxed))
}

/// Memory of the host that several processes map, for MPI_Win_allocate_shared. It exists as long as a process maps it.
#[derive(Clone, Copy)]
pub struct SharedMemory {
    /// Number of the host. Only processes of the same host share memory.
    pub host: u32,
    /// Creates memory of zeros of this many bytes, at least one. Returns its identifier, with which processes of the same
    /// job find it until it is [closed](Self::close); `None` if there is not enough memory.
    pub create: fn(usize) -> Option<SharedMemoryId>,
    /// Maps the memory with this identifier and size. Returns its address; `None` if that fails.
    pub map: fn(SharedMemoryId, usize) -> Option<usize>,
    /// Makes the identifier invalid. Called by the process that has created the memory.
    pub close: fn(SharedMemoryId),
    /// Removes the memory of this address and size from this process.
    pub unmap: fn(usize, usize),
}

/// Identifier of shared memory: two numbers of the host.
pub type SharedMemoryId = [i64; 2];

static SHARED_MEMORY: spin::Once<SharedMemory> = spin::Once::new();

/// Provides the process with memory that processes of its host share. Later calls change nothing.
pub fn provide_shared_memory(memory: SharedMemory) {
    SHARED_MEMORY.call_once(|| memory);
}

/// Returns the memory that processes of this host share; `None` if processes share none.
pub fn shared_memory() -> Option<&'static SharedMemory> {
    if cfg!(target_os = "linux") {
        SHARED_MEMORY.get()
    } else {
        None
    }
}

/// Processes of MPI_COMM_WORLD among the nodes of the torus, in a job whose processes come and go (MPI-3.1 chapter 10). The
/// nodes of the torus are the *universe*: processes of several worlds, and spare nodes.
#[derive(Clone, Copy, Debug)]
pub struct WorldPlace {
    /// The processes, by rank; `None`: the first ones of the torus.
    list: Option<&'static [Rank]>,
    /// Number of processes.
    pub size: u32,
    /// Value of the attribute MPI_UNIVERSE_SIZE; `None`: it is not set.
    pub universe: Option<u32>,
    /// Process that has started this world; `None`: the tool has.
    pub parent: Option<Rank>,
}

impl WorldPlace {
    /// Creates the world of the `size` processes of the torus from `first` on. Allocates a list that is never freed.
    pub fn new(first: u32, size: u32, universe: Option<u32>, parent: Option<Rank>) -> WorldPlace {
        let list = (first..first.saturating_add(size)).map(Rank::new);
        WorldPlace {
            list: (first > 0).then(|| &*list.collect::<Vec<Rank>>().leak()),
            size,
            universe,
            parent,
        }
    }

    /// Returns the processes by rank; `None`: each rank is the one on the torus.
    pub fn list(&self) -> Option<&'static [Rank]> {
        self.list
    }
}

static WORLD: spin::Once<WorldPlace> = spin::Once::new();

/// Limits MPI_COMM_WORLD to a part of the torus. The host calls it before the program's `main`. Later calls change nothing.
pub fn set_world(world: WorldPlace) {
    WORLD.call_once(|| world);
}

/// Returns the part of the torus that MPI_COMM_WORLD is; `None`: all of it.
#[inline]
pub fn world() -> Option<&'static WorldPlace> {
    if cfg!(target_os = "linux") { WORLD.get() } else { None }
}

/// Requests of a process to the tool that manages its job. Requests and answers are lists of fields (`job_requests` in
/// `midplane_abi`).
#[derive(Clone, Copy)]
pub struct JobService {
    /// Posts a request. Returns false while an earlier one has no answer.
    pub post: fn(&[&[u8]]) -> Result<bool, RequestTooLong>,
    /// Returns the answer and forgets it; `None`: there is none yet. The tool wakes the node when there is.
    pub answer: fn() -> Option<Vec<Vec<u8>>>,
    /// Sends bytes over a stream socket of the program, and receives as many. Blocks; returns false if that fails.
    pub exchange: fn(i32, &[u8], &mut [u8]) -> bool,
    /// Number of the job among those of this host.
    pub job: u64,
}

/// A request is longer than the memory for requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestTooLong;

static JOB_SERVICE: spin::Once<JobService> = spin::Once::new();

/// Provides the process with requests to its tool. Later calls change nothing.
pub fn provide_job_service(service: JobService) {
    JOB_SERVICE.call_once(|| service);
}

/// Returns the requests to the tool; `None` if no tool manages the job, or it serves none.
pub fn job_service() -> Option<&'static JobService> {
    if cfg!(target_os = "linux") {
        JOB_SERVICE.get()
    } else {
        None
    }
}
