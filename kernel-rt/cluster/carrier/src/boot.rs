//! Runs a job, from the process's start to the job's end.

use std::cell::Cell;
use std::ffi::{CString, c_char, c_int};
use std::time::Duration;

use kernel_rt::board::linux::share::NO_RANK;
use kernel_rt::board::linux::sim_nodes::{AccountTable, ToolParameters, boot_failed, fail_here, name};
use kernel_rt::board::matching;
use midplane_abi::address::AddressRange;
use midplane_abi::blackboard::{CallRecord, FailureCode};
use midplane_abi::boot_parameters::BootParameters;
use midplane_abi::captured_frames::FrameRecord;
use midplane_cluster::{
    BlockOutcome, Cluster, CostChange, JobFailure, JobProgress, OperationCosts, ProgramHost, SimProcess,
};
use midplane_device::Adi;
use midplane_device::kernel::{AbortReason, CallInfo};
use midplane_objects::ErrorText;
use net_torus::{Direction, Router};

use crate::capture::FrameCapture;
use crate::data::ProgramData;
use crate::explorer;
use crate::rank;
use crate::system::SystemState;
use crate::thread::ThreadStates;
use crate::workers::{self, ProcessRole, WorkerProcess};

/// Default MPI memory of a node, in bytes.
const MPI_MEMORY: u64 = 1 << 20;
/// Seed of the devices' hash tables.
const SEED: u64 = 1;
/// Interval of progress messages.
const WORD: Duration = Duration::from_secs(10);
/// Stacks consist of complete pages.
const PAGE: usize = 4096;

unsafe extern "C" {
    /// Runs the program as this rank, until [`rank::midplane_leave`]. Defined in `cluster.c`.
    fn midplane_begin(rank: u32, argc: c_int, argv: *const *const c_char) -> !;
}

/// Runs the job instead of the program's `main`.
#[unsafe(no_mangle)]
extern "C" fn midplane_cluster() -> ! {
    let Some(told) = ToolParameters::read() else {
        eprintln!("this program requires `midplane run --on cluster`, which starts it");
        std::process::abort();
    };
    let capture = told.capture.as_ref().map(FrameCapture::open);
    let capture = capture.transpose().unwrap_or_else(|why| boot_failed(why));
    let schedule = explorer::schedule(&told);
    let boot = told.boot_parameters();
    let ranks = boot.shape.nodes();
    let costs = costs(&boot, &told.costs);
    rank::set_costs(costs);
    let matching = matching::select_engine(boot.matching);
    let mut cluster = cluster(&boot, told.processors, costs).matching(matching);
    if let Some(schedule) = schedule {
        cluster = cluster.explore(schedule, explorer::OBSERVER);
    }
    let worker = divide_process(&told, &boot, &cluster);
    let here = worker.map_or(0..ranks as usize, |worker| worker.block.ranks());
    let accounts: &'static AccountTable = Box::leak(Box::new(told.accounts(boot.shape, matching, here.len() as u32)));
    if let Err(error) = rank::keep_streams() {
        boot_failed(format_args!("no descriptors for what is printed: {error}"));
    }
    let system: &'static SystemState = Box::leak(Box::new(SystemState::new(ranks as usize)));
    let data = match ProgramData::new(ranks as usize) {
        Ok(data) => data,
        Err(error) => accounts.fail(
            0,
            FailureCode::Boot,
            1,
            &format!("no room for the data of {ranks} ranks: {error}"),
        ),
    };
    let carried = SimCallbacks {
        in_place: Cell::new(None),
        data,
        threads: ThreadStates::new(ranks as usize),
        system,
        accounts,
        worker,
        capture,
    };
    let program = |node: &SimProcess<'_, '_>| {
        accounts.begin(node.rank(), stack(told.stack_bytes()));
        let own = boot.programs.for_rank(node.rank());
        let strings: Vec<CString> = { own.arguments.iter() }
            // Strings of a record end at a zero byte.
            .filter_map(|string| CString::new(string).ok())
            .collect();
        let argv: Vec<*const c_char> = strings.iter().map(|string| string.as_ptr()).collect();
        // SAFETY: the program ends by `SimProcess::exit`, and never returns; the cluster exists until the process's end.
        unsafe {
            rank::begin(node, accounts, system);
            midplane_objects::installed::set_appnum(own.number);
            midplane_begin(node.rank(), argv.len() as c_int, argv.as_ptr())
        }
    };
    let mut progress = ProgressMessages::new(ranks);
    let mut watch = |watched| {
        if here.start == 0 {
            progress.tell(watched);
        }
        true
    };
    told.answer_by(rank::answer);
    let block = worker.map(|worker| &worker.block);
    let job = cluster.carry(told.stack_bytes(), block, &carried, program, &mut watch);
    match job {
        Ok(ended) => report_outcome(accounts, worker, here.start as u32, ended),
        Err(error) => {
            let why = format!(
                "the host refuses stacks for {ranks} ranks: {error}; below Linux 6.13 each takes two mappings of those \
                 that /proc/sys/vm/max_map_count allows"
            );
            accounts.fail(0, FailureCode::Boot, 1, &why)
        }
    }
    // The tool detects that all have ended.
    loop {
        std::thread::park();
    }
}

/// Divides the process if several workers are specified, and returns the worker that this process becomes; the original
/// process remains in this function.
fn divide_process(
    told: &ToolParameters,
    boot: &BootParameters<'_>,
    cluster: &Cluster,
) -> Option<&'static WorkerProcess> {
    let division = cluster.division()?;
    if division.count() == 1 {
        return None;
    }
    match workers::divide(division) {
        Ok(ProcessRole::Worker(worker)) => Some(worker),
        Ok(ProcessRole::First(first)) => {
            let accounts = told.accounts(boot.shape, matching::select_engine(boot.matching), 0);
            hang(&accounts, Some(first.hand_on()));
        }
        Err(error) => boot_failed(format_args!("no more processes: {error}")),
    }
}

/// Reports the statuses of the programs from rank `first`.
fn report_outcome(accounts: &AccountTable, worker: Option<&WorkerProcess>, first: u32, ended: BlockOutcome) {
    match ended {
        Ok(statuses) => {
            // SAFETY: all streams, none of which a program is using: files that programs have not closed are written,
            // as at the end of a process.
            unsafe { libc::fflush(std::ptr::null_mut()) };
            if explorer::is_run() {
                explorer::end(Ok(statuses));
            }
            if let Some(worker) = worker {
                worker.mark(workers::END);
                worker.wait_for_the_prints();
            }
            accounts.all_done((first..).zip(statuses));
        }
        Err(failure) if explorer::is_run() => explorer::end(Err(failure)),
        Err(Some(JobFailure::Hang(calls))) => {
            let mut waiting = (first..).zip(calls).filter(|(_, call)| call.is_some());
            let waiting = waiting.next().map(|(rank, _)| rank);
            match worker {
                None => hang(accounts, waiting),
                Some(worker) => {
                    if let Some(rank) = waiting {
                        worker.waits(rank);
                    }
                    worker.mark(workers::END);
                }
            }
        }
        Err(Some(JobFailure::ForeignSchedule)) => {
            let why = "the program does not make the decisions of the schedule";
            accounts.fail(0, FailureCode::Boot, 1, why)
        }
        Err(Some(JobFailure::Redundant)) => {
            let why = "the schedule leaves a receive to messages that are never sent";
            accounts.fail(0, FailureCode::Boot, 1, why)
        }
        Err(Some(failure)) => accounts.fail(0, FailureCode::Panic, 1, &format!("{failure:?}")),
        // Another worker reports the failure.
        Err(None) => {}
    }
}

/// Returns the cost model with the tool's changes.
fn costs(boot: &BootParameters<'_>, changes: &str) -> OperationCosts {
    let changes = changes.split(',').filter(|word| !word.is_empty());
    let changes: Result<Vec<CostChange>, String> = changes.map(CostChange::parse).collect();
    let costs = OperationCosts {
        interrupt_percent: boot.interrupts.unwrap_or(100).into(),
        ..OperationCosts::BLUE_GENE
    };
    costs.with(changes.unwrap_or_else(|why| boot_failed(why)))
}

fn cluster(boot: &BootParameters<'_>, processors: usize, costs: OperationCosts) -> Cluster {
    Cluster::new(boot.shape.extents())
        .wraps(boot.shape.wraps())
        .mpi_memory(boot.mpi_memory.unwrap_or(MPI_MEMORY) as usize)
        .eager(boot.eager.map(|bytes| bytes as usize))
        .costs(costs)
        .seed(SEED)
        .processors(processors)
}

/// Returns the stack of the calling coroutine; its first page contains the current frame.
fn stack(bytes: usize) -> AddressRange {
    let here = 0_u8;
    let end = (&raw const here).addr().next_multiple_of(PAGE);
    AddressRange {
        start: (end - bytes) as u64,
        end: end as u64,
    }
}

/// Ends a job that makes no more progress, on the account of a rank that waits. The tool explains it from the accounts of
/// all ranks.
fn hang(accounts: &AccountTable, waiting: Option<u32>) -> ! {
    let why = "each program waits, and the simulator has no more events";
    accounts.fail(waiting.unwrap_or(0), FailureCode::Hang, 1, why)
}

/// Callbacks of the simulator to its process.
struct SimCallbacks {
    /// The rank whose state is in place; `None` before any has run.
    in_place: Cell<Option<usize>>,
    data: ProgramData,
    threads: ThreadStates,
    system: &'static SystemState,
    accounts: &'static AccountTable,
    worker: Option<&'static WorkerProcess>,
    capture: Option<FrameCapture>,
}

impl ProgramHost for SimCallbacks {
    fn resume_rank(&self, rank: usize, now_ns: u64) {
        if let Some(worker) = self.worker {
            worker.set_running(rank, now_ns);
        }
        let before = self.in_place.replace(Some(rank));
        if before == Some(rank) {
            return;
        }
        let now = self.threads.keep(before);
        self.data.swap_in(before, rank);
        if let Err(error) = self.system.swap_in(before, rank) {
            let why = format!("the state of rank {rank} cannot be put back: {error}");
            self.accounts.fail(rank as u32, FailureCode::Boot, 1, &why);
        }
        self.threads.swap_in(rank, now);
    }

    fn is_unsettled(&self) -> bool {
        self.worker.is_some_and(WorkerProcess::is_unsettled)
    }

    fn settles(&self, until_ns: u64, rank: u32) {
        if let Some(worker) = self.worker {
            worker.mark((until_ns, rank));
        }
    }

    fn notes(&self, rank: usize, call: Option<CallInfo>) {
        let call = call.map(|call| CallRecord {
            function: call.function,
            peer: call.peer,
            tag: call.tag,
        });
        self.accounts.call(rank as u32, call);
    }

    fn aborts(&self, why: AbortReason<'_>, status: i32) -> ! {
        match why {
            AbortReason::MpiAbort => {
                let message = format!("{}: MPI_Abort was called with status {status}", name());
                fail_here(FailureCode::MpiAbort, status, &message)
            }
            AbortReason::MpiError(error) => fail_here(FailureCode::MpiError, status, &ErrorText(error).to_string()),
            AbortReason::DeadLink => fail_here(FailureCode::LinkLost, status, "a link is dead"),
        }
    }

    fn counted(&self, rank: usize, index: usize) -> u64 {
        self.accounts.counted(rank as u32, index)
    }

    fn counts(&self, rank: usize, adi: &Adi, router: &Router<'_>, times_ns: [u64; 2]) {
        self.accounts.count(rank as u32, adi, router, times_ns);
        self.accounts.answered(rank as u32);
    }

    fn reports_queues(&self, rank: usize, adi: &mut Adi) {
        self.accounts.show_queues(rank as u32, adi);
    }

    fn is_asked(&self, rank: usize) -> bool {
        self.accounts.is_asked(rank as u32)
    }

    fn shows_location(&self, rank: usize) {
        // An exploration repeats the schedule of a hang in a job of its own.
        if !explorer::is_run() {
            self.accounts.show_location(rank as u32);
        }
    }

    fn captures_frames(&self) -> bool {
        self.capture.is_some()
    }

    fn captures_frame(&self, now_ns: u64, rank: u32, direction: Direction, frame: &[u8]) {
        if let Some(capture) = &self.capture {
            capture.add(FrameRecord {
                time_ns: now_ns,
                rank,
                direction,
                frame,
            });
        }
    }
}

/// Progress messages of the job.
struct ProgressMessages {
    ranks: u32,
    began: Duration,
    said: Duration,
}

impl ProgressMessages {
    fn new(ranks: u32) -> ProgressMessages {
        let now = host_time();
        ProgressMessages {
            ranks,
            began: now,
            said: now,
        }
    }

    fn tell(&mut self, JobProgress { now_ns, ended }: JobProgress) {
        let now = host_time();
        if now - self.said < WORD {
            return;
        }
        self.said = now;
        let line = format!(
            // Uses integers: the floating-point environment belongs to a program.
            "{}.{:03} ms of virtual time after {} s; {ended} of {} programs have ended\n",
            now_ns / 1_000_000,
            now_ns / 1_000 % 1_000,
            (now - self.began).as_secs(),
            self.ranks
        );
        rank::send(NO_RANK, 2, line.as_bytes());
    }
}

/// Returns the host's clock, not the programs' virtual one.
fn host_time() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the time to `now`; this clock always exists. Uses the system call: `clock_gettime` is the
    // programs'.
    unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
