//! Link variants of a node that has its own machine or belongs to a box; known only at run time.
#![forbid(unsafe_code)]

use net_torus::link::Link;

use super::neighbours::RegisterDoorbell;
use crate::dev::ring::{self, RingLink};
use crate::dev::virtio_net::NetLink;
use crate::node::NodeLink;

/// A link of a node.
#[expect(
    clippy::large_enum_variant,
    reason = "all links of a node are of one kind, and there are six"
)]
pub enum BoardLink {
    /// A link of a node with its own instance.
    Net(NetLink),
    /// A link of a node of a box.
    Ring(RingLink<'static, RegisterDoorbell>),
}

impl BoardLink {
    /// Returns the virtio link, or `None`.
    pub fn net(&mut self) -> Option<&mut NetLink> {
        match self {
            BoardLink::Net(link) => Some(link),
            BoardLink::Ring(_) => None,
        }
    }

    fn ring(&mut self) -> Option<&mut RingLink<'static, RegisterDoorbell>> {
        match self {
            BoardLink::Net(_) => None,
            BoardLink::Ring(link) => Some(link),
        }
    }
}

/// Evaluates the same expression for either variant.
macro_rules! either {
    ($self:expr, $link:ident => $value:expr) => {
        match $self {
            BoardLink::Net($link) => $value,
            BoardLink::Ring($link) => $value,
        }
    };
}

impl Link for BoardLink {
    const HAS_TIMEOUTS: bool = false;
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

impl NodeLink for BoardLink {
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
            if matches!(link, BoardLink::Ring(_)) {
                // The other links share this word.
                return;
            }
        }
    }

    #[inline]
    fn prepare_all(links: &mut [Option<Self>]) -> bool {
        match links.iter().flatten().next() {
            Some(BoardLink::Ring(_)) => ring::prepare_all(links.iter_mut().flatten().filter_map(Self::ring)),
            _ => {
                let all = links.iter_mut().flatten();
                all.fold(true, |quiet, link| quiet & link.prepare_sleep())
            }
        }
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
