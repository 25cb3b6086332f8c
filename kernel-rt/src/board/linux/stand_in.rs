//! What goes on while the program computes: a thread that stands in for the program's calls.
//!
//! Links between processes cannot interrupt a program as a node's do. A signal could, but it would end the program's
//! own system calls early, such as `sleep` and `poll`. So a thread makes the steps that an interrupt makes, while the
//! program has the node to itself by no call. It has a stack of its own and the lock that calls have, all signals go to
//! the program, and what it does needs no memory: it does not matter where in `malloc` the program is.
//!
//! The thread is there for what needs it: it is started by the first call that leaves a request, a window, packets for
//! which a link has no room or, where the process has a processor to itself, an answer that waits for something to go with. A
//! program that shares its processor, blocks in every receive and sends short messages has none. It looks each
//! millisecond whether a call has ended since, less often while the program is in calls; where none has, it serves, and
//! waits for the links as a call does that sleeps. When nothing needs it for a while it sleeps until something does.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::{mem, ptr, thread};

use super::held::{self, try_node};
use super::platform::{LinuxNode, futex_wait, futex_wake};
use super::tool;
use crate::dev::ring::Asleep;

/// How long a program computes before it is stood in for, in nanoseconds.
const PAUSE_NS: u64 = 1_000_000;
/// The longest pause between two looks at a program that is in calls.
const MOST_PAUSE_NS: u64 = 8 * PAUSE_NS;
/// The longest wait for links before the next look at the program.
const WAIT_NS: u64 = 10 * PAUSE_NS;
/// The pause where links do not wake, since the program is to have the processor first.
const SLICE_NS: u64 = 50_000;
/// Looks, one after the other, at which nothing needs the thread, before it sleeps.
const IDLE_LOOKS: u32 = 16;
const STACK_BYTES: usize = 256 << 10;

/// What the thread does.
static STATE: AtomicU32 = AtomicU32::new(ABSENT);
const ABSENT: u32 = 0;
const AT_WORK: u32 = 1;
const ASLEEP: u32 = 2;
/// The program has ended, and the thread with it.
const ENDED: u32 = 3;

static THREAD: Mutex<Option<JoinHandle<()>>> = Mutex::new(None);

/// A call is about to end, which has the node: what it leaves may need the thread.
#[inline]
pub fn call_ended(node: &LinuxNode) {
    if STATE.load(Ordering::Relaxed) != AT_WORK && node.is_interruptible() && node.is_under_way() {
        to_work();
    }
}

#[cold]
fn to_work() {
    match STATE.load(Ordering::Relaxed) {
        ENDED => return,
        _ if STATE.swap(AT_WORK, Ordering::Relaxed) == ASLEEP => return futex_wake(&STATE),
        _ => {}
    }
    // SAFETY: both sets are here, and the mask is set back as it was.
    unsafe {
        let (mut all, mut before) = (mem::zeroed(), mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        // Without a thread the node goes on in calls alone.
        let started = thread::Builder::new().stack_size(STACK_BYTES).spawn(run);
        if let Ok(mut thread) = THREAD.lock() {
            *thread = started.ok();
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut());
    }
}

/// Ends the thread, since the program has ended: leak checkers look at what a thread has. Blocks for as long as a pause at
/// most.
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

/// What a look has found.
enum Look {
    /// The program is in a call, or has been since the last look.
    Calls,
    /// Nothing needs the thread.
    Idle,
    /// The program computes, and what there was to do has been done.
    Served(&'static Asleep),
}

fn run() {
    let (mut seen, mut pause, mut idle) = (held::calls(), PAUSE_NS, 0);
    while STATE.load(Ordering::Relaxed) != ENDED {
        sleep(pause);
        match try_node(|node| look(node, &mut seen)).unwrap_or(Look::Calls) {
            Look::Calls => pause = (2 * pause).clamp(PAUSE_NS, MOST_PAUSE_NS),
            Look::Idle if idle < IDLE_LOOKS => (idle, pause) = (idle + 1, MOST_PAUSE_NS),
            Look::Idle => {
                // Under the lock, so that no call's need is missed.
                try_node(|node| {
                    if !node.is_under_way() {
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
            Look::Served(word) => {
                (idle, pause) = (0, 0);
                match word.word().load(Ordering::Relaxed) == Asleep::ARMED {
                    true => futex_wait(word.word(), Asleep::ARMED, Some(WAIT_NS)),
                    false => pause = SLICE_NS,
                }
            }
        }
    }
}

fn look(node: &mut LinuxNode, seen: &mut u32) -> Look {
    tool::answer(node);
    let calls = held::calls();
    if mem::replace(seen, calls) != calls {
        return Look::Calls;
    }
    if !node.is_under_way() {
        return Look::Idle;
    }
    node.interrupted();
    Look::Served(node.platform().word)
}

fn sleep(ns: u64) {
    if ns > 0 {
        thread::sleep(std::time::Duration::from_nanos(ns));
    }
}
