//! Matched probes, and receives of the matched messages (sections 3.8.2 and 3.8.3).
//!
//! A message handle is the request ID of its future receive, never negative. It is not a valid request handle.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use core::ffi::{c_int, c_void};

use super::args::{self, PeerRank};
use super::binding::env;
use super::comm_objects::{ErrorTarget, error_target_in};
use super::completion::{end_one, wait_one};
use super::datatypes::TypedBuffer;
use super::error_dispatch::{end_under, error_target, on_partners};
use super::requests::{RECEIVED_FROM_PROC_NULL, handle_of};
use super::types::constants::*;
use super::types::{Handle, MPI_Status};
use midplane_device::interface::{BlockingMode, Device};
use midplane_device::request::RequestId;
use midplane_objects::comm::Status;
use midplane_objects::error::Error;
use midplane_objects::process::Env;

/// Returns the handle and the status of a matched message: that of a request, which is negative and so no predefined one.
fn found(id: RequestId, status: Status) -> (c_int, MPI_Status) {
    (handle_of(id), MPI_Status::from_result(&Ok(status)))
}

/// Result for MPI_PROC_NULL.
const NO_PROC: (c_int, MPI_Status) = (MPI_MESSAGE_NO_PROC, MPI_Status::PROC_NULL);

/// # Safety
/// See [`args::out`] and [`args::status`].
unsafe fn probe(
    function: &'static str,
    source: c_int,
    tag: c_int,
    handle: c_int,
    flag: Option<&mut c_int>,
    message: *mut Handle,
    status: *mut MPI_Status,
) -> c_int {
    on_partners(function, handle, |comm| {
        let (source, tag) = (args::source(&comm, source)?, args::any_tag(tag)?);
        // SAFETY: guaranteed by the caller.
        let (message, status) = unsafe { (args::out(message, "message")?, args::status(status)?) };
        let blocking = match flag {
            None => BlockingMode::Blocking,
            Some(_) => BlockingMode::Nonblocking,
        };
        let there = match source {
            PeerRank::ProcNull => Some(NO_PROC),
            PeerRank::Rank(source) => comm
                .mprobe_span(function, source, tag, blocking)?
                .map(|(id, status)| found(id, status)),
        };
        if let Some(flag) = flag {
            *flag = there.is_some().into();
        }
        if let Some((its, known)) = there {
            *message = Handle::new(its);
            if let Some(status) = status {
                status.set(known);
            }
        }
        Ok(())
    })
}

pub unsafe fn MPI_Mprobe(
    source: c_int,
    tag: c_int,
    comm: c_int,
    message: *mut Handle,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the standard's requirements on `message` and `status`.
    unsafe { probe("MPI_Mprobe", source, tag, comm, None, message, status) }
}

pub unsafe fn MPI_Improbe(
    source: c_int,
    tag: c_int,
    comm: c_int,
    flag: *mut c_int,
    message: *mut Handle,
    status: *mut MPI_Status,
) -> c_int {
    let name = "MPI_Improbe";
    // SAFETY: the standard's requirements on `flag`, `message` and `status`.
    unsafe {
        match args::out(flag, "flag") {
            Ok(flag) => probe(name, source, tag, comm, Some(flag), message, status),
            Err(error) => end_under(name, error_target(comm), Err(error)),
        }
    }
}

/// Starts the receive of a matched message. Returns its request handle.
///
/// # Safety
/// The buffer must satisfy [`args::buffer`] until the request completes.
unsafe fn start(
    env: &dyn Env,
    function: &'static str,
    buf: *mut c_void,
    count: isize,
    datatype: c_int,
    message: &mut Handle,
) -> Result<c_int, (ErrorTarget, Error)> {
    let id = RequestId(!message.value() as u32);
    let is_no_proc = message.value() == MPI_MESSAGE_NO_PROC;
    // Its communicator, if the handle is valid.
    let taken = env.inspect(None, id).filter(|state| state.is_taken);
    let context = taken.filter(|_| !is_no_proc).map(|state| state.context);
    let error_target = context.map_or_else(|| error_target(MPI_COMM_WORLD), error_target_in);
    if context.is_none() && !is_no_proc {
        return Err((
            error_target,
            Error::Request {
                handle: (*message).value(),
            },
        ));
    }
    // SAFETY: guaranteed by the caller.
    let data: TypedBuffer = unsafe { args::buffer(buf, count, datatype) }.map_err(|error| (error_target, error))?;
    let bytes = data.span().len();
    if u32::try_from(bytes).is_err() {
        return Err((error_target, Error::TooLong { bytes }));
    }
    *message = Handle::new(MPI_MESSAGE_NULL);
    if is_no_proc {
        return Ok(RECEIVED_FROM_PROC_NULL);
    }
    env.start_receive_matched(function, id, data.span());
    data.keep();
    Ok(handle_of(id))
}

#[inline(always)]
pub unsafe fn MPI_Imrecv(
    buf: *mut c_void,
    count: isize,
    datatype: c_int,
    message: *mut Handle,
    request: *mut Handle,
) -> c_int {
    let name = "MPI_Imrecv";
    let of_world = |error| (error_target(MPI_COMM_WORLD), error);
    let result = env().map_err(of_world).and_then(|env| {
        // SAFETY: the standard's requirements on `message`, `request` and `buf` (section 3.8.3).
        unsafe {
            let message = args::out(message, "message").map_err(of_world)?;
            let request = args::out(request, "request").map_err(of_world)?;
            *request = Handle::new(start(env, name, buf, count, datatype, message)?);
        }
        Ok(())
    });
    match result {
        Ok(()) => MPI_SUCCESS,
        Err((error_target, error)) => end_under(name, error_target, Err(error)),
    }
}

#[inline(always)]
pub unsafe fn MPI_Mrecv(
    buf: *mut c_void,
    count: isize,
    datatype: c_int,
    message: *mut Handle,
    status: *mut MPI_Status,
) -> c_int {
    let name = "MPI_Mrecv";
    let of_world = |error| (error_target(MPI_COMM_WORLD), error);
    let started = env().map_err(of_world).and_then(|env| {
        // SAFETY: the standard's requirements on `message` and `status`, and about `buf` until the call returns.
        unsafe {
            args::status(status).map_err(of_world)?;
            let message = args::out(message, "message").map_err(of_world)?;
            Ok((env, start(env, name, buf, count, datatype, message)?))
        }
    });
    match started {
        Ok((env, request)) => end_one(name, wait_one(env, name, &mut Handle::new(request)).map(Some), status),
        Err((error_target, error)) => end_under(name, error_target, Err(error)),
    }
}
