//! A window: its memory, the processes' state, its epochs and deferred operations.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use msg_layer::handler::MalformedPacket;

use crate::envelope::{Context, Rank};
use crate::memory::Span;
use crate::rma::deferred_ops::{DEFERRED_BYTES, DeferredAction, DeferredEntry};
use crate::rma::epochs::{EPOCH_BYTES, Epoch, EpochKind, EpochState, ReorderFlags, WindowSequence};
use crate::rma::exposure::{AttachError, ExposedMemory};
use crate::rma::fence_tree::FenceTree;
use crate::rma::lock::WindowLock;
use crate::rma::peers::{PeerFlags, WindowPeer, WindowPeers};
use crate::rma::rules::{AllEpochRules, BrokenRule, EpochRules};

/// Epochs for which a window has memory from the start.
const EPOCHS_AT_FIRST: usize = 2;

/// Maximum number of active exposure epochs at one window: their grants fit a counter.
const MAX_EXPOSURES: usize = 64;

/// Returns the maximum heap bytes of a window in a job of `processes` processes, with at most one region: itself, a
/// [`WindowPeer`] for each process, and memory for its first epochs and one deferred operation or flush. Only the root of its
/// tree uses all.
pub const fn window_bytes(processes: usize) -> usize {
    let children = usize::BITS - processes.saturating_sub(1).leading_zeros();
    size_of::<Window>()
        + processes * size_of::<WindowPeer>()
        + EPOCHS_AT_FIRST * EPOCH_BYTES
        + DEFERRED_BYTES
        + size_of::<Span>()
        + children as usize * size_of::<Rank>()
}

/// A window, with all its memory.
#[derive(Clone, Debug)]
pub struct Window {
    pub(super) context: Context,
    pub(super) exposure: ExposedMemory,
    pub(super) peers: WindowPeers,
    pub(super) lock: WindowLock,
    /// An operation of this process was out of bounds at a target.
    pub(super) is_faulty: bool,
    reorder: ReorderFlags,
    /// Epochs in the order in which they were opened; calls remove completed ones.
    pub(super) epochs: Vec<Epoch>,
    /// Incomplete operations and flushes, in order.
    pub(super) deferred: Vec<DeferredEntry>,
    /// The sequence number of the next epoch, operation or flush.
    pub(super) serial: WindowSequence,
    pub(super) tree: FenceTree,
}

/// Hashes all state that determines the window's behaviour, for a model checker.
impl Hash for Window {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.peers, &self.lock, self.is_faulty).hash(state);
        (&self.tree, self.reorder).hash(state);
        let waits = self.epochs.iter().filter(|epoch| !epoch.is_complete());
        waits.for_each(|epoch| epoch.hash(state));
        self.deferred
            .iter()
            .filter(|deferred| !deferred.is_done())
            .for_each(|deferred| deferred.hash(state));
    }
}

impl Window {
    /// Creates a window of these processes, with ranks below `peers.len()`; `context` identifies it. `None`: the heap
    /// is full.
    pub fn new(
        context: Context,
        regions: Vec<Span>,
        is_dynamic: bool,
        disp_unit: u32,
        peers: Box<[WindowPeer]>,
        members: impl Iterator<Item = Rank>,
        here: Rank,
    ) -> Option<Window> {
        let mut peers = WindowPeers::new(peers);
        members.for_each(|member| peers.set(member, PeerFlags::MEMBER));
        let tree = FenceTree::new(&peers, here)?;
        // For blocking calls, which use one of each at a time.
        let (mut epochs, mut deferred) = (Vec::new(), Vec::new());
        epochs.try_reserve_exact(EPOCHS_AT_FIRST).ok()?;
        deferred.try_reserve_exact(1).ok()?;
        Some(Window {
            context,
            exposure: ExposedMemory {
                regions,
                is_dynamic,
                disp_unit,
                is_withdrawn: false,
            },
            peers,
            lock: WindowLock::default(),
            is_faulty: false,
            reorder: ReorderFlags::default(),
            epochs,
            deferred,
            serial: 1,
            tree,
        })
    }

    /// Sets which epochs may overtake others.
    pub fn set_reorder(&mut self, reorder: ReorderFlags) {
        self.reorder = reorder;
    }

    /// Returns which epochs may overtake others.
    pub fn reorder(&self) -> ReorderFlags {
        self.reorder
    }

    /// Returns and clears whether an operation of this process was out of bounds at a target.
    pub fn reset_fault(&mut self) -> bool {
        core::mem::take(&mut self.is_faulty)
    }

    /// Disables remote access to the memory, or enables it again: meanwhile, remote operations are out of bounds.
    pub fn revoke_access(&mut self, is_withdrawn: bool) {
        self.exposure.is_withdrawn = is_withdrawn;
    }

    /// Exposes additional memory.
    ///
    /// # Errors
    /// [`AttachError`]: nothing has changed.
    pub fn attach(&mut self, memory: Span) -> Result<(), AttachError> {
        self.exposure.attach(memory)
    }

    /// Detaches the memory that begins at this address. `None`: no such memory exists.
    pub fn detach(&mut self, base: usize) -> Option<Span> {
        self.exposure.detach(base)
    }

    /// Returns whether operations of this epoch, for `target` if specified, are still to be sent.
    pub(super) fn has_deferred(&self, epoch: WindowSequence, target: Option<Rank>) -> bool {
        let is_so =
            |deferred: &DeferredEntry| deferred.epoch == epoch && deferred.is_for(target) && deferred.has_pending_tx();
        self.deferred.iter().any(is_so)
    }

    /// Returns whether other operations for `target` of the same epoch as the one at `last` are still to be sent.
    pub(super) fn has_deferred_but(&self, last: usize, target: Rank) -> bool {
        let epoch = self.deferred[last].epoch;
        self.deferred.iter().enumerate().any(|(at, deferred)| {
            at != last && deferred.epoch == epoch && deferred.is_for(Some(target)) && deferred.has_pending_tx()
        })
    }
}

/// Epochs and deferred operations.
impl Window {
    pub(super) fn epoch_at(&self, serial: WindowSequence) -> Option<usize> {
        let find = |epoch: &Epoch| epoch.serial;
        self.epochs.binary_search_by_key(&serial, find).ok()
    }

    /// Allocates the next sequence number.
    pub(super) fn next_sequence(&mut self) -> WindowSequence {
        self.serial += 1;
        self.serial - 1
    }

    /// Removes completed epochs and operations.
    pub(super) fn remove_completed(&mut self) {
        self.epochs.retain(|epoch| !epoch.is_complete());
        self.deferred.retain(|deferred| !deferred.is_done());
    }

    /// Handles the result of a deferred operation, `len` bytes; 0: rejected, to be requested again.
    pub(super) fn handle_deferred_reply(&mut self, serial: WindowSequence, len: usize) {
        let is_it = |deferred: &&mut DeferredEntry| deferred.serial == serial;
        if let Some(deferred) = self.deferred.iter_mut().find(is_it)
            && let DeferredAction::Operation { done, is_asking, .. } = &mut deferred.what
        {
            (*done, *is_asking) = (*done + len, false);
        }
    }

    /// Returns whether it has no incomplete epoch and no deferred operation.
    pub(super) fn is_idle(&self) -> bool {
        self.epochs.iter().all(Epoch::is_complete)
            && self.deferred.iter().all(DeferredEntry::is_done)
            && !self.tree.has_pending_releases()
    }

    /// Marks the lock of all at `target` as wanted, if required; returns whether it was not requested before.
    pub(super) fn want(&mut self, place: usize, target: Rank) -> bool {
        let epoch = &self.epochs[place];
        let wants = epoch.sort == EpochKind::LockAll
            && epoch.checks
            && epoch.step == EpochState::Open
            && ![PeerFlags::HELD, PeerFlags::ASKED, PeerFlags::WANTED]
                .into_iter()
                .any(|flag| self.peers.has(target, flag));
        if wants {
            self.peers.set(target, PeerFlags::WANTED);
        }
        wants
    }

    /// Returns whether the active epoch `before` allows the later epoch `next` to begin.
    fn allows_concurrent<R: EpochRules>(&self, rules: R, before: &Epoch, next: &Epoch) -> bool {
        let is_nested = before.closed.is_none_or(|closed| next.serial < closed);
        if is_nested && !rules.is_broken(BrokenRule::DefersWhatIsNested) {
            return true;
        }
        let is_target = |epoch: &Epoch, target| epoch.is_active() && epoch.is_access_to(target);
        let keys = self.reorder.broken_by(rules);
        keys.allows(rules, before.sort, next.sort)
            && match next.sort {
                EpochKind::Lock { target, .. } => {
                    !self.epochs.iter().any(|one| is_target(one, target))
                        || rules.is_broken(BrokenRule::LocksWhatIsAccessed)
                }
                EpochKind::Post => !self.lock.is_held() || rules.is_broken(BrokenRule::ExposesWhatIsLocked),
                _ => true,
            }
    }

    /// Returns whether two epochs are concurrently active that must not be: for a model checker.
    pub(super) fn has_conflict(&self) -> bool {
        self.epochs.iter().enumerate().any(|(place, next)| {
            let is_wrong = |before: &Epoch| {
                let is_nested = before.closed.is_none_or(|closed| next.serial < closed);
                let is_allowed = self.reorder.allows(AllEpochRules, before.sort, next.sort);
                before.is_active() && !is_nested && !is_allowed
            };
            next.is_active() && self.epochs[..place].iter().any(is_wrong)
        })
    }

    /// Returns whether the epoch at this index, the first deferred one, may begin.
    fn may_begin<R: EpochRules>(&self, rules: R, place: usize) -> bool {
        let (before, rest) = self.epochs.split_at(place);
        let next = &rest[0];
        let is_exposure = |epoch: &&Epoch| epoch.is_active() && epoch.sort == EpochKind::Post;
        if next.sort == EpochKind::Post && before.iter().filter(is_exposure).count() >= MAX_EXPOSURES {
            return false;
        }
        if rules.is_broken(BrokenRule::AsksNone) {
            return true;
        }
        let asked = if rules.is_broken(BrokenRule::AsksTheLastOnly) {
            before.len().saturating_sub(1)
        } else {
            0
        };
        let mut asked = before[asked..].iter().filter(|epoch| epoch.is_active());
        asked.all(|epoch| self.allows_concurrent(rules, epoch, next))
    }

    /// Returns the epoch that begins next.
    fn next_to_begin<R: EpochRules>(&self, rules: R) -> Option<usize> {
        let is_deferred = |place: &usize| self.epochs[*place].step == EpochState::Deferred;
        let mut deferred = (0..self.epochs.len()).filter(is_deferred);
        let may_begin = |place: &usize| self.may_begin(rules, *place);
        if rules.is_broken(BrokenRule::PassesDeferred) {
            deferred.find(may_begin)
        } else {
            deferred.next().filter(may_begin)
        }
    }

    /// Begins the epochs that may begin, in their order.
    pub(super) fn begin<R: EpochRules>(&mut self, rules: R) {
        while let Some(place) = self.next_to_begin(rules) {
            let epoch = &mut self.epochs[place];
            let opens = match epoch.sort {
                EpochKind::Start | EpochKind::LockAll => true,
                EpochKind::Lock { .. } | EpochKind::Post => !epoch.checks,
                EpochKind::Fence => false,
            };
            for member in &mut epoch.members {
                if epoch.sort != EpochKind::Post {
                    continue;
                }
                member.is_told = !epoch.checks;
                if let Some(peer) = self.peers.peer(member.rank)
                    && peer.dones > 0
                {
                    (peer.dones, member.has_done) = (peer.dones - 1, true);
                }
            }
            epoch.reach(if opens { EpochState::Open } else { EpochState::Begun }, false);
        }
    }

    /// Handles a done: a process has completed its access.
    pub(super) fn handle_done<R: EpochRules>(&mut self, source: Rank, rules: R) -> Result<(), MalformedPacket> {
        let mut exposures = self
            .epochs
            .iter_mut()
            .filter(|epoch| epoch.is_active() && epoch.sort == EpochKind::Post)
            .flat_map(|epoch| &mut epoch.members)
            .filter(|member| member.rank == source && !member.has_done);
        let member = if rules.is_broken(BrokenRule::CountsForTheNewest) {
            exposures.last()
        } else {
            exposures.next()
        };
        if let Some(member) = member {
            member.has_done = true;
            return Ok(());
        }
        // An origin that has not waited for the grant may be ahead of the exposure.
        let peer = self.peers.peer(source).ok_or(MalformedPacket)?;
        peer.dones = peer.dones.checked_add(1).ok_or(MalformedPacket)?;
        Ok(())
    }

    pub(super) fn handle_released(&mut self, source: Rank) -> Result<(), MalformedPacket> {
        let is_asked = |epoch: &&mut Epoch| epoch.sort == EpochKind::Fence && epoch.step == EpochState::Requested;
        let epoch = self.epochs.iter_mut().find(is_asked).ok_or(MalformedPacket)?;
        if self.tree.parent != Some(source) {
            return Err(MalformedPacket);
        }
        let is_faulty = epoch.opening.is_some() && core::mem::take(&mut self.is_faulty);
        epoch.reach(EpochState::Open, is_faulty);
        self.tree.release();
        Ok(())
    }

    /// Returns the access epochs before the one at `place` that still have to send `target` a done.
    fn accesses_before(&self, place: usize, target: Rank) -> impl Iterator<Item = &Epoch> {
        let owes = move |epoch: &&Epoch| {
            epoch.sort == EpochKind::Start
                && epoch.is_active()
                && epoch.member(target).is_some_and(|member| !member.is_told)
        };
        self.epochs[..place].iter().filter(owes)
    }

    /// Returns whether the done of the epoch at `place` is the next for `target`: they are sent in the order of epochs.
    pub(super) fn is_done_next(&self, place: usize, target: Rank) -> bool {
        self.accesses_before(place, target).next().is_none()
    }

    /// Returns whether operations in the epoch at `place` may be sent to `target` now.
    pub(super) fn has_access<R: EpochRules>(&self, rules: R, place: usize, target: Rank) -> bool {
        let epoch = &self.epochs[place];
        let granted = || {
            let grants = self.peers.grants(target);
            let before = if rules.is_broken(BrokenRule::TakesAnyGrant) {
                0
            } else {
                { self.accesses_before(place, target) }
                    .filter(|before| before.checks)
                    .count()
            };
            grants > before || rules.is_broken(BrokenRule::NeedsNoGrant)
        };
        epoch.step == EpochState::Open
            && match epoch.sort {
                EpochKind::Start => !epoch.checks || granted(),
                EpochKind::LockAll => !epoch.checks || self.peers.has(target, PeerFlags::HELD),
                EpochKind::Fence | EpochKind::Lock { .. } => true,
                EpochKind::Post => false,
            }
    }
}
