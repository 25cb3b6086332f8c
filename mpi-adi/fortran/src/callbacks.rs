//! Callbacks of attributes and generalized requests, which get references in Fortran and report errors in an argument.
//! The C binding calls functions of this module, which call those of the program.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use core::mem::transmute;

use midplane_c::constants::{MPI_ERR_OTHER, MPI_SUCCESS};
use midplane_c::{Handle, MPI_Status};
use spin::Mutex;

use crate::attributes;

/// `comm_copy_attr_fn` and its counterparts, with integers of type `I`: default integers in MPI-1.
type CopyFunction<I> =
    unsafe extern "C" fn(*const c_int, *const c_int, *const I, *const I, *mut I, *mut c_int, *mut c_int);
/// `comm_delete_attr_fn` and its counterparts.
type DeleteFunction<I> = unsafe extern "C" fn(*const c_int, *const c_int, *const I, *const I, *mut c_int);

/// Callbacks of a key.
#[derive(Clone, Copy)]
pub(crate) enum KeyCallbacks {
    /// Those of MPI-1.
    Old(Option<CopyFunction<c_int>>, Option<DeleteFunction<c_int>>, c_int),
    Plain(Option<CopyFunction<isize>>, Option<DeleteFunction<isize>>, isize),
}

impl KeyCallbacks {
    /// Returns the callbacks at these addresses.
    ///
    /// # Safety
    /// They are null or procedures of this type.
    pub(crate) unsafe fn plain(copy: *const c_void, delete: *const c_void, extra_state: isize) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe {
            Self::Plain(
                transmute::<*const c_void, Option<CopyFunction<isize>>>(copy),
                transmute::<*const c_void, Option<DeleteFunction<isize>>>(delete),
                extra_state,
            )
        }
    }

    /// Like [`KeyCallbacks::plain`], for the procedures of MPI-1.
    ///
    /// # Safety
    /// As there.
    pub(crate) unsafe fn old(copy: *const c_void, delete: *const c_void, extra_state: c_int) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe {
            Self::Old(
                transmute::<*const c_void, Option<CopyFunction<c_int>>>(copy),
                transmute::<*const c_void, Option<DeleteFunction<c_int>>>(delete),
                extra_state,
            )
        }
    }
}

/// Bits of the index in a key's handle (`mpi-adi/c/src/keyvals.rs`).
const PLACE_BITS: u32 = 12;

/// Callbacks of the keys that Fortran has created, by the index in their handles. The C binding reuses the index of a key
/// that no longer exists, and the entry is then overwritten: at most 4,096 entries exist. No call waits while it holds the
/// lock, and no interrupt handler uses it.
static KEYS: Mutex<Vec<Option<KeyCallbacks>>> = Mutex::new(Vec::new());

fn index(keyval: c_int) -> usize {
    (keyval & ((1 << PLACE_BITS) - 1)) as usize
}

/// Records the callbacks of a key; false if the heap is full.
pub(crate) fn set_key(keyval: c_int, callbacks: KeyCallbacks) -> bool {
    let mut keys = KEYS.lock();
    let at = index(keyval);
    let length = keys.len();
    if length <= at {
        if keys.try_reserve_exact(at + 1 - length).is_err() {
            return false;
        }
        keys.resize(at + 1, None);
    }
    keys[at] = Some(callbacks);
    true
}

fn key(keyval: c_int) -> Option<KeyCallbacks> {
    KEYS.lock().get(index(keyval)).copied().flatten()
}

/// Copies an attribute: C's callback for the keys of Fortran.
pub(crate) unsafe extern "C" fn copy(
    object: Handle,
    keyval: c_int,
    _extra_state: *mut c_void,
    attribute_in: *mut c_void,
    attribute_out: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    let object = object.value();
    let value = attributes::value(attribute_in);
    let (mut copied, mut is_copied, mut ierror) = (value, 0, MPI_SUCCESS);
    // SAFETY: procedures of the program, called with the arguments that the standard specifies (section 6.7.2).
    unsafe {
        match key(keyval) {
            Some(KeyCallbacks::Plain(Some(copy), _, extra)) => {
                copy(
                    &object,
                    &keyval,
                    &extra,
                    &value,
                    &mut copied,
                    &mut is_copied,
                    &mut ierror,
                );
            }
            Some(KeyCallbacks::Old(Some(copy), _, extra)) => {
                let (value, mut result) = (value as c_int, value as c_int);
                copy(
                    &object,
                    &keyval,
                    &extra,
                    &value,
                    &mut result,
                    &mut is_copied,
                    &mut ierror,
                );
                copied = result as isize;
            }
            _ => {}
        }
    }
    if ierror != MPI_SUCCESS {
        return ierror;
    }
    if is_copied != 0 {
        let Some(cell) = attributes::create(copied) else {
            return MPI_ERR_OTHER;
        };
        // SAFETY: the C binding passes the address of a pointer.
        unsafe { *attribute_out.cast::<*mut c_void>() = cell };
    }
    // SAFETY: the C binding passes the address of an int.
    unsafe { *flag = c_int::from(is_copied != 0) };
    MPI_SUCCESS
}

/// Deletes an attribute: C's callback for the keys of Fortran.
pub(crate) unsafe extern "C" fn delete(
    object: Handle,
    keyval: c_int,
    attribute: *mut c_void,
    _extra_state: *mut c_void,
) -> c_int {
    let object = object.value();
    let value = attributes::value(attribute);
    let mut ierror = MPI_SUCCESS;
    // SAFETY: procedures of the program, called with the arguments that the standard specifies (section 6.7.2).
    unsafe {
        match key(keyval) {
            Some(KeyCallbacks::Plain(_, Some(delete), extra)) => delete(&object, &keyval, &value, &extra, &mut ierror),
            Some(KeyCallbacks::Old(_, Some(delete), extra)) => {
                delete(&object, &keyval, &(value as c_int), &extra, &mut ierror);
            }
            _ => {}
        }
    }
    if ierror == MPI_SUCCESS {
        attributes::free(attribute);
    }
    ierror
}

type QueryFunction = unsafe extern "C" fn(*const isize, *mut MPI_Status, *mut c_int);
type FreeFunction = unsafe extern "C" fn(*const isize, *mut c_int);
type CancelFunction = unsafe extern "C" fn(*const isize, *const c_int, *mut c_int);

/// Callbacks of a generalized request (MPI-3.1 section 12.2).
pub(crate) struct RequestCallbacks {
    query: QueryFunction,
    free: FreeFunction,
    cancel: CancelFunction,
    extra_state: isize,
}

impl RequestCallbacks {
    /// Returns the address of these callbacks in the heap; `None` if it is full.
    ///
    /// # Safety
    /// The addresses are procedures of the program.
    pub(crate) unsafe fn create(
        query: *const c_void,
        free: *const c_void,
        cancel: *const c_void,
        extra_state: isize,
    ) -> Option<*mut c_void> {
        let mut memory = Vec::new();
        memory.try_reserve_exact(1).ok()?;
        // SAFETY: guaranteed by the caller.
        memory.push(unsafe {
            Self {
                query: transmute::<*const c_void, QueryFunction>(query),
                free: transmute::<*const c_void, FreeFunction>(free),
                cancel: transmute::<*const c_void, CancelFunction>(cancel),
                extra_state,
            }
        });
        Some(Box::into_raw(memory.into_boxed_slice()).cast())
    }

    /// Frees the callbacks at this address.
    ///
    /// # Safety
    /// [`RequestCallbacks::create`] has returned the address, and no call uses it afterwards.
    pub(crate) unsafe fn free(address: *mut c_void) {
        let callbacks = core::ptr::slice_from_raw_parts_mut(address.cast::<Self>(), 1);
        // SAFETY: guaranteed by the caller.
        drop(unsafe { Box::from_raw(callbacks) });
    }
}

/// Queries the status of a request: C's callback for the requests of Fortran.
pub(crate) unsafe extern "C" fn query(extra_state: *mut c_void, status: *mut MPI_Status) -> c_int {
    let mut ierror = MPI_SUCCESS;
    // SAFETY: the address that `MPI_Grequest_start` has passed; a procedure of the program.
    unsafe {
        let callbacks = &*extra_state.cast::<RequestCallbacks>();
        (callbacks.query)(&callbacks.extra_state, status, &mut ierror);
    }
    ierror
}

/// Frees a request: C's callback for the requests of Fortran, the last one.
pub(crate) unsafe extern "C" fn free(extra_state: *mut c_void) -> c_int {
    let mut ierror = MPI_SUCCESS;
    // SAFETY: the address that `MPI_Grequest_start` has passed; a procedure of the program.
    unsafe {
        let callbacks = &*extra_state.cast::<RequestCallbacks>();
        (callbacks.free)(&callbacks.extra_state, &mut ierror);
        RequestCallbacks::free(extra_state);
    }
    ierror
}

/// Cancels a request: C's callback for the requests of Fortran.
pub(crate) unsafe extern "C" fn cancel(extra_state: *mut c_void, complete: c_int) -> c_int {
    let mut ierror = MPI_SUCCESS;
    // SAFETY: the address that `MPI_Grequest_start` has passed; a procedure of the program.
    unsafe {
        let callbacks = &*extra_state.cast::<RequestCallbacks>();
        (callbacks.cancel)(&callbacks.extra_state, &complete, &mut ierror);
    }
    ierror
}
