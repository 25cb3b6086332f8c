//! Sections 3.7.3 to 3.7.6 and 3.8.4: waiting and testing, freeing, cancelling.
// The functions are documented by the standard and in `mpi.h`, their safety in the module above.
#![allow(
    missing_docs,
    non_snake_case,
    clippy::missing_safety_doc,
    clippy::too_many_arguments
)]

use core::ffi::c_int;

use super::args;
use super::constants::{MPI_COMM_WORLD, MPI_REQUEST_NULL, MPI_UNDEFINED};
use super::{Blame, MPI_Status, code, communicators, end, end_under, env, on_process, persistent};
use crate::Adi;
use crate::device::envelope::Context;
use crate::device::kernel::{CallNote, Env};
use crate::device::request::{Request, RequestId};
use crate::mpi::call::block_on;
use crate::mpi::error::{Class, Error};

/// The request of a send to MPI_PROC_NULL, or of a buffered one: complete from the start.
pub(super) const SENT_TO_NOBODY: c_int = 0x2c00_0001;
/// The request of a receive from MPI_PROC_NULL: complete from the start.
pub(super) const RECEIVED_FROM_NOBODY: c_int = 0x2c00_0002;

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
        SENT_TO_NOBODY => Ok(Named::Complete(MPI_Status::EMPTY)),
        RECEIVED_FROM_NOBODY => Ok(Named::Complete(MPI_Status::NOBODY)),
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
struct Completed {
    status: MPI_Status,
    error: Option<(Blame, Error)>,
}

impl Completed {
    /// The status as calls that complete several requests give it, MPI_ERROR included.
    fn full_status(&self) -> MPI_Status {
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
fn try_complete(adi: &mut Adi, handle: &mut c_int) -> Result<Option<Completed>, Error> {
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
    let context = adi
        .requests()
        .get(id)
        .map_or(0, |request| request.pattern().context);
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
    let context = adi
        .requests()
        .get(id)
        .map_or(0, |request| request.pattern().context);
    let Some(outcome) = adi.peek(id) else {
        return Ok(None);
    };
    let home = communicators::home(context);
    let (source, tag, bytes) = (home.rank(outcome.source), outcome.tag, outcome.bytes);
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
            error = Some((home.blame, Error::Truncated { source, tag, room }));
        }
    }
    Ok(Some(Completed { status, error }))
}

/// The note of a call that waits for the request of this handle.
fn note(env: &dyn Env, function: &'static str, handle: c_int) -> CallNote {
    let mut note = CallNote {
        function,
        peer: None,
        tag: None,
    };
    env.with(&mut |adi, _| {
        if let Ok(Named::Live(id)) = named(adi, handle)
            && let Some(pattern) = adi.requests().get(id).map(Request::pattern)
        {
            note.peer = Some(
                pattern
                    .source
                    .map_or(super::constants::MPI_ANY_SOURCE, |rank| rank as i32),
            );
            note.tag = Some(pattern.tag.unwrap_or(super::constants::MPI_ANY_TAG));
        }
    });
    note
}

/// One step of progress, then `look` at the device.
fn look<R>(
    env: &dyn Env,
    function: &'static str,
    mut look: impl FnMut(&mut Adi) -> Result<R, Error>,
) -> Result<R, Error> {
    let mut result = None;
    env.with(&mut |adi, kernel| {
        kernel.note(Some(CallNote {
            function,
            peer: None,
            tag: None,
        }));
        kernel.poll(adi);
        result = Some(look(adi));
        kernel.note(None);
    });
    result.expect("Env::with runs its function")
}

fn wait_one(env: &dyn Env, function: &'static str, handle: &mut c_int) -> Result<Completed, Error> {
    block_on(env, note(env, function, *handle), |adi, _| {
        try_complete(adi, handle).transpose()
    })
}

/// Ends a call that completed one request.
fn end_one(
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
        let completed = look(env, "MPI_Test", |adi| try_complete(adi, request))?;
        *flag = completed.is_some().into();
        Ok(completed)
    });
    end_one("MPI_Test", result, status)
}

/// Gathers what a call that completes several requests has to say.
#[derive(Default)]
struct Several {
    failed: usize,
    first: Option<(Blame, Class)>,
}

impl Several {
    fn add(&mut self, completed: &Completed, place: Option<&mut MPI_Status>) {
        if let Some(place) = place {
            *place = completed.full_status();
        }
        if let Some((blame, error)) = &completed.error {
            self.failed += 1;
            self.first.get_or_insert((*blame, error.class()));
        }
    }

    fn end(self, function: &'static str) -> c_int {
        match self.first {
            Some((blame, first)) => end_under(
                function,
                blame,
                Err(Error::InStatus {
                    failed: self.failed,
                    first,
                }),
            ),
            None => end(function, MPI_COMM_WORLD, Ok(())),
        }
    }
}

fn end_several(function: &'static str, result: Result<Several, Error>) -> c_int {
    match result {
        Ok(several) => several.end(function),
        Err(error) => end(function, MPI_COMM_WORLD, Err(error)),
    }
}

/// The arrays of a call on several requests.
///
/// # Safety
/// As for [`args::array_mut`] and [`args::statuses`].
unsafe fn arrays<'a>(
    count: c_int,
    requests: *mut c_int,
    statuses: *mut MPI_Status,
) -> Result<(&'a mut [c_int], Option<&'a mut [MPI_Status]>), Error> {
    let count = args::count(count)?;
    // SAFETY: the caller's promise.
    unsafe {
        Ok((
            args::array_mut(requests, count, "array_of_requests")?,
            args::statuses(statuses, count)?,
        ))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Waitall(
    count: c_int,
    requests: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    end_several("MPI_Waitall", {
        env().and_then(|env| {
            // SAFETY: the standard's promise about the arrays.
            let (requests, mut statuses) = unsafe { arrays(count, requests, statuses) }?;
            let mut several = Several::default();
            for (i, request) in requests.iter_mut().enumerate() {
                let completed = wait_one(env, "MPI_Waitall", request)?;
                several.add(
                    &completed,
                    statuses.as_mut().map(|statuses| &mut statuses[i]),
                );
            }
            Ok(several)
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Testall(
    count: c_int,
    requests: *mut c_int,
    flag: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    end_several("MPI_Testall", {
        env().and_then(|env| {
            // SAFETY: the standard's promise about the arrays and `flag`.
            let ((requests, mut statuses), flag) =
                unsafe { (arrays(count, requests, statuses)?, args::out(flag, "flag")?) };
            let mut several = Several::default();
            *flag = 0;
            look(env, "MPI_Testall", |adi| {
                // All or nothing: the requests stay until every one of them is complete.
                for request in requests.iter() {
                    if let Named::Live(id) = named(adi, *request)?
                        && !adi.is_done(id)
                    {
                        return Ok(());
                    }
                }
                for (i, request) in requests.iter_mut().enumerate() {
                    if let Some(completed) = try_complete(adi, request)? {
                        several.add(
                            &completed,
                            statuses.as_mut().map(|statuses| &mut statuses[i]),
                        );
                    }
                }
                *flag = 1;
                Ok(())
            })?;
            Ok(several)
        })
    })
}

/// What a look at a list of requests for one that is complete has found.
enum Any {
    /// Nothing but inactive requests.
    Inactive,
    /// The request at this place.
    At(usize, Completed),
}

/// `None`: some are active, none is complete.
fn complete_any(adi: &mut Adi, requests: &mut [c_int]) -> Result<Option<Any>, Error> {
    let mut active = false;
    for (i, request) in requests.iter_mut().enumerate() {
        if named(adi, *request)? == Named::Inactive {
            continue;
        }
        active = true;
        if let Some(completed) = try_complete(adi, request)? {
            return Ok(Some(Any::At(i, completed)));
        }
    }
    Ok(if active { None } else { Some(Any::Inactive) })
}

/// Splits what was found into the index for the program and the completed request.
fn index_of(any: Any) -> (c_int, Completed) {
    match any {
        Any::Inactive => (
            MPI_UNDEFINED,
            Completed {
                status: MPI_Status::EMPTY,
                error: None,
            },
        ),
        Any::At(i, completed) => (i as c_int, completed),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Waitany(
    count: c_int,
    requests: *mut c_int,
    index: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    let result = env().and_then(|env| {
        let count = args::count(count)?;
        // SAFETY: the standard's promise about the array, `index` and `status`.
        let (requests, index) = unsafe {
            args::status(status)?;
            (
                args::array_mut(requests, count, "array_of_requests")?,
                args::out(index, "index")?,
            )
        };
        let note = CallNote {
            function: "MPI_Waitany",
            peer: None,
            tag: None,
        };
        let any = block_on(env, note, |adi, _| complete_any(adi, requests).transpose())?;
        let (place, completed) = index_of(any);
        *index = place;
        Ok(Some(completed))
    });
    end_one("MPI_Waitany", result, status)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Testany(
    count: c_int,
    requests: *mut c_int,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    let result = env().and_then(|env| {
        let count = args::count(count)?;
        // SAFETY: the standard's promise about the array, `index`, `flag` and `status`.
        let (requests, index, flag) = unsafe {
            args::status(status)?;
            (
                args::array_mut(requests, count, "array_of_requests")?,
                args::out(index, "index")?,
                args::out(flag, "flag")?,
            )
        };
        let any = look(env, "MPI_Testany", |adi| complete_any(adi, requests))?;
        *flag = any.is_some().into();
        *index = MPI_UNDEFINED;
        Ok(any.map(|any| {
            let (place, completed) = index_of(any);
            *index = place;
            completed
        }))
    });
    end_one("MPI_Testany", result, status)
}

/// Completes all requests that can be; `None`: there are only inactive ones.
fn complete_some(
    adi: &mut Adi,
    requests: &mut [c_int],
    several: &mut Several,
    indices: &mut [c_int],
    statuses: &mut Option<&mut [MPI_Status]>,
) -> Result<Option<usize>, Error> {
    let (mut active, mut done) = (false, 0);
    for (i, request) in requests.iter_mut().enumerate() {
        if named(adi, *request)? == Named::Inactive {
            continue;
        }
        active = true;
        if let Some(completed) = try_complete(adi, request)? {
            indices[done] = i as c_int;
            several.add(
                &completed,
                statuses.as_mut().map(|statuses| &mut statuses[done]),
            );
            done += 1;
        }
    }
    Ok(active.then_some(done))
}

fn outcount(done: Option<usize>) -> c_int {
    done.map_or(MPI_UNDEFINED, |done| done as c_int)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Waitsome(
    incount: c_int,
    requests: *mut c_int,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    end_several("MPI_Waitsome", {
        env().and_then(|env| {
            // SAFETY: the standard's promise about the arrays and `outcount`.
            let ((requests, mut statuses), indices, out) = unsafe {
                (
                    arrays(incount, requests, statuses)?,
                    args::array_mut(indices, args::count(incount)?, "array_of_indices")?,
                    args::out(outcount, "outcount")?,
                )
            };
            let mut several = Several::default();
            let note = CallNote {
                function: "MPI_Waitsome",
                peer: None,
                tag: None,
            };
            let done = block_on(env, note, |adi, _| {
                match complete_some(adi, requests, &mut several, indices, &mut statuses) {
                    Ok(Some(0)) => None,
                    done => Some(done),
                }
            })?;
            *out = self::outcount(done);
            Ok(several)
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Testsome(
    incount: c_int,
    requests: *mut c_int,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    end_several("MPI_Testsome", {
        env().and_then(|env| {
            // SAFETY: the standard's promise about the arrays and `outcount`.
            let ((requests, mut statuses), indices, out) = unsafe {
                (
                    arrays(incount, requests, statuses)?,
                    args::array_mut(indices, args::count(incount)?, "array_of_indices")?,
                    args::out(outcount, "outcount")?,
                )
            };
            let mut several = Several::default();
            let done = look(env, "MPI_Testsome", |adi| {
                complete_some(adi, requests, &mut several, indices, &mut statuses)
            })?;
            *out = self::outcount(done);
            Ok(several)
        })
    })
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
        let completed = look(env, "MPI_Request_get_status", |adi| peek(adi, request))?;
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
        look(env, "MPI_Cancel", |adi| match named(adi, handle)? {
            Named::Live(id) => {
                adi.cancel(id);
                Ok(())
            }
            Named::Complete(_) => Ok(()),
            Named::Inactive => Err(Error::Request { handle }),
        })
    })
}
