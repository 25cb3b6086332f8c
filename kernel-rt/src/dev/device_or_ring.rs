//! Links of a node that are either a device or a ring in shared memory, known only at run time.
#![forbid(unsafe_code)]

use net_torus::link::Link;

use crate::dev::ring::{self, Doorbell, RingLink};
use crate::node::NodeLink;

/// A device that is a link, on a board whose nodes may have rings instead or beside it.
pub trait LinkDevice: NodeLink {
    /// Whether the device uses the [sleep flag](ring::SleepFlag) of the node's rings, so that a node may have links of both
    /// kinds. Otherwise all links of a node are of one kind.
    const SHARES_FLAG: bool;
}

/// A link of a node.
pub enum DeviceOrRing<D, B> {
    /// A device.
    Device(D),
    /// Memory that both nodes share.
    Ring(RingLink<'static, B>),
}

impl<D, B> DeviceOrRing<D, B> {
    /// Returns the device, or `None`.
    pub fn device(&mut self) -> Option<&mut D> {
        match self {
            Self::Device(link) => Some(link),
            Self::Ring(_) => None,
        }
    }

    /// Returns the ring, or `None`.
    pub fn ring(&mut self) -> Option<&mut RingLink<'static, B>> {
        match self {
            Self::Device(_) => None,
            Self::Ring(link) => Some(link),
        }
    }
}

/// Evaluates the same expression for either variant.
macro_rules! either {
    ($self:expr, $link:ident => $value:expr) => {
        match $self {
            DeviceOrRing::Device($link) => $value,
            DeviceOrRing::Ring($link) => $value,
        }
    };
}

impl<D: LinkDevice, B: Doorbell> Link for DeviceOrRing<D, B> {
    const HAS_TIMEOUTS: bool = D::HAS_TIMEOUTS;
    const ALL_EXACT: bool = D::ALL_EXACT;
    const MAY_BUFFER_UNSENT: bool = true;

    #[inline]
    fn may_receive(&mut self) -> bool {
        either!(self, link => link.may_receive())
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

    fn buffers_unsent(&self) -> bool {
        either!(self, link => link.buffers_unsent())
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

impl<D: LinkDevice, B: Doorbell> NodeLink for DeviceOrRing<D, B> {
    #[inline]
    fn mask_interrupts(&mut self) {
        either!(self, link => link.mask_interrupts());
    }

    #[inline]
    fn prepare_sleep(&mut self) -> bool {
        either!(self, link => link.prepare_sleep())
    }

    #[inline]
    fn mask_all(links: &mut [Option<Self>]) {
        for link in links.iter_mut().flatten() {
            link.mask_interrupts();
            if D::SHARES_FLAG || matches!(link, Self::Ring(_)) {
                // The other links share this flag.
                return;
            }
        }
    }

    #[inline]
    fn prepare_all(links: &mut [Option<Self>]) -> bool {
        let mut devices_are_quiet = true;
        if D::SHARES_FLAG || !matches!(links.iter().flatten().next(), Some(Self::Ring(_))) {
            let devices = links.iter_mut().flatten().filter_map(Self::device);
            devices_are_quiet = { devices }.fold(true, |quiet, link| quiet & link.prepare_sleep());
        }
        devices_are_quiet && ring::prepare_all(links.iter_mut().flatten().filter_map(Self::ring))
    }

    fn end_call(&mut self) {
        either!(self, link => link.end_call());
    }

    #[inline]
    fn audit(&mut self) {
        either!(self, link => link.audit());
    }

    #[inline]
    fn defects(&self) -> u64 {
        either!(self, link => link.defects())
    }
}
