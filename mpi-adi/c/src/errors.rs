//! Error handlers, error codes and error strings (sections 8.3 to 8.5).
//!
//! An error code is its class, or a code that the program has added ([`super::codes`]). For a code of the library,
//! MPI_Error_string describes the last failure with that code, with its parameters.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use core::ffi::{c_char, c_int};
use core::fmt::Write;
use core::sync::atomic::Ordering;

use super::args::{self, put_text};
use super::codes::{self, CodeKind};
use super::comm_objects::{self, in_use, set_handler};
use super::error_dispatch::{
    ErrorFunction, FUNCTIONS, GIVEN, HANDLERS, HOLD, LAST, USER_HANDLERS, at_any_time, early, error_target,
    note_errors, on_any, on_process, raise, user_index,
};
use super::files;
use super::types::Handle;
use super::types::constants::*;
use midplane_objects::error::{Error, ErrorClass, LimitedResource};

/// Checks whether a communicator or the files use this error handler.
fn has(handler: c_int) -> bool {
    in_use(handler) || files::have_handler(handler)
}

/// Frees the slots of handlers without handles and without users.
fn sweep() {
    for (index, given) in GIVEN.iter().enumerate() {
        if given.load(Ordering::Relaxed) == 0 && !has(HANDLERS + index as c_int) {
            FUNCTIONS[index].store(0, Ordering::Relaxed);
        }
    }
}

/// Adds a handle for the program, which must free it like a new error handler (section 8.3.4).
pub(super) fn give_handle(handler: c_int) -> c_int {
    if let Some(index) = user_index(handler) {
        GIVEN[index].fetch_add(1, Ordering::Relaxed);
    }
    handler
}

/// # Safety
/// See [`args::out`].
pub(super) unsafe fn create(name: &'static str, function: Option<ErrorFunction>, errhandler: *mut Handle) -> c_int {
    // SAFETY: guaranteed by the caller.
    on_process(name, |_| unsafe { add(function, errhandler) })
}

/// Like [`create`], in any phase.
///
/// # Safety
/// See [`args::out`].
pub(super) unsafe fn create_early(
    name: &'static str,
    function: Option<ErrorFunction>,
    errhandler: *mut Handle,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    early(name, unsafe { add(function, errhandler) })
}

/// # Safety
/// See [`args::out`].
unsafe fn add(function: Option<ErrorFunction>, errhandler: *mut Handle) -> Result<(), Error> {
    let function = function.ok_or(Error::NullArgument {
        name: "comm_errhandler_fn",
    })?;
    // SAFETY: guaranteed by the caller.
    let errhandler = unsafe { args::out(errhandler, "errhandler") }?;
    sweep();
    let address = (function as *const ()).expose_provenance();
    for (index, place) in FUNCTIONS.iter().enumerate() {
        if place
            .compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
        {
            #[cfg(target_os = "linux")]
            super::error_dispatch::ADAPTERS[index].store(0, Ordering::Relaxed);
            *errhandler = Handle::new(give_handle(HANDLERS + index as c_int));
            return Ok(());
        }
    }
    Err(Error::Limit {
        what: LimitedResource::ErrorHandlers,
        limit: USER_HANDLERS,
    })
}

/// Checks that the handle refers to an error handler that the program has not freed, and that may be set.
pub(super) fn check(handle: c_int) -> Result<(), Error> {
    let is_given = |index: usize| !GIVEN[index].load(Ordering::Relaxed).is_multiple_of(HOLD);
    if user_index(handle).is_some_and(is_given)
        || matches!(handle, MPI_ERRORS_ARE_FATAL | MPI_ERRORS_RETURN | MPI_ERRORS_ABORT)
    {
        note_errors();
        Ok(())
    } else {
        Err(Error::Wrong {
            class: ErrorClass::Errhandler,
            what: "errhandler names no error handler",
        })
    }
}

fn set(name: &'static str, comm: c_int, errhandler: c_int) -> c_int {
    on_any(name, comm, |_, _| {
        check(errhandler)?;
        set_handler(comm, errhandler);
        Ok(())
    })
}

/// # Safety
/// See [`args::out`].
unsafe fn get(name: &'static str, comm: c_int, errhandler: *mut Handle) -> c_int {
    on_any(name, comm, |_, _| {
        // SAFETY: guaranteed by the caller.
        *unsafe { args::out(errhandler, "errhandler") }? = Handle::new(give_handle(comm_objects::handler(comm)));
        Ok(())
    })
}

pub unsafe fn MPI_Comm_create_errhandler(function: Option<ErrorFunction>, errhandler: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements on `errhandler`.
    unsafe { create("MPI_Comm_create_errhandler", function, errhandler) }
}

pub unsafe fn MPI_Comm_set_errhandler(comm: c_int, errhandler: c_int) -> c_int {
    set("MPI_Comm_set_errhandler", comm, errhandler)
}

pub unsafe fn MPI_Comm_get_errhandler(comm: c_int, errhandler: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements on `errhandler`.
    unsafe { get("MPI_Comm_get_errhandler", comm, errhandler) }
}

pub unsafe fn MPI_Errhandler_create(function: Option<ErrorFunction>, errhandler: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements on `errhandler`.
    unsafe { create("MPI_Errhandler_create", function, errhandler) }
}

pub unsafe fn MPI_Errhandler_set(comm: c_int, errhandler: c_int) -> c_int {
    set("MPI_Errhandler_set", comm, errhandler)
}

pub unsafe fn MPI_Errhandler_get(comm: c_int, errhandler: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements on `errhandler`.
    unsafe { get("MPI_Errhandler_get", comm, errhandler) }
}

pub unsafe fn MPI_Comm_call_errhandler(comm: c_int, errorcode: c_int) -> c_int {
    on_any("MPI_Comm_call_errhandler", comm, |_, _| {
        raise(
            "MPI_Comm_call_errhandler",
            error_target(comm),
            codes::raised(errorcode)?,
        );
        Ok(())
    })
}

pub unsafe fn MPI_Errhandler_free(errhandler: *mut Handle) -> c_int {
    at_any_time("MPI_Errhandler_free", |_| {
        // SAFETY: the standard's requirements on `errhandler`.
        let errhandler = unsafe { args::out(errhandler, "errhandler") }?;
        check((*errhandler).value())?;
        // A handler in use remains until the communicators use another one; the predefined ones always remain.
        if let Some(index) = user_index((*errhandler).value()) {
            GIVEN[index].fetch_sub(1, Ordering::Relaxed);
            sweep();
        }
        *errhandler = Handle::new(MPI_ERRHANDLER_NULL);
        Ok(())
    })
}

pub unsafe fn MPI_Error_class(errorcode: c_int, errorclass: *mut c_int) -> c_int {
    early("MPI_Error_class", {
        // SAFETY: the standard's requirements on `errorclass`.
        unsafe { args::out(errorclass, "errorclass") }.and_then(|class| {
            *class = codes::class(errorcode)?;
            Ok(())
        })
    })
}

pub unsafe fn MPI_Error_string(errorcode: c_int, string: *mut c_char, resultlen: *mut c_int) -> c_int {
    early("MPI_Error_string", {
        codes::class(errorcode).and_then(|_| {
            let mut text = heapless::String::<MPI_MAX_ERROR_STRING>::new();
            // Truncated if it does not fit; the beginning is most important.
            let _ = match ErrorClass::from_code(errorcode) {
                Some(class) => match LAST.lock()[class as usize] {
                    Some(described) => write!(text, "{described}"),
                    None => text.write_str(class.description()),
                },
                None if errorcode == MPI_ERR_LASTCODE => {
                    text.write_str("MPI_ERR_LASTCODE: the last of the library's codes")
                }
                None => codes::with_text(errorcode, |said| text.write_str(said)).unwrap_or(Ok(())),
            };
            // SAFETY: the standard's requirements on both.
            unsafe { put_text(string, MPI_MAX_ERROR_STRING, &text, resultlen) }
        })
    })
}

pub unsafe fn MPI_Add_error_class(errorclass: *mut c_int) -> c_int {
    at_any_time("MPI_Add_error_class", |_| {
        // SAFETY: the standard's requirements on `errorclass`.
        *unsafe { args::out(errorclass, "errorclass") }? = codes::add(None)?;
        Ok(())
    })
}

pub unsafe fn MPI_Add_error_code(errorclass: c_int, errorcode: *mut c_int) -> c_int {
    at_any_time("MPI_Add_error_code", |_| {
        // SAFETY: the standard's requirements on `errorcode`.
        *unsafe { args::out(errorcode, "errorcode") }? = codes::add(Some(errorclass))?;
        Ok(())
    })
}

pub unsafe fn MPI_Add_error_string(errorcode: c_int, string: *const c_char) -> c_int {
    at_any_time("MPI_Add_error_string", |_| {
        // SAFETY: the standard's requirements on `string`.
        let text = unsafe { args::string(string, MPI_MAX_ERROR_STRING, "string") }?;
        codes::describe(errorcode, &text)
    })
}

pub unsafe fn MPI_Remove_error_class(errorclass: c_int) -> c_int {
    at_any_time("MPI_Remove_error_class", |_| codes::remove(errorclass, CodeKind::Class))
}

pub unsafe fn MPI_Remove_error_code(errorcode: c_int) -> c_int {
    at_any_time("MPI_Remove_error_code", |_| codes::remove(errorcode, CodeKind::Code))
}

pub unsafe fn MPI_Remove_error_string(errorcode: c_int) -> c_int {
    at_any_time("MPI_Remove_error_string", |_| codes::describe(errorcode, ""))
}
