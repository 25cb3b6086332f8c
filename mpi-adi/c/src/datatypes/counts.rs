//! Number of elements in a message: queries (sections 3.2.5 and 4.1.11) and status updates (section 12.3).

use core::ffi::{c_int, c_longlong};

use super::objects::{known, size_of_one};
use crate::args;
use crate::counts::{Integer, put_count};
use crate::error_dispatch::on_process;
use crate::types::MPI_Status;
use midplane_objects::error::Error;

/// # Safety
/// `status` must satisfy [`args::out`] or be MPI_STATUS_IGNORE.
#[inline(always)]
unsafe fn bytes_of(status: *const MPI_Status) -> Result<usize, Error> {
    // SAFETY: guaranteed by the caller; it is only read.
    let status = unsafe { args::status(status.cast_mut()) }?;
    let status = status.ok_or(Error::NullArgument { name: "status" })?;
    Ok(usize::try_from(status.midplane_bytes).unwrap_or(0))
}

pub unsafe fn MPI_Get_count<C: Integer>(status: *const MPI_Status, datatype: c_int, count: *mut C) -> c_int {
    on_process("MPI_Get_count", |_| {
        // SAFETY: the standard's requirements on both.
        let (bytes, count) = unsafe { (bytes_of(status)?, args::out(count, "count")?) };
        let size = size_of_one(datatype)?;
        let whole = match (bytes, size) {
            (0, _) => Some(0),
            (_, 0) => None,
            _ => bytes.is_multiple_of(size).then(|| bytes / size),
        };
        put_count(count, whole);
        Ok(())
    })
}

pub unsafe fn MPI_Get_elements<C: Integer>(status: *const MPI_Status, datatype: c_int, count: *mut C) -> c_int {
    on_process("MPI_Get_elements", |_| {
        // SAFETY: the standard's requirements on both.
        let (bytes, count) = unsafe { (bytes_of(status)?, args::out(count, "count")?) };
        put_count(count, known(datatype)?.elements_in(bytes));
        Ok(())
    })
}

pub unsafe fn MPI_Get_elements_x(status: *const MPI_Status, datatype: c_int, count: *mut c_longlong) -> c_int {
    on_process("MPI_Get_elements_x", |_| {
        // SAFETY: the standard's requirements on both.
        let (bytes, count) = unsafe { (bytes_of(status)?, args::out(count, "count")?) };
        put_count(count, known(datatype)?.elements_in(bytes));
        Ok(())
    })
}

/// # Safety
/// `status` must satisfy [`args::out`].
unsafe fn set_elements(status: *mut MPI_Status, datatype: c_int, count: c_longlong) -> Result<(), Error> {
    // SAFETY: guaranteed by the caller.
    let status = unsafe { args::status(status) }?.ok_or(Error::NullArgument { name: "status" })?;
    let wrong = Error::Count { count };
    let elements = usize::try_from(count).map_err(|_| wrong)?;
    let bytes = known(datatype)?.bytes_of(elements);
    let bytes = bytes.and_then(|bytes| c_longlong::try_from(bytes).ok());
    status.midplane_bytes = bytes.ok_or(wrong)?;
    Ok(())
}

#[inline(always)]
pub unsafe fn MPI_Status_set_elements(status: *mut MPI_Status, datatype: c_int, count: isize) -> c_int {
    on_process("MPI_Status_set_elements", |_| {
        // SAFETY: the standard's requirements on `status`.
        unsafe { set_elements(status, datatype, count as c_longlong) }
    })
}

pub unsafe fn MPI_Status_set_elements_x(status: *mut MPI_Status, datatype: c_int, count: c_longlong) -> c_int {
    on_process("MPI_Status_set_elements_x", |_| {
        // SAFETY: the standard's requirements on `status`.
        unsafe { set_elements(status, datatype, count) }
    })
}
