//! What a request's handle names: a request of the device, one that was complete from the start, a persistent one, or
//! one of another family; and how it has ended.
//!
//! Requests that are no message, of collectives, in windows and generalized ones, are of a [`Family`], which is entered when the
//! first of them is made: a program without any has nothing of it.
//!
//! A persistent request (section 3.9) is the call's arguments, checked, and the handle of the request that it is
//! at the moment, if it has been started. It keeps its communicator.

use core::ffi::c_int;

use spin::Mutex;

use super::args::{Receive, Send};
use super::comm_objects::{self, Blame};
use super::comm_table;
use super::datatypes;
use super::handles::{Kind, Table};
use super::hook::Hook;
use super::report::code;
use super::types::MPI_Status;
use super::types::constants::MPI_REQUEST_NULL;
use midplane_device::envelope::Context;
use midplane_device::interface::{Completion, Device, Release, RequestState, TestResult};
use midplane_device::kernel::CallNote;
use midplane_device::request::{Mode, Outcome, RequestId, Whole};
use midplane_objects::comm::{Group, Status};
use midplane_objects::error::{Class, Error, Limited};
use midplane_objects::process::Env;

/// The request of a send to MPI_PROC_NULL, or of a buffered one: complete from the start.
pub(super) const SEND_COMPLETE: c_int = 0x2c00_0001;
/// The request of a receive from MPI_PROC_NULL: complete from the start.
pub(super) const RECEIVED_FROM_PROC_NULL: c_int = 0x2c00_0002;

/// A request's handle: the complement of its name, so that it is negative and never MPI_REQUEST_NULL.
pub(super) fn handle_of(id: RequestId) -> c_int {
    !id.0 as c_int
}

/// The handle of a message's request that was started on a communicator which may be freed.
pub(super) fn started(context: Context, id: RequestId) -> c_int {
    comm_objects::request_started(context);
    handle_of(id)
}

/// Requests that are no messages, and what is to be done with them.
pub(super) trait Family: Sync {
    /// `handle` names a request. Called with the device or outside of it.
    fn has(&self, handle: c_int) -> bool;

    /// How the request that `handle` names has ended; `None`: it has not. Called with the device or outside of it.
    fn ended(&self, handle: c_int) -> Option<Completed>;

    /// The program has been told that the request has ended; its handle names nothing any more. Called with the device
    /// or outside of it.
    fn forget(&self, handle: c_int);

    /// Calls the functions of the program's own that tell how a request has ended which is [`Rest::Concluding`], and
    /// frees it if the program is `done` with it. Called outside of the device. A family without such functions has
    /// nothing to add.
    fn conclude(&self, handle: c_int, done: bool) -> Completed {
        let _ = done;
        let ended = self.ended(handle);
        ended.unwrap_or_else(|| with_status(MPI_Status::EMPTY))
    }

    /// MPI_Request_free. Called outside of the device.
    fn free(&self, handle: c_int) -> Result<(), Error>;

    /// MPI_Cancel. Called outside of the device.
    fn cancel(&self, handle: c_int) -> Result<(), Error>;
}

/// Bits of a handle below those that tell its family.
const FAMILY_SHIFT: u32 = 28;
/// The handles of collectives.
pub(super) const COLLECTIVES: c_int = 0x4000_0000;
/// The handles of generalized requests.
pub(super) const GENERALIZED: c_int = 0x5000_0000;
/// The handles of what goes on in windows.
pub(super) const ONE_SIDED: c_int = 0x6000_0000;

/// The families that this program has, each behind the one before.
static FAMILIES: NextFamily = NextFamily::new();

type NextFamily = spin::Once<&'static Entry>;

/// A family, and where the next one goes. Its variable has a section of its own: the compiler joins those that have none,
/// and the linker takes what is joined with all that it names, or leaves it out.
pub(super) struct Entry {
    /// One of its handles.
    handle: c_int,
    family: &'static dyn Family,
    next: NextFamily,
}

impl Entry {
    /// The family of these handles.
    pub const fn new(handles: c_int, family: &'static dyn Family) -> Entry {
        Entry {
            handle: handles,
            family,
            next: NextFamily::new(),
        }
    }
}

/// Enters a family, if it has not been.
pub(super) fn enter_family(entry: &'static Entry) {
    let mut place = &FAMILIES;
    loop {
        let there = *place.call_once(|| entry);
        if core::ptr::eq(there, entry) {
            return;
        }
        place = &there.next;
    }
}

#[cold]
fn family_of(handle: c_int) -> Result<Named, Error> {
    let mut place = &FAMILIES;
    while let Some(entry) = place.get() {
        let is_of = (entry.handle ^ handle) >> FAMILY_SHIFT == 0;
        if is_of && entry.family.has(handle) {
            return Ok(Named::Other(entry.family));
        }
        place = &entry.next;
    }
    Err(Error::Request { handle })
}

/// What a handle names.
#[derive(Clone, Copy)]
pub(super) enum Named {
    /// Nothing that is under way: MPI_REQUEST_NULL, or a persistent request that has not been started.
    Inactive,
    /// A request that was complete from the start, with this status.
    Complete(MPI_Status),
    /// A request of the device.
    Live(RequestId),
    /// A request of this family.
    Other(&'static dyn Family),
}

/// What the handle names. Whether the device has a request of its name is for the device to say. Fails with
/// [`Error::Request`].
pub(super) fn named(handle: c_int) -> Result<Named, Error> {
    match active(handle).unwrap_or(handle) {
        MPI_REQUEST_NULL => Ok(Named::Inactive),
        SEND_COMPLETE => Ok(Named::Complete(MPI_Status::NO_RECEIVE)),
        RECEIVED_FROM_PROC_NULL => Ok(Named::Complete(MPI_Status::PROC_NULL)),
        active if active < 0 => Ok(Named::Live(RequestId(!active as u32))),
        _ => family_of(handle),
    }
}

/// A request that has completed: its status, and what else there is to it.
pub(super) struct Completed {
    pub status: MPI_Status,
    pub rest: Option<Rest>,
}

/// What there is to a completed request beside its status.
pub(super) enum Rest {
    /// Its error, with its communicator's error handler.
    Failed(Blame, Error),
    /// A generalized request's, which functions of the program's own will tell: see [`Completed::concluded`].
    Concluding(&'static dyn Family),
}

impl Completed {
    /// The status as calls that complete several requests give it, MPI_ERROR included.
    pub fn full_status(&self) -> MPI_Status {
        let error = match &self.rest {
            Some(Rest::Failed(_, error)) => error.code(),
            _ => code(Class::Success),
        };
        MPI_Status {
            MPI_ERROR: error,
            ..self.status
        }
    }

    /// The request is over, and its communicator may be gone with it: it stays until the error handler has been called.
    #[inline]
    fn keep_blamed(&mut self) {
        if let Some(Rest::Failed(blame, _)) = &mut self.rest {
            comm_objects::keep_blamed(blame);
        }
    }

    /// The program's functions are still to be called, outside of the device; until then the handle stays.
    pub fn is_concluding(&self) -> bool {
        matches!(self.rest, Some(Rest::Concluding(_)))
    }

    /// What has completed in the end, and its handle is reset. Called outside of the device.
    #[inline]
    pub fn concluded(self, handle: &mut c_int) -> Completed {
        match self.rest {
            Some(Rest::Concluding(family)) => conclude(family, handle),
            _ => self,
        }
    }
}

#[cold]
fn conclude(family: &dyn Family, handle: &mut c_int) -> Completed {
    let completed = family.conclude(*handle, true);
    *handle = MPI_REQUEST_NULL;
    completed
}

/// Concludes the request of this handle if that is still to be done. Called outside of the device.
pub(super) fn conclude_if_due(handle: &mut c_int) -> Option<Completed> {
    let Ok(Named::Other(family)) = family_of(*handle) else {
        return None;
    };
    let is_due = family.ended(*handle)?.is_concluding();
    is_due.then(|| conclude(family, handle))
}

/// The request of this handle is over: a persistent one is inactive again, of others the handle is reset.
pub(super) fn reset(handle: &mut c_int) {
    if !deactivate(*handle) {
        *handle = MPI_REQUEST_NULL;
    }
}

/// If the request that `handle` names is complete, frees it and resets the handle; within a call of `function` after a step
/// of progress. What is inactive is complete, with the empty status. One that is [`Completed::is_concluding`] is left as it
/// is. Does not block.
pub(super) fn try_complete(
    env: &dyn Env,
    function: Option<&'static str>,
    handle: &mut c_int,
) -> Result<Option<Completed>, Error> {
    let named = named(*handle)?;
    if let Named::Live(id) = named {
        return match env.test(function, id) {
            TestResult::Unknown => Err(Error::Request { handle: *handle }),
            TestResult::Pending => Ok(None),
            TestResult::Complete(ended) => Ok(Some(completed_with(&ended, handle))),
        };
    }
    if let Some(function) = function {
        env.advance(CallNote::of(function), None);
    }
    Ok(complete_here(named, handle))
}

/// As [`try_complete`], of what is no request of the device, but `named` so.
pub(super) fn complete_here(named: Named, handle: &mut c_int) -> Option<Completed> {
    let status = match named {
        Named::Complete(status) => status,
        Named::Inactive | Named::Live(_) => MPI_Status::EMPTY,
        Named::Other(family) => {
            let mut ended = family.ended(*handle);
            if let Some(ended) = ended.as_mut().filter(|ended| !ended.is_concluding()) {
                ended.keep_blamed();
                family.forget(*handle);
                reset(handle);
            }
            return ended;
        }
    };
    reset(handle);
    Some(with_status(status))
}

/// The device's request that `handle` names has ended so, and is freed: resets the handle, and tells the communicator.
pub(super) fn completed_with(ended: &Completion, handle: &mut c_int) -> Completed {
    reset(handle);
    match ended {
        Completion::Whole(whole) => {
            let status = whole_status(whole);
            comm_objects::request_completed(whole.context);
            with_status(status)
        }
        Completion::Other(concluded) => {
            let mut completed = completed(concluded.context, &concluded.outcome);
            completed.keep_blamed();
            datatypes::release(concluded.buffer);
            comm_objects::request_completed(concluded.context);
            completed
        }
    }
}

/// The status of a request that has ended with a whole message.
#[inline]
pub(super) fn whole_status(whole: &Whole) -> MPI_Status {
    let source = comm_table::source(whole.context, whole.peer).0;
    MPI_Status::of(&Ok(Status {
        source,
        tag: whole.tag,
        bytes: whole.bytes as usize,
    }))
}

/// Gives a request of the device up, complete or not, and tells its communicator. False: there is none of this name.
pub(super) fn give_up(env: &dyn Env, id: RequestId) -> bool {
    let Some(state) = env.inspect(None, id) else {
        return false;
    };
    let RequestState {
        context, buffer, ..
    } = state;
    if buffer.is_typed() && state.outcome.is_none() {
        // The buffer's loan stays until the request has finished.
        datatypes::give_up(buffer, id);
        env.release(id, Release::Handle);
    } else {
        env.release(id, Release::Request);
        datatypes::release(buffer);
    }
    comm_objects::request_completed(context);
    true
}

/// How the request that `handle` names has ended, if it has, within a call of `function` after a step of progress; leaves
/// everything as it is.
pub(super) fn peek(
    env: &dyn Env,
    function: &'static str,
    handle: c_int,
) -> Result<Option<Completed>, Error> {
    let named = named(handle)?;
    if let Named::Live(id) = named {
        let state = env.inspect(Some(function), id);
        let state = state.ok_or(Error::Request { handle })?;
        let ended = state.outcome.as_ref();
        return Ok(ended.map(|outcome| completed(state.context, outcome)));
    }
    env.advance(CallNote::of(function), None);
    Ok(match named {
        Named::Complete(status) => Some(with_status(status)),
        Named::Inactive | Named::Live(_) => Some(with_status(MPI_Status::EMPTY)),
        Named::Other(family) => family.ended(handle),
    })
}

/// A request that has completed without an error.
pub(super) fn with_status(status: MPI_Status) -> Completed {
    Completed { status, rest: None }
}

/// How a request of this context has ended, as the program is told.
#[inline]
fn completed(context: Context, outcome: &Outcome) -> Completed {
    let mut completed = with_status(MPI_Status::NO_RECEIVE);
    if outcome.cancelled {
        completed.status.midplane_cancelled = 1;
        return completed;
    }
    let source = comm_table::source(context, outcome.source).0;
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
        completed.rest = Some(Rest::Failed(comm_objects::blame_in(context), error));
    }
    completed
}

const KIND: Kind = Kind {
    name: Limited::PersistentRequests,
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
    pub partners: Group<'static>,
    /// The handle of the request under way, or MPI_REQUEST_NULL.
    pub active: c_int,
}

/// No call holds the lock while it waits, and interrupts do not come here.
static TABLE: Mutex<Table<Object>> = Mutex::new(Table::new(KIND));

/// What the request is that a persistent one of this handle is at the moment, from the first persistent request on: a
/// program that makes none has nothing of them in its image. The request is over then, if that is said.
static ACTIVE: Hook<Active> = Hook::new();

type Active = fn(c_int, bool) -> Option<c_int>;

/// Enters a persistent request; its handle. Fails with [`Error::Limit`] or [`Error::NoRoom`].
pub(super) fn enter_persistent(object: Object) -> Result<c_int, Error> {
    ACTIVE.set(|handle, is_over| {
        with_object(handle, |object| match is_over {
            true => core::mem::replace(&mut object.active, MPI_REQUEST_NULL),
            false => object.active,
        })
    });
    TABLE.lock().add(object)
}

/// Runs `f` on the persistent request that `handle` names, if it names one.
pub(super) fn with_object<R>(handle: c_int, f: impl FnOnce(&mut Object) -> R) -> Option<R> {
    TABLE.lock().get_mut(handle).map(f)
}

fn look_at_active(handle: c_int, is_over: bool) -> Option<c_int> {
    // Most handles are of other requests, which need no look at the table.
    if handle & !((1 << (KIND.place_bits + KIND.generation_bits)) - 1) != KIND.tag {
        return None;
    }
    let active = ACTIVE.get();
    active.and_then(|active| active(handle, is_over))
}

/// The handle of the request that a persistent one is at the moment; `None` when `handle` names no
/// persistent request.
pub(super) fn active(handle: c_int) -> Option<c_int> {
    look_at_active(handle, false)
}

/// What was started has completed; false when `handle` names no persistent request.
pub(super) fn deactivate(handle: c_int) -> bool {
    look_at_active(handle, true).is_some()
}

/// Frees the persistent request, if `handle` names one.
pub(super) fn free_persistent(handle: c_int) {
    let freed = TABLE.lock().remove(handle);
    if let Some(Object { partners, .. }) = freed {
        comm_objects::end_hold(partners.context);
    }
}
