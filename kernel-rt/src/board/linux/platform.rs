//! Clock, sleep and heap, as a node asks for them.

use std::sync::atomic::AtomicU32;
use std::{hint, ptr};

use midplane_abi::blackboard::{Blackboard, End};
use midplane_abi::failure::{Failure, Why};
use midplane_device::kernel::{AbortReason, Heap};
use midplane_objects::InWords;
use net_torus::coord::{Coord, Direction, Rank};

use super::share::Account;
use super::{end, heap};
use crate::dev::ring::{Asleep, Bell, RingLink};
use crate::lend::NodeMemory;
use crate::mpi_failure::write_text;
use crate::node::{Node, Platform};

/// This board's node.
pub type LinuxNode = Node<Wire, Linux>;
/// A link as the node has it.
#[cfg(not(feature = "faults"))]
pub type Wire = Link;
/// The same, in images with faults.
#[cfg(feature = "faults")]
pub type Wire = crate::dev::faults::Mended<Link>;
/// A link to another process.
pub type Link = RingLink<'static, Futex>;

/// How often a node that has a processor to itself looks whether it has been rung, before it sleeps: some tens of
/// microseconds, what it costs to sleep and to be woken.
const LOOKS: u32 = 2000;

/// Looks in vain after which a node that shares its processor leaves it to others. What a program waits for with MPI_Test
/// comes from one of them, and until the kernel takes the processor away are thousands of looks more.
const VAIN_LOOKS: u32 = 16;

/// The longest sleep. A wake that is lost, because a wild store hit the word, costs no more.
const LONGEST_SLEEP_NS: u64 = 250_000_000;

/// The least time between two audits of the links.
const AUDIT_NS: u64 = 100_000_000;

/// Wakes a process that waits on its word.
pub struct Futex(pub &'static Asleep);

impl Bell for Futex {
    fn ring(&self) {
        futex_wake(self.0.word());
    }
}

/// A call of futex(2), whose wait ends after so many nanoseconds. What it returns tells nothing that the word does not.
fn futex(word: &AtomicU32, operation: i32, value: u32, limit_ns: Option<u64>) {
    let limit = limit_ns.map(|ns| libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    });
    // SAFETY: the word outlives the call, and neither operation looks at anything else.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            operation,
            value,
            limit.as_ref().map_or(ptr::null(), ptr::from_ref),
        );
    }
}

/// Wakes what waits on the word.
pub fn futex_wake(word: &AtomicU32) {
    futex(word, libc::FUTEX_WAKE, i32::MAX as u32, None);
}

/// Waits while the word has this value, for so many nanoseconds at most; it may end earlier.
pub fn futex_wait(word: &AtomicU32, value: u32, limit_ns: Option<u64>) {
    futex(word, libc::FUTEX_WAIT, value, limit_ns);
}

/// Nanoseconds by the clock that never goes back.
pub fn now_ns() -> u64 {
    ns_of(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds by one of the clocks that are always there.
fn ns_of(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes the time there.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The process below the node.
pub struct Linux {
    /// The program's memory.
    pub memory: NodeMemory,
    /// This node's word.
    pub word: &'static Asleep,
    /// Where the node says how it fares, and the tool what it asks.
    pub account: &'static Account,
    /// The node has a processor to itself.
    pub watches: bool,
    /// Something goes on while the program computes ([`super::stand_in`]).
    pub stands_in: bool,
    /// Looks in vain since the processor was left to others.
    pub vain_looks: u32,
    /// When the next sleep ends at the latest, where links send again what is lost.
    pub wake_at: Option<u64>,
    /// When the links are to be audited next.
    pub audit_at: u64,
}

impl Platform<Wire> for Linux {
    const INTERRUPTS: bool = false;

    type Memory = NodeMemory;

    fn ticks(&self) -> u64 {
        now_ns()
    }

    fn ns(&self, ticks: u64) -> u64 {
        ticks
    }

    /// As of the kernel's last tick: a look at the exact clock takes as long as a message's way through the library.
    fn about_ns(&self) -> u64 {
        ns_of(libc::CLOCK_MONOTONIC_COARSE)
    }

    /// The stand-in goes on, which is no burden where processes have processors to themselves.
    fn lets_answers_wait(&self) -> bool {
        self.watches && self.stands_in
    }

    /// There is no interrupt: the node goes on in the program's next call. Only where links lose frames does a sleep end
    /// in time.
    fn wake_in(&mut self, ns: u64) {
        if cfg!(feature = "faults") {
            let at = now_ns() + ns;
            let earlier = self.wake_at.map_or(at, |other| other.min(at));
            self.wake_at = Some(earlier);
        }
    }

    fn wait(&mut self) {
        let limit = self.wake_at.take().map(|at| at.saturating_sub(now_ns()));
        let limit = limit.map_or(LONGEST_SLEEP_NS, |ns| ns.min(LONGEST_SLEEP_NS));
        let mut looks = 0..LOOKS;
        let mut goes_on = || {
            hint::spin_loop();
            looks.next().is_some()
        };
        if self.watches && self.word.watch(&mut goes_on) {
            return;
        }
        // Returns at once when the word has been rung; a signal that ends the wait does no harm.
        futex_wait(self.word.word(), Asleep::ARMED, Some(limit));
    }

    fn looks(&self) -> u32 {
        if self.watches { LOOKS } else { 0 }
    }

    fn looked_in_vain(&mut self) -> bool {
        if self.watches {
            return false;
        }
        self.vain_looks += 1;
        if self.vain_looks >= VAIN_LOOKS {
            self.vain_looks = 0;
            // SAFETY: it takes nothing. Not by the library's function, whose name can be one of the program's.
            unsafe { libc::syscall(libc::SYS_sched_yield) };
        }
        false
    }

    fn is_interrupted(&self) -> bool {
        self.word.is_rung()
    }

    fn acknowledge(&mut self, _: &mut [Option<Wire>; 6]) {}

    fn is_audit_due(&mut self) -> bool {
        let now = self.about_ns();
        let is_due = now >= self.audit_at;
        if is_due {
            self.audit_at = now + AUDIT_NS;
        }
        is_due
    }

    fn memory(&mut self) -> &mut NodeMemory {
        &mut self.memory
    }

    fn lends(&self) -> bool {
        self.memory.lends()
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
        &self.account.blackboard
    }

    fn is_asked(&self) -> bool {
        self.account.orders.wants_counters()
    }

    fn answered(&self) {
        self.account.orders.answer();
    }

    fn abort(&mut self, why: AbortReason<'_>, status: i32) -> ! {
        match why {
            AbortReason::MpiAbort => failed(End::MpiAbort, status, Why::MpiAbort(status)),
            AbortReason::MpiError(error) => {
                end::end(End::MpiError, status, &InWords(error).to_string())
            }
            AbortReason::DeadLink => failed(End::LinkLost, status, Why::DeadLink),
        }
    }

    fn link_overwritten(&mut self, direction: Direction, neighbour: (Rank, Coord)) -> ! {
        let why = Why::LinkOverwritten {
            direction,
            neighbour,
        };
        failed(End::LinkOverwritten, 1, why)
    }

    #[cfg(feature = "faults")]
    fn link_lost(&mut self, direction: Direction) -> ! {
        let any_way = true;
        failed(End::LinkLost, 1, Why::LinkLost { direction, any_way })
    }
}

fn failed(end: End, status: i32, why: Why<'_>) -> ! {
    let place = super::process().map(|p| (p.who.rank, p.who.coord));
    end::end(
        end,
        status,
        &Failure { place, why }.in_words(write_text).to_string(),
    )
}
