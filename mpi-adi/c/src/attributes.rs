//! Attributes of communicators (sections 6.7 and 8.1.2; section 15.1 for the MPI-1 names).
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI32, Ordering};

use super::args;
use super::codes::LAST_USED;
use super::comm_objects::{handler, with_attributes, world};
use super::error_dispatch::{on_any, on_process};
use super::keyvals::{self, AttributeCarrier, CarrierKind, CopyFunction, DeleteFunction, Keyval};
use super::lazy_callback::LazyCallback;
use super::types::constants::*;
use midplane_device::envelope::Tag;
use midplane_objects::attributes::Attributes;
use midplane_objects::error::Error;
use midplane_objects::installed::{self, APPNUM};

/// The communicators as carriers of attributes.
pub(super) struct CommCarrier;

impl AttributeCarrier for CommCarrier {
    const OF: CarrierKind = CarrierKind::Communicators;

    fn with<R>(handle: c_int, f: impl FnOnce(&mut Attributes) -> R) -> Option<R> {
        with_attributes(handle, f)
    }
}

/// # Safety
/// See [`args::out`].
unsafe fn create(
    function: &'static str,
    copy: Option<CopyFunction>,
    delete: Option<DeleteFunction>,
    keyval: *mut c_int,
    extra_state: *mut c_void,
) -> c_int {
    on_process(function, |_| {
        // SAFETY: guaranteed by the caller.
        *unsafe { args::out(keyval, "keyval") }? = keyvals::create(Keyval {
            of: CarrierKind::Communicators,
            copy,
            delete,
            extra: extra_state.expose_provenance(),
        })?;
        Ok(())
    })
}

/// # Safety
/// See [`args::out`].
unsafe fn free(function: &'static str, keyval: *mut c_int) -> c_int {
    on_process(function, |_| {
        // SAFETY: guaranteed by the caller.
        let keyval = unsafe { args::out(keyval, "keyval") }?;
        keyvals::free(CarrierKind::Communicators, *keyval)?;
        *keyval = MPI_KEYVAL_INVALID;
        Ok(())
    })
}

/// Deletes the attributes of MPI_COMM_SELF and MPI_COMM_WORLD. Installed with the first attribute, so that the image of
/// a program without attributes does not contain this code.
static DELETE_LAST: LazyCallback<DeleteLast> = LazyCallback::new();

type DeleteLast = fn() -> Result<(), (c_int, Error)>;

fn delete_last() -> Result<(), (c_int, Error)> {
    let delete = |comm| {
        let deleted = keyvals::delete_all_at_end::<CommCarrier>(comm);
        // A communicator MPI_COMM_SELF without its own handler uses that of MPI_COMM_WORLD.
        let blamed = match handler(comm) {
            MPI_ERRORS_ARE_FATAL => MPI_COMM_WORLD,
            _ => comm,
        };
        deleted.map_err(|error| (blamed, error))
    };
    let of_self = delete(MPI_COMM_SELF);
    // Deleted regardless of the results of the other functions.
    of_self.and(delete(MPI_COMM_WORLD))
}

/// Runs the first step of MPI_Finalize, while the program's functions can still communicate (section 8.7.1). Returns
/// the first error of a delete function, with the communicator whose error handler to call.
pub(super) fn finish() -> Result<(), (c_int, Error)> {
    let delete_last = DELETE_LAST.get();
    delete_last.map_or(Ok(()), |delete_last| delete_last())
}

fn set(function: &'static str, comm: c_int, keyval: c_int, value: *mut c_void) -> c_int {
    on_any(function, comm, |_, _| {
        DELETE_LAST.set(delete_last);
        keyvals::set::<CommCarrier>(comm, keyval, value.expose_provenance())
    })
}

fn delete(function: &'static str, comm: c_int, keyval: c_int) -> c_int {
    on_any(function, comm, |_, _| keyvals::delete::<CommCarrier>(comm, keyval))
}

/// Returns the address of a predefined attribute's value (section 8.1.2).
fn predefined(keyval: c_int) -> Option<*const c_int> {
    static TAG_UB: c_int = Tag::MAX;
    static HOST: c_int = MPI_PROC_NULL;
    // Every rank can print.
    static IO: c_int = MPI_ANY_SOURCE;
    static WTIME_IS_GLOBAL: c_int = 0;
    static UNIVERSE_SIZE: AtomicI32 = AtomicI32::new(0);
    Some(match keyval {
        MPI_TAG_UB => &raw const TAG_UB,
        MPI_HOST => &raw const HOST,
        MPI_IO => &raw const IO,
        MPI_WTIME_IS_GLOBAL => &raw const WTIME_IS_GLOBAL,
        MPI_APPNUM => APPNUM.as_ptr(),
        MPI_UNIVERSE_SIZE => {
            let universe = installed::world().map_or(Some(world().size), |world| world.universe);
            UNIVERSE_SIZE.store(universe? as c_int, Ordering::Relaxed);
            UNIVERSE_SIZE.as_ptr()
        }
        MPI_LASTUSEDCODE => LAST_USED.as_ptr(),
        _ => return None,
    })
}

/// # Safety
/// Both pointers must satisfy [`args::out`]; the first points to a pointer.
unsafe fn get(
    function: &'static str,
    comm: c_int,
    keyval: c_int,
    attribute_val: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    on_any(function, comm, |_, _| {
        // SAFETY: guaranteed by the caller.
        let (place, flag) = unsafe {
            (
                args::out(attribute_val.cast::<*const c_void>(), "attribute_val")?,
                args::out(flag, "flag")?,
            )
        };
        let value = match predefined(keyval) {
            Some(value) => Some(value.cast()),
            // Unknown (section 10.5.1).
            None if keyval == MPI_UNIVERSE_SIZE => None,
            None => keyvals::get::<CommCarrier>(comm, keyval)?.map(core::ptr::with_exposed_provenance),
        };
        *flag = value.is_some().into();
        if let Some(value) = value {
            *place = value;
        }
        Ok(())
    })
}

pub unsafe fn MPI_Comm_create_keyval(
    copy: Option<CopyFunction>,
    delete: Option<DeleteFunction>,
    comm_keyval: *mut c_int,
    extra_state: *mut c_void,
) -> c_int {
    // SAFETY: the standard's requirements on `comm_keyval`.
    unsafe { create("MPI_Comm_create_keyval", copy, delete, comm_keyval, extra_state) }
}

pub unsafe fn MPI_Comm_free_keyval(comm_keyval: *mut c_int) -> c_int {
    // SAFETY: the standard's requirements on `comm_keyval`.
    unsafe { free("MPI_Comm_free_keyval", comm_keyval) }
}

pub unsafe fn MPI_Comm_set_attr(comm: c_int, comm_keyval: c_int, attribute_val: *mut c_void) -> c_int {
    set("MPI_Comm_set_attr", comm, comm_keyval, attribute_val)
}

pub unsafe fn MPI_Comm_get_attr(
    comm: c_int,
    comm_keyval: c_int,
    attribute_val: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the standard's requirements on both pointers.
    unsafe { get("MPI_Comm_get_attr", comm, comm_keyval, attribute_val, flag) }
}

pub unsafe fn MPI_Comm_delete_attr(comm: c_int, comm_keyval: c_int) -> c_int {
    delete("MPI_Comm_delete_attr", comm, comm_keyval)
}

pub unsafe fn MPI_Keyval_create(
    copy: Option<CopyFunction>,
    delete: Option<DeleteFunction>,
    keyval: *mut c_int,
    extra_state: *mut c_void,
) -> c_int {
    // SAFETY: the standard's requirements on `keyval`.
    unsafe { create("MPI_Keyval_create", copy, delete, keyval, extra_state) }
}

pub unsafe fn MPI_Keyval_free(keyval: *mut c_int) -> c_int {
    // SAFETY: the standard's requirements on `keyval`.
    unsafe { free("MPI_Keyval_free", keyval) }
}

pub unsafe fn MPI_Attr_put(comm: c_int, keyval: c_int, attribute_val: *mut c_void) -> c_int {
    set("MPI_Attr_put", comm, keyval, attribute_val)
}

pub unsafe fn MPI_Attr_get(comm: c_int, keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int) -> c_int {
    // SAFETY: the standard's requirements on both pointers.
    unsafe { get("MPI_Attr_get", comm, keyval, attribute_val, flag) }
}

pub unsafe fn MPI_Attr_delete(comm: c_int, keyval: c_int) -> c_int {
    delete("MPI_Attr_delete", comm, keyval)
}
