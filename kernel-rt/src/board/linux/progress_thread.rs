//! Progress thread: makes progress while the program computes.
//!
//! Links between processes cannot interrupt a program as a node's links do. A signal could, but it would end the
//! program's own system calls early, such as `sleep` and `poll`. So a thread makes the steps that an interrupt would
//! make, while no call of the program holds the node. It uses its own stack and the lock of the calls, all signals are
//! delivered to the program, and its work allocates no memory: the program may be anywhere inside `malloc`.
//!
//! A rank that may forward packets of others has the thread from its first call on: otherwise it would delay them for as
//! long as it computes. Where all ranks are neighbours, the thread starts only when needed: in the first call that ends with
//! a request, a window, packets that exceed a link's free space or, if the process has its own processor, a delayed
//! acknowledgement. A program that shares its processor, blocks in every receive and sends short messages has no such
//! thread there. Each millisecond, or less often while the program is in calls, the thread checks whether a call has ended
//! since. If none has, it makes progress, and waits for the links like a sleeping call. After a while without work it
//! sleeps until it is needed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::{mem, ptr, thread};

use super::futex::{futex_wait, futex_wake};
use super::node_lock::{self, try_node};
use super::platform::LinuxNode;
use super::{node_sleep, thread_state, tool};
use crate::dev::ring::SleepFlag;

/// Computation time after which the thread makes progress for a program, in nanoseconds.
const PAUSE_NS: u64 = 1_000_000;
/// Maximum pause between two checks of a program that is in calls.
const MAX_PAUSE_NS: u64 = 8 * PAUSE_NS;
/// Maximum wait for links before the next check of the program.
const WAIT_NS: u64 = 10 * PAUSE_NS;
/// Pause if links do not wake the node, since the program should get the processor first.
const SLICE_NS: u64 = 50_000;
/// Consecutive checks without work before the thread sleeps.
const IDLE_LOOKS: u32 = 16;
const STACK_BYTES: usize = 256 << 10;

static STATE: AtomicU32 = AtomicU32::new(ABSENT);
const ABSENT: u32 = 0;
const AT_WORK: u32 = 1;
const ASLEEP: u32 = 2;
/// The program has ended, and the thread with it.
const ENDED: u32 = 3;

/// 1: the thread runs.
static HAS_STARTED: AtomicU32 = AtomicU32::new(0);

static THREAD: Mutex<Option<JoinHandle<()>>> = Mutex::new(None);

/// Starts or wakes the thread at the end of a call that holds the node, if work remains for it.
#[inline]
pub fn on_call_end(node: &LinuxNode) {
    if STATE.load(Ordering::Relaxed) != AT_WORK && node.is_interruptible() && needs_progress(node) {
        to_work();
    }
}

/// Returns whether work can continue while the program computes.
#[inline]
fn needs_progress(node: &LinuxNode) -> bool {
    node.platform().forwards || node.is_under_way() || node_sleep::has_output()
}

#[cold]
fn to_work() {
    match STATE.load(Ordering::Relaxed) {
        ENDED => return,
        _ if STATE.swap(AT_WORK, Ordering::Relaxed) == ASLEEP => return futex_wake(&STATE),
        _ => {}
    }
    // SAFETY: both sets are local, and the mask is restored.
    unsafe {
        let (mut all, mut before) = (mem::zeroed(), mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        // Without a thread the node makes progress in calls only. The C library allocates memory for a thread that starts,
        // and ends the process if there is none: so this waits for it, before the program can take the rest of the memory.
        let started = thread::Builder::new().stack_size(STACK_BYTES).spawn(run);
        while started.is_ok() && HAS_STARTED.load(Ordering::Acquire) == 0 {
            futex_wait(&HAS_STARTED, 0, None);
        }
        if let Ok(mut thread) = THREAD.lock() {
            *thread = started.ok();
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut());
    }
}

/// Ends the thread after the program's end, because leak checkers examine a thread's memory. Blocks for at most one
/// pause.
pub fn end() {
    if STATE.swap(ENDED, Ordering::Relaxed) == ASLEEP {
        futex_wake(&STATE);
    }
    let thread = THREAD.lock().ok().and_then(|mut thread| thread.take());
    if let Some(thread) = thread {
        // It has no result.
        let _ = thread.join();
    }
}

enum NodePoll {
    /// The program is in a call, or was since the last check, or one of its threads waits in a call.
    InCall,
    /// There is no work for the thread.
    Idle,
    /// The program computes, and all pending work is done.
    Served(&'static SleepFlag),
}

fn run() {
    HAS_STARTED.store(1, Ordering::Release);
    futex_wake(&HAS_STARTED);
    let (mut seen, mut pause, mut idle) = (node_lock::calls(), PAUSE_NS, 0);
    while STATE.load(Ordering::Relaxed) != ENDED {
        sleep(pause);
        match try_node(|node| poll_node(node, &mut seen)).unwrap_or(NodePoll::InCall) {
            NodePoll::InCall => pause = (2 * pause).clamp(PAUSE_NS, MAX_PAUSE_NS),
            NodePoll::Idle if idle < IDLE_LOOKS => (idle, pause) = (idle + 1, MAX_PAUSE_NS),
            NodePoll::Idle => {
                // Under the lock, so that no call's request is missed.
                try_node(|node| {
                    if !needs_progress(node) {
                        let order = Ordering::Relaxed;
                        // Unless the program has ended.
                        let _ = STATE.compare_exchange(AT_WORK, ASLEEP, order, order);
                    }
                });
                while STATE.load(Ordering::Relaxed) == ASLEEP {
                    futex_wait(&STATE, ASLEEP, None);
                }
                (idle, pause) = (0, PAUSE_NS);
            }
            NodePoll::Served(word) => {
                (idle, pause) = (0, 0);
                if word.is_armed() {
                    node_sleep::wait_for_ring(word, Some(WAIT_NS));
                } else {
                    pause = SLICE_NS
                }
            }
        }
    }
}

fn poll_node(node: &mut LinuxNode, seen: &mut u32) -> NodePoll {
    tool::answer(node);
    let calls = node_lock::calls();
    if mem::replace(seen, calls) != calls || thread_state::is_in_call() {
        return NodePoll::InCall;
    }
    if !needs_progress(node) {
        return NodePoll::Idle;
    }
    node.interrupted();
    NodePoll::Served(node.platform().word)
}

fn sleep(ns: u64) {
    if ns > 0 {
        thread::sleep(std::time::Duration::from_nanos(ns));
    }
}
