//! Conversion of Fortran handles and statuses (sections 17.2.4 and 17.2.5). Fortran is not supported, but C programs
//! and libraries use these functions to store handles as integers and to copy statuses. A handle is the same integer in
//! both.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc)]

use core::ffi::c_int;

use super::error_dispatch::early;
use super::types::MPI_Status;
use midplane_objects::error::Error;

/// A Fortran status, with the same bytes.
type FortranStatus = [c_int; 6];
const _: () = assert!(size_of::<MPI_Status>() == size_of::<FortranStatus>());
const STATUS_IGNORE: usize = 1;

macro_rules! handles {
    ($($function:ident)*) => {
        $(
            pub fn $function(handle: c_int) -> c_int {
                handle
            }
        )*
    };
}

handles! {
    MPI_Comm_c2f MPI_Comm_f2c
    MPI_Errhandler_c2f MPI_Errhandler_f2c
    MPI_File_c2f MPI_File_f2c
    MPI_Group_c2f MPI_Group_f2c
    MPI_Info_c2f MPI_Info_f2c
    MPI_Message_c2f MPI_Message_f2c
    MPI_Op_c2f MPI_Op_f2c
    MPI_Request_c2f MPI_Request_f2c
    MPI_Type_c2f MPI_Type_f2c
    MPI_Win_c2f MPI_Win_f2c
}

macro_rules! statuses {
    ($($function:ident($from:ident: *const $given:ty, $to:ident: *mut $wanted:ty);)*) => {
        $(
            pub unsafe fn $function($from: *const $given, $to: *mut $wanted) -> c_int {
                // SAFETY: the standard's requirements on both: each is a status, or the integers of one.
                unsafe { copy(stringify!($function), $from.cast(), $to.cast()) }
            }
        )*
    };
}

/// # Safety
/// Each must point to an array as long as a status, or be MPI_STATUS_IGNORE or null.
unsafe fn copy(function: &'static str, from: *const FortranStatus, to: *mut FortranStatus) -> c_int {
    let is_none = from.addr() <= STATUS_IGNORE || to.addr() <= STATUS_IGNORE;
    early(
        function,
        if is_none {
            Err(Error::Argument {
                what: "there is no status: a null pointer, or MPI_STATUS_IGNORE",
            })
        } else {
            // SAFETY: guaranteed by the caller; the two may be the same.
            unsafe { from.copy_to(to, 1) };
            Ok(())
        },
    )
}

statuses! {
    MPI_Status_f2c(f_status: *const c_int, c_status: *mut MPI_Status);
    MPI_Status_c2f(c_status: *const MPI_Status, f_status: *mut c_int);
    MPI_Status_f082c(f08_status: *const MPI_Status, c_status: *mut MPI_Status);
    MPI_Status_c2f08(c_status: *const MPI_Status, f08_status: *mut MPI_Status);
    MPI_Status_f2f08(f_status: *const c_int, f08_status: *mut MPI_Status);
    MPI_Status_f082f(f08_status: *const MPI_Status, f_status: *mut c_int);
}
