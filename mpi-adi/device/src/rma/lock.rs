//! A window's lock: its holders, and the processes that wait for it.
#![forbid(unsafe_code)]

use msg_layer::handler::MalformedPacket;

use crate::envelope::Rank;
use crate::rma::peers::{PeerFlags, WindowPeers};
use crate::rma::rules::{BrokenRule, EpochRules};
use crate::rma::wire;

/// A window's lock.
#[derive(Clone, Copy, Default, Hash, Debug)]
pub(super) struct WindowLock {
    pub(super) is_exclusive: bool,
    /// Number of holders.
    pub(super) holders: u32,
    pub(super) waiting: u32,
    /// Holders that have not been notified.
    untold: u32,
    /// Start of the search for the next waiting process.
    pub(super) turn: u32,
}

impl WindowLock {
    pub(super) fn is_held(&self) -> bool {
        self.holders > 0
    }

    pub(super) fn has_waiting(&self) -> bool {
        self.waiting > 0
    }

    fn is_free_for<R: EpochRules>(&self, rules: R, exclusive: bool) -> bool {
        self.holders == 0 || !exclusive && !self.is_exclusive || rules.is_broken(BrokenRule::LocksWhatIsHeld)
    }

    fn acquire(&mut self, exclusive: bool) {
        self.holders += 1;
        self.is_exclusive = exclusive;
    }

    /// Handles a LOCK of `origin`; returns whether it now holds the lock. A packet notifies it, unless it `is_here`.
    pub(super) fn request<R: EpochRules>(
        &mut self,
        rules: R,
        peers: &mut WindowPeers,
        origin: Rank,
        operation: u8,
        is_here: bool,
    ) -> Result<bool, MalformedPacket> {
        let wish = match operation {
            wire::SHARED => PeerFlags::WAITS_SHARED,
            wire::EXCLUSIVE => PeerFlags::WAITS_EXCLUSIVE,
            wire::SHARED_BESIDE => PeerFlags::WAITS_BESIDE,
            _ => return Err(MalformedPacket),
        };
        let exclusive = wish == PeerFlags::WAITS_EXCLUSIVE;
        // No request overtakes a waiting one, except from a process that may keep others waiting elsewhere.
        let passes =
            self.waiting == 0 || wish == PeerFlags::WAITS_BESIDE || rules.is_broken(BrokenRule::OvertakesWaiting);
        let is_free = passes && self.is_free_for(rules, exclusive);
        let flags = peers.flags(origin).ok_or(MalformedPacket)?;
        let taken = [
            PeerFlags::HOLDS,
            PeerFlags::WAITS_EXCLUSIVE,
            PeerFlags::WAITS_SHARED,
            PeerFlags::WAITS_BESIDE,
        ];
        if flags.has_any(&taken) {
            return Err(MalformedPacket);
        }
        if is_free {
            let told = if is_here { PeerFlags::HELD } else { PeerFlags::UNTOLD };
            flags.set(PeerFlags::HOLDS, true);
            flags.set(told, true);
            self.acquire(exclusive);
            self.untold += u32::from(!is_here);
        } else {
            flags.set(wish, true);
            self.waiting += 1;
        }
        Ok(is_free)
    }

    /// Releases the lock of `origin`.
    pub(super) fn release(&mut self, peers: &mut WindowPeers, origin: Rank) -> Result<(), MalformedPacket> {
        let flags = peers.flags(origin).ok_or(MalformedPacket)?;
        if !flags.has(PeerFlags::HOLDS) || flags.has(PeerFlags::UNTOLD) {
            return Err(MalformedPacket);
        }
        flags.set(PeerFlags::HOLDS, false);
        self.holders -= 1;
        Ok(())
    }

    /// Returns a holder that is still to be notified. Otherwise grants a free lock to the next in round robin.
    pub(super) fn grant<R: EpochRules>(&mut self, rules: R, peers: &mut WindowPeers) -> Option<Rank> {
        if self.untold > 0 {
            let untold = peers.next_with(PeerFlags::UNTOLD, 0)?;
            peers.clear(untold, PeerFlags::UNTOLD);
            self.untold -= 1;
            return Some(untold);
        }
        if self.waiting == 0 {
            return None;
        }
        if self.is_free_for(rules, false)
            && let Some(beside) = peers.next_with(PeerFlags::WAITS_BESIDE, 0)
        {
            peers.clear(beside, PeerFlags::WAITS_BESIDE);
            peers.flags(beside)?.set(PeerFlags::HOLDS, true);
            self.acquire(false);
            self.waiting -= 1;
            return Some(beside);
        }
        let turn = if rules.is_broken(BrokenRule::GrantsInRankOrder) {
            0
        } else {
            self.turn
        };
        let next = peers.next_in_turn(&[PeerFlags::WAITS_SHARED, PeerFlags::WAITS_EXCLUSIVE], turn)?;
        let flags = peers.flags(next)?;
        let exclusive = flags.has(PeerFlags::WAITS_EXCLUSIVE);
        if !self.is_free_for(rules, exclusive) {
            return None;
        }
        flags.set(PeerFlags::WAITS_EXCLUSIVE, false);
        flags.set(PeerFlags::WAITS_SHARED, false);
        flags.set(PeerFlags::HOLDS, true);
        self.acquire(exclusive);
        self.waiting -= 1;
        self.turn = (next.index() + 1) % peers.len();
        Some(next)
    }
}
