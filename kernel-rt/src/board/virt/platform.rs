//! Clock, timer, sleep and heap, as a node asks for them.
#![forbid(unsafe_code)]

use mpi_adi::kernel::{AbortReason, Heap};
use net_torus::link::Link;

use super::neighbours::Register;
use super::{plic, timer};
use crate::board::start::aborted;
use crate::dev::ring::{self, Asleep, RingLink};
use crate::dev::virtio_net::NetLink;
use crate::host::blackboard::Blackboard;
use crate::host::records::{MIDPLANE_BLACKBOARD, MIDPLANE_CALLERS};
use crate::lend::NodeMemory;
use crate::node::{Node, NodeLink, Platform};
use crate::{arch, clock, heap};

/// This board's node.
pub type BoardNode = Node<Wire, Virt>;
/// A link as the node has it.
#[cfg(not(feature = "faults"))]
pub type Wire = BoardLink;
/// The same, in images with faults.
#[cfg(feature = "faults")]
pub type Wire = crate::dev::faults::Mended<BoardLink>;
/// How the node is kept: in the image's own memory.
pub type Held = BoardNode;
/// Links, by direction.
pub type Links<L = BoardLink> = [Option<L>; 6];

/// A link of a node.
#[expect(
    clippy::large_enum_variant,
    reason = "all links of a node are of one kind, and there are six"
)]
pub enum BoardLink {
    /// Of a node that has an instance to itself.
    Net(NetLink),
    /// Of a node of a box.
    Ring(RingLink<'static, Register>),
}

impl BoardLink {
    /// The virtio link, if it is one.
    pub fn net(&mut self) -> Option<&mut NetLink> {
        match self {
            BoardLink::Net(link) => Some(link),
            BoardLink::Ring(_) => None,
        }
    }

    /// The ring, if it is one.
    fn ring(&mut self) -> Option<&mut RingLink<'static, Register>> {
        match self {
            BoardLink::Net(_) => None,
            BoardLink::Ring(link) => Some(link),
        }
    }
}

/// The same of either link.
macro_rules! either {
    ($self:expr, $link:ident => $value:expr) => {
        match $self {
            BoardLink::Net($link) => $value,
            BoardLink::Ring($link) => $value,
        }
    };
}

impl Link for BoardLink {
    const KEEPS_TIME: bool = false;

    #[inline]
    fn has_news(&mut self) -> bool {
        either!(self, link => link.has_news())
    }

    fn mtu(&self) -> usize {
        either!(self, link => link.mtu())
    }

    fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool {
        either!(self, link => link.receive(f))
    }

    fn transmit(&mut self, f: impl FnOnce(&mut [u8]) -> usize) -> bool {
        either!(self, link => link.transmit(f))
    }

    fn keeps_unsent(&self) -> bool {
        either!(self, link => link.keeps_unsent())
    }

    #[inline]
    fn unsent(&mut self) -> Option<&mut [u8]> {
        either!(self, link => link.unsent())
    }

    #[inline]
    fn send_unsent(&mut self, bytes: usize) {
        either!(self, link => link.send_unsent(bytes));
    }

    #[inline]
    fn is_behind(&mut self) -> bool {
        either!(self, link => link.is_behind())
    }

    fn wait_no_more(&mut self) {
        either!(self, link => link.wait_no_more());
    }

    #[inline]
    fn is_exact(&self) -> bool {
        either!(self, link => link.is_exact())
    }

    #[inline]
    fn is_untaken(&mut self) -> bool {
        either!(self, link => link.is_untaken())
    }

    #[inline]
    fn poll(&mut self, now_ns: u64) {
        either!(self, link => link.poll(now_ns));
    }

    #[inline]
    fn poll_at(&self) -> Option<u64> {
        either!(self, link => link.poll_at())
    }

    #[inline]
    fn is_dead(&self) -> bool {
        either!(self, link => link.is_dead())
    }
}

impl NodeLink for BoardLink {
    #[inline]
    fn hold_interrupts(&mut self) {
        either!(self, link => link.hold_interrupts());
    }

    #[inline]
    fn prepare_sleep(&mut self) -> bool {
        either!(self, link => link.prepare_sleep())
    }

    #[inline]
    fn hold_all(links: &mut [Option<Self>]) {
        for link in links.iter_mut().flatten() {
            link.hold_interrupts();
            if matches!(link, BoardLink::Ring(_)) {
                // The others have the same word.
                return;
            }
        }
    }

    #[inline]
    fn prepare_all(links: &mut [Option<Self>]) -> bool {
        match links.iter().flatten().next() {
            Some(BoardLink::Ring(_)) => {
                ring::prepare_all(links.iter_mut().flatten().filter_map(Self::ring))
            }
            _ => {
                let all = links.iter_mut().flatten();
                all.fold(true, |quiet, link| quiet & link.prepare_sleep())
            }
        }
    }

    #[inline]
    fn defects(&self) -> u64 {
        either!(self, link => link.defects())
    }
}

/// The machine below the node.
pub struct Virt {
    /// The node's word, which it watches before it sleeps, where it has a processor of the host to itself.
    pub watched: Option<&'static Asleep>,
    /// The program's memory.
    pub memory: NodeMemory,
}

/// The board's own link.
#[cfg(not(feature = "faults"))]
fn device(link: &mut Wire) -> &mut BoardLink {
    link
}
#[cfg(feature = "faults")]
use crate::dev::faults::device;

/// How often a node that has a processor to itself looks whether it has been rung, before it sleeps: some twenty
/// microseconds, what it costs to put one of QEMU's threads to sleep and to wake it.
const LOOKS: u32 = 500;

/// Takes all pending interrupts of links, of which `device` is the board's own part.
pub fn acknowledge<L>(links: &mut Links<L>, device: impl Fn(&mut L) -> &mut BoardLink) {
    // The wait ended by the word, or the node looks on its own: all of it would lock the emulator's devices.
    if !arch::is_interrupt_pending() {
        return;
    }
    timer::acknowledge();
    // A neighbour's bell; the node looks at all its links next.
    arch::acknowledge_software();
    while arch::is_external_pending()
        && let Some(number) = plic::claim()
    {
        // Interrupt numbers are in the order of the slots on this board, from 1 on; slots and links are the same.
        let link = links.get_mut((number as usize).wrapping_sub(1));
        let link = link.and_then(Option::as_mut).map(&device);
        if let Some(link) = link.and_then(BoardLink::net) {
            link.acknowledge();
        }
        plic::complete(number);
    }
}

impl Platform<Wire> for Virt {
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
        let mut looks = 0..LOOKS;
        let goes_on = || !arch::is_interrupt_pending() && looks.next().is_some();
        if self.watched.is_some_and(|word| word.watch(goes_on)) {
            return;
        }
        arch::wait_for_interrupt();
    }

    #[inline]
    fn is_interrupted(&self) -> bool {
        arch::is_interrupt_pending()
    }

    fn acknowledge(&mut self, links: &mut Links<Wire>) {
        acknowledge(links, device);
    }

    #[inline]
    fn memory(&mut self) -> &mut NodeMemory {
        &mut self.memory
    }

    #[inline]
    fn lends(&self) -> bool {
        self.memory.lends
    }

    #[inline]
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
        aborted(why, status)
    }

    #[cfg(feature = "faults")]
    fn link_lost(&mut self, direction: net_torus::Direction) -> ! {
        crate::board::start::link_lost(direction)
    }
}
