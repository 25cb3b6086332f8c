//! What a request's handle names: a request of the device, one that was complete from the start, or a persistent
//! one; and how it has ended.
//!
//! A persistent request (section 3.9) is the call's arguments, checked, and the handle of the request that it is
//! at the moment, if it has been started. It keeps its communicator.

use core::ffi::c_int;

use spin::Mutex;

use super::args::{Receive, Send};
use super::comm_objects::{self, Blame};
use super::datatypes;
use super::handles::{Kind, Table};
use super::report::code;
use super::types::MPI_Status;
use super::types::constants::MPI_REQUEST_NULL;
use crate::Adi;
use crate::device::envelope::Context;
use crate::device::kernel::CallNote;
use crate::device::memory::Span;
use crate::device::request::{Data, Mode, Request, RequestId};
use crate::mpi::comm::Membership;
use crate::mpi::error::{Class, Error};

/// The request of a send to MPI_PROC_NULL, or of a buffered one: complete from the start.
pub(super) const SEND_COMPLETE: c_int = 0x2c00_0001;
/// The request of a receive from MPI_PROC_NULL: complete from the start.
pub(super) const RECEIVED_FROM_PROC_NULL: c_int = 0x2c00_0002;

/// A request's handle: the complement of its name, so that it is negative and never MPI_REQUEST_NULL.
pub(super) fn handle_of(id: RequestId) -> c_int {
    !id.0 as c_int
}

/// The handle of a request that was started on `comm`.
pub(super) fn started(comm: c_int, id: RequestId) -> c_int {
    comm_objects::request_started(comm);
    handle_of(id)
}

/// As [`started`], by the communicator's context.
pub(super) fn started_in(context: Context, id: RequestId) -> c_int {
    comm_objects::request_started_in(context);
    handle_of(id)
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
    match active(handle).unwrap_or(handle) {
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
pub(super) fn reset(handle: &mut c_int) {
    if !deactivate(*handle) {
        *handle = MPI_REQUEST_NULL;
    }
}

/// If the request that `handle` names is complete, frees it and resets the handle. What is inactive is
/// complete, with the empty status.
#[inline]
pub(super) fn try_complete(adi: &mut Adi, handle: &mut c_int) -> Result<Option<Completed>, Error> {
    let completed = match named(adi, *handle)? {
        Named::Inactive => with_status(MPI_Status::EMPTY),
        Named::Complete(status) => with_status(status),
        Named::Live(id) => {
            let Some((_, completed)) = ended(adi, id) else {
                return Ok(None);
            };
            forget(adi, id);
            completed
        }
    };
    reset(handle);
    Ok(Some(completed))
}

/// The context of a request, and the program's buffer.
fn context_and_span(adi: &Adi, id: RequestId) -> (Context, Span) {
    let span = |request: &Request| match request {
        Request::Receive(receive) => receive.span,
        Request::Send(send) => match send.data {
            Data::User(span) => span,
            Data::Bcopy(_) => Span::EMPTY,
        },
    };
    adi.requests().get(id).map_or((0, Span::EMPTY), |request| {
        (request.pattern().context(), span(&request))
    })
}

/// Frees a request that is complete, and tells its communicator.
pub(super) fn forget(adi: &mut Adi, id: RequestId) {
    let (context, span) = context_and_span(adi, id);
    adi.forget(id);
    datatypes::release(span);
    comm_objects::request_completed(context);
}

/// Gives a request up, complete or not, and tells its communicator.
pub(super) fn give_up(adi: &mut Adi, id: RequestId) {
    let (context, span) = context_and_span(adi, id);
    if !span.is_typed() || adi.is_done(id) {
        return forget(adi, id);
    }
    // What its loan is held for goes on.
    datatypes::give_up(span, id);
    comm_objects::request_completed(context);
}

/// How the request that `handle` names has ended, if it has; leaves everything as it is.
pub(super) fn peek(adi: &Adi, handle: c_int) -> Result<Option<Completed>, Error> {
    Ok(match named(adi, handle)? {
        Named::Inactive => Some(with_status(MPI_Status::EMPTY)),
        Named::Complete(status) => Some(with_status(status)),
        Named::Live(id) => ended(adi, id).map(|(_, completed)| completed),
    })
}

fn with_status(status: MPI_Status) -> Completed {
    Completed {
        status,
        error: None,
    }
}

/// How the request that `id` names has ended, and in which context; `None`: it has not.
#[inline]
fn ended(adi: &Adi, id: RequestId) -> Option<(Context, Completed)> {
    let (context, outcome) = adi.peek_in_context(id)?;
    let mut completed = with_status(MPI_Status::EMPTY);
    if outcome.cancelled {
        completed.status.midplane_cancelled = 1;
        return Some((context, completed));
    }
    let source = comm_objects::membership_in(context)
        .in_group(outcome.source)
        .0;
    let (tag, bytes) = (outcome.tag, outcome.bytes);
    completed.status.MPI_SOURCE = source as c_int;
    completed.status.MPI_TAG = tag;
    completed.status.midplane_bytes = bytes as core::ffi::c_longlong;
    if outcome.truncated {
        let error = Error::Truncated {
            source,
            tag,
            room: bytes,
        };
        completed.error = Some((comm_objects::blame_in(context), error));
    }
    Some((context, completed))
}

/// The note of a call that names no peer.
pub(super) const fn note_of(function: &'static str) -> CallNote {
    CallNote {
        function,
        peer: None,
        tag: None,
    }
}

const KIND: Kind = Kind {
    name: "persistent requests",
    tag: 0x3000_0000,
    place_bits: 16,
    generation_bits: 12,
    limit: 1 << 16,
};

/// What is to be started.
#[derive(Clone)]
pub(super) enum Call {
    Send(Send, Mode),
    Buffered(Send),
    Receive(Receive),
}

/// A persistent request.
#[derive(Clone)]
pub(super) struct Object {
    pub call: Call,
    pub membership: Membership<'static>,
    /// The handle of the request under way, or MPI_REQUEST_NULL.
    pub active: c_int,
}

/// No call holds the lock while it waits, and interrupts do not come here.
pub(super) static TABLE: Mutex<Table<Object>> = Mutex::new(Table::new(KIND));

/// Runs `f` on the persistent request that `handle` names, if it names one.
pub(super) fn with_object<R>(handle: c_int, f: impl FnOnce(&mut Object) -> R) -> Option<R> {
    // Most handles are of other requests, which need no look at the table.
    if handle & !((1 << (KIND.place_bits + KIND.generation_bits)) - 1) != KIND.tag {
        return None;
    }
    TABLE.lock().get_mut(handle).map(f)
}

/// The handle of the request that a persistent one is at the moment; `None` when `handle` names no
/// persistent request.
pub(super) fn active(handle: c_int) -> Option<c_int> {
    with_object(handle, |object| object.active)
}

/// What was started has completed; false when `handle` names no persistent request.
pub(super) fn deactivate(handle: c_int) -> bool {
    with_object(handle, |object| object.active = MPI_REQUEST_NULL).is_some()
}

/// Frees the persistent request, if `handle` names one.
pub(super) fn free_persistent(handle: c_int) {
    let freed = TABLE.lock().remove(handle);
    if let Some(Object { membership, .. }) = freed {
        comm_objects::request_completed(membership.context);
    }
}
