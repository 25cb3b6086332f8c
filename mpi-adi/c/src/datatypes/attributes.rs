//! Attributes of datatypes (section 6.7.4).
//!
//! They belong to a handle: the handles that MPI_Type_get_contents returns for the same datatype have separate
//! attributes. Most have none, so the attributes are in a separate list sorted by handle.

use alloc::vec::Vec;
use core::ffi::{c_int, c_void};

use spin::Mutex;

use super::objects::known;
use crate::args;
use crate::error_dispatch::on_process;
use crate::keyvals::{self, AttributeCarrier, CarrierKind, CopyFunction, DeleteFunction, Keyval};
use crate::types::constants::MPI_KEYVAL_INVALID;
use midplane_objects::attributes::Attributes;
use midplane_objects::error::Error;

/// Attributes of datatypes, by handle. No call waits while it holds the lock, and no interrupt handler uses it.
static LIST: Mutex<Vec<(c_int, Attributes)>> = Mutex::new(Vec::new());

/// The datatypes as carriers of attributes.
struct DatatypeCarrier;

impl AttributeCarrier for DatatypeCarrier {
    const OF: CarrierKind = CarrierKind::Datatypes;

    fn with<R>(handle: c_int, f: impl FnOnce(&mut Attributes) -> R) -> Option<R> {
        let mut list = LIST.lock();
        match list.binary_search_by_key(&handle, |(handle, _)| *handle) {
            Ok(at) => Some(f(&mut list[at].1)),
            // None, and none can be added before `prepare`.
            Err(_) => Some(f(&mut Attributes::new())),
        }
    }
}

/// Reserves memory for attributes of this handle. Fails with [`Error::NoSpace`].
fn prepare(handle: c_int) -> Result<(), Error> {
    let mut list = LIST.lock();
    let Err(at) = list.binary_search_by_key(&handle, |(handle, _)| *handle) else {
        return Ok(());
    };
    list.try_reserve(1).map_err(|_| Error::NoSpace {
        bytes: size_of::<(c_int, Attributes)>(),
    })?;
    list.insert(at, (handle, Attributes::new()));
    Ok(())
}

/// Releases the memory for attributes of this handle, if there are none left.
fn prune(handle: c_int) {
    let mut list = LIST.lock();
    if let Ok(at) = list.binary_search_by_key(&handle, |(handle, _)| *handle)
        && list[at].1.last().is_none()
    {
        list.remove(at);
        if list.is_empty() {
            *list = Vec::new();
        }
    }
}

/// Copies the attributes of `old` to `new`, as their copy functions decide. Fails like [`keyvals::copy_all`].
pub(super) fn copy(old: c_int, new: c_int) -> Result<(), Error> {
    if DatatypeCarrier::with(old, |attributes| attributes.last().is_none()) == Some(true) {
        return Ok(());
    }
    prepare(new)?;
    let copied = keyvals::copy_all::<DatatypeCarrier>(old, new);
    prune(new);
    copied
}

/// Deletes the attributes of a datatype that is being freed. Fails with the error of a delete function.
pub(super) fn delete(handle: c_int) -> Result<(), Error> {
    let deleted = keyvals::delete_all::<DatatypeCarrier>(handle);
    prune(handle);
    deleted
}

pub unsafe fn MPI_Type_create_keyval(
    copy: Option<CopyFunction>,
    delete: Option<DeleteFunction>,
    type_keyval: *mut c_int,
    extra_state: *mut c_void,
) -> c_int {
    on_process("MPI_Type_create_keyval", |_| {
        // SAFETY: the standard's requirements on `type_keyval`.
        *unsafe { args::out(type_keyval, "type_keyval") }? = keyvals::create(Keyval {
            of: CarrierKind::Datatypes,
            copy,
            delete,
            extra: extra_state.expose_provenance(),
        })?;
        Ok(())
    })
}

pub unsafe fn MPI_Type_free_keyval(type_keyval: *mut c_int) -> c_int {
    on_process("MPI_Type_free_keyval", |_| {
        // SAFETY: the standard's requirements on `type_keyval`.
        let keyval = unsafe { args::out(type_keyval, "type_keyval") }?;
        keyvals::free(CarrierKind::Datatypes, *keyval)?;
        *keyval = MPI_KEYVAL_INVALID;
        Ok(())
    })
}

pub unsafe fn MPI_Type_set_attr(datatype: c_int, type_keyval: c_int, attribute_val: *mut c_void) -> c_int {
    on_process("MPI_Type_set_attr", |_| {
        known(datatype)?;
        prepare(datatype)?;
        let value = attribute_val.expose_provenance();
        let set = keyvals::set::<DatatypeCarrier>(datatype, type_keyval, value);
        prune(datatype);
        set
    })
}

pub unsafe fn MPI_Type_get_attr(
    datatype: c_int,
    type_keyval: c_int,
    attribute_val: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    on_process("MPI_Type_get_attr", |_| {
        known(datatype)?;
        // SAFETY: the standard's requirements on both pointers; the first points to a pointer.
        let (place, flag) = unsafe {
            (
                args::out(attribute_val.cast::<*const c_void>(), "attribute_val")?,
                args::out(flag, "flag")?,
            )
        };
        let value = keyvals::get::<DatatypeCarrier>(datatype, type_keyval)?;
        *flag = value.is_some().into();
        if let Some(value) = value {
            *place = core::ptr::with_exposed_provenance(value);
        }
        Ok(())
    })
}

pub unsafe fn MPI_Type_delete_attr(datatype: c_int, type_keyval: c_int) -> c_int {
    on_process("MPI_Type_delete_attr", |_| {
        known(datatype)?;
        let deleted = keyvals::delete::<DatatypeCarrier>(datatype, type_keyval);
        prune(datatype);
        deleted
    })
}
