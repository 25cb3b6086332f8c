//! Section 11.5: what opens, closes and flushes epochs, in calls that wait and in calls that do not (thesis 001,
//! section 5). A call that waits is the one that does not, and a wait for what its request would be for.
//!
//! What a request of a call that opens is for: that the epoch is open. Posts have left, a lock is granted, all have come
//! to a fence; access by start is open when it may begin. What one of a call that closes is for: that the epoch is
//! complete, as its blocking twin returns then.

use alloc::vec::Vec;
use core::ffi::c_int;

use super::make::no_room;
use super::objects::{Access, Opened, Window, on_win, out_of_order, wrong};
use crate::c::args::{self, Peer, destination};
use crate::c::groups::members_within;
use crate::c::requests::SEND_COMPLETE;
use crate::c::types::constants::*;
use crate::device::envelope::Rank;
use crate::device::rma::epochs::{Opening, Serial, Sort, Told, Watch};
use crate::mpi::call;
use crate::mpi::coll;
use crate::mpi::comm::{Communicator, Partners, RankMap};
use crate::mpi::error::{Class, Error};

/// Fails unless `assert` says nothing but what a call `allows`.
fn check_assert(assert: c_int, allows: c_int) -> Result<(), Error> {
    match assert & !allows {
        0 => Ok(()),
        _ => Err(wrong(
            Class::Assert,
            "assert has a bit that means nothing to this call",
        )),
    }
}

/// The epoch has just been opened by a call that waits, unless it `defers`.
fn opened(epoch: Serial, defers: bool) -> Opened {
    Opened {
        epoch,
        is_ready: false,
        ready_at: None,
        defers,
    }
}

/// An epoch of access can begin, if none is open.
fn check_idle(access: &Access) -> Result<(), Error> {
    match access {
        Access::None | Access::Fence { is_used: false, .. } => Ok(()),
        Access::Fence { is_used: true, .. } => {
            Err(out_of_order("operations since the last MPI_Win_fence"))
        }
        Access::Start(_) => Err(out_of_order("MPI_Win_start has not been completed")),
        Access::Locks(_) | Access::All(_) => Err(out_of_order("a lock is held")),
    }
}

impl Window {
    /// The process with the rank that the program gives.
    pub fn target(&self, rank: c_int) -> Result<Peer<Rank>, Error> {
        let group = self.membership.group();
        let partners = Partners::at(self.env, group);
        Ok(match destination(&partners, rank)? {
            Peer::ProcNull => Peer::ProcNull,
            Peer::Rank(rank) => Peer::Rank(group.to_world(rank)),
        })
    }

    /// No process leaves before all have come.
    pub fn barrier(&self) -> Result<(), Error> {
        let world = Communicator::world(self.env);
        let is_of_all = self.membership.map == RankMap::All && self.membership.size == world.size();
        let comm = if is_of_all { world } else { self.comm() };
        coll::barrier(comm, self.function)
    }

    /// Opens an epoch. Fails with [`Error::NoRoom`].
    fn open(
        &self,
        sort: Sort,
        members: &[Rank],
        checks: bool,
        told: Told,
    ) -> Result<Serial, Error> {
        let opening = Opening {
            sort,
            members,
            checks,
        };
        let context = self.context();
        let epoch = self.with_all(|all| all.open(context, opening, told))?;
        self.set_off();
        epoch.ok_or(no_room::<Serial>(8 + members.len()))
    }

    fn close(&self, epoch: Serial, told: Told) -> Result<(), Error> {
        let context = self.context();
        self.with_all(|all| all.close(context, epoch, told))?;
        self.set_off();
        Ok(())
    }

    /// Ends the epoch that the last fence has begun, if nothing has been done in it. The device has room for another.
    pub fn end_fence(&self) -> Result<(), Error> {
        let context = self.context();
        if !self.with_all(|all| all.prepare_epoch(context))? {
            return Err(no_room::<Serial>(8));
        }
        let fence = self.with(|object| {
            Ok(match object.access {
                Access::Fence { opened, .. } => {
                    object.access = Access::None;
                    Some(opened.epoch)
                }
                _ => None,
            })
        })?;
        fence.map_or(Ok(()), |epoch| self.close(epoch, None))
    }

    /// Where an operation on `target` belongs: its epoch, and whether it goes straight there. Waits until it can, unless
    /// the epoch `defers` or the operation has a request. Fails with class RmaSync.
    pub fn enter(&self, target: Rank, is_request: bool) -> Result<(Serial, bool), Error> {
        let none = match is_request {
            true => {
                "a request is for an epoch of MPI_Win_lock or MPI_Win_lock_all that includes the target"
            }
            false => "no epoch is open that includes the target",
        };
        let opened = self.with(|object| {
            let opened = match &mut object.access {
                Access::Fence { opened, is_used } if !is_request => {
                    *is_used = true;
                    Some(*opened)
                }
                Access::Start(opened) if !is_request => Some(*opened),
                Access::Locks(locks) => {
                    let held = locks.iter().find(|(held, _)| *held == target);
                    held.map(|(_, opened)| *opened)
                }
                Access::All(opened) => Some(*opened),
                _ => None,
            };
            opened.ok_or(out_of_order(none))
        })?;
        let Opened {
            epoch,
            is_ready,
            ready_at,
            defers,
        } = opened;
        if is_ready || ready_at == Some(target) {
            return Ok((epoch, true));
        }
        let context = self.context();
        let has_access = self.with_all(|all| {
            let is_included = all.includes(context, epoch, target);
            is_included.then(|| all.can_access(context, epoch, target))
        })?;
        let has_access = has_access.ok_or(out_of_order(none))?;
        let waits = !defers && !is_request;
        if !has_access && waits {
            self.set_off();
            self.wait_until(Some(target), |all| all.can_access(context, epoch, target));
        }
        let is_straight = has_access || waits;
        self.with(|object| {
            // Of these one target's turn is all's.
            let of_all = matches!(object.access, Access::Fence { .. } | Access::Locks(_));
            let is_it = |opened: &&mut Opened| opened.epoch == epoch;
            if is_straight && let Some(opened) = object.access.opened().find(is_it) {
                opened.is_ready = of_all;
                opened.ready_at = Some(target);
            }
            Ok((epoch, is_straight))
        })
    }

    fn fence(&self, assert: c_int, told: Told, defers: bool) -> Result<Serial, Error> {
        check_assert(
            assert,
            MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED,
        )?;
        self.with(|object| {
            if object.exposure.is_some() {
                return Err(out_of_order("MPI_Win_post has not been waited for"));
            }
            match object.access {
                Access::None | Access::Fence { .. } => Ok(()),
                _ => check_idle(&object.access),
            }
        })?;
        self.end_fence()?;
        let epoch = self.open(Sort::Fence, &[], true, told)?;
        if assert & MPI_MODE_NOSUCCEED != 0 {
            self.close(epoch, None)?;
            return Ok(epoch);
        }
        self.with(|object| {
            object.access = Access::Fence {
                opened: opened(epoch, defers),
                is_used: false,
            };
            Ok(epoch)
        })
    }

    fn start(
        &self,
        group: c_int,
        assert: c_int,
        told: Told,
        defers: bool,
    ) -> Result<Serial, Error> {
        check_assert(assert, MPI_MODE_NOCHECK)?;
        let group = members_within(self.membership, group)?;
        self.with(|object| check_idle(&object.access))?;
        self.end_fence()?;
        let epoch = self.open(Sort::Start, &group, assert & MPI_MODE_NOCHECK == 0, told)?;
        self.with(|object| {
            object.access = Access::Start(opened(epoch, defers));
            Ok(epoch)
        })
    }

    fn complete(&self, told: Told) -> Result<Serial, Error> {
        let epoch = self.with(|object| match object.access {
            Access::Start(opened) => {
                object.access = Access::None;
                Ok(opened.epoch)
            }
            _ => Err(out_of_order("MPI_Win_start has not been called")),
        })?;
        self.close(epoch, told).map(|()| epoch)
    }

    fn post(&self, group: c_int, assert: c_int, told: Told) -> Result<Serial, Error> {
        check_assert(assert, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT)?;
        let group = members_within(self.membership, group)?;
        self.with(|object| {
            if object.exposure.is_some() {
                return Err(out_of_order("MPI_Win_post has not been waited for"));
            }
            match object.access {
                Access::Fence { is_used: true, .. } => {
                    Err(out_of_order("operations since the last MPI_Win_fence"))
                }
                _ => Ok(()),
            }
        })?;
        self.end_fence()?;
        let epoch = self.open(Sort::Post, &group, assert & MPI_MODE_NOCHECK == 0, told)?;
        self.with(|object| {
            object.exposure = Some(epoch);
            Ok(epoch)
        })
    }

    fn exposure(&self) -> Result<Serial, Error> {
        self.with(|object| {
            object
                .exposure
                .ok_or(out_of_order("MPI_Win_post has not been called"))
        })
    }

    fn end_exposure(&self, told: Told) -> Result<Serial, Error> {
        let epoch = self.exposure()?;
        self.with(|object| {
            object.exposure = None;
            Ok(())
        })?;
        self.close(epoch, told).map(|()| epoch)
    }

    fn lock(
        &self,
        (target, is_exclusive): (Rank, bool),
        checks: bool,
        told: Told,
        defers: bool,
    ) -> Result<Serial, Error> {
        self.with(|object| {
            if let Access::None | Access::Fence { is_used: false, .. } = object.access {
                return Ok(());
            }
            let Access::Locks(locks) = &mut object.access else {
                return check_idle(&object.access);
            };
            if locks.iter().any(|(held, _)| *held == target) {
                return Err(out_of_order("the lock is held already"));
            }
            locks
                .try_reserve(1)
                .map_err(|_| no_room::<(Rank, Opened)>(1))
        })?;
        self.end_fence()?;
        let mut first = Vec::new();
        first
            .try_reserve(1)
            .map_err(|_| no_room::<(Rank, Opened)>(1))?;
        let sort = Sort::Lock {
            target,
            is_exclusive,
        };
        let epoch = self.open(sort, &[], checks, told)?;
        self.with(|object| {
            let lock = (target, opened(epoch, defers));
            match &mut object.access {
                Access::Locks(locks) => locks.push(lock),
                access => {
                    first.push(lock);
                    *access = Access::Locks(first);
                }
            }
            Ok(epoch)
        })
    }

    fn unlock(&self, target: Rank, told: Told) -> Result<Serial, Error> {
        let epoch = self.with(|object| {
            let none = out_of_order("no lock is held there");
            let Access::Locks(locks) = &mut object.access else {
                return Err(none);
            };
            let at = locks.iter().position(|(held, _)| *held == target);
            let (_, opened) = locks.swap_remove(at.ok_or(none)?);
            if locks.is_empty() {
                object.access = Access::None;
            }
            Ok(opened.epoch)
        })?;
        self.close(epoch, told).map(|()| epoch)
    }

    fn lock_all(&self, assert: c_int, told: Told, defers: bool) -> Result<Serial, Error> {
        check_assert(assert, MPI_MODE_NOCHECK)?;
        self.with(|object| check_idle(&object.access))?;
        self.end_fence()?;
        let epoch = self.open(Sort::LockAll, &[], assert & MPI_MODE_NOCHECK == 0, told)?;
        self.with(|object| {
            object.access = Access::All(opened(epoch, defers));
            Ok(epoch)
        })
    }

    fn unlock_all(&self, told: Told) -> Result<Serial, Error> {
        let epoch = self.with(|object| match object.access {
            Access::All(opened) => {
                object.access = Access::None;
                Ok(opened.epoch)
            }
            _ => Err(out_of_order("MPI_Win_lock_all has not been called")),
        })?;
        self.close(epoch, told).map(|()| epoch)
    }

    /// The passive epoch that includes the process; of several locks each has an epoch, and all are 0. Fails unless there
    /// is one.
    fn passive(&self, target: Option<Rank>) -> Result<Serial, Error> {
        self.with(|object| match &object.access {
            Access::All(opened) => Ok(opened.epoch),
            Access::Locks(_) if target.is_none() => Ok(0),
            Access::Locks(locks) => {
                let held = locks.iter().find(|(held, _)| Some(*held) == target);
                held.map(|(_, opened)| opened.epoch)
                    .ok_or(out_of_order("no lock is held there"))
            }
            _ => Err(out_of_order("no lock is held there")),
        })
    }

    fn record_flush(
        &self,
        (target, epoch): (Option<Rank>, Serial),
        is_local: bool,
        told: Told,
    ) -> Result<Serial, Error> {
        let of = (self.context(), epoch, target);
        let flush = self.with_all(|all| all.flush(of, is_local, told))?;
        self.set_off();
        flush.ok_or(no_room::<Serial>(8))
    }

    /// Flushes the passive epochs that include the process, or all. Fails unless there is one.
    fn flush(&self, target: Option<Rank>, is_local: bool, told: Told) -> Result<Serial, Error> {
        let epoch = self.passive(target)?;
        self.record_flush((target, epoch), is_local, told)
    }

    /// Waits until an epoch that has been closed is complete.
    fn wait_closed(&self, target: Option<Rank>, epoch: Serial) -> Result<(), Error> {
        self.wait_for(target, Watch::Closed(epoch));
        self.sweep()?;
        self.faults()
    }
}

/// Runs a call with a request.
///
/// # Safety
/// As for [`args::out`].
unsafe fn begin(
    function: &'static str,
    win: c_int,
    request: *mut c_int,
    start: impl FnOnce(&Window, Told) -> Result<Serial, Error>,
) -> c_int {
    on_win(function, win, |window| {
        // SAFETY: the caller's promise.
        let request = unsafe { args::out(request, "request") }?;
        *request = window.request(|told| start(&window, told).map(|_| ()))?;
        Ok(())
    })
}

/// As [`begin`], for a call on one process; of MPI_PROC_NULL the request is complete.
///
/// # Safety
/// As for [`args::out`].
unsafe fn begin_at(
    function: &'static str,
    win: c_int,
    (rank, request): (c_int, *mut c_int),
    start: impl FnOnce(&Window, Rank, Told) -> Result<Serial, Error>,
) -> c_int {
    on_win(function, win, |window| {
        // SAFETY: the caller's promise.
        let request = unsafe { args::out(request, "request") }?;
        *request = match window.target(rank)? {
            Peer::ProcNull => SEND_COMPLETE,
            Peer::Rank(target) => {
                window.request(|told| start(&window, target, told).map(|_| ()))?
            }
        };
        Ok(())
    })
}

#[unsafe(export_name = "PMPI_Win_fence")]
pub unsafe extern "C" fn MPI_Win_fence(assert: c_int, win: c_int) -> c_int {
    on_win("MPI_Win_fence", win, |window| {
        let epoch = window.fence(assert, None, false)?;
        window.wait_for(None, Watch::Opened(epoch));
        window.sweep()?;
        window.faults()
    })
}

#[unsafe(export_name = "PMPI_Win_ifence")]
pub unsafe extern "C" fn MPI_Win_ifence(assert: c_int, win: c_int, request: *mut c_int) -> c_int {
    let start = |window: &Window, told| window.fence(assert, told, true);
    // SAFETY: the caller's promise about `request`.
    unsafe { begin("MPI_Win_ifence", win, request, start) }
}

#[unsafe(export_name = "PMPI_Win_start")]
pub unsafe extern "C" fn MPI_Win_start(group: c_int, assert: c_int, win: c_int) -> c_int {
    on_win("MPI_Win_start", win, |window| {
        let epoch = window.start(group, assert, None, false)?;
        window.wait_for(None, Watch::Opened(epoch));
        Ok(())
    })
}

#[unsafe(export_name = "PMPI_Win_istart")]
pub unsafe extern "C" fn MPI_Win_istart(
    group: c_int,
    assert: c_int,
    win: c_int,
    request: *mut c_int,
) -> c_int {
    let start = |window: &Window, told| window.start(group, assert, told, true);
    // SAFETY: as above.
    unsafe { begin("MPI_Win_istart", win, request, start) }
}

#[unsafe(export_name = "PMPI_Win_complete")]
pub unsafe extern "C" fn MPI_Win_complete(win: c_int) -> c_int {
    on_win("MPI_Win_complete", win, |window| {
        let epoch = window.complete(None)?;
        window.wait_closed(None, epoch)
    })
}

#[unsafe(export_name = "PMPI_Win_icomplete")]
pub unsafe extern "C" fn MPI_Win_icomplete(win: c_int, request: *mut c_int) -> c_int {
    // SAFETY: as above.
    unsafe { begin("MPI_Win_icomplete", win, request, Window::complete) }
}

#[unsafe(export_name = "PMPI_Win_post")]
pub unsafe extern "C" fn MPI_Win_post(group: c_int, assert: c_int, win: c_int) -> c_int {
    on_win("MPI_Win_post", win, |window| {
        let epoch = window.post(group, assert, None)?;
        window.wait_for(None, Watch::Opened(epoch));
        Ok(())
    })
}

#[unsafe(export_name = "PMPI_Win_ipost")]
pub unsafe extern "C" fn MPI_Win_ipost(
    group: c_int,
    assert: c_int,
    win: c_int,
    request: *mut c_int,
) -> c_int {
    let start = |window: &Window, told| window.post(group, assert, told);
    // SAFETY: as above.
    unsafe { begin("MPI_Win_ipost", win, request, start) }
}

#[unsafe(export_name = "PMPI_Win_wait")]
pub unsafe extern "C" fn MPI_Win_wait(win: c_int) -> c_int {
    on_win("MPI_Win_wait", win, |window| {
        let epoch = window.end_exposure(None)?;
        window.wait_for(None, Watch::Closed(epoch));
        window.sweep()
    })
}

#[unsafe(export_name = "PMPI_Win_iwait")]
pub unsafe extern "C" fn MPI_Win_iwait(win: c_int, request: *mut c_int) -> c_int {
    // SAFETY: as above.
    unsafe { begin("MPI_Win_iwait", win, request, Window::end_exposure) }
}

#[unsafe(export_name = "PMPI_Win_test")]
pub unsafe extern "C" fn MPI_Win_test(win: c_int, flag: *mut c_int) -> c_int {
    on_win("MPI_Win_test", win, |window| {
        // SAFETY: the standard's promise about `flag`.
        let flag = unsafe { args::out(flag, "flag") }?;
        let epoch = window.exposure()?;
        call::look(window.env, window.note(None), |_, _| ());
        let context = window.context();
        let is_over = window.with_all(|all| all.can_end(context, epoch))?;
        *flag = is_over.into();
        match is_over {
            true => window.end_exposure(None).map(|_| ()),
            false => Ok(()),
        }
    })
}

/// What `lock_type` and `assert` say: the lock is exclusive; it is to be asked for.
fn lock_of(lock_type: c_int, assert: c_int) -> Result<(bool, bool), Error> {
    let exclusive = match lock_type {
        MPI_LOCK_EXCLUSIVE => true,
        MPI_LOCK_SHARED => false,
        _ => {
            return Err(wrong(
                Class::Locktype,
                "lock_type is neither MPI_LOCK_EXCLUSIVE nor MPI_LOCK_SHARED",
            ));
        }
    };
    check_assert(assert, MPI_MODE_NOCHECK)?;
    Ok((exclusive, assert & MPI_MODE_NOCHECK == 0))
}

#[unsafe(export_name = "PMPI_Win_lock")]
pub unsafe extern "C" fn MPI_Win_lock(
    lock_type: c_int,
    rank: c_int,
    assert: c_int,
    win: c_int,
) -> c_int {
    on_win("MPI_Win_lock", win, |window| {
        let (exclusive, checks) = lock_of(lock_type, assert)?;
        let Peer::Rank(target) = window.target(rank)? else {
            return Ok(());
        };
        let epoch = window.lock((target, exclusive), checks, None, false)?;
        window.wait_for(Some(target), Watch::Opened(epoch));
        Ok(())
    })
}

#[unsafe(export_name = "PMPI_Win_ilock")]
pub unsafe extern "C" fn MPI_Win_ilock(
    lock_type: c_int,
    rank: c_int,
    assert: c_int,
    win: c_int,
    request: *mut c_int,
) -> c_int {
    on_win("MPI_Win_ilock", win, |window| {
        let (exclusive, checks) = lock_of(lock_type, assert)?;
        // SAFETY: as above.
        let request = unsafe { args::out(request, "request") }?;
        *request = match window.target(rank)? {
            Peer::ProcNull => SEND_COMPLETE,
            Peer::Rank(target) => window.request(|told| {
                let locked = window.lock((target, exclusive), checks, told, true);
                locked.map(|_| ())
            })?,
        };
        Ok(())
    })
}

#[unsafe(export_name = "PMPI_Win_unlock")]
pub unsafe extern "C" fn MPI_Win_unlock(rank: c_int, win: c_int) -> c_int {
    on_win("MPI_Win_unlock", win, |window| {
        let Peer::Rank(target) = window.target(rank)? else {
            return Ok(());
        };
        let epoch = window.unlock(target, None)?;
        window.wait_closed(Some(target), epoch)
    })
}

#[unsafe(export_name = "PMPI_Win_iunlock")]
pub unsafe extern "C" fn MPI_Win_iunlock(rank: c_int, win: c_int, request: *mut c_int) -> c_int {
    // SAFETY: as above.
    unsafe { begin_at("MPI_Win_iunlock", win, (rank, request), Window::unlock) }
}

#[unsafe(export_name = "PMPI_Win_lock_all")]
pub unsafe extern "C" fn MPI_Win_lock_all(assert: c_int, win: c_int) -> c_int {
    on_win("MPI_Win_lock_all", win, |window| {
        let epoch = window.lock_all(assert, None, false)?;
        window.wait_for(None, Watch::Opened(epoch));
        Ok(())
    })
}

#[unsafe(export_name = "PMPI_Win_ilock_all")]
pub unsafe extern "C" fn MPI_Win_ilock_all(
    assert: c_int,
    win: c_int,
    request: *mut c_int,
) -> c_int {
    let start = |window: &Window, told| window.lock_all(assert, told, true);
    // SAFETY: as above.
    unsafe { begin("MPI_Win_ilock_all", win, request, start) }
}

#[unsafe(export_name = "PMPI_Win_unlock_all")]
pub unsafe extern "C" fn MPI_Win_unlock_all(win: c_int) -> c_int {
    on_win("MPI_Win_unlock_all", win, |window| {
        let epoch = window.unlock_all(None)?;
        window.wait_closed(None, epoch)
    })
}

#[unsafe(export_name = "PMPI_Win_iunlock_all")]
pub unsafe extern "C" fn MPI_Win_iunlock_all(win: c_int, request: *mut c_int) -> c_int {
    // SAFETY: as above.
    unsafe { begin("MPI_Win_iunlock_all", win, request, Window::unlock_all) }
}

/// What the four kinds of flushes do; those that are local end when the origin's buffers are the program's again.
fn flush(function: &'static str, win: c_int, rank: Option<c_int>, is_local: bool) -> c_int {
    on_win(function, win, |window| {
        let target = match rank {
            None => None,
            Some(rank) => match window.target(rank)? {
                Peer::ProcNull => return Ok(()),
                Peer::Rank(target) => Some(target),
            },
        };
        let epoch = window.passive(target)?;
        let context = window.context();
        if window.with_all(|all| all.is_answered(context, target, is_local))? {
            window.set_off();
            window.drain(target);
        } else {
            let flush = window.record_flush((target, epoch), is_local, None)?;
            window.wait_for(target, Watch::Done(flush));
        }
        window.sweep()?;
        match is_local {
            true => Ok(()),
            false => window.faults(),
        }
    })
}

#[unsafe(export_name = "PMPI_Win_flush")]
pub unsafe extern "C" fn MPI_Win_flush(rank: c_int, win: c_int) -> c_int {
    flush("MPI_Win_flush", win, Some(rank), false)
}

#[unsafe(export_name = "PMPI_Win_flush_all")]
pub unsafe extern "C" fn MPI_Win_flush_all(win: c_int) -> c_int {
    flush("MPI_Win_flush_all", win, None, false)
}

#[unsafe(export_name = "PMPI_Win_flush_local")]
pub unsafe extern "C" fn MPI_Win_flush_local(rank: c_int, win: c_int) -> c_int {
    flush("MPI_Win_flush_local", win, Some(rank), true)
}

#[unsafe(export_name = "PMPI_Win_flush_local_all")]
pub unsafe extern "C" fn MPI_Win_flush_local_all(win: c_int) -> c_int {
    flush("MPI_Win_flush_local_all", win, None, true)
}

#[unsafe(export_name = "PMPI_Win_iflush")]
pub unsafe extern "C" fn MPI_Win_iflush(rank: c_int, win: c_int, request: *mut c_int) -> c_int {
    let start = |window: &Window, target, told| window.flush(Some(target), false, told);
    // SAFETY: as above.
    unsafe { begin_at("MPI_Win_iflush", win, (rank, request), start) }
}

#[unsafe(export_name = "PMPI_Win_iflush_all")]
pub unsafe extern "C" fn MPI_Win_iflush_all(win: c_int, request: *mut c_int) -> c_int {
    let start = |window: &Window, told| window.flush(None, false, told);
    // SAFETY: as above.
    unsafe { begin("MPI_Win_iflush_all", win, request, start) }
}

#[unsafe(export_name = "PMPI_Win_iflush_local")]
pub unsafe extern "C" fn MPI_Win_iflush_local(
    rank: c_int,
    win: c_int,
    request: *mut c_int,
) -> c_int {
    let start = |window: &Window, target, told| window.flush(Some(target), true, told);
    // SAFETY: as above.
    unsafe { begin_at("MPI_Win_iflush_local", win, (rank, request), start) }
}

#[unsafe(export_name = "PMPI_Win_iflush_local_all")]
pub unsafe extern "C" fn MPI_Win_iflush_local_all(win: c_int, request: *mut c_int) -> c_int {
    let start = |window: &Window, told| window.flush(None, true, told);
    // SAFETY: as above.
    unsafe { begin("MPI_Win_iflush_local_all", win, request, start) }
}

// There is one copy of a window (the unified model), and a call that makes progress: a program that waits for a value
// in its own window sees it come.
#[unsafe(export_name = "PMPI_Win_sync")]
pub unsafe extern "C" fn MPI_Win_sync(win: c_int) -> c_int {
    on_win("MPI_Win_sync", win, |window| {
        call::look(window.env, window.note(None), |_, _| ());
        Ok(())
    })
}
