//! Sections 3.7.3, 3.7.6 and 3.8.4: what a request's handle names; waiting and testing, freeing, cancelling.
//! Several at once are in [`super::several`].
// The functions are documented by the standard and in `mpi.h`, their safety in the module above.
#![allow(
    missing_docs,
    non_snake_case,
    clippy::missing_safety_doc,
    clippy::too_many_arguments
)]

use core::ffi::c_int;

use super::args;
use super::binding::env;
use super::comm_objects;
use super::report::{end, end_under, on_process};
use super::requests::{
    Completed, Named, Rest, free_persistent, give_up, named, peek, try_complete,
};
use super::short;
use super::types::MPI_Status;
use super::types::constants::{MPI_COMM_WORLD, MPI_REQUEST_NULL, MPI_SUCCESS};
use crate::Adi;
use crate::device::kernel::CallNote;
use crate::mpi::call::{look, note_of_request, wait_until};
use crate::mpi::error::Error;
use crate::mpi::process::Env;

/// The note of a call that waits for the request of this handle.
pub(super) fn note(adi: &Adi, function: &'static str, handle: c_int) -> CallNote {
    match named(adi, handle) {
        Ok(Named::Live(id)) => note_of_request(adi, function, id),
        _ => CallNote::of(function),
    }
}

pub(super) fn wait_one(
    env: &dyn Env,
    function: &'static str,
    handle: &mut c_int,
) -> Result<Completed, Error> {
    let named = *handle;
    let completed = wait_until(
        env,
        |adi| note(adi, function, named),
        |adi, _| try_complete(adi, handle).transpose(),
    )?;
    Ok(completed.concluded(handle))
}

/// Ends a call that completed one request.
pub(super) fn end_one(
    function: &'static str,
    result: Result<Option<Completed>, Error>,
    status: *mut MPI_Status,
) -> c_int {
    let completed = match result {
        Ok(Some(completed)) => completed,
        Ok(None) => return end(function, MPI_COMM_WORLD, Ok(())),
        Err(error) => return end(function, MPI_COMM_WORLD, Err(error)),
    };
    // SAFETY: the standard's promise about `status`, which the callers have found to be no null pointer.
    if let Ok(Some(status)) = unsafe { args::status(status) } {
        status.complete(completed.status);
    }
    match completed.rest {
        Some(Rest::Failed(blame, error)) => end_under(function, blame, Err(error)),
        _ => end(function, MPI_COMM_WORLD, Ok(())),
    }
}

/// Waits for one request; `None`: the call is to go the whole way.
///
/// # Safety
/// Each of the two is null, or as for [`args::out`] and [`args::status`].
#[inline(always)]
unsafe fn end_short(
    function: &'static str,
    request: *mut c_int,
    status: *mut MPI_Status,
) -> Option<c_int> {
    if status.is_null() || !short::is_open() {
        return None;
    }
    // SAFETY: the caller's promise.
    let request = unsafe { request.as_mut() }?;
    let whole = short::wait(function, *request)?;
    *request = MPI_REQUEST_NULL;
    // SAFETY: the caller's promise.
    unsafe { short::tell(&whole, status) };
    comm_objects::request_completed(whole.context);
    Some(MPI_SUCCESS)
}

pub unsafe fn MPI_Wait(request: *mut c_int, status: *mut MPI_Status) -> c_int {
    // SAFETY: the standard's promise about both.
    if let Some(code) = unsafe { end_short("MPI_Wait", request, status) } {
        return code;
    }
    let result = env().and_then(|env| {
        // SAFETY: the standard's promise about both.
        let request = unsafe {
            args::status(status)?;
            args::out(request, "request")?
        };
        wait_one(env, "MPI_Wait", request).map(Some)
    });
    end_one("MPI_Wait", result, status)
}

pub unsafe fn MPI_Test(request: *mut c_int, flag: *mut c_int, status: *mut MPI_Status) -> c_int {
    let result = env().and_then(|env| {
        // SAFETY: the standard's promise about all three.
        let (request, flag) = unsafe {
            args::status(status)?;
            (args::out(request, "request")?, args::out(flag, "flag")?)
        };
        let completed = look(env, CallNote::of("MPI_Test"), |adi, _| {
            try_complete(adi, request)
        })?;
        *flag = completed.is_some().into();
        Ok(completed.map(|completed| completed.concluded(request)))
    });
    end_one("MPI_Test", result, status)
}

pub unsafe fn MPI_Request_get_status(
    request: c_int,
    flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    on_process("MPI_Request_get_status", |env| {
        // SAFETY: the standard's promise about `flag` and `status`.
        let (flag, status) = unsafe { (args::out(flag, "flag")?, args::status(status)?) };
        let completed = look(env, CallNote::of("MPI_Request_get_status"), |adi, _| {
            peek(adi, request)
        })?;
        *flag = completed.is_some().into();
        let Some(mut completed) = completed else {
            return Ok(());
        };
        if let Some(Rest::Concluding(family)) = completed.rest {
            completed = family.conclude(request, false);
        }
        if let Some(status) = status {
            status.complete(completed.status);
        }
        Ok(())
    })
}

pub unsafe fn MPI_Request_free(request: *mut c_int) -> c_int {
    on_process("MPI_Request_free", |env| {
        // SAFETY: the standard's promise about `request`.
        let request = unsafe { args::out(request, "request") }?;
        let mut result = Ok(());
        let mut other = None;
        env.with(&mut |adi, _| {
            result = match named(adi, *request) {
                // It goes on, and is freed when it has finished (section 3.7.3).
                Ok(Named::Live(id)) => {
                    give_up(adi, id);
                    Ok(())
                }
                Ok(Named::Inactive) if *request == MPI_REQUEST_NULL => Err(Error::Request {
                    handle: MPI_REQUEST_NULL,
                }),
                Ok(Named::Other(family)) => {
                    other = Some(family);
                    Ok(())
                }
                Ok(_) => Ok(()),
                Err(error) => Err(error),
            };
        });
        result?;
        if let Some(family) = other {
            family.free(*request)?;
        }
        free_persistent(*request);
        *request = MPI_REQUEST_NULL;
        Ok(())
    })
}

pub unsafe fn MPI_Cancel(request: *mut c_int) -> c_int {
    on_process("MPI_Cancel", |env| {
        // SAFETY: the standard's promise about `request`.
        let handle = *unsafe { args::out(request, "request") }?;
        let other = look(env, CallNote::of("MPI_Cancel"), |adi, _| {
            match named(adi, handle)? {
                Named::Live(id) => {
                    adi.cancel(id);
                    Ok(None)
                }
                Named::Complete(_) => Ok(None),
                Named::Other(family) => Ok(Some(family)),
                Named::Inactive => Err(Error::Request { handle }),
            }
        })?;
        other.map_or(Ok(()), |family| family.cancel(handle))
    })
}

pub unsafe fn MPI_Status_set_cancelled(status: *mut MPI_Status, flag: c_int) -> c_int {
    on_process("MPI_Status_set_cancelled", |_| {
        // SAFETY: the standard's promise about `status`.
        let status = unsafe { args::status(status) }?;
        let status = status.ok_or(Error::NullArgument { name: "status" })?;
        status.midplane_cancelled = (flag != 0).into();
        Ok(())
    })
}
