//! Error handler of files (section 8.3.3), attached to MPI_FILE_NULL; there are no other files.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc)]

use core::ffi::c_int;
use core::sync::atomic::Ordering;

use super::args;
use super::codes;
use super::error_dispatch::{ErrorFunction, end_under, on_process, raise};
use super::errors;
use super::file_handler::{HANDLER, error_target};
use super::types::constants::MPI_FILE_NULL;
use midplane_objects::error::{Error, ErrorClass};

/// Fails unless `file` is MPI_FILE_NULL.
fn check(file: c_int) -> Result<(), Error> {
    match file {
        MPI_FILE_NULL => Ok(()),
        _ => Err(Error::Wrong {
            class: ErrorClass::File,
            what: "there are no files yet but MPI_FILE_NULL",
        }),
    }
}

pub unsafe fn MPI_File_create_errhandler(function: Option<ErrorFunction>, errhandler: *mut c_int) -> c_int {
    // SAFETY: the standard's requirements on `errhandler`.
    unsafe { errors::create("MPI_File_create_errhandler", function, errhandler) }
}

pub unsafe fn MPI_File_set_errhandler(file: c_int, errhandler: c_int) -> c_int {
    let set = check(file).and_then(|()| errors::check(errhandler));
    end_under(
        "MPI_File_set_errhandler",
        error_target(),
        set.map(|()| HANDLER.store(errhandler, Ordering::Relaxed)),
    )
}

pub unsafe fn MPI_File_get_errhandler(file: c_int, errhandler: *mut c_int) -> c_int {
    let place = check(file).and_then(|()| {
        // SAFETY: the standard's requirements on `errhandler`.
        unsafe { args::out(errhandler, "errhandler") }
    });
    end_under(
        "MPI_File_get_errhandler",
        error_target(),
        place.map(|place| *place = errors::give_handle(HANDLER.load(Ordering::Relaxed))),
    )
}

pub unsafe fn MPI_File_call_errhandler(fh: c_int, errorcode: c_int) -> c_int {
    let name = "MPI_File_call_errhandler";
    match check(fh) {
        Ok(()) => on_process(name, |_| {
            raise(name, error_target(), codes::raised(errorcode)?);
            Ok(())
        }),
        wrong => end_under(name, error_target(), wrong),
    }
}
