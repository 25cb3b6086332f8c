//! Interface of a rank to its node, for the C binding and for `cluster.c`.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io;
use std::mem;
use std::os::fd::{IntoRawFd, RawFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use kernel_rt::board::linux::share::{NO_RANK, PRINT_MARK};
use kernel_rt::board::linux::sim_nodes::{AccountTable, fail_here, name};
use midplane_abi::blackboard::FailureCode;
use midplane_cluster::{OperationCosts, SimProcess};
use midplane_device::interface::{Device, EnterDevice, MeasuredQuantity, Work};
use midplane_objects::installed::{MpiPhase, phase};
use midplane_objects::{Env, Process};

use crate::socket::{MAX_PRINTED, hand_on};
use crate::system::{SystemState, duplicate};
use crate::workers;

unsafe extern "C" {
    /// Time of the rank's alarm, in nanoseconds of virtual time; 0 if there is none. Defined in `cluster_system.c`.
    static midplane_alarm: u64;
    /// Sends the rank the signal of an expired alarm.
    fn midplane_ring(now: u64);
}

/// Costs of the programs' computation in virtual time.
static COSTS: OnceLock<OperationCosts> = OnceLock::new();
/// CPU time in nanoseconds at which the running rank's program returned from its last call; 0 before the first. This
/// variable is part of the program's data: each rank has its own.
static CAME_BACK: AtomicU64 = AtomicU64::new(0);
/// Basic blocks that the running rank's program has executed since its last call. Each rank has its own.
static BLOCKS: AtomicU64 = AtomicU64::new(0);

/// Counts a basic block: a program calls this function in each of them if it is compiled with
/// `-fsanitize-coverage=trace-pc`.
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_trace_pc() {
    // The process has one thread, so that no atomic addition is required.
    BLOCKS.store(BLOCKS.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// Sets the costs of the programs' computation.
pub fn set_costs(costs: OperationCosts) {
    // The process runs one job.
    let _ = COSTS.set(costs);
}

fn costs() -> Option<&'static OperationCosts> {
    COSTS
        .get()
        .filter(|costs| costs.compute_percent != 0 || costs.compute_ns_per_block > 0.0)
}

/// Returns the CPU time of this thread in nanoseconds.
fn processor_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a variable for the time; without such a clock it stays 0. The C library's function belongs to the ranks
    // (`cluster.c`) and returns virtual time.
    unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Charges the program's computation since its last call to virtual time.
fn pay_computing(node: &SimProcess<'_, '_>) {
    let Some(costs) = costs() else { return };
    let blocks = costs.blocks(BLOCKS.swap(0, Ordering::Relaxed));
    let came_back = CAME_BACK.load(Ordering::Relaxed);
    let measured = match (costs.compute_percent, came_back) {
        (0, _) | (_, 0) => 0,
        (percent, came_back) => {
            let spent = processor_ns().saturating_sub(came_back);
            u64::try_from(u128::from(spent) * u128::from(percent) / 100).unwrap_or(u64::MAX)
        }
    };
    match blocks.saturating_add(measured) {
        0 => {}
        ns => node.compute_ns(ns),
    }
}

fn restart_clock() {
    if costs().is_some_and(|costs| costs.compute_percent != 0) {
        CAME_BACK.store(processor_ns(), Ordering::Relaxed);
    }
}

/// Executes a call of the running rank, between two phases of its program's computation.
fn call<R>(f: impl FnOnce(&'static SimProcess<'static, 'static>) -> R) -> R {
    let node = here().node;
    pay_computing(node);
    let result = f(node);
    restart_clock();
    result
}

/// The running rank.
#[derive(Clone, Copy)]
struct RunningRank {
    node: &'static SimProcess<'static, 'static>,
    accounts: &'static AccountTable,
    system: &'static SystemState,
}

/// Location of its node. This variable is part of the program's data: each rank has its own.
struct RunningRankCell(Cell<Option<RunningRank>>);

// SAFETY: the process has one thread.
unsafe impl Sync for RunningRankCell {}

static HERE: RunningRankCell = RunningRankCell(Cell::new(None));

/// Sets the running rank's node.
///
/// # Safety
/// The rank never ends by returning, nor by unwinding, and the node's cluster outlives it.
pub unsafe fn begin(node: &SimProcess<'_, '_>, accounts: &'static AccountTable, system: &'static SystemState) {
    // SAFETY: only the lifetimes change, and the caller guarantees that none of them ends before the rank.
    let node = unsafe { mem::transmute::<&SimProcess<'_, '_>, &'static SimProcess<'static, 'static>>(node) };
    HERE.0.set(Some(RunningRank { node, accounts, system }));
    midplane_objects::installed::install(&RankEnv);
    restart_clock();
}

fn here() -> RunningRank {
    HERE.0.get().expect("programs call, and each has begun")
}

/// The device of the running rank.
struct RankEnv;

impl EnterDevice for RankEnv {
    fn enter<'w>(&self, work: &'w mut Work<'w>) {
        call(|node| {
            node.enter(work);
            ring_if_due(node);
        });
    }
}

impl Env for RankEnv {
    fn process(&self) -> &Process {
        here().node.process()
    }
}

/// Writes the nodes' counters for the tool, which then ends the job. A node that is making a step writes them after it.
pub fn answer() {
    if let Some(here) = HERE.0.get() {
        here.node.count_all();
    }
}

/// Returns virtual time in nanoseconds. The call itself takes as long as an MPI call, so that a loop that waits for a
/// time ends.
#[unsafe(no_mangle)]
extern "C" fn midplane_now() -> u64 {
    call(|node| {
        let now = node.measure(MeasuredQuantity::Now);
        ring_if_due(node);
        now
    })
}

/// Sends the signal of an expired alarm.
fn ring_if_due(node: &SimProcess<'_, '_>) {
    // SAFETY: a variable of `cluster_system.c`, which only this thread writes to.
    let alarm = unsafe { midplane_alarm };
    if alarm != 0 && node.now_ns() >= alarm {
        // SAFETY: the signal's handler runs on the program's behalf, as in any of its calls.
        unsafe { midplane_ring(node.now_ns()) };
    }
}

/// Makes the program sleep for `ns` nanoseconds.
#[unsafe(no_mangle)]
extern "C" fn midplane_sleep(ns: u64) {
    call(|node| node.compute_ns(ns));
}

/// Ends the rank's program after its exit handlers.
#[unsafe(no_mangle)]
extern "C" fn midplane_leave(status: c_int) -> ! {
    if phase() == MpiPhase::Running {
        fail_here(
            FailureCode::MpiError,
            if status == 0 { 1 } else { status },
            &format!(
                "{}: the program ended with status {status} without MPI_Finalize; others may be waiting for it",
                name()
            ),
        );
    }
    let RunningRank { node, accounts, .. } = here();
    pay_computing(node);
    accounts.done(node.rank(), status);
    node.exit(status)
}

/// Fails because the program calls an unsupported function, for this reason.
#[unsafe(no_mangle)]
unsafe extern "C" fn midplane_refuse(function: *const c_char, why: *const c_char) -> ! {
    // SAFETY: a name and a reason in `cluster.c` and related files.
    let [function, why] = unsafe { [function, why].map(|text| CStr::from_ptr(text).to_string_lossy()) };
    fail_here(
        FailureCode::MpiError,
        1,
        &format!(
            "{}: the program calls {function}, and {why}; run it with --on linux",
            name()
        ),
    );
}

/// Announces that the rank is about to change system state of the kind with this number ([`SystemState::uses`]).
#[unsafe(no_mangle)]
extern "C" fn midplane_uses(kind: c_int) {
    // A library may change it before there are ranks.
    let Some(RunningRank { node, system, .. }) = HERE.0.get() else {
        return;
    };
    if let Err(error) = system.uses(node.rank() as usize, kind as usize) {
        let why = format!("{}: the state of this rank cannot be kept: {error}", name());
        fail_here(FailureCode::MpiError, 1, &why);
    }
}

/// The tool's descriptors of the streams 1 and 2, unaffected by the programs' use of these numbers.
static STREAMS: [AtomicI32; 2] = [AtomicI32::new(1), AtomicI32::new(2)];

/// Duplicates the descriptors of the streams for output. Fails if the system has none.
pub fn keep_streams() -> io::Result<()> {
    for (number, kept) in (1..).zip(&STREAMS) {
        kept.store(duplicate(number)?.into_raw_fd(), Ordering::Relaxed);
    }
    Ok(())
}

/// Returns the descriptor of a stream, 1 or 2.
fn saved_stream(stream: c_int) -> RawFd {
    STREAMS[usize::from(stream == 2)].load(Ordering::Relaxed)
}

/// Prints to a stream, 1 or 2, on behalf of `rank`.
#[unsafe(no_mangle)]
unsafe extern "C" fn midplane_print(rank: u32, stream: c_int, bytes: *const c_void, count: usize) {
    // SAFETY: the program's output.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), count) };
    for part in bytes.chunks(MAX_PRINTED) {
        send(rank, stream, part);
    }
}

/// Returns the running rank, for output without a stream.
#[unsafe(no_mangle)]
extern "C" fn midplane_rank() -> u32 {
    HERE.0.get().map_or(NO_RANK, |here| here.node.rank())
}

/// Sends a part of the output to the tool; blocks until there is space. Without the tool the output is not needed.
pub fn send(rank: u32, stream: c_int, part: &[u8]) {
    let message = [&PRINT_MARK, &rank.to_ne_bytes()[..], part].concat();
    match workers::worker() {
        Some(worker) => worker.print(stream, &message),
        None => hand_on(saved_stream(stream), &message),
    }
}
