//! Clock, timer, sleep and heap, as a node asks for them.
#![forbid(unsafe_code)]

use mpi_adi::kernel::{AbortReason, Heap};

use super::{plic, timer};
use crate::dev::virtio_net::NetLink;
use crate::end::{Message, end};
use crate::host::blackboard::{Blackboard, End};
use crate::host::records::{MIDPLANE_BLACKBOARD, MIDPLANE_CALLERS, node_name};
use crate::lend::NodeMemory;
use crate::node::{Node, Platform};
use crate::{arch, clock, heap};

/// This board's node.
pub type BoardNode = Node<NetLink, Virt>;

/// The machine below the node.
pub struct Virt {
    /// The program's memory.
    pub memory: NodeMemory,
}

/// Takes all pending interrupts.
pub fn acknowledge(links: &mut [Option<NetLink>; 6]) {
    timer::acknowledge();
    while arch::is_external_pending()
        && let Some(number) = plic::claim()
    {
        // Interrupt numbers are in the order of the slots on this board, from 1 on; slots and links are the same.
        let link = links.get_mut((number as usize).wrapping_sub(1));
        if let Some(Some(link)) = link {
            link.acknowledge();
        }
        plic::complete(number);
    }
}

impl Platform<NetLink> for Virt {
    type Memory = NodeMemory;

    fn ticks(&self) -> u64 {
        arch::ticks()
    }

    fn ns(&self, ticks: u64) -> u64 {
        clock::ns(ticks)
    }

    fn wake_in(&mut self, ns: u64) {
        timer::wake_by(arch::ticks() + clock::ticks_of(ns));
    }

    fn wait(&mut self) {
        arch::wait_for_interrupt();
    }

    fn acknowledge(&mut self, links: &mut [Option<NetLink>; 6]) {
        acknowledge(links);
    }

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
        match why {
            AbortReason::MpiAbort => {
                let name = node_name();
                let message = Message::new(format_args!(
                    "{name}: MPI_Abort was called with status {status}"
                ));
                end(End::MpiAbort, status, &message)
            }
            AbortReason::MpiError(text) => {
                end(End::MpiError, status, &Message::new(format_args!("{text}")))
            }
        }
    }
}
