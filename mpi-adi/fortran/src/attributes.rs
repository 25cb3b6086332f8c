//! Values of attributes, which C and Fortran represent differently (MPI-3.1 section 17.2.7).
//!
//! An attribute is an address in C and an integer in Fortran. If Fortran has set it, C gets the address of the integer; if
//! C has set it, Fortran gets the address as an integer. An integer of Fortran is therefore in a cell of the heap, whose
//! address is the attribute of the C binding. A cell exists until its attribute is deleted or replaced.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};

use midplane_c::constants::{
    MPI_APPNUM, MPI_HOST, MPI_IO, MPI_LASTUSEDCODE, MPI_TAG_UB, MPI_UNIVERSE_SIZE, MPI_WIN_CREATE_FLAVOR,
    MPI_WIN_DISP_UNIT, MPI_WIN_MODEL, MPI_WIN_SIZE, MPI_WTIME_IS_GLOBAL,
};
use spin::Mutex;

/// Addresses of all cells, in order. No call waits while it holds the lock, and no interrupt handler uses it.
static CELLS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Creates a cell. `None` if the heap is full.
pub(crate) fn create(value: isize) -> Option<*mut c_void> {
    let mut cells = CELLS.lock();
    cells.try_reserve(1).ok()?;
    let mut memory: Vec<isize> = Vec::new();
    memory.try_reserve_exact(1).ok()?;
    memory.push(value);
    let cell = Box::into_raw(memory.into_boxed_slice()).cast::<c_void>();
    let address = cell.expose_provenance();
    let at = cells.binary_search(&address).unwrap_or_else(|at| at);
    cells.insert(at, address);
    Some(cell)
}

/// Frees the cell of an attribute, if it has one.
pub(crate) fn free(attribute: *mut c_void) {
    let mut cells = CELLS.lock();
    if let Ok(at) = cells.binary_search(&attribute.addr()) {
        cells.remove(at);
        let cell = core::ptr::slice_from_raw_parts_mut(attribute.cast::<isize>(), 1);
        // SAFETY: `create` has made the cell, and no other call frees it, because it is no longer in the list.
        drop(unsafe { Box::from_raw(cell) });
    }
}

/// Returns the integer of an attribute: that in its cell, or the address that C has set.
pub(crate) fn value(attribute: *mut c_void) -> isize {
    let cells = CELLS.lock();
    match cells.binary_search(&attribute.addr()) {
        // SAFETY: the cell exists as long as it is in the list.
        Ok(_) => unsafe { *attribute.cast::<isize>() },
        Err(_) => attribute.addr() as isize,
    }
}

/// Returns the integer of a predefined attribute, whose address C returns; `None` for other attributes.
///
/// # Safety
/// `attribute` is the value that C has returned for this key.
pub(crate) unsafe fn predefined(keyval: c_int, attribute: *mut c_void) -> Option<isize> {
    match keyval {
        MPI_TAG_UB
        | MPI_HOST
        | MPI_IO
        | MPI_WTIME_IS_GLOBAL
        | MPI_UNIVERSE_SIZE
        | MPI_LASTUSEDCODE
        | MPI_APPNUM
        | MPI_WIN_DISP_UNIT
        | MPI_WIN_CREATE_FLAVOR
        | MPI_WIN_MODEL => {
            // SAFETY: the address of an int, which exists as long as its object.
            Some(unsafe { *attribute.cast::<c_int>() } as isize)
        }
        // SAFETY: as above, of an address-sized integer.
        MPI_WIN_SIZE => Some(unsafe { *attribute.cast::<isize>() }),
        _ => None,
    }
}
