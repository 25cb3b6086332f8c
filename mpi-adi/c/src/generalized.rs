//! Generalized requests, completed by the program itself (section 12.2).
//!
//! Their callbacks belong to the program and may call MPI. They are called outside the device, by the call that
//! completes a request or queries its status.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc)]

use core::ffi::{c_int, c_void};

use spin::Mutex;

use super::args;
use super::error_dispatch::{error_target, on_process};
use super::handles::{HandleKind, HandleTable};
use super::keyvals::{check_callback, pointer};
use super::requests::{
    CompletedRequest, CompletionData, FamilyEntry, GENERALIZED, RequestFamily, enter_family, with_status,
};
use super::types::constants::MPI_COMM_WORLD;
use super::types::{Handle, MPI_Status};
use super::unlocked::without_lock;
use midplane_objects::error::{Error, LimitedResource};

/// `MPI_Grequest_query_function`.
pub type QueryFunction = unsafe extern "C" fn(*mut c_void, *mut MPI_Status) -> c_int;
/// `MPI_Grequest_free_function`.
pub type FreeFunction = unsafe extern "C" fn(*mut c_void) -> c_int;
/// `MPI_Grequest_cancel_function`.
pub type CancelFunction = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;

const KIND: HandleKind = HandleKind {
    name: LimitedResource::GeneralizedRequests,
    tag: GENERALIZED,
    place_bits: 16,
    generation_bits: 12,
    limit: 1 << 16,
};

#[derive(Clone, Copy)]
struct GeneralizedObject {
    query: QueryFunction,
    free: FreeFunction,
    cancel: CancelFunction,
    /// Address passed to the callbacks.
    extra: usize,
    is_complete: bool,
    /// The program has freed the request, but not completed it.
    is_given_up: bool,
}

/// No call waits or calls a function of the program while it holds the lock, and no interrupt handler uses it.
static TABLE: Mutex<HandleTable<GeneralizedObject>> = Mutex::new(HandleTable::new(KIND));

/// Returns the request with handle `handle`, unless the program has freed it.
fn object(handle: c_int) -> Option<GeneralizedObject> {
    let table = TABLE.lock();
    table.get(handle).copied().filter(|object| !object.is_given_up)
}

impl GeneralizedObject {
    /// Notifies the program that its request no longer exists.
    fn free(&self) -> Result<(), Error> {
        // SAFETY: a function of the program, called with the arguments that the standard specifies (section 12.2).
        check_callback(without_lock(|| unsafe { (self.free)(pointer(self.extra)) }))
    }
}

struct GeneralizedFamily;

// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_generalized")]
static FAMILY: FamilyEntry = FamilyEntry::new(GENERALIZED, &GeneralizedFamily);

impl RequestFamily for GeneralizedFamily {
    fn has(&self, handle: c_int) -> bool {
        object(handle).is_some()
    }

    fn ended(&self, handle: c_int) -> Option<CompletedRequest> {
        object(handle)?.is_complete.then_some(CompletedRequest {
            status: MPI_Status::NO_RECEIVE,
            rest: Some(CompletionData::CallbacksPending(&GeneralizedFamily)),
        })
    }

    fn forget(&self, handle: c_int) {
        TABLE.lock().remove(handle);
    }

    fn finish_request(&self, handle: c_int, done: bool) -> CompletedRequest {
        let mut completed = with_status(MPI_Status::EMPTY);
        let Some(object) = object(handle) else {
            return completed;
        };
        // SAFETY: a function of the program, called with the arguments that the standard specifies (section 12.2).
        let code = without_lock(|| unsafe { (object.query)(pointer(object.extra), &mut completed.status) });
        completed.status.MPI_ERROR = MPI_Status::NO_RECEIVE.MPI_ERROR;
        let mut result = check_callback(code);
        if done {
            self.forget(handle);
            // The first error is returned.
            result = result.and(object.free());
        }
        if let Err(error) = result {
            completed.rest = Some(CompletionData::Failed(error_target(MPI_COMM_WORLD), error));
        }
        completed
    }

    fn free(&self, handle: c_int) -> Result<(), Error> {
        let Some(object) = object(handle) else {
            return Err(Error::Request { handle });
        };
        if object.is_complete {
            self.forget(handle);
            return object.free();
        }
        if let Some(object) = TABLE.lock().get_mut(handle) {
            object.is_given_up = true;
        }
        Ok(())
    }

    fn cancel(&self, handle: c_int) -> Result<(), Error> {
        let object = object(handle).ok_or(Error::Request { handle })?;
        // SAFETY: a function of the program, called with the arguments that the standard specifies (section 12.2).
        let call = || unsafe { (object.cancel)(pointer(object.extra), object.is_complete.into()) };
        check_callback(without_lock(call))
    }
}

pub unsafe fn MPI_Grequest_start(
    query_fn: Option<QueryFunction>,
    free_fn: Option<FreeFunction>,
    cancel_fn: Option<CancelFunction>,
    extra_state: *mut c_void,
    request: *mut Handle,
) -> c_int {
    on_process("MPI_Grequest_start", |_| {
        let null = |name| Error::NullArgument { name };
        let object = GeneralizedObject {
            query: query_fn.ok_or(null("query_fn"))?,
            free: free_fn.ok_or(null("free_fn"))?,
            cancel: cancel_fn.ok_or(null("cancel_fn"))?,
            extra: extra_state.expose_provenance(),
            is_complete: false,
            is_given_up: false,
        };
        // SAFETY: the standard's requirements on `request`.
        let request = unsafe { args::out(request, "request") }?;
        enter_family(&FAMILY);
        *request = Handle::new(TABLE.lock().add(object)?);
        Ok(())
    })
}

pub unsafe fn MPI_Grequest_complete(request: c_int) -> c_int {
    on_process("MPI_Grequest_complete", |_| {
        let mut table = TABLE.lock();
        let wrong = Error::Request { handle: request };
        let object = table.get_mut(request).filter(|object| !object.is_complete);
        let object = object.ok_or(wrong)?;
        object.is_complete = true;
        let given_up = object.is_given_up.then_some(*object);
        if given_up.is_some() {
            table.remove(request);
        }
        drop(table);
        given_up.map_or(Ok(()), |object| object.free())
    })
}
