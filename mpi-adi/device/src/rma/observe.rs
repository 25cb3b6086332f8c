//! State of the windows as plain data, for a checker that compares it with a model.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use crate::envelope::{Context, Rank};
use crate::rma::deferred_ops::{DeferredAction, DeferredEntry};
use crate::rma::epochs::{Epoch, EpochKind, EpochMember, WindowSequence};
use crate::rma::one_sided::OneSided;
use crate::rma::peers::PeerFlags;
use crate::rma::window::Window;

/// A process of an epoch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MemberView {
    /// The process.
    pub rank: Rank,
    /// Its grant, or its done, has been sent.
    pub is_told: bool,
    /// Its done has arrived.
    pub has_done: bool,
}

/// An epoch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct EpochView {
    /// Its sequence number.
    pub serial: WindowSequence,
    /// Its kind.
    pub sort: EpochKind,
    /// It has begun.
    pub is_begun: bool,
    /// It is complete.
    pub is_complete: bool,
    /// The next sequence number at the time when the program closed it.
    pub closed: Option<WindowSequence>,
    /// Of a post and a start: the processes.
    pub members: Vec<MemberView>,
}

/// A deferred operation that is not completely sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OperationView {
    /// Its sequence number.
    pub serial: WindowSequence,
    /// Its epoch.
    pub epoch: WindowSequence,
    /// Its target.
    pub target: Rank,
    /// Bytes that have been sent or requested.
    pub sent: usize,
    /// A result is outstanding, before which nothing more is requested.
    pub is_asking: bool,
}

/// A process of a window, at this process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PeerView {
    /// Grants that no access epoch has used.
    pub grants: u8,
    /// Dones that no exposure epoch has used.
    pub dones: u8,
    /// It has the lock.
    pub holds: bool,
    /// It waits for a shared lock.
    pub waits_shared: bool,
    /// It waits for an exclusive lock.
    pub waits_exclusive: bool,
    /// It waits for a shared lock, and may have others.
    pub waits_beside: bool,
}

/// A window.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WindowView {
    /// Its context.
    pub context: Context,
    /// The next sequence number.
    pub serial: WindowSequence,
    /// Its epochs in the order in which they were opened, without completed ones that a call has removed.
    pub epochs: Vec<EpochView>,
    /// Its operations that are not completely sent, in order.
    pub operations: Vec<OperationView>,
    /// The processes, by rank.
    pub peers: Vec<PeerView>,
    /// The lock is exclusive.
    pub is_exclusive: bool,
    /// Number of holders of the lock.
    pub holders: u32,
    /// Number of processes that wait for the lock.
    pub waiting: u32,
    /// Start of the search for the next waiting process.
    pub turn: u32,
}

fn epoch(epoch: &Epoch) -> EpochView {
    let member = |member: &EpochMember| MemberView {
        rank: member.rank,
        is_told: member.is_told,
        has_done: member.has_done,
    };
    EpochView {
        serial: epoch.serial,
        sort: epoch.sort,
        is_begun: epoch.is_active() || epoch.is_complete(),
        is_complete: epoch.is_complete(),
        closed: epoch.closed,
        members: epoch.members.iter().map(member).collect(),
    }
}

fn operation(entry: &DeferredEntry) -> Option<OperationView> {
    let (DeferredAction::Operation { done, is_asking, .. }, Some(target)) = (entry.what, entry.target) else {
        return None;
    };
    entry.has_pending_tx().then_some(OperationView {
        serial: entry.serial,
        epoch: entry.epoch,
        target,
        sent: done,
        is_asking,
    })
}

fn window(window: &Window) -> WindowView {
    let peers = window.peers.iter().map(|(_, peer)| PeerView {
        grants: peer.grants,
        dones: peer.dones,
        holds: peer.flags.has(PeerFlags::HOLDS),
        waits_shared: peer.flags.has(PeerFlags::WAITS_SHARED),
        waits_exclusive: peer.flags.has(PeerFlags::WAITS_EXCLUSIVE),
        waits_beside: peer.flags.has(PeerFlags::WAITS_BESIDE),
    });
    WindowView {
        context: window.context,
        serial: window.serial,
        epochs: window.epochs.iter().map(epoch).collect(),
        operations: window.deferred.iter().filter_map(operation).collect(),
        peers: peers.collect(),
        is_exclusive: window.lock.is_exclusive,
        holders: window.lock.holders,
        waiting: window.lock.waiting,
        turn: window.lock.turn,
    }
}

impl<R> OneSided<R> {
    /// Returns the state of each window.
    pub fn window_views(&self) -> Vec<WindowView> {
        self.windows.iter().map(window).collect()
    }

    /// Returns the packets that calls have created and the network has not accepted: destination and bytes.
    pub fn unsent_packets(&self) -> impl Iterator<Item = (Rank, &[u8])> {
        let packets = self.outgoing.ring.iter();
        packets.map(|packet| (packet.dest, &packet.bytes[..usize::from(packet.len)]))
    }
}
