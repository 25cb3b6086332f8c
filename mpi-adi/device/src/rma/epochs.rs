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
//! Otherwise no epoch begins concurrently with a fence or a lock of all; [`Reorder`] specifies the rest.
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

use msg_layer::handler::Malformed;
use msg_layer::header::SHORT_BYTES;

use crate::envelope::{Context, Rank};
use crate::memory::{Span, UserMemory};
use crate::parts::Leaving;
use crate::rma::wire::{self, HEAD_BYTES, Head, Kind};
use crate::rma::{Awaited, Flags, OneSided, Peer, Window};

/// Sequence number that epochs, operations and flushes of a window share, in the order of their calls, from 1.
pub type Serial = u64;

/// Maximum number of active exposure epochs at one window: their grants fit a counter.
const MOST_EXPOSURES: usize = 64;

/// Rules that a model checker may break, one at a time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Flaw {
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
pub trait Rules: Copy + fmt::Debug + 'static {
    /// Returns whether this rule is broken.
    fn breaks(self, flaw: Flaw) -> bool {
        let _ = flaw;
        false
    }
}

/// Set with all rules enforced.
#[derive(Clone, Copy, Debug)]
pub struct Sound;

impl Rules for Sound {}

/// Completion flag of a request of the program. The device sets it once.
#[derive(Default, Debug)]
pub struct Ticket(AtomicU32);

impl Ticket {
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
pub type Told = Option<&'static Ticket>;

/// Epochs that may overtake incomplete earlier ones; the program asserts that they access different memory.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct Reorder {
    /// Access epochs may overtake access epochs.
    pub access_after_access: bool,
    /// Access epochs may overtake exposure epochs.
    pub access_after_exposure: bool,
    /// Exposure epochs may overtake exposure epochs.
    pub exposure_after_exposure: bool,
    /// Exposure epochs may overtake access epochs.
    pub exposure_after_access: bool,
}

impl Reorder {
    /// Adds the keys that a broken rule ignores.
    fn broken_by<R: Rules>(self, rules: R) -> Reorder {
        Reorder {
            access_after_access: self.access_after_access || rules.breaks(Flaw::PassesAccess),
            access_after_exposure: self.access_after_exposure
                || rules.breaks(Flaw::AccessPassesExposure),
            exposure_after_exposure: self.exposure_after_exposure
                || rules.breaks(Flaw::PassesExposure),
            exposure_after_access: self.exposure_after_access
                || rules.breaks(Flaw::ExposurePassesAccess),
        }
    }

    /// Returns whether an epoch of kind `next` may begin concurrently with an earlier closed one of kind `before`.
    fn allows<R: Rules>(self, rules: R, before: Sort, next: Sort) -> bool {
        match (before, next) {
            (Sort::Fence | Sort::LockAll, _) | (_, Sort::Fence | Sort::LockAll) => {
                rules.breaks(Flaw::PassesFences)
            }
            (Sort::Post, Sort::Post) => self.exposure_after_exposure,
            (Sort::Post, _) => self.access_after_exposure,
            (_, Sort::Post) => self.exposure_after_access,
            _ => self.access_after_access,
        }
    }
}

/// Kind of an epoch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sort {
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
enum Step {
    Deferred,
    Begun,
    Asked,
    /// Of a lock: no further LOCK is required.
    Urged,
    Open,
    Ending,
    Complete,
}

/// One of an epoch's processes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Member {
    rank: Rank,
    /// Its grant, or its done, has been sent.
    is_told: bool,
    /// Of an exposure epoch: its done has arrived.
    has_done: bool,
}

/// An epoch that the program has opened.
#[derive(Clone, Debug)]
pub struct Epoch {
    serial: Serial,
    sort: Sort,
    members: Vec<Member>,
    /// Waits for the other side; otherwise the program asserts that it is ready (MPI_MODE_NOCHECK).
    checks: bool,
    step: Step,
    /// The next sequence number at the time when the program closed it.
    closed: Option<Serial>,
    opening: Told,
    closing: Told,
}

/// Size of an epoch in bytes.
pub const EPOCH_BYTES: usize = size_of::<Epoch>();
/// Size of one of its processes in bytes.
pub const MEMBER_BYTES: usize = size_of::<Member>();

impl Hash for Epoch {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.serial, self.sort, &self.members, self.checks).hash(state);
        (self.step, self.closed).hash(state);
    }
}

/// Arguments to open an epoch.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// Its kind.
    pub sort: Sort,
    /// Of post and start: the processes.
    pub members: &'a [Rank],
    /// Waits for the other side (no MPI_MODE_NOCHECK).
    pub checks: bool,
}

/// An event to wait for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Watch {
    /// The epoch is open: posts have been sent, a lock is granted, all have arrived at a fence.
    Opened(Serial),
    /// The epoch is complete.
    Closed(Serial),
    /// The deferred operation or flush is complete.
    Done(Serial),
}

impl Epoch {
    pub(super) fn is_complete(&self) -> bool {
        self.step == Step::Complete
    }

    fn is_active(&self) -> bool {
        !matches!(self.step, Step::Deferred | Step::Complete)
    }

    fn member(&self, rank: Rank) -> Option<&Member> {
        self.members.iter().find(|member| member.rank == rank)
    }

    /// Returns whether the epoch provides access to the process.
    fn is_access_to(&self, rank: Rank) -> bool {
        match self.sort {
            Sort::Fence | Sort::LockAll => true,
            Sort::Post => false,
            Sort::Start => self.member(rank).is_some(),
            Sort::Lock { target, .. } => target == rank,
        }
    }

    /// Enters a state, and completes its ticket, with the fault state of earlier operations.
    fn reach(&mut self, step: Step, is_faulty: bool) {
        self.step = step;
        let told = match step {
            Step::Open => self.opening.take(),
            Step::Complete => self.closing.take(),
            _ => None,
        };
        if let Some(ticket) = told {
            ticket.end(is_faulty);
        }
    }
}

/// Tree along which processes report their arrival at a fence.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Tree {
    parent: Option<Rank>,
    children: Box<[Rank]>,
    /// Children that have arrived.
    arrived: usize,
    /// Children still to be notified that all have arrived.
    to_release: usize,
}

impl Tree {
    /// Builds the tree of the members; `None`: the heap is full.
    pub(super) fn new(peers: &[Peer], here: Rank) -> Option<Tree> {
        let is_member = |(_, peer): &(usize, &Peer)| peer.flags.has(Flags::MEMBER);
        let members = || peers.iter().enumerate().filter(is_member);
        let own = members()
            .take_while(|(at, _)| *at < here.index() as usize)
            .count();
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
        Some(Tree {
            parent: if own == 0 {
                None
            } else {
                find(own & (own - 1))
            },
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
enum Next {
    /// None, for now.
    Waits,
    Opens,
    /// Completes.
    Ends,
    /// Sends a packet.
    Sends(Due),
}

/// A packet that contains only a head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Due {
    pub(super) target: Rank,
    pub(super) kind: Kind,
    pub(super) operation: u8,
    pub(super) awaited: Option<Awaited>,
}

impl Due {
    fn tell(target: Rank, kind: Kind) -> Due {
        Due {
            target,
            kind,
            operation: 0,
            awaited: None,
        }
    }

    pub(super) fn ask(target: Rank, kind: Kind, awaited: Awaited) -> Due {
        Due {
            awaited: Some(awaited),
            ..Due::tell(target, kind)
        }
    }

    fn lock(target: Rank, operation: u8) -> Due {
        Due {
            operation,
            ..Due::tell(target, Kind::Lock)
        }
    }
}

/// Result of an attempt to send.
pub(super) enum Sent {
    /// A packet to transmit.
    Packet(Leaving),
    /// Handled locally, or requires no packet of its own.
    Here,
    /// Must wait.
    NoRoom,
}

impl Window {
    pub(super) fn epoch_at(&self, serial: Serial) -> Option<usize> {
        let find = |epoch: &Epoch| epoch.serial;
        self.epochs.binary_search_by_key(&serial, find).ok()
    }

    /// Allocates the next sequence number.
    pub(super) fn number(&mut self) -> Serial {
        self.serial += 1;
        self.serial - 1
    }

    /// Removes completed epochs and operations.
    pub(super) fn sweep(&mut self) {
        self.epochs.retain(|epoch| !epoch.is_complete());
        self.deferred.retain(|deferred| !deferred.is_over());
    }

    /// Returns whether the active epoch `before` allows the later epoch `next` to begin.
    fn lets<R: Rules>(&self, rules: R, before: &Epoch, next: &Epoch) -> bool {
        let is_nested = before.closed.is_none_or(|closed| next.serial < closed);
        if is_nested && !rules.breaks(Flaw::DefersWhatIsNested) {
            return true;
        }
        let is_target = |epoch: &Epoch, target| epoch.is_active() && epoch.is_access_to(target);
        let keys = self.reorder.broken_by(rules);
        keys.allows(rules, before.sort, next.sort)
            && match next.sort {
                Sort::Lock { target, .. } => {
                    !self.epochs.iter().any(|one| is_target(one, target))
                        || rules.breaks(Flaw::LocksWhatIsAccessed)
                }
                Sort::Post => !self.lock.is_taken() || rules.breaks(Flaw::ExposesWhatIsLocked),
                _ => true,
            }
    }

    /// Returns whether two epochs are concurrently active that must not be: for a model checker.
    fn has_quarrel(&self) -> bool {
        self.epochs.iter().enumerate().any(|(place, next)| {
            let is_wrong = |before: &Epoch| {
                let is_nested = before.closed.is_none_or(|closed| next.serial < closed);
                let is_allowed = self.reorder.allows(Sound, before.sort, next.sort);
                before.is_active() && !is_nested && !is_allowed
            };
            next.is_active() && self.epochs[..place].iter().any(is_wrong)
        })
    }

    /// Returns whether the epoch at this index, the first deferred one, may begin.
    fn may_begin<R: Rules>(&self, rules: R, place: usize) -> bool {
        let (before, rest) = self.epochs.split_at(place);
        let next = &rest[0];
        let is_exposure = |epoch: &&Epoch| epoch.is_active() && epoch.sort == Sort::Post;
        if next.sort == Sort::Post && before.iter().filter(is_exposure).count() >= MOST_EXPOSURES {
            return false;
        }
        if rules.breaks(Flaw::AsksNone) {
            return true;
        }
        let asked = if rules.breaks(Flaw::AsksTheLastOnly) {
            before.len().saturating_sub(1)
        } else {
            0
        };
        let mut asked = before[asked..].iter().filter(|epoch| epoch.is_active());
        asked.all(|epoch| self.lets(rules, epoch, next))
    }

    /// Returns the epoch that begins next.
    fn next_to_begin<R: Rules>(&self, rules: R) -> Option<usize> {
        let is_deferred = |place: &usize| self.epochs[*place].step == Step::Deferred;
        let mut deferred = (0..self.epochs.len()).filter(is_deferred);
        let may_begin = |place: &usize| self.may_begin(rules, *place);
        if rules.breaks(Flaw::PassesDeferred) {
            deferred.find(may_begin)
        } else {
            deferred.next().filter(may_begin)
        }
    }

    /// Begins the epochs that may begin, in their order.
    fn begin<R: Rules>(&mut self, rules: R) {
        while let Some(place) = self.next_to_begin(rules) {
            let epoch = &mut self.epochs[place];
            let opens = match epoch.sort {
                Sort::Start | Sort::LockAll => true,
                Sort::Lock { .. } | Sort::Post => !epoch.checks,
                Sort::Fence => false,
            };
            for member in &mut epoch.members {
                if epoch.sort != Sort::Post {
                    continue;
                }
                member.is_told = !epoch.checks;
                if let Some(peer) = self.peers.get_mut(member.rank.index() as usize)
                    && peer.dones > 0
                {
                    (peer.dones, member.has_done) = (peer.dones - 1, true);
                }
            }
            epoch.reach(if opens { Step::Open } else { Step::Begun }, false);
        }
    }

    /// Handles a done: a process has completed its access.
    pub(super) fn take_done<R: Rules>(&mut self, source: Rank, rules: R) -> Result<(), Malformed> {
        let mut exposures = self
            .epochs
            .iter_mut()
            .filter(|epoch| epoch.is_active() && epoch.sort == Sort::Post)
            .flat_map(|epoch| &mut epoch.members)
            .filter(|member| member.rank == source && !member.has_done);
        let member = if rules.breaks(Flaw::CountsForTheNewest) {
            exposures.last()
        } else {
            exposures.next()
        };
        if let Some(member) = member {
            member.has_done = true;
            return Ok(());
        }
        // An origin that has not waited for the grant may be ahead of the exposure.
        let peer = self.peer(source).ok_or(Malformed)?;
        peer.dones = peer.dones.checked_add(1).ok_or(Malformed)?;
        Ok(())
    }

    pub(super) fn take_arrived(&mut self, source: Rank) -> Result<(), Malformed> {
        let tree = &mut self.tree;
        if !tree.children.contains(&source) || tree.arrived == tree.children.len() {
            return Err(Malformed);
        }
        tree.arrived += 1;
        Ok(())
    }

    pub(super) fn take_released(&mut self, source: Rank) -> Result<(), Malformed> {
        let is_asked = |epoch: &&mut Epoch| epoch.sort == Sort::Fence && epoch.step == Step::Asked;
        let epoch = self.epochs.iter_mut().find(is_asked).ok_or(Malformed)?;
        if self.tree.parent != Some(source) {
            return Err(Malformed);
        }
        let is_faulty = epoch.opening.is_some() && core::mem::take(&mut self.is_faulty);
        epoch.reach(Step::Open, is_faulty);
        self.tree.release();
        Ok(())
    }

    /// Returns the access epochs before the one at `place` that still have to send `target` a done.
    fn accesses_before(&self, place: usize, target: Rank) -> impl Iterator<Item = &Epoch> {
        let owes = move |epoch: &&Epoch| {
            epoch.sort == Sort::Start
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
    pub(super) fn has_access<R: Rules>(&self, rules: R, place: usize, target: Rank) -> bool {
        let epoch = &self.epochs[place];
        let granted = || {
            let peer = self.peers.get(target.index() as usize);
            let grants = peer.map_or(0, |peer| peer.grants.into());
            let before = if rules.breaks(Flaw::TakesAnyGrant) {
                0
            } else {
                { self.accesses_before(place, target) }
                    .filter(|before| before.checks)
                    .count()
            };
            grants > before || rules.breaks(Flaw::NeedsNoGrant)
        };
        epoch.step == Step::Open
            && match epoch.sort {
                Sort::Start => !epoch.checks || granted(),
                Sort::LockAll => !epoch.checks || self.has(target, Flags::HELD),
                Sort::Fence | Sort::Lock { .. } => true,
                Sort::Post => false,
            }
    }

    /// Returns the next action of a closed start epoch: the dones to its targets.
    fn done_of<R: Rules>(&self, rules: R, place: usize, is_free: impl Fn(Rank) -> bool) -> Next {
        let epoch = &self.epochs[place];
        for member in epoch.members.iter().filter(|member| !member.is_told) {
            let rank = member.rank;
            let peer = self.peers.get(rank.index() as usize);
            let granted = !epoch.checks || peer.is_some_and(|peer| peer.grants > 0);
            let is_first = self.is_done_next(place, rank) || rules.breaks(Flaw::DonesInAnyOrder);
            if !is_first || !granted || !is_free(rank) {
                continue;
            }
            // Operations and the end of the epoch keep their order; only errors require a reply.
            return Next::Sends(
                if self.exposure.is_dynamic && self.has(rank, Flags::TOUCHED) {
                    Due::ask(rank, Kind::Flush, Awaited::Done)
                } else {
                    Due::tell(rank, Kind::Complete)
                },
            );
        }
        if epoch.members.iter().all(|member| member.is_told) {
            Next::Ends
        } else {
            Next::Waits
        }
    }
}

impl<R: Rules> OneSided<R> {
    /// Returns the next action of the epoch at `place` of the window at `at`.
    fn next_step(&self, at: usize, place: usize) -> Next {
        let window = &self.windows[at];
        let epoch = &window.epochs[place];
        if !epoch.is_active() {
            return Next::Waits;
        }
        match epoch.sort {
            Sort::Post => Self::next_of_post(epoch),
            Sort::Start if epoch.closed.is_none() => Next::Waits,
            Sort::Start => window.done_of(self.rules, place, |rank| {
                let has_left = !window.has_deferred(epoch.serial, Some(rank))
                    || self.breaks(Flaw::DoneBeforeOperations);
                let has_come = !self.awaits(window.context, Some(rank))
                    || self.breaks(Flaw::DoneBeforeResults);
                has_left && has_come
            }),
            Sort::Lock {
                target,
                is_exclusive,
            } => self.next_of_lock(window, epoch, (target, is_exclusive)),
            Sort::LockAll => self.next_of_lock_all(window, epoch),
            Sort::Fence => self.next_of_fence(window, epoch),
        }
    }

    fn next_of_post(epoch: &Epoch) -> Next {
        let untold = epoch.members.iter().find(|member| !member.is_told);
        match untold {
            Some(member) => Next::Sends(Due::tell(member.rank, Kind::Post)),
            None if epoch.step < Step::Open => Next::Opens,
            None if epoch.closed.is_some() && epoch.members.iter().all(|one| one.has_done) => {
                Next::Ends
            }
            None => Next::Waits,
        }
    }

    fn next_of_lock(
        &self,
        window: &Window,
        epoch: &Epoch,
        (target, is_exclusive): (Rank, bool),
    ) -> Next {
        let awaits = || self.awaits(window.context, Some(target));
        let flush = Next::Sends(Due::ask(target, Kind::Flush, Awaited::Done));
        let is_left = || {
            let waits = window.has_deferred(epoch.serial, None) || awaits();
            epoch.closed.is_some() && (!waits || self.breaks(Flaw::UnlocksEarly))
        };
        match epoch.step {
            Step::Begun => Next::Sends(Due::lock(target, self.wish(epoch, is_exclusive))),
            Step::Asked | Step::Urged if window.has(target, Flags::HELD) => Next::Opens,
            Step::Asked if self.has_others(epoch) && !self.breaks(Flaw::NeverUrges) => {
                Next::Sends(Due::lock(target, wire::URGENT))
            }
            Step::Open if !is_left() => Next::Waits,
            Step::Open if epoch.checks => {
                Next::Sends(Due::ask(target, Kind::Unlock, Awaited::Done))
            }
            Step::Open if window.has(target, Flags::TOUCHED) => flush,
            Step::Open => Next::Ends,
            Step::Ending if !awaits() => Next::Ends,
            _ => Next::Waits,
        }
    }

    /// Returns the lock type of an epoch's LOCK.
    fn wish(&self, epoch: &Epoch, is_exclusive: bool) -> u8 {
        match is_exclusive {
            true => wire::EXCLUSIVE,
            false if self.has_others(epoch) => wire::SHARED_BESIDE,
            false => wire::SHARED,
        }
    }

    /// Returns whether this process may have other locks than that of the epoch, or get them while it waits.
    fn has_others(&self, epoch: &Epoch) -> bool {
        let mut all = self.windows.iter().flat_map(|window| &window.epochs);
        let is_another = |other: &Epoch| {
            let locks = matches!(other.sort, Sort::Lock { .. } | Sort::LockAll);
            locks && other.is_active() && !core::ptr::eq(other, epoch)
        };
        all.any(is_another) && !self.breaks(Flaw::QueuesBeside)
    }

    fn next_of_lock_all(&self, window: &Window, epoch: &Epoch) -> Next {
        if let Some(target) = window.next_with(Flags::WANTED, 0) {
            let wish = if self.breaks(Flaw::QueuesBeside) {
                wire::SHARED
            } else {
                wire::SHARED_BESIDE
            };
            return Next::Sends(Due::lock(target, wish));
        }
        let is_left = epoch.closed.is_some()
            && !window.has_deferred(epoch.serial, None)
            && !self.awaits(window.context, None);
        if !is_left {
            return Next::Waits;
        }
        let ask = |target, kind| Next::Sends(Due::ask(target, kind, Awaited::Done));
        if let Some(target) = window.next_with(Flags::HELD, 0) {
            return ask(target, Kind::Unlock);
        }
        match window.next_with(Flags::TOUCHED, 0) {
            Some(target) => ask(target, Kind::Flush),
            None if window.next_with(Flags::ASKED, 0).is_some() => Next::Waits,
            None => Next::Ends,
        }
    }

    fn next_of_fence(&self, window: &Window, epoch: &Epoch) -> Next {
        let tree = &window.tree;
        match epoch.step {
            Step::Begun
                if tree.arrived < tree.children.len() && !self.breaks(Flaw::ArrivesAlone) =>
            {
                Next::Waits
            }
            Step::Begun => match tree.parent {
                Some(parent) => Next::Sends(Due::tell(parent, Kind::Arrived)),
                None => Next::Opens,
            },
            Step::Open if epoch.closed.is_some() => {
                if window.has_deferred(epoch.serial, None) {
                    return Next::Waits;
                }
                if self.breaks(Flaw::ArrivesUnflushed) {
                    return Next::Ends;
                }
                match window.next_with(Flags::TOUCHED, 0) {
                    Some(target) => Next::Sends(Due::ask(target, Kind::Flush, Awaited::Done)),
                    None if self.awaits(window.context, None) => Next::Waits,
                    None => Next::Ends,
                }
            }
            _ => Next::Waits,
        }
    }

    /// Sends a pending packet: handles it locally, or emits it.
    pub(super) fn send_due(
        &mut self,
        at: usize,
        due: Due,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> Sent {
        let (context, target) = (self.windows[at].context, due.target);
        let name = match due.awaited {
            None => 0,
            Some(awaited) => {
                let into = (Span::EMPTY, 0);
                match self.await_answer((context, target), awaited, into) {
                    Some(name) => name,
                    None => return Sent::NoRoom,
                }
            }
        };
        if due.kind == Kind::Flush {
            self.windows[at].clear(target, Flags::TOUCHED);
        }
        let head = Head {
            operation: due.operation,
            ..Head::new(due.kind, context)
        };
        head.emit(out);
        if target == self.here {
            // Cannot fail: the origin has checked the packet.
            let _ = self.act_here(memory, name, &out[..HEAD_BYTES]);
            return Sent::Here;
        }
        Sent::Packet(Leaving {
            dest: target,
            argument: name,
            place: None,
            len: HEAD_BYTES,
        })
    }

    /// Returns the end of an epoch that can be piggybacked on the operation at `last`, which is to be sent to `target`
    /// now: no other operation is pending there, and no reply is outstanding from there.
    pub(super) fn ends_with(&self, at: usize, last: usize, target: Rank) -> Option<(usize, Due)> {
        let window = &self.windows[at];
        let place = window.epoch_at(window.deferred[last].epoch)?;
        let epoch = &window.epochs[place];
        let is_closed = epoch.closed.is_some() && epoch.checks && epoch.step == Step::Open;
        let is_last =
            || !window.has_deferred_but(last, target) && !self.awaits(window.context, Some(target));
        if !is_closed || !is_last() && !self.breaks(Flaw::EndsWithAny) {
            return None;
        }
        let granted = || {
            let peer = window.peers.get(target.index() as usize);
            peer.is_some_and(|peer| peer.grants > 0) && window.is_done_next(place, target)
        };
        let due = match epoch.sort {
            Sort::Lock { .. } => Due::ask(target, Kind::Unlock, Awaited::Done),
            // Only a flush reports displacements outside of attached memory.
            Sort::Start if !window.exposure.is_dynamic && granted() => {
                Due::tell(target, Kind::Complete)
            }
            _ => return None,
        };
        Some((place, due))
    }

    /// Updates the epoch after this packet was sent.
    pub(super) fn note_sent(&mut self, at: usize, place: usize, due: Due) {
        let window = &mut self.windows[at];
        let epoch = &mut window.epochs[place];
        match due.kind {
            Kind::Post | Kind::Complete => {
                let is_it = |member: &&mut Member| member.rank == due.target && !member.is_told;
                if let Some(member) = epoch.members.iter_mut().find(is_it) {
                    member.is_told = true;
                }
                let checks = epoch.checks;
                if due.kind == Kind::Complete
                    && checks
                    && let Some(peer) = window.peer(due.target)
                {
                    peer.grants -= 1;
                }
            }
            Kind::Lock if epoch.sort == Sort::LockAll => {
                window.clear(due.target, Flags::WANTED);
                if let Some(flags) = window.flags(due.target) {
                    flags.set(Flags::ASKED, true);
                }
            }
            Kind::Lock => {
                let may_queue = due.operation == wire::SHARED;
                epoch.reach(if may_queue { Step::Asked } else { Step::Urged }, false);
                // Another epoch with an earlier LOCK may have to urge.
                self.is_due = true;
            }
            Kind::Arrived => epoch.reach(Step::Asked, false),
            Kind::Unlock => {
                if epoch.sort != Sort::LockAll {
                    epoch.reach(Step::Ending, false);
                }
                for flag in [Flags::TOUCHED, Flags::HELD, Flags::ASKED] {
                    window.clear(due.target, flag);
                }
            }
            _ => {}
        }
    }

    /// Sets the epoch to open or complete.
    fn reach(&mut self, at: usize, place: usize, step: Step) {
        self.has_moved = true;
        let window = &mut self.windows[at];
        let epoch = &mut window.epochs[place];
        let tells = match step {
            Step::Complete => epoch.closing.is_some(),
            _ => epoch.opening.is_some() && epoch.sort == Sort::Fence,
        };
        let is_faulty = tells && core::mem::take(&mut window.is_faulty);
        epoch.reach(step, is_faulty);
        if epoch.sort == Sort::Fence && step == Step::Open {
            window.tree.release();
        }
    }

    /// Emits the next packet of epochs and deferred operations. Local work that it enables is done immediately, so no
    /// work remains for a progress step that moves no packet.
    pub(super) fn next_due(
        &mut self,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> Option<Leaving> {
        while core::mem::take(&mut self.is_due) {
            for at in 0..self.windows.len() {
                if let Some(leaving) = self.next_of_window(at, memory, out, false) {
                    self.go_on_here(memory);
                    self.is_due = true;
                    return Some(leaving);
                }
            }
        }
        None
    }

    /// Advances everything that requires no packet to another process.
    pub fn go_on_here(&mut self, memory: &mut dyn UserMemory) {
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
    ) -> Option<Leaving> {
        let mut moved = true;
        while core::mem::take(&mut moved) {
            self.settle(at);
            let tree = &mut self.windows[at].tree;
            if let Some(place) = tree.to_release.checked_sub(1).filter(|_| !only_here) {
                tree.to_release = place;
                let due = Due::tell(tree.children[place], Kind::Released);
                if let Sent::Packet(leaving) = self.send_due(at, due, memory, out) {
                    return Some(leaving);
                }
            }
            let mut place = 0;
            while place < self.windows[at].epochs.len() {
                let sent = match self.next_step(at, place) {
                    Next::Sends(due) if !only_here || due.target == self.here => {
                        let sent = self.send_due(at, due, memory, out);
                        if !matches!(sent, Sent::NoRoom) {
                            self.note_sent(at, place, due);
                        }
                        sent
                    }
                    _ => Sent::NoRoom,
                };
                match sent {
                    Sent::NoRoom => place += 1,
                    Sent::Here => (moved, self.has_moved) = (true, true),
                    Sent::Packet(leaving) => return Some(leaving),
                }
            }
            match self.replay(at, memory, out, only_here) {
                Sent::Packet(leaving) => return Some(leaving),
                Sent::Here => (moved, self.has_moved) = (true, true),
                Sent::NoRoom => {}
            }
        }
        None
    }

    /// Advances epochs as far as possible without a packet.
    fn settle(&mut self, at: usize) {
        let rules = self.rules;
        let mut moved = true;
        while core::mem::take(&mut moved) {
            self.windows[at].begin(rules);
            for place in 0..self.windows[at].epochs.len() {
                let step = match self.next_step(at, place) {
                    Next::Opens => Step::Open,
                    Next::Ends => Step::Complete,
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
            window.sweep();
            window.epochs.try_reserve(1).is_ok()
        })
    }

    /// Opens an epoch; returns its sequence number. `None`: the heap is full.
    ///
    /// # Panics
    /// When the window does not exist.
    pub fn open(&mut self, context: Context, opening: Opening<'_>, told: Told) -> Option<Serial> {
        let at = self.place(context).expect("a window");
        self.outbox.is_held = false;
        let window = &mut self.windows[at];
        window.sweep();
        let mut members = Vec::new();
        members.try_reserve_exact(opening.members.len()).ok()?;
        members.extend(opening.members.iter().map(|rank| Member {
            rank: *rank,
            is_told: false,
            has_done: false,
        }));
        window.epochs.try_reserve(1).ok()?;
        let serial = window.number();
        window.epochs.push(Epoch {
            serial,
            sort: opening.sort,
            members,
            checks: opening.checks,
            step: Step::Deferred,
            closed: None,
            opening: told,
            closing: None,
        });
        self.settle(at);
        self.is_due = true;
        Some(serial)
    }

    /// Closes an epoch that is open in the program.
    pub fn close(&mut self, context: Context, epoch: Serial, told: Told) {
        let Some(at) = self.place(context) else {
            return;
        };
        self.outbox.is_held = false;
        let window = &mut self.windows[at];
        let now = window.serial;
        if let Some(place) = window.epoch_at(epoch) {
            let epoch = &mut window.epochs[place];
            (epoch.closed, epoch.closing) = (Some(now), told);
        }
        self.settle(at);
        self.is_due = true;
    }

    /// Returns whether the watched condition is met.
    pub fn is_over(&self, context: Context, watch: Watch) -> bool {
        let Some(at) = self.place(context) else {
            return true;
        };
        let window = &self.windows[at];
        let step = |serial| window.epoch_at(serial).map(|at| window.epochs[at].step);
        match watch {
            Watch::Opened(serial) => step(serial).is_none_or(|step| step >= Step::Open),
            Watch::Closed(serial) => step(serial).is_none_or(|step| step == Step::Complete),
            Watch::Done(serial) => !window
                .deferred
                .iter()
                .any(|deferred| deferred.waits(serial)),
        }
    }

    /// Returns whether all origins of an exposure epoch have completed their access, so that closing would complete it.
    pub fn can_end(&mut self, context: Context, epoch: Serial) -> bool {
        let Some(window) = self.window(context) else {
            return true;
        };
        window.epoch_at(epoch).is_none_or(|at| {
            let epoch = &window.epochs[at];
            epoch.is_active() && epoch.members.iter().all(|member| member.has_done)
        })
    }

    /// Returns whether the epoch provides access to this process.
    pub fn includes(&mut self, context: Context, epoch: Serial, target: Rank) -> bool {
        self.window(context).is_some_and(|window| {
            let place = window.epoch_at(epoch);
            place.is_some_and(|at| window.epochs[at].is_access_to(target))
        })
    }

    /// Returns whether operations of the epoch may be sent to `target` now, none waiting before them. Requests a
    /// required lock.
    pub fn can_access(&mut self, context: Context, epoch: Serial, target: Rank) -> bool {
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
        let wants = epoch.sort == Sort::LockAll
            && epoch.checks
            && epoch.step == Step::Open
            && ![Flags::HELD, Flags::ASKED, Flags::WANTED]
                .into_iter()
                .any(|flag| window.has(target, flag));
        if wants && let Some(flags) = window.flags(target) {
            flags.set(Flags::WANTED, true);
        }
        wants
    }

    /// Returns whether two epochs of a window are concurrently active that must not be: for a model checker.
    #[doc(hidden)]
    pub fn has_quarrel(&self) -> bool {
        self.windows.iter().any(Window::has_quarrel)
    }

    /// Returns whether the window has no incomplete epoch and no deferred operation.
    pub fn is_idle(&mut self, context: Context) -> bool {
        self.window(context).is_none_or(|window| {
            window.epochs.iter().all(Epoch::is_complete)
                && window.deferred.iter().all(|deferred| deferred.is_over())
                && window.tree.to_release == 0
        })
    }
}
