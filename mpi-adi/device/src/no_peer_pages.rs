//! Stub for a table of [`peers`](super::peers) without pages: one array for any number of peers.
#![forbid(unsafe_code)]

use crate::peer_group::{Ages, Bits};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Pages;

impl Pages {
    /// Returns all peers as part of the array.
    pub(super) const fn parts(peers: usize) -> (usize, usize) {
        (peers, 0)
    }

    pub(super) fn allocate(_: usize) -> Option<Pages> {
        Some(Pages)
    }

    pub(super) const fn bytes(_: usize) -> usize {
        0
    }

    pub(super) const fn most_bytes(_: usize) -> usize {
        0
    }

    pub(super) fn bytes_now(&self) -> usize {
        0
    }

    /// Returns no limit: no packet uses a page.
    pub(super) fn packets(&self) -> usize {
        usize::MAX
    }

    pub(super) fn fill_stock(&mut self) {}

    pub(super) fn bits(&self, _: usize) -> Option<Bits> {
        None
    }

    pub(super) fn bits_mut(&mut self, _: usize) -> &mut Bits {
        unreachable!("a peer of the table")
    }

    pub(super) fn ages(&self, _: usize) -> Ages {
        unreachable!("a peer of the table")
    }

    pub(super) fn ages_mut(&mut self, _: usize) -> &mut Ages {
        unreachable!("a peer of the table")
    }
}
