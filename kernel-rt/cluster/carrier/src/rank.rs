//! A rank's way to its node, for the C binding and for `cluster.c`.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io;
use std::mem;
use std::os::fd::{IntoRawFd, RawFd};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use kernel_rt::board::linux::carried::{Accounts, fail_here, name};
use kernel_rt::board::linux::share::{NO_RANK, PRINT_MARK};
use midplane_abi::blackboard::End;
use midplane_cluster::Node;
use midplane_device::interface::{Device, Enter, Measure, Work};
use midplane_objects::installed::{Phase, phase};
use midplane_objects::{Env, Process};

use crate::several;
use crate::socket::{MOST_PRINTED, hand_on};
use crate::system::{System, duplicate};

unsafe extern "C" {
    /// When the rank's alarm goes off, in nanoseconds of virtual time; 0: it has none. In `cluster_system.c`.
    static midplane_alarm: u64;
    /// Sends the rank the signal of an alarm that has gone off.
    fn midplane_ring(now: u64);
}

/// How many percent of the process's processor time the programs' computing takes in virtual time.
static COMPUTE_PERCENT: AtomicU64 = AtomicU64::new(0);
/// Nanoseconds of processor time at which the program of the rank that goes on has come back from its last call; 0: it has
/// made none. This is a variable of the program's data: each rank finds its own.
static CAME_BACK: AtomicU64 = AtomicU64::new(0);

/// From now on the programs' computing takes this share of the processor's time.
pub fn compute_for(percent: u64) {
    COMPUTE_PERCENT.store(percent, Ordering::Relaxed);
}

/// Nanoseconds of a processor that this thread has taken.
fn processor_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a place for the time; without such a clock it stays 0. The C library's function is the ranks' (`cluster.c`), which
    // tells virtual time.
    unsafe {
        libc::syscall(
            libc::SYS_clock_gettime,
            libc::CLOCK_THREAD_CPUTIME_ID,
            &raw mut time,
        )
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// What the program has computed since it came back from its last call takes its time.
fn pay_computing(node: &Node<'_, '_>) {
    let percent = COMPUTE_PERCENT.load(Ordering::Relaxed);
    let came_back = CAME_BACK.load(Ordering::Relaxed);
    if percent == 0 || came_back == 0 {
        return;
    }
    let spent = processor_ns().saturating_sub(came_back);
    let ns = u128::from(spent) * u128::from(percent) / 100;
    node.compute_ns(u64::try_from(ns).unwrap_or(u64::MAX));
}

/// The program goes on.
fn go_on() {
    if COMPUTE_PERCENT.load(Ordering::Relaxed) != 0 {
        CAME_BACK.store(processor_ns(), Ordering::Relaxed);
    }
}

/// A call of the rank that goes on, between two stretches of its program's computing.
fn call<R>(f: impl FnOnce(&'static Node<'static, 'static>) -> R) -> R {
    let node = here().node;
    pay_computing(node);
    let result = f(node);
    go_on();
    result
}

/// The rank that goes on.
#[derive(Clone, Copy)]
struct Here {
    node: &'static Node<'static, 'static>,
    accounts: &'static Accounts,
    system: &'static System,
}

/// Where its node is. This is a variable of the program's data: each rank finds its own.
struct HereCell(Cell<Option<Here>>);

// SAFETY: the process has one thread.
unsafe impl Sync for HereCell {}

static HERE: HereCell = HereCell(Cell::new(None));

/// The rank that goes on has this node from now on.
///
/// # Safety
/// The rank never ends by returning, nor by unwinding, and the cluster that the node is of outlives it.
pub unsafe fn begin(node: &Node<'_, '_>, accounts: &'static Accounts, system: &'static System) {
    // SAFETY: only the lifetimes change, and the caller says that none of them ends before the rank.
    let node = unsafe { mem::transmute::<&Node<'_, '_>, &'static Node<'static, 'static>>(node) };
    HERE.0.set(Some(Here {
        node,
        accounts,
        system,
    }));
    midplane_objects::installed::install(&RankEnv);
    go_on();
}

fn here() -> Here {
    HERE.0.get().expect("programs call, and each has begun")
}

/// The device of the rank that goes on.
struct RankEnv;

impl Enter for RankEnv {
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

/// Says what the nodes have counted, for the tool, which then ends the job. A node that is at work says it itself when it has
/// made its step.
pub fn answer() {
    if let Some(here) = HERE.0.get() {
        here.node.count_all();
    }
}

/// Nanoseconds of virtual time. To ask takes as long as a call of MPI, so that a loop that waits for a time ends.
#[unsafe(no_mangle)]
extern "C" fn midplane_now() -> u64 {
    call(|node| {
        let now = node.measure(Measure::Now);
        ring_if_due(node);
        now
    })
}

/// Sends the signal of an alarm that has gone off.
fn ring_if_due(node: &Node<'_, '_>) {
    // SAFETY: a variable of `cluster_system.c`, which this thread alone writes to.
    let alarm = unsafe { midplane_alarm };
    if alarm != 0 && node.now_ns() >= alarm {
        // SAFETY: the signal's handler runs on the program's behalf, as in any of its calls.
        unsafe { midplane_ring(node.now_ns()) };
    }
}

/// The program sleeps so long.
#[unsafe(no_mangle)]
extern "C" fn midplane_sleep(ns: u64) {
    call(|node| node.compute_ns(ns));
}

/// The program has ended, and what it had to do at its end is done.
#[unsafe(no_mangle)]
extern "C" fn midplane_leave(status: c_int) -> ! {
    if phase() == Phase::Running {
        fail_here(
            End::MpiError,
            if status == 0 { 1 } else { status },
            &format!(
                "{}: the program ended with status {status} without MPI_Finalize; others may be waiting for it",
                name()
            ),
        );
    }
    let Here { node, accounts, .. } = here();
    pay_computing(node);
    accounts.done(node.rank(), status);
    node.exit(status)
}

/// The program calls a function that it cannot have here, for this reason.
#[unsafe(no_mangle)]
unsafe extern "C" fn midplane_refuse(function: *const c_char, why: *const c_char) -> ! {
    // SAFETY: a name and a reason in `cluster.c` and its like.
    let [function, why] =
        unsafe { [function, why].map(|text| CStr::from_ptr(text).to_string_lossy()) };
    fail_here(
        End::MpiError,
        1,
        &format!(
            "{}: the program calls {function}, and {why}; run it with --on linux",
            name()
        ),
    );
}

/// The rank is about to change state that the system keeps, of the kind with this number ([`System::uses`]).
#[unsafe(no_mangle)]
extern "C" fn midplane_uses(kind: c_int) {
    // A library may change it before there are ranks.
    let Some(Here { node, system, .. }) = HERE.0.get() else {
        return;
    };
    if let Err(error) = system.uses(node.rank() as usize, kind as usize) {
        let why = format!("{}: the state of this rank cannot be kept: {error}", name());
        fail_here(End::MpiError, 1, &why);
    }
}

/// Descriptors of the streams 1 and 2 as the tool has given them, whatever a program does to these numbers.
static STREAMS: [AtomicI32; 2] = [AtomicI32::new(1), AtomicI32::new(2)];

/// Keeps descriptors of the streams for what is printed. Fails where the system has none.
pub fn keep_streams() -> io::Result<()> {
    for (number, kept) in (1..).zip(&STREAMS) {
        kept.store(duplicate(number)?.into_raw_fd(), Ordering::Relaxed);
    }
    Ok(())
}

/// The descriptor of a stream, 1 or 2.
fn kept(stream: c_int) -> RawFd {
    STREAMS[usize::from(stream == 2)].load(Ordering::Relaxed)
}

/// Prints to a stream, 1 or 2, on behalf of `rank`.
#[unsafe(no_mangle)]
unsafe extern "C" fn midplane_print(rank: u32, stream: c_int, bytes: *const c_void, count: usize) {
    // SAFETY: what the program wants printed.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), count) };
    for part in bytes.chunks(MOST_PRINTED) {
        send(rank, stream, part);
    }
}

/// The rank that goes on, for what is printed without a stream.
#[unsafe(no_mangle)]
extern "C" fn midplane_rank() -> u32 {
    HERE.0.get().map_or(NO_RANK, |here| here.node.rank())
}

/// Hands a part to the tool; waits for room. Without the tool there is nothing left to print for.
pub fn send(rank: u32, stream: c_int, part: &[u8]) {
    let message = [&PRINT_MARK, &rank.to_ne_bytes()[..], part].concat();
    match several::worker() {
        Some(worker) => worker.print(stream, &message),
        None => hand_on(kept(stream), &message),
    }
}
