//! Opening, closing and flushing of epochs (section 11.5), blocking and nonblocking (thesis 001, section 5). A blocking
//! call runs the nonblocking one, then waits for the condition of its request.
//!
//! The request of an opening call completes when the epoch is open: posts are transmitted, a lock is granted, all
//! processes have reached a fence; access by start is open when it may begin. The request of a closing call completes
//! when the epoch is complete, as when its blocking counterpart returns.

use alloc::vec::Vec;

use super::creation::no_space;
use super::state::{AccessState, OpenEpoch, StateOwner, Window, out_of_order};
use super::transport::WindowCondition;
use crate::coll;
use crate::comm::{Communicator, RankMap};
use crate::error::Error;
use crate::installed::may_have_threads;
use midplane_device::envelope::Rank;
use midplane_device::interface::Device;
use midplane_device::rma::epochs::{EpochArgs, EpochKind, TicketRef, WindowEvent, WindowSequence};

/// Path of an operation to its target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessPath {
    /// As the epoch was opened: directly after a wait for the target, or recorded if that call did not block.
    AsOpened,
    /// Directly, after a wait for the target.
    Straight,
    /// Recorded, with a request: in a passive epoch only (section 11.3.5).
    Request,
    /// Recorded, in any epoch.
    Recorded,
}

/// Creates the state of an epoch just opened by a blocking call, unless it `defers`.
fn opened(epoch: WindowSequence, defers: bool) -> OpenEpoch {
    OpenEpoch {
        epoch,
        is_ready: false,
        ready_at: None,
        defers,
    }
}

/// Checks that no access epoch is open.
fn check_idle(access: &AccessState) -> Result<(), Error> {
    match access {
        AccessState::None | AccessState::Fence { is_used: false, .. } => Ok(()),
        AccessState::Fence { is_used: true, .. } => Err(out_of_order("operations since the last MPI_Win_fence")),
        AccessState::Start(_) => Err(out_of_order("MPI_Win_start has not been completed")),
        AccessState::Locks(_) | AccessState::All(_) => Err(out_of_order("a lock is held")),
    }
}

impl<H: StateOwner> Window<'_, H> {
    /// Blocks until all processes have called it.
    pub fn barrier(&self) -> Result<(), Error> {
        let world = Communicator::world(self.env);
        let is_of_all = self.membership.map == RankMap::All && self.membership.size == world.size();
        let comm = if is_of_all && !may_have_threads() {
            world
        } else {
            self.comm()
        };
        coll::barrier(comm, self.function)
    }

    /// Opens an epoch. Fails with [`Error::NoSpace`].
    pub fn open(
        &self,
        sort: EpochKind,
        members: &[Rank],
        checks: bool,
        told: TicketRef,
    ) -> Result<WindowSequence, Error> {
        let opening = EpochArgs { sort, members, checks };
        self.open_epoch(opening, told)
    }

    /// Ends the epoch of the last fence, if it is open, after reserving device memory for another epoch.
    pub fn end_fence(&self) -> Result<(), Error> {
        self.prepare_epoch()?;
        let fence = self.with(|state| {
            Ok(match state.access {
                AccessState::Fence { opened, .. } => {
                    state.access = AccessState::None;
                    Some(opened.epoch)
                }
                _ => None,
            })
        })?;
        fence.map_or(Ok(()), |epoch| self.close_epoch(epoch, None))
    }

    /// Returns the epoch of an operation on `target`, and whether the operation is sent directly. Waits until that is
    /// possible, unless the epoch `defers` or the operation has a request. Fails with class RmaSync.
    pub fn enter(&self, target: Rank, entry: AccessPath) -> Result<(WindowSequence, bool), Error> {
        let is_request = entry == AccessPath::Request;
        let none = if is_request {
            "a request is for an epoch of MPI_Win_lock or MPI_Win_lock_all that includes the target"
        } else {
            "no epoch is open that includes the target"
        };
        let opened = self.with(|state| {
            let opened = match &mut state.access {
                AccessState::Fence { opened, is_used } if !is_request => {
                    *is_used = true;
                    Some(*opened)
                }
                AccessState::Start(opened) if !is_request => Some(*opened),
                AccessState::Locks(locks) => {
                    let held = locks.iter().find(|(held, _)| *held == target);
                    held.map(|(_, opened)| *opened)
                }
                AccessState::All(opened) => Some(*opened),
                _ => None,
            };
            opened.ok_or(out_of_order(none))
        })?;
        let OpenEpoch {
            epoch,
            is_ready,
            ready_at,
            defers,
        } = opened;
        let is_recorded = matches!(entry, AccessPath::Request | AccessPath::Recorded);
        if is_ready || ready_at == Some(target) {
            return Ok((epoch, !is_recorded));
        }
        let has_access = self.access(epoch, target)?.ok_or(out_of_order(none))?;
        let waits = match entry {
            AccessPath::AsOpened => !defers,
            AccessPath::Straight => true,
            AccessPath::Request | AccessPath::Recorded => false,
        };
        if !has_access && waits {
            self.wait(Some(target), WindowCondition::Access(epoch, target));
        }
        let is_straight = (has_access || waits) && !is_recorded;
        self.with(|state| {
            // In these epochs, access to one target implies access to all targets of the epoch.
            let of_all = matches!(state.access, AccessState::Fence { .. } | AccessState::Locks(_));
            let is_it = |opened: &&mut OpenEpoch| opened.epoch == epoch;
            if is_straight && let Some(opened) = state.access.opened().find(is_it) {
                opened.is_ready = of_all;
                opened.ready_at = Some(target);
            }
            Ok((epoch, is_straight))
        })
    }

    /// Ends the epoch since the last fence and, if an epoch `succeeds`, begins a new one. Returns the sequence number
    /// for which the fence waits.
    pub fn fence(&self, succeeds: bool, told: TicketRef, defers: bool) -> Result<WindowSequence, Error> {
        self.with(|state| {
            if state.exposure.is_some() {
                return Err(out_of_order("MPI_Win_post has not been waited for"));
            }
            match state.access {
                AccessState::None | AccessState::Fence { .. } => Ok(()),
                _ => check_idle(&state.access),
            }
        })?;
        self.end_fence()?;
        let epoch = self.open(EpochKind::Fence, &[], true, told)?;
        if !succeeds {
            self.close_epoch(epoch, None)?;
            return Ok(epoch);
        }
        self.with(|state| {
            state.access = AccessState::Fence {
                opened: opened(epoch, defers),
                is_used: false,
            };
            Ok(epoch)
        })
    }

    /// Opens the only access epoch, of this sort.
    fn begin_access(
        &self,
        access: fn(OpenEpoch) -> AccessState,
        sort: EpochKind,
        group: &[Rank],
        checks: bool,
        told: TicketRef,
        defers: bool,
    ) -> Result<WindowSequence, Error> {
        self.with(|state| check_idle(&state.access))?;
        self.end_fence()?;
        let epoch = self.open(sort, group, checks, told)?;
        self.with(|state| {
            state.access = access(opened(epoch, defers));
            Ok(epoch)
        })
    }

    /// Closes the open access epoch, if it is of the right kind.
    fn end_access(
        &self,
        is_it: impl FnOnce(&AccessState) -> Result<WindowSequence, Error>,
        told: TicketRef,
    ) -> Result<WindowSequence, Error> {
        let epoch = self.with(|state| {
            let epoch = is_it(&state.access)?;
            state.access = AccessState::None;
            Ok(epoch)
        })?;
        self.close_epoch(epoch, told).map(|()| epoch)
    }

    /// Opens an access epoch (MPI_Win_start).
    pub fn start(&self, group: &[Rank], checks: bool, told: TicketRef, defers: bool) -> Result<WindowSequence, Error> {
        self.begin_access(AccessState::Start, EpochKind::Start, group, checks, told, defers)
    }

    /// Closes the access epoch (MPI_Win_complete).
    pub fn complete(&self, told: TicketRef) -> Result<WindowSequence, Error> {
        let is_it = |access: &AccessState| match access {
            AccessState::Start(opened) => Ok(opened.epoch),
            _ => Err(out_of_order("MPI_Win_start has not been called")),
        };
        self.end_access(is_it, told)
    }

    /// Opens an exposure epoch (MPI_Win_post).
    pub fn post(&self, group: &[Rank], checks: bool, told: TicketRef) -> Result<WindowSequence, Error> {
        self.with(|state| {
            if state.exposure.is_some() {
                return Err(out_of_order("MPI_Win_post has not been waited for"));
            }
            match state.access {
                AccessState::Fence { is_used: true, .. } => {
                    Err(out_of_order("operations since the last MPI_Win_fence"))
                }
                _ => Ok(()),
            }
        })?;
        self.end_fence()?;
        let epoch = self.open(EpochKind::Post, group, checks, told)?;
        self.with(|state| {
            state.exposure = Some(epoch);
            Ok(epoch)
        })
    }

    /// Returns the identifier of the open exposure epoch.
    pub fn exposure(&self) -> Result<WindowSequence, Error> {
        self.with(|state| state.exposure.ok_or(out_of_order("MPI_Win_post has not been called")))
    }

    /// Closes the exposure epoch (MPI_Win_wait).
    pub fn end_exposure(&self, told: TicketRef) -> Result<WindowSequence, Error> {
        let epoch = self.exposure()?;
        self.with(|state| {
            state.exposure = None;
            Ok(())
        })?;
        self.close_epoch(epoch, told).map(|()| epoch)
    }

    /// Opens a passive epoch at one target (MPI_Win_lock).
    pub fn lock(
        &self,
        target: Rank,
        is_exclusive: bool,
        checks: bool,
        told: TicketRef,
        defers: bool,
    ) -> Result<WindowSequence, Error> {
        self.with(|state| {
            if let AccessState::None | AccessState::Fence { is_used: false, .. } = state.access {
                return Ok(());
            }
            let AccessState::Locks(locks) = &mut state.access else {
                return check_idle(&state.access);
            };
            if locks.iter().any(|(held, _)| *held == target) {
                return Err(out_of_order("the lock is held already"));
            }
            locks.try_reserve(1).map_err(|_| no_space::<(Rank, OpenEpoch)>(1))
        })?;
        self.end_fence()?;
        let mut first = Vec::new();
        first.try_reserve(1).map_err(|_| no_space::<(Rank, OpenEpoch)>(1))?;
        let sort = EpochKind::Lock { target, is_exclusive };
        let epoch = self.open(sort, &[], checks, told)?;
        self.with(|state| {
            let lock = (target, opened(epoch, defers));
            match &mut state.access {
                AccessState::Locks(locks) => locks.push(lock),
                access => {
                    first.push(lock);
                    *access = AccessState::Locks(first);
                }
            }
            Ok(epoch)
        })
    }

    /// Closes the passive epoch at one target (MPI_Win_unlock).
    pub fn unlock(&self, target: Rank, told: TicketRef) -> Result<WindowSequence, Error> {
        let epoch = self.with(|state| {
            let none = out_of_order("no lock is held there");
            let AccessState::Locks(locks) = &mut state.access else {
                return Err(none);
            };
            let at = locks.iter().position(|(held, _)| *held == target);
            let (_, opened) = locks.swap_remove(at.ok_or(none)?);
            if locks.is_empty() {
                state.access = AccessState::None;
            }
            Ok(opened.epoch)
        })?;
        self.close_epoch(epoch, told).map(|()| epoch)
    }

    /// Opens a passive epoch at all targets (MPI_Win_lock_all).
    pub fn lock_all(&self, checks: bool, told: TicketRef, defers: bool) -> Result<WindowSequence, Error> {
        self.begin_access(AccessState::All, EpochKind::LockAll, &[], checks, told, defers)
    }

    /// Closes the passive epoch at all targets (MPI_Win_unlock_all).
    pub fn unlock_all(&self, told: TicketRef) -> Result<WindowSequence, Error> {
        let is_it = |access: &AccessState| match access {
            AccessState::All(opened) => Ok(opened.epoch),
            _ => Err(out_of_order("MPI_Win_lock_all has not been called")),
        };
        self.end_access(is_it, told)
    }

    /// Returns the passive epoch that includes the process; for several locks, each with its own epoch, returns 0 for
    /// all. Fails if there is none.
    pub fn passive(&self, target: Option<Rank>) -> Result<WindowSequence, Error> {
        self.with(|state| match &state.access {
            AccessState::All(opened) => Ok(opened.epoch),
            AccessState::Locks(_) if target.is_none() => Ok(0),
            AccessState::Locks(locks) => {
                let held = locks.iter().find(|(held, _)| Some(*held) == target);
                held.map(|(_, opened)| opened.epoch)
                    .ok_or(out_of_order("no lock is held there"))
            }
            _ => Err(out_of_order("no lock is held there")),
        })
    }

    /// Flushes the passive epochs that include the process, or all. Fails if there is none.
    pub fn flush(&self, target: Option<Rank>, is_local: bool, told: TicketRef) -> Result<WindowSequence, Error> {
        let epoch = self.passive(target)?;
        self.record_flush(target, epoch, is_local, told)
    }

    /// Waits until a closed epoch is complete.
    pub fn wait_closed(&self, target: Option<Rank>, epoch: WindowSequence) -> Result<(), Error> {
        let finished = self.finish(target, WindowCondition::Occurred(WindowEvent::Closed(epoch)));
        self.sweep()?;
        finished
    }

    /// Runs the progress engine. Returns true, and ends the exposure epoch, if all processes have completed their
    /// access.
    pub fn test_exposure(&self) -> Result<bool, Error> {
        let epoch = self.exposure()?;
        self.env.advance(self.note(None), None);
        let is_over = self.is(WindowCondition::Accessed(epoch))?;
        if is_over {
            self.end_exposure(None)?;
        }
        Ok(is_over)
    }

    /// Flushes the passive epochs that include the process, or all, and waits for completion.
    pub fn flush_and_wait(&self, target: Option<Rank>, is_local: bool) -> Result<(), Error> {
        let epoch = self.passive(target)?;
        let flushed = self.run_flush(target, epoch, is_local);
        self.sweep()?;
        flushed
    }

    /// Fails with class RmaSync while an epoch is open, because the window cannot be freed.
    pub fn check_free(&self) -> Result<(), Error> {
        self.with(|state| match state.access {
            _ if state.exposure.is_some() => Err(out_of_order("MPI_Win_post has not been waited for")),
            AccessState::None | AccessState::Fence { is_used: false, .. } => Ok(()),
            _ => Err(out_of_order("an epoch is open")),
        })
    }

    /// Waits until all epochs are complete and all processes have called it. Afterwards no process accesses this one's
    /// part.
    pub fn end_all(&self) -> Result<(), Error> {
        // Epochs closed by nonblocking calls end first.
        self.end_fence()?;
        self.wait(None, WindowCondition::Idle);
        self.barrier()
    }
}
