//! Clock, timer, sleep and heap of a node.
#![forbid(unsafe_code)]

use midplane_abi::blackboard::Blackboard;
use midplane_device::Adi;
use midplane_device::kernel::{AbortReason, HeapUsage};
use net_torus::coord::{Coord, Direction, Rank};

use super::links::{self, BoardLink, NodeLinks};
use super::records::MIDPLANE_QUEUES;
use super::timer;
use crate::board::start::abort_job;
use crate::dev::ring::SleepFlag;
use crate::heap_loan::NodeMemory;
use crate::node::{Node, Platform};
use crate::queues::show_queues;
use crate::records::{MIDPLANE_BLACKBOARD, MIDPLANE_CALLERS};
use crate::{arch, clock, heap};

/// This board's node.
pub type BoardNode = Node<WireLink, VirtPlatform>;
/// A link of the node.
#[cfg(not(feature = "faults"))]
pub type WireLink = BoardLink;
/// A link of the node in images with faults.
#[cfg(feature = "faults")]
pub type WireLink = crate::dev::faults::RepairedLink<BoardLink>;
/// Storage of the node: in the image's own memory.
pub type NodeStorage = BoardNode;

/// The machine below the node.
pub struct VirtPlatform {
    /// The sleep flag that the node watches before it sleeps, if it has its own host processor.
    pub watched: Option<&'static SleepFlag>,
    /// The program's memory.
    pub memory: NodeMemory,
    /// Unsuccessful polls since the node slept last.
    pub vain_looks: u32,
}

#[cfg(all(feature = "options", not(feature = "faults")))]
fn device(link: &mut WireLink) -> &mut BoardLink {
    link
}
#[cfg(all(feature = "options", feature = "faults"))]
use crate::dev::faults::device;

/// Polls of the sleep flag before a sleep, on a node with its own processor: some twenty microseconds, the cost to
/// suspend and to wake one of QEMU's threads.
const LOOKS: u32 = 500;

/// Unsuccessful polls before a node yields a shared processor. A polling QEMU thread keeps it for milliseconds, in
/// which the nodes that it waits for do not run.
const VAIN_LOOKS: u32 = 64;
/// Unsuccessful polls before a node with its own processor sleeps: some milliseconds. The sleep shows which call polls.
const ALONE_LOOKS: u32 = 4096;

impl Platform<WireLink> for VirtPlatform {
    const SHOWS_QUEUES: bool = true;

    type Memory = NodeMemory;

    #[inline]
    fn ticks(&self) -> u64 {
        arch::ticks()
    }

    #[inline]
    fn ns(&self, ticks: u64) -> u64 {
        clock::ns(ticks)
    }

    #[inline]
    fn wake_in(&mut self, ns: u64) {
        timer::wake_by(arch::ticks() + clock::ticks_of(ns));
    }

    #[inline]
    fn wait(&mut self) {
        self.vain_looks = 0;
        let mut looks = 0..LOOKS;
        let goes_on = || !arch::is_interrupt_pending() && looks.next().is_some();
        if self.watched.is_some_and(|word| word.spin(goes_on)) {
            return;
        }
        arch::wait_for_interrupt();
    }

    fn show_queues(&mut self, adi: &mut Adi) {
        show_queues(&MIDPLANE_QUEUES, &MIDPLANE_BLACKBOARD, adi);
    }

    /// The registers remain valid while the node is in this function, which keeps its callers' frames.
    #[cold]
    #[inline(never)]
    fn wait_and_show_location(&mut self) {
        MIDPLANE_CALLERS.note(&arch::registers());
        arch::wait_for_interrupt();
    }

    #[inline]
    fn on_idle_poll(&mut self) -> bool {
        self.vain_looks += 1;
        self.vain_looks >= VAIN_LOOKS && (self.watched.is_none() || self.vain_looks >= ALONE_LOOKS)
    }

    #[inline]
    fn is_interrupted(&self) -> bool {
        arch::is_interrupt_pending()
    }

    #[cfg(not(feature = "options"))]
    fn acknowledge(&mut self, _: &mut NodeLinks<WireLink>) {
        links::acknowledge();
    }

    #[cfg(feature = "options")]
    fn acknowledge(&mut self, links: &mut NodeLinks<WireLink>) {
        links::acknowledge_devices(links, device);
    }

    #[inline]
    fn is_audit_due(&mut self) -> bool {
        timer::has_passed()
    }

    #[inline]
    fn memory(&mut self) -> &mut NodeMemory {
        &mut self.memory
    }

    #[inline]
    fn lends(&self) -> bool {
        self.memory.lends()
    }

    #[inline]
    fn report_frees(&mut self, wanted: bool) {
        heap::report_frees(wanted);
    }

    fn heap(&self) -> HeapUsage {
        heap::fill()
    }

    fn heap_peak_bytes(&self) -> u64 {
        heap::peak() as u64
    }

    fn blackboard(&self) -> &Blackboard {
        &MIDPLANE_BLACKBOARD
    }

    fn abort(&mut self, why: AbortReason<'_>, status: i32) -> ! {
        MIDPLANE_CALLERS.note(&arch::registers());
        abort_job(why, status)
    }

    fn link_overwritten(&mut self, direction: Direction, neighbour: (Rank, Coord)) -> ! {
        crate::board::start::link_overwritten(direction, neighbour)
    }

    #[cfg(feature = "faults")]
    fn link_lost(&mut self, direction: Direction) -> ! {
        crate::board::start::link_lost(direction)
    }
}
