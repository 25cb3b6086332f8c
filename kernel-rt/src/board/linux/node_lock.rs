//! Lock of the process's node, held by a call of the program or by the progress thread.
//!
//! One thread at a time makes calls, in large numbers (with MPI_THREAD_MULTIPLE the lock of [`threads`](super::threads)
//! ensures it), and the progress thread occasionally needs the node between two of them. So a call only announces itself and checks whether
//! the node is taken:
//!
//! ```text
//!   a call      C1  CALLS := odd                 the thread     T1  TAKEN := 1
//!                   (no fence)                                  T2  membarrier: a fence in each thread that runs
//!               C2  TAKEN is 0? it has the node                 T3  CALLS is even? it has the node
//!               C3  CALLS := even                               T4  TAKEN := 0
//! ```
//! Without a fence a processor may perform C2 before others see its C1. But T2 interrupts each thread before its C1 or
//! after it: in the first case the thread sees T1 at C2, and in the second T3 sees C1. So they never hold the node
//! together, and a call requires no locked instruction.
//!
//! The handler of the tool's signal ([`tool`](super::tool)) takes the lock as the progress thread does, if neither a
//! call nor that thread holds it.

use std::cell::UnsafeCell;
use std::hint;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering, compiler_fence};

use midplane_abi::blackboard::FailureCode;
use midplane_abi::fault::NodeName;

use super::futex::{futex_wait, futex_wake};
use super::platform::LinuxNode;
use super::{abort, process};

/// Calls begun plus calls ended: odd while a call holds the node. Written by calls.
static CALLS: AtomicU32 = AtomicU32::new(0);
/// State of the lock for calls. Written by the progress thread or the handler, except [`WAITED_FOR`].
static TAKEN: AtomicU32 = AtomicU32::new(ABSENT);
/// A call can lock the node.
const FREE: u32 = 0;
/// The progress thread holds the node, or is about to check whether it can.
const IN_USE: u32 = 1;
/// [`IN_USE`], and a call waits.
const WAITED_FOR: u32 = 2;
/// There is no node: it was not set up, or this is the child of a fork.
const ABSENT: u32 = 3;

/// Number of polls of a call that waits for the progress thread, before it sleeps.
const LOOKS: u32 = 100;

struct LockedNode(UnsafeCell<MaybeUninit<LinuxNode>>);

// SAFETY: one thread at a time holds the contents, and they may move between threads: see the module, and below.
unsafe impl Sync for LockedNode {}

const _: () = {
    const fn may_change_threads<T: Send>() {}
    may_change_threads::<LinuxNode>();
};

static NODE: LockedNode = LockedNode(UnsafeCell::new(MaybeUninit::uninit()));

/// Installs the node. Called once, before the program starts.
pub fn set(node: LinuxNode) {
    // SAFETY: while it is absent nothing else accesses it, and this is the only thread.
    unsafe { (*NODE.0.get()).write(node) };
    TAKEN.store(FREE, Ordering::Release);
}

/// Removes the node from children of forks, from now on.
pub fn remove_from_children() {
    extern "C" fn remove_node() {
        TAKEN.store(ABSENT, Ordering::Relaxed);
    }
    // SAFETY: the function only stores a word. If there is no memory to register it, a child that calls MPI harms the
    // job, as it may under any MPI. So do children that share our memory until they run another program (vfork).
    unsafe { libc::pthread_atfork(None, None, Some(remove_node)) };
}

/// Returns the calls begun plus the calls ended. For the holder of the lock.
pub fn calls() -> u32 {
    CALLS.load(Ordering::Relaxed)
}

/// Checks whether the progress thread can lock the node at all. Must be called once, before it does.
pub fn can_be_taken() -> bool {
    membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
}

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: it accesses no memory of ours.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Runs `f` with the node if nothing else holds it; otherwise returns `None`. For the progress thread and the handler.
pub fn try_node<R>(f: impl FnOnce(&mut LinuxNode) -> R) -> Option<R> {
    TAKEN
        .compare_exchange(FREE, IN_USE, Ordering::Acquire, Ordering::Relaxed)
        .ok()?;
    let is_ours = membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED) && CALLS.load(Ordering::Acquire).is_multiple_of(2);
    // SAFETY: it exists, since it was free, and no call holds it or can take it: see the module.
    let result = is_ours.then(|| f(unsafe { (*NODE.0.get()).assume_init_mut() }));
    if TAKEN.swap(FREE, Ordering::Release) == WAITED_FOR {
        futex_wake(&TAKEN);
    }
    result
}

/// Runs `f` with the node, after waiting for the progress thread to release it. For one thread at a time.
#[inline(always)]
pub fn with_node<R>(f: impl FnOnce(&mut LinuxNode) -> R) -> R {
    let before = CALLS.load(Ordering::Relaxed);
    CALLS.store(before.wrapping_add(1), Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    if !before.is_multiple_of(2) || TAKEN.load(Ordering::Acquire) != FREE {
        wait_for_node(before);
    }
    // SAFETY: it exists, and nothing else holds it: see the module.
    let result = f(unsafe { (*NODE.0.get()).assume_init_mut() });
    CALLS.store(before.wrapping_add(2), Ordering::Release);
    result
}

/// Slow path of [`with_node`]: waits for the node.
#[cold]
#[inline(never)]
fn wait_for_node(before: u32) {
    if TAKEN.load(Ordering::Relaxed) == ABSENT {
        fail("a call of MPI where there is no rank, as in the child of a fork");
    }
    if !before.is_multiple_of(2) {
        fail("two threads are in calls of MPI at once; request MPI_THREAD_MULTIPLE with MPI_Init_thread");
    }
    loop {
        CALLS.store(before, Ordering::Release);
        let mut looks = 0..LOOKS;
        while TAKEN.load(Ordering::Relaxed) != FREE && looks.next().is_some() {
            hint::spin_loop();
        }
        match TAKEN.load(Ordering::Relaxed) {
            FREE => {}
            seen => {
                let order = Ordering::Relaxed;
                let waits = seen == WAITED_FOR || TAKEN.compare_exchange(seen, WAITED_FOR, order, order).is_ok();
                if waits {
                    futex_wait(&TAKEN, WAITED_FOR, None);
                }
            }
        }
        CALLS.store(before.wrapping_add(1), Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        if TAKEN.load(Ordering::Acquire) == FREE {
            return;
        }
    }
}

fn fail(why: &str) -> ! {
    let name = NodeName(process().map(|p| (p.who.rank, p.who.coord)));
    abort::end(FailureCode::MpiError, 1, &format!("{name}: {why}"))
}
