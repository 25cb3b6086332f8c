//! Attributes (section 6.7.3), name (6.8), hints (11.2.7), group (11.2.6) and error handler (8.3.2) of a window.

use core::ffi::{c_char, c_int, c_void};

use super::objects::{CallWindow, WindowObject, on_win, with_object};
use crate::args;
use crate::codes;
use crate::error_dispatch::{ErrorFunction, hold_handler, on_process, raise, release_handler};
use crate::errors;
use crate::groups::enter_members;
use crate::infos::{self, check_hints};
use crate::keyvals::{self, AttributeCarrier, CarrierKind, CopyFunction, DeleteFunction, Keyval};
use crate::types::Handle;
use crate::types::constants::*;
use crate::windows::objects::error_target_of;
use midplane_objects::attributes::Attributes;
use midplane_objects::error::Error;
use midplane_objects::group::exact;
use midplane_objects::windows::hints;

/// The windows as carriers of attributes.
pub(super) struct WindowCarrier;

impl AttributeCarrier for WindowCarrier {
    const OF: CarrierKind = CarrierKind::Windows;

    fn with<R>(handle: c_int, f: impl FnOnce(&mut Attributes) -> R) -> Option<R> {
        with_object(handle, |object| f(&mut object.attributes))
    }
}

/// Returns the predefined attribute with this key: an address (section 11.2.6).
fn predefined(object: &WindowObject, keyval: c_int) -> Option<usize> {
    let facts = &*object.facts;
    let address = |pointer: *const c_void| pointer.expose_provenance();
    Some(match keyval {
        MPI_WIN_BASE => object.base,
        MPI_WIN_SIZE => address((&raw const facts.size).cast()),
        MPI_WIN_DISP_UNIT => address((&raw const facts.disp_unit).cast()),
        MPI_WIN_CREATE_FLAVOR => address((&raw const facts.flavor).cast()),
        MPI_WIN_MODEL => address((&raw const facts.model).cast()),
        _ => return None,
    })
}

pub unsafe fn MPI_Win_create_keyval(
    copy: Option<CopyFunction>,
    delete: Option<DeleteFunction>,
    win_keyval: *mut c_int,
    extra_state: *mut c_void,
) -> c_int {
    on_process("MPI_Win_create_keyval", |_| {
        // SAFETY: the standard's requirements on `win_keyval`.
        *unsafe { args::out(win_keyval, "win_keyval") }? = keyvals::create(Keyval {
            of: CarrierKind::Windows,
            copy,
            delete,
            extra: extra_state.expose_provenance(),
        })?;
        Ok(())
    })
}

pub unsafe fn MPI_Win_free_keyval(win_keyval: *mut c_int) -> c_int {
    on_process("MPI_Win_free_keyval", |_| {
        // SAFETY: the standard's requirements on `win_keyval`.
        let keyval = unsafe { args::out(win_keyval, "win_keyval") }?;
        keyvals::free(CarrierKind::Windows, *keyval)?;
        *keyval = MPI_KEYVAL_INVALID;
        Ok(())
    })
}

pub unsafe fn MPI_Win_set_attr(win: c_int, win_keyval: c_int, attribute_val: *mut c_void) -> c_int {
    on_win("MPI_Win_set_attr", win, |_| {
        keyvals::set::<WindowCarrier>(win, win_keyval, attribute_val.expose_provenance())
    })
}

pub unsafe fn MPI_Win_get_attr(win: c_int, win_keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int) -> c_int {
    on_win("MPI_Win_get_attr", win, |window| {
        // SAFETY: the standard's requirements on both pointers; the first points to a pointer.
        let (place, flag) = unsafe {
            (
                args::out(attribute_val.cast::<*const c_void>(), "attribute_val")?,
                args::out(flag, "flag")?,
            )
        };
        let known = window.with_object(|object| Ok(predefined(object, win_keyval)))?;
        let value = match known {
            Some(value) => Some(value),
            None => keyvals::get::<WindowCarrier>(win, win_keyval)?,
        };
        *flag = value.is_some().into();
        if let Some(value) = value {
            *place = core::ptr::with_exposed_provenance(value);
        }
        Ok(())
    })
}

pub unsafe fn MPI_Win_delete_attr(win: c_int, win_keyval: c_int) -> c_int {
    on_win("MPI_Win_delete_attr", win, |_| {
        keyvals::delete::<WindowCarrier>(win, win_keyval)
    })
}

pub unsafe fn MPI_Win_set_name(win: c_int, win_name: *const c_char) -> c_int {
    on_win("MPI_Win_set_name", win, |window| {
        // SAFETY: the standard's requirements on `win_name`: a string.
        let name = unsafe { args::string(win_name, MPI_MAX_OBJECT_NAME, "win_name") }?;
        let copy = exact(name.as_bytes())?;
        window.with_object(|object| {
            object.name = copy;
            Ok(())
        })
    })
}

pub unsafe fn MPI_Win_get_name(win: c_int, win_name: *mut c_char, resultlen: *mut c_int) -> c_int {
    const NAME: &str = "MPI_Win_get_name";
    if win == MPI_WIN_NULL {
        // SAFETY: the standard's requirements on both (MPI-4.1 section 7.8).
        return on_process(NAME, |_| unsafe {
            args::put_text(win_name, MPI_MAX_OBJECT_NAME, "MPI_WIN_NULL", resultlen)
        });
    }
    on_win(NAME, win, |window| {
        window.with_object(|object| {
            let name = core::str::from_utf8(&object.name).unwrap_or_default();
            // SAFETY: the standard's requirements on both.
            unsafe { args::put_text(win_name, MPI_MAX_OBJECT_NAME, name, resultlen) }
        })
    })
}

pub unsafe fn MPI_Win_get_group(win: c_int, group: *mut Handle) -> c_int {
    on_win("MPI_Win_get_group", win, |window| {
        // SAFETY: the standard's requirements on `group`.
        let group = unsafe { args::out(group, "group") }?;
        *group = Handle::new(enter_members(window.membership.group(), MPI_SESSION_NULL)?);
        Ok(())
    })
}

/// Applies the supported hints of a valid info object to a window.
pub(super) fn take_hints(window: &CallWindow, info: c_int) -> Result<(), Error> {
    for (key, place) in hints::REORDER {
        if let Some(value) = infos::flag(window.env, info, key)? {
            let mut reorder = window.reorder();
            *place(&mut reorder) = value;
            window.set_reorder(reorder);
        }
    }
    Ok(())
}

pub unsafe fn MPI_Win_set_info(win: c_int, info: c_int) -> c_int {
    on_win("MPI_Win_set_info", win, |window| {
        check_hints(info)?;
        take_hints(&window, info)
    })
}

pub unsafe fn MPI_Win_get_info(win: c_int, info_used: *mut Handle) -> c_int {
    on_win("MPI_Win_get_info", win, |window| {
        // SAFETY: the standard's requirements on `info_used`.
        let info = unsafe { args::out(info_used, "info_used") }?;
        *info = Handle::new(infos::enter(&hints::in_use(window.reorder()))?);
        Ok(())
    })
}

pub unsafe fn MPI_Win_create_errhandler(function: Option<ErrorFunction>, errhandler: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements on `errhandler`.
    unsafe { errors::create("MPI_Win_create_errhandler", function, errhandler) }
}

pub unsafe fn MPI_Win_set_errhandler(win: c_int, errhandler: c_int) -> c_int {
    on_win("MPI_Win_set_errhandler", win, |window| {
        errors::check(errhandler)?;
        window.with_object(|object| {
            hold_handler(errhandler);
            release_handler(object.handler);
            object.handler = errhandler;
            Ok(())
        })
    })
}

pub unsafe fn MPI_Win_get_errhandler(win: c_int, errhandler: *mut Handle) -> c_int {
    on_win("MPI_Win_get_errhandler", win, |window| {
        // SAFETY: the standard's requirements on `errhandler`.
        let place = unsafe { args::out(errhandler, "errhandler") }?;
        *place = Handle::new(errors::give_handle(window.with_object(|object| Ok(object.handler))?));
        Ok(())
    })
}

pub unsafe fn MPI_Win_call_errhandler(win: c_int, errorcode: c_int) -> c_int {
    let name = "MPI_Win_call_errhandler";
    on_win(name, win, |_| {
        raise(name, error_target_of(win), codes::raised(errorcode)?);
        Ok(())
    })
}
