//! State of each process in a window.
#![forbid(unsafe_code)]

use alloc::boxed::Box;

use msg_layer::handler::MalformedPacket;

use crate::envelope::Rank;

/// Flags of a process in a window, one bit each.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct PeerFlags(u16);

impl PeerFlags {
    /// It is in the window's group.
    pub const MEMBER: PeerFlags = PeerFlags(1);
    /// Operations have been sent to it since the last flush.
    pub const TOUCHED: PeerFlags = PeerFlags(2);
    /// The lock of all is requested there.
    pub(super) const ASKED: PeerFlags = PeerFlags(4);
    /// This process has a lock there.
    pub const HELD: PeerFlags = PeerFlags(8);
    /// It has a lock here.
    pub(super) const HOLDS: PeerFlags = PeerFlags(16);
    /// It waits for a shared lock here.
    pub(super) const WAITS_SHARED: PeerFlags = PeerFlags(32);
    /// It waits for an exclusive lock here.
    pub(super) const WAITS_EXCLUSIVE: PeerFlags = PeerFlags(64);
    /// An operation of it was out of bounds, and it has not been notified.
    pub(super) const FAULT: PeerFlags = PeerFlags(128);
    /// The lock of all is to be requested there.
    pub(super) const WANTED: PeerFlags = PeerFlags(256);
    /// An operation for it waits, so later ones do, too; within one pass.
    pub(super) const BLOCKED: PeerFlags = PeerFlags(512);
    /// It has a lock here, and has not been notified.
    pub(super) const UNTOLD: PeerFlags = PeerFlags(1024);
    /// It waits for a shared lock here, and may have others elsewhere.
    pub(super) const WAITS_BESIDE: PeerFlags = PeerFlags(2048);

    pub(super) fn has(self, flag: PeerFlags) -> bool {
        self.0 & flag.0 != 0
    }

    pub(super) fn set(&mut self, flag: PeerFlags, to: bool) {
        if to { self.0 |= flag.0 } else { self.0 &= !flag.0 }
    }

    /// Returns whether any of these flags is set.
    pub(super) fn has_any(self, flags: &[PeerFlags]) -> bool {
        flags.iter().any(|flag| self.has(*flag))
    }
}

/// State of a process in a window: one epoch counter for each direction.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct WindowPeer {
    pub(super) flags: PeerFlags,
    /// Exposure epochs that it has opened for this process and that no access epoch here has used.
    pub(super) grants: u8,
    /// Access epochs to this process that it has completed and that no exposure epoch here has used.
    pub(super) dones: u8,
}

/// A window's state of each process of the job, by rank.
#[derive(Clone, Hash, Debug)]
pub(super) struct WindowPeers(Box<[WindowPeer]>);

impl WindowPeers {
    pub(super) fn new(peers: Box<[WindowPeer]>) -> WindowPeers {
        WindowPeers(peers)
    }

    pub(super) fn len(&self) -> u32 {
        self.0.len() as u32
    }

    pub(super) fn peer(&mut self, rank: Rank) -> Option<&mut WindowPeer> {
        self.0.get_mut(rank.index() as usize)
    }

    pub(super) fn flags(&mut self, rank: Rank) -> Option<&mut PeerFlags> {
        Some(&mut self.peer(rank)?.flags)
    }

    /// Returns whether the process has this flag.
    pub(super) fn has(&self, rank: Rank, flag: PeerFlags) -> bool {
        let peer = self.0.get(rank.index() as usize);
        peer.is_some_and(|peer| peer.flags.has(flag))
    }

    /// Sets the flag of the process, if it is in the job.
    pub(super) fn set(&mut self, rank: Rank, flag: PeerFlags) {
        self.assign(rank, flag, true);
    }

    /// Clears the flag of the process.
    pub(super) fn clear(&mut self, rank: Rank, flag: PeerFlags) {
        self.assign(rank, flag, false);
    }

    fn assign(&mut self, rank: Rank, flag: PeerFlags, to: bool) {
        if let Some(flags) = self.flags(rank) {
            flags.set(flag, to);
        }
    }

    /// Returns the first process from rank `from` on with this flag.
    pub(super) fn next_with(&self, flag: PeerFlags, from: u32) -> Option<Rank> {
        let rest = self.0.get(from as usize..)?;
        let at = rest.iter().position(|peer| peer.flags.has(flag))?;
        Some(Rank::new(from + at as u32))
    }

    /// Handles an urgent LOCK of `origin`: it has requested a shared lock, and may now have others. It may be granted
    /// already.
    pub(super) fn queue_lock_first(&mut self, origin: Rank) -> Result<(), MalformedPacket> {
        let flags = self.flags(origin).ok_or(MalformedPacket)?;
        if flags.has(PeerFlags::WAITS_SHARED) {
            flags.set(PeerFlags::WAITS_SHARED, false);
            flags.set(PeerFlags::WAITS_BESIDE, true);
        } else if !flags.has(PeerFlags::HOLDS) {
            return Err(MalformedPacket);
        }
        Ok(())
    }

    /// Returns the first process from rank `turn` on, or else from rank 0 on, with any of these flags.
    pub(super) fn next_in_turn(&self, flags: &[PeerFlags], turn: u32) -> Option<Rank> {
        let (before, behind) = self.0.split_at_checked(turn as usize)?;
        let waits = |peer: &WindowPeer| peer.flags.has_any(flags);
        let next = behind.iter().position(waits).map(|at| before.len() + at);
        let at = next.or_else(|| before.iter().position(waits))?;
        Some(Rank::new(at as u32))
    }

    /// Iterates over the processes, by rank.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Rank, &WindowPeer)> {
        { self.0.iter().zip(0..) }.map(|(peer, at)| (Rank::new(at), peer))
    }

    /// Returns the members of the window's group.
    pub(super) fn members(&self) -> impl Iterator<Item = Rank> {
        let is_member = |(_, peer): &(usize, &WindowPeer)| peer.flags.has(PeerFlags::MEMBER);
        let members = self.0.iter().enumerate().filter(is_member);
        members.map(|(at, _)| Rank::new(at as u32))
    }

    /// Returns the number of access epochs to the process that its exposure epochs have granted and that none has used.
    pub(super) fn grants(&self, rank: Rank) -> usize {
        let peer = self.0.get(rank.index() as usize);
        peer.map_or(0, |peer| peer.grants.into())
    }
}
