//! Tree along which processes report their arrival at a fence.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::vec::Vec;

use msg_layer::handler::MalformedPacket;

use crate::envelope::Rank;
use crate::rma::peers::WindowPeers;

/// Tree along which processes report their arrival at a fence.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct FenceTree {
    pub(super) parent: Option<Rank>,
    children: Box<[Rank]>,
    /// Children that have arrived.
    arrived: usize,
    /// Children still to be notified that all have arrived.
    to_release: usize,
}

impl FenceTree {
    /// Builds the tree of the members; `None`: the heap is full.
    pub(super) fn new(peers: &WindowPeers, here: Rank) -> Option<FenceTree> {
        let own = peers.members().take_while(|member| *member < here).count();
        let size = peers.members().count();
        let find = |place: usize| peers.members().nth(place);
        let below = match own {
            0 => usize::BITS,
            _ => own.trailing_zeros(),
        };
        let places = || (0..below).map_while(|bit| Some(own + (1 << bit)).filter(|p| *p < size));
        let mut children = Vec::new();
        children.try_reserve_exact(places().count()).ok()?;
        children.extend(places().filter_map(find));
        Some(FenceTree {
            parent: if own == 0 { None } else { find(own & (own - 1)) },
            children: children.into_boxed_slice(),
            arrived: 0,
            to_release: 0,
        })
    }

    /// Handles the arrival of a child and those below it.
    pub(super) fn handle_arrived(&mut self, source: Rank) -> Result<(), MalformedPacket> {
        if !self.children.contains(&source) || self.have_all_arrived() {
            return Err(MalformedPacket);
        }
        self.arrived += 1;
        Ok(())
    }

    /// Returns whether all children have arrived.
    pub(super) fn have_all_arrived(&self) -> bool {
        self.arrived == self.children.len()
    }

    /// Returns whether children are still to be notified.
    pub(super) fn has_pending_releases(&self) -> bool {
        self.to_release > 0
    }

    /// Returns the next child to notify that all have arrived.
    pub(super) fn next_to_release(&mut self) -> Option<Rank> {
        self.to_release = self.to_release.checked_sub(1)?;
        Some(self.children[self.to_release])
    }

    /// All have arrived: the children are to be notified.
    pub(super) fn release(&mut self) {
        self.arrived = 0;
        self.to_release = self.children.len();
    }
}
