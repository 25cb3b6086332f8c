//! Actions at the completion of nonblocking collectives, for other bindings: that of Fortran copies results to strided
//! arrays, and a handle is stored as the program has it.
//!
//! The handle of such a request remains that of the collective. A second family has the same handles, and runs the action
//! before the program gets the completion. Programs without actions do not link it.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_int;

use spin::Mutex;

use crate::collectives::in_flight::CollectiveFamily;
use crate::error_dispatch::early;
use crate::requests::{
    COLLECTIVES, CompletedRequest, CompletionData, FamilyEntry, RequestFamily, enter_family, with_status,
};
use crate::types::constants::{MPI_COMM_NULL, MPI_SUCCESS};
use crate::types::{Handle, MPI_Status};
use midplane_device::memory::try_boxed;
use midplane_objects::error::Error;

/// An action of a binding at the completion of a nonblocking collective.
pub trait AtCompletion: Send {
    /// Runs once, outside the device, in the call that reports the completion to the program.
    fn run(&mut self);
}

/// An action, and a link to the next one.
struct PendingAction<A: ?Sized> {
    request: c_int,
    next: Link,
    action: A,
}

type Link = Option<Box<PendingAction<dyn AtCompletion>>>;

/// No call waits or runs an action while it holds the lock, and no interrupt handler uses it.
static PENDING: Mutex<Link> = Mutex::new(None);

/// Starts a nonblocking collective by `start`, which returns an error code and the request, and runs `action` at its
/// completion. If the start fails, the action does not run. Does not block. Returns the error code of `start`, or that of
/// a full heap.
pub fn start_with_action(
    function: &'static str,
    action: impl AtCompletion + 'static,
    start: impl FnOnce() -> (c_int, c_int),
) -> c_int {
    let pending = PendingAction {
        request: 0,
        next: None,
        action,
    };
    let bytes = size_of_val(&pending);
    // Allocated before the start, which cannot be undone.
    let Some(mut pending) = try_boxed(pending) else {
        return early(function, Err(Error::NoSpace { bytes }));
    };
    let (code, request) = start();
    if code == MPI_SUCCESS {
        enter_family(&FAMILY);
        pending.request = request;
        let mut first = PENDING.lock();
        pending.next = first.take();
        *first = Some(pending);
    }
    code
}

/// A handle that the binding stores when a request completes, for programs whose handles differ from C's.
struct PendingHandle {
    /// One handle, at an address that does not change.
    handle: Vec<Handle>,
    place: *mut c_int,
    store: StoreHandle,
}

/// Stores a handle as the program has it.
pub type StoreHandle = unsafe extern "C" fn(*mut c_int, Handle);

// SAFETY: the place is memory of the process, which one thread executes.
unsafe impl Send for PendingHandle {}

impl AtCompletion for PendingHandle {
    fn run(&mut self) {
        if let [handle] = self.handle[..] {
            // SAFETY: guaranteed by the caller of `store_at_completion`.
            unsafe { (self.store)(self.place, handle) };
        }
    }
}

/// Starts a collective by `call`, which gets the place of a handle, and returns an error code and the request. `store` stores
/// the handle at its completion. Returns the error code of `call`, or that of a full heap.
///
/// # Safety
/// `place` must satisfy `store` until the collective is complete.
pub unsafe fn store_at_completion(
    function: &'static str,
    place: *mut c_int,
    store: StoreHandle,
    call: impl FnOnce(*mut Handle) -> (c_int, c_int),
) -> c_int {
    let mut handle = Vec::new();
    if handle.try_reserve_exact(1).is_err() {
        let bytes = size_of::<Handle>();
        return early(function, Err(Error::NoSpace { bytes }));
    }
    handle.push(Handle::new(MPI_COMM_NULL));
    let stored = handle.as_mut_ptr();
    start_with_action(function, PendingHandle { handle, place, store }, || call(stored))
}

fn has_action(request: c_int) -> bool {
    let first = PENDING.lock();
    let mut link = &*first;
    while let Some(pending) = link {
        if pending.request == request {
            return true;
        }
        link = &pending.next;
    }
    false
}

/// Removes the action of a request.
fn remove_action(request: c_int) -> Link {
    let mut first = PENDING.lock();
    let mut link = &mut *first;
    while link.as_ref().is_some_and(|pending| pending.request != request) {
        link = &mut link.as_mut()?.next;
    }
    let mut taken = link.take()?;
    *link = taken.next.take();
    Some(taken)
}

struct ActionFamily;

// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_at_completion")]
static FAMILY: FamilyEntry = FamilyEntry::new(COLLECTIVES, &ActionFamily);

impl RequestFamily for ActionFamily {
    fn has(&self, handle: c_int) -> bool {
        has_action(handle)
    }

    fn ended(&self, handle: c_int) -> Option<CompletedRequest> {
        CollectiveFamily.ended(handle).map(|completed| CompletedRequest {
            status: completed.status,
            rest: Some(CompletionData::CallbacksPending(&ActionFamily)),
        })
    }

    fn forget(&self, handle: c_int) {
        remove_action(handle);
        CollectiveFamily.forget(handle);
    }

    fn finish_request(&self, handle: c_int, done: bool) -> CompletedRequest {
        if let Some(mut pending) = remove_action(handle) {
            pending.action.run();
        }
        let Some(mut completed) = CollectiveFamily.ended(handle) else {
            return with_status(MPI_Status::EMPTY);
        };
        if done {
            completed.keep_error_target();
            CollectiveFamily.forget(handle);
        }
        completed
    }

    fn free(&self, handle: c_int) -> Result<(), Error> {
        CollectiveFamily.free(handle)
    }

    fn cancel(&self, handle: c_int) -> Result<(), Error> {
        CollectiveFamily.cancel(handle)
    }
}
