//! Functions removed in MPI-3.0 (section 16.1) that old programs still use.

use core::ffi::{c_int, c_void};

use super::constructors::{hindexed, hvector, structure};
use super::objects::known;
use super::query::address;
use crate::args;
use crate::counts::IntArray;
use crate::error_dispatch::on_process;
use crate::types::Handle;

pub unsafe fn MPI_Type_hvector(
    count: c_int,
    blocklength: c_int,
    stride: isize,
    oldtype: c_int,
    newtype: *mut Handle,
) -> c_int {
    on_process("MPI_Type_hvector", |_| {
        // SAFETY: the standard's requirements on `newtype`.
        unsafe { hvector(count, blocklength, stride, oldtype, newtype) }
    })
}

pub unsafe fn MPI_Type_hindexed(
    count: c_int,
    array_of_blocklengths: *mut c_int,
    array_of_displacements: *mut isize,
    oldtype: c_int,
    newtype: *mut Handle,
) -> c_int {
    on_process("MPI_Type_hindexed", |_| {
        let lengths = IntArray::Int(array_of_blocklengths);
        let displacements = IntArray::Aint(array_of_displacements);
        // SAFETY: the standard's requirements on the arrays and `newtype`.
        unsafe { hindexed(count, lengths, displacements, oldtype, newtype) }
    })
}

pub unsafe fn MPI_Type_struct(
    count: c_int,
    array_of_blocklengths: *mut c_int,
    array_of_displacements: *mut isize,
    array_of_types: *mut Handle,
    newtype: *mut Handle,
) -> c_int {
    on_process("MPI_Type_struct", |_| {
        let lengths = IntArray::Int(array_of_blocklengths);
        let displacements = IntArray::Aint(array_of_displacements);
        // SAFETY: the standard's requirements on the arrays and `newtype`.
        unsafe { structure(count, lengths, displacements, array_of_types, newtype) }
    })
}

pub unsafe fn MPI_Type_extent(datatype: c_int, extent: *mut isize) -> c_int {
    on_process("MPI_Type_extent", |_| {
        // SAFETY: the standard's requirements on `extent`.
        let extent = unsafe { args::out(extent, "extent") }?;
        *extent = known(datatype)?.facts().extent;
        Ok(())
    })
}

pub unsafe fn MPI_Type_lb(datatype: c_int, displacement: *mut isize) -> c_int {
    on_process("MPI_Type_lb", |_| {
        // SAFETY: the standard's requirements on `displacement`.
        let displacement = unsafe { args::out(displacement, "displacement") }?;
        *displacement = known(datatype)?.facts().lb;
        Ok(())
    })
}

pub unsafe fn MPI_Type_ub(datatype: c_int, displacement: *mut isize) -> c_int {
    on_process("MPI_Type_ub", |_| {
        // SAFETY: the standard's requirements on `displacement`.
        let displacement = unsafe { args::out(displacement, "displacement") }?;
        *displacement = known(datatype)?.facts().ub();
        Ok(())
    })
}

pub unsafe fn MPI_Address(location: *mut c_void, address_of: *mut isize) -> c_int {
    // SAFETY: the standard's requirements on `address_of`.
    on_process("MPI_Address", |_| unsafe { address(location, address_of) })
}
