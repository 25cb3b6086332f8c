//! Epochs: the program opens and closes them, the device begins and ends them (thesis 001, chapter 5).
//!
//! An opened epoch is *deferred* until the epochs before it allow it to begin. Then it is *active*, until the program
//! has closed it and all its operations are done: it is *complete*. None of this blocks. A window's epochs begin in the
//! order in which they were opened, without exception.
//!
//! ```text
//!   open()                         close()
//!      |                              |
//!   Deferred -> Begun -> Asked -> Open -> Ending -> Complete
//!                 |        |       |        |
//!     post        posts sent       |      the dones of all its origins have arrived
//!     start                        |      a done to each target, behind the operations there
//!     lock        LOCK sent      granted   UNLOCK is sent, and its reply arrives
//!                 (Urged: another lock is requested meanwhile, and the LOCK says so)
//!     lock all                     |      a LOCK before the first operation at a target; all are released
//!     fence       this process, and those below, have arrived; all have arrived; touched targets are flushed
//! ```
//!
//! # Conditions for an epoch to begin
//! Each epoch before it must be complete, or active and allow it (the thesis's rules 12 to 19, with two changes):
//!
//! * An epoch opened while another one was still open in the program begins concurrently with it, as the standard
//!   specifies. Taken literally, the rules defer MPI_Win_start behind MPI_Win_post, so that two processes that post to
//!   each other, start, complete and wait would deadlock. So a program that terminates with blocking calls also does
//!   with nonblocking ones.
//! * All incomplete epochs before it are checked, not only the previous one. When that one has completed out of order,
//!   an older one may still be active, and a fence must not begin concurrently with it.
//!
//! Otherwise no epoch begins concurrently with a fence or a lock of all; [`ReorderFlags`] specifies the rest.
//!
//! # Matching of epochs between two processes
//! Epochs match in the order of both processes, with one counter for each direction. When an exposure epoch begins, it
//! sends a grant to each of its origins. An origin counts the grants that no access epoch has used yet. An access epoch
//! behind `i` others to the same process may continue when it has more than `i` grants. When it ends at that process,
//! it sends a done, in the order of the epochs. The target counts it for the oldest exposure epoch without a done from
//! there.
//!
//! # Fences without a barrier
//! Each process reports its arrival when all its operations of the last epoch are done at their targets, along a tree
//! over the window's processes: two packets for each process. The program does not wait.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::sync::atomic::{AtomicU32, Ordering};

use msg_layer::handler::MalformedPacket;
use msg_layer::header::SHORT_BYTES;

use crate::envelope::{Context, Rank};
use crate::extensions::OutgoingPacket;
use crate::memory::{Span, UserMemory};
use crate::queues::{QueueEntry, QueueKind};
use crate::rma::wire::{self, HEAD_BYTES, PacketKind, RequestHead};
use crate::rma::{OneSided, PeerFlags, ReplyPurpose, Window, WindowPeer};

/// Sequence number that epochs, operations and flushes of a window share, in the order of their calls, from 1.
pub type WindowSequence = u64;

/// Maximum number of active exposure epochs at one window: their grants fit a counter.
const MAX_EXPOSURES: usize = 64;

/// Rules that a model checker may break, one at a time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BrokenRule {
    /// An epoch is deferred behind one within which it was opened.
    DefersWhatIsNested,
    /// Only the previous epoch is checked.
    AsksTheLastOnly,
    /// Epochs begin without any check.
    AsksNone,
    /// A done is sent before the results of gets have arrived.
    DoneBeforeResults,
    /// A done is sent before deferred operations.
    DoneBeforeOperations,
    /// A done counts for the newest exposure epoch.
    CountsForTheNewest,
    /// A process arrives at a fence before its operations are done.
    ArrivesUnflushed,
    /// Operations ignore missing grants.
    NeedsNoGrant,
    /// A lock is released before the operations under it have been sent.
    UnlocksEarly,
    /// An epoch ends with an operation that is not its last.
    EndsWithAny,
    /// An epoch begins although one before it is deferred.
    PassesDeferred,
    /// Epochs begin concurrently with fences and locks of all.
    PassesFences,
    /// Treats the key for access after access as set.
    PassesAccess,
    /// Treats the key for access after exposure as set.
    AccessPassesExposure,
    /// Treats the key for exposure after exposure as set.
    PassesExposure,
    /// Treats the key for exposure after access as set.
    ExposurePassesAccess,
    /// A lock begins while another epoch has access to its target.
    LocksWhatIsAccessed,
    /// An exposure overtakes others while the local window is locked.
    ExposesWhatIsLocked,
    /// Access uses a grant for an earlier epoch.
    TakesAnyGrant,
    /// A done is sent before that of an earlier epoch.
    DonesInAnyOrder,
    /// A process arrives at a fence before those below it.
    ArrivesAlone,
    /// A process with other locks queues for a shared one.
    QueuesBeside,
    /// A process that gets other locks while it queues stays in the queue.
    NeverUrges,
    /// A progress step that advances only local state reports no change.
    MovesUnseen,
}

/// Set of enforced rules.
pub trait EpochRules: Copy + fmt::Debug + 'static {
    /// Returns whether this rule is broken.
    fn is_broken(self, flaw: BrokenRule) -> bool {
        let _ = flaw;
        false
    }
}

/// Set with all rules enforced.
#[derive(Clone, Copy, Debug)]
pub struct AllEpochRules;

impl EpochRules for AllEpochRules {}

/// Completion flag of a request of the program. The device sets it once.
#[derive(Default, Debug)]
pub struct CompletionTicket(AtomicU32);

impl CompletionTicket {
    const DONE: u32 = 1;
    const FAULTY: u32 = 2;

    pub(super) fn end(&self, is_faulty: bool) {
        let state = if is_faulty { Self::FAULTY } else { Self::DONE };
        self.0.store(state, Ordering::Release);
    }

    /// Returns `None` before completion; then whether an operation since the last synchronization was out of bounds.
    pub fn ended(&self) -> Option<bool> {
        match self.0.load(Ordering::Acquire) {
            0 => None,
            state => Some(state == Self::FAULTY),
        }
    }
}

/// Ticket to complete; `None` when the call itself waits.
pub type TicketRef = Option<&'static CompletionTicket>;

/// Epochs that may overtake incomplete earlier ones; the program asserts that they access different memory.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct ReorderFlags {
    /// Access epochs may overtake access epochs.
    pub access_after_access: bool,
    /// Access epochs may overtake exposure epochs.
    pub access_after_exposure: bool,
    /// Exposure epochs may overtake exposure epochs.
    pub exposure_after_exposure: bool,
    /// Exposure epochs may overtake access epochs.
    pub exposure_after_access: bool,
}

impl ReorderFlags {
    /// Adds the keys that a broken rule ignores.
    fn broken_by<R: EpochRules>(self, rules: R) -> ReorderFlags {
        ReorderFlags {
            access_after_access: self.access_after_access || rules.is_broken(BrokenRule::PassesAccess),
            access_after_exposure: self.access_after_exposure || rules.is_broken(BrokenRule::AccessPassesExposure),
            exposure_after_exposure: self.exposure_after_exposure || rules.is_broken(BrokenRule::PassesExposure),
            exposure_after_access: self.exposure_after_access || rules.is_broken(BrokenRule::ExposurePassesAccess),
        }
    }

    /// Returns whether an epoch of kind `next` may begin concurrently with an earlier closed one of kind `before`.
    fn allows<R: EpochRules>(self, rules: R, before: EpochKind, next: EpochKind) -> bool {
        match (before, next) {
            (EpochKind::Fence | EpochKind::LockAll, _) | (_, EpochKind::Fence | EpochKind::LockAll) => {
                rules.is_broken(BrokenRule::PassesFences)
            }
            (EpochKind::Post, EpochKind::Post) => self.exposure_after_exposure,
            (EpochKind::Post, _) => self.access_after_exposure,
            (_, EpochKind::Post) => self.exposure_after_access,
            _ => self.access_after_access,
        }
    }
}

/// Kind of an epoch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EpochKind {
    /// From one fence to the next.
    Fence,
    /// Exposure to some processes.
    Post,
    /// Access to some processes.
    Start,
    /// Access to one process, under a lock.
    Lock {
        /// The process.
        target: Rank,
        /// The lock is exclusive.
        is_exclusive: bool,
    },
    /// Access to all, under shared locks.
    LockAll,
}

/// State of an epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum EpochState {
    Deferred,
    Begun,
    Requested,
    /// Of a lock: no further LOCK is required.
    Urged,
    Open,
    Ending,
    Complete,
}

/// One of an epoch's processes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct EpochMember {
    rank: Rank,
    /// Its grant, or its done, has been sent.
    is_told: bool,
    /// Of an exposure epoch: its done has arrived.
    has_done: bool,
}

/// An epoch that the program has opened.
#[derive(Clone, Debug)]
pub struct Epoch {
    serial: WindowSequence,
    sort: EpochKind,
    members: Vec<EpochMember>,
    /// Waits for the other side; otherwise the program asserts that it is ready (MPI_MODE_NOCHECK).
    checks: bool,
    step: EpochState,
    /// The next sequence number at the time when the program closed it.
    closed: Option<WindowSequence>,
    opening: TicketRef,
    closing: TicketRef,
}

/// Size of an epoch in bytes.
pub const EPOCH_BYTES: usize = size_of::<Epoch>();
/// Size of one of its processes in bytes.
pub const MEMBER_BYTES: usize = size_of::<EpochMember>();

impl Hash for Epoch {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.serial, self.sort, &self.members, self.checks).hash(state);
        (self.step, self.closed).hash(state);
    }
}

/// Arguments to open an epoch.
#[derive(Clone, Copy, Debug)]
pub struct EpochArgs<'a> {
    /// Its kind.
    pub sort: EpochKind,
    /// Of post and start: the processes.
    pub members: &'a [Rank],
    /// Waits for the other side (no MPI_MODE_NOCHECK).
    pub checks: bool,
}

/// An event to wait for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WindowEvent {
    /// The epoch is open: posts have been sent, a lock is granted, all have arrived at a fence.
    Opened(WindowSequence),
    /// The epoch is complete.
    Closed(WindowSequence),
    /// The deferred operation or flush is complete.
    Done(WindowSequence),
}

impl Epoch {
    pub(super) fn is_complete(&self) -> bool {
        self.step == EpochState::Complete
    }

    fn is_active(&self) -> bool {
        !matches!(self.step, EpochState::Deferred | EpochState::Complete)
    }

    fn member(&self, rank: Rank) -> Option<&EpochMember> {
        self.members.iter().find(|member| member.rank == rank)
    }

    /// Returns whether the epoch provides access to the process.
    fn is_access_to(&self, rank: Rank) -> bool {
        match self.sort {
            EpochKind::Fence | EpochKind::LockAll => true,
            EpochKind::Post => false,
            EpochKind::Start => self.member(rank).is_some(),
            EpochKind::Lock { target, .. } => target == rank,
        }
    }

    /// Enters a state, and completes its ticket, with the fault state of earlier operations.
    fn reach(&mut self, step: EpochState, is_faulty: bool) {
        self.step = step;
        let told = match step {
            EpochState::Open => self.opening.take(),
            EpochState::Complete => self.closing.take(),
            _ => None,
        };
        if let Some(ticket) = told {
            ticket.end(is_faulty);
        }
    }
}

/// Tree along which processes report their arrival at a fence.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct FenceTree {
    parent: Option<Rank>,
    children: Box<[Rank]>,
    /// Children that have arrived.
    arrived: usize,
    /// Children still to be notified that all have arrived.
    to_release: usize,
}

impl FenceTree {
    /// Builds the tree of the members; `None`: the heap is full.
    pub(super) fn new(peers: &[WindowPeer], here: Rank) -> Option<FenceTree> {
        let is_member = |(_, peer): &(usize, &WindowPeer)| peer.flags.has(PeerFlags::MEMBER);
        let members = || peers.iter().enumerate().filter(is_member);
        let own = members().take_while(|(at, _)| *at < here.index() as usize).count();
        let size = members().count();
        let find = |place: usize| members().nth(place).map(|(at, _)| Rank::new(at as u32));
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

    fn release(&mut self) {
        self.arrived = 0;
        self.to_release = self.children.len();
    }
}

/// Next action of an epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EpochAction {
    /// None, for now.
    Wait,
    Open,
    /// Completes.
    End,
    /// Sends a packet.
    Send(PendingHead),
}

/// A packet that contains only a head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PendingHead {
    pub(super) target: Rank,
    pub(super) kind: PacketKind,
    pub(super) operation: u8,
    pub(super) awaited: Option<ReplyPurpose>,
}

impl PendingHead {
    fn one_way(target: Rank, kind: PacketKind) -> PendingHead {
        PendingHead {
            target,
            kind,
            operation: 0,
            awaited: None,
        }
    }

    pub(super) fn with_reply(target: Rank, kind: PacketKind, awaited: ReplyPurpose) -> PendingHead {
        PendingHead {
            awaited: Some(awaited),
            ..PendingHead::one_way(target, kind)
        }
    }

    fn lock(target: Rank, operation: u8) -> PendingHead {
        PendingHead {
            operation,
            ..PendingHead::one_way(target, PacketKind::Lock)
        }
    }
}

/// Result of an attempt to send.
pub(super) enum RmaTxResult {
    /// A packet to transmit.
    Packet(OutgoingPacket),
    /// Handled locally, or requires no packet of its own.
    Local,
    /// Must wait.
    NoSpace,
}

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
    fn has_conflict(&self) -> bool {
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
    fn begin<R: EpochRules>(&mut self, rules: R) {
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
                if let Some(peer) = self.peers.get_mut(member.rank.index() as usize)
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
        let peer = self.peer(source).ok_or(MalformedPacket)?;
        peer.dones = peer.dones.checked_add(1).ok_or(MalformedPacket)?;
        Ok(())
    }

    pub(super) fn handle_arrived(&mut self, source: Rank) -> Result<(), MalformedPacket> {
        let tree = &mut self.tree;
        if !tree.children.contains(&source) || tree.arrived == tree.children.len() {
            return Err(MalformedPacket);
        }
        tree.arrived += 1;
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
    fn is_done_next(&self, place: usize, target: Rank) -> bool {
        self.accesses_before(place, target).next().is_none()
    }

    /// Returns whether operations in the epoch at `place` may be sent to `target` now.
    pub(super) fn has_access<R: EpochRules>(&self, rules: R, place: usize, target: Rank) -> bool {
        let epoch = &self.epochs[place];
        let granted = || {
            let peer = self.peers.get(target.index() as usize);
            let grants = peer.map_or(0, |peer| peer.grants.into());
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
                EpochKind::LockAll => !epoch.checks || self.has(target, PeerFlags::HELD),
                EpochKind::Fence | EpochKind::Lock { .. } => true,
                EpochKind::Post => false,
            }
    }

    /// Returns the next action of a closed start epoch: the dones to its targets.
    fn done_of<R: EpochRules>(&self, rules: R, place: usize, is_free: impl Fn(Rank) -> bool) -> EpochAction {
        let epoch = &self.epochs[place];
        for member in epoch.members.iter().filter(|member| !member.is_told) {
            let rank = member.rank;
            let peer = self.peers.get(rank.index() as usize);
            let granted = !epoch.checks || peer.is_some_and(|peer| peer.grants > 0);
            let is_first = self.is_done_next(place, rank) || rules.is_broken(BrokenRule::DonesInAnyOrder);
            if !is_first || !granted || !is_free(rank) {
                continue;
            }
            // Operations and the end of the epoch keep their order; only errors require a reply.
            return EpochAction::Send(if self.exposure.is_dynamic && self.has(rank, PeerFlags::TOUCHED) {
                PendingHead::with_reply(rank, PacketKind::Flush, ReplyPurpose::Done)
            } else {
                PendingHead::one_way(rank, PacketKind::Complete)
            });
        }
        if epoch.members.iter().all(|member| member.is_told) {
            EpochAction::End
        } else {
            EpochAction::Wait
        }
    }
}

impl<R: EpochRules> OneSided<R> {
    /// Returns the next action of the epoch at `place` of the window at `at`.
    fn next_step(&self, at: usize, place: usize) -> EpochAction {
        let window = &self.windows[at];
        let epoch = &window.epochs[place];
        if !epoch.is_active() {
            return EpochAction::Wait;
        }
        match epoch.sort {
            EpochKind::Post => Self::next_of_post(epoch),
            EpochKind::Start if epoch.closed.is_none() => EpochAction::Wait,
            EpochKind::Start => window.done_of(self.rules, place, |rank| {
                let has_left =
                    !window.has_deferred(epoch.serial, Some(rank)) || self.is_broken(BrokenRule::DoneBeforeOperations);
                let has_come =
                    !self.awaits(window.context, Some(rank)) || self.is_broken(BrokenRule::DoneBeforeResults);
                has_left && has_come
            }),
            EpochKind::Lock { target, is_exclusive } => self.next_of_lock(window, epoch, target, is_exclusive),
            EpochKind::LockAll => self.next_of_lock_all(window, epoch),
            EpochKind::Fence => self.next_of_fence(window, epoch),
        }
    }

    fn next_of_post(epoch: &Epoch) -> EpochAction {
        let untold = epoch.members.iter().find(|member| !member.is_told);
        match untold {
            Some(member) => EpochAction::Send(PendingHead::one_way(member.rank, PacketKind::Post)),
            None if epoch.step < EpochState::Open => EpochAction::Open,
            None if epoch.closed.is_some() && epoch.members.iter().all(|one| one.has_done) => EpochAction::End,
            None => EpochAction::Wait,
        }
    }

    fn next_of_lock(&self, window: &Window, epoch: &Epoch, target: Rank, is_exclusive: bool) -> EpochAction {
        let awaits = || self.awaits(window.context, Some(target));
        let flush = EpochAction::Send(PendingHead::with_reply(target, PacketKind::Flush, ReplyPurpose::Done));
        let is_left = || {
            let waits = window.has_deferred(epoch.serial, None) || awaits();
            epoch.closed.is_some() && (!waits || self.is_broken(BrokenRule::UnlocksEarly))
        };
        match epoch.step {
            EpochState::Begun => EpochAction::Send(PendingHead::lock(target, self.wanted_lock(epoch, is_exclusive))),
            EpochState::Requested | EpochState::Urged if window.has(target, PeerFlags::HELD) => EpochAction::Open,
            EpochState::Requested if self.has_others(epoch) && !self.is_broken(BrokenRule::NeverUrges) => {
                EpochAction::Send(PendingHead::lock(target, wire::URGENT))
            }
            EpochState::Open if !is_left() => EpochAction::Wait,
            EpochState::Open if epoch.checks => {
                EpochAction::Send(PendingHead::with_reply(target, PacketKind::Unlock, ReplyPurpose::Done))
            }
            EpochState::Open if window.has(target, PeerFlags::TOUCHED) => flush,
            EpochState::Open => EpochAction::End,
            EpochState::Ending if !awaits() => EpochAction::End,
            _ => EpochAction::Wait,
        }
    }

    /// Returns the lock type of an epoch's LOCK.
    fn wanted_lock(&self, epoch: &Epoch, is_exclusive: bool) -> u8 {
        if is_exclusive {
            wire::EXCLUSIVE
        } else if self.has_others(epoch) {
            wire::SHARED_BESIDE
        } else {
            wire::SHARED
        }
    }

    /// Returns whether this process may have other locks than that of the epoch, or get them while it waits.
    fn has_others(&self, epoch: &Epoch) -> bool {
        let mut all = self.windows.iter().flat_map(|window| &window.epochs);
        let is_another = |other: &Epoch| {
            let locks = matches!(other.sort, EpochKind::Lock { .. } | EpochKind::LockAll);
            locks && other.is_active() && !core::ptr::eq(other, epoch)
        };
        all.any(is_another) && !self.is_broken(BrokenRule::QueuesBeside)
    }

    fn next_of_lock_all(&self, window: &Window, epoch: &Epoch) -> EpochAction {
        if let Some(target) = window.next_with(PeerFlags::WANTED, 0) {
            let wish = if self.is_broken(BrokenRule::QueuesBeside) {
                wire::SHARED
            } else {
                wire::SHARED_BESIDE
            };
            return EpochAction::Send(PendingHead::lock(target, wish));
        }
        let is_left =
            epoch.closed.is_some() && !window.has_deferred(epoch.serial, None) && !self.awaits(window.context, None);
        if !is_left {
            return EpochAction::Wait;
        }
        let ask = |target, kind| EpochAction::Send(PendingHead::with_reply(target, kind, ReplyPurpose::Done));
        if let Some(target) = window.next_with(PeerFlags::HELD, 0) {
            return ask(target, PacketKind::Unlock);
        }
        match window.next_with(PeerFlags::TOUCHED, 0) {
            Some(target) => ask(target, PacketKind::Flush),
            None if window.next_with(PeerFlags::ASKED, 0).is_some() => EpochAction::Wait,
            None => EpochAction::End,
        }
    }

    fn next_of_fence(&self, window: &Window, epoch: &Epoch) -> EpochAction {
        let tree = &window.tree;
        match epoch.step {
            EpochState::Begun if tree.arrived < tree.children.len() && !self.is_broken(BrokenRule::ArrivesAlone) => {
                EpochAction::Wait
            }
            EpochState::Begun => match tree.parent {
                Some(parent) => EpochAction::Send(PendingHead::one_way(parent, PacketKind::Arrived)),
                None => EpochAction::Open,
            },
            EpochState::Open if epoch.closed.is_some() => {
                if window.has_deferred(epoch.serial, None) {
                    return EpochAction::Wait;
                }
                if self.is_broken(BrokenRule::ArrivesUnflushed) {
                    return EpochAction::End;
                }
                match window.next_with(PeerFlags::TOUCHED, 0) {
                    Some(target) => {
                        EpochAction::Send(PendingHead::with_reply(target, PacketKind::Flush, ReplyPurpose::Done))
                    }
                    None if self.awaits(window.context, None) => EpochAction::Wait,
                    None => EpochAction::End,
                }
            }
            _ => EpochAction::Wait,
        }
    }

    /// Sends a pending packet: handles it locally, or emits it.
    pub(super) fn send_head(
        &mut self,
        at: usize,
        due: PendingHead,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> RmaTxResult {
        let (context, target) = (self.windows[at].context, due.target);
        let name = match due.awaited {
            None => 0,
            Some(awaited) => {
                let into = (Span::EMPTY, 0);
                match self.await_reply((context, target), awaited, into) {
                    Some(name) => name,
                    None => return RmaTxResult::NoSpace,
                }
            }
        };
        if due.kind == PacketKind::Flush {
            self.windows[at].clear(target, PeerFlags::TOUCHED);
        }
        let head = RequestHead {
            operation: due.operation,
            ..RequestHead::new(due.kind, context)
        };
        head.emit(out);
        if target == self.here {
            // Cannot fail: the origin has checked the packet.
            let _ = self.act_on_self(memory, name, &out[..HEAD_BYTES]);
            return RmaTxResult::Local;
        }
        RmaTxResult::Packet(OutgoingPacket {
            dest: target,
            argument: name,
            place: None,
            len: HEAD_BYTES,
        })
    }

    /// Returns the end of an epoch that can be piggybacked on the operation at `last`, which is to be sent to `target`
    /// now: no other operation is pending there, and no reply is outstanding from there.
    pub(super) fn ends_with(&self, at: usize, last: usize, target: Rank) -> Option<(usize, PendingHead)> {
        let window = &self.windows[at];
        let place = window.epoch_at(window.deferred[last].epoch)?;
        let epoch = &window.epochs[place];
        let is_closed = epoch.closed.is_some() && epoch.checks && epoch.step == EpochState::Open;
        let is_last = || !window.has_deferred_but(last, target) && !self.awaits(window.context, Some(target));
        if !is_closed || !is_last() && !self.is_broken(BrokenRule::EndsWithAny) {
            return None;
        }
        let granted = || {
            let peer = window.peers.get(target.index() as usize);
            peer.is_some_and(|peer| peer.grants > 0) && window.is_done_next(place, target)
        };
        let due = match epoch.sort {
            EpochKind::Lock { .. } => PendingHead::with_reply(target, PacketKind::Unlock, ReplyPurpose::Done),
            // Only a flush reports displacements outside of attached memory.
            EpochKind::Start if !window.exposure.is_dynamic && granted() => {
                PendingHead::one_way(target, PacketKind::Complete)
            }
            _ => return None,
        };
        Some((place, due))
    }

    /// Updates the epoch after this packet was sent.
    pub(super) fn note_sent(&mut self, at: usize, place: usize, due: PendingHead) {
        let window = &mut self.windows[at];
        let epoch = &mut window.epochs[place];
        match due.kind {
            PacketKind::Post | PacketKind::Complete => {
                let is_it = |member: &&mut EpochMember| member.rank == due.target && !member.is_told;
                if let Some(member) = epoch.members.iter_mut().find(is_it) {
                    member.is_told = true;
                }
                let checks = epoch.checks;
                if due.kind == PacketKind::Complete
                    && checks
                    && let Some(peer) = window.peer(due.target)
                {
                    peer.grants -= 1;
                }
            }
            PacketKind::Lock if epoch.sort == EpochKind::LockAll => {
                window.clear(due.target, PeerFlags::WANTED);
                if let Some(flags) = window.flags(due.target) {
                    flags.set(PeerFlags::ASKED, true);
                }
            }
            PacketKind::Lock => {
                let may_queue = due.operation == wire::SHARED;
                epoch.reach(
                    if may_queue {
                        EpochState::Requested
                    } else {
                        EpochState::Urged
                    },
                    false,
                );
                // Another epoch with an earlier LOCK may have to urge.
                self.is_due = true;
            }
            PacketKind::Arrived => epoch.reach(EpochState::Requested, false),
            PacketKind::Unlock => {
                if epoch.sort != EpochKind::LockAll {
                    epoch.reach(EpochState::Ending, false);
                }
                for flag in [PeerFlags::TOUCHED, PeerFlags::HELD, PeerFlags::ASKED] {
                    window.clear(due.target, flag);
                }
            }
            _ => {}
        }
    }

    /// Sets the epoch to open or complete.
    fn reach(&mut self, at: usize, place: usize, step: EpochState) {
        self.has_moved = true;
        let window = &mut self.windows[at];
        let epoch = &mut window.epochs[place];
        let tells = match step {
            EpochState::Complete => epoch.closing.is_some(),
            _ => epoch.opening.is_some() && epoch.sort == EpochKind::Fence,
        };
        let is_faulty = tells && core::mem::take(&mut window.is_faulty);
        epoch.reach(step, is_faulty);
        if epoch.sort == EpochKind::Fence && step == EpochState::Open {
            window.tree.release();
        }
    }

    /// Emits the next packet of epochs and deferred operations. Local work that it enables is done immediately, so no
    /// work remains for a progress step that moves no packet.
    pub(super) fn next_epoch_packet(
        &mut self,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> Option<OutgoingPacket> {
        while core::mem::take(&mut self.is_due) {
            for at in 0..self.windows.len() {
                if let Some(leaving) = self.next_of_window(at, memory, out, false) {
                    self.advance_local(memory);
                    self.is_due = true;
                    return Some(leaving);
                }
            }
        }
        None
    }

    /// Advances everything that requires no packet to another process.
    pub fn advance_local(&mut self, memory: &mut dyn UserMemory) {
        let was_due = self.is_due;
        let mut out = [0; SHORT_BYTES];
        self.is_due = true;
        while core::mem::take(&mut self.is_due) {
            for at in 0..self.windows.len() {
                let _ = self.next_of_window(at, memory, &mut out, true);
            }
        }
        // Packets to other processes may be pending.
        self.is_due = was_due;
    }

    /// Advances a window up to one packet to another process; with `only_here`, without packets.
    fn next_of_window(
        &mut self,
        at: usize,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
        only_here: bool,
    ) -> Option<OutgoingPacket> {
        let mut moved = true;
        while core::mem::take(&mut moved) {
            self.advance_epochs(at);
            let tree = &mut self.windows[at].tree;
            if let Some(place) = tree.to_release.checked_sub(1).filter(|_| !only_here) {
                tree.to_release = place;
                let due = PendingHead::one_way(tree.children[place], PacketKind::Released);
                if let RmaTxResult::Packet(leaving) = self.send_head(at, due, memory, out) {
                    return Some(leaving);
                }
            }
            let mut place = 0;
            while place < self.windows[at].epochs.len() {
                let sent = match self.next_step(at, place) {
                    EpochAction::Send(due) if !only_here || due.target == self.here => {
                        let sent = self.send_head(at, due, memory, out);
                        if !matches!(sent, RmaTxResult::NoSpace) {
                            self.note_sent(at, place, due);
                        }
                        sent
                    }
                    _ => RmaTxResult::NoSpace,
                };
                match sent {
                    RmaTxResult::NoSpace => place += 1,
                    RmaTxResult::Local => (moved, self.has_moved) = (true, true),
                    RmaTxResult::Packet(leaving) => return Some(leaving),
                }
            }
            match self.replay(at, memory, out, only_here) {
                RmaTxResult::Packet(leaving) => return Some(leaving),
                RmaTxResult::Local => (moved, self.has_moved) = (true, true),
                RmaTxResult::NoSpace => {}
            }
        }
        None
    }

    /// Advances epochs as far as possible without a packet.
    fn advance_epochs(&mut self, at: usize) {
        let rules = self.rules;
        let mut moved = true;
        while core::mem::take(&mut moved) {
            self.windows[at].begin(rules);
            for place in 0..self.windows[at].epochs.len() {
                let step = match self.next_step(at, place) {
                    EpochAction::Open => EpochState::Open,
                    EpochAction::End => EpochState::Complete,
                    _ => continue,
                };
                self.reach(at, place, step);
                moved = true;
            }
        }
    }

    /// Allocates memory for another epoch; returns false when the heap is full.
    pub fn prepare_epoch(&mut self, context: Context) -> bool {
        self.window(context).is_some_and(|window| {
            window.remove_completed();
            window.epochs.try_reserve(1).is_ok()
        })
    }

    /// Opens an epoch; returns its sequence number. `None`: the heap is full.
    ///
    /// # Panics
    /// When the window does not exist.
    pub fn open(&mut self, context: Context, opening: EpochArgs<'_>, told: TicketRef) -> Option<WindowSequence> {
        let at = self.place(context).expect("a window");
        self.outgoing.is_held = false;
        let window = &mut self.windows[at];
        window.remove_completed();
        let mut members = Vec::new();
        members.try_reserve_exact(opening.members.len()).ok()?;
        members.extend(opening.members.iter().map(|rank| EpochMember {
            rank: *rank,
            is_told: false,
            has_done: false,
        }));
        window.epochs.try_reserve(1).ok()?;
        let serial = window.next_sequence();
        window.epochs.push(Epoch {
            serial,
            sort: opening.sort,
            members,
            checks: opening.checks,
            step: EpochState::Deferred,
            closed: None,
            opening: told,
            closing: None,
        });
        self.advance_epochs(at);
        self.is_due = true;
        Some(serial)
    }

    /// Closes an epoch that is open in the program.
    pub fn close(&mut self, context: Context, epoch: WindowSequence, told: TicketRef) {
        let Some(at) = self.place(context) else {
            return;
        };
        self.outgoing.is_held = false;
        let window = &mut self.windows[at];
        let now = window.serial;
        if let Some(place) = window.epoch_at(epoch) {
            let epoch = &mut window.epochs[place];
            (epoch.closed, epoch.closing) = (Some(now), told);
        }
        self.advance_epochs(at);
        self.is_due = true;
    }

    /// Returns whether the watched condition is met.
    pub fn has_occurred(&self, context: Context, watch: WindowEvent) -> bool {
        let Some(at) = self.place(context) else {
            return true;
        };
        let window = &self.windows[at];
        let step = |serial| window.epoch_at(serial).map(|at| window.epochs[at].step);
        match watch {
            WindowEvent::Opened(serial) => step(serial).is_none_or(|step| step >= EpochState::Open),
            WindowEvent::Closed(serial) => step(serial).is_none_or(|step| step == EpochState::Complete),
            WindowEvent::Done(serial) => !window.deferred.iter().any(|deferred| deferred.waits(serial)),
        }
    }

    /// Returns whether all origins of an exposure epoch have completed their access, so that closing would complete it.
    pub fn can_end(&mut self, context: Context, epoch: WindowSequence) -> bool {
        let Some(window) = self.window(context) else {
            return true;
        };
        window.epoch_at(epoch).is_none_or(|at| {
            let epoch = &window.epochs[at];
            epoch.is_active() && epoch.members.iter().all(|member| member.has_done)
        })
    }

    /// Returns whether the epoch provides access to this process.
    pub fn includes(&mut self, context: Context, epoch: WindowSequence, target: Rank) -> bool {
        self.window(context).is_some_and(|window| {
            let place = window.epoch_at(epoch);
            place.is_some_and(|at| window.epochs[at].is_access_to(target))
        })
    }

    /// Returns whether operations of the epoch may be sent to `target` now, none waiting before them. Requests a
    /// required lock.
    pub fn can_access(&mut self, context: Context, epoch: WindowSequence, target: Rank) -> bool {
        let rules = self.rules;
        let Some(window) = self.window(context) else {
            return false;
        };
        let Some(place) = window.epoch_at(epoch) else {
            return false;
        };
        if window.has_deferred(epoch, Some(target)) {
            return false;
        }
        let has_access = window.has_access(rules, place, target);
        self.is_due |= !has_access && self.want(context, place, target);
        has_access
    }

    /// Marks the lock of all at `target` as wanted, if required; returns whether it was not requested before.
    pub(super) fn want(&mut self, context: Context, place: usize, target: Rank) -> bool {
        let Some(window) = self.window(context) else {
            return false;
        };
        let epoch = &window.epochs[place];
        let wants = epoch.sort == EpochKind::LockAll
            && epoch.checks
            && epoch.step == EpochState::Open
            && ![PeerFlags::HELD, PeerFlags::ASKED, PeerFlags::WANTED]
                .into_iter()
                .any(|flag| window.has(target, flag));
        if wants && let Some(flags) = window.flags(target) {
            flags.set(PeerFlags::WANTED, true);
        }
        wants
    }

    /// Calls `visit` for each grant and each end of an epoch that this process waits for, and for each holder of a lock
    /// of its windows.
    pub(crate) fn visit_waits(&self, visit: &mut dyn FnMut(QueueEntry)) {
        for window in &self.windows {
            let entry = |kind, peer| QueueEntry::for_window(kind, window.context, peer);
            for epoch in window.epochs.iter().filter(|epoch| epoch.is_active()) {
                match epoch.sort {
                    EpochKind::Post => {
                        let awaited = epoch.members.iter().filter(|member| !member.has_done);
                        awaited.for_each(|member| visit(entry(QueueKind::WindowEpoch, member.rank)));
                    }
                    EpochKind::Start if epoch.checks => {
                        let owes = |member: &&EpochMember| {
                            let peer = window.peers.get(member.rank.index() as usize);
                            !member.is_told && peer.is_none_or(|peer| peer.grants == 0)
                        };
                        let awaited = epoch.members.iter().filter(owes);
                        awaited.for_each(|member| visit(entry(QueueKind::WindowGrant, member.rank)));
                    }
                    EpochKind::Lock { target, .. } if epoch.checks && epoch.step < EpochState::Open => {
                        visit(entry(QueueKind::WindowGrant, target));
                    }
                    EpochKind::LockAll | EpochKind::Lock { .. } | EpochKind::Start | EpochKind::Fence => {}
                }
            }
            for (peer, rank) in window.peers.iter().zip(0..) {
                if peer.flags.has(PeerFlags::ASKED) && !peer.flags.has(PeerFlags::HELD) {
                    visit(entry(QueueKind::WindowGrant, Rank::new(rank)));
                }
                if peer.flags.has(PeerFlags::HOLDS) {
                    visit(entry(QueueKind::LockHolder, Rank::new(rank)));
                }
            }
        }
    }

    /// Returns whether two epochs of a window are concurrently active that must not be: for a model checker.
    #[doc(hidden)]
    pub fn has_conflict(&self) -> bool {
        self.windows.iter().any(Window::has_conflict)
    }

    /// Returns whether the window has no incomplete epoch and no deferred operation.
    pub fn is_idle(&mut self, context: Context) -> bool {
        self.window(context).is_none_or(|window| {
            window.epochs.iter().all(Epoch::is_complete)
                && window.deferred.iter().all(|deferred| deferred.is_done())
                && window.tree.to_release == 0
        })
    }
}
