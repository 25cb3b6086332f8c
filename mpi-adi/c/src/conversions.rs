//! Conversion of handles to integers (MPI-5.0 section 20.3.2), and of Fortran handles and statuses (sections 17.2.4 and
//! 17.2.5). A handle is the same integer everywhere.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc)]

use core::ffi::c_int;

use super::error_dispatch::early;
use super::types::MPI_Status;
use midplane_objects::error::Error;

/// A Fortran status, with the same bytes.
type FortranStatus = [c_int; 8];
const _: () = assert!(size_of::<MPI_Status>() == size_of::<FortranStatus>());

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
    MPI_Comm_c2f MPI_Comm_f2c MPI_Comm_toint MPI_Comm_fromint
    MPI_Errhandler_c2f MPI_Errhandler_f2c MPI_Errhandler_toint MPI_Errhandler_fromint
    MPI_File_c2f MPI_File_f2c MPI_File_toint MPI_File_fromint
    MPI_Group_c2f MPI_Group_f2c MPI_Group_toint MPI_Group_fromint
    MPI_Info_c2f MPI_Info_f2c MPI_Info_toint MPI_Info_fromint
    MPI_Message_c2f MPI_Message_f2c MPI_Message_toint MPI_Message_fromint
    MPI_Op_c2f MPI_Op_f2c MPI_Op_toint MPI_Op_fromint
    MPI_Request_c2f MPI_Request_f2c MPI_Request_toint MPI_Request_fromint
    MPI_Session_c2f MPI_Session_f2c MPI_Session_toint MPI_Session_fromint
    MPI_Type_c2f MPI_Type_f2c MPI_Type_toint MPI_Type_fromint
    MPI_Win_c2f MPI_Win_f2c MPI_Win_toint MPI_Win_fromint
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
/// Each must point to an array as long as a status, or be MPI_STATUS_IGNORE, which is null.
unsafe fn copy(function: &'static str, from: *const FortranStatus, to: *mut FortranStatus) -> c_int {
    let is_none = from.is_null() || to.is_null();
    early(
        function,
        if is_none {
            Err(Error::Argument {
                what: "there is no status: MPI_STATUS_IGNORE",
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
