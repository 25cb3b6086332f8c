//! Epochs: opened and closed by the program, begun and ended here (thesis 001, chapter 5).
//!
//! An epoch that the program opens is *deferred* until what was opened before lets it begin; then it is *active*, until
//! the program has closed it and everything in it is done: it is *complete*. Nothing of this blocks. A window's epochs
//! stand in the order in which they were opened, and begin in that order, none passed over.
//!
//! ```text
//!   open()                         close()
//!      |                              |
//!   Deferred -> Begun -> Asked -> Open -> Ending -> Complete
//!                 |        |       |        |
//!     post        posts leave      |      the dones of all its origins have come
//!     start                        |      a done to each target, behind the operations there
//!     lock        LOCK leaves   granted   UNLOCK leaves, and is answered
//!                 (Urged: another lock is asked for meanwhile, and the LOCK says so)
//!     lock all                     |      a LOCK before the first operation at a target; all are given back
//!     fence       this process, and those below, have come; all have come; what touched others is flushed
//! ```
//!
//! # When an epoch may begin
//! When each of those before it is complete, or active and lets it (the thesis's rules 12 to 19, with two changes):
//!
//! * An epoch that was opened while the other was still open in the program begins beside it, as the standard has it.
//!   Taken literally the rules defer MPI_Win_start behind MPI_Win_post, so that two processes that post to each other,
//!   start, complete and wait would both wait for ever. So a program that ends with calls that block ends with those
//!   that do not.
//! * All epochs before it that are not complete are asked, not only the one just before. When that one has completed
//!   out of order, an older one may be active still, and a fence must not begin beside it.
//!
//! Otherwise nothing begins beside a fence or a lock of all, and the rest as the window's [`Reorder`] says.
//!
//! # How epochs of a pair of processes match
//! In the order of both, by one counter each way. Where an exposure epoch begins a grant goes to each of its origins,
//! which counts those that no access epoch has used yet: the access epoch behind `i` others to the same process may go
//! on when more than `i` grants are there. Where it ends at that process a done goes back, in the order of the epochs,
//! and the target counts it for the oldest exposure epoch that has had none from there.
//!
//! # Fences without a barrier
//! Each process says that it has come when all that it did in the last epoch is done at its targets, along a tree over
//! the window's processes: two packets for each process, however many there are. The program waits for nothing.
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

/// A number that epochs, operations and flushes of a window share, in the order in which the program began them, from 1.
pub type Serial = u64;

/// Exposure epochs that are active at one window at the same time, at most: their grants fit a counter.
const MOST_EXPOSURES: usize = 64;

/// What a model checker may break, one at a time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Flaw {
    /// An epoch is deferred behind one that it was opened within.
    DefersWhatIsNested,
    /// Only the epoch just before is asked.
    AsksTheLastOnly,
    /// Epochs begin whatever is before them.
    AsksNone,
    /// A done leaves before the results of gets have come.
    DoneBeforeResults,
    /// A done leaves before deferred operations have.
    DoneBeforeOperations,
    /// A done counts for the newest exposure epoch.
    CountsForTheNewest,
    /// A process comes to a fence before what it did is done.
    ArrivesUnflushed,
    /// Operations go on where a grant is of no account.
    NeedsNoGrant,
    /// A lock is given back before the operations under it have left.
    UnlocksEarly,
    /// An epoch ends with an operation behind which others are to leave.
    EndsWithAny,
    /// An epoch begins though one before it is deferred.
    PassesDeferred,
    /// Epochs begin beside fences and locks of all.
    PassesFences,
    /// As if the key for access after access were given.
    PassesAccess,
    /// The same, access after exposure.
    AccessPassesExposure,
    /// Exposure after exposure.
    PassesExposure,
    /// Exposure after access.
    ExposurePassesAccess,
    /// A lock begins while another epoch gives access to its target.
    LocksWhatIsAccessed,
    /// An exposure passes others while the window's part is locked.
    ExposesWhatIsLocked,
    /// Access goes on by a grant for one before it.
    TakesAnyGrant,
    /// A done leaves before that of an epoch before it.
    DonesInAnyOrder,
    /// A process comes to a fence before those below it.
    ArrivesAlone,
    /// A process that has other locks queues for a shared one.
    QueuesBeside,
    /// One that gets other locks while it queues goes on queuing.
    NeverUrges,
    /// A step of progress that moves things here alone says that it has moved nothing.
    MovesUnseen,
}

/// Which rules are kept.
pub trait Rules: Copy + fmt::Debug + 'static {
    /// This one is not.
    fn breaks(self, flaw: Flaw) -> bool {
        let _ = flaw;
        false
    }
}

/// All rules are kept.
#[derive(Clone, Copy, Debug)]
pub struct Sound;

impl Rules for Sound {}

/// How a request of the program's ends. The device sets it, once.
#[derive(Default, Debug)]
pub struct Ticket(AtomicU32);

impl Ticket {
    const DONE: u32 = 1;
    const FAULTY: u32 = 2;

    pub(super) fn end(&self, is_faulty: bool) {
        let state = if is_faulty { Self::FAULTY } else { Self::DONE };
        self.0.store(state, Ordering::Release);
    }

    /// What it is for is over; and an operation since the last synchronization was beyond what its target exposes.
    pub fn ended(&self) -> Option<bool> {
        match self.0.load(Ordering::Acquire) {
            0 => None,
            state => Some(state == Self::FAULTY),
        }
    }
}

/// Who is told of an end; none, when the call waits for it.
pub type Told = Option<&'static Ticket>;

/// Which epochs may pass others that are not complete; the program says that they touch other memory.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct Reorder {
    /// An access epoch an access epoch.
    pub access_after_access: bool,
    /// An access epoch an exposure epoch.
    pub access_after_exposure: bool,
    /// An exposure epoch an exposure epoch.
    pub exposure_after_exposure: bool,
    /// An exposure epoch an access epoch.
    pub exposure_after_access: bool,
}

impl Reorder {
    /// With those keys that a broken rule takes for given.
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

    /// An epoch may begin beside another of these kinds that the program has closed before it opened the one.
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

/// The kinds of epochs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sort {
    /// From one fence to the next.
    Fence,
    /// Exposure to some.
    Post,
    /// Access to some.
    Start,
    /// Access to one, under a lock.
    Lock {
        /// Which.
        target: Rank,
        /// Others have none.
        is_exclusive: bool,
    },
    /// Access to all, under shared locks.
    LockAll,
}

/// How far an epoch is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Step {
    Deferred,
    Begun,
    Asked,
    /// Of a lock: there is nothing more to ask.
    Urged,
    Open,
    Ending,
    Complete,
}

/// One of an epoch's processes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Member {
    rank: Rank,
    /// Its grant, or its done, has left.
    is_told: bool,
    /// Of an exposure epoch: its done has come.
    has_done: bool,
}

/// An epoch that the program has opened.
#[derive(Clone, Debug)]
pub struct Epoch {
    serial: Serial,
    sort: Sort,
    members: Vec<Member>,
    /// Its other side is waited for; else the program says that it is there (MPI_MODE_NOCHECK).
    checks: bool,
    step: Step,
    /// The number of what the program began next after it had closed it.
    closed: Option<Serial>,
    opening: Told,
    closing: Told,
}

/// Bytes of an epoch.
pub const EPOCH_BYTES: usize = size_of::<Epoch>();
/// Bytes of one of its processes.
pub const MEMBER_BYTES: usize = size_of::<Member>();

impl Hash for Epoch {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.serial, self.sort, &self.members, self.checks).hash(state);
        (self.step, self.closed).hash(state);
    }
}

/// What opens an epoch.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// Its kind.
    pub sort: Sort,
    /// Of those by post and start, whom they are for.
    pub members: &'a [Rank],
    /// The other side is to be waited for (no MPI_MODE_NOCHECK).
    pub checks: bool,
}

/// What can be waited for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Watch {
    /// The epoch is open: posts have left, a lock is granted, all have come to a fence.
    Opened(Serial),
    /// The epoch is complete.
    Closed(Serial),
    /// The deferred operation or flush is over.
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

    /// It gives access to the process.
    fn is_access_to(&self, rank: Rank) -> bool {
        match self.sort {
            Sort::Fence | Sort::LockAll => true,
            Sort::Post => false,
            Sort::Start => self.member(rank).is_some(),
            Sort::Lock { target, .. } => target == rank,
        }
    }

    /// Whoever is told of the step is told, too, whether an operation before it was beyond a window.
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

/// The tree along which processes tell each other that they have come to a fence.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Tree {
    parent: Option<Rank>,
    children: Box<[Rank]>,
    /// Children that have come.
    arrived: usize,
    /// Children that have still to be told that all have come.
    to_release: usize,
}

impl Tree {
    /// That of the members; `None`: the heap has no room.
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

/// What an epoch does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// Nothing, now.
    Waits,
    /// It is open.
    Opens,
    /// It is complete.
    Ends,
    /// A packet leaves.
    Sends(Due),
}

/// A packet that is nothing but its head.
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

/// What has become of something to send.
pub(super) enum Sent {
    /// A packet, which is to leave.
    Packet(Leaving),
    /// It was for this process, and has been done; or needs no packet of its own.
    Here,
    /// It has to wait.
    NoRoom,
}

impl Window {
    /// The place of the epoch in the queue.
    pub(super) fn epoch_at(&self, serial: Serial) -> Option<usize> {
        let find = |epoch: &Epoch| epoch.serial;
        self.epochs.binary_search_by_key(&serial, find).ok()
    }

    /// The next number.
    pub(super) fn number(&mut self) -> Serial {
        self.serial += 1;
        self.serial - 1
    }

    /// Takes out what is over.
    pub(super) fn sweep(&mut self) {
        self.epochs.retain(|epoch| !epoch.is_complete());
        self.deferred.retain(|deferred| !deferred.is_over());
    }

    /// An epoch that is active lets one that was opened after it begin.
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

    /// Two epochs are active beside each other that must not be: for a model checker.
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

    /// The epoch at this place, which is the first that is deferred, may begin.
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
        let asked = match rules.breaks(Flaw::AsksTheLastOnly) {
            true => before.len().saturating_sub(1),
            false => 0,
        };
        let mut asked = before[asked..].iter().filter(|epoch| epoch.is_active());
        asked.all(|epoch| self.lets(rules, epoch, next))
    }

    /// The epoch that begins next.
    fn next_to_begin<R: Rules>(&self, rules: R) -> Option<usize> {
        let is_deferred = |place: &usize| self.epochs[*place].step == Step::Deferred;
        let mut deferred = (0..self.epochs.len()).filter(is_deferred);
        let may_begin = |place: &usize| self.may_begin(rules, *place);
        match rules.breaks(Flaw::PassesDeferred) {
            true => deferred.find(may_begin),
            false => deferred.next().filter(may_begin),
        }
    }

    /// Lets epochs begin that may, in their order.
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

    /// A process has completed its access.
    pub(super) fn take_done<R: Rules>(&mut self, source: Rank, rules: R) -> Result<(), Malformed> {
        let mut exposures = self
            .epochs
            .iter_mut()
            .filter(|epoch| epoch.is_active() && epoch.sort == Sort::Post)
            .flat_map(|epoch| &mut epoch.members)
            .filter(|member| member.rank == source && !member.has_done);
        let member = match rules.breaks(Flaw::CountsForTheNewest) {
            true => exposures.last(),
            false => exposures.next(),
        };
        if let Some(member) = member {
            member.has_done = true;
            return Ok(());
        }
        // One that has not waited for the grant may be ahead of the exposure.
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

    /// Access epochs before the one at `place` that have still to send `target` a done.
    fn accesses_before(&self, place: usize, target: Rank) -> impl Iterator<Item = &Epoch> {
        let owes = move |epoch: &&Epoch| {
            epoch.sort == Sort::Start
                && epoch.is_active()
                && epoch.member(target).is_some_and(|member| !member.is_told)
        };
        self.epochs[..place].iter().filter(owes)
    }

    /// Dones leave in the order of epochs, whether these have waited for grants or not: that of the epoch at `place` is
    /// the next for `target`.
    fn is_done_next(&self, place: usize, target: Rank) -> bool {
        self.accesses_before(place, target).next().is_none()
    }

    /// Operations in the epoch at `place` may leave for `target` now.
    pub(super) fn has_access<R: Rules>(&self, rules: R, place: usize, target: Rank) -> bool {
        let epoch = &self.epochs[place];
        let granted = || {
            let peer = self.peers.get(target.index() as usize);
            let grants = peer.map_or(0, |peer| peer.grants.into());
            let before = match rules.breaks(Flaw::TakesAnyGrant) {
                true => 0,
                false => { self.accesses_before(place, target) }
                    .filter(|before| before.checks)
                    .count(),
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

    /// Of those by which an access epoch ends at its targets.
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
            // Operations keep their order with what ends the epoch; only errors have to be asked for.
            return Next::Sends(
                match self.exposure.is_dynamic && self.has(rank, Flags::TOUCHED) {
                    true => Due::ask(rank, Kind::Flush, Awaited::Done),
                    false => Due::tell(rank, Kind::Complete),
                },
            );
        }
        match epoch.members.iter().all(|member| member.is_told) {
            true => Next::Ends,
            false => Next::Waits,
        }
    }
}

impl<R: Rules> OneSided<R> {
    /// What the epoch at `place` of the window at `at` does next.
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

    /// What the LOCK of an epoch asks for.
    fn wish(&self, epoch: &Epoch, is_exclusive: bool) -> u8 {
        match is_exclusive {
            true => wire::EXCLUSIVE,
            false if self.has_others(epoch) => wire::SHARED_BESIDE,
            false => wire::SHARED,
        }
    }

    /// This process may have other locks than that of the epoch, or get them while it waits: by epochs that are active.
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
            let wish = match self.breaks(Flaw::QueuesBeside) {
                true => wire::SHARED,
                false => wire::SHARED_BESIDE,
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

    /// Sends what is due, and gives a packet if it needs one.
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
            // What it says of itself it has checked.
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

    /// What of the epoch at `place` can end with the operation at `last`, which is to leave for `target` now: nothing else
    /// does there, and nothing is awaited from there.
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
            // Of places beyond what is attached only a flush tells.
            Sort::Start if !window.exposure.is_dynamic && granted() => {
                Due::tell(target, Kind::Complete)
            }
            _ => return None,
        };
        Some((place, due))
    }

    /// The epoch has sent this.
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
                // Another epoch that has asked before may have to say more.
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

    /// The epoch is open, or complete.
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

    /// The next packet that epochs, or what is deferred, have to send. What it allows here is done when it leaves: nothing
    /// is left for a step of progress that moves no packet.
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

    /// Does all that needs no packet to another process.
    pub fn go_on_here(&mut self, memory: &mut dyn UserMemory) {
        let was_due = self.is_due;
        let mut out = [0; SHORT_BYTES];
        self.is_due = true;
        while core::mem::take(&mut self.is_due) {
            for at in 0..self.windows.len() {
                let _ = self.next_of_window(at, memory, &mut out, true);
            }
        }
        // Packets to others may be due.
        self.is_due = was_due;
    }

    /// As far as a packet to another process; with `only_here` there is none.
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

    /// What can be done without a packet is done.
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

    /// Makes room for another epoch; false when the heap has none.
    pub fn prepare_epoch(&mut self, context: Context) -> bool {
        self.window(context).is_some_and(|window| {
            window.sweep();
            window.epochs.try_reserve(1).is_ok()
        })
    }

    /// Opens an epoch; its number. `None`: the heap has no room for it.
    ///
    /// # Panics
    /// When the window is not there.
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

    /// What is watched for is so.
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

    /// All processes that an exposure epoch is for have completed their access: it would be complete if it were closed.
    pub fn can_end(&mut self, context: Context, epoch: Serial) -> bool {
        let Some(window) = self.window(context) else {
            return true;
        };
        window.epoch_at(epoch).is_none_or(|at| {
            let epoch = &window.epochs[at];
            epoch.is_active() && epoch.members.iter().all(|member| member.has_done)
        })
    }

    /// The epoch gives access to this process.
    pub fn includes(&mut self, context: Context, epoch: Serial, target: Rank) -> bool {
        self.window(context).is_some_and(|window| {
            let place = window.epoch_at(epoch);
            place.is_some_and(|at| window.epochs[at].is_access_to(target))
        })
    }

    /// Operations of the epoch may leave for `target` now, and none waits to leave there before them. If a lock is
    /// needed, asks for it.
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

    /// Wants the lock of all at `target`, if the epoch needs it; true: it was not asked for.
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

    /// Two epochs of a window are active beside each other that must not be: for a model checker.
    #[doc(hidden)]
    pub fn has_quarrel(&self) -> bool {
        self.windows.iter().any(Window::has_quarrel)
    }

    /// The window has no epoch that is not complete, and nothing deferred.
    pub fn is_idle(&mut self, context: Context) -> bool {
        self.window(context).is_none_or(|window| {
            window.epochs.iter().all(Epoch::is_complete)
                && window.deferred.iter().all(|deferred| deferred.is_over())
                && window.tree.to_release == 0
        })
    }
}
