//! Links of a node, and the interrupts that they share.

#[cfg(feature = "options")]
use super::plic;
use super::timer;
use crate::arch;
#[cfg(not(feature = "options"))]
use crate::dev::ring::RingLink;

/// A link of this board: of a node of a box.
#[cfg(not(feature = "options"))]
pub type BoardLink = RingLink<'static, super::neighbours::RegisterDoorbell>;
/// A link of this board, in images for nodes with their own machine.
#[cfg(feature = "options")]
pub type BoardLink =
    crate::dev::device_or_ring::DeviceOrRing<crate::dev::virtio_net::NetLink, super::neighbours::RegisterDoorbell>;
/// Links, by direction.
pub type NodeLinks<L = BoardLink> = [Option<L>; 6];

/// Clears all pending interrupts except those of devices; returns false if there are none at all.
pub fn acknowledge() -> bool {
    // The word ended the wait, or the node polls by itself: the rest would lock the emulator's devices.
    if !arch::is_interrupt_pending() {
        return false;
    }
    timer::acknowledge();
    // A neighbour's doorbell; the node polls all its links next.
    arch::acknowledge_software();
    true
}

/// Clears all pending interrupts, including those of links; `device` returns the board's own part of a link.
#[cfg(feature = "options")]
pub fn acknowledge_devices<L>(links: &mut NodeLinks<L>, device: impl Fn(&mut L) -> &mut BoardLink) {
    if !acknowledge() {
        return;
    }
    while arch::is_external_pending()
        && let Some(number) = plic::claim()
    {
        // On this board interrupt IDs are in the order of the slots, from 1; links use the same indices.
        let link = links.get_mut((number as usize).wrapping_sub(1));
        let link = link.and_then(Option::as_mut).map(&device);
        if let Some(link) = link.and_then(BoardLink::device) {
            link.acknowledge();
        }
        plic::complete(number);
    }
}
