//! The process's node, which a call of the program has, or what stands in for one.
//!
//! One thread at a time makes calls (MPI_THREAD_SERIALIZED is the most there is), many of them, and now and then the
//! stand-in asks for the node between two. So a call only says that it has the node, and looks whether it is taken:
//!
//! ```text
//!   a call      C1  CALLS := odd                 the stand-in   T1  TAKEN := 1
//!                   (no fence)                                  T2  membarrier: a fence in each thread that runs
//!               C2  TAKEN is 0? it has the node                 T3  CALLS is even? it has the node
//!               C3  CALLS := even                               T4  TAKEN := 0
//! ```
//! Without a fence a processor may look at C2 before others see its C1. But T2 finds each thread before its C1 or behind it:
//! one that it finds before sees T1 at C2, and of one that it finds behind T3 sees C1. So never both have the node, and a call
//! pays for no locked instruction.
//!
//! The handler of the tool's signal ([`tool`](super::tool)) takes it as the stand-in does, where neither a call nor the
//! stand-in has it.

use std::cell::UnsafeCell;
use std::hint;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering, compiler_fence};

use midplane_abi::blackboard::End;
use midplane_abi::fault::NodeName;

use super::platform::{LinuxNode, futex_wait, futex_wake};
use super::{end, process};

/// Calls that have begun, and those that have ended: odd while one has the node. Calls write it.
static CALLS: AtomicU32 = AtomicU32::new(0);
/// Why a call does not have the node. The stand-in or the handler writes it, but for [`WAITED_FOR`].
static TAKEN: AtomicU32 = AtomicU32::new(ABSENT);
/// It can have it.
const FREE: u32 = 0;
/// The stand-in has it, or is about to look whether it can.
const IN_USE: u32 = 1;
/// The same, and a call waits.
const WAITED_FOR: u32 = 2;
/// There is none: it has not been set up, or this is the child of a fork.
const ABSENT: u32 = 3;

/// How often a call looks whether the stand-in is done, before it sleeps.
const LOOKS: u32 = 100;

struct Node(UnsafeCell<MaybeUninit<LinuxNode>>);

// SAFETY: one thread at a time has what is in it, which may go from one to another: see the module, and below.
unsafe impl Sync for Node {}

const _: () = {
    const fn may_change_threads<T: Send>() {}
    may_change_threads::<LinuxNode>();
};

static NODE: Node = Node(UnsafeCell::new(MaybeUninit::uninit()));

/// From now on the node is there. Called once, before the program starts.
pub fn set(node: LinuxNode) {
    // SAFETY: while it is absent nothing else comes to it, and this is the only thread.
    unsafe { (*NODE.0.get()).write(node) };
    TAKEN.store(FREE, Ordering::Release);
}

/// From now on it is not there any more: the process is the child of a fork.
pub fn leave() {
    TAKEN.store(ABSENT, Ordering::Relaxed);
}

/// Calls that have begun and calls that have ended. For who has the node.
pub fn calls() -> u32 {
    CALLS.load(Ordering::Relaxed)
}

/// Whether the stand-in can have the node at all. To be called before it does, once.
pub fn can_be_taken() -> bool {
    membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
}

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: it touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Runs `f` with the node, if neither a call nor another has it. For the stand-in and the handler.
pub fn try_node<R>(f: impl FnOnce(&mut LinuxNode) -> R) -> Option<R> {
    TAKEN
        .compare_exchange(FREE, IN_USE, Ordering::Acquire, Ordering::Relaxed)
        .ok()?;
    let is_ours = membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
        && CALLS.load(Ordering::Acquire).is_multiple_of(2);
    // SAFETY: it is there, since it was free, and no call has it or gets it: see the module.
    let result = is_ours.then(|| f(unsafe { (*NODE.0.get()).assume_init_mut() }));
    if TAKEN.swap(FREE, Ordering::Release) == WAITED_FOR {
        futex_wake(&TAKEN);
    }
    result
}

/// Runs `f` with the node, once the stand-in does not have it. For one thread at a time.
#[inline(always)]
pub fn with_node<R>(f: impl FnOnce(&mut LinuxNode) -> R) -> R {
    let before = CALLS.load(Ordering::Relaxed);
    CALLS.store(before.wrapping_add(1), Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    if !before.is_multiple_of(2) || TAKEN.load(Ordering::Acquire) != FREE {
        wait_for_node(before);
    }
    // SAFETY: it is there, and nothing else has it: see the module.
    let result = f(unsafe { (*NODE.0.get()).assume_init_mut() });
    CALLS.store(before.wrapping_add(2), Ordering::Release);
    result
}

/// As the beginning of [`with_node`], where it could not have the node.
#[cold]
#[inline(never)]
fn wait_for_node(before: u32) {
    if TAKEN.load(Ordering::Relaxed) == ABSENT {
        fail("a call of MPI where there is no rank, as in the child of a fork");
    }
    if !before.is_multiple_of(2) {
        fail("two threads are in calls of MPI at once; MPI_THREAD_SERIALIZED is the most there is");
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
                let waits = seen == WAITED_FOR
                    || TAKEN
                        .compare_exchange(seen, WAITED_FOR, order, order)
                        .is_ok();
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
    end::end(End::MpiError, 1, &format!("{name}: {why}"))
}
