//! Functions that require more than a conversion of arguments. Each returns the error code.
//!
//! # Safety
//! The arguments satisfy the standard's requirements. All are references, and lengths of strings follow them.
// The standard documents the functions; the parent module documents their safety.
#![allow(clippy::too_many_arguments)]

use alloc::vec::Vec;
use core::ffi::{c_char, c_int, c_longlong, c_void};
use core::ptr::null_mut;

use midplane_c::Handle;
use midplane_c::constants::{MPI_BYTE, MPI_ERR_ARG, MPI_SUCCESS, MPI_UNDEFINED};

use crate::addresses::{c_buffer, c_status};
use crate::arguments::{CText, FortranText, no_memory};
use crate::attributes;
use crate::callbacks::{self, KeyCallbacks, RequestCallbacks};
use crate::functions;
use crate::handles::HandleArray;
pub(crate) use crate::spawn::{mpi_comm_spawn, mpi_comm_spawn_multiple};

pub(crate) unsafe fn mpi_init() -> c_int {
    // SAFETY: MPI-3.1 section 8.7 allows null pointers.
    unsafe { functions::MPI_Init(null_mut(), null_mut()) }
}

pub(crate) unsafe fn mpi_init_thread(required: *const c_int, provided: *mut c_int) -> c_int {
    // SAFETY: MPI-3.1 section 8.7 allows null pointers.
    unsafe { functions::MPI_Init_thread(null_mut(), null_mut(), *required, provided) }
}

pub(crate) unsafe fn mpi_pcontrol(level: *const c_int) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe { functions::MPI_Pcontrol(*level) }
}

/// `mpif.h` and `mpi` do not return the address (MPI-3.1 section 3.6).
/// Defines the detachment of a buffer from an object: without its address, and with it for `mpi_f08`.
macro_rules! detach {
    ($($name:ident $name_f08:ident $function:ident($($object:ident)?);)*) => {$(
        pub(crate) unsafe fn $name(
            $($object: *const c_int,)?
            _buffer_addr: *mut c_void,
            size: *mut c_int,
        ) -> c_int {
            let mut address: *mut c_void = null_mut();
            // SAFETY: guaranteed by the caller.
            unsafe { functions::$function($(Handle::new(*$object),)? (&raw mut address).cast(), size) }
        }

        pub(crate) unsafe fn $name_f08(
            $($object: *const c_int,)?
            buffer_addr: *mut c_void,
            size: *mut c_int,
        ) -> c_int {
            // SAFETY: guaranteed by the caller.
            unsafe { functions::$function($(Handle::new(*$object),)? buffer_addr, size) }
        }
    )*};
}

detach! {
    mpi_buffer_detach mpi_buffer_detach_f08 MPI_Buffer_detach();
    mpi_comm_detach_buffer mpi_comm_detach_buffer_f08 MPI_Comm_detach_buffer(comm);
    mpi_session_detach_buffer mpi_session_detach_buffer_f08 MPI_Session_detach_buffer(session);
}

pub(crate) unsafe fn mpi_info_get(
    info: *const c_int,
    key: *mut c_char,
    valuelen: *const c_int,
    value: *mut c_char,
    flag: *mut c_int,
    key_length: usize,
    value_length: usize,
) -> c_int {
    let mut text = FortranText::new();
    // SAFETY: guaranteed by the caller.
    unsafe {
        let Some(key) = CText::trimmed(key, key_length) else {
            return no_memory("MPI_Info_get");
        };
        // C's buffer also contains the terminating zero.
        let length = (*valuelen).min(FortranText::MAX_LENGTH);
        let code = functions::MPI_Info_get(Handle::new(*info), key.as_ptr(), length, text.as_mut_ptr(), flag);
        if code == MPI_SUCCESS && *flag != 0 {
            text.write(value, value_length);
        }
        code
    }
}

/// The C function reports that Fortran's conversion functions are not supported, and does not read the other arguments.
pub(crate) unsafe fn mpi_register_datarep(
    datarep: *mut c_char,
    _read_conversion_fn: *const c_void,
    _write_conversion_fn: *const c_void,
    _dtype_file_extent_fn: *const c_void,
    _extra_state: *const isize,
    datarep_length: usize,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match CText::new(datarep, datarep_length) {
            Some(name) => functions::MPI_Register_datarep(name.as_ptr(), None, None, None, null_mut()),
            None => no_memory("MPI_Register_datarep"),
        }
    }
}

/// Defines the functions for the attributes of a kind of objects.
macro_rules! attributes_of {
    ($($keyval:ident $free:ident $create:ident, $get:ident $c_get:ident, $set:ident $c_set:ident;)*) => {
        $(
            pub(crate) unsafe fn $create(
                copy_fn: *const c_void,
                delete_fn: *const c_void,
                keyval: *mut c_int,
                extra_state: *const isize,
            ) -> c_int {
                // SAFETY: guaranteed by the caller.
                let callbacks = unsafe { KeyCallbacks::plain(copy_fn, delete_fn, *extra_state) };
                    // SAFETY: guaranteed by the caller.
                unsafe { create_key(stringify!($keyval), callbacks, keyval, |key| {
                    functions::$keyval(Some(callbacks::copy), Some(callbacks::delete), key, null_mut())
                }, |key| functions::$free(key)) }
            }

            pub(crate) unsafe fn $get(
                object: *const c_int,
                keyval: *const c_int,
                attribute_val: *mut isize,
                flag: *mut c_int,
            ) -> c_int {
                let mut attribute: *mut c_void = null_mut();
                // SAFETY: guaranteed by the caller.
                unsafe {
                    let code = functions::$c_get(Handle::new(*object), *keyval, (&raw mut attribute).cast(), flag);
                    if code == MPI_SUCCESS && *flag != 0 {
                        let predefined = attributes::predefined(*keyval, attribute);
                        *attribute_val = predefined.unwrap_or_else(|| attributes::value(attribute));
                    }
                    code
                }
            }

            pub(crate) unsafe fn $set(
                object: *const c_int,
                keyval: *const c_int,
                attribute_val: *const isize,
            ) -> c_int {
                // SAFETY: guaranteed by the caller.
                unsafe {
                    let Some(cell) = attributes::create(*attribute_val) else {
                        return no_memory(stringify!($c_set));
                    };
                    let code = functions::$c_set(Handle::new(*object), *keyval, cell);
                    if code != MPI_SUCCESS {
                        attributes::free(cell);
                    }
                    code
                }
            }
        )*
    };
}

attributes_of! {
    MPI_Comm_create_keyval MPI_Comm_free_keyval mpi_comm_create_keyval, mpi_comm_get_attr MPI_Comm_get_attr,
        mpi_comm_set_attr MPI_Comm_set_attr;
    MPI_Type_create_keyval MPI_Type_free_keyval mpi_type_create_keyval, mpi_type_get_attr MPI_Type_get_attr,
        mpi_type_set_attr MPI_Type_set_attr;
    MPI_Win_create_keyval MPI_Win_free_keyval mpi_win_create_keyval, mpi_win_get_attr MPI_Win_get_attr,
        mpi_win_set_attr MPI_Win_set_attr;
}

/// Creates a key with callbacks of Fortran; `free` frees it if the heap has no space for them.
unsafe fn create_key(
    function: &'static str,
    callbacks: KeyCallbacks,
    keyval: *mut c_int,
    create: impl FnOnce(*mut c_int) -> c_int,
    free: impl FnOnce(*mut c_int) -> c_int,
) -> c_int {
    let code = create(keyval);
    // SAFETY: guaranteed by the caller.
    if code == MPI_SUCCESS && !callbacks::set_key(unsafe { *keyval }, callbacks) {
        free(keyval);
        return no_memory(function);
    }
    code
}

pub(crate) unsafe fn mpi_keyval_create(
    copy_fn: *const c_void,
    delete_fn: *const c_void,
    keyval: *mut c_int,
    extra_state: *const c_int,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    let callbacks = unsafe { KeyCallbacks::old(copy_fn, delete_fn, *extra_state) };
    // SAFETY: guaranteed by the caller.
    unsafe {
        create_key(
            "MPI_Keyval_create",
            callbacks,
            keyval,
            |key| functions::MPI_Keyval_create(Some(callbacks::copy), Some(callbacks::delete), key, null_mut()),
            |key| functions::MPI_Keyval_free(key),
        )
    }
}

/// An attribute that does not fit a default integer is truncated, as in other MPIs (MPI-3.1 section 17.2.7).
pub(crate) unsafe fn mpi_attr_get(
    comm: *const c_int,
    keyval: *const c_int,
    attribute_val: *mut c_int,
    flag: *mut c_int,
) -> c_int {
    let mut value = 0;
    // SAFETY: guaranteed by the caller.
    unsafe {
        let code = mpi_comm_get_attr(comm, keyval, &mut value, flag);
        if code == MPI_SUCCESS && *flag != 0 {
            *attribute_val = value as c_int;
        }
        code
    }
}

pub(crate) unsafe fn mpi_attr_put(comm: *const c_int, keyval: *const c_int, attribute_val: *const c_int) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe { mpi_comm_set_attr(comm, keyval, &(*attribute_val as isize)) }
}

pub(crate) unsafe fn mpi_grequest_start(
    query_fn: *const c_void,
    free_fn: *const c_void,
    cancel_fn: *const c_void,
    extra_state: *const isize,
    request: *mut c_int,
) -> c_int {
    let (query, free, cancel) = (callbacks::query, callbacks::free, callbacks::cancel);
    // SAFETY: guaranteed by the caller.
    unsafe {
        let Some(state) = RequestCallbacks::create(query_fn, free_fn, cancel_fn, *extra_state) else {
            return no_memory("MPI_Grequest_start");
        };
        let mut started = Handle::new(*request);
        let code = functions::MPI_Grequest_start(Some(query), Some(free), Some(cancel), state, &mut started);
        *request = started.value();
        if code != MPI_SUCCESS {
            RequestCallbacks::free(state);
        }
        code
    }
}

/// Stores an address in a default integer; MPI_ERR_ARG if it does not fit.
unsafe fn store_address(address: isize, to: *mut c_int, code: c_int) -> c_int {
    match c_int::try_from(address) {
        _ if code != MPI_SUCCESS => code,
        Ok(address) => {
            // SAFETY: guaranteed by the caller.
            unsafe { *to = address };
            MPI_SUCCESS
        }
        Err(_) => MPI_ERR_ARG,
    }
}

pub(crate) unsafe fn mpi_address(location: *mut c_void, address: *mut c_int) -> c_int {
    let mut full = 0;
    // SAFETY: guaranteed by the caller.
    unsafe {
        let code = functions::MPI_Get_address(c_buffer(location), &mut full);
        store_address(full, address, code)
    }
}

/// Returns lower bound and extent.
unsafe fn bounds(datatype: *const c_int) -> (isize, isize, c_int) {
    let (mut lower, mut extent) = (0, 0);
    // SAFETY: guaranteed by the caller.
    let code = unsafe { functions::MPI_Type_get_extent(Handle::new(*datatype), &mut lower, &mut extent) };
    (lower, extent, code)
}

pub(crate) unsafe fn mpi_type_extent(datatype: *const c_int, extent: *mut c_int) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let (_, full, code) = bounds(datatype);
        store_address(full, extent, code)
    }
}

pub(crate) unsafe fn mpi_type_lb(datatype: *const c_int, displacement: *mut c_int) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let (lower, _, code) = bounds(datatype);
        store_address(lower, displacement, code)
    }
}

pub(crate) unsafe fn mpi_type_ub(datatype: *const c_int, displacement: *mut c_int) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let (lower, extent, code) = bounds(datatype);
        store_address(lower + extent, displacement, code)
    }
}

/// Stores the datatype that `constructor` creates; returns its error code.
unsafe fn create_type(newtype: *mut c_int, constructor: impl FnOnce(*mut Handle) -> c_int) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut created = Handle::new(*newtype);
        let code = constructor(&mut created);
        *newtype = created.value();
        code
    }
}

pub(crate) unsafe fn mpi_type_hvector(
    count: *const c_int,
    blocklength: *const c_int,
    stride: *const c_int,
    oldtype: *const c_int,
    newtype: *mut c_int,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe {
        create_type(newtype, |created| {
            let oldtype = Handle::new(*oldtype);
            functions::MPI_Type_hvector(*count, *blocklength, *stride as isize, oldtype, created)
        })
    }
}

/// Copies displacements to address-sized integers. `None` if the heap is full.
unsafe fn wide(displacements: *const c_int, count: c_int) -> Option<Vec<isize>> {
    let count = usize::try_from(count).unwrap_or(0);
    let mut wide = Vec::new();
    wide.try_reserve_exact(count).ok()?;
    // SAFETY: guaranteed by the caller.
    wide.extend((0..count).map(|at| unsafe { *displacements.add(at) } as isize));
    Some(wide)
}

pub(crate) unsafe fn mpi_type_hindexed(
    count: *const c_int,
    array_of_blocklengths: *const c_int,
    array_of_displacements: *const c_int,
    oldtype: *const c_int,
    newtype: *mut c_int,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match wide(array_of_displacements, *count) {
            Some(mut displacements) => create_type(newtype, |created| {
                functions::MPI_Type_hindexed(
                    *count,
                    array_of_blocklengths.cast_mut(),
                    displacements.as_mut_ptr(),
                    Handle::new(*oldtype),
                    created,
                )
            }),
            None => no_memory("MPI_Type_hindexed"),
        }
    }
}

pub(crate) unsafe fn mpi_type_struct(
    count: *const c_int,
    array_of_blocklengths: *const c_int,
    array_of_displacements: *const c_int,
    array_of_types: *const c_int,
    newtype: *mut c_int,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut types = match HandleArray::new("MPI_Type_struct", array_of_types, *count) {
            Ok(types) => types,
            Err(code) => return code,
        };
        match wide(array_of_displacements, *count) {
            Some(mut displacements) => create_type(newtype, |created| {
                functions::MPI_Type_struct(
                    *count,
                    array_of_blocklengths.cast_mut(),
                    displacements.as_mut_ptr(),
                    types.as_mut_ptr(),
                    created,
                )
            }),
            None => no_memory("MPI_Type_struct"),
        }
    }
}

/// The number of elements, which fits MPI_COUNT_KIND; MPI_UNDEFINED if the last one is incomplete.
pub(crate) unsafe fn mpi_get_count_c(status: *mut c_int, datatype: *const c_int, count: *mut c_longlong) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let (mut bytes, mut size) = (0, 0);
        let code = functions::MPI_Get_elements_x(c_status(status), Handle::new(MPI_BYTE), &mut bytes);
        if code != MPI_SUCCESS {
            return code;
        }
        let code = functions::MPI_Type_size_x(Handle::new(*datatype), &mut size);
        if code == MPI_SUCCESS {
            *count = match (bytes, size) {
                (_, 0) => 0,
                _ if bytes % size == 0 => bytes / size,
                _ => c_longlong::from(MPI_UNDEFINED),
            };
        }
        code
    }
}

pub(crate) unsafe fn mpi_get_elements_c(status: *mut c_int, datatype: *const c_int, count: *mut c_longlong) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe { functions::MPI_Get_elements_x(c_status(status), Handle::new(*datatype), count) }
}

pub(crate) unsafe fn mpi_status_set_elements_c(
    status: *mut c_int,
    datatype: *const c_int,
    count: *const c_longlong,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe { functions::MPI_Status_set_elements_x(c_status(status), Handle::new(*datatype), *count) }
}

pub(crate) unsafe fn mpi_type_size_c(datatype: *const c_int, size: *mut c_longlong) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe { functions::MPI_Type_size_x(Handle::new(*datatype), size) }
}
