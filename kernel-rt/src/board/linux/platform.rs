//! Clock, sleep and heap of a node.

use std::cell::Cell;
use std::hint;

use midplane_abi::blackboard::{Blackboard, FailureCode};
use midplane_abi::failure::{Failure, FailureReason};
use midplane_device::Adi;
use midplane_device::kernel::{AbortReason, HeapUsage};
use midplane_objects::ErrorText;
use net_torus::coord::{Coord, Direction, Rank};

use super::clock::{now_ns, ns_of};
use super::node_sleep::{self, ProcessDoorbell};
use super::share::NodeAccount;
use super::socket_link::SocketLink;
use super::thread_state::{postpone_sleep, postpone_yield};
use super::{abort, heap};
use crate::dev::device_or_ring::DeviceOrRing;
use crate::dev::ring::SleepFlag;
use crate::heap_loan::NodeMemory;
use crate::mpi_failure::write_text;
use crate::node::{Node, Platform};
use crate::queues::show_queues;

/// This board's node.
pub type LinuxNode = Node<WireLink, LinuxPlatform>;
/// A link of the node.
#[cfg(not(feature = "faults"))]
pub type WireLink = ProcessLink;
/// A link of the node in images with faults.
#[cfg(feature = "faults")]
pub type WireLink = crate::dev::faults::RepairedLink<ProcessLink>;
/// A link to another process: of another host, or of this one.
pub type ProcessLink = DeviceOrRing<SocketLink, ProcessDoorbell>;

/// Polls of the sleep flag before a sleep, on a node with its own processor: some tens of microseconds, the cost of a
/// sleep and a wake.
pub const LOOKS: u32 = 2000;

/// Unsuccessful polls before a node yields a shared processor. A message that a program polls for with MPI_Test comes
/// from another process, and thousands of polls would pass before the operating system preempts this one.
const VAIN_LOOKS: u32 = 16;

/// Maximum duration of a sleep. If a wild store to the word loses a wake, the node is delayed no longer.
const LONGEST_SLEEP_NS: u64 = 250_000_000;

/// Minimum time between two audits of the links.
const AUDIT_NS: u64 = 100_000_000;

/// The process that runs the node.
pub struct LinuxPlatform {
    /// The program's memory.
    pub memory: NodeMemory,
    /// This node's sleep flag.
    pub word: &'static SleepFlag,
    /// This node's status, and the tool's requests.
    pub account: &'static NodeAccount,
    /// The node has its own processor, so it polls before it sleeps. Not with several threads: the one that polled would
    /// keep the others out of MPI.
    pub watches: Cell<bool>,
    /// A progress thread runs while the program computes ([`super::progress_thread`]).
    pub stands_in: bool,
    /// Packets between other nodes may pass this one.
    pub forwards: bool,
    /// Unsuccessful polls since the processor was yielded.
    pub vain_looks: u32,
    /// Latest end of the next sleep, if links retransmit lost frames.
    pub wake_at: Option<u64>,
    /// Time of the next audit of the links.
    pub audit_at: u64,
}

/// Lets other processes run.
pub fn yield_processor() {
    // SAFETY: no arguments. Not by the library's function: the program may define one of that name.
    unsafe { libc::syscall(libc::SYS_sched_yield) };
}

impl Platform<WireLink> for LinuxPlatform {
    const SHOWS_QUEUES: bool = true;
    const INTERRUPTS: bool = false;

    type Memory = NodeMemory;

    fn ticks(&self) -> u64 {
        now_ns()
    }

    fn ns(&self, ticks: u64) -> u64 {
        ticks
    }

    /// Returns the coarse clock of the kernel's last tick: a read of the exact clock takes as long as a message's path
    /// through the library.
    fn about_ns(&self) -> u64 {
        ns_of(libc::CLOCK_MONOTONIC_COARSE)
    }

    /// Delays acknowledgements if the progress thread runs, which costs little when processes have their own
    /// processors.
    fn lets_answers_wait(&self) -> bool {
        self.watches.get() && self.stands_in
    }

    /// There are no interrupts: the node makes progress in the program's next call. Only with lossy links does a sleep
    /// use the timeout.
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
        // A node with connections has polled them for longer than it would watch the word here.
        if self.watches.get() && !node_sleep::has_sockets() && self.word.spin(&mut goes_on) {
            return;
        }
        if postpone_sleep(limit) {
            return;
        }
        // Returns immediately when the word was rung; a signal that ends the wait is harmless.
        node_sleep::wait_for_ring(self.word, Some(limit));
    }

    fn poll_iterations(&self) -> u32 {
        if self.watches.get() { LOOKS } else { 0 }
    }

    fn on_idle_poll(&mut self) -> bool {
        if self.watches.get() {
            return false;
        }
        self.vain_looks += 1;
        if self.vain_looks >= VAIN_LOOKS {
            self.vain_looks = 0;
            if !postpone_yield() {
                yield_processor();
            }
        }
        false
    }

    fn is_interrupted(&self) -> bool {
        self.word.is_rung() || node_sleep::have_sockets_news()
    }

    fn acknowledge(&mut self, _: &mut [Option<WireLink>; 6]) {}

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

    fn heap(&self) -> HeapUsage {
        HeapUsage {
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

    fn show_queues(&mut self, adi: &mut Adi) {
        abort::show_location(self.account);
        show_queues(&self.account.queues, &self.account.blackboard, adi);
    }

    fn is_asked(&self) -> bool {
        self.account.orders.wants_counters()
    }

    fn answered(&self) {
        self.account.orders.answer();
    }

    fn abort(&mut self, why: AbortReason<'_>, status: i32) -> ! {
        match why {
            AbortReason::MpiAbort => failed(FailureCode::MpiAbort, status, FailureReason::MpiAbort(status)),
            AbortReason::MpiError(error) => abort::end(FailureCode::MpiError, status, &ErrorText(error).to_string()),
            AbortReason::DeadLink => failed(FailureCode::LinkLost, status, FailureReason::DeadLink),
        }
    }

    fn link_overwritten(&mut self, direction: Direction, neighbour: (Rank, Coord)) -> ! {
        let why = if node_sleep::is_socket(direction) {
            FailureReason::ConnectionLost { direction, neighbour }
        } else {
            FailureReason::LinkOverwritten { direction, neighbour }
        };
        failed(FailureCode::LinkOverwritten, 1, why)
    }

    #[cfg(feature = "faults")]
    fn link_lost(&mut self, direction: Direction) -> ! {
        let any_way = true;
        failed(FailureCode::LinkLost, 1, FailureReason::LinkLost { direction, any_way })
    }
}

fn failed(end: FailureCode, status: i32, why: FailureReason<'_>) -> ! {
    let place = super::process().map(|p| (p.who.rank, p.who.coord));
    abort::end(end, status, &Failure { place, why }.in_words(write_text).to_string())
}
