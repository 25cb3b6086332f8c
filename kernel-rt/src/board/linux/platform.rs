//! Clock, sleep and heap, as a node asks for them.

use std::sync::atomic::AtomicU32;
use std::{hint, ptr};

use mpi_adi::kernel::{AbortReason, Heap};

use super::{end, heap};
use crate::dev::ring::{Asleep, Bell, RingLink};
use crate::fault::NodeName;
use crate::host::blackboard::{Blackboard, End};
use crate::lend::NodeMemory;
use crate::node::{Node, Platform};

/// This board's node.
pub type LinuxNode = Node<Link, Linux>;
/// A link to another process.
pub type Link = RingLink<'static, Futex>;

/// How often a node that has a processor to itself looks whether it has been rung, before it sleeps: some tens of
/// microseconds, what it costs to sleep and to be woken.
const LOOKS: u32 = 2000;

/// Wakes a process that waits on its word.
pub struct Futex(pub &'static Asleep);

impl Bell for Futex {
    fn ring(&self) {
        futex(self.0.word(), libc::FUTEX_WAKE, i32::MAX as u32);
    }
}

/// A call of futex(2) without time limit. What it returns tells nothing that the word does not.
fn futex(word: &AtomicU32, operation: i32, value: u32) {
    // SAFETY: the word outlives the call, and neither operation looks at anything else.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            operation,
            value,
            ptr::null::<libc::timespec>(),
        );
    }
}

/// Nanoseconds by the clock that never goes back.
pub fn now_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes the time there; this clock is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The process below the node.
pub struct Linux {
    /// The program's memory.
    pub memory: NodeMemory,
    /// This node's word.
    pub word: &'static Asleep,
    /// Where the node says how it fares.
    pub blackboard: &'static Blackboard,
    /// The node has a processor to itself.
    pub watches: bool,
}

impl Platform<Link> for Linux {
    const INTERRUPTS: bool = false;

    type Memory = NodeMemory;

    fn ticks(&self) -> u64 {
        now_ns()
    }

    fn ns(&self, ticks: u64) -> u64 {
        ticks
    }

    /// There is no interrupt: the node goes on in the program's next call.
    fn wake_in(&mut self, _: u64) {}

    fn wait(&mut self) {
        let mut looks = 0..LOOKS;
        let mut goes_on = || {
            hint::spin_loop();
            looks.next().is_some()
        };
        if self.watches && self.word.watch(&mut goes_on) {
            return;
        }
        // Returns at once when the word has been rung; a signal that ends the wait does no harm.
        futex(self.word.word(), libc::FUTEX_WAIT, Asleep::ARMED);
    }

    fn is_interrupted(&self) -> bool {
        self.word.is_rung()
    }

    fn acknowledge(&mut self, _: &mut [Option<Link>; 6]) {}

    fn memory(&mut self) -> &mut NodeMemory {
        &mut self.memory
    }

    fn lends(&self) -> bool {
        self.memory.lends
    }

    fn report_frees(&mut self, wanted: bool) {
        heap::report_frees(wanted);
    }

    fn heap(&self) -> Heap {
        Heap {
            bytes: heap::size(),
            used: heap::used(),
        }
    }

    fn heap_peak_bytes(&self) -> u64 {
        heap::peak() as u64
    }

    fn blackboard(&self) -> &Blackboard {
        self.blackboard
    }

    fn abort(&mut self, why: AbortReason<'_>, status: i32) -> ! {
        match why {
            AbortReason::MpiAbort => {
                let name = NodeName(super::process().map(|p| (p.who.rank, p.who.coord)));
                let message = format!("{name}: MPI_Abort was called with status {status}");
                end::end(End::MpiAbort, status, &message)
            }
            AbortReason::MpiError(text) => end::end(End::MpiError, status, text),
        }
    }
}
