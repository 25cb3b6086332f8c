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

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use core::sync::atomic::{AtomicU32, Ordering};

use crate::envelope::Rank;
use crate::rma::rules::{BrokenRule, EpochRules};

/// Sequence number that epochs, operations and flushes of a window share, in the order of their calls, from 1.
pub type WindowSequence = u64;

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
    pub(super) fn broken_by<R: EpochRules>(self, rules: R) -> ReorderFlags {
        ReorderFlags {
            access_after_access: self.access_after_access || rules.is_broken(BrokenRule::PassesAccess),
            access_after_exposure: self.access_after_exposure || rules.is_broken(BrokenRule::AccessPassesExposure),
            exposure_after_exposure: self.exposure_after_exposure || rules.is_broken(BrokenRule::PassesExposure),
            exposure_after_access: self.exposure_after_access || rules.is_broken(BrokenRule::ExposurePassesAccess),
        }
    }

    /// Returns whether an epoch of kind `next` may begin concurrently with an earlier closed one of kind `before`.
    pub(super) fn allows<R: EpochRules>(self, rules: R, before: EpochKind, next: EpochKind) -> bool {
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
pub(super) enum EpochState {
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
pub(super) struct EpochMember {
    pub(super) rank: Rank,
    /// Its grant, or its done, has been sent.
    pub(super) is_told: bool,
    /// Of an exposure epoch: its done has arrived.
    pub(super) has_done: bool,
}

/// An epoch that the program has opened.
#[derive(Clone, Debug)]
pub struct Epoch {
    pub(super) serial: WindowSequence,
    pub(super) sort: EpochKind,
    pub(super) members: Vec<EpochMember>,
    /// Waits for the other side; otherwise the program asserts that it is ready (MPI_MODE_NOCHECK).
    pub(super) checks: bool,
    pub(super) step: EpochState,
    /// The next sequence number at the time when the program closed it.
    pub(super) closed: Option<WindowSequence>,
    pub(super) opening: TicketRef,
    pub(super) closing: TicketRef,
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

    pub(super) fn is_active(&self) -> bool {
        !matches!(self.step, EpochState::Deferred | EpochState::Complete)
    }

    pub(super) fn member(&self, rank: Rank) -> Option<&EpochMember> {
        self.members.iter().find(|member| member.rank == rank)
    }

    /// Returns whether the epoch provides access to the process.
    pub(super) fn is_access_to(&self, rank: Rank) -> bool {
        match self.sort {
            EpochKind::Fence | EpochKind::LockAll => true,
            EpochKind::Post => false,
            EpochKind::Start => self.member(rank).is_some(),
            EpochKind::Lock { target, .. } => target == rank,
        }
    }

    /// Enters a state, and completes its ticket, with the fault state of earlier operations.
    pub(super) fn reach(&mut self, step: EpochState, is_faulty: bool) {
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
