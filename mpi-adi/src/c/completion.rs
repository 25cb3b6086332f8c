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
use super::constants::{MPI_COMM_WORLD, MPI_REQUEST_NULL};
use super::{Blame, MPI_Status, code, communicators, end, end_under, env, on_process, persistent};
use crate::Adi;
use crate::device::envelope::Context;
use crate::device::kernel::CallNote;
use crate::device::request::RequestId;
use crate::mpi::call::{block_on, look};
use crate::mpi::error::{Class, Error};
use crate::mpi::process::Env;

/// The request of a send to MPI_PROC_NULL, or of a buffered one: complete from the start.
pub(super) const SEND_COMPLETE: c_int = 0x2c00_0001;
/// The request of a receive from MPI_PROC_NULL: complete from the start.
pub(super) const RECEIVED_FROM_PROC_NULL: c_int = 0x2c00_0002;

/// A request's handle: the complement of its name, so that it is negative and never MPI_REQUEST_NULL.
fn handle(id: RequestId) -> c_int {
    !id.0 as c_int
}

/// The handle of a request that was started on `comm`.
pub(super) fn started(comm: c_int, id: RequestId) -> c_int {
    communicators::request_started(comm);
    handle(id)
}

/// As [`started`], by the communicator's context.
pub(super) fn started_in(context: Context, id: RequestId) -> c_int {
    communicators::request_started_in(context);
    handle(id)
}

/// What a handle names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Named {
    /// Nothing that is under way: MPI_REQUEST_NULL, or a persistent request that has not been started.
    Inactive,
    /// A request that was complete from the start, with this status.
    Complete(MPI_Status),
    /// A request of the device.
    Live(RequestId),
}

pub(super) fn named(adi: &Adi, handle: c_int) -> Result<Named, Error> {
    match persistent::active(handle).unwrap_or(handle) {
        MPI_REQUEST_NULL => Ok(Named::Inactive),
        SEND_COMPLETE => Ok(Named::Complete(MPI_Status::EMPTY)),
        RECEIVED_FROM_PROC_NULL => Ok(Named::Complete(MPI_Status::PROC_NULL)),
        active => {
            let id = RequestId(!active as u32);
            if active < 0 && adi.knows(id) {
                Ok(Named::Live(id))
            } else {
                Err(Error::Request { handle })
            }
        }
    }
}

/// A request that has completed: its status, and its error with its communicator's error handler.
pub(super) struct Completed {
    pub status: MPI_Status,
    pub error: Option<(Blame, Error)>,
}

impl Completed {
    /// The status as calls that complete several requests give it, MPI_ERROR included.
    pub fn full_status(&self) -> MPI_Status {
        let error = self
            .error
            .as_ref()
            .map_or(Class::Success, |(_, error)| error.class());
        MPI_Status {
            MPI_ERROR: code(error),
            ..self.status
        }
    }
}

/// The request of this handle is over: a persistent one is inactive again, of others the handle is reset.
fn reset(handle: &mut c_int) {
    if !persistent::deactivate(*handle) {
        *handle = MPI_REQUEST_NULL;
    }
}

/// If the request that `handle` names is complete, frees it and resets the handle. What is inactive is
/// complete, with the empty status.
pub(super) fn try_complete(adi: &mut Adi, handle: &mut c_int) -> Result<Option<Completed>, Error> {
    let completed = peek(adi, *handle)?;
    if completed.is_some() {
        if let Named::Live(id) = named(adi, *handle)? {
            forget(adi, id);
        }
        reset(handle);
    }
    Ok(completed)
}

/// Gives a request up, finished or not, and tells its communicator.
fn forget(adi: &mut Adi, id: RequestId) {
    let context = adi.requests().get(id).map_or(0, |request| request.context);
    adi.forget(id);
    communicators::request_completed(context);
}

/// How the request that `handle` names has ended, if it has; leaves everything as it is.
fn peek(adi: &Adi, handle: c_int) -> Result<Option<Completed>, Error> {
    let id = match named(adi, handle)? {
        Named::Inactive => {
            return Ok(Some(Completed {
                status: MPI_Status::EMPTY,
                error: None,
            }));
        }
        Named::Complete(status) => {
            return Ok(Some(Completed {
                status,
                error: None,
            }));
        }
        Named::Live(id) => id,
    };
    let context = adi.requests().get(id).map_or(0, |request| request.context);
    let Some(outcome) = adi.peek(id) else {
        return Ok(None);
    };
    let owner = communicators::owner(context);
    let (source, tag, bytes) = (owner.rank(outcome.source).0, outcome.tag, outcome.bytes);
    let mut status = MPI_Status::EMPTY;
    let mut error = None;
    if outcome.cancelled {
        status.midplane_cancelled = 1;
    } else {
        status.MPI_SOURCE = source as c_int;
        status.MPI_TAG = tag;
        status.midplane_bytes = bytes as core::ffi::c_longlong;
        if outcome.truncated {
            let room = bytes;
            error = Some((owner.blame, Error::Truncated { source, tag, room }));
        }
    }
    Ok(Some(Completed { status, error }))
}

/// The note of a call that waits for the request of this handle.
fn note(env: &dyn Env, function: &'static str, handle: c_int) -> CallNote {
    let mut note = note_of(function);
    env.with(&mut |adi, _| {
        if let Ok(Named::Live(id)) = named(adi, handle)
            && let Some(request) = adi.requests().get(id)
        {
            note.peer = Some(
                request
                    .peer
                    .map_or(super::constants::MPI_ANY_SOURCE, |rank| rank as i32),
            );
            note.tag = Some(request.tag.unwrap_or(super::constants::MPI_ANY_TAG));
        }
    });
    note
}

/// The note of a call that names no peer.
pub(super) const fn note_of(function: &'static str) -> CallNote {
    CallNote {
        function,
        peer: None,
        tag: None,
    }
}

pub(super) fn wait_one(
    env: &dyn Env,
    function: &'static str,
    handle: &mut c_int,
) -> Result<Completed, Error> {
    block_on(env, note(env, function, *handle), |adi, _| {
        try_complete(adi, handle).transpose()
    })
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
        status.set(completed.status);
    }
    match completed.error {
        Some((blame, error)) => end_under(function, blame, Err(error)),
        None => end(function, MPI_COMM_WORLD, Ok(())),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Wait(request: *mut c_int, status: *mut MPI_Status) -> c_int {
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

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Test(
    request: *mut c_int,
    flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    let result = env().and_then(|env| {
        // SAFETY: the standard's promise about all three.
        let (request, flag) = unsafe {
            args::status(status)?;
            (args::out(request, "request")?, args::out(flag, "flag")?)
        };
        let completed = look(env, note_of("MPI_Test"), |adi, _| {
            try_complete(adi, request)
        })?;
        *flag = completed.is_some().into();
        Ok(completed)
    });
    end_one("MPI_Test", result, status)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Request_get_status(
    request: c_int,
    flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    on_process("MPI_Request_get_status", |env| {
        // SAFETY: the standard's promise about `flag` and `status`.
        let (flag, status) = unsafe { (args::out(flag, "flag")?, args::status(status)?) };
        let completed = look(env, note_of("MPI_Request_get_status"), |adi, _| {
            peek(adi, request)
        })?;
        *flag = completed.is_some().into();
        if let (Some(completed), Some(status)) = (completed, status) {
            status.set(completed.status);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Request_free(request: *mut c_int) -> c_int {
    on_process("MPI_Request_free", |env| {
        // SAFETY: the standard's promise about `request`.
        let request = unsafe { args::out(request, "request") }?;
        let mut result = Ok(());
        env.with(&mut |adi, _| {
            result = match named(adi, *request) {
                // It goes on, and is freed when it has finished (section 3.7.3).
                Ok(Named::Live(id)) => {
                    forget(adi, id);
                    Ok(())
                }
                Ok(Named::Inactive) if *request == MPI_REQUEST_NULL => Err(Error::Request {
                    handle: MPI_REQUEST_NULL,
                }),
                Ok(_) => Ok(()),
                Err(error) => Err(error),
            };
        });
        result?;
        persistent::free(*request);
        *request = MPI_REQUEST_NULL;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Cancel(request: *mut c_int) -> c_int {
    on_process("MPI_Cancel", |env| {
        // SAFETY: the standard's promise about `request`.
        let handle = *unsafe { args::out(request, "request") }?;
        look(env, note_of("MPI_Cancel"), |adi, _| {
            match named(adi, handle)? {
                Named::Live(id) => {
                    adi.cancel(id);
                    Ok(())
                }
                Named::Complete(_) => Ok(()),
                Named::Inactive => Err(Error::Request { handle }),
            }
        })
    })
}
