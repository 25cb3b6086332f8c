//! Opening, closing and flushing of epochs (section 11.5), blocking and nonblocking (thesis 001, section 5).
//! `mpi/windows/epochs.rs` defines when each request completes.

use core::ffi::c_int;

use super::objects::{CallWindow, on_win};
use crate::args::{self, PeerRank};
use crate::groups::members_within;
use crate::requests::SEND_COMPLETE;
use crate::types::Handle;
use crate::types::constants::*;
use midplane_device::envelope::Rank;
use midplane_device::interface::Device;
use midplane_device::rma::epochs::{TicketRef, WindowEvent, WindowSequence};
use midplane_objects::error::{Error, ErrorClass};
use midplane_objects::windows::{WindowCondition, wrong};

/// Fails if `assert` contains a flag that the call does not allow.
fn check_assert(assert: c_int, allows: c_int) -> Result<(), Error> {
    match assert & !allows {
        0 => Ok(()),
        _ => Err(wrong(
            ErrorClass::Assert,
            "assert has a bit that means nothing to this call",
        )),
    }
}

fn fence(window: &CallWindow, assert: c_int, told: TicketRef, defers: bool) -> Result<WindowSequence, Error> {
    check_assert(
        assert,
        MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED,
    )?;
    window.fence(assert & MPI_MODE_NOSUCCEED == 0, told, defers)
}

fn start(
    window: &CallWindow,
    group: c_int,
    assert: c_int,
    told: TicketRef,
    defers: bool,
) -> Result<WindowSequence, Error> {
    check_assert(assert, MPI_MODE_NOCHECK)?;
    let group = members_within(window.membership, group)?;
    window.start(&group, assert & MPI_MODE_NOCHECK == 0, told, defers)
}

fn post(window: &CallWindow, group: c_int, assert: c_int, told: TicketRef) -> Result<WindowSequence, Error> {
    check_assert(assert, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT)?;
    let group = members_within(window.membership, group)?;
    window.post(&group, assert & MPI_MODE_NOCHECK == 0, told)
}

fn lock_all(window: &CallWindow, assert: c_int, told: TicketRef, defers: bool) -> Result<WindowSequence, Error> {
    check_assert(assert, MPI_MODE_NOCHECK)?;
    window.lock_all(assert & MPI_MODE_NOCHECK == 0, told, defers)
}

/// Runs a call with a request.
///
/// # Safety
/// See [`args::out`].
unsafe fn begin(
    function: &'static str,
    win: Handle,
    request: *mut Handle,
    start: impl FnOnce(&CallWindow, TicketRef) -> Result<WindowSequence, Error>,
) -> c_int {
    on_win(function, win, |window| {
        // SAFETY: guaranteed by the caller.
        let request = unsafe { args::out(request, "request") }?;
        *request = Handle::new(window.request(|told| start(&window, told).map(|_| ()))?);
        Ok(())
    })
}

/// Runs a call with a request for one process; for MPI_PROC_NULL the request is complete.
///
/// # Safety
/// See [`args::out`].
unsafe fn begin_at(
    function: &'static str,
    win: Handle,
    rank: c_int,
    request: *mut Handle,
    start: impl FnOnce(&CallWindow, Rank, TicketRef) -> Result<WindowSequence, Error>,
) -> c_int {
    on_win(function, win, |window| {
        // SAFETY: guaranteed by the caller.
        let request = unsafe { args::out(request, "request") }?;
        *request = match window.target(rank)? {
            PeerRank::ProcNull => Handle::new(SEND_COMPLETE),
            PeerRank::Rank(target) => Handle::new(window.request(|told| start(&window, target, told).map(|_| ()))?),
        };
        Ok(())
    })
}

pub unsafe fn MPI_Win_fence(assert: c_int, win: Handle) -> c_int {
    on_win("MPI_Win_fence", win, |window| {
        let epoch = fence(&window, assert, None, false)?;
        window.wait(None, WindowCondition::Occurred(WindowEvent::Opened(epoch)));
        window.sweep()?;
        window.faults()
    })
}

pub unsafe fn MPI_Win_ifence(assert: c_int, win: Handle, request: *mut Handle) -> c_int {
    let start = |window: &CallWindow, told| fence(window, assert, told, true);
    // SAFETY: the caller's guarantee about `request`.
    unsafe { begin("MPI_Win_ifence", win, request, start) }
}

pub unsafe fn MPI_Win_start(group: c_int, assert: c_int, win: Handle) -> c_int {
    on_win("MPI_Win_start", win, |window| {
        let epoch = start(&window, group, assert, None, false)?;
        window.wait(None, WindowCondition::Occurred(WindowEvent::Opened(epoch)));
        Ok(())
    })
}

pub unsafe fn MPI_Win_istart(group: c_int, assert: c_int, win: Handle, request: *mut Handle) -> c_int {
    let begin_access = |window: &CallWindow, told| start(window, group, assert, told, true);
    // SAFETY: as above.
    unsafe { begin("MPI_Win_istart", win, request, begin_access) }
}

pub unsafe fn MPI_Win_complete(win: Handle) -> c_int {
    on_win("MPI_Win_complete", win, |window| {
        let epoch = window.complete(None)?;
        window.wait_closed(None, epoch)
    })
}

pub unsafe fn MPI_Win_icomplete(win: Handle, request: *mut Handle) -> c_int {
    // SAFETY: as above.
    unsafe { begin("MPI_Win_icomplete", win, request, |window, told| window.complete(told)) }
}

pub unsafe fn MPI_Win_post(group: c_int, assert: c_int, win: Handle) -> c_int {
    on_win("MPI_Win_post", win, |window| {
        let epoch = post(&window, group, assert, None)?;
        window.wait(None, WindowCondition::Occurred(WindowEvent::Opened(epoch)));
        Ok(())
    })
}

pub unsafe fn MPI_Win_ipost(group: c_int, assert: c_int, win: Handle, request: *mut Handle) -> c_int {
    let start = |window: &CallWindow, told| post(window, group, assert, told);
    // SAFETY: as above.
    unsafe { begin("MPI_Win_ipost", win, request, start) }
}

pub unsafe fn MPI_Win_wait(win: Handle) -> c_int {
    on_win("MPI_Win_wait", win, |window| {
        let epoch = window.end_exposure(None)?;
        window.wait(None, WindowCondition::Occurred(WindowEvent::Closed(epoch)));
        window.sweep()
    })
}

pub unsafe fn MPI_Win_iwait(win: Handle, request: *mut Handle) -> c_int {
    // SAFETY: as above.
    unsafe { begin("MPI_Win_iwait", win, request, |window, told| window.end_exposure(told)) }
}

pub unsafe fn MPI_Win_test(win: Handle, flag: *mut c_int) -> c_int {
    on_win("MPI_Win_test", win, |window| {
        // SAFETY: the standard's requirements on `flag`.
        let flag = unsafe { args::out(flag, "flag") }?;
        *flag = window.test_exposure()?.into();
        Ok(())
    })
}

/// Decodes `lock_type` and `assert`: whether the lock is exclusive, and whether it must be requested.
fn lock_of(lock_type: c_int, assert: c_int) -> Result<(bool, bool), Error> {
    let exclusive = match lock_type {
        MPI_LOCK_EXCLUSIVE => true,
        MPI_LOCK_SHARED => false,
        _ => {
            return Err(wrong(
                ErrorClass::Locktype,
                "lock_type is neither MPI_LOCK_EXCLUSIVE nor MPI_LOCK_SHARED",
            ));
        }
    };
    check_assert(assert, MPI_MODE_NOCHECK)?;
    Ok((exclusive, assert & MPI_MODE_NOCHECK == 0))
}

pub unsafe fn MPI_Win_lock(lock_type: c_int, rank: c_int, assert: c_int, win: Handle) -> c_int {
    on_win("MPI_Win_lock", win, |window| {
        let (exclusive, checks) = lock_of(lock_type, assert)?;
        let PeerRank::Rank(target) = window.target(rank)? else {
            return Ok(());
        };
        let epoch = window.lock(target, exclusive, checks, None, false)?;
        window.wait(Some(target), WindowCondition::Occurred(WindowEvent::Opened(epoch)));
        Ok(())
    })
}

pub unsafe fn MPI_Win_ilock(lock_type: c_int, rank: c_int, assert: c_int, win: Handle, request: *mut Handle) -> c_int {
    on_win("MPI_Win_ilock", win, |window| {
        let (exclusive, checks) = lock_of(lock_type, assert)?;
        // SAFETY: as above.
        let request = unsafe { args::out(request, "request") }?;
        *request = match window.target(rank)? {
            PeerRank::ProcNull => Handle::new(SEND_COMPLETE),
            PeerRank::Rank(target) => Handle::new(window.request(|told| {
                let locked = window.lock(target, exclusive, checks, told, true);
                locked.map(|_| ())
            })?),
        };
        Ok(())
    })
}

pub unsafe fn MPI_Win_unlock(rank: c_int, win: Handle) -> c_int {
    on_win("MPI_Win_unlock", win, |window| {
        let PeerRank::Rank(target) = window.target(rank)? else {
            return Ok(());
        };
        let epoch = window.unlock(target, None)?;
        window.wait_closed(Some(target), epoch)
    })
}

pub unsafe fn MPI_Win_iunlock(rank: c_int, win: Handle, request: *mut Handle) -> c_int {
    // SAFETY: as above.
    unsafe {
        begin_at("MPI_Win_iunlock", win, rank, request, |window, target, told| {
            window.unlock(target, told)
        })
    }
}

pub unsafe fn MPI_Win_lock_all(assert: c_int, win: Handle) -> c_int {
    on_win("MPI_Win_lock_all", win, |window| {
        let epoch = lock_all(&window, assert, None, false)?;
        window.wait(None, WindowCondition::Occurred(WindowEvent::Opened(epoch)));
        Ok(())
    })
}

pub unsafe fn MPI_Win_ilock_all(assert: c_int, win: Handle, request: *mut Handle) -> c_int {
    let start = |window: &CallWindow, told| lock_all(window, assert, told, true);
    // SAFETY: as above.
    unsafe { begin("MPI_Win_ilock_all", win, request, start) }
}

pub unsafe fn MPI_Win_unlock_all(win: Handle) -> c_int {
    on_win("MPI_Win_unlock_all", win, |window| {
        let epoch = window.unlock_all(None)?;
        window.wait_closed(None, epoch)
    })
}

pub unsafe fn MPI_Win_iunlock_all(win: Handle, request: *mut Handle) -> c_int {
    // SAFETY: as above.
    unsafe {
        begin("MPI_Win_iunlock_all", win, request, |window, told| {
            window.unlock_all(told)
        })
    }
}

/// Implements the four kinds of flushes; the local ones complete when the origin's buffers may be reused.
fn flush(function: &'static str, win: Handle, rank: Option<c_int>, is_local: bool) -> c_int {
    on_win(function, win, |window| {
        let target = match rank {
            None => None,
            Some(rank) => match window.target(rank)? {
                PeerRank::ProcNull => return Ok(()),
                PeerRank::Rank(target) => Some(target),
            },
        };
        window.flush_and_wait(target, is_local)
    })
}

pub unsafe fn MPI_Win_flush(rank: c_int, win: Handle) -> c_int {
    flush("MPI_Win_flush", win, Some(rank), false)
}

pub unsafe fn MPI_Win_flush_all(win: Handle) -> c_int {
    flush("MPI_Win_flush_all", win, None, false)
}

pub unsafe fn MPI_Win_flush_local(rank: c_int, win: Handle) -> c_int {
    flush("MPI_Win_flush_local", win, Some(rank), true)
}

pub unsafe fn MPI_Win_flush_local_all(win: Handle) -> c_int {
    flush("MPI_Win_flush_local_all", win, None, true)
}

pub unsafe fn MPI_Win_iflush(rank: c_int, win: Handle, request: *mut Handle) -> c_int {
    let start = |window: &CallWindow, target, told| window.flush(Some(target), false, told);
    // SAFETY: as above.
    unsafe { begin_at("MPI_Win_iflush", win, rank, request, start) }
}

pub unsafe fn MPI_Win_iflush_all(win: Handle, request: *mut Handle) -> c_int {
    let start = |window: &CallWindow, told| window.flush(None, false, told);
    // SAFETY: as above.
    unsafe { begin("MPI_Win_iflush_all", win, request, start) }
}

pub unsafe fn MPI_Win_iflush_local(rank: c_int, win: Handle, request: *mut Handle) -> c_int {
    let start = |window: &CallWindow, target, told| window.flush(Some(target), true, told);
    // SAFETY: as above.
    unsafe { begin_at("MPI_Win_iflush_local", win, rank, request, start) }
}

pub unsafe fn MPI_Win_iflush_local_all(win: Handle, request: *mut Handle) -> c_int {
    let start = |window: &CallWindow, told| window.flush(None, true, told);
    // SAFETY: as above.
    unsafe { begin("MPI_Win_iflush_local_all", win, request, start) }
}

// There is one copy of a window (the unified memory model), and the call makes progress: a program can poll for a value
// in its own window.
pub unsafe fn MPI_Win_sync(win: Handle) -> c_int {
    on_win("MPI_Win_sync", win, |window| {
        // Orders the program's accesses to shared memory.
        core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
        window.env.advance(window.note(None), None);
        core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
        Ok(())
    })
}
