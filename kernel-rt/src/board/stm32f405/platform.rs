//! Clock, timer, sleep and heap of a node.
#![forbid(unsafe_code)]

use alloc::boxed::Box;

use midplane_abi::blackboard::Blackboard;
use midplane_device::kernel::{AbortReason, HeapUsage};
use midplane_device::request::{CHUNK_SLOTS, RequestPool};
use net_torus::Direction;

use super::lines::UsartLine;
use super::memory::{NODE_BYTES, REQUESTS_BYTES, WINDOW};
use super::uart;
use crate::board::start::{abort_job, link_lost};
use crate::dev::serial::SerialLink;
use crate::heap_loan::NodeMemory;
use crate::node::{Node, Platform};
use crate::records::{MIDPLANE_BLACKBOARD, MIDPLANE_CALLERS};
use crate::{arch, clock, heap};

/// This board's node.
pub type BoardNode = Node<BoardLink, BoardPlatform>;
/// Storage of the node: in the heap, into which its parts are moved one by one.
pub type NodeStorage = Box<BoardNode>;
const _: () = assert!(size_of::<BoardNode>() <= NODE_BYTES);
const _: () = assert!(CHUNK_SLOTS * RequestPool::SLOT_BYTES <= REQUESTS_BYTES);
/// A link of the node.
#[cfg(not(feature = "faults"))]
pub type BoardLink = net_torus::ReliableLink<'static, SerialLink<UsartLine>, WINDOW>;
/// A link of the node in images with faults.
#[cfg(feature = "faults")]
pub type BoardLink = crate::dev::faults::RepairedLink<Box<SerialLink<UsartLine>>, WINDOW>;

/// The machine below the node.
pub struct BoardPlatform {
    /// The program's memory.
    pub memory: NodeMemory,
}

impl Platform<BoardLink> for BoardPlatform {
    type Memory = NodeMemory;

    fn ticks(&self) -> u64 {
        arch::ticks()
    }

    fn ns(&self, ticks: u64) -> u64 {
        clock::ns(ticks)
    }

    fn wake_in(&mut self, ns: u64) {
        arch::wake_by(arch::ticks() + clock::ticks_of(ns));
    }

    fn wait(&mut self) {
        arch::wait_for_interrupt();
    }

    fn is_interrupted(&self) -> bool {
        arch::is_interrupt_pending()
    }

    fn acknowledge(&mut self, _: &mut [Option<BoardLink>; 6]) {
        arch::acknowledge_call();
        #[cfg(feature = "options")]
        super::attach::advance_relay();
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
        heap::fill()
    }

    fn heap_peak_bytes(&self) -> u64 {
        heap::peak() as u64
    }

    fn blackboard(&self) -> &Blackboard {
        &MIDPLANE_BLACKBOARD
    }

    fn show_blackboard(&self) {
        uart::show();
    }

    fn abort(&mut self, why: AbortReason<'_>, status: i32) -> ! {
        MIDPLANE_CALLERS.note(&arch::registers());
        abort_job(why, status)
    }

    fn link_lost(&mut self, direction: Direction) -> ! {
        link_lost(direction)
    }
}
