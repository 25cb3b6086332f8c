//! Stub for a table of [`peers`](super::peers) without pages: one array for any number of peers.
#![forbid(unsafe_code)]

use crate::peer_group::{GroupBits, PeerAges};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct PeerPages;

impl PeerPages {
    /// Returns all peers as part of the array.
    pub(super) const fn parts(peers: usize) -> (usize, usize) {
        (peers, 0)
    }

    pub(super) fn allocate(_: usize) -> Option<PeerPages> {
        Some(PeerPages)
    }

    pub(super) const fn bytes(_: usize) -> usize {
        0
    }

    pub(super) const fn max_bytes(_: usize) -> usize {
        0
    }

    pub(super) fn bytes_now(&self) -> usize {
        0
    }

    /// Returns no limit: no packet uses a page.
    pub(super) fn packets(&self) -> usize {
        usize::MAX
    }

    pub(super) fn preallocate_pages(&mut self) {}

    pub(super) fn bits(&self, _: usize) -> Option<GroupBits> {
        None
    }

    pub(super) fn bits_mut(&mut self, _: usize) -> &mut GroupBits {
        unreachable!("a peer of the table")
    }

    pub(super) fn ages(&self, _: usize) -> PeerAges {
        unreachable!("a peer of the table")
    }

    pub(super) fn ages_mut(&mut self, _: usize) -> &mut PeerAges {
        unreachable!("a peer of the table")
    }
}
