//! Waiting, testing, freeing and cancelling of single requests (sections 3.7.3, 3.7.6 and 3.8.4). For arrays of
//! requests see [`super::wait_test_many`].
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use core::ffi::c_int;

use super::args;
use super::binding::env;
use super::comm_objects;
use super::error_dispatch::{end, end_under, on_process};
use super::fast_path;
use super::requests::{
    CompletedRequest, CompletionData, RequestKind, complete_here, completed_with, free_persistent, give_up, named,
    peek, try_complete,
};
use super::types::constants::{MPI_COMM_WORLD, MPI_REQUEST_NULL, MPI_SUCCESS, MPI_UNDEFINED};
use super::types::{Handle, MPI_Status};
use midplane_device::interface::{CancelPhase, Device};
use midplane_device::kernel::CallInfo;
use midplane_objects::call::block_on;
use midplane_objects::error::Error;
use midplane_objects::process::Env;

/// Blocks until the request with handle `handle` is complete, frees it and resets the handle.
pub(super) fn wait_one(env: &dyn Env, function: &'static str, handle: &mut Handle) -> Result<CompletedRequest, Error> {
    let named = named((*handle).value())?;
    if let RequestKind::Live(id) = named {
        let ended = env.wait(function, id);
        let ended = ended.ok_or(Error::Request {
            handle: (*handle).value(),
        })?;
        return Ok(completed_with(&ended, handle));
    }
    let note = CallInfo::without_peer(function);
    let completed = block_on(env, note, || complete_here(named, handle));
    Ok(completed.finished(handle))
}

/// Returns the result of a call that completed one request.
pub(super) fn end_one(
    function: &'static str,
    result: Result<Option<CompletedRequest>, Error>,
    status: *mut MPI_Status,
) -> c_int {
    let completed = match result {
        Ok(Some(completed)) => completed,
        Ok(None) => return end(function, MPI_COMM_WORLD, Ok(())),
        Err(error) => return end(function, MPI_COMM_WORLD, Err(error)),
    };
    // SAFETY: the standard's requirements on `status`, which the callers have found to be no null pointer.
    if let Ok(Some(status)) = unsafe { args::status(status) } {
        status.complete(completed.status);
    }
    match completed.rest {
        Some(CompletionData::Failed(error_target, error)) => end_under(function, error_target, Err(error)),
        _ => end(function, MPI_COMM_WORLD, Ok(())),
    }
}

/// Waits for one request on the fast path; `None`: the call takes the slow path.
///
/// # Safety
/// Each pointer must be null or satisfy [`args::out`] or [`args::status`].
#[inline(always)]
unsafe fn wait_fast(function: &'static str, request: *mut Handle, status: *mut MPI_Status) -> Option<c_int> {
    if !fast_path::is_open() {
        return None;
    }
    // SAFETY: guaranteed by the caller.
    let request = unsafe { request.as_mut() }?;
    let whole = fast_path::wait(function, (*request).value())?;
    *request = Handle::new(MPI_REQUEST_NULL);
    // SAFETY: guaranteed by the caller.
    unsafe { fast_path::tell(&whole, status) };
    comm_objects::request_completed(whole.context);
    Some(MPI_SUCCESS)
}

pub unsafe fn MPI_Wait(request: *mut Handle, status: *mut MPI_Status) -> c_int {
    // SAFETY: the standard's requirements on both.
    if let Some(code) = unsafe { wait_fast("MPI_Wait", request, status) } {
        return code;
    }
    let result = env().and_then(|env| {
        // SAFETY: the standard's requirements on both.
        let request = unsafe {
            args::status(status)?;
            args::out(request, "request")?
        };
        wait_one(env, "MPI_Wait", request).map(Some)
    });
    end_one("MPI_Wait", result, status)
}

pub unsafe fn MPI_Test(request: *mut Handle, flag: *mut c_int, status: *mut MPI_Status) -> c_int {
    let result = env().and_then(|env| {
        // SAFETY: the standard's requirements on all three.
        let (request, flag) = unsafe {
            args::status(status)?;
            (args::out(request, "request")?, args::out(flag, "flag")?)
        };
        let completed = try_complete(env, Some("MPI_Test"), request)?;
        *flag = completed.is_some().into();
        Ok(completed.map(|completed| completed.finished(request)))
    });
    end_one("MPI_Test", result, status)
}

/// Returns the completion of a request that remains; `None` if it is not complete.
fn query(env: &dyn Env, function: &'static str, handle: c_int) -> Result<Option<CompletedRequest>, Error> {
    let completed = peek(env, function, handle)?;
    Ok(completed.map(|completed| match completed.rest {
        Some(CompletionData::CallbacksPending(family)) => family.finish_request(handle, false),
        _ => completed,
    }))
}

/// Checks whether the request is active.
fn is_active(handle: c_int) -> Result<bool, Error> {
    Ok(!matches!(named(handle)?, RequestKind::Inactive))
}

pub unsafe fn MPI_Request_get_status(request: c_int, flag: *mut c_int, status: *mut MPI_Status) -> c_int {
    on_process("MPI_Request_get_status", |env| {
        // SAFETY: the standard's requirements on `flag` and `status`.
        let (flag, status) = unsafe { (args::out(flag, "flag")?, args::status(status)?) };
        let completed = query(env, "MPI_Request_get_status", request)?;
        *flag = completed.is_some().into();
        if let (Some(status), Some(completed)) = (status, completed) {
            status.complete(completed.status);
        }
        Ok(())
    })
}

pub unsafe fn MPI_Request_get_status_any(
    count: c_int,
    array_of_requests: *const Handle,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    on_process("MPI_Request_get_status_any", |env| {
        // SAFETY: the standard's requirements on the array, `index`, `flag` and `status`.
        let (requests, index, flag, status) = unsafe {
            (
                args::array(array_of_requests, args::length(count)?, "array_of_requests")?,
                args::out(index, "index")?,
                args::out(flag, "flag")?,
                args::status(status)?,
            )
        };
        (*index, *flag) = (MPI_UNDEFINED, 1);
        let mut found = MPI_Status::EMPTY;
        for (at, handle) in requests.iter().enumerate() {
            if !is_active((*handle).value())? {
                continue;
            }
            *flag = 0;
            if let Some(completed) = query(env, "MPI_Request_get_status_any", (*handle).value())? {
                (*index, *flag, found) = (at as c_int, 1, completed.status);
                break;
            }
        }
        if let Some(status) = status.filter(|_| *flag != 0) {
            status.complete(found);
        }
        Ok(())
    })
}

pub unsafe fn MPI_Request_get_status_all(
    count: c_int,
    array_of_requests: *const Handle,
    flag: *mut c_int,
    array_of_statuses: *mut MPI_Status,
) -> c_int {
    on_process("MPI_Request_get_status_all", |env| {
        let count = args::length(count)?;
        // SAFETY: the standard's requirements on the arrays and `flag`.
        let (requests, flag, mut statuses) = unsafe {
            (
                args::array(array_of_requests, count, "array_of_requests")?,
                args::out(flag, "flag")?,
                args::statuses(array_of_statuses, count)?,
            )
        };
        *flag = 0;
        for (at, handle) in requests.iter().enumerate() {
            let Some(completed) = query(env, "MPI_Request_get_status_all", (*handle).value())? else {
                return Ok(());
            };
            if let Some(statuses) = &mut statuses {
                statuses[at] = completed.full_status();
            }
        }
        *flag = 1;
        Ok(())
    })
}

pub unsafe fn MPI_Request_get_status_some(
    incount: c_int,
    array_of_requests: *const Handle,
    outcount: *mut c_int,
    array_of_indices: *mut c_int,
    array_of_statuses: *mut MPI_Status,
) -> c_int {
    on_process("MPI_Request_get_status_some", |env| {
        let count = args::length(incount)?;
        // SAFETY: the standard's requirements on the arrays and `outcount`.
        let (requests, outcount, indices, mut statuses) = unsafe {
            (
                args::array(array_of_requests, count, "array_of_requests")?,
                args::out(outcount, "outcount")?,
                args::array_mut(array_of_indices, count, "array_of_indices")?,
                args::statuses(array_of_statuses, count)?,
            )
        };
        let (mut active, mut done) = (false, 0);
        for (at, handle) in requests.iter().enumerate() {
            if !is_active((*handle).value())? {
                continue;
            }
            active = true;
            let Some(completed) = query(env, "MPI_Request_get_status_some", (*handle).value())? else {
                continue;
            };
            indices[done] = at as c_int;
            if let Some(statuses) = &mut statuses {
                statuses[done] = completed.full_status();
            }
            done += 1;
        }
        *outcount = if active { done as c_int } else { MPI_UNDEFINED };
        Ok(())
    })
}

pub unsafe fn MPI_Request_free(request: *mut Handle) -> c_int {
    on_process("MPI_Request_free", |env| {
        // SAFETY: the standard's requirements on `request`.
        let request = unsafe { args::out(request, "request") }?;
        match named((*request).value())? {
            // It continues, and is freed at completion (section 3.7.3).
            RequestKind::Live(id) if give_up(env, id) => {}
            RequestKind::Live(_) => {
                return Err(Error::Request {
                    handle: (*request).value(),
                });
            }
            RequestKind::Inactive if *request == Handle::new(MPI_REQUEST_NULL) => {
                return Err(Error::Request {
                    handle: MPI_REQUEST_NULL,
                });
            }
            RequestKind::Other(family) => family.free((*request).value())?,
            RequestKind::Inactive | RequestKind::Complete(_) => {}
        }
        free_persistent((*request).value());
        *request = Handle::new(MPI_REQUEST_NULL);
        Ok(())
    })
}

pub unsafe fn MPI_Cancel(request: *mut Handle) -> c_int {
    on_process("MPI_Cancel", |env| {
        // SAFETY: the standard's requirements on `request`.
        let handle = *unsafe { args::out(request, "request") }?;
        let unknown = Error::Request { handle: handle.value() };
        match named(handle.value())? {
            RequestKind::Live(id) => {
                env.inspect(None, id).ok_or(unknown)?;
                env.cancel("MPI_Cancel", id, CancelPhase::Start);
                Ok(())
            }
            RequestKind::Complete(_) => Ok(()),
            RequestKind::Other(family) => family.cancel(handle.value()),
            RequestKind::Inactive => Err(unknown),
        }
    })
}

pub unsafe fn MPI_Status_set_cancelled(status: *mut MPI_Status, flag: c_int) -> c_int {
    on_process("MPI_Status_set_cancelled", |_| {
        // SAFETY: the standard's requirements on `status`.
        let status = unsafe { args::status(status) }?;
        let status = status.ok_or(Error::NullArgument { name: "status" })?;
        status.midplane_cancelled = (flag != 0).into();
        Ok(())
    })
}

macro_rules! status_fields {
    ($($get:ident $set:ident $field:ident;)*) => {$(
        pub unsafe fn $get(status: *const MPI_Status, value: *mut c_int) -> c_int {
            on_process(stringify!($get), |_| {
                // SAFETY: the standard's requirements on both.
                let (status, value) = unsafe { (args::status(status.cast_mut())?, args::out(value, "the result")?) };
                *value = status.ok_or(Error::NullArgument { name: "status" })?.$field;
                Ok(())
            })
        }

        pub unsafe fn $set(status: *mut MPI_Status, value: c_int) -> c_int {
            on_process(stringify!($set), |_| {
                // SAFETY: the standard's requirements on `status`.
                let status = unsafe { args::status(status) }?;
                status.ok_or(Error::NullArgument { name: "status" })?.$field = value;
                Ok(())
            })
        }
    )*};
}

status_fields! {
    MPI_Status_get_source MPI_Status_set_source MPI_SOURCE;
    MPI_Status_get_tag MPI_Status_set_tag MPI_TAG;
    MPI_Status_get_error MPI_Status_set_error MPI_ERROR;
}
