//! Request handles and their completion. A handle refers to a request of the device, a request that is complete from
//! the start, a persistent request, or a request of another family.
//!
//! Requests other than messages (collectives, windows, send-receives, generalized requests) belong to a [`RequestFamily`], registered when
//! its first request is created: a program without them does not link it.
//!
//! A persistent request (section 3.9) contains the checked arguments of the call and, if it is active, the handle of
//! the present request. It keeps its communicator.

use core::ffi::c_int;

use spin::Mutex;

use super::args::{ReceiveArgs, SendArgs};
use super::collectives::arguments::PersistentCollective;
use super::comm_objects::{self, ErrorTarget};
use super::comm_table;
use super::datatypes::{self, TryArc};
use super::error_dispatch::code;
use super::handles::{HandleKind, HandleTable};
use super::lazy_callback::LazyCallback;
use super::types::constants::MPI_REQUEST_NULL;
use super::types::{Handle, MPI_Status};
use midplane_device::envelope::Context;
use midplane_device::interface::{Device, ReleaseTarget, RequestCompletion, RequestState, TestResult};
use midplane_device::kernel::CallInfo;
use midplane_device::request::{PlainCompletion, RequestId, RequestOutcome, SendMode};
use midplane_objects::comm::{Group, Status};
use midplane_objects::error::{Error, ErrorClass, LimitedResource};
use midplane_objects::process::Env;

/// Request of a send to MPI_PROC_NULL, or of a buffered send: complete from the start.
pub(super) const SEND_COMPLETE: c_int = 0x2c00_0001;
/// Request of a receive from MPI_PROC_NULL: complete from the start.
pub(super) const RECEIVED_FROM_PROC_NULL: c_int = 0x2c00_0002;

/// Returns the handle of a request: the complement of its ID, negative and so never MPI_REQUEST_NULL.
pub(super) fn handle_of(id: RequestId) -> c_int {
    !id.0 as c_int
}

/// Returns the handle of a message request started on a communicator that may be freed.
pub(super) fn started(context: Context, id: RequestId) -> c_int {
    comm_objects::request_started(context);
    handle_of(id)
}

/// A kind of requests other than messages, and its operations.
pub(super) trait RequestFamily: Sync {
    /// Checks whether `handle` is a request of this family. Called outside the device.
    fn has(&self, handle: c_int) -> bool;

    /// Returns the completion of the request; `None` if it is not complete. Called outside the device.
    fn ended(&self, handle: c_int) -> Option<CompletedRequest>;

    /// Removes a request after its completion was reported; its handle becomes invalid. Called outside the device.
    fn forget(&self, handle: c_int);

    /// Calls the user-defined functions that determine the completion of a [`CompletionData::CallbacksPending`] request, and frees the
    /// request if the program is `done` with it. Called outside the device. A family without such functions uses the
    /// default.
    fn finish_request(&self, handle: c_int, done: bool) -> CompletedRequest {
        let _ = done;
        let ended = self.ended(handle);
        ended.unwrap_or_else(|| with_status(MPI_Status::EMPTY))
    }

    /// Implements MPI_Request_free. Called outside the device.
    fn free(&self, handle: c_int) -> Result<(), Error>;

    /// Implements MPI_Cancel. Called outside the device.
    fn cancel(&self, handle: c_int) -> Result<(), Error>;
}

/// Bits of a handle below its family.
const FAMILY_SHIFT: u32 = 28;
/// Half of a family's handles: those of [`SEND_COMPLETE`] and MPI_REQUEST_NULL are in another one.
pub(super) const FILES: c_int = 0x0800_0000;
pub(super) const FLUSHES: c_int = 0x1000_0000;
pub(super) const PARTITIONED: c_int = 0x2000_0000;
pub(super) const COLLECTIVES: c_int = 0x4000_0000;
pub(super) const GENERALIZED: c_int = 0x5000_0000;
pub(super) const ONE_SIDED: c_int = 0x6000_0000;
pub(super) const COMPOUND: c_int = 0x7000_0000;

/// Families of this program, as a linked list.
static FAMILIES: NextFamily = NextFamily::new();

type NextFamily = spin::Once<&'static FamilyEntry>;

/// A family and a link to the next one. Its variable has a separate section: the compiler merges variables without one,
/// and the linker then keeps or removes them together with all that they reference.
pub(super) struct FamilyEntry {
    handle: c_int,
    family: &'static dyn RequestFamily,
    next: NextFamily,
}

impl FamilyEntry {
    /// Creates the entry of the family with these handles.
    pub const fn new(handles: c_int, family: &'static dyn RequestFamily) -> FamilyEntry {
        FamilyEntry {
            handle: handles,
            family,
            next: NextFamily::new(),
        }
    }
}

/// Registers a family, if it is not registered.
pub(super) fn enter_family(entry: &'static FamilyEntry) {
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
fn family_of(handle: c_int) -> Result<RequestKind, Error> {
    let mut place = &FAMILIES;
    let mut found = Err(Error::Request { handle });
    while let Some(entry) = place.get() {
        let is_of = (entry.handle ^ handle) >> FAMILY_SHIFT == 0;
        // The last one: a family of actions is registered after that of their requests.
        if is_of && entry.family.has(handle) {
            found = Ok(RequestKind::Other(entry.family));
        }
        place = &entry.next;
    }
    found
}

/// Meaning of a handle.
#[derive(Clone, Copy)]
pub(super) enum RequestKind {
    /// No active request: MPI_REQUEST_NULL, or a persistent request that is not started.
    Inactive,
    /// A request that is complete from the start, with this status.
    Complete(MPI_Status),
    /// A request of the device.
    Live(RequestId),
    /// A request of this family.
    Other(&'static dyn RequestFamily),
}

/// Returns the meaning of the handle. Only the device can check whether a device request exists. Fails with
/// [`Error::Request`].
pub(super) fn named(handle: c_int) -> Result<RequestKind, Error> {
    let handle = active(handle).unwrap_or(handle);
    match handle {
        MPI_REQUEST_NULL => Ok(RequestKind::Inactive),
        SEND_COMPLETE => Ok(RequestKind::Complete(MPI_Status::NO_RECEIVE)),
        RECEIVED_FROM_PROC_NULL => Ok(RequestKind::Complete(MPI_Status::PROC_NULL)),
        _ if handle < 0 => Ok(RequestKind::Live(RequestId(!handle as u32))),
        _ => family_of(handle),
    }
}

/// A completed request: its status and additional data.
pub(super) struct CompletedRequest {
    pub status: MPI_Status,
    pub rest: Option<CompletionData>,
}

/// Additional data of a completed request.
pub(super) enum CompletionData {
    /// Its error, and its communicator's error handler.
    Failed(ErrorTarget, Error),
    /// A generalized request. User-defined functions must set its status: see [`CompletedRequest::finished`].
    CallbacksPending(&'static dyn RequestFamily),
}

impl CompletedRequest {
    /// Returns the status for calls that complete several requests, including MPI_ERROR.
    pub fn full_status(&self) -> MPI_Status {
        let error = match &self.rest {
            Some(CompletionData::Failed(_, error)) => error.code(),
            _ => code(ErrorClass::Success),
        };
        MPI_Status {
            MPI_ERROR: error,
            ..self.status
        }
    }

    /// Keeps the communicator, which may be freed with the request, until its error handler returns.
    #[inline]
    pub(super) fn keep_error_target(&mut self) {
        if let Some(CompletionData::Failed(error_target, _)) = &mut self.rest {
            comm_objects::keep_error_target(error_target);
        }
    }

    /// Checks whether user-defined functions must still be called, outside the device; until then the handle remains.
    pub fn has_pending_callbacks(&self) -> bool {
        matches!(self.rest, Some(CompletionData::CallbacksPending(_)))
    }

    /// Returns the final completion and resets the handle. Called outside the device.
    #[inline]
    pub fn finished(self, handle: &mut Handle) -> CompletedRequest {
        match self.rest {
            Some(CompletionData::CallbacksPending(family)) => finish_request(family, handle),
            _ => self,
        }
    }
}

#[cold]
fn finish_request(family: &dyn RequestFamily, handle: &mut Handle) -> CompletedRequest {
    let completed = family.finish_request((*handle).value(), true);
    *handle = Handle::new(MPI_REQUEST_NULL);
    completed
}

/// Calls the user-defined functions of the request, if that is pending. Called outside the device.
pub(super) fn finish_if_pending(handle: &mut Handle) -> Option<CompletedRequest> {
    let Ok(RequestKind::Other(family)) = family_of((*handle).value()) else {
        return None;
    };
    let is_due = family.ended((*handle).value())?.has_pending_callbacks();
    is_due.then(|| finish_request(family, handle))
}

/// Resets the handle of a completed request: a persistent one becomes inactive, another one MPI_REQUEST_NULL.
pub(super) fn reset(handle: &mut Handle) {
    if !deactivate((*handle).value()) {
        *handle = Handle::new(MPI_REQUEST_NULL);
    }
}

/// Completes, frees and resets the request with handle `handle` if it is complete; in a call of `function` after a
/// progress step. An inactive request is complete with the empty status. A [`CompletedRequest::has_pending_callbacks`] request is
/// unchanged. Does not block.
pub(super) fn try_complete(
    env: &dyn Env,
    function: Option<&'static str>,
    handle: &mut Handle,
) -> Result<Option<CompletedRequest>, Error> {
    let named = named((*handle).value())?;
    if let RequestKind::Live(id) = named {
        return match env.test(function, id) {
            TestResult::Unknown => Err(Error::Request {
                handle: (*handle).value(),
            }),
            TestResult::Pending => Ok(None),
            TestResult::Complete(ended) => Ok(Some(completed_with(&ended, handle))),
        };
    }
    if let Some(function) = function {
        env.advance(CallInfo::without_peer(function), None);
    }
    Ok(complete_here(named, handle))
}

/// Completes a request other than a device request, with meaning `named`; see [`try_complete`].
pub(super) fn complete_here(named: RequestKind, handle: &mut Handle) -> Option<CompletedRequest> {
    let status = match named {
        RequestKind::Complete(status) => status,
        RequestKind::Inactive | RequestKind::Live(_) => MPI_Status::EMPTY,
        RequestKind::Other(family) => {
            let mut ended = family.ended((*handle).value());
            if let Some(ended) = ended.as_mut().filter(|ended| !ended.has_pending_callbacks()) {
                ended.keep_error_target();
                family.forget((*handle).value());
                reset(handle);
            }
            return ended;
        }
    };
    reset(handle);
    Some(with_status(status))
}

/// Resets the handle of a completed and freed device request, and notifies the communicator.
pub(super) fn completed_with(ended: &RequestCompletion, handle: &mut Handle) -> CompletedRequest {
    reset(handle);
    match ended {
        RequestCompletion::Plain(whole) => {
            let status = whole_status(whole);
            comm_objects::request_completed(whole.context);
            with_status(status)
        }
        RequestCompletion::Other(finished) => {
            let mut completed = completed(finished.context, &finished.outcome);
            completed.keep_error_target();
            datatypes::release(finished.buffer);
            comm_objects::request_completed(finished.context);
            completed
        }
    }
}

/// Returns the status of a request that completed without truncation.
#[inline]
pub(super) fn whole_status(whole: &PlainCompletion) -> MPI_Status {
    let source = comm_table::source(whole.context, whole.peer).0;
    MPI_Status::from_result(&Ok(Status {
        source,
        tag: whole.tag,
        bytes: whole.bytes as usize,
    }))
}

/// Frees a device request, complete or not, and notifies the communicator. Returns false if there is none with this ID.
pub(super) fn give_up(env: &dyn Env, id: RequestId) -> bool {
    let Some(state) = env.inspect(None, id) else {
        return false;
    };
    let RequestState { context, buffer, .. } = state;
    if buffer.is_typed() && state.outcome.is_none() {
        // The buffer's loan remains until the request is complete.
        datatypes::give_up(buffer, id);
        env.release(id, ReleaseTarget::Handle);
    } else {
        env.release(id, ReleaseTarget::Request);
        datatypes::release(buffer);
    }
    comm_objects::request_completed(context);
    true
}

/// Returns the completion of the request with handle `handle`, if it is complete; in a call of `function` after a
/// progress step. Changes nothing.
pub(super) fn peek(env: &dyn Env, function: &'static str, handle: c_int) -> Result<Option<CompletedRequest>, Error> {
    let named = named(handle)?;
    if let RequestKind::Live(id) = named {
        let state = env.inspect(Some(function), id);
        let state = state.ok_or(Error::Request { handle })?;
        let ended = state.outcome.as_ref();
        return Ok(ended.map(|outcome| completed(state.context, outcome)));
    }
    env.advance(CallInfo::without_peer(function), None);
    Ok(match named {
        RequestKind::Complete(status) => Some(with_status(status)),
        RequestKind::Inactive | RequestKind::Live(_) => Some(with_status(MPI_Status::EMPTY)),
        RequestKind::Other(family) => family.ended(handle),
    })
}

/// Creates the completion of a request without an error.
pub(super) fn with_status(status: MPI_Status) -> CompletedRequest {
    CompletedRequest { status, rest: None }
}

/// Converts the outcome of a request in this context to a completion for the program.
#[inline]
fn completed(context: Context, outcome: &RequestOutcome) -> CompletedRequest {
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
        completed.rest = Some(CompletionData::Failed(comm_objects::error_target_in(context), error));
    }
    completed
}

const KIND: HandleKind = HandleKind {
    name: LimitedResource::PersistentRequests,
    tag: 0x3000_0000,
    place_bits: 16,
    generation_bits: 12,
    limit: 1 << 16,
};

#[derive(Clone)]
pub(super) enum PersistentCall {
    Send(SendArgs, SendMode),
    Buffered(SendArgs),
    Receive(ReceiveArgs),
    Collective(TryArc<PersistentCollective>),
    Partitioned(TryArc<PartitionedRequest>),
}

/// A partitioned operation of a persistent request. Its functions are pointers, so that programs with other persistent
/// requests only do not contain them.
pub(super) struct PartitionedRequest {
    /// Handle of the operation.
    pub object: c_int,
    /// Starts the operation, and returns the handle of the active request.
    pub start: fn(c_int) -> Result<c_int, Error>,
    /// Frees the operation.
    pub release: fn(c_int),
}

impl Drop for PartitionedRequest {
    fn drop(&mut self) {
        (self.release)(self.object);
    }
}

#[derive(Clone)]
pub(super) struct PersistentRequest {
    pub call: PersistentCall,
    pub partners: Group<'static>,
    /// Handle of the active request, or MPI_REQUEST_NULL.
    pub active: c_int,
}

/// No call waits while it holds the lock, and no interrupt handler uses it.
static TABLE: Mutex<HandleTable<PersistentRequest>> = Mutex::new(HandleTable::new(KIND));

/// Returns the active request of a persistent one, and deactivates it on request. Installed with the first persistent
/// request, so that the image of a program without one does not contain this code.
static ACTIVE: LazyCallback<ActiveFn> = LazyCallback::new();

type ActiveFn = fn(c_int, bool) -> Option<c_int>;

/// Adds a persistent request and returns its handle. Fails with [`Error::Limit`] or [`Error::NoSpace`].
pub(super) fn enter_persistent(object: PersistentRequest) -> Result<c_int, Error> {
    ACTIVE.set(|handle, is_over| {
        with_object(handle, |object| {
            if is_over {
                core::mem::replace(&mut object.active, MPI_REQUEST_NULL)
            } else {
                object.active
            }
        })
    });
    TABLE.lock().add(object)
}

/// Runs `f` on the persistent request with handle `handle`, if it is valid.
pub(super) fn with_object<R>(handle: c_int, f: impl FnOnce(&mut PersistentRequest) -> R) -> Option<R> {
    TABLE.lock().get_mut(handle).map(f)
}

fn lookup_active(handle: c_int, is_over: bool) -> Option<c_int> {
    // Most handles are of other requests, and require no table look-up.
    if handle & !((1 << (KIND.place_bits + KIND.generation_bits)) - 1) != KIND.tag {
        return None;
    }
    let active = ACTIVE.get();
    active.and_then(|active| active(handle, is_over))
}

/// Returns the handle of a persistent request's active request; `None` if `handle` is not persistent.
pub(super) fn active(handle: c_int) -> Option<c_int> {
    lookup_active(handle, false)
}

/// Deactivates a completed persistent request. Returns false if `handle` is not persistent.
pub(super) fn deactivate(handle: c_int) -> bool {
    lookup_active(handle, true).is_some()
}

/// Frees the persistent request, if `handle` is one.
pub(super) fn free_persistent(handle: c_int) {
    let freed = TABLE.lock().remove(handle);
    if let Some(PersistentRequest { partners, .. }) = freed {
        comm_objects::end_hold(partners.context);
    }
}
