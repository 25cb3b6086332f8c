//! Operators that compare handles in `mpi_f08`, and procedures that only Fortran has.

use core::ffi::{c_int, c_void};

use crate::arguments::finish;
use crate::descriptor::Descriptor;
use crate::entries::alias;

macro_rules! comparisons {
    ($($equal:ident $equal_symbol:literal, $different:ident $different_symbol:literal;)*) => {
        $(
            #[unsafe(export_name = $equal_symbol)]
            unsafe extern "C" fn $equal(one: *const c_int, other: *const c_int) -> c_int {
                // SAFETY: the compiler passes two handles.
                c_int::from(unsafe { *one == *other })
            }
            #[unsafe(export_name = $different_symbol)]
            unsafe extern "C" fn $different(one: *const c_int, other: *const c_int) -> c_int {
                // SAFETY: the compiler passes two handles.
                c_int::from(unsafe { *one != *other })
            }
        )*
    };
}

comparisons! {
    comm_eq "midplane_comm_eq_", comm_ne "midplane_comm_ne_";
    datatype_eq "midplane_datatype_eq_", datatype_ne "midplane_datatype_ne_";
    errhandler_eq "midplane_errhandler_eq_", errhandler_ne "midplane_errhandler_ne_";
    file_eq "midplane_file_eq_", file_ne "midplane_file_ne_";
    group_eq "midplane_group_eq_", group_ne "midplane_group_ne_";
    info_eq "midplane_info_eq_", info_ne "midplane_info_ne_";
    message_eq "midplane_message_eq_", message_ne "midplane_message_ne_";
    op_eq "midplane_op_eq_", op_ne "midplane_op_ne_";
    request_eq "midplane_request_eq_", request_ne "midplane_request_ne_";
    session_eq "midplane_session_eq_", session_ne "midplane_session_ne_";
    win_eq "midplane_win_eq_", win_ne "midplane_win_ne_";
}

/// MPI_Sizeof (MPI-3.1 section 17.1.9): the size of an element in bytes.
#[unsafe(export_name = "pmpi_sizeof_ts")]
unsafe extern "C" fn mpi_sizeof(x: *const Descriptor, size: *mut c_int, ierror: *mut c_int) {
    // SAFETY: the compiler passes a descriptor and an integer.
    unsafe {
        *size = (*x).element_bytes() as c_int;
        finish(ierror, 0);
    }
}
alias!("mpi_sizeof_ts", "pmpi_sizeof_ts");

/// MPI_F_sync_reg (MPI-3.1 section 17.1.17): the compiler assumes that the call accesses the buffer.
#[unsafe(export_name = "mpi_f_sync_reg_")]
unsafe extern "C" fn mpi_f_sync_reg(_buffer: *const c_void) {}
alias!("mpi_f_sync_reg_ts", "mpi_f_sync_reg_");
alias!("mpi_f_sync_reg__", "mpi_f_sync_reg_");

/// MPI_CONVERSION_FN_NULL (MPI-3.1 section 13.5.3), which is an address and never called.
#[unsafe(export_name = "mpi_conversion_fn_null_")]
unsafe extern "C" fn mpi_conversion_fn_null() {}
