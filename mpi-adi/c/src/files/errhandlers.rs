//! Error handlers of files (section 8.3.3). That of MPI_FILE_NULL is the default of new files (section 13.7).

use core::ffi::c_int;
use core::sync::atomic::Ordering;

use super::default_handler::{HANDLER, error_target};
use super::objects::{error_target_of, with_object};
use crate::args;
use crate::codes;
use crate::error_dispatch::{ErrorFunction, end_under, hold_handler, on_process, raise, release_handler};
use crate::errors;
use crate::types::Handle;
use crate::types::constants::MPI_FILE_NULL;
use midplane_objects::error::Error;

pub unsafe fn MPI_File_create_errhandler(function: Option<ErrorFunction>, errhandler: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements on `errhandler`.
    unsafe { errors::create("MPI_File_create_errhandler", function, errhandler) }
}

/// Replaces the handler of a file. A file holds its handler, so that its slot is not used again.
fn set_handler(file: c_int, handler: c_int) -> Result<(), Error> {
    if file == MPI_FILE_NULL {
        HANDLER.store(handler, Ordering::Relaxed);
        return Ok(());
    }
    with_object(file, |object| {
        hold_handler(handler);
        release_handler(object.handler);
        object.handler = handler;
        Ok(())
    })
}

fn handler_of(file: c_int) -> Result<c_int, Error> {
    match file {
        MPI_FILE_NULL => Ok(HANDLER.load(Ordering::Relaxed)),
        _ => with_object(file, |object| Ok(object.handler)),
    }
}

pub unsafe fn MPI_File_set_errhandler(file: c_int, errhandler: c_int) -> c_int {
    let set = errors::check(errhandler).and_then(|()| set_handler(file, errhandler));
    end_under("MPI_File_set_errhandler", error_target_of(file), set)
}

pub unsafe fn MPI_File_get_errhandler(file: c_int, errhandler: *mut Handle) -> c_int {
    let handler = handler_of(file).and_then(|handler| {
        // SAFETY: the standard's requirements on `errhandler`.
        *unsafe { args::out(errhandler, "errhandler") }? = Handle::new(errors::give_handle(handler));
        Ok(())
    });
    end_under("MPI_File_get_errhandler", error_target_of(file), handler)
}

pub unsafe fn MPI_File_call_errhandler(fh: c_int, errorcode: c_int) -> c_int {
    let name = "MPI_File_call_errhandler";
    match handler_of(fh) {
        Ok(_) => on_process(name, |_| {
            raise(name, error_target_of(fh), codes::raised(errorcode)?);
            Ok(())
        }),
        Err(wrong) => end_under(name, error_target(), Err(wrong)),
    }
}
